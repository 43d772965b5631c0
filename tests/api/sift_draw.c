/* SPDX-License-Identifier: BSD-2-Clause */
/* gpv_draw_keypoints(): what it refuses, and which keypoints it draws. tests/unit/sift.cpp has how.
 */
#include "testing.h"

#include <math.h>

enum { WIDTH = 90, HEIGHT = 70, ROOM = 2000, COLOR = 0xff8010 };

typedef struct {
    books keep;
    gpv_context *context;
    gpv_sift *op;
    gpv_sift_keypoint keypoints[ROOM];
    gpv_sift_result found;
} fixture;

/* open_context() keeps books where they were. */
#define OPEN(f)                                                                                    \
    fixture f = {0};                                                                               \
    f.context = open_context(&f.keep);                                                             \
    ck_assert_int_eq(gpv_sift_create(f.context, NULL, &f.op), GPV_OK)

static void close_fixture(fixture *f) {
    gpv_sift_destroy(&f->op);
    gpv_context_destroy(&f->context);
    ck_assert_int_eq(f->keep.live, 0);
}

/* Each of its squares is a keypoint. */
static picture squares(void) {
    picture p = picture_new(GPV_FORMAT_GRAY8, WIDTH, HEIGHT, TIGHT);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            ((uint8_t *)p.view.data[0])[y * p.view.stride[0] + x] =
                (uint8_t)(x % 9 < 4 && y % 9 < 4 ? 100 + (37 * (x / 9) + 61 * (y / 9)) % 156 : 0);
    return p;
}

static void run(fixture *f, const gpv_image *src) {
    const gpv_buffer to = buffer_of(f->keypoints, sizeof f->keypoints);
    ck_assert_int_eq(gpv_sift_run(f->op, NULL, src, NULL, &to, 0, NULL, NULL), GPV_OK);
    gpv_sift_result_init(&f->found, sizeof f->found);
    ck_assert_int_eq(gpv_sift_wait(f->op, &f->found), GPV_OK);
}

static void mark(picture *p, int x, int y) {
    if (x >= 0 && y >= 0 && x < p->view.width && y < p->view.height)
        ((uint8_t *)p->view.data[0])[y * p->view.stride[0] + x] = 154; /* the luma of COLOR */
}

/* On a grey picture. */
static void mark_all(picture *p, const fixture *f) {
    for (int i = 0; i < f->found.count; i++) {
        const int x = (int)lroundf(f->keypoints[i].x), y = (int)lroundf(f->keypoints[i].y);
        for (int d = -2; d <= 2; d++) {
            mark(p, x + d, y);
            mark(p, x, y + d);
        }
    }
}

/* A noisy grey picture, and what it becomes. */
static void expect_marks(fixture *f, int width, int height) {
    picture got = picture_new(GPV_FORMAT_GRAY8, width, height, TIGHT);
    picture want = picture_new(GPV_FORMAT_GRAY8, width, height, TIGHT);
    picture_fill(&got, 1);
    picture_fill(&want, 1);
    mark_all(&want, f);
    ck_assert_int_eq(gpv_draw_keypoints(f->op, NULL, &got.view, GPV_DRAW_STYLE_POINTS, COLOR),
                     GPV_OK);
    expect_picture(&got, &want);
}

START_TEST(bad_arguments_are_refused) {
    OPEN(f);
    picture p = squares(), before = squares();
    gpv_image image = p.view;
    run(&f, &p.view);
    ck_assert_int_gt(f.found.count, 10);
    ck_assert_int_eq(gpv_draw_keypoints(NULL, NULL, &p.view, GPV_DRAW_STYLE_POINTS, COLOR),
                     INVALID);
    expect_error(f.context, &f.keep,
                 gpv_draw_keypoints(f.op, NULL, NULL, GPV_DRAW_STYLE_POINTS, COLOR), INVALID,
                 "dst|NULL");
    expect_error(f.context, &f.keep, gpv_draw_keypoints(f.op, NULL, &image, 2, COLOR), INVALID,
                 "style is 2|0|1");
    expect_error(f.context, &f.keep,
                 gpv_draw_keypoints(f.op, NULL, &image, GPV_DRAW_STYLE_RICH, 0x1000000), INVALID,
                 "color is 16777216|0|16777215");
    ck_assert(picture_equal(&p, &before));
    picture_free(&before);
    picture_free(&p);
    close_fixture(&f);
}
END_TEST

/* Before the first run, after one that has failed, after a description and after prepare(). */
START_TEST(nothing_is_drawn_without_a_run) {
    OPEN(f);
    picture src = squares();
    uint8_t descriptor[GPV_SIFT_DESCRIPTOR_LENGTH];
    const gpv_buffer to = buffer_of(descriptor, sizeof descriptor);
    const gpv_buffer keypoint = buffer_of(f.keypoints, sizeof *f.keypoints);
    gpv_sift_params params;
    gpv_status status = GPV_OK;
    expect_marks(&f, WIDTH, HEIGHT);

    run(&f, &src.view);
    ck_assert_int_eq(gpv_sift_run(f.op, NULL, NULL, NULL, NULL, 0, NULL, NULL), INVALID);
    expect_marks(&f, WIDTH, HEIGHT); /* a run that has not begun changes nothing */

    gpv_sift_params_init(&params, sizeof params);
    params.octave_layers = 8; /* needs more memory, and there is none */
    ck_assert_int_eq(gpv_sift_set_params(f.op, &params), GPV_OK);
    f.keep.fail_at = f.keep.allocations + 1;
    status = gpv_sift_run(f.op, NULL, &src.view, NULL, NULL, 0, NULL, NULL);
    ck_assert_int_eq(status, GPV_ERR_OUT_OF_MEMORY);
    f.keep.fail_at = 0;
    f.found.count = 0;
    expect_marks(&f, WIDTH, HEIGHT);

    run(&f, &src.view);
    expect_marks(&f, WIDTH, HEIGHT);
    ck_assert_int_eq(gpv_sift_describe(f.op, NULL, &src.view, &keypoint, 0, 1, &to), GPV_OK);
    f.found.count = 0;
    expect_marks(&f, WIDTH, HEIGHT);

    run(&f, &src.view);
    expect_marks(&f, WIDTH, HEIGHT);
    ck_assert_int_eq(gpv_sift_prepare(f.op, &src.view, NULL, 10), GPV_OK);
    f.found.count = 0;
    expect_marks(&f, WIDTH, HEIGHT);
    picture_free(&src);
    close_fixture(&f);
}
END_TEST

/* Those that were kept, whatever happens to the parameters; and wait() says what it said. */
START_TEST(the_kept_keypoints_are_drawn) {
    static const int maximum[] = {0, 1, 7, 100000};
    OPEN(f);
    picture src = squares();
    for (size_t i = 0; i < COUNT(maximum); i++) {
        gpv_sift_params params;
        gpv_sift_result after;
        gpv_sift_params_init(&params, sizeof params);
        params.max_features = maximum[i];
        ck_assert_int_eq(gpv_sift_set_params(f.op, &params), GPV_OK);
        run(&f, &src.view);
        ck_assert(f.found.count > 10 || f.found.count == maximum[i]);
        expect_marks(&f, WIDTH, HEIGHT);
        expect_marks(&f, WIDTH / 2, HEIGHT / 3);
        expect_marks(&f, 1, 1);
        params.sigma = 2;
        params.upsample = 0;
        ck_assert_int_eq(gpv_sift_set_params(f.op, &params), GPV_OK);
        expect_marks(&f, 2 * WIDTH, 2 * HEIGHT);
        gpv_sift_result_init(&after, sizeof after);
        ck_assert_int_eq(gpv_sift_query(f.op), GPV_OK);
        ck_assert_int_eq(gpv_sift_wait(f.op, &after), GPV_OK);
        ck_assert_int_eq(after.count, f.found.count);
        ck_assert_int_eq(after.dropped, f.found.dropped);
    }
    mark_all(&src, &f);
    {
        picture drawn = squares();
        ck_assert_int_eq(gpv_draw_keypoints(f.op, NULL, &drawn.view, GPV_DRAW_STYLE_POINTS, COLOR),
                         GPV_OK);
        expect_picture(&drawn, &src); /* into the picture of the run */
    }
    close_fixture(&f);
}
END_TEST

/* A run that writes its keypoints nowhere keeps them all the same. */
START_TEST(keypoints_need_no_buffer) {
    OPEN(f);
    picture src = squares(), one = picture_new(GPV_FORMAT_NV12, WIDTH, HEIGHT, TIGHT);
    picture other = picture_new(GPV_FORMAT_NV12, WIDTH, HEIGHT, TIGHT);
    picture_fill(&one, 1);
    picture_fill(&other, 1);
    run(&f, &src.view);
    ck_assert_int_eq(gpv_draw_keypoints(f.op, NULL, &one.view, GPV_DRAW_STYLE_RICH, COLOR), GPV_OK);
    ck_assert(!picture_equal(&one, &other));
    ck_assert_int_eq(gpv_sift_run(f.op, NULL, &src.view, NULL, NULL, 0, NULL, NULL), GPV_OK);
    ck_assert_int_eq(gpv_draw_keypoints(f.op, NULL, &other.view, GPV_DRAW_STYLE_RICH, COLOR),
                     GPV_OK);
    ck_assert(picture_equal(&one, &other));
    picture_free(&src);
    picture_free(&one);
    picture_free(&other);
    close_fixture(&f);
}
END_TEST

/* In every format and layout nothing is written beside the picture; what is drawn is the same. */
START_TEST(layouts) {
    OPEN(f);
    picture src = squares();
    run(&f, &src.view);
    for (size_t i = 0; i < COUNT(picture_formats); i++)
        for (int s = 0; s <= (int)COUNT(picture_sizes); s++) {
            const bool large = s == (int)COUNT(picture_sizes);
            const int width = large ? WIDTH : picture_sizes[s][0];
            const int height = large ? HEIGHT : picture_sizes[s][1];
            picture tight;
            if (picture_formats[i] == GPV_FORMAT_GRAY16)
                continue;
            tight = picture_new(picture_formats[i], width, height, TIGHT);
            picture_fill(&tight, 2);
            ck_assert_int_eq(
                gpv_draw_keypoints(f.op, NULL, &tight.view, GPV_DRAW_STYLE_RICH, COLOR), GPV_OK);
            for (layout how = TIGHT; how < LAYOUTS; how++) {
                picture p = picture_new(picture_formats[i], width, height, how);
                picture_fill(&p, 2);
                ck_assert_int_eq(
                    gpv_draw_keypoints(f.op, NULL, &p.view, GPV_DRAW_STYLE_RICH, COLOR), GPV_OK);
                ck_assert_msg(picture_equal(&p, &tight) && picture_intact(&p), "%s %dx%d, %d",
                              format_name(picture_formats[i]), width, height, (int)how);
                picture_free(&p);
            }
            picture_free(&tight);
        }
    picture_free(&src);
    close_fixture(&f);
}
END_TEST

int main(void) {
    const TTest *const tests[] = {bad_arguments_are_refused, nothing_is_drawn_without_a_run,
                                  the_kept_keypoints_are_drawn, keypoints_need_no_buffer, layouts};
    return run_tests("sift_draw", NULL, NULL, tests, COUNT(tests));
}
