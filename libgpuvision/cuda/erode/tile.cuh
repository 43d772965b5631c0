// SPDX-License-Identifier: BSD-2-Clause
// Erosion and dilation of bytes by a rectangle: one read, one write, one kernel.
//
// A block owns a tile. The same routine, slide(), runs twice:
//   1. the tile with its halo comes to shared memory, a word = 4 neighbouring bytes of a row;
//   2. a thread walks down one column of words: the best of 2 ry + 1 rows, for a run of rows;
//   3. the result is transposed: a word = 4 neighbouring rows of one column of bytes;
//   4. a thread walks along x through transposed words, `step` columns at a time: the best of
//      2 rx + 1 pixels, for a run of pixels and each of their channels;
//   5. transposed back, it goes to memory.
// So no step looks at a single byte, and both directions cost the same.
#pragma once

#include <type_traits>

#include "cuda/erode/lines.cuh"
#include "cuda/intrinsics.cuh"

namespace gpv::cuda::erode {

// ---- lanes: how the bytes of a word are held while they are compared ---------------------

/// Two words of 16-bit halves. Each byte is the HIGH byte of a half: what lies
/// below it cannot change which high byte wins.
template <class Better>
struct PairLanes {
    Word even, odd;

    __device__ static PairLanes of(Word bytes) { return {bytes << 8, bytes}; }
    __device__ static PairLanes best(PairLanes a, PairLanes b) {
        return {pick(a.even, b.even), pick(a.odd, b.odd)};
    }
    __device__ static PairLanes best(PairLanes a, PairLanes b, PairLanes c) {
        return {pick(a.even, b.even, c.even), pick(a.odd, b.odd, c.odd)};
    }

    /// column[i] = byte i of each of the four.
    __device__ static void transpose(const PairLanes (&v)[4], Word (&column)[4]) {
        const Word even01 = __byte_perm(v[0].even, v[1].even, 0x7351);
        const Word odd01 = __byte_perm(v[0].odd, v[1].odd, 0x7351);
        const Word even23 = __byte_perm(v[2].even, v[3].even, 0x7351);
        const Word odd23 = __byte_perm(v[2].odd, v[3].odd, 0x7351);
        column[0] = __byte_perm(even01, even23, 0x5410);
        column[1] = __byte_perm(odd01, odd23, 0x5410);
        column[2] = __byte_perm(even01, even23, 0x7632);
        column[3] = __byte_perm(odd01, odd23, 0x7632);
    }

  private:
    __device__ static Word pick(Word a, Word b) {
        return Better::erode ? __vminu2(a, b) : __vmaxu2(a, b);
    }
    __device__ static Word pick(Word a, Word b, Word c) {
        return Better::erode ? __vimin3_u16x2(a, b, c) : __vimax3_u16x2(a, b, c);
    }
};

/// One word, compared with plain integer instructions.
template <class Better>
struct QuadLanes {
    Word bytes;

    __device__ static QuadLanes of(Word bytes) { return {bytes}; }
    __device__ static QuadLanes best(QuadLanes a, QuadLanes b) {
        const Word mask = above(a.bytes, b.bytes);
        return Better::erode ? QuadLanes{(b.bytes & mask) | (a.bytes & ~mask)}
                             : QuadLanes{(a.bytes & mask) | (b.bytes & ~mask)};
    }
    __device__ static QuadLanes best(QuadLanes a, QuadLanes b, QuadLanes c) {
        return best(best(a, b), c);
    }

    __device__ static void transpose(const QuadLanes (&v)[4], Word (&column)[4]) {
        const Word low01 = __byte_perm(v[0].bytes, v[1].bytes, 0x5140);
        const Word high01 = __byte_perm(v[0].bytes, v[1].bytes, 0x7362);
        const Word low23 = __byte_perm(v[2].bytes, v[3].bytes, 0x5140);
        const Word high23 = __byte_perm(v[2].bytes, v[3].bytes, 0x7362);
        column[0] = __byte_perm(low01, low23, 0x5410);
        column[1] = __byte_perm(low01, low23, 0x7632);
        column[2] = __byte_perm(high01, high23, 0x5410);
        column[3] = __byte_perm(high01, high23, 0x7632);
    }

  private:
    /// 255 in every byte where a > b.
    __device__ static Word above(Word a, Word b) {
        // (a + 255 - b) / 2, whose highest bit says so.
        const Word c = ~b;
        return sign_mask((a & c) + (((a ^ c) >> 1) & 0x7F7F7F7Fu));
    }
};

template <class Better>
using Lanes = std::conditional_t<has_pairs, PairLanes<Better>, QuadLanes<Better>>;

// ---- the sliding window ------------------------------------------------------------------
// A walk names the elements of a line relative to a place: word(k) is the k-th, and advance4()
// moves the place by four. k is a constant wherever it is used, so that every address is a
// register plus a constant.

/// Elements at even distances in memory.
template <int stride>
struct StraightWalk {
    const Word *place;
    __device__ Word word(int k) const { return place[k * stride]; }
    __device__ void advance4() { place += 4 * stride; }
};

/// Every step-th column of the transposed tile, where every fourth lies in the same plane. The
/// place is `phase` columns after a multiple of four.
template <int phase, int step, int plane, int stride>
struct TransposedWalk {
    const Word *place;
    __device__ Word word(int k) const {
        const int column = step * k + phase;
        return place[(column & 3) * plane + (column >> 2) * stride];
    }
    __device__ void advance4() { place += step * stride; }
};

/// What the compiler knows of the radii: that both are `value`, or, where that
/// is 0, the last two bits of the horizontal one.
template <int value_, int rest_ = value_ % 4>
struct Radius {
    static constexpr int value = value_, rest = rest_;
};

/// Invariant: v[k] is the best of the `reach` elements from k on. Grows reach
/// threefold at a time to window.
template <int reach, int window, class L, int count>
__device__ __forceinline__ void grow(L (&v)[count]) {
    if constexpr (reach < window) {
        constexpr int next = 3 * reach < window ? 3 * reach : window;
        constexpr int last =
            next - reach; // where the last piece that covers `next` elements starts
#pragma unroll
        for (int k = 0; k + next <= count; ++k)
            v[k] = last <= reach ? L::best(v[k], v[k + last])
                                 : L::best(v[k], v[k + reach], v[k + last]);
        grow<next, window>(v);
    }
}

/// out[k] = best of start.word(k) ... start.word(k + 2 radius), all of them in registers.
template <int radius, class L, int run, class Walk>
__device__ __forceinline__ void slide_short(L (&out)[run], Walk start) {
    L v[run + 2 * radius];
#pragma unroll
    for (int k = 0; k < run + 2 * radius; ++k)
        v[k] = L::of(start.word(k));
    grow<1, 2 * radius + 1>(v);
#pragma unroll
    for (int k = 0; k < run; ++k)
        out[k] = v[k];
}

/// The same for any radius with 2 radius >= run: the windows share a core of
/// elements run - 1 ... 2 radius. `end` stands 2 radius elements behind start.
/// out may be part of a longer run, from `first` on.
template <int first, int run, class L, int all, class StartWalk, class EndWalk>
__device__ __forceinline__ void slide_long(L (&out)[all], int radius, StartWalk start,
                                           EndWalk end) {
    static_assert(run % 2 == 0, "the core then has an even number of elements");
    StartWalk walk = start;
    L core = L::best(L::of(walk.word(first + run - 1)), L::of(walk.word(first + run)));
    int left = 2 * radius - run; // elements of the core that are still to come, always even
#pragma unroll 2
    for (; left >= 4; left -= 4) {
        core = L::best(core, L::of(walk.word(first + run + 1)), L::of(walk.word(first + run + 2)));
        core = L::best(core, L::of(walk.word(first + run + 3)), L::of(walk.word(first + run + 4)));
        walk.advance4();
    }
    if (left > 0)
        core = L::best(core, L::of(walk.word(first + run + 1)), L::of(walk.word(first + run + 2)));
    out[first] = core;
#pragma unroll
    for (int k = 1; k < run; ++k)
        out[first + k] = L::best(out[first + k - 1], L::of(end.word(first + k)));
    // Now the elements before the core, two at a time, from the core outwards.
    L before = L::of(start.word(first + run - 2));
    out[first + run - 2] = L::best(out[first + run - 2], before);
#pragma unroll
    for (int k = run - 3; k > 0; k -= 2) {
        const L near = L::of(start.word(first + k)), far = L::of(start.word(first + k - 1));
        out[first + k] = L::best(out[first + k], before, near);
        before = L::best(before, near, far);
        out[first + k - 1] = L::best(out[first + k - 1], before);
    }
}

template <class R, class L, int run, class StartWalk, class EndWalk>
__device__ __forceinline__ void slide(L (&out)[run], int radius, StartWalk start, EndWalk end) {
    if constexpr (R::value == 0 || 2 * R::value >= run) {
        slide_long<0, run>(out, radius, start, end);
    } else if constexpr (2 * R::value >= run / 2 && run >= 8) {
        slide_long<0, run / 2>(out, radius, start, end);
        slide_long<run / 2, run / 2>(out, radius, start, end);
    } else {
        slide_short<R::value>(out, start);
    }
}

// ---- the kernel --------------------------------------------------------------------------

/// Bytes of a row are counted from a 16-byte boundary of the source, where there is one at the same
/// distance before each row; then the image begins at byte `begin`. Where there is none, because
/// the stride is no multiple of 16, or where pixels of four bytes would begin between multiples of
/// four, the source is uneven, and begin is 0.
struct TileJob {
    Rows src, dst;
    Rows alpha;     ///< of an image of four channels, whose fourth replaces the result's; or null
    int begin, end; ///< bytes of a row that are the image's
    int rows;
    int radius_x, radius_y;
    int advance; ///< bytes of a row from the output of one tile to that of the next
    Word border; ///< four samples from outside the image
};

__host__ __device__ inline bool aligned16(const Rows &r) {
    return (reinterpret_cast<std::uintptr_t>(r.data) | static_cast<std::uintptr_t>(r.stride)) %
               16 ==
           0;
}

/// The rows with their bytes counted from `begin` bytes before.
inline Rows moved(const Rows &r, int begin) {
    return r.data ? Rows{r.data - begin, r.stride} : r;
}

/// What to count the bytes of a source from, so that they are aligned if they can be. Pixels of
/// four bytes then begin at multiples of four.
inline int row_begin(const Rows &r, int step) {
    const int begin = static_cast<int>(reinterpret_cast<std::uintptr_t>(r.data) % 16);
    return r.stride % 16 || (step == 4 && begin % 4) ? 0 : begin;
}

/// How far byte x of row y lies behind a 16-byte boundary.
__device__ __forceinline__ int behind_boundary(const Rows &r, int x, int y) {
    return static_cast<int>((static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(r.data)) +
                             static_cast<unsigned>(y) * static_cast<unsigned>(r.stride) +
                             static_cast<unsigned>(x)) %
                            16);
}

/// Rows y0 ... y1 - 1 of which a chunk of 16 aligned bytes, from byte x on, can be copied.
struct CopiedRows {
    int y0, y1;

    /// A chunk that is the image's only in part is copied as a whole: the rest is padding, or
    /// belongs to the rows before and after, except at the two ends of the image.
    __device__ __forceinline__ CopiedRows(int x, int begin, int end, int rows)
        : y0(x < begin ? 1 : 0), y1(x + 16 > end ? rows - 1 : rows) {
        if (x <= begin - 16 || x >= end)
            y1 = y0;
    }
};

/// A word whose bits from n on are set.
__device__ __forceinline__ Word ones_from(int n) {
    return __funnelshift_lc(0u, ~0u, max(n, 0));
}

template <int words>
struct alignas(4 * words) Block {
    Word word[words];
};

using Chunk = Block<4>;

/// The 16 bytes that begin `shift` bytes behind the beginning of two chunks.
__device__ __forceinline__ Chunk joined(const Chunk &a, const Chunk &b, int shift) {
    Word words[8];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        words[i] = a.word[i];
        words[4 + i] = b.word[i];
    }
#pragma unroll
    for (int i = 0; i < 6; ++i)
        words[i] = shift & 8 ? words[i + 2] : words[i];
#pragma unroll
    for (int i = 0; i < 5; ++i)
        words[i] = shift & 4 ? words[i + 1] : words[i];
    Chunk result;
#pragma unroll
    for (int i = 0; i < 4; ++i)
        result.word[i] = __funnelshift_r(words[i], words[i + 1], 8 * (shift & 3));
    return result;
}

/// A tile of `columns` words with its halo and `rows` rows without. In the second pass a thread
/// makes `run` pixels of `step` channels, and a warp takes `quads` quad rows (of 4 rows) times
/// 32 / quads runs: the fewer quads, the longer its stores.
template <int columns_, int rows_, int step_, int run_, int quads_, int min_blocks_>
struct Shape {
    static constexpr int columns = columns_, rows = rows_, step = step_, run = run_;
    static constexpr int quads = quads_, min_blocks = min_blocks_;
    static constexpr int down = 16; ///< rows that a thread makes in the first pass
    static constexpr int threads = columns * rows / down;
    static constexpr int quad_rows = rows / 4;
    static constexpr int run_words = run * step / 4;
    /// One chunk more than the tile, because rows of results are read from any byte on.
    static constexpr int tile_stride = columns + 4;
    /// Words between neighbouring columns of the transposed tile. The padding spreads over the
    /// banks what a warp reads: `quads` neighbouring words at 32 / quads places, run_words columns
    /// apart.
    static constexpr int stride = quad_rows + (run_words % 4 == 0 ? 1 : 2);
    static_assert(quad_rows % 8 == 0 && quads == 4 && (run_words % 4 == 0 || run_words == 6),
                  "the padding was chosen for these");
    static constexpr int plane = columns * stride;
    /// Words after which runs and 16-byte chunks begin together.
    static constexpr int unit = run_words % 4 == 0 ? run_words : 2 * run_words;

    /// Words before and after the results. Aligned sources are loaded from a boundary on.
    __host__ __device__ static constexpr int halo(int radius_x, bool source_aligned) {
        const int bytes = radius_x * step;
        return source_aligned ? (bytes + 15) / 16 * 4 : (bytes + 3) / 4;
    }
    __host__ __device__ static constexpr int output_words(int radius_x, bool source_aligned) {
        return (columns - 2 * halo(radius_x, source_aligned)) / unit * unit;
    }
    /// Targets of any alignment are written chunk by chunk, the last of which ends up to 15 bytes
    /// behind the tile's own part.
    static constexpr int advance(int radius_x, bool source_aligned, bool target_aligned) {
        return 4 * (output_words(radius_x, source_aligned) - (target_aligned ? 0 : unit));
    }
    static constexpr std::size_t shared_bytes(int radius_y) {
        const int tile = (rows + 2 * radius_y) * tile_stride, transposed = 4 * plane;
        return sizeof(Word) * static_cast<std::size_t>(tile > transposed ? tile : transposed);
    }
};

template <class Better, class S, class R>
struct Tile {
    static constexpr int threads = S::threads, min_blocks = S::min_blocks;
    using Job = TileJob;
    using L = Lanes<Better>;

    __device__ static void run(const Job &job) {
        Word *tile = shared_memory<Word>();
        const int radius_x = R::value ? R::value : job.radius_x;
        const int radius_y = R::value ? R::value : job.radius_y;
        const bool source_aligned = aligned16(job.src);
        const int halo = S::halo(radius_x, source_aligned);
        const int output_words = S::output_words(radius_x, source_aligned);
        const int left = blockIdx.x * job.advance; // the first byte of the output
        const int top = blockIdx.y * S::rows;

        load(job, S::rows + 2 * radius_y, left - 4 * halo, top - radius_y, tile);

        {
            L run[S::down];
            const int column = threadIdx.x % S::columns;
            const int first = threadIdx.x / S::columns * S::down;
            using Walk = StraightWalk<S::tile_stride>;
            const Walk start{tile + first * S::tile_stride + column};
            slide<R>(run, radius_y, start, Walk{start.place + 2 * radius_y * S::tile_stride});
            Word transposed[4][S::down / 4];
#pragma unroll
            for (int q = 0; q < S::down / 4; ++q) {
                Word columns[4];
                const L four[4] = {run[4 * q], run[4 * q + 1], run[4 * q + 2], run[4 * q + 3]};
                L::transpose(four, columns);
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    transposed[i][q] = columns[i];
            }
            __syncthreads(); // the transposed tile replaces the loaded one
            put_transposed(transposed, tile + column * S::stride + first / 4);
        }
        __syncthreads();

        constexpr int bands = S::quad_rows / S::quads;
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const int quad_row = warp % bands * S::quads + lane % S::quads;
        const int first = (warp / bands * (32 / S::quads) + lane / S::quads) * S::run_words;
        const int x = left + 4 * first, y = top + 4 * quad_row;
        const bool mine = first < output_words && x < job.end && x + 4 * S::run_words > job.begin;
        Word result[4][S::run_words];
        if (mine)
            slide_across(tile + (halo + first) * S::stride + quad_row, radius_x, result);

        // No run reaches over the border.
        const bool whole =
            (left >= job.begin || job.begin == 0) &&
            (left + 4 * output_words <= job.end || (job.end - left) % (4 * S::run_words) == 0);
        if (whole && aligned16(job.dst)) {
            if (mine)
                store(job, result, x, y);
            return;
        }
        __syncthreads(); // the transposed tile is no longer needed: the results take its place, row
                         // by row
        if (mine)
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int q = 0; q < S::run_words; ++q)
                    staged_row(tile, 4 * quad_row + i)[first + q] = result[i][q];
        __syncthreads();
        store_anywhere(job, tile, left, 4 * output_words, top);
    }

  private:
    __device__ __forceinline__ static void load(const Job &job, int rows, int left, int top,
                                                Word *tile) {
        if (!aligned16(job.src)) {
            if (left >= 16 && left + 4 * S::columns + 16 <= job.end && top >= 0 &&
                top + rows <= job.rows)
                return load_uneven<true>(job, rows, left, top, tile);
            return load_uneven<false>(job, rows, left, top, tile);
        }
        constexpr int chunks = S::columns / 4, rows_at_once = S::threads / chunks;
        const int chunk = threadIdx.x % chunks, first = threadIdx.x / chunks;
        const int x = left + 16 * chunk;
        Word *slot = tile + first * S::tile_stride + 4 * chunk;
        const std::byte *from = job.src.data + (top + first) * job.src.stride + x;
        const std::int64_t step = rows_at_once * job.src.stride;
        if (left >= job.begin && left + 4 * S::columns <= job.end && top >= 0 &&
            top + rows <= job.rows) {
#pragma unroll 4
            for (int row = first; row < rows; row += rows_at_once) {
                copy_async(slot, from);
                from += step;
                slot += rows_at_once * S::tile_stride;
            }
            wait_for_copies();
            __syncthreads();
            return;
        }
        const CopiedRows copied(x, job.begin, job.end, job.rows);
        const int row0 = copied.y0 - top, row1 = copied.y1 - top;
#pragma unroll 2
        for (int row = first; row < rows; row += rows_at_once) {
            if (row >= row0 && row < row1)
                copy_async(slot, from);
            else
                set_border(job, slot);
            from += step;
            slot += rows_at_once * S::tile_stride;
        }
        wait_for_copies();
        __syncthreads();
        if ((left < job.begin && job.begin > 0) ||
            (left + 4 * S::columns > job.end && job.end % 16 > 0)) {
            set_ends(job, rows, left, top, tile);
            __syncthreads();
        }
    }

    __device__ __forceinline__ static void set_border(const Job &job, Word *slot) {
        *reinterpret_cast<uint4 *>(slot) =
            make_uint4(job.border, job.border, job.border, job.border);
    }

    /// Rows that start anywhere: a thread loads the chunk on the boundary before its place, and
    /// puts together what belongs there from that and its neighbour's, the next thread's.
    template <bool inside>
    __device__ __noinline__ static void load_uneven(const Job &job, int rows, int left, int top,
                                                    Word *tile) {
        constexpr int chunks = S::columns / 4, rows_at_once = S::threads / chunks;
        static_assert(chunks == 16 || chunks == 32, "a row is one or half a warp");
        constexpr int batch = 2; // rows that a thread has under way
        const int first = threadIdx.x / chunks, chunk = threadIdx.x % chunks;
        const bool last = chunk == chunks - 1; // of a row: it has no neighbour
        const int x = left + 16 * chunk;
        const std::byte *from = job.src.data + (top + first) * job.src.stride + x;
        const std::int64_t step = rows_at_once * job.src.stride;
        Word *slot = tile + first * S::tile_stride + 4 * chunk;
        // As often for every thread: whoever has no row any more still takes part in the shuffles.
#pragma unroll 1
        for (int row = first; row - first < rows; row += batch * rows_at_once) {
            Chunk own[batch], next[batch];
            int shift[batch];
#pragma unroll
            for (int i = 0; i < batch; ++i, from += step) {
                const int y = top + row + i * rows_at_once;
                shift[i] = static_cast<int>(reinterpret_cast<std::uintptr_t>(from) % 16);
                own[i] = next[i] = {};
                if (row + i * rows_at_once < rows) {
                    load_chunk<inside>(job, own[i], from - shift[i], x - shift[i], y);
                    if (last)
                        load_chunk<inside>(job, next[i], from - shift[i] + 16, x - shift[i] + 16,
                                           y);
                }
            }
#pragma unroll
            for (int i = 0; i < batch; ++i, slot += rows_at_once * S::tile_stride) {
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    const Word neighbour = __shfl_down_sync(~0u, own[i].word[j], 1, chunks);
                    next[i].word[j] = last ? next[i].word[j] : neighbour;
                }
                Chunk result = joined(own[i], next[i], shift[i]);
                const int y = top + row + i * rows_at_once;
                if (!inside)
                    set_outside(job, result, x, y >= 0 && y < job.rows ? job.end : 0);
                if (row + i * rows_at_once < rows)
                    *reinterpret_cast<Chunk *>(slot) = result;
            }
        }
        __syncthreads();
        if (!inside && (top <= 0 || top + rows >= job.rows)) {
            set_corners(job, rows, left, top, tile);
            __syncthreads();
        }
    }

    /// Byte x of row y is on a boundary. inside: surely of the image.
    template <bool inside>
    __device__ __forceinline__ static void load_chunk(const Job &job, Chunk &chunk,
                                                      const std::byte *from, int x, int y) {
        const CopiedRows copied(x, 0, job.end, job.rows);
        if (inside || (y >= copied.y0 && y < copied.y1))
            chunk = *reinterpret_cast<const Chunk *>(from);
    }

    /// Sets what of the chunk at byte x is outside the image.
    __device__ __forceinline__ static void set_outside(const Job &job, Chunk &chunk, int x,
                                                       int end) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int at = x + 4 * i;
            const Word kept = ones_from(-8 * at) & ~ones_from(8 * (end - at));
            chunk.word[i] = (chunk.word[i] & kept) | (job.border & ~kept);
        }
    }

    /// Sets the bytes at the two ends of the image, which no chunk brings, because nothing beside
    /// the image may be read. A thread a byte.
    __device__ __forceinline__ static void set_corners(const Job &job, int rows, int left, int top,
                                                       Word *tile) {
        const int i = threadIdx.x;
        const int y = i < 16 ? 0 : job.rows - 1, x = i < 16 ? i : job.end - 32 + i;
        const int row = y - top, at = x - left;
        if (i < 32 && row >= 0 && row < rows && x >= 0 && x < job.end && at >= 0 &&
            at < 4 * S::columns)
            reinterpret_cast<std::uint8_t *>(tile + row * S::tile_stride)[at] =
                job.src.row<std::uint8_t>(y)[x];
    }

    /// Sets what chunks at the ends of the image's rows left wrong, which are its own in part:
    /// bytes outside, and, where they were not copied, inside. A thread a row.
    __device__ __forceinline__ static void set_ends(const Job &job, int rows, int left, int top,
                                                    Word *tile) {
        for (int row = threadIdx.x; row < rows; row += S::threads) {
            const int y = top + row;
            if (y < 0 || y >= job.rows)
                continue;
            Word *words = tile + row * S::tile_stride;
            const int last = job.end & ~15;
            set_words(job, y, left, 0, 16, words);
            set_words(job, y, left, max(last, 16), last + 16, words);
        }
    }

    /// Bytes x0 ... x1 - 1 of row y.
    __device__ __forceinline__ static void set_words(const Job &job, int y, int left, int x0,
                                                     int x1, Word *words) {
        const bool exposed = y == 0 || y == job.rows - 1;
        x1 = min(x1, left + 4 * S::columns);
#pragma unroll 1
        for (int x = max(x0, left); x < x1; x += 4) {
            Word word = words[(x - left) / 4];
            const Word kept = ones_from(8 * (job.begin - x)) & ~ones_from(8 * (job.end - x));
            if (exposed && kept) {
                const std::uint8_t *from = job.src.row<std::uint8_t>(y);
                word = 0;
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    if (x + i >= job.begin && x + i < job.end)
                        word |= static_cast<Word>(from[x + i]) << 8 * i;
            }
            words[(x - left) / 4] = (word & kept) | (job.border & ~kept);
        }
    }

    /// Writes what a thread made in the first pass; byte column i of its four goes to plane i.
    __device__ __forceinline__ static void put_transposed(const Word (&transposed)[4][S::down / 4],
                                                          Word *to) {
        constexpr int vector = S::stride % 2 == 0 ? 2 : 1;
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int q = 0; q < S::down / 4; q += vector) {
                Block<vector> block;
#pragma unroll
                for (int j = 0; j < vector; ++j)
                    block.word[j] = transposed[i][q + j];
                *reinterpret_cast<Block<vector> *>(to + i * S::plane + q) = block;
            }
    }

    /// result[i] = a run of row i of the quad row. centre: the first of its columns.
    __device__ __forceinline__ static void slide_across(const Word *centre, int radius,
                                                        Word (&result)[4][S::run_words]) {
        L run[S::step][S::run];
        const Word *left = centre - radius / 4 * S::step * S::stride;
        const Word *right = centre + radius / 4 * S::step * S::stride;
        slide_channels<0>(run, radius, left, right);
#pragma unroll
        for (int q = 0; q < S::run_words; ++q) {
            L four[4];
#pragma unroll
            for (int i = 0; i < 4; ++i)
                four[i] = run[(4 * q + i) % S::step][(4 * q + i) / S::step];
            Word rows[4];
            L::transpose(four, rows);
#pragma unroll
            for (int i = 0; i < 4; ++i)
                result[i][q] = rows[i];
        }
    }

    template <int channel>
    __device__ __forceinline__ static void slide_channels(L (&run)[S::step][S::run], int radius,
                                                          const Word *left, const Word *right) {
        if constexpr (channel < S::step) {
            constexpr int shift = R::rest * S::step;
            using LeftWalk = TransposedWalk<channel - shift, S::step, S::plane, S::stride>;
            using RightWalk = TransposedWalk<channel + shift, S::step, S::plane, S::stride>;
            if constexpr (channel < 3)
                slide<R>(run[channel], radius, LeftWalk{left}, RightWalk{right});
            else // is replaced on the way out
#pragma unroll
                for (L &pixel : run[channel])
                    pixel = L::of(0);
            slide_channels<channel + 1>(run, radius, left, right);
        }
    }

    __device__ __forceinline__ static void store(const Job &job, Word (&result)[4][S::run_words],
                                                 int x, int y) {
        using Vector = Block<S::run_words % 4 == 0 ? 4 : 2>;
        constexpr int length = sizeof(Vector) / sizeof(Word);
        const bool alpha_aligned = S::step == 4 && job.alpha.data && aligned16(job.alpha);
#pragma unroll
        for (int i = 0; i < 4; ++i)
            if (y + i < job.rows) {
#pragma unroll
                for (int q = 0; q < S::run_words; q += length) {
                    const int at = x + 4 * q;
                    Vector vector, alpha;
                    if (alpha_aligned)
                        alpha =
                            *reinterpret_cast<const Vector *>(job.alpha.row<std::byte>(y + i) + at);
#pragma unroll
                    for (int j = 0; j < length; ++j)
                        vector.word[j] = alpha_aligned
                                             ? __byte_perm(result[i][q + j], alpha.word[j], 0x7210)
                                             : with_alpha(job, result[i][q + j], at + 4 * j, y + i);
                    *reinterpret_cast<Vector *>(job.dst.row<std::byte>(y + i) + at) = vector;
                }
            }
    }

    /// Four bytes from byte x on, at any byte of a pixel; a pixel of four channels keeps its alpha.
    __device__ __forceinline__ static Word with_alpha(const Job &job, Word bytes, int x, int y) {
        if (S::step != 4 || !job.alpha.data)
            return bytes;
        const int at = (3 - x) & 3;
        const Word alpha = job.alpha.row<std::uint8_t>(y)[x + at];
        return (bytes & ~(255u << 8 * at)) | alpha << 8 * at;
    }

    /// Where a row of results waits: the quad rows that a warp writes at once begin in neighbouring
    /// banks.
    __device__ __forceinline__ static Word *staged_row(Word *tile, int row) {
        return tile + row * S::tile_stride + row / 4 % S::quads;
    }

    /// Rows of results from shared to global memory, of any width and alignment. A tile writes the
    /// chunks of 16 aligned bytes that begin in its part of the row; so only those at the ends of
    /// the row are written byte by byte.
    __device__ __noinline__ static void store_anywhere(const Job &job, Word *tile, int left,
                                                       int bytes, int top) {
        static_assert(S::columns <= 128, "a lane a chunk");
        constexpr int lanes = S::columns <= 64 ? 16 : 32, rows_at_once = S::threads / lanes;
        const int lane = threadIdx.x % lanes;
        const int start = max(job.begin - left, 0); // of the image in this tile
        bytes = min(bytes, job.end - left);
#pragma unroll 2
        for (int row = threadIdx.x / lanes; row < S::rows && top + row < job.rows;
             row += rows_at_once) {
            std::uint8_t *to = job.dst.row<std::uint8_t>(top + row) + left;
            const Word *words = staged_row(tile, row);
            const int lead = -behind_boundary(job.dst, left, top + row) & 15;
            const int end = min(bytes, job.advance + lead);
            const int at = lead + 16 * lane;
            if (at >= start && at + 16 <= end) {
                Block<4> block;
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const Word *from = words + at / 4 + i;
                    block.word[i] = with_alpha(job, __funnelshift_r(from[0], from[1], 8 * (at % 4)),
                                               left + at + 4 * i, top + row);
                }
                *reinterpret_cast<Block<4> *>(to + at) = block;
            }
            const int head = start <= lead ? lead : lead + 16; // where the first whole chunk begins
            if (left == 0)
                store_byte(job, words, start + lane, min(head, end), left, top + row);
            if (left + end == job.end && end > head)
                store_byte(job, words, end - (end - lead) % 16 + lane, end, left, top + row);
        }
    }

    __device__ __forceinline__ static void store_byte(const Job &job, const Word *words, int at,
                                                      int end, int left, int y) {
        if (at >= end)
            return;
        const Rows &from = job.alpha;
        const bool alpha = S::step == 4 && from.data && (left + at) % 4 == 3;
        job.dst.row<std::uint8_t>(y)[left + at] =
            alpha ? from.row<std::uint8_t>(y)[left + at]
                  : static_cast<std::uint8_t>(words[at / 4] >> 8 * (at % 4));
    }
};

} // namespace gpv::cuda::erode
