// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "cuda/runtime.hpp"

namespace gpv::cuda {

/// Tracks the end of an object's last run.
class Completion {
  public:
    Completion() { GPV_CUDA(runtime.event_create(&event_, cudaEventDisableTiming)); }
    ~Completion() { runtime.event_destroy(event_); }
    Completion(const Completion &) = delete;
    Completion &operator=(const Completion &) = delete;

    /// Call before a run: the run waits, on the device, for the previous one. Streams are not
    /// compared: the previous one may be gone, and its handle may now mean another stream.
    void follow(cudaStream_t stream) {
        if (pending_)
            GPV_CUDA(runtime.stream_wait_event(stream, event_, 0));
    }
    /// Call after a run.
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
