// SPDX-License-Identifier: BSD-2-Clause
#include "core/kmeans.hpp"

#include <cmath>
#include <utility>

#include "api/image.hpp"
#include "api/params.hpp"

struct gpv_kmeans {
    std::shared_ptr<gpv::Context> context;
    gpv::KmeansParams params{};
    int given = 0; ///< number of given centroids
    std::unique_ptr<gpv::Kmeans> core;
    bool has_run = false; ///< and the last run did not fail
};

namespace gpv {
namespace {

constexpr std::uint32_t first_result_size = 32; // for ever

static_assert(sizeof(KmeansResult) == sizeof(gpv_kmeans_result) &&
              offsetof(KmeansResult, empty) == offsetof(gpv_kmeans_result, empty) &&
              offsetof(KmeansResult, inertia) == offsetof(gpv_kmeans_result, inertia));

std::vector<Centroid> read_centroids(const float *centroids, std::int32_t count) {
    require_not_null(centroids, "centroids");
    require_range("count", count, 2, max_kmeans_clusters);
    for (int i = 0; i < 3 * count; i++)
        require_range({"", "centroids", i}, centroids[i], 0.0f, 255.0f);
    std::vector<Centroid> result(count);
    for (int i = 0; i < count; i++)
        result[i] = {centroids[3 * i], centroids[3 * i + 1], centroids[3 * i + 2]};
    return result;
}

void require_given(const gpv_kmeans &op) {
    if (op.params.init == GPV_KMEANS_INIT_GIVEN && op.given != op.params.clusters)
        throw Error(Status::invalid_argument,
                    "params->init is GPV_KMEANS_INIT_GIVEN and params->clusters is " +
                        std::to_string(op.params.clusters) +
                        ", but gpv_kmeans_set_centroids() has been given " +
                        std::to_string(op.given));
}

/// Made at the first call.
const LabTable &lab_table() {
    static const LabTable table;
    return table;
}

void require_source(const gpv_kmeans &op, const Image &src) {
    require_picture(*op.context, src, "src", "k-means");
}

void require_labels(const gpv_kmeans &op, const Image &src, const Image &labels) {
    if (labels.format != Format::gray8 && labels.format != Format::nv12 &&
        labels.format != Format::i420)
        throw Error(Status::unsupported, std::string("labels->format is ") +
                                             format_info(labels.format).name +
                                             ", but labels are GRAY8, NV12 or I420");
    require_like(*op.context, src, labels, "labels");
}

void require_recolored(const gpv_kmeans &op, const Image &src, const Image &dst) {
    if (src.format != dst.format)
        throw Error(Status::invalid_argument,
                    std::string("dst->format is ") + format_info(dst.format).name +
                        ", must be as src, " + format_info(src.format).name);
    require_like(*op.context, src, dst, "dst");
}

BufferView read_output(const gpv_kmeans &op, const gpv_buffer *buffer, const char *name,
                       std::size_t bytes, std::size_t alignment) {
    const BufferView view = read_buffer(buffer, name, bytes, alignment);
    op.context->device().require_accessible(view.memory, view.device, name);
    return view;
}

/// An output of a run must not overlap any other input or output, except that dst may be src.
void require_disjoint(const KmeansRun &run) {
    if (run.dst && !same_pixels(run.src, *run.dst) && overlap(run.src, *run.dst))
        throw Error(Status::invalid_argument,
                    "dst overlaps src; it must be src itself or share no byte with it");
    if (run.dst && planes_overlap(*run.dst))
        throw Error(Status::invalid_argument, "two planes of dst overlap");
    if (run.labels && overlap(run.src, *run.labels))
        throw_overlap("labels", "src");
    if (run.labels && run.dst && overlap(*run.dst, *run.labels))
        throw_overlap("labels", "dst");
    if (run.labels && planes_overlap(*run.labels))
        throw Error(Status::invalid_argument, "two planes of labels overlap");
    const std::pair<const std::optional<BufferView> &, const char *> buffers[] = {
        {run.centroids, "centroids"}, {run.counts, "counts"}, {run.result, "result"}};
    for (std::size_t i = 0; i < std::size(buffers); i++) {
        const auto &[view, name] = buffers[i];
        if (!view)
            continue;
        if (overlap(run.src, *view))
            throw_overlap(name, "src");
        if (run.dst && overlap(*run.dst, *view))
            throw_overlap(name, "dst");
        if (run.labels && overlap(*run.labels, *view))
            throw_overlap(name, "labels");
        for (std::size_t j = 0; j < i; j++)
            if (buffers[j].first && overlap(*view, *buffers[j].first))
                throw_overlap(name, buffers[j].second);
    }
}

} // namespace
} // namespace gpv

void gpv_kmeans_params_init(gpv_kmeans_params *params, uint32_t size) {
    gpv::write_struct(params, size, gpv::default_params<gpv_kmeans_params>(gpv::kmeans_fields));
}

void gpv_kmeans_result_init(gpv_kmeans_result *result, uint32_t size) {
    gpv::write_struct(result, size, gpv_kmeans_result{});
}

uint32_t gpv_kmeans_color(gpv_kmeans_color_space space, const float *centroid) {
    if (!centroid)
        return 0;
    const auto level = [&](int i) { return std::fmin(std::fmax(centroid[i], 0.0f), 255.0f); };
    const gpv::Centroid c{level(0), level(1), level(2)};
    return gpv::color_value(
        gpv::paint(c, space == GPV_KMEANS_COLOR_SPACE_LAB ? &gpv::lab_table() : nullptr));
}

gpv_status gpv_kmeans_create(gpv_context *context, const gpv_kmeans_params *params,
                             gpv_kmeans **out) {
    return gpv::create(context, out, [&](gpv_kmeans &op) {
        op.params = {gpv::read_params(params, gpv::kmeans_fields)};
        op.core = op.context->functions().make_kmeans(op.context);
        op.core->set_params(op.params);
    });
}

void gpv_kmeans_destroy(gpv_kmeans **op) {
    gpv::destroy(op);
}

gpv_status gpv_kmeans_set_params(gpv_kmeans *op, const gpv_kmeans_params *params) {
    return gpv::guard_object(op, [&] {
        const gpv::KmeansParams fresh = {gpv::read_params(params, gpv::kmeans_fields)};
        op->core->set_params(fresh);
        op->params = fresh;
    });
}

gpv_status gpv_kmeans_set_centroids(gpv_kmeans *op, const float *centroids, int32_t count) {
    return gpv::guard_object(op, [&] {
        op->core->set_centroids(gpv::read_centroids(centroids, count));
        op->given = count;
    });
}

gpv_status gpv_kmeans_prepare(gpv_kmeans *op, const gpv_image *src, const gpv_image *labels,
                              const gpv_image *dst) {
    return gpv::guard_object(op, [&] {
        const gpv::Image from = gpv::read_image(src, "src", true);
        gpv::require_source(*op, from);
        std::optional<gpv::Image> numbers, colors;
        if (labels) {
            numbers = gpv::read_image(labels, "labels", true);
            gpv::require_labels(*op, from, *numbers);
        }
        if (dst) {
            colors = gpv::read_image(dst, "dst", true);
            gpv::require_recolored(*op, from, *colors);
        }
        op->core->prepare(from, numbers ? &*numbers : nullptr, colors ? &*colors : nullptr);
    });
}

gpv_status gpv_kmeans_run(gpv_kmeans *op, gpv_stream stream, const gpv_image *src,
                          const gpv_image *labels, const gpv_image *dst,
                          const gpv_buffer *centroids, const gpv_buffer *counts,
                          const gpv_buffer *result) {
    return gpv::guard_object(op, [&] {
        gpv::KmeansRun run{.src = gpv::read_image(src, "src")};
        gpv::require_source(*op, run.src);
        if (labels) {
            run.labels = gpv::read_image(labels, "labels");
            gpv::require_labels(*op, run.src, *run.labels);
        }
        if (dst) {
            run.dst = gpv::read_image(dst, "dst");
            gpv::require_recolored(*op, run.src, *run.dst);
        }
        const std::size_t room = op->params.room();
        if (centroids)
            run.centroids = gpv::read_output(*op, centroids, "centroids",
                                             room * sizeof(gpv::Centroid), alignof(float));
        if (counts)
            run.counts = gpv::read_output(*op, counts, "counts", room * sizeof(std::int32_t),
                                          alignof(std::int32_t));
        if (result) {
            run.result = gpv::read_output(*op, result, "result", gpv::first_result_size,
                                          alignof(gpv::KmeansResult));
            if (run.result->memory != op->context->device().memory())
                throw gpv::Error(gpv::Status::invalid_argument,
                                 "result->memory is GPV_MEMORY_HOST, but the backend is CUDA; "
                                 "gpv_kmeans_wait() gives the result to the host");
        }
        gpv::require_disjoint(run);
        gpv::require_given(*op);
        gpv::start_run(*op, [&] { return op->core->run(stream, run); });
    });
}

gpv_status gpv_kmeans_query(gpv_kmeans *op) {
    return gpv::query_run(op);
}

gpv_status gpv_kmeans_wait(gpv_kmeans *op, gpv_kmeans_result *result) {
    return gpv::guard_object(op, [&] {
        if (result)
            gpv::require_range({"result", "struct_size"}, result->struct_size,
                               gpv::first_result_size, gpv::max_struct_size);
        op->core->wait();
        if (!result)
            return;
        gpv_kmeans_result found{};
        if (op->has_run) {
            const gpv::KmeansResult of_core = op->core->result();
            std::memcpy(&found, &of_core, sizeof found);
        }
        gpv::write_struct(result, result->struct_size, found);
    });
}
