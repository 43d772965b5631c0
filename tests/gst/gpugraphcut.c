/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The element beside the library, and objects that are cut out where they were drawn; what it is
 * told of them, and what it learns, in system memory, on the backend GPV_TEST_BACKEND, or on the
 * CPU. With GST_TRACERS=leaks every test also fails on objects that are alive after it.
 */
#include "common.h"

static Pair graphcut_pair(void) {
    return pair_new(element_called("gpugraphcut"));
}

static void set_nth_output(Pair *pair, guint n) {
    pair_set_output(pair, &pair->element->outputs[n % pair->element->output_count]);
}

static gboolean is_optimal(const GstStructure *results) {
    gboolean optimal = FALSE;
    fail_unless(gst_structure_get_boolean(results, "optimal", &optimal), "no boolean optimal");
    return optimal;
}

/* ---- a picture whose object is known ---- */

enum { drawn_width = 32, drawn_height = 24, object_side = 8, object_area = 8 * 8 };

#define DRAWN make_info("RGB", drawn_width, drawn_height)

static gboolean in_object(gint x, gint y, gint left, gint top) {
    return x >= left && x < left + object_side && y >= top && y < top + object_side;
}

typedef struct {
    gint left, top;
} Place;

/* A square of one colour before another, of which each pixel differs a little. */
static guint32 drawn_at(gint x, gint y, gconstpointer user) {
    const Place *place = user;
    const gboolean inside = in_object(x, y, place->left, place->top);
    guint32 color = 0;
    for (guint c = 0; c < 3; c++)
        color = color << 8 |
                ((guint32)g_random_int_range(0, 8) + (inside ? 200 - 60 * c : 40 + 50 * c));
    return color;
}

static GstBuffer *drawn_frame(const GstVideoInfo *info, gint left, gint top) {
    const Place place = {left, top};
    return painted_frame(info, drawn_at, &place);
}

static gboolean mask_is(GstBuffer *mask, gint left, gint top) {
    const GstVideoInfo info = make_info("GRAY8", drawn_width, drawn_height);
    g_auto(Plane) plane = plane_of(&info, mask);
    gint i = 0;
    while (i < drawn_width * drawn_height &&
           plane.pixels[i] == (in_object(i % drawn_width, i / drawn_width, left, top) ? 255 : 0))
        i++;
    return i == drawn_width * drawn_height;
}

/* As one types it. The area is that in the frame that it is on, the flow what the cut has cost. */
TEST(test_known_picture, 1) {
    static const gchar *const known[] = {
        "output=mask model=histogram connectivity=8",
        "output=mask seed-source=rect rect=11,7,8,8 lambda=1",
        "",
        "! videoscale ! capsfilter caps=video/x-raw,width=64,height=72",
    };
    GstVideoInfo info = DRAWN;
    g_autoptr(GstBuffer) in = drawn_frame(&info, 11, 7);
    gint64 unscaled = -1;
    for (guint i = 0; i < G_N_ELEMENTS(known); i++) {
        const gboolean masks = g_str_has_prefix(known[i], "output=mask");
        const gboolean scaled = *known[i] == '!';
        g_autofree gchar *text = g_strdup_printf("gpugraphcut %s", known[i]);
        g_autoptr(GstBuffer) out = push_through(text, &info, gst_buffer_ref(in));
        const GstStructure *results = results_of(out, "gpugraphcut");
        gint64 flow = -1;
        fail_unless(!masks || mask_is(out, 11, 7), "%s", text);
        fail_unless_equals_int(int_field(results, "area"), object_area * (scaled ? 6 : 1));
        fail_unless(gst_structure_get_int64(results, "flow", &flow));
        fail_unless(scaled ? flow == unscaled : flow >= 0);
        unscaled = flow;
        fail_unless(is_optimal(results));
    }
}

/* Whatever the cut is by then, the frame goes on. */
TEST(test_max_time, 1) {
    GstVideoInfo info = make_info("NV12", 641, 479);
    g_autoptr(GstHarness) h = harness_with(element_new("gpugraphcut", test_backend()));
    guint unfinished = 0;
    g_object_set(h->element, "max-time-ms", 1, "connectivity", 8, "lambda", 0.001, "iterations", 3,
                 NULL);
    set_info(h, &info);
    for (guint i = 0; i < 4; i++) {
        g_autoptr(GstBuffer) out = push_and_pull(h, random_frame(&info));
        const GstStructure *results = results_of(out, "gpugraphcut");
        gdouble gap = -1;
        fail_unless(gst_structure_get_double(results, "gap", &gap));
        fail_unless(is_optimal(results) ? gap == 0 : gap >= 0 && gap <= 1, "gap is %g", gap);
        unfinished += !is_optimal(results);
    }
    g_print("%u of 4 cuts were ended\n", unfinished);
}

/* ---- what is known ---- */

TEST(test_rect, 1) {
    static const struct {
        const gchar *text;
        gpv_rect rect;
    } known[] = {
        {"3,4,5,6", {3, 4, 5, 6}},
        {" 3 , 4,\t5, 6 ", {3, 4, 5, 6}},
        {"0,0,40,30", {0, 0, 40, 30}},
        {"-7,-8,17,20", {0, 0, 10, 12}},
        {"39,29,1,1", {39, 29, 1, 1}},
        {"20,10,2147483647,2147483647", {20, 10, 20, 20}},
        {"-2147483647,-2147483647,2147483647,2147483647", {0, 0, 0, 0}},
        {"-2147483647,0,2147483647,30", {0, 0, 0, 0}},
        {"-2147483646,2,2147483647,3", {0, 2, 1, 3}},
        {"0.25,0.1,0.5,0.8", {10, 3, 20, 24}},
        {"0,0,1,.999", {0, 0, 40, 30}},
        {"< 3, 4, 5, 6 >", {3, 4, 5, 6}},
        {"<0.5,0,1,1>", {20, 0, 20, 30}},
    };
    GstVideoInfo info = make_info("RGBA", 40, 30);
    g_auto(Pair) pair = graphcut_pair();
    pair_set(&pair, "seed-source", "rect");
    pair_set_info(&pair, &info);
    for (guint i = 0; i < G_N_ELEMENTS(known); i++) {
        const gboolean outside = known[i].rect.width == 0;
        pair_set(&pair, "rect", known[i].text);
        pair.model->rect = outside ? &known[5].rect : &known[i].rect;
        model_forget(pair.model);
        set_nth_output(&pair, i);
        for (guint f = 0; f < 2; f++)
            pair_check(&pair, busy_frame(&info, FALSE));
        if (outside)
            assert_warning(pair.bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
                           "no pixel in");
        fail_unless(gst_bus_pop_filtered(pair.bus, GST_MESSAGE_WARNING) == NULL, "one is enough");
    }
}

/* One message says the property, its value, the size of the frame and the form. */
TEST(test_bad_rect, 1) {
    static const gchar *const bad[] = {NULL,
                                       "",
                                       "1,2,3",
                                       "a,b,c,d",
                                       "1,2,3,4x",
                                       "1,2,3,0",
                                       "<1,2,3,4",
                                       "1,2,3,4>",
                                       "<1,2,3,4>5",
                                       "1.5,2,0.5,4",
                                       "nan,0,1,1.5",
                                       "1e300,0,1,1.5",
                                       "1,2,-3,4",
                                       "40,0,10,10",
                                       "99999999999999999999,1,2,3"};
    GstVideoInfo info = make_info("GRAY8", 40, 30);
    g_auto(Pair) pair = graphcut_pair();
    pair_set(&pair, "seed-source", "rect");
    pair_set_info(&pair, &info);
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autofree gchar *value = g_strdup_printf("rect=%s ", bad[i] ? bad[i] : "NULL");
        pair_assert_refused(&pair, "rect", bad[i], GST_RESOURCE_ERROR_SETTINGS, value, "40x30",
                            "x,y,width,height", NULL);
    }
    g_object_set(pair.h->element, "rect", "1,2,3,4", NULL);
    gst_buffer_unref(push_and_pull(pair.h, random_frame(&info)));
}

/* Each region of a frame bounds it: several are seeds that do not know what is inside. Where there
   is none, nothing is known. */
TEST(test_regions, 1) {
    static const struct {
        guint regions[2][4];
        gpv_rect rects[2]; /* as they lie in the frame; 0 wide: none */
    } known[] = {
        {{{5, 6, 7, 8}}, {{5, 6, 7, 8}}},
        {{{5, 6, 7, 8}, {20, 2, 3, 4}}, {{5, 6, 7, 8}, {20, 2, 3, 4}}},
        {{{0}}, {{0}}},
        {{{30, 20, 100, G_MAXUINT}}, {{30, 20, 10, 10}}},
        {{{40, 0, 5, 5}, {3, 3, 0, 9}}, {{0}}},
        {{{G_MAXUINT, G_MAXUINT, G_MAXUINT, 1}, {1, 1, 2, 2}}, {{1, 1, 2, 2}}},
        {{{2, 2, 20, 20}, {15, 12, 90, 90}}, {{2, 2, 20, 20}, {15, 12, 25, 18}}},
    };
    GstVideoInfo info = make_info("I420", 40, 30);
    g_auto(Pair) pair = graphcut_pair();
    g_auto(Plane) inside = plane_new(40, 30);
    const gpv_image seeds = plane_view(&inside);
    pair_set(&pair, "seed-source", "roi-meta");
    pair_set(&pair, "roi-type", "any");
    pair_set_info(&pair, &info);
    for (guint i = 0; i < 2 * G_N_ELEMENTS(known); i++) {
        const guint at = i % G_N_ELEMENTS(known);
        const gpv_rect *rects = known[at].rects;
        GstBuffer *in = busy_frame(&info, FALSE), *out;
        Expected expected;
        gst_buffer_add_video_region_of_interest_meta(in, "other", 0, 0, 9, 9);
        for (guint r = 0; r < 2; r++) {
            const guint *box = known[at].regions[r];
            if (box[2] + box[3] > 0)
                gst_buffer_add_video_region_of_interest_meta(in, "any", box[0], box[1], box[2],
                                                             box[3]);
        }
        pair.model->rect = rects[0].width && !rects[1].width ? rects : NULL;
        pair.model->regions = rects[1].width ? &seeds : NULL;
        memset(inside.pixels, 0, 40 * 30);
        for (guint r = 0; r < 2; r++)
            for (gint y = rects[r].y; y < rects[r].y + rects[r].height; y++)
                memset(inside.pixels + y * 40 + rects[r].x, 128, (gsize)rects[r].width);
        expected = model_expect(pair.model, &info, in, FALSE);
        out = push_and_pull(pair.h, in);
        assert_same(&info, out, expected.image);
        assert_same_results(results_of(out, "gpugraphcut"), expected.results);
        expected_free(&expected);
        gst_buffer_unref(out);
    }
}

/* ---- pictures of seeds ---- */

/* Of every value. */
static Plane random_seeds(gint width, gint height) {
    static const guint8 values[] = {0, 255, 1, 128, 2, 3};
    Plane plane = plane_new(width, height);
    for (gint i = 0; i < width * height; i++)
        plane.pixels[i] = values[g_random_int_range(0, G_N_ELEMENTS(values))];
    plane.pixels[0] = 128;
    return plane;
}

/* With warm-start they count once, else in each frame; in grey and in colour, for any format. */
TEST(test_seeds, some_of(usual_formats)) {
    GstVideoInfo info = make_info(formats[__i__], 43, 31);
    g_auto(Plane) seeds = random_seeds(info.width, info.height);
    const gpv_image view = plane_view(&seeds);
    for (guint i = 0; i < 4; i++) {
        g_auto(File) file = file_new("seeds of \"this\" test!.pnm");
        g_auto(Pair) pair = graphcut_pair();
        write_picture(&file, &seeds, i / 2 ? 3 : 1);
        pair_set(&pair, "warm-start", i % 2 ? "false" : "true");
        pair.model->seeds = &view;
        g_object_set(pair.h->element, "seeds", file.path, NULL);
        pair_set(&pair, "seed-source", "mask");
        pair_set_info(&pair, &info);
        for (guint f = 0; f < 4; f++) {
            set_nth_output(&pair, f);
            pair_check(&pair, busy_frame(&info, FALSE));
        }
    }
}

static Plane magnified(const Plane *plane, gint factor) {
    Plane large = plane_new(plane->width * factor, plane->height * factor);
    for (gint y = 0; y < large.height; y++)
        for (gint x = 0; x < large.width; x++)
            large.pixels[y * large.width + x] =
                plane->pixels[y / factor * plane->width + x / factor];
    return large;
}

/*
 * The picture is scaled without mixing values, and read once: then it may be gone. What cannot be
 * read while frames flow leaves what was there in force, in frames of any size; before the first
 * frame it is an error.
 */
TEST(test_seeds_of_a_file, 1) {
    static const gint factors[] = {1, 2, 5, 3, 1};
    g_auto(Plane) seeds = random_seeds(12, 10);
    g_auto(File) file = file_new("seeds.pgm");
    g_auto(Pair) pair = graphcut_pair();
    GstVideoInfo info = make_info("RGB", seeds.width, seeds.height);
    write_picture(&file, &seeds, 1);
    pair_set(&pair, "warm-start", "false");
    pair_set(&pair, "seed-source", "mask");
    pair_set_info(&pair, &info);
    for (guint i = 0; i < 2; i++)
        pair_assert_refused(&pair, "seeds", i ? "" : NULL, GST_RESOURCE_ERROR_SETTINGS,
                            "seed-source=mask", NULL);
    pair_check_bad_pictures(&pair, "seeds");
    for (guint i = 0; i < 2; i++) {
        g_auto(Plane) bad = plane_new(seeds.width, seeds.height);
        g_auto(File) other = file_new("bad.pgm");
        bad.pixels[15] = i ? 1 : 254;
        write_picture(&other, &bad, 1);
        pair_assert_refused(&pair, "seeds", other.path, GST_RESOURCE_ERROR_SETTINGS,
                            i ? "leaves no pixel unknown" : " is 254 at (3, 1): ", NULL);
    }
    g_object_set(pair.h->element, "seeds", file.path, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(factors); i++) {
        g_auto(Plane) large = magnified(&seeds, factors[i]);
        const gpv_image view = plane_view(&large);
        info = make_info("RGB", large.width, large.height);
        pair.model->seeds = &view;
        pair_set_info(&pair, &info);
        for (guint f = 0; f < 2; f++)
            pair_check(&pair, busy_frame(&info, FALSE));
        if (i == 2) {
            g_remove(file.path);
            g_object_set(pair.h->element, "seeds", file.path, NULL);
            pair_check(&pair, busy_frame(&info, FALSE));
            g_object_set(pair.h->element, "seeds", "nothing.png", NULL);
            pair_check(&pair, busy_frame(&info, FALSE));
            assert_warning(pair.bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ,
                           "nothing.png");
        }
    }
    fail_unless(gst_bus_pop_filtered(pair.bus, GST_MESSAGE_WARNING) == NULL, "one is enough");
}

/* ---- video ---- */

/* Another word about what is known, or another model, begins anew; the same word again does not. */
TEST(test_what_begins_anew, 1) {
    static const struct {
        const gchar *name, *value;
        gboolean anew;
    } known[] = {
        {"rect", "1,2,30,20", TRUE},    {"rect", "1,2,30,20", FALSE},
        {"seeds", "nothing.png", TRUE}, {"seed-source", "auto", FALSE},
        {"seed-source", "rect", TRUE},  {"seed-source", "rect", FALSE},
        {"rect", "3,2,30,20", TRUE},    {"model", "histogram", TRUE},
        {"model", "histogram", FALSE},  {"iterations", "2", FALSE},
        {"lambda", "0.1", FALSE},       {"output", "cutout", FALSE},
        {"edge", "soft", FALSE},        {"connectivity", "8", FALSE},
        {"model", "gmm", TRUE},
    };
    static const gpv_rect rects[] = {{1, 2, 30, 20}, {3, 2, 30, 20}};
    GstVideoInfo info = make_info("RGB", 40, 30);
    g_auto(Pair) pair = graphcut_pair();
    pair_set_info(&pair, &info);
    pair_check(&pair, random_frame(&info));
    for (guint i = 0; i < G_N_ELEMENTS(known); i++) {
        pair_set(&pair, known[i].name, known[i].value);
        if (known[i].anew)
            model_forget(pair.model);
        pair.model->rect = i < 4 ? NULL : &rects[i >= 6];
        for (guint f = 0; f < 2; f++)
            pair_check(&pair, f ? busy_frame(&info, FALSE) : random_frame(&info));
    }
}

/* An adaptive stream may leave the rectangle outside: then nothing is known, until it is back. */
TEST(test_rect_outside, 1) {
    const GstVideoInfo large = make_info("I420", 64, 48), small = make_info("I420", 16, 12);
    g_autoptr(GstHarness) h =
        gst_harness_new_parse("gpugraphcut seed-source=rect rect=40,20,20,20 output=mask");
    g_autoptr(GstBus) bus = add_bus(h->element);
    for (guint i = 0; i < 4; i++) {
        const GstVideoInfo *info = i % 2 ? &small : &large;
        set_info(h, info);
        for (guint f = 0; f < 2; f++)
            gst_buffer_unref(push_and_pull(h, random_frame(info)));
        if (i % 2)
            assert_warning(bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, "16x12");
        fail_unless(gst_bus_pop_filtered(bus, GST_MESSAGE_WARNING) == NULL, "one is enough");
    }
}

/* What frames that flow meanwhile would see. */
static void assert_decoded(GObject *element, GParamSpec *spec, G_GNUC_UNUSED gpointer user) {
    g_autofree gchar *text = NULL;
    g_object_get(element, spec->name, &text, NULL);
    fail_unless(text == NULL || strchr(text, '\\') == NULL, "%s", text);
}

/* A GstValueArray is one way to say a rectangle; presets, in which core escapes texts, keep
   them. */
TEST(test_presets_keep_texts, 1) {
    static const gchar *const texts[][2] = {{"rect", "1,2,3,4"}, {"seeds", "my pictures/x y.png"}};
    g_autoptr(GstElement) saved = element_new("gpugraphcut", test_backend());
    g_autoptr(GstElement) loaded = element_new("gpugraphcut", test_backend());
    GValue array = G_VALUE_INIT;
    gchar *text = NULL;
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
        g_object_set(saved, texts[i][0], texts[i][1], NULL);
    g_signal_connect(loaded, "notify::rect", G_CALLBACK(assert_decoded), NULL);
    fail_unless(gst_preset_save_preset(GST_PRESET(saved), "streams"));
    fail_unless(gst_preset_load_preset(GST_PRESET(loaded), "streams"));
    fail_unless(gst_preset_delete_preset(GST_PRESET(saved), "streams"));
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_object_get(loaded, texts[i][0], &text, NULL);
        fail_unless_equals_string(text, texts[i][1]);
        g_free(text);
    }
    gst_value_array_init(&array, 4);
    for (gint i = 0; i < 4; i++) {
        GValue number = G_VALUE_INIT;
        g_value_init(&number, G_TYPE_INT);
        g_value_set_int(&number, 5 + i);
        gst_value_array_append_and_take_value(&array, &number);
    }
    g_object_set_property(G_OBJECT(loaded), "rect", &array);
    g_object_get(loaded, "rect", &text, NULL);
    fail_unless_equals_string(text, "< 5, 6, 7, 8 >");
    g_free(text);
    g_value_unset(&array);
}

MAIN(run_element("gpugraphcut", run_with_pictures))
