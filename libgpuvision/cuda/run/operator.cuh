// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nvtx3/nvToolsExt.h>

#include "cuda/run/recorder.cuh"
#include "cuda/run/runner.hpp"

namespace gpv::cuda {

/// A named range on a profiler's time line (NVTX).
class ProfilerRange {
  public:
    explicit ProfilerRange(const char *name) { nvtxRangePushA(name); }
    ~ProfilerRange() { nvtxRangePop(); }
    ProfilerRange(const ProfilerRange &) = delete;
    ProfilerRange &operator=(const ProfilerRange &) = delete;
};

/// Base class of this backend's operators. For each kind of run, a type Run, Self has
///     void declare(Run &run)         tells what it reads and writes, and leaves in run where that
///                                    is for kernels
///     void record(const Run &run)    adds the kernels that do it
/// so that run() need but call start(). Interface: the operator's abstract class in core/.
template <class Self, class Interface, class Params>
class CudaOperator : public Interface, protected Recorder, protected Runner {
  public:
    void set_params(const Params &params) final {
        if (std::memcmp(&params, &params_, sizeof params) == 0)
            return;
        accept(params);
        params_ = params;
        forget_plans();
    }
    bool finished() final { return Runner::finished(); }
    void wait() final { Runner::wait(); }

  protected:
    /// stem: of the operator's functions.
    CudaOperator(const std::shared_ptr<Context> &context, const char *stem)
        : Recorder(static_cast<CudaDevice &>(context->device())),
          Runner(context, static_cast<Declaration &>(*this), stem) {}

    /// Called before params become params_.
    virtual void accept(const Params &) {}

    /// Returns whether there is a run to wait for: not if it was captured in a graph.
    template <class Run>
    bool start(const char *name, Stream given, const Run &run) {
        const ProfilerRange range(name);
        refused_ = false;
        const auto stream = static_cast<cudaStream_t>(given);
        const bool captures = is_captured(stream);
        launch(plan_for(run, captures), stream);
        return !captures;
    }
    /// Takes memory and builds the graphs for such runs. Addresses may be null.
    template <class Run>
    void plan_ahead(const Run &run, Stream stream = nullptr) {
        prepare(plan_for(run, false), stream);
    }

    Params params_{};

  private:
    template <class Run>
    Plan &plan_for(const Run &run, bool captures) {
        static char kind; // its address is that of no other type of run
        auto &self = static_cast<Self &>(*this);
        Run seen = run;
        look_at(captures, &kind);
        self.declare(seen);
        if (Plan *known = known_plan())
            return *known;
        for (int i = 0; i < Plan::recordings; i++) {
            Run there = run;
            begin_recording(i);
            self.declare(there);
            self.record(there);
            end_recording(i);
        }
        return *known_plan();
    }
};

} // namespace gpv::cuda
