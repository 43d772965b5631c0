// SPDX-License-Identifier: BSD-2-Clause
// Labels of colours, for Lloyd's iteration.
//
// The colours of a cube or slab of colour space are a task, and each block has its share of them.
// Eight lanes list the centroids that can be the nearest of some colour there, as Kanungo et al.
// (2002) filter them in the cells of a tree. If there is one alone, all colours of the task are its
// own, and their sums move as a whole; else each colour looks for its nearest in the list.
#pragma once

#include "cuda/kmeans/lloyd.cuh"

namespace gpv::cuda::kmeans {

/// Label 255 of a slab: look at the colour itself. So colours of cluster 255 have a label each.
inline constexpr unsigned mixed_slab = 255;

template <class Sum>
struct CellsJob {
    LloydJob<Sum> loop;
    Colors colors;
    Task<Sum> *tasks;
    std::uint8_t *slab_labels; ///< results
    std::uint8_t *color_labels;
    unsigned room; ///< for tasks and colours, bytes of shared memory behind CellsShared
};

/// Tasks of a block that are processed together.
inline constexpr int batch = lloyd_threads / lanes_of_task;
static_assert(max_kmeans_clusters / lanes_of_task <= 32, "a bit for each centroid of a lane");
static_assert(lanes_of_task >= slabs_of_cell &&
                  lanes_of_task >= max_colors_of_task / colors_of_item,
              "a lane for each of these");
static_assert(max_colors_of_task % colors_of_item == 0, "the queue has room for all parts");
static_assert(colors_of_item == 64, "assign_item() knows two groups of 32");

/// A task whose colours are labelled one by one.
struct Slot {
    static constexpr unsigned maximum = max_candidates;
    std::uint16_t before; ///< label of the task
    std::uint16_t length; ///< number of candidates; 0: more than maximum, so all centroids are
    /// Each is a centroid's number, and its byte offset in LloydShared::centroids << 16.
    unsigned candidates[maximum];
};

template <class Sum>
struct CellsShared {
    LloydShared<Sum> loop;
    union {
        Slot slots[batch];                ///< while labels are assigned
        struct {                          ///< before
            unsigned from[lloyd_threads]; ///< where the tasks' colours are copied from
            unsigned of_warps[32];
        };
    };
    /// Parts of tasks whose colours are looked at: slots, and which part.
    std::uint16_t queue[batch * max_colors_of_task / colors_of_item];
    unsigned queued;
};

/// resident: all tasks of the block, and their colours, lie in shared memory.
template <gpv_kmeans_metric metric, class Sum, bool resident>
class CellsBlock : public LloydLoop<metric, Sum, CellsBlock<metric, Sum, resident>> {
    using Loop = LloydLoop<metric, Sum, CellsBlock>;
    friend Loop;
    using Loop::add, Loop::add_color, Loop::centroid, Loop::farthest_key, Loop::distance_to,
        Loop::place;
    using Loop::all, Loop::warps, Loop::shared, Loop::lane, Loop::warp;
    using Loop::clusters, Loop::centroids_per_lane_bits;

  public:
    __device__ CellsBlock(const CellsJob<Sum> &job_, CellsShared<Sum> &shared_, unsigned tasks_,
                          unsigned colors_)
        : Loop(job_.loop, shared_.loop), job(job_), cells(shared_), tasks(tasks_), colors(colors_) {
    }

  private:
    /// State of a task: its label; or mixed plus the number of its nearest centroid; or none.
    static constexpr unsigned mixed = max_kmeans_clusters, none = 2 * max_kmeans_clusters;
    static constexpr unsigned number_mask = max_kmeans_clusters - 1;
    static_assert((max_kmeans_clusters & number_mask) == 0);
    static constexpr unsigned tasks_of_warp = 32 / lanes_of_task;

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
    __device__ Task<Sum> *near_tasks() const { return reinterpret_cast<Task<Sum> *>(&cells + 1); }
    __device__ unsigned *near_keys() const {
        return reinterpret_cast<unsigned *>(near_tasks() + tasks);
    }

    struct Box {
        float x, y, z;                ///< its middle
        float half_x, half_y, half_z; ///< from there to its outermost colours
        float squares;                ///< of the middle
    };

    // ---- assignment -----------------------------------------------------------------

    __device__ void assign(bool fresh, bool publish) {
        for (unsigned first = 0; first == 0 || first < tasks; first += batch) {
            if (first > 0)
                __syncthreads();
            if (first + warp * tasks_of_warp < tasks)
                assign_tasks(first, fresh, publish);
            __syncthreads();
            for (unsigned i = warp; i < cells.queued; i += warps)
                assign_item(first, cells.queue[i], publish);
            __syncthreads();
            if (threadIdx.x == 0)
                cells.queued = 0;
        }
    }

    __device__ Wide farthest() const {
        Wide farthest = 0;
        for (unsigned t = warp; t < tasks; t += warps) {
            const Task<Sum> &own = task(t);
            for (unsigned i = lane; i < own.size; i += 32) {
                const unsigned key = keys_of(own)[i];
                const Centroid c = centroid(own.label & mixed ? key >> 24 : own.label);
                farthest = max(farthest, farthest_key(distance_to(key, c), key));
            }
        }
        return farthest;
    }

    /// Tasks get one label, or places in the queue.
    __device__ void assign_tasks(unsigned first, bool fresh, bool publish) {
        const unsigned i = threadIdx.x / lanes_of_task, part = lane % lanes_of_task;
        const bool there = first + i < tasks;
        // Lanes that have none look at the first one of the warp, with its own lanes.
        Task<Sum> &own = task(there ? first + i : first + warp * tasks_of_warp);
        const unsigned before = fresh ? none : own.label, size = own.size;
        const Candidates found = find_candidates(box_of(own), before);
        const unsigned count = found.count;
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
            cells.slots[i].before = static_cast<std::uint16_t>(before);
            cells.slots[i].length = static_cast<std::uint16_t>(count <= Slot::maximum ? count : 0);
            at = atomicAdd(&cells.queued, parts);
        }
        if (by_colors)
            list_candidates(cells.slots[i], found);
        __syncwarp();
        at = __shfl_sync(all, at, lane & ~(lanes_of_task - 1u));
        if (by_colors && part < parts)
            cells.queue[at + part] = static_cast<std::uint16_t>(i | part * batch);
    }

    /// Part of a task.
    __device__ void assign_item(unsigned first, unsigned item, bool publish) {
        const unsigned i = item % batch, at = item / batch * colors_of_item;
        const Task<Sum> &own = task(first + i);
        if (own.size - at <= 32)
            assign_colors<1>(own, cells.slots[i], at, publish);
        else
            assign_colors<2>(own, cells.slots[i], at, publish);
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
        const float squares = metric == GPV_KMEANS_METRIC_L2 ? fmaf(x, x, fmaf(y, y, z * z)) : 0.0f;
        return {x, y, z, half_x, half, half, squares};
    }

    /// What a lane finds for a task.
    struct Candidates {
        unsigned nearest;
        unsigned kept;  ///< a bit for each centroid of the lane's share
        unsigned count; ///< kept centroids of all lanes of the task
        unsigned first; ///< how many of those come before this lane's
    };

    /// Which centroids can be nearest to a colour of the box. before: of the task.
    __device__ Candidates find_candidates(const Box &box, unsigned before) const {
        return centroids_per_lane_bits == 0 ? find_among_few(box) : find_among_many(box, before);
    }

    /// Where each lane has one centroid.
    __device__ Candidates find_among_few(const Box &box) const {
        const unsigned part = lane % lanes_of_task;
        const float4 own = shared.centroids[place(part)];
        const unsigned nearest =
            min_of_lanes(numbered(score(box, own) + (box.squares + 1), part)) & number_mask;
        const bool kept = can_win(box, {own.x, own.y, own.z}, centroid(nearest));
        const unsigned of_task =
            __ballot_sync(all, kept) >> (lane - part) & ((1u << lanes_of_task) - 1);
        return {nearest, kept, static_cast<unsigned>(__popc(of_task)),
                static_cast<unsigned>(__popc(of_task & ((1u << part) - 1)))};
    }

    __device__ Candidates find_among_many(const Box &box, unsigned before) const {
        const unsigned centroids_per_lane = 1u << centroids_per_lane_bits,
                       first = (lane % lanes_of_task) << centroids_per_lane_bits;
        const float4 *own = shared.centroids + place(first);
        float best = 1e30f;
        if (before == none) {
            for (unsigned i = 0; i < centroids_per_lane; i++)
                best = fminf(best, score(box, own[i]));
            best = min_of_lanes(best);
        } else {
            best = score(box, shared.centroids[place(before & number_mask)]);
        }
        // What is nearest, or was it, says how far the others may be.
        const float reach = reach_of(box, best);
        unsigned inside = 0;
        if (centroids_per_lane < unrolled) {
            for (unsigned i = 0; i < centroids_per_lane; i++)
                inside |= static_cast<unsigned>(score(box, own[i]) <= reach) << i;
        } else {
            for (unsigned i = 0; i < centroids_per_lane; i += unrolled) {
                unsigned bits = 0;
#pragma unroll
                for (unsigned j = 0; j < unrolled; j++)
                    if (score(box, own[i + j]) <= reach)
                        bits |= 1u << j;
                inside |= bits << i;
            }
        }
        // Few are left; they are looked at more closely.
        unsigned minimum = ~0u;
        for (unsigned bits = inside; bits; bits &= bits - 1) {
            const unsigned i = __ffs(static_cast<int>(bits)) - 1;
            minimum = min(minimum, numbered(score(box, own[i]) + (box.squares + 1), first + i));
        }
        __syncwarp();
        const unsigned nearest = min_of_lanes(minimum) & number_mask;
        const Centroid winner = centroid(nearest);
        unsigned kept = 0;
        for (unsigned bits = inside; bits; bits &= bits - 1) {
            const unsigned i = __ffs(static_cast<int>(bits)) - 1;
            const float4 c = own[i];
            if (can_win(box, {c.x, c.y, c.z}, winner))
                kept |= 1u << i;
        }
        __syncwarp();
        const unsigned part = lane % lanes_of_task, own_count = __popc(kept);
        unsigned up_to_here = own_count;
#pragma unroll
        for (unsigned d = 1; d < lanes_of_task; d *= 2) {
            const unsigned other = __shfl_up_sync(all, up_to_here, d, lanes_of_task);
            if (part >= d)
                up_to_here += other;
        }
        const unsigned count = __shfl_sync(all, up_to_here, lanes_of_task - 1, lanes_of_task);
        return {nearest, kept, count, up_to_here - own_count};
    }
    static constexpr unsigned unrolled = 8;

    template <class T>
    __device__ static T min_of_lanes(T v) {
#pragma unroll
        for (int d = 1; d < lanes_of_task; d *= 2)
            v = min(v, __shfl_xor_sync(all, v, d));
        return v;
    }

    /// In the order of their numbers.
    __device__ void list_candidates(Slot &slot, const Candidates &found) const {
        if (found.count > Slot::maximum)
            return;
        const unsigned first = (lane % lanes_of_task) << centroids_per_lane_bits;
        unsigned at = found.first;
        for (unsigned bits = found.kept; bits; bits &= bits - 1)
            slot.candidates[at++] = candidate(first + __ffs(static_cast<int>(bits)) - 1);
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
        if constexpr (metric == GPV_KMEANS_METRIC_L2)
            return fmaf(-2 * box.z, c.z, fmaf(-2 * box.y, c.y, fmaf(-2 * box.x, c.x, c.w)));
        else
            return distance<metric>(box.x, box.y, box.z, {c.x, c.y, c.z});
    }
    /// The greatest score of what can win against one of that score, by the triangle inequality.
    /// 1 is for what rounding can do: less than 0.12 for the distances of a colour, as much again
    /// for what that makes at the middle, 0.05 for each of two scores, 0.03 for the sum.
    __device__ static float reach_of(const Box &box, float score) {
        if constexpr (metric == GPV_KMEANS_METRIC_L2) {
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
    static constexpr float margin = metric == GPV_KMEANS_METRIC_L2 ? 0.5f : 0.001f;

    /// Whether c can be nearest somewhere in the box: not if winner is nearer to every colour
    /// there, beyond rounding.
    __device__ static bool can_win(const Box &box, const Centroid &c, const Centroid &winner) {
        if constexpr (metric == GPV_KMEANS_METRIC_L2) {
            // The difference is linear, so it is least at a corner.
            const float of_c = distance<metric>(box.x, box.y, box.z, c);
            const float of_winner = distance<metric>(box.x, box.y, box.z, winner);
            float away = fmaf(box.half_x, fabsf(c.x - winner.x), margin / 2);
            away = fmaf(box.half_y, fabsf(c.y - winner.y), away);
            away = fmaf(box.half_z, fabsf(c.z - winner.z), away);
            return of_c - of_winner <= 2 * away;
        } else {
            return min_part(box.x, box.half_x, c.x, winner.x) +
                       min_part(box.y, box.half_y, c.y, winner.y) +
                       min_part(box.z, box.half_z, c.z, winner.z) <=
                   margin;
        }
    }
    /// The part of one coordinate. The difference is monotone, so it is least at an end.
    __device__ static float min_part(float middle, float half, float c, float winner) {
        const auto part = [&](float v) { return fabsf(v - c) - fabsf(v - winner); };
        return fminf(part(middle - half), part(middle + half));
    }

    /// Finds the nearest candidate of every colour; a lane has several colours.
    template <int colors>
    __device__ void assign_colors(const Task<Sum> &own, const Slot &slot, unsigned first,
                                  bool publish) {
        unsigned *keys = keys_of(own) + first;
        const unsigned size = own.size - first;
        unsigned key[colors];
        Nearest<metric, colors> nearest;
#pragma unroll
        for (int i = 0; i < colors; i++) {
            const unsigned at = 32 * i + lane;
            key[i] = at < size ? keys[at] : 0;
            nearest.begin(i, key[i]);
        }
        const auto compare = [&](unsigned candidate) {
            const auto *bytes = reinterpret_cast<const std::byte *>(shared.centroids);
            const auto &c = *reinterpret_cast<const float4 *>(bytes + (candidate >> 16));
            nearest.compare(candidate, {c.x, c.y, c.z});
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
            const unsigned label = nearest.which[i] & number_mask;
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

    const CellsJob<Sum> &job;
    CellsShared<Sum> &cells;
    const unsigned tasks, colors; ///< of the block; colors: near ones
};

template <gpv_kmeans_metric metric, class Sum>
struct LloydOfCells {
    static constexpr int threads = lloyd_threads;
    static_assert(threads == 4 * max_kmeans_clusters, "a thread for each sum");
    using Job = CellsJob<Sum>;
    using Shared = CellsShared<Sum>;
    static constexpr std::size_t min_shared_bytes = sizeof(Shared);
    static_assert(min_shared_bytes <= 64 << 10, "what every device has");

    __device__ static void run(const Job &job) {
        Shared &shared = *shared_memory<Shared>();
        // Tasks are dealt to the blocks like cards.
        const unsigned tasks = (job.loop.control->tasks + gridDim.x - 1 - blockIdx.x) / gridDim.x;
        unsigned colors;
        const bool resident = take_tasks(job, shared, tasks, colors);
        clear(shared.loop);
        if (threadIdx.x == 0)
            shared.queued = 0;
        __syncthreads();
        if (resident)
            CellsBlock<metric, Sum, true>(job, shared, tasks, colors).iterate_all();
        else
            CellsBlock<metric, Sum, false>(job, shared, tasks, colors).iterate_all();
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
        const unsigned before = block_sum_before<threads / 32>(own.size, shared.of_warps, colors);
        if (tasks > threads ||
            tasks * sizeof(Task<Sum>) + std::size_t{colors} * 2 * sizeof(unsigned) > job.room)
            return false;
        auto *near_tasks = reinterpret_cast<Task<Sum> *>(&shared + 1);
        auto *near_keys = reinterpret_cast<unsigned *>(near_tasks + tasks);
        if (threadIdx.x < tasks) {
            shared.from[threadIdx.x] = own.first;
            own.first = before;
            near_tasks[threadIdx.x] = own;
        }
        __syncthreads();
        for (unsigned i = warp; i < tasks; i += threads / 32) {
            const unsigned from = shared.from[i], to = near_tasks[i].first;
            const unsigned size = near_tasks[i].size;
#pragma unroll
            for (unsigned c = lane; c < max_colors_of_task; c += 32)
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
