// SPDX-License-Identifier: BSD-2-Clause
// Flat morphology on CUDA: plans the kernels of erode/tile.cuh, erode/bits.cuh
// and erode/lines.cuh as one launch list.
#include "core/erode.hpp"

#include <algorithm>
#include <bit>

#include "cuda/erode/lines.cuh"
#include "cuda/erode/tile_kernels.cuh"
#include "cuda/erode/tuning.hpp"
#include "cuda/run/operator.cuh"

namespace gpv::cuda {
namespace {

using namespace erode;

constexpr std::int64_t min_stride = 16; // that the tile kernels take, bytes
constexpr int max_line_radius = 255;    // of one kernel; longer lines are a chain

/// A plane of u8 or u16 samples on the device.
struct Samples {
    Rows data;
    int rows;
    int columns; ///< pixels
    int step;    ///< samples from one pixel to the next
    int sample_bytes;
    int fourth = 3; ///< of a pixel of four, the sample that stays as it is
    /// 0: grey. Else what a pass reads is foreground where it is at least so
    /// much, and what it writes is 0 or 255.
    int threshold = 0;

    int length() const { return columns * step; }
    std::int64_t row_bytes() const { return std::int64_t{length()} * sample_bytes; }
};

Samples samples_of(const Image &image, int plane) {
    const PlaneShape shape = image.shape(plane);
    return {rows_of(image.planes[plane]),
            shape.rows,
            shape.columns,
            shape.channels,
            shape.sample_bytes,
            format_info(image.format).at[3].offset};
}

/// Calls f<T, Better>() for the type of a sample and the direction of a pass.
template <class F>
void with_types(int sample_bytes, bool erode, F f) {
    if (sample_bytes == 1)
        erode ? f.template operator()<std::uint8_t, Minimum>()
              : f.template operator()<std::uint8_t, Maximum>();
    else
        erode ? f.template operator()<std::uint16_t, Minimum>()
              : f.template operator()<std::uint16_t, Maximum>();
}

/// The kernel for a rectangle.
const void *tile_kernel(bool erode, int step, bool long_radius, int radius_x, int radius_y) {
    return erode ? tile_entry<Minimum>(step, long_radius, radius_x, radius_y)
                 : maximum_tile(step, long_radius, radius_x, radius_y);
}

/// Calls f<kernel, Shape>() for the tile of bits of an image.
template <class F>
void with_bits(bool large, F f) {
    large ? f.template operator()<BitTile<LargeBits>, LargeBits>()
          : f.template operator()<BitTile<SmallBits>, SmallBits>();
}

/// Whether the tile kernels can do it.
constexpr bool fits_tile(int radius_x, int radius_y) {
    return (radius_x == radius_y && radius_x > 0 && radius_x < min_general_radius) ||
           std::min(radius_x, radius_y) >= min_general_radius;
}

/// A part of a radius that takes several kernels of at most so much each: the
/// parts are as equal as they can be.
constexpr int equal_part(int radius, int maximum) {
    const int parts = (radius + maximum - 1) / maximum;
    return parts > 1 ? (radius + parts - 1) / parts : radius;
}

/// Of images in device memory, at the same place or at places that have nothing in common.
struct ErodeRun {
    Image src, dst;
    bool in_place;
};

class CudaErode final : public CudaOperator<CudaErode, Erode, gpv_erode_params> {
  public:
    explicit CudaErode(const std::shared_ptr<Context> &context) : CudaOperator(context, "erode") {
        for (const int sample_bytes : {1, 2})
            for (const bool erode : {true, false})
                with_types(sample_bytes, erode, [&]<class T, class Better> {
                    load<VerticalLine<T, Better>, Ellipse<T, Better>, Difference<T>>();
                    load<HorizontalLine<T, Better>>(
                        HorizontalLine<T, Better>::shared_bytes(max_line_radius, max_step));
                    load<EllipseTables<T, Better>>(
                        EllipseTables<T, Better>::shared_bytes(max_levels, max_step));
                });
        for (const bool erode : {true, false})
            for (int step = 1; step <= max_step; step++)
                for (const bool long_radius : {true, false})
                    with_shape(step, long_radius, [&]<class S> {
                        for (int radius = long_radius ? min_general_radius : 1;
                             radius < min_general_radius + 4; radius++)
                            load(tile_kernel(erode, step, long_radius, radius, radius),
                                 S::shared_bytes(max_tile_radius));
                    });
        for (const bool large : {true, false})
            with_bits(large, [&]<class Kernel, class S> {
                load<Kernel>(S::shared_bytes(S::max_radius_y));
            });
        load<Copy<std::uint8_t>, Copy<uint4>, DifferenceOfChunks, Binarise, Spread, Split, Join,
             Fill<std::uint8_t>, Fill<Word>>();
    }

    void accept(const gpv_erode_params &params) override { plan_ = erode_plan(params); }

    void prepare(const Image &like) override {
        // Rows without a gap may need more scratch; those with one are the rule.
        Image tight = like, padded = like;
        for (int i = 0; i < like.plane_count(); i++) {
            tight.planes[i].stride = like.shape(i).row_bytes();
            padded.planes[i].stride = round_up(tight.planes[i].stride, pitch_alignment);
        }
        for (const Image &image : {tight, padded})
            for (const bool in_place : {true, false})
                plan_ahead(ErodeRun{image, image, in_place && like.memory == Memory::cuda});
    }

    void run(Stream stream, const Image &src, const Image &dst) override {
        const bool in_place = src.memory == Memory::cuda && same_pixels(src, dst);
        start("gpv_erode_run", stream, ErodeRun{src, dst, in_place});
    }

    void declare(ErodeRun &run) {
        input("src", run.src);
        output("dst", run.dst);
        value(run.in_place);
    }

    void record(const ErodeRun &run) {
        if (params_.threshold > 0)
            return binary(run.src, run.dst, run.in_place);
        const bool all = params_.planes == GPV_ERODE_PLANES_ALL || !is_yuv(run.src.format);
        if (format_info(run.src.format).column_pixels > 1)
            return pairs(run.src, run.dst, all);
        const int filtered = all ? run.src.plane_count() : 1;
        for (int i = 0; i < run.src.plane_count(); i++) {
            const Samples in = samples_of(run.src, i), out = samples_of(run.dst, i);
            if (i < filtered)
                evaluate(in, out, run.in_place);
            else if (!run.in_place)
                copy(in, out);
        }
    }

  private:
    static constexpr int max_step = 4;
    static constexpr int max_levels = std::bit_width(2u * max_erode_radius + 1);

    Samples scratch_plane(int rows, int columns, int step, int sample_bytes) {
        Samples s{{}, rows, columns, step, sample_bytes};
        s.data = scratch_rows(rows, s.row_bytes());
        return s;
    }
    /// For the result of a pass on s.
    Samples scratch_like(const Samples &s) {
        Samples result = scratch_plane(s.rows, s.columns, s.step, s.sample_bytes);
        result.fourth = s.fourth;
        result.threshold = s.threshold ? mask_threshold : 0;
        return result;
    }

    /// Luma and chroma in planes of their own meanwhile.
    void pairs(const Image &src, const Image &dst, bool all) {
        const PlaneShape shape = src.shape(0);
        const Samples luma = scratch_plane(src.height, src.width, 1, 1);
        const Samples chroma = scratch_plane(src.height, shape.columns, 2, 1);
        PairJob job{.pairs = rows_of(src.planes[0]),
                    .luma = luma.data,
                    .chroma = chroma.data,
                    .length = 2 * shape.columns,
                    .rows = src.height,
                    .luma_at = format_info(src.format).at[0].offset,
                    .width = src.width};
        add_points<Split>(job);
        const auto filtered = [&](const Samples &in) {
            const Samples out = scratch_like(in);
            evaluate(in, out, false);
            return out.data;
        };
        job.luma = filtered(luma);
        if (all)
            job.chroma = filtered(chroma);
        job.pairs = rows_of(dst.planes[0]);
        add_points<Join>(job);
    }

    void copy(const Samples &in, const Samples &out) {
        const auto bytes = static_cast<int>(in.row_bytes());
        PointJob job{.a = in.data, .out = out.data, .length = bytes, .rows = in.rows};
        if (!aligned(in.data, bytes, sizeof(uint4)) || !aligned(out.data, bytes, sizeof(uint4)))
            return add_points<Copy<std::uint8_t>>(job);
        job.length = bytes / static_cast<int>(sizeof(uint4));
        add_points<Copy<uint4>>(job);
    }

    // ---- passes ---------------------------------------------------------------------

    static unsigned border(const ErodePass &pass) {
        return pass.erode && !pass.background ? ~0u : 0u;
    }

    void line(bool vertical, const ErodePass &pass, int radius, const Samples &in,
              const Samples &out, const Finish &finish) {
        const LineJob job{.in = in.data,
                          .out = out.data,
                          .finish = finish,
                          .length = in.length(),
                          .rows = in.rows,
                          .step = in.step,
                          .radius = radius,
                          .border = border(pass)};
        with_types(in.sample_bytes, pass.erode, [&]<class T, class Better> {
            using Down = VerticalLine<T, Better>;
            using Across = HorizontalLine<T, Better>;
            if (vertical)
                add<Down>(
                    dim3(blocks(job.length, Down::threads), blocks(in.rows, Down::run_length)),
                    job);
            else
                add<Across>(dim3(blocks(job.length, Across::segment), in.rows), job,
                            Across::shared_bytes(radius, in.step));
        });
    }

    void tile(const ErodePass &pass, int radius_x, int radius_y, const Samples &in,
              const Samples &out, const Finish &finish) {
        const int begin = row_begin(in.data, in.step);
        TileJob job{.src = moved(in.data, begin),
                    .dst = moved(out.data, begin),
                    .alpha = moved(finish.alpha, begin),
                    .begin = begin,
                    .end = begin + in.length(),
                    .rows = in.rows,
                    .radius_x = radius_x,
                    .radius_y = radius_y,
                    .border = border(pass)};
        const bool source_aligned = aligned16(job.src);
        const bool long_radius = is_long(in.step, radius_x, radius_y, is_large(in), source_aligned);
        with_shape(in.step, long_radius, [&]<class S> {
            job.advance = S::advance(radius_x, source_aligned, aligned16(job.dst));
            launches_.add(tile_kernel(pass.erode, in.step, long_radius, radius_x, radius_y),
                          dim3(blocks(job.end, job.advance), blocks(in.rows, S::rows)), S::threads,
                          S::shared_bytes(radius_y), job);
        });
    }

    void bits(const ErodePass &pass, int radius_x, int radius_y, const Samples &in,
              const Samples &out) {
        const int begin = row_begin(in.data, in.step);
        BitJob job{.src = moved(in.data, begin),
                   .dst = moved(out.data, begin),
                   .begin = begin,
                   .end = begin + in.columns,
                   .rows = in.rows,
                   .radius_x = radius_x,
                   .radius_y = radius_y,
                   .addend = (256u - static_cast<unsigned>(in.threshold)) * 0x01010101u,
                   .flip = pass.erode ? 0u : ~0u,
                   .outside = pass.erode && pass.background ? 0u : ~0u};
        with_bits(is_large(in), [&]<class Kernel, class S> {
            job.advance = S::advance(aligned16(job.src), aligned16(job.dst));
            add<Kernel>(dim3(blocks(job.end, job.advance), blocks(in.rows, S::rows)), job,
                        S::shared_bytes(radius_y));
        });
    }

    static bool is_large(const Samples &s) { return s.row_bytes() * s.rows >= large_image; }

    struct Radii {
        int x, y;
    };

    /// The part of a rectangle that the next kernel of its chain does.
    static Radii next_part(Radii left, const Samples &in) {
        if (in.threshold)
            return {equal_part(left.x, LargeBits::max_radius_x),
                    equal_part(left.y, LargeBits::max_radius_y)};
        // A tile leaves out the last of four samples.
        const bool has_tile = in.sample_bytes == 1 && (in.step < 4 || in.fourth == 3);
        if (has_tile && left.x > 0 && left.y > 0) {
            const Radii part = {equal_part(left.x, max_tile_radius),
                                equal_part(left.y, max_tile_radius)};
            if (fits_tile(part.x, part.y))
                return part;
            const int minimum = std::min(part.x, part.y);
            return {minimum, minimum};
        }
        if (left.y > 0)
            return {0, equal_part(left.y, max_line_radius)};
        return {equal_part(left.x, max_line_radius), 0};
    }

    void rect_part(const ErodePass &pass, Radii part, const Samples &in, const Samples &out,
                   const Finish &finish) {
        if (in.threshold)
            return bits(pass, part.x, part.y, in, out);
        if (part.x > 0 && part.y > 0)
            return tile(pass, part.x, part.y, in, out, finish);
        line(part.y > 0, pass, part.x + part.y, in, out, finish);
    }

    void rect(const ErodePass &pass, const Samples &in, const Samples &out, const Finish &finish) {
        Radii left = {std::min(pass.radius_x, in.columns), std::min(pass.radius_y, in.rows)};
        Samples from = in, between[2];
        if (in.data.stride < min_stride) { // chunks would reach over several rows
            from = scratch_like(in);
            from.threshold = in.threshold;
            copy(in, from);
        }
        for (int i = 0;; i++) {
            const Radii part = next_part(left, in);
            left = {left.x - part.x, left.y - part.y};
            if (left.x == 0 && left.y == 0)
                return rect_part(pass, part, from, out, finish);
            if (i < 2)
                between[i] = scratch_like(in);
            rect_part(pass, part, from, between[i % 2], {});
            from = between[i % 2];
        }
    }

    void cross(const ErodePass &pass, const Samples &in, const Samples &out, Finish finish) {
        const Samples column = scratch_like(in);
        line(true, pass, pass.radius_y, in, column, {});
        finish.with = column.data;
        line(false, pass, pass.radius_x, in, out, finish);
    }

    void ellipse(const ErodePass &pass, const Samples &in, const Samples &out,
                 const Finish &finish) {
        const int levels = std::bit_width(2u * pass.radius_x + 1);
        const int margin = pass.radius_x * in.step;
        const int places = in.length() + 2 * margin;
        const std::size_t level_bytes =
            round_up(static_cast<std::size_t>(places) * in.sample_bytes, scratch_alignment);
        const auto fitting = static_cast<int>(
            std::min<std::size_t>(max_table_bytes / (level_bytes * levels), in.rows));
        const int band = std::max(fitting - 2 * pass.radius_y, std::min(in.rows, min_band));
        const int max_rows = std::min(band + 2 * pass.radius_y, in.rows);
        EllipseJob job{.tables = {.in = in.data,
                                  .tables = allocate<std::byte>(level_bytes * levels * max_rows),
                                  .level_bytes = static_cast<std::int64_t>(level_bytes),
                                  .first_row = 0,
                                  .rows = in.rows,
                                  .length = in.length(),
                                  .margin = margin,
                                  .step = in.step,
                                  .levels = levels,
                                  .border = border(pass)},
                       .out = out.data,
                       .finish = finish,
                       .radius = pass.radius_y};
        std::copy(pass.half_widths->begin(), pass.half_widths->end(), job.half_widths);
        for (int first = 0; first < in.rows; first += band) {
            job.first = first;
            const int last = std::min(first + band, in.rows);
            job.tables.first_row = std::max(first - pass.radius_y, 0);
            const int table_rows = std::min(last + pass.radius_y, in.rows) - job.tables.first_row;
            with_types(in.sample_bytes, pass.erode, [&]<class T, class Better> {
                using Tables = EllipseTables<T, Better>;
                using Gather = Ellipse<T, Better>;
                add<Tables>(dim3(blocks(places, Tables::segment), table_rows), job.tables,
                            Tables::shared_bytes(levels, in.step));
                add<Gather>(dim3(blocks(in.length(), Gather::threads), last - first), job);
            });
        }
    }

    void filter(const ErodePass &pass, const Samples &in, const Samples &out,
                const Finish &finish) {
        const std::size_t here = mark();
        switch (pass.shape) {
        case GPV_ERODE_SHAPE_CROSS:
            cross(pass, in, out, finish);
            break;
        case GPV_ERODE_SHAPE_ELLIPSE:
            ellipse(pass, in, out, finish);
            break;
        default:
            rect(pass, in, out, finish);
        }
        rewind(here); // kernels run one after the other
    }

    /// Runs the passes one after the other; the last one writes out, which is in if in_place.
    void chain(const std::vector<ErodePass> &passes, const Samples &in, const Samples &out,
               const Finish &finish, bool in_place) {
        const int repeats = passes.front().useful_repeats(in.columns, in.rows);
        const int last = static_cast<int>(passes.size()) * repeats - 1;
        Samples from = in, between[2];
        if (last == 0 && in_place) {
            from = scratch_like(in);
            from.threshold = in.threshold;
            copy(in, from);
        }
        for (int i = 0; i < last; i++) {
            Samples &to = between[i % 2];
            if (i < 2)
                to = scratch_like(in);
            filter(passes[i / repeats], from, to, {});
            from = to;
        }
        filter(passes.back(), from, out, finish);
    }

    Samples intermediate(const std::vector<ErodePass> &passes, const Samples &in) {
        if (passes.empty() && !in.threshold)
            return in;
        const Samples out = scratch_like(in);
        if (passes.empty())
            rect({.erode = true}, in, out, {});
        else
            chain(passes, in, out, {}, false);
        return out;
    }

    void evaluate(const Samples &in, const Samples &out, bool in_place) {
        const Finish finish{.alpha = in.step == 4 ? in.data : Rows{}, .fourth = in.fourth};
        if (!plan_.difference)
            return chain(plan_.first, in, out, finish, in_place);
        const Samples a = intermediate(plan_.first, in);
        const Samples b = intermediate(plan_.second, in);
        subtract(a, b, out, finish);
    }

    void subtract(const Samples &a, const Samples &b, const Samples &out, const Finish &finish) {
        const auto bytes = static_cast<int>(a.row_bytes());
        const auto chunks = [&](const Samples &s) { return aligned(s.data, bytes, sizeof(uint4)); };
        if (a.sample_bytes == 1 && a.step < 4 && chunks(a) && chunks(b) && chunks(out))
            return add_points<DifferenceOfChunks>(
                {.a = a.data,
                 .b = b.data,
                 .out = out.data,
                 .length = bytes / static_cast<int>(sizeof(uint4)),
                 .rows = a.rows});
        with_types(a.sample_bytes, true, [&]<class T, class> {
            using Kernel = Difference<T>;
            add<Kernel>(dim3(blocks(a.length(), Kernel::threads), a.rows),
                        {a.data, b.data, out.data, finish, a.length()});
        });
    }

    // ---- binary ---------------------------------------------------------------------

    void binary(const Image &src, const Image &dst, bool in_place) {
        Samples in = samples_of(src, 0), out = samples_of(dst, 0);
        const bool grey = luma_plane(src).format == Format::gray8;
        const bool rect = params_.shape == GPV_ERODE_SHAPE_RECT;
        if (grey && rect) {
            in.threshold = params_.threshold;
            evaluate(in, out, in_place);
        } else {
            Samples mask = binarise(src);
            mask.threshold = rect ? mask_threshold : 0;
            const Samples result = grey ? out : scratch_like(mask);
            evaluate(mask, result, false);
            if (!grey)
                return add_points<Spread>({.picture = Picture(dst),
                                           .mask = result.data,
                                           .src = in.data,
                                           .length = src.width,
                                           .rows = src.height});
        }
        fill_chroma<std::uint8_t>(dst, neutral_chroma8);
    }

    /// One byte a pixel, 0 or 255.
    Samples binarise(const Image &src) {
        const Samples mask = scratch_plane(src.height, src.width, 1, 1);
        add_points<Binarise>({.picture = Picture(src),
                              .mask = mask.data,
                              .length = src.width,
                              .rows = src.height,
                              .threshold = params_.threshold});
        return mask;
    }

    static constexpr int mask_threshold = 128;
    static constexpr int min_band = 64; ///< rows of an ellipse, whatever its tables take

    ErodePlan plan_;
};

} // namespace

std::unique_ptr<Erode> make_erode(std::shared_ptr<Context> context) {
    return std::make_unique<CudaErode>(context);
}

} // namespace gpv::cuda
