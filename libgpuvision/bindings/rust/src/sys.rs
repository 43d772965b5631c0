// SPDX-License-Identifier: BSD-2-Clause
// Code generated from include/gpuvision by meson compile -C build interface-update. DO NOT EDIT.
//! The C interface as it is: every struct, constant and function of the headers of libgpuvision,
//! under its own name. The headers say what each of them means; the rest of this crate is made of
//! them.

#![allow(missing_docs, non_camel_case_types)]

use std::marker::{PhantomData, PhantomPinned};
use std::os::raw::{c_char, c_void};

/// An object that only the library can look into, of a thread at a time, at its place.
macro_rules! opaque {
    ($name:ident) => {
        #[repr(C)]
        #[derive(Debug)]
        pub struct $name {
            _private: [u8; 0],
            _marker: PhantomData<(*mut u8, PhantomPinned)>,
        }
    };
}

/// Does not compile where a struct is not as large as in C. No struct has a gap.
macro_rules! assert_size {
    ($name:ident, $size:expr) => {
        #[cfg(target_pointer_width = "64")]
        const _: () = assert!(std::mem::size_of::<$name>() == $size);
    };
}

// ---- types.h -------------------------------------------------------------------------

pub const GPV_MAX_PLANES: i32 = 8;
pub const GPV_MAX_SIDE: i32 = 32767;
pub const GPV_MAX_PIXELS: i32 = 1073741824;

pub type gpv_status = i32;
pub const GPV_OK: gpv_status = 0;
pub const GPV_NOT_READY: gpv_status = 1;
pub const GPV_ERR_INVALID_ARGUMENT: gpv_status = -1;
pub const GPV_ERR_UNSUPPORTED: gpv_status = -2;
pub const GPV_ERR_OUT_OF_MEMORY: gpv_status = -3;
pub const GPV_ERR_NO_DEVICE: gpv_status = -4;
pub const GPV_ERR_DEVICE: gpv_status = -5;
pub const GPV_ERR_TOO_SMALL: gpv_status = -6;
pub const GPV_ERR_DEVICE_LOST: gpv_status = -7;
pub const GPV_ERR_INTERNAL: gpv_status = -99;

pub type gpv_backend = u32;
pub const GPV_BACKEND_AUTO: gpv_backend = 0;
pub const GPV_BACKEND_CPU: gpv_backend = 1;
pub const GPV_BACKEND_CUDA: gpv_backend = 2;

pub type gpv_memory = u32;
pub const GPV_MEMORY_HOST: gpv_memory = 0;
pub const GPV_MEMORY_CUDA: gpv_memory = 1;

pub type gpv_format = u32;
pub const GPV_FORMAT_NONE: gpv_format = 0;
pub const GPV_FORMAT_GRAY8: gpv_format = 1;
pub const GPV_FORMAT_GRAY16: gpv_format = 2;
pub const GPV_FORMAT_GRAYF32: gpv_format = 3;
pub const GPV_FORMAT_RGB8: gpv_format = 4;
pub const GPV_FORMAT_BGR8: gpv_format = 5;
pub const GPV_FORMAT_RGBA8: gpv_format = 6;
pub const GPV_FORMAT_BGRA8: gpv_format = 7;
pub const GPV_FORMAT_RGBX8: gpv_format = 8;
pub const GPV_FORMAT_BGRX8: gpv_format = 9;
pub const GPV_FORMAT_NV12: gpv_format = 10;
pub const GPV_FORMAT_I420: gpv_format = 11;
pub const GPV_FORMAT_P016: gpv_format = 12;
pub const GPV_FORMAT_LABEL32: gpv_format = 13;
pub const GPV_FORMAT_CAP32X4: gpv_format = 14;
pub const GPV_FORMAT_CAP32X8: gpv_format = 15;
pub const GPV_FORMAT_NV21: gpv_format = 16;
pub const GPV_FORMAT_YUY2: gpv_format = 17;
pub const GPV_FORMAT_UYVY: gpv_format = 18;
pub const GPV_FORMAT_Y444: gpv_format = 19;
pub const GPV_FORMAT_ARGB8: gpv_format = 20;
pub const GPV_FORMAT_ABGR8: gpv_format = 21;
pub const GPV_FORMAT_XRGB8: gpv_format = 22;
pub const GPV_FORMAT_XBGR8: gpv_format = 23;
pub const GPV_FORMAT_RGBP8: gpv_format = 24;

pub type gpv_color_matrix = u32;
pub const GPV_COLOR_MATRIX_AUTO: gpv_color_matrix = 0;
pub const GPV_COLOR_MATRIX_BT601: gpv_color_matrix = 1;
pub const GPV_COLOR_MATRIX_BT709: gpv_color_matrix = 2;
pub const GPV_COLOR_MATRIX_BT2020: gpv_color_matrix = 3;

pub type gpv_color_range = u32;
pub const GPV_COLOR_RANGE_AUTO: gpv_color_range = 0;
pub const GPV_COLOR_RANGE_LIMITED: gpv_color_range = 1;
pub const GPV_COLOR_RANGE_FULL: gpv_color_range = 2;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gpv_image {
    pub struct_size: u32,
    pub format: gpv_format,
    pub memory: gpv_memory,
    pub device: i32,
    pub width: i32,
    pub height: i32,
    pub color_matrix: gpv_color_matrix,
    pub color_range: gpv_color_range,
    pub data: [*mut c_void; GPV_MAX_PLANES as usize],
    pub stride: [i64; GPV_MAX_PLANES as usize],
}
assert_size!(gpv_image, 160);

pub use crate::types::Rect as gpv_rect;
assert_size!(gpv_rect, 16);

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gpv_buffer {
    pub struct_size: u32,
    pub memory: gpv_memory,
    pub device: i32,
    pub reserved: u32,
    pub data: *mut c_void,
    pub size: u64,
}
assert_size!(gpv_buffer, 32);

pub type gpv_stream = *mut c_void;

pub type gpv_field_kind = u32;
pub const GPV_FIELD_KIND_INT32: gpv_field_kind = 0;
pub const GPV_FIELD_KIND_UINT32: gpv_field_kind = 1;
pub const GPV_FIELD_KIND_UINT64: gpv_field_kind = 2;
pub const GPV_FIELD_KIND_FLOAT: gpv_field_kind = 3;
pub const GPV_FIELD_KIND_BOOL: gpv_field_kind = 4;
pub const GPV_FIELD_KIND_CHOICE: gpv_field_kind = 5;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gpv_choice {
    pub name: *const c_char,
    pub text: *const c_char,
    pub value: i32,
    pub reserved: u32,
}
assert_size!(gpv_choice, 24);

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gpv_field {
    pub struct_size: u32,
    pub kind: gpv_field_kind,
    pub offset: u32,
    pub choice_count: u32,
    pub low: f64,
    pub high: f64,
    pub initial: f64,
    pub name: *const c_char,
    pub unit: *const c_char,
    pub text: *const c_char,
    pub choices: *const gpv_choice,
}
assert_size!(gpv_field, 72);

extern "C" {
    pub fn gpv_image_init(image: *mut gpv_image, size: u32);
    pub fn gpv_buffer_init(buffer: *mut gpv_buffer, size: u32);
    pub fn gpv_image_wrap(
        image: *mut gpv_image,
        size: u32,
        format: gpv_format,
        width: i32,
        height: i32,
        data: *mut c_void,
        stride: i64,
    ) -> i64;
    pub fn gpv_format_planes(format: gpv_format) -> i32;
    pub fn gpv_format_plane(
        format: gpv_format,
        plane: i32,
        width: i32,
        height: i32,
        row_bytes: *mut i64,
        rows: *mut i64,
    ) -> gpv_status;
}

// ---- context.h -----------------------------------------------------------------------

pub const GPV_DEVICE_CURRENT: i32 = -1;

opaque!(gpv_context);

pub type gpv_log_level = u32;
pub const GPV_LOG_LEVEL_ERROR: gpv_log_level = 1;
pub const GPV_LOG_LEVEL_WARNING: gpv_log_level = 2;
pub const GPV_LOG_LEVEL_INFO: gpv_log_level = 3;
pub const GPV_LOG_LEVEL_DEBUG: gpv_log_level = 4;

pub type gpv_log_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, level: gpv_log_level, message: *const c_char)
>;

pub type gpv_alloc_fn = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        memory: gpv_memory,
        size: u64,
        stream: gpv_stream,
    ) -> *mut c_void
>;

pub type gpv_free_fn = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        memory: gpv_memory,
        ptr: *mut c_void,
        stream: gpv_stream,
    )
>;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gpv_context_params {
    pub struct_size: u32,
    pub backend: gpv_backend,
    pub device: i32,
    pub log_level: gpv_log_level,
    pub log: gpv_log_fn,
    pub alloc: gpv_alloc_fn,
    pub free: gpv_free_fn,
    pub user: *mut c_void,
    pub threads: i32,
    pub reserved: u32,
}
assert_size!(gpv_context_params, 56);

extern "C" {
    pub fn gpv_api_version() -> u32;
    pub fn gpv_version_string() -> *const c_char;
    pub fn gpv_status_string(status: gpv_status) -> *const c_char;
    pub fn gpv_backend_available(backend: gpv_backend) -> i32;
    pub fn gpv_context_params_init(params: *mut gpv_context_params, size: u32);
    pub fn gpv_context_create(
        params: *const gpv_context_params,
        out: *mut *mut gpv_context,
    ) -> gpv_status;
    pub fn gpv_context_destroy(context: *mut *mut gpv_context);
    pub fn gpv_context_backend(context: *const gpv_context) -> gpv_backend;
    pub fn gpv_context_device_name(context: *const gpv_context) -> *const c_char;
    pub fn gpv_context_error(context: *const gpv_context) -> *const c_char;
    pub fn gpv_stream_sync(context: *mut gpv_context, stream: gpv_stream) -> gpv_status;
    pub fn gpv_stream_follow(
        context: *mut gpv_context,
        stream: gpv_stream,
        leader: gpv_stream,
    ) -> gpv_status;
}

// ---- ccl.h ---------------------------------------------------------------------------

opaque!(gpv_ccl);

pub type gpv_ccl_mode = u32;
pub const GPV_CCL_MODE_BINARY: gpv_ccl_mode = 0;
pub const GPV_CCL_MODE_EQUAL_VALUE: gpv_ccl_mode = 1;

pub type gpv_ccl_output = u32;
pub const GPV_CCL_OUTPUT_LABELS: gpv_ccl_output = 0;
pub const GPV_CCL_OUTPUT_MASK: gpv_ccl_output = 1;
pub const GPV_CCL_OUTPUT_COLORS: gpv_ccl_output = 2;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gpv_ccl_params {
    pub struct_size: u32,
    pub mode: gpv_ccl_mode,
    pub connectivity: i32,
    pub threshold: i32,
    pub foreground: i32,
    pub invert: u32,
    pub min_area: i32,
    pub max_area: i32,
    pub output: gpv_ccl_output,
    pub reserved: u32,
}
assert_size!(gpv_ccl_params, 40);

pub use crate::types::Component as gpv_ccl_component;
assert_size!(gpv_ccl_component, 40);

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gpv_ccl_result {
    pub struct_size: u32,
    pub count: i32,
    pub components: i32,
    pub reserved: u32,
}
assert_size!(gpv_ccl_result, 16);

extern "C" {
    pub fn gpv_ccl_params_init(params: *mut gpv_ccl_params, size: u32);
    pub fn gpv_ccl_result_init(result: *mut gpv_ccl_result, size: u32);
    pub fn gpv_ccl_create(
        context: *mut gpv_context,
        params: *const gpv_ccl_params,
        out: *mut *mut gpv_ccl,
    ) -> gpv_status;
    pub fn gpv_ccl_destroy(op: *mut *mut gpv_ccl);
    pub fn gpv_ccl_set_params(op: *mut gpv_ccl, params: *const gpv_ccl_params) -> gpv_status;
    pub fn gpv_ccl_prepare(
        op: *mut gpv_ccl,
        src: *const gpv_image,
        dst: *const gpv_image,
        components: i32,
    ) -> gpv_status;
    pub fn gpv_ccl_run(
        op: *mut gpv_ccl,
        stream: gpv_stream,
        src: *const gpv_image,
        dst: *const gpv_image,
        components: *const gpv_buffer,
        component_stride: u32,
        count: *const gpv_buffer,
    ) -> gpv_status;
    pub fn gpv_ccl_query(op: *mut gpv_ccl) -> gpv_status;
    pub fn gpv_ccl_wait(op: *mut gpv_ccl, result: *mut gpv_ccl_result) -> gpv_status;
}

// ---- sift.h --------------------------------------------------------------------------

pub const GPV_SIFT_DESCRIPTOR_LENGTH: i32 = 128;
pub const GPV_SIFT_MAX_KEYPOINTS: i32 = 1048576;

opaque!(gpv_sift);

pub type gpv_sift_descriptor_type = u32;
pub const GPV_SIFT_DESCRIPTOR_TYPE_U8: gpv_sift_descriptor_type = 0;
pub const GPV_SIFT_DESCRIPTOR_TYPE_F32: gpv_sift_descriptor_type = 1;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gpv_sift_params {
    pub struct_size: u32,
    pub max_features: i32,
    pub octaves: i32,
    pub octave_layers: i32,
    pub contrast_threshold: f32,
    pub edge_threshold: f32,
    pub sigma: f32,
    pub upsample: u32,
    pub upright: u32,
    pub root_sift: u32,
    pub descriptor_type: gpv_sift_descriptor_type,
    pub reserved: u32,
}
assert_size!(gpv_sift_params, 48);

pub use crate::types::Keypoint as gpv_sift_keypoint;
assert_size!(gpv_sift_keypoint, 24);

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gpv_sift_result {
    pub struct_size: u32,
    pub count: i32,
    pub dropped: i32,
    pub reserved: u32,
}
assert_size!(gpv_sift_result, 16);

extern "C" {
    pub fn gpv_sift_params_init(params: *mut gpv_sift_params, size: u32);
    pub fn gpv_sift_result_init(result: *mut gpv_sift_result, size: u32);
    pub fn gpv_sift_create(
        context: *mut gpv_context,
        params: *const gpv_sift_params,
        out: *mut *mut gpv_sift,
    ) -> gpv_status;
    pub fn gpv_sift_destroy(op: *mut *mut gpv_sift);
    pub fn gpv_sift_set_params(op: *mut gpv_sift, params: *const gpv_sift_params) -> gpv_status;
    pub fn gpv_sift_prepare(
        op: *mut gpv_sift,
        src: *const gpv_image,
        mask: *const gpv_image,
        keypoints: i32,
    ) -> gpv_status;
    pub fn gpv_sift_run(
        op: *mut gpv_sift,
        stream: gpv_stream,
        src: *const gpv_image,
        mask: *const gpv_image,
        keypoints: *const gpv_buffer,
        keypoint_stride: u32,
        descriptors: *const gpv_buffer,
        result: *const gpv_buffer,
    ) -> gpv_status;
    pub fn gpv_sift_describe(
        op: *mut gpv_sift,
        stream: gpv_stream,
        src: *const gpv_image,
        keypoints: *const gpv_buffer,
        keypoint_stride: u32,
        count: i32,
        descriptors: *const gpv_buffer,
    ) -> gpv_status;
    pub fn gpv_sift_query(op: *mut gpv_sift) -> gpv_status;
    pub fn gpv_sift_wait(op: *mut gpv_sift, result: *mut gpv_sift_result) -> gpv_status;
}

// ---- match.h -------------------------------------------------------------------------

pub const GPV_MATCH_MAX_DESCRIPTORS: i32 = 1048576;

opaque!(gpv_match);

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gpv_match_params {
    pub struct_size: u32,
    pub ratio: f32,
    pub mutual: u32,
    pub reserved: u32,
}
assert_size!(gpv_match_params, 16);

pub use crate::types::Nearest as gpv_match_nearest;
assert_size!(gpv_match_nearest, 16);

pub use crate::types::Pair as gpv_match_pair;
assert_size!(gpv_match_pair, 16);

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gpv_match_result {
    pub struct_size: u32,
    pub count: i32,
    pub dropped: i32,
    pub queries: i32,
}
assert_size!(gpv_match_result, 16);

extern "C" {
    pub fn gpv_match_params_init(params: *mut gpv_match_params, size: u32);
    pub fn gpv_match_result_init(result: *mut gpv_match_result, size: u32);
    pub fn gpv_match_create(
        context: *mut gpv_context,
        params: *const gpv_match_params,
        out: *mut *mut gpv_match,
    ) -> gpv_status;
    pub fn gpv_match_destroy(op: *mut *mut gpv_match);
    pub fn gpv_match_set_params(op: *mut gpv_match, params: *const gpv_match_params) -> gpv_status;
    pub fn gpv_match_prepare(
        op: *mut gpv_match,
        query_count: i32,
        train_count: i32,
        memory: gpv_memory,
    ) -> gpv_status;
    pub fn gpv_match_run(
        op: *mut gpv_match,
        stream: gpv_stream,
        query: *const gpv_buffer,
        query_count: i32,
        found: *const gpv_buffer,
        train: *const gpv_buffer,
        train_count: i32,
        nearest: *const gpv_buffer,
        pairs: *const gpv_buffer,
        result: *const gpv_buffer,
    ) -> gpv_status;
    pub fn gpv_match_query(op: *mut gpv_match) -> gpv_status;
    pub fn gpv_match_wait(op: *mut gpv_match, result: *mut gpv_match_result) -> gpv_status;
}

// ---- draw.h --------------------------------------------------------------------------

pub type gpv_draw_style = u32;
pub const GPV_DRAW_STYLE_POINTS: gpv_draw_style = 0;
pub const GPV_DRAW_STYLE_RICH: gpv_draw_style = 1;

extern "C" {
    pub fn gpv_draw_keypoints(
        op: *mut gpv_sift,
        stream: gpv_stream,
        dst: *const gpv_image,
        style: gpv_draw_style,
        color: u32,
    ) -> gpv_status;
    pub fn gpv_draw_outline(
        op: *mut gpv_match,
        stream: gpv_stream,
        dst: *const gpv_image,
        points: *const f32,
        count: i32,
        width: f32,
        color: u32,
    ) -> gpv_status;
}

// ---- erode.h -------------------------------------------------------------------------

opaque!(gpv_erode);

pub type gpv_erode_operation = u32;
pub const GPV_ERODE_OPERATION_ERODE: gpv_erode_operation = 0;
pub const GPV_ERODE_OPERATION_DILATE: gpv_erode_operation = 1;
pub const GPV_ERODE_OPERATION_OPEN: gpv_erode_operation = 2;
pub const GPV_ERODE_OPERATION_CLOSE: gpv_erode_operation = 3;
pub const GPV_ERODE_OPERATION_GRADIENT: gpv_erode_operation = 4;
pub const GPV_ERODE_OPERATION_TOPHAT: gpv_erode_operation = 5;
pub const GPV_ERODE_OPERATION_BLACKHAT: gpv_erode_operation = 6;

pub type gpv_erode_shape = u32;
pub const GPV_ERODE_SHAPE_RECT: gpv_erode_shape = 0;
pub const GPV_ERODE_SHAPE_CROSS: gpv_erode_shape = 1;
pub const GPV_ERODE_SHAPE_ELLIPSE: gpv_erode_shape = 2;

pub type gpv_erode_border = u32;
pub const GPV_ERODE_BORDER_IGNORE: gpv_erode_border = 0;
pub const GPV_ERODE_BORDER_BACKGROUND: gpv_erode_border = 1;

pub type gpv_erode_planes = u32;
pub const GPV_ERODE_PLANES_AUTO: gpv_erode_planes = 0;
pub const GPV_ERODE_PLANES_LUMA: gpv_erode_planes = 1;
pub const GPV_ERODE_PLANES_ALL: gpv_erode_planes = 2;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gpv_erode_params {
    pub struct_size: u32,
    pub operation: gpv_erode_operation,
    pub shape: gpv_erode_shape,
    pub radius: i32,
    pub radius_y: i32,
    pub iterations: i32,
    pub threshold: i32,
    pub border: gpv_erode_border,
    pub planes: gpv_erode_planes,
    pub reserved: u32,
}
assert_size!(gpv_erode_params, 40);

extern "C" {
    pub fn gpv_erode_params_init(params: *mut gpv_erode_params, size: u32);
    pub fn gpv_erode_create(
        context: *mut gpv_context,
        params: *const gpv_erode_params,
        out: *mut *mut gpv_erode,
    ) -> gpv_status;
    pub fn gpv_erode_destroy(op: *mut *mut gpv_erode);
    pub fn gpv_erode_set_params(op: *mut gpv_erode, params: *const gpv_erode_params) -> gpv_status;
    pub fn gpv_erode_prepare(op: *mut gpv_erode, like: *const gpv_image) -> gpv_status;
    pub fn gpv_erode_run(
        op: *mut gpv_erode,
        stream: gpv_stream,
        src: *const gpv_image,
        dst: *const gpv_image,
    ) -> gpv_status;
    pub fn gpv_erode_query(op: *mut gpv_erode) -> gpv_status;
    pub fn gpv_erode_wait(op: *mut gpv_erode) -> gpv_status;
}

// ---- graphcut.h ----------------------------------------------------------------------

pub const GPV_GRAPHCUT_MAX_TERMINAL: i32 = 1073741824;
pub const GPV_GRAPHCUT_MAX_LINK: i32 = 67108863;

opaque!(gpv_graphcut);

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gpv_graphcut_params {
    pub struct_size: u32,
    pub certificate: u32,
    pub max_time_us: i32,
    pub reuse: u32,
}
assert_size!(gpv_graphcut_params, 16);

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gpv_graphcut_result {
    pub struct_size: u32,
    pub optimal: u32,
    pub flow: i64,
    pub cut: i64,
    pub area: i64,
    pub refused: u32,
    pub reserved: u32,
}
assert_size!(gpv_graphcut_result, 40);

extern "C" {
    pub fn gpv_graphcut_params_init(params: *mut gpv_graphcut_params, size: u32);
    pub fn gpv_graphcut_result_init(result: *mut gpv_graphcut_result, size: u32);
    pub fn gpv_graphcut_create(
        context: *mut gpv_context,
        params: *const gpv_graphcut_params,
        out: *mut *mut gpv_graphcut,
    ) -> gpv_status;
    pub fn gpv_graphcut_destroy(op: *mut *mut gpv_graphcut);
    pub fn gpv_graphcut_set_params(
        op: *mut gpv_graphcut,
        params: *const gpv_graphcut_params,
    ) -> gpv_status;
    pub fn gpv_graphcut_prepare(op: *mut gpv_graphcut, links: *const gpv_image) -> gpv_status;
    pub fn gpv_graphcut_run(
        op: *mut gpv_graphcut,
        stream: gpv_stream,
        terminals: *const gpv_image,
        links: *const gpv_image,
        mask: *const gpv_image,
        result: *const gpv_buffer,
    ) -> gpv_status;
    pub fn gpv_graphcut_query(op: *mut gpv_graphcut) -> gpv_status;
    pub fn gpv_graphcut_wait(op: *mut gpv_graphcut, result: *mut gpv_graphcut_result) -> gpv_status;
}

// ---- expansion.h ---------------------------------------------------------------------

pub const GPV_EXPANSION_MAX_LABELS: i32 = 16;
pub const GPV_EXPANSION_MAX_CYCLES: i32 = 10;
pub const GPV_EXPANSION_MAX_COST: i32 = 268435456;

opaque!(gpv_expansion);

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gpv_expansion_params {
    pub struct_size: u32,
    pub cycles: i32,
}
assert_size!(gpv_expansion_params, 8);

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gpv_expansion_result {
    pub struct_size: u32,
    pub converged: u32,
    pub start_energy: i64,
    pub energy: i64,
    pub moves: i32,
    pub refused: u32,
}
assert_size!(gpv_expansion_result, 32);

extern "C" {
    pub fn gpv_expansion_params_init(params: *mut gpv_expansion_params, size: u32);
    pub fn gpv_expansion_result_init(result: *mut gpv_expansion_result, size: u32);
    pub fn gpv_expansion_create(
        context: *mut gpv_context,
        params: *const gpv_expansion_params,
        out: *mut *mut gpv_expansion,
    ) -> gpv_status;
    pub fn gpv_expansion_destroy(op: *mut *mut gpv_expansion);
    pub fn gpv_expansion_set_params(
        op: *mut gpv_expansion,
        params: *const gpv_expansion_params,
    ) -> gpv_status;
    pub fn gpv_expansion_prepare(
        op: *mut gpv_expansion,
        links: *const gpv_image,
        count: i32,
    ) -> gpv_status;
    pub fn gpv_expansion_run(
        op: *mut gpv_expansion,
        stream: gpv_stream,
        costs: *const *const gpv_image,
        count: i32,
        links: *const gpv_image,
        labels: *const gpv_image,
        result: *const gpv_buffer,
    ) -> gpv_status;
    pub fn gpv_expansion_query(op: *mut gpv_expansion) -> gpv_status;
    pub fn gpv_expansion_wait(
        op: *mut gpv_expansion,
        result: *mut gpv_expansion_result,
    ) -> gpv_status;
}

// ---- fields.h ------------------------------------------------------------------------

extern "C" {
    pub fn gpv_params_describe(
        stem: *const c_char,
        index: i32,
        field: *mut gpv_field,
        size: u32,
    ) -> gpv_status;
}

// ---- homography.h --------------------------------------------------------------------

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gpv_homography_params {
    pub struct_size: u32,
    pub threshold: f32,
    pub confidence: f32,
    pub max_iterations: i32,
    pub seed: u32,
    pub reserved: u32,
}
assert_size!(gpv_homography_params, 24);

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gpv_homography {
    pub struct_size: u32,
    pub found: u32,
    pub matrix: [f64; 9],
    pub error: f64,
    pub inliers: i32,
    pub iterations: i32,
}
assert_size!(gpv_homography, 96);

extern "C" {
    pub fn gpv_homography_params_init(params: *mut gpv_homography_params, size: u32);
    pub fn gpv_homography_init(homography: *mut gpv_homography, size: u32);
    pub fn gpv_homography_find(
        context: *mut gpv_context,
        params: *const gpv_homography_params,
        from: *const f32,
        to: *const f32,
        count: i32,
        inliers: *mut u8,
        out: *mut gpv_homography,
    ) -> gpv_status;
}

// ---- kmeans.h ------------------------------------------------------------------------

pub const GPV_KMEANS_MAX_CLUSTERS: i32 = 256;

opaque!(gpv_kmeans);

pub type gpv_kmeans_metric = u32;
pub const GPV_KMEANS_METRIC_L2: gpv_kmeans_metric = 0;
pub const GPV_KMEANS_METRIC_L1: gpv_kmeans_metric = 1;

pub type gpv_kmeans_init_method = u32;
pub const GPV_KMEANS_INIT_PLUSPLUS: gpv_kmeans_init_method = 0;
pub const GPV_KMEANS_INIT_RANDOM: gpv_kmeans_init_method = 1;
pub const GPV_KMEANS_INIT_GRID: gpv_kmeans_init_method = 2;
pub const GPV_KMEANS_INIT_GIVEN: gpv_kmeans_init_method = 3;

pub type gpv_kmeans_color_space = u32;
pub const GPV_KMEANS_COLOR_SPACE_RGB: gpv_kmeans_color_space = 0;
pub const GPV_KMEANS_COLOR_SPACE_LAB: gpv_kmeans_color_space = 1;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gpv_kmeans_params {
    pub struct_size: u32,
    pub clusters: i32,
    pub max_clusters: i32,
    pub max_iterations: i32,
    pub tolerance: f32,
    pub metric: gpv_kmeans_metric,
    pub init: gpv_kmeans_init_method,
    pub color_space: gpv_kmeans_color_space,
    pub seed: u64,
    pub warm_start: u32,
    pub reserved: u32,
}
assert_size!(gpv_kmeans_params, 48);

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gpv_kmeans_result {
    pub struct_size: u32,
    pub clusters: i32,
    pub iterations: i32,
    pub empty: i32,
    pub converged: u32,
    pub reserved: u32,
    pub inertia: f64,
}
assert_size!(gpv_kmeans_result, 32);

extern "C" {
    pub fn gpv_kmeans_params_init(params: *mut gpv_kmeans_params, size: u32);
    pub fn gpv_kmeans_result_init(result: *mut gpv_kmeans_result, size: u32);
    pub fn gpv_kmeans_color(color_space: gpv_kmeans_color_space, centroid: *const f32) -> u32;
    pub fn gpv_kmeans_create(
        context: *mut gpv_context,
        params: *const gpv_kmeans_params,
        out: *mut *mut gpv_kmeans,
    ) -> gpv_status;
    pub fn gpv_kmeans_destroy(op: *mut *mut gpv_kmeans);
    pub fn gpv_kmeans_set_params(
        op: *mut gpv_kmeans,
        params: *const gpv_kmeans_params,
    ) -> gpv_status;
    pub fn gpv_kmeans_set_centroids(
        op: *mut gpv_kmeans,
        centroids: *const f32,
        count: i32,
    ) -> gpv_status;
    pub fn gpv_kmeans_prepare(
        op: *mut gpv_kmeans,
        src: *const gpv_image,
        labels: *const gpv_image,
        dst: *const gpv_image,
    ) -> gpv_status;
    pub fn gpv_kmeans_run(
        op: *mut gpv_kmeans,
        stream: gpv_stream,
        src: *const gpv_image,
        labels: *const gpv_image,
        dst: *const gpv_image,
        centroids: *const gpv_buffer,
        counts: *const gpv_buffer,
        result: *const gpv_buffer,
    ) -> gpv_status;
    pub fn gpv_kmeans_query(op: *mut gpv_kmeans) -> gpv_status;
    pub fn gpv_kmeans_wait(op: *mut gpv_kmeans, result: *mut gpv_kmeans_result) -> gpv_status;
}

// ---- segment.h -----------------------------------------------------------------------

pub const GPV_SEGMENT_SEED_BACKGROUND: i32 = 0;
pub const GPV_SEGMENT_SEED_FOREGROUND: i32 = 1;
pub const GPV_SEGMENT_SEED_PROBABLY_BACKGROUND: i32 = 2;
pub const GPV_SEGMENT_SEED_PROBABLY_FOREGROUND: i32 = 3;
pub const GPV_SEGMENT_SEED_UNKNOWN: i32 = 128;
pub const GPV_SEGMENT_SEED_WHITE: i32 = 255;
pub const GPV_SEGMENT_UNIT: i32 = 1000;
pub const GPV_SEGMENT_MAX_ITERATIONS: i32 = 100;
pub const GPV_SEGMENT_MAX_WEIGHT: f32 = 1000000.0;

pub type gpv_segment_model = u32;
pub const GPV_SEGMENT_MODEL_GMM: gpv_segment_model = 0;
pub const GPV_SEGMENT_MODEL_HISTOGRAM: gpv_segment_model = 1;
pub const GPV_SEGMENT_MODEL_MEANS: gpv_segment_model = 2;

pub type gpv_segment_warm_start = u32;
pub const GPV_SEGMENT_WARM_START_NONE: gpv_segment_warm_start = 0;
pub const GPV_SEGMENT_WARM_START_ADAPT: gpv_segment_warm_start = 1;
pub const GPV_SEGMENT_WARM_START_REUSE: gpv_segment_warm_start = 2;

pub type gpv_segment_output = u32;
pub const GPV_SEGMENT_OUTPUT_OVERLAY: gpv_segment_output = 0;
pub const GPV_SEGMENT_OUTPUT_CUTOUT: gpv_segment_output = 1;

pub type gpv_segment_edge = u32;
pub const GPV_SEGMENT_EDGE_HARD: gpv_segment_edge = 0;
pub const GPV_SEGMENT_EDGE_SOFT: gpv_segment_edge = 1;

opaque!(gpv_segment);

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gpv_segment_params {
    pub struct_size: u32,
    pub model: gpv_segment_model,
    pub warm_start: gpv_segment_warm_start,
    pub connectivity: i32,
    pub iterations: i32,
    pub lambda: f32,
    pub sigma: f32,
    pub output: gpv_segment_output,
    pub certificate: u32,
    pub max_time_us: i32,
    pub static_scene: u32,
    pub edge: gpv_segment_edge,
}
assert_size!(gpv_segment_params, 48);

extern "C" {
    pub fn gpv_segment_params_init(params: *mut gpv_segment_params, size: u32);
    pub fn gpv_segment_create(
        context: *mut gpv_context,
        params: *const gpv_segment_params,
        out: *mut *mut gpv_segment,
    ) -> gpv_status;
    pub fn gpv_segment_destroy(op: *mut *mut gpv_segment);
    pub fn gpv_segment_set_params(
        op: *mut gpv_segment,
        params: *const gpv_segment_params,
    ) -> gpv_status;
    pub fn gpv_segment_forget(op: *mut gpv_segment) -> gpv_status;
    pub fn gpv_segment_learned(op: *mut gpv_segment, learned: *mut u32) -> gpv_status;
    pub fn gpv_segment_prepare(
        op: *mut gpv_segment,
        src: *const gpv_image,
        seeds: *const gpv_image,
        mask: *const gpv_image,
        dst: *const gpv_image,
    ) -> gpv_status;
    pub fn gpv_segment_run(
        op: *mut gpv_segment,
        stream: gpv_stream,
        src: *const gpv_image,
        seeds: *const gpv_image,
        rect: *const gpv_rect,
        mask: *const gpv_image,
        dst: *const gpv_image,
        result: *const gpv_buffer,
    ) -> gpv_status;
    pub fn gpv_segment_query(op: *mut gpv_segment) -> gpv_status;
    pub fn gpv_segment_wait(op: *mut gpv_segment, result: *mut gpv_graphcut_result) -> gpv_status;
}

// ---- version.h -----------------------------------------------------------------------

pub const GPV_API_VERSION_MAJOR: i32 = 1;
pub const GPV_API_VERSION_MINOR: i32 = 1;
pub const GPV_API_VERSION_PATCH: i32 = 0;
pub const GPV_API_VERSION: i32 = 65792;
