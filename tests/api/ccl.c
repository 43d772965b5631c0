/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"

FIXTURE(ccl)

static gpv_ccl_params output_of(gpv_ccl_output output) {
    gpv_ccl_params params = defaults();
    params.output = output;
    return params;
}

static gpv_status run_views(const gpv_image *src, const gpv_image *dst) {
    return gpv_ccl_run(op, NULL, src, dst, NULL, 0, NULL);
}

static void run(const picture *src, const picture *dst) {
    ck_assert_msg(run_views(&src->view, &dst->view) == GPV_OK, "%s", gpv_context_error(context));
}

/* Of the last run: status, count, records. */
static void expect_result(gpv_status wanted, int count, int components) {
    gpv_ccl_result result;
    gpv_status status;
    gpv_ccl_result_init(&result, sizeof result);
    result.count = result.components = -7;
    status = gpv_ccl_wait(op, &result);
    ck_assert_int_eq(status, wanted);
    ck_assert_int_eq(gpv_ccl_wait(op, NULL), wanted);
    ck_assert_int_eq(gpv_ccl_query(op), wanted);
    ck_assert_int_eq(result.count, count);
    ck_assert_int_eq(result.components, components);
    ck_assert_uint_eq(result.reserved, 0);
    ck_assert_uint_eq(result.struct_size, sizeof result);
}

/* ------------------------------------------------------------------ refusals */

START_TEST(luma_beyond_the_format) {
    unsigned char *memory = forbidden_memory(1 << 22);
    gpv_image src = forbidden_image(memory);
    gpv_ccl_params threshold = defaults(), foreground = defaults();
    size_t i;
    threshold.threshold = 256;
    foreground.foreground = 256;
    for (i = 0; i < COUNT(picture_formats); i++) {
        src.format = picture_formats[i];
        if (src.format == GPV_FORMAT_GRAY16) {
            set(threshold);
            ck_assert_int_eq(gpv_ccl_prepare(op, &src, NULL, 0), GPV_OK);
            set(foreground);
            ck_assert_int_eq(gpv_ccl_prepare(op, &src, NULL, 0), GPV_OK);
            continue;
        }
        set(threshold);
        expect_error(context, &keep, run_views(&src, NULL), INVALID,
                     "params->threshold|256|0..255");
        expect_error(context, &keep, gpv_ccl_prepare(op, &src, NULL, 0), INVALID,
                     "params->threshold|256|0..255");
        set(foreground);
        expect_error(context, &keep, run_views(&src, NULL), INVALID,
                     "params->foreground|256|-1..255");
        expect_error(context, &keep, gpv_ccl_prepare(op, &src, NULL, 0), INVALID,
                     "params->foreground|256|-1..255");
    }
}
END_TEST

START_TEST(prepared_components) {
    const gpv_image src = forbidden_image(forbidden_memory(1 << 21));
    expect_error(context, &keep, gpv_ccl_prepare(op, &src, NULL, -1), INVALID,
                 "components|-1|0..2147483647");
    expect_error(context, &keep, gpv_ccl_prepare(op, &src, NULL, INT32_MIN), INVALID,
                 "components|-2147483648|0..2147483647");
}
END_TEST

START_TEST(no_more_than_there_is_room_for) {
    picture src = picture_new(GPV_FORMAT_GRAY8, 9, 1, TIGHT);
    gpv_ccl_component room[2];
    const gpv_buffer records = buffer_of(room, sizeof room);
    gpv_image bad = src.view;
    memcpy(src.view.data[0], "\0\1\0\1\1\0\0\1\1", 9);
    ck_assert_int_eq(gpv_ccl_run(op, NULL, &src.view, NULL, &records, 0, NULL), GPV_OK);
    expect_result(GPV_ERR_TOO_SMALL, 3, 2);
    expect_text(gpv_context_error(context), "3 components|room|2");
    bad.width = 0; /* what was refused for its arguments does not count */
    ck_assert_int_eq(run_views(&bad, NULL), INVALID);
    expect_result(GPV_ERR_TOO_SMALL, 3, 2);
    memset(src.view.data[0], 0, 9);
    ck_assert_int_eq(gpv_ccl_run(op, NULL, &src.view, NULL, &records, 0, NULL), GPV_OK);
    expect_result(GPV_OK, 0, 0);
    picture_free(&src);
}
END_TEST

/* ------------------------------------------------- results worked out by hand */

static void expect_planes(gpv_ccl_params params, gpv_format from, gpv_format to, int width,
                          int height, const char *source, const char *result) {
    picture src = picture_of(from, width, height, source);
    picture want = picture_of(to, width, height, result);
    picture dst = picture_new(to, width, height, TIGHT);
    set(params);
    run(&src, &dst);
    expect_picture(&dst, &want);
    picture_free(&src);
}

static void expect_labels(gpv_ccl_params params, int width, int height, const char *source,
                          const char *labels) {
    expect_planes(params, GPV_FORMAT_GRAY8, GPV_FORMAT_LABEL32, width, height, source, labels);
}

/* Two that touch at a corner, a ring with a dot in it, and a bar. */
static const char shapes[] = "##...####"
                             "..#..#..#"
                             "..#..#.##"
                             ".....#..."
                             "#.#.#####";

START_TEST(connectivity) {
    gpv_ccl_params params = defaults();
    expect_labels(params, 9, 5, shapes,
                  "1 1 0 0 0 2 2 2 2 "
                  "0 0 1 0 0 2 0 0 2 "
                  "0 0 1 0 0 2 0 2 2 "
                  "0 0 0 0 0 2 0 0 0 "
                  "3 0 4 0 2 2 2 2 2");
    expect_result(GPV_OK, 4, 0);
    params.connectivity = 4;
    expect_labels(params, 9, 5, shapes,
                  "1 1 0 0 0 2 2 2 2 "
                  "0 0 3 0 0 2 0 0 2 "
                  "0 0 3 0 0 2 0 2 2 "
                  "0 0 0 0 0 2 0 0 0 "
                  "4 0 5 0 2 2 2 2 2");
    expect_result(GPV_OK, 5, 0);
    /* whose first pixel is later has the larger label, whatever else is seen first */
    expect_labels(params, 5, 3, "..#.# #.#.# #####", "0 0 1 0 1 1 0 1 0 1 1 1 1 1 1");
}
END_TEST

START_TEST(foreground) {
    static const char source[] = "0 9 9 7 0 200 7 9";
    gpv_ccl_params params = defaults();
    expect_labels(params, 8, 1, source, "0 1 1 1 0 2 2 2");
    params.threshold = 0;
    expect_labels(params, 8, 1, source, "1 1 1 1 1 1 1 1");
    params.threshold = 9;
    expect_labels(params, 8, 1, source, "0 1 1 0 0 2 0 3");
    params.invert = 1;
    expect_labels(params, 8, 1, source, "1 0 0 2 2 0 3 0");
    params.foreground = 9; /* instead of the threshold */
    params.invert = 0;
    expect_labels(params, 8, 1, source, "0 1 1 0 0 0 0 2");
    params.invert = 1;
    expect_labels(params, 8, 1, source, "1 0 0 2 2 2 2 0");
    params.foreground = 0;
    params.invert = 0;
    expect_labels(params, 8, 1, source, "1 0 0 0 2 0 0 0");
    params = defaults();
    params.mode = GPV_CCL_MODE_EQUAL_VALUE;
    expect_labels(params, 8, 1, source, "0 1 1 2 0 3 4 5");
    params.threshold = 0;
    expect_labels(params, 8, 1, source, "1 2 2 3 4 5 6 7");
    params.threshold = 8;
    params.invert = 1;
    expect_labels(params, 8, 1, source, "1 0 0 2 3 0 4 0");
    params.threshold = 255;
    params.invert = 0;
    expect_labels(params, 8, 1, source, "0 0 0 0 0 0 0 0");
    expect_result(GPV_OK, 0, 0);
}
END_TEST

START_TEST(areas) {
    gpv_ccl_params params = defaults();
    params.connectivity = 4;
    params.min_area = 2;
    expect_labels(params, 9, 5, shapes,
                  "1 1 0 0 0 2 2 2 2 "
                  "0 0 3 0 0 2 0 0 2 "
                  "0 0 3 0 0 2 0 2 2 "
                  "0 0 0 0 0 2 0 0 0 "
                  "0 0 0 0 2 2 2 2 2");
    expect_result(GPV_OK, 3, 0);
    params.max_area = 2;
    expect_labels(params, 9, 5, shapes,
                  "1 1 0 0 0 0 0 0 0 "
                  "0 0 2 0 0 0 0 0 0 "
                  "0 0 2 0 0 0 0 0 0 "
                  "0 0 0 0 0 0 0 0 0 "
                  "0 0 0 0 0 0 0 0 0");
    params.min_area = 0;
    params.max_area = 1;
    expect_labels(params, 9, 5, shapes,
                  "0 0 0 0 0 0 0 0 0 "
                  "0 0 0 0 0 0 0 0 0 "
                  "0 0 0 0 0 0 0 0 0 "
                  "0 0 0 0 0 0 0 0 0 "
                  "1 0 2 0 0 0 0 0 0");
    params.min_area = 3; /* more than max_area: none */
    params.max_area = 2;
    expect_labels(params, 3, 1, "##.", "0 0 0");
}
END_TEST

START_TEST(measures) {
    picture src = picture_of(GPV_FORMAT_GRAY8, 9, 5, shapes);
    static const gpv_ccl_component want[] = {
        {0, 0, 3, 3, 4, 0, 0 + 1 + 2 + 2, 0 + 0 + 1 + 2},
        {4, 0, 9, 5, 15, 0, 26 + 13 + 20 + 5 + 30, 0 + 2 + 6 + 3 + 20},
        {0, 4, 1, 5, 1, 0, 0, 4},
        {2, 4, 3, 5, 1, 0, 2, 4}};
    gpv_ccl_component room[5];
    int32_t count = -1;
    const gpv_buffer all = buffer_of(room, sizeof room), two = buffer_of(room, 2 * sizeof *room);
    const gpv_buffer counted = buffer_of(&count, sizeof count);
    memset(room, 0xC5, sizeof room);
    ck_assert_int_eq(gpv_ccl_run(op, NULL, &src.view, NULL, &two, 0, NULL), GPV_OK);
    expect_result(GPV_ERR_TOO_SMALL, 4, 2);
    ck_assert_mem_eq(room, want, 2 * sizeof *want);
    ck_assert_int_eq(room[2].left, (int32_t)0xC5C5C5C5);
    ck_assert_int_eq(gpv_ccl_run(op, NULL, &src.view, NULL, &all, 0, &counted), GPV_OK);
    expect_result(GPV_OK, 4, 4);
    ck_assert_int_eq(count, 4);
    ck_assert_mem_eq(room, want, sizeof want);
    ck_assert_int_eq(room[4].left, (int32_t)0xC5C5C5C5);
    picture_free(&src);
}
END_TEST

START_TEST(source_formats) {
    static const char wide[] = "300 299 65535 65535 0", wide_want[] = "1 0 2 2 0";
    /* luma 77, 149, 29 and 255: red, green, blue and white */
    static const char rgb[] = "255 0 0  0 255 0  0 0 255  255 255 255";
    static const char rgba[] = "255 0 0 1  0 255 0 2  0 0 255 3  255 255 255 4";
    static const char rgb_77[] = "1 1 0 2", bgr_77[] = "0 1 1 1";
    static const char rgb_78[] = "0 1 0 2";
    static const char nv12[] = "9 10 11 0 10 | 1 2 3 4 5 6";
    static const char i420[] = "9 10 11 0 10 | 1 2 3 | 4 5 6";
    static const char yuv_want[] = "0 1 1 0 2";
    const gpv_format to = GPV_FORMAT_LABEL32;
    gpv_ccl_params params = defaults();
    params.threshold = 300;
    expect_planes(params, GPV_FORMAT_GRAY16, to, 5, 1, wide, wide_want);
    params.threshold = 78;
    expect_planes(params, GPV_FORMAT_RGB8, to, 4, 1, rgb, rgb_78);
    params.threshold = 77;
    expect_planes(params, GPV_FORMAT_RGB8, to, 4, 1, rgb, rgb_77);
    expect_planes(params, GPV_FORMAT_BGRA8, to, 4, 1, rgba, bgr_77);
    params.threshold = 10;
    expect_planes(params, GPV_FORMAT_NV12, to, 5, 1, nv12, yuv_want);
    expect_planes(params, GPV_FORMAT_I420, to, 5, 1, i420, yuv_want);
}
END_TEST

START_TEST(output_formats) {
    static const char source[] = "#.#.. ##..#";
    static const char gray16[] = "1 0 1 0 0 1 1 0 0 2";
    static const char p016[] = "1 0 1 0 0 1 1 0 0 2 | 32768 32768 32768 32768 32768 32768";
    static const char mask[] = "#.#.. ##..# | 128 128 128 128 128 128";
    static const char planar[] = "#.#.. ##..# | 128 128 128 | 128 128 128";
    /* of the labels 1 and 2; a place of chroma has that of its largest label */
    static const char rgb[] = "40 103 255  0 0 0  40 103 255  0 0 0  0 0 0 "
                              "40 103 255  40 103 255  0 0 0  0 0 0  166 255 40";
    static const char bgra[] =
        "255 103 40 255  0 0 0 255  255 103 40 255  0 0 0 255  0 0 0 255 "
        "255 103 40 255  255 103 40 255  0 0 0 255  0 0 0 255  40 255 166 255";
    gpv_ccl_params params = output_of(GPV_CCL_OUTPUT_LABELS);
    const gpv_format from = GPV_FORMAT_GRAY8;
    expect_planes(params, from, GPV_FORMAT_GRAY16, 5, 2, source, gray16);
    expect_planes(params, from, GPV_FORMAT_P016, 5, 2, source, p016);
    params.output = GPV_CCL_OUTPUT_MASK;
    expect_planes(params, from, GPV_FORMAT_GRAY8, 5, 2, source, source);
    expect_planes(params, from, GPV_FORMAT_NV12, 5, 2, source, mask);
    expect_planes(params, from, GPV_FORMAT_I420, 5, 2, source, planar);
    params.output = GPV_CCL_OUTPUT_COLORS;
    expect_planes(params, from, GPV_FORMAT_RGB8, 5, 2, source, rgb);
    expect_planes(params, from, GPV_FORMAT_BGRA8, 5, 2, source, bgra);
}
END_TEST

START_TEST(labels_beyond_16_bits) {
    enum { WIDTH = 512, HEIGHT = 514, COUNT_OF_DOTS = 256 * 257 };
    uint8_t *src = calloc(WIDTH, HEIGHT);
    uint16_t *dst = calloc(WIDTH, HEIGHT * sizeof *dst);
    gpv_image from, to;
    int x, y, label = 0;
    gpv_image_wrap(&from, sizeof from, GPV_FORMAT_GRAY8, WIDTH, HEIGHT, src, 0);
    gpv_image_wrap(&to, sizeof to, GPV_FORMAT_GRAY16, WIDTH, HEIGHT, dst, 0);
    for (y = 0; y < HEIGHT; y += 2)
        for (x = 0; x < WIDTH; x += 2)
            src[y * WIDTH + x] = 1;
    ck_assert_int_eq(run_views(&from, &to), GPV_OK);
    expect_result(GPV_ERR_TOO_SMALL, COUNT_OF_DOTS, 0);
    expect_text(gpv_context_error(context), "65792 components|dst|65535");
    for (y = 0; y < HEIGHT; y += 2)
        for (x = 0; x < WIDTH; x += 2, label += label < 65535)
            ck_assert_uint_eq(dst[y * WIDTH + x], label + (label < 65535));
    /* 65535 are not too many */
    memset(src, 0, WIDTH * 2);
    src[2 * WIDTH] = 0;
    ck_assert_int_eq(run_views(&from, &to), GPV_OK);
    expect_result(GPV_OK, 65535, 0);
    ck_assert_uint_eq(dst[(HEIGHT - 2) * WIDTH + WIDTH - 2], 65535);
    free(src);
    free(dst);
}
END_TEST

int main(void) {
    const TTest *const tests[] = {luma_beyond_the_format,
                                  prepared_components,
                                  no_more_than_there_is_room_for,
                                  connectivity,
                                  foreground,
                                  areas,
                                  measures,
                                  source_formats,
                                  output_formats,
                                  labels_beyond_16_bits};
    return run_tests("ccl", setup, teardown, tests, COUNT(tests));
}
