// SPDX-License-Identifier: BSD-2-Clause
// Stands between libFuzzer and a target: no run may compute for longer than a second. That is the
// time of the thread that asks, which has a part in every loop. It does not grow while other
// programs run, as that of a clock does, nor while threads of oneTBB spin, as that of the process
// does. Says at the end what the slowest run took.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

constexpr double max_seconds = 1;

double cpu_seconds() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

struct Slowest {
    double seconds = 0;
    ~Slowest() { std::fprintf(stderr, "slowest run: %.3f s of computing\n", seconds); }
} slowest;

} // namespace

extern "C" int __real_LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

extern "C" int __wrap_LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const double before = cpu_seconds();
    const int result = __real_LLVMFuzzerTestOneInput(data, size);
    const double seconds = cpu_seconds() - before;
    slowest.seconds = std::max(slowest.seconds, seconds);
    if (seconds > max_seconds) {
        std::fprintf(stderr, "a run of %.3f s\n", seconds);
        std::abort();
    }
    return result;
}
