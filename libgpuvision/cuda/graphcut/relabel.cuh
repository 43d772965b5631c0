// SPDX-License-Identifier: BSD-2-Clause
// The global relabel: exact distances of pixels to the sink in the residual
// graph, up to a cap or of all, by breadth-first search from the pixels with capacity to the sink
// (Cherkassky and Goldberg, 1997, for its use with preflows).
//
// A level of the search takes one step for 32 pixels at once: a lane has a row
// of a tile as a word, and the pixels that are reached are those with an arc to
// the front. Each block searches its own region of tiles and one tile around
// it. What it does not see of other regions comes in from outside, one pixel a
// level, so that its region is right for as many levels as a tile has rows: a
// window. Then blocks exchange the tiles along their seams, and meet at a
// barrier. All blocks are always at the same level, so a pixel is reached once,
// at its distance.
#pragma once

#include "cuda/graphcut/state.cuh"

namespace gpv::cuda::graphcut {

inline constexpr int window_levels = side;
/// What the choice of cuts by steps looks at.
inline constexpr int windows_of_short_cuts = (max_steps_of_cuts + 1) / window_levels;
/// Bits of a level within its window, and one row of those reached in it.
inline constexpr int level_bits = 5, level_words = level_bits + 1;
static_assert(1 << level_bits == window_levels);

/// A tile that a block searches.
struct Place {
    int tile;  ///< -1 = outside the image
    int front; ///< its index with a frame of tiles around those that are searched
    int owned; ///< its index among those of the region; -1 = around it
};

/// What a block searches, the same for all blocks: a region and one tile around it.
struct RegionShape {
    int width, height; ///< tiles, of the region
    int held; ///< tiles beside each other that a warp keeps in registers; 0 = none are kept

    __host__ __device__ int owned() const { return width * height; }
    __host__ __device__ int searched_width() const { return width + 2; }
    __host__ __device__ int searched_height() const { return height + 2; }
    __host__ __device__ int searched() const { return searched_width() * searched_height(); }
    /// Warps for a row of tiles.
    __host__ __device__ int row_warps() const { return (searched_width() + held - 1) / held; }
    __host__ __device__ int warps() const { return row_warps() * searched_height(); }
    /// With a tile more on either side, after what the last warp of a row could hold.
    __host__ __device__ int framed_width() const {
        return (held ? row_warps() * held : searched_width()) + 2;
    }
    __host__ __device__ int framed() const { return framed_width() * (searched_height() + 2); }

    /// Place of a tile that is searched, or could be by a warp that keeps tiles in registers.
    __device__ Place place(const Job &job, int column, int row) const {
        const int block = static_cast<int>(blockIdx.x);
        const int x = block % job.regions_x * width + column - 1;
        const int y = block / job.regions_x * height + row - 1;
        const bool inside = column < searched_width() && row < searched_height() &&
                            block < job.regions && x >= 0 && y >= 0 && x < job.tiles_x &&
                            y < job.tiles_y;
        const bool owned = column > 0 && row > 0 && column <= width && row <= height;
        return {inside ? y * job.tiles_x + x : -1, (row + 1) * framed_width() + column + 1,
                owned ? (row - 1) * width + column - 1 : -1};
    }
};

/// Hands out shared memory, and the spill where there is none left; without either, it counts.
class RegionMemory {
  public:
    __host__ __device__ RegionMemory(std::byte *shared, std::size_t bytes, std::byte *spill)
        : shared_(shared), bytes_(bytes), spill_(spill) {}

    template <class T>
    __host__ __device__ T *allocate(std::size_t count) {
        const std::size_t bytes = (count * sizeof(T) + 15) / 16 * 16;
        const bool fits = used_ + bytes <= bytes_;
        std::size_t &used = fits ? used_ : spilled_;
        std::byte *base = fits ? shared_ : spill_;
        T *result = base ? reinterpret_cast<T *>(base + used) : nullptr;
        used += bytes;
        return result;
    }
    __host__ __device__ std::size_t used() const { return used_; }
    __host__ __device__ std::size_t spilled() const { return spilled_; }

  private:
    std::byte *shared_;
    std::size_t bytes_;
    std::byte *spill_;
    std::size_t used_ = 0, spilled_ = 0;
};

/// Rows that a warp writes the heights of at once.
inline constexpr int part_rows = 4, parts_of_tile = side / part_rows;
struct alignas(part_rows * sizeof(Word)) Part {
    Word row[part_rows];
};

/// Words of arcs that a lane can have in registers, too.
inline constexpr int max_held_arcs = 28;

/// What a block keeps of what it searches, but for what is in registers.
struct Region {
    RegionShape shape;
    Word *front;   ///< [2][framed][row] reached at this level, and at the next
    Word *levels;  ///< [owned][level_words][row] of the pixels reached in this window; of tiles in
                   ///< registers, until it ends, the last row is of those unreached before it
    int *reached;  ///< [1 + owned] of how many tiles there are any, and which they are
    Word *source;  ///< [owned][row] not reached at the end
    unsigned *lit; ///< [2][framed] whether the front has a pixel there
    int *tiles;    ///< [owned] -1 = outside the image
    Place *places; ///< [searched]
    Word *unreached; ///< [searched][row]
    Word *arcs;      ///< [searched][direction][row]

    __host__ __device__ Region(const RegionShape &region, int directions, RegionMemory &memory)
        : shape(region) {
        const int held = shape.held;
        const std::size_t stored = held ? 0 : shape.searched();
        const std::size_t fronts = shape.framed();
        const std::size_t with_arcs = held == 0                           ? shape.searched()
                                      : held * directions > max_held_arcs ? shape.warps() * held
                                                                          : 0;
        front = memory.allocate<Word>(2 * fronts * side);
        levels = memory.allocate<Word>(std::size_t(shape.owned()) * level_words * side);
        reached = memory.allocate<int>(1 + shape.owned());
        source = memory.allocate<Word>(std::size_t(shape.owned()) * side);
        lit = memory.allocate<unsigned>(held ? 0 : 2 * fronts);
        tiles = memory.allocate<int>(shape.owned());
        places = memory.allocate<Place>(stored);
        unreached = memory.allocate<Word>(stored * side);
        arcs = memory.allocate<Word>(with_arcs * directions * side);
    }
    __device__ static Region of(const Job &job, int directions, int held) {
        RegionMemory memory(shared_memory<std::byte>(), job.region_bytes,
                            job.spill + blockIdx.x * job.spill_bytes);
        return Region({job.region_width, job.region_height, held}, directions, memory);
    }

    /// f(i, first row) for each i < tiles, in parts, each by one warp.
    template <class F>
    __device__ static void for_parts(int tiles, F f) {
        for (int i = threadIdx.x / 32; i < tiles * parts_of_tile; i += block_warps)
            f(i / parts_of_tile, i % parts_of_tile * part_rows);
    }
    /// f(index of the tile among those owned, tile, first row) for all tiles of the region.
    template <class F>
    __device__ void for_parts(F f) const {
        for_parts(shape.owned(), [&](int owned, int first_row) {
            if (const int tile = tiles[owned]; tile >= 0)
                f(owned, tile, first_row);
        });
    }
};

/// Levels of a window whose last bits the code knows.
inline constexpr int grouped_bits = 2, grouped_levels = 1 << grouped_bits;

/// A row of a tile that is searched, in registers.
struct HeldTile {
    Word unreached;
    Word front;              ///< reached at the level before
    Word grouped;            ///< reached in this group of levels
    Word levels[level_bits]; ///< bits of the levels at which pixels were reached

    template <int k>
    __device__ void note(Word reached) {
        grouped |= reached;
#pragma unroll
        for (int b = 0; b < grouped_bits; b++)
            if (k >> b & 1)
                levels[b] |= reached;
    }
    /// group: its first level, within the window.
    __device__ void end_group(int group) {
#pragma unroll
        for (int b = grouped_bits; b < level_bits; b++)
            if (group >> b & 1)
                levels[b] |= grouped;
        grouped = 0;
    }
};

/// held: as of RegionShape.
template <int directions, int held>
class Relabel {
  public:
    __device__ explicit Relabel(const Job &job)
        : job_(job), region_(Region::of(job, directions, held)), warp_(threadIdx.x / 32),
          lane_(threadIdx.x % 32) {
        if constexpr (held > 0)
            hold_tiles();
    }

    /// Heights of pixels. Before it, a tile may have flow in the inbox of the epoch if it has
    /// that stamp; afterwards none has. Lists the tiles with excess that can reach the sink for the
    /// epoch after that. window: counts those of all searches. cap: so many windows suffice where a
    /// pixel with excess is reached, and those that are not reached by then count as such that
    /// cannot be; 0 = never. Returns whether all have been reached that can be.
    __device__ bool run(GridBarrier &grid, unsigned epoch, unsigned &window, int cap) {
        const unsigned last = cap ? window + cap : ~0u;
        place_tiles();
        if (epoch)
            empty_inboxes(epoch);
        grid.wait();
        load();
        int level = 0;
        Search search;
        do {
            search_window(level == 0);
            level += window_levels;
            window++;
            search = exchange(grid, level - window_levels, window, window >= last);
        } while (search == Search::goes_on);
        for_owned([&](auto i, const Place &place) {
            region_.source[place.owned * side + lane_] = unreached(i);
            if (__any_sync(~0u, (active(place.tile) & ~unreached(i)) != 0) && lane_ == 0)
                enlist(job_, place.tile, epoch + 1);
        });
        __syncthreads();
        region_.for_parts([&](int owned, int tile, int first_row) {
#pragma unroll
            for (int r = 0; r < part_rows; r++)
                if (bit(region_.source[owned * side + first_row + r], lane_))
                    height(tile, first_row + r) = unreached_height;
        });
        return search == Search::complete;
    }

  private:
    /// Of a search.
    enum class Search { goes_on, capped, complete };

    static constexpr int d = directions;
    static constexpr bool has_arcs = held > 0 && held *d <= max_held_arcs;

    /// f(index, place) for the tiles that this warp sees to; the index is a constant of those held.
    template <class F>
    __device__ __forceinline__ void for_searched(F f) {
        if constexpr (held > 0)
            unrolled<held>([&](auto i) {
                if (inside_ >> i & 1)
                    f(i, held_place(i, owned_ >> i & 1));
            });
        else
            for (int i = warp_; i < region_.shape.searched(); i += block_warps)
                if (const Place place = region_.places[i]; place.tile >= 0)
                    f(i, place);
    }
    /// The same for those of the region.
    template <class F>
    __device__ __forceinline__ void for_owned(F f) {
        if constexpr (held > 0)
            unrolled<held>([&](auto i) {
                if (inside_ & owned_ & 1u << i)
                    f(i, held_place(i, true));
            });
        else
            for_searched([&](int i, const Place &place) {
                if (place.owned >= 0)
                    f(i, place);
            });
    }

    /// Place of a held tile in the image. All are at a fixed offset from the first.
    __device__ Place held_place(int i, bool owned) const {
        return {first_.tile + i, first_.front + i, owned ? first_.owned + i : -1};
    }

    // Of the tile with that index, and this lane's row.

    __device__ Word &unreached(int i) {
        if constexpr (held > 0)
            return tiles_[i].unreached;
        else
            return region_.unreached[i * side + lane_];
    }
    __device__ Word &arcs(int i, int direction) {
        if constexpr (has_arcs)
            return arcs_[i][direction];
        else if constexpr (held > 0)
            return shared(region_.arcs)[((warp_ * held + i) * d + direction) * side + lane_];
        else
            return region_.arcs[(i * d + direction) * side + lane_];
    }
    __device__ Word active(int tile) const {
        return __ldcg(&job_.active[std::size_t(tile) * side + lane_]);
    }
    __device__ Word &level_word(const Place &place, int word) {
        return shared(region_.levels)[(place.owned * level_words + word) * side + lane_];
    }
    __device__ int fronts() const {
        return region_.shape.framed();
    }
    __device__ Word *front(int which) {
        return shared(region_.front) + which * fronts() * side;
    }
    __device__ unsigned *lit(int which) {
        return region_.lit + which * fronts();
    }
    __device__ int &height(int tile, int row) {
        return job_.heights[std::size_t(tile) * tile_pixels + row * side + lane_];
    }
    /// The same pointer. Of what is held nothing is spilled, and the compiler sees that it is in
    /// shared memory.
    template <class T>
    __device__ T *shared(T *pointer) const {
        static_assert(sizeof(T) == sizeof(Word));
        const T *base = reinterpret_cast<const T *>(region_.front);
        return held > 0 ? shared_memory<T>() + (pointer - base) : pointer;
    }

    /// Which tiles this warp holds.
    __device__ void hold_tiles() {
        const RegionShape &shape = region_.shape;
        const int column = warp_ % shape.row_warps() * held, row = warp_ / shape.row_warps();
        unrolled<held>([&](auto i) {
            const Place place = shape.place(job_, column + i, row);
            inside_ |= unsigned(place.tile >= 0) << i;
            owned_ |= unsigned(place.owned >= 0) << i;
            if (place.tile >= 0)
                first_.tile = place.tile - i;
            if (place.owned >= 0)
                first_.owned = place.owned - i;
            first_.front = place.front - i;
        });
    }

    /// Which tiles these are. Pushes use the same shared memory.
    __device__ void place_tiles() {
        const RegionShape &shape = region_.shape;
        if (threadIdx.x == 0)
            region_.reached[0] = 0;
        if constexpr (held > 0)
            unrolled<held>([&](auto i) {
                if (owned_ >> i & 1 && lane_ == 0)
                    region_.tiles[first_.owned + i] = inside_ >> i & 1 ? first_.tile + i : -1;
            });
        else
            for (int i = warp_; i < shape.searched(); i += block_warps) {
                const Place place =
                    shape.place(job_, i % shape.searched_width(), i / shape.searched_width());
                region_.places[i] = place;
                if (place.owned >= 0 && lane_ == 0)
                    region_.tiles[place.owned] = place.tile;
            }
        __syncthreads();
    }

    __device__ void empty_inboxes(unsigned epoch) {
        // All stamps are under way before one is looked at; what is unreached comes later.
        for_owned([&](auto i, const Place &place) {
            unreached(i) = __ldcg(&job_.stamp[place.tile]) == epoch;
        });
        for_owned([&](auto i, const Place &place) {
            if (unreached(i))
                empty_inbox(place.tile, epoch % 2);
        });
    }

    /// What the last pushes have left at the seams of a tile.
    __device__ void empty_inbox(int tile, int parity) {
        const std::size_t t = tile;
        int flows[2 * d];
        unrolled<2 * d>([&](auto part) {
            flows[part] = is_entered<part>() ? __ldcg(inbox<part>(tile, parity)) : 0;
        });
        unrolled<2 * d>([&](auto part) {
            using S = Step<d, part / 2>;
            const int flow = flows[part];
            if (!flow)
                return;
            *inbox<part>(tile, parity) = 0;
            const int pixel = entered_pixel<S::x, S::y>(part % 2 * side + lane_);
            const int row = pixel / side;
            const Word mark = 1u << pixel % side;
            const int excess = atomicAdd(&job_.excess[t * tile_pixels + pixel], flow) + flow;
            atomicAdd(&job_.capacities[(t * d + S::back) * tile_pixels + pixel], flow);
            atomicOr(&job_.arcs[(t * d + S::back) * side + row], mark);
            if (excess >= 0)
                atomicAnd(&job_.sinks[t * side + row], ~mark);
            if (excess > 0)
                atomicOr(&job_.active[t * side + row], mark);
        });
    }
    template <int part>
    static constexpr bool is_entered() {
        using S = Step<d, part / 2>;
        return (part % 2 ? S::x : S::y) != 0;
    }
    template <int part>
    __device__ int *inbox(int tile, int parity) {
        return job_.inbox + (job_.tile_at(parity, tile) * d + part / 2) * inbox_places +
               part % 2 * side + lane_;
    }

    /// The pixels at level 0: those with capacity to the sink.
    __device__ void load() {
        for (int i = threadIdx.x; i < 2 * fronts() * side; i += block_warps * 32)
            front(0)[i] = 0;
        if constexpr (held == 0)
            for (int i = threadIdx.x; i < 2 * fronts(); i += block_warps * 32)
                lit(0)[i] = 0;
        __syncthreads();
        if constexpr (held > 0)
            unrolled<held>([&](auto i) {
                tiles_[i] = {};
                for (int k = 0; k < d && inside_; k++)
                    arcs(i, k) = 0;
            });
        for_searched([&](auto i, const Place &place) {
            const std::size_t t = place.tile;
#pragma unroll
            for (int k = 0; k < d; k++)
                arcs(i, k) = __ldcg(&job_.arcs[(t * d + k) * side + lane_]);
            unreached(i) = __ldcg(&job_.sinks[t * side + lane_]);
        });
        for_searched([&](auto i, const Place &place) {
            const Word sinks = unreached(i);
            put_front(1, place.front, sinks); // where level 1 looks for it
            if constexpr (held > 0) {
                tiles_[i].front = sinks;
                if (place.owned >= 0)
                    level_word(place, level_bits) = ~0u;
            } else if (place.owned >= 0) {
                for (int b = 0; b < level_bits; b++)
                    level_word(place, b) = 0;
                level_word(place, level_bits) = sinks;
            }
            unreached(i) = ~sinks;
        });
        __syncthreads();
    }

    __device__ void put_front(int which, int tile, Word pixels) {
        front(which)[tile * side + lane_] = pixels;
        if constexpr (held == 0) {
            const bool any = __any_sync(~0u, pixels != 0);
            if (lane_ == 0)
                lit(which)[tile] = any;
        }
    }

    /// The levels of a window, of which the first search has had the first one. Level k finds its
    /// front in buffer k % 2 and leaves the next one in the other; the window ends with buffer 0.
    __device__ void search_window(bool first) {
        if constexpr (held > 0)
            searches_ = inside_ && is_near_front(first ? 1 : 0);
        for (int group = 0; group < window_levels; group += grouped_levels) {
            Word reached = 0; // at the last level
            unrolled<grouped_levels>([&](auto k) {
                if (k > 0)
                    __syncthreads();
                else if (group == 0 && first)
                    return;
                if constexpr (held == 0)
                    reached = search_stored<k>(group);
                else if (searches_)
                    reached = search_held<k>();
            });
            if constexpr (held > 0)
                if (searches_)
                    unrolled<held>([&](auto i) { tiles_[i].end_group(group); });
            if (!__syncthreads_or(reached != 0))
                return;
        }
    }

    /// Whether the front in a buffer is in the tiles of this warp or in one beside them. If not, it
    /// is more than `side` pixels away, which are as many levels as a window has. (The other buffer
    /// may still have a front of the last window that this warp searched in. That does no harm: all
    /// with an arc to it have been reached since.)
    __device__ bool is_near_front(int which) {
        Word near = 0;
#pragma unroll
        for (int row = -1; row <= 1; row++) {
            const Word *rows =
                front(which) + (first_.front + row * region_.shape.framed_width()) * side + lane_;
            for (int i = -1; i <= held; i++)
                near |= rows[i * side];
        }
        return __any_sync(~0u, near != 0);
    }

    // One level. Return what has been reached of all tiles.

    template <int k>
    __device__ Word search_held() {
        Word all = 0, reached[held];
        unrolled<held>([&](auto i) {
            reached[i] =
                with_arc_to_front(i, rows_of_front(k % 2, first_.front + i)) & unreached(i);
        });
        unrolled<held>([&](auto i) {
            put_front((k + 1) % 2, first_.front + i, reached[i]);
            tiles_[i].front = reached[i];
            unreached(i) &= ~reached[i];
            tiles_[i].template note<k>(reached[i]);
            all |= reached[i];
        });
        return all;
    }

    /// Here only tiles near the front are looked at.
    template <int k>
    __device__ Word search_stored(int group) {
        constexpr int from = k % 2, to = (k + 1) % 2;
        Word all = 0;
        for_searched([&](int i, const Place &place) {
            const int around =
                lane_ < 9 ? (lane_ / 3 - 1) * region_.shape.framed_width() + lane_ % 3 - 1 : 0;
            const bool stale = lit(to)[place.front];
            if (__any_sync(~0u, lit(from)[place.front + around] != 0)) {
                const Word reached =
                    with_arc_to_front(i, rows_of_front(from, place.front)) & unreached(i);
                put_front(to, place.front, reached);
                unreached(i) &= ~reached;
                all |= reached;
                if (reached && place.owned >= 0)
                    note_level(place, reached, group + k);
            } else if (stale) {
                put_front(to, place.front, 0);
            }
        });
        return all;
    }
    __device__ void note_level(const Place &place, Word reached, int level) {
        for (int b = 0; b < level_bits; b++)
            if (level >> b & 1)
                level_word(place, b) |= reached;
        level_word(place, level_bits) |= reached;
    }

    /// Rows of the front around this lane's row of a tile.
    struct FrontRows {
        const Word *above, *own, *below;
    };
    __device__ FrontRows rows_of_front(int which, int tile) {
        const Word *own = front(which) + tile * side + lane_;
        const int next_tile = region_.shape.framed_width() * side;
        return {own - (lane_ > 0 ? 1 : next_tile - (side - 1)), own,
                own + (lane_ < side - 1 ? 1 : next_tile - (side - 1))};
    }

    /// The pixels of the row that have an arc to a pixel of the front.
    template <class Index>
    __device__ Word with_arc_to_front(Index index, const FrontRows &rows) {
        Word result = 0;
        unrolled<d>([&](auto i) {
            using S = Step<d, i>;
            Word pixels = front_word<0, S::y>(index, rows);
            if constexpr (S::x > 0)
                pixels = __funnelshift_r(pixels, front_word<1, S::y>(index, rows), 1);
            if constexpr (S::x < 0)
                pixels = __funnelshift_l(front_word<-1, S::y>(index, rows), pixels, 1);
            result |= pixels & arcs(index, i);
        });
        return result;
    }
    /// x tiles to the right of that one, and y rows below.
    template <int x, int y, class Index>
    __device__ Word front_word(Index, const FrontRows &rows) const {
        if constexpr (held > 0 && y == 0)
            if constexpr (constexpr int i = Index::value + x; i >= 0 && i < held)
                return tiles_[i].front;
        return (y < 0 ? rows.above : y > 0 ? rows.below : rows.own)[x * side];
    }

    /// Ends a window that began at a level: writes its heights, and the seams for the other blocks.
    /// Returns whether the search goes on, with what other blocks have found. may_end: it need not
    /// if a pixel with excess has been reached.
    __device__ Search exchange(GridBarrier &grid, int first_level, unsigned window, bool may_end) {
        const int parity = static_cast<int>(window % 2);
        int *list = shared(region_.reached);
        bool alive = false, met = false;
        for_owned([&](auto i, const Place &place) {
            const Word reached = front(0)[place.front * side + lane_];
            alive |= reached != 0;
            Word *seam = job_.seams + job_.tile_at(parity, place.tile) * 2 * side + lane_;
            seam[0] = unreached(i);
            seam[side] = reached;
            if (may_end)
                met |= (active(place.tile) & ~unreached(i)) != 0;
        });
        if (searches_)
            for_owned([&](auto i, const Place &place) {
                if constexpr (held > 0) {
#pragma unroll
                    for (int b = 0; b < level_bits; b++) {
                        level_word(place, b) = tiles_[i].levels[b];
                        tiles_[i].levels[b] = 0;
                    }
                    level_word(place, level_bits) &= ~unreached(i);
                }
                if (__any_sync(~0u, level_word(place, level_bits) != 0) && lane_ == 0)
                    list[1 + atomicAdd(&list[0], 1)] = place.owned;
            });
        if (__syncthreads_or(alive) && threadIdx.x == 0)
            atomicMax(&job_.control->alive, window);
        if (may_end && __syncthreads_or(met) && threadIdx.x == 0)
            atomicMax(&job_.control->met, window);
        grid.arrive();
        Region::for_parts(list[0], [&](int i, int first_row) {
            store_heights(list[1 + i], first_row, first_level);
        });
        grid.wait_for_others();
        if (threadIdx.x == 0)
            list[0] = 0;
        if (__ldcg(&job_.control->alive) < window)
            return Search::complete;
        if (may_end && __ldcg(&job_.control->met) == window) // of the next one once it goes on
            return Search::capped;
        if constexpr (held > 0)
            if (searches_)
                for_owned([&](auto i, const Place &place) {
                    level_word(place, level_bits) = unreached(i);
                });
        take_seams(parity);
        __syncthreads();
        return Search::goes_on;
    }

    /// Loads the seams of tiles around the region, which other blocks have searched. Those of held
    /// tiles are all loaded before one is used.
    __device__ void take_seams(int parity) {
        for_searched([&](auto i, const Place &place) {
            if (place.owned >= 0)
                return;
            const Word *seam = job_.seams + job_.tile_at(parity, place.tile) * 2 * side + lane_;
            unreached(i) = __ldcg(&seam[0]);
            const Word reached = __ldcg(&seam[side]);
            if constexpr (held > 0)
                tiles_[i].front = reached;
            else
                put_front(0, place.front, reached);
        });
        if constexpr (held > 0)
            for_searched([&](auto i, const Place &place) {
                if (place.owned < 0)
                    put_front(0, place.front, tiles_[i].front);
            });
    }

    /// Stores heights of the pixels of a part that were reached in this window.
    __device__ void store_heights(int owned, int first_row, int first_level) {
        Word *levels = shared(region_.levels) + owned * level_words * side + first_row;
        const auto part = [&](int word) {
            return *reinterpret_cast<const Part *>(levels + word * side);
        };
        const Part reached = part(level_bits);
        Word some = 0;
        for (const Word row : reached.row)
            some |= row;
        if (!some)
            return;
        int level[part_rows];
        for (int &l : level)
            l = first_level;
#pragma unroll
        for (int b = 0; b < level_bits; b++) {
            const Part bits = part(b);
#pragma unroll
            for (int r = 0; r < part_rows; r++) // turned, so that this lane's bit is the one of b
                level[r] |= __funnelshift_r(bits.row[r], bits.row[r], lane_ - b) & 1 << b;
        }
        const int tile = shared(region_.tiles)[owned];
#pragma unroll
        for (int r = 0; r < part_rows; r++)
            if (bit(reached.row[r], lane_))
                height(tile, first_row + r) = level[r];
        if constexpr (held == 0) {
            __syncwarp();
            for (int i = lane_; i < level_words * part_rows; i += 32)
                levels[i / part_rows * side + i % part_rows] = 0;
        }
    }

    const Job &job_;
    const Region region_;
    const int warp_, lane_;

    static constexpr int maximum = held > 0 ? held : 1;
    Place first_{};                   ///< of the tiles held, as if it were in image and region
    unsigned inside_ = 0, owned_ = 0; ///< a bit for each that is in the image, in the region
    bool searches_ = true;            ///< in this window; tiles that are not held always
    HeldTile tiles_[maximum];
    Word arcs_[maximum][d];
};

/// Writes the cut that the last search has found, of the region.
template <int directions, int held>
__device__ void write_cut(const Job &job) {
    const int lane = threadIdx.x % 32;
    const Region region = Region::of(job, directions, held);
    long long left = 0, area = 0;
    region.for_parts([&](int owned, int tile, int first_row) {
        const int x = tile % job.tiles_x * side + lane;
#pragma unroll
        for (int r = 0; r < part_rows; r++) {
            const int row = first_row + r, y = tile / job.tiles_x * side + row;
            const bool source = bit(region.source[owned * side + row], lane);
            left +=
                max(-__ldcg(&job.excess[std::size_t(tile) * tile_pixels + row * side + lane]), 0);
            if (x < job.width && y < job.height) {
                job.mask.row<std::uint8_t>(y)[x] = source ? 255 : 0;
                area += source;
            }
        }
    });
    const auto add = [](long long a, long long b) { return a + b; };
    left = warp_reduce(left, add);
    area = warp_reduce(area, add);
    if (lane == 0 && left)
        atomicAdd(&job.control->left, static_cast<unsigned long long>(left));
    if (lane == 0 && area)
        atomicAdd(&job.control->area, static_cast<unsigned long long>(area));
}

} // namespace gpv::cuda::graphcut
