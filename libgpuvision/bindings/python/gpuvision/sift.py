# SPDX-License-Identifier: BSD-2-Clause
"""Scale-invariant features. See gpuvision/sift.h."""
from __future__ import annotations

import ctypes as c
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy

from . import _abi
from ._abi import SIFT_DESCRIPTOR_LENGTH, SiftDescriptorType, DrawStyle
from ._params import SiftParams
from .arrays import Array, Picture, empty_like, enum_value, integer
from .context import Context
from .operators import Call, Operator, in_host_memory

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Record of a keypoint: x, y, sigma, angle and response of float32, octave of int32.
KEYPOINT = numpy.dtype(_abi.SiftKeypoint)
#: What runs can leave in CUDA memory: a gpv_sift_result.
RESULT = numpy.dtype(_abi.SiftResult)
_ROOM = 8192  # keypoints at first, where there may be any number


@dataclass(eq=False)
class Features:
    """What Sift finds."""
    keypoints: numpy.ndarray  #: (count,) of KEYPOINT, in the order of falling response
    descriptors: Optional[numpy.ndarray]  #: (count, 128) of uint8 or float32
    dropped: int  #: keypoints beyond max_features

    @property
    def points(self) -> numpy.ndarray:
        """(count, 2) of float32: x and y, from the centre of the first pixel."""
        return numpy.stack([self.keypoints["x"], self.keypoints["y"]], 1)


@dataclass
class Count:
    """What Sift.wait() says."""
    count: int  #: keypoints that are kept, and written where there is room
    dropped: int  #: keypoints beyond max_features, or beyond the room there is


class Sift(Operator):
    """Keypoints of a picture, and their descriptors."""

    _stem, _Params, _Result = "sift", _abi.SiftParams, _abi.SiftResult

    def __init__(self, context: Context, **params: Unpack[SiftParams]):
        super().__init__(context, dict(params))

    def set(self, **params: Unpack[SiftParams]) -> None:
        """Changes parameters of the runs that follow; those that are not given stay."""
        self._set(dict(params))

    @property
    def _dtype(self) -> str:
        return "float32" if self._params.value.descriptor_type == SiftDescriptorType.F32 else "uint8"

    def __call__(self, src: Picture, mask: Optional[Picture] = None, *, descriptors: bool = True,
                 stream: Any = None) -> Features:
        """The keypoints of src, in host memory, with their descriptors if they are wanted. Waits.

        mask  (height, width) of uint8, in the memory of src: keypoints where it is 0 do not count
        """
        with self._lock:
            maximum = self._params.value.max_features or 2**31 - 1
            room = min(maximum, _ROOM)
            while True:
                keypoints = numpy.zeros(room, KEYPOINT)
                described = None
                if descriptors:
                    described = numpy.zeros((room, SIFT_DESCRIPTOR_LENGTH), self._dtype)
                self.run(src, mask, keypoints=keypoints, descriptors=described, stream=stream)
                found = self.wait()
                if found.dropped == 0 or room == maximum:
                    break
                room = min(maximum, found.count + found.dropped)
        return Features(keypoints[:found.count],
                        None if described is None else described[:found.count], found.dropped)

    def prepare(self, src: Picture, mask: Optional[Picture] = None, keypoints: int = 0) -> None:
        """Allocates all that runs on such pictures need, with so many keypoints in host memory,
        with descriptors, or described."""
        self._prepare({"src": src, "mask": mask}, keypoints=keypoints)

    def run(self, src: Picture, mask: Optional[Picture] = None, *, keypoints: Optional[Array] = None,
            descriptors: Optional[Array] = None, result: Optional[Array] = None,
            stream: Any = None) -> None:
        """Enqueues the search for the keypoints of src, and their description.

        src          a picture, whose luma counts
        mask         GRAY8, same size and memory
        keypoints    receives records of KEYPOINT, 24 bytes each; host or CUDA memory
        descriptors  (as many, 128) of uint8 or float32, in the memory of keypoints
        result       receives a gpv_sift_result, in the memory in which the backend computes
        """
        call = Call(self.context, stream, src, mask, keypoints, descriptors, result)
        self._enqueue(call, "run", call.image(src, "src"), call.image(mask, "mask"),
                      call.buffer(keypoints, "keypoints", KEYPOINT), 0,
                      call.buffer(descriptors, "descriptors", self._dtype),
                      call.buffer(result, "result", RESULT))

    def describe(self, src: Picture, keypoints: Array, descriptors: Optional[Array] = None, *,
                 stream: Any = None) -> Array:
        """Describes keypoints, whoever has found them: (count,) of KEYPOINT, or any array without
        gaps of 24 bytes for each. Gives descriptors, (count, 128), or a new array in the memory of
        keypoints. Waits for host memory."""
        with self._lock:
            count, beyond = divmod(Call(self.context, stream, keypoints).spans[id(keypoints)].nbytes,
                                   KEYPOINT.itemsize)
            if beyond:
                raise ValueError(f"keypoints has {beyond} bytes more than {count} records")
            if descriptors is None:
                descriptors = empty_like(keypoints, (count, SIFT_DESCRIPTOR_LENGTH), self._dtype)
            call = Call(self.context, stream, src, keypoints, descriptors)
            self._enqueue(call, "describe", call.image(src, "src"),
                          call.buffer(keypoints, "keypoints", KEYPOINT, written=False), 0, count,
                          call.buffer(descriptors, "descriptors", self._dtype))
            if in_host_memory(descriptors):
                self.wait()
        return descriptors

    def draw(self, dst: Picture, style: Union[DrawStyle, str] = DrawStyle.RICH,
             color: int = 0xff4000, *, stream: Any = None) -> None:
        """Draws the keypoints that the last run has kept into a picture, be it src or another. Waits
        for host memory.

        style  "rich" (circles of the scale, with the orientation) or "points" (crosses)
        color  0xRRGGBB
        """
        call = Call(self.context, stream, dst)
        with self._lock:
            self._enqueue(call, "gpv_draw_keypoints", call.image(dst, "dst", written=True),
                          enum_value(DrawStyle, style), integer("color", color, c.c_uint32))
            if in_host_memory(dst):
                self.wait()

    def wait(self) -> Count:
        """Waits until the last run or description has finished. Raises TooSmall where a picture has
        more extrema than an operator keeps."""
        result = self._wait()
        return Count(result.count, result.dropped)
