// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

namespace gpv {

constexpr std::size_t round_up(std::size_t value, std::size_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

/// Hands out aligned pieces of a block; without a block it only adds up.
class Carver {
  public:
    explicit Carver(std::size_t alignment, std::byte *base = nullptr)
        : alignment_(alignment), base_(base) {}

    /// front: elements that lie before the one returned.
    template <class T>
    T *take(std::size_t count, std::size_t front = 0) {
        std::byte *piece = base_ ? base_ + used_ + front * sizeof(T) : nullptr;
        used_ += round_up(count * sizeof(T), alignment_);
        return reinterpret_cast<T *>(piece);
    }
    std::size_t used() const { return used_; }

  private:
    std::size_t alignment_;
    std::byte *base_;
    std::size_t used_ = 0;
};

} // namespace gpv
