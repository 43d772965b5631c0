// SPDX-License-Identifier: BSD-2-Clause
// Draws the colours from which the iteration starts, by k-means++ or at random.
#pragma once

#include "cuda/kmeans/colors.cuh"

namespace gpv::cuda::kmeans {

/// Weights of colours, summed; in turn: those of the draw, and those for the next one.
struct SeedWeights {
    Wide *of_blocks[2]; ///< the sum of its cells
    Wide *of_cells[2];  ///< sum of each occupied cell, in the order of codes
    unsigned *farthest; ///< greatest of Colors::distances in each of these cells
};

/// Every block weighs the colours of its cells; then every block finds the same colour.
struct Seed {
    static constexpr int threads = lloyd_threads;
    static constexpr int warps = threads / 32;
    static constexpr int max_blocks = threads; ///< a thread for each
    static constexpr int at_once = 4;          ///< colours of a lane
    using Index = CellIndex<threads>;
    struct Shared {
        Index::Shared index;
        Wide sums[warps];         ///< sums of weights, up to the end of each warp
        unsigned block;           ///< the block with the drawn colour
        Wide place;               ///< in the weights of the block
        Color first, last, drawn; ///< drawn colours: the first, the previous, the newest
    };
    struct Job {
        Control *control;
        Colors colors;
        const unsigned *occupied; ///< a bit for each cell
        const Cell *cells;
        SeedWeights weights;
        WarmStart unless; ///< then there is nothing to do
        gpv_kmeans_init_method init;
        std::uint64_t seed;
        int clusters;
        Centroid *seeds;
    };

    __device__ static void run(const Job &job) {
        if (job.unless.is_there())
            return; // all blocks do
        Seed self(job);
        GridBarrier barrier(&job.control->arrived_at_seed);
        for (int i = 0; i < job.clusters; i++) {
            self.weigh(i);
            barrier.wait();
            self.draw(i);
            if (blockIdx.x == 0 && threadIdx.x == 0)
                job.seeds[i] = centroid_of(self.shared.drawn);
        }
    }

  private:
    __device__ explicit Seed(const Job &job_)
        : job(job_), shared(*shared_memory<Shared>()), index(job_.occupied, shared.index),
          lane(threadIdx.x % 32), warp(threadIdx.x / 32) {}

    /// Where the cells of a block begin.
    __device__ unsigned first_cell(unsigned block) const {
        return static_cast<unsigned>(Wide{index.size()} * block / gridDim.x);
    }

    /// Weights for the i-th draw. Blocks may still be at the draw before, so Colors::distances lack
    /// the newest of the colours, and weights are written where they are not read.
    __device__ void weigh(int i) {
        Wide sum = 0;
        for (unsigned c = first_cell(blockIdx.x) + warp; c < first_cell(blockIdx.x + 1);
             c += warps) {
            const Wide weight = weight_of_cell(i, c);
            if (lane == 0)
                __stcg(job.weights.of_cells[i % 2] + c, weight);
            sum += weight;
        }
        if (lane == 0)
            shared.sums[warp] = sum;
        __syncthreads();
        if (warp == 0) {
            const Wide total = sum_of_lanes<32>(shared.sums[lane]);
            if (lane == 0)
                __stcg(job.weights.of_blocks[i % 2] + blockIdx.x, total);
        }
    }

    __device__ Wide weight_of_cell(int i, unsigned c) {
        const unsigned code = index.cell(c) << cell_bits;
        const Cell &cell = job.cells[code >> cell_bits];
        if (i == 0)
            return first_weight(cell);
        if (i == 1 || nears(color_of(code), job.weights.farthest[c]))
            return weigh_cell(cell, job.weights.farthest[c]);
        return __ldcg(job.weights.of_cells[(i + 1) % 2] + c);
    }

    __device__ Wide first_weight(const Cell &cell) {
        Wide sum = 0;
        for (unsigned c = cell.first + lane; c < cell.first + cell.size; c += 32) {
            store_volatile(job.colors.distances + c, ~0u);
            sum += job.colors.counts[c];
        }
        return sum_of_lanes<32>(sum);
    }

    /// Whether a colour of the cell may be nearer to one of the last two than to all before.
    __device__ bool nears(const Color &corner, unsigned farthest) const {
        return distance_from_cell(corner, shared.drawn) < farthest ||
               distance_from_cell(corner, shared.last) < farthest;
    }
    __device__ static unsigned distance_from_cell(const Color &corner, const Color &c) {
        const auto nearest = [](int v, int begin) {
            return min(max(v, begin), begin + cell_side - 1);
        };
        return squared_distance(c, {nearest(c.red, corner.red), nearest(c.green, corner.green),
                                    nearest(c.blue, corner.blue)});
    }

    __device__ Wide weigh_cell(const Cell &cell, unsigned &farthest_of_cell) {
        Wide sum = 0;
        unsigned farthest = 0;
        for (unsigned first = lane; first < cell.size; first += 32 * at_once) {
            unsigned keys[at_once], counts[at_once], distances[at_once];
#pragma unroll
            for (int i = 0; i < at_once; i++) { // before anything waits for them
                const unsigned c = cell.first + min(first + 32 * i, cell.size - 1);
                keys[i] = job.colors.keys[c];
                counts[i] = job.colors.counts[c];
                distances[i] = __ldcg(job.colors.distances + c);
            }
#pragma unroll
            for (int i = 0; i < at_once; i++) {
                if (first + 32 * i >= cell.size)
                    continue;
                const Color color = color_of_key(keys[i]);
                const unsigned stored = min(distances[i], squared_distance(color, shared.last));
                store_volatile(job.colors.distances + cell.first + first + 32 * i, stored);
                farthest = max(farthest, stored);
                sum += draw_weight(job.init, counts[i],
                                   min(stored, squared_distance(color, shared.drawn)));
            }
        }
        farthest = static_cast<unsigned>(warp_max(static_cast<int>(farthest)));
        if (lane == 0)
            farthest_of_cell = farthest;
        return sum_of_lanes<32>(sum);
    }

    __device__ void draw(int i) {
        const Wide own =
            threadIdx.x < gridDim.x ? __ldcg(job.weights.of_blocks[i % 2] + threadIdx.x) : 0;
        Wide total;
        const Wide before = block_sum_before<warps>(own, shared.sums, total);
        const Wide place = scale_random(random_number(job.seed, i), total);
        if (place >= before && place < before + own) {
            shared.block = threadIdx.x;
            shared.place = place - before;
        }
        __syncthreads();
        if (warp == 0) {
            // If all colours have been drawn, the first one again.
            const Color drawn = total ? find_color(i) : shared.first;
            __syncwarp();
            if (lane == 0) {
                shared.last = i == 0 ? drawn : shared.drawn;
                shared.drawn = drawn;
                if (i == 0)
                    shared.first = drawn;
            }
        }
        __syncthreads();
    }

    /// By one warp.
    __device__ Color find_color(int i) const {
        Wide place = shared.place;
        const unsigned end = first_cell(shared.block + 1);
        const unsigned c = find(place, first_cell(shared.block), end, [&](unsigned at) {
            return __ldcg(job.weights.of_cells[i % 2] + at);
        });
        const Cell cell = job.cells[index.cell(c)];
        const unsigned at = find(place, cell.first, cell.first + cell.size, [&](unsigned color) {
            const unsigned count = job.colors.counts[color];
            if (i == 0)
                return Wide{count};
            // Another block may have taken the newest colour into account already.
            const unsigned distance =
                min(load_volatile(job.colors.distances + color),
                    squared_distance(color_of_key(job.colors.keys[color]), shared.drawn));
            return Wide{draw_weight(job.init, count, distance)};
        });
        return color_of_key(job.colors.keys[at]);
    }

    /// The first one whose weight, with those of all before, is beyond the place, which becomes the
    /// place in it.
    template <class F>
    __device__ unsigned find(Wide &place, unsigned begin, unsigned end, F weight_of) const {
        for (;; begin += 32) {
            const Wide own = begin + lane < end ? weight_of(begin + lane) : 0;
            const Wide up_to_here = warp_inclusive_sum(own);
            const unsigned beyond = __ballot_sync(~0u, up_to_here > place);
            if (beyond) {
                const int from = __ffs(static_cast<int>(beyond)) - 1;
                place -= __shfl_sync(~0u, up_to_here - own, from);
                return begin + from;
            }
            place -= __shfl_sync(~0u, up_to_here, 31);
        }
    }

    const Job &job;
    Shared &shared;
    const Index index;
    const unsigned lane, warp;
};

} // namespace gpv::cuda::kmeans
