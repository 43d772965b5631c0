// SPDX-License-Identifier: BSD-2-Clause
#include "operators.hpp"

#include <algorithm>

namespace operators {
namespace {

constexpr std::uint32_t record = sizeof(gpv_sift_keypoint);
constexpr int room = 600, described = 7;

std::uint64_t descriptor_bytes(const Run &run) {
    const bool floats = run.as<gpv_sift_params>().descriptor_type == GPV_SIFT_DESCRIPTOR_TYPE_F32;
    return GPV_SIFT_DESCRIPTOR_LENGTH * (floats ? sizeof(float) : 1);
}

const Calls calls_of_sift =
    calls<gpv_sift_params_init, gpv_sift_create, gpv_sift_destroy, gpv_sift_set_params,
          gpv_sift_query, gpv_sift_wait, gpv_sift_result_init>();

const std::vector<Field> fields = {
    {FIELD_OF(gpv_sift_params, max_features), 0, 0, INT32_MAX},
    {FIELD_OF(gpv_sift_params, octaves), 0, 0, 16},
    {FIELD_OF(gpv_sift_params, octave_layers), 3, 1, 8},
    {FIELD_OF(gpv_sift_params, contrast_threshold), 0.04, 0, 1},
    {FIELD_OF(gpv_sift_params, edge_threshold), 10, 1, 1e6},
    {FIELD_OF(gpv_sift_params, sigma), 1.6, 0.5, 4},
    {FIELD_OF(gpv_sift_params, upsample), 1, 0, 1},
    {FIELD_OF(gpv_sift_params, upright), 0, 0, 1},
    {FIELD_OF(gpv_sift_params, root_sift), 0, 0, 1},
    {FIELD_OF(gpv_sift_params, descriptor_type), GPV_SIFT_DESCRIPTOR_TYPE_U8, 0, 1},
    {FIELD_OF(gpv_sift_params, reserved), 0, 0, 0}};

constexpr int variants = 24;

Run params_of(int i) {
    static constexpr float sigmas[] = {1.6f, 0.5f, 2.5f, 4};
    Run run = run_of(gpv_sift_params_init);
    auto &params = run.as<gpv_sift_params>();
    params.upsample = i % 2 == 0;
    params.descriptor_type = i / 2 % 2;
    params.root_sift = i / 4 % 2;
    params.upright = i / 8 % 2;
    params.octave_layers = 1 + i * 3 % 8;
    params.octaves = i % 5;
    params.sigma = sigmas[i / 3 % 4];
    params.contrast_threshold = i % 3 ? 0.02f : 0;
    params.edge_threshold = i % 7 ? 10 : 1e6f;
    params.max_features = i % 6 == 5 ? 1 + i / 6 : 0;
    return run;
}

gpv_format format_of(int i) {
    return formats::pictures[(i + i / variants) % formats::pictures.size()];
}

Formats picture(const char *text) {
    return {formats::pictures, text};
}

/// Noise in blocks of 3x3 pixels: so it has many features, of every kind.
void fill_coarsely(const gpv_image &image, unsigned seed) {
    const int planes = gpv_format_planes(image.format);
    std::int64_t row_bytes = 0;
    fill_with_noise(image, seed);
    if (gpv_format_plane(image.format, 0, image.width, image.height, &row_bytes, nullptr) != 0)
        return;
    const std::int64_t pixel = planes > 1 ? 1 : row_bytes / image.width;
    for (int y = 0; y < image.height; y++)
        for (std::int64_t x = 0; x < row_bytes; x++)
            row<unsigned char>(image, 0, y)[x] =
                row<unsigned char>(image, 0, y / 3 * 3)[x / pixel / 3 * 3 * pixel + x % pixel];
}

std::int64_t found(const void *result) {
    return static_cast<const gpv_sift_result *>(result)->count;
}

// --------------------------------------------------------------------------------------- finding

enum { SRC, MASK, KEYPOINTS, DESCRIPTORS, RESULT };

std::uint64_t least(const Run &run, int port) {
    const int limit = run.as<gpv_sift_params>().max_features;
    return port == KEYPOINTS     ? record
           : port == DESCRIPTORS ? descriptor_bytes(run) * (limit ? std::min(limit, room) : room)
                                 : sizeof(gpv_sift_result);
}

Run with_tables(Run run) {
    run.bytes[KEYPOINTS] = bytes_of_records(room, record, run.stride[KEYPOINTS]);
    run.bytes[DESCRIPTORS] = least(run, DESCRIPTORS);
    run.bytes[RESULT] = sizeof(gpv_sift_result);
    return run;
}

Run example(int) {
    Run run = run_of(gpv_sift_params_init);
    run.formats = {GPV_FORMAT_GRAY8, GPV_FORMAT_GRAY8};
    return with_tables(run);
}

Run variant(int i) {
    Run run = params_of(i % variants);
    run.formats[SRC] = format_of(i);
    run.formats[MASK] = i % 4 < 2 ? GPV_FORMAT_NONE : GPV_FORMAT_GRAY8;
    run.stride[KEYPOINTS] = i % 5 == 4 ? 40 : 0;
    return with_tables(run);
}

/// Some pixels of a mask are 0.
void fill(const Arguments &a, unsigned seed) {
    fill_coarsely(a.images[SRC], seed);
    for (int y = 0; y < a.run.height && a.run.gives(MASK); y++)
        for (int x = 0; x < a.run.width; x++)
            row<unsigned char>(a.images[MASK], 0, y)[x] =
                static_cast<unsigned char>(x / 5 % 3 == 1 ? 0 : 1 + y);
}

} // namespace

const Operator sift = {
    .stem = "sift",
    .first_bytes = {48, 16},
    .calls = calls_of_sift,
    .fields = fields,
    .ports = {{.name = "src", .prepared_as = "src"},
              {.name = "mask", .optional = true, .prepared_as = "mask"},
              {.name = "keypoints",
               .output = true,
               .optional = true,
               .alignment = 4,
               .record = record,
               .needed = true},
              {.name = "descriptors", .output = true, .optional = true, .alignment = 4},
              result_port(4)},
    .example = example,
    .variants = variants,
    .variant = variant,
    .formats =
        [](const Run &, int port) {
            return port == SRC ? picture("SIFT takes GRAY8, GRAY16|XBGR8, RGBP8")
                               : Formats{{GPV_FORMAT_GRAY8}, "GRAY8"};
        },
    .least = least,
    .fill = fill,
    .prepare =
        [](void *op, const Arguments &a) {
            const bool host = a.buffers[KEYPOINTS].memory == GPV_MEMORY_HOST;
            return gpv_sift_prepare(as<gpv_sift>(op), a.image(SRC), a.image(MASK), host ? room : 0);
        },
    .run =
        [](void *op, gpv_stream stream, const Arguments &a) {
            return gpv_sift_run(as<gpv_sift>(op), stream, a.image(SRC), a.image(MASK),
                                a.buffer(KEYPOINTS), a.run.stride[KEYPOINTS], a.buffer(DESCRIPTORS),
                                a.buffer(RESULT));
        },
    .written =
        [](const Run &run, int port, const void *result) {
            const auto count = static_cast<std::uint64_t>(found(result));
            return port == KEYPOINTS     ? bytes_of_records(count, record, run.stride[KEYPOINTS])
                   : port == DESCRIPTORS ? count * descriptor_bytes(run)
                                         : sizeof(gpv_sift_result);
        },
    .found = found,
    .beside = &sift_describe,
};

// ------------------------------------------------------------------------------------ describing

namespace of_describe {

enum { SRC, KEYPOINTS, DESCRIPTORS };

Run with_tables(Run run, gpv_format format) {
    run.formats[SRC] = format;
    run.bytes[KEYPOINTS] = bytes_of_records(described, record, run.stride[KEYPOINTS]);
    run.bytes[DESCRIPTORS] = described * descriptor_bytes(run);
    return run;
}

/// Keypoints inside of the picture and outside.
void fill(const Arguments &a, unsigned seed) {
    const std::uint32_t stride = a.run.stride[KEYPOINTS] ? a.run.stride[KEYPOINTS] : record;
    fill_coarsely(a.images[SRC], seed);
    for (int i = 0; i < described; i++) {
        const auto at = static_cast<float>(i);
        const gpv_sift_keypoint keypoint = {7 * at, 3 * at, 1 + at / 4, 40 * at, 0, 0};
        std::memcpy(static_cast<unsigned char *>(a.buffers[KEYPOINTS].data) + i * stride, &keypoint,
                    sizeof keypoint);
    }
}

} // namespace of_describe

const Operator sift_describe = {
    .stem = "sift-describe",
    .first_bytes = {48, 16},
    .calls = calls_of_sift,
    .fields = fields,
    .ports = {{.name = "src", .prepared_as = "src"},
              {.name = "keypoints", .alignment = 4, .record = record},
              {.name = "descriptors", .output = true, .alignment = 4}},
    .example =
        [](int) {
            return of_describe::with_tables(run_of(gpv_sift_params_init), GPV_FORMAT_GRAY8);
        },
    .variants = variants,
    .variant =
        [](int i) {
            Run run = params_of(i % variants);
            run.stride[of_describe::KEYPOINTS] = i % 5 == 4 ? 28 : 0;
            return of_describe::with_tables(run, format_of(i));
        },
    .formats = [](const Run &, int) { return picture("SIFT takes GRAY8, GRAY16|XBGR8, RGBP8"); },
    .least =
        [](const Run &run, int port) {
            return port == of_describe::KEYPOINTS ? record : described * descriptor_bytes(run);
        },
    .fill = of_describe::fill,
    .prepare =
        [](void *op, const Arguments &a) {
            return gpv_sift_prepare(as<gpv_sift>(op), a.image(of_describe::SRC), nullptr,
                                    described);
        },
    .run =
        [](void *op, gpv_stream stream, const Arguments &a) {
            return gpv_sift_describe(as<gpv_sift>(op), stream, a.image(of_describe::SRC),
                                     a.buffer(of_describe::KEYPOINTS),
                                     a.run.stride[of_describe::KEYPOINTS], described,
                                     a.buffer(of_describe::DESCRIPTORS));
        },
    .written = [](const Run &run, int, const void *) { return described * descriptor_bytes(run); },
    .found = found,
    .beside = &sift_draw,
};

/// Into a picture, of nothing: there is no run before.
const Operator sift_draw = {
    .stem = "sift-draw",
    .first_bytes = {48, 16},
    .calls = calls_of_sift,
    .fields = fields,
    .ports = {{.name = "dst", .output = true}},
    .example =
        [](int) {
            Run run = run_of(gpv_sift_params_init);
            run.formats[0] = GPV_FORMAT_GRAY8;
            return run;
        },
    .formats = [](const Run &, int) { return picture("SIFT takes GRAY8, GRAY16|XBGR8, RGBP8"); },
    .fill = fill_source,
    .prepare =
        [](void *op, const Arguments &a) {
            return gpv_sift_prepare(as<gpv_sift>(op), a.image(0), nullptr, 0);
        },
    .run =
        [](void *op, gpv_stream stream, const Arguments &a) {
            return gpv_draw_keypoints(as<gpv_sift>(op), stream, a.image(0), GPV_DRAW_STYLE_RICH,
                                      0xff8010);
        },
};

} // namespace operators
