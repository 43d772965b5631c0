/* SPDX-License-Identifier: BSD-2-Clause */
/* Results worked out by hand. tests/parity/erode.cpp has every format and element. */
#include "testing.h"

FIXTURE(erode)

static void expect(gpv_erode_params params, gpv_format format, int width, int height,
                   const char *source, const char *result) {
    picture src = picture_of(format, width, height, source);
    picture want = picture_of(format, width, height, result);
    picture dst = picture_new(format, width, height, TIGHT);
    set(params);
    succeed(gpv_erode_run(op, NULL, &src.view, &dst.view));
    expect_picture(&dst, &want);
    picture_free(&src);
}

enum {
    RECT = GPV_ERODE_SHAPE_RECT,
    CROSS = GPV_ERODE_SHAPE_CROSS,
    ELLIPSE = GPV_ERODE_SHAPE_ELLIPSE
};

/* Each grey and as a mask. */
START_TEST(shapes) {
    static const char hole[] = "####### ####### ####### ###.### ####### ####### #######";
    static const struct {
        gpv_erode_shape shape;
        int32_t rx, ry, iterations;
        const char *want;
    } cases[] = {
        {RECT, 0, 0, 1, "####### ####### ####### ###.### ####### ####### #######"},
        {RECT, 1, -1, 1, "####### ####### ##...## ##...## ##...## ####### #######"},
        {RECT, 2, 0, 1, "####### ####### ####### #.....# ####### ####### #######"},
        {RECT, 1, 1, 2, "####### #.....# #.....# #.....# #.....# #.....# #######"},
        {CROSS, 1, -1, 1, "####### ####### ###.### ##...## ###.### ####### #######"},
        {CROSS, 3, 1, 1, "####### ####### ###.### ....... ###.### ####### #######"},
        {CROSS, 1, 1, 2, "####### ###.### ##...## #.....# ##...## ###.### #######"},
        {CROSS, 0, 1, 2, "####### ###.### ###.### ###.### ###.### ###.### #######"},
        {ELLIPSE, 1, 1, 1, "####### ####### ###.### ##...## ###.### ####### #######"},
        {ELLIPSE, 2, 2, 1, "####### ###.### #.....# #.....# #.....# ###.### #######"},
        {ELLIPSE, 3, 3, 1, "###.### #.....# ....... ....... ....... #.....# ###.###"},
        {ELLIPSE, 3, 1, 1, "####### ####### ###.### ....... ###.### ####### #######"},
        {RECT, 255, 255, 255, "....... ....... ....... ....... ....... ....... ......."},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        gpv_erode_params params = defaults();
        params.shape = cases[i].shape;
        params.radius = cases[i].rx;
        params.radius_y = cases[i].ry;
        params.iterations = cases[i].iterations;
        for (params.threshold = 0; params.threshold <= 255; params.threshold += 255)
            expect(params, GPV_FORMAT_GRAY8, 7, 7, hole, cases[i].want);
    }
}
END_TEST

#define SEVENS "7 7 7 7 7 7 7 7 7 7 7 7"
/* Luma 77, 149, 29 and 255: red, green, blue and white. */
#define COLOURS "255 0 0  0 255 0  0 0 255  255 255 255"
#define BGRA "255 0 0 1  0 255 0 2  0 0 255 3  255 255 255 4"

enum { ERODE, DILATE, OPEN, CLOSE, GRADIENT, TOPHAT, BLACKHAT }; /* as in the interface */
enum { GRAY8 = GPV_FORMAT_GRAY8, ALL = GPV_ERODE_PLANES_ALL };

/* By rectangles. */
static const struct {
    gpv_erode_operation operation;
    int32_t radius, radius_y, iterations, threshold;
    gpv_erode_border border;
    gpv_erode_planes planes;
    gpv_format format;
    int width, height;
    const char *source, *want;
} cases[] = {
    {ERODE, 1, 0, 1, 0, 0, 0, GRAY8, 8, 1, "9 7 8 1 6 6 6 2", "7 7 1 1 1 6 2 2"},
    {DILATE, 1, 0, 1, 0, 0, 0, GRAY8, 8, 1, "9 7 8 1 6 6 6 2", "9 9 8 8 6 6 6 6"},
    {OPEN, 1, 0, 1, 0, 0, 0, GRAY8, 8, 1, "0 9 0 4 4 4 0 9", "0 0 0 4 4 4 0 0"},
    {CLOSE, 1, 0, 1, 0, 0, 0, GRAY8, 8, 1, "5 0 5 5 1 1 1 5", "5 5 5 5 1 1 1 5"},
    {GRADIENT, 1, 0, 1, 0, 0, 0, GRAY8, 8, 1, "0 0 0 5 5 5 9 9", "0 0 5 5 0 4 4 0"},
    {TOPHAT, 1, 0, 1, 0, 0, 0, GRAY8, 8, 1, "0 9 0 4 4 4 0 9", "0 9 0 0 0 0 0 9"},
    {BLACKHAT, 1, 0, 1, 0, 0, 0, GRAY8, 8, 1, "5 0 5 5 1 1 1 5", "0 5 0 0 0 0 0 0"},
    /* open twice = erode twice, then dilate twice: the bar of 4 goes, that of 5 stays */
    {OPEN, 1, 0, 2, 0, 0, 0, GRAY8, 12, 1, ".####.#####.", "......#####."},
    {CLOSE, 1, 0, 2, 9, 0, 0, GRAY8, 12, 1, "#....#.....#", "######.....#"},
    /* beyond the border is nothing, or the background */
    {ERODE, 1, 1, 1, 0, 0, 0, GRAY8, 4, 3, SEVENS, SEVENS},
    {ERODE, 1, 1, 1, 0, 1, 0, GRAY8, 4, 3, SEVENS, "0 0 0 0 0 7 7 0 0 0 0 0"},
    {ERODE, 1, 1, 1, 7, 1, 0, GRAY8, 4, 3, SEVENS, ".....##....."},
    {ERODE, 1, 1, 2, 0, 1, 0, GRAY8, 5, 5, "##### ##### ##### ##### #####",
     "..... ..... ..#.. ..... ....."},
    {CLOSE, 1, 0, 1, 0, 1, 0, GRAY8, 4, 1, "5 5 5 5", "0 5 5 0"},
    /* close - source never falls below 0 */
    {BLACKHAT, 1, 0, 1, 0, 1, 0, GRAY8, 4, 1, "5 5 5 5", "0 0 0 0"},
    /* each channel but alpha; chroma where it is asked for */
    {ERODE, 1, 0, 1, 0, 0, 0, GPV_FORMAT_GRAY16, 5, 1, "300 256 255 65535 0", "256 255 255 0 0"},
    {ERODE, 1, 0, 1, 0, 0, 0, GPV_FORMAT_BGRA8, 3, 1, "9 20 30 1  5 80 60 2  7 50 90 3",
     "5 20 30 1  5 20 30 2  5 50 60 3"},
    {ERODE, 1, 0, 1, 0, 0, 0, GPV_FORMAT_I420, 5, 1, "4 3 2 1 9 | 5 6 7 | 9 8 7",
     "3 2 1 1 1 | 5 6 7 | 9 8 7"},
    {ERODE, 1, 0, 1, 0, 0, ALL, GPV_FORMAT_I420, 5, 1, "4 3 2 1 9 | 5 6 7 | 9 8 7",
     "3 2 1 1 1 | 5 5 6 | 8 7 7"},
    /* a threshold makes a mask: of luma, and with neutral chroma */
    {ERODE, 0, 0, 1, 128, 0, 0, GRAY8, 5, 1, "0 100 127 128 255", "0 0 0 255 255"},
    {GRADIENT, 1, 0, 1, 60, 0, 0, GRAY8, 5, 1, "0 0 0 200 200", "0 0 255 255 0"},
    {ERODE, 0, 0, 1, 300, 0, 0, GPV_FORMAT_GRAY16, 4, 1, "0 299 300 65535", "0 0 65535 65535"},
    {ERODE, 0, 0, 1, 77, 0, 0, GPV_FORMAT_RGB8, 4, 1, COLOURS, "### ### ... ###"},
    {ERODE, 0, 0, 1, 77, 0, 0, GPV_FORMAT_BGR8, 4, 1, COLOURS, "... ### ### ###"},
    {ERODE, 1, 0, 1, 77, 0, 0, GPV_FORMAT_BGRA8, 4, 1, BGRA, "... 1 ... 2 ### 3 ### 4"},
    {ERODE, 1, 0, 1, 10, 0, 0, GPV_FORMAT_NV12, 5, 1, "9 10 11 10 10 | 1 2 3 4 5 6",
     ". . # # # | ? ? ? ? ? ?"},
};

START_TEST(small_pictures) {
    for (size_t i = 0; i < COUNT(cases); i++) {
        const gpv_erode_params params = {sizeof params,
                                         cases[i].operation,
                                         RECT,
                                         cases[i].radius,
                                         cases[i].radius_y,
                                         cases[i].iterations,
                                         cases[i].threshold,
                                         cases[i].border,
                                         cases[i].planes,
                                         0};
        expect(params, cases[i].format, cases[i].width, cases[i].height, cases[i].source,
               cases[i].want);
    }
}
END_TEST

RUN_TESTS("erode", setup, teardown, shapes, small_pictures)
