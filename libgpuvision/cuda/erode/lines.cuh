// SPDX-License-Identifier: BSD-2-Clause
// Morphology of any sample type, channel count, alignment and element, a pass
// of one direction at a time. A row is a row of samples; pixels are `step`
// samples apart.
#pragma once

#include <cstdint>

#include "cuda/pixels.cuh"

namespace gpv::cuda::erode {

struct Minimum {
    static constexpr bool erode = true;
    template <class T>
    __device__ static T of(T a, T b) {
        return a < b ? a : b;
    }
};

struct Maximum {
    static constexpr bool erode = false;
    template <class T>
    __device__ static T of(T a, T b) {
        return a < b ? b : a;
    }
};

/// What happens to a result on its way out. Null pointers: nothing.
struct Finish {
    Rows with;  ///< is compared with the result, and the better one taken
    Rows alpha; ///< of an image of four channels, one of which replaces the result's
    int fourth; ///< that one, 0 or 3

    template <class T, class Better>
    __device__ T apply(T value, int x, int y) const {
        if (with.data)
            value = Better::of(value, with.row<T>(y)[x]);
        if (alpha.data && x % 4 == fourth)
            value = alpha.row<T>(y)[x];
        return value;
    }
};

struct LineJob {
    Rows in, out;
    Finish finish;
    int length; ///< samples of a row
    int rows;
    int step;
    int radius;
    unsigned border; ///< value of samples outside
};

/// out = best of the 2 radius + 1 rows around. A thread makes `run` results of a
/// column, whose windows share a core once they are longer than that.
template <class T, class Better>
struct VerticalLine {
    static constexpr int threads = 128, run_length = 8;
    using Job = LineJob;

    __device__ static void run(const Job &job) {
        const int x = blockIdx.x * threads + threadIdx.x;
        const int first = blockIdx.y * run_length;
        if (x >= job.length)
            return;
        const auto at = [&](int y) {
            return y < 0 || y >= job.rows ? static_cast<T>(job.border) : job.in.row<T>(y)[x];
        };
        const auto put = [&](int y, T value) {
            if (y < job.rows)
                job.out.row<T>(y)[x] = job.finish.template apply<T, Better>(value, x, y);
        };
        if (2 * job.radius + 1 < run_length) {
            for (int k = 0; k < run_length; k++) {
                T value = at(first + k);
                for (int i = 1; i <= job.radius; i++)
                    value = Better::of(value, Better::of(at(first + k - i), at(first + k + i)));
                put(first + k, value);
            }
            return;
        }
        // Windows begin at first - radius + k and end at first + radius + k.
        T core = at(first - job.radius + run_length - 1);
        for (int y = first - job.radius + run_length; y <= first + job.radius; y++)
            core = Better::of(core, at(y));
        T before[run_length];
        before[run_length - 1] = core;
#pragma unroll
        for (int k = run_length - 2; k >= 0; k--)
            before[k] = Better::of(before[k + 1], at(first - job.radius + k));
        T after = core;
        put(first, before[0]);
#pragma unroll
        for (int k = 1; k < run_length; k++) {
            after = Better::of(after, at(first + job.radius + k));
            put(first + k, Better::of(before[k], after));
        }
    }
};

/// In a row of shared memory, lets each place stand for the best of `window`
/// pixels from it on; doubles what a place stands for, round by round. visit is
/// called with the row after each round. Returns where the result is.
template <class T, class Better, class Visit>
__device__ T *widen(T *row, T *spare, int samples, int window, int step, Visit visit) {
    int reach = 1;
    for (int level = 1; 2 * reach <= window; level++) {
        const int shift = reach * step;
        for (int i = threadIdx.x; i < samples - shift; i += blockDim.x)
            spare[i] = Better::of(row[i], row[i + shift]);
        for (int i = max(samples - shift, 0) + threadIdx.x; i < samples; i += blockDim.x)
            spare[i] = row[i]; // not whole, and part of no result
        __syncthreads();
        T *const done = spare;
        spare = row;
        row = done;
        reach *= 2;
        visit(row, level);
    }
    return row;
}

/// out = best of the 2 radius + 1 pixels around in the row. A block takes a
/// segment of a row.
template <class T, class Better>
struct HorizontalLine {
    static constexpr int threads = 256, segment = 2048; ///< samples
    using Job = LineJob;

    __host__ __device__ static int samples(int radius, int step) {
        return segment + 2 * radius * step;
    }
    static std::size_t shared_bytes(int radius, int step) {
        return 2 * sizeof(T) * static_cast<std::size_t>(samples(radius, step));
    }

    __device__ static void run(const Job &job) {
        T *row = shared_memory<T>();
        const int first = blockIdx.x * segment, y = blockIdx.y;
        const int margin = job.radius * job.step, window = 2 * job.radius + 1;
        const int count = min(segment, job.length - first) + 2 * margin;
        const T *in = job.in.row<T>(y);
        for (int i = threadIdx.x; i < count; i += threads) {
            const int x = first - margin + i;
            row[i] = x < 0 || x >= job.length ? static_cast<T>(job.border) : in[x];
        }
        __syncthreads();
        int reach = 1;
        while (2 * reach <= window)
            reach *= 2;
        const T *wide = widen<T, Better>(row, row + samples(job.radius, job.step), count, window,
                                         job.step, [](const T *, int) {});
        const int rest = (window - reach) * job.step;
        T *out = job.out.row<T>(y);
        for (int i = threadIdx.x; i < count - 2 * margin; i += threads)
            out[first + i] = job.finish.template apply<T, Better>(
                Better::of(wide[i], wide[i + rest]), first + i, y);
    }
};

/// Tables for an ellipse: in level k each place stands for the best of 2^k
/// pixels from it on. A table begins `margin` samples before the image's row.
struct TableJob {
    Rows in;
    std::byte *tables; ///< level after level of each row
    std::int64_t level_bytes;
    int first_row; ///< of the image; a block's y counts from it
    int rows;      ///< of the image
    int length;
    int margin; ///< samples
    int step;
    int levels;
    unsigned border;
};

template <class T, class Better>
struct EllipseTables {
    static constexpr int threads = 256, segment = 2048;
    using Job = TableJob;

    /// A segment looks ahead by what the last level stands for.
    static std::size_t shared_bytes(int levels, int step) {
        return 2 * sizeof(T) * static_cast<std::size_t>(segment + (step << (levels - 1)));
    }

    __device__ static void run(const Job &job) {
        T *row = shared_memory<T>();
        const int ahead = job.step << (job.levels - 1);
        const int total = job.length + 2 * job.margin;
        const int first = blockIdx.x * segment;
        const int own = min(segment, total - first), count = own + ahead;
        const T *in = job.in.row<T>(job.first_row + blockIdx.y);
        for (int i = threadIdx.x; i < count; i += threads) {
            const int x = first - job.margin + i;
            row[i] = x < 0 || x >= job.length ? static_cast<T>(job.border) : in[x];
        }
        __syncthreads();
        std::byte *tables = job.tables + blockIdx.y * job.levels * job.level_bytes;
        const auto store = [&](const T *wide, int level) {
            T *out = reinterpret_cast<T *>(tables + level * job.level_bytes) + first;
            for (int i = threadIdx.x; i < own; i += threads)
                out[i] = wide[i];
        };
        store(row, 0);
        widen<T, Better>(row, row + segment + ahead, count, 1 << (job.levels - 1), job.step, store);
    }
};

inline constexpr int max_ellipse_rows = 511;

struct EllipseJob {
    TableJob tables;
    Rows out;
    Finish finish;
    int first;  ///< row to make; a block's y counts from it
    int radius; ///< vertical
    std::uint8_t half_widths[max_ellipse_rows + 1];
};

/// Each row of the element is two windows of a power of two, which overlap.
template <class T, class Better>
struct Ellipse {
    static constexpr int threads = 128;
    using Job = EllipseJob;

    __device__ static void run(const Job &job) {
        const TableJob &t = job.tables;
        const int x = blockIdx.x * threads + threadIdx.x, y = job.first + blockIdx.y;
        if (x >= t.length)
            return;
        const int top = max(-job.radius, -y), bottom = min(job.radius, t.rows - 1 - y);
        T value = Better::erode ? static_cast<T>(~T{0}) : T{0};
        if (top > -job.radius || bottom < job.radius)
            value = static_cast<T>(t.border);
        const std::byte *row = t.tables + (y + top - t.first_row) * t.levels * t.level_bytes;
        for (int dy = top; dy <= bottom; dy++, row += t.levels * t.level_bytes) {
            const int dx = job.half_widths[dy + job.radius];
            const int level = 31 - __clz(2 * dx + 1);
            const T *table =
                reinterpret_cast<const T *>(row + level * t.level_bytes) + t.margin + x;
            value = Better::of(
                value, Better::of(table[-dx * t.step], table[(dx + 1 - (1 << level)) * t.step]));
        }
        job.out.row<T>(y)[x] = job.finish.template apply<T, Better>(value, x, y);
    }
};

// ---- sample by sample ----------------------------------------------------------

/// out = a - b, not below 0.
template <class T>
struct Difference {
    static constexpr int threads = 256;
    struct Job {
        Rows a, b, out;
        Finish finish;
        int length;
    };

    __device__ static void run(const Job &job) {
        const int x = blockIdx.x * threads + threadIdx.x, y = blockIdx.y;
        if (x >= job.length)
            return;
        const T a = job.a.template row<T>(y)[x], b = job.b.template row<T>(y)[x];
        job.out.template row<T>(y)[x] =
            job.finish.template apply<T, Minimum>(a > b ? static_cast<T>(a - b) : T{0}, x, y);
    }
};

/// The same for 16 bytes at a time.
struct DifferenceOfChunks : Pointwise<DifferenceOfChunks> {
    __device__ static void point(const PointJob &job, int x, int y) {
        const uint4 a = job.a.row<uint4>(y)[x], b = job.b.row<uint4>(y)[x];
        job.out.row<uint4>(y)[x] = make_uint4(__vsubus4(a.x, b.x), __vsubus4(a.y, b.y),
                                              __vsubus4(a.z, b.z), __vsubus4(a.w, b.w));
    }
};

/// A mask of a picture, one byte a pixel.
struct BinariseJob {
    Picture picture;
    Rows mask;
    int length, rows;
    int threshold;
};

struct Binarise : Pointwise<Binarise, BinariseJob> {
    __device__ static void point(const Job &job, int x, int y) {
        const int luma = job.picture.pixels.luma(x, y, job.picture.rows());
        job.mask.row<std::uint8_t>(y)[x] = luma >= job.threshold ? 255 : 0;
    }
};

/// The reverse: all bits of luma or of each colour, or none, and neutral chroma; a fourth channel
/// comes from src.
struct SpreadJob {
    Picture picture;
    Rows mask, src;
    int length, rows;
};

struct Spread : Pointwise<Spread, SpreadJob> {
    __device__ static void point(const Job &job, int x, int y) {
        const Pixels &pixels = job.picture.pixels;
        const int all = pixels.wide ? max_luma16 : max_luma8;
        const int value = job.mask.row<std::uint8_t>(y)[x] ? all : 0;
        for (int c = 0; c < pixels.count; c++) {
            if (!pixels.begins(c, x, y))
                continue;
            int sample = value;
            if (c > 0 && pixels.model == ColorModel::yuv)
                sample = pixels.neutral_chroma();
            else if (c == 3)
                sample = job.src.row<std::uint8_t>(y)[4 * std::int64_t{x} + pixels.at[3].offset];
            pixels.put(c, x, y, sample, job.picture.rows());
        }
    }
};

/// Pixels in pairs, which have luma at one of two bytes, and in the other U or V: to planes of
/// their own, and back. A point is a byte of luma, and one of chroma.
struct PairJob {
    Rows pairs, luma, chroma;
    int length, rows;
    int luma_at;
    int width; ///< an odd one is a byte of luma shorter than length
};

struct Split : Pointwise<Split, PairJob> {
    __device__ static void point(const Job &job, int x, int y) {
        const auto *from = job.pairs.row<const std::uint8_t>(y) + 2 * x;
        if (x < job.width)
            job.luma.row<std::uint8_t>(y)[x] = from[job.luma_at];
        job.chroma.row<std::uint8_t>(y)[x] = from[1 - job.luma_at];
    }
};

struct Join : Pointwise<Join, PairJob> {
    __device__ static void point(const Job &job, int x, int y) {
        auto *to = job.pairs.row<std::uint8_t>(y) + 2 * x;
        to[job.luma_at] = job.luma.row<const std::uint8_t>(y)[min(x, job.width - 1)];
        to[1 - job.luma_at] = job.chroma.row<const std::uint8_t>(y)[x];
    }
};

} // namespace gpv::cuda::erode
