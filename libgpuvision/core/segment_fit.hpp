// SPDX-License-Identifier: BSD-2-Clause
// Fits the models of segmentation to colours, in the same steps on both
// backends. Every participating thread runs a Fit with its own worker.
#pragma once

#include "core/segment.hpp"
#include "core/segment_scene.hpp"

namespace gpv::segment {

/// Number of pixels by counted_as() and cell.
using Counts = const std::uint32_t (*)[cells];

struct FitJob {
    gpv_segment_model kind;
    Counts counts;     ///< by Known
    bool continues;    ///< counts are those of the sides of a cut; from is fitted to them
    const Model *from; ///< may be model
    Model *model;
    Scene *scene; ///< learning begins here unless it continues
};

/// Rounds of assigning cells to their best component if a side has no components yet. If both
/// sides have components, there is one round.
inline constexpr int first_refinements = 4;
/// Iterations of divide(), at most.
inline constexpr int max_divisions = 16;

inline constexpr int max_slots = 2 * components;

/// State that each worker keeps between two steps.
struct FitNotes {
    double spread[max_slots]; ///< greatest spread of each component along an axis
    int axis[max_slots];
    float means[2][3]; ///< means of the two clusters
};

/// One or several workers fit a model together. A worker has
///     parallel_for(count, f)
///                      calls f(i) for all i below count, shared out among workers; afterwards all
///                      workers see what any of them has written to memory
///     pass(f)          calls f(cell, add) for all cells that have pixels, and may for others,
///                      always by the same worker. Returns the Moments of each of max_slots,
///                      summed over what all workers have given to add(slot, cell, count); they
///                      stay until the pass after the next. For every cell f calls add as often
///     each(count, f)   calls f(i) for all i below count; afterwards each worker has the results in
///                      its own mixture() and notes()
///     once(f)          calls f in one worker
///     label(side, cell), part(cell)  bytes of cells, in memory that all workers share
///     coarse(side)     counts by table cell, in memory that all workers share
///     mixture(), notes()  the worker's own copy of Model::mixture, and its FitNotes
template <class Worker>
class Fit {
  public:
    GPV_DEVICE Fit(Worker &worker, const FitJob &job) : worker_(worker), job_(job) {}

    GPV_DEVICE void run() {
        worker_.each(max_slots, [&](int i) { slot(i) = mixture(*job_.from, i); });
        choose_sides();
        if (job_.kind == GPV_SEGMENT_MODEL_GMM)
            fit_mixtures();
        else if (job_.kind == GPV_SEGMENT_MODEL_MEANS)
            fit_means();
        else
            fit_tables();
        worker_.once([&] {
            for (int i = 0; i < max_slots; i++)
                mixture(*job_.model, i) = slot(i);
            for (const Side side : {background, foreground})
                job_.model->present[side] = whole_[side].count > 0 || had(side);
            if (!job_.continues)
                job_.scene->begin(from_[background] == From::known ||
                                  from_[foreground] == From::known);
        });
    }

  private:
    /// The pixels that a side is fitted to.
    enum class From { known, unknown, part, none };

    GPV_DEVICE Gaussian &slot(int i) { return worker_.mixture()[i / components][i % components]; }
    template <class M>
    GPV_DEVICE static auto &mixture(M &model, int i) {
        return model.mixture[i / components][i % components];
    }
    /// Whether there has been something to fit a side to before.
    GPV_DEVICE bool had(Side side) const { return job_.continues && job_.from->present[side]; }

    GPV_DEVICE std::uint32_t unknown_pixels(int cell) const {
        return job_.counts[unknown][cell] + job_.counts[unknown_at_edge][cell];
    }
    GPV_DEVICE std::uint32_t pixels(Side side, int cell) {
        switch (from_[side]) {
        case From::known:
            return job_.counts[side][cell];
        case From::unknown:
            return unknown_pixels(cell);
        case From::part:
            return worker_.part(cell) == part_[side] ? unknown_pixels(cell) : 0;
        default:
            return 0;
        }
    }

    GPV_DEVICE void choose_sides() {
        const Moments *sums = worker_.pass([&](int cell, const auto &add) {
            for (const Side side : {background, foreground})
                add(side, cell, job_.counts[side][cell]);
            add(unknown, cell, unknown_pixels(cell));
        });
        for (const Side side : {background, foreground}) {
            const bool known = job_.continues || sums[side].count > 0;
            from_[side] = known ? From::known : From::unknown;
            whole_[side] = sums[known ? static_cast<int>(side) : static_cast<int>(unknown)];
        }
        if (from_[background] == From::unknown && from_[foreground] == From::unknown)
            divide(sums[unknown]);
    }

    /// Lloyd's iteration for two clusters. The background is the cluster with more pixels at the
    /// image's edge.
    GPV_DEVICE void divide(const Moments &all) {
        from_[foreground] = From::none;
        whole_[foreground] = {};
        const int axis = all.widest();
        if (!(all.spread(axis) > 0))
            return;
        enum { edges = 2, moved = 4 };
        const Moments *sums = worker_.pass([&](int cell, const auto &add) {
            const bool part = all.above_mean(cell, axis);
            worker_.part(cell) = part;
            add_part(add, part, cell);
        });
        for (int i = 0; i < max_divisions; i++) {
            note_means(sums);
            sums = worker_.pass([&](int cell, const auto &add) {
                const bool part = distance(cell, 1) < distance(cell, 0);
                std::uint8_t &label = worker_.part(cell);
                add(moved, cell, label != part ? unknown_pixels(cell) : 0);
                label = part;
                add_part(add, part, cell);
            });
            if (sums[moved].count == 0)
                break;
        }
        const std::uint64_t at_edge[] = {sums[edges].count, sums[edges + 1].count};
        const bool back =
            at_edge[1] != at_edge[0] ? at_edge[1] > at_edge[0] : sums[1].count > sums[0].count;
        part_[background] = back;
        part_[foreground] = !back;
        for (const Side side : {background, foreground}) {
            from_[side] = From::part;
            whole_[side] = sums[part_[side]];
        }
    }

    template <class Add>
    GPV_DEVICE void add_part(const Add &add, bool part, int cell) const {
        add(part, cell, unknown_pixels(cell));
        add(2 + part, cell, job_.counts[unknown_at_edge][cell]);
    }

    GPV_DEVICE void note_means(const Moments *clusters) {
        worker_.each(2 * 3, [&](int i) {
            const Moments &m = clusters[i / 3];
            worker_.notes().means[i / 3][i % 3] = static_cast<float>(
                static_cast<double>(m.sum(i % 3)) / static_cast<double>(m.count));
        });
    }

    /// Squared distance from a cell to the mean of a cluster, in levels.
    GPV_DEVICE float distance(int cell, int cluster) {
        const Color l = levels_of(cell);
        const float *mean = worker_.notes().means[cluster];
        const float x = static_cast<float>(l.red) - mean[0],
                    y = static_cast<float>(l.green) - mean[1],
                    z = static_cast<float>(l.blue) - mean[2];
        return (x * x + y * y) + z * z;
    }

    // ---- mixtures -------------------------------------------------------------------

    GPV_DEVICE void fit_mixtures() {
        constexpr bool both[] = {true, true};
        bool first = false;
        for (const Side side : {background, foreground}) {
            fresh_[side] = whole_[side].count > 0 && !had(side);
            first = first || fresh_[side];
        }
        if (first)
            split();
        for (int i = 0; i < (first ? first_refinements : 1); i++) {
            const Moments *sums = worker_.pass([&](int cell, const auto &add) {
                for (const Side side : {background, foreground}) {
                    const std::uint32_t count = pixels(side, cell);
                    add(components * side + (count ? best(side, cell) : 0), cell, count);
                }
            });
            take(sums, both);
        }
    }

    /// The component with the least cost for a cell; ties go to the first.
    GPV_DEVICE int best(Side side, int cell) {
        const Color l = levels_of(cell);
        const float r = middle_of(l.red), g = middle_of(l.green), b = middle_of(l.blue);
        float minimum = infinite_cost;
        int which = 0;
        for (int i = 0; i < components; i++) {
            const float cost = slot(components * side + i).cost(r, g, b);
            if (cost < minimum) {
                minimum = cost;
                which = i;
            }
        }
        return which;
    }

    GPV_DEVICE void take(const Moments *sums, const bool (&wanted)[2]) {
        worker_.each(max_slots, [&](int i) {
            const Moments &whole = whole_[i / components];
            if (wanted[i / components] && whole.count)
                slot(i) = gaussian_of(sums[i], whole.count);
        });
    }

    /// Makes components of fresh sides: repeatedly halves the component with the greatest total
    /// spread along an axis.
    GPV_DEVICE void split() {
        const Moments *sums = nullptr;
        for (int made = 1; made < components; made++) {
            const auto of = [&](Side side, int i) -> const Moments & {
                return made == 1 ? whole_[side] : sums[components * side + i];
            };
            worker_.each(max_slots, [&](int i) {
                if (i % components >= made)
                    return;
                const Moments &m = of(static_cast<Side>(i / components), i % components);
                worker_.notes().axis[i] = m.widest();
                worker_.notes().spread[i] = m.spread(m.widest());
            });
            const int cut[] = {widest(background, made), widest(foreground, made)};
            sums = worker_.pass([&](int cell, const auto &add) {
                for (const Side side : {background, foreground}) {
                    const std::uint32_t count = fresh_[side] ? pixels(side, cell) : 0;
                    std::uint8_t &label = worker_.label(side, cell);
                    if (made == 1)
                        label = 0;
                    if (count && label == cut[side] &&
                        of(side, cut[side])
                            .above_mean(cell, worker_.notes().axis[components * side + cut[side]]))
                        label = static_cast<std::uint8_t>(made);
                    add(components * side + label, cell, count);
                }
            });
        }
        take(sums, fresh_);
    }

    /// The component with the greatest spread among the first `made` ones of a side; ties go to
    /// the first.
    GPV_DEVICE int widest(Side side, int made) {
        const double *spread = worker_.notes().spread + components * side;
        int best = 0;
        for (int i = 1; i < made; i++)
            if (spread[i] > spread[best])
                best = i;
        return best;
    }

    // ---- means and histograms -------------------------------------------------------

    /// One component for each side. Its variance on every axis is the mean one within both sides.
    GPV_DEVICE void fit_means() {
        double spread = 0;
        for (const Side side : {background, foreground})
            for (int axis = 0; axis < 3; axis++)
                spread += whole_[side].spread(axis);
        const double pixels = static_cast<double>(whole_[0].count + whole_[1].count);
        const double variance =
            level_step * level_step * spread / (3 * std::max(pixels, 1.0)) + min_variance;
        worker_.each(max_slots, [&](int i) {
            const Moments &whole = whole_[i / components];
            if (whole.count)
                slot(i) = i % components ? Gaussian{.constant = infinite_cost}
                                         : sphere_of(whole, variance);
        });
    }

    GPV_DEVICE void fit_tables() {
        worker_.parallel_for(2 * table_cells, [&](int i) {
            const auto side = static_cast<Side>(i / table_cells);
            const int cell = i % table_cells;
            const Color at = table_levels_of(cell);
            std::uint32_t sum = 0;
            for (int j = 0; j < 8; j++)
                sum += pixels(side, cell_at(2 * at.red + (j >> 2), 2 * at.green + (j >> 1 & 1),
                                            2 * at.blue + (j & 1)));
            worker_.coarse(side)[cell] = sum;
        });
        worker_.parallel_for(2 * table_cells, [&](int i) {
            const auto side = static_cast<Side>(i / table_cells);
            const std::uint64_t total = whole_[side].count;
            if (total)
                job_.model->table[side][i % table_cells] =
                    rarity(smooth(worker_.coarse(side), i % table_cells), total);
            else if (had(side) && job_.from != job_.model)
                job_.model->table[side][i % table_cells] = job_.from->table[side][i % table_cells];
        });
    }

    /// 64 times the weighted mean of the neighbourhood: weights 1 2 1 along each axis, edge cells
    /// repeated beyond the edge.
    GPV_DEVICE static std::uint64_t smooth(const std::uint32_t *coarse, int cell) {
        const Color at = table_levels_of(cell);
        const auto clamp = [](int level) {
            return level < 0 ? 0 : level < table_levels ? level : table_levels - 1;
        };
        std::uint64_t sum = 0;
        for (int r = -1; r <= 1; r++)
            for (int g = -1; g <= 1; g++)
                for (int b = -1; b <= 1; b++)
                    sum += static_cast<std::uint64_t>((2 - r * r) * (2 - g * g) * (2 - b * b)) *
                           coarse[(clamp(at.red + r) * table_levels + clamp(at.green + g)) *
                                      table_levels +
                                  clamp(at.blue + b)];
        return sum;
    }

    Worker &worker_;
    const FitJob &job_;
    From from_[2] = {};
    int part_[2] = {};
    Moments whole_[2] = {}; ///< moments of each side
    bool fresh_[2] = {};    ///< the side has no components yet
};

} // namespace gpv::segment
