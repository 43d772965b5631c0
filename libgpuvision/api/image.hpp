// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <gpuvision/types.h>

#include "core/context.hpp"
#include "core/image.hpp"

namespace gpv {

/// Checks a caller's view and returns it. Throws Error naming what is wrong.
/// With shape_only, data and stride are not looked at.
Image read_image(const gpv_image *image, const char *name, bool shape_only = false);

/// Likewise, of flat memory for at least one element.
BufferView read_buffer(const gpv_buffer *buffer, const char *name, std::size_t element_bytes,
                       std::size_t alignment);

/// Whether images of the format are for the eye: GRAY8, GRAY16, RGB and the like, NV12 or I420.
bool is_picture(Format format);
/// Likewise, but for GRAY16.
bool is_picture8(Format format);

/// Throws Error where the image's format is not among those that is_taken, or the context's device
/// cannot reach it. taker: what "takes" pictures, for the text.
void require_picture(const Context &context, const Image &image, const char *name,
                     const char *taker, bool (*is_taken)(Format) = is_picture);

/// Throws Error where dst lies in another memory than src, or has another size.
void require_like(const Context &context, const Image &src, const Image &dst, const char *name,
                  const char *src_name = "src");

/// Throws that a overlaps b.
[[noreturn]] void throw_overlap(const char *a, const char *b);

} // namespace gpv
