// SPDX-License-Identifier: BSD-2-Clause
// What a test can ask of the emulated toolkit, beyond CUDA's own interface; for faults.cpp
// device.cpp answers, on a real device. The environment says
//     GPV_SIMT_SEED   the order of threads and blocks; a program that fails prints it; default 1
//     GPV_SIMT_ARCH   ten times the compute capability; default 90
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime.h>

namespace simt {

/// Whether there is no real device.
bool emulated();

/// As GPV_SIMT_SEED.
void seed(std::uint64_t value);

/// The k-th runtime call from now on, 1 for the next, fails once: with this error, or with one of
/// the call's own. 0 takes it back. Calls that release something, and those that wait, do their
/// work and then fail.
void fail_call(std::size_t k, cudaError_t error = cudaSuccess);

/// Runtime calls so far.
std::size_t calls();

/// The next kernel to run ends with cudaErrorIllegalAddress. Every later call in its context
/// returns that too, until reset(); calls that release something still do.
void poison();

/// The k-th runtime call from now on, 1 for the next, finds that poison, as if a kernel had left it
/// just before. 0 takes it back.
void poison_call(std::size_t k);

/// As at the start of the program, but for what is alive, the seed and the current contexts. Drops
/// what waits in the queue.
void reset();

/// Device and pinned memory; streams, events, graphs and executable graphs.
std::size_t live_bytes();
std::size_t live_objects();

/// Device memory that the host can read and write, which emulated memory always is.
cudaError_t malloc_visible(void **memory, std::size_t bytes);
cudaError_t free_visible(void *memory);

/// A context, a CUcontext, that the program has made. It is current.
void *own_context();

// What only the emulation has:

/// Operations that wait in the queue.
std::size_t pending();

/// Bytes copied by copies that have run, by the memory they went between.
std::size_t copied_bytes(cudaMemcpyKind kind);

/// Up to 8; 0: every call that needs a device returns cudaErrorNoDevice.
void set_device_count(int count);

/// Another process has the devices for itself: as long as that is so, a thread cannot make one of
/// them current, and cudaErrorDevicesUnavailable is all that it gets.
void set_busy(bool busy);

} // namespace simt
