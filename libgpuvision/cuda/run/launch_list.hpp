// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <cstring>
#include <list>
#include <span>
#include <type_traits>
#include <vector>

#include "core/arena.hpp"
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
        const std::size_t at = round_up(jobs_.size() * sizeof(std::uint64_t), alignment);
        jobs_.resize(round_up(at + sizeof(Job), alignment) / sizeof(std::uint64_t));
        std::memcpy(bytes() + at, &job, sizeof(Job));
        if (mode == LaunchMode::early && launches_.empty())
            mode = LaunchMode::ordered;
        launches_.push_back({kernel, grid, threads, shared, mode, at, sizeof(Job)});
    }

    const std::vector<Launch> &launches() const { return launches_; }
    void *job(const Launch &launch) { return bytes() + launch.job; }
    /// The parameters of all launches.
    std::span<std::uint64_t> words() { return jobs_; }
    std::span<const std::uint64_t> words() const { return jobs_; }
    bool same_shape(const LaunchList &other) const;
    bool same_parameters(const LaunchList &other) const { return jobs_ == other.jobs_; }

    void launch(cudaStream_t stream);

  private:
    static constexpr std::size_t alignment = 16;
    static_assert(alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    std::byte *bytes() { return reinterpret_cast<std::byte *>(jobs_.data()); }

    std::vector<Launch> launches_;
    std::vector<std::uint64_t> jobs_;
};

/// Launches lists as CUDA graphs, which costs the host less than single launches. Keeps the most
/// recent shapes (kernels, grids and sizes), and of each some graphs with the parameters of the
/// most recent runs: frames of a pool come again, with the same ones.
class GraphCache {
  public:
    /// Builds the graphs, so that a later launch() of a list of the same shape finds them.
    void prepare(LaunchList &list) { find(list); }
    void launch(LaunchList &list, cudaStream_t stream);

  private:
    struct Executable {
        LaunchList list; ///< with the parameters in the graph
        cudaGraphExec_t graph = nullptr;
    };
    struct Entry {
        cudaGraph_t graph = nullptr;
        std::vector<cudaGraphNode_t> nodes;
        std::list<Executable> executables; ///< most recently used first

        Entry() = default;
        ~Entry();
        Entry(const Entry &) = delete;
        Entry &operator=(const Entry &) = delete;
    };

    /// Finds or builds the graphs. Null if the list is empty, or too long for one.
    Entry *find(LaunchList &list);
    static void build(Entry &entry, LaunchList &list);
    static void update(Entry &entry, Executable &executable, LaunchList &list);

    std::list<Entry> entries_; ///< most recently used first
};

} // namespace gpv::cuda
