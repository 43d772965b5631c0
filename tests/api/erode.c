/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"

FIXTURE(erode)

static gpv_erode_params params_of(gpv_erode_operation operation, gpv_erode_shape shape, int32_t rx,
                                  int32_t ry) {
    gpv_erode_params params;
    gpv_erode_params_init(&params, sizeof params);
    params.operation = operation;
    params.shape = shape;
    params.radius = rx;
    params.radius_y = ry;
    return params;
}

static void run(const picture *src, const picture *dst) {
    ck_assert_msg(gpv_erode_run(op, NULL, &src->view, &dst->view) == GPV_OK, "%s",
                  gpv_context_error(context));
}

START_TEST(threshold_beyond_the_format) {
    unsigned char *memory = forbidden_memory(1 << 22);
    gpv_image src = forbidden_image(memory);
    gpv_image dst = forbidden_image(memory + (1 << 21));
    gpv_erode_params params = params_of(GPV_ERODE_OPERATION_ERODE, GPV_ERODE_SHAPE_RECT, 1, 1);
    size_t i;
    params.threshold = 256;
    set(params);
    for (i = 0; i < COUNT(picture_formats); i++) {
        src.format = dst.format = picture_formats[i];
        if (picture_formats[i] == GPV_FORMAT_GRAY16) {
            ck_assert_int_eq(gpv_erode_prepare(op, &src), GPV_OK);
            continue;
        }
        expect_error(context, &keep, gpv_erode_run(op, NULL, &src, &dst), INVALID,
                     "threshold|256|0..255");
        expect_error(context, &keep, gpv_erode_prepare(op, &src), INVALID, "threshold|256|0..255");
    }
    /* right for src: dst is what is wrong */
    src.format = GPV_FORMAT_GRAY16;
    dst.format = GPV_FORMAT_GRAY8;
    expect_error(context, &keep, gpv_erode_run(op, NULL, &src, &dst), INVALID,
                 "dst|GRAY8|GRAY16|src");
    dst.format = GPV_FORMAT_LABEL32;
    expect_error(context, &keep, gpv_erode_run(op, NULL, &src, &dst), GPV_ERR_UNSUPPORTED,
                 "dst->format|LABEL32|morphology takes GRAY8, GRAY16, RGB8|NV12, I420");
}
END_TEST

/* ------------------------------------------------- results worked out by hand */

static void expect_planes(gpv_erode_params params, gpv_format format, int width, int height,
                          const char *source, const char *result) {
    picture src = picture_of(format, width, height, source);
    picture want = picture_of(format, width, height, result);
    picture dst = picture_new(format, width, height, TIGHT);
    set(params);
    run(&src, &dst);
    expect_picture(&dst, &want);
    picture_free(&src);
}

static void expect_gray(gpv_erode_params params, int width, int height, const char *source,
                        const char *result) {
    expect_planes(params, GPV_FORMAT_GRAY8, width, height, source, result);
}

static gpv_erode_params binary(gpv_erode_params params, int32_t threshold) {
    params.threshold = threshold;
    return params;
}

static gpv_erode_params bordered(gpv_erode_params params) {
    params.border = GPV_ERODE_BORDER_BACKGROUND;
    return params;
}

static gpv_erode_params repeated(gpv_erode_params params, int32_t iterations) {
    params.iterations = iterations;
    return params;
}

static const char hole[] = "#######"
                           "#######"
                           "#######"
                           "###.###"
                           "#######"
                           "#######"
                           "#######";

START_TEST(shapes) {
    static const struct {
        gpv_erode_shape shape;
        int32_t rx, ry, iterations;
        const char *want;
    } cases[] = {
        {GPV_ERODE_SHAPE_RECT, 0, 0, 1, "####### ####### ####### ###.### ####### ####### #######"},
        {GPV_ERODE_SHAPE_RECT, 1, -1, 1, "####### ####### ##...## ##...## ##...## ####### #######"},
        {GPV_ERODE_SHAPE_RECT, 2, 0, 1, "####### ####### ####### #.....# ####### ####### #######"},
        {GPV_ERODE_SHAPE_RECT, 0, 1, 1, "####### ####### ###.### ###.### ###.### ####### #######"},
        {GPV_ERODE_SHAPE_RECT, 1, 1, 2, "####### #.....# #.....# #.....# #.....# #.....# #######"},
        {GPV_ERODE_SHAPE_CROSS, 1, -1, 1,
         "####### ####### ###.### ##...## ###.### ####### #######"},
        {GPV_ERODE_SHAPE_CROSS, 3, 1, 1, "####### ####### ###.### ....... ###.### ####### #######"},
        {GPV_ERODE_SHAPE_CROSS, 1, 1, 2, "####### ###.### ##...## #.....# ##...## ###.### #######"},
        {GPV_ERODE_SHAPE_ELLIPSE, 1, 1, 1,
         "####### ####### ###.### ##...## ###.### ####### #######"},
        {GPV_ERODE_SHAPE_ELLIPSE, 2, 2, 1,
         "####### ###.### #.....# #.....# #.....# ###.### #######"},
        {GPV_ERODE_SHAPE_ELLIPSE, 3, 3, 1,
         "###.### #.....# ....... ....... ....... #.....# ###.###"},
        {GPV_ERODE_SHAPE_ELLIPSE, 3, 1, 1,
         "####### ####### ###.### ....... ###.### ####### #######"},
        {GPV_ERODE_SHAPE_RECT, 255, 255, 255,
         "....... ....... ....... ....... ....... ....... ......."},
    };
    size_t i, k;
    for (i = 0; i < COUNT(cases); i++) {
        gpv_erode_params params =
            repeated(params_of(GPV_ERODE_OPERATION_ERODE, cases[i].shape, cases[i].rx, cases[i].ry),
                     cases[i].iterations);
        char negative_hole[sizeof hole], negative[128];
        expect_gray(params, 7, 7, hole, cases[i].want);
        expect_gray(binary(params, 1), 7, 7, hole, cases[i].want);
        /* dilation by duality */
        for (k = 0; k < sizeof hole; k++)
            negative_hole[k] = hole[k] == '.' ? '#' : hole[k] == '#' ? '.' : hole[k];
        for (k = 0; k <= strlen(cases[i].want); k++)
            negative[k] = cases[i].want[k] == '.'   ? '#'
                          : cases[i].want[k] == '#' ? '.'
                                                    : cases[i].want[k];
        params.operation = GPV_ERODE_OPERATION_DILATE;
        expect_gray(params, 7, 7, negative_hole, negative);
        expect_gray(binary(params, 255), 7, 7, negative_hole, negative);
    }
}
END_TEST

START_TEST(operations) {
    static const struct {
        gpv_erode_operation operation;
        const char *source, *want;
    } rows[] = {
        {GPV_ERODE_OPERATION_ERODE, "9 7 8 1 6 6 6 2", "7 7 1 1 1 6 2 2"},
        {GPV_ERODE_OPERATION_DILATE, "9 7 8 1 6 6 6 2", "9 9 8 8 6 6 6 6"},
        {GPV_ERODE_OPERATION_OPEN, "0 9 0 4 4 4 0 9", "0 0 0 4 4 4 0 0"},
        {GPV_ERODE_OPERATION_CLOSE, "5 0 5 5 1 1 1 5", "5 5 5 5 1 1 1 5"},
        {GPV_ERODE_OPERATION_GRADIENT, "0 0 0 5 5 5 9 9", "0 0 5 5 0 4 4 0"},
        {GPV_ERODE_OPERATION_TOPHAT, "0 9 0 4 4 4 0 9", "0 9 0 0 0 0 0 9"},
        {GPV_ERODE_OPERATION_BLACKHAT, "5 0 5 5 1 1 1 5", "0 5 0 0 0 0 0 0"},
    };
    size_t i;
    for (i = 0; i < COUNT(rows); i++) {
        expect_gray(params_of(rows[i].operation, GPV_ERODE_SHAPE_RECT, 1, 0), 8, 1, rows[i].source,
                    rows[i].want);
        expect_gray(params_of(rows[i].operation, GPV_ERODE_SHAPE_CROSS, 0, 1), 1, 8, rows[i].source,
                    rows[i].want);
        expect_gray(params_of(rows[i].operation, GPV_ERODE_SHAPE_CROSS, 1, 0), 8, 1, rows[i].source,
                    rows[i].want);
        expect_planes(params_of(rows[i].operation, GPV_ERODE_SHAPE_RECT, 1, 0), GPV_FORMAT_GRAY16,
                      8, 1, rows[i].source, rows[i].want);
    }
}
END_TEST

START_TEST(iterations_repeat_each_erosion_and_dilation) {
    /* open twice = erode twice, then dilate twice: the bar of 4 goes, that of 5 stays */
    expect_gray(repeated(params_of(GPV_ERODE_OPERATION_OPEN, GPV_ERODE_SHAPE_RECT, 1, 0), 2), 12, 1,
                ".####.#####.", "......#####.");
    expect_gray(repeated(params_of(GPV_ERODE_OPERATION_OPEN, GPV_ERODE_SHAPE_CROSS, 1, 0), 2), 12,
                1, ".####.#####.", "......#####.");
    expect_gray(
        binary(repeated(params_of(GPV_ERODE_OPERATION_CLOSE, GPV_ERODE_SHAPE_RECT, 1, 0), 2), 9),
        12, 1, "#....#.....#", "######.....#");
}
END_TEST

START_TEST(borders) {
    const gpv_erode_params erode = params_of(GPV_ERODE_OPERATION_ERODE, GPV_ERODE_SHAPE_RECT, 1, 1);
    const gpv_erode_params cross =
        params_of(GPV_ERODE_OPERATION_ERODE, GPV_ERODE_SHAPE_CROSS, 1, 1);
    const gpv_erode_params close = params_of(GPV_ERODE_OPERATION_CLOSE, GPV_ERODE_SHAPE_RECT, 1, 0);
    const gpv_erode_params ellipse =
        params_of(GPV_ERODE_OPERATION_ERODE, GPV_ERODE_SHAPE_ELLIPSE, 2, 2);
    expect_gray(erode, 4, 3, "7 7 7 7 7 7 7 7 7 7 7 7", "7 7 7 7 7 7 7 7 7 7 7 7");
    expect_gray(bordered(erode), 4, 3, "7 7 7 7 7 7 7 7 7 7 7 7", "0 0 0 0 0 7 7 0 0 0 0 0");
    expect_gray(bordered(cross), 4, 3, "7 7 7 7 7 7 7 7 7 7 7 7", "0 0 0 0 0 7 7 0 0 0 0 0");
    expect_gray(binary(bordered(erode), 7), 4, 3, "7 7 7 7 7 7 7 7 7 7 7 7", ".....##.....");
    expect_gray(bordered(erode), 1, 1, "9", "0");
    expect_gray(erode, 1, 1, "9", "9");
    expect_gray(bordered(ellipse), 5, 5, "##### ##### ##### ##### #####",
                "..... ..... ..#.. ..... .....");
    expect_gray(bordered(repeated(erode, 2)), 5, 5, "##### ##### ##### ##### #####",
                "..... ..... ..#.. ..... .....");
    expect_gray(close, 4, 1, "5 5 5 5", "5 5 5 5");
    expect_gray(bordered(close), 4, 1, "5 5 5 5", "0 5 5 0");
    /* close - source never falls below 0 */
    expect_gray(bordered(params_of(GPV_ERODE_OPERATION_BLACKHAT, GPV_ERODE_SHAPE_RECT, 1, 0)), 4, 1,
                "5 5 5 5", "0 0 0 0");
}
END_TEST

START_TEST(grey_formats) {
    static const char plain16[] = "300 256 255 65535 0", want16[] = "256 255 255 0 0";
    static const char rgb[] = "9 20 30  5 80 60  7 50 90";
    static const char rgb_eroded[] = "5 20 30  5 20 30  5 50 60";
    static const char bgra[] = "9 20 30 1  5 80 60 2  7 50 90 3";
    static const char bgra_eroded[] = "5 20 30 1  5 20 30 2  5 50 60 3";
    static const char bgra_gradient[] = "4 60 30 1  4 60 60 2  2 30 30 3";
    static const char nv12[] = "4 3 2 1 9 | 1 90  2 80  3 70";
    static const char nv12_luma[] = "3 2 1 1 1 | 1 90  2 80  3 70";
    static const char nv12_all[] = "3 2 1 1 1 | 1 80  1 70  2 70";
    static const char i420[] = "4 3 2 1 9 | 5 6 7 | 9 8 7";
    static const char i420_luma[] = "3 2 1 1 1 | 5 6 7 | 9 8 7";
    static const char i420_all[] = "3 2 1 1 1 | 5 5 6 | 8 7 7";
    gpv_erode_params params = params_of(GPV_ERODE_OPERATION_ERODE, GPV_ERODE_SHAPE_RECT, 1, 0);
    const gpv_erode_params gradient =
        params_of(GPV_ERODE_OPERATION_GRADIENT, GPV_ERODE_SHAPE_RECT, 1, 0);
    gpv_erode_planes planes;
    expect_planes(params, GPV_FORMAT_GRAY16, 5, 1, plain16, want16);
    for (planes = GPV_ERODE_PLANES_AUTO; planes <= GPV_ERODE_PLANES_ALL; planes++) {
        const bool all = planes == GPV_ERODE_PLANES_ALL;
        params.planes = planes;
        expect_planes(params, GPV_FORMAT_RGB8, 3, 1, rgb, rgb_eroded);
        expect_planes(params, GPV_FORMAT_BGRA8, 3, 1, bgra, bgra_eroded);
        expect_planes(params, GPV_FORMAT_NV12, 5, 1, nv12, all ? nv12_all : nv12_luma);
        expect_planes(params, GPV_FORMAT_I420, 5, 1, i420, all ? i420_all : i420_luma);
    }
    expect_planes(gradient, GPV_FORMAT_BGRA8, 3, 1, bgra, bgra_gradient);
}
END_TEST

START_TEST(thresholds) {
    const gpv_erode_params same = params_of(GPV_ERODE_OPERATION_ERODE, GPV_ERODE_SHAPE_RECT, 0, 0);
    const gpv_erode_params erode = params_of(GPV_ERODE_OPERATION_ERODE, GPV_ERODE_SHAPE_RECT, 1, 0);
    static const char wide[] = "0 299 300 65535", wide_want[] = "0 0 65535 65535";
    /* luma 77, 149, 29 and 255: red, green, blue and white */
    static const char rgb[] = "255 0 0  0 255 0  0 0 255  255 255 255";
    static const char rgb_77[] = "### ### ... ###", rgb_78[] = "... ### ... ###";
    static const char bgr_77[] = "... ### ### ###";
    static const char rgba[] = "255 0 0 1  0 255 0 2  0 0 255 3  255 255 255 4";
    static const char bgra_77[] = "... 1 ### 2 ### 3 ### 4";
    static const char bgra_eroded[] = "... 1 ... 2 ### 3 ### 4";
    static const char nv12[] = "9 10 11 10 10 | 1 2 3 4 5 6";
    static const char nv12_want[] = ". . # # # | 128 128 128 128 128 128";
    static const char i420[] = "9 10 11 10 10 | 1 2 3 | 4 5 6";
    static const char i420_want[] = ". . # # # | 128 128 128 | 128 128 128";
    expect_gray(binary(same, 128), 5, 1, "0 100 127 128 255", "0 0 0 255 255");
    expect_gray(binary(same, 1), 3, 1, "0 1 255", "0 255 255");
    expect_gray(binary(same, 255), 3, 1, "0 254 255", "0 0 255");
    expect_gray(binary(erode, 60), 5, 1, "0 200 60 200 59", "0 0 255 0 0");
    expect_gray(binary(params_of(GPV_ERODE_OPERATION_GRADIENT, GPV_ERODE_SHAPE_RECT, 1, 0), 60), 5,
                1, "0 0 0 200 200", "0 0 255 255 0");
    expect_planes(binary(same, 300), GPV_FORMAT_GRAY16, 4, 1, wide, wide_want);
    expect_planes(binary(same, 77), GPV_FORMAT_RGB8, 4, 1, rgb, rgb_77);
    expect_planes(binary(same, 78), GPV_FORMAT_RGB8, 4, 1, rgb, rgb_78);
    expect_planes(binary(same, 77), GPV_FORMAT_BGR8, 4, 1, rgb, bgr_77);
    expect_planes(binary(same, 77), GPV_FORMAT_BGRA8, 4, 1, rgba, bgra_77);
    expect_planes(binary(erode, 77), GPV_FORMAT_BGRA8, 4, 1, rgba, bgra_eroded);
    expect_planes(binary(erode, 10), GPV_FORMAT_NV12, 5, 1, nv12, nv12_want);
    expect_planes(binary(erode, 10), GPV_FORMAT_I420, 5, 1, i420, i420_want);
}
END_TEST

int main(void) {
    const TTest *const tests[] = {threshold_beyond_the_format,
                                  shapes,
                                  operations,
                                  iterations_repeat_each_erosion_and_dilation,
                                  borders,
                                  grey_formats,
                                  thresholds};
    return run_tests("erode", setup, teardown, tests, COUNT(tests));
}
