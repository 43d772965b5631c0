// SPDX-License-Identifier: BSD-2-Clause
// Labelling by runs (He, Chao and Suzuki, 2008). The image is cut into strips of
// rows, each with tables of its own:
//   label   rows to bits, bits to runs; a run joins those that it touches in the row above.
//           The components of the strip are numbered, and measured by their runs.
//   merge   components that touch across the border of two strips become one
//   number  those that are kept get labels
//   paint   each run is filled with what its component has become
// Strips are labelled, and rows are painted, in parallel. Of two runs or
// components that join, the one with the smaller index becomes the root, so
// that roots are in the raster order of their first pixels.
#include "core/ccl.hpp"

#include <cstring>
#include <numeric>

#include "core/arena.hpp"
#include "cpu/colors.hpp"
#include "cpu/rows.hpp"
#include "cpu/runs.hpp"
#include "cpu/threads.hpp"

namespace gpv::cpu {
namespace {

constexpr std::size_t table_alignment = 64;

/// In a forest whose parents come before their children.
std::int32_t find_root(std::int32_t *parents, std::int32_t i) {
    while (parents[i] != i)
        i = parents[i] = parents[parents[i]];
    return i;
}

/// What a record says, from the runs of a component.
struct Extent {
    std::uint16_t left, top, right, bottom; ///< right and bottom are one behind
    std::int32_t area;
    std::int64_t sum_x, sum_y;

    static Extent of(Run run, int y) {
        const int length = run.end - run.start;
        return {.left = run.start,
                .top = static_cast<std::uint16_t>(y),
                .right = run.end,
                .bottom = static_cast<std::uint16_t>(y + 1),
                .area = length,
                .sum_x = std::int64_t{run.start + run.end - 1} * length / 2,
                .sum_y = std::int64_t{y} * length};
    }
    /// The next run in raster order.
    void add(Run run, int y) {
        const Extent other = of(run, y);
        left = std::min(left, other.left);
        right = std::max(right, other.right);
        bottom = other.bottom;
        area += other.area;
        sum_x += other.sum_x;
        sum_y += other.sum_y;
    }
    void add(const Extent &other) {
        left = std::min(left, other.left);
        top = std::min(top, other.top);
        right = std::max(right, other.right);
        bottom = std::max(bottom, other.bottom);
        area += other.area;
        sum_x += other.sum_x;
        sum_y += other.sum_y;
    }
    CclComponent record() const { return {left, top, right, bottom, area, 0, sum_x, sum_y}; }
};

/// What has been found in a row.
template <class T>
struct Row {
    const T *luma;
    RunBits bits;
    std::int32_t count; ///< runs
};

/// How an image is cut into strips, and what their tables hold at most.
struct Layout {
    int strips = 0;
    int strip_rows = 0;         ///< the last strip may have fewer
    std::size_t row_runs = 0;   ///< of a row
    std::size_t components = 0; ///< of a strip

    Layout() = default;
    /// The runs of a row are the components of an image of one row.
    Layout(const Image &src, const CclParams &params, int rows)
        : strips((src.height + rows - 1) / rows), strip_rows(rows),
          row_runs(max_components(params, src.width, 1)),
          components(max_components(params, src.width, rows)) {}
    std::size_t first_run(int strip) const { return row_runs * strip_rows * strip; }
    std::size_t first_component(int strip) const { return components * strip; }
};

/// What is written for a label.
class Painter {
  public:
    Painter(gpv_ccl_output output, const Image &dst)
        : pixels(dst), output_(output), sample_bytes_(dst.shape(0).sample_bytes),
          in_words_(is_interleaved_rgb(dst.format)) {}

    /// Whether runs are filled with samples or words; else pixels are painted one by one.
    bool fills_runs(const Image &dst) const {
        return output_ != GPV_CCL_OUTPUT_COLORS || in_words_ || dst.format == Format::gray8 ||
               dst.format == Format::nv12 || dst.format == Format::i420;
    }

    /// The sample of the first plane, or the bytes of a pixel from the lowest one on.
    std::uint32_t operator()(std::int32_t label) const {
        if (output_ == GPV_CCL_OUTPUT_LABELS)
            return std::min(label, max_label(sample_bytes_));
        if (output_ == GPV_CCL_OUTPUT_MASK)
            return label ? 255 : 0;
        const Color c = label_color(label);
        if (!in_words_)
            return pixels.value(0, c);
        std::uint32_t word = 0;
        for (int i = 0; i < pixels.count; i++)
            word |= static_cast<std::uint32_t>(pixels.value(i, c)) << 8 * pixels.at[i].offset;
        return word;
    }

    struct Chroma {
        std::uint8_t u, v;
    };
    Chroma chroma(std::int32_t label) const {
        const Color c = label_color(label);
        return {static_cast<std::uint8_t>(pixels.byte(1, c)),
                static_cast<std::uint8_t>(pixels.byte(2, c))};
    }

    const Pixels pixels;

  private:
    gpv_ccl_output output_;
    int sample_bytes_;
    bool in_words_;
};

class CpuCcl final : public Ccl {
  public:
    explicit CpuCcl(std::shared_ptr<Context> context) : scratch_(context) {}

    void set_params(const CclParams &params) override { params_ = params; }

    void prepare(const Image &src, const Image *dst, std::int64_t components) override {
        plan(src, dst, components > 0, nullptr);
    }

    bool run(Stream stream, const CclRun &run) override {
        plan(run.src, run.dst ? &*run.dst : nullptr, run.components.has_value(), stream);
        if (run.src.shape(0).sample_bytes == 2)
            label<std::uint16_t>(run.src);
        else
            label<std::uint8_t>(run.src);
        number(run);
        if (run.count)
            *run.count = count_;
        if (run.dst)
            paint(*run.dst);
        return true;
    }

    bool finished() override { return true; }
    void wait() override {}
    std::int32_t count() const override { return count_; }

  private:
    /// What each thread works in.
    struct Workspace {
        struct {
            std::uint64_t *set, *starts;
            std::uint8_t *luma;
            std::uint32_t *labels;
        } rows[2]; ///< of even and of odd rows
        std::uint64_t *edges, *vertical, *falling, *rising;
        Joint *joints;
        Run *runs;             ///< of chroma
        std::uint32_t *values; ///< of runs
    };

    static Workspace allocate_workspace(Arena &arena, int width) {
        Workspace w;
        const auto take_words = [&] {
            return arena.allocate<std::uint64_t>(row_words(width) +
                                                 pack_slack / sizeof(std::uint64_t));
        };
        for (auto &row : w.rows)
            row = {take_words(), take_words(), arena.allocate<std::uint8_t>(width),
                   arena.allocate<std::uint32_t>(width + 1)};
        for (std::uint64_t **words : {&w.edges, &w.vertical, &w.falling, &w.rising})
            *words = take_words();
        w.joints = arena.allocate<Joint>(max_joints(width));
        w.runs = arena.allocate<Run>((width + 1) / 2);
        w.values = arena.allocate<std::uint32_t>(width);
        return w;
    }

    Workspace workspace(int worker, int width) const {
        Arena arena(table_alignment, workspaces_ + workspace_bytes_ * worker);
        return allocate_workspace(arena, width);
    }

    void plan(const Image &src, const Image *dst, bool records, Stream stream) {
        constexpr std::int64_t grain = 1 << 17; // pixels: one thread labels them in 30 us or more
        const std::int64_t pixels = std::int64_t{src.width} * src.height;
        workers_ = workers_for(pixels, grain, scratch_.context().thread_limit());
        constexpr int minimum = 16;
        layout_ =
            Layout(src, params_,
                   workers_ == 1 ? src.height : std::max(minimum, src.height / (4 * workers_)));
        measures_ = records || params_.filters();
        paints_are_labels_ = !dst || dst->format == Format::label32;
        Arena arena(table_alignment);
        allocate(arena, src);
        scratch_.reserve(arena.required(), stream);
        arena = Arena(table_alignment, scratch_.data());
        allocate(arena, src);
    }

    void allocate(Arena &arena, const Image &src) {
        const std::size_t runs = layout_.first_run(layout_.strips);
        const std::size_t components = layout_.first_component(layout_.strips);
        runs_ = arena.allocate<Run>(runs);
        ids_ = arena.allocate<std::int32_t>(runs);
        row_starts_ = arena.allocate<std::int32_t>(src.height + layout_.strips);
        strip_components_ = arena.allocate<std::int32_t>(layout_.strips);
        labels_ = arena.allocate<std::int32_t>(components);
        extents_ = arena.allocate<Extent>(measures_ ? components : 0);
        paints_ = paints_are_labels_ ? reinterpret_cast<std::uint32_t *>(labels_)
                                     : arena.allocate<std::uint32_t>(components);
        Arena one(table_alignment);
        allocate_workspace(one, src.width);
        workspace_bytes_ = one.required();
        workspaces_ = arena.allocate<std::byte>(workspace_bytes_ * workers_);
    }

    bool equal_value() const { return params_.mode == GPV_CCL_MODE_EQUAL_VALUE; }

    // Strips, their runs and components.

    int first_row(int strip) const { return layout_.strip_rows * strip; }
    int strip_of(int y) const { return y / layout_.strip_rows; }

    /// Where the runs of a row begin in the table of its strip; those of the row
    /// behind its last one, where they end.
    std::int32_t &row_start(int strip, int y) const { return row_starts_[y + strip]; }

    /// Index of the first run of a row in the tables of all strips.
    std::size_t first_run(int strip, int y) const {
        return layout_.first_run(strip) + row_start(strip, y);
    }
    int run_count(int strip, int y) const { return row_start(strip, y + 1) - row_start(strip, y); }

    // Label.

    template <class T>
    void label(const Image &src) {
        parallel_bands(src.height, layout_.strip_rows, workers_,
                       [&](int worker, int first, int last) {
                           label_strip<T>(src, first, last, workspace(worker, src.width));
                       });
        for (int strip = 1; strip < layout_.strips; strip++)
            merge<T>(src, strip, workspace(0, src.width));
    }

    template <class T>
    static const T *luma_of(const Image &src, int y, const Workspace &work) {
        if constexpr (sizeof(T) == 2)
            return reinterpret_cast<const T *>(src.planes[0].row(y));
        else
            return luma_bytes(src, y, work.rows[y % 2].luma);
    }

    static std::uint8_t *bytes(std::uint64_t *words) {
        return reinterpret_cast<std::uint8_t *>(words);
    }

    /// The last of row_words() when the bits of all pixels are set.
    static std::uint64_t last_word(std::size_t length) {
        return (std::uint64_t{1} << length % 64) - 1;
    }

    template <class T>
    Row<T> read_row(const Image &src, int y, const Workspace &work, Run *runs) const {
        const ForegroundRule rule(params_);
        const std::size_t words = row_words(src.width);
        const T *luma = luma_of<T>(src, y, work);
        const auto &row = work.rows[y % 2];
        pack_row(luma, src.width, rule.flip, rule.threshold, bytes(row.set));
        if (rule.invert)
            for (std::size_t i = 0; i < words; i++)
                row.set[i] = ~row.set[i];
        row.set[words - 1] &= last_word(src.width);
        if (equal_value())
            pack_unequal(luma, luma + 1, src.width - 1, bytes(work.edges));
        const std::size_t count =
            find_runs(row.set, equal_value() ? work.edges : nullptr, words, row.starts, runs);
        return {luma, {row.set, row.starts}, static_cast<std::int32_t>(count)};
    }

    /// Leaves in work the joints of a row and the row below.
    template <class T>
    std::size_t join_rows(const Row<T> &above, const Row<T> &below, int width,
                          const Workspace &work) const {
        const bool corners = params_.connectivity == 8;
        const std::size_t words = row_words(width);
        if (!equal_value())
            return find_joints(above.bits, below.bits, words, corners, work.joints);
        pack_unequal(above.luma, below.luma, width, bytes(work.vertical));
        if (!corners)
            return find_equal_joints(above.bits, below.bits, {work.vertical, nullptr, nullptr},
                                     words, work.joints);
        pack_unequal(above.luma, below.luma + 1, width - 1, bytes(work.falling));
        pack_unequal(above.luma + 1, below.luma, width - 1, bytes(work.rising));
        return find_equal_joints(above.bits, below.bits, {work.vertical, work.falling, work.rising},
                                 words, work.joints);
    }

    template <class T>
    void label_strip(const Image &src, int first, int last, const Workspace &work) {
        const int strip = strip_of(first);
        Run *runs = runs_ + layout_.first_run(strip);
        std::int32_t *parents = ids_ + layout_.first_run(strip);
        std::int32_t found = 0;
        Row<T> above{};
        for (int y = first; y < last; y++) {
            row_start(strip, y) = found;
            const Row<T> row = read_row<T>(src, y, work, runs + found);
            std::iota(parents + found, parents + found + row.count, found);
            if (y > first)
                unite_rows(parents, found - above.count, found, work.joints,
                           join_rows(above, row, src.width, work));
            found += row.count;
            above = row;
        }
        row_start(strip, last) = found;
        number_strip(strip, first, last);
    }

    /// Joins a row, whose runs are their own parents yet, to the row above.
    /// above, below: indices of their first runs.
    static void unite_rows(std::int32_t *parents, std::int32_t above, std::int32_t below,
                           const Joint *joints, std::size_t count) {
        for (std::size_t i = 0; i < count; i++) {
            std::int32_t &parent = parents[below + joints[i].below]; // a root: see find_joints()
            const std::int32_t root = find_root(parents, parents[above + joints[i].above]);
            const auto [first, second] = std::minmax({root, parent});
            parents[second] = first;
            parent = first;
        }
    }

    /// From parents of runs to components of the strip.
    void number_strip(int strip, int first, int last) {
        const Run *runs = runs_ + layout_.first_run(strip);
        std::int32_t *ids = ids_ + layout_.first_run(strip);
        Extent *extents = extents_ + (measures_ ? layout_.first_component(strip) : 0);
        std::int32_t components = 0;
        for (int y = first; y < last; y++)
            for (std::int32_t i = row_start(strip, y); i < row_start(strip, y + 1); i++) {
                const bool root = ids[i] == i;
                ids[i] = root ? components++ : ids[ids[i]];
                if (!measures_)
                    continue;
                if (root)
                    extents[ids[i]] = Extent::of(runs[i], y);
                else
                    extents[ids[i]].add(runs[i], y);
            }
        strip_components_[strip] = components;
        const auto start = static_cast<std::int32_t>(layout_.first_component(strip));
        std::iota(labels_ + start, labels_ + start + components, start);
    }

    /// Joins the components of a strip with those of the strips above it.
    template <class T>
    void merge(const Image &src, int strip, const Workspace &work) {
        const int y = first_row(strip);
        const std::size_t above_run = first_run(strip - 1, y - 1), below_run = first_run(strip, y);
        const Row<T> above = read_row<T>(src, y - 1, work, runs_ + above_run);
        const Row<T> below = read_row<T>(src, y, work, runs_ + below_run);
        const auto above_start = static_cast<std::int32_t>(layout_.first_component(strip - 1));
        const auto below_start = static_cast<std::int32_t>(layout_.first_component(strip));
        const std::size_t count = join_rows(above, below, src.width, work);
        for (const Joint *joint = work.joints; joint < work.joints + count; joint++) {
            const auto [root, child] =
                std::minmax({find_root(labels_, above_start + ids_[above_run + joint->above]),
                             find_root(labels_, below_start + ids_[below_run + joint->below])});
            labels_[child] = root;
            if (measures_ && root != child)
                extents_[root].add(extents_[child]);
        }
    }

    // Number.

    /// From parents of components to labels, and to what is painted for them.
    void number(const CclRun &run) {
        const CclRecords *records = run.components ? &*run.components : nullptr;
        count_ = 0;
        for (int strip = 0; strip < layout_.strips; strip++) {
            const auto start = static_cast<std::int32_t>(layout_.first_component(strip));
            for (std::int32_t i = start; i < start + strip_components_[strip]; i++) {
                if (labels_[i] != i) {
                    labels_[i] = labels_[labels_[i]];
                } else if (measures_ && !params_.keeps(extents_[i].area)) {
                    labels_[i] = 0;
                } else {
                    labels_[i] = ++count_;
                    if (records && count_ <= records->capacity)
                        (*records)[count_ - 1] = extents_[i].record();
                }
            }
        }
    }

    // Paint.

    void paint(const Image &dst) {
        const Painter painter(params_.output, dst);
        constexpr int band = 32; // even, so that no row of chroma lies in two bands
        if (!painter.fills_runs(dst))
            return parallel_bands(dst.height, band, workers_, [&](int worker, int first, int last) {
                const Workspace work = workspace(worker, dst.width);
                for (int y = first; y < last; y += 2)
                    paint_pixels(dst, painter.pixels, y, work);
            });
        if (!paints_are_labels_)
            parallel_bands(layout_.strips, 1, workers_, [&](int, int strip, int) {
                const std::size_t start = layout_.first_component(strip);
                for (std::size_t i = start; i < start + strip_components_[strip]; i++)
                    paints_[i] = painter(labels_[i]);
            });
        parallel_bands(dst.height, band, workers_, [&](int worker, int first, int last) {
            const Workspace work = workspace(worker, dst.width);
            for (int y = first; y < last; y++)
                paint_row(dst, painter(0), y, work);
            if (dst.plane_count() > 1)
                for (int y = first / 2; y < (last + 1) / 2; y++)
                    paint_chroma(dst, painter, y, work);
        });
    }

    /// Two rows from y on. A site of chroma has the colour of the highest label in it.
    void paint_pixels(const Image &dst, const Pixels &pixels, int y, const Workspace &work) const {
        const int rows = std::min(2, dst.height - y);
        for (int i = 0; i < rows; i++)
            fill(y + i, reinterpret_cast<const std::uint32_t *>(labels_), 0, work.rows[i].labels,
                 dst.width, work);
        const auto label = [&](int i, int x) {
            return i < rows && x < dst.width ? work.rows[i].labels[x] : 0;
        };
        const int height = pixels.site_height(), width = pixels.site_width();
        for (int i = 0; i < rows; i++)
            for (int x = 0; x < dst.width; x++) {
                const Color own = label_color(static_cast<std::int32_t>(label(i, x)));
                pixels.put(0, x, y + i, pixels.value(0, own), rows_of(dst));
                if (pixels.count == 1 || !pixels.begins(1, x, i))
                    continue;
                std::uint32_t highest = 0;
                for (int dy = 0; dy < height; dy++)
                    for (int dx = 0; dx < width; dx++)
                        highest = std::max(highest, label(i + dy, x + dx));
                const Color color = label_color(static_cast<std::int32_t>(highest));
                for (int c = 1; c < pixels.count; c++)
                    pixels.put(c, x, y + i, pixels.value(c, color), rows_of(dst));
            }
    }

    /// table: of all components.
    template <class T>
    void fill(int y, const std::uint32_t *table, std::uint32_t background, T *row, int width,
              const Workspace &work) const {
        const int strip = strip_of(y), count = run_count(strip, y);
        const std::size_t first = first_run(strip, y);
        const std::uint32_t *values = table + layout_.first_component(strip);
        for (int i = 0; i < count; i++)
            work.values[i] = values[ids_[first + i]];
        fill_runs(runs_ + first, work.values, count, background, row, width);
    }

    void paint_row(const Image &dst, std::uint32_t background, int y, const Workspace &work) const {
        const auto fill_as = [&](auto *row) { fill(y, paints_, background, row, dst.width, work); };
        const PlaneShape shape = dst.shape(0);
        std::byte *row = dst.planes[0].row(y);
        std::uint32_t *pixels = work.rows[0].labels;
        switch (shape.channels * shape.sample_bytes) {
        case 1:
            return fill_as(reinterpret_cast<std::uint8_t *>(row));
        case 2:
            return fill_as(reinterpret_cast<std::uint16_t *>(row));
        case 3:
            fill_as(pixels);
            return drop_fourth(reinterpret_cast<const std::uint8_t *>(pixels),
                               reinterpret_cast<std::uint8_t *>(row), dst.width);
        default:
            return fill_as(reinterpret_cast<std::uint32_t *>(row));
        }
    }

    /// y: row of chroma.
    void paint_chroma(const Image &dst, const Painter &painter, int y,
                      const Workspace &work) const {
        if (params_.output != GPV_CCL_OUTPUT_COLORS)
            return paint_neutral(dst, y);
        const int columns = dst.shape(1).columns;
        const std::size_t count = find_site_runs(dst, y, work);
        const auto fill_with = [&](auto *row, auto paint) {
            for (std::size_t i = 0; i < count; i++)
                work.values[i] = paint(painter.chroma(work.rows[0].labels[work.runs[i].start]));
            fill_runs(work.runs, work.values, count, 0, row, columns);
        };
        const auto row = [&](int i) { return dst.planes[i].row(y); };
        if (dst.plane_count() == 2) {
            fill_with(reinterpret_cast<std::uint16_t *>(row(1)),
                      [](auto chroma) { return chroma.u | chroma.v << 8; });
        } else {
            fill_with(reinterpret_cast<std::uint8_t *>(row(1)),
                      [](auto chroma) { return chroma.u; });
            fill_with(reinterpret_cast<std::uint8_t *>(row(2)),
                      [](auto chroma) { return chroma.v; });
        }
    }

    /// Leaves in work the label of each chroma site of a row, and the runs of equal ones.
    std::size_t find_site_runs(const Image &dst, int y, const Workspace &work) const {
        for (int i = 0; i < 2; i++) {
            std::uint32_t *labels = work.rows[i].labels;
            if (2 * y + i < dst.height)
                fill(2 * y + i, reinterpret_cast<const std::uint32_t *>(labels_), 0, labels,
                     dst.width, work);
            else
                std::fill_n(labels, dst.width, 0);
            labels[dst.width] = 0; // its right half, if the last site has none
        }
        const std::size_t columns = dst.shape(1).columns, words = row_words(columns);
        std::uint32_t *sites = work.rows[0].labels;
        halve_rows(sites, work.rows[1].labels, sites, columns);
        pack_unequal(sites, sites + 1, columns - 1, bytes(work.edges));
        const auto &row = work.rows[0];
        std::fill_n(row.set, words - 1, ~std::uint64_t{0});
        row.set[words - 1] = last_word(columns);
        return find_runs(row.set, work.edges, words, row.starts, work.runs);
    }

    static void paint_neutral(const Image &dst, int y) {
        for (int i = 1; i < dst.plane_count(); i++) {
            const PlaneShape shape = dst.shape(i);
            std::byte *row = dst.planes[i].row(y);
            const int samples = shape.columns * shape.channels;
            if (shape.sample_bytes == 2)
                std::fill_n(reinterpret_cast<std::uint16_t *>(row), samples, neutral_chroma16);
            else
                std::memset(row, neutral_chroma8, samples);
        }
    }

    CclParams params_{};
    std::int32_t count_ = 0;

    int workers_ = 1;
    Layout layout_;
    bool measures_ = false;          ///< extents are needed
    bool paints_are_labels_ = false; ///< of 32 bits
    Buffer scratch_;

    // Tables: of the runs and of the components of each strip, one strip after the other.
    Run *runs_ = nullptr;
    std::int32_t *ids_ = nullptr; ///< of a run: parent in its strip, then component in its strip
    std::int32_t *row_starts_ = nullptr;
    std::int32_t *strip_components_ = nullptr;
    std::int32_t *labels_ = nullptr; ///< of a component: parent, then label
    Extent *extents_ = nullptr;
    std::uint32_t *paints_ = nullptr; ///< of a component: what its pixels become
    std::byte *workspaces_ = nullptr;
    std::size_t workspace_bytes_ = 0; ///< of one thread
};

} // namespace

std::unique_ptr<Ccl> make_ccl(std::shared_ptr<Context> context) {
    return std::make_unique<CpuCcl>(std::move(context));
}

} // namespace gpv::cpu
