// SPDX-License-Identifier: BSD-2-Clause
#include "core/context.hpp"

#include <new>

#include "core/backends.hpp"

namespace gpv {
namespace {

constexpr std::size_t alignment = 256;

} // namespace

Context::Context(ContextOptions options) : options_(std::move(options)) {
    if (options_.backend == Backend::cuda)
        cuda::require(options_.device);
    device_name_ = cpu::device_name();
    log(LogLevel::info, ("backend cpu on " + device_name_).c_str());
}

void Context::log(LogLevel level, const char *text) const {
    if (options_.log && level <= options_.log_level)
        options_.log(level, text);
}

void Context::synchronize(Stream) {} // the CPU backend has finished when a run returns

void Context::fail(Status status, const char *text) noexcept {
    lost_ = lost_ || status == Status::device_lost;
    try {
        error_ = text;
    } catch (...) {
        error_.clear(); // no memory for it
    }
    try {
        log(LogLevel::error, text);
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
    const ContextOptions &options = context_->options_;
    void *memory = options.allocate
                       ? options.allocate(memory_, bytes, stream)
                       : ::operator new (bytes, std::align_val_t{alignment}, std::nothrow);
    if (!memory)
        throw Error(Status::out_of_memory,
                    "no memory for " + std::to_string(bytes) + " bytes of scratch");
    data_ = static_cast<std::byte *>(memory);
    size_ = bytes;
    stream_ = stream;
}

void Buffer::release() {
    if (!data_)
        return;
    if (context_->options_.free)
        context_->options_.free(memory_, data_, stream_);
    else
        ::operator delete (data_, std::align_val_t{alignment});
    data_ = nullptr;
    size_ = 0;
}

} // namespace gpv
