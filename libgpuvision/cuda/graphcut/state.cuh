// SPDX-License-Identifier: BSD-2-Clause
// The state of a graph while its cut is searched, and how it is made from images.
#pragma once

#include <type_traits>

#include "core/graphcut.hpp"
#include "cuda/graphcut/tuning.hpp"
#include "cuda/pixels.cuh"

namespace gpv::cuda::graphcut {

/// Side of a tile, pixels. The graph is stored in tiles; a row of a tile is a word of bits.
inline constexpr int side = 32;
inline constexpr int tile_pixels = side * side;

/// The height of a pixel from which the sink cannot be reached.
inline constexpr int unreached_height = 1 << 30;

/// Flow that crosses into a tile is kept for each direction under the pixel that it goes to: at i
/// for column i of the row where it enters, at side + i for row i of the column where it enters.
/// What goes to a pixel where both would do, as it comes from the corner, is in the row.
inline constexpr int inbox_places = 2 * side;

/// What a run leaves for the next one. It holds as long as runs have the same scratch: one that has
/// grown is zero, and that is a flow, too.
struct Kept {
    const int *flow; ///< Job::capacities, where it is from a pixel to each neighbour; null = none
    int width, height, directions;
    ReuseChoice choice;
};

/// State shared by all blocks. All but found and kept is zero before and after a run.
struct alignas(128) Control {
    alignas(128) unsigned arrived; ///< arrivals at the barrier
    alignas(128) int count[3];     ///< tiles in the list of an epoch, modulo 3
    alignas(128) unsigned alive;   ///< the last window of a relabel in which a pixel was reached
    unsigned met; ///< the last one, from its cap on, before whose end one with excess was
    alignas(128) unsigned end[2]; ///< end of the phase of pushes, see End; by the epoch modulo 2
    unsigned finished;            ///< blocks that have finished
    unsigned long long fault;     ///< ~ of fault_key() of the first one; 0 = none
    unsigned long long capacity;  ///< from pixels to the sink
    unsigned long long left;      ///< capacity left at the end
    unsigned long long area;      ///< pixels of the source
    unsigned long long cut;       ///< capacity of the cut, by Certify
    unsigned long long cuts[short_cuts]; ///< of those to choose from, where time was over
    GraphcutResult found;                ///< result of Solve, for Certify
    Kept kept;

    __device__ void clear() {
        const GraphcutResult result = found;
        const Kept flow = kept;
        *this = {};
        found = result;
        kept = flow;
    }
};

/// Why a phase of pushes ends.
enum End : unsigned { goes_on = 0, phase_is_over = 1, time_is_over = 2 };

struct Job {
    int width, height;
    int tiles_x, tiles_y;
    int region_width, region_height; ///< tiles that a block relabels
    int regions_x, regions;
    long long max_time_ns; ///< nanoseconds, 0 = no limit
    bool certificate;
    Reuse reuse, next;
    Rows terminals, links[8], mask;
    int *capacities;  ///< [tile][direction][pixel] that is left of an arc; between runs, flow
    int *excess;      ///< [tile][pixel] if positive; else -capacity that is left to the sink
    int *heights;     ///< [tile][pixel]
    Word *arcs;       ///< [tile][direction][row] of which capacity is left
    Word *sinks;      ///< [tile][row] from which capacity to the sink is left
    Word *active;     ///< [tile][row] that have excess
    Word *seams;      ///< [2][tile][2][row] unreached pixels and the front, by the window modulo 2
    int *inbox;       ///< [2][tile][direction][place] by the epoch modulo 2
    unsigned *stamp;  ///< [tile] the last epoch that has listed it
    int *list[2];     ///< [tile] by the epoch modulo 2
    std::byte *spill; ///< of each block, what of a region is not in shared memory
    std::size_t region_bytes; ///< of shared memory for a region
    std::size_t spill_bytes;  ///< of each block
    Control *control;
    GraphcutReport *report; ///< in host memory; may be null
    GraphcutResult *result; ///< on the device; may be null
    const unsigned *idle;   ///< where it is not 0, nothing is read or written; may be null

    __host__ __device__ int tiles() const { return tiles_x * tiles_y; }
    __host__ __device__ std::size_t tile_at(int parity, int tile) const {
        return static_cast<std::size_t>(parity) * tiles() + tile;
    }
};

template <int n, class F, int... i>
__device__ __forceinline__ void unrolled(F f, std::integer_sequence<int, i...>) {
    (f(std::integral_constant<int, i>{}), ...);
}
/// f(0), f(1), … f(n - 1), where the argument is a constant.
template <int n, class F>
__device__ __forceinline__ void unrolled(F f) {
    unrolled<n>(f, std::make_integer_sequence<int, n>{});
}

/// The steps of a direction.
template <int directions, int direction>
struct Step {
    static constexpr int x = step_x(direction, directions), y = step_y(direction, directions);
    static constexpr int back = reverse(direction, directions);
};

__device__ __forceinline__ bool bit(Word word, int i) {
    return word >> i & 1;
}

/// Grows from fault to fault that is found first.
__device__ __forceinline__ unsigned long long fault_key(long long pixel, int plane) {
    return ~(static_cast<unsigned long long>(pixel) * 16 + plane);
}

/// f(direction, capacity to the neighbour, capacity back) for the directions of a pixel; 0 where
/// there is no neighbour.
template <int directions, class F>
__device__ __forceinline__ void for_links(const Job &job, int x, int y, F f) {
    const auto inside = [&](int column, int row) {
        return column >= 0 && row >= 0 && column < job.width && row < job.height;
    };
    unrolled<directions>([&](auto i) {
        using S = Step<directions, i>;
        const bool has = inside(x, y) && inside(x + S::x, y + S::y);
        f(i, has ? job.links[i].template row<int>(y)[x] : 0,
          has ? job.links[S::back].template row<int>(y + S::y)[x + S::x] : 0);
    });
}

/// Writes the graph of a tile from what is given; by the threads of a group. reuses: capacities
/// have a flow, which it begins with as far as there is room for it: a preflow but for pixels that
/// pass on what they do not get, which count as capacity to the sink.
template <int directions>
__device__ void build_tile(const Job &job, bool reuses, int tile, int warp, int warps) {
    constexpr int d = directions;
    const int lane = threadIdx.x % side;
    const int x = tile % job.tiles_x * side + lane, top = tile / job.tiles_x * side;
    const std::size_t base = tile;
    long long to_sink = 0;
    for (int row = warp; row < side; row += warps) {
        const int y = top + row, pixel = row * side + lane;
        const bool inside = x < job.width && y < job.height;
        const auto checked = [&](int value, int plane, int minimum, int maximum) {
            if (value >= minimum && value <= maximum)
                return value;
            atomicMax(&job.control->fault,
                      fault_key(static_cast<long long>(y) * job.width + x, plane));
            return 0;
        };
        const int terminal =
            inside ? checked(job.terminals.row<int>(y)[x], 0, -max_terminal, max_terminal) : 0;
        to_sink += max(-terminal, 0);
        int *const capacities = job.capacities + base * d * tile_pixels + pixel;
        int excess = terminal, flow[d];
        unrolled<d>([&](auto i) { flow[i] = reuses ? __ldcg(capacities + i * tile_pixels) : 0; });
        for_links<d>(job, x, y, [&](auto i, int there, int back) {
            const int legal = checked(there, i + 1, 0, max_link);
            // Of an illegal one back, with which nothing is solved, any number.
            const int kept = max(min(flow[i], legal), -(back & max_link));
            const int capacity = legal - kept;
            excess -= kept;
            capacities[i * tile_pixels] = capacity;
            const Word arcs = __ballot_sync(~0u, capacity > 0);
            if (lane == 0)
                job.arcs[(base * d + i) * side + row] = arcs;
        });
        job.excess[base * tile_pixels + pixel] = excess;
        const Word sinks = __ballot_sync(~0u, excess < 0);
        const Word active = __ballot_sync(~0u, excess > 0);
        if (lane == 0) {
            job.sinks[base * side + row] = sinks;
            job.active[base * side + row] = active;
        }
    }
    for (int i = warp * side + lane; i < d * inbox_places; i += warps * side)
        for (int parity = 0; parity < 2; parity++)
            job.inbox[job.tile_at(parity, tile) * d * inbox_places + i] = 0;
    if (warp == 0 && lane == 0) {
        job.stamp[tile] = 0;
        for (int *list : job.list)
            list[tile] = 0; // to be read before it is known how long a list is
    }
    to_sink = warp_reduce(to_sink, [](long long a, long long b) { return a + b; });
    if (lane == 0 && to_sink)
        atomicAdd(&job.control->capacity, static_cast<unsigned long long>(to_sink));
}

/// Leaves the flow of a tile in its capacities.
template <int directions>
__device__ void keep_tile(const Job &job, int tile, int warp, int warps) {
    constexpr int d = directions;
    const int lane = threadIdx.x % side;
    const int x = tile % job.tiles_x * side + lane, top = tile / job.tiles_x * side;
    for (int row = warp; row < side; row += warps) {
        int *const capacities =
            job.capacities + std::size_t(tile) * d * tile_pixels + row * side + lane;
        int left[d];
        unrolled<d>([&](auto i) { left[i] = __ldcg(capacities + i * tile_pixels); });
        for_links<d>(job, x, top + row, [&](auto i, int there, int) {
            capacities[i * tile_pixels] = there - left[i];
        });
    }
}

/// The pixel of a tile that flow in a direction enters at a place of the inbox.
template <int direction_x, int direction_y>
__device__ __forceinline__ int entered_pixel(int place) {
    return place < side ? (direction_y > 0 ? 0 : side - 1) * side + place
                        : (place - side) * side + (direction_x > 0 ? 0 : side - 1);
}

/// Adds a tile to the list of an epoch, once.
__device__ __forceinline__ void enlist(const Job &job, int tile, unsigned epoch) {
    if (atomicExch(&job.stamp[tile], epoch) != epoch)
        job.list[epoch % 2][atomicAdd(&job.control->count[epoch % 3], 1)] = tile;
}

} // namespace gpv::cuda::graphcut
