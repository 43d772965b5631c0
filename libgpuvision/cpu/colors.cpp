// SPDX-License-Identifier: BSD-2-Clause
#include "cpu/colors.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/rows.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/colors.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gpv::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Interleaved channels to rows of their own; a fourth one is left out.
void split_row(const std::uint8_t *pixels, int channels, std::uint8_t *const *rows,
               std::size_t length) {
    const hn::ScalableTag<std::uint8_t> d;
    const std::size_t lanes = hn::Lanes(d);
    std::size_t x = 0;
    for (; x + lanes <= length; x += lanes) {
        hn::Vec<decltype(d)> first, second, third, fourth;
        if (channels == 3)
            hn::LoadInterleaved3(d, pixels + 3 * x, first, second, third);
        else
            hn::LoadInterleaved4(d, pixels + 4 * x, first, second, third, fourth);
        hn::StoreU(first, d, rows[0] + x);
        hn::StoreU(second, d, rows[1] + x);
        hn::StoreU(third, d, rows[2] + x);
    }
    for (; x < length; x++)
        for (int i = 0; i < 3; i++)
            rows[i][x] = pixels[channels * x + i];
}

/// The chroma of a row of sites to each of their pixels. v: null where U and V are pairs.
void spread_chroma(const std::uint8_t *u, const std::uint8_t *v, std::uint8_t *const *rows,
                   std::size_t sites) {
    const hn::ScalableTag<std::uint8_t> d;
    const std::size_t lanes = hn::Lanes(d);
    std::size_t x = 0;
    for (; x + lanes <= sites; x += lanes) {
        hn::Vec<decltype(d)> first, second;
        if (v) {
            first = hn::LoadU(d, u + x);
            second = hn::LoadU(d, v + x);
        } else {
            hn::LoadInterleaved2(d, u + 2 * x, first, second);
        }
        hn::StoreInterleaved2(first, first, d, rows[1] + 2 * x);
        hn::StoreInterleaved2(second, second, d, rows[2] + 2 * x);
    }
    for (; x < sites; x++)
        for (std::size_t i = 2 * x; i < 2 * x + 2; i++) {
            rows[1][i] = v ? u[x] : u[2 * x];
            rows[2][i] = v ? v[x] : u[2 * x + 1];
        }
}

/// Y, U and V, each of every pixel, to R, G and B, in whole vectors.
void rgb_row(const RgbTransform &transform, std::uint8_t *const *rows, std::size_t length) {
    const hn::ScalableTag<std::int32_t> d;
    const hn::Rebind<std::uint8_t, decltype(d)> d8;
    const auto load = [&](int i, std::size_t x, int offset) HWY_ATTR {
        return hn::Sub(hn::PromoteTo(d, hn::LoadU(d8, rows[i] + x)), hn::Set(d, offset));
    };
    const auto store = [&](auto sum, int i, std::size_t x) HWY_ATTR { // clamps
        hn::StoreU(hn::DemoteTo(d8, hn::ShiftRight<16>(sum)), d8, rows[i] + x);
    };
    const auto plus = [&](auto sum, auto v, int factor)
                          HWY_ATTR { return hn::Add(sum, hn::Mul(v, hn::Set(d, factor))); };
    for (std::size_t x = 0; x < length; x += hn::Lanes(d)) {
        const auto grey =
            plus(hn::Set(d, 32768), load(0, x, transform.luma_offset), transform.luma);
        const auto u = load(1, x, neutral_chroma8), v = load(2, x, neutral_chroma8);
        store(plus(grey, v, transform.red_v), 0, x);
        store(plus(plus(grey, u, transform.green_u), v, transform.green_v), 1, x);
        store(plus(grey, u, transform.blue_u), 2, x);
    }
}

} // namespace gpv::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gpv::cpu {

HWY_EXPORT(split_row);
HWY_EXPORT(spread_chroma);
HWY_EXPORT(rgb_row);

namespace {

/// One of every step samples.
template <class T, class F>
void gather(const T *from, int step, std::uint8_t *to, std::size_t length, F narrow) {
    for (std::size_t x = 0; x < length; x++)
        to[x] = static_cast<std::uint8_t>(narrow(from[x * step]));
}

/// Calls f(pixels, first, length) so that nothing in front of the row or behind it is read, where
/// colours do not begin with the pixel.
template <class F>
void for_interleaved(const std::uint8_t *row, int channels, int skip, int width, F f) {
    f(row + skip, 0, width - (skip > 0));
    if (skip > 0) {
        std::uint8_t last[4] = {};
        std::memcpy(last, row + std::ptrdiff_t{channels} * (width - 1) + skip, channels - skip);
        f(last, width - 1, 1);
    }
}

} // namespace

const std::uint8_t *luma_bytes(const Image &src, int y, std::uint8_t *scratch) {
    const FormatInfo &info = format_info(src.format);
    const auto row = rows_of(src);
    if (is_interleaved_rgb(src.format)) {
        const int skip = std::min(info.at[0].offset, info.at[2].offset);
        for_interleaved(row(0, y), info.channels, skip, src.width,
                        [&](const std::uint8_t *pixels, int first, int length) {
                            luma_row(pixels, info.channels, info.at[0].offset - skip,
                                     scratch + first, length);
                        });
    } else if (info.model == ColorModel::rgb) {
        const std::uint8_t *r = row(0, y), *g = row(1, y), *b = row(2, y);
        for (int x = 0; x < src.width; x++)
            scratch[x] = static_cast<std::uint8_t>(grey({r[x], g[x], b[x]}));
    } else if (info.sample_bytes == 2) {
        gather(reinterpret_cast<const std::uint16_t *>(row(0, y)), 1, scratch, src.width,
               [](int v) { return v >> 8; });
    } else if (info.at[0].step > 1) {
        gather(row(0, y) + info.at[0].offset, info.at[0].step, scratch, src.width,
               [](int v) { return v; });
    } else {
        return row(0, y);
    }
    return scratch;
}

void ColorReader::read(int y, std::uint8_t *const *rows) const {
    if (is_interleaved_rgb(src_.format))
        read_interleaved(y, rows);
    else if (pixels_.wide)
        read_wide(y, rows);
    else if (pixels_.model == ColorModel::yuv)
        read_yuv(y, rows);
    else
        for (int i = 0; i < 3; i++)
            std::memcpy(rows[i], row(i % src_.plane_count(), y), src_.width);
}

void ColorReader::read_interleaved(int y, std::uint8_t *const *rows) const {
    const int channels = src_.shape(0).channels;
    const int skip = std::min(pixels_.at[0].offset, pixels_.at[2].offset);
    const bool reversed = blue_first(src_.format);
    for_interleaved(row(0, y), channels, skip, src_.width,
                    [&](const std::uint8_t *pixels, int first, int length) {
                        std::uint8_t *const order[3] = {rows[reversed ? 2 : 0] + first,
                                                        rows[1] + first,
                                                        rows[reversed ? 0 : 2] + first};
                        HWY_DYNAMIC_DISPATCH(split_row)(pixels, channels, order, length);
                    });
}

void ColorReader::read_yuv(int y, std::uint8_t *const *rows) const {
    const Channel *const at = pixels_.at;
    const auto start = [&](int c) { return row(at[c].plane, y >> at[c].shift_y) + at[c].offset; };
    if (at[0].step == 1)
        std::memcpy(rows[0], start(0), src_.width);
    else
        gather(start(0), at[0].step, rows[0], src_.width, [](int v) { return v; });
    if (at[1].shift_x == 0) {
        for (int c = 1; c < 3; c++)
            std::memcpy(rows[c], start(c), src_.width);
    } else if (at[1].step == 4) {
        for (int c = 1; c < 3; c++)
            for (int x = 0; x < src_.width; x++)
                rows[c][x] = start(c)[x / 2 * 4];
    } else {
        std::uint8_t *const reversed[3] = {rows[0], rows[2], rows[1]};
        const int sites = src_.shape(1).columns;
        const bool pairs = at[1].plane == at[2].plane, v_first = pairs && at[1].offset > 0;
        HWY_DYNAMIC_DISPATCH(spread_chroma)
        (pairs ? row(1, y / 2) : start(1), pairs ? nullptr : start(2), v_first ? reversed : rows,
         sites);
    }
    HWY_DYNAMIC_DISPATCH(rgb_row)(pixels_.rgb, rows, src_.width);
}

void ColorReader::read_wide(int y, std::uint8_t *const *rows) const {
    const auto row16 = [&](int plane, int at) {
        return reinterpret_cast<const std::uint16_t *>(row(plane, at));
    };
    if (pixels_.model == ColorModel::gray) {
        for (int i = 0; i < 3; i++)
            gather(row16(0, y), 1, rows[i], src_.width, narrow_grey);
        return;
    }
    const std::uint16_t *luma = row16(0, y), *chroma = row16(1, y / 2);
    const RgbTransform transform = pixels_.rgb;
    for (int x = 0; x < src_.width; x++) {
        const Color c = transform.wide(luma[x], chroma[x / 2 * 2], chroma[x / 2 * 2 + 1]);
        rows[0][x] = static_cast<std::uint8_t>(c.red);
        rows[1][x] = static_cast<std::uint8_t>(c.green);
        rows[2][x] = static_cast<std::uint8_t>(c.blue);
    }
}

} // namespace gpv::cpu
#endif
