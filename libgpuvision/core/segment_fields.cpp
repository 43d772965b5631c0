// SPDX-License-Identifier: BSD-2-Clause
#include "core/segment.hpp"

#include <gpuvision/segment.h>

namespace gpv {
namespace {

constexpr gpv_choice models[] = {
    {"gmm", "A mixture of five Gaussians for either side", GPV_SEGMENT_MODEL_GMM},
    {"histogram", "How frequent each of 16x16x16 colours is on either side",
     GPV_SEGMENT_MODEL_HISTOGRAM},
    {"means", "One mean colour for either side", GPV_SEGMENT_MODEL_MEANS}};

constexpr gpv_choice warm_starts[] = {
    {"none", "Each image learns from its own seeds", GPV_SEGMENT_WARM_START_NONE},
    {"adapt", "It begins with the colours learned before, and learns on",
     GPV_SEGMENT_WARM_START_ADAPT},
    {"reuse", "It uses the colours learned before, and learns nothing",
     GPV_SEGMENT_WARM_START_REUSE}};

constexpr gpv_choice connectivities[] = {{"4", "Pixels touch at sides", 4},
                                         {"8", "Pixels touch at sides and corners", 8}};

constexpr gpv_choice outputs[] = {
    {"overlay", "The image, its background grey and half as bright", GPV_SEGMENT_OUTPUT_OVERLAY},
    {"cutout", "The image, its background transparent", GPV_SEGMENT_OUTPUT_CUTOUT}};

constexpr gpv_choice edges[] = {
    {"hard", "A pixel is of the foreground or of the background", GPV_SEGMENT_EDGE_HARD},
    {"soft", "Pixels of a band along the border are of the foreground in part",
     GPV_SEGMENT_EDGE_SOFT}};

using Params = gpv_segment_params;

constexpr gpv_field fields[] = {
    GPV_FIELD(choice, Params, model, models, GPV_SEGMENT_MODEL_GMM,
              "What is learned of the colours of either side."),
    GPV_FIELD(choice, Params, warm_start, warm_starts, GPV_SEGMENT_WARM_START_NONE,
              "What becomes of the colours that were learned from the image before."),
    GPV_FIELD(choice, Params, connectivity, connectivities, 4,
              "How many neighbours a pixel has: 4, or 8, with the diagonal ones, for smoother "
              "borders."),
    GPV_FIELD(number, Params, iterations, 1, GPV_SEGMENT_MAX_ITERATIONS, 5, "",
              "How often colours are learned and a cut is made in an image, unless it goes on from "
              "those learned before."),
    GPV_FIELD(number, Params, lambda, 0, GPV_SEGMENT_MAX_WEIGHT, 0.01,
              "pixels of border for each unit of log-likelihood",
              "Weight of colours beside borders; 0 leaves colours out."),
    GPV_FIELD(number, Params, sigma, 0, GPV_SEGMENT_MAX_WEIGHT, 0, "grey levels",
              "How far neighbours differ at an edge, where the border is cheaper. 0 takes the root "
              "mean square of the image."),
    GPV_FIELD(choice, Params, output, outputs, GPV_SEGMENT_OUTPUT_OVERLAY,
              "What an image is made into."),
    GPV_CUT_FIELDS(Params),
    GPV_FIELD(
        flag, Params, static_scene, false,
        "Whether the camera stands still: a frame then begins with the cut of the one before, "
        "which is faster where little moves, and sigma = 0 is measured in the first frame "
        "alone."),
    GPV_FIELD(choice, Params, edge, edges, GPV_SEGMENT_EDGE_HARD,
              "What the mask, and the alpha of a cutout, are at the border of the foreground.")};
static_assert(is_complete<Params>(fields));

} // namespace

constinit const Fields segment_fields = {"segment", fields, 40};

} // namespace gpv
