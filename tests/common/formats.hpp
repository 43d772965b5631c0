// SPDX-License-Identifier: BSD-2-Clause
// How the formats store pictures, as gpuvision/types.h has it.
#pragma once

#include <vector>

#include <gpuvision/types.h>

namespace formats {

/// All formats of pictures.
inline const std::vector<gpv_format> pictures = {
    GPV_FORMAT_GRAY8, GPV_FORMAT_GRAY16, GPV_FORMAT_RGB8,  GPV_FORMAT_BGR8,  GPV_FORMAT_RGBA8,
    GPV_FORMAT_BGRA8, GPV_FORMAT_RGBX8,  GPV_FORMAT_BGRX8, GPV_FORMAT_NV12,  GPV_FORMAT_I420,
    GPV_FORMAT_P016,  GPV_FORMAT_NV21,   GPV_FORMAT_YUY2,  GPV_FORMAT_UYVY,  GPV_FORMAT_Y444,
    GPV_FORMAT_ARGB8, GPV_FORMAT_ABGR8,  GPV_FORMAT_XRGB8, GPV_FORMAT_XBGR8, GPV_FORMAT_RGBP8};

/// Bytes of one sample of a channel.
inline int sample_bytes(gpv_format format) {
    switch (format) {
    case GPV_FORMAT_GRAY16:
    case GPV_FORMAT_P016:
        return 2;
    case GPV_FORMAT_GRAYF32:
    case GPV_FORMAT_LABEL32:
    case GPV_FORMAT_CAP32X4:
    case GPV_FORMAT_CAP32X8:
        return 4;
    default:
        return 1;
    }
}

/// Where the samples of a channel are.
struct Channel {
    int plane, offset; ///< of the first one in a row
    int step;          ///< from one to the next
    int across, down;  ///< pixels of a row, and rows, that share one
};

/// Grey; R, G and B; or Y, U and V; and then what is alpha or unused. None of what is no picture.
inline std::vector<Channel> channels_of(gpv_format format) {
    const auto side_by_side = [](const std::vector<int> &offsets) {
        std::vector<Channel> channels;
        for (const int offset : offsets)
            channels.push_back({0, offset, static_cast<int>(offsets.size()), 1, 1});
        return channels;
    };
    switch (format) {
    case GPV_FORMAT_GRAY8:
    case GPV_FORMAT_GRAY16:
        return side_by_side({0});
    case GPV_FORMAT_RGB8:
        return side_by_side({0, 1, 2});
    case GPV_FORMAT_BGR8:
        return side_by_side({2, 1, 0});
    case GPV_FORMAT_RGBA8:
    case GPV_FORMAT_RGBX8:
        return side_by_side({0, 1, 2, 3});
    case GPV_FORMAT_BGRA8:
    case GPV_FORMAT_BGRX8:
        return side_by_side({2, 1, 0, 3});
    case GPV_FORMAT_ARGB8:
    case GPV_FORMAT_XRGB8:
        return side_by_side({1, 2, 3, 0});
    case GPV_FORMAT_ABGR8:
    case GPV_FORMAT_XBGR8:
        return side_by_side({3, 2, 1, 0});
    case GPV_FORMAT_NV12:
    case GPV_FORMAT_P016:
        return {{0, 0, 1, 1, 1}, {1, 0, 2, 2, 2}, {1, 1, 2, 2, 2}};
    case GPV_FORMAT_NV21:
        return {{0, 0, 1, 1, 1}, {1, 1, 2, 2, 2}, {1, 0, 2, 2, 2}};
    case GPV_FORMAT_I420:
        return {{0, 0, 1, 1, 1}, {1, 0, 1, 2, 2}, {2, 0, 1, 2, 2}};
    case GPV_FORMAT_YUY2:
        return {{0, 0, 2, 1, 1}, {0, 1, 4, 2, 1}, {0, 3, 4, 2, 1}};
    case GPV_FORMAT_UYVY:
        return {{0, 1, 2, 1, 1}, {0, 0, 4, 2, 1}, {0, 2, 4, 2, 1}};
    case GPV_FORMAT_Y444:
    case GPV_FORMAT_RGBP8:
        return {{0, 0, 1, 1, 1}, {1, 0, 1, 1, 1}, {2, 0, 1, 1, 1}};
    default:
        return {};
    }
}

inline bool is_yuv(gpv_format format) {
    switch (format) {
    case GPV_FORMAT_NV12:
    case GPV_FORMAT_NV21:
    case GPV_FORMAT_I420:
    case GPV_FORMAT_P016:
    case GPV_FORMAT_YUY2:
    case GPV_FORMAT_UYVY:
    case GPV_FORMAT_Y444:
        return true;
    default:
        return false;
    }
}

} // namespace formats
