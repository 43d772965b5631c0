/* SPDX-License-Identifier: BSD-2-Clause */
/* gpv_draw_keypoints(): what it refuses, and which keypoints it draws. tests/unit/sift.cpp has how.
 */
#include "testing.h"

#include <math.h>

enum { WIDTH = 90, HEIGHT = 70, ROOM = 2000, COLOR = 0xff8010 };

FIXTURE(sift)

RESULT(sift, sift)

/* What is to be drawn. */
static gpv_sift_keypoint keypoints[ROOM];
static int count;

/* Each of its squares is a keypoint. */
static picture squares(void) {
    picture p = picture_new(GPV_FORMAT_GRAY8, WIDTH, HEIGHT, TIGHT);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            ((uint8_t *)p.view.data[0])[y * p.view.stride[0] + x] =
                (uint8_t)(x % 9 < 4 && y % 9 < 4 ? 100 + (37 * (x / 9) + 61 * (y / 9)) % 156 : 0);
    return p;
}

static void run(const gpv_image *src) {
    const gpv_buffer to = buffer_of(keypoints, sizeof keypoints);
    succeed(gpv_sift_run(op, NULL, src, NULL, &to, 0, NULL, NULL));
    count = waited_for().count;
}

static gpv_status draw(const gpv_image *dst, gpv_draw_style style) {
    return gpv_draw_keypoints(op, NULL, dst, style, COLOR);
}

static void mark(picture *p, int x, int y) {
    if (x >= 0 && y >= 0 && x < p->view.width && y < p->view.height)
        ((uint8_t *)p->view.data[0])[y * p->view.stride[0] + x] = 154; /* the luma of COLOR */
}

/* On a grey picture. */
static void mark_all(picture *p) {
    for (int i = 0; i < count; i++) {
        const int x = (int)lroundf(keypoints[i].x), y = (int)lroundf(keypoints[i].y);
        for (int d = -2; d <= 2; d++) {
            mark(p, x + d, y);
            mark(p, x, y + d);
        }
    }
}

/* A noisy grey picture, and what it becomes. */
static void expect_marks(int width, int height) {
    picture got = picture_new(GPV_FORMAT_GRAY8, width, height, TIGHT);
    picture want = picture_new(GPV_FORMAT_GRAY8, width, height, TIGHT);
    picture_fill(&got, 1);
    picture_fill(&want, 1);
    mark_all(&want);
    ck_assert_int_eq(draw(&got.view, GPV_DRAW_STYLE_POINTS), GPV_OK);
    expect_picture(&got, &want);
}

START_TEST(bad_arguments_are_refused) {
    const gpv_image dst = forbidden_image(forbidden_memory(1 << 21));
    refused(draw(&dst, 2), "style is 2|0|1");
    refused(gpv_draw_keypoints(op, NULL, &dst, GPV_DRAW_STYLE_RICH, 0x1000000),
            "color is 16777216|0|16777215");
}
END_TEST

/* Before the first run, after one that has failed, after a description and after prepare(). */
START_TEST(nothing_is_drawn_without_a_run) {
    picture src = squares();
    uint8_t descriptor[GPV_SIFT_DESCRIPTOR_LENGTH];
    const gpv_buffer to = buffer_of(descriptor, sizeof descriptor);
    const gpv_buffer keypoint = buffer_of(keypoints, sizeof *keypoints);
    gpv_sift_params params = defaults();
    gpv_status status = GPV_OK;
    expect_marks(WIDTH, HEIGHT);

    run(&src.view);
    ck_assert_int_eq(gpv_sift_run(op, NULL, NULL, NULL, NULL, 0, NULL, NULL), INVALID);
    expect_marks(WIDTH, HEIGHT); /* a run that has not begun changes nothing */

    params.octave_layers = 8; /* needs more memory, and there is none */
    set(params);
    keep.fail_at = keep.allocations + 1;
    status = gpv_sift_run(op, NULL, &src.view, NULL, NULL, 0, NULL, NULL);
    ck_assert_int_eq(status, GPV_ERR_OUT_OF_MEMORY);
    keep.fail_at = 0;
    count = 0;
    expect_marks(WIDTH, HEIGHT);

    run(&src.view);
    expect_marks(WIDTH, HEIGHT);
    ck_assert_int_eq(gpv_sift_describe(op, NULL, &src.view, &keypoint, 0, 1, &to), GPV_OK);
    count = 0;
    expect_marks(WIDTH, HEIGHT);

    run(&src.view);
    expect_marks(WIDTH, HEIGHT);
    ck_assert_int_eq(gpv_sift_prepare(op, &src.view, NULL, 10), GPV_OK);
    count = 0;
    expect_marks(WIDTH, HEIGHT);
    picture_free(&src);
}
END_TEST

/* Those that were kept, whatever happens to the parameters, and though the last run writes them
 * nowhere; and wait() says what it said. */
START_TEST(the_kept_keypoints_are_drawn) {
    static const int maximum[] = {0, 1, 7, 100000};
    picture src = squares(), drawn = squares();
    for (size_t i = 0; i < COUNT(maximum); i++) {
        gpv_sift_params params = defaults();
        gpv_sift_result before, after;
        params.max_features = maximum[i];
        set(params);
        run(&src.view);
        ck_assert(count > 10 || count == maximum[i]);
        before = waited_for();
        expect_marks(WIDTH, HEIGHT);
        ck_assert_int_eq(gpv_sift_run(op, NULL, &src.view, NULL, NULL, 0, NULL, NULL), GPV_OK);
        expect_marks(WIDTH / 2, HEIGHT / 3);
        expect_marks(1, 1);
        params.sigma = 2;
        params.upsample = 0;
        set(params);
        expect_marks(2 * WIDTH, 2 * HEIGHT);
        after = waited_for();
        ck_assert_mem_eq(&after, &before, sizeof before);
    }
    mark_all(&src);
    ck_assert_int_eq(draw(&drawn.view, GPV_DRAW_STYLE_POINTS), GPV_OK);
    expect_picture(&drawn, &src); /* into the picture of the run */
}
END_TEST

/* The same in every memory, and nothing beside it. */
static void expect_drawn_alike(gpv_format format, int width, int height) {
    picture tight = picture_new(format, width, height, TIGHT);
    bool drawn = false;
    picture_fill(&tight, 2);
    succeed(draw(&tight.view, GPV_DRAW_STYLE_RICH));
    for (layout how = PADDED; how < LAYOUTS; how++) {
        picture p = picture_new(format, width, height, how);
        picture_fill(&p, 2);
        drawn = !picture_equal(&p, &tight);
        succeed(draw(&p.view, GPV_DRAW_STYLE_RICH));
        ck_assert(picture_equal(&p, &tight) && picture_intact(&p));
        picture_free(&p);
    }
    ck_assert(drawn || width < WIDTH);
    picture_free(&tight);
}

START_TEST(layouts) {
    static const int sizes[][2] = {{WIDTH, HEIGHT}, {1, 1}, {1, 7}, {7, 1}, {33, 6}, {67, 5}};
    picture src = squares();
    run(&src.view);
    for (gpv_format format = GPV_FORMAT_GRAY8; format <= GPV_FORMAT_I420; format++)
        for (size_t i = 0; i < COUNT(sizes); i++)
            if (format != GPV_FORMAT_GRAY16 && format != GPV_FORMAT_GRAYF32)
                expect_drawn_alike(format, sizes[i][0], sizes[i][1]);
    picture_free(&src);
}
END_TEST

RUN_TESTS("sift_draw", setup, teardown, bad_arguments_are_refused, nothing_is_drawn_without_a_run,
          the_kept_keypoints_are_drawn, layouts)
