/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the elements do not lose or gather in the long run, on the CPU:
 *
 *     gst-endurance cycles            from NULL to PLAYING and back, 10000 times
 *     gst-endurance renegotiations    1000 changes of format and size
 *     gst-endurance seeks             1000 flushing seeks, and a minute, while properties change
 *     gst-endurance soak              1000000 frames
 *     gst-endurance pipelines         16 at a time, each as if it were alone
 *
 * Each of them with every element. Less often, unless GPV_TEST_FULL is set, and under sanitizers,
 * with GPV_TEST_SHORT, still less; GPV_TEST_ROUNDS says how often instead.
 */
#include "chains.h"
#include "clip.h"

#include <malloc.h>
#include <math.h>
#include <unistd.h>

enum { width = 64, height = 48 };

/* Without what a frame takes over from the one before. The last one is given its reference. */
static const gchar *const tested[] = {"gpuerode radius=2",
                                      "gpuccl",
                                      "gpukmeans clusters=4 warm-start=false",
                                      "gpugraphcut warm-start=false",
                                      "gpusift overlay=rich",
                                      "gpusift overlay=outline min-inliers=4 reference="};

/* ---- an element ---- */

typedef struct {
    File picture;
    gchar *text; /* of gst-launch */
} Tested;

static Tested tested_new(gint i) {
    Tested element = {file_new("picture.mkv"), NULL};
    write_clip(&element.picture, width, height, 1);
    element.text = g_strdup_printf("%s%s backend=cpu name=tested", tested[i],
                                   g_str_has_suffix(tested[i], "=") ? element.picture.path : "");
    return element;
}

static void tested_free(Tested *element) {
    g_free(element->text);
    file_free(&element->picture);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Tested, tested_free)

/* ---- memory ---- */

typedef struct {
    const gchar *name;
    guint settled, rounds;
    gint64 started;
    gsize rss;
    guint threads;
} Usage;

/* Without what malloc() keeps for later, which depends on which thread came when. */
static gsize resident_bytes(void) {
    g_autofree gchar *text = NULL;
    gsize bytes;
    malloc_trim(0);
    fail_unless(g_file_get_contents("/proc/self/statm", &text, NULL, NULL));
    bytes = g_ascii_strtoull(strchr(text, ' '), NULL, 10) * (gsize)sysconf(_SC_PAGESIZE);
    return bytes;
}

static Usage usage_new(const gchar *name, guint count) {
    Usage usage = {name, count / 10, count, g_get_monotonic_time(), 0, 0};
    return usage;
}

/* Before each round: what is in use after the first tenth of them counts. */
static void usage_note(Usage *usage, guint round) {
    if (round == usage->settled) {
        usage->rss = resident_bytes();
        usage->threads = thread_count();
    }
    if (usage->rounds >= 10000 && round % (usage->rounds / 10) == 0)
        g_print("%s: %u of %u, %" G_GSIZE_FORMAT " KiB\n", usage->name, round, usage->rounds,
                resident_bytes() / 1024);
}

/* Not where others watch memory, and keep some of it, nor after a few rounds. */
static gboolean is_judged(const Usage *usage) {
#ifdef SANITIZED
    return FALSE;
#endif
    return usage->rounds >= 100 && !g_getenv("GST_TRACERS");
}

/* At most 1 MiB more, and no thread. */
static void usage_check(const Usage *usage) {
    const gboolean judged = is_judged(usage);
    const gint64 growth = (gint64)resident_bytes() - (gint64)usage->rss;
    guint threads = thread_count();
    /* Those of GLib's pools that idle end after a quarter of a minute. */
    for (guint ms = 0; judged && threads > usage->threads && ms < 20000; ms += 100) {
        g_usleep(100 * 1000);
        threads = thread_count();
    }
    g_print("%s: %u times in %.1f s, after the first %u memory %+" G_GINT64_FORMAT
            " KiB, threads %+d\n",
            usage->name, usage->rounds,
            (gdouble)(g_get_monotonic_time() - usage->started) / G_USEC_PER_SEC, usage->settled,
            growth / 1024, (gint)threads - (gint)usage->threads);
    fail_unless(!judged || growth <= 1024 * 1024, "%s: memory grows", usage->name);
    fail_unless(!judged || threads <= usage->threads, "%s: threads stay", usage->name);
}

/* ---- cycles ---- */

PART_TEST("cycles", test_cycles, G_N_ELEMENTS(tested)) {
    g_auto(Tested) element = tested_new(__i__);
    g_autofree gchar *text = g_strdup_printf("videotestsrc num-buffers=1 ! "
                                             "video/x-raw,format=RGBA,width=%d,height=%d ! %s ! "
                                             "fakesink sync=false",
                                             (gint)width, (gint)height, element.text);
    g_autoptr(GstElement) pipeline = launch(text);
    const guint count = rounds(10000, 500, 50);
    Usage usage = usage_new(tested[__i__], count);
    for (guint i = 0; i < count; i++) {
        usage_note(&usage, i);
        reach(pipeline, GST_STATE_PLAYING);
        wait_for_eos(pipeline);
        reach(pipeline, GST_STATE_NULL);
    }
    usage_check(&usage);
}

/* ---- renegotiations ---- */

static GstHarness *harness_of(const Tested *element) {
    return harness_with(launch(element->text));
}

enum { shapes = 63 };

static GstVideoInfo shape_info(guint shape) {
    return make_info(formats[shape % G_N_ELEMENTS(formats)], 1 + (gint)(shape * 37 % 90),
                     1 + (gint)(shape * 53 % 70));
}

PART_TEST("renegotiations", test_renegotiations, G_N_ELEMENTS(tested)) {
    g_auto(Tested) element = tested_new(__i__);
    g_autoptr(GstHarness) h = harness_of(&element);
    const guint changes = rounds(1000, 200, 50);
    Usage usage = usage_new(tested[__i__], changes);
    GstBuffer *in[shapes], *expected[shapes];
    const guint used = MIN(shapes, MAX(changes / 2, 2)); /* so that they come again */
    guint shape = 0;
    usage.settled = MAX(usage.settled, used); /* each has been there once */
    for (guint i = 0; i < used; i++) {
        GstVideoInfo info = shape_info(i);
        g_autoptr(GstHarness) fresh = harness_of(&element);
        in[i] = random_frame(&info);
        expected[i] = push_of(fresh, &info, gst_buffer_copy_deep(in[i]));
    }
    for (guint i = 0; i < changes; i++) {
        GstVideoInfo info;
        g_autoptr(GstBuffer) out = NULL;
        usage_note(&usage, i);
        shape = i < used ? i : (shape + 1 + (guint)g_random_int_range(0, (gint)used - 1)) % used;
        info = shape_info(shape);
        out = push_of(h, &info, gst_buffer_copy_deep(in[shape]));
        assert_output_caps(h, &info);
        assert_same(&info, out, expected[shape]);
        drop_events(h);
    }
    fail_unless_equals_int(gst_harness_buffers_received(h), changes);
    usage_check(&usage);
    for (guint i = 0; i < used; i++) {
        gst_buffer_unref(in[i]);
        gst_buffer_unref(expected[i]);
    }
}

/* ---- properties ---- */

/* What would take too long for a frame of a test, or is no value though it is in the range. */
static const struct {
    const gchar *name;
    gint minimum, maximum;
} limits[] = {{"radius", 0, 40},      {"radius-y", -1, 40},    {"iterations", 1, 3},
              {"clusters", 2, 32},    {"max-clusters", 2, 32}, {"max-iterations", 0, 50},
              {"octave-layers", 1, 8}};

static gint random_int(const GParamSpecInt *spec) {
    gint minimum = spec->minimum, maximum = spec->maximum;
    for (guint i = 0; i < G_N_ELEMENTS(limits); i++)
        if (g_str_equal(spec->parent_instance.name, limits[i].name)) {
            minimum = limits[i].minimum;
            maximum = limits[i].maximum;
        }
    return (gint)((gint64)minimum + (gint64)(g_random_double() * ((gdouble)maximum - minimum + 1)));
}

static gfloat random_float(const GParamSpecFloat *spec) {
    const gdouble part = pow(10, g_random_double_range(-6, 0));
    return (gfloat)(spec->minimum + part * ((gdouble)spec->maximum - spec->minimum));
}

static const gchar *random_text(const gchar *name, const gchar *picture) {
    static const gchar *const rects[] = {"4,4,20,20", "0,0,64,48", "-5,-5,30,90", "60,40,9,9"};
    if (g_str_equal(name, "rect"))
        return rects[g_random_int_range(0, G_N_ELEMENTS(rects))];
    return g_str_equal(name, "reference") && g_random_boolean() ? NULL : picture;
}

static void change_one(GstElement *element, GParamSpec *spec, const gchar *picture) {
    GValue value = G_VALUE_INIT;
    g_value_init(&value, spec->value_type);
    if (G_IS_PARAM_SPEC_INT(spec))
        g_value_set_int(&value, random_int(G_PARAM_SPEC_INT(spec)));
    else if (G_IS_PARAM_SPEC_UINT(spec))
        g_value_set_uint(&value, g_random_int());
    else if (G_IS_PARAM_SPEC_UINT64(spec))
        g_value_set_uint64(&value, g_random_int());
    else if (G_IS_PARAM_SPEC_FLOAT(spec))
        g_value_set_float(&value, random_float(G_PARAM_SPEC_FLOAT(spec)));
    else if (G_IS_PARAM_SPEC_BOOLEAN(spec))
        g_value_set_boolean(&value, g_random_boolean());
    else if (G_IS_PARAM_SPEC_STRING(spec))
        g_value_set_string(&value, random_text(spec->name, picture));
    else if (G_IS_PARAM_SPEC_ENUM(spec)) {
        const GEnumClass *klass = G_PARAM_SPEC_ENUM(spec)->enum_class;
        g_value_set_enum(&value, klass->values[g_random_int_range(0, (gint)klass->n_values)].value);
    } else
        fail("%s is of a type that is not changed here", spec->name);
    g_object_set_property(G_OBJECT(element), spec->name, &value);
    g_value_unset(&value);
}

/* Those that may change while frames flow. */
static GPtrArray *changing_properties(GstElement *element) {
    GPtrArray *changing = g_ptr_array_new();
    guint count = 0;
    GParamSpec **specs = g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count);
    for (guint i = 0; i < count; i++)
        if ((specs[i]->flags & GST_PARAM_MUTABLE_PLAYING) && (specs[i]->flags & G_PARAM_WRITABLE) &&
            g_str_has_prefix(g_type_name(specs[i]->owner_type), "GstGpu"))
            g_ptr_array_add(changing, specs[i]);
    g_free(specs);
    return changing;
}

/* ---- seeks ---- */

enum { clip_frames = 100 };
static const GstClockTime frame_time = GST_SECOND / 10;

typedef struct {
    GstElement *pipeline, *changed;
    const gchar *picture;
    GPtrArray *properties; /* of the element that changes */
    gboolean stop;
    /* What comes to the sink. */
    gboolean flushing;
    guint32 flushed, segment; /* numbers of the seek that they are of */
    GstClockTime next;
    gint ended;  /* likewise, atomic */
    gint frames; /* atomic */
} Sought;

static GstPadProbeReturn follow_seek(G_GNUC_UNUSED GstPad *pad, GstPadProbeInfo *probe,
                                     gpointer user) {
    Sought *sought = user;
    GstEvent *event = GST_PAD_PROBE_INFO_EVENT(probe);
    const GstSegment *segment;
    switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_FLUSH_START:
        sought->flushing = TRUE;
        break;
    case GST_EVENT_FLUSH_STOP:
        sought->flushing = FALSE;
        sought->flushed = gst_event_get_seqnum(event);
        break;
    case GST_EVENT_SEGMENT:
        gst_event_parse_segment(event, &segment);
        sought->segment = gst_event_get_seqnum(event);
        sought->next = segment->start;
        break;
    case GST_EVENT_EOS:
        if (!sought->flushing)
            fail_unless_equals_clocktime(sought->next, clip_frames * frame_time);
        g_atomic_int_set(&sought->ended, (gint)gst_event_get_seqnum(event));
        break;
    default:
        break;
    }
    return GST_PAD_PROBE_OK;
}

/* From where the last seek went to, one after the other. */
static GstPadProbeReturn follow_frame(G_GNUC_UNUSED GstPad *pad, GstPadProbeInfo *probe,
                                      gpointer user) {
    Sought *sought = user;
    if (!sought->flushing) {
        fail_unless(sought->segment == sought->flushed || !sought->flushed, "a stale segment");
        fail_unless_equals_clocktime(GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(probe)),
                                     sought->next);
        sought->next += frame_time;
        g_atomic_int_inc(&sought->frames);
    }
    return GST_PAD_PROBE_OK;
}

static GstBusSyncReply drop_message(G_GNUC_UNUSED GstBus *bus, GstMessage *message,
                                    G_GNUC_UNUSED gpointer user) {
    fail_if(GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR);
    gst_message_unref(message);
    return GST_BUS_DROP;
}

static gpointer keep_changing(gpointer user) {
    Sought *sought = user;
    while (!g_atomic_int_get(&sought->stop)) {
        change_one(sought->changed,
                   g_ptr_array_index(sought->properties,
                                     g_random_int_range(0, (gint)sought->properties->len)),
                   sought->picture);
        g_usleep(500);
    }
    return NULL;
}

static guint32 seek_to(GstElement *pipeline, GstClockTime from) {
    GstEvent *event = gst_event_new_seek(
        1.0, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE, GST_SEEK_TYPE_SET,
        (gint64)from, GST_SEEK_TYPE_SET, (gint64)(clip_frames * frame_time));
    const guint32 number = gst_event_get_seqnum(event);
    fail_unless(gst_element_send_event(pipeline, event));
    return number;
}

static GstClockTime random_time(void) {
    return (GstClockTime)g_random_int_range(0, clip_frames - 10) * frame_time;
}

static void seek_paused(GstElement *pipeline, gboolean steps) {
    const GstClockTime to = random_time();
    reach(pipeline, GST_STATE_PAUSED);
    seek_to(pipeline, to);
    reach(pipeline, GST_STATE_PAUSED);
    fail_unless_equals_clocktime(preroll_time(pipeline), to);
    if (steps) {
        fail_unless(gst_element_send_event(
            pipeline, gst_event_new_step(GST_FORMAT_BUFFERS, 3, 1.0, TRUE, FALSE)));
        reach(pipeline, GST_STATE_PAUSED);
        fail_unless_equals_clocktime(preroll_time(pipeline), to + 3 * frame_time);
    }
    reach(pipeline, GST_STATE_PLAYING);
}

static void seek_to_the_end(Sought *sought) {
    const guint32 number = seek_to(sought->pipeline, (clip_frames - 3) * frame_time);
    while (g_atomic_int_get(&sought->ended) != (gint)number)
        g_usleep(1000);
}

static void seek_while_playing(GstElement *pipeline) {
    seek_to(pipeline, random_time());
    g_usleep((gulong)g_random_int_range(0, 20000));
}

PART_TEST("seeks", test_seeks, G_N_ELEMENTS(tested)) {
    g_auto(Tested) element = tested_new(__i__);
    g_autofree gchar *text =
        g_strdup_printf("videotestsrc pattern=smpte ! "
                        "video/x-raw,format=NV12,width=%d,height=%d,framerate=10/1 ! "
                        "queue max-size-buffers=3 ! %s ! fakesink name=sink sync=false",
                        (gint)width, (gint)height, element.text);
    Sought sought = {.pipeline = launch(text), .picture = element.picture.path};
    g_autoptr(GstElement) sink = gst_bin_get_by_name(GST_BIN(sought.pipeline), "sink");
    g_autoptr(GstBus) bus = gst_element_get_bus(sought.pipeline);
    const guint seeks = rounds(1000, 100, 10);
    const gint64 start = g_get_monotonic_time();
    const gint64 minimum = seeks >= 1000 ? 60 * G_USEC_PER_SEC : 0;
    GThread *thread;
    guint done;
    sought.changed = gst_bin_get_by_name(GST_BIN(sought.pipeline), "tested");
    sought.properties = changing_properties(sought.changed);
    if (g_object_class_find_property(G_OBJECT_GET_CLASS(sought.changed), "rect"))
        g_object_set(sought.changed, "seeds", element.picture.path, "rect", "4,4,20,20", NULL);
    probe_pad(sink, "sink", GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM | GST_PAD_PROBE_TYPE_EVENT_FLUSH,
              follow_seek, &sought);
    probe_pad(sink, "sink", GST_PAD_PROBE_TYPE_BUFFER, follow_frame, &sought);
    gst_bus_set_sync_handler(bus, drop_message, NULL, NULL);
    reach(sought.pipeline, GST_STATE_PLAYING);
    thread = g_thread_new("properties", keep_changing, &sought);
    for (done = 0; done < seeks || g_get_monotonic_time() - start < minimum; done++) {
        if (done % 8 == 0)
            seek_to_the_end(&sought);
        else if (done % 8 < 3)
            seek_paused(sought.pipeline, done % 8 == 1);
        else
            seek_while_playing(sought.pipeline);
    }
    g_atomic_int_set(&sought.stop, TRUE);
    g_thread_join(thread);
    reach(sought.pipeline, GST_STATE_NULL);
    g_print("%s: %u seeks and %d frames in %.1f s\n", tested[__i__], done, sought.frames,
            (gdouble)(g_get_monotonic_time() - start) / G_USEC_PER_SEC);
    fail_unless(sought.frames > (gint)done / 2);
    g_ptr_array_unref(sought.properties);
    gst_object_unref(sought.changed);
    gst_object_unref(sought.pipeline);
}

/* ---- soak ---- */

enum { soak_width = 16, soak_height = 12 };
enum { pictures = 7 }; /* shares no factor with 100 and 1000, so that each of them is checked */

PART_TEST("soak", test_soak, G_N_ELEMENTS(tested)) {
    g_auto(Tested) element = tested_new(__i__);
    g_autoptr(GstHarness) h = harness_of(&element);
    GstBuffer *in[pictures], *expected[pictures] = {NULL};
    GstVideoInfo info = make_info("RGB", soak_width, soak_height);
    const guint frames = rounds(1000000, 2000, 800);
    const guint checked = frames >= 1000000 ? 1000 : 100;
    Usage usage = usage_new(tested[__i__], frames);
    for (guint i = 0; i < pictures; i++)
        in[i] = camera_frame(&info, i);
    set_info(h, &info);
    for (guint i = 0; i < frames; i++) {
        g_autoptr(GstBuffer) out = NULL;
        usage_note(&usage, i);
        out = gst_harness_push_and_pull(h, gst_buffer_ref(in[i % pictures]));
        if (i < pictures)
            expected[i] = gst_buffer_copy_deep(out);
        if (i % checked == 0)
            assert_same(&info, out, expected[i % pictures]);
    }
    usage_check(&usage);
    for (guint i = 0; i < pictures; i++) {
        gst_buffer_unref(in[i]);
        gst_buffer_unref(expected[i]);
    }
}

/* ---- pipelines ---- */

/* Each has other frames, in another format; every second one looks for a reference. */
static Film numbered_film(guint number, guint frames, G_GNUC_UNUSED gboolean alone,
                          gpointer reference) {
    const GstVideoInfo info = make_info(formats[number % G_N_ELEMENTS(formats)], width, height);
    Film film = film_new(&info, FALSE);
    g_autoptr(GstElement) sift = gst_bin_get_by_name(GST_BIN(film.pipeline), "gpusift");
    if (number % 2)
        g_object_set(sift, "reference", (const gchar *)reference, "min-inliers", 4, NULL);
    film_load(&film, number, frames, NULL, NULL);
    return film;
}

PART_TEST("pipelines", test_pipelines, 1) {
    const guint frames = rounds(500, 20, 3);
    g_auto(File) reference = file_new("picture.mkv");
    write_clip(&reference, width, height, 1);
    check_films(frames, numbered_film, NULL, reference.path);
    g_print("%d pipelines of five elements, %u frames each, as alone\n", (gint)film_count, frames);
}

int main(int argc, char **argv) {
#ifdef M_ARENA_MAX
    mallopt(M_ARENA_MAX, 1); /* malloc_trim() does not give back the ends of the others */
#endif
    gst_check_init(&argc, &argv);
    g_log_set_always_fatal(G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);
    if (argc != 2)
        g_error("which part is to run?");
    test_seconds = g_getenv("GPV_TEST_FULL") ? 7200 : 300;
    return run_with_clips(argv[1]);
}
