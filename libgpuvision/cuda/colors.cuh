// SPDX-License-Identifier: BSD-2-Clause
// The colours of pixels: how they are read, one by one or a strip of a row at once.
#pragma once

#include "core/color.hpp"
#include "cuda/pixels.cuh"

namespace gpv::cuda {

/// How the channels of a pixel lie in memory.
enum class Layout { gray, rgb, rgbx, nv12, i420 };

constexpr bool is_yuv(Layout layout) {
    return layout == Layout::nv12 || layout == Layout::i420;
}

/// Calls f<layout>().
template <class F>
constexpr auto with_layout(Layout layout, F f) {
    return with_value<Layout::gray, Layout::rgb, Layout::rgbx, Layout::nv12, Layout::i420>(layout,
                                                                                           f);
}

/// Of the formats that have one.
inline Layout layout_of(const Image &image) {
    switch (image.format) {
    case Format::gray8:
        return Layout::gray;
    case Format::nv12:
        return Layout::nv12;
    case Format::i420:
        return Layout::i420;
    default:
        return image.shape(0).channels == 3 ? Layout::rgb : Layout::rgbx;
    }
}

/// Whether the format has a layout. Pictures of the others are read as RGBA that
/// Recorder::rgba_of() makes of them.
inline bool has_layout(Format format) {
    switch (format) {
    case Format::gray8:
    case Format::nv12:
    case Format::i420:
        return true;
    default:
        return is_interleaved_rgb(format) && format_info(format).at[3].offset != 0;
    }
}

/// Pixels of a row that a thread processes at once.
inline constexpr int strip = 8;

/// Strips in a row of width pixels.
constexpr unsigned strips_of_row(int width) {
    return static_cast<unsigned>((width + strip - 1) / strip);
}

/// Whether strips of the image can be read and written in words of 8 bytes.
inline bool aligned(const Image &image) {
    for (int i = 0; i < image.plane_count(); i++) {
        const std::size_t unit = image.format == Format::i420 && i > 0 ? 4 : 8;
        if (!aligned(rows_of(image.planes[i]), 0, unit))
            return false;
    }
    return true;
}

/// An image whose colours are read.
struct ColorSource {
    Rows planes[3];
    int width, height;
    int red;      ///< the channel that holds R, 0 or 2
    bool aligned; ///< strips can be read in words
    RgbTransform yuv;
};

inline ColorSource colors_of(const Image &image) {
    ColorSource src{.width = image.width,
                    .height = image.height,
                    .red = blue_first(image.format) ? 2 : 0,
                    .aligned = aligned(image)};
    list_rows(image, src.planes);
    if (image.plane_count() > 1)
        src.yuv = RgbTransform::of(image);
    return src;
}

/// The i-th of bytes in words.
__device__ __forceinline__ int byte_of(const Word *words, int i) {
    return static_cast<int>(words[i / 4] >> (8 * (i % 4)) & 255);
}

/// Words that begin at a multiple of 8 bytes.
template <int count>
__device__ __forceinline__ void load_words(Word *to, const std::uint8_t *from) {
    static_assert(count % 2 == 0);
#pragma unroll
    for (int i = 0; i < count; i += 2) {
        const uint2 v = *reinterpret_cast<const uint2 *>(from + 4 * i);
        to[i] = v.x;
        to[i + 1] = v.y;
    }
}

template <int count>
__device__ __forceinline__ void store_words(std::uint8_t *to, const Word *from) {
    static_assert(count % 2 == 0);
#pragma unroll
    for (int i = 0; i < count; i += 2)
        *reinterpret_cast<uint2 *>(to + 4 * i) = make_uint2(from[i], from[i + 1]);
}

/// The colour of one pixel, in RGB.
template <Layout layout>
__device__ Color color_at(const ColorSource &src, int x, int y) {
    if constexpr (layout == Layout::gray) {
        const int v = src.planes[0].row<const std::uint8_t>(y)[x];
        return {v, v, v};
    } else if constexpr (is_yuv(layout)) {
        const int luma = src.planes[0].row<const std::uint8_t>(y)[x];
        const auto *u = src.planes[1].row<const std::uint8_t>(y / 2);
        if constexpr (layout == Layout::nv12)
            return src.yuv(luma, u[x / 2 * 2], u[x / 2 * 2 + 1]);
        else
            return src.yuv(luma, u[x / 2], src.planes[2].row<const std::uint8_t>(y / 2)[x / 2]);
    } else {
        constexpr int channels = layout == Layout::rgb ? 3 : 4;
        const auto *pixel = src.planes[0].row<const std::uint8_t>(y) + std::int64_t{x} * channels;
        return {pixel[src.red], pixel[1], pixel[2 - src.red]};
    }
}

/// values[i] = f(colour) of a whole strip that can be read in words.
template <Layout layout, class T, class F>
__device__ __forceinline__ void load_strip(const ColorSource &src, int x, int y, T *values, F f) {
    const auto *row = src.planes[0].row<const std::uint8_t>(y);
    if constexpr (layout == Layout::gray) {
        Word luma[strip / 4];
        load_words<strip / 4>(luma, row + x);
#pragma unroll
        for (int i = 0; i < strip; i++) {
            const int v = byte_of(luma, i);
            values[i] = f(Color{v, v, v});
        }
    } else if constexpr (is_yuv(layout)) {
        Word luma[strip / 4], chroma[strip / 4];
        load_words<strip / 4>(luma, row + x);
        if constexpr (layout == Layout::nv12) {
            load_words<strip / 4>(chroma, src.planes[1].row<const std::uint8_t>(y / 2) + x);
        } else {
            chroma[0] = *reinterpret_cast<const Word *>(
                src.planes[1].row<const std::uint8_t>(y / 2) + x / 2);
            chroma[1] = *reinterpret_cast<const Word *>(
                src.planes[2].row<const std::uint8_t>(y / 2) + x / 2);
        }
        constexpr int step = layout == Layout::nv12 ? 2 : 1, to_v = layout == Layout::nv12 ? 1 : 4;
#pragma unroll
        for (int i = 0; i < strip; i++) {
            const int site = i / 2 * step;
            values[i] =
                f(src.yuv(byte_of(luma, i), byte_of(chroma, site), byte_of(chroma, site + to_v)));
        }
    } else {
        constexpr int channels = layout == Layout::rgb ? 3 : 4;
        Word words[strip * channels / 4];
        load_words<strip * channels / 4>(words, row + std::int64_t{x} * channels);
#pragma unroll
        for (int i = 0; i < strip; i++) {
            const int a = byte_of(words, i * channels), b = byte_of(words, i * channels + 2);
            values[i] =
                f(Color{src.red ? b : a, byte_of(words, i * channels + 1), src.red ? a : b});
        }
    }
}

/// values[i] = f(colour) of the i-th pixel of the strip from (x, y) on, or T{} outside the image.
/// Returns how many pixels are in the image.
template <Layout layout, class T, class F>
__device__ __forceinline__ int load_colors(const ColorSource &src, int x, int y, T *values, F f) {
    const int count = min(src.width - x, strip);
    if (src.aligned && count == strip) {
        load_strip<layout>(src, x, y, values, f);
        return strip;
    }
#pragma unroll
    for (int i = 0; i < strip; i++)
        values[i] = i < count ? f(color_at<layout>(src, x + i, y)) : T{};
    return count;
}

} // namespace gpv::cuda
