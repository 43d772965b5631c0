/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"

static books keep;
static gpv_context *context;
static gpv_ccl *op;

static void setup(void) {
    context = open_context(&keep);
    keep.fill = 0xA5;
    ck_assert_int_eq(gpv_ccl_create(context, NULL, &op), GPV_OK);
    ck_assert_ptr_nonnull(op);
}

static void teardown(void) {
    gpv_ccl_destroy(&op);
    ck_assert_ptr_null(op);
    gpv_context_destroy(&context);
    ck_assert_int_eq(keep.live, 0);
}

static gpv_ccl_params defaults(void) {
    gpv_ccl_params params;
    gpv_ccl_params_init(&params, sizeof params);
    return params;
}

static gpv_ccl_params output_of(gpv_ccl_output output) {
    gpv_ccl_params params = defaults();
    params.output = output;
    return params;
}

static void set(gpv_ccl_params params) {
    ck_assert_msg(gpv_ccl_set_params(op, &params) == GPV_OK, "%s", gpv_context_error(context));
}

static gpv_status run_views(const gpv_image *src, const gpv_image *dst) {
    return gpv_ccl_run(op, NULL, src, dst, NULL, 0, NULL);
}

static void run(const picture *src, const picture *dst) {
    ck_assert_msg(run_views(&src->view, &dst->view) == GPV_OK, "%s", gpv_context_error(context));
}

/* Of the last run: status, count, records. */
static void expect_result(gpv_status wanted, int count, int components) {
    gpv_ccl_result result;
    gpv_status status;
    gpv_ccl_result_init(&result, sizeof result);
    result.count = result.components = -7;
    status = gpv_ccl_wait(op, &result);
    ck_assert_int_eq(status, wanted);
    ck_assert_int_eq(gpv_ccl_wait(op, NULL), wanted);
    ck_assert_int_eq(gpv_ccl_query(op), wanted);
    ck_assert_int_eq(result.count, count);
    ck_assert_int_eq(result.components, components);
    ck_assert_uint_eq(result.reserved, 0);
    ck_assert_uint_eq(result.struct_size, sizeof result);
}

/* ------------------------------------------------------------------- structs */

static void init_params(void *place, uint32_t size) {
    gpv_ccl_params_init(place, size);
}

static void init_result(void *place, uint32_t size) {
    gpv_ccl_result_init(place, size);
}

START_TEST(init_writes_every_default) {
    gpv_ccl_params params;
    gpv_ccl_result result;
    memset(&params, 0xC5, sizeof params);
    gpv_ccl_params_init(&params, sizeof params);
    ck_assert_uint_eq(params.struct_size, sizeof params);
    ck_assert_uint_eq(params.mode, GPV_CCL_MODE_BINARY);
    ck_assert_int_eq(params.connectivity, 8);
    ck_assert_int_eq(params.threshold, 1);
    ck_assert_int_eq(params.foreground, -1);
    ck_assert_uint_eq(params.invert, 0);
    ck_assert_int_eq(params.min_area, 0);
    ck_assert_int_eq(params.max_area, 0);
    ck_assert_uint_eq(params.output, GPV_CCL_OUTPUT_LABELS);
    ck_assert_uint_eq(params.reserved, 0);
    memset(&result, 0xC5, sizeof result);
    gpv_ccl_result_init(&result, sizeof result);
    ck_assert_uint_eq(result.struct_size, sizeof result);
    ck_assert_int_eq(result.count, 0);
    ck_assert_int_eq(result.components, 0);
    ck_assert_uint_eq(result.reserved, 0);
    expect_init_within(sizeof params, init_params);
    expect_init_within(sizeof result, init_result);
}
END_TEST

/* Both create and set_params must say the same. */
static void expect_params(const gpv_ccl_params *params, gpv_status wanted, const char *text) {
    gpv_ccl *other = (gpv_ccl *)&keep;
    const gpv_status status = gpv_ccl_create(context, params, &other);
    ck_assert_int_eq(status == GPV_OK, other != NULL);
    expect_status(context, &keep, status, wanted, text);
    gpv_ccl_destroy(&other);
    keep.text[0] = 0;
    expect_status(context, &keep, gpv_ccl_set_params(op, params), wanted, text);
}

static void expect_params_at(const void *place, gpv_status wanted, const char *text) {
    expect_params(place, wanted, text);
}

/* What lies in a result before is not looked at, and fields of the future become 0. */
static void expect_result_at(const void *place, gpv_status wanted, const char *text) {
    gpv_ccl_result *result = (gpv_ccl_result *)place;
    const uint32_t size = result->struct_size;
    const gpv_status status = gpv_ccl_wait(op, result);
    uint32_t i;
    ck_assert_uint_eq(result->struct_size, size);
    if (wanted == INVALID) {
        expect_error(context, &keep, status, INVALID, text);
        ck_assert_int_eq(result->count, 0);
        return;
    }
    ck_assert_int_eq(status, GPV_OK);
    ck_assert_int_eq(result->count, 1);
    for (i = sizeof *result; i < size; i++)
        ck_assert_uint_eq(((const unsigned char *)place)[i], 0);
}

START_TEST(struct_sizes) {
    picture src = picture_new(GPV_FORMAT_GRAY8, 9, 7, TIGHT);
    memset(src.view.data[0], 255, 63);
    ck_assert_int_eq(run_views(&src.view, NULL), GPV_OK);
    expect_struct_sizes("params", sizeof(gpv_ccl_params), init_params, expect_params_at);
    expect_struct_sizes("result", sizeof(gpv_ccl_result), init_result, expect_result_at);
    picture_free(&src);
}
END_TEST

#define PARAM(field, value) offsetof(gpv_ccl_params, field), (uint32_t)(value)

START_TEST(params_ranges) {
    static const struct {
        size_t offset;
        uint32_t value;
        const char *text; /* NULL = legal */
    } cases[] = {
        {PARAM(mode, 1), NULL},
        {PARAM(mode, 2), "params->mode|is 2|0..1"},
        {PARAM(mode, UINT32_MAX), "params->mode|4294967295|0..1"},
        {PARAM(connectivity, 4), NULL},
        {PARAM(connectivity, 8), NULL},
        {PARAM(connectivity, 0), "params->connectivity|is 0|4 or 8"},
        {PARAM(connectivity, 5), "params->connectivity|is 5|4 or 8"},
        {PARAM(connectivity, 6), "params->connectivity|is 6|4 or 8"},
        {PARAM(connectivity, -8), "params->connectivity|-8|4 or 8"},
        {PARAM(connectivity, INT32_MIN), "params->connectivity|-2147483648|4 or 8"},
        {PARAM(threshold, 0), NULL},
        {PARAM(threshold, 65535), NULL},
        {PARAM(threshold, -1), "params->threshold|-1|0..65535"},
        {PARAM(threshold, 65536), "params->threshold|65536|0..65535"},
        {PARAM(threshold, INT32_MAX), "params->threshold|2147483647|0..65535"},
        {PARAM(foreground, -1), NULL},
        {PARAM(foreground, 65535), NULL},
        {PARAM(foreground, -2), "params->foreground|-2|-1..65535"},
        {PARAM(foreground, 65536), "params->foreground|65536|-1..65535"},
        {PARAM(foreground, INT32_MIN), "params->foreground|-2147483648|-1..65535"},
        {PARAM(invert, 1), NULL},
        {PARAM(invert, 2), "params->invert|is 2|0..1"},
        {PARAM(invert, UINT32_MAX), "params->invert|4294967295|0..1"},
        {PARAM(min_area, GPV_MAX_PIXELS), NULL},
        {PARAM(min_area, -1), "params->min_area|-1|0..1073741824"},
        {PARAM(min_area, GPV_MAX_PIXELS + 1), "params->min_area|1073741825|0..1073741824"},
        {PARAM(min_area, INT32_MAX), "params->min_area|2147483647|0..1073741824"},
        {PARAM(max_area, GPV_MAX_PIXELS), NULL},
        {PARAM(max_area, -1), "params->max_area|-1|0..1073741824"},
        {PARAM(max_area, GPV_MAX_PIXELS + 1), "params->max_area|1073741825|0..1073741824"},
        {PARAM(max_area, INT32_MIN), "params->max_area|-2147483648|0..1073741824"},
        {PARAM(output, 2), NULL},
        {PARAM(output, 3), "params->output|is 3|0..2"},
        {PARAM(output, UINT32_MAX), "params->output|4294967295|0..2"},
        {PARAM(reserved, 1), "params->reserved|is 1|0..0"},
        {PARAM(reserved, 0x80000000u), "params->reserved|2147483648|0..0"},
    };
    size_t i;
    for (i = 0; i < COUNT(cases); i++) {
        gpv_ccl_params params = defaults();
        memcpy((char *)&params + cases[i].offset, &cases[i].value, sizeof cases[i].value);
        expect_params(&params, cases[i].text ? INVALID : GPV_OK, cases[i].text);
    }
}
END_TEST

START_TEST(null_arguments) {
    picture good = picture_new(GPV_FORMAT_GRAY8, 4, 4, TIGHT);
    gpv_ccl_result result;
    gpv_ccl *none = NULL;
    gpv_ccl *other = (gpv_ccl *)&keep;
    picture_fill(&good, 1);
    memset(&result, 0xC5, sizeof result);
    ck_assert_int_eq(gpv_ccl_create(NULL, NULL, &other), INVALID);
    ck_assert_ptr_null(other);
    ck_assert_int_eq(gpv_ccl_create(NULL, NULL, NULL), INVALID);
    expect_error(context, &keep, gpv_ccl_create(context, NULL, NULL), INVALID, "out|NULL");
    ck_assert_int_eq(gpv_ccl_set_params(NULL, NULL), INVALID);
    ck_assert_int_eq(gpv_ccl_prepare(NULL, &good.view, NULL, 0), INVALID);
    ck_assert_int_eq(gpv_ccl_run(NULL, NULL, &good.view, NULL, NULL, 0, NULL), INVALID);
    ck_assert_int_eq(gpv_ccl_query(NULL), INVALID);
    ck_assert_int_eq(gpv_ccl_wait(NULL, &result), INVALID);
    ck_assert_uint_eq(result.struct_size, 0xC5C5C5C5u);
    expect_error(context, &keep, gpv_ccl_prepare(op, NULL, &good.view, 0), INVALID, "src|NULL");
    expect_error(context, &keep, run_views(NULL, &good.view), INVALID, "src|NULL");
    gpv_ccl_destroy(NULL);
    gpv_ccl_destroy(&none);
    picture_free(&good);
}
END_TEST

/* -------------------------------------------------------------------- images */

START_TEST(bad_images_are_refused_untouched) {
    unsigned char *memory = forbidden_memory(1 << 22);
    const gpv_image good = forbidden_image(memory);
    const gpv_image other = forbidden_image(memory + (1 << 21));
    gpv_image bad = good;
    const bool shape = spoil_image(&bad, _i);
    gpv_status as_src, as_dst;
    set(output_of(GPV_CCL_OUTPUT_COLORS));
    expect_image_error(context, &keep, run_views(&bad, &other), "src", _i);
    expect_image_error(context, &keep, run_views(&other, &bad), "dst", _i);
    expect_image_error(context, &keep, run_views(&bad, &bad), "src", _i);
    expect_image_error(context, &keep, run_views(&bad, NULL), "src", _i);
    if (!shape) {
        /* data and stride are not looked at */
        ck_assert_int_eq(gpv_ccl_prepare(op, &bad, NULL, 0), GPV_OK);
        return;
    }
    as_src = gpv_ccl_prepare(op, &bad, &other, 0);
    expect_image_error(context, &keep, as_src, "src", _i);
    as_dst = gpv_ccl_prepare(op, &other, &bad, 0);
    expect_image_error(context, &keep, as_dst, "dst", _i);
}
END_TEST

static void expect_src_at(const void *place, gpv_status wanted, const char *text) {
    const gpv_image good = forbidden_image(forbidden_memory(1 << 21));
    const gpv_image *dst = wanted == GPV_OK ? place : NULL;
    expect_status(context, &keep, gpv_ccl_prepare(op, place, dst, 0), wanted, text);
    if (wanted != GPV_OK)
        expect_error(context, &keep, run_views(place, &good), wanted, text);
}

static void expect_dst_at(const void *place, gpv_status wanted, const char *text) {
    const gpv_image good = forbidden_image(forbidden_memory(1 << 21));
    expect_status(context, &keep, gpv_ccl_prepare(op, &good, place, 0), wanted, text);
    if (wanted != GPV_OK)
        expect_error(context, &keep, run_views(&good, place), wanted, text);
}

START_TEST(image_struct_size) {
    set(output_of(GPV_CCL_OUTPUT_COLORS));
    expect_struct_sizes("src", sizeof(gpv_image), init_forbidden_image, expect_src_at);
    expect_struct_sizes("dst", sizeof(gpv_image), init_forbidden_image, expect_dst_at);
}
END_TEST

/* Whether dst of a format can receive that output. */
static bool is_output(gpv_ccl_output output, gpv_format format) {
    switch (output) {
    case GPV_CCL_OUTPUT_LABELS:
        return format == GPV_FORMAT_LABEL32 || format == GPV_FORMAT_GRAY16 ||
               format == GPV_FORMAT_P016;
    case GPV_CCL_OUTPUT_MASK:
        return format == GPV_FORMAT_GRAY8 || format == GPV_FORMAT_NV12 || format == GPV_FORMAT_I420;
    default:
        return format == GPV_FORMAT_GRAY8 ||
               (format >= GPV_FORMAT_RGB8 && format <= GPV_FORMAT_I420);
    }
}

START_TEST(each_output_has_its_formats) {
    static const char *const texts[] = {"LABEL32, GRAY16 or P016", "GRAY8, NV12 or I420",
                                        "GRAY8, RGB8|BGRX8, NV12 or I420"};
    unsigned char *memory = forbidden_memory(1 << 22);
    const gpv_image src = forbidden_image(memory);
    gpv_image dst = forbidden_image(memory + (1 << 21));
    gpv_ccl_output output;
    for (output = GPV_CCL_OUTPUT_LABELS; output <= GPV_CCL_OUTPUT_COLORS; output++) {
        set(output_of(output));
        for (dst.format = 1; dst.format <= GPV_FORMAT_CAP32X8; dst.format++) {
            char text[128];
            if (is_output(output, dst.format)) {
                ck_assert_int_eq(gpv_ccl_prepare(op, &src, &dst, 0), GPV_OK);
                continue;
            }
            snprintf(text, sizeof text, "dst->format|%s|%s", format_name(dst.format),
                     texts[output]);
            expect_error(context, &keep, run_views(&src, &dst), UNSUPPORTED, text);
            expect_error(context, &keep, gpv_ccl_prepare(op, &src, &dst, 0), UNSUPPORTED, text);
        }
    }
}
END_TEST

START_TEST(misaligned_samples) {
    static const struct {
        gpv_format format;
        int bytes;
    } cases[] = {{GPV_FORMAT_LABEL32, 4}, {GPV_FORMAT_GRAY16, 2}, {GPV_FORMAT_P016, 2}};
    unsigned char *memory = forbidden_memory(1 << 22);
    gpv_image src = forbidden_image(memory);
    gpv_image dst = forbidden_image(memory + (1 << 21));
    size_t i;
    int offset;
    for (i = 0; i < COUNT(cases); i++)
        for (offset = 1; offset < cases[i].bytes; offset++) {
            char text[64];
            snprintf(text, sizeof text, "dst->data[0]|dst->stride[0]|%d bytes", cases[i].bytes);
            dst.format = cases[i].format;
            dst.data[0] = memory + (1 << 21) + offset;
            expect_error(context, &keep, run_views(&src, &dst), INVALID, text);
            dst.data[0] = memory + (1 << 21);
            dst.stride[0] = 4096 + offset;
            expect_error(context, &keep, run_views(&src, &dst), INVALID, text);
            dst.stride[0] = 4096;
        }
    src.format = GPV_FORMAT_GRAY16;
    src.data[0] = memory + 1;
    expect_error(context, &keep, run_views(&src, NULL), INVALID, "src->data[0]|2 bytes");
}
END_TEST

START_TEST(destination_must_be_as_large) {
    unsigned char *memory = forbidden_memory(1 << 22);
    const gpv_image src = forbidden_image(memory);
    gpv_image dst = forbidden_image(memory + (1 << 21));
    dst.format = GPV_FORMAT_LABEL32;
    dst.width = IMAGE_W - 1;
    expect_error(context, &keep, run_views(&src, &dst), INVALID, "dst|63x48|src|64x48");
    expect_error(context, &keep, gpv_ccl_prepare(op, &src, &dst, 0), INVALID,
                 "dst|63x48|src|64x48");
    dst.width = IMAGE_W;
    dst.height = IMAGE_H + 1;
    expect_error(context, &keep, run_views(&src, &dst), INVALID, "dst|64x49|src|64x48");
    expect_error(context, &keep, gpv_ccl_prepare(op, &src, &dst, 0), INVALID,
                 "dst|64x49|src|64x48");
}
END_TEST

START_TEST(luma_beyond_the_format) {
    unsigned char *memory = forbidden_memory(1 << 22);
    gpv_image src = forbidden_image(memory);
    gpv_ccl_params threshold = defaults(), foreground = defaults();
    size_t i;
    threshold.threshold = 256;
    foreground.foreground = 256;
    for (i = 0; i < COUNT(picture_formats); i++) {
        src.format = picture_formats[i];
        if (src.format == GPV_FORMAT_GRAY16) {
            set(threshold);
            ck_assert_int_eq(gpv_ccl_prepare(op, &src, NULL, 0), GPV_OK);
            set(foreground);
            ck_assert_int_eq(gpv_ccl_prepare(op, &src, NULL, 0), GPV_OK);
            continue;
        }
        set(threshold);
        expect_error(context, &keep, run_views(&src, NULL), INVALID,
                     "params->threshold|256|0..255");
        expect_error(context, &keep, gpv_ccl_prepare(op, &src, NULL, 0), INVALID,
                     "params->threshold|256|0..255");
        set(foreground);
        expect_error(context, &keep, run_views(&src, NULL), INVALID,
                     "params->foreground|256|-1..255");
        expect_error(context, &keep, gpv_ccl_prepare(op, &src, NULL, 0), INVALID,
                     "params->foreground|256|-1..255");
    }
}
END_TEST

START_TEST(overlap_inside_one_parent) {
    set(output_of(GPV_CCL_OUTPUT_MASK));
    expect_overlaps_refused(context, &keep, "dst", run_views, false);
}
END_TEST

START_TEST(overlap_of_planes) {
    unsigned char *memory = forbidden_memory(1 << 22);
    gpv_image src = forbidden_image(memory);
    gpv_image dst = forbidden_image(memory + (1 << 21));
    set(output_of(GPV_CCL_OUTPUT_COLORS));
    dst.format = GPV_FORMAT_I420;
    dst.data[2] = src.data[0];
    expect_error(context, &keep, run_views(&src, &dst), INVALID, "dst|overlaps|src");
    dst.data[2] = dst.data[1];
    expect_error(context, &keep, run_views(&src, &dst), INVALID, "two planes|dst|overlap");
    src.format = dst.format = GPV_FORMAT_NV12;
    dst = src;
    expect_error(context, &keep, run_views(&src, &dst), INVALID, "dst|overlaps|src");
    dst.data[0] = memory + (1 << 21); /* chroma is still that of src */
    expect_error(context, &keep, run_views(&src, &dst), INVALID, "dst|overlaps|src");
}
END_TEST

/* ------------------------------------------------------------------- buffers */

START_TEST(bad_buffers_are_refused_untouched) {
    unsigned char *memory = forbidden_memory(1 << 22);
    const gpv_image src = forbidden_image(memory);
    const gpv_buffer good = buffer_of(memory + (1 << 21), 4096);
    const gpv_buffer bad = spoiled_buffer(good, _i);
    const gpv_buffer count = buffer_of(memory + (3 << 20), 4);
    expect_buffer_error(context, &keep, gpv_ccl_run(op, NULL, &src, NULL, &bad, 0, &count),
                        "components", _i);
    expect_buffer_error(context, &keep, gpv_ccl_run(op, NULL, &src, NULL, &good, 0, &bad), "count",
                        _i);
    expect_buffer_error(context, &keep, gpv_ccl_run(op, NULL, &src, NULL, NULL, 0, &bad), "count",
                        _i);
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
    expect_error(context, &keep, gpv_ccl_run(op, NULL, &src, NULL, longer, 0, NULL), UNSUPPORTED,
                 "components|newer|44");
    expect_error(context, &keep, gpv_ccl_run(op, NULL, &src, NULL, NULL, 0, longer), UNSUPPORTED,
                 "count|newer|44");
}
END_TEST

START_TEST(sizes_and_places_of_buffers) {
    unsigned char *memory = forbidden_memory(1 << 22);
    const gpv_image src = forbidden_image(memory);
    const gpv_buffer good = buffer_of(memory + (1 << 21), 4096);
    static const struct {
        uint32_t stride;
        const char *text;
    } strides[] = {{1, "component_stride|is 1,|40..4096"},
                   {32, "component_stride|32|40..4096"},
                   {39, "component_stride|39|40..4096"},
                   {41, "component_stride|8"},
                   {44, "component_stride|8"},
                   {4095, "component_stride|8"},
                   {4097, "component_stride|4097|40..4096"},
                   {4104, "component_stride|4104|40..4096"},
                   {UINT32_MAX, "component_stride|4294967295|40..4096"}};
    gpv_buffer bad = good;
    size_t i;
    for (i = 0; i < COUNT(strides); i++)
        expect_error(context, &keep,
                     gpv_ccl_run(op, NULL, &src, NULL, &good, strides[i].stride, NULL), INVALID,
                     strides[i].text);
    bad.size = sizeof(gpv_ccl_component) - 1;
    expect_error(context, &keep, gpv_ccl_run(op, NULL, &src, NULL, &bad, 0, NULL), INVALID,
                 "components->size|39|40..");
    for (i = 1; i < 8; i++) {
        bad = buffer_of((unsigned char *)good.data + i, 4096);
        expect_error(context, &keep, gpv_ccl_run(op, NULL, &src, NULL, &bad, 0, NULL), INVALID,
                     "components->data|8 bytes");
        if (i % 4)
            expect_error(context, &keep, gpv_ccl_run(op, NULL, &src, NULL, NULL, 0, &bad), INVALID,
                         "count->data|4 bytes");
    }
    expect_error(context, &keep, gpv_ccl_prepare(op, &src, NULL, -1), INVALID,
                 "components|-1|0..2147483647");
    expect_error(context, &keep, gpv_ccl_prepare(op, &src, NULL, INT32_MIN), INVALID,
                 "components|-2147483648|0..2147483647");
}
END_TEST

START_TEST(buffers_overlap_nothing) {
    unsigned char *memory = forbidden_memory(1 << 22);
    const gpv_image src = forbidden_image(memory + 4096);
    gpv_image dst = forbidden_image(memory + (1 << 21));
    /* of the source: rows of 64 bytes at a distance of 4096 */
    unsigned char *const ends[] = {memory + 4096 - 32, memory + 4096 + 47 * 4096 + 56};
    unsigned char *const counts[] = {memory + 4096, memory + 4096 + 47 * 4096 + 60};
    const gpv_buffer far = buffer_of(memory + (3 << 20), 4096);
    size_t i;
    dst.format = GPV_FORMAT_LABEL32;
    for (i = 0; i < 2; i++) {
        const gpv_buffer records = buffer_of(ends[i], 40), count = buffer_of(counts[i], 4);
        expect_error(context, &keep, gpv_ccl_run(op, NULL, &src, &dst, &records, 0, NULL), INVALID,
                     "components|overlaps|src");
        expect_error(context, &keep, gpv_ccl_run(op, NULL, &src, &dst, &far, 0, &count), INVALID,
                     "count|overlaps|src");
    }
    {
        const gpv_buffer records = buffer_of((unsigned char *)dst.data[0] + 47 * 4096 + 248, 40);
        const gpv_buffer count = buffer_of((unsigned char *)dst.data[0] + 47 * 4096 + 252, 4);
        const gpv_buffer inside = buffer_of((unsigned char *)far.data + 4092, 4);
        expect_error(context, &keep, gpv_ccl_run(op, NULL, &src, &dst, &records, 0, NULL), INVALID,
                     "components|overlaps|dst");
        expect_error(context, &keep, gpv_ccl_run(op, NULL, &src, &dst, NULL, 0, &count), INVALID,
                     "count|overlaps|dst");
        expect_error(context, &keep, gpv_ccl_run(op, NULL, &src, &dst, &far, 0, &inside), INVALID,
                     "count|overlaps|components");
    }
}
END_TEST

/* ------------------------------------------------------- memory of the caller */

/* Parameters that reach every path of the CPU backend. */
static gpv_ccl_params variant(int i) {
    gpv_ccl_params params = output_of((gpv_ccl_output)(i % 3));
    params.mode = (gpv_ccl_mode)(i / 3 % 2);
    params.connectivity = i / 6 % 2 ? 4 : 8;
    params.min_area = i / 12 % 2 ? 3 : 0;
    params.max_area = i / 24 % 2 ? 40 : 0;
    params.threshold = 140;
    params.foreground = i / 48 % 2 ? 7 : -1;
    params.invert = (uint32_t)(i / 2 % 2);
    return params;
}
enum { VARIANTS = 96 };

/* One of those that the variant's dst may have. */
static gpv_format format_of(int i) {
    static const gpv_format formats[][3] = {
        {GPV_FORMAT_LABEL32, GPV_FORMAT_GRAY16, GPV_FORMAT_P016},
        {GPV_FORMAT_GRAY8, GPV_FORMAT_NV12, GPV_FORMAT_I420},
        {GPV_FORMAT_BGRA8, GPV_FORMAT_RGB8, GPV_FORMAT_NV12}};
    return formats[i % 3][i / 3 % 3];
}

/* Neither the place of an image nor what scratch held before may change a bit. */
START_TEST(same_bytes_in_every_memory) {
    const gpv_format format = picture_formats[_i];
    size_t s;
    int v, how;
    for (s = 0; s < COUNT(picture_sizes); s++)
        for (v = (int)s % 2; v < VARIANTS; v += 2) {
            picture src[LAYOUTS], dst[LAYOUTS];
            picture before = picture_new(format, picture_sizes[s][0], picture_sizes[s][1], TIGHT);
            picture_fill(&before, 7);
            for (how = 0; how < LAYOUTS; how++) {
                src[how] =
                    picture_new(format, picture_sizes[s][0], picture_sizes[s][1], (layout)how);
                dst[how] = picture_new(format_of(v), picture_sizes[s][0], picture_sizes[s][1],
                                       (layout)how);
                keep.fill ^= 0xFF;
                picture_fill(&src[how], 7);
                set(variant(v));
                run(&src[how], &dst[how]);
                ck_assert_msg(picture_equal(&dst[how], &dst[TIGHT]),
                              "variant %d of %s, %dx%d, layout %d", v, format_name(format),
                              picture_sizes[s][0], picture_sizes[s][1], how);
                ck_assert(picture_equal(&src[how], &before));
                ck_assert(picture_intact(&src[how]) && picture_intact(&dst[how]));
            }
            for (how = 0; how < LAYOUTS; how++) {
                picture_free(&src[how]);
                picture_free(&dst[how]);
            }
            picture_free(&before);
        }
}
END_TEST

/* Records that end at memory which must not be touched, and padding between them that must not
 * be written. */
START_TEST(records_up_to_the_last_byte) {
    picture src = picture_new(GPV_FORMAT_GRAY8, 9, 1, TIGHT);
    picture wall = picture_new(GPV_FORMAT_GRAY8, 64 + 64 + 40, 1, WALL_RIGHT);
    unsigned char *room = wall.view.data[0];
    const gpv_buffer records = buffer_of(room, 64 + 64 + 40);
    int i, k;
    memcpy(src.view.data[0], "\0\1\0\1\1\0\0\1\1", 9);
    memset(room, 0xC5, records.size);
    ck_assert_int_eq(gpv_ccl_run(op, NULL, &src.view, NULL, &records, 64, NULL), GPV_OK);
    expect_result(GPV_OK, 3, 3);
    for (i = 0; i < 3; i++) {
        static const gpv_ccl_component want[] = {
            {1, 0, 2, 1, 1, 0, 1, 0}, {3, 0, 5, 1, 2, 0, 7, 0}, {7, 0, 9, 1, 2, 0, 15, 0}};
        ck_assert_mem_eq(room + 64 * i, &want[i], sizeof want[i]);
        for (k = 40; k < 64 && i < 2; k++)
            ck_assert_uint_eq(room[64 * i + k], 0xC5);
    }
    picture_free(&src);
    picture_free(&wall);
}
END_TEST

/* ------------------------------------------------------------------ allocator */

static gpv_status run_all(gpv_ccl *which, const picture *src, const picture *dst,
                          const gpv_buffer *records, const gpv_buffer *count) {
    return gpv_ccl_run(which, NULL, &src->view, &dst->view, records, 0, count);
}

START_TEST(every_allocation_may_fail) {
    int v;
    for (v = 0; v < VARIANTS; v++) {
        const gpv_ccl_params params = variant(v);
        picture src = picture_new(picture_formats[v % COUNT(picture_formats)], 41, 13, TIGHT);
        picture want = picture_new(format_of(v), 41, 13, TIGHT);
        picture got = picture_new(format_of(v), 41, 13, TIGHT);
        gpv_ccl_component room[41 * 13], wanted[41 * 13];
        int32_t count;
        const gpv_buffer records = buffer_of(room, sizeof room);
        const gpv_buffer counted = buffer_of(&count, sizeof count);
        int needed, failures = 0;
        gpv_ccl *fresh = NULL;
        picture_fill(&src, 3);
        memset(room, 0xC5, sizeof room);
        keep.allocations = 0;
        ck_assert_int_eq(gpv_ccl_create(context, &params, &fresh), GPV_OK);
        ck_assert_int_eq(run_all(fresh, &src, &want, &records, &counted), GPV_OK);
        needed = keep.allocations;
        ck_assert_int_gt(needed, 0);
        memcpy(wanted, room, sizeof room);
        gpv_ccl_destroy(&fresh);
        for (keep.fail_at = 1;; keep.fail_at++) {
            gpv_status status;
            const int live = keep.live;
            keep.allocations = 0;
            ck_assert_int_eq(gpv_ccl_create(context, &params, &fresh), GPV_OK);
            status = v % 2 ? gpv_ccl_prepare(fresh, &src.view, &want.view, 41 * 13)
                           : run_all(fresh, &src, &got, &records, &counted);
            if (status != GPV_OK) {
                expect_error(context, &keep, status, GPV_ERR_OUT_OF_MEMORY, "bytes");
                failures++;
            }
            ck_assert_int_eq(status == GPV_OK, keep.allocations < keep.fail_at);
            /* the next call is right */
            memset(room, 0xC5, sizeof room);
            ck_assert_int_eq(run_all(fresh, &src, &got, &records, &counted), GPV_OK);
            ck_assert(picture_equal(&want, &got));
            ck_assert_mem_eq(room, wanted, sizeof room);
            gpv_ccl_destroy(&fresh);
            ck_assert_int_eq(keep.live, live);
            if (status == GPV_OK)
                break;
        }
        ck_assert_int_ge(failures, needed);
        keep.fail_at = 0;
        picture_free(&src);
        picture_free(&want);
        picture_free(&got);
    }
}
END_TEST

START_TEST(nothing_is_allocated_after_prepare) {
    int v;
    for (v = 0; v < VARIANTS; v++) {
        const gpv_ccl_params params = variant(v);
        picture src = picture_new(picture_formats[v % COUNT(picture_formats)], 53, 31, TIGHT);
        picture dst = picture_new(format_of(v), 53, 31, TIGHT);
        gpv_ccl_component room[100];
        int32_t count;
        const gpv_buffer records = buffer_of(room, sizeof room);
        const gpv_buffer counted = buffer_of(&count, sizeof count);
        gpv_image shape = src.view, other = dst.view;
        gpv_ccl *fresh = NULL;
        int before;
        /* neither of them is read */
        shape.data[0] = other.data[0] = NULL;
        shape.stride[0] = other.stride[0] = 0;
        picture_fill(&src, 3);
        before = keep.allocations;
        ck_assert_int_eq(gpv_ccl_create(context, &params, &fresh), GPV_OK);
        ck_assert_int_eq(gpv_ccl_prepare(fresh, &shape, &other, 100), GPV_OK);
        ck_assert_int_gt(keep.allocations, before);
        before = keep.allocations;
        ck_assert_int_eq(run_all(fresh, &src, &dst, &records, &counted), GPV_OK);
        ck_assert_int_eq(run_all(fresh, &src, &dst, &records, NULL), GPV_OK);
        ck_assert_int_eq(run_all(fresh, &src, &dst, NULL, NULL), GPV_OK);
        ck_assert_int_eq(gpv_ccl_run(fresh, NULL, &src.view, NULL, NULL, 0, NULL), GPV_OK);
        ck_assert_msg(keep.allocations == before, "variant %d", v);
        gpv_ccl_destroy(&fresh);
        picture_free(&src);
        picture_free(&dst);
    }
}
END_TEST

START_TEST(second_run_allocates_nothing) {
    picture src = picture_new(GPV_FORMAT_RGBA8, 53, 31, TIGHT);
    picture dst = picture_new(GPV_FORMAT_LABEL32, 53, 31, TIGHT);
    gpv_stream stream = &keep;
    int before;
    picture_fill(&src, 3);
    ck_assert_int_eq(gpv_ccl_run(op, stream, &src.view, &dst.view, NULL, 0, NULL), GPV_OK);
    ck_assert_int_gt(keep.allocations, 0);
    ck_assert_ptr_eq(keep.stream, stream);
    before = keep.allocations;
    ck_assert_int_eq(gpv_ccl_run(op, stream, &src.view, &dst.view, NULL, 0, NULL), GPV_OK);
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
    ck_assert_int_eq(run_views(&src.view, NULL), GPV_OK);
    ck_assert_int_eq(run_views(NULL, NULL), INVALID);
    ck_assert_int_eq(gpv_ccl_wait(op, NULL), GPV_OK);
    gpv_ccl_destroy(&op);
    ck_assert_int_eq(keep.live, 0);
    picture_free(&src);
}
END_TEST

START_TEST(wait_and_query) {
    picture src = picture_new(GPV_FORMAT_GRAY8, 9, 1, TIGHT);
    gpv_ccl_component room[2];
    const gpv_buffer records = buffer_of(room, sizeof room);
    gpv_image bad;
    expect_result(GPV_OK, 0, 0); /* has not run */
    memcpy(src.view.data[0], "\0\1\0\1\1\0\0\1\1", 9);
    ck_assert_int_eq(run_views(&src.view, NULL), GPV_OK);
    expect_result(GPV_OK, 3, 0);
    ck_assert_str_eq(gpv_context_error(context), "");
    ck_assert_int_eq(gpv_ccl_run(op, NULL, &src.view, NULL, &records, 0, NULL), GPV_OK);
    expect_result(GPV_ERR_TOO_SMALL, 3, 2);
    expect_text(gpv_context_error(context), "3 components|room|2");
    /* what was refused for its arguments does not count */
    bad = src.view;
    bad.width = 0;
    ck_assert_int_eq(run_views(&bad, NULL), INVALID);
    expect_result(GPV_ERR_TOO_SMALL, 3, 2);
    ck_assert_int_eq(gpv_stream_sync(context, NULL), GPV_OK);
    memset(src.view.data[0], 0, 9);
    ck_assert_int_eq(gpv_ccl_run(op, NULL, &src.view, NULL, &records, 0, NULL), GPV_OK);
    expect_result(GPV_OK, 0, 0);
    picture_free(&src);
}
END_TEST

enum { IMAGES = 40 };

/* A run of many variants on a context of its own; gives a hash of the results, 0 if a call failed.
 * Check takes no assertion from another thread. */
static void *own_context(void *hash) {
    gpv_context *mine = NULL;
    gpv_ccl *my_op = NULL;
    uint64_t sum = 0;
    int i, failed = gpv_context_create(NULL, &mine) || gpv_ccl_create(mine, NULL, &my_op);
    for (i = 0; i < IMAGES && !failed; i++) {
        const gpv_ccl_params params = variant(i * 5);
        picture src = picture_new(picture_formats[i % (int)COUNT(picture_formats)], 97, 61, TIGHT);
        picture dst = picture_new(format_of(i * 5), 97, 61, TIGHT);
        gpv_ccl_result result;
        gpv_ccl_result_init(&result, sizeof result);
        picture_fill(&src, (unsigned)i);
        failed = gpv_ccl_set_params(my_op, &params) ||
                 gpv_ccl_run(my_op, NULL, &src.view, &dst.view, NULL, 0, NULL) ||
                 gpv_ccl_wait(my_op, &result);
        sum = picture_hash(&dst, sum) + (uint64_t)result.count;
        picture_free(&src);
        picture_free(&dst);
    }
    gpv_ccl_destroy(&my_op);
    gpv_context_destroy(&mine);
    *(uint64_t *)hash = failed ? 0 : sum;
    return NULL;
}

START_TEST(contexts_do_not_interfere) {
    expect_same_in_threads(own_context);
}
END_TEST

/* ------------------------------------------------- results worked out by hand */

static void expect_planes(gpv_ccl_params params, gpv_format from, gpv_format to, int width,
                          int height, const char *const *source, const char *const *result) {
    picture src = picture_of(from, width, height, source);
    picture want = picture_of(to, width, height, result);
    picture dst = picture_new(to, width, height, TIGHT);
    set(params);
    run(&src, &dst);
    expect_picture(&dst, &want);
    picture_free(&src);
}

static void expect_labels(gpv_ccl_params params, int width, int height, const char *source,
                          const char *labels) {
    expect_planes(params, GPV_FORMAT_GRAY8, GPV_FORMAT_LABEL32, width, height, &source, &labels);
}

/* Two that touch at a corner, a ring with a dot in it, and a bar. */
static const char shapes[] = "##...####"
                             "..#..#..#"
                             "..#..#.##"
                             ".....#..."
                             "#.#.#####";

START_TEST(connectivity) {
    gpv_ccl_params params = defaults();
    expect_labels(params, 9, 5, shapes,
                  "1 1 0 0 0 2 2 2 2 "
                  "0 0 1 0 0 2 0 0 2 "
                  "0 0 1 0 0 2 0 2 2 "
                  "0 0 0 0 0 2 0 0 0 "
                  "3 0 4 0 2 2 2 2 2");
    expect_result(GPV_OK, 4, 0);
    params.connectivity = 4;
    expect_labels(params, 9, 5, shapes,
                  "1 1 0 0 0 2 2 2 2 "
                  "0 0 3 0 0 2 0 0 2 "
                  "0 0 3 0 0 2 0 2 2 "
                  "0 0 0 0 0 2 0 0 0 "
                  "4 0 5 0 2 2 2 2 2");
    expect_result(GPV_OK, 5, 0);
    /* whose first pixel is later has the larger label, whatever else is seen first */
    expect_labels(params, 5, 3, "..#.# #.#.# #####", "0 0 1 0 1 1 0 1 0 1 1 1 1 1 1");
}
END_TEST

START_TEST(foreground) {
    static const char source[] = "0 9 9 7 0 200 7 9";
    gpv_ccl_params params = defaults();
    expect_labels(params, 8, 1, source, "0 1 1 1 0 2 2 2");
    params.threshold = 0;
    expect_labels(params, 8, 1, source, "1 1 1 1 1 1 1 1");
    params.threshold = 9;
    expect_labels(params, 8, 1, source, "0 1 1 0 0 2 0 3");
    params.invert = 1;
    expect_labels(params, 8, 1, source, "1 0 0 2 2 0 3 0");
    params.foreground = 9; /* instead of the threshold */
    params.invert = 0;
    expect_labels(params, 8, 1, source, "0 1 1 0 0 0 0 2");
    params.invert = 1;
    expect_labels(params, 8, 1, source, "1 0 0 2 2 2 2 0");
    params.foreground = 0;
    params.invert = 0;
    expect_labels(params, 8, 1, source, "1 0 0 0 2 0 0 0");
    params = defaults();
    params.mode = GPV_CCL_MODE_EQUAL_VALUE;
    expect_labels(params, 8, 1, source, "0 1 1 2 0 3 4 5");
    params.threshold = 0;
    expect_labels(params, 8, 1, source, "1 2 2 3 4 5 6 7");
    params.threshold = 8;
    params.invert = 1;
    expect_labels(params, 8, 1, source, "1 0 0 2 3 0 4 0");
    params.threshold = 255;
    params.invert = 0;
    expect_labels(params, 8, 1, source, "0 0 0 0 0 0 0 0");
    expect_result(GPV_OK, 0, 0);
}
END_TEST

START_TEST(areas) {
    gpv_ccl_params params = defaults();
    params.connectivity = 4;
    params.min_area = 2;
    expect_labels(params, 9, 5, shapes,
                  "1 1 0 0 0 2 2 2 2 "
                  "0 0 3 0 0 2 0 0 2 "
                  "0 0 3 0 0 2 0 2 2 "
                  "0 0 0 0 0 2 0 0 0 "
                  "0 0 0 0 2 2 2 2 2");
    expect_result(GPV_OK, 3, 0);
    params.max_area = 2;
    expect_labels(params, 9, 5, shapes,
                  "1 1 0 0 0 0 0 0 0 "
                  "0 0 2 0 0 0 0 0 0 "
                  "0 0 2 0 0 0 0 0 0 "
                  "0 0 0 0 0 0 0 0 0 "
                  "0 0 0 0 0 0 0 0 0");
    params.min_area = 0;
    params.max_area = 1;
    expect_labels(params, 9, 5, shapes,
                  "0 0 0 0 0 0 0 0 0 "
                  "0 0 0 0 0 0 0 0 0 "
                  "0 0 0 0 0 0 0 0 0 "
                  "0 0 0 0 0 0 0 0 0 "
                  "1 0 2 0 0 0 0 0 0");
    params.min_area = 3; /* more than max_area: none */
    params.max_area = 2;
    expect_labels(params, 3, 1, "##.", "0 0 0");
}
END_TEST

START_TEST(measures) {
    picture src = picture_of_plane(GPV_FORMAT_GRAY8, 9, 5, shapes);
    static const gpv_ccl_component want[] = {
        {0, 0, 3, 3, 4, 0, 0 + 1 + 2 + 2, 0 + 0 + 1 + 2},
        {4, 0, 9, 5, 15, 0, 26 + 13 + 20 + 5 + 30, 0 + 2 + 6 + 3 + 20},
        {0, 4, 1, 5, 1, 0, 0, 4},
        {2, 4, 3, 5, 1, 0, 2, 4}};
    gpv_ccl_component room[5];
    int32_t count = -1;
    const gpv_buffer all = buffer_of(room, sizeof room), two = buffer_of(room, 2 * sizeof *room);
    const gpv_buffer counted = buffer_of(&count, sizeof count);
    memset(room, 0xC5, sizeof room);
    ck_assert_int_eq(gpv_ccl_run(op, NULL, &src.view, NULL, &two, 0, NULL), GPV_OK);
    expect_result(GPV_ERR_TOO_SMALL, 4, 2);
    ck_assert_mem_eq(room, want, 2 * sizeof *want);
    ck_assert_int_eq(room[2].left, (int32_t)0xC5C5C5C5);
    ck_assert_int_eq(gpv_ccl_run(op, NULL, &src.view, NULL, &all, 0, &counted), GPV_OK);
    expect_result(GPV_OK, 4, 4);
    ck_assert_int_eq(count, 4);
    ck_assert_mem_eq(room, want, sizeof want);
    ck_assert_int_eq(room[4].left, (int32_t)0xC5C5C5C5);
    picture_free(&src);
}
END_TEST

START_TEST(source_formats) {
    static const char *const wide[] = {"300 299 65535 65535 0"}, *const wide_want[] = {"1 0 2 2 0"};
    /* luma 77, 149, 29 and 255: red, green, blue and white */
    static const char *const rgb[] = {"255 0 0  0 255 0  0 0 255  255 255 255"};
    static const char *const rgba[] = {"255 0 0 1  0 255 0 2  0 0 255 3  255 255 255 4"};
    static const char *const rgb_77[] = {"1 1 0 2"}, *const bgr_77[] = {"0 1 1 1"};
    static const char *const rgb_78[] = {"0 1 0 2"};
    static const char *const nv12[] = {"9 10 11 0 10", "1 2 3 4 5 6"};
    static const char *const i420[] = {"9 10 11 0 10", "1 2 3", "4 5 6"};
    static const char *const yuv_want[] = {"0 1 1 0 2"};
    const gpv_format to = GPV_FORMAT_LABEL32;
    gpv_ccl_params params = defaults();
    params.threshold = 300;
    expect_planes(params, GPV_FORMAT_GRAY16, to, 5, 1, wide, wide_want);
    params.threshold = 78;
    expect_planes(params, GPV_FORMAT_RGB8, to, 4, 1, rgb, rgb_78);
    params.threshold = 77;
    expect_planes(params, GPV_FORMAT_RGB8, to, 4, 1, rgb, rgb_77);
    expect_planes(params, GPV_FORMAT_BGR8, to, 4, 1, rgb, bgr_77);
    expect_planes(params, GPV_FORMAT_RGBA8, to, 4, 1, rgba, rgb_77);
    expect_planes(params, GPV_FORMAT_RGBX8, to, 4, 1, rgba, rgb_77);
    expect_planes(params, GPV_FORMAT_BGRA8, to, 4, 1, rgba, bgr_77);
    expect_planes(params, GPV_FORMAT_BGRX8, to, 4, 1, rgba, bgr_77);
    params.threshold = 10;
    expect_planes(params, GPV_FORMAT_NV12, to, 5, 1, nv12, yuv_want);
    expect_planes(params, GPV_FORMAT_I420, to, 5, 1, i420, yuv_want);
}
END_TEST

START_TEST(output_formats) {
    static const char *const source[] = {"#.#.. ##..#"};
    static const char *const gray16[] = {"1 0 1 0 0 1 1 0 0 2"};
    static const char *const p016[] = {"1 0 1 0 0 1 1 0 0 2",
                                       "32768 32768 32768 32768 32768 32768"};
    static const char *const mask[] = {"#.#.. ##..#", "128 128 128 128 128 128"};
    static const char *const planar[] = {"#.#.. ##..#", "128 128 128", "128 128 128"};
    /* of the labels 1 and 2; a place of chroma has that of its largest label */
    static const char *const rgb[] = {"40 103 255  0 0 0  40 103 255  0 0 0  0 0 0 "
                                      "40 103 255  40 103 255  0 0 0  0 0 0  166 255 40"};
    static const char *const bgra[] = {
        "255 103 40 255  0 0 0 255  255 103 40 255  0 0 0 255  0 0 0 255 "
        "255 103 40 255  255 103 40 255  0 0 0 255  0 0 0 255  40 255 166 255"};
    gpv_ccl_params params = output_of(GPV_CCL_OUTPUT_LABELS);
    const gpv_format from = GPV_FORMAT_GRAY8;
    expect_planes(params, from, GPV_FORMAT_GRAY16, 5, 2, source, gray16);
    expect_planes(params, from, GPV_FORMAT_P016, 5, 2, source, p016);
    params.output = GPV_CCL_OUTPUT_MASK;
    expect_planes(params, from, GPV_FORMAT_GRAY8, 5, 2, source, source);
    expect_planes(params, from, GPV_FORMAT_NV12, 5, 2, source, mask);
    expect_planes(params, from, GPV_FORMAT_I420, 5, 2, source, planar);
    params.output = GPV_CCL_OUTPUT_COLORS;
    expect_planes(params, from, GPV_FORMAT_RGB8, 5, 2, source, rgb);
    expect_planes(params, from, GPV_FORMAT_BGRA8, 5, 2, source, bgra);
    expect_planes(params, from, GPV_FORMAT_BGRX8, 5, 2, source, bgra);
}
END_TEST

START_TEST(null_params_are_the_defaults) {
    gpv_ccl_params params = output_of(GPV_CCL_OUTPUT_MASK);
    picture src = picture_of_plane(GPV_FORMAT_GRAY8, 3, 1, "1 0 9");
    picture want = picture_of_plane(GPV_FORMAT_LABEL32, 3, 1, "1 0 2");
    picture dst = picture_new(GPV_FORMAT_LABEL32, 3, 1, TIGHT);
    params.invert = 1;
    set(params);
    ck_assert_int_eq(gpv_ccl_set_params(op, NULL), GPV_OK);
    run(&src, &dst);
    ck_assert(picture_equal(&dst, &want));
    /* refused ones leave those in force as they are */
    params.reserved = 1;
    ck_assert_int_eq(gpv_ccl_set_params(op, &params), INVALID);
    memset(dst.view.data[0], 0xC5, dst.size[0]);
    run(&src, &dst);
    ck_assert(picture_equal(&dst, &want));
    picture_free(&src);
    picture_free(&want);
    picture_free(&dst);
}
END_TEST

START_TEST(labels_beyond_16_bits) {
    enum { WIDTH = 512, HEIGHT = 514, COUNT_OF_DOTS = 256 * 257 };
    uint8_t *src = calloc(WIDTH, HEIGHT);
    uint16_t *dst = calloc(WIDTH, HEIGHT * sizeof *dst);
    gpv_image from, to;
    int x, y, label = 0;
    gpv_image_wrap(&from, sizeof from, GPV_FORMAT_GRAY8, WIDTH, HEIGHT, src, 0);
    gpv_image_wrap(&to, sizeof to, GPV_FORMAT_GRAY16, WIDTH, HEIGHT, dst, 0);
    for (y = 0; y < HEIGHT; y += 2)
        for (x = 0; x < WIDTH; x += 2)
            src[y * WIDTH + x] = 1;
    ck_assert_int_eq(run_views(&from, &to), GPV_OK);
    expect_result(GPV_ERR_TOO_SMALL, COUNT_OF_DOTS, 0);
    expect_text(gpv_context_error(context), "65792 components|dst|65535");
    for (y = 0; y < HEIGHT; y += 2)
        for (x = 0; x < WIDTH; x += 2, label += label < 65535)
            ck_assert_uint_eq(dst[y * WIDTH + x], label + (label < 65535));
    /* 65535 are not too many */
    memset(src, 0, WIDTH * 2);
    src[2 * WIDTH] = 0;
    ck_assert_int_eq(run_views(&from, &to), GPV_OK);
    expect_result(GPV_OK, 65535, 0);
    ck_assert_uint_eq(dst[(HEIGHT - 2) * WIDTH + WIDTH - 2], 65535);
    free(src);
    free(dst);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("ccl");
    TCase *group = tcase_create("ccl");
    tcase_add_checked_fixture(group, setup, teardown);
    tcase_set_timeout(group, 60);
    tcase_add_test(group, init_writes_every_default);
    tcase_add_test(group, struct_sizes);
    tcase_add_test(group, params_ranges);
    tcase_add_test(group, null_arguments);
    tcase_add_loop_test(group, bad_images_are_refused_untouched, 0, image_faults);
    tcase_add_test(group, image_struct_size);
    tcase_add_test(group, each_output_has_its_formats);
    tcase_add_test(group, misaligned_samples);
    tcase_add_test(group, destination_must_be_as_large);
    tcase_add_test(group, luma_beyond_the_format);
    tcase_add_test(group, overlap_inside_one_parent);
    tcase_add_test(group, overlap_of_planes);
    tcase_add_loop_test(group, bad_buffers_are_refused_untouched, 0, buffer_faults);
    tcase_add_test(group, buffers_of_other_ages);
    tcase_add_test(group, sizes_and_places_of_buffers);
    tcase_add_test(group, buffers_overlap_nothing);
    tcase_add_loop_test(group, same_bytes_in_every_memory, 0, COUNT(picture_formats));
    tcase_add_test(group, records_up_to_the_last_byte);
    tcase_add_test(group, every_allocation_may_fail);
    tcase_add_test(group, nothing_is_allocated_after_prepare);
    tcase_add_test(group, second_run_allocates_nothing);
    tcase_add_test(group, the_context_may_go_first);
    tcase_add_test(group, wait_and_query);
    tcase_add_test(group, contexts_do_not_interfere);
    tcase_add_test(group, connectivity);
    tcase_add_test(group, foreground);
    tcase_add_test(group, areas);
    tcase_add_test(group, measures);
    tcase_add_test(group, source_formats);
    tcase_add_test(group, output_formats);
    tcase_add_test(group, null_params_are_the_defaults);
    tcase_add_test(group, labels_beyond_16_bits);
    suite_add_tcase(suite, group);
    return run_suite(suite);
}
