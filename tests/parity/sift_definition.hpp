// SPDX-License-Identifier: BSD-2-Clause
// SIFT as docs/algorithms/sift.md defines it, plainly and in double precision, sharing no code with
// the library. The library computes in single precision, so that it may decide otherwise where a
// decision is close: each feature says whether any of its decisions is, and how far off numbers may
// be that depend on them.
#pragma once

#include "sift.hpp"

#include <map>
#include <numbers>

namespace parity {

/// Grey levels, row by row.
struct Plane {
    int width = 0, height = 0;
    std::vector<double> values;

    Plane() = default;
    Plane(int width, int height)
        : width(width), height(height), values(std::size_t(width) * height) {}
    double operator()(int x, int y) const { return values[std::size_t(y) * width + x]; }
    double &operator()(int x, int y) { return values[std::size_t(y) * width + x]; }
};

inline Plane luma_of(const GuardedImage &image) {
    const Samples samples(image);
    Plane luma(image.view()->width, image.view()->height);
    for (int y = 0; y < luma.height; y++)
        for (int x = 0; x < luma.width; x++)
            luma(x, y) = samples.wide() ? samples.luma(x, y) / 256 : samples.luma(x, y);
    return luma;
}

/// Each pixel becomes four, whose middles are where the light is taken from, linearly between
/// pixels.
inline Plane doubled(const Plane &in) {
    Plane out(2 * in.width, 2 * in.height);
    for (int y = 0; y < out.height; y++)
        for (int x = 0; x < out.width; x++) {
            const int beside = std::clamp(x % 2 ? x / 2 + 1 : x / 2 - 1, 0, in.width - 1);
            const int above = std::clamp(y % 2 ? y / 2 + 1 : y / 2 - 1, 0, in.height - 1);
            out(x, y) = (9 * in(x / 2, y / 2) + 3 * in(beside, y / 2) + 3 * in(x / 2, above) +
                         in(beside, above)) /
                        16;
        }
    return out;
}

/// How far the middle of the first pixel of every octave lies before that of the picture's.
inline double first_corner(const gpv_sift_params &p) {
    return p.upsample ? 0.25 : 0;
}

/// A border that mirrors, without the pixel at the edge.
inline int mirrored(int i, int size) {
    if (size == 1)
        return 0;
    while (i < 0 || i >= size)
        i = i < 0 ? -i : 2 * (size - 1) - i;
    return i;
}

/// Weights from the middle on, cut off beyond reach times sigma, with the variance of sigma.
inline std::vector<double> filter_of(double sigma, double reach) {
    const int radius = static_cast<int>(std::floor(reach * sigma + 0.5));
    std::vector<double> weights(radius + 1, 1.0);
    const auto make = [&](double wide) { // returns its variance
        double mass = 1, moment = 0;
        for (int i = 1; i <= radius; i++) {
            weights[i] = std::exp(-i * i / (2 * wide * wide));
            mass += 2 * weights[i];
            moment += 2.0 * i * i * weights[i];
        }
        for (int i = 0; i <= radius; i++)
            weights[i] = (i ? weights[i] : 1) / mass;
        return moment / mass;
    };
    double narrow = sigma / 2, wide = 8 * sigma;
    while (radius > 0 && wide - narrow > 1e-13 * sigma)
        (make((narrow + wide) / 2) < sigma * sigma ? narrow : wide) = (narrow + wide) / 2;
    make(wide);
    return weights;
}

inline Plane filtered(const Plane &in, const std::vector<double> &weights) {
    const int radius = static_cast<int>(weights.size()) - 1;
    Plane rows(in.width, in.height), out = rows;
    const auto each_row = [&](auto f) { tbb::parallel_for(0, in.height, f); };
    each_row([&](int y) {
        std::vector<double> line(in.width + 2 * radius);
        for (int x = -radius; x < in.width + radius; x++)
            line[x + radius] = in(mirrored(x, in.width), y);
        for (int x = 0; x < in.width; x++) {
            double sum = weights[0] * line[x + radius];
            for (int i = 1; i <= radius; i++)
                sum += weights[i] * (line[x + radius - i] + line[x + radius + i]);
            rows(x, y) = sum;
        }
    });
    each_row([&](int y) {
        for (int i = -radius; i <= radius; i++) {
            const double *from = &rows.values[std::size_t(mirrored(y + i, in.height)) * in.width];
            for (int x = 0; x < in.width; x++)
                out(x, y) += weights[std::abs(i)] * from[x];
        }
    });
    return out;
}

// How far single precision is off, in grey levels: at most, as seen, with some reserve.
constexpr double level_error = 5e-5; ///< of a level, of a difference, of a gradient
constexpr double turns_error = 4e-5; ///< of the direction of a gradient
constexpr double summand_error = 0.5 / 4096;
// Before it takes 2 to the power of an exponent the library adds 128 and rounds: weights' below
// 128, by 2^-18, those of scales, which are positive, by 2^-17. With the rest of the powers, as
// measured:
/// Of the magnitude of a gradient 1e-5 of it, as sift.md says, and of each of its two weights
/// ln 2 * 2^-18 = 2.6e-6, 3.6e-6 at most: 1.72e-5.
constexpr double weight_error = 2e-5;
constexpr double scale_error = 6e-6; ///< of a scale ln 2 * 2^-17 = 5.3e-6, 5.5e-6 at most

struct Octave {
    std::vector<Plane> levels;
    int width() const { return levels[0].width; }
    int height() const { return levels[0].height; }
    double difference(int i, int x, int y) const { return levels[i + 1](x, y) - levels[i](x, y); }
};

/// Octaves of a picture.
inline std::vector<Octave> scale_space(const GuardedImage &src, const gpv_sift_params &p,
                                       int maximum) {
    const double own = p.upsample ? 1 : 0.5, sigma = p.sigma;
    const int n = p.octave_layers;
    std::vector<std::vector<double>> filters;
    for (int l = 1; l <= n + 2; l++)
        filters.push_back(filter_of(sigma * std::sqrt(std::pow(2, 2.0 * l / n) - 1), 3.5));
    std::vector<Octave> octaves;
    Plane base = luma_of(src);
    if (p.upsample)
        base = doubled(base);
    if (std::min(base.width, base.height) < 11)
        return octaves;
    base = filtered(base, filter_of(std::sqrt(std::max(sigma * sigma - own * own, 0.01)), 4));
    while (std::min(base.width, base.height) >= 11 &&
           (maximum == 0 || static_cast<int>(octaves.size()) < maximum)) {
        Octave o;
        o.levels.push_back(std::move(base));
        for (const std::vector<double> &filter : filters)
            o.levels.push_back(filtered(o.levels[0], filter));
        base = Plane(o.width() / 2, o.height() / 2);
        for (int y = 0; y < base.height; y++)
            for (int x = 0; x < base.width; x++)
                base(x, y) = o.levels[n](2 * x, 2 * y);
        octaves.push_back(std::move(o));
    }
    return octaves;
}

// ---- descriptors --------------------------------------------------------------------

/// What a descriptor is made of.
struct Patch {
    int octave, layer;
    int x, y; ///< pixel of the octave
    double scale, angle;
};

/// Numbers of length 1, before the square root and rounding, and how far off they may be.
struct Described {
    std::array<double, GPV_SIFT_DESCRIPTOR_LENGTH> numbers{};
    double error = 0;
};

inline Described described(const std::vector<Octave> &octaves, const Patch &at) {
    constexpr double pi = 3.14159265358979323846;
    const Plane &level = octaves[at.octave].levels[at.layer];
    const double cell = 3 * at.scale, turn = (360 - at.angle) * pi / 180;
    const double cosine = std::cos(turn), sine = std::sin(turn);
    const int radius = static_cast<int>(2.5 * std::sqrt(2.0) * cell) + 2;
    Described result;
    double pixels = 0;
    for (int dy = -radius; dy <= radius; dy++)
        for (int dx = -radius; dx <= radius; dx++) {
            const double u = (dx * cosine - dy * sine) / cell;
            const double v = (dx * sine + dy * cosine) / cell;
            const int x = at.x + dx, y = at.y + dy;
            if (std::fabs(u) >= 2.5 || std::fabs(v) >= 2.5 || x < 1 || y < 1 ||
                x > level.width - 2 || y > level.height - 2)
                continue;
            pixels++;
            const double gx = level(x + 1, y) - level(x - 1, y);
            const double gy = level(x, y - 1) - level(x, y + 1);
            const double weight = std::hypot(gx, gy) * std::exp(-(u * u + v * v) / 8);
            double bin = 8 * (std::atan2(gy, gx) - turn) / (2 * pi);
            bin -= 8 * std::floor(bin / 8);
            const int first = static_cast<int>(bin) % 8;
            for (int row = 0; row < 4; row++)
                for (int column = 0; column < 4; column++) {
                    const double share = std::max(0.0, 1 - std::fabs(u - (column - 1.5))) *
                                         std::max(0.0, 1 - std::fabs(v - (row - 1.5)));
                    double *cells = &result.numbers[(row * 4 + column) * 8];
                    cells[first] += weight * share * (1 - (bin - std::floor(bin)));
                    cells[(first + 1) % 8] += weight * share * (bin - std::floor(bin));
                }
        }
    const auto scale_to_1 = [&] {
        double squares = 0;
        for (const double number : result.numbers)
            squares += number * number;
        const double length = std::sqrt(squares);
        for (double &number : result.numbers)
            number = length > 0 ? number / length : 0;
        return length;
    };
    const double length = scale_to_1();
    double clamped = 0; // length that is left
    for (double &number : result.numbers) {
        number = std::min(number, 0.2);
        clamped += number * number;
    }
    scale_to_1();
    // Summands are rounded at random, but levels of what repeats itself all alike; directions shift
    // weight from one number to the next. What is clamped makes all else weigh more.
    const double noise = std::sqrt(pixels + 1) * summand_error + pixels / 8 * level_error;
    result.error = length > 0 ? (noise / length + 8 * turns_error) / std::sqrt(clamped) : 1;
    return result;
}

/// Whether a descriptor is the one, as far as rounding goes. deviation: how far the worst number is
/// beside what may be, in the unit of type F32; 0 where none is.
inline double deviation(const std::uint8_t *got, const Described &want, const gpv_sift_params &p) {
    double sum = 0, worst = 0;
    for (const double number : want.numbers)
        sum += number;
    for (std::size_t i = 0; i < GPV_SIFT_DESCRIPTOR_LENGTH; i++) {
        const auto final = [&](double number) {
            number = std::max(number, 0.0);
            return !p.root_sift ? number : sum > 0 ? std::sqrt(number / sum) : 0;
        };
        double low = final(want.numbers[i] - want.error),
               high = final(want.numbers[i] + want.error);
        double is;
        if (p.descriptor_type == GPV_SIFT_DESCRIPTOR_TYPE_U8) {
            is = got[i] / 512.0;
            low = std::min(std::floor(512 * low + 0.5), 255.0) / 512;
            high = std::min(std::floor(512 * high + 0.5), 255.0) / 512;
        } else {
            float number;
            std::memcpy(&number, got + 4 * i, 4);
            is = double(number);
        }
        if (!(is >= 0 && is <= 1.0001))
            return 1;
        worst = std::max({worst, low - is, is - high});
    }
    return worst;
}

/// What is described of a given keypoint. Known: whether rounding cannot change it.
struct Given {
    bool none = true, known = true;
    Patch patch{};
};

inline Given given(const gpv_sift_keypoint &k, const std::vector<Octave> &octaves,
                   const gpv_sift_params &p, const gpv_image &picture) {
    Given result;
    const double x = double(k.x), y = double(k.y), sigma = double(k.sigma);
    if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(sigma) ||
        !std::isfinite(double(k.angle)) || sigma <= 0 || octaves.empty() || x < -0.5 || y < -0.5 ||
        x > picture.width - 0.5 || y > picture.height - 0.5)
        return result;
    // Of all layers the one whose scale is nearest, as a ratio.
    const int n = p.octave_layers, all = n * static_cast<int>(octaves.size());
    const double layers =
        n * std::log2(sigma / double(p.sigma) / octave_pixel(0, p)); // from octave 0
    const double nearest = std::floor(layers + 0.5);
    result.known = std::fabs(layers - nearest) < 0.5 - 1e-4;
    if (nearest > all)
        return result;
    const int layer = static_cast<int>(std::max(nearest, 1.0)) - 1;
    result.none = false;
    Patch &patch = result.patch;
    patch.octave = layer / n;
    patch.layer = layer % n + 1;
    const double pixel = octave_pixel(patch.octave, p);
    patch.scale = sigma / pixel;
    patch.angle = double(k.angle) - 360 * std::floor(double(k.angle) / 360);
    const auto place = [&](double at) {
        const double shifted = std::max((at + first_corner(p)) / pixel, 0.0) + 0.5;
        result.known = result.known && std::fabs(shifted - std::round(shifted)) > 1e-5;
        return static_cast<int>(std::floor(shifted));
    };
    patch.x = place(x);
    patch.y = place(y);
    return result;
}

// ---- features -----------------------------------------------------------------------

/// Where the parabola round a pixel has its extremum.
struct Fit {
    double offset[3] = {}; ///< x, y, layer
    double error = 0;      ///< of the offsets
    double value = 0, trace = 0, det = 0, curvature = 0;
};

/// Whether something is so.
enum class Sure { no, maybe, yes };

inline Sure both(Sure a, Sure b) {
    return std::min(a, b);
}

/// Whether value > 0, where it may be so far off.
inline Sure positive(double value, double error) {
    return value > error ? Sure::yes : value < -error ? Sure::no : Sure::maybe;
}

/// A keypoint of the definition.
struct Feature {
    Patch patch; ///< its angle is 0 if it is upright
    double dx, dy, ds;
    double x, y, sigma, response; ///< as in gpv_sift_keypoint
    double error;                 ///< of the place, in pixels of the octave
    double angle_error;           ///< degrees
    int bin;
    bool clear;
    bool tied; ///< with the next bin, so that there may be none
};

/// Where nothing can be said, since the parabola has no extremum to speak of: the next pixel may
/// lie anywhere in a box.
struct Blur {
    int octave;
    double x, y, reach_x, reach_y; ///< middle, and from there

    bool has(int in, double at_x, double at_y) const {
        return octave == in && std::fabs(x - at_x) <= reach_x && std::fabs(y - at_y) <= reach_y;
    }
};

class Definition {
  public:
    Definition(const GuardedImage &src, const gpv_sift_params &p, const GuardedImage *mask)
        : p_(p), mask_(mask), width_(src.view()->width), height_(src.view()->height),
          octaves_(scale_space(src, p, p.octaves)) {
        for (std::size_t o = 0; o < octaves_.size(); o++)
            for (int layer = 1; layer <= p_.octave_layers; layer++)
                find_extrema(static_cast<int>(o), layer);
        for (const auto &[place, extremum] : extrema_)
            orient(place, extremum, features_);
    }

    const std::vector<Octave> &octaves() const { return octaves_; }
    const std::vector<Feature> &features() const { return features_; }
    /// Whether rounding may have led a candidate there.
    bool is_blurred(int octave, double x, double y) const {
        return std::any_of(blurs_.begin(), blurs_.end(),
                           [&](const Blur &b) { return b.has(octave, x, y); });
    }
    /// Those of an extremum at a pixel, if a candidate leads there.
    std::vector<Feature> features_at(int octave, int layer, int y, int x) const {
        const Place at = {octave, layer, y, x};
        std::vector<Feature> features;
        if (!lies_inside(at))
            return features;
        const Fit f = fit(at);
        if (!(f.error < 0.25))
            return {anything_at(at)};
        Sure sure = counts(f);
        for (const double offset : f.offset)
            sure = both(sure, positive(0.5 - std::fabs(offset), f.error));
        if (sure != Sure::no)
            orient(at, {f, sure}, features);
        return features;
    }
    /// Extrema before any fit, and those that may be some.
    int candidates() const { return candidates_; }
    int close_candidates() const { return close_; }

    /// Less than this is the rounding of levels.
    static constexpr double min_response = 20 * level_error / 255;

  private:
    /// octave, layer, y, x
    using Place = std::array<int, 4>;
    struct Extremum {
        Fit fit;
        Sure sure = Sure::no;
    };
    static constexpr int border = 5;

    void find_extrema(int octave, int layer) {
        const Octave &o = octaves_[octave];
        const double threshold = std::floor(0.5 * p_.contrast_threshold / p_.octave_layers * 255);
        for (int y = border; y < o.height() - border; y++)
            for (int x = border; x < o.width() - border; x++) {
                Sure sure = Sure::no;
                for (const int sign : {-1, 1}) { // of a value near 0 it may be either
                    const double value = sign * o.difference(layer, x, y);
                    Sure is = positive(value - threshold, level_error);
                    for (int l = -1; l <= 1 && is != Sure::no; l++)
                        for (int i = 0; i < 9 && is != Sure::no; i++) {
                            const double other =
                                sign * o.difference(layer + l, x + i % 3 - 1, y + i / 3 - 1);
                            if (l != 0 || i != 4)
                                is = both(is, positive(value - other, 2 * level_error));
                        }
                    sure = std::max(sure, is);
                }
                if (sure == Sure::no)
                    continue;
                (sure == Sure::yes ? candidates_ : close_)++;
                follow({octave, layer, y, x}, 5, sure);
            }
    }

    bool lies_inside(const Place &at) const {
        const auto &[octave, layer, y, x] = at;
        const Octave &o = octaves_[octave];
        return layer >= 1 && layer <= p_.octave_layers && y >= border && y < o.height() - border &&
               x >= border && x < o.width() - border;
    }

    /// Of a parabola that has no extremum to speak of.
    static Feature anything_at(const Place &at) {
        Feature f{};
        f.patch = {at[0], at[1], at[3], at[2], 0, 0};
        f.error = f.angle_error = INFINITY;
        f.clear = false;
        return f;
    }

    Fit fit(const Place &at) const {
        const auto &[octave, layer, y, x] = at;
        const auto d = [&o = octaves_[octave], l = layer, py = y, px = x](int dl, int dy, int dx) {
            return o.difference(l + dl, px + dx, py + dy);
        };
        const int unit[3][3] = {{0, 0, 1}, {0, 1, 0}, {1, 0, 0}}; // x, y, layer
        double gradient[3], second[3][3];
        for (int i = 0; i < 3; i++) {
            const int *a = unit[i];
            gradient[i] = (d(a[0], a[1], a[2]) - d(-a[0], -a[1], -a[2])) / 2;
            second[i][i] = d(a[0], a[1], a[2]) + d(-a[0], -a[1], -a[2]) - 2 * d(0, 0, 0);
            for (int j = 0; j < i; j++) {
                const int *b = unit[j];
                const auto at_corner = [&](int s, int t) {
                    return d(s * a[0] + t * b[0], s * a[1] + t * b[1], s * a[2] + t * b[2]);
                };
                second[i][j] = second[j][i] =
                    (at_corner(1, 1) - at_corner(1, -1) - at_corner(-1, 1) + at_corner(-1, -1)) / 4;
            }
        }
        Fit fit;
        fit.trace = second[0][0] + second[1][1];
        fit.det = second[0][0] * second[1][1] - second[0][1] * second[0][1];
        fit.curvature =
            std::fabs(second[0][0]) + std::fabs(second[1][1]) + 2 * std::fabs(second[0][1]);
        solve(second, gradient, fit);
        fit.value = d(0, 0, 0);
        for (int i = 0; i < 3; i++)
            fit.value += 0.5 * gradient[i] * fit.offset[i];
        return fit;
    }

    /// second * offset = -gradient, by Gauss and Jordan.
    static void solve(const double (&second)[3][3], const double (&gradient)[3], Fit &fit) {
        double m[3][7] = {}; // matrix, right side, unit matrix that becomes the inverse
        for (int i = 0; i < 3; i++) {
            std::copy_n(second[i], 3, m[i]);
            m[i][3] = -gradient[i];
            m[i][4 + i] = 1;
        }
        fit.error = INFINITY;
        for (int i = 0; i < 3; i++) {
            int pivot = i;
            for (int row = i + 1; row < 3; row++)
                if (std::fabs(m[row][i]) > std::fabs(m[pivot][i]))
                    pivot = row;
            if (m[pivot][i] == 0)
                return;
            std::swap(m[i], m[pivot]);
            for (int row = 0; row < 3; row++) {
                const double factor = m[row][i] / m[i][i];
                for (int column = 0; column < 7 && row != i; column++)
                    m[row][column] -= factor * m[i][column];
            }
        }
        double size = 0;
        for (int i = 0; i < 3; i++) {
            fit.offset[i] = m[i][3] / m[i][i];
            size += std::fabs(fit.offset[i]);
        }
        // Each difference is off by level_error: a gradient by as much, a second one by four times
        // that, a mixed one by as much.
        double maximum = 0, norm = 0;
        for (int i = 0; i < 3; i++) {
            double error = 0, row = 0;
            for (int j = 0; j < 3; j++) {
                const double part = std::fabs(m[i][4 + j] / m[i][i]);
                error += part * (1 + size + 3 * std::fabs(fit.offset[j]));
                row += part;
            }
            maximum = std::max(maximum, level_error * error);
            norm = std::max(norm, 6 * level_error * row); // of the matrix, beside it
        }
        if (norm < 1)
            fit.error = maximum / (1 - norm);
    }

    /// From fit to fit, and both ways where it is not clear which is next.
    void follow(const Place &at, int fits, Sure sure) {
        const Fit f = fit(at);
        if (!(f.error < 0.25)) {
            const auto reach = [&](double offset) { return std::fabs(offset) / 2 + f.error + 8; };
            blurs_.push_back({at[0], at[3] + f.offset[0] / 2, at[2] + f.offset[1] / 2,
                              reach(f.offset[0]), reach(f.offset[1])});
            return;
        }
        std::vector<std::array<int, 3>> steps = {{}};
        for (int i = 0; i < 3; i++) {
            const double low = std::round(f.offset[i] - f.error);
            const double high = std::round(f.offset[i] + f.error);
            const std::size_t count = steps.size();
            for (std::size_t k = 0; k < count; k++) {
                steps[k][i] = static_cast<int>(std::clamp(low, -1e6, 1e6));
                if (low != high) {
                    steps.push_back(steps[k]);
                    steps.back()[i] = static_cast<int>(std::clamp(high, -1e6, 1e6));
                }
            }
        }
        if (steps.size() > 1)
            sure = both(sure, Sure::maybe);
        for (const auto &[dx, dy, dl] : steps) {
            const Place next = {at[0], at[1] + dl, at[2] + dy, at[3] + dx};
            if (next == at)
                end(at, f, sure);
            else if (fits > 1 && lies_inside(next))
                follow(next, fits - 1, sure);
        }
    }

    /// Whether a place that is found counts.
    Sure counts(const Fit &f) const {
        const double n = p_.octave_layers, edge = p_.edge_threshold;
        const double contrast = std::fabs(f.value) / 255;
        Sure sure =
            positive(contrast * n - p_.contrast_threshold, 3 * level_error * n / 255 + 1e-7);
        sure = both(sure, positive(f.det, f.curvature * 2 * level_error));
        const double left = f.trace * f.trace * edge, right = (edge + 1) * (edge + 1) * f.det;
        sure = both(sure, positive(right - left,
                                   1e-6 * (left + std::fabs(right)) +
                                       8 * level_error * edge * std::fabs(f.trace) +
                                       2 * level_error * (edge + 1) * (edge + 1) * f.curvature));
        return contrast < min_response ? both(sure, Sure::maybe) : sure;
    }

    void end(const Place &at, const Fit &f, Sure sure) {
        sure = both(sure, counts(f));
        if (sure == Sure::no)
            return;
        Extremum &extremum = extrema_[at];
        extremum.fit = f;
        extremum.sure = std::max(extremum.sure, sure);
    }

    Sure in_mask(const Feature &f, double error) const {
        if (!mask_)
            return Sure::yes;
        bool any = false, all = true;
        for (const double dx : {-error, error})
            for (const double dy : {-error, error}) {
                const int x =
                    std::clamp(static_cast<int>(std::floor(f.x + dx + 0.5)), 0, width_ - 1);
                const int y =
                    std::clamp(static_cast<int>(std::floor(f.y + dy + 0.5)), 0, height_ - 1);
                const bool is = mask_->row(0, y)[x] != 0;
                any = any || is;
                all = all && is;
            }
        return all ? Sure::yes : any ? Sure::maybe : Sure::no;
    }

    void orient(const Place &place, const Extremum &extremum, std::vector<Feature> &to) const {
        const auto &[octave, layer, y, x] = place;
        const Fit &fit = extremum.fit;
        const double pixel = octave_pixel(octave, p_);
        Feature f{};
        f.dx = fit.offset[0], f.dy = fit.offset[1], f.ds = fit.offset[2];
        const double scale = p_.sigma * std::pow(2, (layer + f.ds) / p_.octave_layers);
        f.patch = {octave, layer, x, y, scale, 0};
        f.x = (x + f.dx) * pixel - first_corner(p_);
        f.y = (y + f.dy) * pixel - first_corner(p_);
        f.sigma = scale * pixel;
        f.response = std::fabs(fit.value) / 255;
        f.error = fit.error;
        f.bin = -1;
        Sure sure = both(extremum.sure, in_mask(f, (fit.error + 1e-5) * pixel));
        if (fit.error > 0.01)
            sure = both(sure, Sure::maybe);
        if (sure == Sure::no)
            return;
        if (p_.upright) {
            f.clear = sure == Sure::yes;
            to.push_back(f);
            return;
        }
        add_peaks(f, sure, to);
    }

    static constexpr int bins = 36;
    static int bin_beside(int bin, int by) { return (bin + by + bins) % bins; }

    /// What is summed of the pixels round a keypoint.
    struct Histogram {
        std::array<double, bins> sums{}, errors{};
        std::array<double, bins> loose{}; ///< in one of a bin and the next, it is not sure in which
        std::array<double, bins> growth{}; ///< of the sums, by the logarithm of the scale
        double scale_error = 0;            ///< of that logarithm, one for all bins

        double smooth(int i) const {
            return (6 * sums[i] + 4 * (sums[bin_beside(i, -1)] + sums[bin_beside(i, 1)]) +
                    sums[bin_beside(i, -2)] + sums[bin_beside(i, 2)]) /
                   16;
        }
    };
    /// Bins and their factors, of a sum of smoothed bins.
    using Terms = std::vector<std::pair<int, double>>;

    /// How far off the sum may be.
    static double error_of(const Histogram &h, const Terms &terms) {
        std::array<double, bins> factors{}; // of bins that are not smoothed
        for (const auto &[bin, factor] : terms)
            for (int by = -2; by <= 2; by++)
                factors[bin_beside(bin, by)] += factor * std::array{6, 4, 1}[std::abs(by)] / 16.0;
        double error = 0, growth = 0;
        for (int i = 0; i < bins; i++) {
            error += h.errors[i] * std::fabs(factors[i]) +
                     h.loose[i] * std::fabs(factors[bin_beside(i, 1)] - factors[i]);
            growth += h.growth[i] * factors[i];
        }
        return error + std::fabs(growth) * h.scale_error;
    }

    /// The top of the parabola through three smoothed bins, in bins, and how far off it may be.
    struct Top {
        double bin, error;
    };
    /// With its slope s and its bend b it lies at t = s / b. Where they are off by ds and db, it is
    /// off by (ds - t db) / (b + db): of ds - t db, which is a sum of bins, error_of() tells the
    /// most, and of b + db the least. To differentiate t would not do, as one pixel in the next bin
    /// may make b half as much. That of a peak lies in its bin.
    static Top top_of(const Histogram &h, int i) {
        const int left = bin_beside(i, -1), right = bin_beside(i, 1);
        const double l = h.smooth(left), c = h.smooth(i), r = h.smooth(right);
        const double bend = 2 * c - l - r, t = bend > 0 ? (r - l) / 2 / bend : 0;
        const double minimum = bend - error_of(h, {{left, -1}, {i, 2}, {right, -1}});
        const double maximum = error_of(h, {{left, t - 0.5}, {i, -2 * t}, {right, t + 0.5}});
        const double within = std::clamp(t, -0.5, 0.5), reach = std::fabs(within) + 0.5;
        return {i + within, minimum > 0 ? std::min(maximum / minimum, reach) : reach};
    }

    Histogram histogram(const Patch &at, int radius) const {
        const Plane &level = octaves_[at.octave].levels[at.layer];
        const double sigma = 1.5 * at.scale;
        Histogram h;
        std::array<double, bins> pixels{};
        for (int dy = -radius; dy <= radius; dy++)
            for (int dx = -radius; dx <= radius; dx++) {
                const int x = at.x + dx, y = at.y + dy;
                if (x < 1 || y < 1 || x > level.width - 2 || y > level.height - 2)
                    continue;
                const double gx = level(x + 1, y) - level(x - 1, y);
                const double gy = level(x, y - 1) - level(x, y + 1);
                const double size = std::hypot(gx, gy);
                const double weight = size * std::exp(-(dx * dx + dy * dy) / (2 * sigma * sigma));
                const double turns = std::atan2(gy, gx) / (2 * 3.14159265358979323846);
                const double bin = bins * turns + bins, nearest = std::floor(bin + 0.5);
                const int i = static_cast<int>(nearest) % bins;
                h.sums[i] += weight;
                h.errors[i] += weight_error * weight;
                h.growth[i] += weight * (dx * dx + dy * dy) / (sigma * sigma);
                pixels[i]++;
                const double margin =
                    bins * (turns_error + (size > 0 ? level_error / (6 * size) : 1));
                if (0.5 - std::fabs(bin - nearest) < margin)
                    h.loose[bin > nearest ? i : bin_beside(i, -1)] += weight;
            }
        for (int i = 0; i < bins; i++)
            h.errors[i] += 2 * std::sqrt(pixels[i]) * (summand_error + level_error);
        return h;
    }

    void add_peaks(Feature f, Sure sure, std::vector<Feature> &to) const {
        const double reach = 4.5 * f.patch.scale;
        const double scale_error =
            std::numbers::ln2 * f.error / p_.octave_layers + parity::scale_error;
        const double reach_error = reach * scale_error;
        const auto radius = [&](double error) {
            return static_cast<int>(std::floor(reach + error + 0.5));
        };
        Histogram h = histogram(f.patch, radius(0));
        h.scale_error = scale_error;
        for (const double error : {-reach_error, reach_error})
            if (radius(error) != radius(0)) {
                const Histogram other = histogram(f.patch, radius(error));
                for (int i = 0; i < bins; i++)
                    h.errors[i] += std::fabs(h.sums[i] - other.sums[i]);
            }
        const auto above = [&](int i, int other, double part) {
            return positive(h.smooth(i) - part * h.smooth(other),
                            error_of(h, {{i, 1}, {other, -part}}));
        };
        const auto high = [&](int i) { // of bins as high as the greatest, either may be it
            Sure is = Sure::yes;
            for (int other = 0; other < bins; other++)
                is = other == i ? is : both(is, above(i, other, 0.8));
            return is;
        };
        for (int i = 0; i < bins; i++) {
            const int left = bin_beside(i, -1), right = bin_beside(i, 1);
            Top at = top_of(h, i);
            Sure enough = high(i);
            Sure peak = both(above(i, left, 1), above(i, right, 1));
            if (peak == Sure::no)
                continue;
            f.tied = false;
            if (peak == Sure::maybe) {
                // Of two bins as high as each other one is the peak, or none if they are equal; the
                // angle is nearly the same for both.
                const int side = above(i, left, 1) == Sure::maybe ? -1 : 1;
                const int twin = bin_beside(i, side);
                if (above(i, bin_beside(i, -side), 1) == Sure::yes &&
                    above(twin, bin_beside(i, 2 * side), 1) == Sure::yes) {
                    if (h.smooth(i) < h.smooth(twin) * (1 - 1e-6))
                        continue;
                    if (h.smooth(i) > h.smooth(twin) * (1 + 1e-6))
                        peak = Sure::yes;
                    f.tied = true;
                    if (high(twin) != enough)
                        enough = Sure::maybe;
                    const Top other = top_of(h, twin);
                    const double apart = std::fabs(std::remainder(other.bin - at.bin, bins));
                    at.error = std::max(at.error, apart + other.error);
                }
            }
            peak = both(peak, both(enough, sure));
            if (peak == Sure::no)
                continue;
            at.bin -= bins * std::floor(at.bin / bins);
            f.patch.angle = at.bin > 0 ? 360 - 10 * at.bin : 0;
            f.angle_error = 10 * at.error;
            f.bin = i;
            f.clear = peak == Sure::yes && f.angle_error < 2;
            to.push_back(f);
        }
    }

    const gpv_sift_params &p_;
    const GuardedImage *mask_;
    int width_, height_;
    std::vector<Octave> octaves_;
    std::map<Place, Extremum> extrema_;
    std::vector<Feature> features_;
    std::vector<Blur> blurs_;
    int candidates_ = 0, close_ = 0;
};

} // namespace parity
