// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <vector>

#include <gpuvision/erode.h>

#include "core/context.hpp"
#include "core/params.hpp"

namespace gpv {

extern const Fields erode_fields;

inline constexpr int max_erode_radius = 255;

/// One erosion or dilation, repeated.
struct ErodePass {
    bool erode; ///< else dilate
    gpv_erode_shape shape;
    int radius_x;
    int radius_y;
    int repeats;
    bool background; ///< pixels outside are 0
    std::shared_ptr<const std::vector<int>> half_widths;

    /// Number of repeats after which the image no longer changes.
    int useful_repeats(int columns, int rows) const;
};

/// An operation is the difference of two sequences of passes, or the first
/// alone. An empty sequence gives the source.
struct ErodePlan {
    std::vector<ErodePass> first;
    bool difference = false;
    std::vector<ErodePass> second;
};

ErodePlan erode_plan(const gpv_erode_params &params);

/// Half widths of an ellipse of the given radii: element[dy + radius_y] = dx
/// means that columns -dx..dx of that row belong to it.
std::vector<int> ellipse_half_widths(int radius_x, int radius_y);

/// One backend's operator. The caller has checked the images: supported format,
/// same format, size and memory, identical or disjoint.
class Erode : public Operator {
  public:
    virtual void set_params(const gpv_erode_params &params) = 0;
    virtual void prepare(const Image &like) = 0;
    virtual void run(Stream stream, const Image &src, const Image &dst) = 0;
};

} // namespace gpv
