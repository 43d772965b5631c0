/* SPDX-License-Identifier: BSD-2-Clause */
#include "elements.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>

#define REQUIRE_OK(call) fail_unless_equals_int((call), GPV_OK)

/* The operator of an element; its parameters are set before each frame. */
#define OPERATOR(element, stem)                                                                    \
    static void element##_open(Model *model) {                                                     \
        gpv_##stem##_params_init(&model->params.stem, sizeof model->params.stem);                  \
        REQUIRE_OK(gpv_##stem##_create(model->context, NULL, &model->stem));                       \
    }                                                                                              \
    static void element##_close(Model *model) {                                                    \
        gpv_##stem##_destroy(&model->stem);                                                        \
    }

/* ---- results ---- */

static void append_int(GValue *array, gint number) {
    GValue value = G_VALUE_INIT;
    g_value_init(&value, G_TYPE_INT);
    g_value_set_int(&value, number);
    gst_value_array_append_and_take_value(array, &value);
}

static void append_double(GValue *array, gdouble number) {
    GValue value = G_VALUE_INIT;
    g_value_init(&value, G_TYPE_DOUBLE);
    g_value_set_double(&value, number);
    gst_value_array_append_and_take_value(array, &value);
}

/* Takes the structure. */
static void append_structure(GValue *array, GstStructure *structure) {
    GValue value = G_VALUE_INIT;
    g_value_init(&value, GST_TYPE_STRUCTURE);
    g_value_take_boxed(&value, structure);
    gst_value_array_append_and_take_value(array, &value);
}

static void take_bytes(GstStructure *results, const gchar *name, gconstpointer data, gsize size) {
    GValue value = G_VALUE_INIT;
    g_value_init(&value, G_TYPE_BYTES);
    g_value_take_boxed(&value, g_bytes_new(data, size));
    gst_structure_take_value(results, name, &value);
}

/* ---- gpuerode ---- */

#define ERODE(field) offsetof(gpv_erode_params, field)

static const Property erode_properties[] = {
    {"operation", "erode", NULL, NULL, "erode dilate open close gradient tophat blackhat",
     ERODE(operation)},
    {"shape", "rect", NULL, NULL, "rect cross ellipse", ERODE(shape)},
    {"radius", "1", "0", "255", "1 0 2 4", ERODE(radius)},
    {"radius-y", "-1", "-1", "255", "-1 0 1 3", ERODE(radius_y)},
    {"iterations", "1", "1", "255", "1 2 3", ERODE(iterations)},
    {"threshold", "0", "0", "255", "0 1 128 255", ERODE(threshold)},
    {"threshold-range", "stored", NULL, NULL, NULL, 0},
    {"border", "ignore", NULL, NULL, "ignore background", ERODE(border)},
    {"planes", "auto", NULL, NULL, "auto luma all", ERODE(planes)},
    {"roi", "frame", NULL, NULL, NULL, 0},
};

static const Output erode_outputs[] = {{"", pixels_new, NULL, NULL}};

OPERATOR(erode, erode)

static gchar *nick_of(const Model *model, const gchar *property) {
    GValue value = G_VALUE_INIT;
    gchar *nick;
    g_object_get_property(model->properties, property, &value);
    nick = gst_value_serialize(&value);
    g_value_unset(&value);
    return nick;
}

/* Of 16 bits the upper ones are compared. */
static gint threshold_in(const gpv_image *src, gint threshold) {
    const gboolean wide = src->format == GPV_FORMAT_P016 || src->format == GPV_FORMAT_GRAY16;
    return wide ? threshold * 256 : threshold;
}

static GstStructure *erode_run(Model *model, const gpv_image *src, const gpv_image *dst,
                               G_GNUC_UNUSED const Output *output) {
    const gpv_erode_params *params = &model->params.erode;
    gpv_erode_params stored = *params;
    g_autofree gchar *operation = nick_of(model, "operation"), *shape = nick_of(model, "shape");
    GstStructure *results;
    stored.threshold = threshold_in(src, params->threshold);
    results = gst_structure_new(
        "gpuerode", "operation", G_TYPE_STRING, operation, "shape", G_TYPE_STRING, shape, "radius",
        G_TYPE_INT, params->radius, "radius-y", G_TYPE_INT,
        params->radius_y < 0 ? params->radius : params->radius_y, "iterations", G_TYPE_INT,
        params->iterations, "threshold", G_TYPE_INT, stored.threshold, NULL);
    REQUIRE_OK(gpv_erode_set_params(model->erode, &stored));
    REQUIRE_OK(gpv_erode_run(model->erode, NULL, src, dst));
    REQUIRE_OK(gpv_erode_wait(model->erode));
    return results;
}

/* ---- gpukmeans ---- */

#define KMEANS(field) offsetof(gpv_kmeans_params, field)

static const Property kmeans_properties[] = {
    {"clusters", "8", "0", "256", "8 0 2 3 17 256", KMEANS(clusters)},
    {"max-clusters", "16", "2", "256", "16 2 7 20", KMEANS(max_clusters)},
    {"max-iterations", "20", "0", "10000", "20 0 1 2 100", KMEANS(max_iterations)},
    {"tolerance", "0.5", "-1", "255", "0.5 -1 0 3 255", KMEANS(tolerance)},
    {"metric", "l2", NULL, NULL, "l2 l1", KMEANS(metric)},
    {"init", "kmeans++", NULL, NULL, "kmeans++ random grid", KMEANS(init)},
    {"seed", "0", "0", "18446744073709551615", "0 7 18446744073709551615", KMEANS(seed)},
    {"warm-start", "true", NULL, NULL, "true false", KMEANS(warm_start)},
    {"keep-state", "false", NULL, NULL, NULL, 0},
    {"attach-mask", "false", NULL, NULL, NULL, 0},
    {"color-space", "rgb", NULL, NULL, "rgb lab", KMEANS(color_space)},
    {"output", "quantized", NULL, NULL, NULL, 0},
    {"interval", "1", "1", "1000000", NULL, 0},
    {"roi", "frame", NULL, NULL, NULL, 0},
};

static const Output kmeans_outputs[] = {{"quantized", pixels_new, NULL, NULL},
                                        {"labels", pixels_new, "GRAY8", "NV12"},
                                        {"none", pixels_kept, NULL, NULL}};

OPERATOR(kmeans, kmeans)

static void kmeans_forget(Model *model) {
    kmeans_close(model);
    kmeans_open(model);
}

static GstStructure *kmeans_run(Model *model, const gpv_image *src, const gpv_image *dst,
                                const Output *output) {
    gfloat centroids[GPV_KMEANS_MAX_CLUSTERS][3];
    gint32 counts[GPV_KMEANS_MAX_CLUSTERS];
    const gpv_buffer to_centroids = buffer_for(centroids, sizeof centroids);
    const gpv_buffer to_counts = buffer_for(counts, sizeof counts);
    const gboolean labels = output->format != NULL;
    GValue colors = G_VALUE_INIT, pixels = G_VALUE_INIT;
    gpv_kmeans_result found;
    GstStructure *results;
    REQUIRE_OK(gpv_kmeans_set_params(model->kmeans, &model->params.kmeans));
    REQUIRE_OK(gpv_kmeans_run(model->kmeans, NULL, src, labels ? dst : NULL, labels ? NULL : dst,
                              &to_centroids, &to_counts, NULL));
    gpv_kmeans_result_init(&found, sizeof found);
    REQUIRE_OK(gpv_kmeans_wait(model->kmeans, &found));
    gst_value_array_init(&colors, (guint)found.clusters);
    gst_value_array_init(&pixels, (guint)found.clusters);
    for (gint i = 0; i < found.clusters; i++) {
        append_int(&colors, (gint)gpv_kmeans_color(model->params.kmeans.color_space, centroids[i]));
        append_int(&pixels, counts[i]);
    }
    results = gst_structure_new("gpukmeans", "clusters", G_TYPE_INT, found.clusters, "inertia",
                                G_TYPE_DOUBLE, found.inertia, "iterations", G_TYPE_INT,
                                found.iterations, NULL);
    gst_structure_take_value(results, "centroids", &colors);
    gst_structure_take_value(results, "counts", &pixels);
    return results;
}

/* ---- gpusift ---- */

#define SIFT(field) offsetof(gpv_sift_params, field)

static const Property sift_properties[] = {
    {"max-features", "2000", "0", "65536", "2000 0 1 10 100 65536", SIFT(max_features)},
    {"octaves", "0", "0", "16", "0 1 2 16", SIFT(octaves)},
    {"octave-layers", "3", "1", "8", "3 1 5 8", SIFT(octave_layers)},
    {"contrast-threshold", "0.04", "0", "1", "0.04 0.01 0.1 1", SIFT(contrast_threshold)},
    {"edge-threshold", "10", "1", "1000000", "10 1 5 1000000", SIFT(edge_threshold)},
    {"sigma", "1.6", "0.5", "4", "1.6 0.75 1 3.2", SIFT(sigma)},
    {"upsample", "true", NULL, NULL, "true false", SIFT(upsample)},
    {"upright", "false", NULL, NULL, "false true", SIFT(upright)},
    {"root-sift", "false", NULL, NULL, "false true", SIFT(root_sift)},
    {"descriptors", "true", NULL, NULL, "true false", 0},
    {"overlay", "none", NULL, NULL, NULL, 0},
    {"color", "0xff00ff00", "0", "4294967295", "0xff00ff00 0x123456 0xff 0xffffffff", 0},
    {"reference", NULL, NULL, NULL, NULL, 0},
    {"match-ratio", "0.8", "0", "1", "0.8 0 0.5 1", 0},
    {"min-inliers", "15", "4", "65536", "15 4 100", 0},
    {"interval", "1", "1", "1000000", NULL, 0},
    {"roi", "frame", NULL, NULL, NULL, 0},
};

/* There is no reference here unless a test has one: its outline is nothing. */
static const Output sift_outputs[] = {{"none", pixels_kept, NULL, NULL},
                                      {"points", pixels_drawn, NULL, NULL},
                                      {"rich", pixels_drawn, NULL, NULL},
                                      {"outline", pixels_drawn, NULL, NULL}};

OPERATOR(sift, sift)

typedef struct {
    gpv_sift_result found;
    gpv_sift_keypoint *keypoints;
    guint8 *descriptors;
} Features;

/* Keypoints that a picture has where no number is wanted. */
static gint capacity_of(const gpv_image *image) {
    return CLAMP(image->width * image->height / 64, 4096, 65536);
}

static Features features_of(Model *model, const gpv_image *image, gint maximum) {
    const gsize size = (gsize)maximum;
    Features features = {.keypoints = g_new(gpv_sift_keypoint, size),
                         .descriptors = g_new(guint8, size * GPV_SIFT_DESCRIPTOR_LENGTH)};
    const gpv_buffer to = buffer_for(features.keypoints, size * sizeof *features.keypoints);
    const gpv_buffer of = buffer_for(features.descriptors, size * GPV_SIFT_DESCRIPTOR_LENGTH);
    gpv_sift_params params = model->params.sift;
    gpv_status status;
    params.max_features = maximum;
    REQUIRE_OK(gpv_sift_set_params(model->sift, &params));
    REQUIRE_OK(gpv_sift_run(model->sift, NULL, image, NULL, &to, 0, &of, NULL));
    gpv_sift_result_init(&features.found, sizeof features.found);
    status = gpv_sift_wait(model->sift, &features.found);
    fail_unless(status == GPV_OK || (status == GPV_ERR_TOO_SMALL && features.found.count == 0));
    return features;
}

static void features_free(Features *features) {
    g_free(features->keypoints);
    g_free(features->descriptors);
}

/* Returns how many pairs there are. */
static gint run_match(Model *model, const Features *query, const Features *train, gfloat ratio,
                      gpv_match_pair *pairs) {
    const gsize length = GPV_SIFT_DESCRIPTOR_LENGTH;
    const gpv_buffer from = buffer_for(query->descriptors, (gsize)query->found.count * length);
    const gpv_buffer to = buffer_for(train->descriptors, (gsize)train->found.count * length);
    const gpv_buffer room = buffer_for(pairs, (gsize)query->found.count * sizeof *pairs);
    gpv_match_params params;
    gpv_match_result result;
    if (query->found.count == 0)
        return 0;
    if (!model->match)
        REQUIRE_OK(gpv_match_create(model->context, NULL, &model->match));
    gpv_match_params_init(&params, sizeof params);
    params.ratio = ratio;
    gpv_match_result_init(&result, sizeof result);
    REQUIRE_OK(gpv_match_set_params(model->match, &params));
    REQUIRE_OK(gpv_match_run(model->match, NULL, &from, query->found.count, NULL, &to,
                             train->found.count, NULL, &room, NULL));
    REQUIRE_OK(gpv_match_wait(model->match, &result));
    return result.count;
}

static gpv_homography fit_pairs(const Model *model, const Features *query, const Features *train,
                                const gpv_match_pair *pairs, gint count) {
    g_autofree gfloat *from = g_new0(gfloat, 2 * (gsize)count + 2);
    g_autofree gfloat *to = g_new0(gfloat, 2 * (gsize)count + 2);
    gpv_homography homography;
    for (gint i = 0; i < count; i++) {
        from[2 * i] = query->keypoints[pairs[i].query].x;
        from[2 * i + 1] = query->keypoints[pairs[i].query].y;
        to[2 * i] = train->keypoints[pairs[i].train].x;
        to[2 * i + 1] = train->keypoints[pairs[i].train].y;
    }
    gpv_homography_init(&homography, sizeof homography);
    REQUIRE_OK(gpv_homography_find(model->context, NULL, from, to, count, NULL, &homography));
    return homography;
}

void corner_of(const gdouble *m, gint width, gint height, guint corner, gdouble *to) {
    const gdouble x = corner == 1 || corner == 2 ? width - 0.5 : -0.5;
    const gdouble y = corner >= 2 ? height - 0.5 : -0.5;
    const gdouble w = m[6] * x + m[7] * y + m[8];
    to[0] = (m[0] * x + m[1] * y + m[2]) / w;
    to[1] = (m[3] * x + m[4] * y + m[5]) / w;
}

/* Draws the outline, and adds homography and corners. */
static void add_place(Model *model, const gpv_image *dst, guint color,
                      const gpv_homography *homography, GstStructure *results) {
    GValue matrix = G_VALUE_INIT, places = G_VALUE_INIT;
    gfloat corners[8];
    gst_value_array_init(&matrix, 9);
    gst_value_array_init(&places, 4);
    for (guint i = 0; i < 9; i++)
        append_double(&matrix, homography->matrix[i]);
    for (guint i = 0; i < 4; i++) {
        gdouble corner[2];
        corner_of(homography->matrix, model->reference->width, model->reference->height, i, corner);
        corners[2 * i] = (gfloat)corner[0];
        corners[2 * i + 1] = (gfloat)corner[1];
        append_structure(&places,
                         gst_structure_new("corner", "cx", G_TYPE_DOUBLE, (gdouble)corners[2 * i],
                                           "cy", G_TYPE_DOUBLE, (gdouble)corners[2 * i + 1], NULL));
    }
    gst_structure_take_value(results, "homography", &matrix);
    gst_structure_take_value(results, "corners", &places);
    if (dst) {
        const gfloat width = (gfloat)MAX(2.0, MIN(dst->width, dst->height) / 200.0);
        REQUIRE_OK(gpv_draw_outline(model->match, NULL, dst, corners, 4, width, color));
    }
}

static void find_reference(Model *model, const Features *frame, const gpv_image *dst, guint color,
                           GstStructure *results) {
    const gpv_image view = plane_view(model->reference);
    Features picture = features_of(model, &view, capacity_of(&view));
    gpv_match_pair *pairs = g_new(gpv_match_pair, (gsize)picture.found.count + 1);
    gpv_homography homography;
    gfloat ratio = -1;
    gint min_inliers = -1, matches;
    gboolean found;
    g_object_get(model->properties, "match-ratio", &ratio, "min-inliers", &min_inliers, NULL);
    matches = run_match(model, &picture, frame, ratio, pairs);
    homography = fit_pairs(model, &picture, frame, pairs, matches);
    found = homography.inliers >= min_inliers && !model->impossible;
    gst_structure_set(results, "matches", G_TYPE_INT, matches, "inliers", G_TYPE_INT,
                      homography.inliers, "found", G_TYPE_BOOLEAN, found, NULL);
    if (found)
        add_place(model, dst, color, &homography, results);
    features_free(&picture);
    g_free(pairs);
}

static GstStructure *sift_run(Model *model, const gpv_image *src, const gpv_image *dst,
                              const Output *output) {
    const gint wanted = model->params.sift.max_features;
    Features features = features_of(model, src, wanted ? wanted : capacity_of(src));
    const gsize count = (gsize)features.found.count;
    gboolean described = FALSE;
    guint color = 0;
    GstStructure *results = gst_structure_new("gpusift", "count", G_TYPE_INT, features.found.count,
                                              "dropped", G_TYPE_INT, features.found.dropped, NULL);
    g_object_get(model->properties, "descriptors", &described, "color", &color, NULL);
    color &= 0xffffff;
    if (dst && !g_str_equal(output->name, "outline"))
        REQUIRE_OK(gpv_draw_keypoints(model->sift, NULL, dst,
                                      g_str_equal(output->name, "rich") ? GPV_DRAW_STYLE_RICH
                                                                        : GPV_DRAW_STYLE_POINTS,
                                      color));
    if (model->reference)
        find_reference(model, &features, dst, color, results);
    take_bytes(results, "keypoints", features.keypoints, count * sizeof *features.keypoints);
    if (described)
        take_bytes(results, "descriptors", features.descriptors,
                   count * GPV_SIFT_DESCRIPTOR_LENGTH);
    features_free(&features);
    return results;
}

/* ---- gpuccl ---- */

#define CCL(field) offsetof(gpv_ccl_params, field)

static const Property ccl_properties[] = {
    {"threshold", "-1", "-1", "255", "-1 0 1 64 128 255", CCL(threshold)},
    {"threshold-range", "stored", NULL, NULL, NULL, 0},
    {"invert", "false", NULL, NULL, "false true", CCL(invert)},
    {"foreground", "-1", "-1", "255", "-1 0 64 128 255", CCL(foreground)},
    {"mode", "binary", NULL, NULL, "binary equal-value", CCL(mode)},
    {"connectivity", "8", NULL, NULL, "8 4", CCL(connectivity)},
    {"min-area", "0", "0", "1073741824", "0 2 3 5", CCL(min_area)},
    {"max-area", "0", "0", "1073741824", "0 3 4 40", CCL(max_area)},
    {"max-components", "256", "0", "65535", "256 0 1 20 65535", 0},
    {"attach-mask", "false", NULL, NULL, NULL, 0},
    {"output", "colorize", NULL, NULL, NULL, 0},
    {"interval", "1", "1", "1000000", NULL, 0},
    {"roi", "frame", NULL, NULL, NULL, 0},
};

static const Output ccl_outputs[] = {{"colorize", pixels_new, NULL, NULL},
                                     {"mask", pixels_new, "GRAY8", "NV12"},
                                     {"labels", pixels_new, "GRAY16_LE", "P016_LE"},
                                     {"none", pixels_kept, NULL, NULL}};

OPERATOR(ccl, ccl)

static GstStructure *component_of(const gpv_ccl_component *found, gint label) {
    const gdouble area = found->area;
    return gst_structure_new(
        "component", "label", G_TYPE_INT, label, "area", G_TYPE_INT, found->area, "x", G_TYPE_INT,
        found->left, "y", G_TYPE_INT, found->top, "width", G_TYPE_INT, found->right - found->left,
        "height", G_TYPE_INT, found->bottom - found->top, "cx", G_TYPE_DOUBLE,
        (gdouble)found->sum_x / area, "cy", G_TYPE_DOUBLE, (gdouble)found->sum_y / area, NULL);
}

static GstStructure *ccl_run(Model *model, const gpv_image *src, const gpv_image *dst,
                             const Output *output) {
    gpv_ccl_params stored = model->params.ccl, *params = &stored;
    GValue array = G_VALUE_INIT;
    gint described = -1;
    gpv_ccl_component *components;
    gpv_ccl_result found;
    gpv_buffer to;
    GstStructure *results;
    gpv_status status;
    if (params->threshold < 0)
        params->threshold = params->mode == GPV_CCL_MODE_EQUAL_VALUE ? 0 : 128;
    params->threshold = threshold_in(src, params->threshold);
    params->output = g_str_equal(output->name, "colorize") ? GPV_CCL_OUTPUT_COLORS
                     : g_str_equal(output->name, "mask")   ? GPV_CCL_OUTPUT_MASK
                                                           : GPV_CCL_OUTPUT_LABELS;
    g_object_get(model->properties, "max-components", &described, NULL);
    components = g_new(gpv_ccl_component, (gsize)described + 1);
    to = buffer_for(components, (gsize)described * sizeof *components);
    REQUIRE_OK(gpv_ccl_set_params(model->ccl, params));
    REQUIRE_OK(gpv_ccl_run(model->ccl, NULL, src, dst, described ? &to : NULL, 0, NULL));
    gpv_ccl_result_init(&found, sizeof found);
    status = gpv_ccl_wait(model->ccl, &found);
    fail_unless(status == GPV_OK || (status == GPV_ERR_TOO_SMALL && found.count > described));
    gst_value_array_init(&array, (guint)found.components);
    for (gint i = 0; i < found.components; i++)
        append_structure(&array, component_of(&components[i], i + 1));
    results = gst_structure_new("gpuccl", "count", G_TYPE_INT, found.count, NULL);
    gst_structure_take_value(results, "components", &array);
    g_free(components);
    return results;
}

/* ---- gpugraphcut ---- */

#define SEGMENT(field) offsetof(gpv_segment_params, field)

static const Property graphcut_properties[] = {
    {"seed-source", "auto", NULL, NULL, NULL, 0},
    {"rect", NULL, NULL, NULL, NULL, 0},
    {"seeds", NULL, NULL, NULL, NULL, 0},
    {"model", "gmm", NULL, NULL, "gmm histogram means", SEGMENT(model)},
    {"iterations", "5", "1", "100", "5 1 2", SEGMENT(iterations)},
    {"lambda", "0.01", "0", "1000000", "0.01 0 0.001 1 1000000", SEGMENT(lambda)},
    {"sigma", "0", "0", "1000000", "0 0.5 10 1000000", SEGMENT(sigma)},
    {"static-scene", "false", NULL, NULL, "false true", SEGMENT(static_scene)},
    {"edge", "hard", NULL, NULL, "hard soft", SEGMENT(edge)},
    {"connectivity", "4", NULL, NULL, "4 8", SEGMENT(connectivity)},
    {"max-time-ms", "0", "0", "2147483", NULL, 0},
    {"warm-start", "true", NULL, NULL, "true false", SEGMENT(warm_start)},
    {"keep-state", "false", NULL, NULL, NULL, 0},
    {"attach-mask", "false", NULL, NULL, NULL, 0},
    {"output", "overlay", NULL, NULL, NULL, 0},
    {"interval", "1", "1", "1000000", NULL, 0},
};
G_STATIC_ASSERT(GPV_SEGMENT_WARM_START_ADAPT == TRUE && GPV_SEGMENT_WARM_START_NONE == FALSE);

static const Output graphcut_outputs[] = {{"overlay", pixels_new, NULL, NULL},
                                          {"mask", pixels_new, "GRAY8", "NV12"},
                                          {"cutout", pixels_new, "RGBA", "RGBA"},
                                          {"none", pixels_kept, NULL, NULL}};

OPERATOR(graphcut, segment)

static void graphcut_forget(Model *model) {
    REQUIRE_OK(gpv_segment_forget(model->segment));
    model->learned = FALSE;
}

static GstStructure *graphcut_run(Model *model, const gpv_image *src, const gpv_image *dst,
                                  const Output *output) {
    const gboolean masks = g_str_equal(output->name, "mask");
    gpv_segment_params *params = &model->params.segment;
    gpv_graphcut_result found;
    gboolean seeded;
    guint32 learned = 0; /* the library gives up what is not worth keeping */
    REQUIRE_OK(gpv_segment_learned(model->segment, &learned));
    seeded = params->warm_start == GPV_SEGMENT_WARM_START_NONE || !model->learned || !learned;
    params->output = g_str_equal(output->name, "cutout") ? GPV_SEGMENT_OUTPUT_CUTOUT
                                                         : GPV_SEGMENT_OUTPUT_OVERLAY;
    REQUIRE_OK(gpv_segment_set_params(model->segment, params));
    REQUIRE_OK(gpv_segment_run(model->segment, NULL, src,
                               model->regions ? model->regions
                               : seeded       ? model->seeds
                                              : NULL,
                               model->rect, masks ? dst : NULL, masks ? NULL : dst, NULL));
    model->learned = TRUE;
    gpv_graphcut_result_init(&found, sizeof found);
    REQUIRE_OK(gpv_segment_wait(model->segment, &found));
    return gst_structure_new("gpugraphcut", "flow", G_TYPE_INT64, found.flow, "area", G_TYPE_INT,
                             (gint)found.area, "optimal", G_TYPE_BOOLEAN, found.optimal != 0, "gap",
                             G_TYPE_DOUBLE, 0.0, NULL);
}

/* ---- all of them ---- */

#define ELEMENT(stem, kind)                                                                        \
    .name = "gpu" #stem, .klass = "Filter/" kind "/Video/Hardware", .outputs = stem##_outputs,     \
    .output_count = G_N_ELEMENTS(stem##_outputs), .properties = stem##_properties,                 \
    .property_count = G_N_ELEMENTS(stem##_properties), .open = stem##_open, .close = stem##_close, \
    .run = stem##_run
#define MEASURE(field, minimum) .measure = field, .least = minimum
#define OTHER(property, value) .other = property, .another = value
#define LEARNS(stem) .learns = TRUE, .forget = stem##_forget

const Element elements[] = {
    {ELEMENT(erode, "Effect"), MEASURE("radius", 1), OTHER("radius", "2")},
    {ELEMENT(kmeans, "Effect"), MEASURE("clusters", 6), OTHER("clusters", "3"), LEARNS(kmeans),
     .choice = "output", .interlaced = TRUE},
    {ELEMENT(sift, "Analyzer"), MEASURE("count", 10), OTHER("max-features", "1"),
     .choice = "overlay"},
    {ELEMENT(ccl, "Analyzer"), MEASURE("count", 3), OTHER("min-area", "2"), .choice = "output"},
    {ELEMENT(graphcut, "Effect"), MEASURE("area", 100), OTHER("lambda", "1"), LEARNS(graphcut),
     .choice = "output", .slow = TRUE},
};

const Property base_properties[] = {
    {"backend", "auto", NULL, NULL, "auto cpu cuda", 0},
    {"cuda-device-id", "-1", "-1", "255", NULL, 0},
    {"attach-meta", "true", NULL, NULL, "true false", 0},
    {"post-messages", "false", NULL, NULL, "false true", 0},
    {"roi-type", NULL, NULL, NULL, NULL, 0},
};

const Element *element_called(const gchar *name) {
    guint i = 0;
    while (!g_str_equal(elements[i].name, name))
        g_assert(++i < element_count);
    return &elements[i];
}

gchar **values_of(const Property *property) {
    return g_strsplit(property->values ? property->values : "", " ", 0);
}

/* ---- the library ---- */

Model *model_new(const Element *element, GstElement *properties) {
    Model *model = g_new0(Model, 1);
    gpv_context_params wanted;
    gpv_context_params_init(&wanted, sizeof wanted);
    wanted.backend = GPV_BACKEND_CPU;
    REQUIRE_OK(gpv_context_create(&wanted, &model->context));
    model->element = element;
    model->properties = G_OBJECT(gst_object_ref(properties));
    element->open(model);
    return model;
}

void model_free(Model *model) {
    model->element->close(model);
    gpv_match_destroy(&model->match);
    gpv_context_destroy(&model->context);
    gst_object_unref(model->properties);
    g_free(model);
}

void model_forget(Model *model) {
    if (model->element->learns)
        model->element->forget(model);
}

static void read_property(Model *model, const Property *property) {
    gpointer parameter = (guint8 *)&model->params + property->offset;
    GValue value = G_VALUE_INIT;
    g_object_get_property(model->properties, property->name, &value);
    if (G_VALUE_HOLDS_INT(&value))
        *(gint32 *)parameter = g_value_get_int(&value);
    else if (G_VALUE_HOLDS_ENUM(&value))
        *(gint32 *)parameter = g_value_get_enum(&value);
    else if (G_VALUE_HOLDS_BOOLEAN(&value))
        *(guint32 *)parameter = g_value_get_boolean(&value) ? 1 : 0;
    else if (G_VALUE_HOLDS_FLOAT(&value))
        *(gfloat *)parameter = g_value_get_float(&value);
    else
        *(guint64 *)parameter = g_value_get_uint64(&value);
    g_value_unset(&value);
}

/* Another model of gpugraphcut's begins anew. */
static void read_properties(Model *model) {
    const gpv_segment_model before = model->params.segment.model;
    for (guint i = 0; i < model->element->property_count; i++)
        if (model->element->properties[i].offset)
            read_property(model, &model->element->properties[i]);
    if (model->segment && model->params.segment.model != before)
        model->learned = FALSE;
}

const Output *model_output(const Model *model) {
    GValue value = G_VALUE_INIT;
    gint index;
    if (!model->element->choice)
        return model->element->outputs;
    g_object_get_property(model->properties, model->element->choice, &value);
    index = g_value_get_enum(&value);
    g_value_unset(&value);
    return &model->element->outputs[index];
}

/* Without the matrix and the range of its colours. */
static gpv_image library_image(const GstVideoFrame *frame) {
    static const struct {
        GstVideoFormat theirs;
        gpv_format ours;
    } known[] = {
        {GST_VIDEO_FORMAT_NV12, GPV_FORMAT_NV12},       {GST_VIDEO_FORMAT_I420, GPV_FORMAT_I420},
        {GST_VIDEO_FORMAT_RGBA, GPV_FORMAT_RGBA8},      {GST_VIDEO_FORMAT_BGRA, GPV_FORMAT_BGRA8},
        {GST_VIDEO_FORMAT_RGBx, GPV_FORMAT_RGBX8},      {GST_VIDEO_FORMAT_BGRx, GPV_FORMAT_BGRX8},
        {GST_VIDEO_FORMAT_RGB, GPV_FORMAT_RGB8},        {GST_VIDEO_FORMAT_BGR, GPV_FORMAT_BGR8},
        {GST_VIDEO_FORMAT_P010_10LE, GPV_FORMAT_P016},  {GST_VIDEO_FORMAT_P012_LE, GPV_FORMAT_P016},
        {GST_VIDEO_FORMAT_P016_LE, GPV_FORMAT_P016},    {GST_VIDEO_FORMAT_NV21, GPV_FORMAT_NV21},
        {GST_VIDEO_FORMAT_YV12, GPV_FORMAT_I420},       {GST_VIDEO_FORMAT_YUY2, GPV_FORMAT_YUY2},
        {GST_VIDEO_FORMAT_UYVY, GPV_FORMAT_UYVY},       {GST_VIDEO_FORMAT_Y444, GPV_FORMAT_Y444},
        {GST_VIDEO_FORMAT_ARGB, GPV_FORMAT_ARGB8},      {GST_VIDEO_FORMAT_ABGR, GPV_FORMAT_ABGR8},
        {GST_VIDEO_FORMAT_xRGB, GPV_FORMAT_XRGB8},      {GST_VIDEO_FORMAT_xBGR, GPV_FORMAT_XBGR8},
        {GST_VIDEO_FORMAT_RGBP, GPV_FORMAT_RGBP8},      {GST_VIDEO_FORMAT_BGRP, GPV_FORMAT_RGBP8},
        {GST_VIDEO_FORMAT_GBR, GPV_FORMAT_RGBP8},       {GST_VIDEO_FORMAT_GRAY8, GPV_FORMAT_GRAY8},
        {GST_VIDEO_FORMAT_GRAY16_LE, GPV_FORMAT_GRAY16}};
    guint i = 0;
    gpv_image image;
    while (known[i].theirs != GST_VIDEO_FRAME_FORMAT(frame))
        g_assert(++i < G_N_ELEMENTS(known));
    gpv_image_init(&image, sizeof image);
    image.format = known[i].ours;
    image.width = frame->info.width;
    image.height = frame->info.height;
    for (guint p = 0; p < GST_VIDEO_FRAME_N_PLANES(frame); p++) {
        /* Of three planes each has a component. */
        const guint plane = GST_VIDEO_FRAME_N_PLANES(frame) == 3
                                ? GST_VIDEO_FORMAT_INFO_PLANE(frame->info.finfo, p)
                                : p;
        image.data[p] = GST_VIDEO_FRAME_PLANE_DATA(frame, plane);
        image.stride[p] = GST_VIDEO_FRAME_PLANE_STRIDE(frame, plane);
    }
    return image;
}

/* As the element describes it: with the colorimetry of its caps. */
static gpv_image described_image(const GstVideoFrame *frame) {
    const GstVideoColorimetry *colors = &frame->info.colorimetry;
    gpv_image image = library_image(frame);
    image.color_matrix = colors->matrix == GST_VIDEO_COLOR_MATRIX_BT601    ? GPV_COLOR_MATRIX_BT601
                         : colors->matrix == GST_VIDEO_COLOR_MATRIX_BT709  ? GPV_COLOR_MATRIX_BT709
                         : colors->matrix == GST_VIDEO_COLOR_MATRIX_BT2020 ? GPV_COLOR_MATRIX_BT2020
                                                                           : GPV_COLOR_MATRIX_AUTO;
    image.color_range =
        colors->range == GST_VIDEO_COLOR_RANGE_0_255 ? GPV_COLOR_RANGE_FULL : GPV_COLOR_RANGE_AUTO;
    return image;
}

Expected model_expect(Model *model, const GstVideoInfo *info, GstBuffer *frame, gboolean cuda) {
    const Output *output = model_output(model);
    const gchar *format = cuda ? output->cuda_format : output->format;
    Expected expected = {.info = format ? make_info(format, info->width, info->height) : *info};
    GstVideoFrame src, dst;
    gpv_image from, to;
    expected.image = output->pixels == pixels_new ? buffer_of_size(expected.info.size)
                                                  : gst_buffer_copy_deep(frame);
    fail_unless(gst_video_frame_map(&src, info, frame, GST_MAP_READ));
    fail_unless(gst_video_frame_map(&dst, &expected.info, expected.image, GST_MAP_READWRITE));
    from = described_image(&src);
    to = described_image(&dst);
    read_properties(model);
    expected.results =
        model->element->run(model, &from, output->pixels == pixels_kept ? NULL : &to, output);
    gst_video_frame_unmap(&dst);
    gst_video_frame_unmap(&src);
    return expected;
}

void expected_free(Expected *expected) {
    gst_buffer_unref(expected->image);
    gst_structure_free(expected->results);
}

/* ---- comparisons ---- */

static gchar *text_of(const GValue *value) {
    return value ? g_strdup_value_contents(value) : g_strdup("nothing");
}

/* Half of the last digit of a float below 1024, and the rest for sums in another order. */
static gboolean are_same_corners(const GValue *got, const GValue *expected) {
    static const gdouble rounding = 1e-4;
    gboolean same = gst_value_array_get_size(got) == 4;
    for (guint i = 0; same && i < 4; i++) {
        const GstStructure *a = gst_value_get_structure(gst_value_array_get_value(got, i));
        const GstStructure *b = gst_value_get_structure(gst_value_array_get_value(expected, i));
        same = gst_structure_has_name(a, "corner") &&
               fabs(double_field(a, "cx") - double_field(b, "cx")) < rounding &&
               fabs(double_field(a, "cy") - double_field(b, "cy")) < rounding;
    }
    return same;
}

static void assert_same_field(const gchar *name, const GValue *got, const GValue *expected) {
    gboolean same = got && expected && G_VALUE_TYPE(got) == G_VALUE_TYPE(expected);
    if (same && G_VALUE_HOLDS(expected, G_TYPE_BYTES))
        same = g_bytes_equal(g_value_get_boxed(got), g_value_get_boxed(expected));
    else if (same && g_str_equal(name, "corners"))
        same = are_same_corners(got, expected);
    else if (same)
        same = gst_value_compare(got, expected) == GST_VALUE_EQUAL;
    if (!same) {
        gchar *a = text_of(got), *b = text_of(expected);
        fail("%s: %s, but should be %s", name, a, b);
    }
}

/* Returns how many fields are no bytes. */
static gint assert_same_fields(const GstStructure *got, const GstStructure *expected,
                               gboolean bytes) {
    gint count = 0;
    fail_unless_equals_string(gst_structure_get_name(got), gst_structure_get_name(expected));
    for (gint i = 0; i < gst_structure_n_fields(expected); i++) {
        const gchar *name = gst_structure_nth_field_name(expected, (guint)i);
        const GValue *value = gst_structure_get_value(expected, name);
        const gboolean is_bytes = G_VALUE_HOLDS(value, G_TYPE_BYTES);
        if (bytes || !is_bytes)
            assert_same_field(name, gst_structure_get_value(got, name), value);
        count += !is_bytes;
    }
    return count;
}

void assert_same_results(const GstStructure *got, const GstStructure *expected) {
    assert_same_fields(got, expected, TRUE);
    fail_unless_equals_int(gst_structure_n_fields(got), gst_structure_n_fields(expected));
}

void assert_posted(const GstStructure *posted, const GstStructure *expected) {
    static const gchar *const times[] = {"timestamp", "stream-time", "running-time", "duration"};
    gint count = assert_same_fields(posted, expected, FALSE);
    for (guint i = 0; i < G_N_ELEMENTS(times); i++)
        count += gst_structure_has_field(posted, times[i]);
    fail_unless_equals_int(gst_structure_n_fields(posted), count);
}

void assert_regions(GstBuffer *frame, const GstStructure *results) {
    const gboolean described = gst_structure_has_field(results, "components");
    const guint count = described ? size_of(results, "components") : 0;
    gpointer state = NULL;
    fail_unless_equals_int(gst_buffer_get_n_meta(frame, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE),
                           count);
    for (guint i = 0; i < count; i++) {
        const GstStructure *component = structure_at(results, "components", i);
        const GstVideoRegionOfInterestMeta *region =
            (GstVideoRegionOfInterestMeta *)gst_buffer_iterate_meta_filtered(
                frame, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE);
        fail_unless(region->roi_type == g_quark_from_string("component"));
        fail_unless_equals_int(region->id, int_field(component, "label"));
        fail_unless_equals_int(region->x, int_field(component, "x"));
        fail_unless_equals_int(region->y, int_field(component, "y"));
        fail_unless_equals_int(region->w, int_field(component, "width"));
        fail_unless_equals_int(region->h, int_field(component, "height"));
    }
}

/* ---- an element and its model ---- */

Pair pair_with(const Element *element, GstElement *tested) {
    Pair pair = {.element = element, .h = harness_with(tested)};
    pair.bus = add_bus(pair.h->element);
    pair.beside = gst_element_factory_make(element->name, NULL);
    gst_object_ref_sink(pair.beside);
    pair.model = model_new(element, pair.beside);
    return pair;
}

Pair pair_new(const Element *element) {
    return pair_with(element, element_new(element->name, test_backend()));
}

void pair_free(Pair *pair) {
    model_free(pair->model);
    gst_object_unref(pair->beside);
    gst_object_unref(pair->bus);
    harness_free(pair->h);
}

void pair_set(Pair *pair, const gchar *property, const gchar *value) {
    gst_util_set_object_arg(G_OBJECT(pair->h->element), property, value);
    gst_util_set_object_arg(G_OBJECT(pair->beside), property, value);
}

void pair_set_output(Pair *pair, const Output *output) {
    if (pair->element->choice)
        pair_set(pair, pair->element->choice, output->name);
}

void pair_set_info(Pair *pair, const GstVideoInfo *info) {
    pair->info = *info;
    pair->fetch = NULL;
    set_info(pair->h, info);
}

/* In system memory. */
static GstBuffer *fetched(const Pair *pair, const GstVideoInfo *info, GstBuffer *there) {
    return pair->fetch ? pair->fetch(info, there) : gst_buffer_ref(there);
}

GstBuffer *pair_push_there(Pair *pair, GstBuffer *frame, GstBuffer *there, gboolean held) {
    const Pixels pixels = model_output(pair->model)->pixels;
    const gchar *name = pair->element->name;
    g_auto(Expected) expected = model_expect(pair->model, &pair->info, frame, pair->fetch != NULL);
    const GstBuffer *same = there;
    const GstMemory *memory = gst_buffer_peek_memory(there, 0);
    GstBuffer *out = push_and_pull(pair->h, held ? gst_buffer_ref(there) : there);
    g_autoptr(GstBuffer) got = fetched(pair, &expected.info, out);
    fail_unless((out == same) == (pixels != pixels_new && !held));
    fail_unless((gst_buffer_peek_memory(out, 0) == memory) ==
                (pixels == pixels_kept || (pixels == pixels_drawn && !held)));
    assert_output_caps(pair->h, &expected.info);
    assert_same(&expected.info, got, expected.image);
    assert_same_results(results_of(out, name), expected.results);
    assert_regions(out, expected.results);
    if (held) {
        g_autoptr(GstBuffer) after = fetched(pair, &pair->info, there);
        assert_same(&pair->info, after, frame);
        fail_unless(gst_buffer_get_custom_meta(there, name) == NULL);
        gst_buffer_unref(there);
    }
    pair->count++;
    return out;
}

GstBuffer *pair_push(Pair *pair, GstBuffer *frame, gboolean held) {
    g_autoptr(GstBuffer) before = gst_buffer_copy_deep(frame);
    return pair_push_there(pair, before, frame, held);
}

gint pair_check(Pair *pair, GstBuffer *frame) {
    g_autoptr(GstBuffer) out = pair_push(pair, frame, pair->count % 2);
    return int_field(results_of(out, pair->element->name), pair->element->measure);
}

const Crop crops[] = {{0, 0, 47, 39}, {1, 0, 20, 11}, {0, 1, 33, 30},
                      {7, 5, 37, 33}, {8, 6, 16, 16}, {46, 38, 1, 1}};

static gboolean is_packed(const GstVideoInfo *info) {
    const GstVideoFormat format = GST_VIDEO_INFO_FORMAT(info);
    return format == GST_VIDEO_FORMAT_YUY2 || format == GST_VIDEO_FORMAT_UYVY;
}

/* What videocrop copies: chroma begins with the site of the first pixel. What has luma and chroma
   in one plane begins with an even column. */
static void copy_part(const GstVideoInfo *whole, GstBuffer *frame, const GstVideoInfo *info,
                      GstBuffer *part, const Crop *crop, gboolean into) {
    GstVideoFrame from, to;
    fail_unless(gst_video_frame_map(&from, whole, frame, into ? GST_MAP_WRITE : GST_MAP_READ));
    fail_unless(gst_video_frame_map(&to, info, part, into ? GST_MAP_READ : GST_MAP_WRITE));
    for (guint p = 0; p < GST_VIDEO_FRAME_N_PLANES(&from); p++) {
        guint8 *data = GST_VIDEO_FRAME_PLANE_DATA(&from, p);
        const gsize stride = (gsize)GST_VIDEO_FRAME_PLANE_STRIDE(&from, p);
        gint components[GST_VIDEO_MAX_COMPONENTS], c;
        gsize bytes, rows;
        gst_video_format_info_component(info->finfo, p, components);
        c = components[0];
        data += (crop->y >> GST_VIDEO_FORMAT_INFO_H_SUB(info->finfo, c)) * stride;
        data += (gint)((is_packed(info) ? crop->x / 2 * 2 : crop->x) >>
                       GST_VIDEO_FORMAT_INFO_W_SUB(info->finfo, c)) *
                GST_VIDEO_FORMAT_INFO_PSTRIDE(info->finfo, c);
        plane_size(info, p, &bytes, &rows);
        for (gsize row = 0; row < rows; row++) {
            guint8 *there = (guint8 *)GST_VIDEO_FRAME_PLANE_DATA(&to, p) +
                            row * (gsize)GST_VIDEO_FRAME_PLANE_STRIDE(&to, p);
            memcpy(into ? data + row * stride : there, into ? there : data + row * stride, bytes);
        }
    }
    gst_video_frame_unmap(&to);
    gst_video_frame_unmap(&from);
}

static GstBuffer *cropped(const GstVideoInfo *whole, GstBuffer *frame, const GstVideoInfo *info,
                          const Crop *crop) {
    GstBuffer *buffer = buffer_of_size(info->size);
    copy_part(whole, frame, info, buffer, crop, FALSE);
    return buffer;
}

gboolean pair_check_crop(Pair *pair, const GstVideoInfo *whole, GstBuffer *frame, GstBuffer *there,
                         const Crop *crop) {
    const gboolean cuda = pair->fetch != NULL;
    const GstVideoInfo info = make_info(GST_VIDEO_INFO_NAME(whole), crop->width, crop->height);
    g_autoptr(GstBuffer) part = cropped(whole, frame, &info, crop), got = NULL, left = NULL;
    g_auto(Expected) expected = model_expect(pair->model, &info, part, cuda);
    gboolean stays;
    pair->info = info;
    gst_harness_set_src_caps(pair->h, cuda ? cuda_caps(&info) : gst_video_info_to_caps(&info));
    got = push_and_pull(pair->h, add_crop(there, crop));
    assert_output_caps(pair->h, &expected.info);
    stays = gst_buffer_get_video_crop_meta(got) != NULL;
    if (stays) {
        g_autoptr(GstBuffer) all = fetched(pair, whole, got);
        left = cropped(whole, all, &expected.info, crop);
    } else {
        left = fetched(pair, &expected.info, got);
    }
    assert_same(&expected.info, left, expected.image);
    assert_same_results(results_of(got, pair->element->name), expected.results);
    return stays;
}

/* Where the results of a region are in its frame. */
static GstStructure *shifted(const GstStructure *results, const Crop *region, gint id) {
    const gint x = (gint)region->x, y = (gint)region->y;
    GstStructure *moved = gst_structure_copy(results);
    const GValue *keypoints = gst_structure_get_value(moved, "keypoints");
    gst_structure_set_name(moved, "region");
    if (gst_structure_has_field(moved, "components")) {
        GValue array = G_VALUE_INIT;
        gst_value_array_init(&array, 0);
        for (guint i = 0; i < size_of(results, "components"); i++) {
            GstStructure *one = gst_structure_copy(structure_at(results, "components", i));
            gst_structure_set(one, "x", G_TYPE_INT, int_field(one, "x") + x, "y", G_TYPE_INT,
                              int_field(one, "y") + y, "cx", G_TYPE_DOUBLE,
                              double_field(one, "cx") + 0.5 + x - 0.5, "cy", G_TYPE_DOUBLE,
                              double_field(one, "cy") + 0.5 + y - 0.5, NULL);
            append_structure(&array, one);
        }
        gst_structure_take_value(moved, "components", &array);
    }
    if (keypoints) {
        gsize size;
        gconstpointer data = g_bytes_get_data(g_value_get_boxed(keypoints), &size);
        g_autofree gpv_sift_keypoint *copy = g_memdup2(data, size);
        for (gsize i = 0; i < size / sizeof *copy; i++) {
            copy[i].x = (gfloat)((gdouble)copy[i].x + x);
            copy[i].y = (gfloat)((gdouble)copy[i].y + y);
        }
        take_bytes(moved, "keypoints", copy, size);
    }
    gst_structure_set(moved, "type", G_TYPE_STRING, "part", "id", G_TYPE_INT, id, "x", G_TYPE_INT,
                      x, "y", G_TYPE_INT, y, "width", G_TYPE_INT, region->width, "height",
                      G_TYPE_INT, region->height, NULL);
    return moved;
}

/* As far as it is in the frame, and to whole samples of chroma. */
static Crop seen_of(const Crop *region, const GstVideoInfo *info) {
    const gint across = (1 << info->finfo->w_sub[1]) - 1, down = (1 << info->finfo->h_sub[1]) - 1;
    const gint right = (gint)region->x + region->width, below = (gint)region->y + region->height;
    Crop seen = {region->x & ~(guint)across, region->y & ~(guint)down, 0, 0};
    seen.width = MIN((right + across) & ~across, info->width) - (gint)seen.x;
    seen.height = MIN((below + down) & ~down, info->height) - (gint)seen.y;
    return seen;
}

/* What lies outside of regions, in the format of the output. */
static GstBuffer *without_regions(const GstVideoInfo *info, const Output *output,
                                  GstBuffer *frame) {
    const gboolean wide = GST_VIDEO_INFO_COMP_DEPTH(info, 0) > 8;
    GstBuffer *buffer;
    GstVideoFrame map;
    if (output->pixels != pixels_new || !output->format)
        return gst_buffer_copy_deep(frame);
    buffer = buffer_of_size(info->size);
    gst_buffer_memset(buffer, 0, 0, info->size);
    fail_unless(gst_video_frame_map(&map, info, buffer, GST_MAP_WRITE));
    if (GST_VIDEO_INFO_N_PLANES(info) > 1)
        for (gsize i = 0; i < info->size - GST_VIDEO_INFO_PLANE_OFFSET(info, 1); i++)
            ((guint8 *)GST_VIDEO_FRAME_PLANE_DATA(&map, 1))[i] = !wide || i % 2 ? 128 : 0;
    gst_video_frame_unmap(&map);
    return buffer;
}

/* Behind those that it came with, and numbered on. */
static void assert_components_are_regions(GstBuffer *frame, const GstStructure *results,
                                          guint before) {
    gpointer state = NULL;
    GstMeta *meta = NULL;
    gint highest = 0;
    for (guint i = 0; i < before; i++) {
        meta = gst_buffer_iterate_meta_filtered(frame, &state,
                                                GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE);
        highest = MAX(highest, ((const GstVideoRegionOfInterestMeta *)meta)->id);
    }
    for (guint i = 0; i < size_of(results, "regions"); i++) {
        const GstStructure *region = structure_at(results, "regions", i);
        for (guint k = 0;
             gst_structure_has_field(region, "components") && k < size_of(region, "components");
             k++) {
            const GstStructure *component = structure_at(region, "components", k);
            const GstVideoRegionOfInterestMeta *one;
            meta = gst_buffer_iterate_meta_filtered(frame, &state,
                                                    GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE);
            fail_unless(meta != NULL);
            one = (const GstVideoRegionOfInterestMeta *)meta;
            fail_unless_equals_int(one->id, ++highest);
            fail_unless_equals_int(one->parent_id, int_field(region, "id"));
            fail_unless_equals_int(one->x, int_field(component, "x"));
            fail_unless_equals_int(one->y, int_field(component, "y"));
        }
    }
    fail_if(gst_buffer_iterate_meta_filtered(frame, &state,
                                             GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE));
}

static gboolean overlap(const Crop *a, const Crop *b) {
    return a->x < b->x + (guint)b->width && b->x < a->x + (guint)a->width &&
           a->y < b->y + (guint)b->height && b->y < a->y + (guint)a->height;
}

void pair_check_regions(Pair *pair, GstBuffer *frame, GstBuffer *there, const Crop *regions,
                        guint count, gboolean anew) {
    const gboolean cuda = pair->fetch != NULL;
    const Output *output = model_output(pair->model);
    const gchar *format = cuda ? output->cuda_format : output->format;
    const GstVideoInfo *info = &pair->info;
    GstVideoInfo whole = format ? make_info(format, info->width, info->height) : *info;
    g_autoptr(GstBuffer) expected = without_regions(&whole, output, frame), out = NULL, got = NULL;
    g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func((GDestroyNotify)gst_structure_free);
    const GstStructure *results;
    for (guint i = 0; i < count; i++) {
        const Crop seen = seen_of(&regions[i], info);
        GstVideoInfo small = make_info(GST_VIDEO_INFO_NAME(info), seen.width, seen.height);
        g_autoptr(GstBuffer) part = cropped(info, frame, &small, &seen);
        g_auto(Expected) one = {0};
        gst_buffer_add_video_region_of_interest_meta(there, "part", regions[i].x, regions[i].y,
                                                     (guint)regions[i].width,
                                                     (guint)regions[i].height)
            ->id = 10 + (gint)i;
        if (anew)
            model_forget(pair->model);
        one = model_expect(pair->model, &small, part, cuda);
        copy_part(&whole, expected, &one.info, one.image, &seen, TRUE);
        g_ptr_array_add(found, shifted(one.results, &seen, 10 + (gint)i));
    }
    out = push_and_pull(pair->h, there);
    got = fetched(pair, &whole, out);
    results = results_of(out, pair->element->name);
    fail_unless_equals_int(size_of(results, "regions"), count);
    for (guint i = 0; i < count; i++)
        assert_same_results(structure_at(results, "regions", i), found->pdata[i]);
    if (output->pixels != pixels_drawn || count < 2 || !overlap(&regions[0], &regions[1]))
        assert_same(&whole, got, expected);
    assert_components_are_regions(
        out, results,
        count + (guint)gst_buffer_get_n_meta(frame, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE));
}

/* Stream time is 18 s ahead of timestamps, and running time 198 s. */
static void push_segment(GstHarness *h) {
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    segment.start = 2 * GST_SECOND;
    segment.time = 20 * GST_SECOND;
    segment.base = 200 * GST_SECOND;
    fail_unless(gst_harness_push_event(h, gst_event_new_segment(&segment)));
}

static void assert_times(const GstStructure *posted) {
    assert_time(posted, "timestamp", 3 * GST_SECOND);
    assert_time(posted, "stream-time", 21 * GST_SECOND);
    assert_time(posted, "running-time", 201 * GST_SECOND);
    assert_time(posted, "duration", GST_SECOND / 25);
}

void pair_check_wanted(Pair *pair, GstBuffer *frame, gboolean attach, gboolean post) {
    const gchar *name = pair->element->name;
    g_auto(Expected) expected = model_expect(pair->model, &pair->info, frame, FALSE);
    g_autoptr(GstMessage) message = NULL;
    g_autoptr(GstBuffer) out = NULL, copy = NULL, deep_copy = NULL;
    g_object_set(pair->h->element, "attach-meta", attach, "post-messages", post, NULL);
    push_segment(pair->h);
    GST_BUFFER_PTS(frame) = 3 * GST_SECOND;
    out = push_and_pull(pair->h, frame);
    assert_same(&expected.info, out, expected.image);
    message = gst_bus_pop_filtered(pair->bus, GST_MESSAGE_ELEMENT);
    fail_unless_equals_int(message != NULL, post);
    if (post) {
        assert_posted(gst_message_get_structure(message), expected.results);
        assert_times(gst_message_get_structure(message));
    }
    copy = gst_buffer_copy(out);
    deep_copy = gst_buffer_copy_deep(out);
    for (guint i = 0; i < 3; i++) {
        GstBuffer *buffer = i == 0 ? out : i == 1 ? copy : deep_copy;
        fail_unless_equals_int(gst_buffer_get_custom_meta(buffer, name) != NULL, attach);
        if (attach)
            assert_same_results(results_of(buffer, name), expected.results);
        if (attach)
            assert_regions(buffer, expected.results);
        else
            fail_if(gst_buffer_get_meta(buffer, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE));
    }
}

void pair_assert_refused(Pair *pair, const gchar *property, const gchar *value, gint code, ...) {
    g_autofree gchar *text = NULL;
    const gchar *words = value ? value : "NULL";
    va_list more;
    g_object_set(pair->h->element, property, value, NULL);
    fail_unless_equals_int(gst_harness_push(pair->h, random_frame(&pair->info)), GST_FLOW_ERROR);
    text = error_on(pair->bus, GST_RESOURCE_ERROR, code);
    va_start(more, code);
    for (; words; words = va_arg(more, const gchar *))
        fail_unless(strstr(text, words) != NULL, "\"%s\" does not say \"%s\"", text, words);
    va_end(more);
    fail_unless(gst_bus_pop_filtered(pair->bus, GST_MESSAGE_ERROR) == NULL, "one is enough");
}

void pair_check_bad_pictures(Pair *pair, const gchar *property) {
    static const gchar *const texts[] = {"This is no picture, but a text.\n", "",
                                         "P5\n40 30\n255\nshort"};
    const gint code = GST_RESOURCE_ERROR_OPEN_READ;
    g_auto(File) file = file_new("picture.txt");
    g_auto(Plane) wide = plane_new(32768, 1);
    pair_assert_refused(pair, property, file.path, code, "no such file", NULL);
    pair_assert_refused(pair, property, file.folder, code, "no such file", NULL);
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
        fail_unless(g_file_set_contents(file.path, texts[i], -1, NULL));
        pair_assert_refused(pair, property, file.path, code, "cannot be read", NULL);
    }
    write_picture(&file, &wide, 1);
    pair_assert_refused(pair, property, file.path, code, "cannot be read", NULL);
}

/* ---- frames ---- */

GstBuffer *busy_frame(const GstVideoInfo *info, gboolean is_padded) {
    GstBuffer *buffer = is_padded ? random_padded_frame(info) : random_frame(info);
    GstVideoFrame frame;
    fail_unless(gst_video_frame_map(&frame, info, buffer, GST_MAP_READWRITE));
    for (gint square = 0; square < 40; square++) {
        const gint side = 4 + square * 2, bytes = GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0);
        const gint left = g_random_int_range(0, bytes), top = g_random_int_range(0, info->height);
        const guint8 value = (guint8)g_random_int();
        for (gint y = top; y < MIN(top + side, info->height); y++)
            memset((guint8 *)GST_VIDEO_FRAME_PLANE_DATA(&frame, 0) + y * bytes + left, value,
                   (gsize)MIN(side, bytes - left));
    }
    gst_video_frame_unmap(&frame);
    return buffer;
}

guint8 squares(gint x, gint y, gint seed) {
    guint32 hash = (guint32)(x / 6 * 7919 + y / 6 * 104729 + seed * 1299709);
    hash = (hash ^ hash >> 15) * 0x2c1b3c6dU;
    hash = (hash ^ hash >> 12) * 0x297a2d39U;
    return (guint8)(hash >> 24);
}
