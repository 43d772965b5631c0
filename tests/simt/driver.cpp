// SPDX-License-Identifier: BSD-2-Clause
// The driver, libcuda.so.1, as far as libgstcuda 1.22 asks for it, on the emulated toolkit that is
// linked with it: memory, copies and streams in contexts that a program makes.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <cuda.h>

#include "simt.hpp"

struct CUctx_st {};

namespace {

constexpr std::size_t alignment = 512;

std::atomic<std::size_t> context_count;
thread_local std::vector<CUcontext> covered; // by what was pushed

CUresult result(cudaError_t error) {
    return static_cast<CUresult>(error);
}

template <class Function>
Function *function_of(const char *name) {
    void *function = nullptr;
    cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, nullptr);
    return reinterpret_cast<Function *>(function);
}

CUcontext current() {
    static const auto get = function_of<CUresult(CUcontext *)>("cuCtxGetCurrent");
    CUcontext context = nullptr;
    get(&context);
    return context;
}

CUresult make_current(CUcontext context) {
    static const auto set = function_of<CUresult(CUcontext)>("cuCtxSetCurrent");
    return set(context);
}

template <class Host>
char *address(CUmemorytype type, Host *host, CUdeviceptr device, std::size_t x, std::size_t y,
              std::size_t pitch) {
    char *const start = type == CU_MEMORYTYPE_HOST
                            ? static_cast<char *>(const_cast<void *>(host))
                            : reinterpret_cast<char *>(static_cast<std::uintptr_t>(device));
    return start + y * pitch + x;
}

CUresult copy(const CUDA_MEMCPY2D &job, CUstream stream) {
    return result(cudaMemcpy2DAsync(address(job.dstMemoryType, job.dstHost, job.dstDevice,
                                            job.dstXInBytes, job.dstY, job.dstPitch),
                                    job.dstPitch,
                                    address(job.srcMemoryType, job.srcHost, job.srcDevice,
                                            job.srcXInBytes, job.srcY, job.srcPitch),
                                    job.srcPitch, job.WidthInBytes, job.Height, cudaMemcpyDefault,
                                    stream));
}

} // namespace

extern "C" {

CUresult cuInit(unsigned int) {
    int count = 0;
    return result(cudaGetDeviceCount(&count));
}

CUresult cuDriverGetVersion(int *version) {
    *version = 12000;
    return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **name) {
    *name = cudaGetErrorName(static_cast<cudaError_t>(error));
    return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
    *text = cudaGetErrorString(static_cast<cudaError_t>(error));
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
    return result(cudaGetDeviceCount(count));
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    int count = 0;
    cudaGetDeviceCount(&count);
    if (ordinal < 0 || ordinal >= count)
        return result(cudaErrorInvalidDevice);
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice) {
    std::snprintf(name, static_cast<std::size_t>(length), "emulated");
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
    if (attribute != CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT)
        return result(
            cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(attribute), device));
    *value = alignment;
    return CUDA_SUCCESS;
}

/// A device is no peer of itself.
CUresult cuDeviceCanAccessPeer(int *can, CUdevice, CUdevice) {
    *can = 0;
    return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
    covered.push_back(current());
    return make_current(context);
}

CUresult cuCtxPopCurrent_v2(CUcontext *context) {
    if (covered.empty())
        return CUDA_ERROR_INVALID_CONTEXT;
    if (context)
        *context = current();
    const CUcontext below = covered.back();
    covered.pop_back();
    return make_current(below);
}

CUresult cuCtxCreate_v2(CUcontext *context, unsigned int, CUdevice) {
    *context = new CUctx_st;
    ++context_count;
    return cuCtxPushCurrent_v2(*context);
}

CUresult cuCtxDestroy_v2(CUcontext context) {
    const bool is_current = current() == context;
    delete context;
    --context_count;
    return is_current ? cuCtxPopCurrent_v2(nullptr) : CUDA_SUCCESS;
}

/// A page for each context, stream, event and graph, so that what is left behind shows.
CUresult cuMemGetInfo_v2(std::size_t *unused, std::size_t *total) {
    const CUresult error = result(cudaMemGetInfo(unused, total));
    *unused -= (context_count + simt::live_objects()) << 12;
    return error;
}

CUresult cuMemAlloc_v2(CUdeviceptr *memory, std::size_t bytes) {
    void *made = nullptr;
    const CUresult error = result(cudaMalloc(&made, bytes));
    *memory = reinterpret_cast<std::uintptr_t>(made);
    return error;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *memory, std::size_t *pitch, std::size_t width,
                            std::size_t height, unsigned int) {
    *pitch = (width + alignment - 1) / alignment * alignment;
    return cuMemAlloc_v2(memory, *pitch * height);
}

CUresult cuMemAllocHost_v2(void **memory, std::size_t bytes) {
    return result(cudaMallocHost(memory, bytes));
}

CUresult cuMemFree_v2(CUdeviceptr memory) {
    return result(cudaFree(reinterpret_cast<void *>(static_cast<std::uintptr_t>(memory))));
}

CUresult cuMemFreeHost(void *memory) {
    return result(cudaFreeHost(memory));
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *job, CUstream stream) {
    return copy(*job, stream);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *job) {
    const CUresult error = copy(*job, nullptr);
    return error == CUDA_SUCCESS ? result(cudaStreamSynchronize(nullptr)) : error;
}

CUresult cuStreamCreate(CUstream *stream, unsigned int flags) {
    return result(cudaStreamCreateWithFlags(stream, flags));
}

CUresult cuStreamDestroy(CUstream stream) {
    return result(cudaStreamDestroy(stream));
}

CUresult cuStreamSynchronize(CUstream stream) {
    return result(cudaStreamSynchronize(stream));
}

// What libgstcuda asks for, and its contexts, memory and pools do not call.
#define SIMT_NOT_EMULATED(name)                                                                    \
    CUresult name(void) {                                                                          \
        return CUDA_ERROR_NOT_SUPPORTED;                                                           \
    }
SIMT_NOT_EMULATED(cuCtxEnablePeerAccess)
SIMT_NOT_EMULATED(cuCtxDisablePeerAccess)
SIMT_NOT_EMULATED(cuGraphicsMapResources)
SIMT_NOT_EMULATED(cuGraphicsUnmapResources)
SIMT_NOT_EMULATED(cuGraphicsResourceSetMapFlags_v2)
SIMT_NOT_EMULATED(cuGraphicsSubResourceGetMappedArray)
SIMT_NOT_EMULATED(cuGraphicsResourceGetMappedPointer_v2)
SIMT_NOT_EMULATED(cuGraphicsUnregisterResource)
SIMT_NOT_EMULATED(cuGraphicsGLRegisterImage)
SIMT_NOT_EMULATED(cuGraphicsGLRegisterBuffer)
SIMT_NOT_EMULATED(cuGLGetDevices_v2)
SIMT_NOT_EMULATED(cuModuleLoadData)
SIMT_NOT_EMULATED(cuModuleUnload)
SIMT_NOT_EMULATED(cuModuleGetFunction)
SIMT_NOT_EMULATED(cuTexObjectCreate)
SIMT_NOT_EMULATED(cuTexObjectDestroy)
SIMT_NOT_EMULATED(cuLaunchKernel)

} // extern "C"
