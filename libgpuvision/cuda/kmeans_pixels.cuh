// SPDX-License-Identifier: BSD-2-Clause
// From pixels to colours: how they are read, and how many there are of each.
#pragma once

#include "core/kmeans.hpp"
#include "cuda/kmeans_tuning.hpp"
#include "cuda/pixels.cuh"

namespace gpv::cuda::kmeans {

enum class Layout { gray, rgb, rgbx, nv12, i420 };

constexpr bool is_yuv(Layout layout) {
    return layout == Layout::nv12 || layout == Layout::i420;
}

/// Pixels of a row that a thread treats at once.
inline constexpr int strip = 8;

/// The image that is read.
struct Source {
    Rows planes[3];
    int width, height;
    int red;      ///< the channel that holds R, 0 or 2
    bool aligned; ///< strips can be read in words
    RgbTransform yuv;
    const LabTable *lab; ///< null for RGB

    __device__ __forceinline__ unsigned code(const Color &c) const {
        return color_code(lab ? lab->lab(c) : c);
    }
};

__device__ __forceinline__ unsigned sum_up_to_lane(unsigned own) {
    const int lane = threadIdx.x % 32;
    for (int d = 1; d < 32; d *= 2) {
        const unsigned other = __shfl_up_sync(~0u, own, d);
        if (lane >= d)
            own += other;
    }
    return own;
}

/// The i-th of bytes in words.
__device__ __forceinline__ int byte_of(const Word *words, int i) {
    return static_cast<int>(words[i / 4] >> (8 * (i % 4)) & 255);
}

/// Words that begin at a multiple of 8 bytes.
template <int count>
__device__ __forceinline__ void load_words(Word *to, const std::uint8_t *from) {
    static_assert(count % 2 == 0);
#pragma unroll
    for (int i = 0; i < count; i += 2) {
        const uint2 v = *reinterpret_cast<const uint2 *>(from + 4 * i);
        to[i] = v.x;
        to[i + 1] = v.y;
    }
}

template <int count>
__device__ __forceinline__ void store_words(std::uint8_t *to, const Word *from) {
    static_assert(count % 2 == 0);
#pragma unroll
    for (int i = 0; i < count; i += 2)
        *reinterpret_cast<uint2 *>(to + 4 * i) = make_uint2(from[i], from[i + 1]);
}

/// The colour of one pixel, in RGB.
template <Layout layout>
__device__ Color rgb_at(const Source &src, int x, int y) {
    if constexpr (layout == Layout::gray) {
        const int v = src.planes[0].row<const std::uint8_t>(y)[x];
        return {v, v, v};
    } else if constexpr (is_yuv(layout)) {
        const int luma = src.planes[0].row<const std::uint8_t>(y)[x];
        const auto *u = src.planes[1].row<const std::uint8_t>(y / 2);
        if constexpr (layout == Layout::nv12)
            return src.yuv(luma, u[x / 2 * 2], u[x / 2 * 2 + 1]);
        else
            return src.yuv(luma, u[x / 2], src.planes[2].row<const std::uint8_t>(y / 2)[x / 2]);
    } else {
        constexpr int channels = layout == Layout::rgb ? 3 : 4;
        const auto *pixel = src.planes[0].row<const std::uint8_t>(y) + std::int64_t{x} * channels;
        return {pixel[src.red], pixel[1], pixel[2 - src.red]};
    }
}

/// Of a whole strip that can be read in words.
template <Layout layout>
__device__ __forceinline__ void load_strip(const Source &src, int x, int y,
                                           unsigned (&codes)[strip]) {
    const auto *row = src.planes[0].row<const std::uint8_t>(y);
    if constexpr (layout == Layout::gray) {
        Word luma[strip / 4];
        load_words<strip / 4>(luma, row + x);
#pragma unroll
        for (int i = 0; i < strip; i++) {
            const int v = byte_of(luma, i);
            codes[i] = src.code({v, v, v});
        }
    } else if constexpr (is_yuv(layout)) {
        Word luma[strip / 4], chroma[strip / 4];
        load_words<strip / 4>(luma, row + x);
        if constexpr (layout == Layout::nv12) {
            load_words<strip / 4>(chroma, src.planes[1].row<const std::uint8_t>(y / 2) + x);
        } else {
            chroma[0] = *reinterpret_cast<const Word *>(
                src.planes[1].row<const std::uint8_t>(y / 2) + x / 2);
            chroma[1] = *reinterpret_cast<const Word *>(
                src.planes[2].row<const std::uint8_t>(y / 2) + x / 2);
        }
        constexpr int step = layout == Layout::nv12 ? 2 : 1, to_v = layout == Layout::nv12 ? 1 : 4;
#pragma unroll
        for (int i = 0; i < strip; i++) {
            const int site = i / 2 * step;
            codes[i] = src.code(
                src.yuv(byte_of(luma, i), byte_of(chroma, site), byte_of(chroma, site + to_v)));
        }
    } else {
        constexpr int channels = layout == Layout::rgb ? 3 : 4;
        Word words[strip * channels / 4];
        load_words<strip * channels / 4>(words, row + std::int64_t{x} * channels);
#pragma unroll
        for (int i = 0; i < strip; i++) {
            const int a = byte_of(words, i * channels), b = byte_of(words, i * channels + 2);
            codes[i] =
                src.code({src.red ? b : a, byte_of(words, i * channels + 1), src.red ? a : b});
        }
    }
}

/// The colours of the strip from (x, y) on; returns how many of its pixels are in the image.
template <Layout layout>
__device__ __forceinline__ int load_codes(const Source &src, int x, int y,
                                          unsigned (&codes)[strip]) {
    const int count = min(src.width - x, strip);
    if (src.aligned && count == strip) {
        load_strip<layout>(src, x, y, codes);
        return strip;
    }
#pragma unroll
    for (int i = 0; i < strip; i++)
        codes[i] = i < count ? src.code(rgb_at<layout>(src, x + i, y)) : 0;
    return count;
}

/// Counts the pixels of every colour, and marks the cells that have some.
template <Layout layout>
struct Histogram {
    static constexpr int threads = histogram_threads;
    static constexpr int min_blocks = histogram_blocks;
    static constexpr int words = cell_count / 32;
    static constexpr std::size_t shared_bytes = words * sizeof(unsigned);
    struct Job {
        Source src;
        unsigned *counters; ///< by code
        unsigned *occupied; ///< a bit for each cell
    };

    __device__ static void run(const Job &job) {
        unsigned *seen = shared_memory<unsigned>();
        for (int i = threadIdx.x; i < words; i += threads)
            seen[i] = 0;
        __syncthreads();
        const unsigned row_strips = (job.src.width + strip - 1) / strip;
        const unsigned strips = row_strips * job.src.height, lane = threadIdx.x % 32;
        const unsigned first = blockIdx.x * threads + threadIdx.x - lane;
        for (unsigned i = first; i < strips; i += gridDim.x * threads) { // a warp at once
            const unsigned mine = i + lane;
            unsigned code = ~0u, pixels = 0;
            if (mine < strips)
                count_runs(job, seen, mine % row_strips * strip, mine / row_strips, code, pixels);
            if (__all_sync(~0u, code == __shfl_sync(~0u, code, 0))) {
                pixels = sum_of_warp(pixels); // of a plain area, where all would queue up
                if (lane > 0)
                    pixels = 0;
            }
            if (pixels)
                count(job, seen, code, pixels);
        }
        __syncthreads();
        for (int i = threadIdx.x; i < words; i += threads)
            if (seen[i])
                atomicOr(job.occupied + i, seen[i]);
    }

  private:
    __device__ static void count(const Job &job, unsigned *seen, unsigned code, unsigned pixels) {
        atomicAdd(job.counters + code, pixels);
        const unsigned cell = code >> cell_bits, bit = 1u << cell % 32;
        if (!(load_now(seen + cell / 32) & bit))
            atomicOr(seen + cell / 32, bit);
    }

    /// All runs of equal colour but the last one of the strip.
    __device__ static void count_runs(const Job &job, unsigned *seen, int x, int y, unsigned &code,
                                      unsigned &pixels) {
        unsigned codes[strip];
        const int length = load_codes<layout>(job.src, x, y, codes);
        code = codes[0];
        pixels = 1;
#pragma unroll
        for (int i = 1; i < strip; i++) {
            if (i >= length)
                continue;
            if (codes[i] != code) {
                count(job, seen, code, pixels);
                code = codes[i];
                pixels = 0;
            }
            pixels++;
        }
    }
};

} // namespace gpv::cuda::kmeans
