/* SPDX-License-Identifier: BSD-2-Clause */
#include "helpers.h"

#include <gst/controller/controller.h>

#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

gboolean have_cuda_device(void) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0)
        _exit(!gpv_backend_available(GPV_BACKEND_CUDA));
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* ---- leaks ---- */

void assert_nothing_lives(void) {
    GList *tracers = gst_tracing_get_active_tracers();
    GstStructure *info = NULL;
    const GValue *list;
    if (!g_getenv("GST_TRACERS"))
        return;
    fail_unless(tracers != NULL, "GST_TRACERS is set, but no tracer runs");
    g_signal_emit_by_name(tracers->data, "get-live-objects", &info);
    fail_unless(info != NULL);
    list = gst_structure_get_value(info, "live-objects-list");
    for (guint i = 0; i < gst_value_list_get_size(list); i++) {
        g_autofree gchar *text = g_strdup_value_contents(gst_value_list_get_value(list, i));
        g_printerr("alive: %s\n", text);
    }
    fail_unless_equals_int(gst_value_list_get_size(list), 0);
    gst_structure_free(info);
    g_list_free_full(tracers, gst_object_unref);
}

void load_type_finders(void) {
    GList *finders = gst_type_find_factory_get_list();
    GList *tracers = gst_tracing_get_active_tracers();
    GstStructure *info = NULL;
    const GValue *list;
    for (GList *finder = finders; finder; finder = finder->next) {
        GstPluginFeature *loaded = gst_plugin_feature_load(finder->data);
        gst_clear_object(&loaded);
    }
    gst_plugin_feature_list_free(finders);
    if (!tracers)
        return;
    g_signal_emit_by_name(tracers->data, "get-live-objects", &info);
    list = gst_structure_get_value(info, "live-objects-list");
    for (guint i = 0; i < gst_value_list_get_size(list); i++) {
        const GstStructure *alive = gst_value_get_structure(gst_value_list_get_value(list, i));
        const GValue *object = gst_structure_get_value(alive, "object");
        if (GST_VALUE_HOLDS_CAPS(object))
            GST_MINI_OBJECT_FLAG_SET(g_value_get_boxed(object), GST_MINI_OBJECT_FLAG_MAY_BE_LEAKED);
        else if (G_VALUE_HOLDS(object, GST_TYPE_OBJECT))
            GST_OBJECT_FLAG_SET(g_value_get_object(object), GST_OBJECT_FLAG_MAY_BE_LEAKED);
    }
    g_list_free_full(tracers, gst_object_unref);
}

/* ---- frames ---- */

/* The last five are in system memory alone. */
const gchar *const formats[] = {
    "NV12",    "I420", "RGBA",  "BGRA",    "RGBx", "BGRx", "RGB",      "BGR",  "P010_10LE",
    "P016_LE", "NV21", "YV12",  "YUY2",    "UYVY", "Y444", "ARGB",     "ABGR", "RGBP",
    "BGRP",    "GBR",  "GRAY8", "P012_LE", "xRGB", "xBGR", "GRAY16_LE"};
const gint sizes[][2] = {{1, 1}, {1, 7}, {7, 1}, {2, 2}, {17, 13}, {64, 48}, {641, 479}};

GstVideoInfo make_info(const gchar *format, gint width, gint height) {
    GstVideoInfo info;
    fail_unless(
        gst_video_info_set_format(&info, gst_video_format_from_string(format), width, height));
    info.fps_n = 25;
    info.fps_d = 1;
    return info;
}

static gint sample_bytes(const GstVideoInfo *info) {
    return GST_VIDEO_INFO_COMP_DEPTH(info, 0) > 8 ? 2 : 1;
}

GstVideoInfo padded(const GstVideoInfo *info) {
    GstVideoInfo wide = *info;
    const gint sample = sample_bytes(info);
    gsize offset = 3 * (gsize)sample;
    for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES(info); p++) {
        wide.stride[p] = info->stride[p] + (5 + 2 * (gint)p) * sample;
        wide.offset[p] = offset;
        offset += (gsize)wide.stride[p] * (GST_VIDEO_INFO_HEIGHT(info) + 1) + 7 * (gsize)sample;
    }
    wide.size = offset;
    return wide;
}

GstBuffer *buffer_of_size(gsize size) {
    GstBuffer *buffer = gst_buffer_new_allocate(NULL, size, NULL);
    GstMapInfo map;
    fail_unless(gst_buffer_map(buffer, &map, GST_MAP_WRITE));
    for (gsize i = 0; i < map.size; i += sizeof(guint32)) {
        const guint32 word = g_random_int();
        memcpy(map.data + i, &word, MIN(sizeof word, map.size - i));
    }
    gst_buffer_unmap(buffer, &map);
    GST_BUFFER_PTS(buffer) = 0;
    GST_BUFFER_DURATION(buffer) = GST_SECOND / 25;
    return buffer;
}

GstBuffer *random_frame(const GstVideoInfo *info) {
    return buffer_of_size(info->size);
}

GstBuffer *random_padded_frame(const GstVideoInfo *info) {
    GstVideoInfo wide = padded(info);
    GstBuffer *buffer = buffer_of_size(wide.size);
    gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(info),
                                   info->width, info->height, GST_VIDEO_INFO_N_PLANES(info),
                                   wide.offset, wide.stride);
    return buffer;
}

void plane_size(const GstVideoInfo *info, guint plane, gsize *bytes, gsize *rows) {
    gint components[GST_VIDEO_MAX_COMPONENTS];
    gst_video_format_info_component(info->finfo, plane, components);
    *bytes = 0;
    for (gint i = 0; i < GST_VIDEO_MAX_COMPONENTS && components[i] >= 0; i++)
        *bytes = MAX(*bytes, (gsize)GST_VIDEO_INFO_COMP_WIDTH(info, components[i]) *
                                 (gsize)GST_VIDEO_INFO_COMP_PSTRIDE(info, components[i]));
    *rows = (gsize)GST_VIDEO_INFO_COMP_HEIGHT(info, components[0]);
}

void assert_same(const GstVideoInfo *info, GstBuffer *got, GstBuffer *expected) {
    assert_same_of("it", info, got, expected);
}

void assert_same_of(const gchar *whose, const GstVideoInfo *info, GstBuffer *got,
                    GstBuffer *expected) {
    GstVideoFrame a, b;
    fail_unless(gst_video_frame_map(&a, info, got, GST_MAP_READ));
    fail_unless(gst_video_frame_map(&b, info, expected, GST_MAP_READ));
    for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES(info); p++) {
        const guint8 *x = GST_VIDEO_FRAME_PLANE_DATA(&a, p), *y = GST_VIDEO_FRAME_PLANE_DATA(&b, p);
        gsize bytes, rows;
        plane_size(info, p, &bytes, &rows);
        for (gsize row = 0; row < rows; row++)
            fail_unless(memcmp(x + row * (gsize)GST_VIDEO_FRAME_PLANE_STRIDE(&a, p),
                               y + row * (gsize)GST_VIDEO_FRAME_PLANE_STRIDE(&b, p), bytes) == 0,
                        "what %s makes, %s %dx%d, differs in plane %u, row %" G_GSIZE_FORMAT, whose,
                        GST_VIDEO_INFO_NAME(info), info->width, info->height, p, row);
    }
    gst_video_frame_unmap(&a);
    gst_video_frame_unmap(&b);
}

Plane plane_new(gint width, gint height) {
    Plane plane = {width, height, g_malloc0((gsize)width * height)};
    return plane;
}

void plane_free(Plane *plane) {
    g_free(plane->pixels);
}

static guint8 *pixel_at(const GstVideoFrame *frame, gint component, gint x, gint y) {
    return (guint8 *)GST_VIDEO_FRAME_COMP_DATA(frame, component) +
           y * GST_VIDEO_FRAME_COMP_STRIDE(frame, component) +
           x * GST_VIDEO_FRAME_COMP_PSTRIDE(frame, component);
}

Plane plane_of(const GstVideoInfo *info, GstBuffer *buffer) {
    Plane plane = plane_new(info->width, info->height);
    GstVideoFrame frame;
    fail_unless(gst_video_frame_map(&frame, info, buffer, GST_MAP_READ));
    for (gint i = 0; i < plane.width * plane.height; i++)
        plane.pixels[i] = *pixel_at(&frame, 0, i % plane.width, i / plane.width);
    gst_video_frame_unmap(&frame);
    return plane;
}

GstBuffer *painted_frame(const GstVideoInfo *info, Painter color, gconstpointer user) {
    const gboolean rgb = GST_VIDEO_INFO_IS_RGB(info);
    GstBuffer *buffer = random_frame(info);
    GstVideoFrame frame;
    fail_unless(gst_video_frame_map(&frame, info, buffer, GST_MAP_WRITE));
    for (gint y = 0; y < info->height; y++)
        for (gint x = 0; x < info->width; x++) {
            const guint32 value = color(x, y, user);
            for (gint c = 0; c < (rgb ? 3 : 1); c++)
                pixel_at(&frame, c, x, y)[sample_bytes(info) - 1] =
                    (guint8)(rgb ? value >> (16 - 8 * c) : value);
        }
    gst_video_frame_unmap(&frame);
    return buffer;
}

/* ---- the library ---- */

gpv_buffer buffer_for(gpointer data, gsize size) {
    gpv_buffer buffer;
    gpv_buffer_init(&buffer, sizeof buffer);
    buffer.data = data;
    buffer.size = size;
    return buffer;
}

gpv_image plane_view(const Plane *plane) {
    gpv_image image;
    gpv_image_wrap(&image, sizeof image, GPV_FORMAT_GRAY8, plane->width, plane->height,
                   plane->pixels, plane->width);
    return image;
}

/* ---- pictures in files ---- */

File file_new(const gchar *name) {
    File file;
    file.folder = g_dir_make_tmp(NULL, NULL);
    file.path = g_build_filename(file.folder, name, NULL);
    return file;
}

void file_free(File *file) {
    g_remove(file->path);
    g_rmdir(file->folder);
    g_free(file->path);
    g_free(file->folder);
}

void write_picture(const File *file, const Plane *plane, gint channels) {
    g_autofree gchar *header =
        g_strdup_printf("P%d\n%d %d\n255\n", channels == 1 ? 5 : 6, plane->width, plane->height);
    GString *bytes = g_string_new(header);
    for (gint i = 0; i < plane->width * plane->height * channels; i++)
        g_string_append_c(bytes, (gchar)plane->pixels[i / channels]);
    fail_unless(g_file_set_contents(file->path, bytes->str, (gssize)bytes->len, NULL));
    g_string_free(bytes, TRUE);
}

/* ---- frames of others ---- */

void copy_mapped(const GstVideoInfo *info, GstBuffer *from, GstBuffer *to) {
    GstVideoFrame src, dst;
    fail_unless(gst_video_frame_map(&src, info, from, GST_MAP_READ));
    fail_unless(gst_video_frame_map(&dst, info, to, GST_MAP_WRITE));
    fail_unless(gst_video_frame_copy(&dst, &src));
    gst_video_frame_unmap(&dst);
    gst_video_frame_unmap(&src);
}

GstBuffer *add_crop(GstBuffer *frame, const Crop *crop) {
    GstVideoCropMeta *meta = gst_buffer_add_video_crop_meta(frame);
    meta->x = crop->x;
    meta->y = crop->y;
    meta->width = (guint)crop->width;
    meta->height = (guint)crop->height;
    return frame;
}

GstCaps *cuda_caps(const GstVideoInfo *info) {
    GstCaps *caps = gst_video_info_to_caps(info);
    gst_caps_set_features_simple(caps, gst_caps_features_new("memory:CUDAMemory", NULL));
    return caps;
}

GstBufferPool *offered_pool(GstHarness *h, const GstVideoInfo *info, guint *size) {
    g_autoptr(GstCaps) caps = cuda_caps(info);
    g_autoptr(GstQuery) query = gst_query_new_allocation(caps, TRUE);
    GstBufferPool *pool = NULL;
    fail_unless(gst_pad_peer_query(h->srcpad, query));
    fail_unless(gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL));
    fail_unless_equals_int(gst_query_get_n_allocation_pools(query), 1);
    gst_query_parse_nth_allocation_pool(query, 0, &pool, size, NULL, NULL);
    return pool;
}

/* ---- pipelines ---- */

GstHarness *harness_with(GstElement *element) {
    GstHarness *h = gst_harness_new_with_element(element, "sink", "src");
    gst_object_unref(element);
    return h;
}

void harness_free(GstHarness *h) {
    gst_element_set_bus(h->element, NULL);
    gst_harness_teardown(h);
}

const gchar *test_backend(void) {
    const gchar *backend = g_getenv("GPV_TEST_BACKEND");
    return backend ? backend : "cpu";
}

/*
 * Gives an element, or a pipeline, the CUDA context of one element that lives as long as the
 * process: to make one takes longer than most tests. Where each test has a process, there is
 * nothing to share.
 */
static void share_cuda_context(GstElement *element) {
    static GstElement *owner;
    static GstContext *shared;
    if (!g_str_equal(test_backend(), "cuda") || g_strcmp0(g_getenv("CK_FORK"), "no") != 0)
        return;
    if (!owner) {
        owner = gst_element_factory_make("gpuerode", NULL);
        gst_util_set_object_arg(G_OBJECT(owner), "backend", "cuda");
        fail_unless_equals_int(gst_element_set_state(owner, GST_STATE_PAUSED),
                               GST_STATE_CHANGE_SUCCESS);
        shared = gst_element_get_context(owner, "gst.cuda.context");
    }
    if (shared) /* without CUDAMemory there is none */
        gst_element_set_context(element, shared);
}

GstElement *element_new(const gchar *name, const gchar *backend) {
    GstElement *element = gst_element_factory_make(name, NULL);
    fail_unless(element != NULL);
    gst_util_set_object_arg(G_OBJECT(element), "backend", backend);
    share_cuda_context(element);
    return element;
}

void set_info(GstHarness *h, const GstVideoInfo *info) {
    gst_harness_set_src_caps(h, gst_video_info_to_caps(info));
}

void set_output(GstHarness *h, const gchar *output) {
    GObject *element = G_OBJECT(h->element);
    const gboolean draws =
        g_object_class_find_property(G_OBJECT_GET_CLASS(element), "overlay") != NULL;
    gst_util_set_object_arg(element, draws ? "overlay" : "output", output);
}

/* What a message on the bus says. */
static gchar *text_on(GstBus *bus, GstMessageType type, GQuark domain, gint code) {
    g_autoptr(GstMessage) message = gst_bus_timed_pop_filtered(bus, 10 * GST_SECOND, type);
    g_autoptr(GError) error = NULL;
    g_autofree gchar *debug = NULL;
    fail_unless(message != NULL, "no %s on the bus", gst_message_type_get_name(type));
    if (type == GST_MESSAGE_ERROR)
        gst_message_parse_error(message, &error, &debug);
    else
        gst_message_parse_warning(message, &error, &debug);
    fail_unless(g_error_matches(error, domain, code), "%s (%s)", error->message, debug);
    return g_strdup_printf("%s %s", error->message, debug ? debug : "");
}

gchar *error_on(GstBus *bus, GQuark domain, gint code) {
    return text_on(bus, GST_MESSAGE_ERROR, domain, code);
}

static void assert_says(GstBus *bus, GstMessageType type, GQuark domain, gint code,
                        const gchar *words) {
    g_autofree gchar *text = text_on(bus, type, domain, code);
    fail_unless(strstr(text, words) != NULL, "\"%s\" does not say \"%s\"", text, words);
}

void assert_error(GstBus *bus, GQuark domain, gint code, const gchar *words) {
    assert_says(bus, GST_MESSAGE_ERROR, domain, code, words);
}

void assert_warning(GstBus *bus, GQuark domain, gint code, const gchar *words) {
    assert_says(bus, GST_MESSAGE_WARNING, domain, code, words);
}

void assert_nothing_more(GstBus *bus) {
    GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_ANY & ~GST_MESSAGE_LATENCY);
    fail_unless(message == NULL, "%s on the bus", GST_MESSAGE_TYPE_NAME(message));
}

GstBus *add_bus(GstElement *element) {
    GstBus *bus = gst_bus_new();
    gst_element_set_bus(element, bus);
    return bus;
}

void drop_bus(GstElement *element, GstBus *bus) {
    gst_element_set_bus(element, NULL);
    gst_object_unref(bus);
}

GstBuffer *push_and_pull(GstHarness *h, GstBuffer *frame) {
    GstBus *before = gst_element_get_bus(h->element), *bus = before ? before : add_bus(h->element);
    const GstFlowReturn flow = gst_harness_push(h, frame);
    GstBuffer *out = flow == GST_FLOW_OK ? gst_harness_pull(h) : NULL;
    GstMessage *message = out ? NULL : gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
    GError *error = NULL;
    if (message)
        gst_message_parse_error(message, &error, NULL);
    fail_unless(out != NULL, "no frame (%s): %s: %s", gst_flow_get_name(flow),
                GST_OBJECT_NAME(message ? GST_MESSAGE_SRC(message) : GST_OBJECT(h->element)),
                error ? error->message : "it says nothing");
    if (before)
        gst_object_unref(before);
    else
        drop_bus(h->element, bus);
    return out;
}

GstBuffer *push_of(GstHarness *h, const GstVideoInfo *info, GstBuffer *frame) {
    set_info(h, info);
    return push_and_pull(h, frame);
}

GstBuffer *push_through(const gchar *elements, const GstVideoInfo *info, GstBuffer *frame) {
    g_autoptr(GstHarness) h = gst_harness_new_parse(elements);
    return push_of(h, info, frame);
}

void assert_buffer_refused(GstHarness *h, GstCaps *caps, GstBuffer *buffer) {
    GstBus *bus = add_bus(h->element);
    gst_harness_set_src_caps(h, caps);
    fail_unless_equals_int(gst_harness_push(h, buffer), GST_FLOW_ERROR);
    assert_error(bus, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED, "input buffer");
    drop_bus(h->element, bus);
}

GstElement *launch(const gchar *description) {
    GError *error = NULL;
    GstElement *pipeline = gst_parse_launch(description, &error);
    fail_unless(error == NULL, "%s: %s", description, error ? error->message : "");
    share_cuda_context(pipeline);
    return pipeline;
}

void reach(GstElement *pipeline, GstState state) {
    fail_if(gst_element_set_state(pipeline, state) == GST_STATE_CHANGE_FAILURE);
    fail_unless_equals_int(gst_element_get_state(pipeline, NULL, NULL, 60 * GST_SECOND),
                           GST_STATE_CHANGE_SUCCESS);
}

void wait_for_eos(GstElement *pipeline) {
    g_autoptr(GstBus) bus = gst_element_get_bus(pipeline);
    g_autoptr(GstMessage) message =
        gst_bus_timed_pop_filtered(bus, 120 * GST_SECOND, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
    fail_unless(message != NULL, "no end within two minutes");
    fail_unless_equals_int(GST_MESSAGE_TYPE(message), GST_MESSAGE_EOS);
}

GstClockTime preroll_time(GstElement *pipeline) {
    g_autoptr(GstElement) sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
    g_autoptr(GstSample) sample = NULL;
    g_object_get(sink, "last-sample", &sample, NULL);
    fail_unless(sample != NULL);
    return GST_BUFFER_PTS(gst_sample_get_buffer(sample));
}

/* ---- caps ---- */

void assert_output_caps(GstHarness *h, const GstVideoInfo *expected) {
    g_autoptr(GstCaps) caps = gst_pad_get_current_caps(h->sinkpad);
    GstVideoInfo got;
    fail_unless(gst_video_info_from_caps(&got, caps));
    fail_unless_equals_string(GST_VIDEO_INFO_NAME(&got), GST_VIDEO_INFO_NAME(expected));
    fail_unless_equals_int(got.width, expected->width);
    fail_unless_equals_int(got.height, expected->height);
    fail_unless_equals_int(got.fps_n, expected->fps_n);
}

void drop_events(GstHarness *h) {
    GstEvent *event;
    while ((event = gst_harness_try_pull_event(h)) != NULL)
        gst_event_unref(event);
    reconfigure_events(h);
}

guint reconfigure_events(GstHarness *h) {
    guint events = 0;
    GstEvent *event;
    while ((event = gst_harness_try_pull_upstream_event(h)) != NULL) {
        events += GST_EVENT_TYPE(event) == GST_EVENT_RECONFIGURE;
        gst_event_unref(event);
    }
    return events;
}

/* ---- properties ---- */

void control(GstElement *element, const gchar *property, const gdouble *values, guint n) {
    g_autoptr(GstControlSource) source = gst_interpolation_control_source_new();
    g_object_set(source, "mode", GST_INTERPOLATION_MODE_NONE, NULL);
    for (guint i = 0; i < n; i++)
        gst_timed_value_control_source_set(GST_TIMED_VALUE_CONTROL_SOURCE(source), i * GST_SECOND,
                                           values[i]);
    gst_object_add_control_binding(GST_OBJECT(element), gst_direct_control_binding_new_absolute(
                                                            GST_OBJECT(element), property, source));
}

void keep_warning(G_GNUC_UNUSED const gchar *domain, G_GNUC_UNUSED GLogLevelFlags level,
                  const gchar *message, gpointer text) {
    g_free(*(gchar **)text);
    *(gchar **)text = g_strdup(message);
}

/* ---- results ---- */

const GstStructure *results_of(GstBuffer *buffer, const gchar *name) {
    GstCustomMeta *meta = gst_buffer_get_custom_meta(buffer, name);
    fail_unless(meta != NULL);
    return gst_custom_meta_get_structure(meta);
}

gint int_field(const GstStructure *results, const gchar *name) {
    gint value = G_MININT;
    fail_unless(gst_structure_get_int(results, name, &value), "no int %s", name);
    return value;
}

gdouble double_field(const GstStructure *results, const gchar *name) {
    gdouble value = 0;
    fail_unless(gst_structure_get_double(results, name, &value), "no double %s", name);
    return value;
}

static const GValue *array_in(const GstStructure *results, const gchar *name) {
    const GValue *array = gst_structure_get_value(results, name);
    fail_unless(array != NULL && GST_VALUE_HOLDS_ARRAY(array), "no array %s", name);
    return array;
}

guint size_of(const GstStructure *results, const gchar *name) {
    return gst_value_array_get_size(array_in(results, name));
}

static const GValue *value_at(const GstStructure *results, const gchar *name, guint index) {
    fail_unless(index < size_of(results, name));
    return gst_value_array_get_value(array_in(results, name), index);
}

gint int_at(const GstStructure *results, const gchar *name, guint index) {
    return g_value_get_int(value_at(results, name, index));
}

const GstStructure *structure_at(const GstStructure *results, const gchar *name, guint index) {
    return gst_value_get_structure(value_at(results, name, index));
}

void assert_time(const GstStructure *results, const gchar *name, GstClockTime expected) {
    GstClockTime value = 0;
    fail_unless(gst_structure_get_clock_time(results, name, &value), "no time %s", name);
    fail_unless(value == expected, "%s is %" GST_TIME_FORMAT ", should be %" GST_TIME_FORMAT, name,
                GST_TIME_ARGS(value), GST_TIME_ARGS(expected));
}

/* ---- tests ---- */

static Test *first_test, **end_of_tests = &first_test;

void add_test(Test *test) {
    *end_of_tests = test;
    end_of_tests = &test->next;
}

gdouble test_seconds = 280;

int run_tests(const gchar *part) {
    const gchar *name = part ? part : g_get_prgname();
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    guint count = 0;
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, test_seconds);
    tcase_add_checked_fixture(tcase, NULL, assert_nothing_lives);
    for (const Test *test = first_test; test; test = test->next)
        if (g_strcmp0(test->part, part) == 0) {
            test->add(tcase);
            count++;
        }
    if (count == 0) {
        g_printerr("there is no part %s\n", name);
        return 2;
    }
    return gst_check_run_suite(suite, name, name);
}

int some_of(gsize count) {
    return (int)(g_getenv("GPV_TEST_SHORT") && !g_getenv("GPV_TEST_FULL") ? MIN(count, 3) : count);
}

guint rounds(guint full, guint usual, guint few) {
    const gchar *wanted = g_getenv("GPV_TEST_ROUNDS");
    const guint count = wanted                       ? (guint)g_ascii_strtoull(wanted, NULL, 10)
                        : g_getenv("GPV_TEST_FULL")  ? full
                        : g_getenv("GPV_TEST_SHORT") ? few
                                                     : usual;
    g_assert(count > 0);
    return count;
}

int not_run(const gchar *reason) {
    g_print("not run: %s\n", reason);
    return 77;
}

int run_where_a_device_is(const gchar *part) {
    return have_cuda_device() ? run_tests(part) : not_run("there is no CUDA device");
}

int run_on_backend(const gchar *part) {
    return g_str_equal(test_backend(), "cuda") ? run_where_a_device_is(part) : run_tests(part);
}

gboolean have_element(const gchar *name) {
    return gst_registry_check_feature_version(gst_registry_get(), name, 1, 22, 0);
}

int run_behind_a_decoder(const gchar *part) {
    if (!g_getenv("GPV_TEST_CLIP"))
        return not_run("GPV_TEST_CLIP names no clip");
    if (!have_element("parsebin") || !have_element("nvh264dec") || !have_element("cudadownload"))
        return not_run("parsebin, nvh264dec or cudadownload is missing");
    return run_where_a_device_is(part);
}

int run_with(const gchar *part, ...) {
    va_list needed;
    const gchar *name;
    va_start(needed, part);
    do
        name = va_arg(needed, const gchar *);
    while (name && have_element(name));
    va_end(needed);
    if (name) {
        g_print("not run: there is no %s\n", name);
        return 77;
    }
    load_type_finders();
    return run_on_backend(part);
}

int run_with_pictures(const gchar *part) {
    return run_with(part, "pnmdec", NULL);
}

GstStructure *stats_of(GstElement *element, const gchar *backend) {
    GstStructure *stats = NULL;
    g_object_get(element, "stats", &stats, NULL);
    fail_unless_equals_string(gst_structure_get_string(stats, "backend"), backend);
    return stats;
}

guint64 stat_of(GstElement *element, const gchar *backend, const gchar *name) {
    g_autoptr(GstStructure) stats = stats_of(element, backend);
    guint64 value = 0;
    fail_unless(gst_structure_get_uint64(stats, name, &value));
    return value;
}

guint thread_count(void) {
    GDir *tasks = g_dir_open("/proc/self/task", 0, NULL);
    guint count = 0;
    fail_unless(tasks != NULL);
    while (g_dir_read_name(tasks))
        count++;
    g_dir_close(tasks);
    return count;
}
