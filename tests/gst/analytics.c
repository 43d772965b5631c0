/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GStreamer's analytics metadata beside the elements' own, on the backend GPV_TEST_BACKEND, or on
 * the CPU. With GST_TRACERS=leaks every test also fails on objects that are alive after it.
 */
#include "elements.h"

#include <gst/analytics/analytics.h>

#include <math.h>

enum { max_boxes = 1024 };

typedef struct {
    GQuark type;
    gint x, y, width, height;
    gfloat confidence;
} Detection;

/* ---- what a frame has ---- */

static GstAnalyticsRelationMeta *meta_of(GstBuffer *buffer) {
    GstAnalyticsRelationMeta *meta = gst_buffer_get_analytics_relation_meta(buffer);
    fail_unless(meta != NULL);
    fail_unless_equals_int(gst_buffer_get_n_meta(buffer, GST_ANALYTICS_RELATION_META_API_TYPE), 1);
    return meta;
}

static void assert_length(GstBuffer *buffer, gsize expected) {
    fail_unless_equals_uint64(gst_analytics_relation_get_length(meta_of(buffer)), expected);
}

/* In their order. */
static GArray *detections_of(GstBuffer *buffer) {
    GArray *found = g_array_new(FALSE, FALSE, sizeof(Detection));
    gpointer state = NULL;
    GstAnalyticsMtd mtd;
    while (gst_analytics_relation_meta_iterate(meta_of(buffer), &state,
                                               gst_analytics_od_mtd_get_mtd_type(), &mtd)) {
        Detection one = {.type = gst_analytics_od_mtd_get_obj_type(&mtd)};
        fail_unless(gst_analytics_od_mtd_get_location(&mtd, &one.x, &one.y, &one.width, &one.height,
                                                      &one.confidence));
        g_array_append_val(found, one);
    }
    return found;
}

static Detection only_detection(GstBuffer *buffer) {
    g_autoptr(GArray) found = detections_of(buffer);
    Detection one;
    fail_unless_equals_int(found->len, 1);
    one = g_array_index(found, Detection, 0);
    return one;
}

static GstAnalyticsMtd only_one(GstBuffer *buffer, GstAnalyticsMtdType type) {
    gpointer state = NULL;
    GstAnalyticsMtd mtd, other;
    fail_unless(gst_analytics_relation_meta_iterate(meta_of(buffer), &state, type, &mtd));
    fail_if(gst_analytics_relation_meta_iterate(meta_of(buffer), &state, type, &other));
    return mtd;
}

static void assert_class(GstAnalyticsMtd *mtd, gsize index, const gchar *name, gdouble share) {
    const gdouble level = (gdouble)gst_analytics_cls_mtd_get_level(mtd, index);
    fail_unless_equals_string(g_quark_to_string(gst_analytics_cls_mtd_get_quark(mtd, index)), name);
    fail_unless(fabs(level - share) < 1e-6, "%s: %g, should be %g", name, level, share);
}

/* From this detection on, those of the first components. Returns how many. */
static guint assert_components(GstBuffer *buffer, guint first) {
    const GstStructure *results = results_of(buffer, "gpuccl");
    const guint n = MIN(size_of(results, "components"), max_boxes);
    g_autoptr(GArray) found = detections_of(buffer);
    fail_unless(found->len >= first + n, "%u", found->len);
    for (guint i = 0; i < n; i++) {
        const GstStructure *expected = structure_at(results, "components", i);
        const Detection *one = &g_array_index(found, Detection, first + i);
        fail_unless_equals_string(g_quark_to_string(one->type), "component");
        fail_unless_equals_int(one->x, int_field(expected, "x"));
        fail_unless_equals_int(one->y, int_field(expected, "y"));
        fail_unless_equals_int(one->width, int_field(expected, "width"));
        fail_unless_equals_int(one->height, int_field(expected, "height"));
        fail_unless_equals_float(one->confidence, 1);
    }
    return n;
}

/* ---- frames ---- */

/* So many rows of things, each of another size. */
static guint32 thing_at(gint x, gint y, gconstpointer rows) {
    return y / 8 < *(const gint *)rows && x % 8 <= x / 8 % 7 && y % 8 <= y / 8 % 7 ? 255 : 0;
}

static GstBuffer *things(const GstVideoInfo *info, gint rows) {
    return painted_frame(info, thing_at, &rows);
}

static guint32 dot_at(gint x, gint y, G_GNUC_UNUSED gconstpointer user) {
    return x % 2 || y % 2 ? 0 : 255;
}

static guint32 half_at(gint x, G_GNUC_UNUSED gint y, G_GNUC_UNUSED gconstpointer user) {
    return x < 20 ? 220 : 30;
}

enum { picture_width = 120, picture_height = 90, frame_width = 240, frame_height = 180 };

#define FRAME make_info("GRAY8", frame_width, frame_height)

static File picture_file(const gchar *name) {
    g_auto(Plane) plane = plane_new(picture_width, picture_height);
    File file = file_new(name);
    for (gint i = 0; i < plane.width * plane.height; i++)
        plane.pixels[i] = squares(i % plane.width, i / plane.width, 1);
    write_picture(&file, &plane, 1);
    return file;
}

typedef struct {
    gint right, down;
} Place;

static guint32 scene_at(gint x, gint y, gconstpointer user) {
    const Place *place = user;
    const gint u = x - place->right, v = y - place->down;
    return u >= 0 && v >= 0 && u < picture_width && v < picture_height ? squares(u, v, 1)
                                                                       : squares(x, y, 2);
}

/* The picture lies this far right of, and below, the frame's first pixel. */
static GstBuffer *scene(const GstVideoInfo *info, gint right, gint down) {
    const Place place = {right, down};
    return painted_frame(info, scene_at, &place);
}

/* ---- gpuccl ---- */

static const gchar *const outputs[] = {"colorize", "mask", "labels", "none"};

/* One frame after the other has another number of them, in buffers of one pool. */
TEST(test_components, G_N_ELEMENTS(outputs)) {
    GstVideoInfo info = make_info("GRAY8", 160, 64);
    g_autoptr(GstHarness) h = harness_with(element_new("gpuccl", test_backend()));
    set_output(h, outputs[__i__]);
    for (gint rows = 7; rows > 0; rows--) {
        g_autoptr(GstBuffer) out = push_of(h, &info, things(&info, rows));
        const guint n = assert_components(out, 0);
        assert_length(out, n);
        fail_unless(n > 100 || rows < 7, "%u", n);
    }
}

/* Not more than GStreamer has memory for. */
TEST(test_many_components, 1) {
    static const guint described[] = {65, max_boxes - 1, max_boxes, max_boxes + 1};
    GstVideoInfo info = make_info("GRAY8", 512, 512);
    g_autoptr(GstHarness) h = harness_with(element_new("gpuccl", test_backend()));
    for (guint i = 0; i < G_N_ELEMENTS(described); i++) {
        g_autoptr(GstBuffer) out = NULL;
        g_object_set(h->element, "max-components", described[i], NULL);
        out = push_of(h, &info, painted_frame(&info, dot_at, NULL));
        fail_unless_equals_int(assert_components(out, 0), MIN(described[i], max_boxes));
        assert_length(out, MIN(described[i], max_boxes));
    }
}

/* ---- gpusift ---- */

/* Exactly that of the corners which the element's own metadata has, cut off where the frame ends.
 */
static void assert_box(const Detection *one, const GstStructure *results) {
    gdouble left = frame_width, top = frame_height, right = 0, bottom = 0;
    for (guint i = 0; i < 4; i++) {
        const gdouble x = double_field(structure_at(results, "corners", i), "cx");
        const gdouble y = double_field(structure_at(results, "corners", i), "cy");
        left = MIN(left, x);
        top = MIN(top, y);
        right = MAX(right, x);
        bottom = MAX(bottom, y);
    }
    fail_unless_equals_int(one->x, MAX(floor(left + 0.5), 0));
    fail_unless_equals_int(one->y, MAX(floor(top + 0.5), 0));
    fail_unless_equals_int(one->x + one->width, MIN(ceil(right + 0.5), frame_width));
    fail_unless_equals_int(one->y + one->height, MIN(ceil(bottom + 0.5), frame_height));
}

TEST(test_found, 1) {
    static const gint places[][2] = {{60, 40}, {0, 0}, {-30, 50}, {70, -20}, {160, 120}};
    GstVideoInfo info = FRAME;
    g_auto(File) file = picture_file("a picture.pgm");
    g_autoptr(GstHarness) h = harness_with(element_new("gpusift", test_backend()));
    g_autoptr(GstBuffer) empty = NULL;
    g_object_set(h->element, "reference", file.path, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(places); i++) {
        g_autoptr(GstBuffer) out = push_of(h, &info, scene(&info, places[i][0], places[i][1]));
        const GstStructure *results = results_of(out, "gpusift");
        const Detection one = only_detection(out);
        assert_length(out, 1);
        fail_unless_equals_string(g_quark_to_string(one.type), "a picture.pgm");
        fail_unless_equals_float(one.confidence, (gfloat)int_field(results, "inliers") /
                                                     (gfloat)int_field(results, "matches"));
        assert_box(&one, results);
    }
    empty = push_of(h, &info, scene(&info, frame_width, 0));
    fail_unless(gst_structure_has_field(results_of(empty, "gpusift"), "matches"));
    fail_unless(gst_buffer_get_analytics_relation_meta(empty) == NULL);
}

/* ---- gpukmeans ---- */

static void assert_clusters(GstBuffer *buffer) {
    const GstStructure *results = results_of(buffer, "gpukmeans");
    const guint n = size_of(results, "counts");
    GstAnalyticsMtd mtd = only_one(buffer, gst_analytics_cls_mtd_get_mtd_type());
    gdouble pixels = 0;
    fail_unless_equals_uint64(gst_analytics_cls_mtd_get_length(&mtd), n);
    for (guint i = 0; i < n; i++)
        pixels += int_at(results, "counts", i);
    for (guint i = 0; i < n; i++) {
        const gint color = int_at(results, "centroids", i);
        g_autofree gchar *name = g_strdup_printf("#%x%x%x", (gint)lround((color >> 16) / 17.0),
                                                 (gint)lround((color >> 8 & 255) / 17.0),
                                                 (gint)lround((color & 255) / 17.0));
        assert_class(&mtd, i, name, int_at(results, "counts", i) / pixels);
    }
}

/* Class and cluster have one number. */
TEST(test_clusters, 2) {
    static const gint clusters[] = {0, 2, 3, 8, 64, 256};
    static const gchar *const spaces[] = {"rgb", "lab"};
    GstVideoInfo info = make_info("RGB", 61, 47);
    g_autoptr(GstHarness) h = harness_with(element_new("gpukmeans", test_backend()));
    gst_util_set_object_arg(G_OBJECT(h->element), "color-space", spaces[__i__]);
    for (guint i = 0; i < G_N_ELEMENTS(clusters); i++) {
        g_autoptr(GstBuffer) out = NULL;
        g_object_set(h->element, "clusters", clusters[i], NULL);
        out = push_of(h, &info, random_frame(&info));
        assert_clusters(out);
        assert_length(out, 1);
    }
}

/* ---- gpugraphcut ---- */

static void assert_sides(GstBuffer *buffer, const GstVideoInfo *info) {
    const gdouble share = (gdouble)int_field(results_of(buffer, "gpugraphcut"), "area") /
                          ((gdouble)info->width * info->height);
    GstAnalyticsMtd mtd = only_one(buffer, gst_analytics_cls_mtd_get_mtd_type());
    fail_unless_equals_uint64(gst_analytics_cls_mtd_get_length(&mtd), 2);
    assert_class(&mtd, 0, "background", 1 - share);
    assert_class(&mtd, 1, "foreground", share);
}

TEST(test_sides, 4) {
    static const gchar *const ways[] = {"overlay", "mask", "cutout", "none"};
    GstVideoInfo info = make_info("GRAY8", 50, 40);
    g_autoptr(GstHarness) h = harness_with(element_new("gpugraphcut", test_backend()));
    g_autoptr(GstBuffer) out = NULL;
    gst_util_set_object_arg(G_OBJECT(h->element), "seed-source", "rect");
    g_object_set(h->element, "rect", "0,0,25,40", NULL);
    set_output(h, ways[__i__]);
    out = push_of(h, &info, painted_frame(&info, half_at, NULL));
    assert_sides(out, &info);
    assert_length(out, 1);
    fail_unless_equals_int(int_field(results_of(out, "gpugraphcut"), "area"), 20 * 40);
}

/* ---- masks ---- */

#if GST_CHECK_VERSION(1, 26, 0)
static const struct {
    const gchar *name, *labels, *other; /* the output that is the mask, and one beside it */
} masked[] = {{"gpuccl", "labels", "colorize"},  {"gpukmeans", "labels", "quantized"},
              {"gpugraphcut", "mask", "cutout"}, {"gpuccl", "labels", "none"},
              {"gpukmeans", "labels", "none"},   {"gpugraphcut", "mask", "none"}};
enum { masked_elements = 3 };

static GstAnalyticsMtd only_segmentation(GstBuffer *buffer) {
    return only_one(buffer, gst_analytics_segmentation_mtd_get_mtd_type());
}

/* The whole frame, wherever it lies. */
static Plane mask_of(GstBuffer *buffer, const GstVideoInfo *info) {
    const GstVideoInfo grey = make_info("GRAY8", info->width, info->height);
    const GstAnalyticsMtd mtd = only_segmentation(buffer);
    gint x, y;
    guint w, h;
    g_autoptr(GstBuffer) mask = gst_analytics_segmentation_mtd_get_mask(&mtd, &x, &y, &w, &h);
    fail_unless(x == 0 && y == 0 && (gint)w == info->width && (gint)h == info->height);
    return plane_of(&grey, mask);
}

/* Those of the frame are as many, and begin with background; each box leads to the mask and back.
 */
static void assert_instances(GstBuffer *buffer) {
    const GstAnalyticsMtd mtd = only_segmentation(buffer);
    const gint count = MIN(int_field(results_of(buffer, "gpuccl"), "count"), 255);
    gpointer state = NULL;
    GstAnalyticsMtd box, back;
    g_autoptr(GArray) found = detections_of(buffer);
    guint boxes = 0;
    fail_unless_equals_uint64(gst_analytics_segmentation_mtd_get_region_count(&mtd),
                              (guint64)count + 1);
    for (gint i = 0; i <= count; i++)
        fail_unless_equals_int(gst_analytics_segmentation_mtd_get_region_id(&mtd, (gsize)i), i);
    while (gst_analytics_relation_meta_get_direct_related(
        mtd.meta, mtd.id, GST_ANALYTICS_REL_TYPE_RELATE_TO, gst_analytics_od_mtd_get_mtd_type(),
        &state, &box)) {
        gpointer none = NULL;
        fail_unless(gst_analytics_relation_meta_get_direct_related(
            mtd.meta, box.id, GST_ANALYTICS_REL_TYPE_RELATE_TO,
            gst_analytics_segmentation_mtd_get_mtd_type(), &none, &back));
        fail_unless_equals_int(back.id, mtd.id);
        boxes++;
    }
    fail_unless_equals_int(boxes, found->len);
}

/* A class for each, with as many pixels. */
static void assert_regions_are_classes(GstBuffer *buffer, const Plane *mask) {
    const GstAnalyticsMtd mtd = only_segmentation(buffer);
    const gsize n = gst_analytics_segmentation_mtd_get_region_count(&mtd);
    const gdouble all = mask->width * mask->height;
    gpointer state = NULL;
    GstAnalyticsMtd classes;
    fail_unless(gst_analytics_relation_meta_get_direct_related(
        mtd.meta, mtd.id, GST_ANALYTICS_REL_TYPE_N_TO_N, gst_analytics_cls_mtd_get_mtd_type(),
        &state, &classes));
    fail_unless_equals_uint64(gst_analytics_cls_mtd_get_length(&classes), n);
    for (gsize i = 0; i < n; i++) {
        gint pixels = 0;
        for (gint k = 0; k < mask->width * mask->height; k++)
            pixels += mask->pixels[k] == gst_analytics_segmentation_mtd_get_region_id(&mtd, i);
        fail_unless(fabs((gdouble)gst_analytics_cls_mtd_get_level(&classes, i) - pixels / all) <
                    1e-6);
    }
}

/* What output=labels, or output=mask, is of the same frame. */
static void assert_mask(const gchar *name, const gchar *labels, const GstVideoInfo *info,
                        GstBuffer *frame, const Plane *mask) {
    const gboolean wide = g_str_equal(name, "gpuccl");
    const GstVideoInfo grey = make_info(wide ? "GRAY16_LE" : "GRAY8", info->width, info->height);
    g_autofree gchar *text =
        g_strdup_printf("%s backend=%s output=%s", name, test_backend(), labels);
    g_autoptr(GstBuffer) out = push_through(text, info, gst_buffer_ref(frame));
    GstVideoFrame mapped;
    fail_unless(gst_video_frame_map(&mapped, &grey, out, GST_MAP_READ));
    for (gint y = 0; y < info->height; y++) {
        const guint8 *row = (const guint8 *)GST_VIDEO_FRAME_PLANE_DATA(&mapped, 0) +
                            y * GST_VIDEO_FRAME_PLANE_STRIDE(&mapped, 0);
        for (gint x = 0; x < info->width; x++) {
            const gint label = wide ? GST_READ_UINT16_LE(row + 2 * x) : row[x];
            fail_unless_equals_int(mask->pixels[y * info->width + x], MIN(label, 255));
        }
    }
    gst_video_frame_unmap(&mapped);
}

/* In system memory and, on CUDA, in CUDAMemory; the first of each pool, and that once more; and
   with more than 255 instances. */
TEST(test_masks, G_N_ELEMENTS(masked)) {
    static const gchar *const ways[] = {"", "cudaupload ! "};
    const gchar *name = masked[__i__].name;
    const gboolean cuda = g_str_equal(test_backend(), "cuda") && have_element("cudaupload");
    for (gint way = 0; way <= cuda; way++) {
        g_autofree gchar *text =
            g_strdup_printf("%s%s backend=%s attach-mask=true output=%s", ways[way], name,
                            test_backend(), masked[__i__].other);
        g_autoptr(GstHarness) h = gst_harness_new_parse(text);
        for (gint i = 0; i < 4; i++) {
            const GstVideoInfo info = make_info("NV12", i / 2 ? 240 : 161, i / 2 ? 180 : 63);
            g_autoptr(GstBuffer) in =
                i / 2 ? painted_frame(&info, dot_at, NULL) : things(&info, 7 - 3 * i);
            g_autoptr(GstBuffer) out = NULL;
            g_auto(Plane) mask = {0};
            gst_harness_push_event(h, gst_event_new_flush_stop(TRUE)); /* nothing is learned */
            set_info(h, &info);
            out = push_and_pull(h, gst_buffer_ref(in));
            mask = mask_of(out, &info);
            assert_mask(name, masked[__i__].labels, &info, in, &mask);
            if (g_str_equal(name, "gpuccl"))
                assert_instances(out);
            else
                assert_regions_are_classes(out, &mask);
        }
    }
}

/* The frame itself is one; and without metadata there is none. */
TEST(test_no_mask, masked_elements) {
    const GstVideoInfo info = make_info("GRAY8", 160, 64);
    for (gint attach = 0; attach < 2; attach++) {
        g_autofree gchar *text = g_strdup_printf(
            "%s backend=%s attach-mask=true attach-meta=%d output=%s", masked[__i__].name,
            test_backend(), attach, attach ? masked[__i__].labels : masked[__i__].other);
        g_autoptr(GstBuffer) out = push_through(text, &info, things(&info, 7));
        GstAnalyticsRelationMeta *meta = gst_buffer_get_analytics_relation_meta(out);
        gpointer state = NULL;
        GstAnalyticsMtd mtd;
        fail_unless((meta != NULL) == attach);
        fail_if(meta && gst_analytics_relation_meta_iterate(
                            meta, &state, gst_analytics_segmentation_mtd_get_mtd_type(), &mtd));
    }
}

/* Each region has a mask of its own, where it lies, and so has the frame after it, which is not
   processed. */
TEST(test_masks_of_regions, 1) {
    static const guint regions[][4] = {{9, 3, 30, 20}, {60, 8, 37, 41}, {20, 10, 50, 30}};
    const GstVideoInfo info = make_info("GRAY8", 160, 64), wide = make_info("GRAY16_LE", 160, 64);
    g_autoptr(GstHarness) h = harness_with(element_new("gpuccl", test_backend()));
    g_autoptr(GstHarness) labels = harness_with(element_new("gpuccl", test_backend()));
    g_autoptr(GstBuffer) in = things(&info, 7);
    for (guint i = 0; i < G_N_ELEMENTS(regions); i++)
        gst_buffer_add_video_region_of_interest_meta(in, "thing", regions[i][0], regions[i][1],
                                                     regions[i][2], regions[i][3]);
    gst_util_set_object_arg(G_OBJECT(labels->element), "roi", "meta");
    gst_util_set_object_arg(G_OBJECT(h->element), "roi", "meta");
    g_object_set(h->element, "attach-mask", TRUE, "interval", 2, NULL);
    set_output(labels, "labels");
    set_output(h, "none");
    for (guint f = 0; f < 2; f++) {
        g_autoptr(GstBuffer) out =
            f ? push_and_pull(h, things(&info, 1)) : push_of(h, &info, gst_buffer_ref(in));
        gpointer state = NULL;
        GstAnalyticsMtd mtd;
        for (guint i = 0; i < G_N_ELEMENTS(regions); i++) {
            gint x, y;
            guint w, height;
            g_autoptr(GstBuffer) mask = NULL, numbers = NULL;
            g_auto(Plane) plane = {0};
            GstBuffer *alone = things(&info, 7);
            GstVideoInfo small;
            GstVideoFrame mapped;
            gst_buffer_add_video_region_of_interest_meta(
                alone, "thing", regions[i][0], regions[i][1], regions[i][2], regions[i][3]);
            numbers = push_of(labels, &info, alone);
            fail_unless(gst_video_frame_map(&mapped, &wide, numbers, GST_MAP_READ));
            fail_unless(gst_analytics_relation_meta_iterate(
                meta_of(out), &state, gst_analytics_segmentation_mtd_get_mtd_type(), &mtd));
            mask = gst_analytics_segmentation_mtd_get_mask(&mtd, &x, &y, &w, &height);
            fail_unless(x == (gint)regions[i][0] && y == (gint)regions[i][1] &&
                        w == regions[i][2] && height == regions[i][3]);
            small = make_info("GRAY8", (gint)w, (gint)height);
            plane = plane_of(&small, mask);
            for (gint k = 0; k < plane.width * plane.height; k++) {
                const guint8 *row =
                    (const guint8 *)GST_VIDEO_FRAME_PLANE_DATA(&mapped, 0) +
                    (y + k / plane.width) * GST_VIDEO_FRAME_PLANE_STRIDE(&mapped, 0);
                fail_unless_equals_int(plane.pixels[k], row[2 * (x + k % plane.width)]);
            }
            gst_video_frame_unmap(&mapped);
        }
    }
}
#endif

/* Where there is no region of interest; as far as they lie in the frame. */
TEST(test_detections_are_regions, 2) {
    static const gint boxes[][4] = {
        {16, 8, 40, 30}, {-5, -4, 20, 9}, {160, 0, 9, 9}, {0, 64, 9, 9}};
    GstVideoInfo info = make_info("GRAY8", 160, 64);
    g_autoptr(GstHarness) h = harness_with(element_new("gpuccl", test_backend()));
    GstBuffer *in = things(&info, 7);
    GstAnalyticsRelationMeta *meta = gst_buffer_add_analytics_relation_meta(in);
    g_autoptr(GstBuffer) out = NULL;
    const GstStructure *results, *region;
    GstAnalyticsMtd mtd;
    for (guint i = 0; i < G_N_ELEMENTS(boxes); i++)
        gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string("face"), boxes[i][0],
                                               boxes[i][1], boxes[i][2], boxes[i][3], 0.5, &mtd);
    gst_analytics_relation_meta_add_od_mtd(meta, g_quark_from_string("hand"), 0, 0, 9, 9, 1, &mtd);
    if (__i__)
        gst_buffer_add_video_region_of_interest_meta(in, "face", 1, 2, 30, 40);
    gst_util_set_object_arg(G_OBJECT(h->element), "roi", "meta");
    g_object_set(h->element, "roi-type", "face", NULL);
    out = push_of(h, &info, in);
    results = results_of(out, "gpuccl");
    region = structure_at(results, "regions", __i__ ? 0 : 1);
    fail_unless_equals_int(size_of(results, "regions"), __i__ ? 1 : 2);
    fail_unless_equals_string(gst_structure_get_string(region, "type"), "face");
    fail_unless_equals_int(int_field(region, "x"), __i__ ? 1 : 0);
    fail_unless_equals_int(int_field(region, "width"), __i__ ? 30 : 15);
    fail_unless_equals_int(int_field(region, "height"), __i__ ? 40 : 5);
}

/* ---- several in one frame ---- */

/* What came first is in front, and more comes behind it than it has room for. A frame that somebody
   else holds stays without. */
TEST(test_two_elements, 2) {
    GstVideoInfo info = FRAME;
    g_auto(File) file = picture_file("picture.pgm");
    g_autofree gchar *ccl = g_strdup_printf("gpuccl backend=%s threshold=220 output=%s",
                                            test_backend(), __i__ ? "colorize" : "none");
    g_autofree gchar *sift = g_strdup_printf("gpusift backend=%s overlay=%s reference=%s",
                                             test_backend(), __i__ ? "none" : "outline", file.path);
    g_autofree gchar *text = g_strjoin(" ! ", __i__ ? sift : ccl, __i__ ? ccl : sift, NULL);
    g_autoptr(GstHarness) h = gst_harness_new_parse(text);
    for (guint held = 0; held < 2; held++) {
        GstBuffer *in = scene(&info, 60, 40);
        g_autoptr(GstBuffer) holder = held ? gst_buffer_ref(in) : NULL;
        g_autoptr(GstBuffer) out = push_of(h, &info, in);
        const guint n = assert_components(out, __i__);
        g_autoptr(GArray) found = detections_of(out);
        const Detection *picture = &g_array_index(found, Detection, __i__ ? 0 : n);
        fail_unless(n > 64, "%u", n);
        assert_length(out, n + 1);
        fail_unless_equals_string(g_quark_to_string(picture->type), "picture.pgm");
        fail_unless(!held || gst_buffer_get_analytics_relation_meta(holder) == NULL);
    }
}

/* What another element has found stays. */
TEST(test_metadata_of_others, G_N_ELEMENTS(outputs)) {
    GstVideoInfo info = make_info("GRAY8", 160, 64);
    g_autoptr(GstHarness) h = harness_with(element_new("gpuccl", test_backend()));
    GstBuffer *in = things(&info, 7), *out;
    GstAnalyticsMtd mtd;
    g_autoptr(GArray) found = NULL;
    guint n;
    gst_analytics_relation_meta_add_od_mtd(gst_buffer_add_analytics_relation_meta(in),
                                           g_quark_from_string("face"), 1, 2, 3, 4, 0.5, &mtd);
    set_output(h, outputs[__i__]);
    out = push_of(h, &info, in);
    n = assert_components(out, 1);
    assert_length(out, 1 + n);
    found = detections_of(out);
    fail_unless_equals_string(g_quark_to_string(g_array_index(found, Detection, 0).type), "face");
    fail_unless_equals_int(g_array_index(found, Detection, 0).width, 3);
    gst_buffer_unref(out);
}

/* ---- where it is not, and where it goes ---- */

static const gchar *const annotating[] = {"gpuccl", "gpukmeans", "gpusift", "gpugraphcut"};

TEST(test_not_wanted, G_N_ELEMENTS(annotating)) {
    GstVideoInfo info = FRAME;
    g_auto(File) file = picture_file("picture.pgm");
    g_autoptr(GstHarness) h = harness_with(element_new(annotating[__i__], test_backend()));
    for (gint attach = 0; attach < 2; attach++) {
        g_autoptr(GstBuffer) out = NULL;
        g_object_set(h->element, "attach-meta", attach, "post-messages", !attach, NULL);
        if (g_str_equal(annotating[__i__], "gpusift"))
            g_object_set(h->element, "reference", file.path, NULL);
        out = push_of(h, &info, scene(&info, 60, 40));
        fail_unless((gst_buffer_get_analytics_relation_meta(out) != NULL) == attach);
    }
}

MAIN(run_with_pictures(NULL))
