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
#endif

#include "cpu/threads.hpp"

#include <chrono>
#include <thread>

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

namespace gpv::cpu {

namespace {

#ifdef GPV_TSAN
void acquire(const void *at) {
    __tsan_acquire(const_cast<void *>(at));
}
void release(const void *at) {
    __tsan_release(const_cast<void *>(at));
}
/// A loop that is over before others have woken up would show nothing.
void await_others(std::atomic<int> &arrived, int workers) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
    arrived++;
    while (arrived < workers && std::chrono::steady_clock::now() < end)
        std::this_thread::yield();
}
#else
void acquire(const void *) {}
void release(const void *) {}
void await_others(std::atomic<int> &, int) {}
#endif

} // namespace

int thread_count() {
    const auto limit =
        tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
    return std::min(tbb::this_task_arena::max_concurrency(), static_cast<int>(limit));
}

void run_workers(int workers, void (*work)(const void *body, int worker), const void *body) {
    const char start = 0, end = 0; // what is ordered by each, and by its address alone
    std::atomic<int> arrived = 0;
    const auto ordered = [&](int worker) {
        await_others(arrived, workers);
        acquire(&start);
        work(body, worker);
        release(&end);
    };
    release(&start);
    tbb::task_group_context own(tbb::task_group_context::isolated);
    tbb::this_task_arena::isolate([&] { tbb::parallel_for(0, workers, ordered, own); });
    acquire(&end);
}

} // namespace gpv::cpu

#ifdef GPV_TSAN
#    pragma clang attribute pop
#endif
