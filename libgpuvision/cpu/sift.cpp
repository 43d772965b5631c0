// SPDX-License-Identifier: BSD-2-Clause
// Scale-invariant features, octave by octave:
//   blur      all levels from the first one, in tiles that stay in the cache: a row of a tile
//             vertically by all filters at once, then horizontally by each
//   halve     to the first level of the next octave, while the tile is there
//   search    extrema of the differences, likewise; those at the seams of bands of rows come last
// and then, over what all octaves have:
//   settle    candidates to where they converge; those found twice, and those outside the mask, are
//             left out
//   orient    the peaks of each extremum, which with its rank by response say where in the output
//             its keypoints are
//   describe  those that are kept
// Bands and extrema are worked on in parallel. What is summed over pixels is summed in integers,
// and what is found is sorted, so neither the number of threads nor their timing shows in a result.
// Extrema are worked on in the order of their places, which keeps what they read in the cache.
#include "cpu/sift_internal.hpp"

#include <algorithm>
#include <cstring>

namespace gpv::cpu {
namespace sift {
namespace {

constexpr std::size_t alignment = 64;

BlurGroup group_of(const BlurFilter *filters, int count) {
    BlurGroup group{};
    group.count = count;
    for (int i = 0; i < count; i++) {
        group.radius[i] = filters[i].radius;
        for (int k = 0; k <= filters[i].radius; k++)
            group.weights[k][i] = filters[i].weights[k];
    }
    return group;
}

} // namespace

void CpuSift::set_params(const SiftParams &params) {
    params_ = params;
    const BlurFilter first = first_filter(params);
    first_group_ = group_of(&first, 1);
    BlurFilter filters[max_levels - 1];
    const int count = params.levels() - 1;
    for (int i = 0; i < count; i++)
        filters[i] = level_filter(params, i + 1);
    for (int i = 0; i < count; i += max_group)
        groups_[i / max_group] = group_of(filters + i, std::min(count - i, max_group));
}

void CpuSift::prepare(const Image &src, const Image *, std::int64_t) {
    plan(src, nullptr);
}

bool CpuSift::run(Stream stream, const SiftRun &run) {
    plan(run.src, stream);
    const Octaves octaves(run.src.width, run.src.height, params_.upsample, params_.octaves);
    candidates_ = 0;
    if (octaves.count > 0)
        make_first_level(run.src);
    for (int i = 0; i < octaves.count; i++)
        make_octave(i, params_.levels(), i + 1 < octaves.count, true);
    finish(run);
    if (run.result)
        std::memcpy(run.result->data, &found_, sizeof found_);
    return true;
}

bool CpuSift::describe(Stream stream, const SiftDescription &description) {
    plan(description.src, stream);
    const Image &src = description.src;
    const Octaves octaves(src.width, src.height, params_.upsample, 0);
    const LayerChoice choice(params_, octaves);
    const auto find = [&](std::int64_t i, Window &window) {
        return choice.find(description.keypoints[i], src.width, src.height, window);
    };
    const auto count = static_cast<int>(description.keypoints.capacity);
    int used = 0;
    Window window{};
    for (int i = 0; i < count; i++)
        if (find(i, window))
            used = std::max(used, window.octave + 1);
    if (used > 0)
        make_first_level(src);
    for (int i = 0; i < used; i++)
        make_octave(i, params_.octave_layers + 1, i + 1 < used, false);
    parallel_bands(count, 1, workers_, [&](int, int i, int) {
        Window w{};
        std::byte *out = description.descriptors.data + params_.descriptor_bytes() * i;
        if (find(i, w))
            describe_window(w, out);
        else
            std::memset(out, 0, params_.descriptor_bytes());
    });
    overflow_ = false;
    found_ = {sizeof found_, count, 0, 0};
    return true;
}

void CpuSift::draw(Stream, const SiftDrawing &drawing) {
    draw_keypoints(drawing, {kept_, kept_count_});
}

Workspace CpuSift::allocate_workspace(Arena &arena, int width) const {
    Workspace w{};
    for (auto &luma : w.luma)
        luma = arena.allocate<std::uint8_t>(width + row_step + alignment, 1);
    w.picture = arena.allocate<float>(octaves_[0].pitch * (first_band + 2 * max_first_reach));
    w.rows = arena.allocate<const float *>(max_band + 2 * max_blur_radius);
    for (auto &row : w.columns)
        row = arena.allocate<float>(tile_columns + 2 * blur_padding + row_step, blur_padding);
    w.hits = arena.allocate<Hit>(tile_columns * max_octave_layers);
    return w;
}

Workspace CpuSift::workspace(int worker) const {
    Arena arena(alignment, workspaces_ + workspace_bytes_ * worker);
    return allocate_workspace(arena, width_);
}

void CpuSift::plan(const Image &src, Stream stream) {
    constexpr std::int64_t grain = 1 << 14; // pixels that are worth a thread
    const std::int64_t pixels = std::int64_t{src.width} * src.height;
    workers_ = workers_for(pixels, grain, scratch_.context().thread_limit());
    width_ = src.width;
    Arena arena(alignment);
    allocate(arena, src);
    scratch_.reserve(arena.required(), stream);
    arena = Arena(alignment, scratch_.data());
    allocate(arena, src);
}

void CpuSift::allocate(Arena &arena, const Image &src) {
    kept_count_ = 0; // they may be elsewhere now
    const Octaves octaves(src.width, src.height, params_.upsample, 0);
    octaves_[0] = {};
    for (int i = 0; i < octaves.count; i++) {
        Octave &octave = octaves_[i];
        octave.width = octaves.width[i];
        octave.height = octaves.height[i];
        // An odd number of cache lines: columns spread over all sets of the cache.
        octave.pitch = round_up(octave.width, row_step) + max_lanes;
        for (int level = 0; level < params_.levels(); level++)
            octave.levels[level] = arena.allocate<float>(octave.pitch * octave.height + row_step);
    }
    capacity_ = max_extrema(octaves);
    extrema_ = arena.allocate<Extremum>(capacity_);
    peaks_ = arena.allocate<Peaks>(capacity_);
    max_kept_ = max_keypoints(octaves);
    kept_ = arena.allocate<Keypoint>(max_kept_);
    ranked_ = arena.allocate<std::int32_t>(capacity_);
    offsets_ = arena.allocate<std::int64_t>(capacity_);
    Arena one(alignment);
    allocate_workspace(one, src.width);
    workspace_bytes_ = one.required();
    workspaces_ = arena.allocate<std::byte>(workspace_bytes_ * workers_);
}

} // namespace sift

std::unique_ptr<Sift> make_sift(std::shared_ptr<Context> context) {
    return std::make_unique<sift::CpuSift>(std::move(context));
}

} // namespace gpv::cpu
