// SPDX-License-Identifier: BSD-2-Clause
// Sorts the pixels by cell, counts the colours of each cell, and puts the cells into groups.
#include "cpu/kmeans_internal.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kmeans_cells.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/kmeans_vectors.hpp"

HWY_BEFORE_NAMESPACE();
namespace gpv::cpu::kmeans::HWY_NAMESPACE {

/// A bit for each place of a cell: whether its count is not 0.
void find_colors(const std::uint32_t *counts, std::uint64_t *bits) {
    const hn::RebindToUnsigned<Ints> d;
    const std::size_t lanes = hn::Lanes(d);
    for (std::size_t i = 0; i < cell_colors; i += 64) {
        std::uint64_t word = 0;
        for (std::size_t j = 0; j < 64; j += lanes)
            word |= mask_bits(d, hn::Ne(hn::Load(d, counts + i + j), hn::Zero(d))) << j;
        bits[i / 64] = word;
    }
}

/// Channels to cells and places, in whole vectors.
void code_row(const std::uint8_t *const *rows, std::uint16_t *cells, std::uint16_t *places,
              std::size_t length) {
    const hn::ScalableTag<std::uint16_t> d;
    const hn::Rebind<std::uint8_t, decltype(d)> d8;
    const auto seven = hn::Set(d, 7);
    for (std::size_t x = 0; x < length; x += hn::Lanes(d)) {
        const auto a = hn::PromoteTo(d, hn::LoadU(d8, rows[0] + x));
        const auto b = hn::PromoteTo(d, hn::LoadU(d8, rows[1] + x));
        const auto c = hn::PromoteTo(d, hn::LoadU(d8, rows[2] + x));
        hn::StoreU(hn::Or(hn::Or(hn::ShiftLeft<10>(hn::ShiftRight<3>(a)),
                                 hn::ShiftLeft<5>(hn::ShiftRight<3>(b))),
                          hn::ShiftRight<3>(c)),
                   d, cells + x);
        hn::StoreU(
            hn::Or(hn::Or(hn::ShiftLeft<6>(hn::And(a, seven)), hn::ShiftLeft<3>(hn::And(b, seven))),
                   hn::And(c, seven)),
            d, places + x);
    }
}

} // namespace gpv::cpu::kmeans::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gpv::cpu::kmeans {
namespace {

HWY_EXPORT(find_colors);
HWY_EXPORT(code_row);

/// bits: whether the colours of a cell occur.
Box box_of(const std::uint64_t *bits, const Color &corner) {
    unsigned seen[3] = {};
    for (int plane = 0; plane < cell_side; plane++)
        for (int row = 0; row < cell_side; row++) {
            const unsigned occurs = bits[plane] >> (cell_side * row) & 255;
            seen[0] |= unsigned{occurs != 0} << plane;
            seen[1] |= unsigned{occurs != 0} << row;
            seen[2] |= occurs;
        }
    const int from[3] = {corner.red, corner.green, corner.blue};
    Box box;
    for (int i = 0; i < 3; i++) {
        box.low[i] = static_cast<std::uint8_t>(from[i] + std::countr_zero(seen[i]));
        box.high[i] = static_cast<std::uint8_t>(from[i] + std::bit_width(seen[i]) - 1);
    }
    return box;
}

/// The cube of four cells each way that it lies in.
std::uint32_t block_of(const Cell &cell) {
    const std::uint32_t n = cell.number;
    return (n >> 12 & 7) << 6 | (n >> 7 & 7) << 3 | (n >> 2 & 7);
}

} // namespace

Codes Reader::read(int y, const Workspace &work, std::uint16_t *cells,
                   std::uint16_t *places) const {
    colors_.read(y, work.channels);
    if (lab_)
        for (int x = 0; x < width_; x++)
            convert(work.channels, x);
    HWY_DYNAMIC_DISPATCH(code_row)(work.channels, cells, places, width_);
    return {cells, places};
}

/// Those in Lab, which take long, are kept when they are read first.
Codes CpuKmeans::read(const Reader &reader, int y, const Workspace &work, bool first) const {
    if (!lab())
        return reader.read(y, work, work.cells, work.places);
    std::uint16_t *cells = code_cells_ + code_stride_ * y;
    std::uint16_t *places = code_places_ + code_stride_ * y;
    return first ? reader.read(y, work, cells, places) : Codes{cells, places};
}

void CpuKmeans::count(const Image &src, const Reader &reader) {
    sort_pixels(src, reader);
    std::fill_n(squares_, workers_, 0);
    constexpr int band = 16;
    parallel_bands(cell_number_, band, workers_, [&](int worker, int first, int last) {
        for (int i = first; i < last; i++)
            squares_[worker] += count_colors(i);
    });
    squares_of_all_ = std::accumulate(squares_, squares_ + workers_, std::uint64_t{0});
    group_cells();
}

/// Calls f(starts, codes) for every row, with the counters of its part of the image. A part is
/// read by one thread.
template <class F>
void CpuKmeans::for_parts(const Image &src, const Reader &reader, bool first, F f) {
    parallel_bands(workers_, 1, workers_, [&](int worker, int part, int) {
        const Workspace work = workspace(worker, src.width);
        const auto row = [&](std::int64_t i) {
            return static_cast<int>(i * src.height / workers_);
        };
        std::uint32_t *starts = starts_ + std::size_t{cell_count} * part;
        if (first)
            std::fill_n(starts, cell_count, 0);
        for (int y = row(part); y < row(part + 1); y++)
            f(starts, read(reader, y, work, first));
    });
}

void CpuKmeans::sort_pixels(const Image &src, const Reader &reader) {
    for_parts(src, reader, true, [&](std::uint32_t *counts, const Codes &codes) {
        for (int x = 0; x < src.width; x++)
            counts[codes.cells[x]]++;
    });
    start_cells();
    for_parts(src, reader, false, [&](std::uint32_t *starts, const Codes &codes) {
        for (int x = 0; x < src.width; x++)
            sorted_[starts[codes.cells[x]]++] = codes.places[x];
    });
}

/// From the counts of each part to where its pixels begin.
void CpuKmeans::start_cells() {
    cell_number_ = 0;
    std::uint32_t pixels = 0, colors = 0;
    for (std::uint32_t number = 0; number < cell_count; number++) {
        const std::uint32_t first = pixels;
        for (int part = 0; part < workers_; part++)
            pixels += std::exchange(starts_[std::size_t{cell_count} * part + number], pixels);
        if (pixels == first)
            continue;
        cell_starts_[cell_number_] = first;
        cells_[cell_number_++] = {
            .number = number, .first = colors, .colors = 0, .box = {}, .sums = {}};
        colors += static_cast<std::uint32_t>(
            round_up(std::min<std::uint32_t>(pixels - first, cell_colors), max_lanes));
    }
    cell_starts_[cell_number_] = pixels;
}

/// Returns the sum over its pixels of their squares.
std::uint64_t CpuKmeans::count_colors(int index) {
    alignas(64) std::uint32_t table[cell_colors] = {};
    for (std::uint32_t i = cell_starts_[index]; i < cell_starts_[index + 1]; i++)
        table[sorted_[i]]++;
    std::uint64_t bits[cell_colors / 64];
    HWY_DYNAMIC_DISPATCH(find_colors)(table, bits);

    Cell &cell = cells_[index];
    std::uint16_t *place = colors_.places + cell.first;
    std::uint32_t *count = colors_.counts + cell.first;
    const Color corner = cell.corner();
    std::uint64_t squares = 0;
    for (int plane = 0; plane < cell_side; plane++)
        for_bits(bits[plane], [&](int in_plane) {
            const Color c{corner.red + plane, corner.green + in_plane / cell_side,
                          corner.blue + in_plane % cell_side};
            const std::uint32_t n = table[64 * plane + in_plane];
            *place++ = static_cast<std::uint16_t>(64 * plane + in_plane);
            *count++ = n;
            add({n, std::uint64_t{n} * c.red, std::uint64_t{n} * c.green,
                 std::uint64_t{n} * c.blue},
                cell.sums);
            squares += std::uint64_t{n} * squared_distance(c, {0, 0, 0});
        });
    cell.colors = static_cast<std::uint32_t>(place - colors_.places) - cell.first;
    cell.box = box_of(bits, corner);
    const std::size_t padding = round_up(cell.colors, max_lanes) - cell.colors;
    std::fill_n(place, padding, place[-1]);
    std::fill_n(count, padding, 0);
    return squares;
}

void CpuKmeans::group_cells() {
    constexpr std::uint32_t blocks = 512, max_cells = 16;
    std::uint32_t starts[blocks + 1] = {};
    for (int i = 0; i < cell_number_; i++)
        starts[block_of(cells_[i]) + 1]++;
    std::partial_sum(starts, starts + blocks + 1, starts);
    std::uint32_t next[blocks];
    std::copy_n(starts, blocks, next);
    for (int i = 0; i < cell_number_; i++)
        grouped_[next[block_of(cells_[i])]++] = static_cast<std::uint16_t>(i);
    group_number_ = 0;
    std::size_t colors = 0;
    total_ = {};
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(cell_number_); i++) {
        const Cell &cell = cells_[grouped_[i]];
        const bool same = group_number_ > 0 && i != starts[block_of(cell)] &&
                          i - groups_[group_number_ - 1].first < max_cells;
        if (!same)
            groups_[group_number_++] = {i, i, cell.box};
        groups_[group_number_ - 1].last++;
        groups_[group_number_ - 1].box.include(cell.box);
        colors += cell.colors;
        add(cell.sums, total_);
    }
    constexpr std::size_t grain = 1 << 14; // colours that are worth a thread
    color_workers_ = static_cast<int>(std::clamp<std::size_t>(colors / grain, 1, workers_));
}

} // namespace gpv::cpu::kmeans
#endif
