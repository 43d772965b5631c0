/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"

static books keep;
static gpv_context *context;
static gpv_erode *op;

static void setup(void) {
    context = open_context(&keep);
    keep.fill = 0xA5;
    ck_assert_int_eq(gpv_erode_create(context, NULL, &op), GPV_OK);
    ck_assert_ptr_nonnull(op);
}

static void teardown(void) {
    gpv_erode_destroy(&op);
    ck_assert_ptr_null(op);
    gpv_context_destroy(&context);
    ck_assert_int_eq(keep.live, 0);
}

static gpv_erode_params params_of(gpv_erode_operation operation, gpv_erode_shape shape, int32_t rx,
                                  int32_t ry) {
    gpv_erode_params params;
    gpv_erode_params_init(&params, sizeof params);
    params.operation = operation;
    params.shape = shape;
    params.radius = rx;
    params.radius_y = ry;
    return params;
}

static void set(gpv_erode_params params) {
    ck_assert_msg(gpv_erode_set_params(op, &params) == GPV_OK, "%s", gpv_context_error(context));
}

static void run(const picture *src, const picture *dst) {
    ck_assert_msg(gpv_erode_run(op, NULL, &src->view, &dst->view) == GPV_OK, "%s",
                  gpv_context_error(context));
}

/* ---------------------------------------------------------------- parameters */

static void init_params(void *place, uint32_t size) {
    gpv_erode_params_init(place, size);
}

START_TEST(params_init_writes_every_default) {
    gpv_erode_params params;
    memset(&params, 0xC5, sizeof params);
    gpv_erode_params_init(&params, sizeof params);
    ck_assert_uint_eq(params.struct_size, sizeof params);
    ck_assert_uint_eq(params.operation, GPV_ERODE_OPERATION_ERODE);
    ck_assert_uint_eq(params.shape, GPV_ERODE_SHAPE_RECT);
    ck_assert_int_eq(params.radius, 1);
    ck_assert_int_eq(params.radius_y, -1);
    ck_assert_int_eq(params.iterations, 1);
    ck_assert_int_eq(params.threshold, 0);
    ck_assert_uint_eq(params.border, GPV_ERODE_BORDER_IGNORE);
    ck_assert_uint_eq(params.planes, GPV_ERODE_PLANES_AUTO);
    ck_assert_uint_eq(params.reserved, 0);
    expect_init_within(sizeof params, init_params);
}
END_TEST

/* Both create and set_params must say the same. */
static void expect_params(const gpv_erode_params *params, gpv_status wanted, const char *text) {
    gpv_erode *other = (gpv_erode *)&keep;
    const gpv_status status = gpv_erode_create(context, params, &other);
    ck_assert_int_eq(status == GPV_OK, other != NULL);
    expect_status(context, &keep, status, wanted, text);
    gpv_erode_destroy(&other);
    keep.text[0] = 0;
    expect_status(context, &keep, gpv_erode_set_params(op, params), wanted, text);
}

static void expect_params_at(const void *place, gpv_status wanted, const char *text) {
    expect_params(place, wanted, text);
}

START_TEST(params_struct_size) {
    expect_struct_sizes("params", sizeof(gpv_erode_params), init_params, expect_params_at);
}
END_TEST

#define PARAM(field, value) offsetof(gpv_erode_params, field), (uint32_t)(value)

START_TEST(params_ranges) {
    static const struct {
        size_t offset;
        uint32_t value;
        const char *text; /* NULL = legal */
    } cases[] = {
        {PARAM(operation, 6), NULL},
        {PARAM(operation, 7), "params->operation|7|0..6"},
        {PARAM(operation, UINT32_MAX), "params->operation|4294967295|0..6"},
        {PARAM(shape, 2), NULL},
        {PARAM(shape, 3), "params->shape|3|0..2"},
        {PARAM(radius, 0), NULL},
        {PARAM(radius, 255), NULL},
        {PARAM(radius, -1), "params->radius|-1|0..255"},
        {PARAM(radius, 256), "params->radius|256|0..255"},
        {PARAM(radius, INT32_MIN), "params->radius|-2147483648|0..255"},
        {PARAM(radius, INT32_MAX), "params->radius|2147483647|0..255"},
        {PARAM(radius_y, -1), NULL},
        {PARAM(radius_y, 255), NULL},
        {PARAM(radius_y, -2), "params->radius_y|-2|-1..255"},
        {PARAM(radius_y, 256), "params->radius_y|256|-1..255"},
        {PARAM(iterations, 255), NULL},
        {PARAM(iterations, 0), "params->iterations|is 0|1..255"},
        {PARAM(iterations, 256), "params->iterations|256|1..255"},
        {PARAM(iterations, INT32_MIN), "params->iterations|-2147483648|1..255"},
        {PARAM(threshold, 65535), NULL},
        {PARAM(threshold, -1), "params->threshold|-1|0..65535"},
        {PARAM(threshold, 65536), "params->threshold|65536|0..65535"},
        {PARAM(border, 1), NULL},
        {PARAM(border, 2), "params->border|2|0..1"},
        {PARAM(planes, 2), NULL},
        {PARAM(planes, 3), "params->planes|3|0..2"},
        {PARAM(reserved, 1), "params->reserved|1|0..0"},
        {PARAM(reserved, 0x80000000u), "params->reserved|2147483648|0..0"},
    };
    size_t i;
    for (i = 0; i < COUNT(cases); i++) {
        gpv_erode_params params = params_of(GPV_ERODE_OPERATION_ERODE, GPV_ERODE_SHAPE_RECT, 1, -1);
        memcpy((char *)&params + cases[i].offset, &cases[i].value, sizeof cases[i].value);
        expect_params(&params, cases[i].text ? GPV_ERR_INVALID_ARGUMENT : GPV_OK, cases[i].text);
    }
}
END_TEST

START_TEST(null_params_are_the_defaults) {
    set(params_of(GPV_ERODE_OPERATION_DILATE, GPV_ERODE_SHAPE_CROSS, 9, 3));
    ck_assert_int_eq(gpv_erode_set_params(op, NULL), GPV_OK);
    picture src = picture_new(GPV_FORMAT_GRAY8, 9, 7, TIGHT);
    picture dst = picture_new(GPV_FORMAT_GRAY8, 9, 7, TIGHT);
    picture want = picture_new(GPV_FORMAT_GRAY8, 9, 7, TIGHT);
    picture_fill(&src, 1);
    run(&src, &dst);
    set(params_of(GPV_ERODE_OPERATION_ERODE, GPV_ERODE_SHAPE_RECT, 1, 1));
    run(&src, &want);
    ck_assert(picture_equal(&dst, &want));
    picture_free(&src);
    picture_free(&dst);
    picture_free(&want);
}
END_TEST

START_TEST(failed_set_params_keeps_the_old_ones) {
    picture src = picture_new(GPV_FORMAT_GRAY8, 31, 17, TIGHT);
    picture want = picture_new(GPV_FORMAT_GRAY8, 31, 17, TIGHT);
    picture got = picture_new(GPV_FORMAT_GRAY8, 31, 17, TIGHT);
    gpv_erode_params params = params_of(GPV_ERODE_OPERATION_DILATE, GPV_ERODE_SHAPE_ELLIPSE, 4, 2);
    picture_fill(&src, 1);
    set(params);
    run(&src, &want);
    params.radius = 1;
    params.operation = GPV_ERODE_OPERATION_ERODE;
    params.threshold = 5;
    params.reserved = 1;
    ck_assert_int_eq(gpv_erode_set_params(op, &params), GPV_ERR_INVALID_ARGUMENT);
    run(&src, &got);
    ck_assert(picture_equal(&want, &got));
    picture_free(&src);
    picture_free(&want);
    picture_free(&got);
}
END_TEST

START_TEST(null_arguments) {
    picture good = picture_new(GPV_FORMAT_GRAY8, 4, 4, TIGHT);
    gpv_erode *none = NULL;
    gpv_erode *other = (gpv_erode *)&keep;
    picture_fill(&good, 1);
    ck_assert_int_eq(gpv_erode_create(NULL, NULL, &other), GPV_ERR_INVALID_ARGUMENT);
    ck_assert_ptr_null(other);
    ck_assert_int_eq(gpv_erode_create(NULL, NULL, NULL), GPV_ERR_INVALID_ARGUMENT);
    expect_error(context, &keep, gpv_erode_create(context, NULL, NULL), GPV_ERR_INVALID_ARGUMENT,
                 "out|NULL");
    ck_assert_int_eq(gpv_erode_set_params(NULL, NULL), GPV_ERR_INVALID_ARGUMENT);
    ck_assert_int_eq(gpv_erode_prepare(NULL, &good.view), GPV_ERR_INVALID_ARGUMENT);
    ck_assert_int_eq(gpv_erode_run(NULL, NULL, &good.view, &good.view), GPV_ERR_INVALID_ARGUMENT);
    ck_assert_int_eq(gpv_erode_query(NULL), GPV_ERR_INVALID_ARGUMENT);
    ck_assert_int_eq(gpv_erode_wait(NULL), GPV_ERR_INVALID_ARGUMENT);
    expect_error(context, &keep, gpv_erode_prepare(op, NULL), GPV_ERR_INVALID_ARGUMENT,
                 "like|NULL");
    expect_error(context, &keep, gpv_erode_run(op, NULL, NULL, &good.view),
                 GPV_ERR_INVALID_ARGUMENT, "src|NULL");
    expect_error(context, &keep, gpv_erode_run(op, NULL, &good.view, NULL),
                 GPV_ERR_INVALID_ARGUMENT, "dst|NULL");
    gpv_erode_destroy(NULL);
    gpv_erode_destroy(&none);
    picture_free(&good);
}
END_TEST

/* ------------------------------------------------------------------- images */

START_TEST(bad_images_are_refused_untouched) {
    unsigned char *memory = forbidden_memory(1 << 22);
    const gpv_image good = forbidden_image(memory);
    const gpv_image other = forbidden_image(memory + (1 << 21));
    gpv_image bad = good;
    const bool shape = spoil_image(&bad, _i);
    gpv_status status;
    expect_image_error(context, &keep, gpv_erode_run(op, NULL, &bad, &other), "src", _i);
    expect_image_error(context, &keep, gpv_erode_run(op, NULL, &other, &bad), "dst", _i);
    expect_image_error(context, &keep, gpv_erode_run(op, NULL, &bad, &bad), "src", _i);
    status = gpv_erode_prepare(op, &bad);
    if (shape)
        expect_image_error(context, &keep, status, "like", _i);
    else
        ck_assert_int_eq(status, GPV_OK);
}
END_TEST

static void init_image(void *place, uint32_t size) {
    static unsigned char pixels[8 * 8];
    gpv_image_wrap(place, size, GPV_FORMAT_GRAY8, 8, 8, pixels, 0);
}

/* In place, so that both are of that age where it is a legal one. */
static void expect_src_at(const void *place, gpv_status wanted, const char *text) {
    gpv_image good;
    const gpv_image *dst = wanted == GPV_OK ? place : &good;
    init_image(&good, sizeof good);
    expect_status(context, &keep, gpv_erode_run(op, NULL, place, dst), wanted, text);
}

static void expect_dst_at(const void *place, gpv_status wanted, const char *text) {
    gpv_image good;
    init_image(&good, sizeof good);
    expect_status(context, &keep, gpv_erode_run(op, NULL, &good, place), wanted, text);
}

static void expect_like_at(const void *place, gpv_status wanted, const char *text) {
    expect_status(context, &keep, gpv_erode_prepare(op, place), wanted, text);
}

START_TEST(image_struct_size) {
    expect_struct_sizes("src", sizeof(gpv_image), init_image, expect_src_at);
    expect_struct_sizes("dst", sizeof(gpv_image), init_image, expect_dst_at);
    expect_struct_sizes("like", sizeof(gpv_image), init_image, expect_like_at);
}
END_TEST

START_TEST(misaligned_samples) {
    unsigned char *memory = forbidden_memory(1 << 22);
    gpv_image good = forbidden_image(memory);
    gpv_image other = forbidden_image(memory + (1 << 21) + 1);
    good.format = other.format = GPV_FORMAT_GRAY16;
    expect_error(context, &keep, gpv_erode_run(op, NULL, &good, &other), INVALID,
                 "dst->data[0]|2 bytes");
    expect_error(context, &keep, gpv_erode_run(op, NULL, &other, &good), INVALID,
                 "src->data[0]|2 bytes");
}
END_TEST

START_TEST(destination_must_be_as_source) {
    unsigned char *memory = forbidden_memory(1 << 22);
    const gpv_image src = forbidden_image(memory);
    gpv_image dst = forbidden_image(memory + (1 << 21));
    dst.width = IMAGE_W - 1;
    expect_error(context, &keep, gpv_erode_run(op, NULL, &src, &dst), INVALID,
                 "dst|63x48|GRAY8|64x48|src");
    dst.width = IMAGE_W;
    dst.height = IMAGE_H + 1;
    expect_error(context, &keep, gpv_erode_run(op, NULL, &src, &dst), INVALID,
                 "dst|64x49|GRAY8|64x48|src");
    dst.height = IMAGE_H;
    dst.format = GPV_FORMAT_RGB8;
    expect_error(context, &keep, gpv_erode_run(op, NULL, &src, &dst), INVALID,
                 "dst|RGB8|GRAY8|src");
}
END_TEST

START_TEST(threshold_beyond_the_format) {
    unsigned char *memory = forbidden_memory(1 << 22);
    gpv_image src = forbidden_image(memory);
    gpv_image dst = forbidden_image(memory + (1 << 21));
    gpv_erode_params params = params_of(GPV_ERODE_OPERATION_ERODE, GPV_ERODE_SHAPE_RECT, 1, 1);
    size_t i;
    params.threshold = 256;
    set(params);
    for (i = 0; i < COUNT(picture_formats); i++) {
        src.format = dst.format = picture_formats[i];
        if (picture_formats[i] == GPV_FORMAT_GRAY16) {
            ck_assert_int_eq(gpv_erode_prepare(op, &src), GPV_OK);
            continue;
        }
        expect_error(context, &keep, gpv_erode_run(op, NULL, &src, &dst), INVALID,
                     "threshold|256|0..255");
        expect_error(context, &keep, gpv_erode_prepare(op, &src), INVALID, "threshold|256|0..255");
    }
    /* right for src: dst is what is wrong */
    src.format = GPV_FORMAT_GRAY16;
    dst.format = GPV_FORMAT_GRAY8;
    expect_error(context, &keep, gpv_erode_run(op, NULL, &src, &dst), INVALID,
                 "dst|GRAY8|GRAY16|src");
    dst.format = GPV_FORMAT_LABEL32;
    expect_error(context, &keep, gpv_erode_run(op, NULL, &src, &dst), GPV_ERR_UNSUPPORTED,
                 "dst->format|LABEL32|morphology takes GRAY8, GRAY16, RGB8|NV12, I420");
}
END_TEST

static gpv_status run_views(const gpv_image *src, const gpv_image *dst) {
    return gpv_erode_run(op, NULL, src, dst);
}

START_TEST(overlap_inside_one_parent) {
    expect_overlaps_refused(context, &keep, "dst", run_views, true);
}
END_TEST

START_TEST(overlap_of_planes_and_pitches) {
    unsigned char *memory = forbidden_memory(1 << 22);
    gpv_image src = forbidden_image(memory);
    gpv_image dst = src;
    dst.stride[0] = 4097;
    expect_error(context, &keep, gpv_erode_run(op, NULL, &src, &dst), INVALID, "dst|overlaps|src");
    dst = src;
    dst.data[0] = memory + 1;
    expect_error(context, &keep, gpv_erode_run(op, NULL, &src, &dst), INVALID, "dst|overlaps|src");
    src.format = GPV_FORMAT_I420; /* in place but for one plane */
    dst = src;
    dst.data[2] = memory + (1 << 21);
    expect_error(context, &keep, gpv_erode_run(op, NULL, &src, &dst), INVALID, "dst|overlaps|src");
    dst = src; /* U and V exchanged */
    dst.data[1] = src.data[2];
    dst.data[2] = src.data[1];
    expect_error(context, &keep, gpv_erode_run(op, NULL, &src, &dst), INVALID, "dst|overlaps|src");
    dst.data[0] = memory + (2 << 20); /* U and V in the same place */
    dst.data[1] = dst.data[2] = memory + (3 << 20);
    expect_error(context, &keep, gpv_erode_run(op, NULL, &src, &dst), INVALID,
                 "two planes|dst|overlap");
    src.format = GPV_FORMAT_NV12; /* Y of the one is UV of the other */
    dst = forbidden_image(memory + (1 << 21));
    dst.format = GPV_FORMAT_NV12;
    dst.data[0] = src.data[1];
    expect_error(context, &keep, gpv_erode_run(op, NULL, &src, &dst), INVALID, "dst|overlaps|src");
}
END_TEST

/* ------------------------------------------------------- memory of the caller */

/* Parameters that reach every path of the CPU backend. */
static gpv_erode_params variant(int i) {
    static const int32_t radii[][2] = {{1, 1}, {0, 2}, {3, 0}, {5, 4}, {17, 9}};
    gpv_erode_params params = params_of((gpv_erode_operation)(i % 7), (gpv_erode_shape)(i / 7 % 3),
                                        radii[i / 21 % 5][0], radii[i / 21 % 5][1]);
    params.threshold = i / 105 % 2 ? 100 : 0;
    params.border = (gpv_erode_border)(i / 2 % 2);
    params.planes = (gpv_erode_planes)(i % 3);
    params.iterations = 1 + i % 2;
    return params;
}
enum { VARIANTS = 210 };

/* Neither the place of an image nor what scratch held before may change a bit. */
START_TEST(same_bytes_in_every_memory) {
    const gpv_format format = picture_formats[_i];
    const bool full = getenv("GPV_TEST_FULL") != NULL;
    size_t s;
    int v, how;
    for (s = 0; s < COUNT(picture_sizes); s++) {
        picture src[LAYOUTS], dst[LAYOUTS];
        for (how = 0; how < LAYOUTS; how++) {
            src[how] = picture_new(format, picture_sizes[s][0], picture_sizes[s][1], (layout)how);
            dst[how] = picture_new(format, picture_sizes[s][0], picture_sizes[s][1], (layout)how);
        }
        for (v = (int)s % 4; v < VARIANTS; v += full ? 1 : 4) {
            set(variant(v));
            for (how = 0; how < LAYOUTS; how++) {
                picture *from = &src[how], *to = &dst[how];
                keep.fill ^= 0xFF;
                picture_fill(from, 7);
                run(from, to);
                ck_assert_msg(picture_equal(to, &dst[TIGHT]), "variant %d of %s, %dx%d, layout %d",
                              v, format_name(format), picture_sizes[s][0], picture_sizes[s][1],
                              how);
                run(from, from);
                ck_assert_msg(picture_equal(from, &dst[TIGHT]),
                              "variant %d of %s, %dx%d, layout %d, in place", v,
                              format_name(format), picture_sizes[s][0], picture_sizes[s][1], how);
                ck_assert(picture_intact(from) && picture_intact(to));
            }
        }
        for (how = 0; how < LAYOUTS; how++) {
            picture_free(&src[how]);
            picture_free(&dst[how]);
        }
    }
}
END_TEST

/* ------------------------------------------------------------------ allocator */

START_TEST(every_allocation_may_fail) {
    int v, failures = 0;
    for (v = 0; v < VARIANTS; v += 3) {
        const gpv_format format = picture_formats[v % COUNT(picture_formats)];
        const gpv_erode_params params = variant(v);
        picture src = picture_new(format, 41, 13, TIGHT);
        picture want = picture_new(format, 41, 13, TIGHT);
        picture got = picture_new(format, 41, 13, TIGHT);
        picture_fill(&src, 3);
        set(params);
        run(&src, &want);
        for (keep.fail_at = 1;; keep.fail_at++) {
            gpv_erode *fresh = NULL;
            gpv_status status;
            const int live = keep.live;
            keep.allocations = 0;
            ck_assert_int_eq(gpv_erode_create(context, &params, &fresh), GPV_OK);
            status = v % 2 ? gpv_erode_prepare(fresh, &src.view)
                           : gpv_erode_run(fresh, NULL, &src.view, &got.view);
            if (status != GPV_OK) {
                expect_error(context, &keep, status, GPV_ERR_OUT_OF_MEMORY, "bytes");
                failures++;
            }
            ck_assert_int_eq(status == GPV_OK, keep.allocations < keep.fail_at);
            /* the next call is right */
            ck_assert_int_eq(gpv_erode_run(fresh, NULL, &src.view, &got.view), GPV_OK);
            ck_assert(picture_equal(&want, &got));
            gpv_erode_destroy(&fresh);
            ck_assert_int_eq(keep.live, live);
            if (status == GPV_OK)
                break;
        }
        keep.fail_at = 0;
        picture_free(&src);
        picture_free(&want);
        picture_free(&got);
    }
    ck_assert_int_gt(failures, VARIANTS / 3);
}
END_TEST

START_TEST(nothing_is_allocated_after_prepare) {
    int v, prepared = 0;
    for (v = 0; v < VARIANTS; v++) {
        const gpv_format format = picture_formats[v % COUNT(picture_formats)];
        const gpv_erode_params params = variant(v);
        picture src = picture_new(format, 53, 31, TIGHT);
        picture dst = picture_new(format, 53, 31, TIGHT);
        gpv_erode *fresh = NULL;
        int before = keep.allocations;
        picture_fill(&src, 3);
        ck_assert_int_eq(gpv_erode_create(context, &params, &fresh), GPV_OK);
        ck_assert_int_eq(gpv_erode_prepare(fresh, &src.view), GPV_OK);
        prepared += keep.allocations > before;
        before = keep.allocations;
        ck_assert_int_eq(gpv_erode_run(fresh, NULL, &src.view, &dst.view), GPV_OK);
        ck_assert_int_eq(gpv_erode_run(fresh, NULL, &src.view, &src.view), GPV_OK);
        ck_assert_int_eq(gpv_erode_run(fresh, NULL, &dst.view, &src.view), GPV_OK);
        ck_assert_msg(keep.allocations == before, "variant %d", v);
        gpv_erode_destroy(&fresh);
        picture_free(&src);
        picture_free(&dst);
    }
    ck_assert_int_gt(prepared, VARIANTS / 2);
}
END_TEST

START_TEST(second_run_allocates_nothing) {
    picture src = picture_new(GPV_FORMAT_RGBA8, 53, 31, TIGHT);
    picture dst = picture_new(GPV_FORMAT_RGBA8, 53, 31, TIGHT);
    gpv_stream stream = &keep;
    int before;
    picture_fill(&src, 3);
    ck_assert_int_eq(gpv_erode_run(op, stream, &src.view, &dst.view), GPV_OK);
    ck_assert_int_gt(keep.allocations, 0);
    ck_assert_ptr_eq(keep.stream, stream);
    before = keep.allocations;
    ck_assert_int_eq(gpv_erode_run(op, stream, &src.view, &dst.view), GPV_OK);
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
    ck_assert_int_eq(gpv_erode_run(op, NULL, &src.view, &src.view), GPV_OK);
    ck_assert_int_eq(gpv_erode_run(op, NULL, NULL, &src.view), GPV_ERR_INVALID_ARGUMENT);
    ck_assert_int_eq(gpv_erode_wait(op), GPV_OK);
    gpv_erode_destroy(&op);
    ck_assert_int_eq(keep.live, 0);
    picture_free(&src);
}
END_TEST

START_TEST(wait_and_query) {
    picture src = picture_new(GPV_FORMAT_GRAY8, 9, 9, TIGHT);
    picture_fill(&src, 3);
    ck_assert_int_eq(gpv_erode_query(op), GPV_OK);
    ck_assert_int_eq(gpv_erode_wait(op), GPV_OK);
    run(&src, &src);
    ck_assert_int_eq(gpv_erode_query(op), GPV_OK);
    ck_assert_int_eq(gpv_erode_wait(op), GPV_OK);
    ck_assert_int_eq(gpv_stream_sync(context, NULL), GPV_OK);
    ck_assert_str_eq(gpv_context_error(context), "");
    picture_free(&src);
}
END_TEST

enum { IMAGES = 40 };

/* A run of all variants on a context of its own; gives a hash of the results, 0 if a call failed.
 * Check takes no assertion from another thread. */
static void *own_context(void *hash) {
    gpv_context *mine = NULL;
    gpv_erode *my_op = NULL;
    uint64_t sum = 0;
    int i, failed = gpv_context_create(NULL, &mine) || gpv_erode_create(mine, NULL, &my_op);
    for (i = 0; i < IMAGES && !failed; i++) {
        const gpv_erode_params params = variant(i * 5);
        const gpv_format format = picture_formats[i % (int)COUNT(picture_formats)];
        picture src = picture_new(format, 97, 61, TIGHT);
        picture dst = picture_new(format, 97, 61, TIGHT);
        picture_fill(&src, (unsigned)i);
        failed = gpv_erode_set_params(my_op, &params) ||
                 gpv_erode_run(my_op, NULL, &src.view, &dst.view) || gpv_erode_wait(my_op);
        sum = picture_hash(&dst, sum);
        picture_free(&src);
        picture_free(&dst);
    }
    gpv_erode_destroy(&my_op);
    gpv_context_destroy(&mine);
    *(uint64_t *)hash = failed ? 0 : sum;
    return NULL;
}

START_TEST(contexts_do_not_interfere) {
    expect_same_in_threads(own_context);
}
END_TEST

/* ------------------------------------------------- results worked out by hand */

static void expect_planes(gpv_erode_params params, gpv_format format, int width, int height,
                          const char *const *source, const char *const *result) {
    picture src = picture_of(format, width, height, source);
    picture want = picture_of(format, width, height, result);
    picture dst = picture_new(format, width, height, TIGHT);
    set(params);
    run(&src, &dst);
    expect_picture(&dst, &want);
    picture_free(&src);
}

static void expect_gray(gpv_erode_params params, int width, int height, const char *source,
                        const char *result) {
    expect_planes(params, GPV_FORMAT_GRAY8, width, height, &source, &result);
}

static gpv_erode_params binary(gpv_erode_params params, int32_t threshold) {
    params.threshold = threshold;
    return params;
}

static gpv_erode_params bordered(gpv_erode_params params) {
    params.border = GPV_ERODE_BORDER_BACKGROUND;
    return params;
}

static gpv_erode_params repeated(gpv_erode_params params, int32_t iterations) {
    params.iterations = iterations;
    return params;
}

static const char hole[] = "#######"
                           "#######"
                           "#######"
                           "###.###"
                           "#######"
                           "#######"
                           "#######";

START_TEST(shapes) {
    static const struct {
        gpv_erode_shape shape;
        int32_t rx, ry, iterations;
        const char *want;
    } cases[] = {
        {GPV_ERODE_SHAPE_RECT, 0, 0, 1, "####### ####### ####### ###.### ####### ####### #######"},
        {GPV_ERODE_SHAPE_RECT, 1, -1, 1, "####### ####### ##...## ##...## ##...## ####### #######"},
        {GPV_ERODE_SHAPE_RECT, 2, 0, 1, "####### ####### ####### #.....# ####### ####### #######"},
        {GPV_ERODE_SHAPE_RECT, 0, 1, 1, "####### ####### ###.### ###.### ###.### ####### #######"},
        {GPV_ERODE_SHAPE_RECT, 1, 1, 2, "####### #.....# #.....# #.....# #.....# #.....# #######"},
        {GPV_ERODE_SHAPE_CROSS, 1, -1, 1,
         "####### ####### ###.### ##...## ###.### ####### #######"},
        {GPV_ERODE_SHAPE_CROSS, 3, 1, 1, "####### ####### ###.### ....... ###.### ####### #######"},
        {GPV_ERODE_SHAPE_CROSS, 1, 1, 2, "####### ###.### ##...## #.....# ##...## ###.### #######"},
        {GPV_ERODE_SHAPE_ELLIPSE, 1, 1, 1,
         "####### ####### ###.### ##...## ###.### ####### #######"},
        {GPV_ERODE_SHAPE_ELLIPSE, 2, 2, 1,
         "####### ###.### #.....# #.....# #.....# ###.### #######"},
        {GPV_ERODE_SHAPE_ELLIPSE, 3, 3, 1,
         "###.### #.....# ....... ....... ....... #.....# ###.###"},
        {GPV_ERODE_SHAPE_ELLIPSE, 3, 1, 1,
         "####### ####### ###.### ....... ###.### ####### #######"},
        {GPV_ERODE_SHAPE_RECT, 255, 255, 255,
         "....... ....... ....... ....... ....... ....... ......."},
    };
    size_t i, k;
    for (i = 0; i < COUNT(cases); i++) {
        gpv_erode_params params =
            repeated(params_of(GPV_ERODE_OPERATION_ERODE, cases[i].shape, cases[i].rx, cases[i].ry),
                     cases[i].iterations);
        char negative_hole[sizeof hole], negative[128];
        expect_gray(params, 7, 7, hole, cases[i].want);
        expect_gray(binary(params, 1), 7, 7, hole, cases[i].want);
        /* dilation by duality */
        for (k = 0; k < sizeof hole; k++)
            negative_hole[k] = hole[k] == '.' ? '#' : hole[k] == '#' ? '.' : hole[k];
        for (k = 0; k <= strlen(cases[i].want); k++)
            negative[k] = cases[i].want[k] == '.'   ? '#'
                          : cases[i].want[k] == '#' ? '.'
                                                    : cases[i].want[k];
        params.operation = GPV_ERODE_OPERATION_DILATE;
        expect_gray(params, 7, 7, negative_hole, negative);
        expect_gray(binary(params, 255), 7, 7, negative_hole, negative);
    }
}
END_TEST

START_TEST(operations) {
    static const struct {
        gpv_erode_operation operation;
        const char *source, *want;
    } rows[] = {
        {GPV_ERODE_OPERATION_ERODE, "9 7 8 1 6 6 6 2", "7 7 1 1 1 6 2 2"},
        {GPV_ERODE_OPERATION_DILATE, "9 7 8 1 6 6 6 2", "9 9 8 8 6 6 6 6"},
        {GPV_ERODE_OPERATION_OPEN, "0 9 0 4 4 4 0 9", "0 0 0 4 4 4 0 0"},
        {GPV_ERODE_OPERATION_CLOSE, "5 0 5 5 1 1 1 5", "5 5 5 5 1 1 1 5"},
        {GPV_ERODE_OPERATION_GRADIENT, "0 0 0 5 5 5 9 9", "0 0 5 5 0 4 4 0"},
        {GPV_ERODE_OPERATION_TOPHAT, "0 9 0 4 4 4 0 9", "0 9 0 0 0 0 0 9"},
        {GPV_ERODE_OPERATION_BLACKHAT, "5 0 5 5 1 1 1 5", "0 5 0 0 0 0 0 0"},
    };
    size_t i;
    for (i = 0; i < COUNT(rows); i++) {
        expect_gray(params_of(rows[i].operation, GPV_ERODE_SHAPE_RECT, 1, 0), 8, 1, rows[i].source,
                    rows[i].want);
        expect_gray(params_of(rows[i].operation, GPV_ERODE_SHAPE_CROSS, 0, 1), 1, 8, rows[i].source,
                    rows[i].want);
        expect_gray(params_of(rows[i].operation, GPV_ERODE_SHAPE_CROSS, 1, 0), 8, 1, rows[i].source,
                    rows[i].want);
        expect_planes(params_of(rows[i].operation, GPV_ERODE_SHAPE_RECT, 1, 0), GPV_FORMAT_GRAY16,
                      8, 1, &rows[i].source, &rows[i].want);
    }
}
END_TEST

START_TEST(iterations_repeat_each_erosion_and_dilation) {
    /* open twice = erode twice, then dilate twice: the bar of 4 goes, that of 5 stays */
    expect_gray(repeated(params_of(GPV_ERODE_OPERATION_OPEN, GPV_ERODE_SHAPE_RECT, 1, 0), 2), 12, 1,
                ".####.#####.", "......#####.");
    expect_gray(repeated(params_of(GPV_ERODE_OPERATION_OPEN, GPV_ERODE_SHAPE_CROSS, 1, 0), 2), 12,
                1, ".####.#####.", "......#####.");
    expect_gray(
        binary(repeated(params_of(GPV_ERODE_OPERATION_CLOSE, GPV_ERODE_SHAPE_RECT, 1, 0), 2), 9),
        12, 1, "#....#.....#", "######.....#");
}
END_TEST

START_TEST(borders) {
    const gpv_erode_params erode = params_of(GPV_ERODE_OPERATION_ERODE, GPV_ERODE_SHAPE_RECT, 1, 1);
    const gpv_erode_params cross =
        params_of(GPV_ERODE_OPERATION_ERODE, GPV_ERODE_SHAPE_CROSS, 1, 1);
    const gpv_erode_params close = params_of(GPV_ERODE_OPERATION_CLOSE, GPV_ERODE_SHAPE_RECT, 1, 0);
    const gpv_erode_params ellipse =
        params_of(GPV_ERODE_OPERATION_ERODE, GPV_ERODE_SHAPE_ELLIPSE, 2, 2);
    expect_gray(erode, 4, 3, "7 7 7 7 7 7 7 7 7 7 7 7", "7 7 7 7 7 7 7 7 7 7 7 7");
    expect_gray(bordered(erode), 4, 3, "7 7 7 7 7 7 7 7 7 7 7 7", "0 0 0 0 0 7 7 0 0 0 0 0");
    expect_gray(bordered(cross), 4, 3, "7 7 7 7 7 7 7 7 7 7 7 7", "0 0 0 0 0 7 7 0 0 0 0 0");
    expect_gray(binary(bordered(erode), 7), 4, 3, "7 7 7 7 7 7 7 7 7 7 7 7", ".....##.....");
    expect_gray(bordered(erode), 1, 1, "9", "0");
    expect_gray(erode, 1, 1, "9", "9");
    expect_gray(bordered(ellipse), 5, 5, "##### ##### ##### ##### #####",
                "..... ..... ..#.. ..... .....");
    expect_gray(bordered(repeated(erode, 2)), 5, 5, "##### ##### ##### ##### #####",
                "..... ..... ..#.. ..... .....");
    expect_gray(close, 4, 1, "5 5 5 5", "5 5 5 5");
    expect_gray(bordered(close), 4, 1, "5 5 5 5", "0 5 5 0");
    /* close - source never falls below 0 */
    expect_gray(bordered(params_of(GPV_ERODE_OPERATION_BLACKHAT, GPV_ERODE_SHAPE_RECT, 1, 0)), 4, 1,
                "5 5 5 5", "0 0 0 0");
}
END_TEST

START_TEST(grey_formats) {
    static const char *const plain16[] = {"300 256 255 65535 0"}, *const want16[] = {
                                                                      "256 255 255 0 0"};
    static const char *const rgb[] = {"9 20 30  5 80 60  7 50 90"};
    static const char *const rgb_eroded[] = {"5 20 30  5 20 30  5 50 60"};
    static const char *const bgra[] = {"9 20 30 1  5 80 60 2  7 50 90 3"};
    static const char *const bgra_eroded[] = {"5 20 30 1  5 20 30 2  5 50 60 3"};
    static const char *const bgra_gradient[] = {"4 60 30 1  4 60 60 2  2 30 30 3"};
    static const char *const nv12[] = {"4 3 2 1 9", "1 90  2 80  3 70"};
    static const char *const nv12_luma[] = {"3 2 1 1 1", "1 90  2 80  3 70"};
    static const char *const nv12_all[] = {"3 2 1 1 1", "1 80  1 70  2 70"};
    static const char *const i420[] = {"4 3 2 1 9", "5 6 7", "9 8 7"};
    static const char *const i420_luma[] = {"3 2 1 1 1", "5 6 7", "9 8 7"};
    static const char *const i420_all[] = {"3 2 1 1 1", "5 5 6", "8 7 7"};
    gpv_erode_params params = params_of(GPV_ERODE_OPERATION_ERODE, GPV_ERODE_SHAPE_RECT, 1, 0);
    const gpv_erode_params gradient =
        params_of(GPV_ERODE_OPERATION_GRADIENT, GPV_ERODE_SHAPE_RECT, 1, 0);
    gpv_erode_planes planes;
    expect_planes(params, GPV_FORMAT_GRAY16, 5, 1, plain16, want16);
    for (planes = GPV_ERODE_PLANES_AUTO; planes <= GPV_ERODE_PLANES_ALL; planes++) {
        const bool all = planes == GPV_ERODE_PLANES_ALL;
        params.planes = planes;
        expect_planes(params, GPV_FORMAT_RGB8, 3, 1, rgb, rgb_eroded);
        expect_planes(params, GPV_FORMAT_BGR8, 3, 1, rgb, rgb_eroded);
        expect_planes(params, GPV_FORMAT_RGBA8, 3, 1, bgra, bgra_eroded);
        expect_planes(params, GPV_FORMAT_BGRA8, 3, 1, bgra, bgra_eroded);
        expect_planes(params, GPV_FORMAT_RGBX8, 3, 1, bgra, bgra_eroded);
        expect_planes(params, GPV_FORMAT_BGRX8, 3, 1, bgra, bgra_eroded);
        expect_planes(params, GPV_FORMAT_NV12, 5, 1, nv12, all ? nv12_all : nv12_luma);
        expect_planes(params, GPV_FORMAT_I420, 5, 1, i420, all ? i420_all : i420_luma);
    }
    expect_planes(gradient, GPV_FORMAT_BGRA8, 3, 1, bgra, bgra_gradient);
}
END_TEST

START_TEST(thresholds) {
    const gpv_erode_params same = params_of(GPV_ERODE_OPERATION_ERODE, GPV_ERODE_SHAPE_RECT, 0, 0);
    const gpv_erode_params erode = params_of(GPV_ERODE_OPERATION_ERODE, GPV_ERODE_SHAPE_RECT, 1, 0);
    static const char *const wide[] = {"0 299 300 65535"}, *const wide_want[] = {"0 0 65535 65535"};
    /* luma 77, 149, 29 and 255: red, green, blue and white */
    static const char *const rgb[] = {"255 0 0  0 255 0  0 0 255  255 255 255"};
    static const char *const rgb_77[] = {"### ### ... ###"}, *const rgb_78[] = {"... ### ... ###"};
    static const char *const bgr_77[] = {"... ### ### ###"};
    static const char *const rgba[] = {"255 0 0 1  0 255 0 2  0 0 255 3  255 255 255 4"};
    static const char *const rgba_77[] = {"### 1 ### 2 ... 3 ### 4"};
    static const char *const bgra_77[] = {"... 1 ### 2 ### 3 ### 4"};
    static const char *const bgra_eroded[] = {"... 1 ... 2 ### 3 ### 4"};
    static const char *const nv12[] = {"9 10 11 10 10", "1 2 3 4 5 6"};
    static const char *const nv12_want[] = {". . # # #", "128 128 128 128 128 128"};
    static const char *const i420[] = {"9 10 11 10 10", "1 2 3", "4 5 6"};
    static const char *const i420_want[] = {". . # # #", "128 128 128", "128 128 128"};
    expect_gray(binary(same, 128), 5, 1, "0 100 127 128 255", "0 0 0 255 255");
    expect_gray(binary(same, 1), 3, 1, "0 1 255", "0 255 255");
    expect_gray(binary(same, 255), 3, 1, "0 254 255", "0 0 255");
    expect_gray(binary(erode, 60), 5, 1, "0 200 60 200 59", "0 0 255 0 0");
    expect_gray(binary(params_of(GPV_ERODE_OPERATION_GRADIENT, GPV_ERODE_SHAPE_RECT, 1, 0), 60), 5,
                1, "0 0 0 200 200", "0 0 255 255 0");
    expect_planes(binary(same, 300), GPV_FORMAT_GRAY16, 4, 1, wide, wide_want);
    expect_planes(binary(same, 77), GPV_FORMAT_RGB8, 4, 1, rgb, rgb_77);
    expect_planes(binary(same, 78), GPV_FORMAT_RGB8, 4, 1, rgb, rgb_78);
    expect_planes(binary(same, 77), GPV_FORMAT_BGR8, 4, 1, rgb, bgr_77);
    expect_planes(binary(same, 77), GPV_FORMAT_RGBA8, 4, 1, rgba, rgba_77);
    expect_planes(binary(same, 77), GPV_FORMAT_BGRA8, 4, 1, rgba, bgra_77);
    expect_planes(binary(erode, 77), GPV_FORMAT_BGRA8, 4, 1, rgba, bgra_eroded);
    expect_planes(binary(erode, 10), GPV_FORMAT_NV12, 5, 1, nv12, nv12_want);
    expect_planes(binary(erode, 10), GPV_FORMAT_I420, 5, 1, i420, i420_want);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("erode");
    TCase *group = tcase_create("erode");
    tcase_add_checked_fixture(group, setup, teardown);
    tcase_set_timeout(group, 60);
    tcase_add_test(group, params_init_writes_every_default);
    tcase_add_test(group, params_struct_size);
    tcase_add_test(group, params_ranges);
    tcase_add_test(group, null_params_are_the_defaults);
    tcase_add_test(group, failed_set_params_keeps_the_old_ones);
    tcase_add_test(group, null_arguments);
    tcase_add_loop_test(group, bad_images_are_refused_untouched, 0, image_faults);
    tcase_add_test(group, image_struct_size);
    tcase_add_test(group, misaligned_samples);
    tcase_add_test(group, destination_must_be_as_source);
    tcase_add_test(group, threshold_beyond_the_format);
    tcase_add_test(group, overlap_inside_one_parent);
    tcase_add_test(group, overlap_of_planes_and_pitches);
    tcase_add_loop_test(group, same_bytes_in_every_memory, 0, COUNT(picture_formats));
    tcase_add_test(group, every_allocation_may_fail);
    tcase_add_test(group, nothing_is_allocated_after_prepare);
    tcase_add_test(group, second_run_allocates_nothing);
    tcase_add_test(group, the_context_may_go_first);
    tcase_add_test(group, wait_and_query);
    tcase_add_test(group, contexts_do_not_interfere);
    tcase_add_test(group, shapes);
    tcase_add_test(group, operations);
    tcase_add_test(group, iterations_repeat_each_erosion_and_dilation);
    tcase_add_test(group, borders);
    tcase_add_test(group, grey_formats);
    tcase_add_test(group, thresholds);
    suite_add_tcase(suite, group);
    return run_suite(suite);
}
