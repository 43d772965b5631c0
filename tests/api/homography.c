/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"

#include <float.h>
#include <math.h>

static books keep;
static gpv_context *context;

static void setup(void) {
    context = open_context(&keep);
}

static void teardown(void) {
    gpv_context_destroy(&context);
    ck_assert_int_eq(keep.live, 0);
}

/* ------------------------------------------------------------------------ structs */

static void init_params(void *place, uint32_t size) {
    gpv_homography_params_init(place, size);
}

static void init_homography(void *place, uint32_t size) {
    gpv_homography_init(place, size);
}

START_TEST(init_writes_every_default) {
    static const gpv_homography none = {.struct_size = sizeof none};
    gpv_homography_params params;
    gpv_homography homography;
    memset(&params, CANARY, sizeof params);
    gpv_homography_params_init(&params, sizeof params);
    ck_assert_uint_eq(params.struct_size, sizeof params);
    ck_assert_float_eq(params.threshold, 3);
    ck_assert_float_eq(params.confidence, 0.999f);
    ck_assert_int_eq(params.max_iterations, 10000);
    ck_assert_uint_eq(params.seed, 0);
    ck_assert_uint_eq(params.reserved, 0);
    memset(&homography, CANARY, sizeof homography);
    gpv_homography_init(&homography, sizeof homography);
    ck_assert_mem_eq(&homography, &none, sizeof none);
    expect_init_within(sizeof params, init_params);
    expect_init_within(sizeof homography, init_homography);
}
END_TEST

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

/* Points all over a picture of 640x480, in places of multiples of 4, and where they are twice as
 * large; or half of them anywhere. */
static void place(plane *p, bool half_false) {
    uint32_t state = 17;
    int i;
    for (i = 0; i < POINTS; i++) {
        p->from[2 * i] = (float)(4 * (next(&state) % 160));
        p->from[2 * i + 1] = (float)(4 * (next(&state) % 120));
        p->to[2 * i] = 2 * p->from[2 * i] + 10;
        p->to[2 * i + 1] = 2 * p->from[2 * i + 1] - 20;
        if (half_false && i % 2) {
            p->to[2 * i] = (float)(next(&state) % 640);
            p->to[2 * i + 1] = (float)(next(&state) % 480);
        }
    }
}

/* Into what holds canaries before. */
static gpv_status find_in(gpv_context *which, plane *p, int count,
                          const gpv_homography_params *params) {
    memset(p->inliers, CANARY, sizeof p->inliers);
    memset(&p->found, CANARY, sizeof p->found);
    p->found.struct_size = sizeof p->found;
    return gpv_homography_find(which, params, p->from, p->to, count, p->inliers, &p->found);
}

static void find_with(plane *p, int count, gpv_homography_params params) {
    int i, fits = 0;
    ck_assert_msg(find_in(context, p, count, &params) == GPV_OK, "%s", gpv_context_error(context));
    for (i = 0; i < count; i++)
        fits += p->inliers[i];
    ck_assert_int_eq(fits, p->found.inliers);
    ck_assert(untouched(p->inliers + count, p->inliers + sizeof p->inliers));
}

static bool is_nothing(const gpv_homography *found) {
    const gpv_homography nothing = {.struct_size = sizeof nothing};
    return memcmp(found, &nothing, sizeof nothing) == 0;
}

/* Neither an operator nor the allocator is concerned. */
START_TEST(half_of_the_pairs_are_enough) {
    static const double twice[] = {2, 0, 10, 0, 2, -20, 0, 0, 1};
    const int before = keep.allocations;
    int i;
    place(&scene, true);
    find_with(&scene, POINTS, defaults());
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
    place(&scene, false);
    for (count = 0; count < 5; count++) {
        find_with(&scene, count, defaults());
        ck_assert_int_eq(is_nothing(&scene.found), count < 4);
    }
    memset(&out, CANARY, sizeof out);
    out.struct_size = sizeof out;
    ck_assert_int_eq(gpv_homography_find(context, NULL, NULL, NULL, 0, NULL, &out), GPV_OK);
    ck_assert(is_nothing(&out));
}
END_TEST

/* A pair on its own is as far from its place as it was put. */
START_TEST(the_threshold) {
    static const struct {
        float threshold, off;
        bool fits;
    } cases[] = {{3, 2.5f, true},      {3, 3.5f, false}, {0.25f, 0.2f, true},
                 {0.25f, 0.3f, false}, {20, 19, true},   {20, 21, false}};
    size_t i;
    for (i = 0; i < COUNT(cases); i++) {
        gpv_homography_params params = defaults();
        params.threshold = cases[i].threshold;
        place(&scene, false);
        scene.to[2 * 60] += cases[i].off;
        find_with(&scene, POINTS, params);
        ck_assert_msg(scene.inliers[60] == cases[i].fits, "%g by %g", cases[i].threshold,
                      cases[i].off);
        ck_assert_int_eq(scene.found.inliers, POINTS - !cases[i].fits);
    }
}
END_TEST

START_TEST(the_samples) {
    gpv_homography_params params = defaults();
    int32_t usual, minimum = INT32_MAX, maximum = 0;
    place(&scene, true);
    find_with(&scene, POINTS, params);
    usual = scene.found.iterations;
    ck_assert_int_gt(usual, 10); /* one in 17 or so is right */
    params.confidence = 0;
    find_with(&scene, POINTS, params);
    ck_assert_int_lt(scene.found.iterations, usual);
    params = defaults();
    params.max_iterations = 4; /* which are not enough to find the best one each time */
    for (params.seed = 0; params.seed < 20; params.seed++) {
        find_with(&scene, POINTS, params);
        ck_assert_int_le(scene.found.iterations, 4);
        minimum = scene.found.inliers < minimum ? scene.found.inliers : minimum;
        maximum = scene.found.inliers > maximum ? scene.found.inliers : maximum;
    }
    ck_assert_int_lt(minimum, maximum);
}
END_TEST

START_TEST(same_numbers_same_result) {
    static plane again;
    gpv_homography_params params = defaults();
    gpv_context *other = NULL;
    gpv_homography alone;
    ck_assert_int_eq(gpv_context_create(NULL, &other), GPV_OK);
    place(&scene, true);
    again = scene;
    for (params.seed = 0; params.seed < 20; params.seed++) {
        find_with(&scene, POINTS, params);
        ck_assert_int_eq(find_in(other, &again, POINTS, &params), GPV_OK);
        ck_assert_mem_eq(&scene, &again, sizeof scene);
        /* without inliers it is the same, too */
        gpv_homography_init(&alone, sizeof alone);
        ck_assert_int_eq(
            gpv_homography_find(context, &params, again.from, again.to, POINTS, NULL, &alone),
            GPV_OK);
        ck_assert_mem_eq(&scene.found, &alone, sizeof alone);
    }
    /* and without parameters that of the defaults */
    find_with(&scene, POINTS, defaults());
    ck_assert_int_eq(find_in(context, &again, POINTS, NULL), GPV_OK);
    ck_assert_mem_eq(&scene, &again, sizeof scene);
    gpv_context_destroy(&other);
}
END_TEST

#define SEARCH(field, value) offsetof(gpv_homography_params, field), (uint32_t)(value)

static void expect_search(const gpv_homography_params *params, gpv_status wanted,
                          const char *text) {
    expect_status(context, &keep, find_in(context, &scene, 8, params), wanted, text);
    if (wanted == GPV_OK)
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
        {SEARCH(threshold, 0x7F800000u), "params->threshold is inf,|above 0|1000000"},
        {SEARCH(threshold, 0x7FC00000u), "params->threshold|nan|above 0|1000000"},
        {SEARCH(confidence, 0), NULL},
        {SEARCH(confidence, 0x80000000u), NULL}, /* -0 */
        {SEARCH(confidence, 0x3F7FFFEFu), NULL}, /* 0.999999 */
        {SEARCH(confidence, 0x3F7FFFF0u), "params->confidence is 0.99999905,|0..0.999999"},
        {SEARCH(confidence, 0x80000001u), "params->confidence|-1e-45|0..0.999999"},
        {SEARCH(confidence, 0x7FC00000u), "params->confidence|nan|0..0.999999"},
        {SEARCH(max_iterations, 1), NULL},
        {SEARCH(max_iterations, 1000000), NULL},
        {SEARCH(max_iterations, 0), "params->max_iterations is 0,|1..1000000"},
        {SEARCH(max_iterations, 1000001), "params->max_iterations is 1000001,|1..1000000"},
        {SEARCH(max_iterations, INT32_MIN), "params->max_iterations|-2147483648|1..1000000"},
        {SEARCH(seed, UINT32_MAX), NULL},
        {SEARCH(reserved, 1), "params->reserved is 1,|0..0"},
    };
    size_t i;
    place(&scene, false);
    for (i = 0; i < COUNT(cases); i++) {
        gpv_homography_params params = defaults();
        memcpy((char *)&params + cases[i].offset, &cases[i].value, sizeof cases[i].value);
        expect_search(&params, cases[i].text ? INVALID : GPV_OK, cases[i].text);
    }
}
END_TEST

static void expect_search_at(const void *place, gpv_status wanted, const char *text) {
    expect_search(place, wanted, text);
}

/* As the result of a wait, but written in place. */
static void expect_homography_at(const void *place, gpv_status wanted, const char *text) {
    gpv_homography *out = (gpv_homography *)place;
    const uint32_t size = out->struct_size;
    unsigned char inliers[8];
    gpv_status status;
    uint32_t i;
    memset(inliers, CANARY, sizeof inliers);
    status = gpv_homography_find(context, NULL, scene.from, scene.to, 8, inliers, out);
    ck_assert_uint_eq(out->struct_size, size);
    if (wanted == INVALID) {
        expect_error(context, &keep, status, INVALID, text);
        ck_assert_uint_eq(out->found, 0);
        ck_assert(untouched(inliers, inliers + sizeof inliers));
        return;
    }
    ck_assert_int_eq(status, GPV_OK);
    ck_assert_int_eq(out->inliers, 8);
    ck_assert_int_ge(out->iterations, 1);
    for (i = sizeof *out; i < size; i++)
        ck_assert_uint_eq(((const unsigned char *)place)[i], 0);
}

START_TEST(struct_sizes) {
    place(&scene, false);
    expect_struct_sizes("params", 24, sizeof(gpv_homography_params), init_params, expect_search_at);
    expect_struct_sizes("out", 96, sizeof(gpv_homography), init_homography, expect_homography_at);
}
END_TEST

START_TEST(null_and_bad_arguments) {
    float *memory = forbidden_memory(1 << 16);
    unsigned char *flags = (unsigned char *)memory + 4096;
    gpv_homography out;
    size_t i;
    place(&scene, false);
    memset(&out, CANARY, sizeof out);
    out.struct_size = sizeof out;
    ck_assert_int_eq(gpv_homography_find(NULL, NULL, memory, memory, 8, flags, &out), INVALID);
    expect_error(context, &keep,
                 gpv_homography_find(context, NULL, scene.from, scene.to, 8, flags, NULL), INVALID,
                 "out is NULL");
    expect_error(context, &keep, gpv_homography_find(context, NULL, NULL, scene.to, 8, flags, &out),
                 INVALID, "from is NULL");
    expect_error(context, &keep,
                 gpv_homography_find(context, NULL, scene.from, NULL, 8, flags, &out), INVALID,
                 "to is NULL");
    expect_error(context, &keep, gpv_homography_find(context, NULL, NULL, NULL, 1, flags, &out),
                 INVALID, "from is NULL");
    for (i = 0; i < BAD_COUNTS; i++)
        expect_error(
            context, &keep,
            gpv_homography_find(context, NULL, memory, memory, bad_counts[i].count, flags, &out),
            INVALID, named("count", bad_counts[i].text));
    ck_assert_uint_eq(out.struct_size, sizeof out);
    ck_assert(untouched(&out.found, &out + 1));
}
END_TEST

START_TEST(points_are_finite) {
    static const struct {
        float number;
        const char *text;
    } numbers[] = {{NAN, "nan"}, {INFINITY, "is inf,"}, {-INFINITY, "is -inf,"}};
    static const int places[] = {0, 1, 5, 14, 15};
    int side;
    size_t i, k;
    for (side = 0; side < 2; side++)
        for (i = 0; i < COUNT(places); i++)
            for (k = 0; k < COUNT(numbers); k++) {
                char text[64];
                float *points = side ? scene.to : scene.from;
                snprintf(text, sizeof text, "%s[%d] |%s|finite", side ? "to" : "from", places[i],
                         numbers[k].text);
                place(&scene, false);
                points[places[i]] = numbers[k].number;
                expect_search(NULL, INVALID, text);
            }
    /* behind the last one nothing is looked at; and the largest number is one */
    place(&scene, false);
    scene.from[16] = scene.to[16] = NAN;
    expect_search(NULL, GPV_OK, NULL);
    scene.from[15] = FLT_MAX;
    scene.to[3] = -FLT_MAX;
    expect_search(NULL, GPV_OK, NULL);
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
        place(&scene, true);
        memcpy(from.view.data[0], scene.from, bytes);
        memcpy(to.view.data[0], scene.to, bytes);
        find_with(&scene, count, defaults());
        ck_assert_int_eq(gpv_homography_find(context, NULL, from.view.data[0], to.view.data[0],
                                             count, flags.view.data[0], &scene.found),
                         GPV_OK);
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

int main(void) {
    const TTest *const tests[] = {init_writes_every_default,
                                  half_of_the_pairs_are_enough,
                                  too_few_pairs,
                                  the_threshold,
                                  the_samples,
                                  same_numbers_same_result,
                                  ranges_of_a_search,
                                  struct_sizes,
                                  null_and_bad_arguments,
                                  points_are_finite,
                                  points_up_to_the_last};
    return run_tests("homography", setup, teardown, tests, COUNT(tests));
}
