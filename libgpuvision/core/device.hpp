// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "core/image.hpp"

namespace gpv {

using Stream = void *; ///< a cudaStream_t, passed through

/// What a context computes on. Of one context, so it belongs to that context's
/// thread.
class Device {
  public:
    virtual ~Device() = default;

    virtual const std::string &name() const = 0;

    /// Throws Error unless the device can work on what lies there.
    virtual void require_accessible(Memory memory, int device, const char *name) const = 0;

    /// Where scratch lies.
    virtual Memory memory() const = 0;
    /// Scratch aligned to 256 bytes, or null if there is none left.
    virtual void *allocate(std::size_t bytes) = 0;
    /// Makes fresh scratch ready for use on any stream.
    virtual void initialize(void *memory, std::size_t bytes, Stream stream) = 0;
    /// The last work that uses the memory has to be over.
    virtual void free(void *memory) noexcept = 0;

    /// Waits for all work on a stream, and for what it leaves in host memory.
    virtual void synchronize(Stream stream) = 0;
    /// Lets what is enqueued on stream from now on come after what is on leader by now.
    virtual void follow(Stream stream, Stream leader) = 0;

    /// Makes the device current on the calling thread and returns what was.
    virtual void *enter() = 0;
    virtual void leave(void *previous) noexcept = 0;
};

/// The device is current as long as this lives.
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
