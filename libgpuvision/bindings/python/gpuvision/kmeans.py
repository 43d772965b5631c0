# SPDX-License-Identifier: BSD-2-Clause
"""Colour segmentation by k-means. See gpuvision/kmeans.h."""
from __future__ import annotations

import ctypes as c
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy

from . import _abi, _library
from ._abi import KMEANS_MAX_CLUSTERS, KmeansColorSpace
from ._params import KmeansParams
from .arrays import Array, Image, Picture, empty_like, enum_value, image_of
from .context import Context
from .operators import Call, Operator

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass
class Clustering:
    """What Kmeans.wait() says."""
    clusters: int  #: as in the parameters, or as chosen
    iterations: int  #: updates of the centroids
    empty: int  #: clusters without a pixel
    converged: bool  #: the tolerance has ended the iteration
    inertia: float  #: sum over all pixels of the squared distance to their centroid


@dataclass(eq=False)
class Clusters(Clustering):
    """What Kmeans finds."""
    labels: Optional[Picture]  #: (height, width) of uint8: the number of each pixel's cluster
    image: Optional[Picture]  #: like the source: the colour of each pixel's cluster
    centroids: numpy.ndarray  #: (clusters, 3) of float32, in color_space
    counts: numpy.ndarray  #: (clusters,) of int32: pixels of each
    colors: numpy.ndarray  #: (clusters, 3) of uint8: R, G and B of each


#: What runs can leave in CUDA memory: a gpv_kmeans_result.
RESULT = numpy.dtype(_abi.KmeansResult)


def kmeans_color(color_space: Union[KmeansColorSpace, str], centroid: Array) -> int:
    """The colour, 0xRRGGBB, that stands for a centroid of 3 numbers in a recoloured picture."""
    numbers = [float(number) for number in centroid]
    if len(numbers) != 3:
        raise ValueError(f"a centroid has 3 numbers, not {len(numbers)}")
    return _library.lib().gpv_kmeans_color(enum_value(KmeansColorSpace, color_space),
                                       (c.c_float * 3)(*numbers))


class Kmeans(Operator):
    """Clusters of the colours of a picture."""

    _stem, _Params, _Result = "kmeans", _abi.KmeansParams, _abi.KmeansResult

    def __init__(self, context: Context, **params: Unpack[KmeansParams]):
        super().__init__(context, dict(params))

    def set(self, **params: Unpack[KmeansParams]) -> None:
        """Changes parameters of the runs that follow; those that are not given stay."""
        self._set(dict(params))

    def set_centroids(self, centroids: Array) -> None:
        """The initial centroids of runs with init "given": (clusters, 3) numbers in 0..255, copied."""
        given = numpy.ascontiguousarray(centroids, numpy.float32)
        if given.ndim != 2 or given.shape[1] != 3:
            raise ValueError(f"centroids has the shape {given.shape}, must be (clusters, 3)")
        self._call("set_centroids", given.ctypes.data_as(c.POINTER(c.c_float)), len(given))

    def __call__(self, src: Picture, *, labels: Union[Picture, bool] = True,
                 dst: Union[Picture, bool] = True, stream: Any = None) -> Clusters:
        """The clusters of src. Waits.

        labels  receives the number of each pixel's cluster; True = a new array, False = none
        dst     receives the recoloured picture; True = a new one like src, False = none; may be src
        """
        image = image_of(src)
        if labels is True:
            labels = empty_like(image.planes[0], (image.height, image.width), "uint8")
        if dst is True:
            dst = image.empty() if isinstance(src, Image) else image.empty().planes[0]
        centroids = numpy.zeros((KMEANS_MAX_CLUSTERS, 3), numpy.float32)
        counts = numpy.zeros(KMEANS_MAX_CLUSTERS, numpy.int32)
        labels, dst = (None if output is False else output for output in (labels, dst))
        with self._lock:
            self.run(src, labels=labels, dst=dst, centroids=centroids, counts=counts, stream=stream)
            found, space = self.wait(), KmeansColorSpace(self._params.value.color_space)
        centroids, counts = centroids[:found.clusters], counts[:found.clusters]
        packed = numpy.array([kmeans_color(space, centroid) for centroid in centroids], ">u4")
        colors = packed.view(numpy.uint8).reshape(-1, 4)[:, 1:]
        return Clusters(**vars(found), labels=labels, image=dst, centroids=centroids, counts=counts,
                        colors=colors)

    def prepare(self, src: Picture, labels: Optional[Picture] = None,
                dst: Optional[Picture] = None) -> None:
        """Allocates all that runs on such pictures need."""
        self._prepare({"src": src, "labels": labels, "dst": dst})

    def run(self, src: Picture, *, labels: Optional[Picture] = None, dst: Optional[Picture] = None,
            centroids: Optional[Array] = None, counts: Optional[Array] = None,
            result: Optional[Array] = None, stream: Any = None) -> None:
        """Enqueues the search for the clusters of src. Each result is optional.

        src        a picture
        labels     GRAY8, NV12 or I420, same size and memory
        dst        like src, or src itself
        centroids  (clusters, 3) of float32; room for clusters, or for max_clusters where that is 0
        counts     (clusters,) of int32, likewise; host or CUDA memory
        result     receives a gpv_kmeans_result, in the memory in which the backend computes
        """
        call = Call(self.context, stream, src, labels, dst, centroids, counts, result)
        self._enqueue(call, "run", call.image(src, "src"), call.image(labels, "labels", written=True),
                      call.image(dst, "dst", written=True),
                      call.buffer(centroids, "centroids", "float32"),
                      call.buffer(counts, "counts", "int32"),
                      call.buffer(result, "result", RESULT))

    def wait(self) -> Clustering:
        """Waits until the last run has finished."""
        result = self._wait()
        return Clustering(result.clusters, result.iterations, result.empty, bool(result.converged),
                          result.inertia)
