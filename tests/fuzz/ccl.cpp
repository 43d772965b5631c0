// SPDX-License-Identifier: BSD-2-Clause
// Raw bits to one use of labelling, under the same promises as erode.cpp.
#include "fuzz.hpp"

namespace {

gpv_ccl_params read_params(Input &in) {
    gpv_ccl_params params;
    gpv_ccl_params_init(&params, sizeof params);
    if (in.once_in(16)) {
        params = in.raw<gpv_ccl_params>();
        if (params.struct_size > sizeof params) // there is no more to read
            params.struct_size = sizeof params;
        return params;
    }
    params.output = in.below(3);
    params.mode = in.below(2);
    params.connectivity = in.flag() ? 4 : 8;
    params.threshold = in.once_in(8) ? in.raw<std::uint16_t>() : in.below(256);
    params.foreground = in.once_in(4) ? in.below(256) : -1;
    params.invert = in.below(2);
    params.min_area = in.once_in(4) ? in.raw<std::uint16_t>() : in.below(4);
    params.max_area = in.once_in(4) ? in.raw<std::uint16_t>() : 0;
    return params;
}

Fields read_output(Input &in, const Fields &src, gpv_ccl_output output) {
    static constexpr gpv_format formats[][4] = {
        {GPV_FORMAT_LABEL32, GPV_FORMAT_LABEL32, GPV_FORMAT_GRAY16, GPV_FORMAT_P016},
        {GPV_FORMAT_GRAY8, GPV_FORMAT_GRAY8, GPV_FORMAT_NV12, GPV_FORMAT_I420}};
    if (in.once_in(16))
        return read_fields(in);
    const gpv_format format = output % 3 == GPV_CCL_OUTPUT_COLORS
                                  ? formats::pictures[in.below(std::size(formats::pictures))]
                                  : formats[output % 3][in.below(4)];
    return {format, src.width, src.height};
}

/// All that a run writes.
struct Outputs {
    Picture *dst;
    Flat *components;
    std::uint32_t stride;
    Flat *count;

    gpv_status run(gpv_ccl *op, const Picture &src) const {
        return gpv_ccl_run(op, nullptr, &src.view, dst ? &dst->view : nullptr,
                           components ? &components->view : nullptr, stride,
                           count ? &count->view : nullptr);
    }
    std::vector<std::vector<std::uint8_t>> bytes() const {
        auto all = dst ? dst->bytes() : std::vector<std::vector<std::uint8_t>>();
        for (const Flat *flat : {components, count})
            if (flat)
                all.push_back(flat->block);
        return all;
    }
};

/// What holds of labels of 32 bits: in raster order each is known, or the next one.
void check_labels(const Picture &dst, std::int32_t count, std::vector<std::int64_t> &areas) {
    areas.assign(count + 1, 0);
    std::int32_t known = 0;
    for (int y = 0; y < dst.view.height; y++)
        for (int x = 0; x < dst.view.width; x++) {
            std::int32_t label;
            std::memcpy(&label, dst.row(0, y) + x * sizeof label, sizeof label);
            REQUIRE(label >= 0 && label <= known + 1 && label <= count);
            known = std::max(known, label);
            areas[label]++;
        }
    REQUIRE(known == count);
}

void check_components(const Outputs &outputs, const gpv_ccl_params &p, const gpv_image &src,
                      const gpv_ccl_result &result, const std::vector<std::int64_t> &areas) {
    for (std::int32_t i = 0; i < result.components; i++) {
        gpv_ccl_component c;
        const std::uint32_t stride = outputs.stride ? outputs.stride : sizeof c;
        std::memcpy(&c,
                    static_cast<const std::uint8_t *>(outputs.components->view.data) +
                        std::size_t(i) * stride,
                    sizeof c);
        REQUIRE(0 <= c.left && c.left < c.right && c.right <= src.width);
        REQUIRE(0 <= c.top && c.top < c.bottom && c.bottom <= src.height);
        REQUIRE(c.reserved == 0 && c.area > 0 && c.area >= p.min_area);
        REQUIRE(p.max_area == 0 || c.area <= p.max_area);
        REQUIRE(c.area <= std::int64_t{c.right - c.left} * (c.bottom - c.top));
        REQUIRE(c.sum_x >= std::int64_t{c.area} * c.left &&
                c.sum_x < std::int64_t{c.area} * c.right);
        REQUIRE(c.sum_y >= std::int64_t{c.area} * c.top &&
                c.sum_y < std::int64_t{c.area} * c.bottom);
        REQUIRE(areas.empty() || areas[i + 1] == c.area);
    }
}

void check_result(const Outputs &outputs, const gpv_ccl_params &p, const gpv_image &src,
                  const gpv_ccl_result &result) {
    std::vector<std::int64_t> areas;
    if (outputs.dst && outputs.dst->view.format == GPV_FORMAT_LABEL32)
        check_labels(*outputs.dst, result.count, areas);
    check_components(outputs, p, src, result, areas);
    if (outputs.count)
        REQUIRE(std::memcmp(outputs.count->view.data, &result.count, sizeof result.count) == 0);
}

/// params is null if they are not those of op.
void run(gpv_context *context, gpv_ccl *op, const gpv_ccl_params *params, const Picture &src,
         const Outputs &outputs, Budget &budget) {
    const auto before_src = src.bytes(), before = outputs.bytes();
    const gpv_status status = outputs.run(op, src);
    REQUIRE(status <= GPV_OK && status >= GPV_ERR_OUT_OF_MEMORY);
    REQUIRE(status == GPV_OK || gpv_context_error(context)[0]);
    REQUIRE(src.bytes() == before_src);
    if (status == GPV_ERR_INVALID_ARGUMENT || status == GPV_ERR_UNSUPPORTED)
        REQUIRE(outputs.bytes() == before);
    gpv_ccl_result result;
    gpv_ccl_result_init(&result, sizeof result);
    const gpv_status found = gpv_ccl_wait(op, &result);
    REQUIRE(found == GPV_OK || found == GPV_ERR_TOO_SMALL);
    REQUIRE(gpv_ccl_query(op) == found);
    if (status != GPV_OK)
        return;
    REQUIRE(src.legal && (!outputs.dst || outputs.dst->legal));
    REQUIRE(result.count >= 0 && result.components >= 0 && result.components <= result.count);
    if (params)
        check_result(outputs, *params, src.view, result);

    budget.fail_at = 0;
    const auto once = outputs.bytes();
    gpv_ccl_result alone;
    gpv_ccl_result_init(&alone, sizeof alone);
    REQUIRE(outputs.run(op, src) == GPV_OK && outputs.bytes() == once);
    REQUIRE(gpv_ccl_run(op, nullptr, &src.view, nullptr, nullptr, 0, nullptr) == GPV_OK);
    REQUIRE(gpv_ccl_wait(op, &alone) == GPV_OK && alone.count == result.count);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    Input in(data, size);
    Budget budget;
    gpv_context *context = open_context(budget);
    gpv_ccl *op = nullptr;
    const gpv_ccl_params params = read_params(in);
    gpv_status status = gpv_ccl_create(context, &params, &op);
    REQUIRE(status == GPV_OK || status == GPV_ERR_INVALID_ARGUMENT);
    if (status != GPV_OK)
        REQUIRE(!op && gpv_ccl_create(context, nullptr, &op) == GPV_OK);
    const bool params_in_force = status == GPV_OK;

    const Fields fields = read_fields(in);
    Picture src(in, fields);
    std::unique_ptr<Picture> dst;
    if (!in.once_in(4))
        dst = std::make_unique<Picture>(in, read_output(in, fields, params.output));
    const std::uint32_t stride = in.once_in(8) ? in.raw<std::uint16_t>() : 8 * in.below(9);
    const auto components = read_flat(in, in.raw<std::uint16_t>() % 8192);
    const auto count = read_flat(in, in.below(16));
    if (dst && in.once_in(16))
        dst->view.data[0] = src.view.data[0];
    if (in.once_in(8))
        budget.fail_at = 1 + in.below(8);
    if (in.once_in(4)) {
        status = gpv_ccl_prepare(op, &src.view, dst ? &dst->view : nullptr, in.below(64));
        REQUIRE(status <= GPV_OK && status >= GPV_ERR_OUT_OF_MEMORY);
    }

    if ((src.backed || !src.legal) && (!dst || dst->backed || !dst->legal))
        run(context, op, params_in_force ? &params : nullptr, src,
            {dst.get(), components.get(), stride, count.get()}, budget);
    gpv_ccl_destroy(&op);
    gpv_context_destroy(&context);
    REQUIRE(budget.live == 0);
    return 0;
}
