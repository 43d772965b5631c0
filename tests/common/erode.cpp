// SPDX-License-Identifier: BSD-2-Clause
#include "operators.hpp"

namespace operators {
namespace {

enum { SRC, DST };

Run example(int) {
    Run run = run_of(gpv_erode_params_init);
    run.formats = {GPV_FORMAT_GRAY8, GPV_FORMAT_GRAY8};
    return run;
}

constexpr int variants = 210;

Run variant(int i) {
    static constexpr int radii[][2] = {{1, 1}, {0, 2}, {3, 0}, {5, 4}, {17, 9}};
    Run run = example(0);
    auto &params = run.as<gpv_erode_params>();
    params.operation = i % 7;
    params.shape = i / 7 % 3;
    params.radius = radii[i / 21 % 5][0];
    params.radius_y = radii[i / 21 % 5][1];
    params.threshold = i / 105 % 2 ? 100 : 0;
    params.border = i / 2 % 2;
    params.planes = i % 3;
    params.iterations = 1 + i % 2;
    run.formats[SRC] = run.formats[DST] =
        formats::pictures[(i + i / variants) % formats::pictures.size()];
    return run;
}

} // namespace

const Operator erode = {
    .stem = "erode",
    .first_bytes = {40, 0},
    .calls = calls<gpv_erode_params_init, gpv_erode_create, gpv_erode_destroy, gpv_erode_set_params,
                   gpv_erode_query, gpv_erode_wait>(),
    .fields = {{FIELD_OF(gpv_erode_params, operation), GPV_ERODE_OPERATION_ERODE, 0, 6},
               {FIELD_OF(gpv_erode_params, shape), GPV_ERODE_SHAPE_RECT, 0, 2},
               {FIELD_OF(gpv_erode_params, radius), 1, 0, 255},
               {FIELD_OF(gpv_erode_params, radius_y), -1, -1, 255},
               {FIELD_OF(gpv_erode_params, iterations), 1, 1, 255},
               {FIELD_OF(gpv_erode_params, threshold), 0, 0, 65535, {}, nullptr, 255},
               {FIELD_OF(gpv_erode_params, border), GPV_ERODE_BORDER_IGNORE, 0, 1},
               {FIELD_OF(gpv_erode_params, planes), GPV_ERODE_PLANES_AUTO, 0, 2},
               {FIELD_OF(gpv_erode_params, reserved), 0, 0, 0}},
    .ports = {{.name = "src", .prepared_as = "like"},
              {.name = "dst", .output = true, .in_place = SRC}},
    .example = example,
    .variants = variants,
    .variant = variant,
    .formats =
        [](const Run &, int port) {
            return Formats{formats::pictures, "morphology takes GRAY8, GRAY16|XBGR8, RGBP8",
                           port == DST};
        },
    .fill = fill_source,
    .prepare =
        [](void *op, const Arguments &a) {
            return gpv_erode_prepare(as<gpv_erode>(op), a.image(SRC));
        },
    .run =
        [](void *op, gpv_stream stream, const Arguments &a) {
            return gpv_erode_run(as<gpv_erode>(op), stream, a.image(SRC), a.image(DST));
        },
};

} // namespace operators
