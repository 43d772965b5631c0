// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "cuda/runtime.hpp"

namespace gpv::cuda {

/// When the last run of an object will be over.
class Completion {
  public:
    Completion() { GPV_CUDA(runtime.event_create(&event_, cudaEventDisableTiming)); }
    ~Completion() { runtime.event_destroy(event_); }
    Completion(const Completion &) = delete;
    Completion &operator=(const Completion &) = delete;

    /// Before a run: it waits, on the device, for the one before. The stream of that may be gone,
    /// or its handle mean another one on this thread, so they are not compared.
    void follow(cudaStream_t stream) {
        if (pending_)
            GPV_CUDA(runtime.stream_wait_event(stream, event_, 0));
    }
    /// After a run.
    void record(cudaStream_t stream) {
        GPV_CUDA(runtime.event_record(event_, stream));
        pending_ = true;
    }

    bool finished() {
        pending_ = pending_ && !cuda::finished(event_);
        return !pending_;
    }
    void wait() {
        if (!pending_)
            return;
        GPV_CUDA(runtime.event_synchronize(event_));
        pending_ = false;
    }

  private:
    cudaEvent_t event_ = nullptr;
    bool pending_ = false;
};

} // namespace gpv::cuda
