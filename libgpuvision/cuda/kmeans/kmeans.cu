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

class CudaKmeans final : public CudaOperator<CudaKmeans, Kmeans, KmeansParams> {
  public:
    explicit CudaKmeans(const std::shared_ptr<Context> &context)
        : CudaOperator(context, "kmeans"), state_(context), lab_(context) {
        for (const Layout layout :
             {Layout::gray, Layout::rgb, Layout::rgbx, Layout::nv12, Layout::i420})
            with_layout(layout, [&]<Layout l> {
                load<Histogram<l>>(
                    Histogram<l>::shared_bytes(Histogram<l>::places_in(device_.shared_bytes())));
                load<Label<l, unsigned>, Label<l, Wide>>();
            });
        load<Seed, ToRgba, FromRgba, Fill<std::uint8_t>, Fill<Word>>();
        load<LloydOfPixels<GPV_KMEANS_METRIC_L2>, LloydOfPixels<GPV_KMEANS_METRIC_L1>>(
            device_.shared_bytes());
        load_sums<unsigned>();
        load_sums<Wide>();
        launch_early_ = can_begin_early<Collect<unsigned>>();
        state_.reserve(sizeof(State), nullptr);
    }
    ~CudaKmeans() override { finish(); }

    void accept(const KmeansParams &params) override {
        if (params.color_space == GPV_KMEANS_COLOR_SPACE_LAB && !has_lab_table_)
            upload_lab();
    }

    void set_centroids(std::vector<Centroid> centroids) override {
        given_ = std::move(centroids);
        forget_plans();
    }

    void prepare(const Image &src, const Image *labels, const Image *dst) override {
        const BufferView table{.memory = Memory::host};
        KmeansRun run{.src = src, .centroids = table, .counts = table};
        if (labels)
            run.labels = *labels;
        if (dst)
            run.dst = *dst;
        plan_ahead(run);
    }

    bool run(Stream stream, const KmeansRun &run) override {
        const bool enqueued = start("gpv_kmeans_run", stream, run);
        unfinished_ = unfinished_ && !enqueued;
        return enqueued;
    }

    KmeansResult result() const override { return *report_.get(); }

    void declare(KmeansRun &run) {
        input("src", run.src);
        output("labels", run.labels);
        output("dst", run.dst);
        const auto per_cluster = [this](std::size_t bytes) {
            return Items{
                .bytes = bytes, .capacity = max_kmeans_clusters, .count = &report_->clusters};
        };
        output("centroids", run.centroids, per_cluster(sizeof(Centroid)));
        output("counts", run.counts, per_cluster(sizeof(std::int32_t)));
        pointer(run.result);
    }

    void record(const KmeansRun &run) {
        const std::int64_t pixels = std::int64_t{run.src.width} * run.src.height;
        pixels <= max_narrow_pixels ? record_with<unsigned>(run) : record_with<Wide>(run);
    }

  private:
    template <class Sum>
    void load_sums() const {
        load<Collect<Sum>, Finish<Sum>>();
        load<LloydOfCells<GPV_KMEANS_METRIC_L2, Sum>, LloydOfCells<GPV_KMEANS_METRIC_L1, Sum>>(
            device_.shared_bytes());
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

    /// If a run has been cut off, what is 0 between runs may be not.
    void begin(cudaStream_t stream) override {
        if (unfinished_)
            GPV_CUDA(runtime.memset_async(scratch_.data(), 0, cleared_bytes_, stream));
        unfinished_ = unfinished_ || !captured();
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

    template <class Sum>
    void record_with(const KmeansRun &run) {
        const Tables<Sum> tables = allocate_tables<Sum>(run.src);
        if (!has_layout(run.src.format))
            return record_as_rgba(run, tables);
        record_steps(run, tables);
    }

    /// The pictures become RGBA in front of the first step, and what they are behind the last one.
    template <class Sum>
    void record_as_rgba(const KmeansRun &run, const Tables<Sum> &tables) {
        KmeansRun rgba = run;
        rgba.src = rgba_of(run.src);
        if (run.dst)
            rgba.dst = rgba.src;
        record_steps(rgba, tables);
        if (!run.dst)
            return;
        const PictureJob job = picture_job(*run.dst, rows_of(rgba.dst->planes[0]));
        const Pixels &pixels = job.picture.pixels;
        add<FromRgba>(dim3(blocks(job.length, FromRgba::threads * pixels.site_width()),
                           blocks(job.rows, pixels.site_height())),
                      job);
    }

    template <class Sum>
    void record_steps(const KmeansRun &run, const Tables<Sum> &tables) {
        const Layout layout = layout_of(run.src);
        const Source src{colors_of(run.src), lab()};
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
                               .unless = unless});
        }
        if (params_.is_random_init())
            add_seed(tables);
        constexpr auto l2 = GPV_KMEANS_METRIC_L2, l1 = GPV_KMEANS_METRIC_L1;
        with_value<l2, l1>(params_.metric, [&]<gpv_kmeans_metric m> {
            if constexpr (std::is_same_v<Sum, unsigned>)
                if (brute_force)
                    return add_lloyd_of_pixels<m>(src, layout, tables, run.labels || run.dst);
            add_lloyd<m>(src, layout, tables);
        });
        add_label(run, src, layout, tables, brute_force);
    }

    /// What is 0 between runs lies at the beginning, at the same place for every kind of run.
    template <class Sum>
    Tables<Sum> allocate_tables(const Image &src) {
        Tables<Sum> t;
        t.counters = allocate<unsigned>(std::size_t{cell_count} * cell_colors);
        t.occupied = allocate<unsigned>(cell_count / 32);
        t.control = allocate<Control>(1);
        t.sums = reinterpret_cast<Sum *>(allocate<Wide>(phases * 4 * max_kmeans_clusters));
        cleared_bytes_ = mark();
        t.color_labels = allocate<std::uint8_t>(std::size_t{cell_count} * cell_colors);
        t.slab_labels = allocate<std::uint8_t>(slab_count);
        t.cells = allocate<Cell>(cell_count);
        for (int i = 0; i < 2; i++) {
            t.weights.of_blocks[i] = allocate<Wide>(Seed::max_blocks);
            t.weights.of_cells[i] = allocate<Wide>(cell_count);
        }
        t.weights.farthest = allocate<unsigned>(cell_count);
        t.seeds = allocate<Centroid>(max_kmeans_clusters);
        t.outcome = allocate<Outcome<Sum>>(1);
        const std::size_t colors = std::min<std::size_t>(std::size_t{cell_count} * cell_colors,
                                                         std::size_t(src.width) * src.height);
        t.colors.keys = allocate<unsigned>(colors);
        t.colors.counts = allocate<unsigned>(colors);
        t.colors.distances = allocate<unsigned>(colors);
        const std::size_t tasks = std::min<std::size_t>(colors, slab_count);
        t.tasks = allocate<Task<Sum>>(tasks);
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

    const LabTable *lab() const {
        return params_.color_space == GPV_KMEANS_COLOR_SPACE_LAB
                   ? reinterpret_cast<const LabTable *>(lab_.data())
                   : nullptr;
    }

    template <Layout layout, class Sum>
    void add_histogram(const Source &src, const Tables<Sum> &tables, const WarmStart &unless) {
        using Kernel = Histogram<layout>;
        const unsigned maximum = device_.multiprocessors() * Kernel::min_blocks;
        const unsigned places = Kernel::places_in(device_.shared_bytes());
        add<Kernel>(dim3(std::min(maximum, blocks(Kernel::strips_of(src.width, src.height),
                                                  Kernel::threads))),
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
                               .seeds = tables.seeds});
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
    FinishJob<Sum> finish_job(const KmeansRun &run, const Tables<Sum> &tables) {
        return {.control = tables.control,
                .occupied = tables.occupied,
                .outcome = tables.outcome,
                .sums = tables.sums,
                .state = state(),
                .signature = signature(),
                .warm = warm(),
                .report = captured() ? nullptr : report_.get(),
                .centroids = data_of<Centroid>(run.centroids),
                .counts = data_of<std::int32_t>(run.counts),
                .result = data_of<KmeansResult>(run.result)};
    }

    template <class Sum>
    void add_label(const KmeansRun &run, const Source &src, Layout layout,
                   const Tables<Sum> &tables, bool brute_force) {
        const FinishJob<Sum> finishing = finish_job(run, tables);
        if (!run.labels && !run.dst)
            return add<Finish<Sum>>(dim3(1), finishing);
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
                list_rows(*run.dst, job.dst);
                job.aligned_dst = aligned(*run.dst);
            }
            const std::int64_t strips =
                std::int64_t{blocks(src.width, strip)} * blocks(src.height, Kernel::rows);
            add<Kernel>(dim3(1 + blocks(strips, Kernel::threads)), job);
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

    std::vector<Centroid> given_;
    Buffer state_, lab_;
    Pinned<KmeansResult> report_;
    bool has_lab_table_ = false;
    std::size_t cleared_bytes_ = 0; ///< at the beginning of scratch, 0 between runs
    bool unfinished_ = false;       ///< the last run
};

} // namespace

std::unique_ptr<Kmeans> make_kmeans(std::shared_ptr<Context> context) {
    return std::make_unique<CudaKmeans>(context);
}

} // namespace gpv::cuda
