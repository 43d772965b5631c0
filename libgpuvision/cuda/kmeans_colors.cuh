// SPDX-License-Identifier: BSD-2-Clause
// What Lloyd's iteration works on: the colours that occur, cell after cell, and tasks for warps.
#pragma once

#include "cuda/kmeans_pixels.cuh"

namespace gpv::cuda::kmeans {

using Wide = unsigned long long;

/// Sums over pixels; Sum is wide where 32 bits are too few.
template <class Sum>
struct Sums {
    Sum count, x, y, z;
};

/// The colours of a cell that is occupied.
struct Cell {
    unsigned first, size;
};

/// Colours of a cell, or of a half or a quarter of it, for a warp.
template <class Sum>
struct Task {
    unsigned slab;        ///< the first one; each cell has 4
    unsigned slabs;       ///< 1, 2 or 4
    unsigned first, size; ///< of the colours
    Sums<Sum> sums;
};

inline constexpr int slabs_of_cell = 4;
inline constexpr int slab_count = cell_count * slabs_of_cell;
inline constexpr int slab_bits = cell_bits - 2; ///< of the code of a colour in its slab

/// Counters that are 0 between runs.
struct Control {
    unsigned colors, tasks;
    unsigned arrived_at_seed, arrived_at_lloyd; ///< at the barrier of all blocks of these kernels
    Wide squares;                               ///< sum over the pixels of their squared colours
    Wide farthest[3]; ///< in turn: the greatest of the keys of farthest_key()
};

/// Colours by their place in the order in which cells came.
struct Colors {
    unsigned *keys; ///< red, green << 8, blue << 16, label << 24
    unsigned *counts;
    unsigned *distances; ///< squared, to the nearest of the colours that have been drawn
};

constexpr unsigned key_of(unsigned code) {
    const Color c = color_of(code);
    return static_cast<unsigned>(c.red | c.green << 8 | c.blue << 16);
}

constexpr Color color_of_key(unsigned key) {
    return {static_cast<int>(key & 255), static_cast<int>(key >> 8 & 255),
            static_cast<int>(key >> 16 & 255)};
}

/// Over so many neighbouring lanes.
template <int lanes, class T>
__device__ __forceinline__ T sum_of_lanes(T v) {
#pragma unroll
    for (int d = 1; d < lanes; d *= 2)
        v += __shfl_xor_sync(~0u, v, d);
    return v;
}

template <int lanes, class Sum>
__device__ __forceinline__ Sums<Sum> sum_of_lanes(const Sums<Sum> &s) {
    return {sum_of_lanes<lanes>(s.count), sum_of_lanes<lanes>(s.x), sum_of_lanes<lanes>(s.y),
            sum_of_lanes<lanes>(s.z)};
}

/// A warp for each cell that is occupied. Clears the counters.
template <class Sum>
struct Collect {
    static constexpr int threads = collect_threads;
    static constexpr int warps = threads / 32;              ///< and cells of a block
    static constexpr int colors_of_lane = cell_colors / 32; ///< those of code i * 32 + lane
    static constexpr int colors_of_slab = colors_of_lane / slabs_of_cell;
    static constexpr bool waits = true;
    struct Shared {
        unsigned colors[warps], tasks[warps]; ///< at first: how many; then: where they begin
        Wide squares[warps];
    };
    static constexpr std::size_t shared_bytes = sizeof(Shared);
    struct Job {
        unsigned *counters;       ///< by code; 0 between runs
        const unsigned *occupied; ///< a bit for each cell
        Control *control;
        Colors colors;
        Cell *cells;
        Task<Sum> *tasks;
    };

    __device__ static void run(const Job &job) {
        Shared &shared = *shared_memory<Shared>();
        const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        wait_for_earlier_kernels();
        Wide squares = 0;
        for (unsigned first = blockIdx.x * warps; first < cell_count; first += gridDim.x * warps) {
            const unsigned bits = job.occupied[first / 32] >> first % 32;
            if (bits & ((1u << warps) - 1))
                squares += collect_cells(job, shared, first + warp, bits >> warp & 1);
        }
        squares = sum_of_lanes<32>(squares);
        if (lane == 0)
            shared.squares[warp] = squares;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int i = 1; i < warps; i++)
                squares += shared.squares[i];
            if (squares)
                atomicAdd(&job.control->squares, squares);
        }
    }

  private:
    static constexpr unsigned all = ~0u;

    /// How a cell becomes tasks: whole, in halves or in slabs, the largest that are not too large.
    struct Cut {
        unsigned size = 0;  ///< colours of the cell
        unsigned tasks = 0; ///< that have some
        unsigned ends = 0;  ///< a bit for each slab that is the last one of a task
    };
    __device__ static Cut cut_cell(const unsigned (&counts)[colors_of_lane]) {
        Cut cut;
#pragma unroll
        for (int half = 0; half < slabs_of_cell / 2; half++) {
            unsigned sizes[2] = {};
#pragma unroll
            for (int i = 0; i < 2 * colors_of_slab; i++)
                sizes[i / colors_of_slab] +=
                    __popc(__ballot_sync(all, counts[2 * half * colors_of_slab + i] != 0));
            const unsigned size = sizes[0] + sizes[1];
            const bool whole = size <= most_colors_of_task;
            cut.size += size;
            cut.tasks += whole ? size > 0 : 2;
            cut.ends |= (whole ? 2u : 3u) << 2 * half;
        }
        if (cut.size <= most_colors_of_task) {
            cut.tasks = cut.size > 0;
            cut.ends = 1u << (slabs_of_cell - 1);
        }
        return cut;
    }

    /// A cell for each warp of the block. Returns the thread's part of the sum of squares.
    __device__ static Wide collect_cells(const Job &job, Shared &shared, unsigned cell,
                                         bool occupied) {
        const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        unsigned counts[colors_of_lane] = {};
        Cut cut;
        if (occupied) {
            unsigned *counters = job.counters + (std::size_t{cell} << cell_bits) + lane;
#pragma unroll
            for (int i = 0; i < colors_of_lane; i++)
                counts[i] = counters[32 * i];
#pragma unroll
            for (int i = 0; i < colors_of_lane; i++)
                counters[32 * i] = 0;
            cut = cut_cell(counts);
        }
        __syncthreads(); // the places of the cells before have been read
        if (lane == 0) {
            shared.colors[warp] = cut.size;
            shared.tasks[warp] = cut.tasks;
        }
        __syncthreads();
        make_room(job, shared);
        __syncthreads();
        return cut.size > 0 ? collect(job, shared, cell, cut, counts) : 0;
    }

    /// A thread for the colours, and one for the tasks.
    __device__ static void make_room(const Job &job, Shared &shared) {
        if (threadIdx.x % 32 || threadIdx.x / 32 > 1)
            return;
        const bool of_colors = threadIdx.x == 0;
        unsigned *of_warps = of_colors ? shared.colors : shared.tasks, total = 0;
        for (int i = 0; i < warps; i++)
            total += of_warps[i];
        unsigned at = atomicAdd(of_colors ? &job.control->colors : &job.control->tasks, total);
        for (int i = 0; i < warps; i++) {
            const unsigned own = of_warps[i];
            of_warps[i] = at;
            at += own;
        }
    }

    /// Lists the colours of a cell, and its tasks. Returns this lane's part of the sum of squares.
    __device__ static Wide collect(const Job &job, const Shared &shared, unsigned cell,
                                   const Cut &cut, const unsigned (&counts)[colors_of_lane]) {
        const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const unsigned first = shared.colors[warp];
        unsigned task = shared.tasks[warp], at = first;
        if (lane == 0)
            job.cells[cell] = {first, cut.size};
        Sums<Sum> sums{};
        unsigned begin = first, begin_slab = 0; // of the task
        Wide squares = 0;
#pragma unroll
        for (int slab = 0; slab < slabs_of_cell; slab++) {
#pragma unroll
            for (int i = slab * colors_of_slab; i < (slab + 1) * colors_of_slab; i++) {
                const unsigned n = counts[i], code = cell << cell_bits | 32 * i | lane;
                const unsigned there = __ballot_sync(all, n != 0);
                if (n) {
                    const unsigned mine = at + __popc(there & ((1u << lane) - 1));
                    job.colors.keys[mine] = key_of(code);
                    job.colors.counts[mine] = n;
                }
                at += __popc(there);
                const Color c = color_of(code);
                sums.count += n;
                sums.x += static_cast<Sum>(n) * c.red;
                sums.y += static_cast<Sum>(n) * c.green;
                sums.z += static_cast<Sum>(n) * c.blue;
                squares += static_cast<Wide>(n) * squared_distance(c, {0, 0, 0});
            }
            if (cut.ends >> slab & 1) {
                if (at > begin) {
                    const Sums<Sum> of_task = sum_of_lanes<32>(sums);
                    if (lane == 0)
                        job.tasks[task] = {cell * slabs_of_cell + begin_slab, slab + 1 - begin_slab,
                                           begin, at - begin, of_task};
                    task++;
                }
                sums = {};
                begin = at;
                begin_slab = slab + 1;
            }
        }
        return squares;
    }
};

} // namespace gpv::cuda::kmeans
