// SPDX-License-Identifier: BSD-2-Clause
// What makes faults of kernels and of their callers visible under the emulation. That it computes
// what a device does, the tests of tests/parity show, which run on both.

#include "simt.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <cuda.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" [[gnu::weak]] void __asan_init();

namespace {

int failures = 0;

void require(bool condition, const std::string &text) {
    if (condition)
        return;
    ++failures;
    std::fprintf(stderr, "failed: %s\n", text.c_str());
}

void succeed(cudaError_t error, const char *call) {
    require(error == cudaSuccess, std::string(call) + ": " + cudaGetErrorName(error));
}
#define SUCCEED(call) succeed(call, #call)

void expect(cudaError_t error, cudaError_t expected, const char *call) {
    require(error == expected, std::string(call) + ": " + cudaGetErrorName(error) + " instead of " +
                                   cudaGetErrorName(expected));
    cudaGetLastError();
}
#define EXPECT(expected, call) expect(call, expected, #call)

template <class Kernel>
void entry(const simt::Call &call) {
    if (!call.parameter)
        *call.parameter_size = sizeof(typename Kernel::Job);
    else
        Kernel::run(*static_cast<const typename Kernel::Job *>(call.parameter));
}

template <class Kernel>
const void *kernel_of() {
    return reinterpret_cast<const void *>(&entry<Kernel>);
}

template <class Kernel>
cudaError_t launch(dim3 grid, dim3 block, typename Kernel::Job job, std::size_t shared = 0,
                   cudaStream_t stream = nullptr) {
    void *arguments[] = {&job};
    return cudaLaunchKernel(kernel_of<Kernel>(), grid, block, arguments, shared, stream);
}

/// Pinned memory, so that both sides see it.
template <class T>
class Array {
  public:
    explicit Array(std::size_t count) : count_(count) {
        SUCCEED(cudaMallocHost(&data_, count * sizeof(T)));
        fill(T{});
    }
    ~Array() { SUCCEED(cudaFreeHost(data_)); }
    Array(const Array &) = delete;
    Array &operator=(const Array &) = delete;

    operator T *() { return data_; }
    std::vector<T> values() const { return {data_, data_ + count_}; }
    void fill(T value) { std::fill(data_, data_ + count_, value); }

  private:
    T *data_ = nullptr;
    std::size_t count_;
};

// ---------------------------------------------------------------------------------- barriers

template <class Kernel>
cudaError_t launch_cooperatively(unsigned blocks, unsigned threads, typename Kernel::Job job,
                                 std::size_t shared = 0) {
    void *arguments[] = {&job};
    return cudaLaunchCooperativeKernel(kernel_of<Kernel>(), blocks, threads, arguments, shared);
}

/// One thread tells another something, who may be quicker if there is no barrier.
template <bool with_barrier>
struct Tell {
    struct Job {
        int *heard;
        unsigned teller, listener;
    };
    static void run(const Job &job) {
        int *told = static_cast<int *>(simt::shared_memory());
        if (threadIdx.x == job.teller)
            *told = 42;
        if (with_barrier)
            __syncthreads();
        if (threadIdx.x == job.listener)
            *job.heard = *told;
    }
};

template <bool with_barrier>
int wrong_runs(unsigned teller, unsigned listener) {
    int wrong = 0;
    for (int seed = 1; seed <= 16; ++seed) {
        simt::seed(seed);
        Array<int> heard(1);
        SUCCEED(launch<Tell<with_barrier>>(1, 256, {heard, teller, listener}, sizeof(int)));
        SUCCEED(cudaDeviceSynchronize());
        wrong += heard.values() != std::vector<int>{42};
    }
    return wrong;
}

/// Who comes first, before and after a barrier.
struct Order {
    struct Job {
        unsigned *out, *count;
    };
    static void run(const Job &job) {
        job.out[(*job.count)++] = threadIdx.x;
        __syncthreads();
        job.out[(*job.count)++] = threadIdx.x;
    }
};

std::vector<unsigned> order_of(int seed) {
    Array<unsigned> out(128), count(1);
    simt::seed(seed);
    SUCCEED(launch<Order>(1, 64, {out, count}));
    SUCCEED(cudaDeviceSynchronize());
    return out.values();
}

void test_order() {
    for (const auto &[teller, listener] : {std::pair{0u, 255u}, {255u, 0u}, {100u, 101u}}) {
        require(wrong_runs<true>(teller, listener) == 0,
                "with its barrier a kernel is right for every seed");
        require(wrong_runs<false>(teller, listener) > 4, "a missing barrier shows");
    }
    const std::vector<unsigned> order = order_of(1);
    require(order == order_of(1) && order != order_of(2), "the seed decides the order");
    require(!std::equal(order.begin(), order.begin() + 64, order.begin() + 64),
            "the order changes at a barrier");
}

struct Shared {
    struct Job {
        std::uintptr_t *address;
        unsigned *words;
        int beyond; // words
    };
    static void run(const Job &job) {
        auto *memory = static_cast<unsigned *>(simt::shared_memory());
        *job.address = reinterpret_cast<std::uintptr_t>(memory);
        job.words[blockIdx.x] = memory[24 + job.beyond];
    }
};

// ----------------------------------------------------------------------------------- reports

/// What a child that runs body() says before it aborts.
std::string last_words(const std::function<void()> &body) {
    int ends[2];
    if (pipe(ends) != 0)
        return "no pipe";
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        body();
        _exit(0);
    }
    close(ends[1]);
    std::string text;
    std::array<char, 4096> buffer;
    for (ssize_t got; (got = read(ends[0], buffer.data(), buffer.size())) > 0;)
        text.append(buffer.data(), static_cast<std::size_t>(got));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "ended well: " + text : text;
}

void expect_words(const std::string &text, const std::vector<std::string> &words) {
    for (const std::string &word : words)
        require(text.find(word) != std::string::npos, "'" + word + "' in the report: " + text);
}

/// Six ways to wait for nothing.
struct Stuck {
    struct Job {
        int way;
    };
    static void run(const Job &job) {
        const unsigned me = threadIdx.x;
        if (job.way == 0 && me != 5)
            __shfl_sync(0xffffffff, me, 0);
        if (job.way == 1)
            me < 7 ? __syncwarp() : __syncthreads();
        if (job.way == 2)
            me < 16 ? __syncthreads() : void(__syncthreads_or(1));
        if (job.way == 3 && me == 0)
            simt::grid_sync();
        if (job.way == 4)
            __any_sync(0xffff, me == 40);
        if (job.way == 5)
            me % 2 ? __ballot_sync(0xffffffff, 1) : __shfl_sync(0xffffffff, me, 0);
    }
};

void test_reports() {
    const std::vector<std::vector<std::string>> expected = {
        {"deadlock", "thread (5,0,0) and 0 more: returned",
         "waits at __shfl_sync of lanes 0xffffffff", "simt_test.cpp:", "GPV_SIMT_SEED="},
        {"deadlock", "thread (0,0,0) and 6 more: waits at __syncwarp",
         "thread (7,0,0) and 24 more: waits at __syncthreads"},
        {"different barriers", "__syncthreads_or"},
        {"not cooperative", "grid_sync"},
        {"not in its own mask", "__any_sync of lanes 0xffff"},
        {"deadlock", "__ballot_sync", "__shfl_sync"},
    };
    for (int way = 0; way < static_cast<int>(expected.size()); ++way)
        expect_words(last_words([&] {
                         launch<Stuck>(dim3(2), 32, {way});
                         cudaDeviceSynchronize();
                     }),
                     expected[way]);
    expect_words(last_words([] {
                     launch_cooperatively<Stuck>(2, 32, {3});
                     cudaDeviceSynchronize();
                 }),
                 {"deadlock", "block (1,0,0)", "waits at grid_sync", "returned"});
}

void test_shared_memory() {
    Array<std::uintptr_t> address(1);
    Array<unsigned> words(4);
    SUCCEED(launch<Shared>(4, 1, {address, words, 0}, 100));
    SUCCEED(cudaDeviceSynchronize());
    require(*address % 128 == 0, "shared memory is aligned");
    require(words[0] != words[1] && words[1] != words[2], "nobody has written it before");
    if (__asan_init)
        expect_words(last_words([&] {
                         launch<Shared>(1, 1, {address, words, 1}, 100);
                         cudaDeviceSynchronize();
                     }),
                     {"heap-buffer-overflow", "GPV_SIMT_SEED="});
    const auto with = [&](std::size_t bytes) {
        return launch<Shared>(1, 1, {address, words, 0}, bytes);
    };
    SUCCEED(with(48 << 10));
    EXPECT(cudaErrorInvalidValue, with((48 << 10) + 1));
    const auto allow = [](int bytes) {
        return cudaFuncSetAttribute(kernel_of<Shared>(),
                                    cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    };
    SUCCEED(allow(227 << 10));
    SUCCEED(with(227 << 10));
    EXPECT(cudaErrorInvalidValue, allow((227 << 10) + 1));
    SUCCEED(cudaDeviceSynchronize());
}

// ------------------------------------------------------------------- streams, graphs, faults

/// out[i] = in[i] + plus, a step that is seen to have happened or not.
struct Add {
    struct Job {
        const int *in;
        int *out;
        int plus;
    };
    static void run(const Job &job) { job.out[threadIdx.x] = job.in[threadIdx.x] + job.plus; }
};

class Stream {
  public:
    explicit Stream(unsigned flags = cudaStreamNonBlocking) {
        SUCCEED(cudaStreamCreateWithFlags(&stream_, flags));
    }
    ~Stream() { SUCCEED(cudaStreamDestroy(stream_)); }
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;
    operator cudaStream_t() const { return stream_; }

  private:
    cudaStream_t stream_ = nullptr;
};

void test_lazy_streams() {
    Array<int> a(4), b(4), c(4);
    Stream stream, other;
    cudaEvent_t between;
    SUCCEED(cudaEventCreate(&between));
    SUCCEED(launch<Add>(1, 4, {a, b, 1}, 0, stream));
    SUCCEED(cudaEventRecord(between, stream));
    SUCCEED(launch<Add>(1, 4, {b, c, 1}, 0, other));
    require(*b == 0 && simt::pending() == 3, "nothing runs before somebody waits");
    EXPECT(cudaErrorNotReady, cudaEventQuery(between));
    require(*b == 1 && simt::pending() == 2, "a query runs one operation");
    SUCCEED(cudaStreamSynchronize(stream));
    require(*c == 0 && simt::pending() == 1, "a wait leaves what was issued later");
    SUCCEED(cudaEventQuery(between));
    SUCCEED(cudaStreamWaitEvent(other, between));
    SUCCEED(cudaStreamSynchronize(other));
    require(*c == 2, "the other stream has run");
    float time = -1;
    cudaEvent_t after;
    SUCCEED(cudaEventCreate(&after));
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&time, between, after));
    SUCCEED(cudaEventRecord(after, other));
    EXPECT(cudaErrorNotReady, cudaEventElapsedTime(&time, between, after));
    SUCCEED(cudaEventSynchronize(after));
    SUCCEED(cudaEventElapsedTime(&time, between, after));
    require(time >= 0, "time passes");
    SUCCEED(cudaEventDestroy(between));
    SUCCEED(cudaEventDestroy(after));
}

void test_copies() {
    Array<int> pinned(4);
    Stream stream;
    int *device, host[4] = {1, 2, 3, 4}, back[4] = {};
    SUCCEED(cudaMalloc(&device, sizeof host));
    SUCCEED(cudaMemcpyAsync(device, host, sizeof host, cudaMemcpyHostToDevice, stream));
    host[0] = 9;
    SUCCEED(cudaMemcpyAsync(back, device, sizeof back, cudaMemcpyDefault, stream));
    require(back[0] == 1 && back[3] == 4, "pageable memory is read and written before the return");
    pinned[0] = 5;
    SUCCEED(cudaMemcpyAsync(device, pinned, sizeof host, cudaMemcpyHostToDevice, stream));
    pinned[0] = 6;
    SUCCEED(cudaMemcpy(back, device, sizeof back, cudaMemcpyDeviceToHost));
    require(back[0] == 1, "a blocking copy does not wait for a stream that does not block");
    SUCCEED(cudaStreamSynchronize(stream));
    SUCCEED(cudaMemcpy(back, device, sizeof back, cudaMemcpyDeviceToHost));
    require(back[0] == 6, "pinned memory is read when the copy runs");

    EXPECT(cudaErrorInvalidValue, cudaMemcpy(device, host, 17, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(device, host, 16, cudaMemcpyDeviceToHost));
    EXPECT(cudaErrorInvalidPitchValue,
           cudaMemcpy2D(device, 3, host, 4, 4, 2, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue, cudaMemsetAsync(host, 0, 4, stream));
    std::size_t free_before, free_after, total;
    int *large;
    SUCCEED(cudaMemGetInfo(&free_before, &total));
    EXPECT(cudaErrorMemoryAllocation, cudaMalloc(&large, free_before + 1));
    SUCCEED(cudaFree(device));
    SUCCEED(cudaMemGetInfo(&free_after, &total));
    require(free_after == free_before + sizeof host, "memory comes back");
}

/// More blocks than run at once, launched, in a graph, or by new parameters of one. What the call
/// that adds a node was given may be gone when it becomes cooperative.
void test_cooperative_launches() {
    cudaGraph_t graph;
    cudaGraphNode_t fits, large;
    cudaGraphExec_t executable;
    cudaKernelNodeAttrValue cooperative{};
    cooperative.cooperative = 1;
    Stuck::Job job = {-1};
    void *arguments[] = {&job};
    cudaKernelNodeParams parameters = {
        const_cast<void *>(kernel_of<Stuck>()), 8, 96, 0, arguments, nullptr};
    const auto make_cooperative = [&](cudaGraphNode_t node) {
        arguments[0] = nullptr;
        const cudaError_t error =
            cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeCooperative, &cooperative);
        arguments[0] = &job;
        return error;
    };
    SUCCEED(launch_cooperatively<Stuck>(8, 96, job));
    EXPECT(cudaErrorCooperativeLaunchTooLarge, launch_cooperatively<Stuck>(9, 96, job));
    SUCCEED(cudaFuncSetAttribute(kernel_of<Stuck>(), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 200 << 10));
    EXPECT(cudaErrorCooperativeLaunchTooLarge, launch_cooperatively<Stuck>(5, 96, job, 200 << 10));
    SUCCEED(cudaGraphCreate(&graph, 0));
    SUCCEED(cudaGraphAddKernelNode(&fits, graph, nullptr, 0, &parameters));
    SUCCEED(make_cooperative(fits));
    SUCCEED(cudaGraphInstantiate(&executable, graph));
    parameters.gridDim = 9;
    EXPECT(cudaErrorCooperativeLaunchTooLarge,
           cudaGraphExecKernelNodeSetParams(executable, fits, &parameters));
    SUCCEED(cudaGraphAddKernelNode(&large, graph, nullptr, 0, &parameters));
    EXPECT(cudaErrorCooperativeLaunchTooLarge, make_cooperative(large));
    SUCCEED(cudaGraphExecDestroy(executable));
    SUCCEED(cudaGraphDestroy(graph));
    SUCCEED(cudaDeviceSynchronize());
}

/// What cannot be captured ends the capture.
void test_capture() {
    Array<int> a(4), b(4);
    Stream stream;
    cudaGraph_t graph;
    SUCCEED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    EXPECT(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
    EXPECT(cudaErrorStreamCaptureInvalidated, launch<Add>(1, 4, {a, b, 1}, 0, stream));
    EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    SUCCEED(cudaStreamSynchronize(stream));
}

/// Does what a careful program does, and returns the first error.
cudaError_t careful_program() {
    int *memory = nullptr, *pinned = nullptr;
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
    cudaError_t error = cudaMalloc(&memory, 16);
    const auto then = [&](auto step) { error = error == cudaSuccess ? step() : error; };
    then([&] { return cudaMallocHost(&pinned, 16); });
    then([&] { return cudaStreamCreate(&stream); });
    then([&] { return cudaEventCreate(&event); });
    then([&] { return cudaMemsetAsync(memory, 0, 16, stream); });
    then([&] { return launch<Add>(1, 4, {memory, memory, 3}, 0, stream); });
    then([&] { return cudaMemcpyAsync(pinned, memory, 16, cudaMemcpyDefault, stream); });
    then([&] { return cudaEventRecord(event, stream); });
    then([&] { return cudaEventSynchronize(event); });
    require(error != cudaSuccess || *pinned == 3, "no error, and a right result");
    for (const cudaError_t released :
         {event ? cudaEventDestroy(event) : cudaSuccess,
          stream ? cudaStreamDestroy(stream) : cudaSuccess, cudaFreeHost(pinned), cudaFree(memory)})
        error = error == cudaSuccess ? released : error;
    return error;
}

void test_faults() {
    const std::size_t objects = simt::live_objects(), bytes = simt::live_bytes();
    simt::reset();
    SUCCEED(careful_program());
    const std::size_t calls = simt::calls();
    require(calls == 13, "every call is counted");
    require(simt::copied_bytes(cudaMemcpyDeviceToHost) == 16, "copies are counted");
    for (std::size_t k = 1; k <= calls; ++k) {
        simt::fail_call(k);
        const cudaError_t error = careful_program();
        require(error == (k <= 2   ? cudaErrorMemoryAllocation
                          : k == 6 ? cudaErrorLaunchOutOfResources
                                   : cudaErrorUnknown),
                "call " + std::to_string(k) + " fails: " + cudaGetErrorName(error));
        require(cudaGetLastError() == error && cudaGetLastError() == cudaSuccess, "once");
        SUCCEED(careful_program());
    }
    for (std::size_t k = 0; k <= calls; ++k) {
        k == 0 ? simt::poison() : simt::poison_call(k);
        EXPECT(cudaErrorIllegalAddress, careful_program());
        EXPECT(cudaErrorIllegalAddress, cudaDeviceSynchronize());
        simt::reset();
        SUCCEED(careful_program());
    }
    require(simt::live_objects() == objects && simt::live_bytes() == bytes, "nothing is left");

    int count = 5;
    simt::set_device_count(0);
    EXPECT(cudaErrorNoDevice, cudaGetDeviceCount(&count));
    EXPECT(cudaErrorNoDevice, careful_program());
    simt::reset();
    SUCCEED(cudaGetDeviceCount(&count));
    EXPECT(cudaErrorInvalidDevice, cudaSetDevice(count));
    require(count == 1, "one device");
}

void test_launch_checks() {
    Array<int> a(4);
    const auto with = [&](dim3 grid, dim3 block) { return launch<Add>(grid, block, {a, a, 0}); };
    EXPECT(cudaErrorInvalidConfiguration, with(0, 1));
    EXPECT(cudaErrorInvalidConfiguration, with(1, 0));
    EXPECT(cudaErrorInvalidConfiguration, with(1, 1025));
    EXPECT(cudaErrorInvalidConfiguration, with(1, dim3(32, 33)));
    EXPECT(cudaErrorInvalidConfiguration, with(dim3(1, 65536), 1));
    EXPECT(cudaErrorInvalidConfiguration, with(dim3(1, 1, 65536), 1));
    require(simt::pending() == 0, "what is refused is not queued");
}

/// Handles of one context are none of another's.
void test_contexts() {
    void *found = nullptr;
    cudaDriverEntryPointQueryResult result;
    Stream stream;
    Array<int> a(4);
    cudaEvent_t event;
    CUcontext first;
    int other;
    const auto function = [&](const char *name) {
        SUCCEED(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result));
        return found;
    };
    const auto get = reinterpret_cast<CUresult (*)(CUcontext *)>(function("cuCtxGetCurrent"));
    const auto set = reinterpret_cast<CUresult (*)(CUcontext)>(function("cuCtxSetCurrent"));
    SUCCEED(cudaEventCreate(&event));
    get(&first);
    set(reinterpret_cast<CUcontext>(&other));
    EXPECT(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(stream));
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventRecord(event, nullptr));
    EXPECT(cudaErrorInvalidResourceHandle, launch<Add>(1, 4, {a, a, 1}, 0, stream));
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventDestroy(event));
    simt::poison();
    SUCCEED(launch<Add>(1, 4, {a, a, 1}));
    EXPECT(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    set(first);
    SUCCEED(launch<Add>(1, 4, {a, a, 1}, 0, stream));
    SUCCEED(cudaStreamSynchronize(stream));
    require(*a == 1, "the other context's loss is not ours");
    SUCCEED(cudaEventDestroy(event));
    simt::reset();
}

} // namespace

int main() {
    test_shared_memory();
    test_reports();
    test_lazy_streams();
    test_copies();
    test_cooperative_launches();
    test_capture();
    test_faults();
    test_launch_checks();
    test_contexts();
    test_order(); // the last: it takes seeds of its own
    require(simt::live_bytes() == 0 && simt::live_objects() == 0, "nothing is left at the end");
    return failures != 0;
}
