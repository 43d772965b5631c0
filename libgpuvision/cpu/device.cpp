// SPDX-License-Identifier: BSD-2-Clause
#include <hwy/targets.h>

#include "core/backends.hpp"
#include "cpu/threads.hpp"

namespace gpv::cpu {

std::string device_name() {
    // The best target is the lowest bit set.
    const auto targets = hwy::SupportedTargets() & HWY_TARGETS;
    return std::string("CPU (") + hwy::TargetName(targets & -targets) + ", " +
           std::to_string(thread_count()) + " threads)";
}

} // namespace gpv::cpu
