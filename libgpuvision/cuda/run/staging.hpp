// SPDX-License-Identifier: BSD-2-Clause
// Between the caller's host memory and the device, by way of page-locked memory. Rows go piece by
// piece, so that the host moves one piece while the device moves another.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "cuda/runtime.hpp"

namespace gpv::cuda {

/// Page-locked host memory, which the device can access directly (DMA).
class PinnedBuffer {
  public:
    PinnedBuffer() = default;
    ~PinnedBuffer() { release(); }
    PinnedBuffer(const PinnedBuffer &) = delete;
    PinnedBuffer &operator=(const PinnedBuffer &) = delete;

    void reserve(std::size_t bytes);
    std::byte *data() const { return static_cast<std::byte *>(data_); }
    std::size_t size() const { return size_; }

  private:
    void release();
    void *data_ = nullptr;
    std::size_t size_ = 0;
};

/// An object in page-locked memory, which kernels write. All 0 at first.
template <class T>
class Pinned {
  public:
    Pinned() {
        buffer_.reserve(sizeof(T));
        std::memset(buffer_.data(), 0, sizeof(T));
    }
    T *get() const { return reinterpret_cast<T *>(buffer_.data()); }
    T *operator->() const { return get(); }

  private:
    PinnedBuffer buffer_;
};

/// Rows in the caller's host memory.
struct HostRows {
    const char *name; ///< of the image or buffer
    std::byte *data;
    std::int64_t stride; ///< bytes
};

/// Rows that a run reads or writes there, and where they lie meanwhile, pitch bytes apart.
struct Transfer {
    bool output;
    std::byte *device; ///< null if kernels write to pinned
    std::byte *pinned;
    std::int64_t row_bytes, pitch, rows;
    const std::int32_t *count;    ///< null, or how many of the rows there are after a run
    const std::uint32_t *refused; ///< null, or not 0 if the host's rows are to stay as they are

    /// Number of events that tell when pieces have come back: none where there is but one, or
    /// kernels write, so that nothing is there before the run is over.
    std::size_t events() const;
    /// Enqueues the copy. The host's rows may change once this returns.
    void upload(const HostRows &from, cudaStream_t stream) const;
    /// Enqueues the copy to pinned, and the events.
    void download(const cudaEvent_t *events, cudaStream_t stream) const;
    /// Copies what comes from there as the events come; without events, the run is over.
    void deliver(const HostRows &to, const cudaEvent_t *events) const;
};

} // namespace gpv::cuda
