// SPDX-License-Identifier: BSD-2-Clause
#include "core/erode.hpp"

#include <gpuvision/erode.h>

namespace gpv {
namespace {

constexpr gpv_choice operations[] = {
    {"erode", "Minimum under the element", GPV_ERODE_OPERATION_ERODE},
    {"dilate", "Maximum under the element", GPV_ERODE_OPERATION_DILATE},
    {"open", "Erode, then dilate", GPV_ERODE_OPERATION_OPEN},
    {"close", "Dilate, then erode", GPV_ERODE_OPERATION_CLOSE},
    {"gradient", "Dilated minus eroded image", GPV_ERODE_OPERATION_GRADIENT},
    {"tophat", "Image minus opened image", GPV_ERODE_OPERATION_TOPHAT},
    {"blackhat", "Closed image minus image", GPV_ERODE_OPERATION_BLACKHAT}};

constexpr gpv_choice shapes[] = {
    {"rect", "The whole box", GPV_ERODE_SHAPE_RECT},
    {"cross", "Middle row and middle column of the box", GPV_ERODE_SHAPE_CROSS},
    {"ellipse", "Ellipse inscribed in the box", GPV_ERODE_SHAPE_ELLIPSE}};

constexpr gpv_choice borders[] = {
    {"ignore", "Pixels outside the image do not count", GPV_ERODE_BORDER_IGNORE},
    {"background", "Pixels outside the image are 0", GPV_ERODE_BORDER_BACKGROUND}};

constexpr gpv_choice planes[] = {
    {"auto", "Grey, Y of YUV, every colour channel of RGB", GPV_ERODE_PLANES_AUTO},
    {"luma", "Grey and Y of YUV; every colour channel of RGB", GPV_ERODE_PLANES_LUMA},
    {"all", "As auto, and U and V of YUV", GPV_ERODE_PLANES_ALL}};

using Params = gpv_erode_params;

constexpr gpv_field fields[] = {
    GPV_FIELD(choice, Params, operation, operations, GPV_ERODE_OPERATION_ERODE,
              "Operation to compute, from erosion to black-hat."),
    GPV_FIELD(choice, Params, shape, shapes, GPV_ERODE_SHAPE_RECT,
              "Shape of the structuring element inside its box, which radius and radius_y give."),
    GPV_FIELD(number, Params, radius, 0, max_erode_radius, 1, "pixels",
              "Half size of the structuring element; it is 2 x radius + 1 pixels wide and, unless "
              "radius_y says otherwise, as high."),
    GPV_FIELD(number, Params, radius_y, -1, max_erode_radius, -1, "pixels",
              "Half height of the structuring element; -1 is the same as radius."),
    GPV_FIELD(number, Params, iterations, 1, 255, 1, "",
              "How many times each erosion and each dilation runs."),
    GPV_FIELD(number, Params, threshold, 0, max_luma16, 0, "grey levels",
              "Lowest luma of the foreground, at most 255 in images of 8 bits: the image is made "
              "binary before the operation. 0 works on the grey levels."),
    GPV_FIELD(choice, Params, border, borders, GPV_ERODE_BORDER_IGNORE,
              "Whether pixels outside the image do not count, or are 0."),
    GPV_FIELD(choice, Params, planes, planes, GPV_ERODE_PLANES_AUTO,
              "Planes to process where threshold is 0; the others are copied.")};
static_assert(is_complete<Params>(fields));

} // namespace

constinit const Fields erode_fields = {"erode", fields, 40};

} // namespace gpv
