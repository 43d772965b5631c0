// SPDX-License-Identifier: BSD-2-Clause
// Alpha expansion on CUDA: plans the kernels of this folder, and a cut for each move, as one launch
// list. Once no move can change anything any more, the others do nothing, as the device knows: the
// host does not wait.
#include "core/expansion.hpp"

#include "cuda/expansion/moves.cuh"
#include "cuda/graphcut/cutter.cuh"
#include "cuda/run/operator.cuh"

namespace gpv::cuda {
namespace {

using namespace expansion;

class CudaExpansion final : public CudaOperator<CudaExpansion, Expansion, gpv_expansion_params> {
  public:
    explicit CudaExpansion(const std::shared_ptr<Context> &context)
        : CudaOperator(context, "expansion"), cutter_(context) {
        load<Clear, Start<2>, Start<4>, Build<2>, Build<4>, Finish, Measure<2>, Measure<4>,
             Report>();
    }
    ~CudaExpansion() override { finish(); }

    void prepare(const Image &links, int count) override {
        ExpansionRun run{.costs = {}, .count = count, .links = links, .labels = links};
        for (int i = 0; i < count; i++)
            run.costs[i] = plane_image(links, Format::label32, nullptr, 0);
        run.labels.format = Format::gray8;
        plan_ahead(run);
    }

    bool run(Stream stream, const ExpansionRun &run) override {
        return start("gpv_expansion_run", stream, run);
    }

    ExpansionResult result() const override { return report_.get()->found; }
    GraphcutFault fault() const override {
        return result().refused ? report_.get()->fault : GraphcutFault{};
    }

    void fail(cudaStream_t stream) noexcept override { cutter_.forget(stream); }

    void declare(ExpansionRun &run) {
        value(run.count);
        value(run.links.format);
        for (int i = 0; i < run.count; i++)
            input("costs", run.costs[i]);
        for (int i = 0; i < link_count(run.links.format) / 2; i++) {
            Image half = run.links;
            half.format = Format::label32;
            half.planes[0] = run.links.planes[i];
            input("links", half);
            run.links.planes[i] = half.planes[0];
        }
        output("labels", run.labels, &report_.get()->found.refused);
        pointer(run.result);
    }

    void record(const ExpansionRun &run) {
        if (link_count(run.links.format) == 4)
            add_all<2>(run);
        else
            add_all<4>(run);
    }

  private:
    template <int pairs>
    void add_all(const ExpansionRun &run) {
        GraphcutRun cut{};
        Job job = job_for(run, cut);
        add<Clear>(dim3(1), job);
        add_pixels<Start<pairs>>(job);
        add_measure<pairs>(job, 0);
        const std::size_t here = mark();
        for (job.move = 0; job.move < params_.cycles * run.count; job.move++) {
            add_pixels<Build<pairs>>(job);
            cut.idle = &job.control->progress[job.move].is_over;
            cut.result = &job.control->cuts[job.move];
            cutter_.add(*this, {}, cut, false);
            rewind(here); // cuts are one after the other
        }
        add_pixels<Finish>(job);
        add_measure<pairs>(job, 1);
        add<Report>(dim3(1), job);
    }

    template <class Kernel>
    void add_pixels(const Job &job) {
        add<Kernel>(dim3(blocks(job.width, Kernel::threads), job.height), job);
    }
    template <int pairs>
    void add_measure(Job job, int which) {
        job.measured = which;
        add<Measure<pairs>>(
            dim3(blocks(job.width, threads_of_row), blocks(job.height, rows_to_measure)), job);
    }

    /// Leaves the images of a move's graph in cut.
    Job job_for(const ExpansionRun &run, GraphcutRun &cut) {
        const int directions = link_count(run.links.format);
        Job job{};
        job.width = run.links.width;
        job.height = run.links.height;
        job.count = run.count;
        for (int i = 0; i < run.count; i++)
            job.costs[i] = rows_of(run.costs[i].planes[0]);
        for (int i = 0; i < directions / 2; i++)
            job.links[i] = rows_of(run.links.planes[i]);
        job.out = rows_of(run.labels.planes[0]);
        cut.terminals = cut.links = cut.mask = run.links;
        cut.terminals.format = Format::label32;
        cut.mask.format = Format::gray8;
        cut.terminals = place(cut.terminals);
        cut.links = place(cut.links);
        job.labels = rows_of(place(cut.mask).planes[0]);
        cut.mask = place(cut.mask);
        job.terminals = rows_of(cut.terminals.planes[0]);
        list_rows(cut.links, job.arcs);
        job.mask = rows_of(cut.mask.planes[0]);
        job.control = allocate<Control>(1);
        job.report = captured() ? nullptr : report_.get();
        job.result = run.result;
        return job;
    }

    Pinned<ExpansionReport> report_;
    Cutter cutter_;
};

} // namespace

std::unique_ptr<Expansion> make_expansion(std::shared_ptr<Context> context) {
    return std::make_unique<CudaExpansion>(context);
}

} // namespace gpv::cuda
