// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "core/device.hpp"

/// Functions that each backend defines, in cpu/ and cuda/. Without nvcc,
/// cuda/stubs.cpp defines those of cuda.
namespace gpv {

namespace cpu {

/// thread_limit: as Context::thread_limit().
std::unique_ptr<Device> make_device(int thread_limit);

} // namespace cpu

namespace cuda {

/// True if make_device() can be expected to succeed.
bool available(int device);

/// Throws Error, with the reason, if there is no usable device.
std::unique_ptr<Device> make_device(int device);

} // namespace cuda
} // namespace gpv
