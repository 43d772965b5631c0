// SPDX-License-Identifier: BSD-2-Clause
// Sizes of blocks and tables, chosen on an H200.
#pragma once

#include <cstddef>

namespace gpv::cuda::sift {

inline constexpr int blur_columns = 64; ///< outputs per block of the kernel for any filter
inline constexpr int blur_rows = 16;

/// Rows of a column that a thread filters at once.
inline constexpr int step_rows = 8;
inline constexpr int first_blocks = 4; ///< per multiprocessor
inline constexpr int scale_blocks = 2; ///< per multiprocessor
/// Cost of starting a strip, in rows: its window has to be filled.
inline constexpr int strip_start = 5;

inline constexpr int orient_warps = 1;   ///< per block
inline constexpr int orient_blocks = 16; ///< per multiprocessor

/// Number of bins by response. Keypoints are sorted into bins, then within each.
inline constexpr int response_bins = 2048;
inline constexpr int place_threads = 256;
/// If a bin has more keypoints than this, all are sorted, sort_chunk per block at first.
inline constexpr unsigned max_in_bin = 1024; // the smallest board of tests/parity has 1472
inline constexpr int sort_chunk = 512;

inline constexpr int describe_threads = 128;
inline constexpr int describe_blocks = 8; ///< per multiprocessor

} // namespace gpv::cuda::sift
