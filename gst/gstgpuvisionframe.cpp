/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstgpuvisionframe.h"

#include <algorithm>
#include <cstring>

namespace {

gpv_format format_of(const GstVideoInfo &info) {
    switch (GST_VIDEO_INFO_FORMAT(&info)) {
    case GST_VIDEO_FORMAT_GRAY8:
        return GPV_FORMAT_GRAY8;
    case GST_VIDEO_FORMAT_GRAY16_LE:
        return GPV_FORMAT_GRAY16;
    case GST_VIDEO_FORMAT_NV12:
        return GPV_FORMAT_NV12;
    case GST_VIDEO_FORMAT_NV21:
        return GPV_FORMAT_NV21;
    case GST_VIDEO_FORMAT_I420:
    case GST_VIDEO_FORMAT_YV12:
        return GPV_FORMAT_I420;
    case GST_VIDEO_FORMAT_P010_10LE:
    case GST_VIDEO_FORMAT_P012_LE:
    case GST_VIDEO_FORMAT_P016_LE:
        return GPV_FORMAT_P016;
    case GST_VIDEO_FORMAT_YUY2:
        return GPV_FORMAT_YUY2;
    case GST_VIDEO_FORMAT_UYVY:
        return GPV_FORMAT_UYVY;
    case GST_VIDEO_FORMAT_Y444:
        return GPV_FORMAT_Y444;
    case GST_VIDEO_FORMAT_RGBP:
    case GST_VIDEO_FORMAT_BGRP:
    case GST_VIDEO_FORMAT_GBR:
        return GPV_FORMAT_RGBP8;
    case GST_VIDEO_FORMAT_ARGB:
        return GPV_FORMAT_ARGB8;
    case GST_VIDEO_FORMAT_ABGR:
        return GPV_FORMAT_ABGR8;
    case GST_VIDEO_FORMAT_xRGB:
        return GPV_FORMAT_XRGB8;
    case GST_VIDEO_FORMAT_xBGR:
        return GPV_FORMAT_XBGR8;
    case GST_VIDEO_FORMAT_RGBA:
        return GPV_FORMAT_RGBA8;
    case GST_VIDEO_FORMAT_BGRA:
        return GPV_FORMAT_BGRA8;
    case GST_VIDEO_FORMAT_RGBx:
        return GPV_FORMAT_RGBX8;
    case GST_VIDEO_FORMAT_BGRx:
        return GPV_FORMAT_BGRX8;
    case GST_VIDEO_FORMAT_RGB:
        return GPV_FORMAT_RGB8;
    case GST_VIDEO_FORMAT_BGR:
        return GPV_FORMAT_BGR8;
    default:
        return GPV_FORMAT_NONE;
    }
}

/* What the caps leave open is that of the frame, also for a part of it. */
gpv_color_matrix matrix_of(const GstVideoInfo &info) {
    switch (info.colorimetry.matrix) {
    case GST_VIDEO_COLOR_MATRIX_BT601:
        return GPV_COLOR_MATRIX_BT601;
    case GST_VIDEO_COLOR_MATRIX_BT709:
        return GPV_COLOR_MATRIX_BT709;
    case GST_VIDEO_COLOR_MATRIX_BT2020:
        return GPV_COLOR_MATRIX_BT2020;
    default:
        return GST_VIDEO_INFO_HEIGHT(&info) >= 720 ? GPV_COLOR_MATRIX_BT709
                                                   : GPV_COLOR_MATRIX_BT601;
    }
}

gpv_color_range range_of(const GstVideoInfo &info) {
    switch (info.colorimetry.range) {
    case GST_VIDEO_COLOR_RANGE_0_255:
        return GPV_COLOR_RANGE_FULL;
    case GST_VIDEO_COLOR_RANGE_16_235:
        return GPV_COLOR_RANGE_LIMITED;
    default:
        return GST_VIDEO_INFO_IS_YUV(&info) ? GPV_COLOR_RANGE_LIMITED : GPV_COLOR_RANGE_AUTO;
    }
}

/* Whether the frame, from where a crop begins, lies in one of that size. */
bool fits(const GstVideoInfo &info, const GstVideoCropMeta *crop, guint64 width, guint64 height) {
    const guint64 x = crop ? crop->x : 0, y = crop ? crop->y : 0;
    return x + static_cast<guint64>(GST_VIDEO_INFO_WIDTH(&info)) <= width &&
           y + static_cast<guint64>(GST_VIDEO_INFO_HEIGHT(&info)) <= height;
}

/* GStreamer calls it critical to map a buffer whose GstVideoMeta is of another format, or of a
   smaller frame. Without one the buffer is as large as its caps. */
bool meta_is_of(GstBuffer *buffer, const GstVideoInfo &info) {
    const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
    const GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta(buffer);
    return meta ? meta->format == GST_VIDEO_INFO_FORMAT(&info) &&
                      fits(info, crop, meta->width, meta->height)
                : fits(info, crop, static_cast<guint64>(GST_VIDEO_INFO_WIDTH(&info)),
                       static_cast<guint64>(GST_VIDEO_INFO_HEIGHT(&info)));
}

} // namespace

/* Takes no reference on the buffer, which must stay writable. */
GstGpuVisionFrame::GstGpuVisionFrame(const GstVideoInfo &info, GstBuffer *buffer, int flags,
                                     const GstGpuVisionPlace &place)
    : bytes(info.size),
      mapped(meta_is_of(buffer, info) &&
             gst_video_frame_map(&frame, &info, buffer,
                                 static_cast<GstMapFlags>(flags | place.map_flags |
                                                          int{GST_VIDEO_FRAME_MAP_FLAG_NO_REF}))) {
    if (!mapped)
        return;
    gpv_image_init(&image, sizeof image);
    image.format = format_of(info);
    image.memory = place.memory;
    image.device = place.device;
    image.width = GST_VIDEO_INFO_WIDTH(&info);
    image.height = GST_VIDEO_INFO_HEIGHT(&info);
    image.color_matrix = matrix_of(info);
    image.color_range = range_of(info);
    const GstVideoCropMeta *crop = gst_buffer_get_video_crop_meta(buffer);
    bytes = 0;
    for (guint i = 0; i < GST_VIDEO_FRAME_N_PLANES(&frame); i++) {
        image.data[i] = GST_VIDEO_FRAME_PLANE_DATA(&frame, i);
        image.stride[i] = GST_VIDEO_FRAME_PLANE_STRIDE(&frame, i);
        if (crop)
            image.data[i] = static_cast<guint8 *>(image.data[i]) + offset_of(i, crop->x, crop->y);
        whole = plane_is_inside(i) && whole;
    }
    order_planes();
}

GstGpuVisionFrame::~GstGpuVisionFrame() {
    if (mapped)
        gst_video_frame_unmap(&frame);
}

/* GStreamer's are in the order of memory, as with YV12; the library's, all of a size but for luma,
   in that of the channels. */
void GstGpuVisionFrame::order_planes() {
    if (GST_VIDEO_FRAME_N_PLANES(&frame) < 3)
        return;
    const gpv_image in_memory = image;
    for (guint i = 0; i < 3; i++) {
        const guint plane = GST_VIDEO_FORMAT_INFO_PLANE(frame.info.finfo, i);
        image.data[i] = in_memory.data[plane];
        image.stride[i] = in_memory.stride[plane];
    }
}

/* Bytes to where a part begins. Chroma begins with the site of the first pixel, as videocrop has
   it; so does luma that has chroma in between. */
gint64 GstGpuVisionFrame::offset_of(guint plane, gint64 x, gint64 y) const {
    const GstVideoFormatInfo *format = frame.info.finfo;
    gint components[GST_VIDEO_MAX_COMPONENTS];
    gst_video_format_info_component(format, plane, components);
    const gint of = components[0];
    if (components[1] >= 0 && GST_VIDEO_FORMAT_INFO_W_SUB(format, components[1]) >
                                  GST_VIDEO_FORMAT_INFO_W_SUB(format, of))
        x -= x % 2;
    return (y >> GST_VIDEO_FORMAT_INFO_H_SUB(format, of)) * image.stride[plane] +
           (x >> GST_VIDEO_FORMAT_INFO_W_SUB(format, of)) *
               GST_VIDEO_FORMAT_INFO_PSTRIDE(format, of);
}

gpv_image GstGpuVisionFrame::part(gint x, gint y, gint width, gint height) const {
    gpv_image view = image;
    view.width = width;
    view.height = height;
    for (guint i = 0; i < GST_VIDEO_FRAME_N_PLANES(&frame); i++)
        view.data[i] = static_cast<guint8 *>(image.data[i]) + offset_of(i, x, y);
    return view;
}

/* GStreamer checks the size of a buffer, but not what GstVideoMeta says of it. */
bool GstGpuVisionFrame::plane_is_inside(guint plane) {
    const GstMapInfo &map = frame.map[frame.meta ? plane : 0];
    gint64 row_bytes = 0, rows = 0;
    if (gpv_format_plane(image.format, static_cast<gint32>(plane), image.width, image.height,
                         &row_bytes, &rows) != GPV_OK)
        return false;
    const gint64 start = static_cast<const guint8 *>(image.data[plane]) - map.data;
    const gint64 end = start + (rows - 1) * image.stride[plane] + row_bytes;
    /* A plane may have a memory of its own. */
    const auto *meta = static_cast<const GstVideoMeta *>(frame.meta);
    const auto *begin = static_cast<const guint8 *>(GST_VIDEO_FRAME_PLANE_DATA(&frame, plane));
    const gint64 before = meta ? static_cast<gint64>(meta->offset[plane]) - (begin - map.data) : 0;
    bytes = std::max(bytes, static_cast<gsize>(before + end));
    return end <= static_cast<gint64>(map.size);
}

void GstGpuVisionFrame::copy(const GstGpuVisionFrame &from) {
    for (gint32 p = 0; p < gpv_format_planes(image.format); p++) {
        gint64 row_bytes = 0, rows = 0;
        if (gpv_format_plane(image.format, p, image.width, image.height, &row_bytes, &rows) !=
            GPV_OK)
            continue;
        for (gint64 y = 0; y < rows; y++)
            std::memcpy(static_cast<guint8 *>(image.data[p]) + y * image.stride[p],
                        static_cast<const guint8 *>(from.image.data[p]) + y * from.image.stride[p],
                        static_cast<gsize>(row_bytes));
    }
}
