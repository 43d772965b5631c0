// SPDX-License-Identifier: BSD-2-Clause
// Raw bits to one use of morphology. Memory is exactly as large as promised, so
// that AddressSanitizer sees one byte too many, and what must hold of every
// result is checked.
#include "fuzz.hpp"

namespace {

gpv_erode_params read_params(Input &in) {
    gpv_erode_params params;
    gpv_erode_params_init(&params, sizeof params);
    if (in.once_in(16)) {
        params = in.raw<gpv_erode_params>();
        if (params.struct_size > sizeof params) // there is no more to read
            params.struct_size = sizeof params;
        return params;
    }
    params.operation = in.below(7);
    params.shape = in.below(3);
    params.radius = in.once_in(4) ? in.below(256) : in.below(9);
    params.radius_y = in.once_in(4) ? in.below(256) : in.below(9) - 1;
    params.iterations = in.once_in(8) ? 1 + in.below(255) : 1;
    params.threshold = in.flag() ? 0 : in.flag() ? in.below(256) : in.raw<std::uint16_t>();
    params.border = in.below(2);
    params.planes = in.below(3);
    return params;
}

/// The rows of the element that a run goes through, a vector at a time, are bounded by nothing
/// else, and a run must end in a second. Repeats that reach beyond the image change nothing.
bool affordable(const gpv_erode_params &p, const gpv_image &image) {
    constexpr std::int64_t maximum = 1 << 19, vector = 64;
    const int radius_y = p.radius_y < 0 ? p.radius : p.radius_y;
    const auto steps = [](int way, int radius) { return radius > 0 ? way / radius + 1 : 0; };
    const int repeats = 1 + steps(image.width, p.radius) + steps(image.height, radius_y);
    const int window = p.shape == GPV_ERODE_SHAPE_ELLIPSE ? 2 * radius_y + 1 : 8;
    const std::int64_t row = 2 * p.radius + 4 * std::int64_t{image.width};
    return image.height * (1 + row / vector) * window * std::min(repeats, p.iterations) <= maximum;
}

/// One sample before and after.
bool plausible(const gpv_erode_params &p, int before, int after) {
    switch (p.operation) {
    case GPV_ERODE_OPERATION_ERODE:
    case GPV_ERODE_OPERATION_OPEN:
    case GPV_ERODE_OPERATION_TOPHAT:
        return after <= before || (p.operation == GPV_ERODE_OPERATION_OPEN && p.border);
    case GPV_ERODE_OPERATION_DILATE:
        return after >= before;
    case GPV_ERODE_OPERATION_CLOSE:
        return after >= before || p.border;
    default:
        return true;
    }
}

void check_channel(const gpv_erode_params &p, int number, const Channel &channel,
                   const Picture &before, const Picture &after) {
    const gpv_format format = before.view.format;
    const bool binary = p.threshold > 0, chroma = number > 0 && is_yuv(format),
               wide = sample_bytes(format) == 2;
    const bool copied = number == 3 || (chroma && p.planes != GPV_ERODE_PLANES_ALL && !binary);
    for (int y = 0; y < before.rows(channel); y++)
        for (int x = 0; x < before.columns(channel); x++) {
            const int was = before.sample(channel, x, y), is = after.sample(channel, x, y);
            if (copied)
                REQUIRE(was == is);
            else if (binary)
                REQUIRE(chroma ? is == (wide ? 32768 : 128)
                               : is == 0 || is == (wide ? 65535 : 255));
            else
                REQUIRE(plausible(p, was, is));
        }
    // The luma of a pair that is no pixel's.
    if (number == 0 && channel.step == 2 && before.view.width % 2)
        for (int y = 0; y < before.view.height; y++)
            REQUIRE(after.sample(channel, before.view.width, y) ==
                    after.sample(channel, before.view.width - 1, y));
}

/// Writes the rows of from over those of to.
void copy_rows(const Picture &from, Picture &to) {
    for (int i = 0; i < gpv_format_planes(from.view.format); i++) {
        std::int64_t row_bytes, rows;
        REQUIRE(gpv_format_plane(from.view.format, i, from.view.width, from.view.height, &row_bytes,
                                 &rows) == GPV_OK);
        for (std::int64_t y = 0; y < rows; y++)
            std::memcpy(to.row(i, y), from.row(i, y), row_bytes);
    }
}

void check_result(const gpv_erode_params &p, const Picture &src, const Picture &dst,
                  const Picture &again) {
    for (int i = 0; i < gpv_format_planes(src.view.format); i++) {
        std::int64_t row_bytes, rows;
        REQUIRE(gpv_format_plane(src.view.format, i, src.view.width, src.view.height, &row_bytes,
                                 &rows) == GPV_OK);
        for (std::int64_t y = 0; y < rows; y++)
            REQUIRE(std::memcmp(dst.row(i, y), again.row(i, y), row_bytes) == 0);
    }
    int number = 0;
    for (const Channel &channel : channels_of(src.view.format))
        check_channel(p, number++, channel, src, dst);
}

/// What gpv_image_wrap() says must fit into what it asks for.
void check_wrap(const Fields &f, std::int64_t stride) {
    gpv_image image;
    const std::int64_t need =
        gpv_image_wrap(&image, sizeof image, f.format, f.width, f.height, nullptr, stride);
    REQUIRE(need > 0 || need == GPV_ERR_INVALID_ARGUMENT);
    REQUIRE(need == gpv_image_wrap(nullptr, 0, f.format, f.width, f.height, nullptr, stride));
    if (need < 0 || need > max_bytes)
        return;
    std::unique_ptr<char[]> exact(new char[need]);
    REQUIRE(gpv_image_wrap(&image, sizeof image, f.format, f.width, f.height, exact.get(),
                           stride) == need);
    const char *end = exact.get();
    for (int i = 0; i < gpv_format_planes(f.format); i++) {
        std::int64_t row_bytes, rows;
        REQUIRE(gpv_format_plane(f.format, i, f.width, f.height, &row_bytes, &rows) == GPV_OK);
        REQUIRE(image.data[i] == end && image.stride[i] >= row_bytes);
        end += image.stride[i] * rows;
    }
    REQUIRE(end == exact.get() + need);
}

/// params is null if they are not those of op.
void run(Input &in, gpv_context *context, gpv_erode *op, const gpv_erode_params *params,
         Picture &src, Picture &dst, Budget &budget) {
    const bool in_place = src.view.data[0] == dst.view.data[0];
    const Fields fields = {src.view.format, src.view.width, src.view.height};
    const auto before_src = src.bytes(), before_dst = dst.bytes();
    Picture original(in, fields), again(in, fields);
    const bool copied =
        src.legal && original.legal && original.backed && again.legal && again.backed;
    if (copied) {
        copy_rows(src, original);
        copy_rows(src, again);
    }

    const gpv_status status = gpv_erode_run(op, nullptr, &src.view, &dst.view);
    REQUIRE(status <= GPV_OK && status >= GPV_ERR_OUT_OF_MEMORY);
    REQUIRE(status != GPV_OK || (src.legal && dst.legal));
    REQUIRE(status == GPV_OK || gpv_context_error(context)[0]);
    REQUIRE(gpv_erode_query(op) == GPV_OK && gpv_erode_wait(op) == GPV_OK);
    if (status == GPV_ERR_INVALID_ARGUMENT || status == GPV_ERR_UNSUPPORTED)
        REQUIRE(src.bytes() == before_src && dst.bytes() == before_dst);
    if (!in_place)
        REQUIRE(src.bytes() == before_src);
    if (status != GPV_OK || !copied || !params)
        return;

    budget.fail_at = 0;
    const gpv_status repeated = gpv_erode_run(op, nullptr, &again.view, &again.view);
    REQUIRE(repeated == GPV_OK || repeated == GPV_ERR_OUT_OF_MEMORY || again.wild);
    if (repeated == GPV_OK)
        check_result(*params, original, in_place ? src : dst, again);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    Input in(data, size);
    Budget budget;
    gpv_context *context = open_context(budget);
    gpv_erode *op = nullptr;

    const gpv_erode_params params = read_params(in);
    gpv_status status = gpv_erode_create(context, &params, &op);
    REQUIRE(status == GPV_OK || status == GPV_ERR_INVALID_ARGUMENT);
    if (status != GPV_OK)
        REQUIRE(!op && gpv_erode_create(context, nullptr, &op) == GPV_OK);
    const bool params_in_force = status == GPV_OK;

    const Fields fields = read_fields(in);
    check_wrap(fields, in.flag() ? 0 : in.raw<std::int64_t>() >> in.below(64));
    Picture src(in, fields);
    Picture dst(in, in.once_in(16) ? read_fields(in) : fields);
    if (in.once_in(8)) {
        dst.view = src.view;
        dst.legal = src.legal;
        dst.backed = src.backed;
    }
    if (in.once_in(8))
        budget.fail_at = 1 + in.below(3);
    if (in.once_in(4)) {
        status = gpv_erode_prepare(op, &src.view);
        REQUIRE(status <= GPV_OK && status >= GPV_ERR_OUT_OF_MEMORY);
    }

    const bool usable = (src.backed || !src.legal) && (dst.backed || !dst.legal);
    if (usable && (!params_in_force || !src.legal || affordable(params, src.view)))
        run(in, context, op, params_in_force ? &params : nullptr, src, dst, budget);
    gpv_erode_destroy(&op);
    gpv_context_destroy(&context);
    REQUIRE(budget.live == 0);
    return 0;
}
