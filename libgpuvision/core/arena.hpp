// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
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
        std::byte *piece = base_ ? base_ + next_ + front * sizeof(T) : nullptr;
        next_ += round_up(count * sizeof(T), alignment_);
        max_ = std::max(max_, next_);
        return reinterpret_cast<T *>(piece);
    }
    /// Bytes that the block needs.
    std::size_t used() const { return max_; }

    /// What has been taken since here() can be taken again after back_to().
    std::size_t here() const { return next_; }
    void back_to(std::size_t here) { next_ = here; }

  private:
    std::size_t alignment_;
    std::byte *base_;
    std::size_t next_ = 0;
    std::size_t max_ = 0;
};

/// An element of a piece, or of none where it is only added up.
template <class T>
T *element(T *piece, std::size_t index) {
    return piece ? piece + index : nullptr;
}

} // namespace gpv
