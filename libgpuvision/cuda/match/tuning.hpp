// SPDX-License-Identifier: BSD-2-Clause
// Sizes of blocks.
#pragma once

namespace gpv::cuda::match {

/// The kernel that compares: warps per block, and blocks per multiprocessor.
inline constexpr int compare_warps = 4;
inline constexpr int compare_blocks = 4;
inline constexpr int norm_threads = 256;
inline constexpr int choose_threads = 256;
/// Grids are rounded up to a multiple of this many descriptors, so that a graph serves many counts.
inline constexpr int granule = 2048;

} // namespace gpv::cuda::match
