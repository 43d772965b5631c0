// SPDX-License-Identifier: BSD-2-Clause
// Scale-invariant features: what both backends compute, and with which arithmetic.
// docs/algorithms/sift.md defines it. The blurs, and gradients in polar coordinates, are chains of
// fused operations in one order; all other floating point is unfused. Sums over pixels are
// integers.
#pragma once

#include <bit>
#include <memory>
#include <optional>
#include <span>

#include <gpuvision/sift.h>

#include "core/color.hpp"
#include "core/context.hpp"
#include "core/fused.hpp"
#include "core/image.hpp"
#include "core/ink.hpp"
#include "core/params.hpp"

namespace gpv {

extern const Fields sift_fields;

inline constexpr int sift_length = 128;
inline constexpr int max_octaves = 13; ///< octaves of the largest picture, upsampled
inline constexpr int max_octave_layers = 8;
/// Levels of an octave: the first, those with extrema, and the two that these are compared with.
inline constexpr int max_levels = max_octave_layers + 3;

struct SiftParams : gpv_sift_params {
    constexpr int levels() const { return octave_layers + 3; }
    /// An extremum of a difference of levels has to exceed this, on a scale of 0..255. As in OpenCV
    /// it is a whole number.
    constexpr float min_difference() const {
        return static_cast<float>(
            static_cast<int>(0.5f * contrast_threshold / octave_layers * 255));
    }
    /// Width of a pixel of the first octave, in pixels of the picture.
    constexpr float first_scale() const { return upsample ? 0.5f : 1.0f; }
    /// How far the centre of an octave's first pixel lies before that of the picture's first pixel.
    constexpr float first_corner() const { return upsample ? 0.25f : 0.0f; }
    constexpr std::size_t descriptor_bytes() const {
        return sift_length * (descriptor_type == GPV_SIFT_DESCRIPTOR_TYPE_U8 ? 1 : 4);
    }
};

/// gpv_sift_keypoint.
struct Keypoint {
    float x, y, sigma, angle, response;
    std::int32_t octave;
};

/// gpv_sift_result.
struct SiftResult {
    std::uint32_t struct_size;
    std::int32_t count, dropped;
    std::uint32_t reserved;
};

/// The array that keypoints are written to or read from.
struct KeypointRecords {
    BufferView view{};
    std::size_t stride = 0; ///< bytes
    std::int64_t capacity = 0;

    Keypoint &operator[](std::int64_t i) const {
        return *reinterpret_cast<Keypoint *>(view.data + i * stride);
    }
};

// ---- scale space --------------------------------------------------------------------

inline constexpr int sift_border =
    5; ///< pixels at the edges of an octave that are not searched for extrema
inline constexpr int min_octave_side = 2 * sift_border + 1;

/// Width and height of each octave.
struct Octaves {
    int count = 0;
    int width[max_octaves], height[max_octaves];

    /// maximum: number of octaves at most; 0 = all that fit.
    Octaves(int picture_width, int picture_height, bool upsample, int maximum);
    constexpr std::int64_t first_pixels() const {
        return count == 0 ? 0 : std::int64_t{width[0]} * height[0];
    }
};

/// Extrema that an operator keeps, at most. It keeps up to twice as many keypoints.
constexpr std::int64_t max_extrema(const Octaves &octaves) {
    const std::int64_t part = octaves.first_pixels() / 16;
    return part > 65536 ? part : 65536;
}

inline constexpr int keypoints_of_extremum = 2; ///< room for keypoints, per extremum

constexpr std::int64_t max_keypoints(const Octaves &octaves) {
    return keypoints_of_extremum * max_extrema(octaves);
}

inline constexpr int max_blur_radius = 112;

/// Half of a symmetric filter, whose weights add up to 1.
struct BlurFilter {
    int radius;
    float weights[max_blur_radius + 1];
};

/// The filter from the picture to the first level of the first octave. The picture is assumed to
/// have a blur of 0.5 pixels.
BlurFilter first_filter(const SiftParams &params);
/// The filter from level 0 of an octave to level 1, 2, ...
BlurFilter level_filter(const SiftParams &params, int level);

// ---- functions ----------------------------------------------------------------------
// Made of plain operations, since std::sqrt() and the like differ between platforms.

/// 2 to the power of x. Requires -126 < x < 126.
constexpr float exp2_of(float x) {
    const float shifted = x + 128;
    const int whole = static_cast<int>(shifted);
    const float t = shifted - static_cast<float>(whole); // 0 <= t < 1
    float p = 1.8775767e-3f;
    p = p * t + 8.9893397e-3f;
    p = p * t + 5.5826318e-2f;
    p = p * t + 2.4015361e-1f;
    p = p * t + 6.9315308e-1f;
    p = p * t + 9.9999994e-1f;
    return p * std::bit_cast<float>(static_cast<std::uint32_t>(whole - 1) << 23);
}

/// 1 / x within 1e-7, by three Newton steps; the first guess negates the exponent. Requires
/// x >= min_divisor.
inline constexpr float min_divisor = 1e-20f;
GPV_HOST_DEVICE inline float reciprocal_of(float x) {
    float r = std::bit_cast<float>(0x7ef311c3u - std::bit_cast<std::uint32_t>(x));
    for (int step = 0; step < 3; step++)
        r = fused(r, fused(-x, r, 1), r);
    return r;
}

/// A gradient. eighths: direction, counter-clockwise from x, in eighths of a turn, 0..8, absolute
/// error 2e-4. magnitude: relative error 1e-5.
struct Polar {
    float eighths, magnitude;
};

GPV_HOST_DEVICE inline Polar polar_of(float y, float x) {
    const float ax = std::fabs(x), ay = std::fabs(y);
    const float maximum = std::fmax(ax, ay), minimum = std::fmin(ax, ay);
    const float r = minimum * reciprocal_of(std::fmax(maximum, min_divisor)), s = r * r;
    // atan(r) and sqrt(1 + r^2)
    float t = fused(s, -0.0496390998f, 0.186229593f);
    t = r * fused(s, fused(s, t, -0.408932629f), 1.27223854f);
    float m = fused(s, -0.010736884f, 0.0456280861f);
    m = maximum * fused(s, fused(s, fused(s, m, -0.120194971f), 0.499497158f), 1.00000835f);
    t = ay > ax ? 2 - t : t;
    t = x < 0 ? 4 - t : t;
    t = y < 0 ? 8 - t : t;
    return {t, m};
}

/// Sine of an angle in turns. Requires 0 <= turns <= 1/4.
constexpr float sine_of_quarter(float turns) {
    const float x = turns * 6.28318531f, s = x * x;
    return x + x * s * (-1.6665681e-1f + s * (8.31237e-3f + s * -1.8492e-4f));
}

struct Direction {
    float cosine, sine;
};

/// Cosine and sine of an angle in turns. Requires 0 <= turns <= 1.
constexpr Direction direction_of(float turns) {
    const int quarter = static_cast<int>(turns * 4);
    const float rest = turns - static_cast<float>(quarter) * 0.25f;
    const float a = sine_of_quarter(0.25f - rest), b = sine_of_quarter(rest);
    switch (quarter & 3) {
    case 0:
        return {a, b};
    case 1:
        return {-b, a};
    case 2:
        return {-a, -b};
    default:
        return {b, -a};
    }
}

/// Requires x >= 0.
constexpr int nearest_int(float x) {
    return static_cast<int>(x + 0.5f);
}

/// The nearest whole number; halves go to the even one. Requires -0.5 <= x < 2^22.
constexpr std::uint32_t rounded(float x) {
    return std::bit_cast<std::uint32_t>(x + 8388608.0f) - 0x4b000000u;
}

/// A number as its integer part and a fraction.
struct Split {
    int whole;
    float fraction; ///< 0..1, both included
};

/// Requires |x| < 2^21.
constexpr Split split(float x) {
    constexpr float one_and_a_half = 12582912.0f; // times 2^23: floats there are whole numbers
    const float shifted = (x - 0.5f) + one_and_a_half;
    return {static_cast<int>(std::bit_cast<std::uint32_t>(shifted) - 0x4b400000u),
            x - (shifted - one_and_a_half)};
}

// ---- extrema ------------------------------------------------------------------------

inline constexpr int max_moves = 5; ///< moves to a neighbouring pixel or layer, plus one

/// A quadratic fit to the differences round an extremum.
struct SubpixelFit {
    float dx, dy, ds; ///< offset of the fit's extremum from the middle
    float contrast;   ///< absolute value there, on a scale of 0..1
    float trace, det; ///< trace and determinant of the second derivatives in x and y

    constexpr bool converged() const {
        return dx > -0.5f && dx < 0.5f && dy > -0.5f && dy < 0.5f && ds > -0.5f && ds < 0.5f;
    }
    /// Whether the offset is small enough to be a result or a step to another pixel.
    constexpr bool finite() const {
        constexpr float far = 1e6f;
        return dx > -far && dx < far && dy > -far && dy < far && ds > -far && ds < far;
    }
    constexpr bool counts(const SiftParams &params) const {
        const float edge = params.edge_threshold, next = edge + 1;
        return contrast * static_cast<float>(params.octave_layers) >= params.contrast_threshold &&
               det > 0 && trace * trace * edge < next * next * det;
    }
};

/// d(layer, y, x): of -1, 0 or 1, the difference of levels there.
template <class Difference>
constexpr SubpixelFit subpixel_fit(Difference d) {
    const float v = d(0, 0, 0), v2 = 2 * v;
    const float gx = 0.5f * (d(0, 0, 1) - d(0, 0, -1)), gy = 0.5f * (d(0, 1, 0) - d(0, -1, 0)),
                gs = 0.5f * (d(1, 0, 0) - d(-1, 0, 0));
    const float xx = d(0, 0, 1) + d(0, 0, -1) - v2, yy = d(0, 1, 0) + d(0, -1, 0) - v2,
                ss = d(1, 0, 0) + d(-1, 0, 0) - v2;
    const float xy = 0.25f * (d(0, 1, 1) - d(0, 1, -1) - d(0, -1, 1) + d(0, -1, -1)),
                xs = 0.25f * (d(1, 0, 1) - d(1, 0, -1) - d(-1, 0, 1) + d(-1, 0, -1)),
                ys = 0.25f * (d(1, 1, 0) - d(1, -1, 0) - d(-1, 1, 0) + d(-1, -1, 0));
    // By the cofactors of the symmetric matrix of second derivatives.
    const float a = yy * ss - ys * ys, b = xs * ys - xy * ss, c = xy * ys - xs * yy;
    const float e = xx * ss - xs * xs, f = xy * xs - xx * ys, h = xx * yy - xy * xy;
    const float determinant = xx * a + xy * b + xs * c;
    const bool singular = determinant > -1e-20f && determinant < 1e-20f;
    const float inverse = singular ? 0.0f : -1 / determinant;
    SubpixelFit fit{};
    fit.dx = inverse * (a * gx + b * gy + c * gs);
    fit.dy = inverse * (b * gx + e * gy + f * gs);
    fit.ds = inverse * (c * gx + f * gy + h * gs);
    const float value = v + 0.5f * (gx * fit.dx + gy * fit.dy + gs * fit.ds);
    fit.contrast = (value < 0 ? -value : value) * (1.0f / 255);
    fit.trace = xx + yy;
    fit.det = h;
    return fit;
}

/// The nearest whole number; halves go away from 0.
constexpr int step_of(float x) {
    return static_cast<int>(x < 0 ? x - 0.5f : x + 0.5f);
}

/// An extremum in an octave, where a keypoint lies.
struct Extremum {
    std::int32_t x, y; ///< pixel of the octave
    std::int16_t octave, layer;
    float dx, dy, ds; ///< offset from the pixel's centre and the layer, -0.5..0.5
    float response;

    /// Scale in pixels of the octave.
    constexpr float scale(const SiftParams &params) const {
        return params.sigma *
               exp2_of((static_cast<float>(layer) + ds) / static_cast<float>(params.octave_layers));
    }
    /// The keypoint, with angle 0.
    constexpr Keypoint keypoint(const SiftParams &params) const {
        const float pixel = params.first_scale() * static_cast<float>(1 << octave);
        const int place = nearest_int((ds + 0.5f) * 255);
        const float corner = params.first_corner();
        return {(static_cast<float>(x) + dx) * pixel - corner,
                (static_cast<float>(y) + dy) * pixel - corner,
                scale(params) * pixel,
                0,
                response,
                ((octave - (params.upsample ? 1 : 0)) & 255) | layer << 8 | place << 16};
    }
};

/// Whether the mask is set at the keypoint. at(x, y): value of the mask.
template <class At>
constexpr bool in_mask(const Keypoint &keypoint, int width, int height, At at) {
    const int x = keypoint.x > 0 ? nearest_int(keypoint.x) : 0;
    const int y = keypoint.y > 0 ? nearest_int(keypoint.y) : 0;
    return at(x < width ? x : width - 1, y < height ? y : height - 1) != 0;
}

// ---- orientation --------------------------------------------------------------------

inline constexpr int orientation_bins = 36;
/// Sums over pixels are in units of 1 / sum_unit grey levels. The sum of any bin, at the greatest
/// scale that parameters allow, stays below 2^32.
inline constexpr float sum_unit = 4096;

/// Radius of the window round the nearest pixel. scale: in pixels of the octave.
constexpr int orientation_radius(float scale) {
    return nearest_int(4.5f * scale);
}

/// exp(-distance^2 / (2 sigma^2)). The weight of a pixel is the product for x and y.
constexpr float gaussian_at(int distance, float sigma) {
    const float exponent = -0.72134752f * static_cast<float>(distance * distance) / (sigma * sigma);
    return exponent > -100 ? exp2_of(exponent) : 0.0f;
}

constexpr int orientation_bin(float eighths) {
    const auto bin = static_cast<int>(rounded(orientation_bins / 8.0f * eighths));
    return bin < orientation_bins ? bin : 0;
}

/// Bin i smoothed with weights 1, 4, 6, 4 and 1. sums(i): sum of bin i.
template <class Sums>
constexpr float smooth_bin(int i, Sums sums) {
    const auto at = [&](int b) {
        b = b < 0 ? b + orientation_bins : b >= orientation_bins ? b - orientation_bins : b;
        return static_cast<float>(sums(b));
    };
    return (at(i - 2) + at(i + 2)) + 4 * (at(i - 1) + at(i + 1)) + 6 * at(i);
}

constexpr bool is_peak(float left, float here, float right, float greatest) {
    return here > left && here > right && here >= 0.8f * greatest;
}

/// Angle of a peak at bin i, degrees. It mostly falls as i rises, so the keypoints of an extremum
/// have to be sorted by angle.
constexpr float peak_angle(int i, float left, float here, float right) {
    float bin = static_cast<float>(i) + 0.5f * (left - right) / (left - 2 * here + right);
    bin = bin < 0 ? bin + orientation_bins : bin >= orientation_bins ? bin - orientation_bins : bin;
    const float angle = 360 - 10 * bin;
    return angle < 360 ? angle : 0.0f;
}

// ---- descriptor ---------------------------------------------------------------------

inline constexpr int descriptor_cells = 4; ///< per row, and per column
inline constexpr int descriptor_bins = 8;  ///< directions

/// A square of 4 x 4 cells round a keypoint, turned by its angle.
struct Window {
    int octave, layer;
    int x, y;        ///< its centre, a pixel of the octave
    int radius;      ///< greatest distance in x or y of a pixel that counts
    float cell;      ///< side of a cell, pixels
    float eighths;   ///< the keypoint's angle, counter-clockwise in eighths of a turn
    float cos_cells; ///< cosine / cell
    float sin_cells; ///< sine / cell

    struct Place {
        float u, v; ///< in cells from the middle; both within 2.5, or the pixel does not count
        constexpr bool counts() const { return u > -2.5f && u < 2.5f && v > -2.5f && v < 2.5f; }
    };
    /// gaussian_at() with a sigma of two cells.
    constexpr float weight(int distance) const { return gaussian_at(distance, 2 * cell); }
};

/// Least scale of given keypoints: far below a pixel, but with a finite reciprocal.
inline constexpr float min_scale = 1e-6f;

/// x, y: in pixels of the octave.
constexpr Window window_of(int octave, int layer, float x, float y, float scale, float angle) {
    Window w{};
    w.octave = octave;
    w.layer = layer;
    w.x = nearest_int(x);
    w.y = nearest_int(y);
    w.cell = 3 * (scale > min_scale ? scale : min_scale);
    const float turns = angle > 0 ? 1 - angle * (1.0f / 360) : 0.0f;
    w.eighths = 8 * turns;
    const Direction d = direction_of(turns);
    w.cos_cells = d.cosine / w.cell;
    w.sin_cells = d.sine / w.cell;
    const float reach = (d.cosine < 0 ? -d.cosine : d.cosine) + (d.sine < 0 ? -d.sine : d.sine);
    w.radius = static_cast<int>(2.5f * w.cell * reach) + 1;
    return w;
}

/// A pixel of a window adds to eight neighbouring bins, weighted by distance. This holds the lower
/// row, column and direction; the upper ones are the next. Directions are modulo 8; rows and
/// columns outside 0..3 do not count.
struct Bins {
    Split row, column, direction;
};

constexpr Bins bins_of(const Window &window, const Window::Place &place, float eighths) {
    const float bin = eighths - window.eighths;
    return {split(place.v + 1.5f), split(place.u + 1.5f), split(bin < 0 ? bin + 8 : bin)};
}

/// Calls add(row, column, direction, amount) for each bin; 0 is the lower one, 1 the upper. The
/// amount of a cell is rounded, then the part for the upper direction; the lower one gets the rest.
template <class Add>
constexpr void distribute(float weight, const Bins &bins, Add add) {
    const float below = weight * bins.row.fraction;
    const float rows[2] = {weight - below, below};
    for (int r = 0; r < 2; r++) {
        const float right = rows[r] * bins.column.fraction;
        const float columns[2] = {rows[r] - right, right};
        for (int c = 0; c < 2; c++) {
            const std::uint32_t upper = rounded(columns[c] * bins.direction.fraction);
            add(r, c, 0, rounded(columns[c]) - upper);
            add(r, c, 1, upper);
        }
    }
}

// ---- given keypoints ----------------------------------------------------------------

/// Chooses the layer whose blur is nearest to a given one.
struct LayerChoice {
    int octaves, octave_layers;
    float first_scale, first_corner;
    float maximum[max_octave_layers + 1]; ///< greatest scale for which layer i is chosen

    LayerChoice() = default;
    LayerChoice(const SiftParams &params, const Octaves &octaves);

    /// False if there is no such layer; the keypoint is not described then.
    constexpr bool find(const Keypoint &k, int width, int height, Window &window) const {
        const auto inside = [](float x, int size) {
            return x >= -0.5f && x <= static_cast<float>(size) - 0.5f;
        };
        if (!inside(k.x, width) || !inside(k.y, height) || !(k.sigma > 0) || octaves == 0 ||
            !(k.angle > -1e6f && k.angle < 1e6f))
            return false;
        float inverse = 1 / first_scale;
        int octave = 0;
        while (octave + 1 < octaves && k.sigma * inverse > maximum[octave_layers]) {
            inverse *= 0.5f;
            octave++;
        }
        const float scale = k.sigma * inverse;
        if (!(scale <= maximum[octave_layers]))
            return false;
        int layer = 1;
        while (scale > maximum[layer])
            layer++;
        float angle = k.angle - 360 * static_cast<float>(static_cast<int>(k.angle * (1.0f / 360)));
        angle = angle < 0 ? angle + 360 : angle;
        const float x = (k.x + first_corner) * inverse, y = (k.y + first_corner) * inverse;
        window = window_of(octave, layer, x > 0 ? x : 0.0f, y > 0 ? y : 0.0f, scale,
                           angle < 360 ? angle : 0.0f);
        return true;
    }
};

// ---- drawing ------------------------------------------------------------------------

/// Values are those of sift.h.
enum class DrawStyle : std::uint32_t { points, rich };

/// The mark of a keypoint in a drawing. Its pixels are independent, so that threads can share them.
struct Mark {
    int x, y;   ///< centre, pixels
    int radius; ///< radius of the circle; 0: a cross
    int dx, dy; ///< from the centre to the end of the line

    constexpr Mark(const Keypoint &keypoint, DrawStyle style)
        : x(pixel(keypoint.x)), y(pixel(keypoint.y)), radius(0), dx(0), dy(0) {
        if (style == DrawStyle::points)
            return;
        radius = radius_of(keypoint.sigma);
        const bool regular = keypoint.angle >= 0 && keypoint.angle < 360;
        const Direction d = direction_of(regular ? keypoint.angle * (1.0f / 360) : 0.0f);
        dx = step_of(static_cast<float>(radius) * d.cosine);
        dy = step_of(static_cast<float>(radius) * d.sine);
    }

    /// Calls plot(x, y) for pixels first, first + every, ... Some pixels come twice.
    template <class Plot>
    constexpr void draw(int first, int every, Plot plot) const {
        if (radius == 0)
            return cross(first, every, plot);
        circle(first, every, plot);
        line(first, every, plot);
    }

  private:
    static constexpr int arm = 2;
    static constexpr float max_radius = 65535, far = 1 << 20;

    /// A place outside any picture becomes one so far away that no mark reaches a picture.
    static constexpr int pixel(float place) {
        return place > -far && place < far ? step_of(place) : -static_cast<int>(far);
    }
    static constexpr int radius_of(float sigma) {
        return sigma > 1 ? nearest_int(sigma < max_radius ? sigma : max_radius) : 1;
    }

    template <class Plot>
    constexpr void cross(int first, int every, Plot plot) const {
        for (int i = first; i < 4 * arm + 2; i += every) {
            const int along = i / 2 - arm;
            plot(i % 2 ? x : x + along, i % 2 ? y + along : y);
        }
    }

    template <class Plot>
    constexpr void circle(int first, int every, Plot plot) const {
        const std::int64_t square = std::int64_t{radius} * radius;
        std::int64_t j = radius;
        for (std::int64_t i = first; i <= j; i += every) {
            while (j >= i && (2 * j - 1) * (2 * j - 1) > 4 * (square - i * i))
                j--;
            if (i > j)
                return;
            const int a = static_cast<int>(i), b = static_cast<int>(j);
            plot(x + a, y + b), plot(x - a, y + b), plot(x + a, y - b), plot(x - a, y - b);
            plot(x + b, y + a), plot(x - b, y + a), plot(x + b, y - a), plot(x - b, y - a);
        }
    }

    template <class Plot>
    constexpr void line(int first, int every, Plot plot) const {
        const int width = dx < 0 ? -dx : dx, height = dy < 0 ? -dy : dy;
        const int length = width > height ? width : height;
        const auto step = [length](int i, int d) { // i / length of d, rounded
            const std::int64_t twice = std::int64_t{2} * i * (d < 0 ? -d : d);
            const int steps = static_cast<int>((twice + length) / (2 * length));
            return d < 0 ? -steps : steps;
        };
        for (int i = first; i <= length; i += every)
            plot(x + step(i, dx), y + step(i, dy));
    }
};

struct SiftDrawing {
    Image dst;
    DrawStyle style;
    Color color;
};

/// dst is in host memory.
void draw_keypoints(const SiftDrawing &drawing, std::span<const Keypoint> keypoints);

// ---- operator -----------------------------------------------------------------------

/// Inputs and outputs of one run.
struct SiftRun {
    Image src;
    std::optional<Image> mask;
    std::optional<KeypointRecords> keypoints;
    std::optional<BufferView> descriptors, result;
};

/// Inputs and outputs of describe().
struct SiftDescription {
    Image src;
    KeypointRecords keypoints; ///< capacity = number of keypoints
    BufferView descriptors;
};

/// One backend's operator. The caller has checked the images: supported formats, same size and
/// memory, disjoint from all buffers. Buffers are large enough.
class Sift : public Operator {
  public:
    virtual void set_params(const SiftParams &params) = 0;
    /// keypoints: number of records in host memory.
    virtual void prepare(const Image &src, const Image *mask, std::int64_t keypoints) = 0;
    /// Returns whether wait() and result() refer to this run: false if it was captured in a graph.
    virtual bool run(Stream stream, const SiftRun &run) = 0;
    virtual bool describe(Stream stream, const SiftDescription &description) = 0;
    /// Draws the keypoints that the last run kept. There are none after a failed run or after
    /// describe().
    virtual void draw(Stream stream, const SiftDrawing &drawing) = 0;
    /// Result of the last finished run. overflow(): it had more extrema or keypoints than can be
    /// kept.
    virtual SiftResult result() const = 0;
    virtual bool overflow() const = 0;
};

} // namespace gpv
