// SPDX-License-Identifier: BSD-2-Clause
#include "core/match.hpp"

#include <gpuvision/match.h>

namespace gpv {
namespace {

using Params = gpv_match_params;

constexpr gpv_field fields[] = {
    GPV_FIELD(number, Params, ratio, 0, 1, 0.8, "",
              "A query matches its nearest if that is nearer than this times the second nearest; "
              "0 matches it in any case."),
    GPV_FIELD(flag, Params, mutual, true,
              "Whether a query also has to be the nearest one to its match.")};
static_assert(is_complete<Params>(fields));

} // namespace

constinit const Fields match_fields = {"match", fields, 16};

} // namespace gpv
