// SPDX-License-Identifier: BSD-2-Clause
// The kernels of a run. Solve is one kernel from the images to the cut, whose
// blocks all run at once: it searches distances (graphcut/relabel.cuh) and pushes
// excess (graphcut/push.cuh) in turn, until no excess can reach the sink.
//
// A preflow (Goldberg and Tarjan, 1988) never takes more than the capacity of an
// arc and leaves no pixel with less than nothing. When after an exact search no
// pixel with excess is reached, the flow into the sink is maximum, and the pixels
// that are reached are the side of the sink of the minimum cut nearest to it:
// they are those that reach the sink after every maximum flow. So the cut does
// not depend on the order of pushes.
#pragma once

#include "cuda/graphcut/push.cuh"
#include "cuda/graphcut/relabel.cuh"

namespace gpv::cuda::graphcut {

/// Writes what a run has found to where it is wanted.
inline __device__ void hand_out(const Job &job, const GraphcutResult &found,
                                const GraphcutFault &fault) {
    if (job.result)
        *job.result = found;
    if (job.report)
        *job.report = {found, fault};
}

/// held: as of Relabel.
template <int directions, int held>
struct Solve {
    using Job = graphcut::Job;
    using Push = graphcut::Push<directions>;
    static constexpr int groups = tiles_at_once;
    static constexpr int threads = groups * Push::threads;
    static_assert(threads == block_warps * 32);
    static constexpr std::size_t push_bytes = groups * sizeof(typename Push::Shared);

    __device__ static void run(const Job &job) { Solve(job).solve(); }

  private:
    __device__ explicit Solve(const Job &job)
        : job_(job), begin_(global_timer_ns()), grid_(&job.control->arrived) {}

    __device__ void solve() {
        for (int tile = worker(); tile < job_.tiles(); tile += workers())
            build_tile<directions>(job_, tile, threadIdx.x % Push::threads / 32, Push::warps);
        grid_.wait();
        if (__ldcg(&job_.control->fault))
            return finish([&] { refuse(); });
        unsigned epoch = 0;
        int tiles;
        for (int relabels = 1;; relabels++) {
            const long long relabel_begin = global_timer_ns();
            Relabel<directions, held>(job_).run(grid_, epoch++, window_);
            tiles = next_list(epoch);
            if (tiles == 0 || time_is_over_)
                break;
            push(tiles, epoch, global_timer_ns() - relabel_begin, relabels <= max_free_relabels);
        }
        write_cut<directions, held>(job_);
        finish([&] { report(tiles == 0); });
    }

    /// Rounds of visits, about as long as the relabel has taken.
    __device__ void push(int tiles, unsigned &epoch, long long relabel_time, bool raises) {
        const long long begin = global_timer_ns();
        const int group = threadIdx.x / Push::threads;
        auto &shared = shared_memory<typename Push::Shared>()[group];
        unsigned end = goes_on;
        for (int round = 1; tiles > 0 && end == goes_on; round++) {
            const int *list = job_.list[epoch++ % 2];
            for (int first = static_cast<int>(blockIdx.x); first < tiles; first += workers()) {
                const int i = first + group * static_cast<int>(gridDim.x);
                const int tile = i < tiles ? listed_ : -1;
                if (i + workers() < tiles)
                    listed_ = __ldcg(&list[i + workers()]);
                Push(job_, shared, raises).visit(tile, epoch);
            }
            if (is_lead())
                job_.control->end[epoch % 2] = next_end(round, begin, relabel_time);
            tiles = next_list(epoch);
            end = __ldcg(&job_.control->end[epoch % 2]);
        }
        time_is_over_ = end == time_is_over;
    }

    __device__ End next_end(int round, long long begin, long long relabel_time) const {
        const long long now = global_timer_ns();
        if (job_.max_time_ns && now - begin_ > job_.max_time_ns)
            return time_is_over;
        const bool enough = round >= max_rounds || now - begin >= relabel_time;
        return enough && round >= min_rounds ? phase_is_over : goes_on;
    }

    /// Ends an epoch. Returns how many tiles it has listed.
    __device__ int next_list(unsigned epoch) {
        if (is_lead())
            job_.control->count[(epoch + 1) % 3] = 0;
        grid_.wait();
        if (worker() < job_.tiles())
            listed_ = __ldcg(&job_.list[epoch % 2][worker()]);
        return __ldcg(&job_.control->count[epoch % 3]);
    }

    __device__ bool is_lead() const { return blockIdx.x == 0 && threadIdx.x == 0; }
    __device__ int worker() const {
        return static_cast<int>(threadIdx.x / Push::threads * gridDim.x + blockIdx.x);
    }
    __device__ int workers() const { return static_cast<int>(groups * gridDim.x); }

    /// write() is called once, after all blocks have come here; then the next run may begin.
    template <class F>
    __device__ void finish(F write) {
        __syncthreads();
        if (threadIdx.x != 0)
            return;
        __threadfence();
        if (atomicAdd(&job_.control->finished, 1u) != gridDim.x - 1)
            return;
        __threadfence();
        write();
        const GraphcutResult found = job_.control->found;
        *job_.control = {};
        job_.control->found = found;
    }

    __device__ void report(bool optimal) const {
        const Control &control = *job_.control;
        GraphcutResult &found = job_.control->found;
        found = {.struct_size = sizeof(GraphcutResult),
                 .optimal = optimal,
                 .flow = static_cast<long long>(__ldcg(&control.capacity) - __ldcg(&control.left)),
                 .cut = -1,
                 .area = static_cast<long long>(__ldcg(&control.area))};
        if (!job_.certificate)
            hand_out(job_, found, {});
    }

    __device__ void refuse() const {
        const unsigned long long key = ~__ldcg(&job_.control->fault);
        const auto pixel = static_cast<long long>(key / 16);
        const int plane = static_cast<int>(key % 16);
        const Rows &rows = plane ? job_.links[plane - 1] : job_.terminals;
        GraphcutResult &found = job_.control->found;
        found = {.struct_size = sizeof(GraphcutResult), .refused = 1};
        hand_out(job_, found,
                 {pixel, plane,
                  rows.row<int>(static_cast<int>(pixel / job_.width))[pixel % job_.width]});
    }

    const Job &job_;
    const long long begin_;
    GridBarrier grid_;
    int listed_ = 0;      ///< the next tile of this group, if the list is that long
    unsigned window_ = 0; ///< of all searches
    bool time_is_over_ = false;
};

/// The capacity of the cut in the mask, from what was given.
template <int directions>
struct Certify {
    using Job = graphcut::Job;
    static constexpr int threads = 256;
    static constexpr int rows_of_block = 8;

    __device__ static void run(const Job &job) {
        Control &control = *job.control;
        if (control.found.refused)
            return;
        const int x = blockIdx.x * threads + threadIdx.x;
        const int first = blockIdx.y * rows_of_block;
        long long cut = 0;
        if (x < job.width)
            for (int y = first; y < min(first + rows_of_block, job.height); y++)
                cut += cut_of(job, x, y);
        cut = warp_reduce(cut, [](long long a, long long b) { return a + b; });
        if (threadIdx.x % 32 == 0 && cut)
            atomicAdd(&control.cut, static_cast<unsigned long long>(cut));
        __syncthreads();
        if (threadIdx.x != 0)
            return;
        __threadfence();
        if (atomicAdd(&control.finished, 1u) != gridDim.x * gridDim.y - 1)
            return;
        __threadfence();
        GraphcutResult found = control.found;
        found.cut = static_cast<long long>(__ldcg(&control.cut));
        control = {};
        hand_out(job, found, {});
    }

  private:
    __device__ static long long cut_of(const Job &job, int x, int y) {
        const auto source = [&](int column, int row) {
            return job.mask.row<std::uint8_t>(row)[column] != 0;
        };
        const int terminal = job.terminals.row<int>(y)[x];
        if (!source(x, y))
            return max(terminal, 0);
        long long cut = max(-terminal, 0);
        unrolled<directions>([&](auto i) {
            const int there_x = x + Step<directions, i>::x, there_y = y + Step<directions, i>::y;
            if (there_x >= 0 && there_y >= 0 && there_x < job.width && there_y < job.height &&
                !source(there_x, there_y))
                cut += job.links[i].template row<int>(y)[x];
        });
        return cut;
    }
};

} // namespace gpv::cuda::graphcut
