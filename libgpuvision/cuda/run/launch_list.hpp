// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstring>
#include <list>
#include <type_traits>
#include <vector>

#include "cuda/runtime.hpp"

namespace gpv::cuda {

/// Kernels that run one after the other.
class Sequence {
  public:
    /// How a kernel begins: after the one before it is over; or before that, as it calls
    /// wait_for_earlier_kernels(); or with all its blocks at once, which wait for each other.
    enum class Begin { in_turn, early, together };

    struct Launch {
        const void *kernel;
        dim3 grid;
        unsigned threads;
        std::size_t shared; ///< bytes
        Begin begin;
        std::size_t job; ///< where its parameter begins in the sequence's bytes
        std::size_t job_bytes;

        bool same_shape(const Launch &other) const {
            return kernel == other.kernel && grid.x == other.grid.x && grid.y == other.grid.y &&
                   grid.z == other.grid.z && threads == other.threads && shared == other.shared &&
                   begin == other.begin;
        }
    };

    void clear() {
        launches_.clear();
        jobs_.clear();
    }

    template <class Job>
    void add(const void *kernel, dim3 grid, unsigned threads, std::size_t shared, const Job &job,
             Begin begin = Begin::in_turn) {
        static_assert(std::is_trivially_copyable_v<Job> && sizeof(Job) <= 4096 &&
                      alignof(Job) <= alignment);
        const std::size_t at = jobs_.size() * alignment;
        jobs_.resize(jobs_.size() + (sizeof(Job) + alignment - 1) / alignment);
        std::memcpy(bytes() + at, &job, sizeof(Job));
        if (begin == Begin::early && launches_.empty())
            begin = Begin::in_turn;
        launches_.push_back({kernel, grid, threads, shared, begin, at, sizeof(Job)});
    }

    const std::vector<Launch> &launches() const { return launches_; }
    void *job(const Launch &launch) { return bytes() + launch.job; }
    bool same_shape(const Sequence &other) const;

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

/// Launches sequences as graphs, which costs the device less than kernel after
/// kernel. Keeps a graph for each of the latest shapes (kernels and sizes, that
/// is parameters, format and size of the image) and gives it the pointers of
/// each run.
class GraphCache {
  public:
    /// Makes the graph, so that a later launch() of such a sequence finds it.
    void prepare(Sequence &sequence) { find(sequence); }
    void launch(Sequence &sequence, cudaStream_t stream);

  private:
    struct Entry {
        Sequence sequence; ///< as the graph has it
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t executable = nullptr;
        std::vector<cudaGraphNode_t> nodes;

        Entry() = default;
        ~Entry();
        Entry(const Entry &) = delete;
        Entry &operator=(const Entry &) = delete;
    };

    /// Null where a graph is of no use.
    Entry *find(Sequence &sequence);
    static void build(Entry &entry);
    static void update(Entry &entry, Sequence &sequence);

    std::list<Entry> entries_; ///< the latest first
};

} // namespace gpv::cuda
