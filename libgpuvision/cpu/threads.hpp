// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

namespace gpv::cpu {

/// Threads that a parallel loop of the calling thread may use.
inline int thread_count() {
    const auto limit =
        tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
    return std::min(tbb::this_task_arena::max_concurrency(), static_cast<int>(limit));
}

} // namespace gpv::cpu
