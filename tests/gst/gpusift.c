/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The element beside the library, and what it says of keypoints, in system memory, on the backend
 * GPV_TEST_BACKEND, or on the CPU. With GST_TRACERS=leaks every test also fails on objects that are
 * alive after it.
 */
#include "common.h"

#include <math.h>

static Pair sift_pair(void) {
    return pair_new(element_called("gpusift"));
}

static GBytes *bytes_of(const GstStructure *results, const gchar *name) {
    const GValue *value = gst_structure_get_value(results, name);
    fail_unless(value != NULL && G_VALUE_HOLDS(value, G_TYPE_BYTES), "no bytes %s", name);
    return g_value_get_boxed(value);
}

static const gpv_sift_keypoint *keypoints_of(const GstStructure *results, guint *count) {
    gsize size = 0;
    const gpv_sift_keypoint *keypoints = g_bytes_get_data(bytes_of(results, "keypoints"), &size);
    fail_unless_equals_uint64(size % sizeof *keypoints, 0);
    *count = (guint)(size / sizeof *keypoints);
    fail_unless_equals_int(int_field(results, "count"), *count);
    return keypoints;
}

/* Squares of so many pixels, each of which is a keypoint, and gives more where they touch. */
typedef struct {
    gint period, side;
} Dots;

static guint32 dot_at(gint x, gint y, gconstpointer user) {
    const Dots *dots = user;
    const gint period = dots->period;
    return x % period < dots->side && y % period < dots->side
               ? 100 + (guint32)(x / period * 37 + y / period * 61) % 156
               : 0;
}

static GstBuffer *dots_frame(const GstVideoInfo *info, gint period, gint side) {
    const Dots dots = {period, side};
    return painted_frame(info, dot_at, &dots);
}

/* ---- results ---- */

/* Places and scales are those of the frame that they are on; descriptors stay. */
TEST(test_results_are_scaled, 1) {
    static const gchar *const elements =
        "gpusift ! videoscale ! capsfilter caps=video/x-raw,width=480,height=240";
    g_auto(Pair) plain = sift_pair();
    GstVideoInfo info = make_info("GRAY8", 160, 120);
    g_autoptr(GstBuffer) in = dots_frame(&info, 7, 3), model = NULL;
    g_autoptr(GstBuffer) out = push_through(elements, &info, gst_buffer_copy_deep(in));
    const gpv_sift_keypoint *scaled, *keypoints;
    guint count = 0, all = 0;
    pair_set_info(&plain, &info);
    model = pair_push(&plain, gst_buffer_ref(in), TRUE);
    scaled = keypoints_of(results_of(out, "gpusift"), &count);
    keypoints = keypoints_of(results_of(model, "gpusift"), &all);
    fail_unless(count == all && count > 100, "%u of %u keypoints", count, all);
    for (guint i = 0; i < count; i++) {
        fail_unless(fabs(scaled[i].x - ((keypoints[i].x + 0.5) * 3 - 0.5)) < 1e-3);
        fail_unless(fabs(scaled[i].y - ((keypoints[i].y + 0.5) * 2 - 0.5)) < 1e-3);
        fail_unless(fabs(scaled[i].sigma - keypoints[i].sigma * sqrt(6)) < 1e-3);
    }
    fail_unless(g_bytes_equal(bytes_of(results_of(out, "gpusift"), "descriptors"),
                              bytes_of(results_of(model, "gpusift"), "descriptors")));
}

/* 0 is a number that depends on the size of the frame. */
TEST(test_capacity, 1) {
    g_auto(Pair) pair = sift_pair();
    pair_set(&pair, "max-features", "0");
    pair_set(&pair, "contrast-threshold", "0");
    pair_set(&pair, "edge-threshold", "1e6");
    for (guint i = 0; i < 2; i++) {
        GstVideoInfo info = make_info("GRAY8", i ? 641 : 320, i ? 479 : 240);
        pair_set_info(&pair, &info);
        fail_unless_equals_int(pair_check(&pair, dots_frame(&info, 4, 2)),
                               i ? 641 * 479 / 64 : 4096);
    }
}

/* More extrema than the library keeps are no end of the stream; one warning says so, until a start
   or a frame that is none of them. */
TEST(test_flooded, 1) {
    GstVideoInfo info = make_info("GRAY8", 500, 500), small = make_info("GRAY8", 50, 50);
    g_auto(Pair) pair = sift_pair();
    pair_set(&pair, "contrast-threshold", "0");
    pair_set(&pair, "octave-layers", "8");
    pair_set(&pair, "sigma", "0.7");
    pair_set(&pair, "overlay", "rich");
    for (guint round = 0; round < 3; round++) {
        pair_set_info(&pair, &info);
        for (guint i = 0; i < 2; i++)
            fail_unless_equals_int(pair_check(&pair, dots_frame(&info, 3, 1)), 0);
        assert_warning(pair.bus, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
                       "Raise contrast-threshold");
        fail_unless(gst_bus_pop_filtered(pair.bus, GST_MESSAGE_WARNING) == NULL);
        if (round == 0) {
            gst_element_set_state(pair.h->element, GST_STATE_READY);
            gst_element_set_state(pair.h->element, GST_STATE_PLAYING);
            gst_pad_push_event(pair.h->srcpad, gst_event_new_stream_start("test"));
        } else {
            pair_set_info(&pair, &small);
            fail_unless(pair_check(&pair, dots_frame(&small, 3, 1)) > 0);
        }
    }
    fail_unless(gst_bus_pop_filtered(pair.bus, GST_MESSAGE_WARNING) == NULL);
}

/* ---- overlays ---- */

TEST(test_outline_without_a_reference, 1) {
    const GstVideoInfo info = make_info("RGB", 32, 24);
    g_autoptr(GstHarness) h = harness_with(element_new("gpusift", test_backend()));
    g_autoptr(GstBus) bus = add_bus(h->element);
    set_output(h, "outline");
    set_info(h, &info);
    for (guint i = 0; i < 2; i++)
        gst_buffer_unref(push_and_pull(h, random_frame(&info)));
    assert_warning(bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, "reference");
    assert_nothing_more(bus);
}

MAIN(run_element("gpusift", run_on_backend))
