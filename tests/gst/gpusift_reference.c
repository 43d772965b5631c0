/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A picture that gpusift looks for: against homographies that are known, against the library called
 * directly on the same frames, and its behaviour in pipelines; on the backend GPV_TEST_BACKEND, or
 * on the CPU. With GST_TRACERS=leaks every test also fails on objects that are alive after it.
 */
#include "helpers.h"

#include <math.h>

enum { picture_width = 200, picture_height = 150, frame_width = 400, frame_height = 300 };

/* ---- the library ---- */

typedef struct {
    gpv_context *context;
    gpv_sift *sift;
    gpv_match *match;
    gpv_sift_params params; /* max_features as the property */
    gfloat ratio;
    gint min_inliers;
    guint color;         /* 0xRRGGBB */
    Plane reference;     /* no pixels: there is none */
    gboolean impossible; /* a homography that enough matches agree on is none of a picture */
} Model;

typedef struct {
    gint count, dropped;
    gpv_sift_keypoint *keypoints;
    guint8 *descriptors;
} Features;

typedef struct {
    GstBuffer *image;
    gint count, matches, inliers;
    gboolean found;
    gdouble matrix[9];
    gfloat corners[8];
} Expected;

static const gchar *const overlays[] = {"none", "points", "rich", "outline"};

static gpv_sift_params default_params(void) {
    gpv_sift_params params;
    gpv_sift_params_init(&params, sizeof params);
    params.max_features = 2000;
    return params;
}

static Model model_new(const Plane *reference) {
    Model model = {.params = default_params(), .ratio = 0.8F, .min_inliers = 15, .color = 0x00ff00};
    gpv_context_params wanted;
    gpv_context_params_init(&wanted, sizeof wanted);
    wanted.backend = GPV_BACKEND_CPU;
    fail_unless_equals_int(gpv_context_create(&wanted, &model.context), GPV_OK);
    fail_unless_equals_int(gpv_sift_create(model.context, NULL, &model.sift), GPV_OK);
    fail_unless_equals_int(gpv_match_create(model.context, NULL, &model.match), GPV_OK);
    if (reference)
        model.reference = *reference;
    return model;
}

static void model_free(Model *model) {
    gpv_match_destroy(&model->match);
    gpv_sift_destroy(&model->sift);
    gpv_context_destroy(&model->context);
}

static gint capacity_of(gint width, gint height) {
    return CLAMP(width * height / 64, 4096, 65536);
}

static Features features_of(Model *model, const gpv_image *image, gint maximum) {
    const gsize size = (gsize)maximum;
    Features features = {.keypoints = g_new(gpv_sift_keypoint, size),
                         .descriptors = g_new(guint8, size * GPV_SIFT_DESCRIPTOR_LENGTH)};
    const gpv_buffer to = buffer_for(features.keypoints, size * sizeof *features.keypoints);
    const gpv_buffer of = buffer_for(features.descriptors, size * GPV_SIFT_DESCRIPTOR_LENGTH);
    gpv_sift_params params = model->params;
    gpv_sift_result result;
    gpv_status status;
    params.max_features = maximum;
    gpv_sift_result_init(&result, sizeof result);
    fail_unless_equals_int(gpv_sift_set_params(model->sift, &params), GPV_OK);
    fail_unless_equals_int(gpv_sift_run(model->sift, NULL, image, NULL, &to, 0, &of, NULL), GPV_OK);
    status = gpv_sift_wait(model->sift, &result);
    fail_unless(status == GPV_OK || status == GPV_ERR_TOO_SMALL);
    features.count = result.count;
    features.dropped = result.dropped;
    return features;
}

static void features_free(Features *features) {
    g_free(features->keypoints);
    g_free(features->descriptors);
}

/* Returns how many pairs there are. */
static gint run_match(Model *model, const Features *query, const Features *train,
                      gpv_match_pair *pairs) {
    const gpv_buffer from =
        buffer_for(query->descriptors, (gsize)query->count * GPV_SIFT_DESCRIPTOR_LENGTH);
    const gpv_buffer to =
        buffer_for(train->descriptors, (gsize)train->count * GPV_SIFT_DESCRIPTOR_LENGTH);
    const gpv_buffer room = buffer_for(pairs, (gsize)query->count * sizeof *pairs);
    gpv_match_params params;
    gpv_match_result result;
    if (query->count == 0)
        return 0;
    gpv_match_params_init(&params, sizeof params);
    params.ratio = model->ratio;
    gpv_match_result_init(&result, sizeof result);
    fail_unless_equals_int(gpv_match_set_params(model->match, &params), GPV_OK);
    fail_unless_equals_int(gpv_match_run(model->match, NULL, &from, query->count, NULL, &to,
                                         train->count, NULL, &room, NULL),
                           GPV_OK);
    fail_unless_equals_int(gpv_match_wait(model->match, &result), GPV_OK);
    return result.count;
}

static void place(const gdouble *m, gdouble x, gdouble y, gdouble *to) {
    const gdouble w = m[6] * x + m[7] * y + m[8];
    to[0] = (m[0] * x + m[1] * y + m[2]) / w;
    to[1] = (m[3] * x + m[4] * y + m[5]) / w;
}

/* Clockwise from the top left. */
static void corner_of(const gdouble *m, gint width, gint height, guint corner, gdouble *to) {
    place(m, corner == 1 || corner == 2 ? width - 0.5 : -0.5, corner >= 2 ? height - 0.5 : -0.5,
          to);
}

static void fit_pairs(const Model *model, const Features *query, const Features *train,
                      const gpv_match_pair *pairs, Expected *expected) {
    gfloat *from = g_new0(gfloat, 2 * (gsize)expected->matches + 2);
    gfloat *to = g_new0(gfloat, 2 * (gsize)expected->matches + 2);
    gpv_homography homography;
    for (gint i = 0; i < expected->matches; i++) {
        from[2 * i] = query->keypoints[pairs[i].query].x;
        from[2 * i + 1] = query->keypoints[pairs[i].query].y;
        to[2 * i] = train->keypoints[pairs[i].train].x;
        to[2 * i + 1] = train->keypoints[pairs[i].train].y;
    }
    gpv_homography_init(&homography, sizeof homography);
    fail_unless_equals_int(
        gpv_homography_find(model->context, NULL, from, to, expected->matches, NULL, &homography),
        GPV_OK);
    expected->inliers = homography.inliers;
    expected->found = homography.inliers >= model->min_inliers && !model->impossible;
    memcpy(expected->matrix, homography.matrix, sizeof expected->matrix);
    for (guint i = 0; i < 4; i++) {
        gdouble corner[2];
        corner_of(homography.matrix, model->reference.width, model->reference.height, i, corner);
        expected->corners[2 * i] = (gfloat)corner[0];
        expected->corners[2 * i + 1] = (gfloat)corner[1];
    }
    g_free(from);
    g_free(to);
}

static void find_reference(Model *model, const Features *frame, Expected *expected) {
    const gpv_image view = plane_view(&model->reference);
    Features picture = features_of(model, &view, capacity_of(view.width, view.height));
    gpv_match_pair *pairs = g_new(gpv_match_pair, (gsize)picture.count + 1);
    expected->matches = run_match(model, &picture, frame, pairs);
    fit_pairs(model, &picture, frame, pairs, expected);
    features_free(&picture);
    g_free(pairs);
}

static void draw_outline(Model *model, const gpv_image *image, const gfloat *corners) {
    const gfloat width = (gfloat)MAX(2.0, MIN(image->width, image->height) / 200.0);
    fail_unless_equals_int(
        gpv_draw_outline(model->match, NULL, image, corners, 4, width, model->color), GPV_OK);
}

static Expected expect(Model *model, const GstVideoInfo *info, GstBuffer *buffer,
                       const gchar *overlay) {
    Expected expected = {.image = gst_buffer_copy_deep(buffer)};
    const gint maximum = model->params.max_features ? model->params.max_features
                                                    : capacity_of(info->width, info->height);
    GstVideoFrame frame;
    Features features;
    gpv_image image;
    fail_unless(gst_video_frame_map(&frame, info, expected.image, GST_MAP_READWRITE));
    image = library_image(&frame);
    features = features_of(model, &image, maximum);
    expected.count = features.count;
    if (g_str_equal(overlay, "points") || g_str_equal(overlay, "rich"))
        fail_unless_equals_int(gpv_draw_keypoints(model->sift, NULL, &image,
                                                  g_str_equal(overlay, "rich")
                                                      ? GPV_DRAW_STYLE_RICH
                                                      : GPV_DRAW_STYLE_POINTS,
                                                  model->color),
                               GPV_OK);
    if (model->reference.pixels)
        find_reference(model, &features, &expected);
    if (expected.found && !g_str_equal(overlay, "none"))
        draw_outline(model, &image, expected.corners);
    features_free(&features);
    gst_video_frame_unmap(&frame);
    return expected;
}

/* ---- results ---- */

static gboolean found_in(const GstStructure *results) {
    gboolean found = FALSE;
    fail_unless(gst_structure_get_boolean(results, "found", &found));
    return found;
}

static void matrix_in(const GstStructure *results, gdouble *m) {
    const GValue *array = gst_structure_get_value(results, "homography");
    fail_unless(array != NULL && GST_VALUE_HOLDS_ARRAY(array));
    fail_unless_equals_int(gst_value_array_get_size(array), 9);
    for (guint i = 0; i < 9; i++)
        m[i] = g_value_get_double(gst_value_array_get_value(array, i));
}

static void corners_in(const GstStructure *results, gdouble *corners) {
    const GValue *array = gst_structure_get_value(results, "corners");
    fail_unless(array != NULL && GST_VALUE_HOLDS_ARRAY(array));
    fail_unless_equals_int(gst_value_array_get_size(array), 4);
    for (guint i = 0; i < 4; i++) {
        const GstStructure *corner = gst_value_get_structure(gst_value_array_get_value(array, i));
        fail_unless(gst_structure_has_name(corner, "corner"));
        corners[2 * i] = double_field(corner, "cx");
        corners[2 * i + 1] = double_field(corner, "cy");
    }
}

/* Half of the last digit of a float below 1024, and the rest for sums in another order. */
static const gdouble corner_rounding = 1e-4;

static void assert_place(const GstStructure *results, const Expected *expected) {
    gdouble m[9], corners[8];
    fail_unless_equals_int(gst_structure_has_field(results, "homography"), expected->found);
    fail_unless_equals_int(gst_structure_has_field(results, "corners"), expected->found);
    if (!expected->found)
        return;
    matrix_in(results, m);
    corners_in(results, corners);
    for (guint i = 0; i < 9; i++)
        fail_unless(m[i] == expected->matrix[i], "%u: %.17g, should be %.17g", i, m[i],
                    expected->matrix[i]);
    for (guint i = 0; i < 8; i++)
        fail_unless(fabs(corners[i] - (gdouble)expected->corners[i]) < corner_rounding);
}

static void assert_results(const GstStructure *results, const Model *model,
                           const Expected *expected) {
    static const gchar *const fields[] = {"matches", "inliers", "found", "homography", "corners"};
    fail_unless(gst_structure_has_name(results, "gpusift"));
    fail_unless_equals_int(int_field(results, "count"), expected->count);
    if (!model->reference.pixels) {
        for (guint i = 0; i < G_N_ELEMENTS(fields); i++)
            fail_if(gst_structure_has_field(results, fields[i]), "%s", fields[i]);
        return;
    }
    fail_unless_equals_int(int_field(results, "matches"), expected->matches);
    fail_unless_equals_int(int_field(results, "inliers"), expected->inliers);
    fail_unless_equals_int(found_in(results), expected->found);
    assert_place(results, expected);
}

/* ---- pictures ---- */

/* Noise of several scales, without edges that a change of size would move. */
static void add_noise(gdouble *sum, gint width, gint height, gint cell, GRand *random) {
    const gint columns = width / cell + 2, rows = height / cell + 2;
    gdouble *grid = g_new(gdouble, (gsize)columns * rows);
    for (gint i = 0; i < columns * rows; i++)
        grid[i] = g_rand_double_range(random, -64, 64);
    for (gint y = 0; y < height; y++)
        for (gint x = 0; x < width; x++) {
            const gdouble *at = grid + y / cell * columns + x / cell;
            const gdouble u = (gdouble)(x % cell) / cell, v = (gdouble)(y % cell) / cell;
            sum[y * width + x] += (1 - v) * ((1 - u) * at[0] + u * at[1]) +
                                  v * ((1 - u) * at[columns] + u * at[columns + 1]);
        }
    g_free(grid);
}

static Plane texture(gint width, gint height, guint32 seed) {
    static const gint cells[] = {5, 11, 23, 47};
    Plane plane = plane_new(width, height);
    gdouble *sum = g_new0(gdouble, (gsize)width * height);
    GRand *random = g_rand_new_with_seed(seed);
    for (guint i = 0; i < G_N_ELEMENTS(cells); i++)
        add_noise(sum, width, height, cells[i], random);
    for (gint i = 0; i < width * height; i++)
        plane.pixels[i] = (guint8)CLAMP(128 + sum[i], 0, 255);
    g_rand_free(random);
    g_free(sum);
    return plane;
}

static Plane picture_of(guint32 seed) {
    return texture(picture_width, picture_height, seed);
}

static File file_with(const gchar *name, const Plane *plane) {
    File file = file_new(name);
    write_picture(&file, plane, 1);
    return file;
}

/* ---- cameras ---- */

typedef struct {
    gdouble m[9];
} Camera;

static Camera behind(Camera a, Camera b) {
    Camera c = {{0}};
    for (guint i = 0; i < 9; i++)
        for (guint k = 0; k < 3; k++)
            c.m[i] += a.m[i / 3 * 3 + k] * b.m[3 * k + i % 3];
    return c;
}

static Camera shift(gdouble x, gdouble y) {
    return (Camera){{1, 0, x, 0, 1, y, 0, 0, 1}};
}

/* About the middle of the picture, which comes to that of the frame and aside. The last number is
   1. */
static Camera camera(const Plane *picture, const GstVideoInfo *info, gdouble turn, gdouble scale,
                     gdouble tilt_x, gdouble tilt_y, gdouble aside_x, gdouble aside_y) {
    const gdouble c = scale * cos(turn), s = scale * sin(turn);
    const Camera turned = {{c, -s, 0, s, c, 0, 0, 0, 1}};
    const Camera tilted = {{1, 0, 0, 0, 1, 0, tilt_x, tilt_y, 1}};
    Camera all = behind(turned, shift(-(picture->width - 1) / 2.0, -(picture->height - 1) / 2.0));
    all = behind(shift((info->width - 1) / 2.0 + aside_x, (info->height - 1) / 2.0 + aside_y),
                 behind(tilted, all));
    for (guint i = 0; i < 9; i++)
        all.m[i] /= i == 8 ? 1 : all.m[8];
    all.m[8] = 1;
    return all;
}

/* Once round, nearer and farther, tilted, and aside, partly out of the frame. */
static Camera on_path(const Plane *picture, const GstVideoInfo *info, guint i) {
    return camera(picture, info, i * G_PI / 12, 1.05 + 0.25 * sin(0.7 * i), 6e-4 * cos(0.9 * i),
                  6e-4 * sin(1.3 * i), 40 * cos(0.5 * i), 30 * sin(0.5 * i));
}

/* Of numbers that are multiplied, not of points. */
static Camera inverse(Camera a) {
    const gdouble *m = a.m;
    return (Camera){
        {m[4] * m[8] - m[5] * m[7], m[2] * m[7] - m[1] * m[8], m[1] * m[5] - m[2] * m[4],
         m[5] * m[6] - m[3] * m[8], m[0] * m[8] - m[2] * m[6], m[2] * m[3] - m[0] * m[5],
         m[3] * m[7] - m[4] * m[6], m[1] * m[6] - m[0] * m[7], m[0] * m[4] - m[1] * m[3]}};
}

static guint8 sample(const Plane *plane, gdouble x, gdouble y) {
    const gint left = (gint)floor(x), top = (gint)floor(y);
    const gdouble u = x - left, v = y - top;
    gdouble sum = 0.5;
    for (gint i = 0; i < 4; i++) {
        const gint column = CLAMP(left + i % 2, 0, plane->width - 1);
        const gint row = CLAMP(top + i / 2, 0, plane->height - 1);
        sum +=
            (i % 2 ? u : 1 - u) * (i / 2 ? v : 1 - v) * plane->pixels[row * plane->width + column];
    }
    return (guint8)sum;
}

static void paste(Plane *onto, const Plane *picture, const Camera *seen) {
    const Camera back = inverse(*seen);
    for (gint y = 0; y < onto->height; y++)
        for (gint x = 0; x < onto->width; x++) {
            gdouble at[2];
            place(back.m, x, y, at);
            if (seen->m[6] * at[0] + seen->m[7] * at[1] + seen->m[8] > 0 && at[0] >= -0.5 &&
                at[0] < picture->width - 0.5 && at[1] >= -0.5 && at[1] < picture->height - 0.5)
                onto->pixels[y * onto->width + x] = sample(picture, at[0], at[1]);
        }
}

/* Grey, whatever the format. */
static void fill(GstBuffer *buffer, const GstVideoInfo *info, const Plane *plane) {
    const guint n = GST_VIDEO_INFO_IS_RGB(info) ? 3 : 1;
    GstVideoFrame frame;
    fail_unless(gst_video_frame_map(&frame, info, buffer, GST_MAP_WRITE));
    for (guint c = 0; c < n; c++)
        for (gint y = 0; y < plane->height; y++)
            for (gint x = 0; x < plane->width; x++)
                *((guint8 *)GST_VIDEO_FRAME_COMP_DATA(&frame, c) +
                  y * GST_VIDEO_FRAME_COMP_STRIDE(&frame, c) +
                  x * GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, c)) =
                    plane->pixels[y * plane->width + x];
    gst_video_frame_unmap(&frame);
}

/* Of which seen is where; NULL: nowhere. */
static GstBuffer *scene(const GstVideoInfo *info, const Plane *picture, const Camera *seen,
                        guint32 seed) {
    GstBuffer *buffer = seed % 2 ? random_padded_frame(info) : random_frame(info);
    Plane plane = texture(info->width, info->height, 1000 + seed);
    if (seen)
        paste(&plane, picture, seen);
    fill(buffer, info, &plane);
    g_free(plane.pixels);
    return buffer;
}

static GstBuffer *path_scene(const GstVideoInfo *info, const Plane *picture, guint i) {
    const Camera seen = on_path(picture, info, i);
    return scene(info, picture, &seen, i);
}

#define FRAMES(format) make_info(format, frame_width, frame_height)

/* ---- frames ---- */

static GstHarness *harness_new(const gchar *reference) {
    GstElement *element = element_new("gpusift", test_backend());
    g_object_set(element, "reference", reference, NULL);
    return harness_with(element);
}

/*
 * Pushes a frame and compares what comes out. Takes the buffer. What somebody else holds keeps its
 * pixels; what nobody holds goes on. Returns what was expected of it, without its image.
 */
static Expected check_held_frame(GstHarness *h, Model *model, const GstVideoInfo *info,
                                 GstBuffer *in, const gchar *overlay, gboolean held) {
    Expected expected = expect(model, info, in, overlay);
    GstBuffer *before = gst_buffer_copy_deep(in), *out;
    const GstBuffer *same = in;
    const GstMemory *memory = gst_buffer_peek_memory(in, 0);
    if (held)
        gst_buffer_ref(in);
    fail_unless_equals_int(gst_harness_push(h, in), GST_FLOW_OK);
    out = gst_harness_pull(h);
    fail_unless((out == same) == !held);
    fail_unless((gst_buffer_peek_memory(out, 0) == memory) ==
                (!held || g_str_equal(overlay, "none")));
    assert_same(info, out, expected.image);
    assert_results(results_of(out, "gpusift"), model, &expected);
    if (held) {
        assert_same(info, in, before);
        gst_buffer_unref(in);
    }
    g_clear_pointer(&expected.image, gst_buffer_unref);
    gst_buffer_unref(before);
    gst_buffer_unref(out);
    return expected;
}

static Expected check_frame(GstHarness *h, Model *model, const GstVideoInfo *info, GstBuffer *in) {
    return check_held_frame(h, model, info, in, "none", FALSE);
}

/* Takes the buffer. */
static void assert_found(GstHarness *h, Model *model, const GstVideoInfo *info, GstBuffer *in,
                         gboolean found) {
    fail_unless_equals_int(check_frame(h, model, info, in).found, found);
}

/* ---- where it is ---- */

static const gboolean absent[] = {FALSE, FALSE, FALSE, FALSE, FALSE, FALSE, TRUE,  TRUE,
                                  FALSE, FALSE, FALSE, TRUE,  FALSE, FALSE, FALSE, FALSE,
                                  FALSE, FALSE, FALSE, FALSE, FALSE, FALSE, FALSE, TRUE,
                                  FALSE, FALSE, FALSE, FALSE, FALSE, TRUE};

static gdouble distance(const gdouble *a, const gdouble *b) {
    return hypot(a[0] - b[0], a[1] - b[1]);
}

/* The greatest of the four. */
static gdouble corner_error(const gdouble *corners, const Camera *seen) {
    gdouble worst = 0;
    for (guint i = 0; i < 4; i++) {
        gdouble truth[2];
        corner_of(seen->m, picture_width, picture_height, i, truth);
        worst = MAX(worst, distance(&corners[2 * i], truth));
    }
    return worst;
}

/* Over the whole picture. */
static gdouble homography_error(const gdouble *m, const Camera *seen) {
    gdouble worst = 0;
    for (gint y = 0; y < picture_height; y += 10)
        for (gint x = 0; x < picture_width; x += 10) {
            gdouble truth[2], got[2];
            place(seen->m, x, y, truth);
            place(m, x, y, got);
            worst = MAX(worst, distance(got, truth));
        }
    return worst;
}

static void assert_corners_of(const gdouble *corners, const gdouble *m) {
    for (guint i = 0; i < 4; i++) {
        gdouble corner[2];
        corner_of(m, picture_width, picture_height, i, corner);
        fail_unless(distance(&corners[2 * i], corner) < corner_rounding);
    }
}

static gint compare_doubles(gconstpointer a, gconstpointer b) {
    const gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;
    return (x > y) - (x < y);
}

static gdouble median(gdouble *values, guint n) {
    qsort(values, n, sizeof *values, compare_doubles);
    return values[n / 2];
}

/* What the message of the frame at hand says is what its metadata says. Takes the message. */
static void assert_same_results(GstMessage *message, const GstStructure *results) {
    static const gchar *const fields[] = {"count", "dropped",    "matches", "inliers",
                                          "found", "homography", "corners"};
    const GstStructure *said;
    fail_unless(message != NULL);
    said = gst_message_get_structure(message);
    for (guint i = 0; i < G_N_ELEMENTS(fields); i++) {
        const GValue *a = gst_structure_get_value(said, fields[i]);
        const GValue *b = gst_structure_get_value(results, fields[i]);
        fail_unless((a == NULL) == (b == NULL), "%s", fields[i]);
        fail_unless(!a || gst_value_compare(a, b) == GST_VALUE_EQUAL, "%s", fields[i]);
    }
    fail_if(gst_structure_has_field(said, "keypoints"));
    gst_message_unref(message);
}

/*
 * The homography is known. A corner lies within a pixel in half of all frames at least, and in each
 * within the 3 pixels that a match may be off.
 */
GST_START_TEST(test_camera_path) {
    GstVideoInfo info = FRAMES("GRAY8");
    Plane picture = picture_of(1);
    File file = file_with("picture.pgm", &picture);
    GstHarness *h = harness_new(file.path);
    GstBus *bus = add_bus(h->element);
    gdouble corner_errors[G_N_ELEMENTS(absent)], errors[G_N_ELEMENTS(absent)];
    guint seen = 0;
    g_object_set(h->element, "post-messages", TRUE, NULL);
    set_info(h, &info);
    for (guint i = 0; i < G_N_ELEMENTS(absent); i++) {
        const Camera at = on_path(&picture, &info, i);
        GstBuffer *out = push_and_pull(h, scene(&info, &picture, absent[i] ? NULL : &at, i));
        const GstStructure *results = results_of(out, "gpusift");
        gdouble m[9], corners[8];
        assert_same_results(gst_bus_pop_filtered(bus, GST_MESSAGE_ELEMENT), results);
        fail_unless_equals_int(found_in(results), !absent[i]);
        if (!absent[i]) {
            matrix_in(results, m);
            corners_in(results, corners);
            fail_unless_equals_float(m[8], 1);
            assert_corners_of(corners, m);
            corner_errors[seen] = corner_error(corners, &at);
            errors[seen] = homography_error(m, &at);
            fail_unless(corner_errors[seen] <= 3, "frame %u: %g", i, corner_errors[seen]);
            fail_unless(errors[seen] <= 3, "frame %u: %g", i, errors[seen]);
            seen++;
        }
        gst_buffer_unref(out);
    }
    fail_unless(seen >= 20);
    fail_unless(median(corner_errors, seen) <= 1, "%g", median(corner_errors, seen));
    fail_unless(median(errors, seen) <= 1, "%g", median(errors, seen));
    drop_bus(h->element, bus);
    gst_harness_teardown(h);
    g_free(picture.pixels);
    file_free(&file);
}
GST_END_TEST

/* Every number is that of the library. */
GST_START_TEST(test_equals_the_library) {
    GstVideoInfo info = FRAMES(formats[__i__]);
    Plane picture = picture_of(2);
    File file = file_with("picture.pgm", &picture);
    GstHarness *h = harness_new(file.path);
    Model model = model_new(&picture);
    set_info(h, &info);
    for (guint i = 0; i < 4; i++) {
        const Camera at = on_path(&picture, &info, 5 * i);
        GstBuffer *in = scene(&info, &picture, i == 2 ? NULL : &at, i);
        const Expected expected = check_frame(h, &model, &info, in);
        fail_unless_equals_int(expected.found, i != 2);
        fail_unless(i == 2 || expected.inliers > 100, "%d inliers", expected.inliers);
    }
    model_free(&model);
    gst_harness_teardown(h);
    g_free(picture.pixels);
    file_free(&file);
}
GST_END_TEST

/* A plane that goes through the camera is no picture that is seen, however many matches agree. */
GST_START_TEST(test_impossible_place) {
    GstVideoInfo info = FRAMES("GRAY8");
    Plane picture = texture(400, 150, 3);
    const Camera through = {{1, 0, 20, 0, 1, 70, -1.0 / 300, 0, 1}};
    File file;
    GstHarness *h;
    Model model;
    Expected expected;
    for (gint i = 0; i < picture.width * picture.height; i++)
        if (i % picture.width >= 150)
            picture.pixels[i] = 128;
    file = file_with("picture.pgm", &picture);
    h = harness_new(file.path);
    model = model_new(&picture);
    model.impossible = TRUE;
    set_info(h, &info);
    set_output(h, "outline");
    expected =
        check_held_frame(h, &model, &info, scene(&info, &picture, &through, 0), "outline", FALSE);
    fail_unless(expected.inliers >= model.min_inliers, "%d inliers", expected.inliers);
    model_free(&model);
    gst_harness_teardown(h);
    g_free(picture.pixels);
    file_free(&file);
}
GST_END_TEST

/* Corners and homography are those of the frame that they are on. */
GST_START_TEST(test_results_are_scaled) {
    GstVideoInfo info = FRAMES("GRAY8");
    Plane picture = picture_of(4);
    const Camera at = on_path(&picture, &info, 3);
    File file = file_with("picture.pgm", &picture);
    gchar *text = g_strdup_printf("gpusift backend=%s reference=%s ! videoscale ! "
                                  "capsfilter caps=video/x-raw,width=600,height=150",
                                  test_backend(), file.path);
    GstHarness *h = gst_harness_new_parse(text), *plain = harness_new(file.path);
    GstBuffer *out, *model;
    gdouble m[9], corners[8], before[9], corners_before[8];
    set_info(h, &info);
    set_info(plain, &info);
    out = push_and_pull(h, scene(&info, &picture, &at, 0));
    model = push_and_pull(plain, scene(&info, &picture, &at, 0));
    matrix_in(results_of(out, "gpusift"), m);
    corners_in(results_of(out, "gpusift"), corners);
    matrix_in(results_of(model, "gpusift"), before);
    corners_in(results_of(model, "gpusift"), corners_before);
    assert_corners_of(corners, m);
    assert_corners_of(corners_before, before);
    for (guint i = 0; i < 4; i++) {
        fail_unless(fabs(corners[2 * i] - ((corners_before[2 * i] + 0.5) * 1.5 - 0.5)) < 1e-9);
        fail_unless(fabs(corners[2 * i + 1] - ((corners_before[2 * i + 1] + 0.5) * 0.5 - 0.5)) <
                    1e-9);
    }
    gst_buffer_unref(out);
    gst_buffer_unref(model);
    gst_harness_teardown(plain);
    gst_harness_teardown(h);
    g_free(picture.pixels);
    file_free(&file);
    g_free(text);
}
GST_END_TEST

/* ---- what is drawn ---- */

/* Found and not; one of both in frames that somebody else holds, by the format. */
GST_START_TEST(test_overlays) {
    GstVideoInfo info = FRAMES(formats[__i__]);
    Plane picture = picture_of(5);
    File file = file_with("picture.pgm", &picture);
    GstHarness *h = harness_new(file.path);
    Model model = model_new(&picture);
    set_info(h, &info);
    for (guint i = 0; i < 2 * G_N_ELEMENTS(overlays); i++) {
        const Camera at = on_path(&picture, &info, i);
        GstBuffer *in = scene(&info, &picture, i & 1 ? NULL : &at, i / 2);
        set_output(h, overlays[i / 2]);
        model.color = 0x204060 + 0x30100 * i;
        g_object_set(h->element, "color", model.color, NULL);
        fail_unless_equals_int(check_held_frame(h, &model, &info, in, overlays[i / 2],
                                                (gboolean)((i + (guint)__i__) & 1))
                                   .found,
                               !(i & 1));
    }
    model_free(&model);
    gst_harness_teardown(h);
    g_free(picture.pixels);
    file_free(&file);
}
GST_END_TEST

/* Of a point from a line between two corners. */
static gdouble line_distance(const gdouble *a, const gdouble *b, gdouble x, gdouble y) {
    const gdouble dx = b[0] - a[0], dy = b[1] - a[1];
    const gdouble t = CLAMP(((x - a[0]) * dx + (y - a[1]) * dy) / (dx * dx + dy * dy), 0, 1);
    return hypot(x - a[0] - t * dx, y - a[1] - t * dy);
}

/* Both are maps of one component. Green is 149 as the luma of RGB, and 145 as Y of BT.601. */
static void assert_line(const Plane *got, const Plane *before, const gdouble *corners,
                        guint8 value) {
    guint drawn = 0;
    for (gint y = 0; y < got->height; y++)
        for (gint x = 0; x < got->width; x++) {
            const gint i = y * got->width + x;
            gdouble nearest = G_MAXDOUBLE;
            for (guint c = 0; c < 4; c++)
                nearest =
                    MIN(nearest, line_distance(&corners[2 * c], &corners[2 * ((c + 1) % 4)], x, y));
            if (nearest < 0.99)
                fail_unless_equals_int(got->pixels[i], value);
            if (nearest > 1.01)
                fail_unless_equals_int(got->pixels[i], before->pixels[i]);
            drawn += nearest < 0.99;
        }
    fail_unless(drawn > 500, "%u pixels", drawn);
}

/* A line of two pixels between the corners, and nothing else. */
GST_START_TEST(test_outline) {
    static const gchar *const some[] = {"GRAY8", "RGB", "NV12", "I420"};
    static const guint8 values[] = {149, 0, 145, 145};
    GstVideoInfo info = FRAMES(some[__i__]);
    Plane picture = picture_of(6), before, after;
    const Camera at = camera(&picture, &info, 0.4, 1, 0, 5e-4, 10, -15);
    File file = file_with("picture.pgm", &picture);
    GstHarness *h = harness_new(file.path);
    GstBuffer *in = scene(&info, &picture, &at, 0), *out;
    GstVideoFrame frame;
    gdouble corners[8];
    set_info(h, &info);
    set_output(h, "outline");
    fail_unless(gst_video_frame_map(&frame, &info, in, GST_MAP_READ));
    before = component(&frame, 0);
    gst_video_frame_unmap(&frame);
    out = push_and_pull(h, in);
    corners_in(results_of(out, "gpusift"), corners);
    fail_unless(corner_error(corners, &at) <= 3);
    fail_unless(gst_video_frame_map(&frame, &info, out, GST_MAP_READ));
    after = component(&frame, 0);
    gst_video_frame_unmap(&frame);
    assert_line(&after, &before, corners, values[__i__]);
    gst_buffer_unref(out);
    gst_harness_teardown(h);
    g_free(before.pixels);
    g_free(after.pixels);
    g_free(picture.pixels);
    file_free(&file);
}
GST_END_TEST

/* In the metadata, on the bus, in pixels, and in neither; and frames are counted. */
GST_START_TEST(test_wanted) {
    GstVideoInfo info = FRAMES("NV12");
    Plane picture = picture_of(7);
    const Camera at = on_path(&picture, &info, 2);
    File file = file_with("picture.pgm", &picture);
    Model model = model_new(&picture);
    for (guint i = 0; i < 4 * G_N_ELEMENTS(overlays); i++) {
        const gboolean attach = i & 1, post = i >> 1 & 1;
        GstHarness *h = harness_new(file.path);
        GstBus *bus = add_bus(h->element);
        GstBuffer *in = scene(&info, &picture, &at, 0), *out;
        Expected expected = expect(&model, &info, in, overlays[i / 4]);
        GstMessage *message;
        GstStructure *stats = NULL;
        guint64 frames = 0;
        fail_unless(expected.found);
        g_object_set(h->element, "attach-meta", attach, "post-messages", post, NULL);
        set_output(h, overlays[i / 4]);
        set_info(h, &info);
        out = push_and_pull(h, in);
        assert_same(&info, out, expected.image);
        message = gst_bus_pop_filtered(bus, GST_MESSAGE_ELEMENT);
        fail_unless((message != NULL) == post);
        fail_unless((gst_buffer_get_custom_meta(out, "gpusift") != NULL) == attach);
        if (post)
            assert_results(gst_message_get_structure(message), &model, &expected);
        if (attach)
            assert_results(results_of(out, "gpusift"), &model, &expected);
        g_object_get(h->element, "stats", &stats, NULL);
        fail_unless(gst_structure_get_uint64(stats, "frames", &frames));
        fail_unless_equals_uint64(frames, 1);
        gst_structure_free(stats);
        gst_clear_message(&message);
        gst_buffer_unref(expected.image);
        gst_buffer_unref(out);
        drop_bus(h->element, bus);
        gst_harness_teardown(h);
    }
    model_free(&model);
    g_free(picture.pixels);
    file_free(&file);
}
GST_END_TEST

/* What is learned for matches is no result: keypoints come without descriptors. */
GST_START_TEST(test_without_descriptors) {
    GstVideoInfo info = FRAMES("GRAY8");
    Plane picture = picture_of(8);
    File file = file_with("picture.pgm", &picture);
    GstHarness *h = harness_new(file.path);
    set_info(h, &info);
    for (guint descriptors = 0; descriptors < 2; descriptors++) {
        GstBuffer *out;
        g_object_set(h->element, "descriptors", descriptors, NULL);
        out = push_and_pull(h, path_scene(&info, &picture, 1));
        fail_unless(found_in(results_of(out, "gpusift")));
        fail_unless(gst_structure_has_field(results_of(out, "gpusift"), "keypoints"));
        fail_unless(gst_structure_has_field(results_of(out, "gpusift"), "descriptors") ==
                    (gboolean)descriptors);
        gst_buffer_unref(out);
    }
    gst_harness_teardown(h);
    g_free(picture.pixels);
    file_free(&file);
}
GST_END_TEST

/* Each looks for its own picture. */
GST_START_TEST(test_two_in_a_row) {
    GstVideoInfo info = make_info("GRAY8", 600, 300);
    Plane pictures[] = {picture_of(9), picture_of(10)};
    File files[] = {file_with("a.pgm", &pictures[0]), file_with("b.pgm", &pictures[1])};
    gchar *text = g_strdup_printf("gpusift backend=%s reference=%s overlay=outline ! "
                                  "gpusift backend=%s reference=%s overlay=outline",
                                  test_backend(), files[0].path, test_backend(), files[1].path);
    GstHarness *h = gst_harness_new_parse(text);
    const Camera at[] = {camera(&pictures[0], &info, 0.3, 1, 0, 0, -140, 0),
                         camera(&pictures[1], &info, -0.3, 1, 0, 0, 140, 0)};
    Plane plane = texture(info.width, info.height, 77);
    GstBuffer *in = random_frame(&info), *out;
    gpointer state = NULL;
    GstMeta *meta;
    guint count = 0;
    for (guint i = 0; i < 2; i++)
        paste(&plane, &pictures[i], &at[i]);
    fill(in, &info, &plane);
    set_info(h, &info);
    out = push_and_pull(h, in);
    while ((meta = gst_buffer_iterate_meta_filtered(out, &state,
                                                    gst_meta_get_info("gpusift")->api)) != NULL) {
        gdouble corners[8];
        fail_unless(count < 2);
        corners_in(gst_custom_meta_get_structure((GstCustomMeta *)meta), corners);
        fail_unless(corner_error(corners, &at[count]) <= 3);
        count++;
    }
    fail_unless_equals_int(count, 2);
    gst_buffer_unref(out);
    gst_harness_teardown(h);
    g_free(plane.pixels);
    for (guint i = 0; i < 2; i++) {
        g_free(pictures[i].pixels);
        file_free(&files[i]);
    }
    g_free(text);
}
GST_END_TEST

/* ---- pictures ---- */

static void assert_reference_refused(GstHarness *h, GstBus *bus, const GstVideoInfo *info,
                                     const gchar *path, const gchar *words) {
    gchar *text;
    GstMessage *message;
    g_object_set(h->element, "reference", path, NULL);
    fail_unless_equals_int(gst_harness_push(h, random_frame(info)), GST_FLOW_ERROR);
    message = error_on(bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ, &text);
    fail_unless(strstr(text, words) != NULL, "%s", text);
    fail_unless(strstr(text, path) != NULL, "%s", text);
    fail_unless(gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR) == NULL, "one is enough");
    gst_message_unref(message);
    g_free(text);
}

/* And a good one after them is found. */
GST_START_TEST(test_bad_references) {
    GstVideoInfo info = FRAMES("NV12");
    Plane picture = picture_of(11), wide = plane_new(32768, 1);
    File file = file_new("picture.txt"), good = file_with("good.pgm", &picture);
    GstHarness *h = harness_new(NULL);
    GstBus *bus = add_bus(h->element);
    Model model = model_new(&picture);
    set_info(h, &info);
    assert_reference_refused(h, bus, &info, file.path, "no such file");
    assert_reference_refused(h, bus, &info, file.folder, "no such file");
    fail_unless(g_file_set_contents(file.path, "This is no picture, but a text.\n", -1, NULL));
    assert_reference_refused(h, bus, &info, file.path, "cannot be read");
    fail_unless(g_file_set_contents(file.path, "", 0, NULL));
    assert_reference_refused(h, bus, &info, file.path, "cannot be read");
    fail_unless(g_file_set_contents(file.path, "P5\n40 30\n255\nshort", -1, NULL));
    assert_reference_refused(h, bus, &info, file.path, "cannot be read");
    write_picture(&file, &wide, 1);
    assert_reference_refused(h, bus, &info, file.path, "cannot be read");
    g_object_set(h->element, "reference", good.path, NULL);
    assert_found(h, &model, &info, path_scene(&info, &picture, 1), TRUE);
    model_free(&model);
    g_free(wide.pixels);
    g_free(picture.pixels);
    file_free(&good);
    file_free(&file);
    drop_bus(h->element, bus);
    gst_harness_teardown(h);
}
GST_END_TEST

/* NULL and "" are none, before and after one. */
GST_START_TEST(test_no_reference) {
    GstVideoInfo info = FRAMES("GRAY8");
    Plane picture = picture_of(12);
    File file = file_with("picture.pgm", &picture);
    const gchar *const paths[] = {NULL, file.path, "", file.path, NULL, ""};
    GstHarness *h = harness_new("");
    Model with = model_new(&picture), without = model_new(NULL);
    gchar *path = NULL;
    set_info(h, &info);
    check_frame(h, &without, &info, path_scene(&info, &picture, 1));
    for (guint i = 0; i < G_N_ELEMENTS(paths); i++) {
        const gboolean none = !paths[i] || !*paths[i];
        g_object_set(h->element, "reference", paths[i], NULL);
        g_object_get(h->element, "reference", &path, NULL);
        fail_unless_equals_string(path, paths[i]);
        g_free(path);
        assert_found(h, none ? &without : &with, &info, path_scene(&info, &picture, i), !none);
    }
    model_free(&with);
    model_free(&without);
    gst_harness_teardown(h);
    g_free(picture.pixels);
    file_free(&file);
}
GST_END_TEST

/* Files of less than 16 bytes have no type: the comment makes it longer. */
static File flat_file(const Plane *flat) {
    File file = file_new("flat.pgm");
    GString *bytes = g_string_new(NULL);
    g_string_printf(bytes, "P5\n# All pixels are equal.\n%d %d\n255\n", flat->width, flat->height);
    g_string_append_len(bytes, (const gchar *)flat->pixels, flat->width * flat->height);
    fail_unless(g_file_set_contents(file.path, bytes->str, (gssize)bytes->len, NULL));
    g_string_free(bytes, TRUE);
    return file;
}

/* They have no keypoints, and that is no error; nor is anything left of the one before. */
GST_START_TEST(test_never_found) {
    static const gint never[][2] = {{1, 1}, {1, 40}, {40, 1}, {5, 5}, {120, 90}};
    GstVideoInfo info = FRAMES("RGB");
    Plane picture = picture_of(13);
    File good = file_with("picture.pgm", &picture);
    GstHarness *h = harness_new(NULL);
    Model other = model_new(&picture);
    GstBus *bus = add_bus(h->element);
    set_info(h, &info);
    set_output(h, "outline");
    for (guint i = 0; i < G_N_ELEMENTS(never); i++) {
        Plane flat = plane_new(never[i][0], never[i][1]);
        File file = flat_file(&flat);
        Model model = model_new(&flat);
        g_object_set(h->element, "reference", good.path, NULL);
        fail_unless(
            check_held_frame(h, &other, &info, path_scene(&info, &picture, i), "outline", FALSE)
                .found);
        g_object_set(h->element, "reference", file.path, NULL);
        for (guint f = 0; f < 2; f++) {
            const Expected expected = check_held_frame(
                h, &model, &info, path_scene(&info, &picture, f), "outline", FALSE);
            fail_unless(expected.count > 100 && expected.matches == 0 && !expected.found);
        }
        model_free(&model);
        file_free(&file);
        g_free(flat.pixels);
    }
    assert_nothing_more(bus);
    drop_bus(h->element, bus);
    model_free(&other);
    gst_harness_teardown(h);
    g_free(picture.pixels);
    file_free(&good);
}
GST_END_TEST

/* As are frames without any. */
GST_START_TEST(test_flat_frames) {
    static const gint flat[][2] = {{1, 1}, {1, 40}, {40, 1}, {120, 90}};
    Plane picture = picture_of(14);
    File file = file_with("picture.pgm", &picture);
    GstHarness *h = harness_new(file.path);
    Model model = model_new(&picture);
    for (guint i = 0; i < G_N_ELEMENTS(flat); i++) {
        GstVideoInfo info = make_info("GRAY8", flat[i][0], flat[i][1]);
        GstBuffer *in = random_frame(&info);
        gst_buffer_memset(in, 0, 90, info.size);
        set_info(h, &info);
        assert_found(h, &model, &info, in, FALSE);
    }
    model_free(&model);
    gst_harness_teardown(h);
    g_free(picture.pixels);
    file_free(&file);
}
GST_END_TEST

/* One that is larger than the frame is found in it: small, and in part. */
GST_START_TEST(test_larger_than_the_frame) {
    GstVideoInfo info = FRAMES("I420");
    Plane picture = texture(800, 600, 15);
    const Camera at[] = {camera(&picture, &info, 0.5, 0.4, 0, 0, 0, 0),
                         camera(&picture, &info, 2, 1, 1e-4, 0, 50, -60)};
    File file = file_with("picture.pgm", &picture);
    GstHarness *h = harness_new(file.path);
    Model model = model_new(&picture);
    set_info(h, &info);
    set_output(h, "outline");
    for (guint i = 0; i < G_N_ELEMENTS(at); i++)
        fail_unless(
            check_held_frame(h, &model, &info, scene(&info, &picture, &at[i], i), "outline", FALSE)
                .found);
    model_free(&model);
    gst_harness_teardown(h);
    g_free(picture.pixels);
    file_free(&file);
}
GST_END_TEST

/* In grey, in colour, and as a PNG. */
GST_START_TEST(test_picture_formats) {
    GstVideoInfo info = FRAMES("GRAY8");
    Plane picture = picture_of(16);
    File files[] = {file_new("picture of \"this\" test!.pgm"), file_new("picture.ppm"),
                    file_new("picture.png")};
    GstHarness *h = harness_new(NULL);
    Model model = model_new(&picture);
    write_picture(&files[0], &picture, 1);
    write_picture(&files[1], &picture, 3);
    {
        gchar *text = g_strdup_printf("filesrc location=\"%s\" ! pnmdec ! pngenc ! "
                                      "filesink location=\"%s\"",
                                      files[1].path, files[2].path);
        GstElement *pipeline = launch(text);
        reach(pipeline, GST_STATE_PLAYING);
        wait_for_eos(pipeline);
        reach(pipeline, GST_STATE_NULL);
        gst_object_unref(pipeline);
        g_free(text);
    }
    set_info(h, &info);
    for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
        g_object_set(h->element, "reference", files[i].path, NULL);
        assert_found(h, &model, &info, path_scene(&info, &picture, i), TRUE);
        file_free(&files[i]);
    }
    model_free(&model);
    gst_harness_teardown(h);
    g_free(picture.pixels);
}
GST_END_TEST

/* Once, until the property is set, or the element was stopped: meanwhile it may be gone. What
   cannot be read while frames flow leaves the one before in force. */
GST_START_TEST(test_read_once) {
    GstVideoInfo info = FRAMES("GRAY8"), other = make_info("RGB", 320, 240);
    Plane picture = picture_of(17);
    File file = file_with("picture.pgm", &picture);
    GstHarness *h = harness_new(file.path);
    GstBus *bus = add_bus(h->element);
    Model model = model_new(&picture);
    set_info(h, &info);
    assert_found(h, &model, &info, path_scene(&info, &picture, 0), TRUE);
    g_remove(file.path);
    assert_found(h, &model, &info, path_scene(&info, &picture, 1), TRUE);
    model.params.root_sift = 1;
    g_object_set(h->element, "root-sift", TRUE, NULL);
    assert_found(h, &model, &info, path_scene(&info, &picture, 2), TRUE);
    set_info(h, &other);
    assert_found(h, &model, &other, path_scene(&other, &picture, 3), TRUE);
    g_object_set(h->element, "reference", file.path, NULL);
    assert_found(h, &model, &other, path_scene(&other, &picture, 4), TRUE);
    assert_warning(bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ, file.path);
    assert_nothing_more(bus);
    write_picture(&file, &picture, 1);
    assert_found(h, &model, &other, path_scene(&other, &picture, 5), TRUE);
    drop_bus(h->element, bus);
    model_free(&model);
    gst_harness_teardown(h);
    g_free(picture.pixels);
    file_free(&file);
}
GST_END_TEST

/* Too many extrema count as none, and one warning says so for each time that it is learned. */
GST_START_TEST(test_flooded) {
    GstVideoInfo info = make_info("GRAY8", 60, 50);
    Plane dots = plane_new(500, 500);
    File file;
    GstHarness *h;
    GstBus *bus;
    Model model;
    for (gint y = 0; y < dots.height; y += 3)
        for (gint x = 0; x < dots.width; x += 3)
            dots.pixels[y * dots.width + x] = (guint8)(100 + (x * 37 + y * 61) % 156);
    file = file_with("dots.pgm", &dots);
    h = harness_new(file.path);
    bus = add_bus(h->element);
    model = model_new(&dots);
    model.params.contrast_threshold = 0;
    model.params.octave_layers = 8;
    model.params.sigma = 0.7F;
    g_object_set(h->element, "contrast-threshold", 0.0, "octave-layers", 8, "sigma", 0.7, NULL);
    set_info(h, &info);
    for (guint round = 0; round < 2; round++) {
        GstMessage *warning;
        GError *error = NULL;
        for (guint i = 0; i < 3; i++) {
            const Expected expected = check_frame(h, &model, &info, scene(&info, NULL, NULL, i));
            fail_unless(expected.count > 0 && expected.matches == 0);
        }
        warning = gst_bus_pop_filtered(bus, GST_MESSAGE_WARNING);
        fail_unless(warning != NULL);
        gst_message_parse_warning(warning, &error, NULL);
        fail_unless(strstr(error->message, file.path) != NULL, "%s", error->message);
        g_error_free(error);
        gst_message_unref(warning);
        fail_unless(gst_bus_pop_filtered(bus, GST_MESSAGE_WARNING) == NULL);
        model.params.sigma = 0.8F;
        g_object_set(h->element, "sigma", 0.8, NULL);
    }
    drop_bus(h->element, bus);
    model_free(&model);
    gst_harness_teardown(h);
    g_free(dots.pixels);
    file_free(&file);
}
GST_END_TEST

/* ---- changes ---- */

/* Another one is not found where the first is. */
GST_START_TEST(test_another_reference) {
    GstVideoInfo info = FRAMES("NV12");
    Plane pictures[] = {picture_of(18), picture_of(19)};
    File files[] = {file_with("a.pgm", &pictures[0]), file_with("b.pgm", &pictures[1])};
    GstHarness *h = harness_new(files[0].path);
    Model models[] = {model_new(&pictures[0]), model_new(&pictures[1])};
    set_info(h, &info);
    for (guint i = 0; i < 8; i++) {
        const guint wanted = i / 2 % 2;
        if (i % 2 == 0)
            g_object_set(h->element, "reference", files[wanted].path, NULL);
        assert_found(h, &models[wanted], &info, path_scene(&info, &pictures[i % 2], i),
                     wanted == i % 2);
    }
    gst_harness_teardown(h);
    for (guint i = 0; i < 2; i++) {
        model_free(&models[i]);
        g_free(pictures[i].pixels);
        file_free(&files[i]);
    }
}
GST_END_TEST

/* At what there is it is found, and above not; what there is is told all the same. */
GST_START_TEST(test_min_inliers) {
    GstVideoInfo info = FRAMES("GRAY8");
    Plane picture = picture_of(20);
    File file = file_with("picture.pgm", &picture);
    GstHarness *h = harness_new(file.path);
    Model model = model_new(&picture);
    gint inliers;
    set_info(h, &info);
    set_output(h, "outline");
    inliers = check_held_frame(h, &model, &info, path_scene(&info, &picture, 1), "outline", FALSE)
                  .inliers;
    fail_unless(inliers > 15);
    for (guint i = 0; i < 4; i++) {
        const gint wanted[] = {inliers, inliers + 1, 65536, 4};
        Expected expected;
        model.min_inliers = wanted[i];
        g_object_set(h->element, "min-inliers", wanted[i], NULL);
        expected =
            check_held_frame(h, &model, &info, path_scene(&info, &picture, 1), "outline", FALSE);
        fail_unless_equals_int(expected.inliers, inliers);
        fail_unless_equals_int(expected.found, wanted[i] <= inliers);
    }
    model_free(&model);
    gst_harness_teardown(h);
    g_free(picture.pixels);
    file_free(&file);
}
GST_END_TEST

/* The greater, the more matches; but 0 has all of them. */
GST_START_TEST(test_match_ratio) {
    static const gfloat ratios[] = {0.1F, 0.5F, 0.8F, 1, 0};
    GstVideoInfo info = FRAMES("GRAY8");
    Plane picture = picture_of(21);
    File file = file_with("picture.pgm", &picture);
    GstHarness *h = harness_new(file.path);
    Model model = model_new(&picture);
    gint before = -1;
    set_info(h, &info);
    for (guint i = 0; i < G_N_ELEMENTS(ratios); i++) {
        Expected expected;
        model.ratio = ratios[i];
        g_object_set(h->element, "match-ratio", (gdouble)ratios[i], NULL);
        expected = check_frame(h, &model, &info, path_scene(&info, &picture, 1));
        fail_unless(expected.matches >= before, "%d after %d", expected.matches, before);
        fail_unless(expected.matches > before || ratios[i] == 0);
        before = expected.matches;
    }
    model_free(&model);
    gst_harness_teardown(h);
    g_free(picture.pixels);
    file_free(&file);
}
GST_END_TEST

/* It is learned again, as frames are. */
GST_START_TEST(test_parameters) {
    GstVideoInfo info = FRAMES("GRAY8");
    Plane picture = picture_of(22);
    File file = file_with("picture.pgm", &picture);
    GstHarness *h = harness_new(file.path);
    Model model = model_new(&picture);
    gpv_sift_params *params = &model.params;
    set_info(h, &info);
    for (guint i = 0; i < 10; i++) {
        switch (i) {
        case 1:
            params->root_sift = 1;
            break;
        case 2:
            params->upsample = 0;
            break;
        case 3:
            params->contrast_threshold = 0.02F;
            break;
        case 4:
            params->octave_layers = 4;
            break;
        case 5:
            params->octaves = 3;
            break;
        case 6:
            params->edge_threshold = 20;
            break;
        case 7:
            params->sigma = 1.5F;
            break;
        case 8:
            params->max_features = 0;
            break;
        case 9:
            *params = default_params();
            break;
        default:
            break;
        }
        g_object_set(h->element, "root-sift", params->root_sift, "upsample", params->upsample,
                     "contrast-threshold", params->contrast_threshold, "octave-layers",
                     params->octave_layers, "octaves", params->octaves, "edge-threshold",
                     params->edge_threshold, "sigma", params->sigma, "max-features",
                     params->max_features, NULL);
        for (guint f = 0; f < 2; f++)
            assert_found(h, &model, &info, path_scene(&info, &picture, i), TRUE);
    }
    model_free(&model);
    gst_harness_teardown(h);
    g_free(picture.pixels);
    file_free(&file);
}
GST_END_TEST

/* Few keypoints of the frame do not make the picture have few. */
GST_START_TEST(test_few_features) {
    GstVideoInfo info = FRAMES("GRAY8");
    Plane picture = picture_of(23);
    File file = file_with("picture.pgm", &picture);
    GstHarness *h = harness_new(file.path);
    Model model = model_new(&picture);
    set_info(h, &info);
    for (gint maximum = 1; maximum <= 1000; maximum *= 10) {
        Expected expected;
        model.params.max_features = maximum;
        g_object_set(h->element, "max-features", maximum, NULL);
        expected = check_frame(h, &model, &info, path_scene(&info, &picture, 1));
        fail_unless(expected.matches <= maximum);
        fail_unless_equals_int(expected.found, maximum >= 100);
    }
    model_free(&model);
    gst_harness_teardown(h);
    g_free(picture.pixels);
    file_free(&file);
}
GST_END_TEST

/* With frames of any size and format, one after the other. */
GST_START_TEST(test_renegotiation) {
    Plane picture = picture_of(24);
    File file = file_with("picture.pgm", &picture);
    GstHarness *h = harness_new(file.path);
    Model model = model_new(&picture);
    for (guint i = 0; i < 20; i++) {
        const gchar *overlay = overlays[i % G_N_ELEMENTS(overlays)];
        GstVideoInfo info =
            make_info(formats[(i * 5) % G_N_ELEMENTS(formats)],
                      i % 5 == 4 ? 3 : 250 + (gint)(i * 37 % 200), 200 + (gint)(i * 53 % 150));
        set_output(h, overlay);
        set_info(h, &info);
        fail_unless_equals_int(
            check_held_frame(h, &model, &info, path_scene(&info, &picture, i), overlay, i % 3 == 0)
                .found,
            i % 5 != 4);
    }
    model_free(&model);
    gst_harness_teardown(h);
    g_free(picture.pixels);
    file_free(&file);
}
GST_END_TEST

GST_START_TEST(test_controlled) {
    static const gdouble ratios[] = {0.8, 0.5, 1, 0.6}, inliers[] = {15, 65536, 30, 4};
    GstVideoInfo info = FRAMES("GRAY8");
    Plane picture = picture_of(25);
    File file = file_with("picture.pgm", &picture);
    GstHarness *h = harness_new(file.path);
    Model model = model_new(&picture);
    control(h->element, "match-ratio", ratios, G_N_ELEMENTS(ratios));
    control(h->element, "min-inliers", inliers, G_N_ELEMENTS(inliers));
    set_info(h, &info);
    for (guint i = 0; i < G_N_ELEMENTS(ratios); i++) {
        GstBuffer *in = path_scene(&info, &picture, 1);
        GST_BUFFER_PTS(in) = i * GST_SECOND;
        model.ratio = (gfloat)ratios[i];
        model.min_inliers = (gint)inliers[i];
        assert_found(h, &model, &info, in, i != 1);
    }
    model_free(&model);
    gst_harness_teardown(h);
    g_free(picture.pixels);
    file_free(&file);
}
GST_END_TEST

/* ---- life of a stream ---- */

/* Until the end of the stream, in how many frames it was found. */
static guint found_messages(GstBus *bus, guint *frames) {
    guint found = 0;
    gboolean ended = FALSE;
    while (!ended) {
        GstMessage *message = gst_bus_timed_pop_filtered(
            bus, 60 * GST_SECOND, GST_MESSAGE_ELEMENT | GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
        fail_unless(message != NULL);
        fail_if(GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR);
        ended = GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS;
        if (!ended) {
            found += (guint)found_in(gst_message_get_structure(message));
            *frames += 1;
        }
        gst_message_unref(message);
    }
    return found;
}

/* From NULL to PLAYING and back; every stream looks for what is in the file by then. */
GST_START_TEST(test_restarts) {
    Plane pictures[] = {picture_of(26), picture_of(27)};
    GstVideoInfo info = make_info("GRAY8", 320, 240);
    File video = file_new("video.gray"), file = file_new("picture.pgm");
    GString *bytes = g_string_new(NULL);
    gchar *text;
    GstElement *pipeline;
    GstBus *bus;
    for (guint i = 0; i < 3; i++) {
        Plane plane = texture(info.width, info.height, i);
        const Camera at = on_path(&pictures[0], &info, i);
        paste(&plane, &pictures[0], &at);
        g_string_append_len(bytes, (const gchar *)plane.pixels, info.width * info.height);
        g_free(plane.pixels);
    }
    fail_unless(g_file_set_contents(video.path, bytes->str, (gssize)bytes->len, NULL));
    text = g_strdup_printf("filesrc location=%s ! rawvideoparse format=gray8 width=320 height=240 "
                           "! gpusift backend=%s reference=%s post-messages=true ! "
                           "fakesink sync=false",
                           video.path, test_backend(), file.path);
    pipeline = launch(text);
    bus = gst_element_get_bus(pipeline);
    for (guint i = 0; i < 6; i++) {
        guint frames = 0;
        write_picture(&file, &pictures[i % 2], 1);
        reach(pipeline, GST_STATE_PLAYING);
        fail_unless_equals_int(found_messages(bus, &frames), i % 2 ? 0 : 3);
        fail_unless_equals_int(frames, 3);
        reach(pipeline, GST_STATE_NULL);
    }
    gst_object_unref(bus);
    gst_object_unref(pipeline);
    g_string_free(bytes, TRUE);
    g_free(text);
    for (guint i = 0; i < 2; i++)
        g_free(pictures[i].pixels);
    file_free(&video);
    file_free(&file);
}
GST_END_TEST

/* The element with a picture that the test source does not show. */
static gchar *with_reference(const File *file) {
    return g_strdup_printf("gpusift reference=%s overlay=outline", file->path);
}

GST_START_TEST(test_seek) {
    Plane picture = texture(40, 30, 28);
    File file = file_with("picture.pgm", &picture);
    gchar *text = with_reference(&file);
    check_seeks(text);
    g_free(text);
    g_free(picture.pixels);
    file_free(&file);
}
GST_END_TEST

GST_START_TEST(test_cycles) {
    Plane picture = texture(40, 30, 29);
    File file = file_with("picture.pgm", &picture);
    gchar *text = with_reference(&file);
    check_restarts(text);
    g_free(text);
    g_free(picture.pixels);
    file_free(&file);
}
GST_END_TEST

static gpointer change_properties(gpointer element) {
    GRand *random = g_rand_new_with_seed(7);
    gchar *path = NULL;
    g_object_get(element, "reference", &path, NULL);
    for (guint i = 0; i < 500; i++) {
        g_object_set(
            element, "reference", g_rand_boolean(random) ? path : "", "match-ratio",
            g_rand_double_range(random, 0, 1), "min-inliers", g_rand_int_range(random, 4, 20),
            "root-sift", g_rand_boolean(random), "max-features", g_rand_int_range(random, 0, 500),
            "descriptors", g_rand_boolean(random), "overlay", g_rand_int_range(random, 0, 4),
            "attach-meta", g_rand_boolean(random), "post-messages", g_rand_boolean(random), NULL);
        g_usleep(400);
    }
    g_rand_free(random);
    g_free(path);
    return NULL;
}

GST_START_TEST(test_properties_while_playing) {
    Plane picture = texture(40, 30, 30);
    File file = file_with("picture.pgm", &picture);
    gchar *text = with_reference(&file);
    check_changes_while_playing(text, change_properties);
    g_free(text);
    g_free(picture.pixels);
    file_free(&file);
}
GST_END_TEST

static Suite *reference_suite(void) {
    Suite *suite = suite_create("gpusift_reference");
    TCase *tcase = add_case(suite, "place");
    tcase_add_test(tcase, test_camera_path);
    tcase_add_loop_test(tcase, test_equals_the_library, 0, some_of(G_N_ELEMENTS(formats)));
    tcase_add_test(tcase, test_impossible_place);
    tcase_add_test(tcase, test_results_are_scaled);
    tcase_add_test(tcase, test_two_in_a_row);
    tcase = add_case(suite, "drawing");
    tcase_add_loop_test(tcase, test_overlays, 0, some_of(G_N_ELEMENTS(formats)));
    tcase_add_loop_test(tcase, test_outline, 0, 4); /* formats */
    tcase = add_case(suite, "results");
    tcase_add_test(tcase, test_wanted);
    tcase_add_test(tcase, test_without_descriptors);
    tcase = add_case(suite, "pictures");
    tcase_add_test(tcase, test_bad_references);
    tcase_add_test(tcase, test_no_reference);
    tcase_add_test(tcase, test_never_found);
    tcase_add_test(tcase, test_flat_frames);
    tcase_add_test(tcase, test_larger_than_the_frame);
    tcase_add_test(tcase, test_picture_formats);
    tcase_add_test(tcase, test_read_once);
    tcase_add_test(tcase, test_flooded);
    tcase = add_case(suite, "changes");
    tcase_add_test(tcase, test_another_reference);
    tcase_add_test(tcase, test_min_inliers);
    tcase_add_test(tcase, test_match_ratio);
    tcase_add_test(tcase, test_parameters);
    tcase_add_test(tcase, test_few_features);
    tcase_add_test(tcase, test_renegotiation);
    tcase_add_test(tcase, test_controlled);
    tcase = add_case(suite, "stream");
    tcase_add_test(tcase, test_restarts);
    tcase_add_test(tcase, test_seek);
    tcase_add_test(tcase, test_cycles);
    tcase_add_test(tcase, test_properties_while_playing);
    return suite;
}

int main(int argc, char **argv) {
    gst_check_init(&argc, &argv);
    return run_with_pictures(reference_suite, "gpusift_reference", __FILE__);
}
