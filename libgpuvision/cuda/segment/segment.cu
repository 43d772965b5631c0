// SPDX-License-Identifier: BSD-2-Clause
// Segmentation on CUDA: plans the kernels of this folder, and cuts between them, as one launch
// list.
//   Clear      counts and sums
//   Count      how many pixels there are in each cell, by what is known of them
//   FitModel   what is learned from that
//   MeasureContrast, HoldContrast, Links  capacities between neighbours
//   Terminals, RequireUnknown  capacities of pixels
//   (the cut)
//   SeeScene   whether what has been learned is kept
//   SoftenEdges
//   PaintOverlay, PaintCutout
// Each iteration counts, fits and makes terminals anew. A run that adapts counts and fits once more
// in the end, and whether it fits is decided on the device: the host does not wait. Seeds on the
// device that are at fault make a graph that the cut refuses: then all that follows does nothing.
#include "core/segment.hpp"

#include <algorithm>

#include "cuda/graphcut/cutter.cuh"
#include "cuda/run/operator.cuh"
#include "cuda/segment/edge.cuh"
#include "cuda/segment/fit.cuh"

namespace gpv::cuda {
namespace {

using namespace segment;

/// A run, and whether it goes on from what has been learned; if it adapts, unless the scene says
/// that nothing is kept.
struct PlannedRun : SegmentRun {
    bool goes_on;
    bool unseen = false; ///< there are seeds, and the host has not seen them
};

class CudaSegment final : public CudaOperator<CudaSegment, Segment, gpv_segment_params> {
  public:
    explicit CudaSegment(const std::shared_ptr<Context> &context)
        : CudaOperator(context, "segment"), learned_memory_(context), cutter_(context) {
        load<Clear, Fill<std::uint8_t>, Fill<Word>, HoldContrast, FitModel, RequireUnknown,
             SeeScene, ToRgba, PaintOverlay>();
        for (const Layout layout :
             {Layout::gray, Layout::rgb, Layout::rgbx, Layout::nv12, Layout::i420})
            with_layout(layout, [&]<Layout l> {
                load<Count<l, false>, Count<l, true>, MeasureContrast<l, 4>, MeasureContrast<l, 8>,
                     Links<l, 4>, Links<l, 8>, Terminals<l, GPV_SEGMENT_MODEL_GMM>,
                     Terminals<l, GPV_SEGMENT_MODEL_HISTOGRAM>, SoftenEdges<l>, PaintCutout<l>>();
            });
        learned_memory_.reserve(sizeof(Learned), nullptr);
    }
    ~CudaSegment() override { finish(); }

    void accept(const gpv_segment_params &params) override {
        if (params.model != params_.model)
            forget_model();
        if (!params.static_scene)
            contrast_forgotten_ = true;
    }
    void forget_model() override {
        learned_ = adapted_ = false;
        contrast_forgotten_ = true;
    }
    bool learned() override {
        wait();
        return learned_;
    }

    void prepare(const SegmentRun &shapes) override {
        plan_ahead(PlannedRun{shapes, false});
        if (params_.warm_start != GPV_SEGMENT_WARM_START_NONE)
            plan_ahead(PlannedRun{shapes, true});
    }

    bool run(Stream stream, const SegmentRun &run) override {
        if (!is_captured(stream))
            return enqueue(stream, run);
        start("gpv_segment_run", stream, PlannedRun{run, goes_on()});
        return false;
    }

    GraphcutResult result() const override { return cutter_.report().found; }
    GraphcutFault fault() const override {
        return result().refused ? cutter_.report().fault : GraphcutFault{};
    }

    /// What is in a graph goes by what is on the device.
    void begin(cudaStream_t stream) override {
        if (captured() || !contrast_forgotten_)
            return;
        GPV_CUDA(runtime.memset_async(&memory()->contrast, 0, sizeof(Contrast), stream));
        contrast_forgotten_ = false;
    }
    void fail(cudaStream_t stream) noexcept override {
        cutter_.forget(stream);
        contrast_forgotten_ = true;
    }

    void declare(PlannedRun &run) {
        input("src", run.src);
        run.unseen = run.seeds && run.seeds->memory != Memory::host;
        value(run.unseen);
        input("seeds", run.seeds);
        value(run.rect.has_value());
        value(run.rect.value_or(Rect{}));
        output("mask", run.mask);
        output("dst", run.dst);
        pointer(run.result);
        value(run.goes_on);
    }

    void record(const PlannedRun &run) {
        const Work work = work_for(run);
        const Image seen = has_layout(run.src.format) ? run.src : rgba_of(run.src);
        with_layout(layout_of(seen), [&]<Layout l> { add_all<l>(run, seen, work); });
    }

  private:
    /// On the device.
    struct Learned {
        Model kept; ///< what runs begin with
        Model own;  ///< what one that adapts learns between its cuts
        Scene scene;
        Contrast contrast;
    };
    /// Scratch of a run.
    struct Work {
        GraphcutRun cut; ///< images of the graph, and of its mask, whether that is wanted or not
        Rows alpha;      ///< what becomes of that mask
        int *terminals, *links[4];
        int stride; ///< of terminals and links, pixels
        Control *control;
        std::uint8_t *labels;
        unsigned *coarse;
    };

    // ---- running --------------------------------------------------------------------

    bool enqueue(Stream stream, const SegmentRun &run) {
        if (needs_outcome())
            end_last_run();
        const bool goes_on = this->goes_on();
        if (!goes_on &&
            params_.warm_start != GPV_SEGMENT_WARM_START_NONE) // those that follow make no graph
            plan_ahead(PlannedRun{run, true}, stream);
        if (!goes_on && params_.warm_start == GPV_SEGMENT_WARM_START_ADAPT)
            contrast_forgotten_ = true;
        learned_ = adapted_ = false; // should this fail
        start("gpv_segment_run", stream, PlannedRun{run, goes_on});
        learned_ = true;
        adapted_ = params_.warm_start == GPV_SEGMENT_WARM_START_ADAPT;
        outcome_ = params_.warm_start == GPV_SEGMENT_WARM_START_ADAPT ? Outcome::by_scene
                   : goes_on                                          ? Outcome::known
                                                                      : Outcome::by_cut;
        run_ = run;
        return true;
    }

    /// From the runs before. Whether a run with adapt that follows another begins with what has
    /// been learned is seen on the device.
    bool goes_on() const {
        return params_.warm_start == GPV_SEGMENT_WARM_START_ADAPT
                   ? learned_ || adapted_
                   : learned_ && params_.warm_start != GPV_SEGMENT_WARM_START_NONE;
    }

    /// Whether the host has to know what the last run has learned before the next one begins. With
    /// reuse it has to know how many cuts there are.
    bool needs_outcome() const {
        return goes_on() && (outcome_ == Outcome::by_cut ||
                             (outcome_ == Outcome::by_scene &&
                              params_.warm_start == GPV_SEGMENT_WARM_START_REUSE));
    }
    /// Finds the outcome of the last run.
    void deliver() override {
        if (outcome_ == Outcome::by_scene)
            learned_ = learned_ && *kept_.get();
        else if (outcome_ == Outcome::by_cut)
            learned_ = learned_ && has_two_sides(run_, result().area);
        outcome_ = Outcome::known;
    }

    // ---- planning -------------------------------------------------------------------

    Work work_for(const PlannedRun &run) {
        Work work{};
        const bool soft = softens(params_, run);
        Image grey = run.src;
        grey.format = Format::gray8;
        work.cut.mask = run.mask && !soft ? luma_plane(*run.mask) : place(grey);
        const Image alpha = !soft ? work.cut.mask : run.mask ? luma_plane(*run.mask) : place(grey);
        work.alpha = rows_of(alpha.planes[0]);
        work.stride = static_cast<int>(round_up(run.src.width, pitch_alignment / sizeof(int)));
        const std::size_t pixels = std::size_t(work.stride) * run.src.height;
        const std::size_t front =
            work.stride + pitch_alignment / sizeof(int); // for planes of arcs back
        work.terminals = allocate<int>(pixels);
        for (int i = 0; i < params_.connectivity / 2; i++)
            work.links[i] = allocate<int>(pixels + front, front);
        work.control = allocate<Control>(1);
        work.labels = allocate<std::uint8_t>(3 * std::size_t{cells});
        work.coarse = allocate<unsigned>(2 * std::size_t{table_cells});
        const std::size_t pitch = work.stride * sizeof(int);
        work.cut.terminals = plane_image(run.src, Format::label32, work.terminals, pitch);
        work.cut.links = links_image(run.src, params_.connectivity, work.links, pitch);
        return work;
    }

    /// seen: the source, or what is read in its place.
    template <Layout l>
    void add_all(const PlannedRun &run, const Image &seen, const Work &work) {
        const int iterations = iterations_of(params_, run.goes_on);
        const bool adapts = params_.warm_start == GPV_SEGMENT_WARM_START_ADAPT;
        const std::uint32_t *const refused = cutter_.refused();
        PixelJob job = pixel_job(run, seen, work);
        job.model = &memory()->kept;
        add_clear(work);
        add_links<l>(job);
        for (int iteration = 0; iteration < iterations; iteration++) {
            if (iteration > 0) {
                add_clear(work);
                add_count<l, true>(job, refused);
                Model *const next = adapts ? &memory()->own : &memory()->kept;
                add_fit(work, job.model, next, refused);
                job.model = next;
            } else if (!run.goes_on || adapts) {
                const std::uint32_t *const idle = run.goes_on ? &memory()->scene.kept : nullptr;
                add_count<l, false>(job, idle);
                add_fit(work, nullptr, &memory()->kept, idle);
            }
            // Means are mixtures of one component.
            with_value<GPV_SEGMENT_MODEL_HISTOGRAM, GPV_SEGMENT_MODEL_GMM>(
                params_.model,
                [&]<gpv_segment_model kind> { add_terminals<l, kind>(job, run, iteration); });
            if (run.unseen && iteration == 0)
                add<RequireUnknown>(dim3(1),
                                    {.control = work.control, .terminals = work.terminals});
            add_cut(run, work, iteration == 0, iteration == iterations - 1);
        }
        if (adapts) {
            add_clear(work);
            add_count<l, true>(job, refused);
            add_see_scene(run, work);
            add_fit(work, job.model, &memory()->kept, &memory()->scene.ignored);
        }
        job.idle = refused;
        if (softens(params_, run)) {
            add<SoftenEdges<l>>(SoftenEdges<l>::grid(run.src.width, run.src.height),
                                {job, work.alpha});
            job.mask = work.alpha;
        }
        if (run.mask)
            fill_chroma<std::uint8_t>(*run.mask, neutral_chroma8);
        if (run.dst && params_.output == GPV_SEGMENT_OUTPUT_CUTOUT)
            add_pixels<PaintCutout<l>>(job);
        else if (run.dst)
            add<PaintOverlay>(
                dim3(blocks(run.src.width, PaintOverlay::threads), blocks(run.src.height, 1)),
                {Picture(run.src), Picture(*run.dst), rows_of(work.cut.mask.planes[0]), refused});
    }

    void add_cut(const PlannedRun &run, const Work &work, bool first, bool last) {
        const std::size_t here = mark();
        gpv_graphcut_params params = cut_params(params_);
        params.certificate &= last;
        GraphcutRun cut = work.cut;
        cut.result = last ? run.result : nullptr;
        reuse_flow(params_, first, last, cut);
        cutter_.add(*this, params, cut, last);
        rewind(here); // cuts are one after the other
    }

    PixelJob pixel_job(const PlannedRun &run, const Image &seen, const Work &work) const {
        PixelJob job{};
        job.src = colors_of(seen);
        if (run.seeds)
            job.seeds = rows_of(run.seeds->planes[0]);
        job.mask = rows_of(work.cut.mask.planes[0]);
        if (run.dst) {
            job.dst = rows_of(run.dst->planes[0]);
            job.dst_red = blue_first(run.dst->format) ? 2 : 0;
            job.dst_in_words = aligned(job.dst, 0, sizeof(Word));
            job.alpha = has_alpha(run.src.format);
        }
        const Rect all = {0, 0, job.src.width, job.src.height};
        job.rect = run.rect.value_or(all);
        job.near = run.rect ? near(*run.rect) : all;
        job.weight = params_.lambda * unit;
        job.sigma = params_.sigma;
        job.control = work.control;
        job.terminals = work.terminals;
        std::copy_n(work.links, std::size(work.links), job.links);
        job.stride = work.stride;
        return job;
    }
    Learned *memory() const { return reinterpret_cast<Learned *>(learned_memory_.data()); }

    template <class Kernel>
    void add_pixels(const PixelJob &job) {
        add<Kernel>(Kernel::grid(job.src.width, job.src.height), job);
    }

    void add_clear(const Work &work) {
        add<Clear>(dim3(blocks(Clear::words, Clear::threads * clear_words)),
                   {.control = reinterpret_cast<uint4 *>(work.control)});
    }

    /// Those of a graph that has been refused stay as they are.
    template <Layout layout, gpv_segment_model kind>
    void add_terminals(PixelJob job, const PlannedRun &run, int iteration) {
        job.unseen = run.unseen && iteration == 0;
        job.idle = iteration > 0 ? cutter_.refused() : nullptr;
        add_pixels<Terminals<layout, kind>>(job);
    }

    template <Layout layout>
    void add_links(PixelJob job) {
        const bool four = params_.connectivity == 4;
        if (params_.static_scene)
            job.contrast = &memory()->contrast;
        if (params_.sigma == 0)
            four ? add_pixels<MeasureContrast<layout, 4>>(job)
                 : add_pixels<MeasureContrast<layout, 8>>(job);
        if (params_.sigma == 0 && params_.static_scene)
            add<HoldContrast>(dim3(1), {.control = job.control,
                                        .contrast = &memory()->contrast,
                                        .width = job.src.width,
                                        .height = job.src.height,
                                        .connectivity = params_.connectivity});
        four ? add_pixels<Links<layout, 4>>(job) : add_pixels<Links<layout, 8>>(job);
    }

    /// idle: where it is not 0 on the device, this does nothing.
    template <Layout layout, bool of_cut>
    void add_count(PixelJob job, const std::uint32_t *idle = nullptr) {
        using Kernel = Count<layout, of_cut>;
        const std::int64_t strips = std::int64_t{strips_of_row(job.src.width)} * job.src.height;
        const unsigned maximum = count_blocks * device_.multiprocessors();
        job.idle = idle;
        add<Kernel>(dim3(std::min(maximum, blocks(strips, Kernel::threads))), job);
    }

    /// from: null where learning begins. idle: as in add_count().
    void add_fit(const Work &work, const Model *from, Model *to,
                 const std::uint32_t *idle = nullptr) {
        add_cooperative<FitModel>(dim3(device_.multiprocessors()), {.kind = params_.model,
                                                                    .continues = from != nullptr,
                                                                    .idle = idle,
                                                                    .control = work.control,
                                                                    .from = from ? from : to,
                                                                    .model = to,
                                                                    .scene = &memory()->scene,
                                                                    .labels = work.labels,
                                                                    .coarse = work.coarse});
    }

    void add_see_scene(const PlannedRun &run, const Work &work) {
        add<SeeScene>(dim3(1), {.control = work.control,
                                .scene = &memory()->scene,
                                .contrast = &memory()->contrast,
                                .refused = cutter_.refused(),
                                .kept = captured() ? nullptr : kept_.get(),
                                .pixels = std::uint64_t(run.src.width) * run.src.height});
    }

    Buffer learned_memory_;      ///< Learned
    Pinned<std::uint32_t> kept_; ///< Scene::kept after the last run that adapts
    Cutter cutter_;
    bool contrast_forgotten_ = false; ///< before the next run
    bool learned_ = false; ///< something has been, unless the outcome of the last run says other
    bool adapted_ = false; ///< the last run
    enum class Outcome { known, by_cut, by_scene } outcome_ = Outcome::known;
    SegmentRun run_{}; ///< the last one; of its images nothing is looked at
};

} // namespace

std::unique_ptr<Segment> make_segment(std::shared_ptr<Context> context) {
    return std::make_unique<CudaSegment>(context);
}

} // namespace gpv::cuda
