// SPDX-License-Identifier: BSD-2-Clause
// Morphology against two references that share no code with the library: the
// definition, pixel by pixel, and OpenCV where it is installed. With --bench:
// times beside OpenCV and beside plain serial code.
#include "device.hpp"
#include "patterns.hpp"
#include "samples.hpp"

#include <cmath>

#ifdef HAVE_OPENCV
#    include <opencv2/imgproc.hpp>
#endif
#ifdef HAVE_NPP
#    include <nppi_filtering_functions.h>
#    include <nppi_morphological_operations.h>
#endif

using namespace parity;

namespace {

// ---- the definition -------------------------------------------------------

/// A plane of one channel, any depth.
struct Grey {
    int width;
    int height;
    std::vector<int> pixels;
    int &at(int x, int y) { return pixels[std::size_t(y) * width + x]; }
    int at(int x, int y) const { return pixels[std::size_t(y) * width + x]; }
};

bool in_element(gpv_erode_shape shape, int dx, int dy, int rx, int ry) {
    switch (shape) {
    case GPV_ERODE_SHAPE_CROSS:
        return dx == 0 || dy == 0;
    case GPV_ERODE_SHAPE_ELLIPSE: {
        const double rest = ry ? double(ry * ry - dy * dy) / (double(ry) * ry) : 0.0;
        return std::abs(dx) <= std::lrint(rx * std::sqrt(rest));
    }
    default:
        return true;
    }
}

Grey extreme(const Grey &in, bool minimum, const gpv_erode_params &p, int largest) {
    const int rx = p.radius;
    const int ry = p.radius_y < 0 ? p.radius : p.radius_y;
    Grey out = in;
    for (int y = 0; y < in.height; y++)
        for (int x = 0; x < in.width; x++) {
            int value = minimum ? largest : 0;
            for (int dy = -ry; dy <= ry; dy++)
                for (int dx = -rx; dx <= rx; dx++) {
                    if (!in_element(p.shape, dx, dy, rx, ry))
                        continue;
                    const bool inside =
                        x + dx >= 0 && x + dx < in.width && y + dy >= 0 && y + dy < in.height;
                    if (!inside && p.border == GPV_ERODE_BORDER_IGNORE)
                        continue;
                    const int sample = inside ? in.at(x + dx, y + dy) : 0;
                    value = minimum ? std::min(value, sample) : std::max(value, sample);
                }
            out.at(x, y) = value;
        }
    return out;
}

Grey repeat(Grey image, bool minimum, const gpv_erode_params &p, int largest) {
    for (int i = 0; i < p.iterations; i++)
        image = extreme(image, minimum, p, largest);
    return image;
}

Grey difference(const Grey &a, const Grey &b) {
    Grey out = a;
    for (std::size_t i = 0; i < a.pixels.size(); i++)
        out.pixels[i] = std::max(0, a.pixels[i] - b.pixels[i]);
    return out;
}

Grey morphology(const Grey &in, const gpv_erode_params &p, int largest) {
    const auto erode = [&](const Grey &g) { return repeat(g, true, p, largest); };
    const auto dilate = [&](const Grey &g) { return repeat(g, false, p, largest); };
    switch (p.operation) {
    case GPV_ERODE_OPERATION_DILATE:
        return dilate(in);
    case GPV_ERODE_OPERATION_OPEN:
        return dilate(erode(in));
    case GPV_ERODE_OPERATION_CLOSE:
        return erode(dilate(in));
    case GPV_ERODE_OPERATION_GRADIENT:
        return difference(dilate(in), erode(in));
    case GPV_ERODE_OPERATION_TOPHAT:
        return difference(in, dilate(erode(in)));
    case GPV_ERODE_OPERATION_BLACKHAT:
        return difference(erode(dilate(in)), in);
    default:
        return erode(in);
    }
}

// ---- images as channels ---------------------------------------------------

Grey read_channel(const Samples &samples, int channel) {
    Grey out{samples.columns(channel), samples.rows(channel), {}};
    for (int y = 0; y < out.height; y++)
        for (int x = 0; x < out.width; x++)
            out.pixels.push_back(samples.get(channel, x, y));
    return out;
}

void write_channel(const Samples &samples, int channel, const Grey &from) {
    for (int y = 0; y < from.height; y++)
        for (int x = 0; x < from.width; x++)
            samples.set(channel, x, y, from.at(x, y));
}

Grey binarise(const Samples &samples, int threshold) {
    Grey luma{samples.columns(0), samples.rows(0), {}};
    for (int y = 0; y < luma.height; y++)
        for (int x = 0; x < luma.width; x++)
            luma.pixels.push_back(samples.luma(x, y) >= threshold ? samples.largest() : 0);
    return luma;
}

/// dst as the header describes it; starts as a copy of src.
void definition(const GuardedImage &src, GuardedImage &dst, const gpv_erode_params &p) {
    const Samples from(src), to(dst);
    const int largest = from.largest(), channels = std::min(from.channels(), 3);
    dst.copy_pixels_from(src);
    to.each([&](int c, int i, int row) { to.set(c, i, row, from.get(c, i, row)); });
    if (p.threshold > 0) {
        const Grey result = morphology(binarise(from, p.threshold), p, largest);
        for (int c = 0; c < (from.yuv() ? 1 : channels); c++)
            write_channel(to, c, result);
        if (from.yuv())
            to.each([&](int c, int i, int row) {
                if (c > 0)
                    to.set(c, i, row, to.neutral());
            });
        return;
    }
    const bool all = !from.yuv() || p.planes == GPV_ERODE_PLANES_ALL;
    for (int c = 0; c < (all ? channels : 1); c++)
        write_channel(to, c, morphology(read_channel(from, c), p, largest));
}

// ---- cases ----------------------------------------------------------------

enum class Content { noise, sparse, black, white, checkerboard, stripes };

void fill(GuardedImage &image, Content content) {
    image.each_row([&](int, std::int64_t y, std::uint8_t *row, std::int64_t bytes) {
        for (std::int64_t x = 0; x < bytes; x++)
            switch (content) {
            case Content::noise:
                row[x] = static_cast<std::uint8_t>(random_int(0, 255));
                break;
            case Content::sparse:
                row[x] = random_int(0, 19) ? 255 : 0;
                break;
            case Content::black:
                row[x] = 0;
                break;
            case Content::white:
                row[x] = 255;
                break;
            case Content::checkerboard:
                row[x] = (x + y) % 2 ? 255 : 0;
                break;
            case Content::stripes:
                row[x] = y % 7 < 3 ? 200 : static_cast<std::uint8_t>(x);
                break;
            }
    });
}

std::string describe(const gpv_erode_params &p, const gpv_image &view, bool in_place) {
    char text[256];
    std::snprintf(text, sizeof text,
                  "%dx%d format %u stride %lld: operation %u shape %u radius %dx%d iterations %d "
                  "threshold %d border %u planes %u%s",
                  view.width, view.height, view.format, static_cast<long long>(view.stride[0]),
                  p.operation, p.shape, p.radius, p.radius_y, p.iterations, p.threshold, p.border,
                  p.planes, in_place ? " in place" : "");
    return text;
}

using Op = Handle<gpv_erode_create, gpv_erode_destroy>;

class Operator {
  public:
    explicit Operator(gpv_backend backend = GPV_BACKEND_CPU, Place place = Place::host)
        : context_(backend), place_(place) {}

    void run(const gpv_erode_params &params, const GuardedImage &src, GuardedImage &dst) {
        require(gpv_erode_set_params(op_, &params), context_, "gpv_erode_set_params");
        again(src, dst);
    }
    void again(const GuardedImage &src, GuardedImage &dst) {
#ifdef HAVE_CUDA
        if (place_ != Place::host) {
            const bool in_place = &src == &dst;
            src_.upload(src);
            if (!in_place)
                dst_.upload(dst);
            const DeviceImage &to = in_place ? src_ : dst_;
            run_and_wait(src_.view(), to.view());
            return to.download(dst);
        }
#endif
        run_and_wait(src.view(), dst.view());
    }
    /// like: which format and size; where the images lie is known.
    void prepare(const gpv_erode_params &params, gpv_image like) {
        like.memory = place_ == Place::host ? GPV_MEMORY_HOST : GPV_MEMORY_CUDA;
        require(gpv_erode_set_params(op_, &params), context_, "gpv_erode_set_params");
        require(gpv_erode_prepare(op_, &like), context_, "gpv_erode_prepare");
    }
    const CountedContext &context() const {
        return context_;
    }

  private:
    void run_and_wait(const gpv_image *src, const gpv_image *dst) {
        require(gpv_erode_run(op_, nullptr, src, dst), context_, "gpv_erode_run");
        require(gpv_erode_wait(op_), context_, "gpv_erode_wait");
    }

    CountedContext context_;
    Place place_;
#ifdef HAVE_CUDA
    DeviceImage src_{place_ == Place::device_tight}, dst_{place_ == Place::device_tight};
#endif
    const Op op_{context_};
};

gpv_erode_params random_params(int largest_radius, gpv_format format) {
    gpv_erode_params p;
    gpv_erode_params_init(&p, sizeof p);
    p.operation = static_cast<gpv_erode_operation>(random_int(0, 6));
    p.shape = static_cast<gpv_erode_shape>(random_int(0, 2));
    p.radius = random_int(0, largest_radius);
    p.radius_y = random_int(-1, largest_radius);
    p.iterations = random_int(0, 3) ? 1 : random_int(2, 3);
    p.threshold = random_int(0, 1) ? 0 : random_int(1, sample_bytes(format) == 2 ? 65535 : 255);
    p.border = static_cast<gpv_erode_border>(random_int(0, 1));
    p.planes = static_cast<gpv_erode_planes>(random_int(0, 2));
    return p;
}

int random_side() {
    static const std::vector<int> sides = {1,  2,  3,  5,  7,  8,  13, 15,  16,  17, 31,
                                           32, 33, 61, 63, 64, 65, 97, 127, 128, 129};
    return random_of(sides);
}

/// What finds out what dst is to hold.
using Reference =
    std::function<void(const GuardedImage &src, GuardedImage &dst, const gpv_erode_params &p)>;

/// One run on random pixels, in place or not.
void compare_random(Operator &op, gpv_format format, int width, int height,
                    const gpv_erode_params &p, const Reference &reference) {
    const bool in_place = random_int(0, 3) == 0;
    GuardedImage src(format, width, height, random_int(0, 40), random_int(0, 9));
    fill(src, random_int(0, 2) ? Content::noise : static_cast<Content>(random_int(0, 5)));
    GuardedImage want(format, width, height);
    reference(src, want, p);
    GuardedImage dst(format, width, height, random_int(0, 40), random_int(0, 9));
    if (in_place) {
        op.run(p, src, src);
        expect_equal(src, want, describe(p, *src.view(), true));
    } else {
        op.run(p, src, dst);
        expect_equal(dst, want, describe(p, *dst.view(), false));
    }
}

void compare_with_definition(Operator &op, int count) {
    for (int i = 0; i < count; i++) {
        // The definition is slow: large radii on small images, and the reverse.
        const bool large_radius = random_int(0, 15) == 0;
        const int width = large_radius ? random_int(1, 24) : random_side();
        const int height = large_radius ? random_int(1, 24) : random_int(1, 48);
        const gpv_format format = random_of(picture_formats);
        const gpv_erode_params p = random_params(large_radius ? 255 : random_int(1, 9), format);
        compare_random(op, format, width, height, p, definition);
    }
    std::printf("definition: %d random cases equal\n", count);
}

/// Random cases of so many sizes.
void check_sizes(Operator &op, const Sizes &sizes, int largest_radius, const Reference &reference) {
    for (const auto &[width, height] : sizes) {
        const gpv_format format = random_of(picture_formats);
        compare_random(op, format, width, height, random_params(largest_radius, format), reference);
    }
    std::printf("sizes: %zu equal, %dx%d the last\n", sizes.size(), sizes.back()[0],
                sizes.back()[1]);
}

/// Grey and binary, small and large elements.
void check_patterns(Operator &op, const Sizes &sizes, const Reference &reference) {
    for (const auto &[width, height] : sizes)
        for (const Pattern &pattern : all_patterns())
            for (const int threshold : {0, 100}) {
                const GuardedImage src = pattern.draw(width, height);
                GuardedImage dst(GPV_FORMAT_GRAY8, width, height),
                    want(GPV_FORMAT_GRAY8, width, height);
                gpv_erode_params p = random_params(random_int(1, 9), GPV_FORMAT_GRAY8);
                p.threshold = threshold;
                reference(src, want, p);
                op.run(p, src, dst);
                expect_equal(dst, want, pattern.name + (", " + describe(p, *dst.view(), false)));
            }
    std::printf("patterns: %zu at %zu sizes equal, %dx%d the last\n", all_patterns().size(),
                sizes.size(), sizes.back()[0], sizes.back()[1]);
}

/// Laws that hold for every image, on sizes that the definition is too slow for.
void check_laws(Operator &op) {
    const int width = 515, height = 389;
    const auto run = [&](gpv_erode_operation operation, int radius, const GuardedImage &src,
                         GuardedImage &dst) {
        gpv_erode_params p;
        gpv_erode_params_init(&p, sizeof p);
        p.operation = operation;
        p.radius = radius;
        op.run(p, src, dst);
    };
    const auto image = [&] {
        return std::make_unique<GuardedImage>(GPV_FORMAT_GRAY8, width, height);
    };
    const auto complement = [&](const GuardedImage &from) {
        auto out = image();
        out->each_row([&](int p, std::int64_t y, std::uint8_t *row, std::int64_t bytes) {
            for (std::int64_t x = 0; x < bytes; x++)
                row[x] = 255 - from.row(p, y)[x];
        });
        return out;
    };
    auto src = image(), a = image(), b = image(), c = image();
    fill(*src, Content::noise);
    for (int radius : {1, 2, 5, 25, 100}) {
        run(GPV_ERODE_OPERATION_ERODE, radius, *src, *a);
        run(GPV_ERODE_OPERATION_DILATE, radius, *complement(*src), *b);
        expect_equal(*complement(*b), *a, "duality, radius " + std::to_string(radius));
        run(GPV_ERODE_OPERATION_ERODE, radius, *a, *b);
        run(GPV_ERODE_OPERATION_ERODE, 2 * radius, *src, *c);
        expect_equal(*b, *c, "radii add up, radius " + std::to_string(radius));
        for (gpv_erode_operation operation :
             {GPV_ERODE_OPERATION_OPEN, GPV_ERODE_OPERATION_CLOSE}) {
            run(operation, radius, *src, *a);
            run(operation, radius, *a, *b);
            expect_equal(*b, *a, "idempotence, radius " + std::to_string(radius));
        }
        run(GPV_ERODE_OPERATION_ERODE, radius, *src, *a);
        auto brighter = image();
        brighter->each_row([&](int p, std::int64_t y, std::uint8_t *row, std::int64_t bytes) {
            for (std::int64_t x = 0; x < bytes; x++)
                row[x] =
                    static_cast<std::uint8_t>(std::min(255, src->row(p, y)[x] + random_int(0, 40)));
        });
        run(GPV_ERODE_OPERATION_ERODE, radius, *brighter, *b);
        a->each_row([&](int p, std::int64_t y, std::uint8_t *row, std::int64_t bytes) {
            for (std::int64_t x = 0; x < bytes; x++)
                if (row[x] > b->row(p, y)[x])
                    fatal("erosion is not increasing, radius " + std::to_string(radius));
        });
    }
    std::printf("laws: duality, addition, idempotence and monotony hold\n");
}

void check_repeats(Operator &op) {
    GuardedImage src(GPV_FORMAT_NV12, 641, 479), first(GPV_FORMAT_NV12, 641, 479),
        again(GPV_FORMAT_NV12, 641, 479);
    fill(src, Content::noise);
    gpv_erode_params p;
    gpv_erode_params_init(&p, sizeof p);
    p.operation = GPV_ERODE_OPERATION_CLOSE;
    p.shape = GPV_ERODE_SHAPE_ELLIPSE;
    p.radius = 4;
    p.planes = GPV_ERODE_PLANES_ALL;
    op.run(p, src, first);
    for (int i = 0; i < 100; i++) {
        op.again(src, again);
        expect_equal(again, first, "repeat " + std::to_string(i));
    }
    std::printf("repeats: 100 equal\n");
}

/// Images whose bytes pass 2^31, or whose sides are the longest, compared with
/// the definition at random places, and everywhere with another, where one is given.
void check_large(Operator &op, gpv_format format, int width, int height,
                 const Reference &everywhere = nullptr) {
    GuardedImage src(format, width, height), dst(format, width, height);
    src.each_row([](int, std::int64_t y, std::uint8_t *row, std::int64_t bytes) {
        for (std::int64_t x = 0; x < bytes; x++)
            row[x] = static_cast<std::uint8_t>((x * 2654435761u ^ y * 40503u) >> 7);
    });
    struct Element {
        gpv_erode_shape shape;
        int rx, ry;
    };
    const int step = channels(format, 0);
    const int places = 20000;
    for (const Element e :
         {Element{GPV_ERODE_SHAPE_RECT, 2, 3}, Element{GPV_ERODE_SHAPE_RECT, 9, 12},
          Element{GPV_ERODE_SHAPE_ELLIPSE, 17, 13}}) {
        gpv_erode_params p;
        gpv_erode_params_init(&p, sizeof p);
        p.shape = e.shape;
        p.radius = e.rx;
        p.radius_y = e.ry;
        op.run(p, src, dst);
        for (int i = 0; i < places; i++) {
            // Every fourth place is in the last two rows, where an overflow would show, and of
            // these every second one in the last column.
            const int x = i % 8 ? random_int(0, width - 1) : width - 1;
            const int y =
                i % 4 ? random_int(0, height - 1) : std::max(0, height - 1 - random_int(0, 1));
            const int c = random_int(0, std::min(step, 3) - 1);
            std::uint8_t want = 255;
            for (int v = std::max(0, y - e.ry); v <= std::min(height - 1, y + e.ry); v++)
                for (int u = std::max(0, x - e.rx); u <= std::min(width - 1, x + e.rx); u++)
                    if (in_element(e.shape, u - x, v - y, e.rx, e.ry))
                        want = std::min(want, src.row(0, v)[std::int64_t{u} * step + c]);
            if (dst.row(0, y)[std::int64_t{x} * step + c] != want)
                fatal(describe(p, *src.view(), false) + ": wrong at " + std::to_string(x) + "," +
                      std::to_string(y));
        }
        if (everywhere) {
            GuardedImage want(format, width, height);
            everywhere(src, want, p);
            expect_equal(dst, want, describe(p, *src.view(), false));
        }
    }
    std::printf("large: %dx%d format %u equal at %d places%s\n", width, height, format, 3 * places,
                everywhere ? ", and everywhere what the CPU makes" : "");
}

// ---- threads --------------------------------------------------------------

/// Fills to with the part of from that begins at x and y, which are even.
void cut(const GuardedImage &from, int x, int y, GuardedImage &to) {
    const gpv_format format = from.view()->format;
    to.each_row([&](int plane, std::int64_t row, std::uint8_t *out, std::int64_t bytes) {
        const int per_sample = plane > 0 ? 2 : 1;
        const int step = channels(format, plane) * sample_bytes(format);
        std::memcpy(out, from.row(plane, y / per_sample + row) + x / per_sample * step, bytes);
    });
}

/// Compares a block of dst with the definition, applied to what the block depends on.
void expect_definition_at(const GuardedImage &src, const GuardedImage &dst,
                          const gpv_erode_params &p, int x, int y, const std::string &what) {
    const gpv_image &view = *src.view();
    const int block = 8;
    // Two passes, and a sample of chroma is two pixels.
    const int reach = 4 * p.iterations * std::max(p.radius, p.radius_y);
    const int left = std::max(0, x - reach), top = std::max(0, y - reach);
    const int width = std::min(view.width, x + block + reach) - left;
    const int height = std::min(view.height, y + block + reach) - top;
    GuardedImage part(view.format, width, height), want(view.format, width, height);
    cut(src, left, top, part);
    definition(part, want, p);
    const int columns = std::min(block, view.width - x), rows = std::min(block, view.height - y);
    GuardedImage wanted(view.format, columns, rows), got(view.format, columns, rows);
    cut(want, x - left, y - top, wanted);
    cut(dst, x, y, got);
    expect_equal(got, wanted, what + " at " + std::to_string(x) + "," + std::to_string(y));
}

struct ThreadCase {
    gpv_format format;
    int width, height;
    gpv_erode_operation operation;
    gpv_erode_shape shape;
    int radius_x, radius_y, iterations, threshold;
    gpv_erode_planes planes = GPV_ERODE_PLANES_AUTO;
};

/// Images that are worth several threads: each of their passes, and the steps
/// before and after, gives the same bytes on any number of them, those of the
/// definition where one looks; and a run after prepare allocates nothing.
void check_threads() {
    const auto rect = GPV_ERODE_SHAPE_RECT, cross = GPV_ERODE_SHAPE_CROSS,
               ellipse = GPV_ERODE_SHAPE_ELLIPSE;
    const std::vector<ThreadCase> all = {
        {GPV_FORMAT_GRAY8, 3001, 2003, GPV_ERODE_OPERATION_ERODE, rect, 2, 2, 1, 0},
        {GPV_FORMAT_GRAY8, 2003, 3001, GPV_ERODE_OPERATION_OPEN, rect, 4, 9, 1, 0},
        {GPV_FORMAT_GRAY8, 3001, 2003, GPV_ERODE_OPERATION_GRADIENT, cross, 3, 2, 2, 0},
        {GPV_FORMAT_GRAY8, 3001, 2003, GPV_ERODE_OPERATION_DILATE, cross, 5, 9, 1, 0},
        {GPV_FORMAT_GRAY8, 3001, 2003, GPV_ERODE_OPERATION_BLACKHAT, ellipse, 4, 3, 1, 0},
        {GPV_FORMAT_GRAY8, 4093, 4201, GPV_ERODE_OPERATION_ERODE, rect, 3, 3, 1, 128},
        {GPV_FORMAT_GRAY8, 4099, 4101, GPV_ERODE_OPERATION_TOPHAT, cross, 7, 5, 1, 100},
        {GPV_FORMAT_GRAY8, 2051, 1999, GPV_ERODE_OPERATION_CLOSE, ellipse, 3, 5, 1, 200},
        {GPV_FORMAT_GRAY16, 2001, 1501, GPV_ERODE_OPERATION_CLOSE, rect, 3, 6, 1, 0},
        {GPV_FORMAT_RGB8, 1501, 1003, GPV_ERODE_OPERATION_TOPHAT, rect, 6, 1, 1, 0},
        {GPV_FORMAT_RGBA8, 1501, 1003, GPV_ERODE_OPERATION_GRADIENT, rect, 2, 5, 1, 0},
        {GPV_FORMAT_BGRA8, 1501, 1003, GPV_ERODE_OPERATION_ERODE, rect, 1, 1, 1, 90},
        {GPV_FORMAT_NV12, 3001, 2003, GPV_ERODE_OPERATION_ERODE, rect, 1, 1, 1, 0},
        {GPV_FORMAT_NV12, 3001, 2003, GPV_ERODE_OPERATION_OPEN, rect, 4, 4, 1, 0,
         GPV_ERODE_PLANES_ALL},
        {GPV_FORMAT_I420, 3001, 2003, GPV_ERODE_OPERATION_DILATE, rect, 5, 5, 1, 140},
        // 16 threads would take more scratch than they may.
        {GPV_FORMAT_RGBA8, 1501, 1103, GPV_ERODE_OPERATION_ERODE, ellipse, 255, 255, 1, 0},
    };
    const std::vector<ThreadCase> cases = some_of(all, 3);
    for (const ThreadCase &c : cases) {
        gpv_erode_params p;
        gpv_erode_params_init(&p, sizeof p);
        p.operation = c.operation;
        p.shape = c.shape;
        p.radius = c.radius_x;
        p.radius_y = c.radius_y;
        p.iterations = c.iterations;
        p.threshold = c.threshold;
        p.planes = c.planes;
        p.border = static_cast<gpv_erode_border>(random_int(0, 1));
        GuardedImage src(c.format, c.width, c.height), want(c.format, c.width, c.height);
        fill(src, Content::noise);
        Operator one;
        with_threads(1, [&] { one.run(p, src, want); });
        const std::string what = describe(p, *src.view(), false);
        const int places = c.radius_x < 20 ? 5 : 0; // the definition is slow
        for (int i = 0; i < places; i++) {
            const auto even = [](int end) { return random_int(0, (end - 1) / 2) * 2; };
            expect_definition_at(src, want, p, i ? even(c.width) : (c.width - 1) / 2 * 2,
                                 i ? even(c.height) : (c.height - 1) / 2 * 2, what);
        }
        for (int threads : {2, 3, 16}) {
            GuardedImage dst(c.format, c.width, c.height, random_int(0, 70), random_int(0, 9));
            GuardedImage same(c.format, c.width, c.height, random_int(0, 70), random_int(0, 9));
            same.copy_pixels_from(src);
            const std::string many = what + " on " + std::to_string(threads) + " threads";
            Operator op;
            with_threads(threads, [&] {
                op.prepare(p, *src.view());
                const int prepared = op.context().allocations();
                op.again(src, dst);
                op.again(same, same);
                if (op.context().allocations() != prepared)
                    fatal(many + ": allocated after prepare");
            });
            expect_equal(dst, want, many);
            expect_equal(same, want, many + " in place");
        }
    }
    std::printf("threads: %zu cases equal on 1, 2, 3 and 16\n", cases.size());
}

/// What the bands take does not grow with the threads without end.
void check_scratch() {
    const std::uint64_t limit = 256 << 20;
    struct Large {
        gpv_format format;
        int side;
        gpv_erode_shape shape;
        int iterations;
    };
    for (const Large l : {Large{GPV_FORMAT_RGBA8, 4096, GPV_ERODE_SHAPE_ELLIPSE, 1},
                          Large{GPV_FORMAT_GRAY16, 16384, GPV_ERODE_SHAPE_ELLIPSE, 1},
                          Large{GPV_FORMAT_GRAY8, 16384, GPV_ERODE_SHAPE_RECT, 100}})
        for (std::uint64_t fewer = 0; int threads : {1, 2, 64}) {
            gpv_erode_params p;
            gpv_erode_params_init(&p, sizeof p);
            p.shape = l.shape;
            p.radius = 255;
            p.iterations = l.iterations;
            gpv_image like;
            gpv_image_init(&like, sizeof like);
            like.format = l.format;
            like.width = like.height = l.side;
            Operator op;
            with_threads(threads, [&] { op.prepare(p, like); });
            std::int64_t row_bytes, rows;
            require(gpv_format_plane(l.format, 0, l.side, l.side, &row_bytes, &rows), nullptr,
                    "gpv_format_plane");
            if (op.context().largest_allocation() >
                limit + static_cast<std::uint64_t>(row_bytes * rows))
                fatal(describe(p, like, false) + " on " + std::to_string(threads) +
                      " threads takes " + std::to_string(op.context().largest_allocation()) +
                      " bytes");
            if (threads <= 2 && op.context().allocated() <= fewer)
                fatal(describe(p, like, false) + " does not run on 2 threads");
            fewer = op.context().allocated();
        }
    std::printf("scratch: within a plane's size and 256 MiB on 1, 2 and 64 threads\n");
}

// ---- CUDA -----------------------------------------------------------------

#ifdef HAVE_CUDA

/// Of two images, with how each lies in memory.
std::string describe(const gpv_erode_params &p, const GuardedImage &src, const GuardedImage &dst) {
    return describe(p, *src.view(), false) + ", from " + place_of(*src.view()) + " to " +
           place_of(*dst.view());
}

/// Random images of some size, on which the CPU backend is the reference.
void compare_with_cpu(Operator &op, int count, int largest_side) {
    Operator cpu;
    for (int i = 0; i < count; i++) {
        const gpv_format format = random_of(picture_formats);
        const gpv_erode_params p =
            random_params(random_int(0, 9) ? random_int(1, 40) : 255, format);
        const int width = random_int(1, largest_side), height = random_int(1, largest_side);
        GuardedImage src(format, width, height, random_int(0, 70), random_int(0, 20)),
            dst(format, width, height, random_int(0, 70), random_int(0, 20)),
            want(format, width, height);
        fill(src, random_int(0, 2) ? Content::noise : static_cast<Content>(random_int(0, 5)));
        cpu.run(p, src, want);
        if (random_int(0, 3) == 0) {
            op.run(p, src, src);
            expect_equal(src, want, "CUDA, " + describe(p, *src.view(), true));
        } else {
            op.run(p, src, dst);
            expect_equal(dst, want, "CUDA, " + describe(p, src, dst));
        }
    }
    std::printf("CUDA: %d random cases equal to the CPU\n", count);
}

/// Squares and rectangles, the paths that are tuned: every small radius, every
/// alignment of both images, sizes around those of tiles.
void check_squares(Operator &op, const std::vector<int> &widths, const std::vector<int> &heights,
                   int cases_per_radius) {
    Operator cpu;
    const std::vector<gpv_format> tuned = {GPV_FORMAT_GRAY8, GPV_FORMAT_GRAY8, GPV_FORMAT_RGB8,
                                           GPV_FORMAT_NV12, GPV_FORMAT_RGBA8};
    int cases = 0;
    for (int radius :
         {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 25, 30, 31, 32, 33, 62, 63, 100})
        for (int i = 0; i < cases_per_radius; i++, cases++) {
            gpv_erode_params p;
            gpv_erode_params_init(&p, sizeof p);
            p.operation = random_int(0, 1) ? GPV_ERODE_OPERATION_ERODE : GPV_ERODE_OPERATION_DILATE;
            p.radius = radius;
            p.radius_y = random_int(0, 2) ? radius : random_int(0, 40);
            p.threshold = random_int(0, 2) ? 0 : random_int(1, 255);
            p.border = static_cast<gpv_erode_border>(random_int(0, 1));
            const gpv_format format = random_of(tuned);
            const int width = random_of(widths), height = random_of(heights);
            const auto image = [&] {
                const int row = width * channels(format, 0);
                return GuardedImage(format, width, height,
                                    random_int(0, 1) ? 16 - row % 16 : random_int(0, 33),
                                    random_int(0, 1) * random_int(0, 16));
            };
            GuardedImage src = image(), dst = image(), want(format, width, height);
            fill(src, p.threshold && random_int(0, 1) ? Content::sparse : Content::noise);
            cpu.run(p, src, want);
            op.run(p, src, dst);
            expect_equal(dst, want, "CUDA, " + describe(p, src, dst));
        }
    std::printf("CUDA: %d squares and rectangles equal to the CPU\n", cases);
}

/// Images of several tiles across and down, with some that touch no side of the image; from the
/// small and from the large tiles; with every mix of alignments.
void check_tiles(Operator &op, bool brief) {
    struct Images {
        gpv_format format;
        int width, height;
        std::vector<int> radii;
    };
    const std::vector<int> few = {3, 9}, all = {1, 3, 6, 7, 8, 9, 12, 13, 25, 31};
    const Images cases[] = {{GPV_FORMAT_GRAY8, 777, 130, brief ? few : all},
                            {GPV_FORMAT_RGB8, 333, 100, brief ? few : all},
                            {GPV_FORMAT_RGBA8, 333, 100, brief ? few : all},
                            {GPV_FORMAT_GRAY8, 4100, 1000, brief ? std::vector<int>{13} : all}};
    struct Lie {
        bool padded; ///< to a stride that is a multiple of 16
        int offset;
    };
    const Lie lies[] = {{true, 0}, {true, 4}, {true, 6}, {false, 0}, {false, 3}};
    Operator cpu;
    int count = 0;
    for (const Images &c : cases)
        for (int radius : c.radii)
            for (int threshold : {0, 100}) {
                if (threshold && c.format != GPV_FORMAT_GRAY8)
                    continue;
                gpv_erode_params p;
                gpv_erode_params_init(&p, sizeof p);
                p.radius = radius;
                p.threshold = threshold;
                GuardedImage pixels(c.format, c.width, c.height), want(c.format, c.width, c.height);
                fill(pixels, threshold ? Content::sparse : Content::noise);
                cpu.run(p, pixels, want);
                const auto lying = [&](const Lie &lie) {
                    const int row = c.width * channels(c.format, 0);
                    return GuardedImage(c.format, c.width, c.height,
                                        lie.padded ? 16 - row % 16
                                        : row % 16 ? 0
                                                   : 1,
                                        lie.offset);
                };
                for (const Lie &from : lies) {
                    GuardedImage src = lying(from);
                    src.copy_pixels_from(pixels);
                    for (const Lie &to : lies) {
                        // The large images take the emulation and racecheck long.
                        if (brief && c.width > 1000 &&
                            (from.offset > 0 || to.offset > 0 || !to.padded))
                            continue;
                        GuardedImage dst = lying(to);
                        op.run(p, src, dst);
                        expect_equal(dst, want, "CUDA, " + describe(p, src, dst));
                        count++;
                    }
                }
            }
    std::printf("CUDA: %d images of several tiles equal to the CPU\n", count);
}

/// Images that fill their memory to the last byte, of few columns above all.
void check_tight(int count) {
    Operator cpu, op(GPV_BACKEND_CUDA, Place::device_tight);
    for (int i = 0; i < count; i++) {
        const gpv_format format = random_of(picture_formats);
        gpv_erode_params p = random_params(random_int(0, 3) ? 9 : 40, format);
        const int width = random_int(1, random_int(0, 2) ? 24 : 400), height = random_int(1, 40);
        GuardedImage src(format, width, height, random_int(0, 1) * random_int(0, 9)),
            dst(format, width, height), want(format, width, height);
        fill(src, Content::noise);
        cpu.run(p, src, want);
        op.run(p, src, dst);
        expect_equal(dst, want, "CUDA, tight, " + describe(p, src, dst));
    }
    std::printf("CUDA: %d images without a byte to spare equal to the CPU\n", count);
}

void check_prepared(Place place) {
    for (gpv_erode_shape shape :
         {GPV_ERODE_SHAPE_RECT, GPV_ERODE_SHAPE_CROSS, GPV_ERODE_SHAPE_ELLIPSE})
        for (int threshold : {0, 100}) {
            gpv_erode_params p;
            gpv_erode_params_init(&p, sizeof p);
            p.operation = GPV_ERODE_OPERATION_TOPHAT;
            p.shape = shape;
            p.radius = 5;
            p.threshold = threshold;
            GuardedImage src(GPV_FORMAT_NV12, 150, 70), dst(GPV_FORMAT_NV12, 150, 70);
            fill(src, Content::noise);
            Operator op(GPV_BACKEND_CUDA, place);
            op.prepare(p, *src.view());
            const int prepared = op.context().allocations();
            op.again(src, dst);
            op.again(src, src);
            if (op.context().allocations() != prepared)
                fatal("CUDA: allocated after prepare, " + describe(p, *src.view(), false));
        }
    std::printf("CUDA: no scratch is allocated after prepare\n");
}

/// Runs that become part of the caller's graph, and runs on two streams, of one operator and of
/// two.
class StreamChecks {
  public:
    void check_captured() {
        gpv_erode_params p;
        gpv_erode_params_init(&p, sizeof p);
        p.operation = GPV_ERODE_OPERATION_GRADIENT;
        p.radius = 4;
        bool refused = false;
        for (gpv_erode_shape shape :
             {GPV_ERODE_SHAPE_RECT, GPV_ERODE_SHAPE_CROSS, GPV_ERODE_SHAPE_ELLIPSE})
            for (int threshold : {0, 100}) {
                p.shape = shape;
                p.threshold = threshold;
                refused = expect_captured(p) || refused;
            }
        expect(refused, "a captured run that needs memory is refused");
        std::printf("CUDA: captured\n");
    }

    /// In place, one run on the result of the other, on alternating streams.
    void check_alternating() {
        gpv_erode_params p;
        gpv_erode_params_init(&p, sizeof p);
        p.radius = 4;
        set(p);
        GuardedImage host = noise(), want = blank();
        DeviceImage image;
        image.upload(host);
        for (int i = 0; i < 4; i++)
            require(gpv_erode_run(op_, streams_[i % 2], image.view(), image.view()), context_,
                    "gpv_erode_run");
        require(gpv_erode_wait(op_), context_, "gpv_erode_wait");
        require(gpv_erode_query(op_), context_, "gpv_erode_query");
        p.radius = 16;
        Operator().run(p, host, want);
        image.download(host);
        expect_equal(host, want, "CUDA, two streams");
        std::printf("CUDA: on two streams\n");
    }

    /// Likewise, but by two operators, which do not know of each other.
    void check_following() {
        gpv_erode_params p;
        gpv_erode_params_init(&p, sizeof p);
        p.radius = 4;
        set(p);
        const Op second(context_);
        require(gpv_erode_set_params(second, &p), context_, "gpv_erode_set_params");
        GuardedImage host = noise(), want = blank();
        DeviceImage image;
        image.upload(host);
        for (int i = 0; i < 4; i++) {
            const cudaStream_t stream = streams_[i % 2], leader = streams_[(i + 1) % 2];
            require(gpv_stream_follow(context_, stream, leader), context_, "gpv_stream_follow");
            require(gpv_erode_run(i % 2 ? second : op_, stream, image.view(), image.view()),
                    context_, "gpv_erode_run");
        }
        require(gpv_stream_sync(context_, streams_[1]), context_, "gpv_stream_sync");
        p.radius = 16;
        Operator().run(p, host, want);
        image.download(host);
        expect_equal(host, want, "CUDA, a stream that follows another");
        std::printf("CUDA: on streams that follow each other\n");
    }

  private:
    static GuardedImage blank() { return GuardedImage(GPV_FORMAT_NV12, 211, 83); }
    static GuardedImage noise() {
        GuardedImage image = blank();
        fill(image, Content::noise);
        return image;
    }
    void set(const gpv_erode_params &p) {
        require(gpv_erode_set_params(op_, &p), context_, "gpv_erode_set_params");
    }
    /// Whether the run was refused before it was prepared, as it must be if it needs memory.
    bool expect_captured(const gpv_erode_params &p) {
        const GuardedImage host = noise();
        GuardedImage want = blank(), got = blank();
        Operator().run(p, host, want);
        DeviceImage src, dst;
        src.upload(host);
        dst.upload(got);
        const std::string what = describe(p, *src.view(), false);
        const Enqueue enqueue = [&](cudaStream_t stream, int) {
            return gpv_erode_run(op_, stream, src.view(), dst.view()) == GPV_OK;
        };
        set(p);
        const bool refused = !streams_.can_capture(enqueue);
        require(gpv_erode_prepare(op_, src.view()), context_, "gpv_erode_prepare");
        expect(streams_.run_captured(enqueue, context_), "a prepared run can be captured, " + what);
        dst.download(got);
        expect_equal(got, want, "CUDA, captured, " + what);
        return refused;
    }

    const Streams streams_;
    const PlainContext context_{GPV_BACKEND_CUDA};
    const Op op_{context_};
};

/// brief: as much as the emulation of a GPU can do in a short time.
void check_cuda(bool brief) {
    const int scale = brief ? 1 : full_run() ? 100 : short_run() ? 3 : 20;
    const std::vector<int> widths = {1, 17, 63, 64, 130, 200, 333}, heights = {1, 15, 33, 70};
    const std::vector<int> wide = {1, 33, 255, 447, 448, 449, 777, 1001, 1920, 2500},
                           high = {1, 33, 70, 129, 333, 517, 1080};
    for (const Place place : places({Place::device, Place::host})) {
        Operator op(GPV_BACKEND_CUDA, place);
        std::printf("== %s, images in %s memory\n", op.context().device(),
                    place == Place::host ? "host" : "CUDA");
        // Under racecheck one place has to meet as many kernels as otherwise two.
        compare_with_definition(op, shortened(40 * scale, kernels_alone() ? 1 : 2));
        compare_with_cpu(op, shortened(15 * scale, 2), brief ? 150 : 1500);
        if (!kernels_alone())
            check_prepared(place);
    }
    Operator op(GPV_BACKEND_CUDA, Place::device);
    check_squares(op, brief ? widths : wide, brief ? heights : high, brief ? 3 : scale);
    check_tiles(op, brief);
    if (kernels_alone())
        return;
    check_tight(shortened(brief ? 60 : 20 * scale, 2));
    StreamChecks().check_captured();
    StreamChecks().check_alternating();
    StreamChecks().check_following();
    if (brief)
        return;
    check_laws(op);
    check_repeats(op);
    Operator cpu;
    const Reference by_cpu = [&](const GuardedImage &src, GuardedImage &dst,
                                 const gpv_erode_params &p) { cpu.run(p, src, dst); };
    for (const Sizes &sizes : {narrow_sizes(), small_squares, squares, large_squares, vast_squares})
        check_sizes(op, some_of(sizes), 20, by_cpu);
    check_patterns(op, {{61, 53}, {1919, 1079}, {4096, 4096}}, by_cpu);
    check_large(op, GPV_FORMAT_GRAY8, GPV_MAX_SIDE, 3, by_cpu);
    check_large(op, GPV_FORMAT_GRAY8, 3, GPV_MAX_SIDE, by_cpu);
    check_large(op, GPV_FORMAT_RGBA8, 23171, 23171, by_cpu); // more bytes than 2^31
    if (!short_run())
        check_large(op, GPV_FORMAT_GRAY8, GPV_MAX_SIDE, GPV_MAX_SIDE, by_cpu);
}

#endif

// ---- OpenCV ---------------------------------------------------------------

#ifdef HAVE_OPENCV

int cv_operation(gpv_erode_operation operation) {
    static const int operations[] = {cv::MORPH_ERODE,   cv::MORPH_DILATE,   cv::MORPH_OPEN,
                                     cv::MORPH_CLOSE,   cv::MORPH_GRADIENT, cv::MORPH_TOPHAT,
                                     cv::MORPH_BLACKHAT};
    return operations[operation];
}

cv::Mat cv_element(gpv_erode_shape shape, int rx, int ry) {
    static const int shapes[] = {cv::MORPH_RECT, cv::MORPH_CROSS, cv::MORPH_ELLIPSE};
    return cv::getStructuringElement(shapes[shape], {2 * rx + 1, 2 * ry + 1});
}

cv::Mat cv_view(const GuardedImage &image) {
    const gpv_image *v = image.view();
    const int type = v->format == GPV_FORMAT_GRAY16 ? CV_16UC1 : CV_8UC(channels(v->format, 0));
    return cv::Mat(v->height, v->width, type, v->data[0], static_cast<std::size_t>(v->stride[0]));
}

/// Of the formats whose channels OpenCV treats alike; binary ones of 8-bit grey.
void by_opencv(const GuardedImage &src, GuardedImage &dst, const gpv_erode_params &p) {
    cv::Mat from = cv_view(src), to = cv_view(dst), mask;
    if (p.threshold > 0)
        cv::threshold(from, mask, p.threshold - 1, 255, cv::THRESH_BINARY);
    cv::morphologyEx(p.threshold > 0 ? mask : from, to, cv_operation(p.operation),
                     cv_element(p.shape, p.radius, p.radius_y), {-1, -1}, p.iterations,
                     cv::BORDER_CONSTANT,
                     p.border == GPV_ERODE_BORDER_BACKGROUND ? cv::Scalar::all(0)
                                                             : cv::morphologyDefaultBorderValue());
}

void compare_with_opencv(Operator &op, int count) {
    static const std::vector<gpv_format> same_channels = {GPV_FORMAT_GRAY8, GPV_FORMAT_GRAY16,
                                                          GPV_FORMAT_RGB8, GPV_FORMAT_BGR8};
    for (int i = 0; i < count; i++) {
        const gpv_format format = random_of(same_channels);
        gpv_erode_params p = random_params(random_int(1, 40), format);
        p.threshold = 0;
        p.radius_y = std::max(p.radius_y, 0);
        const int width = random_int(1, 700), height = random_int(1, 300);
        GuardedImage src(format, width, height, random_int(0, 70), random_int(0, 9)),
            dst(format, width, height), want(format, width, height);
        fill(src, Content::noise);
        by_opencv(src, want, p);
        op.run(p, src, dst);
        expect_equal(dst, want, "OpenCV, " + describe(p, *dst.view(), false));
    }
    std::printf("OpenCV %s: %d random cases equal\n", CV_VERSION, count);
}

/// Large images, grey and binary: noise, and one line that fills the image.
void compare_sizes_with_opencv(Operator &op, const Sizes &sizes) {
    for (const auto &[width, height] : sizes) {
        const GuardedImage noise = granular(width, height, 1, 90, 200),
                           line = spiral(width, height);
        GuardedImage dst(GPV_FORMAT_GRAY8, width, height), want(GPV_FORMAT_GRAY8, width, height);
        for (const int i : {0, 1, 2, 3}) {
            const GuardedImage &src = i % 2 ? line : noise;
            gpv_erode_params p = random_params(0, GPV_FORMAT_GRAY8);
            p.shape = GPV_ERODE_SHAPE_RECT; // OpenCV is slow with others
            p.radius = random_int(1, 9);
            p.radius_y = random_int(0, 9);
            p.threshold = i < 2 ? 0 : 100;
            by_opencv(src, want, p);
            op.run(p, src, dst);
            expect_equal(dst, want, "OpenCV, " + describe(p, *dst.view(), false));
        }
    }
    std::printf("OpenCV: %zu sizes equal, %dx%d the last\n", sizes.size(), sizes.back()[0],
                sizes.back()[1]);
}

/// Every element up to the largest radius, read off the dilation of one pixel. In the short run
/// every eighth.
void compare_elements_with_opencv(Operator &op) {
    const int side = 2 * 255 + 1;
    GuardedImage point(GPV_FORMAT_GRAY8, side, side), element(GPV_FORMAT_GRAY8, side, side);
    fill(point, Content::black);
    point.row(0, 255)[255] = 255;
    int count = 0;
    for (int radius = 255; radius >= 0; radius -= short_run() ? 8 : 1)
        for (int ry : {radius, radius / 2, 255 - radius}) {
            count++;
            gpv_erode_params p;
            gpv_erode_params_init(&p, sizeof p);
            p.operation = GPV_ERODE_OPERATION_DILATE;
            p.shape = GPV_ERODE_SHAPE_ELLIPSE;
            p.radius = radius;
            p.radius_y = ry;
            op.run(p, point, element);
            const cv::Mat want = 255 * cv_element(p.shape, radius, ry);
            const cv::Mat got =
                cv_view(element)(cv::Rect(255 - radius, 255 - ry, 2 * radius + 1, 2 * ry + 1));
            if (cv::countNonZero(got != want) != 0 ||
                cv::countNonZero(cv_view(element)) != cv::countNonZero(want))
                fatal("the ellipse of radius " + std::to_string(radius) + "x" + std::to_string(ry) +
                      " is not OpenCV's");
        }
    std::printf("OpenCV: %d elliptic elements equal\n", count);
}

#endif

// ---- benchmark ------------------------------------------------------------

/// (2n+1)^2 comparisons a pixel, as plain serial code does it.
void serial_erosion(const std::uint8_t *src, std::uint8_t *dst, int width, int height, int n) {
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            std::uint8_t value = 255;
            for (int v = std::max(0, y - n); v <= std::min(height - 1, y + n); v++)
                for (int u = std::max(0, x - n); u <= std::min(width - 1, x + n); u++)
                    value = std::min(value, src[std::size_t(v) * width + u]);
            dst[std::size_t(y) * width + x] = value;
        }
}

struct Case {
    const char *name;
    gpv_format format;
    gpv_erode_operation operation;
    gpv_erode_shape shape;
    int threshold;

    gpv_erode_params params(int radius) const {
        gpv_erode_params p;
        gpv_erode_params_init(&p, sizeof p);
        p.operation = operation;
        p.shape = shape;
        p.radius = radius;
        p.threshold = threshold;
        return p;
    }
};

class Benchmark {
  public:
    explicit Benchmark(Report &report) : report_(report) {}

    void compare(const Case &c, int width, int height, int radius, int threads) {
        GuardedImage src(c.format, width, height), dst(c.format, width, height);
        fill(src, Content::noise);
        const gpv_erode_params p = c.params(radius);
        tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
        op_.run(p, src, dst);

        std::vector<std::function<void()>> candidates = {[&] { op_.again(src, dst); },
                                                         [&] { dst.copy_planes_from(src); }};
        std::string peer;
#ifdef HAVE_OPENCV
        cv::setNumThreads(threads);
        peer = "OpenCV " CV_VERSION;
        cv::Mat from = cv_view(src), to = cv_view(dst), mask;
        const cv::Mat element = cv_element(c.shape, radius, radius);
        candidates.push_back([&] {
            if (c.threshold > 0)
                cv::threshold(from, mask, c.threshold - 1, 255, cv::THRESH_BINARY);
            cv::morphologyEx(c.threshold > 0 ? mask : from, to, cv_operation(c.operation), element);
        });
#endif
        const auto times = time_in_turn(candidates);
        report_.add({std::string(c.name) + " n=" + std::to_string(radius), size_name(width, height),
                     threads, times[0], peer, peer.empty() ? Timing{} : times[2], times[1].median});
    }

    /// The table of the source paper: square elements beside plain serial code.
    void compare_with_serial(int width, int height, int radius) {
        const int threads = tbb::info::default_concurrency();
        GuardedImage src(GPV_FORMAT_GRAY8, width, height), dst(GPV_FORMAT_GRAY8, width, height);
        fill(src, Content::sparse);
        gpv_erode_params p;
        gpv_erode_params_init(&p, sizeof p);
        p.radius = radius;
        p.threshold = 128;
        op_.run(p, src, dst);
        const auto fast =
            time_in_turn({[&] { op_.again(src, dst); }, [&] { dst.copy_planes_from(src); }});
        const auto slow = time_in_turn(
            {[&] { serial_erosion(src.row(0, 0), dst.row(0, 0), width, height, radius); }}, 3, 0);
        report_.add({"binary n=" + std::to_string(radius), size_name(width, height), threads,
                     fast[0], "serial", slow[0], fast[1].median});
    }

  private:
    Operator op_;
    Report &report_;
};

// ---- benchmark on a GPU ---------------------------------------------------

#ifdef HAVE_CUDA

#    ifdef HAVE_NPP
/// NPP's erosions of 8-bit grey by a square. They leave out a margin, where
/// they would read outside the image, and so have a little less to do.
class Npp {
  public:
    explicit Npp(int radius) : radius_(radius) {
        const std::size_t bytes = static_cast<std::size_t>(side() * side());
        require(cudaMalloc(&mask_, bytes), "cudaMalloc");
        require(cudaMemset(mask_, 1, bytes), "cudaMemset");
    }
    ~Npp() { cudaFree(mask_); }
    Npp(const Npp &) = delete;
    Npp &operator=(const Npp &) = delete;

    struct Variant {
        const char *name;
        std::function<NppStatus(const Npp &, const Npp8u *, int, Npp8u *, int, NppiSize)> run;
    };
    static std::vector<Variant> variants(int radius) {
        std::vector<Variant> result = {
            {"NPP FilterMin",
             [](const Npp &n, const Npp8u *src, int pitch, Npp8u *dst, int to, NppiSize size) {
                 return nppiFilterMin_8u_C1R_Ctx(src, pitch, dst, to, size, {n.side(), n.side()},
                                                 {n.radius_, n.radius_}, n.context_);
             }},
            {"NPP Erode",
             [](const Npp &n, const Npp8u *src, int pitch, Npp8u *dst, int to, NppiSize size) {
                 return nppiErode_8u_C1R_Ctx(
                     src, pitch, dst, to, size, static_cast<const Npp8u *>(n.mask_),
                     {n.side(), n.side()}, {n.radius_, n.radius_}, n.context_);
             }},
        };
        if (radius == 1)
            result.push_back(
                {"NPP Erode3x3",
                 [](const Npp &n, const Npp8u *src, int pitch, Npp8u *dst, int to, NppiSize size) {
                     return nppiErode3x3_8u_C1R_Ctx(src, pitch, dst, to, size, n.context_);
                 }});
        return result;
    }
    bool enqueue(const Variant &variant, cudaStream_t stream, const gpv_image &src,
                 const gpv_image &dst) {
        context_.hStream = stream;
        constexpr int margin = 64; // pixels, so that NPP's rows begin at aligned addresses as well
        const auto inner = [&](const gpv_image &image) {
            return static_cast<Npp8u *>(image.data[0]) + radius_ * image.stride[0] + margin;
        };
        const NppiSize size = {src.width - margin - radius_, src.height - 2 * radius_};
        return variant.run(*this, inner(src), static_cast<int>(src.stride[0]), inner(dst),
                           static_cast<int>(dst.stride[0]), size) == NPP_SUCCESS;
    }

  private:
    int side() const { return 2 * radius_ + 1; }
    int radius_;
    void *mask_ = nullptr;
    NppStreamContext context_ = npp_context();
};
#    endif

class GpuBenchmark {
  public:
    explicit GpuBenchmark(Report &report) : report_(report) {}

    /// padding: bytes behind each row; -1: rows start at multiples of 128.
    void compare(const Case &c, int width, int height, const std::vector<int> &radii,
                 int padding = -1, int offset = 0) {
        const bool aligned = padding < 0;
        const GuardedImage image =
            noise(c, width, height, aligned ? padding_to_128(c, width) : padding, offset);
        const ColdImages images(image, image);
        for (int radius : radii) {
            const auto times = time_on_device(ours_and_copy(c, radius, images), images.repeats());
            report_.add({std::string(c.name) + " n=" + std::to_string(radius),
                         size_name(width, height) +
                             (aligned ? ""
                                      : " +" + std::to_string(offset) + ", stride " +
                                            std::to_string(images.src(0).view()->stride[0])),
                         0,
                         times[0],
                         "",
                         {},
                         times[1].median});
        }
    }

#    ifdef HAVE_NPP
    /// Erosion of 8-bit grey by a square, in turn with the functions that NPP has for it.
    void compare_with_npp(int width, int height, const std::vector<int> &radii) {
        const Case grey = {"beside NPP: grey", GPV_FORMAT_GRAY8, GPV_ERODE_OPERATION_ERODE,
                           GPV_ERODE_SHAPE_RECT, 0};
        const GuardedImage image = noise(grey, width, height, padding_to_128(grey, width), 0);
        const ColdImages images(image, image);
        for (int radius : radii) {
            Npp npp(radius);
            const auto variants = Npp::variants(radius);
            auto candidates = ours_and_copy(grey, radius, images);
            for (const Npp::Variant &variant : variants)
                candidates.push_back([&](cudaStream_t stream, int i) {
                    return npp.enqueue(variant, stream, *images.src(i).view(),
                                       *images.dst(i).view());
                });
            const auto times = time_on_device(candidates, images.repeats());
            const auto fastest =
                std::min_element(times.begin() + 2, times.end(),
                                 [](auto &a, auto &b) { return a.median < b.median; });
            report_.add({std::string(grey.name) + " n=" + std::to_string(radius),
                         size_name(width, height), 0, times[0],
                         variants[fastest - times.begin() - 2].name, *fastest, times[1].median});
        }
    }
#    endif

    /// From host memory to host memory, one frame after the other.
    void compare_from_host(const Case &c, int width, int height, int radius) {
        GuardedImage src(c.format, width, height), dst(c.format, width, height);
        fill(src, Content::noise);
        Operator gpu(GPV_BACKEND_CUDA, Place::host);
        const gpv_erode_params p = c.params(radius);
        gpu.run(p, src, dst);
        Operator cpu;
        cpu.run(p, src, dst);
        const auto times = time_in_turn({[&] { gpu.again(src, dst); }, [&] { cpu.again(src, dst); },
                                         [&] { dst.copy_planes_from(src); }});
        report_.add({std::string(c.name) + " host to host n=" + std::to_string(radius),
                     size_name(width, height), 0, times[0], "our CPU backend", times[1],
                     times[2].median});
    }

  private:
    static int padding_to_128(const Case &c, int width) {
        return -width * channels(c.format, 0) & 127;
    }
    static GuardedImage noise(const Case &c, int width, int height, int padding, int offset) {
        GuardedImage image(c.format, width, height, padding, offset);
        fill(image, Content::noise);
        return image;
    }

    /// An operation of the library, prepared, and a copy of the same bytes.
    std::vector<Enqueue> ours_and_copy(const Case &c, int radius, const ColdImages &images) {
        const gpv_erode_params p = c.params(radius);
        require(gpv_erode_set_params(op_, &p), context_, "gpv_erode_set_params");
        require(gpv_erode_prepare(op_, images.src(0).view()), context_, "gpv_erode_prepare");
        return {[this, &images](cudaStream_t stream, int i) {
                    return gpv_erode_run(op_, stream, images.src(i).view(), images.dst(i).view()) ==
                           GPV_OK;
                },
                [&images](cudaStream_t stream, int i) {
                    return cudaMemcpyAsync(images.dst(i).memory(), images.src(i).memory(),
                                           images.copied(), cudaMemcpyDeviceToDevice,
                                           stream) == cudaSuccess;
                }};
    }

    Report &report_;
    const PlainContext context_{GPV_BACKEND_CUDA};
    const Op op_{context_};
};

void benchmark_gpu(Report &report) {
    GpuBenchmark bench(report);
    const auto erode = GPV_ERODE_OPERATION_ERODE;
    const auto rect = GPV_ERODE_SHAPE_RECT;
    const Case grey = {"grey", GPV_FORMAT_GRAY8, erode, rect, 0};
    const Case binary = {"binary", GPV_FORMAT_GRAY8, erode, rect, 128};
    const Case rgb = {"RGB", GPV_FORMAT_RGB8, erode, rect, 0};
    const Case rgba = {"RGBA", GPV_FORMAT_RGBA8, erode, rect, 0};
    const std::vector<int> radii = {1, 2, 3, 4, 5, 6, 8, 12, 16, 25, 31}, few = {1, 6, 12, 25};
    bench.compare({"floor: grey", GPV_FORMAT_GRAY8, erode, rect, 0}, 64, 32, {1});
    bench.compare(grey, 1920, 1080, radii);
    bench.compare(binary, 1920, 1080, radii);
    bench.compare(grey, 7350, 5700, radii);
    bench.compare(binary, 7350, 5700, radii);
    bench.compare(rgb, 1920, 1080, radii);
    bench.compare(rgba, 1920, 1080, radii);
    bench.compare(grey, 7350, 5700, few, 74, 3);
    bench.compare(grey, 7350, 5700, few, 0, 0);
    bench.compare(binary, 7350, 5700, few, 0, 3);
    bench.compare(grey, 1920, 1080, few, 1, 1);
    bench.compare(rgb, 1920, 1080, few, 1, 1);
    bench.compare(rgba, 1920, 1080, few, 1, 1);
    bench.compare(rgba, 1920, 1080, few, 0, 2);
    bench.compare(binary, 1024, 1024, {1, 2, 3, 4, 5, 6});
    const Case others[] = {
        {"NV12", GPV_FORMAT_NV12, erode, rect, 0},
        {"16-bit grey", GPV_FORMAT_GRAY16, erode, rect, 0},
        {"open", GPV_FORMAT_GRAY8, GPV_ERODE_OPERATION_OPEN, rect, 0},
        {"gradient", GPV_FORMAT_GRAY8, GPV_ERODE_OPERATION_GRADIENT, rect, 0},
        {"cross", GPV_FORMAT_GRAY8, erode, GPV_ERODE_SHAPE_CROSS, 0},
        {"ellipse", GPV_FORMAT_GRAY8, erode, GPV_ERODE_SHAPE_ELLIPSE, 0},
    };
    for (const Case &c : others)
        bench.compare(c, 1920, 1080, {1, 6, 25});
    bench.compare_from_host(grey, 1920, 1080, 1);
    bench.compare_from_host({"NV12", GPV_FORMAT_NV12, erode, rect, 0}, 1920, 1080, 1);
#    ifdef HAVE_NPP
    // Last, because after NPP every node of a graph takes longer, on an H200 0.3 us: ours, the
    // copies and NPP's own.
    bench.compare_with_npp(1920, 1080, radii);
    bench.compare_with_npp(7350, 5700, radii);
#    endif
}

#endif

void benchmark_cpu(Report &report) {
    Benchmark bench(report);
    const int all = tbb::info::default_concurrency();
    const Case grey = {"grey", GPV_FORMAT_GRAY8, GPV_ERODE_OPERATION_ERODE, GPV_ERODE_SHAPE_RECT,
                       0};
    const Case binary = {"binary", GPV_FORMAT_GRAY8, GPV_ERODE_OPERATION_ERODE,
                         GPV_ERODE_SHAPE_RECT, 128};
    const Case others[] = {
        {"RGB", GPV_FORMAT_RGB8, GPV_ERODE_OPERATION_ERODE, GPV_ERODE_SHAPE_RECT, 0},
        {"16-bit grey", GPV_FORMAT_GRAY16, GPV_ERODE_OPERATION_ERODE, GPV_ERODE_SHAPE_RECT, 0},
        {"open", GPV_FORMAT_GRAY8, GPV_ERODE_OPERATION_OPEN, GPV_ERODE_SHAPE_RECT, 0},
        {"gradient", GPV_FORMAT_GRAY8, GPV_ERODE_OPERATION_GRADIENT, GPV_ERODE_SHAPE_RECT, 0},
        {"cross", GPV_FORMAT_GRAY8, GPV_ERODE_OPERATION_ERODE, GPV_ERODE_SHAPE_CROSS, 0},
        {"ellipse", GPV_FORMAT_GRAY8, GPV_ERODE_OPERATION_ERODE, GPV_ERODE_SHAPE_ELLIPSE, 0},
    };
    for (int threads : {1, all})
        for (int radius : {1, 2, 3, 6, 12, 25}) {
            bench.compare(grey, 1920, 1080, radius, threads);
            bench.compare(binary, 1920, 1080, radius, threads);
        }
    for (const Case &c : others)
        for (int radius : {1, 6})
            bench.compare(c, 1920, 1080, radius, all);
    for (int radius : {1, 6, 25}) {
        bench.compare(grey, 7350, 5700, radius, all);
        bench.compare(binary, 7350, 5700, radius, all);
    }
    for (int radius = 1; radius <= 6; radius++)
        bench.compare_with_serial(1024, 1024, radius);
    bench.compare_with_serial(7350, 5700, 6);
}

/// A row that is shorter than a vector takes little longer than a vector.
void check_times_of_narrow(const CountedContext &context) {
    constexpr int height = 16384;
    const Op op(context);
    gpv_erode_params p;
    gpv_erode_params_init(&p, sizeof p);
    p.shape = GPV_ERODE_SHAPE_ELLIPSE;
    p.radius = 15;
    require(gpv_erode_set_params(op, &p), context, "gpv_erode_set_params");
    std::vector<Timed> sizes;
    for (const int width : {64, 63, 48, 31, 17, 9}) {
        const auto src = std::make_shared<GuardedImage>(GPV_FORMAT_GRAY8, width, height);
        const auto dst = std::make_shared<GuardedImage>(GPV_FORMAT_GRAY8, width, height);
        sizes.push_back({"width " + std::to_string(width), [&, src, dst] {
                             require(gpv_erode_run(op, nullptr, src->view(), dst->view()), context,
                                     "gpv_erode_run");
                         }});
    }
    expect_times_alike("ellipse of radius 15, 16384 rows of GRAY8", sizes, "width 64");
}

/// In which order pixels are compared, and how many, does not depend on them.
void check_times(gpv_backend backend) {
    const auto [width, height] = size_to_time(backend);
    const CountedContext context(backend);
    const Op op(context);
    GuardedImage blank(GPV_FORMAT_GRAY8, width, height);
    const PlacedImage dst(blank, backend);
    for (const int threshold : {0, 128})
        for (const gpv_erode_shape shape : {GPV_ERODE_SHAPE_RECT, GPV_ERODE_SHAPE_ELLIPSE}) {
            gpv_erode_params p;
            gpv_erode_params_init(&p, sizeof p);
            p.shape = shape;
            p.radius = 6;
            p.threshold = threshold;
            require(gpv_erode_set_params(op, &p), context, "gpv_erode_set_params");
            expect_times_alike(describe(p, *blank.view(), false),
                               timed_patterns(backend, [&](const GuardedImage &host) {
                                   const auto src = std::make_shared<PlacedImage>(host, backend);
                                   return [&, src] {
                                       require(gpv_erode_run(op, nullptr, src->view(), dst.view()),
                                               context, "gpv_erode_run");
                                       require(gpv_erode_wait(op), context, "gpv_erode_wait");
                                   };
                               }));
        }
    if (backend == GPV_BACKEND_CPU)
        check_times_of_narrow(context);
}

void check() {
    each_instruction_set([&](const char *name) {
        Operator op;
        std::printf("== %s\n", op.context().device());
        if (!std::strstr(op.context().device(), name))
            fatal(std::string("the library does not run on ") + name);
        compare_with_definition(op, scaled(500));
    });
    Operator op;
    check_sizes(op, some_of(narrow_sizes()), 3, definition);
    check_sizes(op, some_of(small_squares), 3, definition);
    check_patterns(op, {{1, 97}, {97, 1}, {61, 53}, {129, 67}}, definition);
    check_laws(op);
    check_repeats(op);
    check_threads();
    check_scratch();
    check_large(op, GPV_FORMAT_GRAY8, GPV_MAX_SIDE, 3);
    check_large(op, GPV_FORMAT_GRAY8, 3, GPV_MAX_SIDE);
    for (const Sizes &sizes : {squares, large_squares, full_run() ? vast_squares : Sizes{}})
        for (const auto &[width, height] : some_of(sizes))
            check_large(op, GPV_FORMAT_GRAY8, width, height);
    if (full_run()) {
        check_large(op, GPV_FORMAT_RGBA8, 23171, 23171);
        check_large(op, GPV_FORMAT_GRAY8, GPV_MAX_SIDE, GPV_MAX_SIDE);
    }
#ifdef HAVE_OPENCV
    compare_with_opencv(op, scaled(1000));
    for (const Sizes &sizes : {squares, large_squares})
        compare_sizes_with_opencv(op, some_of(sizes));
    if (full_run())
        compare_sizes_with_opencv(op, vast_squares);
    compare_elements_with_opencv(op);
#else
    std::printf("OpenCV: not installed, not compared\n");
#endif
}

} // namespace

int main(int argc, char **argv) {
#ifdef HAVE_CUDA
    return run_program({"erode", check, check_cuda, benchmark_cpu, benchmark_gpu, check_times},
                       argc, argv);
#else
    return run_program({"erode", check, nullptr, benchmark_cpu, nullptr, check_times}, argc, argv);
#endif
}
