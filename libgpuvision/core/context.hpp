// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <gpuvision/context.h>

#include "core/backends.hpp"
#include "core/device.hpp"
#include "core/error.hpp"
#include "core/params.hpp"

namespace gpv {

extern const Fields context_fields;

/// One backend on one device. Shared by the caller's handle and every object
/// made from it, so that handles may be destroyed in any order.
class Context {
  public:
    explicit Context(const gpv_context_params &params);

    /// True if a context of that backend can be expected to be made.
    static bool available(gpv_backend backend);

    gpv_backend backend() const;
    const BackendFunctions &functions() const { return *functions_; }
    Device &device() const { return *device_; }
    /// Of a loop on the CPU; 0 = none.
    int thread_limit() const { return params_.threads; }
    void log(gpv_log_level level, const char *text) const;

    /// Records the text of a failure, and the loss of the device if status says so.
    void fail(Status status, const char *text) noexcept;
    const std::string &error() const { return error_; }
    /// Makes the device current for as long as the result lives. Throws once the device has been
    /// lost.
    DeviceScope enter() const;

  private:
    friend class Buffer;
    void use(const BackendFunctions &functions);

    gpv_context_params params_;
    const BackendFunctions *functions_ = nullptr;
    std::unique_ptr<Device> device_;
    std::string error_;
    bool lost_ = false;
};

/// Scratch in the device's memory, from the context's allocator, aligned to 256
/// bytes. Grows and never shrinks; growing loses the content.
class Buffer {
  public:
    explicit Buffer(std::shared_ptr<Context> context) : context_(std::move(context)) {}
    ~Buffer() { release(); }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;

    /// If the buffer has to grow, all work that uses it must have finished.
    void reserve(std::size_t bytes, Stream stream);
    std::byte *data() const { return data_; }
    std::size_t size() const { return size_; }
    const Context &context() const { return *context_; }

  private:
    void release();

    std::shared_ptr<Context> context_;
    Stream stream_ = nullptr;
    std::byte *data_ = nullptr;
    std::size_t size_ = 0;
};

/// Base class of all operators.
class Operator {
  public:
    virtual ~Operator() = default;
    virtual bool finished() = 0; ///< throws the error of a failed run
    virtual void wait() = 0;     ///< throws the error of a failed run
};

} // namespace gpv
