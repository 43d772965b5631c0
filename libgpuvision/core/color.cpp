// SPDX-License-Identifier: BSD-2-Clause
#include "core/color.hpp"

#include <cmath>

namespace gpv {
namespace {

/// Weights of red and blue in luma, from ITU-R BT.601, BT.709 and BT.2020.
struct Weights {
    double red, blue;
    double green() const { return 1 - red - blue; }
};

Weights weights(ColorMatrix matrix, int height) {
    switch (matrix) {
    case ColorMatrix::bt601:
        return {0.299, 0.114};
    case ColorMatrix::bt709:
        return {0.2126, 0.0722};
    case ColorMatrix::bt2020:
        return {0.2627, 0.0593};
    default:
        return weights(height >= 720 ? ColorMatrix::bt709 : ColorMatrix::bt601, height);
    }
}

/// Number of levels from black to white.
struct Levels {
    double luma, chroma;
    int luma_offset;

    explicit Levels(ColorRange range)
        : luma(range == ColorRange::full ? 255 : 219),
          chroma(range == ColorRange::full ? 255 : 224),
          luma_offset(range == ColorRange::full ? 0 : 16) {}
};

int fixed(double value, int bits = 16) {
    return static_cast<int>(std::lround(std::ldexp(value, bits)));
}

YuvTransform::Row row(double red, double green, double blue, double levels, int offset) {
    const double unit = levels / 255;
    return {fixed(unit * red), fixed(unit * green), fixed(unit * blue), (offset << 16) + 32768};
}

double linear_light(double srgb) {
    return srgb <= 0.04045 ? srgb / 12.92 : std::pow((srgb + 0.055) / 1.055, 2.4);
}

double lab_f(double light) {
    return light > 216.0 / 24389 ? std::cbrt(light) : (24389.0 / 27 * light + 16) / 116;
}

} // namespace

YuvTransform YuvTransform::of(const Image &image) {
    const Weights w = weights(image.color_matrix, image.height);
    const Levels levels(image.color_range);
    const double u = 0.5 / (1 - w.blue), v = 0.5 / (1 - w.red);
    return {row(w.red, w.green(), w.blue, levels.luma, levels.luma_offset),
            row(-w.red * u, -w.green() * u, 0.5, levels.chroma, neutral_chroma8),
            row(0.5, -w.green() * v, -w.blue * v, levels.chroma, neutral_chroma8)};
}

RgbTransform RgbTransform::of(const Image &image) {
    const Weights w = weights(image.color_matrix, image.height);
    const Levels levels(image.color_range);
    const bool wide = format_info(image.format).sample_bytes == 2;
    const int unit = wide ? Widening::of(image).factor : 1;
    const int bits = wide ? wide_shift : shift;
    const double red = 2 * (1 - w.red) * 255 / (levels.chroma * unit);
    const double blue = 2 * (1 - w.blue) * 255 / (levels.chroma * unit);
    return {.luma_offset = levels.luma_offset * unit,
            .luma = fixed(255 / (levels.luma * unit), bits),
            .red_v = fixed(red, bits),
            .green_u = fixed(-blue * w.blue / w.green(), bits),
            .green_v = fixed(-red * w.red / w.green(), bits),
            .blue_u = fixed(blue, bits)};
}

Widening Widening::of(const Image &image) {
    const bool limited = is_yuv(image.format) && image.color_range != ColorRange::full;
    return {limited ? 256 : 257};
}

LabTable::LabTable() {
    constexpr double white[3] = {0.95047, 1, 1.08883};
    constexpr double red[3] = {0.4124564, 0.2126729, 0.0193339};
    constexpr double blue[3] = {0.1804375, 0.0721750, 0.9503041};
    for (int i = 0; i < 3; i++) {
        const int r = static_cast<int>(std::lround(matrix_one * red[i] / white[i]));
        const int b = static_cast<int>(std::lround(matrix_one * blue[i] / white[i]));
        matrix_[i] = {r, matrix_one - r - b, b}; // white stays white
    }
    for (int i = 0; i < 256; i++)
        linear_[i] = static_cast<std::uint16_t>(std::lround(linear_one * linear_light(i / 255.0)));
    for (int i = 0; i <= f_steps; i++)
        f_[i] = static_cast<std::uint16_t>(
            std::lround((1 << f_bits) * lab_f(static_cast<double>(i) / f_steps)));
}

} // namespace gpv
