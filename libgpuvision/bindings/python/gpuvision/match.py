# SPDX-License-Identifier: BSD-2-Clause
"""Matching of SIFT descriptors, and homographies. See gpuvision/match.h."""
from __future__ import annotations

import ctypes as c
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Sequence, Union

import numpy

from . import _abi, _library
from ._abi import Memory
from ._params import HomographyParams, MatchParams
from .arrays import Array, Picture, enum_value, integer
from .context import Context
from .operators import Call, Operator, Struct, in_host_memory

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Record of a match: query and train, indices; distance and second, squared distances.
PAIR = numpy.dtype(_abi.MatchPair)
#: Record of the two nearest: index and distance, two numbers each.
NEAREST = numpy.dtype(_abi.MatchNearest)

#: What runs can leave in CUDA memory: a gpv_match_result; and what they take of Sift's.
RESULT, FOUND = numpy.dtype(_abi.MatchResult), numpy.dtype(_abi.SiftResult)


@dataclass
class Matching:
    """What Match.wait() says."""
    count: int  #: matches that are written, where there is room
    dropped: int  #: matches beyond the room there is
    queries: int  #: descriptors that were compared


class Match(Operator):
    """Which descriptors of one picture are like which of another."""

    _stem, _Params, _Result = "match", _abi.MatchParams, _abi.MatchResult

    def __init__(self, context: Context, **params: Unpack[MatchParams]):
        super().__init__(context, dict(params))

    def set(self, **params: Unpack[MatchParams]) -> None:
        """Changes parameters of the runs that follow; those that are not given stay."""
        self._set(dict(params))

    def __call__(self, query: Array, train: Array, *, stream: Any = None) -> numpy.ndarray:
        """The matches: (count,) of PAIR, in the order of the queries, in host memory. Waits.

        query, train  (count, 128) of uint8
        """
        pairs = numpy.zeros(max(1, len(query)), PAIR)
        with self._lock:
            self.run(query, train, pairs=pairs, stream=stream)
            return pairs[:self.wait().count]

    def prepare(self, query_count: int, train_count: int,
                memory: Union[Memory, str] = Memory.HOST) -> None:
        """Allocates all that runs on sets of up to so many descriptors in such memory need."""
        self._call("prepare", integer("query_count", query_count),
                   integer("train_count", train_count), enum_value(Memory, memory))

    def run(self, query: Array, train: Array, *, found: Optional[Array] = None,
            nearest: Optional[Array] = None, pairs: Optional[Array] = None,
            result: Optional[Array] = None, stream: Any = None) -> None:
        """Enqueues the comparison of each descriptor of query with all of train.

        query, train  (count, 128) of uint8; host or CUDA memory
        found         the result of Sift.run(), whose count is taken if it is less than query has
        nearest       receives a record of NEAREST for each query, 16 bytes
        pairs         receives a record of PAIR for each match, 16 bytes
        result        receives a gpv_match_result, in the memory in which the backend computes
        """
        for name, array in ("query", query), ("train", train):
            if len(array.shape) != 2 or array.shape[1] != _abi.SIFT_DESCRIPTOR_LENGTH:
                raise ValueError(f"{name} has the shape {tuple(array.shape)}, must be (count, 128)")
        call = Call(self.context, stream, query, found, train, nearest, pairs, result)
        self._enqueue(call, "run", call.buffer(query, "query", "uint8", written=False), len(query),
                      call.buffer(found, "found", FOUND, written=False),
                      call.buffer(train, "train", "uint8", written=False), len(train),
                      call.buffer(nearest, "nearest", NEAREST), call.buffer(pairs, "pairs", PAIR),
                      call.buffer(result, "result", RESULT))

    def draw(self, dst: Picture, points: Sequence[Sequence[float]], width: float = 2,
             color: int = 0xff4000, *, stream: Any = None) -> None:
        """Draws a closed outline into a picture.

        points  x and y of each, from the centre of the first pixel; 2..64 of them
        width   of the line, pixels; 1..1000
        color   0xRRGGBB
        """
        corners = numpy.ascontiguousarray(points, numpy.float32)
        if corners.ndim != 2 or corners.shape[1] != 2:
            raise ValueError(f"points has the shape {corners.shape}, must be (count, 2)")
        call = Call(self.context, stream, dst)
        with self._lock:
            self._enqueue(call, "gpv_draw_outline", call.image(dst, "dst", written=True),
                          corners.ctypes.data_as(c.POINTER(c.c_float)), len(corners), width,
                          integer("color", color, c.c_uint32))
            if in_host_memory(dst):
                self.wait()

    def wait(self) -> Matching:
        """Waits until the last run has finished."""
        result = self._wait()
        return Matching(result.count, result.dropped, result.queries)


@dataclass(eq=False)
class Homography:
    """What find_homography() finds."""
    matrix: Optional[numpy.ndarray]  #: (3, 3) of float64, the last one 1; None = there is none
    inliers: numpy.ndarray  #: (count,) of bool: the pairs that fit
    error: float  #: root of the mean squared distance of the pairs that fit
    iterations: int  #: samples that were tried

    def transform(self, points: Array) -> numpy.ndarray:
        """Where points, (count, 2), come to lie."""
        if self.matrix is None:
            raise ValueError("there is no homography")
        points = numpy.asarray(points, float)
        if points.ndim != 2 or points.shape[1] != 2:
            raise ValueError(f"points has the shape {points.shape}, must be (count, 2)")
        moved = points @ self.matrix[:, :2].T + self.matrix[:, 2]
        return moved[:, :2] / moved[:, 2:]


def find_homography(context: Context, source: Array, target: Array,
                    **params: Unpack[HomographyParams]) -> Homography:
    """The homography that takes most points of source to those of target, (count, 2) each, although
    many may be matched wrongly. 4 pairs fit in any case: ask for more, 15 or so."""
    source, target = (numpy.ascontiguousarray(points, numpy.float32) for points in (source, target))
    if source.ndim != 2 or source.shape[1] != 2 or source.shape != target.shape:
        raise ValueError(f"source has the shape {source.shape} and target {target.shape}, must both "
                         "be (count, 2)")
    struct = Struct(_abi.HomographyParams)
    struct.assign(dict(params))
    found = _library.initialized(_abi.Homography)
    inliers = numpy.zeros(len(source), numpy.uint8)
    floats = c.POINTER(c.c_float)
    context.call("gpv_homography_find", context._handle, c.byref(struct.value),
                 source.ctypes.data_as(floats), target.ctypes.data_as(floats), len(source),
                 inliers.ctypes.data_as(c.POINTER(c.c_uint8)), c.byref(found))
    matrix = numpy.array(found.matrix).reshape(3, 3) if found.found else None
    return Homography(matrix, inliers.astype(bool), found.error, found.iterations)
