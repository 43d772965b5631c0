// SPDX-License-Identifier: BSD-2-Clause
// Sizes of blocks.
#pragma once

namespace gpv::cuda::segment {

/// Of kernels whose threads have a strip of pixels each: rows and columns of strips of a block.
inline constexpr int strips_down = 8, strips_across = 32;
/// Of the kernel that fits models, whose blocks all run at once, one on each multiprocessor.
inline constexpr int fit_threads = 256;
inline constexpr int clear_threads = 256, clear_words = 8; ///< of 16 bytes, of a thread
inline constexpr int paint_threads = 256;
/// Of the kernel that counts: for cells in a block's shared memory, and how many are looked at.
inline constexpr int count_threads = 256;
inline constexpr int count_blocks = 8; ///< of a multiprocessor, at most
inline constexpr unsigned count_places = 2048;
inline constexpr int count_probes = 4;

} // namespace gpv::cuda::segment
