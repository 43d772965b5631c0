// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cuda_runtime.h>

#include "cuda/intrinsics.cuh"
#include "cuda/runtime.hpp"

/// A kernel is a struct with
///     struct Job          the one parameter, trivially copyable
///     threads             threads per block
///     min_blocks          blocks per multiprocessor, optional: bounds the registers
///     Shared              what its dynamic shared memory holds; or shared_bytes, its size,
///                         which may be a function of what differs between launches; optional
///     waits               optional: may be launched early, since it calls
///                         wait_for_earlier_kernels()
///     run(const Job &)    what each thread does
/// Compiled by a C++ compiler, the same source runs on the emulation of
/// tests/simt.
namespace gpv::cuda {

/// Resident threads per multiprocessor.
inline constexpr int multiprocessor_threads =
    GPV_ARCH == 750                                                                 ? 1024
    : GPV_ARCH == 860 || GPV_ARCH == 870 || GPV_ARCH == 890 || GPV_ARCH / 100 == 12 ? 1536
                                                                                    : 2048;

template <class Kernel>
constexpr int min_blocks_of() {
    constexpr int maximum = multiprocessor_threads / Kernel::threads;
    if constexpr (requires { Kernel::min_blocks; })
        return Kernel::min_blocks < maximum ? Kernel::min_blocks : maximum;
    else
        return 1;
}

/// Dynamic shared memory of a launch of which nothing else is said.
template <class Kernel>
constexpr std::size_t shared_bytes_of() {
    if constexpr (requires { Kernel::shared_bytes; })
        return Kernel::shared_bytes;
    else if constexpr (requires { typename Kernel::Shared; })
        return sizeof(typename Kernel::Shared);
    else
        return 0;
}

template <class Kernel>
inline constexpr bool waits_for_earlier = requires {
    Kernel::waits;
};

#ifdef __CUDACC__

template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads, min_blocks_of<Kernel>())
    entry(const __grid_constant__ typename Kernel::Job job) {
    Kernel::run(job);
}

/// The block's dynamic shared memory, aligned to 16 bytes.
template <class T>
__device__ __forceinline__ T *shared_memory() {
    extern __shared__ uint4 gpv_shared_memory[];
    return reinterpret_cast<T *>(gpv_shared_memory);
}

#else

template <class Kernel>
void entry(const simt::Call &call) {
    if (!call.parameter)
        *call.parameter_size = sizeof(typename Kernel::Job);
    else
        Kernel::run(*static_cast<const typename Kernel::Job *>(call.parameter));
}

template <class T>
T *shared_memory() {
    return static_cast<T *>(simt::shared_memory());
}

#endif

/// Loads the kernel now, rather than during the first frame. shared: greatest
/// dynamic shared memory of its launches, bytes.
inline void load(const void *kernel, std::size_t shared) {
    GPV_CUDA(runtime.func_set_attribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(shared)));
}
template <class... Kernels>
void load(std::size_t shared) {
    (load(reinterpret_cast<const void *>(&entry<Kernels>), shared), ...);
}
template <class... Kernels>
void load() {
    (load<Kernels>(shared_bytes_of<Kernels>()), ...);
}

/// Calls f<one>() for the one of values that value is; the last one is also for all others.
template <auto first, auto... values, class Value, class F>
constexpr auto with_value(Value value, F f) {
    if constexpr (sizeof...(values) > 0)
        if (value != first)
            return with_value<values...>(value, f);
    return f.template operator()<first>();
}

/// Whether the code that the device runs waits in wait_for_earlier_kernels(). Code compiled for an
/// older device does not.
template <class Kernel>
bool can_begin_early() {
    cudaFuncAttributes attributes;
    GPV_CUDA(
        runtime.func_get_attributes(&attributes, reinterpret_cast<const void *>(&entry<Kernel>)));
    return attributes.ptxVersion >= early_capability;
}

} // namespace gpv::cuda
