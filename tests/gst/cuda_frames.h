/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames in CUDAMemory, for tests that are built with gstreamer-cuda. */
#ifndef TESTS_GST_CUDA_FRAMES_H
#define TESTS_GST_CUDA_FRAMES_H

#include "elements.h"

#include <gst/cuda/cuda-gst.h>
#include <gst/cuda/gstcudabufferpool.h>
#include <gst/cuda/gstcudacontext.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudamemory.h>
#include <gst/cuda/gstcudautils.h>

/* Later versions of GStreamer free theirs by themselves, too. */
typedef GstCudaContext CudaContext;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CudaContext, gst_object_unref)

GstCudaContext *context_on(guint device);
GstCudaContext *new_context(void);

/* Takes the caps. */
void configure_pool(GstBufferPool *pool, GstCaps *caps, gsize size);
GstBuffer *acquire(GstBufferPool *pool);
GstBuffer *cuda_buffer(GstCudaContext *context, const GstVideoInfo *info);

/* With odd strides and offsets, in memory that was made for another frame. */
GstBuffer *padded_cuda_buffer(GstCudaContext *context, const GstVideoInfo *info);
GstCudaMemory *memory_of(GstBuffer *buffer);

/*
 * Between host and device, plane by plane, as the maps of GStreamer 1.22 lose a
 * part of I420 with odd sides. The stream waits for no other, so that a frame
 * must be ready, or from 1.24 on say that it is not.
 */
void copy(const GstVideoInfo *info, GstBuffer *from, GstBuffer *to);

/* Takes a frame in system memory. The context is one. */
GstBuffer *uploaded(const GstVideoInfo *info, GstBuffer *frame, gpointer context);

/* To system memory. */
GstBuffer *downloaded(const GstVideoInfo *info, GstBuffer *cuda);

/* Of an element on CUDA, which is given a context; NULL: it makes its own. */
Pair cuda_pair_new(const Element *element, GstCudaContext *context);
void cuda_pair_set_info(Pair *pair, const GstVideoInfo *info);

/* A stream of frames in CUDAMemory, or in system memory, begins. */
void cuda_pair_begin(Pair *pair, const GstVideoInfo *info, gboolean cuda);

/* As pair_push_there(), once the frame is copied there. */
GstBuffer *cuda_pair_push(Pair *pair, GstBuffer *frame, GstBuffer *cuda, gboolean held);
#endif
