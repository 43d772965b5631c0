// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

/// Runs of pixels of a row: how cpu/ccl.cpp finds them, and writes them out.
namespace gpv::cpu {

struct Run {
    std::uint16_t start;
    std::uint16_t end; ///< one behind its last pixel
};

/// A run of a row and one of the row below that belong together, counted from
/// the first one of each row.
struct Joint {
    std::uint16_t above;
    std::uint16_t below;
};

/// Most joints that two rows have, in either mode.
constexpr std::size_t max_joints(std::size_t length) {
    return 3 * length;
}

/// Words of a row of bits, whose last one has at least one bit behind the last pixel.
constexpr std::size_t row_words(std::size_t length) {
    return length / 64 + 1;
}

/// Bit x of bits says whether a[x] != b[x]. As pack_row() in all else.
template <class T>
void pack_unequal(const T *a, const T *b, std::size_t length, std::uint8_t *bits);

/// Finds the runs of the bits that are set; behind the last pixel none may be. A
/// run also ends behind each pixel that has its bit in edges, which may be null.
/// starts receives the bits of their first pixels. Returns how many there are.
std::size_t find_runs(const std::uint64_t *set, const std::uint64_t *edges, std::size_t words,
                      std::uint64_t *starts, Run *runs);

/// Rows of bits: the pixels of runs, and the first one of each.
struct RunBits {
    const std::uint64_t *set;
    const std::uint64_t *starts;
};

/// Finds the runs of two rows that touch; with corners also where only corners do.
/// Joints are in the order of the runs below, then of those above.
std::size_t find_joints(const RunBits &above, const RunBits &below, std::size_t words, bool corners,
                        Joint *joints);

/// What differs between pixels of two rows: bit x says above[x] != below[x],
/// above[x] != below[x + 1], above[x + 1] != below[x]. The latter two are null
/// if corners do not count.
struct UnequalBits {
    const std::uint64_t *vertical, *falling, *rising;
};

/// Finds the runs of two rows that touch in equal pixels, in the same order.
std::size_t find_equal_joints(const RunBits &above, const RunBits &below,
                              const UnequalBits &unequal, std::size_t words, Joint *joints);

/// row[x] = values[i] in runs[i], and background outside of all runs. row need
/// not be aligned.
template <class T>
void fill_runs(const Run *runs, const std::uint32_t *values, std::size_t count,
               std::uint32_t background, T *row, std::size_t length);

/// sites[x] = maximum of samples 2 x and 2 x + 1 of both rows. sites may
/// be a or b.
void halve_rows(const std::uint32_t *a, const std::uint32_t *b, std::uint32_t *sites,
                std::size_t count);

/// The first three bytes of every four.
void drop_fourth(const std::uint8_t *in, std::uint8_t *out, std::size_t pixels);

} // namespace gpv::cpu
