/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"

#include <float.h>
#include <math.h>

FIXTURE(sift)

RESULT(sift, sift)

/* Of a run into buffers, with canaries behind what it has written. */
enum { ROOM = 2048, LENGTH = GPV_SIFT_DESCRIPTOR_LENGTH };
static struct {
    gpv_sift_result result;
    gpv_sift_keypoint keypoints[ROOM];
    unsigned char descriptors[ROOM * LENGTH];
} full;

static void run(const gpv_image *src) {
    const gpv_buffer keypoints = buffer_of(full.keypoints, sizeof full.keypoints);
    const gpv_buffer descriptors = buffer_of(full.descriptors, sizeof full.descriptors);
    const gpv_buffer result = buffer_of(&full.result, sizeof full.result);
    memset(&full, CANARY, sizeof full);
    succeed(gpv_sift_run(op, NULL, src, NULL, &keypoints, 0, &descriptors, &result));
}

/* In blocks of 3x3 pixels: so it has many features, of every kind. */
static picture noise(int width, int height, unsigned seed) {
    picture p = picture_new(GPV_FORMAT_GRAY8, width, height, TIGHT);
    unsigned char *pixels = p.view.data[0];
    picture_fill(&p, seed);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            pixels[y * width + x] = pixels[y / 3 * 3 * width + x / 3 * 3];
    return p;
}

/* ------------------------------------------------------------------ refusals */

START_TEST(prepared_keypoints) {
    const gpv_image src = forbidden_image(forbidden_memory(1 << 21));
    succeed(gpv_sift_prepare(op, &src, NULL, 1000));
    refused(gpv_sift_prepare(op, &src, NULL, -1), "keypoints is -1|0..1048576");
    refused(gpv_sift_prepare(op, &src, NULL, GPV_SIFT_MAX_KEYPOINTS + 1),
            "keypoints is 1048577|0..1048576");
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
    for (size_t i = 0; i < COUNT(counts); i++)
        refused(
            gpv_sift_describe(op, NULL, &src, &good, counts[i].stride, counts[i].count, &numbers),
            counts[i].text);
    bad.size = 2 * LENGTH - 1; /* room for 24 bytes behind the first 72 */
    refused(gpv_sift_run(op, NULL, &src, NULL, &good, 72, &bad, NULL),
            "descriptors->size is 255,|256..");
    params.max_features = 3; /* which does not count where keypoints are given */
    set(params);
    bad.size = 4 * LENGTH - 1;
    refused(gpv_sift_describe(op, NULL, &src, &good, 0, 4, &bad),
            "descriptors->size is 511,|512..");
    expect_nothing_found();
}
END_TEST

START_TEST(results_of_runs_and_descriptions) {
    picture src = noise(48, 48, 3);
    const gpv_buffer keypoints = buffer_of(full.keypoints, sizeof full.keypoints);
    const gpv_buffer descriptors = buffer_of(full.descriptors, sizeof full.descriptors);
    const gpv_buffer empty = {0};
    run(&src.view);
    ck_assert_int_gt(waited_for().count, 5);
    succeed(gpv_sift_describe(op, NULL, &src.view, &keypoints, 0, 2, &descriptors));
    ck_assert_int_eq(waited_for().count, 2);
    ck_assert_int_eq(waited_for().dropped, 0);
    /* of none, whatever the buffers are */
    memset(full.descriptors, CANARY, sizeof full.descriptors);
    succeed(gpv_sift_describe(op, NULL, &src.view, NULL, 0, 0, NULL));
    ck_assert_int_eq(waited_for().count, 0);
    succeed(gpv_sift_describe(op, NULL, &src.view, &empty, 3, 0, &empty));
    succeed(gpv_sift_describe(op, NULL, &src.view, &keypoints, 0, 0, &descriptors));
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
    set(params);
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
                run(&src.view);
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
    set(params);
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
        run(&src.view);
        ck_assert_int_ge(full.result.count, 1);
        for (i = 0; i < full.result.count; i++)
            ck_assert_msg(fabs(remainder(full.keypoints[i].angle - degrees, 360)) < 6,
                          "angle %g, not %d", full.keypoints[i].angle, degrees);
        picture_free(&src);
    }
}
END_TEST

/* ----------------------------------------------------------------- descriptors */

static void describe(const picture *src, const gpv_sift_keypoint *list, int32_t count) {
    const gpv_buffer keypoints = buffer_of((void *)list, (size_t)count * sizeof *list);
    const gpv_buffer descriptors = buffer_of(full.descriptors, (size_t)count * LENGTH);
    memset(full.descriptors, CANARY, sizeof full.descriptors);
    succeed(gpv_sift_describe(op, NULL, &src->view, &keypoints, 0, count, &descriptors));
    ck_assert_int_eq(waited_for().count, count);
    ck_assert_int_eq(waited_for().dropped, 0);
}

static bool is_zero(const unsigned char *descriptor) {
    static const unsigned char zeros[LENGTH];
    return memcmp(descriptor, zeros, LENGTH) == 0;
}

START_TEST(what_cannot_be_described_is_zero) {
    enum { W = 64, H = 48 };
    static const struct {
        gpv_sift_keypoint keypoint; /* whose response and octave are not read */
        bool described;
    } cases[] = {
        {{30, 20, 2, 0, NAN, -1}, true},
        {{NAN, 20, 2, 0, 0, 0}, false},
        {{30, 20, 2, -INFINITY, 0, 0}, false},
        {{30, 20, 0, 0, 0, 0}, false},
        {{30, 20, FLT_MAX, 0, 0, 0}, false},
        {{30, 20, 14.5f, 0, 0, 0}, false}, /* four octaves: 0.8 * 2^3 * 2^(1 + 1/6) = 14.4 */
        {{30, 20, 14.2f, 0, 0, 0}, true},
        {{30, 20, 1e-45f, 77, 0, 0}, true},
        {{-0.51f, 20, 2, 0, 0, 0}, false},
        {{-0.49f, 20, 2, 0, 0, 0}, true},
        {{W - 0.49f, 20, 2, 0, 0, 0}, false},
        {{W - 0.51f, 20, 2, 0, 0, 0}, true},
        {{30, -0.51f, 2, 0, 0, 0}, false},
        {{30, H - 0.49f, 2, 0, 0, 0}, false},
        {{30, 20, 2, 1e6f, 0, 0}, false},
        {{30, 20, 2, 9e5f, 0, 0}, true},
    };
    picture src = noise(W, H, 61);
    gpv_sift_keypoint list[COUNT(cases)];
    size_t i;
    for (i = 0; i < COUNT(cases); i++)
        list[i] = cases[i].keypoint;
    describe(&src, list, (int32_t)COUNT(list));
    for (i = 0; i < COUNT(cases); i++)
        ck_assert_msg(is_zero(full.descriptors + i * LENGTH) == !cases[i].described, "case %zu", i);
    memset(src.view.data[0], 77, src.size[0]); /* where there is no gradient is no direction */
    describe(&src, list, 1);
    ck_assert(is_zero(full.descriptors));
    picture_free(&src);
}
END_TEST

/* ------------------------------------------------------- more than an operator keeps */

/* Of bright and dark spots, four pixels apart: one extremum for 8 pixels. */
START_TEST(too_many_extrema) {
    enum { SIDE = 1024 };
    static const unsigned char tile[4][4] = {
        {228, 178, 128, 178}, {178, 128, 78, 128}, {128, 78, 28, 78}, {178, 128, 78, 128}};
    static const gpv_sift_keypoint one = {30, 20, 2, 0, 0, 0};
    picture src = picture_new(GPV_FORMAT_GRAY8, SIDE, SIDE, TIGHT), small = noise(64, 64, 3);
    gpv_sift_params params = defaults();
    gpv_sift_result result;
    char text[64];
    for (int i = 0; i < SIDE * SIDE; i++)
        ((unsigned char *)src.view.data[0])[i] = tile[i / SIDE % 4][i % 4];
    params.upsample = 0;
    params.octaves = 1;
    params.sigma = 0.75f; /* the scale of the spots lies a layer above */
    params.contrast_threshold = 0.01f;
    params.upright = 1;
    set(params);
    run(&src.view);
    gpv_sift_result_init(&result, sizeof result);
    ck_assert_int_eq(gpv_sift_query(op), GPV_ERR_TOO_SMALL);
    ck_assert_int_eq(gpv_sift_wait(op, NULL), GPV_ERR_TOO_SMALL);
    ck_assert_int_eq(gpv_sift_wait(op, &result), GPV_ERR_TOO_SMALL);
    snprintf(text, sizeof text, "%d extrema|params->contrast_threshold", result.dropped);
    expect_text(gpv_context_error(context), text);
    ck_assert_int_eq(result.count, 0);
    ck_assert_int_gt(result.dropped, SIDE * SIDE / 16);
    ck_assert_int_lt(result.dropped, SIDE * SIDE / 4);
    ck_assert_mem_eq(&full.result, &result, sizeof result);
    ck_assert(untouched(full.keypoints, &full + 1));
    /* the next ones are not concerned */
    describe(&small, &one, 1);
    ck_assert(!is_zero(full.descriptors));
    run(&src.view);
    ck_assert_int_eq(gpv_sift_wait(op, NULL), GPV_ERR_TOO_SMALL);
    run(&small.view);
    ck_assert_int_gt(waited_for().count, 0);
    picture_free(&src);
    picture_free(&small);
}
END_TEST

RUN_TESTS("sift", setup, teardown, prepared_keypoints, counts_of_keypoints,
          results_of_runs_and_descriptions, one_blob_is_one_keypoint,
          angles_point_towards_the_light, what_cannot_be_described_is_zero, too_many_extrema)
