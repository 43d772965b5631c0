/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <gpuvision/types.h>
#include <gst/video/video.h>

/* Where the pixels of a frame are, and the flags that map them there. Default: host memory. */
struct GstGpuVisionPlace {
    gpv_memory memory = GPV_MEMORY_HOST;
    gint32 device = 0; /* CUDA ordinal */
    int map_flags = 0;
};

/*
 * A buffer mapped for the library: of a frame with GstVideoCropMeta, what the crop leaves of it.
 * False where the buffer cannot hold the frame of its caps.
 */
class GstGpuVisionFrame {
  public:
    GstGpuVisionFrame(const GstVideoInfo &info, GstBuffer *buffer, int flags,
                      const GstGpuVisionPlace &place);
    ~GstGpuVisionFrame();
    GstGpuVisionFrame(const GstGpuVisionFrame &) = delete;
    GstGpuVisionFrame &operator=(const GstGpuVisionFrame &) = delete;

    explicit operator bool() const { return mapped && whole; }
    const gpv_image *view() const { return &image; }
    /* Of what lies in it. */
    gpv_image part(gint x, gint y, gint width, gint height) const;
    /* Copies a frame of the same caps. Both are in host memory. */
    void copy(const GstGpuVisionFrame &from);

    /* Bytes from the start of the buffer that the frame reaches to, as far as it was looked at. */
    gsize needed() const { return bytes; }

  private:
    gint64 offset_of(guint plane, gint64 x, gint64 y) const;
    bool plane_is_inside(guint plane);
    void order_planes();

    GstVideoFrame frame;
    gpv_image image;
    gsize bytes;
    bool mapped;
    bool whole = true;
};
