// SPDX-License-Identifier: BSD-2-Clause
#include "core/sift.hpp"

#include <algorithm>
#include <cmath>

namespace gpv {
namespace {

/// Radius of filters, in units of sigma.
constexpr double first_reach = 4, level_reach = 3.5;

/// Variance of the weights exp(-i^2 / (2 sigma^2)), truncated at the radius.
double variance(double sigma, int radius) {
    double mass = 1, moment = 0;
    for (int i = 1; i <= radius; i++) {
        const double w = 2 * std::exp(-0.5 * i * i / (sigma * sigma));
        mass += w;
        moment += w * i * i;
    }
    return moment / mass;
}

/// A truncated Gaussian has less variance than the whole one. This filter is cut from a wider one,
/// so that its variance is sigma^2.
BlurFilter filter(double sigma, double reach) {
    BlurFilter f{};
    f.radius = static_cast<int>(std::lround(reach * sigma));
    double low = sigma, high = 4 * sigma; // of pixels, narrow ones have far less
    for (int step = 0; f.radius > 0 && step < 60; step++) {
        const double middle = 0.5 * (low + high);
        (variance(middle, f.radius) < sigma * sigma ? low : high) = middle;
    }
    double weights[max_blur_radius + 1], sum = 0;
    for (int i = 0; i <= f.radius; i++) {
        weights[i] = std::exp(-0.5 * i * i / (low * low));
        sum += i ? 2 * weights[i] : 1;
    }
    for (int i = 0; i <= f.radius; i++)
        f.weights[i] = static_cast<float>(weights[i] / sum);
    return f;
}

} // namespace

Octaves::Octaves(int picture_width, int picture_height, bool upsample, int maximum) {
    int w = picture_width << (upsample ? 1 : 0), h = picture_height << (upsample ? 1 : 0);
    const int limit = maximum > 0 ? std::min(maximum, max_octaves) : max_octaves;
    for (; count < limit && std::min(w, h) >= min_octave_side; w /= 2, h /= 2) {
        width[count] = w;
        height[count++] = h;
    }
}

BlurFilter first_filter(const SiftParams &params) {
    const double own = params.upsample ? 1 : 0.5, sigma = params.sigma;
    return filter(std::sqrt(std::max(sigma * sigma - own * own, 0.01)), first_reach);
}

BlurFilter level_filter(const SiftParams &params, int level) {
    const double growth = std::pow(2.0, 2.0 * level / params.octave_layers) - 1;
    return filter(params.sigma * std::sqrt(growth), level_reach);
}

LayerChoice::LayerChoice(const SiftParams &params, const Octaves &all)
    : octaves(all.count), octave_layers(params.octave_layers), first_scale(params.first_scale()),
      first_corner(params.first_corner()) {
    for (int i = 0; i <= octave_layers; i++)
        maximum[i] = static_cast<float>(params.sigma * std::pow(2.0, (i + 0.5) / octave_layers));
}

} // namespace gpv
