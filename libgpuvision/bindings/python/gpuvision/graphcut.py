# SPDX-License-Identifier: BSD-2-Clause
"""Exact minimum cuts of graphs whose nodes are pixels. See gpuvision/graphcut.h."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional

import numpy

from . import _abi
from ._abi import Format
from ._params import GraphcutParams
from .arrays import Array, Image, Picture, empty_like
from .context import Context
from .operators import Call, Operator

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: What runs can leave in CUDA memory: a gpv_graphcut_result.
RESULT = numpy.dtype(_abi.GraphcutResult)


@dataclass
class CutSummary:
    """What Graphcut.wait() and Segment.wait() say."""
    optimal: bool  #: no cut has less capacity
    flow: int  #: from the source to the sink: no cut has less capacity
    cut: Optional[int]  #: with certificate the capacity of the cut, which is flow if it is optimal
    area: int  #: pixels on the side of the source, or of the foreground


def summary_of(result: Any) -> CutSummary:
    """A gpv_graphcut_result."""
    return CutSummary(bool(result.optimal), result.flow, None if result.cut < 0 else result.cut,
                      result.area)


@dataclass(eq=False)
class Cut(CutSummary):
    """What Graphcut finds."""
    mask: Picture  #: (height, width) of uint8: 255 on the side of the source, else 0


def links_image(links: Picture) -> Image:
    """(4 or 8, height, width) of int32 as an Image."""
    if isinstance(links, Image):
        return links
    if len(links.shape) != 3 or links.shape[0] not in (4, 8):
        raise ValueError(f"links has the shape {tuple(links.shape)}, must be (4 or 8, height, width)")
    return Image(links, Format.CAP32X4 if links.shape[0] == 4 else Format.CAP32X8)


class Graphcut(Operator):
    """Minimum cuts of a graph that you make: of all of them that with the fewest pixels on the side of the
    sink. :class:`Segment` makes such graphs of pictures."""

    _stem, _Params, _Result = "graphcut", _abi.GraphcutParams, _abi.GraphcutResult

    def __init__(self, context: Context, **params: Unpack[GraphcutParams]):
        super().__init__(context, dict(params))

    def set(self, **params: Unpack[GraphcutParams]) -> None:
        """Changes parameters of the runs that follow; those that are not given stay."""
        self._set(dict(params))

    def __call__(self, terminals: Picture, links: Picture, mask: Optional[Picture] = None, *,
                 stream: Any = None) -> Cut:
        """The minimum cut. Waits. mask receives it; None = a new array."""
        links = links_image(links)
        if mask is None:
            mask = empty_like(links.planes[0], (links.height, links.width), "uint8")
        with self._lock:
            self.run(terminals, links, mask, stream=stream)
            return Cut(**vars(self.wait()), mask=mask)

    def prepare(self, links: Picture) -> None:
        """Allocates all that a run on such an image needs."""
        self._prepare({"links": links_image(links)})

    def run(self, terminals: Picture, links: Picture, mask: Picture, *,
            result: Optional[Array] = None, stream: Any = None) -> None:
        """Enqueues the search for a minimum cut.

        terminals  (height, width) of int32: capacity from the source to the pixel minus that from
                   the pixel to the sink, -2^30..2^30
        links      (4, height, width) of int32: capacity to the neighbours E S W N; (8, ...): E SE S
                   SW W NW N NE; 0..2^26 - 1
        mask       (height, width) of uint8
        result     receives a gpv_graphcut_result, in the memory in which the backend computes
        """
        links = links_image(links)
        call = Call(self.context, stream, terminals, links, mask, result)
        self._enqueue(call, "run", call.image(terminals, "terminals"), call.image(links, "links"),
                      call.image(mask, "mask", written=True), call.buffer(result, "result", RESULT))

    def wait(self) -> CutSummary:
        """Waits until the last run has finished. Raises InvalidArgument, with the first value that
        is out of its range."""
        return summary_of(self._wait())
