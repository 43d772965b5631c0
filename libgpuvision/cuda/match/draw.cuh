// SPDX-License-Identifier: BSD-2-Clause
// Outlines in a picture.
#pragma once

#include "core/match.hpp"
#include "cuda/kernel.cuh"
#include "cuda/pixels.cuh"

namespace gpv::cuda::match {

/// Each warp takes one row of a line after the other, whatever the grid. Where lines meet, threads
/// write the same bytes.
struct Draw {
    struct Job {
        Rows planes[3];
        int width, height;
        Outline outline;
        Ink ink;
    };
    static constexpr int threads = 128;
    static constexpr int warps = threads / 32; ///< warps per block

    __device__ static void run(const Job &job) {
        const int rows = job.outline.count * job.height;
        for (int i = blockIdx.x * warps + threadIdx.x / 32; i < rows; i += gridDim.x * warps)
            draw(job, i / job.height, i % job.height);
    }

  private:
    __device__ static void draw(const Job &job, int line, int y) {
        const auto row = [&job](int plane, int at) {
            return job.planes[plane].template row<std::uint8_t>(at);
        };
        const Outline::Columns columns = job.outline.columns(line, y, job.width);
        for (int x = columns.first + static_cast<int>(threadIdx.x) % 32; x < columns.behind;
             x += 32)
            if (job.outline.has(line, x, y))
                job.ink.put(x, y, row);
    }
};

inline Draw::Job draw_job(const OutlineDrawing &drawing) {
    Draw::Job job{.planes = {},
                  .width = drawing.dst.width,
                  .height = drawing.dst.height,
                  .outline = drawing.outline,
                  .ink = {drawing.dst, drawing.color}};
    list_rows(drawing.dst, job.planes);
    return job;
}

} // namespace gpv::cuda::match
