// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace gpv::cpu {

/// Threads that a parallel loop of the calling thread may use, of which a context allows limit;
/// 0 = all.
int thread_count(int limit);

/// As many of them as there are grains of work that are worth a thread each, but at least one.
int workers_for(std::int64_t work, std::int64_t grain, int limit);

/// Calls work(body, worker) for each of the workers, on as many threads if there are.
void run_workers(int workers, void (*work)(const void *body, int worker), const void *body);

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
    std::atomic<int> next{0}; // orders no band before another
    const auto body = [&](int worker) {
        for (int first; (first = next.fetch_add(band, std::memory_order_relaxed)) < rows;)
            f(worker, first, std::min(first + band, rows));
    };
    const auto work = [](const void *self, int worker) {
        (*static_cast<decltype(body) *>(self))(worker);
    };
    run_workers(workers, work, &body);
}

/// Where a pixel is little work: rows that a thread takes at a time, and pixels that make one worth
/// its start.
inline constexpr int band_rows = 16;
inline constexpr std::int64_t grain_pixels = 65536;

/// Calls f(first, last) for bands of rows of an image, on as many threads as are worth their start.
template <class F>
void for_bands(int width, int height, int limit, F f) {
    const int workers = workers_for(std::int64_t{width} * height, grain_pixels, limit);
    parallel_bands(height, band_rows, workers, [&](int, int first, int last) { f(first, last); });
}
/// Likewise f(y) for all rows.
template <class F>
void for_rows(int width, int height, int limit, F f) {
    for_bands(width, height, limit, [&](int first, int last) {
        for (int y = first; y < last; y++)
            f(y);
    });
}

} // namespace gpv::cpu
