// SPDX-License-Identifier: BSD-2-Clause
#include "core/graphcut.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <tuple>

#include "core/arena.hpp"
#include "cpu/graphcut_search.hpp"
#include "cpu/threads.hpp"

namespace gpv::cpu {
namespace {

constexpr std::size_t table_alignment = 64;
constexpr int band_rows = 16; ///< that a thread takes at a time

constexpr std::uint8_t source_side = 255, sink_side = 0; ///< in a mask

template <class T = std::int32_t>
const T *row_of(const Image &image, int plane, int y) {
    return reinterpret_cast<const T *>(image.planes[plane].row(y));
}

/// Columns or rows whose neighbours at a step are in the image.
struct Span {
    int first, last;
    Span(int length, int step) : first(step < 0), last(length - (step > 0)) {}
    bool has(int i) const { return i >= first && i < last; }
};

/// The first of the faults that have been seen.
class FaultFinder {
  public:
    void see(std::int64_t pixel, int plane, std::int32_t value) {
        if (first_.pixel < 0 || std::tie(pixel, plane) < std::tie(first_.pixel, first_.plane))
            first_ = {.pixel = pixel, .plane = plane, .value = value};
    }
    /// What another one has seen; by any thread.
    void see(const FaultFinder &other) {
        if (other.first_.pixel < 0)
            return;
        const std::scoped_lock lock(mutex_);
        see(other.first_.pixel, other.first_.plane, other.first_.value);
    }
    const GraphcutFault &first() const { return first_; }

  private:
    std::mutex mutex_;
    GraphcutFault first_;
};

class CpuGraphcut final : public Graphcut {
  public:
    explicit CpuGraphcut(std::shared_ptr<Context> context) : scratch_(context) {}

    void set_params(const gpv_graphcut_params &params) override { params_ = params; }

    void prepare(const Image &links) override { reserve(links, nullptr); }

    bool run(Stream stream, const GraphcutRun &run) override {
        const Deadline deadline(params_.max_time_us);
        reserve(run.links, stream);
        found_ = {};
        if (link_count(run.links.format) == 4)
            solve<4>(run, deadline);
        else
            solve<8>(run, deadline);
        if (run.result) {
            *run.result = found_;
            run.result->struct_size = sizeof found_;
        }
        return true;
    }

    bool finished() override { return true; }
    void wait() override {}
    GraphcutResult result() const override { return found_; }
    GraphcutFault fault() const override { return fault_; }

  private:
    template <int directions>
    static CutGraph<directions> allocate(Arena &arena, const Image &links) {
        return {arena, TileLayout(links.width, links.height)};
    }

    void reserve(const Image &links, Stream stream) {
        Arena arena(table_alignment);
        if (link_count(links.format) == 4)
            allocate<4>(arena, links);
        else
            allocate<8>(arena, links);
        scratch_.reserve(arena.required(), stream);
    }

    template <int directions>
    void solve(const GraphcutRun &run, const Deadline &deadline) {
        Arena arena(table_alignment, scratch_.data());
        const CutGraph<directions> graph = allocate<directions>(arena, run.links);
        build(graph, run);
        if (fault_.pixel >= 0) {
            found_.refused = 1;
            return;
        }
        CutSearch<directions> search(graph, deadline);
        found_.optimal = search.run();
        found_.flow = search.flow();
        paint(graph, run.mask);
        found_.cut = params_.certificate ? capacity<directions>(run) : -1;
    }

    template <class F>
    void for_bands(const Image &image, F f) const {
        constexpr std::int64_t grain = 65536; // pixels that make a thread worth its start
        const std::int64_t pixels = std::int64_t{image.width} * image.height;
        const int workers = workers_for(pixels, grain, scratch_.context().thread_limit());
        parallel_bands(image.height, band_rows, workers, f);
    }

    template <int directions>
    void build(const CutGraph<directions> &graph, const GraphcutRun &run) {
        const NodeIndex count = graph.layout.nodes();
        std::fill_n(graph.nodes, count, CutNode{});
        std::fill_n(graph.excess, count, 0);
        FaultFinder faults;
        for_bands(run.links, [&](int, int first, int last) {
            FaultFinder of_band;
            for (int y = first; y < last; y++)
                build_row(graph, run, y, of_band);
            faults.see(of_band);
        });
        fault_ = faults.first();
    }

    template <int directions>
    static void build_row(const CutGraph<directions> &graph, const GraphcutRun &run, int y,
                          FaultFinder &faults) {
        const int width = run.links.width;
        const std::int64_t first_pixel = std::int64_t{width} * y;
        const std::int32_t *terminals = row_of(run.terminals, 0, y);
        for (int x = 0; x < width; x++) {
            if (terminals[x] < -max_terminal || terminals[x] > max_terminal)
                faults.see(first_pixel + x, 0, terminals[x]);
            const NodeIndex v = graph.layout.index(x, y);
            graph.excess[v] = terminals[x];
            graph.residual[v] = {};
        }
        for (int d = 0; d < directions; d++) {
            const int dx = step_x(d, directions), dy = step_y(d, directions);
            const int back = reverse(d, directions);
            if (!Span(run.links.height, dy).has(y))
                continue;
            const std::int32_t *out = row_of(run.links, d, y);
            const std::int32_t *in = row_of(run.links, back, y + dy) + dx;
            const Span columns(width, dx);
            for (int x = columns.first; x < columns.last; x++) {
                if (out[x] < 0 || out[x] > max_link)
                    faults.see(first_pixel + x, d + 1, out[x]);
                const NodeIndex v = graph.layout.index(x, y);
                graph.residual[v][d] = out[x];
                graph.nodes[v].out |= static_cast<std::uint8_t>((out[x] != 0) << d);
                graph.nodes[v].in |= static_cast<std::uint8_t>((in[x] != 0) << d);
            }
        }
    }

    template <int directions>
    void paint(const CutGraph<directions> &graph, const Image &mask) {
        std::atomic<std::int64_t> area = 0;
        for_bands(mask, [&](int, int first, int last) {
            std::int64_t count = 0;
            for (int y = first; y < last; y++) {
                auto *row = reinterpret_cast<std::uint8_t *>(mask.planes[0].row(y));
                for (int x = 0; x < mask.width; x++) {
                    const bool source =
                        graph.nodes[graph.layout.index(x, y)].level == CutNode::outside;
                    row[x] = source ? source_side : sink_side;
                    count += source;
                }
            }
            area += count;
        });
        found_.area = area;
    }

    /// Of the cut in the mask.
    template <int directions>
    std::int64_t capacity(const GraphcutRun &run) const {
        std::atomic<std::int64_t> sum = 0;
        for_bands(run.mask, [&](int, int first, int last) {
            std::int64_t part = 0;
            for (int y = first; y < last; y++)
                part += row_capacity<directions>(run, y);
            sum += part;
        });
        return sum;
    }

    template <int directions>
    static std::int64_t row_capacity(const GraphcutRun &run, int y) {
        const std::uint8_t *mask = row_of<std::uint8_t>(run.mask, 0, y);
        const std::int32_t *terminals = row_of(run.terminals, 0, y);
        std::int64_t sum = 0;
        for (int x = 0; x < run.mask.width; x++)
            sum += std::max(mask[x] == source_side ? -terminals[x] : terminals[x], 0);
        for (int d = 0; d < directions; d++) {
            const int dx = step_x(d, directions), dy = step_y(d, directions);
            if (!Span(run.mask.height, dy).has(y))
                continue;
            const std::uint8_t *there = row_of<std::uint8_t>(run.mask, 0, y + dy) + dx;
            const std::int32_t *links = row_of(run.links, d, y);
            const Span columns(run.mask.width, dx);
            for (int x = columns.first; x < columns.last; x++)
                sum += links[x] & -static_cast<std::int32_t>(mask[x] > there[x]);
        }
        return sum;
    }

    gpv_graphcut_params params_{};
    GraphcutResult found_{};
    GraphcutFault fault_;
    Buffer scratch_;
};

} // namespace

std::unique_ptr<Graphcut> make_graphcut(std::shared_ptr<Context> context) {
    return std::make_unique<CpuGraphcut>(std::move(context));
}

} // namespace gpv::cpu
