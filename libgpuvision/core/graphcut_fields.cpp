// SPDX-License-Identifier: BSD-2-Clause
#include "core/graphcut.hpp"

#include <gpuvision/graphcut.h>

namespace gpv {
namespace {

using Params = gpv_graphcut_params;

constexpr gpv_field fields[] = {
    GPV_CUT_FIELDS(Params),
    GPV_FIELD(flag, Params, reuse, false,
              "Whether a run begins with the flow of the last one, which makes it faster where the "
              "graph has changed in few places, and changes nothing of what it finds.")};
static_assert(is_complete<Params>(fields));

} // namespace

constinit const Fields graphcut_fields = {"graphcut", fields, 16};

} // namespace gpv
