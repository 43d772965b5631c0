// SPDX-License-Identifier: BSD-2-Clause
// Erosion and dilation of a binary image by a rectangle, from bytes to bytes of
// 0 or 255 in one kernel. As in erode/tile.cuh a block owns a tile, but a word
// holds 32 pixels as bits, and the minimum of bits is AND. A dilation is the
// erosion of the complement.
#pragma once

#include "cuda/erode/tile.cuh"

namespace gpv::cuda::erode {

/// Pixels are counted as TileJob counts bytes.
struct BitJob {
    Rows src, dst;
    int begin, end; ///< pixels of a row that are the image's
    int rows;
    int radius_x, radius_y;
    int advance;  ///< pixels from the output of one tile to that of the next
    Word addend;  ///< four times 256 - threshold
    Word flip;    ///< ~0: dilate
    Word outside; ///< bits outside the image, after the flip
};

/// 32 pixels as bits.
struct BitLanes {
    Word bits;

    __device__ static BitLanes of(Word bits) { return {bits}; }
    __device__ static BitLanes best(BitLanes a, BitLanes b) { return {a.bits & b.bits}; }
    __device__ static BitLanes best(BitLanes a, BitLanes b, BitLanes c) {
        return {a.bits & b.bits & c.bits};
    }
};

/// 8 bits, the byte of `bits` that selector names four times, to 8 bytes of 0 or 255.
__device__ __forceinline__ void unpack_bits(Word bits, Word selector, Word &low, Word &high) {
    const Word copies = __byte_perm(bits, 0, selector);
    // Carries into the highest bit of the byte where its bit is set.
    low = sign_mask((copies & 0x08040201u) + 0x787C7E7Fu);
    high = sign_mask((copies & 0x80402010u) + 0x00406070u);
}

/// Bit j of the result: AND of bits j - radius ... j + radius of `centre` with
/// its two neighbours; radius <= 31.
__device__ __forceinline__ Word erode_bits(Word left, Word centre, Word right, int radius) {
    // y2:y1:y0 is right:centre:left moved so that bit j of y0 is pixel j - radius; each step
    // doubles what a bit stands for.
    Word y0 = __funnelshift_l(left, centre, radius), y1 = __funnelshift_l(centre, right, radius);
    Word y2 = __funnelshift_l(right, 0u, radius);
    const int window = 2 * radius + 1;
    int reach = 1;
    for (; 2 * reach <= window; reach *= 2) {
        y0 &= __funnelshift_r(y0, y1, reach);
        y1 &= __funnelshift_r(y1, y2, reach);
        y2 &= y2 >> reach;
    }
    return y0 & __funnelshift_r(y0, y1, window - reach);
}

/// A tile is 16 words (512 pixels) wide, of which 14 are results, and makes
/// `rows` rows. A warp has `batch` rows under way at once.
template <int rows_, int threads_, int batch_, int min_blocks_>
struct BitShape {
    static constexpr int rows = rows_, threads = threads_, warps = threads / 32, batch = batch_;
    static constexpr int min_blocks = min_blocks_;
    static constexpr int words = 16;
    static constexpr int margin = 32; ///< pixels on either side of the results
    static constexpr int output_pixels = 32 * words - 2 * margin;
    static constexpr int run = 4; ///< rows that a thread makes in the vertical pass
    static constexpr int max_radius_x = 31, max_radius_y = 63;
    static_assert(rows * words / run <= threads, "one vertical task a thread at most");

    /// Uneven sources leave up to 15 pixels at the end of a tile without a value. Targets of any
    /// alignment are written 16 bytes at a time, the last of which may end that far behind the
    /// tile's own part.
    static constexpr int advance(bool source_aligned, bool target_aligned) {
        return output_pixels - (source_aligned ? 0 : 16) - (target_aligned ? 0 : 16);
    }

    /// The loaded rows, then the eroded ones with a spare row before and after them.
    static constexpr std::size_t shared_bytes(int radius_y) {
        return sizeof(Word) * words * static_cast<std::size_t>(rows + 2 * radius_y + rows + 2);
    }
};

template <class S>
struct BitTile {
    static constexpr int threads = S::threads, min_blocks = S::min_blocks;
    using Job = BitJob;

    __device__ static void run(const Job &job) {
        Word *bits = shared_memory<Word>();
        // The outermost words of a row, which are no results, look at what lies beside them.
        Word *eroded = bits + (S::rows + 2 * job.radius_y + 1) * S::words;
        const int left = blockIdx.x * job.advance - S::margin, top = blockIdx.y * S::rows;
        auto *halves = reinterpret_cast<std::uint16_t *>(bits);
        const int y = top - job.radius_y, rows = S::rows + 2 * job.radius_y;
        if (aligned16(job.src))
            load(job, rows, left, y, halves);
        else
            load_uneven(job, rows, left, y, halves);
        __syncthreads();
        erode_down(job, bits, eroded);
        __syncthreads();
        if (aligned16(job.dst))
            erode_across<true>(job, eroded, left, top);
        else
            erode_across<false>(job, eroded, left, top);
    }

  private:
    static constexpr Word all = 0xFFFFFFFFu;

    /// A warp a row, 16 pixels a lane.
    __device__ __forceinline__ static void load(const Job &job, int rows, int left, int top,
                                                std::uint16_t *bits) {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, x = left + 16 * lane;
        const CopiedRows copied(x, job.begin, job.end, job.rows);
        const int row0 = copied.y0 - top, row1 = min(copied.y1 - top, rows);
        const Word kept = ones_from(job.begin - x) & ~ones_from(job.end - x);
        const std::byte *from = job.src.data + (top + warp) * job.src.stride + x;
        const std::int64_t step = S::warps * job.src.stride;
        std::uint16_t *to = bits + warp * 32 + lane;
        for (int first = warp; first < rows; first += S::warps * S::batch) {
            uint4 chunk[S::batch];
#pragma unroll
            for (int i = 0; i < S::batch; ++i, from += step) {
                const int row = first + i * S::warps;
                chunk[i] = make_uint4(0, 0, 0, 0);
                if (row >= row0 && row < row1)
                    chunk[i] = *reinterpret_cast<const uint4 *>(from);
            }
#pragma unroll
            for (int i = 0; i < S::batch; ++i, to += S::warps * 32) {
                const int row = first + i * S::warps;
                const Word inner = row >= row0 && row < row1 ? kept : 0u;
                const Word packed =
                    ((pack_bits(chunk[i], job.addend) ^ job.flip) & inner) | (job.outside & ~inner);
                if (row < rows)
                    *to = static_cast<std::uint16_t>(packed);
            }
        }
        // What could not be copied: the ends of the first and of the last row.
        const auto set_end = [&](int row, bool partly) {
            if (partly && row >= 0 && row < rows && warp == row % S::warps)
                bits[row * 32 + lane] = single_pixels(job, x, top + row);
        };
        set_end(-top, x < job.begin && x > job.begin - 16);
        set_end(job.rows - 1 - top, x < job.end && x + 16 > job.end);
    }

    /// Rows that start anywhere are packed from the boundary before, then moved as bits together
    /// with the next lane's.
    __device__ __noinline__ static void load_uneven(const Job &job, int rows, int left, int top,
                                                    std::uint16_t *bits) {
        constexpr int batch = 4;
        const int lane = threadIdx.x % 32;
        for (int first = threadIdx.x / 32; first < rows; first += S::warps * batch) {
            uint4 chunk[batch];
            int shift[batch];
#pragma unroll
            for (int i = 0; i < batch; ++i) {
                const int y = top + first + i * S::warps;
                shift[i] = behind_boundary(job.src, left, y);
                const int x = left + 16 * lane - shift[i];
                const CopiedRows copied(x, 0, job.end, job.rows);
                if (y >= copied.y0 && y < copied.y1)
                    chunk[i] = *reinterpret_cast<const uint4 *>(job.src.row<std::byte>(y) + x);
            }
#pragma unroll
            for (int i = 0; i < batch; ++i) {
                const int row = first + i * S::warps, y = top + row;
                const int x = left + 16 * lane - shift[i];
                const CopiedRows copied(x, 0, job.end, job.rows);
                Word packed = job.outside & 0xFFFFu;
                if (y >= copied.y0 && y < copied.y1) {
                    const Word kept = ones_from(-x) & ~ones_from(job.end - x);
                    packed = (((pack_bits(chunk[i], job.addend) ^ job.flip) & kept) |
                              (job.outside & ~kept)) &
                             0xFFFFu;
                } else if (y >= 0 && y < job.rows && x > -16 && x < job.end) {
                    packed = single_pixels(job, x, y);
                }
                packed = (packed | __shfl_sync(all, packed, (lane + 1) & 31) << 16) >> shift[i];
                if (row < rows)
                    bits[row * 32 + lane] = static_cast<std::uint16_t>(packed);
            }
        }
    }

    /// 16 pixels of which only those inside the image may be read.
    __device__ __forceinline__ static std::uint16_t single_pixels(const Job &job, int x, int y) {
        const std::uint8_t *row = job.src.row<std::uint8_t>(y);
        const int threshold = 256 - static_cast<int>(job.addend & 255u);
        Word packed = job.outside;
#pragma unroll 1
        for (int i = max(job.begin - x, 0); i < min(job.end - x, 16); ++i) {
            const Word bit = (row[x + i] >= threshold ? 1u : 0u) ^ (job.flip & 1u);
            packed = (packed & ~(1u << i)) | bit << i;
        }
        return static_cast<std::uint16_t>(packed);
    }

    /// eroded[row][word] = AND of rows row ... row + 2 radius of the loaded ones.
    __device__ __forceinline__ static void erode_down(const Job &job, const Word *bits,
                                                      Word *eroded) {
        if (threadIdx.x >= S::rows * S::words / S::run)
            return;
        const int column = threadIdx.x % S::words, first = threadIdx.x / S::words * S::run;
        using Walk = StraightWalk<S::words>;
        const Walk start{bits + first * S::words + column};
        const int radius = job.radius_y;
        BitLanes run[S::run];
        if (2 * radius >= S::run) {
            slide_long<0, S::run>(run, radius, start, Walk{start.place + 2 * radius * S::words});
        } else {
#pragma unroll
            for (int k = 0; k < S::run; ++k) {
                run[k] = BitLanes::of(start.word(k));
                for (int i = 1; i <= 2 * radius; ++i)
                    run[k] = BitLanes::best(run[k], BitLanes::of(start.word(k + i)));
            }
        }
#pragma unroll
        for (int k = 0; k < S::run; ++k)
            eroded[(first + k) * S::words + column] = run[k].bits;
    }

    /// The horizontal pass and the way back to bytes. A warp takes two rows at a time: lane = (row,
    /// word) for the pass, then 16 pixels of each row in turn, from a 16-byte boundary of the
    /// target on. A tile writes the chunks that begin in its part of the row; those at the ends of
    /// the row are written byte by byte.
    template <bool aligned>
    __device__ __forceinline__ static void erode_across(const Job &job, const Word *eroded,
                                                        int left, int top) {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const int start = max(job.begin - left, S::margin); // of the image in this tile
        const int border = job.end - left;
        auto *row = reinterpret_cast<std::uint8_t *>(job.dst.data) +
                    (top + 2 * warp) * job.dst.stride + left;
#pragma unroll 2
        for (int rows = 2 * warp; rows < S::rows;
             rows += 2 * S::warps, row += (2 * S::warps - 2) * job.dst.stride) {
            const Word *word = eroded + rows * S::words + lane;
            const Word result = erode_bits(word[-1], word[0], word[1], job.radius_x) ^ job.flip;
#pragma unroll
            for (int i = 0; i < 2; ++i, row += job.dst.stride) {
                const int shift =
                    aligned ? 0 : static_cast<int>(reinterpret_cast<std::uintptr_t>(row) % 16);
                const int first = 16 * lane - shift;
                Word pixels = __shfl_sync(all, result, 16 * i + (first >> 5 & 15));
                if constexpr (aligned)
                    pixels >>= first & 31;
                else
                    pixels = __funnelshift_r(
                        pixels, __shfl_sync(all, result, 16 * i + (((first >> 5) + 1) & 15)),
                        first & 31);
                const bool mine = top + rows + i < job.rows;
                const int lead = S::margin + (-shift & 15);        // where the first chunk begins
                const int end = min(lead + job.advance, border);   // where the last one ends
                const int head = start <= lead ? lead : lead + 16; // the first whole one
                if (mine && first >= start && first + 16 <= end)
                    store(row + first, pixels);
                if (left < 0)
                    store_single(row, result, i, start, mine ? min(head, end) : 0);
                if (end == border && end > head)
                    store_single(row, result, i, end - (end - lead) % 16, mine ? end : 0);
            }
        }
    }

    /// 16 pixels from a boundary on.
    __device__ __forceinline__ static void store(std::uint8_t *to, Word pixels) {
        uint4 bytes;
        unpack_bits(pixels, 0x0000u, bytes.x, bytes.y);
        unpack_bits(pixels, 0x1111u, bytes.z, bytes.w);
        *reinterpret_cast<uint4 *>(to) = bytes;
    }

    /// Pixels begin ... end - 1 of the i-th row of a warp, a lane a pixel.
    __device__ __forceinline__ static void store_single(std::uint8_t *row, Word result, int i,
                                                        int begin, int end) {
        const int at = begin + static_cast<int>(threadIdx.x % 32);
        const Word word = __shfl_sync(all, result, 16 * i + (at >> 5 & 15));
        if (at < end)
            row[at] = word >> (at & 31) & 1 ? 255 : 0;
    }
};

} // namespace gpv::cuda::erode
