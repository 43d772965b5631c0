// SPDX-License-Identifier: BSD-2-Clause
// Soft edges: the sides of a cut, filtered with the picture as the guide (He, Sun and Tang 2013),
// where a window has both. docs/algorithms/segment.md defines it. Sums over windows are integers;
// floating point has the same order in both backends and is not fused.
#pragma once

#include "core/segment.hpp"

namespace gpv::segment {

/// Windows have 2 * edge_radius + 1 pixels along each axis, but for those outside of the picture.
inline constexpr int edge_radius = 4;
/// The variance of colours that is taken for noise, in squared grey levels.
inline constexpr int edge_noise = 16;
/// A whole pixel of foreground, in Blend.
inline constexpr int edge_unit = 1 << 18;

/// Whether a run makes alpha of its sides.
inline bool softens(const gpv_segment_params &params, const SegmentRun &run) {
    return params.edge == GPV_SEGMENT_EDGE_SOFT &&
           (run.mask || (run.dst && params.output == GPV_SEGMENT_OUTPUT_CUTOUT));
}

/// Pixels along an axis, of the window round at, that are in a picture of that size.
constexpr int edge_window(int at, int size) {
    return std::min(at + edge_radius, size - 1) - std::max(at - edge_radius, 0) + 1;
}

/// Of a pixel, or sums over the pixels of a window: the foreground, colours in it, colours, and
/// their products.
struct EdgeSums {
    enum { front, front_x, front_y, front_z, x, y, z, xx, yy, zz, xy, xz, yz };
    static constexpr int count = 16; ///< whole vectors; the last ones are 0
    alignas(16) int of[count];

    static constexpr EdgeSums of_pixel(bool is_front, const Color &c) {
        const int f = is_front, r = c.red, g = c.green, b = c.blue;
        return {{f, f * r, f * g, f * b, r, g, b, r * r, g * g, b * b, r * g, r * b, g * b}};
    }
    constexpr EdgeSums &operator+=(const EdgeSums &sums) {
        for (int i = 0; i < count; i++)
            of[i] += sums.of[i];
        return *this;
    }
    /// Whether both sides are among so many pixels.
    constexpr bool is_mixed(int pixels) const { return of[front] > 0 && of[front] < pixels; }
};

/// The share of the foreground in a pixel as a linear function of its colour, in edge_unit; or sums
/// of such, below 2^31 with any colour.
struct alignas(16) Blend {
    int x, y, z, constant;

    constexpr Blend &operator+=(const Blend &b) {
        x += b.x;
        y += b.y;
        z += b.z;
        constant += b.constant;
        return *this;
    }
};

/// Of a window with one side.
constexpr Blend plain_blend(bool is_front) {
    return {0, 0, 0, is_front ? edge_unit : 0};
}

/// The one that is nearest to the sides of the pixels of a window, by least squares with edge_noise
/// as the penalty of its slope: a = (covariance of colours + noise I)^-1 (covariance of colour and
/// side). Times pixels^2 these are integers. No pivot of the elimination is below edge_noise *
/// pixels^2, and |a| is at most 1 / (4 sqrt(edge_noise)).
constexpr Blend blend_of(const EdgeSums &sums, int pixels) {
    using S = EdgeSums;
    const auto &s = sums.of;
    const auto covariance = [&](int product, int a, int b, int more) {
        return static_cast<float>(pixels * s[product] - s[a] * s[b] + more);
    };
    const int noise = edge_noise * pixels * pixels;
    const float xx = covariance(S::xx, S::x, S::x, noise), xy = covariance(S::xy, S::x, S::y, 0),
                xz = covariance(S::xz, S::x, S::z, 0);
    float yy = covariance(S::yy, S::y, S::y, noise), yz = covariance(S::yz, S::y, S::z, 0),
          zz = covariance(S::zz, S::z, S::z, noise);
    const float x = covariance(S::front_x, S::front, S::x, 0);
    float y = covariance(S::front_y, S::front, S::y, 0),
          z = covariance(S::front_z, S::front, S::z, 0);
    const float x_in_y = xy / xx, x_in_z = xz / xx;
    yy -= x_in_y * xy;
    yz -= x_in_y * xz;
    y -= x_in_y * x;
    zz -= x_in_z * xz;
    z -= x_in_z * x;
    const float y_in_z = yz / yy;
    zz -= y_in_z * yz;
    z -= y_in_z * y;
    const float az = z / zz;
    const float ay = (y - yz * az) / yy;
    const float ax = ((x - xy * ay) - xz * az) / xx;
    const auto rounded = [](float v) { return static_cast<int>(v < 0 ? v - 0.5f : v + 0.5f); };
    constexpr float unit = edge_unit;
    Blend blend = {rounded(ax * unit), rounded(ay * unit), rounded(az * unit), 0};
    const int rest =
        edge_unit * s[S::front] - ((blend.x * s[S::x] + blend.y * s[S::y]) + blend.z * s[S::z]);
    blend.constant = rounded(static_cast<float>(rest) / static_cast<float>(pixels));
    return blend;
}

/// Alpha, 0 to 255, of a pixel by the sum of the blends of its window's pixels.
constexpr int alpha_of(const Blend &sum, int pixels, const Color &c) {
    const int share = ((sum.x * c.red + sum.y * c.green) + sum.z * c.blue) + sum.constant;
    constexpr float scale = 255.0f / edge_unit;
    const float alpha = static_cast<float>(share) * scale / static_cast<float>(pixels) + 0.5f;
    return alpha < 0 ? 0 : alpha > 255 ? 255 : static_cast<int>(alpha);
}

/// Of a pixel that has an alpha of its own.
constexpr int product_of_alphas(int a, int b) {
    return (a * b + 127) / 255;
}

} // namespace gpv::segment
