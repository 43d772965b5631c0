// SPDX-License-Identifier: BSD-2-Clause
// Sorts keypoints when a bin has too many for comparing each with each.
#pragma once

#include "cuda/sift/scale_space.cuh"

namespace gpv::cuda::sift {

/// A merge sort by all blocks of a kernel: chunks in shared memory, then pairs of runs, which are
/// twice as long in each round. Blocks take chunks in turn, so that one waits only for chunks whose
/// blocks have begun before it. There is a slot at least, and no two are equal.
template <int threads>
class Sort {
    static_assert((sort_chunk & (sort_chunk - 1)) == 0, "runs are paired by a bit of their place");

  public:
    struct Shared {
        Slot slots[sort_chunk];
        unsigned turn;
    };

    /// others: room for as many slots.
    __device__ Sort(Control &control, Slot *slots, Slot *others, Shared &s)
        : control_(control), count_(control.placed), slots_(slots), others_(others), s_(s) {}

    /// The slots, in order; all of them are there for all threads.
    __device__ const Slot *run() {
        unsigned rounds = 0;
        while ((chunks() - 1) >> rounds)
            rounds++;
        for (;;) {
            const unsigned turn = take_turn(), round = turn / chunks(), chunk = turn % chunks();
            if (round > rounds)
                break;
            if (round == 0)
                sort(chunk);
            else
                merge(round, chunk);
            __syncthreads();
            if (threadIdx.x == 0)
                arrive(&control_.chunks_done[round]);
        }
        wait_for(rounds);
        return rounds % 2 ? others_ : slots_;
    }

  private:
    __device__ unsigned chunks() const { return (count_ + sort_chunk - 1) / sort_chunk; }

    __device__ unsigned take_turn() {
        __syncthreads();
        if (threadIdx.x == 0)
            s_.turn = atomicAdd(&control_.turns, 1u);
        __syncthreads();
        return s_.turn;
    }
    __device__ void wait_for(unsigned round) {
        if (threadIdx.x == 0)
            wait_for_arrivals(&control_.chunks_done[round], chunks());
        __syncthreads();
    }

    /// Bitonic sort.
    __device__ void sort(unsigned chunk) {
        const unsigned first = chunk * sort_chunk;
        for (unsigned i = threadIdx.x; i < sort_chunk; i += threads)
            s_.slots[i] = first + i < count_ ? slots_[first + i] : Slot::last();
        for (unsigned size = 2; size <= sort_chunk; size *= 2)
            for (unsigned step = size / 2; step > 0; step /= 2) {
                __syncthreads();
                for (unsigned i = threadIdx.x; i < sort_chunk / 2; i += threads) {
                    const unsigned at = 2 * i - (i & (step - 1));
                    const Slot a = s_.slots[at], b = s_.slots[at + step];
                    if (b.before(a) == !(at & size)) {
                        s_.slots[at] = b;
                        s_.slots[at + step] = a;
                    }
                }
            }
        __syncthreads();
        for (unsigned i = threadIdx.x; i < sort_chunk && first + i < count_; i += threads)
            slots_[first + i] = s_.slots[i];
    }

    /// Each slot of the chunk goes as far behind the first of its pair of runs as slots of both are
    /// before it.
    __device__ void merge(unsigned round, unsigned chunk) {
        const Slot *from = round % 2 ? slots_ : others_;
        Slot *to = round % 2 ? others_ : slots_;
        const unsigned length = unsigned{sort_chunk} << (round - 1);
        const unsigned first = chunk * sort_chunk, run = first & ~(length - 1);
        const unsigned other = min(run ^ length, count_), end = min(other + length, count_);
        wait_for(round - 1);
        for (unsigned i = first + threadIdx.x; i < first + sort_chunk && i < count_; i += threads) {
            const Slot slot = from[i];
            unsigned low = other, high = end;
            while (low < high) {
                const unsigned middle = (low + high) / 2;
                if (from[middle].before(slot))
                    low = middle + 1;
                else
                    high = middle;
            }
            to[min(run, other) + (i - run) + (low - other)] = slot;
        }
    }

    Control &control_;
    const unsigned count_;
    Slot *slots_, *others_;
    Shared &s_;
};

} // namespace gpv::cuda::sift
