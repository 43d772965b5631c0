// SPDX-License-Identifier: BSD-2-Clause
#include "core/homography.hpp"

#include <cmath>
#include <vector>

#include "api/params.hpp"

namespace gpv {
namespace {

constexpr std::uint32_t first_size = 96; // for ever
constexpr std::int32_t max_pairs = 1 << 20;

std::vector<Point2d> read_points(const float *points, std::int32_t count, const char *name) {
    std::vector<Point2d> result;
    result.reserve(count);
    if (count > 0)
        require_not_null(points, name);
    for (std::int32_t i = 0; i < 2 * count; i += 2) {
        for (int k = 0; k < 2; k++)
            if (!std::isfinite(points[i + k]))
                throw Error(Status::invalid_argument, Name(name, nullptr, i + k).text() + " is " +
                                                          number_text(points[i + k]) +
                                                          ", must be finite");
        result.push_back({points[i], points[i + 1]});
    }
    return result;
}

gpv_homography homography_of(const Homography &found) {
    gpv_homography out{};
    if (!found.found)
        return out;
    out.found = 1;
    std::copy(found.matrix.begin(), found.matrix.end(), out.matrix);
    out.error = found.error;
    out.inliers = found.inliers;
    out.iterations = found.iterations;
    return out;
}

} // namespace
} // namespace gpv

void gpv_homography_params_init(gpv_homography_params *params, uint32_t size) {
    gpv::write_struct(params, size,
                      gpv::default_params<gpv_homography_params>(gpv::homography_fields));
}

void gpv_homography_init(gpv_homography *homography, uint32_t size) {
    gpv::write_struct(homography, size, gpv_homography{});
}

gpv_status gpv_homography_find(gpv_context *context, const gpv_homography_params *params,
                               const float *from, const float *to, int32_t count, uint8_t *inliers,
                               gpv_homography *out) {
    if (!context)
        return GPV_ERR_INVALID_ARGUMENT;
    return gpv::guard(context->core.get(), [&] {
        const gpv_homography_params wanted = gpv::read_params(params, gpv::homography_fields);
        gpv::require_range("count", count, 0, gpv::max_pairs);
        gpv::require_not_null(out, "out");
        gpv::require_range({"out", "struct_size"}, out->struct_size, gpv::first_size,
                           gpv::max_struct_size);
        const std::vector<gpv::Point2d> a = gpv::read_points(from, count, "from"),
                                        b = gpv::read_points(to, count, "to");
        std::vector<std::uint8_t> fits(count);
        const gpv::Homography found = gpv::find_homography(wanted, a, b, fits);
        if (inliers)
            std::copy(fits.begin(), fits.end(), inliers);
        gpv::write_struct(out, out->struct_size, gpv::homography_of(found));
    });
}
