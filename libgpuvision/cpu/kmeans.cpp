// SPDX-License-Identifier: BSD-2-Clause
// Lloyd's iteration over the distinct colours of an image, not over its pixels.
//   count   pixels are sorted by cell, the colours of each cell are counted
//   start   colours are drawn; cells that a new one cannot be nearest to are left out
//   sum     for a group of cells, then for each of its cells, those centroids are found that are
//           the nearest one for some colour in its box; where that is one, the sums of the cell are
//           added as they are, else colours are compared with those few
//   paint   a table of labels by colour, then rows
// Cells, groups and rows are worked on in parallel. All sums are integers, so neither the number of
// threads nor their timing shows in a result.
#include "cpu/kmeans_internal.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gpv::cpu {
namespace kmeans {
namespace {

Workspace allocate_workspace(Arena &arena, int width) {
    const std::size_t length = width + row_padding;
    Workspace w;
    for (auto &channel : w.channels)
        channel = arena.allocate<std::uint8_t>(length);
    w.cells = arena.allocate<std::uint16_t>(length);
    w.places = arena.allocate<std::uint16_t>(length);
    for (auto &labels : w.labels)
        labels = arena.allocate<std::uint8_t>(length);
    w.colors = arena.allocate<std::uint32_t>(length);
    return w;
}

} // namespace

void CpuKmeans::set_params(const KmeansParams &params) {
    if (params.color_space == GPV_KMEANS_COLOR_SPACE_LAB && !lab_table_)
        lab_table_ = std::make_unique<LabTable>();
    params_ = params;
}

void CpuKmeans::prepare(const Image &src, const Image *labels, const Image *dst) {
    plan(src, labels || dst, nullptr);
}

bool CpuKmeans::run(Stream stream, const KmeansRun &run) {
    plan(run.src, run.labels || run.dst, stream);
    const bool warm = last_params_ && params_.can_warm_start_from(*last_params_);
    last_params_.reset(); // if this run fails, the next one starts afresh
    const Reader reader(run.src, lab());
    count(run.src, reader);
    cluster(run.src, reader, warm);
    if (run.labels || run.dst)
        paint(run, reader);
    write(run);
    leave_state(warm);
    return true;
}

void CpuKmeans::leave_state(bool warm) {
    const double inertia = now_.found.inertia / static_cast<double>(total_.count);
    if (may_go_on(before_, look_of(squares_of_all_, total_), inertia, now_.found.used(), warm))
        last_params_ = params_;
}

Workspace CpuKmeans::workspace(int worker, int width) const {
    Arena arena(table_alignment, workspaces_ + workspace_bytes_ * worker);
    return allocate_workspace(arena, width);
}

void CpuKmeans::plan(const Image &src, bool paints, Stream stream) {
    constexpr std::int64_t grain = 1 << 17; // pixels that are worth a thread
    const std::int64_t pixels = std::int64_t{src.width} * src.height;
    workers_ = workers_for(pixels, grain, scratch_.context().thread_limit());
    Arena arena(table_alignment);
    allocate(arena, src, paints);
    scratch_.reserve(arena.required(), stream);
    arena = Arena(table_alignment, scratch_.data());
    allocate(arena, src, paints);
}

void CpuKmeans::allocate(Arena &arena, const Image &src, bool paints) {
    const std::size_t pixels = std::size_t(src.width) * src.height;
    const std::size_t cells = std::min<std::size_t>(pixels, cell_count);
    const std::size_t colors = std::min(pixels + cells * (max_lanes - 1), std::size_t{1} << 24);
    starts_ = arena.allocate<std::uint32_t>(std::size_t{cell_count} * workers_);
    sorted_ = arena.allocate<std::uint16_t>(pixels);
    code_stride_ = src.width + row_padding;
    const std::size_t codes = lab() ? code_stride_ * src.height : 0;
    code_cells_ = arena.allocate<std::uint16_t>(codes);
    code_places_ = arena.allocate<std::uint16_t>(codes);
    cells_ = arena.allocate<Cell>(cells);
    cell_starts_ = arena.allocate<std::uint32_t>(cells + 1);
    colors_ = {arena.allocate<std::uint16_t>(colors), arena.allocate<std::uint32_t>(colors)};
    nearest_ = arena.allocate<std::uint32_t>(params_.is_random_init() ? colors : 0);
    drawings_ = arena.allocate<Drawing>(params_.is_random_init() ? cells : 0);
    grouped_ = arena.allocate<std::uint16_t>(cells);
    groups_ = arena.allocate<Group>(cells);
    sums_ = arena.allocate<ClusterSums>(std::size_t{max_kmeans_clusters} * workers_);
    farthest_ = arena.allocate<Farthest>(workers_);
    squares_ = arena.allocate<std::uint64_t>(workers_);
    labels_ = arena.allocate<std::uint8_t>(paints ? std::size_t{1} << 24 : 0);
    Arena one(table_alignment);
    allocate_workspace(one, src.width);
    workspace_bytes_ = one.required();
    workspaces_ = arena.allocate<std::byte>(workspace_bytes_ * workers_);
}

void CpuKmeans::write(const KmeansRun &run) const {
    const int clusters = now_.found.clusters;
    if (run.centroids)
        std::copy_n(now_.centroids.begin(), clusters,
                    reinterpret_cast<Centroid *>(run.centroids->data));
    if (run.counts)
        for (int i = 0; i < clusters; i++)
            reinterpret_cast<std::int32_t *>(run.counts->data)[i] =
                static_cast<std::int32_t>(now_.sums[i].count);
    if (run.result)
        std::memcpy(run.result->data, &now_.found,
                    std::min<std::size_t>(sizeof now_.found, run.result->size));
}

} // namespace kmeans

std::unique_ptr<Kmeans> make_kmeans(std::shared_ptr<Context> context) {
    return std::make_unique<kmeans::CpuKmeans>(std::move(context));
}

} // namespace gpv::cpu
