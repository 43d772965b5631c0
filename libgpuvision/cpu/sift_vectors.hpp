// SPDX-License-Identifier: BSD-2-Clause
// Vectors of pixels, and of gradients. Included once for every target of Highway.
#if defined(GPV_CPU_SIFT_VECTORS) == defined(HWY_TARGET_TOGGLE)
#    ifdef GPV_CPU_SIFT_VECTORS
#        undef GPV_CPU_SIFT_VECTORS
#    else
#        define GPV_CPU_SIFT_VECTORS
#    endif

#    include <hwy/highway.h>

#    include "cpu/sift_window.hpp"

HWY_BEFORE_NAMESPACE();
namespace gpv::cpu::sift::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, max_lanes>;
using Ints = hn::RebindToSigned<Floats>;

// Those of SVE are not members of a struct.
using Vector = hn::Vec<Floats>;
using Whole = hn::Vec<Ints>;

// As the functions of core of that name, in the same order.

struct PolarVector {
    Vector eighths, magnitude;
};

HWY_INLINE Vector reciprocal_of(Vector x) {
    const Floats d;
    const Vector one = hn::Set(d, 1.0f);
    Vector r = hn::BitCast(d, hn::Sub(hn::Set(Ints(), 0x7ef311c3), hn::BitCast(Ints(), x)));
    for (int step = 0; step < 3; step++)
        r = hn::MulAdd(r, hn::NegMulAdd(x, r, one), r);
    return r;
}

HWY_INLINE PolarVector polar_of(Vector y, Vector x) {
    const Floats d;
    const auto number = [](float value) HWY_ATTR { return hn::Set(Floats(), value); };
    const Vector zero = hn::Zero(d), ax = hn::Abs(x), ay = hn::Abs(y);
    const Vector maximum = hn::Max(ax, ay), minimum = hn::Min(ax, ay);
    const Vector r = hn::Mul(minimum, reciprocal_of(hn::Max(maximum, number(min_divisor))));
    const Vector s = hn::Mul(r, r);
    Vector t = hn::MulAdd(s, number(-0.0496390998f), number(0.186229593f));
    t = hn::MulAdd(s, hn::MulAdd(s, t, number(-0.408932629f)), number(1.27223854f));
    t = hn::Mul(r, t);
    Vector m = hn::MulAdd(s, number(-0.010736884f), number(0.0456280861f));
    m = hn::MulAdd(s, hn::MulAdd(s, m, number(-0.120194971f)), number(0.499497158f));
    m = hn::Mul(maximum, hn::MulAdd(s, m, number(1.00000835f)));
    t = hn::IfThenElse(hn::Gt(ay, ax), hn::Sub(number(2), t), t);
    t = hn::IfThenElse(hn::Lt(x, zero), hn::Sub(number(4), t), t);
    t = hn::IfThenElse(hn::Lt(y, zero), hn::Sub(number(8), t), t);
    return {t, m};
}

HWY_INLINE Whole rounded(Vector x) {
    const Vector shifted = hn::Add(x, hn::Set(Floats(), 8388608.0f));
    return hn::Sub(hn::BitCast(Ints(), shifted), hn::Set(Ints(), 0x4b000000));
}

/// Of a vector of pixels.
struct Gradient {
    const float *row;
    std::size_t pitch;

    HWY_INLINE Vector x() const {
        return hn::Sub(hn::LoadU(Floats(), row + 1), hn::LoadU(Floats(), row - 1));
    }
    HWY_INLINE Vector y() const {
        return hn::Sub(hn::LoadU(Floats(), row - pitch), hn::LoadU(Floats(), row + pitch));
    }
};

/// Inlined by force, and called from no lambda: GCC drops the call of a function that only
/// prefetches.
HWY_INLINE void prefetch(const Octave &octave, int level, int x, int y, PixelRange columns) {
    if (y >= octave.height)
        return;
    const float *row = octave.row(level, y) + x;
    for (int dx = columns.first - 1; dx < columns.last + cache_line; dx += cache_line)
        __builtin_prefetch(row + dx);
}

} // namespace
} // namespace gpv::cpu::sift::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
