// SPDX-License-Identifier: BSD-2-Clause
// Lloyd's iteration over the distinct colours of an image, not over its pixels.
//   count   pixels are sorted by cell, the colours of each cell are counted
//   start   colours are drawn; cells that a new one cannot be nearest to are left out
//   sum     for a group of cells, then for each of its cells, those centroids are found that are
//           the nearest one for some colour in its box; where that is one, the sums of the cell are
//           added as they are, else colours are compared with those few
//   paint   a table of labels by colour, then rows
// Cells, groups and rows are worked on in parallel. All sums are integers, so neither the number of
// threads nor their timing shows in a result.
#include "core/kmeans.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <utility>

#include "core/carver.hpp"
#include "cpu/colors.hpp"
#include "cpu/rows.hpp"
#include "cpu/runs.hpp"
#include "cpu/threads.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kmeans.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef GPV_CPU_KMEANS_TYPES // of all targets
#    define GPV_CPU_KMEANS_TYPES
namespace gpv::cpu {
namespace {

/// Lists of colours and of centroids are padded to so many, and vectors have no more lanes.
constexpr std::size_t most_lanes = 16;

/// Colours from the least to the greatest of each channel.
struct Box {
    std::uint8_t low[3], high[3];

    void include(const Box &other) {
        for (int i = 0; i < 3; i++) {
            low[i] = std::min(low[i], other.low[i]);
            high[i] = std::max(high[i], other.high[i]);
        }
    }
};

struct Cell {
    std::uint32_t number;
    std::uint32_t first;  ///< index of its first colour
    std::uint32_t colors; ///< distinct ones
    Box box;              ///< round them
    ClusterSums sums;     ///< of all its pixels

    /// The colour of lowest value in the cube of side 8.
    Color corner() const { return color_of(number << cell_bits); }
};

/// Of all cells, the colours of one cell after the other. Behind its last one, up to a multiple of
/// most_lanes, a cell has copies of it that occur no times.
struct Colors {
    std::uint16_t *places; ///< in the cell
    std::uint32_t *counts;
};

/// Centroids with their numbers, in ascending order.
struct Candidates {
    static constexpr float nowhere = 1e9f; ///< of those that pad the list

    std::size_t count = 0;
    alignas(64) float x[most_clusters + most_lanes];
    alignas(64) float y[most_clusters + most_lanes];
    alignas(64) float z[most_clusters + most_lanes];
    alignas(64) std::int32_t numbers[most_clusters + most_lanes];

    void take(const Candidates &from, std::size_t i) {
        x[count] = from.x[i];
        y[count] = from.y[i];
        z[count] = from.z[i];
        numbers[count++] = from.numbers[i];
    }
    void pad() {
        for (std::size_t i = count; i < count + most_lanes; i++)
            x[i] = y[i] = z[i] = nowhere;
    }
};

/// Some cells that lie near each other.
struct Group {
    std::uint32_t first, last; ///< in the list of cells by group
    Box box;
};

/// What a pass over colours reads.
struct Scene {
    const Cell *cells;
    const std::uint16_t *grouped; ///< indices of cells, one group after the other
    Colors colors;
    Candidates centroids;
    KmeansMetric metric;
};

/// The colour that is farthest from its centroid.
struct Farthest {
    float distance = -1;
    std::uint32_t value = 0;

    void consider(float d, std::uint32_t v) {
        if (d > distance || (d == distance && v < value))
            *this = {d, v};
    }
};

inline void add(const ClusterSums &sums, ClusterSums &to) {
    to.count += sums.count;
    to.x += sums.x;
    to.y += sums.y;
    to.z += sums.z;
}

template <class F>
inline void for_bits(std::uint64_t bits, F f) {
    for (; bits; bits &= bits - 1)
        f(std::countr_zero(bits));
}

/// How far the colours of a cell are from those that have been drawn.
struct Drawing {
    std::uint64_t weight;  ///< sum over its colours
    std::uint32_t nearest; ///< the greatest of their squared distances
};

} // namespace
} // namespace gpv::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace gpv::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, most_lanes>;
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
template <KmeansMetric metric>
HWY_INLINE Vector measure(Vector dx, Vector dy, Vector dz) {
    if constexpr (metric == KmeansMetric::l2)
        return hn::Add(hn::Add(hn::Mul(dx, dx), hn::Mul(dy, dy)), hn::Mul(dz, dz));
    else
        return hn::Add(hn::Add(hn::Abs(dx), hn::Abs(dy)), hn::Abs(dz));
}

/// By how much a coordinate adds more to the distance to a than to the one to b.
template <KmeansMetric metric>
HWY_INLINE Vector excess(Vector at, Vector a, Vector b) {
    const Vector to_a = hn::Sub(at, a), to_b = hn::Sub(at, b);
    if constexpr (metric == KmeansMetric::l2)
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
template <KmeansMetric metric>
constexpr float margin = metric == KmeansMetric::l2 ? 0.5f : 0.0078125f;

template <KmeansMetric metric>
HWY_INLINE std::size_t nearest_to_middle(const Candidates &from, const Box &box) {
    const Floats d;
    const Ints di;
    const std::size_t lanes = hn::Lanes(d);
    const auto middle = [&](int i) HWY_ATTR {
        return hn::Set(d, static_cast<float>(box.low[i] + box.high[i]) / 2);
    };
    const Vector x = middle(0), y = middle(1), z = middle(2);
    Vector least = hn::Set(d, 3 * Candidates::nowhere * Candidates::nowhere);
    auto where = hn::Zero(di);
    for (std::size_t i = 0; i < from.count; i += lanes) {
        const Vector distance = measure<metric>(hn::Sub(x, hn::Load(d, from.x + i)),
                                                hn::Sub(y, hn::Load(d, from.y + i)),
                                                hn::Sub(z, hn::Load(d, from.z + i)));
        const auto less = hn::Lt(distance, least);
        least = hn::IfThenElse(less, distance, least);
        where = hn::IfThenElse(hn::RebindMask(di, less), hn::Iota(di, static_cast<std::int32_t>(i)),
                               where);
    }
    alignas(64) float distances[most_lanes];
    alignas(64) std::int32_t indices[most_lanes];
    hn::Store(least, d, distances);
    hn::Store(where, di, indices);
    return indices[std::min_element(distances, distances + lanes) - distances];
}

/// Leaves out those that are farther from all colours in the box than the one nearest to its
/// middle. The excess is monotonic in each coordinate, so it is least at one of the two ends.
template <KmeansMetric metric>
HWY_INLINE void select(const Candidates &from, const Box &box, Candidates &to) {
    const Floats d;
    const std::size_t near = nearest_to_middle<metric>(from, box);
    const auto least = [&](int i, const float *of, std::size_t at) HWY_ATTR {
        const Vector a = hn::Load(d, of + at), b = hn::Set(d, of[near]);
        return hn::Min(excess<metric>(hn::Set(d, box.low[i]), a, b),
                       excess<metric>(hn::Set(d, box.high[i]), a, b));
    };
    to.count = 0;
    for (std::size_t i = 0; i < from.count; i += hn::Lanes(d)) {
        const Vector sum =
            hn::Add(hn::Add(least(0, from.x, i), least(1, from.y, i)), least(2, from.z, i));
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
template <KmeansMetric metric, class F>
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
        Vector least = distance(0);
        auto index = hn::Zero(di);
        for (std::size_t j = 1; j < among.count; j++) {
            const Vector other = distance(j);
            const auto less = hn::Lt(other, least);
            least = hn::IfThenElse(less, other, least);
            index = hn::IfThenElse(hn::RebindMask(di, less),
                                   hn::Set(di, static_cast<std::int32_t>(j)), index);
        }
        f(i, places, least, index);
    }
}

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

/// Calls f(cell, candidates) for the cells of a group.
template <KmeansMetric metric, class F>
HWY_INLINE void for_cells(const Scene &scene, const Group &group, F f) {
    Candidates of_group, of_cell;
    select<metric>(scene.centroids, group.box, of_group);
    for (std::uint32_t i = group.first; i < group.last; i++) {
        const Cell &cell = scene.cells[scene.grouped[i]];
        select<metric>(of_group, cell.box, of_cell);
        f(cell, of_cell);
    }
}

template <KmeansMetric metric>
HWY_INLINE void sum_group_by(const Scene &scene, const Group &group, ClusterSums *sums) {
    constexpr std::uint64_t most = std::uint64_t{1} << 29; // pixels: seven times that is below 2^32
    constexpr std::size_t worth_a_mask = 8;                // colours for each candidate
    const Ints d;
    Labelled labelled;
    for_cells<metric>(scene, group, [&](const Cell &cell, const Candidates &among) HWY_ATTR {
        if (among.count == 1)
            return add(cell.sums, sums[among.numbers[0]]);
        const auto *counts =
            reinterpret_cast<const std::int32_t *>(scene.colors.counts) + cell.first;
        for_colors<metric>(cell, scene.colors, among,
                           [&](std::size_t i, Whole places, Vector, Whole index) HWY_ATTR {
                               const auto count = hn::Load(d, counts + i);
                               hn::Store(index, d, labelled.indices + i);
                               hn::Store(hn::Mul(x_of(places), count), d, labelled.x + i);
                               hn::Store(hn::Mul(y_of(places), count), d, labelled.y + i);
                               hn::Store(hn::Mul(z_of(places), count), d, labelled.z + i);
                           });
        if (cell.sums.count < most && cell.colors >= worth_a_mask * among.count)
            add_masked(cell, scene.colors, among, labelled, sums);
        else
            add_each(cell, scene.colors, among, labelled, sums);
    });
}

template <KmeansMetric metric>
HWY_INLINE void label_group_by(const Scene &scene, const Group &group, std::uint8_t *table) {
    const Ints d;
    alignas(64) std::int32_t indices[most_lanes];
    for_cells<metric>(scene, group, [&](const Cell &cell, const Candidates &among) HWY_ATTR {
        std::uint8_t *labels = table + (std::size_t{cell.number} << cell_bits);
        if (among.count == 1) {
            std::memset(labels, among.numbers[0], cell_colors);
            return;
        }
        const std::uint16_t *places = scene.colors.places + cell.first;
        for_colors<metric>(
            cell, scene.colors, among, [&](std::size_t i, Whole, Vector, Whole index) HWY_ATTR {
                hn::Store(index, d, indices);
                for (std::size_t j = 0; j < hn::Lanes(d); j++)
                    labels[places[i + j]] = static_cast<std::uint8_t>(among.numbers[indices[j]]);
            });
    });
}

/// At least the distance of each colour in the box to the nearest candidate: what is computed for
/// the farthest corner is not less than what is computed for a colour, as rounding is monotonic.
template <KmeansMetric metric>
HWY_INLINE float most_distance(const Box &box, const Candidates &among) {
    float least = 3 * Candidates::nowhere * Candidates::nowhere;
    for (std::size_t i = 0; i < among.count; i++) {
        const auto far = [&](int channel, float c) {
            const float low = box.low[channel], high = box.high[channel];
            return c - low > high - c ? low : high;
        };
        const Centroid c{among.x[i], among.y[i], among.z[i]};
        least = std::min(least, distance<metric>(far(0, c.x), far(1, c.y), far(2, c.z), c));
    }
    return least;
}

template <KmeansMetric metric>
HWY_INLINE void search_group_by(const Scene &scene, const Group &group, Farthest &farthest) {
    const Floats d;
    alignas(64) float distances[most_lanes];
    for_cells<metric>(scene, group, [&](const Cell &cell, const Candidates &among) HWY_ATTR {
        if (most_distance<metric>(cell.box, among) < farthest.distance)
            return;
        const std::uint16_t *places = scene.colors.places + cell.first;
        for_colors<metric>(
            cell, scene.colors, among, [&](std::size_t i, Whole, Vector least, Whole) HWY_ATTR {
                if (hn::AllTrue(d, hn::Lt(least, hn::Set(d, farthest.distance))))
                    return;
                hn::Store(least, d, distances);
                for (std::size_t j = 0; j < hn::Lanes(d); j++)
                    farthest.consider(distances[j], color_value(color_of(cell.number << cell_bits |
                                                                         places[i + j])));
            });
    });
}

template <class F>
HWY_INLINE void with(KmeansMetric metric, F f) {
    if (metric == KmeansMetric::l2)
        f(std::integral_constant<KmeansMetric, KmeansMetric::l2>());
    else
        f(std::integral_constant<KmeansMetric, KmeansMetric::l1>());
}

} // namespace

void sum_group(const Scene &scene, const Group &group, ClusterSums *sums) {
    with(scene.metric, [&](auto m) HWY_ATTR { sum_group_by<m()>(scene, group, sums); });
}

void label_group(const Scene &scene, const Group &group, std::uint8_t *table) {
    with(scene.metric, [&](auto m) HWY_ATTR { label_group_by<m()>(scene, group, table); });
}

void search_group(const Scene &scene, const Group &group, Farthest &farthest) {
    with(scene.metric, [&](auto m) HWY_ATTR { search_group_by<m()>(scene, group, farthest); });
}

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
    std::uint32_t most = 0;
    std::uint64_t weight = 0;
    for (std::size_t i = 0; i < cell.colors; i += hn::Lanes(d)) {
        const Whole places = load_places(colors.places + cell.first + i);
        const Whole xy = hn::Add(square(x_of(places), corner.red - drawn.red),
                                 square(y_of(places), corner.green - drawn.green));
        const auto distance =
            hn::BitCast(du, hn::Add(xy, square(z_of(places), corner.blue - drawn.blue)));
        const auto least = hn::Min(distance, hn::Load(du, nearest + cell.first + i));
        hn::Store(least, du, nearest + cell.first + i);
    }
    for (std::size_t i = cell.first; i < cell.first + cell.colors; i++) {
        most = std::max(most, nearest[i]);
        weight += draw_weight(KmeansStart::plusplus, colors.counts[i], nearest[i]);
    }
    return {weight, most};
}

/// A bit for each place of a cell: whether its count is not 0.
void find_colors(const std::uint32_t *counts, std::uint64_t *bits) {
    const hn::RebindToUnsigned<Ints> d;
    const std::size_t lanes = hn::Lanes(d);
    for (std::size_t i = 0; i < cell_colors; i += 64) {
        std::uint64_t word = 0;
        for (std::size_t j = 0; j < 64; j += lanes)
            word |= mask_bits(d, hn::Ne(hn::Load(d, counts + i + j), hn::Zero(d))) << j;
        bits[i / 64] = word;
    }
}

/// Channels to cells and places, in whole vectors.
void code_row(const std::uint8_t *const *rows, std::uint16_t *cells, std::uint16_t *places,
              std::size_t length) {
    const hn::ScalableTag<std::uint16_t> d;
    const hn::Rebind<std::uint8_t, decltype(d)> d8;
    const auto seven = hn::Set(d, 7);
    for (std::size_t x = 0; x < length; x += hn::Lanes(d)) {
        const auto a = hn::PromoteTo(d, hn::LoadU(d8, rows[0] + x));
        const auto b = hn::PromoteTo(d, hn::LoadU(d8, rows[1] + x));
        const auto c = hn::PromoteTo(d, hn::LoadU(d8, rows[2] + x));
        hn::StoreU(hn::Or(hn::Or(hn::ShiftLeft<10>(hn::ShiftRight<3>(a)),
                                 hn::ShiftLeft<5>(hn::ShiftRight<3>(b))),
                          hn::ShiftRight<3>(c)),
                   d, cells + x);
        hn::StoreU(
            hn::Or(hn::Or(hn::ShiftLeft<6>(hn::And(a, seven)), hn::ShiftLeft<3>(hn::And(b, seven))),
                   hn::And(c, seven)),
            d, places + x);
    }
}

} // namespace gpv::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gpv::cpu {
namespace {

HWY_EXPORT(sum_group);
HWY_EXPORT(label_group);
HWY_EXPORT(search_group);
HWY_EXPORT(approach);
HWY_EXPORT(find_colors);
HWY_EXPORT(code_row);

constexpr std::size_t table_alignment = 64;
constexpr std::size_t row_padding = color_row_padding; ///< samples: more than a vector has

/// What each thread works in. Rows are padded.
struct Workspace {
    std::uint8_t *channels[3];
    std::uint16_t *cells, *places;
    std::uint8_t *labels[2];
    std::uint32_t *colors;
};

/// The pixels of a row.
struct Codes {
    const std::uint16_t *cells, *places;

    std::uint32_t operator[](std::size_t x) const {
        return std::uint32_t{cells[x]} << cell_bits | places[x];
    }
};

/// Reads rows of an image as colours of the space.
class Reader {
  public:
    Reader(const Image &src, const LabTable *lab) : colors_(src), width_(src.width), lab_(lab) {}

    /// Writes them to cells and places, which are padded.
    Codes read(int y, const Workspace &work, std::uint16_t *cells, std::uint16_t *places) const {
        colors_.read(y, work.channels);
        if (lab_)
            for (int x = 0; x < width_; x++)
                convert(work.channels, x);
        HWY_DYNAMIC_DISPATCH(code_row)(work.channels, cells, places, width_);
        return {cells, places};
    }

  private:
    void convert(std::uint8_t *const *rows, int x) const {
        const Color c = lab_->lab({rows[0][x], rows[1][x], rows[2][x]});
        rows[0][x] = static_cast<std::uint8_t>(c.red);
        rows[1][x] = static_cast<std::uint8_t>(c.green);
        rows[2][x] = static_cast<std::uint8_t>(c.blue);
    }

    ColorReader colors_;
    int width_;
    const LabTable *lab_;
};

/// What the pixels of each cluster become.
struct Palette {
    std::uint8_t first[most_clusters]; ///< of grey and YUV
    std::uint8_t u[most_clusters], v[most_clusters];
    std::uint32_t pixels[most_clusters]; ///< bytes of the others, from the lowest one on

    Palette(const Centroid *centroids, int count, const LabTable *lab, const Image &dst) {
        const YuvTransform transform = YuvTransform::of(dst);
        const bool yuv = dst.plane_count() > 1, reversed = blue_first(dst.format);
        const auto byte = [](int value) { return static_cast<std::uint8_t>(clamp_byte(value)); };
        for (int i = 0; i < count; i++) {
            const Color c = paint(centroids[i], lab);
            first[i] = byte(yuv ? transform.y(c) : grey(c));
            u[i] = byte(transform.u(c));
            v[i] = byte(transform.v(c));
            const std::uint32_t low = reversed ? c.blue : c.red, high = reversed ? c.red : c.blue;
            pixels[i] = low | static_cast<std::uint32_t>(c.green) << 8 | high << 16;
        }
    }
};

/// What an iteration has come to.
struct Clustering {
    KmeansFound found{};
    std::array<Centroid, most_clusters> centroids;
    std::array<ClusterSums, most_clusters> sums;
};

class CpuKmeans final : public Kmeans {
  public:
    explicit CpuKmeans(std::shared_ptr<Context> context) : scratch_(context) {}

    void set_params(const KmeansParams &params) override {
        if (params.space == KmeansSpace::lab && !lab_table_)
            lab_table_ = std::make_unique<LabTable>();
        params_ = params;
    }
    void set_centroids(std::vector<Centroid> centroids) override { given_ = std::move(centroids); }

    void prepare(const Image &src, const Image *labels, const Image *dst) override {
        plan(src, labels || dst, nullptr);
    }

    bool run(Stream stream, const KmeansRun &run) override {
        plan(run.src, run.labels || run.dst, stream);
        const bool warm = last_params_ && params_.continues(*last_params_);
        last_params_.reset(); // if this run fails, the next one starts afresh
        const Reader reader(run.src, lab());
        count(run.src, reader);
        cluster(run.src, reader, warm);
        if (run.labels || run.dst)
            paint(run, reader);
        write(run);
        if (now_.found.clusters > 1) // of one colour nothing can go on
            last_params_ = params_;
        return true;
    }

    bool finished() override { return true; }
    void wait() override {}
    KmeansFound found() const override { return now_.found; }

  private:
    const LabTable *lab() const {
        return params_.space == KmeansSpace::lab ? lab_table_.get() : nullptr;
    }

    // Scratch.

    static Workspace take_workspace(Carver &carver, int width) {
        const std::size_t length = width + row_padding;
        Workspace w;
        for (auto &channel : w.channels)
            channel = carver.take<std::uint8_t>(length);
        w.cells = carver.take<std::uint16_t>(length);
        w.places = carver.take<std::uint16_t>(length);
        for (auto &labels : w.labels)
            labels = carver.take<std::uint8_t>(length);
        w.colors = carver.take<std::uint32_t>(length);
        return w;
    }

    Workspace workspace(int worker, int width) const {
        Carver carver(table_alignment, workspaces_ + workspace_bytes_ * worker);
        return take_workspace(carver, width);
    }

    void plan(const Image &src, bool paints, Stream stream) {
        constexpr std::int64_t share = 1 << 17; // pixels that are worth a thread
        const std::int64_t pixels = std::int64_t{src.width} * src.height;
        workers_ = static_cast<int>(std::clamp<std::int64_t>(pixels / share, 1, thread_count()));
        Carver carver(table_alignment);
        carve(carver, src, paints);
        scratch_.reserve(carver.used(), stream);
        carver = Carver(table_alignment, scratch_.data());
        carve(carver, src, paints);
    }

    void carve(Carver &carver, const Image &src, bool paints) {
        const std::size_t pixels = std::size_t(src.width) * src.height;
        const std::size_t cells = std::min<std::size_t>(pixels, cell_count);
        const std::size_t colors =
            std::min(pixels + cells * (most_lanes - 1), std::size_t{1} << 24);
        starts_ = carver.take<std::uint32_t>(std::size_t{cell_count} * workers_);
        sorted_ = carver.take<std::uint16_t>(pixels);
        code_stride_ = src.width + row_padding;
        const std::size_t codes = lab() ? code_stride_ * src.height : 0;
        code_cells_ = carver.take<std::uint16_t>(codes);
        code_places_ = carver.take<std::uint16_t>(codes);
        cells_ = carver.take<Cell>(cells);
        cell_starts_ = carver.take<std::uint32_t>(cells + 1);
        colors_ = {carver.take<std::uint16_t>(colors), carver.take<std::uint32_t>(colors)};
        nearest_ = carver.take<std::uint32_t>(params_.draws() ? colors : 0);
        drawings_ = carver.take<Drawing>(params_.draws() ? cells : 0);
        grouped_ = carver.take<std::uint16_t>(cells);
        groups_ = carver.take<Group>(cells);
        sums_ = carver.take<ClusterSums>(std::size_t{most_clusters} * workers_);
        farthest_ = carver.take<Farthest>(workers_);
        squares_ = carver.take<std::uint64_t>(workers_);
        labels_ = carver.take<std::uint8_t>(paints ? std::size_t{1} << 24 : 0);
        Carver one(table_alignment);
        take_workspace(one, src.width);
        workspace_bytes_ = one.used();
        workspaces_ = carver.take<std::byte>(workspace_bytes_ * workers_);
    }

    // Count.

    /// Those in Lab, which take long, are kept when they are read first.
    Codes read(const Reader &reader, int y, const Workspace &work, bool first) const {
        if (!lab())
            return reader.read(y, work, work.cells, work.places);
        std::uint16_t *cells = code_cells_ + code_stride_ * y;
        std::uint16_t *places = code_places_ + code_stride_ * y;
        return first ? reader.read(y, work, cells, places) : Codes{cells, places};
    }

    void count(const Image &src, const Reader &reader) {
        sort_pixels(src, reader);
        std::fill_n(squares_, workers_, 0);
        constexpr int band = 16;
        parallel_bands(cell_number_, band, workers_, [&](int worker, int first, int last) {
            for (int i = first; i < last; i++)
                squares_[worker] += count_colors(i);
        });
        squares_of_all_ = std::accumulate(squares_, squares_ + workers_, std::uint64_t{0});
        group_cells();
    }

    /// Calls f(starts, codes) for every row, with the counters of its part of the image. A part is
    /// read by one thread.
    template <class F>
    void for_parts(const Image &src, const Reader &reader, bool first, F f) {
        parallel_bands(workers_, 1, workers_, [&](int worker, int part, int) {
            const Workspace work = workspace(worker, src.width);
            const auto row = [&](std::int64_t i) {
                return static_cast<int>(i * src.height / workers_);
            };
            std::uint32_t *starts = starts_ + std::size_t{cell_count} * part;
            if (first)
                std::fill_n(starts, cell_count, 0);
            for (int y = row(part); y < row(part + 1); y++)
                f(starts, read(reader, y, work, first));
        });
    }

    void sort_pixels(const Image &src, const Reader &reader) {
        for_parts(src, reader, true, [&](std::uint32_t *counts, const Codes &codes) {
            for (int x = 0; x < src.width; x++)
                counts[codes.cells[x]]++;
        });
        start_cells();
        for_parts(src, reader, false, [&](std::uint32_t *starts, const Codes &codes) {
            for (int x = 0; x < src.width; x++)
                sorted_[starts[codes.cells[x]]++] = codes.places[x];
        });
    }

    /// From the counts of each part to where its pixels begin.
    void start_cells() {
        cell_number_ = 0;
        std::uint32_t pixels = 0, colors = 0;
        for (std::uint32_t number = 0; number < cell_count; number++) {
            const std::uint32_t first = pixels;
            for (int part = 0; part < workers_; part++)
                pixels += std::exchange(starts_[std::size_t{cell_count} * part + number], pixels);
            if (pixels == first)
                continue;
            cell_starts_[cell_number_] = first;
            cells_[cell_number_++] = {
                .number = number, .first = colors, .colors = 0, .box = {}, .sums = {}};
            colors += static_cast<std::uint32_t>(
                round_up(std::min<std::uint32_t>(pixels - first, cell_colors), most_lanes));
        }
        cell_starts_[cell_number_] = pixels;
    }

    /// Returns the sum over its pixels of their squares.
    std::uint64_t count_colors(int index) {
        alignas(64) std::uint32_t table[cell_colors] = {};
        for (std::uint32_t i = cell_starts_[index]; i < cell_starts_[index + 1]; i++)
            table[sorted_[i]]++;
        std::uint64_t bits[cell_colors / 64];
        HWY_DYNAMIC_DISPATCH(find_colors)(table, bits);

        Cell &cell = cells_[index];
        std::uint16_t *place = colors_.places + cell.first;
        std::uint32_t *count = colors_.counts + cell.first;
        const Color corner = cell.corner();
        std::uint64_t squares = 0;
        for (int plane = 0; plane < cell_side; plane++)
            for_bits(bits[plane], [&](int in_plane) {
                const Color c{corner.red + plane, corner.green + in_plane / cell_side,
                              corner.blue + in_plane % cell_side};
                const std::uint32_t n = table[64 * plane + in_plane];
                *place++ = static_cast<std::uint16_t>(64 * plane + in_plane);
                *count++ = n;
                add({n, std::uint64_t{n} * c.red, std::uint64_t{n} * c.green,
                     std::uint64_t{n} * c.blue},
                    cell.sums);
                squares += std::uint64_t{n} * squared_distance(c, {0, 0, 0});
            });
        cell.colors = static_cast<std::uint32_t>(place - colors_.places) - cell.first;
        cell.box = box_of(bits, corner);
        const std::size_t padding = round_up(cell.colors, most_lanes) - cell.colors;
        std::fill_n(place, padding, place[-1]);
        std::fill_n(count, padding, 0);
        return squares;
    }

    /// bits: whether the colours of a cell occur.
    static Box box_of(const std::uint64_t *bits, const Color &corner) {
        unsigned seen[3] = {};
        for (int plane = 0; plane < cell_side; plane++)
            for (int row = 0; row < cell_side; row++) {
                const unsigned occurs = bits[plane] >> (cell_side * row) & 255;
                seen[0] |= unsigned{occurs != 0} << plane;
                seen[1] |= unsigned{occurs != 0} << row;
                seen[2] |= occurs;
            }
        const int from[3] = {corner.red, corner.green, corner.blue};
        Box box;
        for (int i = 0; i < 3; i++) {
            box.low[i] = static_cast<std::uint8_t>(from[i] + std::countr_zero(seen[i]));
            box.high[i] = static_cast<std::uint8_t>(from[i] + std::bit_width(seen[i]) - 1);
        }
        return box;
    }

    /// The cube of four cells each way that it lies in.
    static std::uint32_t block_of(const Cell &cell) {
        const std::uint32_t n = cell.number;
        return (n >> 12 & 7) << 6 | (n >> 7 & 7) << 3 | (n >> 2 & 7);
    }

    void group_cells() {
        constexpr std::uint32_t blocks = 512, most_cells = 16;
        std::uint32_t starts[blocks + 1] = {};
        for (int i = 0; i < cell_number_; i++)
            starts[block_of(cells_[i]) + 1]++;
        std::partial_sum(starts, starts + blocks + 1, starts);
        std::uint32_t next[blocks];
        std::copy_n(starts, blocks, next);
        for (int i = 0; i < cell_number_; i++)
            grouped_[next[block_of(cells_[i])]++] = static_cast<std::uint16_t>(i);
        group_number_ = 0;
        std::size_t colors = 0;
        total_ = {};
        for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(cell_number_); i++) {
            const Cell &cell = cells_[grouped_[i]];
            const bool same = group_number_ > 0 && i != starts[block_of(cell)] &&
                              i - groups_[group_number_ - 1].first < most_cells;
            if (!same)
                groups_[group_number_++] = {i, i, cell.box};
            groups_[group_number_ - 1].last++;
            groups_[group_number_ - 1].box.include(cell.box);
            colors += cell.colors;
            add(cell.sums, total_);
        }
        constexpr std::size_t share = 1 << 14; // colours that are worth a thread
        color_workers_ = static_cast<int>(std::clamp<std::size_t>(colors / share, 1, workers_));
    }

    // Start.

    void draw(int clusters) {
        constexpr std::uint32_t far = ~std::uint32_t{0};
        for (int i = 0; i < cell_number_; i++) {
            const Cell &cell = cells_[i];
            drawings_[i] = {cell.sums.count, far};
            std::fill_n(nearest_ + cell.first, round_up(cell.colors, most_lanes), far);
        }
        for (int i = 0; i < clusters; i++) {
            std::uint64_t total = 0;
            for (int j = 0; j < cell_number_; j++)
                total += drawings_[j].weight;
            drawn_[i] = total ? draw_next(i, total) : drawn_[0];
        }
    }

    /// total: of all weights.
    Centroid draw_next(int number, std::uint64_t total) {
        const KmeansStart start = number == 0 ? KmeansStart::random : params_.start;
        std::uint64_t place = place_below(random_number(params_.seed, number), total);
        const std::uint32_t index =
            find(0, cell_number_, place, [&](std::uint32_t i) { return drawings_[i].weight; });
        const Cell &cell = cells_[index];
        const std::uint32_t color =
            find(cell.first, cell.first + cell.colors, place, [&](std::uint32_t i) {
                return draw_weight(start, colors_.counts[i], nearest_[i]);
            });
        const Color drawn = color_of(cell.number << cell_bits | colors_.places[color]);
        if (params_.start == KmeansStart::random) {
            nearest_[color] = 0;
            drawings_[index].weight -= colors_.counts[color];
        } else {
            approach_all(drawn);
        }
        return centroid_of(drawn);
    }

    /// The first at which the weights so far exceed the place, which becomes the place in it.
    template <class F>
    static std::uint32_t find(std::uint32_t first, std::uint32_t last, std::uint64_t &place,
                              F weight) {
        std::uint32_t i = first;
        for (std::uint64_t w; i + 1 < last && (w = weight(i)) <= place; i++)
            place -= w;
        return i;
    }

    static std::uint32_t least_distance(const Color &c, const Box &box) {
        const auto inside = [&](int i, int v) {
            return std::clamp<int>(v, box.low[i], box.high[i]);
        };
        return squared_distance(c, {inside(0, c.red), inside(1, c.green), inside(2, c.blue)});
    }

    void approach_all(const Color &drawn) {
        constexpr int band = 64;
        parallel_bands(cell_number_, band, color_workers_, [&](int, int first, int last) {
            for (int i = first; i < last; i++)
                if (least_distance(drawn, cells_[i].box) < drawings_[i].nearest)
                    drawings_[i] =
                        HWY_DYNAMIC_DISPATCH(approach)(cells_[i], colors_, drawn, nearest_);
        });
    }

    void spread_over(const Image &src, const Reader &reader, int clusters) {
        const Workspace work = workspace(0, src.width);
        for (int i = 0; i < clusters; i++) {
            const Point2i p = grid_point(i, clusters, src.width, src.height);
            now_.centroids[i] = centroid_of(color_of(read(reader, p.y, work, false)[p.x]));
        }
    }

    // Iterate.

    void cluster(const Image &src, const Reader &reader, bool warm) {
        if (warm)
            return iterate(now_.found.clusters);
        if (params_.draws())
            draw(params_.room());
        if (params_.chosen())
            return choose(src, reader);
        start(src, reader, params_.clusters);
        iterate(params_.clusters);
    }

    void start(const Image &src, const Reader &reader, int clusters) {
        if (params_.start == KmeansStart::given)
            std::copy_n(given_.begin(), clusters, now_.centroids.begin());
        else if (params_.start == KmeansStart::grid)
            spread_over(src, reader, clusters);
        else
            std::copy_n(drawn_.begin(), clusters, now_.centroids.begin());
    }

    void choose(const Image &src, const Reader &reader) {
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

    void iterate(int clusters) {
        KmeansFound &found = now_.found;
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

    void set_scene() {
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

    /// Calls f(worker, group).
    template <class F>
    void for_groups(F f) {
        parallel_bands(group_number_, 1, color_workers_,
                       [&](int worker, int i, int) { f(worker, groups_[i]); });
    }

    void sum() {
        set_scene();
        const int clusters = now_.found.clusters;
        const auto sums = [&](int worker) { return sums_ + std::size_t{most_clusters} * worker; };
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

    Farthest search() {
        std::fill_n(farthest_, color_workers_, Farthest{});
        for_groups([&](int worker, const Group &group) {
            HWY_DYNAMIC_DISPATCH(search_group)(scene_, group, farthest_[worker]);
        });
        for (int worker = 1; worker < color_workers_; worker++)
            farthest_[0].consider(farthest_[worker].distance, farthest_[worker].value);
        return farthest_[0];
    }

    /// Returns the greatest squared motion of a centroid.
    float update() {
        float most = 0;
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
            most = std::max(most, motion(before, centroid));
        }
        return most;
    }

    // Paint.

    void paint(const KmeansRun &run, const Reader &reader) {
        set_scene();
        for_groups([&](int, const Group &group) {
            HWY_DYNAMIC_DISPATCH(label_group)(scene_, group, labels_);
        });
        const Image &src = run.src;
        std::optional<Palette> palette;
        if (run.dst)
            palette.emplace(now_.centroids.data(), now_.found.clusters, lab(), *run.dst);
        constexpr int band = 32; // even, so that no row of chroma lies in two bands
        parallel_bands(src.height, band, workers_, [&](int worker, int first, int last) {
            const Workspace work = workspace(worker, src.width);
            for (int y = first; y < last; y += 2) {
                const int rows = std::min(2, src.height - y);
                for (int i = 0; i < rows; i++)
                    label_row(labels_, read(reader, y + i, work, false), src.width, work.labels[i]);
                if (run.labels)
                    paint_labels(*run.labels, y, rows, work);
                if (run.dst)
                    paint_colors(src, *run.dst, *palette, y, rows, work);
            }
        });
    }

    static void label_row(const std::uint8_t *table, Codes codes, int width, std::uint8_t *labels) {
        for (int x = 0; x < width; x++)
            labels[x] = table[codes[x]];
    }

    static void paint_labels(const Image &labels, int y, int rows, const Workspace &work) {
        for (int i = 0; i < rows; i++)
            std::memcpy(labels.planes[0].row(y + i), work.labels[i], labels.width);
        for (int i = 1; i < labels.plane_count(); i++)
            std::memset(labels.planes[i].row(y / 2), neutral_chroma8, labels.shape(i).row_bytes());
    }

    static void paint_colors(const Image &src, const Image &dst, const Palette &palette, int y,
                             int rows, const Workspace &work) {
        for (int i = 0; i < rows; i++) {
            auto *out = reinterpret_cast<std::uint8_t *>(dst.planes[0].row(y + i));
            if (dst.shape(0).channels == 1) {
                for (int x = 0; x < dst.width; x++)
                    out[x] = palette.first[work.labels[i][x]];
                continue;
            }
            for (int x = 0; x < dst.width; x++)
                work.colors[x] = palette.pixels[work.labels[i][x]];
            const auto *pixels = reinterpret_cast<const std::uint8_t *>(work.colors);
            const auto *in = reinterpret_cast<const std::uint8_t *>(src.planes[0].row(y + i));
            if (dst.shape(0).channels == 3)
                drop_fourth(pixels, out, dst.width);
            else
                merge_fourth(pixels, in, out, dst.width);
        }
        if (dst.plane_count() > 1)
            paint_chroma(dst, palette, y, rows, work);
    }

    static void paint_chroma(const Image &dst, const Palette &palette, int y, int rows,
                             const Workspace &work) {
        const bool pairs = dst.plane_count() == 2;
        std::byte *u = dst.planes[1].row(y / 2);
        std::byte *v = pairs ? u + 1 : dst.planes[2].row(y / 2);
        const std::uint8_t *above = work.labels[0], *below = work.labels[rows - 1];
        for (int site = 0; site < dst.shape(1).columns; site++) {
            const int left = 2 * site, right = std::min(left + 1, dst.width - 1);
            const auto mean = [&](const std::uint8_t *of) {
                return std::byte(mean_chroma(
                    of[above[left]] + of[above[right]] + of[below[left]] + of[below[right]], 4));
            };
            u[pairs ? 2 * site : site] = mean(palette.u);
            v[pairs ? 2 * site : site] = mean(palette.v);
        }
    }

    void write(const KmeansRun &run) const {
        const int clusters = now_.found.clusters;
        if (run.centroids)
            std::copy_n(now_.centroids.begin(), clusters,
                        reinterpret_cast<Centroid *>(run.centroids->data));
        if (run.counts)
            for (int i = 0; i < clusters; i++)
                reinterpret_cast<std::int32_t *>(run.counts->data)[i] =
                    static_cast<std::int32_t>(now_.sums[i].count);
        if (run.result)
            std::memcpy(run.result->data, &now_.found,
                        std::min<std::size_t>(sizeof now_.found, run.result->size));
    }

    KmeansParams params_;
    std::optional<KmeansParams> last_params_; ///< of the run that a warm start may go on from
    std::vector<Centroid> given_;
    std::unique_ptr<LabTable> lab_table_;
    Clustering now_, best_;
    std::array<Centroid, most_clusters> drawn_;
    Scene scene_;
    std::uint64_t squares_of_all_ = 0;
    ClusterSums total_{};
    int workers_ = 1, color_workers_ = 1;
    int cell_number_ = 0, group_number_ = 0;
    Buffer scratch_;

    std::uint32_t *starts_ = nullptr;     ///< of the pixels of each cell, by part of the image
    std::uint16_t *sorted_ = nullptr;     ///< places of all pixels, one cell after the other
    std::uint16_t *code_cells_ = nullptr; ///< of all pixels, in Lab
    std::uint16_t *code_places_ = nullptr;
    std::size_t code_stride_ = 0;
    Cell *cells_ = nullptr;                ///< those that occur, by number
    std::uint32_t *cell_starts_ = nullptr; ///< in sorted_
    Colors colors_{};
    std::uint32_t *nearest_ = nullptr; ///< squared distance of a colour to those that are drawn
    Drawing *drawings_ = nullptr;      ///< of a cell
    std::uint16_t *grouped_ = nullptr; ///< indices of cells
    Group *groups_ = nullptr;
    ClusterSums *sums_ = nullptr;      ///< of each worker
    Farthest *farthest_ = nullptr;     ///< likewise
    std::uint64_t *squares_ = nullptr; ///< likewise
    std::uint8_t *labels_ = nullptr;   ///< of all colours
    std::byte *workspaces_ = nullptr;
    std::size_t workspace_bytes_ = 0; ///< of one worker
};

} // namespace

std::unique_ptr<Kmeans> make_kmeans(std::shared_ptr<Context> context) {
    return std::make_unique<CpuKmeans>(std::move(context));
}

} // namespace gpv::cpu
#endif
