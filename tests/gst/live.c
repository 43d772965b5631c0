/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All five elements in one live pipeline, on the backend GPV_TEST_BACKEND, or on the CPU: new caps
 * in mid-stream, a sink that is too slow, loops, the end of the stream and what comes after it.
 * With GST_TRACERS=leaks every test also fails on objects that are alive after it.
 */
#include "chains.h"
#include "clip.h"

enum { width = 64, height = 48, clip_frames = 25 };

static const ChainLook warm = {"rich", "none", "overlay", TRUE};

#define SOURCE "filesrc name=file ! matroskademux name=demux  jpegdec name=decoder"

typedef struct {
    File file;
    GstElement *pipeline;
    ChainWatch *chain;
} Player;

static GstElement *launch_chain(const gchar *source, const ChainLook *look, const gchar *sink) {
    g_autofree gchar *chain = chain_text(look, test_backend(), "");
    g_autofree gchar *text = g_strdup_printf("%s ! %s ! %s", source, chain, sink);
    return launch(text);
}

/* After every start, not only after the first one, as gst_parse_launch() would. */
static void link_video(G_GNUC_UNUSED GstElement *demux, GstPad *pad, gpointer decoder) {
    g_autoptr(GstPad) sink = gst_element_get_static_pad(decoder, "sink");
    fail_unless_equals_int(gst_pad_link(pad, sink), GST_PAD_LINK_OK);
}

static Player player_new(const ChainLook *look, const gchar *sink) {
    Player player = {file_new("clip.mkv"), launch_chain(SOURCE, look, sink), NULL};
    g_autoptr(GstElement) file = gst_bin_get_by_name(GST_BIN(player.pipeline), "file");
    g_autoptr(GstElement) demux = gst_bin_get_by_name(GST_BIN(player.pipeline), "demux");
    g_autoptr(GstElement) decoder = gst_bin_get_by_name(GST_BIN(player.pipeline), "decoder");
    g_signal_connect(demux, "pad-added", G_CALLBACK(link_video), decoder);
    write_clip(&player.file, width, height, clip_frames);
    g_object_set(file, "location", player.file.path, NULL);
    player.chain = chain_watch_new(player.pipeline);
    return player;
}

static void player_free(Player *player) {
    reach(player->pipeline, GST_STATE_NULL);
    gst_object_unref(player->pipeline);
    chain_watch_free(player->chain);
    file_free(&player->file);
}

/* ---- caps ---- */

/* Frames in are frames out, and each is right, the first one after a change too. */
TEST(test_new_caps, 1) {
    static const ChainLook look = {"none", "colorize", "overlay", TRUE};
    g_autofree gchar *text = chain_text(&look, test_backend(), "");
    g_autoptr(GstHarness) h = gst_harness_new_parse(text);
    g_autoptr(ChainWatch) chain = chain_watch_new(h->element);
    guint frames = 0;
    for (guint i = 0; i < 60; i++) {
        /* Now one thing changes, now another, now all. */
        const guint of_format = i / 2, of_size = i / 3;
        GstVideoInfo info = make_info(formats[of_format * 5 % G_N_ELEMENTS(formats)],
                                      1 + (gint)(of_size * 37 % 90), 1 + (gint)(of_size * 53 % 70));
        info.fps_n = 25 + (gint)i / 5;
        set_info(h, &info);
        for (guint again = 0; again <= i % 3; again++) {
            GstBuffer *out = push_and_pull(h, random_frame(&info));
            assert_output_caps(h, &info);
            gst_buffer_unref(out);
            frames++;
        }
    }
    assert_watched(chain, frames);
    fail_unless_equals_int(gst_harness_buffers_received(h), frames);
}

/* ---- a slow sink ---- */

/* 100 frames a second come, and 33 can be shown. */
enum { slow_frames = 300, slow_ms = 30 };

typedef struct {
    guint frames;
    gint qos[element_count]; /* events that have reached the elements */
} Slow;

static void show_slowly(G_GNUC_UNUSED GstElement *sink, G_GNUC_UNUSED GstBuffer *buffer,
                        G_GNUC_UNUSED GstPad *pad, gpointer user) {
    ((Slow *)user)->frames++;
    g_usleep(slow_ms * 1000);
}

static GstPadProbeReturn count_qos(G_GNUC_UNUSED GstPad *pad, GstPadProbeInfo *probe,
                                   gpointer count) {
    if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(probe)) == GST_EVENT_QOS)
        g_atomic_int_inc((gint *)count);
    return GST_PAD_PROBE_OK;
}

/* Where frames wait: behind the chain, for a sink whose queue drops those that are old; or in front
   of it, and the elements drop what would be late. */
static const struct {
    const gchar *name, *before, *after;
    gboolean elements_drop;
} waits[] = {{"a leaky queue", "", "queue leaky=downstream max-size-buffers=2 ! ", FALSE},
             {"QoS", "! queue max-size-buffers=0 max-size-bytes=0 max-size-time=0 ", "", TRUE}};

/* How late the others are, latency shows. */
TEST(test_slow_sink, G_N_ELEMENTS(waits)) {
    g_autofree gchar *source =
        g_strdup_printf("videotestsrc is-live=true num-buffers=%d pattern=ball ! "
                        "video/x-raw,format=NV12,width=64,height=48,framerate=100/1 %s",
                        (gint)slow_frames, waits[__i__].before);
    g_autofree gchar *shown =
        g_strdup_printf("%sfakesink name=sink sync=true qos=true max-lateness=-1 "
                        "signal-handoffs=true",
                        waits[__i__].after);
    g_autoptr(GstElement) pipeline = launch_chain(source, &warm, shown);
    g_autoptr(GstElement) sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
    g_autoptr(ChainWatch) chain = chain_watch_new(pipeline);
    const Watch *first = &chain->stages[0], *last = &chain->stages[element_count - 1];
    Slow slow = {0};
    for (guint i = 0; i < element_count; i++) {
        g_autoptr(GstElement) element = gst_bin_get_by_name(GST_BIN(pipeline), elements[i].name);
        probe_pad(element, "src", GST_PAD_PROBE_TYPE_EVENT_UPSTREAM, count_qos, &slow.qos[i]);
    }
    g_signal_connect(sink, "handoff", G_CALLBACK(show_slowly), &slow);
    fail_if(gst_element_set_state(pipeline, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE);
    wait_for_eos(pipeline);
    reach(pipeline, GST_STATE_NULL);
    g_print("%s: of %u frames %u were made and %u shown\n", waits[__i__].name, first->given,
            last->compared, slow.frames);
    for (guint i = 0; i < element_count; i++)
        fail_unless(slow.qos[i] > 0, "no QoS event has reached %s", elements[i].name);
    fail_unless(first->given == slow_frames);
    fail_unless(slow.frames > 10 && slow.frames < slow_frames / 2);
    fail_unless(!waits[__i__].elements_drop || last->compared == slow.frames);
}

/* ---- loops ---- */

static void seek(GstElement *pipeline, GstSeekFlags flags) {
    fail_unless(gst_element_seek(pipeline, 1.0, GST_FORMAT_TIME, flags, GST_SEEK_TYPE_SET, 0,
                                 GST_SEEK_TYPE_SET, GST_SECOND));
}

static void wait_for(GstElement *pipeline, GstMessageType type) {
    g_autoptr(GstBus) bus = gst_element_get_bus(pipeline);
    g_autoptr(GstMessage) message =
        gst_bus_timed_pop_filtered(bus, 60 * GST_SECOND, type | GST_MESSAGE_ERROR);
    fail_unless(message != NULL, "no %s within a minute", gst_message_type_get_name(type));
    fail_unless_equals_int(GST_MESSAGE_TYPE(message), type);
}

/* Each round has all frames, and each goes on from the one before; over the end, too, but not from
   READY on. */
TEST(test_loop, 1) {
    Player player = player_new(&warm, "fakesink name=sink sync=false");
    guint frames;
    reach(player.pipeline, GST_STATE_PAUSED);
    seek(player.pipeline, GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_SEGMENT);
    reach(player.pipeline, GST_STATE_PAUSED);
    frames = player.chain->stages[0].given - 1; /* what was prerolled before the seek */
    reach(player.pipeline, GST_STATE_PLAYING);
    for (guint round = 0; round < 6; round++) {
        wait_for(player.pipeline, GST_MESSAGE_SEGMENT_DONE);
        frames += clip_frames;
        fail_unless_equals_int(player.chain->stages[0].given, frames);
        seek(player.pipeline, round < 5 ? GST_SEEK_FLAG_SEGMENT : GST_SEEK_FLAG_NONE);
    }
    for (guint end = 0; end < 3; end++) {
        wait_for(player.pipeline, GST_MESSAGE_EOS);
        frames += clip_frames;
        assert_watched(player.chain, frames);
        if (end == 0) {
            seek(player.pipeline, GST_SEEK_FLAG_FLUSH);
        } else {
            reach(player.pipeline, GST_STATE_READY);
            chain_watch_restart(player.chain);
            reach(player.pipeline, GST_STATE_PLAYING);
        }
    }
    wait_for(player.pipeline, GST_MESSAGE_EOS);
    assert_watched(player.chain, frames + clip_frames);
    assert_something_was_found(player.chain);
    player_free(&player);
}

MAIN(run_with_clips(NULL))
