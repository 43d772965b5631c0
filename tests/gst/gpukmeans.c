/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The element beside the library, colours that are counted by eye, and what stays from frame to
 * frame, in system memory, on the backend GPV_TEST_BACKEND, or on the CPU. With GST_TRACERS=leaks
 * every test also fails on objects that are alive after it.
 */
#include "clip.h"
#include "common.h"

#include <math.h>

static GstHarness *harness_new(void) {
    return harness_with(element_new("gpukmeans", test_backend()));
}

/* ---- results ---- */

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

/* As one types it. With 0 clusters their number is found; with more than colours some are empty.
   Pixels are those of the frame that they are on. */
TEST(test_known_picture, 1) {
    static const struct {
        const gchar *properties;
        gint clusters, scale;
    } known[] = {
        {"clusters=4 metric=l1 init=random seed=18446744073709551615", 4, 1},
        {"clusters=9 init=grid tolerance=0 max-iterations=100", 9, 1},
        {"clusters=0 max-clusters=5 warm-start=false tolerance=-1", 4, 1},
        {"clusters=4 ! videoscale ! capsfilter caps=video/x-raw,width=24,height=8", 4, 6},
    };
    GstVideoInfo info = DRAWN;
    for (guint i = 0; i < G_N_ELEMENTS(known); i++) {
        g_autofree gchar *text = g_strdup_printf("gpukmeans %s", known[i].properties);
        g_autoptr(GstBuffer) out = push_through(text, &info, drawn_frame(&info));
        const GstStructure *results = results_of(out, "gpukmeans");
        fail_unless_equals_int(int_field(results, "clusters"), known[i].clusters);
        fail_unless_equals_float(double_field(results, "inertia"), 0);
        fail_unless_equals_int(size_of(results, "counts"), known[i].clusters);
        for (guint k = 0; k < G_N_ELEMENTS(drawn); k++)
            fail_unless_equals_int(count_of(results, drawn[k].color),
                                   known[i].scale * drawn[k].count);
    }
}

/* The colours come out of the picture as they went in, and the labels are those of the results. */
TEST(test_known_pixels, 1) {
    GstVideoInfo info = DRAWN, grey = make_info("GRAY8", info.width, info.height);
    g_autoptr(GstHarness) h = harness_new();
    g_autoptr(GstBuffer) in = drawn_frame(&info), same = NULL, out = NULL;
    g_auto(Plane) labels = {0};
    g_object_set(h->element, "clusters", 4, NULL);
    same = push_of(h, &info, gst_buffer_ref(in));
    assert_same(&info, same, in);
    set_output(h, "labels");
    out = push_and_pull(h, gst_buffer_ref(in));
    labels = plane_of(&grey, out);
    for (gint i = 0; i < labels.width * labels.height; i++)
        fail_unless_equals_int(int_at(results_of(out, "gpukmeans"), "centroids", labels.pixels[i]),
                               (gint)drawn_at(i % labels.width, i / labels.width, NULL));
}

/* ---- video ---- */

/* A copy with noise whose standard deviation is 2: that of a sum of four numbers, each with 1. */
static GstBuffer *noisy_copy(GstBuffer *clean, GRand *random) {
    GstBuffer *noisy = gst_buffer_copy_deep(clean);
    GstMapInfo map;
    fail_unless(gst_buffer_map(noisy, &map, GST_MAP_READWRITE));
    for (gsize i = 0; i < map.size; i++) {
        gdouble level = map.data[i];
        for (guint k = 0; k < 4; k++)
            level += g_rand_double_range(random, -sqrt(3), sqrt(3));
        map.data[i] = (guint8)CLAMP(lrint(level), 0, 255);
    }
    gst_buffer_unmap(noisy, &map);
    return noisy;
}

/* Pixels that have another label. */
static guint changes_between(GstBuffer *a, GstBuffer *b) {
    GstMapInfo x, y;
    guint changes = 0;
    fail_unless(gst_buffer_map(a, &x, GST_MAP_READ) && gst_buffer_map(b, &y, GST_MAP_READ));
    for (gsize i = 0; i < x.size; i++)
        changes += x.data[i] != y.data[i];
    gst_buffer_unmap(a, &x);
    gst_buffer_unmap(b, &y);
    return changes;
}

/*
 * Where colours change gradually, noise changes labels even if centroids are kept as they are after
 * the first frame. The element may change hardly more of them: all in all, and in every frame but
 * those at the start, which go on with an iteration that had ended short of its fixed point.
 */
TEST(test_photograph_keeps_its_labels, 1) {
    enum { frames = 60, settled = 10 };
    GstVideoInfo info = make_info("RGB", photograph_width, photograph_height);
    g_autoptr(GstHarness) h = harness_new();
    g_autoptr(GstElement) frozen = gst_object_ref_sink(gst_element_factory_make("gpukmeans", NULL));
    g_autoptr(Model) still = model_new(element_called("gpukmeans"), frozen);
    g_autoptr(GstBuffer) clean = photograph(), last = NULL, last_still = NULL;
    GRand *random = g_rand_new_with_seed(1);
    guint64 changes = 0, changes_of_still = 0;
    gdouble worst = 0;
    set_output(h, "labels");
    gst_util_set_object_arg(G_OBJECT(frozen), "output", "labels");
    set_info(h, &info);
    for (guint frame = 0; frame < frames; frame++) {
        GstBuffer *in = noisy_copy(clean, random), *out;
        g_auto(Expected) expected = model_expect(still, &info, in, FALSE);
        g_object_set(frozen, "max-iterations", 0, NULL);
        out = push_and_pull(h, in);
        if (last) {
            const guint moved = changes_between(out, last);
            const guint moved_of_still = changes_between(expected.image, last_still);
            changes += moved;
            changes_of_still += moved_of_still;
            if (frame >= settled)
                worst = MAX(worst, (gdouble)moved / MAX(1, moved_of_still));
        } else {
            fail_unless_equals_int(changes_between(out, expected.image), 0);
        }
        gst_buffer_replace(&last, out);
        gst_buffer_replace(&last_still, expected.image);
        gst_buffer_unref(out);
    }
    g_rand_free(random);
    fail_unless((gdouble)changes <= 1.2 * (gdouble)changes_of_still);
    fail_unless(worst > 0 && worst <= 1.2, "%g", worst);
}

/* ---- properties ---- */

/* It would be the one value inside the range that the library refuses. */
TEST(test_one_cluster_is_refused, 1) {
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

/* From 0 to 2 and back, as a ramp moves it. */
TEST(test_clusters_over_one, 1) {
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

MAIN(run_element("gpukmeans", run_on_backend))
