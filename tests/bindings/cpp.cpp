// SPDX-License-Identifier: BSD-2-Clause
// The binding gpuvision.hpp: every class and function on pictures whose results are plain to see.
#include "gpuvision.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <string>
#include <vector>

namespace {

bool failed = false;

void fail(int line, const char *expression, const std::string &what = "") {
    std::fprintf(stderr, "%s:%d: %s%s\n", __FILE__, line, expression, what.c_str());
    failed = true;
}

#define CHECK(...) ((__VA_ARGS__) ? void() : fail(__LINE__, #__VA_ARGS__))

template <class F>
void check_error(int line, const char *expression, gpv_status wanted, const std::string &part,
                 F &&f) {
    try {
        f();
        fail(line, expression, " throws nothing");
    } catch (const gpv::Error &error) {
        const std::string text = error.what();
        if (error.status() != wanted || text.find(part) == text.npos ||
            !text.starts_with(std::string(gpv_status_string(wanted)) + ": "))
            fail(line, expression, " throws '" + text + "'");
    }
}

// Fails unless what follows throws an Error of that status whose text holds part.
#define CHECK_ERROR(wanted, part, ...)                                                             \
    check_error(__LINE__, #__VA_ARGS__, wanted, part, [&] { __VA_ARGS__; })

constexpr gpv_status bad = GPV_ERR_INVALID_ARGUMENT;

using Bytes = std::vector<std::uint8_t>;

gpv::ContextParams cpu_params() {
    gpv::ContextParams params;
    params.backend = GPV_BACKEND_CPU;
    return params;
}

// A picture of GRAY8, rows without a gap.
struct Gray {
    std::int32_t width, height;
    Bytes pixels;

    Gray(std::int32_t columns, std::int32_t rows, std::uint8_t value = 0)
        : width(columns), height(rows),
          pixels(gpv::required_bytes(GPV_FORMAT_GRAY8, columns, rows), value) {}

    std::uint8_t &at(std::int32_t x, std::int32_t y) {
        return pixels[static_cast<std::size_t>(y * width + x)];
    }
    void fill(std::int32_t left, std::int32_t top, std::int32_t right, std::int32_t bottom,
              std::uint8_t value) {
        for (std::int32_t y = top; y < bottom; ++y)
            for (std::int32_t x = left; x < right; ++x)
                at(x, y) = value;
    }
    gpv::Image view() { return gpv::view(GPV_FORMAT_GRAY8, width, height, pixels.data()); }
    gpv::ConstImage view() const {
        return gpv::view(GPV_FORMAT_GRAY8, width, height, pixels.data());
    }
};

template <class T>
constexpr bool move_only =
    !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T> &&
    std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>;
static_assert(move_only<gpv::Context> && move_only<gpv::Erode> && move_only<gpv::Ccl> &&
              move_only<gpv::Kmeans> && move_only<gpv::Sift> && move_only<gpv::Match> &&
              move_only<gpv::Graphcut> && move_only<gpv::Segment>);

// What is only read does not become what may be written.
static_assert(std::is_convertible_v<gpv::Image, gpv::ConstImage> &&
              !std::is_constructible_v<gpv::Image, const gpv::ConstImage &> &&
              !std::is_invocable_v<decltype(&gpv::Erode::run), gpv::Erode &, gpv::Image,
                                   gpv::ConstImage, gpv_stream>);
static_assert(std::is_convertible_v<gpv::Buffer, gpv::ConstBuffer> &&
              !std::is_constructible_v<gpv::Buffer, const gpv::ConstBuffer &> &&
              std::is_constructible_v<gpv::ConstBuffer, std::span<const int>> &&
              std::is_constructible_v<gpv::Buffer, std::span<int, 3>> &&
              std::is_constructible_v<gpv::Buffer, int (&)[3]> &&
              std::is_constructible_v<gpv::Buffer, std::array<int, 3> &> &&
              std::is_constructible_v<gpv::ConstBuffer, const std::vector<int> &> &&
              !std::is_constructible_v<gpv::Buffer, std::span<const int>> &&
              !std::is_constructible_v<gpv::Buffer, const std::vector<int> &> &&
              !std::is_constructible_v<gpv::Buffer, std::span<std::string>> &&
              !std::is_constructible_v<gpv::Buffer, std::vector<std::string> &>);
// They would be gone before the buffer is used.
static_assert(!std::is_constructible_v<gpv::Buffer, std::vector<int>> &&
              !std::is_constructible_v<gpv::ConstBuffer, std::vector<int>>);

void test_library() {
    CHECK(gpv::api_version() >> 16 == GPV_API_VERSION_MAJOR);
    CHECK(gpv::version().find("cpu") != std::string_view::npos);
    CHECK(gpv::backend_available(GPV_BACKEND_CPU));
    CHECK(!gpv::backend_available(77));
    CHECK(gpv::fields("erode").size() == 8 && gpv::fields("none").empty());
    CHECK(std::string(gpv::fields("erode")[2].name) == "radius");
    CHECK(std::string(gpv::Error(GPV_ERR_DEVICE, "text").what()) == "CUDA error: text");
    CHECK(std::string(gpv::Error(GPV_ERR_DEVICE, "").what()) == "CUDA error");
}

void test_defaults() {
    CHECK(gpv::ContextParams().struct_size == sizeof(gpv_context_params));
    CHECK(gpv::ContextParams().log_level == GPV_LOG_LEVEL_WARNING);
    CHECK(gpv::ContextParams().threads == 0);
    CHECK(gpv::ErodeParams().struct_size == sizeof(gpv_erode_params));
    CHECK(gpv::ErodeParams().radius == 1);
    CHECK(gpv::CclParams().connectivity == 8);
    CHECK(gpv::KmeansParams().clusters == 8);
    CHECK(gpv::SiftParams().octave_layers == 3);
    CHECK(gpv::MatchParams().ratio == 0.8f);
    CHECK(gpv::HomographyParams().threshold == 3);
    CHECK(gpv::GraphcutParams().struct_size == sizeof(gpv_graphcut_params));
    CHECK(gpv::SegmentParams().lambda == 0.01f);
    CHECK(gpv::CclResult().struct_size == sizeof(gpv_ccl_result));
    CHECK(gpv::KmeansResult().struct_size == sizeof(gpv_kmeans_result));
    CHECK(gpv::SiftResult().struct_size == sizeof(gpv_sift_result));
    CHECK(gpv::MatchResult().struct_size == sizeof(gpv_match_result));
    CHECK(gpv::GraphcutResult().struct_size == sizeof(gpv_graphcut_result));
    CHECK(gpv::Homography().struct_size == sizeof(gpv_homography));
    CHECK(gpv::Homography().found == 0);
    gpv_erode_params raw = gpv::ErodeParams();
    raw.radius = 7;
    CHECK(gpv::ErodeParams(raw).radius == 7);
}

void test_views() {
    CHECK(gpv::required_bytes(GPV_FORMAT_RGB8, 4, 2) == 24);
    CHECK(gpv::required_bytes(GPV_FORMAT_RGB8, 4, 2, 16) == 32);
    CHECK(gpv::required_bytes(GPV_FORMAT_NV12, 5, 3) == 5 * 3 + 6 * 2);
    CHECK(gpv::planes(GPV_FORMAT_NV12) == 2);
    CHECK(gpv::planes(77) == 0);
    const gpv::PlaneSize chroma = gpv::plane_size(GPV_FORMAT_NV12, 1, 5, 3);
    CHECK(chroma.row_bytes == 6 && chroma.rows == 2);
    CHECK_ERROR(bad, "no plane 2", (void)gpv::plane_size(GPV_FORMAT_NV12, 2, 5, 3));

    Bytes pixels(27);
    const gpv::Image image = gpv::view(GPV_FORMAT_NV12, 5, 3, pixels.data());
    CHECK(image.struct_size == sizeof(gpv_image) && image.format == GPV_FORMAT_NV12);
    CHECK(image.memory == GPV_MEMORY_HOST && image.width == 5 && image.height == 3);
    CHECK(image.data[0] == pixels.data() && image.stride[0] == 5);
    CHECK(image.data[1] == pixels.data() + 15 && image.stride[1] == 6);
    const Bytes &constant = pixels;
    const gpv::ConstImage source = gpv::view(GPV_FORMAT_NV12, 5, 3, constant.data());
    CHECK(source.data[1] == image.data[1]);
    CHECK_ERROR(bad, "0 x 3 pixels", (void)gpv::view(GPV_FORMAT_GRAY8, 0, 3));
    CHECK_ERROR(bad, "format 77", (void)gpv::view(77, 3, 3));
    CHECK_ERROR(bad, "stride of 2", (void)gpv::required_bytes(GPV_FORMAT_GRAY8, 3, 3, 2));
    for (const gpv::Image &empty :
         {gpv::view(GPV_FORMAT_GRAY8, 5, 3), gpv::view(GPV_FORMAT_GRAY8, 5, 3, nullptr, 8),
          gpv::cuda_view(GPV_FORMAT_GRAY8, 5, 3), gpv::cuda_view(GPV_FORMAT_GRAY8, 5, 3, nullptr)})
        CHECK(empty.width == 5 && empty.height == 3 && empty.data[0] == nullptr);
    CHECK(gpv::view(GPV_FORMAT_GRAY8, 5, 3, nullptr, 8).stride[0] == 8);
    CHECK(gpv::cuda_view(GPV_FORMAT_GRAY8, 5, 3, nullptr, 8, 2).device == 2);
    CHECK(gpv::cuda_view(GPV_FORMAT_GRAY8, 5, 3).memory == GPV_MEMORY_CUDA);

    const gpv::Image device = gpv::cuda_view(GPV_FORMAT_GRAY8, 5, 3, pixels.data(), 8, 2);
    CHECK(device.memory == GPV_MEMORY_CUDA && device.device == 2 && device.stride[0] == 8);
    const gpv::ConstImage device_source =
        gpv::cuda_view(GPV_FORMAT_GRAY8, 5, 3, constant.data(), 8, 2);
    CHECK(device_source.memory == GPV_MEMORY_CUDA && device_source.data[0] == pixels.data());

    std::vector<std::int32_t> numbers(3);
    const gpv::Buffer buffer(numbers);
    CHECK(buffer.struct_size == sizeof(gpv_buffer) && buffer.memory == GPV_MEMORY_HOST);
    CHECK(buffer.data == numbers.data() && buffer.size == 12);
    const gpv::Buffer rest{std::span(numbers).subspan(1)};
    CHECK(rest.data == &numbers[1] && rest.size == 8);
    const gpv::ConstBuffer read(std::as_const(numbers));
    CHECK(read.data == numbers.data() && read.size == 12);
    const gpv::Buffer there = gpv::cuda_buffer(numbers.data(), 12, 2);
    CHECK(there.memory == GPV_MEMORY_CUDA && there.device == 2 && there.size == 12);
    const gpv::ConstBuffer read_there = gpv::cuda_buffer(constant.data(), 12, 2);
    CHECK(read_there.memory == GPV_MEMORY_CUDA && read_there.data == pixels.data());
    const gpv::Buffer nothing = gpv::cuda_buffer(nullptr);
    CHECK(nothing.memory == GPV_MEMORY_CUDA && nothing.data == nullptr && nothing.size == 0);
}

void test_context() {
    gpv::Context context(cpu_params());
    CHECK(context.backend() == GPV_BACKEND_CPU);
    CHECK(!context.device_name().empty());
    CHECK(context.error().empty());
    context.stream_sync();
    context.stream_follow(nullptr, nullptr);

    gpv_context *const handle = context.native();
    gpv::Context moved(std::move(context));
    CHECK(moved.native() == handle && context.native() == nullptr);
    CHECK_ERROR(bad, "context has been moved from", (void)context.backend());
    CHECK_ERROR(bad, "context has been moved from", context.stream_sync());
    CHECK_ERROR(bad, "context has been moved from", gpv::Erode{context});
    context = std::move(moved);
    CHECK(context.native() == handle);

    const gpv::Context any;
    CHECK(any.backend() == GPV_BACKEND_CPU || any.backend() == GPV_BACKEND_CUDA);
}

void test_context_failure() {
    gpv::ContextParams params;
    params.backend = GPV_BACKEND_CUDA;
    params.device = 4096;
    std::string line;
    params.log = [&](gpv_log_level level, std::string_view text) {
        if (level == GPV_LOG_LEVEL_ERROR)
            line = text;
    };
    std::string message;
    gpv_status status = GPV_OK;
    try {
        gpv::Context context(params);
    } catch (const gpv::Error &error) {
        message = error.what();
        status = error.status();
    }
    CHECK(status == GPV_ERR_NO_DEVICE || status == GPV_ERR_UNSUPPORTED);
    CHECK(!line.empty() && message.starts_with(gpv_status_string(status)) &&
          message.ends_with(line));

    params = cpu_params();
    params.log_level = 9;
    CHECK_ERROR(bad, "params->log_level is 9, must be 0..4", gpv::Context{params});
    params = cpu_params();
    params.threads = -1;
    CHECK_ERROR(bad, "params->threads is -1, must be 0..", gpv::Context{params});
}

void test_log() {
    std::vector<std::string> lines;
    gpv::ContextParams params = cpu_params();
    params.log = [&](gpv_log_level level, std::string_view text) {
        if (level == GPV_LOG_LEVEL_ERROR)
            lines.emplace_back(text);
        throw std::runtime_error("goes no further");
    };
    gpv::Context context(params);
    gpv::ErodeParams erode;
    erode.radius = 300;
    const std::string text = "params->radius is 300, must be 0..255";
    CHECK_ERROR(bad, text, gpv::Erode(context, erode));
    CHECK(context.error() == text);
    CHECK(lines.size() == 1 && lines[0] == text);
}

void test_memory() {
    int live = 0;
    bool empty = false;
    gpv::ContextParams params = cpu_params();
    params.alloc = [&](gpv_memory, std::uint64_t size, gpv_stream) -> void * {
        if (empty)
            throw std::bad_alloc();
        ++live;
        return ::operator new (size, std::align_val_t{256});
    };
    CHECK_ERROR(bad, "params->free", gpv::Context{params});
    params.free = [&](gpv_memory, void *data, gpv_stream) {
        --live;
        ::operator delete (data, std::align_val_t{256});
        throw std::runtime_error("goes no further");
    };
    {
        std::optional<gpv::Context> context(std::in_place, params);
        gpv::Ccl first(*context), second(*context);
        Gray src(64, 48, 255), labels(64, 48);
        first.prepare(src.view(), nullptr, 4);
        CHECK(live > 0);
        empty = true;
        CHECK_ERROR(GPV_ERR_OUT_OF_MEMORY, "", second.prepare(src.view(), nullptr, 4));
        context.reset();
        first = std::move(second);
        CHECK(live == 0);
    }
    CHECK(live == 0);
}

void test_erode() {
    const gpv::Context context(cpu_params());
    gpv::Erode erode(context);
    Gray src(9, 7), dst(9, 7, 77), expected(9, 7);
    src.at(4, 3) = 255;
    erode.prepare(src.view());
    erode.run(src.view(), dst.view());
    CHECK(erode.query());
    erode.wait();
    CHECK(dst.pixels == expected.pixels);

    gpv::ErodeParams params;
    params.operation = GPV_ERODE_OPERATION_DILATE;
    params.radius_y = 0;
    erode.set_params(params);
    params.iterations = 1000;
    CHECK_ERROR(bad, "params->iterations is 1000, must be 1..255", erode.set_params(params));
    erode.run(std::as_const(src).view(), dst.view());
    erode.wait();
    expected.fill(3, 3, 6, 4, 255);
    CHECK(dst.pixels == expected.pixels);

    erode.run(src.view(), src.view());
    erode.wait();
    CHECK(src.pixels == expected.pixels);
    Gray other(9, 8);
    CHECK_ERROR(bad, "dst is 9x8 GRAY8, must be as src, 9x7", erode.run(src.view(), other.view()));
    CHECK_ERROR(GPV_ERR_UNSUPPORTED, "src",
                erode.run(gpv::cuda_view(GPV_FORMAT_GRAY8, 9, 7, src.pixels.data()), dst.view()));
}

void test_strides_and_planes() {
    const gpv::Context context(cpu_params());
    gpv::ErodeParams params;
    params.operation = GPV_ERODE_OPERATION_DILATE;
    gpv::Erode erode(context, params);

    // Gaps of 3 bytes, which stay as they are.
    Bytes from(gpv::required_bytes(GPV_FORMAT_GRAY8, 5, 5, 8)), to(from.size(), 77);
    from[2 * 8 + 2] = 200;
    erode.run(gpv::view(GPV_FORMAT_GRAY8, 5, 5, from.data(), 8),
              gpv::view(GPV_FORMAT_GRAY8, 5, 5, to.data(), 8));
    erode.wait();
    for (std::size_t y = 0; y < 5; ++y)
        for (std::size_t x = 0; x < 8; ++x) {
            const int inside = x >= 1 && x <= 3 && y >= 1 && y <= 3 ? 200 : 0;
            CHECK(to[y * 8 + x] == (x < 5 ? inside : 77));
        }

    // NV12: from one block to planes that lie apart. Chroma is copied.
    Bytes block(gpv::required_bytes(GPV_FORMAT_NV12, 6, 4)), luma(6 * 4), chroma(10 + 6, 77);
    block[0] = 200;
    for (std::size_t i = 24; i < block.size(); ++i)
        block[i] = static_cast<std::uint8_t>(i);
    gpv::Image apart = gpv::view(GPV_FORMAT_NV12, 6, 4, luma.data());
    apart.data[1] = chroma.data();
    apart.stride[1] = 10;
    erode.run(gpv::view(GPV_FORMAT_NV12, 6, 4, block.data()), apart);
    erode.wait();
    Gray expected(6, 4);
    expected.fill(0, 0, 2, 2, 200);
    CHECK(luma == expected.pixels);
    for (std::size_t i = 0; i < chroma.size(); ++i)
        CHECK(chroma[i] == (i < 6 ? 24 + i : i < 10 ? 77 : 20 + i));
}

bool is_box(const gpv_ccl_component &c, std::int32_t left, std::int32_t top, std::int32_t right,
            std::int32_t bottom) {
    const std::int32_t width = right - left, height = bottom - top;
    return c.left == left && c.top == top && c.right == right && c.bottom == bottom &&
           c.area == width * height && 2 * c.sum_x == c.area * (left + right - 1) &&
           2 * c.sum_y == c.area * (top + bottom - 1);
}

void test_ccl() {
    const gpv::Context context(cpu_params());
    gpv::Ccl ccl(context);
    Gray src(20, 12);
    src.fill(2, 1, 5, 4, 255);
    src.fill(10, 6, 14, 10, 200);

    std::vector<std::int32_t> labels(20 * 12, -1);
    std::vector<gpv_ccl_component> components(3);
    std::array<std::int32_t, 1> count{};
    const gpv::Image dst = gpv::view(GPV_FORMAT_LABEL32, 20, 12, labels.data());
    const gpv::Buffer records(components), number(count);
    ccl.prepare(src.view(), &dst, 3);
    ccl.run(src.view(), {.dst = &dst, .components = &records, .count = &number});
    CHECK(ccl.query());
    const gpv::CclResult found = ccl.wait();
    CHECK(found.count == 2 && found.components == 2 && count[0] == 2);
    CHECK(is_box(components[0], 2, 1, 5, 4) && is_box(components[1], 10, 6, 14, 10));
    CHECK(components[2].area == 0);
    for (std::size_t i = 0; i < labels.size(); ++i)
        CHECK(labels[i] == (src.pixels[i] == 255 ? 1 : src.pixels[i] == 200 ? 2 : 0));

    // Room for one record, and for two with a gap.
    const gpv::Buffer one{std::span(components).first<1>()};
    ccl.run(src.view(), {.components = &one});
    gpv::CclResult partial;
    CHECK(ccl.wait(partial) == GPV_ERR_TOO_SMALL);
    CHECK(partial.count == 2 && partial.components == 1);
    CHECK_ERROR(GPV_ERR_TOO_SMALL, "", (void)ccl.wait());
    std::array<std::array<gpv_ccl_component, 2>, 2> spread{};
    const gpv::Buffer gaps(spread);
    ccl.run(src.view(), {.components = &gaps, .component_stride = sizeof spread[0]});
    CHECK(ccl.wait().components == 2);
    CHECK(is_box(spread[0][0], 2, 1, 5, 4) && is_box(spread[1][0], 10, 6, 14, 10));
    CHECK(spread[0][1].area == 0);

    gpv::CclParams params;
    params.output = GPV_CCL_OUTPUT_MASK;
    params.min_area = 10;
    ccl.set_params(params);
    Gray mask(20, 12), expected(20, 12);
    expected.fill(10, 6, 14, 10, 255);
    const gpv::Image mask_view = mask.view();
    ccl.run(src.view(), {.dst = &mask_view});
    CHECK(ccl.wait().count == 1);
    CHECK(mask.pixels == expected.pixels);
    params.connectivity = 5;
    CHECK_ERROR(bad, "params->connectivity is 5", gpv::Ccl(context, params));
}

void test_kmeans() {
    const gpv::Context context(cpu_params());
    gpv::KmeansParams params;
    params.clusters = 2;
    params.init = GPV_KMEANS_INIT_GIVEN;
    gpv::Kmeans kmeans(context, params);

    // 6 x 4 pixels, a third of them orange, the others blue.
    const std::array<std::uint8_t, 3> orange{250, 120, 10}, blue{10, 20, 200};
    Bytes pixels;
    for (int i = 0; i < 24; ++i)
        pixels.insert(pixels.end(), (i % 3 ? blue : orange).begin(), (i % 3 ? blue : orange).end());
    const gpv::ConstImage src = gpv::view(GPV_FORMAT_RGB8, 6, 4, std::as_const(pixels).data());

    CHECK_ERROR(bad, "centroids", kmeans.run(src));
    const std::array<gpv::Kmeans::Centroid, 2> start{{{255, 255, 0}, {0, 0, 255}}};
    kmeans.set_centroids(start);
    CHECK_ERROR(bad, "centroids", kmeans.set_centroids({}));

    Gray labels(6, 4, 77);
    Bytes recoloured(pixels.size());
    std::vector<gpv::Kmeans::Centroid> centroids(2);
    std::vector<std::int32_t> counts(2);
    std::array<gpv_kmeans_result, 1> copy{};
    const gpv::Image label_view = labels.view();
    const gpv::Image dst = gpv::view(GPV_FORMAT_RGB8, 6, 4, recoloured.data());
    const gpv::Buffer centroid_buffer(centroids), count_buffer(counts);
    const gpv::Buffer result_buffer(copy);
    const gpv::KmeansArguments arguments{.labels = &label_view,
                                         .dst = &dst,
                                         .centroids = &centroid_buffer,
                                         .counts = &count_buffer,
                                         .result = &result_buffer};
    kmeans.prepare(src, arguments);
    kmeans.run(src, arguments);
    CHECK(kmeans.query());
    const gpv::KmeansResult found = kmeans.wait();
    CHECK(found.clusters == 2 && found.empty == 0 && found.inertia == 0);
    CHECK(copy[0].clusters == 2 && copy[0].iterations == found.iterations);
    CHECK(centroids[0] == gpv::Kmeans::Centroid{250, 120, 10});
    CHECK(centroids[1] == gpv::Kmeans::Centroid{10, 20, 200});
    CHECK(counts[0] == 8 && counts[1] == 16);
    CHECK(recoloured == pixels);
    for (std::size_t i = 0; i < labels.pixels.size(); ++i)
        CHECK(labels.pixels[i] == (i % 3 ? 1 : 0));
    CHECK(gpv::Kmeans::color(GPV_KMEANS_COLOR_SPACE_RGB, centroids[0]) == 0xfa780a);
    CHECK(gpv::Kmeans::color(GPV_KMEANS_COLOR_SPACE_LAB, {255, 128, 128}) == 0xffffff);

    params.clusters = 300;
    CHECK_ERROR(bad, "params->clusters is 300", kmeans.set_params(params));
}

// A bright Gaussian blob.
Gray blob(float x, float y, float sigma) {
    Gray picture(64, 64);
    for (std::int32_t j = 0; j < 64; ++j)
        for (std::int32_t i = 0; i < 64; ++i) {
            const float dx = static_cast<float>(i) - x, dy = static_cast<float>(j) - y;
            const float value = 220 * std::exp(-(dx * dx + dy * dy) / (2 * sigma * sigma));
            picture.at(i, j) = static_cast<std::uint8_t>(std::lround(20 + value));
        }
    return picture;
}

// The samples of 4 x 2 pixels, whose left half has one colour and the right half another: capital
// letters are of the left one, and . of none. RGB8, NV12 and GRAY8
// have the same pixels as what follows them.
const struct {
    gpv_format format;
    const char *samples;
} layouts[] = {
    {GPV_FORMAT_RGB8, "RGBRGBrgbrgbRGBRGBrgbrgb"},
    {GPV_FORMAT_ARGB8, ".RGB.RGB.rgb.rgb.RGB.RGB.rgb.rgb"},
    {GPV_FORMAT_ABGR8, ".BGR.BGR.bgr.bgr.BGR.BGR.bgr.bgr"},
    {GPV_FORMAT_XRGB8, ".RGB.RGB.rgb.rgb.RGB.RGB.rgb.rgb"},
    {GPV_FORMAT_XBGR8, ".BGR.BGR.bgr.bgr.BGR.BGR.bgr.bgr"},
    {GPV_FORMAT_RGBP8, "RRrrRRrrGGggGGggBBbbBBbb"},
    {GPV_FORMAT_NV12, "YYyyYYyyUVuv"},
    {GPV_FORMAT_NV21, "YYyyYYyyVUvu"},
    {GPV_FORMAT_YUY2, "YUYVyuyvYUYVyuyv"},
    {GPV_FORMAT_UYVY, "UYVYuyvyUYVYuyvy"},
    {GPV_FORMAT_Y444, "YYyyYYyyUUuuUUuuVVvvVVvv"},
    {GPV_FORMAT_P016, "YYyyYYyyUVuv"},
    {GPV_FORMAT_GRAY8, "YYyyYYyy"},
    {GPV_FORMAT_GRAY16, "YYyyYYyy"},
};

// A picture, and what k-means makes of it.
struct TwoColors {
    Bytes samples, recolored, labels;
    std::vector<gpv::Kmeans::Centroid> centroids;
};

TwoColors two_colors(const gpv::Context &context, gpv_format format, const std::string &samples) {
    TwoColors made;
    const bool wide = format == GPV_FORMAT_P016 || format == GPV_FORMAT_GRAY16;
    for (const char letter : samples) {
        const std::string letters = "RGBrgbYUVyuv.";
        const int levels[] = {200, 40, 90, 20, 180, 120, 150, 100, 170, 60, 140, 110, 7};
        const int level = levels[letters.find(letter)];
        const auto deep =
            static_cast<std::uint16_t>(level * (format == GPV_FORMAT_GRAY16 ? 257 : 256));
        made.samples.resize(made.samples.size() + (wide ? 2 : 1), static_cast<std::uint8_t>(level));
        if (wide)
            std::memcpy(&made.samples.end()[-2], &deep, sizeof deep);
    }
    CHECK(made.samples.size() == gpv::required_bytes(format, 4, 2));
    made.recolored.resize(made.samples.size(), 7);
    made.labels.resize(8);
    made.centroids.resize(2);
    gpv::KmeansParams params;
    params.clusters = 2;
    gpv::Kmeans kmeans(context, params);
    const gpv::Buffer centroids(made.centroids);
    const gpv::Image labels = gpv::view(GPV_FORMAT_GRAY8, 4, 2, made.labels.data()),
                     dst = gpv::view(format, 4, 2, made.recolored.data());
    kmeans.run(gpv::view(format, 4, 2, std::as_const(made.samples).data()),
               {.labels = &labels, .dst = &dst, .centroids = &centroids});
    CHECK(kmeans.wait().inertia == 0);
    return made;
}

void test_layouts() {
    const gpv::Context context(cpu_params());
    TwoColors wanted;
    for (const auto &[format, samples] : layouts) {
        const TwoColors found = two_colors(context, format, samples);
        if (format == GPV_FORMAT_RGB8 || format == GPV_FORMAT_NV12 || format == GPV_FORMAT_GRAY8)
            wanted = found;
        if (found.labels != wanted.labels || found.centroids != wanted.centroids ||
            found.recolored != found.samples)
            fail(__LINE__, "layout of format ", std::to_string(format));
    }
}

void test_sift() {
    const gpv::Context context(cpu_params());
    gpv::SiftParams params;
    params.upright = 1;
    params.max_features = 1;
    gpv::Sift sift(context, params);
    const Gray src = blob(30, 35, 4);

    std::vector<gpv_sift_keypoint> keypoints(1);
    Bytes descriptors(GPV_SIFT_DESCRIPTOR_LENGTH);
    std::array<gpv_sift_result, 1> copy{};
    const gpv::Buffer keypoint_buffer(keypoints);
    const gpv::Buffer descriptor_buffer(descriptors);
    const gpv::Buffer result_buffer(copy);
    sift.prepare(src.view(), nullptr, 1);
    sift.run(src.view(), {.keypoints = &keypoint_buffer,
                          .descriptors = &descriptor_buffer,
                          .result = &result_buffer});
    Gray drawn(64, 64);
    sift.draw(drawn.view(), GPV_DRAW_STYLE_POINTS, 0xffffff);
    CHECK(sift.query());
    CHECK(sift.wait().count == 1 && copy[0].count == 1);
    const gpv_sift_keypoint &k = keypoints[0];
    CHECK(std::abs(k.x - 30) < 0.5f && std::abs(k.y - 35) < 0.5f);
    CHECK(k.sigma > 2 && k.sigma < 8 && k.angle == 0);
    Gray cross(64, 64);
    cross.fill(28, 35, 33, 36, 255);
    cross.fill(30, 33, 31, 38, 255);
    CHECK(drawn.pixels == cross.pixels);
    CHECK_ERROR(bad, "color", sift.draw(drawn.view(), GPV_DRAW_STYLE_RICH, 0x1000000));

    Bytes described(GPV_SIFT_DESCRIPTOR_LENGTH);
    sift.describe(src.view(), keypoint_buffer, 1, gpv::Buffer(described));
    CHECK(sift.wait().count == 1);
    CHECK(described == descriptors);
    CHECK_ERROR(bad, "count is 2",
                sift.describe(src.view(), gpv::ConstBuffer(keypoint_buffer), 2, descriptor_buffer));

    const Gray nowhere(64, 64);
    const gpv::ConstImage mask = nowhere.view();
    sift.run(src.view(), {.mask = &mask});
    CHECK(sift.wait().count == 0);
    params.sigma = 9;
    CHECK_ERROR(bad, "params->sigma is 9", sift.set_params(params));
}

void test_match() {
    const gpv::Context context(cpu_params());
    gpv::Match match(context);
    constexpr std::int32_t count = 10;
    Bytes set(count * GPV_SIFT_DESCRIPTOR_LENGTH);
    for (std::size_t i = 0; i < set.size(); ++i)
        set[i] = i % GPV_SIFT_DESCRIPTOR_LENGTH == i / GPV_SIFT_DESCRIPTOR_LENGTH ? 255 : 0;
    const gpv::ConstBuffer data(std::as_const(set));

    std::vector<gpv_match_pair> pairs(count);
    std::vector<gpv_match_nearest> nearest(count);
    std::array<gpv_match_result, 1> copy{};
    const gpv::Buffer pair_buffer(pairs), nearest_buffer(nearest);
    const gpv::Buffer result_buffer(copy);
    match.prepare(count, count);
    match.run({data, count}, {data, count},
              {.nearest = &nearest_buffer, .pairs = &pair_buffer, .result = &result_buffer});
    CHECK(match.query());
    gpv::MatchResult found = match.wait();
    CHECK(found.count == count && found.dropped == 0 && found.queries == count);
    CHECK(copy[0].count == count);
    for (std::int32_t i = 0; i < count; ++i) {
        const gpv_match_pair &pair = pairs[static_cast<std::size_t>(i)];
        CHECK(pair.query == i && pair.train == i && pair.distance == 0);
        CHECK(pair.second == 2 * 255 * 255);
        CHECK(nearest[static_cast<std::size_t>(i)].index[0] == i);
    }

    std::array<gpv::SiftResult, 1> three;
    three[0].count = 3;
    const gpv::ConstBuffer limit(three);
    match.run({data, count}, {data, count}, {.found = &limit});
    found = match.wait();
    CHECK(found.count == 3 && found.queries == 3);
    match.run({}, {data, count});
    CHECK(match.wait().count == 0);
    CHECK_ERROR(bad, "query_count is -1", match.run({data, -1}, {data, count}));

    Gray drawn(12, 10), expected(12, 10);
    const std::array<gpv::Point, 4> square{{{2, 2}, {8, 2}, {8, 6}, {2, 6}}};
    match.draw(drawn.view(), square, 1, 0xffffff);
    match.wait();
    expected.fill(2, 2, 9, 7, 255);
    expected.fill(3, 3, 8, 6, 0);
    CHECK(drawn.pixels == expected.pixels);
    CHECK_ERROR(bad, "points", match.draw(drawn.view(), {}, 1, 0xffffff));
    gpv::MatchParams params;
    params.ratio = 2;
    CHECK_ERROR(bad, "params->ratio is 2", match.set_params(params));
}

void test_homography() {
    const gpv::Context context(cpu_params());
    std::vector<gpv::Point> from, to;
    for (int i = 0; i < 25; ++i) {
        const float x = static_cast<float>(i % 5 * 20), y = static_cast<float>(i / 5 * 20);
        from.push_back({x, y});
        to.push_back({x + 10, y - 5});
    }
    to[7] = {500, 500};
    Bytes inliers(25, 77);
    gpv::HomographyParams params;
    params.seed = 3;
    const gpv::Homography homography = gpv::find_homography(context, from, to, params, inliers);
    CHECK(homography.found == 1 && homography.inliers == 24 && homography.error < 1e-3);
    const double expected[9] = {1, 0, 10, 0, 1, -5, 0, 0, 1};
    for (int i = 0; i < 9; ++i)
        CHECK(std::abs(homography.matrix[i] - expected[i]) < 1e-4);
    for (std::size_t i = 0; i < 25; ++i)
        CHECK(inliers[i] == (i == 7 ? 0 : 1));

    CHECK(gpv::find_homography(context, {}, {}).found == 0);
    CHECK_ERROR(bad, "to has 0 points", (void)gpv::find_homography(context, from, {}));
    CHECK_ERROR(bad, "inliers has room for 24",
                (void)gpv::find_homography(context, from, to, {}, std::span(inliers).first(24)));
    to[3][1] = std::numeric_limits<float>::quiet_NaN();
    CHECK_ERROR(bad, "to", (void)gpv::find_homography(context, from, to));
}

void test_graphcut() {
    const gpv::Context context(cpu_params());
    gpv::GraphcutParams params;
    params.certificate = 1;
    gpv::Graphcut graphcut(context, params);

    // From the source 5 to the left pixel, 2 on to the right one, 3 on to the sink.
    std::vector<std::int32_t> terminals{5, -3}, links(4 * 2);
    links[0] = 2;
    Gray mask(2, 1, 77);
    std::array<gpv_graphcut_result, 1> copy{};
    const gpv::Buffer result_buffer(copy);
    const gpv::ConstImage terminal_view =
        gpv::view(GPV_FORMAT_LABEL32, 2, 1, std::as_const(terminals).data());
    const gpv::Image link_view = gpv::view(GPV_FORMAT_CAP32X4, 2, 1, links.data());
    graphcut.prepare(link_view);
    graphcut.run(terminal_view, link_view, mask.view(), {.result = &result_buffer});
    CHECK(graphcut.query());
    const gpv::GraphcutResult found = graphcut.wait();
    CHECK(found.optimal == 1 && found.flow == 2 && found.cut == 2 && found.area == 1);
    CHECK(copy[0].flow == 2);
    CHECK(mask.pixels == Bytes{255, 0});

    links[0] = -1;
    graphcut.run(terminal_view, link_view, mask.view());
    gpv::GraphcutResult refused;
    CHECK(graphcut.wait(refused) == bad && refused.refused == 1);
    CHECK_ERROR(bad, "plane 0 of links is -1 at (0, 0), must be 0..67108863",
                (void)graphcut.wait());
    CHECK_ERROR(bad, "", (void)graphcut.query());
    params.max_time_us = -1;
    CHECK_ERROR(bad, "params->max_time_us is -1", graphcut.set_params(params));
}

void test_expansion() {
    const gpv::Context context(cpu_params());
    gpv::ExpansionParams params;
    params.cycles = 2;
    gpv::Expansion expansion(context, params);

    // The middle one of three pixels would have another label, but for a dear border.
    const std::vector<std::int32_t> first{0, 5, 0}, second{9, 3, 9};
    std::vector<std::int32_t> links(4 * 3);
    links[0] = links[1] = 2;
    Gray labels(3, 1, 77);
    std::array<gpv_expansion_result, 1> copy{};
    const gpv::Buffer result_buffer(copy);
    const gpv::ConstImage first_view = gpv::view(GPV_FORMAT_LABEL32, 3, 1, first.data()),
                          second_view = gpv::view(GPV_FORMAT_LABEL32, 3, 1, second.data());
    const gpv::Image link_view = gpv::view(GPV_FORMAT_CAP32X4, 3, 1, links.data());
    const gpv_image *const costs[] = {&first_view, &second_view};
    expansion.prepare(link_view, 2);
    expansion.run(costs, link_view, labels.view(), {.result = &result_buffer});
    CHECK(expansion.query());
    const gpv::ExpansionResult found = expansion.wait();
    CHECK(found.start_energy == 7 && found.energy == 5 && found.moves == 1 && found.converged);
    CHECK(copy[0].energy == 5);
    CHECK(labels.pixels == Bytes{0, 0, 0});

    links[0] = -1;
    expansion.run(costs, link_view, labels.view());
    CHECK_ERROR(bad, "plane 0 of links is -1 at (0, 0), must be 0..67108863",
                (void)expansion.wait());
    CHECK_ERROR(bad, "count is 1, must be 2..16",
                expansion.run(std::span(costs).first(1), link_view, labels.view()));
    params.cycles = 0;
    CHECK_ERROR(bad, "params->cycles is 0", expansion.set_params(params));
}

void test_segment() {
    const gpv::Context context(cpu_params());
    gpv::SegmentParams params;
    params.certificate = 1;
    params.output = GPV_SEGMENT_OUTPUT_CUTOUT;
    gpv::Segment segment(context, params);

    // All but a pixel is known, round which is the foreground: the left half.
    Bytes pixels(4 * 8 * 6, 100), cutout(pixels.size());
    Gray seeds(8, 6), mask(8, 6, 77), wanted(8, 6);
    wanted.fill(0, 0, 4, 6, 255);
    seeds.fill(0, 0, 4, 6, 255);
    seeds.at(2, 2) = GPV_SEGMENT_SEED_UNKNOWN;
    std::array<gpv_graphcut_result, 1> copy{};
    const gpv::ConstImage src = gpv::view(GPV_FORMAT_RGBA8, 8, 6, std::as_const(pixels).data());
    const gpv::Image dst = gpv::view(GPV_FORMAT_RGBA8, 8, 6, cutout.data());
    const gpv::Image seed_view = seeds.view(), mask_view = mask.view();
    const gpv::Buffer result_buffer(copy);
    const gpv::SegmentArguments arguments{
        .seeds = &seed_view, .mask = &mask_view, .dst = &dst, .result = &result_buffer};
    segment.prepare(src, arguments);
    segment.run(src, arguments);
    CHECK(segment.query());
    gpv::GraphcutResult found = segment.wait();
    CHECK(found.area == 24 && found.optimal == 1 && found.cut == found.flow);
    CHECK(copy[0].area == 24);
    CHECK(mask.pixels == wanted.pixels);
    for (std::size_t i = 0; i < 48; ++i)
        CHECK(cutout[4 * i] == 100 && cutout[4 * i + 3] == (wanted.pixels[i] ? 100 : 0));

    // Two columns of the foreground lie outside the rectangle.
    const gpv_rect rect{2, 0, 6, 6};
    segment.run(src, {.seeds = &seed_view, .rect = &rect, .mask = &mask_view});
    found = segment.wait();
    wanted.fill(0, 0, 2, 6, 0);
    CHECK(found.area == 12 && mask.pixels == wanted.pixels);
    seeds.at(2, 2) = 7;
    CHECK_ERROR(bad, "seeds is 7 at (2, 2)", segment.run(src, {.seeds = &seed_view}));

    const gpv_rect outside{4, 0, 6, 6};
    CHECK_ERROR(bad, "rect", segment.run(src, {.rect = &outside}));
    params.iterations = 0;
    CHECK_ERROR(bad, "params->iterations is 0, must be 1..100", segment.set_params(params));
}

void test_segment_learns() {
    gpv::SegmentParams params;
    params.warm_start = GPV_SEGMENT_WARM_START_REUSE;
    params.model = GPV_SEGMENT_MODEL_MEANS;
    params.lambda = 1;
    gpv::Segment segment(gpv::Context(cpu_params()), params);

    // Seeds call the bright frame foreground. What is more at the edge is background without them.
    Gray src(12, 12, 200), seeds(12, 12, 128), mask(12, 12);
    src.fill(3, 3, 9, 9, 30);
    Gray frame(12, 12, 255), middle(12, 12);
    frame.fill(3, 3, 9, 9, 0);
    middle.fill(3, 3, 9, 9, 255);
    seeds.at(0, 0) = 255;
    seeds.at(6, 6) = 0;
    const gpv::Image seed_view = seeds.view(), mask_view = mask.view();
    segment.run(src.view(), {.seeds = &seed_view, .mask = &mask_view});
    segment.wait();
    CHECK(mask.pixels == frame.pixels);
    segment.run(src.view(), {.mask = &mask_view});
    segment.wait();
    CHECK(mask.pixels == frame.pixels);
    CHECK(segment.learned());
    segment.forget();
    CHECK(!segment.learned());
    segment.run(src.view(), {.mask = &mask_view});
    segment.wait();
    CHECK(mask.pixels == middle.pixels);
}

void test_lifetimes() {
    std::optional<gpv::Context> context(std::in_place, cpu_params());
    gpv::Erode erode(*context);
    gpv::Ccl ccl(*context);
    const std::shared_ptr<gpv_context> shared = context->shared();
    context.reset();
    CHECK(gpv_context_backend(shared.get()) == GPV_BACKEND_CPU);
    Gray src(9, 7, 255), dst(9, 7), small(3, 3);
    erode.run(src.view(), dst.view());
    erode.wait();
    CHECK(dst.pixels == src.pixels);
    CHECK_ERROR(bad, "dst is 3x3", erode.run(src.view(), small.view()));

    gpv_erode *const handle = erode.native();
    gpv::Erode moved(std::move(erode));
    CHECK(moved.native() == handle && erode.native() == nullptr);
    CHECK_ERROR(bad, "operator has been moved from", erode.run(src.view(), dst.view()));
    CHECK_ERROR(bad, "operator has been moved from", erode.wait());
    CHECK_ERROR(bad, "operator has been moved from", (void)erode.query());
    CHECK_ERROR(bad, "operator has been moved from", erode.set_params({}));

    const gpv::Context another(cpu_params());
    erode = gpv::Erode(another);
    erode = std::move(moved);
    CHECK(erode.native() == handle);
    gpv::Ccl second(std::move(ccl));
    CHECK_ERROR(bad, "operator has been moved from", (void)ccl.wait());
    gpv::CclResult result;
    CHECK_ERROR(bad, "operator has been moved from", (void)ccl.wait(result));
    CHECK(second.wait().count == 0);
    ccl = std::move(second);
    CHECK(ccl.query());
}

} // namespace

int main() {
    try {
        test_library();
        test_defaults();
        test_views();
        test_context();
        test_context_failure();
        test_log();
        test_memory();
        test_erode();
        test_strides_and_planes();
        test_ccl();
        test_kmeans();
        test_layouts();
        test_sift();
        test_match();
        test_homography();
        test_graphcut();
        test_expansion();
        test_segment();
        test_segment_learns();
        test_lifetimes();
    } catch (const std::exception &error) {
        std::fprintf(stderr, "unexpected: %s\n", error.what());
        failed = true;
    }
    return failed ? 1 : 0;
}
