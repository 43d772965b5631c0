// SPDX-License-Identifier: BSD-2-Clause
// core/sift.hpp, core/sift_draw.cpp: the marks of keypoints, by the definition in sift.h.
#include "core/sift.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <check.h>

#include "run_group.hpp"

using gpv::Color;
using gpv::DrawStyle;
using gpv::Format;
using gpv::Image;
using gpv::Keypoint;
using gpv::Mark;
using Pixels = std::set<std::pair<int, int>>; // of x and y

namespace {

Keypoint at(float x, float y, float sigma = 1, float angle = 0) {
    return {x, y, sigma, angle, 0, 0};
}

/// As so many threads share them.
Pixels pixels_of(const Keypoint &keypoint, DrawStyle style, int threads = 1) {
    Pixels pixels;
    for (int i = 0; i < threads; i++)
        Mark(keypoint, style).draw(i, threads, [&](int x, int y) { pixels.emplace(x, y); });
    return pixels;
}

int rounded(double x) { // halves go away from 0
    return static_cast<int>(std::lround(x));
}

void add_circle(Pixels &pixels, int x, int y, int radius) {
    for (int i = 0; i <= radius; i++) {
        const int j = rounded(std::sqrt(double(radius) * radius - double(i) * i));
        if (i > j)
            break;
        for (const int a : {i, -i})
            for (const int b : {j, -j}) {
                pixels.emplace(x + a, y + b);
                pixels.emplace(x + b, y + a);
            }
    }
}

void add_line(Pixels &pixels, int x, int y, int dx, int dy) {
    const int length = std::max(std::abs(dx), std::abs(dy));
    for (int i = 0; i <= length; i++)
        pixels.emplace(x + rounded(double(i) * dx / length), y + rounded(double(i) * dy / length));
}

/// A picture with its memory.
struct Canvas {
    static constexpr std::uint8_t blank = 7;
    std::vector<std::byte> bytes;
    Image image{};

    Canvas(Format format, int width, int height) {
        image = {format, gpv::Memory::host, 0, width, height, {}, {}, {}};
        std::size_t size = 0;
        for (int p = 0; p < image.plane_count(); p++)
            size += image.shape(p).row_bytes() * image.shape(p).rows;
        bytes.assign(size, std::byte{blank});
        std::byte *data = bytes.data();
        for (int p = 0; p < image.plane_count(); p++) {
            image.planes[p] = {data, image.shape(p).row_bytes()};
            data += image.shape(p).row_bytes() * image.shape(p).rows;
        }
    }
    int sample(int plane, int column, int row, int channel) const {
        const auto offset = std::int64_t{column} * image.shape(plane).channels + channel;
        return std::to_integer<int>(image.planes[plane].row(row)[offset]);
    }
};

constexpr Color orange = {255, 128, 16};

} // namespace

START_TEST(crosses_are_those_of_the_definition) {
    ck_assert(pixels_of(at(10, 20), DrawStyle::points) == Pixels({{8, 20},
                                                                  {9, 20},
                                                                  {10, 20},
                                                                  {11, 20},
                                                                  {12, 20},
                                                                  {10, 18},
                                                                  {10, 19},
                                                                  {10, 21},
                                                                  {10, 22}}));
    const auto middle = [](float x, float y) {
        const Mark mark(at(x, y), DrawStyle::points);
        return std::pair(mark.x, mark.y);
    };
    ck_assert(middle(10.49f, 19.51f) == std::pair(10, 20));
    ck_assert(middle(10.5f, 20.5f) == std::pair(11, 21));
    ck_assert(middle(0, -0.4f) == std::pair(0, 0));
}
END_TEST

START_TEST(circles_are_those_of_the_definition) {
    ck_assert(pixels_of(at(5, 5, 0.3f), DrawStyle::rich) ==
              Pixels({{4, 5}, {6, 5}, {5, 4}, {5, 6}, {5, 5}}));
    for (int radius = 1; radius < 400; radius += 1 + radius / 20) {
        Pixels expected;
        add_circle(expected, 70, 50, radius);
        add_line(expected, 70, 50, radius, 0);
        ck_assert_msg(pixels_of(at(70, 50, static_cast<float>(radius)), DrawStyle::rich) ==
                          expected,
                      "radius %d", radius);
    }
}
END_TEST

// Clockwise as one sees it, since y grows downwards. The end is where it should be to a pixel, as
// the angle is one of floats.
START_TEST(lines_show_the_angle) {
    for (int degrees = 0; degrees < 360; degrees++)
        for (const int radius : {1, 2, 7, 30, 300}) {
            const auto angle = static_cast<float>(degrees), sigma = static_cast<float>(radius);
            const Mark mark(at(0, 0, sigma, angle), DrawStyle::rich);
            const double turn = degrees * std::numbers::pi / 180;
            ck_assert(std::abs(mark.dx - radius * std::cos(turn)) < 0.51 + 1e-4 * radius);
            ck_assert(std::abs(mark.dy - radius * std::sin(turn)) < 0.51 + 1e-4 * radius);
            Pixels expected;
            add_circle(expected, 0, 0, radius);
            add_line(expected, 0, 0, mark.dx, mark.dy);
            ck_assert_msg(pixels_of(at(0, 0, sigma, angle), DrawStyle::rich) == expected,
                          "%d degrees, radius %d", degrees, radius);
        }
}
END_TEST

START_TEST(threads_share_the_pixels) {
    for (const float sigma : {0.5f, 1.6f, 5.0f, 33.3f, 250.0f})
        for (const int threads : {2, 7, 32, 64})
            for (const DrawStyle style : {DrawStyle::points, DrawStyle::rich})
                ck_assert(pixels_of(at(40, 30, sigma, 77), style, threads) ==
                          pixels_of(at(40, 30, sigma, 77), style));
}
END_TEST

// Neither hang nor write anywhere, whatever the numbers are.
START_TEST(odd_keypoints_are_harmless) {
    const float nan = std::nanf(""), huge = 3e38f;
    for (const float place : {nan, huge, -huge, -50.0f, 0.0f, 40.0f})
        for (const float sigma : {nan, huge, -1.0f, 0.0f, 1e5f})
            for (const float angle : {nan, huge, -1.0f, 360.0f, 90.0f})
                for (const DrawStyle style : {DrawStyle::points, DrawStyle::rich}) {
                    Canvas canvas(Format::i420, 33, 17);
                    const Keypoint keypoint = at(place, 8, sigma, angle);
                    gpv::draw_keypoints({canvas.image, style, orange}, {&keypoint, 1});
                }
}
END_TEST

// Every format: the pixels of the marks, in the bytes that the colour has there, and no others.
START_TEST(pictures_have_the_marks) {
    static constexpr Format formats[] = {Format::gray8, Format::rgb8,  Format::bgr8,
                                         Format::rgba8, Format::bgra8, Format::rgbx8,
                                         Format::bgrx8, Format::nv12,  Format::i420};
    static constexpr int bytes[][4] = {{154}, // (77 R + 150 G + 29 B + 128) >> 8
                                       {255, 128, 16},
                                       {16, 128, 255},
                                       {255, 128, 16, 255},
                                       {16, 128, 255, 255},
                                       {255, 128, 16, 255},
                                       {16, 128, 255, 255},
                                       {148, 60, 192}, // BT.601, limited
                                       {148, 60, 192}};
    std::mt19937 random(1);
    std::uniform_real_distribution<float> place(-0.5f, 40), sigma(0, 12), angle(0, 359);
    std::vector<Keypoint> keypoints;
    for (int i = 0; i < 5; i++)
        keypoints.push_back(at(place(random), place(random), sigma(random), angle(random)));
    for (const DrawStyle style : {DrawStyle::points, DrawStyle::rich})
        for (std::size_t f = 0; f < std::size(formats); f++) {
            Canvas canvas(formats[f], 37, 31), backwards(formats[f], 37, 31);
            Pixels pixels, sites;
            for (const Keypoint &keypoint : keypoints)
                pixels.merge(pixels_of(keypoint, style));
            for (const auto &[x, y] : pixels)
                if (x >= 0 && y >= 0 && x < 37 && y < 31)
                    sites.emplace(x / 2, y / 2);
            gpv::draw_keypoints({canvas.image, style, orange}, keypoints);
            for (int p = 0; p < canvas.image.plane_count(); p++) {
                const gpv::PlaneShape shape = canvas.image.shape(p);
                const int first = p == 0 ? 0 : p; // of the bytes
                for (int y = 0; y < shape.rows; y++)
                    for (int x = 0; x < shape.columns; x++)
                        for (int c = 0; c < shape.channels; c++) {
                            const bool drawn = (p == 0 ? pixels : sites).contains({x, y});
                            ck_assert_msg(canvas.sample(p, x, y, c) ==
                                              (drawn ? bytes[f][first + c] : Canvas::blank),
                                          "format %zu, plane %d, %d, %d: %d", f, p, x, y,
                                          canvas.sample(p, x, y, c));
                        }
            }
            std::vector<Keypoint> reversed(keypoints.rbegin(), keypoints.rend());
            gpv::draw_keypoints({backwards.image, style, orange}, reversed);
            ck_assert(backwards.bytes == canvas.bytes);
        }
}
END_TEST

int main() {
    TCase *group = tcase_create("sift");
    tcase_add_test(group, crosses_are_those_of_the_definition);
    tcase_add_test(group, circles_are_those_of_the_definition);
    tcase_add_test(group, lines_show_the_angle);
    tcase_add_test(group, threads_share_the_pixels);
    tcase_add_test(group, odd_keypoints_are_harmless);
    tcase_add_test(group, pictures_have_the_marks);
    return run_group("sift", group);
}
