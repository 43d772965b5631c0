// SPDX-License-Identifier: BSD-2-Clause
#include "core/segment.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include <gpuvision/segment.h>

#include "api/graphcut.hpp"
#include "api/image.hpp"
#include "api/params.hpp"

struct gpv_segment {
    std::shared_ptr<gpv::Context> context;
    gpv_segment_params params{};
    std::unique_ptr<gpv::Segment> core;

    // State of the last run.
    bool has_run = false; ///< and it did not fail
    int width = 1;
};

namespace gpv {
namespace {

static_assert(segment::unit == GPV_SEGMENT_UNIT);

/// Seeds may be in host memory or in the memory of src.
Image read_seeds(const gpv_segment &op, const gpv_image *image, const Image &src, bool shape_only) {
    const Image seeds = read_image(image, "seeds", shape_only);
    if (seeds.format != Format::gray8)
        throw Error(Status::unsupported, std::string("seeds->format is ") +
                                             format_info(seeds.format).name + ", must be GRAY8");
    Image like = src;
    if (seeds.memory == Memory::host)
        like.memory = Memory::host;
    require_like(*op.context, like, seeds, "seeds");
    return seeds;
}

Image read_mask(const gpv_segment &op, const gpv_image *image, const Image &src, bool shape_only) {
    const Image mask = read_image(image, "mask", shape_only);
    if (mask.format != Format::gray8 && mask.format != Format::nv12 && mask.format != Format::i420)
        throw Error(Status::unsupported, std::string("mask->format is ") +
                                             format_info(mask.format).name +
                                             ", but a mask is GRAY8, NV12 or I420");
    require_like(*op.context, src, mask, "mask");
    return mask;
}

Image read_painted(const gpv_segment &op, const gpv_image *image, const Image &src,
                   bool shape_only) {
    const Image dst = read_image(image, "dst", shape_only);
    const auto is = [&] { return std::string("dst->format is ") + format_info(dst.format).name; };
    if (op.params.output == GPV_SEGMENT_OUTPUT_CUTOUT) {
        if (dst.format != Format::rgba8 && dst.format != Format::bgra8)
            throw Error(Status::unsupported, is() + ", but a cutout is RGBA8 or BGRA8");
    } else if (dst.format != src.format) {
        throw Error(Status::invalid_argument, is() + ", but an overlay has the format of src, " +
                                                  format_info(src.format).name);
    }
    require_like(*op.context, src, dst, "dst");
    return dst;
}

SegmentRun read_run(const gpv_segment &op, const gpv_image *src, const gpv_image *seeds,
                    const gpv_image *mask, const gpv_image *dst, bool shape_only) {
    SegmentRun run{.src = read_image(src, "src", shape_only)};
    require_picture(*op.context, run.src, "src", "segmentation");
    if (seeds)
        run.seeds = read_seeds(op, seeds, run.src, shape_only);
    if (mask)
        run.mask = read_mask(op, mask, run.src, shape_only);
    if (dst)
        run.dst = read_painted(op, dst, run.src, shape_only);
    return run;
}

Rect read_rect(const gpv_rect &rect, const Image &src) {
    require_range({"rect", "x"}, rect.x, 0, src.width - 1);
    require_range({"rect", "y"}, rect.y, 0, src.height - 1);
    require_range({"rect", "width"}, rect.width, 1, src.width - rect.x);
    require_range({"rect", "height"}, rect.height, 1, src.height - rect.y);
    return {rect.x, rect.y, rect.width, rect.height};
}

/// An output of a run must not overlap any other input or output, except that dst may be src.
void require_disjoint(const SegmentRun &run) {
    const std::pair<const Image *, const char *> images[] = {
        {&run.src, "src"},
        {run.seeds ? &*run.seeds : nullptr, "seeds"},
        {run.mask ? &*run.mask : nullptr, "mask"},
        {run.dst ? &*run.dst : nullptr, "dst"}};
    for (const auto &[image, name] : {images[2], images[3]})
        if (image && planes_overlap(*image))
            throw Error(Status::invalid_argument,
                        std::string("two planes of ") + name + " overlap");
    for (const auto &[image, name] : images) {
        if (!image)
            continue;
        if (run.result && overlap(*image, view_of(run.result, *image)))
            throw_overlap("result", name);
        if (run.mask && image != &*run.mask && overlap(*image, *run.mask))
            throw_overlap("mask", name);
        if (run.dst && image != &*run.dst && overlap(*image, *run.dst)) {
            const bool in_place = image == &run.src && run.src.format == run.dst->format &&
                                  same_pixels(run.src, *run.dst);
            if (!in_place)
                throw_overlap("dst", name);
        }
    }
}

// ---- what seeds say -----------------------------------------------------------------

[[noreturn]] void throw_meaningless(int seed, std::int64_t x, std::int64_t y) {
    throw Error(Status::invalid_argument,
                "seeds is " + std::to_string(seed) + " at (" + std::to_string(x) + ", " +
                    std::to_string(y) +
                    "), must be 0 (background), 1 or 255 (foreground), 2 (probably background), 3 "
                    "(probably foreground) or 128 (not known)");
}

[[noreturn]] void throw_all_known() {
    throw Error(Status::invalid_argument, "seeds leave no pixel unknown: each one that counts is "
                                          "0, 1 or 255, so there is nothing to find");
}

/// What is among many seeds. By place modulo a block, and without branches, so that compilers make
/// vectors of it.
class Seen {
  public:
    void add_row(const std::uint8_t *seeds, int length) {
        if (length < block)
            return add(seeds, length);
        for (int x = 0; x + block <= length; x += block)
            add(seeds + x, block);
        add(seeds + length - block, block);
    }
    bool has_meaningless() const { return any(meaningless_); }
    bool has_unknown() const { return any(unknown_); }

  private:
    static constexpr std::integral_constant<int, 64> block{};
    using Flags = std::array<std::uint8_t, block>;

    template <class Count>
    void add(const std::uint8_t *seeds, Count count) {
        for (int i = 0; i < count; i++) {
            const std::uint8_t seed = seeds[i];
            const bool is_known = (seed < 2) | (seed == GPV_SEGMENT_SEED_WHITE);
            const bool is_unknown = ((seed & 0xfe) == 2) | (seed == GPV_SEGMENT_SEED_UNKNOWN);
            unknown_[i] |= is_unknown;
            meaningless_[i] |= !(is_known | is_unknown);
        }
    }
    static bool any(const Flags &flags) {
        return std::ranges::any_of(flags, [](std::uint8_t flag) { return flag != 0; });
    }

    Flags unknown_{}, meaningless_{};
};

/// Throws Error if seeds in host memory are at fault inside of the rectangle.
void require_meaning(const Image &image, const Rect &rect) {
    const auto row = [&](int y) {
        return reinterpret_cast<const std::uint8_t *>(image.planes[0].row(y)) + rect.x;
    };
    Seen seen;
    for (int y = rect.y; y < rect.y + rect.height; y++)
        seen.add_row(row(y), rect.width);
    for (int y = rect.y; seen.has_meaningless() && y < rect.y + rect.height; y++)
        for (int x = 0; x < rect.width; x++)
            if (const int seed = row(y)[x]; segment::known_of(seed, false) == segment::meaningless)
                throw_meaningless(seed, rect.x + x, y);
    if (!seen.has_unknown())
        throw_all_known();
}

/// Throws Error if the last finished run found a fault in seeds on the device.
void require_no_fault(const gpv_segment &op) {
    const GraphcutFault fault = op.has_run ? op.core->fault() : GraphcutFault{};
    if (fault.pixel < 0)
        return;
    const int seed = segment::seed_of_fault(fault.value);
    if (seed == segment::all_known)
        throw_all_known();
    throw_meaningless(seed, fault.pixel % op.width, fault.pixel / op.width);
}

} // namespace
} // namespace gpv

void gpv_segment_params_init(gpv_segment_params *params, uint32_t size) {
    gpv::write_struct(params, size, gpv::default_params<gpv_segment_params>(gpv::segment_fields));
}

gpv_status gpv_segment_create(gpv_context *context, const gpv_segment_params *params,
                              gpv_segment **out) {
    return gpv::create(context, out, [&](gpv_segment &op) {
        op.params = gpv::read_params(params, gpv::segment_fields);
        op.core = op.context->functions().make_segment(op.context);
        op.core->set_params(op.params);
    });
}

void gpv_segment_destroy(gpv_segment **op) {
    gpv::destroy(op);
}

gpv_status gpv_segment_set_params(gpv_segment *op, const gpv_segment_params *params) {
    return gpv::guard_object(op, [&] {
        const gpv_segment_params fresh = gpv::read_params(params, gpv::segment_fields);
        op->core->set_params(fresh);
        op->params = fresh;
    });
}

gpv_status gpv_segment_forget(gpv_segment *op) {
    return gpv::guard_object(op, [&] { op->core->forget_model(); });
}

gpv_status gpv_segment_learned(gpv_segment *op, uint32_t *learned) {
    return gpv::guard_object(op, [&] {
        gpv::require_not_null(learned, "learned");
        *learned = op->core->learned();
    });
}

gpv_status gpv_segment_prepare(gpv_segment *op, const gpv_image *src, const gpv_image *seeds,
                               const gpv_image *mask, const gpv_image *dst) {
    return gpv::guard_object(
        op, [&] { op->core->prepare(gpv::read_run(*op, src, seeds, mask, dst, true)); });
}

gpv_status gpv_segment_run(gpv_segment *op, gpv_stream stream, const gpv_image *src,
                           const gpv_image *seeds, const gpv_rect *rect, const gpv_image *mask,
                           const gpv_image *dst, const gpv_buffer *result) {
    return gpv::guard_object(op, [&] {
        gpv::SegmentRun run = gpv::read_run(*op, src, seeds, mask, dst, false);
        if (rect)
            run.rect = gpv::read_rect(*rect, run.src);
        if (result)
            run.result = gpv::read_result_buffer<gpv::GraphcutResult>(*op->context, result,
                                                                      "gpv_segment_wait");
        gpv::require_disjoint(run);
        if (run.seeds && run.seeds->memory == gpv::Memory::host)
            gpv::require_meaning(*run.seeds,
                                 run.rect.value_or(gpv::Rect{0, 0, run.src.width, run.src.height}));
        gpv::start_run(*op, [&] {
            if (!op->core->run(stream, run))
                return false;
            op->width = run.src.width;
            return true;
        });
    });
}

gpv_status gpv_segment_query(gpv_segment *op) {
    return gpv::query_run(op, gpv::require_no_fault);
}

gpv_status gpv_segment_wait(gpv_segment *op, gpv_graphcut_result *result) {
    return gpv::wait_for_run(op, result, gpv::first_graphcut_result_size, gpv::require_no_fault);
}
