// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "core/graphcut.hpp"
#include "cuda/run/recorder.cuh"
#include "cuda/run/staging.hpp"

namespace gpv::cuda {

/// Adds minimum cuts to runs of one object.
class Cutter {
  public:
    explicit Cutter(const std::shared_ptr<Context> &context);

    /// cut: on the device. reports: whether report() is of this one.
    void add(Recorder &run, const gpv_graphcut_params &params, const GraphcutRun &cut,
             bool reports) const;
    /// The next one begins anew.
    void forget(cudaStream_t stream) noexcept;
    /// Of the last one that reports, once its run is over.
    const GraphcutReport &report() const { return *report_.get(); }
    /// On the device, whether the cut before was refused.
    const std::uint32_t *refused() const;

  private:
    Buffer control_;
    Pinned<GraphcutReport> report_;
};

} // namespace gpv::cuda
