// SPDX-License-Identifier: BSD-2-Clause
//! Images are views: they describe pixels of the caller's. See gpuvision/types.h.

use std::any;
use std::marker::PhantomData;
use std::mem;
use std::os::raw::c_void;
use std::ptr;

use crate::convert::{initialized, to_i32, Field};
use crate::error::{Error, Result, Status};
use crate::sys;

pub use crate::types::Rect;

enumeration! {
    /// Pixel formats. Channels are named in the order of bytes in memory. Chroma planes of Nv12,
    /// Nv21, I420 and P016 have (width + 1) / 2 columns and (height + 1) / 2 rows, and rows of Yuy2
    /// and Uyvy (width + 1) / 2 groups of 4 bytes.
    ///
    /// A *picture* is an image of any of them but GrayF32, Label32, Cap32x4 and Cap32x8.
    Format {
        /// u8.
        Gray8 = GPV_FORMAT_GRAY8,
        /// u16, native byte order.
        Gray16 = GPV_FORMAT_GRAY16,
        /// f32.
        GrayF32 = GPV_FORMAT_GRAYF32,
        /// 3 bytes a pixel.
        Rgb8 = GPV_FORMAT_RGB8,
        /// 3 bytes a pixel.
        Bgr8 = GPV_FORMAT_BGR8,
        /// 4 bytes a pixel, straight alpha.
        Rgba8 = GPV_FORMAT_RGBA8,
        /// 4 bytes a pixel, straight alpha.
        Bgra8 = GPV_FORMAT_BGRA8,
        /// 4 bytes a pixel, the last one unused.
        Rgbx8 = GPV_FORMAT_RGBX8,
        /// 4 bytes a pixel, the last one unused.
        Bgrx8 = GPV_FORMAT_BGRX8,
        /// 2 planes: Y, UV interleaved.
        Nv12 = GPV_FORMAT_NV12,
        /// 3 planes: Y, U, V.
        I420 = GPV_FORMAT_I420,
        /// 2 planes of u16: Y, UV interleaved.
        P016 = GPV_FORMAT_P016,
        /// i32: labels, or any signed value.
        Label32 = GPV_FORMAT_LABEL32,
        /// 4 planes of i32, capacities to the E S W N neighbour.
        Cap32x4 = GPV_FORMAT_CAP32X4,
        /// 8 planes of i32: E SE S SW W NW N NE.
        Cap32x8 = GPV_FORMAT_CAP32X8,
        /// 2 planes: Y, VU interleaved.
        Nv21 = GPV_FORMAT_NV21,
        /// Y U Y V, 4 bytes for two pixels.
        Yuy2 = GPV_FORMAT_YUY2,
        /// U Y V Y, 4 bytes for two pixels.
        Uyvy = GPV_FORMAT_UYVY,
        /// 3 planes of the same size: Y, U, V.
        Y444 = GPV_FORMAT_Y444,
        /// 4 bytes a pixel, straight alpha.
        Argb8 = GPV_FORMAT_ARGB8,
        /// 4 bytes a pixel, straight alpha.
        Abgr8 = GPV_FORMAT_ABGR8,
        /// 4 bytes a pixel, the first one unused.
        Xrgb8 = GPV_FORMAT_XRGB8,
        /// 4 bytes a pixel, the first one unused.
        Xbgr8 = GPV_FORMAT_XBGR8,
        /// 3 planes of the same size: R, G, B.
        Rgbp8 = GPV_FORMAT_RGBP8,
    }
}

impl Format {
    /// Number of planes.
    pub fn planes(self) -> usize {
        // SAFETY: takes any number.
        unsafe { sys::gpv_format_planes(self.into_raw()) as usize }
    }

    /// Size of one plane of an image of so many pixels: bytes of a row without padding, and rows.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if there is no such plane, or no such image.
    pub fn plane(self, plane: usize, width: usize, height: usize) -> Result<(usize, usize)> {
        let (mut row_bytes, mut rows) = (0, 0);
        // SAFETY: both are written only if there is such a plane.
        let status = unsafe {
            sys::gpv_format_plane(
                self.into_raw(),
                to_i32(plane),
                to_i32(width),
                to_i32(height),
                &mut row_bytes,
                &mut rows,
            )
        };
        if status != sys::GPV_OK {
            let message = format!("{self:?} of {width} x {height} pixels has no plane {plane}");
            return Err(Error::new(Status(status), message));
        }
        Ok((row_bytes as usize, rows as usize))
    }

    /// Bytes of an image whose planes lie one behind the other, padding of all rows included.
    ///
    /// # Errors
    /// As [`Image::with_stride`].
    pub fn bytes(self, width: usize, height: usize, stride: usize) -> Result<usize> {
        wrap(self, width, height, ptr::null_mut(), stride).map(|(_, bytes)| bytes)
    }
}

enumeration! {
    /// Matrix between YUV and RGB. Read where a format has Y, U and V.
    ColorMatrix {
        /// BT.709 from 720 rows on, else BT.601.
        Auto = GPV_COLOR_MATRIX_AUTO,
        /// BT.601.
        Bt601 = GPV_COLOR_MATRIX_BT601,
        /// BT.709.
        Bt709 = GPV_COLOR_MATRIX_BT709,
        /// BT.2020.
        Bt2020 = GPV_COLOR_MATRIX_BT2020,
    }
}

enumeration! {
    /// Range of the YUV values. Read where a format has Y, U and V.
    ColorRange {
        /// Limited.
        Auto = GPV_COLOR_RANGE_AUTO,
        /// Of 8 bits: 16..235 of Y, 16..240 of U and V.
        Limited = GPV_COLOR_RANGE_LIMITED,
        /// All values.
        Full = GPV_COLOR_RANGE_FULL,
    }
}

/// What pixels are stored as: u8, which is bytes of whatever format, or the samples of some
/// formats: u16 of Gray16 and P016, f32 of GrayF32, i32 of Label32, Cap32x4 and Cap32x8.
pub trait Sample: sealed::Sealed {}

impl Sample for u8 {}
impl Sample for u16 {}
impl Sample for i32 {}
impl Sample for f32 {}

mod sealed {
    use super::Format::{self, *};

    /// Any bytes are a legal value.
    pub trait Sealed: Copy {
        /// Whether a format may be stored as this.
        fn holds(format: Format) -> bool;
    }

    impl Sealed for u8 {
        fn holds(_: Format) -> bool {
            true
        }
    }
    impl Sealed for u16 {
        fn holds(format: Format) -> bool {
            matches!(format, Gray16 | P016)
        }
    }
    impl Sealed for i32 {
        fn holds(format: Format) -> bool {
            matches!(format, Label32 | Cap32x4 | Cap32x8)
        }
    }
    impl Sealed for f32 {
        fn holds(format: Format) -> bool {
            matches!(format, GrayF32)
        }
    }
}

/// What the `prepare` functions have to know of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageSpec {
    /// Of the pixels.
    pub format: Format,
    /// Pixels.
    pub width: usize,
    /// Pixels.
    pub height: usize,
    /// CUDA ordinal of the device whose memory it is in, `None` in host memory.
    pub device: Option<u32>,
}

impl ImageSpec {
    /// Of an image in host memory.
    pub fn new(format: Format, width: usize, height: usize) -> ImageSpec {
        ImageSpec { format, width, height, device: None }
    }

    pub(crate) fn raw(self) -> sys::gpv_image {
        // SAFETY: the function belongs to the struct.
        let mut raw = unsafe { initialized(sys::gpv_image_init) };
        raw.format = self.format.into_raw();
        raw.width = to_i32(self.width);
        raw.height = to_i32(self.height);
        if let Some(device) = self.device {
            raw.memory = sys::GPV_MEMORY_CUDA;
            raw.device = to_i32(device as usize);
        }
        raw
    }

    fn of(raw: &sys::gpv_image) -> ImageSpec {
        ImageSpec {
            format: Format::from_raw(raw.format),
            width: raw.width as usize,
            height: raw.height as usize,
            device: (raw.memory == sys::GPV_MEMORY_CUDA).then_some(raw.device as u32),
        }
    }
}

/// An image that is read. Its size is 1..32767 pixels a side, 2^30 in all.
#[derive(Clone, Copy, Debug)]
pub struct Image<'a> {
    raw: sys::gpv_image,
    pixels: PhantomData<&'a [u8]>,
}

/// An image that is written, perhaps after it has been read. Otherwise as [`Image`].
#[derive(Debug)]
pub struct ImageMut<'a> {
    raw: sys::gpv_image,
    pixels: PhantomData<&'a mut [u8]>,
}

// SAFETY: it is a reference to samples; of device memory from_device() has been promised the same.
unsafe impl Send for Image<'_> {}
// SAFETY: as above.
unsafe impl Sync for Image<'_> {}
// SAFETY: as above.
unsafe impl Send for ImageMut<'_> {}
// SAFETY: as above.
unsafe impl Sync for ImageMut<'_> {}

impl<'a> Image<'a> {
    /// Of rows without gaps, and planes one behind the other.
    ///
    /// # Errors
    /// As [`Image::with_stride`].
    pub fn new<S: Sample>(
        format: Format,
        width: usize,
        height: usize,
        data: &'a [S],
    ) -> Result<Image<'a>> {
        Image::with_stride(format, width, height, data, 0)
    }

    /// Of planes one behind the other.
    ///
    /// stride is bytes from one row of the first plane to the next; 0 = rows without gaps. Further
    /// planes have the same, or one row where that is more; the U and V planes of I420 half of it,
    /// rounded up. Behind the last row there need be no padding, so that data may be a part of a
    /// larger image.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if there is no such image, if data is of another type than its samples,
    /// or if there is more of it than data has. What is not a multiple of the size of a sample is
    /// refused where the image is used.
    pub fn with_stride<S: Sample>(
        format: Format,
        width: usize,
        height: usize,
        data: &'a [S],
        stride: usize,
    ) -> Result<Image<'a>> {
        require_sample::<S>(format)?;
        let start = data.as_ptr() as *mut c_void;
        let raw = wrap_checked(format, width, height, start, mem::size_of_val(data), stride)?;
        Ok(Image { raw, pixels: PhantomData })
    }

    /// Of separate planes, each with its stride in bytes; 0 = rows without gaps.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if there is no such image, if the format has another number of planes or
    /// the planes are of another type than its samples, if a stride is less than a row, or if a
    /// plane is larger than its slice.
    pub fn from_planes<S: Sample, const N: usize>(
        format: Format,
        width: usize,
        height: usize,
        planes: [(&'a [S], usize); N],
    ) -> Result<Image<'a>> {
        require_sample::<S>(format)?;
        let places = planes.map(|(data, stride)| Place {
            data: data.as_ptr() as *mut c_void,
            bytes: mem::size_of_val(data),
            stride,
        });
        let raw = gather(ImageSpec::new(format, width, height), &places)?;
        Ok(Image { raw, pixels: PhantomData })
    }

    /// Of planes one behind the other in the memory of a CUDA device; otherwise as
    /// [`Image::with_stride`].
    ///
    /// # Safety
    /// From data on, [`Format::bytes`] are memory of this device. As long as the value, its copies
    /// and the work enqueued with them live, it stays so, and nothing writes there at the same time
    /// as that work reads.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if there is no such image.
    pub unsafe fn from_device(
        format: Format,
        width: usize,
        height: usize,
        device: u32,
        data: *const c_void,
        stride: usize,
    ) -> Result<Image<'a>> {
        let raw = wrap_on_device(format, width, height, device, data as *mut c_void, stride)?;
        Ok(Image { raw, pixels: PhantomData })
    }

    /// Of separate planes in the memory of a CUDA device, each with its stride in bytes; 0 = rows
    /// without gaps.
    ///
    /// # Safety
    /// As [`Image::from_device`], for the rows of each plane.
    ///
    /// # Errors
    /// As [`Image::from_planes`], but that there are no slices.
    pub unsafe fn from_device_planes<const N: usize>(
        format: Format,
        width: usize,
        height: usize,
        device: u32,
        planes: [(*const c_void, usize); N],
    ) -> Result<Image<'a>> {
        let spec = ImageSpec { device: Some(device), ..ImageSpec::new(format, width, height) };
        let places = planes.map(|(data, stride)| Place::unbounded(data as *mut c_void, stride));
        Ok(Image { raw: gather(spec, &places)?, pixels: PhantomData })
    }

    /// The same pixels with another matrix and range. Both are [`ColorMatrix::Auto`] and
    /// [`ColorRange::Auto`] at first.
    pub fn with_color(mut self, matrix: ColorMatrix, range: ColorRange) -> Image<'a> {
        set_color(&mut self.raw, matrix, range);
        self
    }

    /// Format, size and memory.
    pub fn spec(&self) -> ImageSpec {
        ImageSpec::of(&self.raw)
    }

    pub(crate) fn raw(&self) -> *const sys::gpv_image {
        &self.raw
    }
}

impl<'a> ImageMut<'a> {
    /// As [`Image::new`].
    ///
    /// # Errors
    /// As [`Image::with_stride`].
    pub fn new<S: Sample>(
        format: Format,
        width: usize,
        height: usize,
        data: &'a mut [S],
    ) -> Result<ImageMut<'a>> {
        ImageMut::with_stride(format, width, height, data, 0)
    }

    /// As [`Image::with_stride`]. Padding is not written.
    ///
    /// # Errors
    /// As [`Image::with_stride`].
    pub fn with_stride<S: Sample>(
        format: Format,
        width: usize,
        height: usize,
        data: &'a mut [S],
        stride: usize,
    ) -> Result<ImageMut<'a>> {
        require_sample::<S>(format)?;
        let bytes = mem::size_of_val(data);
        let start = data.as_mut_ptr().cast();
        let raw = wrap_checked(format, width, height, start, bytes, stride)?;
        Ok(ImageMut { raw, pixels: PhantomData })
    }

    /// As [`Image::from_planes`]. Padding is not written.
    ///
    /// # Errors
    /// As [`Image::from_planes`].
    pub fn from_planes<S: Sample, const N: usize>(
        format: Format,
        width: usize,
        height: usize,
        planes: [(&'a mut [S], usize); N],
    ) -> Result<ImageMut<'a>> {
        require_sample::<S>(format)?;
        let places = planes.map(|(data, stride)| Place {
            bytes: mem::size_of_val(data),
            data: data.as_mut_ptr().cast(),
            stride,
        });
        let raw = gather(ImageSpec::new(format, width, height), &places)?;
        Ok(ImageMut { raw, pixels: PhantomData })
    }

    /// As [`Image::from_device`].
    ///
    /// # Safety
    /// From data on, [`Format::bytes`] are memory of this device. As long as the value and the work
    /// enqueued with it live, it stays so, and nothing else reads or writes there at the same time
    /// as that work writes.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if there is no such image.
    pub unsafe fn from_device(
        format: Format,
        width: usize,
        height: usize,
        device: u32,
        data: *mut c_void,
        stride: usize,
    ) -> Result<ImageMut<'a>> {
        let raw = wrap_on_device(format, width, height, device, data, stride)?;
        Ok(ImageMut { raw, pixels: PhantomData })
    }

    /// As [`Image::from_device_planes`].
    ///
    /// # Safety
    /// As [`ImageMut::from_device`], for the rows of each plane.
    ///
    /// # Errors
    /// As [`Image::from_device_planes`].
    pub unsafe fn from_device_planes<const N: usize>(
        format: Format,
        width: usize,
        height: usize,
        device: u32,
        planes: [(*mut c_void, usize); N],
    ) -> Result<ImageMut<'a>> {
        let spec = ImageSpec { device: Some(device), ..ImageSpec::new(format, width, height) };
        let places = planes.map(|(data, stride)| Place::unbounded(data, stride));
        Ok(ImageMut { raw: gather(spec, &places)?, pixels: PhantomData })
    }

    /// As [`Image::with_color`].
    pub fn with_color(mut self, matrix: ColorMatrix, range: ColorRange) -> ImageMut<'a> {
        set_color(&mut self.raw, matrix, range);
        self
    }

    /// Format, size and memory.
    pub fn spec(&self) -> ImageSpec {
        ImageSpec::of(&self.raw)
    }

    /// The same image, to be read.
    pub fn as_image(&self) -> Image<'_> {
        Image { raw: self.raw, pixels: PhantomData }
    }

    pub(crate) fn raw(&self) -> *const sys::gpv_image {
        &self.raw
    }
}

/// NULL where there is none.
pub(crate) fn optional(image: Option<&Image>) -> *const sys::gpv_image {
    image.map_or(ptr::null(), Image::raw)
}

/// NULL where there is none.
pub(crate) fn optional_mut(image: Option<&mut ImageMut>) -> *const sys::gpv_image {
    image.map_or(ptr::null(), |image| image.raw())
}

fn set_color(raw: &mut sys::gpv_image, matrix: ColorMatrix, range: ColorRange) {
    raw.color_matrix = matrix.into_raw();
    raw.color_range = range.into_raw();
}

fn require_sample<S: Sample>(format: Format) -> Result<()> {
    if S::holds(format) {
        return Ok(());
    }
    refuse(format!("{format:?} is not stored as {}", any::type_name::<S>()))
}

fn refuse<T>(message: String) -> Result<T> {
    Err(Error::new(Status::INVALID_ARGUMENT, message))
}

/// A view of planes one behind the other, and its bytes.
fn wrap(
    format: Format,
    width: usize,
    height: usize,
    data: *mut c_void,
    stride: usize,
) -> Result<(sys::gpv_image, usize)> {
    let mut raw = ImageSpec::new(format, width, height).raw();
    // SAFETY: what data points to is not looked at.
    let bytes = unsafe {
        sys::gpv_image_wrap(
            &mut raw,
            mem::size_of::<sys::gpv_image>() as u32,
            format.into_raw(),
            to_i32(width),
            to_i32(height),
            data,
            i64::try_from(stride).unwrap_or(i64::MAX),
        )
    };
    // A slice has at most isize::MAX bytes.
    match isize::try_from(bytes) {
        Ok(bytes) if bytes >= 0 => Ok((raw, bytes as usize)),
        _ => refuse(format!(
            "{format:?} of {width} x {height} pixels, with a stride of {stride} bytes, cannot be"
        )),
    }
}

/// A view that reaches no further than so many bytes.
fn wrap_checked(
    format: Format,
    width: usize,
    height: usize,
    data: *mut c_void,
    bytes: usize,
    stride: usize,
) -> Result<sys::gpv_image> {
    let (raw, _) = wrap(format, width, height, data, stride)?;
    for plane in 0..format.planes() {
        let offset = raw.data[plane] as usize - data as usize;
        let needed = offset as i128 + extent(&raw, plane)?;
        if needed > bytes as i128 {
            return refuse(format!("data has {bytes} bytes, must have at least {needed}"));
        }
    }
    Ok(raw)
}

fn wrap_on_device(
    format: Format,
    width: usize,
    height: usize,
    device: u32,
    data: *mut c_void,
    stride: usize,
) -> Result<sys::gpv_image> {
    let (mut raw, _) = wrap(format, width, height, data, stride)?;
    raw.memory = sys::GPV_MEMORY_CUDA;
    raw.device = to_i32(device as usize);
    Ok(raw)
}

/// Where a plane is.
struct Place {
    data: *mut c_void,
    bytes: usize,
    stride: usize,
}

impl Place {
    /// Of which only the caller knows how large it is.
    fn unbounded(data: *mut c_void, stride: usize) -> Place {
        Place { data, bytes: usize::MAX, stride }
    }
}

/// A view of separate planes, which reaches beyond none of them.
fn gather(spec: ImageSpec, places: &[Place]) -> Result<sys::gpv_image> {
    let (format, count) = (spec.format, spec.format.planes());
    if places.len() != count {
        return refuse(format!("{format:?} has {count} planes, here are {}", places.len()));
    }
    let mut raw = spec.raw();
    for (plane, place) in places.iter().enumerate() {
        let (row_bytes, _) = format.plane(plane, spec.width, spec.height)?;
        let stride = if place.stride == 0 { row_bytes } else { place.stride };
        if stride < row_bytes {
            return refuse(format!(
                "plane {plane} has a stride of {stride} bytes, must have at least {row_bytes}"
            ));
        }
        raw.data[plane] = place.data;
        raw.stride[plane] = i64::try_from(stride).unwrap_or(i64::MAX);
        let needed = extent(&raw, plane)?;
        if needed > place.bytes as i128 {
            let bytes = place.bytes;
            return refuse(format!("plane {plane} has {bytes} bytes, must have at least {needed}"));
        }
    }
    Ok(raw)
}

/// Bytes from the first row of a plane to the end of its last.
fn extent(raw: &sys::gpv_image, plane: usize) -> Result<i128> {
    let spec = ImageSpec::of(raw);
    let (row_bytes, rows) = spec.format.plane(plane, spec.width, spec.height)?;
    Ok(i128::from(raw.stride[plane]) * (rows as i128 - 1) + row_bytes as i128)
}
