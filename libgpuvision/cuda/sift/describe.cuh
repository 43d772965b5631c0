// SPDX-License-Identifier: BSD-2-Clause
// Descriptors. A block a keypoint: its pixels are shared out among the threads, and add to the sums
// of their cells and directions in shared memory, in integers, so that their order does not matter.
#pragma once

#include "cuda/sift/scale_space.cuh"

namespace gpv::cuda::sift {

/// Finds the windows of given keypoints; one that is not described has octave -1.
struct Locate {
    struct Job {
        LayerChoice choice;
        const std::byte *keypoints;
        std::size_t stride;
        int count, width, height;
        Window *windows;
    };
    static constexpr int threads = 128;
    static constexpr bool waits = true;

    __device__ static void run(const Job &job) {
        wait_for_earlier_kernels();
        let_next_kernel_begin();
        for (int i = blockIdx.x * threads + threadIdx.x; i < job.count; i += gridDim.x * threads)
            job.windows[i] = window(job, i);
    }

  private:
    __device__ static Window window(const Job &job, int i) {
        Window window{};
        if (!job.choice.find(*reinterpret_cast<const Keypoint *>(job.keypoints + i * job.stride),
                             job.width, job.height, window))
            window.octave = -1;
        return window;
    }
};

struct Describe {
    struct Job {
        Space space;
        const Window *windows;
        const unsigned *kept; ///< number of keypoints; or null
        unsigned count;       ///< number of keypoints if kept is null
        std::byte *descriptors;
        gpv_sift_descriptor_type type;
        bool root;
    };
    static constexpr int threads = describe_threads, warps = threads / 32;
    static constexpr int min_blocks = describe_blocks;
    static constexpr bool waits = true;
    static_assert(threads == sift_length);

    static constexpr int max_radius = 122; ///< Window::radius of 4 * 2^1.5
    /// Copies of each sum, against conflicts: lanes this far apart share one.
    static constexpr int copies = 16;
    /// Cells per row, with a border round the window, so that every pixel belongs to four cells.
    static constexpr int cells = descriptor_cells + 2;
    struct Shared {
        float weights[max_radius + 1];
        float values[sift_length];
        alignas(16) unsigned sums[cells * cells * descriptor_bins][copies];
    };

    __device__ static void run(const Job &job) {
        Shared &s = *shared_memory<Shared>();
        wait_for_earlier_kernels();
        const unsigned count = job.kept ? *job.kept : job.count;
        for (unsigned i = blockIdx.x; i < count; i += gridDim.x) {
            const Window window = job.windows[i];
            clear(s);
            if (window.octave >= 0)
                for (int d = threadIdx.x; d <= window.radius; d += threads)
                    s.weights[d] = window.weight(d);
            __syncthreads();
            if (window.octave >= 0)
                sum_gradients(job.space, window, s);
            __syncthreads();
            s.values[threadIdx.x] = static_cast<float>(sum_of_copies(s));
            __syncthreads();
            if (threadIdx.x < 32)
                write(job, i, s.values);
            __syncthreads();
        }
    }

  private:
    __device__ static void clear(Shared &s) {
        auto *words = reinterpret_cast<uint4 *>(s.sums);
        for (unsigned i = threadIdx.x; i < sizeof s.sums / sizeof *words; i += threads)
            words[i] = {};
    }

    /// The sum for this thread's cell and direction.
    __device__ static unsigned sum_of_copies(const Shared &s) {
        const int cell = threadIdx.x / descriptor_bins;
        const int row = 1 + cell / descriptor_cells, column = 1 + cell % descriptor_cells;
        const unsigned *own =
            s.sums[(row * cells + column) * descriptor_bins + threadIdx.x % descriptor_bins];
        unsigned sum = 0;
        for (int k = 0; k < copies; k++)
            sum += own[(k + threadIdx.x / 2) % copies];
        return sum;
    }

    /// A warp has 8 columns of 4 rows at once.
    static constexpr int tile_columns = 8, tile_rows = 4;

    __device__ static void sum_gradients(const Space &space, const Window &window, Shared &s) {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const Space::Octave octave = space.octave[window.octave];
        const float *middle = space.level(window.octave, window.layer) +
                              static_cast<std::ptrdiff_t>(window.y) * octave.pitch + window.x;
        const std::ptrdiff_t pitch = octave.pitch;
        unsigned *copy = &s.sums[0][threadIdx.x % copies];
        const float per_u = inverse_of(window.cos_cells), per_v = inverse_of(window.sin_cells);
        for (int first = tile_rows * warp - window.radius; first <= window.radius;
             first += tile_rows * warps) {
            const int dy = first + lane / tile_columns, y = window.y + dy;
            const bool has_row = dy <= window.radius && y > 0 && y < octave.height - 1;
            const ColumnRange range = has_row ? range_of(window, dy, per_u, per_v) : none;
            const int left = max(warp_min(range.first), 1 - window.x);
            const int right = min(warp_max(range.last), octave.width - 2 - window.x);
            const Row row(window, dy, s);
            const int column = left + lane % tile_columns;
            const float *at = middle + static_cast<std::ptrdiff_t>(dy) * octave.pitch + column;
            for (int x0 = left; x0 <= right; x0 += tile_columns, at += tile_columns) {
                const int dx = x0 + lane % tile_columns;
                const Window::Place place = row.place(window, dx);
                if (has_row && dx <= right && place.counts())
                    add(window, place, row.weight * s.weights[abs(dx)], at, pitch, copy);
            }
        }
    }

    /// Values that all pixels of a row share.
    struct Row {
        float y_sine, y_cosine, weight;

        __device__ Row(const Window &window, int dy, const Shared &s)
            : y_sine(static_cast<float>(dy) * window.sin_cells),
              y_cosine(static_cast<float>(dy) * window.cos_cells),
              weight(s.weights[min(abs(dy), window.radius)]) {}

        /// Place of a pixel, rotated by the keypoint's angle, in cells.
        __device__ Window::Place place(const Window &window, int dx) const {
            const auto x = static_cast<float>(dx);
            return {x * window.cos_cells - y_sine, x * window.sin_cells + y_cosine};
        }
    };

    /// A range of columns, last included.
    struct ColumnRange {
        int first, last;
    };
    static constexpr ColumnRange none{1 << 20, -(1 << 20)};
    __device__ static float inverse_of(float x) {
        constexpr float maximum = 1e9f; // what rounding takes from 2.5 becomes more than a window
        return x > 1 / maximum || x < -1 / maximum ? 1 / x : maximum;
    }
    /// Outside it no pixel of the row counts, for |x cos - y sin| < 2.5 and |x sin + y cos| < 2.5.
    __device__ static ColumnRange range_of(const Window &window, int dy, float per_u, float per_v) {
        const float y = static_cast<float>(dy);
        const float u = y * window.sin_cells * per_u, v = -y * window.cos_cells * per_v;
        constexpr float half = 2.500003f; // 2.5, and more than rounding takes away
        const float u_half = fabsf(half * per_u), v_half = fabsf(half * per_v);
        const float first = fmaxf(u - u_half, v - v_half), last = fminf(u + u_half, v + v_half);
        if (!(first <= last + 1))
            return none;
        const auto radius = static_cast<float>(window.radius);
        return {static_cast<int>(floorf(fmaxf(first, -radius))),
                static_cast<int>(ceilf(fminf(last, radius)))};
    }

    __device__ static void add(const Window &window, const Window::Place &place, float weight,
                               const float *at, std::ptrdiff_t pitch, unsigned *copy) {
        const Polar gradient = polar_of(at[-pitch] - at[pitch], at[1] - at[-1]);
        const Bins bins = bins_of(window, place, gradient.eighths);
        const int cell = (bins.row.whole + 1) * cells + bins.column.whole + 1;
        constexpr unsigned mask = descriptor_bins - 1;
        const unsigned lower = bins.direction.whole;
        unsigned *const directions[] = {copy + (cell * descriptor_bins + (lower & mask)) * copies,
                                        copy + (cell * descriptor_bins + ((lower + 1) & mask)) *
                                                   copies};
        distribute(sum_unit * (weight * gradient.magnitude), bins,
                   [&](int r, int c, int d, unsigned amount) {
                       atomicAdd(directions[d] + (r * cells + c) * descriptor_bins * copies,
                                 amount);
                   });
    }

    // A lane has four neighbouring numbers.
    __device__ static float sum(const float (&v)[4], bool squared) {
        float q = 0;
        for (int k = 0; k < 4; k++)
            q = k == 0 ? (squared ? v[0] * v[0] : v[0]) : q + (squared ? v[k] * v[k] : v[k]);
        return warp_reduce(q, [](float a, float b) { return a + b; });
    }

    __device__ static void write(const Job &job, unsigned index, const float *values) {
        const int lane = threadIdx.x % 32;
        float v[4];
        for (int k = 0; k < 4; k++)
            v[k] = values[4 * lane + k];
        const float limit = 0.2f * root(sum(v, true));
        for (float &value : v)
            value = fminf(value, limit);
        const float length = root(sum(v, true));
        for (float &value : v)
            value = length > 0 ? value / length : 0;
        if (job.root) {
            const float all = sum(v, false);
            for (float &value : v)
                value = all > 0 ? root(value / all) : 0;
        }
        const std::size_t first = static_cast<std::size_t>(index) * sift_length + 4 * lane;
        if (job.type == GPV_SIFT_DESCRIPTOR_TYPE_F32) {
            auto *out = reinterpret_cast<float *>(job.descriptors) + first;
            for (int k = 0; k < 4; k++)
                out[k] = v[k];
            return;
        }
        unsigned word = 0;
        for (int k = 0; k < 4; k++)
            word |= static_cast<unsigned>(min(nearest_int(512 * v[k]), 255)) << 8 * k;
        *reinterpret_cast<unsigned *>(job.descriptors + first) = word;
    }
};

} // namespace gpv::cuda::sift
