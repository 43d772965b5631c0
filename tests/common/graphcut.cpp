// SPDX-License-Identifier: BSD-2-Clause
#include "operators.hpp"

namespace operators {
namespace {

enum { TERMINALS, LINKS, MASK, RESULT };

Run example(int) {
    Run run = run_of(gpv_graphcut_params_init);
    run.formats = {GPV_FORMAT_LABEL32, GPV_FORMAT_CAP32X4, GPV_FORMAT_GRAY8};
    run.bytes[RESULT] = sizeof(gpv_graphcut_result);
    return run;
}

constexpr int variants = 8;

Run variant(int i) {
    Run run = example(0);
    auto &params = run.as<gpv_graphcut_params>();
    params.certificate = i / 2 % 2;
    params.max_time_us = i / 4 % 2 ? INT32_MAX : 0;
    run.formats[LINKS] = i % 2 ? GPV_FORMAT_CAP32X8 : GPV_FORMAT_CAP32X4;
    return run;
}

Formats formats(const Run &, int port) {
    switch (port) {
    case TERMINALS:
        return {{GPV_FORMAT_LABEL32}, "must be LABEL32"};
    case LINKS:
        return {{GPV_FORMAT_CAP32X4, GPV_FORMAT_CAP32X8}, "must be CAP32X4 or CAP32X8"};
    default:
        return {{GPV_FORMAT_GRAY8}, "must be GRAY8"};
    }
}

/// Random capacities, and terminals of up to twice as much. Many are 0, and many cuts are equally
/// good.
void fill(const Arguments &a, unsigned seed) {
    const int maximum = 2 + static_cast<int>(seed * 5 % 40);
    const int planes = gpv_format_planes(a.images[LINKS].format);
    std::uint32_t state = seed;
    for (int y = 0; y < a.run.height; y++)
        for (int x = 0; x < a.run.width; x++) {
            const auto value = [&] { return static_cast<int>(next_random(state) >> 8) % maximum; };
            row<std::int32_t>(a.images[TERMINALS], 0, y)[x] = 2 * (value() - maximum / 2);
            for (int i = 0; i < planes; i++)
                row<std::int32_t>(a.images[LINKS], i, y)[x] = value() % 2 ? value() : 0;
        }
}

} // namespace

const Operator graphcut = {
    .stem = "graphcut",
    .first_bytes = {16, 40},
    .calls = calls<gpv_graphcut_params_init, gpv_graphcut_create, gpv_graphcut_destroy,
                   gpv_graphcut_set_params, gpv_graphcut_query, gpv_graphcut_wait,
                   gpv_graphcut_result_init>(),
    .fields = {{FIELD_OF(gpv_graphcut_params, certificate), 0, 0, 1},
               {FIELD_OF(gpv_graphcut_params, max_time_us), 0, 0, INT32_MAX},
               {FIELD_OF(gpv_graphcut_params, reuse), 0, 0, 1}},
    .ports = {{.name = "terminals"},
              {.name = "links", .prepared_as = "links"},
              {.name = "mask", .output = true},
              result_port(8)},
    .size_of = LINKS,
    .example = example,
    .variants = variants,
    .variant = variant,
    .formats = formats,
    .least = [](const Run &, int) -> std::uint64_t { return sizeof(gpv_graphcut_result); },
    .fill = fill,
    .prepare =
        [](void *op, const Arguments &a) {
            return gpv_graphcut_prepare(as<gpv_graphcut>(op), a.image(LINKS));
        },
    .run =
        [](void *op, gpv_stream stream, const Arguments &a) {
            return gpv_graphcut_run(as<gpv_graphcut>(op), stream, a.image(TERMINALS),
                                    a.image(LINKS), a.image(MASK), a.buffer(RESULT));
        },
    .written = [](const Run &, int, const void *) -> std::uint64_t {
        return sizeof(gpv_graphcut_result);
    },
    .found = [](const void *result) -> std::int64_t {
        return static_cast<const gpv_graphcut_result *>(result)->flow;
    },
};

} // namespace operators
