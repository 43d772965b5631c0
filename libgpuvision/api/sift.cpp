// SPDX-License-Identifier: BSD-2-Clause
#include "core/sift.hpp"

#include <limits>
#include <utility>

#include "api/image.hpp"
#include "api/params.hpp"

struct gpv_sift {
    std::shared_ptr<gpv::Context> context;
    gpv::SiftParams params{};
    std::unique_ptr<gpv::Sift> core;
    bool has_run = false; ///< and the last run did not fail
};

namespace gpv {
namespace {

constexpr std::uint32_t first_result_size = 16; // for ever
constexpr std::uint32_t max_record_stride = 4096;
constexpr int max_records = std::numeric_limits<std::int32_t>::max();

static_assert(static_cast<gpv_draw_style>(DrawStyle::rich) == GPV_DRAW_STYLE_RICH);
static_assert(sift_length == GPV_SIFT_DESCRIPTOR_LENGTH);
static_assert(sizeof(Keypoint) == sizeof(gpv_sift_keypoint) &&
              offsetof(Keypoint, octave) == offsetof(gpv_sift_keypoint, octave));
static_assert(sizeof(SiftResult) == sizeof(gpv_sift_result) &&
              offsetof(SiftResult, dropped) == offsetof(gpv_sift_result, dropped));

void require_source(const gpv_sift &op, const Image &src) {
    require_picture(*op.context, src, "src", "SIFT");
}

void require_mask(const gpv_sift &op, const Image &src, const Image &mask) {
    if (mask.format != Format::gray8)
        throw Error(Status::unsupported, std::string("mask->format is ") +
                                             format_info(mask.format).name +
                                             ", but a mask is GRAY8");
    require_like(*op.context, src, mask, "mask");
}

KeypointRecords read_keypoints(const gpv_sift &op, const gpv_buffer *keypoints,
                               std::uint32_t stride) {
    if (stride == 0)
        stride = sizeof(gpv_sift_keypoint);
    require_range("keypoint_stride", stride, static_cast<std::uint32_t>(sizeof(gpv_sift_keypoint)),
                  max_record_stride);
    if (stride % alignof(Keypoint))
        throw Error(Status::invalid_argument,
                    "keypoint_stride is " + std::to_string(stride) + ", must be a multiple of 4");
    const BufferView view =
        read_buffer(keypoints, "keypoints", sizeof(gpv_sift_keypoint), alignof(Keypoint));
    op.context->device().require_accessible(view.memory, view.device, "keypoints");
    // The last record needs no padding behind it.
    const auto spare = static_cast<std::int64_t>(stride - sizeof(gpv_sift_keypoint));
    return {view, stride, std::min<std::int64_t>((view.size + spare) / stride, max_records)};
}

BufferView read_descriptors(const gpv_sift &op, const gpv_buffer *descriptors,
                            const KeypointRecords &keypoints, std::int64_t count) {
    const BufferView view = read_buffer(descriptors, "descriptors",
                                        count * op.params.descriptor_bytes(), alignof(float));
    op.context->device().require_accessible(view.memory, view.device, "descriptors");
    if (view.memory != keypoints.view.memory)
        throw Error(Status::invalid_argument, "descriptors->memory differs from keypoints->memory; "
                                              "both must be in the same memory");
    return view;
}

BufferView read_result(const gpv_sift &op, const gpv_buffer *result) {
    const BufferView view = read_buffer(result, "result", first_result_size, alignof(SiftResult));
    op.context->device().require_accessible(view.memory, view.device, "result");
    if (view.memory != op.context->device().memory())
        throw Error(Status::invalid_argument,
                    "result->memory is GPV_MEMORY_HOST, but the backend is CUDA; gpv_sift_wait() "
                    "gives the result to the host");
    return view;
}

/// Most keypoints that a run writes.
std::int64_t room(const gpv_sift &op, const KeypointRecords &keypoints) {
    return op.params.max_features > 0
               ? std::min<std::int64_t>(keypoints.capacity, op.params.max_features)
               : keypoints.capacity;
}

/// An output of a run must not overlap any other input or output.
void require_disjoint(const SiftRun &run) {
    std::optional<BufferView> keypoints;
    if (run.keypoints)
        keypoints = run.keypoints->view;
    const std::pair<const std::optional<BufferView> &, const char *> buffers[] = {
        {keypoints, "keypoints"}, {run.descriptors, "descriptors"}, {run.result, "result"}};
    for (std::size_t i = 0; i < std::size(buffers); i++) {
        const auto &[view, name] = buffers[i];
        if (!view)
            continue;
        if (overlap(run.src, *view))
            throw_overlap(name, "src");
        if (run.mask && overlap(*run.mask, *view))
            throw_overlap(name, "mask");
        for (std::size_t j = 0; j < i; j++)
            if (buffers[j].first && overlap(*view, *buffers[j].first))
                throw_overlap(name, buffers[j].second);
    }
}

/// Does not read the buffers of an empty list.
void read_given(const gpv_sift &op, const gpv_buffer *keypoints, std::uint32_t stride,
                std::int32_t count, const gpv_buffer *descriptors, SiftDescription &description) {
    description.keypoints.view.memory = description.descriptors.memory =
        op.context->device().memory();
    if (count == 0)
        return;
    require_not_null(keypoints, "keypoints");
    require_not_null(descriptors, "descriptors");
    description.keypoints = read_keypoints(op, keypoints, stride);
    require_range("count", std::int64_t{count}, std::int64_t{0},
                  std::min<std::int64_t>(description.keypoints.capacity, GPV_SIFT_MAX_KEYPOINTS));
    description.keypoints.capacity = count;
    description.descriptors = read_descriptors(op, descriptors, description.keypoints, count);
    if (overlap(description.src, description.descriptors))
        throw_overlap("descriptors", "src");
    if (overlap(description.keypoints.view, description.descriptors))
        throw_overlap("descriptors", "keypoints");
}

/// Throws Error if the last finished run had too many extrema or keypoints.
void require_no_overflow(const gpv_sift &op) {
    if (op.has_run && op.core->overflow())
        throw Error(Status::too_small,
                    "the picture has " + std::to_string(op.core->result().dropped) +
                        " extrema or keypoints, which is more than are kept; raise "
                        "params->contrast_threshold");
}

} // namespace
} // namespace gpv

void gpv_sift_params_init(gpv_sift_params *params, uint32_t size) {
    gpv::write_struct(params, size, gpv::default_params<gpv_sift_params>(gpv::sift_fields));
}

void gpv_sift_result_init(gpv_sift_result *result, uint32_t size) {
    gpv::write_struct(result, size, gpv_sift_result{});
}

gpv_status gpv_sift_create(gpv_context *context, const gpv_sift_params *params, gpv_sift **out) {
    return gpv::create(context, out, [&](gpv_sift &op) {
        op.params = {gpv::read_params(params, gpv::sift_fields)};
        op.core = op.context->functions().make_sift(op.context);
        op.core->set_params(op.params);
    });
}

void gpv_sift_destroy(gpv_sift **op) {
    gpv::destroy(op);
}

gpv_status gpv_sift_set_params(gpv_sift *op, const gpv_sift_params *params) {
    return gpv::guard_object(op, [&] {
        const gpv::SiftParams fresh = {gpv::read_params(params, gpv::sift_fields)};
        op->core->set_params(fresh);
        op->params = fresh;
    });
}

gpv_status gpv_sift_prepare(gpv_sift *op, const gpv_image *src, const gpv_image *mask,
                            int32_t keypoints) {
    return gpv::guard_object(op, [&] {
        const gpv::Image from = gpv::read_image(src, "src", true);
        gpv::require_source(*op, from);
        std::optional<gpv::Image> chosen;
        if (mask) {
            chosen = gpv::read_image(mask, "mask", true);
            gpv::require_mask(*op, from, *chosen);
        }
        gpv::require_range("keypoints", keypoints, 0, GPV_SIFT_MAX_KEYPOINTS);
        op->core->prepare(from, chosen ? &*chosen : nullptr, keypoints);
    });
}

gpv_status gpv_sift_run(gpv_sift *op, gpv_stream stream, const gpv_image *src,
                        const gpv_image *mask, const gpv_buffer *keypoints,
                        uint32_t keypoint_stride, const gpv_buffer *descriptors,
                        const gpv_buffer *result) {
    return gpv::guard_object(op, [&] {
        gpv::SiftRun run{.src = gpv::read_image(src, "src")};
        gpv::require_source(*op, run.src);
        if (mask) {
            run.mask = gpv::read_image(mask, "mask");
            gpv::require_mask(*op, run.src, *run.mask);
        }
        if (keypoints)
            run.keypoints = gpv::read_keypoints(*op, keypoints, keypoint_stride);
        if (descriptors) {
            gpv::require_not_null(keypoints, "keypoints");
            run.descriptors = gpv::read_descriptors(*op, descriptors, *run.keypoints,
                                                    gpv::room(*op, *run.keypoints));
        }
        if (result)
            run.result = gpv::read_result(*op, result);
        gpv::require_disjoint(run);
        gpv::start_run(*op, [&] { return op->core->run(stream, run); });
    });
}

gpv_status gpv_sift_describe(gpv_sift *op, gpv_stream stream, const gpv_image *src,
                             const gpv_buffer *keypoints, uint32_t keypoint_stride, int32_t count,
                             const gpv_buffer *descriptors) {
    return gpv::guard_object(op, [&] {
        gpv::SiftDescription description{.src = gpv::read_image(src, "src")};
        gpv::require_source(*op, description.src);
        gpv::read_given(*op, keypoints, keypoint_stride, count, descriptors, description);
        gpv::start_run(*op, [&] { return op->core->describe(stream, description); });
    });
}

gpv_status gpv_draw_keypoints(gpv_sift *op, gpv_stream stream, const gpv_image *dst,
                              gpv_draw_style style, uint32_t color) {
    return gpv::guard_object(op, [&] {
        const gpv::Image picture = gpv::read_image(dst, "dst");
        gpv::require_picture(*op->context, picture, "dst", "SIFT");
        if (gpv::planes_overlap(picture))
            throw gpv::Error(gpv::Status::invalid_argument, "two planes of dst overlap");
        gpv::require_range("style", style, gpv_draw_style{GPV_DRAW_STYLE_POINTS},
                           gpv_draw_style{GPV_DRAW_STYLE_RICH});
        gpv::require_range("color", color, 0u, 0xffffffu);
        op->core->draw(stream, {.dst = picture,
                                .style = static_cast<gpv::DrawStyle>(style),
                                .color = gpv::rgb_color(color)});
    });
}

gpv_status gpv_sift_query(gpv_sift *op) {
    return gpv::query_run(op, gpv::require_no_overflow);
}

gpv_status gpv_sift_wait(gpv_sift *op, gpv_sift_result *result) {
    return gpv::wait_for_run(op, result, gpv::first_result_size, gpv::require_no_overflow);
}
