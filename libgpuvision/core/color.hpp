// SPDX-License-Identifier: BSD-2-Clause
// Colour conversions, in integers, so that every backend gets the same bytes.
#pragma once

#include <array>
#include <cstdint>

#include "core/image.hpp"

namespace gpv {

struct Color {
    int red, green, blue;
};

constexpr int grey(const Color &c) {
    return (77 * c.red + 150 * c.green + 29 * c.blue + 128) >> 8;
}

constexpr int clamp_byte(int value) {
    return value < 0 ? 0 : value > 255 ? 255 : value;
}

/// RGB to luma and chroma of 8 bits, in 16-bit fixed point. Full-range chroma can reach 256.
struct YuvTransform {
    struct Row {
        int red, green, blue, offset;
        constexpr int operator()(const Color &c) const {
            return (red * c.red + green * c.green + blue * c.blue + offset) >> 16;
        }
    };
    Row y, u, v;

    /// The transform for the matrix and range of a YUV image.
    static YuvTransform of(const Image &image);
};

/// Inverse of YuvTransform, from samples of 8 bits, or of 16 with wide(). Factors of 16 bits have
/// three fractional bits less than a byte's, so that sums stay below 2^31.
struct RgbTransform {
    int luma_offset;
    int luma, red_v, green_u, green_v, blue_u;

    static constexpr int shift = 16, wide_shift = 21;

    constexpr Color operator()(int y, int u, int v) const {
        return color<shift>(y, u - neutral_chroma8, v - neutral_chroma8);
    }
    constexpr Color wide(int y, int u, int v) const {
        return color<wide_shift>(y, u - neutral_chroma16, v - neutral_chroma16);
    }

    static RgbTransform of(const Image &image);

  private:
    template <int bits>
    constexpr Color color(int y, int u, int v) const {
        const int grey = luma * (y - luma_offset) + (1 << (bits - 1));
        return {clamp_byte((grey + red_v * v) >> bits),
                clamp_byte((grey + green_u * u + green_v * v) >> bits),
                clamp_byte((grey + blue_u * u) >> bits)};
    }
};

/// Bytes as samples of 16 bits. Those of YUV in limited range gain eight bits, all others become
/// the same share of what there is.
struct Widening {
    int factor;

    constexpr int operator()(int value) const { return value * factor; }
    constexpr int chroma(int value) const {
        const int wide = neutral_chroma16 + (value - neutral_chroma8) * factor;
        return wide > max_luma16 ? max_luma16 : wide;
    }

    static Widening of(const Image &image);
};

/// A sample of GRAY16 as a byte, rounded.
constexpr int narrow_grey(int value) {
    return (value + 128) / 257;
}

/// sRGB (IEC 61966-2-1) to CIE L*a*b* with white point D65 (CIE 15) and back, as bytes: 2.55 L*,
/// a* + 128, b* + 128. Each byte is at most 1 off the exactly rounded value.
class LabTable {
  public:
    LabTable();

    constexpr Color lab(const Color &rgb) const {
        const int r = linear_[rgb.red], g = linear_[rgb.green], b = linear_[rgb.blue];
        const auto f = [&](const std::array<int, 3> &row) {
            return int{
                f_[(row[0] * r + row[1] * g + row[2] * b + (1 << (f_shift - 1))) >> f_shift]};
        };
        const int x = f(matrix_[0]), y = f(matrix_[1]), z = f(matrix_[2]);
        return {clamp_byte((y * lightness - lightness_offset) >> (f_bits + 8)),
                clamp_byte(((x - y) * (500 << 6) + chroma_offset) >> (f_bits + 6)),
                clamp_byte(((y - z) * (200 << 6) + chroma_offset) >> (f_bits + 6))};
    }

    /// Takes fractional byte values. Rounds to the byte that is nearest in linear light.
    constexpr Color rgb(float l, float a, float b) const {
        const double y = (l / 2.55 + 16) / 116;
        const double light[3] = {cube(y + (a - 128.0) / 500) * 0.95047, cube(y),
                                 cube(y - (b - 128.0) / 200) * 1.08883};
        const auto byte = [&](double red, double green, double blue) {
            return nearest(red * light[0] + green * light[1] + blue * light[2]);
        };
        return {byte(3.2404542, -1.5371385, -0.4985314), byte(-0.9692660, 1.8760108, 0.0415560),
                byte(0.0556434, -0.2040259, 1.0572252)};
    }

  private:
    static constexpr int linear_one = 1 << 15; ///< linear light of white
    static constexpr int matrix_one = 1 << 15;
    static constexpr int f_steps = 1 << 13; ///< intervals of the table of f, from black to white
    static constexpr int f_shift = 30 - 13;
    static constexpr int f_bits = 14;       ///< f of white is 1 << 14
    static constexpr int lightness = 75725; ///< 2.55 * 116, with 8 fractional bits
    static constexpr int lightness_offset =
        169030451; ///< 2.55 * 16 - 0.5, f_bits + 8 fractional bits
    static constexpr int chroma_offset = (128 << (f_bits + 6)) + (1 << (f_bits + 5));

    static constexpr double cube(double f) {
        return f > 6.0 / 29 ? f * f * f : 108.0 / 841 * (f - 4.0 / 29);
    }
    constexpr int nearest(double light) const {
        int low = 0, high = 255;
        while (low < high) {
            const int middle = (low + high + 1) / 2;
            if (2 * linear_one * light >= linear_[middle - 1] + linear_[middle])
                low = middle;
            else
                high = middle - 1;
        }
        return low;
    }

    std::uint16_t linear_[256]; ///< linear light of an sRGB byte
    std::uint16_t f_[f_steps + 1];
    std::array<int, 3> matrix_[3]; ///< linear RGB to X, Y, Z, each relative to white
};

} // namespace gpv
