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
    with_value<1, 2, 3, 4>(step, [&]<int s> {
        if constexpr (s % 2 == 1)
            if (long_radius)
                return f.template operator()<TileShape<s, true>>();
        return f.template operator()<TileShape<s, false>>();
    });
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
    static_assert(min_general_radius == 8, "each radius below has a kernel of its own");
    if constexpr (!only_general<S>)
        if (radius_x == radius_y && radius_x < min_general_radius)
            return with_value<1, 2, 3, 4, 5, 6, 7>(
                radius_x, [&]<int radius> { return tile_entry<Better, S, Radius<radius>>(); });
    return with_value<0, 1, 2, 3>(
        radius_x % 4, [&]<int rest> { return tile_entry<Better, S, Radius<0, rest>>(); });
}

/// The kernel for a rectangle.
template <class Better>
const void *tile_entry(int step, bool long_radius, int radius_x, int radius_y) {
    const void *result = nullptr;
    with_shape(step, long_radius,
               [&]<class S> { result = tile_entry<Better, S>(radius_x, radius_y); });
    return result;
}

/// tile_entry<Maximum>(), in a file of its own: half of the kernels that take longest to compile.
const void *maximum_tile(int step, bool long_radius, int radius_x, int radius_y);

} // namespace gpv::cuda::erode
