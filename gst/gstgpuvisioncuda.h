/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <gpuvision/types.h>
#include <gst/gst.h>

#include <memory>

#include "gstgpuvisionframe.h"

#define GST_GPU_VISION_CUDA_MEMORY "memory:CUDAMemory"

/*
 * The GstCudaContext that an element shares with its neighbours, and what the
 * element makes in it: a stream and pools. In a build without gstreamer-cuda it
 * never opens. set_context() and answer() are called from any thread, the
 * others where start(), stop() and transform() are.
 */
class GstGpuVisionCuda {
  public:
    /* element owns this object. */
    explicit GstGpuVisionCuda(GstElement *element);
    ~GstGpuVisionCuda();

    void set_context(GstContext *context, gint device);
    bool answer(GstQuery *query);

    /* Finds a context on the device, -1 for any device, or makes one. False if it cannot. */
    bool open(gint device);
    void close();
    bool is_open() const;

    /* Makes the context current on this thread until pop(). False where none is open. */
    bool push();
    void pop();

    /* The pool has to be configured. Transfer full, NULL where no context is open. */
    GstBufferPool *new_pool();
    bool shares(GstBufferPool *pool) const;
    /* Agrees with a pool on one stream. */
    void configure(GstStructure *config);

    /* Whether the buffer is CUDAMemory of this context. */
    bool holds(GstBuffer *buffer) const;
    /* Whether it is CUDAMemory of another context that may be adopted. */
    bool can_adopt(GstBuffer *buffer, gint device) const;
    /* Nothing that was made in the old context may be in use any more. False: not open any more. */
    bool adopt(GstBuffer *buffer);

    /* Where CUDAMemory of this context is. */
    GstGpuVisionPlace place() const;

    /* Stream of the context; NULL if none is open. */
    gpv_stream stream() const;

    struct Queue {
        gpv_stream stream;
        gpv_stream leader; /* the input's: stream follows it, and afterwards it follows stream */
        bool wait;         /* wait before the frame goes on */
    };
    /* For a run between two mapped buffers of CUDAMemory. */
    Queue queue(GstBuffer *in, GstBuffer *out);

    /* Enqueues a copy between frames of the same caps in this context. */
    bool copy(const GstGpuVisionFrame &from, const GstGpuVisionFrame &to, gpv_stream stream);

  private:
    struct State;
    std::unique_ptr<State> state;
};
