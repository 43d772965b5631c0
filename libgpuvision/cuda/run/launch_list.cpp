// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/run/launch_list.hpp"

#include <algorithm>

namespace gpv::cuda {
namespace {

constexpr std::size_t max_graphs = 8;
constexpr std::size_t max_nodes = 64; // beyond, making the graph takes longer than it saves

cudaKernelNodeParams node_params(Sequence &sequence, const Sequence::Launch &launch, void **job) {
    *job = sequence.job(launch);
    cudaKernelNodeParams params{};
    params.func = const_cast<void *>(launch.kernel);
    params.gridDim = launch.grid;
    params.blockDim = dim3(launch.threads);
    params.sharedMemBytes = static_cast<unsigned>(launch.shared);
    params.kernelParams = job;
    return params;
}

auto enqueue_of(Sequence::Begin begin) {
    switch (begin) {
    case Sequence::Begin::early:
        return runtime.launch_kernel_early;
    case Sequence::Begin::together:
        return runtime.launch_kernel_cooperative;
    default:
        return runtime.launch_kernel;
    }
}

} // namespace

bool Sequence::same_shape(const Sequence &other) const {
    return std::equal(launches_.begin(), launches_.end(), other.launches_.begin(),
                      other.launches_.end(),
                      [](const Launch &a, const Launch &b) { return a.same_shape(b); });
}

void Sequence::launch(cudaStream_t stream) {
    for (const Launch &launch : launches_) {
        void *parameter = job(launch);
        GPV_CUDA(enqueue_of(launch.begin)(launch.kernel, launch.grid, dim3(launch.threads),
                                          &parameter, launch.shared, stream));
    }
}

GraphCache::Entry::~Entry() {
    if (executable)
        runtime.graph_exec_destroy(executable);
    if (graph)
        runtime.graph_destroy(graph);
}

void GraphCache::build(Entry &entry) {
    GPV_CUDA(runtime.graph_create(&entry.graph, 0));
    for (const Sequence::Launch &launch : entry.sequence.launches()) {
        void *job;
        const cudaKernelNodeParams params = node_params(entry.sequence, launch, &job);
        const bool early = launch.begin == Sequence::Begin::early;
        const std::size_t after = entry.nodes.empty() || early ? 0 : 1;
        cudaGraphNode_t node;
        GPV_CUDA(runtime.graph_add_kernel(&node, entry.graph, after ? &entry.nodes.back() : nullptr,
                                          after, &params));
        if (launch.begin == Sequence::Begin::together)
            GPV_CUDA(runtime.graph_set_cooperative(node));
        if (early)
            GPV_CUDA(runtime.graph_add_early_edge(entry.graph, entry.nodes.back(), node));
        entry.nodes.push_back(node);
    }
    GPV_CUDA(runtime.graph_instantiate(&entry.executable, entry.graph, 0));
}

GraphCache::Entry *GraphCache::find(Sequence &sequence) {
    const std::size_t nodes = sequence.launches().size();
    if (nodes < 2 || nodes > max_nodes)
        return nullptr;
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry &entry) {
        return entry.sequence.same_shape(sequence);
    });
    if (found != entries_.end()) {
        entries_.splice(entries_.begin(), entries_, found);
        return &entries_.front();
    }
    std::list<Entry> fresh;
    fresh.emplace_front().sequence = sequence;
    build(fresh.front());
    entries_.splice(entries_.begin(), fresh);
    if (entries_.size() > max_graphs)
        entries_.pop_back();
    return &entries_.front();
}

void GraphCache::update(Entry &entry, Sequence &sequence) {
    const auto &launches = sequence.launches();
    for (std::size_t i = 0; i < launches.size(); i++) {
        const Sequence::Launch &launch = launches[i];
        void *known = entry.sequence.job(entry.sequence.launches()[i]);
        if (std::memcmp(known, sequence.job(launch), launch.job_bytes) == 0)
            continue;
        void *job;
        const cudaKernelNodeParams params = node_params(sequence, launch, &job);
        GPV_CUDA(runtime.graph_set_kernel(entry.executable, entry.nodes[i], &params));
        std::memcpy(known, sequence.job(launch), launch.job_bytes);
    }
}

void GraphCache::launch(Sequence &sequence, cudaStream_t stream) {
    Entry *entry = find(sequence);
    if (!entry)
        return sequence.launch(stream);
    update(*entry, sequence);
    GPV_CUDA(runtime.graph_launch(entry->executable, stream));
}

} // namespace gpv::cuda
