/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The element beside the library, and components that are counted by eye, in system memory, on the
 * backend GPV_TEST_BACKEND, or on the CPU. With GST_TRACERS=leaks every test also fails on objects
 * that are alive after it.
 */
#include "common.h"

static const gchar picture[] = "##......#......#" //
                               "##.....#......#." //
                               "......#.....##.." //
                               "................" //
                               ".####....####..." //
                               ".#..#....#..#..." //
                               ".#..#....#.##..." //
                               ".####.......#..#";

enum { width = 16, height = 8 };

/* By eye: label, area, x, y, width, height, and sums of the coordinates. */
static const gint drawn[][7] = {{4, 0, 0, 2, 2, 2, 2},     {3, 6, 0, 3, 3, 21, 3},
                                {4, 12, 0, 4, 3, 54, 5},   {12, 1, 4, 4, 4, 30, 66},
                                {10, 9, 4, 4, 4, 107, 51}, {1, 15, 7, 1, 1, 15, 7}};

static guint32 drawn_at(gint x, gint y, G_GNUC_UNUSED gconstpointer user) {
    return picture[y * width + x] == '#' ? 200 : 20;
}

static GstBuffer *drawn_frame(const GstVideoInfo *info) {
    return painted_frame(info, drawn_at, NULL);
}

/* Through an element of these properties. */
static GstBuffer *push_drawn(const gchar *properties) {
    g_autofree gchar *text = g_strdup_printf("gpuccl backend=%s %s", test_backend(), properties);
    GstVideoInfo info = make_info("GRAY8", width, height);
    return push_through(text, &info, drawn_frame(&info));
}

/* The third number of a field is a pixel of the frame that it is on, which is so many times as
   large. */
static void check_drawn(const gchar *properties, gint right, gint down) {
    g_autoptr(GstBuffer) out = push_drawn(properties);
    const GstStructure *results = results_of(out, "gpuccl");
    fail_unless_equals_int(int_field(results, "count"), G_N_ELEMENTS(drawn));
    for (guint i = 0; i < G_N_ELEMENTS(drawn); i++) {
        const GstStructure *got = structure_at(results, "components", i);
        const gint *box = drawn[i];
        fail_unless(gst_structure_has_name(got, "component"));
        fail_unless_equals_int(int_field(got, "label"), (gint)i + 1);
        fail_unless_equals_int(int_field(got, "area"), right * down * box[0]);
        fail_unless_equals_int(int_field(got, "x"), right * box[1]);
        fail_unless_equals_int(int_field(got, "y"), down * box[2]);
        fail_unless_equals_int(int_field(got, "width"), right * box[3]);
        fail_unless_equals_int(int_field(got, "height"), down * box[4]);
        fail_unless_equals_float(double_field(got, "cx"),
                                 right * ((gdouble)box[5] / box[0] + 0.5) - 0.5);
        fail_unless_equals_float(double_field(got, "cy"),
                                 down * ((gdouble)box[6] / box[0] + 0.5) - 0.5);
    }
    assert_regions(out, results);
}

/* Boxes, areas and centroids are those of the frame that they are on. */
TEST(test_known_picture, 1) {
    check_drawn("", 1, 1);
    check_drawn("! videoscale ! capsfilter caps=video/x-raw,width=48,height=16", 3, 2);
}

/* As one types them; the counts are by eye. */
TEST(test_counts, 1) {
    static const struct {
        const gchar *properties;
        gint count;
    } expected[] = {
        {"", 6},
        {"connectivity=4", 10},
        {"threshold=201", 0},
        {"threshold=20", 1},
        {"foreground=200", 6},
        {"foreground=20", 2},
        {"invert=true", 2},
        {"invert=true connectivity=4", 2},
        {"mode=equal-value", 8},
        {"mode=equal-value threshold=128", 6},
        {"min-area=4", 4},
        {"min-area=4 max-area=10", 3},
        {"max-area=1", 1},
        {"min-area=13", 0},
    };
    for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
        g_autoptr(GstBuffer) out = push_drawn(expected[i].properties);
        const gint count = int_field(results_of(out, "gpuccl"), "count");
        fail_unless(count == expected[i].count, "\"%s\": %d, not %d", expected[i].properties, count,
                    expected[i].count);
    }
}

/* One pixel in every square of four: as many components as there can be. */
static guint32 dot_at(gint x, gint y, G_GNUC_UNUSED gconstpointer user) {
    return x % 2 || y % 2 ? 0 : 255;
}

static GstBuffer *dots(const GstVideoInfo *info) {
    return painted_frame(info, dot_at, NULL);
}

/* 16-bit labels number 65535 components. With one more they are refused, and nothing else is. */
TEST(test_max_labels, 1) {
    GstVideoInfo fits = make_info("GRAY8", 2 * 257, 2 * 255), more = make_info("GRAY8", 512, 512);
    g_auto(Pair) pair = pair_new(element_called("gpuccl"));
    for (guint attach = 0; attach < 2; attach++) {
        g_object_set(pair.h->element, "attach-meta", attach, NULL);
        pair_set(&pair, "output", "labels");
        pair_set_info(&pair, &fits);
        gst_buffer_unref(push_and_pull(pair.h, dots(&fits)));
        pair_set_info(&pair, &more);
        fail_unless_equals_int(gst_harness_push(pair.h, dots(&more)), GST_FLOW_ERROR);
        assert_error(pair.bus, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED, "raise min-area");
    }
    for (guint o = 0; o < pair.element->output_count; o++)
        if (!g_str_equal(pair.element->outputs[o].name, "labels")) {
            pair_set_output(&pair, &pair.element->outputs[o]);
            fail_unless_equals_int(pair_check(&pair, dots(&more)), 65536);
        }
    pair_set(&pair, "min-area", "2");
    pair_set(&pair, "output", "labels");
    fail_unless_equals_int(pair_check(&pair, dots(&more)), 0);
    assert_nothing_more(pair.bus);
}

MAIN(run_element("gpuccl", run_on_backend))
