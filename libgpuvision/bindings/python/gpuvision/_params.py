# SPDX-License-Identifier: BSD-2-Clause
# Code generated from include/gpuvision by meson compile -C build interface-update. DO NOT EDIT.
"""Parameters of operators: what each takes by keyword."""
from __future__ import annotations

from typing import TypedDict, Union

from ._abi import (CclMode, CclOutput, ErodeBorder, ErodeOperation, ErodePlanes, ErodeShape, KmeansColorSpace,
                  KmeansInit, KmeansMetric, SegmentEdge, SegmentModel, SegmentOutput, SegmentWarmStart,
                  SiftDescriptorType)

__all__ = ["CclMode", "CclOutput", "CclParams", "ErodeBorder", "ErodeOperation", "ErodeParams", "ErodePlanes",
           "ErodeShape", "ExpansionParams", "GraphcutParams", "HomographyParams", "KmeansColorSpace",
           "KmeansInit", "KmeansMetric", "KmeansParams", "MatchParams", "SegmentEdge", "SegmentModel",
           "SegmentOutput", "SegmentParams", "SegmentWarmStart", "SiftDescriptorType", "SiftParams"]


class CclParams(TypedDict, total=False):
    """Parameters of Ccl, all optional.

    A pixel is foreground if its luma is >= threshold, or, with foreground >= 0, if its luma is
    foreground; with invert, if it is not. Luma is the sample of grey, Y of YUV, and (77 R + 150 G + 29 B
    + 128) >> 8 of RGB.
    """
    #: Default "binary".
    mode: Union[CclMode, str]
    #: 8 or 4 neighbours; default 8.
    connectivity: int
    #: 0..255 (16 bits: ..65535), 0 = every pixel; default 1.
    threshold: int
    #: 0..255 (16 bits: ..65535), -1 = threshold decides; default -1.
    foreground: int
    #: Default False.
    invert: bool
    #: Components of fewer pixels are dropped, 0 = none; default 0.
    min_area: int
    #: Components of more pixels are dropped, 0 = none; default 0.
    max_area: int
    #: Default "labels".
    output: Union[CclOutput, str]


class SiftParams(TypedDict, total=False):
    """Parameters of Sift, all optional."""
    #: Of the keypoints those of the highest response are kept; 0 = as many as there is room for;
    #: 0..2147483647; default 0.
    max_features: int
    #: Maximum number of octaves, from the first; 0 = all that fit; 0..16; default 0.
    octaves: int
    #: Layers of an octave in which extrema are sought, 1..8; default 3.
    octave_layers: int
    #: Extrema of less contrast are dropped. It is divided by octave_layers, and a picture has contrast 1 from
    #: black to white; 0..1; default 0.04.
    contrast_threshold: float
    #: Extrema on edges are dropped: those whose ratio of principal curvatures is at least this; 1..1e6;
    #: default 10.
    edge_threshold: float
    #: Blur of the first layer of each octave, in pixels of the octave; 0.5..4; default 1.6.
    sigma: float
    #: Whether the first octave has twice the size of the picture, which finds smaller features; default True.
    upsample: bool
    #: Whether every orientation is 0; default False.
    upright: bool
    #: Whether descriptors are those of RootSIFT: the square roots of one whose sum is 1; default False.
    root_sift: bool
    #: Default "u8".
    descriptor_type: Union[SiftDescriptorType, str]


class MatchParams(TypedDict, total=False):
    """Parameters of Match, all optional."""
    #: A query whose nearest is not nearer than this times the second nearest has no match; 0 = it has one
    #: anyhow; 0..1; default 0.8.
    ratio: float
    #: Whether a query is also to be the nearest one to its match; default True.
    mutual: bool


class ErodeParams(TypedDict, total=False):
    """Parameters of Erode, all optional."""
    #: Default "erode".
    operation: Union[ErodeOperation, str]
    #: Default "rect".
    shape: Union[ErodeShape, str]
    #: Pixels, 0..255, default 1.
    radius: int
    #: Pixels, 0..255, -1 = radius; default -1.
    radius_y: int
    #: How often each erosion and dilation repeats, 1..255, default 1.
    iterations: int
    #: 0 = grey morphology; 1..255 (16 bits: ..65535) = binary; default 0.
    threshold: int
    #: Default "ignore".
    border: Union[ErodeBorder, str]
    #: Grey morphology only; default "auto".
    planes: Union[ErodePlanes, str]


class GraphcutParams(TypedDict, total=False):
    """Parameters of Graphcut, all optional."""
    #: Whether a run adds up the capacity of its cut from what it was given, as the proof that the cut is
    #: minimal; default False.
    certificate: bool
    #: Microseconds after which a run settles for the best cut that it has by then; it ends some time later,
    #: after the step that it is at and the choice of the cut. On CUDA they begin with the kernel; >= 0, 0 =
    #: none; default 0.
    max_time_us: int
    #: Whether a run keeps its flow, and the next one on a graph of that size and connectivity begins with as
    #: much of it as there is room for. What is found is the same; the time is less where few capacities have
    #: changed. Where runs take longer by it some do without, as their times say. For video, and for one graph
    #: with changing terminals; default False.
    reuse: bool


class ExpansionParams(TypedDict, total=False):
    """Parameters of Expansion, all optional."""
    #: How often each label has its move, at most: once none of them can lower the energy any more, a run is
    #: over; 1..10; default 3.
    cycles: int


class HomographyParams(TypedDict, total=False):
    """Parameters of find_homography(), all optional."""
    #: A pair fits if the place that is found for it is at most so far from its own, in the units of the
    #: points; > 0..1e6; default 3.
    threshold: float
    #: No more samples are tried once one without a false pair has been among them with this probability;
    #: 0..0.999999; default 0.999.
    confidence: float
    #: Samples at most; 1..1000000; default 10000.
    max_iterations: int
    #: Of the samples; any; default 0.
    seed: int


class KmeansParams(TypedDict, total=False):
    """Parameters of Kmeans, all optional."""
    #: 2..256; 0 = chosen automatically; default 8.
    clusters: int
    #: 2..256, limit of the automatic choice; default 16.
    max_clusters: int
    #: Updates of the centroids, 0..10000; default 20.
    max_iterations: int
    #: The iteration ends when no centroid has moved further, in grey levels; 0 = when labels repeat; below 0
    #: = all iterations are run; -1e6..1e6; default 0.5.
    tolerance: float
    #: Default "l2".
    metric: Union[KmeansMetric, str]
    #: "given": not with clusters 0; default "plusplus".
    init: Union[KmeansInit, str]
    #: Default "rgb".
    color_space: Union[KmeansColorSpace, str]
    #: Of "plusplus" and "random"; default 0.
    seed: int
    #: Whether a run starts from the centroids of the one before, if that had the same clusters (and
    #: max_clusters, where that is read) and color_space. Numbers of clusters are kept, and so is their
    #: number, until fewer than two clusters have pixels or the scene changes, as docs/algorithms/kmeans.md
    #: defines it: then the next run starts as init says. Default False.
    warm_start: bool


class SegmentParams(TypedDict, total=False):
    """Parameters of Segment, all optional."""
    #: Default "gmm".
    model: Union[SegmentModel, str]
    #: Default "none".
    warm_start: Union[SegmentWarmStart, str]
    #: 4 or 8 neighbours; default 4.
    connectivity: int
    #: Of learning colours and cutting, each from the cut of the one before; 1..100; default 5. One where a
    #: run begins with what has been learned, or adapts as the run before has, unless that has failed or been
    #: forgotten.
    iterations: int
    #: Weight of R, in lengths of border for each unit of log-likelihood (nat); 0..1e6; 0: borders and seeds
    #: decide alone; default 0.01.
    lambda_: float
    #: Euclidean distance, in R, G and B of 0..255, of the colours of two neighbours where the border between
    #: them is shorter by a factor of sqrt(e); 0..1e6; 0 = root mean square of the picture; default 0.
    sigma: float
    #: Default "overlay".
    output: Union[SegmentOutput, str]
    #: As in GraphcutParams; default False.
    certificate: bool
    #: Of each cut, as in GraphcutParams; default 0.
    max_time_us: int
    #: Whether frames show one scene, and the camera stands still. The first cut of a run begins with what the
    #: last run has left, as with reuse of GraphcutParams, which changes nothing but the time; and sigma = 0
    #: is measured once, where a picture has any difference, and holds for frames of that size and
    #: connectivity: until 0 is set here, until another model, Segment.forget() or a run that fails, and where
    #: one with warm_start adapt gives up what it has learned. Runs in a graph do not see what is set and
    #: forgotten behind it. Default False.
    static_scene: bool
    #: Of mask and of a cutout; an overlay and all that is learned go by the sides. Default "hard".
    edge: Union[SegmentEdge, str]
