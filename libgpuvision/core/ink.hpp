// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "core/color.hpp"
#include "core/image.hpp"

namespace gpv {

/// 0xRRGGBB
constexpr Color rgb_color(std::uint32_t rgb) {
    const auto byte = [rgb](int shift) { return static_cast<int>(rgb >> shift & 255); };
    return {byte(16), byte(8), byte(0)};
}

/// The colour to draw with, in the format of the image.
struct Ink {
    int width, height;
    int channels;          ///< channels of the first plane
    int chroma_channels;   ///< 2: NV12; 1: I420; 0: no chroma
    std::uint8_t first[4]; ///< value of each channel of the first plane
    std::uint8_t u, v;

    Ink(const Image &dst, const Color &color);

    /// row(plane, y): start of a row. Pixels outside the image are skipped.
    template <class Row>
    constexpr void put(int x, int y, Row row) const {
        if (x < 0 || y < 0 || x >= width || y >= height)
            return;
        std::uint8_t *pixel = row(0, y) + std::int64_t{x} * channels;
        for (int c = 0; c < channels; c++)
            pixel[c] = first[c];
        if (chroma_channels == 0)
            return;
        std::uint8_t *site = row(1, y / 2) + std::int64_t{x / 2} * chroma_channels;
        *site = u;
        *(chroma_channels == 2 ? site + 1 : row(2, y / 2) + x / 2) = v;
    }
};

} // namespace gpv
