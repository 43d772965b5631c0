// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/device.hpp"

#include "core/backends.hpp"
#include "core/context.hpp"
#include "core/error.hpp"
#include "cuda/kernel.cuh"

namespace gpv::cuda {
namespace {

constexpr int min_capability = 75; // ten times the compute capability

/// Loading this kernel shows whether the build has code for the device.
struct Nothing {
    static constexpr int threads = 1;
    struct Job {};
    __device__ static void run(const Job &) {}
};

int device_count() {
    int count = 0;
    const cudaError_t error = runtime.get_device_count(&count);
    if (error != cudaSuccess) {
        cudaGetLastError(); // so that no later call reports it
        throw Error(Status::no_device,
                    std::string("no usable CUDA device: ") + cudaGetErrorString(error));
    }
    return count;
}

void *current_context() {
    void *context = nullptr;
    GPV_CUDA(runtime.get_context(&context));
    return context;
}

void require_device(int device) {
    const int count = device_count();
    if (device == GPV_DEVICE_CURRENT && !current_context())
        throw Error(Status::no_device,
                    "device is GPV_DEVICE_CURRENT, but no CUDA context is current on this thread");
    if (device >= count)
        throw Error(Status::no_device, "device is " + std::to_string(device) + ", but " +
                                           std::to_string(count) + " CUDA devices were found");
}

/// Makes the device's primary context, if there is none yet.
void enter_primary_context(int device) {
    const cudaError_t error = runtime.set_device(device);
    if (error == cudaErrorDevicesUnavailable) {
        cudaGetLastError(); // so that no later call reports it
        throw Error(Status::no_device, "CUDA device " + std::to_string(device) +
                                           " is in use by another process, or closed to this one "
                                           "by its compute mode (cudaErrorDevicesUnavailable)");
    }
    GPV_CUDA(error);
}

std::string capability_text(int capability) {
    return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

/// Restores the context of the calling thread.
class KeptContext {
  public:
    KeptContext() : context_(current_context()) {}
    ~KeptContext() { runtime.set_context(context_); }
    KeptContext(const KeptContext &) = delete;
    KeptContext &operator=(const KeptContext &) = delete;

  private:
    void *context_;
};

} // namespace

CudaDevice::CudaDevice(int device) {
    require_device(device);
    const KeptContext kept;
    if (device != GPV_DEVICE_CURRENT)
        enter_primary_context(device);
    context_ = current_context();
    GPV_CUDA(runtime.get_device(&ordinal_));
    cudaDeviceProp properties;
    GPV_CUDA(runtime.get_device_properties(&properties, ordinal_));
    name_ = properties.name;
    multiprocessors_ = properties.multiProcessorCount;
    shared_bytes_ = properties.sharedMemPerBlockOptin;
    const int capability = 10 * properties.major + properties.minor;
    if (capability < min_capability)
        throw Error(Status::unsupported, name_ + " has compute capability " +
                                             capability_text(capability) + ", but " +
                                             capability_text(min_capability) + " is the least");
    load<Nothing>();
}

CudaDevice::~CudaDevice() {
    if (!order_)
        return;
    void *previous = nullptr;
    runtime.get_context(&previous);
    runtime.set_context(context_);
    runtime.event_destroy(order_);
    runtime.set_context(previous);
}

void CudaDevice::require_accessible(Memory memory, int device, const char *name) const {
    if (memory == Memory::cuda && device != ordinal_)
        throw Error(Status::unsupported,
                    std::string(name) + "->device is " + std::to_string(device) +
                        ", but the context computes on device " + std::to_string(ordinal_));
}

void *CudaDevice::allocate(std::size_t bytes) {
    void *memory = nullptr;
    const cudaError_t error = runtime.malloc(&memory, bytes);
    if (error == cudaErrorMemoryAllocation) {
        cudaGetLastError(); // so that no later call reports it
        return nullptr;
    }
    GPV_CUDA(error);
    return memory;
}

void CudaDevice::initialize(void *memory, std::size_t bytes, Stream stream) {
    // Kernels read rows in whole chunks, so that padding has to have a value.
    GPV_CUDA(runtime.memset_async(memory, 0, bytes, static_cast<cudaStream_t>(stream)));
    GPV_CUDA(runtime.stream_synchronize(static_cast<cudaStream_t>(stream)));
}

void CudaDevice::free(void *memory) noexcept {
    runtime.free(memory); // fails on a lost device, whose memory is gone
}

void CudaDevice::synchronize(Stream stream) {
    GPV_CUDA(runtime.stream_synchronize(static_cast<cudaStream_t>(stream)));
    for (Delivery *delivery : deliveries_)
        delivery->deliver_if_finished();
}

void CudaDevice::follow(Stream stream, Stream leader) {
    if (stream == leader)
        return;
    if (!order_)
        GPV_CUDA(runtime.event_create(&order_, cudaEventDisableTiming));
    GPV_CUDA(runtime.event_record(order_, static_cast<cudaStream_t>(leader)));
    GPV_CUDA(runtime.stream_wait_event(static_cast<cudaStream_t>(stream), order_, 0));
}

void *CudaDevice::enter() {
    void *previous = current_context();
    if (previous != context_)
        GPV_CUDA(runtime.set_context(context_));
    return previous;
}

void CudaDevice::leave(void *previous) noexcept {
    if (previous != context_)
        runtime.set_context(previous);
}

namespace {

bool available(int device) {
    try {
        require_device(device);
        return true;
    } catch (const std::exception &) {
        return false;
    }
}

std::unique_ptr<Device> make_device(const gpv_context_params &params) {
    return std::make_unique<CudaDevice>(params.device);
}

} // namespace

#define GPV_NAME(stem, Name) .make_##stem = make_##stem,
constexpr BackendFunctions functions = {
    .available = available, .make_device = make_device, GPV_STEMS(GPV_NAME)};
#undef GPV_NAME

} // namespace gpv::cuda
