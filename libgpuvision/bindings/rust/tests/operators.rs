// SPDX-License-Identifier: BSD-2-Clause
//! Every wrapper on small pictures whose results are obvious by hand, on the CPU.

use std::mem;
use std::os::raw::c_void;
use std::ptr;
use std::sync::{Arc, Mutex};
use std::thread;

use gpuvision::ccl::{CclBuffers, CclResult};
use gpuvision::kmeans::{self, Clusters, KmeansBuffers};
use gpuvision::matching::{DescriptorSet, MatchBuffers, MatchResult, Nearest, Pair};
use gpuvision::segment::{
    Known, SEED_FOREGROUND, SEED_PROBABLY_BACKGROUND, SEED_PROBABLY_FOREGROUND, SEED_UNKNOWN,
};
use gpuvision::sift::{Descriptors, SiftBuffers, SiftResult, DESCRIPTOR_LENGTH};
use gpuvision::*;

fn cpu() -> Context {
    Context::new(ContextParams { backend: Backend::Cpu, ..Default::default() }).unwrap()
}

/// Black, with white rectangles.
fn rectangles(width: usize, height: usize, rects: &[Rect]) -> Vec<u8> {
    let mut pixels = vec![0; width * height];
    for rect in rects {
        for y in rect.y..rect.y + rect.height {
            for x in rect.x..rect.x + rect.width {
                pixels[y as usize * width + x as usize] = 255;
            }
        }
    }
    pixels
}

fn gray(width: usize, height: usize, pixels: &[u8]) -> Image<'_> {
    Image::new(Format::Gray8, width, height, pixels).unwrap()
}

fn gray_mut(width: usize, height: usize, pixels: &mut [u8]) -> ImageMut<'_> {
    ImageMut::new(Format::Gray8, width, height, pixels).unwrap()
}

fn buffer_of<T>(records: &mut [T]) -> Buffer {
    Buffer::in_host(records.as_mut_ptr().cast(), mem::size_of_val(records))
}

/// The text has all of these words.
fn assert_refused<T: std::fmt::Debug>(result: Result<T>, status: Status, words: &[&str]) {
    let error = result.unwrap_err();
    assert_eq!(error.status, status, "{error}");
    for word in words {
        assert!(error.message.contains(word), "{word:?} is not in {error}");
    }
    assert_eq!(error.to_string(), format!("{status}: {}", error.message));
}

// ---- context --------------------------------------------------------------------------

#[test]
fn versions() {
    assert!(context::version().contains("cpu"), "{}", context::version());
    assert_eq!(context::api_version().0, sys::GPV_API_VERSION_MAJOR as u32);
    assert!(Backend::Cpu.is_available() && Backend::Auto.is_available());
}

#[test]
fn parameters_are_described() {
    let fields = gpuvision::fields("erode");
    assert_eq!(fields.len(), 8);
    assert_eq!((fields[0].name, fields[0].kind), ("operation", FieldKind::Choice));
    assert_eq!((fields[0].choices[1].name, fields[0].choices[1].value), ("dilate", 1));
    assert_eq!((fields[2].name, fields[2].unit), ("radius", "pixels"));
    assert_eq!((fields[2].low, fields[2].high, fields[2].initial), (0.0, 255.0, 1.0));
    assert!(fields[2].choices.is_empty() && fields[2].text.ends_with('.'));
    assert!(gpuvision::fields("none").is_empty() && gpuvision::fields("\0").is_empty());
}

#[test]
fn statuses() {
    assert_eq!(Status::TOO_SMALL.to_string(), "buffer too small");
    assert_eq!(Status(-12345).to_string(), "unknown status");
    let error = Error { status: Status(-12345), message: String::new() };
    assert_eq!(error.to_string(), "unknown status");
}

#[test]
fn a_context() {
    let context = cpu();
    assert_eq!(context.backend(), Backend::Cpu);
    assert!(context.device_name().contains("CPU"), "{}", context.device_name());
    assert_eq!(context.clone().device_name(), context.device_name());
    context.stream_sync(Stream::DEFAULT).unwrap();
    context.stream_follow(Stream::default(), Stream::DEFAULT).unwrap();
    // SAFETY: the CPU backend does not look at it.
    let stream = unsafe { Stream::from_raw(8 as *mut c_void) };
    context.stream_sync(stream).unwrap();
    assert_ne!(stream, Stream::DEFAULT);
    assert_eq!(Device::default(), Device::ordinal(0));
    // SAFETY: nothing is made from it.
    assert_ne!(unsafe { Device::current() }, Device::ordinal(u32::MAX));
}

#[test]
fn a_context_that_cannot_be_has_a_text() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let seen = lines.clone();
    let log = move |level, line: &str| seen.lock().unwrap().push((level, line.to_owned()));
    for log in [None, Some(Box::new(log) as context::LogFn)] {
        let params = ContextParams {
            backend: Backend::Cuda,
            device: Device::ordinal(4095),
            log,
            ..Default::default()
        };
        let error = Context::new(params).unwrap_err();
        assert!(error.status.0 < 0 && !error.message.is_empty(), "{error}");
        for (level, line) in lines.lock().unwrap().iter() {
            assert_eq!((*level, line), (LogLevel::Error, &error.message));
        }
    }
    assert_eq!(lines.lock().unwrap().len(), 1);
    assert_refused(
        Context::new(ContextParams { threads: -1, ..Default::default() }),
        Status::INVALID_ARGUMENT,
        &["params->threads is -1, must be 0.."],
    );
}

#[test]
fn log_lines() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let seen = lines.clone();
    let context = Context::new(ContextParams {
        backend: Backend::Cpu,
        log_level: LogLevel::Info,
        log: Some(Box::new(move |level, line| seen.lock().unwrap().push((level, line.to_owned())))),
        ..Default::default()
    })
    .unwrap();
    let error =
        Erode::new(&context, &ErodeParams { radius: -7, ..Default::default() }).unwrap_err();
    let lines = lines.lock().unwrap();
    assert_eq!(lines[0].0, LogLevel::Info);
    assert!(lines[0].1.contains(&context.device_name()), "{}", lines[0].1);
    assert_eq!(lines.last().unwrap(), &(LogLevel::Error, error.message));
}

#[test]
fn a_callback_that_panics_harms_nothing() {
    let context = Context::new(ContextParams {
        backend: Backend::Cpu,
        log_level: LogLevel::Debug,
        log: Some(Box::new(|_, _| panic!("as it should"))),
        ..Default::default()
    })
    .unwrap();
    let params = ErodeParams { radius: -7, ..Default::default() };
    assert_refused(
        Erode::new(&context, &params),
        Status::INVALID_ARGUMENT,
        &["params->radius is -7, must be 0..255"],
    );
    Erode::new(&context, &Default::default()).unwrap();
}

// ---- images ---------------------------------------------------------------------------

#[test]
fn formats() {
    assert_eq!(Format::Gray8.planes(), 1);
    assert_eq!(Format::I420.planes(), 3);
    assert_eq!(Format::Cap32x8.planes(), sys::GPV_MAX_PLANES as usize);
    assert_eq!(Format::Nv12.plane(1, 5, 3).unwrap(), (6, 2));
    assert!(Format::Nv12.plane(2, 5, 3).is_err());
    assert_eq!(Format::Rgb8.bytes(5, 3, 0).unwrap(), 45);
    assert_eq!(Format::Rgb8.bytes(5, 3, 16).unwrap(), 48);
    assert_eq!(Format::Cap32x4.bytes(2, 2, 0).unwrap(), 64);
}

#[test]
fn impossible_images() {
    let pixels = [0u8; 64];
    for (width, height) in [(0, 1), (1, 0), (32768, 1), (usize::MAX, 1), (32767, 32769)] {
        assert!(Format::Gray8.bytes(width, height, 0).is_err());
        let image = Image::new(Format::Gray8, width, height, &pixels[..]);
        assert_refused(image, Status::INVALID_ARGUMENT, &[&width.to_string()]);
        let planes = Image::from_planes(Format::Gray8, width, height, [(&pixels[..], 32767)]);
        assert!(planes.is_err());
    }
    assert!(Image::with_stride(Format::Rgb8, 4, 4, &pixels, 11).is_err());
    assert!(Image::with_stride(Format::Rgb8, 4, 4, &pixels, usize::MAX).is_err());
}

#[test]
fn no_view_reaches_outside_its_slice() {
    let mut pixels = [0u8; 64];
    let words = ["64 bytes", "65"];
    assert_refused(Image::new(Format::Gray8, 65, 1, &pixels), Status::INVALID_ARGUMENT, &words);
    let image = ImageMut::new(Format::Gray8, 13, 5, &mut pixels);
    assert_refused(image, Status::INVALID_ARGUMENT, &words);
    let image = ImageMut::with_stride(Format::Gray8, 5, 4, &mut pixels, 20);
    assert_refused(image, Status::INVALID_ARGUMENT, &words);
    // Behind the last row there need be nothing.
    assert!(Image::with_stride(Format::Gray8, 4, 4, &pixels, 20).is_ok());
    assert!(Image::with_stride(Format::Gray8, 64, 1, &pixels, 1000).is_ok());
    // 6 x 7 of Y and 2 x 3 x 4 of UV are 66.
    assert!(Image::new(Format::Nv12, 6, 7, &pixels).is_err());
    assert!(Image::new(Format::Nv12, 6, 6, &pixels).is_ok());
    assert!(Image::new(Format::Gray16, 33, 1, &pixels).is_err());
    assert!(Image::new(Format::Gray16, 8, 4, &[0u16; 32]).is_ok());
    assert!(Image::new(Format::Gray16, 8, 4, &[0u16; 31]).is_err());
    assert!(Image::new(Format::Gray8, 1, 1, &pixels[..0]).is_err());
}

#[test]
fn samples_are_of_their_type() {
    let mut words = [0i32; 16];
    let text = ["Gray8 is not stored as i32"];
    let refused = Image::new(Format::Gray8, 4, 4, &words);
    assert_refused(refused, Status::INVALID_ARGUMENT, &text);
    assert!(ImageMut::new(Format::Gray16, 4, 4, &mut words).is_err());
    assert!(Image::from_planes(Format::GrayF32, 4, 4, [(&words[..], 16)]).is_err());
    assert!(ImageMut::from_planes(Format::GrayF32, 4, 4, [(&mut words[..], 16)]).is_err());
    assert!(Image::new(Format::Label32, 4, 4, &words).is_ok());
    assert!(Image::new(Format::GrayF32, 4, 4, &[0f32; 16]).is_ok());
    assert!(Image::new(Format::P016, 4, 2, &[0u16; 12]).is_ok());
    assert!(Image::new(Format::Label32, 4, 4, &[0u8; 64]).is_ok());
}

#[test]
fn no_plane_reaches_outside_its_slice() {
    let (mut luma, mut chroma) = ([0u8; 36], [0u8; 18]);
    let planes = [(&luma[..], 6), (&chroma[..], 6)];
    assert!(Image::from_planes(Format::Nv12, 6, 6, planes).is_ok());
    let refused = Image::from_planes(Format::Nv12, 6, 6, [(&luma[..], 6), (&chroma[..17], 6)]);
    assert_refused(refused, Status::INVALID_ARGUMENT, &["plane 1", "17", "18"]);
    let refused = Image::from_planes(Format::Nv12, 6, 6, [(&luma[..], 7), (&chroma[..], 6)]);
    assert_refused(refused, Status::INVALID_ARGUMENT, &["plane 0", "36", "41"]);
    let refused = Image::from_planes(Format::I420, 6, 6, planes);
    assert_refused(refused, Status::INVALID_ARGUMENT, &["3 planes", "2"]);
    let refused = Image::from_planes(Format::Nv12, 6, 6, [(&luma[..], usize::MAX); 2]);
    assert!(refused.is_err());
    let planes = [(&mut luma[..35], 6), (&mut chroma[..], 6)];
    assert_refused(
        ImageMut::from_planes(Format::Nv12, 6, 6, planes),
        Status::INVALID_ARGUMENT,
        &["plane 0", "35", "36"],
    );
}

#[test]
fn strides_of_planes() {
    let (luma, chroma) = (rectangles(6, 6, &[]), [77; 18]);
    let mut packed = vec![0; 54];
    let mut dst = ImageMut::new(Format::Nv12, 6, 6, &mut packed).unwrap();
    let src = Image::from_planes(Format::Nv12, 6, 6, [(&luma[..], 0), (&chroma[..], 0)]).unwrap();
    Erode::new(&cpu(), &Default::default()).unwrap().run(&src, &mut dst).unwrap();
    assert_eq!(packed, [&luma[..], &chroma[..]].concat());

    let refused = Image::from_planes(Format::Nv12, 6, 6, [(&luma[..35], 0), (&chroma[..], 0)]);
    assert_refused(refused, Status::INVALID_ARGUMENT, &["plane 0", "35", "36"]);
    let refused = Image::from_planes(Format::Nv12, 6, 6, [(&luma[..], 6), (&chroma[..], 5)]);
    assert_refused(refused, Status::INVALID_ARGUMENT, &["plane 1", "stride of 5", "6"]);
    let planes = [(&mut packed[..], 3)];
    let refused = ImageMut::from_planes(Format::Gray8, 4, 4, planes);
    assert_refused(refused, Status::INVALID_ARGUMENT, &["plane 0", "stride of 3", "4"]);
    let planes = [(ptr::null(), 6), (ptr::null(), 1)];
    // SAFETY: nothing is done with it.
    let refused = unsafe { Image::from_device_planes(Format::Nv12, 6, 6, 0, planes) };
    assert_refused(refused, Status::INVALID_ARGUMENT, &["plane 1", "stride of 1", "6"]);
}

#[test]
fn views_that_the_library_refuses() {
    let context = cpu();
    let mut erode = Erode::new(&context, &Default::default()).unwrap();
    let (src, mut dst) = ([0u64; 8], [0u16; 16]);
    // SAFETY: any bytes are bytes.
    let bytes: &[u8] = unsafe { std::slice::from_raw_parts(src.as_ptr().cast(), 64) };
    let mut dst = ImageMut::new(Format::Gray16, 4, 4, &mut dst).unwrap();
    let odd = Image::new(Format::Gray16, 4, 4, &bytes[1..]).unwrap();
    assert_refused(erode.run(&odd, &mut dst), Status::INVALID_ARGUMENT, &["src->data[0]", "2"]);
    let uneven = Image::from_planes(Format::Gray16, 4, 4, [(bytes, 9)]).unwrap();
    let words = ["src->stride[0]", "multiples of 2"];
    assert_refused(erode.run(&uneven, &mut dst), Status::INVALID_ARGUMENT, &words);
    let even = Image::new(Format::Gray16, 4, 4, &bytes[2..]).unwrap();
    erode.run(&even, &mut dst).unwrap();
}

#[test]
fn specs_and_colours() {
    let mut pixels = vec![0u8; 6];
    let image = ImageMut::new(Format::Nv12, 2, 2, &mut pixels).unwrap();
    let image = image.with_color(ColorMatrix::Bt709, ColorRange::Full);
    assert_eq!(image.spec(), ImageSpec::new(Format::Nv12, 2, 2));
    assert_eq!(image.as_image().spec(), image.spec());
    let image = Image::new(Format::Nv12, 2, 2, &[0u8; 6]).unwrap();
    assert_eq!(image.with_color(ColorMatrix::Auto, ColorRange::Auto).spec().device, None);
}

#[test]
fn cuda_memory_is_refused_by_the_cpu() {
    let context = cpu();
    let mut erode = Erode::new(&context, &Default::default()).unwrap();
    let somewhere = 256 as *mut c_void;
    // SAFETY: the CPU backend refuses them before anyone looks there.
    let (src, mut dst, planes, mut planes_mut) = unsafe {
        (
            Image::from_device(Format::Gray8, 4, 4, 1, somewhere, 0).unwrap(),
            ImageMut::from_device(Format::Gray8, 4, 4, 1, somewhere, 16).unwrap(),
            Image::from_device_planes(Format::Nv12, 4, 4, 1, [(somewhere as *const c_void, 4); 2])
                .unwrap(),
            ImageMut::from_device_planes(Format::Nv12, 4, 4, 1, [(somewhere, 4); 2]).unwrap(),
        )
    };
    assert_eq!(src.spec(), ImageSpec { device: Some(1), ..ImageSpec::new(Format::Gray8, 4, 4) });
    assert_eq!(dst.spec(), src.spec());
    assert_eq!(planes.spec(), planes_mut.spec());
    assert_refused(erode.run(&src, &mut dst), Status::UNSUPPORTED, &["src"]);
    assert_refused(erode.run(&planes, &mut planes_mut), Status::UNSUPPORTED, &["src"]);
    assert_refused(erode.prepare(&src.spec()), Status::UNSUPPORTED, &["like"]);
    // SAFETY: as above.
    unsafe {
        assert!(Image::from_device(Format::Gray8, 0, 4, 1, somewhere, 0).is_err());
        assert!(Image::from_device_planes(Format::Nv12, 4, 4, 1, [(ptr::null(), 4)]).is_err());
        assert!(ImageMut::from_device(Format::Gray8, 4, 4, 1, somewhere, 3).is_err());
    }
}

// ---- erode ----------------------------------------------------------------------------

#[test]
fn defaults_are_those_of_the_headers() {
    let params = ErodeParams {
        operation: ErodeOperation::Erode,
        shape: ErodeShape::Rect,
        radius: 1,
        radius_y: -1,
        iterations: 1,
        threshold: 0,
        border: ErodeBorder::Ignore,
        planes: ErodePlanes::Auto,
        ..Default::default()
    };
    assert_eq!(ErodeParams::default(), params);
    let params = ContextParams::default();
    assert_eq!((params.backend, params.log_level), (Backend::Auto, LogLevel::Warning));
    assert!(params.log.is_none() && params.threads == 0);
    let params = CclParams::default();
    assert_eq!((params.mode, params.connectivity, params.threshold), (CclMode::Binary, 8, 1));
    assert_eq!((params.foreground, params.invert, params.output), (-1, false, CclOutput::Labels));
    let params = KmeansParams::default();
    assert_eq!((params.clusters, params.max_clusters, params.max_iterations), (8, 16, 20));
    assert_eq!((params.tolerance, params.metric, params.seed), (0.5, KmeansMetric::L2, 0));
    assert_eq!((params.init, params.color_space), (KmeansInit::PlusPlus, KmeansColorSpace::Rgb));
    let params = SiftParams::default();
    assert_eq!((params.octave_layers, params.contrast_threshold, params.sigma), (3, 0.04, 1.6));
    assert_eq!((params.upsample, params.descriptor_type), (true, SiftDescriptorType::U8));
    let params = MatchParams::default();
    assert_eq!((params.ratio, params.mutual), (0.8, true));
    let params = HomographyParams::default();
    assert_eq!((params.threshold, params.confidence, params.max_iterations), (3.0, 0.999, 10000));
    let params = GraphcutParams::default();
    assert_eq!((params.certificate, params.max_time_us), (false, 0));
    let params = SegmentParams::default();
    assert_eq!(
        (params.model, params.warm_start, params.output),
        (SegmentModel::Gmm, SegmentWarmStart::None, SegmentOutput::Overlay)
    );
    assert_eq!((params.connectivity, params.iterations, params.lambda), (4, 5, 0.01));
}

#[test]
fn erosion_of_a_white_pixel() {
    let context = cpu();
    let dot = rectangles(5, 5, &[Rect { x: 2, y: 2, width: 1, height: 1 }]);
    let square = rectangles(5, 5, &[Rect { x: 1, y: 1, width: 3, height: 3 }]);
    let mut dst = vec![7; 25];

    let mut erode = Erode::new(&context, &Default::default()).unwrap();
    erode.prepare(&ImageSpec::new(Format::Gray8, 5, 5)).unwrap();
    erode.run(&gray(5, 5, &dot), &mut gray_mut(5, 5, &mut dst)).unwrap();
    assert_eq!(dst, [0; 25]);
    assert!(erode.query().unwrap());
    erode.wait().unwrap();

    let params = ErodeParams { operation: ErodeOperation::Dilate, ..Default::default() };
    erode.set_params(&params).unwrap();
    erode.run(&gray(5, 5, &dot), &mut gray_mut(5, 5, &mut dst)).unwrap();
    assert_eq!(dst, square);

    let params = ErodeParams { radius: 300, ..Default::default() };
    let words = ["params->radius is 300, must be 0..255"];
    assert_refused(erode.set_params(&params), Status::INVALID_ARGUMENT, &words);
    erode.run_in_place(&mut gray_mut(5, 5, &mut dst)).unwrap(); // still a dilation
    assert_eq!(dst, [255; 25]);

    let mut small = [0; 16];
    let refused = erode.run(&gray(5, 5, &dot), &mut gray_mut(4, 4, &mut small));
    assert_refused(refused, Status::INVALID_ARGUMENT, &["dst is 4x4", "5x5"]);
}

#[test]
fn enqueued_erosions() {
    let context = cpu();
    let dot = rectangles(5, 5, &[Rect { x: 2, y: 2, width: 1, height: 1 }]);
    let mut dst = vec![7; 25];
    let mut erode = Erode::new(&context, &Default::default()).unwrap();
    // SAFETY: all is alive until wait() returns.
    unsafe {
        let mut image = gray_mut(5, 5, &mut dst);
        erode.enqueue(Stream::DEFAULT, &gray(5, 5, &dot), &mut image).unwrap();
        erode.enqueue_in_place(Stream::DEFAULT, &mut image).unwrap();
    }
    erode.wait().unwrap();
    assert_eq!(dst, [0; 25]);
}

#[test]
fn strides_are_kept_to() {
    let context = cpu();
    let params = ErodeParams { operation: ErodeOperation::Dilate, ..Default::default() };
    let mut erode = Erode::new(&context, &params).unwrap();
    // 3 x 3 pixels inside 5 x 5, with a white one in their middle.
    let mut src = [0u8; 25];
    src[2 * 5 + 2] = 255;
    let mut dst = vec![7u8; 25];
    let from = Image::with_stride(Format::Gray8, 3, 3, &src[6..19], 5).unwrap();
    let mut to = ImageMut::with_stride(Format::Gray8, 3, 3, &mut dst[6..19], 5).unwrap();
    erode.run(&from, &mut to).unwrap();
    let mut expected = vec![7; 25];
    for y in 1..4 {
        expected[y * 5 + 1..y * 5 + 4].fill(255);
    }
    assert_eq!(dst, expected);
}

#[test]
fn several_planes() {
    let context = cpu();
    let mut erode = Erode::new(&context, &Default::default()).unwrap();
    // Y of 4 x 2 is white but for its last pixel; UV is copied.
    let src = [255u8, 255, 255, 255, 255, 255, 255, 0, 1, 2, 3, 4];
    let eroded = [255, 255, 0, 0, 255, 255, 0, 0, 1, 2, 3, 4];

    let mut dst = [7u8; 12];
    let from = Image::new(Format::Nv12, 4, 2, &src).unwrap();
    erode.run(&from, &mut ImageMut::new(Format::Nv12, 4, 2, &mut dst).unwrap()).unwrap();
    assert_eq!(dst, eroded);

    let (mut luma, mut chroma) = ([7u8; 9], [7u8; 4]);
    let planes = [(&mut luma[..], 5), (&mut chroma[..], 4)];
    let mut to = ImageMut::from_planes(Format::Nv12, 4, 2, planes).unwrap();
    let planes = [(&src[..8], 4), (&src[8..], 4)];
    erode.run(&Image::from_planes(Format::Nv12, 4, 2, planes).unwrap(), &mut to).unwrap();
    assert_eq!(luma, [255, 255, 0, 0, 7, 255, 255, 0, 0]);
    assert_eq!(chroma, [1, 2, 3, 4]);

    let planes = [(&src[..8], 4), (&src[8..10], 2), (&src[10..], 2)];
    let from = Image::from_planes(Format::I420, 4, 2, planes).unwrap();
    let mut dst = [7u8; 12];
    erode.run(&from, &mut ImageMut::new(Format::I420, 4, 2, &mut dst).unwrap()).unwrap();
    assert_eq!(dst, eroded);
}

#[test]
fn samples_of_16_bits() {
    let context = cpu();
    let params = ErodeParams { operation: ErodeOperation::Dilate, ..Default::default() };
    let mut erode = Erode::new(&context, &params).unwrap();
    let (src, mut dst) = ([0, 40000, 0, 0u16], [7u16; 4]);
    let from = Image::new(Format::Gray16, 4, 1, &src).unwrap();
    erode.run(&from, &mut ImageMut::new(Format::Gray16, 4, 1, &mut dst).unwrap()).unwrap();
    assert_eq!(dst, [40000, 40000, 40000, 0]);
}

// ---- ccl ------------------------------------------------------------------------------

/// 12 x 8 with a square of 3 and one of 2.
fn two_squares() -> (Vec<u8>, [Component; 2]) {
    let square = |x, y, side| Rect { x, y, width: side, height: side };
    let pixels = rectangles(12, 8, &[square(1, 1, 3), square(8, 5, 2)]);
    let components = [
        Component {
            left: 1,
            top: 1,
            right: 4,
            bottom: 4,
            area: 9,
            sum_x: 18,
            sum_y: 18,
            ..Default::default()
        },
        Component {
            left: 8,
            top: 5,
            right: 10,
            bottom: 7,
            area: 4,
            sum_x: 34,
            sum_y: 22,
            ..Default::default()
        },
    ];
    (pixels, components)
}

#[test]
fn two_squares_are_two_components() {
    let context = cpu();
    let (pixels, expected) = two_squares();
    let src = gray(12, 8, &pixels);
    let mut ccl = Ccl::new(&context, &Default::default()).unwrap();
    let spec = ImageSpec::new(Format::Gray8, 12, 8);
    ccl.prepare(&spec, Some(&ImageSpec { format: Format::Label32, ..spec }), 1024).unwrap();
    ccl.prepare(&spec, None, 0).unwrap();

    let mut labels = vec![-1i32; 96];
    let mut dst = ImageMut::new(Format::Label32, 12, 8, &mut labels).unwrap();
    assert_eq!(ccl.run(&src, Some(&mut dst)).unwrap(), expected);
    assert!(ccl.query().unwrap());
    assert_eq!(ccl.wait().unwrap(), CclResult { count: 2, components: 2 });
    let label = |x: usize, y: usize| labels[y * 12 + x];
    assert_eq!((label(0, 0), label(1, 1), label(3, 3), label(8, 5), label(9, 6)), (0, 1, 1, 2, 2));

    labels.fill(-1);
    let mut dst = ImageMut::new(Format::Label32, 12, 8, &mut labels).unwrap();
    assert_eq!(ccl.label(&src, &mut dst).unwrap(), 2);
    assert_eq!(labels.iter().filter(|&&label| label == 1).count(), 9);
    assert_eq!(ccl.count(&src).unwrap(), 2);
    assert_eq!(ccl.run(&src, None).unwrap(), expected);

    let params = CclParams { min_area: 5, output: CclOutput::Mask, ..Default::default() };
    ccl.set_params(&params).unwrap();
    let mut mask = vec![7; 96];
    let found = ccl.run(&src, Some(&mut gray_mut(12, 8, &mut mask))).unwrap();
    assert_eq!(found, expected[..1]);
    assert_eq!(mask.iter().filter(|&&pixel| pixel == 255).count(), 9);

    let params = CclParams { connectivity: 6, ..Default::default() };
    assert_refused(ccl.set_params(&params), Status::INVALID_ARGUMENT, &["connectivity is 6"]);
}

#[test]
fn enqueued_components() {
    let context = cpu();
    let (pixels, expected) = two_squares();
    let src = gray(12, 8, &pixels);
    let mut ccl = Ccl::new(&context, &Default::default()).unwrap();
    let (mut components, mut count) = ([Component::default(); 1], [0i32]);
    let buffers = CclBuffers {
        components: Some(buffer_of(&mut components)),
        component_stride: 0,
        count: Some(buffer_of(&mut count)),
    };
    // SAFETY: all is alive until wait() returns.
    unsafe { ccl.enqueue(Stream::DEFAULT, &src, None, &buffers).unwrap() };
    assert_refused(ccl.wait(), Status::TOO_SMALL, &["2"]);
    assert_eq!(ccl.found().unwrap(), CclResult { count: 2, components: 1 });
    assert_eq!((components[0], count[0]), (expected[0], 2));
}

#[test]
fn more_components_than_there_is_room_for() {
    let context = cpu();
    let mut ccl = Ccl::new(&context, &Default::default()).unwrap();
    let side = 600;
    let mut pixels = vec![0; side * side];
    for y in (0..side).step_by(2) {
        for x in (0..side).step_by(2) {
            pixels[y * side + x] = 255;
        }
    }
    let src = gray(side, side, &pixels);
    let mut labels = vec![0u16; side * side];
    let mut dst = ImageMut::new(Format::Gray16, side, side, &mut labels).unwrap();
    assert_refused(ccl.run(&src, Some(&mut dst)), Status::TOO_SMALL, &["90000"]);
    assert_eq!(labels[side * side - 2 - side], 65535);
    let components = ccl.run(&src, None).unwrap();
    assert_eq!(components.len(), 90000);
    assert_eq!((components[301].left, components[301].top, components[301].area), (2, 2, 1));
}

// ---- k-means --------------------------------------------------------------------------

/// Samples of 4 x 2 pixels, whose left half has one colour and the right half another: capital
/// letters are of the left one, and . of none.
fn samples(letters: &str) -> Vec<u8> {
    let levels = [200, 40, 90, 20, 180, 120, 150, 100, 170, 60, 140, 110, 7];
    letters.chars().map(|letter| levels["RGBrgbYUVyuv.".find(letter).unwrap()]).collect()
}

/// Labels and centroids of such a picture, which stays as it is.
fn halves<S: Sample + Copy + PartialEq>(
    context: &Context,
    format: Format,
    mut samples: Vec<S>,
) -> (Vec<u8>, Vec<[f32; 3]>) {
    let params = KmeansParams { clusters: 2, ..Default::default() };
    let mut kmeans = Kmeans::new(context, &params).unwrap();
    let (before, mut labels) = (samples.clone(), vec![7; 8]);
    let mut picture = ImageMut::new(format, 4, 2, &mut samples).unwrap();
    let found = kmeans.run_in_place(&mut picture, Some(&mut gray_mut(4, 2, &mut labels))).unwrap();
    assert_eq!(found.result.inertia, 0.0, "{format:?}");
    assert!(samples == before, "{format:?}");
    (labels, found.centroids)
}

#[test]
fn layouts() {
    let context = cpu();
    let of = |format, letters| halves(&context, format, samples(letters));
    let rgb = of(Format::Rgb8, "RGBRGBrgbrgbRGBRGBrgbrgb");
    assert_eq!(of(Format::Argb8, ".RGB.RGB.rgb.rgb.RGB.RGB.rgb.rgb"), rgb);
    assert_eq!(of(Format::Abgr8, ".BGR.BGR.bgr.bgr.BGR.BGR.bgr.bgr"), rgb);
    assert_eq!(of(Format::Xrgb8, ".RGB.RGB.rgb.rgb.RGB.RGB.rgb.rgb"), rgb);
    assert_eq!(of(Format::Xbgr8, ".BGR.BGR.bgr.bgr.BGR.BGR.bgr.bgr"), rgb);
    assert_eq!(of(Format::Rgbp8, "RRrrRRrrGGggGGggBBbbBBbb"), rgb);
    let nv12 = of(Format::Nv12, "YYyyYYyyUVuv");
    assert_eq!(of(Format::Nv21, "YYyyYYyyVUvu"), nv12);
    assert_eq!(of(Format::Yuy2, "YUYVyuyvYUYVyuyv"), nv12);
    assert_eq!(of(Format::Uyvy, "UYVYuyvyUYVYuyvy"), nv12);
    assert_eq!(of(Format::Y444, "YYyyYYyyUUuuUUuuVVvvVVvv"), nv12);

    let wide = |letters, unit| samples(letters).iter().map(|&v| u16::from(v) * unit).collect();
    assert_eq!(halves::<u16>(&context, Format::P016, wide("YYyyYYyyUVuv", 256)), nv12);
    let gray = of(Format::Gray8, "YYyyYYyy");
    assert_eq!(halves::<u16>(&context, Format::Gray16, wide("YYyyYYyy", 257)), gray);
}

/// 4 x 2, of which 5 are red and 3 are blue.
fn two_colours() -> Vec<u8> {
    let (red, blue) = ([200u8, 10, 20], [10, 20, 220]);
    [red, red, blue, red, blue, blue, red, red].concat()
}

#[test]
fn two_colours_are_two_clusters() {
    let context = cpu();
    let pixels = two_colours();
    let src = Image::new(Format::Rgb8, 4, 2, &pixels).unwrap();
    let params = KmeansParams { clusters: 2, ..Default::default() };
    let mut kmeans = Kmeans::new(&context, &params).unwrap();
    let spec = ImageSpec::new(Format::Rgb8, 4, 2);
    let labels_spec = ImageSpec { format: Format::Gray8, ..spec };
    kmeans.prepare(&spec, Some(&labels_spec), Some(&spec)).unwrap();

    let (mut labels, mut dst) = (vec![7; 8], vec![7u8; 24]);
    let clusters = kmeans
        .run(
            &src,
            Some(&mut gray_mut(4, 2, &mut labels)),
            Some(&mut ImageMut::new(Format::Rgb8, 4, 2, &mut dst).unwrap()),
        )
        .unwrap();
    let Clusters { centroids, counts, result } = clusters;
    let red = labels[0] as usize;
    assert_eq!(centroids[red], [200.0, 10.0, 20.0]);
    assert_eq!(centroids[1 - red], [10.0, 20.0, 220.0]);
    assert_eq!((counts.len(), counts[red], counts[1 - red]), (2, 5, 3));
    assert_eq!((result.clusters, result.empty, result.converged), (2, 0, true));
    assert_eq!(result.inertia, 0.0);
    assert_eq!(dst, pixels);
    assert_eq!(labels.iter().filter(|&&label| label == labels[0]).count(), 5);
    assert!(kmeans.query().unwrap());
    assert_eq!(kmeans.wait().unwrap(), result);
    assert_eq!(kmeans::color(KmeansColorSpace::Rgb, &centroids[red]), 0xc80a14);

    // Without an update all are nearest to the first of those that are given.
    let params = KmeansParams {
        clusters: 2,
        max_iterations: 0,
        init: KmeansInit::Given,
        ..Default::default()
    };
    kmeans.set_params(&params).unwrap();
    let mut image = ImageMut::new(Format::Rgb8, 4, 2, &mut dst).unwrap();
    let words = ["centroids"];
    let refused = kmeans.run_in_place(&mut image, None);
    assert_refused(refused, Status::INVALID_ARGUMENT, &words);
    kmeans.set_centroids(&[[100.0; 3], [255.0; 3]]).unwrap();
    let clusters = kmeans.run_in_place(&mut image, None).unwrap();
    assert_eq!(clusters.counts, [8, 0]);
    assert_eq!(dst, [100; 24]);

    let refused = kmeans.set_centroids(&[[100.0; 3], [256.0; 3]]);
    assert_refused(refused, Status::INVALID_ARGUMENT, &["centroids", "256"]);
    assert_refused(kmeans.set_centroids(&[]), Status::INVALID_ARGUMENT, &["count is 0"]);
}

#[test]
fn a_chosen_number_of_clusters() {
    let pixels = two_colours();
    let src = Image::new(Format::Rgb8, 4, 2, &pixels).unwrap();
    let params = KmeansParams { clusters: 0, ..Default::default() };
    let clusters = Kmeans::new(&cpu(), &params).unwrap().run(&src, None, None).unwrap();
    assert_eq!((clusters.result.clusters, clusters.centroids.len()), (2, 2));
}

#[test]
fn enqueued_clusters() {
    let context = cpu();
    let mut pixels = two_colours();
    let copy = pixels.clone();
    let src = Image::new(Format::Rgb8, 4, 2, &copy).unwrap();
    let params = KmeansParams { clusters: 2, ..Default::default() };
    let mut kmeans = Kmeans::new(&context, &params).unwrap();
    let (mut centroids, mut counts) = ([[0f32; 3]; 2], [0i32; 2]);
    // SAFETY: zeros are a legal value of it.
    let mut result: [sys::gpv_kmeans_result; 1] = unsafe { mem::zeroed() };
    let buffers = KmeansBuffers {
        centroids: Some(buffer_of(&mut centroids)),
        counts: Some(buffer_of(&mut counts)),
        result: Some(buffer_of(&mut result)),
    };
    // SAFETY: all is alive until wait() returns.
    unsafe {
        kmeans.enqueue(Stream::DEFAULT, &src, None, None, &buffers).unwrap();
        let mut image = ImageMut::new(Format::Rgb8, 4, 2, &mut pixels).unwrap();
        kmeans.enqueue_in_place(Stream::DEFAULT, &mut image, None, &buffers).unwrap();
    }
    assert_eq!(kmeans.wait().unwrap().clusters, 2);
    assert_eq!((counts[0] + counts[1], result[0].clusters), (8, 2));
    assert_eq!(pixels, copy);
}

// ---- SIFT and matches -----------------------------------------------------------------

/// White spots on grey, each at its place with its own deviation.
fn spots(side: usize, spots: &[(f32, f32, f32)]) -> Vec<u8> {
    let mut pixels = Vec::new();
    for y in 0..side {
        for x in 0..side {
            let light = |&(a, b, deviation): &(f32, f32, f32)| {
                let (dx, dy) = (x as f32 - a, y as f32 - b);
                (-(dx * dx + dy * dy) / (2.0 * deviation * deviation)).exp()
            };
            pixels.push((40.0 + 200.0 * spots.iter().map(light).sum::<f32>()).min(255.0) as u8);
        }
    }
    pixels
}

#[test]
fn a_spot_is_a_keypoint() {
    let context = cpu();
    let pixels = spots(64, &[(30.0, 34.0, 4.0)]);
    let src = gray(64, 64, &pixels);
    let mut sift = Sift::new(&context, &Default::default()).unwrap();
    let spec = ImageSpec::new(Format::Gray8, 64, 64);
    sift.prepare(&spec, Some(&spec), 100).unwrap();

    let features = sift.run(&src, None, 100).unwrap();
    let strongest = features.keypoints[0];
    assert!((strongest.x - 30.0).abs() < 0.5 && (strongest.y - 34.0).abs() < 0.5, "{strongest:?}");
    assert!((strongest.sigma - 4.0).abs() < 1.0, "{strongest:?}");
    assert_eq!(features.descriptors.as_u8().len(), features.keypoints.len());
    assert!(features.descriptors.as_f32().is_empty());
    assert!(features.descriptors.as_u8()[0].0.iter().any(|&number| number > 0));
    assert_eq!(features.dropped, 0);
    assert!(sift.query().unwrap());
    let count = features.keypoints.len() as i32;
    assert_eq!(sift.wait().unwrap(), SiftResult { count, dropped: 0 });

    assert_eq!(sift.detect(&src, None, 100).unwrap(), features.keypoints);
    assert_eq!(sift.detect(&src, None, 1).unwrap(), [strongest]);
    assert!(sift.detect(&src, None, 0).unwrap().is_empty());
    assert_eq!(sift.wait().unwrap().count, count);
    let nothing = vec![0; 64 * 64];
    assert!(sift.detect(&src, Some(&gray(64, 64, &nothing)), 100).unwrap().is_empty());

    assert_eq!(sift.describe(&src, &features.keypoints).unwrap(), features.descriptors);
    assert_eq!(sift.describe(&src, &[]).unwrap(), Descriptors::U8(Vec::new()));

    let params = SiftParams {
        max_features: 1,
        descriptor_type: SiftDescriptorType::F32,
        ..Default::default()
    };
    sift.set_params(&params).unwrap();
    let features = sift.run(&src, None, 100).unwrap();
    assert_eq!((features.keypoints.len(), features.descriptors.as_f32().len()), (1, 1));
    assert_eq!(features.dropped, count - 1);
    let square: f32 = features.descriptors.as_f32()[0].iter().map(|number| number * number).sum();
    assert!((square - 1.0).abs() < 1e-3, "{square}");
    assert!(sift.run(&src, None, 0).unwrap().descriptors.as_f32().is_empty());

    let params = SiftParams { sigma: 9.0, ..Default::default() };
    let words = ["params->sigma is 9", "0.5..4"];
    assert_refused(sift.set_params(&params), Status::INVALID_ARGUMENT, &words);
}

#[test]
fn drawn_keypoints() {
    let context = cpu();
    let pixels = spots(64, &[(30.0, 34.0, 4.0)]);
    let params = SiftParams { max_features: 1, ..Default::default() };
    let mut sift = Sift::new(&context, &params).unwrap();
    let mut dst = vec![0u8; 64 * 64 * 3];
    let mut draw = |sift: &mut Sift| {
        let mut image = ImageMut::new(Format::Rgb8, 64, 64, &mut dst).unwrap();
        sift.draw(&mut image, DrawStyle::Points, 0xff4000).unwrap();
        dst.chunks(3).filter(|pixel| pixel == &[0xff, 0x40, 0]).count()
    };
    assert_eq!(draw(&mut sift), 0);
    sift.detect(&gray(64, 64, &pixels), None, 0).unwrap();
    assert_eq!(draw(&mut sift), 9); // a cross of 5 x 5
    assert_eq!(dst[(34 * 64 + 30) * 3], 0xff);
    let refused = sift.draw(&mut gray_mut(64, 64, &mut vec![0; 4096]), DrawStyle::Rich, 0x1000000);
    assert_refused(refused, Status::INVALID_ARGUMENT, &["color"]);
}

#[test]
fn enqueued_features() {
    let context = cpu();
    let mut pixels = spots(64, &[(30.0, 34.0, 4.0)]);
    let mut sift = Sift::new(&context, &Default::default()).unwrap();
    let expected = sift.run(&gray(64, 64, &pixels), None, 1).unwrap();
    let mut keypoints = [Keypoint::default()];
    let mut descriptors = [Descriptor([0; DESCRIPTOR_LENGTH])];
    let to_descriptors = buffer_of(&mut descriptors);
    let buffers = SiftBuffers {
        keypoints: Some(buffer_of(&mut keypoints)),
        descriptors: Some(to_descriptors),
        ..Default::default()
    };
    // SAFETY: all is alive until wait() returns.
    unsafe {
        sift.enqueue(Stream::DEFAULT, &gray(64, 64, &pixels), None, &buffers).unwrap();
        let mut image = gray_mut(64, 64, &mut pixels);
        sift.enqueue_draw(Stream::DEFAULT, &mut image, DrawStyle::Rich, 0xffffff).unwrap();
    }
    assert_eq!(sift.wait().unwrap().count, 1);
    assert_eq!((&keypoints[..], &descriptors[..]), {
        (&expected.keypoints[..], expected.descriptors.as_u8())
    });
    assert_ne!(pixels, spots(64, &[(30.0, 34.0, 4.0)]));

    descriptors[0].0.fill(7);
    let (from, to) = (buffer_of(&mut keypoints), buffer_of(&mut descriptors));
    let pixels = spots(64, &[(30.0, 34.0, 4.0)]);
    // SAFETY: as above.
    unsafe {
        sift.enqueue_describe(Stream::DEFAULT, &gray(64, 64, &pixels), from, 0, 1, to).unwrap();
    }
    assert_eq!(sift.wait().unwrap().count, 1);
    assert_eq!(descriptors, expected.descriptors.as_u8());
}

/// So many descriptors, each with one large number.
fn descriptors(count: usize) -> Vec<Descriptor> {
    let with = |i| {
        let mut descriptor = [0; DESCRIPTOR_LENGTH];
        descriptor[i] = 200;
        Descriptor(descriptor)
    };
    (0..count).map(with).collect()
}

#[test]
fn a_set_matches_itself() {
    let context = cpu();
    let set = descriptors(5);
    let mut matcher = Match::new(&context, &Default::default()).unwrap();
    matcher.prepare(5, 5, false).unwrap();
    let matches = matcher.run(&set, &set).unwrap();
    let second = 2 * 200 * 200;
    let pair = |i| Pair { query: i, train: i, distance: 0, second };
    assert_eq!(matches.pairs, (0..5).map(pair).collect::<Vec<_>>());
    assert_eq!(matches.nearest.len(), 5);
    assert_eq!(matches.nearest[3], Nearest { index: [3, 0], distance: [0, second] });
    assert!(matcher.query().unwrap());
    let found = MatchResult { count: 5, dropped: 0, queries: 5 };
    assert_eq!(matcher.wait().unwrap(), found);

    assert!(matcher.run(&[], &set).unwrap().pairs.is_empty());
    let matches = matcher.run(&set[..1], &[]).unwrap();
    assert!(matches.pairs.is_empty());
    assert_eq!(matches.nearest, [Nearest { index: [-1; 2], distance: [i32::MAX; 2] }]);

    let params = MatchParams { ratio: 2.0, ..Default::default() };
    let words = ["params->ratio is 2", "0..1"];
    assert_refused(matcher.set_params(&params), Status::INVALID_ARGUMENT, &words);
    assert_refused(matcher.prepare(1, 1, true), Status::UNSUPPORTED, &["memory"]);

    // SAFETY: zeros are a legal value of it.
    let mut found: [sys::gpv_sift_result; 1] = unsafe { mem::zeroed() };
    found[0].struct_size = mem::size_of_val(&found) as u32;
    found[0].count = 3;
    let (mut queries, mut trains) = (descriptors(5), descriptors(4));
    let mut pairs = [Pair::default(); 2];
    let queries = DescriptorSet { descriptors: buffer_of(&mut queries), count: 5 };
    let trains = DescriptorSet { descriptors: buffer_of(&mut trains), count: 4 };
    let buffers = MatchBuffers {
        found: Some(buffer_of(&mut found)),
        pairs: Some(buffer_of(&mut pairs)),
        ..Default::default()
    };
    // SAFETY: all is alive until wait() returns.
    unsafe { matcher.enqueue(Stream::DEFAULT, &queries, &trains, &buffers).unwrap() };
    assert_eq!(matcher.wait().unwrap(), MatchResult { count: 2, dropped: 1, queries: 3 });
    assert_eq!(pairs, [pair(0), pair(1)]);
}

#[test]
fn a_drawn_outline() {
    let context = cpu();
    let mut matcher = Match::new(&context, &Default::default()).unwrap();
    let corners = [[1.0, 1.0], [6.0, 1.0], [6.0, 6.0], [1.0, 6.0]];
    let mut dst = vec![0; 64];
    let outline = {
        let mut outline = rectangles(8, 8, &[Rect { x: 1, y: 1, width: 6, height: 6 }]);
        for y in 2..6 {
            outline[y * 8 + 2..y * 8 + 6].fill(0);
        }
        outline
    };
    matcher.draw(&mut gray_mut(8, 8, &mut dst), &corners, 1.0, 0xffffff).unwrap();
    assert_eq!(dst, outline);
    dst.fill(0);
    // SAFETY: all is alive until wait() returns.
    unsafe {
        let mut image = gray_mut(8, 8, &mut dst);
        matcher.enqueue_draw(Stream::DEFAULT, &mut image, &corners, 1.0, 0xffffff).unwrap();
    }
    matcher.wait().unwrap();
    assert_eq!(dst, outline);
    let refused = matcher.draw(&mut gray_mut(8, 8, &mut dst), &corners[..1], 1.0, 0);
    assert_refused(refused, Status::INVALID_ARGUMENT, &["count is 1", "2..64"]);
}

#[test]
fn a_translation_is_a_homography() {
    let context = cpu();
    let params = HomographyParams::default();
    let mut from = Vec::new();
    for i in 0..20 {
        from.push([(i * 37 % 100) as f32, (i * 61 % 90) as f32]);
    }
    let mut to: Vec<[f32; 2]> = from.iter().map(|&[x, y]| [x + 10.0, y - 5.0]).collect();
    to[7] = [500.0, 400.0];
    let homography = find_homography(&context, &params, &from, &to).unwrap().unwrap();
    let expected = [1.0, 0.0, 10.0, 0.0, 1.0, -5.0, 0.0, 0.0, 1.0];
    for (number, expected) in homography.matrix.iter().zip(expected) {
        assert!((number - expected).abs() < 1e-6, "{:?}", homography.matrix);
    }
    let misfits: Vec<usize> = (0..20).filter(|&i| !homography.inliers[i]).collect();
    assert_eq!(misfits, [7]);
    assert!(homography.error < 1e-3 && homography.iterations > 0);

    assert_eq!(find_homography(&context, &params, &from[..3], &to[..3]).unwrap(), None);
    assert_eq!(find_homography(&context, &params, &[], &[]).unwrap(), None);
    let refused = find_homography(&context, &params, &from, &to[..3]);
    assert_refused(refused, Status::INVALID_ARGUMENT, &["20", "3"]);
    from[0][1] = f32::NAN;
    assert_refused(
        find_homography(&context, &params, &from, &to),
        Status::INVALID_ARGUMENT,
        &["from[1]"],
    );
    let params = HomographyParams { max_iterations: 0, ..Default::default() };
    let refused = find_homography(&context, &params, &to, &to);
    assert_refused(
        refused,
        Status::INVALID_ARGUMENT,
        &["params->max_iterations is 0", "1..1000000"],
    );
}

// ---- cuts -----------------------------------------------------------------------------

/// 4 x 1: the source holds the first pixel, the sink the last, and the link in the middle is weak.
const TERMINALS: [i32; 4] = [10, 0, 0, -10];
const LINKS: [[i32; 4]; 4] = [[5, 2, 5, 0], [0; 4], [0, 5, 2, 5], [0; 4]]; // E S W N

#[test]
fn a_cut_goes_through_the_weakest_link() {
    let context = cpu();
    let params = GraphcutParams { certificate: true, ..Default::default() };
    let mut graphcut = Graphcut::new(&context, &params).unwrap();
    graphcut.prepare(&ImageSpec::new(Format::Cap32x4, 4, 1)).unwrap();
    let planes = LINKS.concat();
    let terminals = Image::new(Format::Label32, 4, 1, &TERMINALS).unwrap();
    let links = Image::new(Format::Cap32x4, 4, 1, &planes).unwrap();
    let mut mask = [7; 4];
    let expected = GraphcutResult { optimal: true, flow: 2, cut: Some(2), area: 2 };
    let found = graphcut.run(&terminals, &links, &mut gray_mut(4, 1, &mut mask)).unwrap();
    assert_eq!((found, mask), (expected, [255, 255, 0, 0]));
    assert!(graphcut.query().unwrap());
    assert_eq!(graphcut.wait().unwrap(), expected);

    // Planes may share memory.
    let none = (&LINKS[1][..], 16);
    let planes = [(&LINKS[0][..], 16), none, (&LINKS[2][..], 16), none];
    let links = Image::from_planes(Format::Cap32x4, 4, 1, planes).unwrap();
    graphcut.set_params(&Default::default()).unwrap();
    mask = [7; 4];
    // SAFETY: zeros are a legal value of it.
    let mut result: [sys::gpv_graphcut_result; 1] = unsafe { mem::zeroed() };
    let buffer = Some(buffer_of(&mut result));
    // SAFETY: all is alive until wait() returns.
    unsafe {
        let mut mask = gray_mut(4, 1, &mut mask);
        graphcut.enqueue(Stream::DEFAULT, &terminals, &links, &mut mask, buffer).unwrap();
    }
    assert_eq!(graphcut.wait().unwrap(), GraphcutResult { cut: None, ..expected });
    assert_eq!((result[0].flow, mask), (2, [255, 255, 0, 0]));
}

#[test]
fn a_value_out_of_its_range() {
    let context = cpu();
    let mut graphcut = Graphcut::new(&context, &Default::default()).unwrap();
    let mut planes = LINKS.concat();
    planes[2] = -1;
    let terminals = Image::new(Format::Label32, 4, 1, &TERMINALS).unwrap();
    let links = Image::new(Format::Cap32x4, 4, 1, &planes).unwrap();
    let mut mask = [7; 4];
    for _ in 0..2 {
        let refused = graphcut.run(&terminals, &links, &mut gray_mut(4, 1, &mut mask));
        let words = ["plane 0 of links is -1 at (2, 0), must be 0..67108863"];
        assert_refused(refused, Status::INVALID_ARGUMENT, &words);
    }
    assert_eq!(mask, [7; 4]);
    let params = GraphcutParams { max_time_us: -1, ..Default::default() };
    let refused = graphcut.set_params(&params);
    assert_refused(refused, Status::INVALID_ARGUMENT, &["params->max_time_us is -1"]);
}

#[test]
fn a_label_gives_way_to_those_around_it() {
    let context = cpu();
    let mut expansion = Expansion::new(&context, &Default::default()).unwrap();
    expansion.prepare(&ImageSpec::new(Format::Cap32x4, 3, 1), 2).unwrap();
    let first = Image::new(Format::Label32, 3, 1, &[0, 5, 0]).unwrap();
    let second = Image::new(Format::Label32, 3, 1, &[9, 3, 9]).unwrap();
    let mut planes = [[2; 3], [0; 3], [0; 3], [0; 3]].concat(); // E S W N
    let links = Image::new(Format::Cap32x4, 3, 1, &planes).unwrap();
    let mut labels = [7; 3];
    let expected = ExpansionResult { converged: true, start_energy: 7, energy: 5, moves: 1 };
    let found = expansion.run(&[&first, &second], &links, &mut gray_mut(3, 1, &mut labels));
    assert_eq!((found.unwrap(), labels), (expected, [0, 0, 0]));
    assert!(expansion.query().unwrap());
    labels = [7; 3];
    // SAFETY: zeros are a legal value of it.
    let mut result: [sys::gpv_expansion_result; 1] = unsafe { mem::zeroed() };
    let buffer = Some(buffer_of(&mut result));
    // SAFETY: all is alive until wait() returns.
    unsafe {
        let mut labels = gray_mut(3, 1, &mut labels);
        let costs = [&first, &second];
        expansion.enqueue(Stream::DEFAULT, &costs, &links, &mut labels, buffer).unwrap();
    }
    assert_eq!(expansion.wait().unwrap(), expected);
    assert_eq!((result[0].energy, labels), (5, [0, 0, 0]));

    planes[1] = -1;
    let links = Image::new(Format::Cap32x4, 3, 1, &planes).unwrap();
    let refused = expansion.run(&[&first, &second], &links, &mut gray_mut(3, 1, &mut labels));
    let words = ["plane 0 of links is -1 at (1, 0), must be 0..67108863"];
    assert_refused(refused, Status::INVALID_ARGUMENT, &words);
    let refused = expansion.run(&[&first], &links, &mut gray_mut(3, 1, &mut labels));
    assert_refused(refused, Status::INVALID_ARGUMENT, &["count is 1", "2..16"]);
    let refused = expansion.set_params(&ExpansionParams { cycles: 11 });
    assert_refused(refused, Status::INVALID_ARGUMENT, &["params->cycles is 11, must be 1..10"]);
}

#[test]
fn seeds_that_say_nearly_all() {
    let context = cpu();
    let params = SegmentParams { certificate: true, ..Default::default() };
    let mut segment = Segment::new(&context, &params).unwrap();
    let spec = ImageSpec::new(Format::Gray8, 6, 4);
    segment.prepare(&spec, Some(&spec), Some(&spec), Some(&spec)).unwrap();
    let wanted = rectangles(6, 4, &[Rect { x: 0, y: 0, width: 2, height: 4 }]);
    let mut seeds = wanted.clone();
    seeds[6] = SEED_UNKNOWN;
    let mut pixels: Vec<u8> = (0..24).map(|i| i * 10).collect();
    let src = pixels.clone();
    let src = gray(6, 4, &src);
    let given = gray(6, 4, &seeds);
    let known = Known { seeds: Some(&given), ..Default::default() };

    let (mut mask, mut dst) = (vec![7; 24], vec![7; 24]);
    let found = segment
        .run(
            &src,
            &known,
            Some(&mut gray_mut(6, 4, &mut mask)),
            Some(&mut gray_mut(6, 4, &mut dst)),
        )
        .unwrap();
    assert_eq!(mask, wanted);
    assert_eq!((found.area, found.optimal, found.cut), (8, true, Some(found.flow)));
    assert_eq!((dst[1], dst[4]), (10, 20)); // the background is half as bright
    assert!(segment.query().unwrap());
    assert_eq!(segment.wait().unwrap(), found);

    let mut image = gray_mut(6, 4, &mut pixels);
    assert_eq!(segment.run_in_place(&mut image, &known, None).unwrap(), found);
    assert_eq!(pixels, dst);

    // What lies outside is background, and the rest is known to be foreground, or probably is.
    assert!(segment.learned().unwrap());
    segment.forget().unwrap();
    assert!(!segment.learned().unwrap());
    let mut white = vec![255; 24];
    white[8] = SEED_PROBABLY_FOREGROUND;
    let given = gray(6, 4, &white);
    let rect = Rect { x: 1, y: 1, width: 3, height: 2 };
    let known = Known { seeds: Some(&given), rect: Some(rect) };
    segment.run(&src, &known, Some(&mut gray_mut(6, 4, &mut mask)), None).unwrap();
    assert_eq!(mask, rectangles(6, 4, &[rect]));

    let known = Known { rect: Some(Rect { x: 4, y: 0, width: 3, height: 1 }), ..known };
    let refused = segment.run(&src, &known, None, None);
    assert_refused(refused, Status::INVALID_ARGUMENT, &["rect->width is 3, must be 1..2"]);
    let params = SegmentParams { iterations: 101, ..Default::default() };
    let words = ["params->iterations is 101, must be 1..100"];
    assert_refused(segment.set_params(&params), Status::INVALID_ARGUMENT, &words);
}

#[test]
fn a_cutout_and_enqueued_segments() {
    let context = cpu();
    let params = SegmentParams { output: SegmentOutput::Cutout, ..Default::default() };
    let mut segment = Segment::new(&context, &params).unwrap();
    let mut pixels = [[10u8, 20, 30, 40]; 4].concat();
    let seeds = [255, 0, SEED_FOREGROUND, SEED_PROBABLY_BACKGROUND];
    let given = gray(4, 1, &seeds);
    let known = Known { seeds: Some(&given), ..Default::default() };
    // SAFETY: zeros are a legal value of it.
    let mut result: [sys::gpv_graphcut_result; 1] = unsafe { mem::zeroed() };
    let buffer = Some(buffer_of(&mut result));
    let mut mask = [7; 4];
    // SAFETY: all is alive until wait() returns.
    unsafe {
        let mut image = ImageMut::new(Format::Rgba8, 4, 1, &mut pixels).unwrap();
        let mut mask = gray_mut(4, 1, &mut mask);
        let src = image.as_image();
        segment.enqueue(Stream::DEFAULT, &src, &known, Some(&mut mask), None, buffer).unwrap();
        segment.enqueue_in_place(Stream::DEFAULT, &mut image, &known, None, None).unwrap();
    }
    // What is probable is not kept to.
    assert_eq!(segment.wait().unwrap().area, 3);
    assert_eq!((mask, result[0].area), ([255, 0, 255, 255], 3));
    let alpha: Vec<u8> = pixels.iter().skip(3).step_by(4).copied().collect();
    assert_eq!(alpha, [40, 0, 40, 40]);
}

// ---- threads and lifetimes ------------------------------------------------------------

#[test]
fn what_may_be_sent_and_shared() {
    fn check<T: Send + Sync>() {}
    check::<Context>();
    check::<Erode>();
    check::<Ccl>();
    check::<Kmeans>();
    check::<Sift>();
    check::<Match>();
    check::<Expansion>();
    check::<Graphcut>();
    check::<Segment>();
    check::<Image>();
    check::<ImageMut>();
    check::<Stream>();
    check::<Buffer>();
    check::<CclBuffers>();
    check::<KmeansBuffers>();
    check::<SiftBuffers>();
    check::<MatchBuffers>();
    check::<DescriptorSet>();
    check::<Error>();
}

#[test]
fn an_operator_moves_to_another_thread() {
    let (pixels, expected) = two_squares();
    let mut ccl = Ccl::new(&cpu(), &Default::default()).unwrap();
    let (mut ccl, pixels) = thread::spawn(move || {
        assert_eq!(ccl.run(&gray(12, 8, &pixels), None).unwrap(), expected);
        (ccl, pixels)
    })
    .join()
    .unwrap();
    assert_eq!(ccl.run(&gray(12, 8, &pixels), None).unwrap(), expected);
}

#[test]
fn two_threads_with_operators_of_one_context() {
    let context = cpu();
    let (pixels, expected) = two_squares();
    let src = gray(12, 8, &pixels);
    thread::scope(|scope| {
        for i in 0..2 {
            let context = &context;
            scope.spawn(move || {
                let mut ccl = Ccl::new(context, &Default::default()).unwrap();
                let mut erode = Erode::new(context, &Default::default()).unwrap();
                let mut dst = vec![7; 96];
                for _ in 0..200 {
                    assert_eq!(ccl.run(&src, None).unwrap(), expected);
                    erode.run(&src, &mut gray_mut(12, 8, &mut dst)).unwrap();
                    assert_eq!(dst.iter().filter(|&&pixel| pixel > 0).count(), 1);
                    // The text is that of this thread's failure.
                    let params = ErodeParams { radius: 1000 + i, ..Default::default() };
                    let words = [&*format!("params->radius is {}", 1000 + i)];
                    assert_refused(erode.set_params(&params), Status::INVALID_ARGUMENT, &words);
                }
            });
        }
    });
}

#[test]
fn drops_in_any_order() {
    let (pixels, expected) = two_squares();
    let src = gray(12, 8, &pixels);
    for order in 0..3 {
        let context = cpu();
        let mut first = Ccl::new(&context, &Default::default()).unwrap();
        let mut second = Ccl::new(&context, &Default::default()).unwrap();
        first.run(&src, None).unwrap();
        match order {
            0 => drop(context),
            1 => drop((context.clone(), context)),
            _ => drop((first, context)),
        }
        assert_eq!(second.run(&src, None).unwrap(), expected);
    }
}

// ---- backends -------------------------------------------------------------------------

/// What all operators make of a picture in host memory.
fn all_results(context: &Context) -> (String, Vec<Vec<u8>>) {
    let side = 96;
    let pixels = spots(side, &[(30.0, 34.0, 4.0), (60.0, 20.0, 6.0), (50.0, 70.0, 3.0)]);
    let src = gray(side, side, &pixels);
    let mut pictures = vec![vec![7; side * side]; 6];
    let mut written = pictures.iter_mut().map(|picture| gray_mut(side, side, picture));
    let mut next = || written.next().unwrap();

    Erode::new(context, &Default::default()).unwrap().run(&src, &mut next()).unwrap();
    let params = CclParams { threshold: 100, output: CclOutput::Colors, ..Default::default() };
    let mut ccl = Ccl::new(context, &params).unwrap();
    let components = ccl.run(&src, Some(&mut next())).unwrap();
    assert_eq!(components.len(), 3);
    let mut kmeans = Kmeans::new(context, &Default::default()).unwrap();
    let clusters = kmeans.run(&src, None, Some(&mut next())).unwrap();
    let mut segment = Segment::new(context, &Default::default()).unwrap();
    let known = Known::default();
    let cut = segment.run(&src, &known, Some(&mut next()), Some(&mut next())).unwrap();
    let mut sift = Sift::new(context, &Default::default()).unwrap();
    let features = sift.run(&src, None, 100).unwrap();
    let (x, y) = (features.keypoints[0].x, features.keypoints[0].y);
    assert_eq!(features.descriptors.as_u8().len(), features.keypoints.len());
    let described = sift.describe(&src, &features.keypoints).unwrap();
    assert_eq!(described.as_u8().len(), features.keypoints.len());
    let mut matcher = Match::new(context, &Default::default()).unwrap();
    let matches = matcher.run(&descriptors(9), &descriptors(7)).unwrap();
    matcher.draw(&mut next(), &[[5.0, 5.0], [90.0, 40.0]], 3.0, 0xff).unwrap();
    let planes = LINKS.concat();
    let mut graphcut = Graphcut::new(context, &Default::default()).unwrap();
    let mut mask = [7; 4];
    let small = graphcut
        .run(
            &Image::new(Format::Label32, 4, 1, &TERMINALS).unwrap(),
            &Image::new(Format::Cap32x4, 4, 1, &planes).unwrap(),
            &mut gray_mut(4, 1, &mut mask),
        )
        .unwrap();
    let found =
        format!("{components:?} {clusters:?} {cut:?} {x:.1} {y:.1} {matches:?} {small:?} {mask:?}");
    (found, pictures)
}

#[test]
fn the_backend_of_this_machine_gives_the_same() {
    let context = Context::new(Default::default()).unwrap();
    println!("on {}", context.device_name());
    assert_eq!(all_results(&context), all_results(&cpu()));
    // What is drawn into host memory is there when the call returns.
    let mut sift = Sift::new(&context, &Default::default()).unwrap();
    let pixels = spots(64, &[(30.0, 34.0, 4.0)]);
    sift.detect(&gray(64, 64, &pixels), None, 1).unwrap();
    let mut dst = vec![0; 4096];
    sift.draw(&mut gray_mut(64, 64, &mut dst), DrawStyle::Points, 0xffffff).unwrap();
    assert_eq!(dst[34 * 64 + 30], 255);
}
