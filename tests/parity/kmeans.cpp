// SPDX-License-Identifier: BSD-2-Clause
// Colour segmentation against a reference that shares no code with the library: the definition in
// docs/algorithms/kmeans.md, colour by colour. With --bench: times beside OpenCV.
#include "colors.hpp"
#include "device.hpp"
#include "patterns.hpp"

#include <optional>

#include <tbb/parallel_for.h>

#ifdef HAVE_OPENCV
#    include <opencv2/core.hpp>
#endif

using namespace parity;

namespace {

/// What is asked of a run.
struct Case {
    gpv_kmeans_params params;
    std::vector<float> given; ///< centroids, for GPV_KMEANS_INIT_GIVEN
};

using Centroid = std::array<float, 3>;

/// What there is to be found in an image.
struct Found {
    int iterations = 0, empty = 0;
    bool converged = false;
    double inertia = 0;
    std::vector<Centroid> centroids;
    std::vector<std::int32_t> counts;
    std::vector<std::uint8_t> labels; ///< row by row
    int clusters() const { return static_cast<int>(centroids.size()); }
};

// ---- colours --------------------------------------------------------------

/// Linear light of a byte of sRGB.
double light_of(int byte) {
    static const std::vector<double> table = [] {
        std::vector<double> light;
        for (int i = 0; i < 256; i++)
            light.push_back(i <= 10 ? i / 255.0 / 12.92
                                    : std::pow((i / 255.0 + 0.055) / 1.055, 2.4));
        return light;
    }();
    return table[static_cast<std::size_t>(byte)];
}

constexpr double white[3] = {0.95047, 1, 1.08883}; // D65

/// CIE L*a*b* of sRGB, scaled as bytes are, but neither rounded nor clamped.
std::array<double, 3> lab_of(const Rgb &rgb) {
    const double r = light_of(rgb[0]), g = light_of(rgb[1]), b = light_of(rgb[2]);
    const auto f = [](double t) {
        return t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116;
    };
    const double x = f((0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / white[0]);
    const double y = f((0.2126729 * r + 0.7151522 * g + 0.0721750 * b) / white[1]);
    const double z = f((0.0193339 * r + 0.1191920 * g + 0.9503041 * b) / white[2]);
    return {2.55 * (116 * y - 16), 500 * (x - y) + 128, 200 * (y - z) + 128};
}

/// The bytes of sRGB whose linear light is nearest to that of numbers as Lab's bytes are.
Rgb rgb_of_lab(const Centroid &c) {
    const double y = (c[0] / 2.55 + 16) / 116;
    const double f[3] = {y + (c[1] - 128.0) / 500, y, y - (c[2] - 128.0) / 200};
    double xyz[3];
    for (int i = 0; i < 3; i++)
        xyz[i] =
            white[i] * (f[i] > 6.0 / 29 ? f[i] * f[i] * f[i] : 3 * 36.0 / 841 * (f[i] - 4.0 / 29));
    const double rows[3][3] = {{3.2404542, -1.5371385, -0.4985314},
                               {-0.9692660, 1.8760108, 0.0415560},
                               {0.0556434, -0.2040259, 1.0572252}};
    Rgb result;
    for (int i = 0; i < 3; i++) {
        const double light = rows[i][0] * xyz[0] + rows[i][1] * xyz[1] + rows[i][2] * xyz[2];
        int byte = 0;
        while (byte < 255 && light >= (light_of(byte) + light_of(byte + 1)) / 2)
            byte++;
        result[i] = byte;
    }
    return result;
}

gpv_kmeans_params default_params() {
    gpv_kmeans_params p;
    gpv_kmeans_params_init(&p, sizeof p);
    return p;
}

/// The bytes of Lab that the library gives to colours of sRGB, which the definition leaves some
/// room to choose. Its interface says them: a pixel from which a cluster starts is its centroid.
class LabBytes {
  public:
    LabBytes() : known_(1 << 24, unknown) {}
    ~LabBytes() { gpv_kmeans_destroy(&op_); }
    LabBytes(const LabBytes &) = delete;
    LabBytes &operator=(const LabBytes &) = delete;

    void convert(std::vector<Value> &colors) {
        std::vector<Value> fresh;
        for (const Value color : colors)
            if (known_[color] == unknown) {
                known_[color] = 0;
                fresh.push_back(color);
            }
        for (std::size_t i = 0; i < fresh.size(); i += batch)
            ask(&fresh[i], std::min<std::size_t>(batch, fresh.size() - i));
        for (Value &color : colors)
            color = known_[color];
    }

  private:
    static constexpr Value unknown = ~Value{0};
    static constexpr std::size_t batch = GPV_KMEANS_MAX_CLUSTERS;

    void ask(const Value *colors, std::size_t count) {
        const int k = static_cast<int>(std::max<std::size_t>(count, 2));
        GuardedImage pixels(GPV_FORMAT_RGB8, k, 1);
        for (int i = 0; i < k; i++)
            for (int channel = 0; channel < 3; channel++)
                pixels.row(0, 0)[3 * i + channel] = static_cast<std::uint8_t>(
                    bytes_of(colors[std::min<std::size_t>(i, count - 1)])[channel]);
        gpv_kmeans_params p = default_params();
        p.clusters = k;
        p.max_iterations = 0;
        p.init = GPV_KMEANS_INIT_GRID;
        p.color_space = GPV_KMEANS_COLOR_SPACE_LAB;
        if (!op_)
            require(gpv_kmeans_create(context_, nullptr, &op_), context_, "gpv_kmeans_create");
        require(gpv_kmeans_set_params(op_, &p), context_, "gpv_kmeans_set_params");
        Centroid centroids[batch];
        gpv_buffer into;
        gpv_buffer_init(&into, sizeof into);
        into.data = centroids;
        into.size = sizeof centroids;
        require(
            gpv_kmeans_run(op_, nullptr, pixels.view(), nullptr, nullptr, &into, nullptr, nullptr),
            context_, "gpv_kmeans_run");
        for (std::size_t i = 0; i < count; i++) {
            Rgb bytes;
            for (int channel = 0; channel < 3; channel++) {
                bytes[channel] = static_cast<int>(centroids[i][channel]);
                if (static_cast<float>(bytes[channel]) != centroids[i][channel] ||
                    bytes[channel] < 0 || bytes[channel] > 255)
                    fatal("Lab: the centroid of a pixel is no byte");
            }
            known_[colors[i]] = value_of(bytes);
        }
    }

    std::vector<Value> known_;
    CountedContext context_{GPV_BACKEND_CPU};
    gpv_kmeans *op_ = nullptr;
};

LabBytes &lab_bytes() {
    static LabBytes table;
    return table;
}

// ---- the definition -------------------------------------------------------

/// A colour, as often as it occurs.
struct Counted {
    Value value;
    std::int64_t count;
};

/// The place of a colour in the order in which colours are drawn: cubes of side 8 in raster order,
/// and in each cube again in raster order.
Value drawing_order(Value value) {
    const Rgb c = bytes_of(value);
    const int cube = (c[0] / 8 * 32 + c[1] / 8) * 32 + c[2] / 8;
    return static_cast<Value>(cube * 512 + (c[0] % 8 * 8 + c[1] % 8) * 8 + c[2] % 8);
}

/// The colours of an image, each once, in the order in which they are drawn.
struct Colors {
    std::vector<Counted> distinct;
    std::vector<std::uint32_t> of_pixel; ///< index in distinct, row by row

    explicit Colors(const std::vector<Value> &pixels) {
        std::vector<Value> order;
        for (const Value value : pixels)
            order.push_back(drawing_order(value));
        std::vector<Value> sorted = order;
        std::sort(sorted.begin(), sorted.end());
        sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
        distinct.resize(sorted.size());
        for (std::size_t i = 0; i < pixels.size(); i++) {
            const auto at = std::lower_bound(sorted.begin(), sorted.end(), order[i]);
            of_pixel.push_back(static_cast<std::uint32_t>(at - sorted.begin()));
            distinct[of_pixel.back()].value = pixels[i];
            distinct[of_pixel.back()].count++;
        }
    }
};

/// splitmix64.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    /// 0 .. total - 1
    std::uint64_t below(std::uint64_t total) {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        z ^= z >> 31;
        return static_cast<std::uint64_t>(static_cast<unsigned __int128>(z) * total >> 64);
    }

  private:
    std::uint64_t state_;
};

Centroid centroid_of(Value value) {
    const Rgb c = bytes_of(value);
    return {static_cast<float>(c[0]), static_cast<float>(c[1]), static_cast<float>(c[2])};
}

std::vector<Centroid> drawn(const Colors &colors, const gpv_kmeans_params &p, int k) {
    const auto squared_distance = [](Value a, Value b) {
        std::int64_t sum = 0;
        for (int i = 0; i < 3; i++) {
            const std::int64_t difference = bytes_of(a)[i] - bytes_of(b)[i];
            sum += difference * difference;
        }
        return sum;
    };
    Random random(p.seed);
    std::vector<Value> result;
    std::vector<std::int64_t> nearest(colors.distinct.size(), INT64_MAX); // of those drawn
    while (static_cast<int>(result.size()) < k) {
        std::vector<std::uint64_t> sums; // of the weights so far
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < nearest.size(); i++) {
            const std::int64_t n = colors.distinct[i].count;
            sum += result.empty()                       ? n
                   : p.init == GPV_KMEANS_INIT_PLUSPLUS ? n * nearest[i]
                   : nearest[i] > 0                     ? n
                                                        : 0;
            sums.push_back(sum);
        }
        const std::uint64_t place = random.below(sum);
        const auto at = std::upper_bound(sums.begin(), sums.end(), place);
        result.push_back(sum ? colors.distinct[at - sums.begin()].value : result[0]);
        for (std::size_t i = 0; i < nearest.size(); i++)
            nearest[i] =
                std::min(nearest[i], squared_distance(colors.distinct[i].value, result.back()));
    }
    std::vector<Centroid> centroids;
    for (const Value value : result)
        centroids.push_back(centroid_of(value));
    return centroids;
}

std::vector<Centroid> grid(const std::vector<Value> &pixels, std::int64_t width,
                           std::int64_t height, int k) {
    int rows = 1;
    for (std::int64_t r = 2; r <= k; r++)
        if (r * r * width <= k * height)
            rows = static_cast<int>(r);
    std::vector<Centroid> result;
    for (int row = 0; row < rows; row++) {
        const int points = k * (row + 1) / rows - k * row / rows;
        for (int i = 0; i < points; i++) {
            const std::int64_t x = width * (2 * i + 1) / (2 * points);
            const std::int64_t y = height * (2 * row + 1) / (2 * rows);
            result.push_back(centroid_of(pixels[y * width + x]));
        }
    }
    return result;
}

float distance(gpv_kmeans_metric metric, const Centroid &a, const Centroid &b) {
    const float x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    if (metric == GPV_KMEANS_METRIC_L1)
        return (std::fabs(x) + std::fabs(y)) + std::fabs(z);
    return (x * x + y * y) + z * z;
}

/// The pixels of a cluster, and the sums of their colours.
struct Sums {
    std::uint64_t count = 0, channel[3] = {};
};

/// The iteration, from some centroids to the end.
class Lloyd {
  public:
    Lloyd(const Colors &colors, const gpv_kmeans_params &p, std::vector<Centroid> centroids)
        : colors_(colors), p_(p), centroids_(std::move(centroids)),
          labels_(colors.distinct.size()) {
        for (assign(); !converged_ && iterations_ < p.max_iterations; assign())
            update();
    }

    double inertia() const {
        double result = static_cast<double>(squares());
        for (std::size_t i = 0; i < centroids_.size(); i++) {
            const double x = centroids_[i][0], y = centroids_[i][1], z = centroids_[i][2];
            const double length = (x * x + y * y) + z * z;
            const double product =
                (x * double(sums_[i].channel[0]) + y * double(sums_[i].channel[1])) +
                z * double(sums_[i].channel[2]);
            result += double(sums_[i].count) * length - 2 * product;
        }
        return std::max(result, 0.0);
    }

    /// Of Calinski and Harabasz.
    double criterion() const {
        Sums all;
        for (const Sums &s : sums_) {
            all.count += s.count;
            for (int i = 0; i < 3; i++)
                all.channel[i] += s.channel[i];
        }
        const double x = double(all.channel[0]), y = double(all.channel[1]),
                     z = double(all.channel[2]), n = double(all.count);
        const double of_one = double(squares()) - ((x * x + y * y) + z * z) / n;
        const double within = inertia(), k = double(centroids_.size());
        return ((of_one - within) * (n - k)) / (within * (k - 1));
    }

    Found found() const {
        Found result;
        result.iterations = iterations_;
        result.converged = converged_;
        result.inertia = inertia();
        result.centroids = centroids_;
        for (const Sums &s : sums_) {
            result.counts.push_back(static_cast<std::int32_t>(s.count));
            result.empty += s.count == 0;
        }
        for (const std::uint32_t color : colors_.of_pixel)
            result.labels.push_back(labels_[color]);
        return result;
    }

  private:
    void assign() {
        sums_.assign(centroids_.size(), {});
        for (std::size_t j = 0; j < labels_.size(); j++) {
            const Counted &color = colors_.distinct[j];
            const Centroid at = centroid_of(color.value);
            int best = 0;
            float minimum = distance(p_.metric, at, centroids_[0]);
            for (int i = 1; i < static_cast<int>(centroids_.size()); i++) {
                const float d = distance(p_.metric, at, centroids_[i]);
                if (d < minimum)
                    best = i, minimum = d;
            }
            labels_[j] = static_cast<std::uint8_t>(best);
            sums_[best].count += color.count;
            for (int i = 0; i < 3; i++)
                sums_[best].channel[i] += std::uint64_t(bytes_of(color.value)[i]) * color.count;
        }
    }

    void update() {
        const std::vector<Centroid> old = centroids_;
        bool reseeded = false;
        for (std::size_t i = 0; i < old.size(); i++)
            if (sums_[i].count)
                for (int c = 0; c < 3; c++)
                    centroids_[i][c] =
                        static_cast<float>(double(sums_[i].channel[c]) / double(sums_[i].count));
            else if (!reseeded) {
                reseeded = true;
                centroids_[i] = farthest(old, old[i]);
            }
        iterations_++;
        converged_ = p_.tolerance >= 0;
        for (std::size_t i = 0; i < old.size(); i++)
            if (distance(GPV_KMEANS_METRIC_L2, old[i], centroids_[i]) > p_.tolerance * p_.tolerance)
                converged_ = false;
    }

    /// The colour that is farthest from its own centroid, or another one if none is far from it.
    Centroid farthest(const std::vector<Centroid> &centroids, const Centroid &other) const {
        float maximum = 0;
        Value value = 0;
        for (std::size_t j = 0; j < labels_.size(); j++) {
            const Value color = colors_.distinct[j].value;
            const float d = distance(p_.metric, centroid_of(color), centroids[labels_[j]]);
            if (d > maximum || (d == maximum && color < value))
                maximum = d, value = color;
        }
        return maximum > 0 ? centroid_of(value) : other;
    }

    std::uint64_t squares() const {
        std::uint64_t sum = 0;
        for (const Counted &color : colors_.distinct)
            for (const int byte : bytes_of(color.value))
                sum += std::uint64_t(byte * byte) * color.count;
        return sum;
    }

    const Colors &colors_;
    const gpv_kmeans_params &p_;
    std::vector<Centroid> centroids_;
    std::vector<std::uint8_t> labels_; ///< of the colours
    std::vector<Sums> sums_;
    int iterations_ = 0;
    bool converged_ = false;
};

/// The mean colour of an image, and the mean square of what it takes to there.
struct Look {
    double mean[3] = {}, variance = 0;

    static Look of(const Colors &colors) {
        std::uint64_t sums[3] = {}, squares = 0, pixels = 0;
        for (const Counted &color : colors.distinct) {
            pixels += color.count;
            for (int i = 0; i < 3; i++) {
                const std::uint64_t byte = bytes_of(color.value)[i];
                sums[i] += byte * color.count;
                squares += byte * byte * color.count;
            }
        }
        const double n = double(pixels), x = double(sums[0]), y = double(sums[1]),
                     z = double(sums[2]);
        return {{x / n, y / n, z / n}, (double(squares) - ((x * x + y * y) + z * z) / n) / n};
    }

    bool is_off(const Look &from, double part) const {
        const double x = mean[0] - from.mean[0], y = mean[1] - from.mean[1],
                     z = mean[2] - from.mean[2];
        const double low = std::min(variance, from.variance),
                     high = std::max(variance, from.variance);
        return high > (1 + 2 * part) * low + 0.25 ||
               (x * x + y * y) + z * z > part * part * from.variance + 0.25;
    }
};

/// The runs of one operator, which may go on from the one before.
class Definition {
  public:
    Found operator()(const GuardedImage &src, const Case &c) {
        const gpv_kmeans_params &p = c.params;
        std::vector<Value> pixels = colors_of(src);
        if (p.color_space == GPV_KMEANS_COLOR_SPACE_LAB)
            lab_bytes().convert(pixels);
        const Colors colors(pixels);
        const auto from = [&](int k) {
            switch (p.init) {
            case GPV_KMEANS_INIT_GIVEN:
                return std::vector<Centroid>(reinterpret_cast<const Centroid *>(c.given.data()),
                                             reinterpret_cast<const Centroid *>(c.given.data()) +
                                                 k);
            case GPV_KMEANS_INIT_GRID:
                return grid(pixels, src.view()->width, src.view()->height, k);
            default:
                return drawn(colors, p, k);
            }
        };
        Found found;
        if (goes_on(p))
            found = Lloyd(colors, p, before_).found();
        else if (p.clusters)
            found = Lloyd(colors, p, from(p.clusters)).found();
        else if (colors.distinct.size() == 1)
            found = Lloyd(colors, p, from(1)).found();
        else
            found = best(colors, p, from);
        const bool begins =
            begins_anew(found, goes_on(p), Look::of(colors), found.inertia / double(pixels.size()));
        last_ = p;
        before_ = begins ? std::vector<Centroid>() : found.centroids;
        return found;
    }

  private:
    bool goes_on(const gpv_kmeans_params &p) const {
        return p.warm_start && before_.size() > 1 && p.clusters == last_.clusters &&
               p.color_space == last_.color_space &&
               (p.clusters || p.max_clusters == last_.max_clusters);
    }
    template <class Start>
    static Found best(const Colors &colors, const gpv_kmeans_params &p, Start from) {
        std::optional<Found> best;
        double highest = 0;
        for (int k = 2; k <= p.max_clusters; k++) {
            const Lloyd lloyd(colors, p, from(k));
            if (lloyd.inertia() == 0)
                return lloyd.found();
            const double criterion = lloyd.criterion();
            if (best && criterion <= highest)
                continue;
            best = lloyd.found();
            highest = criterion;
        }
        return *best;
    }

    /// Whether the next run does. inertia: of a pixel.
    bool begins_anew(const Found &found, bool went_on, const Look &look, double inertia) {
        const Look before = std::exchange(look_, look);
        const bool settles = std::exchange(settles_, false);
        if (found.clusters() - found.empty < 2 || !went_on) {
            began_ = went_on ? began_ : look;
            least_ = went_on ? least_ : inertia;
            settled_ = went_on ? settled_ : settles;
            return found.clusters() - found.empty < 2;
        }
        const bool worse = inertia > 2 * least_ + 0.25;
        least_ = std::min(least_, inertia);
        if (worse || look.is_off(before, 0.1))
            return true;
        if (look.is_off(before, 0.005))
            return false;
        settles_ = look.is_off(began_, std::exchange(settled_, true) ? 0.1 : 0.01);
        return settles_;
    }

    gpv_kmeans_params last_{};
    std::vector<Centroid> before_; ///< none if the next run begins anew
    Look look_, began_;            ///< of the last run, and of the last one that began anew
    double least_ = 0;             ///< inertia of a pixel since then
    bool settled_ = false;         ///< since then, an image was like the one before
    bool settles_ = false;         ///< the next run begins anew because of that
};

// ---- what is written ------------------------------------------------------

/// The colour of every pixel of an image at which f(x, y) is the number of a colour.
template <class F>
void draw_colors(GuardedImage &dst, const std::vector<Rgb> &colors, F label) {
    const Samples samples(dst);
    std::vector<std::array<int, 4>> bytes;
    for (const Rgb &c : colors)
        bytes.push_back(samples.bytes_of(c));
    samples.each([&](int channel, int i, int row) {
        if (channel == 3)
            return;
        int sum = 0, n = 0;
        samples.each_pixel_of(channel, i, row, [&](int x, int y) {
            sum += bytes[label(x, y)][channel];
            n++;
        });
        const int mean = static_cast<int>(std::floor(double(sum) / n + 0.5));
        samples.set(channel, i, row, samples.stored(channel, mean));
    });
}

/// labels as the header describes them.
void draw_labels(const Found &found, GuardedImage &labels) {
    const int width = labels.view()->width;
    labels.each_row([&](int plane, std::int64_t y, std::uint8_t *row, std::int64_t bytes) {
        if (plane > 0)
            std::memset(row, 128, bytes);
        else
            std::memcpy(row, &found.labels[y * width], bytes);
    });
}

/// dst as the header describes it.
void recolor(const Found &found, gpv_kmeans_color_space space, const GuardedImage &src,
             GuardedImage &dst) {
    std::vector<Rgb> colors;
    for (const Centroid &c : found.centroids)
        if (space ==
            GPV_KMEANS_COLOR_SPACE_LAB) // check_colors() has checked that it is one that may be
            colors.push_back(bytes_of(gpv_kmeans_color(space, c.data())));
        else
            colors.push_back({static_cast<int>(std::floor(c[0] + 0.5)),
                              static_cast<int>(std::floor(c[1] + 0.5)),
                              static_cast<int>(std::floor(c[2] + 0.5))});
    dst.copy_pixels_from(src);
    draw_colors(dst, colors,
                [&](int x, int y) { return found.labels[std::size_t(y) * src.view()->width + x]; });
}

// ---- runs -----------------------------------------------------------------

/// Memory for results. Its other bytes are canaries.
class Values {
  public:
    explicit Values(std::size_t bytes, std::size_t offset = 0, bool on_device = false)
        : on_device(on_device), begin_(guard + offset), size_(bytes),
          bytes_(begin_ + bytes + guard, canary) {}

    const bool on_device; ///< where the library computes there
    std::vector<std::uint8_t> &bytes() { return bytes_; }
    /// The values in a copy of bytes().
    gpv_buffer view(std::uint8_t *bytes) const {
        gpv_buffer view;
        gpv_buffer_init(&view, sizeof view);
        view.data = bytes + begin_;
        view.size = size_;
        return view;
    }
    template <class T>
    T at(std::size_t i) const {
        T result;
        std::memcpy(&result, &bytes_[begin_ + i * sizeof(T)], sizeof result);
        return result;
    }
    /// Whether nothing but the first so many bytes may have been written.
    bool intact_but_for(std::size_t bytes) const {
        const auto is_canary = [](std::uint8_t byte) { return byte == canary; };
        const auto begin = bytes_.begin() + static_cast<std::ptrdiff_t>(begin_);
        return std::all_of(bytes_.begin(), begin, is_canary) &&
               std::all_of(begin + static_cast<std::ptrdiff_t>(bytes), bytes_.end(), is_canary);
    }

  private:
    static constexpr std::size_t guard = 256;
    static constexpr std::uint8_t canary = 0xC5;
    std::size_t begin_, size_;
    std::vector<std::uint8_t> bytes_;
};

/// Clusters that centroids and counts need room for.
int room(const gpv_kmeans_params &p) {
    return p.clusters ? p.clusters : p.max_clusters;
}

/// Each may be left out. dst may be the source.
struct Outputs {
    GuardedImage *labels = nullptr, *dst = nullptr;
    Values *centroids = nullptr, *counts = nullptr, *result = nullptr;
};

using Op = Handle<gpv_kmeans_create, gpv_kmeans_destroy>;

/// Also the centroids, if the case gives them.
void set(gpv_kmeans *op, const gpv_context *context, const Case &c) {
    require(gpv_kmeans_set_params(op, &c.params), context, "gpv_kmeans_set_params");
    if (c.params.init == GPV_KMEANS_INIT_GIVEN)
        require(gpv_kmeans_set_centroids(op, c.given.data(), c.params.clusters), context,
                "gpv_kmeans_set_centroids");
}

class Operator {
  public:
    explicit Operator(gpv_backend backend = GPV_BACKEND_CPU, Place place = Place::host)
        : context_(backend), backend_(backend), place_(place) {}

    gpv_kmeans_result run(const Case &c, GuardedImage &src, const Outputs &outputs) {
        set(op_, context_, c);
        return again(src, outputs);
    }
    gpv_kmeans_result again(GuardedImage &src, const Outputs &outputs) {
        const bool in_place = outputs.dst == &src;
        Values *const values[3] = {outputs.centroids, outputs.counts, outputs.result};
        gpv_buffer buffers[3];
        for (int i = 0; i < 3; i++)
            if (values[i])
                buffers[i] = values[i]->view(values[i]->bytes().data());
        const gpv_image *from = src.view();
        const gpv_image *labels = outputs.labels ? outputs.labels->view() : nullptr;
        const gpv_image *dst = outputs.dst ? outputs.dst->view() : nullptr;
#ifdef HAVE_CUDA
        const auto on_device = [&](int i) {
            return values[i] && backend_ == GPV_BACKEND_CUDA && (values[i]->on_device || i == 2);
        };
        for (int i = 0; i < 3; i++)
            if (on_device(i)) {
                values_[i].upload(values[i]->bytes().data(), values[i]->bytes().size());
                buffers[i] = values[i]->view(values_[i].data());
                buffers[i].memory = GPV_MEMORY_CUDA;
            }
        if (place_ != Place::host) {
            src_.upload(src);
            from = src_.view();
            if (labels)
                labels_.upload(*outputs.labels), labels = labels_.view();
            if (dst && !in_place)
                dst_.upload(*outputs.dst);
            if (dst)
                dst = in_place ? from : dst_.view();
        }
#endif
        const auto buffer = [&](int i) { return values[i] ? &buffers[i] : nullptr; };
        require(gpv_kmeans_run(op_, nullptr, from, labels, dst, buffer(0), buffer(1), buffer(2)),
                context_, "gpv_kmeans_run");
        gpv_kmeans_result result;
        gpv_kmeans_result_init(&result, sizeof result);
        require(gpv_kmeans_wait(op_, &result), context_, "gpv_kmeans_wait");
#ifdef HAVE_CUDA
        for (int i = 0; i < 3; i++)
            if (on_device(i))
                values_[i].download(values[i]->bytes().data(), values[i]->bytes().size());
        if (place_ != Place::host) {
            if (labels)
                labels_.download(*outputs.labels);
            if (dst)
                (in_place ? src_ : dst_).download(*outputs.dst);
        }
#endif
        (void)in_place;
        return result;
    }
    /// src, labels, dst: which formats and sizes; where the images lie is known.
    void prepare(const Case &c, gpv_image src, const gpv_image *labels, const gpv_image *dst) {
        const auto placed = [&](const gpv_image *image) {
            gpv_image result = image ? *image : src;
            result.memory = place_ == Place::host ? GPV_MEMORY_HOST : GPV_MEMORY_CUDA;
            return result;
        };
        const gpv_image from = placed(&src), numbers = placed(labels), to = placed(dst);
        set(op_, context_, c);
        require(gpv_kmeans_prepare(op_, &from, labels ? &numbers : nullptr, dst ? &to : nullptr),
                context_, "gpv_kmeans_prepare");
    }
    const CountedContext &context() const {
        return context_;
    }

  private:
    CountedContext context_;
    [[maybe_unused]] gpv_backend backend_; // without CUDA there is one
    Place place_;
#ifdef HAVE_CUDA
    const bool tight_ = place_ == Place::device_tight;
    DeviceImage src_{tight_}, labels_{tight_}, dst_{tight_};
    DeviceBlock values_[3];
#endif
    const Op op_{context_};
};

std::string describe(const Case &c, const GuardedImage &src, const Outputs &o) {
    const gpv_kmeans_params &p = c.params;
    const gpv_image &view = *src.view();
    char text[256];
    std::snprintf(text, sizeof text,
                  "clusters %d (most %d) iterations %d tolerance %g metric %u start %u space %u "
                  "seed %llx warm %u",
                  p.clusters, p.max_clusters, p.max_iterations, double(p.tolerance), p.metric,
                  p.init, p.color_space, static_cast<unsigned long long>(p.seed), p.warm_start);
    std::string result = size_name(view.width, view.height) + " format " +
                         std::to_string(view.format) + ", " + place_of(view) + ": " + text;
    if (o.labels)
        result += ", labels in format " + std::to_string(o.labels->view()->format) + ", " +
                  place_of(*o.labels->view());
    if (o.dst)
        result += o.dst == &src ? ", in place" : ", colours, " + place_of(*o.dst->view());
    for (const auto &[values, name] :
         {std::pair{o.centroids, "centroids"}, {o.counts, "counts"}, {o.result, "result"}})
        if (values)
            result += std::string(", ") + name + (values->on_device ? " in CUDA memory" : "");
    return result;
}

std::string text_of(const Centroid &c) {
    char text[64];
    std::snprintf(text, sizeof text, "(%.9g, %.9g, %.9g)", double(c[0]), double(c[1]),
                  double(c[2]));
    return text;
}

void expect_result(const gpv_kmeans_result &got, const Found &want, const std::string &what) {
    const auto differ = [&](const char *name, double is, double wanted) {
        char text[128];
        std::snprintf(text, sizeof text, ": %s is %.17g, want %.17g", name, is, wanted);
        fatal(what + text);
    };
    if (got.struct_size != sizeof got || got.reserved != 0)
        fatal(what + ": the result is none");
    if (got.clusters != want.clusters())
        differ("clusters", got.clusters, want.clusters());
    if (got.iterations != want.iterations)
        differ("iterations", got.iterations, want.iterations);
    if (got.empty != want.empty)
        differ("empty", got.empty, want.empty);
    if (got.converged != want.converged)
        differ("converged", got.converged, want.converged);
    if (std::memcmp(&got.inertia, &want.inertia, sizeof got.inertia) != 0)
        differ("inertia", got.inertia, want.inertia);
}

/// What is in the buffers.
void expect_values(const Outputs &o, const gpv_kmeans_params &p, const Found &want,
                   const std::string &what) {
    for (int i = 0; i < want.clusters(); i++) {
        if (o.centroids && o.centroids->at<Centroid>(i) != want.centroids[i])
            fatal(what + ": centroid " + std::to_string(i) + " is " +
                  text_of(o.centroids->at<Centroid>(i)) + ", want " + text_of(want.centroids[i]));
        if (o.counts && o.counts->at<std::int32_t>(i) != want.counts[i])
            fatal(what + ": cluster " + std::to_string(i) + " has " +
                  std::to_string(o.counts->at<std::int32_t>(i)) + " pixels, want " +
                  std::to_string(want.counts[i]));
    }
    if (o.result)
        expect_result(o.result->at<gpv_kmeans_result>(0), want, what + ", in its buffer");
    if ((o.centroids && !o.centroids->intact_but_for(room(p) * sizeof(Centroid))) ||
        (o.counts && !o.counts->intact_but_for(room(p) * sizeof(std::int32_t))) ||
        (o.result && !o.result->intact_but_for(sizeof(gpv_kmeans_result))))
        fatal(what + ": bytes beside the buffers were written");
}

/// What the outputs have to hold. Made before a run, which may be in place.
class Expected {
  public:
    Expected(const Case &c, const GuardedImage &src, const Outputs &o, const Found &found)
        : case_(c), outputs_(o), found_(found) {
        if (o.labels) {
            labels_ = like(*o.labels);
            draw_labels(found, *labels_);
        }
        if (o.dst) {
            dst_ = like(*o.dst);
            recolor(found, c.params.color_space, src, *dst_);
        }
    }
    void compare(const std::string &what) const {
        expect_values(outputs_, case_.params, found_, what);
        if (labels_)
            expect_equal(*outputs_.labels, *labels_, what + ", labels");
        if (dst_)
            expect_equal(*outputs_.dst, *dst_, what + ", colours");
    }

  private:
    static std::unique_ptr<GuardedImage> like(const GuardedImage &other) {
        const gpv_image &view = *other.view();
        auto image = std::make_unique<GuardedImage>(view.format, view.width, view.height);
        image->set_color(view.color_matrix, view.color_range);
        return image;
    }
    const Case &case_;
    const Outputs outputs_;
    const Found &found_;
    std::unique_ptr<GuardedImage> labels_, dst_;
};

/// One run, and everything that it has written.
void expect_found(Operator &op, const Case &c, GuardedImage &src, const Outputs &o,
                  const Found &want) {
    const std::string what = op.context().device() + (": " + describe(c, src, o));
    const Expected expected(c, src, o, want);
    const std::vector<std::uint8_t> before = src.bytes();
    expect_result(op.run(c, src, o), want, what);
    if (o.dst != &src && src.bytes() != before)
        fatal(what + ": the source was written");
    expected.compare(what);
}

/// Everything that a run can write, in memory of its own.
struct All {
    GuardedImage labels, dst;
    Values centroids, counts, result{sizeof(gpv_kmeans_result)};

    All(const GuardedImage &src, const gpv_kmeans_params &p, bool on_device = false)
        : labels(GPV_FORMAT_GRAY8, src.view()->width, src.view()->height),
          dst(src.view()->format, src.view()->width, src.view()->height),
          centroids(room(p) * sizeof(Centroid), 0, on_device),
          counts(room(p) * sizeof(std::int32_t), 0, on_device) {
        dst.set_color(src.view()->color_matrix, src.view()->color_range);
    }
    Outputs outputs() { return {&labels, &dst, &centroids, &counts, &result}; }
};

void expect_all(Operator &op, const Case &c, GuardedImage &src, const Found &want) {
    All all(src, c.params);
    expect_found(op, c, src, all.outputs(), want);
}

/// What finds out what there is in an image. It may remember the run before, as an operator does.
using Reference = std::function<Found(GuardedImage &src, const Case &c)>;

// ---- random cases ---------------------------------------------------------

const std::vector<gpv_format> label_formats = {GPV_FORMAT_GRAY8, GPV_FORMAT_NV12, GPV_FORMAT_I420};

/// Centroids to start from: anywhere, or on colours of the image; far from all colours, so that
/// clusters are empty; or all alike, or at equal distances, so that lowest numbers decide.
std::vector<float> random_centroids(const GuardedImage &src, int count) {
    const std::vector<Value> pixels = colors_of(src);
    const Rgb middle = bytes_of_hash(static_cast<std::uint64_t>(random_int(0, 1 << 20)));
    const int kind = random_int(0, 5), step = random_int(1, 64);
    std::vector<float> result;
    for (int i = 0; i < count; i++) {
        const Rgb pixel = bytes_of(random_of(pixels));
        for (int c = 0; c < 3; c++)
            switch (kind) {
            case 0:
                result.push_back(static_cast<float>(random_int(0, 255 * 64)) / 64);
                break;
            case 1:
            case 2:
                result.push_back(static_cast<float>(pixel[c]));
                break;
            case 3:
                result.push_back(random_int(0, 9) ? 255 : static_cast<float>(random_int(0, 255)));
                break;
            case 4:
                result.push_back(static_cast<float>(middle[c]));
                break;
            default: // the corners of a cube, and between them
                result.push_back(std::clamp(
                    static_cast<float>(128 + (i >> c & 1 ? step : -step) * (1 + i / 8 % 4)), 0.0f,
                    255.0f));
            }
    }
    return result;
}

/// How much a random case may ask for.
struct Limits {
    int side; ///< beyond 129 there are as many long sides as short ones
    int clusters, iterations;
};
constexpr Limits anything = {129, GPV_KMEANS_MAX_CLUSTERS, 60};

Case random_case(const GuardedImage &src, const Limits &limits) {
    static const std::vector<int> few = {0, 0, 2, 2, 3, 4, 5, 7, 8, 8, 9, 12, 15, 16, 17};
    static const std::vector<int> many = {24,  31,  32,  33,  63,  64,  65, 100,
                                          127, 128, 129, 200, 254, 255, 256};
    gpv_kmeans_params p = default_params();
    p.clusters = std::min(random_of(random_int(0, 2) ? few : many), limits.clusters);
    p.max_clusters = random_int(2, random_int(0, 9) ? 6 : 20);
    p.max_iterations =
        std::min(random_of<int>({0, 1, 1, 2, 3, 5, 10, 20, 20, 60}), limits.iterations);
    p.tolerance = random_of<float>({-1, -1, 0, 0, 0.01f, 0.5f, 0.5f, 3, 40, 1e6f});
    p.metric = random_int(0, 2) ? GPV_KMEANS_METRIC_L2 : GPV_KMEANS_METRIC_L1;
    p.init = static_cast<gpv_kmeans_init_method>(random_int(0, p.clusters ? 3 : 2));
    p.color_space = random_int(0, 2) ? GPV_KMEANS_COLOR_SPACE_RGB : GPV_KMEANS_COLOR_SPACE_LAB;
    p.seed = random_int(0, 3) ? random_engine()() : random_int(0, 3);
    p.warm_start = random_int(0, 1);
    return {p, p.init == GPV_KMEANS_INIT_GIVEN ? random_centroids(src, p.clusters)
                                               : std::vector<float>{}};
}

int random_side(int largest) {
    if (largest > 129)
        return random_int(1, largest);
    static const std::vector<int> ends = {1, 31, 32, 33, 63, 64, 65, 127, 128, 129};
    return std::min(random_int(0, 5) ? random_int(1, random_int(0, 3) ? 16 : 40) : random_of(ends),
                    largest);
}

Values random_values(std::size_t bytes, std::size_t alignment) {
    return Values(bytes + random_int(0, 1) * random_int(0, 40), random_int(0, 3) * alignment,
                  random_int(0, 1));
}

/// One run with random outputs.
void compare_outputs(Operator &op, const Case &c, GuardedImage &src, const Found &want) {
    const int width = src.view()->width, height = src.view()->height;
    GuardedImage labels = random_image(random_of(label_formats), width, height);
    GuardedImage dst = random_image(src.view()->format, width, height);
    Values centroids = random_values(room(c.params) * sizeof(Centroid), 4);
    Values counts = random_values(room(c.params) * sizeof(std::int32_t), 4);
    Values result = random_values(sizeof(gpv_kmeans_result), 8);
    const auto wanted = [](auto &output) { return random_int(0, 3) ? &output : nullptr; };
    expect_found(op, c, src,
                 {wanted(labels), random_int(0, 3) ? wanted(dst) : &src, wanted(centroids),
                  wanted(counts), wanted(result)},
                 want);
}

/// One run after the other, as on a video: parameters often stay, so that warm starts go on.
void compare_random(Operator &op, int count, const Limits &limits, const Reference &reference) {
    Case c;
    for (int i = 0; i < count; i++) {
        GuardedImage src = random_image(random_of(picture_formats), random_side(limits.side),
                                        random_side(limits.side));
        paint(src, random_content());
        if (i == 0 || random_int(0, 1))
            c = random_case(src, limits);
        compare_outputs(op, c, src, reference(src, c));
    }
}

void compare_with_definition(Operator &op, int count, const Limits &limits = anything) {
    compare_random(op, count, limits, Definition());
    std::printf("definition: %d random cases equal\n", count);
}

// ---- colours of the library -----------------------------------------------

void check_lab() {
    const int step = full_run() ? 1 : 61;
    std::vector<Value> colors;
    for (Value value = 0; value < 1 << 24; value += step)
        colors.push_back(value);
    std::vector<Value> lab = colors;
    lab_bytes().convert(lab);
    std::size_t nearest = 0;
    for (std::size_t i = 0; i < colors.size(); i++) {
        const Rgb got = bytes_of(lab[i]);
        const auto exact = lab_of(bytes_of(colors[i]));
        bool all_nearest = true;
        for (int channel = 0; channel < 3; channel++) {
            const int want = std::clamp(static_cast<int>(std::floor(exact[channel] + 0.5)), 0, 255);
            all_nearest = all_nearest && got[channel] == want;
            if (std::abs(got[channel] - want) > 1)
                fatal("Lab of " + std::to_string(colors[i]) + ": channel " +
                      std::to_string(channel) + " is " + std::to_string(got[channel]) + ", want " +
                      std::to_string(want));
        }
        nearest += all_nearest;
    }
    std::printf("Lab: %zu colours within a level, %.3f %% the nearest\n", colors.size(),
                100.0 * nearest / colors.size());
}

/// gpv_kmeans_color().
void check_colors() {
    const int count = 200000;
    int nearest = 0;
    for (int i = 0; i < count; i++) {
        Centroid c;
        for (float &x : c)
            x = static_cast<float>(random_int(0, 255 * 256)) / 256;
        for (int channel = 0; channel < 3; channel++)
            if (bytes_of(gpv_kmeans_color(GPV_KMEANS_COLOR_SPACE_RGB, c.data()))[channel] !=
                static_cast<int>(std::floor(c[channel] + 0.5)))
                fatal("the colour of a centroid is not rounded");
        if (random_int(0, 1)) // of a colour that sRGB has
            for (int channel = 0; channel < 3; channel++)
                c[channel] = static_cast<float>(std::clamp(
                    lab_of(bytes_of_hash(static_cast<std::uint64_t>(i)))[channel], 0.0, 255.0));
        const Rgb got = bytes_of(gpv_kmeans_color(GPV_KMEANS_COLOR_SPACE_LAB, c.data())),
                  want = rgb_of_lab(c);
        nearest += got == want;
        for (int channel = 0; channel < 3; channel++)
            if (std::abs(got[channel] - want[channel]) > 1)
                fatal("sRGB of Lab " + text_of(c) + ": channel " + std::to_string(channel) +
                      " is " + std::to_string(got[channel]) + ", want " +
                      std::to_string(want[channel]));
    }
    expect(nearest > count * 99 / 100, "99 % of the colours of centroids are the nearest");
    std::printf("colours of centroids: %d within a level, %.3f %% the nearest\n", count,
                100.0 * nearest / count);
}

// ---- larger images, laws --------------------------------------------------

Case with_clusters(int clusters, int iterations = 20, float tolerance = -1) {
    gpv_kmeans_params p = default_params();
    p.clusters = clusters;
    p.max_iterations = iterations;
    p.tolerance = tolerance;
    return {p, {}};
}

/// Any start, metric and space.
Case random_start(int clusters, int iterations) {
    Case c = with_clusters(clusters, iterations);
    c.params.init = static_cast<gpv_kmeans_init_method>(random_int(0, 2));
    c.params.metric = static_cast<gpv_kmeans_metric>(random_int(0, 1));
    c.params.color_space =
        random_int(0, 3) ? GPV_KMEANS_COLOR_SPACE_RGB : GPV_KMEANS_COLOR_SPACE_LAB;
    return c;
}

void check_contents(Operator &op, const Sizes &sizes, const std::vector<int> &clusters,
                    const std::function<Reference()> &reference) {
    const auto check = [&](GuardedImage src) {
        for (const int k : clusters) {
            const Case c = random_start(k, 5);
            expect_all(op, c, src, reference()(src, c));
        }
    };
    for (const auto &[width, height] : sizes) {
        for (const Content &content : contents)
            check(painted(random_of(picture_formats), width, height, content(7)));
        for (const Pattern &pattern : all_patterns())
            check(painted(random_of(picture_formats), width, height,
                          grey_of(pattern.draw(width, height))));
    }
    std::printf("contents: %zu and %zu patterns at %zu sizes equal, %dx%d the last\n",
                contents.size(), all_patterns().size(), sizes.size(), sizes.back()[0],
                sizes.back()[1]);
}

Reference definition() {
    return Definition();
}

/// Contents by turns, of which those of few colours are fast for the definition.
void check_sizes(Operator &op, const Sizes &sizes, const std::vector<std::size_t> &of,
                 const std::function<Reference()> &reference) {
    for (std::size_t i = 0; i < sizes.size(); i++) {
        const auto [width, height] = sizes[i];
        GuardedImage src =
            painted(random_of(picture_formats), width, height, contents[of[i % of.size()]](7));
        const Case c = random_start(random_of<int>({2, 8, 64, 256}), 3);
        expect_all(op, c, src, reference()(src, c));
    }
    std::printf("sizes: %zu equal, %dx%d the last\n", sizes.size(), sizes.back()[0],
                sizes.back()[1]);
}
const std::vector<std::size_t> few_colors = {8, 3, 4, 7},
                               all_contents = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

/// Numbers of clusters that are known beforehand.
void check_chosen(Operator &op) {
    for (const auto &[content, colors] : {std::pair{1, 1}, {2, 2}, {3, 5}})
        for (const gpv_kmeans_init_method start :
             {GPV_KMEANS_INIT_PLUSPLUS, GPV_KMEANS_INIT_RANDOM})
            for (const gpv_kmeans_color_space space :
                 {GPV_KMEANS_COLOR_SPACE_RGB, GPV_KMEANS_COLOR_SPACE_LAB}) {
                GuardedImage src = painted(GPV_FORMAT_BGRA8, 60, 40,
                                           contents[static_cast<std::size_t>(content)](3));
                Case c = with_clusters(0, 20, 0);
                c.params.init = start;
                c.params.color_space = space;
                const Found want = Definition()(src, c);
                expect_all(op, c, src, want);
                expect(want.clusters() == colors && want.empty == 0 && want.inertia == 0,
                       "a few colours are as many clusters, " + describe(c, src, {}));
            }
    std::printf("automatic: 1, 2 and 5 colours are as many clusters\n");
}

/// A fade from grey whose contrast grows little by little and comes to rest, and a cut: then
/// colours are segmented as in a first run.
void check_scenes(Operator &op) {
    for (const int clusters : {4, 0}) {
        Definition definition;
        Case c = with_clusters(clusters, 20, 0.5f);
        c.params.max_clusters = 5;
        c.params.warm_start = 1;
        /// Whether the colours are found that a first run finds.
        const auto begins = [&](int percent, int from) {
            GuardedImage src = painted(GPV_FORMAT_RGB8, 40, 30, [&](int x, int y) {
                Rgb color = photo_color(16 * x + from, 16 * y);
                for (int &byte : color)
                    byte = 110 + (byte - 110) * percent / 100;
                return color;
            });
            const Found want = definition(src, c);
            expect_all(op, c, src, want);
            return want.inertia == Definition()(src, c).inertia;
        };
        for (int percent = 0; percent < 97; percent = std::max(percent + 3, 50))
            begins(percent, 0);
        expect(!begins(97, 0), "a run in a fade goes on");
        begins(97, 0);
        expect(begins(97, 0), "at the end of a fade a run begins anew");
        for (int i = 0; i < 3; i++) // a smaller change after a rest: runs go on
            begins(91, 0);
        begins(100, 4000);
        expect(begins(100, 4000), "after a cut a run begins anew");
        for (const int percent : {100, 94, 94, 94}) // likewise
            begins(percent, 4000);
    }
    std::printf("warm start: a fade and a cut, with 4 clusters and as chosen, equal\n");
}

/// A video whose frames change little: numbers are kept, until clusters or space change, if only
/// for one run.
void check_warm_start(Operator &op) {
    Definition definition;
    const auto frame = [&](int at, const Case &c) {
        GuardedImage src = painted(GPV_FORMAT_NV12, 61, 47, [at](int x, int y) {
            return photo_color(16 * x + at, 16 * y + 2 * at);
        });
        const Found want = definition(src, c);
        expect_all(op, c, src, want);
        return want;
    };
    for (const int clusters : {7, 0})
        for (const gpv_kmeans_color_space space :
             {GPV_KMEANS_COLOR_SPACE_RGB, GPV_KMEANS_COLOR_SPACE_LAB}) {
            Case c = with_clusters(clusters, 100, 0.05f);
            c.params.color_space = space;
            c.params.warm_start = 1;
            const Found first = frame(0, c);
            for (int at = 1; at < 5; at++)
                expect(frame(at, c).clusters() == first.clusters(), "the number of clusters stays");
            c.params.init = GPV_KMEANS_INIT_GRID; // is of no account
            c.params.metric = GPV_KMEANS_METRIC_L1;
            c.params.seed = 5;
            c.params.max_clusters = clusters ? 2 : c.params.max_clusters;
            expect(frame(5, c).clusters() == first.clusters(), "other parameters break nothing");
            Case other = c;
            for (int i = 0; i < 3; i++) {
                other = c;
                if (i == 0)
                    other.params.clusters = 3;
                else if (i == 1)
                    other.params.color_space = 1 - space;
                else
                    other.params.max_clusters = 4;
                frame(6, other);
                frame(7, c);
                frame(8, c);
            }
            GuardedImage flat = painted(GPV_FORMAT_NV12, 61, 47, contents[1](2));
            expect_all(op, c, flat, definition(flat, c)); // as chosen, it is one cluster
            frame(9, c);
            c.params.warm_start = 0;
            frame(9, c);
            c.params.warm_start = 1;
            frame(10, c);
        }
    std::printf("warm start: videos in RGB and Lab, with 7 clusters and as chosen, equal\n");
}

/// One run into memory of its own.
struct Run {
    All all;
    gpv_kmeans_result result;
    Run(Operator &op, const Case &c, GuardedImage &src)
        : all(src, c.params), result(op.run(c, src, all.outputs())) {}
    std::vector<float> centroids() const {
        std::vector<float> values;
        for (int i = 0; i < 3 * result.clusters; i++)
            values.push_back(all.centroids.at<float>(i));
        return values;
    }
    bool same_values(const Run &other) const {
        bool same = centroids() == other.centroids() && result.inertia == other.result.inertia &&
                    result.iterations == other.result.iterations;
        for (int i = 0; i < result.clusters; i++)
            same = same && all.counts.at<std::int32_t>(i) == other.all.counts.at<std::int32_t>(i);
        return same;
    }
};

void check_laws(Operator &op) {
    const int width = 151, height = 103;
    for (std::size_t i = 0; i < contents.size(); i++)
        for (const int k : some_of(std::vector{8, 2, 33})) {
            const Paint color = contents[i](11);
            GuardedImage src = painted(GPV_FORMAT_RGB8, width, height, color);
            const std::string what =
                std::string(contents[i].name) + ", " + std::to_string(k) + " clusters";
            Case c = with_clusters(k, 0);
            double before = INFINITY;
            for (c.params.max_iterations = 0; c.params.max_iterations < 12;
                 c.params.max_iterations++) {
                const gpv_kmeans_result result = op.run(c, src, {});
                if (result.empty)
                    break;
                // Centroids are rounded to single precision.
                expect(result.inertia <= before * (1 + 1e-9) + 1e-6 * width * height,
                       "inertia never rises, " + what);
                before = result.inertia;
            }

            c = with_clusters(k, 9);
            const Run whole(op, c, src);
            c.params.max_iterations = 4;
            const Run part(op, c, src);
            c.params.max_iterations = 5;
            c.params.init = GPV_KMEANS_INIT_GIVEN;
            c.given = part.centroids();
            const Run rest(op, c, src);
            expect(rest.centroids() == whole.centroids() &&
                       rest.result.inertia == whole.result.inertia,
                   "4 iterations and 5 are 9, " + what);
            expect_equal(rest.all.labels, whole.all.labels, "4 iterations and 5 are 9, " + what);

            // Each pixel at the place of another.
            GuardedImage shuffled = painted(GPV_FORMAT_BGRX8, height, width, [&](int x, int y) {
                return color((y * 11 + 5) % width, (x * 5 + 3) % height);
            });
            c.params.max_iterations = 9;
            expect(Run(op, c, src).same_values(Run(op, c, shuffled)),
                   "where pixels lie is of no account to given centroids, " + what);
            c.params.init = GPV_KMEANS_INIT_PLUSPLUS;
            expect(Run(op, c, src).same_values(Run(op, c, shuffled)),
                   "where pixels lie is of no account to drawn colours, " + what);

            c.params.max_iterations = 100;
            c.params.tolerance = 0;
            const Run end(op, c, src);
            std::int64_t pixels = 0;
            for (int j = 0; j < k; j++)
                pixels += end.all.counts.at<std::int32_t>(j);
            expect(pixels == width * height, "every pixel belongs to one cluster, " + what);
            c.params.init = GPV_KMEANS_INIT_GIVEN;
            c.given = end.centroids();
            const Run same(op, c, src);
            expect(!end.result.converged ||
                       (same.result.iterations == 1 && same.centroids() == end.centroids()),
                   "what has converged stays, " + what);
        }
    std::printf("laws: inertia, parts of a run, order of pixels, convergence hold\n");
}

void check_repeats(Operator &op) {
    GuardedImage src = photo(GPV_FORMAT_NV12, 321, 239);
    const Case c = with_clusters(17, 8);
    const Found want = Definition()(src, c);
    const int count = shortened(100);
    for (int i = 0; i <= count; i++)
        expect_all(op, c, src, want);
    std::printf("repeats: %d equal\n", count);
}

/// Sums that do not fit 32 bits, and the longest sides.
void check_large(Operator &op, const Reference &reference) {
    if (!short_run()) {
        // 255 times that many pixels is above 2^32.
        GuardedImage flat = painted(GPV_FORMAT_RGB8, 4096, 4113, [](int, int) {
            return Rgb{255, 254, 1};
        });
        const Case two = with_clusters(2, 2, 0);
        expect_all(op, two, flat, reference(flat, two));
    }
    for (const auto &[w, h] : Sizes{{GPV_MAX_SIDE, 3}, {3, GPV_MAX_SIDE}}) {
        GuardedImage src = painted(GPV_FORMAT_RGB8, w, h, contents[0](5));
        const Case c = with_clusters(5, 2);
        expect_all(op, c, src, reference(src, c));
    }
    std::printf("large: %sthe longest sides, equal\n",
                short_run() ? "" : "4096x4113 of one colour, and ");
}

/// As many pixels as there can be, and more bytes than 2^31, in one cell, whose sums need more than
/// 32 bits for the second cluster alone. The third is empty at first.
void check_huge(Operator &op) {
    const std::vector<Centroid> start = {{104, 51, 203}, {111, 51, 203}, {0, 0, 0}};
    Case c = with_clusters(3, 3);
    c.params.init = GPV_KMEANS_INIT_GIVEN;
    for (const Centroid &centroid : start)
        c.given.insert(c.given.end(), centroid.begin(), centroid.end());
    const int width = GPV_MAX_SIDE;
    for (const auto &[format, height] : some_of(std::vector<std::pair<gpv_format, int>>{
             {GPV_FORMAT_RGB8, 21847}, {GPV_FORMAT_GRAY8, GPV_MAX_SIDE}})) {
        GuardedImage src = painted(format, width, height, [](int x, int y) {
            const std::uint32_t bits = pixel_hash(1, x, y);
            return Rgb{static_cast<int>(104 + (bits % 16 ? 7 : bits >> 4 & 7)),
                       static_cast<int>(48 + (bits >> 8 & 7)),
                       static_cast<int>(200 + (bits >> 16 & 7))};
        });
        const Samples samples(src);
        const auto color = [&](int x, int y) { return value_of(samples.color(x, y)); };
        std::vector<std::int64_t> pixels(1 << 24); // of each colour
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++)
                pixels[color(x, y)]++;
        std::vector<Value> once;
        for (Value value = 0; value < 1 << 24; value++)
            if (pixels[value])
                once.push_back(value);
        Colors colors(once);
        for (Counted &counted : colors.distinct)
            counted.count = pixels[counted.value];
        const Found want = Lloyd(colors, c.params, start).found();
        std::vector<std::uint8_t> label(1 << 24); // of each colour
        for (std::size_t i = 0; i < once.size(); i++)
            label[once[i]] = want.labels[i];

        GuardedImage labels(GPV_FORMAT_GRAY8, width, height);
        Values centroids(3 * sizeof(Centroid)), counts(3 * sizeof(std::int32_t));
        const Outputs outputs = {&labels, nullptr, &centroids, &counts};
        const std::string what = op.context().device() + (": " + describe(c, src, outputs));
        expect_result(op.run(c, src, outputs), want, what);
        expect_values(outputs, c.params, want, what);
        tbb::parallel_for(0, height, [&](int y) {
            for (int x = 0; x < width; x++)
                if (labels.row(0, y)[x] != label[color(x, y)])
                    fatal(what + ": the label at " + size_name(x, y) + " is wrong");
        });
        std::printf("huge: %dx%d of %zu colours, in %lld bytes, equal\n", width, height,
                    once.size(), static_cast<long long>(src.pixel_bytes()));
    }
}

// ---- figures of docs/algorithms/kmeans.md ---------------------------------

/// How many colours the photograph has; docs/images/kmeans_cost.py has one of them too.
void check_photo_colors() {
    for (const auto &[width, height, count] :
         {std::array{640, 480, 126382}, {1920, 1080, 579849}, {3840, 2160, 1677892}}) {
        std::vector<Value> colors = colors_of(photo(GPV_FORMAT_RGB8, width, height));
        std::sort(colors.begin(), colors.end());
        const auto end = std::unique(colors.begin(), colors.end());
        expect(end - colors.begin() == count,
               "the photograph has as many colours as documented, " + size_name(width, height));
    }
    std::printf("colours of the photograph: as documented\n");
}

/// Scratch in tenths of a MiB. paints: whether there is dst.
void check_scratch(gpv_backend backend, Place place, bool paints,
                   const std::array<int, 4> &tenths) {
    const Sizes sizes = {{640, 480}, {1920, 1080}, {3840, 2160}, {8192, 8192}};
    for (std::size_t i = 0; i < sizes.size(); i++) {
        gpv_image image;
        gpv_image_init(&image, sizeof image);
        image.format = GPV_FORMAT_RGB8;
        image.width = sizes[i][0];
        image.height = sizes[i][1];
        Operator op(backend, place);
        op.prepare({default_params(), {}}, image, nullptr, paints ? &image : nullptr);
        const double bytes = static_cast<double>(op.context().allocated());
        expect(std::lround(bytes * 10 / (1 << 20)) == tenths[i],
               "scratch is as documented, " + size_name(image.width, image.height) +
                   ", but it is " + std::to_string(bytes / (1 << 20)) + " MiB");
    }
    std::printf("scratch: as documented\n");
}

/// The photographs, if there are any.
void check_pictures(Operator &op) {
    int count = 0;
    for (const char *extension : {".pgm", ".ppm"})
        for (const Picture &picture : pictures(extension))
            for (const int k : {0, 2, 8, 32}) {
                Case c = with_clusters(k, 10, 0.5f);
                c.params.max_clusters = 5;
                c.params.color_space =
                    random_int(0, 1) ? GPV_KMEANS_COLOR_SPACE_RGB : GPV_KMEANS_COLOR_SPACE_LAB;
                expect_all(op, c, *picture.image, Definition()(*picture.image, c));
                count++;
            }
    std::printf("pictures: %d runs equal%s\n", count,
                count ? "" : "; GPV_TEST_IMAGES can name a folder of PGM and PPM files");
}

/// Images that are worth several threads: what the definition finds on any number of them; and a
/// run after prepare allocates nothing.
void check_threads() {
    const int width = 1003, height = 701;
    struct Work {
        gpv_format format;
        std::size_t content;
        int clusters, iterations;
        gpv_kmeans_init_method start;
        gpv_kmeans_color_space space;
    };
    const std::vector<Work> all_works = {
        {GPV_FORMAT_RGB8, 11, 8, 8, GPV_KMEANS_INIT_PLUSPLUS, GPV_KMEANS_COLOR_SPACE_RGB},
        {GPV_FORMAT_NV12, 11, 33, 4, GPV_KMEANS_INIT_GRID, GPV_KMEANS_COLOR_SPACE_RGB},
        {GPV_FORMAT_BGRA8, 10, 64, 3, GPV_KMEANS_INIT_RANDOM, GPV_KMEANS_COLOR_SPACE_RGB},
        {GPV_FORMAT_RGB8, 0, 255, 2, GPV_KMEANS_INIT_RANDOM, GPV_KMEANS_COLOR_SPACE_RGB},
        {GPV_FORMAT_I420, 6, 16, 6, GPV_KMEANS_INIT_PLUSPLUS, GPV_KMEANS_COLOR_SPACE_RGB},
        {GPV_FORMAT_GRAY8, 5, 9, 20, GPV_KMEANS_INIT_PLUSPLUS, GPV_KMEANS_COLOR_SPACE_LAB},
        {GPV_FORMAT_RGBX8, 4, 0, 20, GPV_KMEANS_INIT_PLUSPLUS, GPV_KMEANS_COLOR_SPACE_RGB},
        {GPV_FORMAT_BGR8, 1, 5, 3, GPV_KMEANS_INIT_GRID, GPV_KMEANS_COLOR_SPACE_RGB},
    };
    const std::vector<Work> works = some_of(all_works, 4);
    for (const Work &w : works) {
        GuardedImage src = painted(w.format, width, height, contents[w.content](23));
        Case c = with_clusters(w.clusters, w.iterations);
        c.params.init = w.start;
        c.params.color_space = w.space;
        c.params.max_clusters = 4;
        c.params.metric = static_cast<gpv_kmeans_metric>(random_int(0, 1));
        const Found want = Definition()(src, c);
        for (const int threads : {1, 2, 3, 16}) {
            All all(src, c.params);
            Operator op;
            with_threads(threads, [&] {
                op.prepare(c, *src.view(), all.labels.view(), all.dst.view());
                const int prepared = op.context().allocations();
                expect_found(op, c, src, all.outputs(), want);
                expect(op.context().allocations() == prepared,
                       "nothing is allocated after prepare, " + describe(c, src, all.outputs()));
            });
        }
    }
    const int rounds = short_run() ? 4 : 30;
    for (int i = 0; i < rounds; i++)
        with_threads(random_of<int>({2, 3, 16}), [] {
            Operator op;
            compare_random(op, 10, anything, Definition());
        });
    std::printf("threads: %zu images equal on 1, 2, 3 and 16, and %d of any kind\n", works.size(),
                10 * rounds);
}

// ---- OpenCV ---------------------------------------------------------------

#ifdef HAVE_OPENCV

/// cv::kmeans from labels that it is given, so many updates of the centroids.
class OpenCv {
  public:
    OpenCv(const GuardedImage &rgb, int clusters, int updates)
        : clusters_(clusters), updates_(updates) {
        const gpv_image &view = *rgb.view();
        cv::Mat(view.height, view.width, CV_8UC3, view.data[0],
                static_cast<std::size_t>(view.stride[0]))
            .clone()
            .reshape(1, view.width * view.height)
            .convertTo(samples_, CV_32F);
    }
    /// first: of the pixels, without padding. Returns inertia.
    double run(const GuardedImage &first) {
        const gpv_image &view = *first.view();
        cv::Mat(view.width * view.height, 1, CV_8UC1, view.data[0]).convertTo(labels_, CV_32S);
        return cv::kmeans(samples_, clusters_, labels_,
                          cv::TermCriteria(cv::TermCriteria::COUNT, updates_, 0), 1,
                          cv::KMEANS_USE_INITIAL_LABELS);
    }

  private:
    int clusters_, updates_;
    cv::Mat samples_, labels_;
};

/// Both start from the same labels. OpenCV's sums are rounded, and its last labels are one update
/// older than ours.
void compare_with_opencv(Operator &op, int count) {
    double maximum = 0;
    int compared = 0;
    for (int i = 0; compared < count; i++) {
        expect(i < 2 * count, "all clusters have pixels, in most images");
        GuardedImage src = painted(
            GPV_FORMAT_RGB8, 97, 61, i % 2 ? contents[10](i) : [i](int x, int y) {
                return photo_color(8 * x + 1000 * i, 8 * y);
            });
        const int k = random_int(2, 12), updates = 30;
        Case c = with_clusters(k, 0);
        const Run first(op, c, src);
        c.params.max_iterations = updates;
        const Run last(op, c, src);
        if (first.result.empty || last.result.empty)
            continue;
        compared++;
        const double theirs = OpenCv(src, k, updates).run(first.all.labels);
        maximum = std::max(maximum, std::fabs(last.result.inertia / theirs - 1));
    }
    expect(maximum < 0.02,
           "inertia is OpenCV's, to 2 %, but differs by " + std::to_string(maximum));
    std::printf("OpenCV %s: inertia of %d images the same, to %.4f %%\n", CV_VERSION, count,
                100 * maximum);
}

#endif

// ---- CUDA -----------------------------------------------------------------

#ifdef HAVE_CUDA

/// An operator of its own, whose runs follow each other as those of the reference should.
Reference by_cpu() {
    const auto cpu = std::make_shared<Operator>();
    return [cpu](GuardedImage &src, const Case &c) {
        GuardedImage labels(GPV_FORMAT_GRAY8, src.view()->width, src.view()->height);
        Values centroids(room(c.params) * sizeof(Centroid));
        Values counts(room(c.params) * sizeof(std::int32_t));
        const gpv_kmeans_result result =
            cpu->run(c, src, {&labels, nullptr, &centroids, &counts, nullptr});
        Found found;
        found.iterations = result.iterations;
        found.empty = result.empty;
        found.converged = result.converged != 0;
        found.inertia = result.inertia;
        for (int i = 0; i < result.clusters; i++) {
            found.centroids.push_back(centroids.at<Centroid>(i));
            found.counts.push_back(counts.at<std::int32_t>(i));
        }
        found.labels.assign(labels.row(0, 0), labels.row(0, 0) + labels.pixel_bytes());
        return found;
    };
}

/// So many that CUDA does not compare each pixel with each centroid, from 1600 pixels on; as a rule
/// a tolerance ends the run long before.
constexpr int any_iterations = 10000;

/// Few clusters, with few iterations, where CUDA compares each pixel with each centroid, or many on
/// images of some size, where it does not. Runs of both kinds go on from each other.
void check_few(Operator &op, int count, int side, const Reference &reference) {
    Case c;
    for (int i = 0; i < count; i++) {
        const bool many = random_int(0, 2) == 0;
        const auto random_length = [&] { return many ? random_int(40, side) : random_side(side); };
        GuardedImage src =
            random_image(random_of(picture_formats), random_length(), random_length());
        paint(src, random_content());
        if (i % 4 == 0) {
            c = random_case(src, anything);
            c.params.clusters = random_of<int>({2, 3, 8, 13, 31, 32});
            c.params.metric = random_int(0, 2) ? GPV_KMEANS_METRIC_L2 : GPV_KMEANS_METRIC_L1;
            c.given = random_centroids(src, c.params.clusters);
            if (i == 0) // others may have run before, with another reference
                c.params.warm_start = 0;
        }
        c.params.max_iterations = many ? any_iterations : random_int(0, 4);
        c.params.tolerance = many ? 3.0f : random_int(0, 1) * 0.5f;
        compare_outputs(op, c, src, reference(src, c));
    }
    std::printf("CUDA: %d runs of few clusters equal\n", count);
}

/// So full of colours that cells are cut: noise in so many cells, all of whose colours may occur.
void check_full_cells(Operator &op) {
    int count = 0;
    for (const int cells : {1, 5, 13})
        for (const int k : {6, 12, 24, 100}) {
            const int at = count++;
            if (short_run() && at % 2 == at / 4 % 2)
                continue;
            GuardedImage src = painted(GPV_FORMAT_RGB8, 64, 48, [cells](int x, int y) {
                const std::uint32_t bits = pixel_hash(7, x, y);
                const Rgb corner = bytes_of_hash(bits % cells), in_cell = bytes_of_hash(~bits);
                Rgb c;
                for (int i = 0; i < 3; i++)
                    c[i] = (corner[i] & ~7) | (in_cell[i] & 7);
                return c;
            });
            const bool manhattan = at % 3 == 0;
            Case c = with_clusters(k, any_iterations, manhattan ? 3.0f : 0.2f);
            c.params.init = GPV_KMEANS_INIT_GRID;
            c.params.metric = manhattan ? GPV_KMEANS_METRIC_L1 : GPV_KMEANS_METRIC_L2;
            expect_all(op, c, src, Definition()(src, c));
        }
    std::printf("CUDA: full cells equal\n");
}

/// Every format, start, metric and space, few clusters and many, chosen and given ones, few colours
/// and many, on images that an emulated GPU can do.
void check_branches(Place place, int count, bool brief) {
    Operator op(GPV_BACKEND_CUDA, place);
    Definition definition;
    const std::vector<int> clusters = {8, 2, 256, 17, 0, 64, 3, 255};
    for (int i = 0; i < count; i++) {
        GuardedImage src =
            random_image(picture_formats[static_cast<std::size_t>(i) % picture_formats.size()],
                         i % 5 ? random_int(1, 64) : 64, i % 5 ? random_int(1, 48) : 48);
        paint(src, contents[static_cast<std::size_t>(i) % contents.size()](place == Place::host));
        Case c = with_clusters(clusters[static_cast<std::size_t>(i) % clusters.size()], 1 + i % 5,
                               std::array{-1.0f, 0.0f, 0.5f}[static_cast<std::size_t>(i / 2 % 3)]);
        c.params.max_clusters = 4;
        c.params.metric = i / 3 % 2 ? GPV_KMEANS_METRIC_L1 : GPV_KMEANS_METRIC_L2;
        c.params.color_space = i % 7 == 3 ? GPV_KMEANS_COLOR_SPACE_LAB : GPV_KMEANS_COLOR_SPACE_RGB;
        c.params.init = static_cast<gpv_kmeans_init_method>(i % (c.params.clusters ? 4 : 3));
        if (brief && c.params.clusters > 17) // the emulation takes long to draw a colour
            c.params.init |= GPV_KMEANS_INIT_GRID;
        if (c.params.init == GPV_KMEANS_INIT_GIVEN)
            c.given = random_centroids(src, c.params.clusters);
        compare_outputs(op, c, src, definition(src, c));
    }
    std::printf("CUDA: %d runs of all kinds equal\n", count);
}

/// Runs of which some go on from the one before, and some cannot: other clusters, or only one
/// before.
void check_warm_runs() {
    Operator op(GPV_BACKEND_CUDA, Place::device);
    Definition definition;
    Case c = with_clusters(5, 6, 0.5f);
    c.params.max_clusters = 3;
    c.params.warm_start = 1;
    struct Frame {
        int clusters, iterations; ///< few clusters: CUDA compares each pixel with each centroid
        bool flat;
    };
    for (const gpv_kmeans_init_method start :
         some_of(std::vector{GPV_KMEANS_INIT_PLUSPLUS, GPV_KMEANS_INIT_GRID}))
        for (const Frame &f : std::vector<Frame>{{40, 6, false},
                                                 {40, 1, false},
                                                 {5, 6, false},
                                                 {5, 1, false},
                                                 {4, 2, false},
                                                 {4, 2, false},
                                                 {0, 6, true},
                                                 {0, 6, false},
                                                 {0, 6, false}}) {
            GuardedImage src = painted(GPV_FORMAT_NV12, 40, 30, [&](int x, int y) {
                return f.flat ? Rgb{90, 100, 140} : photo_color(16 * x, 16 * y);
            });
            c.params.init = start;
            c.params.clusters = f.clusters;
            c.params.max_iterations = f.iterations;
            expect_all(op, c, src, definition(src, c));
        }
    std::printf("CUDA: warm start equal\n");
}

/// Of equal centroids all but one have no pixel; each update finds a colour for one of them.
void check_empty_clusters() {
    Operator op(GPV_BACKEND_CUDA, Place::device);
    GuardedImage src = painted(GPV_FORMAT_RGB8, 29, 11, photo_color);
    for (const auto &[clusters, iterations] :
         {std::pair{40, shortened(60)}, {40, 5}, {6, 9}, {6, 2}, {3, 2}}) {
        Case c = with_clusters(clusters, iterations);
        c.params.metric = iterations == 2 ? GPV_KMEANS_METRIC_L1 : GPV_KMEANS_METRIC_L2;
        c.params.init = GPV_KMEANS_INIT_GIVEN;
        c.given.assign(static_cast<std::size_t>(3 * clusters), 255);
        expect_all(op, c, src, Definition()(src, c));
    }
    std::printf("CUDA: empty clusters equal\n");
}

/// Images that fill their memory to the last byte.
void check_tight(int count, const Limits &limits) {
    Operator op(GPV_BACKEND_CUDA, Place::device_tight);
    compare_random(op, count, limits, Definition());
    std::printf("CUDA: %d images without a byte to spare equal\n", count);
}

void check_prepared(Place place, bool brief) {
    for (const int clusters : {40, 4, 0}) {
        Case c = with_clusters(clusters, 3, 0);
        c.params.max_clusters = 3;
        c.params.init = brief || clusters == 4 ? GPV_KMEANS_INIT_GRID : GPV_KMEANS_INIT_PLUSPLUS;
        c.params.color_space = clusters ? GPV_KMEANS_COLOR_SPACE_LAB : GPV_KMEANS_COLOR_SPACE_RGB;
        GuardedImage src = painted(GPV_FORMAT_I420, brief ? 33 : 333, 21, contents[10](1));
        const Found want = Definition()(src, c);
        All all(src, c.params, true);
        Operator op(GPV_BACKEND_CUDA, place);
        op.prepare(c, *src.view(), all.labels.view(), all.dst.view());
        const int prepared = op.context().allocations();
        for (int i = 0; i < 2; i++)
            expect_found(op, c, src, all.outputs(), want);
        expect(op.context().allocations() == prepared,
               "CUDA: nothing is allocated after prepare, " + describe(c, src, all.outputs()));
    }
    std::printf("CUDA: no scratch is allocated after prepare\n");
}

/// Everything that a run writes, in CUDA memory.
class DeviceAll {
  public:
    explicit DeviceAll(All &host) : host_(host) {
        labels_.upload(host.labels);
        dst_.upload(host.dst);
        Values *const values[3] = {&host.centroids, &host.counts, &host.result};
        for (int i = 0; i < 3; i++) {
            blocks_[i].upload(values[i]->bytes().data(), values[i]->bytes().size());
            buffers_[i] = values[i]->view(blocks_[i].data());
            buffers_[i].memory = GPV_MEMORY_CUDA;
        }
    }
    bool run(gpv_kmeans *op, cudaStream_t stream, const DeviceImage &src) const {
        return gpv_kmeans_run(op, stream, src.view(), labels_.view(), dst_.view(), &buffers_[0],
                              &buffers_[1], &buffers_[2]) == GPV_OK;
    }
    void download() {
        labels_.download(host_.labels);
        dst_.download(host_.dst);
        Values *const values[3] = {&host_.centroids, &host_.counts, &host_.result};
        for (int i = 0; i < 3; i++)
            blocks_[i].download(values[i]->bytes().data(), values[i]->bytes().size());
    }
    const DeviceImage &labels() const { return labels_; }
    const DeviceImage &dst() const { return dst_; }

  private:
    All &host_;
    DeviceImage labels_, dst_;
    DeviceBlock blocks_[3];
    gpv_buffer buffers_[3];
};

/// Runs that become part of the caller's graph, and runs on two streams.
class StreamChecks {
  public:
    /// Whether the run was refused before it was prepared, as it must be if it needs memory.
    bool expect_captured(Case c) {
        GuardedImage host = painted(GPV_FORMAT_NV12, 51, 33, contents[10](2));
        if (c.params.init == GPV_KMEANS_INIT_GIVEN)
            c.given = random_centroids(host, c.params.clusters);
        const Found want = Definition()(host, c);
        All all(host, c.params, true);
        const Outputs outputs = all.outputs();
        const std::string what = describe(c, host, outputs);
        const Expected expected(c, host, outputs, want);
        DeviceImage src;
        src.upload(host);
        DeviceAll to(all);
        set(op_, context_, c);
        const Enqueue enqueue = [&](cudaStream_t stream, int) { return to.run(op_, stream, src); };
        const bool refused = !streams_.can_capture(enqueue);
        require(gpv_kmeans_prepare(op_, src.view(), to.labels().view(), to.dst().view()), context_,
                "gpv_kmeans_prepare");
        Values counts(room(c.params) * sizeof(std::int32_t));
        const gpv_buffer on_host = counts.view(counts.bytes().data());
        const Enqueue counting = [&](cudaStream_t stream, int) {
            return gpv_kmeans_run(op_, stream, src.view(), nullptr, nullptr, nullptr, &on_host,
                                  nullptr) == GPV_OK;
        };
        expect(!streams_.can_capture(counting),
               "a captured run with counts in host memory is refused, " + what);
        expect(streams_.run_captured(enqueue, context_), "a prepared run can be captured, " + what);
        to.download();
        expected.compare("CUDA, captured, " + what);
        return refused;
    }

    void check_captured(bool brief) {
        bool refused = false;
        for (const int clusters : brief ? std::vector{40, 4} : std::vector{40, 4, 2, 70, 256, 0})
            for (const gpv_kmeans_init_method start :
                 {GPV_KMEANS_INIT_GIVEN, GPV_KMEANS_INIT_PLUSPLUS, GPV_KMEANS_INIT_RANDOM,
                  GPV_KMEANS_INIT_GRID}) {
                if (start == GPV_KMEANS_INIT_GIVEN ? clusters == 0 : brief)
                    continue;
                Case c = with_clusters(clusters, brief || clusters == 4 ? 3 : 20, 0.5f);
                c.params.max_clusters = 4;
                c.params.init = start;
                c.params.color_space =
                    clusters == 70 ? GPV_KMEANS_COLOR_SPACE_LAB : GPV_KMEANS_COLOR_SPACE_RGB;
                refused = expect_captured(c) || refused;
            }
        expect(refused, "a captured run that needs memory is refused");
        std::printf("CUDA: captured\n");
    }

    /// A captured run that is never launched is no run.
    void check_captured_result() {
        GuardedImage host = painted(GPV_FORMAT_RGB8, 30, 20, contents[10](4));
        Case c = with_clusters(4, 3);
        c.params.init = GPV_KMEANS_INIT_GRID;
        const Found want = Definition()(host, c);
        set(op_, context_, c);
        DeviceImage src;
        src.upload(host);
        require(gpv_kmeans_run(op_, streams_[0], src.view(), nullptr, nullptr, nullptr, nullptr,
                               nullptr),
                context_, "gpv_kmeans_run");
        expect_result(waited(), want, "CUDA, before a capture");
        c.params.max_iterations = 1;
        set(op_, context_, c);
        require(gpv_kmeans_prepare(op_, src.view(), nullptr, nullptr), context_,
                "gpv_kmeans_prepare");
        const cudaGraphExec_t graph = capture(
            [&](cudaStream_t stream, int) {
                return gpv_kmeans_run(op_, stream, src.view(), nullptr, nullptr, nullptr, nullptr,
                                      nullptr) == GPV_OK;
            },
            1, streams_[0]);
        expect(graph, "a run without outputs needs no more than prepare gives");
        expect_result(waited(), want, "CUDA, a captured run changes no result");
        require(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
        std::printf("CUDA: a captured run has no result on the host\n");
    }

    /// A captured run goes on from the run before it, when it is launched.
    void check_captured_warm_start() {
        for (const auto &[clusters, start] : {std::pair{4, GPV_KMEANS_INIT_GRID},
                                              {4, GPV_KMEANS_INIT_PLUSPLUS},
                                              {40, GPV_KMEANS_INIT_GRID}}) {
            GuardedImage host = painted(GPV_FORMAT_NV12, 51, 33, contents[10](2));
            Case c = with_clusters(clusters, 3);
            c.params.init = start;
            c.params.warm_start = 1;
            Definition definition;
            definition(host, c);
            const Found want = definition(host, c);
            All all(host, c.params, true);
            const Expected expected(c, host, all.outputs(), want);
            DeviceImage src;
            src.upload(host);
            DeviceAll to(all);
            const Op op{context_};
            set(op, context_, c);
            require(gpv_kmeans_prepare(op, src.view(), to.labels().view(), to.dst().view()),
                    context_, "gpv_kmeans_prepare");
            const Enqueue enqueue = [&](cudaStream_t stream, int) {
                return to.run(op, stream, src);
            };
            expect(streams_.run_captured(enqueue, context_), "a warm start can be captured");
            to.download();
            expected.compare("CUDA, a captured run that goes on from itself");
        }
        std::printf("CUDA: captured warm start\n");
    }

    /// Values in host memory are those of their run, whatever runs before anybody waits.
    void check_values_of_two_runs(int clusters) {
        Case c = with_clusters(clusters, 3);
        c.params.init = GPV_KMEANS_INIT_GRID;
        set(op_, context_, c);
        GuardedImage hosts[2] = {painted(GPV_FORMAT_RGB8, 50, 40, contents[10](5)),
                                 painted(GPV_FORMAT_RGB8, 60, 20, contents[0](6))};
        for (const int second_stream : {0, 1}) {
            std::vector<Found> want;
            const std::size_t room = static_cast<std::size_t>(clusters);
            Values centroids[2] = {Values(room * sizeof(Centroid)),
                                   Values(room * sizeof(Centroid))};
            Values counts[2] = {Values(room * sizeof(std::int32_t)),
                                Values(room * sizeof(std::int32_t))};
            DeviceImage src[2];
            for (int i = 0; i < 2; i++) {
                want.push_back(Definition()(hosts[i], c));
                src[i].upload(hosts[i]);
                const gpv_buffer into = centroids[i].view(centroids[i].bytes().data());
                const gpv_buffer number = counts[i].view(counts[i].bytes().data());
                require(gpv_kmeans_run(op_, streams_[i * second_stream], src[i].view(), nullptr,
                                       nullptr, &into, &number, nullptr),
                        context_, "gpv_kmeans_run");
            }
            expect_result(waited(), want[1], "CUDA, the last of two runs");
            for (int i = 0; i < 2; i++)
                expect_values({nullptr, nullptr, &centroids[i], &counts[i], nullptr}, c.params,
                              want[i], "CUDA, two runs");
        }
        std::printf("CUDA: values of their run, of %d clusters\n", clusters);
    }

    /// Each run on what the one before has written, and from its centroids, on alternating streams.
    void check_alternating(int clusters) {
        Case c = with_clusters(clusters, 2);
        c.params.init = GPV_KMEANS_INIT_GRID;
        c.params.warm_start = 1;
        set(op_, context_, c);
        Definition definition;
        GuardedImage host = painted(GPV_FORMAT_RGB8, 90, 40, contents[10](5));
        GuardedImage want(GPV_FORMAT_RGB8, 90, 40);
        DeviceImage images[2];
        for (DeviceImage &image : images)
            image.upload(host);
        for (int i = 0; i < 4; i++) {
            recolor(definition(host, c), c.params.color_space, host, want);
            host.copy_pixels_from(want);
            require(gpv_kmeans_run(op_, streams_[i % 2], images[i % 2].view(), nullptr,
                                   images[1 - i % 2].view(), nullptr, nullptr, nullptr),
                    context_, "gpv_kmeans_run");
        }
        require(gpv_kmeans_wait(op_, nullptr), context_, "gpv_kmeans_wait");
        require(gpv_kmeans_query(op_), context_, "gpv_kmeans_query");
        images[0].download(host);
        expect_equal(host, want, "CUDA, two streams");
        std::printf("CUDA: on two streams, %d clusters\n", clusters);
    }

  private:
    gpv_kmeans_result waited() {
        gpv_kmeans_result result;
        gpv_kmeans_result_init(&result, sizeof result);
        require(gpv_kmeans_wait(op_, &result), context_, "gpv_kmeans_wait");
        return result;
    }

    const Streams streams_;
    const PlainContext context_{GPV_BACKEND_CUDA};
    const Op op_{context_};
};

/// Images that only a GPU can do in time.
void check_on_gpu(Operator &op) {
    for (const auto &[width, height] : Sizes{{1920, 1080}, {3840, 2160}})
        for (const int k : {4, 16, 64, 255}) {
            GuardedImage src = photo(k == 16 ? GPV_FORMAT_NV12 : GPV_FORMAT_RGB8, width, height);
            Case c = with_clusters(k);
            c.params.init = k == 64 ? GPV_KMEANS_INIT_GRID : GPV_KMEANS_INIT_PLUSPLUS;
            expect_all(op, c, src, by_cpu()(src, c));
        }
    std::printf("CUDA: photographs of 1080p and 4K equal to the CPU\n");
    for (const auto &[content, width, height] :
         {std::tuple{6, 1920, 1080}, {0, 2048, 2048}, {5, 2047, 1023}, {0, 4096, 4113}})
        for (const int k : {8, 100, 256}) {
            GuardedImage src = painted(GPV_FORMAT_RGB8, width, height,
                                       contents[static_cast<std::size_t>(content)](9));
            Case c = with_clusters(k, 10);
            c.params.color_space =
                k == 100 ? GPV_KMEANS_COLOR_SPACE_LAB : GPV_KMEANS_COLOR_SPACE_RGB;
            expect_all(op, c, src, by_cpu()(src, c));
        }
    std::printf("CUDA: many pixels of few cells, of noise and of gradients equal to the CPU\n");
    GuardedImage src = photo(GPV_FORMAT_RGB8, 1920, 1080);
    for (const int k : {0, 40}) {
        const Case c = with_clusters(k);
        const Found want = by_cpu()(src, c);
        for (int i = 0; i < shortened(50); i++)
            expect_all(op, c, src, want);
    }
    std::printf("CUDA: %d repeats of 1080p equal\n", 2 * shortened(50));
}

void check_cuda(bool brief) {
    const Limits small = {64, 9, 5};
    for (const Place place : places({Place::device, Place::host})) {
        Operator op(GPV_BACKEND_CUDA, place);
        std::printf("== %s, images in %s memory\n", op.context().device(),
                    place == Place::host ? "host" : "CUDA");
        check_branches(place, !brief ? shortened(240) : shortened(place == Place::host ? 6 : 24, 2),
                       brief);
        if (!brief)
            compare_with_definition(op, scaled(1000));
        check_few(op, !brief ? shortened(500) : shortened(place == Place::host ? 4 : 16, 2), 64,
                  Definition());
        if (!brief || place == Place::device)
            check_full_cells(op);
        if (!kernels_alone())
            check_prepared(place, brief);
    }
    check_warm_runs();
    check_empty_clusters();
    StreamChecks().check_captured(brief);
    if (kernels_alone())
        return;
    check_tight(brief ? shortened(6, 2) : shortened(500), brief ? small : anything);
    StreamChecks().check_captured_result();
    StreamChecks().check_captured_warm_start();
    for (const int clusters : {9, 40}) {
        StreamChecks().check_values_of_two_runs(clusters);
        StreamChecks().check_alternating(clusters);
    }
    if (!std::getenv("GPV_SIMT_ARCH")) // where tests/simt has the tables of large images
        check_scratch(GPV_BACKEND_CUDA, Place::device, true, {886, 1088, 1800, 2791});
    Operator op(GPV_BACKEND_CUDA, Place::device);
    check_scenes(op);
    if (brief)
        return;
    compare_random(op, shortened(300), {700, GPV_KMEANS_MAX_CLUSTERS, 60}, by_cpu());
    check_few(op, shortened(100), 1500, by_cpu());
    check_contents(op, {{1, 1}, {1, 97}, {97, 1}, {2, 2}, {13, 7}, {211, 199}}, {2, 8, 64, 256},
                   definition);
    check_contents(op, {{1919, 1079}}, {5, 130}, by_cpu);
    for (const Sizes &sizes : {narrow_sizes(), small_squares, squares, large_squares, vast_squares})
        check_sizes(op, some_of(sizes), all_contents, by_cpu);
    check_chosen(op);
    check_warm_start(op);
    check_laws(op);
    check_repeats(op);
    check_large(op, by_cpu());
    check_pictures(op);
    check_on_gpu(op);
    check_huge(op);
}

#endif

// ---- benchmark ------------------------------------------------------------

/// So many colours that are frequent in the photograph, each as often as any other.
Paint colors_of_photo(int count) {
    std::vector<Value> colors;
    std::vector<bool> seen(1 << 24);
    for (std::uint64_t i = 0; static_cast<int>(colors.size()) < count; i++) {
        const std::uint32_t at = hash(i);
        const Value color =
            value_of(photo_color(static_cast<int>(at % 1920), static_cast<int>(at / 1920 % 1080)));
        if (!seen[color])
            colors.push_back(color);
        seen[color] = true;
    }
    return [colors](int x, int y) { return bytes_of(colors[pixel_hash(3, x, y) % colors.size()]); };
}

/// An image to be timed on.
struct NamedImage {
    std::string name;
    GuardedImage image;
    std::string text() const {
        return name + " " + size_name(image.view()->width, image.view()->height);
    }
    /// Room for them.
    GuardedImage labels() const {
        return {GPV_FORMAT_GRAY8, image.view()->width, image.view()->height};
    }
};

NamedImage named_photo(int width, int height, gpv_format format = GPV_FORMAT_RGB8) {
    return {format == GPV_FORMAT_NV12 ? "NV12 photo" : "photo", photo(format, width, height)};
}

/// A picture that is enlarged, with the noise that a camera would have.
NamedImage named_enlarged(const Picture &picture, int width, int height) {
    const gpv_image &from = *picture.image->view();
    const auto place = [](int at, int size, int of_picture) { // in 256ths of a pixel of it
        return static_cast<int>(std::int64_t{at} * 256 * of_picture / size);
    };
    const auto channel = [&](int x, int y, int i) {
        return int{picture.image->row(
            0, std::min(y, from.height - 1))[3 * std::min(x, from.width - 1) + i]};
    };
    return {picture.name, painted(GPV_FORMAT_RGB8, width, height, [&](int x, int y) {
                const int u = place(x, width, from.width), v = place(y, height, from.height);
                Rgb c;
                for (int i = 0; i < 3; i++) {
                    const auto row = [&](int down) {
                        return channel(u / 256, v / 256 + down, i) * (256 - u % 256) +
                               channel(u / 256 + 1, v / 256 + down, i) * (u % 256);
                    };
                    const int value = (row(0) * (256 - v % 256) + row(1) * (v % 256)) >> 16;
                    c[i] = std::clamp(value + gaussian(pixel_hash(i, x, y)), 0, 255);
                }
                return c;
            })};
}

/// Images of 1080p that differ in how many colours they have.
std::vector<NamedImage> images_by_colors() {
    std::vector<NamedImage> result;
    for (const int count : {1000, 10000, 100000})
        result.push_back({std::to_string(count / 1000) + "k colours",
                          painted(GPV_FORMAT_RGB8, 1920, 1080, colors_of_photo(count))});
    result.push_back(named_photo(1920, 1080));
    result.push_back({"noise", painted(GPV_FORMAT_RGB8, 1920, 1080, contents[0](1))});
    return result;
}

/// What is timed: name k=clusters.
struct Work {
    std::string name;
    Case wanted;
    bool labels, colors;
    std::string text() const {
        const int k = wanted.params.clusters;
        return name + (k ? " k=" + std::to_string(k) : "");
    }
};

/// 20 iterations from centroids that are given, so that all do the same work: colours of the image
/// that a short run has spread.
Work iterations(const NamedImage &named, int clusters, bool colors) {
    Operator op;
    GuardedImage small =
        painted(GPV_FORMAT_RGB8, 160, 90, [&, pixels = colors_of(named.image)](int x, int y) {
            const gpv_image &view = *named.image.view();
            return bytes_of(pixels[std::size_t(y) * view.height / 90 * view.width +
                                   std::size_t(x) * view.width / 160]);
        });
    Work work{colors ? "labels and colours" : "labels", with_clusters(clusters, 0), true, colors};
    work.wanted.given = Run(op, work.wanted, small).centroids();
    work.wanted.params.init = GPV_KMEANS_INIT_GIVEN;
    work.wanted.params.max_iterations = 20;
    return work;
}

/// How the clusters are found to start from, and each pixel's distance from them, once.
Work start(int clusters) {
    return {"start", with_clusters(clusters, 0), false, false};
}

Work chosen() {
    return {"automatic", with_clusters(0, 20, 0.5f), true, false};
}

Work in_lab(Work work) {
    work.name += " in Lab";
    work.wanted.params.color_space = GPV_KMEANS_COLOR_SPACE_LAB;
    return work;
}

/// A frame like the one before.
Work warm(const NamedImage &named, int clusters) {
    Operator op;
    GuardedImage src(named.image.view()->format, named.image.view()->width,
                     named.image.view()->height);
    src.copy_pixels_from(named.image);
    Work work{"warm start", with_clusters(clusters, 200, 0.02f), true, true};
    work.wanted.given = Run(op, work.wanted, src).centroids();
    work.wanted.params.init = GPV_KMEANS_INIT_GIVEN;
    work.wanted.params.tolerance = 0.5f;
    work.wanted.params.warm_start = 1;
    return work;
}

// The experiment of the paper that this algorithm starts from, see docs/algorithms/kmeans.md;
// tests/tools/peers.py has its kernels on a GPU.

/// Those of the paper's table.
const std::vector<int> clusters_of_paper = {4, 8, 16, 32, 64, 128, 255};

/// Manhattan distance, until labels repeat, which they need not do.
Work to_the_end(const NamedImage &named, int clusters) {
    Work work = iterations(named, clusters, false);
    work.name = "paper's table:";
    work.wanted.params.metric = GPV_KMEANS_METRIC_L1;
    work.wanted.params.tolerance = 0;
    work.wanted.params.max_iterations = 1000;
    return work;
}

/// The same in loops over pixels, as any compiler likes them: assignment and update, the mean of
/// the pixels of each cluster. Threads share the pixels, and have sums of their own.
class PlainLoops {
  public:
    PlainLoops(const GuardedImage &rgb, const Case &c, int threads)
        : pixels_(rgb.row(0, 0)), labels_(static_cast<std::size_t>(rgb.pixel_bytes() / 3)),
          sums_(static_cast<std::size_t>(threads)) {
        for (int i = 0; i < c.params.clusters; i++)
            centroids_.push_back({c.given[3 * i], c.given[3 * i + 1], c.given[3 * i + 2]});
    }

    /// Until the last update has moved nothing, or most of them.
    void run(int maximum) {
        for (bool moved = true; moved && iterations_ < maximum; iterations_++) {
            us_[0] += microseconds([&] { assign(); });
            us_[1] += microseconds([&] { moved = update(); });
        }
        us_[0] += microseconds([&] { assign(); });
    }
    int iterations() const { return iterations_; }
    /// Of all assignments, and of all updates.
    const std::array<double, 2> &us() const { return us_; }
    const std::vector<std::uint8_t> &labels() const { return labels_; }

  private:
    static constexpr std::size_t batch = 512; ///< pixels side by side, as the lanes of vectors

    template <class F>
    static double microseconds(F f) {
        using Clock = std::chrono::steady_clock;
        const auto begin = Clock::now();
        f();
        return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    }
    template <class F>
    void each_part(F f) {
        const std::size_t parts = sums_.size();
        tbb::parallel_for(std::size_t{0}, parts, [&](std::size_t part) {
            f(part, labels_.size() * part / parts, labels_.size() * (part + 1) / parts);
        });
    }
    void assign() {
        each_part([this](std::size_t, std::size_t begin, std::size_t end) {
            for (std::size_t at = begin; at < end; at += batch)
                assign(at, std::min(batch, end - at));
        });
    }
    void assign(std::size_t at, std::size_t count) {
        float r[batch], g[batch], b[batch], minimum[batch];
        std::int32_t nearest[batch] = {};
        for (std::size_t i = 0; i < count; i++) {
            const std::uint8_t *pixel = pixels_ + 3 * (at + i);
            r[i] = pixel[0], g[i] = pixel[1], b[i] = pixel[2];
            minimum[i] = INFINITY;
        }
        std::int32_t number = 0;
        for (const Centroid &c : centroids_) {
            for (std::size_t i = 0; i < count; i++) {
                const float distance =
                    (std::fabs(r[i] - c[0]) + std::fabs(g[i] - c[1])) + std::fabs(b[i] - c[2]);
                nearest[i] = distance < minimum[i] ? number : nearest[i];
                minimum[i] = std::min(distance, minimum[i]);
            }
            number++;
        }
        for (std::size_t i = 0; i < count; i++)
            labels_[at + i] = static_cast<std::uint8_t>(nearest[i]);
    }
    /// Whether a centroid has moved. One without pixels stays.
    bool update() {
        each_part([this](std::size_t part, std::size_t begin, std::size_t end) {
            sums_[part].assign(centroids_.size(), {});
            add(sums_[part].data(), begin, end);
        });
        const std::vector<Centroid> old = centroids_;
        for (std::size_t i = 0; i < centroids_.size(); i++)
            move(i);
        return centroids_ != old;
    }
    void add(Sums *sums, std::size_t begin, std::size_t end) const {
        for (std::size_t i = begin; i < end; i++) {
            Sums &cluster = sums[labels_[i]];
            cluster.count++;
            for (std::size_t channel = 0; channel < 3; channel++)
                cluster.channel[channel] += pixels_[3 * i + channel];
        }
    }
    void move(std::size_t cluster) {
        Sums all;
        for (const std::vector<Sums> &part : sums_) {
            all.count += part[cluster].count;
            for (int i = 0; i < 3; i++)
                all.channel[i] += part[cluster].channel[i];
        }
        for (int i = 0; i < 3 && all.count > 0; i++)
            centroids_[cluster][i] = static_cast<float>(double(all.channel[i]) / double(all.count));
    }

    const std::uint8_t *pixels_; ///< R, G, B, without padding
    std::vector<Centroid> centroids_;
    std::vector<std::uint8_t> labels_;
    std::vector<std::vector<Sums>> sums_; ///< of each part of the pixels
    int iterations_ = 0;
    std::array<double, 2> us_{};
};

/// The row of ours, and what plain loops have to find as well.
struct Ours {
    Report::Row row;
    int iterations;
    GuardedImage labels;
};

void report_plain_loops(Report &report, const Ours &ours, const NamedImage &named, const Work &work,
                        int threads) {
    tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    std::vector<double> us[2];
    double spent = 0;
    for (int i = 0; i < 3 && spent < 1e6; i++) {
        PlainLoops loops(named.image, work.wanted, threads);
        loops.run(work.wanted.params.max_iterations);
        expect(loops.iterations() == ours.iterations &&
                   std::equal(loops.labels().begin(), loops.labels().end(), ours.labels.row(0, 0)),
               "plain loops give our labels after as many iterations");
        for (int part = 0; part < 2; part++) {
            us[part].push_back(loops.us()[part]);
            spent += loops.us()[part];
        }
    }
    Report::Row row = ours.row;
    row.name += ", " + std::to_string(ours.iterations) + " iterations";
    for (int part = 0; part < 2; part++) {
        row.peer = "plain loops, " + std::to_string(threads) + " thread" +
                   (threads > 1 ? "s" : "") + (part ? ": update" : ": assignment");
        row.other = summarize(us[part]);
        report.add(row);
    }
}

class Benchmark {
  public:
    explicit Benchmark(Report &report) : report_(report) {}

    /// theirs: as many iterations of OpenCV, from the same labels.
    void compare(NamedImage &named, const Work &work, int threads, bool theirs = false) {
        GuardedImage labels = named.labels();
        Report::Row row = time(named, work, threads, labels);
        if (theirs)
            time_opencv(named, work, threads, row);
        report_.add(row);
    }
    void compare_with_plain_loops(NamedImage &named, const Work &work, int threads) {
        Ours ours{{}, 0, named.labels()};
        ours.row = time(named, work, threads, ours.labels);
        ours.iterations = found_.iterations;
        report_plain_loops(report_, ours, named, work, threads);
    }

  private:
    /// The row of ours.
    Report::Row time(NamedImage &named, const Work &work, int threads, GuardedImage &labels) {
        GuardedImage &src = named.image;
        const gpv_image &view = *src.view();
        GuardedImage dst(view.format, view.width, view.height);
        const Outputs outputs = {work.labels ? &labels : nullptr, work.colors ? &dst : nullptr};
        std::vector<std::uint8_t> from(static_cast<std::size_t>(src.pixel_bytes())),
            to(from.size());
        tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
        found_ = op_.run(work.wanted, src, outputs);
        const auto times = time_in_turn({[&] { op_.again(src, outputs); },
                                         [&] { std::memcpy(to.data(), from.data(), from.size()); }},
                                        7, 0.3);
        return {work.text(), named.text(), threads, times[0], "", {}, times[1].median};
    }
#ifdef HAVE_OPENCV
    void time_opencv(NamedImage &named, const Work &work, int threads, Report::Row &row) {
        tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
        cv::setNumThreads(threads);
        Case first = work.wanted;
        first.params.max_iterations = 0;
        const Run start(op_, first, named.image);
        OpenCv opencv(named.image, first.params.clusters, work.wanted.params.max_iterations);
        double theirs = 0;
        row.other = time_in_turn({[&] { theirs = opencv.run(start.all.labels); }}, 3, 0)[0];
        row.peer = "OpenCV " CV_VERSION;
        std::printf("inertia of ours by OpenCV's: %.6f\n", found_.inertia / theirs);
    }
#else
    void time_opencv(NamedImage &, const Work &, int, Report::Row &) {}
#endif

    Operator op_;
    gpv_kmeans_result found_; ///< by ours
    Report &report_;
};

void benchmark_cpu(Report &report) {
    Benchmark bench(report);
    NamedImage hd = named_photo(1920, 1080), small = named_photo(640, 360);
    const int all = tbb::info::default_concurrency();
    for (const int threads : {1, all}) {
        for (const int k : {8, 64, 255})
            bench.compare(small, iterations(small, k, false), threads, true);
        for (const int k : {8, 64, 255})
            bench.compare(hd, iterations(hd, k, false), threads, k == 8);
    }
    for (const int k : {8, 255})
        bench.compare(hd, iterations(hd, k, true), all);
    for (const int k : {8, 64, 255})
        bench.compare(hd, start(k), all);
    bench.compare(hd, in_lab(iterations(hd, 64, false)), all);
    bench.compare(hd, chosen(), all);
    NamedImage video = named_photo(1920, 1080, GPV_FORMAT_NV12);
    for (const int k : {8, 64})
        bench.compare(video, warm(video, k), all);
    for (NamedImage &named : images_by_colors())
        bench.compare(named, iterations(named, 64, false), all);
    for (const Picture &picture : pictures(".ppm")) {
        NamedImage named = named_enlarged(picture, 1920, 1080);
        for (const int k : {8, 64, 255})
            bench.compare(named, iterations(named, k, false), all);
    }
    NamedImage paper = named_photo(640, 480);
    for (const int threads : {1, all})
        for (const int k : clusters_of_paper)
            bench.compare_with_plain_loops(paper, to_the_end(paper, k), threads);
}

// ---- benchmark on a GPU ---------------------------------------------------

#ifdef HAVE_CUDA

/// Few of them, as the next frame of a video needs.
Work few_iterations(const NamedImage &named, int clusters, int count) {
    Work work = iterations(named, clusters, true);
    work.name += ", iterations=" + std::to_string(count);
    work.wanted.params.max_iterations = count;
    return work;
}

class GpuBenchmark {
  public:
    explicit GpuBenchmark(Report &report) : report_(report) {}

    void compare(const NamedImage &named, const std::vector<Work> &works) {
        const Images images(named);
        for (const Work &work : works)
            report_.add(time(named, images, work));
    }
    void compare_with_plain_loops(const NamedImage &named, const std::vector<Work> &works) {
        const Images images(named);
        for (const Work &work : works) {
            const Report::Row row = time(named, images, work);
            Ours ours{row, found_.iterations, named.labels()};
            images.labels[0]->download(ours.labels);
            for (const int threads : {1, tbb::info::default_concurrency()})
                report_plain_loops(report_, ours, named, work, threads);
        }
    }

    /// From host memory to host memory, one frame after the other.
    void compare_from_host(NamedImage &named, const Work &work) {
        GuardedImage &src = named.image;
        All of_gpu(src, work.wanted.params), of_cpu(src, work.wanted.params);
        const Outputs to = {&of_gpu.labels, &of_gpu.dst}, same = {&of_cpu.labels, &of_cpu.dst};
        Operator gpu(GPV_BACKEND_CUDA, Place::host), cpu;
        gpu.run(work.wanted, src, to);
        cpu.run(work.wanted, src, same);
        const auto times = time_in_turn({[&] { gpu.again(src, to); }, [&] { cpu.again(src, same); },
                                         [&] { of_gpu.dst.copy_planes_from(src); }},
                                        5);
        report_.add({"host to host, " + work.text(), named.text(), 0, times[0], "our CPU backend",
                     times[1], times[2].median});
    }

  private:
    /// As many of each as keep them out of the cache.
    struct Images {
        explicit Images(const NamedImage &named)
            : colors(named.image, {named.image.view()->format, named.image.view()->width,
                                   named.image.view()->height}),
              copy(colors.copied()) {
            const GuardedImage numbers = named.labels();
            for (int i = 0; i < cold_count(numbers.bytes().size()); i++)
                labels.emplace_back(std::make_unique<DeviceImage>())->upload(numbers);
        }
        ColdImages colors;
        ColdCopy copy;
        std::vector<std::unique_ptr<DeviceImage>> labels;
    };

    /// The row of ours.
    Report::Row time(const NamedImage &named, const Images &images, const Work &work) {
        const auto run = [&](cudaStream_t stream, int i) {
            const auto &number = images.labels[static_cast<std::size_t>(i) % images.labels.size()];
            return gpv_kmeans_run(op_, stream, images.colors.src(i).view(),
                                  work.labels ? number->view() : nullptr,
                                  work.colors ? images.colors.dst(i).view() : nullptr, nullptr,
                                  nullptr, nullptr) == GPV_OK;
        };
        set(op_, context_, work.wanted);
        gpv_kmeans_result_init(&found_, sizeof found_);
        if (!run(nullptr, 0) || gpv_kmeans_wait(op_, &found_) != GPV_OK)
            fatal("a run to be timed failed");
        const auto times = time_on_device(
            {run, [&](cudaStream_t stream, int i) { return images.copy.enqueue(stream, i); }},
            images.colors.repeats());
        return {work.text(), named.text(), 0, times[0], "", {}, times[1].median};
    }

    Report &report_;
    const PlainContext context_{GPV_BACKEND_CUDA};
    const Op op_{context_};
    gpv_kmeans_result found_; ///< by the first run of what is timed
};

void benchmark_gpu(Report &report) {
    GpuBenchmark bench(report);
    const auto of = [](const NamedImage &named, const std::vector<int> &clusters) {
        std::vector<Work> works;
        for (const int k : clusters)
            works.push_back(iterations(named, k, true));
        return works;
    };
    NamedImage floor = named_photo(64, 32);
    bench.compare(floor, of(floor, {8}));
    NamedImage hd = named_photo(1920, 1080);
    std::vector<Work> works = of(hd, {2, 4, 8, 16, 64, 128, 255});
    for (const int k : {8, 64, 255})
        works.push_back(start(k));
    works.push_back(in_lab(iterations(hd, 64, true)));
    works.push_back(chosen());
    for (const int k : {2, 4, 8, 16})
        for (const int count : {0, 1, 2, 3})
            works.push_back(few_iterations(hd, k, count));
    bench.compare(hd, works);
    // What the time depends on: pixels, clusters, colours.
    for (const auto &[width, height] : Sizes{{640, 480}, {1280, 720}, {3840, 2160}, {7680, 4320}}) {
        const NamedImage named = named_photo(width, height);
        bench.compare(named, of(named, {2, 8, 64, 255}));
    }
    for (const NamedImage &named : images_by_colors())
        if (named.name != hd.name)
            bench.compare(named, of(named, {2, 8, 64, 255}));
    for (const Picture &picture : pictures(".ppm"))
        for (const auto &[width, height] : Sizes{{1920, 1080}, {3840, 2160}}) {
            const NamedImage named = named_enlarged(picture, width, height);
            bench.compare(named, of(named, {8, 64, 255}));
        }
    for (const auto &[width, height] : Sizes{{1920, 1080}, {3840, 2160}}) {
        const NamedImage named = named_photo(width, height, GPV_FORMAT_NV12);
        bench.compare(named, {warm(named, 8), warm(named, 64)});
    }
    bench.compare_from_host(hd, iterations(hd, 8, true));
    const NamedImage paper = named_photo(640, 480);
    works.clear();
    for (const int k : clusters_of_paper)
        works.push_back(to_the_end(paper, k));
    bench.compare_with_plain_loops(paper, works);
}

#endif

// ---- the program ----------------------------------------------------------

/// Time goes with the number of colours, not with where they are. The median content has two, and
/// takes little more than to be read: patterns are compared with their median, but all that there
/// is with a photograph, which has many.
void check_times(gpv_backend backend) {
    const auto [width, height] = size_to_time(backend);
    const CountedContext context(backend);
    const Op op(context);
    const PlacedImage labels(GuardedImage(GPV_FORMAT_GRAY8, width, height), backend);
    const auto make = [&](const GuardedImage &host) {
        const auto src = std::make_shared<PlacedImage>(host, backend);
        return [&, src] {
            require(gpv_kmeans_run(op, nullptr, src->view(), labels.view(), nullptr, nullptr,
                                   nullptr, nullptr),
                    context, "gpv_kmeans_run");
            require(gpv_kmeans_wait(op, nullptr), context, "gpv_kmeans_wait");
        };
    };
    std::vector<Timed> of_patterns, all;
    for (const Pattern &pattern : all_patterns())
        of_patterns.push_back({pattern.name, make(painted(GPV_FORMAT_RGB8, width, height,
                                                          grey_of(pattern.draw(width, height))))});
    for (const Content &content : contents)
        all.push_back({content.name, make(painted(GPV_FORMAT_RGB8, width, height, content(7)))});
    all.insert(all.end(), of_patterns.begin(), of_patterns.end());
    for (const Case &c :
         {Case{default_params(), {}}, with_clusters(2, 10), with_clusters(64, 10)}) {
        set(op, context, c);
        const std::string what = size_name(width, height) + ", " +
                                 std::to_string(c.params.clusters) + " clusters, " +
                                 std::to_string(c.params.max_iterations) + " iterations";
        expect_times_alike(what, of_patterns);
        expect_times_alike(what, all, "photograph");
    }
}

void check() {
    check_lab();
    check_colors();
    each_instruction_set([&](const char *name) {
        Operator op;
        std::printf("== %s\n", op.context().device());
        if (!std::strstr(op.context().device(), name))
            fatal(std::string("the library does not run on ") + name);
        compare_with_definition(op, scaled(1000));
        check_contents(op, {{1, 97}, {97, 1}, {61, 53}}, {2, 9, 65}, definition);
    });
    Operator op;
    compare_with_definition(op, scaled(10000));
    check_contents(op, {{1, 1}, {2, 2}, {13, 7}, {shortened(211, 3), shortened(199, 3)}},
                   {2, 8, 64, 256}, definition);
    for (const Sizes &sizes : {narrow_sizes(), small_squares, squares})
        check_sizes(op, some_of(sizes), all_contents, definition);
    if (!short_run())
        check_sizes(op, large_squares, few_colors, definition);
    if (full_run())
        check_sizes(op, vast_squares, few_colors, definition);
    check_chosen(op);
    check_warm_start(op);
    check_scenes(op);
    check_laws(op);
    check_repeats(op);
    check_large(op, Definition());
    check_threads();
    check_pictures(op);
    check_photo_colors();
    with_threads(2, [] {
        check_scratch(GPV_BACKEND_CPU, Place::host, false, {114, 317, 1029, 2914});
        check_scratch(GPV_BACKEND_CPU, Place::host, true, {274, 477, 1189, 3074});
    });
    if (full_run())
        check_huge(op);
#ifdef HAVE_OPENCV
    compare_with_opencv(op, 200);
#else
    std::printf("OpenCV: not installed, not compared\n");
#endif
}

} // namespace

int main(int argc, char **argv) {
#ifdef HAVE_CUDA
    return run_program({"kmeans", check, check_cuda, benchmark_cpu, benchmark_gpu, check_times},
                       argc, argv);
#else
    return run_program({"kmeans", check, nullptr, benchmark_cpu, nullptr, check_times}, argc, argv);
#endif
}
