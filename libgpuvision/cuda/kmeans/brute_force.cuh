// SPDX-License-Identifier: BSD-2-Clause
// Labels of pixels, for Lloyd's iteration: each is compared with every centroid. For so few of both
// and so few iterations that counting colours takes longer.
#pragma once

#include "cuda/kmeans/lloyd.cuh"

namespace gpv::cuda::kmeans {

struct PixelsJob {
    LloydJob<unsigned> loop;
    bool is_random_init;  ///< initial centroids are drawn, unless the start is warm
    std::uint8_t *labels; ///< result: strips of eight, row by row; null: they are not wanted
};

struct PixelsShared {
    LloydShared<unsigned> loop;
    Wide squares;
};

template <gpv_kmeans_metric metric>
class PixelsBlock : public LloydLoop<metric, unsigned, PixelsBlock<metric>> {
    using Loop = LloydLoop<metric, unsigned, PixelsBlock>;
    friend Loop;
    using Loop::add_color, Loop::centroid, Loop::farthest_key, Loop::distance_to;
    using Loop::threads, Loop::lane, Loop::clusters;

  public:
    /// keys: room for all pixels of the block.
    __device__ PixelsBlock(const PixelsJob &job_, PixelsShared &shared, unsigned *keys_)
        : Loop(job_.loop, shared.loop), job(job_), src(job.loop.start.src), keys(keys_),
          row_strips(strips_of_row(src.width)), first(first_strip(blockIdx.x)),
          strips(first_strip(blockIdx.x + 1) - first) {
        Wide squares = 0;
        for (unsigned s = threadIdx.x; s < strips; s += threads)
            squares += load_keys(s);
        squares = sum_of_lanes<32>(squares);
        if (lane == 0)
            atomicAdd(&shared.squares, squares);
        __syncthreads();
        // Who draws colours has counted them, and added up their squares.
        if (threadIdx.x == 0 && (!job.is_random_init || job.loop.start.warm.is_there()))
            atomicAdd(&job.loop.control->squares, shared.squares);
    }

  private:
    static constexpr int pixels = 4; ///< pixels that a thread handles together, half a strip

    __device__ unsigned first_strip(unsigned block) const {
        return static_cast<unsigned>(Wide{row_strips} * src.height * block / gridDim.x);
    }

    /// Loads the keys of a strip. Its pixels are not adjacent in keys: those of neighbouring strips
    /// are side by side. Returns the sum of their squares.
    __device__ Wide load_keys(unsigned s) {
        unsigned codes[strip];
        const int x = column(s), y = static_cast<int>((first + s) / row_strips);
        const int count = with_layout(job.loop.start.layout,
                                      [&]<Layout l> { return load_codes<l>(src, x, y, codes); });
        Wide squares = 0;
#pragma unroll
        for (int i = 0; i < strip; i++) {
            keys[i * strips + s] = key_of(codes[i]);
            if (i < count)
                squares += squared_distance(color_of(codes[i]), {0, 0, 0});
        }
        return squares;
    }
    __device__ int column(unsigned s) const {
        return static_cast<int>((first + s) % row_strips * strip);
    }

    struct Group {
        unsigned strip, half;
        int count; ///< pixels of the strip that are in the image
    };
    __device__ Group group(unsigned i) const {
        const unsigned half = i >= strips, s = i - half * strips;
        if (src.width % strip == 0)
            return {s, half, pixels};
        return {s, half, src.width - column(s) - static_cast<int>(half) * pixels};
    }
    __device__ unsigned *keys_of(const Group &group) const {
        return keys + group.half * pixels * strips + group.strip;
    }

    __device__ void assign(bool fresh, bool publish) {
        for (unsigned i = threadIdx.x; i < 2 * strips; i += threads)
            assign_group(group(i), fresh, publish);
        __syncthreads();
    }

    __device__ void assign_group(const Group &group, bool fresh, bool publish) {
        unsigned *own = keys_of(group), key[pixels];
        Nearest<metric, pixels> nearest;
#pragma unroll
        for (int i = 0; i < pixels; i++) {
            key[i] = own[i * strips];
            nearest.begin(i, key[i]);
        }
        for (int k = 0; k < clusters; k++)
            nearest.compare(k, centroid(k));
        Word labels = 0;
#pragma unroll
        for (int i = 0; i < pixels; i++) {
            const unsigned label = nearest.which[i], before = key[i] >> 24;
            labels |= label << (8 * i);
            if (i >= group.count || (label == before && !fresh))
                continue;
            add_color(label, key[i], 1);
            if (!fresh)
                add_color(before, key[i], 0u - 1);
            own[i * strips] = (key[i] & 0xffffffu) | label << 24;
        }
        if (publish && job.labels)
            reinterpret_cast<Word *>(job.labels)[2 * (first + group.strip) + group.half] = labels;
    }

    __device__ Wide farthest() const {
        Wide farthest = 0;
        for (unsigned i = threadIdx.x; i < 2 * strips; i += threads) {
            const Group own = group(i);
            for (int p = 0; p < min(own.count, pixels); p++) {
                const unsigned key = keys_of(own)[p * strips];
                farthest = max(farthest, farthest_key(distance_to(key, centroid(key >> 24)), key));
            }
        }
        return farthest;
    }

    const PixelsJob &job;
    const Source &src;
    unsigned *keys; ///< red, green << 8, blue << 16, label << 24
    const unsigned row_strips;
    const unsigned first, strips; ///< first strip of the block, and number of strips
};

template <gpv_kmeans_metric metric>
struct LloydOfPixels {
    static constexpr int threads = lloyd_threads;
    using Job = PixelsJob;
    using Shared = PixelsShared;

    static constexpr std::size_t shared_bytes(int width, int height, int blocks) {
        const std::size_t strips = std::size_t{strips_of_row(width)} * height;
        return sizeof(Shared) + (strips + blocks - 1) / blocks * strip * sizeof(unsigned);
    }

    __device__ static void run(const Job &job) {
        Shared &shared = *shared_memory<Shared>();
        clear(shared.loop);
        if (threadIdx.x == 0)
            shared.squares = 0;
        __syncthreads();
        PixelsBlock<metric> block(job, shared, reinterpret_cast<unsigned *>(&shared + 1));
        block.iterate_all();
    }
};

} // namespace gpv::cuda::kmeans
