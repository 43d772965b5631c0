// SPDX-License-Identifier: BSD-2-Clause
#include "core/context.hpp"

namespace gpv {

Context::Context(const gpv_context_params &params) : params_(params) {
    const bool automatic = params_.backend == GPV_BACKEND_AUTO;
    if (params_.backend == GPV_BACKEND_CPU ||
        (automatic && !cuda::functions.available(params_.device))) {
        use(cpu::functions);
    } else {
        try {
            use(cuda::functions);
        } catch (const Error &error) {
            if (!automatic)
                throw;
            log(GPV_LOG_LEVEL_WARNING, (std::string("the CPU computes: ") + error.what()).c_str());
            use(cpu::functions);
        }
    }
    log(GPV_LOG_LEVEL_INFO, ("computes on " + device_->name()).c_str());
}

void Context::use(const BackendFunctions &functions) {
    device_ = functions.make_device(params_);
    functions_ = &functions;
}

bool Context::available(gpv_backend backend) {
    switch (backend) {
    case GPV_BACKEND_AUTO:
    case GPV_BACKEND_CPU:
        return cpu::functions.available(0);
    case GPV_BACKEND_CUDA:
        return cuda::functions.available(0);
    default:
        return false;
    }
}

gpv_backend Context::backend() const {
    return device_->memory() == Memory::cuda ? GPV_BACKEND_CUDA : GPV_BACKEND_CPU;
}

void Context::log(gpv_log_level level, const char *text) const {
    const gpv_log_level limit = params_.log_level;
    if (params_.log && level <= (limit ? limit : gpv_log_level{GPV_LOG_LEVEL_WARNING}))
        params_.log(params_.user, level, text);
}

void Context::fail(Status status, const char *text) noexcept {
    lost_ = lost_ || status == Status::device_lost;
    try {
        error_ = text;
    } catch (...) {
        error_.clear(); // no memory for it
    }
    try {
        // too_small need not be an error: the caller may want only the first few results.
        log(status == Status::too_small ? GPV_LOG_LEVEL_DEBUG : GPV_LOG_LEVEL_ERROR, text);
    } catch (...) { // a callback that throws is the caller's
    }
}

DeviceScope Context::enter() const {
    if (lost_)
        throw Error(Status::device_lost,
                    "the CUDA context was poisoned by an earlier error; destroy this gpv_context "
                    "and create a new one in a fresh CUDA context");
    return DeviceScope(*device_);
}

void Buffer::reserve(std::size_t bytes, Stream stream) {
    if (bytes <= size_)
        return;
    release();
    Device &device = context_->device();
    const gpv_context_params &params = context_->params_;
    void *memory =
        params.alloc
            ? params.alloc(params.user, static_cast<gpv_memory>(device.memory()), bytes, stream)
            : device.allocate(bytes);
    if (!memory)
        throw Error(Status::out_of_memory,
                    "no memory for " + std::to_string(bytes) + " bytes of scratch");
    data_ = static_cast<std::byte *>(memory);
    stream_ = stream;
    device.initialize(data_, bytes, stream);
    size_ = bytes;
}

void Buffer::release() {
    if (!data_)
        return;
    Device &device = context_->device();
    const gpv_context_params &params = context_->params_;
    if (params.free)
        params.free(params.user, static_cast<gpv_memory>(device.memory()), data_, stream_);
    else
        device.free(data_);
    data_ = nullptr;
    size_ = 0;
}

} // namespace gpv
