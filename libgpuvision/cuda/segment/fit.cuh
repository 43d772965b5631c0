// SPDX-License-Identifier: BSD-2-Clause
// Fits the models of segmentation: one kernel, whose blocks all run at once and
// share the cells. Sums are integers, so that it does not matter who adds first. And
// one that decides whether what has been learned is kept.
#pragma once

#include "core/segment_fit.hpp"
#include "cuda/segment/pixels.cuh"

namespace gpv::cuda::segment {

struct FitModel {
    struct Job {
        gpv_segment_model kind;
        bool continues;
        const unsigned *idle; ///< where it is not 0, nothing is fitted; may be null
        Control *control;
        const Model *from; ///< what it continues
        Model *model;
        Scene *scene;
        std::uint8_t *labels; ///< three bytes a cell
        unsigned *coarse;     ///< by side and cell of a table
    };
    static constexpr int threads = fit_threads;
    static constexpr int numbers = sizeof(Moments) / sizeof(Wide); ///< of a sum
    static constexpr int slots = max_slots;

    struct Shared {
        Moments sums[2][slots]; ///< of the last pass and of the one before
        Moments own[slots];     ///< what this block adds
        Gaussian mixture[2][components];
        FitNotes notes;
    };

    __device__ static void run(const Job &job) {
        if (is_idle(job.idle))
            return;
        FitModel worker(job);
        const FitJob fit{.kind = job.kind,
                         .counts = job.control->counts,
                         .continues = job.continues,
                         .from = job.from,
                         .model = job.model,
                         .scene = job.scene};
        Fit(worker, fit).run();
    }

    // ---- what Fit asks of a worker --------------------------------------------------

    template <class F>
    __device__ void parallel_for(int count, F f) {
        for (int i = first(); i < count; i += step())
            f(i);
        grid_.wait();
    }
    template <class F>
    __device__ void each(int count, F f) {
        __syncthreads();
        for (int i = threadIdx.x; i < count; i += threads)
            f(i);
        __syncthreads();
    }
    template <class F>
    __device__ void once(F f) {
        if (first() == 0)
            f();
    }
    template <class F>
    __device__ const Moments *pass(F f) {
        pass_++;
        clear(shared().own);
        __syncthreads();
        for (int cell = first(); cell < cells; cell += step())
            f(cell, [&](int slot, int of, unsigned count) { add(slot, of, count); });
        __syncthreads();
        Moments *const sums = job_.control->sums[pass_ % 3];
        for (int i = threadIdx.x; i < slots * numbers; i += threads)
            if (const Wide number = numbers_of(shared().own)[i])
                atomicAdd(numbers_of(sums) + i, number);
        if (blockIdx.x == 0) // nobody reads these any more, nor adds to them yet
            clear(job_.control->sums[(pass_ + 1) % 3]);
        grid_.wait();
        Moments *const here = shared().sums[pass_ % 2];
        for (int i = threadIdx.x; i < slots * numbers; i += threads)
            numbers_of(here)[i] = __ldcg(numbers_of(sums) + i);
        __syncthreads();
        return here;
    }
    __device__ std::uint8_t &label(Side side, int cell) const {
        return job_.labels[side * cells + cell];
    }
    __device__ std::uint8_t &part(int cell) const { return job_.labels[2 * cells + cell]; }
    __device__ unsigned *coarse(Side side) const { return job_.coarse + side * table_cells; }
    __device__ Gaussian (*mixture())[components] { return shared().mixture; }
    __device__ FitNotes &notes() { return shared().notes; }

  private:
    __device__ explicit FitModel(const Job &job) : job_(job), grid_(&job.control->arrived) {}

    __device__ static Shared &shared() { return *shared_memory<Shared>(); }

    __device__ static int first() { return static_cast<int>(blockIdx.x * threads + threadIdx.x); }
    __device__ static int step() { return static_cast<int>(gridDim.x) * threads; }

    __device__ static Wide *numbers_of(Moments *sums) { return reinterpret_cast<Wide *>(sums); }
    __device__ static void clear(Moments *sums) {
        for (int i = threadIdx.x; i < slots * numbers; i += threads)
            numbers_of(sums)[i] = 0;
    }
    /// All lanes of a warp call. Their cells share red and green: a warp adds once to each slot
    /// that its lanes have.
    __device__ static void add(int slot, int cell, unsigned count) {
        static_assert(levels == 32, "a cell's blue is the lane");
        const Color l = levels_of(cell);
        const int lane = static_cast<int>(threadIdx.x % 32);
        for (unsigned left = __ballot_sync(~0u, count > 0); left;) {
            const int leader = __ffs(static_cast<int>(left)) - 1;
            const int which = __shfl_sync(~0u, slot, leader);
            const bool mine = count > 0 && slot == which;
            left &= ~__ballot_sync(~0u, mine);
            const Wide own = mine ? count : 0, z = own * l.blue;
            const Moments m = moments_of_row(l.red, l.green, sum(own), sum(z), sum(z * l.blue));
            if (lane == leader)
                add(shared().own[which], m);
        }
    }
    __device__ static Wide sum(Wide own) {
        return warp_reduce(own, [](Wide a, Wide b) { return a + b; });
    }
    __device__ static void add(Moments &to, const Moments &m) {
        const auto *from = reinterpret_cast<const Wide *>(&m);
#pragma unroll
        for (int i = 0; i < numbers; i++)
            if (from[i])
                atomicAdd(numbers_of(&to) + i, from[i]);
    }

    const Job &job_;
    GridBarrier grid_;
    int pass_ = 0;
};

/// Scene::see() of the frame whose cut has been counted. One block; a warp has cells that share
/// red.
struct SeeScene {
    struct Job {
        const Control *control;
        Scene *scene;
        Contrast *contrast;
        const unsigned *refused; ///< where it is not 0, there is no cut
        std::uint32_t *kept;     ///< in the host's memory; may be null
        std::uint64_t pixels;
    };
    static constexpr int threads = 32 * levels;

    struct Shared {
        Marginals frame;
        unsigned foreground;
    };

    __device__ static void run(const Job &job) {
        static_assert(levels == 32, "a cell's blue is the lane");
        auto &shared = *shared_memory<Shared>();
        const unsigned lane = threadIdx.x % 32, red = threadIdx.x / 32;
        if (red == 0)
            shared.frame.pixels[1][lane] = shared.frame.pixels[2][lane] = 0;
        if (threadIdx.x == 0)
            shared.foreground = 0;
        __syncthreads();
        unsigned all = 0, ahead = 0; // of the lane's blue, and of them in the foreground
        for (unsigned green = 0; green < levels; green++) {
            const unsigned cell = (red * levels + green) * levels + lane;
            const unsigned front = job.control->counts[known_foreground][cell];
            const unsigned both = job.control->counts[known_background][cell] +
                                  job.control->counts[far_background][cell] + front;
            all += both;
            ahead += front;
            if (const unsigned row = warp_sum(both); lane == 0 && row)
                atomicAdd(&shared.frame.pixels[1][green], row);
        }
        atomicAdd(&shared.frame.pixels[2][lane], all);
        const unsigned of_red = warp_sum(all), of_foreground = warp_sum(ahead);
        if (lane == 0) {
            shared.frame.pixels[0][red] = of_red;
            atomicAdd(&shared.foreground, of_foreground);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            if (*job.refused)
                job.scene->forget();
            else
                job.scene->see(shared.frame, job.pixels, shared.foreground);
            if (!job.scene->kept)
                *job.contrast = {};
            if (job.kept)
                *job.kept = job.scene->kept;
        }
    }
};

} // namespace gpv::cuda::segment
