// SPDX-License-Identifier: BSD-2-Clause
// Lloyd's iteration from its start to the last labels, in one kernel whose blocks all run at once.
//
// The colours of a cube or slab of colour space are a task, and each block has its share of them.
// Eight lanes list the centroids that can be the nearest of some colour there, as Kanungo et al.
// (2002) filter them in the cells of a tree. If there is one alone, all colours of the task are its
// own, and their sums move as a whole; else each colour looks for its nearest in the list. Only
// what changes its label changes sums: each block adds up the differences, all blocks add theirs to
// one table, meet at a barrier, and compute the same centroids from it.
#pragma once

#include "cuda/kmeans_seed.cuh"

namespace gpv::cuda::kmeans {

/// What the last assignment leaves for Finish.
template <class Sum>
struct Outcome {
    int clusters, iterations;
    unsigned converged;
    int phase; ///< of the sums that come on top of totals
    Centroid centroids[most_clusters];
    Sum totals[4 * most_clusters];
};

struct LloydStart {
    KmeansStart kind;
    unsigned signature; ///< of a warm start, 0: none
    int clusters;       ///< 0: chosen, up to max_clusters
    int max_clusters;
    Source src; ///< of the grid
    Layout layout;
    const Centroid *seeds;         ///< that have been drawn
    Centroid given[most_clusters]; ///< by the caller
};

/// Label 255 of a slab: look at the colour itself. So colours of cluster 255 have a label each.
inline constexpr unsigned mixed_slab = 255;

__device__ inline Color rgb_at(const Source &src, Layout layout, int x, int y) {
    switch (layout) {
    case Layout::gray:
        return rgb_at<Layout::gray>(src, x, y);
    case Layout::rgb:
        return rgb_at<Layout::rgb>(src, x, y);
    case Layout::rgbx:
        return rgb_at<Layout::rgbx>(src, x, y);
    case Layout::nv12:
        return rgb_at<Layout::nv12>(src, x, y);
    default:
        return rgb_at<Layout::i420>(src, x, y);
    }
}

template <class Sum>
struct LloydJob {
    Control *control;
    Colors colors;
    Task<Sum> *tasks;
    Sum *sums;                 ///< of the phases
    std::uint8_t *slab_labels; ///< results
    std::uint8_t *color_labels;
    State *state;
    Outcome<Sum> *outcome;
    int max_iterations;
    float squared_tolerance; ///< below 0: none
    unsigned room;           ///< for tasks and colours, bytes of shared memory behind LloydShared
    LloydStart start;
};

/// Tasks of a block that are treated together.
inline constexpr int batch = lloyd_threads / lanes_of_task;
static_assert(most_clusters / lanes_of_task <= 32, "a bit for each centroid of a lane");
static_assert(lanes_of_task >= slabs_of_cell &&
                  lanes_of_task >= most_colors_of_task / colors_of_item,
              "a lane for each of these");
static_assert(colors_of_item == 64, "assign_item() knows two groups of 32");

/// A task whose colours are looked at one by one.
struct Slot {
    static constexpr unsigned most = most_candidates;
    std::uint16_t before; ///< label of the task
    std::uint16_t length; ///< of its candidates; 0: more than most, so all centroids are
    /// Each is its number, and its byte in LloydShared::centroids << 16.
    unsigned candidates[most];
};

template <class Sum>
struct LloydShared {
    float4 centroids[most_clusters + lanes_of_task]; ///< by place(); last the sum of the squares
    Sum totals[4 * most_clusters];                   ///< count, x, y, z of each cluster
    Centroid best[most_clusters]; ///< of the number of clusters that is best so far
    union {
        Slot slots[batch]; ///< while labels are assigned
        double terms[most_clusters];
        unsigned of_warps[32];
    };
    /// Parts of tasks whose colours are looked at: slots, and which part.
    std::uint16_t queue[batch * most_colors_of_task / colors_of_item];
    unsigned queued;
    int lowest_empty;
    Wide farthest;
    double separation; ///< of what is best so far
    bool is_best;
    int best_clusters, best_iterations;
    unsigned best_converged;
    union {
        Sum sums[sum_bytes / sizeof(Sum)]; ///< copies; of each label its four
        unsigned from[lloyd_threads];      ///< where the tasks' colours are copied from
    };
};

/// resident: all tasks of the block, and their colours, lie in shared memory.
template <KmeansMetric metric, class Sum, bool resident>
class LloydBlock {
  public:
    using Job = LloydJob<Sum>;
    using Shared = LloydShared<Sum>;

    __device__ LloydBlock(const Job &job_, unsigned tasks_, unsigned colors_)
        : job(job_), shared(*shared_memory<Shared>()), barrier(&job_.control->arrived_at_lloyd),
          tasks(tasks_), colors(colors_), lane(threadIdx.x % 32), warp(threadIdx.x / 32) {}

    /// For one number of clusters; or for all that may be chosen, and then for the best one to have
    /// its labels.
    __device__ void iterate_all() {
        const LloydStart &start = job.start;
        const bool warm = start.signature && job.state->signature == start.signature;
        const bool chooses = !warm && start.clusters == 0;
        int k = warm ? job.state->clusters : start.clusters, most = k;
        if (chooses) {
            most = job.control->colors == 1 ? 1 : start.max_clusters;
            k = min(most, 2);
        }
        From from = warm ? From::state : From::start;
        for (bool last = !chooses;;) {
            begin(from, k);
            iterate(from == From::best ? 0 : job.max_iterations, last);
            if (last)
                return;
            last = keep_if_best(k) || k == most;
            from = last ? From::best : From::start;
            k = last ? shared.best_clusters : k + 1;
        }
    }

  private:
    static constexpr int threads = lloyd_threads, warps = threads / 32;
    static constexpr unsigned all = ~0u;
    /// Of a task: its label; or this and the number of its nearest centroid; or none.
    static constexpr unsigned mixed = most_clusters, none = 2 * most_clusters;
    static constexpr unsigned number_mask = most_clusters - 1;
    static_assert((most_clusters & number_mask) == 0);
    static constexpr unsigned tasks_of_warp = 32 / lanes_of_task;

    /// Where centroids come from: the run before, the start, or what has been found to be best.
    enum class From { state, start, best };

    __device__ void begin(From from, int k) {
        clusters = k;
        iterations = from == From::best ? shared.best_iterations : 0;
        converged = from == From::best && shared.best_converged;
        share_bits = 0;
        while (lanes_of_task << share_bits < k)
            share_bits++;
        copies = 32;
        while ((4 * k + 1) * copies > static_cast<int>(std::size(shared.sums)))
            copies /= 2;
        const int i = threadIdx.x;
        if (i < lanes_of_task << share_bits) {
            // The places behind the last one are far from all.
            const Centroid c = i < k ? centroid_from(from, i) : Centroid{1e6f, 1e6f, 1e6f};
            shared.centroids[place(i)] =
                make_float4(c.x, c.y, c.z, fmaf(c.x, c.x, fmaf(c.y, c.y, c.z * c.z)));
        }
        shared.totals[threadIdx.x] = 0;
        __syncthreads();
    }

    __device__ Centroid centroid_from(From from, int i) const {
        const LloydStart &start = job.start;
        if (from == From::best)
            return shared.best[i];
        if (from == From::state)
            return job.state->centroids[i];
        if (start.kind == KmeansStart::given)
            return start.given[i];
        if (start.kind != KmeansStart::grid)
            return start.seeds[i];
        const Point p = grid_point(i, clusters, start.src.width, start.src.height);
        const Color c = rgb_at(start.src, start.layout, p.x, p.y);
        return centroid_of(start.src.lab ? start.src.lab->lab(c) : c);
    }

    /// Keeps what has been found if it separates the clusters best. Returns whether nothing can be
    /// better.
    __device__ bool keep_if_best(int k) {
        const double inertia = inertia_now();
        if (threadIdx.x == 0) {
            const double own = separation_of(k, inertia);
            shared.is_best = k <= 2 || own > shared.separation;
            if (shared.is_best) {
                shared.separation = own;
                shared.best_clusters = k;
                shared.best_iterations = iterations;
                shared.best_converged = converged;
            }
        }
        __syncthreads();
        if (shared.is_best && static_cast<int>(threadIdx.x) < k)
            shared.best[threadIdx.x] = centroid(threadIdx.x);
        __syncthreads();
        return inertia == 0;
    }

    __device__ double separation_of(int k, double inertia) const {
        if (inertia == 0)
            return 1e300;
        ClusterSums sums{};
        for (int i = 0; i < k; i++) {
            const ClusterSums own = totals_of(i);
            sums = {sums.count + own.count, sums.x + own.x, sums.y + own.y, sums.z + own.z};
        }
        const double total = total_inertia(job.control->squares, sums);
        return separation(k, inertia, total, sums.count);
    }

    __device__ double inertia_now() {
        __syncthreads();
        if (static_cast<int>(threadIdx.x) < clusters)
            shared.terms[threadIdx.x] = inertia_term(centroid(threadIdx.x), totals_of(threadIdx.x));
        __syncthreads();
        double inertia = static_cast<double>(job.control->squares);
        for (int i = 0; i < clusters; i++)
            inertia += shared.terms[i];
        return inertia < 0 ? 0 : inertia;
    }

    /// Of a centroid. Each lane has a share of them, with a gap behind it, so that lanes that read
    /// theirs do not meet at a bank of shared memory.
    __device__ unsigned place(unsigned i) const { return i + (i >> share_bits); }
    __device__ Centroid centroid(unsigned i) const {
        const float4 c = shared.centroids[place(i)];
        return {c.x, c.y, c.z};
    }
    __device__ ClusterSums totals_of(unsigned i) const {
        const Sum *t = shared.totals + 4 * i;
        return {t[0], t[1], t[2], t[3]};
    }

    // ---- tasks ----------------------------------------------------------------------

    /// The i-th of the block.
    __device__ Task<Sum> &task(unsigned i) const {
        return resident ? near_tasks()[i] : job.tasks[blockIdx.x + i * gridDim.x];
    }
    __device__ unsigned *keys_of(const Task<Sum> &task) const {
        return (resident ? near_keys() : job.colors.keys) + task.first;
    }
    __device__ const unsigned *counts_of(const Task<Sum> &task) const {
        return (resident ? near_keys() + colors : job.colors.counts) + task.first;
    }
    __device__ Task<Sum> *near_tasks() const { return reinterpret_cast<Task<Sum> *>(&shared + 1); }
    __device__ unsigned *near_keys() const {
        return reinterpret_cast<unsigned *>(near_tasks() + tasks);
    }

    struct Box {
        float x, y, z;                ///< its middle
        float half_x, half_y, half_z; ///< from there to its outermost colours
        float squares;                ///< of the middle
    };

    // ---- iteration ------------------------------------------------------------------

    /// last: nothing comes after it, and the labels are wanted.
    __device__ void iterate(int most, bool last) {
        for (int i = 0;; i++) {
            const bool ends = converged || i == most, publish = ends && last;
            if (publish && blockIdx.x == 0)
                leave_outcome();
            assign(i == 0, publish);
            flush();
            if (publish)
                return;
            barrier.wait();
            add_up();
            if (ends)
                return;
            update();
            iterations++;
        }
    }

    /// For the next run, and for Finish.
    __device__ void leave_outcome() {
        Outcome<Sum> &outcome = *job.outcome;
        outcome.totals[threadIdx.x] = shared.totals[threadIdx.x];
        if (static_cast<int>(threadIdx.x) < clusters)
            outcome.centroids[threadIdx.x] = centroid(threadIdx.x);
        if (threadIdx.x == 0) {
            outcome.clusters = clusters;
            outcome.iterations = iterations;
            outcome.converged = converged;
            outcome.phase = phase;
        }
    }

    /// The block's sums join those of all others; the phase after this one is cleared.
    __device__ void flush() {
        __syncthreads();
        if (threadIdx.x == 0)
            shared.queued = 0;
        const int i = threadIdx.x;
        if (i < 4 * clusters) {
            Sum sum = 0;
#pragma unroll 4
            for (int copy = 0; copy < copies; copy++) {
                Sum &part = shared.sums[copy * (4 * clusters + 1) + i];
                sum += part;
                part = 0;
            }
            // Neighbouring lanes add to neighbouring words, so that the cache gets whole sectors.
            if (sum)
                atomicAdd(sums_of_phase(phase) + i, sum);
        }
        if (blockIdx.x == 0)
            __stcg(sums_of_phase((phase + 1) % phases) + i, Sum{0});
    }
    __device__ Sum *sums_of_phase(int p) const {
        return job.sums + p * 4 * most_clusters;
    }

    /// What all blocks have added.
    __device__ void add_up() {
        shared.totals[threadIdx.x] += __ldcg(sums_of_phase(phase) + threadIdx.x);
        phase = (phase + 1) % phases;
    }

    /// New centroids, by four threads each: the first knows the count, the others a coordinate.
    __device__ void update() {
        const int cluster = static_cast<int>(threadIdx.x / 4), field = threadIdx.x % 4;
        const bool live = cluster < clusters;
        const Sum own = shared.totals[threadIdx.x], count = __shfl_sync(all, own, lane & ~3u);
        float old = 0, fresh = 0;
        if (live && field > 0) {
            old = fresh = coordinate(cluster, field);
            if (count > 0)
                fresh = static_cast<float>(static_cast<double>(own) / static_cast<double>(count));
        } else if (live && count == 0) {
            atomicMin(&shared.lowest_empty, cluster);
        }
        converged = !__syncthreads_or(move(cluster, field, old, fresh));
        if (shared.lowest_empty == most_clusters)
            return;
        move(cluster, field, fresh, old); // back
        __syncthreads();
        find_farthest();
        if (live && field > 0 && cluster == shared.lowest_empty && shared.farthest >> 32)
            fresh = static_cast<float>(farthest_channel(field - 1));
        converged = !__syncthreads_or(move(cluster, field, old, fresh));
        if (threadIdx.x == 0) {
            shared.farthest = 0;
            shared.lowest_empty = most_clusters;
        }
    }
    __device__ float &coordinate(int cluster, int field) const {
        return reinterpret_cast<float *>(shared.centroids + place(cluster))[field - 1];
    }
    static constexpr int squares_field = 4; ///< behind the coordinates
    /// Returns whether the centroid of this thread has moved further than what is tolerated.
    __device__ bool move(int cluster, int field, float old, float fresh) {
        const bool live = cluster < clusters;
        // As motion(): (x + y) + z.
        const float delta = old - fresh, moved = delta * delta;
        const float y = __shfl_down_sync(all, moved, 1), z = __shfl_down_sync(all, moved, 2);
        const float squares = sum_of_lanes<4>(field > 0 ? fresh * fresh : 0);
        if (live)
            coordinate(cluster, field > 0 ? field : squares_field) = field > 0 ? fresh : squares;
        return live && field == 1 && (moved + y) + z > job.squared_tolerance;
    }

    // ---- empty clusters -------------------------------------------------------------

    /// The greatest is the farthest colour, of equally far ones that of the lowest value.
    __device__ static Wide farthest_key(float distance, unsigned key) {
        const Color c = color_of_key(key);
        return static_cast<Wide>(static_cast<unsigned>(__float_as_int(distance))) << 32 |
               (0xffffffu - color_value(c));
    }
    __device__ int farthest_channel(int channel) const {
        const unsigned value = 0xffffffu - static_cast<unsigned>(shared.farthest & 0xffffffu);
        return static_cast<int>(value >> (16 - 8 * channel) & 255);
    }

    __device__ void find_farthest() {
        Wide farthest = 0;
        for (unsigned t = warp; t < tasks; t += warps) {
            const Task<Sum> &own = task(t);
            for (unsigned i = lane; i < own.size; i += 32) {
                const unsigned key = keys_of(own)[i];
                const Centroid c = centroid(own.label & mixed ? key >> 24 : own.label);
                farthest = max(farthest, farthest_key(distance_to(key, c), key));
            }
        }
        for (int d = 16; d; d /= 2) {
            const Wide other = __shfl_xor_sync(all, farthest, d);
            farthest = other > farthest ? other : farthest;
        }
        if (lane == 0)
            atomicMax(&shared.farthest, farthest);
        __syncthreads();
        Wide *turn = job.control->farthest + far_turn;
        far_turn = (far_turn + 1) % phases;
        if (threadIdx.x == 0) {
            atomicMax(turn, shared.farthest);
            if (blockIdx.x == 0)
                __stcg(job.control->farthest + far_turn, Wide{0});
        }
        barrier.wait();
        if (threadIdx.x == 0)
            shared.farthest = __ldcg(turn);
        __syncthreads();
    }

    __device__ static float distance_to(unsigned key, const Centroid &c) {
        const Color color = color_of_key(key);
        return distance<metric>(static_cast<float>(color.red), static_cast<float>(color.green),
                                static_cast<float>(color.blue), c);
    }

    // ---- assignment -----------------------------------------------------------------

    /// fresh: no task has a label yet. publish: leave the labels for the pixels.
    __device__ void assign(bool fresh, bool publish) {
        for (unsigned first = 0; first < tasks; first += batch) {
            if (first > 0) {
                __syncthreads();
                if (threadIdx.x == 0)
                    shared.queued = 0;
                __syncthreads();
            }
            if (first + warp * tasks_of_warp < tasks)
                assign_tasks(first, fresh, publish);
            __syncthreads();
            for (unsigned i = warp; i < shared.queued; i += warps)
                assign_item(first, shared.queue[i], publish);
        }
    }

    /// Tasks get one label, or places in the queue.
    __device__ void assign_tasks(unsigned first, bool fresh, bool publish) {
        const unsigned i = threadIdx.x / lanes_of_task, part = lane % lanes_of_task;
        const bool there = first + i < tasks;
        // Lanes that have none look at the first one of the warp, with its own lanes.
        Task<Sum> &own = task(there ? first + i : first + warp * tasks_of_warp);
        const unsigned before = fresh ? none : own.label, size = own.size;
        const Candidates found = find_candidates(box_of(own), before);
        const unsigned count =
            sum_of_lanes<lanes_of_task>(static_cast<unsigned>(__popc(found.kept)));
        const bool settled = count == 1;
        const bool by_colors =
            there && (!settled || (before & mixed) || (publish && found.nearest == mixed_slab));
        __syncwarp(); // all have read the label
        if (there && part == 0)
            own.label = static_cast<std::uint16_t>(found.nearest | (settled ? 0 : mixed));
        if (there && !by_colors && before != found.nearest && part < 4) {
            const Sums<Sum> &s = own.sums;
            const Sum value = part == 0 ? s.count : part == 1 ? s.x : part == 2 ? s.y : s.z;
            add(found.nearest, part, value);
            if (before != none)
                add(before, part, Sum{0} - value);
        }
        if (publish && there && part < own.slabs)
            job.slab_labels[own.slab + part] =
                static_cast<std::uint8_t>(settled ? found.nearest : mixed_slab);
        if (!__any_sync(all, by_colors))
            return;
        const unsigned parts = (size + colors_of_item - 1) / colors_of_item;
        unsigned at = 0;
        if (by_colors && part == 0) {
            shared.slots[i].before = static_cast<std::uint16_t>(before);
            shared.slots[i].length = static_cast<std::uint16_t>(count <= Slot::most ? count : 0);
            at = atomicAdd(&shared.queued, parts);
        }
        at = __shfl_sync(all, at, lane & ~(lanes_of_task - 1u));
        if (by_colors && part < parts)
            shared.queue[at + part] = static_cast<std::uint16_t>(i | part * batch);
        list_candidates(shared.slots[i], found, by_colors ? count : 0);
    }

    /// Part of a task.
    __device__ void assign_item(unsigned first, unsigned item, bool publish) {
        const unsigned i = item % batch, at = item / batch * colors_of_item;
        const Task<Sum> &own = task(first + i);
        if (own.size - at <= 32)
            assign_colors<1>(own, shared.slots[i], at, publish);
        else
            assign_colors<2>(own, shared.slots[i], at, publish);
    }

    // ---- candidates -----------------------------------------------------------------

    __device__ static Box box_of(const Task<Sum> &task) {
        const Color corner = color_of(task.slab << slab_bits);
        const float half = (cell_side - 1) / 2.0f;
        const auto slabs = static_cast<float>(task.slabs);
        const float half_x = slabs * (cell_side / slabs_of_cell / 2.0f) - 0.5f;
        const float x = static_cast<float>(corner.red) + half_x;
        const float y = static_cast<float>(corner.green) + half;
        const float z = static_cast<float>(corner.blue) + half;
        const float squares = metric == KmeansMetric::l2 ? fmaf(x, x, fmaf(y, y, z * z)) : 0.0f;
        return {x, y, z, half_x, half, half, squares};
    }

    /// What a lane finds for a task. kept: a bit for each centroid of its share.
    struct Candidates {
        unsigned kept, nearest;
    };

    /// Which centroids can be nearest to a colour of the box. before: of the task.
    __device__ Candidates find_candidates(const Box &box, unsigned before) const {
        const unsigned share = 1u << share_bits, first = (lane % lanes_of_task) << share_bits;
        const float4 *own = shared.centroids + place(first);
        float best = 1e30f;
        if (before == none) {
            for (unsigned i = 0; i < share; i++)
                best = fminf(best, score(box, own[i]));
            best = least_of_lanes(best);
        } else {
            best = score(box, shared.centroids[place(before & number_mask)]);
        }
        // What is nearest, or was it, says how far the others may be.
        const float reach = reach_of(box, best);
        unsigned inside = 0;
        if (share < unrolled) {
            for (unsigned i = 0; i < share; i++)
                inside |= static_cast<unsigned>(score(box, own[i]) <= reach) << i;
        } else {
            for (unsigned i = 0; i < share; i += unrolled) {
                unsigned bits = 0;
#pragma unroll
                for (unsigned j = 0; j < unrolled; j++)
                    if (score(box, own[i + j]) <= reach)
                        bits |= 1u << j;
                inside |= bits << i;
            }
        }
        // Few are left; they are looked at more closely.
        unsigned least = ~0u;
        for (unsigned bits = inside; bits; bits &= bits - 1) {
            const unsigned i = __ffs(static_cast<int>(bits)) - 1;
            least = min(least, numbered(score(box, own[i]) + (box.squares + 1), first + i));
        }
        __syncwarp();
        const unsigned nearest = least_of_lanes(least) & number_mask;
        const Centroid winner = centroid(nearest);
        unsigned kept = 0;
        for (unsigned bits = inside; bits; bits &= bits - 1) {
            const unsigned i = __ffs(static_cast<int>(bits)) - 1;
            const float4 c = own[i];
            if (can_win(box, {c.x, c.y, c.z}, winner))
                kept |= 1u << i;
        }
        __syncwarp();
        return {kept, nearest};
    }
    static constexpr unsigned unrolled = 8;

    template <class T>
    __device__ static T least_of_lanes(T v) {
#pragma unroll
        for (int d = 1; d < lanes_of_task; d *= 2)
            v = min(v, __shfl_xor_sync(all, v, d));
        return v;
    }

    /// In the order of their numbers. count: of all lanes, 0: no list is wanted.
    __device__ void list_candidates(Slot &slot, const Candidates &found, unsigned count) const {
        const unsigned part = lane % lanes_of_task, own = __popc(found.kept);
        unsigned at = own;
#pragma unroll
        for (unsigned d = 1; d < lanes_of_task; d *= 2) {
            const unsigned other = __shfl_up_sync(all, at, d, lanes_of_task);
            if (part >= d)
                at += other;
        }
        if (count > Slot::most || count == 0)
            return;
        at -= own;
        for (unsigned bits = found.kept; bits; bits &= bits - 1)
            slot.candidates[at++] =
                candidate((part << share_bits) + __ffs(static_cast<int>(bits)) - 1);
    }
    __device__ unsigned candidate(unsigned number) const {
        return number | place(number) * sizeof(float4) << 16;
    }

    /// A number in the lowest bits of a float that is not negative, so that all order like it.
    __device__ static unsigned numbered(float v, unsigned number) {
        return (static_cast<unsigned>(__float_as_int(v)) & ~number_mask) | number;
    }

    /// The distance of c from the middle of the box, less box.squares.
    __device__ static float score(const Box &box, const float4 &c) {
        if constexpr (metric == KmeansMetric::l2)
            return fmaf(-2 * box.z, c.z, fmaf(-2 * box.y, c.y, fmaf(-2 * box.x, c.x, c.w)));
        else
            return distance<metric>(box.x, box.y, box.z, {c.x, c.y, c.z});
    }
    /// The greatest score of what can win against one of that score, by the triangle inequality.
    /// 1 is for what rounding can do: less than 0.12 for the distances of a colour, as much again
    /// for what that makes at the middle, 0.05 for each of two scores, 0.03 for the sum.
    __device__ static float reach_of(const Box &box, float score) {
        if constexpr (metric == KmeansMetric::l2) {
            // From the middle to a colour the root of a distance changes by at most half the
            // diagonal.
            const float half_diagonal = box.half_x * box.half_x + box.half_y * box.half_y +
                                        box.half_z * box.half_z; // squared
            const float from_middle = fmaxf(score + box.squares, 0) + 1;
            return score + sqrtf(16 * half_diagonal * from_middle) + (4 * half_diagonal + 1);
        } else {
            return score + 2 * (box.half_x + box.half_y + box.half_z) + 1;
        }
    }

    /// For what rounding can do. Squared distances are at most 3 * 255^2, and each is off by at
    /// most 5 * 2^-24 of itself, 0.06. That happens to the two of a colour and to the two of the
    /// middle, and all else is less than one more: 0.3. Manhattan distances are at most 765, and
    /// off by less than 0.0002.
    static constexpr float margin = metric == KmeansMetric::l2 ? 0.5f : 0.001f;

    /// Whether c can be nearest somewhere in the box: not if winner is nearer to every colour
    /// there, beyond rounding.
    __device__ static bool can_win(const Box &box, const Centroid &c, const Centroid &winner) {
        if constexpr (metric == KmeansMetric::l2) {
            // The difference is linear, so it is least at a corner.
            const float of_c = distance<metric>(box.x, box.y, box.z, c);
            const float of_winner = distance<metric>(box.x, box.y, box.z, winner);
            float away = fmaf(box.half_x, fabsf(c.x - winner.x), margin / 2);
            away = fmaf(box.half_y, fabsf(c.y - winner.y), away);
            away = fmaf(box.half_z, fabsf(c.z - winner.z), away);
            return of_c - of_winner <= 2 * away;
        } else {
            return least_part(box.x, box.half_x, c.x, winner.x) +
                       least_part(box.y, box.half_y, c.y, winner.y) +
                       least_part(box.z, box.half_z, c.z, winner.z) <=
                   margin;
        }
    }
    /// Of a coordinate: the difference is monotone, so it is least at an end.
    __device__ static float least_part(float middle, float half, float c, float winner) {
        const auto part = [&](float v) { return fabsf(v - c) - fabsf(v - winner); };
        return fminf(part(middle - half), part(middle + half));
    }

    // ---- sums -----------------------------------------------------------------------

    /// Copies lie so that lanes that add to one sum meet neither there nor at a bank.
    __device__ void add(unsigned label, unsigned field, Sum value) {
        const unsigned copy = (lane & (copies - 1)) * (4 * clusters + 1);
        atomicAdd(shared.sums + copy + label * 4 + field, value);
    }
    __device__ void add_color(unsigned label, unsigned key, Sum count) {
        const Color c = color_of_key(key);
        add(label, 0, count);
        add(label, 1, count * c.red);
        add(label, 2, count * c.green);
        add(label, 3, count * c.blue);
    }

    /// Every colour looks for its nearest among the candidates; a lane has so many of them.
    template <int colors>
    __device__ void assign_colors(const Task<Sum> &own, const Slot &slot, unsigned first,
                                  bool publish) {
        unsigned *keys = keys_of(own) + first;
        const unsigned size = own.size - first;
        unsigned key[colors], nearest[colors];
        float x[colors], y[colors], z[colors], least[colors];
#pragma unroll
        for (int i = 0; i < colors; i++) {
            const unsigned at = 32 * i + lane;
            key[i] = at < size ? keys[at] : 0;
            const Color c = color_of_key(key[i]);
            x[i] = static_cast<float>(c.red);
            y[i] = static_cast<float>(c.green);
            z[i] = static_cast<float>(c.blue);
            nearest[i] = 0;
            least[i] = 1e30f;
        }
        const auto compare = [&](unsigned candidate) {
            const auto *bytes = reinterpret_cast<const std::byte *>(shared.centroids);
            const auto &c = *reinterpret_cast<const float4 *>(bytes + (candidate >> 16));
#pragma unroll
            for (int i = 0; i < colors; i++) {
                const float d = distance<metric>(x[i], y[i], z[i], {c.x, c.y, c.z});
                if (d < least[i]) {
                    least[i] = d;
                    nearest[i] = candidate;
                }
            }
        };
        const unsigned length = slot.length;
        for (unsigned i = 0; i < length; i++)
            compare(slot.candidates[i]);
        if (length == 0)
            for (int i = 0; i < clusters; i++)
                compare(candidate(i));
        const unsigned of_task = slot.before;
#pragma unroll
        for (int i = 0; i < colors; i++) {
            const unsigned at = 32 * i + lane;
            if (at >= size)
                continue;
            const unsigned label = nearest[i] & number_mask;
            const unsigned before = of_task & mixed ? key[i] >> 24 : of_task;
            if (label != before) {
                const Sum count = counts_of(own)[first + at];
                add_color(label, key[i], count);
                if (before != none)
                    add_color(before, key[i], Sum{0} - count);
            }
            if (label != key[i] >> 24)
                keys[at] = (key[i] & 0xffffffu) | label << 24;
            if (publish)
                job.color_labels[color_code(color_of_key(key[i]))] =
                    static_cast<std::uint8_t>(label);
        }
    }

    const Job &job;
    Shared &shared;
    GridBarrier barrier;
    const unsigned tasks, colors; ///< of the block; colors: near ones
    const unsigned lane, warp;
    int clusters = 0;
    int share_bits = 0; ///< of the centroids that a lane has
    int copies = 0;     ///< of a sum, a power of two
    int iterations = 0;
    unsigned converged = 0;
    int phase = 0, far_turn = 0;
};

template <KmeansMetric metric, class Sum>
struct Lloyd {
    static constexpr int threads = lloyd_threads;
    static constexpr int min_blocks = 1;
    static_assert(threads == 4 * most_clusters, "a thread for each sum");
    using Job = LloydJob<Sum>;
    using Shared = LloydShared<Sum>;
    static constexpr std::size_t least_shared_bytes = sizeof(Shared);
    static_assert(least_shared_bytes <= 64 << 10, "what every device has");

    __device__ static void run(const Job &job) {
        Shared &shared = *shared_memory<Shared>();
        // Tasks are dealt to the blocks like cards.
        const unsigned tasks = (job.control->tasks + gridDim.x - 1 - blockIdx.x) / gridDim.x;
        unsigned colors;
        const bool resident = take_tasks(job, shared, tasks, colors);
        for (unsigned i = threadIdx.x; i < std::size(shared.sums); i += threads)
            shared.sums[i] = 0;
        if (threadIdx.x == 0) {
            shared.queued = 0;
            shared.farthest = 0;
            shared.lowest_empty = most_clusters;
        }
        __syncthreads();
        if (resident)
            LloydBlock<metric, Sum, true>(job, tasks, colors).iterate_all();
        else
            LloydBlock<metric, Sum, false>(job, tasks, colors).iterate_all();
    }

  private:
    /// Copies the tasks of the block, with their colours, to shared memory, behind Shared. Returns
    /// whether they fit there.
    __device__ static bool take_tasks(const Job &job, Shared &shared, unsigned tasks,
                                      unsigned &colors) {
        const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        Task<Sum> own{};
        if (threadIdx.x < tasks)
            own = job.tasks[blockIdx.x + threadIdx.x * gridDim.x];
        const unsigned up_to_here = sum_up_to_lane(own.size);
        if (lane == 31)
            shared.of_warps[warp] = up_to_here;
        __syncthreads();
        const unsigned up_to_warp = sum_up_to_lane(shared.of_warps[lane]);
        const unsigned earlier = __shfl_sync(~0u, up_to_warp, warp ? warp - 1 : 0);
        colors = __shfl_sync(~0u, up_to_warp, 31);
        if (tasks > threads ||
            tasks * sizeof(Task<Sum>) + std::size_t{colors} * 2 * sizeof(unsigned) > job.room)
            return false;
        auto *near_tasks = reinterpret_cast<Task<Sum> *>(&shared + 1);
        auto *near_keys = reinterpret_cast<unsigned *>(near_tasks + tasks);
        if (threadIdx.x < tasks) {
            shared.from[threadIdx.x] = own.first;
            own.first = up_to_here - own.size + (warp ? earlier : 0);
            near_tasks[threadIdx.x] = own;
        }
        __syncthreads();
        for (unsigned i = warp; i < tasks; i += threads / 32) {
            const unsigned from = shared.from[i], to = near_tasks[i].first;
            const unsigned size = near_tasks[i].size;
#pragma unroll
            for (unsigned c = lane; c < most_colors_of_task; c += 32)
                if (c < size) {
                    near_keys[to + c] = job.colors.keys[from + c];
                    near_keys[colors + to + c] = job.colors.counts[from + c];
                }
        }
        __syncthreads();
        return true;
    }
};

} // namespace gpv::cuda::kmeans
