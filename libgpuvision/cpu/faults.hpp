// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <mutex>
#include <tuple>

#include "core/graphcut.hpp"

namespace gpv::cpu {

/// The first of the faults that have been seen.
class FaultFinder {
  public:
    void see(std::int64_t pixel, int plane, std::int32_t value) {
        if (first_.pixel < 0 || std::tie(pixel, plane) < std::tie(first_.pixel, first_.plane))
            first_ = {.pixel = pixel, .plane = plane, .value = value};
    }
    /// What another one has seen; by any thread.
    void see(const FaultFinder &other) {
        if (other.first_.pixel < 0)
            return;
        const std::scoped_lock lock(mutex_);
        see(other.first_.pixel, other.first_.plane, other.first_.value);
    }
    const GraphcutFault &first() const { return first_; }

  private:
    std::mutex mutex_;
    GraphcutFault first_;
};

} // namespace gpv::cpu
