/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The elements in a CUDA context that something else has poisoned: the next frame is an error that
 * says so, and so is every later one, and every start; nothing hangs, and all can be stopped. Check
 * gives each of the tests a process of its own, which ends where it hangs.
 */
#include "cuda_frames.h"
#include "lose.h"

#include <cuda_runtime_api.h>

enum { most_seconds = 10 };

static const gchar *const elements[] = {"gpuerode", "gpuccl", "gpukmeans", "gpusift",
                                        "gpugraphcut"};

/* As another user of the context would. */
static void poison(GstCudaContext *context) {
    fail_unless(gst_cuda_context_push(context));
    fail_unless_equals_int(lose_device(NULL, 0), cudaSuccess);
    fail_unless_equals_int(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    gst_cuda_context_pop(NULL);
}

typedef struct {
    GstHarness *h;
    GstBus *bus;
    GstVideoInfo info;
    GstBuffer *frame;
} Subject;

static Subject subject_new(const gchar *name, GstCudaContext *context, gboolean cuda) {
    Subject subject = {.info = make_info("NV12", 64, 48)};
    GstContext *given = gst_context_new_cuda_context(context);
    GstElement *element = element_new(name, "cuda");
    gst_element_set_context(element, given);
    subject.h = harness_with(element);
    subject.bus = add_bus(subject.h->element);
    subject.frame = random_frame(&subject.info);
    if (cuda) {
        GstBuffer *noise = subject.frame;
        subject.frame = cuda_buffer(context, &subject.info);
        copy(&subject.info, noise, subject.frame);
        gst_buffer_unref(noise);
    }
    gst_harness_set_src_caps(subject.h, cuda ? cuda_caps(&subject.info)
                                             : gst_video_info_to_caps(&subject.info));
    gst_context_unref(given);
    return subject;
}

static void subject_free(Subject *subject) {
    drop_bus(subject->h->element, subject->bus);
    gst_harness_teardown(subject->h);
    gst_buffer_unref(subject->frame);
}

static void assert_lost(Subject *subject) {
    fail_unless_equals_int(gst_harness_push(subject->h, gst_buffer_ref(subject->frame)),
                           GST_FLOW_ERROR);
    fail_unless_equals_int(gst_harness_buffers_in_queue(subject->h), 0);
    assert_error(subject->bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED, "CUDA device lost");
}

/* Of each element, in system memory and in CUDAMemory. */
GST_START_TEST(test_lost) {
    GstCudaContext *context = new_context();
    const gboolean cuda = __i__ % 2;
    Subject subject = subject_new(elements[__i__ / 2], context, cuda);
    for (guint i = 0; i < 2; i++)
        gst_buffer_unref(gst_harness_push_and_pull(subject.h, gst_buffer_ref(subject.frame)));
    poison(context);
    for (guint i = 0; i < 3; i++)
        assert_lost(&subject);
    reach(subject.h->element, GST_STATE_NULL);
    if (gst_element_set_state(subject.h->element, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE) {
        gst_pad_push_event(subject.h->srcpad, gst_event_new_stream_start("test"));
        gst_harness_set_src_caps(subject.h, cuda ? cuda_caps(&subject.info)
                                                 : gst_video_info_to_caps(&subject.info));
        fail_unless(gst_harness_push(subject.h, gst_buffer_ref(subject.frame)) != GST_FLOW_OK);
    }
    fail_unless_equals_int(gst_harness_buffers_in_queue(subject.h), 0);
    reach(subject.h->element, GST_STATE_NULL);
    subject_free(&subject);
    gst_object_unref(context);
}
GST_END_TEST

static Suite *lost_suite(void) {
    Suite *suite = suite_create("lost");
    TCase *tcase = add_case(suite, "lost");
    tcase_set_timeout(tcase, most_seconds);
    tcase_add_loop_test(tcase, test_lost, 0, 2 * G_N_ELEMENTS(elements));
    return suite;
}

int main(int argc, char **argv) {
    gst_check_init(&argc, &argv);
    return run_where_a_device_is(lost_suite, "lost", __FILE__);
}
