// SPDX-License-Identifier: BSD-2-Clause
// Windows of pixels round keypoints.
#pragma once

#include <algorithm>

#include "core/sift.hpp"
#include "cpu/sift_internal.hpp"

namespace gpv::cpu::sift {

/// No window round a keypoint reaches further, at the greatest sigma and the least layers.
inline constexpr int max_reach = 127;

/// gaussian_at() for pixels of a window, by their distance from its middle in x or in y.
struct Weights {
    float values[2 * max_reach + 1 + max_lanes];

    Weights(int radius, float sigma) {
        for (int i = 0; i <= radius; i++)
            values[max_reach - i] = values[max_reach + i] = gaussian_at(i, sigma);
        std::fill_n(values + max_reach + radius + 1, max_lanes, 0.0f);
    }
    const float *middle() const { return values + max_reach; }
};

/// Pixels of a window from first to last.
struct PixelRange {
    int first, last;

    /// Those where gradients can be computed.
    static PixelRange of(int middle, int radius, int size) {
        return {std::max(-radius, 1 - middle), std::min(radius, size - 2 - middle)};
    }
    /// Leaves out those where |offset + i slope| is more than 2.5 for sure.
    void narrow(float offset, float slope) {
        constexpr float steep = 1e-3f; // or else the quotients are not exact to a pixel
        if (!(slope > steep || slope < -steep))
            return;
        const float middle = -offset / slope, half = 2.5f / (slope < 0 ? -slope : slope);
        const auto limit = [](float x) { return static_cast<int>(std::clamp(x, -1e4f, 1e4f)); };
        first = std::max(first, limit(middle - half) - 1);
        last = std::min(last, limit(middle + half) + 1);
    }
};

/// Rows of a window lie in different pages; they are asked for so many rows ahead.
inline constexpr int window_rows_ahead = 8;

/// The columns of each row of a window where pixels can count. Found before there is a vector: such
/// plain code between instructions on long vectors takes many times as long.
struct WindowColumns {
    PixelRange rows;
    PixelRange columns[2 * max_reach + 2 + window_rows_ahead];

    WindowColumns(const Window &window, int width, int height)
        : rows(PixelRange::of(window.y, window.radius, height)) {
        for (int dy = rows.first - 1; dy <= rows.last + window_rows_ahead; dy++) {
            const float y = static_cast<float>(dy);
            PixelRange &own = columns[dy - rows.first + 1];
            own = PixelRange::of(window.x, window.radius, width);
            own.narrow(-y * window.sin_cells, window.cos_cells);
            own.narrow(y * window.cos_cells, window.sin_cells);
        }
    }
    /// From the row before the first one to window_rows_ahead behind the last one.
    const PixelRange &of(int dy) const { return columns[dy - rows.first + 1]; }
};

} // namespace gpv::cpu::sift
