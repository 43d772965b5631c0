// SPDX-License-Identifier: BSD-2-Clause
// What measurements chose for labelling. ./dev gpu bench prints what they gave.
#pragma once

#include <cstdint>

namespace gpv::cuda::ccl {

/// The unit of labelling: see ccl/tile.cuh.
enum class Runs { pairs, wide_pairs, lines, values };

/// Rows of a tile. Taller ones have fewer seams, but fewer of them fit on a
/// multiprocessor, and with records of runs of equal value 32 rows are what the
/// shared memory of a device of capability 7.5 takes. H200.
constexpr int tile_rows(Runs runs) {
    return runs == Runs::values ? 32 : 64;
}

/// Columns of a stripe per thread. Fewer columns mean more threads to hide latency, more
/// columns mean less work in all, which pays from so many pixels on. H200.
inline constexpr std::int64_t large_image = 4'000'000;
constexpr int columns_of_thread(Runs runs) {
    return runs == Runs::pairs ? 8 : 16;
}

/// Threads that number one chunk of root bits, and words per thread. With fewer threads
/// more multiprocessors start records; with more there are fewer chunks, each of which
/// needs the counts of all before it. H200, up to 67 million pixels.
inline constexpr int number_threads = 256;
inline constexpr int number_words = 4;

} // namespace gpv::cuda::ccl
