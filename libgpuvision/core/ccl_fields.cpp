// SPDX-License-Identifier: BSD-2-Clause
#include "core/ccl.hpp"

#include <gpuvision/ccl.h>

namespace gpv {
namespace {

constexpr gpv_choice modes[] = {
    {"binary", "Touching pixels of the foreground belong together", GPV_CCL_MODE_BINARY},
    {"equal-value", "Touching pixels of equal luma belong together", GPV_CCL_MODE_EQUAL_VALUE}};

constexpr gpv_choice connectivities[] = {{"8", "Pixels touch at sides and corners", 8},
                                         {"4", "Pixels touch at sides", 4}};

constexpr gpv_choice outputs[] = {
    {"labels", "The labels: LABEL32, GRAY16, P016, GRAY8, NV12 or I420", GPV_CCL_OUTPUT_LABELS},
    {"mask", "White where there is a component: GRAY8, NV12 or I420", GPV_CCL_OUTPUT_MASK},
    {"colors", "Each component in a colour that depends on its label alone",
     GPV_CCL_OUTPUT_COLORS}};

using Params = gpv_ccl_params;

constexpr gpv_field fields[] = {
    GPV_FIELD(choice, Params, mode, modes, GPV_CCL_MODE_BINARY,
              "Whether all touching pixels of the foreground belong together, or only those of "
              "equal luma."),
    GPV_FIELD(choice, Params, connectivity, connectivities, 8,
              "How many neighbours a pixel touches: 8, with the diagonal ones, or 4."),
    GPV_FIELD(number, Params, threshold, 0, max_luma16, 1, "grey levels",
              "Lowest luma of the foreground, at most 255 in images of 8 bits; 0 is every pixel."),
    GPV_FIELD(number, Params, foreground, -1, max_luma16, -1, "grey levels",
              "Luma of the foreground, at most 255 in images of 8 bits: pixels of exactly that "
              "value, whatever threshold is. -1 lets threshold decide."),
    GPV_FIELD(flag, Params, invert, false,
              "Whether the foreground is what threshold or foreground would leave out, such as "
              "dark things on a bright ground."),
    GPV_FIELD(number, Params, min_area, 0, GPV_MAX_PIXELS, 0, "pixels",
              "Components of fewer pixels are dropped. 0 drops none."),
    GPV_FIELD(number, Params, max_area, 0, GPV_MAX_PIXELS, 0, "pixels",
              "Components of more pixels are dropped. 0 drops none."),
    GPV_FIELD(choice, Params, output, outputs, GPV_CCL_OUTPUT_LABELS,
              "What an image is made into.")};
static_assert(is_complete<Params>(fields));

} // namespace

constinit const Fields ccl_fields = {"ccl", fields, 40};

} // namespace gpv
