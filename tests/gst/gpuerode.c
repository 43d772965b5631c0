/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The element beside the library, and pictures that are eroded by eye, in system memory, on the
 * backend GPV_TEST_BACKEND, or on the CPU. With GST_TRACERS=leaks every test also fails on objects
 * that are alive after it.
 */
#include "common.h"

/* ---- pixels ---- */

enum { width = 7, height = 5 };

#define PICTURE                                                                                    \
    "......."                                                                                      \
    ".###..."                                                                                      \
    ".####.."                                                                                      \
    ".###..."                                                                                      \
    ".....#."

/* By eye. */
static const struct {
    const gchar *properties, *result;
} known[] = {
    {"radius=0", PICTURE},
    {"", "................#.................."},
    {"threshold=128", "................#.................."},
    {"threshold=1", "###################################"},
    {"threshold=1 border=background", "........#####..#####..#####........"},
    {"shape=cross", "................##................."},
    {"radius-y=0", ".........#......##.....#..........."},
    {"radius-y=0 iterations=2", "..................................."},
    {"operation=dilate", "#####..######.######.##############"},
    {"operation=dilate radius=2 shape=ellipse", "######.############################"},
    {"operation=open", "........###....###....###.........."},
    {"operation=close", "####...####...#####..#####..#######"},
    {"operation=close border=background", "........###....####...####........."},
    {"operation=gradient", "#####..######.##.###.##############"},
    {"operation=tophat", "..................#..............#."},
    {"operation=blackhat", "####...#......#......#...#..#####.#"},
};

TEST(test_known_picture, 1) {
    GstVideoInfo info = make_info("GRAY8", width, height);
    g_auto(Plane) picture = plane_new(width, height);
    for (gint i = 0; i < width * height; i++)
        picture.pixels[i] = PICTURE[i] == '#' ? 200 : 20;
    for (guint k = 0; k < G_N_ELEMENTS(known); k++) {
        g_autofree gchar *text = g_strdup_printf("gpuerode %s", known[k].properties);
        g_autoptr(GstHarness) h = gst_harness_new_parse(text);
        g_autoptr(GstBuffer) out = NULL;
        g_auto(Plane) got = {0};
        set_info(h, &info);
        out = push_and_pull(h, plane_frame(&info, &picture));
        got = plane_of(&info, out);
        for (gint i = 0; i < width * height; i++)
            fail_unless((got.pixels[i] > 100) == (known[k].result[i] == '#'), "%s: %d,%d is %d",
                        text, i % width, i / width, got.pixels[i]);
    }
}

/* ---- results ---- */

static void assert_results(const GstStructure *results, gint radius_x, gint radius_y) {
    fail_unless(gst_structure_has_name(results, "gpuerode"));
    fail_unless_equals_string(gst_structure_get_string(results, "operation"), "open");
    fail_unless_equals_string(gst_structure_get_string(results, "shape"), "cross");
    fail_unless_equals_int(int_field(results, "radius"), radius_x);
    fail_unless_equals_int(int_field(results, "radius-y"), radius_y);
    fail_unless_equals_int(int_field(results, "iterations"), 2);
    fail_unless_equals_int(int_field(results, "threshold"), 9);
}

#define ELEMENT "gpuerode operation=open shape=cross iterations=2 threshold=9 radius=4 "

static void check_meta_behind(const gchar *properties, const gchar *after, gint radius_x,
                              gint radius_y, gboolean may_be_dropped) {
    gchar *text = g_strdup_printf(ELEMENT "%s ! %s", properties, after);
    GstVideoInfo info = make_info("I420", 64, 48);
    GstHarness *h = gst_harness_new_parse(text);
    GstBuffer *out;
    set_info(h, &info);
    out = push_and_pull(h, random_frame(&info));
    if (!may_be_dropped || gst_buffer_get_custom_meta(out, "gpuerode"))
        assert_results(results_of(out, "gpuerode"), radius_x, radius_y);
    gst_buffer_unref(out);
    harness_free(h);
    g_free(text);
}

/* What stock elements do to the metadata of a 64x48 frame with radii 4 and 6. */
TEST(test_meta_follows_the_frame, 1) {
    static const struct {
        const gchar *after;
        gint radius_x, radius_y;
    } followers[] = {
        {"queue", 4, 6},
        {"identity", 4, 6},
        {"gpuerode attach-meta=false", 4, 6},
        {"videoconvert ! capsfilter caps=video/x-raw,format=RGB", 4, 6},
        {"videoscale ! capsfilter caps=video/x-raw,width=32,height=24", 2, 3},
        {"videoscale ! capsfilter caps=video/x-raw,width=128,height=24", 8, 3},
        {"videoconvertscale ! capsfilter caps=video/x-raw,format=RGB,width=16,height=480", 1, 60},
    };
    for (guint i = 0; i < G_N_ELEMENTS(followers); i++)
        check_meta_behind("radius-y=6", followers[i].after, followers[i].radius_x,
                          followers[i].radius_y, FALSE);
    check_meta_behind("", "identity", 4, 4, FALSE);
}

/* A crop moves coordinates without scaling them, so only dropped or unchanged is right. */
TEST(test_meta_after_crop, 1) {
    if (have_element("videocrop"))
        check_meta_behind("radius-y=6", "videocrop left=16 top=8", 4, 6, TRUE);
    else
        g_print("not run: there is no videocrop\n");
}

MAIN(run_element("gpuerode", run_on_backend))
