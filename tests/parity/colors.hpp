// SPDX-License-Identifier: BSD-2-Clause
// Colours of pixels in every format, and coloured contents, for the parity tests of what looks at
// colours.
#pragma once

#include "samples.hpp"

#include <tbb/parallel_for.h>

namespace parity {

// ---- colours ------------------------------------------------------------------------

/// A colour as one number, R * 2^16 + G * 2^8 + B.
using Value = std::uint32_t;

inline Value value_of(const Rgb &c) {
    return static_cast<Value>(c[0] << 16 | c[1] << 8 | c[2]);
}

inline Rgb bytes_of(Value value) {
    return {static_cast<int>(value >> 16), static_cast<int>(value >> 8 & 255),
            static_cast<int>(value & 255)};
}

/// The colour of every pixel, row by row.
inline std::vector<Value> colors_of(const GuardedImage &image) {
    const Samples samples(image);
    std::vector<Value> result;
    for (int y = 0; y < image.view()->height; y++)
        for (int x = 0; x < image.view()->width; x++)
            result.push_back(value_of(samples.color(x, y)));
    return result;
}

// ---- contents -----------------------------------------------------------------------

/// The colour of a pixel: R, G and B, or Y, U and V. Grey has the first.
using Paint = std::function<Rgb(int x, int y)>;

/// What 16 bits have more than a byte, and a fourth channel, is noise.
inline void paint(GuardedImage &image, const Paint &color) {
    const Samples samples(image);
    for (int c = 0; c < samples.channels(); c++)
        tbb::parallel_for(0, samples.rows(c), [&, c](int row) {
            for (int i = 0; i < samples.columns(c); i++) {
                const auto noise = static_cast<std::uint8_t>(hash(std::uint64_t(row) << 32 | i));
                const int byte =
                    c == 3 ? noise : color(i * samples.across(c), row * samples.down(c))[c];
                samples.set(c, i, row, samples.wide() ? byte << 8 | noise : byte);
            }
        });
}

inline GuardedImage painted(gpv_format format, int width, int height, const Paint &color) {
    GuardedImage image(format, width, height);
    paint(image, color);
    return image;
}

inline Rgb bytes_of_hash(std::uint64_t number) {
    return bytes_of(hash(number) >> 8);
}

/// Gaussian, but for a hair: 16 tossed coins, of variance 4.
inline int gaussian(std::uint32_t bits) {
    return __builtin_popcount(bits & 0xffff) - 8;
}

/// What a photograph is like, in integers alone: light that varies at all scales, colours that
/// vary less, and noise of a standard deviation of 2 in each channel.
inline Rgb photo_color(int x, int y) {
    int light = 0, warm = 0, green = 0;
    for (int level = 9; level >= 3; level--) { // the side of a cell is 2^level
        const auto weight = [&](int at) {
            const int t = (at & ((1 << level) - 1)) << 8 >> level;
            return t * t * (768 - 2 * t) >> 16; // 0..256, smooth at both ends
        };
        const auto corner = [&](int right, int down) {
            return hash(std::uint64_t(level) << 48 | std::uint64_t((y >> level) + down) << 24 |
                        ((x >> level) + right));
        };
        const std::uint32_t corners[4] = {corner(0, 0), corner(1, 0), corner(0, 1), corner(1, 1)};
        const int u = weight(x), v = weight(y);
        const auto field = [&](int shift) { // -512..511
            const auto at = [&](int i) { return static_cast<int>(corners[i] >> shift & 1023); };
            const int upper = at(0) * (256 - u) + at(1) * u, lower = at(2) * (256 - u) + at(3) * u;
            return ((upper * (256 - v) + lower * v) >> 16) - 512;
        };
        light += field(0) * (1 << (level - 3));
        warm += field(10) * (1 << (level - 3));
        green += field(20) * (1 << (level - 3));
    }
    light = 118 + light / 330;
    warm /= 600;
    green /= 1000;
    const std::uint64_t pixel = std::uint64_t(y) << 24 | x;
    const std::uint32_t noise = hash(~pixel), more = hash(~pixel ^ std::uint64_t{1} << 60);
    return {std::clamp(light + warm + gaussian(noise), 0, 255),
            std::clamp(light + green + gaussian(noise >> 16), 0, 255),
            std::clamp(light - warm + gaussian(more), 0, 255)};
}

inline GuardedImage photo(gpv_format format, int width, int height) {
    GuardedImage image(format, width, height);
    paint(image, [&](int x, int y) {
        const Rgb c = photo_color(x, y);
        return is_yuv(format) ? yuv_of(*image.view(), c) : c;
    });
    return image;
}

/// What is painted where an image of grey is that bright.
inline Paint grey_of(const GuardedImage &image) {
    return [&image](int x, int y) {
        const int level = image.row(0, y)[x];
        return Rgb{level, level, level};
    };
}

struct Content {
    const char *name;
    std::function<Rgb(std::uint64_t seed, int x, int y)> color;

    Paint operator()(std::uint64_t seed) const {
        return [color = color, seed](int x, int y) { return color(seed, x, y); };
    }
};

/// One of so many colours.
inline Content palette(const char *name, int colors) {
    return {name, [colors](std::uint64_t seed, int x, int y) {
                return bytes_of_hash(seed << 32 | pixel_hash(seed, x, y) % colors);
            }};
}

inline const std::vector<Content> contents = {
    {"noise",
     [](std::uint64_t seed, int x, int y) { return bytes_of(pixel_hash(seed, x, y) >> 8); }},
    palette("flat", 1),
    palette("two colours", 2),
    palette("five colours", 5),
    palette("twenty colours", 20),
    {"gradient",
     [](std::uint64_t seed, int x, int y) {
         const int at = static_cast<int>(seed % 256);
         return Rgb{(3 * x + at) & 255, (5 * y + at) & 255, (x + y) & 255};
     }},
    {"colours of 27 cells",
     [](std::uint64_t seed, int x, int y) {
         const std::uint32_t bits = pixel_hash(seed, x, y);
         return Rgb{static_cast<int>(104 + bits % 24), static_cast<int>(48 + (bits >> 8) % 24),
                    static_cast<int>(200 + (bits >> 16) % 24)};
     }},
    {"lattice", // of which many are equally far from symmetrical centroids
     [](std::uint64_t seed, int x, int y) {
         const std::uint32_t bits = pixel_hash(seed, x, y);
         return Rgb{static_cast<int>(64 * (bits % 4)), static_cast<int>(64 * ((bits >> 8) % 4)),
                    static_cast<int>(64 * ((bits >> 16) % 4))};
     }},
    {"corners",
     [](std::uint64_t seed, int x, int y) {
         const std::uint32_t bits = pixel_hash(seed, x, y);
         return Rgb{bits & 1 ? 255 : 0, bits & 2 ? 255 : 0, bits & 4 ? 255 : 0};
     }},
    {"sides of cells",
     [](std::uint64_t seed, int x, int y) {
         const Rgb c = bytes_of(pixel_hash(seed, x, y) >> 8);
         return Rgb{std::min(c[0] | 7, 254) + (c[0] & 1), c[1] & ~7, c[2]};
     }},
    {"clouds",
     [](std::uint64_t seed, int x, int y) {
         const std::uint32_t bits = pixel_hash(seed, x, y), more = hash(bits);
         Rgb c = bytes_of_hash(seed << 32 | more % 6);
         for (int i = 0; i < 3; i++)
             c[i] = std::clamp(c[i] + gaussian(hash(std::uint64_t(more) << 2 | i)), 0, 255);
         return c;
     }},
    {"photograph", [](std::uint64_t, int x, int y) { return photo_color(x, y); }},
};

inline Paint random_content() {
    return random_of(contents)(static_cast<std::uint64_t>(random_int(0, 1 << 30)));
}

} // namespace parity
