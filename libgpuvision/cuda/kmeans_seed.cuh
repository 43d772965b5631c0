// SPDX-License-Identifier: BSD-2-Clause
// Draws the colours from which the iteration starts, by k-means++ or at random.
#pragma once

#include "cuda/kmeans_colors.cuh"

namespace gpv::cuda::kmeans {

/// What goes from one run to the next.
struct State {
    unsigned signature; ///< of the parameters that a warm start needs; 0: there is no run yet
    int clusters;
    Centroid centroids[most_clusters];
};

/// A barrier for all blocks of a kernel that run at once. Counts on from call to call.
class GridBarrier {
  public:
    /// arrived: 0 when the kernel begins.
    __device__ explicit GridBarrier(unsigned *arrived) : arrived_(arrived) {}

    /// After it, what any block has written before is there for loads that go to memory.
    __device__ void wait() {
        target_ += gridDim.x;
        __syncthreads();
        if (threadIdx.x == 0) {
            arrive(arrived_);
            wait_for_arrivals(arrived_, target_);
        }
        __syncthreads();
    }

  private:
    unsigned *arrived_;
    unsigned target_ = 0;
};

/// Every warp weighs the colours of its cells; then every block finds the same colour.
struct Seed {
    static constexpr int threads = lloyd_threads;
    static constexpr int min_blocks = 1;
    static constexpr int warps = threads / 32;
    struct Shared {
        Wide sums[warps]; ///< of weights, up to the end of each warp
        Wide place;       ///< in the weights of the cell
        unsigned cell;
        Color drawn;
    };
    static constexpr std::size_t shared_bytes = sizeof(Shared);
    struct Job {
        Control *control;
        Colors colors;
        const unsigned *occupied; ///< a bit for each cell
        const Cell *cells;
        unsigned *order; ///< the occupied cells
        Wide *weights;   ///< of these
        const State *state;
        unsigned signature; ///< of a warm start, 0: none
        KmeansStart start;
        std::uint64_t seed;
        int clusters;
        Centroid *seeds;
    };

    __device__ static void run(const Job &job) {
        if (job.signature && job.state->signature == job.signature)
            return; // all blocks do
        Shared &shared = *shared_memory<Shared>();
        GridBarrier barrier(&job.control->arrived_at_seed);
        const unsigned cells = order_cells(job, shared);
        barrier.wait();
        for (int i = 0; i < job.clusters; i++) {
            weigh(job, cells, i == 0, shared.drawn);
            barrier.wait();
            draw(job, cells, i, shared);
            if (blockIdx.x == 0 && threadIdx.x == 0)
                job.seeds[i] = centroid_of(shared.drawn);
            barrier.wait();
        }
    }

  private:
    static_assert(threads == cell_count / 32, "a thread for each word of cells");

    /// Lists them, and returns how many there are.
    __device__ static unsigned order_cells(const Job &job, Shared &shared) {
        unsigned bits = job.occupied[threadIdx.x];
        Wide total;
        Wide at = sum_before(__popc(bits), shared, total);
        if (blockIdx.x == 0)
            for (; bits; bits &= bits - 1)
                __stcg(job.order + at++, threadIdx.x * 32 + __ffs(int(bits)) - 1);
        return static_cast<unsigned>(total);
    }

    __device__ static void weigh(const Job &job, unsigned cells, bool first, const Color &drawn) {
        const unsigned lane = threadIdx.x % 32, warp = blockIdx.x * warps + threadIdx.x / 32;
        for (unsigned i = warp; i < cells; i += gridDim.x * warps) {
            const Cell cell = job.cells[__ldcg(job.order + i)];
            Wide sum = 0;
            for (unsigned c = cell.first + lane; c < cell.first + cell.size; c += 32) {
                const unsigned count = job.colors.counts[c];
                if (first) {
                    __stcg(job.colors.distances + c, ~0u);
                    sum += count;
                    continue;
                }
                const unsigned distance =
                    min(__ldcg(job.colors.distances + c),
                        squared_distance(color_of_key(job.colors.keys[c]), drawn));
                __stcg(job.colors.distances + c, distance);
                sum += draw_weight(job.start, count, distance);
            }
            sum = sum_of_lanes<32>(sum);
            if (lane == 0)
                __stcg(job.weights + i, sum);
        }
    }

    __device__ static void draw(const Job &job, unsigned cells, int i, Shared &shared) {
        const unsigned per = (cells + threads - 1) / threads;
        const unsigned begin = min(threadIdx.x * per, cells), end = min(begin + per, cells);
        Wide own = 0;
        for (unsigned c = begin; c < end; c++)
            own += __ldcg(job.weights + c);
        Wide total;
        const Wide before = sum_before(own, shared, total);
        if (total == 0) { // all colours have been drawn: the first one again
            if (threadIdx.x == 0)
                shared.drawn = color_of_seed(load_seed(job));
            __syncthreads();
            return;
        }
        const Wide place = place_below(random_number(job.seed, i), total);
        if (place >= before && place < before + own)
            find_cell(job, begin, place - before, shared);
        __syncthreads();
        if (threadIdx.x < 32)
            find_color(job, i == 0, shared);
        __syncthreads();
    }

    __device__ static Centroid load_seed(const Job &job) {
        const float *seed = &job.seeds->x;
        return {__ldcg(seed), __ldcg(seed + 1), __ldcg(seed + 2)};
    }
    __device__ static Color color_of_seed(const Centroid &c) {
        return {static_cast<int>(c.x), static_cast<int>(c.y), static_cast<int>(c.z)};
    }

    __device__ static void find_cell(const Job &job, unsigned cell, Wide place, Shared &shared) {
        for (;; cell++) {
            const Wide weight = __ldcg(job.weights + cell);
            if (place < weight)
                break;
            place -= weight;
        }
        shared.cell = cell;
        shared.place = place;
    }

    /// By one warp.
    __device__ static void find_color(const Job &job, bool first, Shared &shared) {
        const Cell cell = job.cells[__ldcg(job.order + shared.cell)];
        const unsigned lane = threadIdx.x % 32;
        Wide passed = 0;
        for (unsigned i = 0; i < cell.size; i += 32) {
            const unsigned c = cell.first + i + lane;
            Wide weight = 0;
            if (i + lane < cell.size) {
                const unsigned count = job.colors.counts[c];
                weight =
                    first ? count : draw_weight(job.start, count, __ldcg(job.colors.distances + c));
            }
            const Wide up_to_here = passed + sum_up_to(weight);
            const unsigned beyond = __ballot_sync(~0u, up_to_here > shared.place);
            if (beyond) {
                if (lane == static_cast<unsigned>(__ffs(int(beyond)) - 1))
                    shared.drawn = color_of_key(job.colors.keys[c]);
                return;
            }
            passed = __shfl_sync(~0u, up_to_here, 31);
        }
    }

    __device__ static Wide sum_up_to(Wide own) {
        const int lane = threadIdx.x % 32;
        for (int d = 1; d < 32; d *= 2) {
            const Wide other = __shfl_up_sync(~0u, own, d);
            if (lane >= d)
                own += other;
        }
        return own;
    }

    /// Sum of what the threads before this one have; total: of all.
    __device__ static Wide sum_before(Wide own, Shared &shared, Wide &total) {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const Wide up_to_here = sum_up_to(own);
        if (lane == 31)
            shared.sums[warp] = up_to_here;
        __syncthreads();
        const Wide up_to_warp = sum_up_to(shared.sums[lane]);
        total = __shfl_sync(~0u, up_to_warp, warps - 1);
        const Wide before_warp = __shfl_sync(~0u, up_to_warp, warp ? warp - 1 : 0);
        __syncthreads(); // sums may be written again
        return up_to_here - own + (warp ? before_warp : 0);
    }
};

} // namespace gpv::cuda::kmeans
