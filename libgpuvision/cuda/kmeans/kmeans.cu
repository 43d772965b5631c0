// SPDX-License-Identifier: BSD-2-Clause
// Colour segmentation on CUDA: plans the kernels of this folder as one launch list.
//   Histogram  how many pixels there are of each of the 2^24 colours
//   Collect    the colours that occur, by cells of colour space, and tasks for Lloyd
//   Seed       draws the colours to start from, where they have to be drawn
//   Lloyd      all iterations, over these tasks or over the pixels themselves
//   Label      labels and paints the pixels
#include "core/kmeans.hpp"

#include <cstring>

#include "cuda/kmeans/label.cuh"
#include "cuda/run/operator.cuh"

namespace gpv::cuda {
namespace {

using namespace kmeans;

template <class F>
void with_metric(gpv_kmeans_metric metric, F f) {
    metric == GPV_KMEANS_METRIC_L2 ? f.template operator()<GPV_KMEANS_METRIC_L2>()
                                   : f.template operator()<GPV_KMEANS_METRIC_L1>();
}

class CudaKmeans final : public CudaOperator<Kmeans>, private Delivery {
  public:
    explicit CudaKmeans(const std::shared_ptr<Context> &context)
        : CudaOperator(context), labels_staging_(device_), state_(context), lab_(context) {
        for (const Layout layout :
             {Layout::gray, Layout::rgb, Layout::rgbx, Layout::nv12, Layout::i420})
            with_layout(layout, [&]<Layout l> {
                load<Histogram<l>>(
                    Histogram<l>::shared_bytes(Histogram<l>::places_in(device_.shared_bytes())));
                load<Label<l, unsigned>>(Label<l, unsigned>::shared_bytes);
                load<Label<l, Wide>>(Label<l, Wide>::shared_bytes);
            });
        load<Seed>(Seed::shared_bytes);
        load<Fill<std::uint8_t>>();
        load<LloydOfPixels<GPV_KMEANS_METRIC_L2>>(device_.shared_bytes());
        load<LloydOfPixels<GPV_KMEANS_METRIC_L1>>(device_.shared_bytes());
        load_sums<unsigned>();
        load_sums<Wide>();
        launch_early_ = can_begin_early<Collect<unsigned>>();
        state_.reserve(sizeof(State), nullptr);
        report_.reserve(sizeof(Report));
        std::memset(report_.data(), 0, sizeof(Report));
        device_.add(this);
    }

    ~CudaKmeans() override {
        device_.remove(this);
        finish();
    }

    void set_params(const KmeansParams &params) override {
        if (params.color_space == GPV_KMEANS_COLOR_SPACE_LAB && !has_lab_table_)
            upload_lab();
        params_ = params;
    }

    void set_centroids(std::vector<Centroid> centroids) override { given_ = std::move(centroids); }

    void prepare(const Image &src, const Image *labels, const Image *dst) override {
        end_last_run();
        KmeansRun run{.src = src};
        if (labels)
            run.labels = *labels;
        if (dst)
            run.dst = *dst;
        plan(nullptr, [&] { record_plan(run); });
        reserve_host(run);
        graphs_.prepare(launches_);
    }

    bool run(Stream stream, const KmeansRun &run) override {
        return start(
            "gpv_kmeans_run", stream, [&](cudaStream_t s) { run_captured(s, run); },
            [&](cudaStream_t s) { enqueue(s, run); });
    }

    KmeansResult result() const override { return report().found; }

  private:
    struct Pending {
        std::byte *centroids = nullptr, *counts = nullptr;
    };

    template <class Sum>
    void load_sums() const {
        load<Collect<Sum>>(Collect<Sum>::shared_bytes);
        load<Finish<Sum>>(Finish<Sum>::shared_bytes);
        load<LloydOfCells<GPV_KMEANS_METRIC_L2, Sum>>(device_.shared_bytes());
        load<LloydOfCells<GPV_KMEANS_METRIC_L1, Sum>>(device_.shared_bytes());
    }

    void upload_lab() {
        lab_.reserve(sizeof(LabTable), nullptr);
        PinnedBuffer table;
        table.reserve(sizeof(LabTable));
        new (table.data()) LabTable;
        GPV_CUDA(runtime.memcpy_async(lab_.data(), table.data(), sizeof(LabTable),
                                      cudaMemcpyHostToDevice, nullptr));
        GPV_CUDA(runtime.stream_synchronize(nullptr));
        has_lab_table_ = true;
    }

    const Report &report() const { return *reinterpret_cast<const Report *>(report_.data()); }

    // ---- results --------------------------------------------------------------------

    void deliver_if_finished() override {
        if (completion_.finished())
            deliver_report();
    }
    void deliver() override {
        CudaOperator::deliver();
        labels_staging_.deliver();
        deliver_report();
    }
    void forget() override {
        CudaOperator::forget();
        labels_staging_.forget();
        pending_ = {};
    }

    void deliver_report() {
        const std::size_t clusters = report().found.clusters;
        if (pending_.centroids)
            std::memcpy(pending_.centroids, report().centroids, clusters * sizeof(Centroid));
        if (pending_.counts)
            std::memcpy(pending_.counts, report().counts, clusters * sizeof(std::int32_t));
        pending_ = {};
    }

    static bool on_host(const std::optional<BufferView> &block) {
        return block && block->memory == Memory::host;
    }

    // ---- running --------------------------------------------------------------------

    void run_captured(cudaStream_t stream, const KmeansRun &run) {
        if (run.src.memory == Memory::host)
            refuse_capture("src->memory is GPV_MEMORY_HOST; only runs on device images can be "
                           "captured");
        if (on_host(run.centroids) || on_host(run.counts))
            refuse_capture(
                "centroids->memory or counts->memory is GPV_MEMORY_HOST; they have to be "
                "GPV_MEMORY_CUDA");
        if (planned_bytes([&] { record_plan(run, true); }) > scratch_.size())
            refuse_capture("this run needs memory; call gpv_kmeans_prepare() first");
        clear_unfinished(stream);
        launches_.launch(stream);
    }

    /// If a run has been cut off, what is 0 between runs may be not.
    void clear_unfinished(cudaStream_t stream) {
        if (unfinished_)
            GPV_CUDA(runtime.memset_async(scratch_.data(), 0, cleared_bytes_, stream));
    }

    void enqueue(cudaStream_t stream, const KmeansRun &run) {
        const bool from_host = run.src.memory == Memory::host;
        const bool to_host = on_host(run.centroids) || on_host(run.counts);
        if (from_host || to_host || pending_.centroids || pending_.counts)
            end_last_run(); // it uses the staging memory, or the report
        completion_.follow(stream);
        plan(stream, [&] { record_plan(run); });
        reserve_host(run);
        clear_unfinished(stream);
        unfinished_ = true;
        if (from_host)
            staging_.upload(run.src, device_src_, stream);
        graphs_.launch(launches_, stream);
        unfinished_ = false;
        if (from_host && run.labels)
            labels_staging_.download(device_labels_, stream);
        if (from_host && run.dst)
            staging_.download(device_dst_, stream);
        completion_.record(stream);
        if (from_host && run.labels)
            labels_staging_.expect(device_labels_, *run.labels);
        if (from_host && run.dst)
            staging_.expect(device_dst_, *run.dst);
        if (on_host(run.centroids))
            pending_.centroids = run.centroids->data;
        if (on_host(run.counts))
            pending_.counts = run.counts->data;
    }

    void reserve_host(const KmeansRun &run) {
        if (run.src.memory != Memory::host)
            return;
        staging_.reserve_upload(run.src);
        if (run.labels)
            labels_staging_.reserve_download(*run.labels);
        if (run.dst)
            staging_.reserve_download(*run.dst);
    }

    // ---- planning -------------------------------------------------------------------

    /// Scratch of a run.
    template <class Sum>
    struct Tables {
        unsigned *counters, *occupied;
        Control *control;
        Sum *sums;
        std::uint8_t *color_labels; ///< or those of pixels
        std::uint8_t *slab_labels;
        Cell *cells;
        SeedWeights weights;
        Centroid *seeds;
        Outcome<Sum> *outcome;
        Colors colors;
        Task<Sum> *tasks;
    };

    void record_plan(const KmeansRun &run, bool captured = false) {
        const std::int64_t pixels = std::int64_t{run.src.width} * run.src.height;
        pixels <= max_narrow_pixels ? record_plan<unsigned>(run, captured)
                                    : record_plan<Wide>(run, captured);
    }

    template <class Sum>
    void record_plan(const KmeansRun &run, bool captured) {
        const Tables<Sum> tables = allocate_tables<Sum>(run.src);
        const KmeansRun there = on_device(run);
        const Layout layout = layout_of(there.src);
        const Source src{colors_of(there.src), lab()};
        const bool brute_force = std::is_same_v<Sum, unsigned> && is_brute_force(src);
        if (!brute_force || params_.is_random_init()) {
            // What goes on from the run before needs no colours to draw from.
            const WarmStart unless = brute_force ? warm() : WarmStart{};
            with_layout(layout, [&]<Layout l> { add_histogram<l>(src, tables, unless); });
            add<Collect<Sum>>(dim3(collect_blocks * device_.multiprocessors()),
                              {.counters = tables.counters,
                               .occupied = tables.occupied,
                               .control = tables.control,
                               .colors = tables.colors,
                               .cells = tables.cells,
                               .tasks = tables.tasks,
                               .unless = unless},
                              Collect<Sum>::shared_bytes);
        }
        if (params_.is_random_init())
            add_seed(tables);
        with_metric(params_.metric, [&]<gpv_kmeans_metric m> {
            if constexpr (std::is_same_v<Sum, unsigned>)
                if (brute_force)
                    return add_lloyd_of_pixels<m>(src, layout, tables, there.labels || there.dst);
            add_lloyd<m>(src, layout, tables);
        });
        add_label(there, src, layout, tables, brute_force, captured);
    }

    /// What is 0 between runs lies at the beginning, at the same place for every kind of run.
    template <class Sum>
    Tables<Sum> allocate_tables(const Image &src) {
        Tables<Sum> t;
        t.counters = arena_.allocate<unsigned>(std::size_t{cell_count} * cell_colors);
        t.occupied = arena_.allocate<unsigned>(cell_count / 32);
        t.control = arena_.allocate<Control>(1);
        t.sums = reinterpret_cast<Sum *>(arena_.allocate<Wide>(phases * 4 * max_kmeans_clusters));
        cleared_bytes_ = arena_.mark();
        t.color_labels = arena_.allocate<std::uint8_t>(std::size_t{cell_count} * cell_colors);
        t.slab_labels = arena_.allocate<std::uint8_t>(slab_count);
        t.cells = arena_.allocate<Cell>(cell_count);
        for (int i = 0; i < 2; i++) {
            t.weights.of_blocks[i] = arena_.allocate<Wide>(Seed::max_blocks);
            t.weights.of_cells[i] = arena_.allocate<Wide>(cell_count);
        }
        t.weights.farthest = arena_.allocate<unsigned>(cell_count);
        t.seeds = arena_.allocate<Centroid>(max_kmeans_clusters);
        t.outcome = arena_.allocate<Outcome<Sum>>(1);
        const std::size_t colors = std::min<std::size_t>(std::size_t{cell_count} * cell_colors,
                                                         std::size_t(src.width) * src.height);
        t.colors.keys = arena_.allocate<unsigned>(colors);
        t.colors.counts = arena_.allocate<unsigned>(colors);
        t.colors.distances = arena_.allocate<unsigned>(colors);
        const std::size_t tasks = std::min<std::size_t>(colors, slab_count);
        t.tasks = arena_.allocate<Task<Sum>>(tasks);
        return t;
    }

    /// Whether each pixel is compared with each centroid: if that is little, if no colour has to be
    /// drawn, at least in most frames of a video, and if all pixels lie in shared memory meanwhile.
    bool is_brute_force(const Source &src) const {
        return !params_.chosen() && (!params_.is_random_init() || params_.warm_start) &&
               brute_force_pays(std::int64_t{src.width} * src.height, params_.clusters,
                                params_.max_iterations) &&
               LloydOfPixels<GPV_KMEANS_METRIC_L2>::shared_bytes(src.width, src.height,
                                                                 device_.multiprocessors()) <=
                   std::min(device_.shared_bytes(), max_resident_bytes) &&
               std::int64_t{strips_of_row(src.width)} * strip * src.height <=
                   cell_count * cell_colors;
    }

    /// Images in host memory become images of our own.
    KmeansRun on_device(const KmeansRun &run) {
        if (run.src.memory != Memory::host)
            return run;
        KmeansRun there = run;
        there.src = device_src_ = place(run.src);
        if (run.labels)
            there.labels = device_labels_ = place(*run.labels);
        if (run.dst)
            there.dst = device_dst_ = place(*run.dst);
        return there;
    }

    const LabTable *lab() const {
        return params_.color_space == GPV_KMEANS_COLOR_SPACE_LAB
                   ? reinterpret_cast<const LabTable *>(lab_.data())
                   : nullptr;
    }

    template <Layout layout, class Sum>
    void add_histogram(const Source &src, const Tables<Sum> &tables, const WarmStart &unless) {
        using Kernel = Histogram<layout>;
        const std::int64_t maximum = std::int64_t{device_.multiprocessors()} * Kernel::min_blocks;
        const std::int64_t strips = Kernel::strips_of(src.width, src.height);
        const std::int64_t grid =
            std::min(maximum, (strips + Kernel::threads - 1) / Kernel::threads);
        const unsigned places = Kernel::places_in(device_.shared_bytes());
        add<Kernel>(dim3(static_cast<unsigned>(grid)),
                    {.src = src,
                     .counters = tables.counters,
                     .occupied = tables.occupied,
                     .places = places,
                     .unless = unless},
                    Kernel::shared_bytes(places));
    }

    /// Of the parameters that a warm start needs; never 0.
    unsigned signature() const {
        return 1u << 31 | static_cast<unsigned>(params_.color_space) << 20 |
               static_cast<unsigned>(params_.chosen() ? params_.max_clusters : 0) << 10 |
               static_cast<unsigned>(params_.clusters);
    }
    WarmStart warm() const { return {state(), params_.warm_start ? signature() : 0}; }
    State *state() const { return reinterpret_cast<State *>(state_.data()); }

    template <class Sum>
    void add_seed(const Tables<Sum> &tables) {
        add_cooperative<Seed>(dim3(std::min(device_.multiprocessors(), Seed::max_blocks)),
                              {.control = tables.control,
                               .colors = tables.colors,
                               .occupied = tables.occupied,
                               .cells = tables.cells,
                               .weights = tables.weights,
                               .unless = warm(),
                               .init = params_.init,
                               .seed = params_.seed,
                               .clusters = params_.room(),
                               .seeds = tables.seeds},
                              Seed::shared_bytes);
    }

    template <class Sum>
    LloydJob<Sum> lloyd_job(const Source &src, Layout layout, const Tables<Sum> &tables) const {
        LloydJob<Sum> job{.control = tables.control,
                          .sums = tables.sums,
                          .outcome = tables.outcome,
                          .max_iterations = params_.max_iterations,
                          .squared_tolerance = params_.squared_tolerance()};
        job.start.method = params_.init;
        job.start.warm = warm();
        job.start.clusters = params_.clusters;
        job.start.max_clusters = params_.max_clusters;
        job.start.src = src;
        job.start.layout = layout;
        job.start.seeds = tables.seeds;
        if (params_.init == GPV_KMEANS_INIT_GIVEN)
            std::copy(given_.begin(), given_.end(), job.start.given);
        return job;
    }

    template <gpv_kmeans_metric metric, class Sum>
    void add_lloyd(const Source &src, Layout layout, const Tables<Sum> &tables) {
        using Kernel = LloydOfCells<metric, Sum>;
        const typename Kernel::Job job{
            .loop = lloyd_job(src, layout, tables),
            .colors = tables.colors,
            .tasks = tables.tasks,
            .slab_labels = tables.slab_labels,
            .color_labels = tables.color_labels,
            .room = static_cast<unsigned>(
                std::min(device_.shared_bytes() - Kernel::min_shared_bytes, max_resident_bytes))};
        add_cooperative<Kernel>(dim3(device_.multiprocessors()), job, device_.shared_bytes());
    }

    template <gpv_kmeans_metric metric>
    void add_lloyd_of_pixels(const Source &src, Layout layout, const Tables<unsigned> &tables,
                             bool wanted) {
        using Kernel = LloydOfPixels<metric>;
        add_cooperative<Kernel>(
            dim3(device_.multiprocessors()),
            {.loop = lloyd_job(src, layout, tables),
             .is_random_init = params_.is_random_init(),
             .labels = wanted ? tables.color_labels : nullptr},
            Kernel::shared_bytes(src.width, src.height, device_.multiprocessors()));
    }

    template <class Sum>
    FinishJob<Sum> finish_job(const KmeansRun &run, const Tables<Sum> &tables, bool captured) {
        FinishJob<Sum> job{.control = tables.control,
                           .occupied = tables.occupied,
                           .outcome = tables.outcome,
                           .sums = tables.sums,
                           .state = state(),
                           .signature = signature(),
                           .warm = warm(),
                           .report_all = on_host(run.centroids) || on_host(run.counts)};
        if (!captured) // that may run at any time
            job.report = reinterpret_cast<Report *>(report_.data());
        const auto data = [](const std::optional<BufferView> &block) {
            return block && block->memory == Memory::cuda ? block->data : nullptr;
        };
        job.centroids = reinterpret_cast<Centroid *>(data(run.centroids));
        job.counts = reinterpret_cast<std::int32_t *>(data(run.counts));
        job.result = reinterpret_cast<KmeansResult *>(data(run.result));
        return job;
    }

    template <class Sum>
    void add_label(const KmeansRun &run, const Source &src, Layout layout,
                   const Tables<Sum> &tables, bool brute_force, bool captured) {
        const FinishJob<Sum> finishing = finish_job(run, tables, captured);
        if (!run.labels && !run.dst)
            return add<Finish<Sum>>(dim3(1), finishing, Finish<Sum>::shared_bytes);
        with_layout(layout, [&]<Layout l> {
            using Kernel = Label<l, Sum>;
            typename Kernel::Job job{.finish = finishing,
                                     .src = src,
                                     .pixel_labels = brute_force ? tables.color_labels : nullptr,
                                     .slab_labels = tables.slab_labels,
                                     .color_labels = tables.color_labels,
                                     .paint = paint_for(run.dst ? *run.dst : run.src)};
            if (run.labels) {
                job.labels = rows_of(run.labels->planes[0]);
                job.aligned_labels = aligned(job.labels, 0, 8);
            }
            if (run.dst) {
                for (int i = 0; i < run.dst->plane_count(); i++)
                    job.dst[i] = rows_of(run.dst->planes[i]);
                job.aligned_dst = aligned(*run.dst);
            }
            const std::int64_t strips =
                std::int64_t{blocks(src.width, strip)} * blocks(src.height, Kernel::rows);
            const std::int64_t grid = 1 + (strips + Kernel::threads - 1) / Kernel::threads;
            add<Kernel>(dim3(static_cast<unsigned>(grid)), job, Kernel::shared_bytes);
        });
        if (run.labels)
            fill_chroma<std::uint8_t>(*run.labels, neutral_chroma8);
    }

    Paint paint_for(const Image &image) const {
        Paint paint{.yuv = image.plane_count() > 1, .lab = lab()};
        if (paint.yuv)
            paint.transform = YuvTransform::of(image);
        return paint;
    }

    KmeansParams params_{};
    std::vector<Centroid> given_;
    Staging labels_staging_;
    Buffer state_, lab_;
    PinnedBuffer report_;
    bool has_lab_table_ = false;
    Pending pending_;                                     ///< in host memory, to be completed
    Image device_src_{}, device_labels_{}, device_dst_{}; ///< of images in host memory
    std::size_t cleared_bytes_ = 0; ///< at the beginning of scratch, 0 between runs
    bool unfinished_ = false;       ///< the last run
};

} // namespace

std::unique_ptr<Kmeans> make_kmeans(std::shared_ptr<Context> context) {
    return std::make_unique<CudaKmeans>(context);
}

} // namespace gpv::cuda
