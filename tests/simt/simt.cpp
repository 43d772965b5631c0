// SPDX-License-Identifier: BSD-2-Clause
// The host's side of the toolkit. Nothing runs before somebody waits for it: the operations of all
// streams stand in one queue, in the order in which they were issued.

#include "simt.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <cuda.h>

#include "scheduler.hpp"

using Work = std::function<void()>;
using Clock = std::chrono::steady_clock;

struct CUctx_st {};

struct CUgraphNode_st {
    Work work;
    std::optional<simt::Launch> launch; // of a kernel
};

struct CUgraph_st {
    CUcontext context;
    std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
};

struct CUgraphExec_st {
    CUcontext context;
    std::vector<std::pair<cudaGraphNode_t, Work>> steps;
};

struct CUstream_st {
    CUcontext context;
    bool blocking; // it and the legacy stream wait for each other
    std::uint64_t id = 0;
    std::uint64_t last = 0;
    cudaGraph_t capture = nullptr;
    cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
    bool invalidated = false;
};

struct CUevent_st {
    CUcontext context;
    bool timed;
    std::uint64_t record = 0; // 0: never
    std::shared_ptr<Clock::time_point> time = nullptr;
};

namespace {

struct Operation {
    CUcontext context;
    Work work;
};

struct Allocation {
    std::size_t bytes;
    bool device; // pinned otherwise
    int ordinal;
};

constexpr std::size_t device_bytes = std::size_t(2) << 30;
constexpr std::size_t default_shared_bytes = 48 << 10;

std::mutex mutex;
CUctx_st primary[8]; // of each device
CUstream_st legacy = {nullptr, true};
int device_count = 1;
std::size_t call_count = 0, failing_call = 0, poisoning_call = 0, object_count = 0, copied[4];
cudaError_t failing_error = cudaSuccess; // cudaSuccess: the call's own
bool poisoned = false, busy = false;
std::map<CUcontext, cudaError_t> lost;
std::map<const char *, Allocation> allocations;
std::map<const void *, std::size_t> shared_limits;
std::deque<Operation> queue;
std::uint64_t issued = 0;
std::vector<cudaStream_t> capturing;
thread_local CUcontext context = nullptr;
thread_local cudaError_t last_error = cudaSuccess;

// ----------------------------------------------------------------------- the frame of a call

void require(bool condition, cudaError_t otherwise) {
    if (!condition)
        throw otherwise;
}

template <class F>
cudaError_t error_of(F body) {
    try {
        body();
        return cudaSuccess;
    } catch (cudaError_t error) {
        return error;
    }
}

void require_context() {
    const auto found = lost.find(context);
    require(found == lost.end(), found == lost.end() ? cudaSuccess : found->second);
}

void count_call(cudaError_t injected) {
    if (++call_count == poisoning_call && context)
        lost[context] = cudaErrorIllegalAddress;
    require(call_count != failing_call, failing_error == cudaSuccess ? injected : failing_error);
}

void begin_call(cudaError_t injected) {
    if (!context && device_count != 0 && !busy)
        context = &primary[0];
    count_call(injected);
    require(device_count != 0, cudaErrorNoDevice);
    require(context, cudaErrorDevicesUnavailable);
    require_context();
}

cudaError_t remember(cudaError_t error) {
    if (error != cudaSuccess)
        last_error = error;
    return error;
}

/// A call that does nothing if something stands in its way.
template <class F>
cudaError_t call(F body, cudaError_t injected = cudaErrorUnknown) {
    const std::lock_guard lock(mutex);
    return remember(error_of([&] {
        begin_call(injected);
        body();
        require_context();
    }));
}

/// A call that waits or releases. It does that in any case; body is told whether the call fails.
template <class F>
cudaError_t call_anyway(F body) {
    const std::lock_guard lock(mutex);
    const cudaError_t before = error_of([] { begin_call(cudaErrorUnknown); });
    const cudaError_t error = error_of([&] {
        body(before != cudaSuccess);
        require_context();
    });
    return remember(before != cudaSuccess ? before : error);
}

/// A call that needs no context.
template <class F>
cudaError_t call_without_context(F body) {
    const std::lock_guard lock(mutex);
    return remember(error_of([&] {
        count_call(cudaErrorUnknown);
        body();
    }));
}

int device_of_context() {
    const auto found = std::find_if(std::begin(primary), std::end(primary),
                                    [](const CUctx_st &each) { return &each == context; });
    return found == std::end(primary) ? 0 : static_cast<int>(found - primary);
}

void require_device(int device) {
    require(device_count != 0, cudaErrorNoDevice);
    require(device >= 0 && device < device_count, cudaErrorInvalidDevice);
}

template <class T>
T &own(T *object) {
    require(object && object->context == context, cudaErrorInvalidResourceHandle);
    return *object;
}

template <class T>
void create(T **object, T value) {
    *object = new T(std::move(value));
    ++object_count;
}

template <class T>
void destroy(T *object) {
    delete &own(object);
    --object_count;
}

// ------------------------------------------------------------------------- queue and capture

std::uint64_t executed() {
    return issued - queue.size();
}

void run_next() {
    const Operation operation = std::move(queue.front());
    queue.pop_front();
    if (!lost.count(operation.context))
        operation.work();
}

void run_until(std::uint64_t last) {
    while (executed() < last)
        run_next();
}

/// Runs one operation, so that whoever asks again and again gets there.
void query(std::uint64_t last) {
    if (executed() < last)
        run_next();
    require(executed() >= last, cudaErrorNotReady);
}

CUstream_st &stream_of(cudaStream_t stream) {
    return stream == nullptr || stream == cudaStreamLegacy ? legacy : own(stream);
}

/// For calls that no capture can hold: they spoil it.
CUstream_st &idle_stream_of(cudaStream_t handle) {
    CUstream_st &stream = stream_of(handle);
    stream.invalidated = stream.capture != nullptr;
    require(!stream.capture, cudaErrorStreamCaptureUnsupported);
    return stream;
}

/// For calls that touch all streams: they spoil captures that are not relaxed.
void require_no_capture() {
    bool found = false;
    for (cudaStream_t stream : capturing)
        if (stream->mode != cudaStreamCaptureModeRelaxed)
            found = stream->invalidated = true;
    require(!found, cudaErrorStreamCaptureUnsupported);
}

void submit(CUstream_st &stream, Work work, std::optional<simt::Launch> launch = {}) {
    require(!stream.invalidated, cudaErrorStreamCaptureInvalidated);
    if (stream.capture) {
        stream.capture->nodes.push_back(
            std::make_unique<CUgraphNode_st>(CUgraphNode_st{work, launch}));
        return;
    }
    if (&stream == &legacy)
        for (cudaStream_t other : capturing)
            require(!other->blocking, cudaErrorStreamCaptureImplicit);
    queue.push_back({context, std::move(work)});
    stream.last = ++issued;
    if (stream.blocking)
        legacy.last = issued;
}

// ------------------------------------------------------------------------------------ memory

/// The allocation that holds the byte, or end().
std::map<const char *, Allocation>::const_iterator find(const void *pointer) {
    const char *const address = static_cast<const char *>(pointer);
    const auto after = allocations.upper_bound(address);
    if (after == allocations.begin())
        return allocations.end();
    const auto found = std::prev(after);
    return address < found->first + found->second.bytes ? found : allocations.end();
}

bool pageable(const void *pointer) {
    return find(pointer) == allocations.end();
}

bool on_device(const void *pointer) {
    return !pageable(pointer) && find(pointer)->second.device;
}

/// Nothing is known of pageable memory.
bool fits(const void *pointer, std::size_t bytes) {
    const auto found = find(pointer);
    return found == allocations.end() ||
           bytes <= found->second.bytes - (static_cast<const char *>(pointer) - found->first);
}

std::size_t allocated(bool device) {
    std::size_t bytes = 0;
    for (const auto &[address, allocation] : allocations)
        bytes += allocation.device == device ? allocation.bytes : 0;
    return bytes;
}

void allocate(void **memory, std::size_t bytes, bool device) {
    require(memory, cudaErrorInvalidValue);
    require_no_capture();
    *memory = nullptr;
    if (bytes == 0)
        return;
    require(!device || bytes <= device_bytes - allocated(true), cudaErrorMemoryAllocation);
    require(posix_memalign(memory, 256, bytes) == 0, cudaErrorMemoryAllocation);
    simt::fill(*memory, bytes);
    allocations[static_cast<const char *>(*memory)] = {bytes, device, device_of_context()};
}

void release(void *memory, bool device) {
    if (!memory)
        return;
    require_no_capture();
    run_until(issued);
    const auto found = allocations.find(static_cast<const char *>(memory));
    require(found != allocations.end() && found->second.device == device, cudaErrorInvalidValue);
    allocations.erase(found);
    std::free(memory);
}

struct Copy {
    void *to;
    std::size_t to_pitch;
    const void *from;
    std::size_t from_pitch, width, height;

    bool empty() const { return width == 0 || height == 0; }
    cudaMemcpyKind kind() const {
        return static_cast<cudaMemcpyKind>(2 * on_device(from) + on_device(to));
    }
    void check(cudaMemcpyKind wanted) const {
        require(height < 2 || (width <= to_pitch && width <= from_pitch),
                cudaErrorInvalidPitchValue);
        require(to && from && (wanted == cudaMemcpyDefault || wanted == kind()) &&
                    fits(to, (height - 1) * to_pitch + width) &&
                    fits(from, (height - 1) * from_pitch + width),
                cudaErrorInvalidValue);
    }
    void move() const {
        for (std::size_t row = 0; row < height; ++row)
            std::memcpy(static_cast<char *>(to) + row * to_pitch,
                        static_cast<const char *>(from) + row * from_pitch, width);
    }
    void run() const {
        move();
        copied[kind()] += width * height;
    }
};

cudaError_t copy_now(const Copy &copy, cudaMemcpyKind kind) {
    return call([&] {
        if (copy.empty())
            return;
        copy.check(kind);
        require_no_capture();
        run_until(legacy.last); // not streams that do not block
        require_context();
        copy.run();
    });
}

cudaError_t copy_later(Copy copy, cudaMemcpyKind kind, cudaStream_t handle) {
    return call([&] {
        CUstream_st &stream = stream_of(handle);
        if (copy.empty())
            return;
        copy.check(kind);
        const bool into_pageable = pageable(copy.to) && !stream.capture;
        std::shared_ptr<std::vector<char>> staged;
        if (pageable(copy.from) && !into_pageable && !stream.capture) {
            staged = std::make_shared<std::vector<char>>(copy.width * copy.height);
            Copy{staged->data(), copy.width, copy.from, copy.from_pitch, copy.width, copy.height}
                .move();
            copy.from = staged->data();
            copy.from_pitch = copy.width;
        }
        submit(stream, [copy, staged] { copy.run(); });
        if (into_pageable)
            run_until(issued);
    });
}

cudaError_t set_later(void *memory, int value, std::size_t bytes, cudaStream_t handle) {
    return call([&] {
        CUstream_st &stream = stream_of(handle);
        if (bytes == 0)
            return;
        require(!pageable(memory) && fits(memory, bytes), cudaErrorInvalidValue);
        submit(stream, [=] { std::memset(memory, value, bytes); });
    });
}

// ----------------------------------------------------------------------- device and launches

int capability() {
    const char *text = std::getenv("GPV_SIMT_ARCH");
    return text ? std::atoi(text) : 90;
}

std::size_t largest_shared_bytes() {
    static const std::map<int, std::size_t> kib = {{75, 64}, {80, 163}, {86, 99}, {87, 163},
                                                   {89, 99}, {120, 99}, {121, 99}};
    const auto found = kib.find(capability());
    return (found == kib.end() ? 227 : found->second) << 10;
}

cudaDeviceProp properties() {
    cudaDeviceProp result = {};
    std::snprintf(result.name, sizeof result.name, "SIMT emulation");
    result.totalGlobalMem = device_bytes;
    result.sharedMemPerBlock = default_shared_bytes;
    result.warpSize = 32;
    result.maxThreadsPerBlock = 1024;
    result.major = capability() / 10;
    result.minor = capability() % 10;
    result.multiProcessorCount = 4;
    result.l2CacheSize = 1 << 20;
    result.maxThreadsPerMultiProcessor = 2048;
    result.sharedMemPerBlockOptin = largest_shared_bytes();
    result.sharedMemPerMultiprocessor =
        result.sharedMemPerBlockOptin + (capability() == 75 ? 0 : 1024);
    result.cooperativeLaunch = 1;
    return result;
}

std::size_t shared_limit(const void *function) {
    const auto found = shared_limits.find(function);
    return found == shared_limits.end() ? default_shared_bytes : found->second;
}

/// Of a multiprocessor.
unsigned blocks_at_once(std::size_t shared_bytes) {
    return 2 * (shared_bytes + 1024) <= properties().sharedMemPerMultiprocessor ? 2 : 1;
}

simt::Launch launch_of(const void *function, dim3 grid, dim3 block, void **arguments,
                       std::size_t shared_bytes, bool cooperative = false) {
    require(function, cudaErrorInvalidDeviceFunction);
    require(grid.x - 1 < 0x7fffffff && grid.y - 1 < 65535 && grid.z - 1 < 65535 &&
                block.x - 1 < 1024 && block.y - 1 < 1024 && block.z - 1 < 64 &&
                block.x * block.y * block.z <= 1024,
            cudaErrorInvalidConfiguration);
    require(arguments && shared_bytes <= shared_limit(function), cudaErrorInvalidValue);
    const auto kernel = reinterpret_cast<simt::Kernel>(const_cast<void *>(function));
    const auto *argument = static_cast<const std::byte *>(arguments[0]);
    std::size_t bytes = 0;
    kernel({nullptr, &bytes});
    return {kernel, grid, block, shared_bytes, cooperative, {argument, argument + bytes}};
}

simt::Launch launch_of(const cudaKernelNodeParams *p, bool cooperative = false) {
    require(p && !p->extra, cudaErrorInvalidValue);
    return launch_of(p->func, p->gridDim, p->blockDim, p->kernelParams, p->sharedMemBytes,
                     cooperative);
}

Work work_of(const simt::Launch &launch) {
    const dim3 grid = launch.grid;
    require(!launch.cooperative ||
                std::size_t(grid.x) * grid.y * grid.z <=
                    properties().multiProcessorCount * blocks_at_once(launch.shared_bytes),
            cudaErrorCooperativeLaunchTooLarge);
    return [launch, owner = context] {
        if (std::exchange(poisoned, false))
            lost[owner] = cudaErrorIllegalAddress;
        else
            simt::run(launch);
    };
}

void submit(CUstream_st &stream, const simt::Launch &launch) {
    submit(stream, work_of(launch), launch);
}

// Called through pointers of the caller's own making, as the driver's functions are.
#define SIMT_DRIVER_FUNCTION __attribute__((no_sanitize("undefined")))

SIMT_DRIVER_FUNCTION CUresult get_current(CUcontext *current) {
    *current = context;
    return CUDA_SUCCESS;
}

SIMT_DRIVER_FUNCTION CUresult set_current(CUcontext current) {
    context = current;
    return CUDA_SUCCESS;
}

} // namespace

// ------------------------------------------------------------------------------ for the tests

namespace simt {

bool emulated() {
    return true;
}

void fail_call(std::size_t k, cudaError_t error) {
    const std::lock_guard lock(mutex);
    failing_call = k == 0 ? 0 : call_count + k;
    failing_error = error;
}

void poison_call(std::size_t k) {
    const std::lock_guard lock(mutex);
    poisoning_call = k == 0 ? 0 : call_count + k;
}

std::size_t calls() {
    const std::lock_guard lock(mutex);
    return call_count;
}

void poison() {
    const std::lock_guard lock(mutex);
    poisoned = true;
}

void reset() {
    const std::lock_guard lock(mutex);
    queue.clear();
    lost.clear();
    poisoned = busy = false;
    device_count = 1;
    call_count = failing_call = poisoning_call = 0;
    std::fill(std::begin(copied), std::end(copied), 0);
    last_error = cudaSuccess;
}

std::size_t live_bytes() {
    const std::lock_guard lock(mutex);
    return allocated(true) + allocated(false);
}

std::size_t live_objects() {
    const std::lock_guard lock(mutex);
    return object_count;
}

cudaError_t malloc_visible(void **memory, std::size_t bytes) {
    return cudaMalloc(memory, bytes);
}

cudaError_t free_visible(void *memory) {
    return cudaFree(memory);
}

void *own_context() {
    static CUctx_st made;
    return context = &made;
}

std::size_t pending() {
    const std::lock_guard lock(mutex);
    return queue.size();
}

std::size_t copied_bytes(cudaMemcpyKind kind) {
    const std::lock_guard lock(mutex);
    return copied[kind];
}

void set_device_count(int count) {
    const std::lock_guard lock(mutex);
    device_count = count;
}

void set_busy(bool now) {
    const std::lock_guard lock(mutex);
    busy = now;
}

} // namespace simt

// -------------------------------------------------------------------------- CUDA's functions

#define SIMT_CASE(name, value, text)                                                               \
    case name:                                                                                     \
        return text;
#define SIMT_NAME(name, value, text) SIMT_CASE(name, value, #name)

const char *cudaGetErrorName(cudaError_t error) {
    switch (error) { SIMT_ERRORS(SIMT_NAME) }
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error) {
    switch (error) { SIMT_ERRORS(SIMT_CASE) }
    return "unrecognized error code";
}

cudaError_t cudaGetLastError() {
    return std::exchange(last_error, cudaSuccess);
}

cudaError_t cudaGetDeviceCount(int *count) {
    return call_without_context([&] {
        *count = device_count;
        require_device(0);
    });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *result, int device) {
    return call_without_context([&] {
        require_device(device);
        *result = properties();
    });
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
    return call_without_context([&] {
        require_device(device);
        const cudaDeviceProp all = properties();
        const std::map<cudaDeviceAttr, std::size_t> values = {
            {cudaDevAttrMaxThreadsPerBlock, all.maxThreadsPerBlock},
            {cudaDevAttrMaxSharedMemoryPerBlock, all.sharedMemPerBlock},
            {cudaDevAttrWarpSize, all.warpSize},
            {cudaDevAttrMultiProcessorCount, all.multiProcessorCount},
            {cudaDevAttrL2CacheSize, all.l2CacheSize},
            {cudaDevAttrMaxThreadsPerMultiProcessor, all.maxThreadsPerMultiProcessor},
            {cudaDevAttrComputeCapabilityMajor, all.major},
            {cudaDevAttrComputeCapabilityMinor, all.minor},
            {cudaDevAttrMaxSharedMemoryPerMultiprocessor, all.sharedMemPerMultiprocessor},
            {cudaDevAttrCooperativeLaunch, all.cooperativeLaunch},
            {cudaDevAttrMaxSharedMemoryPerBlockOptin, all.sharedMemPerBlockOptin},
        };
        require(values.count(attribute), cudaErrorInvalidValue);
        *value = static_cast<int>(values.at(attribute));
    });
}

cudaError_t cudaGetDevice(int *device) {
    return call_without_context([&] {
        require_device(0);
        *device = device_of_context();
    });
}

cudaError_t cudaSetDevice(int device) {
    return call_without_context([&] {
        require_device(device);
        require(!busy, cudaErrorDevicesUnavailable);
        context = &primary[device];
    });
}

cudaError_t cudaDeviceSynchronize() {
    return call_anyway([](bool) {
        require_no_capture();
        run_until(issued);
    });
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned int,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult *status) {
    return call_without_context([&] {
        const std::string name = symbol;
        *function = name == "cuCtxGetCurrent"   ? reinterpret_cast<void *>(get_current)
                    : name == "cuCtxSetCurrent" ? reinterpret_cast<void *>(set_current)
                                                : nullptr;
        if (status)
            *status = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
        require(*function || status, cudaErrorSymbolNotFound);
    });
}

cudaError_t cudaMalloc(void **memory, size_t bytes) {
    return call([&] { allocate(memory, bytes, true); }, cudaErrorMemoryAllocation);
}

cudaError_t cudaFree(void *memory) {
    return call_anyway([&](bool) { release(memory, true); });
}

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned int) {
    return call([&] { allocate(memory, bytes, false); }, cudaErrorMemoryAllocation);
}

cudaError_t cudaMallocHost(void **memory, size_t bytes) {
    return cudaHostAlloc(memory, bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void *memory) {
    return call_anyway([&](bool) { release(memory, false); });
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
    return call([&] {
        *total = device_bytes;
        *free = device_bytes - allocated(true);
    });
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    return copy_now({to, 0, from, 0, bytes, 1}, kind);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    return copy_later({to, 0, from, 0, bytes, 1}, kind, stream);
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind) {
    return copy_now({to, to_pitch, from, from_pitch, width, height}, kind);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
    return copy_later({to, to_pitch, from, from_pitch, width, height}, kind, stream);
}

cudaError_t cudaMemset(void *memory, int value, size_t bytes) {
    return set_later(memory, value, bytes, nullptr);
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream) {
    return set_later(memory, value, bytes, stream);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream) {
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags) {
    static std::atomic<std::uint64_t> count;
    return call([&] { create(stream, {context, flags == cudaStreamDefault, ++count}); });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    return call_anyway([&](bool) {
        if (own(stream).capture)
            destroy(stream->capture);
        std::erase(capturing, stream);
        destroy(stream);
    });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return call_anyway([&](bool) { run_until(idle_stream_of(stream).last); });
}

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id) {
    return call([&] { *id = stream_of(stream).id; });
}

// The order of the queue satisfies every wait.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int) {
    return call([&] {
        own(event);
        require(!stream_of(stream).capture, cudaErrorStreamCaptureIsolation);
    });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus *status) {
    return call([&] {
        const CUstream_st &stream = stream_of(handle);
        *status = stream.invalidated ? cudaStreamCaptureStatusInvalidated
                  : stream.capture   ? cudaStreamCaptureStatusActive
                                     : cudaStreamCaptureStatusNone;
    });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
    return call([&] {
        CUstream_st &stream = stream_of(handle);
        require(&stream != &legacy, cudaErrorStreamCaptureUnsupported);
        require(!stream.capture, cudaErrorIllegalState);
        create(&stream.capture, {context, {}});
        stream.mode = mode;
        capturing.push_back(&stream);
    });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t *graph) {
    *graph = nullptr;
    return call_anyway([&](bool fails) {
        CUstream_st &stream = stream_of(handle);
        require(stream.capture, cudaErrorIllegalState);
        std::erase(capturing, &stream);
        *graph = std::exchange(stream.capture, nullptr);
        const bool invalidated = std::exchange(stream.invalidated, false);
        if (fails || invalidated)
            destroy(std::exchange(*graph, nullptr));
        require(!invalidated, cudaErrorStreamCaptureInvalidated);
    });
}

cudaError_t cudaEventCreate(cudaEvent_t *event) {
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags) {
    return call([&] { create(event, {context, (flags & cudaEventDisableTiming) == 0}); });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    return call_anyway([&](bool) { destroy(event); });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
    return call([&] {
        CUstream_st &stream = idle_stream_of(handle);
        own(event).time = std::make_shared<Clock::time_point>();
        submit(stream, [time = event->time] { *time = Clock::now(); });
        event->record = stream.last;
    });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    return call([&] { query(own(event).record); });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return call_anyway([&](bool) { run_until(own(event).record); });
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
    return call([&] {
        require(own(start).timed && own(end).timed && start->time && end->time,
                cudaErrorInvalidResourceHandle);
        require(executed() >= std::max(start->record, end->record), cudaErrorNotReady);
        *milliseconds = std::chrono::duration<float, std::milli>(*end->time - *start->time).count();
    });
}

cudaError_t cudaFuncSetAttribute(const void *function, cudaFuncAttribute attribute, int value) {
    return call([&] {
        require(function, cudaErrorInvalidDeviceFunction);
        if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)
            return;
        require(value >= 0 && static_cast<std::size_t>(value) <= largest_shared_bytes(),
                cudaErrorInvalidValue);
        shared_limits[function] = value;
    });
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *function) {
    return call([&] {
        require(function, cudaErrorInvalidDeviceFunction);
        *attributes = {};
        attributes->maxThreadsPerBlock = 1024;
        attributes->numRegs = 32;
        attributes->ptxVersion = attributes->binaryVersion = capability();
        attributes->maxDynamicSharedSizeBytes = static_cast<int>(shared_limit(function));
    });
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                             size_t shared_bytes, cudaStream_t stream) {
    const auto body = [&] {
        submit(stream_of(stream), launch_of(function, grid, block, arguments, shared_bytes));
    };
    return call(body, cudaErrorLaunchOutOfResources);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function,
                                void **arguments) {
    return cudaLaunchKernel(function, config->gridDim, config->blockDim, arguments,
                            config->dynamicSmemBytes, config->stream);
}

cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block,
                                        void **arguments, size_t shared_bytes,
                                        cudaStream_t stream) {
    const auto body = [&] {
        submit(stream_of(stream), launch_of(function, grid, block, arguments, shared_bytes, true));
    };
    return call(body, cudaErrorLaunchOutOfResources);
}

cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned int) {
    return call([&] { create(graph, {context, {}}); });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    return call_anyway([&](bool) { destroy(graph); });
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                   const cudaGraphNode_t *dependencies, size_t dependency_count,
                                   const cudaKernelNodeParams *parameters) {
    return call([&] {
        auto &nodes = own(graph).nodes;
        for (std::size_t at = 0; at < dependency_count; ++at)
            require(std::any_of(nodes.begin(), nodes.end(),
                                [&](const auto &known) { return known.get() == dependencies[at]; }),
                    cudaErrorInvalidValue);
        const simt::Launch launch = launch_of(parameters);
        nodes.push_back(std::make_unique<CUgraphNode_st>(CUgraphNode_st{work_of(launch), launch}));
        *node = nodes.back().get();
    });
}

cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
                                            const cudaKernelNodeAttrValue *value) {
    return call([&] {
        require(node && node->launch && attribute == cudaLaunchAttributeCooperative,
                cudaErrorInvalidValue);
        simt::Launch launch = *node->launch;
        launch.cooperative = value->cooperative != 0;
        node->work = work_of(launch);
        node->launch = launch;
    });
}

// Nodes run in the order in which they were added, so a dependency must lead back.
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                     const cudaGraphNode_t *to, const cudaGraphEdgeData *,
                                     size_t count) {
    return call([&] {
        const auto &nodes = own(graph).nodes;
        const auto place = [&](cudaGraphNode_t node) {
            const auto at = std::find_if(nodes.begin(), nodes.end(),
                                         [&](const auto &known) { return known.get() == node; });
            require(at != nodes.end(), cudaErrorInvalidValue);
            return at;
        };
        for (std::size_t at = 0; at < count; ++at)
            require(place(from[at]) < place(to[at]), cudaErrorInvalidValue);
    });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph,
                                 unsigned long long) {
    return call([&] {
        CUgraphExec_st made = {context, {}};
        for (const auto &node : own(graph).nodes)
            made.steps.emplace_back(node.get(), node->work);
        create(executable, std::move(made));
    });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    return call_anyway([&](bool) { destroy(executable); });
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaKernelNodeParams *parameters) {
    return call([&] {
        auto &steps = own(executable).steps;
        const auto step = std::find_if(steps.begin(), steps.end(),
                                       [&](const auto &known) { return known.first == node; });
        require(step != steps.end() && node->launch, cudaErrorInvalidValue);
        step->second = work_of(launch_of(parameters, node->launch->cooperative));
    });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    const auto body = [&] {
        submit(stream_of(stream), [steps = own(executable).steps, owner = context] {
            for (const auto &[node, work] : steps)
                if (!lost.count(owner))
                    work();
        });
    };
    return call(body, cudaErrorLaunchOutOfResources);
}
