/* SPDX-License-Identifier: BSD-2-Clause */
/* gpv_draw_outline(): what it refuses, and a few outlines. tests/parity/match.cpp has which pixels,
 * and every format. */
#include "testing.h"

#include <math.h>

enum { WIDTH = 40, HEIGHT = 30, COLOR = 0xff8010 };

FIXTURE(match)

static const float triangle[] = {5, 4, 33.5f, 9.25f, 12, 26};

static gpv_status draw(const gpv_image *dst, float width) {
    return gpv_draw_outline(op, NULL, dst, triangle, 3, width, COLOR);
}

/* ----------------------------------------------------------------------- refusals */

START_TEST(bad_arguments_are_refused_untouched) {
    static const int32_t counts[] = {0, 1, -1, INT32_MIN, 65, INT32_MAX};
    static const float widths[] = {0, -1, 0.99999994f, 1000.0001f, INFINITY, NAN},
                       places[] = {131072.02f, -131072.02f, INFINITY, -INFINITY, NAN};
    static const char *const number[] = {"0",   "-1",   "0.99999994", "1000.0001",
                                         "inf", "nan",  "131072.02",  "-131072.02",
                                         "inf", "-inf", "nan"};
    const gpv_image dst = forbidden_image(forbidden_memory(1 << 21));
    const float *forbidden = forbidden_memory(4096);
    char text[64];
    size_t i, k;
    ck_assert_int_eq(gpv_draw_outline(NULL, NULL, &dst, triangle, 3, 2, COLOR), INVALID);
    refused(gpv_draw_outline(op, NULL, &dst, NULL, 3, 2, COLOR), "points is NULL");
    refused(gpv_draw_outline(op, NULL, &dst, triangle, 3, 2, 0x1000000),
            "color is 16777216,|0..16777215");
    refused(gpv_draw_outline(op, NULL, &dst, triangle, 3, 2, UINT32_MAX),
            "color is 4294967295,|0..16777215");
    for (i = 0; i < COUNT(counts); i++) {
        snprintf(text, sizeof text, "count is %d,|2..64", counts[i]);
        refused(gpv_draw_outline(op, NULL, &dst, forbidden, counts[i], 2, COLOR), text);
    }
    for (i = 0; i < COUNT(widths); i++) {
        snprintf(text, sizeof text, "width is %s,|1..1000", number[i]);
        refused(draw(&dst, widths[i]), text);
    }
    for (i = 0; i < COUNT(triangle); i++)
        for (k = 0; k < COUNT(places); k++) {
            float points[COUNT(triangle)];
            memcpy(points, triangle, sizeof points);
            points[i] = places[k];
            snprintf(text, sizeof text, "points[%d] is %s,|-131072..131072", (int)i,
                     number[COUNT(widths) + k]);
            refused(gpv_draw_outline(op, NULL, &dst, points, 3, 2, COLOR), text);
        }
}
END_TEST

/* ------------------------------------------------------------------------ pixels */

static const float lying[] = {2, 2, 6, 2}, corner[] = {1, 1, 5, 1, 5, 4};

/* By eye, in white on pixels of 7; pixels on the rim are drawn. */
static const struct {
    int width, height, count;
    const float *points;
    float line;
    const char *wanted;
} drawings[] = {
    {9, 5, 2, lying, 2,
     "7 7 7 7 7 7 7 7 7"
     " 7 7 # # # # # 7 7"
     " 7 # # # # # # # 7"
     " 7 7 # # # # # 7 7"
     " 7 7 7 7 7 7 7 7 7"},
    {7, 6, 3, corner, 1,
     "7 7 7 7 7 7 7"
     " 7 # # # # # 7"
     " 7 7 # # 7 # 7"
     " 7 7 7 # # # 7"
     " 7 7 7 7 7 # 7"
     " 7 7 7 7 7 7 7"},
};

START_TEST(small_outlines) {
    for (size_t i = 0; i < COUNT(drawings); i++) {
        const int width = drawings[i].width, height = drawings[i].height;
        picture want = picture_of(GPV_FORMAT_GRAY8, width, height, drawings[i].wanted);
        picture p = picture_new(GPV_FORMAT_GRAY8, width, height, TIGHT);
        memset(p.view.data[0], 7, p.size[0]);
        succeed(gpv_draw_outline(op, NULL, &p.view, drawings[i].points, drawings[i].count,
                                 drawings[i].line, 0xffffff));
        expect_picture(&p, &want);
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
    for (int n = 0; n < 2 * 64; n++)
        points[n] = n % 3 ? 131072.0f : -131072.0f;
    for (size_t i = 0; i < COUNT(widths); i++)
        for (size_t k = 0; k < COUNT(ends); k++)
            for (int n = 2; n <= 64; n += 62)
                succeed(gpv_draw_outline(op, NULL, &p.view, points + 2 * (64 - n), n, widths[i],
                                         ends[k]));
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

RUN_TESTS("match_draw", setup, teardown, bad_arguments_are_refused_untouched, small_outlines,
          ends_of_ranges, runs_are_not_concerned)
