// SPDX-License-Identifier: BSD-2-Clause
#include "operators.hpp"

namespace operators {
namespace {

enum { FIRST, SECOND, LINKS, LABELS, RESULT };

/// Of two images of costs, which more labels share in turn.
Run example(int) {
    Run run = run_of(gpv_expansion_params_init);
    run.formats = {GPV_FORMAT_LABEL32, GPV_FORMAT_LABEL32, GPV_FORMAT_CAP32X4, GPV_FORMAT_GRAY8};
    run.bytes[RESULT] = sizeof(gpv_expansion_result);
    run.number = 2;
    return run;
}

constexpr int variants = 6;

Run variant(int i) {
    Run run = example(0);
    run.as<gpv_expansion_params>().cycles = 1 + i % 3;
    run.formats[LINKS] = i % 2 ? GPV_FORMAT_CAP32X8 : GPV_FORMAT_CAP32X4;
    run.number = i == 3 ? GPV_EXPANSION_MAX_LABELS : 2 + i / 2 % 2;
    return run;
}

Formats formats(const Run &, int port) {
    switch (port) {
    case LINKS:
        return {{GPV_FORMAT_CAP32X4, GPV_FORMAT_CAP32X8}, "must be CAP32X4 or CAP32X8"};
    case LABELS:
        return {{GPV_FORMAT_GRAY8}, "must be GRAY8"};
    default:
        return {{GPV_FORMAT_LABEL32}, "must be LABEL32"};
    }
}

/// The first label costs a little less, and links are strong enough to matter.
void fill(const Arguments &a, unsigned seed) {
    const int planes = gpv_format_planes(a.images[LINKS].format);
    std::uint32_t state = seed;
    for (int y = 0; y < a.run.height; y++)
        for (int x = 0; x < a.run.width; x++) {
            const auto value = [&] { return static_cast<int>(next_random(state) >> 8) % 20; };
            row<std::int32_t>(a.images[FIRST], 0, y)[x] = value() - 10;
            row<std::int32_t>(a.images[SECOND], 0, y)[x] = value() - 9;
            for (int i = 0; i < planes; i++)
                row<std::int32_t>(a.images[LINKS], i, y)[x] = value() / 4;
        }
}

} // namespace

const Operator expansion = {
    .stem = "expansion",
    .first_bytes = {8, 32},
    .calls = calls<gpv_expansion_params_init, gpv_expansion_create, gpv_expansion_destroy,
                   gpv_expansion_set_params, gpv_expansion_query, gpv_expansion_wait,
                   gpv_expansion_result_init>(),
    .fields = {{FIELD_OF(gpv_expansion_params, cycles), 3, 1, GPV_EXPANSION_MAX_CYCLES}},
    .ports = {{.name = "costs[0]"},
              {.name = "costs[1]"},
              {.name = "links", .prepared_as = "links"},
              {.name = "labels", .output = true},
              result_port(8)},
    .size_of = LINKS,
    .example = example,
    .variants = variants,
    .variant = variant,
    .formats = formats,
    .least = [](const Run &, int) -> std::uint64_t { return sizeof(gpv_expansion_result); },
    .fill = fill,
    .prepare =
        [](void *op, const Arguments &a) {
            return gpv_expansion_prepare(as<gpv_expansion>(op), a.image(LINKS), a.run.number);
        },
    .run =
        [](void *op, gpv_stream stream, const Arguments &a) {
            const gpv_image *costs[GPV_EXPANSION_MAX_LABELS];
            for (int i = 0; i < GPV_EXPANSION_MAX_LABELS; i++)
                costs[i] = a.image(i % 2 ? SECOND : FIRST);
            return gpv_expansion_run(as<gpv_expansion>(op), stream, costs, a.run.number,
                                     a.image(LINKS), a.image(LABELS), a.buffer(RESULT));
        },
    .written = [](const Run &, int, const void *) -> std::uint64_t {
        return sizeof(gpv_expansion_result);
    },
    .found = [](const void *result) -> std::int64_t {
        return static_cast<const gpv_expansion_result *>(result)->moves;
    },
};

} // namespace operators
