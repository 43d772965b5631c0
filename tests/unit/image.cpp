// SPDX-License-Identifier: BSD-2-Clause
#include "core/image.hpp"

#include <cstdlib>
#include <random>
#include <vector>

#include <check.h>

#include "run_group.hpp"

using gpv::Format;

namespace {

std::vector<std::byte> memory(4096);

gpv::Image image(Format format, int width, int height) {
    return {format, gpv::Memory::host, 0, width, height, {}, {}, {}};
}

/// How many planes' rows cover each byte of memory.
std::vector<int> coverage(const gpv::Image &i) {
    std::vector<int> covered(memory.size());
    for (int p = 0; p < i.plane_count(); p++)
        for (int y = 0; y < i.shape(p).rows; y++)
            for (std::int64_t x = 0; x < i.shape(p).row_bytes(); x++)
                covered.at(i.planes[p].row(y) + x - memory.data())++;
    return covered;
}

bool share_a_byte(const gpv::Image &a, const gpv::Image &b) {
    const auto in_a = coverage(a), in_b = coverage(b);
    for (std::size_t i = 0; i < in_a.size(); i++)
        if (in_a[i] && in_b[i])
            return true;
    return false;
}

} // namespace

START_TEST(shapes_round_up) {
    for (int width = 1; width < 6; width++)
        for (int height = 1; height < 6; height++) {
            const auto y = gpv::plane_shape(Format::nv12, 0, width, height);
            const auto uv = gpv::plane_shape(Format::nv12, 1, width, height);
            const auto v = gpv::plane_shape(Format::i420, 2, width, height);
            const auto wide = gpv::plane_shape(Format::p016, 1, width, height);
            ck_assert_int_eq(y.row_bytes(), width);
            ck_assert_int_eq(y.rows, height);
            ck_assert_int_eq(uv.columns, (width + 1) / 2);
            ck_assert_int_eq(uv.rows, (height + 1) / 2);
            ck_assert_int_eq(uv.row_bytes(), 2 * uv.columns);
            ck_assert_int_eq(v.row_bytes(), uv.columns);
            ck_assert_int_eq(v.rows, uv.rows);
            ck_assert_int_eq(wide.row_bytes(), 4 * uv.columns);
            ck_assert_int_eq(gpv::plane_shape(Format::rgb8, 0, width, height).row_bytes(),
                             3 * width);
            // further planes of these are as large as the first
            ck_assert_int_eq(gpv::plane_shape(Format::cap32x8, 7, width, height).row_bytes(),
                             4 * width);
            ck_assert_int_eq(gpv::plane_shape(Format::cap32x4, 3, width, height).rows, height);
        }
    ck_assert_int_eq(gpv::plane_shape(Format::cap32x8, 0, 32767, 1).row_bytes(), 131068);
}
END_TEST

START_TEST(unknown_formats_have_no_planes) {
    for (const unsigned format : {0u, 25u, 26u, 0x7fffffffu, 0x80000000u, 0xffffffffu})
        ck_assert_int_eq(gpv::format_info(static_cast<Format>(format)).planes, 0);
}
END_TEST

START_TEST(overlap_is_sharing_a_byte) {
    std::mt19937 random(1);
    const auto below = [&](int n) { return static_cast<int>(random() % n); };
    const Format formats[] = {Format::gray8, Format::rgb8, Format::nv12, Format::i420};
    int shared = 0, apart = 0, interleaved = 0;
    for (int i = 0; i < 20000; i++) {
        const Format format = formats[below(4)];
        gpv::Image a = image(format, 1 + below(9), 1 + below(5));
        gpv::Image b = image(format, a.width, a.height);
        const bool same_pitch = below(4) > 0;
        const std::int64_t pitch = 27 + below(20);
        for (gpv::Image *one : {&a, &b}) {
            const std::int64_t own = same_pitch ? pitch : 27 + below(20);
            for (int p = 0; p < one->plane_count(); p++)
                one->planes[p] = {memory.data() + below(500), own};
        }
        const bool share = share_a_byte(a, b);
        const bool claim = gpv::overlap(a, b);
        ck_assert_int_eq(claim, gpv::overlap(b, a));
        ck_assert_msg(claim || !share, "image %d: a shared byte is not seen", i);
        if (same_pitch)
            ck_assert_msg(claim == share, "image %d: refused without a shared byte", i);
        (share ? shared : apart)++;
        const std::byte *a_end = a.planes[0].row(a.height - 1);
        interleaved += !share && a.plane_count() == 1 && b.planes[0].data > a.planes[0].data &&
                       b.planes[0].data < a_end;
    }
    ck_assert_int_gt(shared, 1000);
    ck_assert_int_gt(apart, 1000);
    ck_assert_int_gt(interleaved, 100);
}
END_TEST

START_TEST(same_pixels_means_every_plane) {
    gpv::Image a = image(Format::i420, 4, 4);
    for (int p = 0; p < 3; p++)
        a.planes[p] = {memory.data() + 64 * p, 8};
    gpv::Image b = a;
    ck_assert(gpv::same_pixels(a, b));
    b.planes[3] = {memory.data(), 1}; // not one of its planes
    ck_assert(gpv::same_pixels(a, b));
    for (int p = 0; p < 3; p++) {
        b = a;
        b.planes[p].stride = 9;
        ck_assert(!gpv::same_pixels(a, b));
        b = a;
        b.planes[p].data += 1;
        ck_assert(!gpv::same_pixels(a, b));
    }
}
END_TEST

int main() {
    TCase *group = tcase_create("image");
    tcase_add_test(group, shapes_round_up);
    tcase_add_test(group, unknown_formats_have_no_planes);
    tcase_add_test(group, overlap_is_sharing_a_byte);
    tcase_add_test(group, same_pixels_means_every_plane);
    return run_group("image", group);
}
