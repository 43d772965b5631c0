// SPDX-License-Identifier: BSD-2-Clause
// What docs/algorithms/segment.md defines, written down once more, with lists of cells and loops
// over axes; and what a mask makes of a picture. The cut is found by graphcut.hpp.
#pragma once

#include <numbers>
#include <optional>

#include "colors.hpp"
#include "graphcut.hpp"

namespace parity {

/// What one run looks at.
struct SegmentInput {
    GuardedImage *src;
    const GuardedImage *seeds = nullptr;
    std::optional<gpv_rect> rect = {};
};

// ---- colours by cell ----------------------------------------------------------------

/// Pixels whose colours are in the same cube of side 8.
struct Cell {
    std::array<int, 3> level;
    std::uint64_t pixels, at_edge;

    float middle(int axis) const {
        return static_cast<float>(8 * level[static_cast<std::size_t>(axis)]) + 3.5f;
    }
};

/// In raster order of levels.
using Cells = std::vector<Cell>;

/// Of pixels: how many, and sums of their levels, of squares and of products.
struct LevelSums {
    std::uint64_t pixels = 0, first[3] = {}, second[3][3] = {};

    void add(const Cell &cell, std::uint64_t count) {
        pixels += count;
        for (std::size_t i = 0; i < 3; i++) {
            first[i] += count * static_cast<std::uint64_t>(cell.level[i]);
            for (std::size_t k = 0; k < 3; k++)
                second[i][k] += count * static_cast<std::uint64_t>(cell.level[i] * cell.level[k]);
        }
    }
    double mean(int axis) const { return double(first[axis]) / double(pixels); }
    double spread(int axis) const {
        if (pixels == 0)
            return 0;
        const double sum = double(first[axis]);
        return double(second[axis][axis]) - sum * sum / double(pixels);
    }
    int widest() const {
        int axis = 0;
        for (int other : {1, 2})
            if (spread(other) > spread(axis))
                axis = other;
        return axis;
    }
    bool is_below(const Cell &cell, int axis) const {
        return first[axis] <
               pixels * static_cast<std::uint64_t>(cell.level[static_cast<std::size_t>(axis)]);
    }
};

inline LevelSums sums_of(const Cells &cells) {
    LevelSums sums;
    for (const Cell &cell : cells)
        sums.add(cell, cell.pixels);
    return sums;
}

// ---- models -------------------------------------------------------------------------

/// By the series of the inverse hyperbolic tangent: ten terms, from the last to the first.
inline double natural_logarithm(double value) {
    int exponent;
    double fraction = 2 * std::frexp(value, &exponent);
    exponent--;
    if (fraction > 1.4142135623730951) {
        fraction = fraction / 2;
        exponent++;
    }
    const double s = (fraction - 1) / (fraction + 1), square = s * s;
    double sum = 0;
    for (const double odd : {19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0})
        sum = sum * square + 1 / odd;
    return exponent * 0.6931471805599453 + 2 * s * sum;
}

/// A normal distribution: its mean, the upper triangle of a quadratic form, and what is added.
struct Normal {
    float mean[3] = {}, form[3][3] = {}, constant = 0;

    float cost(const std::array<float, 3> &color) const {
        float off[3], sum = constant;
        for (std::size_t i = 0; i < 3; i++)
            off[i] = color[i] - mean[i];
        for (std::size_t i = 0; i < 3; i++) {
            float inner = form[i][i] * off[i];
            for (std::size_t k = i + 1; k < 3; k++)
                inner = inner + form[i][k] * off[k];
            sum = sum + off[i] * inner;
        }
        return sum;
    }
};

/// Without pixels.
inline Normal impossible() {
    Normal none;
    none.constant = 1e30f;
    return none;
}

inline float center_of(const LevelSums &sums, int axis) {
    return static_cast<float>(8 * sums.mean(axis) + 3.5);
}

/// Of some of the pixels of a side.
inline Normal normal_of(const LevelSums &sums, std::uint64_t of_side) {
    if (sums.pixels == 0)
        return impossible();
    double s[3][3]; // the covariance
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            s[i][k] = 64 * (double(sums.second[i][k]) / double(sums.pixels) -
                            sums.mean(i) * sums.mean(k)) +
                      (i == k ? 8 : 0);
    const auto cofactor = [&](int i, int k) {
        const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, k1 = (k + 1) % 3, k2 = (k + 2) % 3;
        return s[i1][k1] * s[i2][k2] - s[i1][k2] * s[i2][k1];
    };
    const double determinant =
        s[0][0] * cofactor(0, 0) + s[0][1] * cofactor(0, 1) + s[0][2] * cofactor(0, 2);
    Normal normal;
    for (int i = 0; i < 3; i++) {
        normal.mean[i] = center_of(sums, i);
        for (int k = i; k < 3; k++)
            normal.form[i][k] =
                static_cast<float>((i == k ? 0.5 : 1.0) * cofactor(i, k) / determinant);
    }
    const double share = double(sums.pixels) / double(of_side);
    normal.constant =
        static_cast<float>(0.5 * natural_logarithm(determinant) - natural_logarithm(share));
    return normal;
}

/// What is learned of one side.
struct SideModel {
    bool present = false;
    std::vector<Normal> normals = std::vector<Normal>(5);
    std::vector<float> table = std::vector<float>(4096); ///< cost by cube of side 16

    float cost(const std::array<float, 3> &color) const {
        float minimum = 1e30f;
        for (const Normal &normal : normals)
            minimum = std::min(minimum, normal.cost(color));
        return minimum;
    }
    /// The first of those that cost least; 0 if all are impossible.
    std::size_t nearest(const Cell &cell) const {
        const std::array<float, 3> color = {cell.middle(0), cell.middle(1), cell.middle(2)};
        std::size_t best = 0;
        float minimum = 1e30f;
        for (std::size_t i = 0; i < normals.size(); i++)
            if (normals[i].cost(color) < minimum) {
                minimum = normals[i].cost(color);
                best = i;
            }
        return best;
    }
};

/// Five parts of the cells: the widest is halved until there are as many.
inline std::vector<std::size_t> split(const Cells &cells) {
    std::vector<std::size_t> part(cells.size(), 0);
    for (std::size_t parts = 1; parts < 5; parts++) {
        std::vector<LevelSums> sums(parts);
        for (std::size_t i = 0; i < cells.size(); i++)
            sums[part[i]].add(cells[i], cells[i].pixels);
        std::size_t widest = 0;
        for (std::size_t i = 1; i < parts; i++)
            if (sums[i].spread(sums[i].widest()) > sums[widest].spread(sums[widest].widest()))
                widest = i;
        const int axis = sums[widest].widest();
        for (std::size_t i = 0; i < cells.size(); i++)
            if (part[i] == widest && sums[widest].is_below(cells[i], axis))
                part[i] = parts;
    }
    return part;
}

inline void fit_parts(SideModel &model, const Cells &cells, const std::vector<std::size_t> &part) {
    std::vector<LevelSums> sums(model.normals.size());
    for (std::size_t i = 0; i < cells.size(); i++)
        sums[part[i]].add(cells[i], cells[i].pixels);
    for (std::size_t i = 0; i < sums.size(); i++)
        model.normals[i] = normal_of(sums[i], sums_of(cells).pixels);
}

/// Cells go to the component that explains them best, so many times.
inline void refine(SideModel &model, const Cells &cells, int iterations) {
    for (int i = 0; i < iterations; i++) {
        std::vector<std::size_t> part;
        for (const Cell &cell : cells)
            part.push_back(model.nearest(cell));
        fit_parts(model, cells, part);
    }
}

/// A side that has nothing yet begins with halves; where there is one, both are refined 4 times.
inline void fit_mixtures(std::array<SideModel, 2> &models, const std::array<Cells, 2> &cells,
                         bool from_last) {
    int iterations = 1;
    for (std::size_t side = 0; side < 2; side++)
        if (!cells[side].empty() && !(from_last && models[side].present)) {
            fit_parts(models[side], cells[side], split(cells[side]));
            iterations = 4;
        }
    for (std::size_t side = 0; side < 2; side++)
        if (!cells[side].empty())
            refine(models[side], cells[side], iterations);
}

inline void fit_table(SideModel &model, const Cells &cells) {
    std::vector<std::uint64_t> counts(4096);
    for (const Cell &cell : cells)
        counts[static_cast<std::size_t>((cell.level[0] / 2 * 16 + cell.level[1] / 2) * 16 +
                                        cell.level[2] / 2)] += cell.pixels;
    for (const int stride : {256, 16, 1}) { // 1 2 1 along each axis, the ends once more
        const std::vector<std::uint64_t> before = counts;
        for (int i = 0; i < 4096; i++) {
            const int level = i / stride % 16;
            const int left = level > 0 ? i - stride : i, right = level < 15 ? i + stride : i;
            counts[static_cast<std::size_t>(i)] = before[static_cast<std::size_t>(left)] +
                                                  2 * before[static_cast<std::size_t>(i)] +
                                                  before[static_cast<std::size_t>(right)];
        }
    }
    const double total = 64 * double(sums_of(cells).pixels);
    for (std::size_t i = 0; i < 4096; i++)
        model.table[i] =
            static_cast<float>(-natural_logarithm(double(counts[i]) / total + 0.001 / 4096));
}

/// One normal distribution for each side, both of the same width along every axis.
inline void fit_means(std::array<SideModel, 2> &models, const std::array<Cells, 2> &cells) {
    double spread = 0, pixels = 0;
    for (const Cells &of_side : cells) {
        const LevelSums sums = sums_of(of_side);
        for (int axis = 0; axis < 3; axis++)
            spread += sums.spread(axis);
        pixels += double(sums.pixels);
    }
    const double variance = 64 * spread / (3 * std::max(pixels, 1.0)) + 8;
    for (std::size_t side = 0; side < 2; side++) {
        const LevelSums sums = sums_of(cells[side]);
        if (sums.pixels == 0)
            continue;
        models[side].normals.assign(5, impossible());
        Normal &normal = models[side].normals[0];
        normal.constant = 0;
        for (int axis = 0; axis < 3; axis++) {
            normal.mean[axis] = center_of(sums, axis);
            normal.form[axis][axis] = static_cast<float>(0.5 / variance);
        }
    }
}

// ---- sides --------------------------------------------------------------------------

/// Two clusters of colours; the first is the background.
inline std::array<Cells, 2> divided(const Cells &cells) {
    const LevelSums all = sums_of(cells);
    const int axis = all.widest();
    if (!(all.spread(axis) > 0))
        return {cells, {}};
    std::vector<int> cluster;
    for (const Cell &cell : cells)
        cluster.push_back(all.is_below(cell, axis));
    for (int iteration = 0; iteration < 16; iteration++) {
        LevelSums sums[2];
        for (std::size_t i = 0; i < cells.size(); i++)
            sums[cluster[i]].add(cells[i], cells[i].pixels);
        const auto distance = [&](const Cell &cell, const LevelSums &of) {
            float along[3];
            for (int k = 0; k < 3; k++) {
                const float off = static_cast<float>(cell.level[static_cast<std::size_t>(k)]) -
                                  static_cast<float>(of.mean(k));
                along[k] = off * off;
            }
            return (along[0] + along[1]) + along[2];
        };
        std::vector<int> next;
        for (const Cell &cell : cells)
            next.push_back(distance(cell, sums[1]) < distance(cell, sums[0]));
        const bool same = next == cluster;
        cluster = next;
        if (same)
            break;
    }
    std::uint64_t at_edge[2] = {}, pixels[2] = {};
    std::array<Cells, 2> clusters;
    for (std::size_t i = 0; i < cells.size(); i++) {
        at_edge[cluster[i]] += cells[i].at_edge;
        pixels[cluster[i]] += cells[i].pixels;
        clusters[static_cast<std::size_t>(cluster[i])].push_back(cells[i]);
    }
    const bool swap = at_edge[0] == at_edge[1] ? pixels[1] > pixels[0] : at_edge[1] > at_edge[0];
    if (swap)
        std::swap(clusters[0], clusters[1]);
    return clusters;
}

// ---- capacities ---------------------------------------------------------------------

/// 2^-x.
inline float negative_power_of_two(float x) {
    if (!(x < 64))
        return 0;
    const float whole = std::trunc(x + 0.5f), t = whole - x;
    float sum = 0;
    for (const float factor : {1.5403530e-4f, 1.3333558e-3f, 9.6181291e-3f, 5.5504109e-2f,
                               0.24022651f, 0.69314718f, 1.0f})
        sum = sum * t + factor;
    return std::ldexp(sum, -static_cast<int>(whole));
}

// ---- scenes -------------------------------------------------------------------------

/// For each axis, the levels of all pixels in order.
using Palette = std::array<std::vector<int>, 3>;

inline Palette palette_of(const std::vector<Rgb> &colors) {
    Palette palette;
    for (std::size_t i = 0; i < 3; i++) {
        for (const Rgb &color : colors)
            palette[i].push_back(color[i] / 8);
        std::sort(palette[i].begin(), palette[i].end());
    }
    return palette;
}

/// Whether the mean distance of the pixels of two frames, each frame repeated as often as the other
/// has pixels, is more than so many levels if they are paired in order.
inline bool is_beyond(const Palette &a, const Palette &b, std::int64_t levels) {
    const std::size_t pairs = a[0].size() * b[0].size();
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < 3; i++)
        for (std::size_t k = 0; k < pairs;) { // as long as both stay
            const std::size_t p = k / b[0].size(), q = k / a[0].size();
            const std::size_t end = std::min((p + 1) * b[0].size(), (q + 1) * a[0].size());
            sum += static_cast<std::int64_t>(end - k) * std::abs(a[i][p] - b[i][q]);
            k = end;
        }
    return sum > levels * static_cast<std::int64_t>(pairs);
}

// ---- seeds --------------------------------------------------------------------------

/// What is said of a pixel: 0 and 255 are the sides, 128 is nothing.
struct Said {
    int known = 128, probable = 128;
};

inline Said said_of(const SegmentInput &in, int x, int y) {
    if (const auto &r = in.rect;
        r && (x < r->x || y < r->y || x >= r->x + r->width || y >= r->y + r->height))
        return {0, 0};
    switch (in.seeds ? in.seeds->row(0, y)[x] : 128) {
    case 0: // GC_BGD
        return {0, 0};
    case 1: // GC_FGD
    case 255:
        return {255, 255};
    case 2: // GC_PR_BGD
        return {128, 0};
    case 3: // GC_PR_FGD
        return {128, 255};
    case 128:
        return {};
    default:
        fatal("seeds mean something");
    }
}

// ---- soft edges ---------------------------------------------------------------------

/// What the window of a pixel makes of a mask: in 2^-18 of the foreground, by colour and constant.
struct LinearShare {
    int pixels = 0, front = 0;
    std::array<int, 3> slope = {};
    int constant = 0;
    bool is_mixed() const { return front > 0 && front < pixels; }
};

/// f(pixel) of all those of the picture that are not more than 4 pixels from (x, y) along an axis.
template <class F>
void each_round(int x, int y, int width, int height, F f) {
    for (int v = std::max(y - 4, 0); v <= std::min(y + 4, height - 1); v++)
        for (int u = std::max(x - 4, 0); u <= std::min(x + 4, width - 1); u++)
            f(static_cast<std::size_t>(v) * static_cast<std::size_t>(width) +
              static_cast<std::size_t>(u));
}

inline LinearShare share_round(int x, int y, int width, int height, const std::vector<Rgb> &colors,
                               const std::vector<std::uint8_t> &mask) {
    LinearShare share;
    int sum[4] = {}, product[3][4] = {}; // of colours, and of the foreground as a fourth
    each_round(x, y, width, height, [&](std::size_t p) {
        const int value[4] = {colors[p][0], colors[p][1], colors[p][2], mask[p] ? 1 : 0};
        share.pixels++;
        for (int i = 0; i < 4; i++)
            sum[i] += value[i];
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 4; k++)
                product[i][k] += value[i] * value[k];
    });
    const int n = share.pixels;
    share.front = sum[3];
    share.constant = share.front ? 1 << 18 : 0;
    if (!share.is_mixed())
        return share;
    float m[3][4]; // equations whose right side is the last column
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 4; k++)
            m[i][k] =
                static_cast<float>(n * product[i][k] - sum[i] * sum[k] + (i == k ? 16 * n * n : 0));
    for (int i = 0; i < 3; i++)
        for (int row = i + 1; row < 3; row++) {
            const float factor = m[i][row] / m[i][i]; // of what stays symmetric
            for (int k = i; k < 4; k++)
                m[row][k] = m[row][k] - factor * m[i][k];
        }
    const auto nearest = [](float v) {
        return static_cast<int>(std::trunc(v + std::copysign(0.5f, v))); // halves away from 0
    };
    int constant = share.front << 18;
    for (int i = 2; i >= 0; i--) {
        for (int k = i + 1; k < 3; k++)
            m[i][3] = m[i][3] - m[i][k] * m[k][3];
        m[i][3] = m[i][3] / m[i][i];
        share.slope[static_cast<std::size_t>(i)] = nearest(m[i][3] * 262144.0f);
        constant -= share.slope[static_cast<std::size_t>(i)] * sum[i];
    }
    share.constant = nearest(static_cast<float>(constant) / static_cast<float>(n));
    return share;
}

/// Alpha of each pixel.
inline std::vector<std::uint8_t> soft_mask(const SegmentInput &in, const std::vector<Rgb> &colors,
                                           const std::vector<std::uint8_t> &mask) {
    const int width = in.src->view()->width, height = in.src->view()->height;
    std::vector<LinearShare> shares(mask.size());
    std::vector<std::uint8_t> alpha = mask;
    const auto each_pixel = [&](auto f) {
        tbb::parallel_for(0, height, [&](int y) {
            for (int x = 0; x < width; x++)
                f(x, y,
                  static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                      static_cast<std::size_t>(x));
        });
    };
    each_pixel([&](int x, int y, std::size_t p) {
        shares[p] = share_round(x, y, width, height, colors, mask);
    });
    each_pixel([&](int x, int y, std::size_t p) {
        if (said_of(in, x, y).known != 128 || !shares[p].is_mixed())
            return;
        int sum = 0;
        each_round(x, y, width, height, [&](std::size_t q) {
            sum += shares[q].constant;
            for (std::size_t i = 0; i < 3; i++)
                sum += shares[q].slope[i] * colors[p][i];
        });
        const float value =
            static_cast<float>(sum) * (255.0f / 262144.0f) / static_cast<float>(shares[p].pixels) +
            0.5f;
        alpha[p] = static_cast<std::uint8_t>(std::clamp(value, 0.0f, 255.0f));
    });
    return alpha;
}

inline std::vector<std::uint8_t> mask_of(const SegmentInput &in, const gpv_segment_params &p,
                                         const std::vector<Rgb> &colors, const Cut &cut) {
    return p.edge == GPV_SEGMENT_EDGE_SOFT ? soft_mask(in, colors, cut.mask) : cut.mask;
}

// ---- a run --------------------------------------------------------------------------

/// What a run has to find.
struct SegmentFound {
    Cut cut;
    std::vector<std::uint8_t> mask; ///< what becomes of that of the cut
    std::vector<Rgb> colors;        ///< of the picture
    std::vector<int> alpha;         ///< 255 where it has none
};

inline std::vector<int> alpha_of(const GuardedImage &src) {
    const gpv_format format = src.view()->format;
    const bool has = format == GPV_FORMAT_RGBA8 || format == GPV_FORMAT_BGRA8 ||
                     format == GPV_FORMAT_ARGB8 || format == GPV_FORMAT_ABGR8;
    const Samples samples(src);
    std::vector<int> alpha;
    for (int y = 0; y < src.view()->height; y++)
        for (int x = 0; x < src.view()->width; x++)
            alpha.push_back(has ? samples.get(3, x, y) : 255);
    return alpha;
}

/// An operator: what it has learned, and what its last run has cut.
class SegmentDefinition {
  public:
    void forget() {
        learned_ = adapted_ = false;
        contrast_.reset();
    }
    bool learned() const { return learned_; }

    SegmentFound run(const SegmentInput &in, const gpv_segment_params &p) {
        SegmentFound found;
        const bool begins = read(in, p);
        found.colors = colors_;
        found.alpha = alpha_of(*in.src);
        if (begins)
            fit_first();
        const std::array<SideModel, 2> before = sides_;
        const bool adapts = p.warm_start == GPV_SEGMENT_WARM_START_ADAPT;
        const int iterations = !begins || (adapts && adapted_) ? 1 : p.iterations;
        adapted_ = adapts;
        for (int iteration = 0; iteration < iterations; iteration++) {
            if (iteration > 0)
                fit_to(found.cut.mask);
            make_terminals(p.lambda);
            found.cut = cut();
        }
        found.mask = mask_of(in, p, colors_, found.cut);
        const auto pixels = static_cast<std::int64_t>(colors_.size());
        const bool told = in.seeds || in.rect || adapts;
        const std::int64_t fewest = told || pixels < 1024 ? 1 : pixels / 1024;
        const bool alive = std::min(found.cut.area, pixels - found.cut.area) >= fewest;
        if (!adapts)
            learned_ = !begins || alive;
        else if (is_worth_learning(alive))
            fit_to(found.cut.mask);
        else
            sides_ = before;
        if (adapts && !learned_)
            contrast_.reset();
        return found;
    }
    /// Makes the graph of the first cut, and does not cut it.
    void make_graph(const SegmentInput &in, const gpv_segment_params &p) {
        read(in, p);
        fit_first();
        make_terminals(p.lambda);
    }
    /// Of the last cut.
    const Instance &graph() const { return *graph_; }

  private:
    /// Of the last cut of a run that adapts, with two sides or one. And whether what has been
    /// learned so far is kept.
    bool is_worth_learning(bool alive) {
        const Palette frame = palette_of(colors_);
        if (!last_) {
            learned_ = alive;
        } else if (is_beyond(frame, *last_, 9)) {
            learned_ = ++others_ < 4;
            return false;
        } else {
            others_ = 0;
            learned_ =
                hinted_ ? alive || !is_beyond(frame, *first_, 9) : !is_beyond(frame, *first_, 1);
        }
        if (!learned_ || !alive)
            return false;
        if (!first_)
            first_ = frame;
        last_ = frame;
        return true;
    }

    /// All that does not depend on what is learned. Whether the run begins by learning.
    bool read(const SegmentInput &in, const gpv_segment_params &p) {
        if (p.model != model_)
            forget();
        model_ = p.model;
        width_ = in.src->view()->width;
        height_ = in.src->view()->height;
        colors_.clear();
        for (const Value value : colors_of(*in.src))
            colors_.push_back(bytes_of(value));
        read_known(in);
        const bool begins = !learned_ || p.warm_start == GPV_SEGMENT_WARM_START_NONE;
        if (!p.static_scene || (begins && p.warm_start == GPV_SEGMENT_WARM_START_ADAPT))
            contrast_.reset();
        const std::array<int, 3> shape = {width_, height_, p.connectivity};
        if (p.sigma == 0 && shape != contrast_shape_)
            contrast_.reset();
        if (p.sigma == 0)
            contrast_shape_ = shape;
        graph_.emplace(width_, height_, p.connectivity);
        make_links(p.sigma);
        if (!p.static_scene || (contrast_ && contrast_->sum == 0))
            contrast_.reset();
        return begins;
    }

    void read_known(const SegmentInput &in) {
        said_.clear();
        teaches_.assign(std::size_t(width_) * height_, true);
        for (int y = 0; y < height_; y++)
            for (int x = 0; x < width_; x++) {
                said_.push_back(said_of(in, x, y));
                if (const auto &r = in.rect) // a tenth of it, and a pixel, on each side
                    teaches_[std::size_t(y) * width_ + x] =
                        std::abs(2 * x + 1 - 2 * r->x - r->width) <=
                            r->width + 2 * (r->width / 10 + 1) &&
                        std::abs(2 * y + 1 - 2 * r->y - r->height) <=
                            r->height + 2 * (r->height / 10 + 1);
            }
    }

    /// The cells of those pixels for which holds(pixel).
    template <class F>
    Cells cells_where(F holds) const {
        std::vector<std::array<std::uint64_t, 2>> counts(1 << 15); // of all, and at the edge
        for (std::size_t p = 0; p < said_.size(); p++) {
            if (!teaches_[p] || !holds(p))
                continue;
            const Rgb &c = colors_[p];
            const int x = static_cast<int>(p % width_), y = static_cast<int>(p / width_);
            auto &count =
                counts[static_cast<std::size_t>((c[0] / 8 * 32 + c[1] / 8) * 32 + c[2] / 8)];
            count[0]++;
            count[1] += x == 0 || y == 0 || x == width_ - 1 || y == height_ - 1;
        }
        Cells cells;
        for (int i = 0; i < 1 << 15; i++)
            if (const auto &count = counts[static_cast<std::size_t>(i)]; count[0])
                cells.push_back({{i / 1024, i / 32 % 32, i % 32}, count[0], count[1]});
        return cells;
    }

    void fit_first() {
        sides_ = {};
        first_.reset();
        last_.reset();
        others_ = 0;
        hinted_ = std::any_of(said_.begin(), said_.end(), [](Said s) { return s.probable != 128; });
        const auto of = [&](int side) {
            return cells_where([&](std::size_t p) { return said_[p].probable == side; });
        };
        std::array<Cells, 2> cells = {of(0), of(255)};
        if (cells[0].empty() && cells[1].empty())
            cells = divided(of(128));
        else
            for (Cells &side : cells)
                if (side.empty())
                    side = of(128);
        fit(cells, false);
    }
    void fit_to(const std::vector<std::uint8_t> &mask) {
        fit({cells_where([&](std::size_t p) { return mask[p] == 0; }),
             cells_where([&](std::size_t p) { return mask[p] != 0; })},
            true);
    }
    /// A side without pixels keeps what it has.
    void fit(const std::array<Cells, 2> &cells, bool from_last) {
        if (model_ == GPV_SEGMENT_MODEL_GMM)
            fit_mixtures(sides_, cells, from_last);
        if (model_ == GPV_SEGMENT_MODEL_MEANS)
            fit_means(sides_, cells);
        for (std::size_t side = 0; side < 2; side++) {
            if (cells[side].empty())
                continue;
            if (model_ == GPV_SEGMENT_MODEL_HISTOGRAM)
                fit_table(sides_[side], cells[side]);
            sides_[side].present = true;
        }
    }

    /// How much more a colour costs in the background: of one that both sides know, 4 at most.
    float preference(const Rgb &c) const {
        if (!sides_[0].present || !sides_[1].present)
            return static_cast<float>(int{sides_[1].present} - int{sides_[0].present});
        if (model_ == GPV_SEGMENT_MODEL_HISTOGRAM) {
            const auto cube =
                static_cast<std::size_t>((c[0] / 16 * 16 + c[1] / 16) * 16 + c[2] / 16);
            return std::clamp(sides_[0].table[cube] - sides_[1].table[cube], -4.0f, 4.0f);
        }
        const std::array<float, 3> color = {float(c[0]), float(c[1]), float(c[2])};
        return std::clamp(sides_[0].cost(color) - sides_[1].cost(color), -4.0f, 4.0f);
    }
    void make_terminals(float lambda) {
        constexpr float maximum = 536870912; // 2^29
        tbb::parallel_for(0, height_, [&](int y) {
            for (int x = 0; x < width_; x++) {
                const std::size_t p = graph_->at(x, y);
                std::int32_t &terminal = graph_->terminals[p];
                if (said_[p].known != 128) {
                    terminal = said_[p].known ? 1 << 30 : -(1 << 30);
                    continue;
                }
                const float value =
                    std::clamp(preference(colors_[p]) * (lambda * 1000), -maximum, maximum);
                terminal = static_cast<std::int32_t>(
                    std::trunc(value + std::copysign(0.5f, value))); // halves away from 0
            }
        });
    }

    int squared_difference(std::size_t p, std::size_t q) const {
        int sum = 0;
        for (std::size_t i = 0; i < 3; i++)
            sum += (colors_[p][i] - colors_[q][i]) * (colors_[p][i] - colors_[q][i]);
        return sum;
    }
    /// f(x, y, direction, squared difference) of each pair of neighbours gives their capacity.
    template <class F>
    void each_pair(F f) {
        graph_->each_edge([&](int x, int y, int d) {
            const std::size_t p = graph_->at(x, y);
            return f(d, squared_difference(p, graph_->next(d, p)));
        });
    }
    void make_links(float sigma) {
        constexpr double log2_of_e = 1.4426950408889634;
        float falloff = 0;
        if (sigma > 0) {
            falloff = static_cast<float>(log2_of_e / (2 * double(sigma) * double(sigma)));
        } else {
            if (!contrast_) {
                contrast_ = {0, 0};
                each_pair([&](int, int difference) {
                    contrast_->pairs++;
                    contrast_->sum += static_cast<std::uint64_t>(difference);
                    return 0;
                });
            }
            if (contrast_->sum > 0)
                falloff = static_cast<float>(log2_of_e * double(contrast_->pairs) /
                                             (2 * double(contrast_->sum)));
        }
        each_pair([&](int d, int difference) {
            const auto &step = graph_->step(d);
            const double length = std::hypot(step[0], step[1]); // Cauchy and Crofton
            const auto maximum =
                static_cast<float>(1000 * std::numbers::pi / (graph_->directions * length));
            const float power =
                difference == 0 ? 1 : negative_power_of_two(falloff * float(difference));
            return static_cast<int>(maximum * power + 0.5f);
        });
    }

    /// Without links each pixel is on its own.
    Cut cut() const {
        const auto is_empty = [](const std::vector<std::int32_t> &plane) {
            return std::all_of(plane.begin(), plane.end(), [](int c) { return c == 0; });
        };
        if (!std::all_of(graph_->links.begin(), graph_->links.end(), is_empty))
            return reference(*graph_);
        Cut cut;
        for (const std::int32_t terminal : graph_->terminals)
            cut.mask.push_back(terminal < 0 ? 0 : 255);
        cut.area = area_of(cut.mask);
        return cut;
    }

    gpv_segment_model model_ = GPV_SEGMENT_MODEL_GMM;
    bool learned_ = false;
    bool adapted_ = false; ///< in the last run
    std::array<SideModel, 2> sides_;
    std::optional<Palette> first_, last_; ///< of the frames that were learned from
    int others_ = 0;                      ///< frames of another scene in a row
    bool hinted_ = false;                 ///< where learning began

    int width_ = 0, height_ = 0;
    std::vector<Rgb> colors_;
    std::vector<Said> said_;
    std::vector<bool> teaches_; ///< colours are learned from the pixel
    std::optional<Instance> graph_;
    struct Contrast {
        std::uint64_t pairs, sum;
    };
    std::optional<Contrast> contrast_;    ///< that holds for the next frame
    std::array<int, 3> contrast_shape_{}; ///< width, height and connectivity
};

// ---- pictures -----------------------------------------------------------------------

/// dst as the header describes it. src may be dst.
inline void paint_overlay(const GuardedImage &src, const std::vector<std::uint8_t> &mask,
                          GuardedImage &dst) {
    const gpv_image &view = *src.view();
    if (&src != &dst)
        dst.copy_pixels_from(src);
    const Samples from(src), to(dst);
    const bool limited = from.yuv() && view.color_range != GPV_COLOR_RANGE_FULL;
    const int black = limited ? from.wide() ? 4096 : 16 : 0;
    std::vector<int> dimmed;
    for (int y = 0; y < view.height; y++)
        for (int x = 0; x < view.width; x++)
            dimmed.push_back((from.luma(x, y) + black) / 2);
    to.each([&](int channel, int i, int row) {
        const auto pixel = static_cast<std::size_t>(row * to.down(channel)) *
                               static_cast<std::size_t>(view.width) +
                           static_cast<std::size_t>(i * to.across(channel));
        const bool keeps = mask[pixel] || channel == 3;
        to.set(channel, i, row,
               keeps                       ? from.get(channel, i, row)
               : channel > 0 && from.yuv() ? to.neutral()
                                           : dimmed[pixel]);
    });
}

/// 255 and 0; neutral chroma.
inline void paint_mask(const std::vector<std::uint8_t> &mask, GuardedImage &dst) {
    dst.each_row([&](int plane, std::int64_t y, std::uint8_t *row, std::int64_t bytes) {
        if (plane > 0)
            std::memset(row, 128, static_cast<std::size_t>(bytes));
        else
            std::memcpy(row, &mask[static_cast<std::size_t>(y * bytes)],
                        static_cast<std::size_t>(bytes));
    });
}

inline void paint_cutout(const SegmentFound &found, GuardedImage &dst) {
    const Samples samples(dst);
    samples.each([&](int channel, int x, int y) {
        const auto p = static_cast<std::size_t>(y) * static_cast<std::size_t>(dst.view()->width) +
                       static_cast<std::size_t>(x);
        samples.set(channel, x, y,
                    channel < 3 ? found.colors[p][static_cast<std::size_t>(channel)]
                                : int(std::lround(found.mask[p] * found.alpha[p] / 255.0)));
    });
}

} // namespace parity
