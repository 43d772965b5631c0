// SPDX-License-Identifier: BSD-2-Clause
#include "core/erode.hpp"

#include <cmath>
#include <cstdlib>

namespace gpv {

std::vector<int> ellipse_half_widths(int radius_x, int radius_y) {
    // dx = round(rx sqrt((ry^2 - dy^2) / ry^2)), the element of OpenCV's
    // getStructuringElement: ties go to even, products in its order.
    const double inverse = radius_y ? 1.0 / (double(radius_y) * radius_y) : 0.0;
    std::vector<int> half_widths;
    for (int dy = -radius_y; dy <= radius_y; dy++) {
        const double rest = double(radius_y) * radius_y - double(dy) * dy;
        half_widths.push_back(
            static_cast<int>(std::nearbyint(radius_x * std::sqrt(rest * inverse))));
    }
    return half_widths;
}

} // namespace gpv
