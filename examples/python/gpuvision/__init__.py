# SPDX-License-Identifier: BSD-2-Clause
"""Classical vision for live video, on CUDA and the CPU: erosion and morphology, connected
components, k-means colour segmentation, SIFT with matching, and graph cuts.

    import gpuvision as gpv

    with gpv.Context() as context:               # CUDA where it can be used, else the CPU
        erode = gpv.Erode(context, radius_x=3, shape="ellipse")
        eroded = erode(picture)                  # (height, width), or (height, width, 3 or 4)

Arrays are NumPy's, in host memory, or CuPy's, PyTorch's and others', in CUDA memory, of which
nothing is copied.
"""
from ._abi import (DEVICE_CURRENT, Backend, CclMode, CclOutput, ColorMatrix, ColorRange, Format,
                   KmeansMetric, KmeansSpace, KmeansStart, LibraryNotFound, LogLevel, Memory,
                   MorphBorder, MorphOperation, MorphPlanes, MorphShape, SegmentFit, SegmentModel,
                   SegmentPaint, SiftStyle, SiftType, Status)
from ._errors import (DeviceError, DeviceLost, Error, InvalidArgument, NoDevice, OutOfMemory,
                      TooSmall, Unsupported)
from .arrays import Image
from .ccl import COMPONENT, Ccl, Components
from .context import Context, backend_available, library_version
from .erode import Erode
from .graphcut import Cut, Graphcut
from .kmeans import Clusters, Kmeans, kmeans_color
from .match import NEAREST, PAIR, Homography, Match, find_homography
from .segment import Segment, Segmentation
from .sift import KEYPOINT, Features, Sift

__version__ = "0.1.0"

__all__ = [
    "COMPONENT", "DEVICE_CURRENT", "KEYPOINT", "NEAREST", "PAIR",
    "Backend", "Ccl", "CclMode", "CclOutput", "Clusters", "ColorMatrix", "ColorRange", "Components",
    "Context", "Cut", "DeviceError", "DeviceLost", "Erode", "Error", "Features", "Format",
    "Graphcut", "Homography", "Image", "InvalidArgument", "Kmeans", "KmeansMetric", "KmeansSpace",
    "KmeansStart", "LibraryNotFound", "LogLevel", "Match", "Memory", "MorphBorder",
    "MorphOperation", "MorphPlanes", "MorphShape", "NoDevice", "OutOfMemory", "Segment",
    "SegmentFit", "SegmentModel", "SegmentPaint", "Segmentation", "Sift", "SiftStyle", "SiftType",
    "Status", "TooSmall", "Unsupported", "backend_available", "find_homography", "kmeans_color",
    "library_version"]
