// SPDX-License-Identifier: BSD-2-Clause
// Scale-invariant features on CUDA: plans the kernels of this folder as one launch list.
#include "core/sift.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>

#include "cuda/run/operator.cuh"
#include "cuda/sift/describe.cuh"
#include "cuda/sift/draw.cuh"
#include "cuda/sift/select.cuh"

namespace gpv::cuda {
namespace {

using namespace sift;

bool on_host(const std::optional<KeypointRecords> &records) {
    return records && records->view.memory == Memory::host;
}

class CudaSift final : public CudaOperator<Sift>, private Delivery {
  public:
    explicit CudaSift(const std::shared_ptr<Context> &context)
        : CudaOperator(context), mask_staging_(device_) {
        load<Luma>();
        load<Widen<true>>();
        load<Widen<false>>();
        load<First<true>>(First<true>::shared_bytes);
        load<First<false>>(First<false>::shared_bytes);
        load<Cascade>(Cascade::shared_bytes);
        load<Blur>(std::min(Blur::shared_bytes(max_blur_radius, 2), device_.shared_bytes()));
        if (fits_usual())
            load<ScaleSpace>(ScaleSpace::shared_bytes);
        load<Extrema>();
        load<Orient>(Orient::shared_bytes);
        load<Place>(Place::shared_bytes);
        load<Rank>(Rank::shared_bytes);
        load<Locate>();
        load<Describe>(Describe::shared_bytes);
        load<Draw>();
        load<Fetch>();
        launch_early_ = can_begin_early<Orient>();
        report_.reserve(sizeof(Report));
        std::memset(report_.data(), 0, sizeof(Report));
        device_.add(this);
    }

    ~CudaSift() override {
        device_.remove(this);
        finish();
    }

    void set_params(const SiftParams &params) override {
        params_ = params;
        first_ = first_filter(params);
        for (int l = 1; l < params.levels(); l++)
            filters_[l] = level_filter(params, l);
    }

    void prepare(const Image &src, const Image *mask, std::int64_t keypoints) override {
        end_last_run();
        kept_.reset(); // scratch may be elsewhere afterwards
        SiftRun run{.src = src};
        if (mask)
            run.mask = *mask;
        const Memory memory = keypoints > 0 ? Memory::host : Memory::cuda;
        const KeypointRecords records{.view = {.memory = memory}, .capacity = keypoints};
        const SiftDescription description{
            .src = src, .keypoints = records, .descriptors = {.memory = memory}};
        reserve_host(given(description));
        plan(nullptr, [&] { record_plan(description); });
        graphs_.prepare(launches_);
        if (keypoints > 0) {
            run.keypoints = records;
            run.descriptors = description.descriptors;
        }
        reserve_host(given(run));
        plan(nullptr, [&] { record_plan(run, false); });
        graphs_.prepare(launches_);
        run.keypoints = KeypointRecords{.view = {.memory = Memory::cuda},
                                        .capacity = std::numeric_limits<std::int32_t>::max()};
        for (const bool described : {true, false}) {
            run.descriptors.reset();
            if (described)
                run.descriptors = BufferView{.memory = Memory::cuda};
            plan(nullptr, [&] { record_plan(run, false); });
            graphs_.prepare(launches_);
        }
    }

    bool run(Stream stream, const SiftRun &run) override {
        const std::optional<Kept> before = std::exchange(kept_, std::nullopt);
        const bool enqueued = start(
            "gpv_sift_run", stream,
            [&](cudaStream_t s) {
                capture(s, before, run.src, on_host(run.keypoints),
                        [&] { record_plan(run, true); });
            },
            [&](cudaStream_t s) {
                enqueue(s, given(run), [&] { record_plan(run, false); });
                if (on_host(run.keypoints))
                    pending_ = {run.keypoints, run.descriptors, room(run), params_};
            });
        kept_ = planned_;
        kept_->captured = !enqueued;
        return enqueued;
    }

    bool describe(Stream stream, const SiftDescription &description) override {
        const std::optional<Kept> before = std::exchange(kept_, std::nullopt);
        return start(
            "gpv_sift_describe", stream,
            [&](cudaStream_t s) {
                capture(s, before, description.src, on_host(description.keypoints),
                        [&] { record_plan(description); });
            },
            [&](cudaStream_t s) {
                const bool host = on_host(description.keypoints);
                enqueue(
                    s, given(description), [&] { record_plan(description); },
                    [&] {
                        if (host)
                            take_keypoints(description.keypoints);
                    });
                described_ = static_cast<std::int32_t>(description.keypoints.capacity);
                if (host)
                    pending_ = {std::nullopt, description.descriptors,
                                description.keypoints.capacity, params_};
            });
    }

    void draw(Stream stream, const SiftDrawing &drawing) override {
        start(
            "gpv_draw_keypoints", stream,
            [&](cudaStream_t s) {
                if (drawing.dst.memory == Memory::host)
                    refuse_capture("dst->memory is GPV_MEMORY_HOST; it has to be GPV_MEMORY_CUDA");
                if (!kept_ || !kept_->captured)
                    refuse_capture("the last run has not been captured");
                add_draw(drawing);
                launches_.launch(s);
            },
            [&](cudaStream_t s) {
                if (!kept_ || kept_->captured)
                    return;
                if (drawing.dst.memory == Memory::host)
                    return draw_on_host(s, drawing);
                completion_.follow(s);
                add_draw(drawing);
                graphs_.launch(launches_, s);
                completion_.record(s);
            });
    }

    SiftResult result() const override {
        return described_ >= 0 ? SiftResult{sizeof(SiftResult), described_, 0, 0} : report().found;
    }
    bool overflow() const override { return described_ < 0 && report().overflow; }

  private:
    /// In host memory, to be completed.
    struct Pending {
        std::optional<KeypointRecords> keypoints;
        std::optional<BufferView> descriptors;
        std::int64_t count; ///< at most
        SiftParams params;
    };

    /// What the last run has left in scratch.
    struct Kept {
        const Keypoint *keypoints;
        const SiftResult *found;
        std::int64_t room;
        bool captured;
    };

    /// Whether the kernels for the usual filters can be used.
    bool fits_usual() const { return device_.shared_bytes() >= ScaleSpace::shared_bytes; }
    bool is_usual() const {
        if (!fits_usual() || params_.octave_layers != usual_layers ||
            first_.radius > (params_.upsample ? first_radius<true> : first_radius<false>))
            return false;
        for (int l = 1; l <= usual_levels; l++)
            if (filters_[l].radius > level_radius(l))
                return false;
        return true;
    }

    const Report &report() const { return *reinterpret_cast<const Report *>(report_.data()); }

    // ---- results --------------------------------------------------------------------

    void deliver_if_finished() override {
        if (completion_.finished())
            deliver_all();
    }
    void deliver() override {
        CudaOperator::deliver();
        deliver_all();
    }
    void forget() override {
        CudaOperator::forget();
        pending_.reset();
        pending_drawing_.reset();
    }

    void deliver_all() {
        deliver_pending();
        if (pending_drawing_)
            draw_keypoints(*pending_drawing_, {reinterpret_cast<Keypoint *>(drawn_.data()),
                                               static_cast<std::size_t>(report().drawn)});
        pending_drawing_.reset();
    }

    void deliver_pending() {
        if (!pending_)
            return;
        const std::int64_t count =
            pending_->keypoints ? std::int64_t{report().found.count} : pending_->count;
        if (pending_->keypoints)
            for (std::int64_t i = 0; i < count; i++)
                (*pending_->keypoints)[i] = host_keypoints()[i];
        if (pending_->descriptors)
            std::memcpy(pending_->descriptors->data, descriptors_.data(),
                        count * pending_->params.descriptor_bytes());
        pending_.reset();
    }

    Keypoint *host_keypoints() const { return reinterpret_cast<Keypoint *>(keypoints_.data()); }
    void take_keypoints(const KeypointRecords &from) const {
        for (std::int64_t i = 0; i < from.capacity; i++)
            host_keypoints()[i] = from[i];
    }

    // ---- running --------------------------------------------------------------------

    /// before: what there is to draw after a run that is refused, since it has not begun.
    template <class Record>
    void capture(cudaStream_t stream, const std::optional<Kept> &before, const Image &src,
                 bool to_host, Record record_plan) {
        kept_ = before;
        if (src.memory == Memory::host)
            refuse_capture("src->memory is GPV_MEMORY_HOST; only runs on device images can be "
                           "captured");
        if (to_host)
            refuse_capture("keypoints->memory is GPV_MEMORY_HOST; it has to be GPV_MEMORY_CUDA");
        if (planned_bytes(record_plan) > scratch_.size())
            refuse_capture("this run needs memory; call gpv_sift_prepare() first");
        kept_.reset();
        launches_.launch(stream);
    }

    /// What a run or a description is given that may lie in host memory.
    struct Given {
        Image src;
        std::optional<Image> mask;
        std::optional<KeypointRecords> keypoints;
        std::optional<BufferView> descriptors;
        std::int64_t count; ///< keypoints that are written, or read, at most
    };
    Given given(const SiftRun &run) const {
        return {run.src, run.mask, run.keypoints, run.descriptors, room(run)};
    }
    static Given given(const SiftDescription &description) {
        return {description.src, std::nullopt, description.keypoints, description.descriptors,
                description.keypoints.capacity};
    }

    template <class Record>
    void enqueue(cudaStream_t stream, const Given &given, Record record_plan) {
        enqueue(stream, given, record_plan, [] {});
    }
    /// fill(): of host memory, once the run before is over.
    template <class Record, class Fill>
    void enqueue(cudaStream_t stream, const Given &given, Record record_plan, Fill fill) {
        const bool from_host = given.src.memory == Memory::host;
        if (from_host || on_host(given.keypoints) || pending_ || pending_drawing_) {
            end_last_run(); // it uses the staging memory
            reserve_host(given);
            fill();
        }
        described_ = -1;
        completion_.follow(stream);
        plan(stream, record_plan);
        if (from_host) {
            staging_.upload(luma_plane(given.src), device_src_, stream);
            if (given.mask)
                mask_staging_.upload(*given.mask, device_mask_, stream);
        }
        graphs_.launch(launches_, stream);
        completion_.record(stream);
    }

    void reserve_host(const Given &given) {
        if (given.src.memory == Memory::host) {
            staging_.reserve_upload(luma_plane(given.src));
            if (given.mask)
                mask_staging_.reserve_upload(*given.mask);
        }
        if (!on_host(given.keypoints))
            return;
        keypoints_.reserve(given.count * sizeof(Keypoint));
        if (given.descriptors)
            descriptors_.reserve(given.count * params_.descriptor_bytes());
    }

    // ---- planning -------------------------------------------------------------------

    std::int64_t max_kept(const Image &src) const {
        return max_keypoints({src.width, src.height, params_.upsample != 0, 0});
    }
    /// Keypoints that a run keeps at most.
    std::int64_t room(const SiftRun &run) const {
        std::int64_t maximum = max_kept(run.src);
        if (params_.max_features > 0)
            maximum = std::min<std::int64_t>(maximum, params_.max_features);
        return run.keypoints ? std::min(maximum, run.keypoints->capacity) : maximum;
    }

    /// So many blocks on each multiprocessor.
    dim3 everywhere(int blocks_each) const {
        return dim3(static_cast<unsigned>(device_.multiprocessors() * blocks_each));
    }

    void record_plan(const SiftRun &run, bool captured) {
        const Octaves octaves(run.src.width, run.src.height, params_.upsample, params_.octaves);
        Lists lists = allocate_lists(octaves);
        Space space = allocate_scale_space(octaves);
        const Cleared cleared = allocate_cleared(octaves, space, lists);
        add_space(octaves, space, run.src, cleared, &lists);
        const ResponseBins bins =
            ResponseBins::from(std::max(params_.contrast_threshold / params_.octave_layers, 1e-6f));
        add_orient(run, octaves, space, lists, bins);
        const auto kept = static_cast<std::size_t>(room(run));
        auto *slots = arena_.allocate<Slot>(lists.max_features);
        add<Place>(
            everywhere(1),
            {.lists = lists,
             .bins = bins,
             .slots = slots,
             .room = static_cast<unsigned>(kept),
             .result = run.result ? reinterpret_cast<SiftResult *>(run.result->data) : nullptr,
             .report = captured ? nullptr : reinterpret_cast<Report *>(report_.data())},
            Place::shared_bytes);
        const bool to_host = on_host(run.keypoints);
        auto *windows = arena_.allocate<Window>(kept);
        Rank::Job rank{.control = lists.control,
                       .slots = slots,
                       .others = reinterpret_cast<Slot *>(lists.candidates),
                       .features = lists.features,
                       .bins = bins,
                       .params = params_,
                       .kept = arena_.allocate<Keypoint>(kept),
                       .windows = run.descriptors ? windows : nullptr};
        if (run.keypoints) {
            rank.keypoints = to_host ? keypoints_.data() : run.keypoints->view.data;
            rank.stride = to_host ? sizeof(Keypoint) : run.keypoints->stride;
        }
        add<Rank>(everywhere(8), rank, Rank::shared_bytes);
        Control *const control = lists.control; // null where memory is only counted
        planned_ = {rank.kept, control ? &control->found : nullptr, room(run), captured};
        if (run.descriptors)
            add_describe(space, windows, to_host ? descriptors_.data() : run.descriptors->data,
                         control ? &control->kept : nullptr, 0);
    }

    void record_plan(const SiftDescription &description) {
        const Image &src = description.src;
        const Octaves octaves(src.width, src.height, params_.upsample, 0);
        Space space = allocate_scale_space(octaves);
        add_space(octaves, space, src, {}, nullptr);
        const bool host = on_host(description.keypoints);
        const auto count = static_cast<int>(description.keypoints.capacity);
        // The same kernels and grids for any count: one graph serves them all.
        auto *windows = arena_.allocate<Window>(count);
        add<Locate>(everywhere(2),
                    {.choice = LayerChoice(params_, octaves),
                     .keypoints = host ? keypoints_.data() : description.keypoints.view.data,
                     .stride = host ? sizeof(Keypoint) : description.keypoints.stride,
                     .count = count,
                     .width = src.width,
                     .height = src.height,
                     .windows = windows});
        add_describe(space, windows, host ? descriptors_.data() : description.descriptors.data,
                     nullptr, static_cast<unsigned>(count));
    }

    Lists allocate_lists(const Octaves &octaves) {
        Lists lists{.max_candidates = static_cast<unsigned>(max_extrema(octaves)),
                    .max_features = static_cast<unsigned>(max_keypoints(octaves))};
        lists.candidates = arena_.allocate<Candidate>(lists.max_candidates);
        lists.features = arena_.allocate<Feature>(lists.max_features);
        return lists;
    }

    /// Levels, without the bits for keypoints.
    Space allocate_scale_space(const Octaves &octaves) {
        Space space{.stored = is_usual() ? usual_layers : params_.levels() - 1};
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
        space.base = arena_.allocate<float>(floats);
        space.levels = arena_.allocate<float>(space.stored * floats);
        return space;
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
        auto *first = arena_.allocate<unsigned>(control_words + words);
        lists.control = reinterpret_cast<Control *>(first);
        space.claims = first ? first + control_words : nullptr;
        return {first, control_words + words};
    }

    /// lists: of the extrema to be sought; null: none.
    void add_space(const Octaves &octaves, const Space &space, const Image &picture,
                   const Cleared &cleared, const Lists *lists) {
        Image src = luma_plane(picture);
        if (src.memory == Memory::host)
            src = device_src_ = place(src);
        const Rows luma = luma_of(src);
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
                    job, Kernel::shared_bytes);
    }

    void add_cascade(const Space &space, int o) {
        const Space::Octave &from = space.octave[o], &to = space.octave[o + 1];
        Cascade::Job job{.src = element(space.base, from.at),
                         .width = from.width,
                         .height = from.height,
                         .pitch = from.pitch,
                         .dst = element(space.base, to.at),
                         .dst_width = to.width,
                         .dst_height = to.height,
                         .dst_pitch = to.pitch,
                         .strip = strip_of(to.width, Cascade::owned, to.height, Cascade::rows)};
        std::copy_n(filters_[usual_layers].weights, filters_[usual_layers].radius + 1, job.weights);
        add<Cascade>(dim3(blocks(to.width, Cascade::owned), blocks(to.height, job.strip)), job,
                     Cascade::shared_bytes);
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
        add<ScaleSpace>(dim3(job.tiling.count()), job, ScaleSpace::shared_bytes);
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
        float *wide = arena_.allocate<float>(static_cast<std::size_t>(first.pitch) * first.height);
        params_.upsample ? add_widen<true>(first, src, luma, wide, cleared)
                         : add_widen<false>(first, src, luma, wide, cleared);
        if (octaves.count == 0)
            return;
        Blur::Plane plane{wide,        space.base,  first.width,  first.height,
                          first.pitch, first.width, first.height, first.pitch};
        add_blur({&plane, 1}, 1, first_);
        for (int o = 0; o + 1 < octaves.count; o++) {
            const Space::Octave &from = space.octave[o], &to = space.octave[o + 1];
            plane = {element(space.base, from.at),
                     element(space.base, to.at),
                     from.width,
                     from.height,
                     from.pitch,
                     to.width,
                     to.height,
                     to.pitch};
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
            planes[o] = {element(space.base, octave.at),
                         element(space.levels, space.stored * octave.at + (l - 1) * plane),
                         octave.width,
                         octave.height,
                         octave.pitch,
                         octave.width,
                         octave.height,
                         octave.pitch};
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
        if (run.mask) {
            Image mask = *run.mask;
            if (mask.memory == Memory::host)
                mask = device_mask_ = place(mask);
            job.mask = rows_of(mask.planes[0]);
        }
        if (is_usual())
            for (int l = 4; l <= usual_levels; l++)
                std::copy_n(filters_[l].weights, filters_[l].radius + 1, job.weights[l - 4]);
        if (octaves.count > 0)
            add<Orient>(everywhere(3 * orient_blocks), job, Orient::shared_bytes);
    }

    void add_describe(const Space &space, const Window *windows, std::byte *descriptors,
                      const unsigned *kept, unsigned count) {
        add<Describe>(everywhere(4 * describe_blocks),
                      {.space = space,
                       .windows = windows,
                       .kept = kept,
                       .count = count,
                       .descriptors = descriptors,
                       .type = params_.descriptor_type,
                       .root = params_.root_sift != 0},
                      Describe::shared_bytes);
    }

    // ---- drawing --------------------------------------------------------------------

    void add_draw(const SiftDrawing &drawing) {
        launches_.clear();
        add<Draw>(everywhere(4), draw_job(drawing, kept_->keypoints, kept_->found));
    }

    /// The pixels stay where they are: keypoints come to the host, which draws when they are there.
    void draw_on_host(cudaStream_t stream, const SiftDrawing &drawing) {
        if (pending_drawing_)
            end_last_run(); // it uses the same memory
        drawn_.reserve(kept_->room * sizeof(Keypoint));
        completion_.follow(stream);
        launches_.clear();
        add<Fetch>(everywhere(4), {.from = kept_->keypoints,
                                   .found = kept_->found,
                                   .to = reinterpret_cast<Keypoint *>(drawn_.data()),
                                   .count = &reinterpret_cast<Report *>(report_.data())->drawn});
        graphs_.launch(launches_, stream);
        completion_.record(stream);
        pending_drawing_ = drawing;
    }

    SiftParams params_{};
    BlurFilter first_{};
    BlurFilter filters_[max_levels]{}; ///< of levels 1 on
    Staging mask_staging_;
    PinnedBuffer report_;
    PinnedBuffer keypoints_, descriptors_; ///< that kernels write, or read
    PinnedBuffer drawn_;                   ///< keypoints, for drawings on the host
    std::optional<Pending> pending_;
    std::optional<SiftDrawing> pending_drawing_;
    Kept planned_{}; ///< by record_plan()
    std::optional<Kept> kept_;
    std::int32_t described_ = -1;        ///< by the last run; -1: it has found them
    Image device_src_{}, device_mask_{}; ///< of images in host memory
};

} // namespace

std::unique_ptr<Sift> make_sift(std::shared_ptr<Context> context) {
    return std::make_unique<CudaSift>(context);
}

} // namespace gpv::cuda
