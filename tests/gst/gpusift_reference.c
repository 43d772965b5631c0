/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gpusift with a reference: a made object before a made ground, along the path of a camera that is
 * known; beside the library called directly on the same frames.
 */
#include "helpers.h"

#include <math.h>

/* Row by row, the last number 1: of the object to the frame. */
typedef struct {
    gdouble m[9];
} Matrix;

typedef struct {
    gdouble x, y;
} Place;

enum { object_width = 120, object_height = 90, frame_width = 320, frame_height = 240 };

/* ---- pictures ---- */

/* Squares of many sizes, the large ones first. */
static Plane texture(gint width, gint height, guint32 seed) {
    Plane plane = plane_new(width, height);
    GRand *random = g_rand_new_with_seed(seed);
    const gint squares = width * height / 60;
    memset(plane.pixels, 128, (gsize)(width * height));
    for (gint n = 0; n < squares; n++) {
        const gint side = 3 + 25 * (squares - n) / squares;
        const gint left = g_rand_int_range(random, -side, width);
        const gint top = g_rand_int_range(random, -side, height);
        const guint8 level = (guint8)g_rand_int_range(random, 0, 256);
        for (gint y = MAX(top, 0); y < MIN(top + side, height); y++)
            for (gint x = MAX(left, 0); x < MIN(left + side, width); x++)
                plane.pixels[y * width + x] = level;
    }
    g_rand_free(random);
    return plane;
}

static Plane the_object(void) {
    return texture(object_width, object_height, 11);
}

static Place moved(const Matrix *h, gdouble x, gdouble y) {
    const gdouble w = h->m[6] * x + h->m[7] * y + h->m[8];
    return (Place){(h->m[0] * x + h->m[1] * y + h->m[2]) / w,
                   (h->m[3] * x + h->m[4] * y + h->m[5]) / w};
}

static Matrix inverse(const Matrix *h) {
    const gdouble *m = h->m;
    Matrix i = {{m[4] * m[8] - m[5] * m[7], m[2] * m[7] - m[1] * m[8], m[1] * m[5] - m[2] * m[4],
                 m[5] * m[6] - m[3] * m[8], m[0] * m[8] - m[2] * m[6], m[2] * m[3] - m[0] * m[5],
                 m[3] * m[7] - m[4] * m[6], m[1] * m[6] - m[0] * m[7], m[0] * m[4] - m[1] * m[3]}};
    const gdouble last = i.m[8];
    for (guint k = 0; k < 9; k++)
        i.m[k] /= last;
    return i;
}

static gdouble level_at(const Plane *plane, gdouble x, gdouble y) {
    const gint left = (gint)floor(x), top = (gint)floor(y);
    gdouble sum = 0;
    for (gint k = 0; k < 4; k++) {
        const gint u = left + k % 2, v = top + k / 2;
        const gdouble weight = (1 - fabs(x - u)) * (1 - fabs(y - v));
        sum += weight * plane->pixels[CLAMP(v, 0, plane->height - 1) * plane->width +
                                      CLAMP(u, 0, plane->width - 1)];
    }
    return sum;
}

/* What a camera sees; h NULL: the ground alone. Several samples a pixel, as of a sensor. */
static Plane scene(const Plane *object, const Matrix *h) {
    Plane plane = texture(frame_width, frame_height, 99);
    Matrix back;
    if (!h)
        return plane;
    back = inverse(h);
    for (gint i = 0; i < frame_width * frame_height; i++) {
        gdouble sum = 0;
        for (gint k = 0; k < 16; k++) {
            const Place from = moved(&back, i % frame_width + (k % 4 - 1.5) / 4,
                                     i / frame_width + (k / 4 - 1.5) / 4);
            const gboolean inside = from.x >= -0.5 && from.x < object->width - 0.5 &&
                                    from.y >= -0.5 && from.y < object->height - 0.5;
            sum += inside ? level_at(object, from.x, from.y) : plane.pixels[i];
        }
        plane.pixels[i] = (guint8)(sum / 16 + 0.5);
    }
    return plane;
}

/* Of frame i: the object turns, comes nearer, leans and goes to the right. */
static Matrix camera(guint i) {
    const gdouble t = i / 23.0, angle = -0.6 + 1.5 * t, scale = 0.8 + 0.7 * t;
    const gdouble c = scale * cos(angle), s = scale * sin(angle), lean = 0.0012 * sin(6 * t);
    const gdouble x = 130 + 60 * t, y = 120 - 10 * t; /* of the middle of the object */
    const gdouble u = object_width / 2.0, v = object_height / 2.0;
    /* Shifted to the middle, turned, leaned, shifted. */
    Matrix h = {{c + x * lean, -s, 0, s + y * lean, c, 0, lean, 0, 1}};
    h.m[2] = x - (h.m[0] * u + h.m[1] * v);
    h.m[5] = y - (h.m[3] * u + h.m[4] * v);
    return h;
}

static GstBuffer *frame_of(const Plane *plane, const GstVideoInfo *info) {
    GstBuffer *buffer = random_frame(info);
    GstVideoFrame frame;
    const gint channels = GST_VIDEO_INFO_IS_RGB(info) ? GST_VIDEO_INFO_COMP_PSTRIDE(info, 0) : 1;
    fail_unless(gst_video_frame_map(&frame, info, buffer, GST_MAP_WRITE));
    for (gint y = 0; y < plane->height; y++)
        for (gint x = 0; x < plane->width * channels; x++)
            ((guint8 *)GST_VIDEO_FRAME_PLANE_DATA(
                &frame, 0))[y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0) + x] =
                plane->pixels[y * plane->width + x / channels];
    gst_video_frame_unmap(&frame);
    return buffer;
}

static GstBuffer *scene_frame(const Plane *object, const Matrix *h, const GstVideoInfo *info) {
    Plane plane = scene(object, h);
    GstBuffer *buffer = frame_of(&plane, info);
    g_free(plane.pixels);
    return buffer;
}

/* ---- results ---- */

static gboolean boolean_field(const GstStructure *results, const gchar *name) {
    gboolean value = FALSE;
    fail_unless(gst_structure_get_boolean(results, name, &value), "no %s", name);
    return value;
}

static Matrix matrix_of(const GstStructure *results) {
    const GValue *array = gst_structure_get_value(results, "homography");
    Matrix h;
    fail_unless(array && GST_VALUE_HOLDS_ARRAY(array));
    fail_unless_equals_int(gst_value_array_get_size(array), 9);
    for (guint i = 0; i < 9; i++)
        h.m[i] = g_value_get_double(gst_value_array_get_value(array, i));
    return h;
}

static Place corner_of(const GstStructure *results, guint i) {
    const GValue *array = gst_structure_get_value(results, "corners");
    const GstStructure *corner;
    fail_unless(array && GST_VALUE_HOLDS_ARRAY(array));
    fail_unless_equals_int(gst_value_array_get_size(array), 4);
    corner = gst_value_get_structure(gst_value_array_get_value(array, i));
    return (Place){double_field(corner, "cx"), double_field(corner, "cy")};
}

/* Of the object, clockwise from the top left; the edges of pixels, not their middles. */
static Place own_corner(guint i, gint width, gint height) {
    return (Place){i == 1 || i == 2 ? width - 0.5 : -0.5, i >= 2 ? height - 0.5 : -0.5};
}

static gdouble distance(Place a, Place b) {
    return hypot(a.x - b.x, a.y - b.y);
}

/* Of a frame that does not have it: matches may be there, but no place. */
static void assert_not_found(const GstStructure *results) {
    fail_unless(!boolean_field(results, "found"));
    fail_unless(int_field(results, "inliers") <= int_field(results, "matches"));
    fail_unless(!gst_structure_has_field(results, "homography"));
    fail_unless(!gst_structure_has_field(results, "corners"));
}

/* Returns the mean distance of the corners. */
static gdouble assert_found(const GstStructure *results, const Matrix *truth, const Plane *object) {
    gdouble error = 0;
    Matrix h;
    fail_unless(boolean_field(results, "found"), "%d keypoints, %d of %d matches",
                int_field(results, "count"), int_field(results, "inliers"),
                int_field(results, "matches"));
    h = matrix_of(results);
    fail_unless(int_field(results, "inliers") <= int_field(results, "matches"));
    for (guint i = 0; i < 4; i++) {
        const Place own = own_corner(i, object->width, object->height);
        fail_unless(distance(corner_of(results, i), moved(&h, own.x, own.y)) < 0.001);
        error += distance(corner_of(results, i), moved(truth, own.x, own.y)) / 4;
    }
    return error;
}

/* ---- the library ---- */

typedef struct {
    gpv_context *context;
    gpv_sift *sift;
    gpv_match *match;
} Library;

typedef struct {
    gpv_keypoint keypoints[5000];
    guint8 descriptors[5000 * GPV_SIFT_LENGTH];
    gint count;
} Features;

static Library library_new(void) {
    Library library = {NULL, NULL, NULL};
    gpv_context_params params;
    gpv_context_params_init(&params, sizeof params);
    params.backend = GPV_BACKEND_CPU;
    fail_unless_equals_int(gpv_context_create(&params, &library.context), GPV_OK);
    fail_unless_equals_int(gpv_sift_create(library.context, NULL, &library.sift), GPV_OK);
    fail_unless_equals_int(gpv_match_create(library.context, NULL, &library.match), GPV_OK);
    return library;
}

static void library_free(Library *library) {
    gpv_match_destroy(&library->match);
    gpv_sift_destroy(&library->sift);
    gpv_context_destroy(&library->context);
}

static void find_features(Library *library, const gpv_image *image, gint most, Features *features) {
    const gpv_buffer to = buffer_for(features->keypoints, sizeof features->keypoints);
    const gpv_buffer of = buffer_for(features->descriptors, sizeof features->descriptors);
    gpv_sift_params params;
    gpv_sift_result result;
    gpv_sift_params_init(&params, sizeof params);
    gpv_sift_result_init(&result, sizeof result);
    params.max_features = most;
    fail_unless_equals_int(gpv_sift_set_params(library->sift, &params), GPV_OK);
    fail_unless_equals_int(gpv_sift_run(library->sift, NULL, image, NULL, &to, 0, &of, NULL),
                           GPV_OK);
    fail_unless_equals_int(gpv_sift_wait(library->sift, &result), GPV_OK);
    features->count = result.count;
}

/* Returns the matches. */
static gint find_homography(Library *library, Features *object, Features *frame,
                            gpv_homography *found) {
    gpv_match_pair pairs[5000];
    gfloat from[10000], to[10000];
    const gpv_buffer query =
        buffer_for(object->descriptors, (gsize)object->count * GPV_SIFT_LENGTH);
    const gpv_buffer train = buffer_for(frame->descriptors, (gsize)frame->count * GPV_SIFT_LENGTH);
    const gpv_buffer matches = buffer_for(pairs, sizeof pairs);
    gpv_match_result result;
    gpv_match_result_init(&result, sizeof result);
    fail_unless_equals_int(gpv_match_run(library->match, NULL, &query, object->count, NULL, &train,
                                         frame->count, NULL, &matches, NULL),
                           GPV_OK);
    fail_unless_equals_int(gpv_match_wait(library->match, &result), GPV_OK);
    for (gint i = 0; i < result.count; i++) {
        const gpv_keypoint *a = &object->keypoints[pairs[i].query];
        const gpv_keypoint *b = &frame->keypoints[pairs[i].train];
        from[2 * i] = a->x;
        from[2 * i + 1] = a->y;
        to[2 * i] = b->x;
        to[2 * i + 1] = b->y;
    }
    gpv_homography_init(found, sizeof *found);
    fail_unless_equals_int(
        gpv_homography_find(library->context, NULL, from, to, result.count, NULL, found), GPV_OK);
    return result.count;
}

static gpv_image view_of(const Plane *plane) {
    gpv_image image;
    gpv_image_wrap(&image, sizeof image, GPV_FORMAT_GRAY8, plane->width, plane->height,
                   plane->pixels, 0);
    return image;
}

/* ---- harness ---- */

static GstHarness *harness_new(const gchar *reference) {
    GstElement *element = element_new("gpusift", test_backend());
    g_object_set(element, "reference", reference, NULL);
    return harness_with(element);
}

static File object_file(const Plane *object) {
    File file = file_new("object of \"this\" test.pgm");
    write_picture(&file, object, 1);
    return file;
}

static GstVideoInfo frame_info(const gchar *format) {
    return make_info(format, frame_width, frame_height);
}

/* ---- tests ---- */

static gint compare_doubles(gconstpointer a, gconstpointer b) {
    const gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;
    return (x > y) - (x < y);
}

/* In every sixth frame the object is not there. */
GST_START_TEST(test_camera_path) {
    GstVideoInfo info = frame_info(__i__ ? "NV12" : "GRAY8");
    Plane object = the_object();
    File file = object_file(&object);
    GstHarness *h = harness_new(file.path);
    gdouble errors[24];
    guint seen = 0;
    set_info(h, &info);
    for (guint i = 0; i < 24; i++) {
        const Matrix truth = camera(i);
        const gboolean there = i % 6 != 5;
        GstBuffer *out =
            gst_harness_push_and_pull(h, scene_frame(&object, there ? &truth : NULL, &info));
        const GstStructure *results = results_of(out, "gpusift");
        if (there)
            errors[seen++] = assert_found(results, &truth, &object);
        else
            assert_not_found(results);
        gst_buffer_unref(out);
    }
    qsort(errors, seen, sizeof errors[0], compare_doubles);
    fail_unless(errors[seen / 2] <= 1, "median error of the corners: %g", errors[seen / 2]);
    fail_unless(errors[seen - 1] <= 3, "greatest error of the corners: %g", errors[seen - 1]);
    g_free(object.pixels);
    file_free(&file);
    gst_harness_teardown(h);
}
GST_END_TEST

/* The same numbers, in metadata and message, and the same picture, whatever is drawn. */
GST_START_TEST(test_like_the_library) {
    static const gchar *const formats[] = {"GRAY8", "RGB", "BGRx", "NV12", "I420"};
    static const gchar *const overlays[] = {"none", "points", "rich", "outline"};
    Library library = library_new();
    Features *const of_object = g_new(Features, 1), *const of_frame = g_new(Features, 1);
    Plane object = the_object();
    File file = object_file(&object);
    GstHarness *h = harness_new(file.path);
    const gpv_image object_view = view_of(&object);
    find_features(&library, &object_view, 4096, of_object);
    g_object_set(h->element, "color", 0xff2060c0, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(formats) * G_N_ELEMENTS(overlays); i++) {
        GstVideoInfo info = frame_info(formats[i / 4]);
        const Matrix truth = camera(i);
        const gboolean there = i % 7 != 6;
        GstBuffer *in = scene_frame(&object, there ? &truth : NULL, &info), *out;
        GstBuffer *expected = gst_buffer_copy_deep(in);
        const GstStructure *results;
        GstVideoFrame frame;
        gpv_homography found;
        gpv_image image;
        gint matches;
        fail_unless(gst_video_frame_map(&frame, &info, expected, GST_MAP_READWRITE));
        image = library_image(&frame);
        find_features(&library, &image, 2000, of_frame);
        matches = find_homography(&library, of_object, of_frame, &found);
        fail_unless_equals_int(found.inliers >= 15, there);
        if (i % 4 == 1 || i % 4 == 2)
            fail_unless_equals_int(gpv_sift_draw(library.sift, NULL, &image,
                                                 i % 4 == 2 ? GPV_SIFT_RICH : GPV_SIFT_POINTS,
                                                 0x2060c0),
                                   GPV_OK);
        set_info(h, &info);
        set_output(h, overlays[i % 4]);
        out = gst_harness_push_and_pull(h, in);
        results = results_of(out, "gpusift");
        fail_unless_equals_int(int_field(results, "count"), of_frame->count);
        fail_unless_equals_int(int_field(results, "matches"), matches);
        fail_unless_equals_int(int_field(results, "inliers"), found.inliers);
        if (there) {
            const Matrix got = matrix_of(results);
            gfloat corners[8];
            fail_unless(memcmp(got.m, found.matrix, sizeof got.m) == 0);
            for (guint k = 0; k < 4; k++) {
                corners[2 * k] = (gfloat)corner_of(results, k).x;
                corners[2 * k + 1] = (gfloat)corner_of(results, k).y;
            }
            if (i % 4)
                fail_unless_equals_int(
                    gpv_match_draw(library.match, NULL, &image, corners, 4, 2, 0x2060c0), GPV_OK);
        } else {
            assert_not_found(results);
        }
        gst_video_frame_unmap(&frame);
        assert_same(&info, out, expected);
        gst_buffer_unref(expected);
        gst_buffer_unref(out);
    }
    g_free(of_object);
    g_free(of_frame);
    g_free(object.pixels);
    file_free(&file);
    library_free(&library);
    gst_harness_teardown(h);
}
GST_END_TEST

/* Drawn also where nobody wants results; and without either the frame goes on as it is. */
GST_START_TEST(test_results_unwanted) {
    GstVideoInfo info = frame_info("GRAY8");
    Plane object = the_object();
    File file = object_file(&object);
    GstHarness *h = harness_new(file.path);
    const Matrix truth = camera(3);
    set_info(h, &info);
    for (guint i = 0; i < 4; i++) {
        GstBuffer *in = scene_frame(&object, &truth, &info), *out;
        GstBuffer *before = gst_buffer_copy_deep(in);
        GstMapInfo a, b;
        g_object_set(h->element, "attach-meta", i / 2, NULL);
        set_output(h, i % 2 ? "outline" : "none");
        out = gst_harness_push_and_pull(h, in);
        fail_unless((gst_buffer_get_custom_meta(out, "gpusift") != NULL) == (i >= 2));
        gst_buffer_map(out, &a, GST_MAP_READ);
        gst_buffer_map(before, &b, GST_MAP_READ);
        fail_unless((memcmp(a.data, b.data, info.size) == 0) == (i % 2 == 0));
        gst_buffer_unmap(out, &a);
        gst_buffer_unmap(before, &b);
        gst_buffer_unref(before);
        gst_buffer_unref(out);
    }
    g_free(object.pixels);
    file_free(&file);
    gst_harness_teardown(h);
}
GST_END_TEST

GST_START_TEST(test_message) {
    GstVideoInfo info = frame_info("GRAY8");
    Plane object = the_object();
    File file = object_file(&object);
    GstHarness *h = harness_new(file.path);
    const Matrix truth = camera(5);
    GstMessage *message;
    GstBuffer *out;
    const GstStructure *said;
    Matrix a, b;
    g_object_set(h->element, "post-messages", TRUE, NULL);
    set_info(h, &info);
    message = message_of(h, scene_frame(&object, &truth, &info), &out);
    said = gst_message_get_structure(message);
    assert_found(said, &truth, &object);
    a = matrix_of(said);
    b = matrix_of(results_of(out, "gpusift"));
    fail_unless(memcmp(&a, &b, sizeof a) == 0);
    gst_message_unref(message);
    gst_buffer_unref(out);
    g_free(object.pixels);
    file_free(&file);
    gst_harness_teardown(h);
}
GST_END_TEST

/* One frame with what the properties say now. */
static GstBuffer *seen(GstHarness *h, const Plane *object, const Matrix *truth,
                       const GstVideoInfo *info) {
    return gst_harness_push_and_pull(h, scene_frame(object, truth, info));
}

static void expect_seen(GstHarness *h, const Plane *object, const Matrix *truth,
                        const GstVideoInfo *info, gboolean found) {
    GstBuffer *out = seen(h, object, truth, info);
    if (found)
        fail_unless(assert_found(results_of(out, "gpusift"), truth, object) < 3);
    else
        assert_not_found(results_of(out, "gpusift"));
    gst_buffer_unref(out);
}

/* Another reference, none, other parameters, each from the next frame on. */
GST_START_TEST(test_changes_between_frames) {
    static const gchar *const off[] = {NULL, ""};
    GstVideoInfo info = frame_info("NV12");
    Plane object = the_object(), other = texture(100, 140, 77);
    File file = object_file(&object), other_file = object_file(&other);
    GstHarness *h = harness_new(file.path);
    const Matrix truth = camera(8), there = {{1, 0, 60, 0, 1, 40, 0, 0, 1}};
    set_info(h, &info);
    expect_seen(h, &object, &truth, &info, TRUE);
    expect_seen(h, &other, &there, &info, FALSE);
    g_object_set(h->element, "reference", other_file.path, NULL);
    expect_seen(h, &other, &there, &info, TRUE);
    expect_seen(h, &object, &truth, &info, FALSE);
    for (guint i = 0; i < G_N_ELEMENTS(off); i++) {
        GstBuffer *out;
        g_object_set(h->element, "reference", off[i], NULL);
        out = seen(h, &object, &truth, &info);
        fail_unless(!gst_structure_has_field(results_of(out, "gpusift"), "matches"));
        gst_buffer_unref(out);
        g_object_set(h->element, "reference", file.path, NULL);
        expect_seen(h, &object, &truth, &info, TRUE);
    }
    /* Features of the reference have to be found again for these. */
    g_object_set(h->element, "root-sift", TRUE, "min-inliers", 10, NULL);
    expect_seen(h, &object, &truth, &info, TRUE);
    g_object_set(h->element, "upsample", FALSE, "sigma", 1.4, NULL);
    expect_seen(h, &object, &truth, &info, TRUE);
    g_object_set(h->element, "max-features", 300, NULL);
    expect_seen(h, &object, &truth, &info, TRUE);
    g_object_set(h->element, "min-inliers", 1000, NULL);
    expect_seen(h, &object, &truth, &info, FALSE);
    g_object_set(h->element, "min-inliers", 15, "match-ratio", 0.01, NULL);
    expect_seen(h, &object, &truth, &info, FALSE);
    g_object_set(h->element, "match-ratio", 0.8, "max-features", 2000, NULL);
    info = make_info("RGB", frame_width, frame_height);
    set_info(h, &info);
    expect_seen(h, &object, &truth, &info, TRUE);
    g_free(object.pixels);
    g_free(other.pixels);
    file_free(&file);
    file_free(&other_file);
    gst_harness_teardown(h);
}
GST_END_TEST

/* Without anything to hold on to, or larger than the frame, a reference is no error. */
GST_START_TEST(test_odd_references) {
    static const gint sizes[][2] = {{40, 1}, {2000, 3}, {64, 64}, {900, 700}};
    GstVideoInfo info = frame_info("GRAY8");
    Plane object = the_object();
    const Matrix truth = camera(2);
    for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
        Plane reference =
            i < 3 ? plane_new(sizes[i][0], sizes[i][1]) : texture(sizes[i][0], sizes[i][1], 5);
        File file = file_new("reference.pgm");
        GstHarness *h;
        if (i < 3)
            memset(reference.pixels, 90, (gsize)(reference.width * reference.height));
        write_picture(&file, &reference, i == 3 ? 3 : 1);
        h = harness_new(file.path);
        set_info(h, &info);
        expect_seen(h, &object, &truth, &info, FALSE);
        gst_harness_teardown(h);
        file_free(&file);
        g_free(reference.pixels);
    }
    g_free(object.pixels);
}
GST_END_TEST

static void assert_reference_refused(GstHarness *h, GstBus *bus, const GstVideoInfo *info,
                                     const gchar *path, const gchar *words) {
    gchar *text;
    GstMessage *message;
    g_object_set(h->element, "reference", path, NULL);
    fail_unless_equals_int(gst_harness_push(h, random_frame(info)), GST_FLOW_ERROR);
    message = error_on(bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ, &text);
    fail_unless(strstr(text, words) != NULL && strstr(text, path) != NULL, "%s", text);
    fail_unless(strstr(text, "reference=") != NULL, "%s", text);
    fail_unless(gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR) == NULL, "one is enough");
    gst_message_unref(message);
    g_free(text);
}

GST_START_TEST(test_bad_references) {
    GstVideoInfo info = frame_info("NV12");
    Plane object = the_object();
    const Matrix truth = camera(4);
    File file = file_new("reference.txt"), good = object_file(&object);
    GstHarness *h = harness_new(NULL);
    GstBus *bus = add_bus(h->element);
    set_info(h, &info);
    assert_reference_refused(h, bus, &info, file.path, "no such file");
    assert_reference_refused(h, bus, &info, file.folder, "no such file");
    fail_unless(g_file_set_contents(file.path, "This is no picture, but a text.\n", -1, NULL));
    assert_reference_refused(h, bus, &info, file.path, "cannot be read");
    fail_unless(g_file_set_contents(file.path, "P5\n40 30\n255\nshort", -1, NULL));
    assert_reference_refused(h, bus, &info, file.path, "cannot be read");
    g_object_set(h->element, "reference", good.path, NULL);
    expect_seen(h, &object, &truth, &info, TRUE);
    g_free(object.pixels);
    file_free(&good);
    file_free(&file);
    drop_bus(h->element, bus);
    gst_harness_teardown(h);
}
GST_END_TEST

/* The element is stopped and started with its reference, again and again. */
GST_START_TEST(test_restarts) {
    Plane object = the_object();
    File file = object_file(&object);
    gchar *escaped = g_strescape(file.path, NULL);
    gchar *element = g_strdup_printf("gpusift overlay=outline reference=\"%s\"", escaped);
    check_restarts(element);
    g_free(element);
    g_free(escaped);
    g_free(object.pixels);
    file_free(&file);
}
GST_END_TEST

GST_START_TEST(test_properties) {
    static const IntProperty expected[] = {{"min-inliers", 4, 65536, 15}};
    GstElement *element = element_new("gpusift", "cpu");
    gchar *reference = NULL;
    gfloat ratio = 0;
    check_int_properties("gpusift", expected, G_N_ELEMENTS(expected));
    g_object_get(element, "reference", &reference, "match-ratio", &ratio, NULL);
    fail_unless(reference == NULL);
    fail_unless_equals_float(ratio, 0.8F);
    g_object_set(element, "reference", "/a/picture.png", "match-ratio", 0.5F, NULL);
    g_object_get(element, "reference", &reference, "match-ratio", &ratio, NULL);
    fail_unless_equals_string(reference, "/a/picture.png");
    fail_unless_equals_float(ratio, 0.5F);
    g_free(reference);
    gst_object_unref(element);
}
GST_END_TEST

static Suite *gpusift_reference_suite(void) {
    Suite *suite = suite_create("gpusift_reference");
    TCase *tcase = add_case(suite, "results");
    tcase_add_loop_test(tcase, test_camera_path, 0, 2);
    tcase_add_test(tcase, test_like_the_library);
    tcase_add_test(tcase, test_results_unwanted);
    tcase_add_test(tcase, test_message);
    tcase = add_case(suite, "references");
    tcase_add_test(tcase, test_changes_between_frames);
    tcase_add_test(tcase, test_odd_references);
    tcase_add_test(tcase, test_bad_references);
    tcase_add_test(tcase, test_restarts);
    tcase_add_test(tcase, test_properties);
    return suite;
}

int main(int argc, char **argv) {
    gst_check_init(&argc, &argv);
    load_type_finders();
    return run_on_backend(gpusift_reference_suite, "gpusift_reference", __FILE__);
}
