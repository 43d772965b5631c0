# SPDX-License-Identifier: BSD-2-Clause
"""Foreground and background of a picture, by minimum cuts. See gpuvision/segment.h."""
from __future__ import annotations

import ctypes as c
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Sequence, Union

from . import _abi
from ._abi import Format, SegmentOutput
from ._params import SegmentParams
from .arrays import Array, Image, Picture, empty_like, image_of, integer
from .context import Context
from .graphcut import RESULT, CutSummary, summary_of
from .operators import Call, Operator

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(eq=False)
class Segmentation(CutSummary):
    """What Segment finds."""
    mask: Optional[Picture]  #: (height, width) of uint8: 255 in the foreground, else 0; with edge
                             #: soft anything between
    image: Optional[Picture]  #: as params["output"] says, where one was made


class Segment(Operator):
    """Divides a picture into foreground and background, as the element gpugraphcut does."""

    _stem, _Params, _Result = "segment", _abi.SegmentParams, _abi.GraphcutResult

    def __init__(self, context: Context, **params: Unpack[SegmentParams]):
        super().__init__(context, dict(params))

    def set(self, **params: Unpack[SegmentParams]) -> None:
        """Changes parameters of the runs that follow; those that are not given stay."""
        self._set(dict(params))

    def __call__(self, src: Picture, *, seeds: Optional[Picture] = None,
                 rect: Optional[Sequence[int]] = None, mask: Union[Picture, bool] = True,
                 dst: Union[Picture, bool] = False, stream: Any = None) -> Segmentation:
        """The foreground of src. Waits.

        seeds, rect  as in run()
        mask         receives the foreground; True = a new array, False = none
        dst          receives what output says; True = a new picture, False = none; may be src
        """
        image = image_of(src)
        size = image.height, image.width
        if mask is True:
            mask = empty_like(image.planes[0], size, "uint8")
        if dst is True:
            if self._params.value.output == SegmentOutput.CUTOUT:
                dst = Image(empty_like(image.planes[0], (*size, 4), "uint8"), Format.RGBA8)
            else:
                dst = image.empty()
            dst = dst if isinstance(src, Image) else dst.planes[0]
        mask, dst = (None if output is False else output for output in (mask, dst))
        with self._lock:
            self.run(src, seeds=seeds, rect=rect, mask=mask, dst=dst, stream=stream)
            return Segmentation(**vars(self.wait()), mask=mask, image=dst)

    def forget(self) -> None:
        """Forgets what has been learned: the next run learns from its seeds."""
        self._call("forget")

    def learned(self) -> bool:
        """Whether the next run, with a warm_start, begins with what has been learned: if not, it
        learns from its seeds. Waits."""
        learned = c.c_uint32()
        self._call("learned", c.byref(learned))
        return bool(learned.value)

    def prepare(self, src: Picture, *, seeds: Optional[Picture] = None,
                mask: Optional[Picture] = None, dst: Optional[Picture] = None) -> None:
        """Allocates all that runs on such pictures need."""
        self._prepare({"src": src, "seeds": seeds, "mask": mask, "dst": dst})

    def run(self, src: Picture, *, seeds: Optional[Picture] = None,
            rect: Optional[Sequence[int]] = None, mask: Optional[Picture] = None,
            dst: Optional[Picture] = None, result: Optional[Array] = None, stream: Any = None) -> None:
        """Enqueues the division of src.

        src     a picture
        seeds   (height, width) of uint8, as cv2.grabCut() has them or as a mask: 0 background, 1 or
                255 foreground, 2 probably background, 3 probably foreground, 128 not known; inside
                rect one pixel at least is not known. Memory of src, or host memory
        rect    (x, y, width, height): what lies outside is background
        mask    GRAY8, NV12 or I420, same size and memory
        dst     an overlay: like src, or src itself; a cutout: RGBA8 or BGRA8
        result  receives a gpv_graphcut_result, in the memory in which the backend computes
        """
        call = Call(self.context, stream, src, seeds, mask, dst, result)
        box = None
        if rect is not None:
            x, y, width, height = (integer("rect", number) for number in rect)
            box = c.byref(_abi.Rect(x, y, width, height))
        self._enqueue(call, "run", call.image(src, "src"), call.image(seeds, "seeds"), box,
                      call.image(mask, "mask", written=True), call.image(dst, "dst", written=True),
                      call.buffer(result, "result", RESULT))

    def wait(self) -> CutSummary:
        """Waits until the last run has finished."""
        return summary_of(self._wait())
