// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gpv {

inline constexpr int max_planes = 8;
inline constexpr int max_side = 32767;
inline constexpr std::int64_t max_pixels = std::int64_t{1} << 30;

inline constexpr int max_luma8 = 255;
inline constexpr int max_luma16 = 65535;

/// U and V of grey.
inline constexpr int neutral_chroma8 = 128;
inline constexpr int neutral_chroma16 = 32768;

/// Values are those of gpv_format.
enum class Format : std::uint32_t {
    none,
    gray8,
    gray16,
    grayf32,
    rgb8,
    bgr8,
    rgba8,
    bgra8,
    rgbx8,
    bgrx8,
    nv12,
    i420,
    p016,
    label32,
    cap32x4,
    cap32x8,
    nv21,
    yuy2,
    uyvy,
    y444,
    argb8,
    abgr8,
    xrgb8,
    xbgr8,
    rgbp8,
};

inline constexpr Format last_format = Format::rgbp8;

enum class Memory : std::uint32_t { host, cuda };
enum class ColorMatrix : std::uint32_t { automatic, bt601, bt709, bt2020 };
enum class ColorRange : std::uint32_t { automatic, limited, full };

/// What the channels of a picture are. none: the format is of no picture.
enum class ColorModel { none, gray, rgb, yuv };

/// Where the samples of a channel are.
struct Channel {
    int plane;
    int offset;  ///< of the first sample in a row
    int step;    ///< from one sample to the next
    int shift_x; ///< 1 = a sample for two columns
    int shift_y; ///< 1 = a sample for two rows
};

inline constexpr int max_channels = 4;

struct FormatInfo {
    const char *name;
    int planes;          ///< 0 = no such format
    int sample_bytes;    ///< bytes of one sample of one channel
    int channels;        ///< interleaved in the first plane
    int chroma_channels; ///< interleaved in each further plane, which has half the columns and
                         ///< rows; 0 = as the first plane
    int column_pixels;   ///< pixels of a row of the first plane that share its channels
    ColorModel model;
    int count; ///< of the channels of a pixel
    /// Grey; R, G and B; or Y, U and V; then alpha, or what is unused.
    Channel at[max_channels];
};

/// Never fails; an unknown format has 0 planes.
const FormatInfo &format_info(Format format);

/// Geometry of one plane.
struct PlaneShape {
    int columns; ///< pixels, chroma sites, or pairs of pixels with one chroma site
    int rows;
    int channels; ///< samples per column
    int sample_bytes;
    std::int64_t row_bytes() const { return std::int64_t{columns} * channels * sample_bytes; }
};

/// Greatest luma value of the format.
int max_luma(Format format);

/// Whether B comes before R.
bool blue_first(Format format);

/// Whether the fourth channel is alpha.
bool has_alpha(Format format);

/// Whether there are Y, U and V.
bool is_yuv(Format format);

/// Whether each pixel has its R, G and B side by side.
bool is_interleaved_rgb(Format format);

PlaneShape plane_shape(Format format, int plane, int width, int height);

struct Plane {
    std::byte *data;
    std::int64_t stride; ///< bytes

    std::byte *row(std::int64_t y) const { return data + y * stride; }
};

/// A checked view: legal format and size, non-null data, strides of at least one row.
struct Image {
    Format format;
    Memory memory;
    int device;
    int width;
    int height;
    ColorMatrix color_matrix;
    ColorRange color_range;
    std::array<Plane, max_planes> planes;

    int plane_count() const { return format_info(format).planes; }
    PlaneShape shape(int plane) const { return plane_shape(format, plane, width, height); }
};

/// The luma plane as an image of its own, GRAY8 or GRAY16, if the format has one; else the image.
Image luma_plane(const Image &image);

/// A checked view of flat memory.
struct BufferView {
    Memory memory;
    int device;
    std::byte *data;
    std::int64_t size; ///< bytes
};

/// True if a byte of the view lies between the first and the last one of a plane.
bool overlap(const Image &image, const BufferView &view);
bool overlap(const BufferView &a, const BufferView &b);

/// Same data and stride of every plane.
bool same_pixels(const Image &a, const Image &b);

/// True if some byte belongs to both. Exact where strides are equal, so that
/// sub-rectangles of one parent may interleave; else spans that meet count.
bool overlap(const Image &a, const Image &b);

/// True if two planes of the image share a byte, in the sense of overlap().
bool planes_overlap(const Image &image);

} // namespace gpv
