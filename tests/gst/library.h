/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library in the place of a chain of all five elements: it is called, through its C interface,
 * on the very frames that the elements are given, one after the other, and what it makes of each is
 * compared with what comes out, in every byte and every field of the results.
 */
#ifndef TESTS_GST_LIBRARY_H
#define TESTS_GST_LIBRARY_H

#include "helpers.h"

/* What the elements are set to, but for what stage_texts() says. */
typedef struct {
    const gchar *overlay;    /* of gpusift */
    const gchar *components; /* output of gpuccl */
    const gchar *cut;        /* output of gpugraphcut */
    gboolean warm;           /* whether gpukmeans and gpugraphcut go on from the frame before */
} ChainLook;

typedef struct {
    gpv_context *context;
    gpv_erode *erode;
    gpv_kmeans_params kmeans_params;
    gpv_kmeans *kmeans;
    gpv_sift *sift;
    gpv_ccl *ccl;
    gpv_segment *segment;
} Library;

enum { erode_radius = 1, kmeans_clusters = 6, ccl_threshold = 90, max_components = 256 };

/* ---- the library's side ---- */

static inline Library *library_new(const ChainLook *look, const gchar *backend) {
    Library *library = g_new0(Library, 1);
    gpv_context_params context;
    gpv_erode_params erode;
    gpv_kmeans_params kmeans;
    gpv_sift_params sift;
    gpv_ccl_params ccl;
    gpv_segment_params segment;
    gpv_context_params_init(&context, sizeof context);
    context.backend = g_str_equal(backend, "cuda") ? GPV_BACKEND_CUDA : GPV_BACKEND_CPU;
    gpv_erode_params_init(&erode, sizeof erode);
    erode.radius = erode_radius;
    gpv_kmeans_params_init(&kmeans, sizeof kmeans);
    kmeans.clusters = kmeans_clusters;
    kmeans.warm_start = look->warm ? 1 : 0;
    gpv_sift_params_init(&sift, sizeof sift);
    sift.max_features = 2000;
    gpv_ccl_params_init(&ccl, sizeof ccl);
    ccl.threshold = ccl_threshold;
    ccl.output =
        g_str_equal(look->components, "colorize") ? GPV_CCL_OUTPUT_COLORS : GPV_CCL_OUTPUT_LABELS;
    gpv_segment_params_init(&segment, sizeof segment);
    segment.warm_start = look->warm ? GPV_SEGMENT_WARM_START_ADAPT : GPV_SEGMENT_WARM_START_NONE;
    segment.output =
        g_str_equal(look->cut, "cutout") ? GPV_SEGMENT_OUTPUT_CUTOUT : GPV_SEGMENT_OUTPUT_OVERLAY;
    fail_unless_equals_int(gpv_context_create(&context, &library->context), GPV_OK);
    fail_unless_equals_int(gpv_erode_create(library->context, &erode, &library->erode), GPV_OK);
    library->kmeans_params = kmeans;
    fail_unless_equals_int(gpv_kmeans_create(library->context, &kmeans, &library->kmeans), GPV_OK);
    fail_unless_equals_int(gpv_sift_create(library->context, &sift, &library->sift), GPV_OK);
    fail_unless_equals_int(gpv_ccl_create(library->context, &ccl, &library->ccl), GPV_OK);
    fail_unless_equals_int(gpv_segment_create(library->context, &segment, &library->segment),
                           GPV_OK);
    return library;
}

static inline void library_free(Library *library) {
    gpv_segment_destroy(&library->segment);
    gpv_ccl_destroy(&library->ccl);
    gpv_sift_destroy(&library->sift);
    gpv_kmeans_destroy(&library->kmeans);
    gpv_erode_destroy(&library->erode);
    gpv_context_destroy(&library->context);
    g_free(library);
}

/* What the element drops where a stream starts, and after a flush. */
static inline void library_forget(Library *library, const gchar *stage) {
    if (g_str_equal(stage, "gpugraphcut"))
        fail_unless_equals_int(gpv_segment_forget(library->segment), GPV_OK);
    if (g_str_equal(stage, "gpukmeans")) {
        gpv_kmeans_destroy(&library->kmeans);
        fail_unless_equals_int(
            gpv_kmeans_create(library->context, &library->kmeans_params, &library->kmeans), GPV_OK);
    }
}

static inline GstStructure *erode_frame(Library *library, G_GNUC_UNUSED const ChainLook *look,
                                        const gpv_image *src, const gpv_image *dst) {
    fail_unless_equals_int(gpv_erode_run(library->erode, NULL, src, dst), GPV_OK);
    fail_unless_equals_int(gpv_erode_wait(library->erode), GPV_OK);
    return gst_structure_new("gpuerode", "operation", G_TYPE_STRING, "erode", "shape",
                             G_TYPE_STRING, "rect", "radius", G_TYPE_INT, erode_radius, "radius-y",
                             G_TYPE_INT, erode_radius, "iterations", G_TYPE_INT, 1, "threshold",
                             G_TYPE_INT, 0, NULL);
}

static inline void append_int(GValue *array, gint number) {
    GValue value = G_VALUE_INIT;
    g_value_init(&value, G_TYPE_INT);
    g_value_set_int(&value, number);
    gst_value_array_append_and_take_value(array, &value);
}

static inline GstStructure *kmeans_frame(Library *library, G_GNUC_UNUSED const ChainLook *look,
                                         const gpv_image *src, const gpv_image *dst) {
    gfloat centroids[kmeans_clusters][3];
    gint32 counts[kmeans_clusters];
    const gpv_buffer to_centroids = buffer_for(centroids, sizeof centroids);
    const gpv_buffer to_counts = buffer_for(counts, sizeof counts);
    GValue colors = G_VALUE_INIT, pixels = G_VALUE_INIT;
    gpv_kmeans_result found;
    GstStructure *results;
    fail_unless_equals_int(
        gpv_kmeans_run(library->kmeans, NULL, src, NULL, dst, &to_centroids, &to_counts, NULL),
        GPV_OK);
    gpv_kmeans_result_init(&found, sizeof found);
    fail_unless_equals_int(gpv_kmeans_wait(library->kmeans, &found), GPV_OK);
    gst_value_array_init(&colors, kmeans_clusters);
    gst_value_array_init(&pixels, kmeans_clusters);
    for (gint i = 0; i < found.clusters; i++) {
        append_int(&colors, (gint)gpv_kmeans_color(GPV_KMEANS_COLOR_SPACE_RGB, centroids[i]));
        append_int(&pixels, counts[i]);
    }
    results = gst_structure_new("gpukmeans", "clusters", G_TYPE_INT, found.clusters, "inertia",
                                G_TYPE_DOUBLE, found.inertia, "iterations", G_TYPE_INT,
                                found.iterations, NULL);
    gst_structure_take_value(results, "centroids", &colors);
    gst_structure_take_value(results, "counts", &pixels);
    return results;
}

static inline void take_bytes(GstStructure *results, const gchar *name, gpointer data, gsize size) {
    GValue value = G_VALUE_INIT;
    g_value_init(&value, G_TYPE_BYTES);
    g_value_take_boxed(&value, g_bytes_new_take(data, size));
    gst_structure_take_value(results, name, &value);
}

/* Draws into what is there, which is the frame. */
static inline GstStructure *sift_frame(Library *library, const ChainLook *look,
                                       const gpv_image *src, const gpv_image *dst) {
    enum { room = 2000 };
    gpv_sift_keypoint *keypoints = g_new0(gpv_sift_keypoint, room);
    guint8 *descriptors = g_malloc0(room * GPV_SIFT_DESCRIPTOR_LENGTH);
    const gpv_buffer to_keypoints = buffer_for(keypoints, room * sizeof *keypoints);
    const gpv_buffer to_descriptors = buffer_for(descriptors, room * GPV_SIFT_DESCRIPTOR_LENGTH);
    gpv_sift_result found;
    GstStructure *results;
    gpv_status status;
    fail_unless_equals_int(
        gpv_sift_run(library->sift, NULL, src, NULL, &to_keypoints, 0, &to_descriptors, NULL),
        GPV_OK);
    if (dst)
        fail_unless_equals_int(gpv_draw_keypoints(library->sift, NULL, dst,
                                                  g_str_equal(look->overlay, "rich")
                                                      ? GPV_DRAW_STYLE_RICH
                                                      : GPV_DRAW_STYLE_POINTS,
                                                  0x00ff00),
                               GPV_OK);
    gpv_sift_result_init(&found, sizeof found);
    status = gpv_sift_wait(library->sift, &found);
    fail_unless(status == GPV_OK || (status == GPV_ERR_TOO_SMALL && found.count == 0));
    results = gst_structure_new("gpusift", "count", G_TYPE_INT, found.count, "dropped", G_TYPE_INT,
                                found.dropped, NULL);
    take_bytes(results, "keypoints", keypoints, (gsize)found.count * sizeof *keypoints);
    take_bytes(results, "descriptors", descriptors,
               (gsize)found.count * GPV_SIFT_DESCRIPTOR_LENGTH);
    return results;
}

static inline void append_component(GValue *array, const gpv_ccl_component *found, gint label) {
    const gdouble area = found->area;
    GValue value = G_VALUE_INIT;
    g_value_init(&value, GST_TYPE_STRUCTURE);
    g_value_take_boxed(
        &value, gst_structure_new("component", "label", G_TYPE_INT, label, "area", G_TYPE_INT,
                                  found->area, "x", G_TYPE_INT, found->left, "y", G_TYPE_INT,
                                  found->top, "width", G_TYPE_INT, found->right - found->left,
                                  "height", G_TYPE_INT, found->bottom - found->top, "cx",
                                  G_TYPE_DOUBLE, (gdouble)found->sum_x / area, "cy", G_TYPE_DOUBLE,
                                  (gdouble)found->sum_y / area, NULL));
    gst_value_array_append_and_take_value(array, &value);
}

static inline GstStructure *ccl_frame(Library *library, G_GNUC_UNUSED const ChainLook *look,
                                      const gpv_image *src, const gpv_image *dst) {
    gpv_ccl_component *components = g_new0(gpv_ccl_component, max_components);
    const gpv_buffer to = buffer_for(components, max_components * sizeof *components);
    GValue array = G_VALUE_INIT;
    gpv_ccl_result found;
    GstStructure *results;
    gpv_status status;
    fail_unless_equals_int(gpv_ccl_run(library->ccl, NULL, src, dst, &to, 0, NULL), GPV_OK);
    gpv_ccl_result_init(&found, sizeof found);
    status = gpv_ccl_wait(library->ccl, &found);
    fail_unless(status == GPV_OK || (status == GPV_ERR_TOO_SMALL && found.count > max_components));
    gst_value_array_init(&array, (guint)found.components);
    for (gint i = 0; i < found.components; i++)
        append_component(&array, &components[i], i + 1);
    results = gst_structure_new("gpuccl", "count", G_TYPE_INT, found.count, NULL);
    gst_structure_take_value(results, "components", &array);
    g_free(components);
    return results;
}

static inline GstStructure *cut_frame(Library *library, G_GNUC_UNUSED const ChainLook *look,
                                      const gpv_image *src, const gpv_image *dst) {
    gpv_graphcut_result found;
    fail_unless_equals_int(
        gpv_segment_run(library->segment, NULL, src, NULL, NULL, NULL, dst, NULL), GPV_OK);
    gpv_graphcut_result_init(&found, sizeof found);
    fail_unless_equals_int(gpv_segment_wait(library->segment, &found), GPV_OK);
    return gst_structure_new("gpugraphcut", "flow", G_TYPE_INT64, found.flow, "area", G_TYPE_INT,
                             (gint)found.area, "optimal", G_TYPE_BOOLEAN, found.optimal != 0, NULL);
}

/* ---- the elements' side ---- */

typedef enum { pixels_new, pixels_drawn, pixels_kept } Pixels;

static const struct {
    const gchar *name;
    GstStructure *(*run)(Library *, const ChainLook *, const gpv_image *src, const gpv_image *dst);
    const gchar *measure; /* of the results, a number that is small where there is little to see */
} stages[] = {{"gpuerode", erode_frame, "radius"},
              {"gpukmeans", kmeans_frame, "clusters"},
              {"gpusift", sift_frame, "count"},
              {"gpuccl", ccl_frame, "count"},
              {"gpugraphcut", cut_frame, "area"}};

enum { stage_count = G_N_ELEMENTS(stages) };

/* Of gst-launch, with elements that have the names of their factories. */
static inline gchar *chain_text(const ChainLook *look, const gchar *backend, const gchar *common) {
    const gchar *warm = look->warm ? "true" : "false";
    return g_strdup_printf("gpuerode name=gpuerode radius=%d backend=%s %s ! "
                           "gpukmeans name=gpukmeans clusters=%d warm-start=%s backend=%s %s ! "
                           "gpusift name=gpusift overlay=%s backend=%s %s ! "
                           "gpuccl name=gpuccl threshold=%d output=%s backend=%s %s ! "
                           "gpugraphcut name=gpugraphcut output=%s warm-start=%s backend=%s %s",
                           erode_radius, backend, common, kmeans_clusters, warm, backend, common,
                           look->overlay, backend, common, ccl_threshold, look->components, backend,
                           common, look->cut, warm, backend, common);
}

static inline Pixels pixels_of(const gchar *stage, const ChainLook *look) {
    if (g_str_equal(stage, "gpusift"))
        return g_str_equal(look->overlay, "none") ? pixels_kept : pixels_drawn;
    if (g_str_equal(stage, "gpuccl"))
        return g_str_equal(look->components, "none") ? pixels_kept : pixels_new;
    return pixels_new;
}

/* What an element was given, and what comes out of it. One thread runs the whole chain. */
typedef struct {
    guint stage;
    const ChainLook *look;
    Library *model;
    GstVideoInfo in_info;
    GstBuffer *in; /* in system memory, or NULL */
    guint given, compared;
    gint maximum; /* greatest measure so far */
} Watch;

typedef struct {
    Watch stages[stage_count];
    Library *library;
    ChainLook look;
} ChainWatch;

static inline GstVideoInfo info_of(GstPad *pad) {
    GstCaps *caps = gst_pad_get_current_caps(pad);
    GstVideoInfo info;
    fail_unless(gst_video_info_from_caps(&info, caps));
    gst_caps_unref(caps);
    return info;
}

/* As the element describes it: with the colorimetry of its caps. */
static inline gpv_image described_image(const GstVideoFrame *frame) {
    gpv_image image = library_image(frame);
    switch (frame->info.colorimetry.matrix) {
    case GST_VIDEO_COLOR_MATRIX_BT601:
        image.color_matrix = GPV_COLOR_MATRIX_BT601;
        break;
    case GST_VIDEO_COLOR_MATRIX_BT709:
        image.color_matrix = GPV_COLOR_MATRIX_BT709;
        break;
    case GST_VIDEO_COLOR_MATRIX_BT2020:
        image.color_matrix = GPV_COLOR_MATRIX_BT2020;
        break;
    default:
        image.color_matrix = GPV_COLOR_MATRIX_AUTO;
    }
    image.color_range = frame->info.colorimetry.range == GST_VIDEO_COLOR_RANGE_0_255
                            ? GPV_COLOR_RANGE_FULL
                            : GPV_COLOR_RANGE_AUTO;
    return image;
}

/* In system memory, wherever the frame is. */
static inline GstBuffer *host_copy(const GstVideoInfo *info, GstBuffer *frame) {
    GstBuffer *copy = buffer_of_size(info->size);
    copy_mapped(info, frame, copy);
    return copy;
}

static inline gchar *text_of(const GValue *value) {
    return value ? g_strdup_value_contents(value) : g_strdup("nothing");
}

static inline void assert_same_field(const gchar *name, const GValue *got, const GValue *expected) {
    const gboolean bytes = expected && got && G_VALUE_HOLDS(expected, G_TYPE_BYTES) &&
                           G_VALUE_HOLDS(got, G_TYPE_BYTES);
    gboolean same;
    if (bytes)
        same = g_bytes_equal(g_value_get_boxed(got), g_value_get_boxed(expected));
    else
        same = got && expected && gst_value_compare(got, expected) == GST_VALUE_EQUAL;
    if (!same) {
        gchar *a = text_of(got), *b = text_of(expected);
        fail("%s: %s, but the library says %s", name, a, b);
    }
}

static inline void assert_same_results(const GstStructure *got, const GstStructure *expected) {
    fail_unless_equals_string(gst_structure_get_name(got), gst_structure_get_name(expected));
    fail_unless_equals_int(gst_structure_n_fields(got), gst_structure_n_fields(expected));
    for (gint i = 0; i < gst_structure_n_fields(expected); i++) {
        const gchar *name = gst_structure_nth_field_name(expected, (guint)i);
        assert_same_field(name, gst_structure_get_value(got, name),
                          gst_structure_get_value(expected, name));
    }
}

static inline void compare(Watch *watch, const GstVideoInfo *out_info, GstBuffer *out) {
    const gchar *name = stages[watch->stage].name;
    const Pixels pixels = pixels_of(name, watch->look);
    GstBuffer *image =
        pixels == pixels_new ? buffer_of_size(out_info->size) : gst_buffer_copy_deep(watch->in);
    GstBuffer *got = host_copy(out_info, out);
    GstStructure *expected;
    GstVideoFrame src, dst;
    gpv_image from, to;
    fail_unless(gst_video_frame_map(&src, &watch->in_info, watch->in, GST_MAP_READ));
    fail_unless(gst_video_frame_map(&dst, out_info, image, GST_MAP_READWRITE));
    from = described_image(&src);
    to = described_image(&dst);
    expected = stages[watch->stage].run(watch->model, watch->look, &from,
                                        pixels == pixels_kept ? NULL : &to);
    gst_video_frame_unmap(&dst);
    gst_video_frame_unmap(&src);
    assert_same(out_info, got, image);
    assert_same_results(results_of(out, name), expected);
    watch->maximum = MAX(watch->maximum, int_field(expected, stages[watch->stage].measure));
    watch->compared++;
    gst_structure_free(expected);
    gst_buffer_unref(got);
    gst_buffer_unref(image);
}

static inline GstPadProbeReturn keep_input(GstPad *pad, GstPadProbeInfo *probe, gpointer user) {
    Watch *watch = user;
    watch->in_info = info_of(pad);
    gst_clear_buffer(&watch->in);
    watch->in = host_copy(&watch->in_info, GST_PAD_PROBE_INFO_BUFFER(probe));
    watch->given++;
    return GST_PAD_PROBE_OK;
}

static inline GstPadProbeReturn forget(G_GNUC_UNUSED GstPad *pad, GstPadProbeInfo *probe,
                                       gpointer user) {
    const Watch *watch = user;
    const GstEventType type = GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(probe));
    if (type == GST_EVENT_STREAM_START || type == GST_EVENT_FLUSH_STOP)
        library_forget(watch->model, stages[watch->stage].name);
    return GST_PAD_PROBE_OK;
}

static inline GstPadProbeReturn compare_output(GstPad *pad, GstPadProbeInfo *probe, gpointer user) {
    const GstVideoInfo info = info_of(pad);
    compare(user, &info, GST_PAD_PROBE_INFO_BUFFER(probe));
    return GST_PAD_PROBE_OK;
}

static inline void probe_pad(GstElement *element, const gchar *name, GstPadProbeType type,
                             GstPadProbeCallback callback, gpointer user) {
    GstPad *pad = gst_element_get_static_pad(element, name);
    gst_pad_add_probe(pad, type, callback, user, NULL);
    gst_object_unref(pad);
}

/* Watches the elements of a bin that chain_text() describes. */
static inline ChainWatch *chain_watch_new(GstElement *bin, const ChainLook *look,
                                          const gchar *backend) {
    ChainWatch *chain = g_new0(ChainWatch, 1);
    chain->look = *look;
    chain->library = library_new(look, backend);
    for (guint i = 0; i < stage_count; i++) {
        GstElement *element = gst_bin_get_by_name(GST_BIN(bin), stages[i].name);
        Watch *watch = &chain->stages[i];
        watch->stage = i;
        watch->look = &chain->look;
        watch->model = chain->library;
        probe_pad(element, "sink", GST_PAD_PROBE_TYPE_BUFFER, keep_input, watch);
        probe_pad(element, "sink",
                  GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM | GST_PAD_PROBE_TYPE_EVENT_FLUSH, forget,
                  watch);
        probe_pad(element, "src", GST_PAD_PROBE_TYPE_BUFFER, compare_output, watch);
        gst_object_unref(element);
    }
    return chain;
}

/* The elements have begun anew. */
static inline void chain_watch_restart(ChainWatch *chain, const gchar *backend) {
    library_free(chain->library);
    chain->library = library_new(&chain->look, backend);
    for (guint i = 0; i < stage_count; i++)
        chain->stages[i].model = chain->library;
}

/* That each element was given so many frames, and each of them was compared. */
static inline void assert_watched(const ChainWatch *chain, guint frames) {
    for (guint i = 0; i < stage_count; i++) {
        fail_unless_equals_int(chain->stages[i].given, frames);
        fail_unless_equals_int(chain->stages[i].compared, frames);
    }
}

/* The greatest measures so far, with those of one more frame that comes out of the chain. */
static inline void note_measures(gint maximum[stage_count], GstBuffer *frame) {
    for (guint i = 0; i < stage_count; i++)
        maximum[i] =
            MAX(maximum[i], int_field(results_of(frame, stages[i].name), stages[i].measure));
}

/* That there was something to find. */
static inline void assert_measures(const gint maximum[stage_count]) {
    static const gint minimum[stage_count] = {erode_radius, kmeans_clusters, 10, 3, 100};
    for (guint i = 0; i < stage_count; i++)
        fail_unless(maximum[i] >= minimum[i], "%s: %s was %d at most", stages[i].name,
                    stages[i].measure, maximum[i]);
}

static inline void assert_something_was_found(const ChainWatch *chain) {
    gint maximum[stage_count];
    for (guint i = 0; i < stage_count; i++)
        maximum[i] = chain->stages[i].maximum;
    assert_measures(maximum);
}

/* Once nothing runs any more. */
static inline void chain_watch_free(ChainWatch *chain) {
    for (guint i = 0; i < stage_count; i++)
        gst_clear_buffer(&chain->stages[i].in);
    library_free(chain->library);
    g_free(chain);
}

#endif
