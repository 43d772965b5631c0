// SPDX-License-Identifier: BSD-2-Clause
// CUDA memory for the parity tests, and times of what a stream has to do.
#pragma once

#include "parity.hpp"

#ifdef HAVE_CUDA
#    include <cuda_runtime_api.h>

namespace parity {

inline void require(cudaError_t error, const char *what) {
    if (error != cudaSuccess)
        fatal(std::string(what) + ": " + cudaGetErrorString(error));
}

/// A copy of a guarded image in device memory, at the same distance from an
/// aligned address, with its canaries; keeps its memory for the next image. Or,
/// tight, from the first to the last pixel in memory of just that size, so that
/// tools that watch memory see every byte that is read beside them.
class DeviceImage {
  public:
    explicit DeviceImage(bool tight = false) : tight_(tight) {}
    ~DeviceImage() { cudaFree(memory_); }
    DeviceImage(const DeviceImage &) = delete;
    DeviceImage &operator=(const DeviceImage &) = delete;

    void upload(const GuardedImage &host) {
        place(host);
        if (tight_ || copied_ > size_) {
            cudaFree(memory_);
            size_ = copied_;
            require(cudaMalloc(&memory_, size_), "cudaMalloc");
        }
        require(cudaMemcpy(memory_, host.bytes().data() + first_, copied_, cudaMemcpyHostToDevice),
                "cudaMemcpy");
        view_ = *host.view();
        view_.memory = GPV_MEMORY_CUDA;
        for (int i = 0; i < host.planes(); i++)
            view_.data[i] = static_cast<std::uint8_t *>(memory_) +
                            (host.row(i, 0) - host.bytes().data()) - first_;
    }
    void download(GuardedImage &host) const {
        require(cudaMemcpy(host.bytes().data() + first_, memory_, copied_, cudaMemcpyDeviceToHost),
                "cudaMemcpy");
    }
    const gpv_image *view() const { return &view_; }
    void *memory() const { return memory_; }

  private:
    /// Which of the host image's bytes are copied.
    void place(const GuardedImage &host) {
        const int last = host.planes() - 1;
        const std::uint8_t *end = host.row(last, host.rows(last) - 1) + host.row_bytes(last);
        first_ = tight_ ? host.row(0, 0) - host.bytes().data() : 0;
        copied_ = tight_ ? static_cast<std::size_t>(end - host.row(0, 0)) : host.bytes().size();
    }

    bool tight_;
    void *memory_ = nullptr;
    std::size_t size_ = 0;
    std::ptrdiff_t first_ = 0;
    std::size_t copied_ = 0;
    gpv_image view_{};
};

/// Enqueues the i-th call on a stream; false if it cannot, as in a capture.
using Enqueue = std::function<bool(cudaStream_t, int)>;

/// A graph of so many calls, or null where they cannot be captured.
inline cudaGraphExec_t capture(const Enqueue &enqueue, int calls, cudaStream_t stream) {
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
    bool captured = true;
    for (int i = 0; i < calls && captured; i++)
        captured = enqueue(stream, i);
    cudaGraph_t graph = nullptr;
    captured = cudaStreamEndCapture(stream, &graph) == cudaSuccess && captured;
    cudaGetLastError(); // why it could not is known
    cudaGraphExec_t executable = nullptr;
    if (captured)
        require(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
    if (graph)
        require(cudaGraphDestroy(graph), "cudaGraphDestroy");
    return executable;
}

/// Times what candidates enqueue, as graphs of `repeats` calls that run in turn,
/// or call by call where that cannot be; microseconds a call.
inline std::vector<Timing> time_on_device(const std::vector<Enqueue> &candidates, int repeats,
                                          int rounds = 51) {
    cudaStream_t stream;
    cudaEvent_t start, stop;
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    require(cudaEventCreate(&start), "cudaEventCreate");
    require(cudaEventCreate(&stop), "cudaEventCreate");
    std::vector<cudaGraphExec_t> graphs;
    for (const Enqueue &enqueue : candidates)
        graphs.push_back(capture(enqueue, repeats, stream));
    std::vector<std::vector<double>> samples(candidates.size());
    std::vector<double> spent(candidates.size()); // us
    constexpr double enough = 100'000;
    for (int round = -3; round < rounds; round++) // the first ones warm up
        for (std::size_t i = 0; i < graphs.size(); i++) {
            if (samples[i].size() >= 5 && spent[i] > enough)
                continue;
            require(cudaEventRecord(start, stream), "cudaEventRecord");
            if (graphs[i])
                require(cudaGraphLaunch(graphs[i], stream), "cudaGraphLaunch");
            else
                for (int call = 0; call < repeats; call++)
                    if (!candidates[i](stream, call))
                        fatal("a call to be timed failed");
            require(cudaEventRecord(stop, stream), "cudaEventRecord");
            require(cudaEventSynchronize(stop), "cudaEventSynchronize");
            float ms;
            require(cudaEventElapsedTime(&ms, start, stop), "cudaEventElapsedTime");
            spent[i] += 1000.0 * ms;
            if (round >= 0)
                samples[i].push_back(1000.0 * ms / repeats);
        }
    for (cudaGraphExec_t graph : graphs)
        if (graph)
            require(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
    require(cudaEventDestroy(start), "cudaEventDestroy");
    require(cudaEventDestroy(stop), "cudaEventDestroy");
    require(cudaStreamDestroy(stream), "cudaStreamDestroy");
    std::vector<Timing> result;
    for (const auto &s : samples)
        result.push_back(summarize(s));
    return result;
}

} // namespace parity
#endif
