/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <gst/gst.h>

#include <vector>

/*
 * The analytics metadata of GStreamer 1.24 and newer: what an element found in a frame, which
 * elements that know nothing of this one read, and what others have detected. A frame has one of
 * it: what others have put there stays, in front. Without gstreamer-analytics nothing is added, and
 * there is nothing.
 *
 * A mask is a buffer of GRAY8 with a GstVideoMeta, whose values say to which region a pixel
 * belongs. NULL: there is none. Whether this GStreamer, of 1.26 or newer, has them,
 * gst_gpu_vision_analytics_has_masks() says.
 */
gboolean gst_gpu_vision_analytics_has_masks();

/* In pixels. */
struct GstGpuVisionBox {
    gint x, y, width, height;
};

/* A class of all pixels. */
struct GstGpuVisionClass {
    GQuark name;
    gfloat share; /* share of the pixels, 0 to 1 */
    guint region; /* its value in the mask */
};

/*
 * What there is to be said of a frame, or of a part of it: boxes, or classes. The mask of boxes has
 * so many instances, numbered from 1 in the order of the boxes.
 */
struct GstGpuVisionNotes {
    GQuark type; /* of the boxes */
    gfloat confidence;
    gboolean interest; /* boxes are regions of interest, too */
    guint instances;
    std::vector<GstGpuVisionBox> boxes;
    std::vector<GstGpuVisionClass> classes;
};

/* A part of a frame that somebody has marked. */
struct GstGpuVisionRegion {
    GQuark type; /* 0: none */
    gint id;
    GstGpuVisionBox box;
    bool marked; /* it is a region of interest, and id is that of its metadata */
};

/* GStreamer keeps a byte for each pair of what is in a frame's metadata. */
inline constexpr gsize gst_gpu_vision_max_boxes = 1024;

/*
 * An object detection for each of the first so many boxes, or a classification, whose levels are
 * the shares, and the mask, which lies there in the frame. Returns how many boxes there are. The
 * buffer is writable.
 */
gsize gst_gpu_vision_analytics_add(GstBuffer *buffer, const GstGpuVisionNotes &notes, gsize max,
                                   GstBuffer *mask, const GstGpuVisionBox &place);

/* Appends the object detections of a type, or of all where it is 0. */
void gst_gpu_vision_analytics_find(GstBuffer *buffer, GQuark type,
                                   std::vector<GstGpuVisionRegion> &found);
