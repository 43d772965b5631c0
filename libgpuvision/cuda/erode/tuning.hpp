// SPDX-License-Identifier: BSD-2-Clause
// What measurements chose for morphology. ./dev gpu bench prints what they gave.
#pragma once

#include "cuda/erode/bits.cuh"
#include "cuda/erode/tile.cuh"

namespace gpv::cuda::erode {

/// From this many bytes on, an image is large: it keeps all multiprocessors busy
/// even with large tiles, which have less halo. H200.
inline constexpr std::int64_t large_image = 4'000'000;

/// Tiles by samples a pixel, one for short and one for long radii: columns,
/// rows, step, run, quads, min_blocks.
template <int step, bool long_radius>
struct TileShape;
template <>
struct TileShape<1, false> : Shape<64, 32, 1, 16, 4, 1> {};
template <>
struct TileShape<1, true> : Shape<64, 64, 1, 16, 4, 5> {};
template <bool long_radius>
struct TileShape<2, long_radius> : Shape<128, 32, 2, 8, 4, 4> {};
template <>
struct TileShape<3, false> : Shape<64, 32, 3, 8, 4, 8> {};
template <>
struct TileShape<3, true> : Shape<128, 32, 3, 8, 4, 4> {};
template <bool long_radius>
struct TileShape<4, long_radius> : Shape<128, 32, 4, 4, 4, 4> {};

/// On an H200 larger tiles pay from radius 13 on, and from 8 on where loading costs more.
constexpr bool is_long(int step, int radius_x, int radius_y, bool large, bool source_aligned) {
    return step == 1 ? large && radius_y > (source_aligned ? 12 : 7) : radius_x > 8;
}

/// Tiles of bits, for large images and for small ones: rows, threads, batch,
/// min_blocks.
using LargeBits = BitShape<64, 256, 4, 4>;
using SmallBits = BitShape<44, 512, 4, 2>;

/// About how many bytes of tables an ellipse may take at a time; a taller image
/// goes in bands, but not in very low ones.
inline constexpr std::size_t max_table_bytes = std::size_t{256} << 20;

} // namespace gpv::cuda::erode
