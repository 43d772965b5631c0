/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What real streams bring: crops, gaps, interlaced frames, caps and settings that cannot be used,
 * and elements that take longer than a frame. Each with the right value, in system memory, on the
 * backend GPV_TEST_BACKEND or on the CPU; crops also in CUDAMemory, where it can be used.
 */
#ifdef HAVE_GST_CUDA
#    include "cuda_frames.h"
#else
#    include "helpers.h"
#endif

static const gchar *const elements[] = {"gpuerode", "gpuccl", "gpusift", "gpugraphcut",
                                        "gpukmeans"};

enum { element_count = G_N_ELEMENTS(elements), of_neighbours = element_count - 1 };

static const gchar *const looks[] = {"gpuerode radius=2",
                                     "gpuerode radius=1 planes=all",
                                     "gpukmeans clusters=3",
                                     "gpukmeans output=labels",
                                     "gpuccl",
                                     "gpuccl output=labels",
                                     "gpuccl output=none",
                                     "gpusift",
                                     "gpusift overlay=rich",
                                     "gpugraphcut output=cutout",
                                     "gpugraphcut output=mask",
                                     "gpugraphcut",
                                     "gpugraphcut output=none"};

/* Before the first frame. */
static GstHarness *harness_of(const gchar *look) {
    gchar *text = g_strdup_printf("%s name=subject backend=%s", look, test_backend());
    GstElement *element = launch(text);
    g_free(text);
    return harness_with(element);
}

static void set_caps(GstHarness *h, const gchar *text) {
    gst_harness_set_src_caps(h, gst_caps_from_string(text));
}

/* ---- crops ---- */

enum { whole_width = 47, whole_height = 39 };

typedef struct {
    guint x, y;
    gint width, height;
} Crop;

static const Crop crops[] = {{0, 0, 47, 39}, {1, 0, 20, 11}, {0, 1, 33, 30},
                             {7, 5, 37, 33}, {8, 6, 16, 16}, {46, 38, 1, 1}};

/* What videocrop copies: chroma begins with the site of the first pixel. */
static GstBuffer *cropped(const GstVideoInfo *whole, GstBuffer *frame, const GstVideoInfo *info,
                          const Crop *crop) {
    GstBuffer *buffer = buffer_of_size(info->size);
    GstVideoFrame from, to;
    fail_unless(gst_video_frame_map(&from, whole, frame, GST_MAP_READ));
    fail_unless(gst_video_frame_map(&to, info, buffer, GST_MAP_WRITE));
    for (guint p = 0; p < GST_VIDEO_FRAME_N_PLANES(&from); p++) {
        const guint8 *data = GST_VIDEO_FRAME_PLANE_DATA(&from, p);
        const gsize stride = (gsize)GST_VIDEO_FRAME_PLANE_STRIDE(&from, p);
        gint components[GST_VIDEO_MAX_COMPONENTS], c;
        gsize bytes, rows;
        gst_video_format_info_component(info->finfo, p, components);
        c = components[0];
        data += (crop->y >> GST_VIDEO_FORMAT_INFO_H_SUB(info->finfo, c)) * stride;
        data += (gint)(crop->x >> GST_VIDEO_FORMAT_INFO_W_SUB(info->finfo, c)) *
                GST_VIDEO_FORMAT_INFO_PSTRIDE(info->finfo, c);
        plane_size(info, p, &bytes, &rows);
        for (gsize row = 0; row < rows; row++)
            memcpy((guint8 *)GST_VIDEO_FRAME_PLANE_DATA(&to, p) +
                       row * (gsize)GST_VIDEO_FRAME_PLANE_STRIDE(&to, p),
                   data + row * stride, bytes);
    }
    gst_video_frame_unmap(&to);
    gst_video_frame_unmap(&from);
    return buffer;
}

static GstBuffer *add_crop(GstBuffer *frame, const Crop *crop) {
    GstVideoCropMeta *meta = gst_buffer_add_video_crop_meta(frame);
    meta->x = crop->x;
    meta->y = crop->y;
    meta->width = (guint)crop->width;
    meta->height = (guint)crop->height;
    return frame;
}

static GstVideoInfo output_info(GstHarness *h) {
    GstCaps *caps = gst_pad_get_current_caps(h->sinkpad);
    GstVideoInfo info;
    fail_unless(gst_video_info_from_caps(&info, caps));
    gst_caps_unref(caps);
    return info;
}

/* All fields but those that name memory. */
static void assert_same_results(const gchar *look, GstBuffer *a, GstBuffer *b) {
    gchar *name = g_strndup(look, strcspn(look, " "));
    const GstStructure *x = results_of(a, name), *y = results_of(b, name);
    fail_unless(gst_structure_is_equal(x, y), "%s: %" GST_PTR_FORMAT " and %" GST_PTR_FORMAT, look,
                x, y);
    g_free(name);
}

/* Takes the frames: what a crop leaves gives what the copy of it gives, in pixels and results. */
static void compare_crop(GstHarness *cropping, GstHarness *copying, const gchar *look,
                         const GstVideoInfo *whole, GstBuffer *frame, GstBuffer *copy,
                         const Crop *crop) {
    GstBuffer *expected = push_and_pull(copying, copy), *got = push_and_pull(cropping, frame);
    const GstVideoInfo info = output_info(copying), got_info = output_info(cropping);
    const gboolean kept = gst_buffer_get_video_crop_meta(got) != NULL;
    fail_unless(gst_video_info_is_equal(&info, &got_info));
    if (kept) { /* what is behind the element crops */
        GstBuffer *left = cropped(whole, got, &info, crop);
        assert_same(&info, left, expected);
        gst_buffer_unref(left);
    } else {
        assert_same(&info, got, expected);
    }
    assert_same_results(look, got, expected);
    gst_buffer_unref(expected);
    gst_buffer_unref(got);
}

GST_START_TEST(test_crops) {
    const gchar *look = looks[__i__];
    for (guint f = 0; f < G_N_ELEMENTS(formats); f++) {
        const GstVideoInfo whole = make_info(formats[f], whole_width, whole_height);
        GstHarness *cropping = harness_of(look), *copying = harness_of(look);
        gst_harness_add_propose_allocation_meta(cropping, GST_VIDEO_CROP_META_API_TYPE, NULL);
        for (guint i = 0; i < G_N_ELEMENTS(crops); i++) {
            const Crop *crop = &crops[i];
            const GstVideoInfo info = make_info(formats[f], crop->width, crop->height);
            GstBuffer *frame = random_padded_frame(&whole);
            GstBuffer *copy = cropped(&whole, frame, &info, crop);
            set_info(cropping, &info);
            set_info(copying, &info);
            compare_crop(cropping, copying, look, &whole, add_crop(frame, crop), copy, crop);
        }
        gst_harness_teardown(cropping);
        gst_harness_teardown(copying);
    }
}
GST_END_TEST

/* A frame that is drawn into, but must not be written, becomes one of our own, without a crop. */
GST_START_TEST(test_crop_of_shared_memory) {
    const Crop *crop = &crops[3];
    const GstVideoInfo whole = make_info("I420", whole_width, whole_height);
    const GstVideoInfo info = make_info("I420", crop->width, crop->height);
    GstHarness *cropping = harness_of("gpusift overlay=points"),
               *copying = harness_of("gpusift overlay=points");
    GstBuffer *frame = random_padded_frame(&whole), *copy = cropped(&whole, frame, &info, crop);
    GstBuffer *shared = gst_buffer_copy(add_crop(frame, crop)), *got, *expected;
    set_info(cropping, &info);
    set_info(copying, &info);
    got = push_and_pull(cropping, frame);
    expected = push_and_pull(copying, copy);
    fail_if(gst_buffer_get_video_crop_meta(got));
    assert_same(&info, got, expected);
    gst_buffer_unref(shared);
    gst_buffer_unref(got);
    gst_buffer_unref(expected);
    gst_harness_teardown(cropping);
    gst_harness_teardown(copying);
}
GST_END_TEST

/* Which reaches beyond the frame. */
GST_START_TEST(test_bad_crop) {
    static const Crop bad[] = {{28, 0, 20, 10}, {0, 30, 20, 10}, {G_MAXUINT, 1, 20, 10}};
    const GstVideoInfo whole = make_info("NV12", whole_width, whole_height);
    const GstVideoInfo info = make_info("NV12", 20, 10);
    for (guint i = 0; i <= G_N_ELEMENTS(bad); i++) {
        GstHarness *h = harness_of("gpuerode");
        GstBuffer *frame = i < G_N_ELEMENTS(bad) ? add_crop(random_padded_frame(&whole), &bad[i])
                                                 : add_crop(random_frame(&info), &crops[4]);
        GstBus *bus = add_bus(h->element);
        set_info(h, &info);
        fail_unless_equals_int(gst_harness_push(h, frame), GST_FLOW_ERROR);
        assert_error(bus, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED, "GstVideoCropMeta");
        drop_bus(h->element, bus);
        gst_harness_teardown(h);
    }
}
GST_END_TEST

static GstPadProbeReturn count_crop(G_GNUC_UNUSED GstPad *pad, GstPadProbeInfo *probe,
                                    gpointer user) {
    *(guint *)user += gst_buffer_get_video_crop_meta(GST_PAD_PROBE_INFO_BUFFER(probe)) != NULL;
    return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn offer_crop(G_GNUC_UNUSED GstPad *pad, GstPadProbeInfo *probe,
                                    G_GNUC_UNUSED gpointer user) {
    GstQuery *query = GST_PAD_PROBE_INFO_QUERY(probe);
    if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
        return GST_PAD_PROBE_OK;
    gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
    gst_query_add_allocation_meta(query, GST_VIDEO_CROP_META_API_TYPE, NULL);
    return GST_PAD_PROBE_HANDLED;
}

/* What is behind the subject takes crops; counts those that come to it. */
static void probe_crop(GstElement *pipeline, guint *seen) {
    GstElement *subject = gst_bin_get_by_name(GST_BIN(pipeline), "subject");
    GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
    GstPad *in = gst_element_get_static_pad(subject, "sink");
    GstPad *behind = gst_element_get_static_pad(sink, "sink");
    gst_pad_add_probe(in, GST_PAD_PROBE_TYPE_BUFFER, count_crop, seen, NULL);
    gst_pad_add_probe(behind, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer_crop, NULL, NULL);
    gst_object_unref(behind);
    gst_object_unref(in);
    gst_object_unref(sink);
    gst_object_unref(subject);
}

/* What videocrop tells of a crop, rather than to copy it, is where the same pixels are. */
GST_START_TEST(test_crop_in_a_pipeline) {
    static const gchar *const outputs[] = {"none", "colorize"};
    for (guint i = 0; i < 2 * G_N_ELEMENTS(outputs); i++) {
        gchar *text = g_strdup_printf(
            "videotestsrc num-buffers=1 pattern=ball ! "
            "video/x-raw,format=BGRx,width=320,height=240 "
            "! videocrop left=150 top=110 ! gpuccl name=subject output=%s backend=%s ! "
            "fakesink name=sink",
            outputs[i / 2], test_backend());
        GstElement *pipeline = launch(text), *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
        guint crops_seen = 0;
        GstSample *sample;
        const GValue *components;
        const GstStructure *ball;
        if (i % 2)
            probe_crop(pipeline, &crops_seen);
        reach(pipeline, GST_STATE_PLAYING);
        wait_for_eos(pipeline);
        g_object_get(sink, "last-sample", &sample, NULL);
        components = gst_structure_get_value(results_of(gst_sample_get_buffer(sample), "gpuccl"),
                                             "components");
        fail_unless_equals_int(gst_value_array_get_size(components), 1);
        ball = gst_value_get_structure(gst_value_array_get_value(components, 0));
        fail_unless_equals_int(int_field(ball, "x"), 0);
        fail_unless_equals_int(int_field(ball, "y"), 0);
        fail_unless_equals_int(int_field(ball, "area"), 770);
        fail_unless_equals_int(crops_seen, i % 2);
        gst_sample_unref(sample);
        reach(pipeline, GST_STATE_NULL);
        gst_object_unref(sink);
        gst_object_unref(pipeline);
        g_free(text);
    }
}
GST_END_TEST

/* Upstream is not asked anew what it may leave to us, but frames that are kept go to somebody who
   takes no crops: they are copied. */
GST_START_TEST(test_crop_after_another_output) {
    static const gchar *const looks[][2] = {{"gpuccl", "none"}, {"gpusift", "points"}};
    const Crop *crop = &crops[3];
    const GstVideoInfo whole = make_info("I420", whole_width, whole_height);
    const GstVideoInfo info = make_info("I420", crop->width, crop->height);
    for (guint i = 0; i < G_N_ELEMENTS(looks); i++) {
        GstHarness *h = harness_of(looks[i][0]), *copying = harness_of(looks[i][0]);
        GstBuffer *frame = random_padded_frame(&whole), *copy = cropped(&whole, frame, &info, crop);
        GstBuffer *got, *expected;
        set_info(h, &info);
        set_info(copying, &info);
        gst_buffer_unref(push_and_pull(h, add_crop(random_padded_frame(&whole), crop)));
        set_output(h, looks[i][1]);
        set_output(copying, looks[i][1]);
        got = push_and_pull(h, add_crop(frame, crop));
        expected = push_and_pull(copying, copy);
        fail_if(gst_buffer_get_video_crop_meta(got));
        assert_same(&info, got, expected);
        assert_same_results(looks[i][0], got, expected);
        gst_buffer_unref(got);
        gst_buffer_unref(expected);
        gst_harness_teardown(h);
        gst_harness_teardown(copying);
    }
}
GST_END_TEST

#ifdef HAVE_GST_CUDA

/* Takes the frame. */
static GstBuffer *uploaded(GstCudaContext *context, const GstVideoInfo *info, GstBuffer *frame) {
    GstBuffer *there = padded_cuda_buffer(context, info);
    copy(info, frame, there);
    gst_buffer_unref(frame);
    return there;
}

static GstBuffer *downloaded(const GstVideoInfo *info, GstBuffer *there) {
    GstBuffer *here = buffer_of_size(info->size);
    copy(info, there, here);
    return here;
}

static GstHarness *cuda_harness(const gchar *look, GstCudaContext *context) {
    GstContext *given = gst_context_new_cuda_context(context);
    GstHarness *h = harness_of(look);
    gst_element_set_state(h->element, GST_STATE_NULL);
    gst_element_set_context(h->element, given);
    gst_element_set_state(h->element, GST_STATE_PLAYING);
    gst_context_unref(given);
    return h;
}

GST_START_TEST(test_crops_in_cuda_memory) {
    GstCudaContext *context = new_context();
    for (guint l = 0; l < G_N_ELEMENTS(looks); l++)
        for (guint f = 0; f + 1 < G_N_ELEMENTS(formats); f++) {
            const GstVideoInfo whole = make_info(formats[f], whole_width, whole_height);
            GstHarness *cropping = cuda_harness(looks[l], context),
                       *copying = cuda_harness(looks[l], context);
            if (l % 2) /* else what is kept is copied */
                gst_harness_add_propose_allocation_meta(cropping, GST_VIDEO_CROP_META_API_TYPE,
                                                        NULL);
            for (guint i = 0; i < G_N_ELEMENTS(crops); i++) {
                const Crop *crop = &crops[i];
                const GstVideoInfo info = make_info(formats[f], crop->width, crop->height);
                GstBuffer *frame = random_frame(&whole), *got, *expected, *a, *b;
                GstBuffer *part = cropped(&whole, frame, &info, crop);
                GstVideoInfo made;
                gst_harness_push_event(cropping, gst_event_new_stream_start("crops"));
                gst_harness_push_event(copying, gst_event_new_stream_start("copies"));
                gst_harness_set_src_caps(cropping, cuda_caps(&info));
                gst_harness_set_src_caps(copying, cuda_caps(&info));
                expected = push_and_pull(copying, uploaded(context, &info, part));
                got = push_and_pull(cropping, add_crop(uploaded(context, &whole, frame), crop));
                made = output_info(copying);
                b = downloaded(&made, expected);
                if (gst_buffer_get_video_crop_meta(got)) {
                    GstBuffer *all = downloaded(&whole, got);
                    a = cropped(&whole, all, &made, crop);
                    gst_buffer_unref(all);
                } else {
                    a = downloaded(&made, got);
                }
                assert_same(&made, a, b);
                assert_same_results(looks[l], got, expected);
                gst_buffer_unref(a);
                gst_buffer_unref(b);
                gst_buffer_unref(got);
                gst_buffer_unref(expected);
            }
            gst_harness_teardown(cropping);
            gst_harness_teardown(copying);
        }
    gst_object_unref(context);
}
GST_END_TEST

#endif

/* ---- gaps and interlaced frames ---- */

/* A buffer without bytes passes as it is; a frame that fills a gap is processed, and stays one. */
GST_START_TEST(test_gaps) {
    for (guint i = 0; i < element_count; i++) {
        const GstVideoInfo info = make_info("I420", 32, 24);
        GstHarness *h = harness_of(elements[i]);
        GstBuffer *gap = gst_buffer_new(), *out;
        set_info(h, &info);
        GST_BUFFER_PTS(gap) = 3 * GST_SECOND;
        GST_BUFFER_FLAG_SET(gap, GST_BUFFER_FLAG_GAP);
        out = push_and_pull(h, gap);
        fail_unless(out == gap && gst_buffer_get_size(out) == 0);
        fail_unless(GST_BUFFER_FLAG_IS_SET(out, GST_BUFFER_FLAG_GAP));
        gst_buffer_unref(out);
        gap = random_frame(&info);
        GST_BUFFER_FLAG_SET(gap, GST_BUFFER_FLAG_GAP);
        out = push_and_pull(h, gap);
        results_of(out, elements[i]);
        fail_unless(GST_BUFFER_FLAG_IS_SET(out, GST_BUFFER_FLAG_GAP));
        gst_buffer_unref(out);
        gst_harness_teardown(h);
    }
}
GST_END_TEST

static const gchar mixed[] =
    "video/x-raw,format=I420,width=32,height=24,framerate=25/1,interlace-mode=mixed";

/* Of a mixed stream an interlaced frame passes, or is dropped where the output is of another kind;
   one warning says so. The others are processed. */
GST_START_TEST(test_mixed_frames) {
    static const gchar *const passing[] = {"gpuerode", "gpuccl", "gpusift overlay=rich",
                                           "gpugraphcut", "gpuccl output=mask"};
    const gchar *look = passing[__i__];
    const gboolean drops = __i__ == G_N_ELEMENTS(passing) - 1;
    const GstVideoInfo info = make_info(drops ? "GRAY8" : "I420", 32, 24);
    GstHarness *h = harness_of(look);
    GstBus *bus = add_bus(h->element);
    set_caps(h, drops ? "video/x-raw,format=GRAY8,width=32,height=24,framerate=25/1,"
                        "interlace-mode=mixed"
                      : mixed);
    gst_buffer_unref(push_and_pull(h, random_frame(&info)));
    for (guint i = 0; i < 2; i++) {
        GstBuffer *frame = random_frame(&info), *before = gst_buffer_copy_deep(frame), *out;
        GST_BUFFER_FLAG_SET(frame, GST_VIDEO_BUFFER_FLAG_INTERLACED);
        fail_unless_equals_int(gst_harness_push(h, frame), GST_FLOW_OK);
        out = gst_harness_try_pull(h);
        fail_unless((out == NULL) == drops);
        if (out) {
            gchar *name = g_strndup(look, strcspn(look, " "));
            assert_same(&info, out, before);
            fail_if(gst_buffer_get_custom_meta(out, name));
            gst_buffer_unref(out);
            g_free(name);
        }
        gst_buffer_unref(before);
        if (i == 0)
            assert_warning(bus, GST_STREAM_ERROR, GST_STREAM_ERROR_WRONG_TYPE, "deinterlace");
        assert_nothing_more(bus);
        gst_buffer_unref(push_and_pull(h, random_frame(&info)));
    }
    drop_bus(h->element, bus);
    gst_harness_teardown(h);
}
GST_END_TEST

/* No pixel of gpukmeans depends on its neighbours: interlaced frames are as good as others. */
GST_START_TEST(test_interlaced_kmeans) {
    static const gchar *const modes[] = {"interleaved", "mixed", "fields"};
    const GstVideoInfo info = make_info("I420", 32, 24);
    for (guint i = 0; i < G_N_ELEMENTS(modes); i++) {
        gchar *caps = g_strdup_printf("video/x-raw,format=I420,width=32,height=24,framerate=25/1,"
                                      "interlace-mode=%s",
                                      modes[i]);
        GstHarness *h = harness_of("gpukmeans clusters=2"),
                   *progressive = harness_of("gpukmeans clusters=2");
        GstBuffer *frame = random_frame(&info), *out, *expected;
        set_info(progressive, &info);
        expected = push_and_pull(progressive, gst_buffer_copy(frame));
        GST_BUFFER_FLAG_SET(frame, GST_VIDEO_BUFFER_FLAG_INTERLACED);
        set_caps(h, caps);
        out = push_and_pull(h, frame);
        assert_same(&info, out, expected);
        gst_buffer_unref(out);
        gst_buffer_unref(expected);
        gst_harness_teardown(progressive);
        gst_harness_teardown(h);
        g_free(caps);
    }
}
GST_END_TEST

/* ---- caps ---- */

/* What can be either is progressive, but for gpukmeans, which leaves it as the source would have
 * it. */
GST_START_TEST(test_either_mode) {
    for (guint i = 0; i < element_count; i++) {
        GstElement *element = element_new(elements[i], test_backend());
        GstPad *pad = gst_element_get_static_pad(element, "sink");
        GstCaps *can = gst_caps_from_string("video/x-raw,format=I420,width=64,height=64,"
                                            "framerate=25/1,"
                                            "interlace-mode={interleaved,progressive}");
        GstCaps *left = gst_pad_query_caps(pad, can);
        GstCaps *chosen = gst_caps_fixate(left);
        fail_unless_equals_string(
            gst_structure_get_string(gst_caps_get_structure(chosen, 0), "interlace-mode"),
            i < of_neighbours ? "progressive" : "interleaved");
        gst_caps_unref(chosen);
        gst_caps_unref(can);
        gst_object_unref(pad);
        gst_object_unref(element);
    }
}
GST_END_TEST

/* The application gets one warning, wherever the source is, and it says what helps. */
GST_START_TEST(test_explanation_behind_a_bin) {
    static const gchar *const refused[][2] = {
        {"video/x-raw,format=YUY2,width=64,height=64,framerate=1/1", "videoconvert"},
        {"video/x-raw,format=I420,width=64,height=64,framerate=1/1,interlace-mode=interleaved",
         "deinterlace"},
        {"video/x-raw,format=GRAY8,width=40000,height=4,framerate=1/1", "40000x4"}};
    for (guint i = 0; i < 2 * G_N_ELEMENTS(refused); i++) {
        GstElement *pipeline = gst_pipeline_new(NULL), *element = element_new("gpuerode", "cpu");
        GstElement *bin =
            gst_parse_bin_from_description("identity ! identity name=last", i % 2, NULL);
        GstElement *source = gst_element_factory_make("appsrc", NULL);
        GstElement *sink = gst_element_factory_make("fakesink", NULL);
        GstCaps *caps = gst_caps_from_string(refused[i / 2][0]);
        GstBus *bus = gst_element_get_bus(pipeline);
        GstFlowReturn flow;
        GstBuffer *frame = buffer_of_size(64 * 64 * 4);
        gst_bin_add_many(GST_BIN(pipeline), source, element, sink, NULL);
        g_object_set(source, "caps", caps, "format", GST_FORMAT_TIME, NULL);
        if (i % 2) {
            gst_bin_add(GST_BIN(pipeline), bin);
            fail_unless(
                gst_element_link_pads_full(source, "src", bin, "sink", GST_PAD_LINK_CHECK_NOTHING));
            fail_unless(gst_element_link_pads_full(bin, "src", element, "sink",
                                                   GST_PAD_LINK_CHECK_NOTHING));
        } else {
            gst_object_unref(bin);
            fail_unless(gst_element_link_pads_full(source, "src", element, "sink",
                                                   i / 2 == 1 ? GST_PAD_LINK_CHECK_DEFAULT
                                                              : GST_PAD_LINK_CHECK_NOTHING));
        }
        fail_unless(gst_element_link(element, sink));
        gst_element_set_state(pipeline, GST_STATE_PLAYING);
        g_signal_emit_by_name(source, "push-buffer", frame, &flow);
        assert_warning(bus, GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION, refused[i / 2][1]);
        {
            GstMessage *error = gst_bus_timed_pop_filtered(bus, 10 * GST_SECOND, GST_MESSAGE_ERROR);
            fail_unless(error != NULL && GST_MESSAGE_SRC(error) != GST_OBJECT(element));
            gst_message_unref(error);
        }
        fail_unless(gst_bus_pop_filtered(bus, GST_MESSAGE_WARNING) == NULL, "one is enough");
        reach(pipeline, GST_STATE_NULL);
        gst_buffer_unref(frame);
        gst_caps_unref(caps);
        gst_object_unref(bus);
        gst_object_unref(pipeline);
    }
}
GST_END_TEST

/* What accept-caps says is what becomes of the caps. */
GST_START_TEST(test_caps_that_are_no_frame) {
    static const gchar *const refused[][2] = {
        {"video/x-raw,width=64,height=64,framerate=25/1", "lack a field"},
        {"video/x-raw,format=RGB,height=64,framerate=25/1", "lack a field"},
        {"video/x-raw,format=I420,width=64,height=64,framerate=25/1,interlace-mode=alternate",
         "deinterlace"}};
    for (guint i = 0; i < G_N_ELEMENTS(refused); i++)
        for (guint e = 0; e < element_count; e++)
            check_refusal(elements[e], refused[i][0], refused[i][1]);
}
GST_END_TEST

/* Before that frame comes the caps are those that are not there any more. */
GST_START_TEST(test_overlay_before_other_caps) {
    const GstVideoInfo info = make_info("RGB", 32, 24), other = make_info("GRAY8", 32, 24);
    GstHarness *h = harness_of("gpusift");
    set_info(h, &info);
    gst_buffer_unref(push_and_pull(h, random_frame(&info)));
    gst_harness_set_sink_caps_str(h, "video/x-raw,format=GRAY8");
    set_output(h, "rich");
    set_info(h, &other);
    gst_buffer_unref(push_and_pull(h, random_frame(&other)));
    gst_harness_teardown(h);
}
GST_END_TEST

/* Caps without a rate, as appsrc is given them, are as good as others, and nothing is said of them.
 */
GST_START_TEST(test_without_a_framerate) {
    for (guint i = 0; i < element_count; i++) {
        const GstVideoInfo info = make_info("RGB", 32, 24);
        GstHarness *h = harness_of(elements[i]);
        GstBus *bus = add_bus(h->element);
        set_caps(h, "video/x-raw,format=RGB,width=32,height=24");
        gst_buffer_unref(push_and_pull(h, random_frame(&info)));
        fail_unless(gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING) == NULL);
        drop_bus(h->element, bus);
        gst_harness_teardown(h);
    }
}
GST_END_TEST

/* ---- settings ---- */

/* An adaptive stream may leave the rectangle outside: then nothing is known, until it is back. */
GST_START_TEST(test_rect_outside) {
    const GstVideoInfo large = make_info("I420", 64, 48), small = make_info("I420", 16, 12);
    GstHarness *h = harness_of("gpugraphcut seed-source=rect rect=40,20,20,20 output=mask");
    GstBus *bus = add_bus(h->element);
    for (guint i = 0; i < 4; i++) {
        const GstVideoInfo *info = i % 2 ? &small : &large;
        set_info(h, info);
        for (guint f = 0; f < 2; f++)
            gst_buffer_unref(push_and_pull(h, random_frame(info)));
        if (i % 2)
            assert_warning(bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, "16x12");
        fail_unless(gst_bus_pop_filtered(bus, GST_MESSAGE_WARNING) == NULL, "one is enough");
    }
    drop_bus(h->element, bus);
    gst_harness_teardown(h);
}
GST_END_TEST

GST_START_TEST(test_outline_without_a_reference) {
    const GstVideoInfo info = make_info("RGB", 32, 24);
    GstHarness *h = harness_of("gpusift overlay=outline");
    GstBus *bus = add_bus(h->element);
    set_info(h, &info);
    for (guint i = 0; i < 2; i++)
        gst_buffer_unref(push_and_pull(h, random_frame(&info)));
    assert_warning(bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, "reference");
    assert_nothing_more(bus);
    drop_bus(h->element, bus);
    gst_harness_teardown(h);
}
GST_END_TEST

/* From 0 to 2 and back, as a ramp moves it. */
GST_START_TEST(test_clusters_over_one) {
    static const gdouble values[] = {2, 1, 0, 1, 3};
    static const gint expected[] = {2, 2, 0, 0, 3};
    GstElement *element = element_new("gpukmeans", test_backend());
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
    gst_object_unref(element);
}
GST_END_TEST

/* What frames that flow meanwhile would see. */
static void assert_decoded(GObject *element, GParamSpec *spec, G_GNUC_UNUSED gpointer user) {
    gchar *text = NULL;
    g_object_get(element, spec->name, &text, NULL);
    fail_unless(text == NULL || strchr(text, '\\') == NULL, "%s", text);
    g_free(text);
}

/* A GstValueArray is one way to say a rectangle; presets, in which core escapes texts, keep them.
 */
GST_START_TEST(test_presets_keep_texts) {
    static const gchar *const texts[][2] = {{"rect", "1,2,3,4"}, {"seeds", "my pictures/x y.png"}};
    GstElement *saved = element_new("gpugraphcut", test_backend());
    GstElement *loaded = element_new("gpugraphcut", test_backend());
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
    gst_object_unref(saved);
    gst_object_unref(loaded);
}
GST_END_TEST

/* Half of the way from black to white is 126 in limited range. */
GST_START_TEST(test_threshold_range) {
    static const struct {
        const gchar *colorimetry;
        gint level; /* the lowest of the foreground */
        const gchar *format;
    } known[] = {{"bt601", 126, "I420"},
                 {"1:4:0:0", 128, "I420"},
                 {"2:1:7:1", 126, "RGB"},
                 {"1:1:7:1", 128, "RGB"}};
    static const gchar *const ranges[] = {"stored", "full"};
    for (guint i = 0; i < 4 * 2 * 2; i++) {
        const gchar *range = ranges[i / 8];
        gchar *caps = g_strdup_printf("video/x-raw,format=%s,width=2,height=2,framerate=1/1,"
                                      "colorimetry=%s",
                                      known[i % 4].format, known[i % 4].colorimetry);
        const gint level = g_str_equal(range, "full") ? known[i % 4].level : 128;
        const gboolean erodes = i / 4 % 2;
        GstHarness *h = harness_of(erodes ? "gpuerode threshold=128 radius=0"
                                          : "gpuccl threshold=128 mode=binary output=mask");
        GstBuffer *frame = buffer_of_size(16), *out;
        const gboolean rgb = g_str_equal(known[i % 4].format, "RGB");
        const gsize stride = rgb ? 8 : 4, bytes = rgb ? 6 : 2;
        GstMapInfo map;
        gst_util_set_object_arg(G_OBJECT(h->element), "threshold-range", range);
        fail_unless(gst_buffer_map(frame, &map, GST_MAP_WRITE));
        memset(map.data, 128, map.size);
        memset(map.data, level - 1, bytes);
        memset(map.data + stride, level, bytes);
        gst_buffer_unmap(frame, &map);
        set_caps(h, caps);
        out = push_and_pull(h, frame);
        fail_unless(gst_buffer_map(out, &map, GST_MAP_READ));
        fail_unless_equals_int(map.data[0], 0);
        fail_unless_equals_int(map.data[erodes ? stride : 4], 255);
        gst_buffer_unmap(out, &map);
        gst_buffer_unref(out);
        gst_harness_teardown(h);
        g_free(caps);
    }
}
GST_END_TEST

/* ---- latency ---- */

static GstClockTime latency_of(GstHarness *h) {
    return gst_harness_query_latency(h);
}

/* That of the source, as long as a frame is done before the next one comes; else as long as one
   takes, and the pipeline is told. */
GST_START_TEST(test_latency) {
    const GstVideoInfo info = make_info("RGB", 640, 480);
    const GstClockTime source = 5 * GST_MSECOND;
    GstHarness *h = harness_of("gpuerode radius=40 shape=ellipse iterations=3");
    GstBus *bus = add_bus(h->element);
    GstBuffer *frame = random_frame(&info);
    gst_harness_set_upstream_latency(h, source);
    for (guint round = 0; round < 3; round++) {
        const gboolean slow = round == 1;
        gchar *caps = g_strdup_printf("video/x-raw,format=RGB,width=640,height=480,framerate=%s",
                                      slow ? "100000/1" : "1/60");
        GstMessage *message;
        set_caps(h, caps);
        for (guint i = 0; i < 16; i++)
            gst_buffer_unref(push_and_pull(h, gst_buffer_ref(frame)));
        message = gst_bus_pop_filtered(bus, GST_MESSAGE_LATENCY);
        fail_unless((message != NULL) == (round > 0));
        gst_clear_message(&message);
        if (slow)
            fail_unless(latency_of(h) > source + 20 * GST_USECOND);
        else
            fail_unless_equals_clocktime(latency_of(h), source);
        g_free(caps);
    }
    gst_buffer_unref(frame);
    drop_bus(h->element, bus);
    gst_harness_teardown(h);
}
GST_END_TEST

static Suite *streams_suite(void) {
    Suite *suite = suite_create("streams");
    TCase *tcase = add_case(suite, "crops");
    tcase_add_loop_test(tcase, test_crops, 0, G_N_ELEMENTS(looks));
    tcase_add_test(tcase, test_crop_of_shared_memory);
    tcase_add_test(tcase, test_bad_crop);
    tcase_add_test(tcase, test_crop_in_a_pipeline);
    tcase_add_test(tcase, test_crop_after_another_output);
#ifdef HAVE_GST_CUDA
    if (g_str_equal(test_backend(), "cuda"))
        tcase_add_test(tcase, test_crops_in_cuda_memory);
#endif
    tcase = add_case(suite, "frames");
    tcase_add_test(tcase, test_gaps);
    tcase_add_loop_test(tcase, test_mixed_frames, 0, 5);
    tcase_add_test(tcase, test_interlaced_kmeans);
    tcase = add_case(suite, "caps");
    tcase_add_test(tcase, test_either_mode);
    tcase_add_test(tcase, test_explanation_behind_a_bin);
    tcase_add_test(tcase, test_caps_that_are_no_frame);
    tcase_add_test(tcase, test_overlay_before_other_caps);
    tcase_add_test(tcase, test_without_a_framerate);
    tcase = add_case(suite, "settings");
    tcase_add_test(tcase, test_rect_outside);
    tcase_add_test(tcase, test_outline_without_a_reference);
    tcase_add_test(tcase, test_clusters_over_one);
    tcase_add_test(tcase, test_presets_keep_texts);
    tcase_add_test(tcase, test_threshold_range);
    tcase_add_test(add_case(suite, "latency"), test_latency);
    return suite;
}

int main(int argc, char **argv) {
    gst_check_init(&argc, &argv);
    return run_on_backend(streams_suite, "streams", __FILE__);
}
