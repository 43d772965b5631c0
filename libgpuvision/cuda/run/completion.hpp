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

    using StreamId = unsigned long long;

    /// Call before a run, which comes after the previous one: on another stream it waits for it on
    /// the device. Handles are not compared: the previous stream may be gone, and its handle may
    /// now mean another one.
    StreamId follow(cudaStream_t stream) {
        StreamId id = 0;
        GPV_CUDA(runtime.stream_get_id(stream, &id));
        if (pending_ && id != stream_)
            GPV_CUDA(runtime.stream_wait_event(stream, event_, 0));
        return id;
    }
    /// Call after a run. id: from follow().
    void record(cudaStream_t stream, StreamId id) {
        GPV_CUDA(runtime.event_record(event_, stream));
        stream_ = id;
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
    StreamId stream_ = 0; ///< of the last run
    bool pending_ = false;
};

} // namespace gpv::cuda
