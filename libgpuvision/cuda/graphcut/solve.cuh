// SPDX-License-Identifier: BSD-2-Clause
// The kernels of a run. Solve is one kernel from the images to the cut, whose
// blocks all run at once: it searches distances (graphcut/relabel.cuh) and pushes
// excess (graphcut/push.cuh) in turn, until no excess can reach the sink.
// A search ends early, at its cap, if it has met excess to push: most of that is near the sink to
// begin with, and what is not is looked for when it has gone.
//
// A preflow (Goldberg and Tarjan, 1988) never takes more than the capacity of an
// arc and leaves no pixel with less than nothing; but where a run begins with the flow of
// the last one, what a pixel then lacks counts as capacity to the sink. When after an exact search
// no pixel with excess is reached, the flow into the sink is maximum, and the pixels that are
// reached are the side of the sink of the minimum cut nearest to it: they are those that reach the
// sink after every maximum flow. So the cut does not depend on the order of pushes.
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

/// Adds what a pixel has of the capacities of n cuts. sink_sides(x, y): a bit for each of the cuts
/// in which that pixel is on the side of the sink.
template <int directions, int n, class F>
__device__ __forceinline__ void add_capacity(const Job &job, int x, int y, long long (&sums)[n],
                                             F sink_sides) {
    const auto add = [&](unsigned cuts, int capacity) {
        unrolled<n>([&](auto i) { sums[i] += bit(cuts, i) ? capacity : 0; });
    };
    const unsigned here = sink_sides(x, y);
    const int terminal = job.terminals.row<int>(y)[x];
    add(terminal > 0 ? here : ~here, abs(terminal));
    unrolled<directions>([&](auto i) {
        const int there_x = x + Step<directions, i>::x, there_y = y + Step<directions, i>::y;
        if (there_x < 0 || there_y < 0 || there_x >= job.width || there_y >= job.height)
            return;
        if (const unsigned cuts = ~here & sink_sides(there_x, there_y))
            add(cuts, job.links[i].template row<int>(y)[x]);
    });
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

    __device__ static void run(const Job &job) {
        if (!job.idle || !*job.idle)
            Solve(job).solve();
    }

  private:
    __device__ explicit Solve(const Job &job)
        : job_(job), begin_(global_timer_ns()), grid_(&job.control->arrived) {
        const Kept last = kept();
        reuses_ = last.flow == job.capacities && last.choice.reuses(job.reuse);
        keeps_ = last.choice.keeps(job.next);
    }

    /// What the last run has left for such a graph.
    __device__ Kept kept() const {
        const Kept &last = job_.control->kept;
        const bool fits =
            last.width == job_.width && last.height == job_.height && last.directions == directions;
        return fits ? last : Kept{nullptr, job_.width, job_.height, directions, {}};
    }

    /// f(tile, warp, warps) by groups of warps, until all tiles have had their turn.
    template <class F>
    __device__ void for_tiles(F f) {
        for (int tile = worker(); tile < job_.tiles(); tile += workers())
            f(tile, threadIdx.x % Push::threads / 32, Push::warps);
    }

    __device__ void solve() {
        for_tiles([&](int tile, int warp, int warps) {
            build_tile<directions>(job_, reuses_, tile, warp, warps);
        });
        grid_.wait();
        if (__ldcg(&job_.control->fault))
            return finish([&] { refuse(); });
        unsigned epoch = 0;
        int tiles;
        int cap = first_cap, capped = 0;
        for (int relabels = 1;; relabels++) {
            const long long relabel_begin = global_timer_ns();
            const unsigned before = window_;
            const bool all = Relabel<directions, held>(job_).run(
                grid_, epoch++, window_, time_is_over_ ? windows_of_short_cuts : cap);
            tiles = next_list(epoch);
            if (tiles == 0 || time_is_over_)
                break;
            if (!all && (tiles <= static_cast<int>(gridDim.x) || ++capped == relabels_per_cap)) {
                cap = next_cap(max(cap, static_cast<int>(window_ - before)), tiles,
                               static_cast<int>(gridDim.x));
                capped = 0;
            }
            push(tiles, epoch, global_timer_ns() - relabel_begin, relabels <= max_free_relabels);
        }
        if (tiles > 0)
            choose_cut();
        write_cut<directions, held>(job_);
        if (keeps_)
            for_tiles([&](int tile, int warp, int warps) {
                keep_tile<directions>(job_, tile, warp, warps);
            });
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

    /// Where time was over, puts the best of the cuts that there are in place of the last search's.
    __device__ void choose_cut() {
        const Region region = Region::of(job_, directions, held);
        const int lane = threadIdx.x % 32;
        long long sums[short_cuts] = {};
        region.for_parts([&](int, int tile, int first_row) {
            const int x = tile % job_.tiles_x * side + lane;
            const int y = tile / job_.tiles_x * side + first_row;
            if (x < job_.width)
                for (int r = 0; r < part_rows && y + r < job_.height; r++)
                    add_capacity<directions>(job_, x, y + r, sums, [&](int column, int row) {
                        return sink_sides(column, row);
                    });
        });
        unrolled<short_cuts>([&](auto i) {
            const long long sum =
                warp_reduce(sums[i], [](long long a, long long b) { return a + b; });
            if (lane == 0)
                atomicAdd(&job_.control->cuts[i], static_cast<unsigned long long>(sum));
        });
        grid_.wait();
        const int best = best_cut();
        region.for_parts([&](int owned, int tile, int first_row) {
            const int x = tile % job_.tiles_x * side + lane;
            const int y = tile / job_.tiles_x * side + first_row;
            for (int r = 0; r < part_rows; r++) {
                const bool inside = x < job_.width && y + r < job_.height;
                const Word source =
                    __ballot_sync(~0u, inside && !(sink_sides(x, y + r) >> best & 1));
                if (lane == 0)
                    region.source[owned * side + first_row + r] = source;
            }
        });
        __syncthreads();
    }
    /// A bit for each of the cuts in which a pixel is on the side of the sink.
    __device__ unsigned sink_sides(int x, int y) const {
        const std::size_t tile = std::size_t(y / side) * job_.tiles_x + x / side;
        const int height = __ldcg(&job_.heights[tile * tile_pixels + y % side * side + x % side]);
        const unsigned by_steps = ~0u << first_cut(height < unreached_height, height);
        const unsigned by_signs = unsigned(job_.terminals.row<int>(y)[x] < 0) << cut_by_signs;
        return (by_steps & ((1u << cuts_by_steps) - 1)) | by_signs;
    }
    __device__ int best_cut() const {
        int best = 0;
        for (int i = 1; i < short_cuts; i++)
            if (__ldcg(&job_.control->cuts[i]) < __ldcg(&job_.control->cuts[best]))
                best = i;
        return best;
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
        job_.control->clear();
    }

    __device__ void report(bool optimal) const {
        const Control &control = *job_.control;
        GraphcutResult &found = job_.control->found;
        found = {
            .struct_size = sizeof(GraphcutResult),
            .optimal = optimal,
            .flow =
                max(static_cast<long long>(__ldcg(&control.capacity) - __ldcg(&control.left)), 0LL),
            .cut = optimal ? -1 : static_cast<long long>(__ldcg(&control.cuts[best_cut()])),
            .area = static_cast<long long>(__ldcg(&control.area))};
        Kept next = kept();
        next.flow = keeps_ ? job_.capacities : nullptr;
        if (job_.reuse == Reuse::by_choice)
            next.choice.note(reuses_, optimal, global_timer_ns() - begin_);
        job_.control->kept = next;
        if (!job_.certificate)
            hand_out(job_, found, {});
    }

    __device__ void refuse() const {
        Kept next = kept();
        next.flow = nullptr;
        job_.control->kept = next;
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
    bool reuses_; ///< whether it begins with the flow of the last run
    bool keeps_;  ///< whether it keeps its own
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
        long long sums[1] = {};
        if (x < job.width)
            for (int y = first; y < min(first + rows_of_block, job.height); y++)
                add_capacity<directions>(job, x, y, sums, [&](int column, int row) {
                    return unsigned(job.mask.row<std::uint8_t>(row)[column] == 0);
                });
        const long long cut = warp_reduce(sums[0], [](long long a, long long b) { return a + b; });
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
        control.clear();
        hand_out(job, found, {});
    }
};

} // namespace gpv::cuda::graphcut
