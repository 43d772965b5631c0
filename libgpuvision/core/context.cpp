// SPDX-License-Identifier: BSD-2-Clause
#include "core/context.hpp"

#include "core/backends.hpp"

namespace gpv {

Context::Context(ContextOptions options) : options_(std::move(options)), device_(make_device()) {
    log(LogLevel::info, ("computes on " + device_->name()).c_str());
}

std::unique_ptr<Device> Context::make_device() const {
    const bool automatic = options_.backend == Backend::automatic;
    if (options_.backend == Backend::cpu || (automatic && !cuda::available(options_.device)))
        return cpu::make_device();
    try {
        return cuda::make_device(options_.device);
    } catch (const Error &error) {
        if (!automatic)
            throw;
        log(LogLevel::warning, (std::string("the CPU computes: ") + error.what()).c_str());
        return cpu::make_device();
    }
}

Backend Context::backend() const {
    return device_->memory() == Memory::cuda ? Backend::cuda : Backend::cpu;
}

void Context::log(LogLevel level, const char *text) const {
    if (options_.log && level <= options_.log_level)
        options_.log(level, text);
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
        log(status == Status::too_small ? LogLevel::debug : LogLevel::error, text);
    } catch (...) { // a callback that throws is the caller's
    }
}

void Context::require_device() const {
    if (lost_)
        throw Error(Status::device_lost,
                    "the CUDA context was poisoned by an earlier error; destroy this gpv_context "
                    "and create a new one in a fresh CUDA context");
}

void Buffer::reserve(std::size_t bytes, Stream stream) {
    if (bytes <= size_)
        return;
    release();
    Device &device = context_->device();
    const auto &allocate = context_->options_.allocate;
    void *memory = allocate ? allocate(device.memory(), bytes, stream) : device.allocate(bytes);
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
    if (context_->options_.free)
        context_->options_.free(device.memory(), data_, stream_);
    else
        device.free(data_);
    data_ = nullptr;
    size_ = 0;
}

} // namespace gpv
