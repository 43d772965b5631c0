/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"

typedef struct plane_size {
    int64_t row_bytes, rows;
} plane_size;

/* Every format at 5 x 3: odd, so that chroma is rounded up. */
static const struct {
    gpv_format format;
    int32_t planes;
    plane_size plane[GPV_MAX_PLANES];
} formats[] = {
    {GPV_FORMAT_GRAY8, 1, {{5, 3}}},
    {GPV_FORMAT_GRAY16, 1, {{10, 3}}},
    {GPV_FORMAT_GRAYF32, 1, {{20, 3}}},
    {GPV_FORMAT_RGB8, 1, {{15, 3}}},
    {GPV_FORMAT_BGR8, 1, {{15, 3}}},
    {GPV_FORMAT_RGBA8, 1, {{20, 3}}},
    {GPV_FORMAT_BGRA8, 1, {{20, 3}}},
    {GPV_FORMAT_RGBX8, 1, {{20, 3}}},
    {GPV_FORMAT_BGRX8, 1, {{20, 3}}},
    {GPV_FORMAT_NV12, 2, {{5, 3}, {6, 2}}},
    {GPV_FORMAT_I420, 3, {{5, 3}, {3, 2}, {3, 2}}},
    {GPV_FORMAT_P016, 2, {{10, 3}, {12, 2}}},
    {GPV_FORMAT_LABEL32, 1, {{20, 3}}},
    {GPV_FORMAT_CAP32X4, 4, {{20, 3}, {20, 3}, {20, 3}, {20, 3}}},
    {GPV_FORMAT_CAP32X8,
     8,
     {{20, 3}, {20, 3}, {20, 3}, {20, 3}, {20, 3}, {20, 3}, {20, 3}, {20, 3}}},
};
static const gpv_format no_formats[] = {GPV_FORMAT_NONE, 16, 99, 0x80000001u, UINT32_MAX};

static gpv_image image;
static _Alignas(16) unsigned char bytes[1 << 12];

START_TEST(planes) {
    size_t i;
    int32_t p;
    for (i = 0; i < COUNT(formats); i++) {
        ck_assert_int_eq(gpv_format_planes(formats[i].format), formats[i].planes);
        for (p = 0; p < formats[i].planes; p++) {
            plane_size got = {-1, -1};
            ck_assert_int_eq(
                gpv_format_plane(formats[i].format, p, 5, 3, &got.row_bytes, &got.rows), GPV_OK);
            ck_assert_int_eq(got.row_bytes, formats[i].plane[p].row_bytes);
            ck_assert_int_eq(got.rows, formats[i].plane[p].rows);
        }
    }
    for (i = 0; i < COUNT(no_formats); i++)
        ck_assert_int_eq(gpv_format_planes(no_formats[i]), 0);
    ck_assert_int_eq(gpv_format_plane(GPV_FORMAT_I420, 2, 5, 3, NULL, NULL), GPV_OK);
}
END_TEST

START_TEST(planes_at_the_limits) {
    plane_size got;
    ck_assert_int_eq(
        gpv_format_plane(GPV_FORMAT_CAP32X8, 7, 32767, 32767, &got.row_bytes, &got.rows), GPV_OK);
    ck_assert_int_eq(got.row_bytes, 4 * 32767);
    ck_assert_int_eq(got.rows, 32767);
    ck_assert_int_eq(gpv_format_plane(GPV_FORMAT_NV12, 1, 1, 1, &got.row_bytes, &got.rows), GPV_OK);
    ck_assert_int_eq(got.row_bytes, 2);
    ck_assert_int_eq(got.rows, 1);
}
END_TEST

START_TEST(illegal_planes_write_nothing) {
    static const struct {
        gpv_format format;
        int32_t plane, width, height;
    } bad[] = {
        {GPV_FORMAT_GRAY8, 1, 5, 3},
        {GPV_FORMAT_GRAY8, -1, 5, 3},
        {GPV_FORMAT_NV12, 2, 5, 3},
        {GPV_FORMAT_I420, INT32_MAX, 5, 3},
        {GPV_FORMAT_I420, INT32_MIN, 5, 3},
        {GPV_FORMAT_NONE, 0, 5, 3},
        {UINT32_MAX, 0, 5, 3},
        {GPV_FORMAT_GRAY8, 0, 0, 3},
        {GPV_FORMAT_GRAY8, 0, 5, 0},
        {GPV_FORMAT_GRAY8, 0, -5, 3},
        {GPV_FORMAT_GRAY8, 0, 5, -3},
        {GPV_FORMAT_GRAY8, 0, 32768, 1},
        {GPV_FORMAT_GRAY8, 0, 1, 32768},
        {GPV_FORMAT_GRAY8, 0, 32767, 32768},
        {GPV_FORMAT_GRAY8, 0, INT32_MAX, INT32_MAX},
        {GPV_FORMAT_RGBA8, 0, 536870912, 1},
        {GPV_FORMAT_GRAY8, 0, INT32_MIN, INT32_MIN},
    };
    size_t i;
    for (i = 0; i < COUNT(bad); i++) {
        plane_size got = {-7, -7};
        ck_assert_int_eq(gpv_format_plane(bad[i].format, bad[i].plane, bad[i].width, bad[i].height,
                                          &got.row_bytes, &got.rows),
                         GPV_ERR_INVALID_ARGUMENT);
        ck_assert_int_eq(got.row_bytes, -7);
        ck_assert_int_eq(got.rows, -7);
    }
}
END_TEST

static void expect_zero_but_size(const void *bytes, uint32_t size) {
    const unsigned char *all = bytes;
    uint32_t claimed, i;
    memcpy(&claimed, all, sizeof claimed);
    ck_assert_uint_eq(claimed, size);
    for (i = sizeof claimed; i < size; i++)
        ck_assert_uint_eq(all[i], 0);
    ck_assert_uint_eq(all[size], 0xC5);
}

START_TEST(inits_are_all_zero) {
    uint32_t size;
    gpv_image_init(NULL, sizeof(gpv_image));
    gpv_buffer_init(NULL, sizeof(gpv_buffer));
    for (size = sizeof size; size <= 2 * sizeof(gpv_image); size++) {
        memset(bytes, 0xC5, sizeof bytes);
        gpv_image_init((gpv_image *)(void *)bytes, size);
        expect_zero_but_size(bytes, size);
        memset(bytes, 0xC5, sizeof bytes);
        gpv_buffer_init((gpv_buffer *)(void *)bytes, size);
        expect_zero_but_size(bytes, size);
    }
    memset(bytes, 0xC5, sizeof bytes);
    gpv_image_init((gpv_image *)(void *)bytes, 3);
    gpv_buffer_init((gpv_buffer *)(void *)bytes, 0);
    ck_assert_uint_eq(bytes[0], 0xC5);
}
END_TEST

START_TEST(wrap_lays_planes_one_behind_the_other) {
    size_t i;
    int32_t p;
    for (i = 0; i < COUNT(formats); i++) {
        int64_t end = 0;
        memset(&image, 0xC5, sizeof image);
        int64_t need = gpv_image_wrap(&image, sizeof image, formats[i].format, 5, 3, bytes, 0);
        ck_assert_uint_eq(image.struct_size, sizeof image);
        ck_assert_uint_eq(image.format, formats[i].format);
        ck_assert_uint_eq(image.memory, GPV_MEMORY_HOST);
        ck_assert_int_eq(image.width, 5);
        ck_assert_int_eq(image.height, 3);
        ck_assert_uint_eq(image.color_matrix, GPV_COLOR_MATRIX_AUTO);
        ck_assert_uint_eq(image.color_range, GPV_COLOR_RANGE_AUTO);
        for (p = 0; p < formats[i].planes; p++) {
            ck_assert_ptr_eq(image.data[p], bytes + end);
            ck_assert_int_ge(image.stride[p], formats[i].plane[p].row_bytes);
            end += image.stride[p] * formats[i].plane[p].rows;
        }
        for (; p < GPV_MAX_PLANES; p++)
            ck_assert(!image.data[p] && !image.stride[p]);
        ck_assert_int_eq(need, end);
        ck_assert_int_eq(gpv_image_wrap(NULL, 0, formats[i].format, 5, 3, NULL, 0), need);
        ck_assert_int_eq(gpv_image_wrap(&image, sizeof image, formats[i].format, 5, 3, NULL, 0),
                         need);
    }
}
END_TEST

START_TEST(wrap_strides) {
    ck_assert_int_eq(gpv_image_wrap(&image, sizeof image, GPV_FORMAT_GRAY8, 5, 3, bytes, 8), 24);
    ck_assert_int_eq(image.stride[0], 8);
    ck_assert_int_eq(gpv_image_wrap(&image, sizeof image, GPV_FORMAT_NV12, 6, 4, bytes, 16), 96);
    ck_assert_int_eq(image.stride[1], 16);
    ck_assert_ptr_eq(image.data[1], bytes + 64);
    ck_assert_int_eq(gpv_image_wrap(&image, sizeof image, GPV_FORMAT_I420, 6, 4, bytes, 17),
                     68 + 18 + 18);
    ck_assert_int_eq(image.stride[1], 9);
    ck_assert_int_eq(image.stride[2], 9);
    ck_assert_ptr_eq(image.data[1], bytes + 68);
    ck_assert_ptr_eq(image.data[2], bytes + 86);
    /* the largest: 8 planes of 4 bytes */
    ck_assert_int_eq(gpv_image_wrap(NULL, 0, GPV_FORMAT_CAP32X8, 32767, 32767, NULL, 0),
                     INT64_C(32) * 32767 * 32767);
    /* One pixel wide: a row of a byte is no half row. */
    ck_assert_int_eq(gpv_image_wrap(&image, sizeof image, GPV_FORMAT_GRAY8, 1, 4, bytes, 16), 64);
    ck_assert_int_eq(image.stride[0], 16);
    ck_assert_int_eq(gpv_image_wrap(&image, sizeof image, GPV_FORMAT_I420, 1, 4, bytes, 16), 96);
    ck_assert_int_eq(image.stride[0], 16);
    ck_assert_int_eq(image.stride[1], 8);
    ck_assert_int_eq(gpv_image_wrap(&image, sizeof image, GPV_FORMAT_NV12, 1, 4, bytes, 16), 96);
    ck_assert_int_eq(image.stride[1], 16);
}
END_TEST

START_TEST(wrap_refuses) {
    static const struct {
        gpv_format format;
        int32_t width, height;
        int64_t stride;
    } bad[] = {
        {GPV_FORMAT_NONE, 5, 3, 0},
        {16, 5, 3, 0},
        {UINT32_MAX, 5, 3, 0},
        {GPV_FORMAT_GRAY8, 0, 3, 0},
        {GPV_FORMAT_GRAY8, 5, 0, 0},
        {GPV_FORMAT_GRAY8, -1, 3, 0},
        {GPV_FORMAT_GRAY8, INT32_MAX, 1, 0},
        {GPV_FORMAT_RGBA8, 536870912, 1, 0},
        {GPV_FORMAT_GRAY8, 32767, 32768, 0},
        {GPV_FORMAT_GRAY8, 5, 3, 4},
        {GPV_FORMAT_GRAY8, 5, 3, -5},
        {GPV_FORMAT_GRAY8, 5, 3, INT64_MIN},
        {GPV_FORMAT_GRAY8, 5, 3, INT64_MAX},
        {GPV_FORMAT_RGBA8, 5, 3, 19},
        {GPV_FORMAT_GRAY16, 5, 3, 11},
    };
    const gpv_image before = {.struct_size = 1, .width = 77};
    size_t i;
    for (i = 0; i < COUNT(bad); i++) {
        image = before;
        ck_assert_msg(gpv_image_wrap(&image, sizeof image, bad[i].format, bad[i].width,
                                     bad[i].height, bytes,
                                     bad[i].stride) == GPV_ERR_INVALID_ARGUMENT,
                      "case %zu", i);
        ck_assert_int_eq(memcmp(&image, &before, sizeof image), 0);
    }
}
END_TEST

START_TEST(wrapped_images_run) {
    gpv_context *context = NULL;
    gpv_erode *op = NULL;
    size_t i;
    ck_assert_int_eq(gpv_context_create(NULL, &context), GPV_OK);
    ck_assert_int_eq(gpv_erode_create(context, NULL, &op), GPV_OK);
    for (i = 0; i < COUNT(picture_formats); i++) {
        const int64_t need = gpv_image_wrap(NULL, 0, picture_formats[i], 5, 3, NULL, 0);
        unsigned char *exact = calloc(1, (size_t)need);
        ck_assert_int_eq(gpv_image_wrap(&image, sizeof image, picture_formats[i], 5, 3, exact, 0),
                         need);
        ck_assert_int_eq(gpv_erode_run(op, NULL, &image, &image), GPV_OK);
        ck_assert_int_eq(gpv_erode_wait(op), GPV_OK);
        free(exact);
    }
    gpv_erode_destroy(&op);
    gpv_context_destroy(&context);
}
END_TEST

int main(void) {
    const TTest *const tests[] = {planes,
                                  planes_at_the_limits,
                                  illegal_planes_write_nothing,
                                  inits_are_all_zero,
                                  wrap_lays_planes_one_behind_the_other,
                                  wrap_strides,
                                  wrap_refuses,
                                  wrapped_images_run};
    return run_tests("image", NULL, NULL, tests, COUNT(tests));
}
