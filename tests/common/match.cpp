// SPDX-License-Identifier: BSD-2-Clause
#include "operators.hpp"

namespace operators {
namespace {

enum { QUERY, FOUND, TRAIN, NEAREST, PAIRS, RESULT };

constexpr std::uint64_t length = GPV_SIFT_DESCRIPTOR_LENGTH;

const Calls calls_of_match =
    calls<gpv_match_params_init, gpv_match_create, gpv_match_destroy, gpv_match_set_params,
          gpv_match_query, gpv_match_wait, gpv_match_result_init>();

const std::vector<Field> fields = {{FIELD_OF(gpv_match_params, ratio), 0.8, 0, 1},
                                   {FIELD_OF(gpv_match_params, mutual), 1, 0, 1},
                                   {FIELD_OF(gpv_match_params, reserved), 0, 0, 0}};

/// The size is the number of queries and that of the others.
std::uint64_t least(const Run &run, int port) {
    switch (port) {
    case QUERY:
        return run.width * length;
    case TRAIN:
        return run.height * length;
    case NEAREST:
        return run.width * sizeof(gpv_match_nearest);
    case PAIRS:
        return sizeof(gpv_match_pair);
    default:
        return sizeof(gpv_match_result);
    }
}

void fit(Run &run) {
    for (const int port : {QUERY, TRAIN, NEAREST})
        run.bytes[port] = least(run, port);
    run.bytes[PAIRS] = run.width * sizeof(gpv_match_pair);
}

Run example(int) {
    Run run = run_of(gpv_match_params_init);
    run.bytes[FOUND] = sizeof(gpv_sift_result);
    run.bytes[RESULT] = sizeof(gpv_match_result);
    run.number = INT32_MAX;
    fit(run);
    return run;
}

constexpr int variants = 24;

Run variant(int i) {
    static constexpr float ratios[] = {0.8f, 0, 1, 0.97f};
    static constexpr std::int32_t counts[] = {0, 29, -1};
    Run run = example(0);
    auto &params = run.as<gpv_match_params>();
    params.ratio = ratios[i / 2 % 4];
    params.mutual = i % 2;
    run.number = counts[i / 8 % 3];
    if (i / 8 % 3 == 0)
        run.bytes[FOUND] = 0;
    return run;
}

/// Noise, small changes of few kinds, black and white; some are there on both sides.
void fill(const Arguments &a, unsigned seed) {
    std::uint32_t state = seed;
    auto *query = static_cast<unsigned char *>(a.buffers[QUERY].data);
    auto *train = static_cast<unsigned char *>(a.buffers[TRAIN].data);
    const auto value = [&](std::uint64_t i) {
        const std::uint32_t random = next_random(state) >> 8;
        return static_cast<unsigned char>(seed % 3 == 0   ? random
                                          : seed % 3 == 1 ? i / length % 7 * 30 + random % 9
                                                          : (random & 1) * 255);
    };
    for (std::uint64_t i = 0; i < a.run.bytes[TRAIN]; i++)
        train[i] = value(i);
    const std::uint64_t trains = a.run.bytes[TRAIN] / length;
    for (std::uint64_t i = 0; i < a.run.bytes[QUERY]; i++)
        query[i] = i / length % 3 ? train[i / length * 7 % trains * length + i % length] : value(i);
    const gpv_sift_result found = {sizeof found, a.run.number, 0, 0};
    if (a.run.gives(FOUND))
        std::memcpy(a.buffers[FOUND].data, &found, sizeof found);
}

} // namespace

const Operator match = {
    .stem = "match",
    .first_bytes = {16, 16},
    .calls = calls_of_match,
    .fields = fields,
    .ports = {{.name = "query", .alignment = 4},
              {.name = "found", .optional = true, .alignment = 4, .on_device = true},
              {.name = "train", .alignment = 4},
              {.name = "nearest", .output = true, .optional = true, .alignment = 4},
              {.name = "pairs", .output = true, .optional = true, .alignment = 4},
              result_port(4)},
    .example = example,
    .variants = variants,
    .variant = variant,
    .fit = fit,
    .least = least,
    .fill = fill,
    .prepare =
        [](void *op, const Arguments &a) {
            gpv_memory memory = GPV_MEMORY_CUDA;
            for (const int port : {QUERY, TRAIN, NEAREST, PAIRS})
                if (a.given[port] && a.buffers[port].memory == GPV_MEMORY_HOST)
                    memory = GPV_MEMORY_HOST;
            return gpv_match_prepare(as<gpv_match>(op), a.run.width, a.run.height, memory);
        },
    .run =
        [](void *op, gpv_stream stream, const Arguments &a) {
            return gpv_match_run(as<gpv_match>(op), stream, a.buffer(QUERY), a.run.width,
                                 a.buffer(FOUND), a.buffer(TRAIN), a.run.height, a.buffer(NEAREST),
                                 a.buffer(PAIRS), a.buffer(RESULT));
        },
    .written =
        [](const Run &, int port, const void *result) {
            const auto &found = *static_cast<const gpv_match_result *>(result);
            return port == NEAREST ? found.queries * sizeof(gpv_match_nearest)
                   : port == PAIRS ? found.count * sizeof(gpv_match_pair)
                                   : sizeof found;
        },
    .found = [](const void *result) -> std::int64_t {
        return static_cast<const gpv_match_result *>(result)->count;
    },
    .beside = &match_draw,
};

const Operator match_draw = {
    .stem = "match-draw",
    .first_bytes = {16, 16},
    .calls = calls_of_match,
    .fields = fields,
    .ports = {{.name = "dst", .output = true}},
    .example =
        [](int) {
            Run run = run_of(gpv_match_params_init);
            run.formats[0] = GPV_FORMAT_GRAY8;
            return run;
        },
    .formats =
        [](const Run &, int) {
            return Formats{formats::pictures, "drawing takes GRAY8, GRAY16|XBGR8, RGBP8"};
        },
    .fill = fill_source,
    .prepare =
        [](void *op, const Arguments &a) {
            return gpv_match_prepare(as<gpv_match>(op), a.run.width, a.run.height, GPV_MEMORY_HOST);
        },
    .run =
        [](void *op, gpv_stream stream, const Arguments &a) {
            static constexpr float points[] = {2, 3, 30, 9, 14, 31};
            return gpv_draw_outline(as<gpv_match>(op), stream, a.image(0), points, 3, 2, 0xff8010);
        },
};

} // namespace operators
