// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "core/image.hpp"

namespace gpv {

using Stream = void *; ///< a cudaStream_t, passed through

/// The device that a context computes on. Belongs to one context and is used
/// only from that context's thread.
class Device {
  public:
    virtual ~Device() = default;

    virtual const std::string &name() const = 0;

    /// Throws Error unless the device can access that memory.
    virtual void require_accessible(Memory memory, int device, const char *name) const = 0;

    /// The kind of memory that scratch is in.
    virtual Memory memory() const = 0;
    /// Returns scratch aligned to 256 bytes, or null if out of memory.
    virtual void *allocate(std::size_t bytes) = 0;
    /// Makes new scratch ready for use on any stream.
    virtual void initialize(void *memory, std::size_t bytes, Stream stream) = 0;
    /// All work that uses the memory must have finished.
    virtual void free(void *memory) noexcept = 0;

    /// Waits for all work on a stream, and for its outputs in host memory.
    virtual void synchronize(Stream stream) = 0;
    /// Makes later work on stream wait for the work now enqueued on leader.
    virtual void follow(Stream stream, Stream leader) = 0;

    /// Makes the device current on the calling thread and returns the previous one, for leave().
    virtual void *enter() = 0;
    virtual void leave(void *previous) noexcept = 0;
};

/// Makes the device current during its own lifetime.
class DeviceScope {
  public:
    explicit DeviceScope(Device &device) : device_(device), previous_(device.enter()) {}
    ~DeviceScope() { device_.leave(previous_); }
    DeviceScope(const DeviceScope &) = delete;
    DeviceScope &operator=(const DeviceScope &) = delete;

  private:
    Device &device_;
    void *previous_;
};

} // namespace gpv
