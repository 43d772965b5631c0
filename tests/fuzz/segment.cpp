// SPDX-License-Identifier: BSD-2-Clause
// Raw bits to one use of segmentation, under the same promises as erode.cpp.
#include "fuzz.hpp"

#include <cmath>
#include <optional>

namespace {

using Bytes = std::vector<std::vector<std::uint8_t>>;

/// From 0 to more than there is.
float read_weight(Input &in) {
    return std::ldexp(static_cast<float>(in.below(64)), in.below(26) - 10);
}

gpv_segment_params read_params(Input &in) {
    gpv_segment_params params;
    gpv_segment_params_init(&params, sizeof params);
    if (in.once_in(16)) {
        const auto first = in.raw<std::array<std::uint32_t, 11>>(); // seeds mean what they did
        std::memcpy(&params, first.data(), sizeof first);
        if (params.struct_size > sizeof params) // there is no more to read
            params.struct_size = sizeof params;
        return params;
    }
    params.model = in.below(3);
    params.warm_start = in.below(3);
    params.connectivity = in.flag() ? 8 : 4;
    params.iterations = 1 + std::max(0, in.below(8) - 5);
    params.lambda = in.once_in(8) ? in.raw<float>() : read_weight(in);
    params.sigma = in.once_in(8) ? in.raw<float>() : read_weight(in);
    params.output = in.below(2);
    params.certificate = !in.flag();
    params.max_time_us = in.once_in(8) ? 1 + in.below(100) : 0;
    params.static_scene = params.certificate; // nothing more is read
    params.edge = params.connectivity == 8;
    return params;
}

/// What would take longer than it is worth. Illegal numbers stay.
void bound(gpv_segment_params &params) {
    limit("segment", "iterations", params.iterations, 4);
}

/// In src, or any.
gpv_rect read_rect(Input &in, const gpv_image &src) {
    if (in.once_in(4) || src.width < 1 || src.height < 1)
        return in.raw<gpv_rect>();
    gpv_rect rect;
    rect.x = in.below(src.width);
    rect.y = in.below(src.height);
    rect.width = 1 + in.below(src.width - rect.x);
    rect.height = 1 + in.below(src.height - rect.y);
    return rect;
}

/// Its noise, where it means something: more of it is known, the rest is not, or is probable.
void fill_seeds(Input &in, Picture &seeds) {
    if (!seeds.legal || !seeds.backed || seeds.wild || seeds.view.format != GPV_FORMAT_GRAY8)
        return;
    const int background = in.raw<std::uint8_t>(), foreground = in.raw<std::uint8_t>();
    for (int y = 0; y < seeds.view.height; y++)
        for (int x = 0; x < seeds.view.width; x++) {
            std::uint8_t &seed = seeds.row(0, y)[x];
            if (seed < background)
                seed = 0;
            else if (seed > foreground)
                seed = 255;
            else if (seed > 3)
                seed = seed % 8 < 2 ? 2 + seed % 2 : 128;
        }
}

/// All that a run reads and writes. dst may be src.
struct Run {
    Picture &src;
    Picture *seeds;
    const gpv_rect *rect;
    Picture *mask, *dst;
    Flat *result;

    gpv_status enqueue(gpv_segment *op) const {
        const auto view = [](const auto *p) { return p ? &p->view : nullptr; };
        return gpv_segment_run(op, nullptr, &src.view, view(seeds), rect, view(mask), view(dst),
                               view(result));
    }
    bool in_place() const { return dst == &src; }
    Bytes written() const {
        Bytes all;
        for (const Picture *picture : {mask, dst})
            if (picture)
                for (auto &plane : picture->bytes())
                    all.push_back(std::move(plane));
        if (result)
            all.push_back(result->block);
        return all;
    }
    Bytes read() const {
        Bytes all = in_place() ? Bytes{} : src.bytes();
        if (seeds)
            for (auto &plane : seeds->bytes())
                all.push_back(std::move(plane));
        return all;
    }
};

/// Whether nothing but the rows of an image has changed.
bool intact_outside(const Picture &picture, Bytes before) {
    const gpv_image &view = picture.view;
    for (int i = 0; i < gpv_format_planes(view.format); i++) {
        std::int64_t row_bytes, rows;
        REQUIRE(gpv_format_plane(view.format, i, view.width, view.height, &row_bytes, &rows) ==
                GPV_OK);
        for (std::int64_t y = 0; y < rows; y++)
            std::memcpy(before[i].data() + (picture.row(i, y) - picture.blocks[i].get()),
                        picture.row(i, y), row_bytes);
    }
    return before == picture.bytes();
}

/// 0 or 255 where it is known on which side a pixel is.
std::optional<int> known(const Run &run, int x, int y) {
    if (run.rect && (x < run.rect->x || x - run.rect->x >= run.rect->width || y < run.rect->y ||
                     y - run.rect->y >= run.rect->height))
        return 0;
    const int seed = run.seeds ? run.seeds->row(0, y)[x] : 128;
    return seed == 0                  ? std::optional(0)
           : seed == 1 || seed == 255 ? std::optional(255)
                                      : std::nullopt;
}

void check_mask(const Run &run, bool soft, const gpv_graphcut_result &found) {
    std::int64_t area = 0;
    for (int y = 0; y < run.mask->view.height; y++)
        for (int x = 0; x < run.mask->view.width; x++) {
            const int side = run.mask->row(0, y)[x];
            REQUIRE(soft || side == 0 || side == 255);
            REQUIRE(!found.optimal || known(run, x, y).value_or(side) == side);
            area += side == 255;
        }
    REQUIRE(soft || found.area == area);
    for (int i = 1; i < gpv_format_planes(run.mask->view.format); i++)
        for (int y = 0; y < (run.mask->view.height + 1) / 2; y++)
            for (int x = 0; x < (run.mask->view.width + 1) / 2; x++)
                REQUIRE(run.mask->row(i, y)[x] == 128);
}

/// Each pixel is what its side says, and each sample of chroma what that of its first pixel says.
void check_overlay(const Run &run) {
    const gpv_image &view = run.src.view;
    const auto channels = channels_of(view.format);
    const bool yuv = is_yuv(view.format), wide = sample_bytes(view.format) == 2;
    const int black = !yuv || view.color_range == GPV_COLOR_RANGE_FULL ? 0 : wide ? 4096 : 16;
    for (std::size_t k = 0; k < channels.size(); k++)
        for (int y = 0; y < run.src.rows(channels[k]); y++)
            for (int x = 0; x < run.src.columns(channels[k]); x++) {
                const int px = x * channels[k].across, py = y * channels[k].down;
                const bool kept = k == 3 || run.mask->row(0, py)[px] == 255;
                const int luma = yuv || channels.size() == 1
                                     ? run.src.sample(channels[0], px, py)
                                     : grey_of(run.src.color(channels, px, py));
                REQUIRE(run.dst->sample(channels[k], x, y) ==
                        (kept           ? run.src.sample(channels[k], x, y)
                         : k > 0 && yuv ? (wide ? 32768 : 128)
                                        : (luma + black) / 2));
            }
}

bool has_alpha(gpv_format format) {
    return format == GPV_FORMAT_RGBA8 || format == GPV_FORMAT_BGRA8 || format == GPV_FORMAT_ARGB8 ||
           format == GPV_FORMAT_ABGR8;
}

void check_cutout(const Run &run, bool soft) {
    const gpv_format format = run.src.view.format;
    const auto from = channels_of(format), to = channels_of(run.dst->view.format);
    for (int y = 0; y < run.src.view.height; y++)
        for (int x = 0; x < run.src.view.width; x++) {
            const int opaque = has_alpha(format) ? run.src.sample(from[3], x, y) : 255,
                      alpha = run.dst->sample(to[3], x, y);
            REQUIRE(alpha == 0 || alpha == opaque || (soft && alpha < opaque));
            REQUIRE(!run.mask || alpha == (run.mask->row(0, y)[x] * opaque + 127) / 255);
            if (!is_yuv(format))
                REQUIRE(run.dst->color(to, x, y) == run.src.color(from, x, y));
        }
}

/// params is null if they are not those of the operator.
void check_found(const Run &run, const gpv_segment_params *params,
                 const gpv_graphcut_result &found) {
    REQUIRE(found.struct_size == sizeof found && found.reserved == 0 && found.refused == 0);
    REQUIRE(found.flow >= 0 && found.area >= 0 && found.optimal <= 1);
    if (run.result)
        REQUIRE(std::memcmp(run.result->view.data, &found, sizeof found) == 0);
    const bool soft = params && params->edge == GPV_SEGMENT_EDGE_SOFT;
    if (run.mask)
        check_mask(run, soft, found);
    const bool certified = params && params->certificate, limited = params && params->max_time_us;
    REQUIRE(found.optimal == 1 || limited);
    REQUIRE(certified || !found.optimal ? found.cut >= found.flow : found.cut == -1);
    REQUIRE(!certified || !found.optimal ||
            found.cut == found.flow); // which proves that both are right
    if (!run.dst || run.in_place())
        return;
    if (params && params->output == GPV_SEGMENT_OUTPUT_CUTOUT)
        check_cutout(run, soft);
    else if (run.mask && !soft)
        check_overlay(run);
}

gpv_graphcut_result waited_for(gpv_segment *op) {
    gpv_graphcut_result found;
    gpv_graphcut_result_init(&found, sizeof found);
    REQUIRE(gpv_segment_query(op) == GPV_OK && gpv_segment_wait(op, &found) == GPV_OK);
    return found;
}

void divide(gpv_context *context, gpv_segment *op, const gpv_segment_params *params, const Run &run,
            Budget &budget) {
    const Bytes read = run.read(), written = run.written();
    const Bytes mask = run.mask ? run.mask->bytes() : Bytes{};
    const Bytes dst = run.dst ? run.dst->bytes() : Bytes{};
    const gpv_status status = run.enqueue(op);
    REQUIRE(status <= GPV_OK && status >= GPV_ERR_OUT_OF_MEMORY);
    REQUIRE(status == GPV_OK || gpv_context_error(context)[0]);
    REQUIRE(run.read() == read);
    const gpv_graphcut_result found = waited_for(op);
    if (status != GPV_OK) {
        gpv_graphcut_result none;
        gpv_graphcut_result_init(&none, sizeof none);
        REQUIRE(run.written() == written && std::memcmp(&found, &none, sizeof none) == 0);
        return;
    }
    REQUIRE(run.src.legal && (!run.seeds || run.seeds->legal) && (!run.mask || run.mask->legal) &&
            (!run.dst || run.dst->legal));
    REQUIRE(!run.mask || intact_outside(*run.mask, mask));
    REQUIRE(!run.dst || intact_outside(*run.dst, dst));
    check_found(run, params, found);

    budget.fail_at = 0;
    if (run.in_place() || !found.optimal)
        return;
    // The same once more, and then with what has been learned.
    const Bytes once = run.written();
    const bool limited = params && params->max_time_us;
    REQUIRE(gpv_segment_forget(op) == GPV_OK && run.enqueue(op) == GPV_OK);
    const gpv_graphcut_result again = waited_for(op);
    REQUIRE(limited || (run.written() == once && std::memcmp(&again, &found, sizeof found) == 0));
    if (params && params->warm_start != GPV_SEGMENT_WARM_START_NONE)
        REQUIRE(run.enqueue(op) == GPV_OK);
    check_found(run, params, waited_for(op));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    Input in(data, size);
    Budget budget;
    gpv_context *context = open_context(budget);
    gpv_segment *op = nullptr;
    gpv_segment_params params = read_params(in);
    bound(params);
    gpv_status status = gpv_segment_create(context, &params, &op);
    REQUIRE(status == GPV_OK || status == GPV_ERR_INVALID_ARGUMENT);
    if (status != GPV_OK)
        REQUIRE(!op && gpv_segment_create(context, nullptr, &op) == GPV_OK);
    const bool params_in_force = status == GPV_OK;

    const Fields fields = read_fields(in);
    Picture src(in, fields);
    const auto read_beside = [&](gpv_format format) {
        return std::make_unique<Picture>(
            in, in.once_in(16) ? read_fields(in) : Fields{format, fields.width, fields.height});
    };
    std::unique_ptr<Picture> seeds, mask, other;
    std::optional<gpv_rect> rect;
    if (in.flag()) {
        seeds = read_beside(GPV_FORMAT_GRAY8);
        fill_seeds(in, *seeds);
    }
    if (in.once_in(4))
        rect = read_rect(in, src.view);
    if (!in.once_in(4)) {
        static constexpr gpv_format formats[] = {GPV_FORMAT_GRAY8, GPV_FORMAT_NV12,
                                                 GPV_FORMAT_I420};
        mask = read_beside(formats[in.below(3)]);
    }
    const int where = in.below(4);
    if (where > 1) {
        gpv_format format = fields.format;
        if (params_in_force && params.output == GPV_SEGMENT_OUTPUT_CUTOUT)
            format = in.flag() ? GPV_FORMAT_RGBA8 : GPV_FORMAT_BGRA8;
        other = read_beside(format);
    }
    Picture *const dst = where == 1 ? &src : other.get();
    const auto result = read_flat(in, sizeof(gpv_graphcut_result) + in.below(8));
    if (mask && in.once_in(16))
        mask->view.data[0] = (seeds && in.flag() ? *seeds : src).view.data[0];
    if (result && in.once_in(16))
        result->view.data = (mask && in.flag() ? *mask : src).view.data[0];
    if (in.once_in(8))
        budget.fail_at = 1 + in.below(4);
    if (in.once_in(4)) {
        const auto view = [](const Picture *p) { return p ? &p->view : nullptr; };
        status = gpv_segment_prepare(op, &src.view, view(seeds.get()), view(mask.get()), view(dst));
        REQUIRE(status <= GPV_OK && status >= GPV_ERR_OUT_OF_MEMORY);
    }

    const auto usable = [](const Picture *p) { return !p || p->backed || !p->legal; };
    if (usable(&src) && usable(seeds.get()) && usable(mask.get()) && usable(dst))
        divide(context, op, params_in_force ? &params : nullptr,
               {src, seeds.get(), rect ? &*rect : nullptr, mask.get(), dst, result.get()}, budget);
    gpv_segment_destroy(&op);
    gpv_context_destroy(&context);
    REQUIRE(budget.live == 0);
    return 0;
}
