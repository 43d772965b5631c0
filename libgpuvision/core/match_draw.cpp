// SPDX-License-Identifier: BSD-2-Clause
#include "core/match.hpp"

namespace gpv {

void draw_outline(const OutlineDrawing &drawing) {
    const Image &dst = drawing.dst;
    const Outline &outline = drawing.outline;
    const Ink ink(dst, drawing.color);
    const auto row = [&](int plane, int y) {
        return reinterpret_cast<std::uint8_t *>(dst.planes[plane].row(y));
    };
    for (int line = 0; line < outline.count; line++)
        for (int y = 0; y < dst.height; y++) {
            const auto [first, behind] = outline.columns(line, y, dst.width);
            for (int x = first; x < behind; x++)
                if (outline.has(line, x, y))
                    ink.put(x, y, row);
        }
}

} // namespace gpv
