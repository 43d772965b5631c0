/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/*
 * What an element found in a frame, as the analytics metadata of GStreamer 1.24 and newer, which
 * elements that know nothing of this one read. A frame has one of it: what others have put there
 * stays, in front. Without gstreamer-analytics nothing is added.
 *
 * A mask is a buffer of GRAY8 with a GstVideoMeta, of the size of the frame, whose values say to
 * which region a pixel belongs. NULL: there is none. Whether this GStreamer, of 1.26 or newer, has
 * them, gst_gpu_vision_analytics_has_masks() says.
 */
gboolean gst_gpu_vision_analytics_has_masks(void);

/* In pixels. */
typedef struct {
    gint x, y, width, height;
} GstGpuVisionBox;

/* A class of the whole frame. */
typedef struct {
    GQuark name;
    gfloat share; /* share of the frame's pixels, 0 to 1 */
    guint region; /* its value in the mask */
} GstGpuVisionClass;

/*
 * An object detection for each of the first 1024 boxes. The mask has so many instances, numbered
 * from 1 in the order of the boxes. The buffer is writable.
 */
void gst_gpu_vision_analytics_add_boxes(GstBuffer *buffer, GQuark type,
                                        const GstGpuVisionBox *boxes, gsize n, gfloat confidence,
                                        GstBuffer *mask, guint instances);

/* A classification, whose levels are the shares. The buffer is writable. */
void gst_gpu_vision_analytics_add_classes(GstBuffer *buffer, const GstGpuVisionClass *classes,
                                          gsize n, GstBuffer *mask);

G_END_DECLS
