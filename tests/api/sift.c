/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"

#include <float.h>
#include <math.h>

/* Those that SIFT takes. */
static const gpv_format formats[] = {
    GPV_FORMAT_GRAY8, GPV_FORMAT_RGB8,  GPV_FORMAT_BGR8, GPV_FORMAT_RGBA8, GPV_FORMAT_BGRA8,
    GPV_FORMAT_RGBX8, GPV_FORMAT_BGRX8, GPV_FORMAT_NV12, GPV_FORMAT_I420,
};

FIXTURE(sift)

/* Without buffers. */
static gpv_status run_views(const gpv_image *src, const gpv_image *mask) {
    return gpv_sift_run(op, NULL, src, mask, NULL, 0, NULL, NULL);
}

static gpv_status run_buffers(const gpv_image *src, const gpv_buffer *keypoints,
                              const gpv_buffer *descriptors, const gpv_buffer *result) {
    return gpv_sift_run(op, NULL, src, NULL, keypoints, 0, descriptors, result);
}

RESULT(sift)

/* Of a run into buffers, with canaries behind what it has written. */
enum { ROOM = 2048 };
typedef struct features {
    gpv_sift_result result;
    gpv_sift_keypoint keypoints[ROOM];
    unsigned char descriptors[ROOM * GPV_SIFT_DESCRIPTOR_LENGTH * sizeof(float)];
} features;

/* Of one descriptor. */
static size_t descriptor_bytes(gpv_sift_params params) {
    return GPV_SIFT_DESCRIPTOR_LENGTH *
           (params.descriptor_type == GPV_SIFT_DESCRIPTOR_TYPE_F32 ? sizeof(float) : 1);
}

static const float *floats_of(const features *found, int i) {
    return (const float *)(const void *)found->descriptors + i * GPV_SIFT_DESCRIPTOR_LENGTH;
}

static const unsigned char *bytes_of(const features *found, int i) {
    return found->descriptors + i * GPV_SIFT_DESCRIPTOR_LENGTH;
}

static gpv_status run_into(gpv_sift *which, const gpv_image *src, const gpv_image *mask,
                           features *out) {
    const gpv_buffer keypoints = buffer_of(out->keypoints, sizeof out->keypoints);
    const gpv_buffer descriptors = buffer_of(out->descriptors, sizeof out->descriptors);
    const gpv_buffer result = buffer_of(&out->result, sizeof out->result);
    memset(out, CANARY, sizeof *out);
    return gpv_sift_run(which, NULL, src, mask, &keypoints, 0, &descriptors, &result);
}

/* With the parameters. Nothing behind what was found may have been written. */
static void find_with(gpv_sift_params params, const gpv_image *src, const gpv_image *mask,
                      features *out) {
    gpv_sift_result result;
    set(params);
    ck_assert_msg(run_into(op, src, mask, out) == GPV_OK, "%s", gpv_context_error(context));
    result = waited_for();
    ck_assert_mem_eq(&result, &out->result, sizeof result);
    ck_assert_int_ge(result.count, 0);
    ck_assert_int_le(result.count, ROOM);
    ck_assert_int_ge(result.dropped, 0);
    ck_assert(untouched(out->keypoints + result.count, out->keypoints + ROOM));
    ck_assert(untouched(out->descriptors + (size_t)result.count * descriptor_bytes(params),
                        out->descriptors + sizeof out->descriptors));
}

/* Large ones, which need not be on a stack. */
static features full, part;

static bool is_four_bytes(gpv_format format) {
    return format == GPV_FORMAT_RGBA8 || format == GPV_FORMAT_BGRA8 || format == GPV_FORMAT_RGBX8 ||
           format == GPV_FORMAT_BGRX8;
}

/* Makes noise coarser, in blocks of 3x3 pixels: so it has many features, of every kind. */
static void coarsen(picture *p) {
    const gpv_format format = p->view.format;
    const int step = format == GPV_FORMAT_RGB8 || format == GPV_FORMAT_BGR8 ? 3
                     : is_four_bytes(format)                                ? 4
                                                                            : 1;
    int x, y, i;
    for (y = 0; y < p->view.height; y++)
        for (x = 0; x < p->view.width; x++)
            for (i = 0; i < step; i++) {
                unsigned char *data = p->view.data[0];
                data[y * p->view.stride[0] + x * step + i] =
                    data[y / 3 * 3 * p->view.stride[0] + x / 3 * 3 * step + i];
            }
}

static void fill(picture *p, unsigned seed) {
    picture_fill(p, seed);
    coarsen(p);
}

static picture noise(int width, int height, unsigned seed) {
    picture p = picture_new(GPV_FORMAT_GRAY8, width, height, TIGHT);
    fill(&p, seed);
    return p;
}

/* ------------------------------------------------------------------ refusals */

START_TEST(prepared_keypoints) {
    const gpv_image src = forbidden_image(forbidden_memory(1 << 21));
    ck_assert_int_eq(gpv_sift_prepare(op, &src, NULL, 1000), GPV_OK);
    expect_error(context, &keep, gpv_sift_prepare(op, &src, NULL, -1), INVALID,
                 "keypoints is -1|0..1048576");
    expect_error(context, &keep, gpv_sift_prepare(op, &src, NULL, INT32_MIN), INVALID,
                 "keypoints is -2147483648|0..1048576");
    expect_error(context, &keep, gpv_sift_prepare(op, &src, NULL, GPV_SIFT_MAX_KEYPOINTS + 1),
                 INVALID, "keypoints is 1048577|0..1048576");
}
END_TEST

START_TEST(strides_of_keypoints) {
    static const struct {
        uint32_t stride;
        const char *text;
    } strides[] = {{1, "keypoint_stride|is 1,|24..4096"},
                   {4, "keypoint_stride|is 4,|24..4096"},
                   {20, "keypoint_stride|is 20,|24..4096"},
                   {23, "keypoint_stride|is 23,|24..4096"},
                   {25, "keypoint_stride|is 25,|multiple of 4"},
                   {26, "keypoint_stride|is 26,|multiple of 4"},
                   {4095, "keypoint_stride|is 4095,|multiple of 4"},
                   {4097, "keypoint_stride|is 4097,|24..4096"},
                   {4100, "keypoint_stride|is 4100,|24..4096"},
                   {UINT32_MAX, "keypoint_stride|4294967295|24..4096"}};
    unsigned char *memory = forbidden_memory(1 << 22);
    const gpv_image src = forbidden_image(memory);
    const gpv_buffer good = buffer_of(memory + (1 << 21), 4 * sizeof(gpv_sift_keypoint));
    const gpv_buffer numbers = buffer_of(memory + (3 << 20), 4096);
    gpv_buffer bad = numbers;
    gpv_sift_params params = defaults();
    size_t i;
    for (i = 0; i < COUNT(strides); i++) {
        expect_error(context, &keep,
                     gpv_sift_run(op, NULL, &src, NULL, &good, strides[i].stride, &numbers, NULL),
                     INVALID, strides[i].text);
        expect_error(context, &keep,
                     gpv_sift_describe(op, NULL, &src, &good, strides[i].stride, 1, &numbers),
                     INVALID, strides[i].text);
    }
    bad.size = 2 * GPV_SIFT_DESCRIPTOR_LENGTH - 1; /* room for 24 bytes behind the first 72 */
    expect_error(context, &keep, gpv_sift_run(op, NULL, &src, NULL, &good, 72, &bad, NULL), INVALID,
                 "descriptors->size is 255,|256..");
    params.max_features = 3; /* which does not count where keypoints are given */
    set(params);
    bad.size = 4 * GPV_SIFT_DESCRIPTOR_LENGTH - 1;
    expect_error(context, &keep, gpv_sift_describe(op, NULL, &src, &good, 0, 4, &bad), INVALID,
                 "descriptors->size is 511,|512..");
    expect_nothing_found();
}
END_TEST

START_TEST(count_of_given_keypoints) {
    unsigned char *memory = forbidden_memory(1 << 22);
    const gpv_image src = forbidden_image(memory);
    const gpv_buffer four = buffer_of(memory + (1 << 21), 4 * sizeof(gpv_sift_keypoint));
    const gpv_buffer numbers = buffer_of(memory + (3 << 20), 4096);
    static const struct {
        uint32_t stride;
        int32_t count;
        const char *text;
    } cases[] = {{0, -1, "count is -1|0..4"},        {0, 5, "count is 5|0..4"},
                 {0, INT32_MIN, "-2147483648|0..4"}, {0, INT32_MAX, "2147483647|0..4"},
                 {24, 5, "count is 5|0..4"},         {28, 4, "count is 4|0..3"},
                 {40, 3, "count is 3|0..2"},         {72, 3, "count is 3|0..2"},
                 {76, 2, "count is 2|0..1"},         {4096, 2, "count is 2|0..1"}};
    size_t i;
    for (i = 0; i < COUNT(cases); i++)
        expect_error(
            context, &keep,
            gpv_sift_describe(op, NULL, &src, &four, cases[i].stride, cases[i].count, &numbers),
            INVALID, cases[i].text);
    expect_nothing_found();
}
END_TEST

/* All that a run reads and writes. */
/* Parameters that reach every path of the CPU backend. */
static gpv_sift_params variant(int i) {
    static const float sigmas[] = {1.6f, 0.5f, 2.5f, 4};
    gpv_sift_params params = defaults();
    params.upsample = (uint32_t)(i % 2 == 0);
    params.descriptor_type = (gpv_sift_descriptor_type)(i / 2 % 2);
    params.root_sift = (uint32_t)(i / 4 % 2);
    params.upright = (uint32_t)(i / 8 % 2);
    params.octave_layers = 1 + i * 3 % 8;
    params.octaves = i % 5;
    params.sigma = sigmas[i / 3 % 4];
    params.contrast_threshold = i % 3 ? 0.02f : 0;
    params.edge_threshold = i % 7 ? 10 : 1e6f;
    params.max_features = i % 6 == 5 ? 7 : 0;
    return params;
}
enum { VARIANTS = 24 };
START_TEST(results_of_runs_and_descriptions) {
    picture src = noise(48, 48, 3);
    const gpv_buffer keypoints = buffer_of(full.keypoints, sizeof full.keypoints);
    const gpv_buffer descriptors = buffer_of(full.descriptors, sizeof full.descriptors);
    const gpv_buffer empty = {0};
    gpv_sift_params params = defaults();
    int32_t all;
    ck_assert_int_eq(run_views(&src.view, NULL), GPV_OK);
    all = waited_for().count;
    ck_assert_int_gt(all, 5);
    ck_assert_int_eq(waited_for().dropped, 0);
    ck_assert_int_eq(gpv_sift_describe(op, NULL, &src.view, &keypoints, 0, -1, &descriptors),
                     INVALID);
    ck_assert_int_eq(waited_for().count, all);
    params.max_features = 3;
    set(params);
    ck_assert_int_eq(run_buffers(&src.view, &keypoints, NULL, NULL), GPV_OK);
    ck_assert_int_eq(waited_for().count, 3);
    ck_assert_int_eq(waited_for().dropped, all - 3);
    ck_assert_int_eq(gpv_sift_describe(op, NULL, &src.view, &keypoints, 0, 2, &descriptors),
                     GPV_OK);
    ck_assert_int_eq(waited_for().count, 2);
    ck_assert_int_eq(waited_for().dropped, 0);
    memset(full.descriptors, CANARY, sizeof full.descriptors);
    ck_assert_int_eq(gpv_sift_describe(op, NULL, &src.view, NULL, 0, 0, NULL), GPV_OK);
    ck_assert_int_eq(waited_for().count, 0);
    ck_assert_int_eq(gpv_sift_describe(op, NULL, &src.view, &empty, 3, 0, &empty), GPV_OK);
    ck_assert_int_eq(waited_for().count, 0);
    ck_assert_int_eq(gpv_sift_describe(op, NULL, &src.view, &keypoints, 0, 0, &descriptors),
                     GPV_OK);
    ck_assert_int_eq(waited_for().count, 0);
    ck_assert(untouched(full.descriptors, full.descriptors + sizeof full.descriptors));
    picture_free(&src);
}
END_TEST

/* ---------------------------------------------------------- where there is none */

START_TEST(flat_pictures_have_none) {
    static const int levels[] = {0, 1, 128, 255};
    picture src = picture_new(GPV_FORMAT_GRAY8, 64, 48, TIGHT);
    gpv_sift_params params = defaults();
    size_t i;
    for (i = 0; i < COUNT(levels); i++)
        for (params.upsample = 0; params.upsample < 2; params.upsample++) {
            params.contrast_threshold = i % 2 ? 0 : 0.04f;
            memset(src.view.data[0], levels[i], src.size[0]);
            find_with(params, &src.view, NULL, &full);
            ck_assert_int_eq(full.result.count, 0);
            ck_assert_int_eq(full.result.dropped, 0);
        }
    picture_free(&src);
}
END_TEST

/* One is found no nearer to the edge of an octave than 5 pixels, hence none where a side has fewer
 * than 11. */
START_TEST(small_pictures) {
    gpv_sift_params params = defaults();
    int width, height, found[2] = {0, 0};
    params.contrast_threshold = 0;
    params.sigma = 0.8f;
    for (params.upsample = 0; params.upsample < 2; params.upsample++)
        for (height = 1; height <= 15; height++)
            for (width = 1; width <= 15; width++) {
                const int side = (width < height ? width : height) << params.upsample;
                picture src = noise(width, height, (unsigned)(16 * height + width));
                find_with(params, &src.view, NULL, &full);
                ck_assert_msg(side >= 11 || full.result.count == 0, "%dx%d: %d", width, height,
                              full.result.count);
                found[params.upsample] += full.result.count;
                picture_free(&src);
            }
    ck_assert_int_gt(found[0], 0);
    ck_assert_int_gt(found[1], found[0]);
}
END_TEST

START_TEST(lines_have_none) {
    static const int lengths[] = {16, 100, 1000, 32767};
    gpv_sift_params params = defaults();
    size_t i;
    params.contrast_threshold = 0;
    for (params.upsample = 0; params.upsample < 2; params.upsample++)
        for (i = 0; i < COUNT(lengths); i++) {
            picture row = noise(lengths[i], 1, 3), column = noise(1, lengths[i], 3);
            find_with(params, &row.view, NULL, &full);
            ck_assert_int_eq(full.result.count, 0);
            find_with(params, &column.view, NULL, &full);
            ck_assert_int_eq(full.result.count, 0);
            picture_free(&row);
            picture_free(&column);
        }
}
END_TEST

/* ------------------------------------------------- results worked out by hand */

/* Part of a picture, exp(-d^2 / (2 sigma^2)) high. */
typedef struct blob {
    double x, y;
    double sigma_x, sigma_y;
    double height;
} blob;

static double height_at(const blob *b, double x, double y) {
    const double u = (x - b->x) / b->sigma_x, v = (y - b->y) / b->sigma_y;
    return b->height * exp(-0.5 * (u * u + v * v));
}

static picture picture_of_blobs(int width, int height, const blob *blobs, size_t count) {
    picture p = picture_new(GPV_FORMAT_GRAY8, width, height, TIGHT);
    int x, y;
    size_t i;
    for (y = 0; y < height; y++)
        for (x = 0; x < width; x++) {
            double level = 128;
            for (i = 0; i < count; i++)
                level += height_at(&blobs[i], x, y);
            ((unsigned char *)p.view.data[0])[y * width + x] = (unsigned char)lround(level);
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
                const blob b = {places[p][0], places[p][1], sigma, sigma, sign * 100};
                picture src = picture_of_blobs(97, 81, &b, 1);
                const gpv_sift_keypoint *found = full.keypoints;
                find_with(params, &src.view, NULL, &full);
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

/* Pixels of the doubled picture lie a quarter of a pixel beside those of the picture, on either
 * side: what is midway between two of them, or in the middle of four, may be found from each. */
START_TEST(a_blob_between_pixels_is_found) {
    static const double places[][2] = {{48, 40}, {48.5, 40}, {48, 39.5}, {47.5, 39.5}};
    gpv_sift_params params = defaults();
    size_t p;
    int i;
    params.upright = 1;
    for (p = 0; p < COUNT(places); p++) {
        const blob b = {places[p][0], places[p][1], 1.5106, 1.5106, 100};
        picture src = picture_of_blobs(97, 81, &b, 1);
        find_with(params, &src.view, NULL, &full);
        ck_assert_int_ge(full.result.count, 1);
        ck_assert_int_le(full.result.count, 4);
        for (i = 0; i < full.result.count; i++) {
            ck_assert_float_eq_tol(full.keypoints[i].x, (float)b.x, 0.01f);
            ck_assert_float_eq_tol(full.keypoints[i].y, (float)b.y, 0.01f);
            ck_assert_int_eq(full.keypoints[i].octave & 255, 255);
        }
        picture_free(&src);
    }
}
END_TEST

/* As one_blob_is_one_keypoint, but for the number of the octave that has the picture's size. */
START_TEST(without_a_doubled_picture) {
    const blob small = {48.3, 39.6, 1.5106, 1.5106, 100}, large = {48.3, 39.6, 2.8944, 2.8944, 100};
    picture src = picture_of_blobs(97, 81, &small, 1);
    gpv_sift_params params = defaults();
    params.upright = 1;
    params.upsample = 0;
    find_with(params, &src.view, NULL, &full);
    ck_assert_int_eq(full.result.count, 0);
    picture_free(&src);
    src = picture_of_blobs(97, 81, &large, 1);
    find_with(params, &src.view, NULL, &full);
    ck_assert_int_eq(full.result.count, 1);
    ck_assert_float_eq_tol(full.keypoints[0].x, 48.3f, 0.1f);
    ck_assert_float_eq_tol(full.keypoints[0].y, 39.6f, 0.1f);
    ck_assert_float_eq_tol(full.keypoints[0].sigma, 2.54f, 0.25f);
    ck_assert_int_eq(full.keypoints[0].octave & 0xFFFF, 2 << 8);
    picture_free(&src);
}
END_TEST

/* A round blob has no direction of its own; a slope across the picture gives it one, towards the
 * light. */
START_TEST(angles_point_towards_the_light) {
    gpv_sift_params params = defaults();
    int degrees;
    params.contrast_threshold = 0.02f;
    for (degrees = 0; degrees < 360; degrees += 15) {
        const double slope = 2, radians = degrees * 3.14159265358979 / 180;
        const blob b = {35, 35, 2.8944, 2.8944, 24};
        picture src = picture_of_blobs(71, 71, &b, 1);
        unsigned char *pixels = src.view.data[0];
        int i, x, y;
        for (y = 0; y < 71; y++)
            for (x = 0; x < 71; x++)
                pixels[71 * y + x] = (unsigned char)lround(
                    110 + height_at(&b, x, y) +
                    slope * ((x - 35) * cos(radians) + (y - 35) * sin(radians)));
        find_with(params, &src.view, NULL, &full);
        ck_assert_int_ge(full.result.count, 1);
        for (i = 0; i < full.result.count; i++) {
            const gpv_sift_keypoint *found = &full.keypoints[i];
            const double off = remainder(found->angle - degrees, 360);
            ck_assert_msg(fabs(off) < 6, "angle %g, not %d", found->angle, degrees);
            ck_assert(found->angle >= 0 && found->angle < 360);
            ck_assert_float_eq_tol(found->x, 35, 0.1f);
            ck_assert_float_eq_tol(found->y, 35, 0.1f);
        }
        picture_free(&src);
    }
}
END_TEST

/* Turned clockwise, as one sees it. */
static picture turned(const picture *p) {
    const int width = p->view.width, height = p->view.height;
    picture q = picture_new(GPV_FORMAT_GRAY8, height, width, TIGHT);
    int x, y;
    for (y = 0; y < height; y++)
        for (x = 0; x < width; x++)
            ((unsigned char *)q.view.data[0])[x * height + height - 1 - y] =
                ((const unsigned char *)p->view.data[0])[y * width + x];
    return q;
}

static double number_distance(const unsigned char *a, const unsigned char *b) {
    double sum = 0;
    int i;
    for (i = 0; i < GPV_SIFT_DESCRIPTOR_LENGTH; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum);
}

/* Those of the turned picture. */
static void expect_turned(const features *of, const features *to, int side) {
    int i, k;
    ck_assert_int_eq(to->result.count, of->result.count);
    for (i = 0; i < of->result.count; i++) {
        const gpv_sift_keypoint *a = &of->keypoints[i];
        for (k = 0; k < to->result.count; k++) {
            const gpv_sift_keypoint *b = &to->keypoints[k];
            if (fabsf(b->x - ((float)(side - 1) - a->y)) < 0.002f && fabsf(b->y - a->x) < 0.002f &&
                fabsf(b->sigma - a->sigma) < 0.001f * a->sigma &&
                fabsf(b->response - a->response) < 0.001f * a->response &&
                (b->octave & 0xFFFF) == (a->octave & 0xFFFF) &&
                fabs(remainder(b->angle - a->angle - 90, 360)) < 0.1)
                break;
        }
        ck_assert_msg(k < to->result.count, "none turned from %g %g, sigma %g, angle %g", a->x,
                      a->y, a->sigma, a->angle);
        ck_assert_double_lt(number_distance(bytes_of(of, i), bytes_of(to, k)), 10);
    }
}

/* Where the pixels of every octave fall on pixels. Those of the next octave are every other one
 * from the first on, so that a side of 2^n + 1 has to be; but a doubled picture has an even number
 * of them, and of its next octave they fall between: its first octave alone turns. */
START_TEST(features_turn_with_the_picture) {
    static const blob blobs[] = {
        {30, 33, 3, 4.5, 70},       {81.3, 41.2, 5, 3, -80},      {52, 90, 6, 8, 90},
        {98, 99, 2.5, 2, -100},     {24.4, 101.6, 2.8, 3.4, 60},  {60.2, 55.1, 1.6, 2.2, 100},
        {40.3, 67.1, 1.4, 1.7, 90}, {70.1, 20.2, 1.2, 1.6, -100}, {108.3, 70.2, 1.7, 1.3, 80},
    };
    enum { SIDE = 129 };
    gpv_sift_params params = defaults();
    int quarter;
    for (params.upsample = 0; params.upsample < 2; params.upsample++) {
        picture src = picture_of_blobs(SIDE, SIDE, blobs, COUNT(blobs)), other;
        params.octaves = params.upsample ? 1 : 0;
        find_with(params, &src.view, NULL, &full);
        ck_assert_int_ge(full.result.count, 8);
        for (quarter = 0; quarter < 4; quarter++) {
            other = turned(&src);
            find_with(params, &other.view, NULL, &part);
            expect_turned(&full, &part, SIDE);
            picture_free(&src);
            src = other;
            full = part;
        }
        picture_free(&src);
    }
}
END_TEST

/* ------------------------------------------------------------------- the order */

static int pixel_octave(const gpv_sift_keypoint *k) {
    return (k->octave + 1) & 255;
}

/* Of the pixel of the octave, in whose middle a keypoint need not lie. */
static long pixel(const gpv_sift_keypoint *k, float coordinate, float corner) {
    return lroundf((coordinate + corner) / ldexpf(0.5f, pixel_octave(k)));
}

/* Whether a stands before b. corner: how far the first pixel lies before that of the picture. */
static bool stands_before(const gpv_sift_keypoint *a, const gpv_sift_keypoint *b, float corner) {
    if (a->response != b->response)
        return a->response > b->response;
    if (pixel_octave(a) != pixel_octave(b))
        return pixel_octave(a) < pixel_octave(b);
    if ((a->octave >> 8 & 255) != (b->octave >> 8 & 255))
        return (a->octave >> 8 & 255) < (b->octave >> 8 & 255);
    if (pixel(a, a->y, corner) != pixel(b, b->y, corner))
        return pixel(a, a->y, corner) < pixel(b, b->y, corner);
    if (pixel(a, a->x, corner) != pixel(b, b->x, corner))
        return pixel(a, a->x, corner) < pixel(b, b->x, corner);
    return a->angle < b->angle;
}

/* Gives how many have the response of the one before. */
static int expect_order(const features *found, float corner) {
    int i, equal = 0;
    for (i = 1; i < found->result.count; i++) {
        const gpv_sift_keypoint *a = &found->keypoints[i - 1], *b = a + 1;
        ck_assert_msg(stands_before(a, b, corner), "%d: %a %x %g %g %g before %a %x %g %g %g", i,
                      a->response, (unsigned)a->octave, a->y, a->x, a->angle, b->response,
                      (unsigned)b->octave, b->y, b->x, b->angle);
        equal += a->response == b->response;
    }
    return equal;
}

/* A lattice of bright and dark spots, four pixels apart: as many equal keypoints as can be. */
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

START_TEST(the_order_is_total) {
    picture lattice = picture_new(GPV_FORMAT_GRAY8, 64, 64, TIGHT), src = noise(97, 61, 9);
    draw_lattice(&lattice);
    find_with(of_a_lattice(), &lattice.view, NULL, &full);
    ck_assert_int_gt(full.result.count, 300); /* two for 16 pixels */
    ck_assert_int_gt(expect_order(&full, 0), 200);
    find_with(defaults(), &src.view, NULL, &full);
    ck_assert_int_gt(full.result.count, 50);
    ck_assert_int_gt(expect_order(&full, 0.25f), 0); /* several orientations */
    picture_free(&lattice);
    picture_free(&src);
}
END_TEST

START_TEST(orientations_of_one_extremum) {
    const blob b = {40, 40, 2.8944, 2.8944, 100};
    picture src = picture_of_blobs(81, 81, &b, 1);
    int i;
    find_with(defaults(), &src.view, NULL, &full);
    ck_assert_int_gt(full.result.count, 1);
    for (i = 1; i < full.result.count; i++) {
        gpv_sift_keypoint first = full.keypoints[0];
        ck_assert_float_gt(full.keypoints[i].angle, full.keypoints[i - 1].angle);
        first.angle = full.keypoints[i].angle;
        ck_assert_mem_eq(&first, &full.keypoints[i], sizeof first);
    }
    picture_free(&src);
}
END_TEST

/* ---------------------------------------------------------- which ones are kept */

/* The first so many of full, and no more of anything. */
static void expect_first(int32_t count, size_t bytes) {
    ck_assert_int_eq(part.result.count, count);
    ck_assert_int_eq(part.result.dropped, full.result.count - count);
    ck_assert_mem_eq(part.keypoints, full.keypoints, (size_t)count * sizeof *full.keypoints);
    ck_assert_mem_eq(part.descriptors, full.descriptors, (size_t)count * bytes);
}

START_TEST(max_features_keeps_the_strongest) {
    picture src = noise(67, 53, 21);
    gpv_sift_params params = defaults();
    int32_t k;
    find_with(params, &src.view, NULL, &full);
    ck_assert_int_gt(full.result.count, 40);
    ck_assert_int_eq(full.result.dropped, 0);
    for (k = 1; k <= full.result.count + 1; k += k < 20 ? 1 : k == full.result.count - 1 ? 1 : 7) {
        params.max_features = k;
        find_with(params, &src.view, NULL, &part);
        expect_first(k < full.result.count ? k : full.result.count, GPV_SIFT_DESCRIPTOR_LENGTH);
        /* they are counted without buffers, too */
        ck_assert_int_eq(run_views(&src.view, NULL), GPV_OK);
        ck_assert_int_eq(waited_for().count, part.result.count);
        ck_assert_int_eq(waited_for().dropped, part.result.dropped);
    }
    params.max_features = INT32_MAX;
    find_with(params, &src.view, NULL, &part);
    ck_assert_mem_eq(&part, &full, sizeof full);
    picture_free(&src);
}
END_TEST

START_TEST(no_more_than_there_is_room_for) {
    picture src = noise(67, 53, 22);
    const int32_t maximum = 30;
    int32_t room, limit;
    find_with(defaults(), &src.view, NULL, &full);
    ck_assert_int_gt(full.result.count, maximum);
    for (limit = 0; limit <= 2 * maximum; limit += maximum / 2)
        for (room = 1; room <= maximum; room += 4) {
            const int32_t kept = limit && limit < room ? limit : room;
            const gpv_buffer keypoints =
                buffer_of(part.keypoints, (size_t)room * sizeof *part.keypoints + 23);
            const gpv_buffer descriptors =
                buffer_of(part.descriptors, (size_t)kept * GPV_SIFT_DESCRIPTOR_LENGTH);
            const gpv_buffer result = buffer_of(&part.result, sizeof part.result);
            gpv_sift_params params = defaults();
            gpv_sift_result found;
            params.max_features = limit;
            set(params);
            memset(&part, CANARY, sizeof part);
            ck_assert_int_eq(run_buffers(&src.view, &keypoints, &descriptors, &result), GPV_OK);
            found = waited_for();
            ck_assert_mem_eq(&found, &part.result, sizeof found);
            expect_first(kept, GPV_SIFT_DESCRIPTOR_LENGTH);
            ck_assert(untouched(part.keypoints + kept, part.keypoints + ROOM));
            ck_assert(untouched(part.descriptors + kept * GPV_SIFT_DESCRIPTOR_LENGTH,
                                part.descriptors + sizeof part.descriptors));
        }
    picture_free(&src);
}
END_TEST

static size_t nearest(float coordinate, int size) {
    const long at = lroundf(coordinate);
    return (size_t)(at < 0 ? 0 : at >= size ? size - 1 : at);
}

static void expect_masked(const picture *src, const picture *mask) {
    const unsigned char *counts = mask->view.data[0];
    int i, left = 0;
    find_with(defaults(), &src->view, &mask->view, &part);
    for (i = 0; i < full.result.count; i++) {
        const gpv_sift_keypoint *k = &full.keypoints[i];
        if (!counts[nearest(k->y, src->view.height) * (size_t)src->view.width +
                    nearest(k->x, src->view.width)])
            continue;
        ck_assert_int_lt(left, part.result.count);
        ck_assert_mem_eq(k, &part.keypoints[left], sizeof *k);
        ck_assert_mem_eq(bytes_of(&full, i), bytes_of(&part, left), GPV_SIFT_DESCRIPTOR_LENGTH);
        left++;
    }
    ck_assert_int_eq(part.result.count, left);
    ck_assert_int_eq(part.result.dropped, 0); /* nor does the mask drop any */
}

START_TEST(masks) {
    picture src = noise(71, 59, 31), mask = picture_new(GPV_FORMAT_GRAY8, 71, 59, TIGHT);
    unsigned char *counts = mask.view.data[0];
    int i, half;
    find_with(defaults(), &src.view, NULL, &full);
    ck_assert_int_gt(full.result.count, 40);
    for (half = 0; half < 2; half++) {
        for (i = 0; i < 71 * 59; i++)
            counts[i] = (i % 71 < 35) == half ? 0 : (unsigned char)(1 + i % 255);
        expect_masked(&src, &mask);
        ck_assert_int_gt(part.result.count, 10);
        ck_assert_int_lt(part.result.count, full.result.count - 10);
    }
    picture_fill(&mask, 5);
    for (i = 0; i < 71 * 59; i++)
        counts[i] &= 1;
    expect_masked(&src, &mask);
    ck_assert_int_lt(part.result.count, full.result.count);
    memset(counts, 0, mask.size[0]);
    expect_masked(&src, &mask);
    ck_assert_int_eq(part.result.count, 0);
    memset(counts, 1, mask.size[0]);
    expect_masked(&src, &mask);
    ck_assert_mem_eq(&part, &full, sizeof full);
    picture_free(&src);
    picture_free(&mask);
}
END_TEST

START_TEST(octaves_are_counted_from_the_first) {
    picture src = noise(97, 90, 41);
    gpv_sift_params params = defaults();
    int octaves;
    params.contrast_threshold = 0.02f;
    find_with(params, &src.view, NULL, &full);
    ck_assert_int_gt(full.result.count, 40);
    for (octaves = 1; octaves <= 16; octaves++) {
        int i, left = 0;
        params.octaves = octaves;
        find_with(params, &src.view, NULL, &part);
        for (i = 0; i < full.result.count; i++)
            if (pixel_octave(&full.keypoints[i]) < octaves) {
                ck_assert_mem_eq(&full.keypoints[i], &part.keypoints[left], sizeof *full.keypoints);
                left++;
            }
        ck_assert_int_eq(part.result.count, left);
        ck_assert_int_eq(part.result.dropped, 0);
        ck_assert(octaves > 1 || (left > 0 && left < full.result.count));
        ck_assert(octaves < 16 || left == full.result.count);
    }
    picture_free(&src);
}
END_TEST

START_TEST(thresholds_drop_some) {
    picture src = noise(97, 61, 43);
    gpv_sift_params params = defaults();
    int32_t before = INT32_MAX;
    int i;
    for (params.contrast_threshold = 0.1f; params.contrast_threshold < 0.4f;
         params.contrast_threshold += 0.05f) {
        find_with(params, &src.view, NULL, &full);
        ck_assert_int_lt(full.result.count, before);
        before = full.result.count;
        for (i = 0; i < full.result.count; i++)
            ck_assert_float_ge(full.keypoints[i].response * 3.00001f, params.contrast_threshold);
    }
    params.contrast_threshold = 1;
    find_with(params, &src.view, NULL, &full);
    ck_assert_int_eq(full.result.count, 0);
    params = defaults();
    params.edge_threshold = 1; /* none has a ratio below it */
    find_with(params, &src.view, NULL, &full);
    ck_assert_int_eq(full.result.count, 0);
    for (params.edge_threshold = 2; params.edge_threshold < 1e5f; params.edge_threshold *= 4) {
        before = full.result.count;
        find_with(params, &src.view, NULL, &full);
        ck_assert_int_ge(full.result.count, before);
    }
    ck_assert_int_gt(full.result.count, 0);
    picture_free(&src);
}
END_TEST

/* ----------------------------------------------------------------- descriptors */

START_TEST(keypoints_alone_are_the_same) {
    picture src = noise(67, 53, 51);
    const gpv_buffer keypoints = buffer_of(part.keypoints, sizeof part.keypoints);
    find_with(defaults(), &src.view, NULL, &full);
    memset(&part, CANARY, sizeof part);
    ck_assert_int_eq(run_buffers(&src.view, &keypoints, NULL, NULL), GPV_OK);
    part.result = waited_for();
    ck_assert_mem_eq(&part.result, &full.result, sizeof full.result);
    ck_assert_mem_eq(part.keypoints, full.keypoints, sizeof full.keypoints);
    picture_free(&src);
}
END_TEST

/* Of a given list, into part. */
static void describe(const picture *src, const gpv_sift_keypoint *list, int32_t count,
                     size_t bytes) {
    const gpv_buffer keypoints = buffer_of((void *)list, (size_t)count * sizeof *list);
    const gpv_buffer descriptors = buffer_of(part.descriptors, (size_t)count * bytes);
    memset(part.descriptors, CANARY, sizeof part.descriptors);
    ck_assert_msg(gpv_sift_describe(op, NULL, &src->view, &keypoints, 0, count, &descriptors) ==
                      GPV_OK,
                  "%s", gpv_context_error(context));
    ck_assert_int_eq(waited_for().count, count);
    ck_assert_int_eq(waited_for().dropped, 0);
    ck_assert(untouched(part.descriptors + (size_t)count * bytes,
                        part.descriptors + sizeof part.descriptors));
}

START_TEST(what_was_found_is_described_alike) {
    int v, described = 0;
    for (v = 0; v < VARIANTS; v++) {
        picture src = picture_new(formats[v % (int)COUNT(formats)], 97, 83, TIGHT);
        gpv_sift_params params = variant(v);
        const size_t bytes = descriptor_bytes(params);
        int i;
        fill(&src, (unsigned)v);
        find_with(params, &src.view, NULL, &full);
        params.octaves = 1; /* neither of them counts */
        params.max_features = 1;
        set(params);
        if (full.result.count)
            describe(&src, full.keypoints, full.result.count, bytes);
        for (i = 0; i < full.result.count; i++) {
            const gpv_sift_keypoint *k = &full.keypoints[i];
            ck_assert_msg(memcmp(full.descriptors + (size_t)i * bytes,
                                 part.descriptors + (size_t)i * bytes, bytes) == 0,
                          "variant %d, %d of %d: %g %g, sigma %a, angle %g, octave %x", v, i,
                          full.result.count, k->x, k->y, k->sigma, k->angle, (unsigned)k->octave);
        }
        described += full.result.count;
        picture_free(&src);
    }
    ck_assert_int_gt(described, 1000);
}
END_TEST

static bool is_zero(const unsigned char *bytes, size_t count) {
    while (count--)
        if (*bytes++)
            return false;
    return true;
}

START_TEST(what_cannot_be_described_is_zero) {
    enum { W = 64, H = 48 };
    static const struct {
        float x, y, sigma, angle;
        bool described;
    } cases[] = {
        {30, 20, 2, 0, true},
        {NAN, 20, 2, 0, false},
        {30, NAN, 2, 0, false},
        {30, 20, NAN, 0, false},
        {30, 20, 2, NAN, false},
        {INFINITY, 20, 2, 0, false},
        {30, -INFINITY, 2, 0, false},
        {30, 20, INFINITY, 0, false},
        {30, 20, -INFINITY, 0, false},
        {30, 20, 2, INFINITY, false},
        {30, 20, 2, -INFINITY, false},
        {30, 20, 0, 0, false},
        {30, 20, -0.0f, 0, false},
        {30, 20, -2, 0, false},
        {30, 20, -FLT_MAX, 0, false},
        {30, 20, FLT_MAX, 0, false},
        {30, 20, 1e6f, 0, false},
        {30, 20, 50, 0, false}, /* four octaves: 0.8 * 2^3 * 2^(1 + 1/6) = 14.4 */
        {30, 20, 14.5f, 0, false},
        {30, 20, 14.2f, 0, true},
        {30, 20, 0.5f, 0, true},
        {30, 20, 1e-20f, 0, true},
        {30, 20, FLT_MIN, 0, true},
        {30, 20, 1e-45f, 77, true},
        {-0.51f, 20, 2, 0, false},
        {-0.49f, 20, 2, 0, true},
        {W - 0.49f, 20, 2, 0, false},
        {W - 0.51f, 20, 2, 0, true},
        {30, -0.51f, 2, 0, false},
        {30, -0.49f, 2, 0, true},
        {30, H - 0.49f, 2, 0, false},
        {30, H - 0.51f, 2, 0, true},
        {-FLT_MAX, 20, 2, 0, false},
        {30, FLT_MAX, 2, 0, false},
        {30, 20, 2, 1e6f, false},
        {30, 20, 2, -1e30f, false},
        {30, 20, 2, 9e5f, true},
        {30, 20, 2, -90, true},
        {30, 20, 2, 359.99997f, true},
    };
    picture src = noise(W, H, 61);
    gpv_sift_keypoint list[COUNT(cases)];
    gpv_sift_params params = defaults();
    size_t i;
    memset(list, 0xFF, sizeof list); /* the other fields are not read */
    for (i = 0; i < COUNT(cases); i++) {
        list[i].x = cases[i].x;
        list[i].y = cases[i].y;
        list[i].sigma = cases[i].sigma;
        list[i].angle = cases[i].angle;
    }
    for (params.descriptor_type = GPV_SIFT_DESCRIPTOR_TYPE_U8;
         params.descriptor_type <= GPV_SIFT_DESCRIPTOR_TYPE_F32; params.descriptor_type++)
        for (params.root_sift = 0; params.root_sift < 2; params.root_sift++) {
            const size_t bytes = descriptor_bytes(params);
            set(params);
            describe(&src, list, (int32_t)COUNT(list), bytes);
            for (i = 0; i < COUNT(cases); i++)
                ck_assert_msg(is_zero(part.descriptors + i * bytes, bytes) == !cases[i].described,
                              "case %zu: %g %g, sigma %g, angle %g", i, cases[i].x, cases[i].y,
                              cases[i].sigma, cases[i].angle);
        }
    picture_free(&src);
}
END_TEST

START_TEST(angles_repeat) {
    static const float angles[] = {0, 360, -360, 720, 30, 390, -330, 270, -90, 990};
    static const int first[] = {0, 0, 0, 0, 4, 4, 4, 7, 7, 7};
    picture src = noise(64, 48, 62);
    gpv_sift_keypoint list[COUNT(angles)];
    size_t i;
    for (i = 0; i < COUNT(angles); i++)
        list[i] = (gpv_sift_keypoint){31.25f, 22.5f, 2, angles[i], 0, 0};
    describe(&src, list, (int32_t)COUNT(list), GPV_SIFT_DESCRIPTOR_LENGTH);
    for (i = 0; i < COUNT(angles); i++)
        ck_assert_mem_eq(bytes_of(&part, (int)i), bytes_of(&part, first[i]),
                         GPV_SIFT_DESCRIPTOR_LENGTH);
    ck_assert(memcmp(bytes_of(&part, 0), bytes_of(&part, 4), GPV_SIFT_DESCRIPTOR_LENGTH) != 0);
    ck_assert(memcmp(bytes_of(&part, 0), bytes_of(&part, 7), GPV_SIFT_DESCRIPTOR_LENGTH) != 0);
    picture_free(&src);
}
END_TEST

/* Where there is no gradient, there is no direction either. */
START_TEST(a_flat_place_has_no_descriptor) {
    picture src = picture_new(GPV_FORMAT_GRAY8, 64, 48, TIGHT);
    const gpv_sift_keypoint one = {30, 20, 2, 0, 0, 0};
    gpv_sift_params params = defaults();
    memset(src.view.data[0], 77, src.size[0]);
    for (params.descriptor_type = GPV_SIFT_DESCRIPTOR_TYPE_U8;
         params.descriptor_type <= GPV_SIFT_DESCRIPTOR_TYPE_F32; params.descriptor_type++)
        for (params.root_sift = 0; params.root_sift < 2; params.root_sift++) {
            set(params);
            describe(&src, &one, 1, descriptor_bytes(params));
            ck_assert(is_zero(part.descriptors, descriptor_bytes(params)));
        }
    picture_free(&src);
}
END_TEST

START_TEST(upright_ones_have_no_angle) {
    picture src = noise(67, 53, 71);
    gpv_sift_params params = defaults();
    int i, k = 0;
    find_with(params, &src.view, NULL, &full);
    params.upright = 1;
    find_with(params, &src.view, NULL, &part);
    ck_assert_int_lt(part.result.count, full.result.count);
    ck_assert_int_gt(part.result.count, 20);
    for (i = 0; i < full.result.count; i++) {
        gpv_sift_keypoint wanted = full.keypoints[i];
        const gpv_sift_keypoint *before = &full.keypoints[i ? i - 1 : 0];
        ck_assert(wanted.angle >= 0 && wanted.angle < 360);
        if (i && wanted.x == before->x && wanted.y == before->y && wanted.sigma == before->sigma)
            continue; /* another orientation */
        wanted.angle = 0;
        ck_assert_int_lt(k, part.result.count);
        ck_assert_mem_eq(&part.keypoints[k], &wanted, sizeof wanted);
        k++;
    }
    ck_assert_int_eq(part.result.count, k);
    picture_free(&src);
}
END_TEST

static double length_of(const float *numbers) {
    double sum = 0;
    int i;
    for (i = 0; i < GPV_SIFT_DESCRIPTOR_LENGTH; i++) {
        ck_assert(numbers[i] >= 0 && numbers[i] <= 1);
        sum += (double)numbers[i] * numbers[i];
    }
    return sqrt(sum);
}

/* Exact, but for what lies in the middle between two. */
static void expect_bytes(const unsigned char *bytes, const float *numbers) {
    int i;
    for (i = 0; i < GPV_SIFT_DESCRIPTOR_LENGTH; i++) {
        const double scaled = 512.0 * numbers[i];
        if (scaled >= 255)
            ck_assert_uint_eq(bytes[i], 255);
        else
            ck_assert_double_le(fabs(scaled - bytes[i]), 0.5);
    }
}

/* An upright edge in the corner of a window belongs to few cells, hence to large numbers. */
START_TEST(large_numbers_are_255) {
    picture src = picture_new(GPV_FORMAT_GRAY8, 64, 6, TIGHT);
    const gpv_sift_keypoint one = {32, -0.4f, 1.7f, 0, 0, 0};
    float numbers[GPV_SIFT_DESCRIPTOR_LENGTH];
    gpv_sift_params params = defaults();
    int i, saturated = 0;
    for (i = 0; i < 64 * 6; i++)
        ((unsigned char *)src.view.data[0])[i] = i % 64 < 38 ? 0 : 255;
    params.descriptor_type = GPV_SIFT_DESCRIPTOR_TYPE_F32;
    set(params);
    describe(&src, &one, 1, sizeof numbers);
    memcpy(numbers, part.descriptors, sizeof numbers);
    ck_assert_double_eq_tol(length_of(numbers), 1, 1e-5);
    params.descriptor_type = GPV_SIFT_DESCRIPTOR_TYPE_U8;
    set(params);
    describe(&src, &one, 1, GPV_SIFT_DESCRIPTOR_LENGTH);
    expect_bytes(part.descriptors, numbers);
    for (i = 0; i < GPV_SIFT_DESCRIPTOR_LENGTH; i++)
        saturated += part.descriptors[i] == 255;
    ck_assert_int_gt(saturated, 0);
    picture_free(&src);
}
END_TEST

/* full: as floats, part: as bytes. */
START_TEST(types_of_descriptors) {
    static float plain[ROOM][GPV_SIFT_DESCRIPTOR_LENGTH];
    picture src = noise(67, 53, 81);
    gpv_sift_params params = defaults();
    int i, j;
    for (params.root_sift = 0; params.root_sift < 2; params.root_sift++) {
        params.descriptor_type = GPV_SIFT_DESCRIPTOR_TYPE_F32;
        find_with(params, &src.view, NULL, &full);
        params.descriptor_type = GPV_SIFT_DESCRIPTOR_TYPE_U8;
        find_with(params, &src.view, NULL, &part);
        ck_assert_int_gt(full.result.count, 20);
        ck_assert_mem_eq(&full.result, &part.result, sizeof full.result);
        ck_assert_mem_eq(full.keypoints, part.keypoints, sizeof full.keypoints);
        for (i = 0; i < full.result.count; i++) {
            const float *numbers = floats_of(&full, i);
            double sum = 0;
            ck_assert_double_eq_tol(length_of(numbers), 1, 1e-5);
            expect_bytes(bytes_of(&part, i), numbers);
            for (j = 0; j < GPV_SIFT_DESCRIPTOR_LENGTH; j++)
                sum += plain[i][j];
            for (j = 0; j < GPV_SIFT_DESCRIPTOR_LENGTH; j++) {
                if (params.root_sift)
                    ck_assert_double_eq_tol(numbers[j] * numbers[j] * sum, plain[i][j], 1e-4);
                else
                    plain[i][j] = numbers[j];
            }
        }
    }
    picture_free(&src);
}
END_TEST

/* -------------------------------------------------------------------- pictures */

static void luma_of(const picture *src, picture *gray) {
    const gpv_format format = src->view.format;
    const bool blue_first =
        format == GPV_FORMAT_BGR8 || format == GPV_FORMAT_BGRA8 || format == GPV_FORMAT_BGRX8;
    const int step = format == GPV_FORMAT_RGB8 || format == GPV_FORMAT_BGR8 ? 3 : 4;
    const unsigned char *p = src->view.data[0];
    unsigned char *to = gray->view.data[0];
    int i;
    for (i = 0; i < gray->view.width * gray->view.height; i++, p += step)
        to[i] = (unsigned char)((77 * p[blue_first ? 2 : 0] + 150 * p[1] +
                                 29 * p[blue_first ? 0 : 2] + 128) >>
                                8);
}

static void expect_luma(gpv_format format) {
    picture src = picture_new(format, 67, 53, TIGHT);
    picture gray = picture_new(GPV_FORMAT_GRAY8, 67, 53, TIGHT);
    const bool planar = gpv_format_planes(format) > 1 || format == GPV_FORMAT_GRAY8;
    size_t i;
    fill(&src, 91);
    if (planar)
        memcpy(gray.view.data[0], src.view.data[0], gray.size[0]);
    else
        luma_of(&src, &gray);
    find_with(defaults(), &gray.view, NULL, &full);
    ck_assert_int_gt(full.result.count, 20);
    find_with(defaults(), &src.view, NULL, &part);
    ck_assert_mem_eq(&part, &full, sizeof full);
    if (!planar) { /* of equal R, G and B, it is they */
        unsigned char *levels = gray.view.data[0];
        const size_t step = src.size[0] / gray.size[0];
        for (i = 0; i < gray.size[0]; i++) {
            unsigned char *pixel = (unsigned char *)src.view.data[0] + i * step;
            pixel[1] = pixel[2] = levels[i] = pixel[0];
        }
        find_with(defaults(), &gray.view, NULL, &full);
        find_with(defaults(), &src.view, NULL, &part);
        ck_assert_mem_eq(&part, &full, sizeof full);
    }
    picture_free(&src);
    picture_free(&gray);
}

START_TEST(luma_is_what_counts) {
    size_t i;
    for (i = 0; i < COUNT(picture_formats); i++)
        if (picture_formats[i] != GPV_FORMAT_GRAY16)
            expect_luma(picture_formats[i]);
}
END_TEST

/* More extrema than an operator keeps: of the lattice one for 8 pixels. */
START_TEST(too_many_extrema) {
    enum { SIDE = 1024 };
    picture src = picture_new(GPV_FORMAT_GRAY8, SIDE, SIDE, TIGHT), small = noise(64, 64, 3);
    const gpv_buffer keypoints = buffer_of(full.keypoints, sizeof full.keypoints);
    const gpv_buffer descriptors = buffer_of(full.descriptors, sizeof full.descriptors);
    const gpv_buffer in_buffer = buffer_of(&full.result, sizeof full.result);
    gpv_sift_result result;
    const gpv_sift_keypoint one = {30, 20, 2, 0, 0, 0};
    char number[64];
    gpv_sift_result_init(&result, sizeof result);
    draw_lattice(&src);
    set(of_a_lattice());
    memset(&full, CANARY, sizeof full);
    ck_assert_int_eq(run_buffers(&src.view, &keypoints, &descriptors, &in_buffer), GPV_OK);
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
    describe(&small, &one, 1, GPV_SIFT_DESCRIPTOR_LENGTH);
    ck_assert(!is_zero(part.descriptors, GPV_SIFT_DESCRIPTOR_LENGTH));
    ck_assert_int_eq(run_views(&src.view, NULL), GPV_OK);
    ck_assert_int_eq(gpv_sift_wait(op, NULL), GPV_ERR_TOO_SMALL);
    ck_assert_int_eq(run_into(op, &small.view, NULL, &full), GPV_OK);
    ck_assert_int_gt(waited_for().count, 0);
    picture_free(&src);
    picture_free(&small);
}
END_TEST

int main(void) {
    const TTest *const tests[] = {prepared_keypoints,
                                  strides_of_keypoints,
                                  count_of_given_keypoints,
                                  results_of_runs_and_descriptions,
                                  flat_pictures_have_none,
                                  small_pictures,
                                  lines_have_none,
                                  one_blob_is_one_keypoint,
                                  a_blob_between_pixels_is_found,
                                  without_a_doubled_picture,
                                  angles_point_towards_the_light,
                                  features_turn_with_the_picture,
                                  the_order_is_total,
                                  orientations_of_one_extremum,
                                  max_features_keeps_the_strongest,
                                  no_more_than_there_is_room_for,
                                  masks,
                                  octaves_are_counted_from_the_first,
                                  thresholds_drop_some,
                                  keypoints_alone_are_the_same,
                                  what_was_found_is_described_alike,
                                  what_cannot_be_described_is_zero,
                                  angles_repeat,
                                  a_flat_place_has_no_descriptor,
                                  upright_ones_have_no_angle,
                                  large_numbers_are_255,
                                  types_of_descriptors,
                                  luma_is_what_counts,
                                  too_many_extrema};
    return run_tests("sift", setup, teardown, tests, COUNT(tests));
}
