// SPDX-License-Identifier: BSD-2-Clause
#include "core/graphcut.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <numeric>
#include <span>
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

    bool run(Stream stream, const GraphcutRun &given) override {
        GraphcutRun run = given;
        if (params_.reuse)
            run.reuse = run.next = Reuse::by_choice;
        const Deadline deadline(params_.max_time_us);
        reserve(run.links, stream);
        const auto begin = Deadline::Clock::now();
        found_ = {};
        if (const Shape shape = shape_of(run.links); shape != shape_) {
            shape_ = shape;
            has_flow_ = false;
            choice_ = {};
        }
        const bool reuses = has_flow_ && choice_.reuses(run.reuse);
        const bool keeps = choice_.keeps(run.next);
        has_flow_ = false;
        if (link_count(run.links.format) == 4)
            solve<4>(run, reuses, keeps, deadline);
        else
            solve<8>(run, reuses, keeps, deadline);
        has_flow_ = keeps && !found_.refused;
        if (run.reuse == Reuse::by_choice && !found_.refused)
            choice_.note(reuses, found_.optimal,
                         std::chrono::nanoseconds(Deadline::Clock::now() - begin).count());
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
    struct Shape {
        int width, height, directions;
        bool operator==(const Shape &) const = default;
    };
    static Shape shape_of(const Image &links) {
        return {links.width, links.height, link_count(links.format)};
    }

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
        if (arena.required() > scratch_.size())
            has_flow_ = false;
        scratch_.reserve(arena.required(), stream);
    }

    template <int directions>
    void solve(const GraphcutRun &run, bool reuses, bool keeps, const Deadline &deadline) {
        Arena arena(table_alignment, scratch_.data());
        const CutGraph<directions> graph = allocate<directions>(arena, run.links);
        const std::int64_t to_sink = build(graph, run, reuses);
        if (fault_.pixel >= 0) {
            found_.refused = 1;
            return;
        }
        CutSearch<directions> search(graph, deadline);
        found_.optimal = search.run();
        found_.cut = found_.optimal ? -1 : choose_cut(graph, run);
        found_.flow = std::max<std::int64_t>(to_sink - paint(graph, run.mask), 0);
        if (params_.certificate)
            found_.cut = capacity<directions>(run);
        if (keeps)
            keep(graph, run);
    }

    template <class F>
    void for_bands(const Image &image, F f) const {
        constexpr std::int64_t grain = 65536; // pixels that make a thread worth its start
        const std::int64_t pixels = std::int64_t{image.width} * image.height;
        const int workers = workers_for(pixels, grain, scratch_.context().thread_limit());
        parallel_bands(image.height, band_rows, workers, f);
    }

    /// reuses: residual has a flow, which the graph begins with as far as there is room for it: a
    /// preflow but for pixels that pass on what they do not get, which count as capacity to the
    /// sink. Returns the capacity to the sink that terminals give.
    template <int directions>
    std::int64_t build(const CutGraph<directions> &graph, const GraphcutRun &run, bool reuses) {
        const NodeIndex count = graph.layout.nodes();
        std::fill_n(graph.nodes, count, CutNode{});
        std::fill_n(graph.excess, count, 0);
        FaultFinder faults;
        std::atomic<std::int64_t> to_sink = 0;
        for_bands(run.links, [&](int, int first, int last) {
            FaultFinder of_band;
            std::int64_t sum = 0;
            for (int y = first; y < last; y++)
                sum += build_row(graph, run, reuses, y, of_band);
            faults.see(of_band);
            to_sink += sum;
        });
        fault_ = faults.first();
        return to_sink;
    }

    template <int directions>
    static std::int64_t build_row(const CutGraph<directions> &graph, const GraphcutRun &run,
                                  bool reuses, int y, FaultFinder &faults) {
        const int width = run.links.width;
        const std::int64_t first_pixel = std::int64_t{width} * y;
        const std::int32_t *terminals = row_of(run.terminals, 0, y);
        std::int64_t to_sink = 0;
        for (int x = 0; x < width; x++) {
            const bool legal = terminals[x] >= -max_terminal && terminals[x] <= max_terminal;
            if (!legal)
                faults.see(first_pixel + x, 0, terminals[x]);
            const NodeIndex v = graph.layout.index(x, y);
            graph.excess[v] = legal ? terminals[x] : 0;
            to_sink += std::max(-graph.excess[v], 0);
            if (!reuses)
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
                std::int32_t &residual = graph.residual[v][d];
                // Of illegal links, for which nothing is solved, any number.
                const std::int32_t flow =
                    reuses ? std::max(std::min(residual, out[x]), -(in[x] & max_link)) : 0;
                graph.excess[v] -= flow;
                residual = (out[x] & max_link) - flow;
                graph.nodes[v].out |= static_cast<std::uint8_t>((out[x] != flow) << d);
                graph.nodes[v].in |= static_cast<std::uint8_t>((in[x] != -flow) << d);
            }
        }
        return to_sink;
    }

    /// Leaves the flow in residual.
    template <int directions>
    void keep(const CutGraph<directions> &graph, const GraphcutRun &run) const {
        for_bands(run.links, [&](int, int first, int last) {
            for (int y = first; y < last; y++)
                for (int d = 0; d < directions; d++) {
                    if (!Span(run.links.height, step_y(d, directions)).has(y))
                        continue;
                    const std::int32_t *out = row_of(run.links, d, y);
                    const Span columns(run.links.width, step_x(d, directions));
                    for (int x = columns.first; x < columns.last; x++) {
                        std::int32_t &residual = graph.residual[graph.layout.index(x, y)][d];
                        residual = out[x] - residual;
                    }
                }
        });
    }

    /// Puts the best of the cuts that there are in place of the search's. Returns its capacity.
    template <int directions>
    std::int64_t choose_cut(const CutGraph<directions> &graph, const GraphcutRun &run) const {
        for (CutNode &node : std::span(graph.nodes, graph.layout.nodes()))
            node.state = static_cast<std::uint8_t>(
                first_cut(node.level != CutNode::outside, static_cast<int>(node.level - 1)));
        std::mutex mutex;
        Rises rises{};
        for_bands(run.links, [&](int, int first, int last) {
            Rises of_band{};
            for (int y = first; y < last; y++)
                add_rises(graph, run, y, of_band);
            const std::scoped_lock lock(mutex);
            rises += of_band;
        });
        std::array<std::int64_t, short_cuts> cuts;
        std::partial_sum(rises.at.begin(), rises.at.begin() + cuts_by_steps, cuts.begin());
        cuts[cut_by_signs] = rises.by_signs;
        const auto best = std::min_element(cuts.begin(), cuts.end());
        const auto cut = static_cast<int>(best - cuts.begin());
        for_bands(run.links, [&](int, int first, int last) {
            for (int y = first; y < last; y++)
                for (int x = 0; x < run.links.width; x++) {
                    CutNode &node = graph.nodes[graph.layout.index(x, y)];
                    const bool source = cut == cut_by_signs ? row_of(run.terminals, 0, y)[x] >= 0
                                                            : node.state > cut;
                    node.level = source ? CutNode::outside : 1;
                }
        });
        return *best;
    }

    struct Rises {
        /// By how much each cut by steps has more capacity than the one before it; last, what is in
        /// none of them.
        std::array<std::int64_t, cuts_by_steps + 1> at;
        std::int64_t by_signs; ///< capacity of that cut

        void operator+=(const Rises &other) {
            std::transform(at.begin(), at.end(), other.at.begin(), at.begin(), std::plus());
            by_signs += other.by_signs;
        }
    };

    template <int directions>
    static void add_rises(const CutGraph<directions> &graph, const GraphcutRun &run, int y,
                          Rises &rises) {
        const std::int32_t *terminals = row_of(run.terminals, 0, y);
        for (int x = 0; x < run.links.width; x++) {
            rises.at[0] += std::max(-terminals[x], 0);
            rises.at[graph.nodes[graph.layout.index(x, y)].state] += terminals[x];
        }
        for (int d = 0; d < directions; d++) {
            const int dx = step_x(d, directions), dy = step_y(d, directions);
            if (!Span(run.links.height, dy).has(y))
                continue;
            const std::int32_t *links = row_of(run.links, d, y);
            const std::int32_t *beyond = row_of(run.terminals, 0, y + dy) + dx;
            const Span columns(run.links.width, dx);
            for (int x = columns.first; x < columns.last; x++) {
                const int here = graph.nodes[graph.layout.index(x, y)].state;
                const int there = graph.nodes[graph.layout.index(x + dx, y + dy)].state;
                if (there < here) {
                    rises.at[there] += links[x];
                    rises.at[here] -= links[x];
                }
                if (terminals[x] >= 0 && beyond[x] < 0)
                    rises.by_signs += links[x];
            }
        }
    }

    /// Returns the capacity that is left to the sink.
    template <int directions>
    std::int64_t paint(const CutGraph<directions> &graph, const Image &mask) {
        std::atomic<std::int64_t> area = 0, left = 0;
        for_bands(mask, [&](int, int first, int last) {
            std::int64_t count = 0, rest = 0;
            for (int y = first; y < last; y++) {
                auto *row = reinterpret_cast<std::uint8_t *>(mask.planes[0].row(y));
                for (int x = 0; x < mask.width; x++) {
                    const NodeIndex v = graph.layout.index(x, y);
                    const bool source = graph.nodes[v].level == CutNode::outside;
                    row[x] = source ? source_side : sink_side;
                    count += source;
                    rest += std::max(-graph.excess[v], 0);
                }
            }
            area += count;
            left += rest;
        });
        found_.area = area;
        return left;
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
    Shape shape_{};         ///< of the last run's graph
    bool has_flow_ = false; ///< which it has kept
    ReuseChoice choice_{};
};

} // namespace

std::unique_ptr<Graphcut> make_graphcut(std::shared_ptr<Context> context) {
    return std::make_unique<CpuGraphcut>(std::move(context));
}

} // namespace gpv::cpu
