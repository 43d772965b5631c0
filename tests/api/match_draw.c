/* SPDX-License-Identifier: BSD-2-Clause */
/* gpv_draw_outline(): what it refuses, and which pixels it draws. */
#include "testing.h"

#include <math.h>

enum { WIDTH = 40, HEIGHT = 30, COLOR = 0xff8010, LUMA = 154 /* of it */ };

FIXTURE(match)

static const float triangle[] = {5, 4, 33.5f, 9.25f, 12, 26};

static gpv_status draw(const gpv_image *dst, float width) {
    return gpv_draw_outline(op, NULL, dst, triangle, 3, width, COLOR);
}

/* ----------------------------------------------------------------------- refusals */

START_TEST(bad_arguments_are_refused_untouched) {
    static const struct {
        int32_t count;
        const char *text;
    } counts[] = {{0, "count is 0,|2..64"},   {1, "count is 1,|2..64"},
                  {-1, "count is -1,|2..64"}, {INT32_MIN, "count is -2147483648,|2..64"},
                  {65, "count is 65,|2..64"}, {INT32_MAX, "count is 2147483647,|2..64"}};
    static const struct {
        float number;
        const char *text;
    } widths[] = {{0, "width is 0,|1..1000"},
                  {-1, "width is -1,|1..1000"},
                  {0.99999994f, "width is 0.99999994,|1..1000"},
                  {1000.0001f, "width is 1000.0001,|1..1000"},
                  {INFINITY, "width is inf,|1..1000"},
                  {NAN, "width is nan,|1..1000"}},
      places[] = {{131072.02f, "is 131072.02,|-131072..131072"},
                  {-131072.02f, "is -131072.02,|-131072..131072"},
                  {INFINITY, "is inf,|-131072..131072"},
                  {-INFINITY, "is -inf,|-131072..131072"},
                  {NAN, "is nan,|-131072..131072"}};
    const gpv_image dst = forbidden_image(forbidden_memory(1 << 21));
    const float *forbidden = forbidden_memory(4096);
    size_t i, k;
    ck_assert_int_eq(gpv_draw_outline(NULL, NULL, &dst, triangle, 3, 2, COLOR), INVALID);
    expect_error(context, &keep, draw(NULL, 2), INVALID, "dst|NULL");
    expect_error(context, &keep, gpv_draw_outline(op, NULL, &dst, NULL, 3, 2, COLOR), INVALID,
                 "points is NULL");
    expect_error(context, &keep, gpv_draw_outline(op, NULL, &dst, triangle, 3, 2, 0x1000000),
                 INVALID, "color is 16777216,|0..16777215");
    expect_error(context, &keep, gpv_draw_outline(op, NULL, &dst, triangle, 3, 2, UINT32_MAX),
                 INVALID, "color is 4294967295,|0..16777215");
    for (i = 0; i < COUNT(counts); i++)
        expect_error(context, &keep,
                     gpv_draw_outline(op, NULL, &dst, forbidden, counts[i].count, 2, COLOR),
                     INVALID, counts[i].text);
    for (i = 0; i < COUNT(widths); i++)
        expect_error(context, &keep, draw(&dst, widths[i].number), INVALID, widths[i].text);
    for (i = 0; i < COUNT(triangle); i++)
        for (k = 0; k < COUNT(places); k++) {
            float points[COUNT(triangle)];
            char text[64];
            memcpy(points, triangle, sizeof points);
            points[i] = places[k].number;
            snprintf(text, sizeof text, "points[%d] %s", (int)i, places[k].text);
            expect_error(context, &keep, gpv_draw_outline(op, NULL, &dst, points, 3, 2, COLOR),
                         INVALID, text);
        }
}
END_TEST

/* ------------------------------------------------------------------------ pixels */

/* How far a pixel is from a line. */
static double distance_to(double x, double y, const float *a, const float *b) {
    const double dx = (double)b[0] - a[0], dy = (double)b[1] - a[1], length = dx * dx + dy * dy;
    double t = length > 0 ? ((x - a[0]) * dx + (y - a[1]) * dy) / length : 0;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return hypot(x - a[0] - t * dx, y - a[1] - t * dy);
}

/* Fails unless just those pixels of a grey picture are drawn that are near enough; where rounding
 * decides, either is right. Says how many there are. */
static int expect_outline(const float *points, int count, float width) {
    picture p = picture_new(GPV_FORMAT_GRAY8, WIDTH, HEIGHT, PADDED);
    picture before = picture_new(GPV_FORMAT_GRAY8, WIDTH, HEIGHT, TIGHT);
    int x, y, i, drawn = 0;
    picture_fill(&p, 1);
    picture_fill(&before, 1);
    ck_assert_int_eq(gpv_draw_outline(op, NULL, &p.view, points, count, width, COLOR), GPV_OK);
    for (y = 0; y < HEIGHT; y++)
        for (x = 0; x < WIDTH; x++) {
            const unsigned char *row = (const unsigned char *)p.view.data[0] + y * p.view.stride[0];
            const unsigned char *old =
                (const unsigned char *)before.view.data[0] + y * before.view.stride[0];
            double nearest = INFINITY;
            for (i = 0; i < count; i++)
                nearest = fmin(nearest,
                               distance_to(x, y, points + 2 * i, points + 2 * ((i + 1) % count)));
            if (fabs(nearest - width / 2) < 1e-3 && (row[x] == LUMA || row[x] == old[x]))
                continue;
            ck_assert_msg(row[x] == (nearest <= width / 2 ? LUMA : old[x]),
                          "(%d, %d), which is %g from the outline, of width %g", x, y, nearest,
                          width);
            drawn += nearest <= width / 2;
        }
    ck_assert(picture_intact(&p));
    picture_free(&p);
    picture_free(&before);
    return drawn;
}

START_TEST(outlines) {
    static const float widths[] = {1, 1.5f, 2, 3, 7.25f, 30, 1000};
    static const float row[] = {3, 7, 31, 7}, column[] = {8, 2, 8, 27}, place[] = {9, 9, 9, 9};
    static const float square[] = {4, 4, 30, 4, 30, 24, 4, 24};
    static const float cross[] = {2, 2, 36, 27, 36, 2, 2, 27};
    static const float outside[] = {-60, 12, 90, 17, 20, -300}, away[] = {200, 200, 300, 250};
    static const float huge[] = {-131072, -131072, 131072, 131072};
    float circle[2 * 64];
    size_t i;
    int k;
    for (k = 0; k < 64; k++) {
        circle[2 * k] = 20 + 13.3f * (float)cos(k * 0.098174770);
        circle[2 * k + 1] = 15 + 11.7f * (float)sin(k * 0.098174770);
    }
    for (i = 0; i < COUNT(widths); i++) {
        ck_assert_int_gt(expect_outline(triangle, 3, widths[i]), 10);
        ck_assert_int_gt(expect_outline(row, 2, widths[i]), 10);
        ck_assert_int_gt(expect_outline(column, 2, widths[i]), 10);
        ck_assert_int_ge(expect_outline(place, 2, widths[i]), 1);
        ck_assert_int_gt(expect_outline(square, 4, widths[i]), 10);
        ck_assert_int_gt(expect_outline(cross, 4, widths[i]), 10);
        ck_assert_int_gt(expect_outline(circle, 64, widths[i]), 10);
        ck_assert_int_gt(expect_outline(outside, 3, widths[i]), 10);
        ck_assert_int_eq(expect_outline(away, 2, widths[i]) > 0, widths[i] > 400);
        ck_assert_int_gt(expect_outline(huge, 2, widths[i]), 10);
    }
}
END_TEST

/* By eye; pixels on the rim are drawn. */
START_TEST(small_outlines) {
    static const float lying[] = {2, 2, 6, 2}, corner[] = {1, 1, 5, 1, 5, 4};
    picture p = picture_new(GPV_FORMAT_GRAY8, 9, 5, TIGHT);
    memset(p.view.data[0], 0, p.size[0]);
    ck_assert_int_eq(gpv_draw_outline(op, NULL, &p.view, lying, 2, 2, 0xffffff), GPV_OK);
    {
        picture want = picture_of(GPV_FORMAT_GRAY8, 9, 5,
                                  ". . . . . . . . ."
                                  ". . # # # # # . ."
                                  ". # # # # # # # ."
                                  ". . # # # # # . ."
                                  ". . . . . . . . .");
        expect_picture(&p, &want);
    }
    p = picture_new(GPV_FORMAT_GRAY8, 7, 6, TIGHT);
    memset(p.view.data[0], 0, p.size[0]);
    ck_assert_int_eq(gpv_draw_outline(op, NULL, &p.view, corner, 3, 1, 0xffffff), GPV_OK);
    {
        picture want = picture_of(GPV_FORMAT_GRAY8, 7, 6,
                                  ". . . . . . ."
                                  ". # # # # # ."
                                  ". . # # . # ."
                                  ". . . # # # ."
                                  ". . . . . # ."
                                  ". . . . . . .");
        expect_picture(&p, &want);
    }
}
END_TEST

/* What each format takes of a colour. */
START_TEST(colors) {
    static const float all[] = {0, 0, 1, 1};
    static const struct {
        gpv_format format;
        unsigned char pixel[4];
    } cases[] = {{GPV_FORMAT_GRAY8, {LUMA}},
                 {GPV_FORMAT_RGB8, {255, 128, 16}},
                 {GPV_FORMAT_BGR8, {16, 128, 255}},
                 {GPV_FORMAT_RGBA8, {255, 128, 16, 255}},
                 {GPV_FORMAT_BGRA8, {16, 128, 255, 255}},
                 {GPV_FORMAT_RGBX8, {255, 128, 16, 255}},
                 {GPV_FORMAT_BGRX8, {16, 128, 255, 255}}};
    size_t i;
    for (i = 0; i < COUNT(cases); i++) {
        picture p = picture_new(cases[i].format, 2, 2, TIGHT);
        const size_t bytes = p.size[0] / 4;
        size_t k;
        picture_fill(&p, 3);
        ck_assert_int_eq(gpv_draw_outline(op, NULL, &p.view, all, 2, 4, COLOR), GPV_OK);
        for (k = 0; k < 4; k++)
            ck_assert_mem_eq((const unsigned char *)p.view.data[0] + k * bytes, cases[i].pixel,
                             bytes);
        picture_free(&p);
    }
}
END_TEST

/* Of NV12 and I420: white and black by range; a site of chroma changes if one of its pixels does.
 */
START_TEST(colors_of_yuv) {
    static const float dot[] = {3, 2, 3, 2};
    gpv_color_range range;
    int i;
    for (i = 0; i < 2; i++)
        for (range = GPV_COLOR_RANGE_LIMITED; range <= GPV_COLOR_RANGE_FULL; range++) {
            const gpv_format format = i ? GPV_FORMAT_I420 : GPV_FORMAT_NV12;
            picture p = picture_new(format, 7, 5, TIGHT);
            const unsigned char *luma = p.view.data[0], *u = p.view.data[1];
            const unsigned char *v = i ? p.view.data[2] : u + 1;
            const int white = range == GPV_COLOR_RANGE_FULL ? 255 : 235;
            int x, y, k;
            for (k = 0; k < gpv_format_planes(format); k++)
                memset(p.view.data[k], 7, p.size[k]);
            p.view.color_range = range;
            ck_assert_int_eq(gpv_draw_outline(op, NULL, &p.view, dot, 2, 1, 0xffffff), GPV_OK);
            for (y = 0; y < 5; y++)
                for (x = 0; x < 7; x++) {
                    const bool drawn = x == 3 && y == 2, near = x / 2 == 1 && y / 2 == 1;
                    const int64_t site = y / 2 * p.view.stride[1] + x / 2 * (i ? 1 : 2);
                    ck_assert_int_eq(luma[y * p.view.stride[0] + x], drawn ? white : 7);
                    ck_assert_int_eq(u[site], near ? 128 : 7);
                    ck_assert_int_eq(v[site], near ? 128 : 7);
                }
            picture_free(&p);
        }
}
END_TEST

/* In every format and layout nothing is written beside the picture; what is drawn is the same. */
START_TEST(layouts) {
    size_t i;
    int s;
    for (i = 0; i < COUNT(picture_formats); i++)
        for (s = 0; s <= (int)COUNT(picture_sizes); s++) {
            const bool large = s == (int)COUNT(picture_sizes);
            const int width = large ? WIDTH : picture_sizes[s][0];
            const int height = large ? HEIGHT : picture_sizes[s][1];
            picture tight, before;
            layout how;
            if (picture_formats[i] == GPV_FORMAT_GRAY16)
                continue;
            tight = picture_new(picture_formats[i], width, height, TIGHT);
            before = picture_new(picture_formats[i], width, height, TIGHT);
            picture_fill(&tight, 2);
            picture_fill(&before, 2);
            ck_assert_int_eq(draw(&tight.view, 16), GPV_OK);
            ck_assert(!picture_equal(&tight, &before));
            for (how = TIGHT; how < LAYOUTS; how++) {
                picture p = picture_new(picture_formats[i], width, height, how);
                picture_fill(&p, 2);
                ck_assert_int_eq(draw(&p.view, 16), GPV_OK);
                ck_assert_msg(picture_equal(&p, &tight) && picture_intact(&p), "%s %dx%d, %d",
                              format_name(picture_formats[i]), width, height, (int)how);
                picture_free(&p);
            }
            picture_free(&tight);
            picture_free(&before);
        }
}
END_TEST

/* Legal ends, and points up to the last byte of their memory. */
START_TEST(ends_of_ranges) {
    static const float widths[] = {1, 1000};
    picture p = picture_new(GPV_FORMAT_GRAY8, WIDTH, HEIGHT, PADDED);
    picture wall = picture_new(GPV_FORMAT_GRAY8, (int)(2 * 64 * sizeof(float)), 1, WALL_RIGHT);
    float *const points = wall.view.data[0];
    const uint32_t ends[] = {0, 0xffffff};
    size_t i, k;
    int n;
    for (n = 0; n < 2 * 64; n++)
        points[n] = n % 3 ? 131072.0f : -131072.0f;
    for (i = 0; i < COUNT(widths); i++)
        for (k = 0; k < COUNT(ends); k++)
            for (n = 2; n <= 64; n += 62)
                ck_assert_int_eq(gpv_draw_outline(op, NULL, &p.view, points + 2 * (64 - n), n,
                                                  widths[i], ends[k]),
                                 GPV_OK);
    ck_assert(picture_intact(&p));
    picture_free(&p);
    picture_free(&wall);
}
END_TEST

/* --------------------------------------------------------------------- operator */

/* Nothing is allocated, and the runs before and after are not concerned. */
START_TEST(runs_are_not_concerned) {
    unsigned char some[4 * GPV_SIFT_DESCRIPTOR_LENGTH];
    const gpv_buffer set = buffer_of(some, sizeof some);
    picture p = picture_new(GPV_FORMAT_NV12, WIDTH, HEIGHT, TIGHT);
    gpv_match_result result;
    int before;
    memset(some, 1, sizeof some);
    gpv_match_result_init(&result, sizeof result);
    ck_assert_int_eq(draw(&p.view, 2), GPV_OK);
    ck_assert_int_eq(keep.allocations, 0);
    ck_assert_int_eq(gpv_match_query(op), GPV_OK);
    ck_assert_int_eq(gpv_match_wait(op, &result), GPV_OK);
    ck_assert_int_eq(result.queries, 0);
    ck_assert_int_eq(gpv_match_run(op, NULL, &set, 3, NULL, &set, 4, NULL, NULL, NULL), GPV_OK);
    before = keep.allocations;
    ck_assert_int_eq(draw(&p.view, 2), GPV_OK);
    ck_assert_int_eq(draw(NULL, 2), INVALID);
    ck_assert_int_eq(gpv_match_wait(op, &result), GPV_OK);
    ck_assert_int_eq(result.queries, 3);
    ck_assert_int_eq(keep.allocations, before);
    gpv_context_destroy(&context);
    ck_assert_int_eq(draw(&p.view, 2), GPV_OK);
    picture_free(&p);
}
END_TEST

int main(void) {
    const TTest *const tests[] = {bad_arguments_are_refused_untouched,
                                  outlines,
                                  small_outlines,
                                  colors,
                                  colors_of_yuv,
                                  layouts,
                                  ends_of_ranges,
                                  runs_are_not_concerned};
    return run_tests("match_draw", setup, teardown, tests, COUNT(tests));
}
