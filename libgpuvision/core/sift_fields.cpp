// SPDX-License-Identifier: BSD-2-Clause
#include "core/sift.hpp"

#include <gpuvision/sift.h>

namespace gpv {
namespace {

constexpr gpv_choice descriptor_types[] = {
    {"u8", "Bytes: 512 times those of f32, rounded, at most 255", GPV_SIFT_DESCRIPTOR_TYPE_U8},
    {"f32", "Floats, of length 1", GPV_SIFT_DESCRIPTOR_TYPE_F32}};

using Params = gpv_sift_params;

constexpr gpv_field fields[] = {
    GPV_FIELD(number, Params, max_features, 0, INT32_MAX, 0, "",
              "How many keypoints are kept, those of the greatest response; 0 is as many as there "
              "is room for."),
    GPV_FIELD(number, Params, octaves, 0, 16, 0, "",
              "Maximum number of octaves that are searched, from the smallest features on; 0 is "
              "all that fit into the image."),
    GPV_FIELD(number, Params, octave_layers, 1, max_octave_layers, 3, "",
              "In how many scales of each octave keypoints are searched."),
    GPV_FIELD(number, Params, contrast_threshold, 0, 1, 0.04, "",
              "Minimum contrast of a keypoint, as OpenCV counts it; the higher, the fewer "
              "keypoints there are."),
    GPV_FIELD(number, Params, edge_threshold, 1, 1e6, 10, "",
              "Extrema on edges are dropped: those whose ratio of principal curvatures is at least "
              "this; the higher, the more keypoints lie on edges."),
    GPV_FIELD(number, Params, sigma, 0.5, 4, 1.6, "pixels of the octave",
              "Blur of the first scale of each octave."),
    GPV_FIELD(flag, Params, upsample, true,
              "Whether the first octave has twice the size of the image, which finds smaller "
              "features and takes longer."),
    GPV_FIELD(flag, Params, upright, false,
              "Whether all keypoints have the orientation 0, for a camera that does not turn."),
    GPV_FIELD(flag, Params, root_sift, false,
              "Whether descriptors are those of RootSIFT, the square roots of descriptors whose "
              "sum is 1, which match better."),
    GPV_FIELD(choice, Params, descriptor_type, descriptor_types, GPV_SIFT_DESCRIPTOR_TYPE_U8,
              "What a number of a descriptor is.")};
static_assert(is_complete<Params>(fields));

} // namespace

constinit const Fields sift_fields = {"sift", fields, 48};

} // namespace gpv
