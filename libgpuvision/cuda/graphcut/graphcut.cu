// SPDX-License-Identifier: BSD-2-Clause
// Minimum cuts on CUDA: plans Solve and, where it is asked for, Certify as one launch list.
#include "core/graphcut.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "cuda/graphcut/solve.cuh"
#include "cuda/run/operator.cuh"

namespace gpv::cuda {
namespace {

using namespace graphcut;

/// Calls f<number of directions>().
template <class F>
auto with_directions(Format format, F f) {
    return link_count(format) == 4 ? f.template operator()<4>() : f.template operator()<8>();
}

/// Calls f<held>().
template <class F>
auto with_held(int held, F f) {
    switch (held) {
    case 1:
        return f.template operator()<1>();
    case 3:
        return f.template operator()<3>();
    case 7:
        return f.template operator()<7>();
    default:
        return f.template operator()<0>();
    }
}

class CudaGraphcut final : public CudaOperator<Graphcut> {
  public:
    explicit CudaGraphcut(const std::shared_ptr<Context> &context)
        : CudaOperator(context), links_staging_(device_), control_(context) {
        for (const Format format : {Format::cap32x4, Format::cap32x8})
            with_directions(format, [&]<int d> {
                for (const int held : held_tiles)
                    with_held(held, [&]<int h> { load<Solve<d, h>>(device_.shared_bytes()); });
                load<Certify<d>>();
            });
        control_.reserve(sizeof(Control), nullptr);
        reports_.reserve(2 * sizeof(Report));
        std::memset(reports_.data(), 0, 2 * sizeof(Report));
    }
    ~CudaGraphcut() override { finish(); }

    void set_params(const gpv_graphcut_params &params) override { params_ = params; }

    void prepare(const Image &links, Stream stream) override {
        end_last_run();
        Image terminals = links, mask = links;
        terminals.format = Format::label32;
        mask.format = Format::gray8;
        const GraphcutRun run{.terminals = terminals, .links = links, .mask = mask};
        plan(stream, [&] { record_plan(run); });
        reserve_host(run);
        graphs_.prepare(launches_);
    }

    bool run(Stream stream, const GraphcutRun &run) override {
        return start(
            "gpv_graphcut_run", stream, [&](cudaStream_t s) { run_captured(s, run); },
            [&](cudaStream_t s) { enqueue(s, run); });
    }

    GraphcutResult result() const override { return report(last_from_host_).found; }
    GraphcutFault fault() const override {
        return result().refused ? report(last_from_host_).fault : GraphcutFault{};
    }

  private:
    /// Runs on host images have their own: it says whether the mask is to be delivered, which may
    /// be after a run on device images that follows.
    Report &report(bool from_host) const {
        return reinterpret_cast<Report *>(reports_.data())[from_host];
    }

    void run_captured(cudaStream_t stream, const GraphcutRun &run) {
        if (run.links.memory == Memory::host)
            refuse_capture("links->memory is GPV_MEMORY_HOST; only runs on device images can be "
                           "captured");
        if (planned_bytes([&] { record_plan(run, true); }) > scratch_.size())
            refuse_capture("this run needs memory; call gpv_graphcut_prepare() first");
        launches_.launch(stream);
    }

    void enqueue(cudaStream_t stream, const GraphcutRun &run) {
        const bool from_host = run.links.memory == Memory::host;
        if (from_host)
            end_last_run(); // it uses the staging memory
        completion_.follow(stream);
        plan(stream, [&] { record_plan(run); });
        reserve_host(run);
        if (from_host) {
            staging_.upload(run.terminals, device_terminals_, stream);
            links_staging_.upload(run.links, device_links_, stream);
        }
        graphs_.launch(launches_, stream);
        if (from_host)
            staging_.download(device_mask_, stream);
        completion_.record(stream);
        if (from_host)
            staging_.expect(device_mask_, run.mask, &report(true).found.refused);
        last_from_host_ = from_host;
    }

    void reserve_host(const GraphcutRun &run) {
        if (run.links.memory != Memory::host)
            return;
        staging_.reserve_upload(run.terminals);
        links_staging_.reserve_upload(run.links);
        staging_.reserve_download(run.mask);
    }

    // ---- planning -------------------------------------------------------------------

    void record_plan(const GraphcutRun &run, bool captured = false) {
        Image terminals = run.terminals, links = run.links, mask = run.mask;
        if (links.memory == Memory::host) {
            terminals = device_terminals_ = place(terminals);
            links = device_links_ = place(links);
            mask = device_mask_ = place(mask);
        }
        with_directions(links.format,
                        [&]<int d> { add_kernels<d>(run, terminals, links, mask, captured); });
    }

    template <int d>
    void add_kernels(const GraphcutRun &run, const Image &terminals, const Image &links,
                     const Image &mask, bool captured) {
        Job job{.width = links.width, .height = links.height};
        job.tiles_x = static_cast<int>(blocks(job.width, side));
        job.tiles_y = static_cast<int>(blocks(job.height, side));
        job.max_time_ns = params_.max_time_us * 1000LL;
        job.certificate = params_.certificate;
        job.terminals = rows_of(terminals.planes[0]);
        for (int i = 0; i < d; i++)
            job.links[i] = rows_of(links.planes[i]);
        job.mask = rows_of(mask.planes[0]);
        job.control = reinterpret_cast<Control *>(control_.data());
        job.result = run.result;
        if (!captured) // else it may run at any time
            job.report = &report(run.links.memory == Memory::host);
        job.region_bytes = std::min(device_.shared_bytes(), max_region_bytes);
        const RegionShape shape = region_shape<d>(job);
        job.region_width = shape.width;
        job.region_height = shape.height;
        job.regions_x = static_cast<int>(blocks(job.tiles_x, shape.width));
        job.regions = job.regions_x * static_cast<int>(blocks(job.tiles_y, shape.height));
        allocate_state<d>(job);
        with_held(shape.held, [&]<int held> {
            using Kernel = Solve<d, held>;
            RegionMemory memory(nullptr, job.region_bytes, nullptr);
            Region(shape, d, memory);
            job.spill_bytes = memory.spilled();
            job.spill = arena_.allocate<std::byte>(job.spill_bytes * device_.multiprocessors());
            add_cooperative<Kernel>(dim3(device_.multiprocessors()), job,
                                    std::max(memory.used(), Kernel::push_bytes));
        });
        if (params_.certificate)
            add<Certify<d>>(dim3(blocks(job.width, Certify<d>::threads),
                                 blocks(job.height, Certify<d>::rows_of_block)),
                            job);
    }

    /// Regions of which there are no more than blocks, such that no quarter of a multiprocessor,
    /// which has every fourth warp, searches more tiles than need be; of those the smallest, and
    /// squares.
    template <int d>
    RegionShape region_shape(const Job &job) const {
        const int maximum = device_.multiprocessors();
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

    /// Whether there are warps enough, and so much shared memory is enough.
    template <int d>
    static bool can_hold(const RegionShape &shape, std::size_t bytes) {
        RegionMemory memory(nullptr, bytes, nullptr);
        Region(shape, d, memory);
        return shape.warps() <= block_warps && memory.spilled() == 0;
    }

    template <int d>
    void allocate_state(Job &job) {
        const auto tiles = static_cast<std::size_t>(job.tiles());
        job.capacities = arena_.allocate<int>(tiles * d * tile_pixels);
        job.excess = arena_.allocate<int>(tiles * tile_pixels);
        job.heights = arena_.allocate<int>(tiles * tile_pixels);
        job.arcs = arena_.allocate<Word>(tiles * d * side);
        job.sinks = arena_.allocate<Word>(tiles * side);
        job.active = arena_.allocate<Word>(tiles * side);
        job.seams = arena_.allocate<Word>(2 * tiles * 2 * side);
        job.inbox = arena_.allocate<int>(2 * tiles * d * inbox_places);
        job.stamp = arena_.allocate<unsigned>(tiles);
        for (int *&list : job.list)
            list = arena_.allocate<int>(tiles);
    }

    gpv_graphcut_params params_{};
    Staging links_staging_;
    Buffer control_;
    PinnedBuffer reports_;
    bool last_from_host_ = false;
    Image device_terminals_{}, device_links_{}, device_mask_{}; ///< of images in host memory
};

} // namespace

std::unique_ptr<Graphcut> make_graphcut(std::shared_ptr<Context> context) {
    return std::make_unique<CudaGraphcut>(context);
}

} // namespace gpv::cuda
