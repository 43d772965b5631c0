// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstring>
#include <list>
#include <type_traits>
#include <vector>

#include "cuda/runtime.hpp"

namespace gpv::cuda {

/// ordered: after the kernel before it. early: possibly before that one ends, so it calls
/// wait_for_earlier_kernels(). cooperative: all its blocks run at once and may wait for each
/// other.
enum class LaunchMode { ordered, early, cooperative };

/// The kernels of a run, one after the other, with their parameters.
class LaunchList {
  public:
    struct Launch {
        const void *kernel;
        dim3 grid;
        unsigned threads;
        std::size_t shared; ///< bytes
        LaunchMode mode;
        std::size_t job; ///< offset of its parameter, bytes
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

/// Launches lists as CUDA graphs, which costs the device less than one launch after
/// the other. Keeps a graph for each of the latest shapes (kernels, grids and sizes)
/// and updates the parameters in it for each run.
class GraphCache {
  public:
    /// Makes the graph, so that a later launch() of such a list finds it.
    void prepare(LaunchList &list) { find(list); }
    void launch(LaunchList &list, cudaStream_t stream);

  private:
    struct Entry {
        LaunchList list; ///< as the graph has it
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t executable = nullptr;
        std::vector<cudaGraphNode_t> nodes;

        Entry() = default;
        ~Entry();
        Entry(const Entry &) = delete;
        Entry &operator=(const Entry &) = delete;
    };

    /// Null where a graph is of no use.
    Entry *find(LaunchList &list);
    static void build(Entry &entry);
    static void update(Entry &entry, LaunchList &list);

    std::list<Entry> entries_; ///< the latest first
};

} // namespace gpv::cuda
