// SPDX-License-Identifier: BSD-2-Clause
#include "cpu/colors.hpp"

#include <cstring>

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

void ColorReader::read(int y, std::uint8_t *const *rows) const {
    const int channels = src_.shape(0).channels;
    if (channels > 1) {
        std::uint8_t *const reversed[3] = {rows[2], rows[1], rows[0]};
        std::uint8_t *const *order = blue_first(src_.format) ? reversed : rows;
        HWY_DYNAMIC_DISPATCH(split_row)(row(0, y), channels, order, src_.width);
    } else if (src_.plane_count() == 1) {
        for (int i = 0; i < 3; i++)
            std::memcpy(rows[i], row(0, y), src_.width);
    } else {
        std::memcpy(rows[0], row(0, y), src_.width);
        const std::uint8_t *v = src_.plane_count() == 3 ? row(2, y / 2) : nullptr;
        const int sites = src_.shape(1).columns;
        HWY_DYNAMIC_DISPATCH(spread_chroma)(row(1, y / 2), v, rows, sites);
        HWY_DYNAMIC_DISPATCH(rgb_row)(transform_, rows, src_.width);
    }
}

} // namespace gpv::cpu
#endif
