/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What all five elements, one after the other, copy between host and device, and how often the host
 * waits in each of them, for frames of 1080p that are on the device already, and for those that
 * nvh264dec puts there. CUPTI counts: copies as the device has made them, whoever has asked for
 * them by whatever call, and waits as calls of CUDA. That it counts at all is shown by the same
 * chain on frames in system memory.
 */
#include "chains.h"
#include "clip.h"
#include "cuda_frames.h"

#include <cupti.h>

enum { width = 1920, height = 1080, buffer_count = 4, warm_up = 20, counted_frames = 50 };

/* What gpuccl tells of components is copied as a whole, whatever their number, with its count. */
enum { bytes_of_results = 256 * sizeof(gpv_ccl_component) + sizeof(gpv_ccl_result) };

#if GST_CHECK_VERSION(1, 24, 0)
enum { waits_without_results = 0 }; /* the stream goes on with the frame */
#else
enum { waits_without_results = 1 };
#endif

/* Pictures that are kept where that can be, and pictures that are drawn by all. */
static const ChainLook looks[] = {{"none", "none", "overlay", TRUE},
                                  {"rich", "colorize", "cutout", TRUE}};

typedef struct {
    guint64 copies, bytes, largest;
} Traffic;

typedef struct {
    guint frames;
    Traffic up, down; /* to the device, and to the host */
    guint waits[element_count];
} Count;

/* ---- CUPTI ---- */

static struct {
    CUpti_SubscriberHandle subscriber;
    gboolean counting;
    guint waits; /* so far, while counting */
    guint open;  /* calls that wait and have not returned: the runtime's, and the
                    driver's in it */
    Traffic up, down;
} cupti;

#define CUPTI(call) fail_unless_equals_int((call), CUPTI_SUCCESS)

static void add_copy(Traffic *traffic, guint64 bytes) {
    traffic->copies++;
    traffic->bytes += bytes;
    traffic->largest = MAX(traffic->largest, bytes);
}

/* The fields that are read have had their places since CUDA 11. */
static void add_record(const CUpti_ActivityMemcpy5 *record) {
    switch (record->copyKind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
        add_copy(&cupti.up, record->bytes);
        break;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
        add_copy(&cupti.down, record->bytes);
        break;
    default:
        break; /* stays on one side */
    }
}

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *max_records) {
    *size = 1 << 20;
    *buffer = g_aligned_alloc0(1, *size, 64);
    *max_records = 0;
}

static void CUPTIAPI take_buffer(G_GNUC_UNUSED CUcontext context, G_GNUC_UNUSED uint32_t stream,
                                 uint8_t *buffer, G_GNUC_UNUSED size_t size, size_t valid) {
    CUpti_Activity *record = NULL;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
        if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY)
            add_record((const CUpti_ActivityMemcpy5 *)record);
    g_aligned_free(buffer);
}

/* Copies that are not asynchronous wait, too. */
static gboolean waits(const gchar *call) {
    static const gchar *const names[] = {"cuStreamSynchronize",  "cuEventSynchronize",
                                         "cuCtxSynchronize",     "cudaStreamSynchronize",
                                         "cudaEventSynchronize", "cudaDeviceSynchronize"};
    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        if (g_str_has_prefix(call, names[i]))
            return TRUE;
    return (g_str_has_prefix(call, "cuMemcpy") || g_str_has_prefix(call, "cudaMemcpy")) &&
           !strstr(call, "Async");
}

/* A call of the runtime that calls the driver is one. */
static void CUPTIAPI on_call(G_GNUC_UNUSED void *user, G_GNUC_UNUSED CUpti_CallbackDomain domain,
                             G_GNUC_UNUSED CUpti_CallbackId id, const void *data) {
    const CUpti_CallbackData *call = data;
    if (!cupti.counting || !waits(call->functionName))
        return;
    if (call->callbackSite == CUPTI_API_EXIT)
        cupti.open--;
    else if (cupti.open++ == 0)
        cupti.waits++;
}

/* Before anything is asked of CUDA. */
static void open_cupti(void) {
    CUPTI(cuptiSubscribe(&cupti.subscriber, on_call, NULL));
    CUPTI(cuptiEnableDomain(1, cupti.subscriber, CUPTI_CB_DOMAIN_DRIVER_API));
    CUPTI(cuptiEnableDomain(1, cupti.subscriber, CUPTI_CB_DOMAIN_RUNTIME_API));
    CUPTI(cuptiActivityRegisterCallbacks(give_buffer, take_buffer));
    CUPTI(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY));
}

static void close_cupti(void) {
    CUPTI(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMCPY));
    CUPTI(cuptiUnsubscribe(cupti.subscriber));
}

/* Once the device has nothing left to do for these frames: what has not been reported so far. In
   system memory, elements have waited for all of theirs. */
static void flush_cupti(GstBuffer *frame) {
    GstMemory *memory = gst_buffer_peek_memory(frame, 0);
    if (gst_is_cuda_memory(memory)) {
        fail_unless(gst_cuda_context_push(GST_CUDA_MEMORY_CAST(memory)->context));
        fail_unless_equals_int(CuStreamSynchronize(NULL), CUDA_SUCCESS);
        gst_cuda_context_pop(NULL);
    }
    CUPTI(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
}

/* ---- the chain ---- */

typedef struct {
    guint before, waits;
} Stage;

static GstPadProbeReturn enter(G_GNUC_UNUSED GstPad *pad, G_GNUC_UNUSED GstPadProbeInfo *probe,
                               gpointer user) {
    ((Stage *)user)->before = cupti.waits;
    return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn leave(G_GNUC_UNUSED GstPad *pad, G_GNUC_UNUSED GstPadProbeInfo *probe,
                               gpointer user) {
    Stage *stage = user;
    stage->waits += cupti.waits - stage->before;
    return GST_PAD_PROBE_OK;
}

static void watch_waits(GstElement *bin, Stage *of_stages) {
    for (guint i = 0; i < element_count; i++) {
        g_autoptr(GstElement) element = gst_bin_get_by_name(GST_BIN(bin), elements[i].name);
        probe_pad(element, "sink", GST_PAD_PROBE_TYPE_BUFFER, enter, &of_stages[i]);
        probe_pad(element, "src", GST_PAD_PROBE_TYPE_BUFFER, leave, &of_stages[i]);
    }
}

/* From here on. */
static void begin_to_count(GstBuffer *frame, Stage *of_stages) {
    flush_cupti(frame);
    memset(&cupti.up, 0, sizeof cupti.up);
    memset(&cupti.down, 0, sizeof cupti.down);
    memset(of_stages, 0, element_count * sizeof *of_stages);
    cupti.counting = TRUE;
}

static Count end_of_count(GstBuffer *frame, guint frames, const Stage *of_stages) {
    Count result = {frames, {0, 0, 0}, {0, 0, 0}, {0}};
    cupti.counting = FALSE;
    flush_cupti(frame);
    result.up = cupti.up;
    result.down = cupti.down;
    for (guint i = 0; i < element_count; i++)
        result.waits[i] = of_stages[i].waits;
    return result;
}

static void push_frames(GstHarness *h, GstBuffer **buffers, guint frames) {
    for (guint i = 0; i < frames; i++) {
        g_autoptr(GstBuffer) out = push_and_pull(h, gst_buffer_ref(buffers[i % buffer_count]));
    }
}

/* From the pool that the chain offers, so that from GStreamer 1.24 on they are of its stream. */
static void make_resident(GstHarness *h, const GstVideoInfo *info, GstBuffer **buffers) {
    guint size = 0;
    g_autoptr(GstBufferPool) pool = offered_pool(h, info, &size);
    for (guint i = 0; i < buffer_count; i++) {
        GstBuffer *cuda = acquire(pool);
        copy(info, buffers[i], cuda);
        gst_buffer_unref(buffers[i]);
        buffers[i] = cuda;
    }
    gst_buffer_pool_set_active(pool, FALSE);
}

static Count count(const ChainLook *look, const gchar *settings, gboolean resident) {
    GstVideoInfo info = make_info("NV12", width, height);
    GstBuffer *buffers[buffer_count];
    GstHarness *h;
    Stage of_stages[element_count] = {{0, 0}};
    g_autofree gchar *text = chain_text(look, "cuda", settings);
    Count result;
    open_cupti();
    h = gst_harness_new_parse(text);
    watch_waits(h->element, of_stages);
    gst_harness_set_src_caps(h, resident ? cuda_caps(&info) : gst_video_info_to_caps(&info));
    for (guint i = 0; i < buffer_count; i++)
        buffers[i] = camera_frame(&info, i);
    if (resident)
        make_resident(h, &info, buffers);

    push_frames(h, buffers, warm_up);
    begin_to_count(buffers[0], of_stages);
    push_frames(h, buffers, counted_frames);
    result = end_of_count(buffers[0], counted_frames, of_stages);

    for (guint i = 0; i < buffer_count; i++)
        gst_buffer_unref(buffers[i]);
    harness_free(h);
    close_cupti();
    return result;
}

/* ---- behind a decoder ---- */

typedef struct {
    Stage of_stages[element_count];
    guint frames; /* that the decoder has given */
    Count count;
} Decoding;

static GstPadProbeReturn leave_decoder(G_GNUC_UNUSED GstPad *pad, GstPadProbeInfo *probe,
                                       gpointer user) {
    Decoding *decoding = user;
    GstBuffer *frame = GST_PAD_PROBE_INFO_BUFFER(probe);
    if (decoding->frames == warm_up)
        begin_to_count(frame, decoding->of_stages);
    if (decoding->frames == warm_up + counted_frames)
        decoding->count = end_of_count(frame, counted_frames, decoding->of_stages);
    decoding->frames++;
    return GST_PAD_PROBE_OK;
}

/* Of the clip that is given. NULL: of the decoder alone. */
static Count count_decoded(const ChainLook *look, const gchar *settings) {
    g_autofree gchar *chain = look ? chain_text(look, "cuda", settings) : g_strdup("identity");
    g_autofree gchar *text =
        g_strdup_printf("filesrc name=file ! parsebin ! nvh264dec name=decoder ! "
                        "video/x-raw(memory:CUDAMemory) ! identity eos-after=%d ! "
                        "%s ! fakesink sync=false",
                        warm_up + counted_frames + 1, chain);
    Decoding decoding = {{{0, 0}}, 0, {0, {0, 0, 0}, {0, 0, 0}, {0}}};
    g_autoptr(GstElement) pipeline = NULL, file = NULL, decoder = NULL;
    open_cupti();
    pipeline = launch(text);
    file = gst_bin_get_by_name(GST_BIN(pipeline), "file");
    decoder = gst_bin_get_by_name(GST_BIN(pipeline), "decoder");
    g_object_set(file, "location", g_getenv("GPV_TEST_CLIP"), NULL);
    probe_pad(decoder, "src", GST_PAD_PROBE_TYPE_BUFFER, leave_decoder, &decoding);
    if (look)
        watch_waits(pipeline, decoding.of_stages);
    fail_if(gst_element_set_state(pipeline, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE);
    wait_for_eos(pipeline);
    reach(pipeline, GST_STATE_NULL);
    fail_unless(decoding.frames > warm_up + counted_frames,
                "the clip has %u frames, and more than %d are needed", decoding.frames,
                warm_up + counted_frames);
    close_cupti();
    return decoding.count;
}

static void print_count(const gchar *what, const Count *found) {
    g_print("%s, %u frames: to the device %" G_GUINT64_FORMAT " copies of %" G_GUINT64_FORMAT
            " bytes, to the host %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
            ", the largest of %" G_GUINT64_FORMAT "; waits of",
            what, found->frames, found->up.copies, found->up.bytes, found->down.copies,
            found->down.bytes, found->down.largest);
    for (guint i = 0; i < element_count; i++)
        g_print(" %s %u", elements[i].name, found->waits[i]);
    g_print("\n");
}

/* ---- what is to hold ---- */

/* The host waits so often for each frame. */
static void assert_waits(const Count *found, guint stage, guint each) {
    fail_unless(found->waits[stage] == each * found->frames,
                "%s waits %u times in %u frames, not %u", elements[stage].name, found->waits[stage],
                found->frames, each * found->frames);
}

/* Nothing is wanted on the host: no copy is made, and where frames have streams nobody waits. */
TEST(test_no_results, G_N_ELEMENTS(looks)) {
    const Count found = count(&looks[__i__], "attach-meta=false post-messages=false", TRUE);
    print_count("CUDAMemory without results", &found);
    fail_unless_equals_uint64(found.up.copies, 0);
    fail_unless_equals_uint64(found.down.copies, 0);
    for (guint i = 0; i < element_count; i++)
        assert_waits(&found, i, waits_without_results);
}

/* Beside what others copy, results alone go to the host, of which all are less than a plane of
   pixels. */
static void assert_results_alone(const Count *found, const Count *beside) {
    fail_unless_equals_uint64(found->up.bytes, beside->up.bytes);
    fail_unless(found->down.bytes - beside->down.bytes <=
                (guint64)counted_frames * bytes_of_results);
    fail_unless(found->down.largest <= MAX(beside->down.largest, bytes_of_results));
    assert_waits(found, 0, waits_without_results); /* gpuerode has none */
    for (guint i = 1; i < element_count; i++)
        assert_waits(found, i, 1);
}

/* Results are, and pixels are not. Who has results waits for them, and for nothing else. */
TEST(test_results, G_N_ELEMENTS(looks)) {
    const Count nothing = {0};
    const Count found = count(&looks[__i__], "attach-meta=true post-messages=false", TRUE);
    print_count("CUDAMemory with metadata", &found);
    assert_results_alone(&found, &nothing);
}

/* Frames in system memory go to the device and come back, and somebody waits for that. */
TEST(test_system_memory, 1) {
    const guint64 luma = (guint64)counted_frames * width * height;
    const Count found = count(&looks[0], "attach-meta=false post-messages=false", FALSE);
    print_count("system memory", &found);
    fail_unless(found.up.bytes >= luma);
    fail_unless(found.down.bytes >= luma);
    for (guint i = 0; i < element_count; i++)
        fail_unless(found.waits[i] >= counted_frames, "%s does not wait", elements[i].name);
}

/* With the elements not a byte more goes between host and device than with the decoder alone. */
PART_TEST("decoder", test_decoder, G_N_ELEMENTS(looks)) {
    const Count decoder = count_decoded(NULL, NULL);
    const Count found = count_decoded(&looks[__i__], "attach-meta=false post-messages=false");
    print_count("nvh264dec alone", &decoder);
    print_count("nvh264dec and elements without results", &found);
    fail_unless_equals_uint64(found.up.bytes, decoder.up.bytes);
    fail_unless_equals_uint64(found.down.bytes, decoder.down.bytes);
    for (guint i = 0; i < element_count; i++)
        assert_waits(&found, i, waits_without_results);
}

/* As the elements are unless told otherwise. */
PART_TEST("decoder", test_decoder_results, G_N_ELEMENTS(looks)) {
    const Count decoder = count_decoded(NULL, NULL), found = count_decoded(&looks[__i__], "");
    print_count("nvh264dec and elements with metadata", &found);
    assert_results_alone(&found, &decoder);
}

MAIN(argc > 1 ? run_behind_a_decoder(argv[1]) : run_where_a_device_is(NULL))
