// SPDX-License-Identifier: BSD-2-Clause
#include <hwy/targets.h>
#include <tbb/task_arena.h>

#include "core/backends.hpp"

namespace gpv::cpu {

std::string device_name() {
    // The best target is the lowest bit set.
    const auto targets = hwy::SupportedTargets() & HWY_TARGETS;
    return std::string("CPU (") + hwy::TargetName(targets & -targets) + ", " +
           std::to_string(tbb::this_task_arena::max_concurrency()) + " threads)";
}

} // namespace gpv::cpu
