// SPDX-License-Identifier: BSD-2-Clause
// Kernels between the cuts of expansion moves. A thread has a pixel.
#pragma once

#include <climits>

#include "core/expansion.hpp"
#include "cuda/expansion/tuning.hpp"
#include "cuda/pixels.cuh"

namespace gpv::cuda::expansion {

using namespace gpv::expansion;
using Wide = unsigned long long;

inline constexpr int max_moves = GPV_EXPANSION_MAX_CYCLES * max_labels;

/// What kernels leave for those that follow. All is zero when a run begins.
struct Control {
    Wide fault;                     ///< ~ of the first one's place, see fault_key(); 0 = none
    Wide energies[2];               ///< in the beginning, and in the end
    Progress progress[max_moves];   ///< before each move
    GraphcutResult cuts[max_moves]; ///< of each move that was made

    /// Before a move, or behind the last one.
    __device__ Progress before(int move, int labels, long long pixels) const {
        if (move == 0)
            return {.is_over = fault != 0};
        Progress found = progress[move - 1];
        if (!found.is_over)
            found.note(cuts[move - 1].area != pixels, labels);
        return found;
    }
};

struct Job {
    int width, height, count;
    int move;                ///< how many there were before
    int measured;            ///< which of the energies
    Rows costs[max_labels];  ///< of each label
    Rows links[4];           ///< of the first half of the directions
    Rows labels, mask;       ///< in scratch
    Rows out;                ///< labels, for the caller
    Rows terminals, arcs[8]; ///< the graph of a move
    Control *control;
    ExpansionReport *report; ///< in host memory; may be null
    ExpansionResult *result; ///< on the device; may be null

    __device__ bool inside(int x, int y) const {
        return x >= 0 && y >= 0 && x < width && y < height;
    }
    __device__ int cost(int label, int x, int y) const { return costs[label].row<const int>(y)[x]; }
    __device__ int link(int pair, int x, int y) const { return links[pair].row<const int>(y)[x]; }
    __device__ int label(int x, int y) const { return labels.row<const std::uint8_t>(y)[x]; }
    /// After the cut of the last move, whether its label has been written yet or not. Where a run
    /// is over before its last move, the last cut that was made changes nothing.
    __device__ int next_label(int x, int y) const {
        const bool takes = move > 0 && !mask.row<const std::uint8_t>(y)[x];
        return takes ? (move - 1) % count : label(x, y);
    }
    __device__ Progress progress() const {
        return control->before(move, count, static_cast<long long>(width) * height);
    }
};

/// Grows from fault to fault that is found first.
__device__ __forceinline__ Wide fault_key(long long pixel, int plane) {
    return ~(static_cast<Wide>(pixel) * 32 + plane);
}
static_assert(max_labels + 4 <= 32);

struct Clear {
    using Job = expansion::Job;
    static constexpr int threads = threads_of_row;
    static constexpr int words = sizeof(Control) / sizeof(Wide);
    static_assert(sizeof(Control) % sizeof(Wide) == 0);

    __device__ static void run(const Job &job) {
        for (int i = threadIdx.x; i < words; i += threads)
            reinterpret_cast<Wide *>(job.control)[i] = 0;
    }
};

/// The cheapest label of each pixel. Looks at all values.
template <int pairs>
struct Start {
    using Job = expansion::Job;
    static constexpr int threads = threads_of_row;

    __device__ static void run(const Job &job) {
        const int x = blockIdx.x * threads + threadIdx.x, y = blockIdx.y;
        if (x >= job.width)
            return;
        const auto checked = [&](int value, int plane, int low, int high) {
            if (value < low || value > high)
                atomicMax(&job.control->fault,
                          fault_key(static_cast<long long>(y) * job.width + x, plane));
            return value;
        };
        int cheapest = 0, least = INT_MAX;
        for (int i = 0; i < job.count; i++) {
            const int cost = checked(job.cost(i, x, y), i, -max_cost, max_cost);
            if (cost < least) {
                cheapest = i;
                least = cost;
            }
        }
        job.labels.row<std::uint8_t>(y)[x] = static_cast<std::uint8_t>(cheapest);
        for (int pair = 0; pair < pairs; pair++)
            if (job.inside(x + step_x(pair, 2 * pairs), y + step_y(pair, 2 * pairs)))
                checked(job.link(pair, x, y), job.count + pair, 0, max_link);
    }
};

/// Gives the label of the last move to the pixels that its cut has on the side of the sink, and
/// makes the graph of the next one.
template <int pairs>
struct Build {
    using Job = expansion::Job;
    static constexpr int threads = threads_of_row;

    __device__ static void run(const Job &job) {
        const Progress progress = job.progress();
        const int x = blockIdx.x * threads + threadIdx.x, y = blockIdx.y;
        if (x == 0 && y == 0)
            job.control->progress[job.move] = progress;
        if (progress.is_over || x >= job.width)
            return;
        const int label = job.next_label(x, y), move = job.move % job.count;
        job.labels.row<std::uint8_t>(y)[x] = static_cast<std::uint8_t>(label);
        Node<pairs> node{};
        if (label != move) {
            node.terminal = job.cost(move, x, y) - job.cost(label, x, y);
            for (int pair = 0; pair < pairs; pair++) {
                const int dx = step_x(pair, 2 * pairs), dy = step_y(pair, 2 * pairs);
                if (job.inside(x + dx, y + dy))
                    node.add_forth(pair, job.link(pair, x, y), label,
                                   job.next_label(x + dx, y + dy));
                if (job.inside(x - dx, y - dy))
                    node.add_back(pair, job.link(pair, x - dx, y - dy),
                                  job.next_label(x - dx, y - dy), move);
            }
        }
        job.terminals.row<int>(y)[x] = node.terminal;
        for (int pair = 0; pair < pairs; pair++) {
            job.arcs[pair].row<int>(y)[x] = node.forth[pair];
            job.arcs[reverse(pair, 2 * pairs)].template row<int>(y)[x] = node.back[pair];
        }
    }
};

/// The labels after the last move.
struct Finish {
    using Job = expansion::Job;
    static constexpr int threads = threads_of_row;

    __device__ static void run(const Job &job) {
        const int x = blockIdx.x * threads + threadIdx.x, y = blockIdx.y;
        if (job.control->fault || x >= job.width)
            return;
        const auto label = static_cast<std::uint8_t>(job.next_label(x, y));
        job.labels.row<std::uint8_t>(y)[x] = label;
        job.out.row<std::uint8_t>(y)[x] = label;
    }
};

/// The energy of the labels.
template <int pairs>
struct Measure {
    using Job = expansion::Job;
    static constexpr int threads = threads_of_row;

    __device__ static void run(const Job &job) {
        if (job.control->fault)
            return;
        const int x = blockIdx.x * threads + threadIdx.x;
        const int first = blockIdx.y * rows_to_measure;
        long long sum = 0;
        for (int y = first; y < min(first + rows_to_measure, job.height) && x < job.width; y++) {
            const int label = job.label(x, y);
            sum += job.cost(label, x, y);
            for (int pair = 0; pair < pairs; pair++) {
                const int dx = step_x(pair, 2 * pairs), dy = step_y(pair, 2 * pairs);
                if (job.inside(x + dx, y + dy) && job.label(x + dx, y + dy) != label)
                    sum += job.link(pair, x, y);
            }
        }
        sum = warp_reduce(sum, [](long long a, long long b) { return a + b; });
        if (threadIdx.x % 32 == 0 && sum)
            atomicAdd(&job.control->energies[job.measured], static_cast<Wide>(sum));
    }
};

/// Writes what the run has found to where it is wanted.
struct Report {
    using Job = expansion::Job;
    static constexpr int threads = 1;

    __device__ static void run(const Job &job) {
        const Control &control = *job.control;
        ExpansionReport report{.found = {.struct_size = sizeof(ExpansionResult)}, .fault = {}};
        if (control.fault) {
            report.found.refused = 1;
            report.fault = first_fault(job, ~control.fault);
        } else {
            const Progress progress = job.progress();
            report.found.converged = progress.is_over;
            report.found.start_energy = static_cast<long long>(control.energies[0]);
            report.found.energy = static_cast<long long>(control.energies[1]);
            report.found.moves = progress.moves;
        }
        if (job.result)
            *job.result = report.found;
        if (job.report)
            *job.report = report;
    }

  private:
    __device__ static GraphcutFault first_fault(const Job &job, Wide key) {
        const auto pixel = static_cast<long long>(key / 32);
        const int plane = static_cast<int>(key % 32);
        const int x = static_cast<int>(pixel % job.width), y = static_cast<int>(pixel / job.width);
        return {pixel, plane,
                plane < job.count ? job.cost(plane, x, y) : job.link(plane - job.count, x, y)};
    }
};

} // namespace gpv::cuda::expansion
