// SPDX-License-Identifier: BSD-2-Clause
// Writes what the components are called: labels, masks or colours, and their
// records.
#pragma once

#include "cuda/ccl/tile.cuh"

namespace gpv::cuda::ccl {

struct NoLabels {};

// Four pixels at a time:

struct Labels32 {
    using Sample = std::int32_t;
    using Quad = int4;
    __device__ static Sample of(unsigned label) { return static_cast<Sample>(label); }
    __device__ static Quad quad(const unsigned (&l)[4]) {
        return make_int4(of(l[0]), of(l[1]), of(l[2]), of(l[3]));
    }
};

struct Labels16 {
    using Sample = std::uint16_t;
    using Quad = uint2;
    __device__ static Sample of(unsigned label) {
        return static_cast<Sample>(min(label, unsigned{max_label(2)}));
    }
    __device__ static Quad quad(const unsigned (&l)[4]) {
        return make_uint2(of(l[0]) | Word{of(l[1])} << 16, of(l[2]) | Word{of(l[3])} << 16);
    }
};

template <bool labels>
struct Bytes {
    using Sample = std::uint8_t;
    using Quad = Word;
    __device__ static Sample of(unsigned label) {
        return static_cast<Sample>(labels ? min(label, unsigned{max_label(1)}) : label ? 255 : 0);
    }
    __device__ static Quad quad(const unsigned (&l)[4]) {
        return of(l[0]) | Word{of(l[1])} << 8 | Word{of(l[2])} << 16 | Word{of(l[3])} << 24;
    }
};

using Labels8 = Bytes<true>;
using Mask8 = Bytes<false>;

/// Finds the label of each tree of a tile, writes it to the pixels of its runs,
/// and adds what they measure to the records.
template <class Output, Runs kind, bool measured>
struct Write {
    using Job = ccl::Job;
    using S = Shape<kind>;
    static constexpr int threads = S::threads;
    static constexpr bool waits = true;

    /// By tree.
    struct Sums {
        unsigned area_x[S::slots]; ///< area, and 2^13 times the sum of columns
        unsigned y[S::slots];      ///< sum of lines
        int left[S::slots], right[S::slots], bottom[S::slots];
    };
    struct Shared : Lines<kind> {
        unsigned label_of_tree[S::slots];
        unsigned label_of_slot[S::slots];
        Sums sums; ///< there only if measured
    };
    static constexpr std::size_t shared_bytes = sizeof(Shared) - (measured ? 0 : sizeof(Sums));

    __device__ static void run(const Job &job) {
        Shared &s = *shared_memory<Shared>();
        const Place<kind> place(job, blockIdx.x);
        const int stripe = threadIdx.x / S::threads_of_stripe,
                  part = threadIdx.x % S::threads_of_stripe;
        // All that the kernels before Number have made is there: they were over when it let this
        // one begin.
        load(job, place, s);
        std::uint16_t tree_of[S::slots_of_thread];
        load_trees(job, place, tree_of);
        BorderTrees trees;
        find_roots(job, place, trees);
        wait_for_earlier_kernels();
        // All words of roots are asked for at once: one time to wait for memory, not two.
        OwnWords own;
        for (int i = 0; i < S::rows_of_stripe; i++)
            own[i].load(job, place.word(S::rows_of_stripe * stripe + i, part));
        for (BorderTree &tree : trees)
            if (tree.has_root_elsewhere())
                tree.word.load(job, tree.root / 32);
        if (job.area) // what is not labelled has been dropped
            __syncthreads();
        label_trees(s, stripe, part, own, trees);
        __syncthreads();
        const unsigned runs = part_of<S>(s.starts_of_stripe(stripe), part);
        each_run(runs, tree_of, [&](unsigned slot, unsigned tree, int) {
            s.label_of_slot[slot] = s.label_of_tree[tree];
        });
        if constexpr (measured)
            add_runs(s, stripe, part, runs, tree_of);
        __syncthreads();
        if constexpr (measured)
            publish_sums(job, place, s, stripe, part, own, trees);
        if constexpr (!std::is_same_v<Output, NoLabels>)
            expand(job, place, s);
    }

  private:
    __device__ static void load(const Job &job, const Place<kind> &place, Shared &s) {
        const std::size_t first = std::size_t(place.tile) * S::rows;
        for (int i = threadIdx.x; i < S::rows; i += threads) {
            s.lines[i] = __ldcg(job.lines + first + i);
            if constexpr (S::equal)
                s.starts[i] = __ldcg(job.starts + first + i);
        }
        if (job.area)
            for (int i = threadIdx.x; i < S::slots; i += threads)
                s.label_of_tree[i] = 0;
    }

    /// Whether there is a run or not: to wait for the starts would cost more.
    __device__ static void load_trees(const Job &job, const Place<kind> &place,
                                      std::uint16_t (&tree_of)[S::slots_of_thread]) {
        const auto *in = reinterpret_cast<const uint2 *>(
            job.trees + std::size_t(place.tile) * S::slots + threadIdx.x * S::slots_of_thread);
        const auto set = [&](int i, Word two) {
            tree_of[i] = static_cast<std::uint16_t>(two);
            tree_of[i + 1] = static_cast<std::uint16_t>(two >> 16);
        };
        for (int i = 0; i < S::slots_of_thread; i += 4) {
            const uint2 v = __ldcg(in + i / 4);
            set(i, v.x), set(i + 2, v.y);
        }
    }

    /// f(slot, tree, column of the start) for each of the thread's runs.
    template <class F>
    __device__ static void each_run(unsigned runs,
                                    const std::uint16_t (&tree_of)[S::slots_of_thread], F f) {
        constexpr unsigned columns_of_slot = (1u << (1 << S::shift)) - 1;
        for (int i = 0; i < S::slots_of_thread; i++) {
            const unsigned start = runs >> (i << S::shift) & columns_of_slot;
            if (start)
                f(threadIdx.x * S::slots_of_thread + i, unsigned{tree_of[i]},
                  (i << S::shift) + int(start >> 1));
        }
    }

    /// A word of root bits and the label of its first root.
    struct RootWord {
        unsigned bits, base;

        __device__ void load(const Job &job, unsigned word) {
            bits = job.root_bits[word];
            base = job.base[word];
        }
        __device__ unsigned label(int bit) const { return base + __popc(bits & ones(bit)); }
    };

    /// The words that a thread has of the roots in its columns.
    using OwnWords = RootWord[S::rows_of_stripe];

    /// f(key, label) for each root of the image in the thread's columns.
    template <class F>
    __device__ static void each_own_root(int stripe, int part, const OwnWords &own, F f) {
        for (int i = 0; i < S::rows_of_stripe; i++) {
            const int line = S::rows_of_stripe * stripe + i;
            const int first = part * S::slots_of_thread % 32;
            unsigned label = own[i].label(first);
            for (unsigned todo = own[i].bits >> first & ones(S::slots_of_thread); todo;
                 todo &= todo - 1)
                f(line * S::slots_of_line + part * S::slots_of_thread + lowest(todo), label++);
        }
    }

    /// One that reaches the border of the tile.
    struct BorderTree {
        unsigned tree, id;
        unsigned root; ///< id in the image; none: there is no such tree
        RootWord word; ///< of a root elsewhere
        static constexpr unsigned none = ~0u;

        __device__ bool has_root_elsewhere() const { return root != none && root != id; }
    };
    using BorderTrees = BorderTree[S::trees_of_thread];

    __device__ static void find_roots(const Job &job, const Place<kind> &place,
                                      BorderTrees &trees) {
        const int count = __ldcg(job.border_counts + place.tile);
        for (int k = 0; k < S::trees_of_thread; k++) {
            const int i = k * threads + threadIdx.x;
            trees[k].root = BorderTree::none;
            if (i >= count)
                continue;
            const unsigned key = __ldcg(job.border + std::size_t(place.tile) * S::border + i);
            trees[k].tree = S::tree(key);
            trees[k].id = place.id(key);
            trees[k].root = find_and_shorten(job.parent, trees[k].id);
        }
    }

    __device__ static void label_trees(Shared &s, int stripe, int part, const OwnWords &own,
                                       const BorderTrees &trees) {
        each_own_root(stripe, part, own,
                      [&](unsigned key, unsigned label) { set_label(s, S::tree(key), label); });
        for (const BorderTree &tree : trees) {
            const int bit = tree.root % 32;
            if (tree.has_root_elsewhere() && (tree.word.bits >> bit & 1))
                set_label(s, tree.tree, tree.word.label(bit));
        }
    }
    __device__ static void set_label(Shared &s, unsigned tree, unsigned label) {
        s.label_of_tree[tree] = label;
        if constexpr (measured) {
            s.sums.area_x[tree] = s.sums.y[tree] = 0;
            s.sums.left[tree] = columns;
            s.sums.right[tree] = s.sums.bottom[tree] = 0;
        }
    }

    __device__ static void expand(const Job &job, const Place<kind> &place, const Shared &s) {
        constexpr int quads_of_line = columns / 4;
        for (int i = threadIdx.x; i < S::stripes * quads_of_line; i += threads) {
            const int stripe = i / quads_of_line, first = i % quads_of_line * 4;
            const int x = place.x + first, y = place.y + S::rows_of_stripe * stripe;
            if (x >= job.width || y >= job.height)
                continue;
            const Line mask = s.mask(stripe), starts = s.starts_of_stripe(stripe);
            const unsigned bits = unsigned(mask >> first), begun = unsigned(starts >> first);
            const unsigned *labels = s.label_of_slot + stripe * S::slots_of_line;
            unsigned label = 0, four[4];
            if (bits & ~begun & 1)
                label = labels[highest(starts & below(first)) >> S::shift];
            for (int k = 0; k < 4; k++) {
                if (begun >> k & 1)
                    label = labels[(first + k) >> S::shift];
                four[k] = label;
            }
            for (int k = 0; k < S::rows_of_stripe; k++)
                if (y + k < job.height)
                    store(job, x, y + k, unsigned(s.lines[S::rows_of_stripe * stripe + k] >> first),
                          four);
        }
    }

    /// Four pixels of which the mask says which are foreground.
    __device__ static void store(const Job &job, int x, int y, unsigned mask,
                                 const unsigned (&labels)[4]) {
        using Sample = typename Output::Sample;
        using Quad = typename Output::Quad;
        unsigned four[4];
        for (int k = 0; k < 4; k++)
            four[k] = mask >> k & 1 ? labels[k] : 0;
        Sample *out = job.dst.row<Sample>(y) + x;
        if (x + 4 <= job.width && reinterpret_cast<std::uintptr_t>(out) % sizeof(Quad) == 0) {
            *reinterpret_cast<Quad *>(out) = Output::quad(four);
            return;
        }
        for (int k = 0; k < 4; k++)
            if (x + k < job.width)
                out[k] = Output::of(four[k]);
    }

    // ---- records -------------------------------------------------------------------

    /// Sum of the indices of the bits that are set.
    __device__ static unsigned sum_of_bits(unsigned v) {
        unsigned sum = 0;
        for (int bit = 0; bit < 5; bit++) {
            const unsigned length = 1 << bit, low = ~0u / ((1u << length) + 1);
            sum += unsigned(__popc(v & low << length)) << bit; // those that have it
        }
        return sum;
    }

    /// Measurements of some pixels of a tile.
    struct Measure {
        unsigned area = 0, x = 0, y = 0; ///< x and y are sums
        int left = columns, right = 0, bottom = 0;

        Measure() = default;
        /// Measures the columns of a run of a stripe.
        __device__ Measure(const Shared &s, int stripe, Line run)
            : left(lowest(run)), right(highest(run) + 1) {
            const int line = S::rows_of_stripe * stripe;
            area = right - left;
            x = area * (left + right - 1) / 2;
            y = area * line;
            bottom = line + 1;
            if constexpr (S::rows_of_stripe == 2) { // each column has been counted once
                const Line lower = s.lines[line + 1] & run;
                add_pixels(s.lines[line] & lower, line);
                y += __popcll(lower);
                bottom += lower != 0;
            }
        }
        __device__ Measure(const Sums &sums, unsigned tree)
            : area(sums.area_x[tree] & 0x1fff), x(sums.area_x[tree] >> 13), y(sums.y[tree]),
              left(sums.left[tree]), right(sums.right[tree]), bottom(sums.bottom[tree]) {}

        __device__ void operator+=(const Measure &other) {
            area += other.area, x += other.x, y += other.y;
            left = min(left, other.left);
            right = max(right, other.right), bottom = max(bottom, other.bottom);
        }
        __device__ Measure of_warp() const {
            Measure m;
            m.area = warp_sum(area), m.x = warp_sum(x), m.y = warp_sum(y);
            m.left = warp_min(left);
            m.right = warp_max(right), m.bottom = warp_max(bottom);
            return m;
        }

      private:
        /// Adds the pixels of a line in these columns.
        __device__ void add_pixels(Line pixels, int line) {
            const auto low = unsigned(pixels >> left), high = unsigned(pixels >> left >> 32);
            unsigned count = __popc(low);
            x += sum_of_bits(low);
            if (high) { // a run of more than 32 columns
                count += __popc(high);
                x += sum_of_bits(high) + 32 * __popc(high);
            }
            area += count;
            x += count * left;
            y += count * line;
        }
    };

    /// add(name, measure) for what each lane of a warp has, where it has a name,
    /// which is not 0. What has the name of the first such lane, often most,
    /// is added in the warp first.
    template <class F>
    __device__ static void add_in_warp(unsigned name, const Measure &measure, F add) {
        const unsigned named = __ballot_sync(~0u, name);
        if (!named)
            return;
        const unsigned common = __shfl_sync(~0u, name, lowest(named));
        const Measure sum = (name == common ? measure : Measure()).of_warp();
        if (threadIdx.x % 32 == 0)
            add(common, sum);
        if (name && name != common)
            add(name, measure);
    }

    __device__ static void add_runs(Shared &s, int stripe, int part, unsigned runs,
                                    const std::uint16_t (&tree_of)[S::slots_of_thread]) {
        const Line mask = s.mask(stripe), starts = s.starts_of_stripe(stripe);
        const auto add = [&](unsigned name, const Measure &m) { add_to(s.sums, name - 1, m); };
        unsigned name = 0; // 1 + tree
        Measure measure;
        each_run(runs, tree_of, [&](unsigned, unsigned tree, int column) {
            if (!s.label_of_tree[tree])
                return;
            if (name && name != tree + 1) {
                add(name, measure);
                measure = {};
            }
            name = tree + 1;
            measure +=
                Measure(s, stripe, extent(mask, starts, S::columns_of_thread * part + column));
        });
        add_in_warp(name, measure, add);
    }
    __device__ static void add_to(Sums &sums, unsigned tree, const Measure &m) {
        atomicAdd(sums.area_x + tree, m.area | m.x << 13);
        atomicAdd(sums.y + tree, m.y);
        atomicMin(sums.left + tree, m.left);
        atomicMax(sums.right + tree, m.right);
        atomicMax(sums.bottom + tree, m.bottom);
    }

    __device__ static void publish_sums(const Job &job, const Place<kind> &place, const Shared &s,
                                        int stripe, int part, const OwnWords &own,
                                        const BorderTrees &trees) {
        each_own_root(stripe, part, own, [&](unsigned key, unsigned label) {
            const unsigned id = place.id(key);
            const bool border = job.border_bits[id / 32] >> id % 32 & 1;
            if (!border && label <= job.capacity)
                write_record(record(job, label), in_image(place, Measure(s.sums, S::tree(key)),
                                                          key / S::slots_of_line));
        });
        for (const BorderTree &tree : trees) {
            unsigned label = tree.root == BorderTree::none ? 0 : s.label_of_tree[tree.tree];
            Measure measure;
            if (label > job.capacity)
                label = 0;
            if (label)
                measure = Measure(s.sums, tree.tree);
            add_in_warp(label, measure, [&](unsigned name, const Measure &m) {
                add_to(*record(job, name), in_image(place, m, 0));
            });
        }
    }
    /// In three stores: the number of stores is what the time goes by. The compiler,
    /// which knows only that the address is a multiple of 8, would make five. (To
    /// Number, which starts few records, they make no difference.)
    __device__ static void write_record(Record *to, const Record &r) {
        using Part = unsigned long long;
        const auto part = [](int low, int high) {
            return Part{unsigned(high)} << 32 | unsigned(low);
        };
        const Part a = part(r.left, r.top), b = part(r.right, r.bottom);
        const Part c = part(r.area, r.reserved), d = Part(r.sum_x), e = Part(r.sum_y);
        const bool aligned = reinterpret_cast<std::uintptr_t>(to) % 16 == 0;
        auto *out = reinterpret_cast<Part *>(to);
        auto *pairs = reinterpret_cast<ulonglong2 *>(out + !aligned);
        pairs[0] = aligned ? make_ulonglong2(a, b) : make_ulonglong2(b, c);
        pairs[1] = aligned ? make_ulonglong2(c, d) : make_ulonglong2(d, e);
        out[aligned ? 4 : 0] = aligned ? e : a;
    }
    __device__ static Record in_image(const Place<kind> &place, const Measure &m, int top) {
        return {place.x + m.left,
                place.y + top,
                place.x + m.right,
                place.y + m.bottom,
                int(m.area),
                0,
                std::int64_t{m.x} + std::int64_t{m.area} * place.x,
                std::int64_t{m.y} + std::int64_t{m.area} * place.y};
    }
    __device__ static void add_to(Record &record, const Record &more) {
        const auto sum = [](std::int64_t *to, std::int64_t value) {
            atomicAdd(reinterpret_cast<Line *>(to), static_cast<Line>(value));
        };
        atomicAdd(&record.area, more.area);
        sum(&record.sum_x, more.sum_x);
        sum(&record.sum_y, more.sum_y);
        atomicMin(&record.left, more.left);
        atomicMax(&record.right, more.right);
        atomicMax(&record.bottom, more.bottom);
    }
};

// ---- colours -------------------------------------------------------------------

struct ColorJob {
    Rows labels;
    Picture dst;
};

/// A thread paints the pixels that share their chroma, whose colour is that of the highest label.
struct Colors {
    static constexpr int threads = 128;
    using Job = ColorJob;

    __device__ static void run(const Job &job) {
        const Pixels &pixels = job.dst.pixels;
        const int width = pixels.site_width(), height = pixels.site_height();
        const int x = (blockIdx.x * threads + threadIdx.x) * width, y = blockIdx.y * height;
        if (x >= pixels.width)
            return;
        unsigned site = 0;
        for (int dy = 0; dy < height && y + dy < pixels.height; dy++)
            for (int dx = 0; dx < width && x + dx < pixels.width; dx++) {
                const unsigned label = job.labels.row<unsigned>(y + dy)[x + dx];
                put(job, 0, x + dx, y + dy, label_color(label));
                site = max(site, label);
            }
        const Color color = label_color(site);
        for (int c = 1; c < pixels.count; c++)
            put(job, c, x, y, color);
    }

  private:
    __device__ static void put(const Job &job, int channel, int x, int y, const Color &color) {
        const Pixels &pixels = job.dst.pixels;
        pixels.put(channel, x, y, pixels.value(channel, color), job.dst.rows());
    }
};

} // namespace gpv::cuda::ccl
