// SPDX-License-Identifier: BSD-2-Clause
// Raw bits to one use of k-means, under the same promises as erode.cpp.
#include "fuzz.hpp"

#include <cmath>

namespace {

using Bytes = std::vector<std::vector<std::uint8_t>>;

gpv_kmeans_params read_params(Input &in) {
    gpv_kmeans_params params;
    gpv_kmeans_params_init(&params, sizeof params);
    if (in.once_in(16)) {
        params = in.raw<gpv_kmeans_params>();
        if (params.struct_size > sizeof params) // there is no more to read
            params.struct_size = sizeof params;
        return params;
    }
    params.clusters = in.once_in(8) ? 2 + in.below(255) : in.below(12);
    params.max_clusters = 2 + in.below(6);
    params.max_iterations = in.below(8);
    params.tolerance = static_cast<float>(in.below(40) - 4) / 8;
    params.metric = in.below(2);
    params.init = in.below(4);
    params.color_space = in.below(2);
    params.seed = in.raw<std::uint16_t>();
    params.warm_start = in.below(2);
    return params;
}

/// What would take longer than it is worth. Illegal numbers stay.
void bound(gpv_kmeans_params &params, const Fields &fields) {
    const bool large = std::int64_t{fields.width} * fields.height > 72 * 40;
    limit("kmeans", "max_iterations", params.max_iterations, large ? 1 : 8);
    limit("kmeans", "max_clusters", params.max_clusters, 8);
    if (large)
        limit("kmeans", "clusters", params.clusters, 8);
}

/// As many as there are clusters, or not.
void give_centroids(Input &in, gpv_kmeans *op, const gpv_kmeans_params &params) {
    const int count = in.once_in(8) ? in.raw<std::int16_t>() : params.clusters;
    std::vector<float> centroids(3 * std::clamp(count, 0, GPV_KMEANS_MAX_CLUSTERS));
    for (float &level : centroids)
        level = in.below(256);
    if (!centroids.empty() && in.once_in(8))
        centroids[in.below(3)] = in.raw<float>();
    const gpv_status status =
        gpv_kmeans_set_centroids(op, centroids.empty() ? nullptr : centroids.data(), count);
    REQUIRE(status == GPV_OK || status == GPV_ERR_INVALID_ARGUMENT);
}

Fields read_labels(Input &in, const Fields &src) {
    static constexpr gpv_format formats[] = {GPV_FORMAT_GRAY8, GPV_FORMAT_GRAY8, GPV_FORMAT_NV12,
                                             GPV_FORMAT_I420};
    if (in.once_in(16))
        return read_fields(in);
    return {formats[in.below(4)], src.width, src.height};
}

/// All that a run writes.
struct Outputs {
    Picture *labels, *dst;
    Flat *centroids, *counts, *result;

    gpv_status run(gpv_kmeans *op, const Picture &src) const {
        const auto view = [](const auto *output) { return output ? &output->view : nullptr; };
        return gpv_kmeans_run(op, nullptr, &src.view, view(labels), view(dst), view(centroids),
                              view(counts), view(result));
    }
    Bytes bytes() const {
        Bytes all;
        for (const Picture *picture : {labels, dst})
            if (picture)
                for (auto &plane : picture->bytes())
                    all.push_back(std::move(plane));
        for (const Flat *flat : {centroids, counts, result})
            if (flat)
                all.push_back(flat->block);
        return all;
    }
};

/// Whether nothing but the rows of an image has changed.
bool intact_outside(const Picture &picture, Bytes before) {
    const gpv_image &view = picture.view;
    for (int i = 0; i < gpv_format_planes(view.format); i++) {
        std::int64_t row_bytes, rows;
        REQUIRE(gpv_format_plane(view.format, i, view.width, view.height, &row_bytes, &rows) ==
                GPV_OK);
        for (std::int64_t y = 0; y < rows; y++)
            std::memcpy(before[i].data() + (picture.row(i, y) - picture.blocks[i].get()),
                        picture.row(i, y), row_bytes);
    }
    return before == picture.bytes();
}

template <class T>
std::vector<T> table(const Flat &flat, int count) {
    std::vector<T> values(count);
    std::memcpy(values.data(), flat.view.data, count * sizeof(T));
    return values;
}

/// Whether the bytes behind so many are as they were.
bool intact_behind(const Flat &flat, std::size_t bytes) {
    const auto *data = static_cast<const std::uint8_t *>(flat.view.data);
    return std::all_of(data + bytes, data + flat.view.size,
                       [](std::uint8_t byte) { return byte == Flat::canary; });
}

void check_found(const gpv_kmeans_result &found, const gpv_kmeans_params &p, const gpv_image &src) {
    REQUIRE(found.struct_size == sizeof found && found.reserved == 0 && found.converged <= 1);
    REQUIRE(p.clusters ? found.clusters == p.clusters
                       : found.clusters >= 1 && found.clusters <= p.max_clusters);
    REQUIRE(found.iterations >= 0 && found.iterations <= p.max_iterations);
    REQUIRE(!found.converged || p.tolerance >= 0);
    REQUIRE(found.empty >= 0 && found.empty < found.clusters);
    REQUIRE(found.inertia >= 0 &&
            found.inertia <= 3.0 * 255 * 255 * src.width * static_cast<double>(src.height));
}

void check_counts(const std::vector<std::int32_t> &counts, const gpv_kmeans_result &found,
                  const gpv_image &src) {
    std::int64_t sum = 0;
    for (const std::int32_t count : counts) {
        REQUIRE(count >= 0);
        sum += count;
    }
    REQUIRE(sum == std::int64_t{src.width} * src.height);
    REQUIRE(std::count(counts.begin(), counts.end(), 0) == found.empty);
}

std::vector<std::int32_t> check_labels(const Picture &labels, int clusters) {
    std::vector<std::int32_t> counts(clusters);
    for (int y = 0; y < labels.view.height; y++)
        for (int x = 0; x < labels.view.width; x++) {
            REQUIRE(labels.row(0, y)[x] < clusters);
            counts[labels.row(0, y)[x]]++;
        }
    for (int i = 1; i < gpv_format_planes(labels.view.format); i++)
        for (int y = 0; y < (labels.view.height + 1) / 2; y++)
            for (int x = 0; x < (labels.view.width + 1) / 2; x++)
                REQUIRE(labels.row(i, y)[x] == 128);
    return counts;
}

/// Each pixel has the colour of its label's centroid.
void check_colors(const Picture &dst, const Picture &labels, gpv_kmeans_color_space space,
                  const std::vector<float> &centroids) {
    const auto channels = channels_of(dst.view.format);
    const bool grey = channels.size() == 1;
    for (int y = 0; y < dst.view.height; y++)
        for (int x = 0; x < dst.view.width; x++) {
            const std::uint32_t color =
                gpv_kmeans_color(space, centroids.data() + 3 * labels.row(0, y)[x]);
            const std::array of_label = {int(color >> 16), int(color >> 8 & 255), int(color & 255)};
            if (grey)
                REQUIRE(dst.sample(channels[0], x, y) ==
                        grey_of(of_label) * (sample_bytes(dst.view.format) == 2 ? 257 : 1));
            else
                REQUIRE(dst.color(channels, x, y) == of_label);
        }
}

/// Each label is that of a nearest centroid, but for what the order of additions may do.
void check_nearest(const Picture &src, const Picture &labels, gpv_kmeans_metric metric,
                   const std::vector<float> &centroids) {
    const auto channels = channels_of(src.view.format);
    for (int y = 0; y < src.view.height; y++)
        for (int x = 0; x < src.view.width; x++) {
            const auto at = src.color(channels, x, y);
            const auto distance = [&](std::size_t cluster) {
                double sum = 0;
                for (int i = 0; i < 3; i++) {
                    const double d = at[i] - double{centroids[3 * cluster + i]};
                    sum += metric == GPV_KMEANS_METRIC_L2 ? d * d : std::abs(d);
                }
                return sum;
            };
            const double own = distance(labels.row(0, y)[x]);
            for (std::size_t i = 0; i < centroids.size() / 3; i++)
                REQUIRE(own <= distance(i) * 1.0001 + 0.001);
        }
}

void check_result(const Outputs &o, const gpv_kmeans_params &p, const Picture &src, bool in_place,
                  const gpv_kmeans_result &found) {
    const int room = p.clusters ? p.clusters : p.max_clusters;
    std::vector<float> centroids;
    check_found(found, p, src.view);
    if (o.result) {
        REQUIRE(std::memcmp(o.result->view.data, &found, sizeof found) == 0);
        REQUIRE(intact_behind(*o.result, sizeof found));
    }
    if (o.centroids) {
        centroids = table<float>(*o.centroids, 3 * found.clusters);
        for (const float level : centroids)
            REQUIRE(level >= 0 && level <= 255);
        REQUIRE(intact_behind(*o.centroids, 3 * room * sizeof(float)));
    }
    if (o.counts) {
        check_counts(table<std::int32_t>(*o.counts, found.clusters), found, src.view);
        REQUIRE(intact_behind(*o.counts, room * sizeof(std::int32_t)));
    }
    if (!o.labels)
        return;
    const auto counts = check_labels(*o.labels, found.clusters);
    check_counts(counts, found, src.view);
    REQUIRE(!o.counts || table<std::int32_t>(*o.counts, found.clusters) == counts);
    if (!o.centroids || is_yuv(src.view.format))
        return;
    if (o.dst)
        check_colors(*o.dst, *o.labels, p.color_space, centroids);
    if (!in_place && p.color_space == GPV_KMEANS_COLOR_SPACE_RGB)
        check_nearest(src, *o.labels, p.metric, centroids);
}

/// params is null if they are not those of op. The source may be among the outputs.
void run(gpv_context *context, gpv_kmeans *op, const gpv_kmeans_params *params, const Picture &src,
         const Outputs &outputs, Budget &budget) {
    const bool in_place = outputs.dst == &src;
    const auto before_src = src.bytes(), before = outputs.bytes();
    const auto before_labels = outputs.labels ? outputs.labels->bytes() : Bytes{};
    const auto before_dst = outputs.dst ? outputs.dst->bytes() : Bytes{};
    const gpv_status status = outputs.run(op, src);
    REQUIRE(status <= GPV_OK && status >= GPV_ERR_OUT_OF_MEMORY);
    REQUIRE(status == GPV_OK || gpv_context_error(context)[0]);
    REQUIRE(in_place || src.bytes() == before_src);
    if (status == GPV_ERR_INVALID_ARGUMENT || status == GPV_ERR_UNSUPPORTED)
        REQUIRE(outputs.bytes() == before);
    gpv_kmeans_result found, again;
    gpv_kmeans_result_init(&found, sizeof found);
    again = found;
    REQUIRE(gpv_kmeans_query(op) == GPV_OK && gpv_kmeans_wait(op, &found) == GPV_OK);
    if (status != GPV_OK) {
        REQUIRE(std::memcmp(&found, &again, sizeof found) == 0);
        return;
    }
    REQUIRE(src.legal && (!outputs.labels || outputs.labels->legal) &&
            (!outputs.dst || outputs.dst->legal));
    REQUIRE(!outputs.labels || intact_outside(*outputs.labels, before_labels));
    REQUIRE(!outputs.dst || intact_outside(*outputs.dst, before_dst));
    if (params)
        check_result(outputs, *params, src, in_place, found);

    budget.fail_at = 0;
    if (in_place)
        return;
    const bool warm = params && params->warm_start;
    const auto once = outputs.bytes();
    REQUIRE(outputs.run(op, src) == GPV_OK && (warm || outputs.bytes() == once));
    REQUIRE(gpv_kmeans_wait(op, &again) == GPV_OK);
    REQUIRE(warm ? again.clusters == found.clusters
                 : std::memcmp(&found, &again, sizeof found) == 0);
    if (params)
        check_result(outputs, *params, src, false, again);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    Input in(data, size);
    Budget budget;
    gpv_context *context = open_context(budget);
    gpv_kmeans *op = nullptr;
    const Fields fields = read_fields(in);
    gpv_kmeans_params params = read_params(in);
    bound(params, fields);
    gpv_status status = gpv_kmeans_create(context, &params, &op);
    REQUIRE(status == GPV_OK || status == GPV_ERR_INVALID_ARGUMENT);
    if (status != GPV_OK)
        REQUIRE(!op && gpv_kmeans_create(context, nullptr, &op) == GPV_OK);
    const bool params_in_force = status == GPV_OK;

    Picture src(in, fields);
    std::unique_ptr<Picture> labels, other;
    if (!in.once_in(4))
        labels = std::make_unique<Picture>(in, read_labels(in, fields));
    const int where = in.below(4);
    if (where > 1)
        other = std::make_unique<Picture>(in, in.once_in(16) ? read_fields(in) : fields);
    Picture *const dst = where == 1 ? &src : other.get();
    const std::size_t room = params.clusters > 0 ? params.clusters : 8;
    const auto read_table = [&](std::size_t bytes) {
        return read_flat(in, in.once_in(8) ? in.raw<std::uint16_t>() % 4096 : bytes);
    };
    const auto centroids = read_table(room % 4096 * 3 * sizeof(float));
    const auto counts = read_table(room % 4096 * sizeof(std::int32_t));
    const auto result = read_table(sizeof(gpv_kmeans_result) + in.below(8));
    if (labels && in.once_in(16))
        labels->view.data[0] = src.view.data[0];
    if (centroids && counts && in.once_in(16))
        counts->view.data = centroids->view.data;
    if (params.init == GPV_KMEANS_INIT_GIVEN)
        give_centroids(in, op, params);
    if (in.once_in(8))
        budget.fail_at = 1 + in.below(8);
    if (in.once_in(4)) {
        status = gpv_kmeans_prepare(op, &src.view, labels ? &labels->view : nullptr,
                                    dst ? &dst->view : nullptr);
        REQUIRE(status <= GPV_OK && status >= GPV_ERR_OUT_OF_MEMORY);
    }

    const auto usable = [](const Picture *p) { return !p || p->backed || !p->legal; };
    if (usable(&src) && usable(labels.get()) && usable(dst))
        run(context, op, params_in_force ? &params : nullptr, src,
            {labels.get(), dst, centroids.get(), counts.get(), result.get()}, budget);
    gpv_kmeans_destroy(&op);
    gpv_context_destroy(&context);
    REQUIRE(budget.live == 0);
    return 0;
}
