/* SPDX-License-Identifier: BSD-2-Clause */
/* gst/gstgpuvisionmeta.cpp on its own: copies, and what becomes of each kind of field where the
   frame is scaled, has borders, or is turned. */
#include <gpuvision/sift.h>
#include <gst/check/gstcheck.h>
#include <gst/video/gstvideometa.h>
#include <gst/video/video.h>

#include <math.h>
#include <string.h>

#include "../../gst/gstgpuvisionmeta.h"

#define NAME "gpuvisionmetatest"

static gboolean set_field(GQuark name, const GValue *value, gpointer results) {
    gst_structure_set_value(results, g_quark_to_string(name), value);
    return TRUE;
}

static void attach(GstBuffer *buffer, const GstStructure *results) {
    GstStructure *attached = gst_gpu_vision_meta_add(buffer, gst_structure_get_name(results));
    gst_structure_foreach(results, set_field, attached);
}

static void append(GValue *array, GstStructure *item) {
    GValue value = G_VALUE_INIT;
    g_value_init(&value, GST_TYPE_STRUCTURE);
    g_value_take_boxed(&value, item);
    gst_value_array_append_and_take_value(array, &value);
}

static GstStructure *component(gint label, gint x, gint y, gint width, gint height, gint area) {
    return gst_structure_new(
        "component", "label", G_TYPE_INT, label, "x", G_TYPE_INT, x, "y", G_TYPE_INT, y, "width",
        G_TYPE_INT, width, "height", G_TYPE_INT, height, "area", G_TYPE_INT, area, "cx",
        G_TYPE_DOUBLE, x + (width - 1) / 2.0, "cy", G_TYPE_DOUBLE, y + (height - 1) / 2.0, NULL);
}

static GstStructure *results_of_two_components(void) {
    GValue components = G_VALUE_INIT;
    GstStructure *results =
        gst_structure_new(NAME, "count", G_TYPE_INT, 2, "radius", G_TYPE_INT, 4, "radius-y",
                          G_TYPE_INT, 6, "operation", G_TYPE_STRING, "erode", NULL);
    gst_value_array_init(&components, 2);
    append(&components, component(1, 10, 20, 30, 25, 700));
    append(&components, component(2, 63, 47, 1, 1, 1));
    gst_structure_take_value(results, "components", &components);
    return results;
}

static GstBuffer *buffer_with_results(void) {
    GstBuffer *buffer = gst_buffer_new();
    GstStructure *results = results_of_two_components();
    gst_gpu_vision_meta_register(NAME);
    attach(buffer, results);
    gst_structure_free(results);
    return buffer;
}

static GstStructure *structure_of(GstBuffer *buffer) {
    GstCustomMeta *meta = gst_buffer_get_custom_meta(buffer, NAME);
    fail_unless(meta != NULL);
    return gst_custom_meta_get_structure(meta);
}

static gint int_of(const GstStructure *structure, const gchar *field) {
    gint value = G_MININT;
    fail_unless(gst_structure_get_int(structure, field, &value), "no int %s", field);
    return value;
}

static gdouble double_of(const GstStructure *structure, const gchar *field) {
    gdouble value = 0;
    fail_unless(gst_structure_get_double(structure, field, &value), "no double %s", field);
    return value;
}

static const GstStructure *component_of(const GstStructure *results, guint index) {
    const GValue *components = gst_structure_get_value(results, "components");
    fail_unless(components != NULL && gst_value_array_get_size(components) == 2);
    return gst_value_get_structure(gst_value_array_get_value(components, index));
}

static void assert_box(const GstStructure *results, guint index, gint x, gint y, gint width,
                       gint height, gint area) {
    const GstStructure *box = component_of(results, index);
    assert_equals_int(int_of(box, "x"), x);
    assert_equals_int(int_of(box, "y"), y);
    assert_equals_int(int_of(box, "width"), width);
    assert_equals_int(int_of(box, "height"), height);
    assert_equals_int(int_of(box, "area"), area);
    assert_equals_int(int_of(box, "label"), (gint)index + 1);
}

static GstBuffer *transformed(GstBuffer *from, GQuark type, gpointer data) {
    GstBuffer *to = gst_buffer_new();
    GstMeta *meta = (GstMeta *)gst_buffer_get_custom_meta(from, NAME);
    fail_unless(meta->info->transform_func(to, meta, from, type, data));
    return to;
}

static GstVideoInfo frame_of(gint width, gint height, gint par_n, gint par_d) {
    GstVideoInfo info;
    gst_video_info_set_format(&info, GST_VIDEO_FORMAT_GRAY8, width, height);
    info.par_n = par_n;
    info.par_d = par_d;
    return info;
}

/* As a scaler does that is free to choose the shape of the pixels: without borders. */
static GstBuffer *scaled(GstBuffer *from, gint in_width, gint in_height, gint out_width,
                         gint out_height) {
    GstVideoInfo in = frame_of(in_width, in_height, 1, 1);
    GstVideoInfo out =
        frame_of(out_width, out_height, in_width * out_height, in_height * out_width);
    GstVideoMetaTransform sizes = {&in, &out};
    return transformed(from, gst_video_meta_transform_scale_get_quark(), &sizes);
}

GST_START_TEST(test_tags) {
    GstBuffer *buffer = buffer_with_results();
    GType api = gst_meta_get_info(NAME)->api;
    gst_gpu_vision_meta_register(NAME);
    fail_unless(gst_meta_api_type_has_tag(api, g_quark_from_string(GST_META_TAG_VIDEO_STR)));
    fail_unless(gst_meta_api_type_has_tag(api, g_quark_from_string(GST_META_TAG_VIDEO_SIZE_STR)));
    fail_unless(
        gst_meta_api_type_has_tag(api, g_quark_from_string(GST_META_TAG_VIDEO_ORIENTATION_STR)));
    gst_buffer_unref(buffer);
}
GST_END_TEST

GST_START_TEST(test_copy) {
    GstBuffer *buffer = buffer_with_results();
    GstBuffer *copy = gst_buffer_copy(buffer);
    GstBuffer *deep = gst_buffer_copy_deep(buffer);
    fail_unless(gst_structure_is_equal(structure_of(copy), structure_of(buffer)));
    fail_unless(gst_structure_is_equal(structure_of(deep), structure_of(buffer)));
    fail_unless(gst_structure_has_name(structure_of(copy), NAME));
    gst_buffer_unref(buffer);
    assert_box(structure_of(copy), 0, 10, 20, 30, 25, 700);
    gst_buffer_unref(copy);
    gst_buffer_unref(deep);
}
GST_END_TEST

GST_START_TEST(test_scale_by_two) {
    GstBuffer *buffer = buffer_with_results();
    GstBuffer *twice = scaled(buffer, 64, 48, 128, 96);
    const GstStructure *results = structure_of(twice);
    assert_equals_int(int_of(results, "count"), 2);
    assert_equals_int(int_of(results, "radius"), 8);
    assert_equals_int(int_of(results, "radius-y"), 12);
    assert_equals_string(gst_structure_get_string(results, "operation"), "erode");
    assert_box(results, 0, 20, 40, 60, 50, 2800);
    assert_box(results, 1, 126, 94, 2, 2, 4);
    assert_equals_float(double_of(component_of(results, 0), "cx"), 49.5);
    assert_equals_float(double_of(component_of(results, 0), "cy"), 64.5);
    /* The centre of pixel (63, 47) is the corner that four pixels share. */
    assert_equals_float(double_of(component_of(results, 1), "cx"), 126.5);
    assert_equals_float(double_of(component_of(results, 1), "cy"), 94.5);
    assert_box(structure_of(buffer), 0, 10, 20, 30, 25, 700);
    gst_buffer_unref(twice);
    gst_buffer_unref(buffer);
}
GST_END_TEST

GST_START_TEST(test_scale_to_one_pixel) {
    GstBuffer *buffer = buffer_with_results();
    GstBuffer *one = scaled(buffer, 64, 48, 1, 1);
    const GstStructure *results = structure_of(one);
    assert_box(results, 0, 0, 0, 1, 1, 1);
    assert_box(results, 1, 0, 0, 1, 1, 1);
    assert_equals_int(int_of(results, "radius"), 1);
    gst_buffer_unref(one);
    gst_buffer_unref(buffer);
}
GST_END_TEST

/* A box inside the frame stays inside it, whatever the ratio. */
GST_START_TEST(test_scale_stays_inside) {
    for (gint to = 1; to <= 130; to++) {
        GstBuffer *buffer = buffer_with_results();
        GstBuffer *other = scaled(buffer, 64, 48, to, to);
        for (guint i = 0; i < 2; i++) {
            const GstStructure *box = component_of(structure_of(other), i);
            fail_unless(int_of(box, "x") >= 0 && int_of(box, "width") >= 1);
            fail_unless(int_of(box, "x") + int_of(box, "width") <= to, "to %d", to);
            fail_unless(int_of(box, "y") + int_of(box, "height") <= to, "to %d", to);
        }
        gst_buffer_unref(other);
        gst_buffer_unref(buffer);
    }
}
GST_END_TEST

GST_START_TEST(test_limits) {
    GstBuffer *buffer = gst_buffer_new();
    GstStructure *results =
        gst_structure_new(NAME, "x", G_TYPE_INT, 0, "y", G_TYPE_INT, 0, "width", G_TYPE_INT, 1,
                          "height", G_TYPE_INT, 1, "area", G_TYPE_INT, G_MAXINT, NULL);
    GstBuffer *large;
    gst_gpu_vision_meta_register(NAME);
    attach(buffer, results);
    gst_structure_free(results);
    large = scaled(buffer, 1, 1, 32767, 3);
    assert_equals_int(int_of(structure_of(large), "width"), 32767);
    assert_equals_int(int_of(structure_of(large), "height"), 3);
    assert_equals_int(int_of(structure_of(large), "area"), G_MAXINT);
    gst_buffer_unref(large);
    gst_buffer_unref(buffer);
}
GST_END_TEST

static void take_numbers(GstStructure *results, const gchar *field, const gint *numbers, guint n) {
    GValue array = G_VALUE_INIT;
    gst_value_array_init(&array, n);
    for (guint i = 0; i < n; i++) {
        GValue value = G_VALUE_INIT;
        g_value_init(&value, G_TYPE_INT);
        g_value_set_int(&value, numbers[i]);
        gst_value_array_append_and_take_value(&array, &value);
    }
    gst_structure_take_value(results, field, &array);
}

static void assert_numbers(const GstStructure *results, const gchar *field, const gint *numbers,
                           guint n) {
    const GValue *array = gst_structure_get_value(results, field);
    fail_unless(array != NULL && gst_value_array_get_size(array) == n);
    for (guint i = 0; i < n; i++)
        assert_equals_int(g_value_get_int(gst_value_array_get_value(array, i)), numbers[i]);
}

/* Pixels, and a sum over them, are of the frame; colours and how many there are stay. */
GST_START_TEST(test_arrays_of_numbers) {
    static const gint centroids[] = {0xffffff, 0x204060, 0}, counts[] = {2000, 1071, 1, 0};
    static const gint of_sixth[] = {333, 178, 1, 0}, of_sixfold[] = {12000, 6426, 6, 0};
    GstBuffer *buffer = gst_buffer_new(), *smaller, *larger;
    GstStructure *results =
        gst_structure_new(NAME, "clusters", G_TYPE_INT, 3, "inertia", G_TYPE_DOUBLE, 12.0, NULL);
    take_numbers(results, "centroids", centroids, G_N_ELEMENTS(centroids));
    take_numbers(results, "counts", counts, G_N_ELEMENTS(counts));
    gst_gpu_vision_meta_register(NAME);
    attach(buffer, results);
    gst_structure_free(results);
    smaller = scaled(buffer, 64, 48, 32, 16);
    larger = scaled(buffer, 64, 48, 128, 144);
    assert_numbers(structure_of(smaller), "centroids", centroids, G_N_ELEMENTS(centroids));
    assert_numbers(structure_of(smaller), "counts", of_sixth, G_N_ELEMENTS(counts));
    assert_numbers(structure_of(larger), "counts", of_sixfold, G_N_ELEMENTS(counts));
    assert_numbers(structure_of(buffer), "counts", counts, G_N_ELEMENTS(counts));
    assert_equals_float(double_of(structure_of(smaller), "inertia"), 2);
    assert_equals_float(double_of(structure_of(larger), "inertia"), 72);
    assert_equals_int(int_of(structure_of(larger), "clusters"), 3);
    gst_buffer_unref(smaller);
    gst_buffer_unref(larger);
    gst_buffer_unref(buffer);
}
GST_END_TEST

static void take_bytes(GstStructure *results, const gchar *field, gconstpointer data, gsize size) {
    GBytes *bytes = g_bytes_new(data, size);
    gst_structure_set(results, field, G_TYPE_BYTES, bytes, NULL);
    g_bytes_unref(bytes);
}

static gconstpointer bytes_of(const GstStructure *results, const gchar *field, gsize expected) {
    const GValue *value = gst_structure_get_value(results, field);
    gsize size = 0;
    gconstpointer data;
    fail_unless(value != NULL && G_VALUE_HOLDS(value, G_TYPE_BYTES), "no bytes %s", field);
    data = g_bytes_get_data(g_value_get_boxed(value), &size);
    fail_unless_equals_uint64(size, expected);
    return data;
}

static void assert_place(const gpv_sift_keypoint *keypoint, gdouble x, gdouble y, gdouble sigma) {
    assert_equals_float(keypoint->x, (gfloat)x);
    assert_equals_float(keypoint->y, (gfloat)y);
    assert_equals_float(keypoint->sigma, (gfloat)sigma);
}

/* Place, scale and angle of a keypoint are of the frame; the rest stays, as do other bytes. */
GST_START_TEST(test_keypoints) {
    static const gpv_sift_keypoint keypoints[] = {{0, 0, 2, 45, 0.25F, 0x10200},
                                                  {63.5F, 47.25F, 1.5F, 350, 0.125F, 255},
                                                  {31.5F, 23.5F, 8, 0, 0.5F, 3}};
    static const gdouble angles[] = {3.576334, 359.368619, 0}; /* of a sixteenth of the slope */
    GstBuffer *buffer = gst_buffer_new(), *changed, *copy;
    GstStructure *results = gst_structure_new(NAME, "count", G_TYPE_INT, 3, NULL);
    const gpv_sift_keypoint *got;
    take_bytes(results, "keypoints", keypoints, sizeof keypoints);
    take_bytes(results, "descriptors", keypoints, sizeof keypoints);
    gst_gpu_vision_meta_register(NAME);
    attach(buffer, results);
    gst_structure_free(results);
    changed = scaled(buffer, 64, 48, 256, 12);
    got = bytes_of(structure_of(changed), "keypoints", sizeof keypoints);
    assert_place(&got[0], 1.5, -0.375, 2); /* four times as wide, a fourth as high */
    assert_place(&got[1], 255.5, 11.4375, 1.5);
    assert_place(&got[2], 127.5, 5.5, 8);
    for (guint i = 0; i < G_N_ELEMENTS(keypoints); i++) {
        fail_unless(fabs(got[i].angle - angles[i]) < 1e-4, "%g", (gdouble)got[i].angle);
        assert_equals_float(got[i].response, keypoints[i].response);
        assert_equals_int(got[i].octave, keypoints[i].octave);
    }
    fail_unless(memcmp(bytes_of(structure_of(changed), "descriptors", sizeof keypoints), keypoints,
                       sizeof keypoints) == 0);
    gst_buffer_unref(changed);
    changed = scaled(buffer, 64, 48, 128, 96);
    got = bytes_of(structure_of(changed), "keypoints", sizeof keypoints);
    assert_place(&got[1], 127.5, 95, 3);
    fail_unless(fabs(got[1].angle - 350.0) < 1e-4);
    gst_buffer_unref(changed);
    copy = gst_buffer_copy(buffer);
    for (guint i = 0; i < 2; i++)
        fail_unless(memcmp(bytes_of(structure_of(i ? copy : buffer), "keypoints", sizeof keypoints),
                           keypoints, sizeof keypoints) == 0);
    gst_buffer_unref(copy);
    gst_buffer_unref(buffer);
}
GST_END_TEST

/* A frame without keypoints has bytes, though none. */
GST_START_TEST(test_no_keypoints) {
    GstBuffer *buffer = gst_buffer_new(), *twice;
    GstStructure *results = gst_structure_new(NAME, "count", G_TYPE_INT, 0, NULL);
    take_bytes(results, "keypoints", NULL, 0);
    gst_gpu_vision_meta_register(NAME);
    attach(buffer, results);
    gst_structure_free(results);
    twice = scaled(buffer, 64, 48, 128, 96);
    bytes_of(structure_of(twice), "keypoints", 0);
    gst_buffer_unref(twice);
    gst_buffer_unref(buffer);
}
GST_END_TEST

static void append_double(GValue *array, gdouble number) {
    GValue value = G_VALUE_INIT;
    g_value_init(&value, G_TYPE_DOUBLE);
    g_value_set_double(&value, number);
    gst_value_array_append_and_take_value(array, &value);
}

static GstBuffer *buffer_with_homography(const gdouble *m, const gdouble *corners) {
    GstBuffer *buffer = gst_buffer_new();
    GstStructure *results = gst_structure_new(NAME, "found", G_TYPE_BOOLEAN, TRUE, NULL);
    GValue homography = G_VALUE_INIT, array = G_VALUE_INIT;
    gst_value_array_init(&homography, 9);
    for (guint i = 0; i < 9; i++)
        append_double(&homography, m[i]);
    gst_structure_take_value(results, "homography", &homography);
    gst_value_array_init(&array, 4);
    for (guint i = 0; i < 4; i++)
        append(&array, gst_structure_new("corner", "cx", G_TYPE_DOUBLE, corners[2 * i], "cy",
                                         G_TYPE_DOUBLE, corners[2 * i + 1], NULL));
    gst_structure_take_value(results, "corners", &array);
    gst_gpu_vision_meta_register(NAME);
    attach(buffer, results);
    gst_structure_free(results);
    return buffer;
}

static void assert_homography(const GstStructure *results, const gdouble *expected) {
    const GValue *array = gst_structure_get_value(results, "homography");
    fail_unless(array != NULL && gst_value_array_get_size(array) == 9);
    for (guint i = 0; i < 9; i++)
        assert_equals_float(g_value_get_double(gst_value_array_get_value(array, i)), expected[i]);
}

static void assert_corners(const GstStructure *results, const gdouble *expected) {
    const GValue *array = gst_structure_get_value(results, "corners");
    fail_unless(array != NULL && gst_value_array_get_size(array) == 4);
    for (guint i = 0; i < 4; i++) {
        const GstStructure *corner = gst_value_get_structure(gst_value_array_get_value(array, i));
        assert_equals_float(double_of(corner, "cx"), expected[2 * i]);
        assert_equals_float(double_of(corner, "cy"), expected[2 * i + 1]);
    }
}

/* Points are measured from the centre of the first pixel: twice as large, x becomes 2 x + 1/2. All
   numbers are exact. */
GST_START_TEST(test_homography) {
    static const gdouble m[] = {1.5, -0.25, 10, 0.5, 2, -3, 0.125, -0.5, 1};
    static const gdouble corners[] = {-0.5, -0.5, 63.5, 10, 40.25, 47.5, -12, 30};
    /* Four times as wide, a fourth as high: 4 x + 1.5 and y / 4 - 3 / 8. */
    static const gdouble changed[] = {6.1875, -1.75, 41.5, 0.078125, 0.6875,
                                      -1.125, 0.125, -0.5, 1};
    static const gdouble moved[] = {-0.5, -0.5, 255.5, 2.125, 162.5, 11.5, -46.5, 7.125};
    GstBuffer *buffer = buffer_with_homography(m, corners);
    GstBuffer *other = scaled(buffer, 64, 48, 256, 12), *back = scaled(other, 256, 12, 64, 48);
    assert_homography(structure_of(other), changed);
    assert_corners(structure_of(other), moved);
    assert_homography(structure_of(back), m);
    assert_corners(structure_of(back), corners);
    assert_homography(structure_of(buffer), m);
    gst_buffer_unref(back);
    gst_buffer_unref(other);
    gst_buffer_unref(buffer);
}
GST_END_TEST

/* What somebody has added to a region stays with it. */
GST_START_TEST(test_region) {
    const GstVideoInfo in = frame_of(64, 48, 1, 1), out = frame_of(128, 96, 1, 1);
    GstVideoMetaTransform sizes = {(GstVideoInfo *)&in, (GstVideoInfo *)&out};
    GstBuffer *buffer = gst_buffer_new(), *copy, *twice = gst_buffer_new();
    GstVideoRegionOfInterestMeta *region;
    gst_gpu_vision_meta_add_region(buffer, g_quark_from_string("thing"), 7, 3, 10, 20, 30, 25);
    region = gst_buffer_get_video_region_of_interest_meta_id(buffer, 7);
    gst_video_region_of_interest_meta_add_param(region, gst_structure_new_empty("roi/encoder"));
    copy = gst_buffer_copy(buffer);
    region = gst_buffer_get_video_region_of_interest_meta_id(copy, 7);
    fail_unless(region->meta.info->transform_func(
        twice, &region->meta, copy, gst_video_meta_transform_scale_get_quark(), &sizes));
    region = gst_buffer_get_video_region_of_interest_meta_id(twice, 7);
    fail_unless(region != NULL && region->roi_type == g_quark_from_string("thing"));
    assert_equals_int(region->parent_id, 3);
    fail_unless(region->x == 20 && region->y == 40 && region->w == 60 && region->h == 50);
    fail_unless(gst_video_region_of_interest_meta_get_param(region, "roi/encoder") != NULL);
    gst_buffer_unref(twice);
    gst_buffer_unref(copy);
    gst_buffer_unref(buffer);
}
GST_END_TEST

/* ---- borders, and all else that a matrix says ---- */

#if GST_CHECK_VERSION(1, 28, 0)
static GstBuffer *moved(GstBuffer *from, const GstVideoInfo *in, GstVideoRectangle of,
                        const GstVideoInfo *out, GstVideoRectangle to, const gfloat turn[2][3]) {
    GstVideoMetaTransformMatrix matrix;
    gst_video_meta_transform_matrix_init(&matrix, in, &of, out, &to);
    memcpy(matrix.matrix, turn, 6 * sizeof turn[0][0]);
    return transformed(from, gst_video_meta_transform_matrix_get_quark(), &matrix);
}

/* A quarter to the right of what is left of a crop: (x, y) of its 40 by 30 pixels becomes
   (30 - y, x). Of the first component the left edge is cut off, the second is outside. */
GST_START_TEST(test_crop_and_turn) {
    static const gfloat turn[2][3] = {{0, -1, 30}, {1, 0, 0}};
    const GstVideoInfo in = frame_of(64, 48, 1, 1), out = frame_of(30, 40, 1, 1);
    GstBuffer *buffer = buffer_with_results();
    GstBuffer *other = moved(buffer, &in, (GstVideoRectangle){12, 16, 40, 30}, &out,
                             (GstVideoRectangle){0, 0, 30, 40}, turn);
    const GstStructure *results = structure_of(other), *left;
    const GValue *components = gst_structure_get_value(results, "components");
    fail_unless_equals_int(gst_value_array_get_size(components), 1);
    left = gst_value_get_structure(gst_value_array_get_value(components, 0));
    assert_equals_int(int_of(left, "x"), 1); /* 20 to 45 is 4 to 29 in the crop */
    assert_equals_int(int_of(left, "width"), 25);
    assert_equals_int(int_of(left, "y"), 0); /* 10 to 40 is -2 to 28 */
    assert_equals_int(int_of(left, "height"), 28);
    assert_equals_int(int_of(left, "area"), 700);
    assert_equals_float(double_of(left, "cx"), 13); /* (24.5, 32) is (12.5, 16) in the crop */
    assert_equals_float(double_of(left, "cy"), 12.5);
    assert_equals_int(int_of(results, "radius"), 6);
    assert_equals_int(int_of(results, "radius-y"), 4);
    assert_equals_int(int_of(results, "count"), 2);
    gst_buffer_unref(other);
    gst_buffer_unref(buffer);
}
GST_END_TEST

/* Mirrored: x becomes 63 - x of the centre of a pixel. */
GST_START_TEST(test_mirrored_points) {
    static const gpv_sift_keypoint keypoint = {10, 20, 2, 30, 0.25F, 0};
    static const gfloat turn[2][3] = {{-1, 0, 64}, {0, 1, 0}};
    static const gdouble m[] = {1.5, -0.25, 10, 0.5, 2, -3, 0.125, -0.5, 1};
    static const gdouble mirrored[] = {6.375, -31.25, 53, 0.5, 2, -3, 0.125, -0.5, 1};
    static const gdouble corners[] = {-0.5, -0.5, 63.5, 10, 40.25, 47.5, -12, 30};
    static const gdouble places[] = {63.5, -0.5, -0.5, 10, 22.75, 47.5, 75, 30};
    const GstVideoInfo info = frame_of(64, 48, 1, 1);
    const GstVideoRectangle whole = {0, 0, 64, 48};
    GstBuffer *buffer = buffer_with_homography(m, corners), *other;
    const gpv_sift_keypoint *got;
    take_bytes(structure_of(buffer), "keypoints", &keypoint, sizeof keypoint);
    other = moved(buffer, &info, whole, &info, whole, turn);
    assert_homography(structure_of(other), mirrored);
    assert_corners(structure_of(other), places);
    got = bytes_of(structure_of(other), "keypoints", sizeof keypoint);
    assert_place(got, 53, 20, 2);
    fail_unless(fabs(got->angle - 150.0) < 1e-4, "%g", (gdouble)got->angle);
    gst_buffer_unref(other);
    gst_buffer_unref(buffer);
}
GST_END_TEST

/* Nothing is said where the picture is seen from aside. */
GST_START_TEST(test_perspective_is_refused) {
    const GstVideoInfo info = frame_of(64, 48, 1, 1);
    const GstVideoRectangle whole = {0, 0, 64, 48};
    GstBuffer *buffer = buffer_with_results(), *to = gst_buffer_new();
    GstMeta *meta = (GstMeta *)gst_buffer_get_custom_meta(buffer, NAME);
    GstVideoMetaTransformMatrix matrix;
    gst_video_meta_transform_matrix_init(&matrix, &info, &whole, &info, &whole);
    matrix.matrix[2][0] = 0.001F;
    fail_if(meta->info->transform_func(to, meta, buffer,
                                       gst_video_meta_transform_matrix_get_quark(), &matrix));
    gst_buffer_unref(to);
    gst_buffer_unref(buffer);
}
GST_END_TEST
#else
/* Where the aspect ratio would change a scaler adds borders, half of them on each side. */
GST_START_TEST(test_borders) {
    static const struct {
        gint width, height, par_n, par_d, x, y, right, down;
    } frames[] = {
        {64, 64, 1, 1, 0, 8, 1, 1},   {128, 48, 1, 1, 32, 0, 1, 1}, {128, 131, 1, 1, 0, 17, 2, 2},
        {128, 96, 2, 1, 32, 0, 1, 2}, {192, 96, 2, 3, 0, 0, 3, 2},  {64, 96, 1, 1, 0, 24, 1, 1},
    };
    const GstVideoInfo in = frame_of(64, 48, 1, 1);
    GstBuffer *buffer = buffer_with_results();
    for (guint i = 0; i < G_N_ELEMENTS(frames); i++) {
        const gint right = frames[i].right, down = frames[i].down;
        const GstVideoInfo out =
            frame_of(frames[i].width, frames[i].height, frames[i].par_n, frames[i].par_d);
        GstVideoMetaTransform sizes = {(GstVideoInfo *)&in, (GstVideoInfo *)&out};
        GstBuffer *other = transformed(buffer, gst_video_meta_transform_scale_get_quark(), &sizes);
        assert_box(structure_of(other), 0, frames[i].x + 10 * right, frames[i].y + 20 * down,
                   30 * right, 25 * down, 700 * right * down);
        gst_buffer_unref(other);
    }
    gst_buffer_unref(buffer);
}
GST_END_TEST
#endif

GST_START_TEST(test_other_transforms_are_refused) {
    GstBuffer *buffer = buffer_with_results();
    GstBuffer *to = gst_buffer_new();
    GstMeta *meta = (GstMeta *)gst_buffer_get_custom_meta(buffer, NAME);
    fail_if(meta->info->transform_func(to, meta, buffer, g_quark_from_string("turn"), NULL));
    fail_unless(gst_buffer_get_custom_meta(to, NAME) == NULL);
    gst_buffer_unref(to);
    gst_buffer_unref(buffer);
}
GST_END_TEST

static Suite *meta_suite(void) {
    Suite *suite = suite_create("meta");
    TCase *tcase = tcase_create("all");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, test_tags);
    tcase_add_test(tcase, test_copy);
    tcase_add_test(tcase, test_scale_by_two);
    tcase_add_test(tcase, test_scale_to_one_pixel);
    tcase_add_test(tcase, test_scale_stays_inside);
    tcase_add_test(tcase, test_limits);
    tcase_add_test(tcase, test_arrays_of_numbers);
    tcase_add_test(tcase, test_keypoints);
    tcase_add_test(tcase, test_no_keypoints);
    tcase_add_test(tcase, test_homography);
    tcase_add_test(tcase, test_region);
#if GST_CHECK_VERSION(1, 28, 0)
    tcase_add_test(tcase, test_crop_and_turn);
    tcase_add_test(tcase, test_mirrored_points);
    tcase_add_test(tcase, test_perspective_is_refused);
#else
    tcase_add_test(tcase, test_borders);
#endif
    tcase_add_test(tcase, test_other_transforms_are_refused);
    return suite;
}

GST_CHECK_MAIN(meta)
