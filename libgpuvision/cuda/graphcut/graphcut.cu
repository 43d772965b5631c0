// SPDX-License-Identifier: BSD-2-Clause
// Minimum cuts on CUDA: plans Solve and, where it is asked for, Certify as one launch list.
#include "core/graphcut.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "cuda/graphcut/cutter.cuh"
#include "cuda/graphcut/solve.cuh"
#include "cuda/run/operator.cuh"

namespace gpv::cuda {
namespace {

using namespace graphcut;

/// Calls f<number of directions>().
template <class F>
void with_directions(Format format, F f) {
    with_value<4, 8>(link_count(format), f);
}

/// Calls f<held>().
template <class F>
void with_held(int held, F f) {
    with_value<1, 3, 7, 0>(held, f);
}

/// Whether there are warps enough, and so much shared memory is enough.
template <int d>
bool can_hold(const RegionShape &shape, std::size_t bytes) {
    RegionMemory memory(nullptr, bytes, nullptr);
    Region(shape, d, memory);
    return shape.warps() <= block_warps && memory.spilled() == 0;
}

/// Regions of which there are no more than maximum, such that no quarter of a multiprocessor,
/// which has every fourth warp, searches more tiles than need be; of those the smallest, and
/// squares.
template <int d>
RegionShape region_shape(const Job &job, int maximum) {
    RegionShape best{};
    std::array<int, 3> minimum{};
    for (const int held : held_tiles) {
        if (held == 0 && best.width)
            break;
        for (int width = 1; width <= job.tiles_x; width++) {
            const int across = static_cast<int>(blocks(job.tiles_x, width));
            if (across > maximum)
                continue;
            const int height = static_cast<int>(blocks(job.tiles_y, maximum / across));
            const RegionShape shape{width, height, held};
            if (held && !can_hold<d>(shape, job.region_bytes))
                continue;
            const int searched =
                held ? held * static_cast<int>(blocks(shape.warps(), 4)) : shape.searched();
            const std::array cost = {searched, shape.owned(), std::abs(width - height)};
            if (best.width && cost >= minimum)
                continue;
            best = shape;
            minimum = cost;
        }
    }
    return best;
}

template <int d>
void allocate_state(Recorder &run, Job &job) {
    const auto tiles = static_cast<std::size_t>(job.tiles());
    job.capacities = run.allocate<int>(tiles * d * tile_pixels);
    job.excess = run.allocate<int>(tiles * tile_pixels);
    job.heights = run.allocate<int>(tiles * tile_pixels);
    job.arcs = run.allocate<Word>(tiles * d * side);
    job.sinks = run.allocate<Word>(tiles * side);
    job.active = run.allocate<Word>(tiles * side);
    job.seams = run.allocate<Word>(2 * tiles * 2 * side);
    job.inbox = run.allocate<int>(2 * tiles * d * inbox_places);
    job.stamp = run.allocate<unsigned>(tiles);
    for (int *&list : job.list)
        list = run.allocate<int>(tiles);
}

template <int d>
void add_kernels(Recorder &run, Job job) {
    const int multiprocessors = run.device_.multiprocessors();
    job.tiles_x = static_cast<int>(blocks(job.width, side));
    job.tiles_y = static_cast<int>(blocks(job.height, side));
    job.region_bytes = std::min(run.device_.shared_bytes(), max_region_bytes);
    const RegionShape shape = region_shape<d>(job, multiprocessors);
    job.region_width = shape.width;
    job.region_height = shape.height;
    job.regions_x = static_cast<int>(blocks(job.tiles_x, shape.width));
    job.regions = job.regions_x * static_cast<int>(blocks(job.tiles_y, shape.height));
    allocate_state<d>(run, job);
    with_held(shape.held, [&]<int held> {
        using Kernel = Solve<d, held>;
        RegionMemory memory(nullptr, job.region_bytes, nullptr);
        Region(shape, d, memory);
        job.spill_bytes = memory.spilled();
        job.spill = run.allocate<std::byte>(job.spill_bytes * multiprocessors);
        run.add_cooperative<Kernel>(dim3(multiprocessors), job,
                                    std::max(memory.used(), Kernel::push_bytes));
    });
    if (job.certificate)
        run.add<Certify<d>>(dim3(blocks(job.width, Certify<d>::threads),
                                 blocks(job.height, Certify<d>::rows_of_block)),
                            job);
}

class CudaGraphcut final : public CudaOperator<CudaGraphcut, Graphcut, gpv_graphcut_params> {
  public:
    explicit CudaGraphcut(const std::shared_ptr<Context> &context)
        : CudaOperator(context, "graphcut"), cutter_(context) {}
    ~CudaGraphcut() override { finish(); }

    void prepare(const Image &links) override {
        Image terminals = links, mask = links;
        terminals.format = Format::label32;
        mask.format = Format::gray8;
        plan_ahead(GraphcutRun{.terminals = terminals, .links = links, .mask = mask});
    }

    bool run(Stream stream, const GraphcutRun &run) override {
        return start("gpv_graphcut_run", stream, run);
    }

    GraphcutResult result() const override { return cutter_.report().found; }
    GraphcutFault fault() const override {
        return result().refused ? cutter_.report().fault : GraphcutFault{};
    }

    void fail(cudaStream_t stream) noexcept override { cutter_.forget(stream); }

    void declare(GraphcutRun &run) {
        input("terminals", run.terminals);
        input("links", run.links);
        output("mask", run.mask, &cutter_.report().found.refused);
        pointer(run.result);
    }

    void record(GraphcutRun run) {
        if (params_.reuse)
            run.reuse = run.next = Reuse::by_choice;
        cutter_.add(*this, params_, run, true);
    }

  private:
    Cutter cutter_;
};

} // namespace

Cutter::Cutter(const std::shared_ptr<Context> &context) : control_(context) {
    const std::size_t shared = static_cast<CudaDevice &>(context->device()).shared_bytes();
    for (const Format format : {Format::cap32x4, Format::cap32x8})
        with_directions(format, [&]<int d> {
            for (const int held : held_tiles)
                with_held(held, [&]<int h> { load<Solve<d, h>>(shared); });
            load<Certify<d>>();
        });
    control_.reserve(sizeof(Control), nullptr);
}

void Cutter::add(Recorder &run, const gpv_graphcut_params &params, const GraphcutRun &cut,
                 bool reports) const {
    Job job{.width = cut.links.width, .height = cut.links.height};
    job.max_time_ns = params.max_time_us * 1000LL;
    job.certificate = params.certificate;
    job.reuse = cut.reuse;
    job.next = cut.next;
    job.terminals = rows_of(cut.terminals.planes[0]);
    list_rows(cut.links, job.links);
    job.mask = rows_of(cut.mask.planes[0]);
    job.control = reinterpret_cast<Control *>(control_.data());
    job.result = cut.result;
    job.idle = cut.idle;
    job.report = reports && !run.captured() ? report_.get() : nullptr;
    with_directions(cut.links.format, [&]<int d> { add_kernels<d>(run, job); });
}

const std::uint32_t *Cutter::refused() const {
    return &reinterpret_cast<const Control *>(control_.data())->found.refused;
}

void Cutter::forget(cudaStream_t stream) noexcept {
    if (runtime.memset_async(control_.data(), 0, sizeof(Control), stream) != cudaSuccess)
        cudaGetLastError(); // then no other run works either
}

std::unique_ptr<Graphcut> make_graphcut(std::shared_ptr<Context> context) {
    return std::make_unique<CudaGraphcut>(context);
}

} // namespace gpv::cuda
