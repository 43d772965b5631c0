// SPDX-License-Identifier: BSD-2-Clause
// The homography that most of given pairs of points agree with. docs/algorithms/match.md defines
// it.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace gpv {

struct HomographyParams {
    float threshold = 3;
    float confidence = 0.999f;
    int max_iterations = 10000;
    std::uint32_t seed = 0;
};

struct Point2d {
    double x, y;
};

struct Homography {
    bool found = false;
    std::array<double, 9> matrix{}; ///< row by row, the last one 1
    double error = 0;               ///< root of the mean squared distance of the inliers
    std::int32_t inliers = 0;
    std::int32_t iterations = 0;
};

/// from and to are as long as each other, and so is fits, which receives 1 or 0, unless it is
/// empty.
Homography find_homography(const HomographyParams &params, std::span<const Point2d> from,
                           std::span<const Point2d> to, std::span<std::uint8_t> fits);

} // namespace gpv
