// SPDX-License-Identifier: BSD-2-Clause
// Push-relabel on a GPU as it is usually written: a thread for each pixel, kernels that push, that
// lift, and that search breadth-first from the sink, and a host that says when. The benchmarks have
// it beside ours.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace parity {

class PlainCut {
  public:
    /// Links that leave the image have to be 0.
    PlainCut(int width, int height, const std::vector<std::int32_t> &terminals,
             const std::vector<std::vector<std::int32_t>> &links);
    ~PlainCut();
    /// Before each run.
    void reset();
    /// The least capacity of a cut. Done on return.
    std::int64_t flow();

  private:
    struct Memory;
    std::unique_ptr<Memory> memory_;
};

} // namespace parity
