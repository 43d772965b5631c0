// SPDX-License-Identifier: BSD-2-Clause
// From colours back to pixels, and the results of a run.
#pragma once

#include "cuda/kmeans/brute_force.cuh"
#include "cuda/kmeans/cells.cuh"

namespace gpv::cuda::kmeans {

template <class Sum>
struct FinishJob {
    Control *control;
    unsigned *occupied;
    Outcome<Sum> *outcome;
    Sum *sums;
    State *state;
    unsigned signature;   ///< new signature of the state, if the next run may go on from it
    WarmStart warm;       ///< whether this run has gone on
    KmeansResult *report; ///< in page-locked memory; may be null, as may all that follows
    Centroid *centroids;
    std::int32_t *counts;
    KmeansResult *result;
};

/// But for the centroids, which are there already.
template <class Sum>
__device__ void leave_state(const FinishJob<Sum> &job, const KmeansResult &found,
                            const ClusterSums &all) {
    State &state = *job.state;
    const double inertia = found.inertia / static_cast<double>(all.count);
    const bool keep = may_go_on(state.scene, look_of(job.control->squares, all), inertia,
                                found.used(), job.warm.is_there());
    state.signature = keep ? job.signature : 0;
    state.clusters = found.clusters;
}

struct FinishShared {
    double terms[max_kmeans_clusters]; ///< of inertia, by cluster
    Wide all[4];                       ///< count, x, y, z of all pixels
};

/// Writes the results and prepares the state for the next run. Called by one block with a thread
/// for each cluster.
template <class Sum>
__device__ void finish(const FinishJob<Sum> &job, FinishShared &shared) {
    const int i = threadIdx.x;
    const Outcome<Sum> &outcome = *job.outcome;
    const int clusters = outcome.clusters;
    if (i < 4)
        shared.all[i] = 0;
    __syncthreads();
    bool empty = false;
    ClusterSums sums{};
    if (i < clusters) {
        const Sum *before = outcome.totals + 4 * i;
        const Sum *last = job.sums + outcome.phase * 4 * max_kmeans_clusters + 4 * i;
        const auto total = [&](int field) { return static_cast<Sum>(before[field] + last[field]); };
        sums = {total(0), total(1), total(2), total(3)};
        const Centroid c = outcome.centroids[i];
        shared.terms[i] = inertia_term(c, sums);
        empty = sums.count == 0;
        const auto count = static_cast<std::int32_t>(sums.count);
        job.state->centroids[i] = c;
        if (job.centroids)
            job.centroids[i] = c;
        if (job.counts)
            job.counts[i] = count;
    }
    const Wide own[4] = {sums.count, sums.x, sums.y, sums.z};
    for (int field = 0; field < 4; field++) {
        const Wide sum = sum_of_lanes<32>(own[field]);
        if (i % 32 == 0)
            atomicAdd(shared.all + field, sum);
    }
    const int empties = __syncthreads_count(empty);
    for (int s = i; s < phases * 4 * max_kmeans_clusters; s += blockDim.x)
        job.sums[s] = 0;
    for (int w = i; w < cell_count / 32; w += blockDim.x)
        job.occupied[w] = 0;
    if (i > 0)
        return;
    double inertia = static_cast<double>(job.control->squares);
    for (int c = 0; c < clusters; c++)
        inertia += shared.terms[c];
    const KmeansResult found{.struct_size = sizeof(KmeansResult),
                             .clusters = clusters,
                             .iterations = outcome.iterations,
                             .empty = empties,
                             .converged = outcome.converged,
                             .reserved = 0,
                             .inertia = inertia < 0 ? 0 : inertia};
    if (job.report)
        *job.report = found;
    if (job.result)
        *job.result = found;
    leave_state(job, found, {shared.all[0], shared.all[1], shared.all[2], shared.all[3]});
    *job.control = {};
}

/// The output colour of a cluster: RGB, or YUV.
struct Paint {
    bool yuv;
    YuvTransform transform;
    const LabTable *lab;

    __device__ unsigned operator()(const Centroid &centroid) const {
        const Color c = paint(centroid, lab);
        if (!yuv)
            return static_cast<unsigned>(c.red | c.green << 8 | c.blue << 16);
        return static_cast<unsigned>(clamp_byte(transform.y(c)) | clamp_byte(transform.u(c)) << 8 |
                                     clamp_byte(transform.v(c)) << 16);
    }
};

/// A thread labels a strip of a row, of YUV of two rows, and paints it. The first block finishes.
template <Layout layout, class Sum>
struct Label {
    static constexpr int threads = label_threads;
    static constexpr int rows = is_yuv(layout) ? 2 : 1;
    static_assert(threads == max_kmeans_clusters, "a thread for each cluster");
    using Shared = FinishShared;
    static_assert(sizeof(Shared) >= max_kmeans_clusters * sizeof(unsigned), "room for the palette");
    struct Job {
        FinishJob<Sum> finish;
        Source src;
        const std::uint8_t *pixel_labels; ///< labels by strip; null: use the labels of colours
        const std::uint8_t *slab_labels;
        const std::uint8_t *color_labels;
        Rows labels; ///< data is null: no labels
        Rows dst[3]; ///< data is null: no such plane
        Paint paint;
        bool aligned_labels, aligned_dst;
    };

    __device__ static void run(const Job &job) {
        if (blockIdx.x == 0)
            return finish(job.finish, *shared_memory<Shared>());
        auto *palette = shared_memory<unsigned>();
        const Outcome<Sum> &outcome = *job.finish.outcome;
        if (job.dst[0].data && static_cast<int>(threadIdx.x) < outcome.clusters)
            palette[threadIdx.x] = job.paint(outcome.centroids[threadIdx.x]);
        __syncthreads();
        const unsigned strip_of_image = (blockIdx.x - 1) * threads + threadIdx.x;
        const unsigned row_strips = strips_of_row(job.src.width);
        const int x = strip_of_image % row_strips * strip;
        const int y = strip_of_image / row_strips * rows;
        if (y >= job.src.height)
            return;
        unsigned labels[rows][strip];
        int count = 0, live = 0;
#pragma unroll
        for (int r = 0; r < rows; r++)
            if (y + r < job.src.height) {
                count = find_labels(job, x, y + r, labels[r]);
                live++;
            }
#pragma unroll
        for (int r = 0; r < rows; r++)
            if (r < live) {
                if (job.labels.data)
                    store_bytes(job.labels.template row<std::uint8_t>(y + r) + x,
                                job.aligned_labels, count, [&](int i) { return labels[r][i]; });
                if (job.dst[0].data)
                    paint_row(job, x, y + r, count, labels[r], palette);
            }
        if constexpr (is_yuv(layout))
            if (job.dst[0].data)
                paint_chroma(job, x, y, count, live, labels, palette);
    }

  private:
    __device__ static int find_labels(const Job &job, int x, int y, unsigned (&labels)[strip]) {
        if constexpr (std::is_same_v<Sum, unsigned>) // others have too many pixels
            if (job.pixel_labels)
                return load_labels(job, x, y, labels);
        unsigned codes[strip];
        const int count = load_codes<layout>(job.src, x, y, codes);
#pragma unroll
        for (int i = 0; i < strip; i++)
            labels[i] = job.slab_labels[codes[i] >> slab_bits];
#pragma unroll
        for (int i = 0; i < strip; i++)
            if (labels[i] == mixed_slab)
                labels[i] = job.color_labels[codes[i]];
        return count;
    }

    __device__ static int load_labels(const Job &job, int x, int y, unsigned (&labels)[strip]) {
        const unsigned row = strips_of_row(job.src.width) * strip * y;
        Word words[strip / 4];
        load_words<strip / 4>(words, job.pixel_labels + row + x);
#pragma unroll
        for (int i = 0; i < strip; i++)
            labels[i] = byte_of(words, i);
        return min(job.src.width - x, strip);
    }

    /// value(i): the i-th byte.
    template <class F>
    __device__ static void store_bytes(std::uint8_t *to, bool aligned, int count, F value) {
        if (aligned && count == strip) {
            Word words[strip / 4]{};
#pragma unroll
            for (int i = 0; i < strip; i++)
                words[i / 4] |= static_cast<Word>(value(i)) << (8 * (i % 4));
            return store_words<strip / 4>(to, words);
        }
#pragma unroll
        for (int i = 0; i < strip; i++)
            if (i < count)
                to[i] = static_cast<std::uint8_t>(value(i));
    }

    __device__ static void paint_row(const Job &job, int x, int y, int count,
                                     const unsigned (&labels)[strip], const unsigned *palette) {
        auto *row = job.dst[0].template row<std::uint8_t>(y);
        if constexpr (is_yuv(layout)) {
            store_bytes(row + x, job.aligned_dst, count,
                        [&](int i) { return palette[labels[i]] & 255; });
        } else if constexpr (layout == Layout::gray) {
            store_bytes(row + x, job.aligned_dst, count,
                        [&](int i) { return gray_of(palette[labels[i]]); });
        } else {
            constexpr int channels = layout == Layout::rgb ? 3 : 4;
            const auto *from =
                job.src.planes[0].template row<const std::uint8_t>(y) + std::int64_t{x} * channels;
            paint_pixels<channels>(job, from, row + std::int64_t{x} * channels, count, labels,
                                   palette);
        }
    }

    __device__ static unsigned gray_of(unsigned color) {
        return static_cast<unsigned>(grey(color_of_key(color)));
    }

    template <int channels>
    __device__ static void paint_pixels(const Job &job, const std::uint8_t *from, std::uint8_t *to,
                                        int count, const unsigned (&labels)[strip],
                                        const unsigned *palette) {
        constexpr int length = strip * channels / 4;
        if (job.aligned_dst && job.src.aligned && count == strip) {
            Word words[length]{};
            if constexpr (channels == 4)
                load_words<length>(words, from); // for the fourth channel
#pragma unroll
            for (int i = 0; i < strip; i++) {
                const Color c = color_of_key(palette[labels[i]]);
                const int first = job.src.red ? c.blue : c.red,
                          third = job.src.red ? c.red : c.blue;
                if constexpr (channels == 4) {
                    words[i] = (words[i] & 0xff000000u) | first | c.green << 8 | third << 16;
                } else {
                    put(words, 3 * i, first);
                    put(words, 3 * i + 1, c.green);
                    put(words, 3 * i + 2, third);
                }
            }
            return store_words<length>(to, words);
        }
        for (int i = 0; i < count; i++) {
            const Color c = color_of_key(palette[label_at(labels, i)]);
            to[channels * i + job.src.red] = static_cast<std::uint8_t>(c.red);
            to[channels * i + 1] = static_cast<std::uint8_t>(c.green);
            to[channels * i + 2 - job.src.red] = static_cast<std::uint8_t>(c.blue);
            if constexpr (channels == 4)
                to[channels * i + 3] = from[channels * i + 3];
        }
    }
    __device__ static void put(Word *words, int byte, int value) {
        words[byte / 4] |= static_cast<Word>(value) << (8 * (byte % 4));
    }
    /// Without an index into registers.
    __device__ static unsigned label_at(const unsigned (&labels)[strip], int i) {
        unsigned label = labels[0];
#pragma unroll
        for (int j = 1; j < strip; j++)
            if (j == i)
                label = labels[j];
        return label;
    }

    __device__ static void paint_chroma(const Job &job, int x, int y, int count, int live,
                                        const unsigned (&labels)[rows][strip],
                                        const unsigned *palette) {
        constexpr int sites = strip / 2;
        const int site_count = (count + 1) / 2;
        unsigned u[sites], v[sites];
#pragma unroll
        for (int s = 0; s < sites; s++) {
            int pixels = 0, sum_u = 0, sum_v = 0;
#pragma unroll
            for (int i = 0; i < 2 * rows; i++) {
                const int column = 2 * s + i % 2, row = i / 2;
                if (column < count && row < live) {
                    const unsigned color = palette[labels[row][column]];
                    sum_u += color >> 8 & 255;
                    sum_v += color >> 16 & 255;
                    pixels++;
                }
            }
            u[s] = pixels ? mean_chroma(sum_u, pixels) : 0;
            v[s] = pixels ? mean_chroma(sum_v, pixels) : 0;
        }
        auto *to_u = job.dst[1].template row<std::uint8_t>(y / 2);
        if constexpr (layout == Layout::nv12) {
            store_bytes(to_u + x, job.aligned_dst, 2 * site_count,
                        [&](int i) { return i % 2 ? v[i / 2] : u[i / 2]; });
        } else {
            auto *to_v = job.dst[2].template row<std::uint8_t>(y / 2);
#pragma unroll
            for (int s = 0; s < sites; s++)
                if (s < site_count) {
                    to_u[x / 2 + s] = static_cast<std::uint8_t>(u[s]);
                    to_v[x / 2 + s] = static_cast<std::uint8_t>(v[s]);
                }
        }
    }
};

/// Pixels of RGBA to any format. A thread has the pixels that share their chroma, which is the
/// rounded mean of theirs.
struct FromRgba {
    static constexpr int threads = 128;
    using Job = PictureJob;

    __device__ static void run(const Job &job) {
        const Pixels &pixels = job.picture.pixels;
        const int width = pixels.site_width(), height = pixels.site_height();
        const int x = (blockIdx.x * threads + threadIdx.x) * width, y = blockIdx.y * height;
        if (x >= job.length)
            return;
        int count = 0, sum_u = 0, sum_v = 0;
        for (int dy = 0; dy < height && y + dy < job.rows; dy++)
            for (int dx = 0; dx < width && x + dx < job.length; dx++) {
                const Word word = job.plane.row<const Word>(y + dy)[x + dx];
                const Color c = color_of_key(word & 0xffffff);
                put(job, 0, x + dx, y + dy, pixels.byte(0, c));
                if (pixels.model == ColorModel::rgb)
                    put_others(job, x + dx, y + dy, c, static_cast<int>(word >> 24));
                if (pixels.model != ColorModel::yuv)
                    continue;
                sum_u += pixels.byte(1, c);
                sum_v += pixels.byte(2, c);
                count++;
            }
        if (count == 0)
            return;
        put(job, 1, x, y, mean_chroma(sum_u, count));
        put(job, 2, x, y, mean_chroma(sum_v, count));
    }

  private:
    __device__ static void put_others(const Job &job, int x, int y, const Color &c, int fourth) {
        put(job, 1, x, y, c.green);
        put(job, 2, x, y, c.blue);
        if (job.picture.pixels.count == 4)
            put(job, 3, x, y, fourth);
    }
    __device__ static void put(const Job &job, int channel, int x, int y, int byte) {
        const Pixels &pixels = job.picture.pixels;
        pixels.put(channel, x, y, pixels.stored(channel, byte), job.picture.rows());
    }
};

/// A run without images.
template <class Sum>
struct Finish {
    static constexpr int threads = max_kmeans_clusters;
    using Shared = FinishShared;
    using Job = FinishJob<Sum>;
    __device__ static void run(const Job &job) { finish(job, *shared_memory<Shared>()); }
};

} // namespace gpv::cuda::kmeans
