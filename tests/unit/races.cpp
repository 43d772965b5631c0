// SPDX-License-Identifier: BSD-2-Clause
// Loops as the library's, and a counter that nothing guards: the calls of one loop count, or two
// callers on threads that their loops share, each between its own, or none. races.py looks at what
// ThreadSanitizer says.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <latch>
#include <string_view>
#include <thread>
#include <vector>

#include "cpu/threads.hpp"

/// tests/api/arena.cpp.
extern "C" void run_on_threads(int threads, void (*run)(void *), void *user);

namespace {

// As much as is worth several threads. With four times as much a report was missed now and then.
constexpr int loops = 20, width = 2048, height = 128, threads = 4;

int counter;

struct Caller {
    bool counts_in_loops, counts_between;
    std::vector<int> image = std::vector<int>(width * height);
    bool wrong = false;

    /// Each call writes rows that the caller has written, and will read.
    void run() {
        for (int i = 0; i < loops; i++) {
            if (counts_between)
                counter++;
            std::fill(image.begin(), image.end(), i);
            gpv::cpu::parallel_bands(height, 1, gpv::cpu::thread_count(0), [&](int, int row, int) {
                for (int x = 0; x < width; x++)
                    image[row * width + x]++;
                if (counts_in_loops)
                    counter++;
            });
            wrong |= std::count(image.begin(), image.end(), i + 1) != width * height;
        }
    }
};

void run(void *caller) {
    static_cast<Caller *>(caller)->run();
}

} // namespace

int main(int, char **argv) {
    const std::string_view counts = argv[1];
    std::printf("%p\n", static_cast<void *>(&counter));
    std::fflush(stdout);
    Caller one{counts == "in-loop", counts == "between-callers"}, other = one;
    if (one.counts_in_loops) {
        run_on_threads(threads, run, &one);
        return one.wrong;
    }
    // What oneTBB makes at first, and guards unseen, is there before two threads use it.
    run_on_threads(
        threads, [](void *) {}, nullptr);
    std::latch both(2);
    const auto start = [&](Caller &caller) {
        both.arrive_and_wait();
        run_on_threads(threads, run, &caller);
    };
    std::thread beside(start, std::ref(other));
    start(one);
    beside.join();
    return one.wrong || other.wrong;
}
