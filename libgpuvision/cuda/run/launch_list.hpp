// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstring>
#include <list>
#include <type_traits>
#include <vector>

#include "cuda/runtime.hpp"

namespace gpv::cuda {

/// ordered: starts after the previous kernel. early: may start before the previous kernel ends, so
/// it calls wait_for_earlier_kernels(). cooperative: all its blocks run at once and may wait for
/// each other.
enum class LaunchMode { ordered, early, cooperative };

/// The kernels of a run in order, with their parameters.
class LaunchList {
  public:
    struct Launch {
        const void *kernel;
        dim3 grid;
        unsigned threads;   ///< per block
        std::size_t shared; ///< dynamic shared memory, bytes
        LaunchMode mode;
        std::size_t job; ///< offset of the parameter, bytes
        std::size_t job_bytes;

        bool same_shape(const Launch &other) const {
            return kernel == other.kernel && grid.x == other.grid.x && grid.y == other.grid.y &&
                   grid.z == other.grid.z && threads == other.threads && shared == other.shared &&
                   mode == other.mode;
        }
    };

    void clear() {
        launches_.clear();
        jobs_.clear();
    }

    template <class Job>
    void add(const void *kernel, dim3 grid, unsigned threads, std::size_t shared, const Job &job,
             LaunchMode mode = LaunchMode::ordered) {
        static_assert(std::is_trivially_copyable_v<Job> && sizeof(Job) <= 4096 &&
                      alignof(Job) <= alignment);
        const std::size_t at = jobs_.size() * alignment;
        jobs_.resize(jobs_.size() + (sizeof(Job) + alignment - 1) / alignment);
        std::memcpy(bytes() + at, &job, sizeof(Job));
        if (mode == LaunchMode::early && launches_.empty())
            mode = LaunchMode::ordered;
        launches_.push_back({kernel, grid, threads, shared, mode, at, sizeof(Job)});
    }

    const std::vector<Launch> &launches() const { return launches_; }
    void *job(const Launch &launch) { return bytes() + launch.job; }
    bool same_shape(const LaunchList &other) const;

    void launch(cudaStream_t stream);

  private:
    static constexpr std::size_t alignment = 16;
    struct alignas(alignment) Unit {
        std::byte bytes[alignment];
    };
    std::byte *bytes() { return reinterpret_cast<std::byte *>(jobs_.data()); }

    std::vector<Launch> launches_;
    std::vector<Unit> jobs_;
};

/// Launches lists as CUDA graphs, which costs the device less than single launches.
/// Keeps a graph for each of the most recent shapes (kernels, grids and sizes) and
/// updates its parameters for each run.
class GraphCache {
  public:
    /// Builds the graph, so that a later launch() of a list of the same shape finds it.
    void prepare(LaunchList &list) { find(list); }
    void launch(LaunchList &list, cudaStream_t stream);

  private:
    struct Entry {
        LaunchList list; ///< the kernels and parameters in the graph
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t executable = nullptr;
        std::vector<cudaGraphNode_t> nodes;

        Entry() = default;
        ~Entry();
        Entry(const Entry &) = delete;
        Entry &operator=(const Entry &) = delete;
    };

    /// Finds or builds a graph. Null if the list is too short or too long for one.
    Entry *find(LaunchList &list);
    static void build(Entry &entry);
    static void update(Entry &entry, LaunchList &list);

    std::list<Entry> entries_; ///< most recently used first
};

} // namespace gpv::cuda
