// SPDX-License-Identifier: BSD-2-Clause
// Alpha expansion: makes the graph of each move, and leaves its cut to the solver.
#include "core/expansion.hpp"

#include <atomic>
#include <cstring>

#include "core/arena.hpp"
#include "cpu/faults.hpp"
#include "cpu/threads.hpp"

namespace gpv::cpu {
namespace {

using namespace expansion;

constexpr std::size_t table_alignment = 64;

/// Scratch of a run: labels, and the graph of a move.
struct Workspace {
    Workspace(Arena &arena, const Image &links)
        : directions(link_count(links.format)),
          stride(round_up(links.width, table_alignment / sizeof(std::int32_t))) {
        const std::size_t pixels = stride * links.height;
        labels = arena.allocate<std::uint8_t>(pixels);
        mask = arena.allocate<std::uint8_t>(pixels);
        terminals = arena.allocate<std::int32_t>(pixels);
        for (int i = 0; i < directions; i++)
            planes[i] = arena.allocate<std::int32_t>(pixels);
    }
    std::uint8_t *labels_of(int y) const { return labels + y * stride; }

    int directions;
    std::size_t stride; ///< pixels
    std::uint8_t *labels, *mask;
    std::int32_t *terminals, *planes[8];
};

template <class T>
const T *row_of(const Image &image, int plane, int y) {
    return reinterpret_cast<const T *>(image.planes[plane].row(y));
}

class CpuExpansion final : public Expansion {
  public:
    explicit CpuExpansion(const std::shared_ptr<Context> &context)
        : scratch_(context), solver_(make_graphcut(context)) {}

    void set_params(const gpv_expansion_params &params) override { params_ = params; }

    void prepare(const Image &links, int) override {
        reserve(links, nullptr);
        solver_->prepare(links);
    }

    bool run(Stream stream, const ExpansionRun &run) override {
        reserve(run.links, stream);
        Arena arena(table_alignment, scratch_.data());
        const Workspace work(arena, run.links);
        if (work.directions == 4)
            solve<2>(stream, run, work);
        else
            solve<4>(stream, run, work);
        if (run.result)
            *run.result = found_;
        return true;
    }

    bool finished() override { return true; }
    void wait() override {}
    ExpansionResult result() const override { return found_; }
    GraphcutFault fault() const override { return fault_; }

  private:
    void reserve(const Image &links, Stream stream) {
        Arena arena(table_alignment);
        Workspace(arena, links);
        scratch_.reserve(arena.required(), stream);
    }

    template <int pairs>
    void solve(Stream stream, const ExpansionRun &run, const Workspace &work) {
        found_ = {.struct_size = sizeof found_};
        fault_ = start<pairs>(run, work);
        if (fault_.pixel >= 0) {
            found_.refused = 1;
            return;
        }
        found_.start_energy = energy<pairs>(run, work);
        const std::int64_t pixels = std::int64_t{run.links.width} * run.links.height;
        Progress progress{};
        for (int i = 0; i < params_.cycles * run.count && !progress.is_over; i++) {
            const int move = i % run.count;
            build<pairs>(run, work, move);
            cut(stream, run, work);
            const bool changes = solver_->result().area != pixels;
            if (changes)
                take(run, work, move);
            progress.note(changes, run.count);
        }
        found_.converged = progress.is_over;
        found_.moves = progress.moves;
        found_.energy = progress.moves ? energy<pairs>(run, work) : found_.start_energy;
        for_rows(run, [&](int y) {
            std::memcpy(run.labels.planes[0].row(y), work.labels_of(y), run.labels.width);
        });
    }

    /// Threads that a run may use.
    int limit() const { return scratch_.context().thread_limit(); }
    /// f(y) of all rows, by several threads.
    template <class F>
    void for_rows(const ExpansionRun &run, F f) const {
        cpu::for_rows(run.links.width, run.links.height, limit(), f);
    }

    /// f(pair, step, links, first, last) for the half of the directions of a row that has
    /// neighbours: its pixels from first to before last have, a step away in scratch.
    template <int pairs, class F>
    static void for_pairs(const ExpansionRun &run, const Workspace &work, int y, F f) {
        for (int pair = 0; pair < pairs; pair++) {
            const int dx = step_x(pair, 2 * pairs), dy = step_y(pair, 2 * pairs);
            if (y + dy < run.links.height)
                f(pair, dy * static_cast<std::ptrdiff_t>(work.stride) + dx,
                  row_of<std::int32_t>(run.links, pair, y), dx < 0 ? 1 : 0,
                  run.links.width - (dx > 0));
        }
    }

    /// Gives each pixel its cheapest label, and looks at all values.
    template <int pairs>
    GraphcutFault start(const ExpansionRun &run, const Workspace &work) const {
        FaultFinder faults;
        for_bands(run.links.width, run.links.height, limit(), [&](int top, int bottom) {
            FaultFinder of_band;
            for (int y = top; y < bottom; y++) {
                const auto check = [&](int x, int plane, std::int32_t value, int low, int high) {
                    if (value < low || value > high)
                        of_band.see(std::int64_t{y} * run.links.width + x, plane, value);
                };
                const std::int32_t *costs[max_labels];
                for (int i = 0; i < run.count; i++)
                    costs[i] = row_of<std::int32_t>(run.costs[i], 0, y);
                for (int x = 0; x < run.links.width; x++) {
                    int cheapest = 0;
                    for (int i = 0; i < run.count; i++) {
                        check(x, i, costs[i][x], -max_cost, max_cost);
                        cheapest = costs[i][x] < costs[cheapest][x] ? i : cheapest;
                    }
                    work.labels_of(y)[x] = static_cast<std::uint8_t>(cheapest);
                }
                for_pairs<pairs>(run, work, y,
                                 [&](int pair, std::ptrdiff_t, auto *links, int first, int last) {
                                     for (int x = first; x < last; x++)
                                         check(x, run.count + pair, links[x], 0, max_link);
                                 });
            }
            faults.see(of_band);
        });
        return faults.first();
    }

    template <int pairs>
    std::int64_t energy(const ExpansionRun &run, const Workspace &work) const {
        std::atomic<std::int64_t> sum = 0;
        for_rows(run, [&](int y) {
            const std::uint8_t *labels = work.labels_of(y);
            std::int64_t of_row = 0;
            for (int x = 0; x < run.links.width; x++)
                of_row += row_of<std::int32_t>(run.costs[labels[x]], 0, y)[x];
            for_pairs<pairs>(run, work, y,
                             [&](int, std::ptrdiff_t step, auto *links, int first, int last) {
                                 for (int x = first; x < last; x++)
                                     of_row += labels[x] != labels[x + step] ? links[x] : 0;
                             });
            sum += of_row;
        });
        return sum;
    }

    /// Makes the graph of a move.
    template <int pairs>
    void build(const ExpansionRun &run, const Workspace &work, int move) const {
        for_rows(run, [&](int y) {
            const std::int32_t *costs[max_labels];
            for (int i = 0; i < run.count; i++)
                costs[i] = row_of<std::int32_t>(run.costs[i], 0, y);
            for (int x = 0; x < run.links.width; x++)
                put<pairs>(work, y, x, node<pairs>(run, work, costs, y, x, move));
        });
    }
    template <int pairs>
    static Node<pairs> node(const ExpansionRun &run, const Workspace &work,
                            const std::int32_t *const *costs, int y, int x, int move) {
        const std::uint8_t *label = work.labels_of(y) + x;
        if (*label == move)
            return {};
        const auto inside = [&](int column, int row) {
            return column >= 0 && row >= 0 && column < run.links.width && row < run.links.height;
        };
        Node<pairs> node{costs[move][x] - costs[*label][x]};
        for (int pair = 0; pair < pairs; pair++) {
            const int dx = step_x(pair, 2 * pairs), dy = step_y(pair, 2 * pairs);
            const std::ptrdiff_t step = dy * static_cast<std::ptrdiff_t>(work.stride) + dx;
            if (inside(x + dx, y + dy))
                node.add_forth(pair, row_of<std::int32_t>(run.links, pair, y)[x], *label,
                               label[step]);
            if (inside(x - dx, y - dy))
                node.add_back(pair, row_of<std::int32_t>(run.links, pair, y - dy)[x - dx],
                              label[-step], move);
        }
        return node;
    }
    template <int pairs>
    static void put(const Workspace &work, int y, int x, const Node<pairs> &node) {
        const std::size_t at = y * work.stride + x;
        work.terminals[at] = node.terminal;
        for (int pair = 0; pair < pairs; pair++) {
            work.planes[pair][at] = node.forth[pair];
            work.planes[reverse(pair, 2 * pairs)][at] = node.back[pair];
        }
    }

    void cut(Stream stream, const ExpansionRun &run, const Workspace &work) {
        const std::size_t pitch = work.stride * sizeof(std::int32_t);
        GraphcutRun cut = {.terminals =
                               plane_image(run.links, Format::label32, work.terminals, pitch),
                           .links = plane_image(run.links, run.links.format, nullptr, pitch),
                           .mask = plane_image(run.links, Format::gray8, work.mask, work.stride)};
        for (int i = 0; i < work.directions; i++)
            cut.links.planes[i] = {reinterpret_cast<std::byte *>(work.planes[i]),
                                   static_cast<std::int64_t>(pitch)};
        solver_->run(stream, cut);
    }

    /// Gives the label of a move to the pixels on the side of the sink.
    void take(const ExpansionRun &run, const Workspace &work, int move) const {
        for_rows(run, [&](int y) {
            std::uint8_t *labels = work.labels_of(y);
            const std::uint8_t *mask = work.mask + y * work.stride;
            for (int x = 0; x < run.links.width; x++)
                labels[x] = mask[x] ? labels[x] : static_cast<std::uint8_t>(move);
        });
    }

    gpv_expansion_params params_{};
    ExpansionResult found_{};
    GraphcutFault fault_{};
    Buffer scratch_;
    std::unique_ptr<Graphcut> solver_;
};

} // namespace

std::unique_ptr<Expansion> make_expansion(std::shared_ptr<Context> context) {
    return std::make_unique<CpuExpansion>(context);
}

} // namespace gpv::cpu
