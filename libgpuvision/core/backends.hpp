// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "core/device.hpp"

/// What core asks of the backends. cpu/ and cuda/ define these; without nvcc
/// cuda/stubs.cpp does.
namespace gpv {

namespace cpu {

std::unique_ptr<Device> make_device();

} // namespace cpu

namespace cuda {

/// True if make_device() can be expected to succeed.
bool available(int device);

/// Throws Error, saying what was looked for.
std::unique_ptr<Device> make_device(int device);

} // namespace cuda
} // namespace gpv
