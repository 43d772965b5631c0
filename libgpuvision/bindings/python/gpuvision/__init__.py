# SPDX-License-Identifier: BSD-2-Clause
"""Classical vision for live video, on CUDA and the CPU: erosion and morphology, connected
components, k-means colour segmentation, SIFT with matching, and graph cuts, also for more than two
labels.

    import gpuvision as gpv

    with gpv.Context() as context:               # CUDA where it can be used, else the CPU
        erode = gpv.Erode(context, radius=3, shape="ellipse")
        eroded = erode(picture)                  # (height, width), or (height, width, 3 or 4)

Arrays are NumPy's, in host memory, or CuPy's, PyTorch's and others', in CUDA memory, of which
nothing is copied.
"""
from . import _params
from ._abi import (DEVICE_CURRENT, Backend, ColorMatrix, ColorRange, DrawStyle, FieldKind, Format, LogLevel, Memory,
                   Status)
from ._errors import (DeviceError, DeviceLost, Error, InvalidArgument, NoDevice, OutOfMemory,
                      TooSmall, Unsupported)
from ._library import LibraryNotFound
from ._params import *
from .arrays import Array, Image, Picture
from .ccl import COMPONENT, Ccl, Components, Counts
from .context import Context, backend_available, version_string
from .erode import Erode
from .expansion import Expansion, ExpansionSummary, Labelling
from .fields import Choice, Field, fields
from .graphcut import Cut, CutSummary, Graphcut
from .kmeans import Clustering, Clusters, Kmeans, kmeans_color
from .match import NEAREST, PAIR, Homography, Match, Matching, find_homography
from .operators import Operator
from .segment import Segment, Segmentation
from .sift import KEYPOINT, Count, Features, Sift

__version__ = "0.1.0"

__all__ = [
    "COMPONENT", "DEVICE_CURRENT", "KEYPOINT", "NEAREST", "PAIR", "Array", "Backend", "Ccl", "Choice", "Clustering",
    "Clusters", "ColorMatrix", "ColorRange", "Components", "Context", "Count", "Counts", "Cut", "CutSummary",
    "DeviceError", "DeviceLost", "DrawStyle", "Erode", "Error", "Expansion", "ExpansionSummary", "Features",
    "Field", "FieldKind", "Format", "Graphcut", "Homography", "Image", "InvalidArgument", "Kmeans", "Labelling",
    "LibraryNotFound", "LogLevel", "Match",
    "Matching", "Memory", "NoDevice", "Operator", "OutOfMemory", "Picture", "Segment", "Segmentation",
    "Sift", "Status", "TooSmall", "Unsupported", "backend_available", "fields", "find_homography",
    "kmeans_color", "version_string"]
__all__ += _params.__all__
