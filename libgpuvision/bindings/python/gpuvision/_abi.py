# SPDX-License-Identifier: BSD-2-Clause
"""The C interface, as ctypes sees it: constants, structs, functions, and the library itself.

Names and numbers are those of include/gpuvision, which says what each of them means.
"""
from __future__ import annotations

import ctypes as c
import functools
import os
from enum import IntEnum
from typing import Any

API_VERSION = (1, 0)  # that this package needs at least, and the major number that it knows
DEVICE_CURRENT = -1
MAX_CLUSTERS = 256
SIFT_DESCRIPTOR_LENGTH = 128


class Status(IntEnum):
    """Result of a call: 0 is success, negative an error, positive neither."""
    OK = 0
    NOT_READY = 1
    ERR_INVALID_ARGUMENT = -1
    ERR_UNSUPPORTED = -2
    ERR_OUT_OF_MEMORY = -3
    ERR_NO_DEVICE = -4
    ERR_DEVICE = -5
    ERR_TOO_SMALL = -6
    ERR_DEVICE_LOST = -7
    ERR_INTERNAL = -99


class Backend(IntEnum):
    """What computes."""
    AUTO = 0  #: CUDA where it can be used, else the CPU
    CPU = 1
    CUDA = 2


class Memory(IntEnum):
    """Where memory lives."""
    HOST = 0
    CUDA = 1


class Format(IntEnum):
    """Pixel formats; channels in the order of bytes in memory."""
    NONE = 0
    GRAY8 = 1
    GRAY16 = 2
    GRAYF32 = 3
    RGB8 = 4
    BGR8 = 5
    RGBA8 = 6
    BGRA8 = 7
    RGBX8 = 8
    BGRX8 = 9
    NV12 = 10
    I420 = 11
    P016 = 12
    LABEL32 = 13
    CAP32X4 = 14
    CAP32X8 = 15


class ColorMatrix(IntEnum):
    """Matrix between YUV and RGB."""
    AUTO = 0  #: BT.709 from 720 rows on, else BT.601
    BT601 = 1
    BT709 = 2
    BT2020 = 3


class ColorRange(IntEnum):
    """Range of YUV values."""
    AUTO = 0  #: limited
    LIMITED = 1
    FULL = 2


class LogLevel(IntEnum):
    """How much is logged: a level includes those below it."""
    ERROR = 1
    WARNING = 2
    INFO = 3
    DEBUG = 4


class ErodeOperation(IntEnum):
    """What Erode computes."""
    ERODE = 0
    DILATE = 1
    OPEN = 2
    CLOSE = 3
    GRADIENT = 4
    TOPHAT = 5
    BLACKHAT = 6


class ErodeShape(IntEnum):
    """Shape of the structuring element."""
    RECT = 0
    CROSS = 1
    ELLIPSE = 2


class ErodeBorder(IntEnum):
    """What pixels outside the image count as."""
    IGNORE = 0
    BACKGROUND = 1


class ErodePlanes(IntEnum):
    """Which planes and channels are processed."""
    AUTO = 0
    LUMA = 1
    ALL = 2


class CclMode(IntEnum):
    """Which neighbouring pixels of the foreground belong together."""
    BINARY = 0
    EQUAL_VALUE = 1


class CclOutput(IntEnum):
    """What the picture that Ccl makes shows."""
    LABELS = 0
    MASK = 1
    COLORS = 2


class KmeansMetric(IntEnum):
    """How far a colour is from a centroid."""
    L2 = 0
    L1 = 1


class KmeansInit(IntEnum):
    """The initial centroids of the first run of Kmeans."""
    PLUSPLUS = 0
    RANDOM = 1
    GRID = 2
    GIVEN = 3


class KmeansColorSpace(IntEnum):
    """The colour space in which Kmeans measures distances."""
    RGB = 0
    LAB = 1


class SiftDescriptorType(IntEnum):
    """What a number of a descriptor is: a uint8 or a float32."""
    U8 = 0
    F32 = 1


class DrawStyle(IntEnum):
    """How Sift.draw() marks a keypoint."""
    POINTS = 0
    RICH = 1


class SegmentModel(IntEnum):
    """What is learned of the colours of either side."""
    GMM = 0
    HISTOGRAM = 1
    MEANS = 2


class SegmentWarmStart(IntEnum):
    """What a run of Segment does with the colours that the run before it has learned."""
    NONE = 0
    ADAPT = 1
    REUSE = 2


class SegmentOutput(IntEnum):
    """What the picture that Segment makes shows."""
    OVERLAY = 0
    CUTOUT = 1


u32, i32, i64, u64, f32, f64 = c.c_uint32, c.c_int32, c.c_int64, c.c_uint64, c.c_float, c.c_double
MAX_PLANES = 8

LogFunction = c.CFUNCTYPE(None, c.c_void_p, u32, c.c_char_p)


class ContextParams(c.Structure):
    """gpv_context_params"""
    _fields_ = [("struct_size", u32), ("backend", u32), ("device", i32), ("log_level", u32),
                ("log", LogFunction), ("alloc", c.c_void_p), ("free", c.c_void_p),
                ("user", c.c_void_p)]


class ImageView(c.Structure):
    """gpv_image"""
    _fields_ = [("struct_size", u32), ("format", u32), ("memory", u32), ("device", i32),
                ("width", i32), ("height", i32), ("color_matrix", u32), ("color_range", u32),
                ("data", c.c_void_p * MAX_PLANES), ("stride", i64 * MAX_PLANES)]


class BufferView(c.Structure):
    """gpv_buffer"""
    _fields_ = [("struct_size", u32), ("memory", u32), ("device", i32), ("reserved", u32),
                ("data", c.c_void_p), ("size", u64)]


class Rect(c.Structure):
    """gpv_rect"""
    _fields_ = [("x", i32), ("y", i32), ("width", i32), ("height", i32)]


class ErodeParams(c.Structure):
    """gpv_erode_params"""
    _fields_ = [("struct_size", u32), ("operation", u32), ("shape", u32), ("radius", i32),
                ("radius_y", i32), ("iterations", i32), ("threshold", i32), ("border", u32),
                ("planes", u32), ("reserved", u32)]


class CclParams(c.Structure):
    """gpv_ccl_params"""
    _fields_ = [("struct_size", u32), ("mode", u32), ("connectivity", i32), ("threshold", i32),
                ("foreground", i32), ("invert", u32), ("min_area", i32), ("max_area", i32),
                ("output", u32), ("reserved", u32)]


class CclComponent(c.Structure):
    """gpv_ccl_component"""
    _fields_ = [("left", i32), ("top", i32), ("right", i32), ("bottom", i32), ("area", i32),
                ("reserved", i32), ("sum_x", i64), ("sum_y", i64)]


class CclResult(c.Structure):
    """gpv_ccl_result"""
    _fields_ = [("struct_size", u32), ("count", i32), ("components", i32), ("reserved", u32)]


class KmeansParams(c.Structure):
    """gpv_kmeans_params"""
    _fields_ = [("struct_size", u32), ("clusters", i32), ("max_clusters", i32),
                ("max_iterations", i32), ("tolerance", f32), ("metric", u32), ("init", u32),
                ("color_space", u32), ("seed", u64), ("warm_start", u32), ("reserved", u32)]


class KmeansResult(c.Structure):
    """gpv_kmeans_result"""
    _fields_ = [("struct_size", u32), ("clusters", i32), ("iterations", i32), ("empty", i32),
                ("converged", u32), ("reserved", u32), ("inertia", f64)]


class SiftParams(c.Structure):
    """gpv_sift_params"""
    _fields_ = [("struct_size", u32), ("max_features", i32), ("octaves", i32),
                ("octave_layers", i32), ("contrast_threshold", f32), ("edge_threshold", f32),
                ("sigma", f32), ("upsample", u32), ("upright", u32), ("root_sift", u32),
                ("descriptor_type", u32), ("reserved", u32)]


class Keypoint(c.Structure):
    """gpv_sift_keypoint"""
    _fields_ = [("x", f32), ("y", f32), ("sigma", f32), ("angle", f32), ("response", f32),
                ("octave", i32)]


class SiftResult(c.Structure):
    """gpv_sift_result"""
    _fields_ = [("struct_size", u32), ("count", i32), ("dropped", i32), ("reserved", u32)]


class MatchParams(c.Structure):
    """gpv_match_params"""
    _fields_ = [("struct_size", u32), ("ratio", f32), ("mutual", u32), ("reserved", u32)]


class MatchNearest(c.Structure):
    """gpv_match_nearest"""
    _fields_ = [("index", i32 * 2), ("distance", i32 * 2)]


class MatchPair(c.Structure):
    """gpv_match_pair"""
    _fields_ = [("query", i32), ("train", i32), ("distance", i32), ("second", i32)]


class MatchResult(c.Structure):
    """gpv_match_result"""
    _fields_ = [("struct_size", u32), ("count", i32), ("dropped", i32), ("queries", i32)]


class HomographyParams(c.Structure):
    """gpv_homography_params"""
    _fields_ = [("struct_size", u32), ("threshold", f32), ("confidence", f32),
                ("max_iterations", i32), ("seed", u32), ("reserved", u32)]


class Homography(c.Structure):
    """gpv_homography"""
    _fields_ = [("struct_size", u32), ("found", u32), ("matrix", f64 * 9), ("error", f64),
                ("inliers", i32), ("iterations", i32)]


class GraphcutParams(c.Structure):
    """gpv_graphcut_params"""
    _fields_ = [("struct_size", u32), ("certificate", u32), ("max_time_us", i32), ("reserved", u32)]


class GraphcutResult(c.Structure):
    """gpv_graphcut_result"""
    _fields_ = [("struct_size", u32), ("optimal", u32), ("flow", i64), ("cut", i64), ("area", i64),
                ("refused", u32), ("reserved", u32)]


class SegmentParams(c.Structure):
    """gpv_segment_params"""
    _fields_ = [("struct_size", u32), ("model", u32), ("warm_start", u32), ("connectivity", i32),
                ("iterations", i32), ("lambda", f32), ("sigma", f32), ("output", u32),
                ("certificate", u32), ("max_time_us", i32)]


_NAMES: dict[type[c.Structure], str] = {  # of the functions that write their defaults: gpv_<name>_init()
    ImageView: "image", BufferView: "buffer", ContextParams: "context_params",
    ErodeParams: "erode_params", CclParams: "ccl_params", CclResult: "ccl_result",
    KmeansParams: "kmeans_params", KmeansResult: "kmeans_result", SiftParams: "sift_params",
    SiftResult: "sift_result", MatchParams: "match_params", MatchResult: "match_result",
    HomographyParams: "homography_params", Homography: "homography",
    GraphcutParams: "graphcut_params", GraphcutResult: "graphcut_result",
    SegmentParams: "segment_params"}


def _functions() -> dict[str, tuple[Any, ...]]:
    """(type of the result, types of the arguments) of every function of the headers."""
    handle, stream, text = c.c_void_p, c.c_void_p, c.c_char_p
    image, buffer = c.POINTER(ImageView), c.POINTER(BufferView)
    floats = c.POINTER(f32)
    functions: dict[str, tuple[Any, ...]] = {
        f"gpv_{name}_init": (None, c.POINTER(struct), u32) for struct, name in _NAMES.items()}
    operators: dict[str, tuple[Any, list[Any], list[Any], Any]] = {  # parameters; what prepare() and run() take beside the operator; result
        "erode": (ErodeParams, [image], [image] * 2, None),
        "ccl": (CclParams, [image, image, i32], [image, image, buffer, u32, buffer], CclResult),
        "kmeans": (KmeansParams, [image] * 3, [image] * 3 + [buffer] * 3, KmeansResult),
        "sift": (SiftParams, [image, image, i32], [image, image, buffer, u32, buffer, buffer],
                 SiftResult),
        "match": (MatchParams, [i32, i32, u32],
                  [buffer, i32, buffer, buffer, i32, buffer, buffer, buffer], MatchResult),
        "graphcut": (GraphcutParams, [image], [image] * 3 + [buffer], GraphcutResult),
        "segment": (SegmentParams, [image] * 4,
                    [image, image, c.POINTER(Rect), image, image, buffer], GraphcutResult)}
    for stem, (params, prepare, run, result) in operators.items():
        functions |= {
            f"gpv_{stem}_create": (i32, handle, c.POINTER(params), c.POINTER(handle)),
            f"gpv_{stem}_destroy": (None, c.POINTER(handle)),
            f"gpv_{stem}_set_params": (i32, handle, c.POINTER(params)),
            f"gpv_{stem}_prepare": (i32, handle, *prepare),
            f"gpv_{stem}_run": (i32, handle, stream, *run),
            f"gpv_{stem}_query": (i32, handle),
            f"gpv_{stem}_wait": (i32, handle, *([c.POINTER(result)] if result else []))}
    return functions | {
        "gpv_api_version": (u32,),
        "gpv_version_string": (text,),
        "gpv_status_string": (text, i32),
        "gpv_backend_available": (i32, u32),
        "gpv_context_create": (i32, c.POINTER(ContextParams), c.POINTER(handle)),
        "gpv_context_destroy": (None, c.POINTER(handle)),
        "gpv_context_backend": (u32, handle),
        "gpv_context_device_name": (text, handle),
        "gpv_context_error": (text, handle),
        "gpv_stream_sync": (i32, handle, stream),
        "gpv_stream_follow": (i32, handle, stream, stream),
        "gpv_image_wrap": (i64, image, u32, u32, i32, i32, c.c_void_p, i64),
        "gpv_format_planes": (i32, u32),
        "gpv_format_plane": (i32, u32, i32, i32, i32, c.POINTER(i64), c.POINTER(i64)),
        "gpv_kmeans_color": (u32, u32, floats),
        "gpv_kmeans_set_centroids": (i32, handle, floats, i32),
        "gpv_sift_describe": (i32, handle, stream, image, buffer, u32, i32, buffer),
        "gpv_draw_keypoints": (i32, handle, stream, image, u32, u32),
        "gpv_draw_outline": (i32, handle, stream, image, floats, i32, f32, u32),
        "gpv_homography_find": (i32, handle, c.POINTER(HomographyParams), floats, floats, i32,
                                c.POINTER(c.c_uint8), c.POINTER(Homography)),
        "gpv_segment_forget": (i32, handle),
        "gpv_segment_learned": (i32, handle, c.POINTER(u32))}


FUNCTIONS = _functions()


class LibraryNotFound(OSError):
    """There is no libgpuvision, or one that does not suit this package."""


@functools.cache
def lib() -> c.CDLL:
    """libgpuvision, with the types of its functions: the file that GPUVISION_LIBRARY names, else
    the one that the system finds."""
    name = os.environ.get("GPUVISION_LIBRARY") or "libgpuvision.so.1"
    try:
        found = c.CDLL(name)
    except OSError as error:
        raise LibraryNotFound(
            f"{name} not found: install it, run inside meson devenv -C build, or name it in "
            f"GPUVISION_LIBRARY ({error})") from None
    try:
        found.gpv_api_version.restype = u32
        version = found.gpv_api_version()
        major, minor = version >> 16, version >> 8 & 255
        if major != API_VERSION[0] or minor < API_VERSION[1]:
            raise LibraryNotFound(f"{name} has API {major}.{minor}, this package needs "
                                  f"{API_VERSION[0]}.{API_VERSION[1]}")
        for function, (result, *arguments) in FUNCTIONS.items():
            declared = getattr(found, function)
            declared.restype, declared.argtypes = result, arguments
    except AttributeError as error:
        raise LibraryNotFound(f"{name} is no libgpuvision: {error}") from None
    return found


def initialized(struct: type[c.Structure]) -> Any:
    """A struct with the defaults of the library."""
    value = struct()
    getattr(lib(), f"gpv_{_NAMES[struct]}_init")(value, c.sizeof(value))
    return value
