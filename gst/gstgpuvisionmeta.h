/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/*
 * What an element found in a frame, as a GstCustomMeta that carries the name of
 * the element. It follows the frame through copies, and its coordinates are
 * those of the frame that it is on, as far as GStreamer says how that has changed.
 */

/* Makes metadata of this name known. Further calls with the same name do nothing. */
void gst_gpu_vision_meta_register(const gchar *name);

/* Attaches metadata of a registered name to a writable buffer. Returns its fields: none yet. */
GstStructure *gst_gpu_vision_meta_add(GstBuffer *buffer, const gchar *name);

/* Adds the fields of other results. */
void gst_gpu_vision_meta_copy_fields(GstStructure *to, const GstStructure *from);

/* Results of what lies there in a frame of this size become results of the frame. */
void gst_gpu_vision_meta_shift(GstStructure *results, gint x, gint y, gint width, gint height);

/*
 * Attaches a box, in pixels, as a GstVideoRegionOfInterestMeta that follows the frame as the
 * results do. parent: the id of the one that it was found in, or 0.
 */
void gst_gpu_vision_meta_add_region(GstBuffer *buffer, GQuark type, gint id, gint parent, gint x,
                                    gint y, gint width, gint height);

G_END_DECLS
