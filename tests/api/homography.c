/* SPDX-License-Identifier: BSD-2-Clause */
/* tests/unit/homography.cpp has what is found. */
#include "testing.h"

#include <float.h>
#include <math.h>

CONTEXT

static void setup(void) {
    context = open_context(&keep);
}

static void teardown(void) {
    gpv_context_destroy(&context);
    ck_assert_int_eq(keep.live, 0);
}

/* -------------------------------------------------------------------- searches */

enum { POINTS = 120 };

/* Pairs of points, and what was found of them, with canaries behind. */
typedef struct plane {
    float from[2 * POINTS], to[2 * POINTS];
    unsigned char inliers[POINTS + 1];
    gpv_homography found;
} plane;

static plane scene;

static gpv_homography_params defaults(void) {
    gpv_homography_params params;
    gpv_homography_params_init(&params, sizeof params);
    return params;
}

static float next(uint32_t *state, uint32_t limit) {
    *state = *state * 1664525u + 1013904223u;
    return (float)((*state >> 8) % limit);
}

/* Points all over a picture of 640x480, in places of multiples of 4, and where they are twice as
 * large; or half of them anywhere. */
static void place(bool half_false) {
    uint32_t state = 17;
    for (int i = 0; i < POINTS; i++) {
        scene.from[2 * i] = 4 * next(&state, 160);
        scene.from[2 * i + 1] = 4 * next(&state, 120);
        scene.to[2 * i] = 2 * scene.from[2 * i] + 10;
        scene.to[2 * i + 1] = 2 * scene.from[2 * i + 1] - 20;
        if (half_false && i % 2) {
            scene.to[2 * i] = next(&state, 640);
            scene.to[2 * i + 1] = next(&state, 480);
        }
    }
}

/* Into what holds canaries before. */
static gpv_status find_in(gpv_context *which, int count, const gpv_homography_params *params) {
    memset(scene.inliers, CANARY, sizeof scene.inliers);
    memset(&scene.found, CANARY, sizeof scene.found);
    scene.found.struct_size = sizeof scene.found;
    return gpv_homography_find(which, params, scene.from, scene.to, count, scene.inliers,
                               &scene.found);
}

static void find_with(int count, gpv_homography_params params) {
    int fits = 0;
    succeed(find_in(context, count, &params));
    for (int i = 0; i < count; i++)
        fits += scene.inliers[i];
    ck_assert_int_eq(fits, scene.found.inliers);
    ck_assert(untouched(scene.inliers + count, scene.inliers + sizeof scene.inliers));
}

static bool is_nothing(const gpv_homography *found) {
    static const gpv_homography nothing = {.struct_size = sizeof nothing};
    return memcmp(found, &nothing, sizeof nothing) == 0;
}

/* Neither an operator nor the allocator is concerned. */
START_TEST(half_of_the_pairs_are_enough) {
    static const double twice[] = {2, 0, 10, 0, 2, -20, 0, 0, 1};
    const int before = keep.allocations;
    int i;
    place(true);
    find_with(POINTS, defaults());
    ck_assert_uint_eq(scene.found.found, 1);
    ck_assert_int_eq(scene.found.inliers, POINTS / 2);
    ck_assert_double_lt(scene.found.error, 1e-6);
    for (i = 0; i < 9; i++)
        ck_assert_double_eq_tol(scene.found.matrix[i], twice[i], 1e-6);
    for (i = 0; i < POINTS; i++)
        ck_assert_int_eq(scene.inliers[i], i % 2 == 0);
    ck_assert_int_eq(keep.allocations, before);
    ck_assert_str_eq(gpv_context_error(context), "");
}
END_TEST

/* None is found of less than four; of none the pointers may be NULL. */
START_TEST(too_few_pairs) {
    gpv_homography out;
    int count;
    place(false);
    for (count = 0; count < 5; count++) {
        find_with(count, defaults());
        ck_assert_int_eq(is_nothing(&scene.found), count < 4);
    }
    memset(&out, CANARY, sizeof out);
    out.struct_size = sizeof out;
    ck_assert_int_eq(gpv_homography_find(context, NULL, NULL, NULL, 0, NULL, &out), GPV_OK);
    ck_assert(is_nothing(&out));
}
END_TEST

/* How many samples there are is as the parameters say. */
START_TEST(the_samples) {
    gpv_homography_params params = defaults();
    int32_t usual, minimum = INT32_MAX, maximum = 0;
    place(true);
    find_with(POINTS, params);
    usual = scene.found.iterations;
    ck_assert_int_gt(usual, 10); /* one in 17 or so is right */
    params.confidence = 0;
    find_with(POINTS, params);
    ck_assert_int_lt(scene.found.iterations, usual);
    params = defaults();
    params.max_iterations = 4; /* which are not enough to find the best one each time */
    for (params.seed = 0; params.seed < 20; params.seed++) {
        find_with(POINTS, params);
        ck_assert_int_le(scene.found.iterations, 4);
        minimum = scene.found.inliers < minimum ? scene.found.inliers : minimum;
        maximum = scene.found.inliers > maximum ? scene.found.inliers : maximum;
    }
    ck_assert_int_lt(minimum, maximum);
}
END_TEST

/* A pair on its own is as far from its place as it was put. */
START_TEST(the_threshold) {
    gpv_homography_params params = defaults();
    place(false);
    scene.to[2 * 60] += 2.5f;
    for (params.threshold = 2; params.threshold <= 3; params.threshold++) {
        find_with(POINTS, params);
        ck_assert_int_eq(scene.inliers[60], params.threshold > 2.5f);
        ck_assert_int_eq(scene.found.inliers, POINTS - 1 + scene.inliers[60]);
    }
}
END_TEST

/* In another context, too, without inliers, and without parameters. */
START_TEST(same_numbers_same_result) {
    gpv_context *other = NULL;
    gpv_homography alone;
    ck_assert_int_eq(gpv_context_create(NULL, &other), GPV_OK);
    place(true);
    for (int i = 0; i < 20; i++) {
        gpv_homography_params params = defaults();
        plane first;
        params.seed = (uint64_t)i;
        find_with(POINTS, params);
        first = scene;
        ck_assert_int_eq(find_in(other, POINTS, i ? &params : NULL), GPV_OK);
        ck_assert_mem_eq(&scene, &first, sizeof first);
        gpv_homography_init(&alone, sizeof alone);
        succeed(gpv_homography_find(context, &params, first.from, first.to, POINTS, NULL, &alone));
        ck_assert_mem_eq(&first.found, &alone, sizeof alone);
    }
    gpv_context_destroy(&other);
}
END_TEST

/* ------------------------------------------------------------------------ arguments */

#define SEARCH(field, value) offsetof(gpv_homography_params, field), (uint32_t)(value)

/* Of eight pairs. text: NULL = it is right. */
static void expect_search(const gpv_homography_params *params, const char *text) {
    expect_status(context, &keep, find_in(context, 8, params), text ? INVALID : GPV_OK, text);
    if (!text)
        return;
    ck_assert(untouched(scene.inliers, scene.inliers + sizeof scene.inliers));
    ck_assert(untouched(&scene.found.found, &scene.found + 1));
}

START_TEST(ranges_of_a_search) {
    static const struct {
        size_t offset;
        uint32_t value;
        const char *text;
    } cases[] = {
        {SEARCH(threshold, 1), NULL},           /* the least above 0 */
        {SEARCH(threshold, 0x49742400u), NULL}, /* 1e6 */
        {SEARCH(threshold, 0), "params->threshold is 0,|above 0|1000000"},
        {SEARCH(threshold, 0x80000000u), "params->threshold is -0,|above 0|1000000"},
        {SEARCH(threshold, 0x49742401u), "params->threshold|1000000.06|above 0|1000000"},
        {SEARCH(threshold, 0x7FC00000u), "params->threshold|nan|above 0|1000000"},
        {SEARCH(confidence, 0), NULL},
        {SEARCH(confidence, 0x80000000u), NULL}, /* -0 */
        {SEARCH(confidence, 0x3F7FFFEFu), NULL}, /* 0.999999 */
        {SEARCH(confidence, 0x3F7FFFF0u), "params->confidence is 0.99999905,|0..0.999999"},
        {SEARCH(confidence, 0x80000001u), "params->confidence|-1e-45|0..0.999999"},
        {SEARCH(max_iterations, 1), NULL},
        {SEARCH(max_iterations, 1000000), NULL},
        {SEARCH(max_iterations, 0), "params->max_iterations is 0,|1..1000000"},
        {SEARCH(max_iterations, 1000001), "params->max_iterations is 1000001,|1..1000000"},
        {SEARCH(seed, UINT32_MAX), NULL},
        {SEARCH(reserved, 1), "params->reserved is 1,|0..0"},
    };
    place(false);
    for (size_t i = 0; i < COUNT(cases); i++) {
        gpv_homography_params params = defaults();
        memcpy((char *)&params + cases[i].offset, &cases[i].value, sizeof cases[i].value);
        expect_search(&params, cases[i].text);
    }
}
END_TEST

INIT(homography_params)
INIT(homography)

static void expect_params_at(const void *params, gpv_status wanted, const char *text) {
    expect_status(context, &keep, find_in(context, 8, params), wanted, text);
}

/* As the result of a wait, but written in place. */
static void expect_homography_at(const void *at, gpv_status wanted, const char *text) {
    gpv_homography *out = (gpv_homography *)at;
    const uint32_t size = out->struct_size;
    unsigned char *const inliers = memset(scene.inliers, CANARY, 8);
    const gpv_status status =
        gpv_homography_find(context, NULL, scene.from, scene.to, 8, inliers, out);
    ck_assert_int_eq(untouched(inliers, inliers + 8), wanted == INVALID);
    ck_assert_uint_eq(out->struct_size, size);
    expect_status(context, &keep, status, wanted == INVALID ? INVALID : GPV_OK, text);
    ck_assert_int_eq(out->inliers, wanted == INVALID ? 0 : 8);
    ck_assert_int_eq(out->iterations > 0, wanted != INVALID);
    for (uint32_t i = sizeof *out; i < size && wanted != INVALID; i++)
        ck_assert_uint_eq(((const unsigned char *)at)[i], 0);
}

START_TEST(structs) {
    const gpv_homography_params params = defaults();
    ck_assert_float_eq(params.threshold, 3);
    ck_assert_float_eq(params.confidence, 0.999f);
    ck_assert_int_eq(params.max_iterations, 10000);
    ck_assert_uint_eq(params.seed, 0);
    ck_assert_uint_eq(params.reserved, 0);
    gpv_homography_init(&scene.found, sizeof scene.found);
    ck_assert(is_nothing(&scene.found));
    expect_init_within(sizeof(gpv_homography_params), init_homography_params);
    expect_init_within(sizeof(gpv_homography), init_homography);
    place(false);
    expect_struct_sizes("params", 24, sizeof(gpv_homography_params), init_homography_params,
                        expect_params_at);
    expect_struct_sizes("out", 96, sizeof(gpv_homography), init_homography, expect_homography_at);
}
END_TEST

START_TEST(null_and_bad_arguments) {
    float *const memory = forbidden_memory(1 << 16);
    unsigned char *const flags = (unsigned char *)memory + 4096;
    gpv_homography out;
    place(false);
    memset(&out, CANARY, sizeof out);
    out.struct_size = sizeof out;
    ck_assert_int_eq(gpv_homography_find(NULL, NULL, memory, memory, 8, flags, &out), INVALID);
    refused(gpv_homography_find(context, NULL, memory, memory, 8, flags, NULL), "out is NULL");
    refused(gpv_homography_find(context, NULL, NULL, scene.to, 8, flags, &out), "from is NULL");
    refused(gpv_homography_find(context, NULL, scene.from, NULL, 8, flags, &out), "to is NULL");
    refused(gpv_homography_find(context, NULL, NULL, NULL, 1, flags, &out), "from is NULL");
    for (size_t i = 0; i < BAD_COUNTS; i++)
        refused(
            gpv_homography_find(context, NULL, memory, memory, bad_counts[i].count, flags, &out),
            named("count", bad_counts[i].text));
    ck_assert(untouched(&out.found, &out + 1));
}
END_TEST

START_TEST(points_are_finite) {
    static const struct {
        float number;
        const char *text;
    } numbers[] = {{NAN, "nan"}, {INFINITY, "is inf,"}, {-INFINITY, "is -inf,"}};
    static const int places[] = {0, 1, 5, 14, 15};
    for (size_t i = 0; i < 2 * COUNT(places) * COUNT(numbers); i++) {
        const int at = places[i / 2 % COUNT(places)];
        const size_t k = i / 2 / COUNT(places);
        char text[64];
        snprintf(text, sizeof text, "%s[%d] |%s|finite", i % 2 ? "to" : "from", at,
                 numbers[k].text);
        place(false);
        (i % 2 ? scene.to : scene.from)[at] = numbers[k].number;
        expect_search(NULL, text);
    }
    /* behind the last one nothing is looked at; and the largest number is one */
    place(false);
    scene.from[16] = scene.to[16] = NAN;
    expect_search(NULL, NULL);
    scene.from[15] = FLT_MAX;
    scene.to[3] = -FLT_MAX;
    expect_search(NULL, NULL);
}
END_TEST

/* Points and flags end where no byte may be touched. */
START_TEST(points_up_to_the_last) {
    int count;
    for (count = 1; count <= POINTS; count = count * 3 / 2 + 1) {
        const size_t bytes = 2 * sizeof(float) * (size_t)count;
        picture from = picture_new(GPV_FORMAT_GRAY8, (int)bytes, 1, WALL_RIGHT);
        picture to = picture_new(GPV_FORMAT_GRAY8, (int)bytes, 1, WALL_RIGHT);
        picture flags = picture_new(GPV_FORMAT_GRAY8, count, 1, WALL_RIGHT);
        place(true);
        memcpy(from.view.data[0], scene.from, bytes);
        memcpy(to.view.data[0], scene.to, bytes);
        find_with(count, defaults());
        succeed(gpv_homography_find(context, NULL, from.view.data[0], to.view.data[0], count,
                                    flags.view.data[0], &scene.found));
        ck_assert_mem_eq(flags.view.data[0], scene.inliers, (size_t)count);
        ck_assert_mem_eq(from.view.data[0], scene.from, bytes);
        ck_assert_mem_eq(to.view.data[0], scene.to, bytes);
        ck_assert(picture_intact(&from) && picture_intact(&to) && picture_intact(&flags));
        picture_free(&from);
        picture_free(&to);
        picture_free(&flags);
    }
}
END_TEST

RUN_TESTS("homography", setup, teardown, half_of_the_pairs_are_enough, too_few_pairs, the_samples,
          the_threshold, same_numbers_same_result, ranges_of_a_search, structs,
          null_and_bad_arguments, points_are_finite, points_up_to_the_last)
