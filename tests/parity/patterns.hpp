// SPDX-License-Identifier: BSD-2-Clause
// Images of what is 0 and what is 255: those that are hard on a search, and noise.
#pragma once

#include "parity.hpp"

namespace parity {

/// A plane of GRAY8 without padding.
inline GuardedImage blank(int width, int height) {
    GuardedImage image(GPV_FORMAT_GRAY8, width, height);
    image.each_row([](int, std::int64_t, std::uint8_t *row, std::int64_t bytes) {
        std::memset(row, 0, bytes);
    });
    return image;
}

/// on(x, y) says what is 255.
template <class F>
inline GuardedImage drawing(int width, int height, F on) {
    GuardedImage image = blank(width, height);
    image.each_row([&](int, std::int64_t y, std::uint8_t *row, std::int64_t) {
        for (int x = 0; x < width; x++)
            row[x] = on(x, static_cast<int>(y)) ? 255 : 0;
    });
    return image;
}

/// Squares of so many pixels, each of one value: 0, or with a probability one of levels others.
/// Those of two values are the images of YACCLAB's benchmarks.
inline GuardedImage granular(int width, int height, int grain, int percent, int levels = 1) {
    const int cells = (width + grain - 1) / grain;
    const std::uint64_t seed = (grain == 1 ? 7 : 77) + percent;
    const auto below = static_cast<std::uint32_t>(percent / 100.0 * 4294967295.0);
    GuardedImage image = blank(width, height);
    image.each_row([&](int, std::int64_t y, std::uint8_t *row, std::int64_t) {
        for (int x = 0; x < width; x++) {
            const std::uint64_t cell = std::uint64_t(y / grain) * cells + x / grain;
            if (hash(seed * 1000003 + cell) < below)
                row[x] = static_cast<std::uint8_t>(255 - hash(cell) % levels);
        }
    });
    return image;
}

/// One pixel wide, one pixel apart.
inline GuardedImage spiral(int width, int height) {
    GuardedImage image = blank(width, height);
    const auto line = [&](int x, int y, int end_x, int end_y) {
        for (; x <= end_x && y <= end_y; (x < end_x ? x : y)++)
            image.row(0, y)[x] = 255;
    };
    int left = 0, top = 0, right = width - 1, bottom = height - 1;
    for (int inlet = 0; left <= right && top <= bottom; inlet = 2) {
        line(std::max(0, left - inlet), top, right, top);
        line(right, top, right, bottom);
        if (bottom - top < 2 || right - left < 2)
            break;
        line(left, bottom, right, bottom);
        line(left, top + 2, left, bottom);
        left += 2, top += 2, right -= 2, bottom -= 2;
    }
    return image;
}

struct Pattern {
    const char *name;
    std::function<GuardedImage(int width, int height)> draw;
};

/// drawing() of what is on at a pixel of an image of that size.
inline Pattern pattern(const char *name, bool (*on)(int x, int y, int width, int height)) {
    return {name, [on](int width, int height) {
                return drawing(width, height,
                               [&](int x, int y) { return on(x, y, width, height); });
            }};
}

/// Passages one pixel wide between cells two apart: up or left from each, so that all belong
/// together.
inline bool in_maze(int x, int y, int, int) {
    if (x % 2 && y % 2)
        return false;
    if (x % 2 == 0 && y % 2 == 0)
        return true;
    const int cell_x = (x + 1) / 2, cell_y = (y + 1) / 2;
    const bool up = cell_x == 0 || (cell_y > 0 && hash(std::uint64_t(cell_y) << 32 | cell_x) & 1);
    return y % 2 ? up : !up;
}

inline const std::vector<Pattern> patterns = {
    pattern("horizontal snake",
            [](int x, int y, int w, int) { return y % 2 == 0 || x == (y / 2 % 2 ? 0 : w - 1); }),
    pattern("vertical snake",
            [](int x, int y, int, int h) { return x % 2 == 0 || y == (x / 2 % 2 ? 0 : h - 1); }),
    {"spiral", spiral},
    pattern("comb", [](int x, int y, int, int h) { return x % 2 == 0 || y == h - 1; }),
    pattern("dots", [](int x, int y, int, int) { return x % 2 == 0 && y % 2 == 0; }),
    pattern("checkerboard", [](int x, int y, int, int) { return (x + y) % 2 == 1; }),
    pattern("diagonals", [](int x, int y, int, int) { return (x + y) % 3 == 0; }),
    pattern("other diagonals", [](int x, int y, int, int h) { return (x - y + 3 * h) % 3 == 0; }),
    pattern("maze", in_maze),
    pattern("full", [](int, int, int, int) { return true; }),
    pattern("empty", [](int, int, int, int) { return false; }),
    {"noise 50 %", [](int width, int height) { return granular(width, height, 1, 50); }},
    {"granular 16", [](int width, int height) { return granular(width, height, 16, 50); }},
};

inline const Pattern &pattern_of(const std::string &name) {
    return *std::find_if(patterns.begin(), patterns.end(),
                         [&](const Pattern &pattern) { return pattern.name == name; });
}

/// Those, noise of other densities, and noise of all values.
inline std::vector<Pattern> all_patterns() {
    std::vector<Pattern> result = patterns;
    for (const auto &[name, percent] : {std::pair{"noise 1 %", 1},
                                        {"noise 10 %", 10},
                                        {"noise 25 %", 25},
                                        {"noise 75 %", 75},
                                        {"noise 90 %", 90},
                                        {"noise 99 %", 99}})
        result.push_back({name, [percent = percent](int width, int height) {
                              return granular(width, height, 1, percent);
                          }});
    result.push_back({"noise of all values",
                      [](int width, int height) { return granular(width, height, 1, 100, 256); }});
    return result;
}

/// Of the images whose times are compared.
inline std::array<int, 2> size_to_time(gpv_backend backend) {
    return backend == GPV_BACKEND_CUDA || full_run() ? std::array{1920, 1080}
                                                     : std::array{1024, 1024};
}

/// All patterns; make(image) is a run on one.
template <class F>
std::vector<Timed> timed_patterns(gpv_backend backend, F make) {
    const auto [width, height] = size_to_time(backend);
    std::vector<Timed> result;
    for (const Pattern &pattern : all_patterns())
        result.push_back({pattern.name, make(pattern.draw(width, height))});
    return result;
}

} // namespace parity
