/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"

static const gpv_segment_model models[] = {GPV_SEGMENT_MODEL_GMM, GPV_SEGMENT_MODEL_HISTOGRAM,
                                           GPV_SEGMENT_MODEL_MEANS};

FIXTURE(segment)

RESULT(segment, graphcut)

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

/* A run with such a mask, and a certificate that proves it. seeds: NULL = none. */
static void expect_mask(gpv_format format, int width, int height, const char *source,
                        const char *seeds, const gpv_rect *rect, const char *wanted) {
    picture src = picture_of(format, width, height, source);
    picture known = picture_of(GPV_FORMAT_GRAY8, width, height, seeds ? seeds : wanted);
    picture want = picture_of(GPV_FORMAT_GRAY8, width, height, wanted);
    picture mask = picture_new(GPV_FORMAT_GRAY8, width, height, TIGHT);
    int64_t area = 0;
    succeed(gpv_segment_run(op, NULL, &src.view, seeds ? &known.view : NULL, rect, &mask.view, NULL,
                            NULL));
    expect_picture(&mask, &want);
    for (; *wanted; wanted++)
        area += *wanted == '#';
    ck_assert_uint_eq(waited_for().refused, 0);
    ck_assert_uint_eq(waited_for().optimal, 1);
    ck_assert_int_ge(waited_for().flow, 0);
    ck_assert_int_eq(waited_for().cut, waited_for().flow);
    ck_assert_int_eq(waited_for().area, area);
    picture_free(&src);
    picture_free(&known);
}

START_TEST(rects_lie_within_src) {
    static const struct {
        gpv_rect rect;
        const char *text; /* NULL = legal */
    } cases[] = {
        {{0, 0, 64, 48}, NULL},
        {{63, 47, 1, 1}, NULL},
        {{-1, 0, 5, 5}, "rect->x is -1, must be 0..63"},
        {{64, 0, 1, 1}, "rect->x is 64, must be 0..63"},
        {{0, -1, 5, 5}, "rect->y is -1, must be 0..47"},
        {{0, 48, 1, 1}, "rect->y is 48, must be 0..47"},
        {{0, INT32_MAX, 1, INT32_MAX}, "rect->y is 2147483647, must be 0..47"},
        {{0, 0, 0, 48}, "rect->width is 0, must be 1..64"},
        {{10, 20, 55, 28}, "rect->width is 55, must be 1..54"},
        {{63, 0, INT32_MAX, 1}, "rect->width is 2147483647, must be 1..1"},
        {{0, 0, 64, 0}, "rect->height is 0, must be 1..48"},
        {{10, 20, 54, 29}, "rect->height is 29, must be 1..28"},
        {{0, 47, 1, INT32_MAX}, "rect->height is 2147483647, must be 1..1"},
    };
    const gpv_buffer none = buffer_of(NULL, 40);
    const gpv_image src = forbidden_image(forbidden_memory(1 << 21));
    for (size_t i = 0; i < COUNT(cases); i++)
        refused(gpv_segment_run(op, NULL, &src, NULL, &cases[i].rect, NULL, NULL, &none),
                cases[i].text ? cases[i].text : "result->data|NULL");
}
END_TEST

/* Nor other parameters, nor other shapes, nor a rectangle that is refused, before there is a run.
 * Seeds may be src, as both are only read. */
START_TEST(forgetting_leaves_the_result) {
    static const gpv_rect outside = {0, 0, 6, 1};
    picture src = picture_of(GPV_FORMAT_GRAY8, 5, 1, "..##?");
    picture mask = picture_new(GPV_FORMAT_GRAY8, 5, 1, TIGHT);
    const gpv_image *const seeds = &src.view;
    succeed(gpv_segment_run(op, NULL, &src.view, seeds, NULL, &mask.view, NULL, NULL));
    ck_assert_int_eq(waited_for().area, 3);
    ck_assert_int_eq(gpv_segment_run(op, NULL, &src.view, NULL, &outside, &mask.view, NULL, NULL),
                     INVALID);
    set(by_colour(GPV_SEGMENT_WARM_START_NONE));
    succeed(gpv_segment_forget(op));
    succeed(gpv_segment_prepare(op, &mask.view, NULL, NULL, &mask.view));
    ck_assert_int_eq(waited_for().area, 3);
    ck_assert_int_eq(waited_for().cut, -1);
    expect_mask(GPV_FORMAT_GRAY8, 5, 1, "1 1 9 9 9", "####3", NULL, "#####");
    refused(gpv_segment_learned(op, NULL), "learned|NULL");
    picture_free(&src);
    picture_free(&mask);
}
END_TEST

/* Of every value, in rows of two whole vectors and a part. */
START_TEST(seeds_mean_something) {
    enum { WIDTH = 150 };
    static const gpv_rect all = {0, 0, WIDTH, 2}, above = {0, 0, WIDTH, 1}, left = {0, 1, 1, 1};
    picture src = picture_new(GPV_FORMAT_GRAY8, WIDTH, 2, TIGHT);
    picture seeds = picture_new(GPV_FORMAT_GRAY8, WIDTH, 2, TIGHT);
    picture mask = picture_new(GPV_FORMAT_GRAY8, WIDTH, 2, TIGHT);
    unsigned char *const values = seeds.view.data[0], *const sides = mask.view.data[0];
    memset(values, GPV_SEGMENT_SEED_UNKNOWN, 2 * WIDTH);
    memset(sides, 77, 2 * WIDTH);
    for (int value = 0; value < 256; value++) {
        const int x = value * 7 % WIDTH;
        char text[128];
        snprintf(text, sizeof text,
                 "seeds is %d at (%d, 1), must be 0 (background), 1 or 255 (foreground), 2", value,
                 x);
        values[WIDTH + x] = (unsigned char)value;
        if (value < 4 || value == 128 || value == 255)
            succeed(gpv_segment_run(op, NULL, &src.view, &seeds.view, &all, NULL, &src.view, NULL));
        else
            refused(gpv_segment_run(op, NULL, &src.view, &seeds.view, NULL, &mask.view, NULL, NULL),
                    text);
        values[WIDTH + x] = GPV_SEGMENT_SEED_UNKNOWN;
    }
    values[WIDTH] = GPV_SEGMENT_SEED_FOREGROUND;
    refused(gpv_segment_run(op, NULL, &src.view, &seeds.view, &left, &mask.view, NULL, NULL),
            "seeds leave no pixel unknown: ");
    for (int i = 0; i < 2 * WIDTH; i++)
        ck_assert_int_eq(sides[i], 77);
    values[WIDTH] = 7; /* outside */
    succeed(gpv_segment_run(op, NULL, &src.view, &seeds.view, &above, &mask.view, NULL, NULL));
    picture_free(&src);
    picture_free(&seeds);
    picture_free(&mask);
}
END_TEST

/* ------------------------------------------------- results worked out by hand */

static const gpv_rect inner = {1, 1, 3, 2}, dot = {4, 3, 1, 1};
static const char two_colours[] = "20 20 20 20 220 220 220 "
                                  "20 20 20 220 220 220 220 "
                                  "20 20 220 20 220 220 220 "
                                  "20 20 20 20 220 20 220 ";
static const char bright_inside[] = "20 20 20 20 220 "
                                    "20 220 20 220 220 "
                                    "220 220 220 20 20 "
                                    "20 20 20 20 220 ";
static const char noise[] = "0 200 13 255 90 31 7 111 250 90 1 2";

/* The same with every model. */
static const struct {
    int width, height;
    float lambda;
    const char *source, *seeds;
    const gpv_rect *rect;
    const char *wanted;
} pictures[] = {
    /* two colours with a seed each */
    {7, 4, 0.5f, two_colours, "??????? .?????# ??????? ???????", NULL,
     "....### ...#### ..#.### ....#.#"},
    {7, 1, 1, "10 10 200 10 200 200 10", "???#.??", NULL, "##.#..#"},
    /* a plain picture, of which nothing can be told, is background */
    {5, 3, 0.02f, "9 9 9 9 9 9 9 9 9 9 9 9 9 9 9", NULL, NULL, "..... ..... ....."},
    {1, 1, 1, "200", NULL, NULL, "."},
    {1, 1, 1, "0", "3", NULL, "#"},
    /* without seeds: of two clusters that with more of the edge is the background */
    {6, 4, 1, "9 9 9 9 9 9 9 200 200 200 200 9 9 200 200 200 200 9 9 9 200 9 9 9", NULL, NULL,
     "...... .####. .####. ..#..."},
    {6, 4, 1,
     "240 240 240 240 240 240 240 30 30 30 30 240 240 30 30 30 30 240 240 240 30 240 240 240", NULL,
     NULL, "...... .####. .####. ..#..."},
    /* of equal ones the larger */
    {3, 3, 1, "10 200 10 200 10 200 10 200 10", NULL, NULL, ".#. #.# .#."},
    {3, 3, 1, "10 200 10 200 200 200 10 200 10", NULL, NULL, "#.# ... #.#"},
    /* all but one are known */
    {4, 3, 0, noise, ".#.# #..? .###", NULL, ".#.# #..# .###"},
    /* colours are learned from what is probable, which is not kept to */
    {7, 1, 1, "10 10 200 10 200 200 10", "??? 3 2 ??", NULL, "##.#..#"},
    {6, 1, 1, "20 20 20 200 200 200", "2 2 3 3 3 3", NULL, "...###"},
    {6, 1, 1, "20 20 20 200 200 200", "0 2 3 3 3 1", NULL, "...###"},
    /* seeds are kept to, whatever their colour */
    {5, 3, GPV_SEGMENT_MAX_WEIGHT, "9 9 9 9 9 9 9 9 9 9 240 240 240 240 240", "..... .#?.. ###.?",
     NULL, "..... .#... ###.#"},
    /* of a side without seeds colours are those of what is not known */
    {6, 1, 1, "20 20 20 200 200 200", ".?????", NULL, "...###"},
    /* what is outside of the rectangle is background, seeds there do not count */
    {5, 4, 10, bright_inside, NULL, &inner, "..... .#.#. .##.. ....."},
    {5, 4, 10, bright_inside, "????. ????? ????? ????#", &inner, "..... .#.#. .##.. ....."},
    {5, 4, 10, bright_inside, ".#.#. ##### #.#.# ####3", &dot, "..... ..... ..... ....#"},
    {5, 4, 10, bright_inside, NULL, NULL, "....# .#.## ###.. ....#"},
};

START_TEST(small_pictures) {
    for (size_t i = 0; i < COUNT(pictures); i++)
        for (int m = 0; m < 3; m++)
            for (int connectivity = 4; connectivity <= 8; connectivity += 4) {
                gpv_segment_params params = certified(models[m], pictures[i].lambda);
                params.connectivity = connectivity;
                params.iterations = 1 + m;
                set(params);
                expect_mask(GPV_FORMAT_GRAY8, pictures[i].width, pictures[i].height,
                            pictures[i].source, pictures[i].seeds, pictures[i].rect,
                            pictures[i].wanted);
            }
}
END_TEST

/* Where links alone count: the cheapest border, of equal ones that next to the background. */
static const struct {
    float sigma;
    int connectivity, width, height;
    gpv_format format;
    const char *source, *seeds;
    int64_t flow;
    const char *wanted;
} borders[] = {
    {0, 4, 4, 1, GPV_FORMAT_GRAY8, "50 50 50 50", "#??.", 785, "###."},
    /* squared differences 3 (0, 100, 400) have the mean 500, so the least is 250 pi exp(-1.2) */
    {0, 4, 4, 1, GPV_FORMAT_GRAY8, "50 50 60 80", ".??#", 237, "...#"},
    /* a corner costs two, a side three */
    {0, 4, 3, 3, GPV_FORMAT_GRAY8, "7 7 7 7 7 7 7 7 7", "#?? ??? ??.", 1570, "### ### ##."},
    {0, 4, 3, 3, GPV_FORMAT_GRAY8, "7 7 7 7 7 7 7 7 7", "#?. #?. #?.", 2355, "##. ##. ##."},
    /* what is undecided is foreground */
    {0, 4, 2, 2, GPV_FORMAT_GRAY8, "7 8 90 200", "?? ??", 0, "## ##"},
    {10, 4, 3, 1, GPV_FORMAT_RGB8, "100 100 100 110 100 100 110 100 100", ".#?", 476, ".##"},
    /* grey is in three channels, and alpha in none */
    {10, 4, 3, 1, GPV_FORMAT_GRAY8, "100 110 110", "#.?", 175, "#.."},
    {10, 4, 3, 1, GPV_FORMAT_RGBA8, "1 2 3 0 1 2 3 255 1 2 3 9", "#.?", 785, "#.."},
    /* what seems infinitely steep still joins what has one colour */
    {1e-20f, 4, 3, 1, GPV_FORMAT_GRAY8, "50 50 50", "#?.", 785, "##."},
    {1e-20f, 4, 3, 1, GPV_FORMAT_GRAY8, "50 50 51", "#?.", 0, "##."},
    /* round a corner there is a diagonal, too: 2 * 393 + 278 */
    {1e6f, 8, 2, 2, GPV_FORMAT_GRAY8, "7 7 7 7", "#. .?", 1064, "#. .."},
    {10, 8, 2, 2, GPV_FORMAT_RGB8, "0 0 0 0 90 0 0 0 90 10 0 0", "#??.", 168, "## #."},
};

START_TEST(borders_alone) {
    for (size_t i = 0; i < COUNT(borders); i++) {
        gpv_segment_params params = certified(GPV_SEGMENT_MODEL_GMM, 0);
        params.sigma = borders[i].sigma;
        params.connectivity = borders[i].connectivity;
        set(params);
        expect_mask(borders[i].format, borders[i].width, borders[i].height, borders[i].source,
                    borders[i].seeds, NULL, borders[i].wanted);
        ck_assert_int_eq(waited_for().flow, borders[i].flow);
    }
}
END_TEST

/* With every pixel known, but one whose colour says it, so that there is no doubt about the mask.
 * tests/parity/segment.cpp has every format. */
static const struct {
    gpv_segment_output output;
    gpv_format format, painted;
    int width, height;
    const char *seeds;
    const char *source, *wanted;
} paintings[] = {
    /* as BGR, grey of 200 100 50 is 96.4, of 0 0 255 76.2; half of it, rounded down */
    {GPV_SEGMENT_OUTPUT_OVERLAY, GPV_FORMAT_BGRA8, GPV_FORMAT_BGRA8, 3, 1, ".#2",
     "200 100 50 7  200 100 50 0  0 0 255 9", "48 48 48 7  200 100 50 0  38 38 38 9"},
    /* black is 16 in limited range; a site of chroma goes with its first pixel */
    {GPV_SEGMENT_OUTPUT_OVERLAY, GPV_FORMAT_NV12, GPV_FORMAT_NV12, 3, 3, "#.# .#. .#2",
     "16 17 235 0 100 255 15 101 18 | 1 2 3 4 5 6 7 8",
     "16 16 235 8 100 135 15 101 17 | 1 2 3 4 ? ? ? ?"},
    /* of a cutout colours stay; alpha is the mask, or what it was, in the foreground */
    {GPV_SEGMENT_OUTPUT_CUTOUT, GPV_FORMAT_RGB8, GPV_FORMAT_BGRA8, 3, 1, ".#2",
     "1 2 3  40 50 60  255 0 9", "3 2 1 0  60 50 40 255  9 0 255 0"},
    {GPV_SEGMENT_OUTPUT_CUTOUT, GPV_FORMAT_RGBA8, GPV_FORMAT_RGBA8, 3, 1, ".#2",
     "1 2 3 4  40 50 60 7  255 0 9 255", "1 2 3 0  40 50 60 7  255 0 9 0"},
};

START_TEST(overlays_and_cutouts) {
    for (size_t i = 0; i < COUNT(paintings); i++) {
        const int width = paintings[i].width, height = paintings[i].height;
        picture src = picture_of(paintings[i].format, width, height, paintings[i].source);
        picture known = picture_of(GPV_FORMAT_GRAY8, width, height, paintings[i].seeds);
        picture want = picture_of(paintings[i].painted, width, height, paintings[i].wanted);
        picture dst = picture_new(paintings[i].painted, width, height, TIGHT);
        gpv_segment_params params = defaults();
        params.output = paintings[i].output;
        params.lambda = 1000;
        set(params);
        succeed(gpv_segment_run(op, NULL, &src.view, &known.view, NULL, NULL, &dst.view, NULL));
        expect_picture(&dst, &want);
        picture_free(&src);
        picture_free(&known);
    }
}
END_TEST

/* Dark is 40, bright 200. Seeds that say the opposite of the first ones, and what both lead to. */
#define BRIGHT_IS(w) "40 40 " w " 40 " w " " w
#define FRAME BRIGHT_IS("200")
#define PLAIN "40 40 40 40 40 40"
#define WHITE "255 255 255 255 255 250"
#define FIRST_SEEDS ".????#"
#define OTHER_SEEDS "?#??.?"
#define BRIGHT "..#.##"
#define DARK "##.#.."
#define BRIGHT_BUT_SEEDS ".##..#"
#define EIGHT(w) w w w w w w w w
#define MANY(w) EIGHT(w) EIGHT(w) w w w w w w w

enum {
    NONE = GPV_SEGMENT_WARM_START_NONE,
    ADAPT = GPV_SEGMENT_WARM_START_ADAPT,
    REUSE = GPV_SEGMENT_WARM_START_REUSE,
    FORGET = 16 /* before the frame */
};

static const struct {
    unsigned how;
    const char *source, *seeds, *wanted;
    uint32_t learned; /* after it */
} frames[] = {
    /* NONE takes nothing over, but others begin with what it leaves */
    {FORGET | NONE, FRAME, FIRST_SEEDS, BRIGHT, 1},
    {NONE, FRAME, OTHER_SEEDS, DARK, 1},
    {NONE, FRAME, NULL, BRIGHT, 1}, /* three pixels each: the brighter ones */
    {NONE, FRAME, FIRST_SEEDS, BRIGHT, 1},
    {REUSE, FRAME, OTHER_SEEDS, BRIGHT_BUT_SEEDS, 1},
    {NONE, FRAME, OTHER_SEEDS, DARK, 1},
    {ADAPT, FRAME, NULL, DARK, 1},
    /* REUSE keeps what it has learned, against seeds and with other pictures */
    {FORGET | REUSE, FRAME, FIRST_SEEDS, BRIGHT, 1},
    {REUSE, FRAME, NULL, BRIGHT, 1},
    {REUSE, FRAME, OTHER_SEEDS, BRIGHT_BUT_SEEDS, 1},
    {REUSE, "200 40 200 40", NULL, "#.#.", 1},
    {REUSE, FRAME, OTHER_SEEDS, BRIGHT_BUT_SEEDS, 1},
    {FORGET | REUSE, FRAME, OTHER_SEEDS, DARK, 1},
    {REUSE, FRAME, NULL, DARK, 1},
    /* ADAPT follows what gets darker, REUSE does not */
    {FORGET | ADAPT, FRAME, FIRST_SEEDS, BRIGHT, 1},
    {ADAPT, BRIGHT_IS("160"), NULL, BRIGHT, 1},
    {ADAPT, BRIGHT_IS("130"), NULL, BRIGHT, 1},
    {ADAPT, BRIGHT_IS("100"), NULL, BRIGHT, 1}, /* nearer to 40 than to 200 */
    {ADAPT, BRIGHT_IS("100"), OTHER_SEEDS, BRIGHT_BUT_SEEDS, 1},
    {FORGET | REUSE, FRAME, FIRST_SEEDS, BRIGHT, 1},
    {REUSE, BRIGHT_IS("160"), NULL, BRIGHT, 1},
    {REUSE, BRIGHT_IS("130"), NULL, BRIGHT, 1},
    {REUSE, BRIGHT_IS("100"), NULL, "......", 1},
    /* a side that is not there for a while keeps its colours */
    {FORGET | ADAPT, FRAME, FIRST_SEEDS, BRIGHT, 1},
    {ADAPT, PLAIN, NULL, "......", 1},
    {ADAPT, FRAME, NULL, BRIGHT, 1},
    {FORGET | REUSE, FRAME, FIRST_SEEDS, BRIGHT, 1},
    {REUSE, PLAIN, NULL, "......", 1},
    {REUSE, FRAME, NULL, BRIGHT, 1},
    /* a plain frame teaches nothing, nor does it keep anything from being learned */
    {FORGET | NONE, PLAIN, NULL, "......", 0},
    {NONE, FRAME, FIRST_SEEDS, BRIGHT, 1},
    {FORGET | ADAPT, PLAIN, NULL, "......", 0},
    {ADAPT, FRAME, FIRST_SEEDS, BRIGHT, 1},
    {FORGET | REUSE, PLAIN, NULL, "......", 0},
    {REUSE, FRAME, FIRST_SEEDS, BRIGHT, 1},
    {ADAPT, FRAME, NULL, BRIGHT, 1},
    {FORGET | REUSE, PLAIN, "#####3", "######", 0},
    /* three frames of another scene are a flash, which teaches nothing */
    {FORGET | ADAPT, FRAME, FIRST_SEEDS, BRIGHT, 1},
    {ADAPT, WHITE, NULL, "######", 1},
    {ADAPT, WHITE, NULL, "######", 1},
    {ADAPT, WHITE, NULL, "######", 1},
    {ADAPT, FRAME, OTHER_SEEDS, BRIGHT_BUT_SEEDS, 1},
    /* the fourth begins a scene */
    {FORGET | ADAPT, FRAME, FIRST_SEEDS, BRIGHT, 1},
    {ADAPT, WHITE, NULL, "######", 1},
    {ADAPT, WHITE, NULL, "######", 1},
    {ADAPT, WHITE, NULL, "######", 1},
    {ADAPT, WHITE, NULL, "######", 0},
    {ADAPT, FRAME, OTHER_SEEDS, DARK, 1},
    /* a drift does where no seeds were given */
    {FORGET | ADAPT, FRAME, NULL, BRIGHT, 1},
    {ADAPT, BRIGHT_IS("180"), NULL, BRIGHT, 0},
    /* what was learned from seeds follows a fade, but not into a scene in which it finds nothing */
    {FORGET | ADAPT, "40 40 40 40 40 40 40 40 40 40 40 200", ".??????????#", "...........#", 1},
    {ADAPT, "55 55 55 55 55 55 55 55 55 55 55 215", NULL, "...........#", 1},
    {ADAPT, "70 70 70 70 70 70 70 70 70 70 70 230", NULL, "...........#", 1},
    {ADAPT, "70 70 70 70 70 70 70 70 70 70 70 70", NULL, "............", 0},
    /* a plain frame is none to compare the next with: these are of another scene than the first */
    {FORGET | ADAPT, MANY("40 ") "120", ".?" EIGHT("?") EIGHT("?") "?????#", MANY(".") "#", 1},
    {ADAPT, MANY("48 ") "48", NULL, MANY(".") ".", 1},
    {ADAPT, MANY("64 ") "152", NULL, MANY(".") "#", 1},
    {ADAPT, MANY("64 ") "152", NULL, MANY(".") "#", 1},
    {ADAPT, MANY("64 ") "152", NULL, MANY(".") "#", 1},
    {ADAPT, MANY("64 ") "152", NULL, MANY(".") "#", 0},
};

START_TEST(frames_of_videos) {
    for (size_t i = 0; i < COUNT(frames); i++) {
        uint32_t learned = 2;
        set(by_colour(frames[i].how & ~(unsigned)FORGET));
        if (frames[i].how & FORGET)
            succeed(gpv_segment_forget(op));
        expect_mask(GPV_FORMAT_GRAY8, (int)strlen(frames[i].wanted), 1, frames[i].source,
                    frames[i].seeds, NULL, frames[i].wanted);
        succeed(gpv_segment_learned(op, &learned));
        ck_assert_msg(learned == frames[i].learned, "frame %zu", i);
    }
}
END_TEST

static void expect_frame(const char *seeds, const char *wanted) {
    expect_mask(GPV_FORMAT_GRAY8, 6, 1, FRAME, seeds, NULL, wanted);
}

/* What is refused changes nothing, nor do other parameters than the model. */
START_TEST(another_model_forgets) {
    for (int i = 0; i < 9; i++) {
        const bool same = i / 3 == i % 3;
        gpv_segment_params params = by_colour(REUSE), other = params;
        params.model = models[i / 3];
        other.model = models[i % 3];
        set(params);
        succeed(gpv_segment_forget(op));
        expect_frame(FIRST_SEEDS, BRIGHT);
        ck_assert_int_eq(gpv_segment_run(op, NULL, NULL, NULL, NULL, NULL, NULL, NULL), INVALID);
        other.warm_start = 3;
        ck_assert_int_eq(gpv_segment_set_params(op, &other), INVALID);
        expect_frame(OTHER_SEEDS, BRIGHT_BUT_SEEDS);
        other.warm_start = REUSE;
        other.connectivity = 8;
        other.sigma = 30;
        other.iterations = 2;
        other.output = GPV_SEGMENT_OUTPUT_CUTOUT;
        set(other);
        set(params); /* back again, with no run between */
        expect_frame(OTHER_SEEDS, same ? BRIGHT_BUT_SEEDS : DARK);
        expect_frame(NULL, same ? BRIGHT : DARK);
    }
}
END_TEST

RUN_TESTS("segment", setup, teardown, rects_lie_within_src, forgetting_leaves_the_result,
          seeds_mean_something, small_pictures, borders_alone, overlays_and_cutouts,
          frames_of_videos, another_model_forgets)
