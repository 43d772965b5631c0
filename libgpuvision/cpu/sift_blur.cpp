// SPDX-License-Identifier: BSD-2-Clause
// Makes the levels: from the picture, and of each octave from its first one.
#include "cpu/sift_internal.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "cpu/colors.hpp"
#include "cpu/rows.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/sift_blur.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/sift_vectors.hpp"

HWY_BEFORE_NAMESPACE();
namespace gpv::cpu::sift::HWY_NAMESPACE {
namespace {

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

} // namespace
} // namespace gpv::cpu::sift::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gpv::cpu::sift {
namespace {

HWY_EXPORT(blur_vertically);
HWY_EXPORT(blur_horizontally);
HWY_EXPORT(double_row);
HWY_EXPORT(halve_row);

constexpr int rows_ahead = 2; ///< of those that are being blurred

/// Index of the sample that stands for the i-th: mirrored, without repeating those at the edges.
int reflect(int i, int size) {
    const int period = 2 * (size - 1);
    i = std::abs(i) % period;
    return i < size ? i : period - i;
}

/// Leaves the row in work.luma[i], with one more copy of its first and its last pixel.
const std::uint8_t *read_luma(const Image &src, int y, const Workspace &work, int i) {
    std::uint8_t *luma = work.luma[i];
    const std::uint8_t *row = luma_bytes(src, y, luma);
    if (row != luma)
        std::memcpy(luma, row, src.width);
    luma[-1] = luma[0];
    luma[src.width] = luma[src.width - 1];
    return luma;
}

int end_of(const Octave &octave, int x) {
    return std::min(x + tile_columns, octave.width);
}

/// Hardware does not look ahead from row to row. Inlined by force: see prefetch().
HWY_INLINE void prefetch_row(const float *row, int first, int last) {
    for (int x = first; x < last; x += cache_line)
        __builtin_prefetch(row + x);
}

/// Fills in what a filter reads outside the picture.
void mirror(float *row, int radius, int first, int last, int width) {
    for (int x = first - radius; x < 0; x++)
        row[x] = row[reflect(x, width)];
    for (int x = width; x < last + radius; x++)
        row[x] = row[reflect(x, width)];
}

/// Makes levels from the level-th on from work.rows.
void blur_tile(const Octave &octave, const BlurGroup &group, int level, Tile tile,
               const Workspace &work) {
    const int reach = group.reach(), end = end_of(octave, tile.x);
    const int low = std::max(tile.x - reach, 0) & -static_cast<int>(max_lanes);
    const int high = std::min(end + reach, octave.width);
    float *columns[max_group];
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

} // namespace

void CpuSift::make_first_level(const Image &src) const {
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

/// Of the picture, doubled if it is.
void CpuSift::read_row(const Image &src, int y, float *out, const Workspace &work) const {
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

/// From level 0, so many levels, the first of which is that; then level 0 of the next octave.
void CpuSift::make_octave(int number, int levels, bool next, bool searched) {
    const Octave &octave = octaves_[number];
    const int band = std::clamp(octave.height / (4 * workers_), 16, max_band) & ~1;
    parallel_bands(octave.height, band, workers_, [&](int worker, int first, int last) {
        const Workspace work = workspace(worker);
        for (int x = 0; x < octave.width; x += tile_columns) {
            blur_levels(octave, levels, {x, first, last}, work);
            if (next)
                halve(octave, octaves_[number + 1], {x, first, last});
            if (searched) // what lies at a border of bands comes later
                search_tile(number, {x, first + (first > 0), last - (last < octave.height)}, work);
        }
    });
    if (searched)
        search_seams(number, band);
}

void CpuSift::blur_levels(const Octave &octave, int levels, Tile tile,
                          const Workspace &work) const {
    for (int i = 1; i < levels; i += max_group) {
        BlurGroup group = groups_[(i - 1) / max_group];
        group.count = std::min(group.count, levels - i);
        const int reach = group.reach();
        for (int y = tile.first - reach; y < tile.last + reach; y++)
            work.rows[y - tile.first + reach] = octave.row(0, reflect(y, octave.height));
        blur_tile(octave, group, i, tile, work);
    }
}

/// Rows of a tile begin with an even one.
void CpuSift::halve(const Octave &from, const Octave &to, Tile tile) const {
    const int length = std::min(end_of(from, tile.x) / 2, to.width) - tile.x / 2;
    for (int y = tile.first / 2; y < std::min((tile.last + 1) / 2, to.height); y++) {
        const float *row = from.row(params_.octave_layers, 2 * y) + tile.x;
        HWY_DYNAMIC_DISPATCH(halve_row)(row, to.row(0, y) + tile.x / 2, length);
    }
}

} // namespace gpv::cpu::sift
#endif
