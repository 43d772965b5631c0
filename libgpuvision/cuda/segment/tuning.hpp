// SPDX-License-Identifier: BSD-2-Clause
// Sizes of blocks.
#pragma once

namespace gpv::cuda::segment {

/// Kernels with a strip of pixels per thread: rows and columns of strips per block.
inline constexpr int strips_down = 8, strips_across = 32;
/// The kernel that fits models is cooperative, with one block per multiprocessor.
inline constexpr int fit_threads = 256;
inline constexpr int clear_threads = 256, clear_words = 8; ///< words of 16 bytes per thread
inline constexpr int paint_threads = 256;
/// The side of a tile whose edges a block softens.
inline constexpr int edge_tile = 32;
/// The kernel that counts: places for cells in a block's shared memory, and how many are probed.
inline constexpr int count_threads = 256;
inline constexpr int count_blocks = 8; ///< per multiprocessor, at most
inline constexpr unsigned count_places = 2048;
inline constexpr int count_probes = 4;

} // namespace gpv::cuda::segment
