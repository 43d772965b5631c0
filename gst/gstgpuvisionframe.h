/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <gpuvision/types.h>
#include <gst/video/video.h>

/* A buffer mapped for the library. False where the buffer cannot hold the frame of its caps. */
class GstGpuVisionFrame {
  public:
    GstGpuVisionFrame(const GstVideoInfo &info, GstBuffer *buffer, int flags);
    ~GstGpuVisionFrame();
    GstGpuVisionFrame(const GstGpuVisionFrame &) = delete;
    GstGpuVisionFrame &operator=(const GstGpuVisionFrame &) = delete;

    explicit operator bool() const { return mapped && whole; }
    const gpv_image *view() const { return &image; }

  private:
    bool plane_is_inside(guint plane) const;

    GstVideoFrame frame;
    gpv_image image;
    bool mapped;
    bool whole = true;
};
