// SPDX-License-Identifier: BSD-2-Clause
// The descriptors of keypoints.
#include "cpu/sift_internal.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/sift_describe.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/sift_vectors.hpp"

HWY_BEFORE_NAMESPACE();
namespace gpv::cpu::sift::HWY_NAMESPACE {
namespace {

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

/// Half of a record for each lane: what belongs to one row of cells, as distribute() of core.
HWY_INLINE void store_amounts(Vector in_row, Vector column, Vector direction, std::int32_t *out) {
    const Vector right = hn::Mul(in_row, column), left = hn::Sub(in_row, right);
    const Whole upper_left = rounded(hn::Mul(left, direction));
    const Whole upper_right = rounded(hn::Mul(right, direction));
    hn::StoreInterleaved4(hn::Sub(rounded(left), upper_left), upper_left,
                          hn::Sub(rounded(right), upper_right), upper_right, Ints(), out);
}

/// The amounts of pixels, and where their records begin.
struct Amounts {
    alignas(64) std::int32_t starts[max_lanes];
    alignas(64) std::int32_t halves[2][record_length / 2 * max_lanes];

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
    const PixelRange rows = columns.rows;
    for (int dy = rows.first - 1; dy < std::min(rows.first, rows.last) + window_rows_ahead; dy++)
        prefetch(octave, window.layer, window.x, window.y + dy, columns.of(dy));
    for (int dy = rows.first; dy <= rows.last; dy++) {
        const int ahead = dy + window_rows_ahead;
        prefetch(octave, window.layer, window.x, window.y + ahead, columns.of(ahead));
        const PixelRange own = columns.of(dy);
        for (int dx = own.first; dx <= own.last; dx += lanes)
            add_pixels(window, {row(dy) + dx, octave.pitch}, dx, dy,
                       std::min(lanes, own.last - dx + 1), weights, records);
    }
    add_records(records, sums);
}

} // namespace
} // namespace gpv::cpu::sift::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gpv::cpu::sift {
namespace {

HWY_EXPORT(sum_window);

/// Of four numbers of each of 32 lanes, and of the lanes two by two.
template <class Term>
float sum_of(const float *numbers, Term term) {
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

} // namespace

void CpuSift::describe_window(const Window &window, std::byte *out) const {
    std::uint32_t sums[sift_length] = {};
    HWY_DYNAMIC_DISPATCH(sum_window)(octaves_[window.octave], window, sums);
    normalize(sums, out);
}

void CpuSift::normalize(const std::uint32_t *sums, std::byte *out) const {
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
    if (params_.root_sift) {
        const float sum = sum_of(v, [](float x) { return x; });
        for (float &number : v)
            number = sum > 0 ? std::sqrt(number / sum) : 0.0f;
    }
    if (params_.descriptor_type == GPV_SIFT_DESCRIPTOR_TYPE_F32)
        std::memcpy(out, v, sizeof v);
    else
        for (int i = 0; i < sift_length; i++)
            out[i] = static_cast<std::byte>(std::min(255, static_cast<int>(512 * v[i] + 0.5f)));
}

} // namespace gpv::cpu::sift
#endif
