// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <vector>

#include "core/device.hpp"
#include "cuda/runtime.hpp"

namespace gpv::cuda {

/// Outputs in host memory that are complete only after a wait.
class Delivery {
  public:
    /// Writes the output if the work that produces it has finished.
    virtual void deliver_if_finished() = 0;

  protected:
    ~Delivery() = default;
};

/// One CUDA context: the primary one of a device, or the one that was current
/// when this was made.
class CudaDevice final : public Device {
  public:
    explicit CudaDevice(int device);
    ~CudaDevice() override;
    CudaDevice(const CudaDevice &) = delete;
    CudaDevice &operator=(const CudaDevice &) = delete;

    const std::string &name() const override { return name_; }
    void require_accessible(Memory memory, int device, const char *name) const override;
    Memory memory() const override { return Memory::cuda; }
    void *allocate(std::size_t bytes) override;
    void initialize(void *memory, std::size_t bytes, Stream stream) override;
    void free(void *memory) noexcept override;
    void synchronize(Stream stream) override;
    void follow(Stream stream, Stream leader) override;
    /// Number of multiprocessors of the device.
    int multiprocessors() const { return multiprocessors_; }
    /// Greatest shared memory of a block, bytes.
    std::size_t shared_bytes() const { return shared_bytes_; }

    void *enter() override;
    void leave(void *previous) noexcept override;

    void add(Delivery *delivery) { deliveries_.push_back(delivery); }
    void remove(Delivery *delivery) { std::erase(deliveries_, delivery); }

  private:
    std::string name_;
    int ordinal_ = 0;
    int multiprocessors_ = 0;
    std::size_t shared_bytes_ = 0;
    void *context_ = nullptr;
    cudaEvent_t order_ = nullptr; ///< for follow(), made in its first call
    std::vector<Delivery *> deliveries_;
};

} // namespace gpv::cuda
