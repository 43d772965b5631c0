// SPDX-License-Identifier: BSD-2-Clause
// Types and functions shared by the kernels of connected-component labelling.
//
// line    64 pixels of a row as the bits of one word, the leftmost the lowest.
// stripe  the lines that are labelled as one. Runs::pairs, wide_pairs: two lines, of a
//         binary image with 8 neighbours, where all pixels of neighbouring
//         columns touch. Else one line: Runs::lines of a binary image with 4
//         neighbours, Runs::values of equal values.
// run     a maximal stretch of columns of a stripe that belong together. It is
//         cut where a tile ends; a union heals the cut.
// tile    64 columns and tile_rows rows, the work of one block. A thread has a
//         few columns of one stripe.
// slot    the name of a run in its tile: stripe by stripe, the column where it
//         starts, to two columns if runs cannot touch. So slots need no prefix
//         sum, and their order is that of the stripes and the starts.
// key     likewise of a pixel: line by line. The key of a component is that of
//         its first pixel in raster order.
// id      likewise in the image: bit id % 32 of word id / 32 of the root bits.
// forest  parent[i] <= i, and it only ever falls. In a tile it goes by slot; the
//         root then gets the least key of its runs, and in the image the forest
//         goes by id. So there the root of a tree is its first pixel.
#pragma once

#include "core/ccl.hpp"
#include "cuda/ccl/tuning.hpp"
#include "cuda/pixels.cuh"

namespace gpv::cuda::ccl {

using Line = unsigned long long;
using Record = CclComponent;

inline constexpr int columns = 64; ///< columns of a tile

template <Runs kind>
struct Shape {
    static constexpr bool equal = kind == Runs::values;
    static constexpr int rows = tile_rows(kind);
    static constexpr int rows_of_stripe = kind == Runs::pairs || kind == Runs::wide_pairs ? 2 : 1;
    static constexpr int stripes = rows / rows_of_stripe;
    static constexpr int columns_of_thread = ccl::columns_of_thread(kind);
    static constexpr int threads_of_stripe = columns / columns_of_thread;
    static constexpr int threads = stripes * threads_of_stripe;
    static constexpr int shift = equal ? 0 : 1;
    static constexpr int slots_of_line = columns >> shift;
    static constexpr int slots_of_thread = columns_of_thread >> shift; ///< of each of its lines
    static constexpr int slots = stripes * slots_of_line;
    static constexpr int words_of_line = slots_of_line / 32; ///< of root bits
    static_assert(number_threads * number_words >= rows * words_of_line,
                  "chunks are counted in an entry a tile");

    static constexpr int border = 2 * (columns + rows); ///< pixels, corners counted twice
    /// Trees that reach the border, per thread: at most one for each pixel there.
    static constexpr int trees_of_thread = (border + threads - 1) / threads;

    /// Name of the tree that has the key, in its tile: in the same columns of a
    /// stripe of two lines there is no other.
    __device__ static unsigned tree(unsigned key) {
        return key / (rows_of_stripe * slots_of_line) * slots_of_line + key % slots_of_line;
    }
};

/// The same for all kernels of a run.
struct Job {
    Rows src; ///< luma
    Rows dst;
    int width, height;
    int tiles_x, tiles_y;
    int row_words; ///< of root bits
    int rows;      ///< rows of all tiles
    bool eight;    ///< 8 neighbours, else 4

    // Foreground: ((luma ^ flip) >= threshold) != invert.
    Word flip;       ///< in every sample of a word
    Word addend;     ///< addend of pack_8_bits()
    int threshold;   ///< threshold of 16-bit samples
    unsigned invert; ///< 0xffff or 0

    // From the labelling of the tiles to the writing of the labels, tile by tile. Null if
    // nothing is written.
    Line *lines;          ///< foreground
    Line *starts;         ///< of runs of equal value, by stripe
    std::uint16_t *trees; ///< of the runs, by slot

    // Along the seams: id + 1 of the tree of each pixel, 0 = background.
    unsigned *top, *bottom; ///< rows of pixels, by tile row
    unsigned *left, *right; ///< columns of pixels, by tile column
    std::uint16_t *border;  ///< keys of the trees that reach the border of the tile, by tile
    int *border_counts;     ///< number of these keys, by tile

    // The forest of the image. Only trees that reach a border are in it, or all
    // of them where areas count.
    unsigned *parent; ///< by id
    unsigned *area;   ///< pixels, by id; null where they do not matter

    // Numbering.
    unsigned *root_bits;   ///< of the image so far
    unsigned *base;        ///< label of the first root of each word
    unsigned *border_bits; ///< roots of trees that reach the border of a tile; null without records
    unsigned *chunk_counts; ///< 1 + roots of a chunk of words, 0 = not known yet
    unsigned *next_chunk;   ///< 0 between two runs
    int min_area;
    int max_area; ///< 0 = no limit

    // Results.
    std::int32_t *host_count, *count; ///< where the count goes; each may be null
    std::byte *records;
    std::int64_t record_stride; ///< bytes
    std::int64_t capacity;      ///< records

    __host__ __device__ int tiles() const { return tiles_x * tiles_y; }
    __host__ __device__ int row_pitch() const { return tiles_x * columns; }
    /// Number of words of root bits.
    __host__ __device__ unsigned words() const { return static_cast<unsigned>(rows) * row_words; }
    /// Chunks of root bits; one block numbers each.
    __host__ __device__ unsigned chunks() const {
        constexpr unsigned words_of_chunk = number_threads * number_words;
        return (words() + words_of_chunk - 1) / words_of_chunk;
    }
};

__device__ __forceinline__ Record *record(const Job &job, unsigned label) {
    return reinterpret_cast<Record *>(job.records + (label - 1) * job.record_stride);
}

/// Where a tile lies.
template <Runs kind>
struct Place {
    using S = Shape<kind>;
    int tile;
    int row, column; ///< row and column in the grid of tiles
    int x, y;
    unsigned first_word; ///< first word of root bits
    unsigned row_words;

    __device__ Place(const Job &job, int index) {
        tile = index;
        row = index / job.tiles_x;
        column = index - row * job.tiles_x;
        x = column * columns;
        y = row * S::rows;
        row_words = job.row_words;
        first_word = y * row_words + column * S::words_of_line;
    }
    __device__ unsigned id(unsigned key) const {
        return (first_word + key / S::slots_of_line * row_words) * 32 + key % S::slots_of_line;
    }
    /// Word of root bits for one thread's columns in a line of the tile.
    __device__ unsigned word(int line, int part) const {
        return first_word + line * row_words + part * S::slots_of_thread / 32;
    }
};

// ---- bits ----------------------------------------------------------------------

__device__ __forceinline__ int lowest(Line v) {
    return __ffsll(static_cast<long long>(v)) - 1;
}
__device__ __forceinline__ int lowest(unsigned v) {
    return __ffs(static_cast<int>(v)) - 1;
}
/// -1 for 0.
__device__ __forceinline__ int highest(Line v) {
    return 63 - __clzll(static_cast<long long>(v));
}
__device__ __forceinline__ int highest(unsigned v) {
    return 31 - __clz(static_cast<int>(v));
}
__device__ __forceinline__ unsigned lowest_alone(unsigned v) {
    return v & (~v + 1);
}
__device__ __forceinline__ Line below(int bit) {
    return (Line{1} << bit) - 1;
}
__device__ __forceinline__ unsigned ones(int bits) {
    return (1u << bits) - 1;
}
/// Starts of the runs of columns where runs cannot touch.
__device__ __forceinline__ Line starts_of(Line mask) {
    return mask & ~(mask << 1);
}
/// The columns of the run that starts there.
__device__ __forceinline__ Line extent(Line mask, Line starts, int start) {
    const Line from = ~below(start), ends = (starts | ~mask) & (from << 1);
    return from & (ends ? below(lowest(ends)) : ~Line{0});
}

/// The columns of one thread.
template <class S>
__device__ __forceinline__ unsigned part_of(Line line, int part) {
    return static_cast<unsigned>(line >> (S::columns_of_thread * part)) &
           ones(S::columns_of_thread);
}

/// The lines of a tile.
template <Runs kind>
struct Lines {
    using S = Shape<kind>;
    Line lines[S::rows];                    ///< foreground
    Line starts[S::equal ? S::stripes : 1]; ///< of runs of equal value

    __device__ Line mask(int stripe) const {
        if constexpr (S::rows_of_stripe == 2)
            return lines[2 * stripe] | lines[2 * stripe + 1];
        else
            return lines[stripe];
    }
    __device__ Line starts_of_stripe(int stripe) const {
        if constexpr (S::equal)
            return starts[stripe];
        else
            return starts_of(mask(stripe));
    }
};

// ---- forest --------------------------------------------------------------------

/// Root of i, when no root changes any more, and each node of the forest is asked
/// for by one thread, which alone writes its entry. It points the node further up
/// step by step: while all do so, the ways to the roots get half as long with
/// every step.
__device__ __forceinline__ unsigned find_and_shorten(unsigned *parent, unsigned i) {
    unsigned above = load_volatile(parent + i);
    for (unsigned next; (next = load_volatile(parent + above)) != above; above = next)
        store_volatile(parent + i, next);
    return above;
}

/// Joins the trees of a and b. Climbs both at once, because each step is a time
/// to wait for memory, and points each node that it leaves at the least place that
/// either climb has seen (splicing, as in Rem's algorithm, Dijkstra 1976). What was
/// above that node is not lost to it: the climbs go on until both are joined. They
/// end where both have the same parent, or where one is at a root that is larger
/// than the parent of where the other is. That root is hung there by an exchange,
/// the only thing that ever changes a root, and hooked(root) is called.
template <class F>
__device__ __forceinline__ void unite(unsigned *parent, unsigned a, unsigned b, F hooked) {
    struct Climb {
        unsigned node, above, next; ///< a node, its parent, the parent of that
    };
    const auto hang = [&](Climb &climb, unsigned to) {
        if (climb.next != climb.above || climb.above <= to)
            return false;
        climb.next = atomicCAS(parent + climb.above, climb.above, to);
        return climb.next == climb.above;
    };
    const auto leave = [&](Climb &climb, unsigned to) {
        if (climb.node != climb.above) // else it may be a root
            atomicMin(parent + climb.node, to);
        climb.node = climb.above, climb.above = climb.next;
    };
    // Most are roots: the larger one is hung before anything is known.
    const unsigned large = max(a, b), small = min(a, b);
    Climb one{large, large, large}, other{small, small, load_volatile(parent + small)};
    if (hang(one, small))
        return hooked(large);
    for (;;) {
        const unsigned to = min(one.next, other.next);
        leave(one, to);
        leave(other, to);
        if (one.above == other.above)
            return;
        one.next = load_volatile(parent + one.above);
        other.next = load_volatile(parent + other.above);
        if (one.next == other.next)
            return;
        if (hang(one, other.next))
            return hooked(one.above);
        if (hang(other, one.next))
            return hooked(other.above);
    }
}

} // namespace gpv::cuda::ccl
