// SPDX-License-Identifier: BSD-2-Clause
// Extrema of the differences of levels: for levels in memory; and, in one kernel with the levels
// themselves, for the usual filters. The differences are never stored.
#pragma once

#include "cuda/sift/blur.cuh"

namespace gpv::cuda::sift {

/// Goes on from a fit at the candidate's place, which is not moved any more once it has converged.
/// Whether there may be a keypoint.
__device__ __forceinline__ bool advance(const SiftParams &params, const SubpixelFit &fit,
                                        Candidate &candidate) {
    if (!fit.finite())
        return false;
    Extremum &e = candidate.extremum;
    const int dx = step_of(fit.dx), dy = step_of(fit.dy), ds = step_of(fit.ds);
    // To where it came from: it would go to and fro for ever.
    const bool back =
        candidate.moves > 0 && step_of(e.dx) == -dx && step_of(e.dy) == -dy && step_of(e.ds) == -ds;
    e.dx = fit.dx;
    e.dy = fit.dy;
    e.ds = fit.ds;
    e.response = fit.contrast;
    if (fit.converged()) {
        candidate.moves = 0;
        return fit.counts(params);
    }
    candidate.moves++;
    if (back || candidate.moves == max_moves)
        return false;
    e.x += dx;
    e.y += dy;
    const int layer = e.layer + ds;
    e.layer = static_cast<std::int16_t>(layer);
    return layer >= 1 && layer <= params.octave_layers;
}

/// Whether extrema may lie there.
__device__ __forceinline__ bool is_inside(const Space::Octave &octave, int x, int y) {
    return x >= sift_border && x < octave.width - sift_border && y >= sift_border &&
           y < octave.height - sift_border;
}

/// Adds 1 to a counter for each lane of a warp with holds. Returns its value before this lane's 1.
__device__ __forceinline__ unsigned add_lanes(unsigned *counter, bool holds) {
    const unsigned lanes = __ballot_sync(~0u, holds);
    if (lanes == 0)
        return 0;
    const int lane = threadIdx.x % 32;
    unsigned first = 0;
    if (lane == 0)
        first = atomicAdd(counter, static_cast<unsigned>(__popc(lanes)));
    return __shfl_sync(~0u, first, 0) + __popc(lanes & ((1u << lane) - 1));
}

/// Writes the at-th candidate of those that are settled, or of the others. All fit in, or there are
/// too many extrema.
__device__ __forceinline__ void put(const Lists &lists, const Candidate &candidate, unsigned at) {
    if (at < lists.max_candidates)
        lists.candidates[candidate.moves == 0 ? at : lists.max_candidates - 1 - at] = candidate;
}

/// Finds extrema where all levels are in memory.
struct Extrema {
    struct Job {
        Space space;
        Tiling tiling;
        Lists lists;
        SiftParams params;
    };
    static constexpr int columns = 32, rows = 8;
    static constexpr int threads = columns * rows;

    __device__ static void run(const Job &job) {
        const Tiling::Tile tile = job.tiling.find(blockIdx.x);
        const Space::Octave &octave = job.space.octave[tile.octave];
        const int x = sift_border + tile.x * columns + static_cast<int>(threadIdx.x) % columns;
        const int y = sift_border + tile.y * rows + static_cast<int>(threadIdx.x) / columns;
        const bool inside = is_inside(octave, x, y);
        const std::size_t at = static_cast<std::size_t>(y) * octave.pitch + x;
        for (int layer = 1; layer <= job.params.octave_layers; layer++) {
            const auto d = [&](int dl, int dy, int dx) {
                const std::ptrdiff_t from = static_cast<std::ptrdiff_t>(dy) * octave.pitch + dx;
                return (job.space.level(tile.octave, layer + dl + 1) + at)[from] -
                       (job.space.level(tile.octave, layer + dl) + at)[from];
            };
            Candidate candidate{};
            candidate.extremum.x = x;
            candidate.extremum.y = y;
            candidate.extremum.octave = static_cast<std::int16_t>(tile.octave);
            candidate.extremum.layer = static_cast<std::int16_t>(layer);
            const bool keep = inside && is_extremum(d, job.params.min_difference()) &&
                              advance(job.params, subpixel_fit(d), candidate);
            add_lanes(&job.lists.control->extrema, keep);
            const bool settled = candidate.moves == 0;
            const unsigned front = add_lanes(&job.lists.control->settled, keep && settled);
            const unsigned back = add_lanes(&job.lists.control->unsettled, keep && !settled);
            if (keep)
                put(job.lists, candidate, settled ? front : back);
        }
    }

  private:
    template <class Difference>
    __device__ static bool is_extremum(Difference d, float minimum) {
        const float v = d(0, 0, 0);
        if (!(v > minimum || v < -minimum))
            return false;
        const float sign = v > 0 ? 1 : -1;
        for (int dl = -1; dl <= 1; dl++)
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++)
                    if (sign * d(dl, dy, dx) > sign * v)
                        return false;
        return true;
    }
};

/// Levels 1 to 3, and the extrema between them, for the usual filters. A block goes down a strip as
/// described in sift/blur.cuh. All levels of its latest rows stay in shared memory, in a ring: row
/// r of the strip in slot r modulo ring_rows. Row 0 lies one above the first that is tested.
struct ScaleSpace {
    struct Job {
        Space space;
        Tiling tiling;
        Lists lists;
        SiftParams params;
        int strip; ///< rows that are tested, if there are lists; 2 more are a multiple of step_rows
        float weights[usual_levels + 1][weights_pitch];
    };
    static constexpr int threads = strip_threads;
    static constexpr int min_blocks = scale_blocks;
    static constexpr bool waits = true;

    static constexpr int halo = 20;                    ///< a multiple of 4, at least widest
    static constexpr int columns = threads - 2 * halo; ///< columns with all levels
    static constexpr int owned = columns - 2;          ///< columns that are tested
    static constexpr int ring_rows = step_rows + 2, ring_pitch = columns + 4;

    /// Candidates that wait in shared memory until the block ends.
    static constexpr unsigned block_list = 128;

    struct Shared {
        float vertical[usual_levels][step_rows][strip_pitch];
        float level[usual_levels + 1][ring_rows][ring_pitch];
        unsigned extrema, settled, unsettled;
        Candidate
            found[block_list]; ///< as the list in memory: settled ones begin it, others end it
    };

    __device__ static void run(const Job &job) {
        Shared &s = *shared_memory<Shared>();
        const Tiling::Tile tile = job.tiling.find(blockIdx.x);
        const Space::Octave &octave = job.space.octave[tile.octave];
        const int x0 = tile.x * owned - 2; // of the first column with all levels
        const int y0 = tile.y * job.strip - 1;
        const int column = mirrored_near(x0 - halo + static_cast<int>(threadIdx.x), octave.width);
        const float *source = job.space.base + octave.at + column;
        wait_for_earlier_kernels();
        let_next_kernel_begin();

        if (threadIdx.x == 0)
            s.extrema = s.settled = s.unsettled = 0;
        float window[step_rows + 2 * widest], next[step_rows]; // rows of the next step come early
        load_column<2 * widest>(source, octave.pitch, y0 - widest, octave.height, window,
                                step_rows);
        load_column<step_rows>(source, octave.pitch, y0 + widest, octave.height, next, 0);
        for (int row = 0; row < job.strip + 2; row += step_rows) {
            if (y0 + row > octave.height)
                break; // nothing below is tested
#pragma unroll
            for (int i = 0; i < 2 * widest; i++)
                window[i] = window[i + step_rows];
#pragma unroll
            for (int i = 0; i < step_rows; i++)
                window[2 * widest + i] = next[i];
            const int oldest = (row + ring_rows - 2) % ring_rows;
            filter_columns(job, window, s);
            if (row + step_rows < job.strip + 2)
                load_column<step_rows>(source, octave.pitch, y0 + row + step_rows + widest,
                                       octave.height, next, 0);
            __syncthreads();
            keep_middle(window, s, oldest);
            filter_rows(job, s, oldest);
            __syncthreads();
            test(job, octave, tile.octave, s, x0, y0, row, oldest);
        }
        if (job.lists.control)
            deliver(job.lists, s);
    }

  private:
    /// Where row r lies, counted from the oldest of the ring.
    __device__ __forceinline__ static int slot(int oldest, int r) {
        const int at = oldest + r;
        return at >= ring_rows ? at - ring_rows : at;
    }

    __device__ __forceinline__ static void
    filter_columns(const Job &job, const float (&window)[step_rows + 2 * widest], Shared &s) {
#pragma unroll
        for (int j = 0; j < step_rows; j++) {
            const float middle = window[widest + j];
            float sum[usual_levels + 1];
#pragma unroll
            for (int l = 1; l <= usual_levels; l++)
                sum[l] = job.weights[l][0] * middle;
#pragma unroll
            for (int k = 1; k <= widest; k++) {
                const float pair = window[widest + j - k] + window[widest + j + k];
#pragma unroll
                for (int l = 1; l <= usual_levels; l++)
                    if (k <= level_radius(l))
                        sum[l] = fmaf(job.weights[l][k], pair, sum[l]);
            }
#pragma unroll
            for (int l = 1; l <= usual_levels; l++)
                s.vertical[l - 1][j][threadIdx.x] = sum[l];
        }
    }

    /// Level 0.
    __device__ __forceinline__ static void
    keep_middle(const float (&window)[step_rows + 2 * widest], Shared &s, int oldest) {
        const int column = static_cast<int>(threadIdx.x) - halo;
        if (column < 0 || column >= columns)
            return;
#pragma unroll
        for (int j = 0; j < step_rows; j++)
            s.level[0][slot(oldest, j + 2)][column] = window[widest + j];
    }

    __device__ __forceinline__ static void filter_rows(const Job &job, Shared &s, int oldest) {
        const int row = threadIdx.x & 7, column = static_cast<int>(threadIdx.x >> 3) * 8;
        if (column >= columns)
            return;
        const int at = slot(oldest, row + 2);
        filter_level<1>(job, s, row, column, at);
        filter_level<2>(job, s, row, column, at);
        filter_level<3>(job, s, row, column, at);
        filter_level<4>(job, s, row, column, at);
        filter_level<5>(job, s, row, column, at);
    }

    template <int l>
    __device__ __forceinline__ static void filter_level(const Job &job, Shared &s, int row,
                                                        int column, int at) {
        float out[8];
        filter_row<level_radius(l)>(&s.vertical[l - 1][row][halo + column], job.weights[l], out);
        auto *to = reinterpret_cast<float4 *>(&s.level[l][at][column]);
        to[0] = make_float4(out[0], out[1], out[2], out[3]);
        to[1] = make_float4(out[4], out[5], out[6], out[7]);
    }

    // The rows of a step are tested by the two halves of a block; a thread has two neighbouring
    // columns. Of all rows in the ring the newest but one is the last that can be tested.
    static constexpr int half_rows = step_rows / 2;

    /// A pixel and layer that is an extremum within differences 1 to 3: bit
    /// (3 row + layer - 1) 2 + column.
    struct Suspect {
        int row, layer, column;
    };
    __device__ static Suspect suspect_of(int bit) {
        const int pair = bit >> 1, row = pair / 3;
        return {row, 1 + pair - 3 * row, bit & 1};
    }

    /// Two neighbouring columns in one row of a difference.
    struct Pair {
        float high[2], low[2]; ///< extremes over three columns each
        float value[2];
    };

    __device__ static void test(const Job &job, const Space::Octave &octave, int number, Shared &s,
                                int x0, int y0, int row0, int oldest) {
        const int pair = threadIdx.x & 127;
        const int first = static_cast<int>(threadIdx.x >> 7) * half_rows;
        const bool owner = pair < owned / 2;
        const int left = owner ? 2 * pair : 0; // the column left of the two
        const auto load = [&](int at, Pair(&out)[usual_layers], float2(&stored)[usual_layers]) {
            float2 a, b;
#pragma unroll
            for (int l = 1; l <= usual_layers + 1; l++) {
                const auto *columns_ = reinterpret_cast<const float2 *>(&s.level[l][at][left]);
                const float2 c = columns_[0], d = columns_[1];
                if (l > 1) {
                    const float v0 = c.x - a.x, v1 = c.y - a.y, v2 = d.x - b.x, v3 = d.y - b.y;
                    const float high = fmaxf(v1, v2), low = fminf(v1, v2);
                    out[l - 2] = {{fmaxf(v0, high), fmaxf(high, v3)},
                                  {fminf(v0, low), fminf(low, v3)},
                                  {v1, v2}};
                }
                if (l <= usual_layers)
                    stored[l - 1] = c;
                a = c;
                b = d;
            }
        };
        Pair older[usual_layers], old[usual_layers];
        float2 stored[usual_layers];
        load(slot(oldest, first), older, stored);
        load(slot(oldest, first + 1), old, stored);

        // Of the rows that are new in the ring those of this strip and of the octave are stored;
        // the ones before them are tested.
        const int y = y0 + row0, x = x0 + left;
        const int store_first = max(row0 == 0 ? 1 : 0, -y);
        const int store_end =
            owner && x >= 0 && x < octave.width ? min(job.strip + 1 - row0, octave.height - y) : 0;
        const int test_first = max(row0 == 0 ? 2 : 0, sift_border + 1 - y);
        const int test_end = min(job.strip + 2 - row0, octave.height - sift_border + 1 - y);
        const float minimum = job.params.min_difference();
        const std::size_t plane = static_cast<std::size_t>(octave.pitch) * octave.height;
        float *to = job.space.levels + usual_layers * octave.at +
                    static_cast<std::ptrdiff_t>(y + first) * octave.pitch + x;
        unsigned suspects = 0;
        int at = slot(oldest, first + 2);
#pragma unroll
        for (int i = 0; i < half_rows; i++, to += octave.pitch) {
            const int row = first + i;
            Pair now[usual_layers];
            load(at, now, stored);
            if (row >= store_first && row < store_end) {
#pragma unroll
                for (int l = 0; l < usual_layers; l++)
                    *reinterpret_cast<float2 *>(to + l * plane) = stored[l];
            }
            const bool tested = row >= test_first && row < test_end;
#pragma unroll
            for (int c = 0; c < 2; c++) {
                float high[usual_layers], low[usual_layers]; // of 9 pixels
#pragma unroll
                for (int l = 0; l < usual_layers; l++) {
                    high[l] = fmaxf(fmaxf(older[l].high[c], old[l].high[c]), now[l].high[c]);
                    low[l] = fminf(fminf(older[l].low[c], old[l].low[c]), now[l].low[c]);
                }
                const float high01 = fmaxf(high[0], high[1]), high12 = fmaxf(high[1], high[2]);
                const float low01 = fminf(low[0], low[1]), low12 = fminf(low[1], low[2]);
                const float highest[] = {high01, fmaxf(high01, high[2]), high12};
                const float lowest[] = {low01, fminf(low01, low[2]), low12};
#pragma unroll
                for (int l = 0; l < usual_layers; l++) {
                    const float v = old[l].value[c];
                    if ((v == highest[l] || v == lowest[l]) && fabsf(v) > minimum && tested)
                        suspects |= 1u << ((3 * i + l) * 2 + c);
                }
            }
#pragma unroll
            for (int l = 0; l < usual_layers; l++) {
                older[l] = old[l];
                old[l] = now[l];
            }
            at = slot(at, 1);
        }
        constexpr unsigned first_columns = 0x555555, second_columns = 0xaaaaaa;
        const auto is_tested = [&](int column) {
            return owner && column >= sift_border && column < octave.width - sift_border;
        };
        if (!job.lists.control)
            return;
        suspects &=
            (is_tested(x + 1) ? first_columns : 0) | (is_tested(x + 2) ? second_columns : 0);
        settle(job, s, suspects, oldest, row0 == 0 ? 2 : 0, first, left, octave, number, x0, y - 2);
    }

    /// Follows them as long as they stay in the ring. first_row: of the ring that is there; x, y:
    /// of the pixel at its row and column 0.
    __device__ static void settle(const Job &job, Shared &s, unsigned suspects, int oldest,
                                  int first_row, int first, int left, const Space::Octave &octave,
                                  int number, int x, int y) {
        Candidate candidate{};
        Extremum &e = candidate.extremum;
        bool busy = false;
        while (__any_sync(~0u, busy || suspects != 0)) {
            if (!busy && suspects != 0) {
                const Suspect point = suspect_of(__ffs(static_cast<int>(suspects)) - 1);
                suspects &= suspects - 1;
                e.x = x + left + point.column + 1;
                e.y = y + first + point.row + 1;
                e.octave = static_cast<std::int16_t>(number);
                e.layer = static_cast<std::int16_t>(point.layer);
                candidate.moves = 0;
                busy = true;
            }
            bool keep = false, is_new = false;
            if (busy) {
                float differences[27];
                bool maximum = true, minimum = true;
#pragma unroll
                for (int dy = 0; dy < 3; dy++) {
                    const float *at =
                        &s.level[e.layer - 1][slot(oldest, e.y - y - 1 + dy)][e.x - x - 1];
#pragma unroll
                    for (int dl = 0; dl < 3; dl++)
#pragma unroll
                        for (int dx = 0; dx < 3; dx++)
                            differences[(dl * 3 + dy) * 3 + dx] =
                                at[(dl + 1) * ring_rows * ring_pitch + dx] -
                                at[dl * ring_rows * ring_pitch + dx];
                }
                const float v = differences[13];
#pragma unroll
                for (int i = 0; i < 27; i++) {
                    maximum = maximum && v >= differences[i];
                    minimum = minimum && v <= differences[i];
                }
                is_new = candidate.moves == 0;
                const auto d = [&](int dl, int dy, int dx) {
                    return differences[(dl * 3 + dy) * 3 + dx + 13];
                };
                keep = (!is_new || (v > 0 ? maximum : minimum)) &&
                       advance(job.params, subpixel_fit(d), candidate);
                is_new = is_new && keep;
                busy = false;
                if (keep && candidate.moves > 0) {
                    const int row = e.y - y, column = e.x - x;
                    busy = row > first_row && row < ring_rows - 1 && column > 0 &&
                           column < columns - 1 && is_inside(octave, e.x, e.y);
                    keep = !busy && is_inside(octave, e.x, e.y);
                }
            }
            if (is_new)
                atomicAdd(&s.extrema, 1u);
            if (keep)
                store(job.lists, s, candidate);
        }
    }

    __device__ static void store(const Lists &lists, Shared &s, const Candidate &candidate) {
        const bool settled = candidate.moves == 0;
        const unsigned at = atomicAdd(settled ? &s.settled : &s.unsettled, 1u);
        // Each half of the list is for one kind. What does not fit goes to memory at once.
        if (at < block_list / 2)
            s.found[settled ? at : block_list - 1 - at] = candidate;
        else
            put(lists, candidate,
                atomicAdd(settled ? &lists.control->settled : &lists.control->unsettled, 1u));
    }

    /// Takes the block's candidates to memory.
    __device__ static void deliver(const Lists &lists, const Shared &s) {
        __syncthreads();
        const unsigned settled = min(s.settled, block_list / 2);
        const unsigned unsettled = min(s.unsettled, block_list / 2);
        if (threadIdx.x >= 32)
            return;
        unsigned front = 0, back = 0;
        if (threadIdx.x == 0 && s.extrema > 0) {
            atomicAdd(&lists.control->extrema, s.extrema);
            front = atomicAdd(&lists.control->settled, settled);
            back = atomicAdd(&lists.control->unsettled, unsettled);
        }
        front = __shfl_sync(~0u, front, 0);
        back = __shfl_sync(~0u, back, 0);
        for (unsigned i = threadIdx.x; i < settled; i += 32)
            put(lists, s.found[i], front + i);
        for (unsigned i = threadIdx.x; i < unsettled; i += 32)
            put(lists, s.found[block_list - 1 - i], back + i);
    }
};

} // namespace gpv::cuda::sift
