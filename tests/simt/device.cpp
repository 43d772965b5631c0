// SPDX-License-Identifier: BSD-2-Clause
// simt.hpp for a real device, as far as faults.cpp needs it there. Calls are those that the library
// makes through its table; so are memory and objects.

#include "simt.hpp"

#include <map>

#include <cuda.h>
#include <dlfcn.h>

#include "cuda/runtime.hpp"
#include "lose.h"

namespace {

constexpr std::size_t arena_bytes = 16 << 20, alignment = 256;

std::size_t call_count = 0, failing_call = 0, poisoning_call = 0;
cudaError_t failing_error = cudaSuccess; // cudaSuccess: the call's own
bool poisoned = false;
std::map<const void *, std::size_t> live; // bytes; 0: an object

// --------------------------------------------------------------------------------- the table

enum class Kind { plain, creates, releases, waits };

void created(void **memory, std::size_t bytes) {
    live[*memory] = bytes;
}

template <class T, class... Rest>
void created(T **object, Rest...) {
    live[*object] = 0;
}

/// Calls that release something, and those that wait, do their work and then fail.
template <Kind kind, class F>
cudaError_t intercept(cudaError_t own, F call) {
    poisoned |= ++call_count == poisoning_call;
    const bool fails = call_count == failing_call;
    const cudaError_t error =
        (poisoned || fails) && (kind == Kind::plain || kind == Kind::creates) ? own : call();
    if (!poisoned && !fails)
        return error;
    if (kind != Kind::releases)
        cudaSetDevice(-1); // CUDA's record has an error, too
    if (poisoned)
        return cudaErrorIllegalAddress;
    return failing_error == cudaSuccess ? own : failing_error;
}

template <auto entry, Kind kind = Kind::plain, cudaError_t own = cudaErrorUnknown>
void wrap() {
    static const auto real = gpv::cuda::runtime.*entry;
    gpv::cuda::runtime.*entry = [](auto... arguments) {
        return intercept<kind>(own, [&] {
            const cudaError_t error = real(arguments...);
            if constexpr (kind == Kind::creates)
                if (error == cudaSuccess)
                    created(arguments...);
            if constexpr (kind == Kind::releases)
                (live.erase(arguments), ...);
            return error;
        });
    };
}

const bool wrapped = [] {
    using R = gpv::cuda::Runtime;
    constexpr cudaError_t none_left = cudaErrorMemoryAllocation;
    constexpr cudaError_t too_large = cudaErrorLaunchOutOfResources;
    wrap<&R::get_device_count>();
    wrap<&R::get_device_properties>();
    wrap<&R::get_device>();
    wrap<&R::set_device>();
    wrap<&R::malloc, Kind::creates, none_left>();
    wrap<&R::free, Kind::releases>();
    wrap<&R::malloc_host, Kind::creates, none_left>();
    wrap<&R::free_host, Kind::releases>();
    wrap<&R::memcpy_async>();
    wrap<&R::memset_async>();
    wrap<&R::stream_synchronize, Kind::waits>();
    wrap<&R::stream_get_id>();
    wrap<&R::stream_wait_event>();
    wrap<&R::stream_is_capturing>();
    wrap<&R::event_create, Kind::creates>();
    wrap<&R::event_destroy, Kind::releases>();
    wrap<&R::event_record>();
    wrap<&R::event_query>();
    wrap<&R::event_synchronize, Kind::waits>();
    wrap<&R::func_set_attribute>();
    wrap<&R::func_get_attributes>();
    wrap<&R::launch_kernel, Kind::plain, too_large>();
    wrap<&R::launch_kernel_early, Kind::plain, too_large>();
    wrap<&R::launch_kernel_cooperative, Kind::plain, too_large>();
    wrap<&R::graph_create, Kind::creates>();
    wrap<&R::graph_destroy, Kind::releases>();
    wrap<&R::graph_add_kernel>();
    wrap<&R::graph_add_early_edge>();
    wrap<&R::graph_set_cooperative>();
    wrap<&R::graph_instantiate, Kind::creates>();
    wrap<&R::graph_set_kernel>();
    wrap<&R::graph_launch, Kind::plain, too_large>();
    wrap<&R::graph_exec_destroy, Kind::releases>();
    return true;
}();

// ------------------------------------------------------------------------------------ memory

/// Managed memory, all of which is free again when nobody uses any.
char *arena = nullptr;
std::size_t taken = 0, blocks = 0;

} // namespace

namespace simt {

bool emulated() {
    return false;
}

void fail_call(std::size_t k, cudaError_t error) {
    failing_call = k == 0 ? 0 : call_count + k;
    failing_error = error;
}

std::size_t calls() {
    return call_count;
}

void poison() {
    lose_device(nullptr, 20);
}

void poison_call(std::size_t k) {
    poisoning_call = k == 0 ? 0 : call_count + k;
}

void reset() {
    poisoned = false;
    cudaDeviceSynchronize();
}

std::size_t live_bytes() {
    std::size_t sum = 0;
    for (const auto &[pointer, bytes] : live)
        sum += bytes;
    return sum;
}

std::size_t live_objects() {
    std::size_t count = 0;
    for (const auto &[pointer, bytes] : live)
        count += bytes == 0;
    return count;
}

cudaError_t malloc_visible(void **memory, std::size_t bytes) {
    if (!arena && cudaMallocManaged(&arena, arena_bytes) != cudaSuccess)
        return cudaErrorMemoryAllocation;
    if (bytes > arena_bytes - taken)
        return cudaErrorMemoryAllocation;
    *memory = arena + taken;
    taken += (bytes + alignment - 1) / alignment * alignment;
    blocks++;
    return cudaSuccess;
}

cudaError_t free_visible(void *) {
    if (--blocks != 0)
        return cudaSuccess;
    taken = 0;
    return cudaDeviceSynchronize();
}

void *own_context() {
    static const auto create = reinterpret_cast<CUresult (*)(CUcontext *, unsigned, CUdevice)>(
        dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuCtxCreate_v2"));
    CUcontext context = nullptr;
    create(&context, 0, 0);
    return context;
}

// A device does not say, and cannot be asked for. Whoever asks, asks emulated() before.

std::size_t pending() {
    return 0;
}

std::size_t copied_bytes(cudaMemcpyKind) {
    return 0;
}

void set_device_count(int) {}

void set_busy(bool) {}

} // namespace simt
