// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "cuda/device.hpp"
#include "cuda/pixels.cuh"
#include "cuda/run/declaration.hpp"

namespace gpv::cuda {

/// A run as its operator records it: what it reads and writes, and which kernels do it.
class Recorder : public Declaration {
  public:
    explicit Recorder(const CudaDevice &device) : device_(device) {}

    template <class Kernel>
    void add(dim3 grid, const typename Kernel::Job &job,
             std::size_t shared = shared_bytes_of<Kernel>()) {
        add<Kernel>(grid, job, shared,
                    launch_early_ && waits_for_earlier<Kernel> ? LaunchMode::early
                                                               : LaunchMode::ordered);
    }
    /// As add(), with LaunchMode::cooperative.
    template <class Kernel>
    void add_cooperative(dim3 grid, const typename Kernel::Job &job,
                         std::size_t shared = shared_bytes_of<Kernel>()) {
        add<Kernel>(grid, job, shared, LaunchMode::cooperative);
    }

    template <class Kernel>
    void add_points(const typename Kernel::Job &job) {
        add<Kernel>(dim3(blocks(job.length, Kernel::threads), job.rows), job);
    }

    /// Fills all planes but the first with value. T: type of a sample. Launches Fill<T>, or
    /// Fill<Word> where it can.
    template <class T>
    void fill_chroma(const Image &image, unsigned value) {
        for (int i = 1; i < image.plane_count(); i++) {
            const PlaneShape shape = image.shape(i);
            PointJob job{.out = rows_of(image.planes[i]),
                         .length = shape.columns * shape.channels,
                         .rows = shape.rows,
                         .value = value};
            if (!aligned(job.out, static_cast<int>(shape.row_bytes()), sizeof(Word))) {
                add_points<Fill<T>>(job);
                continue;
            }
            job.length /= sizeof(Word) / sizeof(T);
            job.value *= ~Word{0} / static_cast<T>(~T{0}); // in each of its samples
            add_points<Fill<Word>>(job);
        }
    }

    Rows scratch_rows(int rows, std::size_t row_bytes) {
        const std::size_t stride = round_up(row_bytes, pitch_alignment);
        return {allocate<std::byte>(stride * rows), static_cast<std::int64_t>(stride)};
    }
    /// Luma, one byte per pixel. src: a result of luma_plane().
    Rows luma_bytes(const Image &src) {
        if (src.format == Format::gray8)
            return rows_of(src.planes[0]);
        const PictureJob job = picture_job(src, scratch_rows(src.height, src.width));
        add_points<Luma>(job);
        return job.plane;
    }

    /// The picture as RGBA8, in scratch.
    Image rgba_of(const Image &src) {
        const PictureJob job = picture_job(src, scratch_rows(src.height, src.width * sizeof(Word)));
        add_points<ToRgba>(job);
        Image rgba = src;
        rgba.format = Format::rgba8;
        rgba.planes[0] = {job.plane.data, job.plane.stride};
        return rgba;
    }

    const CudaDevice &device_;

  protected:
    bool launch_early_ = false; ///< whether kernels with `waits` use LaunchMode::early

  private:
    template <class Kernel>
    void add(dim3 grid, const typename Kernel::Job &job, std::size_t shared, LaunchMode mode) {
        launches_.add(reinterpret_cast<const void *>(&entry<Kernel>), grid, Kernel::threads, shared,
                      job, mode);
    }
};

} // namespace gpv::cuda
