// SPDX-License-Identifier: BSD-2-Clause
#include "contact_sheet.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace {

constexpr size_t max_moments = 16; // that are kept
constexpr int shown_moments = 4;
constexpr int max_side = 400, gap = 6;

void write_png(GstBuffer *buffer, const GstVideoInfo &info, const std::string &path) {
    Caps caps(gst_video_info_to_caps(&info)), png(gst_caps_new_empty_simple("image/png"));
    Sample picture(gst_sample_new(buffer, caps.get(), nullptr, nullptr));
    GError *error = nullptr;
    Sample encoded(gst_video_convert_sample(picture.get(), png.get(), 10 * GST_SECOND, &error));
    if (encoded) {
        GstMapInfo map;
        gst_buffer_map(gst_sample_get_buffer(encoded.get()), &map, GST_MAP_READ);
        g_file_set_contents(path.c_str(), reinterpret_cast<gchar *>(map.data),
                            static_cast<gssize>(map.size), &error);
        gst_buffer_unmap(gst_sample_get_buffer(encoded.get()), &map);
    }
    if (Error failed(error); failed)
        throw std::runtime_error("the contact sheet could not be written: " +
                                 std::string(failed->message));
}

} // namespace

void ContactSheet::offer(GstBuffer *buffer, GstCaps *caps) {
    if (count_++ % step_ != 0)
        return;
    if (moments_.size() == max_moments) {
        for (size_t i = 1; i < max_moments / 2; ++i)
            moments_[i] = std::move(moments_[2 * i]);
        moments_.resize(max_moments / 2);
        step_ *= 2;
    }
    moments_.push_back(thumbnail(buffer, caps));
}

void ContactSheet::write(const std::string &path) const {
    const int moments = std::min(shown_moments, static_cast<int>(moments_.size()));
    const bool down = mosaic_.tiles > 2;
    GstVideoInfo info;
    gst_video_info_set_format(&info, GST_VIDEO_FORMAT_RGB,
                              (down ? mosaic_.tiles : moments) * (tile_width() + gap) + gap,
                              (down ? moments : mosaic_.tiles) * (tile_height() + gap) + gap);
    Buffer buffer(gst_buffer_new_allocate(nullptr, info.size, nullptr));
    gst_buffer_memset(buffer.get(), 0, 255, info.size);
    GstVideoFrame sheet;
    gst_video_frame_map(&sheet, &info, buffer.get(), GST_MAP_WRITE);
    for (int moment = 0; moment < moments; ++moment)
        for (int tile = 0; tile < mosaic_.tiles; ++tile)
            copy_tile((2 * moment + 1) * static_cast<int>(moments_.size()) / (2 * moments), tile,
                      sheet, down ? tile : moment, down ? moment : tile);
    gst_video_frame_unmap(&sheet);
    write_png(buffer.get(), info, path);
}

void ContactSheet::copy_tile(int moment, int tile, GstVideoFrame &sheet, int column,
                             int row) const {
    const int from_stride = GST_VIDEO_INFO_PLANE_STRIDE(&info_, 0);
    const int to_stride = GST_VIDEO_FRAME_PLANE_STRIDE(&sheet, 0);
    const guint8 *from = moments_[static_cast<size_t>(moment)].data() +
                         mosaic_.row(tile) * tile_height() * from_stride +
                         mosaic_.column(tile) * tile_width() * 3;
    guint8 *to = static_cast<guint8 *>(GST_VIDEO_FRAME_PLANE_DATA(&sheet, 0)) +
                 (row * (tile_height() + gap) + gap) * to_stride +
                 (column * (tile_width() + gap) + gap) * 3;
    for (int y = 0; y < tile_height(); ++y)
        std::memcpy(to + y * to_stride, from + y * from_stride,
                    static_cast<size_t>(tile_width()) * 3);
}

std::vector<guint8> ContactSheet::thumbnail(GstBuffer *buffer, GstCaps *caps) {
    GstVideoInfo in;
    gst_video_info_from_caps(&in, caps);
    if (moments_.empty()) {
        const int width = in.width / mosaic_.columns(), height = in.height / mosaic_.rows();
        const int side = std::min(max_side, width);
        gst_video_info_set_format(&info_, GST_VIDEO_FORMAT_RGB, mosaic_.columns() * side,
                                  mosaic_.rows() * std::max(1, height * side / width));
        info_.fps_n = in.fps_n;
        info_.fps_d = in.fps_d;
    }
    std::vector<guint8> pixels(info_.size);
    GstBuffer *wrapped =
        gst_buffer_new_wrapped_full(static_cast<GstMemoryFlags>(0), pixels.data(), pixels.size(), 0,
                                    pixels.size(), nullptr, nullptr);
    GstVideoFrame from, to;
    gst_video_frame_map(&from, &in, buffer, GST_MAP_READ);
    gst_video_frame_map(&to, &info_, wrapped, GST_MAP_WRITE);
    Owned<GstVideoConverter, gst_video_converter_free> converter(
        gst_video_converter_new(&in, &info_, nullptr));
    gst_video_converter_frame(converter.get(), &from, &to);
    gst_video_frame_unmap(&to);
    gst_video_frame_unmap(&from);
    gst_buffer_unref(wrapped);
    return pixels;
}
