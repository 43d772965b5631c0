// SPDX-License-Identifier: BSD-2-Clause
// Every allocation of the library fails once, whichever it is: the call says so, leaks nothing,
// leaves things as they were, and works when it is repeated.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include <check.h>
#include <gpuvision/gpuvision.h>

#include "run_group.hpp"

namespace {

long live = 0;
long calls = 0;
long fail_in = 0; ///< the allocation that fails, counted from 1; 0 = none

void *allocate(std::size_t size, std::size_t alignment) {
    if (fail_in > 0 && --fail_in == 0)
        throw std::bad_alloc();
    void *memory = nullptr;
    if (posix_memalign(&memory, alignment < sizeof(void *) ? sizeof(void *) : alignment, size))
        throw std::bad_alloc();
    __atomic_add_fetch(&live, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    return memory;
}

void release(void *memory) {
    if (!memory)
        return;
    __atomic_sub_fetch(&live, 1, __ATOMIC_RELAXED);
    std::free(memory);
}

} // namespace

void *operator new(std::size_t size) {
    return allocate(size, sizeof(void *));
}
void *operator new(std::size_t size, std::align_val_t alignment) {
    return allocate(size, static_cast<std::size_t>(alignment));
}
void *operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t &) noexcept {
    try {
        return allocate(size, static_cast<std::size_t>(alignment));
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}
void operator delete(void *memory) noexcept {
    release(memory);
}
void operator delete(void *memory, std::size_t) noexcept {
    release(memory);
}
void operator delete(void *memory, std::align_val_t) noexcept {
    release(memory);
}
void operator delete(void *memory, std::size_t, std::align_val_t) noexcept {
    release(memory);
}

namespace {

constexpr int width = 37, height = 11;
using Pixels = std::array<unsigned char, width * height>;

int logged;
void count_line(void *, gpv_log_level, const char *) {
    logged++;
}

gpv_image view(Pixels &pixels) {
    gpv_image image;
    gpv_image_wrap(&image, sizeof image, GPV_FORMAT_GRAY8, width, height, pixels.data(), 0);
    return image;
}

/// What a run writes.
template <std::size_t bytes>
struct Output {
    alignas(8) std::array<unsigned char, bytes> data;
    bool operator==(const Output &) const = default;

    gpv_buffer part(std::size_t first, std::size_t length) {
        gpv_buffer buffer;
        gpv_buffer_init(&buffer, sizeof buffer);
        buffer.data = data.data() + first;
        buffer.size = length;
        return buffer;
    }
};

struct Erosion {
    using Operator = gpv_erode;
    using Result = Output<width * height>;
    static constexpr int min_allocations = 4;
    static constexpr auto create = gpv_erode_create;
    static constexpr auto destroy = gpv_erode_destroy;

    static gpv_erode_params params() {
        gpv_erode_params params;
        gpv_erode_params_init(&params, sizeof params);
        params.operation = GPV_ERODE_OPERATION_TOPHAT;
        params.shape = GPV_ERODE_SHAPE_ELLIPSE;
        params.radius = 4;
        params.radius_y = 3;
        params.iterations = 2;
        return params;
    }
    static gpv_status prepare(gpv_erode *op, const gpv_image &src) {
        return gpv_erode_prepare(op, &src);
    }
    static gpv_status run(gpv_erode *op, const gpv_image &src, Result &result) {
        gpv_image dst = src;
        dst.data[0] = result.data.data();
        return gpv_erode_run(op, nullptr, &src, &dst);
    }
};

/// With labels, records and count one behind the other.
struct Labelling {
    static constexpr std::size_t label_bytes = (width * height * 4 + 7) / 8 * 8;
    static constexpr std::size_t record_bytes = width * height * sizeof(gpv_ccl_component);

    using Operator = gpv_ccl;
    using Result = Output<label_bytes + record_bytes + sizeof(std::int64_t)>;
    static constexpr int min_allocations = 3; // handle, backend, scratch
    static constexpr auto create = gpv_ccl_create;
    static constexpr auto destroy = gpv_ccl_destroy;

    static gpv_ccl_params params() {
        gpv_ccl_params params;
        gpv_ccl_params_init(&params, sizeof params);
        params.mode = GPV_CCL_MODE_EQUAL_VALUE;
        params.threshold = 100;
        params.max_area = 9;
        return params;
    }
    static gpv_image labels(void *data) {
        gpv_image image;
        gpv_image_wrap(&image, sizeof image, GPV_FORMAT_LABEL32, width, height, data, 0);
        return image;
    }
    static gpv_status prepare(gpv_ccl *op, const gpv_image &src) {
        const gpv_image dst = labels(nullptr);
        return gpv_ccl_prepare(op, &src, &dst, 1);
    }
    static gpv_status run(gpv_ccl *op, const gpv_image &src, Result &result) {
        const gpv_image dst = labels(result.data.data());
        const gpv_buffer records = result.part(label_bytes, record_bytes);
        const gpv_buffer count = result.part(label_bytes + record_bytes, sizeof(std::int32_t));
        const gpv_status status = gpv_ccl_run(op, nullptr, &src, &dst, &records, 0, &count);
        return status == GPV_OK ? gpv_ccl_wait(op, nullptr) : status;
    }
};

/// With result, centroids, counts, labels and colours one behind the other.
struct Clustering {
    static constexpr int clusters = 8; // of default parameters as well
    static constexpr std::size_t centroid_bytes = clusters * 3 * sizeof(float);
    static constexpr std::size_t count_bytes = clusters * sizeof(std::int32_t);
    static constexpr std::size_t labels_at =
        sizeof(gpv_kmeans_result) + centroid_bytes + count_bytes;
    static constexpr std::size_t image_bytes = 4 * width * height; // of any format

    using Operator = gpv_kmeans;
    using Result = Output<labels_at + 2 * image_bytes>;
    static constexpr int min_allocations = 4; // handle, backend, table of Lab, scratch
    static constexpr auto create = gpv_kmeans_create;
    static constexpr auto destroy = gpv_kmeans_destroy;

    /// The number of clusters is chosen.
    static gpv_kmeans_params params() {
        gpv_kmeans_params params;
        gpv_kmeans_params_init(&params, sizeof params);
        params.clusters = 0;
        params.max_clusters = clusters;
        params.color_space = GPV_KMEANS_COLOR_SPACE_LAB;
        return params;
    }
    static gpv_image labels(const gpv_image &src, Result &result) {
        return image(GPV_FORMAT_GRAY8, src, result, labels_at);
    }
    static gpv_image colors(const gpv_image &src, Result &result) {
        return image(src.format, src, result, labels_at + image_bytes);
    }
    static gpv_status prepare(gpv_kmeans *op, const gpv_image &src) {
        return gpv_kmeans_prepare(op, &src, &src, &src); // whose format labels may have
    }
    static gpv_status run(gpv_kmeans *op, const gpv_image &src, Result &result) {
        constexpr std::size_t first = sizeof(gpv_kmeans_result);
        const gpv_image numbers = labels(src, result), dst = colors(src, result);
        const gpv_buffer centroids = result.part(first, centroid_bytes);
        const gpv_buffer counts = result.part(first + centroid_bytes, count_bytes);
        const gpv_buffer found = result.part(0, first);
        const gpv_status status =
            gpv_kmeans_run(op, nullptr, &src, &numbers, &dst, &centroids, &counts, &found);
        return status == GPV_OK ? gpv_kmeans_wait(op, nullptr) : status;
    }

  private:
    static gpv_image image(gpv_format format, const gpv_image &like, Result &result,
                           std::size_t first) {
        gpv_image image;
        gpv_image_wrap(&image, sizeof image, format, like.width, like.height,
                       result.data.data() + first, 0);
        return image;
    }
};

/// Of a graph that the picture makes: with result and mask one behind the other.
struct Cutting {
    static constexpr int directions = 8;
    static constexpr std::size_t result_bytes = sizeof(gpv_graphcut_result);

    using Operator = gpv_graphcut;
    using Result = Output<result_bytes + width * height>;
    static constexpr int min_allocations = 3; // handle, backend, scratch
    static constexpr auto create = gpv_graphcut_create;
    static constexpr auto destroy = gpv_graphcut_destroy;

    static gpv_graphcut_params params() {
        gpv_graphcut_params params;
        gpv_graphcut_params_init(&params, sizeof params);
        params.certificate = 1;
        return params;
    }
    static gpv_status prepare(gpv_graphcut *op, const gpv_image &src) {
        const gpv_image links = image(GPV_FORMAT_CAP32X8, src, nullptr);
        return gpv_graphcut_prepare(op, &links);
    }
    static gpv_status run(gpv_graphcut *op, const gpv_image &src, Result &result) {
        static std::array<std::int32_t, width * height> of_terminals;
        static std::array<std::int32_t, directions * width * height> of_links;
        const auto *noise = static_cast<const unsigned char *>(src.data[0]);
        const std::size_t pixels = src.width * src.height;
        for (std::size_t i = 0; i < pixels; i++)
            of_terminals[i] = noise[i] - 128;
        for (std::size_t i = 0; i < directions * pixels; i++)
            of_links[i] = noise[(i * 7 + i / pixels) % pixels] / 3;
        const gpv_image terminals = image(GPV_FORMAT_LABEL32, src, of_terminals.data());
        const gpv_image links = image(GPV_FORMAT_CAP32X8, src, of_links.data());
        const gpv_image mask = image(GPV_FORMAT_GRAY8, src, result.data.data() + result_bytes);
        const gpv_buffer found = result.part(0, result_bytes);
        const gpv_status status = gpv_graphcut_run(op, nullptr, &terminals, &links, &mask, &found);
        return status == GPV_OK ? gpv_graphcut_wait(op, nullptr) : status;
    }
    static std::int64_t found(const Result &result) {
        gpv_graphcut_result found;
        std::memcpy(&found, result.data.data(), sizeof found);
        return found.flow;
    }

  private:
    static gpv_image image(gpv_format format, const gpv_image &like, void *data) {
        gpv_image image;
        gpv_image_wrap(&image, sizeof image, format, like.width, like.height, data, 0);
        return image;
    }
};

/// With result, mask and overlay one behind the other.
struct Segmentation {
    static constexpr std::size_t result_bytes = sizeof(gpv_graphcut_result);

    using Operator = gpv_segment;
    using Result = Output<result_bytes + 2 * width * height>;
    static constexpr int min_allocations = 5; // handle, backend, solver, scratch of both
    static constexpr auto create = gpv_segment_create;
    static constexpr auto destroy = gpv_segment_destroy;

    static gpv_segment_params params() {
        gpv_segment_params params;
        gpv_segment_params_init(&params, sizeof params);
        params.iterations = 2;
        params.connectivity = 8;
        params.certificate = 1;
        return params;
    }
    static gpv_status prepare(gpv_segment *op, const gpv_image &src) {
        return gpv_segment_prepare(op, &src, nullptr, &src, &src);
    }
    static gpv_status run(gpv_segment *op, const gpv_image &src, Result &result) {
        gpv_image mask = src, dst = src;
        mask.data[0] = result.data.data() + result_bytes;
        dst.data[0] = result.data.data() + result_bytes + width * height;
        const gpv_buffer found = result.part(0, result_bytes);
        const gpv_status status =
            gpv_segment_run(op, nullptr, &src, nullptr, nullptr, &mask, &dst, &found);
        return status == GPV_OK ? gpv_segment_wait(op, nullptr) : status;
    }
    static std::int64_t found(const Result &result) {
        gpv_graphcut_result found;
        std::memcpy(&found, result.data.data(), sizeof found);
        return found.flow;
    }
};

/// With keypoints, descriptors, result and a picture to draw into one behind the other.
struct Extraction {
    static constexpr int room = 100;
    static constexpr std::size_t keypoint_bytes = room * sizeof(gpv_sift_keypoint);
    static constexpr std::size_t number_bytes = room * GPV_SIFT_DESCRIPTOR_LENGTH * sizeof(float);
    static constexpr std::size_t result_at = keypoint_bytes + number_bytes;
    static constexpr std::size_t picture_at = result_at + sizeof(gpv_sift_result);

    using Operator = gpv_sift;
    using Result = Output<picture_at + width * height>;
    static constexpr int min_allocations = 3; // handle, backend, scratch
    static constexpr auto create = gpv_sift_create;
    static constexpr auto destroy = gpv_sift_destroy;

    static gpv_sift_params params() {
        gpv_sift_params params;
        gpv_sift_params_init(&params, sizeof params);
        params.contrast_threshold = 0.01f;
        params.descriptor_type = GPV_SIFT_DESCRIPTOR_TYPE_F32;
        return params;
    }
    static gpv_status prepare(gpv_sift *op, const gpv_image &src) {
        return gpv_sift_prepare(op, &src, nullptr, room);
    }
    static gpv_status run(gpv_sift *op, const gpv_image &src, Result &result) {
        const gpv_buffer keypoints = result.part(0, keypoint_bytes);
        const gpv_buffer numbers = result.part(keypoint_bytes, number_bytes);
        const gpv_buffer found = result.part(result_at, sizeof(gpv_sift_result));
        gpv_image dst;
        gpv_image_wrap(&dst, sizeof dst, GPV_FORMAT_GRAY8, width, height,
                       result.data.data() + picture_at, 0);
        gpv_status status =
            gpv_sift_run(op, nullptr, &src, nullptr, &keypoints, 0, &numbers, &found);
        if (status == GPV_OK)
            status = gpv_draw_keypoints(op, nullptr, &dst, GPV_DRAW_STYLE_RICH, 0xff8010);
        return status == GPV_OK ? gpv_sift_wait(op, nullptr) : status;
    }
    /// Of what the run has found.
    static gpv_status describe(gpv_sift *op, const gpv_image &src, Result &result) {
        const gpv_buffer keypoints = result.part(0, keypoint_bytes);
        const gpv_buffer numbers = result.part(keypoint_bytes, number_bytes);
        return gpv_sift_describe(op, nullptr, &src, &keypoints, 0, found(result), &numbers);
    }
    static int found(const Result &result) {
        gpv_sift_result found;
        std::memcpy(&found, result.data.data() + result_at, sizeof found);
        return found.count;
    }
};

/// Of descriptors that the picture makes: with result, nearest, matches and a picture to draw into
/// one behind the other.
struct Matching {
    static constexpr int queries = 30, trains = 25;
    static constexpr std::size_t nearest_at = sizeof(gpv_match_result);
    static constexpr std::size_t nearest_bytes = queries * sizeof(gpv_match_nearest);
    static constexpr std::size_t pairs_at = nearest_at + nearest_bytes;
    static constexpr std::size_t pair_bytes = queries * sizeof(gpv_match_pair);
    static constexpr std::size_t picture_at = pairs_at + pair_bytes;

    using Operator = gpv_match;
    using Result = Output<picture_at + width * height>;
    static constexpr int min_allocations = 3; // handle, backend, scratch
    static constexpr auto create = gpv_match_create;
    static constexpr auto destroy = gpv_match_destroy;

    static gpv_match_params params() {
        gpv_match_params params;
        gpv_match_params_init(&params, sizeof params);
        params.ratio = 0.99f;
        return params;
    }
    static gpv_status prepare(gpv_match *op, const gpv_image &) {
        return gpv_match_prepare(op, queries, trains, GPV_MEMORY_HOST);
    }
    static gpv_status run(gpv_match *op, const gpv_image &src, Result &result) {
        static Output<queries * GPV_SIFT_DESCRIPTOR_LENGTH> of_queries;
        static Output<trains * GPV_SIFT_DESCRIPTOR_LENGTH> of_trains;
        const auto *noise = static_cast<const unsigned char *>(src.data[0]);
        const std::size_t pixels = src.width * src.height;
        for (std::size_t i = 0; i < of_queries.data.size(); i++)
            of_queries.data[i] = noise[i * 7 % pixels];
        for (std::size_t i = 0; i < of_trains.data.size(); i++)
            of_trains.data[i] = noise[i * 11 % pixels];
        const gpv_buffer query = of_queries.part(0, of_queries.data.size());
        const gpv_buffer train = of_trains.part(0, of_trains.data.size());
        const gpv_buffer nearest = result.part(nearest_at, nearest_bytes);
        const gpv_buffer pairs = result.part(pairs_at, pair_bytes);
        const gpv_buffer found = result.part(0, nearest_at);
        const float line[] = {2, 3, 30, 9};
        gpv_image dst;
        gpv_image_wrap(&dst, sizeof dst, GPV_FORMAT_GRAY8, width, height,
                       result.data.data() + picture_at, 0);
        gpv_status status = gpv_match_run(op, nullptr, &query, queries, nullptr, &train, trains,
                                          &nearest, &pairs, &found);
        if (status == GPV_OK)
            status = gpv_draw_outline(op, nullptr, &dst, line, 2, 3, 0xff8010);
        return status == GPV_OK ? gpv_match_wait(op, nullptr) : status;
    }
    static int found(const Result &result) {
        gpv_match_result found;
        std::memcpy(&found, result.data.data(), sizeof found);
        return found.count;
    }
};

/// Calls attempt with the first, second, ... allocation failing, until none is left to fail.
/// attempt returns the status of the call under test; after a failure again() must be right.
template <class Attempt, class Again>
int fail_each(Attempt attempt, Again again) {
    for (int k = 1;; k++) {
        const long before = live;
        fail_in = k;
        const gpv_status status = attempt();
        const bool failed = fail_in == 0;
        fail_in = 0;
        ck_assert_msg(status == (failed ? GPV_ERR_OUT_OF_MEMORY : GPV_OK),
                      "allocation %d: status %d, %s", k, status,
                      failed ? "failed" : "did not fail");
        if (!failed)
            return k - 1;
        again();
        ck_assert_msg(live == before, "allocation %d: %ld blocks leaked", k, live - before);
    }
}

/// With a text as long as any that follows.
void give_error_text_its_memory(gpv_context *context) {
    struct {
        gpv_erode_params known;
        std::uint32_t newer;
    } params = {Erosion::params(), 1};
    gpv_erode *op = nullptr;
    params.known.struct_size = sizeof params;
    ck_assert_int_eq(gpv_erode_create(context, &params.known, &op), GPV_ERR_UNSUPPORTED);
}

gpv_context *cpu_context() {
    gpv_context *context = nullptr;
    gpv_context_params params;
    gpv_context_params_init(&params, sizeof params);
    params.backend = GPV_BACKEND_CPU;
    ck_assert_int_eq(gpv_context_create(&params, &context), GPV_OK);
    return context;
}

Pixels noise() {
    Pixels pixels;
    for (std::size_t i = 0; i < pixels.size(); i++) {
        const std::uint32_t bits = static_cast<std::uint32_t>(i + 1) * 2654435761u;
        pixels[i] = static_cast<unsigned char>((bits ^ bits >> 15) * 2246822519u >> 24);
    }
    return pixels;
}

template <class Algorithm>
void warm_up() {
    typename Algorithm::Operator *op = nullptr;
    typename Algorithm::Result result;
    Pixels pixels = noise();
    gpv_context *context = cpu_context();
    ck_assert_int_eq(Algorithm::create(context, nullptr, &op), GPV_OK);
    ck_assert_int_eq(Algorithm::run(op, view(pixels), result), GPV_OK);
    Algorithm::destroy(&op);
    gpv_context_destroy(&context);
}

/// What a run that succeeds leaves.
template <class Algorithm>
typename Algorithm::Result result_of(typename Algorithm::Operator *op, const gpv_image &src) {
    typename Algorithm::Result result;
    result.data.fill(0xC5);
    ck_assert_int_eq(Algorithm::run(op, src, result), GPV_OK);
    return result;
}

void warm_up_all() {
    warm_up<Erosion>();
    warm_up<Labelling>();
    warm_up<Clustering>();
    warm_up<Cutting>();
    warm_up<Segmentation>();
    warm_up<Extraction>();
    warm_up<Matching>();
}

template <class Algorithm>
void create_and_run() {
    typename Algorithm::Operator *op = nullptr;
    typename Algorithm::Result to;
    Pixels from = noise();
    const gpv_image src = view(from);
    const auto params = Algorithm::params();
    gpv_context *context = cpu_context();
    ck_assert_int_eq(Algorithm::create(context, &params, &op), GPV_OK);
    const auto want = result_of<Algorithm>(op, src);
    if constexpr (requires { Algorithm::found(want); })
        ck_assert_int_gt(Algorithm::found(want), 0);
    Algorithm::destroy(&op);

    const auto attempt = [&](bool prepare) {
        to.data.fill(0xC5);
        gpv_status status = Algorithm::create(context, &params, &op);
        ck_assert_int_eq(status == GPV_OK, op != nullptr);
        if (status == GPV_OK && prepare)
            status = Algorithm::prepare(op, src);
        if (status == GPV_OK)
            status = Algorithm::run(op, src, to);
        if (status == GPV_ERR_OUT_OF_MEMORY && op) { // the same object, once more
            ck_assert_int_eq(Algorithm::run(op, src, to), GPV_OK);
            ck_assert(to == want);
        }
        Algorithm::destroy(&op);
        return status;
    };
    const auto again = [&] {
        ck_assert_int_eq(attempt(false), GPV_OK);
        ck_assert(to == want);
    };
    give_error_text_its_memory(context);
    for (const bool prepare : {false, true})
        ck_assert_int_ge(fail_each([&] { return attempt(prepare); }, again),
                         Algorithm::min_allocations);
    gpv_context_destroy(&context);
}

} // namespace

START_TEST(creating_a_context) {
    gpv_context *context = nullptr;
    gpv_context_params params;
    gpv_context_params_init(&params, sizeof params);
    params.backend = GPV_BACKEND_CPU;
    params.log = count_line;
    const int failures = fail_each(
        [&] {
            logged = 0;
            const gpv_status status = gpv_context_create(&params, &context);
            ck_assert_int_eq(status == GPV_OK, context != nullptr);
            ck_assert_int_eq(logged, status != GPV_OK); // the reason goes to the log
            gpv_context_destroy(&context);
            return status;
        },
        [] {});
    ck_assert_int_ge(failures, 2);
}
END_TEST

START_TEST(creating_and_running) {
    create_and_run<Erosion>();
    create_and_run<Labelling>();
    create_and_run<Clustering>();
    create_and_run<Cutting>();
    create_and_run<Segmentation>();
    create_and_run<Extraction>();
    create_and_run<Matching>();
}
END_TEST

START_TEST(setting_parameters) {
    gpv_erode *op = nullptr;
    Pixels from = noise();
    const gpv_image src = view(from);
    gpv_erode_params old = Erosion::params(), fresh = old;
    old.radius_y = 1;
    fresh.radius = 200;
    fresh.radius_y = 200;
    fresh.operation = GPV_ERODE_OPERATION_GRADIENT;
    gpv_context *context = cpu_context();
    ck_assert_int_eq(gpv_erode_create(context, &old, &op), GPV_OK);
    const auto want = result_of<Erosion>(op, src);
    give_error_text_its_memory(context);
    const int failures =
        fail_each([&] { return gpv_erode_set_params(op, &fresh); }, // on failure the old ones stay
                  [&] { ck_assert(result_of<Erosion>(op, src) == want); });
    ck_assert_int_ge(failures, 1);
    gpv_erode_destroy(&op);
    gpv_context_destroy(&context);
}
END_TEST

START_TEST(setting_parameters_of_kmeans) {
    gpv_kmeans *op = nullptr;
    Pixels from = noise();
    const gpv_image src = view(from);
    gpv_kmeans_params given = Clustering::params(), lab = given;
    given.clusters = 2;
    given.max_iterations = 0; // which would lead to the same centroids from others as well
    given.init = GPV_KMEANS_INIT_GIVEN;
    given.color_space = GPV_KMEANS_COLOR_SPACE_RGB;
    const float first[] = {10, 10, 10, 250, 250, 250}, other[] = {120, 120, 120, 130, 130, 130};
    gpv_context *context = cpu_context();
    ck_assert_int_eq(gpv_kmeans_create(context, &given, &op), GPV_OK);
    ck_assert_int_eq(gpv_kmeans_set_centroids(op, first, 2), GPV_OK);
    const auto want = result_of<Clustering>(op, src);
    give_error_text_its_memory(context);
    // On failure the old ones stay.
    const auto again = [&] { ck_assert(result_of<Clustering>(op, src) == want); };
    ck_assert_int_ge(fail_each([&] { return gpv_kmeans_set_params(op, &lab); }, again), 1);
    ck_assert_int_eq(gpv_kmeans_set_params(op, &given), GPV_OK);
    ck_assert_int_ge(fail_each([&] { return gpv_kmeans_set_centroids(op, other, 2); }, again), 1);
    gpv_kmeans_destroy(&op);
    gpv_context_destroy(&context);
}
END_TEST

START_TEST(finding_a_homography) {
    constexpr int count = 40;
    std::array<float, 2 * count> from, to;
    const Pixels pixels = noise();
    for (std::size_t i = 0; i < from.size(); i++) {
        from[i] = pixels[i];
        to[i] = i % 10 < 2 ? pixels[i + from.size()] : 2 * from[i] + 9; // of which some are false
    }
    struct Outcome {
        gpv_homography homography;
        std::array<unsigned char, count> fits;
    } out, want;
    gpv_context *context = cpu_context();
    const auto attempt = [&] {
        std::memset(static_cast<void *>(&out), 0xC5, sizeof out);
        out.homography.struct_size = sizeof out.homography;
        return gpv_homography_find(context, nullptr, from.data(), to.data(), count, out.fits.data(),
                                   &out.homography);
    };
    ck_assert_int_eq(attempt(), GPV_OK);
    ck_assert_uint_eq(out.homography.found, 1);
    ck_assert_int_ge(out.homography.inliers, count * 8 / 10);
    want = out;
    const auto again = [&] {
        ck_assert_uint_eq(out.homography.found, 0xC5C5C5C5u); // nothing has been written
        ck_assert_uint_eq(out.fits[0], 0xC5);
        ck_assert_int_eq(attempt(), GPV_OK);
        ck_assert_mem_eq(&out, &want, sizeof out);
    };
    give_error_text_its_memory(context);
    ck_assert_int_ge(fail_each(attempt, again), 3); // points of both sides, which fit
    gpv_context_destroy(&context);
}
END_TEST

/// Not only of pixel-sized scratch: no text, no list, nothing.
START_TEST(a_prepared_erosion_allocates_nothing) {
    gpv_erode *op = nullptr;
    gpv_context *context = cpu_context();
    ck_assert_int_eq(gpv_erode_create(context, nullptr, &op), GPV_OK);
    Pixels pixels{};
    gpv_image image;
    for (gpv_format format :
         {GPV_FORMAT_GRAY8, GPV_FORMAT_GRAY16, GPV_FORMAT_RGBA8, GPV_FORMAT_NV12, GPV_FORMAT_I420})
        for (int threshold : {0, 100}) {
            gpv_erode_params params = Erosion::params();
            params.threshold = threshold;
            ck_assert_int_eq(gpv_erode_set_params(op, &params), GPV_OK);
            ck_assert_int_gt(gpv_image_wrap(&image, sizeof image, format, 9, 7, pixels.data(), 0),
                             0);
            ck_assert_int_eq(gpv_erode_prepare(op, &image), GPV_OK);
            const long before = calls;
            for (int i = 0; i < 10; i++)
                ck_assert_int_eq(gpv_erode_run(op, nullptr, &image, &image), GPV_OK);
            ck_assert_msg(calls == before, "format %u threshold %d: %ld allocations in 10 runs",
                          format, threshold, calls - before);
        }
    gpv_erode_destroy(&op);
    gpv_context_destroy(&context);
}
END_TEST

START_TEST(a_prepared_labelling_allocates_nothing) {
    gpv_ccl *op = nullptr;
    gpv_context *context = cpu_context();
    ck_assert_int_eq(gpv_ccl_create(context, nullptr, &op), GPV_OK);
    Pixels from = noise();
    Labelling::Result to;
    gpv_image src, dst;
    const gpv_buffer records = to.part(Labelling::label_bytes, Labelling::record_bytes);
    for (gpv_format format :
         {GPV_FORMAT_GRAY8, GPV_FORMAT_GRAY16, GPV_FORMAT_RGBA8, GPV_FORMAT_NV12, GPV_FORMAT_I420})
        for (const auto &[output, format_of_output] :
             {std::pair{GPV_CCL_OUTPUT_LABELS, GPV_FORMAT_P016},
              {GPV_CCL_OUTPUT_LABELS, GPV_FORMAT_LABEL32},
              {GPV_CCL_OUTPUT_MASK, GPV_FORMAT_GRAY8},
              {GPV_CCL_OUTPUT_COLORS, GPV_FORMAT_NV12}}) {
            gpv_ccl_params params = Labelling::params();
            params.output = output;
            gpv_image_wrap(&src, sizeof src, format, 9, 7, from.data(), 0);
            gpv_image_wrap(&dst, sizeof dst, format_of_output, 9, 7, to.data.data(), 0);
            ck_assert_int_eq(gpv_ccl_set_params(op, &params), GPV_OK);
            ck_assert_int_eq(gpv_ccl_prepare(op, &src, &dst, 1), GPV_OK);
            const long before = calls;
            for (int i = 0; i < 10; i++) {
                ck_assert_int_eq(gpv_ccl_run(op, nullptr, &src, &dst, &records, 0, nullptr),
                                 GPV_OK);
                ck_assert_int_eq(gpv_ccl_wait(op, nullptr), GPV_OK);
            }
            ck_assert_msg(calls == before, "format %u to %u: %ld allocations in 10 runs", format,
                          format_of_output, calls - before);
        }
    gpv_ccl_destroy(&op);
    gpv_context_destroy(&context);
}
END_TEST

START_TEST(a_prepared_clustering_allocates_nothing) {
    gpv_kmeans *op = nullptr;
    gpv_context *context = cpu_context();
    ck_assert_int_eq(gpv_kmeans_create(context, nullptr, &op), GPV_OK);
    Pixels from = noise();
    Clustering::Result to;
    const float greys[3 * Clustering::clusters] = {};
    gpv_image src;
    for (gpv_format format :
         {GPV_FORMAT_GRAY8, GPV_FORMAT_RGB8, GPV_FORMAT_BGRA8, GPV_FORMAT_NV12, GPV_FORMAT_I420})
        for (const auto &[clusters, start] : {std::pair{0, GPV_KMEANS_INIT_PLUSPLUS},
                                              {0, GPV_KMEANS_INIT_GRID},
                                              {Clustering::clusters, GPV_KMEANS_INIT_RANDOM},
                                              {Clustering::clusters, GPV_KMEANS_INIT_GIVEN}}) {
            gpv_kmeans_params params = Clustering::params();
            params.clusters = clusters;
            params.init = start;
            params.color_space = clusters ? GPV_KMEANS_COLOR_SPACE_RGB : GPV_KMEANS_COLOR_SPACE_LAB;
            gpv_image_wrap(&src, sizeof src, format, 9, 7, from.data(), 0);
            const gpv_image labels = Clustering::labels(src, to), dst = Clustering::colors(src, to);
            ck_assert_int_eq(gpv_kmeans_set_params(op, &params), GPV_OK);
            ck_assert_int_eq(gpv_kmeans_set_centroids(op, greys, Clustering::clusters), GPV_OK);
            ck_assert_int_eq(gpv_kmeans_prepare(op, &src, &labels, &dst), GPV_OK);
            const long before = calls;
            for (int i = 0; i < 10; i++)
                ck_assert_int_eq(Clustering::run(op, src, to), GPV_OK);
            ck_assert_msg(calls == before,
                          "format %u, %d clusters, start %u: %ld allocations in 10 runs", format,
                          clusters, params.init, calls - before);
        }
    gpv_kmeans_destroy(&op);
    gpv_context_destroy(&context);
}
END_TEST

START_TEST(a_prepared_cutting_allocates_nothing) {
    gpv_graphcut *op = nullptr;
    gpv_context *context = cpu_context();
    ck_assert_int_eq(gpv_graphcut_create(context, nullptr, &op), GPV_OK);
    Pixels from = noise();
    Cutting::Result to;
    const gpv_image src = view(from);
    for (const int max_time_us : {0, 1, 1000000}) {
        gpv_graphcut_params params = Cutting::params();
        params.max_time_us = max_time_us;
        ck_assert_int_eq(gpv_graphcut_set_params(op, &params), GPV_OK);
        ck_assert_int_eq(Cutting::prepare(op, src), GPV_OK);
        const long before = calls;
        for (int i = 0; i < 10; i++)
            ck_assert_int_eq(Cutting::run(op, src, to), GPV_OK);
        ck_assert_msg(calls == before, "time limit %d: %ld allocations in 10 runs", max_time_us,
                      calls - before);
    }
    gpv_graphcut_destroy(&op);
    gpv_context_destroy(&context);
}
END_TEST

START_TEST(a_prepared_segmentation_allocates_nothing) {
    gpv_segment *op = nullptr;
    gpv_context *context = cpu_context();
    ck_assert_int_eq(gpv_segment_create(context, nullptr, &op), GPV_OK);
    Pixels from = noise();
    Segmentation::Result to;
    const gpv_image src = view(from);
    for (const gpv_segment_model model :
         {GPV_SEGMENT_MODEL_GMM, GPV_SEGMENT_MODEL_HISTOGRAM, GPV_SEGMENT_MODEL_MEANS})
        for (const float sigma : {0.0f, 1.0f, GPV_SEGMENT_MAX_WEIGHT}) {
            gpv_segment_params params = Segmentation::params();
            params.model = model;
            params.sigma = sigma;
            ck_assert_int_eq(gpv_segment_set_params(op, &params), GPV_OK);
            ck_assert_int_eq(Segmentation::prepare(op, src), GPV_OK);
            const long before = calls;
            for (int i = 0; i < 10; i++)
                ck_assert_int_eq(Segmentation::run(op, src, to), GPV_OK);
            ck_assert_msg(calls == before, "model %u, sigma %g: %ld allocations in 10 runs", model,
                          sigma, calls - before);
        }
    gpv_segment_destroy(&op);
    gpv_context_destroy(&context);
}
END_TEST

START_TEST(a_prepared_extraction_allocates_nothing) {
    gpv_sift *op = nullptr;
    gpv_context *context = cpu_context();
    ck_assert_int_eq(gpv_sift_create(context, nullptr, &op), GPV_OK);
    Pixels from = noise();
    Extraction::Result to;
    int found = 0;
    gpv_image src;
    for (gpv_format format :
         {GPV_FORMAT_GRAY8, GPV_FORMAT_RGB8, GPV_FORMAT_BGRA8, GPV_FORMAT_NV12, GPV_FORMAT_I420})
        for (const auto &[layers, upsample] : {std::pair{3, 1u}, {3, 0u}, {5, 1u}}) {
            gpv_sift_params params = Extraction::params();
            params.octave_layers = layers;
            params.upsample = upsample;
            gpv_image_wrap(&src, sizeof src, format, 9, 7, from.data(), 0);
            ck_assert_int_eq(gpv_sift_set_params(op, &params), GPV_OK);
            ck_assert_int_eq(Extraction::prepare(op, src), GPV_OK);
            const long before = calls;
            for (int i = 0; i < 10; i++) {
                ck_assert_int_eq(Extraction::run(op, src, to), GPV_OK);
                ck_assert_int_eq(Extraction::describe(op, src, to), GPV_OK);
            }
            found += Extraction::found(to);
            ck_assert_msg(calls == before,
                          "format %u, %d layers, upsample %u: %ld allocations in 10 runs", format,
                          layers, upsample, calls - before);
        }
    ck_assert_int_gt(found, 0);
    gpv_sift_destroy(&op);
    gpv_context_destroy(&context);
}
END_TEST

START_TEST(a_prepared_matching_allocates_nothing) {
    gpv_match *op = nullptr;
    gpv_context *context = cpu_context();
    ck_assert_int_eq(gpv_match_create(context, nullptr, &op), GPV_OK);
    Pixels from = noise();
    Matching::Result to;
    const gpv_image src = view(from);
    int found = 0;
    for (const float ratio : {0.0f, 0.99f})
        for (const std::uint32_t mutual : {0u, 1u}) {
            gpv_match_params params = Matching::params();
            params.ratio = ratio;
            params.mutual = mutual;
            ck_assert_int_eq(gpv_match_set_params(op, &params), GPV_OK);
            ck_assert_int_eq(Matching::prepare(op, src), GPV_OK);
            const long before = calls;
            for (int i = 0; i < 10; i++)
                ck_assert_int_eq(Matching::run(op, src, to), GPV_OK);
            found += Matching::found(to);
            ck_assert_msg(calls == before, "ratio %g, mutual %u: %ld allocations in 10 runs", ratio,
                          mutual, calls - before);
        }
    ck_assert_int_gt(found, 0);
    gpv_match_destroy(&op);
    gpv_context_destroy(&context);
}
END_TEST

int main() {
    TCase *group = tcase_create("memory");
    tcase_add_checked_fixture(group, warm_up_all, nullptr);
    tcase_add_test(group, creating_a_context);
    tcase_add_test(group, creating_and_running);
    tcase_add_test(group, setting_parameters);
    tcase_add_test(group, setting_parameters_of_kmeans);
    tcase_add_test(group, finding_a_homography);
    tcase_add_test(group, a_prepared_erosion_allocates_nothing);
    tcase_add_test(group, a_prepared_labelling_allocates_nothing);
    tcase_add_test(group, a_prepared_clustering_allocates_nothing);
    tcase_add_test(group, a_prepared_cutting_allocates_nothing);
    tcase_add_test(group, a_prepared_segmentation_allocates_nothing);
    tcase_add_test(group, a_prepared_extraction_allocates_nothing);
    tcase_add_test(group, a_prepared_matching_allocates_nothing);
    return run_group("memory", group);
}
