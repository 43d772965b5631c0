/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints what the elements of gpuvision have found in each frame, which an application reads from
   the metadata of the buffers that it pulls out of a pipeline. */
#include <gpuvision/sift.h>
#include <gst/app/gstappsink.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include <stdio.h>
#include <stdlib.h>

static const char *const default_pipeline =
    "videotestsrc num-buffers=3 pattern=ball ! gpuccl output=none ! gpusift "
    "! gpugraphcut output=none";

static const GstStructure *results_of(GstBuffer *buffer, const char *element) {
    GstCustomMeta *meta = gst_buffer_get_custom_meta(buffer, element);
    return meta ? gst_custom_meta_get_structure(meta) : NULL;
}

static int int_of(const GstStructure *results, const char *name) {
    int value = 0;
    gst_structure_get_int(results, name, &value);
    return value;
}

/* Of at most max-components of them; the count is that of all. */
static void print_components(const GstStructure *results) {
    const GValue *list = gst_structure_get_value(results, "components");
    printf("  components %d", int_of(results, "count"));
    for (guint i = 0; i < gst_value_array_get_size(list); i++) {
        const GstStructure *component = gst_value_get_structure(gst_value_array_get_value(list, i));
        double cx = 0, cy = 0;
        gst_structure_get(component, "cx", G_TYPE_DOUBLE, &cx, "cy", G_TYPE_DOUBLE, &cy, NULL);
        printf(" [%d pixels at %.1f,%.1f]", int_of(component, "area"), cx, cy);
    }
}

/* Records of gpv_sift_keypoint, the strongest first. */
static void print_keypoints(const GstStructure *results) {
    const GValue *value = gst_structure_get_value(results, "keypoints");
    gsize size = 0;
    const gpv_sift_keypoint *keypoints = g_bytes_get_data(g_value_get_boxed(value), &size);
    const gsize count = size / sizeof *keypoints;
    printf("  keypoints %d", (int)count);
    if (count > 0)
        printf(" [strongest at %.1f,%.1f, sigma %.1f, angle %.0f]", keypoints->x, keypoints->y,
               keypoints->sigma, keypoints->angle);
}

static void print_clusters(const GstStructure *results) {
    const GValue *colors = gst_structure_get_value(results, "centroids");
    printf("  clusters");
    for (guint i = 0; i < gst_value_array_get_size(colors); i++)
        printf(" #%06x", (unsigned)g_value_get_int(gst_value_array_get_value(colors, i)));
}

static void print_foreground(const GstStructure *results) {
    printf("  foreground %d pixels", int_of(results, "area"));
}

static void print_operation(const GstStructure *results) {
    printf("  %s", gst_structure_get_string(results, "operation"));
}

static const struct {
    const char *element;
    void (*print)(const GstStructure *results);
} printers[] = {{"gpuerode", print_operation},
                {"gpukmeans", print_clusters},
                {"gpuccl", print_components},
                {"gpusift", print_keypoints},
                {"gpugraphcut", print_foreground}};

/* Which elements that know nothing of gpuvision read and write, too. */
static void print_regions(GstBuffer *buffer) {
    gpointer state = NULL;
    GstMeta *meta;
    while ((meta = gst_buffer_iterate_meta_filtered(buffer, &state,
                                                    GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))) {
        const GstVideoRegionOfInterestMeta *region = (GstVideoRegionOfInterestMeta *)meta;
        printf("  %s %d: %ux%u+%u+%u", g_quark_to_string(region->roi_type), region->id, region->w,
               region->h, region->x, region->y);
    }
}

static void print_frame(GstBuffer *buffer) {
    printf("%" GST_TIME_FORMAT, GST_TIME_ARGS(GST_BUFFER_PTS(buffer)));
    for (guint i = 0; i < G_N_ELEMENTS(printers); i++) {
        const GstStructure *results = results_of(buffer, printers[i].element);
        if (results)
            printers[i].print(results);
    }
    print_regions(buffer);
    printf("\n");
}

/* The pipeline with an appsink behind it, or NULL where that cannot be made. */
static GstElement *make_pipeline(const char *description, GstElement **sink) {
    GError *error = NULL;
    char *whole = g_strdup_printf("%s ! appsink name=gpuvision-results sync=false", description);
    GstElement *pipeline = gst_parse_launch_full(whole, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);
    g_free(whole);
    if (error) {
        fprintf(stderr, "appsink: pipeline: %s\n", error->message);
        g_error_free(error);
        return NULL;
    }
    *sink = gst_bin_get_by_name(GST_BIN(pipeline), "gpuvision-results");
    return pipeline;
}

/* Whether the bus has an error, which it then prints. */
static gboolean has_failed(GstElement *pipeline) {
    GstBus *bus = gst_element_get_bus(pipeline);
    GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
    GError *error = NULL;
    char *debug = NULL;
    gst_object_unref(bus);
    if (!message)
        return FALSE;
    gst_message_parse_error(message, &error, &debug);
    fprintf(stderr, "appsink: %s: %s (%s)\n", GST_MESSAGE_SRC_NAME(message), error->message,
            debug ? debug : "");
    g_error_free(error);
    g_free(debug);
    gst_message_unref(message);
    return TRUE;
}

/* Prints frames until the stream ends; FALSE if it fails. */
static gboolean print_frames(GstElement *pipeline, GstAppSink *sink) {
    while (!has_failed(pipeline)) {
        GstSample *sample = gst_app_sink_try_pull_sample(sink, GST_SECOND / 10);
        if (!sample && gst_app_sink_is_eos(sink))
            return !has_failed(pipeline);
        if (sample) {
            print_frame(gst_sample_get_buffer(sample));
            gst_sample_unref(sample);
        }
    }
    return FALSE;
}

int main(int argc, char **argv) {
    GstElement *pipeline, *sink = NULL;
    gst_init(&argc, &argv);
    if (argc > 2) {
        fprintf(stderr, "usage: appsink [PIPELINE], in one word, as for gst-launch-1.0, without a "
                        "sink\n");
        return 2;
    }
    pipeline = make_pipeline(argc > 1 ? argv[1] : default_pipeline, &sink);
    if (!pipeline)
        return EXIT_FAILURE;
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    const gboolean well = print_frames(pipeline, GST_APP_SINK(sink));
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(sink);
    gst_object_unref(pipeline);
    return well ? EXIT_SUCCESS : EXIT_FAILURE;
}
