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

/* A buffer mapped for the library. False where the buffer cannot hold the frame of its caps. */
class GstGpuVisionFrame {
  public:
    GstGpuVisionFrame(const GstVideoInfo &info, GstBuffer *buffer, int flags,
                      const GstGpuVisionPlace &place);
    ~GstGpuVisionFrame();
    GstGpuVisionFrame(const GstGpuVisionFrame &) = delete;
    GstGpuVisionFrame &operator=(const GstGpuVisionFrame &) = delete;

    explicit operator bool() const { return mapped && whole; }
    const gpv_image *view() const { return &image; }
    /* Copies a frame of the same caps. Both are in host memory. */
    bool copy(const GstGpuVisionFrame &from) { return gst_video_frame_copy(&frame, &from.frame); }

  private:
    bool plane_is_inside(guint plane) const;

    GstVideoFrame frame;
    gpv_image image;
    bool mapped;
    bool whole = true;
};
