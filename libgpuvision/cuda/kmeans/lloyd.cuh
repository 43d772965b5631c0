// SPDX-License-Identifier: BSD-2-Clause
// Lloyd's iteration from its start to the last labels, in one kernel whose blocks all run at once.
//
// Each block has its share of the colours or pixels, and finds their labels in its own way. Only
// what changes its label changes sums: each block adds up the differences, all blocks add theirs to
// one table and meet at a barrier, then they compute the same centroids from it.
#pragma once

#include "cuda/kmeans/seed.cuh"

namespace gpv::cuda::kmeans {

/// Results of the last assignment, for Finish.
template <class Sum>
struct Outcome {
    int clusters, iterations;
    unsigned converged;
    int phase; ///< phase of the sums that the last assignment added to
    Centroid centroids[max_kmeans_clusters];
    Sum totals[4 * max_kmeans_clusters]; ///< totals before the last assignment
};

struct LloydInit {
    gpv_kmeans_init_method method;
    WarmStart warm;
    int clusters; ///< 0: chosen, up to max_clusters
    int max_clusters;
    Source src; ///< image for GPV_KMEANS_INIT_GRID, or for labelling pixels directly
    Layout layout;
    const Centroid *seeds;               ///< drawn initial centroids
    Centroid given[max_kmeans_clusters]; ///< the caller's initial centroids
};

template <class Sum>
struct LloydJob {
    Control *control;
    Sum *sums; ///< in phases: one table is added to, one is read, one is cleared
    Outcome<Sum> *outcome;
    int max_iterations;
    float squared_tolerance; ///< below 0: never converged
    LloydInit start;
};

template <class Sum>
struct LloydShared {
    float4
        centroids[max_kmeans_clusters + lanes_of_task]; ///< by place(); last the sum of the squares
    Sum totals[4 * max_kmeans_clusters];                ///< count, x, y, z of each cluster
    Centroid best[max_kmeans_clusters]; ///< centroids of the best number of clusters so far
    double terms[max_kmeans_clusters];  ///< terms of inertia, by cluster
    int lowest_empty;
    Wide farthest;
    double separation; ///< separation of the best number of clusters so far
    bool is_best;
    int best_clusters, best_iterations;
    unsigned best_converged;
    Sum sums[sum_bytes / sizeof(Sum)]; ///< copies of the four sums of each label
};

/// Before a LloydLoop begins; without the barrier that has to follow.
template <class Sum>
__device__ void clear(LloydShared<Sum> &shared) {
    for (unsigned i = threadIdx.x; i < std::size(shared.sums); i += lloyd_threads)
        shared.sums[i] = 0;
    if (threadIdx.x == 0) {
        shared.farthest = 0;
        shared.lowest_empty = max_kmeans_clusters;
    }
}

/// So many colours that look for the nearest centroid together. Of equally near ones the first that
/// is compared counts.
template <gpv_kmeans_metric metric, int colors>
struct Nearest {
    unsigned which[colors]; ///< so far

    __device__ __forceinline__ void begin(int i, unsigned key) {
        const Color c = color_of_key(key);
        x[i] = static_cast<float>(c.red);
        y[i] = static_cast<float>(c.green);
        z[i] = static_cast<float>(c.blue);
        which[i] = 0;
        minimum[i] = 1e30f;
    }
    /// number: says which one it is.
    __device__ __forceinline__ void compare(unsigned number, const Centroid &c) {
#pragma unroll
        for (int i = 0; i < colors; i++) {
            const float d = distance<metric>(x[i], y[i], z[i], c);
            if (d < minimum[i]) {
                minimum[i] = d;
                which[i] = number;
            }
        }
    }

  private:
    float x[colors], y[colors], z[colors], minimum[colors];
};

/// What all blocks do together. Block has
///   void assign(bool fresh, bool publish)
///     labels what the block has, adds what that changes to the sums, and ends with a barrier;
///     fresh: nothing has a label yet; publish: leaves the labels for the pixels
///   Wide farthest()
///     the greatest farthest_key() of what the thread looks at
template <gpv_kmeans_metric metric, class Sum, class Block>
class LloydLoop {
  public:
    /// For one number of clusters; or for all that may be chosen, and then for the best one to have
    /// its labels.
    __device__ void iterate_all() {
        const LloydInit &start = job.start;
        const bool warm = start.warm.is_there();
        const bool chooses = !warm && start.clusters == 0;
        int k = warm ? start.warm.state->clusters : start.clusters, maximum = k;
        if (chooses) {
            maximum = job.control->colors == 1 ? 1 : start.max_clusters;
            k = min(maximum, 2);
        }
        From from = warm ? From::state : From::start;
        for (bool last = !chooses;;) {
            begin(from, k);
            iterate(from == From::best ? 0 : job.max_iterations, last);
            if (last)
                return;
            last = keep_if_best(k) || k == maximum;
            from = last ? From::best : From::start;
            k = last ? shared.best_clusters : k + 1;
        }
    }

  protected:
    static constexpr int threads = lloyd_threads, warps = threads / 32;
    static constexpr unsigned all = ~0u;

    __device__ LloydLoop(const LloydJob<Sum> &job_, LloydShared<Sum> &shared_)
        : job(job_), shared(shared_), lane(threadIdx.x % 32), warp(threadIdx.x / 32),
          barrier(&job_.control->arrived_at_lloyd) {}

    /// Where centroids come from: the run before, the start, or what has been found to be best.
    enum class From { state, start, best };

    __device__ void begin(From from, int k) {
        clusters = k;
        iterations = from == From::best ? shared.best_iterations : 0;
        converged = from == From::best && shared.best_converged;
        centroids_per_lane_bits = 0;
        while (lanes_of_task << centroids_per_lane_bits < k)
            centroids_per_lane_bits++;
        copies = 32;
        while ((4 * k + 1) * copies > static_cast<int>(std::size(shared.sums)))
            copies /= 2;
        const int i = threadIdx.x;
        if (i < lanes_of_task << centroids_per_lane_bits) {
            // The places behind the last one are far from all.
            const Centroid c = i < k ? centroid_from(from, i) : Centroid{1e6f, 1e6f, 1e6f};
            shared.centroids[place(i)] =
                make_float4(c.x, c.y, c.z, fmaf(c.x, c.x, fmaf(c.y, c.y, c.z * c.z)));
        }
        shared.totals[threadIdx.x] = 0;
        __syncthreads();
    }

    __device__ Centroid centroid_from(From from, int i) const {
        const LloydInit &start = job.start;
        if (from == From::best)
            return shared.best[i];
        if (from == From::state)
            return start.warm.state->centroids[i];
        if (start.method == GPV_KMEANS_INIT_GIVEN)
            return start.given[i];
        if (start.method != GPV_KMEANS_INIT_GRID)
            return start.seeds[i];
        const Point2i p = grid_point(i, clusters, start.src.width, start.src.height);
        const Color c =
            with_layout(start.layout, [&]<Layout l> { return color_at<l>(start.src, p.x, p.y); });
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

    /// Index of a centroid in shared.centroids. A gap after each lane's share of them avoids bank
    /// conflicts.
    __device__ unsigned place(unsigned i) const { return i + (i >> centroids_per_lane_bits); }
    __device__ Centroid centroid(unsigned i) const {
        const float4 c = shared.centroids[place(i)];
        return {c.x, c.y, c.z};
    }
    __device__ ClusterSums totals_of(unsigned i) const {
        const Sum *t = shared.totals + 4 * i;
        return {t[0], t[1], t[2], t[3]};
    }

    // ---- iteration ------------------------------------------------------------------

    /// last: nothing comes after it, and the labels are wanted.
    __device__ void iterate(int limit, bool last) {
        for (int i = 0;; i++) {
            const bool ends = converged || i == limit, publish = ends && last;
            if (publish && blockIdx.x == 0)
                leave_outcome();
            self().assign(i == 0, publish);
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

    /// Saves the results for the next run, and for Finish.
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
        int left = copies;
        if (copies == 32) {
            fold_copies();
            left = 1;
        }
        const int i = threadIdx.x;
        if (i < 4 * clusters) {
            Sum sum = 0;
#pragma unroll 4
            for (int copy = 0; copy < left; copy++) {
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
    /// Where there is a copy for each lane, a warp adds up those of a sum: into the first one.
    __device__ void fold_copies() {
        for (int i = warp; i < 4 * clusters; i += warps) {
            Sum &part = shared.sums[lane * (4 * clusters + 1) + i];
            const Sum sum = sum_of_lanes<32>(part);
            part = lane == 0 ? sum : 0;
        }
        __syncthreads();
    }
    __device__ Sum *sums_of_phase(int p) const {
        return job.sums + p * 4 * max_kmeans_clusters;
    }

    /// Reads the sums of all blocks.
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
        if (shared.lowest_empty == max_kmeans_clusters)
            return;
        move(cluster, field, fresh, old); // back
        __syncthreads();
        find_farthest();
        if (live && field > 0 && cluster == shared.lowest_empty && shared.farthest >> 32)
            fresh = static_cast<float>(farthest_channel(field - 1));
        converged = !__syncthreads_or(move(cluster, field, old, fresh));
        if (threadIdx.x == 0) {
            shared.farthest = 0;
            shared.lowest_empty = max_kmeans_clusters;
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
        Wide farthest = self().farthest();
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

    __device__ Block &self() {
        return *static_cast<Block *>(this);
    }

    const LloydJob<Sum> &job;
    LloydShared<Sum> &shared;
    const unsigned lane, warp;
    int clusters = 0;                ///< now
    int centroids_per_lane_bits = 0; ///< log2 of the centroids per lane

  private:
    GridBarrier barrier;
    int copies = 0; ///< copies of each sum, a power of two
    int iterations = 0;
    unsigned converged = 0;
    int phase = 0, far_turn = 0;
};

} // namespace gpv::cuda::kmeans
