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
    gpv_segment *op;
    gpv_segment_params params;
    gpv_color_matrix matrix; /* of frames in YUV; at first what make_info() means */
    gpv_color_range range;
    const gpv_image *seeds;   /* of the frames; NULL: none */
    const gpv_rect *rect;     /* likewise */
    const gpv_image *regions; /* likewise; seeds of every frame */
    gboolean learned;         /* with warm-start, from an earlier frame */
} Model;

typedef struct {
    GstBuffer *image; /* laid out as output_info() says */
    gpv_graphcut_result found;
} Expected;

/* The defaults of the element. */
static gpv_segment_params default_params(void) {
    gpv_segment_params params;
    gpv_segment_params_init(&params, sizeof params);
    params.warm_start = GPV_SEGMENT_WARM_START_ADAPT;
    return params;
}

static Model model_new(void) {
    Model model = {.params = default_params(), .matrix = GPV_COLOR_MATRIX_BT601};
    gpv_context_params wanted;
    gpv_context_params_init(&wanted, sizeof wanted);
    wanted.backend = GPV_BACKEND_CPU;
    fail_unless_equals_int(gpv_context_create(&wanted, &model.context), GPV_OK);
    fail_unless_equals_int(gpv_segment_create(model.context, &model.params, &model.op), GPV_OK);
    return model;
}

static void model_free(Model *model) {
    gpv_segment_destroy(&model->op);
    gpv_context_destroy(&model->context);
}

static void model_forget(Model *model) {
    fail_unless_equals_int(gpv_segment_forget(model->op), GPV_OK);
    model->learned = FALSE;
}

static void set_params(GstElement *element, Model *model, const gpv_segment_params *params) {
    g_object_set(element, "model", params->model, "iterations", params->iterations, "lambda",
                 params->lambda, "sigma", params->sigma, "connectivity", params->connectivity,
                 "warm-start", params->warm_start == GPV_SEGMENT_WARM_START_ADAPT, NULL);
    if (params->model != model->params.model)
        model->learned = FALSE;
    model->params = *params;
}

static gpv_image view_of(const Model *model, const GstVideoFrame *frame) {
    gpv_image image = library_image(frame);
    image.color_matrix = model->matrix;
    image.color_range = model->range;
    return image;
}

/* ---- pixels ---- */

static const gchar *const outputs[] = {"overlay", "mask", "cutout", "none"};

/* What the caps of the output are to be. */
static GstVideoInfo output_info(const GstVideoInfo *in, const gchar *output) {
    const GstVideoInfo info = *in;
    const gchar *format = g_str_equal(output, "mask")     ? "GRAY8"
                          : g_str_equal(output, "cutout") ? "RGBA"
                                                          : NULL;
    return format ? make_info(format, in->width, in->height) : info;
}

static void run(Model *model, const gpv_image *src, const gpv_image *dst, const gchar *output) {
    const gboolean masks = g_str_equal(output, "mask"), none = g_str_equal(output, "none");
    const gboolean seeded =
        model->params.warm_start == GPV_SEGMENT_WARM_START_NONE || !model->learned;
    gpv_segment_params params = model->params;
    params.output =
        g_str_equal(output, "cutout") ? GPV_SEGMENT_OUTPUT_CUTOUT : GPV_SEGMENT_OUTPUT_OVERLAY;
    fail_unless_equals_int(gpv_segment_set_params(model->op, &params), GPV_OK);
    fail_unless_equals_int(gpv_segment_run(model->op, NULL, src,
                                           model->regions ? model->regions
                                           : seeded       ? model->seeds
                                                          : NULL,
                                           model->rect, masks ? dst : NULL,
                                           masks || none ? NULL : dst, NULL),
                           GPV_OK);
    model->learned = TRUE;
}

/* What the library makes of a frame, after those that it was given before. */
static Expected expect(Model *model, const GstVideoInfo *info, GstBuffer *buffer,
                       const gchar *output) {
    const GstVideoInfo out_info = output_info(info, output);
    Expected expected = {.image = g_str_equal(output, "none") ? gst_buffer_copy_deep(buffer)
                                                              : buffer_of_size(out_info.size)};
    GstVideoFrame in, out;
    gpv_image src, dst;
    fail_unless(gst_video_frame_map(&in, info, buffer, GST_MAP_READ));
    fail_unless(gst_video_frame_map(&out, &out_info, expected.image, GST_MAP_WRITE));
    src = view_of(model, &in);
    dst = view_of(model, &out);
    run(model, &src, &dst, output);
    gpv_graphcut_result_init(&expected.found, sizeof expected.found);
    fail_unless_equals_int(gpv_segment_wait(model->op, &expected.found), GPV_OK);
    gst_video_frame_unmap(&out);
    gst_video_frame_unmap(&in);
    return expected;
}

/* ---- results ---- */

static gboolean is_optimal(const GstStructure *results) {
    gboolean optimal = FALSE;
    fail_unless(gst_structure_get_boolean(results, "optimal", &optimal), "no boolean optimal");
    return optimal;
}

static void assert_results(const GstStructure *results, const Expected *expected) {
    gint64 flow = -1;
    fail_unless(gst_structure_has_name(results, "gpugraphcut"));
    fail_unless(gst_structure_get_int64(results, "flow", &flow), "no int64 flow");
    fail_unless_equals_int64(flow, expected->found.flow);
    fail_unless_equals_int(int_field(results, "area"), expected->found.area);
    fail_unless_equals_int(is_optimal(results), expected->found.optimal);
}

/* ---- frames ---- */

static GstHarness *harness_new(void) {
    return harness_with(element_new("gpugraphcut", test_backend()));
}

/* Pushes a frame and compares what comes out. Takes the buffer. */
static void check_frame(GstHarness *h, Model *model, const GstVideoInfo *info, GstBuffer *in,
                        const gchar *output) {
    const GstVideoInfo out_info = output_info(info, output);
    Expected expected = expect(model, info, in, output);
    GstBuffer *before = gst_buffer_copy_deep(in), *out;
    fail_unless_equals_int(gst_harness_push(h, gst_buffer_ref(in)), GST_FLOW_OK);
    out = gst_harness_pull(h);
    fail_unless(out != in);
    assert_output_caps(h, &out_info);
    assert_same(&out_info, out, expected.image);
    assert_same(info, in, before);
    assert_results(results_of(out, "gpugraphcut"), &expected);
    gst_buffer_unref(expected.image);
    gst_buffer_unref(before);
    gst_buffer_unref(in);
    gst_buffer_unref(out);
}

/* Of two regions, with noise: so that there is something to find. */
static GstBuffer *scene(const GstVideoInfo *info) {
    GstBuffer *buffer = random_frame(info);
    GstVideoFrame frame;
    fail_unless(gst_video_frame_map(&frame, info, buffer, GST_MAP_READWRITE));
    for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES(info); p++) {
        gsize bytes, rows;
        plane_size(info, p, &bytes, &rows);
        for (gsize y = 0; y < rows; y++) {
            guint8 *row = (guint8 *)GST_VIDEO_FRAME_PLANE_DATA(&frame, p) +
                          y * (gsize)GST_VIDEO_FRAME_PLANE_STRIDE(&frame, p);
            for (gsize i = 0; i < bytes; i++) {
                const gboolean inside =
                    4 * y > rows && 4 * y < 3 * rows && 4 * i > bytes && 4 * i < 3 * bytes;
                row[i] = (guint8)(row[i] / 4 + (inside ? 140 : 40));
            }
        }
    }
    gst_video_frame_unmap(&frame);
    return buffer;
}

/* ---- pixels ---- */

/* Every format, size and output, with the buffer's own layout and with a padded one; of the largest
   size, which takes the longest, an output for each format by turns. */
GST_START_TEST(test_formats) {
    GstHarness *h = harness_new();
    Model model = model_new();
    for (guint s = 0; s < G_N_ELEMENTS(sizes); s++) {
        GstVideoInfo info = make_info(formats[__i__], sizes[s][0], sizes[s][1]);
        set_info(h, &info);
        for (guint o = 0; o < G_N_ELEMENTS(outputs); o++) {
            if (s + 1 == G_N_ELEMENTS(sizes) && o != (guint)__i__ % G_N_ELEMENTS(outputs))
                continue;
            set_output(h, outputs[o]);
            check_frame(h, &model, &info, scene(&info), outputs[o]);
            check_frame(h, &model, &info, random_padded_frame(&info), outputs[o]);
        }
    }
    model_free(&model);
    gst_harness_teardown(h);
}
GST_END_TEST

static gpv_segment_params random_params(void) {
    static const gfloat lambdas[] = {0, 0.001f, 0.02f, 1, 1e6f}, sigmas[] = {0, 0.5f, 10, 1e6f};
    gpv_segment_params params = default_params();
    params.model = (gpv_segment_model)g_random_int_range(0, 3);
    params.warm_start =
        g_random_boolean() ? GPV_SEGMENT_WARM_START_ADAPT : GPV_SEGMENT_WARM_START_NONE;
    params.connectivity = g_random_boolean() ? 4 : 8;
    params.iterations = g_random_int_range(1, 5);
    params.lambda = lambdas[g_random_int_range(0, G_N_ELEMENTS(lambdas))];
    params.sigma = sigmas[g_random_int_range(0, G_N_ELEMENTS(sigmas))];
    return params;
}

/* Every value of every property reaches the library, and changes as it does there. */
GST_START_TEST(test_parameters) {
    static const gchar *const some_formats[] = {"NV12", "RGBA", "GRAY8"};
    const gchar *output = outputs[__i__];
    GstHarness *h = harness_new();
    Model model = model_new();
    set_output(h, output);
    for (guint i = 0; i < 150; i++) {
        const gpv_segment_params params = random_params();
        GstVideoInfo info = make_info(some_formats[i % 3], 19, 13);
        set_params(h->element, &model, &params);
        set_info(h, &info);
        for (guint f = 0; f < 3; f++)
            check_frame(h, &model, &info, f ? scene(&info) : random_frame(&info), output);
    }
    model_free(&model);
    gst_harness_teardown(h);
}
GST_END_TEST

/* YUV is taken by the matrix and range of the caps. */
GST_START_TEST(test_colorimetry) {
    static const struct {
        const gchar *text;
        gpv_color_matrix matrix;
        gpv_color_range range;
    } known[] = {
        {"bt601", GPV_COLOR_MATRIX_BT601, GPV_COLOR_RANGE_LIMITED},
        {"bt709", GPV_COLOR_MATRIX_BT709, GPV_COLOR_RANGE_LIMITED},
        {"bt2020", GPV_COLOR_MATRIX_BT2020, GPV_COLOR_RANGE_LIMITED},
        {"1:4:0:0", GPV_COLOR_MATRIX_BT601, GPV_COLOR_RANGE_FULL},
        {"1:3:5:1", GPV_COLOR_MATRIX_BT709, GPV_COLOR_RANGE_FULL},
    };
    GstVideoInfo info = make_info(formats[__i__], 33, 21);
    GstHarness *h = harness_new();
    Model model = model_new();
    for (guint i = 0; i < G_N_ELEMENTS(known); i++) {
        fail_unless(gst_video_colorimetry_from_string(&info.colorimetry, known[i].text));
        model.matrix = known[i].matrix;
        model.range = known[i].range;
        set_info(h, &info);
        for (guint o = 0; o < G_N_ELEMENTS(outputs); o++) {
            set_output(h, outputs[o]);
            check_frame(h, &model, &info, scene(&info), outputs[o]);
        }
    }
    model_free(&model);
    gst_harness_teardown(h);
}
GST_END_TEST

/* A pool that downstream offers is used with its padding. */
GST_START_TEST(test_downstream_pool) {
    const gchar *output = outputs[__i__];
    GstVideoInfo info = make_info("NV12", 33, 21), out_info = output_info(&info, output);
    GstHarness *h = harness_new();
    Model model = model_new();
    GstBuffer *in = scene(&info), *out;
    Expected expected = expect(&model, &info, in, output);
    guint offers = 0;
    set_output(h, output);
    gst_pad_add_probe(h->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer_padded_pool, &offers,
                      NULL);
    set_info(h, &info);
    out = push_and_pull(h, in);
    fail_unless(offers > 0);
    if (!g_str_equal(output, "none")) {
        fail_unless(gst_buffer_get_video_meta(out) != NULL);
        fail_unless(gst_buffer_get_video_meta(out)->offset[0] > 0);
        fail_unless(gst_buffer_get_video_meta(out)->format == GST_VIDEO_INFO_FORMAT(&out_info));
    }
    assert_same(&out_info, out, expected.image);
    gst_buffer_unref(expected.image);
    gst_buffer_unref(out);
    model_free(&model);
    gst_harness_teardown(h);
}
GST_END_TEST

/* With output=none the buffer goes on if nobody else holds it, and its memory in any case. */
GST_START_TEST(test_none_copies_nothing) {
    GstVideoInfo info = make_info("I420", 64, 48);
    GstHarness *h = harness_new();
    set_output(h, "none");
    set_info(h, &info);
    for (guint held = 0; held < 2; held++) {
        GstBuffer *in = random_padded_frame(&info), *out;
        GstMemory *memory = gst_buffer_peek_memory(in, 0);
        const GstBuffer *same = in;
        if (held)
            gst_buffer_ref(in);
        out = push_and_pull(h, in);
        fail_unless((out == same) == !held);
        fail_unless(gst_buffer_peek_memory(out, 0) == memory);
        fail_unless(gst_buffer_get_custom_meta(out, "gpugraphcut") != NULL);
        if (held)
            gst_buffer_unref(in);
        gst_buffer_unref(out);
    }
    gst_harness_teardown(h);
}
GST_END_TEST

/* A buffer that is smaller than its caps say, for every output. */
GST_START_TEST(test_short_buffer) {
    GstVideoInfo info = make_info("I420", 64, 48);
    GstHarness *h = harness_new();
    set_output(h, outputs[__i__]);
    assert_buffer_refused(h, gst_video_info_to_caps(&info), buffer_of_size(info.size - 1));
    gst_harness_teardown(h);
}
GST_END_TEST

GST_START_TEST(test_buffer_metadata_is_kept) {
    GstHarness *h = harness_new();
    set_output(h, outputs[__i__]);
    check_metadata_is_kept(h);
}
GST_END_TEST

/* ---- a picture whose object is known ---- */

enum { drawn_width = 32, drawn_height = 24, object_side = 8 };

#define DRAWN make_info("RGB", drawn_width, drawn_height)

static gboolean in_object(gint x, gint y, gint left, gint top) {
    return x >= left && x < left + object_side && y >= top && y < top + object_side;
}

/* A square of one colour before another, of which each pixel differs a little. */
static GstBuffer *drawn_frame(const GstVideoInfo *info, gint left, gint top) {
    GstBuffer *buffer = random_frame(info);
    GstVideoFrame frame;
    fail_unless(gst_video_frame_map(&frame, info, buffer, GST_MAP_READWRITE));
    for (gint y = 0; y < info->height; y++)
        for (gint x = 0; x < info->width; x++) {
            guint8 *pixel = (guint8 *)GST_VIDEO_FRAME_PLANE_DATA(&frame, 0) +
                            y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0) + 3 * x;
            for (gint c = 0; c < 3; c++)
                pixel[c] = (guint8)(pixel[c] / 32 +
                                    (in_object(x, y, left, top) ? 200 - 60 * c : 40 + 50 * c));
        }
    gst_video_frame_unmap(&frame);
    return buffer;
}

static gboolean mask_is(GstBuffer *mask, gint left, gint top) {
    const GstVideoInfo info = make_info("GRAY8", drawn_width, drawn_height);
    gboolean same = TRUE;
    GstVideoFrame frame;
    fail_unless(gst_video_frame_map(&frame, &info, mask, GST_MAP_READ));
    for (gint y = 0; y < info.height; y++)
        for (gint x = 0; x < info.width; x++) {
            const guint8 value = ((const guint8 *)GST_VIDEO_FRAME_PLANE_DATA(
                &frame, 0))[y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0) + x];
            same = same && value == (in_object(x, y, left, top) ? 255 : 0);
        }
    gst_video_frame_unmap(&frame);
    return same;
}

/* As one types it. */
GST_START_TEST(test_known_picture) {
    static const gchar *const known[] = {"",
                                         "model=means",
                                         "model=histogram connectivity=8",
                                         "iterations=3 lambda=0.1 sigma=10",
                                         "seed-source=rect rect=5,6,20,14",
                                         "seed-source=rect rect=11,7,8,8 lambda=1",
                                         "warm-start=false max-time-ms=10000"};
    GstVideoInfo info = DRAWN;
    for (guint i = 0; i < G_N_ELEMENTS(known); i++) {
        gchar *text = g_strdup_printf("gpugraphcut output=mask %s", known[i]);
        GstHarness *h = gst_harness_new_parse(text);
        set_info(h, &info);
        for (guint f = 0; f < 2; f++) {
            GstBuffer *out = push_and_pull(h, drawn_frame(&info, 11, 7));
            const GstStructure *results = results_of(out, "gpugraphcut");
            fail_unless(mask_is(out, 11, 7), "%s, frame %u", text, f);
            fail_unless_equals_int(int_field(results, "area"), object_side * object_side);
            fail_unless(is_optimal(results));
            gst_buffer_unref(out);
        }
        gst_harness_teardown(h);
        g_free(text);
    }
}
GST_END_TEST

GST_START_TEST(test_message) {
    GstVideoInfo info = make_info("RGB", 40, 30);
    GstHarness *h = gst_harness_new_parse("gpugraphcut post-messages=true attach-meta=false");
    Model model = model_new();
    GstBuffer *in = scene(&info), *out;
    Expected expected = expect(&model, &info, in, "overlay");
    GstMessage *message;
    set_info(h, &info);
    message = message_of(h, in, &out);
    assert_results(gst_message_get_structure(message), &expected);
    fail_unless(gst_buffer_get_custom_meta(out, "gpugraphcut") == NULL);
    gst_message_unref(message);
    gst_buffer_unref(expected.image);
    gst_buffer_unref(out);
    model_free(&model);
    gst_harness_teardown(h);
}
GST_END_TEST

/* The pixels are the same where nobody wants the results, and the next frame goes on from them. */
GST_START_TEST(test_no_results_unless_wanted) {
    const gchar *output = outputs[__i__];
    GstVideoInfo info = make_info("RGB", 65, 31), out_info = output_info(&info, output);
    GstHarness *h = harness_new();
    GstBus *bus = add_bus(h->element);
    Model model = model_new();
    set_output(h, output);
    set_info(h, &info);
    for (guint i = 0; i < 3; i++) {
        GstBuffer *in = scene(&info), *out;
        Expected expected = expect(&model, &info, in, output);
        g_object_set(h->element, "attach-meta", i == 2, NULL);
        out = push_and_pull(h, in);
        assert_same(&out_info, out, expected.image);
        if (i == 2)
            assert_results(results_of(out, "gpugraphcut"), &expected);
        else
            fail_unless(gst_buffer_get_custom_meta(out, "gpugraphcut") == NULL);
        gst_buffer_unref(expected.image);
        gst_buffer_unref(out);
    }
    fail_unless(gst_bus_pop_filtered(bus, GST_MESSAGE_ELEMENT) == NULL);
    model_free(&model);
    drop_bus(h->element, bus);
    gst_harness_teardown(h);
}
GST_END_TEST

/* The area is that in the frame that it is on; the flow is what the cut has cost. */
GST_START_TEST(test_results_are_scaled) {
    GstVideoInfo info = DRAWN;
    GstHarness *h = gst_harness_new_parse(
        "gpugraphcut ! videoscale ! capsfilter caps=video/x-raw,width=64,height=72");
    GstHarness *same = gst_harness_new_parse("gpugraphcut");
    GstBuffer *in = drawn_frame(&info, 3, 5), *out, *unscaled;
    gint64 flow = -1, expected = -2;
    set_info(h, &info);
    set_info(same, &info);
    out = push_and_pull(h, gst_buffer_ref(in));
    unscaled = push_and_pull(same, in);
    gst_structure_get_int64(results_of(out, "gpugraphcut"), "flow", &flow);
    gst_structure_get_int64(results_of(unscaled, "gpugraphcut"), "flow", &expected);
    fail_unless_equals_int64(flow, expected);
    fail_unless_equals_int(int_field(results_of(out, "gpugraphcut"), "area"), 6 * 64);
    gst_buffer_unref(unscaled);
    gst_buffer_unref(out);
    gst_harness_teardown(same);
    gst_harness_teardown(h);
}
GST_END_TEST

/* Whatever the cut is by then, the frame goes on. */
GST_START_TEST(test_max_time) {
    static const gchar *const some_outputs[] = {"overlay", "mask", "cutout", "none"};
    GstVideoInfo info = make_info("NV12", 641, 479);
    GstHarness *h = harness_new();
    guint unfinished = 0;
    g_object_set(h->element, "max-time-ms", 1, "connectivity", 8, "lambda", 0.001, "iterations", 3,
                 NULL);
    set_info(h, &info);
    for (guint i = 0; i < 12; i++) {
        GstBuffer *out;
        set_output(h, some_outputs[i / 3]);
        out = push_and_pull(h, random_frame(&info));
        unfinished += !is_optimal(results_of(out, "gpugraphcut"));
        gst_buffer_unref(out);
    }
    g_print("%u of 12 cuts were ended\n", unfinished);
    gst_harness_teardown(h);
}
GST_END_TEST

/* ---- what is known ---- */

static void set_source(GstHarness *h, const gchar *source) {
    gst_util_set_object_arg(G_OBJECT(h->element), "seed-source", source);
}

GST_START_TEST(test_rect) {
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
    GstHarness *h = harness_new();
    GstBus *bus = add_bus(h->element);
    Model model = model_new();
    set_source(h, "rect");
    set_info(h, &info);
    for (guint i = 0; i < G_N_ELEMENTS(known); i++) {
        g_object_set(h->element, "rect", known[i].text, NULL);
        model.rect = &known[i].rect;
        model_forget(&model);
        if (known[i].rect.width == 0)
            model.rect = &known[5].rect;
        set_output(h, outputs[i % G_N_ELEMENTS(outputs)]);
        for (guint f = 0; f < 2; f++)
            check_frame(h, &model, &info, scene(&info), outputs[i % G_N_ELEMENTS(outputs)]);
        if (known[i].rect.width == 0)
            assert_warning(bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, "no pixel in");
        fail_unless(gst_bus_pop_filtered(bus, GST_MESSAGE_WARNING) == NULL, "one is enough");
    }
    model_free(&model);
    drop_bus(h->element, bus);
    gst_harness_teardown(h);
}
GST_END_TEST

/* One message says the property, its value, the size of the frame and the form. */
GST_START_TEST(test_bad_rect) {
    static const gchar *const bad[] = {NULL,
                                       "",
                                       "1,2,3",
                                       "1,2,3,4,5",
                                       "a,b,c,d",
                                       "1;2;3;4",
                                       "1,2,3,4x",
                                       "1,2,,4",
                                       "1,2,3,",
                                       "1,2,3,0",
                                       "<1,2,3,4",
                                       "1,2,3,4>",
                                       "<1,2,3,4>5",
                                       "1.5,2,0.5,4",
                                       "nan,0,1,1.5",
                                       "1e300,0,1,1.5",
                                       "1,2,-3,4",
                                       "40,0,10,10",
                                       "0,30,5,5",
                                       "-5,0,5,9",
                                       "1,2,3,99999999999999",
                                       "99999999999999999999,1,2,3"};
    GstVideoInfo info = make_info("GRAY8", 40, 30);
    GstHarness *h = harness_new();
    GstBus *bus = add_bus(h->element);
    set_source(h, "rect");
    set_info(h, &info);
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        gchar *value = g_strdup_printf("rect=%s ", bad[i] ? bad[i] : "NULL"), *text;
        GstMessage *message;
        g_object_set(h->element, "rect", bad[i], NULL);
        fail_unless_equals_int(gst_harness_push(h, random_frame(&info)), GST_FLOW_ERROR);
        message = error_on(bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, &text);
        fail_unless(strstr(text, value) && strstr(text, "40x30") &&
                        strstr(text, "x,y,width,height"),
                    "%s", text);
        fail_unless(gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR) == NULL, "one is enough");
        gst_message_unref(message);
        g_free(text);
        g_free(value);
    }
    g_object_set(h->element, "rect", "1,2,3,4", NULL);
    gst_buffer_unref(push_and_pull(h, random_frame(&info)));
    drop_bus(h->element, bus);
    gst_harness_teardown(h);
}
GST_END_TEST

/* Each region of a frame bounds it: several are seeds that do not know what is inside. Where there
   is none, nothing is known. */
GST_START_TEST(test_regions) {
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
    GstHarness *h = harness_new();
    Plane inside = plane_new(40, 30);
    const gpv_image seeds = plane_view(&inside);
    Model model = model_new();
    set_source(h, "roi-meta");
    set_info(h, &info);
    for (guint i = 0; i < 2 * G_N_ELEMENTS(known); i++) {
        const guint at = i % G_N_ELEMENTS(known);
        GstBuffer *in = scene(&info);
        for (guint r = 0; r < 2; r++) {
            const guint *box = known[at].regions[r];
            if (box[2] + box[3] > 0)
                gst_buffer_add_video_region_of_interest_meta(in, "any", box[0], box[1], box[2],
                                                             box[3]);
        }
        model.rect = known[at].rects[0].width && !known[at].rects[1].width ? known[at].rects : NULL;
        model.regions = known[at].rects[1].width ? &seeds : NULL;
        memset(inside.pixels, 0, 40 * 30);
        for (guint r = 0; r < 2; r++) {
            const gpv_rect box = known[at].rects[r];
            for (gint y = box.y; y < box.y + box.height; y++)
                memset(inside.pixels + y * 40 + box.x, 128, (gsize)box.width);
        }
        check_frame(h, &model, &info, in, "overlay");
    }
    model_free(&model);
    g_free(inside.pixels);
    gst_harness_teardown(h);
}
GST_END_TEST

/* The foreground of one element bounds another. */
GST_START_TEST(test_regions_of_gpuccl) {
    GstVideoInfo info = DRAWN;
    GstHarness *h = gst_harness_new_parse("gpuccl threshold=120 output=none ! "
                                          "gpugraphcut seed-source=roi-meta output=mask");
    GstBuffer *out;
    set_info(h, &info);
    for (gint x = 2; x < 20; x += 3) {
        out = push_and_pull(h, drawn_frame(&info, x, 9));
        fail_unless(mask_is(out, x, 9), "%d", x);
        gst_buffer_unref(out);
    }
    gst_harness_teardown(h);
}
GST_END_TEST

/* ---- pictures of seeds ---- */

/* Some of either side, and values in between that say nothing. */
static Plane random_seeds(gint width, gint height) {
    static const guint8 values[] = {0, 255, 1, 128, 254, 100};
    Plane plane = plane_new(width, height);
    for (gint i = 0; i < width * height; i++)
        plane.pixels[i] = values[g_random_int_range(0, G_N_ELEMENTS(values))];
    return plane;
}

/* Of the object at left, top: its middle; and all that is not near to it. */
static Plane drawn_seeds(gint left, gint top) {
    Plane plane = plane_new(drawn_width, drawn_height);
    for (gint y = 0; y < drawn_height; y++)
        for (gint x = 0; x < drawn_width; x++) {
            const gint dx = ABS(2 * (x - left) - object_side + 1),
                       dy = ABS(2 * (y - top) - object_side + 1);
            plane.pixels[y * drawn_width + x] = MAX(dx, dy) < 4 ? 255 : MAX(dx, dy) < 14 ? 128 : 0;
        }
    return plane;
}

/* With warm-start they count once, else in each frame; in grey and in colour, for any format. */
GST_START_TEST(test_seeds) {
    GstVideoInfo info = make_info(formats[__i__], 43, 31);
    Plane seeds = random_seeds(info.width, info.height);
    const gpv_image view = plane_view(&seeds);
    for (guint i = 0; i < 4; i++) {
        File file = file_new("seeds of \"this\" test!.pnm");
        GstHarness *h = harness_new();
        Model model = model_new();
        gpv_segment_params params = default_params();
        params.warm_start = i % 2 ? GPV_SEGMENT_WARM_START_NONE : GPV_SEGMENT_WARM_START_ADAPT;
        write_picture(&file, &seeds, i / 2 ? 3 : 1);
        set_params(h->element, &model, &params);
        model.seeds = &view;
        g_object_set(h->element, "seeds", file.path, NULL);
        set_source(h, "mask");
        set_info(h, &info);
        for (guint f = 0; f < 4; f++) {
            set_output(h, outputs[f]);
            check_frame(h, &model, &info, scene(&info), outputs[f]);
        }
        model_free(&model);
        gst_harness_teardown(h);
        file_free(&file);
    }
    g_free(seeds.pixels);
}
GST_END_TEST

static Plane magnified(const Plane *plane, gint factor) {
    Plane large = plane_new(plane->width * factor, plane->height * factor);
    for (gint y = 0; y < large.height; y++)
        for (gint x = 0; x < large.width; x++)
            large.pixels[y * large.width + x] =
                plane->pixels[y / factor * plane->width + x / factor];
    return large;
}

/* Pictures of another size are scaled without mixing values, and frames may get another size. */
GST_START_TEST(test_seeds_are_scaled) {
    static const gint factors[] = {1, 2, 5, 3};
    Plane seeds = random_seeds(12, 10);
    File file = file_new("seeds.pgm");
    GstHarness *h = harness_new();
    Model model = model_new();
    gpv_segment_params params = default_params();
    params.warm_start = GPV_SEGMENT_WARM_START_NONE;
    set_params(h->element, &model, &params);
    write_picture(&file, &seeds, 1);
    g_object_set(h->element, "seeds", file.path, NULL);
    set_source(h, "mask");
    for (guint i = 0; i < G_N_ELEMENTS(factors); i++) {
        Plane large = magnified(&seeds, factors[i]);
        const gpv_image view = plane_view(&large);
        GstVideoInfo info = make_info("RGB", large.width, large.height);
        model.seeds = &view;
        set_info(h, &info);
        check_frame(h, &model, &info, scene(&info), "overlay");
        check_frame(h, &model, &info, scene(&info), "overlay");
        g_free(large.pixels);
    }
    model_free(&model);
    gst_harness_teardown(h);
    file_free(&file);
    g_free(seeds.pixels);
}
GST_END_TEST

/* It is read once: then it may be gone. What cannot be read while frames flow leaves what was there
   in force, in frames of any size. */
GST_START_TEST(test_seeds_are_read_once) {
    Plane seeds = random_seeds(20, 15);
    Plane large = magnified(&seeds, 2);
    const gpv_image view = plane_view(&seeds), large_view = plane_view(&large);
    GstVideoInfo info = make_info("RGB", 20, 15), larger = make_info("RGB", 40, 30);
    File file = file_new("seeds.pgm");
    GstHarness *h = gst_harness_new_parse("gpugraphcut seed-source=mask warm-start=false");
    GstElement *element = gst_harness_find_element(h, "gpugraphcut");
    GstBus *bus = add_bus(element);
    Model model = model_new();
    model.params.warm_start = GPV_SEGMENT_WARM_START_NONE;
    model.seeds = &view;
    write_picture(&file, &seeds, 1);
    g_object_set(element, "seeds", file.path, NULL);
    set_info(h, &info);
    for (guint i = 0; i < 3; i++) {
        check_frame(h, &model, &info, scene(&info), "overlay");
        g_remove(file.path);
        g_object_set(element, "seeds", file.path, NULL);
    }
    g_object_set(element, "seeds", "nothing.png", NULL);
    check_frame(h, &model, &info, scene(&info), "overlay");
    assert_warning(bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ, "nothing.png");
    set_info(h, &larger);
    model.seeds = &large_view;
    check_frame(h, &model, &larger, scene(&larger), "overlay");
    set_info(h, &info);
    model.seeds = &view;
    check_frame(h, &model, &info, scene(&info), "overlay");
    fail_unless(gst_bus_pop_filtered(bus, GST_MESSAGE_WARNING) == NULL, "one is enough");
    model_free(&model);
    drop_bus(element, bus);
    gst_object_unref(element);
    gst_harness_teardown(h);
    file_free(&file);
    g_free(large.pixels);
    g_free(seeds.pixels);
}
GST_END_TEST

static void assert_seeds_refused(GstHarness *h, GstBus *bus, const GstVideoInfo *info,
                                 const gchar *path, gint code, const gchar *words) {
    gchar *text;
    GstMessage *message;
    g_object_set(h->element, "seeds", path, NULL);
    fail_unless_equals_int(gst_harness_push(h, random_frame(info)), GST_FLOW_ERROR);
    message = error_on(bus, GST_RESOURCE_ERROR, code, &text);
    fail_unless(strstr(text, words) != NULL, "%s", text);
    fail_unless(strstr(text, path ? path : "NULL") != NULL, "%s", text);
    fail_unless(gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR) == NULL, "one is enough");
    gst_message_unref(message);
    g_free(text);
}

GST_START_TEST(test_bad_seeds) {
    GstVideoInfo info = make_info("NV12", 40, 30);
    GstHarness *h = harness_new();
    GstBus *bus = add_bus(h->element);
    File file = file_new("seeds.txt"), good = file_new("seeds.pgm");
    Plane seeds = random_seeds(40, 30);
    set_source(h, "mask");
    set_info(h, &info);
    assert_seeds_refused(h, bus, &info, NULL, GST_RESOURCE_ERROR_SETTINGS, "seed-source=mask");
    assert_seeds_refused(h, bus, &info, "", GST_RESOURCE_ERROR_SETTINGS, "seed-source=mask");
    assert_seeds_refused(h, bus, &info, file.path, GST_RESOURCE_ERROR_OPEN_READ, "no such file");
    assert_seeds_refused(h, bus, &info, file.folder, GST_RESOURCE_ERROR_OPEN_READ, "no such file");
    fail_unless(g_file_set_contents(file.path, "This is no picture, but a text.\n", -1, NULL));
    assert_seeds_refused(h, bus, &info, file.path, GST_RESOURCE_ERROR_OPEN_READ, "cannot be read");
    fail_unless(g_file_set_contents(file.path, "", 0, NULL));
    assert_seeds_refused(h, bus, &info, file.path, GST_RESOURCE_ERROR_OPEN_READ, "cannot be read");
    fail_unless(g_file_set_contents(file.path, "P5\n40 30\n255\nshort", -1, NULL));
    assert_seeds_refused(h, bus, &info, file.path, GST_RESOURCE_ERROR_OPEN_READ, "cannot be read");
    write_picture(&good, &seeds, 1);
    g_object_set(h->element, "seeds", good.path, NULL);
    gst_buffer_unref(push_and_pull(h, random_frame(&info)));
    g_free(seeds.pixels);
    file_free(&good);
    file_free(&file);
    drop_bus(h->element, bus);
    gst_harness_teardown(h);
}
GST_END_TEST

/* ---- video ---- */

/*
 * The seeds are right as long as the object has not moved far. With warm-start
 * it is found by its colours wherever it goes; without, the seeds are kept to.
 */
GST_START_TEST(test_object_moves) {
    const gboolean warm = __i__;
    GstVideoInfo info = DRAWN;
    File file = file_new("seeds.pgm");
    GstHarness *h = harness_new();
    Plane seeds = drawn_seeds(2, 3);
    write_picture(&file, &seeds, 1);
    g_object_set(h->element, "seeds", file.path, "warm-start", warm, NULL);
    set_source(h, "mask");
    set_output(h, "mask");
    set_info(h, &info);
    for (gint step = 0; step < 20; step++) {
        GstBuffer *out = push_and_pull(h, drawn_frame(&info, 2 + step, 3 + step / 2));
        fail_unless(mask_is(out, 2 + step, 3 + step / 2) == (warm || step < 3), "frame %d", step);
        gst_buffer_unref(out);
    }
    g_free(seeds.pixels);
    file_free(&file);
    gst_harness_teardown(h);
}
GST_END_TEST

/* A frame goes on from the one before, also after a gap and new caps; the first after a start does
   not, nor, unless keep-state says so, after a flush, where a stream starts, or after reset. */
GST_START_TEST(test_what_a_frame_begins_with) {
    GstVideoInfo info = make_info("RGB", 40, 30), smaller = make_info("NV12", 17, 13);
    GstHarness *h = harness_new();
    for (guint start = 0; start < 4; start++) {
        const gboolean keeps = start / 2;
        Model model = model_new();
        GstBuffer *cut = scene(&info);
        GST_BUFFER_FLAG_SET(cut, GST_BUFFER_FLAG_DISCONT);
        set_info(h, &info);
        check_frame(h, &model, &info, random_frame(&info), "overlay");
        check_frame(h, &model, &info, cut, "overlay");
        g_object_set(h->element, "keep-state", keeps, NULL);
        flush(h, random_frame(&info));
        if (!keeps)
            model_forget(&model);
        check_frame(h, &model, &info, scene(&info), "overlay");
        set_info(h, &smaller);
        check_frame(h, &model, &smaller, random_frame(&smaller), "overlay");
        gst_pad_push_event(h->srcpad, gst_event_new_stream_start("another"));
        set_info(h, &smaller);
        if (!keeps)
            model_forget(&model);
        check_frame(h, &model, &smaller, random_frame(&smaller), "overlay");
        g_signal_emit_by_name(h->element, "reset");
        model_forget(&model);
        check_frame(h, &model, &smaller, scene(&smaller), "overlay");
        model_free(&model);
        gst_element_set_state(h->element, GST_STATE_READY);
        gst_element_set_state(h->element, GST_STATE_PLAYING);
        gst_pad_push_event(h->srcpad, gst_event_new_stream_start("test"));
    }
    gst_harness_teardown(h);
}
GST_END_TEST

/* Another word about what is known, or another model, begins anew; the same word again does not. */
GST_START_TEST(test_what_begins_anew) {
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
        {"connectivity", "8", FALSE},   {"model", "gmm", TRUE},
    };
    GstVideoInfo info = make_info("RGB", 40, 30);
    GstHarness *h = harness_new();
    Model model = model_new();
    gpv_rect rect = {1, 2, 30, 20};
    set_info(h, &info);
    check_frame(h, &model, &info, random_frame(&info), "overlay");
    for (guint i = 0; i < G_N_ELEMENTS(known); i++) {
        gst_util_set_object_arg(G_OBJECT(h->element), known[i].name, known[i].value);
        if (known[i].anew)
            model_forget(&model);
        rect.x = i < 6 ? 1 : 3;
        model.rect = i < 4 ? NULL : &rect;
        model.params.model = i >= 7 && i < 13 ? GPV_SEGMENT_MODEL_HISTOGRAM : GPV_SEGMENT_MODEL_GMM;
        model.params.iterations = i >= 9 ? 2 : 1;
        model.params.lambda = i >= 10 ? 0.1f : 0.02f;
        model.params.connectivity = i >= 12 ? 8 : 4;
        for (guint f = 0; f < 2; f++)
            check_frame(h, &model, &info, f ? scene(&info) : random_frame(&info),
                        i >= 11 ? "cutout" : "overlay");
    }
    model_free(&model);
    gst_harness_teardown(h);
}
GST_END_TEST

/* ---- frames that teach nothing ---- */

/* A disc before a ground; of two scenes, in lighter and darker colours, and as dark as is wanted.
 */
static GstBuffer *disc_frame(const GstVideoInfo *info, gboolean other, guint percent) {
    static const guint8 colors[2][2][3] = {{{30, 60, 90}, {200, 160, 40}},
                                           {{220, 190, 180}, {40, 200, 60}}};
    GstBuffer *buffer = buffer_of_size(info->size);
    GstVideoFrame frame;
    fail_unless(gst_video_frame_map(&frame, info, buffer, GST_MAP_WRITE));
    for (gint y = 0; y < info->height; y++)
        for (gint x = 0; x < info->width; x++) {
            const gint u = x - 30, v = y - 20;
            const guint8 *color = colors[other][u * u + v * v < 150];
            guint8 *pixel = GST_VIDEO_FRAME_COMP_DATA(&frame, 0) +
                            y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0) + 3 * x;
            for (guint i = 0; i < 3; i++)
                pixel[i] = (guint8)(color[i] * percent / 100);
        }
    gst_video_frame_unmap(&frame);
    return buffer;
}

static gint area_after(GstHarness *h, GstBuffer *frame) {
    GstBuffer *out = push_and_pull(h, frame);
    const gint area = int_field(results_of(out, "gpugraphcut"), "area");
    gst_buffer_unref(out);
    return area;
}

/* Five frames later the object is found as if the stream began there. */
GST_START_TEST(test_frames_that_teach_nothing) {
    enum { BLACK, WHITE, GREY, FLASH, FADE, CUT };
    GstVideoInfo info = make_info("RGB", 64, 48);
    GstHarness *h = harness_new(), *cold = harness_new();
    gint area, from_cold;
    set_info(h, &info);
    set_info(cold, &info);
    if (__i__ == FLASH || __i__ == CUT)
        for (guint i = 0; i < 3; i++)
            area_after(h, disc_frame(&info, FALSE, 100));
    for (guint percent = 0; __i__ == FADE && percent < 100; percent += 2)
        area_after(h, disc_frame(&info, FALSE, percent));
    if (__i__ < FADE) {
        GstBuffer *plain = buffer_of_size(info.size);
        gst_buffer_memset(plain, 0, __i__ == BLACK ? 0 : __i__ == GREY ? 128 : 255, info.size);
        area_after(h, plain);
    }
    for (guint i = 0; i < 5; i++)
        area = area_after(h, disc_frame(&info, __i__ == CUT, 100));
    from_cold = area_after(cold, disc_frame(&info, __i__ == CUT, 100));
    fail_unless(from_cold > 400 && from_cold < 550);
    fail_unless(20 * abs(area - from_cold) <= from_cold, "%d, not %d", area, from_cold);
    gst_harness_teardown(h);
    gst_harness_teardown(cold);
}
GST_END_TEST

/* ---- caps ---- */

GST_START_TEST(test_renegotiation) {
    GstHarness *h = harness_new();
    Model model = model_new();
    for (guint i = 0; i < 60; i++) {
        const gchar *output = outputs[i / 2 % G_N_ELEMENTS(outputs)];
        GstVideoInfo info = make_info(formats[(i * 5) % G_N_ELEMENTS(formats)],
                                      1 + (gint)(i * 37 % 90), 1 + (gint)(i * 53 % 70));
        set_output(h, output);
        set_info(h, &info);
        check_frame(h, &model, &info, random_padded_frame(&info), output);
    }
    fail_unless_equals_int(gst_harness_buffers_received(h), 60);
    model_free(&model);
    gst_harness_teardown(h);
}
GST_END_TEST

/* Between two frames, from each output to each other: the next one is what the property says. */
GST_START_TEST(test_output_while_playing) {
    GstVideoInfo info = make_info(formats[__i__], 21, 17);
    GstHarness *h = harness_new();
    Model model = model_new();
    set_info(h, &info);
    for (guint i = 0; i < 2 * G_N_ELEMENTS(outputs) * G_N_ELEMENTS(outputs); i++) {
        const gchar *output = outputs[(i % 2 ? i / 2 : i / 8) % G_N_ELEMENTS(outputs)];
        set_output(h, output);
        check_frame(h, &model, &info, random_padded_frame(&info), output);
    }
    model_free(&model);
    gst_harness_teardown(h);
}
GST_END_TEST

GST_START_TEST(test_output_asks_upstream) {
    check_output_asks_upstream(harness_new(), outputs, G_N_ELEMENTS(outputs));
}
GST_END_TEST

GST_START_TEST(test_output_refused) {
    check_output_refused(harness_new(), __i__ ? "mask" : "cutout", "overlay");
}
GST_END_TEST

/* What upstream is told depends on what downstream takes, and on the output. */
GST_START_TEST(test_caps_queries) {
    GstHarness *h = gst_harness_new("gpugraphcut");
    gst_harness_set_sink_caps_str(h, "video/x-raw,format={GRAY8,RGB},width=64");
    assert_takes(h->element, "sink", "video/x-raw,format=RGB,width=64", TRUE);
    assert_takes(h->element, "sink", "video/x-raw,format=NV12,width=64", FALSE);
    assert_takes(h->element, "sink", "video/x-raw,format=RGB,width=65", FALSE);
    set_output(h, "cutout");
    assert_takes(h->element, "sink", "video/x-raw,format=NV12,width=64", FALSE);
    set_output(h, "mask");
    assert_takes(h->element, "sink", "video/x-raw,format=NV12,width=64,colorimetry=bt709", TRUE);
    assert_takes(h->element, "sink", "video/x-raw,format=GRAY8,width=64", TRUE);
    assert_takes(h->element, "sink", "video/x-raw,format=GRAY8,width=65", FALSE);
    gst_harness_set_src_caps_str(h, "video/x-raw,format=NV12,width=64,height=8,framerate=1/1,"
                                    "colorimetry=bt709");
    assert_takes(h->element, "src", "video/x-raw,format=GRAY8,height=8,colorimetry=1:4:0:0", TRUE);
    assert_takes(h->element, "src", "video/x-raw,format=NV12", FALSE);
    gst_harness_teardown(h);
}
GST_END_TEST

GST_START_TEST(test_templates) {
    static const TemplateCaps expected[] = {
        {"src", "video/x-raw,format=GRAY8", TRUE},
        {"src", "video/x-raw,format=RGBA", TRUE},
        {"src", "video/x-raw(memory:CUDAMemory),format=NV12", TRUE},
        {"src", "video/x-raw(memory:CUDAMemory),format=RGBA", TRUE},
        {"src", "video/x-raw(memory:CUDAMemory),format=GRAY8", FALSE},
        {"src", "video/x-raw,format=GRAY16_LE", FALSE},
        {"sink", "video/x-raw(memory:CUDAMemory),format=RGB", TRUE},
        {"sink", "video/x-raw,format=P010_10LE", FALSE},
    };
    check_templates("gpugraphcut", expected, G_N_ELEMENTS(expected));
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
        check_refusal("gpugraphcut", refused[i][0], refused[i][1]);
}
GST_END_TEST

/* ---- life of a stream ---- */

GST_START_TEST(test_flush) {
    const gchar *output = outputs[__i__];
    GstVideoInfo info = make_info("RGBA", 31, 9);
    GstHarness *h = harness_new();
    Model model = model_new();
    set_output(h, output);
    set_info(h, &info);
    for (guint i = 0; i < 20; i++) {
        check_frame(h, &model, &info, random_frame(&info), output);
        flush(h, random_frame(&info));
        model_forget(&model);
    }
    fail_unless(gst_harness_push_event(h, gst_event_new_eos()));
    fail_unless_equals_int(gst_harness_push(h, random_frame(&info)), GST_FLOW_EOS);
    model_free(&model);
    gst_harness_teardown(h);
}
GST_END_TEST

static const gchar *const descriptions[] = {"gpugraphcut", "gpugraphcut output=mask",
                                            "gpugraphcut output=cutout seed-source=rect "
                                            "rect=5,5,30,30",
                                            "gpugraphcut output=none seed-source=roi-meta"};

GST_START_TEST(test_seek) {
    check_seeks(descriptions[__i__]);
}
GST_END_TEST

GST_START_TEST(test_cycles) {
    check_restarts(descriptions[__i__]);
}
GST_END_TEST

static gpointer change_properties(gpointer element) {
    GRand *random = g_rand_new_with_seed(7);
    for (guint i = 0; i < 2000; i++) {
        gchar *rect = g_strdup_printf(
            "%d,%d,%d,%d", g_rand_int_range(random, -9, 60), g_rand_int_range(random, -9, 40),
            g_rand_int_range(random, 10, 99), g_rand_int_range(random, 10, 99));
        static const gint known_sources[] = {0, 1, 3}; /* all but mask */
        g_object_set(element, "seed-source", known_sources[g_rand_int_range(random, 0, 3)], "rect",
                     rect, "seeds", i % 2 ? "none.png" : NULL, "model",
                     g_rand_int_range(random, 0, 3), "iterations", g_rand_int_range(random, 1, 4),
                     "lambda", g_rand_double_range(random, 0, 1), "sigma",
                     g_rand_double_range(random, 0, 20), "connectivity",
                     g_rand_boolean(random) ? 4 : 8, "max-time-ms", g_rand_int_range(random, 0, 3),
                     "warm-start", g_rand_boolean(random), "output", g_rand_int_range(random, 0, 4),
                     "attach-meta", g_rand_boolean(random), "post-messages", g_rand_boolean(random),
                     NULL);
        g_free(rect);
        g_usleep(100);
    }
    g_rand_free(random);
    return NULL;
}

GST_START_TEST(test_properties_while_playing) {
    check_changes_while_playing("gpugraphcut rect=0,0,9,9", change_properties);
}
GST_END_TEST

/* The frame of the time gets the values, not the one after. */
GST_START_TEST(test_controlled) {
    static const gdouble iterations[] = {1, 4, 2, 1, 3}, lambdas[] = {0, 0.25, 4, 0.02, 1000000};
    GstVideoInfo info = make_info("NV12", 40, 30);
    GstHarness *h = harness_new();
    Model model = model_new();
    control(h->element, "iterations", iterations, G_N_ELEMENTS(iterations));
    control(h->element, "lambda", lambdas, G_N_ELEMENTS(lambdas));
    set_info(h, &info);
    for (guint i = 0; i < G_N_ELEMENTS(iterations); i++) {
        GstBuffer *in = scene(&info);
        model.params.iterations = (gint)iterations[i];
        model.params.lambda = (gfloat)lambdas[i];
        GST_BUFFER_PTS(in) = i * GST_SECOND;
        check_frame(h, &model, &info, in, "overlay");
    }
    model_free(&model);
    gst_harness_teardown(h);
}
GST_END_TEST

/* ---- backend and properties ---- */

GST_START_TEST(test_backend_cuda_without_a_device) {
    GstElement *pipeline =
        launch("videotestsrc num-buffers=1 ! gpugraphcut backend=cuda ! fakesink");
    GstBus *bus = gst_element_get_bus(pipeline);
    fail_unless_equals_int(gst_element_set_state(pipeline, GST_STATE_PAUSED),
                           GST_STATE_CHANGE_FAILURE);
    assert_error(bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND, "backend=cuda");
    reach(pipeline, GST_STATE_NULL);
    gst_object_unref(bus);
    gst_object_unref(pipeline);
}
GST_END_TEST

/* By GObject, which finds that it is out of range. */
GST_START_TEST(test_nan_is_refused) {
    static const gchar *const names[] = {"lambda", "sigma"};
    GstElement *element = gst_check_setup_element("gpugraphcut");
    gchar *warning = NULL;
    const guint handler = keep_refusals(&warning);
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        gfloat value = -1;
        g_object_set(element, names[i], 3.0, NULL);
        fail_unless(warning == NULL, "%s", warning);
        g_object_set(element, names[i], (gdouble)NAN, NULL);
        fail_unless(warning != NULL && strstr(warning, names[i]));
        g_object_get(element, names[i], &value, NULL);
        fail_unless_equals_float(value, 3);
        g_clear_pointer(&warning, g_free);
    }
    g_log_remove_handler("GLib-GObject", handler);
    gst_check_teardown_element(element);
}
GST_END_TEST

GST_START_TEST(test_int_properties) {
    static const IntProperty expected[] = {{"iterations", 1, 100, 1},
                                           {"max-time-ms", 0, 2147483, 0}};
    check_int_properties("gpugraphcut", expected, G_N_ELEMENTS(expected));
}
GST_END_TEST

GST_START_TEST(test_property_flags) {
    check_property_flags("gpugraphcut");
}
GST_END_TEST

typedef struct {
    const gchar *name;
    gint initial;
    const gchar *other;
    gint value; /* of other */
} EnumProperty;

static void check_enum(GstElement *element, const EnumProperty *expected) {
    gint value = -1;
    g_object_get(element, expected->name, &value, NULL);
    fail_unless_equals_int(value, expected->initial);
    gst_util_set_object_arg(G_OBJECT(element), expected->name, expected->other);
    g_object_get(element, expected->name, &value, NULL);
    fail_unless_equals_int(value, expected->value);
}

GST_START_TEST(test_other_properties) {
    static const EnumProperty enums[] = {
        {"seed-source", 0, "roi-meta", 3},    {"model", GPV_SEGMENT_MODEL_GMM, "means", 2},
        {"connectivity", 4, "8", 8},          {"output", 0, "cutout", 2},
        {"warm-start", TRUE, "false", FALSE},
    };
    static const gchar *const texts[] = {"rect", "seeds"};
    GstElement *element = gst_check_setup_element("gpugraphcut");
    gfloat lambda = -1, sigma = -1;
    for (guint i = 0; i < G_N_ELEMENTS(enums); i++)
        check_enum(element, &enums[i]);
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
        gchar *text = NULL;
        g_object_get(element, texts[i], &text, NULL);
        fail_unless(text == NULL);
        g_object_set(element, texts[i], "anything", NULL);
        g_object_get(element, texts[i], &text, NULL);
        fail_unless_equals_string(text, "anything");
        g_free(text);
    }
    g_object_get(element, "lambda", &lambda, "sigma", &sigma, NULL);
    fail_unless(lambda == 0.02f && sigma == 0);
    g_object_set(element, "lambda", 1e6, "sigma", 1e6, NULL);
    g_object_get(element, "lambda", &lambda, "sigma", &sigma, NULL);
    fail_unless(lambda == 1e6f && sigma == 1e6f);
    gst_check_teardown_element(element);
}
GST_END_TEST

GST_START_TEST(test_factory) {
    check_factory("gpugraphcut", "Filter/Effect/Video/Hardware");
}
GST_END_TEST

static Suite *gpugraphcut_suite(void) {
    Suite *suite = suite_create("gpugraphcut");
    TCase *tcase = add_case(suite, "pixels");
    tcase_add_loop_test(tcase, test_formats, 0, some_of(G_N_ELEMENTS(formats)));
    tcase_add_loop_test(tcase, test_parameters, 0, G_N_ELEMENTS(outputs));
    tcase_add_loop_test(tcase, test_colorimetry, 0, 2); /* NV12 and I420 */
    tcase_add_loop_test(tcase, test_downstream_pool, 0, G_N_ELEMENTS(outputs));
    tcase_add_test(tcase, test_none_copies_nothing);
    tcase_add_loop_test(tcase, test_short_buffer, 0, G_N_ELEMENTS(outputs));
    tcase_add_loop_test(tcase, test_buffer_metadata_is_kept, 0, G_N_ELEMENTS(outputs));
    tcase = add_case(suite, "results");
    tcase_add_test(tcase, test_known_picture);
    tcase_add_test(tcase, test_message);
    tcase_add_loop_test(tcase, test_no_results_unless_wanted, 0, G_N_ELEMENTS(outputs));
    tcase_add_test(tcase, test_results_are_scaled);
    tcase_add_test(tcase, test_max_time);
    tcase = add_case(suite, "known");
    tcase_add_test(tcase, test_rect);
    tcase_add_test(tcase, test_bad_rect);
    tcase_add_test(tcase, test_regions);
    tcase_add_test(tcase, test_regions_of_gpuccl);
    tcase_add_loop_test(tcase, test_seeds, 0, some_of(G_N_ELEMENTS(formats)));
    tcase_add_test(tcase, test_seeds_are_scaled);
    tcase_add_test(tcase, test_seeds_are_read_once);
    tcase_add_test(tcase, test_bad_seeds);
    tcase = add_case(suite, "video");
    tcase_add_loop_test(tcase, test_object_moves, 0, 2);
    tcase_add_test(tcase, test_what_a_frame_begins_with);
    tcase_add_test(tcase, test_what_begins_anew);
    tcase_add_loop_test(tcase, test_frames_that_teach_nothing, 0, 6);
    tcase = add_case(suite, "caps");
    tcase_add_test(tcase, test_renegotiation);
    tcase_add_loop_test(tcase, test_output_while_playing, 0, some_of(G_N_ELEMENTS(formats)));
    tcase_add_test(tcase, test_output_asks_upstream);
    tcase_add_loop_test(tcase, test_output_refused, 0, 2);
    tcase_add_test(tcase, test_caps_queries);
    tcase_add_test(tcase, test_templates);
    tcase_add_test(tcase, test_caps_refused);
    tcase = add_case(suite, "stream");
    tcase_add_loop_test(tcase, test_flush, 0, G_N_ELEMENTS(outputs));
    tcase_add_loop_test(tcase, test_seek, 0, G_N_ELEMENTS(descriptions));
    tcase_add_loop_test(tcase, test_cycles, 0, G_N_ELEMENTS(descriptions));
    tcase_add_test(tcase, test_properties_while_playing);
    tcase_add_test(tcase, test_controlled);
    tcase = add_case(suite, "properties");
    if (!have_cuda_device())
        tcase_add_test(tcase, test_backend_cuda_without_a_device);
    tcase_add_test(tcase, test_nan_is_refused);
    tcase_add_test(tcase, test_int_properties);
    tcase_add_test(tcase, test_property_flags);
    tcase_add_test(tcase, test_other_properties);
    tcase_add_test(tcase, test_factory);
    return suite;
}

int main(int argc, char **argv) {
    gst_check_init(&argc, &argv);
    return run_with_pictures(gpugraphcut_suite, "gpugraphcut", __FILE__);
}
