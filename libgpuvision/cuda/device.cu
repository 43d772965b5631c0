// SPDX-License-Identifier: BSD-2-Clause

#include <cuda_runtime.h>

#include "core/backends.hpp"
#include "core/context.hpp"

namespace gpv::cuda {
namespace {

/// The device as CUDA names it; throws what stands in the way.
std::string probe(int device) {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess) {
        cudaGetLastError(); // clear the sticky slot
        throw Error(Status::no_device, std::string("no usable CUDA device: ") +
                                           cudaGetErrorString(error) + " (cudaGetDeviceCount)");
    }
    const int ordinal = device == device_current ? 0 : device;
    if (ordinal >= count)
        throw Error(Status::no_device, "device is " + std::to_string(device) + ", but only " +
                                           std::to_string(count) + " CUDA devices were found");
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, ordinal) != cudaSuccess) {
        cudaGetLastError();
        throw Error(Status::no_device, "device " + std::to_string(ordinal) + " cannot be queried");
    }
    return properties.name;
}

} // namespace

// No algorithm computes on CUDA yet, so a context there would be of no use.
bool available(int) {
    return false;
}

void require(int device) {
    const std::string name = probe(device);
    throw Error(Status::unsupported, "backend is GPV_BACKEND_CUDA and " + name +
                                         " was found, but this release computes on the CPU only");
}

} // namespace gpv::cuda
