// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <atomic>

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

namespace gpv::cpu {

/// Threads that a parallel loop of the calling thread may use.
inline int thread_count() {
    const auto limit =
        tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
    return std::min(tbb::this_task_arena::max_concurrency(), static_cast<int>(limit));
}

/// Calls f(worker, first, last) for bands of rows that cover [0, rows), on as
/// many threads as there are workers; each worker runs one band at a time.
/// Isolated both ways: while it waits, the calling thread takes up none of the
/// caller's own tasks, which could enter the object that is running; and a
/// caller that cancels its own tasks does not leave half a result behind.
template <class F>
void parallel_bands(int rows, int band, int workers, F f) {
    if (workers == 1) {
        for (int first = 0; first < rows; first += band)
            f(0, first, std::min(first + band, rows));
        return;
    }
    std::atomic<int> next{0};
    const auto work = [&](int worker) {
        for (int first; (first = next.fetch_add(band)) < rows;)
            f(worker, first, std::min(first + band, rows));
    };
    tbb::task_group_context own(tbb::task_group_context::isolated);
    tbb::this_task_arena::isolate([&] { tbb::parallel_for(0, workers, work, own); });
}

} // namespace gpv::cpu
