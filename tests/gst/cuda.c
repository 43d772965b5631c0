/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The base class of the elements on CUDAMemory, by gpuerode: frames, contexts and pools; what each
 * element leaves behind; the outputs of gpuccl, gpukmeans and gpugraphcut; what gpusift finds and
 * draws; and 16 pipelines of all five at once. What comes out has to be what the CPU makes of the
 * same frames in system memory.
 *
 *     gst-cuda PART    GPV_TEST_ROUNDS says how often changes, cycles, starts and pipelines do what
 *                      they do. With GPV_TEST_EMULATED there has to be a device, which is emulated
 */
#include "clip.h"
#include "cuda_frames.h"
#include "library.h"

#include <glib/gstdio.h>
#include <gmodule.h>
#include <pthread.h>

enum { cuda_formats = G_N_ELEMENTS(formats) - 1 }; /* all but GRAY8 */

static const gint cuda_sizes[][2] = {{1, 1},   {1, 7},     {7, 1},     {2, 2},
                                     {17, 13}, {641, 479}, {642, 479}, {1920, 1080}};

/* ---- the element and its model ---- */

typedef struct {
    GstHarness *tested, *model; /* on CUDA, on the CPU */
} Pair;

static Pair pair_of(const gchar *name, GstCudaContext *context) {
    GstElement *element = element_new(name, "cuda");
    Pair pair;
    if (context) {
        GstContext *given = gst_context_new_cuda_context(context);
        gst_element_set_context(element, given);
        gst_context_unref(given);
    }
    pair.tested = harness_with(element);
    pair.model = harness_with(element_new(name, "cpu"));
    return pair;
}

static Pair pair_new(GstCudaContext *context) {
    return pair_of("gpuerode", context);
}

static void set_pair_output(Pair *pair, const gchar *output) {
    set_output(pair->tested, output);
    set_output(pair->model, output);
}

/* Of each element the output that has the format of the input. */
static const struct {
    const gchar *name, *output;
} drawing[] = {{"gpuerode", NULL},
               {"gpuccl", "colorize"},
               {"gpukmeans", "quantized"},
               {"gpusift", "rich"},
               {"gpugraphcut", "overlay"}};

/* gpuccl has no colours in GRAY8. */
static guint draws_in_formats(gint element) {
    return g_str_equal(drawing[element].name, "gpuccl") ? cuda_formats : G_N_ELEMENTS(formats);
}

static Pair drawing_pair(gint element, GstCudaContext *context) {
    Pair pair = pair_of(drawing[element].name, context);
    if (drawing[element].output)
        set_pair_output(&pair, drawing[element].output);
    return pair;
}

static void pair_free(Pair *pair) {
    gst_harness_teardown(pair->tested);
    gst_harness_teardown(pair->model);
}

static void set_pair_info(Pair *pair, const GstVideoInfo *info, gboolean cuda) {
    gst_harness_set_src_caps(pair->tested, cuda ? cuda_caps(info) : gst_video_info_to_caps(info));
    gst_harness_set_src_caps(pair->model, gst_video_info_to_caps(info));
}

/* Takes the frame, which holds what frame in system memory holds. Returns what came out. */
static GstBuffer *push_both(Pair *pair, const GstVideoInfo *info, GstBuffer *cuda,
                            GstBuffer *frame) {
    GstBuffer *out = push_and_pull(pair->tested, gst_buffer_ref(cuda));
    GstBuffer *expected = push_and_pull(pair->model, gst_buffer_ref(frame));
    GstBuffer *got = random_frame(info);
    copy(info, out, got);
    assert_same(info, got, expected);
    gst_buffer_unref(cuda); /* not before, as to free CUDA memory is to wait */
    gst_buffer_unref(got);
    gst_buffer_unref(expected);
    return out;
}

/* Takes the buffer and fills it. Returns the context of what came out. */
static GstCudaContext *check_frame(Pair *pair, const GstVideoInfo *info, GstBuffer *cuda) {
    GstBuffer *frame = random_frame(info), *out;
    GstCudaContext *context;
    copy(info, frame, cuda);
    out = push_both(pair, info, cuda, frame);
    context = memory_of(out)->context;
    gst_buffer_unref(out);
    gst_buffer_unref(frame);
    return context;
}

static guint64 stat_of(GstHarness *h, const gchar *name) {
    GstStructure *stats = NULL;
    guint64 value = 0;
    g_object_get(h->element, "stats", &stats, NULL);
    fail_unless_equals_string(gst_structure_get_string(stats, "backend"), "cuda");
    fail_unless(gst_structure_get_uint64(stats, name, &value));
    gst_structure_free(stats);
    return value;
}

/* ---- what is left behind ---- */

typedef struct {
    gsize device_bytes;
    guint threads;
} Use;

static guint count_threads(void) {
    GDir *tasks = g_dir_open("/proc/self/task", 0, NULL);
    guint count = 0;
    while (g_dir_read_name(tasks))
        count++;
    g_dir_close(tasks);
    return count;
}

/* The emulated device, where every object takes 4 KiB, has nothing of its own that grows. */
static gsize allowed_growth(void) {
    return g_getenv("GPV_TEST_EMULATED") ? 16 << 10 : 2 << 20;
}

/* libgstcuda has no cuMemGetInfo(). */
static Use use_now(GstCudaContext *context) {
    static CUresult(CUDAAPI * get_info)(gsize * unused, gsize * total);
    gsize unused = 0, total = 0;
    Use use;
    if (!get_info) {
        GModule *driver = g_module_open("libcuda.so.1", G_MODULE_BIND_LAZY);
        fail_unless(driver != NULL);
        fail_unless(g_module_symbol(driver, "cuMemGetInfo_v2", (gpointer *)&get_info));
    }
    fail_unless(gst_cuda_context_push(context));
    fail_unless_equals_int(get_info(&unused, &total), CUDA_SUCCESS);
    gst_cuda_context_pop(NULL);
    use.device_bytes = total - unused;
    use.threads = count_threads();
    return use;
}

/* ---- pixels ---- */

/* Every format and size, as libgstcuda lays it out and with odd strides and offsets. */
GST_START_TEST(test_formats) {
    GstCudaContext *context = new_context();
    Pair pair = pair_new(context);
    for (guint s = 0; s < G_N_ELEMENTS(cuda_sizes); s++) {
        GstVideoInfo info = make_info(formats[__i__], cuda_sizes[s][0], cuda_sizes[s][1]);
        set_pair_info(&pair, &info, TRUE);
        fail_unless(check_frame(&pair, &info, cuda_buffer(context, &info)) == context);
        fail_unless(check_frame(&pair, &info, padded_cuda_buffer(context, &info)) == context);
    }
    fail_unless_equals_uint64(stat_of(pair.tested, "frames"), 2 * G_N_ELEMENTS(cuda_sizes));
    fail_unless_equals_uint64(stat_of(pair.tested, "uploads"), 0);
    fail_unless_equals_uint64(stat_of(pair.tested, "downloads"), 0);
    pair_free(&pair);
    gst_object_unref(context);
}
GST_END_TEST

static void check_system_frame(Pair *pair, const GstVideoInfo *info) {
    GstBuffer *frame = random_padded_frame(info);
    GstBuffer *got = push_and_pull(pair->tested, gst_buffer_ref(frame));
    GstBuffer *expected = push_and_pull(pair->model, frame);
    assert_same(info, got, expected);
    gst_buffer_unref(got);
    gst_buffer_unref(expected);
}

/* The first is the largest. Every second one is in CUDAMemory. */
static void change(Pair *pair, GstCudaContext *context, gint element, gint number) {
    const gboolean cuda = number % 2;
    const guint n = cuda ? cuda_formats : draws_in_formats(element);
    GstVideoInfo info =
        make_info(formats[(guint)number * 5 % n], 50 - number * 37 % 50, 39 - number * 53 % 39);
    set_pair_info(pair, &info, cuda);
    if (cuda)
        fail_unless(check_frame(pair, &info, cuda_buffer(context, &info)) == context);
    else
        check_system_frame(pair, &info);
}

/*
 * Row 20 of docs/reliability.md. gpusift draws where the frame is. The pools that are there when
 * memory is looked at are those of the same two changes.
 */
GST_START_TEST(test_renegotiation_between_memories) {
    const gint changes = (gint)rounds(1000, 1000, 200), warm_up = MIN(2 * changes, 100);
    const gint all = warm_up + changes + 4;
    GstCudaContext *context = new_context();
    Pair pair = drawing_pair(__i__, context);
    Use before, after;
    for (gint i = 0; i < warm_up; i++)
        change(&pair, context, __i__, i);
    for (gint i = 0; i < 2; i++)
        change(&pair, context, __i__, i);
    before = use_now(context);
    for (gint i = warm_up; i < warm_up + changes; i++)
        change(&pair, context, __i__, i);
    for (gint i = 0; i < 2; i++)
        change(&pair, context, __i__, i);
    after = use_now(context);
    g_print("%s: %d changes: device memory %+" G_GINT64_FORMAT " bytes\n", drawing[__i__].name,
            changes, (gint64)after.device_bytes - (gint64)before.device_bytes);
    fail_unless(after.device_bytes <= before.device_bytes + allowed_growth());
    fail_unless_equals_uint64(stat_of(pair.tested, "frames"), all);
    fail_unless_equals_uint64(stat_of(pair.tested, "uploads"), (all + 1) / 2);
    fail_unless_equals_uint64(stat_of(pair.tested, "downloads"),
                              g_str_equal(drawing[__i__].name, "gpusift") ? 0 : (all + 1) / 2);
    pair_free(&pair);
    gst_object_unref(context);
}
GST_END_TEST

/* From GStreamer 1.24 on, of a stream of its own. */
static GstBuffer *streamed_buffer(GstCudaContext *context, const GstVideoInfo *info) {
#if GST_CHECK_VERSION(1, 24, 0)
    GstCudaStream *stream = gst_cuda_stream_new(context);
    GstBufferPool *pool = gst_cuda_buffer_pool_new(context);
    GstStructure *config;
    GstBuffer *buffer;
    configure_pool(pool, cuda_caps(info), info->size);
    config = gst_buffer_pool_get_config(pool);
    gst_buffer_pool_config_set_cuda_stream(config, stream);
    fail_unless(gst_buffer_pool_set_config(pool, config));
    buffer = acquire(pool);
    fail_unless(gst_cuda_memory_get_stream(memory_of(buffer)) == stream);
    gst_buffer_pool_set_active(pool, FALSE);
    gst_object_unref(pool);
    gst_cuda_stream_unref(stream);
    return buffer;
#else
    return cuda_buffer(context, info);
#endif
}

/* What the CPU has written into the buffer is uploaded when it is mapped. */
GST_START_TEST(test_pending_upload) {
    GstCudaContext *context = new_context();
    GstVideoInfo info = make_info("NV12", 64, 48);
    Pair pair = pair_new(context);
    GstBuffer *frame = random_frame(&info), *cuda = streamed_buffer(context, &info);
    set_pair_info(&pair, &info, TRUE);
    copy_mapped(&info, frame, cuda);
    gst_buffer_unref(push_both(&pair, &info, cuda, frame));
    gst_buffer_unref(frame);
    pair_free(&pair);
    gst_object_unref(context);
}
GST_END_TEST

/* System memory, and a plane outside the buffer. */
GST_START_TEST(test_wrong_buffers) {
    GstCudaContext *context = new_context();
    GstVideoInfo info = make_info("I420", 64, 48);
    for (guint i = 0; i < 2; i++) {
        Pair pair = pair_new(context);
        GstBuffer *buffer = i == 0 ? random_frame(&info) : padded_cuda_buffer(context, &info);
        if (i == 1)
            gst_buffer_get_video_meta(buffer)->stride[2] += 1 << 20;
        assert_buffer_refused(pair.tested, cuda_caps(&info), buffer);
        pair_free(&pair);
    }
    gst_object_unref(context);
}
GST_END_TEST

/* ---- outputs ---- */

static void assert_same_luma(const GstVideoFrame *got, const GstVideoFrame *expected, gsize bytes) {
    for (gint y = 0; y < GST_VIDEO_FRAME_HEIGHT(got); y++)
        fail_unless(memcmp((guint8 *)GST_VIDEO_FRAME_PLANE_DATA(got, 0) +
                               y * GST_VIDEO_FRAME_PLANE_STRIDE(got, 0),
                           (guint8 *)GST_VIDEO_FRAME_PLANE_DATA(expected, 0) +
                               y * GST_VIDEO_FRAME_PLANE_STRIDE(expected, 0),
                           bytes) == 0,
                    "row %d", y);
}

/* 128 in the last byte of every sample, 0 in the others. */
static void assert_neutral_chroma(const GstVideoFrame *frame, gsize sample) {
    gsize bytes, rows;
    plane_size(&frame->info, 1, &bytes, &rows);
    for (gsize y = 0; y < rows; y++) {
        const guint8 *row = (guint8 *)GST_VIDEO_FRAME_PLANE_DATA(frame, 1) +
                            y * (gsize)GST_VIDEO_FRAME_PLANE_STRIDE(frame, 1);
        for (gsize i = 0; i < bytes; i++)
            if (row[i] != (i % sample == sample - 1 ? 128 : 0))
                fail("chroma of row %" G_GSIZE_FORMAT, y);
    }
}

/* What is grey in system memory is the Y of yuv in CUDAMemory. Takes the buffers. */
static void assert_same_values(const gchar *grey, const gchar *yuv, const GstVideoInfo *info,
                               GstBuffer *got, GstBuffer *expected) {
    const GstVideoInfo grey_info = make_info(grey, info->width, info->height);
    const GstVideoInfo yuv_info = make_info(yuv, info->width, info->height);
    const gsize sample = (gsize)GST_VIDEO_INFO_COMP_PSTRIDE(&grey_info, 0);
    GstBuffer *down = random_frame(&yuv_info);
    GstVideoFrame a, b;
    copy(&yuv_info, got, down);
    fail_unless(gst_video_frame_map(&a, &yuv_info, down, GST_MAP_READ));
    fail_unless(gst_video_frame_map(&b, &grey_info, expected, GST_MAP_READ));
    assert_same_luma(&a, &b, (gsize)info->width * sample);
    assert_neutral_chroma(&a, sample);
    gst_video_frame_unmap(&a);
    gst_video_frame_unmap(&b);
    gst_buffer_unref(down);
    gst_buffer_unref(got);
    gst_buffer_unref(expected);
}

static void check_values(Pair *pair, GstCudaContext *context, const GstVideoInfo *info,
                         const gchar *output, const gchar *grey, const gchar *yuv) {
    const gchar *name = GST_OBJECT_NAME(gst_element_get_factory(pair->model->element));
    GstBuffer *frame = random_padded_frame(info), *cuda = padded_cuda_buffer(context, info);
    GstBuffer *got, *expected;
    set_pair_output(pair, output);
    copy(info, frame, cuda);
    got = push_and_pull(pair->tested, gst_buffer_ref(cuda));
    expected = push_and_pull(pair->model, frame);
    fail_unless(gst_structure_is_equal(results_of(got, name), results_of(expected, name)));
    fail_unless(memory_of(got)->context == context);
    assert_same_values(grey, yuv, info, got, expected);
    gst_buffer_unref(cuda);
}

GST_START_TEST(test_ccl_outputs) {
    GstCudaContext *context = new_context();
    Pair pair = pair_of("gpuccl", context);
    for (guint s = 0; s < G_N_ELEMENTS(cuda_sizes); s++) {
        GstVideoInfo info = make_info(formats[__i__], cuda_sizes[s][0], cuda_sizes[s][1]);
        set_pair_info(&pair, &info, TRUE);
        set_pair_output(&pair, "colorize");
        fail_unless(check_frame(&pair, &info, cuda_buffer(context, &info)) == context);
        check_values(&pair, context, &info, "mask", "GRAY8", "NV12");
        check_values(&pair, context, &info, "labels", "GRAY16_LE", "P016_LE");
        set_pair_output(&pair, "none");
        fail_unless(check_frame(&pair, &info, padded_cuda_buffer(context, &info)) == context);
    }
    fail_unless_equals_uint64(stat_of(pair.tested, "uploads"), 0);
    fail_unless_equals_uint64(stat_of(pair.tested, "downloads"), 0);
    pair_free(&pair);
    gst_object_unref(context);
}
GST_END_TEST

/* Each frame starts from the one before, on both. */
GST_START_TEST(test_kmeans_outputs) {
    GstCudaContext *context = new_context();
    Pair pair = pair_of("gpukmeans", context);
    for (guint s = 0; s < G_N_ELEMENTS(cuda_sizes); s++) {
        GstVideoInfo info = make_info(formats[__i__], cuda_sizes[s][0], cuda_sizes[s][1]);
        set_pair_info(&pair, &info, TRUE);
        set_pair_output(&pair, "quantized");
        fail_unless(check_frame(&pair, &info, cuda_buffer(context, &info)) == context);
        check_values(&pair, context, &info, "labels", "GRAY8", "NV12");
    }
    fail_unless_equals_uint64(stat_of(pair.tested, "uploads"), 0);
    fail_unless_equals_uint64(stat_of(pair.tested, "downloads"), 0);
    pair_free(&pair);
    gst_object_unref(context);
}
GST_END_TEST

/* RGBA of any format, in either memory. */
static void check_cutout(Pair *pair, GstCudaContext *context, const GstVideoInfo *info) {
    const GstVideoInfo rgba = make_info("RGBA", info->width, info->height);
    GstBuffer *frame = random_padded_frame(info), *cuda = padded_cuda_buffer(context, info);
    GstBuffer *down = random_frame(&rgba), *got, *expected;
    set_pair_output(pair, "cutout");
    copy(info, frame, cuda);
    got = push_and_pull(pair->tested, cuda);
    expected = push_and_pull(pair->model, frame);
    fail_unless(gst_structure_is_equal(results_of(got, "gpugraphcut"),
                                       results_of(expected, "gpugraphcut")));
    fail_unless(memory_of(got)->context == context);
    copy(&rgba, got, down);
    assert_same(&rgba, down, expected);
    gst_buffer_unref(down);
    gst_buffer_unref(got);
    gst_buffer_unref(expected);
}

static void set_pair_lambda(Pair *pair, gfloat lambda) {
    g_object_set(pair->tested->element, "lambda", lambda, NULL);
    g_object_set(pair->model->element, "lambda", lambda, NULL);
}

/*
 * Each frame goes on from the one before, on both. By the default of lambda a CPU takes seconds to
 * cut noise of 1920x1080; the more colours weigh, the less is left to find.
 */
GST_START_TEST(test_graphcut_outputs) {
    GstCudaContext *context = new_context();
    Pair pair = pair_of("gpugraphcut", context);
    for (guint s = 0; s < G_N_ELEMENTS(cuda_sizes); s++) {
        GstVideoInfo info = make_info(formats[__i__], cuda_sizes[s][0], cuda_sizes[s][1]);
        if (info.width * info.height > 1000000)
            set_pair_lambda(&pair, 1);
        set_pair_info(&pair, &info, TRUE);
        set_pair_output(&pair, "overlay");
        fail_unless(check_frame(&pair, &info, cuda_buffer(context, &info)) == context);
        check_values(&pair, context, &info, "mask", "GRAY8", "NV12");
        check_cutout(&pair, context, &info);
        set_pair_output(&pair, "none");
        fail_unless(check_frame(&pair, &info, padded_cuda_buffer(context, &info)) == context);
    }
    fail_unless_equals_uint64(stat_of(pair.tested, "uploads"), 0);
    fail_unless_equals_uint64(stat_of(pair.tested, "downloads"), 0);
    pair_free(&pair);
    gst_object_unref(context);
}
GST_END_TEST

/* Seeds come from a file, and lie in system memory. */
GST_START_TEST(test_graphcut_seeds) {
    static const gchar header[] = "P5\n40 30\n255\n";
    GstCudaContext *context = new_context();
    GstVideoInfo info = make_info(formats[__i__], 40, 30);
    gchar *folder = g_dir_make_tmp(NULL, NULL);
    gchar *path = g_build_filename(folder, "seeds.pgm", NULL);
    GString *bytes = g_string_new(header);
    for (guint i = 0; i < 40 * 30; i++)
        g_string_append_c(bytes, (gchar)(g_random_int_range(0, 3) * 255 / 2));
    fail_unless(g_file_set_contents(path, bytes->str, (gssize)bytes->len, NULL));
    for (guint warm = 0; warm < 2; warm++) {
        Pair pair = pair_of("gpugraphcut", context);
        GstElement *elements[] = {pair.tested->element, pair.model->element};
        for (guint i = 0; i < G_N_ELEMENTS(elements); i++) {
            gst_util_set_object_arg(G_OBJECT(elements[i]), "seed-source", "mask");
            g_object_set(elements[i], "seeds", path, "warm-start", (gboolean)warm, NULL);
        }
        set_pair_info(&pair, &info, TRUE);
        for (guint i = 0; i < 4; i++)
            fail_unless(check_frame(&pair, &info, padded_cuda_buffer(context, &info)) == context);
        pair_free(&pair);
    }
    g_remove(path);
    g_rmdir(folder);
    g_string_free(bytes, TRUE);
    g_free(path);
    g_free(folder);
    gst_object_unref(context);
}
GST_END_TEST

/* With output=none the memory goes on. */
GST_START_TEST(test_ccl_none_copies_nothing) {
    GstCudaContext *context = new_context();
    GstVideoInfo info = make_info("NV12", 64, 48);
    Pair pair = pair_of("gpuccl", context);
    GstBuffer *frame = random_frame(&info), *cuda = cuda_buffer(context, &info), *out;
    const GstMemory *memory = gst_buffer_peek_memory(cuda, 0);
    set_pair_output(&pair, "none");
    set_pair_info(&pair, &info, TRUE);
    copy(&info, frame, cuda);
    out = push_both(&pair, &info, cuda, frame);
    fail_unless(gst_buffer_peek_memory(out, 0) == memory);
    gst_buffer_unref(out);
    gst_buffer_unref(frame);
    pair_free(&pair);
    gst_object_unref(context);
}
GST_END_TEST

/* ---- drawing ---- */

static void assert_same_features(GstBuffer *got, GstBuffer *expected) {
    const GstStructure *a = results_of(got, "gpusift"), *b = results_of(expected, "gpusift");
    fail_unless_equals_int(int_field(a, "count"), int_field(b, "count"));
    fail_unless_equals_int(int_field(a, "dropped"), int_field(b, "dropped"));
    for (guint i = 0; i < 2; i++) {
        const gchar *name = i ? "descriptors" : "keypoints";
        fail_unless(g_bytes_equal(g_value_get_boxed(gst_structure_get_value(a, name)),
                                  g_value_get_boxed(gst_structure_get_value(b, name))),
                    "%s", name);
    }
}

/* What somebody else holds keeps its pixels; what nobody holds goes on. Returns how many keypoints
   there were. */
static gint check_drawn(Pair *pair, GstCudaContext *context, const GstVideoInfo *info,
                        const gchar *overlay, gboolean held) {
    const gboolean draws = !g_str_equal(overlay, "none");
    GstBuffer *frame = random_padded_frame(info), *cuda = padded_cuda_buffer(context, info);
    GstBuffer *got = random_frame(info), *out, *expected;
    const GstMemory *memory = gst_buffer_peek_memory(cuda, 0);
    gint count;
    set_pair_output(pair, overlay);
    copy(info, frame, cuda);
    out = push_and_pull(pair->tested, held ? gst_buffer_ref(cuda) : cuda);
    expected = push_and_pull(pair->model, gst_buffer_ref(frame));
    fail_unless(memory_of(out)->context == context);
    fail_unless((gst_buffer_peek_memory(out, 0) == memory) == (!held || !draws));
    copy(info, out, got);
    assert_same(info, got, expected);
    assert_same_features(out, expected);
    count = int_field(results_of(out, "gpusift"), "count");
    if (held) {
        copy(info, cuda, got);
        assert_same(info, got, frame);
        gst_buffer_unref(cuda);
    }
    gst_buffer_unref(got);
    gst_buffer_unref(expected);
    gst_buffer_unref(out);
    gst_buffer_unref(frame);
    return count;
}

GST_START_TEST(test_sift_overlays) {
    static const gchar *const overlays[] = {"none", "points", "rich"};
    GstCudaContext *context = new_context();
    Pair pair = pair_of("gpusift", context);
    gint count = 0;
    for (guint s = 0; s < G_N_ELEMENTS(cuda_sizes); s++) {
        GstVideoInfo info = make_info(formats[__i__], cuda_sizes[s][0], cuda_sizes[s][1]);
        set_pair_info(&pair, &info, TRUE);
        for (guint o = 0; o < 2 * G_N_ELEMENTS(overlays); o++)
            count = check_drawn(&pair, context, &info, overlays[o / 2], o % 2);
    }
    fail_unless(count > 100, "%d keypoints", count);
    fail_unless_equals_uint64(stat_of(pair.tested, "uploads"), 0);
    fail_unless_equals_uint64(stat_of(pair.tested, "downloads"), 0);
    pair_free(&pair);
    gst_object_unref(context);
}
GST_END_TEST

/* ---- contexts ---- */

/* Of the element that the pad is linked to. Transfer none: the element holds it. */
static GstCudaContext *context_behind(GstPad *pad) {
    GstQuery *query = gst_query_new_context(GST_CUDA_CONTEXT_TYPE);
    GstContext *answer = NULL;
    GstCudaContext *context = NULL;
    fail_unless(gst_pad_peer_query(pad, query));
    gst_query_parse_context(query, &answer);
    fail_unless(gst_structure_get(gst_context_get_structure(answer), GST_CUDA_CONTEXT_TYPE,
                                  GST_TYPE_CUDA_CONTEXT, &context, NULL));
    gst_query_unref(query);
    gst_object_unref(context);
    return context;
}

GST_START_TEST(test_context_query) {
    GstCudaContext *context = new_context();
    Pair given = pair_new(context), own = pair_new(NULL);
    fail_unless(context_behind(given.tested->srcpad) == context);
    fail_unless(context_behind(own.tested->srcpad) != context);
    pair_free(&given);
    pair_free(&own);
    gst_object_unref(context);
}
GST_END_TEST

/* Elements in one pipeline share one. */
GST_START_TEST(test_context_is_shared) {
    GstHarness *h = gst_harness_new_parse("gpuerode name=a backend=cuda ! gpuerode backend=cuda");
    GstElement *first = gst_bin_get_by_name(GST_BIN(h->element), "a");
    GstPad *pad = gst_element_get_static_pad(first, "src");
    fail_unless(context_behind(h->srcpad) == context_behind(pad));
    gst_object_unref(pad);
    gst_object_unref(first);
    gst_harness_teardown(h);
}
GST_END_TEST

/* The element follows its input from one context to another, and back. */
GST_START_TEST(test_adoption) {
    GstCudaContext *context = new_context(), *other = new_context();
    GstVideoInfo info = make_info("NV12", 65, 33);
    Pair pair = pair_new(context);
    set_pair_info(&pair, &info, TRUE);
    for (guint i = 0; i < 20; i++) {
        GstCudaContext *now = i % 3 ? other : context;
        fail_unless(check_frame(&pair, &info, cuda_buffer(now, &info)) == now);
        fail_unless(context_behind(pair.tested->srcpad) == now);
    }
    fail_unless_equals_uint64(stat_of(pair.tested, "frames"), 20);
    pair_free(&pair);
    gst_object_unref(other);
    gst_object_unref(context);
}
GST_END_TEST

/* Frames of another device are followed there, unless cuda-device-id says where to work. */
GST_START_TEST(test_second_device) {
    GstVideoInfo info = make_info("NV12", 64, 48);
    GstCudaContext *second;
    Pair free_choice, bound;
    second = context_on(1);
    free_choice = pair_new(NULL);
    set_pair_info(&free_choice, &info, TRUE);
    fail_unless(check_frame(&free_choice, &info, cuda_buffer(second, &info)) == second);
    pair_free(&free_choice);

    bound = pair_new(NULL);
    gst_element_set_state(bound.tested->element, GST_STATE_NULL);
    g_object_set(bound.tested->element, "cuda-device-id", 0, NULL);
    reach(bound.tested->element, GST_STATE_PLAYING);
    assert_buffer_refused(bound.tested, cuda_caps(&info), cuda_buffer(second, &info));
    pair_free(&bound);
    gst_object_unref(second);
}
GST_END_TEST

enum { n_workers = 16 };

static gpointer start_and_stop(gpointer barrier) {
    GstElement *element = element_new("gpuerode", "cuda");
    GstPad *pad = gst_element_get_static_pad(element, "sink");
    GstQuery *query = gst_query_new_context(GST_CUDA_CONTEXT_TYPE);
    pthread_barrier_wait((pthread_barrier_t *)barrier);
    reach(element, GST_STATE_PAUSED);
    /* It would compute without CUDAMemory, too. */
    fail_unless(gst_pad_query(pad, query));
    reach(element, GST_STATE_NULL);
    gst_query_unref(query);
    gst_object_unref(pad);
    gst_object_unref(element);
    return NULL;
}

/* Nothing in this process, which Check has forked, has loaded CUDA yet. */
GST_START_TEST(test_16_starts) {
    GThread *threads[n_workers];
    pthread_barrier_t barrier;
    fail_unless_equals_int(pthread_barrier_init(&barrier, NULL, n_workers), 0);
    for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
        threads[i] = g_thread_new("start", start_and_stop, &barrier);
    for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
        g_thread_join(threads[i]);
    pthread_barrier_destroy(&barrier);
}
GST_END_TEST

typedef struct {
    gint first; /* of the elements */
    gint frames;
    gint done;
} Worker;

/* All five elements, one after the other, each on frames of its own. */
static gpointer run_pairs(gpointer user) {
    Worker *worker = (Worker *)user;
    GstCudaContext *context = new_context();
    for (gint e = 0; e < (gint)G_N_ELEMENTS(drawing); e++) {
        Pair pair = drawing_pair((worker->first + e) % (gint)G_N_ELEMENTS(drawing), context);
        for (gint i = 0; i < worker->frames; i++) {
            GstVideoInfo info = make_info(formats[i % cuda_formats], 31 + i % 20, 57 - i % 20);
            set_pair_info(&pair, &info, TRUE);
            check_frame(&pair, &info, cuda_buffer(context, &info));
            worker->done++;
        }
        pair_free(&pair);
    }
    gst_object_unref(context);
    return NULL;
}

GST_START_TEST(test_16_threads) {
    GThread *threads[n_workers];
    Worker workers[n_workers];
    const gint frames = (gint)rounds(20, 20, 4);
    fail_unless(gst_cuda_load_library()); /* 1.22 is not made for threads that load it at once */
    for (guint i = 0; i < G_N_ELEMENTS(threads); i++) {
        workers[i] = (Worker){(gint)i, frames, 0};
        threads[i] = g_thread_new("pipeline", run_pairs, &workers[i]);
    }
    for (guint i = 0; i < G_N_ELEMENTS(threads); i++) {
        g_thread_join(threads[i]);
        fail_unless_equals_int(workers[i].done, frames * (gint)G_N_ELEMENTS(drawing));
    }
}
GST_END_TEST

typedef struct {
    GstElement *pipeline;
    GstVideoInfo info;
    GPtrArray *out; /* buffers, as the sink gets them */
} Chain;

static GstPadProbeReturn keep_frame(G_GNUC_UNUSED GstPad *pad, GstPadProbeInfo *probe,
                                    gpointer frames) {
    g_ptr_array_add(frames, gst_buffer_ref(GST_PAD_PROBE_INFO_BUFFER(probe)));
    return GST_PAD_PROBE_OK;
}

/* Takes the frame. */
static GstBuffer *uploaded(const GstVideoInfo *info, GstBuffer *frame, GstCudaContext *context) {
    GstBuffer *cuda = cuda_buffer(context, info);
    copy(info, frame, cuda);
    GST_BUFFER_PTS(cuda) = GST_BUFFER_PTS(frame);
    gst_buffer_unref(frame);
    return cuda;
}

/* All five elements, on CUDAMemory of the context, or without one on the CPU. Each number has other
   frames, in another format. */
static Chain chain_new(guint number, guint frames, GstCudaContext *context) {
    const gboolean emulated = g_getenv("GPV_TEST_EMULATED") != NULL;
    const gint width = emulated ? 32 : 320, height = width * 3 / 4;
    static const ChainLook look = {"rich", "colorize", "overlay", TRUE};
    gchar *elements = chain_text(&look, context ? "cuda" : "cpu", "");
    gchar *text = g_strdup_printf("appsrc name=source format=time ! %s ! "
                                  "fakesink name=sink sync=false",
                                  elements);
    Chain chain = {launch(text), make_info(formats[number % cuda_formats], width, height),
                   g_ptr_array_new_with_free_func((GDestroyNotify)gst_buffer_unref)};
    GstElement *source = gst_bin_get_by_name(GST_BIN(chain.pipeline), "source");
    GstElement *sink = gst_bin_get_by_name(GST_BIN(chain.pipeline), "sink");
    GstVideoInfo rgb = make_info("RGB", width, height);
    GstHarness *convert = gst_harness_new("videoconvert");
    GstCaps *caps = context ? cuda_caps(&chain.info) : gst_video_info_to_caps(&chain.info);
    GstBuffer *picture = photograph();
    GstFlowReturn flow;
    gst_harness_set_caps(convert, gst_video_info_to_caps(&rgb),
                         gst_video_info_to_caps(&chain.info));
    g_object_set(source, "caps", caps, NULL);
    probe_pad(sink, "sink", GST_PAD_PROBE_TYPE_BUFFER, keep_frame, chain.out);
    reach(chain.pipeline, GST_STATE_READY);
    gst_element_set_state(chain.pipeline, GST_STATE_PAUSED);
    for (guint i = 0; i < frames; i++) {
        GstBuffer *frame = push_and_pull(convert, camera_frame(picture, width, height, number + i));
        if (context)
            frame = uploaded(&chain.info, frame, context);
        g_signal_emit_by_name(source, "push-buffer", frame, &flow);
        fail_unless_equals_int(flow, GST_FLOW_OK);
        gst_buffer_unref(frame);
    }
    g_signal_emit_by_name(source, "end-of-stream", &flow);
    gst_harness_teardown(convert);
    gst_buffer_unref(picture);
    gst_caps_unref(caps);
    gst_object_unref(sink);
    gst_object_unref(source);
    g_free(text);
    g_free(elements);
    return chain;
}

static void chain_start(Chain *chain) {
    fail_if(gst_element_set_state(chain->pipeline, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE);
}

static void chain_finish(Chain *chain, guint frames) {
    wait_for_eos(chain->pipeline);
    fail_unless_equals_int(chain->out->len, frames);
}

/* The pipeline goes first, as frames of its pools are still here. */
static void chain_free(Chain *chain) {
    reach(chain->pipeline, GST_STATE_NULL);
    gst_object_unref(chain->pipeline);
    g_ptr_array_unref(chain->out);
}

static void assert_same_frames(const Chain *got, const Chain *expected, GstCudaContext *context) {
    for (guint f = 0; f < expected->out->len; f++) {
        GstBuffer *cuda = g_ptr_array_index(got->out, f);
        GstBuffer *wanted = g_ptr_array_index(expected->out, f), *down = random_frame(&got->info);
        fail_unless(memory_of(cuda)->context == context);
        copy(&got->info, cuda, down);
        assert_same(&got->info, down, wanted);
        for (guint s = 0; s < stage_count; s++)
            assert_same_results(results_of(cuda, stages[s].name),
                                results_of(wanted, stages[s].name));
        gst_buffer_unref(down);
    }
}

/* Row 26 of docs/reliability.md: with a context for each, and with one for all. */
GST_START_TEST(test_16_pipelines) {
    const guint frames = rounds(20, 20, 4);
    GstCudaContext *contexts[n_workers];
    Chain alone[n_workers], together[n_workers];
    gint maximum[stage_count] = {0};
    for (guint i = 0; i < n_workers; i++) {
        contexts[i] = __i__ == 0 || i == 0 ? new_context() : gst_object_ref(contexts[0]);
        alone[i] = chain_new(i, frames, NULL);
        chain_start(&alone[i]);
        chain_finish(&alone[i], frames);
        for (guint f = 0; f < frames; f++)
            note_measures(maximum, g_ptr_array_index(alone[i].out, f));
    }
    assert_measures(maximum);
    for (guint i = 0; i < n_workers; i++)
        together[i] = chain_new(i, frames, contexts[i]);
    for (guint i = 0; i < n_workers; i++)
        chain_start(&together[i]);
    for (guint i = 0; i < n_workers; i++)
        chain_finish(&together[i], frames);
    for (guint i = 0; i < n_workers; i++) {
        assert_same_frames(&together[i], &alone[i], contexts[i]);
        chain_free(&together[i]);
        chain_free(&alone[i]);
        gst_object_unref(contexts[i]);
    }
    g_print("%d pipelines of five elements with %s, %u frames each, as the CPU alone\n",
            (gint)n_workers, __i__ == 0 ? "a context each" : "one context", frames);
}
GST_END_TEST

/* ---- pools ---- */

GST_START_TEST(test_upstream_is_offered_a_pool) {
    GstCudaContext *context = new_context();
    GstVideoInfo info = make_info("NV12", 33, 21);
    Pair pair = pair_new(context);
    GstBufferPool *pool;
    GstBuffer *buffer;
    guint size = 0;
    set_pair_info(&pair, &info, TRUE);
    pool = offered_pool(pair.tested, &info, &size);
    fail_unless(GST_IS_CUDA_BUFFER_POOL(pool));
    fail_unless(GST_CUDA_BUFFER_POOL(pool)->context == context);
    buffer = acquire(pool);
    fail_unless_equals_int(size, gst_buffer_get_size(buffer));
    gst_buffer_unref(buffer);
    gst_buffer_pool_set_active(pool, FALSE);
    gst_object_unref(pool);
    pair_free(&pair);
    gst_object_unref(context);
}
GST_END_TEST

/* Frames of one stream, which nobody waits for from GStreamer 1.24 on, keep their order. */
GST_START_TEST(test_frames_in_flight) {
    GstCudaContext *context = new_context();
    GstVideoInfo info = make_info("NV12", 640, 480);
    Pair pair = pair_new(context);
    GstBuffer *frames[64];
    GstBufferPool *pool;
    guint size;
    set_pair_info(&pair, &info, TRUE);
    pool = offered_pool(pair.tested, &info, &size);
    for (guint i = 0; i < G_N_ELEMENTS(frames); i++) {
        GstBuffer *cuda = acquire(pool);
        frames[i] = random_frame(&info);
        copy(&info, frames[i], cuda);
        fail_unless_equals_int(gst_harness_push(pair.tested, cuda), GST_FLOW_OK);
    }
    for (guint i = 0; i < G_N_ELEMENTS(frames); i++) {
        GstBuffer *out = gst_harness_pull(pair.tested), *got = random_frame(&info);
        GstBuffer *expected = push_and_pull(pair.model, frames[i]);
        copy(&info, out, got);
        assert_same(&info, got, expected);
        gst_buffer_unref(out);
        gst_buffer_unref(got);
        gst_buffer_unref(expected);
    }
    gst_buffer_pool_set_active(pool, FALSE);
    gst_object_unref(pool);
    pair_free(&pair);
    gst_object_unref(context);
}
GST_END_TEST

static GstPadProbeReturn offer_pool(G_GNUC_UNUSED GstPad *pad, GstPadProbeInfo *probe,
                                    gpointer pool) {
    GstQuery *query = GST_PAD_PROBE_INFO_QUERY(probe);
    if (GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION)
        gst_query_add_allocation_pool(query, pool, 1, 2, 0);
    return GST_PAD_PROBE_OK;
}

/* Downstream's pool is taken if it is one of CUDAMemory of the same context. */
GST_START_TEST(test_downstream_pool) {
    GstCudaContext *context = new_context(), *other = new_context();
    GstVideoInfo info = make_info("NV12", 33, 21);
    for (guint i = 0; i < 3; i++) {
        Pair pair = pair_new(context);
        GstBufferPool *pool = i == 0   ? gst_cuda_buffer_pool_new(context)
                              : i == 1 ? gst_cuda_buffer_pool_new(other)
                                       : gst_video_buffer_pool_new();
        GstBuffer *frame = random_frame(&info), *cuda = cuda_buffer(context, &info), *out;
        gst_pad_add_probe(pair.tested->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer_pool,
                          pool, NULL);
        set_pair_info(&pair, &info, TRUE);
        copy(&info, frame, cuda);
        out = push_both(&pair, &info, cuda, frame);
        fail_unless((out->pool == pool) == (i == 0), "pool %u", i);
        fail_unless(memory_of(out)->context == context);
        gst_buffer_unref(out);
        gst_buffer_unref(frame);
        pair_free(&pair);
        gst_object_unref(pool);
    }
    gst_object_unref(other);
    gst_object_unref(context);
}
GST_END_TEST

/* ---- pipelines ---- */

GST_START_TEST(test_stock_elements) {
    GstElement *pipeline, *element;
    GstStructure *stats = NULL;
    guint64 frames = 0, uploads = 1;
    pipeline = launch("videotestsrc num-buffers=30 ! video/x-raw,format=NV12 ! cudaupload ! "
                      "video/x-raw(memory:CUDAMemory) ! gpuerode name=erode ! cudadownload ! "
                      "video/x-raw ! fakesink");
    element = gst_bin_get_by_name(GST_BIN(pipeline), "erode");
    reach(pipeline, GST_STATE_PLAYING);
    wait_for_eos(pipeline);
    reach(pipeline, GST_STATE_NULL);
    g_object_get(element, "stats", &stats, NULL);
    fail_unless(gst_structure_get(stats, "frames", G_TYPE_UINT64, &frames, "uploads", G_TYPE_UINT64,
                                  &uploads, NULL));
    fail_unless_equals_string(gst_structure_get_string(stats, "backend"), "cuda");
    fail_unless_equals_uint64(frames, 30);
    fail_unless_equals_uint64(uploads, 0);
    gst_structure_free(stats);
    gst_object_unref(element);
    gst_object_unref(pipeline);
}
GST_END_TEST

/* ---- cycles ---- */

/* Of small frames, so that an element begins and ends most of the time. */
enum { cycled_width = 64, cycled_height = 48 };

typedef struct {
    gint element;            /* of drawing */
    GstCudaContext *context; /* of the measurement, and of frames */
    GstElement *pipeline;
    GstHarness *harness;
} Cycled;

/* The figures are those of docs/reliability.md, row 19. */
static void check_cycles(Cycled *cycled, void (*cycle)(Cycled *), guint cycles) {
    const guint warm_up = MIN(cycles, 20);
    Use before, after;
    g_thread_pool_set_max_unused_threads(0);
    for (guint i = 0; i < warm_up; i++)
        cycle(cycled);
    before = use_now(cycled->context);
    for (guint i = 0; i < cycles; i++)
        cycle(cycled);
    after = use_now(cycled->context);
    for (guint i = 0; i < 100 && after.threads > before.threads; i++) { /* GLib's are ending */
        g_usleep(20000);
        after = use_now(cycled->context);
    }
    g_print("%s: %u cycles: device memory %+" G_GINT64_FORMAT " bytes, threads %+d\n",
            drawing[cycled->element].name, cycles,
            (gint64)after.device_bytes - (gint64)before.device_bytes,
            (gint)after.threads - (gint)before.threads);
    fail_unless(after.device_bytes <= before.device_bytes + allowed_growth());
    fail_unless(after.threads <= before.threads);
}

/* Row 19 of docs/reliability.md, when ./dev gpu soak says so. */
static guint cycles(void) {
    return rounds(1000, 200, 40);
}

static void cycle_pipeline(Cycled *cycled) {
    reach(cycled->pipeline, GST_STATE_PLAYING);
    wait_for_eos(cycled->pipeline);
    reach(cycled->pipeline, GST_STATE_NULL);
}

/* The pipeline keeps the context that the element has made. */
GST_START_TEST(test_cycles_of_a_pipeline) {
    Cycled cycled = {__i__, new_context(), NULL, NULL};
    gchar *text = g_strdup_printf("videotestsrc num-buffers=2 ! video/x-raw,width=%d,height=%d ! "
                                  "%s backend=cuda ! fakesink sync=false",
                                  cycled_width, cycled_height, drawing[__i__].name);
    cycled.pipeline = launch(text);
    g_free(text);
    check_cycles(&cycled, cycle_pipeline, cycles());
    gst_object_unref(cycled.pipeline);
    gst_object_unref(cycled.context);
}
GST_END_TEST

static void push_one(GstHarness *h, const GstVideoInfo *info, GstBuffer *buffer) {
    gst_pad_push_event(h->srcpad, gst_event_new_stream_start("test"));
    gst_harness_set_src_caps(h, cuda_caps(info));
    gst_buffer_unref(push_and_pull(h, buffer));
}

static void cycle_harness(Cycled *cycled) {
    GstVideoInfo info = make_info("NV12", cycled_width, cycled_height);
    reach(cycled->harness->element, GST_STATE_PLAYING);
    push_one(cycled->harness, &info, cuda_buffer(cycled->context, &info));
    reach(cycled->harness->element, GST_STATE_NULL);
}

/* CUDAMemory of a context that the element was given, and of one that it adopts every time. */
GST_START_TEST(test_cycles_with_cuda_memory) {
    Cycled cycled = {__i__ / 2, new_context(), NULL, NULL};
    Pair pair = drawing_pair(cycled.element, __i__ % 2 ? NULL : cycled.context);
    cycled.harness = pair.tested;
    reach(cycled.harness->element, GST_STATE_NULL);
    check_cycles(&cycled, cycle_harness, cycles());
    pair_free(&pair);
    gst_object_unref(cycled.context);
}
GST_END_TEST

static void live_and_die(Cycled *cycled) {
    GstHarness *h = harness_with(element_new(drawing[cycled->element].name, "cuda"));
    GstVideoInfo info = make_info("NV12", cycled_width, cycled_height);
    GstBufferPool *pool;
    guint size;
    gst_harness_set_src_caps(h, cuda_caps(&info));
    pool = offered_pool(h, &info, &size);
    push_one(h, &info, acquire(pool));
    gst_buffer_pool_set_active(pool, FALSE);
    gst_object_unref(pool);
    gst_harness_teardown(h);
}

/* The context goes with the element that has made it. */
GST_START_TEST(test_lives) {
    Cycled cycled = {0, new_context(), NULL, NULL};
    check_cycles(&cycled, live_and_die, MIN(rounds(20, 20, 10), 20));
    gst_object_unref(cycled.context);
}
GST_END_TEST

static void add_gpuerode(TCase *tcase) {
    tcase_add_loop_test(tcase, test_formats, 0, some_of(cuda_formats));
    tcase_add_test(tcase, test_pending_upload);
    tcase_add_test(tcase, test_wrong_buffers);
}

static void add_gpuccl(TCase *tcase) {
    tcase_add_loop_test(tcase, test_ccl_outputs, 0, some_of(cuda_formats));
    tcase_add_test(tcase, test_ccl_none_copies_nothing);
}

static void add_gpukmeans(TCase *tcase) {
    tcase_add_loop_test(tcase, test_kmeans_outputs, 0, some_of(cuda_formats));
}

static void add_gpugraphcut(TCase *tcase) {
    tcase_add_loop_test(tcase, test_graphcut_outputs, 0, some_of(cuda_formats));
    if (have_pnmdec())
        tcase_add_loop_test(tcase, test_graphcut_seeds, 0, some_of(cuda_formats));
    else
        g_print("not run: seeds: there is no pnmdec\n");
}

static void add_gpusift(TCase *tcase) {
    tcase_add_loop_test(tcase, test_sift_overlays, 0, some_of(cuda_formats));
}

static void add_changes(TCase *tcase) {
    tcase_add_loop_test(tcase, test_renegotiation_between_memories, 0, G_N_ELEMENTS(drawing));
}

static void add_contexts(TCase *tcase) {
    tcase_add_test(tcase, test_context_query);
    tcase_add_test(tcase, test_context_is_shared);
    tcase_add_test(tcase, test_adoption);
}

static void add_starts(TCase *tcase) {
    tcase_add_loop_test(tcase, test_16_starts, 0, (int)rounds(10, 10, 2));
}

static void add_pipelines(TCase *tcase) {
    tcase_add_test(tcase, test_16_threads);
    tcase_add_loop_test(tcase, test_16_pipelines, 0, 2);
}

static void add_pools(TCase *tcase) {
    tcase_add_test(tcase, test_upstream_is_offered_a_pool);
    tcase_add_test(tcase, test_frames_in_flight);
    tcase_add_test(tcase, test_downstream_pool);
}

static void add_cycles(TCase *tcase) {
    tcase_add_loop_test(tcase, test_cycles_of_a_pipeline, 0, G_N_ELEMENTS(drawing));
    tcase_add_loop_test(tcase, test_cycles_with_cuda_memory, 0, 2 * G_N_ELEMENTS(drawing));
    tcase_add_test(tcase, test_lives);
}

static void add_second_device(TCase *tcase) {
    tcase_add_test(tcase, test_second_device);
}

static void add_stock_elements(TCase *tcase) {
    tcase_add_test(tcase, test_stock_elements);
}

/* In another process, as have_cuda_device(). */
static gboolean have_second_device(void) {
    int status = 0;
    gint devices = 0;
    const pid_t child = fork();
    if (child == 0)
        _exit(!(gst_cuda_load_library() && CuInit(0) == CUDA_SUCCESS &&
                CuDeviceGetCount(&devices) == CUDA_SUCCESS && devices > 1));
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static gboolean have_stock_elements(void) {
    return gst_registry_check_feature_version(gst_registry_get(), "cudaupload", 1, 22, 0);
}

/* Each is a test of its own, which is skipped where there is no device, or not what it needs. */
static const struct {
    const gchar *name;
    void (*add)(TCase *);
    gboolean (*possible)(void); /* NULL: wherever there is a device */
    const gchar *reason;
} parts[] = {
    {"pixels-gpuerode", add_gpuerode, NULL, NULL},
    {"pixels-gpuccl", add_gpuccl, NULL, NULL},
    {"pixels-gpukmeans", add_gpukmeans, NULL, NULL},
    {"pixels-gpugraphcut", add_gpugraphcut, NULL, NULL},
    {"pixels-gpusift", add_gpusift, NULL, NULL},
    {"changes", add_changes, NULL, NULL},
    {"contexts", add_contexts, NULL, NULL},
    {"starts", add_starts, NULL, NULL},
    {"pipelines", add_pipelines, NULL, NULL},
    {"pools", add_pools, NULL, NULL},
    {"cycles", add_cycles, NULL, NULL},
    {"second-device", add_second_device, have_second_device, "there is no second CUDA device"},
    {"stock-elements", add_stock_elements, have_stock_elements, "there is no cudaupload"},
};

int main(int argc, char **argv) {
    Suite *suite;
    gsize part = 0;
    gst_check_init(&argc, &argv);
    while (argc == 2 && part < G_N_ELEMENTS(parts) && !g_str_equal(parts[part].name, argv[1]))
        part++;
    if (argc != 2 || part == G_N_ELEMENTS(parts)) {
        g_printerr("%s takes the name of a part, as Meson gives it\n", argv[0]);
        return 2;
    }
    if (!have_cuda_device() && !g_getenv("GPV_TEST_EMULATED"))
        return not_run("there is no CUDA device");
    if (parts[part].possible && !parts[part].possible())
        return not_run(parts[part].reason);
    suite = suite_create(parts[part].name);
    parts[part].add(add_case(suite, parts[part].name));
    return gst_check_run_suite(suite, "cuda", __FILE__);
}
