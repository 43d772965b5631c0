// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <memory>
#include <optional>

#include <gpuvision/ccl.h>

#include "core/color.hpp"
#include "core/context.hpp"
#include "core/params.hpp"

namespace gpv {

extern const Fields ccl_fields;

struct CclParams : gpv_ccl_params {
    bool filters() const { return min_area > 1 || max_area > 0; }
    bool keeps(std::int64_t area) const {
        return area >= min_area && (max_area == 0 || area <= max_area);
    }
};

/// Upper bound on the number of components in an image of this size.
std::int64_t max_components(const CclParams &params, std::int64_t width, std::int64_t height);

/// Every rule for the foreground in one form: ((luma ^ flip) >= threshold) != invert.
struct ForegroundRule {
    int flip;
    int threshold;
    bool invert;

    explicit ForegroundRule(const CclParams &params)
        : flip(params.foreground >= 0 ? params.foreground : 0),
          threshold(params.foreground >= 0 ? 1 : params.threshold),
          invert(params.invert != (params.foreground >= 0)) {}
};

/// gpv_ccl_component.
struct CclComponent {
    std::int32_t left, top, right, bottom;
    std::int32_t area;
    std::int32_t reserved;
    std::int64_t sum_x, sum_y;
};

/// The array that component records are written to.
struct CclRecords {
    BufferView view{};
    std::size_t stride = 0; ///< bytes
    std::int64_t capacity = 0;

    CclComponent &operator[](std::int64_t i) const {
        return *reinterpret_cast<CclComponent *>(view.data + i * stride);
    }
};

/// That samples of so many bytes can hold.
constexpr std::int32_t max_label(int sample_bytes) {
    return sample_bytes == 4 ? INT32_MAX : (1 << 8 * sample_bytes) - 1;
}

/// Neighbouring numbers get hues that lie far apart: steps of the golden ratio
/// round a circle of six ramps of 256, all bright. 0 is black.
constexpr Color label_color(std::uint32_t label) {
    if (label == 0)
        return {0, 0, 0};
    const std::uint32_t place = ((label * 2654435769u >> 16) * 1536u) >> 16;
    const int ramp = static_cast<int>(place & 255);
    constexpr int low = 40, high = 255;
    const int up = low + ramp * (high - low) / 255, down = high - ramp * (high - low) / 255;
    switch (place >> 8) {
    case 0:
        return {high, up, low};
    case 1:
        return {down, high, low};
    case 2:
        return {low, high, up};
    case 3:
        return {low, down, high};
    case 4:
        return {up, low, high};
    default:
        return {high, low, down};
    }
}

/// Inputs and outputs of one run.
struct CclRun {
    Image src;
    std::optional<Image> dst;
    std::optional<CclRecords> components;
    std::int32_t *count = nullptr; ///< in the backend's memory; may be null
};

/// One backend's operator. The caller has checked the images: supported formats,
/// same size and memory, disjoint.
class Ccl : public Operator {
  public:
    virtual void set_params(const CclParams &params) = 0;
    /// components: number of records in host memory.
    virtual void prepare(const Image &src, const Image *dst, std::int64_t components) = 0;
    /// Returns whether wait() and count() refer to this run: false if it was captured in a graph.
    virtual bool run(Stream stream, const CclRun &run) = 0;
    /// Number of components in the last finished run.
    virtual std::int32_t count() const = 0;
};

} // namespace gpv
