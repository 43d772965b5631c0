/* SPDX-License-Identifier: BSD-2-Clause */
/* What the benchmarks of the elements share: figures, frames, and pipelines for them. */
#ifndef TESTS_GST_BENCH_H
#define TESTS_GST_BENCH_H

#include <gst/gst.h>
#include <gst/video/video.h>

#include <string.h>

#include "scene.h"

#define BUFFERS 8

/* Properties as they are but for the number of clusters, and for what says where the object is. */
typedef struct {
    const gchar *name, *description;
    gboolean cuts; /* its frames have an object to cut out */
} Subject;

static const Subject subjects[] = {
    {"gpuerode", "gpuerode", FALSE},
    {"gpuccl", "gpuccl", FALSE},
    {"gpukmeans", "gpukmeans clusters=16", FALSE},
    {"gpusift", "gpusift", FALSE},
    {"gpugraphcut", "gpugraphcut", TRUE},
    {"all five",
     "gpuerode ! gpusift ! gpuccl output=none ! gpugraphcut output=none ! gpukmeans clusters=16",
     TRUE},
};

/* ---- figures ---- */

static inline gint compare(gconstpointer a, gconstpointer b) {
    const gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;
    return (x > y) - (x < y);
}

/* The parts of the values, one after the other; none where there are no values. */
static inline void quantiles(GArray *values, const gdouble *parts, guint n, gdouble *to) {
    g_array_sort(values, compare);
    for (guint i = 0; i < n && values->len > 0; i++) {
        const gdouble place = parts[i] * (gdouble)(values->len - 1);
        const guint below = (guint)place, above = MIN(below + 1, values->len - 1);
        const gdouble low = g_array_index(values, gdouble, below);
        to[i] = low + (place - below) * (g_array_index(values, gdouble, above) - low);
    }
}

static inline GArray *new_values(void) {
    return g_array_new(FALSE, FALSE, sizeof(gdouble));
}

static inline gdouble now(void) {
    return (gdouble)g_get_monotonic_time() / G_USEC_PER_SEC;
}

static inline gchar *text_of(GstMessage *message) {
    g_autoptr(GError) error = NULL;
    gst_message_parse_error(message, &error, NULL);
    return g_strdup(error->message);
}

static inline gchar *error_of(GstElement *pipeline) {
    g_autoptr(GstBus) bus = gst_element_get_bus(pipeline);
    g_autoptr(GstMessage) message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
    return message ? text_of(message) : g_strdup("an element failed without a message");
}

/* Returns NULL, or why the stream does not end. */
static inline gchar *wait_for_the_end(GstElement *pipeline) {
    g_autoptr(GstBus) bus = gst_element_get_bus(pipeline);
    g_autoptr(GstMessage) end =
        gst_bus_timed_pop_filtered(bus, 120 * GST_SECOND, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
    if (end && GST_MESSAGE_TYPE(end) == GST_MESSAGE_ERROR)
        return text_of(end);
    return end ? NULL : g_strdup("the stream does not end within two minutes");
}

/* Of each buffer. */
static inline void watch_pad(GstElement *pipeline, const gchar *name, const gchar *pad_name,
                             GstPadProbeCallback callback, gpointer user) {
    g_autoptr(GstElement) element = gst_bin_get_by_name(GST_BIN(pipeline), name);
    g_autoptr(GstPad) pad = gst_element_get_static_pad(element, pad_name);
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, callback, user, NULL);
}

/* Where gpugraphcut looks for the object. */
static inline gchar *rect_in(gint width, gint height) {
    return g_strdup_printf("seed-source=rect rect=%d,%d,%d,%d", width / 4, height / 4, width / 2,
                           height / 2);
}

/* ---- pipelines that frames are pushed into ---- */

typedef struct {
    GstCaps *caps;
    GstBuffer *buffers[BUFFERS];
} Frames;

typedef struct {
    GstElement *pipeline, *sink;
    GstPad *pad; /* pushes into the pipeline */
} Chain;

static inline void frames_clear(Frames *frames) {
    for (guint i = 0; i < BUFFERS; i++)
        gst_clear_buffer(&frames->buffers[i]);
    gst_clear_caps(&frames->caps);
}

static inline GstCaps *frame_caps(const gchar *format, gint width, gint height, gint rate,
                                  gboolean cuda) {
    GstCaps *caps = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, format, "width",
                                        G_TYPE_INT, width, "height", G_TYPE_INT, height,
                                        "framerate", GST_TYPE_FRACTION, rate, 1, NULL);
    if (cuda)
        gst_caps_set_features_simple(caps, gst_caps_features_new("memory:CUDAMemory", NULL));
    return caps;
}

/* elements may be "" or end in " ! ". The context may be NULL. */
static inline gboolean chain_open(Chain *chain, const gchar *elements, GstCaps *caps,
                                  GstContext *context) {
    g_autofree gchar *description =
        g_strdup_printf("%sfakesink name=sink sync=false async=false", elements);
    GstElement *bin = gst_parse_bin_from_description(description, TRUE, NULL);
    g_autoptr(GstPad) target = gst_element_get_static_pad(bin, "sink");
    GstSegment segment;
    chain->pipeline = gst_pipeline_new(NULL);
    gst_bin_add(GST_BIN(chain->pipeline), bin);
    chain->sink = gst_bin_get_by_name(GST_BIN(bin), "sink");
    chain->pad = gst_object_ref_sink(gst_pad_new("src", GST_PAD_SRC));
    gst_pad_set_active(chain->pad, TRUE);
    if (context)
        gst_element_set_context(chain->pipeline, context);
    gst_element_set_state(chain->pipeline, GST_STATE_PLAYING);
    gst_segment_init(&segment, GST_FORMAT_TIME);
    return gst_pad_link(chain->pad, target) == GST_PAD_LINK_OK &&
           gst_pad_peer_query_accept_caps(chain->pad, caps) &&
           gst_pad_push_event(chain->pad, gst_event_new_stream_start("rate")) &&
           gst_pad_push_event(chain->pad, gst_event_new_caps(caps)) &&
           gst_pad_push_event(chain->pad, gst_event_new_segment(&segment));
}

static inline void chain_close(Chain *chain) {
    gst_element_set_state(chain->pipeline, GST_STATE_NULL);
    gst_pad_set_active(chain->pad, FALSE);
    gst_object_unref(chain->pad);
    gst_object_unref(chain->sink);
    gst_object_unref(chain->pipeline);
}

/* The CUDA context that the chain uses, or NULL. */
static inline GstContext *context_of(Chain *chain) {
    g_autoptr(GstQuery) query = gst_query_new_context("gst.cuda.context");
    GstContext *context = NULL;
    if (gst_pad_peer_query(chain->pad, query))
        gst_query_parse_context(query, &context);
    if (context)
        gst_context_ref(context);
    return context;
}

/* ---- frames ---- */

static inline void fill(GstBuffer *buffer) {
    GstMapInfo map;
    if (!gst_buffer_map(buffer, &map, GST_MAP_WRITE))
        return;
    for (gsize i = 0; i < map.size; i++)
        map.data[i] = noise(i);
    gst_buffer_unmap(buffer, &map);
}

static inline void fill_with_object(GstBuffer *buffer, const GstCaps *caps, guint number) {
    GstVideoInfo info;
    GstVideoFrame frame;
    if (!gst_video_info_from_caps(&info, caps) ||
        !gst_video_frame_map(&frame, &info, buffer, GST_MAP_WRITE))
        return;
    draw_object(&frame, number);
    gst_video_frame_unmap(&frame);
}

/*
 * From the pool that gpuerode offers with these properties, as a source would. They are of the
 * context, and where there is none yet, that of gpuerode becomes it. Takes the caps.
 */
static inline gboolean make_frames(GstCaps *caps, gboolean cuts, const gchar *backend,
                                   Frames *frames, GstContext **context) {
    g_autoptr(GstQuery) query = gst_query_new_allocation(caps, TRUE);
    g_autoptr(GstBufferPool) pool = NULL;
    gboolean made = FALSE;
    Chain giver;
    g_autofree gchar *element = g_strdup_printf("gpuerode %s ! ", backend);
    const gboolean open = chain_open(&giver, element, caps, *context);
    frames->caps = caps;
    if (!*context)
        *context = context_of(&giver);
    if (open && gst_pad_peer_query(giver.pad, query) && gst_query_get_n_allocation_pools(query) > 0)
        gst_query_parse_nth_allocation_pool(query, 0, &pool, NULL, NULL, NULL);
    if (pool && gst_buffer_pool_set_active(pool, TRUE)) {
        made = TRUE;
        for (guint i = 0; i < BUFFERS && made; i++) {
            made = gst_buffer_pool_acquire_buffer(pool, &frames->buffers[i], NULL) == GST_FLOW_OK;
            if (made && cuts)
                fill_with_object(frames->buffers[i], caps, i);
            else if (made)
                fill(frames->buffers[i]);
        }
        gst_buffer_pool_set_active(pool, FALSE);
    }
    chain_close(&giver);
    return made;
}

/* An element that takes CUDAMemory looks for a context when it starts. */
static inline gboolean built_with_cuda(void) {
    GstElement *element = gst_element_factory_make("gpuerode", NULL);
    gst_element_set_state(element, GST_STATE_PAUSED);
    gst_element_set_state(element, GST_STATE_NULL);
    gst_object_unref(element);
    return g_type_from_name("GstCudaContext") != 0;
}

/* ---- rows ---- */

typedef struct {
    gchar *name;
    const gchar *image;
    gchar *skipped, *failed; /* why it was not run, what went wrong; or NULL */
} Row;

static gdouble seconds;
static gchar *json_path, *only;

/* Those of every benchmark, and its own, which end with NULL. */
static inline gboolean parse_options(const GOptionEntry *entries, int *argc, char ***argv) {
    const GOptionEntry common[] = {
        {"json", 0, 0, G_OPTION_ARG_FILENAME, &json_path, "Write the figures there", "FILE"},
        {"seconds", 0, 0, G_OPTION_ARG_DOUBLE, &seconds, "Time of a measurement", "S"},
        {"only", 0, 0, G_OPTION_ARG_STRING, &only, "Only rows in whose name and image this is",
         "TEXT"},
        {NULL, 0, 0, 0, NULL, NULL, NULL}};
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    g_autoptr(GError) error = NULL;
    g_option_context_add_main_entries(context, common, NULL);
    g_option_context_add_main_entries(context, entries, NULL);
    g_option_context_add_group(context, gst_init_get_option_group());
    if (g_option_context_parse(context, argc, argv, &error))
        return TRUE;
    g_printerr("%s\n", error->message);
    return FALSE;
}

static inline gboolean is_wanted(const Row *row) {
    g_autofree gchar *whole = g_strdup_printf("%s, %s", row->name, row->image);
    return !only || strstr(whole, only) != NULL;
}

/* Begins a line. Returns whether figures follow. */
static inline gboolean print_name(const Row *row) {
    g_print("%-56s %-17s ", row->name, row->image);
    if (row->failed || row->skipped)
        g_print("%s: %s\n", row->failed ? "failed" : "not run",
                row->failed ? row->failed : row->skipped);
    return !row->failed && !row->skipped;
}

/* What needs no escape in JSON. */
#define PLAIN G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS " .,:;=+-*/_()[]{}<>!?'#%&"

/* Likewise, of an object. */
static inline gboolean add_name(GString *json, const Row *row) {
    g_string_append_printf(json, "{\"name\": \"%s\", \"image\": \"%s\"", row->name, row->image);
    if (row->failed || row->skipped) {
        g_autofree gchar *text =
            g_strcanon(g_strdup(row->failed ? row->failed : row->skipped), PLAIN, '?');
        g_string_append_printf(json, ", \"%s\": \"%s\"", row->failed ? "failed" : "not_run", text);
    }
    return !row->failed && !row->skipped;
}

/* add() writes a row without its last bracket. */
static inline gboolean write_rows(const GArray *rows,
                                  void (*add)(GString *json, gconstpointer row)) {
    g_autoptr(GString) json = g_string_new("{\"benchmarks\": [\n");
    g_autoptr(GError) error = NULL;
    const guint size = g_array_get_element_size((GArray *)rows);
    for (guint i = 0; i < rows->len; i++) {
        add(json, rows->data + (gsize)i * size);
        g_string_append(json, i + 1 < rows->len ? "},\n" : "}\n");
    }
    g_string_append(json, "]}\n");
    if (g_file_set_contents(json_path, json->str, -1, &error))
        return TRUE;
    g_printerr("%s\n", error->message);
    return FALSE;
}

/* Of structs that begin with a Row, which it frees. Returns what main() does. */
static inline int end_of_rows(GArray *rows, void (*add)(GString *json, gconstpointer row)) {
    const guint size = g_array_get_element_size(rows);
    gboolean failed = json_path && !write_rows(rows, add), ran = FALSE;
    for (guint i = 0; i < rows->len; i++) {
        Row *row = (Row *)(rows->data + (gsize)i * size);
        failed = failed || row->failed;
        ran = ran || !row->skipped;
        g_free(row->name);
        g_free(row->skipped);
        g_free(row->failed);
    }
    g_array_unref(rows);
    g_free(json_path);
    g_free(only);
    return failed ? 1 : ran ? 0 : 77; /* skipped, as a test */
}

#endif
