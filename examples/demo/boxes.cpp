// SPDX-License-Identifier: BSD-2-Clause
#include "boxes.hpp"

#include <algorithm>
#include <cstring>

namespace {

// A rectangle in white, which for a video frame is grey chroma.
void fill(GstVideoFrame &frame, int x, int y, int width, int height) {
    const GstVideoFormatInfo *format = frame.info.finfo;
    for (guint c = 0; c < GST_VIDEO_FRAME_N_COMPONENTS(&frame); ++c) {
        const int left = GST_VIDEO_FORMAT_INFO_SCALE_WIDTH(format, c, x);
        const int right = GST_VIDEO_FORMAT_INFO_SCALE_WIDTH(format, c, x + width);
        const int bottom = GST_VIDEO_FORMAT_INFO_SCALE_HEIGHT(format, c, y + height);
        for (int row = GST_VIDEO_FORMAT_INFO_SCALE_HEIGHT(format, c, y); row < bottom; ++row)
            std::memset(GST_VIDEO_FRAME_COMP_DATA(&frame, c) +
                            row * GST_VIDEO_FRAME_COMP_STRIDE(&frame, c) + left,
                        c == 0 ? 235 : 128, static_cast<size_t>(right - left));
    }
}

// Just outside the region, as far as the frame goes.
void draw_box(GstVideoFrame &frame, const GstVideoRegionOfInterestMeta &region) {
    constexpr int line = 2;
    const int left = std::max<int>(0, region.x - line), top = std::max<int>(0, region.y - line);
    const int right = std::min<int>(GST_VIDEO_FRAME_WIDTH(&frame), region.x + region.w + line);
    const int bottom = std::min<int>(GST_VIDEO_FRAME_HEIGHT(&frame), region.y + region.h + line);
    const int across = std::min(line, right - left), down = std::min(line, bottom - top);
    fill(frame, left, top, right - left, down);
    fill(frame, left, bottom - down, right - left, down);
    fill(frame, left, top, across, bottom - top);
    fill(frame, right - across, top, across, bottom - top);
}

} // namespace

void draw_boxes(GstBuffer *buffer, GstCaps *caps) {
    GstVideoInfo info;
    GstVideoFrame frame;
    if (!gst_video_info_from_caps(&info, caps) ||
        !gst_video_frame_map(&frame, &info, buffer, GST_MAP_READWRITE))
        return;
    gpointer state = nullptr;
    while (GstMeta *meta = gst_buffer_iterate_meta_filtered(
               buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))
        draw_box(frame, *reinterpret_cast<GstVideoRegionOfInterestMeta *>(meta));
    gst_video_frame_unmap(&frame);
}
