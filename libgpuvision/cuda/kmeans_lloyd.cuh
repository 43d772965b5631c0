// SPDX-License-Identifier: BSD-2-Clause
// Lloyd's iteration from its start to the last labels, in one kernel whose blocks all run at once.
//
// A warp takes a task: the colours of a cube or slab of colour space. It lists the centroids that
// can be the nearest of some colour there, as Kanungo et al. (2002) filter them in the cells of a
// tree. If there is one alone, all colours of the task are its own, and their sums move as a whole;
// else each colour looks for its nearest in the list. Only what changes its label changes sums:
// each block adds up the differences, all blocks add theirs to one table, meet at a barrier, and
// compute the same centroids from it.
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

/// Sums over blocks, in turn: one that is added to, one that is read, one that is cleared.
inline constexpr int phases = 3;

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

template <KmeansMetric metric, class Sum>
struct Lloyd {
    static constexpr int threads = lloyd_threads;
    static constexpr int min_blocks = 1;
    static constexpr int warps = threads / 32;
    static_assert(threads == 4 * most_clusters, "a thread for each sum");

    struct Job {
        Control *control;
        Colors colors;
        const Task<Sum> *tasks;
        std::uint16_t *labels;     ///< of the tasks, while they iterate
        Sum *sums;                 ///< of the phases
        std::uint8_t *slab_labels; ///< results
        std::uint8_t *color_labels;
        State *state;
        Outcome<Sum> *outcome;
        int max_iterations;
        float squared_tolerance; ///< below 0: none
        LloydStart start;
    };

    struct Shared {
        float4 centroids[most_clusters];
        Sum totals[4 * most_clusters]; ///< count, x, y, z of each cluster
        Centroid best[most_clusters];  ///< of the number of clusters that is best so far
        double terms[most_clusters];
        union {
            std::uint8_t lists[warps][most_clusters]; ///< candidates, while labels are assigned
            Sum folded[4 * most_clusters];            ///< the block's sums, before all join
        };
        unsigned next;  ///< task of the block that no warp has yet
        unsigned moved; ///< bits of the squared distance
        int lowest_empty;
        Wide farthest;
        double score;
        int best_clusters, best_iterations;
        unsigned best_converged;
        Sum sums[sum_bytes / sizeof(Sum)]; ///< by label, field and copy
    };
    static constexpr std::size_t shared_bytes = sizeof(Shared);
    static_assert(shared_bytes <= 64 << 10, "what every device has");

    __device__ static void run(const Job &job) {
        Lloyd self(job);
        self.clear();
        const LloydStart &start = job.start;
        if (start.signature && job.state->signature == start.signature) {
            self.load(job.state->centroids, job.state->clusters);
            self.iterate(job.max_iterations, true);
        } else if (start.clusters > 0) {
            self.begin(start.clusters);
            self.iterate(job.max_iterations, true);
        } else {
            self.choose();
        }
    }

  private:
    static constexpr unsigned all = ~0u;
    static constexpr unsigned mixed = 256, none = 257; ///< instead of a label of a task

    struct Box {
        float x, y, z;                ///< its middle
        float half_x, half_y, half_z; ///< from there to its outermost colours
    };

    __device__ explicit Lloyd(const Job &job_)
        : job(job_), shared(*shared_memory<Shared>()), barrier(&job_.control->arrived_at_lloyd),
          tasks(job_.control->tasks), lane(threadIdx.x % 32), warp(threadIdx.x / 32) {}

    __device__ void clear() {
        for (unsigned i = threadIdx.x; i < std::size(shared.sums); i += threads)
            shared.sums[i] = 0;
        if (threadIdx.x == 0) {
            shared.moved = 0;
            shared.farthest = 0;
            shared.lowest_empty = most_clusters;
        }
        __syncthreads();
    }

    // ---- start ----------------------------------------------------------------------

    __device__ void load(const Centroid *centroids, int k) {
        begin_with(k, [&](int i) { return centroids[i]; });
    }

    __device__ void begin(int k) {
        const LloydStart &start = job.start;
        if (start.kind == KmeansStart::given)
            load(start.given, k);
        else if (start.kind != KmeansStart::grid)
            load(start.seeds, k);
        else
            begin_with(k, [&](int i) {
                const Point p = grid_point(i, k, start.src.width, start.src.height);
                const Color c = rgb_at(start.src, start.layout, p.x, p.y);
                return centroid_of(start.src.lab ? start.src.lab->lab(c) : c);
            });
    }

    /// centroid_at(i): the i-th to begin with. The places behind the last one are far from all.
    template <class F>
    __device__ void begin_with(int k, F centroid_at) {
        clusters = k;
        const int i = threadIdx.x;
        if (i < most_clusters) {
            const Centroid c = i < k ? centroid_at(i) : Centroid{1e6f, 1e6f, 1e6f};
            shared.centroids[i] = make_float4(c.x, c.y, c.z, 0);
        }
        // Copies of a sum: as many as there is room for, up to one for each lane.
        constexpr unsigned room = sum_bytes / sizeof(Sum);
        copy_bits = 5;
        while (4u * clusters << copy_bits > room)
            copy_bits--;
        shared.totals[threadIdx.x] = 0;
        __syncthreads();
    }

    /// Runs for every number of clusters, and takes the one that separates them best.
    __device__ void choose() {
        const int most = job.control->colors == 1 ? 1 : job.start.max_clusters;
        if (threadIdx.x == 0)
            shared.score = -1;
        for (int k = min(most, 2); k <= most; k++) {
            begin(k);
            iterate(job.max_iterations, false);
            const double inertia = inertia_now();
            if (threadIdx.x == 0)
                consider(k, inertia);
            __syncthreads();
            if (shared.best_clusters == k && static_cast<int>(threadIdx.x) < k)
                shared.best[threadIdx.x] = centroid(threadIdx.x);
            __syncthreads();
            if (inertia == 0)
                break;
        }
        iterations = shared.best_iterations;
        converged = shared.best_converged;
        load(shared.best, shared.best_clusters);
        assign_last();
    }

    __device__ void consider(int k, double inertia) {
        Sums<Wide> all_sums{};
        for (int i = 0; i < k; i++) {
            all_sums.count += shared.totals[4 * i];
            all_sums.x += shared.totals[4 * i + 1];
            all_sums.y += shared.totals[4 * i + 2];
            all_sums.z += shared.totals[4 * i + 3];
        }
        const ClusterSums pixels{all_sums.count, all_sums.x, all_sums.y, all_sums.z};
        const double total = total_inertia(job.control->squares, pixels);
        const double score = inertia == 0 ? 1e300 : separation(k, inertia, total, pixels.count);
        if (score <= shared.score && k > 2)
            return;
        shared.score = score;
        shared.best_clusters = k;
        shared.best_iterations = iterations;
        shared.best_converged = converged;
    }

    __device__ double inertia_now() {
        if (static_cast<int>(threadIdx.x) < clusters)
            shared.terms[threadIdx.x] = inertia_term(centroid(threadIdx.x), totals_of(threadIdx.x));
        __syncthreads();
        double inertia = static_cast<double>(job.control->squares);
        for (int i = 0; i < clusters; i++)
            inertia += shared.terms[i];
        __syncthreads();
        return inertia < 0 ? 0 : inertia;
    }

    __device__ Centroid centroid(unsigned i) const {
        const float4 c = shared.centroids[i];
        return {c.x, c.y, c.z};
    }
    __device__ ClusterSums totals_of(unsigned i) const {
        const Sum *t = shared.totals + 4 * i;
        return {t[0], t[1], t[2], t[3]};
    }

    // ---- iteration ------------------------------------------------------------------

    /// last: nothing comes after it, and the labels are wanted.
    __device__ void iterate(int most, bool last) {
        converged = 0;
        for (iterations = 0;; iterations++) {
            const bool ends = converged || iterations == most;
            if (ends && last)
                return assign_last(iterations == 0);
            assign<false>(iterations == 0);
            flush();
            barrier.wait();
            add_up();
            if (ends)
                return;
            update();
        }
    }

    __device__ void assign_last(bool fresh = true) {
        if (blockIdx.x == 0)
            leave_outcome();
        assign<true>(fresh);
        flush();
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
        if (copy_bits == 5)
            fold_copies<5>();
        else if (copy_bits == 4)
            fold_copies<4>();
        else if (copy_bits == 3)
            fold_copies<3>();
        else
            fold_copies<2>();
        __syncthreads();
        // Neighbours in one instruction: memory adds to a word after the other of what comes apart.
        const Sum sum = shared.folded[threadIdx.x];
        if (static_cast<int>(threadIdx.x) < 4 * clusters && sum)
            atomicAdd(sums_of_phase(phase) + threadIdx.x, sum);
        if (blockIdx.x == 0)
            __stcg(sums_of_phase((phase + 1) % phases) + threadIdx.x, Sum{0});
    }
    /// So many lanes for each sum as it has copies.
    template <int bits>
    __device__ void fold_copies() {
        constexpr int lanes = 1 << bits, step = threads >> bits;
#pragma unroll 4
        for (int i = threadIdx.x >> bits; (i & ~(step - 1)) < 4 * clusters; i += step) {
            Sum &part = shared.sums[(i << bits) + threadIdx.x % lanes];
            const Sum sum = sum_of_lanes<lanes>(part);
            part = 0;
            if (threadIdx.x % lanes == 0)
                shared.folded[i] = sum;
        }
    }
    __device__ Sum *sums_of_phase(int p) const {
        return job.sums + p * 4 * most_clusters;
    }

    /// What all blocks have added.
    __device__ void add_up() {
        shared.totals[threadIdx.x] += __ldcg(sums_of_phase(phase) + threadIdx.x);
        phase = (phase + 1) % phases;
        __syncthreads();
    }

    /// New centroids, by four threads each: the first knows the count, the others a coordinate.
    __device__ void update() {
        const int cluster = static_cast<int>(threadIdx.x / 4), field = threadIdx.x % 4;
        const bool live = cluster < clusters;
        const Sum own = shared.totals[threadIdx.x];
        const bool empty = live && field == 0 && own == 0;
        if (empty)
            atomicMin(&shared.lowest_empty, cluster);
        if (__syncthreads_or(empty))
            find_farthest();
        float *coordinates = &shared.centroids[cluster].x;
        const Sum count = __shfl_sync(all, own, lane & ~3u);
        float delta = 0;
        if (live && field > 0) {
            const float old = coordinates[field - 1];
            float fresh = old;
            if (count > 0)
                fresh = static_cast<float>(static_cast<double>(own) / static_cast<double>(count));
            else if (cluster == shared.lowest_empty && shared.farthest >> 32)
                fresh = static_cast<float>(farthest_channel(field - 1));
            delta = old - fresh;
            coordinates[field - 1] = fresh;
        }
        // As motion(): (x + y) + z.
        const float square = delta * delta;
        const float y = __shfl_down_sync(all, square, 1), z = __shfl_down_sync(all, square, 2);
        const int moved = field == 1 ? __float_as_int((square + y) + z) : 0;
        const int most = greatest_of_warp(moved);
        if (lane == 0 && most)
            atomicMax(&shared.moved, static_cast<unsigned>(most));
        __syncthreads();
        converged = __int_as_float(static_cast<int>(shared.moved)) <= job.squared_tolerance;
        __syncthreads();
        if (threadIdx.x == 0) {
            shared.moved = 0;
            shared.farthest = 0;
            shared.lowest_empty = most_clusters;
        }
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
        for (unsigned t = first_task(); t < tasks; t += task_step()) {
            const Task<Sum> &task = job.tasks[t];
            const unsigned label = job.labels[t];
            for (unsigned i = lane; i < task.size; i += 32) {
                const unsigned key = job.colors.keys[task.first + i];
                const Centroid c = centroid(label == mixed ? key >> 24 : label);
                const Wide mine = farthest_key(distance_to(key, c), key);
                farthest = mine > farthest ? mine : farthest;
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

    __device__ unsigned first_task() const {
        return blockIdx.x + warp * gridDim.x;
    }
    __device__ unsigned task_step() const {
        return gridDim.x * warps;
    }

    /// fresh: no task has a label yet. publish: leave the labels for the pixels.
    template <bool publish>
    __device__ void assign(bool fresh) {
        if (threadIdx.x == 0)
            shared.next = warps;
        __syncthreads();
        // Warps that are ready early take more of the block's tasks.
        for (unsigned t = first_task(); t < tasks; t = next_task())
            assign_task<publish>(t, fresh);
    }
    __device__ unsigned next_task() {
        unsigned next = 0;
        if (lane == 0)
            next = atomicAdd(&shared.next, 1u);
        return blockIdx.x + __shfl_sync(all, next, 0) * gridDim.x;
    }

    template <bool publish>
    __device__ void assign_task(unsigned t, bool fresh) {
        const Task<Sum> &task = job.tasks[t];
        const unsigned before = fresh ? none : job.labels[t];
        const unsigned length = list_candidates(box_of(task));
        const unsigned label = length == 1 ? shared.lists[warp][0] : mixed;
        if (length == 1)
            move_task(task, before, label);
        else if (task.size <= 32)
            assign_colors<1, publish>(task, before, length);
        else if (task.size <= 64)
            assign_colors<2, publish>(task, before, length);
        else
            assign_colors<4, publish>(task, before, length);
        if (lane == 0)
            job.labels[t] = static_cast<std::uint16_t>(label);
        if constexpr (publish)
            publish_task(task, label);
        __syncwarp(); // the list may be written again
    }

    // ---- candidates -----------------------------------------------------------------

    __device__ static Box box_of(const Task<Sum> &task) {
        const Color corner = color_of(task.slab << slab_bits);
        const float half = (cell_side - 1) / 2.0f;
        const auto slabs = static_cast<float>(task.slabs);
        const float half_x = slabs * (cell_side / slabs_of_cell / 2.0f) - 0.5f;
        return {static_cast<float>(corner.red) + half_x,
                static_cast<float>(corner.green) + half,
                static_cast<float>(corner.blue) + half,
                half_x,
                half,
                half};
    }

    /// Which centroids can be nearest to a colour of the box, in the order of their numbers.
    __device__ unsigned list_candidates(const Box &box) {
        if (clusters <= 32)
            return list_candidates<1>(box);
        if (clusters <= 64)
            return list_candidates<2>(box);
        if (clusters <= 128)
            return list_candidates<4>(box);
        return list_candidates<8>(box);
    }

    template <int chunks>
    __device__ unsigned list_candidates(const Box &box) {
        float distances[chunks], least = 1e30f;
        int nearest = 0;
#pragma unroll
        for (int i = 0; i < chunks; i++) {
            distances[i] = distance<metric>(box.x, box.y, box.z, centroid(32 * i + lane));
            if (distances[i] < least) {
                least = distances[i];
                nearest = 32 * i + lane;
            }
        }
        // Distances are not negative, so their bits order like them.
        const int bits = __float_as_int(least), least_bits = least_of_warp(bits);
        const int from = __ffs(int(__ballot_sync(all, bits == least_bits))) - 1;
        const Centroid near = centroid(__shfl_sync(all, nearest, from));
        const float limit = __int_as_float(least_bits) + margin;

        std::uint8_t *list = shared.lists[warp];
        unsigned length = 0;
#pragma unroll
        for (int i = 0; i < chunks; i++) {
            const bool keep = can_win(box, centroid(32 * i + lane), distances[i], near, limit);
            const unsigned kept = __ballot_sync(all, keep);
            if (keep)
                list[length + __popc(kept & ((1u << lane) - 1))] =
                    static_cast<std::uint8_t>(32 * i + lane);
            length += __popc(kept);
        }
        __syncwarp();
        return length;
    }

    /// For what rounding can do. Squared distances are at most 3 * 255^2, and each is off by at
    /// most 5 * 2^-24 of itself, 0.06. That happens to the two of a colour and to the two of the
    /// middle, and all else is less than one more: 0.3. Manhattan distances are at most 765, and
    /// off by less than 0.0002.
    static constexpr float margin = metric == KmeansMetric::l2 ? 0.5f : 0.001f;

    /// Whether c can be nearest somewhere in the box: not if near is nearer to every colour there,
    /// beyond rounding. limit: the distance of near from the middle, and the margin.
    __device__ static bool can_win(const Box &box, const Centroid &c, float of_c,
                                   const Centroid &near, float limit) {
        if constexpr (metric == KmeansMetric::l2) {
            // The difference is linear, so it is least at a corner.
            float away = fmaf(box.half_x, fabsf(c.x - near.x), limit / 2);
            away = fmaf(box.half_y, fabsf(c.y - near.y), away);
            away = fmaf(box.half_z, fabsf(c.z - near.z), away);
            return of_c <= 2 * away;
        } else {
            return least_part(box.x, box.half_x, c.x, near.x) +
                       least_part(box.y, box.half_y, c.y, near.y) +
                       least_part(box.z, box.half_z, c.z, near.z) <=
                   margin;
        }
    }
    /// Of a coordinate: the difference is monotone, so it is least at an end.
    __device__ static float least_part(float middle, float half, float c, float near) {
        const auto part = [&](float v) { return fabsf(v - c) - fabsf(v - near); };
        return fminf(part(middle - half), part(middle + half));
    }

    // ---- sums -----------------------------------------------------------------------

    __device__ void add(unsigned label, unsigned field, Sum value) {
        const unsigned copy = lane & ((1u << copy_bits) - 1);
        atomicAdd(shared.sums + ((label * 4 + field) << copy_bits) + copy, value);
    }
    __device__ void add_color(unsigned label, unsigned key, Sum count) {
        const Color c = color_of_key(key);
        add(label, 0, count);
        add(label, 1, count * c.red);
        add(label, 2, count * c.green);
        add(label, 3, count * c.blue);
    }

    /// All colours of the task get one label.
    __device__ void move_task(const Task<Sum> &task, unsigned before, unsigned label) {
        if (before == label)
            return;
        if (before == mixed)
            for (unsigned i = lane; i < task.size; i += 32) {
                const unsigned key = job.colors.keys[task.first + i];
                add_color(key >> 24, key, Sum{0} - job.colors.counts[task.first + i]);
            }
        if (lane < 4) {
            const Sums<Sum> &s = task.sums;
            const Sum value = lane == 0 ? s.count : lane == 1 ? s.x : lane == 2 ? s.y : s.z;
            add(label, lane, value);
            if (before < mixed)
                add(before, lane, Sum{0} - value);
        }
    }

    /// Every colour looks for its nearest in the list; a lane has so many of them.
    template <int colors, bool publish>
    __device__ void assign_colors(const Task<Sum> &task, unsigned task_before, unsigned length) {
        const std::uint8_t *list = shared.lists[warp];
        unsigned *keys = job.colors.keys + task.first;
        unsigned key[colors], label[colors];
        float x[colors], y[colors], z[colors], least[colors];
        const Centroid first = centroid(list[0]);
#pragma unroll
        for (int i = 0; i < colors; i++) {
            const unsigned at = 32 * i + lane;
            key[i] = at < task.size ? keys[at] : 0;
        }
#pragma unroll
        for (int i = 0; i < colors; i++) {
            const Color c = color_of_key(key[i]);
            x[i] = static_cast<float>(c.red);
            y[i] = static_cast<float>(c.green);
            z[i] = static_cast<float>(c.blue);
            label[i] = list[0];
            least[i] = distance<metric>(x[i], y[i], z[i], first);
        }
        for (unsigned j = 1; j < length; j++) {
            const unsigned other = list[j];
            const Centroid c = centroid(other);
#pragma unroll
            for (int i = 0; i < colors; i++) {
                const float d = distance<metric>(x[i], y[i], z[i], c);
                if (d < least[i]) {
                    least[i] = d;
                    label[i] = other;
                }
            }
        }
#pragma unroll
        for (int i = 0; i < colors; i++) {
            const unsigned at = 32 * i + lane;
            if (at >= task.size)
                continue;
            const unsigned before = task_before == mixed ? key[i] >> 24 : task_before;
            if (label[i] != before) {
                const Sum count = job.colors.counts[task.first + at];
                add_color(label[i], key[i], count);
                if (before < mixed)
                    add_color(before, key[i], Sum{0} - count);
            }
            if (label[i] != key[i] >> 24)
                keys[at] = (key[i] & 0xffffffu) | label[i] << 24;
            if constexpr (publish)
                job.color_labels[color_code(color_of_key(key[i]))] =
                    static_cast<std::uint8_t>(label[i]);
        }
    }

    __device__ void publish_task(const Task<Sum> &task, unsigned label) {
        if (lane < task.slabs)
            job.slab_labels[task.slab + lane] = static_cast<std::uint8_t>(min(label, mixed_slab));
        if (label == mixed_slab)
            for (unsigned i = lane; i < task.size; i += 32)
                job.color_labels[color_code(color_of_key(job.colors.keys[task.first + i]))] =
                    static_cast<std::uint8_t>(label);
    }

    const Job &job;
    Shared &shared;
    GridBarrier barrier;
    const unsigned tasks, lane, warp;
    int clusters = 0;
    unsigned copy_bits = 0; ///< of the copies of a sum
    int iterations = 0;
    unsigned converged = 0;
    int phase = 0, far_turn = 0;
};

} // namespace gpv::cuda::kmeans
