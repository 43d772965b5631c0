/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"

#include <math.h>

/* Those that k-means takes. */
static const gpv_format formats[] = {
    GPV_FORMAT_GRAY8, GPV_FORMAT_RGB8,  GPV_FORMAT_BGR8, GPV_FORMAT_RGBA8, GPV_FORMAT_BGRA8,
    GPV_FORMAT_RGBX8, GPV_FORMAT_BGRX8, GPV_FORMAT_NV12, GPV_FORMAT_I420,
};
static const gpv_format label_formats[] = {GPV_FORMAT_GRAY8, GPV_FORMAT_NV12, GPV_FORMAT_I420};

static books keep;
static gpv_context *context;
static gpv_kmeans *op;

static void setup(void) {
    context = open_context(&keep);
    keep.fill = 0xA5;
    ck_assert_int_eq(gpv_kmeans_create(context, NULL, &op), GPV_OK);
    ck_assert_ptr_nonnull(op);
}

static void teardown(void) {
    gpv_kmeans_destroy(&op);
    ck_assert_ptr_null(op);
    gpv_context_destroy(&context);
    ck_assert_int_eq(keep.live, 0);
}

static gpv_kmeans_params defaults(void) {
    gpv_kmeans_params params;
    gpv_kmeans_params_init(&params, sizeof params);
    return params;
}

/* Whose start lies in the image, so that results can be foretold. */
static gpv_kmeans_params grid_of(int32_t clusters) {
    gpv_kmeans_params params = defaults();
    params.clusters = clusters;
    params.init = GPV_KMEANS_INIT_GRID;
    return params;
}

static void set(gpv_kmeans_params params) {
    ck_assert_msg(gpv_kmeans_set_params(op, &params) == GPV_OK, "%s", gpv_context_error(context));
}

static void give(const float *centroids, int32_t count) {
    ck_assert_msg(gpv_kmeans_set_centroids(op, centroids, count) == GPV_OK, "%s",
                  gpv_context_error(context));
}

static gpv_status run_views(const gpv_image *src, const gpv_image *labels, const gpv_image *dst) {
    return gpv_kmeans_run(op, NULL, src, labels, dst, NULL, NULL, NULL);
}

static gpv_kmeans_result waited_for(void) {
    gpv_kmeans_result result;
    gpv_kmeans_result_init(&result, sizeof result);
    memset((char *)&result + sizeof result.struct_size, 0xC5, sizeof result - sizeof(uint32_t));
    ck_assert_int_eq(gpv_kmeans_query(op), GPV_OK);
    ck_assert_int_eq(gpv_kmeans_wait(op, &result), GPV_OK);
    ck_assert_uint_eq(result.struct_size, sizeof result);
    ck_assert_uint_eq(result.reserved, 0);
    return result;
}

static void expect_nothing_found(void) {
    static const gpv_kmeans_result nothing = {.struct_size = sizeof nothing};
    const gpv_kmeans_result result = waited_for();
    ck_assert_mem_eq(&result, &nothing, sizeof nothing);
}

/* ------------------------------------------------------------------- structs */

static void init_params(void *place, uint32_t size) {
    gpv_kmeans_params_init(place, size);
}

static void init_result(void *place, uint32_t size) {
    gpv_kmeans_result_init(place, size);
}

START_TEST(init_writes_every_default) {
    static const gpv_kmeans_result nothing = {.struct_size = sizeof nothing};
    gpv_kmeans_params params;
    gpv_kmeans_result result;
    memset(&params, 0xC5, sizeof params);
    gpv_kmeans_params_init(&params, sizeof params);
    ck_assert_uint_eq(params.struct_size, sizeof params);
    ck_assert_int_eq(params.clusters, 8);
    ck_assert_int_eq(params.max_clusters, 16);
    ck_assert_int_eq(params.max_iterations, 20);
    ck_assert_float_eq(params.tolerance, 0.5f);
    ck_assert_uint_eq(params.metric, GPV_KMEANS_METRIC_L2);
    ck_assert_uint_eq(params.init, GPV_KMEANS_INIT_PLUSPLUS);
    ck_assert_uint_eq(params.color_space, GPV_KMEANS_COLOR_SPACE_RGB);
    ck_assert_uint_eq(params.seed, 0);
    ck_assert_uint_eq(params.warm_start, 0);
    ck_assert_uint_eq(params.reserved, 0);
    memset(&result, 0xC5, sizeof result);
    gpv_kmeans_result_init(&result, sizeof result);
    ck_assert_mem_eq(&result, &nothing, sizeof nothing);
    expect_init_within(sizeof params, init_params);
    expect_init_within(sizeof result, init_result);
}
END_TEST

/* Both create and set_params must say the same. */
static void expect_params(const gpv_kmeans_params *params, gpv_status wanted, const char *text) {
    gpv_kmeans *other = (gpv_kmeans *)&keep;
    const gpv_status status = gpv_kmeans_create(context, params, &other);
    ck_assert_int_eq(status == GPV_OK, other != NULL);
    expect_status(context, &keep, status, wanted, text);
    gpv_kmeans_destroy(&other);
    keep.text[0] = 0;
    expect_status(context, &keep, gpv_kmeans_set_params(op, params), wanted, text);
}

static void expect_params_at(const void *place, gpv_status wanted, const char *text) {
    expect_params(place, wanted, text);
}

/* What lies in a result before is not looked at, and fields of the future become 0. */
static void expect_result_at(const void *place, gpv_status wanted, const char *text) {
    gpv_kmeans_result *result = (gpv_kmeans_result *)place;
    const uint32_t size = result->struct_size;
    const gpv_status status = gpv_kmeans_wait(op, result);
    uint32_t i;
    ck_assert_uint_eq(result->struct_size, size);
    if (wanted == INVALID) {
        expect_error(context, &keep, status, INVALID, text);
        ck_assert_int_eq(result->clusters, 0);
        return;
    }
    ck_assert_int_eq(status, GPV_OK);
    ck_assert_int_eq(result->clusters, 8);
    for (i = sizeof *result; i < size; i++)
        ck_assert_uint_eq(((const unsigned char *)place)[i], 0);
}

START_TEST(struct_sizes) {
    picture src = picture_new(GPV_FORMAT_GRAY8, 9, 7, TIGHT);
    picture_fill(&src, 1);
    ck_assert_int_eq(run_views(&src.view, NULL, NULL), GPV_OK);
    expect_struct_sizes("params", sizeof(gpv_kmeans_params), init_params, expect_params_at);
    expect_struct_sizes("result", sizeof(gpv_kmeans_result), init_result, expect_result_at);
    picture_free(&src);
}
END_TEST

#define PARAM(field, value) offsetof(gpv_kmeans_params, field), (uint32_t)(value)

START_TEST(params_ranges) {
    static const struct {
        size_t offset;
        uint32_t value;   /* of a float: its bits */
        const char *text; /* NULL = legal */
    } cases[] = {
        {PARAM(clusters, 0), NULL},
        {PARAM(clusters, 2), NULL},
        {PARAM(clusters, 256), NULL},
        {PARAM(clusters, 1), "params->clusters|is 1,|2..256|or 0"},
        {PARAM(clusters, -1), "params->clusters|is -1,|2..256|or 0"},
        {PARAM(clusters, 257), "params->clusters|is 257,|2..256|or 0"},
        {PARAM(clusters, INT32_MIN), "params->clusters|-2147483648|2..256|or 0"},
        {PARAM(clusters, INT32_MAX), "params->clusters|2147483647|2..256|or 0"},
        {PARAM(max_clusters, 2), NULL},
        {PARAM(max_clusters, 256), NULL},
        {PARAM(max_clusters, 0), "params->max_clusters|is 0|2..256"},
        {PARAM(max_clusters, 1), "params->max_clusters|is 1|2..256"},
        {PARAM(max_clusters, -1), "params->max_clusters|is -1|2..256"},
        {PARAM(max_clusters, 257), "params->max_clusters|is 257|2..256"},
        {PARAM(max_clusters, INT32_MAX), "params->max_clusters|2147483647|2..256"},
        {PARAM(max_iterations, 0), NULL},
        {PARAM(max_iterations, 10000), NULL},
        {PARAM(max_iterations, -1), "params->max_iterations|is -1|0..10000"},
        {PARAM(max_iterations, 10001), "params->max_iterations|10001|0..10000"},
        {PARAM(max_iterations, INT32_MIN), "params->max_iterations|-2147483648|0..10000"},
        {PARAM(tolerance, 0), NULL},
        {PARAM(tolerance, 0x80000000u), NULL}, /* -0 */
        {PARAM(tolerance, 1), NULL},           /* the least above it */
        {PARAM(tolerance, 0x80000001u), NULL},
        {PARAM(tolerance, 0xBF800000u), NULL}, /* -1 */
        {PARAM(tolerance, 0x49742400u), NULL}, /* 1e6 */
        {PARAM(tolerance, 0x49742401u), "params->tolerance|1000000.06|-1e+06..1e+06"},
        {PARAM(tolerance, 0x7F7FFFFFu), "params->tolerance|3.4028235e+38|-1e+06..1e+06"},
        {PARAM(tolerance, 0xFF7FFFFFu), "params->tolerance|-3.4028235e+38|-1e+06..1e+06"},
        {PARAM(tolerance, 0x7F800000u), "params->tolerance|inf|-1e+06..1e+06"},
        {PARAM(tolerance, 0xFF800000u), "params->tolerance|-inf|-1e+06..1e+06"},
        {PARAM(tolerance, 0x7FC00000u), "params->tolerance|nan|-1e+06..1e+06"},
        {PARAM(tolerance, 0xFFFFFFFFu), "params->tolerance|nan|-1e+06..1e+06"},
        {PARAM(metric, 1), NULL},
        {PARAM(metric, 2), "params->metric|is 2|0..1"},
        {PARAM(metric, UINT32_MAX), "params->metric|4294967295|0..1"},
        {PARAM(init, 3), NULL},
        {PARAM(init, 4), "params->init|is 4|0..3"},
        {PARAM(init, UINT32_MAX), "params->init|4294967295|0..3"},
        {PARAM(color_space, 1), NULL},
        {PARAM(color_space, 2), "params->color_space|is 2|0..1"},
        {PARAM(color_space, UINT32_MAX), "params->color_space|4294967295|0..1"},
        {PARAM(seed, UINT32_MAX), NULL},
        {PARAM(seed, 0) + 4, NULL}, /* its upper half */
        {PARAM(warm_start, 1), NULL},
        {PARAM(warm_start, 2), "params->warm_start|is 2|0..1"},
        {PARAM(warm_start, UINT32_MAX), "params->warm_start|4294967295|0..1"},
        {PARAM(reserved, 1), "params->reserved|is 1|0..0"},
        {PARAM(reserved, 0x80000000u), "params->reserved|2147483648|0..0"},
    };
    size_t i;
    for (i = 0; i < COUNT(cases); i++) {
        gpv_kmeans_params params = defaults();
        memcpy((char *)&params + cases[i].offset, &cases[i].value, sizeof cases[i].value);
        expect_params(&params, cases[i].text ? INVALID : GPV_OK, cases[i].text);
    }
}
END_TEST

START_TEST(their_number_is_given_with_the_centroids) {
    gpv_kmeans_params params = grid_of(0);
    expect_params(&params, GPV_OK, NULL);
    params.init = GPV_KMEANS_INIT_GIVEN;
    expect_params(&params, INVALID, "params->init|GPV_KMEANS_INIT_GIVEN|params->clusters is 0");
}
END_TEST

START_TEST(null_arguments) {
    static const float gray[6] = {0};
    picture good = picture_new(GPV_FORMAT_GRAY8, 4, 4, TIGHT);
    gpv_kmeans_result result;
    gpv_kmeans *none = NULL;
    gpv_kmeans *other = (gpv_kmeans *)&keep;
    picture_fill(&good, 1);
    memset(&result, 0xC5, sizeof result);
    ck_assert_int_eq(gpv_kmeans_create(NULL, NULL, &other), INVALID);
    ck_assert_ptr_null(other);
    ck_assert_int_eq(gpv_kmeans_create(NULL, NULL, NULL), INVALID);
    expect_error(context, &keep, gpv_kmeans_create(context, NULL, NULL), INVALID, "out|NULL");
    ck_assert_int_eq(gpv_kmeans_set_params(NULL, NULL), INVALID);
    ck_assert_int_eq(gpv_kmeans_set_centroids(NULL, gray, 2), INVALID);
    ck_assert_int_eq(gpv_kmeans_prepare(NULL, &good.view, NULL, NULL), INVALID);
    ck_assert_int_eq(gpv_kmeans_run(NULL, NULL, &good.view, NULL, NULL, NULL, NULL, NULL), INVALID);
    ck_assert_int_eq(gpv_kmeans_query(NULL), INVALID);
    ck_assert_int_eq(gpv_kmeans_wait(NULL, &result), INVALID);
    ck_assert_uint_eq(result.struct_size, 0xC5C5C5C5u);
    expect_error(context, &keep, gpv_kmeans_prepare(op, NULL, &good.view, &good.view), INVALID,
                 "src|NULL");
    expect_error(context, &keep, run_views(NULL, &good.view, &good.view), INVALID, "src|NULL");
    ck_assert_int_eq(run_views(&good.view, NULL, NULL), GPV_OK);
    gpv_kmeans_destroy(NULL);
    gpv_kmeans_destroy(&none);
    picture_free(&good);
}
END_TEST

/* ----------------------------------------------------------- given centroids */

START_TEST(centroids_ranges) {
    static const struct {
        float value;
        const char *text; /* NULL = legal; the index comes in front */
    } cases[] = {
        {0.0f, NULL},       {-0.0f, NULL},        {255.0f, NULL},       {0.5f, NULL},
        {-0.5f, "|-0.5"},   {255.5f, "|255.5"},   {-1e-30f, "|-1e-30"}, {1e30f, "|1e+30"},
        {INFINITY, "|inf"}, {-INFINITY, "|-inf"}, {NAN, "|nan"},        {-NAN, "|nan"},
    };
    float centroids[3 * GPV_KMEANS_MAX_CLUSTERS + 3] = {0};
    size_t i;
    int at;
    for (i = 0; i < COUNT(cases); i++)
        for (at = 0; at < 3 * GPV_KMEANS_MAX_CLUSTERS; at += at < 6 ? 1 : 761) {
            char text[64];
            gpv_status status;
            centroids[at] = cases[i].value;
            status = gpv_kmeans_set_centroids(op, centroids, GPV_KMEANS_MAX_CLUSTERS);
            snprintf(text, sizeof text, "centroids[%d]%s|0..255", at,
                     cases[i].text ? cases[i].text : "");
            if (cases[i].text)
                expect_error(context, &keep, status, INVALID, text);
            else
                ck_assert_int_eq(status, GPV_OK);
            centroids[at] = 0;
        }
    ck_assert_int_eq(gpv_kmeans_set_centroids(op, centroids, 2), GPV_OK);
    expect_error(context, &keep, gpv_kmeans_set_centroids(op, NULL, 2), INVALID, "centroids|NULL");
    expect_error(context, &keep, gpv_kmeans_set_centroids(op, centroids, 1), INVALID,
                 "count is 1|2..256");
    expect_error(context, &keep, gpv_kmeans_set_centroids(op, centroids, 0), INVALID,
                 "count is 0|2..256");
    expect_error(context, &keep, gpv_kmeans_set_centroids(op, centroids, -1), INVALID,
                 "count is -1|2..256");
    expect_error(context, &keep, gpv_kmeans_set_centroids(op, centroids, 257), INVALID,
                 "count is 257|2..256");
    expect_error(context, &keep, gpv_kmeans_set_centroids(op, centroids, INT32_MIN), INVALID,
                 "count is -2147483648|2..256");
    expect_error(context, &keep, gpv_kmeans_set_centroids(op, centroids, INT32_MAX), INVALID,
                 "count is 2147483647|2..256");
}
END_TEST

START_TEST(as_many_centroids_as_clusters) {
    static const float three[9] = {0, 0, 0, 100, 100, 100, 200, 200, 200};
    unsigned char *memory = forbidden_memory(1 << 22);
    const gpv_image src = forbidden_image(memory);
    const gpv_image dst = forbidden_image(memory + (1 << 21));
    gpv_kmeans_params params = defaults();
    params.init = GPV_KMEANS_INIT_GIVEN;
    params.clusters = 4;
    set(params);
    expect_error(
        context, &keep, run_views(&src, NULL, &dst), INVALID,
        "params->init|GPV_KMEANS_INIT_GIVEN|clusters is 4|gpv_kmeans_set_centroids()|given 0");
    give(three, 3);
    expect_error(context, &keep, run_views(&src, NULL, &dst), INVALID, "clusters is 4|given 3");
    params.clusters = 2;
    set(params);
    expect_error(context, &keep, run_views(&src, NULL, &dst), INVALID, "clusters is 2|given 3");
    ck_assert_int_eq(gpv_kmeans_set_centroids(op, three, 257), INVALID); /* those before stay */
    expect_error(context, &keep, run_views(&src, NULL, &dst), INVALID, "clusters is 2|given 3");
    ck_assert_int_eq(gpv_kmeans_prepare(op, &src, NULL, &dst), GPV_OK);
    expect_nothing_found();
}
END_TEST

/* -------------------------------------------------------------------- images */

START_TEST(bad_images_are_refused_untouched) {
    unsigned char *memory = forbidden_memory(3 << 21);
    const gpv_image good = forbidden_image(memory);
    const gpv_image other = forbidden_image(memory + (1 << 21));
    const gpv_image third = forbidden_image(memory + (2 << 21));
    gpv_image bad = good;
    const bool shape = spoil_image(&bad, _i);
    expect_image_error(context, &keep, run_views(&bad, &other, &third), "src", _i);
    expect_image_error(context, &keep, run_views(&bad, NULL, NULL), "src", _i);
    expect_image_error(context, &keep, run_views(&bad, &bad, &bad), "src", _i);
    if (!shape) {
        /* data and stride are not looked at */
        gpv_image src = third, labels = other;
        src.format = bad.format;
        src.width = labels.width = bad.width;
        if (bad.format != GPV_FORMAT_GRAY16) {
            ck_assert_int_eq(gpv_kmeans_prepare(op, &bad, NULL, NULL), GPV_OK);
            ck_assert_int_eq(gpv_kmeans_prepare(op, &src, &labels, &bad), GPV_OK);
            expect_image_error(context, &keep, run_views(&src, &labels, &bad), "dst", _i);
        }
        return;
    }
    expect_image_error(context, &keep, gpv_kmeans_prepare(op, &bad, NULL, NULL), "src", _i);
}
END_TEST

/* Of faults that images of every kind share. */
START_TEST(bad_outputs_are_refused_untouched) {
    static const struct {
        int32_t width, height;
        gpv_memory memory;
        gpv_status status;
        const char *text; /* the name comes in front */
    } cases[] = {
        {IMAGE_W - 1, IMAGE_H, GPV_MEMORY_HOST, INVALID, "is 63x48|src|64x48"},
        {IMAGE_W, IMAGE_H + 1, GPV_MEMORY_HOST, INVALID, "is 64x49|src|64x48"},
        {0, IMAGE_H, GPV_MEMORY_HOST, INVALID, "->width is 0|1..32767"},
        {IMAGE_W, -1, GPV_MEMORY_HOST, INVALID, "->height is -1|1..32767"},
        {32768, IMAGE_H, GPV_MEMORY_HOST, INVALID, "->width is 32768|1..32767"},
        {IMAGE_W, IMAGE_H, GPV_MEMORY_CUDA, UNSUPPORTED, "->memory is GPV_MEMORY_CUDA|CPU"},
        {IMAGE_W, IMAGE_H, 2, INVALID, "->memory is 2|0..1"},
    };
    unsigned char *memory = forbidden_memory(1 << 22);
    const gpv_image src = forbidden_image(memory);
    size_t i;
    for (i = 0; i < COUNT(cases); i++) {
        gpv_image bad = forbidden_image(memory + (1 << 21));
        char labels[128], dst[128];
        snprintf(labels, sizeof labels, "labels%s%s", *cases[i].text == '-' ? "" : " ",
                 cases[i].text);
        snprintf(dst, sizeof dst, "dst%s%s", *cases[i].text == '-' ? "" : " ", cases[i].text);
        bad.width = cases[i].width;
        bad.height = cases[i].height;
        bad.memory = cases[i].memory;
        expect_error(context, &keep, run_views(&src, &bad, NULL), cases[i].status, labels);
        expect_error(context, &keep, run_views(&src, NULL, &bad), cases[i].status, dst);
        expect_error(context, &keep, gpv_kmeans_prepare(op, &src, &bad, NULL), cases[i].status,
                     labels);
        expect_error(context, &keep, gpv_kmeans_prepare(op, &src, NULL, &bad), cases[i].status,
                     dst);
    }
}
END_TEST

static void expect_src_at(const void *place, gpv_status wanted, const char *text) {
    const gpv_image good = forbidden_image(forbidden_memory(1 << 21));
    const gpv_image *out = wanted == GPV_OK ? place : NULL;
    expect_status(context, &keep, gpv_kmeans_prepare(op, place, out, out), wanted, text);
    if (wanted != GPV_OK)
        expect_error(context, &keep, run_views(place, &good, NULL), wanted, text);
}

static void expect_labels_at(const void *place, gpv_status wanted, const char *text) {
    const gpv_image good = forbidden_image(forbidden_memory(1 << 21));
    expect_status(context, &keep, gpv_kmeans_prepare(op, &good, place, NULL), wanted, text);
    if (wanted != GPV_OK)
        expect_error(context, &keep, run_views(&good, place, NULL), wanted, text);
}

static void expect_dst_at(const void *place, gpv_status wanted, const char *text) {
    const gpv_image good = forbidden_image(forbidden_memory(1 << 21));
    expect_status(context, &keep, gpv_kmeans_prepare(op, &good, NULL, place), wanted, text);
    if (wanted != GPV_OK)
        expect_error(context, &keep, run_views(&good, NULL, place), wanted, text);
}

START_TEST(image_struct_size) {
    expect_struct_sizes("src", sizeof(gpv_image), init_forbidden_image, expect_src_at);
    expect_struct_sizes("labels", sizeof(gpv_image), init_forbidden_image, expect_labels_at);
    expect_struct_sizes("dst", sizeof(gpv_image), init_forbidden_image, expect_dst_at);
}
END_TEST

static bool is_among(gpv_format format, const gpv_format *set, size_t count) {
    size_t i;
    for (i = 0; i < count && set[i] != format; i++)
        ;
    return i < count;
}

START_TEST(formats_of_images) {
    unsigned char *memory = forbidden_memory(1 << 22);
    gpv_image src = forbidden_image(memory), out = forbidden_image(memory + (1 << 21));
    for (src.format = 1; src.format <= GPV_FORMAT_CAP32X8; src.format++) {
        char text[128];
        if (!is_among(src.format, formats, COUNT(formats))) {
            snprintf(text, sizeof text, "src->format|%s|k-means takes GRAY8, RGB8|NV12, I420",
                     format_name(src.format));
            expect_error(context, &keep, run_views(&src, NULL, NULL), UNSUPPORTED, text);
            expect_error(context, &keep, gpv_kmeans_prepare(op, &src, NULL, NULL), UNSUPPORTED,
                         text);
            ck_assert(!strstr(gpv_context_error(context), "takes GRAY8, GRAY16"));
            continue;
        }
        for (out.format = 1; out.format <= GPV_FORMAT_CAP32X8; out.format++) {
            if (is_among(out.format, label_formats, COUNT(label_formats))) {
                ck_assert_int_eq(gpv_kmeans_prepare(op, &src, &out, NULL), GPV_OK);
            } else {
                snprintf(text, sizeof text, "labels->format is %s,|GRAY8, NV12 or I420",
                         format_name(out.format));
                expect_error(context, &keep, run_views(&src, &out, NULL), UNSUPPORTED, text);
                expect_error(context, &keep, gpv_kmeans_prepare(op, &src, &out, NULL), UNSUPPORTED,
                             text);
            }
            if (out.format == src.format) {
                ck_assert_int_eq(gpv_kmeans_prepare(op, &src, NULL, &out), GPV_OK);
            } else {
                snprintf(text, sizeof text, "dst->format is %s,|as src, %s",
                         format_name(out.format), format_name(src.format));
                expect_error(context, &keep, run_views(&src, NULL, &out), INVALID, text);
                expect_error(context, &keep, gpv_kmeans_prepare(op, &src, NULL, &out), INVALID,
                             text);
            }
        }
    }
}
END_TEST

static gpv_status recolor(const gpv_image *src, const gpv_image *dst) {
    return run_views(src, NULL, dst);
}

static gpv_status label(const gpv_image *src, const gpv_image *labels) {
    return run_views(src, labels, NULL);
}

START_TEST(overlap_inside_one_parent) {
    expect_overlaps_refused(context, &keep, "dst", recolor, true);
    expect_overlaps_refused(context, &keep, "labels", label, false);
}
END_TEST

START_TEST(overlap_of_planes) {
    unsigned char *memory = forbidden_memory(3 << 21);
    gpv_image src = forbidden_image(memory);
    gpv_image dst = src, labels = forbidden_image(memory + (2 << 21));
    dst.stride[0] = 4097;
    expect_error(context, &keep, recolor(&src, &dst), INVALID, "dst overlaps src");
    src.format = GPV_FORMAT_I420; /* in place but for one plane */
    dst = src;
    dst.data[2] = memory + (1 << 21);
    expect_error(context, &keep, recolor(&src, &dst), INVALID, "dst overlaps src");
    dst = src; /* U and V exchanged */
    dst.data[1] = src.data[2];
    dst.data[2] = src.data[1];
    expect_error(context, &keep, recolor(&src, &dst), INVALID, "dst overlaps src");
    dst = forbidden_image(memory + (1 << 21));
    dst.format = GPV_FORMAT_I420;
    dst.data[2] = dst.data[1];
    expect_error(context, &keep, recolor(&src, &dst), INVALID, "two planes of dst overlap");
    dst.data[2] = src.data[0];
    expect_error(context, &keep, recolor(&src, &dst), INVALID, "dst overlaps src");
    labels.format = GPV_FORMAT_NV12;
    labels.data[1] = (unsigned char *)labels.data[0] + 47 * 4096 + 63;
    expect_error(context, &keep, label(&src, &labels), INVALID, "two planes of labels overlap");
    labels.data[1] = src.data[2];
    expect_error(context, &keep, label(&src, &labels), INVALID, "labels overlaps src");
}
END_TEST

/* ------------------------------------------------------------------- buffers */

START_TEST(bad_buffers_are_refused_untouched) {
    unsigned char *memory = forbidden_memory(1 << 22);
    const gpv_image src = forbidden_image(memory);
    const gpv_buffer a = buffer_of(memory + (1 << 21), 4096);
    const gpv_buffer b = buffer_of(memory + (1 << 21) + 4096, 4096);
    const gpv_buffer bad = spoiled_buffer(buffer_of(memory + (3 << 20), 4096), _i);
    expect_buffer_error(context, &keep, gpv_kmeans_run(op, NULL, &src, NULL, NULL, &bad, &a, &b),
                        "centroids", _i);
    expect_buffer_error(context, &keep, gpv_kmeans_run(op, NULL, &src, NULL, NULL, &a, &bad, &b),
                        "counts", _i);
    expect_buffer_error(context, &keep, gpv_kmeans_run(op, NULL, &src, NULL, NULL, &a, &b, &bad),
                        "result", _i);
    expect_buffer_error(context, &keep,
                        gpv_kmeans_run(op, NULL, &src, NULL, NULL, NULL, NULL, &bad), "result", _i);
}
END_TEST

START_TEST(buffers_of_other_ages) {
    unsigned char *memory = forbidden_memory(1 << 22);
    const gpv_image src = forbidden_image(memory);
    gpv_buffer longer[2];
    memset(longer, 0, sizeof longer);
    longer[0] = buffer_of(memory + (1 << 21), 4096);
    longer[0].struct_size = sizeof longer;
    longer[1].reserved = 1;
    expect_error(context, &keep, gpv_kmeans_run(op, NULL, &src, NULL, NULL, longer, NULL, NULL),
                 UNSUPPORTED, "centroids|newer|44");
    expect_error(context, &keep, gpv_kmeans_run(op, NULL, &src, NULL, NULL, NULL, longer, NULL),
                 UNSUPPORTED, "counts|newer|44");
    expect_error(context, &keep, gpv_kmeans_run(op, NULL, &src, NULL, NULL, NULL, NULL, longer),
                 UNSUPPORTED, "result|newer|44");
}
END_TEST

static void expect_sizes(size_t room, const char *centroids_text, const char *counts_text) {
    unsigned char *memory = forbidden_memory(1 << 22);
    const gpv_image src = forbidden_image(memory);
    const gpv_buffer centroids = buffer_of(memory + (1 << 21), room * 12 - 1);
    const gpv_buffer counts = buffer_of(memory + (1 << 21), room * 4 - 1);
    expect_error(context, &keep, gpv_kmeans_run(op, NULL, &src, NULL, NULL, &centroids, NULL, NULL),
                 INVALID, centroids_text);
    expect_error(context, &keep, gpv_kmeans_run(op, NULL, &src, NULL, NULL, NULL, &counts, NULL),
                 INVALID, counts_text);
}

START_TEST(sizes_and_places_of_buffers) {
    unsigned char *memory = forbidden_memory(1 << 22);
    const gpv_image src = forbidden_image(memory);
    gpv_buffer bad;
    size_t i;
    expect_sizes(8, "centroids->size is 95,|96..", "counts->size is 31,|32..");
    set(grid_of(256));
    expect_sizes(256, "centroids->size is 3071,|3072..", "counts->size is 1023,|1024..");
    set(grid_of(0)); /* as many as may be chosen */
    expect_sizes(16, "centroids->size is 191,|192..", "counts->size is 63,|64..");
    bad = buffer_of(memory + (1 << 21), sizeof(gpv_kmeans_result) - 1);
    expect_error(context, &keep, gpv_kmeans_run(op, NULL, &src, NULL, NULL, NULL, NULL, &bad),
                 INVALID, "result->size is 31,|32..");
    for (i = 1; i < 8; i++) {
        bad = buffer_of(memory + (1 << 21) + i, 4096);
        expect_error(context, &keep, gpv_kmeans_run(op, NULL, &src, NULL, NULL, NULL, NULL, &bad),
                     INVALID, "result->data|8 bytes");
        if (i % 4 == 0)
            continue;
        expect_error(context, &keep, gpv_kmeans_run(op, NULL, &src, NULL, NULL, &bad, NULL, NULL),
                     INVALID, "centroids->data|4 bytes");
        expect_error(context, &keep, gpv_kmeans_run(op, NULL, &src, NULL, NULL, NULL, &bad, NULL),
                     INVALID, "counts->data|4 bytes");
    }
}
END_TEST

/* All that a run reads and writes. */
enum { SRC, DST, LABELS, CENTROIDS, COUNTS, RESULT, ARGUMENTS };
static const char *const names[] = {"src", "dst", "labels", "centroids", "counts", "result"};

static gpv_status run_at(unsigned char *const *place) {
    enum { IMAGES = CENTROIDS };
    gpv_image images[IMAGES];
    gpv_buffer buffers[ARGUMENTS];
    int i;
    for (i = 0; i < IMAGES; i++) {
        images[i] = forbidden_image(place[i]);
        images[i].format = GPV_FORMAT_I420;
        images[i].stride[0] = images[i].stride[1] = images[i].stride[2] = 64;
        images[i].data[1] = place[i] + 3072;
        images[i].data[2] = place[i] + 3072 + 1536;
    }
    for (; i < ARGUMENTS; i++)
        buffers[i] = buffer_of(place[i], 4096);
    return gpv_kmeans_run(op, NULL, &images[SRC], &images[LABELS], &images[DST],
                          &buffers[CENTROIDS], &buffers[COUNTS], &buffers[RESULT]);
}

/* The last byte of one is the first of the other. */
START_TEST(nothing_overlaps) {
    enum { APART = 1 << 16 };
    static const size_t bytes[] = {6112, 6112, 6112, 4096, 4096, 4096};
    unsigned char *memory = forbidden_memory(1 << 22);
    int a, b, order, i;
    for (a = SRC; a < ARGUMENTS; a++)
        for (b = a + 1; b < ARGUMENTS; b++)
            for (order = 0; order < 2; order++) {
                unsigned char *place[ARGUMENTS];
                char text[64];
                for (i = 0; i < ARGUMENTS; i++)
                    place[i] = memory + (i + 1) * APART;
                if (order)
                    place[b] = place[a] + (b < CENTROIDS ? bytes[a] - 1 : bytes[a] - 8);
                else
                    place[b] = place[a] - (b < CENTROIDS ? bytes[b] - 1 : bytes[b] - 8);
                snprintf(text, sizeof text, "%s overlaps %s", names[b], names[a]);
                expect_error(context, &keep, run_at(place), INVALID, text);
            }
}
END_TEST

/* ------------------------------------------------------- memory of the caller */

/* Parameters that reach every path of the CPU backend. */
static gpv_kmeans_params variant(int i) {
    static const int32_t clusters[] = {2, 0, 5, 19, 256};
    gpv_kmeans_params params = defaults();
    params.clusters = clusters[i % 5];
    params.max_clusters = 6;
    params.init = (gpv_kmeans_init_method)(i % 3);
    params.metric = (gpv_kmeans_metric)(i / 3 % 2);
    params.color_space = (gpv_kmeans_color_space)(i / 6 % 2);
    params.tolerance = i / 12 % 2 ? 0.5f : -1.0f;
    params.max_iterations = 3;
    params.seed = (uint64_t)i;
    return params;
}
enum { VARIANTS = 60, ROOM = GPV_KMEANS_MAX_CLUSTERS };

/* What a run may write but for images. */
typedef struct tables {
    float centroids[3 * ROOM];
    int32_t counts[ROOM];
    gpv_kmeans_result result;
} tables;

static gpv_status run_all(gpv_kmeans *which, const picture *src, const picture *labels,
                          const picture *dst, tables *out) {
    const gpv_buffer centroids = buffer_of(out->centroids, sizeof out->centroids);
    const gpv_buffer counts = buffer_of(out->counts, sizeof out->counts);
    const gpv_buffer result = buffer_of(&out->result, sizeof out->result);
    memset(out, 0xC5, sizeof *out);
    return gpv_kmeans_run(which, NULL, &src->view, &labels->view, &dst->view, &centroids, &counts,
                          &result);
}

/* Of the clusters alone, since what lies behind them may be anything. */
static bool tables_equal(const tables *a, const tables *b) {
    const size_t k = (size_t)a->result.clusters;
    return memcmp(&a->result, &b->result, sizeof a->result) == 0 &&
           memcmp(a->centroids, b->centroids, k * sizeof *a->centroids * 3) == 0 &&
           memcmp(a->counts, b->counts, k * sizeof *a->counts) == 0;
}

/* Neither the place of an image nor what scratch held before may change a bit. */
START_TEST(same_bytes_in_every_memory) {
    const gpv_format format = formats[_i];
    const int step = getenv("GPV_TEST_FULL") ? 1 : 7;
    size_t s;
    int v, how;
    for (s = 0; s < COUNT(picture_sizes); s++)
        for (v = (int)s % step; v < VARIANTS; v += step) {
            const int width = picture_sizes[s][0], height = picture_sizes[s][1];
            picture src[LAYOUTS], labels[LAYOUTS], dst[LAYOUTS];
            picture before = picture_new(format, width, height, TIGHT);
            tables first, out;
            picture_fill(&before, 7);
            set(variant(v));
            for (how = 0; how < LAYOUTS; how++) {
                src[how] = picture_new(format, width, height, (layout)how);
                labels[how] = picture_new(label_formats[v % 3], width, height, (layout)how);
                dst[how] = picture_new(format, width, height, (layout)how);
                keep.fill ^= 0xFF;
                picture_fill(&src[how], 7);
                ck_assert_int_eq(
                    run_all(op, &src[how], &labels[how], &dst[how], how ? &out : &first), GPV_OK);
                ck_assert_msg(picture_equal(&labels[how], &labels[TIGHT]) &&
                                  picture_equal(&dst[how], &dst[TIGHT]) &&
                                  (!how || tables_equal(&out, &first)),
                              "variant %d of %s, %dx%d, layout %d", v, format_name(format), width,
                              height, how);
                ck_assert(picture_equal(&src[how], &before));
                ck_assert_int_eq(run_all(op, &src[how], &labels[how], &src[how], &out), GPV_OK);
                ck_assert_msg(picture_equal(&src[how], &dst[TIGHT]) && tables_equal(&out, &first),
                              "variant %d of %s, %dx%d, layout %d, in place", v,
                              format_name(format), width, height, how);
                ck_assert(picture_intact(&src[how]) && picture_intact(&labels[how]) &&
                          picture_intact(&dst[how]));
            }
            for (how = 0; how < LAYOUTS; how++) {
                picture_free(&src[how]);
                picture_free(&labels[how]);
                picture_free(&dst[how]);
            }
            picture_free(&before);
        }
}
END_TEST

/* Buffers that end at memory which must not be touched, and what lies behind the room that a run
 * needs. */
START_TEST(buffers_up_to_the_last_byte) {
    picture src = picture_of_plane(GPV_FORMAT_GRAY8, 3, 1, "3 100 200");
    picture wall = picture_new(GPV_FORMAT_GRAY8, 36, 3, WALL_RIGHT);
    unsigned char *row = wall.view.data[0];
    const int64_t pitch = wall.view.stride[0];
    const gpv_buffer centroids = buffer_of(row, 36);
    const gpv_buffer counts = buffer_of(row + pitch + 24, 12);
    const gpv_buffer beyond = buffer_of(row + pitch, 36);
    const gpv_buffer result = buffer_of(row + 2 * pitch + 4, 32);
    static const float wanted[9] = {3, 3, 3, 100, 100, 100, 200, 200, 200};
    static const int32_t one_each[3] = {1, 1, 1};
    gpv_kmeans_result found, in_buffer;
    int i;
    set(grid_of(3));
    ck_assert_int_eq(gpv_kmeans_run(op, NULL, &src.view, NULL, NULL, &centroids, &counts, &result),
                     GPV_OK);
    ck_assert_mem_eq(centroids.data, wanted, sizeof wanted);
    ck_assert_mem_eq(counts.data, one_each, sizeof one_each);
    found = waited_for();
    memcpy(&in_buffer, result.data, sizeof in_buffer);
    ck_assert_mem_eq(&in_buffer, &found, sizeof found);
    memset(beyond.data, 0xC5, 36);
    ck_assert_int_eq(gpv_kmeans_run(op, NULL, &src.view, NULL, NULL, NULL, &beyond, NULL), GPV_OK);
    ck_assert_mem_eq(beyond.data, one_each, sizeof one_each);
    for (i = 12; i < 36; i++)
        ck_assert_uint_eq(((unsigned char *)beyond.data)[i], 0xC5);
    ck_assert(picture_intact(&wall));
    picture_free(&src);
    picture_free(&wall);
}
END_TEST

/* ------------------------------------------------------------------ allocator */

START_TEST(every_allocation_may_fail) {
    int v, failures = 0;
    for (v = 0; v < VARIANTS; v++) {
        const gpv_kmeans_params params = variant(v);
        const gpv_format format = formats[v % (int)COUNT(formats)];
        const gpv_format of_labels = label_formats[v % 3];
        picture src = picture_new(format, 41, 13, TIGHT);
        picture labels = picture_new(of_labels, 41, 13, TIGHT);
        picture want_labels = picture_new(of_labels, 41, 13, TIGHT);
        picture dst = picture_new(format, 41, 13, TIGHT);
        picture want_dst = picture_new(format, 41, 13, TIGHT);
        tables out, wanted;
        int needed;
        gpv_kmeans *fresh = NULL;
        picture_fill(&src, 3);
        keep.allocations = 0;
        ck_assert_int_eq(gpv_kmeans_create(context, &params, &fresh), GPV_OK);
        ck_assert_int_eq(run_all(fresh, &src, &want_labels, &want_dst, &wanted), GPV_OK);
        needed = keep.allocations;
        ck_assert_int_gt(needed, 0);
        gpv_kmeans_destroy(&fresh);
        failures = 0;
        for (keep.fail_at = 1;; keep.fail_at++) {
            gpv_status status;
            const int live = keep.live;
            keep.allocations = 0;
            ck_assert_int_eq(gpv_kmeans_create(context, &params, &fresh), GPV_OK);
            status = v % 2 ? gpv_kmeans_prepare(fresh, &src.view, &labels.view, &dst.view)
                           : run_all(fresh, &src, &labels, &dst, &out);
            if (status != GPV_OK) {
                gpv_kmeans_result result;
                gpv_kmeans_result_init(&result, sizeof result);
                expect_error(context, &keep, status, GPV_ERR_OUT_OF_MEMORY, "bytes");
                ck_assert_int_eq(gpv_kmeans_wait(fresh, &result), GPV_OK);
                ck_assert_int_eq(result.clusters, 0);
                failures++;
            }
            ck_assert_int_eq(status == GPV_OK, keep.allocations < keep.fail_at);
            /* the next call is right */
            ck_assert_int_eq(run_all(fresh, &src, &labels, &dst, &out), GPV_OK);
            ck_assert(picture_equal(&want_labels, &labels) && picture_equal(&want_dst, &dst));
            ck_assert(tables_equal(&out, &wanted));
            gpv_kmeans_destroy(&fresh);
            ck_assert_int_eq(keep.live, live);
            if (status == GPV_OK)
                break;
        }
        ck_assert_int_ge(failures, needed);
        keep.fail_at = 0;
        picture_free(&src);
        picture_free(&labels);
        picture_free(&want_labels);
        picture_free(&dst);
        picture_free(&want_dst);
    }
}
END_TEST

START_TEST(nothing_is_allocated_after_prepare) {
    int v;
    for (v = 0; v < VARIANTS; v++) {
        gpv_kmeans_params params = variant(v);
        const gpv_format format = formats[v % (int)COUNT(formats)];
        picture src = picture_new(format, 53, 31, TIGHT);
        picture labels = picture_new(label_formats[v % 3], 53, 31, TIGHT);
        picture dst = picture_new(format, 53, 31, TIGHT);
        const bool labelled = v % 4 != 1, recolored = v % 4 != 2;
        const gpv_image *to_labels = labelled ? &labels.view : NULL;
        const gpv_image *to_dst = recolored ? &dst.view : NULL;
        gpv_image shapes[3] = {src.view, labels.view, dst.view};
        tables out;
        gpv_kmeans *fresh = NULL;
        unsigned seed;
        int before, i;
        for (i = 0; i < 3; i++) { /* neither of them is read */
            shapes[i].data[0] = NULL;
            shapes[i].stride[0] = 0;
        }
        params.warm_start = v / 2 % 2;
        before = keep.allocations;
        ck_assert_int_eq(gpv_kmeans_create(context, &params, &fresh), GPV_OK);
        ck_assert_int_eq(gpv_kmeans_prepare(fresh, &shapes[0], labelled ? &shapes[1] : NULL,
                                            recolored ? &shapes[2] : NULL),
                         GPV_OK);
        ck_assert_int_gt(keep.allocations, before);
        before = keep.allocations;
        for (seed = 0; seed < 4; seed++) {
            if (seed)
                picture_fill(&src, seed);
            else
                memset(src.view.data[0], 0, src.size[0]);
            if (labelled && recolored)
                ck_assert_int_eq(run_all(fresh, &src, &labels, &dst, &out), GPV_OK);
            ck_assert_int_eq(
                gpv_kmeans_run(fresh, NULL, &src.view, to_labels, to_dst, NULL, NULL, NULL),
                GPV_OK);
            ck_assert_msg(keep.allocations == before, "variant %d, content %u", v, seed);
        }
        gpv_kmeans_destroy(&fresh);
        picture_free(&src);
        picture_free(&labels);
        picture_free(&dst);
    }
}
END_TEST

START_TEST(second_run_allocates_nothing) {
    picture src = picture_new(GPV_FORMAT_RGBA8, 53, 31, TIGHT);
    picture dst = picture_new(GPV_FORMAT_RGBA8, 53, 31, TIGHT);
    gpv_stream stream = &keep;
    int before;
    picture_fill(&src, 3);
    ck_assert_int_eq(gpv_kmeans_run(op, stream, &src.view, NULL, &dst.view, NULL, NULL, NULL),
                     GPV_OK);
    ck_assert_int_gt(keep.allocations, 0);
    ck_assert_ptr_eq(keep.stream, stream);
    before = keep.allocations;
    picture_fill(&src, 4);
    ck_assert_int_eq(gpv_kmeans_run(op, stream, &src.view, NULL, &dst.view, NULL, NULL, NULL),
                     GPV_OK);
    ck_assert_int_eq(keep.allocations, before);
    picture_free(&src);
    picture_free(&dst);
}
END_TEST

/* ------------------------------------------------------------------- lifetime */

START_TEST(the_context_may_go_first) {
    picture src = picture_new(GPV_FORMAT_GRAY8, 9, 9, TIGHT);
    picture_fill(&src, 3);
    gpv_context_destroy(&context);
    ck_assert_ptr_null(context);
    ck_assert_int_eq(run_views(&src.view, NULL, &src.view), GPV_OK);
    ck_assert_int_eq(run_views(NULL, NULL, NULL), INVALID);
    ck_assert_int_eq(gpv_kmeans_wait(op, NULL), GPV_OK);
    gpv_kmeans_destroy(&op);
    ck_assert_int_eq(keep.live, 0);
    picture_free(&src);
}
END_TEST

START_TEST(wait_and_query) {
    picture src = picture_of_plane(GPV_FORMAT_GRAY8, 5, 1, "1 1 9 9 9");
    gpv_kmeans_result result;
    gpv_image bad = src.view;
    expect_nothing_found(); /* has not run */
    ck_assert_int_eq(gpv_kmeans_wait(op, NULL), GPV_OK);
    set(grid_of(2));
    ck_assert_int_eq(run_views(&src.view, NULL, NULL), GPV_OK);
    result = waited_for();
    ck_assert_int_eq(result.clusters, 2);
    ck_assert_str_eq(gpv_context_error(context), "");
    /* what was refused for its arguments does not count */
    bad.width = 0;
    ck_assert_int_eq(run_views(&bad, NULL, NULL), INVALID);
    bad.width = 5;
    bad.memory = GPV_MEMORY_CUDA;
    ck_assert_int_eq(run_views(&bad, NULL, NULL), UNSUPPORTED);
    ck_assert_int_eq(waited_for().clusters, 2);
    /* nor do other parameters, before there is a run */
    set(grid_of(3));
    ck_assert_int_eq(waited_for().clusters, 2);
    ck_assert_int_eq(gpv_stream_sync(context, NULL), GPV_OK);
    ck_assert_int_eq(run_views(&src.view, NULL, NULL), GPV_OK);
    ck_assert_int_eq(waited_for().clusters, 3);
    picture_free(&src);
}
END_TEST

enum { IMAGES = 40 };

static uint64_t hash_of(const void *bytes, size_t count, uint64_t sum) {
    size_t i;
    for (i = 0; i < count; i++)
        sum = (sum ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return sum;
}

/* A run of many variants on a context of its own; gives a hash of the results, 0 if a call failed.
 * Check takes no assertion from another thread. */
static void *own_context(void *hash) {
    gpv_context *mine = NULL;
    gpv_kmeans *my_op = NULL;
    uint64_t sum = 0;
    int i, failed = gpv_context_create(NULL, &mine) || gpv_kmeans_create(mine, NULL, &my_op);
    for (i = 0; i < IMAGES && !failed; i++) {
        const gpv_kmeans_params params = variant(i * 7);
        const gpv_format format = formats[i % (int)COUNT(formats)];
        picture src = picture_new(format, 97, 61, TIGHT);
        picture labels = picture_new(label_formats[i % 3], 97, 61, TIGHT);
        picture dst = picture_new(format, 97, 61, TIGHT);
        float room[3 * ROOM] = {0};
        const gpv_buffer centroids = buffer_of(room, sizeof room);
        gpv_kmeans_result result;
        gpv_kmeans_result_init(&result, sizeof result);
        picture_fill(&src, (unsigned)i);
        failed = gpv_kmeans_set_params(my_op, &params) ||
                 gpv_kmeans_run(my_op, NULL, &src.view, &labels.view, &dst.view, &centroids, NULL,
                                NULL) ||
                 gpv_kmeans_wait(my_op, &result);
        sum = picture_hash(&dst, picture_hash(&labels, sum));
        sum = hash_of(&result, sizeof result, sum);
        sum = hash_of(room, (size_t)result.clusters * 3 * sizeof *room, sum);
        picture_free(&src);
        picture_free(&labels);
        picture_free(&dst);
    }
    gpv_kmeans_destroy(&my_op);
    gpv_context_destroy(&mine);
    *(uint64_t *)hash = failed ? 0 : sum;
    return NULL;
}

START_TEST(contexts_do_not_interfere) {
    expect_same_in_threads(own_context);
}
END_TEST

/* ------------------------------------------------- results worked out by hand */

/* What a run finds, but for its images. */
typedef struct findings {
    int32_t clusters, iterations, empty;
    uint32_t converged;
    double inertia;
    const char *counts;
    const char *greys;   /* of centroids, which are grey */
    const char *colours; /* of centroids; where there is no text, nothing is compared */
} findings;

static void expect_numbers(const char *what, const char *text, const double *got, int count) {
    int i;
    for (i = 0; i < count; i++) {
        char *end = NULL;
        const double wanted = strtod(text, &end);
        ck_assert_msg(end != text, "%s: more than are wanted", what);
        ck_assert_msg(fabs(got[i] - wanted) < 1e-4, "%s[%d] is %f, not %f", what, i, got[i],
                      wanted);
        text = end;
    }
    ck_assert_msg(text[strspn(text, " ")] == 0, "%s: fewer than are wanted", what);
}

static void expect_found(const tables *out, findings want) {
    const gpv_kmeans_result found = waited_for();
    const int k = found.clusters;
    double counts[ROOM], centroids[3 * ROOM], greys[ROOM];
    int i;
    ck_assert_mem_eq(&found, &out->result, sizeof found);
    ck_assert_int_eq(found.clusters, want.clusters);
    ck_assert_int_eq(found.iterations, want.iterations);
    ck_assert_int_eq(found.empty, want.empty);
    ck_assert_uint_eq(found.converged, want.converged);
    ck_assert_double_eq_tol(found.inertia, want.inertia, 1e-4);
    for (i = 0; i < 3 * k; i++)
        centroids[i] = out->centroids[i];
    for (i = 0; i < k; i++) {
        counts[i] = out->counts[i];
        greys[i] = centroids[3 * i];
        ck_assert(!want.greys ||
                  (centroids[3 * i + 1] == greys[i] && centroids[3 * i + 2] == greys[i]));
    }
    if (want.counts)
        expect_numbers("counts", want.counts, counts, k);
    if (want.greys)
        expect_numbers("greys", want.greys, greys, k);
    if (want.colours)
        expect_numbers("colours", want.colours, centroids, 3 * k);
}

static void expect_planes(gpv_format format, int width, int height, const char *const *source,
                          const char *labels, const char *const *recolored, findings found) {
    picture src = picture_of(format, width, height, source);
    picture want_labels = picture_of_plane(GPV_FORMAT_GRAY8, width, height, labels);
    picture want_dst = picture_of(format, width, height, recolored);
    picture numbers = picture_new(GPV_FORMAT_GRAY8, width, height, TIGHT);
    picture dst = picture_new(format, width, height, TIGHT);
    tables out;
    ck_assert_msg(run_all(op, &src, &numbers, &dst, &out) == GPV_OK, "%s",
                  gpv_context_error(context));
    expect_picture(&numbers, &want_labels);
    expect_picture(&dst, &want_dst);
    expect_found(&out, found);
    picture_free(&src);
}

static void expect_row(const char *source, const char *labels, const char *recolored,
                       findings found) {
    int width = 1;
    const char *c;
    for (c = source; *c; c++)
        width += *c == ' ';
    expect_planes(GPV_FORMAT_GRAY8, width, 1, &source, labels, &recolored, found);
}

static void set_given(int32_t clusters, int32_t max_iterations, const float *greys) {
    float centroids[3 * ROOM];
    gpv_kmeans_params params = defaults();
    int i;
    for (i = 0; i < 3 * clusters; i++)
        centroids[i] = greys[i / 3];
    params.clusters = clusters;
    params.max_iterations = max_iterations;
    params.init = GPV_KMEANS_INIT_GIVEN;
    set(params);
    give(centroids, clusters);
}

START_TEST(two_colours) {
    static const char *const both[] = {"0 0 255 255 0 0 255 255"};
    const findings exact = {2, 1, 0, 1, 0, "4 4", "0 255", NULL};
    set(grid_of(2));
    expect_planes(GPV_FORMAT_GRAY8, 4, 2, both, "0 0 1 1 0 0 1 1", both, exact);
}
END_TEST

START_TEST(the_iteration_ends) {
    static const char source[] = "10 20 30 200 220", labels[] = "0 0 0 1 1";
    static const char means[] = "20 20 20 210 210";
    /* the centroids 20 and 200 move by 0 and 10 grey levels in each channel, and then no more */
    static const struct {
        float tolerance;
        int32_t max_iterations, iterations;
        uint32_t converged;
    } cases[] = {{0.5f, 20, 2, 1},   {0, 20, 2, 1},        {-0.0f, 20, 2, 1}, {17, 20, 2, 1},
                 {18, 20, 1, 1},     {1e6f, 1, 1, 1},      {0.5f, 1, 1, 0},   {0.5f, 2, 2, 1},
                 {-1e-30f, 7, 7, 0}, {-1, 10000, 10000, 0}};
    gpv_kmeans_params params = grid_of(2);
    size_t i;
    for (i = 0; i < COUNT(cases); i++) {
        const findings found = {
            2, cases[i].iterations, 0, cases[i].converged, 1200, "3 2", "20 210", NULL};
        params.tolerance = cases[i].tolerance;
        params.max_iterations = cases[i].max_iterations;
        set(params);
        expect_row(source, labels, means, found);
    }
    params.max_iterations = 0;
    set(params);
    expect_row(source, labels, "20 20 20 200 200",
               (findings){2, 0, 0, 0, 1800, "3 2", "20 200", NULL});
}
END_TEST

START_TEST(means_are_rounded_half_up) {
    set(grid_of(2));
    expect_row("10 11 200 200", "0 0 1 1", "11 11 200 200",
               (findings){2, 2, 0, 1, 1.5, "2 2", "10.5 200", NULL});
    expect_row("10 10 10 11 200 200 200 200", "0 0 0 0 1 1 1 1", "10 10 10 10 200 200 200 200",
               (findings){2, 1, 0, 1, 2.25, "4 4", "10.25 200", NULL});
}
END_TEST

/* A cluster without pixels starts again at the colour that is farthest from its centroid. */
START_TEST(empty_clusters) {
    static const float far[] = {0, 250, 250}, one[] = {0, 0, 0}, middle[] = {50, 50};
    static const char source[] = "0 0 0 100 200";
    set_given(3, 0, far);
    expect_row(source, "0 0 0 0 1", "0 0 0 0 250",
               (findings){3, 0, 1, 0, 37500, "4 1 0", "0 250 250", NULL});
    set_given(3, 1, far);
    expect_row(source, "0 0 0 2 1", "25 25 25 100 200",
               (findings){3, 1, 0, 0, 5625, "3 1 1", "25 200 100", NULL});
    set_given(3, 20, far);
    expect_row(source, "0 0 0 2 1", source, (findings){3, 3, 0, 1, 0, "3 1 1", "0 200 100", NULL});
    /* of several ones the first alone */
    set_given(3, 20, one);
    expect_row("0 100 200", "2 0 1", "0 100 200",
               (findings){3, 2, 0, 1, 0, "1 1 1", "100 200 0", NULL});
    /* of equally far colours the least */
    set_given(2, 20, middle);
    expect_row("0 100", "1 0", "0 100", (findings){2, 3, 0, 1, 0, "1 1", "100 0", NULL});
}
END_TEST

START_TEST(fewer_colours_than_clusters) {
    gpv_kmeans_params params = grid_of(3);
    for (params.init = GPV_KMEANS_INIT_PLUSPLUS; params.init <= GPV_KMEANS_INIT_GRID;
         params.init++) {
        params.clusters = 3;
        set(params);
        expect_row("7 7 7 7 7", "0 0 0 0 0", "7 7 7 7 7",
                   (findings){3, 1, 2, 1, 0, "5 0 0", "7 7 7", NULL});
        expect_row("9", "0", "9", (findings){3, 1, 2, 1, 0, "1 0 0", "9 9 9", NULL});
        params.clusters = 256;
        set(params);
        expect_row("9", "0", "9", (findings){256, 1, 255, 1, 0, NULL, NULL, NULL});
    }
    set(grid_of(3));
    expect_row("0 9", "0 1", "0 9", (findings){3, 1, 1, 1, 0, "1 1 0", "0 9 9", NULL});
}
END_TEST

START_TEST(starts) {
    static const char *const square[] = {"10 20 30 40"};
    static const char *const tower[] = {"0 9 0 9 0 9 0 9 0 9 0 9"};
    const findings four = {4, 0, 0, 0, 0, "1 1 1 1", "10 20 30 40", NULL};
    unsigned char levels[256], same[256];
    gpv_kmeans_params params = grid_of(4);
    gpv_image src, dst;
    gpv_kmeans_result found;
    int i;
    params.max_iterations = 0;
    set(params);
    expect_planes(GPV_FORMAT_GRAY8, 2, 2, square, "0 1 2 3", square, four);
    /* three rows of one point: all of them to the right of the middle */
    params.clusters = 3;
    set(params);
    expect_planes(GPV_FORMAT_GRAY8, 2, 6, tower, "0 0 0 0 0 0 0 0 0 0 0 0",
                  (const char *const[]){"9 9 9 9 9 9 9 9 9 9 9 9"},
                  (findings){3, 0, 2, 0, 6 * 3 * 81, "12 0 0", "9 9 9", NULL});
    /* both draw different colours as long as there are some */
    for (i = 0; i < 256; i++)
        levels[i] = (unsigned char)(7 * i);
    gpv_image_wrap(&src, sizeof src, GPV_FORMAT_GRAY8, 16, 16, levels, 0);
    gpv_image_wrap(&dst, sizeof dst, GPV_FORMAT_GRAY8, 16, 16, same, 0);
    params.clusters = 256;
    for (params.init = GPV_KMEANS_INIT_PLUSPLUS; params.init <= GPV_KMEANS_INIT_RANDOM;
         params.init++)
        for (params.seed = 0; params.seed < 20; params.seed++) {
            set(params);
            ck_assert_int_eq(run_views(&src, NULL, &dst), GPV_OK);
            ck_assert_mem_eq(levels, same, sizeof levels);
            found = waited_for();
            ck_assert_int_eq(found.empty, 0);
            ck_assert_double_eq(found.inertia, 0);
        }
}
END_TEST

START_TEST(metrics) {
    static const float centroids[] = {0, 0, 0, 6, 6, 17}, around[] = {10, 0};
    static const char *const source[] = {"6 6 6"};
    gpv_kmeans_params params = defaults();
    params.clusters = 2;
    params.init = GPV_KMEANS_INIT_GIVEN;
    params.max_iterations = 0;
    give(centroids, 2);
    set(params);
    expect_planes(GPV_FORMAT_RGB8, 1, 1, source, "0", (const char *const[]){"0 0 0"},
                  (findings){2, 0, 1, 0, 108, "1 0", NULL, "0 0 0 6 6 17"});
    params.metric = GPV_KMEANS_METRIC_L1; /* which inertia does not know */
    set(params);
    expect_planes(GPV_FORMAT_RGB8, 1, 1, source, "1", (const char *const[]){"6 6 17"},
                  (findings){2, 0, 1, 0, 121, "0 1", NULL, "0 0 0 6 6 17"});
    /* of equal distances that to the lowest number */
    set_given(2, 0, around);
    expect_row("5 4 6", "0 1 0", "10 0 10", (findings){2, 0, 0, 0, 3 * 57, "2 1", "10 0", NULL});
}
END_TEST

START_TEST(chosen_number_of_clusters) {
    gpv_kmeans_params params = grid_of(0);
    const findings three = {3, 2, 0, 1, 18, "2 2 2", "11 101 201", NULL};
    const findings two = {2, 1, 0, 1, 0, "2 1", "0 255", NULL};
    picture src = picture_of_plane(GPV_FORMAT_GRAY8, 5, 1, "7 7 7 7 7");
    picture labels = picture_new(GPV_FORMAT_GRAY8, 5, 1, TIGHT);
    picture dst = picture_new(GPV_FORMAT_GRAY8, 5, 1, TIGHT);
    tables out;
    params.max_clusters = 4;
    set(params);
    expect_row("10 12 100 102 200 202", "0 0 1 1 2 2", "11 11 101 101 201 201", three);
    expect_row("0 0 255", "0 0 1", "0 0 255", two);
    params.max_clusters = 2;
    set(params);
    expect_row("0 0 255", "0 0 1", "0 0 255", two);
    expect_row("10 12 100 102 200 202", "0 0 0 0 1 1", "56 56 56 56 201 201",
               (findings){2, 2, 0, 1, 24318, "4 2", "56 201", NULL});
    for (params.init = GPV_KMEANS_INIT_PLUSPLUS; params.init <= GPV_KMEANS_INIT_GRID;
         params.init++) {
        gpv_kmeans_result found;
        set(params);
        ck_assert_int_eq(run_all(op, &src, &labels, &dst, &out), GPV_OK);
        found = waited_for();
        ck_assert_int_eq(found.clusters, 1);
        ck_assert_int_eq(found.empty, 0);
        ck_assert_double_eq(found.inertia, 0);
        ck_assert_mem_eq(&found, &out.result, sizeof found);
        ck_assert_int_eq(out.counts[0], 5);
        ck_assert_float_eq(out.centroids[0], 7);
        ck_assert_mem_eq(labels.view.data[0], "\0\0\0\0\0", 5);
        ck_assert(picture_equal(&dst, &src));
    }
    picture_free(&src);
    picture_free(&labels);
    picture_free(&dst);
}
END_TEST

START_TEST(a_warm_start) {
    static const char left[] = "10 10 200 200", right[] = "200 200 10 10";
    static const char lefts[] = "0 0 1 1", rights[] = "1 1 0 0";
    static const float given[] = {200, 10}, turned[] = {10, 10, 10, 200, 200, 200};
    const findings up = {2, 1, 0, 1, 0, "2 2", "10 200", NULL};
    const findings down = {2, 1, 0, 1, 0, "2 2", "200 10", NULL};
    gpv_kmeans_params params = grid_of(2);
    gpv_image bad;
    gpv_image_init(&bad, sizeof bad);
    params.warm_start = 1;
    set(params);
    expect_row(left, lefts, left, up); /* there is no run before */
    expect_row(right, rights, right, up);
    ck_assert_int_eq(run_views(&bad, NULL, NULL), INVALID); /* which is no run */
    params.metric = GPV_KMEANS_METRIC_L1;
    params.init = GPV_KMEANS_INIT_RANDOM;
    params.max_clusters = 7; /* is not read */
    params.seed = 5;
    set(params);
    expect_row(right, rights, right, up);
    params.init = GPV_KMEANS_INIT_GRID;
    params.warm_start = 0;
    set(params);
    expect_row(right, lefts, right, down);
    params.warm_start = 1; /* the run before may have been a cold one */
    set(params);
    expect_row(left, rights, left, down);
    params.clusters = 3;
    set(params);
    expect_row("1 2 3", "0 1 2", "1 2 3", (findings){3, 1, 0, 1, 0, "1 1 1", "1 2 3", NULL});
    params.clusters = 2;
    set(params);
    expect_row(left, lefts, left, up);
    params.color_space = GPV_KMEANS_COLOR_SPACE_LAB;
    set(params);
    expect_row("255 255 0 0", lefts, "255 255 0 0",
               (findings){2, 1, 0, 1, 0, "2 2", NULL, "255 128 128 0 128 128"});
    set_given(2, 20, given);
    params = defaults();
    params.clusters = 2;
    params.init = GPV_KMEANS_INIT_GIVEN;
    params.warm_start = 1;
    set(params);
    expect_row(left, rights, left, down);
    give(turned, 2);
    expect_row(left, rights, left, down);
    params.warm_start = 0;
    set(params);
    expect_row(left, lefts, left, up);
}
END_TEST

START_TEST(a_warm_start_keeps_the_chosen_number) {
    gpv_kmeans_params params = grid_of(0);
    const findings two = {2, 1, 0, 1, 0, "1 2", "11 201", NULL};
    params.max_clusters = 4;
    params.warm_start = 1;
    set(params);
    expect_row("10 12 100 102 200 202", "0 0 1 1 2 2", "11 11 101 101 201 201",
               (findings){3, 2, 0, 1, 18, "2 2 2", "11 101 201", NULL});
    expect_row("11 201 201", "0 2 2", "11 201 201",
               (findings){3, 1, 1, 1, 0, "1 0 2", "11 101 201", NULL});
    params.max_clusters = 5;
    set(params);
    expect_row("11 201 201", "0 1 1", "11 201 201", two);
}
END_TEST

START_TEST(picture_formats_are_colours) {
    static const char *const rgb[] = {"255 0 0  0 0 255  255 0 0  250 0 0"};
    static const char *const rgb_means[] = {"253 0 0  0 0 255  253 0 0  253 0 0"};
    static const char *const rgba[] = {"255 0 0 1  0 0 255 2  255 0 0 3  250 0 0 4"};
    static const char *const rgba_means[] = {"253 0 0 1  0 0 255 2  253 0 0 3  253 0 0 4"};
    static const char *const nv12[] = {"16 16 235 235", "128 128 128 128"};
    static const char *const i420[] = {"16 16 235 235", "128 128", "128 128"};
    /* two colours, about 179 0 0 and 255 179 178, in one site */
    static const char *const site[] = {"16 235", "90", "240"};
    static const char *const mean_site[] = {"62 189", "109", "184"};
    const findings as_rgb = {2, 2, 0, 1, 50.0 / 3, "1 3", NULL, "0 0 255 253.333333 0 0"};
    const findings as_bgr = {2, 2, 0, 1, 50.0 / 3, "1 3", NULL, "255 0 0 0 0 253.333333"};
    const findings as_yuv = {2, 1, 0, 1, 0, "2 2", "0 255", NULL};
    static const char labels[] = "1 0 1 1", halves[] = "0 0 1 1";
    set(grid_of(2));
    expect_planes(GPV_FORMAT_RGB8, 4, 1, rgb, labels, rgb_means, as_rgb);
    expect_planes(GPV_FORMAT_BGR8, 4, 1, rgb, labels, rgb_means, as_bgr);
    expect_planes(GPV_FORMAT_RGBA8, 4, 1, rgba, labels, rgba_means, as_rgb);
    expect_planes(GPV_FORMAT_RGBX8, 4, 1, rgba, labels, rgba_means, as_rgb);
    expect_planes(GPV_FORMAT_BGRA8, 4, 1, rgba, labels, rgba_means, as_bgr);
    expect_planes(GPV_FORMAT_BGRX8, 4, 1, rgba, labels, rgba_means, as_bgr);
    expect_planes(GPV_FORMAT_NV12, 4, 1, nv12, halves, nv12, as_yuv);
    expect_planes(GPV_FORMAT_I420, 4, 1, i420, halves, i420, as_yuv);
    expect_planes(GPV_FORMAT_I420, 2, 1, site, "0 1", mean_site,
                  (findings){2, 1, 0, 1, 0, "1 1", NULL, "179 0 0 255 179 178"});
}
END_TEST

START_TEST(the_space_lab) {
    gpv_kmeans_params params = grid_of(2);
    params.color_space = GPV_KMEANS_COLOR_SPACE_LAB;
    set(params);
    expect_row("0 0 255 255", "0 0 1 1", "0 0 255 255",
               (findings){2, 1, 0, 1, 0, "2 2", NULL, "0 128 128 255 128 128"});
}
END_TEST

START_TEST(formats_of_labels) {
    static const char *const planes[][3] = {{"0 0 1 1 2"},
                                            {"0 0 1 1 2", "128 128 128 128 128 128"},
                                            {"0 0 1 1 2", "128 128 128", "128 128 128"}};
    picture src = picture_of_plane(GPV_FORMAT_GRAY8, 5, 1, "1 1 50 50 99");
    size_t i;
    set(grid_of(3));
    for (i = 0; i < COUNT(label_formats); i++) {
        picture want = picture_of(label_formats[i], 5, 1, planes[i]);
        picture labels = picture_new(label_formats[i], 5, 1, TIGHT);
        ck_assert_int_eq(label(&src.view, &labels.view), GPV_OK);
        expect_picture(&labels, &want);
    }
    picture_free(&src);
}
END_TEST

START_TEST(null_params_are_the_defaults) {
    gpv_kmeans_params params = grid_of(2);
    picture src = picture_of_plane(GPV_FORMAT_GRAY8, 4, 1, "0 0 255 255");
    set(params);
    ck_assert_int_eq(gpv_kmeans_set_params(op, NULL), GPV_OK);
    ck_assert_int_eq(run_views(&src.view, NULL, NULL), GPV_OK);
    ck_assert_int_eq(waited_for().clusters, 8);
    /* refused ones leave those in force as they are */
    params.clusters = 1;
    ck_assert_int_eq(gpv_kmeans_set_params(op, &params), INVALID);
    params.clusters = 2;
    params.reserved = 1;
    ck_assert_int_eq(gpv_kmeans_set_params(op, &params), INVALID);
    ck_assert_int_eq(run_views(&src.view, NULL, NULL), GPV_OK);
    ck_assert_int_eq(waited_for().clusters, 8);
    picture_free(&src);
}
END_TEST

START_TEST(colors_of_centroids) {
    static const struct {
        gpv_kmeans_color_space space;
        float centroid[3];
        uint32_t color;
    } cases[] = {
        {GPV_KMEANS_COLOR_SPACE_RGB, {0, 128, 255}, 0x0080FF},
        {GPV_KMEANS_COLOR_SPACE_RGB, {0.49f, 0.5f, 254.5f}, 0x0001FF},
        {GPV_KMEANS_COLOR_SPACE_RGB, {254.49f, 16.49f, 16.5f}, 0xFE1011},
        {GPV_KMEANS_COLOR_SPACE_RGB, {-1, 256, 1e30f}, 0x00FFFF},
        {GPV_KMEANS_COLOR_SPACE_RGB, {-INFINITY, INFINITY, NAN}, 0x00FF00},
        {2, {1, 2, 3}, 0x010203},
        {UINT32_MAX, {1, 2, 3}, 0x010203},
        {GPV_KMEANS_COLOR_SPACE_LAB, {0, 128, 128}, 0x000000},
        {GPV_KMEANS_COLOR_SPACE_LAB, {255, 128, 128}, 0xFFFFFF},
        {GPV_KMEANS_COLOR_SPACE_LAB, {300, 128, 128}, 0xFFFFFF},
        {GPV_KMEANS_COLOR_SPACE_LAB, {127.5f, 128, 128}, 0x777777},             /* L* = 50 */
        {GPV_KMEANS_COLOR_SPACE_LAB, {135.765f, 208.092f, 195.203f}, 0xFF0000}, /* red */
        {GPV_KMEANS_COLOR_SPACE_LAB, {223.709f, 41.817f, 211.179f}, 0x00FF00},  /* green */
        {GPV_KMEANS_COLOR_SPACE_LAB, {82.369f, 207.188f, 20.140f}, 0x0000FF},   /* blue */
        {GPV_KMEANS_COLOR_SPACE_LAB, {255, 255, 255}, 0xFF4600}, /* which no colour has */
    };
    size_t i;
    ck_assert_uint_eq(gpv_kmeans_color(GPV_KMEANS_COLOR_SPACE_RGB, NULL), 0);
    ck_assert_uint_eq(gpv_kmeans_color(GPV_KMEANS_COLOR_SPACE_LAB, NULL), 0);
    for (i = 0; i < COUNT(cases); i++) {
        const uint32_t color = gpv_kmeans_color(cases[i].space, cases[i].centroid);
        ck_assert_msg(color == cases[i].color, "case %zu: %06X", i, color);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("kmeans");
    TCase *group = tcase_create("kmeans");
    tcase_add_checked_fixture(group, setup, teardown);
    tcase_set_timeout(group, 60);
    tcase_add_test(group, init_writes_every_default);
    tcase_add_test(group, struct_sizes);
    tcase_add_test(group, params_ranges);
    tcase_add_test(group, their_number_is_given_with_the_centroids);
    tcase_add_test(group, null_arguments);
    tcase_add_test(group, centroids_ranges);
    tcase_add_test(group, as_many_centroids_as_clusters);
    tcase_add_loop_test(group, bad_images_are_refused_untouched, 0, image_faults);
    tcase_add_test(group, bad_outputs_are_refused_untouched);
    tcase_add_test(group, image_struct_size);
    tcase_add_test(group, formats_of_images);
    tcase_add_test(group, overlap_inside_one_parent);
    tcase_add_test(group, overlap_of_planes);
    tcase_add_loop_test(group, bad_buffers_are_refused_untouched, 0, buffer_faults);
    tcase_add_test(group, buffers_of_other_ages);
    tcase_add_test(group, sizes_and_places_of_buffers);
    tcase_add_test(group, nothing_overlaps);
    tcase_add_loop_test(group, same_bytes_in_every_memory, 0, COUNT(formats));
    tcase_add_test(group, buffers_up_to_the_last_byte);
    tcase_add_test(group, every_allocation_may_fail);
    tcase_add_test(group, nothing_is_allocated_after_prepare);
    tcase_add_test(group, second_run_allocates_nothing);
    tcase_add_test(group, the_context_may_go_first);
    tcase_add_test(group, wait_and_query);
    tcase_add_test(group, contexts_do_not_interfere);
    tcase_add_test(group, two_colours);
    tcase_add_test(group, the_iteration_ends);
    tcase_add_test(group, means_are_rounded_half_up);
    tcase_add_test(group, empty_clusters);
    tcase_add_test(group, fewer_colours_than_clusters);
    tcase_add_test(group, starts);
    tcase_add_test(group, metrics);
    tcase_add_test(group, chosen_number_of_clusters);
    tcase_add_test(group, a_warm_start);
    tcase_add_test(group, a_warm_start_keeps_the_chosen_number);
    tcase_add_test(group, picture_formats_are_colours);
    tcase_add_test(group, the_space_lab);
    tcase_add_test(group, formats_of_labels);
    tcase_add_test(group, null_params_are_the_defaults);
    tcase_add_test(group, colors_of_centroids);
    suite_add_tcase(suite, group);
    return run_suite(suite);
}
