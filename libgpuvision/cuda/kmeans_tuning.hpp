// SPDX-License-Identifier: BSD-2-Clause
// Sizes of blocks and tables, chosen on an H200.
#pragma once

#include <cstddef>

namespace gpv::cuda::kmeans {

inline constexpr int histogram_threads = 512;
/// Of a multiprocessor, each with a bitmap of cells that it merges at its end.
inline constexpr int histogram_blocks = 4;
inline constexpr int collect_threads = 256;
inline constexpr int collect_blocks = 32; ///< of a multiprocessor
/// Of the kernels whose blocks all run at once, one on each multiprocessor.
inline constexpr int lloyd_threads = 1024;
inline constexpr int label_threads = 256;

/// Cells of more colours are cut into slabs, so that warps have equal shares.
inline constexpr int most_colors_of_task = 128;

/// Of the sums of a block, which have as many copies as fit, up to one for each lane.
inline constexpr std::size_t sum_bytes = 32 << 10;

/// Sums of images of more pixels need 64 bits.
inline constexpr long long most_narrow_pixels = 0xffffffffu / 255;

} // namespace gpv::cuda::kmeans
