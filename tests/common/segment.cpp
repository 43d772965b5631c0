// SPDX-License-Identifier: BSD-2-Clause
#include "operators.hpp"

namespace operators {
namespace {

enum { SRC, SEEDS, MASK, DST, RESULT };

Formats formats(const Run &run, int port) {
    switch (port) {
    case SRC:
        return {formats::pictures, "segmentation takes GRAY8, GRAY16|XBGR8, RGBP8"};
    case SEEDS:
        return {{GPV_FORMAT_GRAY8}, "must be GRAY8"};
    case MASK:
        return {mask_formats(), "a mask is GRAY8, NV12 or I420"};
    default:
        if (run.as<gpv_segment_params>().output == GPV_SEGMENT_OUTPUT_CUTOUT)
            return {{GPV_FORMAT_RGBA8, GPV_FORMAT_BGRA8}, "a cutout is RGBA8 or BGRA8"};
        return {.taken = {}, .as_src = true};
    }
}

/// An overlay, and a cutout.
Run example(int output) {
    Run run = run_of(gpv_segment_params_init);
    run.as<gpv_segment_params>().output = output;
    run.as<gpv_segment_params>().iterations = 1; // which takes the least time
    run.formats = {GPV_FORMAT_GRAY8, GPV_FORMAT_GRAY8, GPV_FORMAT_GRAY8,
                   output == GPV_SEGMENT_OUTPUT_CUTOUT ? GPV_FORMAT_RGBA8 : GPV_FORMAT_GRAY8};
    run.bytes[RESULT] = sizeof(gpv_graphcut_result);
    return run;
}

constexpr int variants = 36;

/// In every third with a rectangle.
Run variant(int i) {
    static constexpr float lambdas[] = {0.02f, 1, 0, 0.5f}, sigmas[] = {0, 20};
    Run run = example(i % 5 == 4);
    auto &params = run.as<gpv_segment_params>();
    params.model = i % 3;
    params.connectivity = i / 3 % 2 ? 8 : 4;
    params.iterations = 1 + i / 6 % 3;
    params.lambda = lambdas[i % 4];
    params.sigma = sigmas[i / 2 % 2];
    params.certificate = i / 5 % 2;
    params.edge = i / 2 % 2;
    run.formats[SRC] = formats::pictures[(i + i / variants) % formats::pictures.size()];
    run.formats[MASK] = mask_formats()[i / 2 % 3];
    if (i % 5 != 4)
        run.formats[DST] = run.formats[SRC];
    run.number = i % 3 == 2;
    return run;
}

/// A few pixels are known, of others it is said what they probably are.
void fill(const Arguments &a, unsigned seed) {
    fill_with_noise(a.images[SRC], seed);
    if (!a.run.gives(SEEDS))
        return;
    static constexpr unsigned char values[] = {0,   0,   1,   255, 2,   3,   128, 128,
                                               128, 128, 128, 128, 128, 128, 128, 128};
    fill_with_noise(a.images[SEEDS], seed + 1);
    for (int y = 0; y < a.run.height; y++) {
        auto *p = row<unsigned char>(a.images[SEEDS], 0, y);
        for (int x = 0; x < a.run.width; x++)
            p[x] = values[p[x] % 16];
    }
    row<unsigned char>(a.images[SEEDS], 0, a.run.height / 4)[a.run.width / 4] =
        128; // in the rectangle
}

} // namespace

const Operator segment = {
    .stem = "segment",
    .first_bytes = {40, 40},
    .calls = calls<gpv_segment_params_init, gpv_segment_create, gpv_segment_destroy,
                   gpv_segment_set_params, gpv_segment_query, gpv_segment_wait,
                   gpv_graphcut_result_init>(),
    .fields = {{FIELD_OF(gpv_segment_params, model), GPV_SEGMENT_MODEL_GMM, 0, 2},
               {FIELD_OF(gpv_segment_params, warm_start), GPV_SEGMENT_WARM_START_NONE, 0, 2},
               {FIELD_OF(gpv_segment_params, connectivity), 4, 4, 4, {8}, "4 or 8"},
               {FIELD_OF(gpv_segment_params, iterations), 5, 1, GPV_SEGMENT_MAX_ITERATIONS},
               {FIELD_OF(gpv_segment_params, lambda), 0.01, 0, 1e6},
               {FIELD_OF(gpv_segment_params, sigma), 0, 0, 1e6},
               {FIELD_OF(gpv_segment_params, output), GPV_SEGMENT_OUTPUT_OVERLAY, 0, 1},
               {FIELD_OF(gpv_segment_params, certificate), 0, 0, 1},
               {FIELD_OF(gpv_segment_params, max_time_us), 0, 0, INT32_MAX},
               {FIELD_OF(gpv_segment_params, static_scene), 0, 0, 1},
               {FIELD_OF(gpv_segment_params, edge), GPV_SEGMENT_EDGE_HARD, 0, 1}},
    .ports =
        {{.name = "src", .prepared_as = "src"},
         {.name = "seeds", .optional = true, .prepared_as = "seeds"},
         {.name = "mask", .output = true, .optional = true, .prepared_as = "mask"},
         {.name = "dst", .output = true, .optional = true, .in_place = SRC, .prepared_as = "dst"},
         result_port(8)},
    .examples = 2,
    .example = example,
    .variants = variants,
    .variant = variant,
    .warm = [](Run &run, int i) { run.as<gpv_segment_params>().warm_start = i / 4 % 3; },
    .formats = formats,
    .least = [](const Run &, int) -> std::uint64_t { return sizeof(gpv_graphcut_result); },
    .fill = fill,
    .prepare =
        [](void *op, const Arguments &a) {
            return gpv_segment_prepare(as<gpv_segment>(op), a.image(SRC), a.image(SEEDS),
                                       a.image(MASK), a.image(DST));
        },
    .run =
        [](void *op, gpv_stream stream, const Arguments &a) {
            const gpv_rect rect = {a.run.width / 4, a.run.height / 4, (a.run.width + 1) / 2,
                                   (a.run.height + 1) / 2};
            return gpv_segment_run(as<gpv_segment>(op), stream, a.image(SRC), a.image(SEEDS),
                                   a.run.number ? &rect : nullptr, a.image(MASK), a.image(DST),
                                   a.buffer(RESULT));
        },
    .written = [](const Run &, int, const void *) -> std::uint64_t {
        return sizeof(gpv_graphcut_result);
    },
    .found = [](const void *result) -> std::int64_t {
        return static_cast<const gpv_graphcut_result *>(result)->area;
    },
    .further_calls = {[](void *op) { return gpv_segment_forget(as<gpv_segment>(op)); },
                      [](void *op) {
                          std::uint32_t learned;
                          return gpv_segment_learned(as<gpv_segment>(op), &learned);
                      }},
};

} // namespace operators
