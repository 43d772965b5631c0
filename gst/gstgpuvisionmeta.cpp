/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstgpuvisionmeta.h"

#include <gpuvision/sift.h>
#include <gst/video/gstvideometa.h>
#include <gst/video/video.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace {

struct Ratio {
    gint64 to, from;
};

struct Scale {
    Ratio x, y;
};

/*
 * Offsets and lengths of whole pixels are rounded down, and a length stays at
 * least 1: so a box that lies in the frame still does after scaling. Points are
 * measured from the centre of the first pixel. Numbers in an array are what the
 * array is called. Keypoints are records of gpv_sift_keypoint in a GBytes. A homography is an array
 * of 9 numbers, whose points are those of the frame.
 */
enum class Kind { Offset, Length, Point, Keypoints, Homography };
enum class Axis { X, Y, Both };

struct Field {
    std::string_view name;
    Kind kind;
    Axis axis;
};

constexpr Field fields[] = {
    {"x", Kind::Offset, Axis::X},
    {"y", Kind::Offset, Axis::Y},
    {"width", Kind::Length, Axis::X},
    {"height", Kind::Length, Axis::Y},
    {"cx", Kind::Point, Axis::X},
    {"cy", Kind::Point, Axis::Y},
    {"radius", Kind::Length, Axis::X},
    {"radius-y", Kind::Length, Axis::Y},
    {"area", Kind::Length, Axis::Both},
    {"counts", Kind::Length, Axis::Both},
    {"inertia", Kind::Length, Axis::Both},
    {"keypoints", Kind::Keypoints, Axis::Both},
    {"homography", Kind::Homography, Axis::Both},
};

Ratio ratio_along(Axis axis, const Scale &scale) {
    switch (axis) {
    case Axis::X:
        return scale.x;
    case Axis::Y:
        return scale.y;
    default:
        return {scale.x.to * scale.y.to, scale.x.from * scale.y.from};
    }
}

gint scale_int(gint value, Kind kind, Ratio ratio) {
    const gint64 minimum = kind == Kind::Length && value > 0 ? 1 : 0;
    return static_cast<gint>(std::clamp<gint64>(value * ratio.to / ratio.from, minimum, G_MAXINT));
}

gdouble factor_of(Ratio ratio) {
    return static_cast<gdouble>(ratio.to) / static_cast<gdouble>(ratio.from);
}

gdouble scale_double(gdouble value, Kind kind, Ratio ratio) {
    const gdouble factor = factor_of(ratio);
    return kind == Kind::Point ? (value + 0.5) * factor - 0.5 : value * factor;
}

/* The circle of a keypoint becomes one of the same area as the ellipse that it would be. */
GBytes *scale_keypoints(GBytes *bytes, const Scale &scale) {
    const gdouble growth = std::sqrt(factor_of(ratio_along(Axis::Both, scale)));
    gsize size = 0;
    gconstpointer data = g_bytes_get_data(bytes, &size);
    auto *keypoints = static_cast<gpv_sift_keypoint *>(g_memdup2(data, size));
    for (gsize i = 0; i < size / sizeof *keypoints; i++) {
        gpv_sift_keypoint &k = keypoints[i];
        k.x = static_cast<gfloat>(scale_double(k.x, Kind::Point, scale.x));
        k.y = static_cast<gfloat>(scale_double(k.y, Kind::Point, scale.y));
        k.sigma = static_cast<gfloat>(k.sigma * growth);
    }
    return g_bytes_new_take(keypoints, size);
}

void scale_field(GValue *value, const Field &field, const Scale &scale) {
    const Ratio ratio = ratio_along(field.axis, scale);
    if (G_VALUE_HOLDS_INT(value))
        g_value_set_int(value, scale_int(g_value_get_int(value), field.kind, ratio));
    else if (G_VALUE_HOLDS_DOUBLE(value))
        g_value_set_double(value, scale_double(g_value_get_double(value), field.kind, ratio));
    else if (G_VALUE_HOLDS(value, G_TYPE_BYTES) && field.kind == Kind::Keypoints)
        g_value_take_boxed(value,
                           scale_keypoints(static_cast<GBytes *>(g_value_get_boxed(value)), scale));
}

void scale_value(GValue *value, std::string_view name, const Scale &scale);

const Field *field_of(std::string_view name) {
    const auto *field = std::find_if(std::begin(fields), std::end(fields),
                                     [name](const Field &f) { return f.name == name; });
    return field != std::end(fields) ? field : nullptr;
}

/* Row by row: x and y of the frame times what is common to both, and that. */
void scale_homography(GValue *array, const Scale &scale) {
    gdouble m[9];
    for (guint i = 0; i < 9; i++)
        m[i] = g_value_get_double(gst_value_array_get_value(array, i));
    const Ratio ratios[] = {scale.x, scale.y};
    for (gsize row = 0; row < 2; row++)
        for (gsize i = 0; i < 3; i++) {
            const gdouble factor = factor_of(ratios[row]);
            m[3 * row + i] = factor * m[3 * row + i] + (factor - 1) / 2 * m[6 + i];
        }
    GValue scaled = G_VALUE_INIT;
    gst_value_array_init(&scaled, 9);
    for (const gdouble number : m) {
        GValue item = G_VALUE_INIT;
        g_value_init(&item, G_TYPE_DOUBLE);
        g_value_set_double(&item, number);
        gst_value_array_append_and_take_value(&scaled, &item);
    }
    g_value_unset(array);
    *array = scaled;
}

void scale_array(GValue *array, std::string_view name, const Scale &scale) {
    if (const Field *field = field_of(name);
        field && field->kind == Kind::Homography && gst_value_array_get_size(array) == 9)
        return scale_homography(array, scale);
    GValue scaled = G_VALUE_INIT;
    gst_value_array_init(&scaled, gst_value_array_get_size(array));
    for (guint i = 0; i < gst_value_array_get_size(array); i++) {
        GValue item = G_VALUE_INIT;
        g_value_init(&item, G_VALUE_TYPE(gst_value_array_get_value(array, i)));
        g_value_copy(gst_value_array_get_value(array, i), &item);
        scale_value(&item, name, scale);
        gst_value_array_append_and_take_value(&scaled, &item);
    }
    g_value_unset(array);
    *array = scaled;
}

template <typename Change>
void copy_fields(GstStructure *to, const GstStructure *from, Change change) {
    for (gint i = 0; i < gst_structure_n_fields(from); i++) {
        const gchar *name = gst_structure_nth_field_name(from, static_cast<guint>(i));
        const GValue *value = gst_structure_get_value(from, name);
        GValue copy = G_VALUE_INIT;
        g_value_init(&copy, G_VALUE_TYPE(value));
        g_value_copy(value, &copy);
        change(&copy, name);
        gst_structure_take_value(to, name, &copy);
    }
}

void scale_structure(GstStructure *structure, const Scale &scale) {
    copy_fields(structure, structure,
                [&](GValue *value, const gchar *name) { scale_value(value, name, scale); });
}

void scale_value(GValue *value, std::string_view name, const Scale &scale) {
    if (GST_VALUE_HOLDS_ARRAY(value))
        return scale_array(value, name, scale);
    if (GST_VALUE_HOLDS_STRUCTURE(value))
        return scale_structure(static_cast<GstStructure *>(g_value_get_boxed(value)), scale);
    if (const Field *field = field_of(name))
        scale_field(value, *field, scale);
}

gboolean transform(GstBuffer *to, GstCustomMeta *meta, GstBuffer *, GQuark type, gpointer data,
                   gpointer) {
    const GstStructure *results = gst_custom_meta_get_structure(meta);
    const gchar *name = gst_structure_get_name(results);
    if (GST_META_TRANSFORM_IS_COPY(type)) {
        copy_fields(gst_gpu_vision_meta_add(to, name), results, [](GValue *, const gchar *) {});
        return TRUE;
    }
    if (!GST_VIDEO_META_TRANSFORM_IS_SCALE(type))
        return FALSE;
    const auto *sizes = static_cast<const GstVideoMetaTransform *>(data);
    const Scale scale = {{sizes->out_info->width, sizes->in_info->width},
                         {sizes->out_info->height, sizes->in_info->height}};
    copy_fields(gst_gpu_vision_meta_add(to, name), results,
                [&](GValue *value, const gchar *name) { scale_value(value, name, scale); });
    return TRUE;
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
