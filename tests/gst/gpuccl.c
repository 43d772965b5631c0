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

/* ---- where the frame changes ---- */

/* The last one is outside of some of what follows. */
static guint32 thing_at(gint x, gint y, G_GNUC_UNUSED gconstpointer user) {
    static const gint things[][4] = {
        {12, 10, 4, 5}, {40, 20, 9, 3}, {30, 40, 5, 11}, {90, 58, 3, 2}};
    for (guint i = 0; i < G_N_ELEMENTS(things); i++)
        if (x >= things[i][0] && x < things[i][0] + things[i][2] && y >= things[i][1] &&
            y < things[i][1] + things[i][3])
            return 220;
    return 20;
}

static GstBuffer *last_of(const gchar *elements, const gchar *format) {
    const GstVideoInfo info = make_info(format, 96, 64);
    g_autoptr(GstHarness) h = gst_harness_new_parse(elements);
    set_info(h, &info);
    fail_unless_equals_int(gst_harness_push(h, painted_frame(&info, thing_at, NULL)), GST_FLOW_OK);
    gst_harness_push_event(h, gst_event_new_eos()); /* compositor waits to hear what is next */
    return gst_harness_pull(h);
}

static gint by_area(gconstpointer one, gconstpointer other) {
    return int_field(*(GstStructure *const *)one, "area") -
           int_field(*(GstStructure *const *)other, "area");
}

/* The smallest first, and without labels, which are in the order of the rows. */
static GPtrArray *components_of(GstBuffer *buffer) {
    const GstStructure *results = results_of(buffer, "gpuccl");
    GPtrArray *found = g_ptr_array_new_with_free_func((GDestroyNotify)gst_structure_free);
    for (guint i = 0; i < size_of(results, "components"); i++) {
        GstStructure *one = gst_structure_copy(structure_at(results, "components", i));
        gst_structure_remove_field(one, "label");
        g_ptr_array_add(found, one);
    }
    g_ptr_array_sort(found, by_area);
    assert_regions(buffer, results);
    return found;
}

/* What is found and then moved is what is found after the move. */
TEST(test_results_follow_the_frame, 1) {
    static const gchar *const formats_taken[] = {"GRAY8", "I420"};
    static const struct {
        const gchar *element, *rest;
        guint seen;
    } moves[] = {
        {"videoscale",
         "method=nearest-neighbour ! capsfilter caps=video/x-raw,width=192,height=195,"
         "pixel-aspect-ratio=1/1",
         4},
        {"videoscale",
         "method=nearest-neighbour ! capsfilter caps=video/x-raw,width=400,height=64,"
         "pixel-aspect-ratio=1/1",
         4},
#if GST_CHECK_VERSION(1, 28, 0)
        {"videocrop", "left=8 top=4 right=10 bottom=6", 3},
        {"videobox", "left=-6 top=-8 right=2", 4},
        {"videobox", "left=8 top=4 right=10 bottom=-6", 3},
        {"videoflip", "method=clockwise", 4},
        {"videoflip", "method=rotate-180", 4},
        {"videoflip", "method=counterclockwise", 4},
        {"videoflip", "method=horizontal-flip", 4},
        {"videoflip", "method=vertical-flip", 4},
        {"videoflip", "method=upper-left-diagonal", 4},
        {"videoflip", "method=upper-right-diagonal", 4},
        {"compositor",
         "background=black sink_0::xpos=20 sink_0::ypos=-4 ! capsfilter "
         "caps=video/x-raw,width=150,height=100",
         4},
#endif
    };
    const guint count = G_N_ELEMENTS(moves) * G_N_ELEMENTS(formats_taken);
    guint tried = 0;
    for (guint i = 0; i < count; i++) {
        const gchar *element = moves[i / 2].element, *format = formats_taken[i % 2];
        g_autofree gchar *move = g_strdup_printf("%s %s", element, moves[i / 2].rest);
        g_autofree gchar *text = g_strdup_printf("gpuccl output=none ! %s", move);
        g_autofree gchar *other = g_strdup_printf("identity ! %s ! gpuccl output=none", move);
        if (!have_element(element))
            continue;
        g_autoptr(GstBuffer) moved = last_of(text, format), out = last_of(other, format);
        g_autoptr(GPtrArray) got = components_of(moved), expected = components_of(out);
        fail_unless(got->len == moves[i / 2].seen && expected->len == got->len, "%s: %u, %u", text,
                    got->len, expected->len);
        for (guint k = 0; k < got->len; k++) {
            g_autofree gchar *one = gst_structure_to_string(got->pdata[k]);
            g_autofree gchar *same = gst_structure_to_string(expected->pdata[k]);
            fail_unless(gst_structure_is_equal(got->pdata[k], expected->pdata[k]),
                        "%s, %s: %s, not %s", format, text, one, same);
        }
        tried++;
    }
    fail_unless(tried > 0);
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
