# SPDX-License-Identifier: BSD-2-Clause
# Code generated from include/gpuvision by meson compile -C build interface-update. DO NOT EDIT.
"""The C interface, as ctypes sees it: constants, structs and functions.

Names and numbers are those of include/gpuvision, which says what each of them means.
"""
from __future__ import annotations

import ctypes as c
from enum import IntEnum
from typing import Any

MAX_PLANES = 8
MAX_SIDE = 32767
MAX_PIXELS = 1073741824
DEVICE_CURRENT = -1
SIFT_DESCRIPTOR_LENGTH = 128
SIFT_MAX_KEYPOINTS = 1048576
MATCH_MAX_DESCRIPTORS = 1048576
GRAPHCUT_MAX_TERMINAL = 1073741824
GRAPHCUT_MAX_LINK = 67108863
EXPANSION_MAX_LABELS = 16
EXPANSION_MAX_CYCLES = 10
EXPANSION_MAX_COST = 268435456
KMEANS_MAX_CLUSTERS = 256
SEGMENT_SEED_BACKGROUND = 0
SEGMENT_SEED_FOREGROUND = 1
SEGMENT_SEED_PROBABLY_BACKGROUND = 2
SEGMENT_SEED_PROBABLY_FOREGROUND = 3
SEGMENT_SEED_UNKNOWN = 128
SEGMENT_SEED_WHITE = 255
SEGMENT_UNIT = 1000
SEGMENT_MAX_ITERATIONS = 100
SEGMENT_MAX_WEIGHT = 1000000.0
API_VERSION_MAJOR = 1
API_VERSION_MINOR = 1
API_VERSION_PATCH = 0
API_VERSION = 65792


class Status(IntEnum):
    """Result of a call: 0 is success, negative an error, positive neither."""
    #: success
    OK = 0
    #: not an error: the work still runs
    NOT_READY = 1
    #: the error text names parameter, value and legal range
    ERR_INVALID_ARGUMENT = -1
    #: legal, but not offered by this backend or this release
    ERR_UNSUPPORTED = -2
    #: host or device memory
    ERR_OUT_OF_MEMORY = -3
    #: no usable CUDA device or driver
    ERR_NO_DEVICE = -4
    #: CUDA reported an error
    ERR_DEVICE = -5
    #: an output buffer is too small
    ERR_TOO_SMALL = -6
    #: the CUDA context is poisoned; destroy and start anew
    ERR_DEVICE_LOST = -7
    #: a fault of the library: please report it
    ERR_INTERNAL = -99


class Backend(IntEnum):
    """What computes."""
    #: CUDA where it can be used, else the CPU
    AUTO = 0
    #: the CPU
    CPU = 1
    #: a CUDA device; an error where none can be used
    CUDA = 2


class Memory(IntEnum):
    """Where memory lives."""
    #: addressable by the CPU
    HOST = 0
    #: CUDA device memory
    CUDA = 1


class Format(IntEnum):
    """Pixel formats. Channel names are in the order of bytes in memory. Chroma planes of NV12, NV21, I420
    and P016 have (width + 1) / 2 columns and (height + 1) / 2 rows. Rows of YUY2 and UYVY have (width +
    1) / 2 groups of 4 bytes, for two pixels each; where the width is odd, the luma that no pixel has is
    written as that of the last pixel.

    YV12 is I420 with the addresses of U and V exchanged. P010 and P012 are P016: their samples have their
    bits at the upper end.

    A *picture* is an image of any of them but NONE, GRAYF32, LABEL32, CAP32X4 and CAP32X8. Where colours
    of 8 bits are read from samples of 16, they are rounded; where they are written to such samples, YUV
    of limited range gets eight bits of 0 at the lower end, and all else is multiplied by 257.
    """
    #: no format: refused wherever one is read
    NONE = 0
    #: uint8
    GRAY8 = 1
    #: uint16, native byte order
    GRAY16 = 2
    #: float
    GRAYF32 = 3
    #: 3 bytes a pixel
    RGB8 = 4
    #: 3 bytes a pixel
    BGR8 = 5
    #: 4 bytes a pixel, straight alpha
    RGBA8 = 6
    #: 4 bytes a pixel, straight alpha
    BGRA8 = 7
    #: 4 bytes a pixel, the last one unused
    RGBX8 = 8
    #: 4 bytes a pixel, the last one unused
    BGRX8 = 9
    #: 2 planes: Y, UV interleaved
    NV12 = 10
    #: 3 planes: Y, U, V
    I420 = 11
    #: 2 planes: Y, UV interleaved, uint16
    P016 = 12
    #: int32: labels, or any signed value
    LABEL32 = 13
    #: 4 planes of int32, capacities to the E S W N neighbour
    CAP32X4 = 14
    #: 8 planes of int32: E SE S SW W NW N NE
    CAP32X8 = 15
    #: 2 planes: Y, VU interleaved. This and what follows: since 1.1
    NV21 = 16
    #: Y U Y V, 4 bytes for two pixels
    YUY2 = 17
    #: U Y V Y, 4 bytes for two pixels
    UYVY = 18
    #: 3 planes of the same size: Y, U, V
    Y444 = 19
    #: 4 bytes a pixel, straight alpha
    ARGB8 = 20
    #: 4 bytes a pixel, straight alpha
    ABGR8 = 21
    #: 4 bytes a pixel, the first one unused
    XRGB8 = 22
    #: 4 bytes a pixel, the first one unused
    XBGR8 = 23
    #: 3 planes of the same size: R, G, B
    RGBP8 = 24


class ColorMatrix(IntEnum):
    """Matrix between YUV and RGB. Read where a format has Y, U and V."""
    #: BT.709 from 720 rows on, else BT.601
    AUTO = 0
    #: ITU-R BT.601, of standard definition
    BT601 = 1
    #: ITU-R BT.709, of high definition
    BT709 = 2
    #: ITU-R BT.2020 with non-constant luminance
    BT2020 = 3


class ColorRange(IntEnum):
    """Range of the YUV values. Read where a format has Y, U and V."""
    #: limited
    AUTO = 0
    #: of 8 bits: Y is 16..235, U and V are 16..240
    LIMITED = 1
    #: all values: of 8 bits 0..255
    FULL = 2


class FieldKind(IntEnum):
    """What is at the offset of a field. A later version may have more kinds. Since 1.1."""
    #: int32_t
    INT32 = 0
    #: uint32_t
    UINT32 = 1
    #: uint64_t, of which every value is legal
    UINT64 = 2
    #: float
    FLOAT = 3
    #: uint32_t, 0 or 1
    BOOL = 4
    #: 32 bits, which hold the value of one of the choices
    CHOICE = 5


class LogLevel(IntEnum):
    """How much is logged: a level includes those below it."""
    #: why a call fails
    ERROR = 1
    #: what works, but not as asked: why the CPU computes, for one
    WARNING = 2
    #: what computes
    INFO = 3
    #: outputs that are too small, too, which often is a question
    DEBUG = 4


class CclMode(IntEnum):
    """Which neighbouring pixels of the foreground belong together."""
    #: all of them
    BINARY = 0
    #: those of equal luma
    EQUAL_VALUE = 1


class CclOutput(IntEnum):
    """What dst of Ccl.run() receives. Background is 0, black or neutral grey chroma."""
    #: labels: LABEL32, GRAY16, or P016 (in Y; chroma is 32768); up to 255 GRAY8, NV12 or I420 (in Y; chroma
    #: is 128)
    LABELS = 0
    #: 255 in each component: GRAY8, NV12 or I420 (chroma is 128)
    MASK = 1
    #: a picture, of colours that depend on the label alone; a fourth channel is 255
    COLORS = 2


class SiftDescriptorType(IntEnum):
    """What a number of a descriptor is."""
    #: uint8: 512 times that of F32, rounded, at most 255
    U8 = 0
    #: float: a descriptor has length 1, or 0 where there is no gradient
    F32 = 1


class DrawStyle(IntEnum):
    """How Draw.keypoints() marks a keypoint."""
    #: a cross of 5 x 5 pixels
    POINTS = 0
    #: a circle whose radius is the scale, with the orientation as a line from its centre
    RICH = 1


class ErodeOperation(IntEnum):
    """What is computed."""
    #: minimum under the element
    ERODE = 0
    #: maximum under the element
    DILATE = 1
    #: erode, then dilate
    OPEN = 2
    #: dilate, then erode
    CLOSE = 3
    #: dilate - erode
    GRADIENT = 4
    #: source - open
    TOPHAT = 5
    #: close - source, not below 0
    BLACKHAT = 6


class ErodeShape(IntEnum):
    """Shape of the structuring element inside its (2 radius + 1) x (2 radius_y + 1) box."""
    #: the whole box
    RECT = 0
    #: its middle row and middle column
    CROSS = 1
    #: the ellipse inscribed in it; of height 1: its centre alone
    ELLIPSE = 2


class ErodeBorder(IntEnum):
    """What pixels outside the image count as."""
    #: nothing: only pixels inside take part
    IGNORE = 0
    #: 0: what touches the border erodes there
    BACKGROUND = 1


class ErodePlanes(IntEnum):
    """Which planes and channels are processed; the others are copied."""
    #: grey, Y of YUV, every colour channel of RGB (not alpha)
    AUTO = 0
    #: grey and Y of YUV; RGB has no luma plane: as AUTO
    LUMA = 1
    #: also U and V, with the same element on their own samples
    ALL = 2


class KmeansMetric(IntEnum):
    """How far a colour is from a centroid."""
    #: squared Euclidean distance
    L2 = 0
    #: Manhattan distance. The centroid stays the mean, which does not minimize this cost: it need not fall in
    #: every iteration
    L1 = 1


class KmeansInit(IntEnum):
    """The centroids that the first run starts from."""
    #: colours drawn by squared distance to those drawn before
    PLUSPLUS = 0
    #: different colours, drawn by how often they occur
    RANDOM = 1
    #: the colours of pixels spread evenly over the image
    GRID = 2
    #: those of Kmeans.set_centroids()
    GIVEN = 3


class KmeansColorSpace(IntEnum):
    """The colour space of distances and centroids."""
    #: R, G, B, 0..255
    RGB = 0
    #: CIE L*a*b* of sRGB (D65), as bytes: 2.55 L*, a* + 128, b* + 128
    LAB = 1


class SegmentModel(IntEnum):
    """What is learned of the colours of either side."""
    #: a mixture of five Gaussians with full covariance
    GMM = 0
    #: how frequent each of 16^3 colours is, smoothed
    HISTOGRAM = 1
    #: one mean colour
    MEANS = 2


class SegmentWarmStart(IntEnum):
    """What a run does with the colours that the run before it has learned."""
    #: nothing: each run learns from its own seeds
    NONE = 0
    #: starts from them, if there are any, and at the end learns from its own cut, unless the frame teaches
    #: nothing; begins anew where a scene does: for video
    ADAPT = 1
    #: uses them, if there are any, and learns nothing
    REUSE = 2


class SegmentOutput(IntEnum):
    """What dst of Segment.run() receives."""
    #: the picture, its background grey and half as bright; format of src
    OVERLAY = 0
    #: the picture, its background transparent; RGBA8 or BGRA8. Alpha of the foreground is that of src, or 255
    #: where there is none; with "soft" at its border in part
    CUTOUT = 1


class SegmentEdge(IntEnum):
    """What mask, and the alpha of a cutout, are at the border of the sides."""
    #: a pixel is of one side or of the other
    HARD = 0
    #: within 4 pixels of the other side, a pixel that is not known is of the foreground in part, as its
    #: colour says
    SOFT = 1


LogFn = c.CFUNCTYPE(None, c.c_void_p, c.c_uint32, c.c_char_p)
AllocFn = c.CFUNCTYPE(c.c_void_p, c.c_void_p, c.c_uint32, c.c_uint64, c.c_void_p)
FreeFn = c.CFUNCTYPE(None, c.c_void_p, c.c_uint32, c.c_void_p, c.c_void_p)


class Image(c.Structure):
    """gpv_image"""
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("format", c.c_uint32),
        ("memory", c.c_uint32),
        ("device", c.c_int32),
        ("width", c.c_int32),
        ("height", c.c_int32),
        ("color_matrix", c.c_uint32),
        ("color_range", c.c_uint32),
        ("data", c.c_void_p * MAX_PLANES),
        ("stride", c.c_int64 * MAX_PLANES),
    ]


class Rect(c.Structure):
    """gpv_rect"""
    _fields_ = [
        ("x", c.c_int32),
        ("y", c.c_int32),
        ("width", c.c_int32),
        ("height", c.c_int32),
    ]


class Buffer(c.Structure):
    """gpv_buffer"""
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("memory", c.c_uint32),
        ("device", c.c_int32),
        ("reserved", c.c_uint32),
        ("data", c.c_void_p),
        ("size", c.c_uint64),
    ]


class Choice(c.Structure):
    """gpv_choice"""
    _fields_ = [
        ("name", c.c_char_p),
        ("text", c.c_char_p),
        ("value", c.c_int32),
        ("reserved", c.c_uint32),
    ]


class Field(c.Structure):
    """gpv_field"""
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("kind", c.c_uint32),
        ("offset", c.c_uint32),
        ("choice_count", c.c_uint32),
        ("low", c.c_double),
        ("high", c.c_double),
        ("initial", c.c_double),
        ("name", c.c_char_p),
        ("unit", c.c_char_p),
        ("text", c.c_char_p),
        ("choices", c.POINTER(Choice)),
    ]


class ContextParams(c.Structure):
    """gpv_context_params"""
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("backend", c.c_uint32),
        ("device", c.c_int32),
        ("log_level", c.c_uint32),
        ("log", LogFn),
        ("alloc", AllocFn),
        ("free", FreeFn),
        ("user", c.c_void_p),
        ("threads", c.c_int32),
        ("reserved", c.c_uint32),
    ]


class CclParams(c.Structure):
    """gpv_ccl_params"""
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("mode", c.c_uint32),
        ("connectivity", c.c_int32),
        ("threshold", c.c_int32),
        ("foreground", c.c_int32),
        ("invert", c.c_uint32),
        ("min_area", c.c_int32),
        ("max_area", c.c_int32),
        ("output", c.c_uint32),
        ("reserved", c.c_uint32),
    ]


class CclComponent(c.Structure):
    """gpv_ccl_component"""
    _fields_ = [
        ("left", c.c_int32),
        ("top", c.c_int32),
        ("right", c.c_int32),
        ("bottom", c.c_int32),
        ("area", c.c_int32),
        ("reserved", c.c_int32),
        ("sum_x", c.c_int64),
        ("sum_y", c.c_int64),
    ]


class CclResult(c.Structure):
    """gpv_ccl_result"""
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("count", c.c_int32),
        ("components", c.c_int32),
        ("reserved", c.c_uint32),
    ]


class SiftParams(c.Structure):
    """gpv_sift_params"""
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("max_features", c.c_int32),
        ("octaves", c.c_int32),
        ("octave_layers", c.c_int32),
        ("contrast_threshold", c.c_float),
        ("edge_threshold", c.c_float),
        ("sigma", c.c_float),
        ("upsample", c.c_uint32),
        ("upright", c.c_uint32),
        ("root_sift", c.c_uint32),
        ("descriptor_type", c.c_uint32),
        ("reserved", c.c_uint32),
    ]


class SiftKeypoint(c.Structure):
    """gpv_sift_keypoint"""
    _fields_ = [
        ("x", c.c_float),
        ("y", c.c_float),
        ("sigma", c.c_float),
        ("angle", c.c_float),
        ("response", c.c_float),
        ("octave", c.c_int32),
    ]


class SiftResult(c.Structure):
    """gpv_sift_result"""
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("count", c.c_int32),
        ("dropped", c.c_int32),
        ("reserved", c.c_uint32),
    ]


class MatchParams(c.Structure):
    """gpv_match_params"""
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("ratio", c.c_float),
        ("mutual", c.c_uint32),
        ("reserved", c.c_uint32),
    ]


class MatchNearest(c.Structure):
    """gpv_match_nearest"""
    _fields_ = [
        ("index", c.c_int32 * 2),
        ("distance", c.c_int32 * 2),
    ]


class MatchPair(c.Structure):
    """gpv_match_pair"""
    _fields_ = [
        ("query", c.c_int32),
        ("train", c.c_int32),
        ("distance", c.c_int32),
        ("second", c.c_int32),
    ]


class MatchResult(c.Structure):
    """gpv_match_result"""
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("count", c.c_int32),
        ("dropped", c.c_int32),
        ("queries", c.c_int32),
    ]


class ErodeParams(c.Structure):
    """gpv_erode_params"""
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("operation", c.c_uint32),
        ("shape", c.c_uint32),
        ("radius", c.c_int32),
        ("radius_y", c.c_int32),
        ("iterations", c.c_int32),
        ("threshold", c.c_int32),
        ("border", c.c_uint32),
        ("planes", c.c_uint32),
        ("reserved", c.c_uint32),
    ]


class GraphcutParams(c.Structure):
    """gpv_graphcut_params"""
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("certificate", c.c_uint32),
        ("max_time_us", c.c_int32),
        ("reuse", c.c_uint32),
    ]


class GraphcutResult(c.Structure):
    """gpv_graphcut_result"""
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("optimal", c.c_uint32),
        ("flow", c.c_int64),
        ("cut", c.c_int64),
        ("area", c.c_int64),
        ("refused", c.c_uint32),
        ("reserved", c.c_uint32),
    ]


class ExpansionParams(c.Structure):
    """gpv_expansion_params"""
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("cycles", c.c_int32),
    ]


class ExpansionResult(c.Structure):
    """gpv_expansion_result"""
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("converged", c.c_uint32),
        ("start_energy", c.c_int64),
        ("energy", c.c_int64),
        ("moves", c.c_int32),
        ("refused", c.c_uint32),
    ]


class HomographyParams(c.Structure):
    """gpv_homography_params"""
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("threshold", c.c_float),
        ("confidence", c.c_float),
        ("max_iterations", c.c_int32),
        ("seed", c.c_uint32),
        ("reserved", c.c_uint32),
    ]


class Homography(c.Structure):
    """gpv_homography"""
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("found", c.c_uint32),
        ("matrix", c.c_double * 9),
        ("error", c.c_double),
        ("inliers", c.c_int32),
        ("iterations", c.c_int32),
    ]


class KmeansParams(c.Structure):
    """gpv_kmeans_params"""
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("clusters", c.c_int32),
        ("max_clusters", c.c_int32),
        ("max_iterations", c.c_int32),
        ("tolerance", c.c_float),
        ("metric", c.c_uint32),
        ("init", c.c_uint32),
        ("color_space", c.c_uint32),
        ("seed", c.c_uint64),
        ("warm_start", c.c_uint32),
        ("reserved", c.c_uint32),
    ]


class KmeansResult(c.Structure):
    """gpv_kmeans_result"""
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("clusters", c.c_int32),
        ("iterations", c.c_int32),
        ("empty", c.c_int32),
        ("converged", c.c_uint32),
        ("reserved", c.c_uint32),
        ("inertia", c.c_double),
    ]


class SegmentParams(c.Structure):
    """gpv_segment_params"""
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("model", c.c_uint32),
        ("warm_start", c.c_uint32),
        ("connectivity", c.c_int32),
        ("iterations", c.c_int32),
        ("lambda", c.c_float),
        ("sigma", c.c_float),
        ("output", c.c_uint32),
        ("certificate", c.c_uint32),
        ("max_time_us", c.c_int32),
        ("static_scene", c.c_uint32),
        ("edge", c.c_uint32),
    ]


#: Functions that write the defaults of a struct.
INITIALIZERS: dict[type[c.Structure], str] = {
    Image: "gpv_image_init",
    Buffer: "gpv_buffer_init",
    ContextParams: "gpv_context_params_init",
    CclParams: "gpv_ccl_params_init",
    CclResult: "gpv_ccl_result_init",
    SiftParams: "gpv_sift_params_init",
    SiftResult: "gpv_sift_result_init",
    MatchParams: "gpv_match_params_init",
    MatchResult: "gpv_match_result_init",
    ErodeParams: "gpv_erode_params_init",
    GraphcutParams: "gpv_graphcut_params_init",
    GraphcutResult: "gpv_graphcut_result_init",
    ExpansionParams: "gpv_expansion_params_init",
    ExpansionResult: "gpv_expansion_result_init",
    HomographyParams: "gpv_homography_params_init",
    Homography: "gpv_homography_init",
    KmeansParams: "gpv_kmeans_params_init",
    KmeansResult: "gpv_kmeans_result_init",
    SegmentParams: "gpv_segment_params_init",
}

#: Enumerations of the fields of a struct that name their values.
CHOICES: dict[type[c.Structure], dict[str, type[IntEnum]]] = {
    CclParams: {"mode": CclMode, "output": CclOutput},
    SiftParams: {"descriptor_type": SiftDescriptorType},
    MatchParams: {},
    ErodeParams: {"operation": ErodeOperation, "shape": ErodeShape, "border": ErodeBorder,
        "planes": ErodePlanes},
    GraphcutParams: {},
    ExpansionParams: {},
    HomographyParams: {},
    KmeansParams: {"metric": KmeansMetric, "init": KmeansInit, "color_space": KmeansColorSpace},
    SegmentParams: {"model": SegmentModel, "warm_start": SegmentWarmStart, "output": SegmentOutput,
        "edge": SegmentEdge},
}

#: (type of the result, types of the arguments) of every function.
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "gpv_image_init": (None, c.POINTER(Image), c.c_uint32),
    "gpv_buffer_init": (None, c.POINTER(Buffer), c.c_uint32),
    "gpv_image_wrap": (c.c_int64, c.POINTER(Image), c.c_uint32, c.c_uint32, c.c_int32, c.c_int32, c.c_void_p,
        c.c_int64),
    "gpv_format_planes": (c.c_int32, c.c_uint32),
    "gpv_format_plane": (c.c_int32, c.c_uint32, c.c_int32, c.c_int32, c.c_int32, c.POINTER(c.c_int64),
        c.POINTER(c.c_int64)),
    "gpv_api_version": (c.c_uint32,),
    "gpv_version_string": (c.c_char_p,),
    "gpv_status_string": (c.c_char_p, c.c_int32),
    "gpv_backend_available": (c.c_int32, c.c_uint32),
    "gpv_context_params_init": (None, c.POINTER(ContextParams), c.c_uint32),
    "gpv_context_create": (c.c_int32, c.POINTER(ContextParams), c.POINTER(c.c_void_p)),
    "gpv_context_destroy": (None, c.POINTER(c.c_void_p)),
    "gpv_context_backend": (c.c_uint32, c.c_void_p),
    "gpv_context_device_name": (c.c_char_p, c.c_void_p),
    "gpv_context_error": (c.c_char_p, c.c_void_p),
    "gpv_stream_sync": (c.c_int32, c.c_void_p, c.c_void_p),
    "gpv_stream_follow": (c.c_int32, c.c_void_p, c.c_void_p, c.c_void_p),
    "gpv_ccl_params_init": (None, c.POINTER(CclParams), c.c_uint32),
    "gpv_ccl_result_init": (None, c.POINTER(CclResult), c.c_uint32),
    "gpv_ccl_create": (c.c_int32, c.c_void_p, c.POINTER(CclParams), c.POINTER(c.c_void_p)),
    "gpv_ccl_destroy": (None, c.POINTER(c.c_void_p)),
    "gpv_ccl_set_params": (c.c_int32, c.c_void_p, c.POINTER(CclParams)),
    "gpv_ccl_prepare": (c.c_int32, c.c_void_p, c.POINTER(Image), c.POINTER(Image), c.c_int32),
    "gpv_ccl_run": (c.c_int32, c.c_void_p, c.c_void_p, c.POINTER(Image), c.POINTER(Image), c.POINTER(Buffer),
        c.c_uint32, c.POINTER(Buffer)),
    "gpv_ccl_query": (c.c_int32, c.c_void_p),
    "gpv_ccl_wait": (c.c_int32, c.c_void_p, c.POINTER(CclResult)),
    "gpv_sift_params_init": (None, c.POINTER(SiftParams), c.c_uint32),
    "gpv_sift_result_init": (None, c.POINTER(SiftResult), c.c_uint32),
    "gpv_sift_create": (c.c_int32, c.c_void_p, c.POINTER(SiftParams), c.POINTER(c.c_void_p)),
    "gpv_sift_destroy": (None, c.POINTER(c.c_void_p)),
    "gpv_sift_set_params": (c.c_int32, c.c_void_p, c.POINTER(SiftParams)),
    "gpv_sift_prepare": (c.c_int32, c.c_void_p, c.POINTER(Image), c.POINTER(Image), c.c_int32),
    "gpv_sift_run": (c.c_int32, c.c_void_p, c.c_void_p, c.POINTER(Image), c.POINTER(Image), c.POINTER(Buffer),
        c.c_uint32, c.POINTER(Buffer), c.POINTER(Buffer)),
    "gpv_sift_describe": (c.c_int32, c.c_void_p, c.c_void_p, c.POINTER(Image), c.POINTER(Buffer), c.c_uint32,
        c.c_int32, c.POINTER(Buffer)),
    "gpv_sift_query": (c.c_int32, c.c_void_p),
    "gpv_sift_wait": (c.c_int32, c.c_void_p, c.POINTER(SiftResult)),
    "gpv_match_params_init": (None, c.POINTER(MatchParams), c.c_uint32),
    "gpv_match_result_init": (None, c.POINTER(MatchResult), c.c_uint32),
    "gpv_match_create": (c.c_int32, c.c_void_p, c.POINTER(MatchParams), c.POINTER(c.c_void_p)),
    "gpv_match_destroy": (None, c.POINTER(c.c_void_p)),
    "gpv_match_set_params": (c.c_int32, c.c_void_p, c.POINTER(MatchParams)),
    "gpv_match_prepare": (c.c_int32, c.c_void_p, c.c_int32, c.c_int32, c.c_uint32),
    "gpv_match_run": (c.c_int32, c.c_void_p, c.c_void_p, c.POINTER(Buffer), c.c_int32, c.POINTER(Buffer),
        c.POINTER(Buffer), c.c_int32, c.POINTER(Buffer), c.POINTER(Buffer), c.POINTER(Buffer)),
    "gpv_match_query": (c.c_int32, c.c_void_p),
    "gpv_match_wait": (c.c_int32, c.c_void_p, c.POINTER(MatchResult)),
    "gpv_draw_keypoints": (c.c_int32, c.c_void_p, c.c_void_p, c.POINTER(Image), c.c_uint32, c.c_uint32),
    "gpv_draw_outline": (c.c_int32, c.c_void_p, c.c_void_p, c.POINTER(Image), c.POINTER(c.c_float), c.c_int32,
        c.c_float, c.c_uint32),
    "gpv_erode_params_init": (None, c.POINTER(ErodeParams), c.c_uint32),
    "gpv_erode_create": (c.c_int32, c.c_void_p, c.POINTER(ErodeParams), c.POINTER(c.c_void_p)),
    "gpv_erode_destroy": (None, c.POINTER(c.c_void_p)),
    "gpv_erode_set_params": (c.c_int32, c.c_void_p, c.POINTER(ErodeParams)),
    "gpv_erode_prepare": (c.c_int32, c.c_void_p, c.POINTER(Image)),
    "gpv_erode_run": (c.c_int32, c.c_void_p, c.c_void_p, c.POINTER(Image), c.POINTER(Image)),
    "gpv_erode_query": (c.c_int32, c.c_void_p),
    "gpv_erode_wait": (c.c_int32, c.c_void_p),
    "gpv_graphcut_params_init": (None, c.POINTER(GraphcutParams), c.c_uint32),
    "gpv_graphcut_result_init": (None, c.POINTER(GraphcutResult), c.c_uint32),
    "gpv_graphcut_create": (c.c_int32, c.c_void_p, c.POINTER(GraphcutParams), c.POINTER(c.c_void_p)),
    "gpv_graphcut_destroy": (None, c.POINTER(c.c_void_p)),
    "gpv_graphcut_set_params": (c.c_int32, c.c_void_p, c.POINTER(GraphcutParams)),
    "gpv_graphcut_prepare": (c.c_int32, c.c_void_p, c.POINTER(Image)),
    "gpv_graphcut_run": (c.c_int32, c.c_void_p, c.c_void_p, c.POINTER(Image), c.POINTER(Image),
        c.POINTER(Image), c.POINTER(Buffer)),
    "gpv_graphcut_query": (c.c_int32, c.c_void_p),
    "gpv_graphcut_wait": (c.c_int32, c.c_void_p, c.POINTER(GraphcutResult)),
    "gpv_expansion_params_init": (None, c.POINTER(ExpansionParams), c.c_uint32),
    "gpv_expansion_result_init": (None, c.POINTER(ExpansionResult), c.c_uint32),
    "gpv_expansion_create": (c.c_int32, c.c_void_p, c.POINTER(ExpansionParams), c.POINTER(c.c_void_p)),
    "gpv_expansion_destroy": (None, c.POINTER(c.c_void_p)),
    "gpv_expansion_set_params": (c.c_int32, c.c_void_p, c.POINTER(ExpansionParams)),
    "gpv_expansion_prepare": (c.c_int32, c.c_void_p, c.POINTER(Image), c.c_int32),
    "gpv_expansion_run": (c.c_int32, c.c_void_p, c.c_void_p, c.POINTER(c.POINTER(Image)), c.c_int32,
        c.POINTER(Image), c.POINTER(Image), c.POINTER(Buffer)),
    "gpv_expansion_query": (c.c_int32, c.c_void_p),
    "gpv_expansion_wait": (c.c_int32, c.c_void_p, c.POINTER(ExpansionResult)),
    "gpv_params_describe": (c.c_int32, c.c_char_p, c.c_int32, c.POINTER(Field), c.c_uint32),
    "gpv_homography_params_init": (None, c.POINTER(HomographyParams), c.c_uint32),
    "gpv_homography_init": (None, c.POINTER(Homography), c.c_uint32),
    "gpv_homography_find": (c.c_int32, c.c_void_p, c.POINTER(HomographyParams), c.POINTER(c.c_float),
        c.POINTER(c.c_float), c.c_int32, c.POINTER(c.c_uint8), c.POINTER(Homography)),
    "gpv_kmeans_params_init": (None, c.POINTER(KmeansParams), c.c_uint32),
    "gpv_kmeans_result_init": (None, c.POINTER(KmeansResult), c.c_uint32),
    "gpv_kmeans_color": (c.c_uint32, c.c_uint32, c.POINTER(c.c_float)),
    "gpv_kmeans_create": (c.c_int32, c.c_void_p, c.POINTER(KmeansParams), c.POINTER(c.c_void_p)),
    "gpv_kmeans_destroy": (None, c.POINTER(c.c_void_p)),
    "gpv_kmeans_set_params": (c.c_int32, c.c_void_p, c.POINTER(KmeansParams)),
    "gpv_kmeans_set_centroids": (c.c_int32, c.c_void_p, c.POINTER(c.c_float), c.c_int32),
    "gpv_kmeans_prepare": (c.c_int32, c.c_void_p, c.POINTER(Image), c.POINTER(Image), c.POINTER(Image)),
    "gpv_kmeans_run": (c.c_int32, c.c_void_p, c.c_void_p, c.POINTER(Image), c.POINTER(Image),
        c.POINTER(Image), c.POINTER(Buffer), c.POINTER(Buffer), c.POINTER(Buffer)),
    "gpv_kmeans_query": (c.c_int32, c.c_void_p),
    "gpv_kmeans_wait": (c.c_int32, c.c_void_p, c.POINTER(KmeansResult)),
    "gpv_segment_params_init": (None, c.POINTER(SegmentParams), c.c_uint32),
    "gpv_segment_create": (c.c_int32, c.c_void_p, c.POINTER(SegmentParams), c.POINTER(c.c_void_p)),
    "gpv_segment_destroy": (None, c.POINTER(c.c_void_p)),
    "gpv_segment_set_params": (c.c_int32, c.c_void_p, c.POINTER(SegmentParams)),
    "gpv_segment_forget": (c.c_int32, c.c_void_p),
    "gpv_segment_learned": (c.c_int32, c.c_void_p, c.POINTER(c.c_uint32)),
    "gpv_segment_prepare": (c.c_int32, c.c_void_p, c.POINTER(Image), c.POINTER(Image), c.POINTER(Image),
        c.POINTER(Image)),
    "gpv_segment_run": (c.c_int32, c.c_void_p, c.c_void_p, c.POINTER(Image), c.POINTER(Image),
        c.POINTER(Rect), c.POINTER(Image), c.POINTER(Image), c.POINTER(Buffer)),
    "gpv_segment_query": (c.c_int32, c.c_void_p),
    "gpv_segment_wait": (c.c_int32, c.c_void_p, c.POINTER(GraphcutResult)),
}
