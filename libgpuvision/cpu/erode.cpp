// SPDX-License-Identifier: BSD-2-Clause
// Flat morphology, band by band. A band is a run of output rows that one
// thread computes from start to end in its own scratch memory:
//   rect     vertical reduction into a padded row, horizontal reduction of it
//   cross    vertical reduction, horizontal reduction of the middle row, both combined
//   ellipse  each element row is two overlapping windows of a power of two
// Vertical reductions of more than 7 rows run as van Herk (1992) and Gil and
// Werman (1993) describe: 3 operations a sample, whatever the radius, where a
// band has as many rows as the element.
#include "core/erode.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include <hwy/cache_control.h>

#include "core/arena.hpp"
#include "cpu/colors.hpp"
#include "cpu/rows.hpp"
#include "cpu/threads.hpp"

namespace gpv::cpu {
namespace {

constexpr int direct_radius = 3; // up to here rows are reduced one by one
constexpr std::size_t row_alignment = 64;
constexpr std::size_t max_scratch = 256 << 20; // bytes for all threads, on top of a plane's size

/// A plane of samples: u8 or u16 with step samples a pixel, or bits in 64-bit words.
struct Samples {
    Plane plane;
    int rows;
    int columns;    ///< pixels
    int step;       ///< samples from one pixel to the next
    int fourth = 3; ///< of a pixel of four, the sample that stays as it is
    std::size_t length() const { return std::size_t(columns) * step; }
};

/// u8 or u16 samples.
template <class T>
struct Grey {
    using Unit = T;
    static Reduce reduce(bool erode) { return erode ? Reduce::minimum : Reduce::maximum; }
    static std::size_t units(const Samples &s) { return s.length(); }
    static std::size_t padding(const Samples &s, int radius) {
        return std::size_t(radius) * s.step;
    }
    static void pad(Unit *row, const Samples &s, int radius, Unit border) {
        const std::size_t width = padding(s, radius);
        std::fill_n(row - width, width, border);
        std::fill_n(row + s.length(), width, border);
    }
    static void slide(Reduce reduce, Unit *row, const Samples &s, int radius, Unit *out) {
        slide_row(reduce, row, s.length(), radius, s.step, out);
    }
    static void subtract(const Unit *a, const Unit *b, Unit *out, std::size_t units) {
        subtract_rows(a, b, out, units);
    }
};

/// One bit a pixel, in bytes of whole 64-bit words. Bits behind the last pixel
/// are undefined.
struct Bits {
    using Unit = std::uint8_t;
    static Reduce reduce(bool erode) { return erode ? Reduce::all : Reduce::any; }
    static constexpr std::size_t word = 64;
    static std::size_t words(const Samples &s) { return (s.length() + word - 1) / word; }
    static std::size_t units(const Samples &s) { return words(s) * sizeof(std::uint64_t); }
    static std::size_t padding(const Samples &, int radius) {
        return bit_padding(radius) * sizeof(std::uint64_t);
    }
    static void pad(Unit *row, const Samples &s, int radius, Unit border) {
        const std::size_t width = padding(s, radius);
        std::memset(row - width, border, width);
        std::memset(row + units(s), border, width);
        if (const std::size_t tail = s.length() % word) {
            std::uint64_t last;
            std::memcpy(&last, row + units(s) - sizeof last, sizeof last);
            const std::uint64_t outside = ~std::uint64_t{0} << tail;
            last = border ? last | outside : last & ~outside;
            std::memcpy(row + units(s) - sizeof last, &last, sizeof last);
        }
    }
    static void slide(Reduce reduce, Unit *row, const Samples &s, int radius, Unit *out) {
        slide_bits(reduce, reinterpret_cast<std::uint64_t *>(row), words(s), radius,
                   reinterpret_cast<std::uint64_t *>(out));
    }
    static void subtract(const Unit *a, const Unit *b, Unit *out, std::size_t units) {
        for (std::size_t i = 0; i < units; i++)
            out[i] = a[i] & static_cast<Unit>(~b[i]);
    }
};

/// Applies one pass to a band of rows. Made anew for each band; without a
/// block of scratch it only says how much it needs.
template <class Kind>
class BandFilter {
  public:
    using Unit = typename Kind::Unit;

    /// alpha: where the fourth channel of every output pixel comes from, or null.
    /// band: the most rows that run() will be given.
    BandFilter(const ErodePass &pass, const Samples &in, const Samples &out, const Samples *alpha,
               int band, std::byte *scratch)
        : pass_(pass), reduce_(Kind::reduce(pass.erode)), in_(in), out_(out), alpha_(alpha),
          band_(band), arena_(row_alignment, scratch) {
        // Iterated crosses and ellipses keep their radius, a rectangle may have outgrown the image.
        if (pass_.shape != GPV_ERODE_SHAPE_ELLIPSE) {
            pass_.radius_x = std::min(pass_.radius_x, in_.columns);
            pass_.radius_y = std::min(pass_.radius_y, in_.rows);
        }
        if (pass_.shape == GPV_ERODE_SHAPE_CROSS && (pass_.radius_x == 0 || pass_.radius_y == 0))
            pass_.shape = GPV_ERODE_SHAPE_RECT;
        allocate_scratch();
        if (scratch)
            std::fill_n(border_row_, Kind::units(in_), border());
    }

    std::size_t scratch_bytes() const { return arena_.required(); }

    void run(int first, int last) {
        if (pass_.shape == GPV_ERODE_SHAPE_ELLIPSE)
            for (int left = 0; left < in_.columns; left += strip_)
                run_ellipse(first, last, left, std::min(strip_, in_.columns - left));
        else if (pass_.radius_y <= direct_radius)
            run_direct(first, last);
        else
            run_van_herk(first, last);
    }

  private:
    int window_y() const { return 2 * pass_.radius_y + 1; }
    /// Source rows whose tables an ellipse keeps.
    int slots() const { return std::min(window_y(), in_.rows); }
    int levels() const { return std::bit_width(2u * pass_.radius_x + 1); }

    Unit border() const {
        const bool zero = pass_.background || !pass_.erode;
        return zero ? Unit{0} : static_cast<Unit>(~Unit{0});
    }

    void allocate_scratch() {
        const std::size_t units = Kind::units(in_);
        const std::size_t padding = Kind::padding(in_, pass_.radius_x);
        border_row_ = arena_.allocate<Unit>(units);
        for (Unit *&row : filtered_)
            row = arena_.allocate<Unit>(units);
        if (pass_.shape == GPV_ERODE_SHAPE_ELLIPSE) {
            pointers_ = arena_.allocate<const Unit *>(2 * window_y());
            strip_ = strip_columns();
            const std::size_t padded = 2 * padding + std::size_t(strip_) * in_.step;
            table_pitch_ = round_up(padded * sizeof(Unit), row_alignment) / sizeof(Unit);
            table_ = arena_.allocate<Unit>(table_pitch_ * levels() * slots(), padding);
            return;
        }
        pointers_ = arena_.allocate<const Unit *>(window_y() + 1);
        // Aligned, because rows of bits are looked at as words.
        const std::size_t front = round_up(padding * sizeof(Unit), row_alignment) / sizeof(Unit);
        for (int i = 0; i < 2; i++) {
            padded_[i] =
                arena_.allocate<Unit>(front + padding + units + row_slack / sizeof(Unit), front);
            if (pass_.shape == GPV_ERODE_SHAPE_CROSS)
                vertical_[i] = arena_.allocate<Unit>(units);
        }
        if (pass_.radius_y > direct_radius) {
            prefix_ = arena_.allocate<Unit>(units);
            suffix_pitch_ = round_up(units * sizeof(Unit), row_alignment) / sizeof(Unit);
            suffix_ = arena_.allocate<Unit>(suffix_pitch_ * std::min(window_y(), band_));
        }
    }

    /// Columns of a strip whose tables stay in the cache, or that at least
    /// does not consist of margins.
    int strip_columns() const {
        constexpr std::size_t cache = 512 << 10; // bytes
        const std::size_t pixel = sizeof(Unit) * in_.step * levels() * slots();
        const int margins = 2 * pass_.radius_x;
        const int fitting = std::max(static_cast<int>(cache / pixel) - margins, 2 * margins + 64);
        const int strips = (in_.columns + fitting - 1) / fitting;
        return (in_.columns + strips - 1) / strips;
    }

    const Unit *source(int y) const {
        return y < 0 || y >= in_.rows ? border_row_
                                      : reinterpret_cast<const Unit *>(in_.plane.row(y));
    }
    Unit *target(int y) const { return reinterpret_cast<Unit *>(out_.plane.row(y)); }
    Unit *suffix(int i) const { return suffix_ + i * suffix_pitch_; }

    /// Where the finished row is put together: the output unless alpha is still to be merged in.
    Unit *result(int y) const { return alpha_ ? filtered_[y % 2] : target(y); }

    /// Finishes the columns from left on.
    void emit(int y, int left, int columns) {
        if constexpr (std::is_same_v<Kind, Grey<std::uint8_t>>)
            if (alpha_) {
                const std::ptrdiff_t start = std::ptrdiff_t{left} * in_.step;
                merge_fourth(filtered_[y % 2] + start,
                             reinterpret_cast<const Unit *>(alpha_->plane.row(y)) + start,
                             target(y) + start, columns, alpha_->fourth);
            }
    }

    /// Where the vertical reduction of row y goes.
    Unit *vertical(int y) const {
        if (pass_.shape == GPV_ERODE_SHAPE_CROSS)
            return vertical_[y % 2];
        return pass_.radius_x > 0 ? padded_[y % 2] : result(y);
    }

    /// The middle row of a small cross joins its column in one go: shifted views
    /// of the source, which only the margins lack.
    void join_cross(int y) {
        const std::ptrdiff_t step = in_.step;
        const std::ptrdiff_t length = step * in_.columns;
        const std::ptrdiff_t margin = step * pass_.radius_x;
        const Unit *row = source(y);
        Unit *out = result(y);
        if (length > 2 * margin) {
            const Unit *views[2 * direct_radius + 2] = {vertical(y) + margin};
            const int count = 2 * pass_.radius_x + 2;
            for (int i = 1; i < count; i++)
                views[i] = row + (i - 1) * step;
            reduce_rows(reduce_, views, count, out + margin, length - 2 * margin);
        }
        const auto join = [&](std::ptrdiff_t x) {
            Unit value = vertical(y)[x];
            for (std::ptrdiff_t at = x - margin; at <= x + margin; at += step) {
                const Unit sample = at < 0 || at >= length ? border() : row[at];
                value = pass_.erode ? std::min(value, sample) : std::max(value, sample);
            }
            out[x] = value;
        };
        for (std::ptrdiff_t x = 0; x < margin; x++)
            join(x);
        for (std::ptrdiff_t x = std::max(margin, length - margin); x < length; x++)
            join(x);
    }

    /// The horizontal part, after vertical(y) has been written.
    void horizontal(int y) {
        if (!std::is_same_v<Kind, Bits> && pass_.shape == GPV_ERODE_SHAPE_CROSS &&
            pass_.radius_x <= direct_radius) {
            join_cross(y);
            return emit(y, 0, in_.columns);
        }
        if (pass_.shape == GPV_ERODE_SHAPE_CROSS)
            std::copy_n(source(y), Kind::units(in_), padded_[y % 2]);
        if (pass_.radius_x > 0) {
            Kind::pad(padded_[y % 2], in_, pass_.radius_x, border());
            Kind::slide(reduce_, padded_[y % 2], in_, pass_.radius_x, result(y));
        }
        if (pass_.shape == GPV_ERODE_SHAPE_CROSS) {
            const Unit *both[] = {vertical_[y % 2], result(y)};
            reduce_rows(reduce_, both, 2, result(y), Kind::units(in_));
        }
        emit(y, 0, in_.columns);
    }

    /// Hardware does not look ahead from row to row. Worth a tenth on images beyond the cache.
    /// Inlined by force: GCC drops the call of a function that only prefetches.
    HWY_INLINE void prefetch(int y) const {
        if (y >= in_.rows)
            return;
        const auto *row = in_.plane.row(y);
        for (std::size_t i = 0; i < Kind::units(in_) * sizeof(Unit); i += row_alignment)
            hwy::Prefetch(row + i);
    }

    /// Two rows at once, whose elements share all rows but the first and the last.
    void run_direct(int first, int last) {
        for (int y = first; y < last; y += 2) {
            for (int i = 0; i <= window_y(); i++)
                pointers_[i] = source(y - pass_.radius_y + i);
            prefetch(y + pass_.radius_y + 2);
            prefetch(y + pass_.radius_y + 3);
            if (y + 1 == last) {
                reduce_rows(reduce_, pointers_, window_y(), vertical(y), Kind::units(in_));
                horizontal(y);
                return;
            }
            reduce_pair(reduce_, pointers_, window_y(), vertical(y), vertical(y + 1),
                        Kind::units(in_));
            horizontal(y);
            horizontal(y + 1);
        }
    }

    /// A group of window_y outputs needs twice as many rows: suffix(i) is the
    /// reduction of row i to the end of the first half, prefix_ that of the
    /// beginning of the second half. What a short band never asks for is not kept.
    void run_van_herk(int first, int last) {
        const int window = window_y();
        const std::size_t units = Kind::units(in_);
        for (int group = first; group < last; group += window) {
            const int top = group - pass_.radius_y;
            const int kept = std::min(window, last - group);
            for (int i = kept - 1; i < window; i++)
                pointers_[i - kept + 1] = source(top + i);
            reduce_rows(reduce_, pointers_, window - kept + 1, suffix(kept - 1), units);
            for (int i = kept - 2; i >= 0; i--) {
                const Unit *pair[] = {source(top + i), suffix(i + 1)};
                reduce_rows(reduce_, pair, 2, suffix(i), units);
            }
            std::copy_n(suffix(0), units, vertical(group));
            horizontal(group);
            std::fill_n(prefix_, units, identity());
            for (int i = 1; i < kept; i++) {
                extend_rows(reduce_, prefix_, source(top + window - 1 + i), suffix(i),
                            vertical(group + i), units);
                horizontal(group + i);
            }
        }
    }

    Unit identity() const { return pass_.erode ? static_cast<Unit>(~Unit{0}) : Unit{0}; }

    /// Level k of source row y: the reduction of 2^k pixels from each pixel of the strip on.
    Unit *table(int y, int level) const {
        return table_ + (std::size_t(y % slots()) * levels() + level) * table_pitch_;
    }

    void fill_table(int y, int left, int columns) {
        if (y < 0 || y >= in_.rows)
            return;
        const std::ptrdiff_t step = in_.step;
        const int begin = left - pass_.radius_x;
        const int end = left + columns + pass_.radius_x;
        const int inside = std::max(begin, 0);
        const int outside = std::min(end, in_.columns);
        Unit *row = table(y, 0) - pass_.radius_x * step;
        row = std::fill_n(row, (inside - begin) * step, border());
        row = std::copy_n(source(y) + inside * step, (outside - inside) * step, row);
        std::fill_n(row, (end - outside) * step, border());
        for (int level = 1; level < levels(); level++) {
            const int half = 1 << (level - 1);
            const Unit *from = table(y, level - 1) - pass_.radius_x * step;
            const Unit *pair[] = {from, from + half * step};
            reduce_rows(reduce_, pair, 2, table(y, level) - pass_.radius_x * step,
                        (end - begin - (2 * half - 1)) * step);
        }
    }

    void run_ellipse(int first, int last, int left, int columns) {
        const int radius = pass_.radius_y;
        for (int y = first - radius; y < first + radius; y++)
            fill_table(y, left, columns);
        for (int y = first; y < last; y++) {
            fill_table(y + radius, left, columns);
            const int top = std::max(-radius, -y);
            const int bottom = std::min(radius, in_.rows - 1 - y);
            std::size_t count = 0;
            if (top > -radius || bottom < radius) // once is as good as often
                pointers_[count++] = border_row_;
            for (int dy = top; dy <= bottom; dy++) {
                const int dx = (*pass_.half_widths)[dy + radius];
                const int level = std::bit_width(2u * dx + 1) - 1;
                const Unit *row = table(y + dy, level);
                pointers_[count++] = row - std::ptrdiff_t{dx} * in_.step;
                pointers_[count++] = row + std::ptrdiff_t{dx + 1 - (1 << level)} * in_.step;
            }
            reduce_rows(reduce_, pointers_, count, result(y) + std::ptrdiff_t{left} * in_.step,
                        std::size_t(columns) * in_.step);
            emit(y, left, columns);
        }
    }

    ErodePass pass_;
    Reduce reduce_;
    Samples in_;
    Samples out_;
    const Samples *alpha_;
    int band_;
    Arena arena_;
    Unit *border_row_ = nullptr;
    Unit *filtered_[2] = {}; // of even and of odd rows, as the next two
    Unit *padded_[2] = {};
    Unit *vertical_[2] = {};
    Unit *prefix_ = nullptr;
    Unit *suffix_ = nullptr;
    std::size_t suffix_pitch_ = 0;
    Unit *table_ = nullptr;
    std::size_t table_pitch_ = 0;
    int strip_ = 0;
    const Unit **pointers_ = nullptr;
};

/// Rows of a band: enough bands for all workers, whole groups of van Herk, and
/// not much fewer rows than the element has, which each band starts with.
int band_rows(int rows, int window, int workers) {
    constexpr int minimum = 16;
    const int wanted = std::max({minimum, rows / (3 * workers), std::min(window, rows / workers)});
    const int groups = wanted / window;
    return window > 2 * direct_radius + 1 && groups > 0 ? groups * window : wanted;
}

class CpuErode final : public Erode {
  public:
    explicit CpuErode(std::shared_ptr<Context> context) : bands_(context), planes_(context) {}

    void set_params(const gpv_erode_params &params) override {
        passes_ = erode_plan(params);
        params_ = params;
    }

    void prepare(const Image &like) override {
        // Where source and destination are the same, scratch is largest.
        plan(like, like, true, nullptr);
    }

    void run(Stream stream, const Image &src, const Image &dst) override {
        const bool in_place = same_pixels(src, dst);
        plan(src, dst, in_place, stream);
        arena_ = Arena(row_alignment, planes_.data());
        process(src, dst, in_place);
    }

    bool finished() override { return true; }
    void wait() override {}

  private:
    /// Walks through the work without doing it, to learn what scratch it needs.
    void plan(const Image &src, const Image &dst, bool in_place, Stream stream) {
        threads_ = thread_count(planes_.context().thread_limit());
        bands_bytes_ = 0;
        arena_ = Arena(row_alignment);
        dry_ = true;
        process(src, dst, in_place);
        dry_ = false;
        planes_.reserve(arena_.required(), stream);
        bands_.reserve(bands_bytes_, stream);
    }

    void process(const Image &src, const Image &dst, bool in_place) {
        if (params_.threshold > 0)
            return binary(src, dst);
        if (format_info(src.format).column_pixels > 1)
            return packed(src, dst);
        const bool all = params_.planes == GPV_ERODE_PLANES_ALL || !is_yuv(src.format);
        const int filtered = all ? src.plane_count() : 1;
        for (int i = 0; i < src.plane_count(); i++) {
            const PlaneShape shape = src.shape(i);
            const Samples in = samples(src, i), out = samples(dst, i);
            if (i >= filtered && in_place)
                continue;
            if (i >= filtered && shape.sample_bytes == 2)
                copy<Grey<std::uint16_t>>(in, out);
            else if (i >= filtered)
                copy<Grey<std::uint8_t>>(in, out);
            else if (shape.sample_bytes == 2)
                evaluate<Grey<std::uint16_t>>(in, out, in_place);
            else
                evaluate<Grey<std::uint8_t>>(in, out, in_place);
        }
    }

    static Samples samples(const Image &image, int plane) {
        const PlaneShape shape = image.shape(plane);
        return {image.planes[plane], shape.rows, shape.columns, shape.channels,
                format_info(image.format).at[3].offset};
    }

    /// Luma and chroma in planes of their own, and back.
    void packed(const Image &src, const Image &dst) {
        using Kind = Grey<std::uint8_t>;
        const PlaneShape pairs = src.shape(0);
        const bool all = params_.planes == GPV_ERODE_PLANES_ALL;
        const int luma_at = format_info(src.format).at[0].offset, columns = src.width;
        const Samples luma = scratch_plane<Kind>(src.height, columns, 1);
        const Samples chroma = scratch_plane<Kind>(src.height, pairs.columns, 2);
        for_rows(src.height, pairs.row_bytes(), 0, [&](std::byte *, int y) {
            const std::uint8_t *row = bytes(src.planes[0].row(y));
            for (int x = 0; x < 2 * pairs.columns; x++) {
                if (x < columns)
                    bytes(luma.plane.row(y))[x] = row[2 * x + luma_at];
                bytes(chroma.plane.row(y))[x] = row[2 * x + 1 - luma_at];
            }
        });
        const Samples new_luma = scratch_like<Kind>(luma);
        evaluate<Kind>(luma, new_luma, false);
        Samples new_chroma = chroma;
        if (all) {
            new_chroma = scratch_like<Kind>(chroma);
            evaluate<Kind>(chroma, new_chroma, false);
        }
        for_rows(src.height, pairs.row_bytes(), 0, [&](std::byte *, int y) {
            std::uint8_t *row = bytes(dst.planes[0].row(y));
            for (int x = 0; x < 2 * pairs.columns; x++) {
                row[2 * x + luma_at] = bytes(new_luma.plane.row(y))[std::min(x, columns - 1)];
                row[2 * x + 1 - luma_at] = bytes(new_chroma.plane.row(y))[x];
            }
        });
    }

    /// Scratch for as many rows and columns.
    template <class Kind>
    Samples scratch_plane(int rows, int columns, int step) {
        Samples s{{}, rows, columns, step};
        const std::size_t stride =
            round_up(Kind::units(s) * sizeof(typename Kind::Unit) + pack_slack, row_alignment);
        s.plane = {arena_.allocate<std::byte>(stride * rows), static_cast<std::int64_t>(stride)};
        return s;
    }
    template <class Kind>
    Samples scratch_like(const Samples &s) {
        return scratch_plane<Kind>(s.rows, s.columns, s.step);
    }

    /// How many threads are worth waking for so many bytes of rows to go through:
    /// one goes through a share in about 40 us, and takes up to that to wake.
    int workers_for(std::size_t work) const {
        constexpr std::size_t grain = 1 << 20;
        return static_cast<int>(std::clamp<std::size_t>(work / grain, 1, threads_));
    }

    /// parallel_bands() with f(scratch, first, last): so many bytes of the thread's own.
    template <class F>
    void for_bands(int rows, int band, int workers, std::size_t bytes, F f) {
        const std::size_t pitch = round_up(bytes, row_alignment);
        if (dry_) {
            bands_bytes_ = std::max(bands_bytes_, pitch * workers);
            return;
        }
        parallel_bands(rows, band, workers, [&](int worker, int first, int last) {
            f(bands_.data() + worker * pitch, first, last);
        });
    }

    /// Calls f(scratch, y) for every row, with bytes of scratch of the thread's
    /// own. work: bytes of a row that f goes through.
    template <class F>
    void for_rows(int rows, std::size_t work, std::size_t bytes, F f) {
        for_bands(rows, copy_band, workers_for(work * rows), bytes,
                  [&](std::byte *scratch, int first, int last) {
                      for (int y = first; y < last; y++)
                          f(scratch, y);
                  });
    }

    template <class Kind>
    void copy(const Samples &in, const Samples &out) {
        const std::size_t bytes = Kind::units(in) * sizeof(typename Kind::Unit);
        for_rows(in.rows, bytes, 0, [&](std::byte *, int y) {
            std::memcpy(out.plane.row(y), in.plane.row(y), bytes);
        });
    }

    template <class Kind>
    void filter(const ErodePass &pass, const Samples &in, const Samples &out,
                const Samples *alpha) {
        const int window = 2 * pass.radius_y + 1;
        const std::size_t bytes = Kind::units(in) * sizeof(typename Kind::Unit) * in.rows;
        const int cost = pass.shape == GPV_ERODE_SHAPE_ELLIPSE ? window
                         : pass.radius_y > direct_radius       ? 2
                                                               : 1;
        const auto scratch_bytes = [&](int band) {
            return BandFilter<Kind>(pass, in, out, alpha, band, nullptr).scratch_bytes();
        };
        int workers = workers_for(bytes * cost);
        int band = band_rows(in.rows, window, workers);
        const std::size_t affordable = (max_scratch + bytes) / scratch_bytes(band);
        if (affordable < static_cast<std::size_t>(workers)) {
            workers = std::max(1, static_cast<int>(affordable));
            band = band_rows(in.rows, window, workers);
        }
        workers = std::min(workers, (in.rows + band - 1) / band);
        for_bands(in.rows, band, workers, scratch_bytes(band),
                  [&](std::byte *scratch, int first, int last) {
                      BandFilter<Kind>(pass, in, out, alpha, band, scratch).run(first, last);
                  });
    }

    /// Runs the passes one after the other; the last one writes out, which is in if in_place.
    template <class Kind>
    void chain(const std::vector<ErodePass> &passes, const Samples &in, const Samples &out,
               const Samples *alpha, bool in_place) {
        const int repeats = passes.front().useful_repeats(in.columns, in.rows);
        const int last = static_cast<int>(passes.size()) * repeats - 1;
        Samples from = in;
        if (last == 0 && in_place) {
            from = scratch_like<Kind>(in);
            copy<Kind>(in, from);
        }
        Samples between[2];
        for (int i = 0; i < last; i++) {
            Samples &to = between[i % 2];
            if (i < 2)
                to = scratch_like<Kind>(in);
            filter<Kind>(passes[i / repeats], from, to, nullptr);
            from = to;
        }
        filter<Kind>(passes.back(), from, out, alpha);
    }

    template <class Kind>
    Samples intermediate(const std::vector<ErodePass> &passes, const Samples &in) {
        if (passes.empty())
            return in;
        const Samples out = scratch_like<Kind>(in);
        chain<Kind>(passes, in, out, nullptr, false);
        return out;
    }

    template <class Kind>
    void evaluate(const Samples &in, const Samples &out, bool in_place) {
        const Samples *alpha = in.step == 4 ? &in : nullptr;
        if (!passes_.difference)
            return chain<Kind>(passes_.first, in, out, alpha, in_place);
        const Samples a = intermediate<Kind>(passes_.first, in);
        const Samples b = intermediate<Kind>(passes_.second, in);
        using Unit = typename Kind::Unit;
        const std::size_t units = Kind::units(in);
        for_rows(in.rows, units * sizeof(Unit), alpha ? units : 0, [&](std::byte *scratch, int y) {
            const auto row = [y](const Samples &s) {
                return reinterpret_cast<Unit *>(s.plane.row(y));
            };
            Kind::subtract(row(a), row(b), alpha ? reinterpret_cast<Unit *>(scratch) : row(out),
                           units);
            if (alpha)
                merge_fourth(bytes(scratch), bytes(alpha->plane.row(y)), bytes(out.plane.row(y)),
                             in.columns, alpha->fourth);
        });
    }

    static std::uint8_t *bytes(std::byte *data) { return reinterpret_cast<std::uint8_t *>(data); }

    /// Threshold to bits, filter the bits, and expand them to the output's format.
    void binary(const Image &src, const Image &dst) {
        const Samples source = scratch_plane<Bits>(src.height, src.width, 1);
        const Samples result = scratch_like<Bits>(source);
        pack(src, source);
        if (params_.shape == GPV_ERODE_SHAPE_ELLIPSE)
            evaluate_as_grey(source, result);
        else
            evaluate<Bits>(source, result, false);
        unpack(result, src, dst);
    }

    /// Windows of an ellipse start at every bit, which is dearer than bytes.
    void evaluate_as_grey(const Samples &source, const Samples &result) {
        using Kind = Grey<std::uint8_t>;
        const Samples in = scratch_like<Kind>(source);
        const Samples out = scratch_like<Kind>(source);
        for_rows(in.rows, in.columns, 0, [&](std::byte *, int y) {
            unpack_row(bytes(source.plane.row(y)), in.columns, bytes(in.plane.row(y)));
        });
        evaluate<Kind>(in, out, false);
        for_rows(in.rows, in.columns, 0, [&](std::byte *, int y) {
            pack_row(bytes(out.plane.row(y)), in.columns, 0, 1, bytes(result.plane.row(y)));
        });
    }

    void pack(const Image &src, const Samples &to) {
        for_rows(src.height, src.shape(0).row_bytes(), src.width, [&](std::byte *scratch, int y) {
            std::uint8_t *bits = bytes(to.plane.row(y));
            if (src.shape(0).sample_bytes == 2)
                pack_row(reinterpret_cast<const std::uint16_t *>(src.planes[0].row(y)), src.width,
                         0, params_.threshold, bits);
            else
                pack_row(luma_bytes(src, y, bytes(scratch)), src.width, 0, params_.threshold, bits);
        });
    }

    /// Chroma becomes neutral.
    void unpack(const Samples &from, const Image &src, const Image &dst) {
        const FormatInfo &info = format_info(dst.format);
        const PlaneShape shape = dst.shape(0);
        const int grey_planes = info.model == ColorModel::rgb ? info.planes : 1;
        for_rows(dst.height, shape.row_bytes(), dst.width, [&](std::byte *scratch, int y) {
            const std::uint8_t *bits = bytes(from.plane.row(y));
            std::uint8_t *row = bytes(dst.planes[0].row(y));
            if (shape.sample_bytes == 2) {
                unpack_row(bits, dst.width, reinterpret_cast<std::uint16_t *>(row));
            } else if (shape.channels == 1) {
                for (int i = 0; i < grey_planes; i++)
                    unpack_row(bits, dst.width, bytes(dst.planes[i].row(y)));
            } else {
                unpack_row(bits, dst.width, bytes(scratch));
                spread(bytes(scratch), bytes(src.planes[0].row(y)), row, info, dst.width);
            }
        });
        for (int i = grey_planes; i < info.planes; i++) {
            const PlaneShape chroma = dst.shape(i);
            for_rows(chroma.rows, chroma.row_bytes(), 0, [&](std::byte *, int y) {
                if (chroma.sample_bytes == 2)
                    std::fill_n(reinterpret_cast<std::uint16_t *>(dst.planes[i].row(y)),
                                chroma.columns * chroma.channels, neutral_chroma16);
                else
                    std::memset(dst.planes[i].row(y), neutral_chroma8, chroma.row_bytes());
            });
        }
    }

    /// Grey to the channels of a row of pixels, the fourth from alpha.
    static void spread(const std::uint8_t *grey, const std::uint8_t *alpha, std::uint8_t *row,
                       const FormatInfo &info, int width) {
        if (info.model == ColorModel::yuv)
            for (int x = 0; x < width + width % 2; x++) {
                row[2 * x + info.at[0].offset] = grey[std::min(x, width - 1)];
                row[2 * x + 1 - info.at[0].offset] = neutral_chroma8;
            }
        else if (info.channels == 4 && info.at[3].offset == 0)
            for (int x = 0; x < width; x++) {
                row[4 * x] = alpha[4 * x];
                std::memset(row + 4 * x + 1, grey[x], 3);
            }
        else
            spread_row(grey, info.channels, alpha, row, width);
    }

    static constexpr int copy_band = 32; ///< rows

    gpv_erode_params params_{};
    ErodePlan passes_;

    int threads_ = 1;
    bool dry_ = false;
    Arena arena_{row_alignment};
    std::size_t bands_bytes_ = 0; ///< of the step that needs most
    Buffer bands_;
    Buffer planes_;
};

} // namespace

std::unique_ptr<Erode> make_erode(std::shared_ptr<Context> context) {
    return std::make_unique<CpuErode>(std::move(context));
}

} // namespace gpv::cpu
