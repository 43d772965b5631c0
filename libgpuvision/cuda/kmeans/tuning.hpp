// SPDX-License-Identifier: BSD-2-Clause
// Sizes of blocks and tables, chosen on an H200.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpv::cuda::kmeans {

inline constexpr int histogram_threads = 1024;
inline constexpr int histogram_blocks = 2; ///< per multiprocessor
/// Places for lines of eight colours in a block's shared memory; half where it has less.
inline constexpr unsigned histogram_places = 4096;
inline constexpr int max_probes = 4; ///< places tried for a line
inline constexpr int collect_threads = 512;
inline constexpr int collect_blocks = 2; ///< per multiprocessor
/// Threads per block of the cooperative kernels, which have one block per multiprocessor.
inline constexpr int lloyd_threads = 1024;
/// Cells, and halves of cells, with more colours are cut: fewer candidates remain, in more tasks.
inline constexpr unsigned max_colors_of_task = 192;
inline constexpr int lanes_of_task = 8; ///< lanes that search for its candidates
/// Candidates listed for a task; with more, all centroids are compared. One word is beside them.
inline constexpr unsigned max_candidates = 27;
inline constexpr int colors_of_item = 64; ///< colours of a task per warp
inline constexpr int label_threads = 256;

/// Whether each pixel is compared with each centroid, rather than each colour with few: where that
/// takes less time than to count colours. Measured with 0.5 to 3.7 million pixels, 2 to 32 clusters
/// and up to 12 iterations, and taken to hold for fewer pixels and more iterations.
constexpr bool brute_force_pays(long long pixels, int clusters, int max_iterations) {
    return clusters <= 32 && pixels * (max_iterations + 1) * (clusters + 4) <= 90'000'000;
}

/// Sums of a block have as many copies as fit, up to one for each lane.
inline constexpr std::size_t sum_bytes = 16 << 10;

/// Sums of images of more pixels need 64 bits.
inline constexpr long long max_narrow_pixels = 0xffffffffu / 255;
/// Upper limit of what a block keeps in shared memory for all iterations.
inline constexpr std::size_t max_resident_bytes = SIZE_MAX;

} // namespace gpv::cuda::kmeans
