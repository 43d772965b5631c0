// SPDX-License-Identifier: BSD-2-Clause
// PTX, and functions that only some devices have. Each also has a body for any
// C++ compiler, for tests/simt.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>

/// 100 times the compute capability that the code is compiled for.
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

/// Loads the current value from global or shared memory, never from a register or the cache of a
/// multiprocessor.
template <class T>
__device__ __forceinline__ T load_volatile(const T *memory) {
#ifdef __CUDA_ARCH__
    return *static_cast<const volatile T *>(memory);
#else
    return __ldcv(memory); // lets other threads run
#endif
}

/// Stores once, at this point of the program.
template <class T>
__device__ __forceinline__ void store_volatile(T *memory, T value) {
    *static_cast<volatile T *>(memory) = value;
}

/// Adds 1 to a counter in device memory. Earlier writes of this thread, and of those that it has
/// met at a barrier, are visible before that (release).
__device__ __forceinline__ void arrive(unsigned *counter) {
#if defined(__CUDA_ARCH__)
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
#else
    atomicAdd(counter, 1u);
#endif
}

/// Waits until the counter has reached the target; both wrap round after 2^32 - 1. Writes before
/// those arrivals are then visible (acquire).
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

    /// Afterwards all threads see what any block wrote before.
    __device__ void wait() {
        arrive();
        wait_for_others();
    }

    // The two halves of wait(), for work in between:

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

/// Time since an arbitrary moment, the same for the whole device.
__device__ __forceinline__ long long global_timer_ns() {
#ifdef __CUDACC__
    long long time;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
    return time;
#else
    return simt::nanoseconds();
#endif
}

/// Ten times the least compute capability for which these two functions do anything.
inline constexpr int early_capability = 90;

/// A kernel that was launched early waits here for all earlier kernels and their writes. Every
/// block has to call this.
__device__ __forceinline__ void wait_for_earlier_kernels() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
}

/// From here on the next kernel may begin, if it is launched early; else it waits for this one.
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

/// Sum over this lane and those before it.
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

/// Sum of what the threads of the block before this one have; total: of all. Each thread of the
/// block calls. sums: of the warps, in shared memory; may be written again behind a barrier.
template <int warps, class T>
__device__ __forceinline__ T block_sum_before(T own, T *sums, T &total) {
    static_assert(warps <= 32, "a warp adds up all warps");
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const T up_to_here = warp_inclusive_sum(own);
    if (lane == 31)
        sums[warp] = up_to_here;
    __syncthreads();
    const T up_to_warp = warp_inclusive_sum(lane < warps ? sums[lane] : T{0});
    total = __shfl_sync(~0u, up_to_warp, warps - 1);
    const T before_warp = __shfl_sync(~0u, up_to_warp, warp ? warp - 1 : 0);
    return up_to_here - own + (warp ? before_warp : 0);
}

/// Whether the device compares pairs of 16-bit halves in one instruction.
inline constexpr bool has_pairs = GPV_ARCH >= 900;

} // namespace gpv::cuda
