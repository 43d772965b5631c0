/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long a frame of live video is under way through each element, and how many are dropped:
 *
 *     latency [--cuda] [--json FILE] [--seconds S] [--only TEXT]
 *
 * A source gives frames that lie in memory at the times of their timestamps, by the clock of the
 * pipeline, into a queue of a few frames, which gives up the oldest when it is full; behind the
 * element is a sink that shows each frame at its time, and tells the element when it is late, which
 * then leaves frames out. The latency of a frame is the time from the source's push to its arrival
 * behind the element. Frames of the first half second are not counted.
 *
 * On the CPU the rows run one after the other. With --cuda frames lie in CUDAMemory, and all rows
 * run at once, in one CUDA context: then each of them has the load of the others.
 */
#include <gpuvision/context.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include <string.h>

#include "bench.h"

enum { in_queue = 4 /* frames before the element, at most */ };

static const struct {
    const gchar *name;
    gint width, height, rate;
} videos[] = {{"1920x1080p60 NV12", 1920, 1080, 60}, {"3840x2160p30 NV12", 3840, 2160, 30}};

static gdouble seconds = 300;
static gboolean cuda;
static gchar *json_path, *only;

typedef struct {
    const Subject *subject;
    guint video;
    gchar *name;
    gchar *skipped, *failed; /* why it was not run, what went wrong; or NULL */
    Frames frames;
    GstElement *pipeline, *source;
    guint pushed;
    gdouble *pushed_at; /* s, of each frame */
    guint not_counted;  /* of the first frames */
    guint given, came;  /* frames that have reached the element, and come out of it */
    GArray *latencies;  /* us */
    gdouble figures[3]; /* us: median, 99th percentile, maximum */
} Row;

/* ---- a live pipeline ---- */

static guint number_of(const Row *row, GstPadProbeInfo *probe) {
    const GstClockTime time = GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(probe));
    return (guint)gst_util_uint64_scale_round(time, (guint64)videos[row->video].rate, GST_SECOND);
}

static GstPadProbeReturn enter(G_GNUC_UNUSED GstPad *pad, GstPadProbeInfo *probe, gpointer user) {
    Row *row = user;
    row->given += number_of(row, probe) >= row->not_counted;
    return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn leave(G_GNUC_UNUSED GstPad *pad, GstPadProbeInfo *probe, gpointer user) {
    Row *row = user;
    const guint number = number_of(row, probe);
    if (number >= row->not_counted) {
        const gdouble us = (now() - row->pushed_at[number]) * G_USEC_PER_SEC;
        g_array_append_val(row->latencies, us);
        row->came++;
    }
    return GST_PAD_PROBE_OK;
}

static void probe_element(Row *row, const gchar *pad_name, GstPadProbeCallback callback) {
    GstElement *element = gst_bin_get_by_name(GST_BIN(row->pipeline), "tested");
    GstPad *pad = gst_element_get_static_pad(element, pad_name);
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, callback, row, NULL);
    gst_object_unref(pad);
    gst_object_unref(element);
}

static gchar *describe(const Row *row) {
    const gint width = videos[row->video].width, height = videos[row->video].height;
    gchar *rect = row->subject->cuts ? g_strdup_printf("seed-source=rect rect=%d,%d,%d,%d",
                                                       width / 4, height / 4, width / 2, height / 2)
                                     : g_strdup("");
    gchar *text = g_strdup_printf(
        "appsrc name=source is-live=true format=time min-latency=%" G_GUINT64_FORMAT
        " leaky-type=downstream max-buffers=%d max-bytes=0 ! %s name=tested backend=%s %s ! "
        "queue max-size-buffers=16 max-size-bytes=0 max-size-time=0 ! "
        "fakesink sync=true qos=true",
        GST_SECOND / (guint64)videos[row->video].rate, in_queue, row->subject->description,
        cuda ? "cuda" : "cpu", rect);
    g_free(rect);
    return text;
}

static gboolean row_open(Row *row, GstContext **context) {
    gchar *text = describe(row);
    if (!make_frames(frame_caps(videos[row->video].width, videos[row->video].height,
                                videos[row->video].rate, cuda),
                     row->subject->cuts, cuda ? "backend=cuda" : "backend=cpu", &row->frames,
                     context)) {
        row->failed = g_strdup("no frames could be made");
        g_free(text);
        return FALSE;
    }
    row->pipeline = gst_parse_launch(text, NULL);
    row->source = gst_bin_get_by_name(GST_BIN(row->pipeline), "source");
    g_object_set(row->source, "caps", row->frames.caps, NULL);
    if (*context)
        gst_element_set_context(row->pipeline, *context);
    probe_element(row, "sink", enter);
    probe_element(row, "src", leave);
    row->pushed = MAX(2, (guint)(seconds * videos[row->video].rate));
    row->not_counted = MIN((guint)videos[row->video].rate, row->pushed) / 2;
    row->pushed_at = g_new0(gdouble, row->pushed);
    row->latencies = new_values();
    g_free(text);
    return TRUE;
}

static void row_close(Row *row) {
    if (row->pipeline)
        gst_element_set_state(row->pipeline, GST_STATE_NULL);
    gst_clear_object(&row->source);
    gst_clear_object(&row->pipeline);
    frames_clear(&row->frames);
    g_clear_pointer(&row->pushed_at, g_free);
    g_clear_pointer(&row->latencies, g_array_unref);
}

static gboolean push_at_its_time(Row *row, GstClock *clock, guint number) {
    const guint64 rate = (guint64)videos[row->video].rate;
    const GstClockTime time = gst_util_uint64_scale(number, GST_SECOND, rate);
    const GstClockTime base = gst_element_get_base_time(row->pipeline);
    GstClockID id = gst_clock_new_single_shot_id(clock, base + time);
    GstBuffer *frame = gst_buffer_copy(row->frames.buffers[number % BUFFERS]);
    GstFlowReturn flow = GST_FLOW_ERROR;
    GST_BUFFER_PTS(frame) = time;
    GST_BUFFER_DURATION(frame) = GST_SECOND / rate;
    gst_clock_id_wait(id, NULL);
    row->pushed_at[number] = now();
    g_signal_emit_by_name(row->source, "push-buffer", frame, &flow);
    gst_buffer_unref(frame);
    gst_clock_id_unref(id);
    return flow == GST_FLOW_OK;
}

static void keep_figures(Row *row) {
    if (row->latencies->len == 0) {
        row->failed = g_strdup("no frame came out of the element");
        return;
    }
    g_array_sort(row->latencies, compare);
    row->figures[0] = quantile(row->latencies, 0.5);
    row->figures[1] = quantile(row->latencies, 0.99);
    row->figures[2] = quantile(row->latencies, 1);
}

/* All its frames, and what is in the queues. */
static gpointer row_run(gpointer user) {
    Row *row = user;
    GstBus *bus = gst_element_get_bus(row->pipeline);
    GstFlowReturn flow;
    GstMessage *end;
    GstClock *clock;
    gboolean flows = TRUE;
    gst_element_set_state(row->pipeline,
                          GST_STATE_PLAYING); /* live: it does not wait for a frame */
    clock = gst_pipeline_get_clock(GST_PIPELINE(row->pipeline));
    for (guint i = 0; i < row->pushed && flows; i++)
        flows = push_at_its_time(row, clock, i);
    g_signal_emit_by_name(row->source, "end-of-stream", &flow);
    end = gst_bus_timed_pop_filtered(bus, 120 * GST_SECOND, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
    if (end && GST_MESSAGE_TYPE(end) == GST_MESSAGE_ERROR) {
        gst_bus_post(bus, gst_message_ref(end));
        row->failed = error_of(row->pipeline);
    } else if (!end || !flows) {
        row->failed = g_strdup("the stream does not end");
    } else {
        keep_figures(row);
    }
    if (end)
        gst_message_unref(end);
    gst_object_unref(clock);
    gst_object_unref(bus);
    return NULL;
}

/* ---- output ---- */

static guint counted(const Row *row) {
    return row->pushed - row->not_counted;
}

static void print_head(void) {
    g_print("%-44s %-17s %9s %9s %9s %7s %9s %9s\n", "live, us", "video", "median", "p99",
            "maximum", "frames", "in queue", "late");
}

static void print_row(const Row *row) {
    if (row->skipped || row->failed)
        g_print("%-44s %-17s %s: %s\n", row->name, videos[row->video].name,
                row->failed ? "failed" : "not run", row->failed ? row->failed : row->skipped);
    else
        g_print("%-44s %-17s %9.0f %9.0f %9.0f %7u %9u %9u\n", row->name, videos[row->video].name,
                row->figures[0], row->figures[1], row->figures[2], counted(row),
                counted(row) - row->given, row->given - row->came);
}

static void add_json(GString *json, gconstpointer data) {
    const Row *row = data;
    g_string_append_printf(json, "{\"name\": \"%s\", \"image\": \"%s\", \"live_s\": %g", row->name,
                           videos[row->video].name, seconds);
    if (row->skipped || row->failed) {
        gchar *text = g_strcanon(g_strdup(row->failed ? row->failed : row->skipped), PLAIN, '?');
        g_string_append_printf(json, ", \"%s\": \"%s\"}", row->failed ? "failed" : "not_run", text);
        g_free(text);
        return;
    }
    g_string_append_printf(json,
                           ", \"latency_us\": [%.1f, %.1f, %.1f], \"pushed\": %u, "
                           "\"dropped_in_queue\": %u, \"dropped_late\": %u}",
                           row->figures[0], row->figures[1], row->figures[2], counted(row),
                           counted(row) - row->given, row->given - row->came);
}

/* ---- the rows ---- */

static gboolean parse(int *argc, char ***argv) {
    const GOptionEntry entries[] = {
        {"cuda", 0, 0, G_OPTION_ARG_NONE, &cuda, "Frames in CUDAMemory, and all rows at once",
         NULL},
        {"json", 0, 0, G_OPTION_ARG_FILENAME, &json_path, "Write the figures there", "FILE"},
        {"seconds", 0, 0, G_OPTION_ARG_DOUBLE, &seconds, "Time of a row, default 300", "S"},
        {"only", 0, 0, G_OPTION_ARG_STRING, &only, "Only rows in whose name and video this is",
         "TEXT"},
        {NULL, 0, 0, 0, NULL, NULL, NULL}};
    return parse_options(entries, argc, argv);
}

static const gchar *why_not(void) {
    if (!gst_registry_check_feature_version(gst_registry_get(), "appsrc", 1, 22, 0))
        return "there is no appsrc";
    if (cuda && !gpv_backend_available(GPV_BACKEND_CUDA))
        return "there is no CUDA device";
    if (cuda && !built_with_cuda())
        return "the elements are built without gstreamer-cuda";
    return NULL;
}

/* Of each element, without the chain of all. */
static GArray *make_rows(void) {
    GArray *rows = g_array_new(FALSE, TRUE, sizeof(Row));
    for (guint i = 0; i < G_N_ELEMENTS(subjects) - 1; i++)
        for (guint video = 0; video < G_N_ELEMENTS(videos); video++) {
            Row row = {.subject = &subjects[i], .video = video};
            gchar *whole;
            row.name = g_strdup_printf("%s, %s", subjects[i].name,
                                       cuda ? "in CUDAMemory, all rows at once" : "on the CPU");
            whole = g_strdup_printf("%s, %s", row.name, videos[video].name);
            if (!only || strstr(whole, only))
                g_array_append_val(rows, row);
            else
                g_free(row.name);
            g_free(whole);
        }
    return rows;
}

static void run_in_turn(GArray *rows) {
    GstContext *context = NULL;
    for (guint i = 0; i < rows->len; i++) {
        Row *row = &g_array_index(rows, Row, i);
        if (row_open(row, &context))
            row_run(row);
        row_close(row);
        print_row(row);
    }
    g_clear_pointer(&context, gst_context_unref);
}

static void run_at_once(GArray *rows) {
    GThread **threads = g_new0(GThread *, rows->len);
    GstContext *context = NULL;
    gboolean open = TRUE;
    for (guint i = 0; i < rows->len; i++)
        open = row_open(&g_array_index(rows, Row, i), &context) && open;
    for (guint i = 0; i < rows->len && open; i++)
        threads[i] = g_thread_new("row", row_run, &g_array_index(rows, Row, i));
    for (guint i = 0; i < rows->len; i++) {
        Row *row = &g_array_index(rows, Row, i);
        if (threads[i])
            g_thread_join(threads[i]);
        else if (!row->failed)
            row->failed = g_strdup("another row could not begin");
        print_row(row);
    }
    for (guint i = 0; i < rows->len; i++)
        row_close(&g_array_index(rows, Row, i));
    g_clear_pointer(&context, gst_context_unref);
    g_free(threads);
}

int main(int argc, char **argv) {
    GArray *rows;
    const gchar *reason;
    gboolean failed = FALSE;
    int status;
    if (!parse(&argc, &argv))
        return 2;
    rows = make_rows();
    reason = why_not();
    print_head();
    for (guint i = 0; i < rows->len && reason; i++) {
        g_array_index(rows, Row, i).skipped = g_strdup(reason);
        print_row(&g_array_index(rows, Row, i));
    }
    if (!reason && cuda)
        run_at_once(rows);
    else if (!reason)
        run_in_turn(rows);
    failed = json_path && !write_rows(json_path, rows, add_json);
    for (guint i = 0; i < rows->len; i++) {
        Row *row = &g_array_index(rows, Row, i);
        failed = failed || row->failed;
        g_free(row->name);
        g_free(row->skipped);
        g_free(row->failed);
    }
    status = failed ? 1 : reason || rows->len == 0 ? 77 : 0; /* skipped, as a test */
    g_array_unref(rows);
    g_free(json_path);
    g_free(only);
    return status;
}
