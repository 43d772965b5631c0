/* SPDX-License-Identifier: BSD-2-Clause */
/* Regions of a frame, what is found in it or in them, and what of that the frames get that are not
   processed. */
#include "gstgpuvisionfilter_private.h"

#include <algorithm>

#include "gstgpuvisionmeta.h"

namespace gpu_vision_filter {

/* ---- regions ---- */

namespace {

/* Returns false where nothing is left. */
bool clip(const GstVideoInfo &info, gint64 x, gint64 y, gint64 width, gint64 height,
          GstGpuVisionBox &box) {
    const gint64 left = std::max<gint64>(x, 0), top = std::max<gint64>(y, 0);
    const gint64 right = std::min<gint64>(x + width, GST_VIDEO_INFO_WIDTH(&info));
    const gint64 bottom = std::min<gint64>(y + height, GST_VIDEO_INFO_HEIGHT(&info));
    if (left >= right || top >= bottom)
        return false;
    box = {static_cast<gint>(left), static_cast<gint>(top), static_cast<gint>(right - left),
           static_cast<gint>(bottom - top)};
    return true;
}

/* Detections count where there is no region of interest: gpuccl marks what it finds as both. */
void find_regions(GstBuffer *buffer, const GstVideoInfo &info, GQuark type,
                  std::vector<GstGpuVisionRegion> &found) {
    gpointer state = nullptr;
    bool marked = false;
    found.clear();
    while (GstMeta *meta = gst_buffer_iterate_meta_filtered(
               buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
        const auto &one = *reinterpret_cast<GstVideoRegionOfInterestMeta *>(meta);
        GstGpuVisionRegion region = {one.roi_type, one.id, {}, true};
        if (type != 0 && region.type != type)
            continue;
        marked = true;
        if (clip(info, one.x, one.y, one.w, one.h, region.box))
            found.push_back(region);
    }
    if (marked)
        return;
    gst_gpu_vision_analytics_find(buffer, type, found);
    gsize seen = 0;
    for (GstGpuVisionRegion region : found)
        if (const auto [x, y, width, height] = region.box;
            clip(info, x, y, width, height, region.box))
            found[seen++] = region;
    found.resize(seen);
}

/* To the ends of samples of chroma, along one axis. */
void widen(gint &begin, gint &length, gint whole, guint shift) {
    const gint rest = (1 << shift) - 1;
    const gint end = std::min((begin + length + rest) & ~rest, whole);
    begin &= ~rest;
    length = end - begin;
}

bool meet(const GstGpuVisionBox &a, const GstGpuVisionBox &b) {
    return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height &&
           b.y < a.y + a.height;
}

/* In each buffer for masks the regions are apart. */
void place_masks(std::vector<GstGpuVisionPart> &parts) {
    for (gsize i = 0; i < parts.size(); i++) {
        const auto taken = [&](const GstGpuVisionPart &earlier) {
            return earlier.layer == parts[i].layer && meet(earlier.region.box, parts[i].region.box);
        };
        parts[i].layer = 0;
        while (std::any_of(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(i), taken))
            parts[i].layer++;
    }
}

} // namespace

void find_parts(GstGpuVisionFilter *self, GstBuffer *in) {
    const auto *priv = private_of(self);
    const GstVideoInfo &info = priv->in_info;
    const gint width = GST_VIDEO_INFO_WIDTH(&info), height = GST_VIDEO_INFO_HEIGHT(&info);
    auto &regions = priv->last->regions;
    auto &parts = priv->last->parts;
    if (priv->wishes.regions)
        gst_gpu_vision_filter_find_regions(self, in, &info);
    else
        regions.assign(1, {0, 0, {0, 0, width, height}, false});
    parts.resize(regions.size());
    for (gsize i = 0; i < parts.size(); i++) {
        GstGpuVisionBox &box = regions[i].box;
        widen(box.x, box.width, width, info.finfo->w_sub[1]);
        widen(box.y, box.height, height, info.finfo->h_sub[1]);
        parts[i].region = regions[i];
        parts[i].notes.boxes.clear();
        parts[i].notes.classes.clear();
    }
    if (priv->wishes.mask)
        place_masks(parts);
}

/* ---- results ---- */

GstGpuVisionResults new_results(GstGpuVisionFilter *self, GstBuffer *out) {
    const auto *priv = private_of(self);
    const gchar *name = GST_GPU_VISION_FILTER_GET_CLASS(self)->name;
    const GstGpuVisionResults results = {
        priv->wishes.attach ? gst_gpu_vision_meta_add(out, name) : nullptr,
        priv->wishes.post ? gst_structure_new_empty(name) : nullptr};
    for (GstStructure *begun : {results.attached, results.posted}) {
        GValue none = G_VALUE_INIT;
        if (!begun || !priv->wishes.regions)
            continue;
        gst_value_array_init(&none, 0);
        gst_structure_take_value(begun, "regions", &none);
    }
    return results;
}

namespace {

/* Of the frame, or of a region. */
void write_part(GstGpuVisionFilter *self, GstGpuVisionPart &part,
                const GstGpuVisionResults &results) {
    const auto *klass = GST_GPU_VISION_FILTER_GET_CLASS(self);
    const auto &[attached, posted] = results;
    if (attached || posted)
        klass->write_results(self, attached ? attached : posted);
    if (attached && posted)
        gst_gpu_vision_meta_copy_fields(posted, attached);
    part.notes.interest = FALSE;
    if (attached && klass->annotate)
        klass->annotate(self, attached, &part.notes);
    for (GstGpuVisionBox &box : part.notes.boxes) {
        box.x += part.region.box.x;
        box.y += part.region.box.y;
    }
}

/* Takes what has been found in it. */
void append_region(GstStructure *results, const GstGpuVisionRegion &region, GstStructure *found,
                   const GstVideoInfo &info) {
    const auto &[x, y, width, height] = region.box;
    gst_gpu_vision_meta_shift(found, x, y, GST_VIDEO_INFO_WIDTH(&info),
                              GST_VIDEO_INFO_HEIGHT(&info));
    gst_structure_set(found, "type", G_TYPE_STRING, g_quark_to_string(region.type), "id",
                      G_TYPE_INT, region.id, "x", G_TYPE_INT, x, "y", G_TYPE_INT, y, "width",
                      G_TYPE_INT, width, "height", G_TYPE_INT, height, nullptr);
    GValue value = G_VALUE_INIT;
    g_value_init(&value, GST_TYPE_STRUCTURE);
    g_value_take_boxed(&value, found);
    gst_value_array_append_and_take_value(
        const_cast<GValue *>(gst_structure_get_value(results, "regions")), &value);
}

void write_region(GstGpuVisionFilter *self, GstGpuVisionPart &part,
                  const GstGpuVisionResults &results) {
    const auto new_region = [](const GstStructure *of) {
        return of ? gst_structure_new_empty("region") : nullptr;
    };
    const GstGpuVisionResults found = {new_region(results.attached), new_region(results.posted)};
    const GstVideoInfo &info = private_of(self)->in_info;
    write_part(self, part, found);
    if (found.attached)
        append_region(results.attached, part.region, found.attached, info);
    if (found.posted)
        append_region(results.posted, part.region, found.posted, info);
}

/* Takes the results. */
void post_results(GstGpuVisionFilter *self, GstBuffer *buffer, GstStructure *results) {
    const GstSegment &segment = GST_BASE_TRANSFORM(self)->segment;
    const GstClockTime time = GST_BUFFER_PTS(buffer);
    gst_structure_set(results, "timestamp", GST_TYPE_CLOCK_TIME, time, "stream-time",
                      GST_TYPE_CLOCK_TIME, time_in<gst_segment_to_stream_time>(segment, time),
                      "running-time", GST_TYPE_CLOCK_TIME,
                      time_in<gst_segment_to_running_time>(segment, time), "duration",
                      GST_TYPE_CLOCK_TIME, GST_BUFFER_DURATION(buffer), nullptr);
    gst_element_post_message(GST_ELEMENT(self), gst_message_new_element(GST_OBJECT(self), results));
}

/* Of regions of interest that the frame has. */
gint highest_id(GstBuffer *buffer) {
    gpointer state = nullptr;
    gint highest = 0;
    while (GstMeta *meta = gst_buffer_iterate_meta_filtered(
               buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))
        highest = std::max(highest, reinterpret_cast<GstVideoRegionOfInterestMeta *>(meta)->id);
    return highest;
}

} // namespace

void write_results(GstGpuVisionFilter *self, GstGpuVisionPart &part,
                   const GstGpuVisionResults &results) {
    (private_of(self)->wishes.regions ? write_region : write_part)(self, part, results);
}

/* Without regions of the frame, what is found is numbered as in the results. */
void publish(GstGpuVisionFilter *self, GstBuffer *out, GstStructure *posted) {
    const auto *priv = private_of(self);
    gsize room = gst_gpu_vision_max_boxes;
    gint id = priv->wishes.regions ? highest_id(out) : 0;
    if (posted)
        post_results(self, out, posted);
    for (const auto &[region, notes, layer, mask] : priv->last->parts) {
        if (!priv->wishes.attach)
            break;
        for (gsize i = 0; notes.interest && i < notes.boxes.size(); i++) {
            const auto &[x, y, width, height] = notes.boxes[i];
            gst_gpu_vision_meta_add_region(out, notes.type, ++id, region.marked ? region.id : 0, x,
                                           y, width, height);
        }
        room -= gst_gpu_vision_analytics_add(out, notes, room, priv->wishes.mask ? mask : nullptr,
                                             region.box);
    }
}

/* ---- frames that are not processed ---- */

namespace {

bool has_all(const GstGpuVisionWishes &there, const GstGpuVisionWishes &wanted) {
    return (there.post || !wanted.post) && (there.attach || !wanted.attach) &&
           (there.mask || !wanted.mask) && there.regions == wanted.regions;
}

/* A message, or metadata, of what the last frame had. */
void repeat(GstStructure *to, const GstStructure *from) {
    if (!to)
        return;
    gst_gpu_vision_meta_copy_fields(to, from);
    gst_structure_set(to, "repeated", G_TYPE_BOOLEAN, TRUE, nullptr);
}

} // namespace

void drop_last(GstGpuVisionFilter *self) {
    GstGpuVisionLast &last = *private_of(self)->last;
    for (GstGpuVisionPart &part : last.parts)
        gst_clear_buffer(&part.mask);
    gst_clear_buffer(&last.picture);
    gst_clear_structure(&last.attached);
    gst_clear_structure(&last.posted);
    last.kept = false;
}

void keep(GstGpuVisionFilter *self, const GstGpuVisionResults &results) {
    const auto *priv = private_of(self);
    GstGpuVisionLast &last = *priv->last;
    last.wishes = priv->wishes;
    last.output = priv->output;
    last.age = 0;
    last.kept = true;
    last.attached = results.attached ? gst_structure_copy(results.attached) : nullptr;
    last.posted = results.posted ? gst_structure_copy(results.posted) : nullptr;
}

bool repeats_last(GstGpuVisionFilter *self) {
    auto *priv = private_of(self);
    auto &last = *priv->last;
    return last.kept && ++last.age < priv->wishes.interval && !g_atomic_int_get(&priv->forget) &&
           last.output == priv->output && has_all(last.wishes, priv->wishes);
}

GstBuffer *picture_again(GstGpuVisionFilter *self, GstBuffer *in) {
    GstBuffer *picture = private_of(self)->last->picture, *out = gst_buffer_new();
    gst_buffer_copy_into(out, picture, GST_BUFFER_COPY_MEMORY, 0, static_cast<gsize>(-1));
    gst_buffer_add_parent_buffer_meta(out, picture);
    if (GstVideoMeta *meta = gst_buffer_get_video_meta(picture))
        gst_buffer_add_video_meta_full(out, meta->flags, meta->format, meta->width, meta->height,
                                       meta->n_planes, meta->offset, meta->stride)
            ->alignment = meta->alignment;
    if (const GstVideoCropMeta *seen = gst_buffer_get_video_crop_meta(picture)) {
        GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta(out);
        crop->x = seen->x;
        crop->y = seen->y;
        crop->width = seen->width;
        crop->height = seen->height;
    }
    base_class()->copy_metadata(GST_BASE_TRANSFORM(self), in, out);
    return out;
}

void repeat_results(GstGpuVisionFilter *self, const GstGpuVisionResults &results) {
    const GstGpuVisionLast &last = *private_of(self)->last;
    repeat(results.attached, last.attached);
    repeat(results.posted, last.posted);
}

} // namespace gpu_vision_filter

const std::vector<GstGpuVisionRegion> *
gst_gpu_vision_filter_find_regions(GstGpuVisionFilter *self, GstBuffer *buffer,
                                   const GstVideoInfo *info) {
    auto *priv = gpu_vision_filter::private_of(self);
    GST_OBJECT_LOCK(self);
    const GQuark type = priv->roi_type;
    GST_OBJECT_UNLOCK(self);
    gpu_vision_filter::find_regions(buffer, *info, type, priv->last->regions);
    return &priv->last->regions;
}
