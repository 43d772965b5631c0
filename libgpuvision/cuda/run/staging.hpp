// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <vector>

#include "core/image.hpp"
#include "cuda/device.hpp"
#include "cuda/runtime.hpp"

namespace gpv::cuda {

/// Row pitch of internal images on the device is a multiple of this, bytes.
inline constexpr std::size_t pitch_alignment = 128;

/// Page-locked host memory, which the device can access directly (DMA).
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

/// Copies images in host memory to the device and back, piece by piece, so
/// that the host moves one piece while the device moves another.
class Staging final : public Delivery {
  public:
    explicit Staging(CudaDevice &device) : device_(device) { device_.add(this); }
    ~Staging();
    Staging(const Staging &) = delete;
    Staging &operator=(const Staging &) = delete;

    /// Bytes of the device image that place() returns.
    static std::size_t bytes(const Image &like);
    /// A device image at base with padded rows, of the shape of like.
    static Image place(const Image &like, std::byte *base);

    /// Allocates what upload() of such an image needs.
    void reserve_upload(const Image &like);
    /// Allocates what download() of such an image needs.
    void reserve_download(const Image &like);

    /// Enqueues the copy of host to device, an image from place(). The host image
    /// may change once this returns. The last run must have finished.
    void upload(const Image &host, const Image &device, cudaStream_t stream);
    /// Enqueues the copy of device to pinned memory.
    void download(const Image &device, cudaStream_t stream);
    /// The next deliver() copies the result of download() to host, unless refused is given and the
    /// run has set *refused to other than 0.
    void expect(const Image &device, const Image &host, const std::uint32_t *refused = nullptr) {
        pending_ = {device, host, refused};
    }
    /// Drops the pending copy: the host image may be gone.
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
    /// Calls f(piece) for each piece and returns the number of pieces.
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
