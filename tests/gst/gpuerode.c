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

static guint32 drawn_at(gint x, gint y, G_GNUC_UNUSED gconstpointer user) {
    return PICTURE[y * width + x] == '#' ? 200 : 20;
}

TEST(test_known_picture, 1) {
    GstVideoInfo info = make_info("GRAY8", width, height);
    for (guint k = 0; k < G_N_ELEMENTS(known); k++) {
        g_autofree gchar *text = g_strdup_printf("gpuerode %s", known[k].properties);
        g_autoptr(GstBuffer) out = push_through(text, &info, painted_frame(&info, drawn_at, NULL));
        g_auto(Plane) got = plane_of(&info, out);
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

/* What stock elements do to the metadata of a 64x48 frame with radii 4 and 6. */
TEST(test_meta_follows_the_frame, 1) {
    static const struct {
        const gchar *properties, *after;
        gint radius_x, radius_y;
    } followers[] = {
        {"radius-y=6", "queue", 4, 6},
        {"radius-y=6", "gpuerode attach-meta=false", 4, 6},
        {"radius-y=6", "videoconvert ! capsfilter caps=video/x-raw,format=RGB", 4, 6},
        {"radius-y=6", "videoscale ! capsfilter caps=video/x-raw,width=128,height=24", 8, 3},
        {"radius-y=6", "videoscale ! capsfilter caps=video/x-raw,width=16,height=480", 1, 60},
        {"", "identity", 4, 4},
    };
    const GstVideoInfo info = make_info("I420", 64, 48);
    for (guint i = 0; i < G_N_ELEMENTS(followers); i++) {
        g_autofree gchar *text =
            g_strdup_printf(ELEMENT "%s ! %s", followers[i].properties, followers[i].after);
        g_autoptr(GstBuffer) out = push_through(text, &info, random_frame(&info));
        assert_results(results_of(out, "gpuerode"), followers[i].radius_x, followers[i].radius_y);
    }
}

/* A crop moves coordinates without scaling them, so only dropped or unchanged is right. */
TEST(test_meta_after_crop, have_element("videocrop")) {
    const GstVideoInfo info = make_info("I420", 64, 48);
    g_autoptr(GstBuffer) out =
        push_through(ELEMENT "radius-y=6 ! videocrop left=16 top=8", &info, random_frame(&info));
    if (gst_buffer_get_custom_meta(out, "gpuerode"))
        assert_results(results_of(out, "gpuerode"), 4, 6);
}

MAIN(run_element("gpuerode", run_on_backend))
