// SPDX-License-Identifier: BSD-2-Clause
// Kernels of segmentation that go over the picture: they count colours, measure
// how much neighbours differ, and write links, terminals and pictures. A thread
// has a strip of pixels of a row.
#pragma once

#include "core/segment_edge.hpp"
#include "core/segment_scene.hpp"
#include "cuda/colors.cuh"
#include "cuda/segment/tuning.hpp"

namespace gpv::cuda::segment {

using namespace gpv::segment;
using Wide = unsigned long long;

/// Counters that are zero when a fit begins.
struct Control {
    alignas(128) unsigned arrived; ///< arrivals at the barrier of Fit
    unsigned unknown;              ///< whether the graph has a pixel that is not known
    Wide differences;              ///< sum of squared differences of neighbours
    Moments sums[3][2 * components];
    unsigned counts[known_kinds][cells];
};
static_assert(sizeof(Control) % sizeof(uint4) == 0);

struct Clear {
    struct Job {
        uint4 *control;
    };
    static constexpr int threads = clear_threads;
    static constexpr unsigned words = sizeof(Control) / sizeof(uint4);

    __device__ static void run(const Job &job) {
        for (unsigned i = blockIdx.x * threads + threadIdx.x; i < words; i += gridDim.x * threads)
            job.control[i] = {};
    }
};

/// Inputs and outputs.
struct PixelJob {
    ColorSource src;
    Rows seeds; ///< data is null: no seeds
    Rows mask;
    Rows dst;  ///< of a cutout
    Rect rect; ///< all of src if none is given
    Rect near; ///< what colours are learned from
    float weight, sigma;
    const Model *model;
    const unsigned *idle;     ///< where it is not 0, nothing is done; may be null
    const Contrast *contrast; ///< in a static scene; may be null
    Control *control;
    int *terminals;
    int *links[4];
    int stride; ///< stride of terminals and links, pixels
    int dst_red;
    bool dst_in_words; ///< its pixels of 4 bytes can be written at once
    bool alpha;        ///< the fourth channel of src is alpha
    bool unseen;       ///< the host has not seen the seeds

    /// Whether the contrast of neighbours is known.
    __device__ bool knows_contrast(int directions) const {
        return contrast && contrast->holds(src.width, src.height, directions);
    }
    __device__ Known known(int x, int y) const {
        if (!rect.has(x, y))
            return near.has(x, y) ? known_background : far_background;
        const bool at_edge = x == 0 || y == 0 || x == src.width - 1 || y == src.height - 1;
        return known_of(seeds.data ? seeds.row<const std::uint8_t>(y)[x] : GPV_SEGMENT_SEED_UNKNOWN,
                        at_edge);
    }
};

/// Calls Derived::at(job, x, y, inside) by all threads; inside: whether the strip is in the
/// picture.
template <class Derived>
struct OfStrips {
    using Job = PixelJob;
    static constexpr int threads = strips_across * strips_down;

    static dim3 grid(int width, int height) {
        return dim3(blocks(width, strip * strips_across), blocks(height, strips_down));
    }
    __device__ static void run(const Job &job) {
        const int x = (blockIdx.x * strips_across + threadIdx.x % strips_across) * strip;
        const int y = blockIdx.y * strips_down + threadIdx.x / strips_across;
        Derived::at(job, x, y, x < job.src.width && y < job.src.height);
    }
};

__device__ __forceinline__ bool is_idle(const unsigned *idle) {
    return idle && *idle;
}

/// For internal planes, whose rows are padded to whole strips.
__device__ __forceinline__ void store_strip(int *to, const int (&values)[strip]) {
    static_assert(strip == 8);
    reinterpret_cast<int4 *>(to)[0] = make_int4(values[0], values[1], values[2], values[3]);
    reinterpret_cast<int4 *>(to)[1] = make_int4(values[4], values[5], values[6], values[7]);
}

/// How many pixels there are of each kind in each cell. of_cut: they are known as the mask says.
///
/// A block takes strips one behind the other, where the same few cells come again and again. It
/// counts them in shared memory, and adds what it has to the counters in memory at the end. What
/// finds no place is counted there at once.
template <Layout layout, bool of_cut>
struct Count {
    using Job = PixelJob;
    static constexpr int threads = count_threads;
    static constexpr unsigned places = count_places, none = ~0u;
    static constexpr std::size_t shared_bytes = 2 * places * sizeof(unsigned);
    static_assert((places & (places - 1)) == 0);

    __device__ static void run(const Job &job) {
        if (is_idle(job.idle))
            return;
        unsigned *const keys = shared_memory<unsigned>();
        for (unsigned i = threadIdx.x; i < places; i += threads) {
            keys[i] = none;
            keys[places + i] = 0;
        }
        __syncthreads();
        const Wide across = strips_of_row(job.src.width), strips = across * job.src.height;
        const Wide end = strips * (blockIdx.x + 1) / gridDim.x;
        for (Wide i = strips * blockIdx.x / gridDim.x + threadIdx.x; i < end; i += threads)
            count_strip(job, static_cast<int>(i % across) * strip, static_cast<int>(i / across));
        __syncthreads();
        for (unsigned i = threadIdx.x; i < places; i += threads)
            if (keys[places + i])
                atomicAdd(&job.control->counts[0][0] + keys[i], keys[places + i]);
    }

  private:
    __device__ static void count_strip(const Job &job, int x, int y) {
        int cell[strip];
        const int length =
            load_colors<layout>(job.src, x, y, cell, [](const Color &c) { return cell_of(c); });
        unsigned key = none, pixels = 0;
#pragma unroll
        for (int i = 0; i < strip; i++) {
            if (i >= length)
                continue;
            const auto here = static_cast<unsigned>(kind(job, x + i, y) * cells + cell[i]);
            if (here != key) {
                add(job, key, pixels);
                key = here;
                pixels = 0;
            }
            pixels++;
        }
        add(job, key, pixels);
    }
    __device__ static void add(const Job &job, unsigned key, unsigned pixels) {
        if (pixels == 0)
            return;
        unsigned *const keys = shared_memory<unsigned>();
        unsigned place = key * 2654435761u / (0xffffffffu / places + 1);
        for (int i = 0; i < count_probes; i++) {
            unsigned there = load_volatile(keys + place);
            if (there == none)
                there = atomicCAS(keys + place, none, key);
            if (there == none || there == key) {
                atomicAdd(keys + places + place, pixels);
                return;
            }
            place = (place + 1) % places;
        }
        atomicAdd(&job.control->counts[0][0] + key, pixels);
    }
    __device__ static int kind(const PixelJob &job, int x, int y) {
        if constexpr (of_cut)
            return job.near.has(x, y) ? known_of(job.mask.row<const std::uint8_t>(y)[x], false)
                                      : far_background;
        else
            return counted_as(job.known(x, y));
    }
};

/// Colours of a strip and of its neighbours.
template <Layout layout, int directions>
struct Neighbourhood {
    Color own[strip + 1];   ///< and the one to the right
    Color below[strip + 2]; ///< from the one to the left of the strip on
    int x, y, width, height;

    __device__ Neighbourhood(const ColorSource &src, int x_, int y_)
        : x(x_), y(y_), width(src.width), height(src.height) {
        const auto itself = [](const Color &c) { return c; };
        load_colors<layout>(src, x, y, own, itself);
        if (x + strip < width)
            own[strip] = color_at<layout>(src, x + strip, y);
        if (y + 1 == height)
            return;
        load_colors<layout>(src, x, y + 1, below + 1, itself);
        if constexpr (directions == 8) {
            if (x > 0)
                below[0] = color_at<layout>(src, x - 1, y + 1);
            if (x + strip < width)
                below[strip + 1] = color_at<layout>(src, x + strip, y + 1);
        }
    }

    /// Squared difference of the i-th pixel and its neighbour in a direction; -1 if there is none.
    __device__ int difference(int i, int direction) const {
        const int dx = step_x(direction, directions), dy = step_y(direction, directions);
        if (x + i >= width || x + i + dx < 0 || x + i + dx >= width || y + dy >= height)
            return -1;
        return squared_difference(own[i], dy ? below[i + 1 + dx] : own[i + dx]);
    }
};

/// The sum of squared differences of neighbours.
template <Layout layout, int directions>
struct MeasureContrast : OfStrips<MeasureContrast<layout, directions>> {
    __device__ static void at(const PixelJob &job, int x, int y, bool inside) {
        if (job.knows_contrast(directions))
            return;
        unsigned sum = 0; // a warp's is at most 256 * 4 * 3 * 255^2, less than 2^28
        if (inside) {
            const Neighbourhood<layout, directions> here(job.src, x, y);
#pragma unroll
            for (int i = 0; i < strip; i++)
#pragma unroll
                for (int d = 0; d < directions / 2; d++)
                    sum += max(here.difference(i, d), 0);
        }
        sum = warp_sum(sum);
        if (threadIdx.x % 32 == 0 && sum)
            atomicAdd(&job.control->differences, static_cast<Wide>(sum));
    }
};

/// Lets what has been measured hold, if it has been.
struct HoldContrast {
    struct Job {
        const Control *control;
        Contrast *contrast;
        int width, height, connectivity;
    };
    static constexpr int threads = 32;

    __device__ static void run(const Job &job) {
        if (threadIdx.x == 0 && !job.contrast->holds(job.width, job.height, job.connectivity))
            *job.contrast = {job.control->differences, job.width, job.height, job.connectivity};
    }
};

/// Capacities of links.
template <Layout layout, int directions>
struct Links : OfStrips<Links<layout, directions>> {
    using Shared = float;

    __device__ static void at(const PixelJob &job, int x, int y, bool inside) {
        Shared *const falloff = shared_memory<Shared>();
        if (threadIdx.x == 0) {
            const Wide sum = job.contrast ? job.contrast->differences : job.control->differences;
            *falloff =
                falloff_of(job.sigma, sum, links_of(job.src.width, job.src.height, directions));
        }
        __syncthreads();
        if (!inside)
            return;
        const Neighbourhood<layout, directions> here(job.src, x, y);
#pragma unroll
        for (int d = 0; d < directions / 2; d++) {
            const float there = unit_of_link(d, directions);
            int capacities[strip];
#pragma unroll
            for (int i = 0; i < strip; i++)
                capacities[i] = link_of(max(here.difference(i, d), 0), *falloff, there);
            store_strip(job.links[d] + static_cast<std::int64_t>(y) * job.stride + x, capacities);
        }
    }
};

/// Capacities of terminals. Where the host has not seen the seeds, it is here that a meaningless
/// one is found.
template <Layout layout, gpv_segment_model kind>
struct Terminals : OfStrips<Terminals<layout, kind>> {
    struct Shared {
        std::uint32_t present[2];
        Gaussian mixture[2][components];
    };

    __device__ static void at(const PixelJob &job, int x, int y, bool inside) {
        if (is_idle(job.idle))
            return;
        auto &shared = *shared_memory<Shared>();
        static_assert(sizeof(Shared) % 4 == 0 && offsetof(Model, present) == 0 &&
                      offsetof(Model, mixture) == offsetof(Shared, mixture));
        for (unsigned i = threadIdx.x; i < sizeof(Shared) / 4; i += Terminals::threads)
            reinterpret_cast<unsigned *>(&shared)[i] =
                reinterpret_cast<const unsigned *>(job.model)[i];
        __syncthreads();
        if (!inside)
            return;
        int values[strip];
        const int length = load_colors<layout>(job.src, x, y, values, [&](const Color &c) {
            return terminal_of(
                preference<kind>(shared.present, shared.mixture, job.model->table, c), job.weight);
        });
        bool any_unknown = false;
#pragma unroll
        for (int i = 0; i < strip; i++) {
            if (i >= length)
                continue;
            const Known known = job.known(x + i, y);
            if (is_background(known))
                values[i] = -max_terminal;
            else if (known == known_foreground)
                values[i] = max_terminal;
            else if (known == meaningless)
                values[i] = terminal_of_fault(job.seeds.row<const std::uint8_t>(y)[x + i]);
            any_unknown = any_unknown || !is_known(known);
        }
        if (job.unseen && any_unknown && !load_volatile(&job.control->unknown))
            atomicExch(&job.control->unknown, 1u);
        store_strip(job.terminals + static_cast<std::int64_t>(y) * job.stride + x, values);
    }
};

/// Makes a graph illegal that has no pixel that is not known.
struct RequireUnknown {
    struct Job {
        const Control *control;
        int *terminals;
    };
    static constexpr int threads = 32;

    __device__ static void run(const Job &job) {
        if (threadIdx.x == 0 && !job.control->unknown)
            *job.terminals = terminal_of_fault(all_known);
    }
};

/// Calls Derived::paint(job, x, y) for all pixels, of which those beside each other belong to
/// threads beside each other.
template <class Derived>
struct OfPixels {
    using Job = PixelJob;
    static constexpr int threads = paint_threads;

    static dim3 grid(int width, int height) {
        return dim3(blocks(width, threads), static_cast<unsigned>(height));
    }
    __device__ static void run(const Job &job) {
        const int x = blockIdx.x * threads + threadIdx.x, y = blockIdx.y;
        if (x < job.src.width && !is_idle(job.idle))
            Derived::paint(job, x, y, job.mask.row<const std::uint8_t>(y)[x]);
    }
};

struct OverlayJob {
    Picture src, dst;
    Rows mask;
    const unsigned *idle; ///< as of PixelJob
};

/// The picture with its background grey and half as bright.
struct PaintOverlay {
    static constexpr int threads = paint_threads;
    using Job = OverlayJob;

    __device__ static void run(const Job &job) {
        const int x = blockIdx.x * threads + threadIdx.x, y = blockIdx.y;
        if (x < job.src.pixels.width && !is_idle(job.idle))
            overlay(job.src.pixels, x, y, job.mask.row<const std::uint8_t>(y)[x] == mask_background,
                    job.src.rows(), job.dst.rows());
    }
};

/// The picture with the mask as alpha, times that of the picture.
template <Layout layout>
struct PaintCutout : OfPixels<PaintCutout<layout>> {
    __device__ static void paint(const PixelJob &job, int x, int y, int mask) {
        const Color c = color_at<layout>(job.src, x, y);
        int alpha = mask;
        if constexpr (layout == Layout::rgbx)
            if (job.alpha)
                alpha = product_of_alphas(
                    alpha, job.src.planes[0].row<const std::uint8_t>(y)[4 * std::int64_t{x} + 3]);
        auto *to = job.dst.row<std::uint8_t>(y) + 4 * std::int64_t{x};
        const int first = job.dst_red ? c.blue : c.red, third = job.dst_red ? c.red : c.blue;
        if (job.dst_in_words) {
            *reinterpret_cast<Word *>(to) = first | c.green << 8 | third << 16 | Word(alpha) << 24;
            return;
        }
        to[0] = static_cast<std::uint8_t>(first);
        to[1] = static_cast<std::uint8_t>(c.green);
        to[2] = static_cast<std::uint8_t>(third);
        to[3] = static_cast<std::uint8_t>(alpha);
    }
};

} // namespace gpv::cuda::segment
