// SPDX-License-Identifier: BSD-2-Clause
// Input of Lloyd's iteration: the colours that occur, cell by cell, and its tasks.
#pragma once

#include <type_traits>

#include "cuda/kmeans/pixels.cuh"

namespace gpv::cuda::kmeans {

/// Sums over pixels; Sum is wide where 32 bits are too few.
template <class Sum>
struct Sums {
    Sum count, x, y, z;
};

/// The colours of a cell that is occupied.
struct Cell {
    unsigned first, size;
};

/// Colours of a cell, or of a half or a quarter of it.
template <class Sum>
struct Task {
    unsigned slab;        ///< the first one; each cell has 4
    std::uint16_t slabs;  ///< 1, 2 or 4
    std::uint16_t label;  ///< while it iterates
    unsigned first, size; ///< first colour, and number of colours
    Sums<Sum> sums;
};

inline constexpr int slabs_of_cell = 4;
inline constexpr int slab_count = cell_count * slabs_of_cell;
inline constexpr int slab_bits = cell_bits - 2; ///< bits of the code of a colour in its slab
static_assert(max_colors_of_task >= 1 << slab_bits, "a slab is not cut");

/// Copies of sums, used in turn: blocks add to one, read one and clear one.
inline constexpr int phases = 3;

/// Counters that are 0 between runs.
struct Control {
    unsigned colors, tasks;
    unsigned arrived_at_seed, arrived_at_lloyd; ///< at the barrier of all blocks of these kernels
    Wide squares;                               ///< sum over the pixels of their squared colours
    Wide farthest[phases]; ///< in turn: the greatest of the keys of farthest_key()
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

/// Sum over groups of neighbouring lanes. lanes: size of a group.
template <int lanes, class T>
__device__ __forceinline__ T sum_of_lanes(T v) {
    if constexpr (lanes == 32 && std::is_same_v<T, unsigned>) {
        return warp_sum(v);
    } else {
#pragma unroll
        for (int d = 1; d < lanes; d *= 2)
            v += __shfl_xor_sync(~0u, v, d);
        return v;
    }
}

template <int lanes, class Sum>
__device__ __forceinline__ Sums<Sum> sum_of_lanes(const Sums<Sum> &s) {
    return {sum_of_lanes<lanes>(s.count), sum_of_lanes<lanes>(s.x), sum_of_lanes<lanes>(s.y),
            sum_of_lanes<lanes>(s.z)};
}

/// Finds the occupied cells in the bitmap. threads: per block.
template <int threads>
class CellIndex {
  public:
    static constexpr int words = cell_count / 32, warps = threads / 32;
    struct Shared {
        unsigned before[words]; ///< cells that are occupied, up to each word
        unsigned of_warps[warps];
    };

    __device__ CellIndex(const unsigned *occupied, Shared &shared)
        : occupied_(occupied), shared_(shared) {
        constexpr int each = words / threads; // words of a thread
        unsigned own[each], sum = 0;
        for (int i = 0; i < each; i++) {
            own[i] = __popc(occupied[each * threadIdx.x + i]);
            sum += own[i];
        }
        unsigned at = block_sum_before<warps>(sum, shared.of_warps, size_);
        for (int i = 0; i < each; i++) {
            shared.before[each * threadIdx.x + i] = at;
            at += own[i];
        }
        __syncthreads();
    }

    __device__ unsigned size() const { return size_; }

    /// The i-th occupied cell; called by a whole warp.
    __device__ unsigned cell(unsigned i) const {
        const unsigned lane = threadIdx.x % 32;
        const unsigned chunk = last_lane(shared_.before[32 * lane] <= i);
        const unsigned word = 32 * chunk + last_lane(shared_.before[32 * chunk + lane] <= i);
        const unsigned bits = occupied_[word], below = __popc(bits & ((1u << lane) - 1));
        const bool it = (bits >> lane & 1) && below == i - shared_.before[word];
        return 32 * word + last_lane(it);
    }

  private:
    __device__ static unsigned last_lane(bool which) {
        return 31 - __clz(static_cast<int>(__ballot_sync(~0u, which)));
    }

    const unsigned *occupied_;
    Shared &shared_;
    unsigned size_; ///< cells that are occupied
};

/// A warp for each cell that is occupied. Clears the counters.
template <class Sum>
struct Collect {
    static constexpr int threads = collect_threads;
    static constexpr int min_blocks = collect_blocks;
    static constexpr int warps = threads / 32;              ///< and cells of a block
    static constexpr int colors_of_lane = cell_colors / 32; ///< those of code i * 32 + lane
    static constexpr int colors_of_slab = colors_of_lane / slabs_of_cell;
    static constexpr bool waits = true;
    struct Shared {
        typename CellIndex<threads>::Shared index;
        unsigned colors[warps], tasks[warps]; ///< at first: how many; then: where they begin
        Wide squares[warps];
    };
    struct Job {
        unsigned *counters;       ///< by code; 0 between runs
        const unsigned *occupied; ///< a bit for each cell
        Control *control;
        Colors colors;
        Cell *cells;
        Task<Sum> *tasks;
        WarmStart unless; ///< then there is nothing to do
    };

    __device__ static void run(const Job &job) {
        Shared &shared = *shared_memory<Shared>();
        const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        wait_for_earlier_kernels();
        if (job.unless.is_there())
            return;
        const CellIndex<threads> index(job.occupied, shared.index);
        Wide squares = 0;
        for (unsigned first = blockIdx.x; first < index.size(); first += gridDim.x * warps) {
            const unsigned mine = first + warp * gridDim.x; // dealt like cards
            const bool there = mine < index.size();
            squares += collect_cells(job, shared, there ? index.cell(mine) : 0, there);
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
        unsigned tasks = 0; ///< tasks that have colours
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
            const bool whole = size <= max_colors_of_task;
            cut.size += size;
            cut.tasks += whole ? size > 0 : 2;
            cut.ends |= (whole ? 2u : 3u) << 2 * half;
        }
        if (cut.size <= max_colors_of_task) {
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
                if (counts[i]) // most are 0 already, and need not go back to memory
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

    /// A warp for the colours, and one for the tasks.
    __device__ static void make_room(const Job &job, Shared &shared) {
        const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        if (warp > 1)
            return;
        unsigned *of_warps = warp == 0 ? shared.colors : shared.tasks;
        const unsigned own = lane < warps ? of_warps[lane] : 0,
                       up_to_here = warp_inclusive_sum(own);
        unsigned begin = 0;
        if (lane == 31)
            begin = atomicAdd(warp == 0 ? &job.control->colors : &job.control->tasks, up_to_here);
        begin = __shfl_sync(all, begin, 31);
        if (lane < warps)
            of_warps[lane] = begin + up_to_here - own;
    }

    /// Lists the colours of a cell, and its tasks. Returns this lane's part of the sum of squares.
    __device__ static Wide collect(const Job &job, const Shared &shared, unsigned cell,
                                   const Cut &cut, const unsigned (&counts)[colors_of_lane]) {
        const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const unsigned first = shared.colors[warp];
        unsigned task = shared.tasks[warp], at = first;
        if (lane == 0)
            job.cells[cell] = {first, cut.size};
        const Color corner = color_of(cell << cell_bits | lane);
        const unsigned key = key_of(cell << cell_bits | lane);
        Sums<Sum> sums{};
        unsigned begin = first, begin_slab = 0; // of the task
        Wide squares = 0;
#pragma unroll
        for (int slab = 0; slab < slabs_of_cell; slab++) {
            const unsigned *own = counts + slab * colors_of_slab;
#pragma unroll
            for (int i = 0; i < colors_of_slab; i++) {
                const unsigned there = __ballot_sync(all, own[i] != 0);
                if (own[i]) {
                    const unsigned mine = at + __popc(there & ((1u << lane) - 1));
                    job.colors.keys[mine] = key + key_of((slab * colors_of_slab + i) * 32);
                    job.colors.counts[mine] = own[i];
                }
                at += __popc(there);
            }
            // The lane's four colours differ by 1 in red, and by 4 in green.
            static_assert(colors_of_slab == 4 && cell_side == 8);
            const int red = corner.red + 2 * slab;
            const Sum count = static_cast<Sum>(own[0]) + own[1] + own[2] + own[3];
            const Sum redder = static_cast<Sum>(own[2]) + own[3];
            const Sum greener = static_cast<Sum>(own[1]) + own[3];
            sums.count += count;
            sums.x += count * red + redder;
            sums.y += count * corner.green + 4 * greener;
            sums.z += count * corner.blue;
            squares += static_cast<Wide>(count) *
                           squared_distance({red, corner.green, corner.blue}, {0, 0, 0}) +
                       static_cast<Wide>(redder) * (2 * red + 1) +
                       static_cast<Wide>(greener) * (8 * corner.green + 16);
            if (cut.ends >> slab & 1) {
                if (at > begin) {
                    const Sums<Sum> of_task = sum_of_lanes<32>(sums);
                    if (lane == 0)
                        job.tasks[task] = {cell * slabs_of_cell + begin_slab,
                                           static_cast<std::uint16_t>(slab + 1 - begin_slab),
                                           0,
                                           begin,
                                           at - begin,
                                           of_task};
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
