/* SPDX-License-Identifier: BSD-2-Clause */
/* The symbols of gstgpuvisionanalytics.cpp in a build without gstreamer-analytics. */
#include "gstgpuvisionanalytics.h"

gboolean gst_gpu_vision_analytics_has_masks() {
    return FALSE;
}

void gst_gpu_vision_analytics_add_boxes(GstBuffer *, GQuark, const GstGpuVisionBox *, gsize, gfloat,
                                        GstBuffer *, guint) {}

void gst_gpu_vision_analytics_add_classes(GstBuffer *, const GstGpuVisionClass *, gsize,
                                          GstBuffer *) {}
