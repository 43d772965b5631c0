// SPDX-License-Identifier: BSD-2-Clause
// Code generated from include/gpuvision by meson compile -C build interface-update. DO NOT EDIT.
#pragma once

/// X(erode, Erode) of each algorithm.
// clang-format off
#define GPV_STEMS(X) \
    X(ccl, Ccl) \
    X(erode, Erode) \
    X(expansion, Expansion) \
    X(graphcut, Graphcut) \
    X(kmeans, Kmeans) \
    X(match, Match) \
    X(segment, Segment) \
    X(sift, Sift)
// clang-format on
