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

/// Base class of this backend's operators. A run records its kernels in a launch
/// list and enqueues them; images in host memory are copied to the device and back.
/// Interface is the operator's class in core/.
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
        staging_.deliver(); // piece by piece, while the rest is still on its way
        completion_.wait();
        deliver();
        wait_failed_ = false;
    }

  protected:
    explicit CudaOperator(const std::shared_ptr<Context> &context)
        : device_(static_cast<CudaDevice &>(context->device())), staging_(device_),
          scratch_(context) {}
    ~CudaOperator() override { finish(); }

    /// To be called by the destructor of a class whose members the last run uses.
    void finish() noexcept {
        try {
            completion_.wait();
        } catch (...) { // of a lost device, which has stopped
        }
    }

    /// Completes what a run leaves in host memory; the run is over.
    virtual void deliver() { staging_.deliver(); }
    /// The host memory may be gone.
    virtual void forget() { staging_.forget(); }

    /// Before the memory for staging is used again. Once a wait has failed, the
    /// caller may have taken the host memory away.
    void end_last_run() {
        if (wait_failed_)
            forget();
        wait();
    }

    /// Calls capture(stream) if the stream is being captured, else enqueue(stream).
    /// Returns whether there is now a run to wait for.
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
            // Part of the work may be under way, and nothing will tell when it ends.
            if (runtime.stream_synchronize(stream) != cudaSuccess)
                cudaGetLastError(); // the first error counts
            throw;
        }
    }

    /// Throws that a run cannot be captured.
    [[noreturn]] static void refuse_capture(const std::string &why) {
        throw Error(Status::unsupported, "the stream is being captured in a graph, and " + why);
    }

    /// record() fills the empty launch list, with scratch from the arena. It is called a second
    /// time when the scratch was too small. Pinned host memory is reserved after this call unless
    /// a kernel needs its address: an allocation on the device is the one that fails, and host
    /// memory takes long to pin.
    template <class Record>
    void plan(Stream stream, Record record) {
        if (planned_bytes(record) <= scratch_.size())
            return;
        completion_.wait();
        scratch_.reserve(arena_.required(), stream);
        planned_bytes(record);
    }
    /// Bytes of scratch that the plan needs, possibly more than there are.
    template <class Record>
    std::size_t planned_bytes(Record record) {
        launches_.clear();
        arena_ = Arena(scratch_alignment, scratch_.data());
        record();
        return arena_.required();
    }

    // Called by record().

    template <class Kernel>
    void add(dim3 grid, const typename Kernel::Job &job, std::size_t shared = 0) {
        add<Kernel>(grid, job, shared,
                    launch_early_ && waits_for_earlier<Kernel> ? LaunchMode::early
                                                               : LaunchMode::ordered);
    }
    /// All blocks run at once; see LaunchMode.
    template <class Kernel>
    void add_cooperative(dim3 grid, const typename Kernel::Job &job, std::size_t shared = 0) {
        add<Kernel>(grid, job, shared, LaunchMode::cooperative);
    }

    /// All planes of an image but the first, of samples of T.
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
    /// In scratch, with the shape of an image in host memory.
    Image place(const Image &like) {
        return Staging::place(like, arena_.allocate<std::byte>(Staging::bytes(like)));
    }
    /// One byte a pixel; src is what luma_plane() leaves of an image, in CUDA memory.
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
    bool launch_early_ = false; ///< kernels with `waits` use LaunchMode::early

  private:
    template <class Kernel>
    void add(dim3 grid, const typename Kernel::Job &job, std::size_t shared, LaunchMode mode) {
        launches_.add(reinterpret_cast<const void *>(&entry<Kernel>), grid, Kernel::threads, shared,
                      job, mode);
    }

    bool wait_failed_ = false; ///< the last one
};

} // namespace gpv::cuda
