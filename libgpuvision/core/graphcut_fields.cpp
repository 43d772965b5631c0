// SPDX-License-Identifier: BSD-2-Clause
#include "core/graphcut.hpp"

#include <gpuvision/graphcut.h>

namespace gpv {
namespace {

using Params = gpv_graphcut_params;

constexpr gpv_field fields[] = {GPV_CUT_FIELDS(Params)};
static_assert(is_complete<Params>(fields));

} // namespace

constinit const Fields graphcut_fields = {"graphcut", fields, 16};

} // namespace gpv
