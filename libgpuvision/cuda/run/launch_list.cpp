// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/run/launch_list.hpp"

#include <algorithm>

namespace gpv::cuda {
namespace {

constexpr std::size_t max_shapes = 8, graphs_of_shape = 16;
constexpr std::size_t max_nodes = 512; // beyond this, building a graph takes long

cudaKernelNodeParams node_params(LaunchList &list, const LaunchList::Launch &launch, void **job) {
    *job = list.job(launch);
    cudaKernelNodeParams params{};
    params.func = const_cast<void *>(launch.kernel);
    params.gridDim = launch.grid;
    params.blockDim = dim3(launch.threads);
    params.sharedMemBytes = static_cast<unsigned>(launch.shared);
    params.kernelParams = job;
    return params;
}

auto enqueue_of(LaunchMode mode) {
    switch (mode) {
    case LaunchMode::early:
        return runtime.launch_kernel_early;
    case LaunchMode::cooperative:
        return runtime.launch_kernel_cooperative;
    default:
        return runtime.launch_kernel;
    }
}

} // namespace

bool LaunchList::same_shape(const LaunchList &other) const {
    return std::equal(launches_.begin(), launches_.end(), other.launches_.begin(),
                      other.launches_.end(),
                      [](const Launch &a, const Launch &b) { return a.same_shape(b); });
}

void LaunchList::launch(cudaStream_t stream) {
    for (const Launch &launch : launches_) {
        void *parameter = job(launch);
        GPV_CUDA(enqueue_of(launch.mode)(launch.kernel, launch.grid, dim3(launch.threads),
                                         &parameter, launch.shared, stream));
    }
}

GraphCache::Entry::~Entry() {
    for (const Executable &executable : executables)
        if (executable.graph)
            runtime.graph_exec_destroy(executable.graph);
    if (graph)
        runtime.graph_destroy(graph);
}

void GraphCache::build(Entry &entry, LaunchList &list) {
    GPV_CUDA(runtime.graph_create(&entry.graph, 0));
    for (const LaunchList::Launch &launch : list.launches()) {
        void *job;
        const cudaKernelNodeParams params = node_params(list, launch, &job);
        const bool early = launch.mode == LaunchMode::early;
        const std::size_t after = entry.nodes.empty() || early ? 0 : 1;
        cudaGraphNode_t node;
        GPV_CUDA(runtime.graph_add_kernel(&node, entry.graph, after ? &entry.nodes.back() : nullptr,
                                          after, &params));
        if (launch.mode == LaunchMode::cooperative)
            GPV_CUDA(runtime.graph_set_cooperative(node));
        if (early)
            GPV_CUDA(runtime.graph_add_early_edge(entry.graph, entry.nodes.back(), node));
        entry.nodes.push_back(node);
    }
    for (std::size_t i = 0; i < graphs_of_shape; i++) {
        Executable &executable = entry.executables.emplace_back();
        executable.list = list;
        GPV_CUDA(runtime.graph_instantiate(&executable.graph, entry.graph, 0));
    }
}

GraphCache::Entry *GraphCache::find(LaunchList &list) {
    const std::size_t nodes = list.launches().size();
    if (nodes == 0 || nodes > max_nodes)
        return nullptr;
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry &entry) {
        return entry.executables.front().list.same_shape(list);
    });
    if (found != entries_.end()) {
        entries_.splice(entries_.begin(), entries_, found);
        return &entries_.front();
    }
    std::list<Entry> fresh;
    build(fresh.emplace_front(), list);
    entries_.splice(entries_.begin(), fresh);
    if (entries_.size() > max_shapes)
        entries_.pop_back();
    return &entries_.front();
}

void GraphCache::update(Entry &entry, Executable &executable, LaunchList &list) {
    const auto &launches = list.launches();
    for (std::size_t i = 0; i < launches.size(); i++) {
        const LaunchList::Launch &launch = launches[i];
        void *known = executable.list.job(executable.list.launches()[i]);
        if (std::memcmp(known, list.job(launch), launch.job_bytes) == 0)
            continue;
        void *job;
        const cudaKernelNodeParams params = node_params(list, launch, &job);
        GPV_CUDA(runtime.graph_set_kernel(executable.graph, entry.nodes[i], &params));
        std::memcpy(known, list.job(launch), launch.job_bytes);
    }
}

void GraphCache::launch(LaunchList &list, cudaStream_t stream) {
    Entry *entry = find(list);
    if (!entry)
        return list.launch(stream);
    auto &executables = entry->executables;
    const auto known =
        std::find_if(executables.begin(), executables.end(),
                     [&](const Executable &each) { return each.list.same_parameters(list); });
    executables.splice(executables.begin(), executables,
                       known == executables.end() ? std::prev(known) : known);
    if (known == executables.end())
        update(*entry, executables.front(), list);
    GPV_CUDA(runtime.graph_launch(executables.front().graph, stream));
}

} // namespace gpv::cuda
