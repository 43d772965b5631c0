// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "core/device.hpp"

/// Functions that each backend defines, in cpu/ and cuda/. Without nvcc,
/// cuda/stubs.cpp defines those of cuda.
namespace gpv {

namespace cpu {

std::unique_ptr<Device> make_device();

} // namespace cpu

namespace cuda {

/// True if make_device() can be expected to succeed.
bool available(int device);

/// Throws Error, with the reason, if there is no usable device.
std::unique_ptr<Device> make_device(int device);

} // namespace cuda
} // namespace gpv
