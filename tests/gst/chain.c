/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All five elements, one after the other, on a clip: what each of them makes of its frames is what
 * the library makes of the same frames.
 *
 *     gst-chain            in system memory, on the backend GPV_TEST_BACKEND, or on the CPU
 *     gst-chain memory     in CUDAMemory
 *     gst-chain decoder    in CUDAMemory, as it comes from nvh264dec
 *     gst-chain converters in CUDAMemory, between cudaconvert and cudascale
 *
 * GPV_TEST_CLIP names a clip in any format that decodebin knows, H.264 for the decoder, whose first
 * GPV_TEST_CLIP_FRAMES frames count, 10 unless set, and those that the decoder has at hand by then;
 * without it, a camera moves over a photograph.
 */
#include "chains.h"
#include "clip.h"

#ifdef HAVE_GST_CUDA
#    include "cuda_frames.h"
#endif

enum { made_width = 96, made_height = 72, made_frames = 30 };

/* Everything is described and one picture made; every element makes a picture. */
static const struct {
    ChainLook look;
    const gchar *format;
} looks[] = {{{"none", "none", "overlay", TRUE}, "NV12"},
             {{"rich", "colorize", "cutout", TRUE}, "I420"},
             {{"points", "none", "cutout", FALSE}, "RGBA"}};

/* ---- clips ---- */

/* Of a clip that is given; all of one that is made here. */
static guint max_frames(void) {
    const gchar *wanted = g_getenv("GPV_TEST_CLIP_FRAMES");
    guint64 frames = 10;
    if (!g_getenv("GPV_TEST_CLIP"))
        return made_frames;
    fail_unless(!wanted || g_ascii_string_to_unsigned(wanted, 10, 1, 1000000, &frames, NULL),
                "GPV_TEST_CLIP_FRAMES takes 1 to 1000000, but is '%s'", wanted);
    return (guint)frames;
}

/* All compute on the GPU, and were given no frame in system memory. What is copied beside that only
   transfers.c counts. */
static void assert_all_in_cuda_memory(GstElement *bin) {
    for (guint i = 0; i < element_count; i++) {
        g_autoptr(GstElement) element = gst_bin_get_by_name(GST_BIN(bin), elements[i].name);
        fail_unless_equals_uint64(stat_of(element, "cuda", "uploads"), 0);
        fail_unless_equals_uint64(stat_of(element, "cuda", "downloads"), 0);
    }
}

/* Returns how many frames have come out. */
static guint play(const gchar *text, const gchar *clip, gboolean resident) {
    g_autoptr(GstElement) pipeline = launch(text);
    g_autoptr(GstElement) file = gst_bin_get_by_name(GST_BIN(pipeline), "file");
    g_autoptr(ChainWatch) chain = chain_watch_new(pipeline);
    guint frames;
    g_object_set(file, "location", clip, NULL);
    fail_if(gst_element_set_state(pipeline, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE);
    wait_for_eos(pipeline);
    if (resident)
        assert_all_in_cuda_memory(pipeline);
    reach(pipeline, GST_STATE_NULL);
    frames = chain->stages[0].given;
    assert_watched(chain, frames);
    if (!g_getenv("GPV_TEST_CLIP")) /* nobody knows what a given clip shows */
        assert_something_was_found(chain);
    return frames;
}

/* ---- system memory ---- */

TEST(test_system_memory, G_N_ELEMENTS(looks)) {
    const ChainLook *look = &looks[__i__].look;
    const gchar *given = g_getenv("GPV_TEST_CLIP");
    g_autofree gchar *chain = chain_text(look, test_backend(), "");
    g_autofree gchar *text = g_strdup_printf("filesrc name=file ! decodebin ! videoconvert ! "
                                             "video/x-raw,format=%s ! identity eos-after=%u ! %s ! "
                                             "fakesink sync=false",
                                             looks[__i__].format, max_frames() + 1, chain);
    g_auto(File) made = file_new("clip.mkv");
    guint frames;
    if (!given)
        write_clip(&made, made_width, made_height, made_frames);
    frames = play(text, given ? given : made.path, FALSE);
    g_print("%u frames of %s, each equal to the library's in all five elements\n", frames,
            looks[__i__].format);
    fail_unless(given ? frames >= max_frames() : frames == made_frames,
                "%u frames, but %u were wanted", frames, max_frames());
}

/* All that has been found is still with the frame at the end of the chain, and on the bus. */
TEST(test_results_stay, G_N_ELEMENTS(looks)) {
    const ChainLook *look = &looks[__i__].look;
    g_autofree gchar *text = chain_text(look, test_backend(), "post-messages=true");
    g_autoptr(GstHarness) h = gst_harness_new_parse(text);
    g_autoptr(GstBus) bus = add_bus(h->element);
    g_autoptr(ChainWatch) chain = chain_watch_new(h->element);
    GstVideoInfo info = make_info("RGB", made_width, made_height);
    set_info(h, &info);
    for (guint i = 0; i < 3; i++) {
        g_autoptr(GstBuffer) out = push_and_pull(h, camera_frame(&info, i));
        for (guint s = 0; s < element_count; s++) {
            g_autoptr(GstMessage) message = gst_bus_pop_filtered(bus, GST_MESSAGE_ELEMENT);
            const GstStructure *posted, *attached = results_of(out, elements[s].name);
            fail_unless(message != NULL, "%s has posted nothing", elements[s].name);
            posted = gst_message_get_structure(message);
            fail_unless_equals_string(gst_structure_get_name(posted), elements[s].name);
            assert_time(posted, "timestamp", i * GST_SECOND / 25);
            assert_posted(posted, attached);
        }
    }
    assert_watched(chain, 3);
}

/* ---- CUDAMemory ---- */

#ifdef HAVE_GST_CUDA

/* Frames that somebody else has put on the device, in a CUDA context that the chain takes over. */
PART_TEST("memory", test_memory, G_N_ELEMENTS(looks)) {
    const ChainLook *look = &looks[__i__].look;
    g_autofree gchar *text = chain_text(look, "cuda", "");
    g_autoptr(CudaContext) context = new_context();
    g_autoptr(GstHarness) h = gst_harness_new_parse(text);
    g_autoptr(ChainWatch) chain = chain_watch_new(h->element);
    GstVideoInfo info = make_info(looks[__i__].format, made_width, made_height);
    chain_watch_fetch(chain, downloaded);
    gst_harness_set_src_caps(h, cuda_caps(&info));
    for (guint i = 0; i < made_frames; i++) {
        GstBuffer *cuda = uploaded(&info, camera_frame(&info, i), context);
        g_autoptr(GstBuffer) out = push_and_pull(h, cuda);
        fail_unless(memory_of(out)->context == context);
    }
    assert_watched(chain, made_frames);
    assert_something_was_found(chain);
    assert_all_in_cuda_memory(h->element);
    g_print("%u frames of %s in CUDAMemory, each equal to the library's in all five elements\n",
            (guint)made_frames, looks[__i__].format);
}

PART_TEST("decoder", test_decoder, 2) {
    const ChainLook *look = &looks[__i__].look;
    g_autofree gchar *chain = chain_text(look, "cuda", "");
    g_autofree gchar *text =
        g_strdup_printf("filesrc name=file ! parsebin ! nvh264dec ! "
                        "video/x-raw(memory:CUDAMemory) ! identity eos-after=%u ! %s ! "
                        "fakesink sync=false",
                        max_frames() + 1, chain);
    const guint frames = play(text, g_getenv("GPV_TEST_CLIP"), TRUE);
    g_print("%u decoded frames, each equal to the library's in all five elements\n", frames);
    fail_unless(frames >= max_frames(), "%u frames, but %u were wanted", frames, max_frames());
}

/* Frames that elements of GStreamer make of others on the device, and whose results they take. */
PART_TEST("converters", test_converters, G_N_ELEMENTS(looks)) {
    g_autofree gchar *chain = chain_text(&looks[__i__].look, "cuda", "");
    g_autofree gchar *text = g_strdup_printf(
        "cudaupload ! cudaconvert ! video/x-raw(memory:CUDAMemory),format=%s ! cudascale ! "
        "video/x-raw(memory:CUDAMemory),width=%d,height=%d ! %s ! cudaconvert ! "
        "video/x-raw(memory:CUDAMemory),format=BGRx ! cudascale ! "
        "video/x-raw(memory:CUDAMemory),width=64,height=48 ! cudadownload",
        looks[__i__].format, made_width, made_height, chain);
    const gchar *other = looks[(__i__ + 1) % (gint)G_N_ELEMENTS(looks)].format;
    const GstVideoInfo info = make_info(other, 2 * made_width, 2 * made_height);
    g_autoptr(GstHarness) h = gst_harness_new_parse(text);
    g_autoptr(ChainWatch) watch = chain_watch_new(h->element);
    chain_watch_fetch(watch, downloaded);
    set_info(h, &info);
    for (guint i = 0; i < made_frames; i++)
        gst_buffer_unref(push_and_pull(h, camera_frame(&info, i)));
    assert_watched(watch, made_frames);
    assert_something_was_found(watch);
    assert_all_in_cuda_memory(h->element);
}

static int run_on_device(const gchar *part) {
    if (g_str_equal(part, "decoder"))
        return run_behind_a_decoder(part);
    if (g_str_equal(part, "converters") &&
        !(have_element("cudaconvert") && have_element("cudascale")))
        return not_run("cudaconvert or cudascale is missing");
    return run_where_a_device_is(part);
}

#endif

int main(int argc, char **argv) {
    gst_check_init(&argc, &argv);
#ifdef HAVE_GST_CUDA
    if (argc > 1)
        return run_on_device(argv[1]);
#endif
    return run_with_clips(NULL);
}
