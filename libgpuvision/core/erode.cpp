// SPDX-License-Identifier: BSD-2-Clause
#include "core/erode.hpp"

#include <algorithm>
#include <cmath>

namespace gpv {
namespace {

enum class Step { erode, dilate };

struct Recipe {
    std::vector<Step> first;
    bool difference = false;
    std::vector<Step> second = {};
};

Recipe recipe(gpv_erode_operation operation) {
    using enum Step;
    switch (operation) {
    case GPV_ERODE_OPERATION_DILATE:
        return {{dilate}};
    case GPV_ERODE_OPERATION_OPEN:
        return {{erode, dilate}};
    case GPV_ERODE_OPERATION_CLOSE:
        return {{dilate, erode}};
    case GPV_ERODE_OPERATION_GRADIENT:
        return {{dilate}, true, {erode}};
    case GPV_ERODE_OPERATION_TOPHAT:
        return {{}, true, {erode, dilate}};
    case GPV_ERODE_OPERATION_BLACKHAT:
        return {{dilate, erode}, true, {}};
    default:
        return {{erode}};
    }
}

} // namespace

ErodePlan erode_plan(const gpv_erode_params &params) {
    const int radius_y = params.radius_y < 0 ? params.radius : params.radius_y;
    // An ellipse of three rows is a cross, which is cheaper.
    const bool cross = params.shape == GPV_ERODE_SHAPE_ELLIPSE && radius_y == 1;
    // Radii of rectangles add up.
    const int grown = params.shape == GPV_ERODE_SHAPE_RECT ? params.iterations : 1;
    const auto half_widths =
        std::make_shared<const std::vector<int>>(ellipse_half_widths(params.radius, radius_y));
    const auto passes = [&](const std::vector<Step> &steps) {
        std::vector<ErodePass> result;
        for (const Step step : steps)
            result.push_back(
                {.erode = step == Step::erode,
                 .shape = cross ? gpv_erode_shape{GPV_ERODE_SHAPE_CROSS} : params.shape,
                 .radius_x = params.radius * grown,
                 .radius_y = radius_y * grown,
                 .repeats = params.iterations / grown,
                 .background = params.border == GPV_ERODE_BORDER_BACKGROUND,
                 .half_widths = half_widths});
        return result;
    };
    const Recipe r = recipe(params.operation);
    return {passes(r.first), r.difference, passes(r.second)};
}

int ErodePass::useful_repeats(int columns, int rows) const {
    // Every element of more than one row contains a cross, which by then has
    // reached all columns and all rows.
    const auto steps = [](int way, int radius) {
        return radius > 0 ? (way + radius - 1) / radius : 0;
    };
    return std::min(repeats, std::max(1, steps(columns, radius_x) + steps(rows, radius_y)));
}

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
