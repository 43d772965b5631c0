# SPDX-License-Identifier: BSD-2-Clause
"""Classical vision for live video, on CUDA and the CPU: erosion and morphology, connected
components, k-means colour segmentation, SIFT with matching, and graph cuts.

    import gpuvision as gpv

    with gpv.Context() as context:               # CUDA where it can be used, else the CPU
        erode = gpv.Erode(context, radius=3, shape="ellipse")
        eroded = erode(picture)                  # (height, width), or (height, width, 3 or 4)

Arrays are NumPy's, in host memory, or CuPy's, PyTorch's and others', in CUDA memory, of which
nothing is copied.
"""
from ._abi import (DEVICE_CURRENT, Backend, CclMode, CclOutput, ColorMatrix, ColorRange,
                   ErodeBorder, ErodeOperation, ErodePlanes, ErodeShape, Format, KmeansColorSpace,
                   KmeansInit, KmeansMetric, LibraryNotFound, LogLevel, Memory, SegmentModel,
                   SegmentOutput, SegmentWarmStart, SiftDescriptorType, DrawStyle, Status)
from ._errors import (DeviceError, DeviceLost, Error, InvalidArgument, NoDevice, OutOfMemory,
                      TooSmall, Unsupported)
from .arrays import Array, Image, Picture
from .ccl import COMPONENT, Ccl, CclParams, Components, Counts
from .context import Context, backend_available, version_string
from .erode import Erode, ErodeParams
from .graphcut import Cut, CutSummary, Graphcut, GraphcutParams
from .kmeans import Clustering, Clusters, Kmeans, KmeansParams, kmeans_color
from .match import (NEAREST, PAIR, Homography, HomographyParams, Match, Matching, MatchParams,
                    find_homography)
from .operators import Operator
from .segment import Segment, Segmentation, SegmentParams
from .sift import KEYPOINT, Count, Features, Sift, SiftParams

__version__ = "0.1.0"

__all__ = [
    "COMPONENT", "DEVICE_CURRENT", "KEYPOINT", "NEAREST", "PAIR", "Array", "Backend", "Ccl",
    "CclMode", "CclOutput", "CclParams", "Clustering", "Clusters", "ColorMatrix", "ColorRange",
    "Components", "Context", "Count", "Counts", "Cut", "CutSummary", "DeviceError", "DeviceLost",
    "Erode", "ErodeBorder", "ErodeOperation", "ErodeParams", "ErodePlanes", "ErodeShape", "Error",
    "Features", "Format", "Graphcut", "GraphcutParams", "Homography", "HomographyParams", "Image",
    "InvalidArgument", "Kmeans", "KmeansColorSpace", "KmeansInit", "KmeansMetric", "KmeansParams",
    "LibraryNotFound", "LogLevel", "Match", "MatchParams", "Matching", "Memory", "NoDevice",
    "Operator", "OutOfMemory", "Picture", "Segment", "SegmentModel", "SegmentOutput",
    "SegmentParams", "SegmentWarmStart", "Segmentation", "Sift", "SiftDescriptorType",
    "DrawStyle", "SiftParams", "Status", "TooSmall", "Unsupported", "backend_available",
    "find_homography", "kmeans_color", "version_string"]
