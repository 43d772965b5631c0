/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The element against the library called directly on the same frames, whose
 * results tests/parity compares with their definition, and its behaviour in
 * pipelines, in system memory, on the backend GPV_TEST_BACKEND, or on the CPU.
 * With GST_TRACERS=leaks every test also fails on objects that are alive after
 * it.
 */
#include "helpers.h"

#include <math.h>

/* ---- the library ---- */

typedef struct {
    gpv_context *context;
    gpv_sift *op;
    gpv_sift_params params; /* max_features as the property */
    gboolean descriptors;
    guint color; /* 0xRRGGBB */
} Model;

typedef struct {
    GstBuffer *image;
    gpv_sift_result found;
    GBytes *keypoints, *descriptors; /* or NULL */
} Expected;

/* There is no reference here: its outline is nothing. */
static const gchar *const overlays[] = {"none", "points", "rich", "outline"};

/* The defaults of the element. */
static gpv_sift_params default_params(void) {
    gpv_sift_params params;
    gpv_sift_params_init(&params, sizeof params);
    params.max_features = 2000;
    return params;
}

static Model model_new(void) {
    Model model = {.params = default_params(), .descriptors = TRUE, .color = 0x00ff00};
    gpv_context_params wanted;
    gpv_context_params_init(&wanted, sizeof wanted);
    wanted.backend = GPV_BACKEND_CPU;
    fail_unless_equals_int(gpv_context_create(&wanted, &model.context), GPV_OK);
    fail_unless_equals_int(gpv_sift_create(model.context, &model.params, &model.op), GPV_OK);
    return model;
}

static void model_free(Model *model) {
    gpv_sift_destroy(&model->op);
    gpv_context_destroy(&model->context);
}

static void set_params(GstElement *element, Model *model, const gpv_sift_params *params) {
    g_object_set(element, "max-features", params->max_features, "octaves", params->octaves,
                 "octave-layers", params->octave_layers, "contrast-threshold",
                 params->contrast_threshold, "edge-threshold", params->edge_threshold, "sigma",
                 params->sigma, "upsample", params->upsample, "upright", params->upright,
                 "root-sift", params->root_sift, NULL);
    model->params = *params;
}

/* Keypoints that a frame has at most. */
static gint max_features_of(const Model *model, const GstVideoInfo *info) {
    return model->params.max_features ? model->params.max_features
                                      : CLAMP(info->width * info->height / 64, 4096, 65536);
}

static void run_model(Model *model, const gpv_image *image, gint maximum, Expected *expected) {
    const gsize size = (gsize)maximum;
    gpv_sift_keypoint *keypoints = g_new(gpv_sift_keypoint, size);
    guint8 *descriptors = g_new(guint8, size * GPV_SIFT_DESCRIPTOR_LENGTH);
    const gpv_buffer to = buffer_for(keypoints, size * sizeof *keypoints);
    const gpv_buffer of = buffer_for(descriptors, size * GPV_SIFT_DESCRIPTOR_LENGTH);
    gpv_sift_params params = model->params;
    gpv_status status;
    gsize count;
    params.max_features = maximum;
    fail_unless_equals_int(gpv_sift_set_params(model->op, &params), GPV_OK);
    fail_unless_equals_int(gpv_sift_run(model->op, NULL, image, NULL, &to, 0, &of, NULL), GPV_OK);
    gpv_sift_result_init(&expected->found, sizeof expected->found);
    status = gpv_sift_wait(model->op, &expected->found);
    fail_unless(status == GPV_OK || status == GPV_ERR_TOO_SMALL);
    count = (gsize)expected->found.count;
    expected->keypoints = g_bytes_new(keypoints, count * sizeof *keypoints);
    if (model->descriptors)
        expected->descriptors = g_bytes_new(descriptors, count * GPV_SIFT_DESCRIPTOR_LENGTH);
    g_free(keypoints);
    g_free(descriptors);
}

static Expected expect(Model *model, const GstVideoInfo *info, GstBuffer *buffer,
                       const gchar *overlay) {
    Expected expected = {.image = gst_buffer_copy_deep(buffer)};
    GstVideoFrame frame;
    gpv_image image;
    fail_unless(gst_video_frame_map(&frame, info, expected.image, GST_MAP_READWRITE));
    image = library_image(&frame);
    run_model(model, &image, max_features_of(model, info), &expected);
    if (g_str_equal(overlay, "points") || g_str_equal(overlay, "rich"))
        fail_unless_equals_int(gpv_draw_keypoints(model->op, NULL, &image,
                                                  g_str_equal(overlay, "rich")
                                                      ? GPV_DRAW_STYLE_RICH
                                                      : GPV_DRAW_STYLE_POINTS,
                                                  model->color),
                               GPV_OK);
    gst_video_frame_unmap(&frame);
    return expected;
}

static void expected_free(Expected *expected) {
    gst_buffer_unref(expected->image);
    g_bytes_unref(expected->keypoints);
    g_clear_pointer(&expected->descriptors, g_bytes_unref);
}

/* ---- results ---- */

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

static void assert_results(const GstStructure *results, const Expected *expected) {
    fail_unless(gst_structure_has_name(results, "gpusift"));
    fail_unless_equals_int(int_field(results, "count"), expected->found.count);
    fail_unless_equals_int(int_field(results, "dropped"), expected->found.dropped);
    fail_unless(g_bytes_equal(bytes_of(results, "keypoints"), expected->keypoints));
    fail_unless_equals_int(gst_structure_has_field(results, "descriptors"),
                           expected->descriptors != NULL);
    if (expected->descriptors)
        fail_unless(g_bytes_equal(bytes_of(results, "descriptors"), expected->descriptors));
}

/* ---- frames ---- */

static GstHarness *harness_new(void) {
    return harness_with(element_new("gpusift", test_backend()));
}

/*
 * Pushes a frame and compares what comes out. Takes the buffer. What somebody else holds keeps its
 * pixels; what nobody holds goes on. Returns how many keypoints there were.
 */
static gint check_held_frame(GstHarness *h, Model *model, const GstVideoInfo *info, GstBuffer *in,
                             const gchar *overlay, gboolean held) {
    Expected expected = expect(model, info, in, overlay);
    GstBuffer *before = gst_buffer_copy_deep(in), *out;
    const GstBuffer *same = in;
    const GstMemory *memory = gst_buffer_peek_memory(in, 0);
    const gint count = expected.found.count;
    if (held)
        gst_buffer_ref(in);
    fail_unless_equals_int(gst_harness_push(h, in), GST_FLOW_OK);
    out = gst_harness_pull(h);
    fail_unless((out == same) == !held);
    fail_unless((gst_buffer_peek_memory(out, 0) == memory) ==
                (!held || g_str_equal(overlay, "none")));
    assert_output_caps(h, info);
    assert_same(info, out, expected.image);
    assert_results(results_of(out, "gpusift"), &expected);
    if (held) {
        assert_same(info, in, before);
        gst_buffer_unref(in);
    }
    expected_free(&expected);
    gst_buffer_unref(before);
    gst_buffer_unref(out);
    return count;
}

static gint check_frame(GstHarness *h, Model *model, const GstVideoInfo *info, GstBuffer *in,
                        const gchar *overlay) {
    return check_held_frame(h, model, info, in, overlay, g_random_boolean());
}

/* The keypoints of noise are small; those of these squares have all sizes. */
static GstBuffer *squares_frame(const GstVideoInfo *info) {
    GstBuffer *buffer = random_frame(info);
    GstVideoFrame frame;
    fail_unless(gst_video_frame_map(&frame, info, buffer, GST_MAP_READWRITE));
    for (guint square = 0; square < 40; square++) {
        const gint side = 4 + (gint)square * 2, bytes = GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0);
        const gint left = g_random_int_range(0, bytes), top = g_random_int_range(0, info->height);
        const guint8 value = (guint8)g_random_int();
        for (gint y = top; y < MIN(top + side, info->height); y++)
            memset((guint8 *)GST_VIDEO_FRAME_PLANE_DATA(&frame, 0) + y * bytes + left, value,
                   (gsize)MIN(side, bytes - left));
    }
    gst_video_frame_unmap(&frame);
    return buffer;
}

/* With squares of so many pixels, each of which is a keypoint, and gives more where they touch.
   Takes the buffer and returns it. */
static GstBuffer *dotted(GstBuffer *buffer, const GstVideoInfo *info, gint period, gint side) {
    GstVideoFrame frame;
    fail_unless(gst_video_frame_map(&frame, info, buffer, GST_MAP_WRITE));
    for (gint y = 0; y < info->height; y++)
        for (gint x = 0; x < info->width; x++)
            *((guint8 *)GST_VIDEO_FRAME_PLANE_DATA(&frame, 0) +
              y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0) + x) =
                x % period < side && y % period < side
                    ? (guint8)(100 + (x / period * 37 + y / period * 61) % 156)
                    : 0;
    gst_video_frame_unmap(&frame);
    return buffer;
}

static GstBuffer *dots_frame(const GstVideoInfo *info, gint period, gint side) {
    return dotted(random_frame(info), info, period, side);
}

static GstBuffer *padded_dots_frame(const GstVideoInfo *info) {
    return dotted(random_padded_frame(info), info, 7, 3);
}

/* ---- pixels ---- */

static const gint sift_sizes[][2] = {{1, 1},   {1, 7},   {7, 1},    {2, 2},
                                     {17, 13}, {64, 48}, {321, 239}};

/* Every format, size and overlay, with the buffer's own layout and with a padded one. */
GST_START_TEST(test_formats) {
    GstHarness *h = harness_new();
    Model model = model_new();
    gint count = 0;
    for (guint s = 0; s < G_N_ELEMENTS(sift_sizes); s++) {
        GstVideoInfo info = make_info(formats[__i__], sift_sizes[s][0], sift_sizes[s][1]);
        set_info(h, &info);
        for (guint o = 0; o < G_N_ELEMENTS(overlays); o++) {
            set_output(h, overlays[o]);
            for (guint held = 0; held < 2; held++)
                check_held_frame(h, &model, &info, padded_dots_frame(&info), overlays[o],
                                 (gboolean)held);
            count = check_frame(h, &model, &info, squares_frame(&info), overlays[o]);
        }
    }
    fail_unless(count > 100, "%d keypoints", count);
    model_free(&model);
    gst_harness_teardown(h);
}
GST_END_TEST

/* What is too small for the first octave has none, and every other size is taken. */
GST_START_TEST(test_tiny_frames) {
    GstHarness *h = harness_new();
    Model model = model_new();
    gpv_sift_params params = model.params;
    set_output(h, "rich");
    for (gint i = 0; i < 2 * 16 * 16; i++) {
        GstVideoInfo info = make_info(i % 3 ? "NV12" : "RGB", 1 + i / 16 % 16, 1 + i % 16);
        const gint minimum = i < 256 ? 6 : 11;
        params.upsample = i < 256;
        set_params(h->element, &model, &params);
        set_info(h, &info);
        if (check_frame(h, &model, &info, padded_dots_frame(&info), "rich"))
            fail_unless(MIN(info.width, info.height) >= minimum);
    }
    model_free(&model);
    gst_harness_teardown(h);
}
GST_END_TEST

GST_START_TEST(test_flat_frames) {
    GstVideoInfo info = make_info(formats[__i__], 65, 49);
    GstHarness *h = harness_new();
    Model model = model_new();
    set_info(h, &info);
    for (guint o = 0; o < G_N_ELEMENTS(overlays); o++) {
        GstBuffer *in = random_frame(&info);
        gst_buffer_memset(in, 0, (guint8)(100 * o), info.size);
        set_output(h, overlays[o]);
        fail_unless_equals_int(check_frame(h, &model, &info, in, overlays[o]), 0);
    }
    model_free(&model);
    gst_harness_teardown(h);
}
GST_END_TEST

static gpv_sift_params random_params(void) {
    static const gint features[] = {0, 1, 10, 100, 65536};
    static const gfloat contrasts[] = {0.01F, 0.04F, 0.1F, 1}, edges[] = {1, 5, 10, 1e6F};
    const gint octaves = g_random_int_range(-4, 17);
    gpv_sift_params params = default_params();
    params.max_features = features[g_random_int_range(0, G_N_ELEMENTS(features))];
    params.octaves = octaves < 0 ? 0 : octaves;
    params.octave_layers = g_random_int_range(1, 9);
    params.contrast_threshold = contrasts[g_random_int_range(0, G_N_ELEMENTS(contrasts))];
    params.edge_threshold = edges[g_random_int_range(0, G_N_ELEMENTS(edges))];
    params.sigma = (gfloat)g_random_double_range(0.5, 4);
    params.upsample = (guint32)g_random_int_range(0, 2);
    params.upright = (guint32)g_random_int_range(0, 2);
    params.root_sift = (guint32)g_random_int_range(0, 2);
    return params;
}

/* Every value of every property reaches the library, and changes as it does there. */
GST_START_TEST(test_parameters) {
    static const gchar *const some_formats[] = {"NV12", "RGBA", "GRAY8"};
    const gchar *overlay = overlays[__i__];
    GstHarness *h = harness_new();
    Model model = model_new();
    gint total = 0;
    g_random_set_seed((guint32)__i__);
    set_output(h, overlay);
    for (guint i = 0; i < 60; i++) {
        const gpv_sift_params params = random_params();
        GstVideoInfo info = make_info(some_formats[i % 3], 97, 63);
        set_params(h->element, &model, &params);
        model.descriptors = g_random_boolean();
        model.color = g_random_int() & 0xffffff;
        g_object_set(h->element, "descriptors", model.descriptors, "color",
                     model.color | g_random_int() << 24, NULL);
        set_info(h, &info);
        total += check_frame(h, &model, &info, squares_frame(&info), overlay);
        total += check_frame(h, &model, &info, padded_dots_frame(&info), overlay);
    }
    fail_unless(total > 1000, "%d keypoints", total);
    model_free(&model);
    gst_harness_teardown(h);
}
GST_END_TEST

/* A pool that downstream offers is used with its padding, where a frame has to be copied. */
GST_START_TEST(test_downstream_pool) {
    const gchar *overlay = overlays[1 + __i__];
    GstVideoInfo info = make_info("NV12", 65, 49);
    GstHarness *h = harness_new();
    Model model = model_new();
    GstBuffer *in = squares_frame(&info), *out;
    Expected expected = expect(&model, &info, in, overlay);
    guint offers = 0;
    set_output(h, overlay);
    gst_pad_add_probe(h->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer_padded_pool, &offers,
                      NULL);
    set_info(h, &info);
    out = push_and_pull(h, gst_buffer_ref(in));
    fail_unless(offers > 0);
    fail_unless(gst_buffer_get_video_meta(out) != NULL);
    fail_unless(gst_buffer_get_video_meta(out)->offset[0] > 0);
    assert_same(&info, out, expected.image);
    expected_free(&expected);
    gst_buffer_unref(in);
    gst_buffer_unref(out);
    model_free(&model);
    gst_harness_teardown(h);
}
GST_END_TEST

/* Drawn over are only pixels that nobody else sees: not those of memory that two buffers share. */
GST_START_TEST(test_shared_memory_is_copied) {
    GstVideoInfo info = make_info("I420", 64, 48);
    GstHarness *h = harness_new();
    set_output(h, "rich");
    set_info(h, &info);
    for (guint shared = 0; shared < 2; shared++) {
        GstBuffer *in = squares_frame(&info), *other = shared ? gst_buffer_copy(in) : NULL, *out;
        GstBuffer *before = gst_buffer_copy_deep(in);
        const GstMemory *memory = gst_buffer_peek_memory(in, 0);
        out = push_and_pull(h, in);
        fail_unless((gst_buffer_peek_memory(out, 0) == memory) == !shared);
        if (shared) {
            assert_same(&info, other, before);
            gst_buffer_unref(other);
        }
        gst_buffer_unref(before);
        gst_buffer_unref(out);
    }
    gst_harness_teardown(h);
}
GST_END_TEST

/* Upstream fills the buffers of downstream, or its own: any pool would be wrong. */
GST_START_TEST(test_allocation_is_passed_on) {
    GstVideoInfo info = make_info("NV12", 33, 21);
    GstCaps *caps = gst_video_info_to_caps(&info);
    for (guint offering = 0; offering < 2; offering++) {
        GstHarness *h = harness_new();
        GstQuery *query = gst_query_new_allocation(caps, TRUE);
        guint offers = 0;
        if (offering)
            gst_pad_add_probe(h->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer_padded_pool,
                              &offers, NULL);
        set_output(h, overlays[__i__]);
        set_info(h, &info);
        gst_pad_peer_query(h->srcpad, query);
        fail_unless((gst_query_get_n_allocation_pools(query) > 0) == (gboolean)offering);
        gst_query_unref(query);
        gst_harness_teardown(h);
    }
    gst_caps_unref(caps);
}
GST_END_TEST

/* A buffer that is smaller than its caps say, for every overlay. */
GST_START_TEST(test_short_buffer) {
    GstVideoInfo info = make_info("I420", 64, 48);
    GstHarness *h = harness_new();
    set_output(h, overlays[__i__]);
    assert_buffer_refused(h, gst_video_info_to_caps(&info), buffer_of_size(info.size - 1));
    gst_harness_teardown(h);
}
GST_END_TEST

GST_START_TEST(test_buffer_metadata_is_kept) {
    GstHarness *h = harness_new();
    set_output(h, overlays[__i__]);
    check_metadata_is_kept(h);
}
GST_END_TEST

/* ---- results ---- */

enum { blob_width = 160, blob_height = 120 };

/* Gaussian spots, bright and dark, of scales that are those of their keypoints. */
static const gpv_sift_keypoint blobs[] = {{40, 30, 3, 0, 0, 0},
                                          {110.25F, 40.5F, 6, 0, 0, 0},
                                          {50, 85, 8, 0, 0, 0},
                                          {120, 90, 4.5F, 0, 0, 0},
                                          {85.5F, 20, 2, 0, 0, 0}};

static gdouble spots(gint x, gint y) {
    gdouble value = 128;
    for (guint i = 0; i < G_N_ELEMENTS(blobs); i++) {
        const gdouble dx = x - blobs[i].x, dy = y - blobs[i].y, s = blobs[i].sigma;
        value += (i % 2 ? -100 : 100) * exp(-(dx * dx + dy * dy) / (2 * s * s));
    }
    return value;
}

static GstBuffer *blob_frame(const GstVideoInfo *info) {
    GstBuffer *buffer = random_frame(info);
    GstVideoFrame frame;
    fail_unless(gst_video_frame_map(&frame, info, buffer, GST_MAP_WRITE));
    for (gint y = 0; y < info->height; y++)
        for (gint x = 0; x < info->width; x++)
            *((guint8 *)GST_VIDEO_FRAME_PLANE_DATA(&frame, 0) +
              y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0) + x) = (guint8)CLAMP(spots(x, y), 0, 255);
    gst_video_frame_unmap(&frame);
    return buffer;
}

#define BLOBS make_info("GRAY8", blob_width, blob_height)

static GstBuffer *push_blobs(GstHarness *h) {
    GstVideoInfo info = BLOBS;
    set_info(h, &info);
    return push_and_pull(h, blob_frame(&info));
}

/* Takes the buffer, whose frame is so many times as large as that of the blobs. */
static void assert_blobs(GstBuffer *out, gdouble width, gdouble height) {
    guint count = 0;
    const gpv_sift_keypoint *keypoints = keypoints_of(results_of(out, "gpusift"), &count);
    const gdouble growth = sqrt(width * height);
    for (guint i = 0; i < G_N_ELEMENTS(blobs); i++) {
        const gpv_sift_keypoint *best = NULL;
        for (guint k = 0; k < count; k++)
            if (fabs(keypoints[k].x - ((blobs[i].x + 0.5) * width - 0.5)) < 0.6 * width &&
                fabs(keypoints[k].y - ((blobs[i].y + 0.5) * height - 0.5)) < 0.6 * height)
                best = &keypoints[k];
        fail_unless(best != NULL, "nothing at blob %u", i);
        fail_unless(fabs(best->sigma / growth - blobs[i].sigma) < 0.15 * blobs[i].sigma,
                    "blob %u has sigma %g", i, best->sigma);
    }
    gst_buffer_unref(out);
}

/* By their definition, and copied with the buffer. */
GST_START_TEST(test_known_picture) {
    GstHarness *h = harness_new();
    GstBuffer *out = push_blobs(h);
    assert_blobs(gst_buffer_copy(out), 1, 1);
    assert_blobs(gst_buffer_copy_deep(out), 1, 1);
    assert_blobs(out, 1, 1);
    gst_harness_teardown(h);
}
GST_END_TEST

/* Places and scales are those of the frame that they are on; descriptors stay. */
GST_START_TEST(test_results_are_scaled) {
    GstHarness *h = gst_harness_new_parse(
        "gpusift ! videoscale ! capsfilter caps=video/x-raw,width=480,height=240");
    GstHarness *plain = harness_new();
    GstBuffer *out = push_blobs(h), *model = push_blobs(plain);
    fail_unless(g_bytes_equal(bytes_of(results_of(out, "gpusift"), "descriptors"),
                              bytes_of(results_of(model, "gpusift"), "descriptors")));
    fail_if(g_bytes_equal(bytes_of(results_of(out, "gpusift"), "keypoints"),
                          bytes_of(results_of(model, "gpusift"), "keypoints")));
    gst_buffer_unref(model);
    assert_blobs(out, 3, 2);
    gst_harness_teardown(plain);
    gst_harness_teardown(h);
}
GST_END_TEST

/* The strongest are kept, and the others are counted. */
GST_START_TEST(test_max_features) {
    static const gint maximum[] = {1, 2, 7, 100, 2000, 65536};
    GstVideoInfo info = make_info("GRAY8", 160, 120);
    GstHarness *h = harness_new();
    GstBuffer *in = dots_frame(&info, 7, 3);
    GBytes *all = NULL;
    gint total = 0;
    set_info(h, &info);
    for (guint i = G_N_ELEMENTS(maximum); i-- > 0;) {
        GstBuffer *out;
        const GstStructure *results;
        const gpv_sift_keypoint *keypoints;
        guint count = 0;
        g_object_set(h->element, "max-features", maximum[i], NULL);
        out = push_and_pull(h, gst_buffer_ref(in));
        results = results_of(out, "gpusift");
        keypoints = keypoints_of(results, &count);
        if (!all) {
            all = g_bytes_ref(bytes_of(results, "keypoints"));
            total = (gint)count;
            fail_unless(total > 100, "%d keypoints", total);
        }
        fail_unless_equals_int(count, MIN(maximum[i], total));
        fail_unless_equals_int(int_field(results, "dropped"), total - (gint)count);
        fail_unless(memcmp(keypoints, g_bytes_get_data(all, NULL), count * sizeof *keypoints) == 0);
        for (guint k = 1; k < count; k++)
            fail_unless(keypoints[k].response <= keypoints[k - 1].response);
        gst_buffer_unref(out);
    }
    g_bytes_unref(all);
    gst_buffer_unref(in);
    gst_harness_teardown(h);
}
GST_END_TEST

/* 0 is a number that depends on the size of the frame. */
GST_START_TEST(test_capacity) {
    GstHarness *h = harness_new();
    Model model = model_new();
    gpv_sift_params params = model.params;
    params.max_features = 0;
    params.contrast_threshold = 0;
    params.edge_threshold = 1e6F;
    set_params(h->element, &model, &params);
    for (guint i = 0; i < 2; i++) {
        GstVideoInfo info = make_info("GRAY8", i ? 641 : 320, i ? 479 : 240);
        const gint expected = i ? 641 * 479 / 64 : 4096;
        set_info(h, &info);
        fail_unless_equals_int(check_frame(h, &model, &info, dots_frame(&info, 4, 2), "none"),
                               expected);
    }
    model_free(&model);
    gst_harness_teardown(h);
}
GST_END_TEST

/* More extrema than the library keeps are no end of the stream; one warning says so. */
GST_START_TEST(test_flooded) {
    GstVideoInfo info = make_info("GRAY8", 500, 500), small = make_info("GRAY8", 50, 50);
    GstHarness *h = harness_new();
    GstBus *bus = add_bus(h->element);
    Model model = model_new();
    gpv_sift_params params = model.params;
    params.contrast_threshold = 0;
    params.octave_layers = 8;
    params.sigma = 0.7F;
    set_params(h->element, &model, &params);
    set_output(h, "rich");
    for (guint round = 0; round < 2; round++) {
        GstMessage *warning;
        set_info(h, &info);
        for (guint i = 0; i < 3; i++)
            fail_unless_equals_int(check_frame(h, &model, &info, dots_frame(&info, 3, 1), "rich"),
                                   0);
        warning = gst_bus_pop_filtered(bus, GST_MESSAGE_WARNING);
        fail_unless(warning != NULL);
        gst_message_unref(warning);
        fail_unless(gst_bus_pop_filtered(bus, GST_MESSAGE_WARNING) == NULL);
        set_info(h, &small);
        fail_unless(check_frame(h, &model, &small, dots_frame(&small, 3, 1), "rich") > 0);
    }
    fail_unless(gst_bus_pop_filtered(bus, GST_MESSAGE_WARNING) == NULL);
    drop_bus(h->element, bus);
    model_free(&model);
    gst_harness_teardown(h);
}
GST_END_TEST

GST_START_TEST(test_flooded_after_restart) {
    gchar *text = g_strdup_printf("videotestsrc num-buffers=2 pattern=checkers-1 ! "
                                  "video/x-raw,format=GRAY8,width=640,height=480 ! "
                                  "gpusift backend=%s contrast-threshold=0 ! fakesink",
                                  test_backend());
    GstElement *pipeline = gst_parse_launch(text, NULL);
    GstBus *bus = gst_element_get_bus(pipeline);
    fail_unless(pipeline != NULL);
    for (guint start = 0; start < 3; start++) {
        guint warnings = 0;
        gboolean ended = FALSE;
        fail_if(gst_element_set_state(pipeline, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE);
        while (!ended) {
            GstMessage *message = gst_bus_timed_pop_filtered(bus, 120 * GST_SECOND,
                                                             GST_MESSAGE_WARNING | GST_MESSAGE_EOS);
            fail_unless(message != NULL);
            ended = GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS;
            warnings += !ended;
            gst_message_unref(message);
        }
        fail_unless_equals_int(warnings, 1);
        gst_element_set_state(pipeline, GST_STATE_NULL);
    }
    gst_object_unref(bus);
    gst_object_unref(pipeline);
    g_free(text);
}
GST_END_TEST

/* Each adds its own, in their order. */
GST_START_TEST(test_two_in_a_row) {
    const gint maximum[2] = {__i__ ? 1 : 100, __i__ ? 100 : 1};
    gchar *text = g_strdup_printf("gpusift backend=%s max-features=%d descriptors=%d ! "
                                  "gpusift backend=%s max-features=%d descriptors=%d",
                                  test_backend(), maximum[0], maximum[0] > 1, test_backend(),
                                  maximum[1], maximum[1] > 1);
    GstVideoInfo info = make_info("NV12", 65, 49);
    GstHarness *h = gst_harness_new_parse(text);
    GstBuffer *in = dots_frame(&info, 7, 3), *out;
    Model model = model_new();
    gpointer state = NULL;
    GstMeta *meta;
    guint count = 0;
    set_info(h, &info);
    out = push_and_pull(h, gst_buffer_ref(in));
    while ((meta = gst_buffer_iterate_meta_filtered(out, &state,
                                                    gst_meta_get_info("gpusift")->api)) != NULL) {
        Expected expected;
        fail_unless(count < G_N_ELEMENTS(maximum));
        model.params.max_features = maximum[count];
        model.descriptors = maximum[count] > 1;
        expected = expect(&model, &info, in, "none");
        fail_unless_equals_int(expected.found.count == 1, maximum[count] == 1);
        assert_results(gst_custom_meta_get_structure((GstCustomMeta *)meta), &expected);
        expected_free(&expected);
        count++;
    }
    fail_unless_equals_int(count, 2);
    gst_buffer_unref(in);
    gst_buffer_unref(out);
    model_free(&model);
    gst_harness_teardown(h);
    g_free(text);
}
GST_END_TEST

/* It is small. */
GST_START_TEST(test_message) {
    GstVideoInfo info = make_info("NV12", 65, 49);
    Model model = model_new();
    for (guint attach = 0; attach < 2; attach++) {
        GstHarness *h = harness_new();
        GstBuffer *in = dots_frame(&info, 7, 3), *out;
        Expected expected;
        const GstStructure *results;
        GstMessage *message;
        model.params.max_features = 20;
        expected = expect(&model, &info, in, "none");
        g_object_set(h->element, "attach-meta", attach, "post-messages", TRUE, "max-features", 20,
                     NULL);
        set_info(h, &info);
        message = message_of(h, in, &out);
        results = gst_message_get_structure(message);
        fail_unless(gst_structure_has_name(results, "gpusift"));
        fail_unless_equals_int(int_field(results, "count"), 20);
        fail_unless_equals_int(int_field(results, "dropped"), expected.found.dropped);
        fail_if(gst_structure_has_field(results, "keypoints"));
        fail_if(gst_structure_has_field(results, "descriptors"));
        fail_unless((gst_buffer_get_custom_meta(out, "gpusift") != NULL) == (gboolean)attach);
        if (attach)
            assert_results(results_of(out, "gpusift"), &expected);
        expected_free(&expected);
        gst_message_unref(message);
        gst_buffer_unref(out);
        gst_harness_teardown(h);
    }
    model_free(&model);
}
GST_END_TEST

/* The pixels are the same where nobody wants the results. */
GST_START_TEST(test_no_results_unless_wanted) {
    const gchar *overlay = overlays[__i__];
    GstVideoInfo info = make_info("RGB", 65, 49);
    GstHarness *h = harness_new();
    GstBus *bus = add_bus(h->element);
    Model model = model_new();
    g_object_set(h->element, "attach-meta", FALSE, NULL);
    set_output(h, overlay);
    set_info(h, &info);
    for (gint maximum = 0; maximum < 20; maximum += 5) {
        GstBuffer *in = padded_dots_frame(&info), *out;
        Expected expected;
        model.params.max_features = maximum;
        g_object_set(h->element, "max-features", maximum, NULL);
        expected = expect(&model, &info, in, overlay);
        out = push_and_pull(h, in);
        assert_same(&info, out, expected.image);
        fail_unless(gst_buffer_get_custom_meta(out, "gpusift") == NULL);
        fail_unless(gst_bus_pop_filtered(bus, GST_MESSAGE_ELEMENT) == NULL);
        expected_free(&expected);
        gst_buffer_unref(out);
    }
    drop_bus(h->element, bus);
    model_free(&model);
    gst_harness_teardown(h);
}
GST_END_TEST

/* ---- caps ---- */

GST_START_TEST(test_renegotiation) {
    GstHarness *h = harness_new();
    Model model = model_new();
    for (guint i = 0; i < 60; i++) {
        const gchar *overlay = overlays[i / 2 % G_N_ELEMENTS(overlays)];
        GstVideoInfo info = make_info(formats[(i * 5) % G_N_ELEMENTS(formats)],
                                      1 + (gint)(i * 37 % 90), 1 + (gint)(i * 53 % 70));
        set_output(h, overlay);
        set_info(h, &info);
        check_frame(h, &model, &info, padded_dots_frame(&info), overlay);
    }
    fail_unless_equals_int(gst_harness_buffers_received(h), 60);
    model_free(&model);
    gst_harness_teardown(h);
}
GST_END_TEST

/* Between two frames: the next one is what the property says, in every pair of overlays. */
GST_START_TEST(test_overlay_while_playing) {
    GstVideoInfo info = make_info(formats[__i__], 41, 37);
    GstHarness *h = harness_new();
    Model model = model_new();
    set_info(h, &info);
    for (guint i = 0; i < G_N_ELEMENTS(overlays) * G_N_ELEMENTS(overlays); i++) {
        const gchar *const pair[] = {overlays[i % G_N_ELEMENTS(overlays)],
                                     overlays[i / G_N_ELEMENTS(overlays)]};
        for (guint o = 0; o < 2; o++) {
            set_output(h, pair[o]);
            check_frame(h, &model, &info, padded_dots_frame(&info), pair[o]);
        }
    }
    model_free(&model);
    gst_harness_teardown(h);
}
GST_END_TEST

GST_START_TEST(test_overlay_asks_upstream) {
    check_output_asks_upstream(harness_new(), overlays, G_N_ELEMENTS(overlays));
}
GST_END_TEST

GST_START_TEST(test_templates) {
    static const TemplateCaps expected[] = {
        {"src", "video/x-raw,format=GRAY8", TRUE},
        {"src", "video/x-raw(memory:CUDAMemory),format=NV12", TRUE},
        {"src", "video/x-raw(memory:CUDAMemory),format=GRAY8", FALSE},
        {"src", "video/x-raw,format=GRAY16_LE", FALSE},
        {"sink", "video/x-raw(memory:CUDAMemory),format=RGB", TRUE},
        {"sink", "video/x-raw,format=P010_10LE", FALSE},
    };
    check_templates("gpusift", expected, G_N_ELEMENTS(expected));
}
GST_END_TEST

GST_START_TEST(test_caps_refused) {
    static const gchar *const refused[][2] = {
        {"video/x-raw,format=P010_10LE,width=64,height=48,framerate=25/1", "videoconvert"},
        {"video/x-raw,format=NV12,width=64,height=48,framerate=25/1,interlace-mode=interleaved",
         "deinterlace"},
        {"video/x-raw(memory:CUDAMemory),format=P010_10LE,width=64,height=48,framerate=25/1",
         "cudadownload and videoconvert"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(refused); i++)
        check_refusal("gpusift", refused[i][0], refused[i][1]);
}
GST_END_TEST

/* ---- life of a stream ---- */

GST_START_TEST(test_flush) {
    const gchar *overlay = overlays[__i__];
    GstVideoInfo info = make_info("RGBA", 43, 29);
    GstHarness *h = harness_new();
    Model model = model_new();
    set_output(h, overlay);
    set_info(h, &info);
    for (guint i = 0; i < 20; i++) {
        check_frame(h, &model, &info, padded_dots_frame(&info), overlay);
        flush(h, random_frame(&info));
    }
    fail_unless(gst_harness_push_event(h, gst_event_new_eos()));
    fail_unless_equals_int(gst_harness_push(h, random_frame(&info)), GST_FLOW_EOS);
    model_free(&model);
    gst_harness_teardown(h);
}
GST_END_TEST

GST_START_TEST(test_seek) {
    check_seeks(__i__ ? "gpusift overlay=rich" : "gpusift");
}
GST_END_TEST

GST_START_TEST(test_cycles) {
    check_restarts(__i__ ? "gpusift overlay=points" : "gpusift");
}
GST_END_TEST

static gpointer change_properties(gpointer element) {
    GRand *random = g_rand_new_with_seed(7);
    for (guint i = 0; i < 2000; i++) {
        g_object_set(
            element, "max-features", g_rand_int_range(random, 0, 500), "octaves",
            g_rand_int_range(random, 0, 17), "octave-layers", g_rand_int_range(random, 1, 9),
            "contrast-threshold", g_rand_double_range(random, 0, 0.1), "edge-threshold",
            g_rand_double_range(random, 1, 20), "sigma", g_rand_double_range(random, 0.5, 4),
            "upsample", g_rand_boolean(random), "upright", g_rand_boolean(random), "root-sift",
            g_rand_boolean(random), "descriptors", g_rand_boolean(random), "overlay",
            g_rand_int_range(random, 0, 4), "color", g_rand_int(random), "attach-meta",
            g_rand_boolean(random), "post-messages", g_rand_boolean(random), NULL);
        g_usleep(100);
    }
    g_rand_free(random);
    return NULL;
}

GST_START_TEST(test_properties_while_playing) {
    check_changes_while_playing("gpusift", change_properties);
}
GST_END_TEST

/* The frame of the time gets the values, not the one after. */
GST_START_TEST(test_controlled) {
    static const gdouble features[] = {5, 0, 1, 300, 20}, sigmas[] = {1.5, 1, 0.75, 3, 2};
    static const gdouble colors[] = {0xff0000, 0xff, 0, 0xffffff, 0x123456};
    GstVideoInfo info = make_info("NV12", 60, 50);
    GstHarness *h = harness_new();
    Model model = model_new();
    set_output(h, "points");
    control(h->element, "max-features", features, G_N_ELEMENTS(features));
    control(h->element, "sigma", sigmas, G_N_ELEMENTS(sigmas));
    control(h->element, "color", colors, G_N_ELEMENTS(colors));
    set_info(h, &info);
    for (guint i = 0; i < G_N_ELEMENTS(features); i++) {
        GstBuffer *in = padded_dots_frame(&info);
        model.params.max_features = (gint)features[i];
        model.params.sigma = (gfloat)sigmas[i];
        model.color = (guint)colors[i];
        GST_BUFFER_PTS(in) = i * GST_SECOND;
        check_frame(h, &model, &info, in, "points");
    }
    model_free(&model);
    gst_harness_teardown(h);
}
GST_END_TEST

/* ---- backend and properties ---- */

GST_START_TEST(test_backend_cuda_without_a_device) {
    GstElement *pipeline = launch("videotestsrc num-buffers=1 ! gpusift backend=cuda ! fakesink");
    GstBus *bus = gst_element_get_bus(pipeline);
    fail_unless_equals_int(gst_element_set_state(pipeline, GST_STATE_PAUSED),
                           GST_STATE_CHANGE_FAILURE);
    assert_error(bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND, "backend=cuda");
    reach(pipeline, GST_STATE_NULL);
    gst_object_unref(bus);
    gst_object_unref(pipeline);
}
GST_END_TEST

GST_START_TEST(test_int_properties) {
    static const IntProperty expected[] = {{"max-features", 0, 65536, 2000},
                                           {"octaves", 0, 16, 0},
                                           {"octave-layers", 1, 8, 3},
                                           {"min-inliers", 4, 65536, 15}};
    check_int_properties("gpusift", expected, G_N_ELEMENTS(expected));
}
GST_END_TEST

/* The ends of each range are taken, and what lies beyond is refused by GObject. */
GST_START_TEST(test_float_properties) {
    static const struct {
        const gchar *name;
        gfloat minimum, maximum, initial, below, above;
    } expected[] = {{"contrast-threshold", 0, 1, 0.04F, -0.01F, 1.01F},
                    {"edge-threshold", 1, 1e6F, 10, 0.99F, 1.1e6F},
                    {"sigma", 0.5F, 4, 1.6F, 0.49F, 4.01F},
                    {"match-ratio", 0, 1, 0.8F, -0.01F, 1.01F}};
    GstElement *element = gst_check_setup_element("gpusift");
    gchar *warning = NULL;
    const guint handler = keep_refusals(&warning);
    for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
        const gchar *name = expected[i].name;
        const gdouble beyond[] = {expected[i].below, expected[i].above, (gdouble)NAN};
        gfloat value = -1;
        g_object_get(element, name, &value, NULL);
        fail_unless_equals_float(value, expected[i].initial);
        g_object_set(element, name, (gdouble)expected[i].minimum, NULL);
        g_object_get(element, name, &value, NULL);
        fail_unless_equals_float(value, expected[i].minimum);
        g_object_set(element, name, (gdouble)expected[i].maximum, NULL);
        fail_unless(warning == NULL, "%s", warning);
        for (guint b = 0; b < G_N_ELEMENTS(beyond); b++) {
            g_object_set(element, name, beyond[b], NULL);
            fail_unless(warning != NULL && strstr(warning, name));
            g_clear_pointer(&warning, g_free);
            g_object_get(element, name, &value, NULL);
            fail_unless_equals_float(value, expected[i].maximum);
        }
    }
    g_log_remove_handler("GLib-GObject", handler);
    gst_check_teardown_element(element);
}
GST_END_TEST

GST_START_TEST(test_property_flags) {
    check_property_flags("gpusift");
}
GST_END_TEST

GST_START_TEST(test_other_properties) {
    GstElement *element = gst_check_setup_element("gpusift");
    gboolean upsample = FALSE, upright = TRUE, root = TRUE, descriptors = FALSE;
    gint overlay = -1;
    guint color = 0;
    gchar *reference = NULL;
    g_object_get(element, "upsample", &upsample, "upright", &upright, "root-sift", &root,
                 "descriptors", &descriptors, "overlay", &overlay, "color", &color, "reference",
                 &reference, NULL);
    fail_unless_equals_string(reference, NULL);
    fail_unless_equals_int(upsample, TRUE);
    fail_unless_equals_int(upright, FALSE);
    fail_unless_equals_int(root, FALSE);
    fail_unless_equals_int(descriptors, TRUE);
    fail_unless_equals_int(overlay, 0);
    fail_unless_equals_int_hex(color, 0xff00ff00);
    gst_util_set_object_arg(G_OBJECT(element), "upsample", "false");
    gst_util_set_object_arg(G_OBJECT(element), "upright", "true");
    gst_util_set_object_arg(G_OBJECT(element), "root-sift", "true");
    gst_util_set_object_arg(G_OBJECT(element), "descriptors", "false");
    gst_util_set_object_arg(G_OBJECT(element), "overlay", "outline");
    gst_util_set_object_arg(G_OBJECT(element), "color", "0xffff8000");
    gst_util_set_object_arg(G_OBJECT(element), "reference", "a picture.png");
    g_object_get(element, "upsample", &upsample, "upright", &upright, "root-sift", &root,
                 "descriptors", &descriptors, "overlay", &overlay, "color", &color, "reference",
                 &reference, NULL);
    fail_unless_equals_string(reference, "a picture.png");
    g_free(reference);
    fail_unless_equals_int(upsample, FALSE);
    fail_unless_equals_int(upright, TRUE);
    fail_unless_equals_int(root, TRUE);
    fail_unless_equals_int(descriptors, FALSE);
    fail_unless_equals_int(overlay, 3);
    fail_unless_equals_int_hex(color, 0xffff8000);
    gst_check_teardown_element(element);
}
GST_END_TEST

GST_START_TEST(test_factory) {
    check_factory("gpusift", "Filter/Analyzer/Video/Hardware");
}
GST_END_TEST

static Suite *gpusift_suite(void) {
    Suite *suite = suite_create("gpusift");
    TCase *tcase = add_case(suite, "pixels");
    tcase_add_loop_test(tcase, test_formats, 0, some_of(G_N_ELEMENTS(formats)));
    tcase_add_test(tcase, test_tiny_frames);
    tcase_add_loop_test(tcase, test_flat_frames, 0, some_of(G_N_ELEMENTS(formats)));
    tcase_add_loop_test(tcase, test_parameters, 0, G_N_ELEMENTS(overlays));
    tcase_add_loop_test(tcase, test_downstream_pool, 0, 3); /* all but none */
    tcase_add_test(tcase, test_shared_memory_is_copied);
    tcase_add_loop_test(tcase, test_allocation_is_passed_on, 0, G_N_ELEMENTS(overlays));
    tcase_add_loop_test(tcase, test_short_buffer, 0, G_N_ELEMENTS(overlays));
    tcase_add_loop_test(tcase, test_buffer_metadata_is_kept, 0, G_N_ELEMENTS(overlays));
    tcase = add_case(suite, "results");
    tcase_add_test(tcase, test_known_picture);
    tcase_add_test(tcase, test_results_are_scaled);
    tcase_add_test(tcase, test_max_features);
    tcase_add_test(tcase, test_capacity);
    tcase_add_test(tcase, test_flooded);
    tcase_add_test(tcase, test_flooded_after_restart);
    tcase_add_loop_test(tcase, test_two_in_a_row, 0, 2);
    tcase_add_test(tcase, test_message);
    tcase_add_loop_test(tcase, test_no_results_unless_wanted, 0, G_N_ELEMENTS(overlays));
    tcase = add_case(suite, "caps");
    tcase_add_test(tcase, test_renegotiation);
    tcase_add_loop_test(tcase, test_overlay_while_playing, 0, some_of(G_N_ELEMENTS(formats)));
    tcase_add_test(tcase, test_overlay_asks_upstream);
    tcase_add_test(tcase, test_templates);
    tcase_add_test(tcase, test_caps_refused);
    tcase = add_case(suite, "stream");
    tcase_add_loop_test(tcase, test_flush, 0, G_N_ELEMENTS(overlays));
    tcase_add_loop_test(tcase, test_seek, 0, 2);
    tcase_add_loop_test(tcase, test_cycles, 0, 2);
    tcase_add_test(tcase, test_properties_while_playing);
    tcase_add_test(tcase, test_controlled);
    tcase = add_case(suite, "properties");
    if (!have_cuda_device())
        tcase_add_test(tcase, test_backend_cuda_without_a_device);
    tcase_add_test(tcase, test_int_properties);
    tcase_add_test(tcase, test_float_properties);
    tcase_add_test(tcase, test_property_flags);
    tcase_add_test(tcase, test_other_properties);
    tcase_add_test(tcase, test_factory);
    return suite;
}

int main(int argc, char **argv) {
    gst_check_init(&argc, &argv);
    return run_on_backend(gpusift_suite, "gpusift", __FILE__);
}
