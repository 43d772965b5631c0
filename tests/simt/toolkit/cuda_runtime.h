// SPDX-License-Identifier: BSD-2-Clause
// What a kernel sees: barriers, warp operations, atomics and intrinsics. A thread is a fiber, and
// scheduler.cpp runs one at a time.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>

#include "cuda_runtime_api.h"

// The scheduler sets them whenever it resumes a thread.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
constexpr int warpSize = 32;

namespace simt {

/// What a kernel's entry is called with. Without a parameter it tells the size of one.
struct Call {
    const void *parameter;
    std::size_t *parameter_size;
};

/// Where a thread waits, for the report of a deadlock.
struct Place {
    const char *file;
    int line;
    static constexpr Place here(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
        return {file, line};
    }
};

/// The block's dynamic shared memory: as many bytes as the launch said.
void *shared_memory();

/// Waits for all threads of a cooperative launch.
void grid_sync(Place place = Place::here());

/// A microsecond later each time, so that a program runs the same way again.
long long nanoseconds();

/// Waits until so many threads of the block, 0 for all, are at barrier id, 0 to 15; PTX bar.sync
/// and bar.red. Returns for how many of them the predicate holds.
int barrier(unsigned id, unsigned threads, bool predicate = false, const char *what = "barrier",
            Place place = Place::here());

/// Lets other threads run: always, or now and then.
void yield();
void yield_at_times();

unsigned lane();

/// What the lanes of a warp brought to an operation; noise where a lane took no part.
struct Gathered {
    const std::uint64_t *value;
    unsigned mask;
};
Gathered gather(const char *what, unsigned mask, std::uint64_t value, Place place);

template <class T>
std::uint64_t to_bits(T value) {
    static_assert(std::is_arithmetic_v<T> && sizeof value <= 8);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}

template <class T>
T from_bits(std::uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

template <class T>
T shuffle(const char *what, unsigned mask, T mine, bool valid, unsigned from, Place place) {
    const Gathered all = gather(what, mask, to_bits(mine), place);
    return valid ? from_bits<T>(all.value[from]) : mine;
}

/// join(... join(join(first, a), b) ..., z) for what the lanes brought.
template <class Result, class T, class F>
Result fold(const char *what, unsigned mask, T mine, Place place, Result first, F join) {
    const Gathered all = gather(what, mask, to_bits(mine), place);
    for (unsigned rest = all.mask; rest != 0; rest &= rest - 1) {
        const int lane = std::countr_zero(rest);
        first = join(first, from_bits<T>(all.value[lane]), lane);
    }
    return first;
}

template <class T>
concept Word =
    std::same_as<T, int> || std::same_as<T, unsigned> || std::same_as<T, unsigned long long>;

template <class T>
concept Number = Word<T> || std::same_as<T, float>;

template <class T, class F>
T update(T *memory, F next) {
    yield_at_times();
    const T old = *memory;
    *memory = next(old);
    return old;
}

/// Integers wrap, as on the device.
template <class T>
T plus(T a, T b) {
    if constexpr (std::integral<T>)
        return static_cast<T>(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b));
    else
        return a + b;
}

template <class T>
T minus(T a, T b) {
    return static_cast<T>(std::make_unsigned_t<T>(a) - std::make_unsigned_t<T>(b));
}

/// f of each part, so many bits wide, of a and b.
template <unsigned bits, class F>
unsigned by_parts(unsigned a, unsigned b, F f) {
    constexpr unsigned ones = (1u << bits) - 1;
    unsigned result = 0;
    for (unsigned at = 0; at < 32; at += bits)
        result |= (static_cast<unsigned>(f(a >> at & ones, b >> at & ones)) & ones) << at;
    return result;
}

/// As the hardware converts what is rounded already: the ends are kept, NaN is 0.
template <class To>
To saturate(float rounded) {
    constexpr To minimum = std::numeric_limits<To>::min(), maximum = std::numeric_limits<To>::max();
    if (std::isnan(rounded))
        return 0;
    if (rounded <= static_cast<float>(minimum))
        return minimum;
    return rounded >= static_cast<float>(maximum) ? maximum : static_cast<To>(rounded);
}

} // namespace simt

// ---------------------------------------------------------------------- barriers and fences

inline void __syncthreads(simt::Place place = simt::Place::here()) {
    simt::barrier(0, 0, false, "__syncthreads", place);
}

inline int __syncthreads_count(int predicate, simt::Place place = simt::Place::here()) {
    return simt::barrier(0, 0, predicate != 0, "__syncthreads_count", place);
}

inline int __syncthreads_or(int predicate, simt::Place place = simt::Place::here()) {
    return simt::barrier(0, 0, predicate != 0, "__syncthreads_or", place) != 0;
}

inline void __syncwarp(unsigned mask = 0xffffffffu, simt::Place place = simt::Place::here()) {
    simt::gather("__syncwarp", mask, 0, place);
}

inline void __threadfence() {
    simt::yield_at_times();
}

// -------------------------------------------------------------------------- warp operations

// A segment of `width` lanes begins at me & -width and ends at me | (width - 1).
template <class T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32,
              simt::Place place = simt::Place::here()) {
    const unsigned first = simt::lane() & -width;
    return simt::shuffle("__shfl_sync", mask, value, true, first | (from & (width - 1)), place);
}

template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                 simt::Place place = simt::Place::here()) {
    const unsigned me = simt::lane(), first = me & -width;
    return simt::shuffle("__shfl_up_sync", mask, value, delta <= me - first, me - delta, place);
}

template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   simt::Place place = simt::Place::here()) {
    const unsigned me = simt::lane(), last = me | (width - 1);
    return simt::shuffle("__shfl_down_sync", mask, value, delta <= last - me, me + delta, place);
}

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32,
                  simt::Place place = simt::Place::here()) {
    const unsigned from = simt::lane() ^ bits, last = simt::lane() | (width - 1);
    return simt::shuffle("__shfl_xor_sync", mask, value, from <= last, from, place);
}

#define SIMT_FOLD(condition, result, name, T, first, expression)                                   \
    template <condition T>                                                                         \
    result name(unsigned mask, T mine, simt::Place place = simt::Place::here()) {                  \
        return simt::fold<result>(                                                                 \
            #name, mask, mine, place, first,                                                       \
            [=](result all, T other, [[maybe_unused]] int lane) -> result { return expression; }); \
    }
SIMT_FOLD(std::integral, unsigned, __ballot_sync, T, 0, all | unsigned(other != 0) << lane)
SIMT_FOLD(std::integral, int, __any_sync, T, 0, all | (other != 0))
SIMT_FOLD(std::integral, int, __all_sync, T, 1, all &(other != 0))
SIMT_FOLD(std::integral, unsigned, __match_any_sync, T, 0, all | unsigned(other == mine) << lane)
SIMT_FOLD(simt::Word, T, __reduce_add_sync, T, 0, simt::plus(all, other))
SIMT_FOLD(simt::Word, T, __reduce_min_sync, T, mine, all < other ? all : other)
SIMT_FOLD(simt::Word, T, __reduce_max_sync, T, mine, all < other ? other : all)
SIMT_FOLD(simt::Word, T, __reduce_and_sync, T, mine, all &other)
SIMT_FOLD(simt::Word, T, __reduce_or_sync, T, mine, all | other)
SIMT_FOLD(simt::Word, T, __reduce_xor_sync, T, 0, all ^ other)
#undef SIMT_FOLD

// ---------------------------------------------------------------------------------- atomics

#define SIMT_ATOMIC(condition, name, expression)                                                   \
    template <condition T>                                                                         \
    T name(T *memory, std::type_identity_t<T> value) {                                             \
        return simt::update(memory, [=]([[maybe_unused]] T old) -> T { return expression; });      \
    }
SIMT_ATOMIC(simt::Number, atomicAdd, simt::plus(old, value))
SIMT_ATOMIC(simt::Number, atomicExch, value)
SIMT_ATOMIC(simt::Word, atomicSub, simt::minus(old, value))
SIMT_ATOMIC(simt::Word, atomicMin, old < value ? old : value)
SIMT_ATOMIC(simt::Word, atomicMax, old < value ? value : old)
SIMT_ATOMIC(simt::Word, atomicAnd, old &value)
SIMT_ATOMIC(simt::Word, atomicOr, old | value)
SIMT_ATOMIC(simt::Word, atomicXor, old ^ value)
#undef SIMT_ATOMIC

template <simt::Word T>
T atomicCAS(T *memory, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
    return simt::update(memory, [=](T old) { return old == expected ? value : old; });
}

// ------------------------------------------------------------------------- loads and stores

#define SIMT_LOAD(name, before)                                                                    \
    template <class T>                                                                             \
    T name(const T *memory) {                                                                      \
        before;                                                                                    \
        return *memory;                                                                            \
    }
SIMT_LOAD(__ldca, )
SIMT_LOAD(__ldcs, )
SIMT_LOAD(__ldg, )
SIMT_LOAD(__ldlu, )
SIMT_LOAD(__ldcg, simt::yield_at_times()) // a loop may wait with these two for another block
SIMT_LOAD(__ldcv, simt::yield_at_times())
#undef SIMT_LOAD

#define SIMT_STORE(name)                                                                           \
    template <class T>                                                                             \
    void name(T *memory, std::type_identity_t<T> value) {                                          \
        *memory = value;                                                                           \
    }
SIMT_STORE(__stcg)
SIMT_STORE(__stcs)
SIMT_STORE(__stwb)
SIMT_STORE(__stwt)
#undef SIMT_STORE

// ------------------------------------------------------------------------------- intrinsics

template <class A, class B>
requires std::is_arithmetic_v<A> && std::is_arithmetic_v<B>
auto min(A a, B b) -> decltype(a + b) {
    using T = decltype(a + b);
    if constexpr (std::floating_point<T>)
        return std::fmin(static_cast<T>(a), static_cast<T>(b));
    else
        return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a);
}

template <class A, class B>
requires std::is_arithmetic_v<A> && std::is_arithmetic_v<B>
auto max(A a, B b) -> decltype(a + b) {
    using T = decltype(a + b);
    if constexpr (std::floating_point<T>)
        return std::fmax(static_cast<T>(a), static_cast<T>(b));
    else
        return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
}

inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
    const std::uint64_t bytes = std::uint64_t(b) << 32 | a;
    unsigned result = 0;
    for (int at = 0; at < 4; ++at)
        result |= unsigned(bytes >> 8 * (selector >> 4 * at & 7) & 255) << 8 * at;
    return result;
}

inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    for (int at = 0; at < 32; at += 8)
        c += (a >> at & 255) * (b >> at & 255);
    return c;
}

inline int __dp4a(int a, int b, int c) {
    for (int at = 0; at < 32; at += 8)
        c = simt::plus(c, std::int8_t(a >> at) * std::int8_t(b >> at));
    return c;
}

#define SIMT_FUNCTION(result, name, parameters, expression)                                        \
    inline result name parameters {                                                                \
        return static_cast<result>(expression);                                                    \
    }
SIMT_FUNCTION(int, __popc, (unsigned v), std::popcount(v))
SIMT_FUNCTION(int, __popcll, (unsigned long long v), std::popcount(v))
SIMT_FUNCTION(int, __clz, (int v), std::countl_zero(unsigned(v)))
SIMT_FUNCTION(int, __clzll, (long long v), std::countl_zero(static_cast<unsigned long long>(v)))
SIMT_FUNCTION(int, __ffs, (int v), __builtin_ffs(v))
SIMT_FUNCTION(int, __ffsll, (long long v), __builtin_ffsll(v))
SIMT_FUNCTION(unsigned, __funnelshift_l, (unsigned low, unsigned high, unsigned shift),
              (std::uint64_t(high) << 32 | low) << (shift & 31) >> 32)
SIMT_FUNCTION(unsigned, __funnelshift_r, (unsigned low, unsigned high, unsigned shift),
              (std::uint64_t(high) << 32 | low) >> (shift & 31))
SIMT_FUNCTION(unsigned, __funnelshift_lc, (unsigned low, unsigned high, unsigned shift),
              shift < 32 ? __funnelshift_l(low, high, shift) : low)
SIMT_FUNCTION(unsigned, __funnelshift_rc, (unsigned low, unsigned high, unsigned shift),
              shift < 32 ? __funnelshift_r(low, high, shift) : high)
SIMT_FUNCTION(unsigned, __umulhi, (unsigned a, unsigned b), std::uint64_t(a) * b >> 32)
SIMT_FUNCTION(int, __mulhi, (int a, int b), std::int64_t(a) * b >> 32)
SIMT_FUNCTION(unsigned, __umul24, (unsigned a, unsigned b), (a & 0xffffff) * (b & 0xffffff))
SIMT_FUNCTION(int, __mul24, (int a, int b),
              std::int64_t(int(unsigned(a) << 8) >> 8) * (int(unsigned(b) << 8) >> 8))
SIMT_FUNCTION(unsigned, __usad, (unsigned a, unsigned b, unsigned c), (a < b ? b - a : a - b) + c)
SIMT_FUNCTION(float, __fadd_rn, (float a, float b), a + b)
SIMT_FUNCTION(float, __fsub_rn, (float a, float b), a - b)
SIMT_FUNCTION(float, __fmul_rn, (float a, float b), a *b)
SIMT_FUNCTION(float, __fdiv_rn, (float a, float b), a / b)
SIMT_FUNCTION(float, __fmaf_rn, (float a, float b, float c), std::fma(a, b, c))
SIMT_FUNCTION(float, __fsqrt_rn, (float a), std::sqrt(a))
SIMT_FUNCTION(float, __saturatef, (float a), std::fmin(std::fmax(a, 0.0f), 1.0f))
SIMT_FUNCTION(int, __float2int_rn, (float a), simt::saturate<int>(std::nearbyint(a)))
SIMT_FUNCTION(int, __float2int_rz, (float a), simt::saturate<int>(std::trunc(a)))
SIMT_FUNCTION(int, __float2int_rd, (float a), simt::saturate<int>(std::floor(a)))
SIMT_FUNCTION(int, __float2int_ru, (float a), simt::saturate<int>(std::ceil(a)))
SIMT_FUNCTION(unsigned, __float2uint_rn, (float a), simt::saturate<unsigned>(std::nearbyint(a)))
SIMT_FUNCTION(unsigned, __float2uint_rz, (float a), simt::saturate<unsigned>(std::trunc(a)))
SIMT_FUNCTION(float, __int2float_rn, (int a), a)
SIMT_FUNCTION(float, __uint2float_rn, (unsigned a), a)
SIMT_FUNCTION(int, __float_as_int, (float a), std::bit_cast<int>(a))
SIMT_FUNCTION(unsigned, __float_as_uint, (float a), std::bit_cast<unsigned>(a))
SIMT_FUNCTION(float, __int_as_float, (int a), std::bit_cast<float>(a))
SIMT_FUNCTION(float, __uint_as_float, (unsigned a), std::bit_cast<float>(a))
#undef SIMT_FUNCTION

#define SIMT_PACKED(name, bits, expression)                                                        \
    inline unsigned name(unsigned left, unsigned right) {                                          \
        return simt::by_parts<bits>(left, right, [](int a, int b) { return expression; });         \
    }
SIMT_PACKED(__vadd2, 16, a + b)
SIMT_PACKED(__vadd4, 8, a + b)
SIMT_PACKED(__vsub2, 16, a - b)
SIMT_PACKED(__vsub4, 8, a - b)
SIMT_PACKED(__vminu2, 16, a < b ? a : b)
SIMT_PACKED(__vminu4, 8, a < b ? a : b)
SIMT_PACKED(__vmaxu2, 16, a < b ? b : a)
SIMT_PACKED(__vmaxu4, 8, a < b ? b : a)
SIMT_PACKED(__vaddus2, 16, a + b < 0xffff ? a + b : 0xffff)
SIMT_PACKED(__vaddus4, 8, a + b < 0xff ? a + b : 0xff)
SIMT_PACKED(__vsubus2, 16, a < b ? 0 : a - b)
SIMT_PACKED(__vsubus4, 8, a < b ? 0 : a - b)
SIMT_PACKED(__vabsdiffu4, 8, a < b ? b - a : a - b)
SIMT_PACKED(__vavgu4, 8, (a + b + 1) >> 1)
SIMT_PACKED(__vcmpeq4, 8, -(a == b))
SIMT_PACKED(__vcmpgeu4, 8, -(a >= b))
SIMT_PACKED(__vcmpgtu4, 8, -(a > b))
#undef SIMT_PACKED

inline unsigned __vimin3_u16x2(unsigned a, unsigned b, unsigned c) {
    return __vminu2(__vminu2(a, b), c);
}

inline unsigned __vimax3_u16x2(unsigned a, unsigned b, unsigned c) {
    return __vmaxu2(__vmaxu2(a, b), c);
}
