// SPDX-License-Identifier: BSD-2-Clause
// The centroids that the iteration starts from.
#include "cpu/kmeans_internal.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kmeans_seed.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/kmeans_vectors.hpp"

HWY_BEFORE_NAMESPACE();
namespace gpv::cpu::kmeans::HWY_NAMESPACE {

/// A colour has been drawn.
Drawing approach(const Cell &cell, const Colors &colors, const Color &drawn,
                 std::uint32_t *nearest) {
    const Floats d;
    const hn::Rebind<std::uint32_t, Floats> du;
    const Color corner = cell.corner();
    const auto square = [&](Whole in_cell, int difference) HWY_ATTR {
        const Whole v = hn::Add(in_cell, hn::Set(Ints(), difference));
        return hn::Mul(v, v);
    };
    std::uint32_t maximum = 0;
    std::uint64_t weight = 0;
    for (std::size_t i = 0; i < cell.colors; i += hn::Lanes(d)) {
        const Whole places = load_places(colors.places + cell.first + i);
        const Whole xy = hn::Add(square(x_of(places), corner.red - drawn.red),
                                 square(y_of(places), corner.green - drawn.green));
        const auto distance =
            hn::BitCast(du, hn::Add(xy, square(z_of(places), corner.blue - drawn.blue)));
        const auto minimum = hn::Min(distance, hn::Load(du, nearest + cell.first + i));
        hn::Store(minimum, du, nearest + cell.first + i);
    }
    for (std::size_t i = cell.first; i < cell.first + cell.colors; i++) {
        maximum = std::max(maximum, nearest[i]);
        weight += draw_weight(GPV_KMEANS_INIT_PLUSPLUS, colors.counts[i], nearest[i]);
    }
    return {weight, maximum};
}

} // namespace gpv::cpu::kmeans::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gpv::cpu::kmeans {
namespace {

HWY_EXPORT(approach);

/// The first at which the weights so far exceed the place, which becomes the place in it.
template <class F>
std::uint32_t find(std::uint32_t first, std::uint32_t last, std::uint64_t &place, F weight) {
    std::uint32_t i = first;
    for (std::uint64_t w; i + 1 < last && (w = weight(i)) <= place; i++)
        place -= w;
    return i;
}

std::uint32_t min_distance(const Color &c, const Box &box) {
    const auto inside = [&](int i, int v) { return std::clamp<int>(v, box.low[i], box.high[i]); };
    return squared_distance(c, {inside(0, c.red), inside(1, c.green), inside(2, c.blue)});
}

} // namespace

void CpuKmeans::draw(int clusters) {
    constexpr std::uint32_t far = ~std::uint32_t{0};
    for (int i = 0; i < cell_number_; i++) {
        const Cell &cell = cells_[i];
        drawings_[i] = {cell.sums.count, far};
        std::fill_n(nearest_ + cell.first, round_up(cell.colors, max_lanes), far);
    }
    for (int i = 0; i < clusters; i++) {
        std::uint64_t total = 0;
        for (int j = 0; j < cell_number_; j++)
            total += drawings_[j].weight;
        drawn_[i] = total ? draw_next(i, total) : drawn_[0];
    }
}

/// total: of all weights.
Centroid CpuKmeans::draw_next(int number, std::uint64_t total) {
    const gpv_kmeans_init_method init =
        number == 0 ? gpv_kmeans_init_method{GPV_KMEANS_INIT_RANDOM} : params_.init;
    std::uint64_t place = scale_random(random_number(params_.seed, number), total);
    const std::uint32_t index =
        find(0, cell_number_, place, [&](std::uint32_t i) { return drawings_[i].weight; });
    const Cell &cell = cells_[index];
    const std::uint32_t color =
        find(cell.first, cell.first + cell.colors, place,
             [&](std::uint32_t i) { return draw_weight(init, colors_.counts[i], nearest_[i]); });
    const Color drawn = color_of(cell.number << cell_bits | colors_.places[color]);
    if (params_.init == GPV_KMEANS_INIT_RANDOM) {
        nearest_[color] = 0;
        drawings_[index].weight -= colors_.counts[color];
    } else {
        approach_all(drawn);
    }
    return centroid_of(drawn);
}

void CpuKmeans::approach_all(const Color &drawn) {
    constexpr int band = 64;
    parallel_bands(cell_number_, band, color_workers_, [&](int, int first, int last) {
        for (int i = first; i < last; i++)
            if (min_distance(drawn, cells_[i].box) < drawings_[i].nearest)
                drawings_[i] = HWY_DYNAMIC_DISPATCH(approach)(cells_[i], colors_, drawn, nearest_);
    });
}

void CpuKmeans::spread_over(const Image &src, const Reader &reader, int clusters) {
    const Workspace work = workspace(0, src.width);
    for (int i = 0; i < clusters; i++) {
        const Point2i p = grid_point(i, clusters, src.width, src.height);
        now_.centroids[i] = centroid_of(color_of(read(reader, p.y, work, false)[p.x]));
    }
}

void CpuKmeans::start(const Image &src, const Reader &reader, int clusters) {
    if (params_.init == GPV_KMEANS_INIT_GIVEN)
        std::copy_n(given_.begin(), clusters, now_.centroids.begin());
    else if (params_.init == GPV_KMEANS_INIT_GRID)
        spread_over(src, reader, clusters);
    else
        std::copy_n(drawn_.begin(), clusters, now_.centroids.begin());
}

} // namespace gpv::cpu::kmeans
#endif
