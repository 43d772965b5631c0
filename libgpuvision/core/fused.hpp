// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cmath>

/// Of functions that nvcc compiles for the device as well, and that cannot be constexpr.
/// GPV_THERE: of those that it compiles for the device alone.
#ifdef __CUDACC__
#    define GPV_BOTH __host__ __device__
#    define GPV_THERE __device__
#else
#    define GPV_BOTH
#    define GPV_THERE
#endif

namespace gpv {

/// a b + c, rounded once.
GPV_BOTH inline float fused(float a, float b, float c) {
    return std::fma(a, b, c);
}

} // namespace gpv
