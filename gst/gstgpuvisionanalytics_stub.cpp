/* SPDX-License-Identifier: BSD-2-Clause */
/* The symbols of gstgpuvisionanalytics.cpp in a build without gstreamer-analytics. */
#include "gstgpuvisionanalytics.h"

gboolean gst_gpu_vision_analytics_has_masks() {
    return FALSE;
}

gsize gst_gpu_vision_analytics_add(GstBuffer *, const GstGpuVisionNotes &, gsize, GstBuffer *,
                                   const GstGpuVisionBox &) {
    return 0;
}

void gst_gpu_vision_analytics_find(GstBuffer *, GQuark, std::vector<GstGpuVisionRegion> &) {}
