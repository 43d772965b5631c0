// SPDX-License-Identifier: BSD-2-Clause
// Sizes of blocks and lengths of phases, chosen on an H200.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpv::cuda::graphcut {

/// Rows of the pixel strip that a thread keeps in registers.
inline constexpr int strip_rows = 4;
/// Tiles per block in a push.
inline constexpr int tiles_at_once = 2;
/// Warps per block.
inline constexpr int block_warps = tiles_at_once * 32 / strip_rows;
/// Push steps on a tile with excess before the block looks at other tiles.
inline constexpr int steps_per_visit = 8;
/// Rounds of pushing between two relabels.
inline constexpr int min_rounds = 3, max_rounds = 32;

/// Windows of levels after which a search ends that has met a pixel with excess; the first ones.
inline constexpr int first_cap = 2;
/// Relabels with one cap, unless fewer tiles than blocks have excess.
inline constexpr int relabels_per_cap = 4;
/// The next cap, after a search of so many windows; 0 = none, where few tiles have excess.
constexpr int next_cap(int windows, int tiles, int blocks) {
    return 8 * tiles <= blocks ? 0 : windows + windows / 2 + 1;
}

/// Relabels after which pushes no longer raise heights.
inline constexpr int max_free_relabels = 1000;
/// Values of RegionShape::held.
inline constexpr int held_tiles[] = {1, 3, 7, 0};
/// Shared memory of a region; what does not fit there lies in device memory.
inline constexpr std::size_t max_region_bytes = SIZE_MAX;

} // namespace gpv::cuda::graphcut
