// SPDX-License-Identifier: BSD-2-Clause
// As if the machine had more processors: loops of the library have four threads each.
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

extern "C" void run_in_arena(void (*run)(void *), void *user) {
    constexpr int threads = 4, callers = 8;
    tbb::global_control more(tbb::global_control::max_allowed_parallelism, threads * callers);
    tbb::task_arena(threads).execute([&] { run(user); });
}
