// SPDX-License-Identifier: BSD-2-Clause
// Labels each tile by itself in shared memory, then joins the tiles along
// their seams.
#pragma once

#include "cuda/ccl/tile.cuh"

namespace gpv::cuda::ccl {

// ---- pixels --------------------------------------------------------------------

/// The samples of a thread in one row.
template <class T, int samples>
struct Chunk {
    static constexpr int words = samples * sizeof(T) / 4;
    static constexpr int bits = 8 * sizeof(T);
    Word w[words];

    /// From column x on; 0 behind the end of the row.
    __device__ static Chunk load(const T *row, int x, int width) {
        Chunk c;
        const auto *data = reinterpret_cast<const std::uint8_t *>(row + x);
        const auto *end = reinterpret_cast<const std::uint8_t *>(row + width);
        if (reinterpret_cast<std::uintptr_t>(data) % (words == 2 ? 8 : 16) == 0 &&
            x + samples <= width) {
            const auto load = [&](int i, auto v) { memcpy(c.w + i, &v, sizeof v); };
            if constexpr (words == 2)
                load(0, *reinterpret_cast<const uint2 *>(data));
            else
                for (int i = 0; i < words; i += 4)
                    load(i, reinterpret_cast<const uint4 *>(data)[i / 4]);
            return c;
        }
        // Aligned words of which a byte belongs to the row; of the last one, just those bytes.
        const unsigned shift = 8 * (reinterpret_cast<std::uintptr_t>(data) % 4);
        const std::uint8_t *word = data - shift / 8;
        const std::uint8_t *last = end - reinterpret_cast<std::uintptr_t>(end) % 4;
        Word rest = 0;
        if (word <= last && last < word + 4 * (words + 1))
            for (int i = 0; last + i < end; i++)
                rest |= Word{last[i]} << (8 * i);
        const auto at = [&](int i) {
            const std::uint8_t *p = word + 4 * i;
            return p < last ? *reinterpret_cast<const Word *>(p) : p == last ? rest : 0;
        };
        Word low = at(0);
        for (int i = 0; i < words; i++) {
            const Word high = at(i + 1);
            c.w[i] = __funnelshift_r(low, high, shift);
            low = high;
        }
        return c;
    }

    /// One sample to the right; before: the chunk on the left ends with it.
    __device__ Chunk moved_right(Word before) const {
        Chunk c;
        for (int i = words - 1; i > 0; i--)
            c.w[i] = __funnelshift_l(w[i - 1], w[i], bits);
        c.w[0] = __funnelshift_l(before, w[0], bits);
        return c;
    }
    /// One sample to the left; behind: the chunk on the right begins with it.
    __device__ Chunk moved_left(Word behind) const {
        Chunk c;
        for (int i = 0; i + 1 < words; i++)
            c.w[i] = __funnelshift_r(w[i], w[i + 1], bits);
        c.w[words - 1] = __funnelshift_r(w[words - 1], behind, bits);
        return c;
    }
    __device__ Chunk operator^(const Chunk &other) const {
        Chunk c;
        for (int i = 0; i < words; i++)
            c.w[i] = w[i] ^ other.w[i];
        return c;
    }
    __device__ Chunk operator^(Word flip) const {
        Chunk c;
        for (int i = 0; i < words; i++)
            c.w[i] = w[i] ^ flip;
        return c;
    }

    /// Which samples are at least the threshold; addend as of pack_8_bits().
    __device__ unsigned at_least(int threshold, Word addend) const {
        if constexpr (sizeof(T) == 1) {
            unsigned result = 0;
            for (int i = 0; i < words; i += 2)
                result |= pack_8_bits(w[i], w[i + 1], addend) >> 7 << 4 * i;
            return result;
        }
        unsigned result = 0;
        for (int i = 0; i < words; i++) {
            result |= unsigned(int(w[i] & 0xffff) >= threshold) << (2 * i);
            result |= unsigned(int(w[i] >> 16) >= threshold) << (2 * i + 1);
        }
        return result;
    }
    /// Which samples are not 0.
    __device__ unsigned non_zero() const { return at_least(1, 0xffffffffu); }
};

// ---- tiles ---------------------------------------------------------------------

/// Labels one tile: its runs, their trees, what the neighbouring tiles see of them.
template <class T, Runs kind>
struct Label {
    using Job = ccl::Job;
    using S = Shape<kind>;
    using Samples = Chunk<T, S::columns_of_thread>;
    static constexpr int threads = S::threads;

    struct Shared : Lines<kind> {
        // Of runs of equal value: which pixels are joined with the line above.
        Line up[S::equal ? S::stripes : 1], up_left[S::equal ? S::stripes : 1];
        Line up_right[S::equal ? S::stripes : 1];
        alignas(16) unsigned parent[S::slots];
        unsigned keys[S::slots]; ///< of the trees, by the slot of the root
        /// Pairs of slots left to be merged, of which a stripe has no more than
        /// slots, and one that a thread does not know of.
        unsigned pairs[S::slots + S::threads];
        unsigned root_bits[S::rows * S::words_of_line];
        unsigned border_bits[S::rows * S::words_of_line];
        unsigned late;                       ///< pairs
        unsigned border;                     ///< trees that reach the border
        alignas(16) unsigned area[S::slots]; ///< there only where areas count
    };
    static constexpr std::size_t shared_bytes(bool areas) {
        return sizeof(Shared) - (areas ? 0 : sizeof(Shared::area));
    }

    __device__ static void run(const Job &job) {
        let_next_kernel_begin();
        Shared &s = *shared_memory<Shared>();
        const Place<kind> place(job, blockIdx.x);
        const int stripe = threadIdx.x / S::threads_of_stripe,
                  part = threadIdx.x % S::threads_of_stripe;
        Samples samples[S::rows_of_stripe]; // of the thread's own; memory takes its time
        for (int i = 0; i < S::rows_of_stripe; i++)
            samples[i] = load(job, place, S::rows_of_stripe * stripe + i, part);
        start(job, s);
        for (int i = 0; i < S::rows_of_stripe; i++)
            classify(job, place, s, S::rows_of_stripe * stripe + i, part, samples[i]);
        __syncthreads();
        const Links links(job, s, stripe, part);
        hook(s, links);
        __syncthreads();
        const unsigned roots = compress(s, links.starts);
        __syncthreads();
        merge(s, roots);
        settle(s, stripe, part, links.starts);
        if (job.area)
            sum_areas(s, stripe, part, links.starts);
        __syncthreads();
        publish_trees(job, place, s, links.starts);
        publish_border(job, place, s);
        __syncthreads();
        publish_lines(job, place, s);
    }

  private:
    /// The runs that start in the columns of a thread, and their contacts there
    /// with runs of the stripe above.
    struct Links {
        unsigned starts;
        unsigned starts_above; ///< and one column more
        unsigned contacts;     ///< columns of pixels with a contact that is no repetition
        unsigned left, ahead;  ///< is not with the pixel above, but with the one before, behind
        unsigned second;       ///< there is another contact with the pixel above and behind
        // Where a run has started before the first column:
        unsigned own_before, other_before; ///< slots
        bool met_before;                   ///< own has had a contact there

        __device__ Links(const Job &job, const Shared &s, int stripe, int part) {
            const Line all_starts = s.starts_of_stripe(stripe);
            const Line all_above = stripe ? s.starts_of_stripe(stripe - 1) : 0;
            Line up, up_left = 0, up_right = 0;
            if constexpr (S::equal) {
                up = s.up[stripe];
                if (job.eight) {
                    up_left = s.up_left[stripe];
                    up_right = s.up_right[stripe];
                }
            } else {
                const Line mask = s.lines[S::rows_of_stripe * stripe];
                const Line above = stripe ? s.lines[S::rows_of_stripe * stripe - 1] : 0;
                up = mask & above;
                if constexpr (S::rows_of_stripe == 2) {
                    up_left = mask & (above << 1);
                    up_right = mask & (above >> 1);
                }
            }
            // Two contacts side by side are of the same two runs where neither starts there.
            const Line any = up | up_left | up_right;
            const Line begins = all_starts | all_above | all_above >> 1;
            const Line all_contacts = any & (~(any << 1) | begins);
            contacts = part_of<S>(all_contacts, part);
            left = part_of<S>(up_left & ~up, part);
            ahead = part_of<S>(up_right & ~up & ~up_left, part);
            second = part_of<S>(up_right & ~up & up_left & all_above >> 1, part);
            starts = part_of<S>(all_starts, part);
            starts_above = unsigned(all_above >> (S::columns_of_thread * part)) &
                           ones(S::columns_of_thread + 1);
            const Line before = below(S::columns_of_thread * part);
            const int first = highest(all_starts & before);
            own_before = stripe * S::slots_of_line + (first >> S::shift);
            other_before =
                (stripe - 1) * S::slots_of_line + (highest(all_above & before) >> S::shift);
            met_before = first >= 0 && (all_contacts & before & ~below(first));
        }
    };

    /// In a thread's columns.
    __device__ static unsigned slot(int column) {
        return threadIdx.x * S::slots_of_thread + (column >> S::shift);
    }

    __device__ static void set_part(Line *lines, int line, int part, unsigned bits) {
        using Part = std::conditional_t<S::columns_of_thread == 8, std::uint8_t, std::uint16_t>;
        reinterpret_cast<Part *>(lines)[line * S::threads_of_stripe + part] =
            static_cast<Part>(bits);
    }

    __device__ static void start(const Job &job, Shared &s) {
        if (threadIdx.x == 0) {
            s.late = s.border = 0;
            job.chunk_counts[blockIdx.x] = 0; // there are no more chunks than tiles
        }
        for (int i = threadIdx.x; i < S::rows * S::words_of_line; i += threads)
            s.root_bits[i] = s.border_bits[i] = 0;
        const unsigned first = slot(0);
        for (int i = 0; i < S::slots_of_thread; i += 4) {
            const auto set = [&](unsigned *to, unsigned value, unsigned step) {
                *reinterpret_cast<uint4 *>(to + first + i) =
                    make_uint4(value, value + step, value + 2 * step, value + 3 * step);
            };
            set(s.parent, first + i, 1);
            if (S::rows_of_stripe == 2)
                set(s.keys, no_key, 0);
            else
                set(s.keys, first + i, 1);
            if (job.area)
                set(s.area, 0, 0);
        }
    }

    /// 0 outside the image.
    __device__ static Samples load(const Job &job, const Place<kind> &place, int line, int part) {
        const int x = place.x + S::columns_of_thread * part, y = place.y + line;
        return x < job.width && y < job.height ? Samples::load(job.src.row<T>(y), x, job.width)
                                               : Samples{};
    }

    /// Which samples are foreground and, of equal values, joined with which others.
    __device__ static void classify(const Job &job, const Place<kind> &place, Shared &s, int line,
                                    int part, const Samples &own) {
        const int x = place.x + S::columns_of_thread * part;
        unsigned mask = 0;
        if (x < job.width && place.y + line < job.height) {
            mask = (own ^ job.flip).at_least(job.threshold, job.addend) ^ job.invert;
            if (x + S::columns_of_thread > job.width)
                mask &= ones(job.width - x);
        }
        set_part(s.lines, line, part, mask);
        if constexpr (S::equal) {
            const Samples above = line ? load(job, place, line - 1, part) : Samples{};
            const Word before = __shfl_up_sync(~0u, own.w[own.words - 1], 1);
            const Word before_above = __shfl_up_sync(~0u, above.w[own.words - 1], 1);
            const Word behind_above = __shfl_down_sync(~0u, above.w[0], 1);
            const unsigned tail = part ? ~0u : ~1u; // pixels with a left neighbour
            const unsigned head = ones(S::columns_of_thread - (part == S::threads_of_stripe - 1));
            // The right neighbour may be outside the image.
            const int inner = max(0, min(job.width - x - 1, S::columns_of_thread));
            const unsigned starts = mask & ~(~(own ^ own.moved_right(before)).non_zero() & tail);
            const unsigned connected = line ? mask : 0;
            set_part(s.starts, line, part, starts);
            set_part(s.up, line, part, connected & ~(own ^ above).non_zero());
            set_part(s.up_left, line, part,
                     connected & tail & ~(own ^ above.moved_right(before_above)).non_zero());
            set_part(s.up_right, line, part,
                     connected & head & ones(inner) &
                         ~(own ^ above.moved_left(behind_above)).non_zero());
        }
    }

    /// Hooks each run to the first run that it touches in the stripe above: no two threads
    /// write the same entry. Further contacts go to pairs.
    __device__ static void hook(Shared &s, const Links &links) {
        unsigned last = ~0u;
        for (unsigned todo = links.contacts; todo; todo &= todo - 1) {
            const int x = lowest(todo);
            const unsigned starts = links.starts & ones(x + 1);
            const int start = highest(starts);
            const unsigned own = starts ? slot(start) : links.own_before;
            const bool met = starts ? links.contacts & ones(x) & ~ones(start)
                                    : links.contacts & ones(x) || links.met_before;
            const int contact = x - int(links.left >> x & 1) + int(links.ahead >> x & 1);
            const unsigned above = links.starts_above & ones(contact + 1);
            const unsigned other =
                above ? slot(highest(above)) - S::slots_of_line : links.other_before;
            const unsigned pair = own << 16 | other;
            if (!met)
                s.parent[own] = other;
            else if (pair != last)
                s.pairs[atomicAdd(&s.late, 1u)] = pair;
            last = pair;
            if (links.second >> x & 1) {
                last = own << 16 | (slot(x + 1) - S::slots_of_line);
                s.pairs[atomicAdd(&s.late, 1u)] = last;
            }
        }
    }

    /// Path compression: points the thread's runs at the roots of their trees, while all threads
    /// do so and no root changes: each writes its own entry only. Returns which are roots.
    __device__ static unsigned compress(Shared &s, unsigned runs) {
        unsigned roots = 0;
        for (unsigned rising = runs; rising;)
            for (unsigned todo = rising; todo; todo &= todo - 1) {
                const unsigned own = slot(lowest(todo)), bit = lowest_alone(todo);
                const unsigned above = load_volatile(s.parent + own);
                const unsigned next = load_volatile(s.parent + above);
                if (next != above)
                    atomicMin(s.parent + own, next);
                else
                    rising &= ~bit;
                if (above == own)
                    roots |= bit;
            }
        return roots;
    }

    /// Merges trees by the pairs that are left (Shiloach and Vishkin 1982): hooks the larger root
    /// to the smaller, compresses, and repeats until nothing changes. Each round removes at least
    /// half of the roots that have to go. On entry and exit a run is a root, or its parent's
    /// parent is.
    __device__ static void merge(Shared &s, unsigned roots) {
        for (bool merging = s.late; merging;) {
            bool merged = false;
            for (unsigned i = threadIdx.x; i < s.late; i += threads) {
                const unsigned a = root(s, s.pairs[i] >> 16), b = root(s, s.pairs[i] & 0xffff);
                if (a == b)
                    continue;
                atomicMin(s.parent + max(a, b), min(a, b));
                merged = true;
            }
            merging = __syncthreads_or(merged);
            compress(s, roots);
            __syncthreads();
        }
    }

    /// Key of the first pixel of a run of two lines.
    __device__ static unsigned key(const Shared &s, int stripe, int column) {
        const Line mask = s.mask(stripe);
        const Line upper = s.lines[2 * stripe] & extent(mask, starts_of(mask), column);
        return upper ? 2 * stripe * S::slots_of_line + (lowest(upper) >> 1)
                     : (2 * stripe + 1) * S::slots_of_line + (column >> 1);
    }

    /// Root of a run, once the trees no longer change.
    __device__ static unsigned root(const Shared &s, unsigned slot) {
        return s.parent[s.parent[slot]];
    }

    /// A root gets the least key of the runs of its stripe, which is the first of
    /// its tree.
    __device__ static void settle(Shared &s, int stripe, int part, unsigned runs) {
        for (; S::rows_of_stripe == 2 && runs; runs &= runs - 1) {
            const unsigned tree = root(s, slot(lowest(runs)));
            if (int(tree) / S::slots_of_line == stripe)
                atomicMin(s.keys + tree,
                          key(s, stripe, S::columns_of_thread * part + lowest(runs)));
        }
    }

    __device__ static void sum_areas(Shared &s, int stripe, int part, unsigned runs) {
        const Line mask = s.mask(stripe), starts = s.starts_of_stripe(stripe);
        for (; runs; runs &= runs - 1) {
            const Line columns = extent(mask, starts, S::columns_of_thread * part + lowest(runs));
            int area = 0;
            for (int i = 0; i < S::rows_of_stripe; i++)
                area += __popcll(s.lines[S::rows_of_stripe * stripe + i] & columns);
            atomicAdd(s.area + root(s, slot(lowest(runs))), unsigned(area));
        }
    }

    static constexpr unsigned no_key = ~0u;
    static constexpr unsigned claimed = 1u << 31; ///< of a key: it is in the list of the border

    /// The tree of each run, and which keys are roots.
    __device__ static void publish_trees(const Job &job, const Place<kind> &place, Shared &s,
                                         unsigned runs) {
        if (!runs)
            return;
        const unsigned first = slot(0);
        unsigned trees[S::slots_of_thread];
        constexpr unsigned start = (1u << (1 << S::shift)) - 1; // columns of a slot
        for (int i = 0; i < S::slots_of_thread; i++) {
            trees[i] = 0;
            if (!(runs >> (i << S::shift) & start))
                continue;
            const unsigned tree = root(s, first + i);
            const unsigned key = s.keys[tree] & ~claimed;
            trees[i] = S::tree(key);
            if (tree != first + i)
                continue;
            atomicOr(s.root_bits + key / 32, 1u << key % 32);
            if (job.area) {
                const unsigned id = place.id(key);
                job.area[id] = s.area[tree];
                job.parent[id] = id;
            }
        }
        if (!job.trees)
            return;
        auto *out =
            reinterpret_cast<uint2 *>(job.trees + std::size_t(place.tile) * S::slots + first);
        for (int i = 0; i < S::slots_of_thread; i += 4)
            out[i / 4] =
                make_uint2(trees[i] | trees[i + 1] << 16, trees[i + 2] | trees[i + 3] << 16);
    }

    /// The pixels of the first and the last row, of the first and the last column.
    __device__ static void publish_border(const Job &job, const Place<kind> &place, Shared &s) {
        for (int i = threadIdx.x; i < S::border; i += threads) {
            const int side = i < 2 * columns ? i / columns : 2 + (i - 2 * columns) / S::rows;
            const int along = i < 2 * columns ? i % columns : (i - 2 * columns) % S::rows;
            const int line = side == 0 ? 0 : side == 1 ? S::rows - 1 : along;
            const int x = side == 2 ? 0 : side == 3 ? columns - 1 : along;
            unsigned entry = 0;
            if (s.lines[line] >> x & 1)
                entry = 1 + publish_tree(job, place, s, line / S::rows_of_stripe, x);
            unsigned *seam = side == 0   ? job.top
                             : side == 1 ? job.bottom
                             : side == 2 ? job.left
                                         : job.right;
            if (side < 2)
                seam[std::size_t(place.row) * job.row_pitch() + place.x + along] = entry;
            else
                seam[std::size_t(place.column) * job.rows + place.y + along] = entry;
        }
    }

    /// Enters the tree of a pixel in the forest and in the list, once. Returns its id.
    __device__ static unsigned publish_tree(const Job &job, const Place<kind> &place, Shared &s,
                                            int stripe, int x) {
        const int start = highest(s.starts_of_stripe(stripe) & (below(x) << 1 | 1));
        unsigned *key = s.keys + root(s, stripe * S::slots_of_line + (start >> S::shift));
        const unsigned before = atomicOr(key, claimed), id = place.id(before & ~claimed);
        if (!(before & claimed)) {
            job.border[std::size_t(place.tile) * S::border + atomicAdd(&s.border, 1u)] =
                static_cast<std::uint16_t>(before);
            job.parent[id] = id;
            atomicOr(s.border_bits + before / 32, 1u << before % 32);
        }
        return id;
    }

    __device__ static void publish_lines(const Job &job, const Place<kind> &place,
                                         const Shared &s) {
        for (int i = threadIdx.x; i < S::rows * S::words_of_line; i += threads) {
            const unsigned word =
                place.first_word + i / S::words_of_line * place.row_words + i % S::words_of_line;
            job.root_bits[word] = s.root_bits[i];
            if (job.border_bits)
                job.border_bits[word] = s.border_bits[i];
        }
        for (int i = threadIdx.x; job.lines && i < S::rows; i += threads) {
            job.lines[std::size_t(place.tile) * S::rows + i] = s.lines[i];
            if constexpr (S::equal)
                job.starts[std::size_t(place.tile) * S::rows + i] = s.starts[i];
        }
        if (threadIdx.x == 0)
            job.border_counts[place.tile] = static_cast<int>(s.border);
    }
};

// ---- seams ---------------------------------------------------------------------

/// Joins a tile with the one above and the one to the left.
template <class T, Runs kind>
struct MergeSeams {
    using Job = ccl::Job;
    using S = Shape<kind>;
    static constexpr int threads = columns + S::rows;
    static constexpr bool waits = true;

    __device__ static void run(const Job &job) {
        const Place<kind> place(job, blockIdx.x);
        let_next_kernel_begin();
        wait_for_earlier_kernels();
        const bool upper = threadIdx.x < columns;
        const int i = upper ? threadIdx.x : threadIdx.x - columns;
        unsigned first = 0, second = 0, own = 0;
        if (upper ? place.row > 0 : place.column > 0) {
            const Pixel here = pixel(job, place, upper, true, i);
            const Pixel here0 = pixel(job, place, upper, true, i - 1);
            const Pixel here1 = pixel(job, place, upper, true, i + 1);
            const Pixel there = pixel(job, place, upper, false, i);
            const Pixel there0 = pixel(job, place, upper, false, i - 1);
            const Pixel there1 = pixel(job, place, upper, false, i + 1);
            own = here.entry;
            // Neighbours connected along the seam are merged once, at their first contact.
            if (here.connects(there)) {
                if (!(here.connects(here0) && there.connects(there0)))
                    first = there.entry;
            } else if (job.eight) {
                if (here.connects(there0) && !here.connects(here0))
                    first = there0.entry;
                if (here.connects(there1) && !here.connects(here1))
                    second = there1.entry;
            }
        }
        const bool repeats_first = repeats(own, first), repeats_second = repeats(own, second);
        if (first && !repeats_first)
            merge(job, own, first);
        if (second && !repeats_second)
            merge(job, own, second);
    }

  private:
    /// Whether the pair is that of the last lane before that has one.
    __device__ static bool repeats(unsigned own, unsigned other) {
        const unsigned before = __ballot_sync(~0u, other) & ones(threadIdx.x % 32);
        const int last = before ? highest(before) : 0;
        const unsigned own_before = __shfl_sync(~0u, own, last);
        const unsigned other_before = __shfl_sync(~0u, other, last);
        return before && own_before == own && other_before == other;
    }

    __device__ static void merge(const Job &job, unsigned own, unsigned other) {
        unite(job.parent, own - 1, other - 1,
              [&](unsigned id) { atomicAnd(job.root_bits + id / 32, ~(1u << id % 32)); });
    }

    struct Pixel {
        unsigned entry = 0;
        T value = 0;
        __device__ bool connects(const Pixel &other) const {
            return entry && other.entry && (!S::equal || value == other.value);
        }
    };

    /// The i-th pixel of a seam, on this side or the other. The upper seam is
    /// looked at past its ends, so that it covers the corners; the left one is
    /// not, so that two seams never leave a contact to each other.
    __device__ static Pixel pixel(const Job &job, const Place<kind> &place, bool upper, bool here,
                                  int i) {
        const int along = (upper ? place.x : place.y) + i;
        if (along < 0 || along >= (upper ? job.width : job.height) ||
            (!upper && (i < 0 || i >= S::rows)))
            return {};
        Pixel p;
        const int across = upper ? place.row : place.column;
        const unsigned *seam =
            upper ? (here ? job.top : job.bottom) : (here ? job.left : job.right);
        p.entry = seam[std::size_t(across - !here) * (upper ? job.row_pitch() : job.rows) + along];
        if constexpr (S::equal) {
            const int line = (upper ? S::rows : columns) * across - !here;
            p.value = upper ? job.src.row<T>(line)[along] : job.src.row<T>(along)[line];
        }
        return p;
    }
};

/// Where areas count: adds the area of the trees of a tile to that of the trees
/// of the image.
template <Runs kind>
struct Gather {
    using Job = ccl::Job;
    static constexpr int threads = 128;
    static constexpr bool waits = true;

    __device__ static void run(const Job &job) {
        let_next_kernel_begin();
        wait_for_earlier_kernels();
        const Place<kind> place(job, blockIdx.x);
        for (int i = threadIdx.x; i < job.border_counts[place.tile]; i += threads) {
            const unsigned id =
                place.id(job.border[std::size_t(place.tile) * Shape<kind>::border + i]);
            const unsigned root = find_and_shorten(job.parent, id);
            if (root != id)
                atomicAdd(job.area + root, job.area[id]);
        }
    }
};

} // namespace gpv::cuda::ccl
