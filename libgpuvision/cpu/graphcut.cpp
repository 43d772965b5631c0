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
#include <type_traits>

#include "core/arena.hpp"
#include "cpu/faults.hpp"
#include "cpu/graphcut_search.hpp"
#include "cpu/threads.hpp"

namespace gpv::cpu {
namespace {

constexpr std::size_t table_alignment = 64;

constexpr std::uint8_t source_side = 255, sink_side = 0; ///< in a mask

template <class T = std::int32_t>
const T *row_of(const Image &image, int plane, int y) {
    return reinterpret_cast<const T *>(image.planes[plane].row(y));
}

constexpr bool is_terminal(std::int32_t value) {
    return value >= -max_terminal && value <= max_terminal;
}
constexpr bool is_link(std::int32_t value) {
    return value >= 0 && value <= max_link;
}

/// Columns or rows whose neighbours at a step are in the image.
struct Span {
    int first, last;
    Span(int length, int step) : first(step < 0), last(length - (step > 0)) {}
    bool has(int i) const { return i >= first && i < last; }
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

    /// f(first, last) of bands of rows, by several threads.
    template <class F>
    void for_bands(const Image &image, F f) const {
        cpu::for_bands(image.width, image.height, scratch_.context().thread_limit(), f);
    }
    /// f(y) of all rows, likewise.
    template <class F>
    void for_rows(const Image &image, F f) const {
        cpu::for_rows(image.width, image.height, scratch_.context().thread_limit(), f);
    }

    /// reuses: residual has a flow, which the graph begins with as far as there is room for it: a
    /// preflow but for pixels that pass on what they do not get, which count as capacity to the
    /// sink. Returns the capacity to the sink that terminals give.
    template <int directions>
    std::int64_t build(const CutGraph<directions> &graph, const GraphcutRun &run, bool reuses) {
        clear_border(graph, run.links);
        FaultFinder faults;
        std::atomic<std::int64_t> to_sink = 0;
        for_bands(run.links, [&](int first, int last) {
            FaultFinder of_band;
            std::int64_t sum = 0;
            for (int y = first; y < last; y++)
                sum += reuses ? build_row<true>(graph, run, y, of_band)
                              : build_row<false>(graph, run, y, of_band);
            faults.see(of_band);
            to_sink += sum;
        });
        fault_ = faults.first();
        return to_sink;
    }

    template <int directions>
    static void clear_border(const CutGraph<directions> &graph, const Image &links) {
        const auto clear = [&](int, NodeIndex v) {
            graph.nodes[v] = {};
            graph.excess[v] = 0;
        };
        const int end = graph.layout.end_column();
        for (int y = -1; y < graph.layout.end_row(); y++) {
            if (y < 0 || y >= links.height) {
                graph.layout.for_row(y, -1, end, clear);
            } else {
                graph.layout.for_row(y, -1, 0, clear);
                graph.layout.for_row(y, links.width, end, clear);
            }
        }
    }

    /// Whether a pixel has a neighbour in a direction, as bits.
    template <int directions>
    static unsigned neighbors(const Image &links, int x, int y) {
        unsigned near = 0;
        for (int d = 0; d < directions; d++) {
            const bool has = Span(links.width, step_x(d, directions)).has(x) &&
                             Span(links.height, step_y(d, directions)).has(y);
            near |= static_cast<unsigned>(has) << d;
        }
        return near;
    }

    /// f(x, v, near) of the pixels of a row, with their neighbors(), which are a constant for most.
    template <int directions, class F>
    static void for_pixels(const CutGraph<directions> &graph, const Image &links, int y, F f) {
        constexpr std::integral_constant<unsigned, (1u << directions) - 1> all;
        const bool inside = y > 0 && y < links.height - 1;
        graph.layout.for_row(y, 0, links.width, [&](int x, NodeIndex v) {
            if (inside && x > 0 && x < links.width - 1)
                f(x, v, all);
            else
                f(x, v, neighbors<directions>(links, x, y));
        });
    }

    /// The rows of links from the pixels of a row, or to them, by direction.
    template <int directions>
    struct LinkRows {
        std::array<const std::int32_t *, directions> from{}, to{}; ///< null: there are none

        LinkRows(const Image &links, int y) {
            for (int d = 0; d < directions; d++) {
                const int dx = step_x(d, directions), dy = step_y(d, directions);
                if (!Span(links.height, dy).has(y))
                    continue;
                from[d] = row_of(links, d, y);
                to[d] = row_of(links, reverse(d, directions), y + dy) + dx;
            }
        }
    };

    template <bool reuses, int directions>
    static std::int64_t build_row(const CutGraph<directions> &graph, const GraphcutRun &run, int y,
                                  FaultFinder &faults) {
        const std::int32_t *terminals = row_of(run.terminals, 0, y);
        const LinkRows<directions> rows(run.links, y);
        std::int64_t to_sink = 0;
        bool legal = true;
        // Of what is illegal, for which nothing is solved, anything.
        for_pixels(graph, run.links, y, [&](int x, NodeIndex v, auto near) {
            std::int32_t excess = std::clamp(terminals[x], -max_terminal, max_terminal);
            legal &= is_terminal(terminals[x]);
            to_sink += std::max(-excess, 0);
            std::array<std::int32_t, directions> residual{};
            unsigned out = 0, in = 0;
            for (int d = 0; d < directions; d++) {
                if (!(near >> d & 1u))
                    continue;
                const std::int32_t from = rows.from[d][x] & max_link;
                const std::int32_t to = rows.to[d][x] & max_link;
                legal &= is_link(rows.from[d][x]);
                const std::int32_t flow =
                    reuses ? std::max(std::min(graph.residual[v][d], from), -to) : 0;
                excess -= flow;
                residual[d] = from - flow;
                out |= static_cast<unsigned>(from != flow) << d;
                in |= static_cast<unsigned>(to != -flow) << d;
            }
            graph.residual[v] = residual;
            graph.excess[v] = excess;
            graph.nodes[v] = {.level = 0,
                              .parent = 0,
                              .state = 0,
                              .out = static_cast<std::uint8_t>(out),
                              .in = static_cast<std::uint8_t>(in)};
        });
        if (!legal)
            see_faults<directions>(run, y, faults);
        return to_sink;
    }

    template <int directions>
    static void see_faults(const GraphcutRun &run, int y, FaultFinder &faults) {
        const std::int64_t first = std::int64_t{run.links.width} * y;
        const std::int32_t *terminals = row_of(run.terminals, 0, y);
        for (int x = 0; x < run.links.width; x++)
            if (!is_terminal(terminals[x]))
                faults.see(first + x, 0, terminals[x]);
        for (int d = 0; d < directions; d++) {
            if (!Span(run.links.height, step_y(d, directions)).has(y))
                continue;
            const std::int32_t *links = row_of(run.links, d, y);
            const Span columns(run.links.width, step_x(d, directions));
            for (int x = columns.first; x < columns.last; x++)
                if (!is_link(links[x]))
                    faults.see(first + x, d + 1, links[x]);
        }
    }

    /// Leaves the flow in residual.
    template <int directions>
    void keep(const CutGraph<directions> &graph, const GraphcutRun &run) const {
        for_rows(run.links, [&](int y) {
            const LinkRows<directions> rows(run.links, y);
            for_pixels(graph, run.links, y, [&](int x, NodeIndex v, auto near) {
                for (int d = 0; d < directions; d++)
                    if (near >> d & 1u)
                        graph.residual[v][d] = rows.from[d][x] - graph.residual[v][d];
            });
        });
    }

    /// The state of a node while a cut is chosen: its first cut by steps, and whether it is on the
    /// side of the sink by its sign.
    static constexpr int cut_bits = 31, sign_bit = 32;
    static_assert(cuts_by_steps <= cut_bits);

    /// Puts the best of the cuts that there are in place of the search's. Returns its capacity.
    template <int directions>
    std::int64_t choose_cut(const CutGraph<directions> &graph, const GraphcutRun &run) const {
        for_rows(run.links, [&](int y) {
            const std::int32_t *terminals = row_of(run.terminals, 0, y);
            graph.layout.for_row(y, 0, run.links.width, [&](int x, NodeIndex v) {
                CutNode &node = graph.nodes[v];
                node.state = static_cast<std::uint8_t>(
                    first_cut(node.level != CutNode::outside, static_cast<int>(node.level - 1)) |
                    (terminals[x] < 0 ? sign_bit : 0));
            });
        });
        std::mutex mutex;
        Rises rises{};
        for_bands(run.links, [&](int first, int last) {
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
        for_rows(run.links, [&](int y) {
            graph.layout.for_row(y, 0, run.links.width, [&](int, NodeIndex v) {
                CutNode &node = graph.nodes[v];
                const bool sink = cut == cut_by_signs ? (node.state & sign_bit) != 0
                                                      : (node.state & cut_bits) <= cut;
                node.level = sink ? 1 : CutNode::outside;
            });
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
        const LinkRows<directions> rows(run.links, y);
        // Without branches: where a search has been cut short, sides follow no pattern.
        for_pixels(graph, run.links, y, [&](int x, NodeIndex v, auto near) {
            const auto &steps = graph.steps.from(v);
            const int here = graph.nodes[v].state & cut_bits;
            const bool source = !(graph.nodes[v].state & sign_bit);
            std::int32_t rise = terminals[x], by_signs = 0;
            for (int d = 0; d < directions; d++) {
                if (!(near >> d & 1u))
                    continue;
                const int state = graph.nodes[v + steps[d]].state;
                const int there = state & cut_bits;
                const std::int32_t from = rows.from[d][x], to = rows.to[d][x];
                rise += (to & -(there > here)) - (from & -(there < here));
                by_signs += from & -(source & ((state & sign_bit) != 0));
            }
            rises.at[0] += std::max(-terminals[x], 0);
            rises.at[here] += rise;
            rises.by_signs += by_signs;
        });
    }

    /// Returns the capacity that is left to the sink.
    template <int directions>
    std::int64_t paint(const CutGraph<directions> &graph, const Image &mask) {
        std::atomic<std::int64_t> area = 0, left = 0;
        for_bands(mask, [&](int first, int last) {
            std::int64_t count = 0, rest = 0;
            for (int y = first; y < last; y++) {
                auto *row = reinterpret_cast<std::uint8_t *>(mask.planes[0].row(y));
                graph.layout.for_row(y, 0, mask.width, [&](int x, NodeIndex v) {
                    const bool source = graph.nodes[v].level == CutNode::outside;
                    row[x] = source ? source_side : sink_side;
                    count += source;
                    rest += std::max(-graph.excess[v], 0);
                });
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
        for_bands(run.mask, [&](int first, int last) {
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
