// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <vector>

#include "core/context.hpp"
#include "core/params.hpp"

namespace gpv {

extern const Fields erode_fields;

/// Values are those of erode.h.
enum class ErodeOperation : std::uint32_t {
    erode,
    dilate,
    open,
    close,
    gradient,
    tophat,
    blackhat
};
enum class ErodeShape : std::uint32_t { rect, cross, ellipse };
enum class ErodeBorder : std::uint32_t { ignore, background };
enum class ErodePlanes : std::uint32_t { automatic, luma, all };

inline constexpr int max_erode_radius = 255;

struct ErodeParams {
    ErodeOperation operation = ErodeOperation::erode;
    ErodeShape shape = ErodeShape::rect;
    int radius = 1;
    int radius_y = 1;
    int iterations = 1;
    int threshold = 0; ///< 0 = grey morphology
    ErodeBorder border = ErodeBorder::ignore;
    ErodePlanes planes = ErodePlanes::automatic;
};

/// One erosion or dilation, repeated.
struct ErodePass {
    bool erode; ///< else dilate
    ErodeShape shape;
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

ErodePlan erode_plan(const ErodeParams &params);

/// Half widths of an ellipse of the given radii: element[dy + radius_y] = dx
/// means that columns -dx..dx of that row belong to it.
std::vector<int> ellipse_half_widths(int radius_x, int radius_y);

/// One backend's operator. The caller has checked the images: supported format,
/// same format, size and memory, identical or disjoint.
class Erode : public Operator {
  public:
    virtual void set_params(const ErodeParams &params) = 0;
    virtual void prepare(const Image &like) = 0;
    virtual void run(Stream stream, const Image &src, const Image &dst) = 0;
};

namespace cpu {
std::unique_ptr<Erode> make_erode(std::shared_ptr<Context> context);
}
namespace cuda {
std::unique_ptr<Erode> make_erode(std::shared_ptr<Context> context);
}

} // namespace gpv
