/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstgpuvisionanalytics.h"

#include <gst/analytics/analytics.h>

#include <algorithm>
#include <vector>

namespace {

/* GStreamer keeps a byte for each pair of what is in a frame's metadata. */
constexpr gsize max_boxes = 1024;

/* It makes room, when that is full, for as many more as at first, and copies. */
constexpr gsize min_capacity = 64;
constexpr gsize bytes_each = 64; /* more than a box takes */

GstAnalyticsRelationMeta *meta_with_room(GstBuffer *buffer, gsize n) {
    const gsize room = std::max(n, min_capacity);
    GstAnalyticsRelationMetaInitParams params = {room, room * bytes_each};
    return gst_buffer_add_analytics_relation_meta_full(buffer, &params);
}

} // namespace

void gst_gpu_vision_analytics_add_boxes(GstBuffer *buffer, GQuark type,
                                        const GstGpuVisionBox *boxes, gsize n, gfloat confidence) {
    n = std::min(n, max_boxes);
    if (n == 0)
        return;
    GstAnalyticsRelationMeta *meta = meta_with_room(buffer, n);
    for (gsize i = 0; i < n; i++) {
        const GstGpuVisionBox &box = boxes[i];
        GstAnalyticsODMtd detection;
        gst_analytics_relation_meta_add_od_mtd(meta, type, box.x, box.y, box.width, box.height,
                                               confidence, &detection);
    }
}

void gst_gpu_vision_analytics_add_classes(GstBuffer *buffer, const GstGpuVisionClass *classes,
                                          gsize n) {
    std::vector<gfloat> levels(n);
    std::vector<GQuark> names(n);
    for (gsize i = 0; i < n; i++) {
        levels[i] = classes[i].share;
        names[i] = classes[i].name;
    }
    GstAnalyticsClsMtd classification;
    gst_analytics_relation_meta_add_cls_mtd(meta_with_room(buffer, 1), n, levels.data(),
                                            names.data(), &classification);
}
