// SPDX-License-Identifier: BSD-2-Clause
#include "core/match.hpp"

#include <cstddef>
#include <iterator>

#include "api/image.hpp"
#include "api/params.hpp"

struct gpv_match {
    std::shared_ptr<gpv::Context> context;
    gpv_match_params params{};
    std::unique_ptr<gpv::Match> core;
    bool has_run = false; ///< and the last run did not fail
};

namespace gpv {
namespace {

constexpr std::uint32_t first_result_size = 16; // for ever

static_assert(match_length == GPV_SIFT_DESCRIPTOR_LENGTH);
static_assert(sizeof(Nearest) == sizeof(gpv_match_nearest) &&
              offsetof(Nearest, distance) == offsetof(gpv_match_nearest, distance));
static_assert(sizeof(MatchPair) == sizeof(gpv_match_pair) &&
              offsetof(MatchPair, second) == offsetof(gpv_match_pair, second));
static_assert(sizeof(MatchResult) == sizeof(gpv_match_result) &&
              offsetof(MatchResult, queries) == offsetof(gpv_match_result, queries));

/// Does not read the buffer of an empty set.
MatchSet read_set(const gpv_match &op, const gpv_buffer *descriptors, const char *name,
                  std::int32_t count, const char *count_name) {
    require_range(count_name, count, 0, GPV_MATCH_MAX_DESCRIPTORS);
    if (count == 0)
        return {};
    require_not_null(descriptors, name);
    const BufferView view =
        read_buffer(descriptors, name, std::size_t{match_length} * count, alignof(std::int32_t));
    op.context->device().require_accessible(view.memory, view.device, name);
    return {view, count};
}

/// A buffer that has to be in the backend's memory.
BufferView read_on_device(const gpv_match &op, const gpv_buffer *buffer, const char *name,
                          std::size_t bytes) {
    const BufferView view = read_buffer(buffer, name, bytes, alignof(std::int32_t));
    op.context->device().require_accessible(view.memory, view.device, name);
    if (view.memory != op.context->device().memory())
        throw Error(Status::invalid_argument,
                    std::string(name) + "->memory is GPV_MEMORY_HOST, but the backend is CUDA");
    return view;
}

BufferView read_output(const gpv_match &op, const gpv_buffer *buffer, const char *name,
                       std::size_t bytes) {
    const BufferView view = read_buffer(buffer, name, bytes, alignof(std::int32_t));
    op.context->device().require_accessible(view.memory, view.device, name);
    return view;
}

/// An output of a run must not overlap any other input or output.
void require_disjoint(const MatchRun &run) {
    struct Used {
        const BufferView *view;
        const char *name;
    };
    const auto given = [](const auto &view) { return view ? &*view : nullptr; };
    const Used inputs[] = {{run.query.count ? &run.query.view : nullptr, "query"},
                           {run.train.count ? &run.train.view : nullptr, "train"},
                           {given(run.found), "found"}};
    const Used outputs[] = {{given(run.nearest), "nearest"},
                            {given(run.pairs), "pairs"},
                            {given(run.result), "result"}};
    const auto require = [](const Used &out, const Used &other) {
        if (out.view && other.view && overlap(*out.view, *other.view))
            throw_overlap(out.name, other.name);
    };
    for (std::size_t i = 0; i < std::size(outputs); i++) {
        for (const Used &input : inputs)
            require(outputs[i], input);
        for (std::size_t j = 0; j < i; j++)
            require(outputs[i], outputs[j]);
    }
}

MatchRun read_run(const gpv_match &op, const gpv_buffer *query, std::int32_t query_count,
                  const gpv_buffer *found, const gpv_buffer *train, std::int32_t train_count,
                  const gpv_buffer *nearest, const gpv_buffer *pairs, const gpv_buffer *result) {
    MatchRun run{.query = read_set(op, query, "query", query_count, "query_count"),
                 .train = read_set(op, train, "train", train_count, "train_count")};
    if (found)
        run.found = read_on_device(op, found, "found", sizeof(gpv_sift_result));
    if (nearest && query_count > 0)
        run.nearest = read_output(op, nearest, "nearest", sizeof(Nearest) * query_count);
    if (pairs)
        run.pairs = read_output(op, pairs, "pairs", sizeof(MatchPair));
    if (result)
        run.result = read_on_device(op, result, "result", first_result_size);
    require_disjoint(run);
    return run;
}

Outline read_outline(const float *points, std::int32_t count, float width) {
    require_not_null(points, "points");
    require_range("count", count, 2, max_outline_points);
    require_range("width", width, 1.0f, max_line_width);
    Outline outline{.points = {}, .count = count, .reach = width / 2};
    for (int i = 0; i < 2 * count; i++)
        require_range({"points", nullptr, i}, points[i], -max_coordinate, max_coordinate);
    for (int i = 0; i < count; i++)
        outline.points[i] = {points[2 * i], points[2 * i + 1]};
    return outline;
}

} // namespace
} // namespace gpv

void gpv_match_params_init(gpv_match_params *params, uint32_t size) {
    gpv::write_struct(params, size, gpv::default_params<gpv_match_params>(gpv::match_fields));
}

void gpv_match_result_init(gpv_match_result *result, uint32_t size) {
    gpv::write_struct(result, size, gpv_match_result{});
}

gpv_status gpv_match_create(gpv_context *context, const gpv_match_params *params, gpv_match **out) {
    return gpv::create(context, out, [&](gpv_match &op) {
        op.params = gpv::read_params(params, gpv::match_fields);
        op.core = op.context->functions().make_match(op.context);
        op.core->set_params(op.params);
    });
}

void gpv_match_destroy(gpv_match **op) {
    gpv::destroy(op);
}

gpv_status gpv_match_set_params(gpv_match *op, const gpv_match_params *params) {
    return gpv::guard_object(op, [&] {
        const gpv_match_params fresh = gpv::read_params(params, gpv::match_fields);
        op->core->set_params(fresh);
        op->params = fresh;
    });
}

gpv_status gpv_match_prepare(gpv_match *op, int32_t query_count, int32_t train_count,
                             gpv_memory memory) {
    return gpv::guard_object(op, [&] {
        gpv::require_range("query_count", query_count, 0, GPV_MATCH_MAX_DESCRIPTORS);
        gpv::require_range("train_count", train_count, 0, GPV_MATCH_MAX_DESCRIPTORS);
        gpv::require_range("memory", memory, gpv_memory{GPV_MEMORY_HOST},
                           gpv_memory{GPV_MEMORY_CUDA});
        const auto where = static_cast<gpv::Memory>(memory);
        if (where == gpv::Memory::cuda && op->context->backend() != GPV_BACKEND_CUDA)
            throw gpv::Error(gpv::Status::unsupported,
                             "memory is GPV_MEMORY_CUDA, but the context computes on the CPU");
        op->core->prepare(query_count, train_count, where);
    });
}

gpv_status gpv_match_run(gpv_match *op, gpv_stream stream, const gpv_buffer *query,
                         int32_t query_count, const gpv_buffer *found, const gpv_buffer *train,
                         int32_t train_count, const gpv_buffer *nearest, const gpv_buffer *pairs,
                         const gpv_buffer *result) {
    return gpv::guard_object(op, [&] {
        const gpv::MatchRun run = gpv::read_run(*op, query, query_count, found, train, train_count,
                                                nearest, pairs, result);
        gpv::start_run(*op, [&] { return op->core->run(stream, run); });
    });
}

gpv_status gpv_draw_outline(gpv_match *op, gpv_stream stream, const gpv_image *dst,
                            const float *points, int32_t count, float width, uint32_t color) {
    return gpv::guard_object(op, [&] {
        const gpv::Image picture = gpv::read_image(dst, "dst");
        gpv::require_picture(*op->context, picture, "dst", "drawing");
        if (gpv::planes_overlap(picture))
            throw gpv::Error(gpv::Status::invalid_argument, "two planes of dst overlap");
        const gpv::Outline outline = gpv::read_outline(points, count, width);
        gpv::require_range("color", color, 0u, 0xffffffu);
        op->core->draw(stream,
                       {.dst = picture, .outline = outline, .color = gpv::rgb_color(color)});
    });
}

gpv_status gpv_match_query(gpv_match *op) {
    return gpv::query_run(op);
}

gpv_status gpv_match_wait(gpv_match *op, gpv_match_result *result) {
    return gpv::wait_for_run(op, result, gpv::first_result_size, [](const gpv_match &) {});
}
