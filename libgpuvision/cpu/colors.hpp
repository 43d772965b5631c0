// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/color.hpp"

/// How the colours of pixels are read.
namespace gpv::cpu {

/// Samples behind the last one of a row that ColorReader may read and write: more than a vector
/// has.
inline constexpr std::size_t color_row_padding = 256;

/// Reads rows of an image, of one, three or four channels of bytes or in YUV, as colours in RGB.
class ColorReader {
  public:
    explicit ColorReader(const Image &src) : src_(src), transform_(RgbTransform::of(src)) {}

    /// Writes R, G and B of the pixels of row y to rows, which are padded by color_row_padding.
    void read(int y, std::uint8_t *const *rows) const;

  private:
    const std::uint8_t *row(int plane, int y) const {
        return reinterpret_cast<const std::uint8_t *>(src_.planes[plane].row(y));
    }

    Image src_;
    RgbTransform transform_;
};

} // namespace gpv::cpu
