/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstgpuvisionframe.h"

namespace {

gpv_format format_of(const GstVideoInfo &info) {
    switch (GST_VIDEO_INFO_FORMAT(&info)) {
    case GST_VIDEO_FORMAT_GRAY8:
        return GPV_FORMAT_GRAY8;
    case GST_VIDEO_FORMAT_GRAY16_LE:
        return GPV_FORMAT_GRAY16;
    case GST_VIDEO_FORMAT_NV12:
        return GPV_FORMAT_NV12;
    case GST_VIDEO_FORMAT_I420:
        return GPV_FORMAT_I420;
    case GST_VIDEO_FORMAT_P016_LE:
        return GPV_FORMAT_P016;
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

gpv_color_matrix matrix_of(const GstVideoInfo &info) {
    switch (info.colorimetry.matrix) {
    case GST_VIDEO_COLOR_MATRIX_BT601:
        return GPV_COLOR_MATRIX_BT601;
    case GST_VIDEO_COLOR_MATRIX_BT709:
        return GPV_COLOR_MATRIX_BT709;
    case GST_VIDEO_COLOR_MATRIX_BT2020:
        return GPV_COLOR_MATRIX_BT2020;
    default:
        return GPV_COLOR_MATRIX_AUTO;
    }
}

gpv_color_range range_of(const GstVideoInfo &info) {
    switch (info.colorimetry.range) {
    case GST_VIDEO_COLOR_RANGE_0_255:
        return GPV_COLOR_RANGE_FULL;
    case GST_VIDEO_COLOR_RANGE_16_235:
        return GPV_COLOR_RANGE_LIMITED;
    default:
        return GPV_COLOR_RANGE_AUTO;
    }
}

/* GStreamer calls it critical to map a buffer whose GstVideoMeta is of another format, or of a
   smaller frame. */
bool meta_is_of(GstBuffer *buffer, const GstVideoInfo &info) {
    const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
    return !meta || (meta->format == GST_VIDEO_INFO_FORMAT(&info) &&
                     meta->width >= static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info)) &&
                     meta->height >= static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info)));
}

} // namespace

/* Takes no reference on the buffer, which must stay writable. */
GstGpuVisionFrame::GstGpuVisionFrame(const GstVideoInfo &info, GstBuffer *buffer, int flags,
                                     const GstGpuVisionPlace &place)
    : mapped(meta_is_of(buffer, info) &&
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
    for (guint i = 0; i < GST_VIDEO_FRAME_N_PLANES(&frame); i++) {
        image.data[i] = GST_VIDEO_FRAME_PLANE_DATA(&frame, i);
        image.stride[i] = GST_VIDEO_FRAME_PLANE_STRIDE(&frame, i);
        whole = whole && plane_is_inside(i);
    }
}

GstGpuVisionFrame::~GstGpuVisionFrame() {
    if (mapped)
        gst_video_frame_unmap(&frame);
}

/* GStreamer checks the size of a buffer, but not what GstVideoMeta says of it. */
bool GstGpuVisionFrame::plane_is_inside(guint plane) const {
    const GstMapInfo &map = frame.map[frame.meta ? plane : 0];
    gint64 row_bytes = 0, rows = 0;
    if (gpv_format_plane(image.format, static_cast<gint32>(plane), image.width, image.height,
                         &row_bytes, &rows) != GPV_OK)
        return false;
    const gint64 start = static_cast<const guint8 *>(image.data[plane]) - map.data;
    const gint64 end = start + (rows - 1) * image.stride[plane] + row_bytes;
    return end <= static_cast<gint64>(map.size);
}
