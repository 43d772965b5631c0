/* SPDX-License-Identifier: BSD-2-Clause */
#include "chains.h"

#include "clip.h"

gchar *chain_text(const ChainLook *look, const gchar *backend, const gchar *common) {
    const gchar *warm = look->warm ? "true" : "false";
    GString *text = g_string_new(NULL);
    g_string_printf(text,
                    "gpuerode name=gpuerode backend=%s %s ! gpukmeans name=gpukmeans "
                    "clusters=6 warm-start=%s backend=%s %s ! "
                    "gpusift name=gpusift overlay=%s backend=%s %s ! "
                    "gpuccl name=gpuccl threshold=90 output=%s backend=%s %s ! "
                    "gpugraphcut name=gpugraphcut output=%s warm-start=%s backend=%s %s",
                    backend, common, warm, backend, common, look->overlay, backend, common,
                    look->components, backend, common, look->cut, warm, backend, common);
    /* What is not named here computes after these. */
    for (guint i = 0; i < element_count; i++)
        if (!strstr(text->str, elements[i].name))
            g_string_append_printf(text, " ! %s name=%s backend=%s %s", elements[i].name,
                                   elements[i].name, backend, common);
    return g_string_free(text, FALSE);
}

GstVideoInfo info_of(GstPad *pad) {
    g_autoptr(GstCaps) caps = gst_pad_get_current_caps(pad);
    GstVideoInfo info;
    fail_unless(gst_video_info_from_caps(&info, caps));
    return info;
}

void probe_pad(GstElement *element, const gchar *name, GstPadProbeType type,
               GstPadProbeCallback callback, gpointer user) {
    g_autoptr(GstPad) pad = gst_element_get_static_pad(element, name);
    gst_pad_add_probe(pad, type, callback, user, NULL);
}

/* In system memory, wherever the frame is. */
static GstBuffer *host_copy(const GstVideoInfo *info, GstBuffer *frame) {
    GstBuffer *copy = buffer_of_size(info->size);
    copy_mapped(info, frame, copy);
    return copy;
}

static GstPadProbeReturn keep_input(GstPad *pad, GstPadProbeInfo *probe, gpointer user) {
    Watch *watch = user;
    watch->in_info = info_of(pad);
    gst_clear_buffer(&watch->in);
    watch->in = watch->fetch(&watch->in_info, GST_PAD_PROBE_INFO_BUFFER(probe));
    watch->given++;
    return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn forget(G_GNUC_UNUSED GstPad *pad, GstPadProbeInfo *probe, gpointer user) {
    const Watch *watch = user;
    const GstEventType type = GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(probe));
    if (type == GST_EVENT_STREAM_START || type == GST_EVENT_FLUSH_STOP)
        model_forget(watch->model);
    return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn compare_output(GstPad *pad, GstPadProbeInfo *probe, gpointer user) {
    Watch *watch = user;
    const Element *element = watch->model->element;
    GstBuffer *out = GST_PAD_PROBE_INFO_BUFFER(probe);
    Expected expected = model_expect(watch->model, &watch->in_info, watch->in, FALSE);
    const GstVideoInfo info = info_of(pad);
    g_autoptr(GstBuffer) got = watch->fetch(&info, out);
    fail_unless_equals_string(GST_VIDEO_INFO_NAME(&info), GST_VIDEO_INFO_NAME(&expected.info));
    assert_same_of(element->name, &info, got, expected.image);
    assert_same_results(results_of(out, element->name), expected.results);
    watch->maximum = MAX(watch->maximum, int_field(expected.results, element->measure));
    watch->compared++;
    expected_free(&expected);
    return GST_PAD_PROBE_OK;
}

ChainWatch *chain_watch_new(GstElement *bin) {
    ChainWatch *chain = g_new0(ChainWatch, 1);
    for (guint i = 0; i < element_count; i++) {
        g_autoptr(GstElement) element = gst_bin_get_by_name(GST_BIN(bin), elements[i].name);
        Watch *watch = &chain->stages[i];
        watch->model = model_new(&elements[i], element);
        watch->fetch = host_copy;
        probe_pad(element, "sink", GST_PAD_PROBE_TYPE_BUFFER, keep_input, watch);
        probe_pad(element, "sink",
                  GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM | GST_PAD_PROBE_TYPE_EVENT_FLUSH, forget,
                  watch);
        probe_pad(element, "src", GST_PAD_PROBE_TYPE_BUFFER, compare_output, watch);
    }
    return chain;
}

void chain_watch_fetch(ChainWatch *chain,
                       GstBuffer *(*fetch)(const GstVideoInfo *info, GstBuffer *there)) {
    for (guint i = 0; i < element_count; i++)
        chain->stages[i].fetch = fetch;
}

void chain_watch_restart(ChainWatch *chain) {
    for (guint i = 0; i < element_count; i++) {
        g_autoptr(Model) used = chain->stages[i].model;
        chain->stages[i].model = model_new(used->element, GST_ELEMENT(used->properties));
    }
}

void assert_watched(const ChainWatch *chain, guint frames) {
    for (guint i = 0; i < element_count; i++) {
        fail_unless_equals_int(chain->stages[i].given, frames);
        fail_unless_equals_int(chain->stages[i].compared, frames);
    }
}

/* The greatest so far, with those of one more frame that comes out of the chain. */
static void note_measures(gint maximum[element_count], GstBuffer *frame) {
    for (guint i = 0; i < element_count; i++)
        maximum[i] =
            MAX(maximum[i], int_field(results_of(frame, elements[i].name), elements[i].measure));
}

static void assert_measures(const gint maximum[element_count]) {
    for (guint i = 0; i < element_count; i++)
        fail_unless(maximum[i] >= elements[i].least, "%s: %s was %d at most", elements[i].name,
                    elements[i].measure, maximum[i]);
}

void assert_something_was_found(const ChainWatch *chain) {
    gint maximum[element_count];
    for (guint i = 0; i < element_count; i++)
        maximum[i] = chain->stages[i].maximum;
    assert_measures(maximum);
}

void chain_watch_free(ChainWatch *chain) {
    for (guint i = 0; i < element_count; i++) {
        gst_clear_buffer(&chain->stages[i].in);
        model_free(chain->stages[i].model);
    }
    g_free(chain);
}

/* ---- clips ---- */

static GstPadProbeReturn keep_frame(G_GNUC_UNUSED GstPad *pad, GstPadProbeInfo *probe,
                                    gpointer frames) {
    g_ptr_array_add(frames, gst_buffer_ref(GST_PAD_PROBE_INFO_BUFFER(probe)));
    return GST_PAD_PROBE_OK;
}

Film film_new(const GstVideoInfo *info, gboolean cuda) {
    static const ChainLook look = {"rich", "colorize", "overlay", TRUE};
    g_autoptr(GstCaps) caps = cuda ? cuda_caps(info) : gst_video_info_to_caps(info);
    g_autofree gchar *chain = chain_text(&look, cuda ? "cuda" : "cpu", "");
    g_autofree gchar *text = g_strdup_printf(
        "appsrc name=source format=time ! %s ! fakesink name=sink sync=false", chain);
    Film film = {launch(text), *info,
                 g_ptr_array_new_with_free_func((GDestroyNotify)gst_buffer_unref)};
    g_autoptr(GstElement) source = gst_bin_get_by_name(GST_BIN(film.pipeline), "source");
    g_autoptr(GstElement) sink = gst_bin_get_by_name(GST_BIN(film.pipeline), "sink");
    g_object_set(source, "caps", caps, NULL);
    probe_pad(sink, "sink", GST_PAD_PROBE_TYPE_BUFFER, keep_frame, film.out);
    reach(film.pipeline, GST_STATE_READY);
    return film;
}

void film_load(Film *film, guint number, guint frames,
               GstBuffer *(*place)(const GstVideoInfo *, GstBuffer *, gpointer), gpointer user) {
    g_autoptr(GstElement) source = gst_bin_get_by_name(GST_BIN(film->pipeline), "source");
    GstFlowReturn flow;
    gst_element_set_state(film->pipeline, GST_STATE_PAUSED);
    for (guint i = 0; i < frames; i++) {
        g_autoptr(GstBuffer) frame = camera_frame(&film->info, number + i);
        frame = place ? place(&film->info, frame, user) : frame;
        g_signal_emit_by_name(source, "push-buffer", frame, &flow);
        fail_unless_equals_int(flow, GST_FLOW_OK);
    }
    g_signal_emit_by_name(source, "end-of-stream", &flow);
}

static void film_start(Film *film) {
    fail_if(gst_element_set_state(film->pipeline, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE);
}

static void film_finish(Film *film, guint frames) {
    wait_for_eos(film->pipeline);
    fail_unless_equals_int(film->out->len, frames);
}

/* The pipeline goes first, as frames of its pools are still here. */
static void film_free(Film *film) {
    reach(film->pipeline, GST_STATE_NULL);
    gst_object_unref(film->pipeline);
    g_ptr_array_unref(film->out);
}

void check_films(guint frames, Film (*make)(guint, guint, gboolean, gpointer),
                 GstBuffer *(*fetch)(const Film *, guint, GstBuffer *, gpointer), gpointer user) {
    Film alone[film_count], together[film_count];
    gint maximum[element_count] = {0};
    for (guint i = 0; i < film_count; i++) {
        alone[i] = make(i, frames, TRUE, user);
        film_start(&alone[i]);
        film_finish(&alone[i], frames);
    }
    for (guint i = 0; i < film_count; i++)
        together[i] = make(i, frames, FALSE, user);
    for (guint i = 0; i < film_count; i++)
        film_start(&together[i]);
    for (guint i = 0; i < film_count; i++)
        film_finish(&together[i], frames);
    for (guint i = 0; i < film_count; i++) {
        for (guint f = 0; f < frames; f++) {
            GstBuffer *out = g_ptr_array_index(together[i].out, f);
            GstBuffer *expected = g_ptr_array_index(alone[i].out, f);
            g_autoptr(GstBuffer) got =
                fetch ? fetch(&together[i], i, out, user) : gst_buffer_ref(out);
            assert_same(&alone[i].info, got, expected);
            note_measures(maximum, expected);
            for (guint e = 0; e < element_count; e++)
                assert_same_results(results_of(out, elements[e].name),
                                    results_of(expected, elements[e].name));
        }
        film_free(&together[i]);
        film_free(&alone[i]);
    }
    assert_measures(maximum);
}
