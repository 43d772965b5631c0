/* SPDX-License-Identifier: BSD-2-Clause */
/* An element on CUDA and a frame for it, for tests of what goes wrong on the device. */
#ifndef TESTS_GST_SUBJECT_H
#define TESTS_GST_SUBJECT_H

#include "cuda_frames.h"
#include "elements.h"

typedef struct {
    GstHarness *h;
    GstBus *bus;
    GstVideoInfo info;
    gboolean cuda; /* whether the frame is in CUDAMemory */
    GstBuffer *frame;
} Subject;

/* Is playing, and has no caps yet. */
static inline Subject subject_new(const gchar *name, GstCudaContext *context,
                                  const GstVideoInfo *info, gboolean cuda) {
    Subject subject = {.info = *info, .cuda = cuda, .frame = random_frame(info)};
    g_autoptr(GstContext) given = gst_context_new_cuda_context(context);
    GstElement *element = element_new(name, "cuda");
    gst_element_set_context(element, given);
    subject.h = harness_with(element);
    subject.bus = add_bus(subject.h->element);
    if (cuda) {
        g_autoptr(GstBuffer) noise = subject.frame;
        subject.frame = cuda_buffer(context, info);
        copy(info, noise, subject.frame);
    }
    return subject;
}

static inline void subject_free(Subject *subject) {
    drop_bus(subject->h->element, subject->bus);
    gst_harness_teardown(subject->h);
    gst_buffer_unref(subject->frame);
}

/* The stream of a playing element. */
static inline void subject_begin(const Subject *subject) {
    gst_pad_push_event(subject->h->srcpad, gst_event_new_stream_start("test"));
    gst_harness_set_src_caps(subject->h, subject->cuda ? cuda_caps(&subject->info)
                                                       : gst_video_info_to_caps(&subject->info));
}

static inline GstFlowReturn subject_push(const Subject *subject) {
    return gst_harness_push(subject->h, gst_buffer_ref(subject->frame));
}

#endif
