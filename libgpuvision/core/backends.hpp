// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

/// What core asks of the backends. cpu/ and cuda/ define these; without nvcc
/// cuda/stubs.cpp does.
namespace gpv {

namespace cpu {

/// Instruction set and threads in use, such as "CPU (AVX3, 16 threads)".
std::string device_name();

} // namespace cpu

namespace cuda {

/// True if a context can be created on the device.
bool available(int device);

/// Throws Error, saying what was looked for, unless available(device).
void require(int device);

} // namespace cuda
} // namespace gpv
