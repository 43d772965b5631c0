// SPDX-License-Identifier: BSD-2-Clause
// Segmentation by minimum cuts: what both backends compute, and with which
// arithmetic. docs/algorithms/segment.md defines it. Sums are integers; floating
// point has the same order in both backends and is not fused.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>

#include <gpuvision/segment.h>

#include "core/context.hpp"
#include "core/fused.hpp"
#include "core/graphcut.hpp"
#include "core/params.hpp"
#include "core/pixels.hpp"

namespace gpv {

extern const Fields segment_fields;

/// Those of the cuts.
constexpr gpv_graphcut_params cut_params(const gpv_segment_params &params) {
    return {.certificate = params.certificate, .max_time_us = params.max_time_us};
}

/// A rectangle in pixels. Parts of it may lie outside the image.
struct Rect {
    int x, y, width, height;
    constexpr bool has(int px, int py) const {
        return px >= x && px - x < width && py >= y && py - y < height;
    }
};

namespace segment {

// ---- sides --------------------------------------------------------------------------

enum Side { background, foreground };

/// What the seeds and the rectangle say about a pixel. Nothing is learned from what is far.
enum Known {
    known_background,
    known_foreground,
    unknown,
    unknown_at_edge,
    far_background,
    probable_background,
    probable_foreground,
    meaningless ///< a seed that says nothing that there is to say
};

/// Kinds that are counted. What is probable counts as known, and what is meaningless as unknown.
inline constexpr int known_kinds = 5;
constexpr int counted_as(Known known) {
    return known < known_kinds ? known : known - known_kinds;
}
static_assert(counted_as(probable_background) == known_background &&
              counted_as(probable_foreground) == known_foreground &&
              counted_as(meaningless) == unknown);

constexpr bool is_background(Known known) {
    return known == known_background || known == far_background;
}
constexpr bool is_known(Known known) {
    return is_background(known) || known == known_foreground;
}

/// Of pixels in seeds, and in masks, which have two values of them.
constexpr Known known_of(int seed, bool at_edge) {
    switch (seed) {
    case GPV_SEGMENT_SEED_UNKNOWN:
        return at_edge ? unknown_at_edge : unknown;
    case GPV_SEGMENT_SEED_BACKGROUND:
        return known_background;
    case GPV_SEGMENT_SEED_FOREGROUND:
    case GPV_SEGMENT_SEED_WHITE:
        return known_foreground;
    case GPV_SEGMENT_SEED_PROBABLY_BACKGROUND:
        return probable_background;
    case GPV_SEGMENT_SEED_PROBABLY_FOREGROUND:
        return probable_foreground;
    default:
        return meaningless;
    }
}

/// What is wrong with seeds that the host has not seen: the terminal of the pixel is out of its
/// range, so that the graph is refused. seed: the one that is meaningless, or all_known.
inline constexpr int all_known = 256;
constexpr std::int32_t terminal_of_fault(int seed) {
    return INT32_MIN + seed;
}
constexpr int seed_of_fault(std::int32_t terminal) {
    return terminal - INT32_MIN;
}
static_assert(terminal_of_fault(all_known) < -max_terminal);

/// The sides in a mask.
inline constexpr int mask_background = 0, mask_foreground = 255;

/// What is outside of this is far from the rectangle. Parts may lie outside the image.
constexpr Rect near(const Rect &rect) {
    const int across = rect.width / 10 + 1, down = rect.height / 10 + 1;
    return {rect.x - across, rect.y - down, rect.width + 2 * across, rect.height + 2 * down};
}

// ---- colours by cell ----------------------------------------------------------------

/// Models are fitted to a histogram: the number of pixels in each cell, a cube of side 8 in colour
/// space. Cells are numbered in raster order of their levels.
inline constexpr int levels = 32;
inline constexpr int level_step = 256 / levels;
inline constexpr int cells = levels * levels * levels;

constexpr int cell_at(int red, int green, int blue) {
    return (red * levels + green) * levels + blue;
}
constexpr int cell_of(const Color &c) {
    return cell_at(c.red / level_step, c.green / level_step, c.blue / level_step);
}
constexpr Color levels_of(int cell) {
    return {cell / (levels * levels), cell / levels % levels, cell % levels};
}
constexpr float middle_of(int level) {
    return static_cast<float>(level_step * level) + 0.5f * (level_step - 1);
}

/// Sums over pixels of the levels of their cells, and of products of these.
struct Moments {
    std::uint64_t count, x, y, z, xx, yy, zz, xy, xz, yz;

    constexpr Moments &operator+=(const Moments &m) {
        count += m.count;
        x += m.x;
        y += m.y;
        z += m.z;
        xx += m.xx;
        yy += m.yy;
        zz += m.zz;
        xy += m.xy;
        xz += m.xz;
        yz += m.yz;
        return *this;
    }
    constexpr std::uint64_t sum(int axis) const { return axis == 0 ? x : axis == 1 ? y : z; }
    constexpr std::uint64_t squares(int axis) const { return axis == 0 ? xx : axis == 1 ? yy : zz; }
    /// Sum of squared distances from the mean along an axis.
    constexpr double spread(int axis) const {
        if (count == 0)
            return 0;
        const auto s = static_cast<double>(sum(axis));
        return static_cast<double>(squares(axis)) - s * s / static_cast<double>(count);
    }
    /// The axis with the greatest spread; ties go to the first.
    constexpr int widest() const {
        int best = 0;
        for (int axis = 1; axis < 3; axis++)
            if (spread(axis) > spread(best))
                best = axis;
        return best;
    }
    /// Whether the cell's level is above the mean.
    constexpr bool above_mean(int cell, int axis) const {
        const Color l = levels_of(cell);
        const int level = axis == 0 ? l.red : axis == 1 ? l.green : l.blue;
        return static_cast<std::uint64_t>(level) * count > sum(axis);
    }
};

/// Moments of count pixels in cells with the same red and green; z and zz: sums for blue.
constexpr Moments moments_of_row(int red, int green, std::uint64_t count, std::uint64_t z,
                                 std::uint64_t zz) {
    const std::uint64_t x = red, y = green;
    return {count,         count * x, count * y,     z,     count * x * x,
            count * y * y, zz,        count * x * y, x * z, y * z};
}

/// Moments of count pixels in one cell.
constexpr Moments moments_of(int cell, std::uint64_t count) {
    const Color l = levels_of(cell);
    const std::uint64_t z = l.blue;
    return moments_of_row(l.red, l.green, count, count * z, count * z * z);
}

// ---- models -------------------------------------------------------------------------

/// The natural logarithm of a positive number, to 12 digits, the same everywhere.
constexpr double logarithm(double v) {
    const auto bits = std::bit_cast<std::uint64_t>(v);
    int exponent = static_cast<int>(bits >> 52) - 1023;
    double m = std::bit_cast<double>((bits & 0xfffffffffffffu) | std::uint64_t{1023} << 52);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        exponent++;
    }
    const double s = (m - 1) / (m + 1), ss = s * s;
    double sum = 0;
    for (int odd = 19; odd > 0; odd -= 2)
        sum = sum * ss + 1.0 / odd;
    return exponent * 0.6931471805599453 + 2 * s * sum;
}

/// A component of a mixture. The cost of a colour is the negative logarithm of its density, without
/// the constant that all components share.
struct Gaussian {
    float x, y, z; ///< mean
    float xx, yy, zz, xy, xz, yz;
    float constant;

    constexpr float cost(float r, float g, float b) const {
        const float dx = r - x, dy = g - y, dz = b - z;
        return ((constant + dx * ((xx * dx + xy * dy) + xz * dz)) + dy * (yy * dy + yz * dz)) +
               dz * (zz * dz);
    }
};

inline constexpr int components = 5;
inline constexpr float infinite_cost = 1e30f; ///< cost of a component without pixels

/// Variance added along every axis, squared grey levels: 64 / 12 for the width of cells, and some
/// more, so that few or very similar colours still give a regular covariance.
inline constexpr double min_variance = 8;

/// The component fitted to the pixels of m. total: pixels of its side.
constexpr Gaussian gaussian_of(const Moments &m, std::uint64_t total) {
    if (m.count == 0)
        return {.constant = infinite_cost};
    const auto n = static_cast<double>(m.count);
    const double x = static_cast<double>(m.x) / n, y = static_cast<double>(m.y) / n,
                 z = static_cast<double>(m.z) / n;
    constexpr double unit = level_step * level_step;
    const auto variance = [&](std::uint64_t squares, double mean) {
        return unit * (static_cast<double>(squares) / n - mean * mean) + min_variance;
    };
    const auto covariance = [&](std::uint64_t products, double a, double b) {
        return unit * (static_cast<double>(products) / n - a * b);
    };
    const double xx = variance(m.xx, x), yy = variance(m.yy, y), zz = variance(m.zz, z);
    const double xy = covariance(m.xy, x, y), xz = covariance(m.xz, x, z),
                 yz = covariance(m.yz, y, z);
    const double cx = yy * zz - yz * yz, cy = xz * yz - xy * zz, cz = xy * yz - xz * yy;
    const double determinant = (xx * cx + xy * cy) + xz * cz;
    const double weight = n / static_cast<double>(total);
    constexpr double middle = 0.5 * (level_step - 1);
    return {.x = static_cast<float>(level_step * x + middle),
            .y = static_cast<float>(level_step * y + middle),
            .z = static_cast<float>(level_step * z + middle),
            .xx = static_cast<float>(0.5 * cx / determinant),
            .yy = static_cast<float>(0.5 * (xx * zz - xz * xz) / determinant),
            .zz = static_cast<float>(0.5 * (xx * yy - xy * xy) / determinant),
            .xy = static_cast<float>(cy / determinant),
            .xz = static_cast<float>(cz / determinant),
            .yz = static_cast<float>((xy * xz - xx * yz) / determinant),
            .constant = static_cast<float>(0.5 * logarithm(determinant) - logarithm(weight))};
}

/// The only component of GPV_SEGMENT_MODEL_MEANS, with this variance along every axis.
constexpr Gaussian sphere_of(const Moments &m, double variance) {
    const auto along = [&](std::uint64_t sum) {
        return static_cast<float>(level_step *
                                      (static_cast<double>(sum) / static_cast<double>(m.count)) +
                                  0.5 * (level_step - 1));
    };
    const auto half = static_cast<float>(0.5 / variance);
    return {.x = along(m.x), .y = along(m.y), .z = along(m.z), .xx = half, .yy = half, .zz = half};
}

/// Cells of a table have twice the side, and are numbered in raster order, too.
inline constexpr int table_levels = levels / 2;
inline constexpr int table_cells = table_levels * table_levels * table_levels;

constexpr int table_cell_of(const Color &c) {
    constexpr int step = 256 / table_levels;
    return (c.red / step * table_levels + c.green / step) * table_levels + c.blue / step;
}

constexpr Color table_levels_of(int cell) {
    return {cell / (table_levels * table_levels), cell / table_levels % table_levels,
            cell % table_levels};
}

/// The negative logarithm of the frequency of a table cell. smoothed: 64 times its pixels. A cell
/// with no pixels near it gets a thousandth of the frequency of a uniform distribution.
constexpr float rarity(std::uint64_t smoothed, std::uint64_t total) {
    constexpr double floor = 0.001 / table_cells;
    return static_cast<float>(
        -logarithm(static_cast<double>(smoothed) / (64 * static_cast<double>(total)) + floor));
}

/// The colour model of both sides.
struct Model {
    std::uint32_t present[2]; ///< whether the side has ever had a pixel
    Gaussian mixture[2][components];
    float table[2][table_cells]; ///< for GPV_SEGMENT_MODEL_HISTOGRAM: cost by cell
};

/// Cost of a colour under a mixture: the least cost among its components.
constexpr float cost_of(const Gaussian *mixture, float r, float g, float b) {
    float minimum = infinite_cost;
    for (int i = 0; i < components; i++) {
        const float cost = mixture[i].cost(r, g, b);
        minimum = cost < minimum ? cost : minimum;
    }
    return minimum;
}

/// Extra cost of a side that has no model.
inline constexpr float cost_of_absence = 1;

/// Limit of the preference of one colour, so that a colour new to both sides decides little.
inline constexpr float max_preference = 4;

constexpr float limit(float preference) {
    return preference < -max_preference  ? -max_preference
           : preference > max_preference ? max_preference
                                         : preference;
}

/// Cost of a colour in the background, less its cost in the foreground.
template <gpv_segment_model kind>
constexpr float preference(const std::uint32_t *present, const Gaussian (*mixture)[components],
                           const float (*table)[table_cells], const Color &c) {
    if (!present[foreground])
        return present[background] ? -cost_of_absence : 0.0f;
    if (!present[background])
        return cost_of_absence;
    if constexpr (kind == GPV_SEGMENT_MODEL_HISTOGRAM) {
        const int cell = table_cell_of(c);
        return limit(table[background][cell] - table[foreground][cell]);
    } else {
        const auto r = static_cast<float>(c.red), g = static_cast<float>(c.green),
                   b = static_cast<float>(c.blue);
        return limit(cost_of(mixture[background], r, g, b) - cost_of(mixture[foreground], r, g, b));
    }
}

// ---- capacities ---------------------------------------------------------------------

/// Capacity of a border of the length of a pixel, and of a terminal whose cost is 1 / lambda.
inline constexpr float unit = 1000;

/// Capacity of a link between pixels of the same colour: unit times the angle between two
/// directions of links, by twice the length of the link.
constexpr float unit_of_link(int direction, int connectivity) {
    if (connectivity == 4)
        return 785.3981634f;
    return direction % 2 ? 277.6801836f : 392.6990817f;
}

/// Limit of terminals of unknown pixels: less than those of known pixels, more than all links.
inline constexpr float max_data = 1 << 29;

/// Terminal capacity of a preference. weight: lambda times unit.
constexpr int terminal_of(float preference, float weight) {
    const float v = preference * weight;
    if (!(v > -max_data))
        return -static_cast<int>(max_data);
    if (!(v < max_data))
        return static_cast<int>(max_data);
    return static_cast<int>(v < 0 ? v - 0.5f : v + 0.5f);
}

/// Polynomial for 2^x, -1/2 <= x <= 1/2, to 6 digits; coefficients from the highest power down.
inline constexpr int power_terms = 7;
constexpr float power_factor(int i) {
    constexpr float factors[] = {1.5403530e-4f, 1.3333558e-3f, 9.6181291e-3f, 5.5504109e-2f,
                                 0.24022651f,   0.69314718f,   1.0f};
    return factors[i];
}
inline constexpr float max_halvings = 64; ///< beyond this, capacities are 0 anyway

/// 2^-x. Requires x >= 0.
constexpr float half_to_the(float x) {
    const float halvings = x < max_halvings ? x : max_halvings;
    const int whole = static_cast<int>(halvings + 0.5f);
    const float rest = static_cast<float>(whole) - halvings;
    float sum = 0;
    for (int i = 0; i < power_terms; i++)
        sum = sum * rest + power_factor(i);
    return sum * std::bit_cast<float>(static_cast<std::uint32_t>(127 - whole) << 23);
}

constexpr int squared_difference(const Color &a, const Color &b) {
    const int r = a.red - b.red, g = a.green - b.green, bl = a.blue - b.blue;
    return r * r + g * g + bl * bl;
}

/// log2(e) / (2 sigma^2), for use with half_to_the(). With sigma 0, sigma^2 is the mean squared
/// difference of neighbours.
constexpr float falloff_of(float sigma, std::uint64_t differences, std::uint64_t links) {
    constexpr double log2_of_e = 1.4426950408889634, maximum = 1e30;
    if (sigma > 0)
        return static_cast<float>(std::min(
            log2_of_e / (2 * static_cast<double>(sigma) * static_cast<double>(sigma)), maximum));
    if (differences == 0)
        return 0;
    return static_cast<float>(log2_of_e * static_cast<double>(links) /
                              (2 * static_cast<double>(differences)));
}

/// unit_there exp(-difference / (2 sigma^2)). unit_there: of unit_of_link().
constexpr int link_of(int difference, float falloff, float unit_there) {
    return static_cast<int>(unit_there * half_to_the(falloff * static_cast<float>(difference)) +
                            0.5f);
}

/// Number of pairs of neighbours.
constexpr std::uint64_t links_of(int width, int height, int connectivity) {
    const std::uint64_t w = width, h = height;
    const std::uint64_t straight = (w - 1) * h + w * (h - 1);
    return connectivity == 4 ? straight : straight + 2 * (w - 1) * (h - 1);
}

// ---- pictures -----------------------------------------------------------------------

/// An overlay removes colour and half of the brightness from the background. Chroma sites whose
/// first pixel is in the background become neutral. Copies the pixel, dimmed if it is to be; from
/// and to, of the same format, give rows, and may be the same.
template <class From, class To>
constexpr void overlay(const Pixels &pixels, int x, int y, bool dims, From from, To to) {
    const int black = pixels.model == ColorModel::yuv ? pixels.rgb.luma_offset : 0;
    const int dimmed = (pixels.luma(x, y, from) + black) / 2;
    for (int c = 0; c < pixels.count; c++) {
        if (!pixels.begins(c, x, y))
            continue;
        int value = pixels.sample(c, x, y, from);
        if (dims && (c == 0 || (c < 3 && pixels.model == ColorModel::rgb)))
            value = dimmed;
        else if (dims && pixels.model == ColorModel::yuv)
            value = pixels.neutral_chroma();
        pixels.put(c, x, y, value, to);
    }
}

// ---- images -------------------------------------------------------------------------

/// Links have the same capacity both ways, so a reverse arc is read from the plane of its arc, one
/// step away. Half of the planes suffice, each with room for a row and a pixel in front of it.
inline Image links_image(const Image &like, int connectivity, std::int32_t *const *planes,
                         std::size_t stride) {
    Image image =
        plane_image(like, connectivity == 4 ? Format::cap32x4 : Format::cap32x8, nullptr, stride);
    for (int i = 0; i < connectivity / 2; i++) {
        const auto step = step_y(i, connectivity) * static_cast<std::int64_t>(stride) +
                          step_x(i, connectivity) * std::int64_t{sizeof(std::int32_t)};
        auto *data = reinterpret_cast<std::byte *>(planes[i]);
        image.planes[i] = {data, static_cast<std::int64_t>(stride)};
        image.planes[reverse(i, connectivity)] = {data - step, static_cast<std::int64_t>(stride)};
    }
    return image;
}

} // namespace segment

/// Begins with the flow of the cut before, where that is of much the same graph: of the same
/// picture, or of a still scene.
inline void reuse_flow(const gpv_segment_params &params, bool first, bool last, GraphcutRun &cut) {
    const Reuse of_frames = params.static_scene ? Reuse::by_choice : Reuse::none;
    cut.reuse = first ? of_frames : Reuse::always;
    cut.next = last ? of_frames : Reuse::always;
}

/// Iterations of learning and cutting. goes_on: from what runs before have learned.
constexpr int iterations_of(const gpv_segment_params &params, bool goes_on) {
    return goes_on ? 1 : params.iterations;
}

// ---- operator -----------------------------------------------------------------------

/// Inputs and outputs of one run.
struct SegmentRun {
    Image src;
    std::optional<Image> seeds;
    std::optional<Rect> rect;
    std::optional<Image> mask, dst;
    GraphcutResult *result = nullptr; ///< in the backend's memory; may be null
};

/// One backend's operator. The caller has checked the images: supported formats, same size and
/// memory (seeds may be in host memory), disjoint, except that dst may be src; and seeds in host
/// memory: all are legal, and one leaves its pixel not known.
class Segment : public Operator {
  public:
    virtual void set_params(const gpv_segment_params &params) = 0;
    virtual void prepare(const SegmentRun &shapes) = 0;
    /// Returns whether wait(), result() and fault() refer to this run: false if it was captured in
    /// a graph.
    virtual bool run(Stream stream, const SegmentRun &run) = 0;
    /// The next run fits its model anew.
    virtual void forget_model() = 0;
    /// Whether the next run, unless it takes over nothing, begins with what has been learned.
    /// Waits.
    virtual bool learned() = 0;
    /// Result and fault of the last finished run; the fault's value is a terminal_of_fault().
    virtual GraphcutResult result() const = 0;
    virtual GraphcutFault fault() const = 0;
};

} // namespace gpv
