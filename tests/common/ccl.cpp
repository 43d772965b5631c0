// SPDX-License-Identifier: BSD-2-Clause
#include "operators.hpp"

namespace operators {
namespace {

enum { SRC, DST, COMPONENTS, COUNT };

constexpr std::uint32_t record = sizeof(gpv_ccl_component);

/// A record for each pixel.
void fit(Run &run) {
    const std::uint32_t stride = run.stride[COMPONENTS] ? run.stride[COMPONENTS] : record;
    run.bytes[COMPONENTS] = (run.width * run.height - 1) * std::uint64_t{stride} + record;
    run.bytes[COUNT] = sizeof(std::int32_t);
}

Formats formats(const Run &run, int port) {
    if (port == SRC)
        return {formats::pictures, "labelling takes GRAY8, GRAY16|XBGR8, RGBP8"};
    switch (run.as<gpv_ccl_params>().output) {
    case GPV_CCL_OUTPUT_LABELS:
        return {{GPV_FORMAT_LABEL32, GPV_FORMAT_GRAY16, GPV_FORMAT_P016, GPV_FORMAT_GRAY8,
                 GPV_FORMAT_NV12, GPV_FORMAT_I420},
                "LABEL32, GRAY16, P016, GRAY8, NV12 or I420"};
    case GPV_CCL_OUTPUT_MASK:
        return {mask_formats(), "GRAY8, NV12 or I420"};
    default:
        return {formats::pictures, "any of GRAY8, GRAY16|XBGR8, RGBP8"};
    }
}

/// Of each kind of output.
Run example(int output) {
    Run run = run_of(gpv_ccl_params_init);
    run.as<gpv_ccl_params>().output = output;
    run.formats[SRC] = GPV_FORMAT_GRAY8;
    run.formats[DST] = formats(run, DST).taken[0];
    fit(run);
    return run;
}

constexpr int variants = 96;

Run variant(int i) {
    Run run = example(i % 3);
    auto &params = run.as<gpv_ccl_params>();
    params.mode = i / 3 % 2;
    params.connectivity = i / 6 % 2 ? 4 : 8;
    params.min_area = i / 12 % 2 ? 3 : 0;
    params.max_area = i / 24 % 2 ? 40 : 0;
    params.threshold = 140;
    params.foreground = i / 48 % 2 ? 7 : -1;
    params.invert = i / 2 % 2;
    run.formats[SRC] = formats::pictures[(i + i / variants) % formats::pictures.size()];
    const std::vector<gpv_format> taken = formats(run, DST).taken;
    run.formats[DST] = taken[i / 3 % taken.size()];
    // So few that 8 bits can number them.
    if (params.output == GPV_CCL_OUTPUT_LABELS && i / 3 % taken.size() >= 3)
        params.min_area = 20;
    run.stride[COMPONENTS] = i % 4 == 3 ? 64 : 0;
    fit(run);
    return run;
}

} // namespace

const Operator ccl = {
    .stem = "ccl",
    .first_bytes = {40, 16},
    .calls = calls<gpv_ccl_params_init, gpv_ccl_create, gpv_ccl_destroy, gpv_ccl_set_params,
                   gpv_ccl_query, gpv_ccl_wait, gpv_ccl_result_init>(),
    .fields = {{FIELD_OF(gpv_ccl_params, mode), GPV_CCL_MODE_BINARY, 0, 1},
               {FIELD_OF(gpv_ccl_params, connectivity), 8, 4, 4, {8}, "4 or 8"},
               {FIELD_OF(gpv_ccl_params, threshold), 1, 0, 65535, {}, nullptr, 255},
               {FIELD_OF(gpv_ccl_params, foreground), -1, -1, 65535, {}, nullptr, 255},
               {FIELD_OF(gpv_ccl_params, invert), 0, 0, 1},
               {FIELD_OF(gpv_ccl_params, min_area), 0, 0, GPV_MAX_PIXELS},
               {FIELD_OF(gpv_ccl_params, max_area), 0, 0, GPV_MAX_PIXELS},
               {FIELD_OF(gpv_ccl_params, output), GPV_CCL_OUTPUT_LABELS, 0, 2},
               {FIELD_OF(gpv_ccl_params, reserved), 0, 0, 0}},
    .ports = {{.name = "src", .prepared_as = "src"},
              {.name = "dst", .output = true, .optional = true, .prepared_as = "dst"},
              {.name = "components",
               .output = true,
               .optional = true,
               .alignment = 8,
               .record = record,
               .counted_at = offsetof(gpv_ccl_result, components)},
              {.name = "count",
               .output = true,
               .optional = true,
               .alignment = 4,
               .on_device = true,
               .result_at = offsetof(gpv_ccl_result, count)}},
    .examples = 3,
    .example = example,
    .variants = variants,
    .variant = variant,
    .fit = fit,
    .formats = formats,
    .least = [](const Run &, int port) -> std::uint64_t {
        return port == COUNT ? sizeof(std::int32_t) : record;
    },
    .fill = fill_source,
    .prepare =
        [](void *op, const Arguments &a) {
            const auto records = static_cast<std::int32_t>(a.run.bytes[COMPONENTS] / record);
            return gpv_ccl_prepare(as<gpv_ccl>(op), a.image(SRC), a.image(DST), records);
        },
    .run =
        [](void *op, gpv_stream stream, const Arguments &a) {
            return gpv_ccl_run(as<gpv_ccl>(op), stream, a.image(SRC), a.image(DST),
                               a.buffer(COMPONENTS), a.run.stride[COMPONENTS], a.buffer(COUNT));
        },
    .written =
        [](const Run &run, int port, const void *result) {
            return port == COUNT
                       ? sizeof(std::int32_t)
                       : bytes_of_records(static_cast<const gpv_ccl_result *>(result)->components,
                                          record, run.stride[COMPONENTS]);
        },
    .found = [](const void *result) -> std::int64_t {
        return static_cast<const gpv_ccl_result *>(result)->count;
    },
};

} // namespace operators
