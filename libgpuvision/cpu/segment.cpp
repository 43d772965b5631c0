// SPDX-License-Identifier: BSD-2-Clause
// Segmentation: reads the picture into planes of red, green and blue, makes
// terminals and links of them, and leaves the cut to the solver.
#include "core/segment.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "core/arena.hpp"
#include "core/segment_edge.hpp"
#include "core/segment_fit.hpp"
#include "cpu/colors.hpp"
#include "cpu/segment_edge.hpp"
#include "cpu/threads.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/segment.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gpv::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;

/// As segment::cost_of(), in the same order.
HWY_INLINE Vector cost_of(const segment::Gaussian *mixture, Vector r, Vector g, Vector b) {
    const Floats d;
    const auto times = [&](float factor, Vector v)
                           HWY_ATTR { return hn::Mul(hn::Set(d, factor), v); };
    Vector minimum = hn::Set(d, segment::infinite_cost);
    for (int i = 0; i < segment::components; i++) {
        const segment::Gaussian &m = mixture[i];
        const Vector dx = hn::Sub(r, hn::Set(d, m.x)), dy = hn::Sub(g, hn::Set(d, m.y)),
                     dz = hn::Sub(b, hn::Set(d, m.z));
        const Vector x =
            hn::Mul(dx, hn::Add(hn::Add(times(m.xx, dx), times(m.xy, dy)), times(m.xz, dz)));
        const Vector y = hn::Mul(dy, hn::Add(times(m.yy, dy), times(m.yz, dz)));
        const Vector z = hn::Mul(dz, times(m.zz, dz));
        minimum = hn::Min(hn::Add(hn::Add(hn::Add(hn::Set(d, m.constant), x), y), z), minimum);
    }
    return minimum;
}

/// Terminals of pixels of which nothing is known, by mixtures that are both there; in whole
/// vectors.
void terminal_row(const segment::Gaussian (*mixture)[segment::components], float weight,
                  const std::uint8_t *const *colors, std::int32_t *out, std::size_t length) {
    const Floats d;
    const hn::RebindToSigned<Floats> di;
    const hn::Rebind<std::uint8_t, Floats> d8;
    const auto max_preference = hn::Set(d, segment::max_preference);
    const auto maximum = hn::Set(d, segment::max_data), half = hn::Set(d, 0.5f);
    const auto load = [&](int i, std::size_t x) HWY_ATTR {
        return hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(d8, colors[i] + x)));
    };
    for (std::size_t x = 0; x < length; x += hn::Lanes(d)) {
        const Vector r = load(0, x), g = load(1, x), b = load(2, x);
        const Vector preference = hn::Clamp(hn::Sub(cost_of(mixture[segment::background], r, g, b),
                                                    cost_of(mixture[segment::foreground], r, g, b)),
                                            hn::Neg(max_preference), max_preference);
        const Vector v =
            hn::Clamp(hn::Mul(preference, hn::Set(d, weight)), hn::Neg(maximum), maximum);
        hn::StoreU(hn::ConvertTo(di, hn::Add(v, hn::CopySign(half, v))), di, out + x);
    }
}

/// Squared, of each pixel of one row and that of another.
HWY_INLINE auto difference(const std::uint8_t *const *a, const std::uint8_t *const *b,
                           std::size_t x) {
    const hn::RebindToSigned<Floats> d;
    const hn::Rebind<std::uint8_t, Floats> d8;
    auto sum = hn::Zero(d);
    for (int i = 0; i < 3; i++) {
        const auto apart = hn::Sub(hn::PromoteTo(d, hn::LoadU(d8, a[i] + x)),
                                   hn::PromoteTo(d, hn::LoadU(d8, b[i] + x)));
        sum = hn::Add(sum, hn::Mul(apart, apart));
    }
    return sum;
}

/// The sum over so many pixels, at most 2^15.
std::uint64_t sum_differences(const std::uint8_t *const *a, const std::uint8_t *const *b,
                              std::size_t length) {
    const hn::RebindToSigned<Floats> d;
    const std::size_t lanes = hn::Lanes(d);
    std::uint64_t sum = 0;
    constexpr std::size_t block = 4096; // whose sum is below 2^31
    for (std::size_t begin = 0; begin < length; begin += block) {
        const std::size_t end = std::min(begin + block, length);
        auto total = hn::Zero(d);
        for (std::size_t x = begin; x < end; x += lanes) {
            const auto inside = hn::FirstN(d, end - x);
            total = hn::Add(total, hn::IfThenElseZero(inside, difference(a, b, x)));
        }
        HWY_ALIGN std::int32_t parts[HWY_MAX_BYTES / sizeof(std::int32_t)];
        hn::Store(total, d, parts);
        for (std::size_t i = 0; i < lanes; i++)
            sum += static_cast<std::uint32_t>(parts[i]);
    }
    return sum;
}

/// As segment::link_of(), in the same order; in whole vectors.
void link_row(const std::uint8_t *const *a, const std::uint8_t *const *b, float falloff,
              float unit_there, std::int32_t *out, std::size_t length) {
    const Floats d;
    const hn::RebindToSigned<Floats> di;
    const auto half = hn::Set(d, 0.5f), maximum = hn::Set(d, segment::max_halvings);
    for (std::size_t x = 0; x < length; x += hn::Lanes(d)) {
        const Vector times = hn::Mul(hn::Set(d, falloff), hn::ConvertTo(d, difference(a, b, x)));
        const Vector halvings = hn::Min(times, maximum);
        const auto whole = hn::ConvertTo(di, hn::Add(halvings, half));
        const Vector rest = hn::Sub(hn::ConvertTo(d, whole), halvings);
        Vector power = hn::Zero(d);
        for (int i = 0; i < segment::power_terms; i++)
            power = hn::Add(hn::Mul(power, rest), hn::Set(d, segment::power_factor(i)));
        const Vector scale = hn::BitCast(d, hn::ShiftLeft<23>(hn::Sub(hn::Set(di, 127), whole)));
        const Vector v = hn::Mul(hn::Set(d, unit_there), hn::Mul(power, scale));
        const auto capacity = hn::ConvertTo(di, hn::Add(v, half));
        hn::StoreU(capacity, di, out + x);
    }
}

} // namespace
} // namespace gpv::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gpv::cpu {
namespace {

using namespace segment;

HWY_EXPORT(terminal_row);
HWY_EXPORT(sum_differences);
HWY_EXPORT(link_row);

constexpr std::size_t table_alignment = 64;

static_assert(cells - 1 <= std::numeric_limits<std::uint16_t>::max());

using ColorRows = std::array<const std::uint8_t *, 3>;

/// Of the segmentation of an image, what is kept while it runs.
struct Workspace {
    std::uint8_t *colors[3]; ///< planes, whose rows are padded
    std::size_t stride;      ///< of rows of all that is here, pixels
    std::int32_t *terminals;
    std::int32_t *links[4]; ///< to the neighbours of the first half of directions
    std::uint8_t *sides;    ///< null where the mask has them
    std::uint8_t *alpha;    ///< of soft edges, where the caller wants no mask
    std::uint32_t *counts;  ///< by worker, what is known, and cell
    std::uint16_t *present; ///< cells that have pixels
    std::uint8_t *labels;   ///< of the worker of Fit
    std::uint32_t *coarse;

    Workspace(Arena &arena, const SegmentRun &run, const gpv_segment_params &params, int workers)
        : stride(round_up(run.src.width, 64) + color_row_padding) {
        const std::size_t pixels = stride * run.src.height;
        for (std::uint8_t *&plane : colors)
            plane = arena.allocate<std::uint8_t>(pixels);
        terminals = arena.allocate<std::int32_t>(pixels);
        for (int i = 0; i < params.connectivity / 2;
             i++) // a row and a pixel in front, for planes of arcs
            links[i] = arena.allocate<std::int32_t>(pixels + stride + 1, stride + 1); // back
        const bool soft = softens(params, run);
        sides = run.mask && !soft ? nullptr : arena.allocate<std::uint8_t>(pixels);
        alpha = run.mask || !soft ? nullptr : arena.allocate<std::uint8_t>(pixels);
        counts = arena.allocate<std::uint32_t>(std::size_t{known_kinds} * cells * workers);
        present = arena.allocate<std::uint16_t>(cells);
        labels = arena.allocate<std::uint8_t>(3 * std::size_t{cells});
        coarse = arena.allocate<std::uint32_t>(2 * std::size_t{table_cells});
    }

    ColorRows colors_from(std::size_t at) const {
        return {colors[0] + at, colors[1] + at, colors[2] + at};
    }
    Color color(std::size_t at) const { return {colors[0][at], colors[1][at], colors[2][at]}; }
};

/// The one that fits on the CPU. In a small picture most cells have no pixels: passes leave them
/// out.
class FitWorker {
  public:
    explicit FitWorker(const Workspace &work) : work_(work) {
        std::fill_n(&part(0), cells, 0); // tables look at those of all cells
        const std::uint32_t *counts = work_.counts;
        for (int cell = 0; cell < cells; cell++) {
            std::uint32_t seen = 0;
            for (int kind = 0; kind < far_background; kind++)
                seen |= counts[kind * cells + cell];
            if (seen)
                work_.present[present_++] = static_cast<std::uint16_t>(cell);
        }
    }

    template <class F>
    void parallel_for(int count, F f) {
        for (int i = 0; i < count; i++)
            f(i);
    }
    template <class F>
    void each(int count, F f) {
        parallel_for(count, f);
    }
    template <class F>
    void once(F f) {
        f();
    }
    template <class F>
    const Moments *pass(F f) {
        which_ = (which_ + 1) % std::size(sums_);
        auto &sums = sums_[which_];
        sums.fill({});
        for (int i = 0; i < present_; i++)
            f(work_.present[i], [&](int slot, int of, std::uint32_t count) {
                if (count)
                    sums[slot] += moments_of(of, count);
            });
        return sums.data();
    }

    std::uint8_t &label(Side side, int cell) { return work_.labels[side * cells + cell]; }
    std::uint8_t &part(int cell) { return work_.labels[2 * cells + cell]; }
    std::uint32_t *coarse(Side side) { return work_.coarse + side * table_cells; }
    Gaussian (*mixture())[components] { return mixture_; }
    FitNotes &notes() { return notes_; }

  private:
    const Workspace &work_;
    int present_ = 0;
    std::array<Moments, max_slots> sums_[2];
    std::size_t which_ = 0;
    Gaussian mixture_[2][components];
    FitNotes notes_;
};

class CpuSegment final : public Segment {
  public:
    explicit CpuSegment(const std::shared_ptr<Context> &context)
        : scratch_(context), solver_(make_graphcut(context)) {}

    void set_params(const gpv_segment_params &params) override {
        if (params.model != params_.model)
            forget_model();
        if (!params.static_scene)
            contrast_ = {};
        params_ = params;
    }
    void forget_model() override {
        learned_ = adapted_ = false;
        contrast_ = {};
    }
    bool learned() override { return learned_; }

    void prepare(const SegmentRun &shapes) override {
        reserve(shapes, nullptr);
        solver_->prepare(links_image(allocate(shapes), shapes));
    }

    bool run(Stream stream, const SegmentRun &run) override {
        reserve(run, stream);
        const Workspace work = allocate(run);
        read_colors(work, run);
        const bool adapts = params_.warm_start == GPV_SEGMENT_WARM_START_ADAPT;
        const bool learned = learned_ && params_.warm_start != GPV_SEGMENT_WARM_START_NONE;
        Contrast contrast = adapts && !learned ? Contrast{} : contrast_;
        make_links(work, run, contrast);
        const int iterations = iterations_of(params_, learned || (adapts && adapted_));
        learned_ = adapted_ = false; // should this fail
        contrast_ = {};
        const Model *model = &kept_;
        for (int iteration = 0; iteration < iterations; iteration++) {
            if (iteration > 0) {
                Model *const next = adapts ? &own_ : &kept_;
                count(work, run, true);
                fit(work, model, next);
                model = next;
            } else if (!learned) {
                count(work, run, false);
                fit(work, nullptr, &kept_);
            }
            make_terminals(work, run, *model);
            cut(work, run, stream, iteration == 0, iteration == iterations - 1);
        }
        learned_ = adapts ? adapt(work, run, model)
                          : learned || has_two_sides(run, solver_->result().area);
        adapted_ = adapts;
        if (params_.static_scene && (!adapts || learned_))
            contrast_ = contrast;
        if (softens(params_, run))
            soften(work, run);
        if (run.mask)
            clear_chroma(*run.mask);
        if (run.dst)
            paint(work, run);
        return true;
    }

    bool finished() override { return true; }
    void wait() override {}
    GraphcutResult result() const override { return solver_->result(); }
    GraphcutFault fault() const override { return solver_->fault(); }

  private:
    // ---- scratch --------------------------------------------------------------------

    int workers(const SegmentRun &run) const {
        return workers_for(pixels_of(run), grain_pixels, scratch_.context().thread_limit());
    }

    void reserve(const SegmentRun &run, Stream stream) {
        workers_ = workers(run);
        Arena arena(table_alignment);
        Workspace(arena, run, params_, workers_);
        scratch_.reserve(arena.required(), stream);
    }
    Workspace allocate(const SegmentRun &run) {
        Arena arena(table_alignment, scratch_.data());
        return {arena, run, params_, workers_};
    }

    /// Calls f(worker, y) for all rows.
    template <class F>
    void for_rows(const SegmentRun &run, F f) const {
        parallel_bands(run.src.height, band_rows, workers_, [&](int worker, int first, int last) {
            for (int y = first; y < last; y++)
                f(worker, y);
        });
    }

    static Image terminals_image(const Workspace &work, const SegmentRun &run) {
        return plane_image(run.src, Format::label32, work.terminals,
                           work.stride * sizeof(std::int32_t));
    }
    Image links_image(const Workspace &work, const SegmentRun &run) const {
        return segment::links_image(run.src, params_.connectivity, work.links,
                                    work.stride * sizeof(std::int32_t));
    }
    /// The cut, as GRAY8.
    static Image sides_image(const Workspace &work, const SegmentRun &run) {
        return work.sides ? plane_image(run.src, Format::gray8, work.sides, work.stride)
                          : luma_plane(*run.mask);
    }
    /// What becomes of it.
    Image alpha_image(const Workspace &work, const SegmentRun &run) const {
        return !softens(params_, run) ? sides_image(work, run)
               : run.mask             ? luma_plane(*run.mask)
                          : plane_image(run.src, Format::gray8, work.alpha, work.stride);
    }

    // ---- steps ----------------------------------------------------------------------

    void read_colors(const Workspace &work, const SegmentRun &run) const {
        const ColorReader reader(run.src);
        for_rows(run, [&](int, int y) {
            const std::size_t at = y * work.stride;
            std::uint8_t *const rows[] = {work.colors[0] + at, work.colors[1] + at,
                                          work.colors[2] + at};
            reader.read(y, rows);
        });
    }

    /// Calls f(here, there, pixels, at) for a row and a direction: rows of colours from the first
    /// pixel on that has a neighbour, and of the neighbours, and where it lies.
    template <class F>
    void for_neighbours(const Workspace &work, const SegmentRun &run, int direction, int y,
                        F f) const {
        const int dx = step_x(direction, params_.connectivity),
                  dy = step_y(direction, params_.connectivity);
        const int pixels = run.src.width - std::abs(dx);
        if (y + dy >= run.src.height || pixels == 0)
            return;
        const std::size_t at = y * work.stride + (dx < 0);
        const ColorRows here = work.colors_from(at),
                        there = work.colors_from(at + dy * work.stride + dx);
        f(here.data(), there.data(), static_cast<std::size_t>(pixels), at);
    }

    std::uint64_t sum_of_differences(const Workspace &work, const SegmentRun &run) const {
        std::atomic<std::uint64_t> sum = 0;
        for_rows(run, [&](int, int y) {
            for (int i = 0; i < params_.connectivity / 2; i++)
                for_neighbours(
                    work, run, i, y, [&](auto *here, auto *there, std::size_t pixels, std::size_t) {
                        sum += HWY_DYNAMIC_DISPATCH(sum_differences)(here, there, pixels);
                    });
        });
        return sum;
    }

    void make_links(const Workspace &work, const SegmentRun &run, Contrast &contrast) const {
        const int width = run.src.width, height = run.src.height;
        if (params_.sigma == 0 && !contrast.holds(width, height, params_.connectivity))
            contrast = {sum_of_differences(work, run), width, height, params_.connectivity};
        const float falloff = falloff_of(params_.sigma, contrast.differences,
                                         links_of(width, height, params_.connectivity));
        for_rows(run, [&](int, int y) {
            for (int i = 0; i < params_.connectivity / 2; i++) {
                const float there_unit = unit_of_link(i, params_.connectivity);
                for_neighbours(work, run, i, y,
                               [&](auto *here, auto *there, std::size_t pixels, std::size_t at) {
                                   HWY_DYNAMIC_DISPATCH(link_row)
                                   (here, there, falloff, there_unit, work.links[i] + at, pixels);
                               });
            }
        });
    }

    /// Calls f(x, what is known) for the pixels of a row.
    template <class F>
    static void for_known(const SegmentRun &run, int y, F f) {
        const auto *seeds =
            run.seeds ? reinterpret_cast<const std::uint8_t *>(run.seeds->planes[0].row(y))
                      : nullptr;
        const bool edge_row = y == 0 || y == run.src.height - 1;
        const Rect learned = learned_from(run);
        for (int x = 0; x < run.src.width; x++) {
            const bool outside = run.rect && !run.rect->has(x, y);
            const bool at_edge = edge_row || x == 0 || x == run.src.width - 1;
            f(x, !outside ? known_of(seeds ? seeds[x] : GPV_SEGMENT_SEED_UNKNOWN, at_edge)
                 : learned.has(x, y) ? known_background
                                     : far_background);
        }
    }
    /// What colours are learned from.
    static Rect learned_from(const SegmentRun &run) {
        return run.rect ? near(*run.rect) : Rect{0, 0, run.src.width, run.src.height};
    }

    void count(const Workspace &work, const SegmentRun &run, bool of_cut) const {
        std::memset(work.counts, 0, sizeof(*work.counts) * known_kinds * cells * workers_);
        const Image cut = sides_image(work, run);
        const Rect learned = learned_from(run);
        for_rows(run, [&](int worker, int y) {
            std::uint32_t *counts = work.counts + std::size_t{known_kinds} * cells * worker;
            const auto add = [&](int x, int known) {
                counts[known * cells + cell_of(work.color(y * work.stride + x))]++;
            };
            if (!of_cut)
                return for_known(run, y, [&](int x, Known known) { add(x, counted_as(known)); });
            const auto *sides = reinterpret_cast<const std::uint8_t *>(cut.planes[0].row(y));
            for (int x = 0; x < run.src.width; x++)
                add(x, learned.has(x, y) ? known_of(sides[x], false) : far_background);
        });
        for (int worker = 1; worker < workers_; worker++)
            for (int i = 0; i < known_kinds * cells; i++)
                work.counts[i] += work.counts[std::size_t{known_kinds} * cells * worker + i];
    }

    /// from: null where learning begins.
    void fit(const Workspace &work, const Model *from, Model *to) {
        FitWorker worker(work);
        const FitJob job{.kind = params_.model,
                         .counts = reinterpret_cast<Counts>(work.counts),
                         .continues = from != nullptr,
                         .from = from ? from : to,
                         .model = to,
                         .scene = &scene_};
        Fit(worker, job).run();
    }

    /// Learns from the last cut if it is worth learning from. Returns whether anything is kept.
    bool adapt(const Workspace &work, const SegmentRun &run, const Model *model) {
        count(work, run, true);
        Marginals frame{};
        for (int cell = 0; cell < cells; cell++) {
            const std::uint32_t pixels = work.counts[known_background * cells + cell] +
                                         work.counts[known_foreground * cells + cell] +
                                         work.counts[far_background * cells + cell];
            const Color l = levels_of(cell);
            frame.pixels[0][l.red] += pixels;
            frame.pixels[1][l.green] += pixels;
            frame.pixels[2][l.blue] += pixels;
        }
        scene_.see(frame, pixels_of(run), solver_->result().area);
        if (!scene_.ignored)
            fit(work, model, &kept_);
        return scene_.kept;
    }

    static std::int64_t pixels_of(const SegmentRun &run) {
        return std::int64_t{run.src.width} * run.src.height;
    }

    void make_terminals(const Workspace &work, const SegmentRun &run, const Model &model) const {
        const float weight = params_.lambda * unit;
        const bool mixed = params_.model != GPV_SEGMENT_MODEL_HISTOGRAM &&
                           model.present[background] && model.present[foreground];
        for_rows(run, [&](int, int y) {
            const std::size_t at = y * work.stride;
            std::int32_t *out = work.terminals + at;
            if (mixed) {
                const ColorRows rows = work.colors_from(at);
                HWY_DYNAMIC_DISPATCH(terminal_row)
                (model.mixture, weight, rows.data(), out, run.src.width);
            }
            for_known(run, y, [&](int x, Known known) {
                if (is_background(known))
                    out[x] = -max_terminal;
                else if (known == known_foreground)
                    out[x] = max_terminal;
                else if (!mixed) // tables, or a side is absent
                    out[x] = terminal_of(
                        preference<GPV_SEGMENT_MODEL_HISTOGRAM>(model.present, model.mixture,
                                                                model.table, work.color(at + x)),
                        weight);
            });
        });
    }

    void cut(const Workspace &work, const SegmentRun &run, Stream stream, bool first, bool last) {
        gpv_graphcut_params params = cut_params(params_);
        params.certificate &= last;
        solver_->set_params(params);
        GraphcutRun cut = {.terminals = terminals_image(work, run),
                           .links = links_image(work, run),
                           .mask = sides_image(work, run),
                           .result = last ? run.result : nullptr};
        reuse_flow(params_, first, last, cut);
        solver_->run(stream, cut);
    }

    // ---- pictures -------------------------------------------------------------------

    /// Known pixels stay as they are.
    void soften(const Workspace &work, const SegmentRun &run) const {
        const Image sides = sides_image(work, run), alpha = alpha_image(work, run);
        const auto row = [](const Image &image, int y) {
            return reinterpret_cast<std::uint8_t *>(image.planes[0].row(y));
        };
        const EdgePicture picture{.colors = {work.colors[0], work.colors[1], work.colors[2]},
                                  .stride = work.stride,
                                  .sides = row(sides, 0),
                                  .sides_stride = sides.planes[0].stride,
                                  .width = run.src.width,
                                  .height = run.src.height};
        parallel_bands(run.src.height, edge_band_rows, workers_, [&](int, int first, int last) {
            cpu::soften(picture, first, last, row(alpha, first), alpha.planes[0].stride);
            for (int y = first; y < last && (run.seeds || run.rect); y++)
                for_known(run, y, [&](int x, Known known) {
                    if (is_known(known))
                        row(alpha, y)[x] = row(sides, y)[x];
                });
        });
    }

    static void clear_chroma(const Image &mask) {
        for (int plane = 1; plane < mask.plane_count(); plane++) {
            const PlaneShape shape = mask.shape(plane);
            for (int y = 0; y < shape.rows; y++)
                std::memset(mask.planes[plane].row(y), neutral_chroma8, shape.row_bytes());
        }
    }

    void paint(const Workspace &work, const SegmentRun &run) const {
        const bool cuts_out = params_.output == GPV_SEGMENT_OUTPUT_CUTOUT;
        const Image mask = cuts_out ? alpha_image(work, run) : sides_image(work, run);
        const Pixels pixels(run.src);
        for_rows(run, [&](int, int y) {
            const auto *values = reinterpret_cast<const std::uint8_t *>(mask.planes[0].row(y));
            if (cuts_out)
                cut_out_row(work, run, y, values);
            else
                overlay_row(pixels, run, y, values);
        });
    }

    /// The foreground is copied. Of the background, formats with a plane of bytes of luma, and RGB
    /// side by side, are dimmed a row at a time.
    static void overlay_row(const Pixels &pixels, const SegmentRun &run, int y,
                            const std::uint8_t *sides) {
        const auto from = rows_of(run.src), to = rows_of(*run.dst);
        if (pixels.at[0].step == 2) { // where a row may end with luma of no pixel
            for (int x = 0; x < pixels.width; x++)
                overlay(pixels, x, y, sides[x] == mask_background, from, to);
            return;
        }
        for (int i = 0; i < run.src.plane_count(); i++) {
            const int row = y >> pixels.at[i].shift_y;
            const bool begins = pixels.begins(i, 0, y);
            if (begins && from(i, row) != to(i, row))
                std::memcpy(to(i, row), from(i, row), run.src.shape(i).row_bytes());
        }
        if (is_interleaved_rgb(run.src.format))
            return dim_rgb_row(pixels, to(0, y), sides);
        if (pixels.model == ColorModel::rgb || pixels.wide) {
            for (int x = 0; x < pixels.width; x++)
                if (sides[x] == mask_background)
                    overlay(pixels, x, y, true, to, to);
            return;
        }
        const int black = pixels.model == ColorModel::yuv ? pixels.rgb.luma_offset : 0;
        std::uint8_t *luma = to(0, y);
        for (int x = 0; x < pixels.width; x++)
            luma[x] = static_cast<std::uint8_t>(sides[x] == mask_background ? (luma[x] + black) / 2
                                                                            : luma[x]);
        for (int c = 1; c < pixels.count && pixels.begins(c, 0, y); c++) {
            const Channel &at = pixels.at[c];
            std::uint8_t *chroma = to(at.plane, y >> at.shift_y) + at.offset;
            for (int x = 0; x < pixels.width; x += 1 << at.shift_x)
                if (sides[x] == mask_background)
                    chroma[(x >> at.shift_x) * at.step] = neutral_chroma8;
        }
    }

    static void dim_rgb_row(const Pixels &pixels, std::uint8_t *pixel, const std::uint8_t *sides) {
        const int red = pixels.at[0].offset, green = pixels.at[1].offset,
                  blue = pixels.at[2].offset;
        for (int x = 0; x < pixels.width; x++, pixel += pixels.at[0].step)
            if (sides[x] == mask_background)
                pixel[red] = pixel[green] = pixel[blue] =
                    static_cast<std::uint8_t>(grey({pixel[red], pixel[green], pixel[blue]}) / 2);
    }

    static void cut_out_row(const Workspace &work, const SegmentRun &run, int y,
                            const std::uint8_t *alpha) {
        auto *out = reinterpret_cast<std::uint8_t *>(run.dst->planes[0].row(y));
        const std::uint8_t *own = nullptr;
        if (has_alpha(run.src.format))
            own = rows_of(run.src)(0, y) + format_info(run.src.format).at[3].offset;
        const int red = blue_first(run.dst->format) ? 2 : 0;
        for (int x = 0; x < run.src.width; x++, out += 4) {
            const std::size_t at = y * work.stride + x;
            out[red] = work.colors[0][at];
            out[1] = work.colors[1][at];
            out[2 - red] = work.colors[2][at];
            out[3] = static_cast<std::uint8_t>(
                own ? product_of_alphas(own[4 * std::ptrdiff_t{x}], alpha[x]) : alpha[x]);
        }
    }

    gpv_segment_params params_{};
    Model kept_{}; ///< what runs begin with
    Model own_{};  ///< what one that adapts learns between its cuts
    Scene scene_{};
    Contrast contrast_{};
    bool learned_ = false;
    bool adapted_ = false; ///< the last run
    int workers_ = 1;
    Buffer scratch_;
    std::unique_ptr<Graphcut> solver_;
};

} // namespace

std::unique_ptr<Segment> make_segment(std::shared_ptr<Context> context) {
    return std::make_unique<CpuSegment>(context);
}

} // namespace gpv::cpu
#endif
