// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <gpuvision/types.h>

#include "core/context.hpp"
#include "core/image.hpp"

namespace gpv {

/// Checks a caller's view and returns it. Throws Error naming what is wrong.
/// With shape_only, data and stride are ignored.
Image read_image(const gpv_image *image, const char *name, bool shape_only = false);

/// Checks a caller's buffer for at least one element and returns it. Throws Error.
BufferView read_buffer(const gpv_buffer *buffer, const char *name, std::size_t element_bytes,
                       std::size_t alignment);

/// Whether images of the format are pictures, as gpuvision/types.h has it.
bool is_picture(Format format);
/// Names of the formats that are, separated by commas.
std::string picture_names();

/// Throws Error unless the image is a picture and the context's device can access it. taker: the
/// subject of "takes" in the error text.
void require_picture(const Context &context, const Image &image, const char *name,
                     const char *taker);

/// Throws Error unless dst has the memory and size of src.
void require_like(const Context &context, const Image &src, const Image &dst, const char *name,
                  const char *src_name = "src");

/// Throws Error: a overlaps b.
[[noreturn]] void throw_overlap(const char *a, const char *b);

} // namespace gpv
