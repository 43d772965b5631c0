// SPDX-License-Identifier: BSD-2-Clause
// SIFT against a reference that shares no code with the library (sift_definition.hpp), and the CUDA
// backend against the CPU backend, byte by byte. With --bench: times beside OpenCV.
#include "patterns.hpp"
#include "sift_definition.hpp"

#include <limits>

#ifdef HAVE_OPENCV_FEATURES
#    include <opencv2/core.hpp>
#    include <opencv2/features2d.hpp>
#endif

using namespace parity;

namespace {

// ---- contents -----------------------------------------------------------------------

struct Content {
    const char *name;
    /// Whether it has pixels at equal distances on purpose, so that rounding decides.
    bool ties;
    int (*grey)(std::uint64_t seed, int x, int y);

    Grey operator()(std::uint64_t seed) const {
        return [grey = grey, seed](int x, int y) { return grey(seed, x, y); };
    }
};

/// Light at scales from 2^3 to 2^most.
int cloud(std::uint64_t seed, int maximum, int x, int y) {
    int sum = 0;
    for (int level = 2; level <= maximum; level++)
        sum += light(seed, level, x, y) * (1 << level);
    return 128 + sum / (3 << maximum);
}

/// Blobs, dark and bright, one in each cell of 12 pixels.
double blobs(std::uint64_t seed, int x, int y) {
    double level = 128;
    for (int row = y / 12 - 2; row <= y / 12 + 2; row++)
        for (int column = x / 12 - 2; column <= x / 12 + 2; column++) {
            const std::uint32_t bits = pixel_hash(seed, column, row);
            const double u = x - 12 * column - (bits & 15), v = y - 12 * row - (bits >> 4 & 15);
            const double sigma = 1 + (bits >> 8 & 255) / 64.0;
            level += (static_cast<int>(bits >> 16 & 255) - 128) *
                     std::exp(-(u * u + v * v) / (2 * sigma * sigma));
        }
    return level;
}

/// 15 bits for each of some signs, of 5 rows of 3.
int glyphs(std::uint64_t seed, int x, int y) {
    constexpr int signs[8] = {0x7B6F, 0x2C97, 0x73E7, 0x5BC9, 0x79CF, 0x7252, 0x5AAD, 0x7BEF};
    const int column = x / 8, row = y / 14;
    const int u = x % 8 / 2, v = y % 14 / 2;
    const std::uint32_t bits = pixel_hash(seed, column, row);
    const bool ink = u < 3 && v < 5 && bits % 5 && signs[bits >> 8 & 7] >> (3 * v + u) & 1;
    return ink ? 30 : 220;
}

const std::vector<Content> contents = {
    {"clouds", false,
     [](std::uint64_t seed, int x, int y) {
         return grey_level(cloud(seed, 6, x, y) + gaussian_noise(pixel_hash(seed, x, y)));
     }},
    {"smooth noise", false,
     [](std::uint64_t seed, int x, int y) { return grey_level(cloud(seed, 3, x, y)); }},
    {"noise", false,
     [](std::uint64_t seed, int x, int y) {
         return static_cast<int>(pixel_hash(seed, x, y) & 255);
     }},
    {"blobs", false,
     [](std::uint64_t seed, int x, int y) { return grey_level(blobs(seed, x, y)); }},
    {"checkerboard", false, // turned, of squares that differ
     [](std::uint64_t seed, int x, int y) {
         const int u = (13 * x + 5 * y + 100000) / 128, v = (13 * y - 5 * x + 100000) / 128;
         const std::uint32_t bits = pixel_hash(seed, u, v);
         return static_cast<int>((u + v) % 2 ? 20 + bits % 80 : 150 + bits % 90) +
                gaussian_noise(pixel_hash(~seed, x, y));
     }},
    {"lines", false,
     [](std::uint64_t seed, int x, int y) {
         const int at = x * static_cast<int>(3 + seed % 7) + y * static_cast<int>(seed / 7 % 11);
         return (at / 16 % 5 < 2 ? 60 : 190) + 2 * gaussian_noise(pixel_hash(seed, x, y));
     }},
    {"gradient", false,
     [](std::uint64_t seed, int x, int y) {
         return grey_level((x * static_cast<int>(seed % 5) + 2 * y) % 400 / 2.0 + 20 +
                           3 * gaussian_noise(pixel_hash(seed, x / 2, y / 2)));
     }},
    {"text", false,
     [](std::uint64_t seed, int x, int y) {
         return glyphs(seed, x, y) + gaussian_noise(pixel_hash(seed, x, y));
     }},
    {"flat", true, [](std::uint64_t seed, int, int) { return static_cast<int>(seed % 256); }},
    {"chess", true,
     [](std::uint64_t seed, int x, int y) {
         const int side = static_cast<int>(1 + seed % 9);
         return (x / side + y / side) % 2 ? 230 : 25;
     }},
    {"dots", true,
     [](std::uint64_t seed, int x, int y) {
         const int step = static_cast<int>(5 + seed % 20);
         return x % step == step / 2 && y % step == step / 2 ? 255 : 0;
     }},
    {"crisp text", true, glyphs},
    {"step", true,
     [](std::uint64_t seed, int x, int) { return x < static_cast<int>(seed % 64) ? 40 : 200; }},
    {"extremes", true,
     [](std::uint64_t seed, int x, int y) { return pixel_hash(seed, x / 3, y / 3) & 1 ? 255 : 0; }},
};

std::uint64_t random_seed() {
    return static_cast<std::uint64_t>(random_int(0, 1 << 30));
}

/// Of the pictures for which it was found how much may be unclear. check_formats() has all.
const std::vector<gpv_format> known_formats = {GPV_FORMAT_GRAY8, GPV_FORMAT_RGB8,  GPV_FORMAT_BGR8,
                                               GPV_FORMAT_RGBA8, GPV_FORMAT_BGRA8, GPV_FORMAT_RGBX8,
                                               GPV_FORMAT_BGRX8, GPV_FORMAT_NV12,  GPV_FORMAT_I420};

gpv_format random_format() {
    return random_int(0, 2) ? gpv_format{GPV_FORMAT_GRAY8} : random_of(known_formats);
}

/// Parts of it are 0.
GuardedImage random_mask(int width, int height) {
    GuardedImage mask = random_image(GPV_FORMAT_GRAY8, width, height);
    const std::uint64_t seed = random_seed();
    const int cell = random_int(1, 20), part = random_int(0, 4);
    paint_grey(mask, [=](int x, int y) {
        const std::uint32_t bits = pixel_hash(seed, x / cell, y / cell);
        return static_cast<int>(bits % 4) < part ? static_cast<int>(1 + (bits >> 8) % 255) : 0;
    });
    return mask;
}

/// Any that are allowed. As a whole number decides what an extremum is, none is near the next one.
gpv_sift_params random_params() {
    gpv_sift_params p = sift_params();
    p.octave_layers = random_int(0, 1) ? 3 : random_int(1, 8);
    do
        p.contrast_threshold =
            random_int(0, 2) ? 0.04f : static_cast<float>(random_int(30, 1000)) / 10007;
    while (std::fabs(std::remainder(0.5 * double(p.contrast_threshold) / p.octave_layers * 255,
                                    1)) < 1e-3);
    p.edge_threshold = random_of<float>({10, 10, 10, 1.5f, 4, 30, 1e4f});
    p.sigma = random_int(0, 2) ? 1.6f : static_cast<float>(random_int(50, 400)) / 100;
    p.upsample = static_cast<std::uint32_t>(random_int(0, 1));
    p.upright = random_int(0, 4) == 0;
    p.root_sift = random_int(0, 3) == 0;
    p.descriptor_type =
        random_int(0, 2) ? GPV_SIFT_DESCRIPTOR_TYPE_U8 : GPV_SIFT_DESCRIPTOR_TYPE_F32;
    p.octaves = random_int(0, 3) ? 0 : random_int(1, 6);
    return p;
}

Wish random_wish() {
    Wish wish;
    wish.stride = random_of<std::uint32_t>({0, 0, 24, 28, 32, 64, 100});
    wish.on_device = random_int(0, 1);
    wish.offset = 4 * random_int(0, 5);
    wish.result = random_int(0, 1);
    return wish;
}

// ---- against the definition ---------------------------------------------------------

// How far the library may be off beside what the definition says of a feature: about three times
// what has been seen, of x and y in pixels of the octave. A direction that is rounded to the other
// of two bins turns a keypoint by up to a degree, which the definition foresees.
// On top, a coordinate is a float.
constexpr double place_bound = 1e-5, sigma_bound = 1e-5, response_bound = 1e-6;
constexpr double angle_bound = 1e-4; ///< degrees
double rounding(double coordinate) {
    return std::fabs(coordinate) * std::numeric_limits<float>::epsilon();
}
constexpr double float_bound = 1e-4; ///< of a number of a descriptor, GPV_SIFT_DESCRIPTOR_TYPE_F32
constexpr double byte_bound = 1.01 / 512;

/// Greatest deviation of a number, and beyond what was to be expected.
struct Worst {
    double off = 0, beyond = 0;

    void add(double o, double b) {
        off = std::max(off, o);
        beyond = std::max(beyond, b);
    }
};

/// What a comparison has seen.
struct Tally {
    int pictures = 0, features = 0, unclear = 0, found = 0, noise = 0, blurred = 0;
    Worst place, sigma, angle, response, floats, bytes;

    void add(const Tally &t) {
        pictures += t.pictures, features += t.features, unclear += t.unclear;
        found += t.found, noise += t.noise, blurred += t.blurred;
        for (const auto &number : {&Tally::place, &Tally::sigma, &Tally::angle, &Tally::response,
                                   &Tally::floats, &Tally::bytes})
            (this->*number).add((t.*number).off, (t.*number).beyond);
    }
    double unclear_part() const { return unclear / std::max(1.0 * features, 1.0); }
    /// 4 % at most, and three times what chance adds where there are few features.
    bool few_are_unclear() const {
        return unclear <= 0.04 * features + 3 * std::sqrt(0.04 * features);
    }
    void print(const char *name) const {
        std::printf("%-14s %d pictures: %d keypoints of %d defined, %d unclear (%.2f %%), %d in "
                    "noise, %d beside a blur\n",
                    name, pictures, found, features, unclear, 100 * unclear_part(), noise, blurred);
    }
    void print_numbers() const {
        std::printf(
            "off by at most, and beyond what was to be expected: %.1e (%.1e) px, sigma %.1e "
            "(%.1e), response %.1e, %.2g (%.2g) degrees, floats %.1e, bytes %.1e\n",
            place.off, place.beyond, sigma.off, sigma.beyond, response.off, angle.off, angle.beyond,
            floats.off, bytes.off);
    }
};

/// One picture.
class Comparison {
  public:
    Comparison(const gpv_sift_params &p, const GuardedImage &src, const GuardedImage *mask,
               const Features &got)
        : p_(p), what_(text_of(p, src)), definition_(src, p, mask), got_(got),
          taken_(definition_.features().size()) {
        tally_.pictures = 1;
        tally_.found = static_cast<int>(got.keypoints.size());
        for (std::size_t i = 0; i < definition_.features().size(); i++)
            by_pixel_[key(definition_.features()[i])].push_back(i);
        check_order();
        for (std::size_t i = 0; i < got.keypoints.size(); i++)
            check_keypoint(i);
        for (std::size_t i = 0; i < taken_.size(); i++) {
            const Feature &f = definition_.features()[i];
            tally_.features++;
            tally_.unclear += !f.clear || f.tied;
            if (f.clear && !f.tied && !taken_[i])
                fatal(what_ + ": not found is " + text(f));
        }
    }
    const Tally &tally() const { return tally_; }

  private:
    using Key = std::array<int, 4>;
    static Key key(const Feature &f) {
        return {f.patch.octave, f.patch.layer, f.patch.y, f.patch.x};
    }
    static std::string text(const Feature &f) {
        char text[256];
        std::snprintf(
            text, sizeof text,
            "octave %d layer %d pixel (%d, %d) bin %d: (%.6f, %.6f) sigma %.6f angle %.5f "
            "+- %.5f response %.8g, place +- %.2g",
            f.patch.octave, f.patch.layer, f.patch.x, f.patch.y, f.bin, f.x, f.y, f.sigma,
            f.patch.angle, f.angle_error, f.response, f.error);
        return text;
    }
    [[noreturn]] void wrong(const gpv_sift_keypoint &k, const std::string &why) const {
        fatal(what_ + ": " + text_of(k) + ": " + why);
    }
    static double turned(double a, double b) { return std::fabs(std::remainder(a - b, 360)); }

    void check_order() const {
        for (std::size_t i = 1; i < got_.keypoints.size(); i++)
            if (!(got_.keypoints[i - 1].response >= got_.keypoints[i].response))
                wrong(got_.keypoints[i], "has more response than the one before");
    }
    /// Octave, layer and the nearest pixels of a keypoint.
    template <class F>
    void each_pixel(const gpv_sift_keypoint &k, F f) const {
        const int octave = octave_of(k, p_), layer = layer_of(k);
        const double pixel = octave_pixel(octave, p_), corner = first_corner(p_);
        const int column = static_cast<int>((double(k.x) + corner) / pixel);
        const int row = static_cast<int>((double(k.y) + corner) / pixel);
        for (int y = row - 1; y <= row + 1; y++)
            for (int x = column - 1; x <= column + 1; x++)
                f(octave, layer, y, x);
    }
    /// How far beyond what may be, whether not clear, and how far.
    using Distance = std::tuple<double, bool, double>;
    static constexpr Distance far{INFINITY, true, INFINITY};
    Distance distance(const gpv_sift_keypoint &k, const Feature &f) const {
        const double pixel = octave_pixel(f.patch.octave, p_);
        const double off = std::hypot(f.x - double(k.x), f.y - double(k.y)) / pixel;
        const double turn = p_.upright ? 0 : turned(double(k.angle), f.patch.angle);
        const double bound = 2 * f.error + 1e-4 + std::hypot(rounding(f.x), rounding(f.y)) / pixel;
        return {std::max(off - bound, 0.0) + std::max(turn - f.angle_error - angle_bound, 0.0),
                !f.clear, off + turn};
    }
    /// The feature that a keypoint is, of those not taken: the nearest; -1 if there is none.
    std::pair<int, Distance> find(const gpv_sift_keypoint &k) const {
        std::pair<int, Distance> best{-1, far};
        each_pixel(k, [&](int octave, int layer, int y, int x) {
            const auto at = by_pixel_.find({octave, layer, y, x});
            if (at == by_pixel_.end())
                return;
            for (const std::size_t i : at->second) {
                const Distance now = distance(k, definition_.features()[i]);
                if (!taken_[i] && now < best.second)
                    best = {static_cast<int>(i), now};
            }
        });
        return best;
    }
    /// The same, of what would be there if a candidate led there.
    std::pair<Feature, Distance> find_led(const gpv_sift_keypoint &k) const {
        std::pair<Feature, Distance> best{{}, far};
        each_pixel(k, [&](int octave, int layer, int y, int x) {
            for (const Feature &f : definition_.features_at(octave, layer, y, x))
                if (const Distance now = distance(k, f); now < best.second)
                    best = {f, now};
        });
        return best;
    }
    void check_keypoint(std::size_t number) {
        const gpv_sift_keypoint &k = got_.keypoints[number];
        if (!(k.angle >= 0 && k.angle < 360) || (p_.upright && k.angle != 0))
            wrong(k, "its angle is none");
        const auto [best, off] = find(k);
        if (best >= 0 && std::get<0>(off) == 0) {
            taken_[static_cast<std::size_t>(best)] = true;
            check_numbers(number, definition_.features()[static_cast<std::size_t>(best)]);
            return;
        }
        // Where levels are flat, extrema are the rounding of theirs.
        if (double(k.response) < Definition::min_response) {
            tally_.noise++;
            return;
        }
        const int octave = octave_of(k, p_);
        const double pixel = octave_pixel(octave, p_), corner = first_corner(p_);
        if (!definition_.is_blurred(octave, (double(k.x) + corner) / pixel,
                                    (double(k.y) + corner) / pixel))
            wrong(k, best < 0 ? "is none of the definition's"
                              : "is not " +
                                    text(definition_.features()[static_cast<std::size_t>(best)]));
        const auto [led, beside] = find_led(k);
        if (std::get<0>(beside) > 0)
            wrong(k, "is no extremum");
        check_numbers(number, led);
        tally_.blurred++;
    }
    void check_numbers(std::size_t number, const Feature &f) {
        const gpv_sift_keypoint &k = got_.keypoints[number];
        const double pixel = octave_pixel(f.patch.octave, p_);
        if (!f.clear)
            return;
        const auto within = [&](double is, double want, double bound, double error, Worst &worst,
                                const char *name) {
            const double off = std::fabs(is - want);
            if (!(off <= bound + error))
                wrong(k, std::string(name) + " should be that of " + text(f));
            worst.add(off, off - error);
        };
        within(double(k.x) / pixel, f.x / pixel, place_bound + rounding(f.x) / pixel, f.error,
               tally_.place, "x");
        within(double(k.y) / pixel, f.y / pixel, place_bound + rounding(f.y) / pixel, f.error,
               tally_.place, "y");
        within(double(k.sigma) / f.sigma, 1, sigma_bound, f.error / p_.octave_layers, tally_.sigma,
               "sigma");
        within(double(k.response), f.response, response_bound, 0, tally_.response, "response");
        if (!p_.upright)
            within(turned(double(k.angle), f.patch.angle), 0, angle_bound, f.angle_error,
                   tally_.angle, "angle");
        const int place = k.octave >> 16 & 255;
        if (k.octave >> 24 || std::fabs(place - (f.ds + 0.5) * 255) > 0.6 + 255 * f.error)
            wrong(k, "its octave should be that of " + text(f));
        if (!got_.descriptors.empty())
            check_descriptor(number, f);
    }
    void check_descriptor(std::size_t number, const Feature &f) {
        const gpv_sift_keypoint &k = got_.keypoints[number];
        // Its middle is the pixel nearest to a place that is a float: near half way, either of two.
        const auto beside = [&](int pixel, double offset) {
            const bool half_way = 0.5 - std::fabs(offset) <= f.error + rounding(pixel);
            return !half_way ? 0 : offset > 0 ? 1 : -1;
        };
        const int right = beside(f.patch.x, f.dx), below = beside(f.patch.y, f.dy);
        double off = INFINITY;
        for (const int dx : right ? std::vector{0, right} : std::vector{0})
            for (const int dy : below ? std::vector{0, below} : std::vector{0}) {
                Patch patch = f.patch;
                patch.x += dx, patch.y += dy;
                patch.angle = double(k.angle);
                Described want = described(definition_.octaves(), patch);
                want.error += f.error;
                off = std::min(off, deviation(got_.descriptor(number, p_), want, p_));
            }
        if (!(off <=
              (p_.descriptor_type == GPV_SIFT_DESCRIPTOR_TYPE_U8 ? byte_bound : float_bound)))
            wrong(k, "its descriptor is off by " + std::to_string(off));
        (p_.descriptor_type == GPV_SIFT_DESCRIPTOR_TYPE_U8 ? tally_.bytes : tally_.floats)
            .add(off, off);
    }

    const gpv_sift_params &p_;
    std::string what_;
    Definition definition_;
    const Features &got_;
    std::vector<bool> taken_;
    std::map<Key, std::vector<std::size_t>> by_pixel_;
    Tally tally_;
};

int random_side(int largest) {
    return random_int(0, 3) ? random_int(11, std::min(40, largest)) : random_int(1, largest);
}

/// Pictures of every content, any size and any parameters.
void compare_with_definition(Operator &op, int count, int largest) {
    std::map<std::string, Tally> tallies;
    Tally clear, ties;
    for (int i = 0; i < count; i++) {
        const Content &content = contents[static_cast<std::size_t>(i) % contents.size()];
        const int width = i % 8 ? random_side(largest) : random_int(largest / 2, largest);
        const int height = i % 8 ? random_side(largest) : random_int(largest / 2, largest);
        GuardedImage src = random_image(random_format(), width, height);
        paint_grey(src, content(random_seed()));
        const gpv_sift_params p = random_params();
        const GuardedImage mask = random_mask(width, height);
        const GuardedImage *const used = random_int(0, 4) ? nullptr : &mask;
        const Features got = op.run(p, src, used, random_wish());
        expect(got.dropped == 0, "there is room for all");
        const Tally tally = Comparison(p, src, used, got).tally();
        tallies[content.name].add(tally);
        (content.ties ? ties : clear).add(tally);
    }

    for (const auto &[name, tally] : tallies)
        tally.print(name.c_str());
    clear.print("without ties");
    ties.print("with ties");
    expect(clear.few_are_unclear(), "few features are unclear");
    clear.add(ties);
    clear.print_numbers();
}

/// Contents by turns, with and without `upsample`; the largest, which the definition has no memory
/// for otherwise, without.
template <class F>
void each_size(const Sizes &sizes, F f) {
    std::size_t number = 0;
    for (const auto &[width, height] : sizes) {
        const Content &content = contents[number++ % 8]; // of those without ties
        const std::uint64_t seed = random_seed();
        const GuardedImage src =
            grey_picture(width, height, content(seed), random_of(known_formats));
        const std::int64_t pixels = std::int64_t{width} * height;
        for (const std::uint32_t upsample : {0u, 1u}) {
            if (upsample && pixels > 20'000'000)
                continue;
            gpv_sift_params p = sift_params();
            p.upsample = upsample;
            Wish wish; // twice as many keypoints as any of the contents has
            wish.room = static_cast<int>(pixels * (upsample ? 4 : 1) / 32 + 100);
            f(content, p, src, wish);
        }
    }
    std::printf("sizes: %zu as they should be, %dx%d the last\n", sizes.size(), sizes.back()[0],
                sizes.back()[1]);
}

/// Of round things, which blobs are, no direction is the greatest, so that more are unclear.
double max_unclear(const Content &content) {
    return content.name == std::string("blobs") ? 0.06 : 0.04;
}

/// Few features are unclear: of each picture that has many, and of the others together.
void check_sizes(Operator &op, const Sizes &sizes) {
    Tally all, others;
    double maximum = 0;
    each_size(sizes, [&](const Content &content, const gpv_sift_params &p, const GuardedImage &src,
                         const Wish &wish) {
        const Features got = op.run(p, src, nullptr, wish);
        expect(got.dropped == 0, "there is room for all");
        const Tally tally = Comparison(p, src, nullptr, got).tally();
        all.add(tally);
        if (tally.features <= 500) {
            others.add(tally);
            return;
        }
        maximum = std::max(maximum, tally.unclear_part());
        if (tally.unclear_part() > max_unclear(content)) {
            tally.print(content.name);
            fatal("too many features are unclear, " + text_of(p, src));
        }
    });
    all.print("sizes");
    all.print_numbers();
    std::printf("unclear: %.2f %% at most where there are many\n", 100 * maximum);
    expect(others.few_are_unclear(), "few features are unclear");
}

/// Of two values, where rounding may decide, and noise. Most have no keypoint; those of noise are
/// nearly all clear.
void check_patterns(Operator &op, int width, int height) {
    Tally all;
    for (const Pattern &pattern : all_patterns())
        for (const std::uint32_t upsample : {0u, 1u}) {
            gpv_sift_params p = sift_params();
            p.upsample = upsample;
            const GuardedImage src = pattern.draw(width, height);
            all.add(Comparison(p, src, nullptr, op.run(p, src)).tally());
        }
    all.print("patterns");
    expect(all.features - all.unclear >= 600, "many features of patterns are clear");
}

// ---- given keypoints ----------------------------------------------------------------

float random_float(double low, double high) {
    return static_cast<float>(low + (high - low) * random_int(0, 1 << 24) / (1 << 24));
}

/// In and round the picture, of any scale; some that cannot be described.
std::vector<gpv_sift_keypoint> random_keypoints(int count, int width, int height, bool garbage) {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    constexpr float inf = std::numeric_limits<float>::infinity();
    const std::vector<float> odd = {nan,   -nan,   inf,     -inf,  0.0f,
                                    -0.0f, 1e-38f, -1e-38f, 1e30f, -1e30f};
    std::vector<gpv_sift_keypoint> result;
    for (int i = 0; i < count; i++) {
        gpv_sift_keypoint k;
        std::memset(&k, random_int(0, 255), sizeof k);
        k.x = random_int(0, 3) ? random_float(-1, width + 1)
                               : static_cast<float>(random_int(-1, width));
        k.y = random_int(0, 3) ? random_float(-1, height + 1)
                               : static_cast<float>(random_int(-1, height));
        k.sigma = static_cast<float>(std::exp2(double(random_float(-2, 7))));
        k.angle = random_int(0, 3)
                      ? random_float(0, 360)
                      : random_of<float>({0, 90, 180, -45, 359.99f, 360, 720.5f, -1000});
        if (garbage && random_int(0, 2) == 0)
            (&k.x)[random_int(0, 3)] = random_of(odd);
        result.push_back(k);
    }
    return result;
}

bool is_finite(const gpv_sift_keypoint &k) {
    return std::isfinite(k.x) && std::isfinite(k.y) && std::isfinite(k.sigma) &&
           std::isfinite(k.angle);
}

/// Descriptors are of length 1 or 0, and numbers.
void expect_length(const std::uint8_t *descriptor, const gpv_sift_params &p,
                   const std::string &what) {
    double squares = 0;
    for (std::size_t i = 0; i < GPV_SIFT_DESCRIPTOR_LENGTH; i++) {
        float number = descriptor[i] / 512.0f;
        if (p.descriptor_type == GPV_SIFT_DESCRIPTOR_TYPE_F32)
            std::memcpy(&number, descriptor + 4 * i, 4);
        expect(number >= 0 && number <= 1.0001f, "a descriptor has no such number, " + what);
        squares += double(number) * double(number);
    }
    if (p.descriptor_type == GPV_SIFT_DESCRIPTOR_TYPE_F32)
        expect(squares == 0 || std::fabs(squares - 1) < 1e-5, "a descriptor has length 1, " + what);
}

void compare_described(Operator &op, int count, int largest) {
    int known = 0, close = 0, none = 0;
    Worst floats, bytes;
    for (int i = 0; i < count; i++) {
        const int width = random_side(largest), height = random_side(largest);
        GuardedImage src = random_image(random_format(), width, height);
        paint_grey(src, contents[static_cast<std::size_t>(i) % contents.size()](random_seed()));
        const gpv_sift_params p = random_params();
        const std::vector<Octave> octaves = scale_space(src, p, 0);
        const std::vector<gpv_sift_keypoint> keypoints =
            random_keypoints(i % 10 ? random_int(1, 30) : 0, width, height, i % 3 == 0);
        const std::vector<std::uint8_t> got = op.describe(p, src, keypoints, random_wish());
        for (std::size_t k = 0; k < keypoints.size(); k++) {
            const std::string what = text_of(p, src) + ": " + text_of(keypoints[k]);
            const std::uint8_t *descriptor = &got[k * descriptor_bytes(p)];
            expect_length(descriptor, p, what);
            const Given want = given(keypoints[k], octaves, p, *src.view());
            // A direction of many turns is not exact, and of a tiny scale one pixel counts.
            if (is_finite(keypoints[k]) && (!want.known || std::fabs(keypoints[k].angle) > 2000 ||
                                            (!want.none && want.patch.scale < 0.1))) {
                close++;
                continue;
            }
            if (want.none) {
                none++;
                expect(std::all_of(descriptor, descriptor + descriptor_bytes(p),
                                   [](auto byte) { return byte == 0; }),
                       "what cannot be described is 0, " + what);
                continue;
            }
            const Described numbers = described(octaves, want.patch);
            if (numbers.error > 0.05) {
                close++;
                continue;
            }
            known++;
            const double off = deviation(descriptor, numbers, p);
            if (!(off <=
                  (p.descriptor_type == GPV_SIFT_DESCRIPTOR_TYPE_U8 ? byte_bound : float_bound)))
                fatal(what + ": its descriptor is off by " + std::to_string(off) + " +- " +
                      std::to_string(numbers.error) + " " +
                      contents[static_cast<std::size_t>(i) % contents.size()].name);
            (p.descriptor_type == GPV_SIFT_DESCRIPTOR_TYPE_U8 ? bytes : floats).add(off, off);
        }
    }
    std::printf(
        "given keypoints: %d as defined (floats to %.1e, bytes to %.1e), %d of none, %d not "
        "sure\n",
        known, floats.off, bytes.off, none, close);
}

// ---- laws ---------------------------------------------------------------------------

void expect_same(const Features &got, const Features &want, const gpv_sift_params &p,
                 const std::string &what) {
    const auto differ = [&](const std::string &name, const std::string &is,
                            const std::string &other) {
        fatal(what + ": " + name + " is " + is + ", want " + other);
    };
    if (got.count != want.count)
        differ("count", std::to_string(got.count), std::to_string(want.count));
    if (got.dropped != want.dropped)
        differ("dropped", std::to_string(got.dropped), std::to_string(want.dropped));
    for (std::size_t i = 0; i < want.keypoints.size(); i++)
        if (!same(got.keypoints[i], want.keypoints[i]))
            differ("keypoint " + std::to_string(i), text_of(got.keypoints[i]),
                   text_of(want.keypoints[i]));
    for (std::size_t i = 0; i < want.descriptors.size(); i++)
        if (got.descriptors[i] != want.descriptors[i])
            differ("descriptor " + std::to_string(i / descriptor_bytes(p)) + " byte " +
                       std::to_string(i % descriptor_bytes(p)),
                   std::to_string(got.descriptors[i]), std::to_string(want.descriptors[i]));
    expect(got.keypoints.size() == want.keypoints.size() &&
               got.descriptors.size() == want.descriptors.size(),
           "as many are written, " + what);
}

/// A picture has the features of its luma, of 16 bits of the upper ones.
void check_formats(Operator &op) {
    for (const gpv_format format : picture_formats)
        for (const int side : {61, 90}) {
            GuardedImage src = random_image(format, side + 1, side);
            paint_grey(src, contents[0](random_seed()));
            const Plane luma = luma_of(src);
            const GuardedImage grey = grey_picture(
                side + 1, side, [&](int x, int y) { return static_cast<int>(luma(x, y)); });
            const gpv_sift_params p = sift_params();
            expect_same(op.run(p, src, nullptr, {}), op.run(p, grey, nullptr, {}), p,
                        "format " + std::to_string(format));
        }
    std::printf("formats: %zu as their luma\n", picture_formats.size());
}

/// Those of the features that f(keypoint) holds for.
template <class F>
Features chosen(const Features &all, const gpv_sift_params &p, F f) {
    Features result;
    for (std::size_t i = 0; i < all.keypoints.size(); i++)
        if (f(all.keypoints[i])) {
            result.keypoints.push_back(all.keypoints[i]);
            const std::uint8_t *descriptor = all.descriptor(i, p);
            result.descriptors.insert(result.descriptors.end(), descriptor,
                                      descriptor + descriptor_bytes(p));
        }
    result.count = static_cast<int>(result.keypoints.size());
    return result;
}

/// Octave, layer, row, column and angle, of keypoints with the same response in this order.
std::tuple<int, int, int, int, float> order_of(const gpv_sift_keypoint &k,
                                               const gpv_sift_params &p) {
    const int octave = octave_of(k, p);
    const double pixel = octave_pixel(octave, p);
    const auto nearest = [](double x) { return static_cast<int>(std::floor(x + 0.5)); };
    return {octave, layer_of(k), nearest((double(k.y) + first_corner(p)) / pixel),
            nearest((double(k.x) + first_corner(p)) / pixel), k.angle};
}

void check_laws_of(Operator &op, const GuardedImage &src, const GuardedImage &mask,
                   gpv_sift_params p) {
    const std::string what = text_of(p, src);
    const Features all = op.run(p, src);
    for (std::size_t i = 1; i < all.keypoints.size(); i++)
        expect(all.keypoints[i - 1].response != all.keypoints[i].response ||
                   order_of(all.keypoints[i - 1], p) < order_of(all.keypoints[i], p),
               "of equal response they come in order, " + what);
    for (std::size_t i = 0; i < all.keypoints.size(); i++)
        expect_length(all.descriptor(i, p), p, what);

    // What limits cut off is the end.
    for (const int limit : {1, all.count / 3, all.count - 1, all.count, all.count + 1}) {
        if (limit < 1)
            continue;
        Features want = all;
        want.count = std::min(limit, all.count);
        want.dropped = all.count - want.count;
        want.keypoints.resize(static_cast<std::size_t>(want.count));
        want.descriptors.resize(want.keypoints.size() * descriptor_bytes(p));
        Wish wish;
        wish.room = limit;
        expect_same(op.run(p, src, nullptr, wish), want, p, "little room, " + what);
        gpv_sift_params limited = p;
        limited.max_features = limit;
        expect_same(op.run(limited, src), want, p, "max_features, " + what);
        wish.descriptors = false;
        want.descriptors.clear();
        expect_same(op.run(p, src, nullptr, wish), want, p, "little room, no descriptors, " + what);
        wish.room = 0;
        limited.max_features = limit;
        want.keypoints.clear();
        expect_same(op.run(limited, src, nullptr, wish), want, p, "counted alone, " + what);
    }
    gpv_sift_params other = p;
    for (int octaves = 1; octaves < 4; octaves++) {
        other.octaves = octaves;
        expect_same(op.run(other, src),
                    chosen(all, p, [&](auto &k) { return octave_of(k, p) < octaves; }), p,
                    "octaves, " + what);
    }
    expect_same(op.run(p, src, &mask),
                chosen(all, p,
                       [&](auto &k) {
                           const int x = static_cast<int>(std::floor(k.x + 0.5f));
                           const int y = static_cast<int>(std::floor(k.y + 0.5f));
                           const gpv_image &view = *mask.view();
                           return mask.row(
                                      0, std::clamp(y, 0,
                                                    view.height -
                                                        1))[std::clamp(x, 0, view.width - 1)] != 0;
                       }),
                p, "mask, " + what);

    // What it has found, given back. At the ends of a layer rounding may choose the next.
    const std::vector<std::uint8_t> again = op.describe(p, src, all.keypoints);
    for (std::size_t i = 0; i < all.keypoints.size(); i++) {
        const int place = all.keypoints[i].octave >> 16 & 255;
        expect(place == 0 || place == 255 ||
                   std::memcmp(all.descriptor(i, p), &again[i * descriptor_bytes(p)],
                               descriptor_bytes(p)) == 0,
               "what is found is described as such, " + text_of(all.keypoints[i]) + ", " + what);
    }

    // The other kind of number.
    other = p;
    other.descriptor_type = 1 - p.descriptor_type;
    const Features of_other = op.run(other, src);
    const Features &bytes = p.descriptor_type == GPV_SIFT_DESCRIPTOR_TYPE_U8 ? all : of_other;
    const Features &floats = p.descriptor_type == GPV_SIFT_DESCRIPTOR_TYPE_U8 ? of_other : all;
    expect(bytes.count == floats.count, "both types find as many, " + what);
    for (std::size_t i = 0; i < bytes.descriptors.size(); i++) {
        float number;
        std::memcpy(&number, &floats.descriptors[4 * i], 4);
        expect(bytes.descriptors[i] == 255
                   ? number > 254.49f / 512
                   : std::fabs(512 * number - bytes.descriptors[i]) <= 0.5001f,
               "bytes are the floats, rounded, " + what);
    }

    other = p;
    other.upright = 1;
    const Features upright = op.run(other, src);
    std::vector<gpv_sift_keypoint> flattened;
    for (gpv_sift_keypoint k : all.keypoints) {
        k.angle = 0;
        if (flattened.empty() || !same(flattened.back(), k))
            flattened.push_back(k);
    }
    // An extremum without any gradient round it has no orientation.
    expect(p.upright || (upright.count >= static_cast<int>(flattened.size()) &&
                         std::includes(upright.keypoints.begin(), upright.keypoints.end(),
                                       flattened.begin(), flattened.end(),
                                       [&](const gpv_sift_keypoint &a, const gpv_sift_keypoint &b) {
                                           if (a.response != b.response)
                                               return a.response > b.response;
                                           return order_of(a, p) < order_of(b, p);
                                       })),
           "upright keypoints are where others are, " + what);
}

void check_laws(Operator &op, int count, int largest) {
    for (int i = 0; i < count; i++) {
        const int width = random_int(largest / 3, largest),
                  height = random_int(largest / 3, largest);
        GuardedImage src = random_image(random_format(), width, height);
        // Fewer pictures than contents are spread over all of them.
        const std::size_t content = static_cast<std::size_t>(i) * contents.size() / count;
        paint_grey(src, contents[content](random_seed()));
        gpv_sift_params p = random_params();
        p.octaves = 0;
        check_laws_of(op, src, random_mask(width, height), p);
    }
    std::printf("laws: limits, octaves, masks, types and given keypoints hold for %d pictures\n",
                count);
}

/// A wave, whose crests are extrema of one layer: one for four pixels.
GuardedImage waves(int width, int height) {
    return grey_picture(width, height, [](int x, int y) {
        return x % 2 || y % 2 ? 128 : (x + y) / 2 % 2 ? 28 : 228;
    });
}

gpv_sift_params params_of_waves() {
    gpv_sift_params p = sift_params();
    p.upsample = 0;
    p.octaves = 1;
    p.octave_layers = 8;
    p.sigma = 0.5f;
    p.upright = 1;
    return p;
}

void check_overflow(Operator &op) {
    const gpv_sift_params p = params_of_waves();
    const GuardedImage src = waves(600, 590);
    for (const int room : {70000, 10, 0}) {
        Wish wish;
        wish.room = room;
        wish.overflow = Overflow::always;
        wish.on_device = room == 10;
        const Features features = op.run(p, src, nullptr, wish);
        expect(features.keypoints.empty() && features.dropped == 295 * 290,
               "all extrema are counted, but " + std::to_string(features.dropped));
    }
    const GuardedImage small = photograph(60, 50); // and it goes on
    op.run(sift_params(), small);
    const GuardedImage full = waves(500, 500);
    Wish wish;
    wish.room = 65536;
    const Features features = op.run(p, full, nullptr, wish);
    expect(std::abs(features.count - 245 * 245) < 1000 && features.dropped == 0,
           "as many extrema as are kept, but " + std::to_string(features.count));
    std::printf("overflow: told\n");
}

void check_small(Operator &op) {
    for (const std::uint32_t upsample : {0u, 1u})
        for (int width = 1; width <= 24; width++)
            for (int height = 1; height <= 24; height += width > 12 ? 5 : 1) {
                gpv_sift_params p = sift_params();
                p.upsample = upsample;
                p.contrast_threshold = 0.005f;
                GuardedImage src = random_image(GPV_FORMAT_GRAY8, width, height);
                paint_grey(src, contents[2](random_seed()));
                const Features got = op.run(p, src);
                const bool fits = std::min(width, height) >= (upsample ? 6 : 11);
                expect(fits || got.count == 0, "small pictures have no keypoint");
                Comparison(p, src, nullptr, got);
                gpv_sift_keypoint k{0.3f * static_cast<float>(width), 0.6f, 1.7f, 30, 1, 0};
                const std::vector<std::uint8_t> numbers = op.describe(p, src, {k});
                expect(fits || std::all_of(numbers.begin(), numbers.end(),
                                           [](auto n) { return n == 0; }),
                       "small pictures are not described");
            }
    std::printf("small: pictures from 1x1 on as defined\n");
}

void check_repeats(Operator &op) {
    gpv_sift_params p = sift_params();
    p.contrast_threshold = 0.01f;
    const GuardedImage src = photograph(321, 239, GPV_FORMAT_NV12);
    const Features want = op.run(p, src);
    const int count = shortened(100);
    for (int i = 0; i < count; i++)
        expect_same(op.run(p, src), want, p, "repeats");
    std::printf("repeats: %d equal, of %d keypoints\n", count, want.count);
}

/// What one thread finds, on any number of them; and a run after prepare allocates nothing.
void check_threads() {
    const std::vector<std::array<int, 2>> sizes = {{801, 603}, {150, 901}, {97, 61}};
    for (const auto &[width, height] : sizes)
        for (const std::uint32_t upsample : {0u, 1u}) {
            gpv_sift_params p = sift_params();
            p.upsample = upsample;
            p.contrast_threshold = 0.02f;
            const GuardedImage src = photograph(width, height, GPV_FORMAT_BGR8);
            const GuardedImage mask = random_mask(width, height);
            Features want;
            std::vector<std::uint8_t> described;
            for (const int threads : {1, 2, 3, 16})
                with_threads(threads, [&] {
                    Operator op;
                    op.prepare(p, src, true, 20000);
                    const int prepared = op.context().allocations();
                    const Features got = op.run(p, src, &mask);
                    const std::vector<std::uint8_t> numbers = op.describe(p, src, got.keypoints);
                    expect(op.context().allocations() == prepared,
                           "nothing is allocated after prepare, " + text_of(p, src));
                    if (threads == 1)
                        want = got, described = numbers;
                    expect_same(got, want, p, std::to_string(threads) + " threads");
                    expect(numbers == described,
                           std::to_string(threads) + " threads describe alike");
                });
        }
    std::printf("threads: 1, 2, 3 and 16 equal\n");
}

/// The photographs, if there are any.
void check_pictures(Operator &op) {
    int count = 0;
    for (const char *extension : {".pgm", ".ppm"})
        for (const Picture &picture : pictures(extension)) {
            const gpv_image &view = *picture.image->view();
            if (std::int64_t{view.width} * view.height > 1'000'000)
                continue;
            const gpv_sift_params p = sift_params();
            const Tally tally =
                Comparison(p, *picture.image, nullptr, op.run(p, *picture.image)).tally();
            tally.print(picture.name.c_str());
            expect(tally.few_are_unclear(), "few features are unclear");
            count++;
        }
    std::printf("pictures: %d as defined%s\n", count,
                count ? "" : "; GPV_TEST_IMAGES can name a folder of PGM and PPM files");
}

/// Pixels, in columns or rows, from a keypoint of the first octaves of a picture that is not
/// doubled to the farthest that it depends on, in the window of a descriptor of the greatest scale.
/// Its level is blurred from level 0 of its octave, which is level n of the octave before. Extrema
/// depend on one more level, but on the pixels beside them alone, and reach less.
int reach_of(const gpv_sift_params &p, int octaves) {
    const auto radius = [](double sigma, double reach) {
        return static_cast<int>(filter_of(sigma, reach).size()) - 1;
    };
    const double sigma = double(p.sigma), n = p.octave_layers;
    const int first = radius(std::sqrt(sigma * sigma - 0.25), 4),
              level_n = radius(sigma * std::sqrt(3), 3.5);
    const double scale = sigma * std::exp2((n + 0.5) / n);
    // Half the window's diagonal, and a pixel each for gradients and from the place to its pixel.
    const int window = static_cast<int>(2.5 * std::sqrt(2.0) * 3 * scale) + 2 + 2;
    const int pixel = 1 << (octaves - 1);
    return first + level_n * (2 * pixel - 1) + window * pixel;
}

/// The far corner of a square that is too large to be compared with the definition: as that corner
/// by itself, which is compared with it.
void check_corner(Operator &op, int side) {
    constexpr int part_side = 1024, octaves = 3;
    const int from = side - part_side;
    const Grey grey = contents[1](random_seed());
    const GuardedImage whole = grey_picture(side, side, grey),
                       part = grey_picture(part_side, part_side,
                                           [&](int x, int y) { return grey(from + x, from + y); });
    gpv_sift_params p = sift_params();
    p.upsample = 0;
    const Features alone = op.run(p, part);
    Comparison(p, part, nullptr, alone);
    Wish wish;
    wish.room = side / 32 * side;
    const Features all = op.run(p, whole, nullptr, wish);
    expect(all.dropped == 0, "there is room for all");

    const int reach = reach_of(p, octaves);
    const auto inner = [&](const Features &features, int left) {
        return chosen(features, p, [&](const gpv_sift_keypoint &k) {
            return octave_of(k, p) < octaves && k.x > static_cast<float>(left + reach) &&
                   k.y > static_cast<float>(left + reach);
        });
    };
    const Features got = inner(all, from), want = inner(alone, 0);
    const std::string what = "the corner of " + text_of(p, whole);
    expect(got.count == want.count && want.count > 500, "as many keypoints, " + what);
    int other_middles = 0;
    for (std::size_t i = 0; i < want.keypoints.size(); i++) {
        gpv_sift_keypoint k = got.keypoints[i];
        const gpv_sift_keypoint &w = want.keypoints[i];
        const double x = double(k.x) - from, y = double(k.y) - from;
        expect(std::fabs(x - double(w.x)) <= rounding(side) &&
                   std::fabs(y - double(w.y)) <= rounding(side),
               "keypoints lie in the same places, " + text_of(k) + ", " + what);
        k.x = w.x, k.y = w.y;
        expect(same(k, w), "keypoints are equal, " + text_of(k) + ", " + what);
        if (std::memcmp(got.descriptor(i, p), want.descriptor(i, p), descriptor_bytes(p)) == 0)
            continue;
        // Half way between pixels the rounding of the place chooses the middle of the square.
        const double pixel = octave_pixel(octave_of(w, p), p);
        const auto half_way = [&](float at) {
            return std::fabs(std::remainder(double(at) / pixel + 0.5, 1)) <= rounding(side) / pixel;
        };
        expect(half_way(w.x) || half_way(w.y),
               "descriptors are equal, " + text_of(k) + ", " + what);
        other_middles++;
    }
    std::printf("corner of %dx%d: %d keypoints as they are without the rest, %d of them described "
                "round the pixel beside; reach %d\n",
                side, side, want.count, other_middles, reach);
    expect(other_middles <= want.count / 100, "few places are half way between pixels, " + what);
}

bool processor_has_fma() {
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_cpu_supports("fma");
#else
    return true;
#endif
}

void check_instruction_sets() {
    std::vector<GuardedImage> images;
    std::vector<gpv_sift_params> params;
    std::vector<Features> wants;
    for (int i = 0; i < 40; i++) {
        images.push_back(random_image(random_format(), random_int(11, 90), random_int(11, 90)));
        paint_grey(images.back(),
                   contents[static_cast<std::size_t>(i) % contents.size()](random_seed()));
        params.push_back(random_params());
        Operator op;
        wants.push_back(op.run(params.back(), images.back()));
    }
    each_instruction_set([&](const char *name) {
        Operator op;
        if (!std::strstr(op.context().device(), name))
            fatal(std::string("the library does not run on ") + name);
        // Those without fused operations round otherwise.
        const bool fused = std::strstr(name, "AVX") != nullptr;
        for (std::size_t i = 0; i < images.size(); i++) {
            const Features got = op.run(params[i], images[i]);
            Comparison(params[i], images[i], nullptr, got);
            if (fused && processor_has_fma())
                expect_same(got, wants[i], params[i], name);
        }
        std::printf("%s: as defined%s\n", name, fused ? ", and equal" : "");
    });
}

/// What docs/algorithms/sift.md says of a size.
struct Scratch {
    int width, height, tenths; ///< of a MiB
};

void check_scratch(gpv_backend backend, const gpv_sift_params &p,
                   const std::vector<Scratch> &documented) {
    for (const Scratch &s : documented) {
        gpv_image image;
        gpv_image_init(&image, sizeof image);
        image.format = GPV_FORMAT_GRAY8;
        image.width = s.width;
        image.height = s.height;
        Operator op(backend, backend == GPV_BACKEND_CUDA ? Place::device : Place::host);
        op.prepare(p, image, false, 0);
        const double bytes = static_cast<double>(op.context().allocated());
        expect(std::lround(bytes * 10 / (1 << 20)) == s.tenths,
               "scratch is as documented, but it is " + std::to_string(bytes / (1 << 20)) +
                   " MiB, " + text_of(p, image));
    }
}

void check_scratch_of_cpu() {
    with_threads(2, [] {
        gpv_sift_params p = sift_params();
        check_scratch(GPV_BACKEND_CPU, p,
                      {{640, 480, 511}, {1920, 1080, 3380}, {3840, 2160, 13441}});
        p.upsample = 0;
        check_scratch(GPV_BACKEND_CPU, p, {{640, 480, 205}, {1920, 1080, 856}, {3840, 2160, 3380}});
    });
    std::printf("scratch: as documented\n");
}

/// As many pixels as there can be, where there is not the memory for them.
void check_refused(gpv_backend backend) {
    const UntouchableImage src(GPV_FORMAT_GRAY8, GPV_MAX_SIDE, GPV_MAX_SIDE);
    PlacedBuffer keypoints(sizeof(gpv_sift_keypoint), GPV_BACKEND_CPU);
    Operator op(backend, Place::host, too_little), other(backend);
    const GuardedImage small = photograph(160, 120);
    for (const std::uint32_t upsample : {0u, 1u}) {
        gpv_sift_params p = sift_params();
        p.upsample = upsample;
        const Features want = other.run(p, small);
        expect_same(op.run(p, small), want, p, "before it is refused");
        const std::string what = text_of(p, *src.view());
        expect_refused(op.context(), "prepare, " + what,
                       [&] { return gpv_sift_prepare(op.op(), src.view(), nullptr, 100); });
        expect_refused(op.context(), "run, " + what, [&] {
            return gpv_sift_run(op.op(), nullptr, src.view(), nullptr, keypoints.view(), 0, nullptr,
                                nullptr);
        });
        expect_same(op.run(p, small), want, p, "after it was refused");
    }
    std::printf("refused: %dx%d in too little memory\n", GPV_MAX_SIDE, GPV_MAX_SIDE);
}

// ---- CUDA ---------------------------------------------------------------------------

#ifdef HAVE_CUDA

/// What the documentation says of GPUs that have the kernels for the usual filters, as far as there
/// is memory.
void check_scratch_of_cuda() {
    int shared = 0;
    require(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0),
            "cudaDeviceGetAttribute");
    std::size_t free = 0, total = 0;
    require(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    if (shared < 99 << 10 || free >> 30 < 16) {
        std::printf("CUDA: scratch is not compared, for it is of larger GPUs\n");
        return;
    }
    gpv_sift_params p = sift_params();
    check_scratch(GPV_BACKEND_CUDA, p,
                  {{640, 480, 438}, {1920, 1080, 2954}, {3840, 2160, 11813}, {8192, 8192, 95574}});
    p.octave_layers = 4;
    check_scratch(GPV_BACKEND_CUDA, p, {{1920, 1080, 4549}});
    p = sift_params();
    p.upsample = 0;
    check_scratch(GPV_BACKEND_CUDA, p,
                  {{640, 480, 219}, {1920, 1080, 739}, {3840, 2160, 2954}, {8192, 8192, 23894}});
    std::printf("CUDA: scratch as documented\n");
}

/// What is found, and described, beside the CPU backend; in as many cases.
class CpuComparison {
  public:
    CpuComparison(Operator &op, int largest, bool brief)
        : op_(op), largest_(largest), brief_(brief) {}

    void compare(int count) {
        // Those that have keypoints where pictures are small.
        static const std::vector<std::size_t> some = {7, 4, 1, 13, 2, 9};
        for (int i = 0; i < count; i++) {
            const auto number = static_cast<std::size_t>(i);
            compare_one(contents[brief_ ? some[number % some.size()] : number % contents.size()]);
        }
        std::printf("CUDA: %d pictures up to %d equal, with %d keypoints\n", count, largest_,
                    found_);
    }
    /// More keypoints are described than a run would keep of such a picture.
    void compare_many_given() {
        GuardedImage src = random_image(GPV_FORMAT_GRAY8, 48, 40);
        paint_grey(src, contents[0](random_seed()));
        std::vector<gpv_sift_keypoint> keypoints = random_keypoints(140000, 48, 40, true);
        for (gpv_sift_keypoint &k : keypoints)
            k.sigma = std::fmin(k.sigma, 1.0f);
        gpv_sift_params p = sift_params();
        p.upsample = 0;
        expect_equal_description(p, src, keypoints);
        std::printf("CUDA: %zu given keypoints equal\n", keypoints.size());
    }
    void compare_one(const Content &content) {
        const int minimum = brief_ ? 20 : 1;
        const int width = random_int(minimum, largest_),
                  height = random_int(minimum, largest_ * 3 / 4);
        GuardedImage src = random_image(random_of(picture_formats), width, height);
        paint_grey(src, content(random_seed()));
        gpv_sift_params p = random_params();
        p.max_features = random_int(0, 3) ? 0 : random_int(1, 100);
        if (random_int(0, 5) == 0)
            p.contrast_threshold = 0;
        if (brief_) {
            p.upsample = random_int(0, 4) == 0;
            p.octave_layers = std::min(p.octave_layers, 4);
            p.sigma = std::min(p.sigma, 2.0f);
        }
        const GuardedImage mask = random_mask(width, height);
        Wish wish = random_wish();
        if (random_int(0, 3) == 0)
            wish.room = random_int(0, 50);
        wish.descriptors = random_int(0, 3) != 0;
        wish.overflow = Overflow::perhaps; // one in ten thousand
        expect_equal_run(p, src, random_int(0, 4) ? nullptr : &mask, wish);
        expect_equal_description(
            p, src, random_keypoints(random_int(0, brief_ ? 5 : 60), width, height, true), wish);
    }
    void expect_equal_run(const gpv_sift_params &p, const GuardedImage &src,
                          const GuardedImage *mask = nullptr, const Wish &wish = {}) {
        const Features got = op_.run(p, src, mask, wish);
        expect_same(got, cpu_.run(p, src, mask, wish), p, "CUDA, " + text_of(p, src));
        found_ += got.count;
    }
    void expect_equal_description(const gpv_sift_params &p, const GuardedImage &src,
                                  const std::vector<gpv_sift_keypoint> &keypoints,
                                  const Wish &wish = {}) {
        Features got, want;
        got.descriptors = op_.describe(p, src, keypoints, wish);
        want.descriptors = cpu_.describe(p, src, keypoints, wish);
        expect_same(got, want, p, "CUDA, description, " + text_of(p, src));
    }

  private:
    Operator &op_, cpu_;
    int largest_, found_ = 0;
    bool brief_;
};

/// Outputs in CUDA memory.
class DeviceFeatures {
  public:
    explicit DeviceFeatures(int room, const gpv_sift_params &p)
        : p_(p), keypoints_(static_cast<std::size_t>(room) * sizeof(gpv_sift_keypoint)),
          numbers_(static_cast<std::size_t>(room) * descriptor_bytes(p)),
          result_(sizeof(gpv_sift_result)) {
        Values *const values[3] = {&keypoints_, &numbers_, &result_};
        for (int i = 0; i < 3; i++) {
            blocks_[i].upload(values[i]->bytes().data(), values[i]->bytes().size());
            buffers_[i] = values[i]->view(blocks_[i].data(), GPV_MEMORY_CUDA);
        }
    }
    gpv_status run(gpv_sift *op, cudaStream_t stream, const DeviceImage &src,
                   const DeviceImage *mask = nullptr) const {
        return gpv_sift_run(op, stream, src.view(), mask ? mask->view() : nullptr, &buffers_[0], 0,
                            &buffers_[1], &buffers_[2]);
    }
    /// What has been written.
    Features download() {
        Values *const values[3] = {&keypoints_, &numbers_, &result_};
        for (int i = 0; i < 3; i++)
            blocks_[i].download(values[i]->bytes().data(), values[i]->bytes().size());
        const auto result = result_.at<gpv_sift_result>(0);
        Features features{result.count, result.dropped, {}, {}};
        const auto count = static_cast<std::size_t>(result.count);
        expect(keypoints_.intact_but_for(count, sizeof(gpv_sift_keypoint),
                                         sizeof(gpv_sift_keypoint)) &&
                   numbers_.intact_but_for(count, descriptor_bytes(p_), descriptor_bytes(p_)),
               "CUDA: nothing is written beside the records");
        for (std::size_t i = 0; i < count; i++)
            features.keypoints.push_back(
                keypoints_.at<gpv_sift_keypoint>(i * sizeof(gpv_sift_keypoint)));
        features.descriptors.assign(numbers_.data(),
                                    numbers_.data() + count * descriptor_bytes(p_));
        return features;
    }
    const gpv_buffer &keypoints() const { return buffers_[0]; }
    const gpv_buffer &numbers() const { return buffers_[1]; }

  private:
    const gpv_sift_params &p_;
    Values keypoints_, numbers_, result_;
    DeviceBlock blocks_[3];
    gpv_buffer buffers_[3];
};

/// Params with which small pictures have some keypoints.
gpv_sift_params small_params(bool brief) {
    gpv_sift_params p = sift_params();
    p.upsample = !brief;
    p.contrast_threshold = 0.02f;
    return p;
}

GuardedImage small_picture(bool brief, std::uint64_t seed) {
    return grey_picture(brief ? 48 : 310, brief ? 40 : 222, contents[1](seed), GPV_FORMAT_NV12);
}

constexpr std::uint32_t ink = 0xff8010;

/// What the CPU backend makes of the picture, canaries and all.
std::vector<std::uint8_t> drawn_by_cpu(const Operator &cpu, GuardedImage &dst,
                                       gpv_draw_style style) {
    const std::vector<std::uint8_t> before = dst.bytes();
    require(gpv_draw_keypoints(cpu.op(), nullptr, dst.view(), style, ink), cpu.context(),
            "gpv_draw_keypoints");
    std::vector<std::uint8_t> drawn = dst.bytes();
    expect(drawn != before, "something is drawn");
    dst.bytes() = before;
    return drawn;
}

class StreamChecks {
  public:
    explicit StreamChecks(bool brief) : brief_(brief), p_(small_params(brief)) {
        require(gpv_sift_set_params(op_, &p_), context_, "gpv_sift_set_params");
    }

    void check_captured() {
        const GuardedImage host = small_picture(brief_, 1), mask_host = mask();
        const Features want = cpu_.run(p_, host, &mask_host);
        expect(want.count > 3, "the picture has keypoints");
        DeviceImage src, mask;
        src.upload(host);
        mask.upload(mask_host);
        DeviceFeatures to(2000, p_);
        const Enqueue enqueue = [&](cudaStream_t stream, int) {
            return to.run(op_, stream, src, &mask) == GPV_OK;
        };
        expect(!streams_.can_capture(enqueue), "a captured run that needs memory is refused");
        require(gpv_sift_prepare(op_, src.view(), mask.view(), 2000), context_, "gpv_sift_prepare");
        std::vector<gpv_sift_keypoint> records(2000);
        gpv_buffer on_host;
        gpv_buffer_init(&on_host, sizeof on_host);
        on_host.data = records.data();
        on_host.size = records.size() * sizeof records[0];
        expect(!streams_.can_capture([&](cudaStream_t stream, int) {
            return gpv_sift_run(op_, stream, src.view(), mask.view(), &on_host, 0, nullptr,
                                nullptr) == GPV_OK;
        }),
               "a captured run with keypoints in host memory is refused");
        expect(streams_.run_captured(enqueue, context_), "a prepared run can be captured");
        expect_same(to.download(), want, p_, "CUDA, captured");
        gpv_sift_result result;
        gpv_sift_result_init(&result, sizeof result);
        require(gpv_sift_wait(op_, &result), context_, "gpv_sift_wait");
        expect(result.count == 0, "a captured run has no result on the host");
        check_captured_drawing(to, src, mask);

        DeviceFeatures described(want.count, p_);
        const Enqueue describe = [&](cudaStream_t stream, int) {
            return gpv_sift_describe(op_, stream, src.view(), &to.keypoints(), 0, want.count,
                                     &described.numbers()) == GPV_OK;
        };
        expect(streams_.run_captured(describe, context_), "a prepared description can be captured");
        std::printf("CUDA: captured\n");
    }

    /// One run after the other on two streams, outputs in host memory and in CUDA memory.
    void check_two_streams() {
        const GuardedImage hosts[2] = {small_picture(brief_, 3), small_picture(brief_, 4)};
        DeviceImage src[2];
        Features want[2];
        for (int i = 0; i < 2; i++) {
            src[i].upload(hosts[i]);
            want[i] = cpu_.run(p_, hosts[i]);
        }
        for (int round = 0; round < (brief_ ? 1 : 20); round++) {
            DeviceFeatures to[2] = {DeviceFeatures(2000, p_), DeviceFeatures(2000, p_)};
            for (int i = 0; i < 2; i++)
                require(to[i].run(op_, streams_[i], src[i]), context_, "gpv_sift_run");
            GuardedImage picture = random_image(GPV_FORMAT_NV12, brief_ ? 40 : 300, 36);
            const std::vector<std::uint8_t> drawn =
                drawn_by_cpu(cpu_, picture, GPV_DRAW_STYLE_RICH);
            DeviceImage dst;
            dst.upload(picture);
            require(gpv_draw_keypoints(op_, streams_[0], dst.view(), GPV_DRAW_STYLE_RICH, ink),
                    context_, "gpv_draw_keypoints");
            gpv_sift_result result;
            gpv_sift_result_init(&result, sizeof result);
            require(gpv_sift_wait(op_, &result), context_, "gpv_sift_wait");
            expect(result.count == want[1].count, "the result is that of the last run");
            require(gpv_sift_query(op_), context_, "gpv_sift_query");
            require(gpv_stream_sync(context_, streams_[0]), context_, "gpv_stream_sync");
            for (int i = 0; i < 2; i++)
                expect_same(to[i].download(), want[i], p_, "CUDA, two streams");
            dst.download(picture);
            expect(picture.bytes() == drawn, "CUDA: drawn on another stream than that of the run");

            std::vector<gpv_sift_keypoint> records[2];
            for (int i = 0; i < 2; i++) {
                records[i].resize(2000);
                gpv_buffer into;
                gpv_buffer_init(&into, sizeof into);
                into.data = records[i].data();
                into.size = records[i].size() * sizeof records[i][0];
                require(gpv_sift_run(op_, streams_[i], src[i].view(), nullptr, &into, 0, nullptr,
                                     nullptr),
                        context_, "gpv_sift_run");
            }
            require(gpv_sift_wait(op_, nullptr), context_, "gpv_sift_wait");
            for (int i = 0; i < 2; i++)
                for (std::size_t k = 0; k < want[i].keypoints.size(); k++)
                    expect(same(records[i][k], want[i].keypoints[k]),
                           "CUDA: keypoints in host memory are those of their run");
        }
        std::printf("CUDA: two streams equal\n");
    }

  private:
    /// After a captured run, and with its keypoints on the CPU.
    void check_captured_drawing(DeviceFeatures &to, const DeviceImage &src,
                                const DeviceImage &mask) {
        GuardedImage host = random_image(GPV_FORMAT_BGRX8, brief_ ? 50 : 300, brief_ ? 39 : 230);
        const std::vector<std::uint8_t> before = host.bytes();
        const std::vector<std::uint8_t> want = drawn_by_cpu(cpu_, host, GPV_DRAW_STYLE_RICH);
        DeviceImage dst;
        dst.upload(host);
        const auto draw = [&](cudaStream_t stream, const gpv_image *onto) {
            return gpv_draw_keypoints(op_, stream, onto, GPV_DRAW_STYLE_RICH, ink) == GPV_OK;
        };
        const auto expect_picture = [&](const std::vector<std::uint8_t> &bytes, const char *what) {
            require(gpv_stream_sync(context_, streams_[0]), context_, "gpv_stream_sync");
            dst.download(host);
            expect(host.bytes() == bytes, what);
        };
        expect(draw(streams_[0], dst.view()), "a captured run leaves nothing to draw");
        expect_picture(before, "a captured run has no keypoints outside a capture");
        expect(streams_.run_captured(
                   [&](cudaStream_t stream, int) {
                       return to.run(op_, stream, src, &mask) == GPV_OK && draw(stream, dst.view());
                   },
                   context_),
               "a run and its drawing can be captured");
        expect_picture(want, "CUDA: a captured drawing is that of the CPU backend");
        expect(!streams_.can_capture([&](cudaStream_t stream, int) {
            return to.run(op_, stream, src, &mask) == GPV_OK && draw(stream, host.view());
        }),
               "a captured drawing in host memory is refused");
        require(to.run(op_, streams_[0], src, &mask), context_, "gpv_sift_run");
        expect(!streams_.can_capture(
                   [&](cudaStream_t stream, int) { return draw(stream, dst.view()); }),
               "a captured drawing of a run that was not is refused");
        expect(!streams_.can_capture([&](cudaStream_t stream, int) {
            return gpv_sift_run(op_, stream, host.view(), nullptr, nullptr, 0, nullptr, nullptr) ==
                   GPV_OK;
        }),
               "a captured run on host memory is refused");
        host.bytes() = before;
        dst.upload(host);
        expect(draw(streams_[0], dst.view()), "what was refused has not begun");
        expect_picture(want, "CUDA: what is drawn is the run before those that were refused");
    }

    GuardedImage mask() const {
        return grey_picture(brief_ ? 48 : 310, brief_ ? 40 : 222,
                            [](int x, int y) { return (x + y) % 40 < 35 ? 1 : 0; });
    }
    const bool brief_;
    const gpv_sift_params p_;
    const Streams streams_;
    const PlainContext context_{GPV_BACKEND_CUDA};
    const SiftOp op_{context_};
    Operator cpu_;
};

/// Pictures of every format and some sizes, in CUDA memory and in host memory, beside the CPU
/// backend.
void check_drawn(Place place, bool brief) {
    Operator op(GPV_BACKEND_CUDA, place), cpu;
    const gpv_sift_params p = small_params(brief);
    int count = 0;
    for (std::uint64_t round = 0; round < (brief ? 1 : 10); round++) {
        const GuardedImage src = small_picture(brief, 20 + round);
        Wish wish;
        wish.on_device = round % 2;
        wish.descriptors = false;
        expect_same(op.run(p, src, nullptr, wish), cpu.run(p, src, nullptr, wish), p,
                    "CUDA, to be drawn");
        for (const gpv_format format : picture_formats)
            for (const gpv_draw_style style : {GPV_DRAW_STYLE_POINTS, GPV_DRAW_STYLE_RICH}) {
                const int minimum = brief ? 24 : 130, largest = brief ? 60 : 400;
                GuardedImage dst = random_image(format, random_int(minimum, largest),
                                                random_int(minimum, largest));
                const std::vector<std::uint8_t> before = dst.bytes();
                const std::vector<std::uint8_t> want = drawn_by_cpu(cpu, dst, style);
                for (const Place to : {Place::device, Place::device_tight, Place::host}) {
                    DeviceImage copy(to == Place::device_tight);
                    if (to != Place::host)
                        copy.upload(dst);
                    require(gpv_draw_keypoints(op.op(), nullptr,
                                               to == Place::host ? dst.view() : copy.view(), style,
                                               ink),
                            op.context(), "gpv_draw_keypoints");
                    expect(dst.bytes() == before, "host memory waits for the wait");
                    require(gpv_sift_wait(op.op(), nullptr), op.context(), "gpv_sift_wait");
                    if (to != Place::host)
                        copy.download(dst);
                    if (dst.bytes() != want)
                        fatal("CUDA: marks differ: " + text_of(p, dst));
                    dst.bytes() = before;
                    count++;
                }
            }
    }
    std::printf("CUDA: %d drawings equal\n", count);
}

void check_prepared(Place place, bool brief) {
    gpv_sift_params p = small_params(brief);
    const GuardedImage src = small_picture(brief, 7);
    const GuardedImage mask = random_mask(src.view()->width, src.view()->height);
    Operator op(GPV_BACKEND_CUDA, place), cpu;
    op.prepare(p, src, true, 2000);
    const int prepared = op.context().allocations();
    Wish wish;
    wish.room = 2000;
    for (const bool on_device : {false, true}) {
        wish.on_device = on_device;
        const Features want = cpu.run(p, src, &mask, wish);
        expect_same(op.run(p, src, &mask, wish), want, p, "CUDA, prepared");
        op.describe(p, src, want.keypoints, wish);
    }
    expect(op.context().allocations() == prepared, "CUDA: nothing is allocated after prepare");
    std::printf("CUDA: no scratch is allocated after prepare\n");
}

/// An operator each on two contexts, at the same time.
void check_two_contexts(bool brief) {
    const gpv_sift_params p = small_params(brief);
    const GuardedImage src[2] = {small_picture(brief, 11), small_picture(brief, 12)};
    tbb::parallel_for(0, 2, [&](int i) {
        Operator op(GPV_BACKEND_CUDA, Place::device), cpu;
        const Features want = cpu.run(p, src[i]);
        for (int round = 0; round < (brief ? 1 : 50); round++)
            expect_same(op.run(p, src[i]), want, p, "CUDA, two contexts");
    });
    std::printf("CUDA: two contexts at once equal\n");
}

void check_overflow_beside_cpu(Operator &op) {
    check_overflow(op);
    CpuComparison compare(op, 0, false);
    Wish wish;
    wish.room = 100;
    wish.overflow = Overflow::always;
    compare.expect_equal_run(params_of_waves(), waves(600, 590), nullptr, wish);
    wish.overflow = Overflow::never;
    wish.room = 65536;
    compare.expect_equal_run(params_of_waves(), waves(500, 500), nullptr, wish);
    std::printf("CUDA: overflow, and nearly, equal\n");
}

/// Squares of side by side pixels, which all look alike: most keypoints of a picture have one
/// response.
GuardedImage chess(int width, int height, int side) {
    return grey_picture(width, height,
                        [side](int x, int y) { return (x / side + y / side) % 2 ? 230 : 25; });
}

/// Where so many keypoints fall into one bin that they are sorted.
void check_crowds(Operator &op, bool brief) {
    CpuComparison compare(op, 0, brief);
    const gpv_sift_params p = sift_params();
    std::vector<std::array<int, 3>> boards = {{88, 72, 5}};
    if (!brief)
        boards.insert(boards.end(),
                      {{300, 200, 5}, {1920, 1080, 5}, {640, 480, 6}, {3840, 2160, 7}});
    for (const auto &[width, height, side] : boards) {
        const GuardedImage src = chess(width, height, side);
        Wish wish;
        wish.room = 1 << 20;
        wish.descriptors = false;
        expect(op.run(p, src, nullptr, wish).count > 1500, "a board has a crowd");
        compare.expect_equal_run(p, src, nullptr, wish);
        wish.room = 1200;
        wish.descriptors = !brief;
        compare.expect_equal_run(p, src, nullptr, wish);
    }
    std::printf("CUDA: crowds equal\n");
}

void check_sizes_beside_cpu(Operator &op, const Sizes &sizes) {
    CpuComparison compare(op, 0, false);
    each_size(sizes, [&](const Content &, const gpv_sift_params &p, const GuardedImage &src,
                         const Wish &wish) { compare.expect_equal_run(p, src, nullptr, wish); });
}

/// Doubled, as many pixels as there can be are more than a device has memory for.
void check_refused_by_device() {
    Operator op(GPV_BACKEND_CUDA, Place::device), cpu;
    const gpv_image src = largest_on_device(GPV_FORMAT_GRAY8);
    const gpv_sift_params p = sift_params();
    const GuardedImage small = photograph(160, 120);
    const Features want = cpu.run(p, small);
    expect_same(op.run(p, small), want, p, "CUDA, before it is refused");
    expect_refused(op.context(), "CUDA, prepare, " + text_of(p, src),
                   [&] { return gpv_sift_prepare(op.op(), &src, nullptr, 0); });
    expect_same(op.run(p, small), want, p, "CUDA, after it was refused");
    std::printf("CUDA: refused by the device's memory\n");
}

/// Pictures that only a GPU can do in time.
void check_on_gpu(Operator &op) {
    CpuComparison compare(op, 0, false);
    Wish wish;
    wish.room = 65536;
    for (const auto &[width, height] : std::vector<std::array<int, 2>>{
             {640, 480}, {1919, 1079}, {3840, 2160}, {12000, 40}, {33, 9000}})
        for (const std::uint32_t upsample : {0u, 1u}) {
            gpv_sift_params p = sift_params();
            p.upsample = upsample;
            const GuardedImage src = photograph(width, height, random_of(picture_formats));
            compare.expect_equal_run(p, src, nullptr, wish);
            p.contrast_threshold = 0.005f;
            p.max_features = 5000;
            wish.on_device = true;
            compare.expect_equal_run(p, src, nullptr, wish);
            compare.expect_equal_description(p, src, random_keypoints(3000, width, height, false));
        }
    for (const char *extension : {".pgm", ".ppm"})
        for (const Picture &picture : pictures(extension))
            compare.expect_equal_run(sift_params(), *picture.image, nullptr, wish);
    gpv_sift_params p = sift_params();
    const GuardedImage src = photograph(1920, 1080);
    const Features want = op.run(p, src, nullptr, wish);
    const int count = shortened(100);
    for (int i = 0; i < count; i++)
        expect_same(op.run(p, src, nullptr, wish), want, p, "CUDA, repeats");
    std::printf("CUDA: large pictures equal; %d repeats of 1080p equal\n", count);
}

void check_cuda(bool brief) {
    if (!processor_has_fma()) {
        std::printf("skipped: without fused operations the CPU backend rounds otherwise\n");
        std::exit(skipped);
    }
    if (!brief && part.has("memory")) {
        Operator op(GPV_BACKEND_CUDA, Place::device);
        for (const auto &[width, height] :
             short_run() ? Sizes{vast_squares.back()} : vast_squares) {
            // Scratch takes 38 to 42 bytes a pixel, on either side, keypoints and pictures the
            // rest.
            const std::uint64_t bytes = std::uint64_t{64} * width * height;
            const std::string what = size_name(width, height);
            if (has_memory(GPV_BACKEND_CUDA, bytes, "CUDA, " + what) &&
                has_memory(GPV_BACKEND_CPU, bytes, "CPU, " + what))
                check_sizes_beside_cpu(op, {{width, height}});
        }
        check_refused(GPV_BACKEND_CUDA);
        check_refused_by_device();
    }
    if (!part.has("runs"))
        return;
    for (const Place place : places({Place::device, Place::host})) {
        Operator op(GPV_BACKEND_CUDA, place);
        std::printf("== %s, pictures in %s memory\n", op.context().device(),
                    place == Place::host ? "host" : "CUDA");
        CpuComparison(op, brief ? 64 : 200, brief)
            .compare(!brief                 ? scaled(1000)
                     : place == Place::host ? 3
                                            : shortened(14, 2));
        if (!kernels_alone())
            check_prepared(place, brief);
        if (!brief || place == Place::device)
            check_drawn(place, brief);
    }
    for (const Place place : places({Place::device, Place::host})) {
        Operator op(GPV_BACKEND_CUDA, place);
        if (!brief)
            CpuComparison(op, 64, brief).compare_many_given();
        if (place == Place::device)
            check_crowds(op, brief);
    }
    StreamChecks(brief).check_captured();
    if (kernels_alone())
        return;
    Operator tight(GPV_BACKEND_CUDA, Place::device_tight);
    CpuComparison(tight, brief ? 48 : 150, brief).compare(brief ? 3 : shortened(300));
    StreamChecks(brief).check_two_streams();
    if (!under_racecheck())
        check_two_contexts(brief);
    if (brief)
        return;
    Operator op(GPV_BACKEND_CUDA, Place::device);
    compare_with_definition(op, shortened(140), 200);
    compare_described(op, shortened(100), 90);
    check_patterns(op, 97, 83);
    check_small(op);
    check_laws(op, shortened(28), 150);
    check_overflow_beside_cpu(op);
    check_repeats(op);
    check_scratch_of_cuda();
    check_on_gpu(op);
    for (const Sizes &sizes : {narrow_sizes(), small_squares, squares, large_squares})
        check_sizes_beside_cpu(op, some_of(sizes));
    check_formats(op);
}

#endif

// ---- benchmark ----------------------------------------------------------------------

struct NamedImage {
    std::string name;
    GuardedImage image;
    std::string text() const {
        return name + " " + size_name(image.view()->width, image.view()->height);
    }
};

NamedImage named_photo(int width, int height) {
    return {"photo", photograph(width, height)};
}

/// The luma of a picture in another size: the mean of places spread over each new pixel.
NamedImage named_scaled(const Picture &picture, int width, int height) {
    const Plane luma = luma_of(*picture.image);
    const double step_x = double(luma.width) / width, step_y = double(luma.height) / height;
    const int samples = static_cast<int>(std::ceil(std::max({step_x, step_y, 1.0})));
    const auto at = [&](double x, double y) {
        x = std::clamp(x - 0.5, 0.0, luma.width - 1.0);
        y = std::clamp(y - 0.5, 0.0, luma.height - 1.0);
        const int left = static_cast<int>(x), top = static_cast<int>(y);
        const int right = std::min(left + 1, luma.width - 1),
                  below = std::min(top + 1, luma.height - 1);
        const double u = x - left, v = y - top;
        return (luma(left, top) * (1 - u) + luma(right, top) * u) * (1 - v) +
               (luma(left, below) * (1 - u) + luma(right, below) * u) * v;
    };
    return {picture.name, grey_picture(width, height, [&](int x, int y) {
                double sum = 0;
                for (int i = 0; i < samples; i++)
                    for (int j = 0; j < samples; j++)
                        sum += at((x + (j + 0.5) / samples) * step_x,
                                  (y + (i + 0.5) / samples) * step_y);
                return grey_level(sum / samples / samples);
            })};
}

std::vector<NamedImage> picture_scenes(const Sizes &sizes) {
    std::vector<NamedImage> result;
    for (const char *extension : {".pgm", ".ppm"})
        for (const Picture &picture : pictures(extension))
            for (const auto &[width, height] : sizes)
                result.push_back(named_scaled(picture, width, height));
    return result;
}

constexpr int bench_room = 65536;

/// What is timed: keypoints and descriptors of bytes.
struct Work {
    gpv_sift_params p = sift_params();
    int keypoints = 0;

    explicit Work(bool upsample) { p.upsample = upsample; }
    std::string text() const {
        return std::string(p.upsample ? "up1" : "up0") + ", " + std::to_string(keypoints) +
               " keypoints";
    }
};

/// Runs into memory that is kept, without canaries.
class HostRun {
  public:
    explicit HostRun(gpv_backend backend, const gpv_sift_params &p)
        : context_(backend), keypoints_(bench_room),
          numbers_(std::size_t{bench_room} * GPV_SIFT_DESCRIPTOR_LENGTH) {
        require(gpv_sift_set_params(op_, &p), context_, "gpv_sift_set_params");
    }
    /// How many keypoints there are.
    int operator()(const GuardedImage &src) {
        gpv_buffer buffers[2];
        for (gpv_buffer &buffer : buffers)
            gpv_buffer_init(&buffer, sizeof buffer);
        buffers[0].data = keypoints_.data();
        buffers[0].size = keypoints_.size() * sizeof keypoints_[0];
        buffers[1].data = numbers_.data();
        buffers[1].size = numbers_.size();
        require(
            gpv_sift_run(op_, nullptr, src.view(), nullptr, &buffers[0], 0, &buffers[1], nullptr),
            context_, "gpv_sift_run");
        gpv_sift_result result;
        gpv_sift_result_init(&result, sizeof result);
        require(gpv_sift_wait(op_, &result), context_, "gpv_sift_wait");
        return result.count;
    }

  private:
    const PlainContext context_;
    std::vector<gpv_sift_keypoint> keypoints_;
    std::vector<std::uint8_t> numbers_;
    const SiftOp op_{context_};
};

void compare_on_cpu(Report &report, const NamedImage &named, bool upsample, int threads) {
    tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    Work work(upsample);
    HostRun run(GPV_BACKEND_CPU, work.p);
    work.keypoints = run(named.image);
    std::vector<std::uint8_t> from(static_cast<std::size_t>(named.image.pixel_bytes())),
        to(from.size());
    std::vector<std::function<void()>> candidates = {
        [&] { run(named.image); }, [&] { std::memcpy(to.data(), from.data(), from.size()); }};
    std::string peer;
#ifdef HAVE_OPENCV_FEATURES
    cv::setNumThreads(threads);
    const auto sift = cv::SIFT::create(0, 3, 0.04, 10, 1.6, CV_8U);
    const gpv_image &view = *named.image.view();
    const cv::Mat pixels(view.height, view.width, CV_8UC1, view.data[0],
                         static_cast<std::size_t>(view.stride[0]));
    std::vector<cv::KeyPoint> keypoints;
    cv::Mat descriptors;
    if (upsample) { // it always does
        sift->detectAndCompute(pixels, cv::noArray(), keypoints, descriptors);
        peer = "OpenCV " CV_VERSION ", " + std::to_string(keypoints.size()) + " keypoints";
        candidates.push_back(
            [&] { sift->detectAndCompute(pixels, cv::noArray(), keypoints, descriptors); });
    }
#endif
    const auto times = time_in_turn(candidates, 5, 0.5);
    report.add({work.text(), named.text(), threads, times[0], peer,
                peer.empty() ? Timing{} : times[2], times[1].median});
}

void benchmark_cpu(Report &report) {
    const int all = tbb::info::default_concurrency();
    for (const auto &[width, height] : Sizes{{640, 480}, {1920, 1080}}) {
        const NamedImage named = named_photo(width, height);
        for (const bool upsample : {false, true})
            for (const int threads : {1, all})
                compare_on_cpu(report, named, upsample, threads);
    }
    for (const NamedImage &named : picture_scenes({{640, 480}, {1920, 1080}}))
        compare_on_cpu(report, named, true, all);
}

#ifdef HAVE_CUDA

/// Pictures, keypoints and descriptors in CUDA memory.
void compare_on_gpu(Report &report, const NamedImage &named, bool upsample) {
    Work work(upsample);
    const PlainContext context{GPV_BACKEND_CUDA};
    const SiftOp op(context);
    require(gpv_sift_set_params(op, &work.p), context, "gpv_sift_set_params");
    std::vector<std::unique_ptr<DeviceImage>> src;
    const std::size_t bytes = named.image.bytes().size();
    for (int i = 0; i < cold_count(bytes); i++)
        src.emplace_back(std::make_unique<DeviceImage>())->upload(named.image);
    const ColdCopy copy(bytes);
    const DeviceFeatures to(bench_room, work.p);
    const auto run = [&](cudaStream_t stream, int i) {
        return to.run(op, stream, *src[static_cast<std::size_t>(i) % src.size()]) == GPV_OK;
    };
    gpv_sift_result result;
    gpv_sift_result_init(&result, sizeof result);
    if (!run(nullptr, 0) || gpv_sift_wait(op, &result) != GPV_OK)
        fatal("a run to be timed failed");
    work.keypoints = result.count;
    const auto times = time_on_device(
        {run, [&](cudaStream_t stream, int i) { return copy.enqueue(stream, i); }}, 20);
    report.add({work.text(), named.text(), 0, times[0], "", {}, times[1].median});
}

/// From host memory to host memory, one picture after the other.
void compare_from_host(Report &report, const NamedImage &named, bool upsample) {
    Work work(upsample);
    HostRun gpu(GPV_BACKEND_CUDA, work.p), cpu(GPV_BACKEND_CPU, work.p);
    work.keypoints = gpu(named.image);
    expect(cpu(named.image) == work.keypoints, "both backends find as many");
    std::vector<std::uint8_t> from(static_cast<std::size_t>(named.image.pixel_bytes())),
        to(from.size());
    const auto times = time_in_turn({[&] { gpu(named.image); }, [&] { cpu(named.image); },
                                     [&] { std::memcpy(to.data(), from.data(), from.size()); }},
                                    5);
    report.add({"host to host, " + work.text(), named.text(), 0, times[0], "our CPU backend",
                times[1], times[2].median});
}

void benchmark_gpu(Report &report) {
    const Sizes sizes = {{640, 480}, {1280, 960}, {1920, 1080}, {3840, 2160}};
    for (const auto &[width, height] : sizes) {
        const NamedImage named = named_photo(width, height);
        for (const bool upsample : {false, true}) {
            compare_on_gpu(report, named, upsample);
            compare_from_host(report, named, upsample);
        }
    }
    for (const auto &[width, height] : {sizes[2], sizes[3]})
        compare_on_gpu(report, {"chess of 5", chess(width, height, 5)}, true);
    for (const NamedImage &named : picture_scenes(sizes))
        for (const bool upsample : {false, true})
            compare_on_gpu(report, named, upsample);
}

#endif

// ---- the program --------------------------------------------------------------------

/// Time goes with keypoints.
class TimedContents {
  public:
    explicit TimedContents(gpv_backend backend) : backend_(backend), context_(backend) {
        timed_ = timed_patterns(backend_, [&](const GuardedImage &host) { return make(host); });
        patterns_ = timed_.size();
        for (const Content &content : contents)
            timed_.push_back({content.name, make(grey_picture(width_, height_, content(7)))});
        timed_.push_back({"photograph", make(photograph(width_, height_))});
    }

    /// max_features: 0, then what is no pattern and has very many may take longer, but no keypoint
    /// longer than one of the photograph, the last.
    void expect_alike(bool upsample, int max_features) {
        gpv_sift_params p = sift_params();
        p.upsample = upsample;
        p.max_features = max_features;
        require(gpv_sift_set_params(op_, &p), context_, "gpv_sift_set_params");
        for (int attempt = 1; !are_alike(p); attempt++)
            expect(attempt < 3, std::string("contents take ten times the median at most") +
                                    (max_features ? "" : ", but for many keypoints"));
    }
    /// As many as gpusift's max-features=0 keeps.
    int max_features() const { return std::clamp(width_ * height_ / 64, 4096, 65536); }

  private:
    std::function<void()> make(const GuardedImage &host) {
        const auto src = std::make_shared<PlacedImage>(host, backend_);
        const std::size_t number = counts_.size();
        counts_.push_back(0);
        return [this, number, src] {
            require(gpv_sift_run(op_, nullptr, src->view(), nullptr, keypoints_.view(), 0,
                                 numbers_.view(), nullptr),
                    context_, "gpv_sift_run");
            gpv_sift_result result;
            gpv_sift_result_init(&result, sizeof result);
            require(gpv_sift_wait(op_, &result), context_, "gpv_sift_wait");
            counts_[number] = result.count;
        };
    }
    bool are_alike(const gpv_sift_params &p) const {
        std::vector<double> times;
        for (const Timed &content : timed_)
            times.push_back(min_time(content.run));
        const double median = median_of(times), each = times.back() / counts_.back();
        const std::string what = size_name(width_, height_) + ", upsample " +
                                 std::to_string(p.upsample) + ", max_features " +
                                 std::to_string(p.max_features);
        bool alike = true;
        std::printf("%-40s %10s %9s %10s %12s\n", what.c_str(), "ms", "x median", "keypoints",
                    "us each");
        for (std::size_t i = 0; i < times.size(); i++) {
            alike = alike && (times[i] <= 10 * median || (p.max_features == 0 && i >= patterns_ &&
                                                          times[i] <= each * counts_[i]));
            std::printf("  %-38s %10.3f %9.2f %10d %12.2f\n", timed_[i].name.c_str(), times[i],
                        times[i] / median, counts_[i], 1000 * times[i] / std::max(counts_[i], 1));
        }
        return alike;
    }

    static constexpr std::size_t room = 1 << 20;
    gpv_backend backend_;
    int width_ = size_to_time(backend_)[0], height_ = size_to_time(backend_)[1];
    const CountedContext context_;
    const SiftOp op_{context_};
    PlacedBuffer keypoints_{room * sizeof(gpv_sift_keypoint), backend_},
        numbers_{room * GPV_SIFT_DESCRIPTOR_LENGTH, backend_};
    std::vector<int> counts_; ///< of keypoints, in the last run on each
    std::vector<Timed> timed_;
    std::size_t patterns_; ///< how many of these are patterns, the first ones
};

/// As gpusift is when it is made; with as many keypoints as its max-features=0 keeps; without a
/// limit.
void check_times(gpv_backend backend) {
    TimedContents contents(backend);
    for (const bool upsample : {false, true})
        contents.expect_alike(upsample, 2000);
    contents.expect_alike(true, contents.max_features());
    for (const bool upsample : {false, true})
        contents.expect_alike(upsample, 0);
}

void check() {
    check_instruction_sets();
    Operator op;
    compare_with_definition(op, scaled(420), 200);
    compare_described(op, scaled(400), 90);
    check_patterns(op, 97, 83);
    check_small(op);
    check_laws(op, scaled(56), 150);
    check_overflow(op);
    check_repeats(op);
    check_threads();
    check_scratch_of_cpu();
    check_pictures(op);
    check_sizes(op, some_of(narrow_sizes()));
    check_sizes(op, some_of(small_squares));
    if (!short_run())
        check_sizes(op, squares);
    if (full_run()) {
        check_sizes(op, large_squares);
        check_sizes(op, {vast_squares[0]});
    }
    check_formats(op);
    if (!short_run())
        check_corner(op, full_run() ? vast_squares[1][0] : 4096);
    check_refused(GPV_BACKEND_CPU);
}

} // namespace

int main(int argc, char **argv) {
    takes_turns = false; // how much may be unclear was found on these very cases
#ifdef HAVE_CUDA
    return run_program({"sift", check, check_cuda, benchmark_cpu, benchmark_gpu, check_times}, argc,
                       argv);
#else
    return run_program({"sift", check, nullptr, benchmark_cpu, nullptr, check_times}, argc, argv);
#endif
}
