// SPDX-License-Identifier: BSD-2-Clause
// Colour segmentation: what both backends compute, and with which arithmetic.
// docs/algorithms/kmeans.md defines it. Floating point has the same order in both
// backends and is not fused; sums are integers.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <gpuvision/kmeans.h>

#include "core/color.hpp"
#include "core/context.hpp"
#include "core/params.hpp"

namespace gpv {

extern const Fields kmeans_fields;

inline constexpr int max_kmeans_clusters = GPV_KMEANS_MAX_CLUSTERS;

struct Centroid {
    float x, y, z;
    bool operator==(const Centroid &) const = default;
};

struct KmeansParams : gpv_kmeans_params {
    bool chosen() const { return clusters == 0; }
    /// Whether the initial centroids are drawn at random.
    bool is_random_init() const {
        return init == GPV_KMEANS_INIT_PLUSPLUS || init == GPV_KMEANS_INIT_RANDOM;
    }
    /// Clusters that outputs need room for.
    int room() const { return chosen() ? max_clusters : clusters; }
    /// Whether a run may start from the centroids of a run with those parameters.
    bool can_warm_start_from(const KmeansParams &before) const {
        return warm_start && clusters == before.clusters && color_space == before.color_space &&
               (!chosen() || max_clusters == before.max_clusters);
    }
    /// Converged once no centroid has moved by more than this, squared. Negative: never reached.
    float squared_tolerance() const { return tolerance < 0 ? -1 : tolerance * tolerance; }
};

/// gpv_kmeans_result.
struct KmeansResult {
    std::uint32_t struct_size;
    std::int32_t clusters, iterations, empty;
    std::uint32_t converged;
    std::uint32_t reserved;
    double inertia;

    /// Clusters that have pixels.
    constexpr int used() const { return clusters - empty; }
};

// ---- colours ------------------------------------------------------------------------

/// The code of a colour is its cell, a cube of side 8, then its position in the cell; both in
/// raster order. Drawing initial centroids goes through colours in this order.
inline constexpr int cell_bits = 9;
inline constexpr int cell_colors = 1 << cell_bits;
inline constexpr int cell_count = 1 << (24 - cell_bits);
inline constexpr int cell_side = 8;

constexpr std::uint32_t color_code(const Color &c) {
    const std::uint32_t r = c.red, g = c.green, b = c.blue;
    return (r >> 3) << 19 | (g >> 3) << 14 | (b >> 3) << 9 | (r & 7) << 6 | (g & 7) << 3 | (b & 7);
}

constexpr Color color_of(std::uint32_t code) {
    return {static_cast<int>(code >> 19 << 3 | (code >> 6 & 7)),
            static_cast<int>((code >> 14 & 31) << 3 | (code >> 3 & 7)),
            static_cast<int>((code >> 9 & 31) << 3 | (code & 7))};
}

/// Breaks ties for the farthest colour: the least value wins.
constexpr std::uint32_t color_value(const Color &c) {
    return static_cast<std::uint32_t>(c.red << 16 | c.green << 8 | c.blue);
}

constexpr std::uint32_t squared_distance(const Color &a, const Color &b) {
    const int r = a.red - b.red, g = a.green - b.green, bl = a.blue - b.blue;
    return static_cast<std::uint32_t>(r * r + g * g + bl * bl);
}

// ---- Lloyd --------------------------------------------------------------------------

/// The distance for assigning labels. Ties go to the lowest label.
template <gpv_kmeans_metric metric>
constexpr float distance(float x, float y, float z, const Centroid &c) {
    const float dx = x - c.x, dy = y - c.y, dz = z - c.z;
    if constexpr (metric == GPV_KMEANS_METRIC_L2) {
        const float xx = dx * dx, yy = dy * dy, zz = dz * dz;
        return (xx + yy) + zz;
    } else {
        return ((dx < 0 ? -dx : dx) + (dy < 0 ? -dy : dy)) + (dz < 0 ? -dz : dz);
    }
}

/// How far a centroid has moved, squared.
constexpr float motion(const Centroid &from, const Centroid &to) {
    return distance<GPV_KMEANS_METRIC_L2>(from.x, from.y, from.z, to);
}

/// Number of pixels in a cluster, and the sums of their colours.
struct ClusterSums {
    std::uint64_t count, x, y, z;
};

constexpr Centroid mean(const ClusterSums &sums) {
    const auto of = [&](std::uint64_t sum) {
        return static_cast<float>(static_cast<double>(sum) / static_cast<double>(sums.count));
    };
    return {of(sums.x), of(sums.y), of(sums.z)};
}

/// Contribution of a cluster to inertia, without its sum of squared colours: n |m|^2 - 2 m S.
/// Inertia is the sum of squares over all pixels, plus these terms in the order of clusters.
constexpr double inertia_term(const Centroid &m, const ClusterSums &s) {
    const double x = m.x, y = m.y, z = m.z;
    const double squares = (x * x + y * y) + z * z;
    const double products = (x * static_cast<double>(s.x) + y * static_cast<double>(s.y)) +
                            z * static_cast<double>(s.z);
    return static_cast<double>(s.count) * squares - 2.0 * products;
}

/// The Calinski-Harabasz criterion: variance between clusters divided by variance within them.
/// total: inertia with one cluster.
constexpr double separation(int clusters, double inertia, double total, std::uint64_t pixels) {
    const double within = inertia * (clusters - 1);
    const double between = (total - inertia) * (static_cast<double>(pixels) - clusters);
    return between / within;
}

/// Inertia with one cluster. squares: sum of all squared colours.
constexpr double total_inertia(std::uint64_t squares, const ClusterSums &s) {
    const double x = static_cast<double>(s.x), y = static_cast<double>(s.y),
                 z = static_cast<double>(s.z);
    return static_cast<double>(squares) - ((x * x + y * y) + z * z) / static_cast<double>(s.count);
}

// ---- warm start ---------------------------------------------------------------------

/// What an image is as a whole.
struct KmeansLook {
    double x, y, z;  ///< mean colour
    double variance; ///< inertia of a pixel, with one cluster
};

constexpr KmeansLook look_of(std::uint64_t squares, const ClusterSums &all) {
    const double n = static_cast<double>(all.count);
    return {static_cast<double>(all.x) / n, static_cast<double>(all.y) / n,
            static_cast<double>(all.z) / n, total_inertia(squares, all) / n};
}

/// Whether the contrast has changed by more than this part of it, or the mean colour has moved by
/// more than this part of the contrast; half a level is nothing.
constexpr bool differ(const KmeansLook &from, const KmeansLook &to, double part) {
    const double dx = to.x - from.x, dy = to.y - from.y, dz = to.z - from.z;
    const double moved = (dx * dx + dy * dy) + dz * dz, ratio = 1 + 2 * part;
    return to.variance > ratio * from.variance + 0.25 ||
           from.variance > ratio * to.variance + 0.25 || moved > part * part * from.variance + 0.25;
}

/// What runs leave behind to see whether the next one may go on from their centroids.
struct KmeansScene {
    KmeansLook begun;     ///< of the run that began anew
    KmeansLook last;      ///< of the last run
    double least_inertia; ///< of a pixel, since the run that began anew
    bool settled;         ///< an image has been like the one before, since then
    bool settles;         ///< the next run begins anew since it has
};

/// Whether the next run may go on. went_on: whether this run has. used: clusters that have pixels.
/// Nothing here says how far an iteration has come, so that a slow one cannot begin anew again and
/// again.
constexpr bool may_go_on(KmeansScene &scene, const KmeansLook &look, double inertia, int used,
                         bool went_on) {
    constexpr double jump = 0.1, drift = 0.1, change = 0.01, calm = 0.005;
    const KmeansLook before = scene.last;
    scene.last = look;
    if (!went_on) {
        scene.begun = look;
        scene.least_inertia = inertia;
        scene.settled = scene.settles;
    }
    scene.settles = false;
    if (used < 2 || !went_on)
        return used >= 2;
    if (inertia > 2 * scene.least_inertia + 0.25 || differ(before, look, jump))
        return false;
    scene.least_inertia = inertia < scene.least_inertia ? inertia : scene.least_inertia;
    if (differ(before, look, calm))
        return true;
    scene.settles = differ(scene.begun, look, scene.settled ? drift : change);
    scene.settled = true;
    return !scene.settles;
}

// ---- initial centroids --------------------------------------------------------------------------

/// The i-th random number of a seed: splitmix64 (Steele, Lea and Flood, 2014).
constexpr std::uint64_t random_number(std::uint64_t seed, int i) {
    std::uint64_t z = seed + (static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/// Scales a random number to 0 .. total - 1: random * total / 2^64. Requires total < 2^56.
constexpr std::uint64_t scale_random(std::uint64_t random, std::uint64_t total) {
    const std::uint64_t high = random >> 32, low = random & 0xffffffffu;
    const std::uint64_t total_high = total >> 32, total_low = total & 0xffffffffu;
    const std::uint64_t middle = high * total_low + (low * total_low >> 32);
    return high * total_high + (middle >> 32) + ((low * total_high + (middle & 0xffffffffu)) >> 32);
}

/// Weight of a colour when the next centroid is drawn; its probability is proportional to it.
/// distance: squared, to the nearest drawn centroid. The first draw uses count as the weight.
constexpr std::uint64_t draw_weight(gpv_kmeans_init_method init, std::uint32_t count,
                                    std::uint32_t distance) {
    return init == GPV_KMEANS_INIT_PLUSPLUS ? std::uint64_t{count} * distance
                                            : (distance ? count : 0);
}

struct Point2i {
    int x, y;
};

/// The pixel whose colour is the i-th initial centroid: points in rows that share them evenly, each
/// point in the middle of its part of the image.
constexpr Point2i grid_point(int i, int clusters, int width, int height) {
    const std::int64_t k = clusters, w = width, h = height;
    std::int64_t rows = 1;
    while ((rows + 1) * (rows + 1) * w <= k * h && rows < k)
        rows++;
    std::int64_t row = 0;
    while (k * (row + 1) / rows <= i)
        row++;
    const std::int64_t first = k * row / rows, points = k * (row + 1) / rows - first;
    return {static_cast<int>((2 * (i - first) + 1) * w / (2 * points)),
            static_cast<int>((2 * row + 1) * h / (2 * rows))};
}

constexpr Centroid centroid_of(const Color &c) {
    return {static_cast<float>(c.red), static_cast<float>(c.green), static_cast<float>(c.blue)};
}

// ---- paint --------------------------------------------------------------------------

/// The colour of a centroid, whose coordinates are 0..255. lab: null for RGB.
constexpr Color paint(const Centroid &c, const LabTable *lab) {
    if (lab)
        return lab->rgb(c.x, c.y, c.z);
    return {static_cast<int>(c.x + 0.5f), static_cast<int>(c.y + 0.5f),
            static_cast<int>(c.z + 0.5f)};
}

/// Mean chroma, rounded. sum: over that number of pixels.
constexpr int mean_chroma(int sum, int pixels) {
    return (sum + pixels / 2) / pixels;
}

// ---- operator -----------------------------------------------------------------------

/// Inputs and outputs of one run.
struct KmeansRun {
    Image src;
    std::optional<Image> labels, dst;
    std::optional<BufferView> centroids, counts, result;
};

/// One backend's operator. The caller has checked the images: supported formats, same
/// size and memory, disjoint, except that dst may be src. Buffers are large enough.
class Kmeans : public Operator {
  public:
    virtual void set_params(const KmeansParams &params) = 0;
    /// Initial centroids for GPV_KMEANS_INIT_GIVEN.
    virtual void set_centroids(std::vector<Centroid> centroids) = 0;
    virtual void prepare(const Image &src, const Image *labels, const Image *dst) = 0;
    /// Returns whether wait() and result() refer to this run: false if it was captured in a graph.
    virtual bool run(Stream stream, const KmeansRun &run) = 0;
    /// Result of the last finished run.
    virtual KmeansResult result() const = 0;
};

} // namespace gpv
