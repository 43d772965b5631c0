// SPDX-License-Identifier: BSD-2-Clause
// Pixels of any picture, one by one: what all formats have in common. Where a format is frequent,
// whole rows of it are read or written at once elsewhere.
#pragma once

#include "core/color.hpp"
#include "core/image.hpp"

namespace gpv {

/// The channels of a picture. Its rows come from row(plane, y), a pointer to bytes.
struct Pixels {
    ColorModel model;
    bool wide; ///< samples of 16 bits
    int count; ///< channels of a pixel
    int width, height;
    Channel at[max_channels];
    RgbTransform rgb; ///< of YUV
    YuvTransform yuv; ///< of YUV
    Widening widen;

    explicit Pixels(const Image &image)
        : Pixels(image, format_info(image.format), image.width, image.height) {}

    // ---- samples ------------------------------------------------------------------------

    template <class Row>
    constexpr int sample(int channel, int x, int y, Row row) const {
        const Channel &c = at[channel];
        const auto *samples = row(c.plane, y >> c.shift_y);
        const std::int64_t i = place(c, x);
        return wide ? reinterpret_cast<const std::uint16_t *>(samples)[i] : samples[i];
    }

    /// Where two pixels share their bytes and the width is odd, the last one is repeated.
    template <class Row>
    constexpr void put(int channel, int x, int y, int value, Row row) const {
        const Channel &c = at[channel];
        auto *samples = row(c.plane, y >> c.shift_y);
        const std::int64_t i = place(c, x);
        if (wide)
            reinterpret_cast<std::uint16_t *>(samples)[i] = static_cast<std::uint16_t>(value);
        else
            samples[i] = static_cast<std::uint8_t>(value);
        if (channel == 0 && c.step == 2 && x % 2 == 0 && x == width - 1)
            samples[i + 2] = static_cast<std::uint8_t>(value);
    }

    /// Whether the pixel is the first one of a sample of the channel.
    constexpr bool begins(int channel, int x, int y) const {
        const Channel &c = at[channel];
        return (x & ((1 << c.shift_x) - 1)) == 0 && (y & ((1 << c.shift_y) - 1)) == 0;
    }

    /// Columns and rows of pixels that share their chroma.
    constexpr int site_width() const { return 1 << at[count > 1 ? 1 : 0].shift_x; }
    constexpr int site_height() const { return 1 << at[count > 1 ? 1 : 0].shift_y; }

    // ---- colours ------------------------------------------------------------------------

    /// Rounded to bytes.
    template <class Row>
    constexpr Color color(int x, int y, Row row) const {
        const int first = sample(0, x, y, row);
        if (model == ColorModel::gray) {
            const int v = wide ? narrow_grey(first) : first;
            return {v, v, v};
        }
        const int second = sample(1, x, y, row), third = sample(2, x, y, row);
        if (model == ColorModel::rgb)
            return {first, second, third};
        return wide ? rgb.wide(first, second, third) : rgb(first, second, third);
    }

    /// As the image stores it: of 16 bits where samples have so many.
    template <class Row>
    constexpr int luma(int x, int y, Row row) const {
        return model == ColorModel::rgb ? grey(color(x, y, row)) : sample(0, x, y, row);
    }

    /// What the channel has of a colour, in 8 bits; opaque where it is the fourth.
    constexpr int byte(int channel, const Color &c) const {
        if (model == ColorModel::gray)
            return grey(c);
        if (model == ColorModel::rgb)
            return channel == 0 ? c.red : channel == 1 ? c.green : channel == 2 ? c.blue : 255;
        return clamp_byte(channel == 0 ? yuv.y(c) : channel == 1 ? yuv.u(c) : yuv.v(c));
    }

    /// A byte as the image stores it.
    constexpr int stored(int channel, int byte) const {
        return !wide ? byte : channel > 0 ? widen.chroma(byte) : widen(byte);
    }

    constexpr int value(int channel, const Color &c) const {
        return stored(channel, byte(channel, c));
    }

    constexpr int neutral_chroma() const { return wide ? neutral_chroma16 : neutral_chroma8; }

  private:
    Pixels(const Image &image, const FormatInfo &info, int w, int h)
        : model(info.model), wide(info.sample_bytes == 2), count(info.count), width(w),
          height(h), at{info.at[0], info.at[1], info.at[2], info.at[3]},
          rgb(RgbTransform::of(image)), yuv(YuvTransform::of(image)), widen(Widening::of(image)) {}

    static constexpr std::int64_t place(const Channel &c, int x) {
        return c.offset + std::int64_t{x >> c.shift_x} * c.step;
    }
};

} // namespace gpv
