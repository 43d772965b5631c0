// SPDX-License-Identifier: BSD-2-Clause
// Which kernel of erode/tile.cuh does a rectangle.
#pragma once

#include <type_traits>

#include "cuda/erode/tuning.hpp"
#include "cuda/kernel.cuh"

namespace gpv::cuda::erode {

/// From the first on one kernel does every radius, up to the second; below, each has its own.
inline constexpr int min_general_radius = 8, max_tile_radius = 31;

/// Calls f<Shape>() for the tile of an image.
template <class F>
void with_shape(int step, bool long_radius, F f) {
    switch (step) {
    case 1:
        return long_radius ? f.template operator()<TileShape<1, true>>()
                           : f.template operator()<TileShape<1, false>>();
    case 2:
        return f.template operator()<TileShape<2, false>>();
    case 3:
        return long_radius ? f.template operator()<TileShape<3, true>>()
                           : f.template operator()<TileShape<3, false>>();
    default:
        return f.template operator()<TileShape<4, false>>();
    }
}

/// Whether no radius that has a kernel of its own takes this shape.
template <class Shape>
inline constexpr bool only_general = false;
template <int step>
inline constexpr bool only_general<TileShape<step, true>> = true;
static_assert(!is_long(1, min_general_radius - 1, min_general_radius - 1, true, false) &&
                  !is_long(3, min_general_radius - 1, min_general_radius - 1, true, false),
              "the shapes for long radii have no kernels for short ones");

template <class Better, class S, class R>
const void *tile_entry() {
    static_assert(std::is_same_v<typename Tile<Better, S, R>::Job, TileJob>);
    return reinterpret_cast<const void *>(&entry<Tile<Better, S, R>>);
}

template <class Better, class S>
const void *tile_entry(int radius_x, int radius_y) {
    if constexpr (!only_general<S>)
        if (radius_x == radius_y)
            switch (radius_x) {
            case 1:
                return tile_entry<Better, S, Radius<1>>();
            case 2:
                return tile_entry<Better, S, Radius<2>>();
            case 3:
                return tile_entry<Better, S, Radius<3>>();
            case 4:
                return tile_entry<Better, S, Radius<4>>();
            case 5:
                return tile_entry<Better, S, Radius<5>>();
            case 6:
                return tile_entry<Better, S, Radius<6>>();
            case 7:
                return tile_entry<Better, S, Radius<7>>();
            }
    switch (radius_x % 4) {
    case 0:
        return tile_entry<Better, S, Radius<0, 0>>();
    case 1:
        return tile_entry<Better, S, Radius<0, 1>>();
    case 2:
        return tile_entry<Better, S, Radius<0, 2>>();
    default:
        return tile_entry<Better, S, Radius<0, 3>>();
    }
}

/// The kernel for a rectangle.
template <class Better>
const void *tile_entry(int step, bool long_radius, int radius_x, int radius_y) {
    const void *result = nullptr;
    with_shape(step, long_radius,
               [&]<class S> { result = tile_entry<Better, S>(radius_x, radius_y); });
    return result;
}

} // namespace gpv::cuda::erode
