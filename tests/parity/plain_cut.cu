// SPDX-License-Identifier: BSD-2-Clause
#include "plain_cut.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

namespace parity {
namespace plain {

/// What CUDA launches, or the emulation of tests/simt.
#ifdef __CUDACC__
template <class Kernel>
__global__ void entry(typename Kernel::Job job) {
    Kernel::run(job);
}
#else
template <class Kernel>
void entry(const simt::Call &call) {
    if (!call.parameter)
        *call.parameter_size = sizeof(typename Kernel::Job);
    else
        Kernel::run(*static_cast<const typename Kernel::Job *>(call.parameter));
}
#endif

void require(cudaError_t error) {
    if (error == cudaSuccess)
        return;
    std::fprintf(stderr, "plain push-relabel: %s\n", cudaGetErrorString(error));
    std::exit(1);
}

constexpr int unreachable = 1 << 30;

/// What all kernels get.
struct Graph {
    int width, height, directions;
    std::int32_t *excess; ///< below 0: capacity to the sink
    std::int32_t *residual[8];
    int *heights;
    unsigned long long *absorbed; ///< by the sink
    int *seen;                    ///< what a kernel tells the host
    int level;                    ///< of a search

    __device__ int pixels() const { return width * height; }
    __device__ int back(int d) const { return (d + directions / 2) % directions; }
    /// The neighbour, or -1.
    __device__ int next(int pixel, int d) const {
        // In turn from the right over below, left and above.
        const int turn = d * (8 / directions);
        const int dx = turn == 0 || turn == 1 || turn == 7 ? 1 : turn == 2 || turn == 6 ? 0 : -1;
        const int dy = turn >= 1 && turn <= 3 ? 1 : turn == 0 || turn == 4 ? 0 : -1;
        const int x = pixel % width + dx, y = pixel / width + dy;
        return x < 0 || x >= width || y < 0 || y >= height ? -1 : y * width + x;
    }
};

/// What kernels have in common: f(graph, pixel) for each.
template <class Work>
struct Each {
    using Job = Graph;
    static constexpr int threads = 256;
    static __device__ void run(const Graph &graph) {
        const int pixel = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
        if (pixel < graph.pixels())
            Work::at(graph, pixel);
    }
};

struct Begin : Each<Begin> {
    static __device__ void at(const Graph &graph, int p) {
        graph.heights[p] = graph.excess[p] < 0 ? 0 : unreachable;
    }
};

/// Those that reach a pixel of the level, and are not reached yet, are one higher.
struct Search : Each<Search> {
    static __device__ void at(const Graph &graph, int p) {
        if (graph.heights[p] != unreachable)
            return;
        for (int d = 0; d < graph.directions; d++)
            if (graph.residual[d][p] > 0 && graph.heights[graph.next(p, d)] == graph.level) {
                graph.heights[p] = graph.level + 1;
                *graph.seen = graph.level + 1;
                return;
            }
    }
};

struct Look : Each<Look> {
    static __device__ void at(const Graph &graph, int p) {
        if (graph.excess[p] > 0 && graph.heights[p] < unreachable)
            *graph.seen = 1;
    }
};

struct Push : Each<Push> {
    static __device__ void at(const Graph &graph, int p) {
        const int given = graph.excess[p], height = graph.heights[p];
        int left = given;
        if (given <= 0 || height == unreachable)
            return;
        for (int d = 0; d < graph.directions && left > 0; d++) {
            const int room = graph.residual[d][p];
            if (room <= 0)
                continue;
            const int to = graph.next(p, d), maximum = min(left, room);
            if (graph.heights[to] >= height)
                continue;
            atomicSub(&graph.residual[d][p], maximum);
            atomicAdd(&graph.residual[graph.back(d)][to], maximum);
            const int before = atomicAdd(&graph.excess[to], maximum);
            if (before < 0)
                atomicAdd(graph.absorbed, static_cast<unsigned long long>(min(-before, maximum)));
            left -= maximum;
        }
        if (left < given)
            atomicSub(&graph.excess[p], given - left);
    }
};

/// A pixel with excess and no lower neighbour is lifted above the lowest. Neighbours that are
/// lifted beside it only get higher.
struct Lift : Each<Lift> {
    static __device__ void at(const Graph &graph, int p) {
        if (graph.excess[p] <= 0 || graph.heights[p] == unreachable)
            return;
        int lowest = unreachable;
        for (int d = 0; d < graph.directions; d++)
            if (graph.residual[d][p] > 0)
                lowest = min(lowest, graph.heights[graph.next(p, d)]);
        if (lowest >= graph.heights[p])
            graph.heights[p] = lowest < graph.pixels() ? lowest + 1 : unreachable;
    }
};

template <class T>
void allocate(T *&memory, std::size_t count) {
    void *made = nullptr;
    require(cudaMalloc(&made, count * sizeof(T)));
    memory = static_cast<T *>(made);
}

} // namespace plain

using namespace plain;

struct PlainCut::Memory {
    Graph graph{};
    std::size_t pixels;
    std::int32_t *given[9] = {}; ///< terminals, then links: as they are before a run

    Memory(int width, int height, const std::vector<std::int32_t> &terminals,
           const std::vector<std::vector<std::int32_t>> &links)
        : pixels(terminals.size()) {
        graph.width = width;
        graph.height = height;
        graph.directions = static_cast<int>(links.size());
        allocate(graph.heights, pixels);
        allocate(graph.absorbed, 1);
        allocate(graph.seen, 1);
        for (int i = 0; i <= graph.directions; i++) {
            allocate(work(i), pixels);
            allocate(given[i], pixels);
            require(cudaMemcpy(given[i],
                               (i ? links[static_cast<std::size_t>(i - 1)] : terminals).data(),
                               bytes(), cudaMemcpyHostToDevice));
        }
    }
    ~Memory() {
        for (int i = 0; i <= graph.directions; i++) {
            cudaFree(work(i));
            cudaFree(given[i]);
        }
        cudaFree(graph.heights);
        cudaFree(graph.absorbed);
        cudaFree(graph.seen);
    }
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;

    std::size_t bytes() const { return pixels * sizeof(std::int32_t); }
    std::int32_t *&work(int i) { return i ? graph.residual[i - 1] : graph.excess; }

    void reset() {
        for (int i = 0; i <= graph.directions; i++)
            require(cudaMemcpyAsync(work(i), given[i], bytes(), cudaMemcpyDeviceToDevice));
        require(cudaMemsetAsync(graph.absorbed, 0, sizeof *graph.absorbed));
        require(cudaStreamSynchronize(nullptr));
    }
    template <class Kernel>
    void launch() {
        const unsigned blocks =
            static_cast<unsigned>((pixels + Kernel::threads - 1) / Kernel::threads);
        void *arguments[] = {&graph};
        require(cudaLaunchKernel(reinterpret_cast<const void *>(&entry<Kernel>), dim3(blocks),
                                 dim3(Kernel::threads), arguments, 0, nullptr));
    }
    int seen() {
        int result = 0;
        require(cudaMemcpy(&result, graph.seen, sizeof result, cudaMemcpyDeviceToHost));
        return result;
    }
    /// Exact heights; returns the greatest. The host asks now and then whether there are more.
    int search() {
        constexpr int at_once = 16;
        launch<Begin>();
        require(cudaMemsetAsync(graph.seen, 0, sizeof *graph.seen));
        for (graph.level = 0;;) {
            for (int i = 0; i < at_once; i++, graph.level++)
                launch<Search>();
            if (const int reached = seen(); reached < graph.level)
                return reached;
        }
    }
    /// Whether there is excess that reaches the sink.
    bool active() {
        require(cudaMemsetAsync(graph.seen, 0, sizeof *graph.seen));
        launch<Look>();
        return seen() != 0;
    }
    std::int64_t flow() {
        constexpr int min_rounds = 64;
        for (int far = search(); active(); far = search())
            for (int round = 0; round < std::max(far, min_rounds); round++) {
                launch<Push>();
                launch<Lift>();
            }
        unsigned long long result = 0;
        require(cudaMemcpy(&result, graph.absorbed, sizeof result, cudaMemcpyDeviceToHost));
        return static_cast<std::int64_t>(result);
    }
};

PlainCut::PlainCut(int width, int height, const std::vector<std::int32_t> &terminals,
                   const std::vector<std::vector<std::int32_t>> &links)
    : memory_(std::make_unique<Memory>(width, height, terminals, links)) {}
PlainCut::~PlainCut() = default;
void PlainCut::reset() {
    memory_->reset();
}
std::int64_t PlainCut::flow() {
    return memory_->flow();
}

} // namespace parity
