// SPDX-License-Identifier: BSD-2-Clause
#include "core/ink.hpp"

namespace gpv {

Ink::Ink(const Image &dst, const Color &color)
    : width(dst.width), height(dst.height), channels(format_info(dst.format).channels),
      chroma_channels(format_info(dst.format).chroma_channels), first{}, u(0), v(0) {
    const auto byte = [](int value) { return static_cast<std::uint8_t>(clamp_byte(value)); };
    const YuvTransform transform = YuvTransform::of(dst);
    if (channels == 1) {
        first[0] = byte(chroma_channels ? transform.y(color) : grey(color));
        u = byte(transform.u(color));
        v = byte(transform.v(color));
        return;
    }
    const bool blue = blue_first(dst.format);
    first[0] = byte(blue ? color.blue : color.red);
    first[1] = byte(color.green);
    first[2] = byte(blue ? color.red : color.blue);
    first[3] = 255;
}

} // namespace gpv
