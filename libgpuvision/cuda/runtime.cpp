// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/runtime.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

#include <cuda.h>

#include "core/error.hpp"

namespace gpv::cuda {
namespace {

/// Looks up a driver function. The driver is not linked, since it may be missing.
template <class Function>
Function *driver_function(const char *name) {
    void *function = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
#else
    const cudaError_t error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
    if (error != cudaSuccess)
        cudaGetLastError(); // so that no later call reports it
    if (error != cudaSuccess || found != cudaDriverEntryPointSuccess)
        throw Error(Status::no_device,
                    std::string("no usable CUDA device: the driver does not offer ") + name);
    return reinterpret_cast<Function *>(function);
}

struct Driver {
    CUresult (*get_current)(CUcontext *) =
        driver_function<CUresult(CUcontext *)>("cuCtxGetCurrent");
    CUresult (*set_current)(CUcontext) = driver_function<CUresult(CUcontext)>("cuCtxSetCurrent");
};

/// Looked up once, or again after a failure. get_context() is always called first, so that
/// set_context() never throws.
const Driver &driver() {
    static const Driver found;
    return found;
}

cudaError_t get_context(void **context) {
    CUcontext current = nullptr;
    const auto error = static_cast<cudaError_t>(driver().get_current(&current));
    *context = current;
    return error;
}

cudaError_t set_context(void *context) {
    return static_cast<cudaError_t>(driver().set_current(static_cast<CUcontext>(context)));
}

/// Clears the error of a release call: nobody checks it, and no later call may report it.
template <auto call, class T>
cudaError_t release(T object) {
    const cudaError_t error = call(object);
    if (error != cudaSuccess)
        cudaGetLastError();
    return error;
}

cudaError_t malloc_host(void **memory, std::size_t bytes) {
    return cudaHostAlloc(memory, bytes, cudaHostAllocDefault);
}

cudaError_t launch_kernel_early(const void *kernel, dim3 grid, dim3 block, void **parameters,
                                std::size_t shared, cudaStream_t stream) {
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = &early;
    config.numAttrs = 1;
    return cudaLaunchKernelExC(&config, kernel, parameters);
}

cudaError_t graph_set_cooperative(cudaGraphNode_t node) {
    cudaKernelNodeAttrValue value{};
    value.cooperative = 1;
    return cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeCooperative, &value);
}

cudaError_t graph_add_early_edge(cudaGraph_t graph, cudaGraphNode_t from, cudaGraphNode_t to) {
#if CUDART_VERSION >= 12030
    cudaGraphEdgeData early{};
    early.type = cudaGraphDependencyTypeProgrammatic;
    early.from_port = cudaGraphKernelNodePortProgrammatic;
#    if CUDART_VERSION >= 13000
    return cudaGraphAddDependencies(graph, &from, &to, &early, 1);
#    else
    const cudaError_t error = cudaGraphAddDependencies_v2(graph, &from, &to, &early, 1);
    if (error != cudaErrorCallRequiresNewerDriver)
        return error;
    cudaGetLastError(); // an edge that is not early does as well
#    endif
#endif
#if CUDART_VERSION < 13000
    return cudaGraphAddDependencies(graph, &from, &to, 1);
#endif
}

/// Errors that only a new context clears. Some by number: not every toolkit names them all.
bool is_fatal(cudaError_t error) {
    constexpr int fatal[] = {cudaErrorECCUncorrectable,
                             220 /* NvlinkUncorrectable */,
                             cudaErrorIllegalAddress,
                             cudaErrorLaunchTimeout,
                             cudaErrorContextIsDestroyed,
                             cudaErrorAssert,
                             cudaErrorHardwareStackError,
                             cudaErrorIllegalInstruction,
                             cudaErrorMisalignedAddress,
                             cudaErrorInvalidAddressSpace,
                             cudaErrorInvalidPc,
                             cudaErrorLaunchFailure,
                             721 /* TensorMemoryLeak */,
                             810 /* MpsClientTerminated */,
                             911 /* ExternalDevice */};
    return std::find(std::begin(fatal), std::end(fatal), static_cast<int>(error)) !=
           std::end(fatal);
}

Status status_of(cudaError_t error) {
    if (is_fatal(error))
        return Status::device_lost;
    switch (error) {
    case cudaErrorMemoryAllocation:
        return Status::out_of_memory;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
        return Status::no_device;
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
        return Status::unsupported;
    default:
        return Status::device;
    }
}

} // namespace

Runtime runtime = {
    .get_device_count = cudaGetDeviceCount,
    .get_device_properties = cudaGetDeviceProperties,
    .get_device = cudaGetDevice,
    .set_device = cudaSetDevice,
    .get_context = get_context,
    .set_context = set_context,
    .malloc = cudaMalloc,
    .free = release<cudaFree>,
    .malloc_host = malloc_host,
    .free_host = release<cudaFreeHost>,
    .memcpy_async = cudaMemcpyAsync,
    .memset_async = cudaMemsetAsync,
    .stream_synchronize = cudaStreamSynchronize,
    .stream_get_id = cudaStreamGetId,
    .stream_wait_event = cudaStreamWaitEvent,
    .stream_is_capturing = cudaStreamIsCapturing,
    .event_create = cudaEventCreateWithFlags,
    .event_destroy = release<cudaEventDestroy>,
    .event_record = cudaEventRecord,
    .event_query = cudaEventQuery,
    .event_synchronize = cudaEventSynchronize,
    .func_set_attribute = cudaFuncSetAttribute,
    .func_get_attributes = cudaFuncGetAttributes,
    .launch_kernel = cudaLaunchKernel,
    .launch_kernel_early = launch_kernel_early,
    .launch_kernel_cooperative = cudaLaunchCooperativeKernel,
    .graph_create = cudaGraphCreate,
    .graph_destroy = release<cudaGraphDestroy>,
    .graph_add_kernel = cudaGraphAddKernelNode,
    .graph_add_early_edge = graph_add_early_edge,
    .graph_set_cooperative = graph_set_cooperative,
    .graph_instantiate = cudaGraphInstantiate,
    .graph_set_kernel = cudaGraphExecKernelNodeSetParams,
    .graph_launch = cudaGraphLaunch,
    .graph_exec_destroy = release<cudaGraphExecDestroy>,
};

void check(cudaError_t error, const char *call, const char *file, int line) {
    if (error == cudaSuccess)
        return;
    cudaGetLastError(); // so that the next call does not report it again
    const char *slash = std::strrchr(file, '/');
    throw Error(status_of(error), std::string(cudaGetErrorString(error)) + " (" +
                                      cudaGetErrorName(error) + ") from " + call + ", " +
                                      (slash ? slash + 1 : file) + ":" + std::to_string(line));
}

bool finished(cudaEvent_t event) {
    const cudaError_t error = runtime.event_query(event);
    if (error == cudaErrorNotReady) {
        cudaGetLastError(); // it is no error
        return false;
    }
    GPV_CUDA(error);
    return true;
}

} // namespace gpv::cuda
