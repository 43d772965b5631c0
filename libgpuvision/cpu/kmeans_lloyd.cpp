// SPDX-License-Identifier: BSD-2-Clause
// Lloyd's iteration: sums over groups of cells, new centroids, and the choice of how many.
#include "cpu/kmeans_internal.hpp"

#include <algorithm>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kmeans_lloyd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/kmeans_vectors.hpp"

HWY_BEFORE_NAMESPACE();
namespace gpv::cpu::kmeans::HWY_NAMESPACE {
namespace {

/// The colours of a cell with their labels.
struct Labelled {
    alignas(64) std::int32_t indices[cell_colors]; ///< of candidates
    alignas(64) std::int32_t x[cell_colors];       ///< in the cell, times the count
    alignas(64) std::int32_t y[cell_colors];
    alignas(64) std::int32_t z[cell_colors];
};

/// Adds sums inside the cell.
HWY_INLINE void add_sums(const Cell &cell, const ClusterSums &local, ClusterSums &to) {
    const Color corner = cell.corner();
    to.count += local.count;
    to.x += local.x + local.count * corner.red;
    to.y += local.y + local.count * corner.green;
    to.z += local.z + local.count * corner.blue;
}

/// Colour by colour.
HWY_INLINE void add_each(const Cell &cell, const Colors &colors, const Candidates &among,
                         const Labelled &labelled, ClusterSums *sums) {
    for (std::size_t i = 0; i < cell.colors; i++) {
        const std::uint64_t count = colors.counts[cell.first + i];
        const std::uint32_t place = colors.places[cell.first + i];
        add_sums(cell, {count, count * (place >> 6), count * (place >> 3 & 7), count * (place & 7)},
                 sums[among.numbers[labelled.indices[i]]]);
    }
}

/// Candidate by candidate; the first one gets what the others leave. Sums in the cell are below
/// 2^32.
HWY_INLINE void add_masked(const Cell &cell, const Colors &colors, const Candidates &among,
                           const Labelled &labelled, ClusterSums *sums) {
    const Ints d;
    const std::size_t lanes = hn::Lanes(d);
    const auto total = [&](Whole v) HWY_ATTR {
        return std::uint64_t{static_cast<std::uint32_t>(hn::GetLane(hn::SumOfLanes(d, v)))};
    };
    ClusterSums left = cell.sums;
    for (std::size_t j = 1; j < among.count; j++) {
        auto count = hn::Zero(d), x = hn::Zero(d), y = hn::Zero(d), z = hn::Zero(d);
        const auto label = hn::Set(d, static_cast<std::int32_t>(j));
        const auto *counts = reinterpret_cast<const std::int32_t *>(colors.counts + cell.first);
        for (std::size_t i = 0; i < cell.colors; i += lanes) {
            const auto mask = hn::Eq(hn::Load(d, labelled.indices + i), label);
            count = hn::Add(count, hn::IfThenElseZero(mask, hn::Load(d, counts + i)));
            x = hn::Add(x, hn::IfThenElseZero(mask, hn::Load(d, labelled.x + i)));
            y = hn::Add(y, hn::IfThenElseZero(mask, hn::Load(d, labelled.y + i)));
            z = hn::Add(z, hn::IfThenElseZero(mask, hn::Load(d, labelled.z + i)));
        }
        ClusterSums of{};
        add_sums(cell, {total(count), total(x), total(y), total(z)}, of);
        add(of, sums[among.numbers[j]]);
        left = {left.count - of.count, left.x - of.x, left.y - of.y, left.z - of.z};
    }
    add(left, sums[among.numbers[0]]);
}

template <gpv_kmeans_metric metric>
HWY_INLINE void sum_group_by(const LloydInput &input, const Group &group, ClusterSums *sums) {
    constexpr std::uint64_t maximum = std::uint64_t{1}
                                      << 29; // pixels: seven times that is below 2^32
    constexpr std::size_t worth_a_mask = 8;  // colours for each candidate
    const Ints d;
    Labelled labelled;
    for_cells<metric>(input, group, [&](const Cell &cell, const Candidates &among) HWY_ATTR {
        if (among.count == 1)
            return add(cell.sums, sums[among.numbers[0]]);
        const auto *counts =
            reinterpret_cast<const std::int32_t *>(input.colors.counts) + cell.first;
        for_colors<metric>(cell, input.colors, among,
                           [&](std::size_t i, Whole places, Vector, Whole index) HWY_ATTR {
                               const auto count = hn::Load(d, counts + i);
                               hn::Store(index, d, labelled.indices + i);
                               hn::Store(hn::Mul(x_of(places), count), d, labelled.x + i);
                               hn::Store(hn::Mul(y_of(places), count), d, labelled.y + i);
                               hn::Store(hn::Mul(z_of(places), count), d, labelled.z + i);
                           });
        if (cell.sums.count < maximum && cell.colors >= worth_a_mask * among.count)
            add_masked(cell, input.colors, among, labelled, sums);
        else
            add_each(cell, input.colors, among, labelled, sums);
    });
}

/// At least the distance of each colour in the box to the nearest candidate: what is computed for
/// the farthest corner is not less than what is computed for a colour, as rounding is monotonic.
template <gpv_kmeans_metric metric>
HWY_INLINE float max_distance(const Box &box, const Candidates &among) {
    float minimum = 3 * Candidates::nowhere * Candidates::nowhere;
    for (std::size_t i = 0; i < among.count; i++) {
        const auto far = [&](int channel, float c) {
            const float low = box.low[channel], high = box.high[channel];
            return c - low > high - c ? low : high;
        };
        const Centroid c{among.x[i], among.y[i], among.z[i]};
        minimum = std::min(minimum, distance<metric>(far(0, c.x), far(1, c.y), far(2, c.z), c));
    }
    return minimum;
}

template <gpv_kmeans_metric metric>
HWY_INLINE void search_group_by(const LloydInput &input, const Group &group, Farthest &farthest) {
    const Floats d;
    alignas(64) float distances[max_lanes];
    for_cells<metric>(input, group, [&](const Cell &cell, const Candidates &among) HWY_ATTR {
        if (max_distance<metric>(cell.box, among) < farthest.distance)
            return;
        const std::uint16_t *places = input.colors.places + cell.first;
        for_colors<metric>(
            cell, input.colors, among, [&](std::size_t i, Whole, Vector minimum, Whole) HWY_ATTR {
                if (hn::AllTrue(d, hn::Lt(minimum, hn::Set(d, farthest.distance))))
                    return;
                hn::Store(minimum, d, distances);
                for (std::size_t j = 0; j < hn::Lanes(d); j++)
                    farthest.consider(distances[j], color_value(color_of(cell.number << cell_bits |
                                                                         places[i + j])));
            });
    });
}

} // namespace

void sum_group(const LloydInput &input, const Group &group, ClusterSums *sums) {
    with(input.metric, [&](auto m) HWY_ATTR { sum_group_by<m()>(input, group, sums); });
}

void search_group(const LloydInput &input, const Group &group, Farthest &farthest) {
    with(input.metric, [&](auto m) HWY_ATTR { search_group_by<m()>(input, group, farthest); });
}

} // namespace gpv::cpu::kmeans::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gpv::cpu::kmeans {
namespace {

HWY_EXPORT(sum_group);
HWY_EXPORT(search_group);

} // namespace

void CpuKmeans::cluster(const Image &src, const Reader &reader, bool warm) {
    if (warm)
        return iterate(now_.found.clusters);
    if (params_.is_random_init())
        draw(params_.room());
    if (params_.chosen())
        return choose(src, reader);
    start(src, reader, params_.clusters);
    iterate(params_.clusters);
}

void CpuKmeans::choose(const Image &src, const Reader &reader) {
    const bool one_color = cell_number_ == 1 && cells_[0].colors == 1;
    if (one_color) {
        start(src, reader, 1);
        return iterate(1);
    }
    const double total = total_inertia(squares_of_all_, total_);
    double best = 0;
    for (int clusters = 2; clusters <= params_.max_clusters; clusters++) {
        start(src, reader, clusters);
        iterate(clusters);
        if (now_.found.inertia == 0)
            return;
        const double s = separation(clusters, now_.found.inertia, total, total_.count);
        if (clusters == 2 || s > best) {
            best = s;
            best_ = now_;
        }
    }
    now_ = best_;
}

void CpuKmeans::iterate(int clusters) {
    KmeansResult &found = now_.found;
    found = {};
    found.struct_size = sizeof found;
    found.clusters = clusters;
    for (;;) {
        sum();
        if (found.converged || found.iterations == params_.max_iterations)
            break;
        found.converged = update() <= params_.squared_tolerance();
        found.iterations++;
    }
    found.inertia = static_cast<double>(squares_of_all_);
    for (int i = 0; i < clusters; i++) {
        found.inertia += inertia_term(now_.centroids[i], now_.sums[i]);
        found.empty += now_.sums[i].count == 0;
    }
    found.inertia = std::max(found.inertia, 0.0);
}

void CpuKmeans::set_scene() {
    scene_.cells = cells_;
    scene_.grouped = grouped_;
    scene_.colors = colors_;
    scene_.metric = params_.metric;
    Candidates &all = scene_.centroids;
    all.count = now_.found.clusters;
    for (int i = 0; i < now_.found.clusters; i++) {
        all.x[i] = now_.centroids[i].x;
        all.y[i] = now_.centroids[i].y;
        all.z[i] = now_.centroids[i].z;
        all.numbers[i] = i;
    }
    all.pad();
}

void CpuKmeans::sum() {
    set_scene();
    const int clusters = now_.found.clusters;
    const auto sums = [&](int worker) { return sums_ + std::size_t{max_kmeans_clusters} * worker; };
    for (int worker = 0; worker < color_workers_; worker++)
        std::fill_n(sums(worker), clusters, ClusterSums{});
    for_groups([&](int worker, const Group &group) {
        HWY_DYNAMIC_DISPATCH(sum_group)(scene_, group, sums(worker));
    });
    std::fill_n(now_.sums.begin(), clusters, ClusterSums{});
    for (int worker = 0; worker < color_workers_; worker++)
        for (int i = 0; i < clusters; i++)
            add(sums(worker)[i], now_.sums[i]);
}

Farthest CpuKmeans::search() {
    std::fill_n(farthest_, color_workers_, Farthest{});
    for_groups([&](int worker, const Group &group) {
        HWY_DYNAMIC_DISPATCH(search_group)(scene_, group, farthest_[worker]);
    });
    for (int worker = 1; worker < color_workers_; worker++)
        farthest_[0].consider(farthest_[worker].distance, farthest_[worker].value);
    return farthest_[0];
}

/// Returns the greatest squared motion of a centroid.
float CpuKmeans::update() {
    float maximum = 0;
    bool moved = false; // an empty one
    for (int i = 0; i < now_.found.clusters; i++) {
        Centroid &centroid = now_.centroids[i];
        const Centroid before = centroid;
        if (now_.sums[i].count) {
            centroid = mean(now_.sums[i]);
        } else if (!std::exchange(moved, true)) {
            const Farthest far = search();
            const int value = static_cast<int>(far.value);
            if (far.distance > 0)
                centroid = centroid_of({value >> 16, value >> 8 & 255, value & 255});
        }
        maximum = std::max(maximum, motion(before, centroid));
    }
    return maximum;
}

} // namespace gpv::cpu::kmeans
#endif
