// SPDX-License-Identifier: BSD-2-Clause
#include "cpu/rows.hpp"

#include <cstring>
#include <functional>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gpv::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

struct Minimum {
    template <class V>
    HWY_INLINE V operator()(V a, V b) const {
        return hn::Min(a, b);
    }
};

struct Maximum {
    template <class V>
    HWY_INLINE V operator()(V a, V b) const {
        return hn::Max(a, b);
    }
};

struct All {
    template <class V>
    HWY_INLINE V operator()(V a, V b) const {
        return hn::And(a, b);
    }
};

struct Any {
    template <class V>
    HWY_INLINE V operator()(V a, V b) const {
        return hn::Or(a, b);
    }
};

template <class F>
HWY_INLINE void with(Reduce reduce, F f) {
    switch (reduce) {
    case Reduce::minimum:
        return f(Minimum());
    case Reduce::maximum:
        return f(Maximum());
    case Reduce::all:
        return f(All());
    case Reduce::any:
        return f(Any());
    }
}

/// Calls f(tag, x) so that every sample of a row is in some vector. One has most samples at most; a
/// shorter row goes through vectors of half the size, and so on. The last one overlaps its
/// neighbour, so f must give the same when repeated.
template <class T, std::size_t maximum = hn::MaxLanes(hn::ScalableTag<T>()), class F>
HWY_INLINE void for_row(std::size_t length, F f) {
    const hn::CappedTag<T, maximum> d;
    const std::size_t lanes = hn::Lanes(d);
    if constexpr (maximum > 1) {
        if (length < lanes)
            return for_row<T, maximum / 2>(length, f);
    }
    std::size_t x = 0;
    for (; x + lanes <= length; x += lanes)
        f(d, x);
    if (x < length)
        f(d, length - lanes);
}

template <class T, class Op>
void reduce_rows(Op op, const T *const *in, std::size_t count, T *out, std::size_t length) {
    const hn::ScalableTag<T> d;
    const std::size_t lanes = hn::Lanes(d);
    std::size_t x = 0;
    // Four vectors at once, so that the list of pointers is walked a fourth as often.
    for (; x + 4 * lanes <= length; x += 4 * lanes) {
        const T *row = in[0] + x;
        auto a = hn::LoadU(d, row);
        auto b = hn::LoadU(d, row + lanes);
        auto c = hn::LoadU(d, row + 2 * lanes);
        auto e = hn::LoadU(d, row + 3 * lanes);
        for (std::size_t k = 1; k < count; k++) {
            row = in[k] + x;
            a = op(a, hn::LoadU(d, row));
            b = op(b, hn::LoadU(d, row + lanes));
            c = op(c, hn::LoadU(d, row + 2 * lanes));
            e = op(e, hn::LoadU(d, row + 3 * lanes));
        }
        hn::StoreU(a, d, out + x);
        hn::StoreU(b, d, out + x + lanes);
        hn::StoreU(c, d, out + x + 2 * lanes);
        hn::StoreU(e, d, out + x + 3 * lanes);
    }
    for_row<T>(length - x, [&](auto tag, std::size_t i) HWY_ATTR {
        auto value = hn::LoadU(tag, in[0] + x + i);
        for (std::size_t k = 1; k < count; k++)
            value = op(value, hn::LoadU(tag, in[k] + x + i));
        hn::StoreU(value, tag, out + x + i);
    });
}

template <class T, class Op>
void reduce_pair(Op op, const T *const *in, std::size_t count, T *a, T *b, std::size_t length) {
    for_row<T>(length, [&](auto d, std::size_t x) HWY_ATTR {
        const auto first = hn::LoadU(d, in[0] + x);
        const auto last = hn::LoadU(d, in[count] + x);
        if (count == 1) {
            hn::StoreU(first, d, a + x);
            hn::StoreU(last, d, b + x);
            return;
        }
        auto shared = hn::LoadU(d, in[1] + x);
        for (std::size_t k = 2; k < count; k++)
            shared = op(shared, hn::LoadU(d, in[k] + x));
        hn::StoreU(op(shared, first), d, a + x);
        hn::StoreU(op(shared, last), d, b + x);
    });
}

template <class T, class Op>
void extend_rows(Op op, T *prefix, const T *row, const T *suffix, T *out, std::size_t length) {
    for_row<T>(length, [&](auto d, std::size_t x) HWY_ATTR {
        const auto value = op(hn::LoadU(d, prefix + x), hn::LoadU(d, row + x));
        hn::StoreU(value, d, prefix + x);
        hn::StoreU(op(value, hn::LoadU(d, suffix + x)), d, out + x);
    });
}

/// row[x] becomes the reduction of 4 samples, distance apart, from x on, for x
/// in [0, length) rounded up to whole vectors.
template <class T, class Op>
HWY_INLINE void grow(Op op, T *row, std::size_t length, std::size_t distance) {
    const hn::ScalableTag<T> d;
    for (std::size_t x = 0; x < length; x += hn::Lanes(d)) {
        const auto a = op(hn::LoadU(d, row + x), hn::LoadU(d, row + x + distance));
        const auto b =
            op(hn::LoadU(d, row + x + 2 * distance), hn::LoadU(d, row + x + 3 * distance));
        hn::StoreU(op(a, b), d, row + x);
    }
}

/// out[x] = reduce of count samples: those distance apart from first[x] on, and last[x].
template <int count, class T, class Op>
HWY_INLINE void join(Op op, const T *first, std::size_t distance, const T *last, T *out,
                     std::size_t length) {
    for_row<T>(length, [&](auto d, std::size_t x) HWY_ATTR {
        auto value = op(hn::LoadU(d, first + x), hn::LoadU(d, last + x));
        for (int k = 1; k < count - 1; k++)
            value = op(value, hn::LoadU(d, first + k * distance + x));
        hn::StoreU(value, d, out + x);
    });
}

/// Windows of 1, 4, 16, ... samples, then a few of them side by side, the last
/// two of which overlap.
template <class T, class Op>
void slide_row(Op op, T *row, std::size_t length, int radius, int step, T *out) {
    const std::size_t window = 2 * std::size_t(radius) + 1;
    T *first = row - std::ptrdiff_t{radius} * step;
    std::size_t have = 1; // first[x] is the reduction of this many samples from x on
    // Later stages read up to the last window start, so each stage must reach that far.
    for (; window > 5 * have; have *= 4)
        grow(op, first, length + (window - 4 * have) * step, have * step);
    const std::size_t distance = have * step;
    const T *last = first + (window - have) * step;
    switch ((window + have - 1) / have) {
    case 5:
        return join<5>(op, first, distance, last, out, length);
    case 4:
        return join<4>(op, first, distance, last, out, length);
    case 3:
        return join<3>(op, first, distance, last, out, length);
    default:
        return join<2>(op, first, distance, last, out, length);
    }
}

template <class T>
void subtract_rows(const T *a, const T *b, T *out, std::size_t length) {
    const hn::ScalableTag<T> d;
    const std::size_t lanes = hn::Lanes(d);
    std::size_t x = 0;
    for (; x + lanes <= length; x += lanes)
        hn::StoreU(hn::SaturatedSub(hn::LoadU(d, a + x), hn::LoadU(d, b + x)), d, out + x);
    for (; x < length; x++)
        out[x] = static_cast<T>(a[x] > b[x] ? a[x] - b[x] : 0);
}

void merge_fourth(const std::uint8_t *colour, const std::uint8_t *alpha, std::uint8_t *out,
                  std::size_t pixels, int at) {
    std::size_t x = 0;
#if HWY_TARGET != HWY_SCALAR // which has no vectors of four bytes
    const hn::ScalableTag<std::uint32_t> d32;
    const hn::Repartition<std::uint8_t, decltype(d32)> d;
    const std::size_t lanes = hn::Lanes(d);
    std::uint8_t fourth[4] = {};
    fourth[at] = 255;
    std::uint32_t pattern;
    std::memcpy(&pattern, fourth, sizeof pattern);
    const auto mask = hn::BitCast(d, hn::Set(d32, pattern));
    for (; x + lanes <= 4 * pixels; x += lanes)
        hn::StoreU(hn::Or(hn::And(mask, hn::LoadU(d, alpha + x)),
                          hn::AndNot(mask, hn::LoadU(d, colour + x))),
                   d, out + x);
#endif
    for (; x < 4 * pixels; x++)
        out[x] = x % 4 == static_cast<std::size_t>(at) ? alpha[x] : colour[x];
}

void luma_row(const std::uint8_t *pixels, int channels, int red, std::uint8_t *grey,
              std::size_t length) {
    const hn::ScalableTag<std::uint16_t> d16;
    const hn::RebindToSigned<decltype(d16)> di16;
    const hn::Rebind<std::uint8_t, decltype(d16)> d8;
    const std::size_t lanes = hn::Lanes(d8);
    const auto weigh = [&](auto r, auto g, auto b) HWY_ATTR {
        const auto times = [&](auto channel, std::uint16_t weight) HWY_ATTR {
            return hn::Mul(hn::PromoteTo(d16, channel), hn::Set(d16, weight));
        };
        const auto blue = hn::Add(times(b, 29), hn::Set(d16, 128));
        const auto sum = hn::Add(hn::Add(times(r, 77), times(g, 150)), blue);
        return hn::DemoteTo(d8, hn::BitCast(di16, hn::ShiftRight<8>(sum)));
    };
    std::size_t x = 0;
    for (; x + lanes <= length; x += lanes) {
        hn::Vec<decltype(d8)> first, green, third, fourth;
        if (channels == 3)
            hn::LoadInterleaved3(d8, pixels + 3 * x, first, green, third);
        else
            hn::LoadInterleaved4(d8, pixels + 4 * x, first, green, third, fourth);
        hn::StoreU(red == 0 ? weigh(first, green, third) : weigh(third, green, first), d8,
                   grey + x);
    }
    for (; x < length; x++) {
        const std::uint8_t *p = pixels + channels * x;
        grey[x] =
            static_cast<std::uint8_t>((77 * p[red] + 150 * p[1] + 29 * p[2 - red] + 128) >> 8);
    }
}

void spread_row(const std::uint8_t *grey, int channels, const std::uint8_t *alpha,
                std::uint8_t *out, std::size_t length) {
    const hn::ScalableTag<std::uint8_t> d;
    const std::size_t lanes = hn::Lanes(d);
    std::size_t x = 0;
    for (; x + lanes <= length; x += lanes) {
        const auto value = hn::LoadU(d, grey + x);
        if (channels == 3) {
            hn::StoreInterleaved3(value, value, value, d, out + 3 * x);
        } else {
            hn::Vec<decltype(d)> first, second, third, fourth;
            hn::LoadInterleaved4(d, alpha + 4 * x, first, second, third, fourth);
            hn::StoreInterleaved4(value, value, value, fourth, d, out + 4 * x);
        }
    }
    for (; x < length; x++) {
        std::memset(out + channels * x, grey[x], 3);
        if (channels == 4)
            out[4 * x + 3] = alpha[4 * x + 3];
    }
}

template <class T>
void pack_row(const T *row, std::size_t length, int flip, int threshold, std::uint8_t *bits) {
    const hn::ScalableTag<T> d;
    const std::size_t lanes = hn::Lanes(d);
    const auto flipped = hn::Set(d, static_cast<T>(flip));
    const auto limit = hn::Set(d, static_cast<T>(threshold));
    std::size_t x = 0;
    if (lanes % 8 == 0)
        for (; x + lanes <= length; x += lanes) {
            const auto value = hn::Xor(hn::LoadU(d, row + x), flipped);
            hn::StoreMaskBits(d, hn::Eq(hn::Max(value, limit), value), bits + x / 8);
        }
    for (; x < length; x += 8) {
        unsigned byte = 0;
        for (std::size_t i = 0; i < 8 && x + i < length; i++)
            byte |= unsigned{(row[x + i] ^ flip) >= threshold} << i;
        bits[x / 8] = static_cast<std::uint8_t>(byte);
    }
}

template <class T>
void unpack_row(const std::uint8_t *bits, std::size_t length, T *row) {
    const hn::ScalableTag<T> d;
    const std::size_t lanes = hn::Lanes(d);
    const auto all = hn::Set(d, static_cast<T>(~T{0}));
    std::size_t x = 0;
    if (lanes % 8 == 0)
        for (; x + lanes <= length; x += lanes) {
            std::uint8_t group[HWY_MAX(8, HWY_MAX_BYTES / 8)] = {}; // LoadMaskBits reads 8 at least
            std::memcpy(group, bits + x / 8, lanes / 8);
            hn::StoreU(hn::IfThenElseZero(hn::LoadMaskBits(d, group), all), d, row + x);
        }
    for (; x < length; x++)
        row[x] = static_cast<T>(bits[x / 8] >> (x % 8) & 1 ? ~T{0} : T{0});
}

// One plain function per sample type: the dispatch tables hold no templates.
#define GPV_ROW_FUNCTIONS(suffix, T)                                                               \
    void reduce_##suffix(Reduce reduce, const T *const *in, std::size_t count, T *out,             \
                         std::size_t length) {                                                     \
        with(reduce, [&](auto op) HWY_ATTR { reduce_rows(op, in, count, out, length); });          \
    }                                                                                              \
    void pair_##suffix(Reduce reduce, const T *const *in, std::size_t count, T *a, T *b,           \
                       std::size_t length) {                                                       \
        with(reduce, [&](auto op) HWY_ATTR { reduce_pair(op, in, count, a, b, length); });         \
    }                                                                                              \
    void extend_##suffix(Reduce reduce, T *prefix, const T *row, const T *back, T *out,            \
                         std::size_t length) {                                                     \
        with(reduce, [&](auto op) HWY_ATTR { extend_rows(op, prefix, row, back, out, length); });  \
    }                                                                                              \
    void slide_##suffix(Reduce reduce, T *row, std::size_t length, int radius, int step, T *out) { \
        with(reduce, [&](auto op) HWY_ATTR { slide_row(op, row, length, radius, step, out); });    \
    }                                                                                              \
    void subtract_##suffix(const T *a, const T *b, T *out, std::size_t length) {                   \
        subtract_rows(a, b, out, length);                                                          \
    }                                                                                              \
    void pack_##suffix(const T *row, std::size_t length, int flip, int threshold,                  \
                       std::uint8_t *bits) {                                                       \
        pack_row(row, length, flip, threshold, bits);                                              \
    }                                                                                              \
    void unpack_##suffix(const std::uint8_t *bits, std::size_t length, T *row) {                   \
        unpack_row(bits, length, row);                                                             \
    }

GPV_ROW_FUNCTIONS(u8, std::uint8_t)
GPV_ROW_FUNCTIONS(u16, std::uint16_t)
#undef GPV_ROW_FUNCTIONS

} // namespace gpv::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gpv::cpu {

namespace {

template <class Op>
void slide_bits(Op op, std::uint64_t *row, std::size_t words, int radius, std::uint64_t *out) {
    constexpr int word = 64;
    // from[x] shifted down by bits: the sample that lies bits further right
    const auto at = [](const std::uint64_t *from, std::ptrdiff_t bits) {
        const std::uint64_t *p = from + (bits >> 6);
        const int shift = static_cast<int>(bits & 63);
        return shift ? p[0] >> shift | p[1] << (word - shift) : p[0];
    };
    const int window = 2 * radius + 1;
    const std::size_t pad = bit_padding(radius);
    std::uint64_t *first = row - pad;
    const std::size_t all = words + 2 * pad - 1; // the last word has no right neighbour
    int have = 1;
    for (; 2 * have <= window; have *= 2)
        for (std::size_t i = 0; i < all - have / word; i++)
            first[i] = op(first[i], at(first + i, have));
    for (std::size_t i = 0; i < words; i++)
        out[i] = op(at(row + i, -radius), at(row + i, radius + 1 - have));
}

} // namespace

void slide_bits(Reduce reduce, std::uint64_t *row, std::size_t words, int radius,
                std::uint64_t *out) {
    if (reduce == Reduce::all)
        slide_bits(std::bit_and<>(), row, words, radius, out);
    else
        slide_bits(std::bit_or<>(), row, words, radius, out);
}

HWY_EXPORT(merge_fourth);
HWY_EXPORT(luma_row);
HWY_EXPORT(spread_row);

void merge_fourth(const std::uint8_t *colour, const std::uint8_t *alpha, std::uint8_t *out,
                  std::size_t pixels, int at) {
    HWY_DYNAMIC_DISPATCH(merge_fourth)(colour, alpha, out, pixels, at);
}

void luma_row(const std::uint8_t *pixels, int channels, int red, std::uint8_t *grey,
              std::size_t length) {
    HWY_DYNAMIC_DISPATCH(luma_row)(pixels, channels, red, grey, length);
}

void spread_row(const std::uint8_t *grey, int channels, const std::uint8_t *alpha,
                std::uint8_t *out, std::size_t length) {
    HWY_DYNAMIC_DISPATCH(spread_row)(grey, channels, alpha, out, length);
}

#    define GPV_ROW_DISPATCH(suffix, T)                                                            \
        HWY_EXPORT(reduce_##suffix);                                                               \
        HWY_EXPORT(pair_##suffix);                                                                 \
        HWY_EXPORT(extend_##suffix);                                                               \
        HWY_EXPORT(slide_##suffix);                                                                \
        HWY_EXPORT(subtract_##suffix);                                                             \
        HWY_EXPORT(pack_##suffix);                                                                 \
        HWY_EXPORT(unpack_##suffix);                                                               \
        template <>                                                                                \
        void reduce_rows(Reduce reduce, const T *const *in, std::size_t count, T *out,             \
                         std::size_t length) {                                                     \
            HWY_DYNAMIC_DISPATCH(reduce_##suffix)(reduce, in, count, out, length);                 \
        }                                                                                          \
        template <>                                                                                \
        void reduce_pair(Reduce reduce, const T *const *in, std::size_t count, T *a, T *b,         \
                         std::size_t length) {                                                     \
            HWY_DYNAMIC_DISPATCH(pair_##suffix)(reduce, in, count, a, b, length);                  \
        }                                                                                          \
        template <>                                                                                \
        void extend_rows(Reduce reduce, T *prefix, const T *row, const T *back, T *out,            \
                         std::size_t length) {                                                     \
            HWY_DYNAMIC_DISPATCH(extend_##suffix)(reduce, prefix, row, back, out, length);         \
        }                                                                                          \
        template <>                                                                                \
        void slide_row(Reduce reduce, T *row, std::size_t length, int radius, int step, T *out) {  \
            HWY_DYNAMIC_DISPATCH(slide_##suffix)(reduce, row, length, radius, step, out);          \
        }                                                                                          \
        template <>                                                                                \
        void subtract_rows(const T *a, const T *b, T *out, std::size_t length) {                   \
            HWY_DYNAMIC_DISPATCH(subtract_##suffix)(a, b, out, length);                            \
        }                                                                                          \
        template <>                                                                                \
        void pack_row(const T *row, std::size_t length, int flip, int threshold,                   \
                      std::uint8_t *bits) {                                                        \
            HWY_DYNAMIC_DISPATCH(pack_##suffix)(row, length, flip, threshold, bits);               \
        }                                                                                          \
        template <>                                                                                \
        void unpack_row(const std::uint8_t *bits, std::size_t length, T *row) {                    \
            HWY_DYNAMIC_DISPATCH(unpack_##suffix)(bits, length, row);                              \
        }

GPV_ROW_DISPATCH(u8, std::uint8_t)
GPV_ROW_DISPATCH(u16, std::uint16_t)
#    undef GPV_ROW_DISPATCH

} // namespace gpv::cpu
#endif
