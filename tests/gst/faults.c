/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The elements on a CUDA device that is out of memory, faulty or busy: each single call of CUDA
 * fails once, from the start of an element on. The device is the emulation of tests/simt, so that
 * this needs none; what is linked are the very elements, which take frames in system memory to it.
 */
#include "chains.h"
#include "emulation.h"

void gst_plugin_gpuvision_register(void);

enum { frame_count = 3 };

/* gpuccl makes labels, for which it waits; gpusift draws, and what it finds is taken to the host.
   Of those whose kernels take long every so many calls fail, others with each GPV_TEST_TURN; with
   GPV_TEST_FULL all, and with GPV_TEST_SHORT, under sanitizers, fewer of each. */
static const struct {
    const gchar *description;
    gsize step;
} faulty[] = {{"gpuerode radius=2 operation=open", 1},
              {"gpuccl output=labels", 1},
              {"gpukmeans clusters=2 max-iterations=2", 3},
              {"gpusift overlay=rich", 1},
              {"gpugraphcut model=means", 5}};

/* ---- an element and what it has to say ---- */

typedef struct {
    const gchar *name; /* of the factory */
    GstHarness *h;
    GstBus *bus;
    GstVideoInfo info[frame_count];
    GstBuffer *frames[frame_count];
    Expected expected[frame_count]; /* of the library, on the CPU */
} Subject;

/* Dark and bright, with a few grey levels in between. */
static guint32 field_at(gint x, gint y, gconstpointer number) {
    const guint right = (guint)x + *(const guint *)number;
    return (right / 6 + (guint)y / 5) % 2 * 180 + 20 + (guint)g_random_int_range(0, 16);
}

static void push_caps(GstHarness *h, const GstVideoInfo *info) {
    gst_pad_push_event(h->srcpad, gst_event_new_stream_start("test"));
    set_info(h, info);
}

static Subject subject_new(const gchar *description) {
    GstElement *element = launch(description);
    Subject subject = {.name = GST_OBJECT_NAME(gst_element_get_factory(element))};
    g_autoptr(Model) model = model_new(element_called(subject.name), element);
    gst_util_set_object_arg(G_OBJECT(element), "backend", "cuda");
    for (guint i = 0; i < frame_count; i++) {
        /* The last one is larger, and needs more memory than the others. */
        subject.info[i] = make_info("NV12", i < 2 ? 20 : 26, i < 2 ? 12 : 16);
        subject.frames[i] = painted_frame(&subject.info[i], field_at, &i);
        subject.expected[i] = model_expect(model, &subject.info[i], subject.frames[i], FALSE);
    }
    subject.h = harness_with(element);
    subject.bus = add_bus(subject.h->element);
    reach(subject.h->element, GST_STATE_NULL);
    return subject;
}

static void subject_free(Subject *subject) {
    for (guint i = 0; i < frame_count; i++) {
        gst_buffer_unref(subject->frames[i]);
        expected_free(&subject->expected[i]);
    }
    drop_bus(subject->h->element, subject->bus);
    harness_free(subject->h);
}

/* ---- runs ---- */

typedef enum { at_start, at_first_frame, at_later_frame, nowhere } Where;

static void check_frame(const Subject *subject, guint number) {
    const Expected *expected = &subject->expected[number];
    g_autoptr(GstBuffer) out = gst_harness_pull(subject->h);
    assert_same(&expected->info, out, expected->image);
    assert_same_results(results_of(out, subject->name), expected->results);
}

/* From NULL through the first frames, of which each that comes out has to be right, and back. Says
   where it has failed. */
static Where run_through(const Subject *subject, guint frames) {
    Where where = nowhere;
    if (gst_element_set_state(subject->h->element, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE)
        where = at_start;
    for (guint i = 0; i < frames && where == nowhere; i++) {
        if (i == 0)
            push_caps(subject->h, &subject->info[i]);
        else if (subject->info[i].width != subject->info[i - 1].width)
            set_info(subject->h, &subject->info[i]);
        if (gst_harness_push(subject->h, gst_buffer_copy_deep(subject->frames[i])) == GST_FLOW_OK)
            check_frame(subject, i);
        else
            where = i == 0 ? at_first_frame : at_later_frame;
    }
    return where;
}

static void stop(const Subject *subject) {
    reach(subject->h->element, GST_STATE_NULL);
    fail_unless_equals_uint64(emulation_alive(), 0);
}

static void assert_no_error(GstBus *bus) {
    fail_unless(gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR) == NULL);
}

/* The one error on the bus. */
static void assert_told(const Subject *subject, Where where, gboolean out_of_memory, gsize k) {
    g_autoptr(GstMessage) message = gst_bus_pop_filtered(subject->bus, GST_MESSAGE_ERROR);
    g_autoptr(GError) error = NULL;
    g_autofree gchar *debug = NULL;
    gboolean found_none;
    fail_unless(message != NULL, "call %" G_GSIZE_FORMAT ": no error on the bus", k);
    gst_message_parse_error(message, &error, &debug);
    /* Whether there is a device is asked first, and whatever that says, there is none. */
    found_none = where == at_start &&
                 g_error_matches(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND) &&
                 strstr(debug, "no usable CUDA device") != NULL;
    if (out_of_memory)
        fail_unless(found_none || (g_error_matches(error, GST_RESOURCE_ERROR,
                                                   GST_RESOURCE_ERROR_NO_SPACE_LEFT) &&
                                   strstr(error->message, "not enough memory") != NULL),
                    "call %" G_GSIZE_FORMAT ": %s (%s)", k, error->message, debug);
    else
        fail_unless(error->domain == GST_RESOURCE_ERROR, "call %" G_GSIZE_FORMAT ": %s (%s)", k,
                    error->message, debug);
    assert_no_error(subject->bus);
}

/* Fails the k-th call, and then runs again. Returns whether there was such a call. */
static gboolean attempt(const Subject *subject, gsize k, gboolean out_of_memory, guint *failures) {
    const gsize before = emulation_calls();
    gboolean reached;
    Where where;
    emulation_fail_call(k, out_of_memory);
    where = run_through(subject, frame_count);
    reached = emulation_calls() - before >= k;
    emulation_fail_call(0, FALSE);
    fail_unless(reached || where == nowhere, "call %" G_GSIZE_FORMAT " was not reached", k);
    failures[where]++;
    if (where == nowhere)
        assert_no_error(subject->bus);
    else
        assert_told(subject, where, out_of_memory, k);
    stop(subject);
    fail_unless_equals_int(run_through(subject, 1), nowhere);
    stop(subject);
    return reached;
}

static void check_calls(const gchar *description, gsize step, gboolean out_of_memory) {
    Subject subject = subject_new(description);
    guint failures[nowhere + 1] = {0};
    const gchar *turn = g_getenv("GPV_TEST_TURN");
    /* By what ./dev test has not chosen this program by. */
    const guint64 first = turn ? g_ascii_strtoull(turn, NULL, 10) / 12 : 0;
    gsize k = 1;
    if (g_getenv("GPV_TEST_FULL"))
        step = 1;
    else if (g_getenv("GPV_TEST_SHORT"))
        step *= 4;
    else if (turn)
        step *= 2;
    while (attempt(&subject, k, out_of_memory, failures))
        k += k > 1 ? step : 1 + first % step;
    g_print("%s: among the first %" G_GSIZE_FORMAT " calls %u failed at the start, %u at the first "
            "frame, %u at a later one\n",
            description, k - 1, failures[at_start], failures[at_first_frame],
            failures[at_later_frame]);
    fail_unless(failures[at_start] > 0 && failures[at_first_frame] > 0 &&
                failures[at_later_frame] > 0);
    subject_free(&subject);
}

TEST(test_out_of_memory, G_N_ELEMENTS(faulty)) {
    check_calls(faulty[__i__].description, faulty[__i__].step, TRUE);
}

TEST(test_errors, G_N_ELEMENTS(faulty)) {
    check_calls(faulty[__i__].description, faulty[__i__].step, FALSE);
}

/* ---- a device that is busy ---- */

/* With backend=cuda it is an error that says so, until the device is free. */
TEST(test_busy_device, G_N_ELEMENTS(faulty)) {
    Subject subject = subject_new(faulty[__i__].description);
    emulation_set_busy(TRUE);
    for (guint again = 0; again < 2; again++) {
        fail_unless_equals_int(run_through(&subject, 1), at_start);
        assert_error(subject.bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND,
                     "device 0 is in use by another process");
        stop(&subject);
    }
    emulation_set_busy(FALSE);
    fail_unless_equals_int(run_through(&subject, 1), nowhere);
    fail_unless_equals_uint64(stat_of(subject.h->element, "cuda", "frames"), 1);
    stop(&subject);
    subject_free(&subject);
}

/* With backend=auto the CPU computes, until a start at which the device is free. */
TEST(test_busy_device_automatic, G_N_ELEMENTS(faulty)) {
    Subject subject = subject_new(faulty[__i__].description);
    gst_util_set_object_arg(G_OBJECT(subject.h->element), "backend", "auto");
    for (guint busy = 0; busy < 4; busy++) {
        emulation_set_busy(busy % 2 == 0);
        fail_unless_equals_int(run_through(&subject, 1), nowhere);
        fail_unless_equals_uint64(
            stat_of(subject.h->element, busy % 2 == 0 ? "cpu" : "cuda", "frames"), 1);
        stop(&subject);
    }
    assert_no_error(subject.bus);
    subject_free(&subject);
}

static void may_live_on(gpointer object, G_GNUC_UNUSED gpointer user) {
    GST_OBJECT_FLAG_SET(object, GST_OBJECT_FLAG_MAY_BE_LEAKED);
}

/* They live as long as the process. */
static void register_elements(void) {
    GstRegistry *registry = gst_registry_get();
    g_autoptr(GstPlugin) plugin = NULL;
    GList *features;
    gst_plugin_gpuvision_register();
    plugin = gst_registry_find_plugin(registry, "gpuvision");
    features = gst_registry_get_feature_list_by_plugin(registry, "gpuvision");
    may_live_on(plugin, NULL);
    g_list_foreach(features, may_live_on, NULL);
    gst_plugin_feature_list_free(features);
}

int main(int argc, char **argv) {
    gst_check_init(&argc, &argv);
    register_elements();
    return run_tests(NULL);
}
