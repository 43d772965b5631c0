// SPDX-License-Identifier: BSD-2-Clause
// What measurements chose for labelling. ./dev gpu bench prints what they gave.
#pragma once

#include <cstdint>

namespace gpv::cuda::ccl {

/// What is labelled as one: see ccl/tile.cuh.
enum class Runs { pairs, wide_pairs, lines, values };

/// Rows of a tile. Taller ones have fewer seams, but fewer of them fit on a
/// multiprocessor, and with records of runs of equal value 32 rows are what the
/// shared memory of a device of capability 7.5 takes. H200.
constexpr int tile_rows(Runs runs) {
    return runs == Runs::values ? 32 : 64;
}

/// Columns of a stripe that one thread has. With fewer there are more threads to
/// hide waiting, with more there is less to do in all, which pays from so many
/// pixels on. H200.
#ifdef GPV_AS_IF_LARGE // for tests, whose images are small
inline constexpr std::int64_t large_image = 0;
#else
inline constexpr std::int64_t large_image = 4'000'000;
#endif
constexpr int columns_of_thread(Runs runs) {
    return runs == Runs::pairs ? 8 : 16;
}

/// Threads that number one chunk of root bits, and words that each of them has.
/// With fewer threads more multiprocessors start records; with more there are
/// fewer chunks, each of which has to know the counts of all before it. H200, up
/// to 67 million pixels.
inline constexpr int number_threads = 256;
inline constexpr int number_words = 4;

} // namespace gpv::cuda::ccl
