/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The elements on a CUDA device whose memory is nearly full: they process the frame, or say on the
 * bus what is missing, and work again as soon as there is memory.
 */
#include "cuda_frames.h"

#include <cuda_runtime_api.h>

enum { mebibyte = 1 << 20 };

static const gchar *const elements[] = {"gpuerode", "gpuccl", "gpukmeans", "gpusift",
                                        "gpugraphcut"};
static const gint frame_sizes[][2] = {{1920, 1080}, {3840, 2160}};
static const gsize left_mebibytes[] = {16, 64, 256};

/* ---- memory that others have ---- */

static gsize unused_memory(void) {
    gsize unused = 0, total = 0;
    fail_unless_equals_int(cudaMemGetInfo(&unused, &total), cudaSuccess);
    return unused;
}

/* Takes all but so much, in the context, as far as blocks of a mebibyte can. */
static GPtrArray *take_memory(GstCudaContext *context, gsize left) {
    GPtrArray *blocks = g_ptr_array_new();
    fail_unless(gst_cuda_context_push(context));
    for (gsize size = (gsize)4096 * mebibyte; size >= mebibyte; size /= 2)
        while (unused_memory() >= left + size) {
            gpointer block = NULL;
            if (cudaMalloc(&block, size) != cudaSuccess)
                break;
            g_ptr_array_add(blocks, block);
        }
    cudaGetLastError(); /* of the block that was too large */
    gst_cuda_context_pop(NULL);
    return blocks;
}

static void give_memory_back(GstCudaContext *context, GPtrArray *blocks) {
    fail_unless(gst_cuda_context_push(context));
    for (guint i = 0; i < blocks->len; i++)
        fail_unless_equals_int(cudaFree(g_ptr_array_index(blocks, i)), cudaSuccess);
    gst_cuda_context_pop(NULL);
    g_ptr_array_unref(blocks);
}

/* ---- an element ---- */

typedef struct {
    GstHarness *h;
    GstBus *bus;
    GstVideoInfo info;
    GstBuffer *frame; /* in CUDAMemory */
} Subject;

/* Has started once, and is in NULL. */
static Subject subject_new(const gchar *name, GstCudaContext *context, const gint *size) {
    Subject subject = {.info = make_info("NV12", size[0], size[1])};
    GstContext *given = gst_context_new_cuda_context(context);
    GstElement *element = element_new(name, "cuda");
    GstBuffer *noise = random_frame(&subject.info);
    gst_element_set_context(element, given);
    subject.h = harness_with(element);
    subject.bus = add_bus(subject.h->element);
    subject.frame = cuda_buffer(context, &subject.info);
    copy(&subject.info, noise, subject.frame);
    reach(subject.h->element, GST_STATE_NULL);
    gst_buffer_unref(noise);
    gst_context_unref(given);
    return subject;
}

static void subject_free(Subject *subject) {
    drop_bus(subject->h->element, subject->bus);
    gst_harness_teardown(subject->h);
    gst_buffer_unref(subject->frame);
}

/* From NULL to a frame and back. Returns what came out, in system memory, or NULL. */
static GstBuffer *run_one(const Subject *subject) {
    GstHarness *h = subject->h;
    GstBuffer *result = NULL;
    if (gst_element_set_state(h->element, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE) {
        gst_pad_push_event(h->srcpad, gst_event_new_stream_start("test"));
        gst_harness_set_src_caps(h, cuda_caps(&subject->info));
        if (gst_harness_push(h, gst_buffer_ref(subject->frame)) == GST_FLOW_OK) {
            GstBuffer *out = gst_harness_pull(h);
            result = random_frame(&subject->info);
            copy(&subject->info, out, result);
            gst_buffer_unref(out);
        }
    }
    reach(h->element, GST_STATE_NULL);
    return result;
}

/* Returns the text of the one error on the bus. */
static gchar *resource_error(GstBus *bus) {
    GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
    GError *error = NULL;
    gchar *debug = NULL, *text;
    fail_unless(message != NULL, "no error on the bus");
    gst_message_parse_error(message, &error, &debug);
    fail_unless(g_error_matches(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT),
                "%s (%s)", error->message, debug);
    text = g_strdup(error->message);
    g_error_free(error);
    g_free(debug);
    gst_message_unref(message);
    return text;
}

static void assert_no_error(GstBus *bus) {
    fail_unless(gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR) == NULL);
}

/* Returns whether there was too little. */
static gboolean check_nearly_full(const Subject *subject, GstCudaContext *context,
                                  GstBuffer *expected, gsize left) {
    const gchar *name = GST_OBJECT_NAME(gst_element_get_factory(subject->h->element));
    GPtrArray *blocks = take_memory(context, left * mebibyte);
    GstBuffer *got = run_one(subject);
    const gboolean failed = got == NULL;
    gchar *text = failed ? resource_error(subject->bus) : g_strdup("enough");
    give_memory_back(context, blocks);
    g_print("%s, %dx%d, %" G_GSIZE_FORMAT " MiB left: %s\n", name, subject->info.width,
            subject->info.height, left, text);
    if (!failed)
        assert_same(&subject->info, got, expected);
    gst_clear_buffer(&got);
    gst_bus_set_flushing(subject->bus, TRUE);
    gst_bus_set_flushing(subject->bus, FALSE);

    got = run_one(subject);
    assert_no_error(subject->bus);
    fail_unless(got != NULL, "it does not work again");
    assert_same(&subject->info, got, expected);
    gst_buffer_unref(got);
    g_free(text);
    return failed;
}

/* A cut and SIFT need more than 16 MiB for any of the frames. */
GST_START_TEST(test_nearly_full) {
    const gchar *name = elements[__i__];
    const gboolean needs_much = g_str_equal(name, "gpusift") || g_str_equal(name, "gpugraphcut");
    GstCudaContext *context = new_context();
    for (guint s = 0; s < G_N_ELEMENTS(frame_sizes); s++) {
        Subject subject = subject_new(name, context, frame_sizes[s]);
        GstBuffer *expected = run_one(&subject);
        fail_unless(expected != NULL);
        for (guint i = 0; i < G_N_ELEMENTS(left_mebibytes); i++) {
            const gboolean failed =
                check_nearly_full(&subject, context, expected, left_mebibytes[i]);
            fail_unless(failed || i > 0 || !needs_much, "%s needs no memory", name);
        }
        gst_buffer_unref(expected);
        subject_free(&subject);
    }
    gst_object_unref(context);
}
GST_END_TEST

static Suite *full_suite(void) {
    Suite *suite = suite_create("full");
    tcase_add_loop_test(add_case(suite, "full"), test_nearly_full, 0, G_N_ELEMENTS(elements));
    return suite;
}

int main(int argc, char **argv) {
    gst_check_init(&argc, &argv);
    return run_where_a_device_is(full_suite, "full", __FILE__);
}
