// SPDX-License-Identifier: BSD-2-Clause
// The two nearest of each query in one part of the other set, by products of bytes on tensor cores.
#pragma once

#include "core/match.hpp"
#include "core/sift.hpp"
#include "cuda/kernel.cuh"
#include "cuda/match/tuning.hpp"

namespace gpv::cuda::match {

inline constexpr int length_words = match_length / 4;
inline constexpr unsigned nothing = ~0u; ///< a key that is greater than any other

/// Descriptors on the device.
struct Set {
    const std::byte *descriptors; ///< a multiple of 4
    const std::int32_t *norms;
    int room;                ///< greatest number of descriptors
    const SiftResult *found; ///< its count, if less, is the number of descriptors; may be null

    __device__ int count() const { return found ? max(min(found->count, room), 0) : room; }
    __device__ const Word *words(int i) const {
        return reinterpret_cast<const Word *>(descriptors) + std::size_t{length_words} * i;
    }
};

/// d += a b of a warp, where a has 16 rows of 32 bytes and b 32 bytes of 8 columns: of PTX, mma
/// m16n8k32. Lane l has row l / 4 and 8 more of a and d, and column l / 4 of b.
__device__ __forceinline__ void multiply_add(unsigned (&d)[4], const Word (&a)[4], Word b0,
                                             Word b1) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
    const int row = static_cast<int>(threadIdx.x) % 32 / 4;
    const int column = static_cast<int>(threadIdx.x) % 4 * 2;
    for (int t = 0; t < 4; t++) {
        Word part[4];
        for (int i = 0; i < 4; i++)
            part[i] = __shfl_sync(~0u, a[i], 4 * row + t);
        for (int c = 0; c < 2; c++) {
            const Word low = __shfl_sync(~0u, b0, 4 * (column + c) + t),
                       high = __shfl_sync(~0u, b1, 4 * (column + c) + t);
            d[c] = __dp4a(part[2], high, __dp4a(part[0], low, d[c]));
            d[2 + c] = __dp4a(part[3], high, __dp4a(part[1], low, d[2 + c]));
        }
    }
#endif
}

/// Sums of squares.
struct Norms {
    struct Job {
        Set sets[2];
        std::int32_t *norms[2];
    };
    static constexpr int threads = norm_threads;
    static constexpr int at_once = threads / 32; ///< descriptors per block

    /// blockIdx.y is the set.
    static __device__ void run(const Job &job) {
        const Set &set = job.sets[blockIdx.y];
        const int i = static_cast<int>(blockIdx.x) * at_once + static_cast<int>(threadIdx.x) / 32;
        if (i >= set.count())
            return;
        const Word word = set.words(i)[threadIdx.x % 32];
        const unsigned norm = warp_sum(__dp4a(word, word, 0u));
        if (threadIdx.x % 32 == 0)
            job.norms[blockIdx.y][i] = static_cast<std::int32_t>(norm);
    }
};

/// A block has some queries, in registers, and goes through a part of the other set, tile by tile
/// in shared memory. Distances of a group of tiles are kept with the place in it, as one key, so
/// that the lesser of two is one instruction; a group's two least are then kept as they are.
struct Compare {
    static constexpr int warp_queries = 32, queries = compare_warps * warp_queries;
    static constexpr int tile = 64, group = 512; ///< descriptors
    static constexpr int place_bits = 9;
    static_assert(1 << place_bits == group && max_distance < 1 << (32 - place_bits));

    struct Job {
        Set query, train;
        int part;           ///< descriptors of a part, whole groups
        Nearest *parts;     ///< by part, then query
        std::int64_t pitch; ///< queries from part to part
    };
    static constexpr int threads = 32 * compare_warps;
    static constexpr int min_blocks = compare_blocks;

    /// Rows are padded, so that lanes that read the same words of 8 of them do not meet in a bank.
    struct alignas(16) Shared {
        static constexpr int row_words = length_words + 4;
        Word words[tile][row_words];
        unsigned keys[tile]; ///< norm and place
    };

    static __device__ void run(const Job &job) { Compare(job, *shared_memory<Shared>()).run(); }

  private:
    static constexpr int thread_pieces = tile * match_length / 16 / threads;
    static constexpr int steps = match_length / 32; ///< of a product
    static constexpr int rows = 4;                  ///< queries of a lane

    __device__ Compare(const Job &job, Shared &shared)
        : job_(job), shared_(shared), lane_(static_cast<int>(threadIdx.x) % 32),
          first_(static_cast<int>(blockIdx.x) * queries +
                 static_cast<int>(threadIdx.x) / 32 * warp_queries),
          query_count_(job.query.count()), begin_(static_cast<int>(blockIdx.y) * job.part),
          end_(min(begin_ + job.part, job.train.count())) {}

    __device__ void run() {
        if (static_cast<int>(blockIdx.x) * queries >= query_count_)
            return;
        const bool working = first_ < query_count_; // of the whole warp
        if (working)
            take_queries();
        fetch(begin_);
        for (int base = begin_; base < end_; base += tile) {
            __syncthreads();
            store(base);
            __syncthreads();
            fetch(base + tile);
            if (!working)
                continue;
            base + tile <= end_ ? compare<false>(base) : compare<true>(base);
            const int next = base + tile - begin_;
            if (next % group == 0 || base + tile >= end_)
                keep(base - (base - begin_) % group);
        }
        if (working)
            write();
    }

    /// Row r of a lane: 8 r behind that of its first.
    __device__ int query_of(int row) const { return first_ + lane_ / 4 + 8 * row; }

    __device__ void take_queries() {
        for (int row = 0; row < rows; row++) {
            const int query = query_of(row);
            const bool there = query < query_count_;
            const Word *words = job_.query.words(there ? query : 0);
            for (int step = 0; step < steps; step++)
                for (int half = 0; half < 2; half++)
                    queries_[row / 2][step][2 * half + row % 2] =
                        there ? words[8 * step + 4 * half + lane_ % 4] : 0;
            norms_[row] = there ? static_cast<unsigned>(job_.query.norms[query]) << place_bits : 0;
            min_[row][0] = min_[row][1] = nothing;
        }
    }

    // Tiles come by way of registers, while the one before is compared. Zeros behind the last.

    static __device__ int piece_of(int i) { return static_cast<int>(threadIdx.x) + i * threads; }

    __device__ void fetch(int base) {
        if (base >= end_)
            return;
        const bool wide = reinterpret_cast<std::uintptr_t>(job_.train.descriptors) % 16 == 0;
        for (int i = 0; i < thread_pieces; i++) {
            const int descriptor = base + piece_of(i) / 8;
            const Word *from = job_.train.words(min(descriptor, end_ - 1)) + 4 * (piece_of(i) % 8);
            fetched_[i] = wide ? *reinterpret_cast<const uint4 *>(from)
                               : uint4{from[0], from[1], from[2], from[3]};
            if (descriptor >= end_)
                fetched_[i] = uint4{0, 0, 0, 0};
        }
        const int own = base + static_cast<int>(threadIdx.x);
        if (threadIdx.x < tile)
            fetched_norm_ = own < end_ ? static_cast<unsigned>(job_.train.norms[own]) : 0;
    }
    __device__ void store(int base) const {
        for (int i = 0; i < thread_pieces; i++)
            *reinterpret_cast<uint4 *>(&shared_.words[piece_of(i) / 8][4 * (piece_of(i) % 8)]) =
                fetched_[i];
        const unsigned place = static_cast<unsigned>(base - begin_) % group + threadIdx.x;
        if (threadIdx.x < tile)
            shared_.keys[threadIdx.x] = fetched_norm_ << place_bits | place;
    }

    /// partial: the tile is not full.
    template <bool partial>
    __device__ void compare(int base) {
        for (int first = 0; first < tile; first += 8) {
            const Word *words = shared_.words[first + lane_ / 4] + lane_ % 4;
            unsigned products[rows / 2][4] = {};
#pragma unroll
            for (int step = 0; step < steps; step++) {
                const Word low = words[8 * step], high = words[8 * step + 4];
#pragma unroll
                for (int half = 0; half < rows / 2; half++)
                    multiply_add(products[half], queries_[half][step], low, high);
            }
#pragma unroll
            for (int i = 0; i < 2 * rows; i++) {
                const int row = i / 2, column = first + lane_ % 4 * 2 + i % 2;
                // Distances are the norms less twice the product; what overflows comes back.
                unsigned key = norms_[row] + shared_.keys[column] -
                               (products[row / 2][i % 4] << (place_bits + 1));
                if (partial && base + column >= end_)
                    key = nothing;
                min_[row][1] = min(min_[row][1], max(min_[row][0], key));
                min_[row][0] = min(min_[row][0], key);
            }
        }
    }

    /// Those of a group, which begins there.
    __device__ void keep(int group_begin) {
        for (int row = 0; row < rows; row++)
            for (int k = 0; k < 2; k++) {
                const unsigned key = min_[row][k];
                if (key != nothing)
                    nearest_[row].add(group_begin + static_cast<int>(key % group),
                                      static_cast<std::int32_t>(key >> place_bits));
                min_[row][k] = nothing;
            }
    }

    /// Four lanes have seen columns of the same queries.
    __device__ void write() {
        for (int row = 0; row < rows; row++) {
            for (int step = 1; step < 4; step *= 2) {
                Nearest other;
                for (int k = 0; k < 2; k++) {
                    other.index[k] = __shfl_xor_sync(~0u, nearest_[row].index[k], step);
                    other.distance[k] = __shfl_xor_sync(~0u, nearest_[row].distance[k], step);
                }
                nearest_[row].merge(other);
            }
            if (lane_ % 4 == row && query_of(row) < query_count_)
                job_.parts[blockIdx.y * job_.pitch + query_of(row)] = nearest_[row];
        }
    }

    const Job &job_;
    Shared &shared_;
    const int lane_, first_, query_count_;
    const int begin_, end_; ///< of the part
    Word queries_[rows / 2][steps][4];
    unsigned norms_[rows]; ///< as keys have them
    unsigned min_[rows][2];
    Nearest nearest_[rows];
    uint4 fetched_[thread_pieces];
    unsigned fetched_norm_ = 0;
};

} // namespace gpv::cuda::match
