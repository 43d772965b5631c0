/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames a second through the elements, one by one and all five, and how long a frame takes:
 *
 *     rate [--json FILE] [--clip FILE] [--seconds S] [--only TEXT] [--devices N]
 *
 * Frames lie in memory and are pushed again and again, or are decoded from the clip, which is
 * H.264 in any container; from it come frames in memory, too. A rate is the median of slices of
 * the time, with the quartiles beside it. Beside it stand the rate of the same pipeline without
 * the elements, and on a GPU the time that the library alone takes for their work.
 *
 * With --devices the rows are others: pipelines on one GPU, and on that many, without a clip.
 */
#include <gpuvision/context.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include "bench.h"

#ifdef HAVE_CUDA
#    include "rate_library.h"
#endif

#define SLICES 10
#define MAX_PIPELINES 16

static const struct {
    const gchar *name, *format;
    gint width, height;
} sizes[] = {{"1920x1080 NV12", "NV12", 1920, 1080},
             {"3840x2160 NV12", "NV12", 3840, 2160},
             {"640x480 NV12", "NV12", 640, 480},
             {"1920x1080 P010", "P010_10LE", 1920, 1080}};
enum { full_hd, uhd, vga, ten_bits };

/* Where frames come from. */
typedef enum {
    RESIDENT,      /* in CUDAMemory */
    CLIP_RESIDENT, /* some of the clip */
    UPLOADED,      /* in system memory, and the elements compute on the GPU */
    HOST,          /* in system memory, and they compute on the CPU */
    DECODED        /* by nvh264dec, in CUDAMemory */
} Source;

static gint devices; /* 0: the rows are of one */
static gchar *clip_path;

typedef struct {
    const Subject *subject;
    Source source;
    guint size;
    guint pipelines;     /* 0: one */
    guint devices;       /* that they are dealt out to; 0: the first of all */
    gboolean own;        /* each of them has a CUDA context of its own */
    gboolean no_results; /* they are neither attached nor posted */
    gboolean queues;     /* between the elements, so that each has a thread */
} Case;

typedef struct {
    Row row;
    Case of;
    gdouble with[3], without[3]; /* frames a second: median, quartiles */
    gdouble latency[2];          /* us of a frame: median, 99th percentile */
    gdouble library;             /* us a frame, of the library alone; 0: not measured */
} Result;

/* ---- figures ---- */

static const gdouble of_rates[] = {0.5, 0.25, 0.75}, of_latencies[] = {0.5, 0.99};

/* ---- what runs ---- */

static gboolean on_gpu(const Case *of) {
    return of->source != HOST;
}

static gboolean in_cuda_memory(const Case *of) {
    return of->source != HOST && of->source != UPLOADED;
}

static gboolean of_clip(const Case *of) {
    return of->source == CLIP_RESIDENT || of->source == DECODED;
}

static guint count_of(const Case *of) {
    return MAX(of->pipelines, 1);
}

static const gchar *plural(guint n) {
    return n == 1 ? "" : "s";
}

static gchar *name_of(const Case *of) {
    static const gchar *const sources[] = {"resident", "resident frames of the clip",
                                           "from system memory", "on the CPU", "behind nvh264dec"};
    GString *name = g_string_new(of->subject->name);
    g_string_append_printf(name, ", %s", sources[of->source]);
    if (of->no_results)
        g_string_append(name, ", without results");
    if (of->queues)
        g_string_append(name, ", queues between");
    if (of->pipelines)
        g_string_append_printf(name, ", %u pipeline%s", of->pipelines, plural(of->pipelines));
    if (of->own)
        g_string_append(name, " with a context each");
    if (of->devices)
        g_string_append_printf(name, " on %u GPU%s", of->devices, plural(of->devices));
    return g_string_free(name, FALSE);
}

static const gchar *image_of(const Case *of) {
    return of_clip(of) ? "clip" : sizes[of->size].name;
}

/* Where an element computes. */
static gchar *backend_of(const Case *of, guint device) {
    if (!on_gpu(of))
        return g_strdup("backend=cpu");
    return of->devices ? g_strdup_printf("backend=cuda cuda-device-id=%u", device)
                       : g_strdup("backend=cuda");
}

/* Of each element what the case says: "a ! b" becomes "a PROPERTIES ! b PROPERTIES". */
static gchar *describe(const Case *of, guint device) {
    gchar **elements = g_strsplit(of->subject->description, " ! ", -1);
    g_autofree gchar *backend = backend_of(of, device);
    gchar *description;
    for (gchar **element = elements; *element; element++) {
        GString *text = g_string_new(*element);
        g_string_append_printf(text, " %s", backend);
        if (of->no_results)
            g_string_append(text, " attach-meta=false");
        if (g_str_has_prefix(*element, "gpugraphcut") && !of_clip(of)) {
            g_autofree gchar *rect = rect_in(sizes[of->size].width, sizes[of->size].height);
            g_string_append_printf(text, " %s", rect);
        }
        g_free(*element);
        *element = g_string_free(text, FALSE);
    }
    description = g_strjoinv(of->queues ? " ! queue ! " : " ! ", elements);
    g_strfreev(elements);
    return description;
}

/* ---- pushing ---- */

static gboolean make_frames_of(const Case *of, guint device, Frames *frames, GstContext **context) {
    g_autofree gchar *backend = backend_of(of, device);
    GstCaps *caps = frame_caps(sizes[of->size].format, sizes[of->size].width,
                               sizes[of->size].height, 60, in_cuda_memory(of));
    return make_frames(caps, of->subject->cuts, backend, frames, context);
}

typedef struct {
    Chain chain;
    Frames frames;
    gdouble time;      /* s */
    GArray *latencies; /* NULL: they are not kept */
    gdouble rate;
    gboolean flows;
} Push;

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

static gpointer push_for(gpointer data) {
    Push *push = data;
    const gdouble begin = now();
    gdouble last = begin;
    guint frames = 0;
    do {
        GstBuffer *frame = gst_buffer_ref(push->frames.buffers[frames++ % BUFFERS]);
        gdouble next, us;
        push->flows = gst_pad_push(push->chain.pad, frame) == GST_FLOW_OK;
        next = now();
        us = (next - last) * G_USEC_PER_SEC;
        if (push->latencies)
            g_array_append_val(push->latencies, us);
        last = next;
    } while (push->flows && last < begin + push->time);
    finish(&push->chain);
    push->rate = frames / (now() - begin);
    return NULL;
}

/* All at once, each from a thread of its own. Returns frames a second of all, or 0. */
static gdouble push_all(Push *pushes, guint n) {
    GThread *threads[MAX_PIPELINES];
    gdouble rate = 0;
    gboolean flows = TRUE;
    for (guint i = 0; i < n; i++)
        threads[i] = g_thread_new("push", push_for, &pushes[i]);
    for (guint i = 0; i < n; i++) {
        g_thread_join(threads[i]);
        rate += pushes[i].rate;
        flows = flows && pushes[i].flows;
    }
    return flows ? rate : 0;
}

static gboolean measure(Push *pushes, guint n, gdouble time, gdouble *rate) {
    g_autoptr(GArray) rates = new_values();
    GArray *latencies = pushes[0].latencies;
    gdouble one;
    for (guint i = 0; i < n; i++) {
        pushes[i].time = time / SLICES;
        pushes[i].latencies = NULL;
    }
    one = push_all(pushes, n); /* warms up */
    for (guint i = 0; i < n; i++)
        pushes[i].latencies = latencies ? new_values() : NULL;
    for (guint i = 0; i < SLICES && one > 0; i++) {
        one = push_all(pushes, n);
        g_array_append_val(rates, one);
    }
    for (guint i = 0; i < n && latencies; i++) {
        g_array_append_vals(latencies, pushes[i].latencies->data, pushes[i].latencies->len);
        g_array_unref(pushes[i].latencies);
        pushes[i].latencies = NULL;
    }
    if (one > 0)
        quantiles(rates, of_rates, 3, rate);
    return one > 0;
}

static gboolean take_clip_frames(Frames *frames, gchar **failed);

/* Opens a pipeline, and gives it frames. The context is that of the device's pipelines before. */
static gboolean push_open(Result *result, Push *push, guint device, GstContext **context) {
    const Case *of = &result->of;
    g_autofree gchar *description = describe(of, device);
    g_autofree gchar *elements = g_strconcat(description, " ! ", NULL);
    gboolean taken = of->source == CLIP_RESIDENT
                         ? take_clip_frames(&push->frames, &result->row.failed)
                         : make_frames_of(of, device, &push->frames, context);
    if (taken) {
        taken = chain_open(&push->chain, elements, push->frames.caps, *context);
        if (!taken)
            result->row.failed = error_of(push->chain.pipeline);
    } else if (!result->row.failed) {
        result->row.failed = g_strdup("no frames could be made");
    }
    if (of->own)
        g_clear_pointer(context, gst_context_unref);
    return taken;
}

static void measure_library(Result *result, Frames *frames) {
#ifdef HAVE_CUDA
    g_autofree gchar *description = describe(&result->of, 0);
    g_autoptr(GArray) us = new_values();
    GstVideoInfo info;
    if (gst_video_info_from_caps(&info, frames->caps))
        result->row.failed =
            library_us(description, &info, frames->buffers, BUFFERS, seconds / 4, us);
    quantiles(us, of_rates, 1, &result->library);
#else
    (void)result;
    (void)frames;
#endif
}

static void run_pushes(Result *result) {
    const guint n = count_of(&result->of), n_devices = MAX(result->of.devices, 1);
    Push pushes[MAX_PIPELINES] = {0};
    g_autoptr(GArray) latencies = new_values();
    GstContext *contexts[MAX_PIPELINES] = {NULL};
    guint open = 0;
    while (open < n &&
           push_open(result, &pushes[open], open % n_devices, &contexts[open % n_devices]))
        open++;
    for (guint i = 0; i < n_devices; i++)
        g_clear_pointer(&contexts[i], gst_context_unref);
    pushes[0].latencies = latencies;
    if (open == n && !measure(pushes, n, seconds, result->with))
        result->row.failed = error_of(pushes[0].chain.pipeline);
    for (guint i = 0; i < n; i++)
        if (pushes[i].chain.pipeline)
            chain_close(&pushes[i].chain);
    pushes[0].latencies = NULL;
    for (guint i = 0; i < n && !result->row.failed; i++)
        if (!chain_open(&pushes[i].chain, "", pushes[i].frames.caps, NULL))
            result->row.failed = error_of(pushes[i].chain.pipeline);
    if (!result->row.failed && !measure(pushes, n, seconds / 4, result->without))
        result->row.failed = error_of(pushes[0].chain.pipeline);
    for (guint i = 0; i < n && !result->row.failed; i++)
        chain_close(&pushes[i].chain);
    /* It computes on the first device, whatever the elements are told. */
    if (!result->row.failed && in_cuda_memory(&result->of) && n == 1 && !result->of.devices)
        measure_library(result, &pushes[0].frames);
    for (guint i = 0; i < n; i++)
        frames_clear(&pushes[i].frames);
    quantiles(latencies, of_latencies, 2, result->latency);
}

/* ---- the clip through the decoder ---- */

#define MAX_DECODED 65536 /* of the frames whose times are kept */
#define DECODED_TAKEN 5   /* every so manieth frame is one of those in memory */

typedef struct {
    gdouble entered[MAX_DECODED]; /* s */
    guint entries, frames;
    gdouble first, last;
    GArray *latencies;
    Frames *taken; /* NULL: none */
} Watch;

static GstPadProbeReturn enter(G_GNUC_UNUSED GstPad *pad, G_GNUC_UNUSED GstPadProbeInfo *probe,
                               gpointer data) {
    Watch *watch = data;
    if (watch->entries < MAX_DECODED)
        watch->entered[watch->entries++] = now();
    return GST_PAD_PROBE_OK;
}

static void take(Frames *frames, GstPad *pad, GstBuffer *buffer, guint number) {
    if (number % DECODED_TAKEN != 0 || number / DECODED_TAKEN >= BUFFERS)
        return;
    if (!frames->caps)
        frames->caps = gst_pad_get_current_caps(pad);
    frames->buffers[number / DECODED_TAKEN] = gst_buffer_ref(buffer);
}

static GstPadProbeReturn leave(GstPad *pad, GstPadProbeInfo *probe, gpointer data) {
    Watch *watch = data;
    watch->last = now();
    if (watch->frames < MAX_DECODED && watch->latencies) {
        const gdouble us = (watch->last - watch->entered[watch->frames]) * G_USEC_PER_SEC;
        g_array_append_val(watch->latencies, us);
    }
    if (watch->taken)
        take(watch->taken, pad, GST_PAD_PROBE_INFO_BUFFER(probe), watch->frames);
    if (watch->frames++ == 0)
        watch->first = watch->last;
    return GST_PAD_PROBE_OK;
}

/* Frames a second from the first frame to the last, or 0 and why. */
static gdouble decode(const gchar *elements, Watch *watch, gchar **failed) {
    g_autofree gchar *description = g_strdup_printf(
        "filesrc name=file ! parsebin ! nvh264dec ! video/x-raw(memory:CUDAMemory) ! "
        "queue name=decoded max-size-buffers=4 ! %sfakesink name=sink sync=false",
        elements);
    g_autoptr(GstElement) pipeline = gst_parse_launch(description, NULL);
    g_autoptr(GstElement) file = gst_bin_get_by_name(GST_BIN(pipeline), "file");
    gdouble rate = 0;
    g_object_set(file, "location", clip_path, NULL);
    watch_pad(pipeline, "decoded", "src", enter, watch);
    watch_pad(pipeline, "sink", "sink", leave, watch);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    *failed = wait_for_the_end(pipeline);
    if (!*failed && watch->frames > 1)
        rate = (watch->frames - 1) / (watch->last - watch->first);
    else if (!*failed)
        *failed = g_strdup("the clip has one frame");
    gst_element_set_state(pipeline, GST_STATE_NULL);
    return rate;
}

static gboolean take_clip_frames(Frames *frames, gchar **failed) {
    g_autofree Watch *watch = g_new0(Watch, 1);
    watch->taken = frames;
    decode("", watch, failed);
    if (!*failed && watch->frames <= (BUFFERS - 1) * DECODED_TAKEN)
        *failed = g_strdup_printf("the clip has %u frames, and %d are needed", watch->frames,
                                  (BUFFERS - 1) * DECODED_TAKEN + 1);
    return !*failed;
}

/* In turn with the elements and without them. */
static void run_clip(Result *result) {
    g_autoptr(GArray) with = new_values(), without = new_values(), latencies = new_values();
    g_autofree gchar *description = describe(&result->of, 0);
    g_autofree gchar *elements = g_strconcat(description, " ! ", NULL);
    const gdouble begin = now();
    for (guint i = 0; !result->row.failed && (i < 6 || now() < begin + seconds); i++) {
        g_autofree Watch *watch = g_new0(Watch, 1);
        gdouble rate;
        watch->latencies = i % 2 == 0 ? latencies : NULL;
        rate = decode(i % 2 == 0 ? elements : "", watch, &result->row.failed);
        g_array_append_val(i % 2 == 0 ? with : without, rate);
    }
    if (!result->row.failed) {
        quantiles(with, of_rates, 3, result->with);
        quantiles(without, of_rates, 3, result->without);
        quantiles(latencies, of_latencies, 2, result->latency);
    }
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

static void print_head(void) {
    g_print("%-56s %-17s %28s %12s %16s %12s\n", "frames per second", "image",
            "with them (quartiles)", "without", "us p50, p99", "library us");
}

static void print_row(const Result *r) {
    if (print_name(&r->row))
        g_print("%8.0f (%8.0f to %6.0f) %12.0f %8.0f %7.0f %12.1f\n", r->with[0], r->with[1],
                r->with[2], r->without[0], r->latency[0], r->latency[1], r->library);
}

static void add_json(GString *json, gconstpointer row) {
    const Result *r = row;
    if (!add_name(json, &r->row))
        return;
    g_string_append_printf(json, ", \"frames_per_s\": [%.1f, %.1f, %.1f]", r->with[0], r->with[1],
                           r->with[2]);
    g_string_append_printf(json, ", \"without_element\": [%.1f, %.1f, %.1f]", r->without[0],
                           r->without[1], r->without[2]);
    g_string_append_printf(json, ", \"latency_us\": [%.1f, %.1f]", r->latency[0], r->latency[1]);
    if (r->library > 0)
        g_string_append_printf(json, ", \"library_us\": %.1f", r->library);
}

static gboolean parse(int *argc, char ***argv) {
    const GOptionEntry entries[] = {
        {"clip", 0, 0, G_OPTION_ARG_FILENAME, &clip_path, "Decode this H.264 video", "FILE"},
        {"devices", 0, 0, G_OPTION_ARG_INT, &devices, "Pipelines on one GPU and on that many", "N"},
        {NULL, 0, 0, 0, NULL, NULL, NULL}};
    seconds = 1;
    if (!parse_options(entries, argc, argv))
        return FALSE;
    if (devices != 0 && (devices < 2 || devices > MAX_PIPELINES)) {
        g_printerr("--devices takes 2 to %d, but %d was given\n", MAX_PIPELINES, devices);
        return FALSE;
    }
    return TRUE;
}

/* ---- the rows ---- */

static gchar *why_not(const Case *of) {
    if (on_gpu(of) && !gpv_backend_available(GPV_BACKEND_CUDA))
        return g_strdup("there is no CUDA device");
#ifdef HAVE_CUDA
    if (of->devices > count_cuda_devices())
        return g_strdup_printf("there are not %u CUDA devices", of->devices);
#endif
    if (in_cuda_memory(of) && !built_with_cuda())
        return g_strdup("the elements are built without gstreamer-cuda");
    return of_clip(of) ? g_strdup(why_no_clip()) : NULL;
}

static void run(GArray *results, Case of) {
    Result result = {.row = {.name = name_of(&of), .image = image_of(&of)}, .of = of};
    if (!is_wanted(&result.row)) {
        g_free(result.row.name);
        return;
    }
    result.row.skipped = why_not(&of);
    if (!result.row.skipped && of.source == DECODED)
        run_clip(&result);
    else if (!result.row.skipped)
        run_pushes(&result);
    print_row(&result);
    g_array_append_val(results, result);
}

static void run_subject(GArray *results, const Subject *subject) {
    static const guint many[] = {4, MAX_PIPELINES};
    const gboolean all = g_str_equal(subject->name, "all five");
    run(results, (Case){subject, .source = UPLOADED});
    run(results, (Case){subject, .source = HOST});
    run(results, (Case){subject, .source = RESIDENT});
    run(results, (Case){subject, .source = RESIDENT, .no_results = TRUE});
    run(results, (Case){subject, .source = RESIDENT, .size = uhd});
    run(results, (Case){subject, .source = RESIDENT, .size = ten_bits});
    run(results, (Case){subject, .source = CLIP_RESIDENT});
    run(results, (Case){subject, .source = DECODED});
    if (all)
        run(results, (Case){subject, .source = DECODED, .queues = TRUE});
    for (guint i = 0; i < G_N_ELEMENTS(many); i++)
        run(results, (Case){subject, .source = RESIDENT, .pipelines = many[i]});
    if (all)
        run(results, (Case){subject, .source = RESIDENT, .pipelines = MAX_PIPELINES, .own = TRUE});
    if (g_str_equal(subject->name, "gpugraphcut"))
        for (Source source = RESIDENT; source <= HOST; source++)
            if (source != CLIP_RESIDENT)
                run(results, (Case){subject, .source = source, .size = vga});
}

/* What more GPUs add: a pipeline on each, and as many as there may be on all together. */
static void run_subject_on(GArray *results, const Subject *subject, guint n) {
    run(results, (Case){subject, .source = RESIDENT, .pipelines = 1, .devices = 1});
    run(results, (Case){subject, .source = RESIDENT, .pipelines = n, .devices = n});
    run(results, (Case){subject, .source = RESIDENT, .pipelines = MAX_PIPELINES, .devices = 1});
    run(results, (Case){subject, .source = RESIDENT, .pipelines = MAX_PIPELINES, .devices = n});
}

int main(int argc, char **argv) {
    GArray *results = g_array_new(FALSE, FALSE, sizeof(Result));
    if (!parse(&argc, &argv))
        return 2;
    print_head();
    for (guint i = 0; i < G_N_ELEMENTS(subjects); i++)
        if (devices)
            run_subject_on(results, &subjects[i], (guint)devices);
        else
            run_subject(results, &subjects[i]);
    g_free(clip_path);
    return end_of_rows(results, add_json);
}
