// SPDX-License-Identifier: BSD-2-Clause
#include "core/ccl.hpp"

namespace gpv {

std::int64_t max_components(const CclParams &params, std::int64_t width, std::int64_t height) {
    if (params.mode == GPV_CCL_MODE_EQUAL_VALUE)
        return width * height;
    if (params.connectivity == 4)
        return (width * height + 1) / 2;
    return (width + 1) / 2 * ((height + 1) / 2);
}

} // namespace gpv
