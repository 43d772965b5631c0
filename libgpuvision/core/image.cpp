// SPDX-License-Identifier: BSD-2-Clause
#include "core/image.hpp"

#include <algorithm>
#include <functional>

namespace gpv {
namespace {

constexpr FormatInfo plain(const char *name, int planes, int sample_bytes,
                           ColorModel model = ColorModel::none) {
    return {name, planes, sample_bytes, 1, 0, 1, model, 1, {{0, 0, 1, 0, 0}}};
}

/// red, blue, fourth: where these channels are; G is in the middle. Of three channels nobody reads
/// the fourth.
constexpr FormatInfo interleaved(const char *name, int channels, int red, int blue,
                                 int fourth = 3) {
    const auto at = [channels](int offset) { return Channel{0, offset, channels, 0, 0}; };
    return {name,
            1,
            1,
            channels,
            0,
            1,
            ColorModel::rgb,
            channels,
            {at(red), at((red + blue) / 2), at(blue), at(fourth)}};
}

/// Three planes of the same size.
constexpr FormatInfo planar(const char *name, ColorModel model) {
    return {name, 3, 1, 1, 0, 1, model, 3, {{0, 0, 1, 0, 0}, {1, 0, 1, 0, 0}, {2, 0, 1, 0, 0}}};
}

/// Chroma of 2 x 2 pixels, in a plane of pairs.
constexpr FormatInfo biplanar(const char *name, int sample_bytes, int u) {
    return {name,
            2,
            sample_bytes,
            1,
            2,
            1,
            ColorModel::yuv,
            3,
            {{0, 0, 1, 0, 0}, {1, u, 2, 1, 1}, {1, 1 - u, 2, 1, 1}}};
}

/// Chroma of two pixels of a row, between their luma.
constexpr FormatInfo packed(const char *name, int luma) {
    return {name,
            1,
            1,
            4,
            0,
            2,
            ColorModel::yuv,
            3,
            {{0, luma, 2, 0, 0}, {0, 1 - luma, 4, 1, 0}, {0, 3 - luma, 4, 1, 0}}};
}

constexpr FormatInfo formats[] = {
    plain("none", 0, 0),
    plain("GRAY8", 1, 1, ColorModel::gray),
    plain("GRAY16", 1, 2, ColorModel::gray),
    plain("GRAYF32", 1, 4),
    interleaved("RGB8", 3, 0, 2),
    interleaved("BGR8", 3, 2, 0),
    interleaved("RGBA8", 4, 0, 2),
    interleaved("BGRA8", 4, 2, 0),
    interleaved("RGBX8", 4, 0, 2),
    interleaved("BGRX8", 4, 2, 0),
    biplanar("NV12", 1, 0),
    {"I420",
     3,
     1,
     1,
     1,
     1,
     ColorModel::yuv,
     3,
     {{0, 0, 1, 0, 0}, {1, 0, 1, 1, 1}, {2, 0, 1, 1, 1}}},
    biplanar("P016", 2, 0),
    plain("LABEL32", 1, 4),
    plain("CAP32X4", 4, 4),
    plain("CAP32X8", 8, 4),
    biplanar("NV21", 1, 1),
    packed("YUY2", 0),
    packed("UYVY", 1),
    planar("Y444", ColorModel::yuv),
    interleaved("ARGB8", 4, 1, 3, 0),
    interleaved("ABGR8", 4, 3, 1, 0),
    interleaved("XRGB8", 4, 1, 3, 0),
    interleaved("XBGR8", 4, 3, 1, 0),
    planar("RGBP8", ColorModel::rgb),
};
static_assert(std::size(formats) == static_cast<std::size_t>(last_format) + 1);

/// Whether the channels lie within what a column of their plane holds.
constexpr bool is_consistent(const FormatInfo &info) {
    for (int c = 0; c < info.count; c++) {
        const Channel &at = info.at[c];
        const int interleaved =
            at.plane > 0 && info.chroma_channels > 0 ? info.chroma_channels : info.channels;
        const int pixels = at.shift_x > 0 ? 1 : info.column_pixels;
        if (at.plane >= info.planes || at.offset >= interleaved || at.step * pixels != interleaved)
            return false;
    }
    return info.model == ColorModel::none || info.count > 0;
}
static_assert(std::all_of(std::begin(formats) + 1, std::end(formats), is_consistent));

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
    return format_info(format).sample_bytes == 2 ? max_luma16 : max_luma8;
}

bool blue_first(Format format) {
    const FormatInfo &info = format_info(format);
    return info.model == ColorModel::rgb && info.at[2].offset < info.at[0].offset;
}

bool has_alpha(Format format) {
    return format == Format::rgba8 || format == Format::bgra8 || format == Format::argb8 ||
           format == Format::abgr8;
}

bool is_yuv(Format format) {
    return format_info(format).model == ColorModel::yuv;
}

bool is_interleaved_rgb(Format format) {
    const FormatInfo &info = format_info(format);
    return info.model == ColorModel::rgb && info.planes == 1;
}

PlaneShape plane_shape(Format format, int plane, int width, int height) {
    const FormatInfo &info = format_info(format);
    const bool chroma = plane > 0 && info.chroma_channels > 0;
    return {
        .columns = chroma ? (width + 1) / 2 : (width + info.column_pixels - 1) / info.column_pixels,
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
    const FormatInfo &info = format_info(image.format);
    if ((info.model == ColorModel::gray || info.model == ColorModel::yuv) && info.at[0].step == 1)
        result.format = info.sample_bytes == 2 ? Format::gray16 : Format::gray8;
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
