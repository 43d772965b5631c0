// SPDX-License-Identifier: BSD-2-Clause
// All five algorithms on one picture: says what they find, and writes what they make of it.
// Build: c++ -std=c++20 five.cpp $(pkg-config --cflags --libs gpuvision)
#include "gpuvision.hpp"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace {

// A picture of GRAY8 or RGB8, rows without a gap.
struct Picture {
    gpv_format format;
    std::int32_t width, height;
    std::vector<std::uint8_t> pixels;

    Picture(gpv_format of, std::int32_t columns, std::int32_t rows)
        : format(of), width(columns), height(rows), pixels(gpv::required_bytes(of, columns, rows)) {
    }

    gpv::Image view() { return gpv::view(format, width, height, pixels.data()); }
    gpv::ConstImage view() const { return gpv::view(format, width, height, pixels.data()); }
};

// Takes white space and a number of digits off the front of text; -1 if they are not there.
std::int32_t take_number(std::string_view &text) {
    const auto digits = text.find_first_not_of(" \t\n\v\f\r");
    if (digits == 0 || digits == text.npos || text[digits] == '-')
        return -1;
    std::int32_t number = 0;
    const char *const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + digits, end, number);
    text = {rest, end};
    return error == std::errc() ? number : -1;
}

Picture read(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    if (!file || std::filesystem::is_directory(path))
        throw std::runtime_error("cannot be opened");
    const std::string bytes(std::istreambuf_iterator<char>(file), {});

    const bool gray = bytes.starts_with("P5");
    std::string_view rest(bytes);
    rest.remove_prefix(std::min<std::size_t>(2, rest.size()));
    const auto width = take_number(rest), height = take_number(rest), maximum = take_number(rest);
    if ((!gray && !bytes.starts_with("P6")) || width < 0 || height < 0 || maximum != 255 ||
        rest.find_first_of(" \t\n\v\f\r") != 0)
        throw std::runtime_error("not a binary PGM or PPM of 8 bits without comments");
    rest.remove_prefix(1);

    const gpv_format format = gray ? GPV_FORMAT_GRAY8 : GPV_FORMAT_RGB8;
    std::size_t size = 0;
    try {
        size = gpv::required_bytes(format, width, height);
    } catch (const gpv::Error &) {
        throw std::runtime_error("a picture of " + std::to_string(width) + " x " +
                                 std::to_string(height) + " pixels is not possible");
    }
    if (rest.size() < size)
        throw std::runtime_error("ends before its last pixel");
    Picture picture(format, width, height);
    std::copy_n(rest.begin(), size, picture.pixels.begin());
    return picture;
}

void write(const std::filesystem::path &folder, const char *name, const Picture &picture) {
    const bool gray = picture.format == GPV_FORMAT_GRAY8;
    const auto path = folder / (std::string(name) + (gray ? ".pgm" : ".ppm"));
    std::ofstream file(path, std::ios::binary);
    file << (gray ? "P5\n" : "P6\n") << picture.width << ' ' << picture.height << "\n255\n";
    file.write(reinterpret_cast<const char *>(picture.pixels.data()),
               static_cast<std::streamsize>(picture.pixels.size()));
    if (!file.flush())
        throw std::runtime_error(path.string() + " cannot be written");
}

void erode(const gpv::Context &context, const Picture &src, Picture &dst) {
    gpv::ErodeParams params;
    params.shape = GPV_ERODE_SHAPE_ELLIPSE;
    params.radius = 2;
    gpv::Erode erode(context, params);
    erode.run(src.view(), dst.view());
    erode.wait();
}

std::vector<gpv_ccl_component> label(const gpv::Context &context, const Picture &src,
                                     Picture &colors) {
    gpv::CclParams params;
    params.threshold = 128;
    params.min_area = 16;
    params.output = GPV_CCL_OUTPUT_COLORS;
    gpv::Ccl ccl(context, params);

    std::vector<gpv_ccl_component> components(1024);
    const gpv::Image dst = colors.view();
    const auto run = [&] {
        const gpv::Buffer buffer(components);
        ccl.run(src.view(), {.dst = &dst, .components = &buffer});
    };
    run();
    gpv::CclResult found;
    if (ccl.wait(found) == GPV_ERR_TOO_SMALL) {
        components.resize(static_cast<std::size_t>(found.count));
        run();
    }
    components.resize(static_cast<std::size_t>(ccl.wait().components));
    return components;
}

struct Clusters {
    gpv::KmeansResult found;
    std::vector<gpv::Kmeans::Centroid> centroids;
};

Clusters cluster(const gpv::Context &context, const Picture &src, Picture &recoloured) {
    gpv::KmeansParams params;
    params.clusters = 4;
    gpv::Kmeans kmeans(context, params);

    std::vector<gpv::Kmeans::Centroid> centroids(4);
    const gpv::Image dst = recoloured.view();
    const gpv::Buffer buffer(centroids);
    kmeans.run(src.view(), {.dst = &dst, .centroids = &buffer});
    const gpv::KmeansResult found = kmeans.wait();
    centroids.resize(static_cast<std::size_t>(found.clusters));
    return {found, std::move(centroids)};
}

std::vector<gpv_sift_keypoint> find_keypoints(const gpv::Context &context, const Picture &src,
                                              Picture &drawn) {
    gpv::SiftParams params;
    params.max_features = 200;
    gpv::Sift sift(context, params);

    std::vector<gpv_sift_keypoint> keypoints(200);
    const gpv::Buffer buffer(keypoints);
    sift.run(src.view(), {.keypoints = &buffer});
    sift.draw(drawn.view(), GPV_DRAW_STYLE_RICH, 0xff4000);
    keypoints.resize(static_cast<std::size_t>(sift.wait().count));
    return keypoints;
}

gpv::GraphcutResult cut_out(const gpv::Context &context, const Picture &src, Picture &overlay) {
    gpv::SegmentParams params;
    params.certificate = 1;
    gpv::Segment segment(context, params);

    const std::int32_t x = src.width / 8, y = src.height / 8;
    const gpv_rect rect{x, y, src.width - 2 * x, src.height - 2 * y};
    const gpv::Image dst = overlay.view();
    segment.run(src.view(), {.rect = &rect, .dst = &dst});
    return segment.wait();
}

void report(const std::vector<gpv_ccl_component> &components) {
    std::printf("ccl       %zu components", components.size());
    const auto largest =
        std::max_element(components.begin(), components.end(),
                         [](const auto &a, const auto &b) { return a.area < b.area; });
    if (largest != components.end())
        std::printf(", the largest has %" PRId32 " pixels, from %" PRId32 ",%" PRId32 " to %" PRId32
                    ",%" PRId32,
                    largest->area, largest->left, largest->top, largest->right, largest->bottom);
    std::printf("\n");
}

void report(const Clusters &clusters) {
    std::printf("kmeans    %" PRId32 " clusters after %" PRId32 " iterations:",
                clusters.found.clusters, clusters.found.iterations);
    for (const auto &centroid : clusters.centroids)
        std::printf(" #%06" PRIx32, gpv::Kmeans::color(GPV_KMEANS_COLOR_SPACE_RGB, centroid));
    std::printf("\n");
}

void report(const std::vector<gpv_sift_keypoint> &keypoints) {
    std::printf("sift      %zu keypoints", keypoints.size());
    if (!keypoints.empty())
        std::printf(", the strongest at %.2f,%.2f", keypoints[0].x, keypoints[0].y);
    std::printf("\n");
}

void five(const std::string &path, const std::filesystem::path &folder) {
    const Picture picture = read(path);
    if (std::error_code none;
        std::filesystem::equivalent(std::filesystem::canonical(path).parent_path(), folder, none))
        throw std::runtime_error("is in the folder for the results; name another folder");
    const gpv::Context context;
    Picture eroded = picture, recoloured = picture, drawn = picture, overlay = picture;
    Picture colors(GPV_FORMAT_RGB8, picture.width, picture.height);

    erode(context, picture, eroded);
    const auto components = label(context, picture, colors);
    const auto clusters = cluster(context, picture, recoloured);
    const auto keypoints = find_keypoints(context, picture, drawn);
    const auto cut = cut_out(context, picture, overlay);

    std::filesystem::create_directory(folder);
    write(folder, "erode", eroded);
    write(folder, "ccl", colors);
    write(folder, "kmeans", recoloured);
    write(folder, "sift", drawn);
    write(folder, "graphcut", overlay);

    std::printf("%" PRId32 " x %" PRId32 " pixels, on %s\n", picture.width, picture.height,
                context.device_name().c_str());
    std::printf("erode     ellipse of radius 2\n");
    report(components);
    report(clusters);
    report(keypoints);
    std::printf("graphcut  %" PRId64 " pixels of the foreground, flow %" PRId64 ", cut %" PRId64
                "\n",
                cut.area, cut.flow, cut.cut);
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: five PICTURE FOLDER\n");
        return 2;
    }
    try {
        five(argv[1], argv[2]);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s: %s\n", argv[1], error.what());
        return 1;
    }
}
