// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

/// Vectorised arithmetic on rows of samples: everything in cpu/erode.cpp that
/// touches a pixel, some of it used by cpu/ccl.cpp too. Lengths are in samples
/// of T. Nothing outside the lengths given is read or written unless a function
/// says so.
namespace gpv::cpu {

/// minimum and maximum of samples; all (and) and any (or) of bits.
enum class Reduce { minimum, maximum, all, any };

/// Bytes behind the last sample that slide_row() may read and write.
inline constexpr std::size_t row_slack = 256;

/// out[x] = reduce over k of in[k][x], count >= 1. out may be one of the inputs.
template <class T>
void reduce_rows(Reduce reduce, const T *const *in, std::size_t count, T *out, std::size_t length);

/// Both windows of count rows in in[0 .. count], count >= 1: a without the last row, b without the
/// first.
template <class T>
void reduce_pair(Reduce reduce, const T *const *in, std::size_t count, T *a, T *b,
                 std::size_t length);

/// One step of a running window (van Herk): prefix = reduce(prefix, row), out = reduce(prefix,
/// suffix). out may be suffix.
template <class T>
void extend_rows(Reduce reduce, T *prefix, const T *row, const T *suffix, T *out,
                 std::size_t length);

/// out[x] = reduce of row[x - radius step .. x + radius step], every step-th sample.
/// row must be readable and writable from -radius step to length + radius step
/// + row_slack bytes; its content is used up. out must not be in row.
template <class T>
void slide_row(Reduce reduce, T *row, std::size_t length, int radius, int step, T *out);

/// out = a - b, not below 0. out may be a or b.
template <class T>
void subtract_rows(const T *a, const T *b, T *out, std::size_t length);

/// out = colour with one of four samples, at, taken from alpha. out may be alpha.
void merge_fourth(const std::uint8_t *colour, const std::uint8_t *alpha, std::uint8_t *out,
                  std::size_t pixels, int at = 3);

/// grey = (77 R + 150 G + 29 B + 128) >> 8. red is the channel that holds R, 0 or 2.
void luma_row(const std::uint8_t *pixels, int channels, int red, std::uint8_t *grey,
              std::size_t length);

/// Writes grey to the three colour channels; a fourth comes from alpha, which may be out.
void spread_row(const std::uint8_t *grey, int channels, const std::uint8_t *alpha,
                std::uint8_t *out, std::size_t length);

/// Bytes behind the last one with bits that pack_row() may write.
inline constexpr std::size_t pack_slack = 8;

/// Bit x of bits, counted from the lowest bit of the first byte, says whether
/// (row[x] ^ flip) >= threshold. Bits behind length in its last byte become 0; behind
/// that it may write pack_slack bytes.
template <class T>
void pack_row(const T *row, std::size_t length, int flip, int threshold, std::uint8_t *bits);

/// The reverse: all bits of the sample set, or none.
template <class T>
void unpack_row(const std::uint8_t *bits, std::size_t length, T *row);

/// Words that slide_bits() needs on either side of a row.
constexpr std::size_t bit_padding(int radius) {
    return radius / 64 + 2;
}

/// slide_row() on bits, for Reduce::all and Reduce::any. row must be readable and writable from
/// bit_padding words in front of it to as many behind; its content is used up.
void slide_bits(Reduce reduce, std::uint64_t *row, std::size_t words, int radius,
                std::uint64_t *out);

} // namespace gpv::cpu
