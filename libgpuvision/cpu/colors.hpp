// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/pixels.hpp"

/// How the colours and the luma of pixels are read, whatever the format of the picture.
namespace gpv::cpu {

/// row(plane, y) of Pixels.
inline auto rows_of(const Image &image) {
    return [&image](int plane, int y) {
        return reinterpret_cast<std::uint8_t *>(image.planes[plane].row(y));
    };
}

/// The luma of row y as bytes, of 16 bits the upper ones: those of the image where it has such a
/// row, else in scratch, which has room for width bytes.
const std::uint8_t *luma_bytes(const Image &src, int y, std::uint8_t *scratch);

/// Samples behind the last one of a row that ColorReader may read and write: more than a vector
/// has.
inline constexpr std::size_t color_row_padding = 256;

/// Reads rows of a picture as colours in RGB.
class ColorReader {
  public:
    explicit ColorReader(const Image &src) : src_(src), pixels_(src) {}

    /// Writes R, G and B of the pixels of row y to rows, which are padded by color_row_padding.
    void read(int y, std::uint8_t *const *rows) const;

  private:
    const std::uint8_t *row(int plane, int y) const {
        return reinterpret_cast<const std::uint8_t *>(src_.planes[plane].row(y));
    }

    void read_interleaved(int y, std::uint8_t *const *rows) const;
    void read_yuv(int y, std::uint8_t *const *rows) const;
    void read_wide(int y, std::uint8_t *const *rows) const;

    Image src_;
    Pixels pixels_;
};

} // namespace gpv::cpu
