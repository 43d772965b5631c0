# SPDX-License-Identifier: BSD-2-Clause
"""Arrays of any library as what the C interface takes: views of their memory. Nothing is copied.

An array is a numpy.ndarray, PyTorch's, or has `__cuda_array_interface__` (CuPy, Numba, the planes of a
frame of PyNvVideoCodec) or `__dlpack__` (JAX, such a frame). One in CUDA memory also says which stream it
belongs to, where its library does.
"""
from __future__ import annotations

import ctypes as c
import functools
import operator
import sys
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Optional, Sequence, Union

import numpy

from . import _abi, _library
from ._abi import ColorMatrix, ColorRange, Format, Memory

Array = Any  #: a numpy.ndarray, or of a library that has one of the two protocols above


@dataclass
class Span:
    """Memory of an array."""
    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]  #: bytes
    itemsize: int
    device: Optional[int]  #: CUDA ordinal, None = host memory; -1 = CUDA, its library does not say
    writable: bool
    owner: Any  #: keeps the memory
    stream: Optional[int] = None  #: that its library works on, if it says so

    @property
    def row_bytes(self) -> int:
        """Of one step along the first axis."""
        count = self.itemsize
        for length in self.shape[1:]:
            count *= length
        return count

    @property
    def nbytes(self) -> int:
        """Of all elements, without what lies between them."""
        return self.row_bytes * self.shape[0] if self.shape else self.itemsize

    def rows_are_dense(self) -> bool:
        """Whether nothing lies between the elements of a row, that is, of all axes but the first."""
        if 0 in self.shape:
            return True
        expected = self.itemsize
        for length, stride in zip(self.shape[:0:-1], self.strides[:0:-1]):
            if length != 1 and stride != expected:
                return False
            expected *= length
        return True


def _dense_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    strides = [itemsize]
    for length in reversed(shape[1:]):
        strides.insert(0, strides[0] * length)
    return tuple(strides[:len(shape)])


class _DLDevice(c.Structure):
    _fields_ = [("device_type", c.c_int32), ("device_id", c.c_int32)]


class _DLDataType(c.Structure):
    _fields_ = [("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16)]


class _DLTensor(c.Structure):
    """The beginning of a DLManagedTensor."""
    _fields_ = [("data", c.c_void_p), ("device", _DLDevice), ("ndim", c.c_int32),
                ("dtype", _DLDataType), ("shape", c.POINTER(c.c_int64)),
                ("strides", c.POINTER(c.c_int64)), ("byte_offset", c.c_uint64)]


_DL_CUDA = 2
_pointer_of = c.PYFUNCTYPE(c.c_void_p, c.py_object, c.c_char_p)(
    ("PyCapsule_GetPointer", c.pythonapi))


def _dlpack_on_cuda(array: Array) -> bool:
    return hasattr(array, "__dlpack__") and array.__dlpack_device__()[0] == _DL_CUDA


def _from_dlpack(array: Array, stream: int) -> Span:
    # By that protocol 1 is CUDA's default stream, and 0 is nothing.
    capsule = array.__dlpack__(stream=stream or 1)
    tensor = _DLTensor.from_address(_pointer_of(capsule, b"dltensor"))
    itemsize = tensor.dtype.bits * tensor.dtype.lanes // 8
    shape = tuple(tensor.shape[:tensor.ndim])
    strides = (tuple(itemsize * stride for stride in tensor.strides[:tensor.ndim])
               if tensor.strides else _dense_strides(shape, itemsize))
    return Span((tensor.data or 0) + tensor.byte_offset, shape, strides, itemsize,
                array.__dlpack_device__()[1], True, (array, capsule))


def _is_of(array: Array, library: str, kind: str) -> bool:
    """Whether it is of a class of a library, which need not be there."""
    module = sys.modules.get(library)
    return module is not None and isinstance(array, getattr(module, kind))


def _from_torch(tensor: Array) -> Span:
    itemsize = tensor.element_size()
    stream = sys.modules["torch"].cuda.current_stream(tensor.device).cuda_stream
    return Span(tensor.data_ptr(), tuple(tensor.shape),
                tuple(itemsize * stride for stride in tensor.stride()), itemsize,
                tensor.device.index, True, tensor, stream)


def _from_interface(array: Array, interface: dict[str, Any]) -> Span:
    """Of __cuda_array_interface__, in which 1 is CUDA's default stream."""
    shape, itemsize = tuple(interface["shape"]), numpy.dtype(interface["typestr"]).itemsize
    pointer, readonly = interface["data"]
    if interface.get("mask") is not None:
        raise TypeError("an array with a mask is taken for none")
    stream = interface.get("stream")
    ordinal = getattr(getattr(array, "device", None), "id", -1)  # as CuPy says it
    return Span(pointer, shape, interface.get("strides") or _dense_strides(shape, itemsize), itemsize,
                ordinal if isinstance(ordinal, int) else -1, not readonly, array,
                0 if stream == 1 else stream)


class Rows:
    """Some rows of an array that its library does not slice, such as a frame of a decoder."""

    def __init__(self, whole: Array, first: int, last: int):
        self.whole, self.first, self.dtype = whole, first, _dtype_of(whole)
        self.shape = (last - first, *whole.shape[1:])

    def of(self, whole: Optional[Span]) -> Optional[Span]:
        """Their memory, in that of the whole."""
        return whole and replace(whole, pointer=whole.pointer + self.first * whole.strides[0],
                                 shape=self.shape)


def _rows(array: Array, first: int, last: int) -> Array:
    return array[first:last] if hasattr(array, "__getitem__") else Rows(array, first, last)


def _is_cuda_tensor(array: Array) -> bool:
    return _is_of(array, "torch", "Tensor") and array.is_cuda


def on_device(array: Array) -> bool:
    """Whether an array is in CUDA memory."""
    if isinstance(array, numpy.ndarray):
        return False
    if isinstance(array, Rows):
        return on_device(array.whole)
    return (_is_cuda_tensor(array) or hasattr(array, "__cuda_array_interface__")
            or _dlpack_on_cuda(array))


def _on_host(array: Array) -> numpy.ndarray:
    """An array of another library as NumPy's, of the same memory."""
    if _is_of(array, "torch", "Tensor"):
        return array.numpy()
    if hasattr(array, "__dlpack__"):
        return numpy.from_dlpack(array)  # read-only, whatever it was
    raise TypeError(f"an array is NumPy's, or has __cuda_array_interface__ or __dlpack__, which a "
                    f"{type(array).__name__} has not")


def span(array: Array, stream: Optional[int] = None) -> Optional[Span]:
    """The memory of an array. Where its library makes it ready for a stream (DLPack), it is None
    without that."""
    if not isinstance(array, numpy.ndarray):
        if isinstance(array, Rows):
            return array.of(span(array.whole, stream))
        if _is_cuda_tensor(array):
            return _from_torch(array)
        interface = getattr(array, "__cuda_array_interface__", None)
        if interface is not None:
            return _from_interface(array, interface)
        if _dlpack_on_cuda(array):
            return None if stream is None else _from_dlpack(array, stream)
        array = _on_host(array)
    if isinstance(array, numpy.ma.MaskedArray):
        raise TypeError("an array with a mask is taken for none")
    return Span(array.ctypes.data, array.shape, array.strides, array.itemsize, None,
                array.flags.writeable, array)


def empty_like(array: Array, shape: Sequence[int], dtype: str) -> Array:
    """A new array where another one is, of the same library: NumPy, CuPy or PyTorch."""
    if _is_of(array, "torch", "Tensor"):
        torch = sys.modules["torch"]
        return torch.empty(tuple(shape), dtype=getattr(torch, dtype), device=array.device)
    if _is_of(array, "cupy", "ndarray"):
        with array.device:
            return sys.modules["cupy"].empty(tuple(shape), dtype)
    if not on_device(array):
        return numpy.empty(tuple(shape), dtype)
    kind = type(array.whole if isinstance(array, Rows) else array)
    raise TypeError(f"gpuvision makes no arrays like a {kind.__module__}.{kind.__name__}: pass the "
                    "arrays for the results")


_DTYPES = {Format.GRAY16: "uint16", Format.P016: "uint16", Format.GRAYF32: "float32",
           Format.LABEL32: "int32", Format.CAP32X4: "int32", Format.CAP32X8: "int32"}  # else uint8
_CHANNELS = {Format.RGB8: 3, Format.BGR8: 3, Format.RGBA8: 4, Format.BGRA8: 4, Format.RGBX8: 4,
             Format.BGRX8: 4, Format.ARGB8: 4, Format.ABGR8: 4, Format.XRGB8: 4, Format.XBGR8: 4,
             Format.YUY2: 2, Format.UYVY: 2}
_PLANAR = Format.CAP32X4, Format.CAP32X8, Format.Y444, Format.RGBP8  # of planes of the same size
_BIPLANAR = Format.NV12, Format.NV21, Format.P016


@functools.lru_cache
def _name_of(dtype: Any) -> str:
    if isinstance(dtype, str):  # as __cuda_array_interface__ has it: |u1
        dtype = numpy.dtype(dtype)
    if isinstance(dtype, numpy.dtype) and not dtype.isnative:
        return f"{dtype} of another byte order"
    return str(dtype).rpartition(".")[2]  # torch.uint8


def _dtype_of(array: Array) -> str:
    dtype = getattr(array, "dtype", None)
    if dtype is None:
        interface = getattr(array, "__cuda_array_interface__", None)
        if interface is None:
            raise TypeError(f"a picture is an array or an Image, not a {type(array).__name__}")
        dtype = interface["typestr"]
    return _name_of(dtype)


def _guess(array: Array) -> Format:
    """The format of an array of pixels, from its shape and type."""
    dtype, shape = _dtype_of(array), tuple(array.shape)
    if len(shape) == 3 and dtype == "uint8" and shape[2] in (3, 4):
        return Format.RGB8 if shape[2] == 3 else Format.RGBA8
    if len(shape) == 2 or len(shape) == 3 and shape[2] == 1:
        for fmt in (Format.GRAY8, Format.GRAY16, Format.GRAYF32, Format.LABEL32):
            if _DTYPES.get(fmt, "uint8") == dtype:
                return fmt
    raise ValueError(f"no picture has the shape {shape} and the type {dtype}: (height, width) of "
                     "uint8, uint16, float32 or int32, or (height, width, 3 or 4) of uint8; other "
                     "formats are named in an Image")


@functools.lru_cache
def _planes(format: Format) -> int:
    return _library.lib().gpv_format_planes(format)


class Image:
    """A picture: arrays of pixels, and what they mean. Holds the arrays, copies nothing. Where an
    operator asks for a picture, all formats will do but GRAYF32, LABEL32, CAP32X4 and CAP32X8.

    planes    one array for each plane. GRAY8, GRAY16, GRAYF32 and LABEL32: (height, width);
              RGB8 and its like: (height, width, channels); YUY2 and UYVY: (height, width, 2), of an
              even width; NV12, NV21, P016: Y of (height, width), and UV or VU of (rows, columns, 2)
              or (rows, 2 * columns), where there is one sample for 2 x 2 pixels, rounded up; I420:
              Y, U and V. Y444 and RGBP8: three, or one array of (3, height, width). CAP32X4 and
              CAP32X8: the planes, or one array of (4 or 8, height, width). NV12, NV21, P016 and I420
              may also be one array of (3 * height / 2, width) without gaps, as OpenCV has them; the
              first three also a frame of a decoder.
    format    a Format, or its name in any case; None = by shape and type, in the order RGB(A)
    color_matrix, color_range  of YUV

    The first axis may have any stride of at least one row; the others have no gaps. An array that
    is seen through a step, a flip or a transposition has to be made contiguous before. An array in
    host memory of another library than NumPy and PyTorch cannot be written: NumPy says so.
    """

    def __init__(self, planes: Union[Array, Sequence[Array]], format: Union[Format, str, None] = None,
                 color_matrix: Union[ColorMatrix, str] = ColorMatrix.AUTO,
                 color_range: Union[ColorRange, str] = ColorRange.AUTO):
        listed = isinstance(planes, (tuple, list))
        if listed and not planes:
            raise ValueError("an Image has one plane at least")
        if format is None:
            format = _guess(planes[0] if listed else planes)
        self.format = enum_value(Format, format)
        self.color_matrix = enum_value(ColorMatrix, color_matrix)
        self.color_range = enum_value(ColorRange, color_range)
        self.planes: tuple[Array, ...] = tuple(planes) if listed else self._split(planes)
        count = _planes(self.format)
        if len(self.planes) != count:
            raise ValueError(f"{self.format.name} has {count} planes, here are {len(self.planes)}")
        for plane in self.planes:
            dtype = _DTYPES.get(self.format, "uint8")
            if _dtype_of(plane) != dtype:
                raise ValueError(f"{self.format.name} is of {dtype}, this array of {_dtype_of(plane)}")
            if len(plane.shape) < 2:
                raise ValueError(f"a plane has the shape {tuple(plane.shape)}, must be (height, "
                                 "width) or (height, width, channels)")
        self.height, self.width = (int(length) for length in self.planes[0].shape[:2])

    def _split(self, array: Array) -> tuple[Array, ...]:
        if self.format in _PLANAR:
            return tuple(array[i] for i in range(array.shape[0]))
        if self.format not in _BIPLANAR and self.format != Format.I420:
            return (array,)
        if len(array.shape) != 2:
            raise ValueError(f"{self.format.name} as one array has the shape {tuple(array.shape)}, "
                             "must be (3 * height / 2, width)")
        rows, width = array.shape
        height = rows * 2 // 3
        if rows % 3 or width % 2:
            raise ValueError(f"an array of {rows} x {width} is no {self.format.name} of whole planes "
                             "one behind the other: pass the planes")
        if self.format != Format.I420:
            return _rows(array, 0, height), _rows(array, height, rows)
        whole = span(array)
        if whole is None or not whole.rows_are_dense() or whole.strides[0] != whole.row_bytes:
            raise ValueError("I420 as one array has gaps between its rows: pass the planes")
        chroma = array[height:].reshape(2, height // 2, width // 2)
        return array[:height], chroma[0], chroma[1]

    def __repr__(self) -> str:
        return f"<gpuvision.Image of {self.width} x {self.height} pixels, {self.format.name}>"

    def empty(self) -> Image:
        """One of the same format and size, of new arrays."""
        planes = [empty_like(plane, plane.shape, _dtype_of(plane)) for plane in self.planes]
        return Image(planes, self.format, self.color_matrix, self.color_range)

    def view(self, name: str, spans: Sequence[Span], device: int = 0,
             written: bool = False) -> _abi.Image:
        """A gpv_image of the memory of its planes. device is the ordinal of CUDA memory of which
        nobody says it."""
        image = _abi.Image(c.sizeof(_abi.Image), self.format)
        image.width, image.height = self.width, self.height
        image.color_matrix, image.color_range = self.color_matrix, self.color_range
        places = {device if part.device == -1 else part.device for part in spans}
        if len(places) > 1:
            raise ValueError(f"the planes of {name} are in different memory")
        place = places.pop()
        if place is not None:
            image.memory, image.device = Memory.CUDA, place
        channels = _CHANNELS.get(self.format, 1)
        row_bytes, rows = c.c_int64(), c.c_int64()
        for i, part in enumerate(spans):
            # What is wrong with the size of the whole the library says.
            if _library.lib().gpv_format_plane(self.format, i, self.width, self.height,
                                               c.byref(row_bytes), c.byref(rows)) == 0:
                if i == 0 and part.row_bytes != channels * self.width * part.itemsize or \
                        (part.shape[0], part.row_bytes) != (rows.value, row_bytes.value):
                    raise ValueError(
                        f"plane {i} of {name} has the shape {part.shape}, must have {rows.value} rows "
                        f"of {row_bytes.value} bytes: {self.format.name} of {self.width} x "
                        f"{self.height} pixels")
                if not part.rows_are_dense() or \
                        (rows.value > 1 and part.strides[0] < part.row_bytes):
                    raise ValueError(f"the rows of {name} have gaps, or are in another order, in "
                                     "memory: pass a contiguous copy")
            if written and not part.writable:
                raise ValueError(f"{name} is read-only")
            image.data[i] = part.pointer
            image.stride[i] = part.strides[0] if part.shape[0] > 1 else part.row_bytes
        return image


Picture = Union[Array, Image]  #: what is taken for a picture: an Image, or an array that makes one


def image_of(picture: Picture) -> Image:
    """A picture as an Image."""
    if isinstance(picture, (list, tuple)):
        raise TypeError("a picture is an array or an Image: planes go into an Image")
    return picture if isinstance(picture, Image) else Image(picture)


_ANY_RECORD = "uint8", "int32", "uint32", "float32"


def check_elements(name: str, array: Array, dtype: Union[str, numpy.dtype[Any]]) -> None:
    """Refuses arrays of others than numbers of a type, or than records: these, their bytes, or
    numbers of 4 bytes in their place, for libraries that have no records."""
    found = _dtype_of(array)
    if isinstance(dtype, str):
        if found != dtype:
            raise TypeError(f"{name} is an array of {found}, must be of {dtype}")
    elif found not in _ANY_RECORD and getattr(array, "dtype", None) != dtype:
        raise TypeError(f"{name} is an array of {found}, must be of records of {dtype.itemsize} "
                        f"bytes, or of {', '.join(_ANY_RECORD)} in their place")


def buffer_view(name: str, part: Span, device: int = 0, written: bool = True) -> _abi.Buffer:
    """A gpv_buffer of the memory of an array without gaps."""
    rows = part.shape[0] if part.shape else 1
    if not part.rows_are_dense() or (rows > 1 and part.strides[0] != part.row_bytes and part.nbytes):
        raise ValueError(f"{name} has gaps in memory: pass a contiguous array")
    if written and not part.writable:
        raise ValueError(f"{name} is read-only")
    buffer = _abi.Buffer(c.sizeof(_abi.Buffer))
    buffer.data, buffer.size = part.pointer, part.nbytes
    if part.device is not None:
        buffer.memory, buffer.device = Memory.CUDA, device if part.device < 0 else part.device
    return buffer


def enum_value(kind: type[IntEnum], value: Any) -> Any:
    """A value of an enumeration: itself, its number, or its name in any case, with - for _."""
    if type(value) is kind:
        return value
    if isinstance(value, IntEnum):
        raise TypeError(f"{value!r} is no {kind.__name__}")
    if isinstance(value, str):
        try:
            return kind[value.upper().replace("-", "_")]
        except KeyError:
            names = ", ".join(member.name.lower() for member in kind)
            raise ValueError(f"{value!r} is no {kind.__name__}: {names}") from None
    return kind(value)


def integer(name: str, value: Any, kind: type = c.c_int32) -> int:
    """A whole number that fits a type of ctypes."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}, must be a whole number") from None
    if kind(number).value != number:
        raise ValueError(f"{name} is {number}, which is out of its range")
    return number
