// SPDX-License-Identifier: BSD-2-Clause
// ThreadSanitizer does not see into oneTBB, which is seldom built with it. So the templates of
// oneTBB, all of which are here, are left out as well, and it is told what a loop orders: its start
// before each call, and each call before its end, but no call before another.
#ifdef __has_feature
#    if __has_feature(thread_sanitizer)
#        define GPV_TSAN
#    endif
#endif
#ifdef GPV_TSAN
#    include <sanitizer/tsan_interface.h>
#    pragma clang attribute push(__attribute__((disable_sanitizer_instrumentation)),               \
                                 apply_to = function)
#    include <chrono>
#endif

#include "cpu/threads.hpp"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

namespace gpv::cpu {

namespace {

template <class Call>
void run_on_tbb(int workers, const Call &call) {
    tbb::task_group_context own(tbb::task_group_context::isolated);
    tbb::this_task_arena::isolate([&] { tbb::parallel_for(0, workers, call, own); });
}

#ifdef GPV_TSAN
/// A loop that is over before others have woken up would show nothing, nor one whose others have
/// yielded. A thread that makes two of the calls waits in vain, and so not for long.
void await_others(std::atomic<int> &arrived, int workers) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
    arrived++;
    while (arrived < workers && std::chrono::steady_clock::now() < end)
        continue;
}
#endif

} // namespace

int thread_count(int limit) {
    const auto allowed =
        tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
    const int count = std::min(tbb::this_task_arena::max_concurrency(), static_cast<int>(allowed));
    return limit > 0 ? std::min(limit, count) : count;
}

int workers_for(std::int64_t work, std::int64_t grain, int limit) {
    return static_cast<int>(std::clamp<std::int64_t>(work / grain, 1, thread_count(limit)));
}

void run_workers(int workers, void (*work)(const void *body, int worker), const void *body) {
#ifdef GPV_TSAN
    char start, end; // what is ordered by each, and by its address alone
    std::atomic<int> arrived = 0;
    __tsan_release(&start);
    run_on_tbb(workers, [&](int worker) {
        await_others(arrived, workers);
        __tsan_acquire(&start);
        work(body, worker);
        __tsan_release(&end);
    });
    __tsan_acquire(&end);
#else
    run_on_tbb(workers, [=](int worker) { work(body, worker); });
#endif
}

} // namespace gpv::cpu

#ifdef GPV_TSAN
#    pragma clang attribute pop
#endif
