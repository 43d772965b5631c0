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

#include "bench.h"

enum { in_queue = 4 /* frames before the element, at most */ };

static const struct {
    const gchar *name;
    gint width, height, rate;
} videos[] = {{"1920x1080p60 NV12", 1920, 1080, 60}, {"3840x2160p30 NV12", 3840, 2160, 30}};

static gboolean cuda;

typedef struct {
    Row row;
    const Subject *subject;
    guint video;
    Frames frames;
    GstElement *pipeline, *source;
    guint pushed;
    gdouble *pushed_at; /* s, of each frame */
    guint not_counted;  /* of the first frames */
    guint given, came;  /* frames that have reached the element, and come out of it */
    GArray *latencies;  /* us */
    gdouble figures[3]; /* us: median, 99th percentile, maximum */
} Live;

/* ---- a live pipeline ---- */

static guint number_of(const Live *row, GstPadProbeInfo *probe) {
    const GstClockTime time = GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(probe));
    return (guint)gst_util_uint64_scale_round(time, (guint64)videos[row->video].rate, GST_SECOND);
}

static GstPadProbeReturn enter(G_GNUC_UNUSED GstPad *pad, GstPadProbeInfo *probe, gpointer user) {
    Live *row = user;
    row->given += number_of(row, probe) >= row->not_counted;
    return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn leave(G_GNUC_UNUSED GstPad *pad, GstPadProbeInfo *probe, gpointer user) {
    Live *row = user;
    const guint number = number_of(row, probe);
    if (number >= row->not_counted) {
        const gdouble us = (now() - row->pushed_at[number]) * G_USEC_PER_SEC;
        g_array_append_val(row->latencies, us);
        row->came++;
    }
    return GST_PAD_PROBE_OK;
}

static gchar *describe(const Live *row) {
    const gint width = videos[row->video].width, height = videos[row->video].height;
    g_autofree gchar *rect = row->subject->cuts ? rect_in(width, height) : g_strdup("");
    return g_strdup_printf(
        "appsrc name=source is-live=true format=time min-latency=%" G_GUINT64_FORMAT
        " leaky-type=downstream max-buffers=%d max-bytes=0 ! %s name=tested backend=%s %s ! "
        "queue max-size-buffers=16 max-size-bytes=0 max-size-time=0 ! "
        "fakesink sync=true qos=true",
        GST_SECOND / (guint64)videos[row->video].rate, in_queue, row->subject->description,
        cuda ? "cuda" : "cpu", rect);
}

static gboolean row_open(Live *row, GstContext **context) {
    gchar *text = describe(row);
    if (!make_frames(frame_caps("NV12", videos[row->video].width, videos[row->video].height,
                                videos[row->video].rate, cuda),
                     row->subject->cuts, cuda ? "backend=cuda" : "backend=cpu", &row->frames,
                     context)) {
        row->row.failed = g_strdup("no frames could be made");
        g_free(text);
        return FALSE;
    }
    row->pipeline = gst_parse_launch(text, NULL);
    row->source = gst_bin_get_by_name(GST_BIN(row->pipeline), "source");
    g_object_set(row->source, "caps", row->frames.caps, NULL);
    if (*context)
        gst_element_set_context(row->pipeline, *context);
    watch_pad(row->pipeline, "tested", "sink", enter, row);
    watch_pad(row->pipeline, "tested", "src", leave, row);
    row->pushed = MAX(2, (guint)(seconds * videos[row->video].rate));
    row->not_counted = MIN((guint)videos[row->video].rate, row->pushed) / 2;
    row->pushed_at = g_new0(gdouble, row->pushed);
    row->latencies = new_values();
    g_free(text);
    return TRUE;
}

static void row_close(Live *row) {
    if (row->pipeline)
        gst_element_set_state(row->pipeline, GST_STATE_NULL);
    gst_clear_object(&row->source);
    gst_clear_object(&row->pipeline);
    frames_clear(&row->frames);
    g_clear_pointer(&row->pushed_at, g_free);
    g_clear_pointer(&row->latencies, g_array_unref);
}

static gboolean push_at_its_time(Live *row, GstClock *clock, guint number) {
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

/* All its frames, and what is in the queues. */
static gpointer row_run(gpointer user) {
    static const gdouble parts[] = {0.5, 0.99, 1};
    Live *row = user;
    g_autoptr(GstClock) clock = NULL;
    GstFlowReturn flow;
    gboolean flows = TRUE;
    gst_element_set_state(row->pipeline,
                          GST_STATE_PLAYING); /* live: it does not wait for a frame */
    clock = gst_pipeline_get_clock(GST_PIPELINE(row->pipeline));
    for (guint i = 0; i < row->pushed && flows; i++)
        flows = push_at_its_time(row, clock, i);
    g_signal_emit_by_name(row->source, "end-of-stream", &flow);
    row->row.failed = wait_for_the_end(row->pipeline);
    if (!row->row.failed && (!flows || row->latencies->len == 0))
        row->row.failed = g_strdup(flows ? "no frame came out of the element" : "no frame flows");
    quantiles(row->latencies, parts, 3, row->figures);
    return NULL;
}

/* ---- output ---- */

static guint counted(const Live *row) {
    return row->pushed - row->not_counted;
}

static void print_head(void) {
    g_print("%-56s %-17s %9s %9s %9s %7s %9s %9s\n", "live, us", "video", "median", "p99",
            "maximum", "frames", "in queue", "late");
}

static void print_row(const Live *row) {
    if (print_name(&row->row))
        g_print("%9.0f %9.0f %9.0f %7u %9u %9u\n", row->figures[0], row->figures[1],
                row->figures[2], counted(row), counted(row) - row->given, row->given - row->came);
}

static void add_json(GString *json, gconstpointer data) {
    const Live *row = data;
    const gboolean ran = add_name(json, &row->row);
    g_string_append_printf(json, ", \"live_s\": %g", seconds);
    if (ran)
        g_string_append_printf(json,
                               ", \"latency_us\": [%.1f, %.1f, %.1f], \"pushed\": %u, "
                               "\"dropped_in_queue\": %u, \"dropped_late\": %u",
                               row->figures[0], row->figures[1], row->figures[2], counted(row),
                               counted(row) - row->given, row->given - row->came);
}

/* ---- the rows ---- */

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
    GArray *rows = g_array_new(FALSE, TRUE, sizeof(Live));
    for (guint i = 0; i < G_N_ELEMENTS(subjects) - 1; i++)
        for (guint video = 0; video < G_N_ELEMENTS(videos); video++) {
            Live row = {
                .row = {.image = videos[video].name}, .subject = &subjects[i], .video = video};
            row.row.name = g_strdup_printf("%s, %s", subjects[i].name,
                                           cuda ? "in CUDAMemory, all rows at once" : "on the CPU");
            if (is_wanted(&row.row))
                g_array_append_val(rows, row);
            else
                g_free(row.row.name);
        }
    return rows;
}

static void run_in_turn(GArray *rows) {
    GstContext *context = NULL;
    for (guint i = 0; i < rows->len; i++) {
        Live *row = &g_array_index(rows, Live, i);
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
        open = row_open(&g_array_index(rows, Live, i), &context) && open;
    for (guint i = 0; i < rows->len && open; i++)
        threads[i] = g_thread_new("row", row_run, &g_array_index(rows, Live, i));
    for (guint i = 0; i < rows->len; i++) {
        Live *row = &g_array_index(rows, Live, i);
        if (threads[i])
            g_thread_join(threads[i]);
        else if (!row->row.failed)
            row->row.failed = g_strdup("another row could not begin");
        print_row(row);
    }
    for (guint i = 0; i < rows->len; i++)
        row_close(&g_array_index(rows, Live, i));
    g_clear_pointer(&context, gst_context_unref);
    g_free(threads);
}

int main(int argc, char **argv) {
    const GOptionEntry entries[] = {{"cuda", 0, 0, G_OPTION_ARG_NONE, &cuda,
                                     "Frames in CUDAMemory, and all rows at once", NULL},
                                    {NULL, 0, 0, 0, NULL, NULL, NULL}};
    GArray *rows;
    const gchar *reason;
    seconds = 300;
    if (!parse_options(entries, &argc, &argv))
        return 2;
    rows = make_rows();
    reason = why_not();
    print_head();
    for (guint i = 0; i < rows->len && reason; i++) {
        Live *row = &g_array_index(rows, Live, i);
        row->row.skipped = g_strdup(reason);
        print_row(row);
    }
    if (!reason && cuda)
        run_at_once(rows);
    else if (!reason)
        run_in_turn(rows);
    return end_of_rows(rows, add_json);
}
