/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of the elements share. */
#ifndef TESTS_GST_HELPERS_H
#define TESTS_GST_HELPERS_H

#include <gpuvision/gpuvision.h>
#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/video/video.h>

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Asks in another process, because one that has touched CUDA cannot fork children that use it. */
static inline gboolean have_cuda_device(void) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0)
        _exit(!gpv_backend_available(GPV_BACKEND_CUDA));
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* ---- leaks ---- */

static inline void assert_nothing_lives(void) {
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
        gchar *text = g_strdup_value_contents(gst_value_list_get_value(list, i));
        g_printerr("alive: %s\n", text);
        g_free(text);
    }
    fail_unless_equals_int(gst_value_list_get_size(list), 0);
    gst_structure_free(info);
    g_list_free_full(tracers, gst_object_unref);
}

/* ---- frames ---- */

static inline GstVideoInfo make_info(const gchar *format, gint width, gint height) {
    GstVideoInfo info;
    fail_unless(
        gst_video_info_set_format(&info, gst_video_format_from_string(format), width, height));
    info.fps_n = 25;
    info.fps_d = 1;
    return info;
}

/* Odd strides and offsets, described by GstVideoMeta. */
static inline GstVideoInfo padded(const GstVideoInfo *info) {
    GstVideoInfo wide = *info;
    gsize offset = 3;
    for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES(info); p++) {
        wide.stride[p] = info->stride[p] + 5 + 2 * (gint)p;
        wide.offset[p] = offset;
        offset += (gsize)wide.stride[p] * (GST_VIDEO_INFO_HEIGHT(info) + 1) + 7;
    }
    wide.size = offset;
    return wide;
}

static inline GstBuffer *buffer_of_size(gsize size) {
    GstBuffer *buffer = gst_buffer_new_allocate(NULL, size, NULL);
    GstMapInfo map;
    fail_unless(gst_buffer_map(buffer, &map, GST_MAP_WRITE));
    for (gsize i = 0; i < map.size; i++)
        map.data[i] = (guint8)g_random_int();
    gst_buffer_unmap(buffer, &map);
    GST_BUFFER_PTS(buffer) = 0;
    GST_BUFFER_DURATION(buffer) = GST_SECOND / 25;
    return buffer;
}

static inline GstBuffer *random_frame(const GstVideoInfo *info) {
    return buffer_of_size(info->size);
}

static inline GstBuffer *random_padded_frame(const GstVideoInfo *info) {
    GstVideoInfo wide = padded(info);
    GstBuffer *buffer = buffer_of_size(wide.size);
    gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(info),
                                   info->width, info->height, GST_VIDEO_INFO_N_PLANES(info),
                                   wide.offset, wide.stride);
    return buffer;
}

/* Bytes of a row of a plane, and rows. */
static inline void plane_size(const GstVideoInfo *info, guint plane, gsize *bytes, gsize *rows) {
    gint components[GST_VIDEO_MAX_COMPONENTS];
    gst_video_format_info_component(info->finfo, plane, components);
    *bytes = (gsize)GST_VIDEO_INFO_COMP_WIDTH(info, components[0]) *
             (gsize)GST_VIDEO_INFO_COMP_PSTRIDE(info, components[0]);
    *rows = (gsize)GST_VIDEO_INFO_COMP_HEIGHT(info, components[0]);
}

/* Both may be in CUDAMemory, which is copied when it is mapped. */
static inline void copy_mapped(const GstVideoInfo *info, GstBuffer *from, GstBuffer *to) {
    GstVideoFrame src, dst;
    fail_unless(gst_video_frame_map(&src, info, from, GST_MAP_READ));
    fail_unless(gst_video_frame_map(&dst, info, to, GST_MAP_WRITE));
    fail_unless(gst_video_frame_copy(&dst, &src));
    gst_video_frame_unmap(&dst);
    gst_video_frame_unmap(&src);
}

static inline GstCaps *cuda_caps(const GstVideoInfo *info) {
    GstCaps *caps = gst_video_info_to_caps(info);
    gst_caps_set_features_simple(caps, gst_caps_features_new("memory:CUDAMemory", NULL));
    return caps;
}

/* Of CUDAMemory, as a source is offered it. */
static inline GstBufferPool *offered_pool(GstHarness *h, const GstVideoInfo *info, guint *size) {
    GstCaps *caps = cuda_caps(info);
    GstQuery *query = gst_query_new_allocation(caps, TRUE);
    GstBufferPool *pool = NULL;
    fail_unless(gst_pad_peer_query(h->srcpad, query));
    fail_unless(gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL));
    fail_unless_equals_int(gst_query_get_n_allocation_pools(query), 1);
    gst_query_parse_nth_allocation_pool(query, 0, &pool, size, NULL, NULL);
    gst_query_unref(query);
    gst_caps_unref(caps);
    return pool;
}

/* ---- pipelines ---- */

/* Takes the element, which starts with the properties that it has. */
static inline GstHarness *harness_with(GstElement *element) {
    GstHarness *h = gst_harness_new_with_element(element, "sink", "src");
    gst_object_unref(element);
    return h;
}

/* A gpuerode with this backend. */
static inline GstElement *gpuerode_new(const gchar *backend) {
    GstElement *element = gst_element_factory_make("gpuerode", NULL);
    fail_unless(element != NULL);
    gst_util_set_object_arg(G_OBJECT(element), "backend", backend);
    return element;
}

static inline GstMessage *error_on(GstBus *bus, GQuark domain, gint code, gchar **text) {
    GstMessage *message = gst_bus_timed_pop_filtered(bus, 10 * GST_SECOND, GST_MESSAGE_ERROR);
    GError *error = NULL;
    gchar *debug = NULL;
    fail_unless(message != NULL, "no error on the bus");
    gst_message_parse_error(message, &error, &debug);
    fail_unless(g_error_matches(error, domain, code), "%s (%s)", error->message, debug);
    *text = g_strdup_printf("%s %s", error->message, debug ? debug : "");
    g_error_free(error);
    g_free(debug);
    return message;
}

static inline void assert_error(GstBus *bus, GQuark domain, gint code, const gchar *words) {
    gchar *text = NULL;
    GstMessage *message = error_on(bus, domain, code, &text);
    fail_unless(strstr(text, words) != NULL, "\"%s\" does not say \"%s\"", text, words);
    g_free(text);
    gst_message_unref(message);
}

static inline GstBus *add_bus(GstElement *element) {
    GstBus *bus = gst_bus_new();
    gst_element_set_bus(element, bus);
    return bus;
}

static inline void drop_bus(GstElement *element, GstBus *bus) {
    gst_element_set_bus(element, NULL);
    gst_object_unref(bus);
}

static inline GstElement *launch(const gchar *description) {
    GError *error = NULL;
    GstElement *pipeline = gst_parse_launch(description, &error);
    fail_unless(error == NULL, "%s: %s", description, error ? error->message : "");
    return pipeline;
}

static inline void reach(GstElement *pipeline, GstState state) {
    fail_if(gst_element_set_state(pipeline, state) == GST_STATE_CHANGE_FAILURE);
    fail_unless_equals_int(gst_element_get_state(pipeline, NULL, NULL, 60 * GST_SECOND),
                           GST_STATE_CHANGE_SUCCESS);
}

static inline void wait_for_eos(GstElement *pipeline) {
    GstBus *bus = gst_element_get_bus(pipeline);
    GstMessage *message =
        gst_bus_timed_pop_filtered(bus, 60 * GST_SECOND, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
    fail_unless(message != NULL, "no end within a minute");
    fail_unless_equals_int(GST_MESSAGE_TYPE(message), GST_MESSAGE_EOS);
    gst_message_unref(message);
    gst_object_unref(bus);
}

static inline TCase *add_case(Suite *suite, const gchar *name) {
    TCase *tcase = tcase_create(name);
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, NULL, assert_nothing_lives);
    return tcase;
}

#endif
