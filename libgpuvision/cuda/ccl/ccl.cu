// SPDX-License-Identifier: BSD-2-Clause
// Connected-component labelling on CUDA: plans the kernels of ccl/label.cuh,
// ccl/number.cuh and ccl/write.cuh as one launch list.
#include "core/ccl.hpp"

#include <algorithm>

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
    with_value<Runs::pairs, Runs::wide_pairs, Runs::lines, Runs::values>(runs, f);
}

/// Calls f<kernel>() for what a run writes.
template <class Output, Runs kind, class F>
void with_write(bool measured, F f) {
    if (measured)
        f.template operator()<Write<Output, kind, true>>();
    else if constexpr (!std::is_same_v<Output, NoLabels>)
        f.template operator()<Write<Output, kind, false>>();
}

class CudaCcl final : public CudaOperator<CudaCcl, Ccl, CclParams> {
  public:
    explicit CudaCcl(const std::shared_ptr<Context> &context)
        : CudaOperator(context, "ccl"), next_chunk_(context) {
        for (const Runs runs : {Runs::pairs, Runs::wide_pairs, Runs::lines, Runs::values})
            with_runs(runs, [&]<Runs kind> { load_all<kind>(); });
        load<Number, Luma, Fill<std::uint8_t>, Fill<Word>, Fill<std::uint16_t>, Colors>();
        launch_early_ = can_begin_early<Number>();
        next_chunk_.reserve(sizeof(unsigned), nullptr);
    }
    ~CudaCcl() override { finish(); }

    void prepare(const Image &src, const Image *dst, std::int64_t components) override {
        CclRun run{.src = src};
        if (dst)
            run.dst = *dst;
        // What needs most memory first: it is taken once.
        if (components > 0) {
            run.components = CclRecords{.view = {.memory = Memory::host}, .capacity = components};
            plan_ahead(run);
        }
        run.components = CclRecords{.view = {.memory = Memory::cuda}};
        plan_ahead(run);
        run.components.reset();
        plan_ahead(run);
    }

    bool run(Stream stream, const CclRun &run) override {
        return start("gpv_ccl_run", stream, run);
    }

    std::int32_t count() const override { return *count_.get(); }

    void declare(CclRun &run) {
        run.src = luma_plane(run.src);
        input("src", run.src);
        output("dst", run.dst);
        if (run.components && run.components->view.memory == Memory::host)
            run.components->capacity = std::min(
                run.components->capacity, max_components(params_, run.src.width, run.src.height));
        output("components", run.components,
               Items{.bytes = sizeof(Record),
                     .capacity = run.components ? run.components->capacity : 0,
                     .count = count_.get(),
                     .in_scratch = true});
        pointer(run.count);
    }

    void record(const CclRun &run) {
        const bool wide = run.src.format == Format::gray16;
        const Rows luma = wide ? rows_of(run.src.planes[0]) : luma_bytes(run.src);
        with_runs(runs(run.src), [&]<Runs kind> {
            Job job = job_for<kind>(run);
            add_labelling<kind>(job, luma, wide);
            if (run.components || run.dst)
                write<kind>(job, run.dst, run.components.has_value());
        });
    }

  private:
    template <Runs kind>
    static void load_all() {
        load<Label<std::uint8_t, kind>>(Label<std::uint8_t, kind>::shared_bytes(true));
        load<Label<std::uint16_t, kind>>(Label<std::uint16_t, kind>::shared_bytes(true));
        load<MergeSeams<std::uint8_t, kind>, MergeSeams<std::uint16_t, kind>, Gather<kind>>();
        for (const bool measured : {true, false}) {
            const auto load_write = [&]<class Kernel> { load<Kernel>(); };
            with_write<NoLabels, kind>(measured, load_write);
            with_write<Labels32, kind>(measured, load_write);
            with_write<Labels16, kind>(measured, load_write);
            with_write<Labels8, kind>(measured, load_write);
            with_write<Mask8, kind>(measured, load_write);
        }
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
            job.lines = allocate<Line>(tiles * S::rows);
            job.starts = S::equal ? allocate<Line>(tiles * S::rows) : nullptr;
            job.trees = allocate<std::uint16_t>(tiles * S::slots);
        }
        for (unsigned **seam : {&job.top, &job.bottom})
            *seam = allocate<unsigned>(static_cast<std::size_t>(job.tiles_y) * job.row_pitch());
        for (unsigned **seam : {&job.left, &job.right})
            *seam = allocate<unsigned>(static_cast<std::size_t>(job.tiles_x) * job.rows);
        job.border = allocate<std::uint16_t>(tiles * S::border);
        job.border_counts = allocate<int>(tiles);
        job.parent = allocate<unsigned>(words * 32);
        job.area = params_.filters() ? allocate<unsigned>(words * 32) : nullptr;
        job.root_bits = allocate<unsigned>(words);
        job.base = allocate<unsigned>(words);
        job.border_bits = run.components ? allocate<unsigned>(words) : nullptr;
        job.chunk_counts = allocate<unsigned>(tiles);
        job.next_chunk = reinterpret_cast<unsigned *>(next_chunk_.data());
        job.host_count = captured() ? nullptr : count_.get();
        job.count = run.count;
        if (run.components) {
            job.capacity = run.components->capacity;
            job.records = run.components->view.data;
            job.record_stride = static_cast<std::int64_t>(run.components->stride);
        }
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

    template <Runs kind>
    void add_labelling(const Job &job, const Rows &luma, bool wide) {
        wide ? add_tiles<std::uint16_t, kind>(job, luma) : add_tiles<std::uint8_t, kind>(job, luma);
        if (job.area)
            add<Gather<kind>>(dim3(job.tiles()), job);
        add<Number>(dim3(job.chunks()), job);
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
            switch (dst->shape(0).sample_bytes) {
            case 4:
                return add_write<Labels32, kind>(job, measured);
            case 2:
                add_write<Labels16, kind>(job, measured);
                return fill_chroma<std::uint16_t>(*dst, neutral_chroma16);
            default:
                add_write<Labels8, kind>(job, measured);
                return fill_chroma<std::uint8_t>(*dst, neutral_chroma8);
            }
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
        with_write<Output, kind>(measured,
                                 [&]<class Kernel> { add<Kernel>(dim3(job.tiles()), job); });
    }

    void color(const Rows &labels, const Image &dst) {
        const ColorJob job{.labels = labels, .dst = Picture(dst)};
        const Pixels &pixels = job.dst.pixels;
        add<Colors>(dim3(blocks(dst.width, Colors::threads * pixels.site_width()),
                         blocks(dst.height, pixels.site_height())),
                    job);
    }

    Pinned<std::int32_t> count_;
    Buffer next_chunk_; ///< of Number
};

} // namespace

std::unique_ptr<Ccl> make_ccl(std::shared_ptr<Context> context) {
    return std::make_unique<CudaCcl>(context);
}

} // namespace gpv::cuda
