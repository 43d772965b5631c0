/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames a second through an element, and through the same pipeline without it:
 *
 *     rate [--json FILE] [--clip FILE] [--seconds S]
 *
 * A rate is the median of slices of the time, with the quartiles beside it. The
 * clip is H.264 in any container.
 */
#include <gpuvision/context.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include <stdlib.h>

#define SLICES 10
#define BUFFERS 8
#define FULL_HD .image = "1920x1080 NV12", .width = 1920, .height = 1080
#define VGA .image = "640x480 NV12", .width = 640, .height = 480
#define ERODE "gpuerode radius=1"
#define CCL "gpuccl"
#define KMEANS "gpukmeans"
#define SIFT "gpusift"
#define GRAPHCUT "gpugraphcut seed-source=rect rect="

static gdouble seconds = 3;
static gchar *json_path, *clip_path;

typedef struct {
    gdouble median, low, high;
} Quartiles;

typedef struct {
    const gchar *name, *image;
    gint width, height;
    const gchar *element, *backend; /* no element: a clip */
    gboolean cuda_memory;
    gboolean object;         /* one moves across the frames, which are alike else */
    gchar *skipped, *failed; /* why it was not run, what went wrong; or NULL */
    Quartiles with, without; /* frames a second */
    gdouble latency[2];      /* us of a frame: median, 99th percentile; 0: not measured */
} Result;

/* ---- figures ---- */

static gint compare(gconstpointer a, gconstpointer b) {
    const gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;
    return (x > y) - (x < y);
}

/* Of sorted values. */
static gdouble quantile(const GArray *values, gdouble part) {
    const gdouble place = part * (gdouble)(values->len - 1);
    const guint below = (guint)place, above = MIN(below + 1, values->len - 1);
    const gdouble low = g_array_index(values, gdouble, below);
    return low + (place - below) * (g_array_index(values, gdouble, above) - low);
}

static Quartiles quartiles(GArray *values) {
    Quartiles result;
    g_array_sort(values, compare);
    result.median = quantile(values, 0.5);
    result.low = quantile(values, 0.25);
    result.high = quantile(values, 0.75);
    return result;
}

static gdouble now(void) {
    return (gdouble)g_get_monotonic_time() / G_USEC_PER_SEC;
}

static gchar *error_of(GstElement *pipeline) {
    GstBus *bus = gst_element_get_bus(pipeline);
    GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
    gchar *text = NULL;
    if (message) {
        GError *error = NULL;
        gst_message_parse_error(message, &error, NULL);
        text = g_strdup(error->message);
        g_error_free(error);
        gst_message_unref(message);
    }
    gst_object_unref(bus);
    return text ? text : g_strdup("an element failed without a message");
}

/* ---- frames pushed again and again ---- */

typedef struct {
    GstElement *pipeline, *sink;
    GstPad *pad; /* pushes into the pipeline */
} Chain;

static GstCaps *frame_caps(const Result *frame) {
    GstCaps *caps = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, "NV12", "width",
                                        G_TYPE_INT, frame->width, "height", G_TYPE_INT,
                                        frame->height, "framerate", GST_TYPE_FRACTION, 60, 1, NULL);
    if (frame->cuda_memory)
        gst_caps_set_features_simple(caps, gst_caps_features_new("memory:CUDAMemory", NULL));
    return caps;
}

static gboolean chain_open(Chain *chain, const gchar *description, const Result *frame) {
    GstElement *bin = gst_parse_bin_from_description(description, TRUE, NULL);
    GstPad *target = gst_element_get_static_pad(bin, "sink");
    GstCaps *caps = frame_caps(frame);
    GstSegment segment;
    gboolean taken;
    chain->pipeline = gst_pipeline_new(NULL);
    gst_bin_add(GST_BIN(chain->pipeline), bin);
    chain->sink = gst_bin_get_by_name(GST_BIN(bin), "sink");
    chain->pad = gst_object_ref_sink(gst_pad_new("src", GST_PAD_SRC));
    gst_pad_set_active(chain->pad, TRUE);
    gst_element_set_state(chain->pipeline, GST_STATE_PLAYING);
    gst_segment_init(&segment, GST_FORMAT_TIME);
    taken = gst_pad_link(chain->pad, target) == GST_PAD_LINK_OK &&
            gst_pad_peer_query_accept_caps(chain->pad, caps) &&
            gst_pad_push_event(chain->pad, gst_event_new_stream_start("rate")) &&
            gst_pad_push_event(chain->pad, gst_event_new_caps(caps)) &&
            gst_pad_push_event(chain->pad, gst_event_new_segment(&segment));
    gst_caps_unref(caps);
    gst_object_unref(target);
    return taken;
}

static void chain_close(Chain *chain) {
    gst_element_set_state(chain->pipeline, GST_STATE_NULL);
    gst_pad_set_active(chain->pad, FALSE);
    gst_object_unref(chain->pad);
    gst_object_unref(chain->sink);
    gst_object_unref(chain->pipeline);
}

static guint8 noise(gsize i) {
    return (guint8)(i * 2654435761u >> 13);
}

static void fill(GstBuffer *buffer) {
    GstMapInfo map;
    if (!gst_buffer_map(buffer, &map, GST_MAP_WRITE))
        return;
    for (gsize i = 0; i < map.size; i++)
        map.data[i] = noise(i);
    gst_buffer_unmap(buffer, &map);
}

/* A disc in front of a background. By their noise half of the pixels could be of either. */
static void draw_object(GstVideoFrame *frame, guint number) {
    const gint width = GST_VIDEO_FRAME_WIDTH(frame), height = GST_VIDEO_FRAME_HEIGHT(frame);
    const gint radius = height / 5, cx = width * (20 + (gint)number) / 48, cy = height / 2;
    for (gint p = 0; p < 2; p++)
        for (gint y = 0; y < height >> p; y++) {
            guint8 *row = (guint8 *)GST_VIDEO_FRAME_PLANE_DATA(frame, p) +
                          y * GST_VIDEO_FRAME_PLANE_STRIDE(frame, p);
            for (gint x = 0; x < width; x++) {
                const gint dx = x - cx, dy = (y << p) - cy;
                const guint8 least = dx * dx + dy * dy < radius * radius ? 112 : 80;
                row[x] = least + noise((gsize)y * (gsize)width + (gsize)x) % 64;
            }
        }
}

static void fill_with_object(GstBuffer *buffer, const GstCaps *caps, guint number) {
    GstVideoInfo info;
    GstVideoFrame frame;
    if (!gst_video_info_from_caps(&info, caps) ||
        !gst_video_frame_map(&frame, &info, buffer, GST_MAP_WRITE))
        return;
    draw_object(&frame, number);
    gst_video_frame_unmap(&frame);
}

/* From the pool that the chain offers, as a source would. */
static gboolean take_offered(Chain *chain, const Result *frame, GstBuffer **buffers) {
    GstCaps *caps = frame_caps(frame);
    GstQuery *query = gst_query_new_allocation(caps, TRUE);
    GstBufferPool *pool = NULL;
    gboolean taken = FALSE;
    if (gst_pad_peer_query(chain->pad, query) && gst_query_get_n_allocation_pools(query) > 0)
        gst_query_parse_nth_allocation_pool(query, 0, &pool, NULL, NULL, NULL);
    if (pool && gst_buffer_pool_set_active(pool, TRUE)) {
        taken = TRUE;
        for (guint i = 0; i < BUFFERS && taken; i++) {
            taken = gst_buffer_pool_acquire_buffer(pool, &buffers[i], NULL) == GST_FLOW_OK;
            if (taken && frame->object)
                fill_with_object(buffers[i], caps, i);
            else if (taken)
                fill(buffers[i]);
        }
        gst_buffer_pool_set_active(pool, FALSE);
    }
    gst_clear_object(&pool);
    gst_query_unref(query);
    gst_caps_unref(caps);
    return taken;
}

/* An element that makes no pixels offers what is behind it does, and fakesink has no pool. */
static gboolean take_buffers(Chain *chain, const Result *result, GstBuffer **buffers) {
    gboolean taken = take_offered(chain, result, buffers);
    if (!taken && g_str_equal(result->element, SIFT)) {
        gchar *description =
            g_strdup_printf(ERODE " backend=%s ! fakesink name=sink async=false", result->backend);
        Chain other;
        taken = chain_open(&other, description, result) && take_offered(&other, result, buffers);
        chain_close(&other);
        g_free(description);
    }
    return taken;
}

/* To read the last frame is to wait for it. */
static void finish(Chain *chain) {
    GstSample *sample = NULL;
    GstMapInfo map;
    g_object_get(chain->sink, "last-sample", &sample, NULL);
    if (sample && gst_buffer_map(gst_sample_get_buffer(sample), &map, GST_MAP_READ))
        gst_buffer_unmap(gst_sample_get_buffer(sample), &map);
    if (sample)
        gst_sample_unref(sample);
}

static gboolean push_for(Chain *chain, GstBuffer **buffers, gdouble time, GArray *latencies,
                         gdouble *rate) {
    const gdouble begin = now();
    gdouble last = begin;
    guint frames = 0;
    do {
        gdouble next, us;
        if (gst_pad_push(chain->pad, gst_buffer_ref(buffers[frames++ % BUFFERS])) != GST_FLOW_OK)
            return FALSE;
        next = now();
        us = (next - last) * G_USEC_PER_SEC;
        if (latencies)
            g_array_append_val(latencies, us);
        last = next;
    } while (last < begin + time);
    finish(chain);
    *rate = frames / (now() - begin);
    return TRUE;
}

/* latencies may be NULL. */
static gboolean measure(Chain *chain, GstBuffer **buffers, Quartiles *rate, GArray *latencies) {
    GArray *rates = g_array_new(FALSE, FALSE, sizeof(gdouble));
    gdouble one = 0;
    gboolean flows = push_for(chain, buffers, seconds / SLICES, NULL, &one); /* warms up */
    for (guint i = 0; i < SLICES && flows; i++) {
        flows = push_for(chain, buffers, seconds / SLICES, latencies, &one);
        g_array_append_val(rates, one);
    }
    if (flows)
        *rate = quartiles(rates);
    g_array_unref(rates);
    return flows;
}

/* Elements that take CUDAMemory have looked for a context once they play. */
static gboolean built_with_cuda(void) {
    return g_type_from_name("GstCudaContext") != 0;
}

static void run_pushes(Result *result) {
    gchar *description =
        g_strdup_printf("%s backend=%s ! fakesink name=sink sync=false async=false",
                        result->element, result->backend);
    GArray *latencies = g_array_new(FALSE, FALSE, sizeof(gdouble));
    GstBuffer *buffers[BUFFERS] = {NULL};
    Chain chain;
    const gboolean taken = chain_open(&chain, description, result);
    if (!taken && result->cuda_memory && !built_with_cuda())
        result->skipped = g_strdup("the elements are built without gstreamer-cuda");
    else if (!taken || !take_buffers(&chain, result, buffers) ||
             !measure(&chain, buffers, &result->with, latencies))
        result->failed = error_of(chain.pipeline);
    chain_close(&chain);
    if (!result->skipped && !result->failed) {
        if (!chain_open(&chain, "fakesink name=sink sync=false async=false", result) ||
            !measure(&chain, buffers, &result->without, NULL))
            result->failed = error_of(chain.pipeline);
        chain_close(&chain);
        g_array_sort(latencies, compare);
        result->latency[0] = quantile(latencies, 0.5);
        result->latency[1] = quantile(latencies, 0.99);
    }
    for (guint i = 0; i < BUFFERS; i++)
        gst_clear_buffer(&buffers[i]);
    g_array_unref(latencies);
    g_free(description);
}

/* ---- a clip through the decoder ---- */

typedef struct {
    guint frames;
    gdouble first, last; /* s */
} Count;

static GstPadProbeReturn count(G_GNUC_UNUSED GstPad *pad, G_GNUC_UNUSED GstPadProbeInfo *probe,
                               gpointer user) {
    Count *counted = user;
    counted->last = now();
    if (counted->frames++ == 0)
        counted->first = counted->last;
    return GST_PAD_PROBE_OK;
}

/* Frames a second from the first frame to the last, or 0 and why. */
static gdouble run_clip_once(const gchar *middle, gchar **failed) {
    gchar *description = g_strdup_printf("filesrc name=file ! parsebin ! nvh264dec ! "
                                         "video/x-raw(memory:CUDAMemory) ! %s"
                                         "fakesink name=sink sync=false",
                                         middle);
    GstElement *pipeline = gst_parse_launch(description, NULL);
    GstElement *file = gst_bin_get_by_name(GST_BIN(pipeline), "file");
    GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
    GstPad *pad = gst_element_get_static_pad(sink, "sink");
    GstBus *bus = gst_element_get_bus(pipeline);
    Count counted = {0, 0, 0};
    GstMessage *end;
    gdouble rate = 0;
    g_object_set(file, "location", clip_path, NULL);
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, count, &counted, NULL);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    end = gst_bus_timed_pop_filtered(bus, 120 * GST_SECOND, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
    if (end && GST_MESSAGE_TYPE(end) == GST_MESSAGE_EOS && counted.frames > 1) {
        rate = (counted.frames - 1) / (counted.last - counted.first);
    } else if (end && GST_MESSAGE_TYPE(end) == GST_MESSAGE_ERROR) {
        gst_bus_post(bus, gst_message_ref(end));
        *failed = error_of(pipeline);
    } else {
        *failed = g_strdup("the clip does not end within two minutes, or has one frame");
    }
    gst_element_set_state(pipeline, GST_STATE_NULL);
    if (end)
        gst_message_unref(end);
    gst_object_unref(bus);
    gst_object_unref(pad);
    gst_object_unref(sink);
    gst_object_unref(file);
    gst_object_unref(pipeline);
    g_free(description);
    return rate;
}

static void run_clip(Result *result) {
    GArray *rates[2] = {g_array_new(FALSE, FALSE, sizeof(gdouble)),
                        g_array_new(FALSE, FALSE, sizeof(gdouble))};
    static const gchar *const middles[] = {ERODE " backend=cuda ! ", ""};
    const gdouble begin = now();
    for (guint i = 0; !result->failed && (i < 6 || now() < begin + seconds); i++) {
        const gdouble rate = run_clip_once(middles[i % 2], &result->failed);
        g_array_append_val(rates[i % 2], rate);
    }
    if (!result->failed) {
        result->with = quartiles(rates[0]);
        result->without = quartiles(rates[1]);
    }
    g_array_unref(rates[0]);
    g_array_unref(rates[1]);
}

static const gchar *why_no_clip(void) {
    GstRegistry *registry = gst_registry_get();
    if (!clip_path)
        return "there is no --clip";
    if (!gst_registry_check_feature_version(registry, "parsebin", 1, 22, 0) ||
        !gst_registry_check_feature_version(registry, "nvh264dec", 1, 22, 0))
        return "there is no parsebin or no nvh264dec";
    return NULL;
}

/* ---- output ---- */

static void print_table(const Result *results, guint n) {
    g_print("%-28s %-15s %28s %12s %16s\n", "frames per second", "image", "with it (quartiles)",
            "without it", "us p50, p99");
    for (guint i = 0; i < n; i++) {
        const Result *r = &results[i];
        if (r->skipped || r->failed)
            g_print("%-28s %s: %s\n", r->name, r->failed ? "failed" : "not run",
                    r->failed ? r->failed : r->skipped);
        else
            g_print("%-28s %-15s %8.0f (%8.0f to %6.0f) %12.0f %8.0f %7.0f\n", r->name, r->image,
                    r->with.median, r->with.low, r->with.high, r->without.median, r->latency[0],
                    r->latency[1]);
    }
}

/* What needs no escape in JSON. */
#define PLAIN G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS " .,:;=+-*/_()[]{}<>!?'#%&"

static void add_json(GString *json, const Result *r) {
    g_string_append_printf(json, "{\"name\": \"%s\", \"image\": \"%s\"", r->name, r->image);
    if (r->skipped || r->failed) {
        gchar *text = g_strcanon(g_strdup(r->failed ? r->failed : r->skipped), PLAIN, '?');
        g_string_append_printf(json, ", \"%s\": \"%s\"}", r->failed ? "failed" : "not_run", text);
        g_free(text);
        return;
    }
    g_string_append_printf(json, ", \"frames_per_s\": [%.1f, %.1f, %.1f]", r->with.median,
                           r->with.low, r->with.high);
    g_string_append_printf(json, ", \"without_element\": [%.1f, %.1f, %.1f]", r->without.median,
                           r->without.low, r->without.high);
    if (r->latency[0] > 0)
        g_string_append_printf(json, ", \"latency_us\": [%.1f, %.1f]", r->latency[0],
                               r->latency[1]);
    g_string_append_c(json, '}');
}

static gboolean write_json(const Result *results, guint n) {
    GString *json = g_string_new("{\"benchmarks\": [\n");
    GError *error = NULL;
    for (guint i = 0; i < n; i++) {
        add_json(json, &results[i]);
        g_string_append(json, i + 1 < n ? ",\n" : "\n");
    }
    g_string_append(json, "]}\n");
    if (!g_file_set_contents(json_path, json->str, -1, &error)) {
        g_printerr("%s\n", error->message);
        g_error_free(error);
        g_string_free(json, TRUE);
        return FALSE;
    }
    g_string_free(json, TRUE);
    return TRUE;
}

static gboolean parse(int *argc, char ***argv) {
    const GOptionEntry entries[] = {
        {"json", 0, 0, G_OPTION_ARG_FILENAME, &json_path, "Write the figures there", "FILE"},
        {"clip", 0, 0, G_OPTION_ARG_FILENAME, &clip_path, "Decode this H.264 video", "FILE"},
        {"seconds", 0, 0, G_OPTION_ARG_DOUBLE, &seconds, "Time of a measurement, default 3", "S"},
        {NULL, 0, 0, 0, NULL, NULL, NULL}};
    GOptionContext *context = g_option_context_new(NULL);
    GError *error = NULL;
    gboolean parsed;
    g_option_context_add_main_entries(context, entries, NULL);
    g_option_context_add_group(context, gst_init_get_option_group());
    parsed = g_option_context_parse(context, argc, argv, &error);
    if (!parsed)
        g_printerr("%s\n", error->message);
    g_clear_error(&error);
    g_option_context_free(context);
    return parsed;
}

static void run(Result *result) {
    const gboolean clip = !result->element;
    if (g_str_equal(result->backend, "cuda") && !gpv_backend_available(GPV_BACKEND_CUDA))
        result->skipped = g_strdup("there is no CUDA device");
    else if (clip && !built_with_cuda())
        result->skipped = g_strdup("the elements are built without gstreamer-cuda");
    else if (clip)
        result->skipped = g_strdup(why_no_clip());
    if (!result->skipped && clip)
        run_clip(result);
    else if (!result->skipped)
        run_pushes(result);
}

int main(int argc, char **argv) {
    /* The clip comes after what makes a CUDA context. */
    Result results[] = {
        {.name = "CUDAMemory, resident",
         FULL_HD,
         .element = ERODE,
         .backend = "cuda",
         .cuda_memory = TRUE},
        {.name = "CUDAMemory, decoded clip",
         .image = "clip",
         .element = NULL,
         .backend = "cuda",
         .cuda_memory = TRUE},
        {.name = "system memory, backend=cuda",
         FULL_HD,
         .element = ERODE,
         .backend = "cuda",
         .cuda_memory = FALSE},
        {.name = "system memory, backend=cpu",
         FULL_HD,
         .element = ERODE,
         .backend = "cpu",
         .cuda_memory = FALSE},
        {.name = "gpuccl, CUDAMemory, resident",
         FULL_HD,
         .element = CCL,
         .backend = "cuda",
         .cuda_memory = TRUE},
        {.name = "gpuccl, system memory, backend=cuda",
         FULL_HD,
         .element = CCL,
         .backend = "cuda",
         .cuda_memory = FALSE},
        {.name = "gpuccl, system memory, backend=cpu",
         FULL_HD,
         .element = CCL,
         .backend = "cpu",
         .cuda_memory = FALSE},
        {.name = "gpukmeans, CUDAMemory, resident",
         FULL_HD,
         .element = KMEANS,
         .backend = "cuda",
         .cuda_memory = TRUE},
        {.name = "gpukmeans, system memory, backend=cuda",
         FULL_HD,
         .element = KMEANS,
         .backend = "cuda",
         .cuda_memory = FALSE},
        {.name = "gpukmeans, system memory, backend=cpu",
         FULL_HD,
         .element = KMEANS,
         .backend = "cpu",
         .cuda_memory = FALSE},
        {.name = "gpusift, CUDAMemory, resident",
         FULL_HD,
         .element = SIFT,
         .backend = "cuda",
         .cuda_memory = TRUE},
        {.name = "gpusift, system memory, backend=cuda",
         FULL_HD,
         .element = SIFT,
         .backend = "cuda",
         .cuda_memory = FALSE},
        {.name = "gpusift, system memory, backend=cpu",
         FULL_HD,
         .element = SIFT,
         .backend = "cpu",
         .cuda_memory = FALSE},
        {.name = "gpugraphcut, CUDAMemory, resident",
         FULL_HD,
         .element = GRAPHCUT "480,270,960,540",
         .backend = "cuda",
         .cuda_memory = TRUE,
         .object = TRUE},
        {.name = "gpugraphcut, system memory, backend=cuda",
         FULL_HD,
         .element = GRAPHCUT "480,270,960,540",
         .backend = "cuda",
         .cuda_memory = FALSE,
         .object = TRUE},
        {.name = "gpugraphcut, system memory, backend=cpu",
         FULL_HD,
         .element = GRAPHCUT "480,270,960,540",
         .backend = "cpu",
         .cuda_memory = FALSE,
         .object = TRUE},
        {.name = "gpugraphcut, CUDAMemory, resident",
         VGA,
         .element = GRAPHCUT "160,120,320,240",
         .backend = "cuda",
         .cuda_memory = TRUE,
         .object = TRUE},
        {.name = "gpugraphcut, system memory, backend=cuda",
         VGA,
         .element = GRAPHCUT "160,120,320,240",
         .backend = "cuda",
         .cuda_memory = FALSE,
         .object = TRUE},
        {.name = "gpugraphcut, system memory, backend=cpu",
         VGA,
         .element = GRAPHCUT "160,120,320,240",
         .backend = "cpu",
         .cuda_memory = FALSE,
         .object = TRUE},
    };
    const guint n = G_N_ELEMENTS(results);
    gboolean written = TRUE, failed = FALSE;
    if (!parse(&argc, &argv))
        return 2;
    for (guint i = 0; i < n; i++)
        run(&results[i]);
    print_table(results, n);
    if (json_path)
        written = write_json(results, n);
    for (guint i = 0; i < n; i++) {
        failed = failed || results[i].failed;
        g_free(results[i].skipped);
        g_free(results[i].failed);
    }
    g_free(json_path);
    g_free(clip_path);
    return written && !failed ? 0 : 1;
}
