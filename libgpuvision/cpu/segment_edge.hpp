// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpv::cpu {

/// The colours of a picture, as planes, and the side of each of its pixels, 0 or 255.
struct EdgePicture {
    const std::uint8_t *colors[3];
    std::size_t stride; ///< of colors, bytes
    const std::uint8_t *sides;
    std::ptrdiff_t sides_stride;
    int width, height;
};

/// Writes alpha to rows first to last, of which there are edge_band_rows at most: out is the first.
void soften(const EdgePicture &picture, int first, int last, std::uint8_t *out,
            std::ptrdiff_t stride);
inline constexpr int edge_band_rows = 16;

} // namespace gpv::cpu
