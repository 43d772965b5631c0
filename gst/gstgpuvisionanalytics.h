/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/*
 * What an element found in a frame, as the analytics metadata of GStreamer 1.24 and newer, which
 * elements that know nothing of this one read. A frame has one of it: what others have put there
 * stays, in front. Without gstreamer-analytics nothing is added.
 */

/* In pixels. */
typedef struct {
    gint x, y, width, height;
} GstGpuVisionBox;

/* A class of the whole frame. */
typedef struct {
    GQuark name;
    gfloat share; /* share of the frame's pixels, 0 to 1 */
} GstGpuVisionClass;

/* An object detection for each of the first 1024 boxes. The buffer is writable. */
void gst_gpu_vision_analytics_add_boxes(GstBuffer *buffer, GQuark type,
                                        const GstGpuVisionBox *boxes, gsize n, gfloat confidence);

/* A classification, whose levels are the shares. The buffer is writable. */
void gst_gpu_vision_analytics_add_classes(GstBuffer *buffer, const GstGpuVisionClass *classes,
                                          gsize n);

G_END_DECLS
