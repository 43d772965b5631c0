/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstgpuvisionanalytics.h"

#include <gst/analytics/analytics.h>
#include <gst/video/gstvideometa.h>

#include <algorithm>
#include <numeric>

namespace {

/* It makes room, when that is full, for as many more as at first, and copies. */
constexpr gsize min_capacity = 64;
constexpr gsize bytes_each = 64; /* more than a box takes */

GstAnalyticsRelationMeta *meta_with_room(GstBuffer *buffer, gsize n) {
    const gsize room = std::max(n, min_capacity);
    GstAnalyticsRelationMetaInitParams params = {room, room * bytes_each};
    return gst_buffer_add_analytics_relation_meta_full(buffer, &params);
}

#if GST_CHECK_VERSION(1, 26, 0)
/* False where there is no memory for it. */
bool add_mask(GstAnalyticsRelationMeta *meta, GstBuffer *mask, const GstGpuVisionBox &place,
              GstSegmentationType type, std::vector<guint> &regions,
              GstAnalyticsMtd &segmentation) {
    if (gst_analytics_relation_meta_add_segmentation_mtd(
            meta, gst_buffer_ref(mask), type, regions.size(), regions.data(), place.x, place.y,
            static_cast<guint>(place.width), static_cast<guint>(place.height), &segmentation))
        return true;
    gst_buffer_unref(mask);
    return false;
}

/* Each box leads to the mask, and that to the boxes. */
void add_instances(GstAnalyticsRelationMeta *meta, GstBuffer *mask, const GstGpuVisionBox &place,
                   guint instances, const std::vector<guint> &boxes) {
    std::vector<guint> regions(instances + 1);
    std::iota(regions.begin(), regions.end(), 0);
    GstAnalyticsMtd segmentation;
    if (!add_mask(meta, mask, place, GST_SEGMENTATION_TYPE_INSTANCE, regions, segmentation))
        return;
    for (const guint box : boxes) {
        gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, box,
                                                 segmentation.id);
        gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO,
                                                 segmentation.id, box);
    }
}

/* A region's class has the region's index. */
void add_regions(GstAnalyticsRelationMeta *meta, GstBuffer *mask, const GstGpuVisionBox &place,
                 std::vector<guint> &regions, guint classification) {
    GstAnalyticsMtd segmentation;
    if (add_mask(meta, mask, place, GST_SEGMENTATION_TYPE_SEMANTIC, regions, segmentation))
        gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_N_TO_N,
                                                 segmentation.id, classification);
}
#else
void add_instances(GstAnalyticsRelationMeta *, GstBuffer *, const GstGpuVisionBox &, guint,
                   const std::vector<guint> &) {}
void add_regions(GstAnalyticsRelationMeta *, GstBuffer *, const GstGpuVisionBox &,
                 std::vector<guint> &, guint) {}
#endif

gsize add_boxes(GstBuffer *buffer, const GstGpuVisionNotes &notes, gsize max, GstBuffer *mask,
                const GstGpuVisionBox &place) {
    const gsize n = std::min(notes.boxes.size(), max);
    if (n == 0 && !mask)
        return 0;
    GstAnalyticsRelationMeta *meta = meta_with_room(buffer, n + 1);
    std::vector<guint> ids(n);
    for (gsize i = 0; i < n; i++) {
        const GstGpuVisionBox &box = notes.boxes[i];
        GstAnalyticsODMtd detection;
        gst_analytics_relation_meta_add_od_mtd(meta, notes.type, box.x, box.y, box.width,
                                               box.height, notes.confidence, &detection);
        ids[i] = detection.id;
    }
    if (mask)
        add_instances(meta, mask, place, notes.instances, ids);
    return n;
}

void add_classes(GstBuffer *buffer, const std::vector<GstGpuVisionClass> &classes, GstBuffer *mask,
                 const GstGpuVisionBox &place) {
    const gsize n = classes.size();
    std::vector<gfloat> levels(n);
    std::vector<GQuark> names(n);
    std::vector<guint> regions(n);
    for (gsize i = 0; i < n; i++) {
        levels[i] = classes[i].share;
        names[i] = classes[i].name;
        regions[i] = classes[i].region;
    }
    GstAnalyticsRelationMeta *meta = meta_with_room(buffer, 2);
    GstAnalyticsClsMtd classification;
    gst_analytics_relation_meta_add_cls_mtd(meta, n, levels.data(), names.data(), &classification);
    if (mask)
        add_regions(meta, mask, place, regions, classification.id);
}

} // namespace

gboolean gst_gpu_vision_analytics_has_masks() {
    return GST_CHECK_VERSION(1, 26, 0);
}

gsize gst_gpu_vision_analytics_add(GstBuffer *buffer, const GstGpuVisionNotes &notes, gsize max,
                                   GstBuffer *mask, const GstGpuVisionBox &place) {
    if (notes.classes.empty())
        return add_boxes(buffer, notes, max, mask, place);
    add_classes(buffer, notes.classes, mask, place);
    return 0;
}

void gst_gpu_vision_analytics_find(GstBuffer *buffer, GQuark type,
                                   std::vector<GstGpuVisionRegion> &found) {
    GstAnalyticsRelationMeta *meta = gst_buffer_get_analytics_relation_meta(buffer);
    gpointer state = nullptr;
    GstAnalyticsMtd mtd;
    while (meta && gst_analytics_relation_meta_iterate(meta, &state,
                                                       gst_analytics_od_mtd_get_mtd_type(), &mtd)) {
        GstGpuVisionRegion region = {
            gst_analytics_od_mtd_get_obj_type(&mtd), static_cast<gint>(mtd.id), {}};
        GstGpuVisionBox &box = region.box;
        if ((type == 0 || region.type == type) &&
            gst_analytics_od_mtd_get_location(&mtd, &box.x, &box.y, &box.width, &box.height,
                                              nullptr))
            found.push_back(region);
    }
}
