// SPDX-License-Identifier: BSD-2-Clause
// The symbols of cuda/ in a build without nvcc.
#include "core/backends.hpp"
#include "core/error.hpp"

namespace gpv::cuda {

bool available(int) {
    return false;
}

void require(int) {
    throw Error(Status::unsupported,
                "backend is GPV_BACKEND_CUDA, but this library was built without nvcc");
}

} // namespace gpv::cuda
