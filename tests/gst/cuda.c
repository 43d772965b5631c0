/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The elements on CUDAMemory: the pixels and results of each, in every format, output and layout;
 * and their base class, by gpuerode: contexts and pools; what each element leaves behind, also of
 * very many frames; and 16 pipelines of all five at once. What comes out has to be what the library
 * makes of the same frames on the CPU.
 *
 *     gst-cuda PART    GPV_TEST_ROUNDS says how often changes, cycles, starts and pipelines do what
 *                      they do. With GPV_TEST_EMULATED there has to be a device, which is emulated
 */
#include "chains.h"
#include "clip.h"
#include "cuda_frames.h"
#include "scene.h"

#include <gmodule.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { cuda_formats = G_N_ELEMENTS(formats) - 5 };

static const gint cuda_sizes[][2] = {{1, 1},   {1, 7},     {7, 1},     {2, 2},
                                     {17, 13}, {641, 479}, {642, 479}, {1920, 1080}};

enum { few_sizes = 5 }; /* on the emulated device */

static gboolean is_emulated(void) {
    return g_getenv("GPV_TEST_EMULATED") != NULL;
}

static const Element *tested; /* in a part for one element */

/* gpuccl has no colours in GRAY8; gpusift draws. */
static Pair drawing_pair(gint element, GstCudaContext *context) {
    Pair pair = cuda_pair_new(&elements[element], context);
    if (g_str_equal(elements[element].name, "gpusift"))
        pair_set(&pair, "overlay", "rich");
    return pair;
}

static Pair pair_of_gpuerode(GstCudaContext *context) {
    return drawing_pair(0, context);
}

/* Frames of noise. Takes the buffer, which is filled. Returns the context of what came out. */
static GstCudaContext *check_buffer(Pair *pair, GstBuffer *cuda) {
    g_autoptr(GstBuffer) frame = random_frame(&pair->info);
    g_autoptr(GstBuffer) out = cuda_pair_push(pair, frame, cuda, pair->count % 3);
    return memory_of(out)->context;
}

/* ---- what is left behind ---- */

typedef struct {
    gsize device_bytes;
    guint threads;
} Use;

/* The emulated device, where every object takes 4 KiB, has nothing of its own that grows. */
static gsize allowed_growth(void) {
    return is_emulated() ? 16 << 10 : 2 << 20;
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
    use.threads = thread_count();
    return use;
}

static void assert_no_copies(const Pair *pair) {
    fail_unless_equals_uint64(stat_of(pair->h->element, "cuda", "frames"), pair->count);
    fail_unless_equals_uint64(stat_of(pair->h->element, "cuda", "uploads"), 0);
    fail_unless_equals_uint64(stat_of(pair->h->element, "cuda", "downloads"), 0);
}

/* ---- pixels ---- */

/*
 * Every format, size and output, as libgstcuda lays it out and with odd strides and offsets. By the
 * default of lambda a CPU takes seconds to cut noise of 1920x1080; the more colours weigh, the less
 * is left to find.
 */
PART_TEST("pixels", test_formats, some_of(cuda_formats)) {
    g_autoptr(CudaContext) context = new_context();
    g_auto(Pair) pair = cuda_pair_new(tested, context);
    for (guint s = 0; s < (is_emulated() ? few_sizes : G_N_ELEMENTS(cuda_sizes)); s++) {
        GstVideoInfo info = make_info(formats[__i__], cuda_sizes[s][0], cuda_sizes[s][1]);
        if (tested->slow && info.width * info.height > 1000000)
            pair_set(&pair, "lambda", "1");
        cuda_pair_set_info(&pair, &info);
        for (guint i = 0; i < 2 * tested->output_count; i++) {
            pair_set_output(&pair, &tested->outputs[i / 2]);
            fail_unless(check_buffer(&pair, i % 2 ? padded_cuda_buffer(context, &info)
                                                  : cuda_buffer(context, &info)) == context);
        }
    }
    assert_no_copies(&pair);
}

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
PART_TEST("pixels", test_pending_upload, 1) {
    g_autoptr(CudaContext) context = new_context();
    GstVideoInfo info = make_info("NV12", 64, 48);
    g_auto(Pair) pair = cuda_pair_new(tested, context);
    GstBuffer *frame = random_frame(&info), *cuda = streamed_buffer(context, &info);
    cuda_pair_set_info(&pair, &info);
    copy_mapped(&info, frame, cuda);
    gst_buffer_unref(pair_push_there(&pair, frame, cuda, FALSE));
    gst_buffer_unref(frame);
}

/* System memory, and a plane outside the buffer. */
PART_TEST("pixels", test_wrong_buffers, 1) {
    g_autoptr(CudaContext) context = new_context();
    GstVideoInfo info = make_info("I420", 64, 48);
    for (guint i = 0; i < 2; i++) {
        g_auto(Pair) pair = cuda_pair_new(tested, context);
        GstBuffer *buffer = i == 0 ? random_frame(&info) : padded_cuda_buffer(context, &info);
        if (i == 1)
            gst_buffer_get_video_meta(buffer)->stride[2] += 1 << 20;
        assert_buffer_refused(pair.h, cuda_caps(&info), buffer);
    }
}

PART_TEST("pixels", test_crops, some_of(cuda_formats)) {
    const GstVideoInfo whole = make_info(formats[__i__], whole_width, whole_height);
    g_autoptr(CudaContext) context = new_context();
    for (guint i = 0; i < 2 * tested->output_count; i++) {
        g_auto(Pair) pair = cuda_pair_new(tested, context);
        pair_set_output(&pair, &tested->outputs[i / 2]);
        cuda_pair_set_info(&pair, &whole);
        if (i % 2) /* else what is kept is copied */
            gst_harness_add_propose_allocation_meta(pair.h, GST_VIDEO_CROP_META_API_TYPE, NULL);
        for (guint c = 0; c < crop_count; c++) {
            g_autoptr(GstBuffer) frame = random_frame(&whole);
            GstBuffer *cuda = padded_cuda_buffer(context, &whole);
            copy(&whole, frame, cuda);
            fail_if(pair_check_crop(&pair, &whole, frame, cuda, &crops[c]) && !(i % 2));
        }
    }
}

/* Views that do not begin with the frame, and what is outside of them. */
PART_TEST("pixels", test_roi, tested->output_count) {
    static const Crop regions[] = {{9, 6, 16, 17}, {21, 25, 26, 30}};
    const GstVideoInfo info = make_info("NV12", whole_width, whole_height);
    g_autoptr(CudaContext) context = new_context();
    g_auto(Pair) pair = cuda_pair_new(tested, context);
    if (!g_object_class_find_property(G_OBJECT_GET_CLASS(pair.h->element), "roi"))
        return;
    gst_util_set_object_arg(G_OBJECT(pair.h->element), "roi", "meta");
    pair_set_output(&pair, &tested->outputs[__i__]);
    cuda_pair_set_info(&pair, &info);
    for (guint count = 0; count <= G_N_ELEMENTS(regions); count += G_N_ELEMENTS(regions)) {
        g_autoptr(GstBuffer) frame = random_frame(&info);
        GstBuffer *cuda = padded_cuda_buffer(context, &info);
        copy(&info, frame, cuda);
        pair_check_regions(&pair, frame, cuda, regions, count, TRUE);
    }
}

/* Seeds of gpugraphcut come from a file, and lie in system memory. */
PART_TEST("pixels", test_seeds,
          g_str_equal(tested->name, "gpugraphcut") && have_element("pnmdec") ? some_of(cuda_formats)
                                                                             : 0) {
    g_autoptr(CudaContext) context = new_context();
    GstVideoInfo info = make_info(formats[__i__], 40, 30);
    g_auto(Plane) seeds = plane_new(info.width, info.height);
    const gpv_image view = plane_view(&seeds);
    g_auto(File) file = file_new("seeds.pgm");
    for (gint i = 0; i < info.width * info.height; i++)
        seeds.pixels[i] = (guint8)MIN(g_random_int_range(0, 3) * 128, 255);
    write_picture(&file, &seeds, 1);
    for (guint warm = 0; warm < 2; warm++) {
        g_auto(Pair) pair = cuda_pair_new(tested, context);
        pair_set(&pair, "seed-source", "mask");
        pair_set(&pair, "warm-start", warm ? "true" : "false");
        g_object_set(pair.h->element, "seeds", file.path, NULL);
        pair.model->seeds = &view;
        cuda_pair_set_info(&pair, &info);
        for (guint i = 0; i < 4; i++)
            fail_unless(check_buffer(&pair, padded_cuda_buffer(context, &info)) == context);
    }
}

/* ---- changes ---- */

/* The first is the largest. Every second one is in CUDAMemory. */
static void change(Pair *pair, GstCudaContext *context, gint number) {
    const gboolean cuda = number % 2, grey = !g_str_equal(pair->element->name, "gpuccl");
    const guint n = cuda || !grey ? cuda_formats : G_N_ELEMENTS(formats);
    GstVideoInfo info =
        make_info(formats[(guint)number * 5 % n], 50 - number * 37 % 50, 39 - number * 53 % 39);
    if (cuda) {
        cuda_pair_set_info(pair, &info);
        fail_unless(check_buffer(pair, cuda_buffer(context, &info)) == context);
    } else {
        pair_set_info(pair, &info);
        gst_buffer_unref(pair_push(pair, random_padded_frame(&info), FALSE));
    }
}

/*
 * Row 20 of docs/reliability.md. gpusift draws where the frame is. The pools that are there when
 * memory is looked at are those of the same two changes.
 */
PART_TEST("changes", test_renegotiation_between_memories, element_count) {
    const gint changes = (gint)rounds(1000, 1000, 200), warm_up = MIN(2 * changes, 100);
    const gint all = warm_up + changes + 4;
    g_autoptr(CudaContext) context = new_context();
    g_auto(Pair) pair = drawing_pair(__i__, context);
    Use before, after;
    for (gint i = 0; i < warm_up; i++)
        change(&pair, context, i);
    for (gint i = 0; i < 2; i++)
        change(&pair, context, i);
    before = use_now(context);
    for (gint i = warm_up; i < warm_up + changes; i++)
        change(&pair, context, i);
    for (gint i = 0; i < 2; i++)
        change(&pair, context, i);
    after = use_now(context);
    g_print("%s: %d changes: device memory %+" G_GINT64_FORMAT " bytes\n", elements[__i__].name,
            changes, (gint64)after.device_bytes - (gint64)before.device_bytes);
    fail_unless(after.device_bytes <= before.device_bytes + allowed_growth());
    fail_unless_equals_uint64(stat_of(pair.h->element, "cuda", "frames"), all);
    fail_unless_equals_uint64(stat_of(pair.h->element, "cuda", "uploads"), (all + 1) / 2);
    fail_unless_equals_uint64(stat_of(pair.h->element, "cuda", "downloads"),
                              g_str_equal(elements[__i__].name, "gpusift") ? 0 : (all + 1) / 2);
}

/* ---- contexts ---- */

/* Of the element that the pad is linked to. Transfer none: the element holds it. */
static GstCudaContext *context_behind(GstPad *pad) {
    g_autoptr(GstQuery) query = gst_query_new_context(GST_CUDA_CONTEXT_TYPE);
    GstContext *answer = NULL;
    GstCudaContext *context = NULL;
    fail_unless(gst_pad_peer_query(pad, query));
    gst_query_parse_context(query, &answer);
    fail_unless(gst_structure_get(gst_context_get_structure(answer), GST_CUDA_CONTEXT_TYPE,
                                  GST_TYPE_CUDA_CONTEXT, &context, NULL));
    gst_object_unref(context);
    return context;
}

PART_TEST("contexts", test_context_query, 1) {
    g_autoptr(CudaContext) context = new_context();
    g_auto(Pair) given = pair_of_gpuerode(context), own = pair_of_gpuerode(NULL);
    fail_unless(context_behind(given.h->srcpad) == context);
    fail_unless(context_behind(own.h->srcpad) != context);
}

/* Elements in one pipeline share one. */
PART_TEST("contexts", test_context_is_shared, 1) {
    g_autoptr(GstHarness) h =
        gst_harness_new_parse("gpuerode name=a backend=cuda ! gpuerode backend=cuda");
    g_autoptr(GstElement) first = gst_bin_get_by_name(GST_BIN(h->element), "a");
    g_autoptr(GstPad) pad = gst_element_get_static_pad(first, "src");
    fail_unless(context_behind(h->srcpad) == context_behind(pad));
}

/* The element follows its input from one context to another, and back. */
PART_TEST("contexts", test_adoption, 1) {
    g_autoptr(CudaContext) context = new_context(), other = new_context();
    GstVideoInfo info = make_info("NV12", 65, 33);
    g_auto(Pair) pair = pair_of_gpuerode(context);
    cuda_pair_set_info(&pair, &info);
    for (guint i = 0; i < 20; i++) {
        GstCudaContext *now = i % 3 ? other : context;
        fail_unless(check_buffer(&pair, cuda_buffer(now, &info)) == now);
        fail_unless(context_behind(pair.h->srcpad) == now);
    }
    fail_unless_equals_uint64(stat_of(pair.h->element, "cuda", "frames"), 20);
}

/* Frames of another device are followed there, unless cuda-device-id says where to work. */
PART_TEST("second-device", test_second_device, 1) {
    GstVideoInfo info = make_info("NV12", 64, 48);
    g_autoptr(CudaContext) second = context_on(1);
    g_auto(Pair) free_choice = pair_of_gpuerode(NULL), bound = pair_of_gpuerode(NULL);
    cuda_pair_set_info(&free_choice, &info);
    fail_unless(check_buffer(&free_choice, cuda_buffer(second, &info)) == second);
    gst_element_set_state(bound.h->element, GST_STATE_NULL);
    g_object_set(bound.h->element, "cuda-device-id", 0, NULL);
    reach(bound.h->element, GST_STATE_PLAYING);
    assert_buffer_refused(bound.h, cuda_caps(&info), cuda_buffer(second, &info));
}

enum { n_workers = 16 };

static gpointer start_and_stop(gpointer barrier) {
    g_autoptr(GstElement) element = element_new("gpuerode", "cuda");
    g_autoptr(GstPad) pad = gst_element_get_static_pad(element, "sink");
    g_autoptr(GstQuery) query = gst_query_new_context(GST_CUDA_CONTEXT_TYPE);
    pthread_barrier_wait((pthread_barrier_t *)barrier);
    reach(element, GST_STATE_PAUSED);
    /* It would compute without CUDAMemory, too. */
    fail_unless(gst_pad_query(pad, query));
    reach(element, GST_STATE_NULL);
    return NULL;
}

/* Nothing in this process, which Check has forked, has loaded CUDA yet. */
PART_TEST("starts", test_16_starts, rounds(10, 10, 2)) {
    GThread *threads[n_workers];
    pthread_barrier_t barrier;
    fail_unless_equals_int(pthread_barrier_init(&barrier, NULL, n_workers), 0);
    for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
        threads[i] = g_thread_new("start", start_and_stop, &barrier);
    for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
        g_thread_join(threads[i]);
    pthread_barrier_destroy(&barrier);
}

/* On CUDAMemory of its context; alone on the CPU. */
static Film numbered_film(guint number, guint frames, gboolean alone, gpointer contexts) {
    const gint width = is_emulated() ? 32 : 320;
    const GstVideoInfo info = make_info(formats[number % cuda_formats], width, width * 3 / 4);
    Film film = film_new(&info, !alone);
    film_load(&film, number, frames, alone ? NULL : uploaded,
              ((GstCudaContext **)contexts)[number]);
    return film;
}

static GstBuffer *fetched(const Film *film, guint number, GstBuffer *cuda, gpointer contexts) {
    fail_unless(memory_of(cuda)->context == ((GstCudaContext **)contexts)[number]);
    return downloaded(&film->info, cuda);
}

/* Row 26 of docs/reliability.md: with a context for each, and with one for all. */
PART_TEST("pipelines", test_16_pipelines, 2) {
    const guint frames = rounds(20, 20, 4);
    GstCudaContext *contexts[film_count];
    for (guint i = 0; i < film_count; i++)
        contexts[i] = __i__ == 0 || i == 0 ? new_context() : gst_object_ref(contexts[0]);
    check_films(frames, numbered_film, fetched, contexts);
    for (guint i = 0; i < film_count; i++)
        gst_object_unref(contexts[i]);
    g_print("%d pipelines of five elements with %s, %u frames each, as the CPU alone\n",
            (gint)film_count, __i__ == 0 ? "a context each" : "one context", frames);
}

/* ---- pools ---- */

PART_TEST("pools", test_upstream_is_offered_a_pool, 1) {
    g_autoptr(CudaContext) context = new_context();
    GstVideoInfo info = make_info("NV12", 33, 21);
    g_auto(Pair) pair = pair_of_gpuerode(context);
    g_autoptr(GstBufferPool) pool = NULL;
    GstBuffer *buffer;
    guint size = 0;
    cuda_pair_set_info(&pair, &info);
    pool = offered_pool(pair.h, &info, &size);
    fail_unless(GST_IS_CUDA_BUFFER_POOL(pool));
    fail_unless(GST_CUDA_BUFFER_POOL(pool)->context == context);
    buffer = acquire(pool);
    fail_unless_equals_int(size, gst_buffer_get_size(buffer));
    gst_buffer_unref(buffer);
    gst_buffer_pool_set_active(pool, FALSE);
}

/* Frames of one stream, which nobody waits for from GStreamer 1.24 on, keep their order. */
PART_TEST("pools", test_frames_in_flight, 1) {
    g_autoptr(CudaContext) context = new_context();
    GstVideoInfo info = make_info("NV12", 640, 480);
    g_auto(Pair) pair = pair_of_gpuerode(context);
    GstBuffer *frames[64];
    g_autoptr(GstBufferPool) pool = NULL;
    guint size;
    cuda_pair_set_info(&pair, &info);
    pool = offered_pool(pair.h, &info, &size);
    for (guint i = 0; i < G_N_ELEMENTS(frames); i++) {
        GstBuffer *cuda = acquire(pool);
        frames[i] = random_frame(&info);
        copy(&info, frames[i], cuda);
        fail_unless_equals_int(gst_harness_push(pair.h, cuda), GST_FLOW_OK);
    }
    for (guint i = 0; i < G_N_ELEMENTS(frames); i++) {
        g_autoptr(GstBuffer) out = gst_harness_pull(pair.h), got = downloaded(&info, out);
        g_auto(Expected) expected = model_expect(pair.model, &info, frames[i], TRUE);
        assert_same(&info, got, expected.image);
        gst_buffer_unref(frames[i]);
    }
    gst_buffer_pool_set_active(pool, FALSE);
}

static GstPadProbeReturn offer_pool(G_GNUC_UNUSED GstPad *pad, GstPadProbeInfo *probe,
                                    gpointer pool) {
    GstQuery *query = GST_PAD_PROBE_INFO_QUERY(probe);
    if (GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION)
        gst_query_add_allocation_pool(query, pool, 1, 2, 0);
    return GST_PAD_PROBE_OK;
}

/* Downstream's pool is taken if it is one of CUDAMemory of the same context. */
PART_TEST("pools", test_downstream_pool, 1) {
    g_autoptr(CudaContext) context = new_context(), other = new_context();
    GstVideoInfo info = make_info("NV12", 33, 21);
    for (guint i = 0; i < 3; i++) {
        g_auto(Pair) pair = pair_of_gpuerode(context);
        g_autoptr(GstBufferPool) pool = i == 0   ? gst_cuda_buffer_pool_new(context)
                                        : i == 1 ? gst_cuda_buffer_pool_new(other)
                                                 : gst_video_buffer_pool_new();
        GstBuffer *frame = random_frame(&info), *cuda = cuda_buffer(context, &info), *out;
        gst_pad_add_probe(pair.h->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer_pool, pool,
                          NULL);
        cuda_pair_set_info(&pair, &info);
        out = cuda_pair_push(&pair, frame, cuda, FALSE);
        fail_unless((out->pool == pool) == (i == 0), "pool %u", i);
        fail_unless(memory_of(out)->context == context);
        gst_buffer_unref(out);
        gst_buffer_unref(frame);
    }
}

/* ---- cycles ---- */

/* Of small frames, so that an element begins and ends most of the time. */
enum { cycled_width = 64, cycled_height = 48 };

typedef struct {
    gint element;            /* of elements */
    GstCudaContext *context; /* of the measurement, and of frames */
    GstElement *pipeline;
    Pair *pair;
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
            elements[cycled->element].name, cycles,
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
PART_TEST("cycles", test_cycles_of_a_pipeline, element_count) {
    Cycled cycled = {__i__, new_context(), NULL, NULL};
    g_autofree gchar *text =
        g_strdup_printf("videotestsrc num-buffers=2 ! video/x-raw,width=%d,height=%d ! "
                        "%s backend=cuda ! fakesink sync=false",
                        cycled_width, cycled_height, elements[__i__].name);
    cycled.pipeline = launch(text);
    check_cycles(&cycled, cycle_pipeline, cycles());
    gst_object_unref(cycled.pipeline);
    gst_object_unref(cycled.context);
}

static void cycle_pair(Cycled *cycled) {
    GstHarness *h = cycled->pair->h;
    GstVideoInfo info = make_info("NV12", cycled_width, cycled_height);
    reach(h->element, GST_STATE_PLAYING);
    cuda_pair_begin(cycled->pair, &info, TRUE);
    gst_buffer_unref(push_and_pull(h, cuda_buffer(cycled->context, &info)));
    reach(h->element, GST_STATE_NULL);
}

/* CUDAMemory of a context that the element was given, and of one that it adopts every time. */
PART_TEST("cycles", test_cycles_with_cuda_memory, 2 * element_count) {
    Cycled cycled = {__i__ / 2, new_context(), NULL, NULL};
    Pair pair = drawing_pair(cycled.element, __i__ % 2 ? NULL : cycled.context);
    cycled.pair = &pair;
    reach(pair.h->element, GST_STATE_NULL);
    check_cycles(&cycled, cycle_pair, cycles());
    pair_free(&pair);
    gst_object_unref(cycled.context);
}

static void live_and_die(Cycled *cycled) {
    g_autoptr(GstHarness) h = harness_with(element_new(elements[cycled->element].name, "cuda"));
    GstVideoInfo info = make_info("NV12", cycled_width, cycled_height);
    g_autoptr(GstBufferPool) pool = NULL;
    guint size;
    gst_harness_set_src_caps(h, cuda_caps(&info));
    pool = offered_pool(h, &info, &size);
    gst_buffer_unref(push_and_pull(h, acquire(pool)));
    gst_buffer_pool_set_active(pool, FALSE);
}

/* The context goes with the element that has made it. */
PART_TEST("cycles", test_lives, 1) {
    Cycled cycled = {0, new_context(), NULL, NULL};
    check_cycles(&cycled, live_and_die, MIN(rounds(20, 20, 10), 20));
    gst_object_unref(cycled.context);
}

/* ---- soak ---- */

/* Noise; of gpugraphcut, which takes many times as long to cut noise, an object. */
static GstBuffer *soak_frame(const GstVideoInfo *info, guint number) {
    GstBuffer *buffer = random_frame(info);
    GstVideoFrame frame;
    if (tested->slow) {
        fail_unless(gst_video_frame_map(&frame, info, buffer, GST_MAP_WRITE));
        draw_object(&frame, number);
        gst_video_frame_unmap(&frame);
    }
    return buffer;
}

/* 2000 frames, and 100000 with GPV_TEST_FULL. Device memory stays as it is after the first 1000,
   and every 1000th result is that of the CPU. */
PART_TEST("soak", test_many_frames, 1) {
    enum {
        checked = 1000,
        buffers = 7
    }; /* they share no factor, so that each of them is checked */
    const guint frames = checked + rounds(100000, 2000, 1000);
    g_autoptr(CudaContext) context = new_context();
    g_auto(Pair) pair = drawing_pair((gint)(tested - elements), context);
    const GstVideoInfo info =
        make_info("NV12", is_emulated() ? 64 : 1920, is_emulated() ? 48 : 1080);
    GstBuffer *here[buffers], *there[buffers];
    gsize before = 0, after;
    if (tested->learns)
        pair_set(&pair, "warm-start", "false");
    cuda_pair_set_info(&pair, &info);
    for (guint i = 0; i < buffers; i++) {
        here[i] = soak_frame(&info, i);
        there[i] = cuda_buffer(context, &info);
        copy(&info, here[i], there[i]);
    }
    for (guint i = 0; i < frames; i++) {
        GstBuffer *frame = gst_buffer_ref(there[i % buffers]);
        if (i == checked)
            before = use_now(context).device_bytes;
        gst_buffer_unref(i % checked ? gst_harness_push_and_pull(pair.h, frame)
                                     : pair_push_there(&pair, here[i % buffers], frame, TRUE));
    }
    after = use_now(context).device_bytes;
    g_print("%s: %u frames, device memory after the first %d: %+" G_GINT64_FORMAT " bytes\n",
            tested->name, frames, (gint)checked, (gint64)after - (gint64)before);
    fail_unless(after <= before);
    for (guint i = 0; i < buffers; i++) {
        gst_buffer_unref(here[i]);
        gst_buffer_unref(there[i]);
    }
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

/* Of some parts the argument has the name of an element behind it, as pixels-gpuerode. */
int main(int argc, char **argv) {
    const gchar *part = argc == 2 ? argv[1] : "";
    const gchar *element = strstr(part, "-gpu");
    gst_check_init(&argc, &argv);
    if (g_str_equal(part, "second-device") && !have_second_device())
        return not_run("there is no second CUDA device");
    if (element) {
        tested = element_called(element + 1);
        part = g_str_has_prefix(part, "soak") ? "soak" : "pixels";
        test_seconds = 450;
    }
    return is_emulated() ? run_tests(part) : run_where_a_device_is(part);
}
