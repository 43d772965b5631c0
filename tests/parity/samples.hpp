// SPDX-License-Identifier: BSD-2-Clause
// The samples of pictures in every format, and what they mean.
#pragma once

#include "parity.hpp"

namespace parity {

inline const std::vector<gpv_format> &picture_formats = formats::pictures;

/// R, G and B in 16-bit fixed point, of samples of 16 bits in 21-bit fixed point, rounded and
/// clamped.
class RgbOfYuv {
  public:
    explicit RgbOfYuv(const gpv_image &image) : wide_(sample_bytes(image.format) == 2) {
        const auto [kr, kg, kb] = luma_weights(image);
        const bool full = image.color_range == GPV_COLOR_RANGE_FULL;
        const int unit = !wide_ ? 1 : full ? 257 : 256;
        const double luma = full ? 1 : 255.0 / 219, chroma = full ? 1 : 255.0 / 224;
        black_ = full ? 0 : 16 * unit;
        const double rows[3][3] = {
            {luma, 0, 2 * (1 - kr) * chroma},
            {luma, -2 * (1 - kb) * kb / kg * chroma, -2 * (1 - kr) * kr / kg * chroma},
            {luma, 2 * (1 - kb) * chroma, 0}};
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++)
                rows_[i][k] = std::llround(one() * rows[i][k] / unit);
    }
    Rgb operator()(int y, int u, int v) const {
        const int grey = wide_ ? 32768 : 128;
        const auto channel = [&](int i) {
            const std::int64_t sum =
                rows_[i][0] * (y - black_) + rows_[i][1] * (u - grey) + rows_[i][2] * (v - grey);
            return std::clamp(static_cast<int>(std::floor(sum / one() + 0.5)), 0, 255);
        };
        return {channel(0), channel(1), channel(2)};
    }

  private:
    double one() const { return wide_ ? 2097152.0 : 65536.0; }
    bool wide_;
    int black_;
    std::int64_t rows_[3][3];
};

/// The channels of a picture: grey; R, G and B; or Y, U and V; and then what is alpha or unused.
class Samples {
  public:
    /// Which may be written if image is not constant.
    explicit Samples(const GuardedImage &image)
        : image_(image), view_(*image.view()), channels_(formats::channels_of(view_.format)),
          wide_(sample_bytes(view_.format) == 2), to_rgb_(view_) {}

    bool grey() const { return channels() == 1; }
    bool yuv() const { return is_yuv(view_.format); }
    bool wide() const { return wide_; }
    int largest() const { return wide_ ? 65535 : 255; }
    int channels() const { return static_cast<int>(channels_.size()); }

    /// How many pixels of a row, or rows, share a sample.
    int across(int channel) const { return at(channel).across; }
    int down(int channel) const { return at(channel).down; }
    int columns(int channel) const { return (view_.width + across(channel) - 1) / across(channel); }
    int rows(int channel) const { return (view_.height + down(channel) - 1) / down(channel); }

    /// The i-th sample of a row of samples.
    int get(int channel, int i, int row) const {
        const std::uint8_t *p = place(channel, i, row);
        std::uint16_t value = *p;
        if (wide_)
            std::memcpy(&value, p, sizeof value);
        return value;
    }
    void set(int channel, int i, int row, int value) const {
        const auto sample = static_cast<std::uint16_t>(value);
        if (wide_)
            std::memcpy(place(channel, i, row), &sample, sizeof sample);
        else
            *place(channel, i, row) = static_cast<std::uint8_t>(value);
        if (channel == 0 && at(0).step == 2 && i + 1 == view_.width && i % 2 == 0)
            place(0, i + 1, row)[0] = static_cast<std::uint8_t>(value);
    }

    /// f(channel, i, row) of every sample.
    template <class F>
    void each(F f) const {
        for (int c = 0; c < channels(); c++)
            for (int row = 0; row < rows(c); row++)
                for (int i = 0; i < columns(c); i++)
                    f(c, i, row);
    }
    /// f(x, y) of every pixel that has a sample.
    template <class F>
    void each_pixel_of(int channel, int i, int row, F f) const {
        for (int y = row * down(channel); y < std::min((row + 1) * down(channel), view_.height);
             y++)
            for (int x = i * across(channel); x < std::min((i + 1) * across(channel), view_.width);
                 x++)
                f(x, y);
    }

    // ---- colours --------------------------------------------------------------------

    /// In 8 bits.
    Rgb color(int x, int y) const {
        const int first = get(0, x, y);
        if (grey()) {
            const int v = wide_ ? (first + 128) / 257 : first;
            return {v, v, v};
        }
        const int second = get(1, x / across(1), y / down(1)),
                  third = get(2, x / across(2), y / down(2));
        return yuv() ? to_rgb_(first, second, third) : Rgb{first, second, third};
    }
    /// As many bits as a sample.
    int luma(int x, int y) const {
        if (grey() || yuv())
            return get(0, x, y);
        return luma_of(color(x, y));
    }
    static int luma_of(const Rgb &c) { return (77 * c[0] + 150 * c[1] + 29 * c[2] + 128) / 256; }

    /// What 8 bits of a channel become.
    int stored(int channel, int byte) const {
        if (!wide_)
            return byte;
        const int unit = yuv() && view_.color_range != GPV_COLOR_RANGE_FULL ? 256 : 257;
        return channel == 0 ? byte * unit : std::min(32768 + (byte - 128) * unit, 65535);
    }
    int neutral() const { return wide_ ? 32768 : 128; }
    /// Of each channel, what a colour becomes in 8 bits; the fourth is opaque.
    std::array<int, 4> bytes_of(const Rgb &c) const {
        if (grey())
            return {luma_of(c)};
        if (!yuv())
            return {c[0], c[1], c[2], 255};
        const Rgb yuv = yuv_of(view_, c);
        return {yuv[0], std::min(yuv[1], 255), std::min(yuv[2], 255)};
    }

  private:
    const formats::Channel &at(int channel) const {
        return channels_[static_cast<std::size_t>(channel)];
    }
    std::uint8_t *place(int channel, int i, int row) const {
        const formats::Channel &c = at(channel);
        return image_.row(c.plane, row) +
               (c.offset + std::ptrdiff_t{i} * c.step) * sample_bytes(view_.format);
    }

    const GuardedImage &image_;
    const gpv_image &view_;
    const std::vector<formats::Channel> channels_;
    const bool wide_;
    const RgbOfYuv to_rgb_;
};

} // namespace parity
