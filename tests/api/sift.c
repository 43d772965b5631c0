/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"

#include <float.h>
#include <math.h>

FIXTURE(sift)

/* Without buffers. */
static gpv_status run_views(const gpv_image *src) {
    return gpv_sift_run(op, NULL, src, NULL, NULL, 0, NULL, NULL);
}

RESULT(sift)

/* Of a run into buffers, with canaries behind what it has written. */
enum { ROOM = 2048, LENGTH = GPV_SIFT_DESCRIPTOR_LENGTH };
typedef struct features {
    gpv_sift_result result;
    gpv_sift_keypoint keypoints[ROOM];
    unsigned char descriptors[ROOM * LENGTH];
} features;

/* With room for so many keypoints, and for so many descriptors. */
static gpv_status run_into(const gpv_image *src, int32_t room, int32_t described, features *out) {
    const gpv_buffer keypoints = buffer_of(out->keypoints, (size_t)room * sizeof *out->keypoints);
    const gpv_buffer descriptors = buffer_of(out->descriptors, (size_t)described * LENGTH);
    const gpv_buffer result = buffer_of(&out->result, sizeof out->result);
    memset(out, CANARY, sizeof *out);
    return gpv_sift_run(op, NULL, src, NULL, &keypoints, 0, &descriptors, &result);
}

/* Large ones, which need not be on a stack. */
static features full, part;

/* With the parameters, into full. */
static void find_with(gpv_sift_params params, const gpv_image *src) {
    set(params);
    ck_assert_msg(run_into(src, ROOM, ROOM, &full) == GPV_OK, "%s", gpv_context_error(context));
}

/* In blocks of 3x3 pixels: so it has many features, of every kind. */
static picture noise(int width, int height, unsigned seed) {
    picture p = picture_new(GPV_FORMAT_GRAY8, width, height, TIGHT);
    unsigned char *pixels = p.view.data[0];
    int x, y;
    picture_fill(&p, seed);
    for (y = 0; y < height; y++)
        for (x = 0; x < width; x++)
            pixels[y * width + x] = pixels[y / 3 * 3 * width + x / 3 * 3];
    return p;
}

/* ------------------------------------------------------------------ refusals */

START_TEST(prepared_keypoints) {
    const gpv_image src = forbidden_image(forbidden_memory(1 << 21));
    ck_assert_int_eq(gpv_sift_prepare(op, &src, NULL, 1000), GPV_OK);
    expect_error(context, &keep, gpv_sift_prepare(op, &src, NULL, -1), INVALID,
                 "keypoints is -1|0..1048576");
    expect_error(context, &keep, gpv_sift_prepare(op, &src, NULL, GPV_SIFT_MAX_KEYPOINTS + 1),
                 INVALID, "keypoints is 1048577|0..1048576");
}
END_TEST

START_TEST(counts_of_keypoints) {
    static const struct {
        uint32_t stride;
        int32_t count;
        const char *text;
    } counts[] = {{0, -1, "count is -1|0..4"}, {0, INT32_MAX, "2147483647|0..4"},
                  {24, 5, "count is 5|0..4"},  {28, 4, "count is 4|0..3"},
                  {72, 3, "count is 3|0..2"},  {4096, 2, "count is 2|0..1"}};
    unsigned char *memory = forbidden_memory(1 << 22);
    const gpv_image src = forbidden_image(memory);
    const gpv_buffer good = buffer_of(memory + (1 << 21), 4 * sizeof(gpv_sift_keypoint));
    const gpv_buffer numbers = buffer_of(memory + (3 << 20), 4096);
    gpv_buffer bad = numbers;
    gpv_sift_params params = defaults();
    size_t i;
    for (i = 0; i < COUNT(counts); i++)
        expect_error(
            context, &keep,
            gpv_sift_describe(op, NULL, &src, &good, counts[i].stride, counts[i].count, &numbers),
            INVALID, counts[i].text);
    bad.size = 2 * LENGTH - 1; /* room for 24 bytes behind the first 72 */
    expect_error(context, &keep, gpv_sift_run(op, NULL, &src, NULL, &good, 72, &bad, NULL), INVALID,
                 "descriptors->size is 255,|256..");
    params.max_features = 3; /* which does not count where keypoints are given */
    set(params);
    bad.size = 4 * LENGTH - 1;
    expect_error(context, &keep, gpv_sift_describe(op, NULL, &src, &good, 0, 4, &bad), INVALID,
                 "descriptors->size is 511,|512..");
    expect_nothing_found();
}
END_TEST

START_TEST(results_of_runs_and_descriptions) {
    picture src = noise(48, 48, 3);
    const gpv_buffer keypoints = buffer_of(full.keypoints, sizeof full.keypoints);
    const gpv_buffer descriptors = buffer_of(full.descriptors, sizeof full.descriptors);
    const gpv_buffer empty = {0};
    find_with(defaults(), &src.view);
    ck_assert_int_gt(waited_for().count, 5);
    ck_assert_int_eq(gpv_sift_describe(op, NULL, &src.view, &keypoints, 0, 2, &descriptors),
                     GPV_OK);
    ck_assert_int_eq(waited_for().count, 2);
    ck_assert_int_eq(waited_for().dropped, 0);
    /* of none, whatever the buffers are */
    memset(full.descriptors, CANARY, sizeof full.descriptors);
    ck_assert_int_eq(gpv_sift_describe(op, NULL, &src.view, NULL, 0, 0, NULL), GPV_OK);
    ck_assert_int_eq(waited_for().count, 0);
    ck_assert_int_eq(gpv_sift_describe(op, NULL, &src.view, &empty, 3, 0, &empty), GPV_OK);
    ck_assert_int_eq(gpv_sift_describe(op, NULL, &src.view, &keypoints, 0, 0, &descriptors),
                     GPV_OK);
    ck_assert(untouched(full.descriptors, full.descriptors + sizeof full.descriptors));
    picture_free(&src);
}
END_TEST

/* ------------------------------------------------- results worked out by hand */

/* Grey, but for a round blob, exp(-d^2 / (2 sigma^2)) high. */
typedef struct blob {
    double x, y, sigma, height;
} blob;

static picture picture_of_blob(int width, int height, const blob *b) {
    picture p = picture_new(GPV_FORMAT_GRAY8, width, height, TIGHT);
    int x, y;
    for (y = 0; y < height; y++)
        for (x = 0; x < width; x++) {
            const double u = (x - b->x) / b->sigma, v = (y - b->y) / b->sigma;
            ((unsigned char *)p.view.data[0])[y * width + x] =
                (unsigned char)lround(128 + b->height * exp(-0.5 * (u * u + v * v)));
        }
    return p;
}

/* A round blob of variance s is one of s - 1/4 in a picture without the blur that pictures are
 * taken to have, and A s / (s - 1/4 + t) high where it is blurred by t. The difference of that at t
 * and k^2 t is greatest where t = (s - 1/4) / k. k is 2 to the power of 1/3 with three layers. */
START_TEST(one_blob_is_one_keypoint) {
    static const struct {
        double sigma;
        int32_t octave; /* of the layer that it is in the middle of, the second one */
    } scales[] = {{1.5106, 255}, {2.8944, 0}, {5.7236, 1}};
    /* The last pixels of octaves 255, 0 and 1 up to there are those 47.75 39.75: here all are far
     * from midway between two pixels, where both are extrema. */
    static const double places[][2] = {{47.75, 39.75}, {48.4, 40.35}, {47.9, 39.6}, {48.1, 39.1}};
    const double k = pow(2, 1.0 / 3);
    gpv_sift_params params = defaults();
    size_t s, p;
    int sign;
    params.upright = 1;
    for (s = 0; s < COUNT(scales); s++)
        for (p = 0; p < COUNT(places); p++)
            for (sign = -1; sign <= 1; sign += 2) {
                const double sigma = scales[s].sigma, variance = sigma * sigma;
                const double wanted = sqrt((variance - 0.25) / k);
                const double contrast =
                    100.0 / 255 * variance / (variance - 0.25) * (k - 1) / (k + 1);
                const blob b = {places[p][0], places[p][1], sigma, sign * 100};
                picture src = picture_of_blob(97, 81, &b);
                const gpv_sift_keypoint *found = full.keypoints;
                find_with(params, &src.view);
                ck_assert_msg(full.result.count == 1, "sigma %g at %g %g: %d found", sigma, b.x,
                              b.y, full.result.count);
                ck_assert_float_eq_tol(found->x, (float)b.x, 0.1f);
                ck_assert_float_eq_tol(found->y, (float)b.y, 0.1f);
                ck_assert_float_eq_tol(found->sigma, (float)wanted, (float)wanted / 10);
                ck_assert_float_eq(found->angle, 0);
                ck_assert_float_eq_tol(found->response, (float)contrast, (float)contrast / 10);
                ck_assert_int_eq(found->octave & 255, scales[s].octave);
                ck_assert_int_eq(found->octave >> 8 & 255, 2);
                ck_assert_int_ge(found->octave >> 16, 64);
                ck_assert_int_le(found->octave >> 16, 192);
                picture_free(&src);
            }
}
END_TEST

/* A round blob has no direction of its own; a slope across the picture gives it one, towards the
 * light. */
START_TEST(angles_point_towards_the_light) {
    gpv_sift_params params = defaults();
    int degrees;
    params.contrast_threshold = 0.02f;
    for (degrees = 0; degrees < 360; degrees += 15) {
        const double radians = degrees * 3.14159265358979 / 180;
        const blob b = {35, 35, 2.8944, 24};
        picture src = picture_of_blob(71, 71, &b);
        unsigned char *pixels = src.view.data[0];
        int i;
        for (i = 0; i < 71 * 71; i++)
            pixels[i] = (unsigned char)(pixels[i] - 18 +
                                        lround(2 * ((i % 71 - 35) * cos(radians) +
                                                    (i / 71 - 35) * sin(radians))));
        find_with(params, &src.view);
        ck_assert_int_ge(full.result.count, 1);
        for (i = 0; i < full.result.count; i++)
            ck_assert_msg(fabs(remainder(full.keypoints[i].angle - degrees, 360)) < 6,
                          "angle %g, not %d", full.keypoints[i].angle, degrees);
        picture_free(&src);
    }
}
END_TEST

/* ---------------------------------------------------------- which ones are kept */

/* Of a run with such limits, the first ones of full, and nothing behind them. */
static void expect_first(const gpv_image *src, int32_t max_features, int32_t room, int32_t kept) {
    gpv_sift_params params = defaults();
    gpv_sift_result result;
    params.max_features = max_features;
    set(params);
    ck_assert_int_eq(run_into(src, room, kept, &part), GPV_OK);
    result = waited_for();
    ck_assert_mem_eq(&result, &part.result, sizeof result);
    ck_assert_int_eq(result.count, kept);
    ck_assert_int_eq(result.dropped, full.result.count - kept);
    ck_assert_mem_eq(part.keypoints, full.keypoints, (size_t)kept * sizeof *full.keypoints);
    ck_assert_mem_eq(part.descriptors, full.descriptors, (size_t)kept * LENGTH);
    ck_assert(untouched(part.keypoints + kept, part.keypoints + ROOM));
    ck_assert(
        untouched(part.descriptors + kept * LENGTH, part.descriptors + sizeof part.descriptors));
    /* they are counted without buffers, too */
    ck_assert_int_eq(run_views(src), GPV_OK);
    ck_assert_int_eq(waited_for().count, max_features ? max_features : full.result.count);
}

START_TEST(the_strongest_are_kept) {
    static const int32_t limits[] = {0, 1, 2, 15, 30};
    picture src = noise(67, 53, 21);
    size_t i, k;
    find_with(defaults(), &src.view);
    ck_assert_int_gt(full.result.count, 30);
    for (i = 1; i < COUNT(limits); i++)
        for (k = 0; k < COUNT(limits); k++)
            expect_first(&src.view, limits[k], limits[i],
                         limits[k] && limits[k] < limits[i] ? limits[k] : limits[i]);
    picture_free(&src);
}
END_TEST

START_TEST(octaves_are_counted_from_the_first) {
    picture src = noise(97, 90, 41);
    gpv_sift_params params = defaults();
    find_with(params, &src.view);
    part = full;
    for (params.octaves = 1; params.octaves <= 16; params.octaves++) {
        int i, left = 0;
        find_with(params, &src.view);
        for (i = 0; i < part.result.count; i++)
            if (((part.keypoints[i].octave + 1) & 255) < params.octaves)
                ck_assert_mem_eq(&part.keypoints[i], &full.keypoints[left++],
                                 sizeof *part.keypoints);
        ck_assert_int_eq(full.result.count, left);
        ck_assert_int_eq(full.result.dropped, 0);
        ck_assert_int_gt(left, 10);
    }
    ck_assert_int_eq(full.result.count, part.result.count);
    picture_free(&src);
}
END_TEST

/* ----------------------------------------------------------------- descriptors */

/* Of a given list, into part. */
static void describe(const picture *src, const gpv_sift_keypoint *list, int32_t count) {
    const gpv_buffer keypoints = buffer_of((void *)list, (size_t)count * sizeof *list);
    const gpv_buffer descriptors = buffer_of(part.descriptors, (size_t)count * LENGTH);
    memset(part.descriptors, CANARY, sizeof part.descriptors);
    ck_assert_msg(gpv_sift_describe(op, NULL, &src->view, &keypoints, 0, count, &descriptors) ==
                      GPV_OK,
                  "%s", gpv_context_error(context));
    ck_assert_int_eq(waited_for().count, count);
    ck_assert_int_eq(waited_for().dropped, 0);
}

static bool is_zero(const unsigned char *descriptor) {
    static const unsigned char zeros[LENGTH];
    return memcmp(descriptor, zeros, LENGTH) == 0;
}

/* And where there is no gradient, there is no direction either. */
START_TEST(what_cannot_be_described_is_zero) {
    enum { W = 64, H = 48 };
    static const struct {
        gpv_sift_keypoint keypoint; /* whose response and octave are not read */
        bool described;
    } cases[] = {
        {{30, 20, 2, 0, NAN, -1}, true},
        {{NAN, 20, 2, 0, 0, 0}, false},
        {{30, NAN, 2, 0, 0, 0}, false},
        {{30, 20, NAN, 0, 0, 0}, false},
        {{30, 20, 2, NAN, 0, 0}, false},
        {{INFINITY, 20, 2, 0, 0, 0}, false},
        {{30, 20, INFINITY, 0, 0, 0}, false},
        {{30, 20, 2, -INFINITY, 0, 0}, false},
        {{30, 20, 0, 0, 0, 0}, false},
        {{30, 20, -2, 0, 0, 0}, false},
        {{30, 20, FLT_MAX, 0, 0, 0}, false},
        {{30, 20, 14.5f, 0, 0, 0}, false}, /* four octaves: 0.8 * 2^3 * 2^(1 + 1/6) = 14.4 */
        {{30, 20, 14.2f, 0, 0, 0}, true},
        {{30, 20, 1e-45f, 77, 0, 0}, true},
        {{-0.51f, 20, 2, 0, 0, 0}, false},
        {{-0.49f, 20, 2, 0, 0, 0}, true},
        {{W - 0.49f, 20, 2, 0, 0, 0}, false},
        {{W - 0.51f, 20, 2, 0, 0, 0}, true},
        {{30, -0.51f, 2, 0, 0, 0}, false},
        {{30, -0.49f, 2, 0, 0, 0}, true},
        {{30, H - 0.49f, 2, 0, 0, 0}, false},
        {{30, H - 0.51f, 2, 0, 0, 0}, true},
        {{30, 20, 2, 1e6f, 0, 0}, false},
        {{30, 20, 2, 9e5f, 0, 0}, true},
        {{30, 20, 2, -90, 0, 0}, true},
    };
    picture src = noise(W, H, 61);
    gpv_sift_keypoint list[COUNT(cases)];
    size_t i;
    for (i = 0; i < COUNT(cases); i++)
        list[i] = cases[i].keypoint;
    describe(&src, list, (int32_t)COUNT(list));
    for (i = 0; i < COUNT(cases); i++)
        ck_assert_msg(is_zero(part.descriptors + i * LENGTH) == !cases[i].described,
                      "case %zu: %g %g, sigma %g, angle %g", i, list[i].x, list[i].y, list[i].sigma,
                      list[i].angle);
    memset(src.view.data[0], 77, src.size[0]);
    describe(&src, list, 1);
    ck_assert(is_zero(part.descriptors));
    picture_free(&src);
}
END_TEST

/* ------------------------------------------------------- more than an operator keeps */

/* A lattice of bright and dark spots, four pixels apart: one extremum for 8 pixels. */
static void draw_lattice(picture *p) {
    static const unsigned char tile[4][4] = {
        {228, 178, 128, 178}, {178, 128, 78, 128}, {128, 78, 28, 78}, {178, 128, 78, 128}};
    const int width = p->view.width;
    int x, y;
    for (y = 0; y < p->view.height; y++)
        for (x = 0; x < width; x++)
            ((unsigned char *)p->view.data[0])[(size_t)y * (size_t)width + (size_t)x] =
                tile[y % 4][x % 4];
}

static gpv_sift_params of_a_lattice(void) {
    gpv_sift_params params = defaults();
    params.upsample = 0;
    params.octaves = 1;
    params.sigma = 0.75f; /* the scale of the spots lies a layer above */
    params.contrast_threshold = 0.01f;
    params.upright = 1;
    return params;
}

START_TEST(too_many_extrema) {
    enum { SIDE = 1024 };
    picture src = picture_new(GPV_FORMAT_GRAY8, SIDE, SIDE, TIGHT), small = noise(64, 64, 3);
    gpv_sift_result result;
    const gpv_sift_keypoint one = {30, 20, 2, 0, 0, 0};
    char number[64];
    gpv_sift_result_init(&result, sizeof result);
    draw_lattice(&src);
    set(of_a_lattice());
    ck_assert_int_eq(run_into(&src.view, ROOM, ROOM, &full), GPV_OK);
    ck_assert_int_eq(gpv_sift_query(op), GPV_ERR_TOO_SMALL);
    ck_assert_int_eq(gpv_sift_wait(op, &result), GPV_ERR_TOO_SMALL);
    snprintf(number, sizeof number, "%d extrema|params->contrast_threshold", result.dropped);
    expect_text(gpv_context_error(context), number);
    ck_assert_int_eq(gpv_sift_wait(op, NULL), GPV_ERR_TOO_SMALL);
    ck_assert_int_eq(result.count, 0);
    ck_assert_int_gt(result.dropped, SIDE * SIDE / 16);
    ck_assert_int_lt(result.dropped, SIDE * SIDE / 4);
    ck_assert_mem_eq(&full.result, &result, sizeof result);
    ck_assert(untouched(full.keypoints, full.keypoints + ROOM));
    ck_assert(untouched(full.descriptors, full.descriptors + sizeof full.descriptors));
    /* the next ones are not concerned */
    describe(&small, &one, 1);
    ck_assert(!is_zero(part.descriptors));
    ck_assert_int_eq(run_views(&src.view), GPV_OK);
    ck_assert_int_eq(gpv_sift_wait(op, NULL), GPV_ERR_TOO_SMALL);
    ck_assert_int_eq(run_views(&small.view), GPV_OK);
    ck_assert_int_gt(waited_for().count, 0);
    picture_free(&src);
    picture_free(&small);
}
END_TEST

int main(void) {
    const TTest *const tests[] = {prepared_keypoints,
                                  counts_of_keypoints,
                                  results_of_runs_and_descriptions,
                                  one_blob_is_one_keypoint,
                                  angles_point_towards_the_light,
                                  the_strongest_are_kept,
                                  octaves_are_counted_from_the_first,
                                  what_cannot_be_described_is_zero,
                                  too_many_extrema};
    return run_tests("sift", setup, teardown, tests, COUNT(tests));
}
