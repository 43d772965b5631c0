// SPDX-License-Identifier: BSD-2-Clause
#include "cpu/runs.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/runs.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gpv::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
void pack_unequal(const T *a, const T *b, std::size_t length, std::uint8_t *bits) {
    const hn::ScalableTag<T> d;
    const std::size_t lanes = hn::Lanes(d);
    std::size_t x = 0;
    if (lanes % 8 == 0)
        for (; x + lanes <= length; x += lanes)
            hn::StoreMaskBits(d, hn::Ne(hn::LoadU(d, a + x), hn::LoadU(d, b + x)), bits + x / 8);
    for (; x < length; x += 8) {
        unsigned byte = 0;
        for (std::size_t i = 0; i < 8 && x + i < length; i++)
            byte |= unsigned{a[x + i] != b[x + i]} << i;
        bits[x / 8] = static_cast<std::uint8_t>(byte);
    }
}

/// The words of a row one after the other, and each pixel's left neighbour.
class Shifted {
  public:
    /// Bit x of the result is bit x - 1 of the row.
    HWY_INLINE std::uint64_t operator()(std::uint64_t word) {
        const std::uint64_t result = word << 1 | last_;
        last_ = word >> 63;
        return result;
    }

  private:
    std::uint64_t last_ = 0;
};

template <class F>
HWY_INLINE void for_bits(std::uint64_t bits, F f) {
    for (; bits; bits &= bits - 1)
        f(std::countr_zero(bits));
}

std::size_t find_runs(const std::uint64_t *set, const std::uint64_t *edges, std::size_t words,
                      std::uint64_t *starts, Run *runs) {
    Run *start = runs, *end = runs;
    Shifted shifted_set, shifted_edges;
    for (std::size_t i = 0; i < words; i++) {
        const std::uint64_t left = shifted_set(set[i]);
        const std::uint64_t cut = edges ? shifted_edges(edges[i]) : 0;
        const auto x = static_cast<int>(64 * i);
        starts[i] = set[i] & (~left | cut);
        for_bits(starts[i], [&](int bit) { start++->start = static_cast<std::uint16_t>(x + bit); });
        for_bits(left & (~set[i] | cut),
                 [&](int bit) { end++->end = static_cast<std::uint16_t>(x + bit); });
    }
    return static_cast<std::size_t>(end - runs);
}

/// Counts the runs of a row along its words.
class Ranks {
  public:
    HWY_INLINE explicit Ranks(const std::uint64_t *starts) : starts_(starts) {}
    /// Of the run that pixel x of the word is in or behind.
    HWY_INLINE int at(int x) const { return before_ + std::popcount(*starts_ << (63 - x)) - 1; }
    /// Of the one that its left neighbour is in or behind.
    HWY_INLINE int left_of(int x) const { return at(x) - static_cast<int>(*starts_ >> x & 1); }
    HWY_INLINE void next() { before_ += std::popcount(*starts_++); }

  private:
    const std::uint64_t *starts_;
    int before_ = 0;
};

HWY_INLINE Joint joint(int above, int below) {
    return {static_cast<std::uint16_t>(above), static_cast<std::uint16_t>(below)};
}

std::size_t find_joints(const RunBits &above, const RunBits &below, std::size_t words, bool corners,
                        Joint *joints) {
    Joint *next = joints;
    Ranks above_ranks(above.starts), below_ranks(below.starts);
    Shifted shifted_above, shifted_below, shifted_common;
    for (std::size_t i = 0; i < words; i++, above_ranks.next(), below_ranks.next()) {
        std::uint64_t a = above.set[i], b = below.set[i];
        // Runs that touch at corners overlap when both are one pixel longer.
        if (corners) {
            a |= shifted_above(a);
            b |= shifted_below(b);
        }
        const std::uint64_t common = a & b;
        const std::uint64_t first =
            common & (~shifted_common(common) | above.starts[i] | below.starts[i]);
        for_bits(first, [&](int x) { *next++ = joint(above_ranks.at(x), below_ranks.at(x)); });
    }
    return static_cast<std::size_t>(next - joints);
}

std::size_t find_equal_joints(const RunBits &above, const RunBits &below,
                              const UnequalBits &unequal, std::size_t words, Joint *joints) {
    Joint *next = joints;
    Ranks above_ranks(above.starts), below_ranks(below.starts);
    Shifted shifted_above, shifted_below, shifted_equal, shifted_falling, shifted_rising;
    const bool corners = unequal.falling != nullptr;
    for (std::size_t i = 0; i < words; i++, above_ranks.next(), below_ranks.next()) {
        const std::uint64_t a = above.set[i], b = below.set[i];
        const std::uint64_t equal = a & b & ~unequal.vertical[i];
        const std::uint64_t left_equal = shifted_equal(equal);
        const std::uint64_t vertical = equal & (~left_equal | above.starts[i]);
        std::uint64_t falling = 0, rising = 0;
        if (corners) {
            const std::uint64_t alone = ~equal & ~left_equal; // else the runs meet elsewhere
            falling = shifted_above(a) & b & alone & ~shifted_falling(unequal.falling[i]);
            rising = a & shifted_below(b) & alone & ~shifted_rising(unequal.rising[i]);
        }
        // At one place a rising joint comes before any other, because its run below does.
        for_bits(vertical | falling | rising, [&](int x) {
            *next = joint(above_ranks.at(x), below_ranks.left_of(x));
            next += rising >> x & 1;
            const bool falls = falling >> x & 1;
            *next = joint(falls ? above_ranks.left_of(x) : above_ranks.at(x), below_ranks.at(x));
            next += (vertical | falling) >> x & 1;
        });
    }
    return static_cast<std::size_t>(next - joints);
}

template <class T>
void fill_runs(const Run *runs, const std::uint32_t *values, std::size_t count,
               std::uint32_t background, T *row, std::size_t length) {
    const hn::ScalableTag<T> d;
    const std::size_t lanes = hn::Lanes(d);
    std::size_t x = 0;
    // Whole vectors: what they write too much, the next call overwrites.
    const auto fill_to = [&](std::size_t end, std::uint32_t value) HWY_ATTR {
        const auto vector = hn::Set(d, static_cast<T>(value));
        for (; x < end && x + lanes <= length; x += lanes)
            hn::StoreU(vector, d, row + x);
        const T sample = static_cast<T>(value);
        for (; x < end; x++) // a T of several samples need not be aligned
            std::memcpy(reinterpret_cast<std::byte *>(row + x), &sample, sizeof sample);
        x = end;
    };
    for (std::size_t i = 0; i < count; i++) {
        fill_to(runs[i].start, background);
        fill_to(runs[i].end, values[i]);
    }
    fill_to(length, background);
}

void halve_rows(const std::uint32_t *a, const std::uint32_t *b, std::uint32_t *sites,
                std::size_t count) {
    const hn::ScalableTag<std::uint32_t> d;
    const std::size_t lanes = hn::Lanes(d);
    std::size_t x = 0;
    for (; x + lanes <= count; x += lanes) {
        hn::Vec<decltype(d)> a0, a1, b0, b1;
        hn::LoadInterleaved2(d, a + 2 * x, a0, a1);
        hn::LoadInterleaved2(d, b + 2 * x, b0, b1);
        hn::StoreU(hn::Max(hn::Max(a0, a1), hn::Max(b0, b1)), d, sites + x);
    }
    for (; x < count; x++)
        sites[x] = std::max({a[2 * x], a[2 * x + 1], b[2 * x], b[2 * x + 1]});
}

void drop_fourth(const std::uint8_t *in, std::uint8_t *out, std::size_t pixels) {
    const hn::ScalableTag<std::uint8_t> d;
    const std::size_t lanes = hn::Lanes(d);
    std::size_t x = 0;
    for (; x + lanes <= pixels; x += lanes) {
        hn::Vec<decltype(d)> first, second, third, fourth;
        hn::LoadInterleaved4(d, in + 4 * x, first, second, third, fourth);
        hn::StoreInterleaved3(first, second, third, d, out + 3 * x);
    }
    for (; x < pixels; x++)
        std::memcpy(out + 3 * x, in + 4 * x, 3);
}

// One plain function per sample type: the dispatch tables hold no templates.
#define GPV_PACK_FUNCTION(suffix, T)                                                               \
    void unequal_##suffix(const T *a, const T *b, std::size_t length, std::uint8_t *bits) {        \
        HWY_NAMESPACE::pack_unequal(a, b, length, bits);                                           \
    }
#define GPV_FILL_FUNCTION(suffix, T)                                                               \
    void fill_##suffix(const Run *runs, const std::uint32_t *values, std::size_t count,            \
                       std::uint32_t background, T *row, std::size_t length) {                     \
        HWY_NAMESPACE::fill_runs(runs, values, count, background, row, length);                    \
    }

GPV_PACK_FUNCTION(u8, std::uint8_t)
GPV_PACK_FUNCTION(u16, std::uint16_t)
GPV_PACK_FUNCTION(u32, std::uint32_t)
GPV_FILL_FUNCTION(u8, std::uint8_t)
GPV_FILL_FUNCTION(u16, std::uint16_t)
GPV_FILL_FUNCTION(u32, std::uint32_t)
#undef GPV_PACK_FUNCTION
#undef GPV_FILL_FUNCTION

} // namespace gpv::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gpv::cpu {

HWY_EXPORT(find_runs);
HWY_EXPORT(find_joints);
HWY_EXPORT(find_equal_joints);
HWY_EXPORT(halve_rows);
HWY_EXPORT(drop_fourth);

void halve_rows(const std::uint32_t *a, const std::uint32_t *b, std::uint32_t *sites,
                std::size_t count) {
    HWY_DYNAMIC_DISPATCH(halve_rows)(a, b, sites, count);
}

void drop_fourth(const std::uint8_t *in, std::uint8_t *out, std::size_t pixels) {
    HWY_DYNAMIC_DISPATCH(drop_fourth)(in, out, pixels);
}

std::size_t find_runs(const std::uint64_t *set, const std::uint64_t *edges, std::size_t words,
                      std::uint64_t *starts, Run *runs) {
    return HWY_DYNAMIC_DISPATCH(find_runs)(set, edges, words, starts, runs);
}

std::size_t find_joints(const RunBits &above, const RunBits &below, std::size_t words, bool corners,
                        Joint *joints) {
    return HWY_DYNAMIC_DISPATCH(find_joints)(above, below, words, corners, joints);
}

std::size_t find_equal_joints(const RunBits &above, const RunBits &below,
                              const UnequalBits &unequal, std::size_t words, Joint *joints) {
    return HWY_DYNAMIC_DISPATCH(find_equal_joints)(above, below, unequal, words, joints);
}

#    define GPV_PACK_DISPATCH(suffix, T)                                                           \
        HWY_EXPORT(unequal_##suffix);                                                              \
        template <>                                                                                \
        void pack_unequal(const T *a, const T *b, std::size_t length, std::uint8_t *bits) {        \
            HWY_DYNAMIC_DISPATCH(unequal_##suffix)(a, b, length, bits);                            \
        }
#    define GPV_FILL_DISPATCH(suffix, T)                                                           \
        HWY_EXPORT(fill_##suffix);                                                                 \
        template <>                                                                                \
        void fill_runs(const Run *runs, const std::uint32_t *values, std::size_t count,            \
                       std::uint32_t background, T *row, std::size_t length) {                     \
            HWY_DYNAMIC_DISPATCH(fill_##suffix)(runs, values, count, background, row, length);     \
        }

GPV_PACK_DISPATCH(u8, std::uint8_t)
GPV_PACK_DISPATCH(u16, std::uint16_t)
GPV_PACK_DISPATCH(u32, std::uint32_t)
GPV_FILL_DISPATCH(u8, std::uint8_t)
GPV_FILL_DISPATCH(u16, std::uint16_t)
GPV_FILL_DISPATCH(u32, std::uint32_t)
#    undef GPV_PACK_DISPATCH
#    undef GPV_FILL_DISPATCH

} // namespace gpv::cpu
#endif
