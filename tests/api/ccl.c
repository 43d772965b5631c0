/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"

FIXTURE(ccl)

static gpv_status run_views(const gpv_image *src, const gpv_image *dst) {
    return gpv_ccl_run(op, NULL, src, dst, NULL, 0, NULL);
}

/* Of the last run: status, count, records. */
static void expect_result(gpv_status wanted, int count, int components) {
    gpv_ccl_result result;
    gpv_ccl_result_init(&result, sizeof result);
    result.count = result.components = -7;
    ck_assert_int_eq(gpv_ccl_wait(op, &result), wanted);
    ck_assert_int_eq(gpv_ccl_wait(op, NULL), wanted);
    ck_assert_int_eq(gpv_ccl_query(op), wanted);
    ck_assert_int_eq(result.count, count);
    ck_assert_int_eq(result.components, components);
}

START_TEST(prepared_components) {
    const gpv_image src = forbidden_image(forbidden_memory(1 << 21));
    refused(gpv_ccl_prepare(op, &src, NULL, -1), "components|-1|0..2147483647");
    refused(gpv_ccl_prepare(op, &src, NULL, INT32_MIN), "components|-2147483648|0..2147483647");
}
END_TEST

/* ------------------------------------------------- results worked out by hand */

/* Two that touch at a corner, a ring with a dot in it, and a bar. */
#define SHAPES                                                                                     \
    "##...####"                                                                                    \
    "..#..#..#"                                                                                    \
    "..#..#.##"                                                                                    \
    ".....#..."                                                                                    \
    "#.#.#####"
#define VALUES "0 9 9 7 0 200 7 9"
/* Luma 77, 149, 29 and 255: red, green, blue and white. */
#define COLOURS "255 0 0  0 255 0  0 0 255  255 255 255"
#define BGRA "255 0 0 1  0 255 0 2  0 0 255 3  255 255 255 4"
#define EQUAL GPV_CCL_MODE_EQUAL_VALUE
#define GRAY8 GPV_FORMAT_GRAY8
#define LABEL32 GPV_FORMAT_LABEL32

static const struct {
    gpv_ccl_mode mode;
    int32_t connectivity, threshold, foreground;
    uint32_t invert;
    int32_t min_area, max_area;
    gpv_ccl_output output;
    gpv_format from, to;
    int width, height;
    const char *source, *wanted;
    int count;
} pictures[] = {
    {0, 8, 1, -1, 0, 0, 0, 0, GRAY8, LABEL32, 9, 5, SHAPES,
     "1 1 0 0 0 2 2 2 2 "
     "0 0 1 0 0 2 0 0 2 "
     "0 0 1 0 0 2 0 2 2 "
     "0 0 0 0 0 2 0 0 0 "
     "3 0 4 0 2 2 2 2 2",
     4},
    {0, 4, 1, -1, 0, 0, 0, 0, GRAY8, LABEL32, 9, 5, SHAPES,
     "1 1 0 0 0 2 2 2 2 "
     "0 0 3 0 0 2 0 0 2 "
     "0 0 3 0 0 2 0 2 2 "
     "0 0 0 0 0 2 0 0 0 "
     "4 0 5 0 2 2 2 2 2",
     5},
    /* whose first pixel is later has the larger label, whatever else is seen first */
    {0, 4, 1, -1, 0, 0, 0, 0, GRAY8, LABEL32, 5, 3, "..#.# #.#.# #####",
     "0 0 1 0 1 1 0 1 0 1 1 1 1 1 1", 1},
    /* areas */
    {0, 4, 1, -1, 0, 2, 2, 0, GRAY8, LABEL32, 9, 5, SHAPES,
     "1 1 0 0 0 0 0 0 0 "
     "0 0 2 0 0 0 0 0 0 "
     "0 0 2 0 0 0 0 0 0 "
     "0 0 0 0 0 0 0 0 0 "
     "0 0 0 0 0 0 0 0 0",
     2},
    {0, 4, 1, -1, 0, 3, 2, 0, GRAY8, LABEL32, 3, 1, "##.", "0 0 0", 0}, /* none */
    /* what is foreground */
    {0, 8, 1, -1, 0, 0, 0, 0, GRAY8, LABEL32, 8, 1, VALUES, "0 1 1 1 0 2 2 2", 2},
    {0, 8, 0, -1, 0, 0, 0, 0, GRAY8, LABEL32, 8, 1, VALUES, "1 1 1 1 1 1 1 1", 1},
    {0, 8, 9, -1, 0, 0, 0, 0, GRAY8, LABEL32, 8, 1, VALUES, "0 1 1 0 0 2 0 3", 3},
    {0, 8, 9, -1, 1, 0, 0, 0, GRAY8, LABEL32, 8, 1, VALUES, "1 0 0 2 2 0 3 0", 3},
    {0, 8, 9, 9, 0, 0, 0, 0, GRAY8, LABEL32, 8, 1, VALUES, "0 1 1 0 0 0 0 2", 2},
    {0, 8, 9, 9, 1, 0, 0, 0, GRAY8, LABEL32, 8, 1, VALUES, "1 0 0 2 2 2 2 0", 2},
    {0, 8, 9, 0, 0, 0, 0, 0, GRAY8, LABEL32, 8, 1, VALUES, "1 0 0 0 2 0 0 0", 2},
    {EQUAL, 8, 1, -1, 0, 0, 0, 0, GRAY8, LABEL32, 8, 1, VALUES, "0 1 1 2 0 3 4 5", 5},
    {EQUAL, 8, 0, -1, 0, 0, 0, 0, GRAY8, LABEL32, 8, 1, VALUES, "1 2 2 3 4 5 6 7", 7},
    {EQUAL, 8, 8, -1, 1, 0, 0, 0, GRAY8, LABEL32, 8, 1, VALUES, "1 0 0 2 3 0 4 0", 4},
    {EQUAL, 8, 255, -1, 0, 0, 0, 0, GRAY8, LABEL32, 8, 1, VALUES, "0 0 0 0 0 0 0 0", 0},
    /* of luma */
    {0, 8, 300, -1, 0, 0, 0, 0, GPV_FORMAT_GRAY16, LABEL32, 5, 1, "300 299 65535 65535 0",
     "1 0 2 2 0", 2},
    {0, 8, 78, -1, 0, 0, 0, 0, GPV_FORMAT_RGB8, LABEL32, 4, 1, COLOURS, "0 1 0 2", 2},
    {0, 8, 77, -1, 0, 0, 0, 0, GPV_FORMAT_RGB8, LABEL32, 4, 1, COLOURS, "1 1 0 2", 2},
    {0, 8, 77, -1, 0, 0, 0, 0, GPV_FORMAT_BGRA8, LABEL32, 4, 1, BGRA, "0 1 1 1", 1},
    {0, 8, 10, -1, 0, 0, 0, 0, GPV_FORMAT_I420, LABEL32, 5, 1, "9 10 11 0 10 | 1 2 3 | 4 5 6",
     "0 1 1 0 2", 2},
    /* outputs; a place of chroma has the colour of its largest label */
    {0, 8, 1, -1, 0, 0, 0, 0, GRAY8, GPV_FORMAT_P016, 5, 2, "#.#.. ##..#",
     "1 0 1 0 0 1 1 0 0 2 | 32768 32768 32768 32768 32768 32768", 2},
    {0, 8, 1, -1, 0, 0, 0, GPV_CCL_OUTPUT_MASK, GRAY8, GPV_FORMAT_NV12, 5, 2, "#.#.. ##..#",
     "#.#.. ##..# | ? ? ? ? ? ?", 2},
    {0, 8, 1, -1, 0, 0, 0, GPV_CCL_OUTPUT_COLORS, GRAY8, GPV_FORMAT_BGRA8, 5, 2, "#.#.. ##..#",
     "255 103 40 255  0 0 0 255  255 103 40 255  0 0 0 255  0 0 0 255 "
     "255 103 40 255  255 103 40 255  0 0 0 255  0 0 0 255  40 255 166 255",
     2},
};

START_TEST(small_pictures) {
    for (size_t i = 0; i < COUNT(pictures); i++) {
        const int width = pictures[i].width, height = pictures[i].height;
        picture src = picture_of(pictures[i].from, width, height, pictures[i].source);
        picture want = picture_of(pictures[i].to, width, height, pictures[i].wanted);
        picture dst = picture_new(pictures[i].to, width, height, TIGHT);
        const gpv_ccl_params params = {sizeof params,
                                       pictures[i].mode,
                                       pictures[i].connectivity,
                                       pictures[i].threshold,
                                       pictures[i].foreground,
                                       pictures[i].invert,
                                       pictures[i].min_area,
                                       pictures[i].max_area,
                                       pictures[i].output,
                                       0};
        set(params);
        succeed(run_views(&src.view, &dst.view));
        expect_picture(&dst, &want);
        expect_result(GPV_OK, pictures[i].count, 0);
        picture_free(&src);
    }
}
END_TEST

/* And no more than there is room for. */
START_TEST(measures) {
    static const gpv_ccl_component want[] = {
        {0, 0, 3, 3, 4, 0, 0 + 1 + 2 + 2, 0 + 0 + 1 + 2},
        {4, 0, 9, 5, 15, 0, 26 + 13 + 20 + 5 + 30, 0 + 2 + 6 + 3 + 20},
        {0, 4, 1, 5, 1, 0, 0, 4},
        {2, 4, 3, 5, 1, 0, 2, 4}};
    picture src = picture_of(GPV_FORMAT_GRAY8, 9, 5, SHAPES);
    gpv_image bad = src.view;
    gpv_ccl_component room[5];
    const gpv_buffer all = buffer_of(room, sizeof room), two = buffer_of(room, 2 * sizeof *room);
    memset(room, CANARY, sizeof room);
    succeed(gpv_ccl_run(op, NULL, &src.view, NULL, &two, 0, NULL));
    expect_result(GPV_ERR_TOO_SMALL, 4, 2);
    expect_text(gpv_context_error(context), "4 components|room|2");
    ck_assert_mem_eq(room, want, 2 * sizeof *want);
    ck_assert(untouched(room + 2, room + 5));
    bad.width = 0; /* what was refused for its arguments does not count */
    ck_assert_int_eq(run_views(&bad, NULL), INVALID);
    expect_result(GPV_ERR_TOO_SMALL, 4, 2);
    succeed(gpv_ccl_run(op, NULL, &src.view, NULL, &all, 0, NULL));
    expect_result(GPV_OK, 4, 4);
    ck_assert_mem_eq(room, want, sizeof want);
    ck_assert(untouched(room + 4, room + 5));
    picture_free(&src);
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

RUN_TESTS("ccl", setup, teardown, prepared_components, small_pictures, measures,
          labels_beyond_16_bits)
