// SPDX-License-Identifier: BSD-2-Clause
// Which queries have a match, and the matches in their order.
#pragma once

#include "cuda/match/compare.cuh"

namespace gpv::cuda::match {

/// Results of Compare for each descriptor of a set.
struct Parts {
    Nearest *nearest; ///< by part, then descriptor
    std::int64_t pitch;
    int size;     ///< descriptors per part
    int of_count; ///< parts that there may be

    /// trains: how many there are in the other set. Parts behind the last have not been written.
    __device__ Nearest of(int i, int trains) const {
        Nearest result;
        for (int part = 0; part < of_count && part * std::int64_t{size} < trains; part++)
            result.merge(nearest[part * pitch + i]);
        return result;
    }
};

/// What the kernels share of how many queries have a match.
struct Chosen {
    Nearest *nearest; ///< of each query
    unsigned *bits;   ///< a bit for each query, 32 of a warp
    int *counts;      ///< of each block
};

struct Choose {
    struct Job {
        Set query, train;
        Parts there, back; ///< back: where mutual
        float ratio;
        bool mutual;
        Chosen chosen;
        Nearest *nearest; ///< the caller's; may be null
    };
    static constexpr int threads = choose_threads;

    static __device__ void run(const Job &job) {
        const int query = static_cast<int>(blockIdx.x) * threads + static_cast<int>(threadIdx.x);
        const bool matched = query < job.query.count() && choose(job, query);
        const unsigned bits = __ballot_sync(~0u, matched);
        if (threadIdx.x % 32 == 0)
            job.chosen.bits[query / 32] = bits;
        const int count = __syncthreads_count(matched);
        if (threadIdx.x == 0)
            job.chosen.counts[blockIdx.x] = count;
    }

  private:
    static __device__ bool choose(const Job &job, int query) {
        const Nearest nearest = job.there.of(query, job.train.count());
        job.chosen.nearest[query] = nearest;
        if (job.nearest)
            job.nearest[query] = nearest;
        return passes_ratio_test(job.ratio, nearest) &&
               (!job.mutual || job.back.of(nearest.index[0], job.query.count()).index[0] == query);
    }
};

struct Write {
    struct Job {
        Set query;
        Chosen chosen;
        int room;            ///< for pairs
        MatchPair *pairs;    ///< the caller's; may be null
        MatchResult *report; ///< may be null
        MatchResult *result; ///< the caller's; may be null
    };
    static constexpr int threads = choose_threads;
    struct Shared {
        int before; ///< matches of the blocks before, and of the warps
        int of_warps[threads / 32];
    };

    static __device__ void run(const Job &job) {
        Shared &shared = *shared_memory<Shared>();
        const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
        const int query = static_cast<int>(blockIdx.x) * threads + thread;
        const unsigned bits = job.chosen.bits[query / 32];
        if (thread == 0)
            shared.before = 0;
        if (lane == 0)
            shared.of_warps[thread / 32] = __popc(bits);
        __syncthreads();
        int before = 0;
        for (int block = thread; block < static_cast<int>(blockIdx.x); block += threads)
            before += job.chosen.counts[block];
        before = static_cast<int>(warp_sum(static_cast<unsigned>(before)));
        if (lane == 0 && before > 0)
            atomicAdd(&shared.before, before);
        __syncthreads();

        int rank = shared.before + __popc(bits & ((1u << lane) - 1));
        for (int warp = 0; warp < thread / 32; warp++)
            rank += shared.of_warps[warp];
        if ((bits >> lane & 1) && rank < job.room && job.pairs) {
            const Nearest &nearest = job.chosen.nearest[query];
            job.pairs[rank] = {query, nearest.index[0], nearest.distance[0], nearest.distance[1]};
        }
        if (blockIdx.x == gridDim.x - 1 && thread == 0)
            report(job, shared.before + job.chosen.counts[blockIdx.x]);
    }

  private:
    static __device__ void report(const Job &job, int matches) {
        const int count = min(matches, job.room);
        const MatchResult found{sizeof(MatchResult), count, matches - count, job.query.count()};
        if (job.report)
            *job.report = found;
        if (job.result)
            *job.result = found;
    }
};

} // namespace gpv::cuda::match
