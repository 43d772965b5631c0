// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <vector>

#include "core/image.hpp"
#include "cuda/device.hpp"
#include "cuda/runtime.hpp"

namespace gpv::cuda {

/// Of the rows of our own images on the device, bytes.
inline constexpr std::size_t pitch_alignment = 128;

/// Page-locked host memory, which the device copies from and to by itself.
class PinnedBuffer {
  public:
    PinnedBuffer() = default;
    ~PinnedBuffer() { release(); }
    PinnedBuffer(const PinnedBuffer &) = delete;
    PinnedBuffer &operator=(const PinnedBuffer &) = delete;

    void reserve(std::size_t bytes);
    std::byte *data() const { return static_cast<std::byte *>(data_); }

  private:
    void release();
    void *data_ = nullptr;
    std::size_t size_ = 0;
};

/// Takes images in host memory to the device and back. Copies go piece by
/// piece, so that the host moves one piece while the device moves another.
class Staging final : public Delivery {
  public:
    explicit Staging(CudaDevice &device) : device_(device) { device_.add(this); }
    ~Staging();
    Staging(const Staging &) = delete;
    Staging &operator=(const Staging &) = delete;

    /// Bytes that a device image takes whose rows are padded as place() does it.
    static std::size_t bytes(const Image &like);
    /// The device image at base.
    static Image place(const Image &like, std::byte *base);

    /// Makes what copies of such an image to the device need.
    void reserve_upload(const Image &like);
    /// Likewise, back from it.
    void reserve_download(const Image &like);

    /// Enqueues the copy of host to device, an image that place() made. The
    /// host image may change as soon as this returns. The last run is over.
    void upload(const Image &host, const Image &device, cudaStream_t stream);
    /// Enqueues the copy of device to memory of its own.
    void download(const Image &device, cudaStream_t stream);
    /// From now on deliver() completes host with what download() has enqueued; not so if the run
    /// has left another number than 0 in refused, where that is given.
    void expect(const Image &device, const Image &host, const std::uint32_t *refused = nullptr) {
        pending_ = {device, host, refused};
    }
    /// The host image may be gone.
    void forget() { pending_.reset(); }

    void deliver(); ///< can be tried again after an error
    void deliver_if_finished() override;

  private:
    struct Piece {
        std::size_t index;
        int plane;
        int first, last; ///< rows
        std::size_t offset;
    };
    struct Pending {
        Image device, host;
        const volatile std::uint32_t *refused;
    };
    /// Calls f(piece) for each of them, and returns how many there are.
    template <class F>
    static std::size_t for_pieces(const Image &device, F f);
    static std::size_t piece_count(const Image &device);
    cudaEvent_t event(std::size_t index);

    CudaDevice &device_;
    PinnedBuffer in_, out_;
    std::vector<cudaEvent_t> events_;
    std::optional<Pending> pending_;
};

} // namespace gpv::cuda
