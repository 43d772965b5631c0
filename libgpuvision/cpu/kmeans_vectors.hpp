// SPDX-License-Identifier: BSD-2-Clause
// Vectors of colours, and the nearest centroid of each. Included once for every target of Highway.
#if defined(GPV_CPU_KMEANS_VECTORS) == defined(HWY_TARGET_TOGGLE)
#    ifdef GPV_CPU_KMEANS_VECTORS
#        undef GPV_CPU_KMEANS_VECTORS
#    else
#        define GPV_CPU_KMEANS_VECTORS
#    endif

#    include <algorithm>
#    include <type_traits>

#    include <hwy/highway.h>

#    include "cpu/kmeans_internal.hpp"

HWY_BEFORE_NAMESPACE();
namespace gpv::cpu::kmeans::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, max_lanes>;
using Ints = hn::RebindToSigned<Floats>;
using Places = hn::Rebind<std::uint16_t, Ints>;

// Those of SVE are neither members of a struct nor operands of +.
using Vector = hn::Vec<Floats>;
using Whole = hn::Vec<Ints>;

/// Bit i says whether lane i is set.
template <class D>
HWY_INLINE std::uint64_t mask_bits(D d, hn::Mask<D> mask) {
    std::uint64_t bits = 0; // StoreMaskBits may write eight bytes
    hn::StoreMaskBits(d, mask, reinterpret_cast<std::uint8_t *>(&bits));
    return bits & ((std::uint64_t{1} << hn::Lanes(d)) - 1);
}

/// As distance() of core, in the same order.
template <gpv_kmeans_metric metric>
HWY_INLINE Vector measure(Vector dx, Vector dy, Vector dz) {
    if constexpr (metric == GPV_KMEANS_METRIC_L2)
        return hn::Add(hn::Add(hn::Mul(dx, dx), hn::Mul(dy, dy)), hn::Mul(dz, dz));
    else
        return hn::Add(hn::Add(hn::Abs(dx), hn::Abs(dy)), hn::Abs(dz));
}

/// By how much a coordinate adds more to the distance to a than to the one to b.
template <gpv_kmeans_metric metric>
HWY_INLINE Vector excess(Vector at, Vector a, Vector b) {
    const Vector to_a = hn::Sub(at, a), to_b = hn::Sub(at, b);
    if constexpr (metric == GPV_KMEANS_METRIC_L2)
        return hn::Sub(hn::Mul(to_a, to_a), hn::Mul(to_b, to_b));
    else
        return hn::Sub(hn::Abs(to_a), hn::Abs(to_b));
}

/// How much farther than another a centroid has to be, as computed, so that it is the nearest one
/// of no colour, as computed. Let u = 2^-24; numbers are 0..255.
///   l2: a distance, at most 195075, is wrong by 5 u of it: 0.06. The excess of a coordinate, from
///       two squares of up to 65025, is wrong by 7 u of that: 0.03; two sums of three by 2 u of
///       195075: 0.03. All in all, with two distances, less than 0.25.
///   l1: likewise with 765 and 255: less than 0.001.
template <gpv_kmeans_metric metric>
constexpr float margin = metric == GPV_KMEANS_METRIC_L2 ? 0.5f : 0.0078125f;

template <gpv_kmeans_metric metric>
HWY_INLINE std::size_t nearest_to_middle(const Candidates &from, const Box &box) {
    const Floats d;
    const Ints di;
    const std::size_t lanes = hn::Lanes(d);
    const auto middle = [&](int i) HWY_ATTR {
        return hn::Set(d, static_cast<float>(box.low[i] + box.high[i]) / 2);
    };
    const Vector x = middle(0), y = middle(1), z = middle(2);
    Vector minimum = hn::Set(d, 3 * Candidates::nowhere * Candidates::nowhere);
    auto where = hn::Zero(di);
    for (std::size_t i = 0; i < from.count; i += lanes) {
        const Vector distance = measure<metric>(hn::Sub(x, hn::Load(d, from.x + i)),
                                                hn::Sub(y, hn::Load(d, from.y + i)),
                                                hn::Sub(z, hn::Load(d, from.z + i)));
        const auto less = hn::Lt(distance, minimum);
        minimum = hn::IfThenElse(less, distance, minimum);
        where = hn::IfThenElse(hn::RebindMask(di, less), hn::Iota(di, static_cast<std::int32_t>(i)),
                               where);
    }
    alignas(64) float distances[max_lanes];
    alignas(64) std::int32_t indices[max_lanes];
    hn::Store(minimum, d, distances);
    hn::Store(where, di, indices);
    return indices[std::min_element(distances, distances + lanes) - distances];
}

/// Leaves out those that are farther from all colours in the box than the one nearest to its
/// middle. The excess is monotonic in each coordinate, so it is least at one of the two ends.
template <gpv_kmeans_metric metric>
HWY_INLINE void select(const Candidates &from, const Box &box, Candidates &to) {
    const Floats d;
    const std::size_t near = nearest_to_middle<metric>(from, box);
    const auto minimum = [&](int i, const float *of, std::size_t at) HWY_ATTR {
        const Vector a = hn::Load(d, of + at), b = hn::Set(d, of[near]);
        return hn::Min(excess<metric>(hn::Set(d, box.low[i]), a, b),
                       excess<metric>(hn::Set(d, box.high[i]), a, b));
    };
    to.count = 0;
    for (std::size_t i = 0; i < from.count; i += hn::Lanes(d)) {
        const Vector sum =
            hn::Add(hn::Add(minimum(0, from.x, i), minimum(1, from.y, i)), minimum(2, from.z, i));
        for_bits(mask_bits(d, hn::Le(sum, hn::Set(d, margin<metric>))),
                 [&](std::size_t lane) HWY_ATTR { to.take(from, i + lane); });
    }
    to.pad();
}

/// Where some colours lie in their cell, by their places.
HWY_INLINE Whole load_places(const std::uint16_t *places) {
    return hn::PromoteTo(Ints(), hn::Load(Places(), places));
}
HWY_INLINE Whole x_of(Whole places) {
    return hn::ShiftRight<6>(places);
}
HWY_INLINE Whole y_of(Whole places) {
    return hn::And(hn::ShiftRight<3>(places), hn::Set(Ints(), 7));
}
HWY_INLINE Whole z_of(Whole places) {
    return hn::And(places, hn::Set(Ints(), 7));
}

/// Calls f(i, places, distances, indices) for the colours of a cell from the i-th on: to the
/// nearest of the candidates, which is the indices-th.
template <gpv_kmeans_metric metric, class F>
HWY_INLINE void for_colors(const Cell &cell, const Colors &colors, const Candidates &among, F f) {
    const Floats d;
    const Ints di;
    const Color corner = cell.corner();
    const auto channel = [&](Whole in_cell, int from) HWY_ATTR {
        return hn::ConvertTo(d, hn::Add(in_cell, hn::Set(di, from)));
    };
    for (std::size_t i = 0; i < cell.colors; i += hn::Lanes(d)) {
        const Whole places = load_places(colors.places + cell.first + i);
        const Vector x = channel(x_of(places), corner.red), y = channel(y_of(places), corner.green),
                     z = channel(z_of(places), corner.blue);
        const auto distance = [&](std::size_t j) HWY_ATTR {
            return measure<metric>(hn::Sub(x, hn::Set(d, among.x[j])),
                                   hn::Sub(y, hn::Set(d, among.y[j])),
                                   hn::Sub(z, hn::Set(d, among.z[j])));
        };
        Vector minimum = distance(0);
        auto index = hn::Zero(di);
        for (std::size_t j = 1; j < among.count; j++) {
            const Vector other = distance(j);
            const auto less = hn::Lt(other, minimum);
            minimum = hn::IfThenElse(less, other, minimum);
            index = hn::IfThenElse(hn::RebindMask(di, less),
                                   hn::Set(di, static_cast<std::int32_t>(j)), index);
        }
        f(i, places, minimum, index);
    }
}

/// Calls f(cell, candidates) for the cells of a group.
template <gpv_kmeans_metric metric, class F>
HWY_INLINE void for_cells(const LloydInput &input, const Group &group, F f) {
    Candidates of_group, of_cell;
    select<metric>(input.centroids, group.box, of_group);
    for (std::uint32_t i = group.first; i < group.last; i++) {
        const Cell &cell = input.cells[input.grouped[i]];
        select<metric>(of_group, cell.box, of_cell);
        f(cell, of_cell);
    }
}

template <class F>
HWY_INLINE void with(gpv_kmeans_metric metric, F f) {
    if (metric == GPV_KMEANS_METRIC_L2)
        f(std::integral_constant<gpv_kmeans_metric, GPV_KMEANS_METRIC_L2>());
    else
        f(std::integral_constant<gpv_kmeans_metric, GPV_KMEANS_METRIC_L1>());
}

} // namespace
} // namespace gpv::cpu::kmeans::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
