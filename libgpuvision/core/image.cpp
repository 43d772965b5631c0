// SPDX-License-Identifier: BSD-2-Clause
#include "core/image.hpp"

#include <algorithm>
#include <functional>

namespace gpv {
namespace {

constexpr FormatInfo formats[] = {
    {"none", 0, 0, 0, 0},    {"GRAY8", 1, 1, 1, 0},   {"GRAY16", 1, 2, 1, 0},
    {"GRAYF32", 1, 4, 1, 0}, {"RGB8", 1, 1, 3, 0},    {"BGR8", 1, 1, 3, 0},
    {"RGBA8", 1, 1, 4, 0},   {"BGRA8", 1, 1, 4, 0},   {"RGBX8", 1, 1, 4, 0},
    {"BGRX8", 1, 1, 4, 0},   {"NV12", 2, 1, 1, 2},    {"I420", 3, 1, 1, 1},
    {"P016", 2, 2, 1, 2},    {"LABEL32", 1, 4, 1, 0}, {"CAP32X4", 4, 4, 1, 0},
    {"CAP32X8", 8, 4, 1, 0},
};

bool overlap(const Plane &a, const PlaneShape &as, const Plane &b, const PlaneShape &bs) {
    std::less<const std::byte *> before;
    const std::byte *a_end = a.row(as.rows - 1) + as.row_bytes();
    const std::byte *b_end = b.row(bs.rows - 1) + bs.row_bytes();
    if (!before(a.data, b_end) || !before(b.data, a_end))
        return false;
    if (a.stride != b.stride)
        return true;
    // Same pitch: side by side in one parent if the column ranges are disjoint.
    const auto shift = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(b.data) -
                                                 reinterpret_cast<std::uintptr_t>(a.data));
    const std::int64_t column = ((shift % a.stride) + a.stride) % a.stride;
    return column < as.row_bytes() || column + bs.row_bytes() > a.stride;
}

} // namespace

const FormatInfo &format_info(Format format) {
    const auto index = static_cast<std::size_t>(format);
    return index < std::size(formats) ? formats[index] : formats[0];
}

int max_luma(Format format) {
    return format == Format::gray16 ? max_luma16 : max_luma8;
}

bool blue_first(Format format) {
    return format == Format::bgr8 || format == Format::bgra8 || format == Format::bgrx8;
}

bool has_alpha(Format format) {
    return format == Format::rgba8 || format == Format::bgra8;
}

PlaneShape plane_shape(Format format, int plane, int width, int height) {
    const FormatInfo &info = format_info(format);
    const bool chroma = plane > 0 && info.chroma_channels > 0;
    return {
        .columns = chroma ? (width + 1) / 2 : width,
        .rows = chroma ? (height + 1) / 2 : height,
        .channels = chroma ? info.chroma_channels : info.channels,
        .sample_bytes = info.sample_bytes,
    };
}

bool same_pixels(const Image &a, const Image &b) {
    return std::equal(
        a.planes.begin(), a.planes.begin() + a.plane_count(), b.planes.begin(),
        [](const Plane &p, const Plane &q) { return p.data == q.data && p.stride == q.stride; });
}

bool overlap(const Image &a, const Image &b) {
    for (int i = 0; i < a.plane_count(); i++)
        for (int j = 0; j < b.plane_count(); j++)
            if (overlap(a.planes[i], a.shape(i), b.planes[j], b.shape(j)))
                return true;
    return false;
}

bool overlap(const BufferView &a, const BufferView &b) {
    std::less<const std::byte *> before;
    return before(a.data, b.data + b.size) && before(b.data, a.data + a.size);
}

Image luma_plane(const Image &image) {
    Image result = image;
    if (image.format == Format::nv12 || image.format == Format::i420)
        result.format = Format::gray8;
    return result;
}

bool overlap(const Image &image, const BufferView &view) {
    for (int i = 0; i < image.plane_count(); i++) {
        const Plane &plane = image.planes[i];
        const PlaneShape shape = image.shape(i);
        const std::int64_t bytes = (shape.rows - 1) * plane.stride + shape.row_bytes();
        if (overlap({image.memory, image.device, plane.data, bytes}, view))
            return true;
    }
    return false;
}

bool planes_overlap(const Image &image) {
    for (int i = 0; i < image.plane_count(); i++)
        for (int j = 0; j < i; j++)
            if (overlap(image.planes[i], image.shape(i), image.planes[j], image.shape(j)))
                return true;
    return false;
}

} // namespace gpv
