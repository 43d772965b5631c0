/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"

#include <math.h>

/* Those that segmentation takes. */
static const gpv_format formats[] = {
    GPV_FORMAT_GRAY8, GPV_FORMAT_RGB8,  GPV_FORMAT_BGR8, GPV_FORMAT_RGBA8, GPV_FORMAT_BGRA8,
    GPV_FORMAT_RGBX8, GPV_FORMAT_BGRX8, GPV_FORMAT_NV12, GPV_FORMAT_I420,
};

static const gpv_format mask_formats[] = {GPV_FORMAT_GRAY8, GPV_FORMAT_NV12, GPV_FORMAT_I420};

static const gpv_segment_model models[] = {GPV_SEGMENT_MODEL_GMM, GPV_SEGMENT_MODEL_HISTOGRAM,
                                           GPV_SEGMENT_MODEL_MEANS};

FIXTURE(segment)

static gpv_segment_params certified(gpv_segment_model model, float lambda) {
    gpv_segment_params params = defaults();
    params.model = model;
    params.lambda = lambda;
    params.certificate = 1;
    return params;
}

/* Where seeds and colours decide, and borders count little. */
static gpv_segment_params by_colour(gpv_segment_warm_start fit) {
    gpv_segment_params params = certified(GPV_SEGMENT_MODEL_MEANS, 100);
    params.warm_start = fit;
    return params;
}

static gpv_status run_views(const gpv_image *src, const gpv_image *seeds, const gpv_image *mask,
                            const gpv_image *dst) {
    return gpv_segment_run(op, NULL, src, seeds, NULL, mask, dst, NULL);
}

static gpv_graphcut_result blank(void) {
    gpv_graphcut_result result;
    gpv_graphcut_result_init(&result, sizeof result);
    return result;
}

/* Of the last run. */
static gpv_graphcut_result found(void) {
    gpv_graphcut_result result;
    memset(&result, 0xC5, sizeof result);
    result.struct_size = sizeof result;
    ck_assert_int_eq(gpv_segment_query(op), GPV_OK);
    ck_assert_int_eq(gpv_segment_wait(op, &result), GPV_OK);
    ck_assert_int_eq(gpv_segment_wait(op, NULL), GPV_OK);
    ck_assert_uint_eq(result.struct_size, sizeof result);
    ck_assert_uint_eq(result.refused, 0);
    ck_assert_uint_eq(result.reserved, 0);
    return result;
}

/* Before a run, and after one that failed. */
static void expect_nothing_found(void) {
    const gpv_graphcut_result zeros = blank(), result = found();
    ck_assert_mem_eq(&result, &zeros, sizeof zeros);
}

static unsigned char *byte_at(const picture *p, int x, int y) {
    return (unsigned char *)p->view.data[0] + y * p->view.stride[0] + x;
}

static int64_t area_of(const picture *mask) {
    int64_t area = 0;
    int x, y;
    for (y = 0; y < mask->view.height; y++)
        for (x = 0; x < mask->view.width; x++) {
            ck_assert(*byte_at(mask, x, y) == 255 || *byte_at(mask, x, y) == 0);
            area += *byte_at(mask, x, y) == 255;
        }
    return area;
}

/* Of a run with certificate, which proves that mask. */
static void expect_proved(const picture *mask) {
    const gpv_graphcut_result result = found();
    ck_assert_uint_eq(result.optimal, 1);
    ck_assert_int_ge(result.flow, 0);
    ck_assert_int_eq(result.cut, result.flow);
    ck_assert_int_eq(result.area, area_of(mask));
}

/* ------------------------------------------------------------------- rectangles */

START_TEST(rects_lie_within_src) {
    static const struct {
        gpv_rect rect;
        const char *text; /* NULL = legal */
    } cases[] = {
        {{0, 0, 64, 48}, NULL},
        {{0, 0, 1, 1}, NULL},
        {{63, 47, 1, 1}, NULL},
        {{10, 20, 54, 28}, NULL},
        {{-1, 0, 5, 5}, "rect->x is -1, must be 0..63"},
        {{64, 0, 1, 1}, "rect->x is 64, must be 0..63"},
        {{INT32_MIN, 0, 1, 1}, "rect->x is -2147483648, must be 0..63"},
        {{INT32_MAX, 0, INT32_MAX, 1}, "rect->x is 2147483647, must be 0..63"},
        {{0, -1, 5, 5}, "rect->y is -1, must be 0..47"},
        {{0, 48, 1, 1}, "rect->y is 48, must be 0..47"},
        {{0, INT32_MIN, 1, 1}, "rect->y is -2147483648, must be 0..47"},
        {{0, INT32_MAX, 1, INT32_MAX}, "rect->y is 2147483647, must be 0..47"},
        {{0, 0, 0, 48}, "rect->width is 0, must be 1..64"},
        {{0, 0, -1, 48}, "rect->width is -1, must be 1..64"},
        {{0, 0, 65, 48}, "rect->width is 65, must be 1..64"},
        {{10, 20, 55, 28}, "rect->width is 55, must be 1..54"},
        {{63, 47, 2, 1}, "rect->width is 2, must be 1..1"},
        {{63, 0, INT32_MAX, 1}, "rect->width is 2147483647, must be 1..1"},
        {{1, 0, INT32_MIN, 1}, "rect->width is -2147483648, must be 1..63"},
        {{0, 0, 64, 0}, "rect->height is 0, must be 1..48"},
        {{0, 0, 64, -1}, "rect->height is -1, must be 1..48"},
        {{0, 0, 64, 49}, "rect->height is 49, must be 1..48"},
        {{10, 20, 54, 29}, "rect->height is 29, must be 1..28"},
        {{0, 47, 1, INT32_MAX}, "rect->height is 2147483647, must be 1..1"},
        {{0, 1, 1, INT32_MIN}, "rect->height is -2147483648, must be 1..47"},
    };
    const gpv_buffer none = buffer_of(NULL, 40);
    const gpv_image src = forbidden_image(forbidden_memory(1 << 21));
    size_t i;
    for (i = 0; i < COUNT(cases); i++)
        expect_error(context, &keep,
                     gpv_segment_run(op, NULL, &src, NULL, &cases[i].rect, NULL, NULL, &none),
                     INVALID, cases[i].text ? cases[i].text : "result->data|NULL");
    expect_nothing_found();
}
END_TEST

/* Which are only read. */
START_TEST(seeds_may_be_src) {
    picture src = picture_of_plane(GPV_FORMAT_GRAY8, 4, 1, "0 100 200 255");
    picture want = picture_of_plane(GPV_FORMAT_GRAY8, 4, 1, ".###");
    picture mask = picture_new(GPV_FORMAT_GRAY8, 4, 1, TIGHT);
    set(certified(GPV_SEGMENT_MODEL_MEANS, 0));
    ck_assert_int_eq(run_views(&src.view, &src.view, &mask.view, NULL), GPV_OK);
    ck_assert_int_eq(found().flow, 521); /* exp(-3 100^2 / (2 * 23025)) */
    expect_picture(&mask, &want);
    picture_free(&src);
}
END_TEST

/* Parameters, and what is given, that reach every path of the CPU backend. */
static gpv_segment_params variant(int i) {
    static const float lambdas[] = {0.02f, 1, 0, 0.5f}, sigmas[] = {0, 20};
    gpv_segment_params params = defaults();
    params.model = models[i % 3];
    params.connectivity = i / 3 % 2 ? 8 : 4;
    params.iterations = 1 + i / 6 % 3;
    params.lambda = lambdas[i % 4];
    params.sigma = sigmas[i / 2 % 2];
    params.certificate = i / 5 % 2;
    return params;
}
enum { VARIANTS = 36 };

/* A few are known, the others are not, by every value between. */
static void fill_seeds(picture *seeds, unsigned seed) {
    int x, y;
    picture_fill(seeds, seed);
    for (y = 0; y < seeds->view.height; y++)
        for (x = 0; x < seeds->view.width; x++) {
            unsigned char *p = byte_at(seeds, x, y);
            *p = *p % 8 == 0 ? 0 : *p % 8 == 1 ? 255 : *p == 0 || *p == 255 ? 128 : *p;
        }
}

/* Images of a size, in one memory. A mask is of every format in turn. */
typedef struct images {
    picture src, seeds, mask, dst;
} images;

static images images_new(gpv_format format, int width, int height, layout how, unsigned seed) {
    images i;
    i.src = picture_new(format, width, height, how);
    i.seeds = picture_new(GPV_FORMAT_GRAY8, width, height, how);
    i.mask = picture_new(mask_formats[(width + (int)seed) % 3], width, height, how);
    i.dst = picture_new(format, width, height, how);
    picture_fill(&i.src, seed);
    fill_seeds(&i.seeds, seed + 1);
    return i;
}

static void images_free(images *i) {
    picture_free(&i->src);
    picture_free(&i->seeds);
    picture_free(&i->mask);
    picture_free(&i->dst);
}

static gpv_status run_all(gpv_segment *which, const images *i, gpv_graphcut_result *result) {
    const gpv_buffer buffer = buffer_of(result, sizeof *result);
    memset(result, 0xC5, sizeof *result);
    return gpv_segment_run(which, NULL, &i->src.view, &i->seeds.view, NULL, &i->mask.view,
                           &i->dst.view, &buffer);
}

/* Nor other parameters, nor other shapes, nor a rectangle that is refused, before there is a run.
 */
START_TEST(forgetting_leaves_the_result) {
    static const gpv_rect outside = {0, 0, 6, 1};
    picture src = picture_of_plane(GPV_FORMAT_GRAY8, 5, 1, "1 1 9 9 9");
    picture seeds = picture_of_plane(GPV_FORMAT_GRAY8, 5, 1, "0 0 255 255 255");
    picture mask = picture_new(GPV_FORMAT_GRAY8, 5, 1, TIGHT);
    ck_assert_int_eq(run_views(&src.view, &seeds.view, &mask.view, NULL), GPV_OK);
    ck_assert_int_eq(found().area, 3);
    ck_assert_int_eq(gpv_segment_run(op, NULL, &src.view, NULL, &outside, &mask.view, NULL, NULL),
                     INVALID);
    set(by_colour(GPV_SEGMENT_WARM_START_NONE));
    ck_assert_int_eq(gpv_segment_forget(op), GPV_OK);
    ck_assert_int_eq(gpv_segment_prepare(op, &mask.view, NULL, NULL, &mask.view), GPV_OK);
    ck_assert_int_eq(found().area, 3);
    ck_assert_int_eq(found().cut, -1);
    memset(seeds.view.data[0], 255, 4);
    ck_assert_int_eq(run_views(&src.view, &seeds.view, &mask.view, NULL), GPV_OK);
    ck_assert_int_eq(found().area, 5);
    expect_proved(&mask);
    expect_error(context, &keep, gpv_segment_learned(op, NULL), INVALID, "learned|NULL");
    picture_free(&src);
    picture_free(&seeds);
    picture_free(&mask);
}
END_TEST

enum { FRAMES = 40 };

/* ------------------------------------------------- results worked out by hand */

/* What is given and what is to come out, of GRAY8. */
static void expect_mask(int width, int height, const char *source, const char *seeds,
                        const gpv_rect *rect, const char *wanted) {
    picture src = picture_of_plane(GPV_FORMAT_GRAY8, width, height, source);
    picture known = picture_of_plane(GPV_FORMAT_GRAY8, width, height, seeds ? seeds : source);
    picture want = picture_of_plane(GPV_FORMAT_GRAY8, width, height, wanted);
    picture mask = picture_new(GPV_FORMAT_GRAY8, width, height, TIGHT);
    ck_assert_msg(gpv_segment_run(op, NULL, &src.view, seeds ? &known.view : NULL, rect, &mask.view,
                                  NULL, NULL) == GPV_OK,
                  "%s", gpv_context_error(context));
    expect_proved(&mask);
    expect_picture(&mask, &want);
    picture_free(&src);
    picture_free(&known);
}

/* Of one row, and of one column. */
static void expect_row(int width, const char *source, const char *seeds, const char *wanted) {
    expect_mask(width, 1, source, seeds, NULL, wanted);
    expect_mask(1, width, source, seeds, NULL, wanted);
}

/* Where links alone count. In seeds 1 is a pixel that is not known. */
static void expect_flow(int width, int height, gpv_format format, const char *source,
                        const char *seeds, int64_t flow, const char *wanted) {
    picture src = picture_of_plane(format, width, height, source);
    picture known = picture_of_plane(GPV_FORMAT_GRAY8, width, height, seeds);
    picture want = picture_of_plane(GPV_FORMAT_GRAY8, width, height, wanted);
    picture mask = picture_new(GPV_FORMAT_GRAY8, width, height, TIGHT);
    ck_assert_int_eq(run_views(&src.view, &known.view, &mask.view, NULL), GPV_OK);
    expect_proved(&mask);
    ck_assert_int_eq(found().flow, flow);
    expect_picture(&mask, &want);
    picture_free(&src);
    picture_free(&known);
}

START_TEST(two_colours_with_a_seed_each) {
    static const char source[] = "20 20 20 20 220 220 220 "
                                 "20 20 20 220 220 220 220 "
                                 "20 20 220 20 220 220 220 "
                                 "20 20 20 20 220 20 220 ";
    int m, connectivity, iterations;
    for (m = 0; m < 3; m++)
        for (connectivity = 4; connectivity <= 8; connectivity += 4)
            for (iterations = 1; iterations <= 3; iterations++) {
                gpv_segment_params params = certified(models[m], 0.5f);
                params.connectivity = connectivity;
                params.iterations = iterations;
                set(params);
                expect_mask(7, 4, source,
                            "1 1 1 1 1 1 1 "
                            "0 1 1 1 1 1 # "
                            "1 1 1 1 1 1 1 "
                            "1 1 1 1 1 1 1 ",
                            NULL,
                            "....### "
                            "...#### "
                            "..#.### "
                            "....#.# ");
                expect_mask(7, 4, source,
                            "1 1 1 1 1 1 0 "
                            "1 1 1 1 1 1 1 "
                            "# 1 1 1 1 1 1 "
                            "1 1 1 1 1 1 1 ",
                            NULL,
                            "####... "
                            "###.... "
                            "##.#... "
                            "####.#. ");
            }
}
END_TEST

/* Nothing can be told of it: it is background, whatever its size. */
START_TEST(a_flat_picture_without_seeds) {
    static const gpv_rect whole = {0, 0, 5, 3};
    static const char unknown[] = "1 2 3 4 5 100 127 128 129 250 251 252 253 254 7";
    int m, connectivity, level;
    for (m = 0; m < 3; m++)
        for (connectivity = 4; connectivity <= 8; connectivity += 4)
            for (level = 0; level < 256; level += 51) {
                gpv_segment_params params = certified(models[m], 0.02f);
                char source[64] = "", *end = source;
                int i;
                for (i = 0; i < 15; i++)
                    end += sprintf(end, "%d ", level);
                params.connectivity = connectivity;
                set(params);
                expect_mask(5, 3, source, NULL, NULL, "..... ..... .....");
                ck_assert_int_eq(found().area, 0);
                ck_assert_int_eq(found().flow, 0);
                expect_mask(5, 3, source, unknown, NULL, "..... ..... .....");
                expect_mask(5, 3, source, NULL, &whole, "..... ..... .....");
            }
}
END_TEST

/* Of two clusters that with more of the edge is the background; of equal ones the larger. */
START_TEST(a_picture_without_seeds) {
    static const char bright[] = "10 10 10 10 10 10 "
                                 "10 200 200 200 200 10 "
                                 "10 200 200 200 200 10 "
                                 "10 200 200 200 200 10 "
                                 "10 10 200 10 10 10 ";
    static const char dark[] = "240 240 240 240 240 240 "
                               "240 30 30 30 30 240 "
                               "240 30 30 30 30 240 "
                               "240 30 30 30 30 240 "
                               "240 240 30 240 240 240 ";
    static const char unknown[] = "9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9";
    static const char wanted[] = "...... .####. .####. .####. ..#...";
    int m;
    for (m = 0; m < 3; m++) {
        set(certified(models[m], 1));
        expect_mask(6, 5, bright, NULL, NULL, wanted);
        expect_mask(6, 5, dark, NULL, NULL, wanted);
        expect_mask(6, 5, dark, unknown, NULL, wanted);
        expect_row(4, "10 200 200 200", NULL, "#...");
        expect_row(4, "10 10 10 200", NULL, "...#");
        /* each has four pixels of the edge */
        expect_mask(3, 3, "10 200 10 200 10 200 10 200 10", NULL, NULL, ".#. #.# .#.");
        expect_mask(3, 3, "10 200 10 200 200 200 10 200 10", NULL, NULL, "#.# ... #.#");
    }
}
END_TEST

START_TEST(everything_is_known) {
    static const char noise[] = "0 200 13 255 90 31 7 111 250 90 1 2";
    int m;
    for (m = 0; m < 3; m++) {
        gpv_segment_params params = certified(models[m], GPV_SEGMENT_MAX_WEIGHT);
        params.iterations = 3;
        set(params);
        expect_mask(4, 3, noise, "255 255 255 255 255 255 255 255 255 255 255 255", NULL,
                    "#### #### ####");
        ck_assert_int_eq(found().flow, 0);
        expect_mask(4, 3, noise, "0 0 0 0 0 0 0 0 0 0 0 0", NULL, ".... .... ....");
        ck_assert_int_eq(found().flow, 0);
        expect_mask(4, 3, noise, ".#.# #..# .###", NULL, ".#.# #..# .###");
    }
}
END_TEST

/* Seeds are kept to, however much their colour and their neighbours speak against it. */
START_TEST(seeds_are_kept_to) {
    int m;
    for (m = 0; m < 3; m++) {
        gpv_segment_params params = certified(models[m], GPV_SEGMENT_MAX_WEIGHT);
        params.connectivity = 8;
        params.sigma = GPV_SEGMENT_MAX_WEIGHT;
        set(params);
        expect_mask(5, 3, "9 9 9 9 9 9 9 9 9 9 240 240 240 240 240",
                    "0 0 0 0 0 0 # 1 0 0 # # # 0 1", NULL, "..... .#... ###.#");
    }
}
END_TEST

/* Of a side without seeds colours are those of what is not known. */
START_TEST(seeds_of_one_side) {
    int m;
    for (m = 0; m < 3; m++) {
        set(certified(models[m], 1));
        expect_row(6, "20 20 20 200 200 200", "0 1 1 1 1 1", "...###");
        expect_row(6, "20 20 20 200 200 200", "1 1 1 1 # 1", "...###");
        /* of which there are none, so that the other side is likelier */
        expect_row(3, "20 20 20", "0 0 0", "...");
    }
}
END_TEST

START_TEST(outside_of_the_rectangle) {
    static const gpv_rect rect = {1, 1, 3, 2}, dot = {4, 3, 1, 1}, whole = {0, 0, 5, 4};
    static const char source[] = "20 20 20 20 220 "
                                 "20 220 20 220 220 "
                                 "220 220 220 20 20 "
                                 "20 20 20 20 220 ";
    int m;
    for (m = 0; m < 3; m++) {
        set(certified(models[m], 10));
        expect_mask(5, 4, source, NULL, &rect,
                    /* of what is outside some pixels are bright, of what is inside most */
                    "..... .#.#. .##.. .....");
        /* seeds there do not count */
        expect_mask(5, 4, source, ".#.#. ##### #.#.# #####", &dot, "..... ..... ..... ....#");
        expect_mask(5, 4, source, "1 1 1 1 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 #", &rect,
                    "..... .#.#. .##.. .....");
        /* the whole picture is not a word said */
        expect_mask(5, 4, source, NULL, &whole, "....# .#.## ###.. ....#");
        expect_mask(5, 4, source, NULL, NULL, "....# .#.## ###.. ....#");
    }
}
END_TEST

/* Of neighbours with given seeds: the cheapest border, of equal ones that next to the background.
 */
START_TEST(borders_alone) {
    gpv_segment_params params = certified(GPV_SEGMENT_MODEL_GMM, 0);
    set(params);
    expect_flow(4, 1, GPV_FORMAT_GRAY8, "50 50 50 50", "# 1 1 0", 1000, "###.");
    /* squared differences 3 (0, 100, 400) have the mean 500, so the least is 1000 exp(-1.2) */
    expect_flow(4, 1, GPV_FORMAT_GRAY8, "50 50 60 80", "0 1 1 #", 301, "...#");
    /* a corner costs two, a side three */
    expect_flow(3, 3, GPV_FORMAT_GRAY8, "7 7 7 7 7 7 7 7 7", "# 1 1 1 1 1 1 1 0", 2000,
                "### ### ##.");
    expect_flow(3, 3, GPV_FORMAT_GRAY8, "7 7 7 7 7 7 7 7 7", "# 1 0 # 1 0 # 1 0", 3000,
                "##. ##. ##.");
    /* what is undecided is foreground */
    expect_mask(2, 2, "7 8 90 200", NULL, NULL, "## ##");
    expect_mask(2, 2, "7 7 7 7", NULL, NULL, "## ##");
    params.sigma = 10;
    set(params);
    expect_flow(2, 1, GPV_FORMAT_RGB8, "100 100 100 110 100 100", "0 #", 607, ".#");
    expect_flow(1, 2, GPV_FORMAT_BGR8, "100 100 100 100 90 100", "0 #", 607, ".#");
    expect_flow(2, 1, GPV_FORMAT_RGB8, "100 100 100 100 100 120", "0 #", 135, ".#");
    expect_flow(2, 1, GPV_FORMAT_GRAY8, "100 110", "# 0", 223, "#."); /* in three channels */
    expect_flow(2, 1, GPV_FORMAT_RGBA8, "1 2 3 0 1 2 3 255", "# 0", 1000, "#.");
    params.sigma = GPV_SEGMENT_MAX_WEIGHT;
    set(params);
    expect_flow(2, 1, GPV_FORMAT_GRAY8, "0 255", "0 #", 1000, ".#");
    /* round a corner there is a diagonal, too: 1000 / sqrt(2) */
    params.connectivity = 8;
    set(params);
    expect_flow(2, 2, GPV_FORMAT_GRAY8, "7 7 7 7", "# 0 0 0", 2707, "#. ..");
    expect_flow(2, 2, GPV_FORMAT_GRAY8, "7 7 7 7", "# # 0 0", 2000 + 2 * 707, "## ..");
    expect_flow(2, 2, GPV_FORMAT_GRAY8, "7 7 7 7", "0 0 # 1", 2000 + 707, ".. #.");
    params.sigma = 10;
    set(params);
    expect_flow(2, 2, GPV_FORMAT_RGB8, "0 0 0 0 90 0 0 0 90 10 0 0", "# 1 1 0", 429, "## #.");
}
END_TEST

/* What seems infinitely steep still joins what has one colour. */
START_TEST(the_min_sigma) {
    static const uint32_t bits[] = {1, 0x00800000u, 0x1E3CE508u /* 1e-20 */, 0x3A83126Fu};
    gpv_segment_params params = certified(GPV_SEGMENT_MODEL_GMM, 0);
    size_t i;
    for (i = 0; i < COUNT(bits); i++) {
        memcpy(&params.sigma, &bits[i], sizeof params.sigma);
        set(params);
        expect_flow(3, 1, GPV_FORMAT_GRAY8, "50 50 50", "# 1 0", GPV_SEGMENT_UNIT, "##.");
        expect_flow(3, 1, GPV_FORMAT_GRAY8, "50 50 51", "# 1 0", 0, "##.");
    }
}
END_TEST

/* Neither seeds nor borders say a word. */
START_TEST(one_pixel) {
    int m;
    for (m = 0; m < 3; m++) {
        set(certified(models[m], 1));
        expect_mask(1, 1, "200", NULL, NULL, ".");
        expect_mask(1, 1, "200", "128", NULL, ".");
        expect_mask(1, 1, "0", "0", NULL, ".");
        expect_mask(1, 1, "0", "255", NULL, "#");
        expect_mask(1, 1, "255", "255", NULL, "#");
    }
}
END_TEST

START_TEST(rows_and_columns) {
    int m, connectivity;
    for (m = 0; m < 3; m++)
        for (connectivity = 4; connectivity <= 8; connectivity += 4) {
            gpv_segment_params params = certified(models[m], 1);
            params.connectivity = connectivity;
            set(params);
            expect_row(2, "10 200", "0 #", ".#");
            expect_row(7, "10 10 200 10 200 200 10", "0 1 1 1 # 1 1", "..#.##.");
            expect_row(7, "10 10 200 10 200 200 10", "1 1 1 # 0 1 1", "##.#..#");
        }
}
END_TEST

/* Weights at the end of their range, colours at those of theirs: capacities are cut off, and what
 * is found is still the least. */
START_TEST(weights_that_overflow) {
    static const char source[] = "0 0 0 0 255 255 "
                                 "0 0 0 255 255 255 "
                                 "0 128 0 255 0 255 "
                                 "0 0 0 0 255 255 ";
    int m, connectivity, sigma;
    for (m = 0; m < 3; m++)
        for (connectivity = 4; connectivity <= 8; connectivity += 4)
            for (sigma = 0; sigma < 2; sigma++) {
                gpv_segment_params params = certified(models[m], GPV_SEGMENT_MAX_WEIGHT);
                params.connectivity = connectivity;
                params.sigma = sigma ? GPV_SEGMENT_MAX_WEIGHT : 0;
                params.iterations = 2;
                set(params);
                expect_mask(6, 4, source,
                            "0 0 1 1 1 # "
                            "0 1 1 1 1 # "
                            "0 # 1 1 1 # "
                            "0 1 1 1 1 # ",
                            NULL,
                            "....## "
                            "...### "
                            ".#.#.# "
                            "....## ");
            }
}
END_TEST

/* With noise, in which no pixel is certain: 2^29 against 2^29, in great numbers. */
START_TEST(noise_at_every_weight) {
    static const float lambdas[] = {1e-30f, 0.001f, 0.02f, 10, 3e4f, GPV_SEGMENT_MAX_WEIGHT};
    size_t l;
    int v;
    for (l = 0; l < COUNT(lambdas); l++)
        for (v = 0; v < VARIANTS; v++) {
            images i = images_new(formats[v % (int)COUNT(formats)], 37, 29, TIGHT, 5);
            gpv_segment_params params = variant(v);
            gpv_graphcut_result result;
            int x, y;
            params.lambda = lambdas[l];
            params.certificate = 1;
            set(params);
            ck_assert_int_eq(run_all(op, &i, &result), GPV_OK);
            expect_proved(&i.mask);
            for (y = 0; y < 29; y++)
                for (x = 0; x < 37; x++) {
                    const int seed = *byte_at(&i.seeds, x, y);
                    if (seed == 0 || seed == 255)
                        ck_assert_uint_eq(*byte_at(&i.mask, x, y), seed);
                }
            images_free(&i);
        }
}
END_TEST

/* What the definition says a border costs. */
static double length_of(const images *i, int connectivity, double sigma, int *links) {
    static const int ring[4][2] = {{1, 0}, {0, 1}, {1, 1}, {-1, 1}};
    double sum = 0;
    int x, y, k;
    *links = 0;
    for (y = 0; y < i->src.view.height; y++)
        for (x = 0; x < i->src.view.width; x++)
            for (k = 0; k < connectivity / 2; k++) {
                const int u = x + ring[k][0], v = y + ring[k][1];
                double d;
                if (u < 0 || u >= i->src.view.width || v >= i->src.view.height ||
                    *byte_at(&i->mask, x, y) == *byte_at(&i->mask, u, v))
                    continue;
                d = *byte_at(&i->src, x, y) - *byte_at(&i->src, u, v);
                sum += GPV_SEGMENT_UNIT * (k < 2 ? 1 : sqrt(0.5)) *
                       exp(-3 * d * d / (2 * sigma * sigma));
                ++*links;
            }
    return sum;
}

/* With lambda 0 the cut is the length of the border. */
START_TEST(the_length_of_borders) {
    int k, crossed = 0;
    for (k = 0; k < 20; k++) {
        images i = images_new(GPV_FORMAT_GRAY8, 33, 17, TIGHT, (unsigned)k);
        gpv_segment_params params = certified(GPV_SEGMENT_MODEL_HISTOGRAM, 0);
        int links;
        double length;
        params.connectivity = k % 2 ? 8 : 4;
        params.sigma = (float)(20 + 30 * k);
        set(params);
        ck_assert_int_eq(run_views(&i.src.view, &i.seeds.view, &i.mask.view, NULL), GPV_OK);
        expect_proved(&i.mask);
        length = length_of(&i, params.connectivity, params.sigma, &links);
        ck_assert_double_eq_tol((double)found().cut, length, 0.501 * links + 1e-6 * length);
        crossed += links;
        images_free(&i);
    }
    ck_assert_int_gt(crossed, 1000);
}
END_TEST

/* 40 and 88 | 200 first, of which 112 is nearer to the latter; then the means are those of the
 * cut. */
START_TEST(rounds_go_on_from_the_cut) {
    static const gpv_rect inside = {6, 0, 13, 1};
    static const char source[] = "40 40 40 40 40 40 88 88 88 88 88 88 112 200 200 200 200 200 200";
    gpv_segment_params params = by_colour(GPV_SEGMENT_WARM_START_NONE);
    set(params);
    expect_mask(19, 1, source, NULL, &inside, "............#######");
    params.iterations = 2;
    set(params);
    expect_mask(19, 1, source, NULL, &inside, ".............######");
    params.iterations = GPV_SEGMENT_MAX_ITERATIONS;
    set(params);
    expect_mask(19, 1, source, NULL, &inside, ".............######");
}
END_TEST

START_TEST(certificate_and_defaults) {
    gpv_segment_params params = certified(GPV_SEGMENT_MODEL_MEANS, 1);
    picture src = picture_of_plane(GPV_FORMAT_GRAY8, 4, 1, "10 10 200 10");
    picture seeds = picture_of_plane(GPV_FORMAT_GRAY8, 4, 1, "0 1 # 1");
    picture mask = picture_new(GPV_FORMAT_GRAY8, 4, 1, TIGHT);
    params.iterations = 3;
    set(params);
    ck_assert_int_eq(run_views(&src.view, &seeds.view, &mask.view, NULL), GPV_OK);
    expect_proved(&mask);
    ck_assert_int_eq(gpv_segment_set_params(op, NULL), GPV_OK);
    ck_assert_int_eq(run_views(&src.view, &seeds.view, &mask.view, NULL), GPV_OK);
    ck_assert_int_eq(found().cut, -1);
    ck_assert_uint_eq(found().optimal, 1);
    set(params);
    /* refused ones leave those in force as they are */
    params = defaults();
    params.sigma = -1;
    ck_assert_int_eq(gpv_segment_set_params(op, &params), INVALID);
    ck_assert_int_eq(run_views(&src.view, &seeds.view, &mask.view, NULL), GPV_OK);
    expect_proved(&mask);
    picture_free(&src);
    picture_free(&seeds);
    picture_free(&mask);
}
END_TEST

/* One that comes too early leaves a cut that costs no less than the best; one that is never reached
 * changes nothing. */
START_TEST(max_time_us) {
    images i = images_new(GPV_FORMAT_GRAY8, 400, 300, TIGHT, 9);
    images want = images_new(GPV_FORMAT_GRAY8, 400, 300, TIGHT, 9);
    gpv_segment_params params = certified(GPV_SEGMENT_MODEL_MEANS, 0.3f);
    gpv_graphcut_result best, early;
    params.connectivity = 8;
    set(params);
    ck_assert_int_eq(run_all(op, &want, &best), GPV_OK);
    expect_proved(&want.mask);
    params.max_time_us = INT32_MAX;
    set(params);
    ck_assert_int_eq(run_all(op, &i, &early), GPV_OK);
    ck_assert_mem_eq(&early, &best, sizeof best);
    ck_assert(picture_equal(&i.mask, &want.mask) && picture_equal(&i.dst, &want.dst));
    params.max_time_us = 1;
    set(params);
    ck_assert_int_eq(run_all(op, &i, &early), GPV_OK);
    ck_assert_uint_eq(found().optimal, 0);
    ck_assert_int_ge(early.flow, 0);
    ck_assert_int_le(early.flow, best.flow);
    ck_assert_int_ge(early.cut, best.cut);
    ck_assert_int_eq(early.area, area_of(&i.mask));
    params.max_time_us = 0;
    set(params);
    ck_assert_int_eq(run_all(op, &i, &early), GPV_OK);
    ck_assert(picture_equal(&i.mask, &want.mask) && picture_equal(&i.dst, &want.dst));
    images_free(&i);
    images_free(&want);
}
END_TEST

/* ------------------------------------------------------------------- pictures */

/* With every pixel known, so that there is no doubt about the mask. */
static void expect_painted(gpv_segment_output how, gpv_format format, int width, int height,
                           const char *const *source, const char *seeds, gpv_format painted,
                           const char *const *wanted, gpv_color_range range) {
    picture src = picture_of(format, width, height, source);
    picture known = picture_of_plane(GPV_FORMAT_GRAY8, width, height, seeds);
    picture want = picture_of(painted, width, height, wanted);
    picture dst = picture_new(painted, width, height, TIGHT);
    picture mask = picture_new(GPV_FORMAT_GRAY8, width, height, TIGHT);
    gpv_segment_params params = defaults();
    params.output = how;
    set(params);
    src.view.color_range = dst.view.color_range = range;
    ck_assert_int_eq(run_views(&src.view, &known.view, &mask.view, &dst.view), GPV_OK);
    expect_picture(&dst, &want);
    ck_assert(picture_equal(&mask, &known));
    if (painted == format) { /* in place, and without a mask */
        want = picture_of(painted, width, height, wanted);
        dst = picture_of(format, width, height, source);
        dst.view.color_range = range;
        ck_assert_int_eq(run_views(&dst.view, &known.view, NULL, &dst.view), GPV_OK);
        expect_picture(&dst, &want);
    }
    picture_free(&src);
    picture_free(&known);
    picture_free(&mask);
}

static void expect_overlay(gpv_format format, int width, int height, const char *const *source,
                           const char *seeds, const char *const *wanted) {
    expect_painted(GPV_SEGMENT_OUTPUT_OVERLAY, format, width, height, source, seeds, format, wanted,
                   GPV_COLOR_RANGE_AUTO);
}

/* Grey of 200 100 50 is 124.9, of 50 100 200 96.8, of 0 0 255 28.9; half of it, rounded down. */
START_TEST(overlays_of_colours) {
    static const char seeds[] = ".#. #..";
    const char *const rgb[] = {"200 100 50  200 100 50  255 255 255 "
                               "50 100 200  0 0 255  1 1 1"};
    const char *const of_rgb[] = {"62 62 62  200 100 50  127 127 127 "
                                  "50 100 200  14 14 14  0 0 0"};
    const char *const of_bgr[] = {"48 48 48  200 100 50  127 127 127 "
                                  "50 100 200  38 38 38  0 0 0"};
    const char *const rgba[] = {"200 100 50 7  200 100 50 0  255 255 255 255 "
                                "50 100 200 1  0 0 255 0  1 1 1 128"};
    const char *const of_rgba[] = {"62 62 62 7  200 100 50 0  127 127 127 255 "
                                   "50 100 200 1  14 14 14 0  0 0 0 128"};
    const char *const of_bgra[] = {"48 48 48 7  200 100 50 0  127 127 127 255 "
                                   "50 100 200 1  38 38 38 0  0 0 0 128"};
    expect_overlay(GPV_FORMAT_RGB8, 3, 2, rgb, seeds, of_rgb);
    expect_overlay(GPV_FORMAT_BGR8, 3, 2, rgb, seeds, of_bgr);
    expect_overlay(GPV_FORMAT_RGBA8, 3, 2, rgba, seeds, of_rgba);
    expect_overlay(GPV_FORMAT_BGRA8, 3, 2, rgba, seeds, of_bgra);
    expect_overlay(GPV_FORMAT_RGBX8, 3, 2, rgba, seeds, of_rgba);
    expect_overlay(GPV_FORMAT_BGRX8, 3, 2, rgba, seeds, of_bgra);
}
END_TEST

START_TEST(overlays_of_grey) {
    const char *const grey[] = {"0 1 2 3 254 255 100"}, *const half[] = {"0 0 1 3 127 255 50"};
    expect_overlay(GPV_FORMAT_GRAY8, 7, 1, grey, "...#.#.", half);
    expect_overlay(GPV_FORMAT_GRAY8, 1, 7, grey, "...#.#.", half);
}
END_TEST

/* Black is 16 in limited range. A site of chroma goes with its first pixel. */
START_TEST(overlays_of_yuv) {
    static const char seeds[] = "#.# .#. .#.";
    const char *const nv12[] = {"16 17 235 0 100 255 15 101 18", "1 2 3 4 5 6 7 8"};
    const char *const limited[] = {"16 16 235 8 100 135 15 101 17", "1 2 3 4 128 128 128 128"};
    const char *const full[] = {"16 8 235 0 100 127 7 101 9", "1 2 3 4 128 128 128 128"};
    const char *const i420[] = {"16 17 235 0 100 255 15 101 18", "1 2 3 4", "5 6 7 8"};
    const char *const of_i420[] = {"16 16 235 8 100 135 15 101 17", "1 2 128 128", "5 6 128 128"};
    const char *const dots[] = {"50 60 70 80", "9", "200"};
    const char *const no_dots[] = {"33 60 70 80", "128", "128"};
    const char *const all_dots[] = {"50 38 43 48", "9", "200"};
    expect_overlay(GPV_FORMAT_NV12, 3, 3, nv12, seeds, limited);
    expect_painted(GPV_SEGMENT_OUTPUT_OVERLAY, GPV_FORMAT_NV12, 3, 3, nv12, seeds, GPV_FORMAT_NV12,
                   full, GPV_COLOR_RANGE_FULL);
    expect_overlay(GPV_FORMAT_I420, 3, 3, i420, seeds, of_i420);
    expect_overlay(GPV_FORMAT_I420, 2, 2, dots, ".# ##", no_dots);
    expect_overlay(GPV_FORMAT_I420, 2, 2, dots, "#. ..", all_dots);
    expect_overlay(GPV_FORMAT_NV12, 1, 1, (const char *const[]){"90", "1 2"}, ".",
                   (const char *const[]){"53", "128 128"});
}
END_TEST

static void expect_mask_planes(gpv_format format, int width, int height, const char *seeds,
                               const char *const *wanted) {
    picture src = picture_of_plane(GPV_FORMAT_GRAY8, width, height, seeds);
    picture want = picture_of(format, width, height, wanted);
    picture mask = picture_new(format, width, height, TIGHT);
    ck_assert_int_eq(run_views(&src.view, &src.view, &mask.view, NULL), GPV_OK);
    expect_picture(&mask, &want);
    picture_free(&src);
}

/* Of odd sizes, too; chroma is neutral. */
START_TEST(masks_of_every_format) {
    static const char seeds[] = "#.# .#. .#.";
    const char *const planes[] = {seeds, "128 128 128 128 128 128 128 128"};
    const char *const three[] = {seeds, "128 128 128 128", "128 128 128 128"};
    expect_mask_planes(GPV_FORMAT_GRAY8, 3, 3, seeds, planes);
    expect_mask_planes(GPV_FORMAT_NV12, 3, 3, seeds, planes);
    expect_mask_planes(GPV_FORMAT_I420, 3, 3, seeds, three);
    expect_mask_planes(GPV_FORMAT_NV12, 1, 1, "#", (const char *const[]){"#", "128 128"});
    expect_mask_planes(GPV_FORMAT_I420, 2, 1, ".#", (const char *const[]){".#", "128", "128"});
}
END_TEST

static void expect_cutout(gpv_format format, const char *const *source, const char *rgba,
                          const char *bgra) {
    expect_painted(GPV_SEGMENT_OUTPUT_CUTOUT, format, 3, 1, source, ".#.", GPV_FORMAT_RGBA8, &rgba,
                   GPV_COLOR_RANGE_AUTO);
    expect_painted(GPV_SEGMENT_OUTPUT_CUTOUT, format, 3, 1, source, ".#.", GPV_FORMAT_BGRA8, &bgra,
                   GPV_COLOR_RANGE_AUTO);
}

/* Colours stay. Alpha is the mask, or what it was, in the foreground. */
START_TEST(cutouts) {
    static const char rgba[] = "1 2 3 0  40 50 60 255  255 0 9 0";
    static const char bgra[] = "3 2 1 0  60 50 40 255  9 0 255 0";
    static const char grey[] = "0 0 0 0  9 9 9 255  255 255 255 0";
    static const char yuv[] = "0 0 0 0  255 255 255 255  254 0 0 0"; /* BT.601: red */
    const char *const in_rgb[] = {"1 2 3  40 50 60  255 0 9"};
    const char *const in_bgr[] = {"3 2 1  60 50 40  9 0 255"};
    static const char thin_rgba[] = "1 2 3 0  40 50 60 7  255 0 9 0";
    static const char thin_bgra[] = "3 2 1 0  60 50 40 7  9 0 255 0";
    const char *const in_rgba[] = {"1 2 3 4  40 50 60 7  255 0 9 255"};
    const char *const in_bgra[] = {"3 2 1 4  60 50 40 7  9 0 255 255"};
    expect_cutout(GPV_FORMAT_RGB8, in_rgb, rgba, bgra);
    expect_cutout(GPV_FORMAT_BGR8, in_bgr, rgba, bgra);
    expect_cutout(GPV_FORMAT_RGBA8, in_rgba, thin_rgba, thin_bgra);
    expect_cutout(GPV_FORMAT_BGRA8, in_bgra, thin_rgba, thin_bgra);
    expect_cutout(GPV_FORMAT_RGBX8, in_rgba, rgba, bgra);
    expect_cutout(GPV_FORMAT_BGRX8, in_bgra, rgba, bgra);
    expect_cutout(GPV_FORMAT_GRAY8, (const char *const[]){"0 9 255"}, grey, grey);
    expect_cutout(GPV_FORMAT_NV12, (const char *const[]){"16 235 81", "128 128 90 240"}, yuv,
                  "0 0 0 0  255 255 255 255  0 0 254 0");
    expect_cutout(GPV_FORMAT_I420, (const char *const[]){"16 235 81", "128 90", "128 240"}, yuv,
                  "0 0 0 0  255 255 255 255  0 0 254 0");
}
END_TEST

/* --------------------------------------------------------------------- frames */

/* Dark is 40, bright 200. Seeds that say the opposite of the first ones, and what both lead to. */
static const char frame[] = "40 40 200 40 200 200";
static const char first_seeds[] = "0 1 1 1 1 #", bright[] = "..#.##";
static const char other_seeds[] = "1 # 1 1 0 1", dark[] = "##.#..";
static const char bright_but_seeds[] = ".##..#";

static void expect_frame(const char *seeds, const char *wanted) {
    expect_mask(6, 1, frame, seeds, NULL, wanted);
}

START_TEST(always_takes_nothing_over) {
    set(by_colour(GPV_SEGMENT_WARM_START_NONE));
    expect_frame(first_seeds, bright);
    expect_frame(other_seeds, dark);
    expect_frame(NULL, bright); /* three pixels each: the brighter ones */
    expect_frame(first_seeds, bright);
    /* what others begin with */
    set(by_colour(GPV_SEGMENT_WARM_START_REUSE));
    expect_frame(other_seeds, bright_but_seeds);
    set(by_colour(GPV_SEGMENT_WARM_START_NONE));
    expect_frame(other_seeds, dark);
    set(by_colour(GPV_SEGMENT_WARM_START_ADAPT));
    expect_frame(NULL, dark);
}
END_TEST

/* Without seeds, and against what they say. */
static void expect_kept(void) {
    expect_frame(NULL, bright);
    expect_frame(other_seeds, bright_but_seeds);
}

START_TEST(once_keeps_what_it_has_learned) {
    gpv_segment_params params = by_colour(GPV_SEGMENT_WARM_START_REUSE);
    int m;
    for (m = 0; m < 3; m++) {
        gpv_image bad;
        params.model = models[m];
        params.iterations = 1 + m;
        set(params);
        expect_frame(first_seeds, bright);
        expect_kept();
        /* what is refused changes nothing */
        gpv_image_init(&bad, sizeof bad);
        ck_assert_int_eq(run_views(&bad, NULL, &bad, NULL), INVALID);
        params.warm_start = 3;
        ck_assert_int_eq(gpv_segment_set_params(op, &params), INVALID);
        params.warm_start = GPV_SEGMENT_WARM_START_REUSE;
        params.lambda = 50;
        params.model = 3;
        ck_assert_int_eq(gpv_segment_set_params(op, &params), INVALID);
        params.model = models[m];
        expect_kept();
        /* nor do others than the model */
        params.connectivity = 8;
        params.sigma = 30;
        params.iterations = 2;
        params.output = GPV_SEGMENT_OUTPUT_CUTOUT;
        set(params);
        expect_kept();
        /* nor another picture */
        expect_mask(2, 3, "200 40 200 40 40 200", NULL, NULL, "#. #. .#");
        expect_kept();
        ck_assert_int_eq(gpv_segment_forget(op), GPV_OK);
        expect_frame(other_seeds, dark);
        expect_frame(NULL, dark);
        params.lambda = 100;
    }
}
END_TEST

START_TEST(another_model_forgets) {
    int a, b;
    for (a = 0; a < 3; a++)
        for (b = 0; b < 3; b++) {
            gpv_segment_params params = by_colour(GPV_SEGMENT_WARM_START_REUSE), other = params;
            params.model = models[a];
            other.model = models[b];
            set(params);
            ck_assert_int_eq(gpv_segment_forget(op), GPV_OK);
            expect_frame(first_seeds, bright);
            set(other);
            set(params); /* back again, with no run between */
            if (a == b)
                expect_kept();
            else
                expect_frame(other_seeds, dark);
        }
}
END_TEST

/* What is bright gets darker, what is dark stays 40. */
static void expect_darker(int w, const char *seeds, const char *wanted) {
    char source[64];
    snprintf(source, sizeof source, "40 40 %d 40 %d %d", w, w, w);
    expect_mask(6, 1, source, seeds, NULL, wanted);
}

START_TEST(adapt_follows) {
    int round;
    for (round = 0; round < 2; round++) {
        set(by_colour(GPV_SEGMENT_WARM_START_ADAPT));
        expect_darker(200, first_seeds, bright);
        expect_darker(160, NULL, bright);
        expect_darker(130, NULL, bright);
        expect_darker(100, NULL, bright); /* nearer to 40 than to 200 */
        expect_darker(80, NULL, bright);
        /* against which seeds speak in vain */
        expect_darker(80, other_seeds, bright_but_seeds);
        ck_assert_int_eq(gpv_segment_forget(op), GPV_OK);
        /* which do not change what has been learned */
        set(by_colour(GPV_SEGMENT_WARM_START_REUSE));
        expect_darker(200, first_seeds, bright);
        expect_darker(160, NULL, bright);
        expect_darker(130, NULL, bright);
        expect_darker(100, NULL, "......");
        ck_assert_int_eq(gpv_segment_forget(op), GPV_OK);
    }
}
END_TEST

/* A side that is not there for a while keeps its colours. */
START_TEST(a_side_may_vanish) {
    static const char nothing[] = "40 40 40 40 40 40";
    int m, fit;
    for (m = 0; m < 3; m++)
        for (fit = GPV_SEGMENT_WARM_START_ADAPT; fit <= GPV_SEGMENT_WARM_START_REUSE; fit++) {
            gpv_segment_params params = by_colour((gpv_segment_warm_start)fit);
            params.model = models[m];
            params.iterations = 2;
            set(params);
            ck_assert_int_eq(gpv_segment_forget(op), GPV_OK);
            expect_frame(first_seeds, bright);
            expect_mask(6, 1, nothing, NULL, NULL, "......");
            expect_mask(6, 1, nothing, NULL, NULL, "......");
            expect_frame(NULL, bright);
        }
}
END_TEST

static void expect_learned(uint32_t wanted) {
    uint32_t learned = 2;
    ck_assert_int_eq(gpv_segment_learned(op, &learned), GPV_OK);
    ck_assert_uint_eq(learned, wanted);
}

/* Nor does it keep anything from being learned. */
START_TEST(a_plain_frame_teaches_nothing) {
    static const char plain[] = "90 90 90 90 90 90";
    int m, fit;
    for (m = 0; m < 3; m++)
        for (fit = GPV_SEGMENT_WARM_START_NONE; fit <= GPV_SEGMENT_WARM_START_REUSE; fit++) {
            gpv_segment_params params = by_colour((gpv_segment_warm_start)fit);
            params.model = models[m];
            set(params);
            ck_assert_int_eq(gpv_segment_forget(op), GPV_OK);
            expect_learned(0);
            expect_mask(6, 1, plain, NULL, NULL, "......");
            expect_learned(0);
            expect_frame(first_seeds, bright);
            expect_learned(1);
            params.warm_start = GPV_SEGMENT_WARM_START_ADAPT;
            set(params);
            expect_frame(NULL, bright);
            expect_learned(1);
            ck_assert_int_eq(gpv_segment_forget(op), GPV_OK);
            expect_learned(0);
        }
}
END_TEST

/* Three frames of another scene are a flash, which teaches nothing; the fourth begins a scene. A
 * drift does where no seeds were given. */
START_TEST(adapt_begins_anew_with_a_scene) {
    static const char white[] = "255 255 255 255 255 250";
    int flash;
    set(by_colour(GPV_SEGMENT_WARM_START_ADAPT));
    for (flash = 1; flash < 5; flash++) {
        int i;
        ck_assert_int_eq(gpv_segment_forget(op), GPV_OK);
        expect_frame(first_seeds, bright);
        for (i = 0; i < flash; i++)
            expect_mask(6, 1, white, NULL, NULL, "######");
        expect_learned(flash < 4);
        expect_frame(other_seeds, flash < 4 ? bright_but_seeds : dark);
    }
    ck_assert_int_eq(gpv_segment_forget(op), GPV_OK);
    expect_frame(NULL, bright);
    expect_learned(1);
    expect_mask(6, 1, "40 40 180 40 180 180", NULL, NULL, bright);
    expect_learned(0);
}
END_TEST

/* What was learned from seeds follows a fade, but not into a scene in which it finds nothing. */
START_TEST(a_fade_may_leave_nothing) {
    static const char *const frames[] = {"40 40 40 40 40 40 40 40 40 40 40 200",
                                         "55 55 55 55 55 55 55 55 55 55 55 215",
                                         "70 70 70 70 70 70 70 70 70 70 70 230"};
    int i;
    set(by_colour(GPV_SEGMENT_WARM_START_ADAPT));
    for (i = 0; i < 3; i++) {
        expect_mask(12, 1, frames[i], i ? NULL : "0 9 9 9 9 9 9 9 9 9 9 255", NULL, "...........#");
        expect_learned(1);
    }
    expect_mask(12, 1, "70 70 70 70 70 70 70 70 70 70 70 70", NULL, NULL, "............");
    expect_learned(0);
}
END_TEST

int main(void) {
    const TTest *const tests[] = {rects_lie_within_src,
                                  seeds_may_be_src,
                                  forgetting_leaves_the_result,
                                  two_colours_with_a_seed_each,
                                  a_flat_picture_without_seeds,
                                  a_picture_without_seeds,
                                  everything_is_known,
                                  seeds_are_kept_to,
                                  seeds_of_one_side,
                                  outside_of_the_rectangle,
                                  borders_alone,
                                  the_min_sigma,
                                  one_pixel,
                                  rows_and_columns,
                                  weights_that_overflow,
                                  noise_at_every_weight,
                                  the_length_of_borders,
                                  rounds_go_on_from_the_cut,
                                  certificate_and_defaults,
                                  max_time_us,
                                  overlays_of_colours,
                                  overlays_of_grey,
                                  overlays_of_yuv,
                                  masks_of_every_format,
                                  cutouts,
                                  always_takes_nothing_over,
                                  once_keeps_what_it_has_learned,
                                  another_model_forgets,
                                  adapt_follows,
                                  a_side_may_vanish,
                                  a_plain_frame_teaches_nothing,
                                  adapt_begins_anew_with_a_scene,
                                  a_fade_may_leave_nothing};
    return run_tests("segment", setup, teardown, tests, COUNT(tests));
}
