// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cmath>

/// GPV_HOST_DEVICE marks functions that nvcc compiles for host and device and that cannot be
/// constexpr; GPV_DEVICE those that it compiles for the device alone.
#ifdef __CUDACC__
#    define GPV_HOST_DEVICE __host__ __device__
#    define GPV_DEVICE __device__
#else
#    define GPV_HOST_DEVICE
#    define GPV_DEVICE
#endif

namespace gpv {

/// a b + c, rounded once.
GPV_HOST_DEVICE inline float fused(float a, float b, float c) {
    return std::fma(a, b, c);
}

} // namespace gpv
