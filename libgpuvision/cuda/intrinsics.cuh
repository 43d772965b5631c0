// SPDX-License-Identifier: BSD-2-Clause
// What kernels use that is PTX, or that only some devices have. Each has a
// body that any C++ compiler takes, for tests/simt.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>

/// A hundred times the compute capability that is compiled for.
#ifdef __CUDA_ARCH__
#    define GPV_ARCH __CUDA_ARCH__
#elif !defined(GPV_ARCH) // tests/simt may say one
#    define GPV_ARCH 900
#endif

namespace gpv::cuda {

using Word = std::uint32_t;

/// Copies 16 bytes to shared memory; both addresses are multiples of 16. Done
/// after wait_for_copies() and a barrier.
__device__ __forceinline__ void copy_async(void *shared, const void *global) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                     static_cast<unsigned>(__cvta_generic_to_shared(shared))),
                 "l"(global));
#else
    *static_cast<uint4 *>(shared) = *static_cast<const uint4 *>(global);
#endif
}

__device__ __forceinline__ void wait_for_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/// What stands in memory, or in shared memory, now: never from a register or from the cache of one
/// multiprocessor.
template <class T>
__device__ __forceinline__ T load_volatile(const T *memory) {
#ifdef __CUDA_ARCH__
    return *static_cast<const volatile T *>(memory);
#else
    return __ldcv(memory); // lets other threads run
#endif
}

/// Its counterpart: one store, now.
template <class T>
__device__ __forceinline__ void store_volatile(T *memory, T value) {
    *static_cast<volatile T *>(memory) = value;
}

/// Adds 1 to a counter of the device's memory, after all that this thread, and those that it has
/// met at a barrier, have written.
__device__ __forceinline__ void arrive(unsigned *counter) {
#if defined(__CUDA_ARCH__)
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
#else
    atomicAdd(counter, 1u);
#endif
}

/// Waits until the counter has reached the target; both go on from 2^32 - 1 to 0. What was written
/// before those arrivals is there.
__device__ __forceinline__ void wait_for_arrivals(unsigned *counter, unsigned target) {
#if defined(__CUDA_ARCH__)
    unsigned seen;
    do
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
    while (static_cast<int>(seen - target) < 0);
#else
    while (static_cast<int>(__ldcv(counter) - target) < 0)
        ;
#endif
}

/// A barrier for all blocks of a kernel that run at once. Counts on from call to call.
class GridBarrier {
  public:
    /// arrived: in the device's memory, 0 when the kernel begins.
    __device__ explicit GridBarrier(unsigned *arrived) : arrived_(arrived) {}

    /// After it, what any block has written before is there for all threads.
    __device__ void wait() {
        arrive();
        wait_for_others();
    }

    // Its two halves, for what can be done meanwhile:

    __device__ void arrive() {
        target_ += gridDim.x;
        __syncthreads();
        if (threadIdx.x == 0)
            cuda::arrive(arrived_);
    }
    __device__ void wait_for_others() {
        if (threadIdx.x == 0)
            wait_for_arrivals(arrived_, target_);
        __syncthreads();
    }

  private:
    unsigned *arrived_;
    unsigned target_ = 0;
};

/// Since some moment; the same for the whole device.
__device__ __forceinline__ long long global_timer_ns() {
#ifdef __CUDACC__
    long long time;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
    return time;
#else
    return simt::nanoseconds();
#endif
}

/// The least compute capability for which these two are more than nothing.
inline constexpr int early_capability = 90;

/// A kernel that was launched early waits here for all kernels before it, and for what they
/// have written. Every block of it has to come here.
__device__ __forceinline__ void wait_for_earlier_kernels() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
}

/// From here on the next kernel may begin, if it is launched early; else when this one is over.
__device__ __forceinline__ void let_next_kernel_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

template <class T, class F>
__device__ __forceinline__ T warp_reduce(T v, F f) {
    for (int d = 16; d; d /= 2)
        v = f(v, __shfl_xor_sync(~0u, v, d));
    return v;
}

// Over the lanes of a warp, all of which call:

/// Of this lane and those before it.
template <class T>
__device__ __forceinline__ T warp_inclusive_sum(T own) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        const T other = __shfl_up_sync(~0u, own, d);
        if (lane >= d)
            own += other;
    }
    return own;
}

__device__ __forceinline__ unsigned warp_sum(unsigned v) {
#if GPV_ARCH < 800
    return warp_reduce(v, [](unsigned a, unsigned b) { return a + b; });
#else
    return __reduce_add_sync(~0u, v);
#endif
}

__device__ __forceinline__ int warp_min(int v) {
#if GPV_ARCH < 800
    return warp_reduce(v, [](int a, int b) { return min(a, b); });
#else
    return __reduce_min_sync(~0u, v);
#endif
}

__device__ __forceinline__ int warp_max(int v) {
#if GPV_ARCH < 800
    return warp_reduce(v, [](int a, int b) { return max(a, b); });
#else
    return __reduce_max_sync(~0u, v);
#endif
}

/// 255 in every byte whose highest bit is set, else 0.
__device__ __forceinline__ Word sign_mask(Word v) {
#ifdef __CUDA_ARCH__
    Word mask;
    asm("prmt.b32 %0, %1, 0, 0xba98;" : "=r"(mask) : "r"(v));
    return mask;
#else
    return (v >> 7 & 0x01010101u) * 255u;
#endif
}

/// Whether the device compares pairs of 16-bit halves in one instruction.
inline constexpr bool has_pairs = GPV_ARCH >= 900;

} // namespace gpv::cuda
