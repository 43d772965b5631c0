/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The element against the library called directly on the same frames, whose
 * results tests/parity compares with their definition, and its behaviour in
 * pipelines, in system memory, on the backend GPV_TEST_BACKEND, or on the CPU.
 * With GST_TRACERS=leaks every test also fails on objects that are alive after
 * it. GPV_TEST_PICTURE names one more picture whose noisy copies are segmented.
 */
#include "clip.h"

#include <math.h>

/* ---- the library ---- */

typedef struct {
    gpv_context *context;
    gpv_kmeans *op;
    gpv_kmeans_params params;
    gpv_color_matrix matrix; /* of frames in YUV; at first what make_info() means */
    gpv_color_range range;
} Model;

typedef struct {
    GstBuffer *image; /* laid out as output_info() says */
    gpv_kmeans_result found;
    gfloat centroids[GPV_KMEANS_MAX_CLUSTERS][3];
    gint32 counts[GPV_KMEANS_MAX_CLUSTERS];
} Expected;

/* The defaults of the element. */
static gpv_kmeans_params default_params(void) {
    gpv_kmeans_params params;
    gpv_kmeans_params_init(&params, sizeof params);
    params.warm_start = 1;
    return params;
}

static Model model_with(const gpv_kmeans_params *params) {
    Model model = {.params = *params, .matrix = GPV_COLOR_MATRIX_BT601};
    gpv_context_params wanted;
    gpv_context_params_init(&wanted, sizeof wanted);
    wanted.backend = GPV_BACKEND_CPU;
    fail_unless_equals_int(gpv_context_create(&wanted, &model.context), GPV_OK);
    fail_unless_equals_int(gpv_kmeans_create(model.context, params, &model.op), GPV_OK);
    return model;
}

static Model model_new(void) {
    const gpv_kmeans_params params = default_params();
    return model_with(&params);
}

static void model_free(Model *model) {
    gpv_kmeans_destroy(&model->op);
    gpv_context_destroy(&model->context);
}

static void model_forget(Model *model) {
    gpv_kmeans_destroy(&model->op);
    fail_unless_equals_int(gpv_kmeans_create(model->context, &model->params, &model->op), GPV_OK);
}

static void set_params(GstElement *element, Model *model, const gpv_kmeans_params *params) {
    g_object_set(element, "clusters", params->clusters, "max-clusters", params->max_clusters,
                 "max-iterations", params->max_iterations, "tolerance", params->tolerance, "metric",
                 params->metric, "init", params->init, "seed", params->seed, "warm-start",
                 params->warm_start, "color-space", params->color_space, NULL);
    fail_unless_equals_int(gpv_kmeans_set_params(model->op, params), GPV_OK);
    model->params = *params;
}

static gpv_image view_of(const Model *model, const GstVideoFrame *frame) {
    gpv_image image = library_image(frame);
    image.color_matrix = model->matrix;
    image.color_range = model->range;
    return image;
}

/* ---- pixels ---- */

static const gchar *const outputs[] = {"quantized", "labels"};

/* What the caps of the output are to be. */
static GstVideoInfo output_info(const GstVideoInfo *in, const gchar *output) {
    GstVideoInfo info = *in;
    return g_str_equal(output, "labels") ? make_info("GRAY8", in->width, in->height) : info;
}

/* What the library makes of a frame, after those that it was given before. */
static Expected expect(Model *model, const GstVideoInfo *info, GstBuffer *buffer,
                       const gchar *output) {
    const GstVideoInfo out_info = output_info(info, output);
    const gboolean labels = g_str_equal(output, "labels");
    Expected expected = {.image = buffer_of_size(out_info.size)};
    const gpv_buffer centroids = buffer_for(expected.centroids, sizeof expected.centroids);
    const gpv_buffer counts = buffer_for(expected.counts, sizeof expected.counts);
    GstVideoFrame in, out;
    gpv_image src, dst;
    fail_unless(gst_video_frame_map(&in, info, buffer, GST_MAP_READ));
    fail_unless(gst_video_frame_map(&out, &out_info, expected.image, GST_MAP_WRITE));
    src = view_of(model, &in);
    dst = view_of(model, &out);
    fail_unless_equals_int(gpv_kmeans_run(model->op, NULL, &src, labels ? &dst : NULL,
                                          labels ? NULL : &dst, &centroids, &counts, NULL),
                           GPV_OK);
    gpv_kmeans_result_init(&expected.found, sizeof expected.found);
    fail_unless_equals_int(gpv_kmeans_wait(model->op, &expected.found), GPV_OK);
    gst_video_frame_unmap(&out);
    gst_video_frame_unmap(&in);
    return expected;
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

static void assert_results(const GstStructure *results, const Model *model,
                           const Expected *expected) {
    const gint clusters = expected->found.clusters;
    fail_unless(gst_structure_has_name(results, "gpukmeans"));
    fail_unless_equals_int(int_field(results, "clusters"), clusters);
    fail_unless_equals_int(int_field(results, "iterations"), expected->found.iterations);
    fail_unless(double_field(results, "inertia") == expected->found.inertia);
    fail_unless_equals_int(size_of(results, "centroids"), clusters);
    fail_unless_equals_int(size_of(results, "counts"), clusters);
    for (guint i = 0; i < (guint)clusters; i++) {
        fail_unless_equals_int(
            int_at(results, "centroids", i),
            (gint)gpv_kmeans_color(model->params.color_space, expected->centroids[i]));
        fail_unless_equals_int(int_at(results, "counts", i), expected->counts[i]);
    }
}

/* ---- frames ---- */

static GstHarness *harness_new(void) {
    return harness_with(element_new("gpukmeans", test_backend()));
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
    assert_results(results_of(out, "gpukmeans"), model, &expected);
    gst_buffer_unref(expected.image);
    gst_buffer_unref(before);
    gst_buffer_unref(in);
    gst_buffer_unref(out);
}

/* Of four values of each byte, so that there are few colours. */
static GstBuffer *coarse_frame(const GstVideoInfo *info) {
    GstBuffer *buffer = random_frame(info);
    GstMapInfo map;
    fail_unless(gst_buffer_map(buffer, &map, GST_MAP_READWRITE));
    for (gsize i = 0; i < map.size; i++)
        map.data[i] &= 0xc0;
    gst_buffer_unmap(buffer, &map);
    return buffer;
}

/* ---- pixels ---- */

/* Every format, size and output, with the buffer's own layout and with a padded one. */
GST_START_TEST(test_formats) {
    GstHarness *h = harness_new();
    Model model = model_new();
    for (guint s = 0; s < G_N_ELEMENTS(sizes); s++) {
        GstVideoInfo info = make_info(formats[__i__], sizes[s][0], sizes[s][1]);
        set_info(h, &info);
        for (guint o = 0; o < G_N_ELEMENTS(outputs); o++) {
            set_output(h, outputs[o]);
            check_frame(h, &model, &info, random_frame(&info), outputs[o]);
            check_frame(h, &model, &info, random_padded_frame(&info), outputs[o]);
        }
    }
    model_free(&model);
    gst_harness_teardown(h);
}
GST_END_TEST

static gpv_kmeans_params random_params(void) {
    static const gint clusters[] = {0, 2, 3, 8, 17, 256}, iterations[] = {0, 1, 2, 20, 10000};
    static const gfloat tolerances[] = {-1, 0, 0.5, 3, 255};
    gpv_kmeans_params params = default_params();
    params.clusters = clusters[g_random_int_range(0, G_N_ELEMENTS(clusters))];
    params.max_clusters = g_random_int_range(2, 20);
    params.max_iterations = iterations[g_random_int_range(0, G_N_ELEMENTS(iterations))];
    params.tolerance = tolerances[g_random_int_range(0, G_N_ELEMENTS(tolerances))];
    if (params.max_iterations > 20)
        params.tolerance = MAX(params.tolerance, 0);
    params.metric = (gpv_kmeans_metric)g_random_int_range(0, 2);
    params.init = (gpv_kmeans_init_method)g_random_int_range(0, 3);
    params.color_space = (gpv_kmeans_color_space)g_random_int_range(0, 2);
    params.seed = (guint64)g_random_int() << 32 | g_random_int();
    params.warm_start = (guint32)g_random_int_range(0, 2);
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
        const gpv_kmeans_params params = random_params();
        GstVideoInfo info = make_info(some_formats[i % 3], 19, 13);
        set_params(h->element, &model, &params);
        set_info(h, &info);
        for (guint f = 0; f < 3; f++)
            check_frame(h, &model, &info, f ? coarse_frame(&info) : random_frame(&info), output);
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
            check_frame(h, &model, &info, random_frame(&info), outputs[o]);
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
    GstBuffer *in = random_frame(&info), *out;
    Expected expected = expect(&model, &info, in, output);
    guint offers = 0;
    set_output(h, output);
    gst_pad_add_probe(h->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer_padded_pool, &offers,
                      NULL);
    set_info(h, &info);
    out = push_and_pull(h, in);
    fail_unless(offers > 0);
    fail_unless(gst_buffer_get_video_meta(out) != NULL);
    fail_unless(gst_buffer_get_video_meta(out)->offset[0] > 0);
    fail_unless(gst_buffer_get_video_meta(out)->format == GST_VIDEO_INFO_FORMAT(&out_info));
    assert_same(&out_info, out, expected.image);
    gst_buffer_unref(expected.image);
    gst_buffer_unref(out);
    model_free(&model);
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

static gint color_of(gchar letter) {
    guint i = 0;
    while (drawn[i].letter != letter)
        i++;
    return drawn[i].color;
}

static void paint(GstVideoFrame *frame, gint x, gint y, gint color) {
    guint8 *pixel = (guint8 *)GST_VIDEO_FRAME_PLANE_DATA(frame, 0) +
                    y * GST_VIDEO_FRAME_PLANE_STRIDE(frame, 0) + 3 * x;
    for (gint c = 0; c < 3; c++)
        pixel[c] = (guint8)(color >> (16 - 8 * c));
}

static GstBuffer *drawn_frame(const GstVideoInfo *info) {
    GstBuffer *buffer = random_frame(info);
    GstVideoFrame frame;
    fail_unless(gst_video_frame_map(&frame, info, buffer, GST_MAP_WRITE));
    for (gint y = 0; y < info->height; y++)
        for (gint x = 0; x < info->width; x++)
            paint(&frame, x, y, color_of(picture[y][x]));
    gst_video_frame_unmap(&frame);
    return buffer;
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
        gchar *text = g_strdup_printf("gpukmeans %s", known[i].properties);
        GstHarness *h = gst_harness_new_parse(text);
        set_info(h, &info);
        for (guint f = 0; f < 2; f++)
            assert_drawn(push_and_pull(h, drawn_frame(&info)), known[i].clusters);
        gst_harness_teardown(h);
        g_free(text);
    }
}
GST_END_TEST

/* The colours come out of the picture as they went in, and the labels are those of the results. */
GST_START_TEST(test_known_pixels) {
    GstVideoInfo info = DRAWN, grey = output_info(&info, "labels");
    GstHarness *h = harness_new();
    GstBuffer *in = drawn_frame(&info), *out;
    GstVideoFrame frame;
    g_object_set(h->element, "clusters", 4, NULL);
    set_info(h, &info);
    out = push_and_pull(h, gst_buffer_ref(in));
    assert_same(&info, out, in);
    gst_buffer_unref(out);
    set_output(h, "labels");
    out = push_and_pull(h, in);
    fail_unless(gst_video_frame_map(&frame, &grey, out, GST_MAP_READ));
    for (gint y = 0; y < info.height; y++)
        for (gint x = 0; x < info.width; x++) {
            const guint8 label = ((guint8 *)GST_VIDEO_FRAME_PLANE_DATA(
                &frame, 0))[y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0) + x];
            fail_unless_equals_int(int_at(results_of(out, "gpukmeans"), "centroids", label),
                                   color_of(picture[y][x]));
        }
    gst_video_frame_unmap(&frame);
    gst_buffer_unref(out);
    gst_harness_teardown(h);
}
GST_END_TEST

/* Where the number of clusters is chosen, one colour is one cluster. */
GST_START_TEST(test_one_color) {
    GstVideoInfo info = make_info("GRAY8", 16, 9);
    GstHarness *h = gst_harness_new_parse("gpukmeans clusters=0");
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
    gst_harness_teardown(h);
}
GST_END_TEST

GST_START_TEST(test_message) {
    GstVideoInfo info = make_info("RGB", 40, 30);
    GstHarness *h = gst_harness_new_parse("gpukmeans post-messages=true attach-meta=false");
    Model model = model_new();
    GstBuffer *in = random_frame(&info), *out;
    Expected expected = expect(&model, &info, in, "quantized");
    GstMessage *message;
    set_info(h, &info);
    message = message_of(h, in, &out);
    assert_results(gst_message_get_structure(message), &model, &expected);
    fail_unless(gst_buffer_get_custom_meta(out, "gpukmeans") == NULL);
    gst_message_unref(message);
    gst_buffer_unref(expected.image);
    gst_buffer_unref(out);
    model_free(&model);
    gst_harness_teardown(h);
}
GST_END_TEST

/* The pixels are the same where nobody wants the results, and the next frame starts from them. */
GST_START_TEST(test_no_results_unless_wanted) {
    const gchar *output = outputs[__i__];
    GstVideoInfo info = make_info("RGB", 65, 31), out_info = output_info(&info, output);
    GstHarness *h = harness_new();
    GstBus *bus = add_bus(h->element);
    Model model = model_new();
    set_output(h, output);
    set_info(h, &info);
    for (guint i = 0; i < 3; i++) {
        GstBuffer *in = random_frame(&info), *out;
        Expected expected = expect(&model, &info, in, output);
        g_object_set(h->element, "attach-meta", i == 2, NULL);
        out = push_and_pull(h, in);
        assert_same(&out_info, out, expected.image);
        if (i == 2)
            assert_results(results_of(out, "gpukmeans"), &model, &expected);
        else
            fail_unless(gst_buffer_get_custom_meta(out, "gpukmeans") == NULL);
        gst_buffer_unref(expected.image);
        gst_buffer_unref(out);
    }
    fail_unless(gst_bus_pop_filtered(bus, GST_MESSAGE_ELEMENT) == NULL);
    model_free(&model);
    drop_bus(h->element, bus);
    gst_harness_teardown(h);
}
GST_END_TEST

/* Pixels and sums over them are those of the frame that they are on; colours are no pixels. */
GST_START_TEST(test_results_are_scaled) {
    GstVideoInfo info = DRAWN;
    GstHarness *h = gst_harness_new_parse(
        "gpukmeans clusters=4 ! videoscale ! capsfilter caps=video/x-raw,width=24,height=8");
    const GstStructure *results;
    GstBuffer *out;
    set_info(h, &info);
    out = push_and_pull(h, drawn_frame(&info));
    results = results_of(out, "gpukmeans");
    fail_unless_equals_int(int_field(results, "clusters"), 4);
    fail_unless_equals_int(int_field(results, "iterations"), 1);
    for (guint i = 0; i < G_N_ELEMENTS(drawn); i++)
        fail_unless_equals_int(count_of(results, drawn[i].color), 6 * drawn[i].count);
    gst_buffer_unref(out);
    gst_harness_teardown(h);
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
static GstBuffer *flat_picture(const GstVideoInfo *info, gint colors) {
    GstBuffer *buffer = random_frame(info);
    GstVideoFrame frame;
    fail_unless(gst_video_frame_map(&frame, info, buffer, GST_MAP_WRITE));
    for (gint y = 0; y < info->height; y++)
        for (gint x = 0; x < info->width; x++) {
            const gint i = (x / 11 + 5 * (y / 13)) % colors;
            paint(&frame, x, y,
                  (30 + 60 * (i % 4)) << 16 | (30 + 60 * (i / 2 % 4)) << 8 | (30 + 180 * (i % 2)));
        }
    gst_video_frame_unmap(&frame);
    return buffer;
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
static GstBuffer *smooth_picture(const GstVideoInfo *info) {
    GstBuffer *buffer = random_frame(info);
    GstVideoFrame frame;
    fail_unless(gst_video_frame_map(&frame, info, buffer, GST_MAP_WRITE));
    for (gint y = 0; y < info->height; y++)
        for (gint x = 0; x < info->width; x++) {
            gint color = 0;
            for (gint c = 0; c < 3; c++) {
                gdouble level = 128;
                for (gint cell = 64; cell >= 2; cell /= 2)
                    level +=
                        3.0 * cell * lattice_noise(17u * (guint)cell, x, y, cell) +
                        1.5 * cell * lattice_noise(17u * (guint)cell + 1 + (guint)c, x, y, cell);
                color = color << 8 | (gint)CLAMP(level, 0, 255);
            }
            paint(&frame, x, y, color);
        }
    gst_video_frame_unmap(&frame);
    return buffer;
}

/* Decoded by GStreamer. */
static GstBuffer *read_picture(const gchar *path) {
    GstElement *pipeline =
        launch("filesrc name=file ! decodebin ! videoconvert ! videoscale ! video/x-raw,format=RGB,"
               "width=160,height=120,pixel-aspect-ratio=1/1 ! fakesink name=sink");
    GstElement *file = gst_bin_get_by_name(GST_BIN(pipeline), "file");
    GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
    GstSample *sample = NULL;
    GstBuffer *buffer;
    g_object_set(file, "location", path, NULL);
    reach(pipeline, GST_STATE_PAUSED);
    g_object_get(sink, "last-sample", &sample, NULL);
    buffer = gst_buffer_copy_deep(gst_sample_get_buffer(sample));
    gst_sample_unref(sample);
    reach(pipeline, GST_STATE_NULL);
    gst_object_unref(sink);
    gst_object_unref(file);
    gst_object_unref(pipeline);
    return buffer;
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
    GstHarness *h = harness_new();
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
    gst_harness_teardown(h);
}
GST_END_TEST

/* The centroids of this moment, which stay what they are. */
static Model frozen(const Model *model, const Expected *expected) {
    gpv_kmeans_params params = model->params;
    Model result;
    params.init = GPV_KMEANS_INIT_GIVEN;
    params.max_iterations = 0;
    params.warm_start = 0;
    result = model_with(&params);
    fail_unless_equals_int(
        gpv_kmeans_set_centroids(result.op, expected->centroids[0], params.clusters), GPV_OK);
    return result;
}

/*
 * Where colours change gradually, noise changes labels even if centroids are kept as they are after
 * the first frame. The element may change hardly more of them: all in all, and in every frame but
 * those at the start, which go on with an iteration that had ended short of its fixed point.
 */
static void check_stability(const gchar *name, GstBuffer *clean) {
    enum { frames = 60, settled = 10 };
    GstVideoInfo info = VIDEO;
    GstHarness *h = harness_new();
    Model model = model_new(), still = {0};
    GstBuffer *last = NULL, *last_still = NULL;
    guint64 state = 1, changes = 0, changes_of_still = 0;
    gdouble worst = 0;
    set_output(h, "labels");
    set_info(h, &info);
    for (guint frame = 0; frame < frames; frame++) {
        GstBuffer *in = noisy_copy(clean, &state), *out, *out_still;
        if (frame == 0) {
            Expected first = expect(&model, &info, in, "labels");
            still = frozen(&model, &first);
            gst_buffer_unref(first.image);
        }
        out_still = expect(&still, &info, in, "labels").image;
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
    model_free(&still);
    model_free(&model);
    gst_harness_teardown(h);
}

GST_START_TEST(test_smooth_colors_keep_their_labels) {
    GstVideoInfo info = VIDEO;
    check_stability("smooth colours", smooth_picture(&info));
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
    Expected first = expect(cold, &info, picture, "quantized");
    gdouble inertia = 0;
    for (guint i = 0; i < 5; i++) {
        GstBuffer *out = push_and_pull(h, gst_buffer_ref(picture));
        inertia = double_field(results_of(out, "gpukmeans"), "inertia");
        gst_buffer_unref(out);
    }
    fail_unless(inertia <= 1.1 * first.found.inertia,
                "%d clusters, after %s: inertia is %g, of a cold start %g", cold->params.clusters,
                after, inertia, first.found.inertia);
    gst_buffer_unref(first.image);
}

/* Centroids of one scene do not stay bad ones of the next. */
GST_START_TEST(test_another_scene) {
    static const struct {
        const gchar *name;
        gint level;
    } uniform[] = {{"black", 0}, {"white", 255}, {"grey", 128}};
    GstVideoInfo info = VIDEO;
    GstHarness *h = harness_new();
    gpv_kmeans_params params = default_params();
    GstBuffer *scenes[] = {photograph(), flat_picture(&info, 5)};
    Model cold;
    params.clusters = __i__ ? 4 : 0;
    params.warm_start = 0;
    cold = model_with(&params);
    g_object_set(h->element, "clusters", params.clusters, NULL);
    set_info(h, &info);
    for (guint i = 0; i < G_N_ELEMENTS(uniform); i++)
        for (guint s = 0; s < 2; s++) {
            gst_buffer_unref(push_and_pull(h, faded(scenes[s], 0, uniform[i].level)));
            check_arrival(h, &cold, scenes[s], uniform[i].name);
        }
    for (guint s = 0; s < 2; s++) /* they come in turn */
        check_arrival(h, &cold, scenes[s], "a cut");
    for (guint s = 0; s < 2; s++) {
        for (gint parts = 0; parts < 30; parts++)
            gst_buffer_unref(push_and_pull(h, faded(scenes[s], parts, 0)));
        check_arrival(h, &cold, scenes[s], "a fade from black");
    }
    gst_buffer_unref(scenes[0]);
    gst_buffer_unref(scenes[1]);
    model_free(&cold);
    gst_harness_teardown(h);
}
GST_END_TEST

/* A frame starts from the one before, also after a gap and new caps; the first after a start does
   not, nor, unless keep-state says so, after a flush, where a stream starts, or after reset. */
GST_START_TEST(test_what_a_frame_starts_from) {
    GstVideoInfo info = make_info("RGB", 40, 30), smaller = make_info("NV12", 17, 13);
    GstHarness *h = harness_new();
    for (guint start = 0; start < 4; start++) {
        const gboolean keeps = start / 2;
        Model model = model_new();
        GstBuffer *cut = random_frame(&info);
        GST_BUFFER_FLAG_SET(cut, GST_BUFFER_FLAG_DISCONT);
        set_info(h, &info);
        check_frame(h, &model, &info, random_frame(&info), "quantized");
        check_frame(h, &model, &info, cut, "quantized");
        g_object_set(h->element, "keep-state", keeps, NULL);
        flush(h, random_frame(&info));
        if (!keeps)
            model_forget(&model);
        check_frame(h, &model, &info, random_frame(&info), "quantized");
        set_info(h, &smaller);
        check_frame(h, &model, &smaller, random_frame(&smaller), "quantized");
        gst_pad_push_event(h->srcpad, gst_event_new_stream_start("another"));
        set_info(h, &smaller);
        if (!keeps)
            model_forget(&model);
        check_frame(h, &model, &smaller, random_frame(&smaller), "quantized");
        g_signal_emit_by_name(h->element, "reset");
        model_forget(&model);
        check_frame(h, &model, &smaller, random_frame(&smaller), "quantized");
        model_free(&model);
        gst_element_set_state(h->element, GST_STATE_READY);
        gst_element_set_state(h->element, GST_STATE_PLAYING);
        gst_pad_push_event(h->srcpad, gst_event_new_stream_start("test"));
    }
    gst_harness_teardown(h);
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

/* Between two frames: the next one is what the property says. */
GST_START_TEST(test_output_while_playing) {
    GstVideoInfo info = make_info(formats[__i__], 21, 17);
    GstHarness *h = harness_new();
    Model model = model_new();
    set_info(h, &info);
    for (guint i = 0; i < 8; i++) {
        const gchar *output = outputs[i / 2 % 2 ^ i % 2];
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
    check_output_refused(harness_new(), "labels", "quantized");
}
GST_END_TEST

/* What upstream is told depends on what downstream takes, and on the output. */
GST_START_TEST(test_caps_queries) {
    GstHarness *h = gst_harness_new("gpukmeans");
    gst_harness_set_sink_caps_str(h, "video/x-raw,format={GRAY8,RGB},width=64");
    assert_takes(h->element, "sink", "video/x-raw,format=RGB,width=64", TRUE);
    assert_takes(h->element, "sink", "video/x-raw,format=NV12,width=64", FALSE);
    assert_takes(h->element, "sink", "video/x-raw,format=RGB,width=65", FALSE);
    set_output(h, "labels");
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
        {"src", "video/x-raw(memory:CUDAMemory),format=NV12", TRUE},
        {"src", "video/x-raw(memory:CUDAMemory),format=GRAY8", FALSE},
        {"src", "video/x-raw,format=GRAY16_LE", FALSE},
        {"sink", "video/x-raw(memory:CUDAMemory),format=RGB", TRUE},
        {"sink", "video/x-raw,format=P010_10LE", FALSE},
    };
    check_templates("gpukmeans", expected, G_N_ELEMENTS(expected));
}
GST_END_TEST

GST_START_TEST(test_caps_refused) {
    static const gchar *const refused[][2] = {
        {"video/x-raw,format=P010_10LE,width=64,height=48,framerate=25/1", "videoconvert"},
        {"video/x-raw(memory:CUDAMemory),format=P010_10LE,width=64,height=48,framerate=25/1",
         "cudadownload and videoconvert"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(refused); i++)
        check_refusal("gpukmeans", refused[i][0], refused[i][1]);
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

GST_START_TEST(test_seek) {
    check_seeks(__i__ ? "gpukmeans output=labels" : "gpukmeans");
}
GST_END_TEST

GST_START_TEST(test_cycles) {
    check_restarts(__i__ ? "gpukmeans output=labels" : "gpukmeans");
}
GST_END_TEST

static gpointer change_properties(gpointer element) {
    GRand *random = g_rand_new_with_seed(7);
    for (guint i = 0; i < 2000; i++) {
        const gint clusters = g_rand_int_range(random, -20, 257);
        g_object_set(
            element, "clusters", clusters < 2 ? 0 : clusters, "max-clusters",
            g_rand_int_range(random, 2, 20), "max-iterations", g_rand_int_range(random, 0, 40),
            "tolerance", g_rand_double_range(random, -1, 5), "metric",
            g_rand_int_range(random, 0, 2), "init", g_rand_int_range(random, 0, 3), "seed",
            (guint64)g_rand_int(random) << 20, "warm-start", g_rand_boolean(random), "color-space",
            g_rand_int_range(random, 0, 2), "output", g_rand_int_range(random, 0, 2), "attach-meta",
            g_rand_boolean(random), "post-messages", g_rand_boolean(random), NULL);
        g_usleep(100);
    }
    g_rand_free(random);
    return NULL;
}

GST_START_TEST(test_properties_while_playing) {
    check_changes_while_playing("gpukmeans", change_properties);
}
GST_END_TEST

/* The frame of the time gets the values, not the one after. */
GST_START_TEST(test_controlled) {
    static const gdouble clusters[] = {2, 7, 0, 3, 256}, tolerances[] = {0, 0.25, 4, -1, 0.5};
    GstVideoInfo info = make_info("NV12", 40, 30);
    GstHarness *h = harness_new();
    Model model = model_new();
    gpv_kmeans_params params = default_params();
    control(h->element, "clusters", clusters, G_N_ELEMENTS(clusters));
    control(h->element, "tolerance", tolerances, G_N_ELEMENTS(tolerances));
    set_info(h, &info);
    for (guint i = 0; i < G_N_ELEMENTS(clusters); i++) {
        GstBuffer *in = random_frame(&info);
        params.clusters = (gint)clusters[i];
        params.tolerance = (gfloat)tolerances[i];
        fail_unless_equals_int(gpv_kmeans_set_params(model.op, &params), GPV_OK);
        GST_BUFFER_PTS(in) = i * GST_SECOND;
        check_frame(h, &model, &info, in, "quantized");
    }
    model_free(&model);
    gst_harness_teardown(h);
}
GST_END_TEST

/* ---- backend and properties ---- */

GST_START_TEST(test_backend_cuda_without_a_device) {
    GstElement *pipeline = launch("videotestsrc num-buffers=1 ! gpukmeans backend=cuda ! fakesink");
    GstBus *bus = gst_element_get_bus(pipeline);
    fail_unless_equals_int(gst_element_set_state(pipeline, GST_STATE_PAUSED),
                           GST_STATE_CHANGE_FAILURE);
    assert_error(bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND, "backend=cuda");
    reach(pipeline, GST_STATE_NULL);
    gst_object_unref(bus);
    gst_object_unref(pipeline);
}
GST_END_TEST

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

/* By GObject, which finds that it is out of range. */
GST_START_TEST(test_nan_is_refused) {
    GstElement *element = gst_check_setup_element("gpukmeans");
    gfloat tolerance = -1;
    gchar *warning = NULL;
    const guint handler = keep_refusals(&warning);
    g_object_set(element, "tolerance", 3.0, NULL);
    fail_unless(warning == NULL, "%s", warning);
    g_object_set(element, "tolerance", (gdouble)NAN, NULL);
    fail_unless(warning != NULL && strstr(warning, "tolerance"));
    g_object_get(element, "tolerance", &tolerance, NULL);
    fail_unless_equals_float(tolerance, 3);
    g_free(warning);
    g_log_remove_handler("GLib-GObject", handler);
    gst_check_teardown_element(element);
}
GST_END_TEST

GST_START_TEST(test_int_properties) {
    static const IntProperty expected[] = {
        {"clusters", 0, 256, 8}, {"max-clusters", 2, 256, 16}, {"max-iterations", 0, 10000, 20}};
    check_int_properties("gpukmeans", expected, G_N_ELEMENTS(expected));
}
GST_END_TEST

GST_START_TEST(test_property_flags) {
    check_property_flags("gpukmeans");
}
GST_END_TEST

GST_START_TEST(test_other_properties) {
    GstElement *element = gst_check_setup_element("gpukmeans");
    gint metric = -1, start = -1, space = -1, output = -1;
    gfloat tolerance = -1;
    guint64 seed = 1;
    gboolean warm_start = FALSE;
    g_object_get(element, "metric", &metric, "init", &start, "color-space", &space, "output",
                 &output, "tolerance", &tolerance, "seed", &seed, "warm-start", &warm_start, NULL);
    fail_unless_equals_int(metric, GPV_KMEANS_METRIC_L2);
    fail_unless_equals_int(start, GPV_KMEANS_INIT_PLUSPLUS);
    fail_unless_equals_int(space, GPV_KMEANS_COLOR_SPACE_RGB);
    fail_unless_equals_int(output, 0);
    fail_unless_equals_float(tolerance, 0.5);
    fail_unless_equals_uint64(seed, 0);
    fail_unless_equals_int(warm_start, TRUE);
    gst_util_set_object_arg(G_OBJECT(element), "metric", "l1");
    gst_util_set_object_arg(G_OBJECT(element), "init", "grid");
    gst_util_set_object_arg(G_OBJECT(element), "color-space", "lab");
    gst_util_set_object_arg(G_OBJECT(element), "tolerance", "0.25");
    gst_util_set_object_arg(G_OBJECT(element), "seed", "18446744073709551615");
    gst_util_set_object_arg(G_OBJECT(element), "warm-start", "false");
    g_object_get(element, "metric", &metric, "init", &start, "color-space", &space, "tolerance",
                 &tolerance, "seed", &seed, "warm-start", &warm_start, NULL);
    fail_unless_equals_int(metric, GPV_KMEANS_METRIC_L1);
    fail_unless_equals_int(start, GPV_KMEANS_INIT_GRID);
    fail_unless_equals_int(space, GPV_KMEANS_COLOR_SPACE_LAB);
    fail_unless_equals_float(tolerance, 0.25);
    fail_unless_equals_uint64(seed, G_MAXUINT64);
    fail_unless_equals_int(warm_start, FALSE);
    gst_util_set_object_arg(G_OBJECT(element), "init", "random");
    g_object_get(element, "init", &start, NULL);
    fail_unless_equals_int(start, GPV_KMEANS_INIT_RANDOM);
    gst_check_teardown_element(element);
}
GST_END_TEST

GST_START_TEST(test_factory) {
    check_factory("gpukmeans", "Filter/Effect/Video/Hardware");
}
GST_END_TEST

static Suite *gpukmeans_suite(void) {
    Suite *suite = suite_create("gpukmeans");
    TCase *tcase = add_case(suite, "pixels");
    tcase_add_loop_test(tcase, test_formats, 0, some_of(G_N_ELEMENTS(formats)));
    tcase_add_loop_test(tcase, test_parameters, 0, G_N_ELEMENTS(outputs));
    tcase_add_loop_test(tcase, test_colorimetry, 0, 2); /* NV12 and I420 */
    tcase_add_loop_test(tcase, test_downstream_pool, 0, G_N_ELEMENTS(outputs));
    tcase_add_loop_test(tcase, test_short_buffer, 0, G_N_ELEMENTS(outputs));
    tcase_add_loop_test(tcase, test_buffer_metadata_is_kept, 0, G_N_ELEMENTS(outputs));
    tcase = add_case(suite, "results");
    tcase_add_test(tcase, test_known_picture);
    tcase_add_test(tcase, test_known_pixels);
    tcase_add_test(tcase, test_one_color);
    tcase_add_test(tcase, test_message);
    tcase_add_loop_test(tcase, test_no_results_unless_wanted, 0, G_N_ELEMENTS(outputs));
    tcase_add_test(tcase, test_results_are_scaled);
    tcase = add_case(suite, "video");
    tcase_add_loop_test(tcase, test_flat_colors_keep_their_labels, 0, 3);
    tcase_add_test(tcase, test_smooth_colors_keep_their_labels);
    tcase_add_test(tcase, test_photograph_keeps_its_labels);
    if (g_getenv("GPV_TEST_PICTURE"))
        tcase_add_test(tcase, test_given_picture_keeps_its_labels);
    tcase_add_loop_test(tcase, test_another_scene, 0, 2);
    tcase_add_test(tcase, test_what_a_frame_starts_from);
    tcase = add_case(suite, "caps");
    tcase_add_test(tcase, test_renegotiation);
    tcase_add_loop_test(tcase, test_output_while_playing, 0, some_of(G_N_ELEMENTS(formats)));
    tcase_add_test(tcase, test_output_asks_upstream);
    tcase_add_test(tcase, test_output_refused);
    tcase_add_test(tcase, test_caps_queries);
    tcase_add_test(tcase, test_templates);
    tcase_add_test(tcase, test_caps_refused);
    tcase = add_case(suite, "stream");
    tcase_add_loop_test(tcase, test_flush, 0, G_N_ELEMENTS(outputs));
    tcase_add_loop_test(tcase, test_seek, 0, 2);
    tcase_add_loop_test(tcase, test_cycles, 0, 2);
    tcase_add_test(tcase, test_properties_while_playing);
    tcase_add_test(tcase, test_controlled);
    tcase = add_case(suite, "properties");
    if (!have_cuda_device())
        tcase_add_test(tcase, test_backend_cuda_without_a_device);
    tcase_add_test(tcase, test_one_cluster_is_refused);
    tcase_add_test(tcase, test_nan_is_refused);
    tcase_add_test(tcase, test_int_properties);
    tcase_add_test(tcase, test_property_flags);
    tcase_add_test(tcase, test_other_properties);
    tcase_add_test(tcase, test_factory);
    return suite;
}

int main(int argc, char **argv) {
    gst_check_init(&argc, &argv);
    return run_on_backend(gpukmeans_suite, "gpukmeans", __FILE__);
}
