/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The generic scenarios of gst-validate, which Debian does not package, with each element as the
 * video filter of a playbin: playing, pauses, seeks forward and back, reverse, trick modes, state
 * changes, and an end that is forced. On the backend GPV_TEST_BACKEND, or on the CPU; more often
 * with GPV_TEST_FULL.
 *
 * In every scenario no element posts an error, and ours no warning; each frame lies in the segment
 * that was asked for, behind the one before, or before it where time runs back.
 */
#include "chains.h"
#include "clip.h"

enum { width = 64, height = 48, clip_frames = 50 };
static const GstClockTime frame_time = GST_SECOND / 25;
static const GstClockTime clip_time = clip_frames * GST_SECOND / 25;

/* ---- what comes to the sink ---- */

typedef struct {
    const gchar *scenario;
    GstElement *play, *element, *sink;
    guint32 number; /* of the last seek; 0: there was none */
    GMutex lock;
    GCond changed;
    gboolean flushing;
    GstSegment segment;
    guint frames; /* of the segment */
    GstClockTime first, last;
} Played;

static GstPadProbeReturn follow_event(G_GNUC_UNUSED GstPad *pad, GstPadProbeInfo *probe,
                                      gpointer user) {
    Played *played = user;
    GstEvent *event = GST_PAD_PROBE_INFO_EVENT(probe);
    g_mutex_lock(&played->lock);
    if (GST_EVENT_TYPE(event) == GST_EVENT_SEGMENT)
        gst_event_copy_segment(event, &played->segment);
    if (GST_EVENT_TYPE(event) == GST_EVENT_SEGMENT || GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP)
        played->frames = 0;
    if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_START)
        played->flushing = TRUE;
    if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP)
        played->flushing = FALSE;
    g_mutex_unlock(&played->lock);
    return GST_PAD_PROBE_OK;
}

static void note_frame(Played *played, GstClockTime time) {
    const GstSegment *segment = &played->segment;
    const gboolean forward = segment->rate > 0;
    fail_unless(time >= segment->start && time < segment->stop,
                "%s: %" GST_TIME_FORMAT " in %" GST_SEGMENT_FORMAT, played->scenario,
                GST_TIME_ARGS(time), segment);
    fail_unless(played->frames == 0 || (forward ? time > played->last : time < played->last),
                "%s: %" GST_TIME_FORMAT " behind %" GST_TIME_FORMAT, played->scenario,
                GST_TIME_ARGS(time), GST_TIME_ARGS(played->last));
    if (played->frames++ == 0)
        played->first = time;
    played->last = time;
}

static GstPadProbeReturn follow_frame(G_GNUC_UNUSED GstPad *pad, GstPadProbeInfo *probe,
                                      gpointer user) {
    Played *played = user;
    g_mutex_lock(&played->lock);
    if (!played->flushing)
        note_frame(played, GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(probe)));
    g_cond_signal(&played->changed);
    g_mutex_unlock(&played->lock);
    return GST_PAD_PROBE_OK;
}

static GstBusSyncReply judge_message(G_GNUC_UNUSED GstBus *bus, GstMessage *message,
                                     gpointer user) {
    const Played *played = user;
    const GstMessageType type = GST_MESSAGE_TYPE(message);
    const GstStructure *details = gst_message_get_structure(message);
    if (type == GST_MESSAGE_ERROR ||
        (type == GST_MESSAGE_WARNING && GST_MESSAGE_SRC(message) == GST_OBJECT(played->element)))
        fail("%s: %s: %s", played->scenario, GST_MESSAGE_SRC_NAME(message),
             gst_structure_to_string(details));
    return GST_BUS_PASS;
}

/* ---- a playbin ---- */

static Played *played_new(const gchar *scenario, const gchar *name, const File *clip) {
    Played *played = g_new0(Played, 1);
    g_autofree gchar *uri = gst_filename_to_uri(clip->path, NULL);
    g_autoptr(GstBus) bus = NULL;
    played->scenario = scenario;
    played->play = gst_element_factory_make("playbin", NULL);
    played->element = element_new(name, test_backend());
    played->sink = gst_element_factory_make("fakesink", "sink");
    g_object_set(played->play, "uri", uri, "video-filter", played->element, "video-sink",
                 played->sink, NULL);
    g_mutex_init(&played->lock);
    g_cond_init(&played->changed);
    probe_pad(played->sink, "sink",
              GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM | GST_PAD_PROBE_TYPE_EVENT_FLUSH, follow_event,
              played);
    probe_pad(played->sink, "sink", GST_PAD_PROBE_TYPE_BUFFER, follow_frame, played);
    bus = gst_element_get_bus(played->play);
    gst_bus_set_sync_handler(bus, judge_message, played, NULL);
    return played;
}

static void played_free(Played *played) {
    reach(played->play, GST_STATE_NULL);
    gst_object_unref(played->play);
    g_cond_clear(&played->changed);
    g_mutex_clear(&played->lock);
    g_free(played);
}

static void wait_for_frames(Played *played, guint frames) {
    const gint64 end = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
    g_mutex_lock(&played->lock);
    while (played->frames < frames)
        fail_unless(g_cond_wait_until(&played->changed, &played->lock, end),
                    "%s: %u frames within a minute", played->scenario, played->frames);
    g_mutex_unlock(&played->lock);
}

static void assert_frames(Played *played, guint frames, GstClockTime first, GstClockTime last) {
    g_mutex_lock(&played->lock);
    fail_unless(played->frames == frames && played->first == first && played->last == last,
                "%s: %u frames from %" GST_TIME_FORMAT " to %" GST_TIME_FORMAT, played->scenario,
                played->frames, GST_TIME_ARGS(played->first), GST_TIME_ARGS(played->last));
    g_mutex_unlock(&played->lock);
}

static void seek(Played *played, gdouble rate, GstSeekFlags flags, GstClockTime start,
                 GstClockTime stop) {
    GstEvent *event = gst_event_new_seek(
        rate, GST_FORMAT_TIME, flags | GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE,
        GST_SEEK_TYPE_SET, (gint64)start, GST_SEEK_TYPE_SET, (gint64)stop);
    played->number = gst_event_get_seqnum(event);
    fail_unless(gst_element_send_event(played->play, event), "%s: no seek", played->scenario);
}

/* Not one that came before the last seek. */
static void wait_for_the_end(Played *played) {
    g_autoptr(GstBus) bus = gst_element_get_bus(played->play);
    guint32 number;
    do {
        g_autoptr(GstMessage) message =
            gst_bus_timed_pop_filtered(bus, 60 * GST_SECOND, GST_MESSAGE_EOS);
        fail_unless(message != NULL, "%s: no end within a minute", played->scenario);
        number = gst_message_get_seqnum(message);
    } while (played->number && number != played->number);
}

static void assert_asked(Played *played, gdouble rate, GstClockTime start, GstClockTime stop) {
    g_mutex_lock(&played->lock);
    fail_unless(played->segment.rate == rate && played->segment.start == start &&
                    played->segment.stop == stop,
                "%s: %" GST_SEGMENT_FORMAT, played->scenario, &played->segment);
    g_mutex_unlock(&played->lock);
}

static void in_real_time(Played *played, gboolean is) {
    g_object_set(played->sink, "sync", is, NULL);
}

static GstClockTime time_of(guint frame) {
    return frame * frame_time;
}

static guint any_frame(guint first, guint end) {
    return (guint)g_random_int_range((gint32)first, (gint32)end);
}

/* ---- scenarios ---- */

static void play_to_the_end(Played *played) {
    reach(played->play, GST_STATE_PLAYING);
    wait_for_the_end(played);
    assert_frames(played, clip_frames, 0, time_of(clip_frames - 1));
}

/* The frame that was asked for is shown, then others, of which the last stays. */
static void pause_and_go_on(Played *played) {
    in_real_time(played, TRUE);
    reach(played->play, GST_STATE_PAUSED);
    for (guint i = rounds(20, 1, 1); i > 0; i--) {
        const GstClockTime to = time_of(any_frame(0, clip_frames / 2));
        seek(played, 1, GST_SEEK_FLAG_NONE, to, clip_time);
        reach(played->play, GST_STATE_PAUSED);
        fail_unless_equals_clocktime(preroll_time(played->play), to);
        reach(played->play, GST_STATE_PLAYING);
        wait_for_frames(played, 3);
        reach(played->play, GST_STATE_PAUSED);
        fail_unless(preroll_time(played->play) >= to + time_of(1));
    }
}

/* Frames flow on from the very frame that was asked for. */
static void seek_and_play(Played *played, guint to) {
    seek(played, 1, GST_SEEK_FLAG_NONE, time_of(to), clip_time);
    wait_for_frames(played, 3);
    assert_asked(played, 1, time_of(to), clip_time);
    fail_unless_equals_clocktime(played->first, time_of(to));
}

static void seek_forward(Played *played) {
    reach(played->play, GST_STATE_PLAYING);
    for (guint i = rounds(20, 1, 1); i > 0; i--)
        for (guint to = 0; to + 3 <= clip_frames; to += any_frame(1, clip_frames / 3))
            seek_and_play(played, to);
    wait_for_the_end(played);
}

static void seek_backward(Played *played) {
    reach(played->play, GST_STATE_PLAYING);
    for (guint i = rounds(20, 1, 1); i > 0; i--)
        for (gint to = clip_frames - 3; to >= 0; to -= (gint)any_frame(1, clip_frames / 3))
            seek_and_play(played, (guint)to);
    wait_for_the_end(played);
    fail_unless_equals_clocktime(played->last, time_of(clip_frames - 1));
}

/* The last one is the whole clip. */
static void play_parts(Played *played, gdouble rate) {
    reach(played->play, GST_STATE_PAUSED);
    for (guint i = rounds(40, 2, 1); i > 0; i--) {
        const guint first = i == 1 ? 0 : any_frame(0, clip_frames - 1);
        const guint end = i == 1 ? clip_frames : any_frame(first + 1, clip_frames);
        seek(played, rate, GST_SEEK_FLAG_NONE, time_of(first), time_of(end));
        reach(played->play, GST_STATE_PLAYING);
        wait_for_the_end(played);
        assert_asked(played, rate, time_of(first), time_of(end));
        assert_frames(played, end - first, time_of(rate > 0 ? first : end - 1),
                      time_of(rate > 0 ? end - 1 : first));
    }
}

static void seek_to_a_part(Played *played) {
    play_parts(played, 1);
}

static void play_in_reverse(Played *played) {
    play_parts(played, -1);
}

/* Which frames come is the decoder's choice. */
static void play_in_trick_modes(Played *played) {
    static const gdouble rates[] = {4, -4};
    static const GstSeekFlags modes[] = {
        GST_SEEK_FLAG_TRICKMODE,
        GST_SEEK_FLAG_TRICKMODE | GST_SEEK_FLAG_TRICKMODE_KEY_UNITS |
            GST_SEEK_FLAG_TRICKMODE_NO_AUDIO,
        GST_SEEK_FLAG_TRICKMODE | GST_SEEK_FLAG_TRICKMODE_FORWARD_PREDICTED};
    reach(played->play, GST_STATE_PAUSED);
    for (guint i = 0; i < G_N_ELEMENTS(rates); i++)
        for (guint mode = 0; mode < G_N_ELEMENTS(modes); mode++) {
            seek(played, rates[i], modes[mode], 0, clip_time);
            reach(played->play, GST_STATE_PLAYING);
            wait_for_the_end(played);
            assert_asked(played, rates[i], 0, clip_time);
            fail_unless(played->segment.flags & GST_SEGMENT_FLAG_TRICKMODE);
            fail_unless(played->frames >= 5, "rate %g: %u frames", rates[i], played->frames);
        }
}

static void change_states(Played *played) {
    static const GstState states[] = {GST_STATE_READY,  GST_STATE_PAUSED,  GST_STATE_READY,
                                      GST_STATE_PAUSED, GST_STATE_PLAYING, GST_STATE_PAUSED,
                                      GST_STATE_PLAYING};
    for (guint i = rounds(200, 3, 2); i > 0; i--) {
        for (guint s = 0; s < G_N_ELEMENTS(states); s++)
            reach(played->play, states[s]);
        wait_for_frames(played, 1);
        reach(played->play, i % 2 ? GST_STATE_READY : GST_STATE_NULL);
    }
    reach(played->play, GST_STATE_NULL);
    play_to_the_end(played);
}

/* And from there anywhere. */
static void force_the_end(Played *played) {
    in_real_time(played, TRUE);
    reach(played->play, GST_STATE_PLAYING);
    wait_for_frames(played, 2);
    fail_unless(gst_element_send_event(played->play, gst_event_new_eos()));
    in_real_time(played, FALSE);
    wait_for_the_end(played);
    fail_unless(played->frames < clip_frames, "the end was not forced");
    seek_and_play(played, 7);
    wait_for_the_end(played);
    assert_frames(played, clip_frames - 7, time_of(7), time_of(clip_frames - 1));
}

static const struct {
    const gchar *name;
    void (*run)(Played *);
} scenarios[] = {{"play", play_to_the_end},
                 {"pause", pause_and_go_on},
                 {"seek forward", seek_forward},
                 {"seek backward", seek_backward},
                 {"seek to a part", seek_to_a_part},
                 {"reverse", play_in_reverse},
                 {"trick modes", play_in_trick_modes},
                 {"state changes", change_states},
                 {"forced EOS", force_the_end}};

TEST(test_scenarios, element_count) {
    g_auto(File) clip = file_new("clip.mkv");
    write_clip(&clip, width, height, clip_frames);
    for (guint i = 0; i < G_N_ELEMENTS(scenarios); i++) {
        const gint64 begin = g_get_monotonic_time();
        Played *played = played_new(scenarios[i].name, elements[__i__].name, &clip);
        scenarios[i].run(played);
        played_free(played);
        g_print("%s: %s: %.2f s\n", elements[__i__].name, scenarios[i].name,
                (gdouble)(g_get_monotonic_time() - begin) / G_USEC_PER_SEC);
        gst_task_cleanup_all(); /* else the thread of a task may outlive its element
                                   for a moment */
        assert_nothing_lives();
    }
}

int main(int argc, char **argv) {
    gst_check_init(&argc, &argv);
    g_log_set_always_fatal(G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);
    if (!have_element("playbin"))
        return not_run("there is no playbin");
    test_seconds = g_getenv("GPV_TEST_FULL") ? 1200 : 120;
    return run_with_clips(NULL);
}
