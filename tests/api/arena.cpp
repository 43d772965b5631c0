// SPDX-License-Identifier: BSD-2-Clause
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

/// Where loops of the library have so many threads, whatever the machine has.
extern "C" void run_on_threads(int threads, void (*run)(void *), void *user) {
    constexpr int enough = 32; // the same for all: of several limits the least holds
    tbb::global_control limit(tbb::global_control::max_allowed_parallelism, enough);
    tbb::task_arena(threads).execute([&] { run(user); });
}
