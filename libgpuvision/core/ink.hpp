// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "core/pixels.hpp"

namespace gpv {

/// 0xRRGGBB
constexpr Color rgb_color(std::uint32_t rgb) {
    const auto byte = [rgb](int shift) { return static_cast<int>(rgb >> shift & 255); };
    return {byte(16), byte(8), byte(0)};
}

/// The colour to draw with, in the format of the image.
struct Ink {
    Pixels pixels;
    int values[max_channels]; ///< of each channel

    Ink(const Image &dst, const Color &color) : pixels(dst), values{} {
        for (int c = 0; c < pixels.count; c++)
            values[c] = pixels.value(c, color);
    }

    /// row(plane, y): start of a row. Pixels outside the image are skipped.
    template <class Row>
    constexpr void put(int x, int y, Row row) const {
        if (x < 0 || y < 0 || x >= pixels.width || y >= pixels.height)
            return;
        for (int c = 0; c < pixels.count; c++)
            pixels.put(c, x, y, values[c], row);
    }
};

} // namespace gpv
