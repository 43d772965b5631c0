// SPDX-License-Identifier: BSD-2-Clause
#include "core/ccl.hpp"

#include <cmath>

namespace gpv {
namespace {

/// Weights of red and blue in luma, from ITU-R BT.601, BT.709 and BT.2020.
struct Weights {
    double red, blue;
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

YuvTransform::Row row(double red, double green, double blue, double range, int offset) {
    const double unit = 65536.0 * range / 255.0;
    const auto fixed = [unit](double weight) {
        return static_cast<int>(std::lround(unit * weight));
    };
    return {fixed(red), fixed(green), fixed(blue), (offset << 16) + 32768};
}

} // namespace

std::int64_t most_components(const CclParams &params, std::int64_t width, std::int64_t height) {
    if (params.mode == CclMode::equal_value)
        return width * height;
    if (params.connectivity == 4)
        return (width * height + 1) / 2;
    return (width + 1) / 2 * ((height + 1) / 2);
}

YuvTransform YuvTransform::of(const Image &image) {
    const auto [red, blue] = weights(image.color_matrix, image.height);
    const double green = 1 - red - blue;
    const bool full = image.color_range == ColorRange::full;
    // Colours of labels are not so saturated that chroma of full range could be 256.
    const double luma_range = full ? 255 : 219, chroma_range = full ? 255 : 224;
    const double u = 0.5 / (1 - blue), v = 0.5 / (1 - red);
    return {row(red, green, blue, luma_range, full ? 0 : 16),
            row(-red * u, -green * u, 0.5, chroma_range, 128),
            row(0.5, -green * v, -blue * v, chroma_range, 128)};
}

} // namespace gpv
