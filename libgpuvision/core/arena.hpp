// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstddef>

namespace gpv {

constexpr std::size_t round_up(std::size_t value, std::size_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

/// Hands out aligned pieces of one allocation. Without a base it only adds up their sizes.
class Arena {
  public:
    explicit Arena(std::size_t alignment, std::byte *base = nullptr)
        : alignment_(alignment), base_(base) {}

    /// front: elements of the piece that lie before the returned pointer.
    template <class T>
    T *allocate(std::size_t count, std::size_t front = 0) {
        std::byte *piece = base_ ? base_ + next_ + front * sizeof(T) : nullptr;
        next_ += round_up(count * sizeof(T), alignment_);
        required_ = std::max(required_, next_);
        return reinterpret_cast<T *>(piece);
    }
    /// Most bytes in use at one time.
    std::size_t required() const { return required_; }

    /// rewind() frees everything allocated since mark().
    std::size_t mark() const { return next_; }
    void rewind(std::size_t mark) { next_ = mark; }

  private:
    std::size_t alignment_;
    std::byte *base_;
    std::size_t next_ = 0;
    std::size_t required_ = 0;
};

} // namespace gpv
