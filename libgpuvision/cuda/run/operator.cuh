// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "core/arena.hpp"
#include "core/context.hpp"
#include "cuda/device.hpp"
#include "cuda/pixels.cuh"
#include "cuda/run/completion.hpp"
#include "cuda/run/launch_list.hpp"
#include "cuda/run/profiler_range.hpp"
#include "cuda/run/staging.hpp"

namespace gpv::cuda {

/// Base class of this backend's operators. A run records its kernels in a LaunchList
/// and enqueues them; images in host memory are copied to the device and back.
/// Interface: the operator's abstract class in core/.
template <class Interface>
class CudaOperator : public Interface {
  public:
    bool finished() override {
        wait_failed_ = true;
        const bool finished = completion_.finished();
        if (finished)
            deliver();
        wait_failed_ = false;
        return finished;
    }

    void wait() override {
        wait_failed_ = true;
        staging_.deliver(); // piece by piece, while the device still copies the rest
        completion_.wait();
        deliver();
        wait_failed_ = false;
    }

  protected:
    explicit CudaOperator(const std::shared_ptr<Context> &context)
        : device_(static_cast<CudaDevice &>(context->device())), staging_(device_),
          scratch_(context) {}
    ~CudaOperator() override { finish(); }

    /// The destructor of a derived class calls this if the last run uses its members.
    void finish() noexcept {
        try {
            completion_.wait();
        } catch (...) { // the device is lost and has stopped
        }
    }

    /// Writes the outputs in host memory of a finished run.
    virtual void deliver() { staging_.deliver(); }
    /// Drops pending outputs: the host memory may be gone.
    virtual void forget() { staging_.forget(); }

    /// Call before staging memory is reused. After a failed wait the caller may
    /// have freed the host memory.
    void end_last_run() {
        if (wait_failed_)
            forget();
        wait();
    }

    /// Calls capture(stream) if the stream is being captured, else enqueue(stream).
    /// Returns whether there is a run to wait for.
    template <class Capture, class Enqueue>
    bool start(const char *name, Stream given, Capture capture, Enqueue enqueue) {
        const ProfilerRange range(name);
        const auto stream = static_cast<cudaStream_t>(given);
        cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        GPV_CUDA(runtime.stream_is_capturing(stream, &status));
        if (status != cudaStreamCaptureStatusNone) {
            capture(stream);
            return false;
        }
        try {
            enqueue(stream);
            return true;
        } catch (...) {
            // Part of the work may be running, and no event marks its end.
            if (runtime.stream_synchronize(stream) != cudaSuccess)
                cudaGetLastError(); // the caller gets the first error
            throw;
        }
    }

    /// Throws Error: the run cannot be captured.
    [[noreturn]] static void refuse_capture(const std::string &why) {
        throw Error(Status::unsupported, "the stream is being captured in a graph, and " + why);
    }

    /// record() fills the empty launches_, with scratch from arena_. It is called a second time if
    /// the scratch was too small. Reserve pinned host memory after this call, unless a kernel needs
    /// its address: device allocations are more likely to fail, and pinning is slow.
    template <class Record>
    void plan(Stream stream, Record record) {
        if (planned_bytes(record) <= scratch_.size())
            return;
        completion_.wait();
        scratch_.reserve(arena_.required(), stream);
        planned_bytes(record);
    }
    /// Bytes of scratch that the plan needs, possibly more than scratch_ has.
    template <class Record>
    std::size_t planned_bytes(Record record) {
        launches_.clear();
        arena_ = Arena(scratch_alignment, scratch_.data());
        record();
        return arena_.required();
    }

    // For use in record():

    template <class Kernel>
    void add(dim3 grid, const typename Kernel::Job &job, std::size_t shared = 0) {
        add<Kernel>(grid, job, shared,
                    launch_early_ && waits_for_earlier<Kernel> ? LaunchMode::early
                                                               : LaunchMode::ordered);
    }
    /// As add(), with LaunchMode::cooperative.
    template <class Kernel>
    void add_cooperative(dim3 grid, const typename Kernel::Job &job, std::size_t shared = 0) {
        add<Kernel>(grid, job, shared, LaunchMode::cooperative);
    }

    /// Fills all planes but the first with value. T: type of a sample.
    template <class T>
    void fill_chroma(const Image &image, unsigned value) {
        for (int i = 1; i < image.plane_count(); i++) {
            const PlaneShape shape = image.shape(i);
            const PointJob job{.out = rows_of(image.planes[i]),
                               .length = shape.columns * shape.channels,
                               .rows = shape.rows,
                               .value = value};
            add<Fill<T>>(dim3(blocks(job.length, Fill<T>::threads), job.rows), job);
        }
    }

    Rows scratch_rows(int rows, std::size_t row_bytes) {
        const std::size_t stride = round_up(row_bytes, pitch_alignment);
        return {arena_.allocate<std::byte>(stride * rows), static_cast<std::int64_t>(stride)};
    }
    /// An image in scratch with the shape of one in host memory.
    Image place(const Image &like) {
        return Staging::place(like, arena_.allocate<std::byte>(Staging::bytes(like)));
    }
    /// Luma, one byte per pixel. src: a result of luma_plane(), in CUDA memory.
    Rows luma_of(const Image &src) {
        const PlaneShape shape = src.shape(0);
        if (shape.channels == 1)
            return rows_of(src.planes[0]);
        const PointJob job{.a = rows_of(src.planes[0]),
                           .out = scratch_rows(src.height, src.width),
                           .length = src.width,
                           .rows = src.height,
                           .channels = shape.channels,
                           .red = blue_first(src.format) ? 2 : 0};
        add<Luma>(dim3(blocks(job.length, Luma::threads), job.rows), job);
        return job.out;
    }

    static constexpr std::size_t scratch_alignment = 256;

    CudaDevice &device_;
    Completion completion_;
    Staging staging_;
    LaunchList launches_;
    GraphCache graphs_;
    Arena arena_{scratch_alignment};
    Buffer scratch_;
    bool launch_early_ = false; ///< whether kernels with `waits` use LaunchMode::early

  private:
    template <class Kernel>
    void add(dim3 grid, const typename Kernel::Job &job, std::size_t shared, LaunchMode mode) {
        launches_.add(reinterpret_cast<const void *>(&entry<Kernel>), grid, Kernel::threads, shared,
                      job, mode);
    }

    bool wait_failed_ = false; ///< whether the last wait() or finished() threw
};

} // namespace gpv::cuda
