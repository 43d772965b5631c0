// SPDX-License-Identifier: BSD-2-Clause
// The emulation, held against plain loops and against what CUDA promises.

#include "simt.hpp"

#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
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

unsigned hash(unsigned v) {
    v = (v ^ v >> 16) * 0x7feb352du;
    v = (v ^ v >> 15) * 0x846ca68bu;
    return v ^ v >> 16;
}

// ---------------------------------------------------------------------------------- barriers

/// Threads of an odd-sized block that leave early, and others that count on each other.
struct EarlyExit {
    struct Job {
        int *wrong;
        unsigned stay;
    };
    static void run(const Job &job) {
        int *arrived = static_cast<int *>(simt::shared_memory());
        const unsigned lanes = min(blockDim.x - (threadIdx.x & ~31u), 32);
        if (__ballot_sync(~0u, 1) != ~0u >> (32 - lanes))
            atomicAdd(job.wrong, 1);
        if (threadIdx.x == 0) {
            *arrived = 0;
            if (__shfl_sync(1u, 7, 5) == __shfl_sync(1u, 7, 5)) // of a lane that takes no part
                atomicAdd(job.wrong, 1);
        }
        __syncthreads();
        if (threadIdx.x >= job.stay)
            return;
        for (unsigned round = 1; round <= 5; ++round) {
            atomicAdd(arrived, 1);
            __syncthreads();
            if (*arrived != static_cast<int>(round * job.stay))
                atomicAdd(job.wrong, 1);
            __syncthreads();
        }
        const bool odd = threadIdx.x % 2 != 0;
        if (__syncthreads_count(odd) != static_cast<int>(job.stay / 2) || !__syncthreads_or(odd) ||
            __syncthreads_and(odd) || __syncthreads_or(0) || !__syncthreads_and(1))
            atomicAdd(job.wrong, 1);
    }
};

/// Two halves of a block that meet apart.
struct NamedBarriers {
    struct Job {
        int *wrong;
    };
    static void run(const Job &job) {
        int *arrived = static_cast<int *>(simt::shared_memory()) + threadIdx.x / 64;
        *arrived = 0;
        __syncthreads();
        for (int round = 1; round <= (threadIdx.x < 64 ? 3 : 7); ++round) {
            atomicAdd(arrived, 1);
            if (simt::barrier(1 + threadIdx.x / 64, 64, threadIdx.x % 4 == 0) != 16 ||
                *arrived != 64 * round)
                atomicAdd(job.wrong, 1);
            simt::barrier(1 + threadIdx.x / 64, 64);
        }
    }
};

struct GridBarrier {
    struct Job {
        int *counter, *wrong;
    };
    static void run(const Job &job) {
        for (int round = 1; round <= 3; ++round) {
            atomicAdd(job.counter, 1);
            simt::grid_sync();
            if (*job.counter != static_cast<int>(round * gridDim.x * blockDim.x))
                atomicAdd(job.wrong, 1);
            simt::grid_sync();
        }
    }
};

/// A block waits for the one before it, without a barrier.
struct Chain {
    struct Job {
        unsigned *turn;
    };
    static void run(const Job &job) {
        while (__ldcg(job.turn) != blockIdx.x) {
        }
        atomicAdd(job.turn, 1u);
    }
};

template <class Kernel>
cudaError_t launch_cooperatively(unsigned blocks, unsigned threads, typename Kernel::Job job,
                                 std::size_t shared = 0) {
    void *arguments[] = {&job};
    return cudaLaunchCooperativeKernel(kernel_of<Kernel>(), blocks, threads, arguments, shared);
}

void test_barriers() {
    Array<int> wrong(1), counter(1);
    Array<unsigned> turn(1);
    SUCCEED(launch<EarlyExit>(5, 90, {wrong, 37}, sizeof(int)));
    SUCCEED(launch<NamedBarriers>(3, 128, {wrong}, 2 * sizeof(int)));
    SUCCEED(launch_cooperatively<GridBarrier>(8, 96, {counter, wrong}));
    SUCCEED(launch_cooperatively<Chain>(8, 1, {turn}));
    SUCCEED(cudaDeviceSynchronize());
    require(*wrong == 0, "every thread arrives before a barrier opens");
    require(*turn == 8, "blocks of a cooperative launch make progress together");
    EXPECT(cudaErrorCooperativeLaunchTooLarge,
           launch_cooperatively<GridBarrier>(9, 96, {counter, wrong}));
    SUCCEED(cudaFuncSetAttribute(kernel_of<GridBarrier>(),
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
    EXPECT(cudaErrorCooperativeLaunchTooLarge,
           launch_cooperatively<GridBarrier>(5, 96, {counter, wrong}, 200 << 10));
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

// --------------------------------------------------------------------------- warp operations

constexpr unsigned operations = 32;

/// All operations, by two groups of lanes that part.
struct Warp {
    struct Job {
        unsigned group; // lanes of the one; the others are the other
        unsigned long long *out;
    };
    static void run(const Job &job) {
        const unsigned me = simt::lane(), thread = threadIdx.x + threadIdx.y * blockDim.x;
        const bool in_group = job.group >> me & 1;
        const unsigned mask = in_group ? job.group : ~job.group;
        const unsigned value = hash(thread), few = value % 3;
        const int number = static_cast<int>(value);
        unsigned long long *out = job.out + thread * operations;
        if (in_group)
            __syncwarp(mask);
        *out++ = __ballot_sync(mask, few == 0);
        *out++ = __any_sync(mask, few == 0);
        *out++ = __all_sync(mask, few != 3);
        *out++ = __match_any_sync(mask, few);
        *out++ = __reduce_add_sync(mask, value);
        *out++ = __reduce_min_sync(mask, value);
        *out++ = __reduce_max_sync(mask, value);
        *out++ = static_cast<unsigned>(__reduce_min_sync(mask, number));
        *out++ = static_cast<unsigned>(__reduce_max_sync(mask, number));
        *out++ = __reduce_and_sync(mask, value);
        *out++ = __reduce_or_sync(mask, value);
        *out++ = __reduce_xor_sync(mask, value);
        __syncwarp();
        for (int width = 32; width >= 8; width /= 2) {
            *out++ = __shfl_sync(~0u, value, static_cast<int>(me * 5 + 3), width);
            *out++ = __shfl_up_sync(~0u, value * 0x100000001ull, 3, width);
            *out++ = __float_as_uint(__shfl_down_sync(~0u, static_cast<float>(me), 5, width));
            *out++ = static_cast<unsigned>(__shfl_xor_sync(~0u, number, 9, width));
        }
    }
};

std::vector<unsigned long long> expected_of_warp(unsigned thread, unsigned group) {
    const unsigned first = thread & ~31u, me = thread & 31;
    const unsigned mask = group >> me & 1 ? group : ~group;
    unsigned ballot = 0, all = 1, match = 0, sum = 0, minimum = ~0u, maximum = 0, both = ~0u,
             any = 0, odd = 0;
    int lowest = 0x7fffffff, highest = -lowest - 1;
    for (unsigned lane = 0; lane < 32; ++lane) {
        if ((mask >> lane & 1) == 0)
            continue;
        const unsigned value = hash(first + lane);
        ballot |= unsigned(value % 3 == 0) << lane;
        match |= unsigned(value % 3 == hash(thread) % 3) << lane;
        sum += value;
        minimum = std::min(minimum, value);
        maximum = std::max(maximum, value);
        lowest = std::min(lowest, static_cast<int>(value));
        highest = std::max(highest, static_cast<int>(value));
        both &= value;
        any |= value;
        odd ^= value;
    }
    std::vector<unsigned long long> out = {
        ballot,           ballot != 0,       all,  match, sum, minimum, maximum,
        unsigned(lowest), unsigned(highest), both, any,   odd};
    for (unsigned width = 32; width >= 8; width /= 2) {
        const unsigned segment = me / width * width, place = me % width;
        const auto value = [&](unsigned lane) { return hash(first + lane); };
        out.push_back(value(segment + (me * 5 + 3) % width));
        out.push_back(value(place < 3 ? me : me - 3) * 0x100000001ull);
        out.push_back(std::bit_cast<unsigned>(static_cast<float>(place + 5 < width ? me + 5 : me)));
        out.push_back(value((me ^ 9) / width <= me / width ? me ^ 9 : me));
    }
    return out;
}

void test_warps() {
    Array<unsigned long long> out(96 * operations);
    for (unsigned group : {0xffffffffu, 0x00ff00f1u, 0x80000000u, 0x12345678u}) {
        SUCCEED(launch<Warp>(1, dim3(16, 6), {group, out}));
        SUCCEED(cudaDeviceSynchronize());
        bool right = true;
        for (unsigned thread = 0; thread < 96; ++thread) {
            const auto expected = expected_of_warp(thread, group);
            right &= std::equal(expected.begin(), expected.end(), out + thread * operations);
        }
        require(right, "warp operations equal plain loops, lanes " + std::to_string(group));
    }
}

// -------------------------------------------------------------------- atomics, shared memory

struct Atomics {
    struct Job {
        unsigned *out;
        unsigned long long *wide;
        float *real;
    };
    static void run(const Job &job) {
        const unsigned id = blockIdx.x * blockDim.x + threadIdx.x, value = hash(id);
        atomicAdd(job.out, value);
        atomicSub(job.out + 1, value);
        atomicMin(job.out + 2, value);
        atomicMax(job.out + 3, value);
        atomicAnd(job.out + 4, value | 1);
        atomicOr(job.out + 5, value & 0xff);
        atomicXor(job.out + 6, value);
        atomicAdd(job.wide, 1ull << 32);
        atomicAdd(job.real, 0.5f);
        unsigned seen = job.out[7], old;
        do {
            old = seen;
            seen = atomicCAS(job.out + 7, old, old + id);
        } while (seen != old);
        atomicAdd(job.out + 8, atomicExch(job.out + 9, id));
    }
};

void test_atomics() {
    constexpr unsigned threads = 4 * 96;
    Array<unsigned> out(10);
    Array<unsigned long long> wide(1);
    Array<float> real(1);
    out[2] = out[4] = ~0u;
    SUCCEED(launch<Atomics>(4, 96, {out, wide, real}));
    SUCCEED(cudaDeviceSynchronize());
    unsigned sum = 0, minimum = ~0u, maximum = 0, both = ~0u, any = 0, odd = 0;
    for (unsigned id = 0; id < threads; ++id) {
        const unsigned value = hash(id);
        sum += value;
        minimum = std::min(minimum, value);
        maximum = std::max(maximum, value);
        both &= value | 1;
        any |= value & 0xff;
        odd ^= value;
    }
    const unsigned ids = threads * (threads - 1) / 2;
    require(out.values() == std::vector<unsigned>{sum, -sum, minimum, maximum, both, any, odd, ids,
                                                  ids - out[9], out[9]},
            "atomics equal plain loops");
    require(*wide == (std::uint64_t(threads) << 32) && *real == threads * 0.5f,
            "atomics of 64 bits and of float");
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
    cudaPointerAttributes attributes;
    SUCCEED(cudaPointerGetAttributes(&attributes, device + 1));
    require(attributes.type == cudaMemoryTypeDevice, "device memory is known");
    SUCCEED(cudaPointerGetAttributes(&attributes, pinned));
    require(attributes.type == cudaMemoryTypeHost, "pinned memory is known");
    SUCCEED(cudaPointerGetAttributes(&attributes, host));
    require(attributes.type == cudaMemoryTypeUnregistered, "other memory is not");

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

    SUCCEED(cudaMemcpy2DAsync(device, 4, host, 8, 4, 2, cudaMemcpyHostToDevice, stream));
    SUCCEED(cudaMemset2DAsync(device + 2, 2, 7, 1, 4, stream));
    SUCCEED(cudaMemcpy2DAsync(pinned, 8, device, 8, 8, 2, cudaMemcpyDeviceToHost, stream));
    SUCCEED(cudaStreamSynchronize(stream));
    require(pinned[0] == 9 && pinned[1] == 3 && (pinned[2] & 0xff00ff) == 0x070007,
            "copies of rectangles");
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

void test_graphs() {
    Array<int> a(4), b(4), c(4);
    Stream stream;
    cudaGraph_t graph;
    cudaGraphNode_t first, second;
    cudaGraphExec_t executable;
    Add::Job job = {a, b, 1};
    void *arguments[] = {&job};
    const cudaKernelNodeParams parameters = {
        const_cast<void *>(kernel_of<Add>()), 1, 4, 0, arguments, nullptr};
    SUCCEED(cudaGraphCreate(&graph, 0));
    SUCCEED(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &parameters));
    job = {b, c, 10};
    SUCCEED(cudaGraphAddKernelNode(&second, graph, &first, 1, &parameters));
    SUCCEED(cudaGraphInstantiate(&executable, graph));
    SUCCEED(cudaGraphLaunch(executable, stream));
    job = {b, c, 20};
    SUCCEED(cudaGraphExecKernelNodeSetParams(executable, second, &parameters));
    require(*c == 0, "a graph waits too");
    SUCCEED(cudaStreamSynchronize(stream));
    require(*c == 11, "a launch has the parameters of its time");
    SUCCEED(cudaGraphLaunch(executable, stream));
    SUCCEED(cudaStreamSynchronize(stream));
    require(*c == 21, "the next one has the new parameters");
    SUCCEED(cudaGraphExecDestroy(executable));
    SUCCEED(cudaGraphDestroy(graph));
}

/// What the call that adds a node was given may be gone when it becomes cooperative.
void test_cooperative_nodes() {
    Array<int> counter(1), wrong(1);
    Stream stream;
    cudaGraph_t graph;
    cudaGraphNode_t fits, large;
    cudaGraphExec_t executable;
    cudaKernelNodeAttrValue cooperative{};
    cooperative.cooperative = 1;
    GridBarrier::Job job = {counter, wrong};
    void *arguments[] = {&job};
    cudaKernelNodeParams parameters = {
        const_cast<void *>(kernel_of<GridBarrier>()), 8, 96, 0, arguments, nullptr};
    const auto make_cooperative = [&](cudaGraphNode_t node) {
        arguments[0] = nullptr;
        const cudaError_t error =
            cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeCooperative, &cooperative);
        arguments[0] = &job;
        return error;
    };
    SUCCEED(cudaGraphCreate(&graph, 0));
    SUCCEED(cudaGraphAddKernelNode(&fits, graph, nullptr, 0, &parameters));
    SUCCEED(make_cooperative(fits));
    SUCCEED(cudaGraphInstantiate(&executable, graph));
    SUCCEED(cudaGraphLaunch(executable, stream));
    SUCCEED(cudaStreamSynchronize(stream));
    require(*wrong == 0 && *counter == 3 * 8 * 96, "blocks of a cooperative node meet");

    parameters.gridDim = 9;
    EXPECT(cudaErrorCooperativeLaunchTooLarge,
           cudaGraphExecKernelNodeSetParams(executable, fits, &parameters));
    *counter = 0;
    SUCCEED(cudaGraphLaunch(executable, stream));
    SUCCEED(cudaStreamSynchronize(stream));
    require(*wrong == 0 && *counter == 3 * 8 * 96, "refused parameters change nothing");
    SUCCEED(cudaGraphAddKernelNode(&large, graph, nullptr, 0, &parameters));
    EXPECT(cudaErrorCooperativeLaunchTooLarge, make_cooperative(large));
    SUCCEED(cudaGraphExecDestroy(executable));
    SUCCEED(cudaGraphDestroy(graph));
}

void test_early_launches() {
    Array<int> a(4), b(4), c(4);
    Stream stream;
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = 1;
    config.blockDim = 4;
    config.stream = stream;
    config.attrs = &early;
    config.numAttrs = 1;
    Add::Job job = {a, b, 1};
    void *arguments[] = {&job};
    SUCCEED(cudaLaunchKernelExC(&config, kernel_of<Add>(), arguments));
    job = {b, c, 10};
    SUCCEED(cudaLaunchKernelExC(&config, kernel_of<Add>(), arguments));
    require(*b == 0 && simt::pending() == 2, "an early launch waits too");
    SUCCEED(cudaStreamSynchronize(stream));
    require(*c == 11, "early launches run in order");
    config.dynamicSmemBytes = 1 << 20;
    EXPECT(cudaErrorInvalidValue, cudaLaunchKernelExC(&config, kernel_of<Add>(), arguments));
    simt::fail_call(1);
    EXPECT(cudaErrorLaunchOutOfResources,
           cudaLaunchKernelExC(&config, kernel_of<Add>(), arguments));
}

void test_early_edges() {
    Array<int> a(4), b(4), c(4);
    Stream stream;
    cudaGraph_t graph, other;
    cudaGraphNode_t first, second, foreign;
    cudaGraphExec_t executable;
    cudaGraphEdgeData early{};
    early.type = cudaGraphDependencyTypeProgrammatic;
    early.from_port = cudaGraphKernelNodePortProgrammatic;
    Add::Job job = {a, b, 1};
    void *arguments[] = {&job};
    const cudaKernelNodeParams parameters = {
        const_cast<void *>(kernel_of<Add>()), 1, 4, 0, arguments, nullptr};
    SUCCEED(cudaGraphCreate(&graph, 0));
    SUCCEED(cudaGraphCreate(&other, 0));
    SUCCEED(cudaGraphAddKernelNode(&foreign, other, nullptr, 0, &parameters));
    SUCCEED(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &parameters));
    job = {b, c, 10};
    SUCCEED(cudaGraphAddKernelNode(&second, graph, nullptr, 0, &parameters));
    SUCCEED(cudaGraphAddDependencies(graph, &first, &second, &early, 1));
    EXPECT(cudaErrorInvalidValue, cudaGraphAddDependencies(graph, &second, &first, &early, 1));
    EXPECT(cudaErrorInvalidValue, cudaGraphAddDependencies(graph, &foreign, &second, &early, 1));
    SUCCEED(cudaGraphInstantiate(&executable, graph));
    SUCCEED(cudaGraphLaunch(executable, stream));
    SUCCEED(cudaStreamSynchronize(stream));
    require(*c == 11, "nodes run in the order of their edges");
    SUCCEED(cudaGraphExecDestroy(executable));
    SUCCEED(cudaGraphDestroy(graph));
    SUCCEED(cudaGraphDestroy(other));
}

void test_capture() {
    Array<int> a(4), b(4), c(4);
    Stream stream;
    cudaStreamCaptureStatus status;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    SUCCEED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    SUCCEED(launch<Add>(1, 4, {a, b, 1}, 0, stream));
    SUCCEED(cudaMemsetAsync(a, 1, 4, stream));
    SUCCEED(cudaMemcpyAsync(c, b, 16, cudaMemcpyDefault, stream));
    SUCCEED(cudaStreamIsCapturing(stream, &status));
    require(status == cudaStreamCaptureStatusActive && simt::pending() == 0, "capture holds all");
    SUCCEED(cudaStreamEndCapture(stream, &graph));
    SUCCEED(cudaGraphInstantiate(&executable, graph));
    SUCCEED(cudaGraphLaunch(executable, stream));
    SUCCEED(cudaGraphLaunch(executable, stream));
    SUCCEED(cudaStreamSynchronize(stream));
    require(*c == 0x01010102, "a captured graph runs again");
    SUCCEED(cudaGraphExecDestroy(executable));
    SUCCEED(cudaGraphDestroy(graph));

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
    cudaDeviceProp properties;
    SUCCEED(cudaGetDeviceProperties(&properties, 0));
    require(properties.major * 10 + properties.minor == 90 && properties.multiProcessorCount == 4,
            "the device");
    require(std::string(cudaGetErrorName(cudaErrorInvalidPc)) == "cudaErrorInvalidPc" &&
                std::string(cudaGetErrorString(cudaErrorNoDevice)) ==
                    "no CUDA-capable device is detected",
            "names of errors");
}

template <class Function>
Function *driver_function(const char *name) {
    void *function = nullptr;
    cudaDriverEntryPointQueryResult result;
    SUCCEED(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &result));
    require(result == cudaDriverEntryPointSuccess, name);
    return reinterpret_cast<Function *>(function);
}

void test_contexts() {
    auto *const get = driver_function<CUresult(CUcontext *)>("cuCtxGetCurrent");
    auto *const set = driver_function<CUresult(CUcontext)>("cuCtxSetCurrent");
    int mine;
    const auto another = reinterpret_cast<CUcontext>(&mine);
    std::thread([&] {
        CUcontext current = another;
        get(&current);
        require(current == nullptr, "a thread begins without a context");
        SUCCEED(cudaDeviceSynchronize());
        get(&current);
        require(current != nullptr, "the runtime makes the primary one current");
    }).join();
    CUcontext first;
    SUCCEED(cudaSetDevice(0));
    get(&first);
    {
        Stream stream;
        Array<int> a(4);
        cudaEvent_t event;
        SUCCEED(cudaEventCreate(&event));
        set(another);
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
    }
    simt::reset();
}

void test_host_threads() {
    std::vector<std::thread> threads;
    for (int id = 0; id < 4; ++id)
        threads.emplace_back([id] {
            Array<int> a(4);
            Stream stream;
            for (int round = 0; round < 50; ++round) {
                SUCCEED(launch<Add>(1, 4, {a, a, id}, 0, stream));
                SUCCEED(cudaStreamSynchronize(stream));
            }
            require(*a == 50 * id, "host threads do not meet");
        });
    for (std::thread &thread : threads)
        thread.join();
}

void test_intrinsics() {
    for (unsigned round = 0; round < 1000; ++round) {
        const unsigned a = hash(3 * round), b = hash(3 * round + 1), c = hash(3 * round + 2);
        const auto byte = [](unsigned word, int at) { return word >> 8 * at & 255; };
        unsigned chosen = 0, minimum = 0, over = 0, mean = 0, difference = 0, products = c,
                 bits = 0;
        int signed_products = static_cast<int>(c);
        for (int at = 0; at < 4; ++at) {
            const unsigned which = c >> 4 * at & 7, x = byte(a, at), y = byte(b, at);
            chosen |= byte(which < 4 ? a : b, which % 4) << 8 * at;
            minimum |= std::min(x, y) << 8 * at;
            over |= (x >= y ? 255u : 0u) << 8 * at;
            mean |= (x + y + 1) / 2 << 8 * at;
            difference |= (x > y ? x - y : 0) << 8 * at;
            products += x * y;
            signed_products =
                static_cast<int>(static_cast<unsigned>(signed_products) +
                                 static_cast<signed char>(x) * static_cast<signed char>(y));
        }
        for (int at = 0; at < 32; ++at)
            bits += a >> at & 1;
        const unsigned shift = c % 40, low = shift % 32;
        const unsigned left = low ? b << low | a >> (32 - low) : b;
        const unsigned right = low ? a >> low | b << (32 - low) : a;
        const unsigned halves = std::max(a & 0xffff, b & 0xffff) | std::max(a >> 16, b >> 16) << 16;
        require(__byte_perm(a, b, c) == chosen && __vminu4(a, b) == minimum &&
                    __vcmpgeu4(a, b) == over && __vavgu4(a, b) == mean &&
                    __vsubus4(a, b) == difference && __dp4a(a, b, c) == products &&
                    __dp4a(int(a), int(b), int(c)) == signed_products && __vmaxu2(a, b) == halves &&
                    __vimax3_u16x2(a, b, a) == halves,
                "bytes of words");
        require(__popc(a) == static_cast<int>(bits) &&
                    __popcll(a * 0x100000001ull) == __popc(a) * 2 && __brev(__brev(a)) == a &&
                    __brev(1u << low) == 1u << (31 - low) &&
                    __clz(1 << low) == static_cast<int>(31 - low) &&
                    __ffs(1 << low) == static_cast<int>(low + 1) &&
                    __funnelshift_l(a, b, shift) == left && __funnelshift_r(a, b, shift) == right &&
                    __funnelshift_lc(a, b, shift) == (shift < 32 ? left : a) &&
                    __funnelshift_rc(a, b, shift) == (shift < 32 ? right : b) &&
                    __umulhi(a, b) == (std::uint64_t(a) * b) >> 32 && __mul24(-3, 5) == -15,
                "bits of words");
    }
    require(__float2int_rn(2.5f) == 2 && __float2int_rn(-3.5f) == -4 &&
                __float2int_rn(1e20f) == 0x7fffffff && __float2int_rn(NAN) == 0 &&
                __float2int_rd(-0.5f) == -1 && __float2uint_rn(-1.0f) == 0u,
            "conversions round and saturate");
    require(min(3, 4u) == 3u && max(-1, 2) == 2 && min(1.5f, NAN) == 1.5f, "min and max");
    require(__clz(0) == 32 && __ffs(0) == 0 && __clzll(1) == 63 && __ffsll(1ll << 40) == 41,
            "ends of bit searches");
}

} // namespace

int main() {
    test_barriers();
    test_warps();
    test_atomics();
    test_shared_memory();
    test_reports();
    test_lazy_streams();
    test_copies();
    test_graphs();
    test_cooperative_nodes();
    test_early_launches();
    test_early_edges();
    test_capture();
    test_faults();
    test_launch_checks();
    test_contexts();
    test_host_threads();
    test_intrinsics();
    test_order(); // the last: it takes seeds of its own
    require(simt::live_bytes() == 0 && simt::live_objects() == 0, "nothing is left at the end");
    return failures != 0;
}
