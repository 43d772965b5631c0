/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The element beside the library, colours that are counted by eye, and what stays from frame to
 * frame, in system memory, on the backend GPV_TEST_BACKEND, or on the CPU. With GST_TRACERS=leaks
 * every test also fails on objects that are alive after it. GPV_TEST_PICTURE names one more picture
 * whose noisy copies are segmented.
 */
#include "clip.h"
#include "common.h"

#include <math.h>

static GstHarness *harness_new(void) {
    return harness_with(element_new("gpukmeans", test_backend()));
}

/* ---- results ---- */

static guint size_of(const GstStructure *results, const gchar *name) {
    const GValue *array = gst_structure_get_value(results, name);
    fail_unless(array != NULL && GST_VALUE_HOLDS_ARRAY(array), "no array %s", name);
    return gst_value_array_get_size(array);
}

static gint int_at(const GstStructure *results, const gchar *name, guint index) {
    fail_unless(index < size_of(results, name));
    return g_value_get_int(
        gst_value_array_get_value(gst_structure_get_value(results, name), index));
}

static const gchar picture[][9] = {
    "rrrrggbb",
    "rrrrggbb",
    "rrgggwwb",
    "rrgggggb",
};

/* By eye. */
static const struct {
    gchar letter;
    gint color, count;
} drawn[] = {{'r', 0xe01020, 12}, {'g', 0x20c040, 12}, {'b', 0x1020d0, 6}, {'w', 0xf0f0f0, 2}};

#define DRAWN make_info("RGB", sizeof picture[0] - 1, G_N_ELEMENTS(picture))

static guint32 drawn_at(gint x, gint y, G_GNUC_UNUSED gconstpointer user) {
    guint i = 0;
    while (drawn[i].letter != picture[y][x])
        i++;
    return (guint32)drawn[i].color;
}

static GstBuffer *drawn_frame(const GstVideoInfo *info) {
    return painted_frame(info, drawn_at, NULL);
}

static gint count_of(const GstStructure *results, gint color) {
    for (guint i = 0; i < size_of(results, "centroids"); i++)
        if (int_at(results, "centroids", i) == color)
            return int_at(results, "counts", i);
    return -1;
}

/* Takes the buffer. */
static void assert_drawn(GstBuffer *out, gint clusters) {
    const GstStructure *results = results_of(out, "gpukmeans");
    gint pixels = 0;
    fail_unless_equals_int(int_field(results, "clusters"), clusters);
    fail_unless_equals_float(double_field(results, "inertia"), 0);
    fail_unless_equals_int(size_of(results, "counts"), clusters);
    for (guint i = 0; i < G_N_ELEMENTS(drawn); i++)
        fail_unless_equals_int(count_of(results, drawn[i].color), drawn[i].count);
    for (guint i = 0; i < (guint)clusters; i++)
        pixels += int_at(results, "counts", i);
    fail_unless_equals_int(pixels, 32);
    gst_buffer_unref(out);
}

/* As one types it. With 0 clusters their number is found; with more than colours some are empty. */
GST_START_TEST(test_known_picture) {
    static const struct {
        const gchar *properties;
        gint clusters;
    } known[] = {
        {"clusters=4", 4},
        {"clusters=4 metric=l1 init=kmeans++", 4},
        {"clusters=4 init=random seed=18446744073709551615", 4},
        {"clusters=8", 8},
        {"clusters=9 init=grid tolerance=0 max-iterations=100", 9},
        {"clusters=0", 4},
        {"clusters=0 max-clusters=4 warm-start=false tolerance=-1", 4},
    };
    GstVideoInfo info = DRAWN;
    for (guint i = 0; i < G_N_ELEMENTS(known); i++) {
        g_autofree gchar *text = g_strdup_printf("gpukmeans %s", known[i].properties);
        g_autoptr(GstHarness) h = gst_harness_new_parse(text);
        set_info(h, &info);
        for (guint f = 0; f < 2; f++)
            assert_drawn(push_and_pull(h, drawn_frame(&info)), known[i].clusters);
    }
}
GST_END_TEST

/* The colours come out of the picture as they went in, and the labels are those of the results. */
GST_START_TEST(test_known_pixels) {
    GstVideoInfo info = DRAWN, grey = make_info("GRAY8", info.width, info.height);
    g_autoptr(GstHarness) h = harness_new();
    g_autoptr(GstBuffer) in = drawn_frame(&info), same = NULL, out = NULL;
    g_auto(Plane) labels = {0};
    g_object_set(h->element, "clusters", 4, NULL);
    set_info(h, &info);
    same = push_and_pull(h, gst_buffer_ref(in));
    assert_same(&info, same, in);
    set_output(h, "labels");
    out = push_and_pull(h, gst_buffer_ref(in));
    labels = plane_of(&grey, out);
    for (gint i = 0; i < labels.width * labels.height; i++)
        fail_unless_equals_int(int_at(results_of(out, "gpukmeans"), "centroids", labels.pixels[i]),
                               (gint)drawn_at(i % labels.width, i / labels.width, NULL));
}
GST_END_TEST

/* Where the number of clusters is chosen, one colour is one cluster. */
GST_START_TEST(test_one_color) {
    GstVideoInfo info = make_info("GRAY8", 16, 9);
    g_autoptr(GstHarness) h = gst_harness_new_parse("gpukmeans clusters=0");
    GstBuffer *in = random_frame(&info), *out;
    const GstStructure *results;
    gst_buffer_memset(in, 0, 77, info.size);
    set_info(h, &info);
    out = push_and_pull(h, in);
    results = results_of(out, "gpukmeans");
    fail_unless_equals_int(int_field(results, "clusters"), 1);
    fail_unless_equals_int(size_of(results, "centroids"), 1);
    fail_unless_equals_int(int_at(results, "centroids", 0), 77 * 0x10101);
    fail_unless_equals_int(int_at(results, "counts", 0), 16 * 9);
    gst_buffer_unref(out);
}
GST_END_TEST

/* Pixels and sums over them are those of the frame that they are on; colours are no pixels. */
GST_START_TEST(test_results_are_scaled) {
    GstVideoInfo info = DRAWN;
    g_autoptr(GstHarness) h = gst_harness_new_parse(
        "gpukmeans clusters=4 ! videoscale ! capsfilter caps=video/x-raw,width=24,height=8");
    const GstStructure *results;
    g_autoptr(GstBuffer) out = NULL;
    set_info(h, &info);
    out = push_and_pull(h, drawn_frame(&info));
    results = results_of(out, "gpukmeans");
    fail_unless_equals_int(int_field(results, "clusters"), 4);
    fail_unless_equals_int(int_field(results, "iterations"), 1);
    for (guint i = 0; i < G_N_ELEMENTS(drawn); i++)
        fail_unless_equals_int(count_of(results, drawn[i].color), 6 * drawn[i].count);
}
GST_END_TEST

/* ---- video ---- */

enum { video_width = 160, video_height = 120, video_pixels = video_width * video_height };

#define VIDEO make_info("RGB", video_width, video_height)

/* Numbers that are the same in every run. */
static guint32 next_number(guint64 *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (guint32)(*state >> 32);
}

static gdouble between_0_and_1(guint64 *state) {
    return (next_number(state) + 0.5) / 4294967296.0;
}

/* Box and Muller, 1958: of one number in two. */
static gdouble normal_number(guint64 *state) {
    const gdouble radius = sqrt(-2 * log(between_0_and_1(state)));
    return radius * cos(2 * G_PI * between_0_and_1(state));
}

/* A copy with noise whose standard deviation is 2. */
static GstBuffer *noisy_copy(GstBuffer *clean, guint64 *state) {
    GstBuffer *noisy = gst_buffer_copy_deep(clean);
    GstMapInfo map;
    fail_unless(gst_buffer_map(noisy, &map, GST_MAP_READWRITE));
    for (gsize i = 0; i < map.size; i++)
        map.data[i] = (guint8)CLAMP(map.data[i] + lrint(2 * normal_number(state)), 0, 255);
    gst_buffer_unmap(noisy, &map);
    return noisy;
}

/* So many flat colours, at least 60 levels apart in one channel, as tiles. */
static guint32 tile_at(gint x, gint y, gconstpointer user) {
    const guint32 i = (guint32)((x / 11 + 5 * (y / 13)) % *(const gint *)user);
    return (30 + 60 * (i % 4)) << 16 | (30 + 60 * (i / 2 % 4)) << 8 | (30 + 180 * (i % 2));
}

static GstBuffer *flat_picture(const GstVideoInfo *info, gint colors) {
    return painted_frame(info, tile_at, &colors);
}

static gdouble smooth(gdouble t) {
    return t * t * (3 - 2 * t);
}

/* Noise of a lattice whose cells are so many pixels wide: smooth, -0.5 to 0.5. */
static gdouble lattice_noise(guint64 seed, gint x, gint y, gint cell) {
    gdouble corners[4];
    const gdouble u = smooth((gdouble)(x % cell) / cell), v = smooth((gdouble)(y % cell) / cell);
    for (gint i = 0; i < 4; i++) {
        guint64 state = seed + 1000003u * (guint64)(x / cell + i % 2) + (guint64)(y / cell + i / 2);
        next_number(&state);
        corners[i] = between_0_and_1(&state) - 0.5;
    }
    return (corners[0] * (1 - u) + corners[1] * u) * (1 - v) +
           (corners[2] * (1 - u) + corners[3] * u) * v;
}

/* As in photographs, coarse structures have the most contrast, and channels have much in common. */
static guint32 smooth_at(gint x, gint y, G_GNUC_UNUSED gconstpointer user) {
    guint32 color = 0;
    for (guint c = 0; c < 3; c++) {
        gdouble level = 128;
        for (gint cell = 64; cell >= 2; cell /= 2)
            level += 3.0 * cell * lattice_noise(17u * (guint)cell, x, y, cell) +
                     1.5 * cell * lattice_noise(17u * (guint)cell + 1 + c, x, y, cell);
        color = color << 8 | (guint32)CLAMP(level, 0, 255);
    }
    return color;
}

/* Decoded by GStreamer. */
static GstBuffer *read_picture(const gchar *path) {
    g_autoptr(GstElement) pipeline =
        launch("filesrc name=file ! decodebin ! videoconvert ! videoscale ! video/x-raw,format=RGB,"
               "width=160,height=120,pixel-aspect-ratio=1/1 ! fakesink name=sink");
    g_autoptr(GstElement) file = gst_bin_get_by_name(GST_BIN(pipeline), "file");
    g_autoptr(GstBuffer) frame = NULL;
    g_object_set(file, "location", path, NULL);
    reach(pipeline, GST_STATE_PAUSED);
    frame = last_frame(pipeline);
    reach(pipeline, GST_STATE_NULL);
    return gst_buffer_copy_deep(frame);
}

/* Pixels that have another label. */
static guint changes_between(GstBuffer *a, GstBuffer *b) {
    GstMapInfo x, y;
    guint changes = 0;
    fail_unless(gst_buffer_map(a, &x, GST_MAP_READ) && gst_buffer_map(b, &y, GST_MAP_READ));
    fail_unless_equals_int(x.size, video_pixels);
    for (gsize i = 0; i < x.size; i++)
        changes += x.data[i] != y.data[i];
    gst_buffer_unmap(a, &x);
    gst_buffer_unmap(b, &y);
    return changes;
}

static gint squared_distance(gint a, gint b) {
    gint sum = 0;
    for (gint shift = 0; shift < 24; shift += 8) {
        const gint difference = (a >> shift & 255) - (b >> shift & 255);
        sum += difference * difference;
    }
    return sum;
}

/* No centroid is nearer to another one of the frame before than to its own. */
static void assert_numbers_kept(GstBuffer *now, GstBuffer *before) {
    const GstStructure *a = results_of(now, "gpukmeans"), *b = results_of(before, "gpukmeans");
    for (guint i = 0; i < size_of(a, "centroids"); i++)
        for (guint j = 0; j < size_of(b, "centroids"); j++)
            fail_if(squared_distance(int_at(a, "centroids", i), int_at(b, "centroids", j)) <
                        squared_distance(int_at(a, "centroids", i), int_at(b, "centroids", i)),
                    "cluster %u has become cluster %u", j, i);
}

/* A still picture with noise: the labels stay, as the colours are far apart. */
GST_START_TEST(test_flat_colors_keep_their_labels) {
    static const gint colors[] = {2, 5, 8};
    GstVideoInfo info = VIDEO;
    g_autoptr(GstHarness) h = harness_new();
    GstBuffer *clean = flat_picture(&info, colors[__i__]), *last = NULL;
    guint64 state = 1;
    guint maximum = 0;
    g_object_set(h->element, "clusters", colors[__i__], NULL);
    set_output(h, "labels");
    set_info(h, &info);
    for (guint frame = 0; frame < 200; frame++) {
        GstBuffer *out = push_and_pull(h, noisy_copy(clean, &state));
        for (guint i = 0; i < (guint)colors[__i__]; i++)
            fail_unless(int_at(results_of(out, "gpukmeans"), "counts", i) > video_pixels / 20);
        if (last) {
            maximum = MAX(maximum, changes_between(out, last));
            assert_numbers_kept(out, last);
            gst_buffer_unref(last);
        }
        last = out;
    }
    g_print("%d flat colours, 200 frames: at most %.3f %% of the labels change in one\n",
            colors[__i__], 100.0 * maximum / video_pixels);
    fail_unless(maximum <= video_pixels / 1000);
    gst_buffer_unref(last);
    gst_buffer_unref(clean);
}
GST_END_TEST

/*
 * Where colours change gradually, noise changes labels even if centroids are kept as they are after
 * the first frame. The element may change hardly more of them: all in all, and in every frame but
 * those at the start, which go on with an iteration that had ended short of its fixed point.
 */
static void check_stability(const gchar *name, GstBuffer *clean) {
    enum { frames = 60, settled = 10 };
    GstVideoInfo info = VIDEO;
    g_autoptr(GstHarness) h = harness_new();
    g_autoptr(GstElement) frozen = gst_object_ref_sink(gst_element_factory_make("gpukmeans", NULL));
    g_autoptr(Model) still = model_new(element_called("gpukmeans"), frozen);
    GstBuffer *last = NULL, *last_still = NULL;
    guint64 state = 1, changes = 0, changes_of_still = 0;
    gdouble worst = 0;
    set_output(h, "labels");
    gst_util_set_object_arg(G_OBJECT(frozen), "output", "labels");
    set_info(h, &info);
    for (guint frame = 0; frame < frames; frame++) {
        GstBuffer *in = noisy_copy(clean, &state), *out, *out_still;
        Expected expected = model_expect(still, &info, in, FALSE);
        g_object_set(frozen, "max-iterations", 0, NULL);
        out_still = gst_buffer_ref(expected.image);
        expected_free(&expected);
        out = push_and_pull(h, in);
        if (last) {
            const guint moved = changes_between(out, last);
            const guint moved_of_still = changes_between(out_still, last_still);
            changes += moved;
            changes_of_still += moved_of_still;
            if (frame >= settled)
                worst = MAX(worst, (gdouble)moved / MAX(1, moved_of_still));
            assert_numbers_kept(out, last);
            gst_buffer_unref(last);
            gst_buffer_unref(last_still);
        } else {
            fail_unless_equals_int(changes_between(out, out_still), 0);
        }
        last = out;
        last_still = out_still;
    }
    g_print("%s, %d frames: %.3f %% of the labels change in one, %.3f %% with frozen centroids; "
            "from frame %d on at most %.3f times as many\n",
            name, frames, 100.0 * (gdouble)changes / video_pixels / (frames - 1),
            100.0 * (gdouble)changes_of_still / video_pixels / (frames - 1), settled, worst);
    fail_unless((gdouble)changes <= 1.2 * (gdouble)changes_of_still);
    fail_unless(worst > 0 && worst <= 1.2);
    gst_buffer_unref(last);
    gst_buffer_unref(last_still);
    gst_buffer_unref(clean);
}

GST_START_TEST(test_smooth_colors_keep_their_labels) {
    GstVideoInfo info = VIDEO;
    check_stability("smooth colours", painted_frame(&info, smooth_at, NULL));
}
GST_END_TEST

GST_START_TEST(test_photograph_keeps_its_labels) {
    check_stability("photograph", photograph());
}
GST_END_TEST

GST_START_TEST(test_given_picture_keeps_its_labels) {
    const gchar *path = g_getenv("GPV_TEST_PICTURE");
    check_stability(path, read_picture(path));
}
GST_END_TEST

/* So many parts of 30 of the picture, and the rest of a grey of this level. */
static GstBuffer *faded(GstBuffer *picture, gint parts, gint level) {
    GstBuffer *buffer = gst_buffer_copy_deep(picture);
    GstMapInfo map;
    fail_unless(gst_buffer_map(buffer, &map, GST_MAP_READWRITE));
    for (gsize i = 0; i < map.size; i++)
        map.data[i] = (guint8)((map.data[i] * parts + level * (30 - parts) + 15) / 30);
    gst_buffer_unmap(buffer, &map);
    return buffer;
}

/* Five frames of the picture: the last one is segmented as if it were the first of a stream. */
static void check_arrival(GstHarness *h, Model *cold, GstBuffer *picture, const gchar *after) {
    GstVideoInfo info = VIDEO;
    g_auto(Expected) first = model_expect(cold, &info, picture, FALSE);
    const gdouble wanted = double_field(first.results, "inertia");
    gdouble inertia = 0;
    for (guint i = 0; i < 5; i++) {
        g_autoptr(GstBuffer) out = push_and_pull(h, gst_buffer_ref(picture));
        inertia = double_field(results_of(out, "gpukmeans"), "inertia");
    }
    fail_unless(inertia <= 1.1 * wanted, "after %s: inertia is %g, of a cold start %g", after,
                inertia, wanted);
}

/* Centroids of one scene do not stay bad ones of the next. */
GST_START_TEST(test_another_scene) {
    static const struct {
        const gchar *name;
        gint level;
    } uniform[] = {{"black", 0}, {"white", 255}, {"grey", 128}};
    GstVideoInfo info = VIDEO;
    g_autoptr(GstHarness) h = harness_new();
    g_autoptr(GstElement) other = gst_object_ref_sink(gst_element_factory_make("gpukmeans", NULL));
    g_autoptr(Model) cold = model_new(element_called("gpukmeans"), other);
    GstBuffer *scenes[] = {photograph(), flat_picture(&info, 5)};
    g_object_set(h->element, "clusters", __i__ ? 4 : 0, NULL);
    g_object_set(other, "clusters", __i__ ? 4 : 0, "warm-start", FALSE, NULL);
    set_info(h, &info);
    for (guint i = 0; i < G_N_ELEMENTS(uniform); i++)
        for (guint s = 0; s < 2; s++) {
            gst_buffer_unref(push_and_pull(h, faded(scenes[s], 0, uniform[i].level)));
            check_arrival(h, cold, scenes[s], uniform[i].name);
        }
    for (guint s = 0; s < 2; s++) /* they come in turn */
        check_arrival(h, cold, scenes[s], "a cut");
    for (guint s = 0; s < 2; s++) {
        for (gint parts = 0; parts < 30; parts++)
            gst_buffer_unref(push_and_pull(h, faded(scenes[s], parts, 0)));
        check_arrival(h, cold, scenes[s], "a fade from black");
    }
    gst_buffer_unref(scenes[0]);
    gst_buffer_unref(scenes[1]);
}
GST_END_TEST

/* ---- properties ---- */

/* It would be the one value inside the range that the library refuses. */
GST_START_TEST(test_one_cluster_is_refused) {
    GstElement *element = gst_check_setup_element("gpukmeans");
    gchar *warning = NULL;
    const guint handler = g_log_set_handler(NULL, G_LOG_LEVEL_WARNING, keep_warning, &warning);
    for (guint i = 0; i < 2; i++) {
        const gint legal[] = {5, 0};
        gint clusters = -1;
        g_object_set(element, "clusters", legal[i], NULL);
        fail_unless(warning == NULL, "%s", warning);
        g_object_set(element, "clusters", 1, NULL);
        fail_unless(warning != NULL && strstr(warning, "0, chosen automatically, or 2 to 256"));
        g_object_get(element, "clusters", &clusters, NULL);
        fail_unless_equals_int(clusters, legal[i]);
        g_clear_pointer(&warning, g_free);
    }
    g_log_remove_handler(NULL, handler);
    gst_check_teardown_element(element);
}
GST_END_TEST

/* From 0 to 2 and back, as a ramp moves it. */
GST_START_TEST(test_clusters_over_one) {
    static const gdouble values[] = {2, 1, 0, 1, 3};
    static const gint expected[] = {2, 2, 0, 0, 3};
    g_autoptr(GstElement) element = element_new("gpukmeans", test_backend());
    gchar *warning = NULL;
    const guint handler = g_log_set_handler(NULL, G_LOG_LEVEL_WARNING, keep_warning, &warning);
    control(element, "clusters", values, G_N_ELEMENTS(values));
    for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
        gint clusters = -1;
        gst_object_sync_values(GST_OBJECT(element), i * GST_SECOND);
        g_object_get(element, "clusters", &clusters, NULL);
        fail_unless_equals_int(clusters, expected[i]);
    }
    fail_unless(warning == NULL, "%s", warning);
    g_log_remove_handler(NULL, handler);
}
GST_END_TEST

static Suite *gpukmeans_suite(void) {
    Suite *suite = common_suite("gpukmeans");
    TCase *tcase = add_case(suite, "clusters");
    tcase_add_test(tcase, test_known_picture);
    tcase_add_test(tcase, test_known_pixels);
    tcase_add_test(tcase, test_one_color);
    tcase_add_test(tcase, test_results_are_scaled);
    tcase_add_test(tcase, test_one_cluster_is_refused);
    tcase_add_test(tcase, test_clusters_over_one);
    tcase = add_case(suite, "video");
    tcase_add_loop_test(tcase, test_flat_colors_keep_their_labels, 0, 3);
    tcase_add_test(tcase, test_smooth_colors_keep_their_labels);
    tcase_add_test(tcase, test_photograph_keeps_its_labels);
    if (g_getenv("GPV_TEST_PICTURE"))
        tcase_add_test(tcase, test_given_picture_keeps_its_labels);
    tcase_add_loop_test(tcase, test_another_scene, 0, 2);
    return suite;
}

int main(int argc, char **argv) {
    gst_check_init(&argc, &argv);
    return run_on_backend(gpukmeans_suite, "gpukmeans", __FILE__);
}
