// SPDX-License-Identifier: BSD-2-Clause
// Gives the roots of the image their labels: 1 and on, in raster order.
#pragma once

#include "cuda/ccl/tile.cuh"

namespace gpv::cuda::ccl {

/// A block counts the roots in a chunk of the root bits, makes its count
/// known, and adds up the counts of all chunks before it. Chunks are taken in
/// turn, so that a block waits only for blocks that have begun before it.
struct Number {
    static constexpr int threads = number_threads;
    static constexpr int words_of_thread = number_words;
    static constexpr int warps = threads / 32;
    static_assert(threads % 32 == 0);
    static constexpr std::size_t shared_bytes = warps * sizeof(unsigned);
    using Job = ccl::Job;

    static constexpr bool waits = true;

    __device__ static void run(const Job &job) {
        unsigned *sums = shared_memory<unsigned>();
        const unsigned chunk = take_chunk(job, sums);
        wait_for_earlier_kernels();
        let_next_kernel_begin(); // it relies on all but this one being over
        const unsigned word = (chunk * threads + threadIdx.x) * words_of_thread;
        uint4 bits = make_uint4(0, 0, 0, 0);
        if (word < job.words()) { // a multiple of words_of_thread
            bits = *reinterpret_cast<const uint4 *>(job.root_bits + word);
            if (job.area)
                filter(job, word, bits);
        }
        const uint4 counts =
            make_uint4(__popc(bits.x), __popc(bits.y), __popc(bits.z), __popc(bits.w));
        const unsigned own = counts.x + counts.y + counts.z + counts.w;
        unsigned total;
        const unsigned before = block_sum_before<warps>(own, sums, total);
        if (threadIdx.x == 0)
            store_volatile(job.chunk_counts + chunk, total + 1);
        const unsigned earlier = count_of_earlier_chunks(job, chunk, sums);
        if (word < job.words()) {
            const unsigned base = 1 + earlier + before;
            const uint4 bases = make_uint4(base, base + counts.x, base + counts.x + counts.y,
                                           base + counts.x + counts.y + counts.z);
            *reinterpret_cast<uint4 *>(job.base + word) = bases;
            if (job.records && base <= job.capacity) {
                start_records(job, word, bits.x, bases.x);
                start_records(job, word + 1, bits.y, bases.y);
                start_records(job, word + 2, bits.z, bases.z);
                start_records(job, word + 3, bits.w, bases.w);
            }
        }
        if (chunk == gridDim.x - 1 && threadIdx.x == 0) {
            const auto count = static_cast<std::int32_t>(earlier + total);
            for (std::int32_t *to : {job.host_count, job.count})
                if (to)
                    *to = count;
        }
    }

  private:
    /// The last block to begin sets the count back for the next run.
    __device__ static unsigned take_chunk(const Job &job, unsigned *shared) {
        if (threadIdx.x == 0) {
            shared[0] = atomicAdd(job.next_chunk, 1u);
            if (shared[0] == gridDim.x - 1)
                store_volatile(job.next_chunk, 0u);
        }
        __syncthreads();
        const unsigned chunk = shared[0];
        __syncthreads();
        return chunk;
    }

    /// Drops roots of components of the wrong size.
    __device__ static void filter(const Job &job, unsigned word, uint4 &bits) {
        bits.x = kept(job, word, bits.x);
        bits.y = kept(job, word + 1, bits.y);
        bits.z = kept(job, word + 2, bits.z);
        bits.w = kept(job, word + 3, bits.w);
        *reinterpret_cast<uint4 *>(job.root_bits + word) = bits;
    }
    __device__ static unsigned kept(const Job &job, unsigned word, unsigned bits) {
        unsigned result = bits;
        for (; bits; bits &= bits - 1) {
            const int bit = __ffs(int(bits)) - 1;
            const auto area = static_cast<int>(job.area[word * 32 + bit]);
            if (area < job.min_area || (job.max_area && area > job.max_area))
                result &= ~(1u << bit);
        }
        return result;
    }

    __device__ static unsigned count_of_earlier_chunks(const Job &job, unsigned chunk,
                                                       unsigned *sums) {
        unsigned sum = 0;
        for (unsigned i = threadIdx.x; i < chunk; i += threads) {
            unsigned count;
            while (!(count = load_volatile(job.chunk_counts + i)))
                ;
            sum += count - 1;
        }
        unsigned total;
        __syncthreads(); // sums is free again
        block_sum_before<warps>(sum, sums, total);
        return total;
    }

    /// Starts the records of components to which several tiles may add.
    __device__ static void start_records(const Job &job, unsigned word, unsigned bits,
                                         unsigned first) {
        const auto y = static_cast<std::int32_t>(word / job.row_words);
        for (unsigned todo = bits & job.border_bits[word]; todo; todo &= todo - 1) {
            const unsigned label = first + __popc(bits & (lowest_alone(todo) - 1));
            if (label <= job.capacity)
                *record(job, label) = {INT32_MAX, y, 0, 0, 0, 0, 0, 0};
        }
    }
};

} // namespace gpv::cuda::ccl
