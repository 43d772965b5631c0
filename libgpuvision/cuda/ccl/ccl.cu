// SPDX-License-Identifier: BSD-2-Clause
// Connected-component labelling on CUDA: plans the kernels of ccl/label.cuh,
// ccl/number.cuh and ccl/write.cuh as one launch list.
#include "core/ccl.hpp"

#include <algorithm>
#include <cstring>

#include "cuda/ccl/label.cuh"
#include "cuda/ccl/number.cuh"
#include "cuda/ccl/write.cuh"
#include "cuda/run/operator.cuh"

namespace gpv::cuda {
namespace {

using namespace ccl;

/// Calls f<kind>().
template <class F>
void with_runs(Runs runs, F f) {
    switch (runs) {
    case Runs::pairs:
        return f.template operator()<Runs::pairs>();
    case Runs::wide_pairs:
        return f.template operator()<Runs::wide_pairs>();
    case Runs::lines:
        return f.template operator()<Runs::lines>();
    default:
        return f.template operator()<Runs::values>();
    }
}

/// Calls f<kernel>() for what a run writes.
template <class Output, Runs kind, class F>
void with_write(bool measured, F f) {
    if (measured)
        f.template operator()<Write<Output, kind, true>>();
    else if constexpr (!std::is_same_v<Output, NoLabels>)
        f.template operator()<Write<Output, kind, false>>();
}

class CudaCcl final : public CudaOperator<Ccl>, private Delivery {
  public:
    explicit CudaCcl(const std::shared_ptr<Context> &context)
        : CudaOperator(context), next_chunk_(context) {
        for (const Runs runs : {Runs::pairs, Runs::wide_pairs, Runs::lines, Runs::values})
            with_runs(runs, [&]<Runs kind> { load_all<kind>(); });
        load<Number>(Number::shared_bytes);
        load<Luma>();
        load<Fill<std::uint8_t>>();
        load<Fill<std::uint16_t>>();
        load<Colors<true>>();
        load<Colors<false>>();
        launch_early_ = can_begin_early<Number>();
        next_chunk_.reserve(sizeof(unsigned), nullptr);
        count_.reserve(sizeof(std::int32_t));
        std::memset(count_.data(), 0, sizeof(std::int32_t));
        device_.add(this);
    }

    ~CudaCcl() override {
        device_.remove(this);
        finish();
    }

    void set_params(const CclParams &params) override { params_ = params; }

    void prepare(const Image &src, const Image *dst, std::int64_t components) override {
        end_last_run();
        CclRun run{.src = src};
        if (dst)
            run.dst = *dst;
        // What needs most memory first: it is taken once.
        if (components > 0) {
            run.components = CclRecords{.view = {.memory = Memory::host}, .capacity = components};
            prepare(run);
        }
        run.components = CclRecords{.view = {.memory = Memory::cuda}};
        prepare(run);
        run.components.reset();
        prepare(run);
    }

    bool run(Stream stream, const CclRun &run) override {
        return start(
            "gpv_ccl_run", stream, [&](cudaStream_t s) { run_captured(s, run); },
            [&](cudaStream_t s) { enqueue(s, run); });
    }

    std::int32_t count() const override {
        return *reinterpret_cast<const volatile std::int32_t *>(count_.data());
    }

  private:
    template <Runs kind>
    static void load_all() {
        load<Label<std::uint8_t, kind>>(Label<std::uint8_t, kind>::shared_bytes(true));
        load<Label<std::uint16_t, kind>>(Label<std::uint16_t, kind>::shared_bytes(true));
        load<MergeSeams<std::uint8_t, kind>>();
        load<MergeSeams<std::uint16_t, kind>>();
        load<Gather<kind>>();
        for (const bool measured : {true, false}) {
            const auto load_write = [&]<class Kernel> { load<Kernel>(Kernel::shared_bytes); };
            with_write<NoLabels, kind>(measured, load_write);
            with_write<Labels32, kind>(measured, load_write);
            with_write<Labels16, kind>(measured, load_write);
            with_write<Mask8, kind>(measured, load_write);
        }
    }

    void prepare(const CclRun &run) {
        plan(nullptr, [&] { record_plan(run); });
        reserve_host(run);
        graphs_.prepare(launches_);
    }

    void deliver_if_finished() override {
        if (completion_.finished())
            deliver_records();
    }

    void deliver() override {
        CudaOperator::deliver();
        deliver_records();
    }
    void forget() override {
        CudaOperator::forget();
        pending_records_.reset();
    }

    void deliver_records() {
        if (!pending_records_)
            return;
        const auto *from = reinterpret_cast<const Record *>(records_.data() + records_at);
        const auto found = *reinterpret_cast<const std::int32_t *>(records_.data());
        const std::int64_t n = std::min<std::int64_t>(pending_records_->capacity, found);
        for (std::int64_t i = 0; i < n; i++)
            (*pending_records_)[i] = from[i];
        pending_records_.reset();
    }

    static bool to_host(const CclRun &run) {
        return run.components && run.components->view.memory == Memory::host;
    }

    void run_captured(cudaStream_t stream, const CclRun &run) {
        if (run.src.memory == Memory::host)
            refuse_capture("src->memory is GPV_MEMORY_HOST; only runs on device images can be "
                           "captured");
        if (to_host(run))
            refuse_capture("components->memory is GPV_MEMORY_HOST; it has to be GPV_MEMORY_CUDA");
        if (planned_bytes([&] { record_plan(run, true); }) > scratch_.size())
            refuse_capture("this run needs memory; call gpv_ccl_prepare() first");
        launches_.launch(stream);
    }

    void enqueue(cudaStream_t stream, const CclRun &run) {
        const bool from_host = run.src.memory == Memory::host;
        if (from_host || to_host(run))
            end_last_run(); // it uses the staging memory
        completion_.follow(stream);
        plan(stream, [&] { record_plan(run); });
        reserve_host(run);
        if (from_host)
            staging_.upload(luma_plane(run.src), device_src_, stream);
        graphs_.launch(launches_, stream);
        if (to_host(run))
            GPV_CUDA(runtime.memcpy_async(records_.data(), device_records_, record_bytes(run),
                                          cudaMemcpyDeviceToHost, stream));
        if (from_host && run.dst)
            staging_.download(device_dst_, stream);
        completion_.record(stream);
        if (from_host && run.dst)
            staging_.expect(device_dst_, *run.dst);
        if (to_host(run))
            pending_records_ = run.components;
    }

    void reserve_host(const CclRun &run) {
        if (run.src.memory == Memory::host) {
            staging_.reserve_upload(luma_plane(run.src));
            if (run.dst)
                staging_.reserve_download(*run.dst);
        }
        if (to_host(run))
            records_.reserve(record_bytes(run));
    }

    /// Of records of our own for a run.
    std::int64_t record_capacity(const CclRun &run) const {
        return std::min(run.components->capacity,
                        max_components(params_, run.src.width, run.src.height));
    }

    /// They follow their count.
    std::size_t record_bytes(const CclRun &run) const {
        return records_at + record_capacity(run) * sizeof(Record);
    }
    static constexpr std::size_t records_at = sizeof(std::int64_t);

    // ---- planning -------------------------------------------------------------------

    void record_plan(const CclRun &run, bool captured = false) {
        Image src = luma_plane(run.src);
        std::optional<Image> dst = run.dst;
        if (src.memory == Memory::host) {
            src = device_src_ = place(src);
            if (dst)
                dst = device_dst_ = place(*dst);
        }
        const Rows luma = luma_of(src);
        with_runs(runs(run.src), [&]<Runs kind> {
            Job job = job_for<kind>(run);
            if (captured) // it may run at any time
                job.host_count = nullptr;
            add_labelling<kind>(job, luma, src.format == Format::gray16);
            if (run.components || dst)
                write<kind>(job, dst, run.components.has_value());
        });
    }

    Runs runs(const Image &src) const {
        if (params_.mode == GPV_CCL_MODE_EQUAL_VALUE)
            return Runs::values;
        if (params_.connectivity == 4)
            return Runs::lines;
        return std::int64_t{src.width} * src.height < large_image ? Runs::pairs : Runs::wide_pairs;
    }

    template <Runs kind>
    Job job_for(const CclRun &run) {
        using S = Shape<kind>;
        Job job{.width = run.src.width, .height = run.src.height};
        job.tiles_x = static_cast<int>(blocks(job.width, columns));
        job.tiles_y = static_cast<int>(blocks(job.height, S::rows));
        job.rows = job.tiles_y * S::rows;
        job.row_words = job.tiles_x * S::words_of_line;
        job.eight = params_.connectivity == 8;
        set_foreground(job, run.src.format == Format::gray16);

        const auto tiles = static_cast<std::size_t>(job.tiles());
        const std::size_t words = job.words();
        if (run.dst || run.components) {
            job.lines = arena_.allocate<Line>(tiles * S::rows);
            job.starts = S::equal ? arena_.allocate<Line>(tiles * S::rows) : nullptr;
            job.trees = arena_.allocate<std::uint16_t>(tiles * S::slots);
        }
        for (unsigned **seam : {&job.top, &job.bottom})
            *seam =
                arena_.allocate<unsigned>(static_cast<std::size_t>(job.tiles_y) * job.row_pitch());
        for (unsigned **seam : {&job.left, &job.right})
            *seam = arena_.allocate<unsigned>(static_cast<std::size_t>(job.tiles_x) * job.rows);
        job.border = arena_.allocate<std::uint16_t>(tiles * S::border);
        job.border_counts = arena_.allocate<int>(tiles);
        job.parent = arena_.allocate<unsigned>(words * 32);
        job.area = params_.filters() ? arena_.allocate<unsigned>(words * 32) : nullptr;
        job.root_bits = arena_.allocate<unsigned>(words);
        job.base = arena_.allocate<unsigned>(words);
        job.border_bits = run.components ? arena_.allocate<unsigned>(words) : nullptr;
        job.chunk_counts = arena_.allocate<unsigned>(tiles);
        job.next_chunk = reinterpret_cast<unsigned *>(next_chunk_.data());
        job.host_count = reinterpret_cast<std::int32_t *>(count_.data());
        job.count = run.count;
        set_records(job, run);
        return job;
    }

    void set_foreground(Job &job, bool wide) const {
        const ForegroundRule rule(params_);
        const bool all = rule.threshold == 0; // else not: luma >= more than there is
        job.flip = static_cast<Word>(rule.flip) * (wide ? 0x00010001u : 0x01010101u);
        job.addend = all ? 0 : (256u - rule.threshold) % 256 * 0x01010101u;
        job.threshold = all ? max_luma16 + 1 : rule.threshold;
        job.invert = rule.invert != all ? 0xffff : 0;
        job.min_area = params_.min_area;
        job.max_area = params_.max_area;
    }

    void set_records(Job &job, const CclRun &run) {
        if (to_host(run)) {
            job.capacity = record_capacity(run);
            device_records_ = arena_.allocate<std::byte>(record_bytes(run));
            job.record_count = reinterpret_cast<std::int32_t *>(device_records_);
            job.records = element(device_records_, records_at);
            job.record_stride = sizeof(Record);
        } else if (run.components) {
            job.capacity = run.components->capacity;
            job.records = run.components->view.data;
            job.record_stride = static_cast<std::int64_t>(run.components->stride);
        }
    }

    template <Runs kind>
    void add_labelling(const Job &job, const Rows &luma, bool wide) {
        wide ? add_tiles<std::uint16_t, kind>(job, luma) : add_tiles<std::uint8_t, kind>(job, luma);
        if (job.area)
            add<Gather<kind>>(dim3(job.tiles()), job);
        add<Number>(dim3(job.chunks()), job, Number::shared_bytes);
    }
    template <class T, Runs kind>
    void add_tiles(const Job &job, const Rows &luma) {
        // None but these read the source: a kernel whose job stays the same from frame to frame
        // need not be updated in the graph.
        Job reads = job;
        reads.src = luma;
        add<Label<T, kind>>(dim3(job.tiles()), reads, Label<T, kind>::shared_bytes(job.area));
        add<MergeSeams<T, kind>>(dim3(job.tiles()), Shape<kind>::equal ? reads : job);
    }

    template <Runs kind>
    void write(Job &job, const std::optional<Image> &dst, bool measured) {
        if (!dst)
            return add_write<NoLabels, kind>(job, measured);
        job.dst = rows_of(dst->planes[0]);
        switch (params_.output) {
        case GPV_CCL_OUTPUT_LABELS:
            if (dst->format == Format::label32)
                return add_write<Labels32, kind>(job, measured);
            add_write<Labels16, kind>(job, measured);
            return fill_chroma<std::uint16_t>(*dst, neutral_chroma16);
        case GPV_CCL_OUTPUT_MASK:
            add_write<Mask8, kind>(job, measured);
            return fill_chroma<std::uint8_t>(*dst, neutral_chroma8);
        default:
            job.dst = scratch_rows(job.height, job.width * sizeof(std::int32_t));
            add_write<Labels32, kind>(job, measured);
            return color(job.dst, *dst);
        }
    }

    template <class Output, Runs kind>
    void add_write(const Job &job, bool measured) {
        with_write<Output, kind>(measured, [&]<class Kernel> {
            add<Kernel>(dim3(job.tiles()), job, Kernel::shared_bytes);
        });
    }

    void color(const Rows &labels, const Image &dst) {
        ColorJob job{.labels = labels, .width = dst.width, .height = dst.height};
        for (int i = 0; i < dst.plane_count(); i++)
            job.planes[i] = rows_of(dst.planes[i]);
        job.channels = dst.shape(0).channels;
        job.red = blue_first(dst.format) ? 2 : 0;
        job.transform = YuvTransform::of(dst);
        const auto add_kernel = [&]<class Kernel> {
            add<Kernel>(dim3(blocks(dst.width, Kernel::threads * Kernel::side),
                             blocks(dst.height, Kernel::side)),
                        job);
        };
        if (dst.plane_count() == 1)
            return add_kernel.template operator()<Colors<false>>();
        job.chroma_channels = dst.shape(1).channels;
        add_kernel.template operator()<Colors<true>>();
    }

    CclParams params_{};
    PinnedBuffer count_, records_;
    std::optional<CclRecords> pending_records_; ///< in host memory, to be completed
    std::byte *device_records_ = nullptr;       ///< of components in host memory
    Image device_src_{}, device_dst_{};         ///< of images in host memory
    Buffer next_chunk_;                         ///< of Number
};

} // namespace

std::unique_ptr<Ccl> make_ccl(std::shared_ptr<Context> context) {
    return std::make_unique<CudaCcl>(context);
}

} // namespace gpv::cuda
