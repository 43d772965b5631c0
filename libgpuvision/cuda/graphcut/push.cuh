// SPDX-License-Identifier: BSD-2-Clause
// Pushes: excess flows down the heights, a tile at a time, in registers.
//
// A group of warps works on a tile; a thread has a strip of pixels of one column,
// with all that belongs to them. A step pushes in one direction after the other,
// so that excess can run through a whole strip at once, and then relabels.
// Flow between the strips of a column goes through strip_flow, flow out of the tile
// through the inbox of the neighbour, which absorbs it in the next round: at any time one group
// alone writes the state of a tile. Heights beyond the tile may be out of date. Then a push may go
// up, which costs time but breaks nothing: capacities and excess stay a preflow, and only the
// search of a relabel says that it is maximum.
//
// That a run ends is certain once heights are no longer raised: then each push
// goes one level down the distances of the last search, which no later push can
// shorten, and there are only so many levels.
#pragma once

#include "cuda/graphcut/state.cuh"

namespace gpv::cuda::graphcut {

template <int directions>
class Push {
  public:
    static constexpr int warps = side / strip_rows;
    static constexpr int threads = warps * 32;

    /// Shared memory of a group.
    struct Shared {
        int out[directions][inbox_places]; ///< capacities out of the tile, then what has left
        int strip_flow[2][warps][directions][side]; ///< from a strip, by the step modulo 2; at the
                                                    ///< column that it goes to
        /// Heights of the rows at the seams of the strips, by the step modulo 2: the last row of
        /// the tile above, of each strip the first and the last, the first of the tile below;
        /// with a column of the tiles at both sides.
        int rows[2][2 * warps + 2][side + 2];
    };

    /// raises: whether heights may be raised.
    __device__ Push(const Job &job, Shared &shared, bool raises)
        : job_(job), shared_(shared), raises_(raises), warp_(threadIdx.x % threads / 32),
          lane_(threadIdx.x % 32) {}

    /// Works on a tile of the list of the epoch before; lists for this one those that have excess
    /// then. All groups of the block come here, and meet at its barriers; one without a tile
    /// says -1.
    __device__ void visit(int tile, unsigned epoch) {
        if (tile >= 0)
            load(tile, epoch);
        else
            load_nothing();
        unrolled<d>([&](auto i) { sent_[i] = 0; });
        send_strip_flow(0);
        publish_heights(0);
        __syncthreads();
        int step = 0;
        for (bool live = true; step < steps_per_visit && live; step++) {
            receive_strip_flow(step % 2);
            const bool active = __any_sync(~0u, has_active());
            if (active) {
                load_neighbour_heights(step % 2);
                push_all();
                if (raises_)
                    relabel();
            }
            send_strip_flow((step + 1) % 2);
            publish_heights((step + 1) % 2);
            live = __syncthreads_or(active);
        }
        receive_strip_flow(step % 2);
        if (tile >= 0)
            for_leaving([&](int &out, int capacity) { out -= capacity; });
        __syncthreads();
        if (tile >= 0) {
            send(tile, epoch);
            store(tile, epoch);
        }
        __syncthreads(); // the next tile uses the same shared memory
    }

  private:
    static constexpr int d = directions, rows = strip_rows;

    __device__ int row_of(int r) const { return warp_ * rows + r; }
    __device__ int pixel_of(int r) const { return row_of(r) * side + lane_; }

    __device__ void load(int tile, unsigned epoch) {
        const std::size_t t = tile;
#pragma unroll
        for (int r = 0; r < rows; r++) {
            excess_[r] = __ldcg(&job_.excess[t * tile_pixels + pixel_of(r)]);
            height_[r] = __ldcg(&job_.heights[t * tile_pixels + pixel_of(r)]);
#pragma unroll
            for (int i = 0; i < d; i++)
                capacity_[r][i] = __ldcg(&job_.capacities[(t * d + i) * tile_pixels + pixel_of(r)]);
        }
        load_beside(tile);
        const Beyond beyond = load_beyond(tile);
        absorb(tile, (epoch + 1) % 2);
        for_leaving([&](int &out, int capacity) { out = capacity; });
        publish_border_heights(beyond);
    }
    __device__ void load_nothing() {
#pragma unroll
        for (int r = 0; r < rows; r++) {
            excess_[r] = height_[r] = beside_[r] = 0;
            for (int i = 0; i < d; i++)
                capacity_[r][i] = 0;
        }
    }

    /// f(place of the inbox that it leads to, capacity) for all arcs of this strip that leave the
    /// tile.
    template <class F>
    __device__ void for_leaving(F f) {
        unrolled<d>([&](auto i) {
            using S = Step<d, i>;
#pragma unroll
            for (int r = 0; r < rows; r++) {
                const int x = lane_ + S::x, y = row_of(r) + S::y;
                const bool beyond_x = S::x && (x < 0 || x >= side);
                const bool beyond_y = S::y && (y < 0 || y >= side);
                if (beyond_y)
                    f(shared_.out[i][(x + side) % side], capacity_[r][i]);
                else if (beyond_x)
                    f(shared_.out[i][side + y], capacity_[r][i]);
            }
        });
    }

    /// Whose tile this is, or -1.
    __device__ int neighbour(int tile, int x, int y) const {
        x += tile % job_.tiles_x;
        y += tile / job_.tiles_x;
        return x >= 0 && y >= 0 && x < job_.tiles_x && y < job_.tiles_y ? y * job_.tiles_x + x : -1;
    }
    __device__ int height_at(int tile, int row, int column) const {
        return tile < 0
                   ? unreached_height
                   : __ldcg(&job_.heights[std::size_t(tile) * tile_pixels + row * side + column]);
    }

    /// Loads the heights left of the strip in the first lane, and right of it in the last lane.
    __device__ void load_beside(int tile) {
        const int there = neighbour(tile, lane_ == 0 ? -1 : 1, 0);
#pragma unroll
        for (int r = 0; r < rows; r++)
            beside_[r] =
                lane_ == 0 || lane_ == side - 1 ? height_at(there, row_of(r), side - 1 - lane_) : 0;
    }

    /// Heights of the row above the tile, or below it, and of a pixel at either end.
    struct Beyond {
        int row, corner;
    };
    __device__ bool has_beyond() const {
        return warp_ == 0 || warp_ == warps - 1;
    }
    __device__ Beyond load_beyond(int tile) const {
        if (!has_beyond())
            return {};
        const int y = warp_ == 0 ? -1 : 1, row = warp_ == 0 ? side - 1 : 0;
        return {height_at(neighbour(tile, 0, y), row, lane_),
                is_end() ? height_at(neighbour(tile, lane_ == 0 ? -1 : 1, y), row, side - 1 - lane_)
                         : 0};
    }
    /// They stay as they are during a visit.
    __device__ void publish_border_heights(const Beyond &beyond) {
        if (has_beyond())
            for (int parity = 0; parity < 2; parity++) {
                int *row = shared_.rows[parity][warp_ == 0 ? 0 : 2 * warps + 1];
                row[lane_ + 1] = beyond.row;
                if (is_end())
                    row[lane_ == 0 ? 0 : side + 1] = beyond.corner;
            }
    }
    __device__ bool is_end() const {
        return lane_ == 0 || lane_ == side - 1;
    }

    /// Flow of the round before. All that is loaded is under way before it is looked at.
    __device__ void absorb(int tile, int parity) {
        int along[d], aside[d][rows];
        const auto inbox = [&](int direction) {
            return job_.inbox + (job_.tile_at(parity, tile) * d + direction) * inbox_places;
        };
        unrolled<d>([&](auto i) {
            using S = Step<d, i>;
            along[i] = is_entered_along<S>() ? __ldcg(&inbox(i)[lane_]) : 0;
#pragma unroll
            for (int r = 0; r < rows; r++)
                aside[i][r] = is_entered_aside<S>() ? __ldcg(&inbox(i)[side + row_of(r)]) : 0;
        });
        unrolled<d>([&](auto i) {
            using S = Step<d, i>;
            constexpr int first = S::y > 0 ? 0 : rows - 1;
            excess_[first] += along[i];
            capacity_[first][S::back] += along[i];
            if (along[i])
                inbox(i)[lane_] = 0;
#pragma unroll
            for (int r = 0; r < rows; r++) {
                excess_[r] += aside[i][r];
                capacity_[r][S::back] += aside[i][r];
                if (aside[i][r])
                    inbox(i)[side + row_of(r)] = 0;
            }
        });
    }
    /// Whether flow in a direction may enter the tile in the first row, or the last one, of this
    /// strip.
    template <class S>
    __device__ bool is_entered_along() const {
        return S::y != 0 && warp_ == (S::y > 0 ? 0 : warps - 1);
    }
    template <class S>
    __device__ bool is_entered_aside() const {
        return S::x != 0 && lane_ == (S::x > 0 ? 0 : side - 1);
    }

    // ---- a step ---------------------------------------------------------------------

    __device__ bool has_active() const {
        bool active = false;
#pragma unroll
        for (int r = 0; r < rows; r++)
            active |= excess_[r] > 0 && height_[r] < unreached_height;
        return active;
    }

    __device__ void send_strip_flow(int parity) {
        unrolled<d>([&](auto i) {
            using S = Step<d, i>;
            if (S::y == 0)
                return;
            shared_.strip_flow[parity][warp_][i][lane_] = sent_[i];
            sent_[i] = 0;
        });
    }

    __device__ void receive_strip_flow(int parity) {
        unrolled<d>([&](auto i) {
            using S = Step<d, i>;
            if (S::y == 0 || (S::y > 0 ? warp_ == 0 : warp_ == warps - 1))
                return;
            constexpr int r = S::y > 0 ? 0 : rows - 1;
            const int flow = shared_.strip_flow[parity][warp_ - S::y][i][lane_];
            excess_[r] += flow;
            capacity_[r][S::back] += flow;
        });
    }

    __device__ void publish_heights(int parity) {
        const auto show = [&](int at, int r) {
            int *row = shared_.rows[parity][at];
            row[lane_ + 1] = height_[r];
            if (lane_ == 0 || lane_ == side - 1)
                row[lane_ == 0 ? 0 : side + 1] = beside_[r];
        };
        show(2 * warp_ + 1, 0);
        show(2 * warp_ + 2, rows - 1);
    }

    /// Heights of the neighbours of the strip, by row from the one above it on.
    __device__ void load_neighbour_heights(int parity) {
        const int *above = shared_.rows[parity][2 * warp_] + lane_ + 1;
        const int *below = shared_.rows[parity][2 * warp_ + 3] + lane_ + 1;
        above_ = above[0];
        below_ = below[0];
        if constexpr (d == 8) {
            left_[0] = above[-1];
            right_[0] = above[1];
            left_[rows + 1] = below[-1];
            right_[rows + 1] = below[1];
        }
#pragma unroll
        for (int r = 0; r < rows; r++) {
            left_[r + 1] = __shfl_up_sync(~0u, height_[r], 1);
            right_[r + 1] = __shfl_down_sync(~0u, height_[r], 1);
            if (lane_ == 0)
                left_[r + 1] = beside_[r];
            if (lane_ == side - 1)
                right_[r + 1] = beside_[r];
        }
    }

    template <int x, int y>
    __device__ int height_beyond(int r) const {
        if constexpr (x < 0)
            return left_[r + 1 + y];
        else if constexpr (x > 0)
            return right_[r + 1 + y];
        else
            return r + y < 0 ? above_ : r + y >= rows ? below_ : height_[r + y];
    }

    /// Takes what a pixel pushes in a direction. One that has capacity to the sink has height 0,
    /// and pushes nothing.
    template <int i>
    __device__ int take_flow(int r) {
        using S = Step<d, i>;
        const int flow =
            height_[r] - 1 == height_beyond<S::x, S::y>(r) ? min(excess_[r], capacity_[r][i]) : 0;
        excess_[r] -= flow;
        capacity_[r][i] -= flow;
        return flow;
    }

    __device__ void push_all() {
        unrolled<d>([&](auto i) {
            if constexpr (Step<d, i>::x == 0)
                push_along_strip<i>();
            else
                push_aside<i>();
        });
    }

    template <int i>
    __device__ void push_along_strip() {
        using S = Step<d, i>;
        constexpr bool down = S::y > 0;
#pragma unroll
        for (int k = 0; k < rows; k++) {
            const int r = down ? k : rows - 1 - k;
            const int flow = take_flow<i>(r);
            if (k == rows - 1) {
                sent_[i] += flow;
                continue;
            }
            const int to = r + (down ? 1 : -1);
            excess_[to] += flow;
            capacity_[to][S::back] += flow;
        }
    }

    template <int i>
    __device__ void push_aside() {
        using S = Step<d, i>;
        int flow[rows];
#pragma unroll
        for (int r = 0; r < rows; r++)
            flow[r] = take_flow<i>(r);
#pragma unroll
        for (int r = 0; r < rows; r++) {
            int arrived =
                S::x > 0 ? __shfl_up_sync(~0u, flow[r], 1) : __shfl_down_sync(~0u, flow[r], 1);
            if (lane_ == (S::x > 0 ? 0 : side - 1))
                arrived = 0;
            const int to = r + S::y;
            if (to >= 0 && to < rows) {
                excess_[to] += arrived;
                capacity_[to][S::back] += arrived;
            } else {
                sent_[i] += arrived;
            }
        }
    }

    __device__ void relabel() {
#pragma unroll
        for (int r = 0; r < rows; r++) {
            int lowest = unreached_height;
            unrolled<d>([&](auto i) {
                using S = Step<d, i>;
                if (capacity_[r][i] > 0)
                    lowest = min(lowest, height_beyond<S::x, S::y>(r));
            });
            if (excess_[r] > 0 && lowest >= height_[r])
                height_[r] = min(lowest + 1, unreached_height);
        }
    }

    // ---- the end of a visit ---------------------------------------------------------

    __device__ void store(int tile, unsigned epoch) {
        const std::size_t t = tile;
        if (__any_sync(~0u, has_active()) && lane_ == 0)
            enlist(job_, tile, epoch);
#pragma unroll
        for (int r = 0; r < rows; r++) {
            job_.excess[t * tile_pixels + pixel_of(r)] = excess_[r];
            job_.heights[t * tile_pixels + pixel_of(r)] = height_[r];
            const Word sinks = __ballot_sync(~0u, excess_[r] < 0);
            const Word active = __ballot_sync(~0u, excess_[r] > 0);
            Word arcs = 0;
#pragma unroll
            for (int i = 0; i < d; i++) {
                job_.capacities[(t * d + i) * tile_pixels + pixel_of(r)] = capacity_[r][i];
                const Word some = __ballot_sync(~0u, capacity_[r][i] > 0);
                if (lane_ == i)
                    arcs = some;
            }
            if (lane_ < d)
                job_.arcs[(t * d + lane_) * side + row_of(r)] = arcs;
            if (lane_ == 0) {
                job_.sinks[t * side + row_of(r)] = sinks;
                job_.active[t * side + row_of(r)] = active;
            }
        }
    }

    /// Puts what has left the tile into the inboxes of its neighbours.
    __device__ void send(int tile, unsigned epoch) {
        unrolled<2 * d>([&](auto part) {
            constexpr int i = part / 2, half = part % 2;
            using S = Step<d, i>;
            if ((half ? S::x : S::y) == 0 || warp_ != part % warps)
                return;
            const bool corner = S::x && S::y && lane_ == ((half ? S::y : S::x) > 0 ? 0 : side - 1);
            const bool used = !half || !corner; // else it is entered from the row
            const int flow = used ? shared_.out[i][half * side + lane_] : 0;
            const int to = neighbour(tile, half || corner ? S::x : 0, half ? 0 : S::y);
            if (flow)
                job_.inbox[(job_.tile_at(epoch % 2, to) * d + i) * inbox_places + half * side +
                           lane_] = flow;
            const Word straight = __ballot_sync(~0u, flow != 0 && !corner);
            if (flow && (corner || lane_ == __ffs(straight) - 1))
                enlist(job_, to, epoch);
        });
    }

    const Job &job_;
    Shared &shared_;
    const bool raises_;
    const int warp_, lane_;
    int excess_[rows], height_[rows], capacity_[rows][d];
    int beside_[rows];
    int sent_[d]; ///< out of the strip, along the column
    int above_, below_, left_[rows + 2], right_[rows + 2];
};

} // namespace gpv::cuda::graphcut
