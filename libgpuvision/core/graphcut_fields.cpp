// SPDX-License-Identifier: BSD-2-Clause
#include "core/graphcut.hpp"

#include <gpuvision/graphcut.h>

namespace gpv {
namespace {

using Params = gpv_graphcut_params;

constexpr gpv_field fields[] = {
    GPV_FIELD(flag, Params, certificate, false,
              "Whether a run adds up the capacity of its cut from what it was given, as the proof "
              "that the cut is minimal."),
    GPV_FIELD(number, Params, max_time_us, 0, INT32_MAX, 0, "microseconds",
              "Time after which a cut settles for what it has by then, which may be far from the "
              "best. 0 lets each finish.")};
static_assert(is_complete<Params>(fields));

} // namespace

constinit const Fields graphcut_fields = {"graphcut", fields, 16};

} // namespace gpv
