// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nvtx3/nvToolsExt.h>

namespace gpv::cuda {

/// A named span on the time line of a profiler.
class Range {
  public:
    explicit Range(const char *name) { nvtxRangePushA(name); }
    ~Range() { nvtxRangePop(); }
    Range(const Range &) = delete;
    Range &operator=(const Range &) = delete;
};

} // namespace gpv::cuda
