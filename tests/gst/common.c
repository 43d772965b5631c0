/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every element does alike: formats, parameters, pools, results, caps, the life of a stream,
 * and properties. Each frame is compared with what the library makes of it.
 */
#include "common.h"

#include <math.h>

static const Element *tested;

static const Output *output_at(gint index) {
    return &tested->outputs[index];
}

static Pair pair_with_output(gint index) {
    Pair pair = pair_new(tested);
    pair_set_output(&pair, output_at(index));
    return pair;
}

/* ---- pixels ---- */

/* Every format, size and output, with the buffer's own layout and with a padded one; the largest
   size of the usual formats, and where that takes long, of an output for each by turns. */
TEST(test_formats, some_of(G_N_ELEMENTS(formats))) {
    g_auto(Pair) pair = pair_new(tested);
    const gboolean usual = __i__ < usual_formats;
    gint most = 0;
    for (guint s = 0; s < G_N_ELEMENTS(sizes) - !usual; s++) {
        GstVideoInfo info = make_info(formats[__i__], sizes[s][0], sizes[s][1]);
        const gboolean some = tested->slow && s + 1 == G_N_ELEMENTS(sizes);
        pair_set_info(&pair, &info);
        for (gint o = 0; o < (gint)tested->output_count; o++) {
            if (some && o != __i__ % (gint)tested->output_count)
                continue;
            pair_set_output(&pair, output_at(o));
            for (guint f = 0; f < 3; f++) { /* held and not, by turns */
                GstBuffer *frame = f ? busy_frame(&info, f - 1) : random_padded_frame(&info);
                const gint measure = pair_check(&pair, frame);
                most = MAX(most, measure);
            }
        }
    }
    fail_unless(!usual || most >= tested->least, "%s was %d at most", tested->measure, most);
}

static void set_any(Pair *pair, const Property *property) {
    g_auto(GStrv) values = values_of(property);
    const gint count = (gint)g_strv_length(values);
    if (count > 0)
        pair_set(pair, property->name, values[g_random_int_range(0, count)]);
}

/* Every value of every property reaches the library, and changes as it does there. */
TEST(test_parameters, tested->output_count) {
    static const gchar *const some_formats[] = {"NV12", "RGBA", "GRAY8"};
    g_auto(Pair) pair = pair_with_output(__i__);
    g_random_set_seed((guint32)__i__);
    for (guint i = 0; i < 150; i++) {
        const gboolean large = i % 5 == 0;
        GstVideoInfo info = make_info(some_formats[i % 3], large ? 97 : 19, large ? 63 : 13);
        for (guint p = 0; p < tested->property_count; p++)
            set_any(&pair, &tested->properties[p]);
        pair_set_info(&pair, &info);
        for (guint f = 0; f < 3; f++)
            pair_check(&pair, f % 2 ? random_padded_frame(&info) : busy_frame(&info, f));
    }
}

/* YUV is taken by the matrix and range of the caps. */
TEST(test_colorimetry, 2) { /* NV12 and I420 */
    static const gchar *const known[] = {"bt601", "bt709", "bt2020", "1:4:0:0", "1:3:5:1"};
    GstVideoInfo info = make_info(formats[__i__], 33, 21);
    g_auto(Pair) pair = pair_new(tested);
    for (guint i = 0; i < G_N_ELEMENTS(known); i++) {
        fail_unless(gst_video_colorimetry_from_string(&info.colorimetry, known[i]));
        pair_set_info(&pair, &info);
        for (guint o = 0; o < tested->output_count; o++) {
            pair_set_output(&pair, output_at((gint)o));
            pair_check(&pair, busy_frame(&info, FALSE));
        }
    }
}

static GstPadProbeReturn offer_padded_pool(G_GNUC_UNUSED GstPad *pad, GstPadProbeInfo *probe,
                                           gpointer user) {
    GstQuery *query = GST_PAD_PROBE_INFO_QUERY(probe);
    GstVideoAlignment align;
    g_autoptr(GstBufferPool) pool = NULL;
    GstStructure *config;
    GstVideoInfo info;
    GstCaps *caps;
    if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
        return GST_PAD_PROBE_OK;
    gst_query_parse_allocation(query, &caps, NULL);
    fail_unless(gst_video_info_from_caps(&info, caps));
    gst_video_alignment_reset(&align);
    align.padding_left = 16;
    align.padding_top = 2;
    align.padding_right = 32;
    align.stride_align[0] = align.stride_align[1] = 63;
    pool = gst_video_buffer_pool_new();
    config = gst_buffer_pool_get_config(pool);
    gst_buffer_pool_config_set_params(config, caps, (guint)info.size, 2, 4);
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT);
    gst_buffer_pool_config_set_video_alignment(config, &align);
    fail_unless(gst_buffer_pool_set_config(pool, config));
    gst_query_add_allocation_pool(query, pool, (guint)info.size, 2, 4);
    gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
    *(guint *)user += 1;
    return GST_PAD_PROBE_OK;
}

/* A pool that downstream offers is used with its padding, where a frame has to be made. */
TEST(test_downstream_pool, tested->output_count) {
    for (guint f = 0; f < G_N_ELEMENTS(formats); f++) {
        GstVideoInfo info = make_info(formats[f], 33, 21);
        g_auto(Pair) pair = pair_with_output(__i__);
        g_autoptr(GstBuffer) out = NULL;
        guint offers = 0;
        gst_pad_add_probe(pair.h->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer_padded_pool,
                          &offers, NULL);
        pair_set_info(&pair, &info);
        out = pair_push(&pair, busy_frame(&info, FALSE), TRUE);
        fail_unless(offers > 0);
        if (output_at(__i__)->pixels != pixels_kept) {
            const GstVideoMeta *meta = gst_buffer_get_video_meta(out);
            fail_unless(meta != NULL && meta->offset[0] > 0);
        }
    }
}

/* Upstream is offered a pool, or, where frames go on, what downstream offers: any other pool would
   be wrong, as upstream fills the buffers of downstream, or its own. */
TEST(test_allocation, tested->output_count) {
    const gboolean goes_on = output_at(__i__)->pixels != pixels_new;
    GstVideoInfo info = make_info("NV12", 33, 21);
    g_autoptr(GstCaps) caps = gst_video_info_to_caps(&info);
    for (guint offering = 0; offering < 2; offering++) {
        g_auto(Pair) pair = pair_with_output(__i__);
        g_autoptr(GstQuery) query = gst_query_new_allocation(caps, TRUE);
        const gboolean offered = !goes_on || offering;
        guint offers = 0;
        if (offering)
            gst_pad_add_probe(pair.h->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM,
                              offer_padded_pool, &offers, NULL);
        pair_set_info(&pair, &info);
        fail_unless(gst_pad_peer_query(pair.h->srcpad, query) || !offered);
        fail_unless_equals_int(gst_query_get_n_allocation_pools(query) > 0, offered);
        fail_unless_equals_int(gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL),
                               offered);
        if (!goes_on) {
            g_autoptr(GstBufferPool) pool = NULL;
            guint size = 0;
            fail_unless_equals_int(gst_query_get_n_allocation_pools(query), 1);
            gst_query_parse_nth_allocation_pool(query, 0, &pool, &size, NULL, NULL);
            fail_unless(GST_IS_VIDEO_BUFFER_POOL(pool));
            fail_unless(gst_query_find_allocation_meta(query, GST_VIDEO_CROP_META_API_TYPE, NULL));
            fail_unless_equals_int(size, info.size);
        }
    }
}

/* Drawn over are only pixels that nobody else sees: not those of memory that two buffers share.
   What is kept goes on in any case. */
TEST(test_shared_memory, tested->output_count) {
    const Pixels pixels = output_at(__i__)->pixels;
    GstVideoInfo info = make_info("I420", 64, 48);
    g_auto(Pair) pair = pair_with_output(__i__);
    GstBuffer *frame = busy_frame(&info, TRUE), *other = gst_buffer_copy(frame), *out;
    g_autoptr(GstBuffer) before = gst_buffer_copy_deep(frame);
    const GstMemory *memory = gst_buffer_peek_memory(frame, 0);
    g_auto(Expected) expected = model_expect(pair.model, &info, frame, FALSE);
    pair_set_info(&pair, &info);
    out = push_and_pull(pair.h, frame);
    fail_unless_equals_int(gst_buffer_peek_memory(out, 0) == memory, pixels == pixels_kept);
    assert_same(&info, other, before);
    assert_same(&expected.info, out, expected.image);
    gst_buffer_unref(other);
    gst_buffer_unref(out);
}

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
    g_autoptr(GstBufferPool) pool = NULL;
    if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
        return GST_PAD_PROBE_OK;
    pool = g_object_new(empty_pool_get_type(), NULL);
    gst_object_ref_sink(pool);
    gst_query_add_allocation_pool(query, pool, 1, 0, 0);
    return GST_PAD_PROBE_OK;
}

TEST(test_no_output_buffer, tested->output_count) {
    GstVideoInfo info = make_info("NV12", 64, 48);
    g_auto(Pair) pair = pair_with_output(__i__);
    g_autoptr(GstBuffer) frame = random_frame(&info);
    gst_pad_add_probe(pair.h->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer_empty_pool, NULL,
                      NULL);
    pair_set_info(&pair, &info);
    if (output_at(__i__)->pixels == pixels_kept) {
        pair_check(&pair, random_frame(&info));
    } else {
        fail_unless_equals_int(gst_harness_push(pair.h, gst_buffer_ref(frame)), GST_FLOW_ERROR);
        assert_error(pair.bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT,
                     "output frame");
    }
}

/* A buffer that is smaller than its caps say, and metadata that points outside it. */
TEST(test_short_buffers, tested->output_count) {
    GstVideoInfo info = make_info("I420", 64, 48), wide = padded(&info);
    for (guint i = 0; i < 3; i++) {
        g_auto(Pair) pair = pair_with_output(__i__);
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
        assert_buffer_refused(pair.h, gst_video_info_to_caps(&info), in);
    }
}

TEST(test_buffer_metadata_is_kept, tested->output_count) {
    GstVideoInfo info = make_info("GRAY8", 16, 16);
    g_auto(Pair) pair = pair_with_output(__i__);
    GstBuffer *in = random_frame(&info), *out;
    const GstVideoRegionOfInterestMeta *region;
    GST_BUFFER_PTS(in) = 3 * GST_SECOND;
    GST_BUFFER_DTS(in) = 2 * GST_SECOND;
    GST_BUFFER_OFFSET(in) = 75;
    GST_BUFFER_FLAG_SET(in, GST_BUFFER_FLAG_DISCONT);
    gst_buffer_add_video_region_of_interest_meta(in, "face", 1, 2, 3, 4);
    pair_set_info(&pair, &info);
    out = push_and_pull(pair.h, in);
    fail_unless_equals_clocktime(GST_BUFFER_PTS(out), 3 * GST_SECOND);
    fail_unless_equals_clocktime(GST_BUFFER_DTS(out), 2 * GST_SECOND);
    fail_unless_equals_clocktime(GST_BUFFER_DURATION(out), GST_SECOND / 25);
    fail_unless_equals_uint64(GST_BUFFER_OFFSET(out), 75);
    fail_unless(GST_BUFFER_FLAG_IS_SET(out, GST_BUFFER_FLAG_DISCONT));
    region = (GstVideoRegionOfInterestMeta *)gst_buffer_get_meta(
        out, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE);
    fail_unless(region != NULL && region->roi_type == g_quark_from_string("face"));
    gst_buffer_unref(out);
}

/* ---- results ---- */

/* The pixels are the same, and the next frame goes on from this one. */
TEST(test_results, tested->output_count) {
    GstVideoInfo info = make_info("RGB", 65, 49);
    g_auto(Pair) pair = pair_with_output(__i__);
    pair_set_info(&pair, &info);
    for (guint i = 0; i < 8; i++)
        pair_check_wanted(&pair, busy_frame(&info, FALSE), i & 1, i >> 1 & 1);
}

/* As from appsrc or filesrc, whose segment is in bytes: no time, and no critical of GStreamer's. */
TEST(test_segment_in_bytes, 1) {
    GstVideoInfo info = make_info("I420", 64, 48);
    g_auto(Pair) pair = pair_new(tested);
    g_autoptr(GstMessage) message = NULL;
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_BYTES);
    g_object_set(pair.h->element, "post-messages", TRUE, NULL);
    pair_set_info(&pair, &info);
    fail_unless(gst_harness_push_event(pair.h, gst_event_new_segment(&segment)));
    pair_check(&pair, random_frame(&info));
    message = gst_bus_pop_filtered(pair.bus, GST_MESSAGE_ELEMENT);
    fail_unless(message != NULL);
    assert_time(gst_message_get_structure(message), "timestamp", 0);
    assert_time(gst_message_get_structure(message), "stream-time", GST_CLOCK_TIME_NONE);
    assert_time(gst_message_get_structure(message), "running-time", GST_CLOCK_TIME_NONE);
}

/* Each adds its own, in their order. */
TEST(test_two_in_a_row, 2) {
    g_autofree gchar *text =
        g_strdup_printf("%s backend=%s name=a ! %s backend=%s name=b", tested->name, test_backend(),
                        tested->name, test_backend());
    GstVideoInfo info = make_info("NV12", 65, 49);
    g_autoptr(GstHarness) h = gst_harness_new_parse(text);
    g_autoptr(GstElement) changed = gst_bin_get_by_name(GST_BIN(h->element), __i__ ? "b" : "a");
    g_autoptr(GstBuffer) next = busy_frame(&info, FALSE), out = NULL;
    const GType api = gst_meta_get_info(tested->name)->api;
    gpointer state = NULL;
    gst_util_set_object_arg(G_OBJECT(changed), tested->other, tested->another);
    set_info(h, &info);
    out = push_and_pull(h, gst_buffer_copy_deep(next));
    for (guint i = 0; i < 2; i++) {
        g_autoptr(GstElement) element = gst_bin_get_by_name(GST_BIN(h->element), i ? "b" : "a");
        g_autoptr(Model) model = model_new(tested, element);
        g_auto(Expected) expected = model_expect(model, &info, next, FALSE);
        GstMeta *meta = gst_buffer_iterate_meta_filtered(out, &state, api);
        fail_unless(meta != NULL);
        assert_same_results(gst_custom_meta_get_structure((GstCustomMeta *)meta), expected.results);
        gst_buffer_replace(&next, expected.image);
    }
    fail_unless(gst_buffer_iterate_meta_filtered(out, &state, api) == NULL);
    assert_same(&info, out, next);
}

/* ---- caps ---- */

/* Between two frames: the next one is what the property says, in every pair of outputs. */
TEST(test_output_while_playing, some_of(usual_formats)) {
    const guint count = tested->output_count;
    GstVideoInfo info = make_info(formats[__i__], 41, 37);
    g_auto(Pair) pair = pair_new(tested);
    pair_set_info(&pair, &info);
    for (guint i = 0; i < 2 * count * count; i++) {
        pair_set_output(&pair, output_at((gint)((i % 2 ? i / 2 : i / 2 / count) % count)));
        pair_check(&pair, busy_frame(&info, TRUE));
    }
}

/* Upstream may have to change its format or its pool, and is asked to once. */
TEST(test_output_asks_upstream, 1) {
    GstVideoInfo info = make_info("NV12", 16, 16);
    g_auto(Pair) pair = pair_new(tested);
    pair_set_info(&pair, &info);
    reconfigure_events(pair.h);
    for (guint i = 1; tested->choice && i <= tested->output_count; i++)
        for (guint again = 0; again < 2; again++) {
            pair_set_output(&pair, output_at((gint)(i % tested->output_count)));
            fail_unless_equals_int(reconfigure_events(pair.h), !again);
        }
}

/* What downstream does not take is said once, and the output that was there stays, until downstream
   takes it, or there is another one. */
static void check_output_refused(const Output *refused, const Output *other) {
    GstVideoInfo info = make_info("NV12", 16, 16);
    g_auto(Pair) pair = pair_new(tested);
    gst_harness_set_sink_caps_str(pair.h, "video/x-raw,format=NV12");
    pair_set_info(&pair, &info);
    for (guint i = 0; i < 2; i++) {
        pair_set_output(&pair, other);
        pair_check(&pair, busy_frame(&info, FALSE));
        gst_util_set_object_arg(G_OBJECT(pair.h->element), tested->choice, refused->name);
        assert_warning(pair.bus, GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION, refused->name);
        pair_check(&pair, busy_frame(&info, FALSE));
        assert_nothing_more(pair.bus);
    }
    gst_harness_set_sink_caps_str(pair.h, "video/x-raw");
    pair_set_output(&pair, refused);
    pair_check(&pair, busy_frame(&info, FALSE));
}

TEST(test_output_refused, tested->output_count) {
    for (guint other = 0; output_at(__i__)->format && other < tested->output_count; other++)
        if (!output_at((gint)other)->format)
            check_output_refused(output_at(__i__), output_at((gint)other));
}

/* Whether a pad, as things are, takes some of the caps. */
static void assert_takes(GstElement *element, const gchar *pad_name, const gchar *text,
                         gboolean expected) {
    g_autoptr(GstPad) pad = gst_element_get_static_pad(element, pad_name);
    g_autoptr(GstCaps) caps = gst_caps_from_string(text), offered = gst_pad_query_caps(pad, NULL);
    fail_unless(gst_caps_can_intersect(offered, caps) == expected, "%s: %s", pad_name, text);
}

/* What upstream is told depends on what downstream takes, and on the output. */
TEST(test_caps_queries, tested->output_count) {
    const Output *output = output_at(__i__);
    const gchar *format = output->format ? output->format : "RGB";
    const gboolean same = output->format == NULL;
    g_autoptr(GstHarness) h = gst_harness_new(tested->name);
    g_autofree gchar *takes = g_strdup_printf("video/x-raw,format=%s,width=64", format);
    g_autofree gchar *gives = g_strdup_printf("video/x-raw,format=%s,height=8", format);
    gst_harness_set_sink_caps_str(h, takes);
    if (tested->choice)
        gst_util_set_object_arg(G_OBJECT(h->element), tested->choice, output->name);
    assert_takes(h->element, "sink", "video/x-raw,format=RGB,width=64", TRUE);
    assert_takes(h->element, "sink", "video/x-raw,format=NV12,width=64,colorimetry=bt709", !same);
    assert_takes(h->element, "sink", "video/x-raw,format=GRAY8,width=64", !same);
    assert_takes(h->element, "sink", "video/x-raw,format=GRAY16_LE,width=64", !same);
    assert_takes(h->element, "sink", "video/x-raw,format=Y42B,width=64", FALSE);
    assert_takes(h->element, "sink", "video/x-raw,format=RGB,width=65", FALSE);
    assert_takes(h->element, "sink", "video/x-raw,format=GRAY8,width=65", FALSE);
    gst_harness_set_sink_caps_str(h, "video/x-raw,format=Y42B");
    assert_takes(h->element, "sink", "video/x-raw", FALSE);
    gst_harness_set_sink_caps_str(h, "video/x-raw");
    gst_harness_set_src_caps_str(h, "video/x-raw,format=NV12,width=64,height=8,framerate=1/1,"
                                    "colorimetry=bt709");
    assert_takes(h->element, "src", gives, !same);
    assert_takes(h->element, "src", "video/x-raw,format=NV12", same);
    if (!same && g_str_has_prefix(format, "GRAY")) {
        g_autofree gchar *grey = g_strconcat(gives, ",colorimetry=1:4:0:0", NULL);
        assert_takes(h->element, "src", grey, TRUE);
    }
}

static void empty(GstBus *bus) {
    gst_bus_set_flushing(bus, TRUE);
    gst_bus_set_flushing(bus, FALSE);
}

#define RATE ",framerate=25/1"
#define FRAME ",width=64,height=48" RATE

/* Whatever upstream insists on, one message says what it was and what to do; after good caps, and
   after a start, they are news again. */
static void check_refusal(const gchar *refused, const gchar *words) {
    g_autoptr(GstHarness) h = gst_harness_new(tested->name);
    g_autoptr(GstBus) bus = add_bus(h->element);
    g_autoptr(GstCaps) bad = gst_caps_from_string(refused);
    g_autoptr(GstCaps) good = gst_caps_from_string("video/x-raw,format=NV12" FRAME);
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    for (gint round = 0; round < 3; round++) {
        gst_pad_push_event(h->srcpad, gst_event_new_stream_start("test"));
        gst_pad_push_event(h->srcpad, gst_event_new_caps(bad));
        gst_pad_push_event(h->srcpad, gst_event_new_segment(&segment)); /* the caps come again */
        assert_warning(bus, GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION, words);
        assert_nothing_more(bus);
        if (round == 0) {
            fail_unless(gst_pad_get_current_caps(GST_PAD_PEER(h->srcpad)) == NULL);
            gst_element_set_state(h->element, GST_STATE_READY);
            gst_element_set_state(h->element, GST_STATE_PLAYING);
        } else {
            gst_pad_push_event(h->srcpad, gst_event_new_caps(good));
        }
        empty(bus);
    }
}

TEST(test_caps_refused, 1) {
    static const struct {
        const gchar *caps, *words;
        gboolean interlaced;
    } refused[] = {
        {"video/x-raw,format=Y42B" FRAME, "Format Y42B", FALSE},
        {"video/x-raw,format=Y42B" FRAME,
         "videoconvert in front of this element, which takes NV12, I420,", FALSE},
        {"video/x-raw,format=Y42B" FRAME, "xRGB, xBGR, GRAY16_LE.", FALSE},
        {"video/x-raw,format=NV12,interlace-mode=interleaved" FRAME, "deinterlace", TRUE},
        {"video/x-raw,format=I420,interlace-mode=alternate" FRAME, "deinterlace", FALSE},
        {"video/x-raw(format:Interlaced),format=NV12,interlace-mode=alternate" FRAME, "deinterlace",
         FALSE},
        {"video/x-raw,format=GRAY8,width=4,height=32768" RATE, "32767", FALSE},
        {"video/x-raw,format=RGBA,width=32768,height=1" RATE, "32768x1", FALSE},
        {"video/x-raw,format=RGBA,width=0,height=48" RATE, "out of range", FALSE},
        {"video/x-raw,format=RGBA,width=64,height=0" RATE, "out of range", FALSE},
        {"video/x-raw,format=RGBA,width=-1,height=48" RATE, "out of range", FALSE},
        {"video/x-raw,format=RGBA,width=64,height=-2147483648" RATE, "out of range", FALSE},
        {"video/x-raw,format=RGBA,width=536870912,height=1" RATE, "536870912x1", FALSE},
        {"video/x-raw(memory:CUDAMemory),format=RGBA,width=1,height=2147483647" RATE,
         "1x2147483647", FALSE},
        {"video/x-raw(memory:GLMemory),format=RGBA" FRAME, "system memory", FALSE},
        {"video/x-raw(memory:CUDAMemory),format=I420_10LE" FRAME,
         "cudaconvert, or cudadownload and videoconvert, in front of this element, which takes "
         "NV12,",
         FALSE},
        {"video/x-raw(memory:CUDAMemory),format=GRAY8" FRAME,
         "GRAY8 is not supported in CUDAMemory", FALSE},
        {"video/x-bayer,format=bggr" FRAME, "video/x-raw", FALSE},
        {"video/x-raw" FRAME, "lack a field", FALSE},
        {"video/x-raw,format=RGB,height=64" RATE, "lack a field", FALSE},
    };
    for (guint i = 0; i < G_N_ELEMENTS(refused); i++)
        if (!refused[i].interlaced || !tested->interlaced)
            check_refusal(refused[i].caps, refused[i].words);
}

/* On the CPU, or without a device; before the start too, so that upstream can choose something
   else. */
TEST(test_cuda_memory_refused, have_cuda_device() ? 1 : 2) {
    static const gchar *const backends[] = {"cpu", "auto"};
    GstElement *element = element_new(tested->name, backends[__i__]);
    g_autoptr(GstHarness) h = NULL;
    g_autoptr(GstBus) bus = NULL;
    g_autoptr(GstCaps) caps =
        gst_caps_from_string("video/x-raw(memory:CUDAMemory),format=NV12" FRAME);
    if (__i__ == 0)
        assert_takes(element, "sink", "video/x-raw(memory:CUDAMemory)", FALSE);
    h = harness_with(element);
    bus = add_bus(element);
    assert_takes(element, "sink", "video/x-raw(memory:CUDAMemory)", FALSE);
    fail_if(gst_pad_peer_query_accept_caps(h->srcpad, caps));
    gst_pad_push_event(h->srcpad, gst_event_new_stream_start("test"));
    gst_pad_push_event(h->srcpad, gst_event_new_caps(caps));
    fail_unless(gst_pad_get_current_caps(GST_PAD_PEER(h->srcpad)) == NULL);
    assert_warning(bus, GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION, "cudadownload");
}

TEST(test_caps_accepted, 1) {
    static const gchar *const accepted[] = {
        "video/x-raw,format=NV12,width=1,height=1,framerate=0/1",
        "video/x-raw,format=NV12,width=64,height=48",
        "video/x-raw,format=NV12,interlace-mode=mixed" FRAME,
        "video/x-raw,format=I420,width=64,height=48,framerate=1000/1,interlace-mode=progressive",
        "video/x-raw,format=NV12,colorimetry=bt709,chroma-site=mpeg2" FRAME,
        "video/x-raw,format=RGB,width=32767,height=32767,pixel-aspect-ratio=4/3" RATE,
    };
    for (guint i = 0; i < G_N_ELEMENTS(accepted); i++) {
        g_autoptr(GstHarness) h = gst_harness_new(tested->name);
        g_autoptr(GstCaps) caps = gst_caps_from_string(accepted[i]);
        fail_unless(gst_pad_peer_query_accept_caps(h->srcpad, caps), "%s", accepted[i]);
    }
}

/* What can be either is progressive, unless it makes no difference: then it is as the source would
   have it. */
TEST(test_either_mode, 1) {
    g_autoptr(GstElement) element = element_new(tested->name, test_backend());
    g_autoptr(GstPad) pad = gst_element_get_static_pad(element, "sink");
    g_autoptr(GstCaps) can = gst_caps_from_string(
        "video/x-raw,format=I420,interlace-mode={interleaved,progressive}" FRAME);
    g_autoptr(GstCaps) chosen = gst_caps_fixate(gst_pad_query_caps(pad, can));
    fail_unless_equals_string(
        gst_structure_get_string(gst_caps_get_structure(chosen, 0), "interlace-mode"),
        tested->interlaced ? "interleaved" : "progressive");
}

/* Caps without a rate, as appsrc is given them, are as good as others, and nothing is said of
   them. */
TEST(test_without_a_framerate, 1) {
    GstVideoInfo info = make_info("RGB", 32, 24);
    g_auto(Pair) pair = pair_new(tested);
    info.fps_n = 0;
    pair.info = info;
    gst_harness_set_src_caps_str(pair.h, "video/x-raw,format=RGB,width=32,height=24");
    pair_check(&pair, random_frame(&info));
    assert_nothing_more(pair.bus);
}

/* ---- crops, gaps and interlaced frames ---- */

static gboolean check_crop(Pair *pair, const GstVideoInfo *whole, const Crop *crop,
                           gboolean shared) {
    g_autoptr(GstBuffer) frame = busy_frame(whole, TRUE), other = NULL;
    GstBuffer *there = gst_buffer_copy_deep(frame);
    other = shared ? gst_buffer_copy(there) : NULL;
    return pair_check_crop(pair, whole, frame, there, crop);
}

TEST(test_crops, tested->output_count) {
    const Pixels pixels = output_at(__i__)->pixels;
    gboolean stayed = FALSE;
    for (guint f = 0; f < G_N_ELEMENTS(formats); f++) {
        const GstVideoInfo whole = make_info(formats[f], whole_width, whole_height);
        g_auto(Pair) pair = pair_with_output(__i__);
        if (f % 2) /* else what is kept is copied */
            gst_harness_add_propose_allocation_meta(pair.h, GST_VIDEO_CROP_META_API_TYPE, NULL);
        for (guint i = 0; i < 2 * crop_count; i++) {
            const gboolean shared = i % 2;
            const gboolean may_stay =
                f % 2 && (pixels == pixels_kept || (pixels == pixels_drawn && !shared));
            const gboolean stays = check_crop(&pair, &whole, &crops[i / 2], shared);
            fail_if(stays && !may_stay);
            stayed = stayed || stays;
        }
    }
    fail_unless_equals_int(stayed, pixels != pixels_new);
}

/* Upstream is not asked anew what it may leave to us, but frames that are kept go to somebody who
   takes no crops: they are copied. */
TEST(test_crop_after_another_output, tested->output_count) {
    const GstVideoInfo whole = make_info("I420", whole_width, whole_height);
    g_auto(Pair) pair = pair_new(tested);
    fail_if(check_crop(&pair, &whole, &crops[3], FALSE));
    pair_set_output(&pair, output_at(__i__));
    fail_if(check_crop(&pair, &whole, &crops[3], FALSE));
}

/* Which reaches beyond the frame. */
TEST(test_bad_crop, tested->output_count) {
    static const Crop bad[] = {{28, 0, 20, 10}, {0, 30, 20, 10}, {G_MAXUINT, 1, 20, 10}};
    const GstVideoInfo whole = make_info("NV12", whole_width, whole_height);
    const GstVideoInfo info = make_info("NV12", 20, 10);
    for (guint i = 0; i <= G_N_ELEMENTS(bad); i++) {
        g_auto(Pair) pair = pair_with_output(__i__);
        GstBuffer *frame = i < G_N_ELEMENTS(bad) ? add_crop(random_padded_frame(&whole), &bad[i])
                                                 : add_crop(random_frame(&info), &crops[4]);
        pair_set_info(&pair, &info);
        fail_unless_equals_int(gst_harness_push(pair.h, frame), GST_FLOW_ERROR);
        assert_error(pair.bus, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED, "GstVideoCropMeta");
    }
}

/* A buffer without bytes passes as it is; a frame that fills a gap is processed, and stays one. */
TEST(test_gaps, tested->output_count) {
    const GstVideoInfo info = make_info("I420", 32, 24);
    g_auto(Pair) pair = pair_with_output(__i__);
    GstBuffer *gap = gst_buffer_new(), *out;
    pair_set_info(&pair, &info);
    GST_BUFFER_PTS(gap) = 3 * GST_SECOND;
    GST_BUFFER_FLAG_SET(gap, GST_BUFFER_FLAG_GAP);
    out = push_and_pull(pair.h, gap);
    fail_unless(out == gap && gst_buffer_get_size(out) == 0);
    fail_unless(GST_BUFFER_FLAG_IS_SET(out, GST_BUFFER_FLAG_GAP));
    gst_buffer_unref(out);
    gap = random_frame(&info);
    GST_BUFFER_FLAG_SET(gap, GST_BUFFER_FLAG_GAP);
    out = pair_push(&pair, gap, FALSE);
    fail_unless(GST_BUFFER_FLAG_IS_SET(out, GST_BUFFER_FLAG_GAP));
    gst_buffer_unref(out);
}

static GstBuffer *interlaced_frame(const GstVideoInfo *info) {
    GstBuffer *frame = random_frame(info);
    GST_BUFFER_FLAG_SET(frame, GST_VIDEO_BUFFER_FLAG_INTERLACED);
    return frame;
}

/* Of a mixed stream an interlaced frame passes, or is dropped where the output is of another kind;
   one warning says so. The others are processed. */
static void check_mixed(Pair *pair, const Output *output) {
    for (guint i = 0; i < 2; i++) {
        GstBuffer *frame = interlaced_frame(&pair->info), *before = gst_buffer_copy_deep(frame),
                  *out;
        pair_check(pair, random_frame(&pair->info));
        empty(pair->bus); /* of what an output lacks */
        fail_unless_equals_int(gst_harness_push(pair->h, frame), GST_FLOW_OK);
        out = gst_harness_try_pull(pair->h);
        fail_unless_equals_int(out == NULL, output->format != NULL);
        if (out) {
            assert_same(&pair->info, out, before);
            fail_if(gst_buffer_get_custom_meta(out, tested->name));
            gst_buffer_unref(out);
        }
        gst_buffer_unref(before);
        if (i == 0)
            assert_warning(pair->bus, GST_STREAM_ERROR, GST_STREAM_ERROR_WRONG_TYPE, "deinterlace");
        assert_nothing_more(pair->bus);
    }
    pair_check(pair, random_frame(&pair->info));
}

/* Where no pixel depends on its neighbours, interlaced frames are as good as others. */
TEST(test_interlaced_frames, tested->output_count) {
    static const gchar *const modes[] = {"mixed", "interleaved", "fields"};
    static const gchar *const some_formats[] = {"I420", "GRAY8"};
    for (guint i = 0; i < G_N_ELEMENTS(modes) * G_N_ELEMENTS(some_formats); i++) {
        const gchar *format = some_formats[i % 2];
        const GstVideoInfo info = make_info(format, 32, 24);
        g_autofree gchar *caps =
            g_strdup_printf("video/x-raw,format=%s,width=32,height=24,interlace-mode=%s" RATE,
                            format, modes[i / 2]);
        g_auto(Pair) pair = pair_with_output(__i__);
        pair.info = info;
        if (tested->interlaced || i < 2)
            gst_harness_set_src_caps_str(pair.h, caps);
        if (tested->interlaced)
            pair_check(&pair, interlaced_frame(&info));
        else if (i < 2)
            check_mixed(&pair, output_at(__i__));
    }
}

/* Takes the frame, which comes between start and stop. */
static void flush(GstHarness *h, GstBuffer *frame) {
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    fail_unless(gst_harness_push_event(h, gst_event_new_flush_start()));
    fail_unless_equals_int(gst_harness_push(h, frame), GST_FLOW_FLUSHING);
    fail_unless(gst_harness_push_event(h, gst_event_new_flush_stop(TRUE)));
    fail_unless(gst_harness_push_event(h, gst_event_new_segment(&segment)));
}

/* ---- life of a stream ---- */

TEST(test_flush, tested->output_count) {
    GstVideoInfo info = make_info("RGBA", 43, 29);
    g_auto(Pair) pair = pair_with_output(__i__);
    pair_set_info(&pair, &info);
    for (guint i = 0; i < 20; i++) {
        pair_check(&pair, busy_frame(&info, FALSE));
        flush(pair.h, random_frame(&info));
        model_forget(pair.model);
    }
    fail_unless(gst_harness_push_event(pair.h, gst_event_new_eos()));
    fail_unless_equals_int(gst_harness_push(pair.h, random_frame(&info)), GST_FLOW_EOS);
}

TEST(test_late_frames_are_dropped, tested->output_count) {
    GstVideoInfo info = make_info("GRAY8", 8, 8);
    g_auto(Pair) pair = pair_with_output(__i__);
    GstBuffer *late = random_frame(&info);
    pair_set_info(&pair, &info);
    pair_check(&pair, random_frame(&info));
    gst_harness_push_upstream_event(
        pair.h, gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 2.0, 5 * GST_SECOND, 0));
    GST_BUFFER_PTS(late) = GST_SECOND;
    fail_unless_equals_int(gst_harness_push(pair.h, late), GST_FLOW_OK);
    fail_unless_equals_int(gst_harness_buffers_received(pair.h), 1);
}

/* A frame starts from the one before, also after a gap and new caps; the first after a start does
   not, nor, unless keep-state says so, after a flush, where a stream starts, or after reset. */
TEST(test_what_a_frame_starts_from, 1) {
    GstVideoInfo info = make_info("RGB", 40, 30), smaller = make_info("NV12", 17, 13);
    g_auto(Pair) pair = pair_new(tested);
    fail_unless_equals_int(g_signal_lookup("reset", G_OBJECT_TYPE(pair.h->element)) != 0,
                           tested->learns);
    for (guint start = 0; tested->learns && start < 4; start++) {
        const gboolean keeps = start / 2;
        GstBuffer *cut = busy_frame(&info, FALSE);
        GST_BUFFER_FLAG_SET(cut, GST_BUFFER_FLAG_DISCONT);
        model_forget(pair.model);
        pair_set_info(&pair, &info);
        pair_check(&pair, random_frame(&info));
        pair_check(&pair, cut);
        g_object_set(pair.h->element, "keep-state", keeps, NULL);
        flush(pair.h, random_frame(&info));
        if (!keeps)
            model_forget(pair.model);
        pair_check(&pair, busy_frame(&info, FALSE));
        pair_set_info(&pair, &smaller);
        pair_check(&pair, random_frame(&smaller));
        gst_pad_push_event(pair.h->srcpad, gst_event_new_stream_start("another"));
        pair_set_info(&pair, &smaller);
        if (!keeps)
            model_forget(pair.model);
        pair_check(&pair, random_frame(&smaller));
        g_signal_emit_by_name(pair.h->element, "reset");
        model_forget(pair.model);
        pair_check(&pair, busy_frame(&smaller, FALSE));
        gst_element_set_state(pair.h->element, GST_STATE_READY);
        gst_element_set_state(pair.h->element, GST_STATE_PLAYING);
        gst_pad_push_event(pair.h->srcpad, gst_event_new_stream_start("test"));
    }
}

/* ---- which frames, and what of them ---- */

static gboolean has_property(const Pair *pair, const gchar *name) {
    return g_object_class_find_property(G_OBJECT_GET_CLASS(pair->h->element), name) != NULL;
}

/* What another frame had: its results, with the times of this frame, and its pixels, unless they
   are those of this frame; nothing is copied. */
static void check_repeated(Pair *pair, GstBuffer *frame, GstBuffer *before) {
    const Output *output = model_output(pair->model);
    const GstVideoInfo *in = &pair->info;
    const GstVideoInfo info =
        output->format ? make_info(output->format, in->width, in->height) : *in;
    const gboolean keeps = output->pixels == pixels_kept;
    const GstMemory *memory = gst_buffer_peek_memory(keeps ? frame : before, 0);
    const GstClockTime time = GST_BUFFER_PTS(frame);
    g_autoptr(GstBuffer) pixels = gst_buffer_copy_deep(keeps ? frame : before);
    g_autoptr(GstBuffer) out = push_and_pull(pair->h, frame);
    g_autoptr(GstStructure) results = gst_structure_copy(results_of(out, tested->name));
    g_autoptr(GstMessage) message = gst_bus_pop_filtered(pair->bus, GST_MESSAGE_ELEMENT);
    gboolean repeated = FALSE;
    fail_unless(gst_structure_get_boolean(results, "repeated", &repeated) && repeated);
    assert_posted(gst_message_get_structure(message), results);
    assert_time(gst_message_get_structure(message), "timestamp", time);
    gst_structure_remove_field(results, "repeated");
    assert_same_results(results, results_of(before, tested->name));
    assert_regions(out, results);
    fail_unless_equals_clocktime(GST_BUFFER_PTS(out), time);
    fail_unless(gst_buffer_peek_memory(out, 0) == memory);
    assert_same(&info, out, pixels);
    gst_buffer_memset(out, 0, 0, 1); /* is not seen in the next one */
}

/* Of three frames one is processed: p. Counting begins anew with a stream, after a flush, f, a
   query for buffers, q, and with the signal reset, r; a frame of which more is wanted, or something
   else, is processed. */
TEST(test_interval, tested->output_count) {
    const gchar *steps = tested->learns ? "p--p--pf--p-q-s-r-" : "p--p--pf--p-q-s--p";
    GstVideoInfo info = make_info("I420", 47, 39);
    g_auto(Pair) pair = pair_with_output(__i__);
    g_autoptr(GstBuffer) last = NULL;
    if (!has_property(&pair, "interval"))
        return;
    g_object_set(pair.h->element, "interval", 3, "post-messages", TRUE, NULL);
    pair_set_info(&pair, &info);
    for (guint i = 0; steps[i]; i++) {
        GstBuffer *frame = busy_frame(&info, i % 2);
        GST_BUFFER_PTS(frame) = i * GST_SECOND;
        if (steps[i] == 'f')
            flush(pair.h, random_frame(&info));
        if (steps[i] == 'q') {
            g_autoptr(GstQuery) query = gst_query_new_drain();
            gst_pad_peer_query(pair.h->srcpad, query);
        }
        if (steps[i] == 's') {
            GstSegment segment;
            gst_segment_init(&segment, GST_FORMAT_TIME);
            gst_harness_push_event(pair.h, gst_event_new_segment(&segment));
        }
        if (steps[i] == 'r')
            g_signal_emit_by_name(pair.h->element, "reset");
        if (steps[i] == 'f' || steps[i] == 'r')
            model_forget(pair.model);
        if (steps[i] == '-') {
            check_repeated(&pair, frame, last);
            continue;
        }
        gst_clear_buffer(&last);
        last = pair_push(&pair, frame, FALSE);
        gst_message_unref(gst_bus_pop_filtered(pair.bus, GST_MESSAGE_ELEMENT));
    }
    for (guint o = 0; o < tested->output_count; o++) {
        pair_set_output(&pair, output_at(((gint)o + 1 + __i__) % (gint)tested->output_count));
        pair_check(&pair, busy_frame(&info, FALSE));
    }
    flush(pair.h, random_frame(&info));
    model_forget(pair.model);
    empty(pair.bus);
    pair_check_wanted(&pair, busy_frame(&info, FALSE), TRUE, FALSE);
    pair_check_wanted(&pair, busy_frame(&info, FALSE), TRUE, TRUE);
    fail_unless_equals_uint64(stat_of(pair.h->element, test_backend(), "frames"), pair.count + 2);
}

/* Each by itself, and what is outside as it was, or 0. From a region learning goes on to the next
   frame if there is one in either. */
TEST(test_roi, tested->output_count) {
    static const Crop regions[][2] = {{{8, 6, 16, 16}},
                                      {{9, 6, 16, 17}},
                                      {{0, 0, 20, 39}, {21, 1, 26, 30}},
                                      {{40, 30, 100, 100}, {3, 5, 1, 1}},
                                      {{2, 2, 40, 30}, {5, 6, 42, 33}},
                                      {{2, 2, 44, 30}}};
    static const guint counts[] = {1, 1, 2, 2, 2, 1};
    static const gchar *const some_formats[] = {"YV12", "GBR", "YUY2", "P010_10LE"};
    for (guint f = 0; f < G_N_ELEMENTS(some_formats); f++) {
        GstVideoInfo info = make_info(some_formats[f], whole_width, whole_height);
        g_auto(Pair) pair = pair_with_output(__i__);
        if (!has_property(&pair, "roi"))
            return;
        gst_util_set_object_arg(G_OBJECT(pair.h->element), "roi", "meta");
        g_object_set(pair.h->element, "roi-type", "part", NULL);
        pair_set_info(&pair, &info);
        for (guint i = 0; i <= G_N_ELEMENTS(counts); i++) {
            const guint count = i < G_N_ELEMENTS(counts) ? counts[i] : 0;
            GstBuffer *there = busy_frame(&info, TRUE);
            g_autoptr(GstBuffer) frame = NULL;
            gst_buffer_add_video_region_of_interest_meta(there, "other", 0, 0, 9, 9);
            gst_buffer_add_video_region_of_interest_meta(there, "part", 47, 0, 9, 9);
            frame = gst_buffer_copy_deep(there);
            pair_check_regions(&pair, frame, there, count ? regions[i] : NULL, count, i != 1);
        }
        gst_util_set_object_arg(G_OBJECT(pair.h->element), "roi", "frame");
        model_forget(pair.model);
        pair_check(&pair, busy_frame(&info, FALSE));
    }
}

/* ---- properties ---- */

static GParamSpec *spec_of(gpointer element, const gchar *name) {
    GParamSpec *spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), name);
    fail_unless(spec != NULL, "%s", name);
    return spec;
}

/* The frame of the time gets the value, not the one after; the time is that of the stream, which
   here is 10 s behind the timestamps. */
TEST(test_controlled, 1) {
    const gdouble values[] = {g_ascii_strtod(tested->another, NULL), 5, 4};
    GstVideoInfo info = make_info("NV12", 60, 50);
    g_auto(Pair) pair = pair_new(tested);
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    segment.start = 10 * GST_SECOND;
    control(pair.h->element, tested->other, values, G_N_ELEMENTS(values));
    pair_set_info(&pair, &info);
    fail_unless(gst_harness_push_event(pair.h, gst_event_new_segment(&segment)));
    for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
        GstBuffer *in = busy_frame(&info, FALSE);
        g_autofree gchar *value = g_strdup_printf("%g", values[i]);
        GST_BUFFER_PTS(in) = (10 + i) * GST_SECOND;
        gst_util_set_object_arg(G_OBJECT(pair.beside), tested->other, value);
        pair_check(&pair, in);
    }
}

static void assert_value(GObject *element, const Property *property, const gchar *text) {
    GParamSpec *spec = spec_of(element, property->name);
    GValue got = G_VALUE_INIT, expected = G_VALUE_INIT;
    g_object_get_property(element, property->name, &got);
    g_value_init(&expected, spec->value_type);
    if (G_IS_PARAM_SPEC_STRING(spec))
        g_value_set_string(&expected, text);
    else
        fail_unless(gst_value_deserialize(&expected, text), "%s=%s", property->name, text);
    if (g_param_values_cmp(spec, &got, &expected) != 0) {
        gchar *contents = g_strdup_value_contents(&got);
        fail("%s is %s, should be %s", property->name, contents, text);
    }
    g_value_unset(&got);
    g_value_unset(&expected);
}

static void set_number(GObject *element, GParamSpec *spec, gdouble number) {
    if (G_IS_PARAM_SPEC_INT(spec))
        g_object_set(element, spec->name, (gint)CLAMP(number, G_MININT, G_MAXINT), NULL);
    else
        g_object_set(element, spec->name, number, NULL);
}

/* The ends of the range are taken, and what lies beyond is refused by GObject. */
static void check_range(GObject *element, const Property *property) {
    GParamSpec *spec = spec_of(element, property->name);
    const gdouble minimum = g_ascii_strtod(property->minimum, NULL);
    const gdouble maximum = g_ascii_strtod(property->maximum, NULL);
    const gdouble beyond[] = {minimum - 1, maximum + 1, (gdouble)NAN};
    gchar *warning = NULL;
    /* Newer GLib calls it critical. */
    const guint handler = g_log_set_handler(
        "GLib-GObject", G_LOG_LEVEL_WARNING | G_LOG_LEVEL_CRITICAL, keep_warning, &warning);
    gst_util_set_object_arg(element, property->name, property->minimum);
    assert_value(element, property, property->minimum);
    gst_util_set_object_arg(element, property->name, property->maximum);
    assert_value(element, property, property->maximum);
    fail_unless(warning == NULL, "%s", warning);
    for (guint i = 0; i < (G_IS_PARAM_SPEC_FLOAT(spec) ? 3
                           : G_IS_PARAM_SPEC_INT(spec) ? 2
                                                       : 0);
         i++) {
        set_number(element, spec, beyond[i]);
        fail_unless(warning != NULL && strstr(warning, property->name), "%s=%g", property->name,
                    beyond[i]);
        g_clear_pointer(&warning, g_free);
        assert_value(element, property, property->maximum);
    }
    g_log_remove_handler("GLib-GObject", handler);
}

/* What it takes test_parameters() shows. */
static void check_property(GObject *element, const Property *property) {
    GParamSpec *spec = spec_of(element, property->name);
    g_auto(GStrv) values = values_of(property);
    GValue value = G_VALUE_INIT;
    assert_value(element, property, property->initial);
    g_object_get_property(element, property->name, &value);
    fail_unless(g_param_value_defaults(spec, &value), "%s", property->name);
    g_value_unset(&value);
    if (property->minimum)
        check_range(element, property);
    if (G_IS_PARAM_SPEC_ENUM(spec) && values[0]) {
        const GEnumClass *klass = G_PARAM_SPEC_ENUM(spec)->enum_class;
        fail_unless_equals_int(klass->n_values, g_strv_length(values));
        for (guint i = 0; i < klass->n_values; i++) {
            fail_unless_equals_string(klass->values[i].value_nick, values[i]);
            fail_unless_equals_int(klass->values[i].value,
                                   g_ascii_isdigit(*values[i]) ? atoi(values[i]) : (gint)i);
        }
    }
}

/* Every blurb is a sentence with range and default; all but the backend may change at any time. */
static void check_flags(GParamSpec *spec) {
    static const gchar *const only_ready[] = {"backend", "cuda-device-id", NULL};
    const gchar *blurb = g_param_spec_get_blurb(spec);
    fail_unless(g_str_has_suffix(blurb, "."), "%s: %s", spec->name, blurb);
    if (!(spec->flags & G_PARAM_WRITABLE))
        return;
    if (G_IS_PARAM_SPEC_INT(spec)) {
        g_autofree gchar *range = g_strdup_printf(" to %d", G_PARAM_SPEC_INT(spec)->maximum);
        fail_unless(strstr(blurb, range) != NULL, "%s: %s", spec->name, blurb);
    }
    fail_unless(strstr(blurb, "efault") != NULL, "%s: %s", spec->name, blurb);
    if (g_strv_contains(only_ready, spec->name))
        fail_unless(spec->flags & GST_PARAM_MUTABLE_READY, "%s", spec->name);
    else
        fail_unless((spec->flags & GST_PARAM_CONTROLLABLE) &&
                        (spec->flags & GST_PARAM_MUTABLE_PLAYING),
                    "%s", spec->name);
}

TEST(test_properties, 1) {
    GstElement *element = gst_check_setup_element(tested->name);
    guint count = 0, written = 0;
    GParamSpec **specs = g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count);
    for (guint i = 0; i < count; i++)
        if (g_str_has_prefix(g_type_name(specs[i]->owner_type), "GstGpu")) {
            check_flags(specs[i]);
            written += (specs[i]->flags & G_PARAM_WRITABLE) != 0;
        }
    g_free(specs);
    fail_unless_equals_int(written, tested->property_count + G_N_ELEMENTS(base_properties));
    for (guint i = 0; i < tested->property_count; i++)
        check_property(G_OBJECT(element), &tested->properties[i]);
    for (guint i = 0; i < G_N_ELEMENTS(base_properties); i++)
        check_property(G_OBJECT(element), &base_properties[i]);
    gst_check_teardown_element(element);
}

TEST(test_factory, 1) {
    g_autoptr(GstElementFactory) factory = gst_element_factory_find(tested->name);
    g_autoptr(GstPlugin) plugin = gst_plugin_feature_get_plugin(GST_PLUGIN_FEATURE(factory));
    fail_unless_equals_int(gst_plugin_feature_get_rank(GST_PLUGIN_FEATURE(factory)), GST_RANK_NONE);
    fail_unless_equals_string(gst_element_factory_get_metadata(factory, GST_ELEMENT_METADATA_KLASS),
                              tested->klass);
    fail_unless(strchr(gst_element_factory_get_metadata(factory, GST_ELEMENT_METADATA_AUTHOR), '<'),
                "an author has an address");
    fail_if(strstr(gst_plugin_get_origin(plugin), "nknown"));
    fail_unless_equals_string(gst_plugin_get_name(plugin), "gpuvision");
    fail_unless_equals_string(gst_plugin_get_license(plugin), "BSD");
}

TEST(test_stats, 1) {
    GstVideoInfo info = make_info("NV12", 64, 48);
    g_auto(Pair) pair = pair_with(tested, element_new(tested->name, "cpu"));
    g_autoptr(GstStructure) before = stats_of(pair.beside, "none"), stats = NULL;
    gdouble last = 0, mean = 0, p99 = 0;
    pair_set_info(&pair, &info);
    for (guint i = 0; i < 4; i++)
        pair_check(&pair, busy_frame(&info, FALSE));
    gst_element_set_state(pair.h->element, GST_STATE_NULL);
    stats = stats_of(pair.h->element, "cpu");
    fail_unless(gst_structure_get(stats, "time-us-last", G_TYPE_DOUBLE, &last, "time-us-mean",
                                  G_TYPE_DOUBLE, &mean, "time-us-p99", G_TYPE_DOUBLE, &p99, NULL));
    fail_unless(last > 0 && mean > 0 && p99 >= last && p99 >= mean);
    fail_unless_equals_uint64(stat_of(pair.h->element, "cpu", "frames"), 4);
    fail_unless_equals_uint64(stat_of(pair.h->element, "cpu", "uploads"), 0);
    fail_unless_equals_uint64(stat_of(pair.h->element, "cpu", "downloads"), 0);
    fail_unless(strlen(gst_structure_get_string(stats, "device")) > 0);
}

#if !GST_CHECK_VERSION(1, 26, 0)
/* Before the first frame an error says which one, later a warning does, once. */
TEST(test_mask_needs_another_version, 1) {
    const GstVideoInfo info = make_info("NV12", 32, 24);
    g_auto(Pair) pair = pair_new(tested), later = pair_new(tested);
    if (!g_object_class_find_property(G_OBJECT_GET_CLASS(pair.h->element), "attach-mask"))
        return;
    pair_set_info(&pair, &info);
    g_object_set(pair.h->element, "attach-mask", TRUE, NULL);
    fail_unless_equals_int(gst_harness_push(pair.h, random_frame(&info)), GST_FLOW_ERROR);
    assert_error(pair.bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, "1.26");
    pair_set_info(&later, &info);
    pair_check(&later, busy_frame(&info, FALSE));
    g_object_set(later.h->element, "attach-mask", TRUE, NULL);
    for (guint i = 0; i < 2; i++)
        pair_check(&later, busy_frame(&info, FALSE));
    assert_warning(later.bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, "1.26");
    assert_nothing_more(later.bus);
}
#endif

int run_element(const gchar *name, int (*run)(const gchar *part)) {
    tested = element_called(name);
    return run(NULL);
}
