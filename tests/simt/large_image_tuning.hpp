// SPDX-License-Identifier: BSD-2-Clause
// Included before anything else where the emulation's kernels are compiled once more: lower limits
// than those of the library's tuning headers, so that small images take the paths of large ones.
#pragma once

#define large_image measured_large_image
#define max_free_relabels measured_max_free_relabels
#define held_tiles measured_held_tiles
#define max_region_bytes measured_max_region_bytes
#define max_narrow_pixels measured_max_narrow_pixels
#define max_resident_bytes measured_max_resident_bytes
#define max_in_bin measured_max_in_bin
#define sort_chunk measured_sort_chunk
#include "cuda/ccl/tuning.hpp"
#include "cuda/graphcut/tuning.hpp"
#include "cuda/kmeans/tuning.hpp"
#include "cuda/sift/tuning.hpp"
#undef large_image
#undef max_free_relabels
#undef held_tiles
#undef max_region_bytes
#undef max_narrow_pixels
#undef max_resident_bytes
#undef max_in_bin
#undef sort_chunk

namespace gpv::cuda::ccl {
inline constexpr std::int64_t large_image = 0;
static_assert(large_image < measured_large_image);
} // namespace gpv::cuda::ccl

namespace gpv::cuda::graphcut {
inline constexpr int max_free_relabels = 2;
inline constexpr int held_tiles[] = {7, 0};
inline constexpr std::size_t max_region_bytes = 36 << 10;
static_assert(max_free_relabels < measured_max_free_relabels);
static_assert(sizeof(held_tiles) < sizeof(measured_held_tiles));
static_assert(max_region_bytes < measured_max_region_bytes);
} // namespace gpv::cuda::graphcut

namespace gpv::cuda::kmeans {
inline constexpr long long max_narrow_pixels = 0;
inline constexpr std::size_t max_resident_bytes = 0;
static_assert(max_narrow_pixels < measured_max_narrow_pixels);
static_assert(max_resident_bytes < measured_max_resident_bytes);
} // namespace gpv::cuda::kmeans

namespace gpv::cuda::sift {
inline constexpr unsigned max_in_bin = 2;
inline constexpr int sort_chunk = 8;
static_assert(max_in_bin < measured_max_in_bin);
static_assert(sort_chunk < measured_sort_chunk);
} // namespace gpv::cuda::sift
