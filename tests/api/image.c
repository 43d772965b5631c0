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
    {GPV_FORMAT_NV21, 2, {{5, 3}, {6, 2}}},
    {GPV_FORMAT_YUY2, 1, {{12, 3}}},
    {GPV_FORMAT_UYVY, 1, {{12, 3}}},
    {GPV_FORMAT_Y444, 3, {{5, 3}, {5, 3}, {5, 3}}},
    {GPV_FORMAT_ARGB8, 1, {{20, 3}}},
    {GPV_FORMAT_ABGR8, 1, {{20, 3}}},
    {GPV_FORMAT_XRGB8, 1, {{20, 3}}},
    {GPV_FORMAT_XBGR8, 1, {{20, 3}}},
    {GPV_FORMAT_RGBP8, 3, {{5, 3}, {5, 3}, {5, 3}}},
};

static gpv_image image;
static _Alignas(16) unsigned char bytes[1 << 12];

static void expect_plane(gpv_format format, int32_t plane, int32_t width, int32_t height,
                         plane_size want) {
    plane_size got = {-7, -7};
    const gpv_status status =
        gpv_format_plane(format, plane, width, height, &got.row_bytes, &got.rows);
    ck_assert_int_eq(status, want.rows < 0 ? INVALID : GPV_OK);
    ck_assert_int_eq(got.row_bytes, want.row_bytes);
    ck_assert_int_eq(got.rows, want.rows);
}

START_TEST(planes) {
    static const gpv_format no_formats[] = {GPV_FORMAT_NONE, 25, 99, 0x80000001u, UINT32_MAX};
    for (size_t i = 0; i < COUNT(formats); i++) {
        ck_assert_int_eq(gpv_format_planes(formats[i].format), formats[i].planes);
        for (int p = 0; p < formats[i].planes; p++)
            expect_plane(formats[i].format, p, 5, 3, formats[i].plane[p]);
    }
    for (size_t i = 0; i < COUNT(no_formats); i++)
        ck_assert_int_eq(gpv_format_planes(no_formats[i]), 0);
    ck_assert_int_eq(gpv_format_plane(GPV_FORMAT_I420, 2, 5, 3, NULL, NULL), GPV_OK);
    expect_plane(GPV_FORMAT_CAP32X8, 7, 32767, 32767, (plane_size){4 * 32767, 32767});
    expect_plane(GPV_FORMAT_NV12, 1, 1, 1, (plane_size){2, 1});
}
END_TEST

START_TEST(illegal_planes_write_nothing) {
    static const struct {
        gpv_format format;
        int32_t plane;
    } bad[] = {{GPV_FORMAT_GRAY8, 1},
               {GPV_FORMAT_GRAY8, -1},
               {GPV_FORMAT_NV12, 2},
               {GPV_FORMAT_I420, INT32_MAX},
               {GPV_FORMAT_I420, INT32_MIN}};
    for (size_t i = 0; i < COUNT(bad); i++)
        expect_plane(bad[i].format, bad[i].plane, 5, 3, (plane_size){-7, -7});
}
END_TEST

INIT(image)
INIT(buffer)

START_TEST(inits_are_all_zero) {
    static const gpv_image nothing = {.struct_size = sizeof nothing};
    static const gpv_buffer none = {.struct_size = sizeof none};
    gpv_buffer buffer;
    gpv_image_init(&image, sizeof image);
    ck_assert_mem_eq(&image, &nothing, sizeof nothing);
    gpv_buffer_init(&buffer, sizeof buffer);
    ck_assert_mem_eq(&buffer, &none, sizeof none);
    expect_init_within(sizeof image, init_image);
    expect_init_within(sizeof buffer, init_buffer);
}
END_TEST

START_TEST(wrap_lays_planes_one_behind_the_other) {
    int32_t p;
    for (size_t i = 0; i < COUNT(formats); i++) {
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

/* The second plane lies behind all rows of the first, and the third as far behind the second. */
START_TEST(wrap_strides) {
    static const struct {
        gpv_format format;
        int32_t width, height;
        int64_t stride, need, first, second;
    } cases[] = {
        {GPV_FORMAT_GRAY8, 5, 3, 8, 24, 8, 0},
        {GPV_FORMAT_NV12, 6, 4, 16, 96, 16, 16},
        {GPV_FORMAT_I420, 6, 4, 17, 68 + 18 + 18, 17, 9},
        /* of one pixel: a row of a byte is no half row */
        {GPV_FORMAT_GRAY8, 1, 4, 16, 64, 16, 0},
        {GPV_FORMAT_I420, 1, 4, 16, 96, 16, 8},
        {GPV_FORMAT_NV12, 1, 4, 16, 96, 16, 16},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const int planes = gpv_format_planes(cases[i].format);
        ck_assert_int_eq(gpv_image_wrap(&image, sizeof image, cases[i].format, cases[i].width,
                                        cases[i].height, bytes, cases[i].stride),
                         cases[i].need);
        ck_assert_int_eq(image.stride[0], cases[i].first);
        for (int p = 1; p < planes; p++) {
            const int64_t chroma = (p - 1) * cases[i].second * cases[i].height / 2;
            ck_assert_int_eq(image.stride[p], cases[i].second);
            ck_assert_ptr_eq(image.data[p], bytes + cases[i].first * cases[i].height + chroma);
        }
    }
    /* the largest: 8 planes of 4 bytes */
    ck_assert_int_eq(gpv_image_wrap(NULL, 0, GPV_FORMAT_CAP32X8, 32767, 32767, NULL, 0),
                     INT64_C(32) * 32767 * 32767);
}
END_TEST

START_TEST(what_is_no_image_is_refused) {
    static const struct {
        gpv_format format;
        int32_t width, height;
        int64_t stride; /* 0 = it has no planes either */
    } bad[] = {
        {GPV_FORMAT_NONE, 5, 3, 0},
        {25, 5, 3, 0},
        {UINT32_MAX, 5, 3, 0},
        {GPV_FORMAT_GRAY8, 0, 3, 0},
        {GPV_FORMAT_GRAY8, 5, 0, 0},
        {GPV_FORMAT_GRAY8, 32768, 1, 0},
        {GPV_FORMAT_GRAY8, 1, 32768, 0},
        {GPV_FORMAT_GRAY8, INT32_MAX, INT32_MAX, 0},
        {GPV_FORMAT_GRAY8, INT32_MIN, 3, 0},
        {GPV_FORMAT_GRAY8, 5, INT32_MIN, 0},
        {GPV_FORMAT_RGBA8, 536870912, 1, 0},
        {GPV_FORMAT_GRAY8, 5, 3, 4},
        {GPV_FORMAT_GRAY8, 5, 3, -5},
        {GPV_FORMAT_GRAY8, 5, 3, INT64_MIN},
        {GPV_FORMAT_GRAY8, 5, 3, INT64_MAX},
        {GPV_FORMAT_RGBA8, 5, 3, 19},
        {GPV_FORMAT_GRAY16, 5, 3, 11},
    };
    const gpv_image before = {.struct_size = 1, .width = 77};
    for (size_t i = 0; i < COUNT(bad); i++) {
        image = before;
        ck_assert_msg(gpv_image_wrap(&image, sizeof image, bad[i].format, bad[i].width,
                                     bad[i].height, bytes, bad[i].stride) == INVALID,
                      "case %zu", i);
        ck_assert_mem_eq(&image, &before, sizeof image);
        if (!bad[i].stride)
            expect_plane(bad[i].format, 0, bad[i].width, bad[i].height, (plane_size){-7, -7});
    }
}
END_TEST

RUN_TESTS("image", NULL, NULL, planes, illegal_planes_write_nothing, inits_are_all_zero,
          wrap_lays_planes_one_behind_the_other, wrap_strides, what_is_no_image_is_refused)
