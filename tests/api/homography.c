/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"

#include <float.h>
#include <math.h>

enum { MAX_COUNT = 1 << 20 };

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

static gpv_homography_params defaults(void) {
    gpv_homography_params params;
    gpv_homography_params_init(&params, sizeof params);
    return params;
}

/* Points all over a picture of 640x480, in places of multiples of 4, and where h takes them. */
static void place(plane *p, const double *h, uint32_t seed) {
    uint32_t state = seed;
    int i;
    for (i = 0; i < POINTS; i++) {
        const float x = (float)(4 * (next(&state) % 160)), y = (float)(4 * (next(&state) % 120));
        const double w = h[6] * x + h[7] * y + h[8];
        p->from[2 * i] = x;
        p->from[2 * i + 1] = y;
        p->to[2 * i] = (float)((h[0] * x + h[1] * y + h[2]) / w);
        p->to[2 * i + 1] = (float)((h[3] * x + h[4] * y + h[5]) / w);
    }
}

static double determinant(const double *h) {
    return h[0] * (h[4] * h[8] - h[5] * h[7]) - h[1] * (h[3] * h[8] - h[5] * h[6]) +
           h[2] * (h[3] * h[7] - h[4] * h[6]);
}

/* How far from its own place the one is that is found for a pair; -1 if it is seen from behind. */
static double off(const plane *p, const double *h, int i) {
    const double x = p->from[2 * i], y = p->from[2 * i + 1];
    const double w = h[6] * x + h[7] * y + h[8];
    const double u = (h[0] * x + h[1] * y + h[2]) / w, v = (h[3] * x + h[4] * y + h[5]) / w;
    return w * determinant(h) > 0 ? hypot(u - p->to[2 * i], v - p->to[2 * i + 1]) : -1;
}

static bool is_nothing(const gpv_homography *found) {
    const gpv_homography nothing = {.struct_size = sizeof nothing};
    return memcmp(found, &nothing, sizeof nothing) == 0;
}

/* What the header says of every result. */
static void expect_consistent(const plane *p, int count, gpv_homography_params params) {
    const gpv_homography *found = &p->found;
    double sum = 0;
    int i, fits = 0;
    ck_assert_uint_eq(found->struct_size, sizeof *found);
    ck_assert(untouched(p->inliers + count, p->inliers + sizeof p->inliers));
    for (i = 0; i < count; i++) {
        ck_assert_uint_le(p->inliers[i], 1);
        fits += p->inliers[i];
    }
    ck_assert_int_eq(fits, found->inliers);
    if (!found->found) {
        ck_assert(is_nothing(found));
        return;
    }
    ck_assert_uint_eq(found->found, 1);
    ck_assert_int_ge(fits, 4);
    ck_assert_int_ge(found->iterations, 1);
    ck_assert_int_le(found->iterations, params.max_iterations);
    for (i = 0; i < 9; i++)
        ck_assert(isfinite(found->matrix[i]));
    ck_assert_double_eq(found->matrix[8], 1);
    for (i = 0; i < count; i++) {
        const double distance = off(p, found->matrix, i);
        if (p->inliers[i])
            sum += distance * distance;
        if (fabs(distance - params.threshold) > 1e-6) /* else it may be rounding */
            ck_assert_int_eq(p->inliers[i], distance >= 0 && distance <= params.threshold);
    }
    ck_assert_double_eq_tol(found->error, sqrt(sum / fits), 1e-6);
}

static void find_with(plane *p, int count, gpv_homography_params params) {
    memset(p->inliers, CANARY, sizeof p->inliers);
    memset(&p->found, CANARY, sizeof p->found);
    p->found.struct_size = sizeof p->found;
    ck_assert_msg(gpv_homography_find(context, &params, p->from, p->to, count, p->inliers,
                                      &p->found) == GPV_OK,
                  "%s", gpv_context_error(context));
    expect_consistent(p, count, params);
}

static plane scene;

static const struct {
    const char *name;
    double h[9];
    bool exact; /* places are whole numbers, or halves */
} known[] = {
    {"identity", {1, 0, 0, 0, 1, 0, 0, 0, 1}, true},
    {"translation", {1, 0, 35, 0, 1, -210, 0, 0, 1}, true},
    {"larger", {2, 0, 0, 0, 2, 0, 0, 0, 1}, true},
    {"smaller", {0.25, 0, 100, 0, 0.25, 7, 0, 0, 1}, true},
    {"a quarter turn", {0, -1, 480, 1, 0, 0, 0, 0, 1}, true},
    {"half a turn", {-1, 0, 640, 0, -1, 480, 0, 0, 1}, true},
    {"shear", {1, 0.5, 0, 0.25, 1, 0, 0, 0, 1}, true},
    {"a small turn", {0.995, -0.0998, 3, 0.0998, 0.995, -8, 0, 0, 1}, false},
    {"perspective", {1.1, 0.05, -20, -0.03, 0.95, 12, 2e-4, -3e-4, 1}, false},
    {"more of it", {1, 0.2, 0, 0.1, 1.5, 0, 1e-3, 5e-4, 1}, false},
};

static void expect_matrix(const plane *p, const double *h, double tolerance) {
    static const double corners[][2] = {{0, 0}, {639, 0}, {0, 479}, {639, 479}, {320, 240}};
    const double *m = p->found.matrix;
    size_t i;
    ck_assert_uint_eq(p->found.found, 1);
    for (i = 0; i < COUNT(corners); i++) {
        const double x = corners[i][0], y = corners[i][1];
        const double w = m[6] * x + m[7] * y + m[8], real = h[6] * x + h[7] * y + h[8];
        ck_assert_double_eq_tol((m[0] * x + m[1] * y + m[2]) / w,
                                (h[0] * x + h[1] * y + h[2]) / real, tolerance);
        ck_assert_double_eq_tol((m[3] * x + m[4] * y + m[5]) / w,
                                (h[3] * x + h[4] * y + h[5]) / real, tolerance);
    }
}

/* Even though a third of the pairs is false. */
static void expect_known(const double *h, bool exact) {
    const double tolerance = exact ? 1e-6 : 1e-3;
    uint32_t state = 5;
    int i;
    place(&scene, h, 17);
    find_with(&scene, POINTS, defaults());
    expect_matrix(&scene, h, tolerance);
    ck_assert_int_eq(scene.found.inliers, POINTS);
    ck_assert_double_lt(scene.found.error, tolerance);
    find_with(&scene, 5, defaults());
    expect_matrix(&scene, h, exact ? 1e-6 : 0.1);
    for (i = 0; i < POINTS; i += 3) { /* at least 20 from where they are right */
        scene.to[2 * i] += (next(&state) & 1 ? 1.0f : -1.0f) * (float)(20 + next(&state) % 200);
        scene.to[2 * i + 1] += (float)(next(&state) % 300);
    }
    find_with(&scene, POINTS, defaults());
    expect_matrix(&scene, h, tolerance);
    ck_assert_int_eq(scene.found.inliers, POINTS - POINTS / 3);
    for (i = 0; i < POINTS; i++)
        ck_assert_int_eq(scene.inliers[i], i % 3 != 0);
}

START_TEST(known_homographies) {
    size_t i;
    for (i = 0; i < COUNT(known); i++)
        expect_known(known[i].h, known[i].exact);
}
END_TEST

/* A square of four points is enough. */
START_TEST(four_pairs) {
    static const float corners[] = {0, 0, 100, 0, 100, 100, 0, 100};
    static const float moved[] = {10, 20, 210, 20, 210, 220, 10, 220};
    static const double h[] = {2, 0, 10, 0, 2, 20, 0, 0, 1};
    memcpy(scene.from, corners, sizeof corners);
    memcpy(scene.to, moved, sizeof moved);
    find_with(&scene, 4, defaults());
    expect_matrix(&scene, h, 1e-6);
    ck_assert_int_eq(scene.found.inliers, 4);
    ck_assert_double_lt(scene.found.error, 1e-6);
}
END_TEST

/* None is found of less than four; of none the pointers may be NULL. */
START_TEST(too_few_pairs) {
    gpv_homography out;
    int count;
    place(&scene, known[0].h, 1);
    for (count = 0; count < 4; count++) {
        find_with(&scene, count, defaults());
        ck_assert(is_nothing(&scene.found));
    }
    memset(&out, CANARY, sizeof out);
    out.struct_size = sizeof out;
    ck_assert_int_eq(gpv_homography_find(context, NULL, NULL, NULL, 0, NULL, &out), GPV_OK);
    ck_assert(is_nothing(&out));
}
END_TEST

/* As in a mirror: four pairs that only a homography agrees with that turns the picture over. */
START_TEST(orientation_is_kept) {
    static const float corners[] = {0, 0, 300, 20, 260, 310, 30, 200};
    float mirrored[COUNT(corners)];
    size_t i;
    for (i = 0; i < COUNT(corners); i += 2) {
        mirrored[i] = -corners[i];
        mirrored[i + 1] = corners[i + 1];
    }
    memcpy(scene.from, corners, sizeof corners);
    memcpy(scene.to, mirrored, sizeof mirrored);
    find_with(&scene, 4, defaults());
    ck_assert(is_nothing(&scene.found));
    /* while half a turn is all right */
    for (i = 1; i < COUNT(corners); i += 2)
        scene.to[i] = -corners[i];
    find_with(&scene, 4, defaults());
    ck_assert_uint_eq(scene.found.found, 1);
}
END_TEST

/* Whatever the pairs are, the result is consistent. */
START_TEST(strange_pairs) {
    static const float scales[] = {1, 1e-30f, 1e30f, FLT_MIN, FLT_MAX / 256};
    uint32_t state = 3;
    int i, kind, nothing = 0;
    size_t s;
    for (s = 0; s < COUNT(scales); s++)
        for (kind = 0; kind < 6; kind++) {
            gpv_homography_params params = defaults();
            params.max_iterations = 50;
            for (i = 0; i < POINTS; i++) {
                const float a = scales[s] * (float)(next(&state) % 256);
                const float b = scales[s] * (float)(next(&state) % 256);
                scene.from[2 * i] = kind == 0 ? scales[s] : a;                     /* one place */
                scene.from[2 * i + 1] = kind == 0 ? scales[s] : kind == 1 ? a : b; /* a line */
                scene.to[2 * i] = kind == 2 ? scales[s] : kind == 3 ? a : b;
                scene.to[2 * i + 1] = kind == 2   ? scales[s]
                                      : kind == 3 ? a
                                      : kind == 4 ? scales[s] * (float)(next(&state) % 256)
                                                  : a;
            }
            memset(scene.inliers, CANARY, sizeof scene.inliers);
            memset(&scene.found, CANARY, sizeof scene.found);
            scene.found.struct_size = sizeof scene.found;
            ck_assert_int_eq(gpv_homography_find(context, &params, scene.from, scene.to, POINTS,
                                                 scene.inliers, &scene.found),
                             GPV_OK);
            if (scales[s] == 1)
                expect_consistent(&scene, POINTS, params);
            else if (scene.found.found) /* what rounding does at such a scale is not said */
                for (i = 0; i < 9; i++)
                    ck_assert(isfinite(scene.found.matrix[i]));
            nothing += !scene.found.found;
        }
    ck_assert_int_gt(nothing, 0);
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
        place(&scene, known[0].h, 23);
        scene.to[2 * 60] += cases[i].off;
        find_with(&scene, POINTS, params);
        ck_assert_msg(scene.inliers[60] == cases[i].fits, "%g by %g", cases[i].threshold,
                      cases[i].off);
        ck_assert_int_eq(scene.found.inliers, POINTS - !cases[i].fits);
    }
}
END_TEST

/* With many false pairs, so that there is something to be tried. */
static void place_noisy(plane *p) {
    uint32_t state = 9;
    int i;
    place(p, known[8].h, 31);
    for (i = 0; i < POINTS; i++)
        if (i % 2) {
            p->to[2 * i] = (float)(next(&state) % 640);
            p->to[2 * i + 1] = (float)(next(&state) % 480);
        } else {
            p->to[2 * i] += (float)(next(&state) % 200) / 100 - 1;
            p->to[2 * i + 1] += (float)(next(&state) % 200) / 100 - 1;
        }
}

START_TEST(as_many_samples_as_are_worth_it) {
    static const float confidences[] = {0, 0.5f, 0.9f, 0.999f, 0.999999f};
    static const int32_t limits[] = {1, 2, 10, 2000, 1000000};
    gpv_homography_params params = defaults();
    int32_t before = 0;
    size_t i;
    place_noisy(&scene);
    for (i = 0; i < COUNT(confidences); i++) {
        params.confidence = confidences[i];
        find_with(&scene, POINTS, params);
        if (i)
            ck_assert_int_ge(scene.found.iterations, before);
        before = scene.found.iterations;
    }
    /* 60 of 120 are right: one sample in 17 or so; for 0.999999 of 1, more than 200 */
    ck_assert_int_gt(before, 100);
    ck_assert_int_lt(before, 1000);
    ck_assert_int_ge(scene.found.inliers, 55);
    for (i = 0; i < COUNT(limits); i++) {
        params = defaults();
        params.max_iterations = limits[i];
        find_with(&scene, POINTS, params); /* says that there are not more */
    }
    place(&scene, known[0].h, 31);
    params.confidence = 0;
    find_with(&scene, POINTS, params);
    ck_assert_int_le(scene.found.iterations, 10);
}
END_TEST

START_TEST(same_numbers_same_result) {
    static plane again;
    gpv_homography_params params = defaults();
    gpv_context *other = NULL;
    gpv_context_params own;
    books another;
    int i, different = 0;
    memset(&another, 0, sizeof another);
    own = logging_params(&another);
    ck_assert_int_eq(gpv_context_create(&own, &other), GPV_OK);
    place_noisy(&scene);
    again = scene;
    for (i = 0; i < 20; i++) {
        params.seed = i < 10 ? (uint32_t)i : UINT32_MAX - (uint32_t)i;
        find_with(&scene, POINTS, params);
        ck_assert_uint_eq(scene.found.found, 1);
        ck_assert_int_ge(scene.found.inliers, 55);
        again.found.struct_size = sizeof again.found;
        memset(again.inliers, CANARY, sizeof again.inliers);
        ck_assert_int_eq(gpv_homography_find(other, &params, again.from, again.to, POINTS,
                                             again.inliers, &again.found),
                         GPV_OK);
        different += i && again.found.iterations != scene.found.iterations;
        ck_assert_mem_eq(&scene, &again, sizeof scene);
        /* without inliers it is the same, too */
        memset(&again.found, CANARY, sizeof again.found);
        again.found.struct_size = sizeof again.found;
        ck_assert_int_eq(
            gpv_homography_find(context, &params, again.from, again.to, POINTS, NULL, &again.found),
            GPV_OK);
        ck_assert_mem_eq(&scene.found, &again.found, sizeof scene.found);
    }
    ck_assert_int_eq(different, 0);
    /* and without parameters that of the defaults */
    find_with(&scene, POINTS, defaults());
    ck_assert_int_eq(gpv_homography_find(context, NULL, again.from, again.to, POINTS, again.inliers,
                                         &again.found),
                     GPV_OK);
    ck_assert_mem_eq(&scene, &again, sizeof scene);
    gpv_context_destroy(&other);
}
END_TEST

START_TEST(the_seed_chooses_the_samples) {
    gpv_homography_params params = defaults();
    int32_t minimum = INT32_MAX, maximum = 0;
    params.max_iterations = 4; /* which are not enough to find the best one each time */
    place_noisy(&scene);
    for (params.seed = 0; params.seed < 20; params.seed++) {
        find_with(&scene, POINTS, params);
        minimum = scene.found.inliers < minimum ? scene.found.inliers : minimum;
        maximum = scene.found.inliers > maximum ? scene.found.inliers : maximum;
    }
    ck_assert_int_lt(minimum, maximum);
}
END_TEST

#define SEARCH(field, value) offsetof(gpv_homography_params, field), (uint32_t)(value)

static void expect_search(const gpv_homography_params *params, gpv_status wanted,
                          const char *text) {
    plane before;
    gpv_status status;
    memset(scene.inliers, CANARY, sizeof scene.inliers);
    memset(&scene.found, CANARY, sizeof scene.found);
    scene.found.struct_size = sizeof scene.found;
    before = scene;
    status =
        gpv_homography_find(context, params, scene.from, scene.to, 8, scene.inliers, &scene.found);
    expect_status(context, &keep, status, wanted, text);
    if (wanted != GPV_OK)
        ck_assert_mem_eq(&scene, &before, sizeof scene);
}

START_TEST(ranges_of_a_search) {
    static const struct {
        size_t offset;
        uint32_t value;
        const char *text;
    } cases[] = {
        {SEARCH(threshold, 1), NULL},           /* the least above 0 */
        {SEARCH(threshold, 0x40400000u), NULL}, /* 3 */
        {SEARCH(threshold, 0x49742400u), NULL}, /* 1e6 */
        {SEARCH(threshold, 0), "params->threshold is 0,|above 0|1000000"},
        {SEARCH(threshold, 0x80000000u), "params->threshold is -0,|above 0|1000000"},
        {SEARCH(threshold, 0xC0400000u), "params->threshold is -3,|above 0|1000000"},
        {SEARCH(threshold, 0x49742401u), "params->threshold|1000000.06|above 0|1000000"},
        {SEARCH(threshold, 0x7F800000u), "params->threshold is inf,|above 0|1000000"},
        {SEARCH(threshold, 0xFF800000u), "params->threshold is -inf,|above 0|1000000"},
        {SEARCH(threshold, 0x7FC00000u), "params->threshold|nan|above 0|1000000"},
        {SEARCH(confidence, 0), NULL},
        {SEARCH(confidence, 0x80000000u), NULL}, /* -0 */
        {SEARCH(confidence, 0x3F7FFFEFu), NULL}, /* 0.999999 */
        {SEARCH(confidence, 0x3F7FFFF0u), "params->confidence is 0.99999905,|0..0.999999"},
        {SEARCH(confidence, 0x3F800000u), "params->confidence is 1,|0..0.999999"},
        {SEARCH(confidence, 0x80000001u), "params->confidence|-1e-45|0..0.999999"},
        {SEARCH(confidence, 0xBF000000u), "params->confidence is -0.5,|0..0.999999"},
        {SEARCH(confidence, 0x7F800000u), "params->confidence is inf,|0..0.999999"},
        {SEARCH(confidence, 0x7FC00000u), "params->confidence|nan|0..0.999999"},
        {SEARCH(max_iterations, 1), NULL},
        {SEARCH(max_iterations, 1000000), NULL},
        {SEARCH(max_iterations, 0), "params->max_iterations is 0,|1..1000000"},
        {SEARCH(max_iterations, -1), "params->max_iterations is -1,|1..1000000"},
        {SEARCH(max_iterations, 1000001), "params->max_iterations is 1000001,|1..1000000"},
        {SEARCH(max_iterations, INT32_MIN), "params->max_iterations|-2147483648|1..1000000"},
        {SEARCH(max_iterations, INT32_MAX), "params->max_iterations|2147483647|1..1000000"},
        {SEARCH(seed, UINT32_MAX), NULL},
        {SEARCH(reserved, 1), "params->reserved is 1,|0..0"},
        {SEARCH(reserved, 0x80000000u), "params->reserved|2147483648|0..0"},
    };
    size_t i;
    place(&scene, known[1].h, 2);
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
    place(&scene, known[1].h, 2);
    expect_struct_sizes("params", sizeof(gpv_homography_params), init_params, expect_search_at);
    expect_struct_sizes("out", sizeof(gpv_homography), init_homography, expect_homography_at);
}
END_TEST

START_TEST(null_and_bad_arguments) {
    float *memory = forbidden_memory(1 << 16);
    unsigned char *flags = (unsigned char *)memory + 4096;
    gpv_homography out;
    size_t i;
    place(&scene, known[1].h, 2);
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
                place(&scene, known[1].h, 2);
                points[places[i]] = numbers[k].number;
                expect_search(NULL, INVALID, text);
            }
    /* behind the last one nothing is looked at; and the largest number is one */
    place(&scene, known[1].h, 2);
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
        place_noisy(&scene);
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

/* Neither an operator nor the allocator is concerned. */
START_TEST(nothing_else_of_the_context) {
    const int before = keep.allocations;
    place(&scene, known[1].h, 2);
    find_with(&scene, POINTS, defaults());
    ck_assert_int_eq(keep.allocations, before);
    ck_assert_str_eq(gpv_context_error(context), "");
}
END_TEST

int main(void) {
    const TTest *const tests[] = {init_writes_every_default,
                                  known_homographies,
                                  four_pairs,
                                  too_few_pairs,
                                  orientation_is_kept,
                                  strange_pairs,
                                  the_threshold,
                                  as_many_samples_as_are_worth_it,
                                  same_numbers_same_result,
                                  the_seed_chooses_the_samples,
                                  ranges_of_a_search,
                                  struct_sizes,
                                  null_and_bad_arguments,
                                  points_are_finite,
                                  points_up_to_the_last,
                                  nothing_else_of_the_context};
    return run_tests("homography", setup, teardown, tests, COUNT(tests));
}
