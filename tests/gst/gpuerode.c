/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The element against a brute force on the components of each frame, and its
 * behaviour in pipelines, in system memory, on the backend GPV_TEST_BACKEND, or
 * on the CPU. With GST_TRACERS=leaks every test also fails on objects that are
 * alive after it.
 */
#include "helpers.h"

#include <gst/controller/controller.h>

#include <math.h>

/* ---- brute force ---- */

typedef struct {
    const gchar *operation, *shape, *border, *planes;
    gint radius, radius_y, iterations, threshold;
} Params;

static const Params defaults = {"erode", "rect", "ignore", "auto", 1, -1, 1, 0};

static gboolean in_shape(const Params *params, gint dx, gint dy) {
    const gint rx = params->radius, ry = params->radius_y < 0 ? rx : params->radius_y;
    const gdouble inverse = ry ? 1.0 / ((gdouble)ry * ry) : 0;
    if (g_str_equal(params->shape, "rect") || (rx == 0 && ry == 0))
        return TRUE;
    if (g_str_equal(params->shape, "cross"))
        return dx == 0 || dy == 0;
    return ABS(dx) <= (gint)rint(rx * sqrt((ry * ry - dy * dy) * inverse));
}

static guint8 extreme(const Plane *in, const Params *params, gint x, gint y, gboolean largest) {
    const gint rx = params->radius, ry = params->radius_y < 0 ? rx : params->radius_y;
    guint8 result = largest ? 0 : 255;
    for (gint dy = -ry; dy <= ry; dy++) {
        for (gint dx = -rx; dx <= rx; dx++) {
            guint8 value = 0;
            const gboolean inside =
                x + dx >= 0 && x + dx < in->width && y + dy >= 0 && y + dy < in->height;
            if (!in_shape(params, dx, dy) || (!inside && g_str_equal(params->border, "ignore")))
                continue;
            if (inside)
                value = in->pixels[(y + dy) * in->width + x + dx];
            result = largest ? MAX(result, value) : MIN(result, value);
        }
    }
    return result;
}

static Plane repeated(const Plane *in, const Params *params, gboolean largest) {
    Plane now = plane_new(in->width, in->height);
    memcpy(now.pixels, in->pixels, (gsize)in->width * in->height);
    for (gint i = 0; i < params->iterations; i++) {
        Plane next = plane_new(in->width, in->height);
        for (gint y = 0; y < in->height; y++)
            for (gint x = 0; x < in->width; x++)
                next.pixels[y * in->width + x] = extreme(&now, params, x, y, largest);
        g_free(now.pixels);
        now = next;
    }
    return now;
}

static Plane twice(const Plane *in, const Params *params, gboolean largest_first) {
    Plane first = repeated(in, params, largest_first);
    Plane second = repeated(&first, params, !largest_first);
    g_free(first.pixels);
    return second;
}

/* a - b, not below 0, into a. */
static void subtract(Plane *a, const Plane *b) {
    for (gint i = 0; i < a->width * a->height; i++)
        a->pixels[i] = a->pixels[i] > b->pixels[i] ? a->pixels[i] - b->pixels[i] : 0;
}

static Plane morphology(const Plane *in, const Params *params) {
    const gchar *operation = params->operation;
    Plane result, other;
    if (g_str_equal(operation, "erode"))
        return repeated(in, params, FALSE);
    if (g_str_equal(operation, "dilate"))
        return repeated(in, params, TRUE);
    if (g_str_equal(operation, "open"))
        return twice(in, params, FALSE);
    if (g_str_equal(operation, "close"))
        return twice(in, params, TRUE);
    if (g_str_equal(operation, "gradient")) {
        result = repeated(in, params, TRUE);
        other = repeated(in, params, FALSE);
    } else if (g_str_equal(operation, "tophat")) {
        result = plane_new(in->width, in->height);
        memcpy(result.pixels, in->pixels, (gsize)in->width * in->height);
        other = twice(in, params, FALSE);
    } else {
        fail_unless_equals_string(operation, "blackhat");
        result = twice(in, params, TRUE);
        other = plane_new(in->width, in->height);
        memcpy(other.pixels, in->pixels, (gsize)in->width * in->height);
    }
    subtract(&result, &other);
    g_free(other.pixels);
    return result;
}

static Plane mask(const GstVideoFrame *frame, gint threshold) {
    Plane plane = luma(frame);
    for (gint i = 0; i < plane.width * plane.height; i++)
        plane.pixels[i] = plane.pixels[i] >= threshold ? 255 : 0;
    return plane;
}

static gboolean is_alpha(guint index) {
    return index == 3;
}

static gboolean is_chroma(const GstVideoFrame *frame, guint index) {
    return GST_VIDEO_FORMAT_INFO_IS_YUV(frame->info.finfo) && index > 0;
}

static Plane expected_component(const GstVideoFrame *frame, guint index, const Params *params) {
    Plane in = component(frame, index), out;
    if (is_alpha(index))
        return in;
    if (params->threshold > 0 && is_chroma(frame, index)) {
        memset(in.pixels, 128, (gsize)in.width * in.height);
        return in;
    }
    if (is_chroma(frame, index) && !g_str_equal(params->planes, "all"))
        return in;
    if (params->threshold > 0) {
        g_free(in.pixels);
        in = mask(frame, params->threshold);
    }
    out = morphology(&in, params);
    g_free(in.pixels);
    return out;
}

static void assert_component(const Plane *got, const Plane *expected, guint index,
                             const GstVideoInfo *info, const Params *params) {
    const gint count = got->width * got->height;
    gint i = 0;
    while (i < count && got->pixels[i] == expected->pixels[i])
        i++;
    fail_unless(i == count,
                "%s %s radius %d,%d border %s planes %s iterations %d threshold %d: "
                "%s %dx%d component %u at %d,%d is %d, should be %d",
                params->operation, params->shape, params->radius, params->radius_y, params->border,
                params->planes, params->iterations, params->threshold, GST_VIDEO_INFO_NAME(info),
                info->width, info->height, index, i % got->width, i / got->width, got->pixels[i],
                expected->pixels[i]);
}

static void assert_result(GstBuffer *in, GstBuffer *out, const GstVideoInfo *info,
                          const Params *params) {
    GstVideoFrame src, dst;
    fail_unless(gst_video_frame_map(&src, info, in, GST_MAP_READ));
    fail_unless(gst_video_frame_map(&dst, info, out, GST_MAP_READ));
    for (guint c = 0; c < GST_VIDEO_FRAME_N_COMPONENTS(&src); c++) {
        Plane expected = expected_component(&src, c, params), got = component(&dst, c);
        assert_component(&got, &expected, c, info, params);
        g_free(expected.pixels);
        g_free(got.pixels);
    }
    gst_video_frame_unmap(&src);
    gst_video_frame_unmap(&dst);
}

/* ---- frames ---- */

static GstHarness *harness_new(void) {
    return harness_with(element_new("gpuerode", test_backend()));
}

static void set_params(GstElement *element, const Params *params) {
    gst_util_set_object_arg(G_OBJECT(element), "operation", params->operation);
    gst_util_set_object_arg(G_OBJECT(element), "shape", params->shape);
    gst_util_set_object_arg(G_OBJECT(element), "border", params->border);
    gst_util_set_object_arg(G_OBJECT(element), "planes", params->planes);
    g_object_set(element, "radius", params->radius, "radius-y", params->radius_y, "iterations",
                 params->iterations, "threshold", params->threshold, NULL);
}

/* Pushes a frame and compares what comes out. Takes the buffer. */
static void check_frame(GstHarness *h, const GstVideoInfo *info, GstBuffer *in,
                        const Params *params) {
    GstBuffer *out;
    gst_buffer_ref(in);
    fail_unless_equals_int(gst_harness_push(h, in), GST_FLOW_OK);
    out = gst_harness_pull(h);
    fail_unless(out != in);
    assert_result(in, out, info, params);
    gst_buffer_unref(in);
    gst_buffer_unref(out);
}

/* ---- pixels ---- */

/* Every format and size, with the buffer's own layout and with a padded one. */
GST_START_TEST(test_formats) {
    const Params binary = {"erode", "rect", "ignore", "auto", 1, 2, 1, 100};
    GstHarness *h = harness_new();
    for (guint s = 0; s < G_N_ELEMENTS(sizes); s++) {
        GstVideoInfo info = make_info(formats[__i__], sizes[s][0], sizes[s][1]);
        set_info(h, &info);
        set_params(h->element, &defaults);
        check_frame(h, &info, random_frame(&info), &defaults);
        check_frame(h, &info, random_padded_frame(&info), &defaults);
        set_params(h->element, &binary);
        check_frame(h, &info, random_padded_frame(&info), &binary);
    }
    gst_harness_teardown(h);
}
GST_END_TEST

static void check_all_radii(GstHarness *h, const GstVideoInfo *info, Params params) {
    static const gint radii[][2] = {{0, 0}, {1, -1}, {2, 1}, {0, 3}, {4, 4}};
    for (guint r = 0; r < G_N_ELEMENTS(radii); r++) {
        params.radius = radii[r][0];
        params.radius_y = radii[r][1];
        params.iterations = 1 + (gint)(r % 2);
        set_params(h->element, &params);
        check_frame(h, info, random_padded_frame(info), &params);
    }
}

/* Every value of every property reaches the library. */
GST_START_TEST(test_operations) {
    static const gchar *const operations[] = {"erode",    "dilate", "open",    "close",
                                              "gradient", "tophat", "blackhat"};
    static const gchar *const shapes[] = {"rect", "cross", "ellipse"};
    static const gchar *const borders[] = {"ignore", "background"};
    static const gchar *const planes[] = {"auto", "luma", "all"};
    static const gchar *const some_formats[] = {"NV12", "RGBA"};
    static const gint thresholds[] = {0, 1, 128, 255};
    GstHarness *h = harness_new();
    for (guint f = 0; f < G_N_ELEMENTS(some_formats); f++) {
        GstVideoInfo info = make_info(some_formats[f], 17, 13);
        set_info(h, &info);
        for (guint i = 0; i < G_N_ELEMENTS(shapes) * G_N_ELEMENTS(borders); i++) {
            Params params = defaults;
            params.operation = operations[__i__];
            params.shape = shapes[i / 2];
            params.border = borders[i % 2];
            for (guint p = 0; p < G_N_ELEMENTS(planes); p++) {
                params.planes = planes[p];
                check_all_radii(h, &info, params);
            }
            for (guint t = 0; t < G_N_ELEMENTS(thresholds); t++) {
                params.threshold = thresholds[t];
                check_all_radii(h, &info, params);
            }
        }
    }
    gst_harness_teardown(h);
}
GST_END_TEST

/* A pool that downstream offers is used with its padding. */
GST_START_TEST(test_downstream_pool) {
    GstVideoInfo info = make_info(formats[__i__], 33, 21);
    GstHarness *h = harness_new();
    GstBuffer *in = random_frame(&info), *out;
    guint offers = 0;
    gst_pad_add_probe(h->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer_padded_pool, &offers,
                      NULL);
    set_info(h, &info);
    fail_unless_equals_int(gst_harness_push(h, gst_buffer_ref(in)), GST_FLOW_OK);
    out = gst_harness_pull(h);
    fail_unless(offers > 0);
    fail_unless(gst_buffer_get_video_meta(out) != NULL);
    fail_unless(gst_buffer_get_video_meta(out)->offset[0] > 0);
    assert_result(in, out, &info, &defaults);
    gst_buffer_unref(in);
    gst_buffer_unref(out);
    gst_harness_teardown(h);
}
GST_END_TEST

/* A pool without memory for a buffer. */
typedef GstBufferPool EmptyPool;
typedef GstBufferPoolClass EmptyPoolClass;
GType empty_pool_get_type(void);
G_DEFINE_TYPE(EmptyPool, empty_pool, GST_TYPE_BUFFER_POOL)

static GstFlowReturn no_buffer(G_GNUC_UNUSED GstBufferPool *pool, G_GNUC_UNUSED GstBuffer **buffer,
                               G_GNUC_UNUSED GstBufferPoolAcquireParams *params) {
    return GST_FLOW_ERROR;
}

static void empty_pool_class_init(EmptyPoolClass *klass) {
    klass->alloc_buffer = no_buffer;
}

static void empty_pool_init(G_GNUC_UNUSED EmptyPool *pool) {}

static GstPadProbeReturn offer_empty_pool(G_GNUC_UNUSED GstPad *pad, GstPadProbeInfo *probe,
                                          G_GNUC_UNUSED gpointer user) {
    GstQuery *query = GST_PAD_PROBE_INFO_QUERY(probe);
    GstBufferPool *pool;
    if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
        return GST_PAD_PROBE_OK;
    pool = g_object_new(empty_pool_get_type(), NULL);
    gst_object_ref_sink(pool);
    gst_query_add_allocation_pool(query, pool, 1, 0, 0);
    gst_object_unref(pool);
    return GST_PAD_PROBE_OK;
}

GST_START_TEST(test_no_output_buffer) {
    GstVideoInfo info = make_info("NV12", 64, 48);
    GstHarness *h = harness_new();
    GstBus *bus = add_bus(h->element);
    gst_pad_add_probe(h->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer_empty_pool, NULL,
                      NULL);
    set_info(h, &info);
    fail_unless_equals_int(gst_harness_push(h, random_frame(&info)), GST_FLOW_ERROR);
    assert_error(bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT, "output frame");
    drop_bus(h->element, bus);
    gst_harness_teardown(h);
}
GST_END_TEST

GST_START_TEST(test_upstream_is_offered_a_pool) {
    GstHarness *h = harness_new();
    GstVideoInfo info = make_info("NV12", 33, 21);
    GstCaps *caps = gst_video_info_to_caps(&info);
    GstQuery *query = gst_query_new_allocation(caps, TRUE);
    GstBufferPool *pool = NULL;
    guint size = 0;
    set_info(h, &info);
    fail_unless(gst_pad_peer_query(h->srcpad, query));
    fail_unless(gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL));
    fail_unless_equals_int(gst_query_get_n_allocation_pools(query), 1);
    gst_query_parse_nth_allocation_pool(query, 0, &pool, &size, NULL, NULL);
    fail_unless(GST_IS_VIDEO_BUFFER_POOL(pool));
    fail_unless_equals_int(size, info.size);
    gst_object_unref(pool);
    gst_query_unref(query);
    gst_caps_unref(caps);
    gst_harness_teardown(h);
}
GST_END_TEST

/* A buffer that is smaller than its caps say, and metadata that points outside it. */
GST_START_TEST(test_short_buffers) {
    GstVideoInfo info = make_info("I420", 64, 48), wide = padded(&info);
    for (guint i = 0; i < 3; i++) {
        GstHarness *h = harness_new();
        GstBuffer *in = buffer_of_size(i == 0 ? info.size - 1 : wide.size);
        if (i == 1)
            wide.stride[2] += 20000;
        if (i == 2) {
            wide = padded(&info);
            wide.offset[1] = wide.size - 10;
        }
        if (i > 0)
            gst_buffer_add_video_meta_full(in, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_I420, 64,
                                           48, 3, wide.offset, wide.stride);
        assert_buffer_refused(h, gst_video_info_to_caps(&info), in);
        gst_harness_teardown(h);
    }
}
GST_END_TEST

GST_START_TEST(test_buffer_metadata_is_kept) {
    check_metadata_is_kept(harness_new());
}
GST_END_TEST

/* ---- caps ---- */

GST_START_TEST(test_renegotiation) {
    GstHarness *h = harness_new();
    for (guint i = 0; i < 60; i++) {
        GstVideoInfo info = make_info(formats[(i * 5) % G_N_ELEMENTS(formats)],
                                      1 + (gint)(i * 37 % 90), 1 + (gint)(i * 53 % 70));
        GstCaps *caps = gst_video_info_to_caps(&info), *got;
        set_info(h, &info);
        check_frame(h, &info, random_padded_frame(&info), &defaults);
        got = gst_pad_get_current_caps(h->sinkpad);
        fail_unless(gst_caps_is_equal(got, caps));
        gst_caps_unref(got);
        gst_caps_unref(caps);
    }
    fail_unless_equals_int(gst_harness_buffers_received(h), 60);
    gst_harness_teardown(h);
}
GST_END_TEST

static const struct {
    const gchar *caps, *words;
} refused[] = {
    {"video/x-raw,format=P010_10LE,width=64,height=48,framerate=25/1", "videoconvert"},
    {"video/x-raw,format=P010_10LE,width=64,height=48,framerate=25/1", "P010_10LE"},
    {"video/x-raw,format=Y444,width=64,height=48,framerate=25/1", "videoconvert"},
    {"video/x-raw,format=NV12,width=64,height=48,framerate=25/1,interlace-mode=interleaved",
     "deinterlace"},
    {"video/x-raw(format:Interlaced),format=NV12,width=64,height=48,framerate=25/1,"
     "interlace-mode=alternate",
     "deinterlace"},
    {"video/x-raw,format=GRAY8,width=4,height=32768,framerate=25/1", "32767"},
    {"video/x-raw(memory:GLMemory),format=RGBA,width=64,height=48,framerate=25/1", "system memory"},
    {"video/x-raw(memory:CUDAMemory),format=P010_10LE,width=64,height=48,framerate=25/1",
     "cudadownload and videoconvert"},
    {"video/x-raw(memory:CUDAMemory),format=GRAY8,width=64,height=48,framerate=25/1",
     "GRAY8 is not supported in CUDAMemory"},
    {"video/x-bayer,format=bggr,width=64,height=48,framerate=25/1", "video/x-raw"},
};

GST_START_TEST(test_caps_refused) {
    check_refusal("gpuerode", refused[__i__].caps, refused[__i__].words);
}
GST_END_TEST

GST_START_TEST(test_sizes_refused) {
    check_sizes_refused("gpuerode");
}
GST_END_TEST

/* Good caps in between are news, and so are the same bad ones after them. */
GST_START_TEST(test_caps_refused_again) {
    GstHarness *h = gst_harness_new("gpuerode");
    GstBus *bus = add_bus(h->element);
    gst_pad_push_event(h->srcpad, gst_event_new_stream_start("test"));
    for (gint i = 0; i < 2; i++) {
        GstCaps *bad = gst_caps_from_string(refused[0].caps);
        GstCaps *good = gst_caps_from_string("video/x-raw,format=NV12,width=64,height=48,"
                                             "framerate=25/1");
        gst_pad_push_event(h->srcpad, gst_event_new_caps(bad));
        assert_warning(bus, GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION, refused[0].words);
        gst_pad_push_event(h->srcpad, gst_event_new_caps(good));
        assert_nothing_more(bus);
        gst_caps_unref(bad);
        gst_caps_unref(good);
    }
    drop_bus(h->element, bus);
    gst_harness_teardown(h);
}
GST_END_TEST

/* Before the start too, so that upstream can choose something else. */
static void assert_no_cuda_memory(GstElement *element) {
    assert_takes(element, "sink", "video/x-raw(memory:CUDAMemory)", FALSE);
}

static void check_cuda_memory_refused(const gchar *backend) {
    GstHarness *h = harness_with(element_new("gpuerode", backend));
    GstCaps *caps = gst_caps_from_string(
        "video/x-raw(memory:CUDAMemory),format=NV12,width=64,height=48,framerate=25/1");
    GstBus *bus = add_bus(h->element);
    assert_no_cuda_memory(h->element);
    fail_if(gst_pad_peer_query_accept_caps(h->srcpad, caps));
    gst_pad_push_event(h->srcpad, gst_event_new_stream_start("test"));
    gst_pad_push_event(h->srcpad, gst_event_new_caps(caps));
    fail_unless(gst_pad_get_current_caps(GST_PAD_PEER(h->srcpad)) == NULL);
    assert_warning(bus, GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION, "cudadownload");
    drop_bus(h->element, bus);
    gst_caps_unref(caps);
    gst_harness_teardown(h);
}

GST_START_TEST(test_cuda_memory_on_the_cpu) {
    GstElement *element = element_new("gpuerode", "cpu");
    assert_no_cuda_memory(element);
    gst_object_unref(element);
    check_cuda_memory_refused("cpu");
}
GST_END_TEST

GST_START_TEST(test_cuda_memory_without_a_device) {
    check_cuda_memory_refused("auto");
}
GST_END_TEST

static const gchar *const accepted[] = {
    "video/x-raw,format=NV12,width=1,height=1,framerate=0/1",
    "video/x-raw,format=NV12,width=64,height=48",
    "video/x-raw,format=NV12,width=64,height=48,framerate=25/1,interlace-mode=mixed",
    "video/x-raw,format=I420,width=64,height=48,framerate=1000/1,interlace-mode=progressive",
    "video/x-raw,format=NV12,width=64,height=48,framerate=25/1,colorimetry=bt709,chroma-site=mpeg2",
    "video/x-raw,format=RGB,width=32767,height=32767,framerate=25/1,pixel-aspect-ratio=4/3",
};

GST_START_TEST(test_caps_accepted) {
    GstHarness *h = gst_harness_new("gpuerode");
    GstCaps *caps = gst_caps_from_string(accepted[__i__]);
    fail_unless(gst_pad_peer_query_accept_caps(h->srcpad, caps));
    gst_caps_unref(caps);
    gst_harness_teardown(h);
}
GST_END_TEST

/* ---- life of a stream ---- */

GST_START_TEST(test_flush) {
    GstVideoInfo info = make_info("RGBA", 31, 9);
    GstHarness *h = harness_new();
    set_info(h, &info);
    for (guint i = 0; i < 20; i++) {
        check_frame(h, &info, random_frame(&info), &defaults);
        flush(h, random_frame(&info));
    }
    check_frame(h, &info, random_frame(&info), &defaults);
    gst_harness_teardown(h);
}
GST_END_TEST

GST_START_TEST(test_eos) {
    GstVideoInfo info = make_info("BGR", 5, 3);
    GstHarness *h = harness_new();
    set_info(h, &info);
    check_frame(h, &info, random_frame(&info), &defaults);
    fail_unless(gst_harness_push_event(h, gst_event_new_eos()));
    fail_unless_equals_int(gst_harness_push(h, random_frame(&info)), GST_FLOW_EOS);
    gst_harness_teardown(h);
}
GST_END_TEST

GST_START_TEST(test_seek) {
    check_seeks("gpuerode");
}
GST_END_TEST

GST_START_TEST(test_cycles) {
    check_restarts("gpuerode");
}
GST_END_TEST

static gpointer change_properties(gpointer element) {
    GRand *random = g_rand_new_with_seed(7);
    for (guint i = 0; i < 2000; i++) {
        g_object_set(element, "radius", g_rand_int_range(random, 0, 256), "radius-y",
                     g_rand_int_range(random, -1, 256), "shape", g_rand_int_range(random, 0, 3),
                     "operation", g_rand_int_range(random, 0, 7), "iterations",
                     g_rand_int_range(random, 1, 4), "threshold", g_rand_int_range(random, 0, 256),
                     "border", g_rand_int_range(random, 0, 2), "planes",
                     g_rand_int_range(random, 0, 3), "attach-meta", g_rand_boolean(random),
                     "post-messages", g_rand_boolean(random), NULL);
        g_usleep(100);
    }
    g_rand_free(random);
    return NULL;
}

GST_START_TEST(test_properties_while_playing) {
    check_changes_while_playing("gpuerode", change_properties);
}
GST_END_TEST

/* The radius follows stream time, which here is 10 s behind the timestamps. */
GST_START_TEST(test_controlled_radius) {
    GstVideoInfo info = make_info("GRAY8", 40, 30);
    GstHarness *h = harness_new();
    GstControlSource *source = gst_interpolation_control_source_new();
    GstTimedValueControlSource *points = GST_TIMED_VALUE_CONTROL_SOURCE(source);
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    segment.start = 10 * GST_SECOND;
    g_object_set(source, "mode", GST_INTERPOLATION_MODE_LINEAR, NULL);
    gst_timed_value_control_source_set(points, 0, 1);
    gst_timed_value_control_source_set(points, 4 * GST_SECOND, 5);
    gst_object_add_control_binding(
        GST_OBJECT(h->element),
        gst_direct_control_binding_new_absolute(GST_OBJECT(h->element), "radius", source));
    set_info(h, &info);
    fail_unless(gst_harness_push_event(h, gst_event_new_segment(&segment)));
    for (gint i = 0; i < 5; i++) {
        GstBuffer *in = random_frame(&info);
        Params params = defaults;
        params.radius = 1 + i;
        GST_BUFFER_PTS(in) = (GstClockTime)(10 + i) * GST_SECOND;
        check_frame(h, &info, in, &params);
    }
    gst_object_unref(source);
    gst_harness_teardown(h);
}
GST_END_TEST

GST_START_TEST(test_late_frames_are_dropped) {
    GstVideoInfo info = make_info("GRAY8", 8, 8);
    GstHarness *h = harness_new();
    GstBuffer *late = random_frame(&info);
    set_info(h, &info);
    check_frame(h, &info, random_frame(&info), &defaults);
    gst_harness_push_upstream_event(
        h, gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 2.0, 5 * GST_SECOND, 0));
    GST_BUFFER_PTS(late) = GST_SECOND;
    fail_unless_equals_int(gst_harness_push(h, late), GST_FLOW_OK);
    fail_unless_equals_int(gst_harness_buffers_received(h), 1);
    gst_harness_teardown(h);
}
GST_END_TEST

/* ---- backend and properties ---- */

GST_START_TEST(test_backend_cpu) {
    GstElement *pipeline =
        launch("videotestsrc num-buffers=4 ! gpuerode name=erode backend=cpu ! fakesink");
    GstElement *element = gst_bin_get_by_name(GST_BIN(pipeline), "erode");
    GstStructure *stats = NULL;
    guint64 frames = 0, uploads = 1, downloads = 1;
    gdouble last = 0, mean = 0, p99 = 0;
    g_object_get(element, "stats", &stats, NULL);
    fail_unless_equals_string(gst_structure_get_string(stats, "backend"), "none");
    gst_structure_free(stats);
    reach(pipeline, GST_STATE_PLAYING);
    wait_for_eos(pipeline);
    reach(pipeline, GST_STATE_NULL);
    g_object_get(element, "stats", &stats, NULL);
    fail_unless(gst_structure_get(stats, "frames", G_TYPE_UINT64, &frames, "time-us-last",
                                  G_TYPE_DOUBLE, &last, "time-us-mean", G_TYPE_DOUBLE, &mean,
                                  "time-us-p99", G_TYPE_DOUBLE, &p99, "uploads", G_TYPE_UINT64,
                                  &uploads, "downloads", G_TYPE_UINT64, &downloads, NULL));
    fail_unless_equals_uint64(frames, 4);
    fail_unless_equals_uint64(uploads, 0);
    fail_unless_equals_uint64(downloads, 0);
    fail_unless(last > 0 && mean > 0 && p99 >= last && p99 >= mean);
    fail_unless_equals_string(gst_structure_get_string(stats, "backend"), "cpu");
    fail_unless(strlen(gst_structure_get_string(stats, "device")) > 0);
    gst_structure_free(stats);
    gst_object_unref(element);
    gst_object_unref(pipeline);
}
GST_END_TEST

/* No part between colons says what another has said. */
static void assert_parts_differ(const gchar *text) {
    gchar **parts = g_strsplit(text, ": ", 0);
    for (guint i = 0; parts[i]; i++)
        for (guint j = i + 1; parts[j]; j++)
            fail_unless(!g_str_equal(parts[i], parts[j]), "said twice: %s", text);
    g_strfreev(parts);
}

GST_START_TEST(test_backend_cuda_without_a_device) {
    GstElement *pipeline =
        launch("videotestsrc num-buffers=1 ! gpuerode backend=cuda cuda-device-id=3 ! fakesink");
    GstBus *bus = gst_element_get_bus(pipeline);
    GstMessage *message;
    gchar *text = NULL;
    fail_unless_equals_int(gst_element_set_state(pipeline, GST_STATE_PAUSED),
                           GST_STATE_CHANGE_FAILURE);
    message = error_on(bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND, &text);
    fail_unless(strstr(text, "backend=cuda cuda-device-id=3: ") != NULL, "%s", text);
    fail_unless(strstr(text, ": gst_gpu_vision_filter_start ()") != NULL, "not where it failed: %s",
                text);
    assert_parts_differ(strstr(text, "looked for"));
    g_free(text);
    gst_message_unref(message);
    reach(pipeline, GST_STATE_NULL);
    gst_object_unref(bus);
    gst_object_unref(pipeline);
}
GST_END_TEST

GST_START_TEST(test_int_properties) {
    static const IntProperty expected[] = {{"radius", 0, 255, 1},
                                           {"radius-y", -1, 255, -1},
                                           {"iterations", 1, 255, 1},
                                           {"threshold", 0, 255, 0},
                                           {"cuda-device-id", -1, 255, -1}};
    check_int_properties("gpuerode", expected, G_N_ELEMENTS(expected));
}
GST_END_TEST

GST_START_TEST(test_property_flags) {
    check_property_flags("gpuerode");
}
GST_END_TEST

GST_START_TEST(test_enum_defaults) {
    static const gchar *const names[] = {"backend", "shape", "operation", "border", "planes"};
    GstElement *element = gst_check_setup_element("gpuerode");
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        gint value = -1;
        g_object_get(element, names[i], &value, NULL);
        fail_unless_equals_int(value, 0);
    }
    gst_check_teardown_element(element);
}
GST_END_TEST

GST_START_TEST(test_factory) {
    check_factory("gpuerode", "Filter/Effect/Video/Hardware");
}
GST_END_TEST

/* ---- results ---- */

static void assert_results(const GstStructure *results, gint radius_x, gint radius_y) {
    fail_unless(gst_structure_has_name(results, "gpuerode"));
    fail_unless_equals_string(gst_structure_get_string(results, "operation"), "open");
    fail_unless_equals_string(gst_structure_get_string(results, "shape"), "cross");
    fail_unless_equals_int(int_field(results, "radius"), radius_x);
    fail_unless_equals_int(int_field(results, "radius-y"), radius_y);
    fail_unless_equals_int(int_field(results, "iterations"), 2);
    fail_unless_equals_int(int_field(results, "threshold"), 9);
}

#define ELEMENT "gpuerode operation=open shape=cross iterations=2 threshold=9 "

static GstBuffer *push_one(GstHarness *h) {
    GstVideoInfo info = make_info("I420", 64, 48);
    set_info(h, &info);
    return push_and_pull(h, random_frame(&info));
}

GST_START_TEST(test_message) {
    GstVideoInfo info = make_info("I420", 64, 48);
    GstHarness *h = gst_harness_new_parse(ELEMENT "radius=4 post-messages=true");
    GstBuffer *out;
    GstMessage *message;
    set_info(h, &info);
    message = message_of(h, random_frame(&info), &out);
    assert_results(gst_message_get_structure(message), 4, 4);
    gst_message_unref(message);
    gst_buffer_unref(out);
    gst_harness_teardown(h);
}
GST_END_TEST

/* As from appsrc or filesrc, whose segment is in bytes: no time, and no critical of GStreamer's. */
GST_START_TEST(test_segment_in_bytes) {
    GstVideoInfo info = make_info("I420", 64, 48);
    GstHarness *h = gst_harness_new_parse(ELEMENT "radius=4 post-messages=true");
    GstBus *bus = add_bus(h->element);
    GstMessage *message;
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_BYTES);
    set_info(h, &info);
    fail_unless(gst_harness_push_event(h, gst_event_new_segment(&segment)));
    gst_buffer_unref(push_and_pull(h, random_frame(&info)));
    message = gst_bus_timed_pop_filtered(bus, GST_SECOND, GST_MESSAGE_ELEMENT);
    fail_unless(message != NULL);
    assert_results(gst_message_get_structure(message), 4, 4);
    assert_time(gst_message_get_structure(message), "timestamp", 0);
    assert_time(gst_message_get_structure(message), "stream-time", GST_CLOCK_TIME_NONE);
    assert_time(gst_message_get_structure(message), "running-time", GST_CLOCK_TIME_NONE);
    gst_message_unref(message);
    drop_bus(h->element, bus);
    gst_harness_teardown(h);
}
GST_END_TEST

GST_START_TEST(test_no_message_unless_asked) {
    GstHarness *h = gst_harness_new("gpuerode");
    GstBus *bus = add_bus(h->element);
    gst_buffer_unref(push_one(h));
    fail_unless(gst_bus_pop_filtered(bus, GST_MESSAGE_ELEMENT) == NULL);
    drop_bus(h->element, bus);
    gst_harness_teardown(h);
}
GST_END_TEST

GST_START_TEST(test_meta) {
    GstHarness *h = gst_harness_new_parse(ELEMENT "radius=4 radius-y=6");
    GstBuffer *out = push_one(h), *copy = gst_buffer_copy(out);
    assert_results(results_of(out, "gpuerode"), 4, 6);
    assert_results(results_of(copy, "gpuerode"), 4, 6);
    gst_buffer_unref(copy);
    gst_buffer_unref(out);
    gst_harness_teardown(h);
}
GST_END_TEST

GST_START_TEST(test_no_meta_if_not_wanted) {
    GstHarness *h = gst_harness_new_parse("gpuerode attach-meta=false");
    GstBuffer *out = push_one(h);
    fail_unless(gst_buffer_get_custom_meta(out, "gpuerode") == NULL);
    gst_buffer_unref(out);
    gst_harness_teardown(h);
}
GST_END_TEST

/* What stock elements do to the metadata of a 64x48 frame with radii 4 and 6. */
static const struct {
    const gchar *after;
    gint radius_x, radius_y;
} followers[] = {
    {"queue", 4, 6},
    {"identity", 4, 6},
    {"gpuerode attach-meta=false", 4, 6},
    {"videoconvert ! capsfilter caps=video/x-raw,format=RGB", 4, 6},
    {"videoscale ! capsfilter caps=video/x-raw,width=32,height=24", 2, 3},
    {"videoscale ! capsfilter caps=video/x-raw,width=128,height=24", 8, 3},
    {"videoconvertscale ! capsfilter caps=video/x-raw,format=RGB,width=16,height=480", 1, 60},
};

GST_START_TEST(test_meta_follows_the_frame) {
    gchar *text = g_strdup_printf(ELEMENT "radius=4 radius-y=6 ! %s", followers[__i__].after);
    GstHarness *h = gst_harness_new_parse(text);
    GstBuffer *out = push_one(h);
    GstCustomMeta *meta = gst_buffer_get_custom_meta(out, "gpuerode");
    fail_unless(meta != NULL, "%s drops it", followers[__i__].after);
    assert_results(gst_custom_meta_get_structure(meta), followers[__i__].radius_x,
                   followers[__i__].radius_y);
    gst_buffer_unref(out);
    gst_harness_teardown(h);
    g_free(text);
}
GST_END_TEST

/* A crop moves coordinates without scaling them, so only dropped or unchanged is right. */
GST_START_TEST(test_meta_after_crop) {
    if (!gst_registry_check_feature_version(gst_registry_get(), "videocrop", 1, 22, 0)) {
        g_print("not run: there is no videocrop\n");
        return;
    }
    GstHarness *h = gst_harness_new_parse(ELEMENT "radius=4 radius-y=6 ! videocrop left=16 top=8");
    GstBuffer *out = push_one(h);
    GstCustomMeta *meta = gst_buffer_get_custom_meta(out, "gpuerode");
    if (meta)
        assert_results(gst_custom_meta_get_structure(meta), 4, 6);
    gst_buffer_unref(out);
    gst_harness_teardown(h);
}
GST_END_TEST

/* Two of them in a row: each attaches its own, in their order. */
GST_START_TEST(test_meta_of_two_elements) {
    GstHarness *h = gst_harness_new_parse(ELEMENT "radius=4 ! " ELEMENT "radius=5");
    GstBuffer *out = push_one(h);
    const GType api = gst_meta_get_info("gpuerode")->api;
    gpointer state = NULL;
    assert_results(results_of(out, "gpuerode"), 4, 4);
    assert_results(gst_custom_meta_get_structure(
                       (GstCustomMeta *)gst_buffer_iterate_meta_filtered(out, &state, api)),
                   4, 4);
    assert_results(gst_custom_meta_get_structure(
                       (GstCustomMeta *)gst_buffer_iterate_meta_filtered(out, &state, api)),
                   5, 5);
    gst_buffer_unref(out);
    gst_harness_teardown(h);
}
GST_END_TEST

static void add_pixels(Suite *suite) {
    TCase *tcase = add_case(suite, "pixels");
    tcase_add_loop_test(tcase, test_formats, 0, some_of(G_N_ELEMENTS(formats)));
    tcase_add_loop_test(tcase, test_operations, 0, 7);
    tcase_add_loop_test(tcase, test_downstream_pool, 0, some_of(G_N_ELEMENTS(formats)));
    tcase_add_test(tcase, test_no_output_buffer);
    tcase_add_test(tcase, test_upstream_is_offered_a_pool);
    tcase_add_test(tcase, test_short_buffers);
    tcase_add_test(tcase, test_buffer_metadata_is_kept);
}

static void add_caps(Suite *suite) {
    TCase *tcase = add_case(suite, "caps");
    tcase_add_test(tcase, test_renegotiation);
    tcase_add_loop_test(tcase, test_caps_refused, 0, G_N_ELEMENTS(refused));
    tcase_add_test(tcase, test_sizes_refused);
    tcase_add_test(tcase, test_caps_refused_again);
    tcase_add_test(tcase, test_cuda_memory_on_the_cpu);
    if (!have_cuda_device())
        tcase_add_test(tcase, test_cuda_memory_without_a_device);
    tcase_add_loop_test(tcase, test_caps_accepted, 0, G_N_ELEMENTS(accepted));
}

static void add_stream(Suite *suite) {
    TCase *tcase = add_case(suite, "stream");
    tcase_add_test(tcase, test_flush);
    tcase_add_test(tcase, test_eos);
    tcase_add_test(tcase, test_seek);
    tcase_add_test(tcase, test_cycles);
    tcase_add_test(tcase, test_properties_while_playing);
    tcase_add_test(tcase, test_controlled_radius);
    tcase_add_test(tcase, test_late_frames_are_dropped);
}

static void add_properties(Suite *suite) {
    TCase *tcase = add_case(suite, "properties");
    tcase_add_test(tcase, test_backend_cpu);
    if (!have_cuda_device())
        tcase_add_test(tcase, test_backend_cuda_without_a_device);
    tcase_add_test(tcase, test_int_properties);
    tcase_add_test(tcase, test_property_flags);
    tcase_add_test(tcase, test_enum_defaults);
    tcase_add_test(tcase, test_factory);
}

static void add_results(Suite *suite) {
    TCase *tcase = add_case(suite, "results");
    tcase_add_test(tcase, test_message);
    tcase_add_test(tcase, test_segment_in_bytes);
    tcase_add_test(tcase, test_no_message_unless_asked);
    tcase_add_test(tcase, test_meta);
    tcase_add_test(tcase, test_no_meta_if_not_wanted);
    tcase_add_loop_test(tcase, test_meta_follows_the_frame, 0, G_N_ELEMENTS(followers));
    tcase_add_test(tcase, test_meta_after_crop);
    tcase_add_test(tcase, test_meta_of_two_elements);
}

static Suite *gpuerode_suite(void) {
    Suite *suite = suite_create("gpuerode");
    add_pixels(suite);
    add_caps(suite);
    add_stream(suite);
    add_properties(suite);
    add_results(suite);
    return suite;
}

int main(int argc, char **argv) {
    gst_check_init(&argc, &argv);
    return run_on_backend(gpuerode_suite, "gpuerode", __FILE__);
}
