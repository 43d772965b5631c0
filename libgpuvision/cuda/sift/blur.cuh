// SPDX-License-Identifier: BSD-2-Clause
// From the picture to the first levels of all octaves; and, for any filters, the levels above them.
//
// A filter goes down the columns first, then along the rows, each sum in one order: from the middle
// outwards, and from left to right.
#pragma once

#include "cuda/sift/scale_space.cuh"

namespace gpv::cuda::sift {

/// i: a row or column of the upsampled picture. It is 3/4 of the picture's row or column i / 2 and
/// 1/4 of the neighbour of that, which this returns.
__device__ __forceinline__ int beside(int i, int size) {
    return min(max((i >> 1) + (i & 1 ? 1 : -1), 0), size - 1);
}

/// Pixel of the picture, or of the picture at twice its size.
template <bool doubled>
__device__ __forceinline__ float sample(const Rows &src, int width, int height, int x, int y) {
    if constexpr (!doubled)
        return src.row<const std::uint8_t>(y)[x];
    const int near = x >> 1, other = beside(x, width);
    const auto of_row = [&](int row) {
        const auto *p = src.row<const std::uint8_t>(row);
        return 3 * p[near] + p[other];
    };
    // Exact: sixteenths.
    return static_cast<float>(3 * of_row(y >> 1) + of_row(beside(y, height))) * (1.0f / 16);
}

/// The picture in floats.
template <bool doubled>
struct Widen {
    struct Job {
        Rows src;
        int src_width, src_height;
        float *dst;
        int width, height, pitch;
        Cleared cleared;
    };
    static constexpr int threads = 256;

    __device__ static void run(const Job &job) {
        job.cleared.clear(blockIdx.y * gridDim.x + blockIdx.x, gridDim.x * gridDim.y, threads);
        const int x = blockIdx.x * threads + threadIdx.x, y = blockIdx.y;
        if (x < job.width)
            job.dst[static_cast<std::size_t>(y) * job.pitch + x] =
                sample<doubled>(job.src, job.src_width, job.src_height, x, y);
    }
};

/// Any filter, on any of the planes of a tiling. Every step-th pixel is made, in both directions.
struct Blur {
    struct Plane {
        const float *src;
        float *dst;
        int width, height, pitch; ///< width, height and pitch of src
        int dst_width, dst_height, dst_pitch;
    };
    struct Job {
        Plane planes[max_octaves];
        Tiling tiling;
        int step;
        BlurFilter filter;
    };
    static constexpr int threads = 256;
    static constexpr std::size_t shared_bytes(int radius, int step) {
        return sizeof(float) * blur_rows * columns_of(radius, step);
    }
    static constexpr int columns_of(int radius, int step) {
        return (blur_columns - 1) * step + 1 + 2 * radius;
    }

    __device__ static void run(const Job &job) {
        const Tiling::Tile tile = job.tiling.find(blockIdx.x);
        const Plane &plane = job.planes[tile.octave];
        const int x0 = tile.x * blur_columns, y0 = tile.y * blur_rows;
        const int radius = job.filter.radius, columns = columns_of(radius, job.step);
        const float *weights = job.filter.weights;
        auto *vertical = shared_memory<float>();
        for (int i = threadIdx.x; i < blur_rows * columns; i += threads) {
            const int row = i / columns, y = (y0 + row) * job.step;
            if (y >= plane.height)
                break;
            const float *column =
                plane.src + mirrored(x0 * job.step - radius + i % columns, plane.width);
            const auto at = [&](int row_) {
                return column[static_cast<std::size_t>(mirrored(row_, plane.height)) * plane.pitch];
            };
            float sum = weights[0] * at(y);
            for (int k = 1; k <= radius; k++)
                sum = fmaf(weights[k], at(y - k) + at(y + k), sum);
            vertical[i] = sum;
        }
        __syncthreads();
        for (int i = threadIdx.x; i < blur_rows * blur_columns; i += threads) {
            const int row = i / blur_columns, column = i % blur_columns;
            if (y0 + row >= plane.dst_height || x0 + column >= plane.dst_width)
                continue;
            const float *middle = vertical + row * columns + column * job.step + radius;
            float sum = weights[radius] * middle[-radius];
            for (int d = 1 - radius; d <= radius; d++)
                sum = fmaf(weights[abs(d)], middle[d], sum);
            plane.dst[static_cast<std::size_t>(y0 + row) * plane.dst_pitch + x0 + column] = sum;
        }
    }
};

// ---- the usual filters --------------------------------------------------------------
// A block has 256 columns, a thread each, and goes down a strip of rows. A thread keeps the rows of
// its column that the filter needs, and filters step_rows of them at once. Then the block filters
// along these rows, eight neighbours a thread; the eight lanes of a quarter warp have different
// rows, whose pitch lets them load 16 bytes each without conflicts.

inline constexpr int strip_threads = 256;
inline constexpr int strip_pitch = strip_threads + 4;

/// Filters neighbours of a row, step apart. middle: of the first. weights: of the middle and to one
/// side.
template <int radius, int step = 1, int outputs>
__device__ __forceinline__ void filter_row(const float *middle, const float *weights,
                                           float (&out)[outputs]) {
    constexpr int lead = (radius + 3) / 4 * 4; // from the first aligned one to the middle
    constexpr int quads = (lead + (outputs - 1) * step + 1 + radius + 3) / 4;
#pragma unroll
    for (int q = 0; q < quads; q++) {
        const float4 quad = *reinterpret_cast<const float4 *>(middle - lead + 4 * q);
        const float values[4] = {quad.x, quad.y, quad.z, quad.w};
#pragma unroll
        for (int e = 0; e < 4; e++) {
#pragma unroll
            for (int i = 0; i < outputs; i++) {
                const int d = 4 * q + e - lead - step * i;
                if (d == -radius)
                    out[i] = weights[radius] * values[e];
                else if (d > -radius && d <= radius)
                    out[i] = fmaf(weights[d < 0 ? -d : d], values[e], out[i]);
            }
        }
    }
}

/// count rows of a column from row first on. Inside the picture without a test for each.
template <int count, class Window>
__device__ __forceinline__ void load_column(const float *column, int pitch, int first, int height,
                                            Window &window, int at) {
    if (first >= 0 && first + count <= height) {
        const float *p = column + static_cast<std::size_t>(first) * pitch;
#pragma unroll
        for (int i = 0; i < count; i++)
            window[at + i] = p[static_cast<std::size_t>(i) * pitch];
    } else {
#pragma unroll
        for (int i = 0; i < count; i++)
            window[at + i] =
                column[static_cast<std::size_t>(mirrored_near(first + i, height)) * pitch];
    }
}

/// Radii of first_filter() and of level_filter() for the default parameters. Filters of smaller
/// sigma fit in as well.
template <bool doubled>
inline constexpr int first_radius = doubled ? 5 : 6;
inline constexpr int usual_layers = 3;
inline constexpr int usual_levels = usual_layers + 2;
__host__ __device__ constexpr int level_radius(int level) {
    constexpr int radii[] = {0, 4, 7, 10, 13, 17};
    return radii[level];
}
inline constexpr int widest = 17;
inline constexpr int weights_pitch = 24; ///< a multiple of 4 beyond the widest

/// Level 0 of the first octave.
template <bool doubled>
struct First {
    struct Job {
        Rows src;
        int src_width, src_height;
        float *dst;
        int width, height, pitch;
        int strip; ///< rows, a multiple of step_rows
        Cleared cleared;
        float weights[8];
    };
    static constexpr int threads = strip_threads;
    static constexpr int min_blocks = first_blocks;
    static constexpr int halo = 8, owned = threads - 2 * halo;
    static constexpr std::size_t shared_bytes = sizeof(float) * step_rows * strip_pitch;
    static constexpr int radius = first_radius<doubled>;

    __device__ static void run(const Job &job) {
        let_next_kernel_begin();
        job.cleared.clear(blockIdx.y * gridDim.x + blockIdx.x, gridDim.x * gridDim.y, threads);
        const int x0 = blockIdx.x * owned, y0 = blockIdx.y * job.strip;
        if (y0 >= job.height) // there is no octave
            return;
        auto *vertical = shared_memory<float>();
        const int column = mirrored_near(x0 - halo + static_cast<int>(threadIdx.x), job.width);
        const int end = min(y0 + job.strip, job.height);
        const int row = threadIdx.x & 7, chunk = threadIdx.x >> 3;
        float window[step_rows + 2 * radius];
        Samples next; // of the next step come early
        next.load(job, column, y0 + radius);
#pragma unroll
        for (int i = 0; i < 2 * radius; i++)
            window[step_rows + i] = sample<doubled>(job.src, job.src_width, job.src_height, column,
                                                    mirrored_near(y0 - radius + i, job.height));
        for (int y = y0; y < end; y += step_rows) {
#pragma unroll
            for (int i = 0; i < 2 * radius; i++)
                window[i] = window[i + step_rows];
            next.put(job, column, y + radius, window);
            if (y + step_rows < end)
                next.load(job, column, y + step_rows + radius);
#pragma unroll
            for (int j = 0; j < step_rows; j++) {
                float sum = job.weights[0] * window[radius + j];
#pragma unroll
                for (int k = 1; k <= radius; k++)
                    sum =
                        fmaf(job.weights[k], window[radius + j - k] + window[radius + j + k], sum);
                vertical[j * strip_pitch + threadIdx.x] = sum;
            }
            __syncthreads();
            if (chunk < owned / 8 && y + row < end)
                filter(job, vertical + row * strip_pitch + halo + 8 * chunk, x0 + 8 * chunk,
                       y + row);
            __syncthreads();
        }
    }

  private:
    __device__ static void filter(const Job &job, const float *middle, int x, int y) {
        float out[8];
        filter_row<radius>(middle, job.weights, out);
        float *to = job.dst + static_cast<std::size_t>(y) * job.pitch + x;
        // Rows are padded to whole chunks of 4.
        if (x < job.width)
            *reinterpret_cast<float4 *>(to) = make_float4(out[0], out[1], out[2], out[3]);
        if (x + 4 < job.width)
            *reinterpret_cast<float4 *>(to + 4) = make_float4(out[4], out[5], out[6], out[7]);
    }

    /// What step_rows rows of a column are made from: rows of the picture, and doubled, those of
    /// the column beside. They are only loaded early where no row is mirrored.
    struct Samples {
        static constexpr int count = doubled ? step_rows / 2 + 1 : step_rows;
        int own[count], other[count];

        __device__ static bool is_inside(const Job &job, int first) {
            return first >= 0 && first + step_rows <= job.height - 2;
        }

        /// first: the first of the rows, which is odd if doubled.
        __device__ void load(const Job &job, int x, int first) {
            if (!is_inside(job, first))
                return;
            const int near = doubled ? x >> 1 : x;
            const int step = doubled ? beside(x, job.src_width) - near : 0;
            const auto *p =
                job.src.template row<const std::uint8_t>(doubled ? first >> 1 : first) + near;
#pragma unroll
            for (int i = 0; i < count; i++, p += job.src.stride) {
                own[i] = p[0];
                if constexpr (doubled)
                    other[i] = p[step];
            }
        }

        /// Into the last rows of the window.
        __device__ void put(const Job &job, int x, int first,
                            float (&window)[step_rows + 2 * radius]) const {
            constexpr int at = 2 * radius;
            if (!is_inside(job, first)) {
#pragma unroll
                for (int i = 0; i < step_rows; i++)
                    window[at + i] = sample<doubled>(job.src, job.src_width, job.src_height, x,
                                                     mirrored_near(first + i, job.height));
            } else if constexpr (!doubled) {
#pragma unroll
                for (int i = 0; i < step_rows; i++)
                    window[at + i] = static_cast<float>(own[i]);
            } else {
                float row[count];
#pragma unroll
                for (int i = 0; i < count; i++)
                    row[i] = static_cast<float>(3 * own[i] + other[i]) * (1.0f / 16);
#pragma unroll
                for (int i = 0; i < step_rows / 2; i++) {
                    window[at + 2 * i] = 3 * row[i] + row[i + 1];
                    window[at + 2 * i + 1] = 3 * row[i + 1] + row[i];
                }
            }
        }
    };
};

/// Level 0 of the next octave: level 3 at every second pixel.
struct Cascade {
    struct Job {
        const float *src;
        int width, height, pitch;
        float *dst;
        int dst_width, dst_height, dst_pitch;
        int strip; ///< rows of dst, a multiple of rows
        float weights[weights_pitch];
    };
    static constexpr int threads = strip_threads;
    static constexpr int min_blocks = first_blocks;
    static constexpr int halo = 12, owned = (threads - 2 * halo) / 2;
    static constexpr int rows = 4, radius = level_radius(usual_layers);
    static constexpr std::size_t shared_bytes = sizeof(float) * rows * strip_pitch;
    static constexpr bool waits = true;

    __device__ static void run(const Job &job) {
        wait_for_earlier_kernels();
        let_next_kernel_begin();
        auto *vertical = shared_memory<float>();
        const int x0 = blockIdx.x * owned, y0 = blockIdx.y * job.strip;
        const int end = min(y0 + job.strip, job.dst_height);
        const float *column =
            job.src + mirrored_near(2 * x0 - halo + static_cast<int>(threadIdx.x), job.width);
        float window[2 * radius + 8], next[8]; // rows of the next step come early
        load_column<2 * radius>(column, job.pitch, 2 * y0 - radius, job.height, window, 8);
        load_column<8>(column, job.pitch, 2 * y0 + radius, job.height, next, 0);
        for (int y = y0; y < end; y += rows) {
#pragma unroll
            for (int i = 0; i < 2 * radius; i++)
                window[i] = window[i + 8];
#pragma unroll
            for (int i = 0; i < 8; i++)
                window[2 * radius + i] = next[i];
            if (y + rows < end)
                load_column<8>(column, job.pitch, 2 * (y + rows) + radius, job.height, next, 0);
#pragma unroll
            for (int j = 0; j < rows; j++) {
                float sum = job.weights[0] * window[radius + 2 * j];
#pragma unroll
                for (int k = 1; k <= radius; k++)
                    sum = fmaf(job.weights[k],
                               window[radius + 2 * j - k] + window[radius + 2 * j + k], sum);
                vertical[j * strip_pitch + threadIdx.x] = sum;
            }
            __syncthreads();
            for (int task = threadIdx.x; task < rows * (owned / 4); task += threads) {
                const int row = task & 3, chunk = task >> 2;
                if (y + row < end && x0 + 4 * chunk < job.dst_width)
                    filter(job, vertical + row * strip_pitch + 8 * chunk, x0 + 4 * chunk, y + row);
            }
            __syncthreads();
        }
    }

  private:
    /// first: halo before the middle of the first of 4 outputs.
    __device__ static void filter(const Job &job, const float *first, int x, int y) {
        float out[4];
        filter_row<radius, 2>(first + halo, job.weights, out);
        *reinterpret_cast<float4 *>(job.dst + static_cast<std::size_t>(y) * job.dst_pitch + x) =
            make_float4(out[0], out[1], out[2], out[3]);
    }
};

} // namespace gpv::cuda::sift
