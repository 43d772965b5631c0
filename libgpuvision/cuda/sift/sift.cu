// SPDX-License-Identifier: BSD-2-Clause
// Scale-invariant features on CUDA: plans the kernels of this folder as one launch list.
#include "core/sift.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "cuda/run/operator.cuh"
#include "cuda/sift/describe.cuh"
#include "cuda/sift/draw.cuh"
#include "cuda/sift/select.cuh"

namespace gpv::cuda {
namespace {

using namespace sift;

/// Draws the keypoints that a run has kept, of which it had room for so many.
struct KeptDrawing : SiftDrawing {
    std::int64_t room;
};

/// Fetches them to page-locked memory.
struct KeptFetch {
    std::byte *to;
    std::int64_t room;
};

class CudaSift final : public CudaOperator<CudaSift, Sift, SiftParams> {
  public:
    explicit CudaSift(const std::shared_ptr<Context> &context) : CudaOperator(context, "sift") {
        load<Luma, Widen<true>, Widen<false>, First<true>, First<false>, Cascade, Extrema, Locate,
             Orient, Place, Rank, Describe, Draw, Fetch>();
        load<Blur>(std::min(Blur::shared_bytes(max_blur_radius, 2), device_.shared_bytes()));
        if (fits_usual())
            load<ScaleSpace>();
        launch_early_ = can_begin_early<Orient>();
    }
    ~CudaSift() override { finish(); }

    void accept(const SiftParams &params) override {
        first_ = first_filter(params);
        for (int l = 1; l < params.levels(); l++)
            filters_[l] = level_filter(params, l);
    }

    void prepare(const Image &src, const Image *mask, std::int64_t keypoints) override {
        kept_.reset(); // scratch may be elsewhere afterwards
        SiftRun run{.src = src};
        if (mask)
            run.mask = *mask;
        // What needs most device memory first: it is taken once.
        run.keypoints = KeypointRecords{.view = {.memory = Memory::cuda},
                                        .capacity = std::numeric_limits<std::int32_t>::max()};
        run.descriptors = BufferView{.memory = Memory::cuda};
        plan_ahead(run);
        plan_ahead(
            KeptDrawing{{.dst = {.format = Format::gray8, .memory = Memory::cuda}}, room(run)});
        run.descriptors.reset();
        plan_ahead(run);
        const Memory memory = keypoints > 0 ? Memory::host : Memory::cuda;
        const KeypointRecords records{.view = {.memory = memory}, .capacity = keypoints};
        const BufferView descriptors{.memory = memory};
        run.keypoints.reset();
        if (keypoints > 0) {
            run.keypoints = records;
            run.descriptors = descriptors;
        }
        plan_ahead(run);
        plan_ahead(SiftDescription{.src = src, .keypoints = records, .descriptors = descriptors});
    }

    bool run(Stream stream, const SiftRun &run) override {
        const bool enqueued = start_anew("gpv_sift_run", stream, run);
        kept_ = Kept{room(run), !enqueued};
        if (enqueued)
            described_ = -1;
        return enqueued;
    }

    bool describe(Stream stream, const SiftDescription &description) override {
        const bool enqueued = start_anew("gpv_sift_describe", stream, description);
        kept_.reset();
        if (enqueued)
            described_ = static_cast<std::int32_t>(description.keypoints.capacity);
        return enqueued;
    }

    void draw(Stream stream, const SiftDrawing &drawing) override {
        const bool captures = is_captured(stream);
        if (captures && !(kept_ && kept_->captured))
            refuse_capture("the last run has not been captured");
        if (!kept_ || kept_->captured != captures)
            return;
        if (captures || drawing.dst.memory == Memory::cuda) {
            start("gpv_draw_keypoints", stream, KeptDrawing{drawing, kept_->room});
            return;
        }
        // The pixels stay where they are: keypoints come to the host, which draws when they are
        // there.
        if (pending_drawing_)
            end_last_run(); // it uses the same memory
        drawn_.reserve(kept_->room * sizeof(Keypoint));
        start("gpv_draw_keypoints", stream, KeptFetch{drawn_.data(), kept_->room});
        pending_drawing_ = drawing;
        delivers_ = true;
    }

    SiftResult result() const override {
        return described_ >= 0 ? SiftResult{sizeof(SiftResult), described_, 0, 0} : report_->found;
    }
    bool overflow() const override { return described_ < 0 && report_->overflow; }

    // ---- what runs read and write ---------------------------------------------------

    void declare(SiftRun &run) {
        const std::int64_t kept = room(run);
        run.src = luma_plane(run.src);
        input("src", run.src);
        input("mask", run.mask);
        output("keypoints", run.keypoints,
               Items{.bytes = sizeof(Keypoint), .capacity = kept, .count = &report_->found.count});
        output("descriptors", run.descriptors, descriptors_of(kept, &report_->found.count));
        pointer(run.result);
    }

    void declare(SiftDescription &description) {
        const std::int64_t count = description.keypoints.capacity;
        description.src = luma_plane(description.src);
        input("src", description.src);
        input("keypoints", description.keypoints, {.bytes = sizeof(Keypoint), .capacity = count});
        output("descriptors", description.descriptors, descriptors_of(count, nullptr));
    }

    void declare(KeptDrawing &drawing) {
        continue_last_run();
        output("dst", drawing.dst);
        value(drawing.style);
        value(drawing.color);
        value(drawing.room);
    }

    void declare(KeptFetch &fetch) {
        continue_last_run();
        pointer(fetch.to);
        value(fetch.room);
    }

    // ---- the kernels that do it -----------------------------------------------------

    void record(const SiftRun &run) {
        const auto room = static_cast<std::size_t>(this->room(run));
        auto *const kept = allocate<Keypoint>(room); // see kept_keypoints()
        const Octaves octaves(run.src.width, run.src.height, params_.upsample, params_.octaves);
        Space space{};
        Lists lists{};
        const Cleared cleared = allocate_cleared(octaves, space, lists);
        allocate_lists(octaves, lists);
        allocate_scale_space(octaves, space);
        add_space(octaves, space, run.src, cleared, &lists);
        const ResponseBins bins =
            ResponseBins::from(std::max(params_.contrast_threshold / params_.octave_layers, 1e-6f));
        add_orient(run, octaves, space, lists, bins);
        auto *slots = allocate<Slot>(lists.max_features);
        add<Place>(everywhere(1), {.lists = lists,
                                   .bins = bins,
                                   .slots = slots,
                                   .room = static_cast<unsigned>(room),
                                   .result = data_of<SiftResult>(run.result),
                                   .report = captured() ? nullptr : report_.get()});
        auto *windows = allocate<Window>(room);
        Rank::Job rank{.control = lists.control,
                       .slots = slots,
                       .others = reinterpret_cast<Slot *>(lists.candidates),
                       .features = lists.features,
                       .bins = bins,
                       .params = params_,
                       .kept = kept,
                       .windows = run.descriptors ? windows : nullptr};
        if (run.keypoints) {
            rank.keypoints = run.keypoints->view.data;
            rank.stride = run.keypoints->stride;
        }
        add<Rank>(everywhere(8), rank);
        if (run.descriptors)
            add_describe(space, windows, run.descriptors->data, &lists.control->kept, 0);
    }

    void record(const SiftDescription &description) {
        const Image &src = description.src;
        const Octaves octaves(src.width, src.height, params_.upsample, 0);
        Space space{};
        allocate_scale_space(octaves, space);
        add_space(octaves, space, src, {}, nullptr);
        const KeypointRecords &keypoints = description.keypoints;
        const auto count = static_cast<int>(keypoints.capacity);
        // The same kernels and grids for any count: one graph serves them all.
        auto *windows = allocate<Window>(count);
        add<Locate>(everywhere(2), {.choice = LayerChoice(params_, octaves),
                                    .keypoints = keypoints.view.data,
                                    .stride = keypoints.stride,
                                    .count = count,
                                    .width = src.width,
                                    .height = src.height,
                                    .windows = windows});
        add_describe(space, windows, description.descriptors.data, nullptr,
                     static_cast<unsigned>(count));
    }

    void record(const KeptDrawing &drawing) {
        const auto [keypoints, found] = kept_keypoints(drawing.room);
        add<Draw>(everywhere(4), draw_job(drawing, keypoints, found));
    }

    void record(const KeptFetch &fetch) {
        const auto [keypoints, found] = kept_keypoints(fetch.room);
        add<Fetch>(everywhere(4), {.from = keypoints,
                                   .found = found,
                                   .to = reinterpret_cast<Keypoint *>(fetch.to),
                                   .count = &report_->drawn});
    }

  private:
    /// What the last run has left in scratch, where it begins.
    struct Kept {
        std::int64_t room;
        bool captured;
    };

    /// Whether the kernels for the usual filters can be used.
    bool fits_usual() const { return device_.shared_bytes() >= sizeof(ScaleSpace::Shared); }
    bool is_usual() const {
        if (!fits_usual() || params_.octave_layers != usual_layers ||
            first_.radius > (params_.upsample ? first_radius<true> : first_radius<false>))
            return false;
        for (int l = 1; l <= usual_levels; l++)
            if (filters_[l].radius > level_radius(l))
                return false;
        return true;
    }

    /// As start(). What the last run has left is gone if this one fails, unless it is refused.
    template <class Run>
    bool start_anew(const char *name, Stream stream, const Run &run) {
        try {
            return start(name, stream, run);
        } catch (...) {
            if (!refused_)
                kept_.reset();
            throw;
        }
    }

    void deliver() override {
        if (pending_drawing_)
            draw_keypoints(*pending_drawing_, {reinterpret_cast<Keypoint *>(drawn_.data()),
                                               static_cast<std::size_t>(report_->drawn)});
        pending_drawing_.reset();
    }
    void forget() override { pending_drawing_.reset(); }

    // ---- planning -------------------------------------------------------------------

    /// Keypoints that a run keeps at most.
    std::int64_t room(const SiftRun &run) const {
        std::int64_t maximum =
            max_keypoints({run.src.width, run.src.height, params_.upsample != 0, 0});
        if (params_.max_features > 0)
            maximum = std::min<std::int64_t>(maximum, params_.max_features);
        return run.keypoints ? std::min(maximum, run.keypoints->capacity) : maximum;
    }
    Items descriptors_of(std::int64_t keypoints, const std::int32_t *count) const {
        return {.bytes = static_cast<std::size_t>(params_.descriptor_bytes()),
                .capacity = keypoints,
                .count = count};
    }
    /// Of the last run, where it has allocated them, too.
    std::pair<const Keypoint *, const SiftResult *> kept_keypoints(std::int64_t room) {
        const auto *const keypoints = allocate<Keypoint>(room);
        return {keypoints, &allocate<Control>(1)->found};
    }

    /// So many blocks on each multiprocessor.
    dim3 everywhere(int blocks_each) const {
        return dim3(static_cast<unsigned>(device_.multiprocessors() * blocks_each));
    }

    void allocate_lists(const Octaves &octaves, Lists &lists) {
        lists.max_candidates = static_cast<unsigned>(max_extrema(octaves));
        lists.max_features = static_cast<unsigned>(max_keypoints(octaves));
        lists.candidates = allocate<Candidate>(lists.max_candidates);
        lists.features = allocate<Feature>(lists.max_features);
    }

    /// Levels, without the bits for keypoints.
    void allocate_scale_space(const Octaves &octaves, Space &space) {
        space.stored = is_usual() ? usual_layers : params_.levels() - 1;
        std::size_t floats = 0;
        for (int o = 0; o < octaves.count; o++) {
            Space::Octave &octave = space.octave[o];
            octave.width = octaves.width[o];
            octave.height = octaves.height[o];
            octave.pitch =
                static_cast<int>(round_up(octave.width, pitch_alignment / sizeof(float)));
            octave.at = floats;
            floats += static_cast<std::size_t>(octave.pitch) * octave.height;
        }
        space.base = allocate<float>(floats);
        space.levels = allocate<float>(space.stored * floats);
    }

    /// What is 0 when a run begins.
    Cleared allocate_cleared(const Octaves &octaves, Space &space, Lists &lists) {
        std::size_t words = 0;
        for (int o = 0; o < octaves.count; o++) {
            space.octave[o].claims = words;
            words += std::size_t{blocks(octaves.width[o], 32)} * octaves.height[o] *
                     params_.octave_layers;
        }
        constexpr std::size_t control_words = sizeof(Control) / sizeof(unsigned);
        auto *first = allocate<unsigned>(control_words + words);
        lists.control = reinterpret_cast<Control *>(first);
        space.claims = first + control_words;
        return {first, control_words + words};
    }

    /// lists: of the extrema to be sought; null: none.
    void add_space(const Octaves &octaves, const Space &space, const Image &src,
                   const Cleared &cleared, const Lists *lists) {
        const Rows luma = luma_bytes(src);
        if (is_usual())
            add_usual(octaves, space, src, luma, cleared, lists);
        else
            add_any(octaves, space, src, luma, cleared, lists);
    }

    // ---- the usual filters ----------------------------------------------------------

    /// Rows of a strip, for about four blocks on each multiprocessor.
    int strip_of(int width, int owned, int height, int multiple) const {
        const std::int64_t strips = blocks(width, owned);
        const auto rows =
            static_cast<int>((height * strips - 1) / (4 * device_.multiprocessors()) + 1);
        return (rows + multiple - 1) / multiple * multiple;
    }

    void add_usual(const Octaves &octaves, const Space &space, const Image &src, const Rows &luma,
                   const Cleared &cleared, const Lists *lists) {
        params_.upsample ? add_first<true>(space, src, luma, cleared)
                         : add_first<false>(space, src, luma, cleared);
        for (int o = 0; o + 1 < octaves.count; o++)
            add_cascade(space, o);
        if (octaves.count > 0)
            add_scale_space(octaves, space, lists);
    }

    template <bool doubled>
    void add_first(const Space &space, const Image &src, const Rows &luma, const Cleared &cleared) {
        using Kernel = First<doubled>;
        const Space::Octave &octave = space.octave[0];
        typename Kernel::Job job{.src = luma,
                                 .src_width = src.width,
                                 .src_height = src.height,
                                 .dst = space.base,
                                 .width = octave.width,
                                 .height = octave.height,
                                 .pitch = octave.pitch,
                                 .cleared = cleared};
        job.strip = strip_of(std::max(octave.width, 1), Kernel::owned, std::max(octave.height, 1),
                             step_rows);
        std::copy_n(first_.weights, first_.radius + 1, job.weights);
        // One block without an octave, which only clears.
        add<Kernel>(dim3(std::max(blocks(octave.width, Kernel::owned), 1u),
                         std::max(blocks(octave.height, job.strip), 1u)),
                    job);
    }

    void add_cascade(const Space &space, int o) {
        const Space::Octave &from = space.octave[o], &to = space.octave[o + 1];
        Cascade::Job job{.src = space.base + from.at,
                         .width = from.width,
                         .height = from.height,
                         .pitch = from.pitch,
                         .dst = space.base + to.at,
                         .dst_width = to.width,
                         .dst_height = to.height,
                         .dst_pitch = to.pitch,
                         .strip = strip_of(to.width, Cascade::owned, to.height, Cascade::rows)};
        std::copy_n(filters_[usual_layers].weights, filters_[usual_layers].radius + 1, job.weights);
        add<Cascade>(dim3(blocks(to.width, Cascade::owned), blocks(to.height, job.strip)), job);
    }

    void add_scale_space(const Octaves &octaves, const Space &space, const Lists *lists) {
        ScaleSpace::Job job{.space = space, .params = params_};
        job.strip = scale_strip(octaves);
        for (int o = 0; o < octaves.count; o++)
            job.tiling.add(blocks(octaves.width[o] + 2, ScaleSpace::owned),
                           blocks(octaves.height[o], job.strip));
        for (int l = 1; l <= usual_levels; l++)
            std::copy_n(filters_[l].weights, filters_[l].radius + 1, job.weights[l]);
        if (lists)
            job.lists = *lists;
        add<ScaleSpace>(dim3(job.tiling.count()), job);
    }

    /// Rows of a strip: whole rounds of blocks cost most.
    int scale_strip(const Octaves &octaves) const {
        const std::int64_t at_once = device_.multiprocessors() * ScaleSpace::min_blocks;
        int best = 0;
        std::int64_t minimum = 0;
        for (int rows = 2 * step_rows - 2; rows <= 16 * step_rows - 2; rows += step_rows) {
            std::int64_t tiles = 0;
            for (int o = 0; o < octaves.count; o++)
                tiles += std::int64_t{blocks(octaves.width[o] + 2, ScaleSpace::owned)} *
                         blocks(octaves.height[o], rows);
            const std::int64_t cost = ((tiles + at_once - 1) / at_once) * (rows + 2 + strip_start);
            if (best == 0 || cost < minimum) {
                best = rows;
                minimum = cost;
            }
        }
        return best;
    }

    // ---- any filters ----------------------------------------------------------------

    void add_any(const Octaves &octaves, const Space &space, const Image &src, const Rows &luma,
                 const Cleared &cleared, const Lists *lists) {
        const Space::Octave first = octaves.count > 0 ? space.octave[0] : Space::Octave{};
        float *wide = allocate<float>(static_cast<std::size_t>(first.pitch) * first.height);
        params_.upsample ? add_widen<true>(first, src, luma, wide, cleared)
                         : add_widen<false>(first, src, luma, wide, cleared);
        if (octaves.count == 0)
            return;
        Blur::Plane plane{wide,        space.base,  first.width,  first.height,
                          first.pitch, first.width, first.height, first.pitch};
        add_blur({&plane, 1}, 1, first_);
        for (int o = 0; o + 1 < octaves.count; o++) {
            const Space::Octave &from = space.octave[o], &to = space.octave[o + 1];
            plane = {space.base + from.at, space.base + to.at, from.width, from.height,
                     from.pitch,           to.width,           to.height,  to.pitch};
            add_blur({&plane, 1}, 2, filters_[params_.octave_layers]);
        }
        for (int l = 1; l <= space.stored; l++)
            add_level(octaves, space, l);
        if (lists)
            add_extrema(octaves, space, *lists);
    }

    template <bool doubled>
    void add_widen(const Space::Octave &octave, const Image &src, const Rows &luma, float *wide,
                   const Cleared &cleared) {
        using Kernel = Widen<doubled>;
        add<Kernel>(dim3(std::max(blocks(octave.width, Kernel::threads), 1u),
                         static_cast<unsigned>(std::max(octave.height, 1))),
                    {.src = luma,
                     .src_width = src.width,
                     .src_height = src.height,
                     .dst = wide,
                     .width = octave.width,
                     .height = octave.height,
                     .pitch = octave.pitch,
                     .cleared = cleared});
    }

    void add_level(const Octaves &octaves, const Space &space, int l) {
        Blur::Plane planes[max_octaves];
        for (int o = 0; o < octaves.count; o++) {
            const Space::Octave &octave = space.octave[o];
            const std::size_t plane = static_cast<std::size_t>(octave.pitch) * octave.height;
            planes[o] = {
                space.base + octave.at, space.levels + space.stored * octave.at + (l - 1) * plane,
                octave.width,           octave.height,
                octave.pitch,           octave.width,
                octave.height,          octave.pitch};
        }
        add_blur({planes, static_cast<std::size_t>(octaves.count)}, 1, filters_[l]);
    }

    void add_blur(std::span<const Blur::Plane> planes, int step, const BlurFilter &filter) {
        Blur::Job job{.step = step, .filter = filter};
        std::copy(planes.begin(), planes.end(), job.planes);
        for (const Blur::Plane &plane : planes)
            job.tiling.add(blocks(plane.dst_width, blur_columns),
                           blocks(plane.dst_height, blur_rows));
        add<Blur>(dim3(job.tiling.count()), job, Blur::shared_bytes(filter.radius, step));
    }

    void add_extrema(const Octaves &octaves, const Space &space, const Lists &lists) {
        Extrema::Job job{.space = space, .lists = lists, .params = params_};
        for (int o = 0; o < octaves.count; o++)
            job.tiling.add(blocks(octaves.width[o] - 2 * sift_border, Extrema::columns),
                           blocks(octaves.height[o] - 2 * sift_border, Extrema::rows));
        add<Extrema>(dim3(job.tiling.count()), job);
    }

    // ---- keypoints ------------------------------------------------------------------

    void add_orient(const SiftRun &run, const Octaves &octaves, const Space &space,
                    const Lists &lists, const ResponseBins &bins) {
        Orient::Job job{.space = space,
                        .lists = lists,
                        .params = params_,
                        .bins = bins,
                        .width = run.src.width,
                        .height = run.src.height};
        if (run.mask)
            job.mask = rows_of(run.mask->planes[0]);
        if (is_usual())
            for (int l = 4; l <= usual_levels; l++)
                std::copy_n(filters_[l].weights, filters_[l].radius + 1, job.weights[l - 4]);
        if (octaves.count > 0)
            add<Orient>(everywhere(3 * orient_blocks), job);
    }

    void add_describe(const Space &space, const Window *windows, std::byte *descriptors,
                      const unsigned *kept, unsigned count) {
        add<Describe>(everywhere(4 * describe_blocks), {.space = space,
                                                        .windows = windows,
                                                        .kept = kept,
                                                        .count = count,
                                                        .descriptors = descriptors,
                                                        .type = params_.descriptor_type,
                                                        .root = params_.root_sift != 0});
    }

    BlurFilter first_{};
    BlurFilter filters_[max_levels]{}; ///< of levels 1 on
    Pinned<Report> report_;
    std::optional<Kept> kept_;
    std::int32_t described_ = -1; ///< by the last run; -1: it has found them
    PinnedBuffer drawn_;          ///< keypoints, for drawings on the host
    std::optional<SiftDrawing> pending_drawing_;
};

} // namespace

std::unique_ptr<Sift> make_sift(std::shared_ptr<Context> context) {
    return std::make_unique<CudaSift>(context);
}

} // namespace gpv::cuda
