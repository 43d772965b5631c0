// SPDX-License-Identifier: BSD-2-Clause
// Segmentation on CUDA: plans the kernels of this folder round the cuts of the solver.
//   Clear      counts and sums
//   Count      how many pixels there are in each cell, by what is known of them
//   FitModel   what is learned from that
//   Contrast, Links  capacities between neighbours
//   Terminals  capacities of pixels
//   (the cut)
//   SeeScene   whether what has been learned is kept
//   PaintOverlay, PaintCutout
// Each iteration counts, fits and makes terminals anew. A run that adapts counts and fits once more
// in the end, and whether it fits is decided on the device: the host does not wait.
#include "core/segment.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "cuda/run/operator.cuh"
#include "cuda/segment/fit.cuh"

namespace gpv::cuda {
namespace {

using namespace segment;

/// Calls f<kind>().
template <class F>
void with_model(gpv_segment_model kind, F f) {
    if (kind == GPV_SEGMENT_MODEL_HISTOGRAM)
        f.template operator()<GPV_SEGMENT_MODEL_HISTOGRAM>();
    else // means are mixtures of one component
        f.template operator()<GPV_SEGMENT_MODEL_GMM>();
}

class CudaSegment final : public CudaOperator<Segment> {
  public:
    explicit CudaSegment(const std::shared_ptr<Context> &context)
        : CudaOperator(context), grey_staging_(device_), learned_memory_(context),
          solver_(make_graphcut(context)) {
        load<Clear>();
        load<Fill<std::uint8_t>>();
        load<FitModel>(sizeof(FitModel::Shared));
        load<SeeScene>(sizeof(SeeScene::Shared));
        for (const Layout layout :
             {Layout::gray, Layout::rgb, Layout::rgbx, Layout::nv12, Layout::i420})
            with_layout(layout, [&]<Layout l> {
                load<Count<l, false>>(Count<l, false>::shared_bytes);
                load<Count<l, true>>(Count<l, true>::shared_bytes);
                load<Contrast<l, 4>>();
                load<Contrast<l, 8>>();
                load<Links<l, 4>>(sizeof(float));
                load<Links<l, 8>>(sizeof(float));
                load<Terminals<l, GPV_SEGMENT_MODEL_GMM>>(terminals_bytes);
                load<Terminals<l, GPV_SEGMENT_MODEL_HISTOGRAM>>(terminals_bytes);
                load<PaintOverlay<l>>();
                load<PaintCutout<l>>();
            });
        learned_memory_.reserve(sizeof(Learned), nullptr);
        kept_.reserve(sizeof(std::uint32_t));
    }
    ~CudaSegment() override { finish(); }

    void set_params(const gpv_segment_params &params) override {
        if (params.model != params_.model)
            forget_model();
        params_ = params;
    }
    void forget_model() override { learned_ = false; }
    bool learned() override {
        wait();
        return learned_;
    }

    void prepare(const SegmentRun &shapes) override {
        end_last_run();
        plan(nullptr, [&] { record_plan(shapes); });
        prepare_solver(nullptr);
        reserve_host(shapes);
        prepare_graphs(shapes, false);
        if (params_.warm_start != GPV_SEGMENT_WARM_START_NONE)
            prepare_graphs(shapes, true);
    }

    bool run(Stream stream, const SegmentRun &run) override {
        return start(
            "gpv_segment_run", stream, [&](cudaStream_t s) { run_captured(s, run); },
            [&](cudaStream_t s) { enqueue(s, run); });
    }

    GraphcutResult result() const override { return solver_->result(); }

  private:
    /// On the device.
    struct Learned {
        Model kept; ///< what runs begin with
        Model own;  ///< what one that adapts learns between its cuts
        Scene scene;
    };
    using Kind = std::array<int, 3>; ///< width, height, connectivity
    static constexpr std::size_t max_kinds = 64;
    static constexpr std::size_t terminals_bytes =
        sizeof(Terminals<Layout::gray, GPV_SEGMENT_MODEL_GMM>::Shared);

    // ---- results --------------------------------------------------------------------

    void deliver() override {
        CudaOperator::deliver();
        grey_staging_.deliver();
        find_outcome();
    }
    void forget() override {
        CudaOperator::forget();
        grey_staging_.forget();
    }

    // ---- running --------------------------------------------------------------------

    void run_captured(cudaStream_t stream, const SegmentRun &run) {
        if (run.src.memory == Memory::host)
            refuse_capture("src->memory is GPV_MEMORY_HOST; only runs on device images can be "
                           "captured");
        if (seeds_are_uploaded(run))
            refuse_capture("seeds->memory is GPV_MEMORY_HOST; they have to be GPV_MEMORY_CUDA");
        if (planned_bytes([&] { record_plan(run); }) > scratch_.size() || !solver_is_ready())
            refuse_capture("this run needs memory; call gpv_segment_prepare() first");
        for_steps(
            run, begins_learned(), nullptr, [&] { launches_.launch(stream); },
            [&](bool last) { cut(stream, run, last); });
    }

    void enqueue(cudaStream_t stream, const SegmentRun &run) {
        const bool from_host = run.src.memory == Memory::host;
        if (from_host || seeds_are_uploaded(run))
            end_last_run(); // it uses the staging memory
        if (needs_outcome())
            end_last_run();
        plan(stream, [&] { record_plan(run); });
        if (!solver_is_ready()) {
            end_last_run(); // what it frees may be in use
            prepare_solver(stream);
        }
        reserve_host(run);
        completion_.follow(stream);
        if (from_host)
            staging_.upload(run.src, on_device_.src, stream);
        if (seeds_are_uploaded(run))
            grey_staging_.upload(*run.seeds, *on_device_.seeds, stream);
        const bool learned = begins_learned();
        if (!learned &&
            params_.warm_start != GPV_SEGMENT_WARM_START_NONE) // those that follow make no graph
            prepare_graphs(run, true);
        learned_ = false; // should this fail
        for_steps(
            run, learned, kept(), [&] { graphs_.launch(launches_, stream); },
            [&](bool last) { cut(stream, run, last); });
        learned_ = true;
        outcome_ = params_.warm_start == GPV_SEGMENT_WARM_START_ADAPT ? Outcome::by_scene
                   : learned                                          ? Outcome::known
                                                                      : Outcome::by_cut;
        run_ = run;
        if (from_host && run.mask)
            grey_staging_.download(*on_device_.mask, stream);
        if (from_host && run.dst)
            staging_.download(*on_device_.dst, stream);
        completion_.record(stream);
        if (from_host && run.mask)
            grey_staging_.expect(*on_device_.mask, *run.mask);
        if (from_host && run.dst)
            staging_.expect(*on_device_.dst, *run.dst);
    }

    /// Before any work is enqueued, so that the solver has all its memory by then.
    void prepare_solver(Stream stream) {
        std::vector<Kind> ready;
        ready.swap(ready_); // if it fails, what it had may be gone
        solver_->set_params(cut_params(params_));
        solver_->prepare(links_image(), stream);
        ready.erase(std::remove(ready.begin(), ready.end(), kind()), ready.end());
        if (ready.size() == max_kinds)
            ready.erase(ready.begin());
        ready.push_back(kind());
        ready_.swap(ready);
    }
    bool solver_is_ready() const {
        return std::find(ready_.begin(), ready_.end(), kind()) != ready_.end();
    }
    Kind kind() const {
        return {on_device_.src.width, on_device_.src.height, params_.connectivity};
    }

    /// Whether the next run begins with what has been learned; if it adapts, unless the scene says
    /// that nothing is kept.
    bool begins_learned() const {
        return learned_ && params_.warm_start != GPV_SEGMENT_WARM_START_NONE;
    }

    /// Whether the host has to know what the last run has learned before the next one begins. With
    /// reuse it has to know how many cuts there are.
    bool needs_outcome() const {
        return begins_learned() && (outcome_ == Outcome::by_cut ||
                                    (outcome_ == Outcome::by_scene &&
                                     params_.warm_start == GPV_SEGMENT_WARM_START_REUSE));
    }
    /// The last run is over.
    void find_outcome() {
        if (outcome_ == Outcome::by_scene)
            learned_ = learned_ && *kept();
        else if (outcome_ == Outcome::by_cut)
            learned_ = learned_ && has_two_sides(run_, result().area);
        outcome_ = Outcome::known;
    }

    static bool seeds_are_uploaded(const SegmentRun &run) {
        return run.seeds && run.seeds->memory == Memory::host;
    }

    void reserve_host(const SegmentRun &run) {
        if (seeds_are_uploaded(run))
            grey_staging_.reserve_upload(*run.seeds);
        if (run.src.memory != Memory::host)
            return;
        staging_.reserve_upload(run.src);
        if (run.mask)
            grey_staging_.reserve_download(*run.mask);
        if (run.dst)
            staging_.reserve_download(*run.dst);
    }

    void cut(cudaStream_t stream, const SegmentRun &run, bool last) {
        gpv_graphcut_params params = cut_params(params_);
        params.certificate &= last;
        solver_->set_params(params);
        solver_->run(stream, {.terminals = terminals_image(),
                              .links = links_image(),
                              .mask = mask_,
                              .result = last ? run.result : nullptr});
    }

    // ---- planning -------------------------------------------------------------------

    /// Scratch of a run.
    void record_plan(const SegmentRun &run) {
        on_device_ = run;
        if (run.src.memory == Memory::host) {
            on_device_.src = place(run.src);
            if (run.mask)
                on_device_.mask = place(*run.mask);
            if (run.dst)
                on_device_.dst = place(*run.dst);
        }
        if (seeds_are_uploaded(run))
            on_device_.seeds = place(*run.seeds);
        if (on_device_.mask) {
            mask_ = luma_plane(*on_device_.mask);
        } else {
            mask_ = on_device_.src;
            mask_.format = Format::gray8;
            mask_ = place(mask_);
        }
        stride_ = static_cast<int>(round_up(run.src.width, pitch_alignment / sizeof(int)));
        const std::size_t pixels = std::size_t(stride_) * run.src.height;
        const std::size_t front =
            stride_ + pitch_alignment / sizeof(int); // for planes of arcs back
        terminals_ = arena_.allocate<int>(pixels);
        for (int i = 0; i < params_.connectivity / 2; i++)
            links_[i] = arena_.allocate<int>(pixels + front, front);
        control_ = arena_.allocate<Control>(1);
        labels_ = arena_.allocate<std::uint8_t>(3 * std::size_t{cells});
        coarse_ = arena_.allocate<unsigned>(2 * std::size_t{table_cells});
    }

    Image terminals_image() const {
        return plane_image(on_device_.src, Format::label32, terminals_, stride_ * sizeof(int));
    }
    Image links_image() const {
        return segment::links_image(on_device_.src, params_.connectivity, links_,
                                    stride_ * sizeof(int));
    }

    void prepare_graphs(const SegmentRun &run, bool learned) {
        for_steps(
            run, learned, kept(), [&] { graphs_.prepare(launches_); }, [](bool) {});
    }

    /// Plans the kernels between cuts, and calls launch() for them and cut(last) in turn. told:
    /// where a run that adapts says in the host's memory whether anything is kept; may be null.
    template <class Launch, class Cut>
    void for_steps(const SegmentRun &run, bool learned, std::uint32_t *told, Launch launch,
                   Cut cut) {
        const int iterations = iterations_of(params_, learned);
        PixelJob job = pixel_job();
        with_layout(layout_of(on_device_.src), [&]<Layout l> {
            const bool adapts = params_.warm_start == GPV_SEGMENT_WARM_START_ADAPT;
            job.model = &memory()->kept;
            launches_.clear();
            add_clear();
            add_links<l>(job);
            for (int iteration = 0; iteration < iterations; iteration++) {
                if (iteration > 0) {
                    launches_.clear();
                    add_clear();
                    add_count<l, true>(job);
                    Model *const next = adapts ? &memory()->own : &memory()->kept;
                    add_fit(job.model, next);
                    job.model = next;
                } else if (!learned || adapts) {
                    const std::uint32_t *const idle = learned ? &memory()->scene.kept : nullptr;
                    add_count<l, false>(job, idle);
                    add_fit(nullptr, &memory()->kept, idle);
                }
                with_model(params_.model, [&]<gpv_segment_model kind> {
                    add_pixels<Terminals<l, kind>>(job, terminals_bytes);
                });
                launch();
                cut(iteration == iterations - 1);
            }
            launches_.clear();
            if (adapts) {
                add_clear();
                add_count<l, true>(job);
                add_see_scene(told);
                add_fit(job.model, &memory()->kept, &memory()->scene.ignored);
            }
            if (run.mask)
                fill_chroma<std::uint8_t>(*on_device_.mask, neutral_chroma8);
            if (run.dst && params_.output == GPV_SEGMENT_OUTPUT_CUTOUT)
                add_pixels<PaintCutout<l>>(job);
            else if (run.dst)
                add_pixels<PaintOverlay<l>>(job);
            if (!launches_.launches().empty())
                launch();
        });
    }

    PixelJob pixel_job() const {
        PixelJob job{};
        job.src = colors_of(on_device_.src);
        if (on_device_.seeds)
            job.seeds = rows_of(on_device_.seeds->planes[0]);
        job.mask = rows_of(mask_.planes[0]);
        if (on_device_.dst) {
            job.dst = rows_of(on_device_.dst->planes[0]);
            for (int i = 1; i < on_device_.dst->plane_count(); i++)
                job.chroma[i - 1] = rows_of(on_device_.dst->planes[i]);
            job.dst_red = blue_first(on_device_.dst->format) ? 2 : 0;
            job.dst_in_words = aligned(job.dst, 0, sizeof(Word));
            job.alpha = has_alpha(on_device_.src.format);
        }
        job.rect = on_device_.rect.value_or(Rect{0, 0, job.src.width, job.src.height});
        job.weight = params_.lambda * unit;
        job.sigma = params_.sigma;
        job.control = control_;
        job.terminals = terminals_;
        std::copy_n(links_, std::size(links_), job.links);
        job.stride = stride_;
        return job;
    }
    Learned *memory() const { return reinterpret_cast<Learned *>(learned_memory_.data()); }
    /// Scene::kept after the last run that adapts.
    std::uint32_t *kept() const { return reinterpret_cast<std::uint32_t *>(kept_.data()); }

    template <class Kernel>
    void add_pixels(const PixelJob &job, std::size_t shared = 0) {
        add<Kernel>(Kernel::grid(job.src.width, job.src.height), job, shared);
    }

    void add_clear() {
        add<Clear>(dim3(blocks(Clear::words, Clear::threads * clear_words)),
                   {.control = reinterpret_cast<uint4 *>(control_)});
    }

    template <Layout layout>
    void add_links(const PixelJob &job) {
        const bool four = params_.connectivity == 4;
        if (params_.sigma == 0)
            four ? add_pixels<Contrast<layout, 4>>(job) : add_pixels<Contrast<layout, 8>>(job);
        four ? add_pixels<Links<layout, 4>>(job, sizeof(float))
             : add_pixels<Links<layout, 8>>(job, sizeof(float));
    }

    /// idle: where it is not 0 on the device, this does nothing.
    template <Layout layout, bool of_cut>
    void add_count(PixelJob job, const std::uint32_t *idle = nullptr) {
        using Kernel = Count<layout, of_cut>;
        const std::int64_t strips = std::int64_t{strips_of_row(job.src.width)} * job.src.height;
        const std::int64_t maximum = std::int64_t{count_blocks} * device_.multiprocessors();
        const std::int64_t grid =
            std::min(maximum, (strips + Kernel::threads - 1) / Kernel::threads);
        job.idle = idle;
        add<Kernel>(dim3(static_cast<unsigned>(grid)), job, Kernel::shared_bytes);
    }

    /// from: null where learning begins. idle: as in add_count().
    void add_fit(const Model *from, Model *to, const std::uint32_t *idle = nullptr) {
        add_cooperative<FitModel>(dim3(device_.multiprocessors()),
                                  {.kind = params_.model,
                                   .continues = from != nullptr,
                                   .idle = idle,
                                   .control = control_,
                                   .from = from ? from : to,
                                   .model = to,
                                   .scene = &memory()->scene,
                                   .labels = labels_,
                                   .coarse = coarse_},
                                  sizeof(FitModel::Shared));
    }

    void add_see_scene(std::uint32_t *told) {
        add<SeeScene>(dim3(1),
                      {.control = control_,
                       .scene = &memory()->scene,
                       .kept = told,
                       .pixels = std::uint64_t(on_device_.src.width) * on_device_.src.height},
                      sizeof(SeeScene::Shared));
    }

    gpv_segment_params params_{};
    Staging grey_staging_;  ///< of seeds and of the mask
    Buffer learned_memory_; ///< Learned
    PinnedBuffer kept_;
    bool learned_ = false; ///< something has been, unless the outcome of the last run says other
    enum class Outcome { known, by_cut, by_scene } outcome_ = Outcome::known;
    SegmentRun run_{}; ///< the last one; of its images nothing is looked at
    std::unique_ptr<Graphcut> solver_;
    std::vector<Kind> ready_; ///< what the solver has memory for

    // Of the run that is planned.
    SegmentRun on_device_{}; ///< with the images on the device
    Image mask_{};           ///< as GRAY8, whether it is wanted or not
    int stride_ = 0;         ///< of terminals and links, pixels
    int *terminals_ = nullptr, *links_[4] = {};
    Control *control_ = nullptr;
    std::uint8_t *labels_ = nullptr;
    unsigned *coarse_ = nullptr;
};

} // namespace

std::unique_ptr<Segment> make_segment(std::shared_ptr<Context> context) {
    return std::make_unique<CudaSegment>(context);
}

} // namespace gpv::cuda
