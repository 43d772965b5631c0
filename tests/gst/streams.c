/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What real streams bring to a pipeline: caps that cannot be used, levels of another range, and
 * elements that take longer than a frame. Each with the right value, in system memory, on the
 * backend GPV_TEST_BACKEND or on the CPU.
 */
#include "helpers.h"

/* Before the first frame. */
static GstHarness *harness_of(const gchar *look) {
    g_autofree gchar *text = g_strdup_printf("%s backend=%s", look, test_backend());
    return harness_with(launch(text));
}

/* ---- caps ---- */

/* The application gets one warning, wherever the source is, and it says what helps. */
TEST(test_explanation_behind_a_bin, 1) {
    static const gchar *const refused[][2] = {
        {"video/x-raw,format=Y42B,width=64,height=64,framerate=1/1", "videoconvert"},
        {"video/x-raw,format=I420,width=64,height=64,framerate=1/1,interlace-mode=interleaved",
         "deinterlace"},
        {"video/x-raw,format=GRAY8,width=40000,height=4,framerate=1/1", "40000x4"}};
    for (guint i = 0; i < 2 * G_N_ELEMENTS(refused); i++) {
        g_autofree gchar *text = g_strdup_printf("appsrc name=source format=time ! %s "
                                                 "gpuerode name=element backend=cpu ! fakesink",
                                                 i % 2 ? "( identity ! identity ) !" : "");
        g_autoptr(GstElement) pipeline = launch(text);
        g_autoptr(GstElement) source = gst_bin_get_by_name(GST_BIN(pipeline), "source");
        g_autoptr(GstElement) element = gst_bin_get_by_name(GST_BIN(pipeline), "element");
        g_autoptr(GstCaps) caps = gst_caps_from_string(refused[i / 2][0]);
        g_autoptr(GstBus) bus = gst_element_get_bus(pipeline);
        g_autoptr(GstBuffer) frame = buffer_of_size(64 * 64 * 4);
        g_autoptr(GstMessage) error = NULL;
        GstFlowReturn flow;
        g_object_set(source, "caps", caps, NULL);
        gst_element_set_state(pipeline, GST_STATE_PLAYING);
        g_signal_emit_by_name(source, "push-buffer", frame, &flow);
        assert_warning(bus, GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION, refused[i / 2][1]);
        error = gst_bus_timed_pop_filtered(bus, 10 * GST_SECOND, GST_MESSAGE_ERROR);
        fail_unless(error != NULL && GST_MESSAGE_SRC(error) != GST_OBJECT(element));
        fail_unless(gst_bus_pop_filtered(bus, GST_MESSAGE_WARNING) == NULL, "one is enough");
        reach(pipeline, GST_STATE_NULL);
    }
}

/* ---- levels ---- */

/* Half of the way from black to white is 126 in limited range. */
TEST(test_threshold_range, 1) {
    static const struct {
        const gchar *colorimetry;
        gint level; /* the lowest of the foreground */
        const gchar *format;
    } known[] = {{"bt601", 126, "I420"},
                 {"1:4:0:0", 128, "I420"},
                 {"2:1:7:1", 126, "RGB"},
                 {"1:1:7:1", 128, "RGB"}};
    static const gchar *const ranges[] = {"stored", "full"};
    for (guint i = 0; i < 4 * 2 * 2; i++) {
        const gchar *range = ranges[i / 8];
        g_autofree gchar *caps =
            g_strdup_printf("video/x-raw,format=%s,width=2,height=2,framerate=1/1,"
                            "colorimetry=%s",
                            known[i % 4].format, known[i % 4].colorimetry);
        const gint level = g_str_equal(range, "full") ? known[i % 4].level : 128;
        const gboolean erodes = i / 4 % 2;
        g_autoptr(GstHarness) h =
            harness_of(erodes ? "gpuerode threshold=128 radius=0"
                              : "gpuccl threshold=128 mode=binary output=mask");
        GstBuffer *frame = buffer_of_size(16), *out;
        const gboolean rgb = g_str_equal(known[i % 4].format, "RGB");
        const gsize stride = rgb ? 8 : 4, bytes = rgb ? 6 : 2;
        GstMapInfo map;
        gst_util_set_object_arg(G_OBJECT(h->element), "threshold-range", range);
        fail_unless(gst_buffer_map(frame, &map, GST_MAP_WRITE));
        memset(map.data, 128, map.size);
        memset(map.data, level - 1, bytes);
        memset(map.data + stride, level, bytes);
        gst_buffer_unmap(frame, &map);
        gst_harness_set_src_caps_str(h, caps);
        out = push_and_pull(h, frame);
        fail_unless(gst_buffer_map(out, &map, GST_MAP_READ));
        fail_unless_equals_int(map.data[0], 0);
        fail_unless_equals_int(map.data[erodes ? stride : 4], 255);
        gst_buffer_unmap(out, &map);
        gst_buffer_unref(out);
    }
}

/* ---- latency ---- */

/* That of the source, as long as a frame is done before the next one comes; else as long as one
   takes, and the pipeline is told. */
TEST(test_latency, 1) {
    const GstVideoInfo info = make_info("RGB", 640, 480);
    const GstClockTime source = 5 * GST_MSECOND;
    g_autoptr(GstHarness) h = harness_of("gpuerode radius=40 shape=ellipse iterations=3");
    g_autoptr(GstBus) bus = add_bus(h->element);
    g_autoptr(GstBuffer) frame = random_frame(&info);
    gst_harness_set_upstream_latency(h, source);
    for (guint round = 0; round < 3; round++) {
        const gboolean slow = round == 1;
        g_autofree gchar *caps = g_strdup_printf(
            "video/x-raw,format=RGB,width=640,height=480,framerate=%s", slow ? "100000/1" : "1/60");
        GstMessage *message;
        gst_harness_set_src_caps_str(h, caps);
        for (guint i = 0; i < 16; i++)
            gst_buffer_unref(push_and_pull(h, gst_buffer_ref(frame)));
        message = gst_bus_pop_filtered(bus, GST_MESSAGE_LATENCY);
        fail_unless((message != NULL) == (round > 0));
        gst_clear_message(&message);
        if (slow)
            fail_unless(gst_harness_query_latency(h) > source + 20 * GST_USECOND);
        else
            fail_unless_equals_clocktime(gst_harness_query_latency(h), source);
    }
}

MAIN(run_on_backend(NULL))
