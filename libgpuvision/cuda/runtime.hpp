// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

namespace gpv::cuda {

/// Every CUDA call that can fail goes through this table, so that a test
/// can replace an entry, to count its calls or make them fail.
struct Runtime {
    // Devices and contexts. A context is a CUcontext.
    cudaError_t (*get_device_count)(int *);
    cudaError_t (*get_device_properties)(cudaDeviceProp *, int);
    cudaError_t (*get_device)(int *);
    cudaError_t (*set_device)(int);
    cudaError_t (*get_context)(void **);
    cudaError_t (*set_context)(void *);
    // Memory.
    cudaError_t (*malloc)(void **, std::size_t);
    cudaError_t (*free)(void *);
    cudaError_t (*malloc_host)(void **, std::size_t);
    cudaError_t (*free_host)(void *);
    cudaError_t (*memcpy_async)(void *, const void *, std::size_t, cudaMemcpyKind, cudaStream_t);
    cudaError_t (*memset_async)(void *, int, std::size_t, cudaStream_t);
    // Streams and events.
    cudaError_t (*stream_synchronize)(cudaStream_t);
    cudaError_t (*stream_get_id)(cudaStream_t, unsigned long long *);
    cudaError_t (*stream_wait_event)(cudaStream_t, cudaEvent_t, unsigned);
    cudaError_t (*stream_is_capturing)(cudaStream_t, cudaStreamCaptureStatus *);
    cudaError_t (*event_create)(cudaEvent_t *, unsigned);
    cudaError_t (*event_destroy)(cudaEvent_t);
    cudaError_t (*event_record)(cudaEvent_t, cudaStream_t);
    cudaError_t (*event_query)(cudaEvent_t);
    cudaError_t (*event_synchronize)(cudaEvent_t);
    // Kernels and graphs.
    cudaError_t (*func_set_attribute)(const void *, cudaFuncAttribute, int);
    cudaError_t (*func_get_attributes)(cudaFuncAttributes *, const void *);
    cudaError_t (*launch_kernel)(const void *, dim3, dim3, void **, std::size_t, cudaStream_t);
    /// May start before the previous kernel ends: see wait_for_earlier_kernels().
    cudaError_t (*launch_kernel_early)(const void *, dim3, dim3, void **, std::size_t,
                                       cudaStream_t);
    /// All blocks run at the same time, so that they can wait for each other.
    cudaError_t (*launch_kernel_cooperative)(const void *, dim3, dim3, void **, std::size_t,
                                             cudaStream_t);
    cudaError_t (*graph_create)(cudaGraph_t *, unsigned);
    cudaError_t (*graph_destroy)(cudaGraph_t);
    cudaError_t (*graph_add_kernel)(cudaGraphNode_t *, cudaGraph_t, const cudaGraphNode_t *,
                                    std::size_t, const cudaKernelNodeParams *);
    /// Lets the second node start before the first one ends.
    cudaError_t (*graph_add_early_edge)(cudaGraph_t, cudaGraphNode_t, cudaGraphNode_t);
    /// The node's blocks run at the same time.
    cudaError_t (*graph_set_cooperative)(cudaGraphNode_t);
    cudaError_t (*graph_instantiate)(cudaGraphExec_t *, cudaGraph_t, unsigned long long);
    cudaError_t (*graph_set_kernel)(cudaGraphExec_t, cudaGraphNode_t, const cudaKernelNodeParams *);
    cudaError_t (*graph_launch)(cudaGraphExec_t, cudaStream_t);
    cudaError_t (*graph_exec_destroy)(cudaGraphExec_t);
};

/// CUDA's functions. Only tests write to it, and only while no other thread is in the library.
extern Runtime runtime;

/// Throws Error if the call failed, and clears CUDA's own record of it.
void check(cudaError_t error, const char *call, const char *file, int line);

/// Whether the work before an event has finished.
bool finished(cudaEvent_t event);

#define GPV_CUDA(call) ::gpv::cuda::check((call), #call, __FILE__, __LINE__)

} // namespace gpv::cuda
