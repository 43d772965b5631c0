// SPDX-License-Identifier: BSD-2-Clause
// Marks of keypoints in a picture.
#pragma once

#include "core/sift.hpp"
#include "cuda/kernel.cuh"
#include "cuda/pixels.cuh"

namespace gpv::cuda::sift {

/// Each warp takes one keypoint after the other, whatever the grid. Where marks meet, threads write
/// the same bytes.
struct Draw {
    struct Job {
        const Keypoint *keypoints;
        const SiftResult *found; ///< how many there are
        Rows planes[3];
        Ink ink;
        DrawStyle style;
    };
    static constexpr int threads = 128;
    static constexpr int warps = threads / 32; ///< warps per block

    __device__ static void run(const Job &job) {
        const int count = job.found->count, lane = threadIdx.x % 32;
        const auto row = [&job](int plane, int y) {
            return job.planes[plane].template row<std::uint8_t>(y);
        };
        for (int i = blockIdx.x * warps + threadIdx.x / 32; i < count; i += gridDim.x * warps)
            Mark(job.keypoints[i], job.style).draw(lane, 32, [&](int x, int y) {
                job.ink.put(x, y, row);
            });
    }
};

/// Keypoints for a drawing on the host.
struct Fetch {
    struct Job {
        const Keypoint *from;
        const SiftResult *found;
        Keypoint *to;
        std::int32_t *count;
    };
    static constexpr int threads = 128;

    __device__ static void run(const Job &job) {
        const int count = job.found->count;
        if (blockIdx.x == 0 && threadIdx.x == 0)
            *job.count = count;
        for (int i = blockIdx.x * threads + threadIdx.x; i < count; i += gridDim.x * threads)
            job.to[i] = job.from[i];
    }
};

inline Draw::Job draw_job(const SiftDrawing &drawing, const Keypoint *keypoints,
                          const SiftResult *found) {
    Draw::Job job{.keypoints = keypoints,
                  .found = found,
                  .planes = {},
                  .ink = {drawing.dst, drawing.color},
                  .style = drawing.style};
    list_rows(drawing.dst, job.planes);
    return job;
}

} // namespace gpv::cuda::sift
