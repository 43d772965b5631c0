// SPDX-License-Identifier: BSD-2-Clause
// Finds candidates in the levels, and settles them where they converge.
#include "cpu/sift_internal.hpp"

#include <algorithm>
#include <bit>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/sift_extrema.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/sift_vectors.hpp"

HWY_BEFORE_NAMESPACE();
namespace gpv::cpu::sift::HWY_NAMESPACE {
namespace {

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
    /// The maximum of `maximum` and three neighbours in a row; sign turns minima that are sought
    /// into maxima.
    HWY_INLINE Vector max_in_row(int i, int dy, Vector sign, Vector maximum) const {
        maximum = hn::Max(maximum, hn::Xor(sign, at(i, dy, -1)));
        maximum = hn::Max(maximum, hn::Xor(sign, at(i, dy, 0)));
        return hn::Max(maximum, hn::Xor(sign, at(i, dy, 1)));
    }
};

/// Writes the extrema among the pixels of a row, first <= x < last; returns how many there are.
std::size_t find_extrema(const Octave &octave, int layers, float minimum, int y, std::size_t first,
                         std::size_t last, Hit *hits) {
    const Floats d;
    const std::size_t lanes = hn::Lanes(d);
    std::size_t count = 0;
    for (std::size_t x = first; x < last; x += lanes) {
        const Differences differences{octave, x, y};
        const auto valid = hn::FirstN(d, last - x);
        for (int layer = 1; layer <= layers; layer++) {
            const Vector here = differences.at(layer, 0, 0), size = hn::Abs(here);
            auto mask = hn::And(valid, hn::Gt(size, hn::Set(d, minimum)));
            if (hn::AllFalse(d, mask))
                continue;
            const Vector sign = hn::And(here, hn::SignBit(d));
            Vector maximum = differences.max_in_row(layer, 0, sign, size);
            mask = hn::And(mask, hn::Ge(size, maximum));
            if (hn::AllFalse(d, mask))
                continue;
            maximum = differences.max_in_row(layer, -1, sign, maximum);
            maximum = differences.max_in_row(layer, 1, sign, maximum);
            mask = hn::And(mask, hn::Ge(size, maximum));
            if (hn::AllFalse(d, mask))
                continue;
            for (int dy = -1; dy <= 1; dy++) {
                maximum = differences.max_in_row(layer - 1, dy, sign, maximum);
                maximum = differences.max_in_row(layer + 1, dy, sign, maximum);
            }
            mask = hn::And(mask, hn::Ge(size, maximum));
            std::uint64_t bits = 0; // StoreMaskBits may write eight bytes
            hn::StoreMaskBits(d, mask, reinterpret_cast<std::uint8_t *>(&bits));
            for (bits &= (std::uint64_t{1} << lanes) - 1; bits; bits &= bits - 1)
                hits[count++] = {static_cast<std::uint16_t>(x + std::countr_zero(bits)),
                                 static_cast<std::uint16_t>(layer)};
        }
    }
    return count;
}

} // namespace
} // namespace gpv::cpu::sift::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gpv::cpu::sift {
namespace {

HWY_EXPORT(find_extrema);

SubpixelFit fit_at(const Octave &octave, int layer, int y, int x) {
    return subpixel_fit(
        [&](int i, int v, int u) { return octave.difference(layer + i, y + v, x + u); });
}

} // namespace

/// All neighbours in these rows are there, and those in the columns of this tile and the one
/// before.
void CpuSift::search_tile(int number, Tile tile, const Workspace &work) {
    const Octave &octave = octaves_[number];
    const int left = std::max(tile.x - 1, sift_border);
    const int right = std::min(tile.x + tile_columns - 1, octave.width - sift_border);
    const int top = std::max(tile.first, sift_border);
    const int bottom = std::min(tile.last, octave.height - sift_border);
    for (int y = top; y < bottom && left < right; y++) {
        const std::size_t count = HWY_DYNAMIC_DISPATCH(find_extrema)(
            octave, params_.octave_layers, params_.min_difference(), y, left, right, work.hits);
        for (std::size_t i = 0; i < count; i++)
            consider(number, work.hits[i].layer, y, work.hits[i].x);
    }
}

/// The rows on either side of where bands meet.
void CpuSift::search_seams(int number, int band) {
    const Octave &octave = octaves_[number];
    parallel_bands((octave.height - 1) / band, 1, workers_, [&](int worker, int i, int) {
        const Workspace work = workspace(worker);
        const int y = (i + 1) * band;
        for (int x = 0; x < octave.width; x += tile_columns)
            search_tile(number, {x, y - 1, y + 1}, work);
    });
}

bool CpuSift::has_layer(int layer) const {
    return layer >= 1 && layer <= params_.octave_layers;
}

/// An extremum at a pixel becomes a candidate if it is one or leads to another.
void CpuSift::consider(int number, int layer, int y, int x) {
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
bool CpuSift::settle(Extremum &e) const {
    const Octave &octave = octaves_[e.octave];
    const auto lies = [](int i, int size) { return i >= sift_border && i < size - sift_border; };
    SubpixelFit fit = fit_at(octave, e.layer, e.y, e.x);
    for (int move = 1; !fit.converged(); move++) {
        if (move == max_moves || !fit.finite())
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

} // namespace gpv::cpu::sift
#endif
