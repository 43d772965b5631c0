// SPDX-License-Identifier: BSD-2-Clause
// The table of CUDA in a build without nvcc. As no device can be made, nothing asks for its
// operators.
#include "core/backends.hpp"
#include "core/device.hpp"
#include "core/error.hpp"

namespace gpv::cuda {

constexpr BackendFunctions functions = {
    .available = [](int) { return false; },
    .make_device = [](const gpv_context_params &) -> std::unique_ptr<Device> {
        throw Error(Status::unsupported,
                    "backend is GPV_BACKEND_CUDA, but this library was built without nvcc");
    }};

} // namespace gpv::cuda
