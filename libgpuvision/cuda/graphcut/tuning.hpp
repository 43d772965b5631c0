// SPDX-License-Identifier: BSD-2-Clause
// Sizes of blocks and lengths of phases, chosen on an H200.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpv::cuda::graphcut {

/// Of a pixel strip that a thread keeps in registers.
inline constexpr int strip_rows = 4;
/// Tiles that a block pushes in at once.
inline constexpr int tiles_at_once = 2;
/// Of a block.
inline constexpr int block_warps = tiles_at_once * 32 / strip_rows;
/// Of a tile that has excess, one after the other without looking at other tiles.
inline constexpr int steps_per_visit = 8;
/// Of pushing, between two relabels.
inline constexpr int min_rounds = 2, max_rounds = 32;

/// Below: after so many relabels pushes leave the heights as the relabel has found them; what
/// RegionShape::held may be; and how much shared memory a region may take. What has no room there
/// lies in the device's memory.
#ifdef GPV_AS_IF_LARGE // for tests, whose images are small
inline constexpr int max_free_relabels = 2;
inline constexpr int held_tiles[] = {7, 0};
inline constexpr std::size_t max_region_bytes = 36 << 10;
#else
inline constexpr int max_free_relabels = 1000;
inline constexpr int held_tiles[] = {1, 3, 7, 0};
inline constexpr std::size_t max_region_bytes = SIZE_MAX;
#endif

} // namespace gpv::cuda::graphcut
