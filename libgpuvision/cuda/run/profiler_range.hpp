// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nvtx3/nvToolsExt.h>

namespace gpv::cuda {

/// A named range on a profiler's time line (NVTX).
class ProfilerRange {
  public:
    explicit ProfilerRange(const char *name) { nvtxRangePushA(name); }
    ~ProfilerRange() { nvtxRangePop(); }
    ProfilerRange(const ProfilerRange &) = delete;
    ProfilerRange &operator=(const ProfilerRange &) = delete;
};

} // namespace gpv::cuda
