// SPDX-License-Identifier: BSD-2-Clause
// Scale-invariant features, octave by octave:
//   blur      all levels from the first one, in tiles that stay in the cache: a row of a tile
//             vertically by all filters at once, then horizontally by each
//   halve     to the first level of the next octave, while the tile is there
//   search    extrema of the differences, likewise; those at the seams of bands of rows come last
// and then, over what all octaves have:
//   settle    candidates to where they converge; those found twice, and those outside the mask, are
//             left out
//   orient    the peaks of each extremum, which with its rank by response say where in the output
//             its keypoints are
//   describe  those that are kept
// Bands and extrema are worked on in parallel. What is summed over pixels is summed in integers,
// and what is found is sorted, so neither the number of threads nor their timing shows in a result.
// Extrema are worked on in the order of their places, which keeps what they read in the cache.
#include "core/sift.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <tuple>

#include "core/carver.hpp"
#include "cpu/rows.hpp"
#include "cpu/threads.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/sift.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef GPV_CPU_SIFT_TYPES // of all targets
#    define GPV_CPU_SIFT_TYPES
namespace gpv::cpu {
namespace {

/// Vectors have no more lanes.
constexpr std::size_t most_lanes = 16;
/// Rows of floats are written in whole ones of these, and may be read as far behind their end.
constexpr std::size_t row_step = 4 * most_lanes;

constexpr int cache_line = 16; ///< floats; what is prefetched is never more than some

constexpr int most_group = 5;

/// Filters of rising radius that are applied together.
struct BlurGroup {
    int count = 0;
    int radius[most_group];
    float weights[most_blur_radius + 1][most_group];

    int reach() const { return radius[count - 1]; }
};

/// The levels of an octave. Rows are padded.
struct Octave {
    int width, height;
    std::size_t pitch; ///< floats
    float *levels[most_levels];

    float *row(int level, int y) const { return levels[level] + pitch * y; }
    float difference(int i, int y, int x) const { return row(i + 1, y)[x] - row(i, y)[x]; }
};

/// Where a pixel may be an extremum.
struct Hit {
    std::uint16_t x, layer;
};

/// No window round a keypoint reaches further, at the greatest sigma and the least layers.
constexpr int most_reach = 127;

/// gaussian_at() for pixels of a window, by their distance from its middle in x or in y.
struct Weights {
    float values[2 * most_reach + 1 + most_lanes];

    Weights(int radius, float sigma) {
        for (int i = 0; i <= radius; i++)
            values[most_reach - i] = values[most_reach + i] = gaussian_at(i, sigma);
        std::fill_n(values + most_reach + radius + 1, most_lanes, 0.0f);
    }
    const float *middle() const { return values + most_reach; }
};

/// Pixels of a window from first to last.
struct Range {
    int first, last;

    /// Those where gradients can be computed.
    static Range of(int middle, int radius, int size) {
        return {std::max(-radius, 1 - middle), std::min(radius, size - 2 - middle)};
    }
    /// Leaves out those where |offset + i slope| is more than 2.5 for sure.
    void narrow(float offset, float slope) {
        constexpr float steep = 1e-3f; // or else the quotients are not exact to a pixel
        if (!(slope > steep || slope < -steep))
            return;
        const float middle = -offset / slope, half = 2.5f / (slope < 0 ? -slope : slope);
        const auto limit = [](float x) { return static_cast<int>(std::clamp(x, -1e4f, 1e4f)); };
        first = std::max(first, limit(middle - half) - 1);
        last = std::min(last, limit(middle + half) + 1);
    }
};

/// Rows of a window lie in different pages; they are asked for so many rows ahead.
constexpr int window_rows_ahead = 8;

/// The columns of each row of a window where pixels can count. Found before there is a vector: such
/// plain code between instructions on long vectors takes many times as long.
struct WindowColumns {
    Range rows;
    Range columns[2 * most_reach + 2 + window_rows_ahead];

    WindowColumns(const Window &window, int width, int height)
        : rows(Range::of(window.y, window.radius, height)) {
        for (int dy = rows.first - 1; dy <= rows.last + window_rows_ahead; dy++) {
            const float y = static_cast<float>(dy);
            Range &own = columns[dy - rows.first + 1];
            own = Range::of(window.x, window.radius, width);
            own.narrow(-y * window.sin_cells, window.cos_cells);
            own.narrow(y * window.cos_cells, window.sin_cells);
        }
    }
    /// From the row before the first one to window_rows_ahead behind the last one.
    const Range &of(int dy) const { return columns[dy - rows.first + 1]; }
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

// Those of SVE are not members of a struct.
using Vector = hn::Vec<Floats>;
using Whole = hn::Vec<Ints>;

HWY_INLINE void add_pair(const float *, Vector, Vector) {}

/// To two vectors for each filter.
template <class... More>
HWY_INLINE void add_pair(const float *weights, Vector first, Vector second, Vector &a, Vector &b,
                         More &...more) {
    const Vector weight = hn::Set(Floats(), *weights);
    a = hn::MulAdd(weight, first, a);
    b = hn::MulAdd(weight, second, b);
    add_pair(weights + 1, first, second, more...);
}

HWY_INLINE void add_rows(const float *const *, const BlurGroup &, std::size_t, int, int) {}

/// Adds to the sums of the filters from the i-th on what the rows at distance k and more give.
template <class... More>
HWY_INLINE void add_rows(const float *const *rows, const BlurGroup &group, std::size_t x, int i,
                         int k, Vector &a, Vector &b, More &...more) {
    const Floats d;
    const std::size_t lanes = hn::Lanes(d);
    for (; k <= group.radius[i]; k++) {
        const float *up = rows[-k] + x, *down = rows[k] + x;
        const Vector first = hn::Add(hn::LoadU(d, up), hn::LoadU(d, down));
        const Vector second = hn::Add(hn::LoadU(d, up + lanes), hn::LoadU(d, down + lanes));
        add_pair(group.weights[k] + i, first, second, a, b, more...);
    }
    add_rows(rows, group, x, i + 1, k, more...);
}

/// Two vectors of columns. sums: those of the filters that have been started, which are registers.
template <int count, class... Sums>
HWY_INLINE void blur_pair(const float *const *rows, const BlurGroup &group, float *const *out,
                          std::size_t x, Sums &...sums) {
    constexpr int i = sizeof...(sums) / 2;
    if constexpr (i == count) {
        add_rows(rows, group, x, 0, 1, sums...);
    } else {
        const Floats d;
        const std::size_t lanes = hn::Lanes(d);
        const Vector weight = hn::Set(d, group.weights[0][i]);
        Vector a = hn::Mul(weight, hn::LoadU(d, rows[0] + x));
        Vector b = hn::Mul(weight, hn::LoadU(d, rows[0] + x + lanes));
        blur_pair<count>(rows, group, out, x, sums..., a, b);
        hn::StoreU(a, d, out[i] + x);
        hn::StoreU(b, d, out[i] + x + lanes);
    }
}

template <int count>
HWY_INLINE void blur_columns(const float *const *rows, const BlurGroup &group, float *const *out,
                             std::size_t first, std::size_t last) {
    for (std::size_t x = first; x < last; x += 2 * hn::Lanes(Floats()))
        blur_pair<count>(rows, group, out, x);
}

/// rows[k]: the row at distance k. out: one row for each filter. Writes whole row_steps.
void blur_vertically(const float *const *rows, const BlurGroup &group, float *const *out,
                     std::size_t first, std::size_t last) {
    switch (group.count) {
    case 1:
        return blur_columns<1>(rows, group, out, first, last);
    case 2:
        return blur_columns<2>(rows, group, out, first, last);
    case 3:
        return blur_columns<3>(rows, group, out, first, last);
    case 4:
        return blur_columns<4>(rows, group, out, first, last);
    default:
        return blur_columns<5>(rows, group, out, first, last);
    }
}

/// With the i-th filter. in: from -radius to length + radius. Writes whole row_steps.
void blur_horizontally(const float *in, const BlurGroup &group, int i, float *out,
                       std::size_t length) {
    const Floats d;
    const std::size_t lanes = hn::Lanes(d);
    const int radius = group.radius[i];
    const Vector last = hn::Set(d, group.weights[radius][i]);
    for (std::size_t x = 0; x < length; x += 4 * lanes) {
        const float *from = in + x - radius;
        Vector a = hn::Mul(last, hn::LoadU(d, from));
        Vector b = hn::Mul(last, hn::LoadU(d, from + lanes));
        Vector c = hn::Mul(last, hn::LoadU(d, from + 2 * lanes));
        Vector e = hn::Mul(last, hn::LoadU(d, from + 3 * lanes));
        const auto add = [&](int k) HWY_ATTR {
            const Vector weight = hn::Set(d, group.weights[k][i]);
            from++;
            a = hn::MulAdd(weight, hn::LoadU(d, from), a);
            b = hn::MulAdd(weight, hn::LoadU(d, from + lanes), b);
            c = hn::MulAdd(weight, hn::LoadU(d, from + 2 * lanes), c);
            e = hn::MulAdd(weight, hn::LoadU(d, from + 3 * lanes), e);
        };
        for (int k = radius - 1; k >= 0; k--)
            add(k);
        for (int k = 1; k <= radius; k++)
            add(k);
        hn::StoreU(a, d, out + x);
        hn::StoreU(b, d, out + x + lanes);
        hn::StoreU(c, d, out + x + 2 * lanes);
        hn::StoreU(e, d, out + x + 3 * lanes);
    }
}

/// A row of a doubled picture: 3/4 of one row of it, 1/4 of another, which may be the same. They
/// are padded, beginning with one more copy of their last pixel. Writes whole row_steps.
void double_row(const std::uint8_t *upper, const std::uint8_t *lower, float *out,
                std::size_t length) {
    const Floats d;
    const hn::RebindToSigned<Floats> di;
    const hn::Rebind<std::uint8_t, decltype(di)> d8;
    const auto sum = [&](std::size_t x) HWY_ATTR { // from one pixel to the left on
        const auto near = hn::PromoteTo(di, hn::LoadU(d8, upper + x - 1));
        return hn::Add(hn::Add(near, hn::Add(near, near)),
                       hn::PromoteTo(di, hn::LoadU(d8, lower + x - 1)));
    };
    const auto scaled = [&](auto v) HWY_ATTR {
        return hn::Mul(hn::ConvertTo(d, v), hn::Set(d, 1.0f / 16));
    };
    for (std::size_t x = 0; x < length; x += hn::Lanes(d)) {
        const auto here = sum(x + 1), thrice = hn::Add(here, hn::Add(here, here));
        hn::StoreInterleaved2(scaled(hn::Add(thrice, sum(x))), scaled(hn::Add(thrice, sum(x + 2))),
                              d, out + 2 * x);
    }
}

/// Every other sample. Writes whole row_steps.
void halve_row(const float *in, float *out, std::size_t length) {
    const Floats d;
    for (std::size_t x = 0; x < length; x += hn::Lanes(d)) {
        Vector even, odd;
        hn::LoadInterleaved2(d, in + 2 * x, even, odd);
        hn::StoreU(even, d, out + x);
    }
}

/// Differences of levels, and their neighbours in a vector of pixels.
struct Differences {
    const Octave &octave;
    std::size_t x;
    int y;

    HWY_INLINE Vector at(int i, int dy, int dx) const {
        const Floats d;
        const float *above = octave.row(i + 1, y + dy) + x + dx;
        return hn::Sub(hn::LoadU(d, above), hn::LoadU(d, octave.row(i, y + dy) + x + dx));
    }
    /// The greatest of most and some in a row; sign turns those that are sought into maxima.
    HWY_INLINE Vector most_in_row(int i, int dy, Vector sign, Vector most) const {
        most = hn::Max(most, hn::Xor(sign, at(i, dy, -1)));
        most = hn::Max(most, hn::Xor(sign, at(i, dy, 0)));
        return hn::Max(most, hn::Xor(sign, at(i, dy, 1)));
    }
};

/// Writes the extrema among the pixels of a row, first <= x < last; returns how many there are.
std::size_t find_extrema(const Octave &octave, int layers, float least, int y, std::size_t first,
                         std::size_t last, Hit *hits) {
    const Floats d;
    const std::size_t lanes = hn::Lanes(d);
    std::size_t count = 0;
    for (std::size_t x = first; x < last; x += lanes) {
        const Differences differences{octave, x, y};
        const auto valid = hn::FirstN(d, last - x);
        for (int layer = 1; layer <= layers; layer++) {
            const Vector here = differences.at(layer, 0, 0), size = hn::Abs(here);
            auto mask = hn::And(valid, hn::Gt(size, hn::Set(d, least)));
            if (hn::AllFalse(d, mask))
                continue;
            const Vector sign = hn::And(here, hn::SignBit(d));
            Vector most = differences.most_in_row(layer, 0, sign, size);
            mask = hn::And(mask, hn::Ge(size, most));
            if (hn::AllFalse(d, mask))
                continue;
            most = differences.most_in_row(layer, -1, sign, most);
            most = differences.most_in_row(layer, 1, sign, most);
            mask = hn::And(mask, hn::Ge(size, most));
            if (hn::AllFalse(d, mask))
                continue;
            for (int dy = -1; dy <= 1; dy++) {
                most = differences.most_in_row(layer - 1, dy, sign, most);
                most = differences.most_in_row(layer + 1, dy, sign, most);
            }
            mask = hn::And(mask, hn::Ge(size, most));
            std::uint64_t bits = 0; // StoreMaskBits may write eight bytes
            hn::StoreMaskBits(d, mask, reinterpret_cast<std::uint8_t *>(&bits));
            for (bits &= (std::uint64_t{1} << lanes) - 1; bits; bits &= bits - 1)
                hits[count++] = {static_cast<std::uint16_t>(x + std::countr_zero(bits)),
                                 static_cast<std::uint16_t>(layer)};
        }
    }
    return count;
}

// As the functions of core of that name, in the same order.

struct PolarVector {
    Vector eighths, magnitude;
};

HWY_INLINE Vector reciprocal_of(Vector x) {
    const Floats d;
    const Vector one = hn::Set(d, 1.0f);
    Vector r = hn::BitCast(d, hn::Sub(hn::Set(Ints(), 0x7ef311c3), hn::BitCast(Ints(), x)));
    for (int step = 0; step < 3; step++)
        r = hn::MulAdd(r, hn::NegMulAdd(x, r, one), r);
    return r;
}

HWY_INLINE PolarVector polar_of(Vector y, Vector x) {
    const Floats d;
    const auto number = [](float value) HWY_ATTR { return hn::Set(Floats(), value); };
    const Vector zero = hn::Zero(d), ax = hn::Abs(x), ay = hn::Abs(y);
    const Vector most = hn::Max(ax, ay), least = hn::Min(ax, ay);
    const Vector r = hn::Mul(least, reciprocal_of(hn::Max(most, number(least_divisor))));
    const Vector s = hn::Mul(r, r);
    Vector t = hn::MulAdd(s, number(-0.0496390998f), number(0.186229593f));
    t = hn::MulAdd(s, hn::MulAdd(s, t, number(-0.408932629f)), number(1.27223854f));
    t = hn::Mul(r, t);
    Vector m = hn::MulAdd(s, number(-0.010736884f), number(0.0456280861f));
    m = hn::MulAdd(s, hn::MulAdd(s, m, number(-0.120194971f)), number(0.499497158f));
    m = hn::Mul(most, hn::MulAdd(s, m, number(1.00000835f)));
    t = hn::IfThenElse(hn::Gt(ay, ax), hn::Sub(number(2), t), t);
    t = hn::IfThenElse(hn::Lt(x, zero), hn::Sub(number(4), t), t);
    t = hn::IfThenElse(hn::Lt(y, zero), hn::Sub(number(8), t), t);
    return {t, m};
}

HWY_INLINE Whole rounded(Vector x) {
    const Vector shifted = hn::Add(x, hn::Set(Floats(), 8388608.0f));
    return hn::Sub(hn::BitCast(Ints(), shifted), hn::Set(Ints(), 0x4b000000));
}

struct SplitVector {
    Whole whole;
    Vector fraction;
};

HWY_INLINE SplitVector split(Vector x) {
    const Floats d;
    const Vector large = hn::Set(d, 12582912.0f);
    const Vector shifted = hn::Add(hn::Sub(x, hn::Set(d, 0.5f)), large);
    return {hn::Sub(hn::BitCast(Ints(), shifted), hn::Set(Ints(), 0x4b400000)),
            hn::Sub(x, hn::Sub(shifted, large))};
}

/// Of a vector of pixels.
struct Gradient {
    const float *row;
    std::size_t pitch;

    HWY_INLINE Vector x() const {
        return hn::Sub(hn::LoadU(Floats(), row + 1), hn::LoadU(Floats(), row - 1));
    }
    HWY_INLINE Vector y() const {
        return hn::Sub(hn::LoadU(Floats(), row - pitch), hn::LoadU(Floats(), row + pitch));
    }
};

/// Inlined by force, and called from no lambda: GCC drops the call of a function that only
/// prefetches.
HWY_INLINE void prefetch(const Octave &octave, int level, int x, int y, Range columns) {
    if (y >= octave.height)
        return;
    const float *row = octave.row(level, y) + x;
    for (int dx = columns.first - 1; dx < columns.last + cache_line; dx += cache_line)
        __builtin_prefetch(row + dx);
}

/// Adds up the directions of gradients round an extremum.
void sum_directions(const Octave &octave, const Extremum &extremum, int radius,
                    const Weights &weights, std::uint32_t *sums) {
    const Floats d;
    const Ints di;
    const int lanes = static_cast<int>(hn::Lanes(d));
    const Range columns = Range::of(extremum.x, radius, octave.width);
    const Range rows = Range::of(extremum.y, radius, octave.height);
    alignas(64) std::int32_t bins[most_lanes], amounts[most_lanes];
    for (int i = -1; i < window_rows_ahead; i++)
        prefetch(octave, extremum.layer, extremum.x, extremum.y + rows.first + i, columns);
    for (int dy = rows.first; dy <= rows.last; dy++) {
        prefetch(octave, extremum.layer, extremum.x, extremum.y + dy + window_rows_ahead, columns);
        const float *row = octave.row(extremum.layer, extremum.y + dy) + extremum.x;
        const Vector row_weight = hn::Set(d, weights.middle()[dy]);
        for (int dx = columns.first; dx <= columns.last; dx += lanes) {
            const Gradient gradient{row + dx, octave.pitch};
            const PolarVector polar = polar_of(gradient.y(), gradient.x());
            const Vector weight = hn::Mul(hn::LoadU(d, weights.middle() + dx), row_weight);
            const Whole bin = rounded(hn::Mul(hn::Set(d, orientation_bins / 8.0f), polar.eighths));
            hn::Store(hn::IfThenElseZero(hn::Lt(bin, hn::Set(di, orientation_bins)), bin), di,
                      bins);
            hn::Store(rounded(hn::Mul(hn::Set(d, sum_unit), hn::Mul(weight, polar.magnitude))), di,
                      amounts);
            const int count = std::min(lanes, columns.last - dx + 1);
            for (int i = 0; i < count; i++)
                sums[bins[i]] += static_cast<std::uint32_t>(amounts[i]);
        }
    }
}

// A pixel of a window belongs to four cells, two by two, and in each to two directions. What it
// adds to them is summed up as a record of eight numbers, by the first of its cells and directions;
// cells there begin one row and one column outside the window.

constexpr int record_cells = descriptor_cells + 1;
constexpr int record_length = 8;
constexpr int record_count = record_cells * record_cells * descriptor_bins;

/// Which row or column of records.
HWY_INLINE Whole record_of(Whole cell) {
    const Ints di;
    const Whole record = hn::Add(cell, hn::Set(di, 1));
    return hn::Max(hn::Zero(di), hn::Min(record, hn::Set(di, record_cells - 1)));
}

/// Half of a record for each lane: what belongs to one row of cells, as share_out() of core.
HWY_INLINE void store_amounts(Vector in_row, Vector column, Vector direction, std::int32_t *out) {
    const Vector right = hn::Mul(in_row, column), left = hn::Sub(in_row, right);
    const Whole upper_left = rounded(hn::Mul(left, direction));
    const Whole upper_right = rounded(hn::Mul(right, direction));
    hn::StoreInterleaved4(hn::Sub(rounded(left), upper_left), upper_left,
                          hn::Sub(rounded(right), upper_right), upper_right, Ints(), out);
}

/// The amounts of pixels, and where their records begin.
struct Amounts {
    alignas(64) std::int32_t starts[most_lanes];
    alignas(64) std::int32_t halves[2][record_length / 2 * most_lanes];

    /// By halves, for whatever is stored is loaded again soon, and so in the same pieces.
    HWY_INLINE void add_to(std::int32_t *records, int count) const {
        const hn::CappedTag<std::int32_t, record_length / 2> d;
        for (int i = 0; i < count; i++)
            for (int j = 0; j < record_length; j += static_cast<int>(hn::Lanes(d))) {
                const std::int32_t *from = halves[j / 4] + 4 * i + j % 4;
                std::int32_t *to = records + starts[i] + j;
                hn::Store(hn::Add(hn::Load(d, to), hn::Load(d, from)), d, to);
            }
    }
};

/// Adds pixels from dx on to records.
HWY_INLINE void add_pixels(const Window &window, Gradient gradient, int dx, int dy, int count,
                           const Weights &weights, std::int32_t *records) {
    const Floats d;
    const Ints di;
    const Vector x = hn::ConvertTo(d, hn::Iota(di, dx));
    const Vector y = hn::Set(d, static_cast<float>(dy));
    const Vector cosine = hn::Set(d, window.cos_cells), sine = hn::Set(d, window.sin_cells);
    const Vector u = hn::Sub(hn::Mul(x, cosine), hn::Mul(y, sine));
    const Vector v = hn::Add(hn::Mul(x, sine), hn::Mul(y, cosine));
    const auto counts = hn::Lt(hn::Max(hn::Abs(u), hn::Abs(v)), hn::Set(d, 2.5f));

    const PolarVector polar = polar_of(gradient.y(), gradient.x());
    const Vector near =
        hn::Mul(hn::LoadU(d, weights.middle() + dx), hn::Set(d, weights.middle()[dy]));
    const Vector weight =
        hn::IfThenElseZero(counts, hn::Mul(hn::Set(d, sum_unit), hn::Mul(near, polar.magnitude)));
    const Vector bin = hn::Sub(polar.eighths, hn::Set(d, window.eighths));
    const Vector middle = hn::Set(d, 1.5f);
    const SplitVector row = split(hn::Add(v, middle)), column = split(hn::Add(u, middle));
    const SplitVector direction = split(
        hn::IfThenElse(hn::Lt(bin, hn::Zero(d)), hn::Add(bin, hn::Set(d, descriptor_bins)), bin));

    static_assert(descriptor_bins == 8 && record_length == 8);
    Amounts amounts;
    const Whole cell =
        hn::Add(hn::Mul(record_of(row.whole), hn::Set(di, record_cells)), record_of(column.whole));
    const Whole first = hn::And(direction.whole, hn::Set(di, descriptor_bins - 1));
    hn::Store(hn::ShiftLeft<3>(hn::Add(hn::ShiftLeft<3>(cell), first)), di, amounts.starts);
    const Vector below = hn::Mul(weight, row.fraction);
    store_amounts(hn::Sub(weight, below), column.fraction, direction.fraction, amounts.halves[0]);
    store_amounts(below, column.fraction, direction.fraction, amounts.halves[1]);
    amounts.add_to(records, count);
}

void add_records(const std::int32_t *records, std::uint32_t *sums) {
    const auto add = [&](int row, int column, int direction, std::int32_t amount) {
        if (row >= 0 && row < descriptor_cells && column >= 0 && column < descriptor_cells)
            sums[(row * descriptor_cells + column) * descriptor_bins +
                 direction % descriptor_bins] += static_cast<std::uint32_t>(amount);
    };
    for (int row = 0; row < record_cells; row++)
        for (int column = 0; column < record_cells; column++)
            for (int direction = 0; direction < descriptor_bins; direction++)
                for (int i = 0; i < record_length; i++)
                    add(row - 1 + i / 4, column - 1 + i / 2 % 2, direction + i % 2, *records++);
}

/// Adds up the gradients of a window.
void sum_window(const Octave &octave, const Window &window, std::uint32_t *sums) {
    const int lanes = static_cast<int>(hn::Lanes(Floats()));
    const Weights weights(window.radius, 2 * window.cell);
    alignas(64) std::int32_t records[record_count * record_length] = {};
    const WindowColumns columns(window, octave.width, octave.height);
    const auto row = [&](int dy) { return octave.row(window.layer, window.y + dy) + window.x; };
    const Range rows = columns.rows;
    for (int dy = rows.first - 1; dy < std::min(rows.first, rows.last) + window_rows_ahead; dy++)
        prefetch(octave, window.layer, window.x, window.y + dy, columns.of(dy));
    for (int dy = rows.first; dy <= rows.last; dy++) {
        const int ahead = dy + window_rows_ahead;
        prefetch(octave, window.layer, window.x, window.y + ahead, columns.of(ahead));
        const Range own = columns.of(dy);
        for (int dx = own.first; dx <= own.last; dx += lanes)
            add_pixels(window, {row(dy) + dx, octave.pitch}, dx, dy,
                       std::min(lanes, own.last - dx + 1), weights, records);
    }
    add_records(records, sums);
}

} // namespace
} // namespace gpv::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gpv::cpu {
namespace {

HWY_EXPORT(blur_vertically);
HWY_EXPORT(blur_horizontally);
HWY_EXPORT(double_row);
HWY_EXPORT(halve_row);
HWY_EXPORT(find_extrema);
HWY_EXPORT(sum_directions);
HWY_EXPORT(sum_window);

constexpr std::size_t alignment = 64;
constexpr int tile_columns = 256;
constexpr int blur_padding = 128; ///< floats on either side of a row that is blurred
constexpr int most_band = 64;     ///< rows
constexpr int first_band = 32;    ///< rows of the first level
constexpr int most_first_reach = 16;
constexpr int rows_ahead = 2; ///< of those that are being blurred
constexpr int most_peaks = orientation_bins / 2;
constexpr int band_of_features = 16;

static_assert(blur_padding >= most_blur_radius && tile_columns % row_step == 0);

/// Index of the sample that stands for the i-th: mirrored, without repeating those at the edges.
int reflect(int i, int size) {
    const int period = 2 * (size - 1);
    i = std::abs(i) % period;
    return i < size ? i : period - i;
}

BlurGroup group_of(const BlurFilter *filters, int count) {
    BlurGroup group{};
    group.count = count;
    for (int i = 0; i < count; i++) {
        group.radius[i] = filters[i].radius;
        for (int k = 0; k <= filters[i].radius; k++)
            group.weights[k][i] = filters[i].weights[k];
    }
    return group;
}

/// The orientations of an extremum.
struct Peaks {
    std::int32_t count;
    float angles[most_peaks];
};

/// In the order of octave, layer, row and column.
std::tuple<int, int, int, int> place_of(const Extremum &e) {
    return {e.octave, e.layer, e.y, e.x};
}

/// What each thread works in.
struct Workspace {
    std::uint8_t *luma[2];
    float *picture;             ///< rows that a band of the first level is made from
    const float **rows;         ///< those that the rows of a band are made from
    float *columns[most_group]; ///< a tile's row, blurred vertically; padded
    Hit *hits;                  ///< of a tile's row
};

class CpuSift final : public Sift {
  public:
    explicit CpuSift(std::shared_ptr<Context> context) : scratch_(context) {}

    void set_params(const SiftParams &params) override {
        params_ = params;
        const BlurFilter first = first_filter(params);
        first_group_ = group_of(&first, 1);
        BlurFilter filters[most_levels - 1];
        const int count = params.levels() - 1;
        for (int i = 0; i < count; i++)
            filters[i] = level_filter(params, i + 1);
        for (int i = 0; i < count; i += most_group)
            groups_[i / most_group] = group_of(filters + i, std::min(count - i, most_group));
    }

    void prepare(const Image &src, const Image *, std::int64_t) override { plan(src, nullptr); }

    bool run(Stream stream, const SiftRun &run) override {
        plan(run.src, stream);
        const Octaves octaves(run.src.width, run.src.height, params_.upsample, params_.octaves);
        candidates_ = 0;
        if (octaves.count > 0)
            make_first_level(run.src);
        for (int i = 0; i < octaves.count; i++)
            make_octave(i, params_.levels(), i + 1 < octaves.count, true);
        finish(run);
        if (run.result)
            std::memcpy(run.result->data, &found_, sizeof found_);
        return true;
    }

    bool describe(Stream stream, const SiftDescription &description) override {
        plan(description.src, stream);
        const Image &src = description.src;
        const Octaves octaves(src.width, src.height, params_.upsample, 0);
        const LayerChoice choice(params_, octaves);
        const auto find = [&](std::int64_t i, Window &window) {
            return choice.find(description.keypoints[i], src.width, src.height, window);
        };
        const auto count = static_cast<int>(description.keypoints.capacity);
        int used = 0;
        Window window{};
        for (int i = 0; i < count; i++)
            if (find(i, window))
                used = std::max(used, window.octave + 1);
        if (used > 0)
            make_first_level(src);
        for (int i = 0; i < used; i++)
            make_octave(i, params_.octave_layers + 1, i + 1 < used, false);
        parallel_bands(count, 1, workers_, [&](int, int i, int) {
            Window w{};
            std::byte *out = description.descriptors.data + params_.descriptor_bytes() * i;
            if (find(i, w))
                describe_window(w, out);
            else
                std::memset(out, 0, params_.descriptor_bytes());
        });
        overflow_ = false;
        found_ = {sizeof found_, count, 0, 0};
        return true;
    }

    void draw(Stream, const SiftDrawing &drawing) override {
        draw_keypoints(drawing, {kept_, kept_count_});
    }

    bool finished() override { return true; }
    void wait() override {}
    SiftFound found() const override { return found_; }
    bool overflow() const override { return overflow_; }

  private:
    // Scratch.

    Workspace take_workspace(Carver &carver, int width) const {
        Workspace w{};
        for (auto &luma : w.luma)
            luma = carver.take<std::uint8_t>(width + row_step + alignment, 1);
        w.picture = carver.take<float>(octaves_[0].pitch * (first_band + 2 * most_first_reach));
        w.rows = carver.take<const float *>(most_band + 2 * most_blur_radius);
        for (auto &row : w.columns)
            row = carver.take<float>(tile_columns + 2 * blur_padding + row_step, blur_padding);
        w.hits = carver.take<Hit>(tile_columns * most_octave_layers);
        return w;
    }

    Workspace workspace(int worker) const {
        Carver carver(alignment, workspaces_ + workspace_bytes_ * worker);
        return take_workspace(carver, width_);
    }

    void plan(const Image &src, Stream stream) {
        constexpr std::int64_t share = 1 << 14; // pixels that are worth a thread
        const std::int64_t pixels = std::int64_t{src.width} * src.height;
        workers_ = static_cast<int>(std::clamp<std::int64_t>(pixels / share, 1, thread_count()));
        width_ = src.width;
        Carver carver(alignment);
        carve(carver, src);
        scratch_.reserve(carver.used(), stream);
        carver = Carver(alignment, scratch_.data());
        carve(carver, src);
    }

    void carve(Carver &carver, const Image &src) {
        kept_count_ = 0; // they may be elsewhere now
        const Octaves octaves(src.width, src.height, params_.upsample, 0);
        octaves_[0] = {};
        for (int i = 0; i < octaves.count; i++) {
            Octave &octave = octaves_[i];
            octave.width = octaves.width[i];
            octave.height = octaves.height[i];
            // An odd number of cache lines: columns spread over all sets of the cache.
            octave.pitch = round_up(octave.width, row_step) + most_lanes;
            for (int level = 0; level < params_.levels(); level++)
                octave.levels[level] = carver.take<float>(octave.pitch * octave.height + row_step);
        }
        capacity_ = most_extrema(octaves);
        extrema_ = carver.take<Extremum>(capacity_);
        peaks_ = carver.take<Peaks>(capacity_);
        most_kept_ = most_keypoints(octaves);
        kept_ = carver.take<Keypoint>(most_kept_);
        ranked_ = carver.take<std::int32_t>(capacity_);
        offsets_ = carver.take<std::int64_t>(capacity_);
        Carver one(alignment);
        take_workspace(one, src.width);
        workspace_bytes_ = one.used();
        workspaces_ = carver.take<std::byte>(workspace_bytes_ * workers_);
    }

    // Levels.

    void make_first_level(const Image &src) const {
        const Octave &octave = octaves_[0];
        const int reach = first_group_.reach();
        parallel_bands(octave.height, first_band, workers_, [&](int worker, int first, int last) {
            const Workspace work = workspace(worker);
            for (int y = first - reach; y < last + reach; y++) {
                float *row = work.picture + octave.pitch * (y - first + reach);
                read_row(src, reflect(y, octave.height), row, work);
                work.rows[y - first + reach] = row;
            }
            for (int x = 0; x < octave.width; x += tile_columns)
                blur_tile(octave, first_group_, 0, {x, first, last}, work);
        });
    }

    /// Leaves the row in work.luma[i], with one more copy of its first and its last pixel.
    static const std::uint8_t *read_luma(const Image &src, int y, const Workspace &work, int i) {
        const auto *row = reinterpret_cast<const std::uint8_t *>(src.planes[0].row(y));
        const int channels = src.shape(0).channels;
        std::uint8_t *luma = work.luma[i];
        if (channels == 1)
            std::memcpy(luma, row, src.width);
        else
            luma_row(row, channels, blue_first(src.format) ? 2 : 0, luma, src.width);
        luma[-1] = luma[0];
        luma[src.width] = luma[src.width - 1];
        return luma;
    }

    /// Of the picture, doubled if it is.
    void read_row(const Image &src, int y, float *out, const Workspace &work) const {
        if (!params_.upsample) {
            std::copy_n(read_luma(src, y, work, 0), src.width, out);
            return;
        }
        const std::uint8_t *upper = read_luma(src, y / 2, work, 0), *lower = upper;
        const int beside = y % 2 ? y / 2 + 1 : y / 2 - 1;
        if (beside >= 0 && beside < src.height)
            lower = read_luma(src, beside, work, 1);
        HWY_DYNAMIC_DISPATCH(double_row)(upper, lower, out, src.width);
    }

    /// Some columns of a band of rows.
    struct Tile {
        int x, first, last; ///< first column; rows
    };

    static int end_of(const Octave &octave, int x) {
        return std::min(x + tile_columns, octave.width);
    }

    /// From level 0, so many levels, the first of which is that; then level 0 of the next octave.
    void make_octave(int number, int levels, bool next, bool searched) {
        const Octave &octave = octaves_[number];
        const int band = std::clamp(octave.height / (4 * workers_), 16, most_band) & ~1;
        parallel_bands(octave.height, band, workers_, [&](int worker, int first, int last) {
            const Workspace work = workspace(worker);
            for (int x = 0; x < octave.width; x += tile_columns) {
                blur_levels(octave, levels, {x, first, last}, work);
                if (next)
                    halve(octave, octaves_[number + 1], {x, first, last});
                if (searched) // what lies at a border of bands comes later
                    search_tile(number, {x, first + (first > 0), last - (last < octave.height)},
                                work);
            }
        });
        if (searched)
            search_seams(number, band);
    }

    void blur_levels(const Octave &octave, int levels, Tile tile, const Workspace &work) const {
        for (int i = 1; i < levels; i += most_group) {
            BlurGroup group = groups_[(i - 1) / most_group];
            group.count = std::min(group.count, levels - i);
            const int reach = group.reach();
            for (int y = tile.first - reach; y < tile.last + reach; y++)
                work.rows[y - tile.first + reach] = octave.row(0, reflect(y, octave.height));
            blur_tile(octave, group, i, tile, work);
        }
    }

    /// Makes levels from the level-th on from work.rows.
    static void blur_tile(const Octave &octave, const BlurGroup &group, int level, Tile tile,
                          const Workspace &work) {
        const int reach = group.reach(), end = end_of(octave, tile.x);
        const int low = std::max(tile.x - reach, 0) & -static_cast<int>(most_lanes);
        const int high = std::min(end + reach, octave.width);
        float *columns[most_group];
        for (int i = 0; i < group.count; i++)
            columns[i] = work.columns[i] - tile.x;
        for (int y = tile.first; y < tile.last; y++) {
            const float *const *rows = work.rows + y - tile.first + reach;
            if (y + rows_ahead < tile.last)
                prefetch_row(rows[reach + rows_ahead], low, high);
            HWY_DYNAMIC_DISPATCH(blur_vertically)(rows, group, columns, low, high);
            for (int i = 0; i < group.count; i++) {
                mirror(columns[i], group.radius[i], tile.x, end, octave.width);
                float *out = octave.row(level + i, y) + tile.x;
                HWY_DYNAMIC_DISPATCH(blur_horizontally)
                (work.columns[i], group, i, out, end - tile.x);
            }
        }
    }

    /// Hardware does not look ahead from row to row. Inlined by force: see prefetch().
    static HWY_INLINE void prefetch_row(const float *row, int first, int last) {
        for (int x = first; x < last; x += cache_line)
            __builtin_prefetch(row + x);
    }

    /// Fills in what a filter reads outside the picture.
    static void mirror(float *row, int radius, int first, int last, int width) {
        for (int x = first - radius; x < 0; x++)
            row[x] = row[reflect(x, width)];
        for (int x = width; x < last + radius; x++)
            row[x] = row[reflect(x, width)];
    }

    /// Rows of a tile begin with an even one.
    void halve(const Octave &from, const Octave &to, Tile tile) const {
        const int length = std::min(end_of(from, tile.x) / 2, to.width) - tile.x / 2;
        for (int y = tile.first / 2; y < std::min((tile.last + 1) / 2, to.height); y++) {
            const float *row = from.row(params_.octave_layers, 2 * y) + tile.x;
            HWY_DYNAMIC_DISPATCH(halve_row)(row, to.row(0, y) + tile.x / 2, length);
        }
    }

    // Extrema.

    /// All neighbours in these rows are there, and those in the columns of this tile and the one
    /// before.
    void search_tile(int number, Tile tile, const Workspace &work) {
        const Octave &octave = octaves_[number];
        const int left = std::max(tile.x - 1, sift_border);
        const int right = std::min(tile.x + tile_columns - 1, octave.width - sift_border);
        const int top = std::max(tile.first, sift_border);
        const int bottom = std::min(tile.last, octave.height - sift_border);
        for (int y = top; y < bottom && left < right; y++) {
            const std::size_t count = HWY_DYNAMIC_DISPATCH(find_extrema)(
                octave, params_.octave_layers, params_.least_difference(), y, left, right,
                work.hits);
            for (std::size_t i = 0; i < count; i++)
                consider(number, work.hits[i].layer, y, work.hits[i].x);
        }
    }

    /// The rows on either side of where bands meet.
    void search_seams(int number, int band) {
        const Octave &octave = octaves_[number];
        parallel_bands((octave.height - 1) / band, 1, workers_, [&](int worker, int i, int) {
            const Workspace work = workspace(worker);
            const int y = (i + 1) * band;
            for (int x = 0; x < octave.width; x += tile_columns)
                search_tile(number, {x, y - 1, y + 1}, work);
        });
    }

    static SubpixelFit fit_at(const Octave &octave, int layer, int y, int x) {
        return subpixel_fit(
            [&](int i, int v, int u) { return octave.difference(layer + i, y + v, x + u); });
    }

    bool has_layer(int layer) const { return layer >= 1 && layer <= params_.octave_layers; }

    /// An extremum at a pixel becomes a candidate if it is one or leads to another.
    void consider(int number, int layer, int y, int x) {
        const SubpixelFit fit = fit_at(octaves_[number], layer, y, x);
        if (fit.converged() ? !fit.counts(params_)
                            : !fit.finite() || !has_layer(layer + step_of(fit.ds)))
            return;
        const std::int64_t index = candidates_.fetch_add(1, std::memory_order_relaxed);
        if (index < capacity_)
            extrema_[index] = {.x = x,
                               .y = y,
                               .octave = static_cast<std::int16_t>(number),
                               .layer = static_cast<std::int16_t>(layer)};
    }

    /// From a candidate to an extremum; false if it leads to none.
    bool settle(Extremum &e) const {
        const Octave &octave = octaves_[e.octave];
        const auto lies = [](int i, int size) {
            return i >= sift_border && i < size - sift_border;
        };
        SubpixelFit fit = fit_at(octave, e.layer, e.y, e.x);
        for (int move = 1; !fit.converged(); move++) {
            if (move == most_moves || !fit.finite())
                return false;
            const int layer = e.layer + step_of(fit.ds);
            e.x += step_of(fit.dx);
            e.y += step_of(fit.dy);
            if (!has_layer(layer) || !lies(e.x, octave.width) || !lies(e.y, octave.height))
                return false;
            e.layer = static_cast<std::int16_t>(layer);
            fit = fit_at(octave, e.layer, e.y, e.x);
        }
        e.dx = fit.dx;
        e.dy = fit.dy;
        e.ds = fit.ds;
        e.response = fit.contrast;
        return fit.counts(params_);
    }

    // Features.

    void finish(const SiftRun &run) {
        overflow_ = candidates_ > capacity_;
        if (overflow_) {
            found_ = {sizeof found_, 0, clamped(candidates_), 0};
            return;
        }
        const int count = settle_all(run);
        orient(count);
        rank(count);
        std::int64_t total = 0;
        for (int i = 0; i < count; i++) {
            offsets_[ranked_[i]] = total;
            total += peaks_[ranked_[i]].count;
        }
        overflow_ = total > most_kept_;
        if (overflow_) {
            found_ = {sizeof found_, 0, clamped(total), 0};
            return;
        }
        std::int64_t kept = total;
        if (params_.max_features > 0)
            kept = std::min<std::int64_t>(kept, params_.max_features);
        if (run.keypoints)
            kept = std::min(kept, run.keypoints->capacity);
        write(run, count, kept);
        kept_count_ = kept;
        found_ = {sizeof found_, clamped(kept), clamped(total - kept), 0};
    }

    static std::int32_t clamped(std::int64_t number) {
        return static_cast<std::int32_t>(
            std::min<std::int64_t>(number, std::numeric_limits<std::int32_t>::max()));
    }

    /// Returns how many extrema there are.
    int settle_all(const SiftRun &run) {
        constexpr float dropped = -1;
        const auto number = static_cast<int>(candidates_);
        parallel_bands(number, band_of_features, workers_, [&](int, int first, int last) {
            for (Extremum *e = extrema_ + first; e < extrema_ + last; e++)
                if (!settle(*e) || (run.mask && !lies_in(*run.mask, *e)))
                    e->response = dropped;
        });
        Extremum *end = extrema_ + number;
        end = std::remove_if(extrema_, end, [](const auto &e) { return e.response == dropped; });
        std::sort(extrema_, end,
                  [](const auto &a, const auto &b) { return place_of(a) < place_of(b); });
        end = std::unique(extrema_, end,
                          [](const auto &a, const auto &b) { return place_of(a) == place_of(b); });
        return static_cast<int>(end - extrema_);
    }

    bool lies_in(const Image &mask, const Extremum &extremum) const {
        return in_mask(extremum.keypoint(params_), mask.width, mask.height,
                       [&](int x, int y) { return static_cast<int>(mask.planes[0].row(y)[x]); });
    }

    void rank(int count) {
        std::iota(ranked_, ranked_ + count, 0);
        std::sort(ranked_, ranked_ + count, [&](std::int32_t a, std::int32_t b) {
            const float left = extrema_[a].response, right = extrema_[b].response;
            return left > right || (left == right && a < b);
        });
    }

    void orient(int count) {
        parallel_bands(count, band_of_features, workers_, [&](int, int first, int last) {
            for (int i = first; i < last; i++) {
                if (params_.upright)
                    peaks_[i] = {1, {}};
                else
                    find_peaks(extrema_[i], peaks_[i]);
            }
        });
    }

    void find_peaks(const Extremum &extremum, Peaks &peaks) const {
        const Octave &octave = octaves_[extremum.octave];
        const float scale = extremum.scale(params_);
        const int radius = orientation_radius(scale);
        const Weights weights(radius, 1.5f * scale);
        std::uint32_t sums[orientation_bins] = {};
        HWY_DYNAMIC_DISPATCH(sum_directions)(octave, extremum, radius, weights, sums);
        float smooth[orientation_bins];
        for (int i = 0; i < orientation_bins; i++)
            smooth[i] = smooth_bin(i, [&](int b) { return sums[b]; });
        const float greatest = *std::max_element(smooth, smooth + orientation_bins);
        peaks.count = 0;
        for (int i = 0; i < orientation_bins; i++) {
            const float left = smooth[(i + orientation_bins - 1) % orientation_bins];
            const float right = smooth[(i + 1) % orientation_bins];
            if (is_peak(left, smooth[i], right, greatest))
                peaks.angles[peaks.count++] = peak_angle(i, left, smooth[i], right);
        }
        std::sort(peaks.angles, peaks.angles + peaks.count);
    }

    void write(const SiftRun &run, int count, std::int64_t kept) const {
        parallel_bands(count, band_of_features, workers_, [&](int, int first, int last) {
            for (int i = first; i < last; i++)
                for (int j = 0; j < peaks_[i].count && offsets_[i] + j < kept; j++)
                    write_feature(run, extrema_[i], peaks_[i].angles[j], offsets_[i] + j);
        });
    }

    void write_feature(const SiftRun &run, const Extremum &extremum, float angle,
                       std::int64_t index) const {
        Keypoint keypoint = extremum.keypoint(params_);
        keypoint.angle = angle;
        kept_[index] = keypoint;
        if (run.keypoints)
            (*run.keypoints)[index] = keypoint;
        if (run.descriptors)
            describe_window(window_of(extremum.octave, extremum.layer,
                                      static_cast<float>(extremum.x) + extremum.dx,
                                      static_cast<float>(extremum.y) + extremum.dy,
                                      extremum.scale(params_), angle),
                            run.descriptors->data + params_.descriptor_bytes() * index);
    }

    // Descriptors.

    void describe_window(const Window &window, std::byte *out) const {
        std::uint32_t sums[sift_length] = {};
        HWY_DYNAMIC_DISPATCH(sum_window)(octaves_[window.octave], window, sums);
        normalize(sums, out);
    }

    /// Of four numbers of each of 32 lanes, and of the lanes two by two.
    template <class Term>
    static float sum_of(const float *numbers, Term term) {
        constexpr int lanes = sift_length / 4;
        float q[lanes];
        for (int i = 0; i < lanes; i++) {
            const float *n = numbers + 4 * i;
            q[i] = term(n[0]) + term(n[1]) + term(n[2]) + term(n[3]);
        }
        for (int half = lanes / 2; half > 0; half /= 2)
            for (int i = 0; i < half; i++)
                q[i] += q[i + half];
        return q[0];
    }

    void normalize(const std::uint32_t *sums, std::byte *out) const {
        const auto square = [](float x) { return x * x; };
        float v[sift_length];
        for (int i = 0; i < sift_length; i++)
            v[i] = static_cast<float>(sums[i]);
        const float limit = 0.2f * std::sqrt(sum_of(v, square));
        for (float &number : v)
            number = std::min(number, limit);
        const float length = std::sqrt(sum_of(v, square));
        for (float &number : v)
            number = length > 0 ? number / length : 0.0f;
        if (params_.root) {
            const float sum = sum_of(v, [](float x) { return x; });
            for (float &number : v)
                number = sum > 0 ? std::sqrt(number / sum) : 0.0f;
        }
        if (params_.type == SiftType::f32)
            std::memcpy(out, v, sizeof v);
        else
            for (int i = 0; i < sift_length; i++)
                out[i] = static_cast<std::byte>(std::min(255, static_cast<int>(512 * v[i] + 0.5f)));
    }

    SiftParams params_;
    BlurGroup first_group_;
    std::array<BlurGroup, (most_levels + most_group - 2) / most_group> groups_;
    SiftFound found_{};
    bool overflow_ = false;

    int workers_ = 1;
    int width_ = 0; ///< of the picture
    Buffer scratch_;

    Octave octaves_[most_octaves];
    std::int64_t capacity_ = 0;  ///< extrema
    std::int64_t most_kept_ = 0; ///< keypoints
    std::atomic<std::int64_t> candidates_{0};
    Extremum *extrema_ = nullptr;    ///< candidates, then extrema by their places
    std::int32_t *ranked_ = nullptr; ///< indices of extrema, by falling response
    Peaks *peaks_ = nullptr;         ///< of each extremum
    Keypoint *kept_ = nullptr;       ///< of the last run
    std::size_t kept_count_ = 0;
    std::int64_t *offsets_ = nullptr; ///< where the keypoints of each begin in the output
    std::byte *workspaces_ = nullptr;
    std::size_t workspace_bytes_ = 0; ///< of one thread
};

} // namespace

std::unique_ptr<Sift> make_sift(std::shared_ptr<Context> context) {
    return std::make_unique<CpuSift>(std::move(context));
}

} // namespace gpv::cpu
#endif
