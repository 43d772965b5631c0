// SPDX-License-Identifier: BSD-2-Clause
// From pixels to colours: their codes, and how many there are of each, unless a warm start needs no
// colours.
#pragma once

#include "core/kmeans.hpp"
#include "cuda/colors.cuh"
#include "cuda/kmeans/tuning.hpp"

namespace gpv::cuda::kmeans {

using Wide = unsigned long long;

/// State kept from one run to the next.
struct State {
    unsigned signature; ///< encodes the parameters that a warm start needs; 0: begin anew
    int clusters;
    KmeansScene scene;
    Centroid centroids[max_kmeans_clusters];
};

/// Whether a run goes on from the one before, which only the device knows.
struct WarmStart {
    const State *state;
    unsigned signature; ///< encodes the parameters; 0: no warm start

    __device__ bool is_there() const { return signature && state->signature == signature; }
};

/// The image that is read.
struct Source : ColorSource {
    const LabTable *lab; ///< null for RGB

    __device__ __forceinline__ unsigned code(const Color &c) const {
        return color_code(lab ? lab->lab(c) : c);
    }
};

/// The codes of the strip from (x, y) on, as load_colors().
template <Layout layout>
__device__ __forceinline__ int load_codes(const Source &src, int x, int y,
                                          unsigned (&codes)[strip]) {
    return load_colors<layout>(src, x, y, codes, [&](const Color &c) { return src.code(c); });
}

/// Counts the pixels of every colour, and marks the cells that have some.
///
/// A block takes a part of the image that is about as high as wide, where the same colours come
/// again and again, and neighbours of theirs. It counts them in shared memory, in lines of eight
/// colours, and adds line after line to the counters in memory, where all eight cost as much as
/// one. A colour whose line finds no place is counted in memory at once.
template <Layout layout>
struct Histogram {
    static constexpr int threads = histogram_threads;
    static constexpr int min_blocks = histogram_blocks;
    static constexpr int words = cell_count / 32;
    static constexpr int line_colors = 8;
    static constexpr int band = 16; ///< strips of a row that a block reads before it goes on below
    static constexpr int round = 2 * threads; ///< strips until lines are added
    static_assert(round * strip <= 0xffff, "counts have 16 bits");
    struct Line {
        std::uint16_t counts[line_colors];
    };
    struct Job {
        Source src;
        unsigned *counters; ///< by code
        unsigned *occupied; ///< a bit for each cell
        unsigned places;    ///< for lines, a multiple of 4
        WarmStart unless;   ///< then there is nothing to do
    };

    /// How many places there are, where a block can have so much shared memory.
    static constexpr unsigned places_in(std::size_t shared) {
        return min_blocks * shared_bytes(histogram_places) <= shared ? histogram_places
                                                                     : histogram_places / 2;
    }
    static constexpr std::size_t shared_bytes(unsigned places) {
        return places * (sizeof(Line) + sizeof(unsigned)) + words * sizeof(unsigned);
    }
    static_assert(shared_bytes(histogram_places / 2) <= 64 << 10, "what every device has");

    /// Number of strips of an image, as they are shared out to blocks.
    static constexpr std::int64_t strips_of(int width, int height) {
        return std::int64_t{(width + strip * band - 1) / (strip * band)} * band * height;
    }

    __device__ static void run(const Job &job) {
        if (job.unless.is_there())
            return;
        const Histogram self(job);
        self.clear(shared_bytes(job.places));
        const Wide strips = strips_of(job.src.width, job.src.height);
        const auto begin = static_cast<unsigned>(strips * blockIdx.x / gridDim.x);
        const auto end = static_cast<unsigned>(strips * (blockIdx.x + 1) / gridDim.x);
        for (unsigned first = begin; first < end; first += round) {
            const unsigned last = min(end, first + round), lane = threadIdx.x % 32;
            for (unsigned i = first + threadIdx.x - lane; i < last; i += threads) // a warp at once
                self.count_strip(i + lane, last);
            __syncthreads();
            self.add_lines();
            __syncthreads();
            if (last < end)
                self.clear(job.places * (sizeof(Line) + sizeof(unsigned)));
        }
        for (int i = threadIdx.x; i < words; i += threads)
            if (self.seen[i])
                atomicOr(job.occupied + i, self.seen[i]);
    }

  private:
    __device__ explicit Histogram(const Job &job_)
        : job(job_), counts(shared_memory<Line>()),
          lines(reinterpret_cast<unsigned *>(counts + job.places)), seen(lines + job.places) {}

    __device__ void clear(std::size_t bytes) const {
        for (unsigned i = threadIdx.x; i < bytes / sizeof(uint4); i += threads)
            reinterpret_cast<uint4 *>(counts)[i] = {};
        __syncthreads();
    }

    __device__ void count_strip(unsigned i, unsigned end) const {
        const unsigned of_band = band * job.src.height;
        const unsigned y = i % of_band / band, x = (i / of_band * band + i % band) * strip;
        unsigned code = ~0u, pixels = 0;
        if (i < end && x < static_cast<unsigned>(job.src.width))
            count_runs(static_cast<int>(x), static_cast<int>(y), code, pixels);
        const unsigned live = __ballot_sync(~0u, pixels > 0);
        const unsigned first = static_cast<unsigned>(__ffs(static_cast<int>(live)) - 1) % 32;
        const unsigned color = __shfl_sync(~0u, code, static_cast<int>(first));
        if (__all_sync(~0u, pixels == 0 || code == color)) {
            pixels = warp_sum(pixels); // of a plain area, where all would queue up
            if (threadIdx.x % 32 != first)
                pixels = 0;
        }
        if (pixels)
            count(code, pixels);
    }

    /// All runs of equal colour but the last one of the strip.
    __device__ void count_runs(int x, int y, unsigned &code, unsigned &pixels) const {
        unsigned codes[strip];
        const int length = load_codes<layout>(job.src, x, y, codes);
        code = codes[0];
        pixels = 1;
#pragma unroll
        for (int i = 1; i < strip; i++) {
            if (i >= length)
                continue;
            if (codes[i] != code) {
                count(code, pixels);
                code = codes[i];
                pixels = 0;
            }
            pixels++;
        }
    }

    __device__ void count(unsigned code, unsigned pixels) const {
        const unsigned line = code / line_colors;
        const int place = find_place(line);
        if (place >= 0) {
            auto *pairs = reinterpret_cast<unsigned *>(counts[place].counts);
            atomicAdd(pairs + code % line_colors / 2, pixels << 16 * (code % 2));
        } else {
            atomicAdd(job.counters + code, pixels);
            mark(line);
        }
    }

    /// Where the line is counted; -1: nowhere. Four lines that lie side by side in memory do so
    /// here, if they can.
    __device__ int find_place(unsigned line) const {
        constexpr unsigned golden =
            0x9e3779b1; // 2^32 by the golden ratio, as hash functions have it
        unsigned place = __umulhi(line / 4 * golden, job.places / 4) * 4 + line % 4;
        for (int i = 0; i < max_probes; i++) {
            unsigned there = load_volatile(lines + place);
            if (there == 0)
                there = atomicCAS(lines + place, 0u, line + 1);
            if (there == 0 || there == line + 1)
                return static_cast<int>(place);
            place = place + 4 < job.places ? place + 4 : place + 4 - job.places;
        }
        return -1;
    }

    /// Eight lanes for each.
    __device__ void add_lines() const {
        const unsigned lane = threadIdx.x % line_colors;
#pragma unroll 8
        for (unsigned i = threadIdx.x / line_colors; i < job.places; i += threads / line_colors) {
            const unsigned pixels = counts[i].counts[lane];
            if (pixels)
                atomicAdd(job.counters + (lines[i] - 1) * line_colors + lane, pixels);
        }
        for (unsigned i = threadIdx.x; i < job.places; i += threads)
            if (lines[i])
                mark(lines[i] - 1);
    }

    __device__ void mark(unsigned line) const {
        constexpr int lines_of_cell = cell_colors / line_colors;
        const unsigned cell = line / lines_of_cell, bit = 1u << cell % 32;
        if (!(load_volatile(seen + cell / 32) & bit))
            atomicOr(seen + cell / 32, bit);
    }

    const Job &job;
    Line *counts;
    unsigned *lines; ///< the number of the line at each place, plus 1; 0: none
    unsigned *seen;  ///< a bit for each cell
};

} // namespace gpv::cuda::kmeans
