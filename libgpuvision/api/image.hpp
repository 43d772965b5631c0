// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <gpuvision/types.h>

#include "core/image.hpp"

namespace gpv {

/// Checks a caller's view and returns it. Throws Error naming what is wrong.
/// With shape_only, data and stride are not looked at.
Image read_image(const gpv_image *image, const char *name, bool shape_only = false);

/// Likewise, of flat memory for at least one element.
Block read_buffer(const gpv_buffer *buffer, const char *name, std::size_t element_bytes,
                  std::size_t alignment);

} // namespace gpv
