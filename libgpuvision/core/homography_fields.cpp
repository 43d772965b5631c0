// SPDX-License-Identifier: BSD-2-Clause
#include "core/homography.hpp"

#include <gpuvision/homography.h>

#include "core/error.hpp"

namespace gpv {
namespace {

using Params = gpv_homography_params;

constexpr gpv_field fields[] = {
    GPV_FIELD(number, Params, threshold, 0, 1e6, 3, "units of the points",
              "A pair fits if the place that is found for it is at most so far from its own. 0 is "
              "refused."),
    GPV_FIELD(number, Params, confidence, 0, 0.999999, 0.999, "",
              "No more samples are tried once one without a false pair has been among them with "
              "this probability."),
    GPV_FIELD(number, Params, max_iterations, 1, 1'000'000, 10'000, "",
              "How many samples are tried at most."),
    GPV_FIELD(seed, Params, seed, "Seed of the samples: the same seed draws the same.")};
static_assert(is_complete<Params>(fields));

/// Its range has no least number.
void require_rules(const void *of_homography) {
    const float threshold = static_cast<const Params *>(of_homography)->threshold;
    if (!(threshold > 0 && threshold <= 1e6f))
        throw Error(Status::invalid_argument, "params->threshold is " + number_text(threshold) +
                                                  ", must be above 0 and at most 1000000");
}

} // namespace

constinit const Fields homography_fields = {"homography", fields, 24, require_rules};

} // namespace gpv
