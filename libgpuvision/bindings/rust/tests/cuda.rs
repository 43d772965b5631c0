// SPDX-License-Identifier: BSD-2-Clause
//! Images and buffers in CUDA memory, on a stream, beside the CPU. Without a GPU there is nothing to
//! do, which the output says.

use std::mem;
use std::os::raw::{c_char, c_int, c_uint, c_void};
use std::ptr;

use gpuvision::ccl::CclBuffers;
use gpuvision::kmeans::KmeansBuffers;
use gpuvision::*;

extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// The driver's calls that a test needs, in the primary context of device 0.
struct Driver {
    handle: *mut c_void,
}

impl Driver {
    fn open() -> Option<Driver> {
        // SAFETY: the name ends with 0; 2 is RTLD_NOW.
        let library = unsafe { dlopen(b"libcuda.so.1\0".as_ptr().cast(), 2) };
        if library.is_null() {
            return None;
        }
        let driver = Driver { handle: library };
        let (mut device, mut context) = (0 as c_int, ptr::null_mut::<c_void>());
        type Init = unsafe extern "C" fn(c_uint) -> c_int;
        type Get = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
        type Retain = unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int;
        type Set = unsafe extern "C" fn(*mut c_void) -> c_int;
        // SAFETY: these are the types of the functions of cuda.h.
        unsafe {
            if driver.function::<Init>(b"cuInit\0")(0) != 0
                || driver.function::<Get>(b"cuDeviceGet\0")(&mut device, 0) != 0
            {
                return None;
            }
            let retain: Retain = driver.function(b"cuDevicePrimaryCtxRetain\0");
            assert_eq!(retain(&mut context, device), 0);
            assert_eq!(driver.function::<Set>(b"cuCtxSetCurrent\0")(context), 0);
        }
        Some(driver)
    }

    /// F is the type of the function.
    unsafe fn function<F: Copy>(&self, name: &[u8]) -> F {
        let symbol = dlsym(self.handle, name.as_ptr().cast());
        assert!(!symbol.is_null(), "{}", String::from_utf8_lossy(name));
        mem::transmute_copy(&symbol)
    }

    fn stream(&self) -> Stream {
        type Create = unsafe extern "C" fn(*mut *mut c_void, c_uint) -> c_int;
        let mut stream = ptr::null_mut();
        // SAFETY: the stream lives as long as the process; 1 is CU_STREAM_NON_BLOCKING.
        unsafe {
            assert_eq!(self.function::<Create>(b"cuStreamCreate\0")(&mut stream, 1), 0);
            Stream::from_raw(stream)
        }
    }

    /// A copy of values in CUDA memory, which lives as long as the process.
    fn upload<T>(&self, values: &[T]) -> *mut c_void {
        type Alloc = unsafe extern "C" fn(*mut *mut c_void, usize) -> c_int;
        type Copy = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> c_int;
        let (mut memory, bytes) = (ptr::null_mut(), mem::size_of_val(values));
        // SAFETY: the memory is as large as what is copied.
        unsafe {
            assert_eq!(self.function::<Alloc>(b"cuMemAlloc_v2\0")(&mut memory, bytes), 0);
            let copy: Copy = self.function(b"cuMemcpyHtoD_v2\0");
            assert_eq!(copy(memory, values.as_ptr().cast(), bytes), 0);
        }
        memory
    }

    fn download<T>(&self, memory: *mut c_void, values: &mut [T]) {
        type Copy = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> c_int;
        let bytes = mem::size_of_val(values);
        // SAFETY: upload() has made the memory, from as many values.
        unsafe {
            let copy: Copy = self.function(b"cuMemcpyDtoH_v2\0");
            assert_eq!(copy(values.as_mut_ptr().cast(), memory, bytes), 0);
        }
    }
}

const WIDTH: usize = 161;
const HEIGHT: usize = 97;

fn noise() -> Vec<u8> {
    let mut state = 1u32;
    (0..WIDTH * HEIGHT)
        .map(|_| {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            (state >> 24) as u8
        })
        .collect()
}

#[test]
fn device_memory_on_a_stream() {
    let driver = match Driver::open() {
        Some(driver) => driver,
        None => return println!("skipped: there is no CUDA device"),
    };
    let cpu = Context::new(ContextParams { backend: Backend::Cpu, ..Default::default() }).unwrap();
    let cuda =
        Context::new(ContextParams { backend: Backend::Cuda, ..Default::default() }).unwrap();
    let (stream, pixels) = (driver.stream(), noise());
    let device_pixels = driver.upload(&pixels);
    let view = Image::new(Format::Gray8, WIDTH, HEIGHT, &pixels).unwrap();
    // SAFETY: the memory has these pixels, and lives as long as the process.
    let src = unsafe { Image::from_device(Format::Gray8, WIDTH, HEIGHT, 0, device_pixels, WIDTH) }
        .unwrap();
    let target = driver.upload(&vec![0u8; WIDTH * HEIGHT]);
    // SAFETY: as above.
    let mut dst =
        unsafe { ImageMut::from_device(Format::Gray8, WIDTH, HEIGHT, 0, target, WIDTH) }.unwrap();
    let (mut got, mut want) = (vec![0u8; WIDTH * HEIGHT], vec![0u8; WIDTH * HEIGHT]);

    let params = ErodeParams { radius: 2, ..Default::default() };
    let mut wanted = ImageMut::new(Format::Gray8, WIDTH, HEIGHT, &mut want).unwrap();
    Erode::new(&cpu, &params).unwrap().run(&view, &mut wanted).unwrap();
    let mut erode = Erode::new(&cuda, &params).unwrap();
    // SAFETY: all memory lives as long as the process, and is used by this run alone.
    unsafe { erode.enqueue(stream, &src, &mut dst) }.unwrap();
    cuda.stream_sync(stream).unwrap();
    driver.download(target, &mut got);
    assert!(got == want, "erode on a stream");
    erode
        .run(&dst.as_image(), &mut ImageMut::new(Format::Gray8, 1, 1, &mut [0u8]).unwrap())
        .expect_err("images in different memory");

    let params = CclParams { threshold: 200, ..Default::default() };
    let components = Ccl::new(&cpu, &params).unwrap().run(&view, None).unwrap();
    let blank = vec![Component::default(); components.len()];
    let (records, count) = (driver.upload(&blank), driver.upload(&[0i32]));
    let bytes = mem::size_of_val(&blank[..]);
    let mut ccl = Ccl::new(&cuda, &params).unwrap();
    let buffers = CclBuffers {
        components: Some(Buffer::on_device(records, bytes, 0)),
        count: Some(Buffer::on_device(count, 4, 0)),
        ..Default::default()
    };
    // SAFETY: as above.
    unsafe { ccl.enqueue(stream, &src, None, &buffers) }.unwrap();
    assert_eq!(ccl.wait().unwrap().count as usize, components.len());
    let (mut found, mut number) = (blank, [0i32]);
    driver.download(records, &mut found);
    driver.download(count, &mut number);
    assert_eq!(found, components);
    assert_eq!(number[0] as usize, components.len());

    let params = KmeansParams { clusters: 3, ..Default::default() };
    let clusters = Kmeans::new(&cpu, &params).unwrap().run(&view, None, None).unwrap();
    let centroids = driver.upload(&[[0f32; 3]; 3]);
    let mut kmeans = Kmeans::new(&cuda, &params).unwrap();
    let buffers = KmeansBuffers {
        centroids: Some(Buffer::on_device(centroids, 36, 0)),
        ..Default::default()
    };
    // SAFETY: as above.
    unsafe { kmeans.enqueue(stream, &src, None, Some(&mut dst), &buffers) }.unwrap();
    kmeans.wait().unwrap();
    let mut found = [[0f32; 3]; 3];
    driver.download(centroids, &mut found);
    assert_eq!(found.to_vec(), clusters.centroids);
}
