// SPDX-License-Identifier: BSD-2-Clause
#include "api/image.hpp"

#include <string>

#include "api/guard.hpp"

namespace gpv {
namespace {

constexpr std::size_t first_image_size = 160; // for ever, as the next
constexpr std::size_t first_buffer_size = 32;
constexpr std::int64_t max_buffer_bytes = std::int64_t{1} << 46;

static_assert(static_cast<gpv_format>(last_format) == GPV_FORMAT_RGBP8);
static_assert(static_cast<gpv_color_matrix>(ColorMatrix::bt2020) == GPV_COLOR_MATRIX_BT2020);
static_assert(static_cast<gpv_color_range>(ColorRange::full) == GPV_COLOR_RANGE_FULL);
static_assert(static_cast<gpv_memory>(Memory::cuda) == GPV_MEMORY_CUDA);
static_assert(max_planes == GPV_MAX_PLANES && max_side == GPV_MAX_SIDE &&
              max_pixels == GPV_MAX_PIXELS);

/// owner: "" if width and height are arguments by themselves.
void require_size(const char *owner, std::int32_t width, std::int32_t height) {
    require_range({owner, "width"}, width, 1, max_side);
    require_range({owner, "height"}, height, 1, max_side);
    require_range({owner, "width * height"}, std::int64_t{width} * height, std::int64_t{1},
                  max_pixels);
}

void require_format(const char *owner, gpv_format format) {
    if (format_info(static_cast<Format>(format)).planes == 0)
        throw Error(Status::invalid_argument, Name(owner, "format").text() + " is " +
                                                  std::to_string(format) +
                                                  ", which is no GPV_FORMAT");
}

void require_memory(const char *owner, gpv_memory memory, std::int32_t device) {
    require_range({owner, "memory"}, memory, gpv_memory{GPV_MEMORY_HOST},
                  gpv_memory{GPV_MEMORY_CUDA});
    if (memory == GPV_MEMORY_CUDA)
        require_range({owner, "device"}, device, 0, INT32_MAX);
}

/// A stride above this could overflow the address of the last row.
constexpr std::int64_t max_stride = std::int64_t{1} << 40;

Plane read_plane(const char *owner, const gpv_image &view, int index, PlaneShape shape) {
    const Name data(owner, "data", index);
    const Name stride(owner, "stride", index);
    require_not_null(view.data[index], data);
    require_range(stride, view.stride[index], shape.row_bytes(), max_stride);
    const auto address = reinterpret_cast<std::uintptr_t>(view.data[index]);
    if (address % shape.sample_bytes || view.stride[index] % shape.sample_bytes)
        throw Error(Status::invalid_argument,
                    data.text() + " and " + stride.text() + " must be multiples of " +
                        std::to_string(shape.sample_bytes) + " bytes, the size of a sample");
    return {static_cast<std::byte *>(view.data[index]), view.stride[index]};
}

} // namespace

Image read_image(const gpv_image *image, const char *name, bool shape_only) {
    require_not_null(image, name);
    gpv_image view{};
    read_struct(image, first_image_size, name, view);

    require_format(name, view.format);
    require_memory(name, view.memory, view.device);
    require_size(name, view.width, view.height);
    require_range({name, "color_matrix"}, view.color_matrix, gpv_color_matrix{0},
                  gpv_color_matrix{GPV_COLOR_MATRIX_BT2020});
    require_range({name, "color_range"}, view.color_range, gpv_color_range{0},
                  gpv_color_range{GPV_COLOR_RANGE_FULL});

    Image result{static_cast<Format>(view.format),
                 static_cast<Memory>(view.memory),
                 view.device,
                 view.width,
                 view.height,
                 static_cast<ColorMatrix>(view.color_matrix),
                 static_cast<ColorRange>(view.color_range),
                 {}};
    if (!shape_only)
        for (int i = 0; i < result.plane_count(); i++)
            result.planes[i] = read_plane(name, view, i, result.shape(i));
    return result;
}

BufferView read_buffer(const gpv_buffer *buffer, const char *name, std::size_t element_bytes,
                       std::size_t alignment) {
    gpv_buffer view{};
    read_struct(buffer, first_buffer_size, name, view);
    require_memory(name, view.memory, view.device);
    require_range({name, "reserved"}, view.reserved, 0u, 0u);
    require_not_null(view.data, {name, "data"});
    require_range({name, "size"}, view.size, std::uint64_t{element_bytes},
                  std::uint64_t{max_buffer_bytes});
    if (reinterpret_cast<std::uintptr_t>(view.data) % alignment)
        throw Error(Status::invalid_argument, Name(name, "data").text() +
                                                  " must be a multiple of " +
                                                  std::to_string(alignment) + " bytes");
    return {static_cast<Memory>(view.memory), view.device, static_cast<std::byte *>(view.data),
            static_cast<std::int64_t>(view.size)};
}

bool is_picture(Format format) {
    return format_info(format).model != ColorModel::none;
}

std::string picture_names() {
    std::string names;
    for (gpv_format i = 0; i <= static_cast<gpv_format>(last_format); i++) {
        const auto format = static_cast<Format>(i);
        if (is_picture(format))
            names += (names.empty() ? "" : ", ") + std::string(format_info(format).name);
    }
    return names;
}

void require_picture(const Context &context, const Image &image, const char *name,
                     const char *taker) {
    if (!is_picture(image.format))
        throw Error(Status::unsupported, std::string(name) + "->format is " +
                                             format_info(image.format).name + ", but " + taker +
                                             " takes " + picture_names());
    context.device().require_accessible(image.memory, image.device, name);
}

void require_like(const Context &context, const Image &src, const Image &dst, const char *name,
                  const char *src_name) {
    context.device().require_accessible(dst.memory, dst.device, name);
    const std::string what = name;
    if (src.width != dst.width || src.height != dst.height)
        throw Error(Status::invalid_argument, what + " is " + std::to_string(dst.width) + "x" +
                                                  std::to_string(dst.height) + ", must be as " +
                                                  src_name + ", " + std::to_string(src.width) +
                                                  "x" + std::to_string(src.height));
    if (src.memory != dst.memory)
        throw Error(Status::invalid_argument, what + "->memory differs from " + src_name +
                                                  "->memory; both must be in the same memory");
}

void throw_overlap(const char *a, const char *b) {
    throw Error(Status::invalid_argument,
                std::string(a) + " overlaps " + b + "; they must share no byte");
}

} // namespace gpv

void gpv_image_init(gpv_image *image, uint32_t size) {
    gpv::write_struct(image, size, gpv_image{});
}

void gpv_buffer_init(gpv_buffer *buffer, uint32_t size) {
    gpv::write_struct(buffer, size, gpv_buffer{});
}

int64_t gpv_image_wrap(gpv_image *image, uint32_t size, gpv_format format, int32_t width,
                       int32_t height, void *data, int64_t stride) {
    int64_t end = 0;
    const gpv_status status = gpv::guard(nullptr, [&] {
        gpv::require_format("", format);
        gpv::require_size("", width, height);
        gpv_image view{};
        view.format = format;
        view.width = width;
        view.height = height;
        const auto core_format = static_cast<gpv::Format>(format);
        const auto first = gpv::plane_shape(core_format, 0, width, height);
        const int64_t pitch = stride ? stride : first.row_bytes();
        gpv::require_range("stride", pitch, first.row_bytes(), gpv::max_stride);
        gpv::require_range("stride % sample", pitch % first.sample_bytes, int64_t{0}, int64_t{0});
        for (int i = 0; i < gpv::format_info(core_format).planes; i++) {
            const auto shape = gpv::plane_shape(core_format, i, width, height);
            const bool half = core_format == gpv::Format::i420 && i > 0;
            view.stride[i] = std::max(half ? (pitch + 1) / 2 : pitch, shape.row_bytes());
            view.data[i] = data ? static_cast<char *>(data) + end : nullptr;
            end += view.stride[i] * shape.rows;
        }
        gpv::write_struct(image, size, view);
    });
    return status == GPV_OK ? end : status;
}

int32_t gpv_format_planes(gpv_format format) {
    return gpv::format_info(static_cast<gpv::Format>(format)).planes;
}

gpv_status gpv_format_plane(gpv_format format, int32_t plane, int32_t width, int32_t height,
                            int64_t *row_bytes, int64_t *rows) {
    return gpv::guard(nullptr, [&] {
        gpv::require_format("", format);
        gpv::require_range("plane", plane, 0, gpv_format_planes(format) - 1);
        gpv::require_size("", width, height);
        const auto shape = gpv::plane_shape(static_cast<gpv::Format>(format), plane, width, height);
        if (row_bytes)
            *row_bytes = shape.row_bytes();
        if (rows)
            *rows = shape.rows;
    });
}
