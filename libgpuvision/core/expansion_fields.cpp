// SPDX-License-Identifier: BSD-2-Clause
#include "core/expansion.hpp"

#include <gpuvision/expansion.h>

namespace gpv {
namespace {

using Params = gpv_expansion_params;

constexpr gpv_field fields[] = {
    GPV_FIELD(number, Params, cycles, 1, GPV_EXPANSION_MAX_CYCLES, 3, "",
              "How often each label has its move, at most. A run is over once none of them can "
              "lower the energy any more.")};
static_assert(is_complete<Params>(fields));

} // namespace

constinit const Fields expansion_fields = {"expansion", fields, 8};

} // namespace gpv
