// SPDX-License-Identifier: BSD-2-Clause
// The homography that most of the given point pairs fit. docs/algorithms/match.md defines it.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <gpuvision/homography.h>

#include "core/params.hpp"

namespace gpv {

extern const Fields homography_fields;

struct Point2d {
    double x, y;
};

struct Homography {
    bool found = false;
    std::array<double, 9> matrix{}; ///< row-major, the last entry is 1
    double error = 0;               ///< root mean square distance of the inliers
    std::int32_t inliers = 0;
    std::int32_t iterations = 0;
};

/// from and to have the same length. fits is empty or has that length, too; it receives 1 for an
/// inlier, else 0.
Homography find_homography(const gpv_homography_params &params, std::span<const Point2d> from,
                           std::span<const Point2d> to, std::span<std::uint8_t> fits);

} // namespace gpv
