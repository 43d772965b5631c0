// SPDX-License-Identifier: BSD-2-Clause
#include "operators.hpp"

namespace operators {
namespace {

enum { SRC, DST, LABELS, CENTROIDS, COUNTS, RESULT };

std::uint64_t least(const Run &run, int port) {
    const auto &params = run.as<gpv_kmeans_params>();
    const int room = params.clusters ? params.clusters : params.max_clusters;
    return port == CENTROIDS ? 3 * sizeof(float) * room
           : port == COUNTS  ? sizeof(std::int32_t) * room
                             : sizeof(gpv_kmeans_result);
}

/// With what is needed of each buffer.
Run with_buffers(Run run) {
    for (const int port : {CENTROIDS, COUNTS, RESULT})
        run.bytes[port] = least(run, port);
    return run;
}

Run example(int) {
    Run run = run_of(gpv_kmeans_params_init);
    run.formats = {GPV_FORMAT_GRAY8, GPV_FORMAT_GRAY8, GPV_FORMAT_GRAY8};
    return with_buffers(run);
}

constexpr int variants = 60;

Run variant(int i) {
    static constexpr int clusters[] = {2, 0, 5, 19, 256};
    Run run = example(0);
    auto &params = run.as<gpv_kmeans_params>();
    params.clusters = clusters[i % 5];
    params.max_clusters = 6;
    params.init = i % 3;
    params.metric = i / 3 % 2;
    params.color_space = i / 6 % 2;
    params.tolerance = i / 12 % 2 ? 0.5f : -1.0f;
    params.max_iterations = 3;
    params.seed = static_cast<std::uint64_t>(i % variants);
    run.formats[SRC] = run.formats[DST] =
        formats::pictures[(i + i / variants) % formats::pictures.size()];
    run.formats[LABELS] = mask_formats()[i / 2 % 3];
    return with_buffers(run);
}

Formats formats(const Run &, int port) {
    switch (port) {
    case SRC:
        return {formats::pictures, "k-means takes GRAY8, GRAY16|XBGR8, RGBP8"};
    case LABELS:
        return {mask_formats(), "GRAY8, NV12 or I420"};
    default:
        return {.taken = {}, .as_src = true};
    }
}

} // namespace

const Operator kmeans = {
    .stem = "kmeans",
    .first_bytes = {48, 32},
    .calls =
        calls<gpv_kmeans_params_init, gpv_kmeans_create, gpv_kmeans_destroy, gpv_kmeans_set_params,
              gpv_kmeans_query, gpv_kmeans_wait, gpv_kmeans_result_init>(),
    .fields = {{FIELD_OF(gpv_kmeans_params, clusters), 8, 2, 256, {0}, "2..256, or 0"},
               {FIELD_OF(gpv_kmeans_params, max_clusters), 16, 2, 256},
               {FIELD_OF(gpv_kmeans_params, max_iterations), 20, 0, 10000},
               {FIELD_OF(gpv_kmeans_params, tolerance), 0.5, -1e6, 1e6},
               {FIELD_OF(gpv_kmeans_params, metric), GPV_KMEANS_METRIC_L2, 0, 1},
               {FIELD_OF(gpv_kmeans_params, init), GPV_KMEANS_INIT_PLUSPLUS, 0, 3},
               {FIELD_OF(gpv_kmeans_params, color_space), GPV_KMEANS_COLOR_SPACE_RGB, 0, 1},
               {FIELD_OF(gpv_kmeans_params, seed), 0, 0, 0x1p64},
               {FIELD_OF(gpv_kmeans_params, warm_start), 0, 0, 1},
               {FIELD_OF(gpv_kmeans_params, reserved), 0, 0, 0}},
    .ports =
        {{.name = "src", .prepared_as = "src"},
         {.name = "dst", .output = true, .optional = true, .in_place = SRC, .prepared_as = "dst"},
         {.name = "labels", .output = true, .optional = true, .prepared_as = "labels"},
         {.name = "centroids",
          .output = true,
          .optional = true,
          .alignment = 4,
          .all_written = true},
         {.name = "counts", .output = true, .optional = true, .alignment = 4, .all_written = true},
         result_port(8)},
    .example = example,
    .variants = variants,
    .variant = variant,
    .warm = [](Run &run, int i) { run.as<gpv_kmeans_params>().warm_start = i / 2 % 2; },
    .formats = formats,
    .least = least,
    .fill = fill_source,
    .prepare =
        [](void *op, const Arguments &a) {
            return gpv_kmeans_prepare(as<gpv_kmeans>(op), a.image(SRC), a.image(LABELS),
                                      a.image(DST));
        },
    .run =
        [](void *op, gpv_stream stream, const Arguments &a) {
            return gpv_kmeans_run(as<gpv_kmeans>(op), stream, a.image(SRC), a.image(LABELS),
                                  a.image(DST), a.buffer(CENTROIDS), a.buffer(COUNTS),
                                  a.buffer(RESULT));
        },
    .written =
        [](const Run &, int port, const void *result) {
            const auto clusters = static_cast<std::uint64_t>(
                static_cast<const gpv_kmeans_result *>(result)->clusters);
            return port == CENTROIDS ? 3 * sizeof(float) * clusters
                   : port == COUNTS  ? sizeof(std::int32_t) * clusters
                                     : sizeof(gpv_kmeans_result);
        },
    .found = [](const void *result) -> std::int64_t {
        return static_cast<const gpv_kmeans_result *>(result)->clusters;
    },
    .further_calls = {[](void *op) {
        static const float grey[6] = {};
        return gpv_kmeans_set_centroids(as<gpv_kmeans>(op), grey, 2);
    }},
};

} // namespace operators
