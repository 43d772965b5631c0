/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstgpuvisionmeta.h"

#include <gpuvision/sift.h>
#include <gst/video/gstvideometa.h>
#include <gst/video/video.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace {

/* Where the frame's pixels have gone, in pixels from its corner: x becomes xx x + xy y + x0. */
struct Move {
    gdouble xx, xy, x0, yx, yy, y0;
    GstVideoRectangle seen; /* where they are in the frame now */

    gdouble growth() const { return std::abs(xx * yy - xy * yx); }
    bool shifts() const { return xx == 1 && xy == 0 && yx == 0 && yy == 1; }
    std::pair<gdouble, gdouble> point(gdouble x, gdouble y) const {
        return {xx * x + xy * y + x0, yx * x + yy * y + y0};
    }
    /* Of results: (0, 0) is the centre of the first pixel. */
    std::pair<gdouble, gdouble> centre(gdouble x, gdouble y) const {
        const auto [to_x, to_y] = point(x + 0.5, y + 0.5);
        return {to_x - 0.5, to_y - 0.5};
    }
};

/* GStreamer's matrices are of floats. */
constexpr gdouble same_place = 1.0 / 256;

gint whole(gdouble value) {
    return static_cast<gint>(
        std::clamp<gdouble>(std::floor(value + same_place), G_MININT, G_MAXINT));
}

/* Rounded down, but to 1 at least. */
gint length(gdouble value) {
    return value > 0 ? std::max(whole(value), 1) : 0;
}

/* Along one axis, as far as there are pixels. False where none is left. */
bool span(gdouble from, gdouble to, gint first, gint pixels, gint &begin, gint &size) {
    const gint start = whole(std::min(from, to));
    const gint end = std::min(start + length(std::abs(to - from)), first + pixels);
    begin = std::max(start, first);
    size = end - begin;
    return size > 0;
}

/* In whole pixels. */
struct Box {
    gint x, y, width, height;
};

/* What lies in the frame still does; what of it lies outside is cut off. False where all does. */
bool move_box(Box &box, const Move &move) {
    const auto [left, top] = move.point(box.x, box.y);
    const auto [right, bottom] = move.point(box.x + box.width, box.y + box.height);
    return span(left, right, move.seen.x, move.seen.w, box.x, box.width) &&
           span(top, bottom, move.seen.y, move.seen.h, box.y, box.height);
}

bool move_box(GstStructure *fields, const Move &move) {
    Box box = {};
    if (!gst_structure_get(fields, "x", G_TYPE_INT, &box.x, "y", G_TYPE_INT, &box.y, "width",
                           G_TYPE_INT, &box.width, "height", G_TYPE_INT, &box.height, nullptr))
        return true;
    const bool seen = move_box(box, move);
    gst_structure_set(fields, "x", G_TYPE_INT, box.x, "y", G_TYPE_INT, box.y, "width", G_TYPE_INT,
                      box.width, "height", G_TYPE_INT, box.height, nullptr);
    return seen;
}

void move_point(GstStructure *fields, const Move &move) {
    gdouble x = 0, y = 0;
    if (!gst_structure_get(fields, "cx", G_TYPE_DOUBLE, &x, "cy", G_TYPE_DOUBLE, &y, nullptr))
        return;
    std::tie(x, y) = move.centre(x, y);
    gst_structure_set(fields, "cx", G_TYPE_DOUBLE, x, "cy", G_TYPE_DOUBLE, y, nullptr);
}

void move_radii(GstStructure *fields, const Move &move) {
    gint x = 0, y = 0;
    if (!gst_structure_get(fields, "radius", G_TYPE_INT, &x, "radius-y", G_TYPE_INT, &y, nullptr))
        return;
    gst_structure_set(fields, "radius", G_TYPE_INT,
                      length(std::abs(move.xx) * x + std::abs(move.xy) * y), "radius-y", G_TYPE_INT,
                      length(std::abs(move.yx) * x + std::abs(move.yy) * y), nullptr);
}

void move_sums(GstStructure *fields, const Move &move) {
    gint area = 0;
    if (gst_structure_get_int(fields, "area", &area))
        gst_structure_set(fields, "area", G_TYPE_INT, length(area * move.growth()), nullptr);
    gdouble inertia = 0;
    if (gst_structure_get_double(fields, "inertia", &inertia))
        gst_structure_set(fields, "inertia", G_TYPE_DOUBLE, inertia * move.growth(), nullptr);
}

/* The circle of a keypoint becomes one of the same area as the ellipse that it would be. */
void move_keypoints(GstStructure *fields, const Move &move) {
    const GValue *value = gst_structure_get_value(fields, "keypoints");
    if (!value || !G_VALUE_HOLDS(value, G_TYPE_BYTES))
        return;
    gsize size = 0;
    gconstpointer data = g_bytes_get_data(static_cast<GBytes *>(g_value_get_boxed(value)), &size);
    auto *keypoints = static_cast<gpv_sift_keypoint *>(g_memdup2(data, size));
    const gdouble larger = std::sqrt(move.growth());
    for (gsize i = 0; i < size / sizeof *keypoints; i++) {
        gpv_sift_keypoint &k = keypoints[i];
        const auto [x, y] = move.centre(k.x, k.y);
        const gdouble c = std::cos(k.angle * G_PI / 180), s = std::sin(k.angle * G_PI / 180);
        const gdouble angle =
            std::atan2(move.yx * c + move.yy * s, move.xx * c + move.xy * s) * 180 / G_PI;
        k.x = static_cast<gfloat>(x);
        k.y = static_cast<gfloat>(y);
        if (move.shifts())
            continue;
        k.sigma = static_cast<gfloat>(k.sigma * larger);
        k.angle = std::fmod(static_cast<gfloat>(angle) + 360.0f, 360.0f);
    }
    GValue moved = G_VALUE_INIT;
    g_value_init(&moved, G_TYPE_BYTES);
    g_value_take_boxed(&moved, g_bytes_new_take(keypoints, size));
    gst_structure_take_value(fields, "keypoints", &moved);
}

/* Row by row. What it takes to a point of the frame it takes to where that has gone. */
void move_homography(GstStructure *fields, const Move &move) {
    const GValue *array = gst_structure_get_value(fields, "homography");
    if (!array || !GST_VALUE_HOLDS_ARRAY(array) || gst_value_array_get_size(array) != 9)
        return;
    gdouble m[9];
    for (guint i = 0; i < 9; i++)
        m[i] = g_value_get_double(gst_value_array_get_value(array, i));
    const auto [x0, y0] = move.centre(0, 0);
    for (gsize i = 0; i < 3; i++) {
        const gdouble x = m[i], y = m[3 + i], common = m[6 + i];
        m[i] = move.xx * x + move.xy * y + x0 * common;
        m[3 + i] = move.yx * x + move.yy * y + y0 * common;
    }
    GValue moved = G_VALUE_INIT;
    gst_value_array_init(&moved, 9);
    for (const gdouble number : m) {
        GValue item = G_VALUE_INIT;
        g_value_init(&item, G_TYPE_DOUBLE);
        g_value_set_double(&item, number);
        gst_value_array_append_and_take_value(&moved, &item);
    }
    gst_structure_take_value(fields, "homography", &moved);
}

bool move_fields(GstStructure *fields, const Move &move);

/* Numbers are of pixels. A structure whose box has nothing left in the frame is dropped. */
void move_array(GstStructure *fields, const gchar *name, const Move &move) {
    const GValue *array = gst_structure_get_value(fields, name);
    if (!array || !GST_VALUE_HOLDS_ARRAY(array))
        return;
    GValue moved = G_VALUE_INIT;
    gst_value_array_init(&moved, gst_value_array_get_size(array));
    for (guint i = 0; i < gst_value_array_get_size(array); i++) {
        const GValue *value = gst_value_array_get_value(array, i);
        GValue item = G_VALUE_INIT;
        g_value_init(&item, G_VALUE_TYPE(value));
        g_value_copy(value, &item);
        if (G_VALUE_HOLDS_INT(&item))
            g_value_set_int(&item, length(g_value_get_int(&item) * move.growth()));
        if (GST_VALUE_HOLDS_STRUCTURE(&item) &&
            !move_fields(static_cast<GstStructure *>(g_value_get_boxed(&item)), move))
            g_value_unset(&item);
        else
            gst_value_array_append_and_take_value(&moved, &item);
    }
    gst_structure_take_value(fields, name, &moved);
}

/* All that depends on where the pixels are. False where nothing of it is in the frame any more. */
bool move_fields(GstStructure *fields, const Move &move) {
    move_point(fields, move);
    move_radii(fields, move);
    move_sums(fields, move);
    move_keypoints(fields, move);
    move_homography(fields, move);
    for (const gchar *name : {"components", "corners", "counts", "regions"})
        move_array(fields, name, move);
    return move_box(fields, move);
}

/* Of a scaler: half on each side, but a picture begins where a sample of chroma does. */
gint border(gint spare, guint chroma_shift) {
    return spare / 2 >> chroma_shift << chroma_shift;
}

GstVideoRectangle centred(const GstVideoInfo &out, gint width, gint height) {
    return {border(out.width - width, out.finfo->w_sub[1]),
            border(out.height - height, out.finfo->h_sub[1]), width, height};
}

#if GST_CHECK_VERSION(1, 28, 0)
/* Of a scaler that adds borders the matrix tells. */
GstVideoRectangle scaled_to(const GstVideoInfo &, const GstVideoInfo &out) {
    return {0, 0, out.width, out.height};
}

/* What begins a pixel beside where it belongs is put there: videoflip of 1.28 turns about the
   centres of pixels, not the corner of the frame. */
void put_right(gdouble &begin, gdouble one, gdouble other, gint belongs) {
    const gdouble beside = belongs - std::min(one, other);
    if (std::abs(beside) <= 1)
        begin += beside;
}

/* The matrix of a scaler says half of the border, of whatever format. */
GstVideoRectangle place_of(const GstVideoMetaTransformMatrix &matrix) {
    const GstVideoInfo &out = *matrix.out_info;
    const GstVideoRectangle &in = matrix.in_rectangle, &place = matrix.out_rectangle;
    const bool whole = in.w == matrix.in_info->width && in.h == matrix.in_info->height;
    const bool is_centred =
        place.x == (out.width - place.w) / 2 && place.y == (out.height - place.h) / 2;
    return whole && is_centred ? centred(out, place.w, place.h) : place;
}

/* False where there is a perspective, which no element makes, or nothing to be seen. */
bool move_of(const GstVideoMetaTransformMatrix &matrix, Move &move) {
    const auto &[x, y, common] = matrix.matrix;
    const GstVideoRectangle &in = matrix.in_rectangle, out = place_of(matrix);
    move = {x[0], x[1], x[2] + out.x - x[0] * in.x - x[1] * in.y,
            y[0], y[1], y[2] + out.y - y[0] * in.x - y[1] * in.y,
            out};
    if ((x[0] == 0 && y[1] == 0) || (x[1] == 0 && y[0] == 0)) { /* quarters of a turn */
        const auto [left, top] = move.point(in.x, in.y);
        const auto [right, bottom] = move.point(in.x + in.w, in.y + in.h);
        put_right(move.x0, left, right, out.x);
        put_right(move.y0, top, bottom, out.y);
    }
    return common[0] == 0 && common[1] == 0 && common[2] == 1 && in.w > 0 && in.h > 0;
}
#else
/*
 * Before 1.28 a scaler does not say whether it adds borders; but unless it is told not to, it does
 * where the aspect ratio would change.
 */
GstVideoRectangle scaled_to(const GstVideoInfo &in, const GstVideoInfo &out) {
    gint width = out.width, height = out.height, n = 0, d = 0;
    if (gst_util_fraction_multiply(in.width, in.height, in.par_n, in.par_d, &n, &d) &&
        gst_util_fraction_multiply(n, d, out.par_d, out.par_n, &n, &d)) {
        height =
            static_cast<gint>(gst_util_uint64_scale_int(static_cast<guint64>(out.width), d, n));
        if (height > out.height) {
            height = out.height;
            width = static_cast<gint>(
                gst_util_uint64_scale_int(static_cast<guint64>(out.height), n, d));
        }
    }
    return centred(out, width, height);
}
#endif

/* Where GStreamer says how the frame changes. */
bool move_of(GQuark type, gconstpointer data, Move &move) {
#if GST_CHECK_VERSION(1, 28, 0)
    if (GST_VIDEO_META_TRANSFORM_IS_MATRIX(type))
        return move_of(*static_cast<const GstVideoMetaTransformMatrix *>(data), move);
#endif
    if (!GST_VIDEO_META_TRANSFORM_IS_SCALE(type))
        return false;
    const auto *sizes = static_cast<const GstVideoMetaTransform *>(data);
    const GstVideoRectangle place = scaled_to(*sizes->in_info, *sizes->out_info);
    move = {gdouble(place.w) / sizes->in_info->width,
            0,
            gdouble(place.x),
            0,
            gdouble(place.h) / sizes->in_info->height,
            gdouble(place.y),
            place};
    return true;
}

gboolean transform(GstBuffer *to, GstCustomMeta *meta, GstBuffer *, GQuark type, gpointer data,
                   gpointer) {
    const GstStructure *results = gst_custom_meta_get_structure(meta);
    Move move = {};
    const bool moves = !GST_META_TRANSFORM_IS_COPY(type);
    if (moves && !move_of(type, data, move))
        return FALSE;
    GstStructure *copy = gst_gpu_vision_meta_add(to, gst_structure_get_name(results));
    gst_gpu_vision_meta_copy_fields(copy, results);
    if (moves)
        move_fields(copy, move);
    return TRUE;
}

/* ---- regions of interest ---- */

GstVideoRegionOfInterestMeta &region_of(GstMeta *meta) {
    return *reinterpret_cast<GstVideoRegionOfInterestMeta *>(meta);
}

gboolean init_region(GstMeta *meta, gpointer, GstBuffer *) {
    GstVideoRegionOfInterestMeta &region = region_of(meta);
    region.roi_type = 0;
    region.id = region.parent_id = 0;
    region.x = region.y = region.w = region.h = 0;
    region.params = nullptr;
    return TRUE;
}

void free_region(GstMeta *meta, GstBuffer *) {
    g_list_free_full(region_of(meta).params, reinterpret_cast<GDestroyNotify>(gst_structure_free));
}

const GstMetaInfo *region_info();

GstVideoRegionOfInterestMeta &add_region(GstBuffer *buffer, GQuark type, gint id, const Box &box) {
    GstVideoRegionOfInterestMeta &region =
        region_of(gst_buffer_add_meta(buffer, region_info(), nullptr));
    region.roi_type = type;
    region.id = id;
    region.x = static_cast<guint>(box.x);
    region.y = static_cast<guint>(box.y);
    region.w = static_cast<guint>(box.width);
    region.h = static_cast<guint>(box.height);
    return region;
}

gpointer copy_parameters(gconstpointer parameters, gpointer) {
    return gst_structure_copy(static_cast<const GstStructure *>(parameters));
}

gboolean transform_region(GstBuffer *to, GstMeta *meta, GstBuffer *, GQuark type, gpointer data) {
    const GstVideoRegionOfInterestMeta &region = region_of(meta);
    Box box = {static_cast<gint>(region.x), static_cast<gint>(region.y),
               static_cast<gint>(region.w), static_cast<gint>(region.h)};
    Move move = {};
    const bool moves = !GST_META_TRANSFORM_IS_COPY(type);
    if (moves && !move_of(type, data, move))
        return FALSE;
    if (moves && !move_box(box, move))
        return TRUE;
    /* What somebody has told an encoder of the region holds wherever it is. */
    GstVideoRegionOfInterestMeta &copy = add_region(to, region.roi_type, region.id, box);
    copy.parent_id = region.parent_id;
    copy.params = g_list_copy_deep(region.params, copy_parameters, nullptr);
    return TRUE;
}

/* GStreamer's own knows no borders, and rounds otherwise than the results. */
const GstMetaInfo *region_info() {
    static const gchar name[] = "GstGpuVisionRegion";
    static const GstMetaInfo *known = gst_meta_get_info(name);
    static const GstMetaInfo *info =
        known ? known
              : gst_meta_register(GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE, name,
                                  sizeof(GstVideoRegionOfInterestMeta), init_region, free_region,
                                  transform_region);
    return info;
}

} // namespace

void gst_gpu_vision_meta_register(const gchar *name) {
    static const gchar *tags[] = {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_SIZE_STR,
                                  GST_META_TAG_VIDEO_ORIENTATION_STR, nullptr};
    if (!gst_meta_get_info(name))
        gst_meta_register_custom(name, tags, transform, nullptr, nullptr);
}

GstStructure *gst_gpu_vision_meta_add(GstBuffer *buffer, const gchar *name) {
    return gst_custom_meta_get_structure(gst_buffer_add_custom_meta(buffer, name));
}

void gst_gpu_vision_meta_copy_fields(GstStructure *to, const GstStructure *from) {
    for (gint i = 0; i < gst_structure_n_fields(from); i++) {
        const gchar *name = gst_structure_nth_field_name(from, static_cast<guint>(i));
        gst_structure_set_value(to, name, gst_structure_get_value(from, name));
    }
}

void gst_gpu_vision_meta_shift(GstStructure *results, gint x, gint y, gint width, gint height) {
    move_fields(results, {1, 0, gdouble(x), 0, 1, gdouble(y), {0, 0, width, height}});
}

void gst_gpu_vision_meta_add_region(GstBuffer *buffer, GQuark type, gint id, gint parent, gint x,
                                    gint y, gint width, gint height) {
    add_region(buffer, type, id, {x, y, width, height}).parent_id = parent;
}
