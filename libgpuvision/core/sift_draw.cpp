// SPDX-License-Identifier: BSD-2-Clause
#include "core/sift.hpp"

namespace gpv {

void draw_keypoints(const SiftDrawing &drawing, std::span<const Keypoint> keypoints) {
    const Ink ink(drawing.dst, drawing.color);
    const auto row = [&](int plane, int y) {
        return reinterpret_cast<std::uint8_t *>(drawing.dst.planes[plane].row(y));
    };
    for (const Keypoint &keypoint : keypoints)
        Mark(keypoint, drawing.style).draw(0, 1, [&](int x, int y) { ink.put(x, y, row); });
}

} // namespace gpv
