// SPDX-License-Identifier: BSD-2-Clause
// Segmentation against a definition that shares no code with the library (segment_definition.hpp),
// in every byte of mask and picture, and the CUDA backend against the same. With --bench: times
// beside OpenCV's grabCut(). With --quality FOLDER: how well both find objects, see
// check_quality().
#include "segment_definition.hpp"

#include <map>

#ifdef HAVE_OPENCV
#    include <opencv2/core.hpp>
#    include <opencv2/imgproc.hpp>
#endif
#ifdef HAVE_OPENCV_IMGCODECS
#    include <opencv2/imgcodecs.hpp>
#endif

using namespace parity;

namespace {

gpv_segment_params default_params() {
    gpv_segment_params p;
    gpv_segment_params_init(&p, sizeof p);
    return p;
}

gpv_segment_params with_model(gpv_segment_model model, int connectivity = 4, int iterations = 1) {
    gpv_segment_params p = default_params();
    p.model = model;
    p.connectivity = connectivity;
    p.iterations = iterations;
    return p;
}

constexpr gpv_segment_model models[] = {GPV_SEGMENT_MODEL_GMM, GPV_SEGMENT_MODEL_HISTOGRAM,
                                        GPV_SEGMENT_MODEL_MEANS};
constexpr const char *model_names[] = {"gmm", "histogram", "means"};

// ---- scenes -------------------------------------------------------------------------

/// An object before a ground, both of a texture, and what a user would draw: strokes. What is what
/// is known of every pixel.
struct MadeScene {
    std::uint64_t seed;
    int width, height;

    bool is_object(int x, int y) const {
        const double u = (x + 0.5) / width - 0.5, v = (y + 0.5) / height - 0.5;
        const double angle = std::atan2(v, u);
        const double wave = 0.05 * std::sin(3 * angle + double(seed % 7)) +
                            0.03 * std::sin(7 * angle + double(seed % 5));
        return std::hypot(u, 1.1 * v) < 0.28 + wave;
    }
    /// A tile of the texture has a light and a tint of its own; the ground's is finer.
    Rgb color(int x, int y) const {
        const bool object = is_object(x, y);
        const int tile = object ? 6 : 4;
        const std::uint32_t bits = pixel_hash(seed * 2 + object, x / tile, y / tile);
        const int light = static_cast<int>(bits % 3) * 22;
        const std::uint32_t noise = pixel_hash(seed + 77, x, y);
        const bool odd = (bits >> 8) % 4 == 0; // these tiles are more like the other side
        const Rgb base = object ? odd ? Rgb{104, 90, 70} : Rgb{118, 84, 52}
                         : odd ? Rgb{92, 92, 84}
                                : Rgb{66, 92, 104};
        Rgb c;
        for (std::size_t i = 0; i < 3; i++)
            c[i] = base[i] + light + 2 * gaussian(noise >> (8 * i) & 0xffff);
        return c;
    }
    /// 0, 255 or 128.
    int seed_at(int x, int y) const {
        const int u = 100 * x / width, v = 100 * y / height;
        const auto on = [](int at, int place) { return std::abs(at - place) <= 1; };
        if (on(v, 50) && u > 35 && u < 65)
            return 255;
        if (on(v, 6) || (on(u, 92) && v < 70))
            return 0;
        return 128;
    }
};

GuardedImage picture_of(const MadeScene &scene, gpv_format format) {
    GuardedImage image(format, scene.width, scene.height);
    paint(image, [&](int x, int y) {
        const Rgb c = scene.color(x, y);
        return is_yuv(format) ? yuv_of(*image.view(), c) : c;
    });
    return image;
}

GuardedImage seeds_of(const MadeScene &scene) {
    return painted(GPV_FORMAT_GRAY8, scene.width, scene.height, [&](int x, int y) {
        return Rgb{scene.seed_at(x, y), 0, 0};
    });
}

/// Pixels that both say are of the object, by those that one does. Where the truth is neither 0 nor
/// 255 it is not known, and nothing counts.
double overlap_of(const std::vector<std::uint8_t> &mask, const std::vector<std::uint8_t> &truth) {
    std::int64_t both = 0, one = 0;
    for (std::size_t p = 0; p < mask.size(); p++) {
        const bool known = truth[p] == 0 || truth[p] == 255;
        both += known && mask[p] && truth[p];
        one += known && (mask[p] || truth[p]);
    }
    return one ? double(both) / double(one) : 1;
}

std::vector<std::uint8_t> truth_of(const MadeScene &scene) {
    std::vector<std::uint8_t> truth;
    for (int y = 0; y < scene.height; y++)
        for (int x = 0; x < scene.width; x++)
            truth.push_back(scene.is_object(x, y) ? 255 : 0);
    return truth;
}

// ---- runs ---------------------------------------------------------------------------

/// What a run writes; each may be left out. dst may be the source.
struct Outputs {
    GuardedImage *mask = nullptr, *dst = nullptr;
    Stored *result = nullptr;
};

using Op = Handle<gpv_segment_create, gpv_segment_destroy>;

class Operator {
  public:
    explicit Operator(gpv_backend backend = GPV_BACKEND_CPU, Place place = Place::host,
                      std::uint64_t maximum = UINT64_MAX)
        : context_(backend, maximum), backend_(backend), place_(place) {}

    gpv_graphcut_result run(const gpv_segment_params &p, const SegmentInput &in,
                            const Outputs &outputs) {
        set(p);
        return again(in, outputs);
    }
    gpv_graphcut_result again(const SegmentInput &in, const Outputs &outputs) {
        const gpv_image *src = in.src->view();
        const gpv_image *seeds = in.seeds ? in.seeds->view() : nullptr;
        const gpv_image *mask = outputs.mask ? outputs.mask->view() : nullptr;
        const gpv_image *dst = outputs.dst ? outputs.dst->view() : nullptr;
        gpv_buffer buffer;
        if (outputs.result)
            buffer = outputs.result->view(outputs.result->bytes().data(), GPV_MEMORY_HOST);
#ifdef HAVE_CUDA
        const bool in_place = outputs.dst == in.src;
        const bool result_on_device = outputs.result && backend_ == GPV_BACKEND_CUDA;
        if (result_on_device) {
            result_.upload(outputs.result->bytes().data(), outputs.result->bytes().size());
            buffer = outputs.result->view(result_.data(), GPV_MEMORY_CUDA);
        }
        if (place_ != Place::host) {
            src_.upload(*in.src), src = src_.view();
            if (seeds && !seeds_on_host_)
                seeds_.upload(*in.seeds), seeds = seeds_.view();
            if (mask)
                mask_.upload(*outputs.mask), mask = mask_.view();
            if (dst && !in_place)
                dst_.upload(*outputs.dst);
            if (dst)
                dst = in_place ? src : dst_.view();
        }
#endif
        require(gpv_segment_run(op_, nullptr, src, seeds, in.rect ? &*in.rect : nullptr, mask, dst,
                                outputs.result ? &buffer : nullptr),
                context_, "gpv_segment_run");
        gpv_graphcut_result result;
        gpv_graphcut_result_init(&result, sizeof result);
        require(gpv_segment_wait(op_, &result), context_, "gpv_segment_wait");
        require(gpv_segment_query(op_), context_, "gpv_segment_query");
#ifdef HAVE_CUDA
        if (result_on_device)
            result_.download(outputs.result->bytes().data(), outputs.result->bytes().size());
        if (place_ != Place::host) {
            if (mask)
                mask_.download(*outputs.mask);
            if (dst)
                (in_place ? src_ : dst_).download(*outputs.dst);
        }
#endif
        return result;
    }
    /// Whatever memory the pictures are in.
    void keep_seeds_on_host(bool keep) {
        seeds_on_host_ = keep;
    }
    void forget() {
        require(gpv_segment_forget(op_), context_, "gpv_segment_forget");
    }
    bool learned() {
        std::uint32_t learned = 2;
        require(gpv_segment_learned(op_, &learned), context_, "gpv_segment_learned");
        expect(learned <= 1, "gpv_segment_learned says 0 or 1");
        return learned == 1;
    }
    /// Of images, formats and sizes count; where they lie is known.
    void prepare(const gpv_segment_params &p, const SegmentInput &in, const Outputs &outputs) {
        const auto placed = [&](const GuardedImage *image) {
            gpv_image result = *(image ? image : in.src)->view();
            result.memory = place_ == Place::host ? GPV_MEMORY_HOST : GPV_MEMORY_CUDA;
            return result;
        };
        const gpv_image src = placed(in.src), mask = placed(outputs.mask),
                        dst = placed(outputs.dst);
        gpv_image seeds = placed(in.seeds);
        if (seeds_on_host_)
            seeds.memory = GPV_MEMORY_HOST;
        set(p);
        require(gpv_segment_prepare(op_, &src, in.seeds ? &seeds : nullptr,
                                    outputs.mask ? &mask : nullptr, outputs.dst ? &dst : nullptr),
                context_, "gpv_segment_prepare");
    }
    Place place() const {
        return place_;
    }
    const CountedContext &context() const {
        return context_;
    }
    gpv_segment *op() const {
        return op_;
    }

  private:
    void set(const gpv_segment_params &p) {
        require(gpv_segment_set_params(op_, &p), context_, "gpv_segment_set_params");
    }

    CountedContext context_;
    [[maybe_unused]] gpv_backend backend_; // without CUDA there is one
    Place place_;
    bool seeds_on_host_ = false;
#ifdef HAVE_CUDA
    const bool tight_ = place_ == Place::device_tight;
    DeviceImage src_{tight_}, seeds_{tight_}, mask_{tight_}, dst_{tight_};
    DeviceBlock result_;
#endif
    const Op op_{context_};
};

std::string describe(const Operator &op, const gpv_segment_params &p, const SegmentInput &in,
                     const Outputs &o) {
    const gpv_image &view = *in.src->view();
    char text[256];
    std::snprintf(text, sizeof text, "%s, fit %u, %d neighbours, %d rounds, lambda %g, sigma %g",
                  model_names[p.model], p.warm_start, p.connectivity, p.iterations,
                  double(p.lambda), double(p.sigma));
    std::string result = op.context().device() + (": " + size_name(view.width, view.height)) +
                         " format " + std::to_string(view.format) + ", " + place_of(view) + ": " +
                         text;
    if (p.edge == GPV_SEGMENT_EDGE_SOFT)
        result += ", soft";
    if (in.seeds)
        result += ", seeds " + place_of(*in.seeds->view());
    if (in.rect)
        result += ", rect " + size_name(in.rect->width, in.rect->height) + " at " +
                  std::to_string(in.rect->x) + "," + std::to_string(in.rect->y);
    if (o.mask)
        result += ", mask in format " + std::to_string(o.mask->view()->format) + ", " +
                  place_of(*o.mask->view());
    if (o.dst)
        result += (p.output == GPV_SEGMENT_OUTPUT_CUTOUT ? ", cutout " : ", overlay ") +
                  (o.dst == in.src ? "in place" : place_of(*o.dst->view()));
    return result;
}

/// What the outputs have to hold. Made before a run, which may be in place.
class Expected {
  public:
    Expected(const gpv_segment_params &p, const SegmentInput &in, const Outputs &o,
             const SegmentFound &found)
        : outputs_(o), result_(result_of(found.cut, p.certificate)) {
        const gpv_image &view = *in.src->view();
        if (o.mask) {
            mask_ = std::make_unique<GuardedImage>(o.mask->view()->format, view.width, view.height);
            paint_mask(found.mask, *mask_);
        }
        if (o.dst) {
            dst_ = std::make_unique<GuardedImage>(o.dst->view()->format, view.width, view.height);
            if (p.output == GPV_SEGMENT_OUTPUT_CUTOUT)
                paint_cutout(found, *dst_);
            else
                paint_overlay(*in.src, found.cut.mask, *dst_);
        }
    }
    void compare(const std::string &what) const {
        if (outputs_.mask)
            expect_equal(*outputs_.mask, *mask_, what + ": mask");
        if (outputs_.dst)
            expect_equal(*outputs_.dst, *dst_, what + ": picture");
        if (outputs_.result) {
            expect_result(outputs_.result->result(), result_, what + ": in its buffer");
            expect(outputs_.result->canaries_intact(),
                   "nothing is written beside the result, " + what);
        }
    }
    const gpv_graphcut_result &result() const { return result_; }

  private:
    const Outputs outputs_;
    const gpv_graphcut_result result_;
    std::unique_ptr<GuardedImage> mask_, dst_;
};

/// Of any mask.
void expect_seeds_kept(const SegmentInput &in, const std::vector<std::uint8_t> &mask,
                       const std::string &what) {
    const gpv_image &view = *in.src->view();
    for (int y = 0; y < view.height; y++)
        for (int x = 0; x < view.width; x++) {
            const int known = said_of(in, x, y).known;
            expect(known == 128 || mask[std::size_t(y) * view.width + x] == known,
                   "what is known is kept to, " + what);
        }
}

/// One run, and everything that it has written.
void expect_found(Operator &op, const gpv_segment_params &p, const SegmentInput &in,
                  const Outputs &o, const SegmentFound &want) {
    const std::string what = describe(op, p, in, o);
    expect_seeds_kept(in, want.mask, what);
    const Expected expected(p, in, o, want);
    const std::vector<std::uint8_t> src = in.src->bytes();
    const std::vector<std::uint8_t> seeds = in.seeds ? in.seeds->bytes() : src;
    const gpv_graphcut_result got = op.run(p, in, o);
    expected.compare(what);
    expect_result(got, expected.result(), what);
    if ((o.dst != in.src && in.src->bytes() != src) || (in.seeds && in.seeds->bytes() != seeds))
        fatal(what + ": what is only read was written");
}

/// Everything that a run can write, in memory of its own.
struct All {
    GuardedImage mask, dst;
    Stored result;

    All(const SegmentInput &in, const gpv_segment_params &p)
        : mask(GPV_FORMAT_GRAY8, in.src->view()->width, in.src->view()->height),
          dst(p.output == GPV_SEGMENT_OUTPUT_CUTOUT ? gpv_format{GPV_FORMAT_RGBA8}
                                                    : in.src->view()->format,
              in.src->view()->width, in.src->view()->height) {}
    Outputs outputs() { return {&mask, &dst, &result}; }
    std::vector<std::uint8_t> found() const {
        return {mask.row(0, 0), mask.row(0, 0) + mask.pixel_bytes()};
    }
};

void expect_all(Operator &op, const gpv_segment_params &p, const SegmentInput &in,
                const SegmentFound &want) {
    All all(in, p);
    expect_found(op, p, in, all.outputs(), want);
}

/// What finds out what a run has to find. It remembers the run before, as an operator does.
struct Reference {
    std::function<SegmentFound(const SegmentInput &, const gpv_segment_params &)> run;
    std::function<void()> forget;
};

Reference definition_of_runs() {
    const auto definition = std::make_shared<SegmentDefinition>();
    return {[definition](const SegmentInput &in, const gpv_segment_params &p) {
                return definition->run(in, p);
            },
            [definition] { definition->forget(); }};
}

SegmentFound find(const SegmentInput &in, const gpv_segment_params &p) {
    return SegmentDefinition().run(in, p);
}

// ---- random cases -------------------------------------------------------------------

int random_side(int largest) {
    static const std::vector<int> ends = {1, 2, 7, 13, 31, 32, 33, 63, 64, 65};
    if (largest > 65)
        return random_int(1, largest);
    if (random_int(0, 3) == 0)
        return std::min(random_of(ends), largest);
    return random_int(1, std::min(largest, random_int(0, 1) ? 12 : 40));
}

gpv_segment_params random_params() {
    gpv_segment_params p = default_params();
    p.model = static_cast<gpv_segment_model>(random_int(0, 2));
    p.warm_start = static_cast<gpv_segment_warm_start>(random_int(0, 2));
    p.connectivity = random_int(0, 1) ? 8 : 4;
    p.iterations = random_int(1, random_int(0, 1) ? 1 : 4);
    p.lambda = random_of<float>(
        {0.02f, 0.02f, 0.02f, 0.2f, 0.2f, 1, 3, 0, 1e-7f, 0.0004f, 0.002f, 40, 1000, 1e6f});
    p.sigma = random_of<float>({0, 0, 0, 0, 1, 5, 20, 0.01f, 300, 1e6f});
    p.output = static_cast<gpv_segment_output>(random_int(0, 1));
    p.certificate = static_cast<std::uint32_t>(random_int(0, 1));
    p.static_scene = static_cast<std::uint32_t>(random_int(0, 1));
    p.edge = static_cast<gpv_segment_edge>(random_int(0, 1));
    return p;
}

constexpr int legal_seeds[] = {0, 1, 2, 3, 128, 255, 2, 3};

/// Of any kind: few of either side or of one, strokes, all of the picture, any value. In the
/// rectangle there is one at least that leaves its pixel not known; outside there may be any byte.
GuardedImage random_seeds(int width, int height, const std::optional<gpv_rect> &rect) {
    GuardedImage seeds = random_image(GPV_FORMAT_GRAY8, width, height);
    const int kind = random_int(0, 8), unknown = random_of<int>({128, 128, 2, 3});
    const int white = random_of<int>({1, 255}), outside = random_int(0, 255);
    const gpv_rect in = rect.value_or(gpv_rect{0, 0, width, height});
    const int open_x = in.x + random_int(0, in.width - 1),
              open_y = in.y + random_int(0, in.height - 1);
    const std::uint64_t seed = random_engine()();
    const int part = std::max(width * height / 20, 2);
    paint(seeds, [&](int x, int y) {
        const std::uint32_t bits = pixel_hash(seed, x, y);
        const bool few = bits % static_cast<std::uint32_t>(part) == 0;
        const int either = bits >> 20 & 1 ? white : 0;
        int value = unknown;
        switch (kind) {
        case 0:
        case 1:
            value = few ? either : unknown;
            break;
        case 2:
            value = few ? white : unknown;
            break;
        case 3:
            value = few ? 0 : unknown;
            break;
        case 4: // strokes
            value = y == height / 2 && x > width / 4 ? white : y == 0 || x == 0 ? 0 : unknown;
            break;
        case 5:
            value = legal_seeds[bits >> 8 & 7];
            break;
        case 6:
            value = 0;
            break;
        case 7:
            value = white;
            break;
        default: // everything is known
            value = either;
        }
        if (x == open_x && y == open_y && (value < 2 || value == 255))
            value = unknown;
        if (x < in.x || y < in.y || x >= in.x + in.width || y >= in.y + in.height)
            value = outside;
        return Rgb{value, 0, 0};
    });
    return seeds;
}

std::optional<gpv_rect> random_rect(int width, int height) {
    if (random_int(0, 2))
        return {};
    gpv_rect rect{};
    if (random_int(0, 3) == 0) {
        rect.width = width;
        rect.height = height;
        return rect;
    }
    rect.x = random_int(0, width - 1);
    rect.y = random_int(0, height - 1);
    rect.width = random_int(1, width - rect.x);
    rect.height = random_int(1, height - rect.y);
    return rect;
}

void paint_random(GuardedImage &image) {
    const int kind = random_int(0, 2), width = image.view()->width, height = image.view()->height;
    if (kind == 0)
        return paint(image, random_content());
    if (kind == 1) { // colours of a few, in patches
        const Paint color = random_content();
        const int side = random_int(2, 9);
        return paint(image, [&](int x, int y) { return color(x / side, y / side); });
    }
    const MadeScene scene = {random_engine()() % 1000, width, height};
    paint(image, [&](int x, int y) { return scene.color(x, y); });
}

/// One run with random outputs.
void compare_outputs(Operator &op, const gpv_segment_params &p, const SegmentInput &in,
                     const SegmentFound &want) {
    const gpv_image &view = *in.src->view();
    GuardedImage mask = random_image(random_of<gpv_format>({GPV_FORMAT_GRAY8, GPV_FORMAT_GRAY8,
                                                            GPV_FORMAT_NV12, GPV_FORMAT_I420}),
                                     view.width, view.height);
    const bool cutout = p.output == GPV_SEGMENT_OUTPUT_CUTOUT;
    const gpv_format format =
        cutout ? random_of<gpv_format>({GPV_FORMAT_RGBA8, GPV_FORMAT_BGRA8}) : view.format;
    GuardedImage dst = random_image(format, view.width, view.height);
    Stored result(random_int(0, 8));
    const bool may_be_in_place =
        !cutout || view.format == GPV_FORMAT_RGBA8 || view.format == GPV_FORMAT_BGRA8;
    Outputs o;
    if (random_int(0, 3))
        o.mask = &mask;
    if (random_int(0, 3))
        o.dst = may_be_in_place && random_int(0, 3) == 0 ? in.src : &dst;
    if (random_int(0, 2))
        o.result = &result;
    expect_found(op, p, in, o, want);
}

/// One run after the other, as on a video: parameters and sizes often stay.
void compare_random(Operator &op, int count, int largest, const Reference &reference) {
    op.forget();
    gpv_segment_params p = random_params();
    int width = 1, height = 1;
    for (int i = 0; i < count; i++) {
        if (random_int(0, 1))
            p = random_params();
        if (random_int(0, 3)) {
            width = random_side(largest);
            height = random_side(largest);
        }
        if (random_int(0, 9) == 0) {
            op.forget();
            reference.forget();
        }
        // Each format has kernels of its own; racecheck has few cases.
        const gpv_format format =
            kernels_alone() ? picture_formats[static_cast<std::size_t>(i) % picture_formats.size()]
                            : random_of(picture_formats);
        GuardedImage src = random_image(format, width, height);
        paint_random(src);
        const auto rect = random_rect(width, height);
        const GuardedImage seeds = random_seeds(width, height, rect);
        const SegmentInput in = {&src, random_int(0, 2) ? &seeds : nullptr, rect};
        op.keep_seeds_on_host(random_int(0, 3) == 0);
        compare_outputs(op, p, in, reference.run(in, p));
    }
    op.keep_seeds_on_host(false);
}

void compare_with_definition(Operator &op, int count, int largest = 65) {
    compare_random(op, count, largest, definition_of_runs());
    std::printf("definition: %d random cases equal\n", count);
}

// ---- contents, videos ---------------------------------------------------------------

/// How much is known.
enum class Hints { none, both, foreground, background, rect, rect_and_foreground };
constexpr Hints all_hints[] = {Hints::none,       Hints::both, Hints::foreground,
                               Hints::background, Hints::rect, Hints::rect_and_foreground};

/// A picture, and hints as of a made scene.
struct Hinted {
    GuardedImage src, seeds;
    SegmentInput in;

    Hinted(GuardedImage picture, const MadeScene &scene, Hints hints)
        : src(std::move(picture)), seeds(seeds_of(scene)), in{&src} {
        const bool foreground = hints == Hints::both || hints == Hints::foreground ||
                                hints == Hints::rect_and_foreground;
        const bool background = hints == Hints::both || hints == Hints::background;
        seeds.each_row([&](int, std::int64_t, std::uint8_t *row, std::int64_t bytes) {
            for (std::int64_t x = 0; x < bytes; x++)
                if ((row[x] == 255 && !foreground) || (row[x] == 0 && !background))
                    row[x] = 128;
        });
        if (foreground || background)
            in.seeds = &seeds;
        if (hints == Hints::rect || hints == Hints::rect_and_foreground)
            in.rect =
                gpv_rect{scene.width / 10, scene.height / 10, std::max(scene.width * 8 / 10, 1),
                         std::max(scene.height * 8 / 10, 1)};
    }
    Hinted(const Hinted &) = delete;
    Hinted &operator=(const Hinted &) = delete;
};

using FreshReference =
    std::function<SegmentFound(const SegmentInput &, const gpv_segment_params &)>;

/// Of cases whose hints are all_hints by turns: of 36, each has another pair of hints, and of model
/// and number of neighbours.
gpv_segment_params by_turns(int count, int iterations = 1) {
    return with_model(models[(count + count / 6) % 3], (count / 3 + count / 18) % 2 ? 8 : 4,
                      iterations);
}

void check_contents(Operator &op, const Sizes &sizes, const FreshReference &reference) {
    int count = 0;
    const auto check = [&](const Paint &color, int width, int height, Hints hints) {
        const Hinted hinted(painted(random_of(picture_formats), width, height, color),
                            {3, width, height}, hints);
        const gpv_segment_params p = by_turns(count, 1 + count / 7 % 2);
        expect_all(op, p, hinted.in, reference(hinted.in, p));
        count++;
    };
    for (const auto &[width, height] : sizes) {
        for (const Content &content : contents)
            for (const Hints hints : all_hints)
                check(content(7), width, height, hints);
        for (const Pattern &pattern : all_patterns())
            check(grey_of(pattern.draw(width, height)), width, height, all_hints[count % 6]);
    }
    std::printf("contents: %d of %zu and %zu patterns at %zu sizes equal, %dx%d the last\n", count,
                contents.size(), all_patterns().size(), sizes.size(), sizes.back()[0],
                sizes.back()[1]);
}

/// Contents, hints and models by turns, and contents with other hints the next time.
void check_sizes(Operator &op, const Sizes &sizes, const FreshReference &reference) {
    int i = 0;
    for (const auto &[width, height] : sizes) {
        const int kinds = static_cast<int>(contents.size());
        const auto content = static_cast<std::size_t>((i + i / kinds) % kinds);
        const Hinted hinted(
            painted(random_of(picture_formats), width, height, contents[content](7)),
            {3, width, height}, all_hints[i % 6]);
        const gpv_segment_params p = by_turns(i);
        expect_all(op, p, hinted.in, reference(hinted.in, p));
        i++;
    }
    std::printf("sizes: %zu equal, %dx%d the last\n", sizes.size(), sizes.back()[0],
                sizes.back()[1]);
}

/// As many pixels as there can be, where there is not the memory for them.
void check_refused(gpv_backend backend) {
    Operator op(backend, Place::host, too_little);
    const MadeScene scene = {3, 97, 61};
    const Hinted small(picture_of(scene, GPV_FORMAT_RGB8), scene, Hints::none);
    const UntouchableImage src(GPV_FORMAT_GRAY8, GPV_MAX_SIDE, GPV_MAX_SIDE),
        mask(GPV_FORMAT_GRAY8, GPV_MAX_SIDE, GPV_MAX_SIDE);
    for (const gpv_segment_model model : models)
        for (const int connectivity : {4, 8}) {
            const gpv_segment_params p = with_model(model, connectivity, 1);
            const SegmentFound want = find(small.in, p);
            expect_all(op, p, small.in, want);
            expect_refused(op.context(), "prepare", [&] {
                return gpv_segment_prepare(op.op(), src.view(), nullptr, mask.view(), nullptr);
            });
            expect_refused(op.context(), "run", [&] {
                return gpv_segment_run(op.op(), nullptr, src.view(), nullptr, nullptr, mask.view(),
                                       nullptr, nullptr);
            });
            expect_all(op, p, small.in, want);
        }
    std::printf("refused: %dx%d in too little memory\n", GPV_MAX_SIDE, GPV_MAX_SIDE);
}

/// Colours that lie everywhere, one of each cube of that side: with a sigma that leaves no links,
/// each has the side that its terminal says.
void check_all_colors(Operator &op, int step) {
    const int colors = (1 << 24) / (step * step * step), width = 4096 / step;
    const int height = colors / width, levels = 256 / step;
    GuardedImage src = painted(GPV_FORMAT_RGB8, width, height, [&](int x, int y) {
        const int i = y * width + x;
        return Rgb{i / (levels * levels) * step, i / levels % levels * step + step / 2,
                   i % levels * step + step - 1};
    });
    for (const gpv_segment_model model : models) {
        gpv_segment_params p = with_model(model);
        p.sigma = 0.01f;
        p.certificate = 1;
        const Hinted hinted(GuardedImage(GPV_FORMAT_RGB8, width, height), {1, width, height},
                            Hints::both);
        const SegmentInput in = {&src, &hinted.seeds};
        expect_all(op, p, in, find(in, p));
    }
    std::printf("colours: %d equal with every model\n", colors);
}

/// Frames of an object that moves; what has been learned is kept, until it is forgotten or the
/// model changes.
void check_video(Operator &op) {
    const int width = 61, height = 47;
    int count = 0;
    SegmentDefinition definition;
    const auto frame = [&](int at, const gpv_segment_params &p, Hints hints) {
        const MadeScene scene = {5, width, height};
        GuardedImage src = painted(GPV_FORMAT_BGRX8, width, height, [&](int x, int y) {
            Rgb c = scene.color(x - 3 * (at % 4), y);
            for (int &level : c)
                level = std::clamp(level + 4 * at, 0, 255);
            return c;
        });
        const Hinted hinted(std::move(src), scene, hints);
        const SegmentFound want = definition.run(hinted.in, p);
        expect_all(op, p, hinted.in, want);
        count++;
        return want.cut.mask;
    };
    bool kept = false;
    for (const gpv_segment_model model : models)
        for (const gpv_segment_warm_start fit :
             {GPV_SEGMENT_WARM_START_NONE, GPV_SEGMENT_WARM_START_ADAPT,
              GPV_SEGMENT_WARM_START_REUSE})
            for (const int iterations : {1, 3}) {
                gpv_segment_params p = with_model(model, 8, iterations);
                p.warm_start = fit;
                p.static_scene = iterations == 3;
                op.forget();
                definition.forget();
                frame(0, p, Hints::both);
                std::vector<std::uint8_t> mask;
                for (int at = 1; at < 5; at++)
                    mask = frame(at, p, at == 3 ? Hints::foreground : Hints::none);
                p.lambda = 0.1f; // nothing is forgotten
                p.connectivity = 4;
                frame(5, p, Hints::none);
                p.warm_start = (fit + 1) % 3;
                frame(6, p, Hints::none);
                frame(7, p, Hints::none);
                p.warm_start = fit;
                gpv_segment_params other = p;
                other.model = (model + 1) % 3;
                frame(8, other, Hints::both);
                frame(8, p, Hints::both);
                const std::vector<std::uint8_t> before = frame(9, p, Hints::none);
                op.forget();
                definition.forget();
                kept = frame(9, p, Hints::none) != before || kept;
            }
    expect(kept, "what has been learned is of account");
    std::printf("videos: %d frames equal\n", count);
}

/// A side of which there was nothing yet learns from nothing, whatever the operator has seen before
/// it forgot.
void check_forgotten(Operator &op) {
    const int width = 40, height = 30;
    const MadeScene scene = {9, width, height};
    for (const gpv_segment_model model : models)
        for (const int begin : {0, 1, 2}) {
            gpv_segment_params p = with_model(model);
            p.warm_start = GPV_SEGMENT_WARM_START_ADAPT;
            p.static_scene = 1;
            SegmentDefinition definition;
            op.forget();
            const auto frame = [&](GuardedImage src, const GuardedImage *seeds) {
                const SegmentInput in = {&src, seeds};
                expect_all(op, p, in, definition.run(in, p));
            };
            const auto known = [&](auto value) {
                return painted(GPV_FORMAT_GRAY8, width, height, [&](int x, int y) {
                    return Rgb{value(x, y), 0, 0};
                });
            };
            const auto photograph = [&](int at) {
                return painted(GPV_FORMAT_RGB8, width, height,
                               [&](int x, int y) { return photo_color(20 * x + at, 20 * y); });
            };
            frame(photograph(0), nullptr);
            frame(photograph(5000), nullptr);
            op.forget();
            definition = {};
            const GuardedImage background = known([](int x, int y) { return x + y == 0 ? 2 : 0; });
            const GuardedImage half = known([&](int x, int) { return x < width / 2 ? 255 : 128; });
            if (begin == 0)
                frame(painted(GPV_FORMAT_RGB8, width, height, contents[1](1)), nullptr);
            else
                frame(begin == 1 ? picture_of(scene, GPV_FORMAT_RGB8) : photograph(300),
                      &background);
            if (begin == 2) { // so is the contrast of what has been given up
                p.warm_start = GPV_SEGMENT_WARM_START_NONE;
                frame(photograph(900), &half);
                p.warm_start = GPV_SEGMENT_WARM_START_ADAPT;
            }
            frame(begin == 1 ? picture_of(scene, GPV_FORMAT_RGB8) : photograph(300), &half);
            frame(photograph(100), nullptr);
            frame(picture_of(scene, GPV_FORMAT_RGB8), nullptr);
        }
    std::printf("forgotten: what was learned before is of no account\n");
}

/// Of a video: a scene (a), the same a little lighter (n), darker and darker (0 to 9), black (k),
/// white (w), and another scene (c).
GuardedImage frame_of(char name, const MadeScene &scene) {
    return painted(GPV_FORMAT_RGB8, scene.width, scene.height, [&](int x, int y) {
        Rgb c = scene.color(x, y);
        for (int &level : c)
            level = name == 'k'   ? 0
                    : name == 'w' ? 255
                    : name == 'c' ? 255 - level / 2
                    : name == 'n' ? level + 1
                    : name == 'a' ? level
                                  : level * ('0' + 29 - name) / 30;
        return c;
    });
}

/// A video with flashes, cuts and a fade, and after which of its frames something is kept. Seeds
/// make two sides of a plain frame; what is learned from them is not given up in a fade.
void check_video_of_scenes(Operator &op, bool brief) {
    const MadeScene scene = {5, brief ? 23 : 37, brief ? 17 : 29};
    const std::string frames = brief ? "kawacccca01" : "wkwkanawankkkanwkwkanccccccan0123456789";
    const std::string adapted = brief ? "01111110101" : "000011111111111111011111011111010101010",
                      seeded = "111111011110111111111101111111011111111",
                      reused = brief ? "01111111111" : "000011111111111111111111111111111111111";
    int count = 0;
    const auto check = [&](gpv_segment_params p, Hints hints, const std::string &kept) {
        SegmentDefinition definition;
        op.forget();
        std::string found;
        for (const char name : frames) {
            const Hinted hinted(frame_of(name, scene), scene, hints);
            expect_all(op, p, hinted.in, definition.run(hinted.in, p));
            expect(op.learned() == definition.learned(), "a model is kept as defined");
            found += op.learned() ? '1' : '0';
            count++;
        }
        expect(found == kept, "in " + frames + " models are kept after " + found + ", not " + kept);
    };
    for (const gpv_segment_model model : models) {
        if (brief && model != GPV_SEGMENT_MODEL_GMM)
            continue;
        gpv_segment_params p = with_model(model, 4, 2);
        p.lambda = 0.1f;
        p.warm_start = GPV_SEGMENT_WARM_START_ADAPT;
        p.static_scene = 1;
        check(p, Hints::none, adapted);
        if (!brief)
            check(p, Hints::both, seeded);
        p.warm_start = GPV_SEGMENT_WARM_START_REUSE;
        check(p, Hints::none, reused);
    }
    std::printf("videos of scenes: %d frames equal\n", count);
}

// ---- laws ---------------------------------------------------------------------------

struct Run {
    All all;
    gpv_graphcut_result result;
    Run(Operator &op, const gpv_segment_params &p, const SegmentInput &in)
        : all(in, p), result(op.run(p, in, all.outputs())) {}
};

void check_laws(Operator &op) {
    const int width = 83, height = 61;
    int count = 0;
    for (const gpv_segment_model model : models)
        for (const Hints hints : all_hints) {
            const int connectivity = count++ % 2 ? 8 : 4;
            gpv_segment_params p = with_model(model, connectivity);
            const MadeScene scene = {static_cast<std::uint64_t>(count), width, height};
            const Hinted hinted(picture_of(scene, GPV_FORMAT_RGB8), scene, hints);
            const std::string what = std::string(model_names[model]) + ", " +
                                     std::to_string(connectivity) + " neighbours, hints " +
                                     std::to_string(static_cast<int>(hints));
            const Run first(op, p, hinted.in);

            // The picture turned by 90 degrees.
            const auto turned = [&](const GuardedImage &image) {
                const int step = channels(image.view()->format, 0);
                GuardedImage result(image.view()->format, height, width);
                for (int y = 0; y < height; y++)
                    for (int x = 0; x < width; x++)
                        std::memcpy(result.row(0, x) + std::ptrdiff_t(height - 1 - y) * step,
                                    image.row(0, y) + std::ptrdiff_t(x) * step,
                                    static_cast<std::size_t>(step));
                return result;
            };
            GuardedImage src = turned(hinted.src);
            const GuardedImage seeds = turned(hinted.seeds);
            SegmentInput in = {&src, hinted.in.seeds ? &seeds : nullptr};
            if (const auto &r = hinted.in.rect)
                in.rect = gpv_rect{height - r->y - r->height, r->x, r->height, r->width};
            expect_equal(Run(op, p, in).all.mask, turned(first.all.mask),
                         "a turned picture has a turned mask, " + what);

            // Foreground for background.
            if (hints == Hints::both) {
                GuardedImage inverted(GPV_FORMAT_GRAY8, width, height);
                inverted.copy_pixels_from(hinted.seeds);
                inverted.each_row([](int, std::int64_t, std::uint8_t *row, std::int64_t bytes) {
                    for (std::int64_t x = 0; x < bytes; x++)
                        row[x] = row[x] == 128 ? 128 : static_cast<std::uint8_t>(255 - row[x]);
                });
                const Run other(op, p, {hinted.in.src, &inverted});
                expect(other.result.flow == first.result.flow,
                       "flow is the same with sides changed, " + what);
                const std::vector<std::uint8_t> a = first.all.found(), b = other.all.found();
                for (std::size_t i = 0; i < a.size(); i++)
                    expect(a[i] || b[i], "each pixel is foreground one way or the other, " + what);
            }

            // What a run has learned from its cut begins the next, as one round the next.
            p.iterations = 3;
            const Run iterations(op, p, hinted.in);
            p.iterations = 1;
            p.warm_start = GPV_SEGMENT_WARM_START_ADAPT;
            op.forget();
            All scratch(hinted.in, p);
            for (int i = 0; i < 2; i++)
                op.run(p, hinted.in, {&scratch.mask, nullptr, nullptr});
            const Run third(op, p, hinted.in);
            expect_equal(third.all.mask, iterations.all.mask,
                         "three runs are three rounds, " + what);
            expect(third.result.flow == iterations.result.flow,
                   "three runs are three rounds, " + what);
        }
    std::printf("laws: turned pictures, changed sides, runs for rounds, %d scenes\n", count);
}

/// Neighbours of one colour are linked as strongly as can be, however small sigma is.
void check_min_sigma(Operator &op) {
    for (const float sigma : {1e-12f, 1e-19f, 1e-21f, 1e-30f, 1e-45f})
        for (const int connectivity : {4, 8}) {
            gpv_segment_params p = with_model(GPV_SEGMENT_MODEL_GMM, connectivity);
            p.sigma = sigma;
            p.lambda = 0;
            GuardedImage src = painted(GPV_FORMAT_RGB8, 31, 23, contents[2](5));
            GuardedImage seeds = painted(GPV_FORMAT_GRAY8, 31, 23, [](int x, int) {
                return Rgb{x < 5 ? 255 : x > 20 ? 0 : 128, 0, 0};
            });
            const SegmentInput in = {&src, &seeds};
            expect_all(op, p, in, find(in, p));
        }
    std::printf("sigma: down to the least\n");
}

void check_repeats(Operator &op, int width, int height) {
    const MadeScene scene = {4, width, height};
    for (const gpv_segment_model model : {GPV_SEGMENT_MODEL_GMM, GPV_SEGMENT_MODEL_HISTOGRAM}) {
        const Hinted hinted(picture_of(scene, GPV_FORMAT_NV12), scene, Hints::both);
        const gpv_segment_params p = with_model(model, 8, 2);
        const SegmentFound want = find(hinted.in, p);
        for (int i = 0; i < shortened(50); i++)
            expect_all(op, p, hinted.in, want);
    }
    std::printf("repeats: %d equal\n", 2 * shortened(50));
}

/// A limit of time may leave any cut. It is the one that the result describes.
void check_max_time(Operator &op, int width, int height) {
    int stopped = 0;
    const MadeScene scene = {8, width, height};
    const Hinted hinted(picture_of(scene, GPV_FORMAT_RGB8), scene, Hints::both);
    gpv_segment_params p = with_model(GPV_SEGMENT_MODEL_GMM, 8);
    p.lambda = 0.002f;
    p.certificate = 1;
    SegmentDefinition definition;
    const SegmentFound want = definition.run(hinted.in, p);
    for (const int limit : {1, 1000, 2000000000}) {
        p.max_time_us = limit;
        const Run run(op, p, hinted.in);
        const std::string what = "at most " + std::to_string(limit) + " us";
        const std::vector<std::uint8_t> mask = run.all.found();
        expect(run.result.cut == capacity_of(definition.graph(), mask) &&
                   run.result.area == area_of(mask),
               "the cut is that of the mask, " + what);
        expect(run.result.flow <= want.cut.flow && run.result.flow >= 0,
               "flow is at most the greatest, " + what);
        if (run.result.optimal)
            expect(mask == want.cut.mask && run.result.flow == want.cut.flow,
                   "what is optimal is the least cut, " + what);
        expect(run.result.optimal || limit < 2000000000, "half an hour suffices");
        stopped += !run.result.optimal;
    }
    std::printf("limit of time: %d of 3 runs were stopped\n", stopped);
}

// ---- scenes whose truth is known ----------------------------------------------------

#ifdef HAVE_OPENCV

/// grabCut(). Unknown pixels are its probable background where there are seeds, else its probable
/// foreground.
class GrabCut {
  public:
    explicit GrabCut(const SegmentInput &in)
        : width_(in.src->view()->width), height_(in.src->view()->height),
          picture_(height_, width_, CV_8UC3), start_(height_, width_, CV_8UC1) {
        const std::vector<Value> colors = colors_of(*in.src);
        const auto code = [&](int x, int y) {
            const auto &r = in.rect;
            const int seed = in.seeds ? in.seeds->row(0, y)[x] : 128;
            if (seed == 0 ||
                (r && (x < r->x || y < r->y || x >= r->x + r->width || y >= r->y + r->height)))
                return cv::GC_BGD;
            return seed == 255 ? cv::GC_FGD : in.seeds ? cv::GC_PR_BGD : cv::GC_PR_FGD;
        };
        for (int y = 0; y < height_; y++)
            for (int x = 0; x < width_; x++) {
                const Rgb c = bytes_of(colors[std::size_t(y) * width_ + x]);
                for (int i = 0; i < 3; i++)
                    picture_.at<cv::Vec3b>(y, x)[i] = static_cast<std::uint8_t>(c[2 - i]);
                start_.at<std::uint8_t>(y, x) = static_cast<std::uint8_t>(code(x, y));
            }
    }
    void run(int iterations) {
        cv::setRNGSeed(0);
        start_.copyTo(mask_);
        cv::grabCut(picture_, mask_, {}, background_, foreground_, iterations,
                    cv::GC_INIT_WITH_MASK);
    }
    /// One more iteration, from the mask and the models of the first.
    void evaluate() {
        if (first_.empty())
            mask_.copyTo(first_);
        first_.copyTo(mask_);
        cv::grabCut(picture_, mask_, {}, background_, foreground_, 1, cv::GC_EVAL);
    }
    std::vector<std::uint8_t> found() const {
        std::vector<std::uint8_t> mask;
        for (int y = 0; y < height_; y++)
            for (int x = 0; x < width_; x++)
                mask.push_back(mask_.at<std::uint8_t>(y, x) & 1 ? 255 : 0);
        return mask;
    }

  private:
    int width_, height_;
    cv::Mat picture_, start_, mask_, first_, background_, foreground_;
};

/// What grabCut() finds costs no less, where costs are ours.
void expect_no_dearer(const SegmentDefinition &definition, const SegmentFound &ours,
                      const Hinted &hinted, const std::string &what) {
    GrabCut theirs(hinted.in);
    theirs.run(1);
    expect(ours.cut.flow <= capacity_of(definition.graph(), theirs.found()),
           "the mask of grabCut() costs no less than ours, " + what);
}

#endif

/// How much of the object is found where strokes say what is what.
void check_scenes(Operator &op, const Sizes &sizes) {
    std::vector<gpv_format> coloured = picture_formats;
    std::erase(coloured, gpv_format{GPV_FORMAT_GRAY8});
    std::erase(coloured, gpv_format{GPV_FORMAT_GRAY16});
    double minimum = 1;
    int count = 0;
    for (const auto &[width, height] : sizes)
        for (const gpv_segment_model model : models)
            for (const int connectivity : {4, 8})
                for (const int iterations : {1, 3}) {
                    const gpv_format format =
                        coloured[static_cast<std::size_t>(count) % coloured.size()];
                    const MadeScene scene = {static_cast<std::uint64_t>(count++), width, height};
                    const Hinted hinted(picture_of(scene, format), scene, Hints::both);
                    const gpv_segment_params p = with_model(model, connectivity, iterations);
                    SegmentDefinition definition;
                    const SegmentFound want = definition.run(hinted.in, p);
                    expect_all(op, p, hinted.in, want);
                    const double overlap = overlap_of(want.cut.mask, truth_of(scene));
                    const std::string what = size_name(width, height) + ", " + model_names[model] +
                                             ", " + std::to_string(connectivity) + " neighbours, " +
                                             std::to_string(iterations) + " rounds";
                    if (overlap < 0.95)
                        fatal("a scene's object is found to " + std::to_string(overlap) +
                              " alone, " + what);
                    minimum = std::min(minimum, overlap);
#ifdef HAVE_OPENCV
                    expect_no_dearer(definition, want, hinted, what);
#endif
                }
    std::printf("scenes: %d equal, objects found to %.4f at least\n", count, minimum);
}

/// Images that are worth several threads: the same on any number of them, and a run after prepare
/// allocates nothing.
void check_threads(int width, int height) {
    const gpv_format formats[] = {GPV_FORMAT_RGB8, GPV_FORMAT_NV12, GPV_FORMAT_I420};
    int count = 0;
    // In the short run each model and each format once.
    for (int i = 0; i < 9; i += short_run() ? 4 : 1, count++) {
        const MadeScene scene = {static_cast<std::uint64_t>(i), width, height};
        const Hinted hinted(picture_of(scene, formats[i % 3]), scene,
                            all_hints[static_cast<std::size_t>(i) % std::size(all_hints)]);
        gpv_segment_params p = with_model(models[i / 3], i % 2 ? 8 : 4, 2);
        p.output = i % 2 ? GPV_SEGMENT_OUTPUT_CUTOUT : GPV_SEGMENT_OUTPUT_OVERLAY;
        p.edge = i % 3 != 1 ? GPV_SEGMENT_EDGE_SOFT : GPV_SEGMENT_EDGE_HARD;
        p.certificate = 1;
        const SegmentFound want = find(hinted.in, p);
        for (const int threads : {1, 2, 3, 16})
            with_threads(threads, [&] {
                Operator op;
                All all(hinted.in, p);
                Outputs outputs = all.outputs();
                if (i % 3 == 2)
                    outputs.mask = nullptr;
                op.prepare(p, hinted.in, outputs);
                const int prepared = op.context().allocations();
                expect_found(op, p, hinted.in, outputs, want);
                expect(op.context().allocations() == prepared,
                       "nothing is allocated after prepare, " +
                           describe(op, p, hinted.in, outputs));
            });
    }
    const int iterations = short_run() ? 4 : 30;
    for (int i = 0; i < iterations; i++)
        with_threads(random_of<int>({2, 3, 16}), [] {
            Operator op;
            compare_random(op, 10, 65, definition_of_runs());
        });
    std::printf("threads: %d images equal on 1, 2, 3 and 16, and %d of any kind\n", count,
                10 * iterations);
}

/// The longest sides.
void check_long_sides(Operator &op) {
    for (const auto &[width, height] : Sizes{{GPV_MAX_SIDE, 1}, {1, GPV_MAX_SIDE}}) {
        GuardedImage src = painted(GPV_FORMAT_RGB8, width, height, contents[11](1));
        const GuardedImage seeds = painted(GPV_FORMAT_GRAY8, width, height, [](int x, int y) {
            const int at = (x + y) % 200;
            return Rgb{at == 0 ? 255 : at == 100 ? 0 : 128, 0, 0};
        });
        const SegmentInput in = {&src, &seeds};
        const gpv_segment_params p = with_model(GPV_SEGMENT_MODEL_GMM, 8, 2);
        expect_all(op, p, in, find(in, p));
    }
    std::printf("longest sides: equal\n");
}

/// The photographs, if there are any: from their colours alone.
void check_pictures(Operator &op, const FreshReference &reference) {
    int count = 0;
    for (const char *extension : {".pgm", ".ppm"})
        for (const Picture &picture : pictures(extension))
            for (const gpv_segment_model model : models) {
                const SegmentInput in = {picture.image.get()};
                const gpv_segment_params p = with_model(model, count++ % 2 ? 8 : 4, 2);
                expect_all(op, p, in, reference(in, p));
            }
    std::printf("pictures: %d runs equal%s\n", count,
                count ? "" : "; GPV_TEST_IMAGES can name a folder of PGM and PPM files");
}

// ---- copies -------------------------------------------------------------------------

/// Copies of a small picture whose edge is known to be background: links between them are not cut,
/// colours are those of one, as often as there are copies, and so is the cut. Those that fill the
/// largest image are refused while others have the device's memory.
void check_copies(gpv_backend backend, gpv_segment_model model, int connectivity,
                  const Copies &copies, const FreshReference &reference) {
    const MadeScene scene = {5, copies.width, copies.height};
    Hinted small(picture_of(scene, GPV_FORMAT_RGB8), scene, Hints::both);
    small.seeds.each_row([&](int, std::int64_t y, std::uint8_t *row, std::int64_t bytes) {
        std::memset(row, 0, y == 0 || y == copies.height - 1 ? static_cast<std::size_t>(bytes) : 1);
        row[bytes - 1] = 0;
    });
    gpv_segment_params p = with_model(model, connectivity);
    p.sigma = 12; // that of the picture would be of the links between copies, too
    p.certificate = 1;
    const SegmentFound want = reference(small.in, p);
    const GuardedImage before(GPV_FORMAT_GRAY8, copies.width, copies.height);
    GuardedImage wanted(GPV_FORMAT_GRAY8, copies.width, copies.height);
    paint_mask(want.cut.mask, wanted);
    Operator op(backend, backend == GPV_BACKEND_CUDA ? Place::device : Place::host);
    const std::string what = copies.text() + ", " + model_names[model] + ", " +
                             std::to_string(connectivity) + " neighbours";
    expect_all(op, p, small.in, want);
    const std::uint64_t images = want.cut.mask.size() * (3 + 1 + 1);
    if (!has_memory(backend, copies.count() * (op.context().allocated() + images), what))
        return;
    const CopiedImage src(small.src, copies, 1, backend), seeds(small.seeds, copies, 1, backend),
        mask(before, copies, 1, backend);
    const auto run = [&] {
        return gpv_segment_run(op.op(), nullptr, src.view(), seeds.view(), nullptr, mask.view(),
                               nullptr, nullptr);
    };
#ifdef HAVE_CUDA
    if (backend == GPV_BACKEND_CUDA && src.view()->width == GPV_MAX_SIDE) {
        const NearlyFullDevice full;
        expect_refused(op.context(), what + ", run", run);
        expect_all(op, p, small.in, want);
        mask.expect_copies_of(before, what + ", refused");
    }
#endif
    require(run(), op.context(), "gpv_segment_run");
    gpv_graphcut_result got;
    gpv_graphcut_result_init(&got, sizeof got);
    require(gpv_segment_wait(op.op(), &got), op.context(), "gpv_segment_wait");
    expect_result(
        got, result_of({copies.count() * want.cut.flow, copies.count() * want.cut.area, {}}, true),
        what);
    mask.expect_copies_of(wanted, what);
    expect_all(op, p, small.in, want);
    std::printf("%s: equal in every pixel\n", what.c_str());
}

/// Sizes that the definition takes long for.
void check_large_copies(gpv_backend backend, const FreshReference &reference) {
    const auto check = [&](gpv_segment_model model, int connectivity, const Copies &copies) {
        check_copies(backend, model, connectivity, copies, reference);
    };
    check(GPV_SEGMENT_MODEL_GMM, 8, {9, 17, 455, 241});
    check(GPV_SEGMENT_MODEL_MEANS, 4, {17, 9, 241, 455});
    check(GPV_SEGMENT_MODEL_HISTOGRAM, 8, {4, 4, 1024, 1024});
    check(GPV_SEGMENT_MODEL_MEANS, 8, {8, 8, 1024, 1024});
    check(GPV_SEGMENT_MODEL_GMM, 4, {16, 16, 1024, 1024});
}

// ---- CUDA ---------------------------------------------------------------------------

#ifdef HAVE_CUDA

/// An operator of its own, whose runs follow each other as those of the reference should.
Reference by_cpu() {
    const auto cpu = std::make_shared<Operator>();
    return {
        [cpu](const SegmentInput &in, const gpv_segment_params &p) {
            All all(in, p);
            gpv_segment_params hard = p;
            hard.edge = GPV_SEGMENT_EDGE_HARD;
            const gpv_graphcut_result result = cpu->run(hard, in, {&all.mask, nullptr, nullptr});
            SegmentFound found;
            found.cut = {result.flow, result.area, all.found()};
            found.alpha = alpha_of(*in.src);
            for (const Value value : colors_of(*in.src))
                found.colors.push_back(bytes_of(value));
            found.mask = mask_of(in, p, found.colors, found.cut);
            return found;
        },
        [cpu] { cpu->forget(); }};
}

SegmentFound find_by_cpu(const SegmentInput &in, const gpv_segment_params &p) {
    return by_cpu().run(in, p);
}

/// How much of it there is: brief is what the emulation does in a short time.
struct Extent {
    bool brief;

    int width() const { return brief ? 37 : 333; }
    int height() const { return brief ? 29 : 251; }
    MadeScene scene(int number) const {
        return {static_cast<std::uint64_t>(number) + 20, width(), height()};
    }
};

/// Every model, with every hint, number of neighbours and format.
void check_branches(Operator &op, const Extent &extent) {
    int count = 0;
    for (const gpv_segment_model model : models)
        for (const Hints hints : all_hints) {
            if (extent.brief && count++ % (short_run() ? 5 : 2) != (op.place() != Place::device))
                continue;
            const Hinted hinted(
                picture_of(
                    extent.scene(count),
                    picture_formats[static_cast<std::size_t>(count) % picture_formats.size()]),
                extent.scene(count), hints);
            gpv_segment_params p = with_model(model, count / 2 % 2 ? 8 : 4, 1 + count % 3 / 2);
            p.certificate = 1;
            p.output = count % 4 == 0 ? GPV_SEGMENT_OUTPUT_CUTOUT : GPV_SEGMENT_OUTPUT_OVERLAY;
            p.edge = count % 4 < 2 ? GPV_SEGMENT_EDGE_SOFT : GPV_SEGMENT_EDGE_HARD;
            expect_all(op, p, hinted.in, find(hinted.in, p));
            count += !extent.brief;
        }
    std::printf("CUDA: every model with every hint equal\n");
}

/// What is learned goes from run to run.
void check_adapt(Operator &op, const Extent &extent) {
    for (const gpv_segment_model model : models) {
        gpv_segment_params p = with_model(model);
        p.warm_start = GPV_SEGMENT_WARM_START_ADAPT;
        const Reference definition = definition_of_runs();
        op.forget();
        for (int at = 0; at < (extent.brief ? 2 : 5); at++) {
            const Hinted hinted(picture_of(extent.scene(at), GPV_FORMAT_RGB8), extent.scene(at),
                                at ? Hints::none : Hints::both);
            expect_all(op, p, hinted.in, definition.run(hinted.in, p));
        }
    }
    std::printf("CUDA: what has been learned is kept\n");
}

void check_prepared(Place place, const Extent &extent) {
    Operator op(GPV_BACKEND_CUDA, place);
    int count = 0;
    for (const gpv_segment_model model : models)
        for (const bool both : {false, true}) {
            if (extent.brief && both != (model == GPV_SEGMENT_MODEL_GMM))
                continue;
            const Hinted hinted(picture_of(extent.scene(1), GPV_FORMAT_I420), extent.scene(1),
                                both ? Hints::both : Hints::none);
            gpv_segment_params p = with_model(model, both ? 8 : 4, both ? 2 : 1);
            p.output = both ? GPV_SEGMENT_OUTPUT_CUTOUT : GPV_SEGMENT_OUTPUT_OVERLAY;
            p.certificate = both;
            All all(hinted.in, p);
            Outputs outputs = all.outputs();
            if (count++ % 3 == 2)
                outputs.mask = nullptr;
            const SegmentFound want = find(hinted.in, p);
            op.prepare(p, hinted.in, outputs);
            const int prepared = op.context().allocations();
            expect_found(op, p, hinted.in, outputs, want);
            expect(op.context().allocations() == prepared,
                   "CUDA: nothing is allocated after prepare, " +
                       describe(op, p, hinted.in, outputs));
        }
    std::printf("CUDA: no scratch is allocated after prepare\n");
}

/// Images and a result in CUDA memory.
class OnDevice {
  public:
    OnDevice(const SegmentInput &in, const All &all) : rect_(in.rect), has_seeds_(in.seeds) {
        upload(in);
        mask_.upload(all.mask);
        dst_.upload(all.dst);
        Stored stored = all.result;
        stored_.upload(stored.bytes().data(), stored.bytes().size());
        buffer_ = stored.view(stored_.data(), GPV_MEMORY_CUDA);
    }
    /// Another picture of the same size.
    void upload(const SegmentInput &in) {
        src_.upload(*in.src);
        if (has_seeds_)
            seeds_.upload(*in.seeds);
    }
    gpv_status prepare(gpv_segment *op) const {
        return gpv_segment_prepare(op, src_.view(), seeds(), mask_.view(), dst_.view());
    }
    gpv_status run(gpv_segment *op, cudaStream_t stream) const {
        return gpv_segment_run(op, stream, src_.view(), seeds(), rect_ ? &*rect_ : nullptr,
                               mask_.view(), dst_.view(), &buffer_);
    }
    void download(All &all) const {
        mask_.download(all.mask);
        dst_.download(all.dst);
        stored_.download(all.result.bytes().data(), all.result.bytes().size());
    }

  private:
    const gpv_image *seeds() const { return has_seeds_ ? seeds_.view() : nullptr; }

    const std::optional<gpv_rect> rect_;
    const bool has_seeds_;
    DeviceImage src_, seeds_, mask_, dst_;
    DeviceBlock stored_;
    gpv_buffer buffer_;
};

/// Of seeds on the device. A run with one has found and written nothing, and nothing of the runs
/// before is left that one with adapt would go on from.
void check_faults(const Extent &extent) {
    const MadeScene scene = extent.scene(2);
    const PlainContext context(GPV_BACKEND_CUDA);
    for (const bool adapts : {false, true})
        for (const bool all_known : {false, true}) {
            gpv_segment_params p = with_model(GPV_SEGMENT_MODEL_GMM, 4, 2);
            p.warm_start = adapts ? GPV_SEGMENT_WARM_START_ADAPT : GPV_SEGMENT_WARM_START_NONE;
            p.output = adapts ? GPV_SEGMENT_OUTPUT_OVERLAY : GPV_SEGMENT_OUTPUT_CUTOUT;
            p.edge = adapts ? GPV_SEGMENT_EDGE_HARD : GPV_SEGMENT_EDGE_SOFT;
            const Op op(context);
            require(gpv_segment_set_params(op, &p), context, "gpv_segment_set_params");
            Hinted good(picture_of(scene, GPV_FORMAT_RGB8), scene, Hints::both);
            Hinted bad(picture_of(scene, GPV_FORMAT_RGB8), scene, Hints::both);
            bad.seeds.each_row([&](int, std::int64_t y, std::uint8_t *row, std::int64_t bytes) {
                if (all_known)
                    std::memset(row, 1, static_cast<std::size_t>(bytes));
                else if (y == 5)
                    row[7] = 254;
                else if (y > 5)
                    row[3] = 4;
            });
            All all(good.in, p);
            OnDevice to(good.in, all);
            SegmentDefinition definition;
            const auto expect_good = [&](int iterations) {
                to.upload(good.in);
                gpv_segment_params as = p;
                as.iterations = iterations;
                const Expected expected(p, good.in, all.outputs(), definition.run(good.in, as));
                require(to.run(op, nullptr), context, "gpv_segment_run");
                require(gpv_segment_wait(op, nullptr), context, "gpv_segment_wait");
                to.download(all);
                expected.compare("CUDA, beside seeds at fault");
            };
            expect_good(2);
            const auto mask = all.mask.bytes(), dst = all.dst.bytes();
            to.upload(bad.in);
            require(to.run(op, nullptr), context, "gpv_segment_run");
            gpv_graphcut_result result, refused{};
            gpv_graphcut_result_init(&result, sizeof result);
            refused.struct_size = sizeof refused;
            refused.refused = 1;
            expect(gpv_segment_wait(op, &result) == GPV_ERR_INVALID_ARGUMENT &&
                       gpv_segment_query(op) == GPV_ERR_INVALID_ARGUMENT,
                   "a fault of seeds is found on the device");
            const std::string error = gpv_context_error(context);
            expect(error.starts_with(all_known ? "seeds leave no pixel unknown: "
                                               : "seeds is 254 at (7, 5), must be 0 (background)"),
                   "the fault of seeds is named: " + error);
            to.download(all);
            const gpv_graphcut_result stored = all.result.result();
            expect(std::memcmp(&result, &refused, sizeof result) == 0 &&
                       std::memcmp(&stored, &refused, sizeof stored) == 0 &&
                       all.mask.bytes() == mask && all.dst.bytes() == dst,
                   "a run that was refused has found and written nothing");
            std::uint32_t learned = 1;
            require(gpv_segment_learned(op, &learned), context, "gpv_segment_learned");
            expect(!learned, "a run that was refused has learned nothing");
            definition.forget();
            expect_good(adapts ? 1 : 2); // the one that was refused has adapted
        }
    std::printf("CUDA: faults of seeds are named\n");
}

/// Runs that become part of the caller's graph, and runs on two streams.
class StreamChecks {
  public:
    explicit StreamChecks(const Extent &extent) : extent_(extent) {}

    void check_captured(gpv_segment_model model, int connectivity, Hints hints) {
        gpv_segment_params p = with_model(model, connectivity, 2);
        p.certificate = 1;
        const Op op(context_);
        set(op, p);
        const auto picture = [&](int number) {
            return std::make_unique<Hinted>(picture_of(extent_.scene(number), GPV_FORMAT_NV12),
                                            extent_.scene(number), hints);
        };
        const auto first = picture(0);
        All all(first->in, p);
        OnDevice to(first->in, all);
        const Enqueue enqueue = [&](cudaStream_t stream, int) {
            return to.run(op, stream) == GPV_OK;
        };
        expect(!streams_.can_capture(enqueue), "a captured run that needs memory is refused");
        require(to.prepare(op), context_, "gpv_segment_prepare");
        expect(!streams_.can_capture([&](cudaStream_t stream, int) {
            return gpv_segment_run(op, stream, first->src.view(), nullptr, nullptr, all.mask.view(),
                                   nullptr, nullptr) == GPV_OK;
        }),
               "a captured run on host memory is refused");
        expect_larger_refused(op, p, hints);
        const cudaGraphExec_t graph = capture(enqueue, 1, streams_[0]);
        expect(graph, "a prepared run can be captured");
        gpv_segment_params other = default_params(); // what is captured keeps its own
        other.connectivity = connectivity;
        other.lambda = 1;
        other.sigma = 3;
        set(op, other);
        const int pictures = shortened(3, 2); // one after the other in the same place
        for (int number = 0; number < pictures; number++) {
            const auto hinted = picture(number);
            const Expected expected(p, hinted->in, all.outputs(), find(hinted->in, p));
            to.upload(hinted->in);
            launch(graph);
            to.download(all);
            expected.compare("CUDA, captured");
        }
        gpv_graphcut_result result;
        gpv_graphcut_result_init(&result, sizeof result);
        require(gpv_segment_wait(op, &result), context_, "gpv_segment_wait");
        expect(result.flow == 0 && result.area == 0 && result.optimal == 0,
               "a captured run has no result on the host");
        require(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
        std::printf("CUDA: captured, %s, %d neighbours\n", model_names[model], connectivity);
    }

    /// The operator has not memory enough.
    void expect_larger_refused(gpv_segment *op, const gpv_segment_params &p, Hints hints) {
        MadeScene scene = extent_.scene(0);
        scene.height *= 2;
        const Hinted larger(picture_of(scene, GPV_FORMAT_NV12), scene, hints);
        All all(larger.in, p);
        OnDevice to(larger.in, all);
        expect(!streams_.can_capture(
                   [&](cudaStream_t stream, int) { return to.run(op, stream) == GPV_OK; }),
               "a captured run that needs memory is refused");
        const std::string error = gpv_context_error(context_);
        expect(error.find("gpv_segment_prepare()") != std::string::npos, "it says what to call");
    }

    /// Whether a captured run begins with what has been learned is settled when it is captured:
    /// then each launch goes on from the one before.
    void check_captured_video(gpv_segment_model model) {
        gpv_segment_params p = with_model(model);
        p.warm_start = GPV_SEGMENT_WARM_START_ADAPT;
        p.static_scene = 1;
        const Op op(context_);
        set(op, p);
        SegmentDefinition definition;
        const auto frame = [&](int number) {
            return std::make_unique<Hinted>(picture_of(extent_.scene(number), GPV_FORMAT_RGB8),
                                            extent_.scene(number), Hints::foreground);
        };
        const auto first = frame(0);
        All all(first->in, p);
        OnDevice to(first->in, all);
        {
            const Expected expected(p, first->in, all.outputs(), definition.run(first->in, p));
            require(to.run(op, streams_[0]), context_, "gpv_segment_run");
            require(gpv_segment_wait(op, nullptr), context_, "gpv_segment_wait");
            to.download(all);
            expected.compare("CUDA, before a capture");
        }
        const cudaGraphExec_t graph = capture(
            [&](cudaStream_t stream, int) { return to.run(op, stream) == GPV_OK; }, 1, streams_[0]);
        expect(graph, "a run of the same kind as one before can be captured");
        for (int number = 1; number < (extent_.brief ? 3 : 5); number++) {
            const auto hinted = frame(number);
            const Expected expected(p, hinted->in, all.outputs(), definition.run(hinted->in, p));
            to.upload(hinted->in);
            launch(graph);
            to.download(all);
            expected.compare("CUDA, captured, with what has been learned");
        }
        require(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
        std::printf("CUDA: captured video, %s\n", model_names[model]);
    }

    /// One run after the other on two streams, before anybody waits; each begins with what the one
    /// before has learned.
    void check_two_streams() {
        gpv_segment_params p = with_model(GPV_SEGMENT_MODEL_GMM);
        p.warm_start = GPV_SEGMENT_WARM_START_ADAPT;
        for (int round = 0; round < (extent_.brief ? 1 : 20); round++) {
            const Op op(context_);
            set(op, p);
            SegmentDefinition definition;
            std::vector<std::unique_ptr<Hinted>> pictures;
            std::vector<std::unique_ptr<All>> all;
            std::vector<std::unique_ptr<OnDevice>> to;
            std::vector<std::unique_ptr<Expected>> expected;
            for (int i = 0; i < 3; i++) {
                pictures.push_back(
                    std::make_unique<Hinted>(picture_of(extent_.scene(i), GPV_FORMAT_RGB8),
                                             extent_.scene(i), i ? Hints::none : Hints::both));
                const SegmentInput &in = pictures.back()->in;
                all.push_back(std::make_unique<All>(in, p));
                to.push_back(std::make_unique<OnDevice>(in, *all.back()));
                expected.push_back(std::make_unique<Expected>(p, in, all.back()->outputs(),
                                                              definition.run(in, p)));
            }
            for (int i = 0; i < 3; i++)
                require(to[static_cast<std::size_t>(i)]->run(op, streams_[(i + round) % 2]),
                        context_, "gpv_segment_run");
            gpv_graphcut_result result;
            gpv_graphcut_result_init(&result, sizeof result);
            require(gpv_segment_wait(op, &result), context_, "gpv_segment_wait");
            require(gpv_segment_query(op), context_, "gpv_segment_query");
            expect_result(result, expected.back()->result(), "CUDA, the last of three runs");
            for (std::size_t i = 0; i < 3; i++) {
                to[i]->download(*all[i]);
                expected[i]->compare("CUDA, two streams");
            }
        }
        std::printf("CUDA: two streams equal\n");
    }

    /// Masks of two runs on images in host memory, of which the first has not been waited for.
    void check_host_runs() {
        const gpv_segment_params p = with_model(GPV_SEGMENT_MODEL_HISTOGRAM, 8);
        const Op op(context_);
        set(op, p);
        std::vector<std::unique_ptr<Hinted>> pictures;
        std::vector<std::unique_ptr<All>> all;
        std::vector<std::unique_ptr<Expected>> expected;
        for (int i = 0; i < 2; i++) {
            pictures.push_back(std::make_unique<Hinted>(
                picture_of(extent_.scene(i), GPV_FORMAT_BGRA8), extent_.scene(i), Hints::both));
            const SegmentInput &in = pictures.back()->in;
            all.push_back(std::make_unique<All>(in, p));
            const Outputs outputs = {&all.back()->mask, &all.back()->dst, nullptr};
            expected.push_back(std::make_unique<Expected>(p, in, outputs, find(in, p)));
            require(gpv_segment_run(op, streams_[i], in.src->view(), in.seeds->view(), nullptr,
                                    outputs.mask->view(), outputs.dst->view(), nullptr),
                    context_, "gpv_segment_run");
        }
        require(gpv_segment_wait(op, nullptr), context_, "gpv_segment_wait");
        for (const auto &e : expected)
            e->compare("CUDA, two runs on host memory");
        std::printf("CUDA: two runs on host memory equal\n");
    }

  private:
    void set(gpv_segment *op, const gpv_segment_params &p) const {
        require(gpv_segment_set_params(op, &p), context_, "gpv_segment_set_params");
    }
    void launch(cudaGraphExec_t graph) const {
        require(cudaGraphLaunch(graph, streams_[0]), "cudaGraphLaunch");
        require(gpv_stream_sync(context_, streams_[0]), context_, "gpv_stream_sync");
    }

    const Extent extent_;
    const Streams streams_;
    const PlainContext context_{GPV_BACKEND_CUDA};
};

/// An operator each on two contexts, at the same time.
void check_two_contexts(const Extent &extent) {
    const gpv_segment_params p = with_model(GPV_SEGMENT_MODEL_GMM, 8, 2);
    const Hinted hinted[2] = {
        {picture_of(extent.scene(1), GPV_FORMAT_RGB8), extent.scene(1), Hints::both},
        {picture_of(extent.scene(2), GPV_FORMAT_NV12), extent.scene(2), Hints::none}};
    const SegmentFound want[2] = {find(hinted[0].in, p), find(hinted[1].in, p)};
    tbb::parallel_for(0, 2, [&](int i) {
        Operator op(GPV_BACKEND_CUDA, Place::device);
        for (int round = 0; round < (extent.brief ? 1 : 50); round++) {
            All all(hinted[i].in, p);
            op.run(p, hinted[i].in, {&all.mask, nullptr, nullptr});
            expect(all.found() == want[i].cut.mask, "CUDA, two contexts");
        }
    });
    std::printf("CUDA: two contexts at once equal\n");
}

/// Images that only a GPU can do in time, beside the CPU backend, which the definition proves on
/// smaller ones.
void check_on_gpu(Operator &op) {
    int count = 0;
    for (const auto &[width, height] :
         Sizes{{640, 480}, {1280, 719}, {1919, 1079}, {1920, 1080}, {3840, 2160}})
        for (const gpv_segment_model model : models)
            for (const int connectivity : {4, 8}) {
                if (short_run() && count % 7) {
                    count++;
                    continue;
                }
                const gpv_format format =
                    picture_formats[static_cast<std::size_t>(count) % picture_formats.size()];
                const MadeScene scene = {static_cast<std::uint64_t>(count), width, height};
                const Hinted hinted(picture_of(scene, format), scene,
                                    all_hints[(count + count / 6) % 6]);
                const gpv_segment_params p = with_model(model, connectivity, width > 2000 ? 1 : 2);
                expect_all(op, p, hinted.in, find_by_cpu(hinted.in, p));
                count++;
            }
    std::printf("CUDA: %d large scenes equal to the CPU\n", shortened(count, 7));
    const Hinted photograph(photo(GPV_FORMAT_RGB8, 1920, 1080), {1, 1920, 1080}, Hints::none);
    const gpv_segment_params p = with_model(GPV_SEGMENT_MODEL_GMM, 8, 2);
    const SegmentFound want = find_by_cpu(photograph.in, p);
    const int repeats = shortened(100);
    for (int i = 0; i < repeats; i++)
        expect_all(op, p, photograph.in, want);
    std::printf("CUDA: %d repeats of 1080p equal to the CPU\n", repeats);
}

/// As many pixels as there can be, where others have the device's memory.
void check_refused_by_device() {
    Operator op(GPV_BACKEND_CUDA, Place::device);
    const MadeScene scene = {3, 97, 61};
    const Hinted small(picture_of(scene, GPV_FORMAT_RGB8), scene, Hints::none);
    const gpv_image src = largest_on_device(GPV_FORMAT_RGB8),
                    mask = largest_on_device(GPV_FORMAT_GRAY8);
    for (const int connectivity : {4, 8}) {
        const gpv_segment_params p = with_model(GPV_SEGMENT_MODEL_GMM, connectivity);
        const SegmentFound want = find_by_cpu(small.in, p);
        const NearlyFullDevice full;
        expect_all(op, p, small.in, want);
        expect_refused(op.context(), "CUDA, prepare",
                       [&] { return gpv_segment_prepare(op.op(), &src, nullptr, &mask, nullptr); });
        expect_all(op, p, small.in, want);
    }
    std::printf("CUDA: refused by the device's memory\n");
}

void check_cuda(bool brief) {
    const Extent extent = {brief};
    for (const Place place : places({Place::device, Place::host, Place::device_tight})) {
        const char *const names[] = {"host", "CUDA", "tight CUDA"};
        const char *const parts[] = {"host", "device", "tight"};
        if (!part.has(parts[static_cast<int>(place)]))
            continue;
        Operator op(GPV_BACKEND_CUDA, place);
        std::printf("== %s, images in %s memory\n", op.context().device(),
                    names[static_cast<int>(place)]);
        // Under racecheck one place has to meet each format.
        const int few = kernels_alone() ? 12 : shortened(place == Place::device ? 12 : 5, 2);
        compare_with_definition(op, brief ? few : scaled(400), brief ? 24 : 65);
        if (place != Place::device_tight) {
            check_branches(op, extent);
            if (!kernels_alone())
                check_prepared(place, extent);
        }
    }
    if (part.has("memory")) { // before others have memory of the device's
        if (!brief) {
            check_refused(GPV_BACKEND_CUDA);
            check_refused_by_device();
        }
        const int copies = brief ? 2 : 31, side = brief ? 37 : GPV_MAX_SIDE / copies;
        const Copies all = {copies, copies, side, side};
        check_copies(GPV_BACKEND_CUDA, GPV_SEGMENT_MODEL_GMM, 4, all, find_by_cpu);
        check_copies(GPV_BACKEND_CUDA, GPV_SEGMENT_MODEL_HISTOGRAM, 8,
                     !brief && short_run() ? Copies{20, 20, 410, 410} : all, // more than 2^31 bytes
                     find_by_cpu);
        if (!brief && !short_run())
            check_large_copies(GPV_BACKEND_CUDA, find_by_cpu);
    }
    if (!brief && part.has("sizes")) {
        Operator op(GPV_BACKEND_CUDA, Place::device);
        for (const Sizes &sizes : {narrow_sizes(), small_squares, squares})
            check_sizes(op, some_of(sizes), find_by_cpu);
        if (!short_run())
            check_sizes(op, large_squares, find_by_cpu);
    }
    if (!part.has("runs"))
        return;
    Operator op(GPV_BACKEND_CUDA, Place::device);
    check_adapt(op, extent);
    check_faults(extent);
    check_video_of_scenes(op, brief);
    if (kernels_alone())
        return;
    for (const gpv_segment_model model : models) {
        const bool twice = model == GPV_SEGMENT_MODEL_GMM;
        if (!brief || twice)
            StreamChecks(extent).check_captured(model, 4, Hints::none);
        if (!brief || !twice)
            StreamChecks(extent).check_captured(model, 8, Hints::both);
        if (!brief || twice)
            StreamChecks(extent).check_captured_video(model);
    }
    StreamChecks(extent).check_two_streams();
    StreamChecks(extent).check_host_runs();
    if (!under_racecheck())
        check_two_contexts(extent);
    if (brief)
        return;
    compare_random(op, shortened(200), 400, by_cpu());
    check_contents(op, {{1, 1}, {1, 97}, {97, 1}, {2, 2}, {13, 7}, {61, 53}}, find);
    check_contents(op, {{shortened(701, 4), shortened(523, 4)}}, find_by_cpu);
    check_all_colors(op, short_run() ? 8 : 2);
    check_video(op);
    check_laws(op);
    check_repeats(op, 61, 47);
    check_scenes(op, {{201, 151}});
    check_max_time(op, shortened(1280, 4), shortened(720, 4));
    check_min_sigma(op);
    check_forgotten(op);
    check_pictures(op, find_by_cpu);
    check_on_gpu(op);
}

#endif

// ---- quality ------------------------------------------------------------------------

#ifdef HAVE_OPENCV_IMGCODECS

/// A picture, what is known of it, and what is to be found.
struct Task {
    std::string name;
    GuardedImage src, seeds;
    std::vector<std::uint8_t> truth;
};

cv::Mat read_image(const std::filesystem::path &path, int width = 0, int height = 0) {
    cv::Mat image = cv::imread(path.string(), cv::IMREAD_COLOR);
    if (image.empty())
        fatal(path.string() + " cannot be read");
    if (width && (image.cols != width || image.rows != height))
        fatal(path.string() + " is not as large as its picture");
    return image;
}

/// Of what a palette says of a pixel, the colour is what can be read. What most pixels have is not
/// known; of the others the truth under most of their pixels is their side.
GuardedImage seeds_of_scribbles(const cv::Mat &scribbles, const std::vector<std::uint8_t> &truth) {
    const auto label = [&](int x, int y) {
        const cv::Vec3b &c = scribbles.at<cv::Vec3b>(y, x);
        return value_of({c[2], c[1], c[0]});
    };
    struct Count {
        std::int64_t pixels = 0, of_object = 0;
    };
    std::map<Value, Count> counts;
    for (int y = 0; y < scribbles.rows; y++)
        for (int x = 0; x < scribbles.cols; x++) {
            Count &count = counts[label(x, y)];
            count.pixels++;
            count.of_object += truth[std::size_t(y) * scribbles.cols + x] == 255;
        }
    const Value unknown =
        std::max_element(counts.begin(), counts.end(), [](const auto &a, const auto &b) {
            return a.second.pixels < b.second.pixels;
        })->first;
    return painted(GPV_FORMAT_GRAY8, scribbles.cols, scribbles.rows, [&](int x, int y) {
        const Value value = label(x, y);
        const Count &count = counts.at(value);
        return Rgb{value == unknown ? 128 : 2 * count.of_object > count.pixels ? 255 : 0, 0, 0};
    });
}

Task read_task(const std::filesystem::path &folder, const std::string &name) {
    const bool png = std::filesystem::exists(folder / (name + ".png"));
    const cv::Mat picture = read_image(folder / (name + (png ? ".png" : ".jpg")));
    const int width = picture.cols, height = picture.rows;
    const cv::Mat gt = read_image(folder / (name + "_gt.png"), width, height);
    std::vector<std::uint8_t> truth;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            truth.push_back(gt.at<cv::Vec3b>(y, x)[2]);
    GuardedImage src = painted(GPV_FORMAT_BGR8, width, height, [&](int x, int y) {
        const cv::Vec3b &c = picture.at<cv::Vec3b>(y, x);
        return Rgb{c[2], c[1], c[0]};
    });
    if (const auto path = folder / (name + "_seeds.png"); std::filesystem::exists(path)) {
        const cv::Mat seeds = read_image(path, width, height);
        return {name, std::move(src),
                painted(GPV_FORMAT_GRAY8, width, height,
                        [&](int x, int y) {
                            return Rgb{seeds.at<cv::Vec3b>(y, x)[2], 0, 0};
                        }),
                truth};
    }
    const cv::Mat scribbles = read_image(folder / (name + "_anno2.png"), width, height);
    return {name, std::move(src), seeds_of_scribbles(scribbles, truth), truth};
}

std::vector<Task> read_tasks(const std::filesystem::path &folder) {
    const std::string ending = "_gt.png";
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(folder)) {
        const std::string file = entry.path().filename().string();
        if (file.size() > ending.size() &&
            file.compare(file.size() - ending.size(), ending.size(), ending) == 0)
            names.push_back(file.substr(0, file.size() - ending.size()));
    }
    std::sort(names.begin(), names.end());
    std::vector<Task> tasks;
    for (const std::string &name : names)
        tasks.push_back(read_task(folder, name));
    if (tasks.empty())
        fatal("no picture has a file that ends in " + ending);
    return tasks;
}

/// Intersection over union of each picture, and the mean.
std::vector<double> overlaps(std::vector<Task> &tasks, const std::string &name,
                             const std::function<std::vector<std::uint8_t>(Task &)> &find_mask) {
    std::vector<double> result;
    double sum = 0;
    std::printf("%-34s", name.c_str());
    for (Task &task : tasks) {
        result.push_back(overlap_of(find_mask(task), task.truth));
        sum += result.back();
        std::printf(" %10.4f", result.back());
    }
    result.push_back(sum / double(tasks.size()));
    std::printf(" %10.4f\n", result.back());
    return result;
}

/// Round what is to be found, and so many pixels wider.
gpv_rect box_of(const Task &task, int margin) {
    const int width = task.src.view()->width, height = task.src.view()->height;
    int left = width, top = height, right = 0, bottom = 0;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            if (task.truth[std::size_t(y) * width + x] == 255) {
                left = std::min(left, x);
                right = std::max(right, x + 1);
                top = std::min(top, y);
                bottom = std::max(bottom, y + 1);
            }
    left = std::max(left - margin, 0);
    top = std::max(top - margin, 0);
    return {left, top, std::min(right + margin, width) - left,
            std::min(bottom + margin, height) - top};
}

/// How much of objects is found, in pictures of a folder: NAME.png or .jpg, with the object in
/// NAME_gt.png (255; 0 is the ground, anything else does not count), and what is known in
/// NAME_seeds.png, as seeds are, or in NAME_anno2.png, in two colours on a third; and from boxes
/// round the object. Beside five iterations of grabCut(), whose unknown pixels are its probable
/// background, which suits it better, and in a box its probable foreground. With the default
/// parameters ours may be worse than it is by 0.05 in one picture. From strokes it may be by 0.02
/// in the mean; from boxes the mean is better by 0.02.
int check_quality(const std::string &folder) {
    std::vector<Task> tasks = read_tasks(folder);
    std::printf("%-34s", "intersection over union");
    for (const Task &task : tasks)
        std::printf(" %10.10s", task.name.c_str());
    std::printf(" %10s\n", "mean");
    Operator op;
    bool good = true;
    double gain = 0;
    const auto compare = [&](const std::string &known, auto input, double lead) {
        const std::vector<double> theirs =
            overlaps(tasks, "OpenCV " CV_VERSION " grabCut, " + known, [&](Task &task) {
                GrabCut cut(input(task));
                cut.run(5);
                return cut.found();
            });
        for (const gpv_segment_model model : models)
            for (const int connectivity : {4, 8}) {
                gpv_segment_params p = default_params();
                const bool counts = model == p.model && connectivity == p.connectivity;
                p.model = model;
                p.connectivity = connectivity;
                const std::vector<double> ours =
                    overlaps(tasks,
                             std::string("ours, ") + model_names[model] + ", " +
                                 std::to_string(connectivity) + ", " + known,
                             [&](Task &task) { return Run(op, p, input(task)).all.found(); });
                if (!counts)
                    continue;
                for (std::size_t i = 0; i < tasks.size(); i++)
                    good = good && ours[i] >= theirs[i] - 0.05;
                gain += ours.back() - theirs.back() - lead;
            }
    };
    compare(
        "strokes",
        [](Task &task) {
            return SegmentInput{&task.src, &task.seeds};
        },
        -0.02);
    good = good && gain >= 0;
    gain = 0;
    for (const int margin : {0, 5, 30})
        compare(
            "box + " + std::to_string(margin),
            [&](Task &task) {
                return SegmentInput{&task.src, nullptr, box_of(task, margin)};
            },
            0.02);
    expect(good && gain >= 0, "objects are found as well as grabCut() finds them");
    return 0;
}

#else

int check_quality(const std::string &) {
    std::printf("skipped: built without OpenCV's imgcodecs\n");
    return skipped;
}

#endif

// ---- benchmark ----------------------------------------------------------------------

/// What is timed, on a made scene with strokes, or on what a photograph is like with few pixels
/// that are known.
struct Work {
    std::string image;
    std::unique_ptr<Hinted> hinted;
    gpv_segment_params params;

    std::string text() const {
        return std::string(model_names[params.model]) + ", " + std::to_string(params.connectivity) +
               " neighbours" + (hinted->in.seeds ? "" : ", nothing known");
    }
    const GuardedImage &src() const { return hinted->src; }
};

Work scene_work(int width, int height, gpv_format format, gpv_segment_model model,
                int connectivity) {
    const MadeScene scene = {1, width, height};
    const bool video = format == GPV_FORMAT_NV12;
    return {(video ? "NV12 scene " : "scene ") + size_name(width, height),
            std::make_unique<Hinted>(picture_of(scene, format), scene, Hints::both),
            with_model(model, connectivity)};
}

Work photo_work(int width, int height, gpv_format format, gpv_segment_model model,
                int connectivity) {
    const bool video = format == GPV_FORMAT_NV12;
    return {(video ? "NV12 photo " : "photo ") + size_name(width, height),
            std::make_unique<Hinted>(photo(format, width, height), MadeScene{1, width, height},
                                     Hints::both),
            with_model(model, connectivity)};
}

/// f(work) for pictures of the sizes in the table of the paper that the sources in
/// docs/algorithms/graphcut.md begin with. As there, no pixel is certain, and each side has one
/// mean.
template <class F>
void each_of_paper(F f) {
    for (const auto &[width, height, number] :
         {std::array{640, 480, 1}, {600, 450, 1}, {600, 450, 2}}) {
        const MadeScene scene = {static_cast<std::uint64_t>(number), width, height};
        f(Work{"scene " + std::to_string(number) + " " + size_name(width, height),
               std::make_unique<Hinted>(picture_of(scene, GPV_FORMAT_RGB8), scene, Hints::none),
               with_model(GPV_SEGMENT_MODEL_MEANS)});
    }
}

/// f(work), one of which is in memory at a time.
template <class F>
void each_to_time(const Sizes &sizes, F f) {
    for (const auto &[width, height] : sizes)
        for (const gpv_format format : {GPV_FORMAT_RGB8, GPV_FORMAT_NV12})
            for (const auto make : {scene_work, photo_work})
                for (const gpv_segment_model model : models)
                    for (const int connectivity : {4, 8})
                        if (model == GPV_SEGMENT_MODEL_GMM
                                ? make == scene_work || connectivity == 4
                                : make == scene_work && format == GPV_FORMAT_RGB8 &&
                                      connectivity == 4)
                            f(make(width, height, format, model, connectivity));
}

/// The graph of a work, as the solver alone gets it.
struct Solved {
    GuardedImage terminals, links, mask;

    explicit Solved(const Instance &in)
        : terminals(GPV_FORMAT_LABEL32, in.width, in.height),
          links(in.format(), in.width, in.height), mask(GPV_FORMAT_GRAY8, in.width, in.height) {
        const auto copy = [&](const std::vector<std::int32_t> &plane, int y, std::uint8_t *row) {
            std::memcpy(row, &plane[in.at(0, y)], static_cast<std::size_t>(in.width) * 4);
        };
        for (int y = 0; y < in.height; y++) {
            copy(in.terminals, y, terminals.row(0, y));
            for (int d = 0; d < in.directions; d++)
                copy(in.links[static_cast<std::size_t>(d)], y, links.row(d, y));
        }
    }
};

using Solver = Handle<gpv_graphcut_create, gpv_graphcut_destroy>;

/// The first graph of a work.
Solved graph_of(const Work &work, const gpv_segment_params &p) {
    SegmentDefinition definition;
    definition.make_graph(work.hinted->in, p);
    return Solved(definition.graph());
}

/// As it is, but for a sigma that leaves no links: a cut of it takes next to no time, so that the
/// difference of two times is exact.
gpv_segment_params without_links(gpv_segment_params p) {
    p.sigma = 0.01f;
    return p;
}

/// All but the cut, of a work without links.
Timing without(const Timing &all, const Timing &cut) {
    return {all.median - cut.median, all.low - cut.median, all.high - cut.median};
}

/// Ours on the CPU, into memory that is kept.
class HostRun {
  public:
    HostRun(gpv_backend backend, const Work &work, const gpv_segment_params &p)
        : context_(backend), in_(work.hinted->in), mask_(like(work)) {
        require(gpv_segment_set_params(op_, &p), context_, "gpv_segment_set_params");
    }
    void run() {
        require(gpv_segment_run(op_, nullptr, in_.src->view(),
                                in_.seeds ? in_.seeds->view() : nullptr, nullptr, mask_.view(),
                                nullptr, nullptr),
                context_, "gpv_segment_run");
        require(gpv_segment_wait(op_, nullptr), context_, "gpv_segment_wait");
    }
    std::int64_t solve(Solved &graph) {
        require(gpv_graphcut_run(solver_, nullptr, graph.terminals.view(), graph.links.view(),
                                 graph.mask.view(), nullptr),
                context_, "gpv_graphcut_run");
        gpv_graphcut_result result;
        gpv_graphcut_result_init(&result, sizeof result);
        require(gpv_graphcut_wait(solver_, &result), context_, "gpv_graphcut_wait");
        return result.flow;
    }
    GuardedImage &mask() { return mask_; }

  private:
    static GuardedImage like(const Work &work) {
        return {GPV_FORMAT_GRAY8, work.src().view()->width, work.src().view()->height};
    }

    const PlainContext context_;
    const SegmentInput in_;
    GuardedImage mask_;
    const Op op_{context_};
    const Solver solver_{context_};
};

double copy_time(const Work &work) {
    std::vector<std::uint8_t> from(static_cast<std::size_t>(work.src().pixel_bytes())),
        to(from.size());
    return time_in_turn({[&] { std::memcpy(to.data(), from.data(), from.size()); }}, 15, 0)[0]
        .median;
}

/// The whole run; then all of it but the cut.
void compare_on_cpu(Report &report, const Work &work) {
    const gpv_segment_params bare_params = without_links(work.params);
    Solved graph = graph_of(work, work.params), bare_graph = graph_of(work, bare_params);
    HostRun ours(GPV_BACKEND_CPU, work, work.params), bare(GPV_BACKEND_CPU, work, bare_params);
    ours.run();
    ours.solve(graph);
    expect_equal(ours.mask(), graph.mask, "the graph of a work to be timed, " + work.text());
    std::vector<std::uint8_t> from(static_cast<std::size_t>(work.src().pixel_bytes())),
        to(from.size());
#ifdef HAVE_OPENCV
    GrabCut theirs(work.hinted->in);
    theirs.run(1);
#endif
    for (const int threads : {1, tbb::info::default_concurrency()}) {
        tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(threads));
        std::vector<std::function<void()>> candidates = {
            [&] { ours.run(); }, [&] { ours.solve(graph); },
            [&] { std::memcpy(to.data(), from.data(), from.size()); }, [&] { bare.run(); },
            [&] { bare.solve(bare_graph); }};
#ifdef HAVE_OPENCV
        cv::setNumThreads(threads);
        candidates.emplace_back([&] { theirs.evaluate(); });
#endif
        const std::vector<Timing> times = time_in_turn(candidates, 3, 0.3);
        Report::Row row = {work.text(), work.image, threads, times[0], "", {}, times[2].median};
#ifdef HAVE_OPENCV
        row.peer = "OpenCV " CV_VERSION " grabCut";
        row.other = times[5];
#endif
        report.add(row);
        report.add({work.text() + ", but the cut", work.image, threads, without(times[3], times[4]),
                    "the cut", times[1], times[2].median});
    }
}

/// The cut, beside the same algorithm in its plain form; then the whole run.
void compare_paper_on_cpu(Report &report, const Work &work) {
    SegmentDefinition definition;
    definition.make_graph(work.hinted->in, work.params);
    Solved graph(definition.graph());
    HostRun ours(GPV_BACKEND_CPU, work, work.params);
    ours.run();
    const std::int64_t flow = ours.solve(graph);
    expect_equal(ours.mask(), graph.mask, "the graph of a work to be timed, " + work.text());
    tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
    const std::vector<Timing> cuts = time_flows(
        {{"ours", [&] { return ours.solve(graph); }}, plain_candidate(definition.graph())}, flow);
    const std::vector<Timing> runs = time_in_turn({[&] { ours.run(); }}, 3, 0.3);
    const double copy = copy_time(work);
    report.add({work.text(), work.image, 1, runs[0], "", {}, copy});
    report.add(
        {work.text() + ", the cut", work.image, 1, cuts[0], "plain push-relabel", cuts[1], copy});
}

void benchmark_cpu(Report &report) {
    each_to_time({{640, 480}, {1920, 1080}},
                 [&](const Work &work) { compare_on_cpu(report, work); });
    each_of_paper([&](const Work &work) { compare_paper_on_cpu(report, work); });
}

#ifdef HAVE_CUDA

/// A work in CUDA memory, so often that none is in the cache when its turn comes.
class ColdRuns {
  public:
    ColdRuns(const Work &work, const gpv_segment_params &p, const Solved &graph)
        : all_(work.hinted->in, p) {
        require(gpv_segment_set_params(op_, &p), context_, "gpv_segment_set_params");
        const SegmentInput &in = work.hinted->in;
        const std::size_t bytes = in.src->bytes().size() + 2 * all_.mask.bytes().size();
        for (int i = 0; i < std::min(cold_count(bytes), 40); i++) {
            src_.emplace_back(std::make_unique<DeviceImage>())->upload(*in.src);
            if (in.seeds)
                seeds_.emplace_back(std::make_unique<DeviceImage>())->upload(*in.seeds);
            mask_.emplace_back(std::make_unique<DeviceImage>())->upload(all_.mask);
        }
        copy_.emplace(
            static_cast<std::size_t>(in.src->pixel_bytes() + 2 * all_.mask.pixel_bytes()) / 2);
        terminals_.upload(graph.terminals);
        links_.upload(graph.links);
        cut_.upload(graph.mask);
        require(gpv_segment_prepare(op_, src_[0]->view(), seeds_of(0), mask_[0]->view(), nullptr),
                context_, "gpv_segment_prepare");
        require(gpv_graphcut_prepare(solver_, links_.view()), context_, "gpv_graphcut_prepare");
    }
    void expect_found(const GuardedImage &want, const std::string &what) {
        require(run(nullptr, 0), context_, "gpv_segment_run");
        require(gpv_segment_wait(op_, nullptr), context_, "gpv_segment_wait");
        mask_[0]->download(all_.mask);
        expect_equal(all_.mask, want, what);
    }
    /// Ours, the solver alone, and a copy that moves as much as has to be read and written.
    std::vector<Timing> time() {
        return time_on_device(
            {[&](cudaStream_t stream, int i) { return run(stream, i) == GPV_OK; },
             [&](cudaStream_t stream, int) {
                 return gpv_graphcut_run(solver_, stream, terminals_.view(), links_.view(),
                                         cut_.view(), nullptr) == GPV_OK;
             },
             [&](cudaStream_t stream, int i) { return copy_->enqueue(stream, i); }},
            static_cast<int>(src_.size()), 51, 21);
    }

  private:
    gpv_status run(cudaStream_t stream, int number) {
        const std::size_t i = static_cast<std::size_t>(number) % src_.size();
        return gpv_segment_run(op_, stream, src_[i]->view(), seeds_of(i), nullptr, mask_[i]->view(),
                               nullptr, nullptr);
    }
    const gpv_image *seeds_of(std::size_t i) const {
        return seeds_.empty() ? nullptr : seeds_[i]->view();
    }

    const PlainContext context_{GPV_BACKEND_CUDA};
    const Op op_{context_};
    const Solver solver_{context_};
    All all_;
    std::vector<std::unique_ptr<DeviceImage>> src_, seeds_, mask_;
    DeviceImage terminals_, links_, cut_;
    std::optional<ColdCopy> copy_;
};

/// Images in CUDA memory; every mask is that of the CPU.
void compare_on_gpu(Report &report, const Work &work) {
    const gpv_segment_params bare_params = without_links(work.params);
    Solved graph = graph_of(work, work.params), bare_graph = graph_of(work, bare_params);
    HostRun cpu(GPV_BACKEND_CPU, work, work.params);
    cpu.run();
    ColdRuns runs(work, work.params, graph), bare(work, bare_params, bare_graph);
    runs.expect_found(cpu.mask(), "to be timed: " + work.text());
    const std::vector<Timing> times = runs.time(), bare_times = bare.time();
    const Timing of_cpu = time_in_turn({[&] { cpu.run(); }}, 1, 0.3)[0];
    report.add({work.text(), work.image, 0, times[0],
                "our CPU backend, " + std::to_string(tbb::info::default_concurrency()) + " threads",
                of_cpu, times[2].median});
    report.add({work.text() + ", but the cut", work.image, 0, without(bare_times[0], bare_times[1]),
                "the cut", times[1], times[2].median});
}

/// The cut, beside our CPU backend and the same algorithm in its plain form on either; then the
/// whole run. What is plain is driven by the host, and timed there.
void compare_paper_on_gpu(Report &report, const Work &work) {
    SegmentDefinition definition;
    definition.make_graph(work.hinted->in, work.params);
    Solved graph(definition.graph());
    HostRun cpu(GPV_BACKEND_CPU, work, work.params);
    cpu.run();
    const std::int64_t flow = cpu.solve(graph);
    ColdRuns runs(work, work.params, graph);
    runs.expect_found(cpu.mask(), "to be timed: " + work.text());
    const std::vector<Timing> times = runs.time();
    const std::vector<Candidate> peers = {{"our CPU backend", [&] { return cpu.solve(graph); }},
                                          plain_candidate(definition.graph()),
                                          plain_cuda_candidate(definition.graph())};
    const std::vector<Timing> peer_times = time_flows(peers, flow, beside_gpu);
    for (std::size_t i = 0; i < peers.size(); i++)
        report.add({work.text() + ", the cut", work.image, 0, times[1], peers[i].name,
                    peer_times[i], times[2].median});
    const Timing of_cpu = time_in_turn({[&] { cpu.run(); }}, 1, 0.3)[0];
    report.add({work.text(), work.image, 0, times[0], "our CPU backend", of_cpu, times[2].median});
}

/// From host memory to host memory, one after the other.
void compare_from_host(Report &report, const Work &work) {
    HostRun gpu(GPV_BACKEND_CUDA, work, work.params), cpu(GPV_BACKEND_CPU, work, work.params);
    std::vector<std::uint8_t> from(static_cast<std::size_t>(work.src().pixel_bytes())),
        to(from.size());
    const auto times = time_in_turn({[&] { gpu.run(); }, [&] { cpu.run(); },
                                     [&] { std::memcpy(to.data(), from.data(), from.size()); }},
                                    5);
    expect_equal(gpu.mask(), cpu.mask(), "both backends find the same mask");
    report.add({"host to host, " + work.text(), work.image, 0, times[0], "our CPU backend",
                times[1], times[2].median});
}

void benchmark_gpu(Report &report) {
    each_to_time({{640, 480}, {1920, 1080}, {3840, 2160}},
                 [&](const Work &work) { compare_on_gpu(report, work); });
    each_of_paper([&](const Work &work) { compare_paper_on_gpu(report, work); });
    for (const gpv_format format : {GPV_FORMAT_RGB8, GPV_FORMAT_NV12})
        compare_from_host(report, scene_work(1920, 1080, format, GPV_SEGMENT_MODEL_GMM, 4));
}

#endif

// ---- times of contents --------------------------------------------------------------

/// Where a backend computes.
struct Placed {
    PlacedImage src, seeds, mask;

    Placed(const Hinted &hinted, gpv_backend backend)
        : src(hinted.src, backend), seeds(hinted.seeds, backend), mask(hinted.seeds, backend) {}
};

/// Colours are learned from seeds as of a made scene.
void check_times(gpv_backend backend) {
    const MadeScene scene = {1, 160, 120};
    const CountedContext context(backend);
    const Op op(context);
    for (const gpv_segment_model model : models) {
        TimedCuts cuts(backend, [&](int max_time_us) {
            gpv_segment_params p = with_model(model);
            p.certificate = 1;
            p.max_time_us = max_time_us;
            require(gpv_segment_set_params(op, &p), context, "gpv_segment_set_params");
        });
        const auto add = [&](const std::string &name, GuardedImage picture) {
            const auto placed =
                std::make_shared<Placed>(Hinted(std::move(picture), scene, Hints::both), backend);
            cuts.add(name, [&, placed] {
                require(gpv_segment_forget(op), context, "gpv_segment_forget");
                require(gpv_segment_run(op, nullptr, placed->src.view(), placed->seeds.view(),
                                        nullptr, placed->mask.view(), nullptr, nullptr),
                        context, "gpv_segment_run");
                gpv_graphcut_result result;
                gpv_graphcut_result_init(&result, sizeof result);
                require(gpv_segment_wait(op, &result), context, "gpv_segment_wait");
                return result;
            });
        };
        for (const Content &content : contents)
            add(content.name, painted(GPV_FORMAT_RGB8, scene.width, scene.height, content(7)));
        for (const Pattern &pattern : all_patterns())
            add(pattern.name, painted(GPV_FORMAT_RGB8, scene.width, scene.height,
                                      grey_of(pattern.draw(scene.width, scene.height))));
        add("scene", picture_of(scene, GPV_FORMAT_RGB8));
        cuts.compare(size_name(scene.width, scene.height) + ", " + model_names[model]);
    }
}

// ---- the program --------------------------------------------------------------------

void check() {
    each_instruction_set([&](const char *name) {
        Operator op;
        std::printf("== %s\n", op.context().device());
        if (!std::strstr(op.context().device(), name))
            fatal(std::string("the library does not run on ") + name);
        compare_with_definition(op, scaled(300));
    });
    Operator op;
    compare_with_definition(op, scaled(3000));
    check_contents(op, {{1, 1}, {1, 97}, {97, 1}, {2, 2}, {13, 7}, {61, 53}}, find);
    check_all_colors(op, full_run() ? 1 : 4);
    check_video(op);
    check_video_of_scenes(op, false);
    check_laws(op);
    check_repeats(op, 61, 47);
#ifdef HAVE_BOOST // the definition takes long
    const bool large = true;
#else
    const bool large = full_run();
#endif
    check_scenes(op, large && !short_run() ? Sizes{{201, 151}, {321, 241}} : Sizes{{201, 151}});
    check_max_time(op, large ? 400 : 160, large ? 300 : 120);
    if (large) {
        check_threads(503, 401);
        check_long_sides(op);
        check_pictures(op, find);
        check_sizes(op, some_of(narrow_sizes()), find);
        check_sizes(op, some_of(small_squares), find);
    }
    check_copies(GPV_BACKEND_CPU, GPV_SEGMENT_MODEL_GMM, 8, {3, 2, 61, 47}, find);
    if (full_run()) {
        check_sizes(op, squares, find);
        check_large_copies(GPV_BACKEND_CPU, find);
    }
    check_refused(GPV_BACKEND_CPU);
    check_min_sigma(op);
    check_forgotten(op);
#ifndef HAVE_OPENCV
    std::printf("OpenCV: not installed, not compared\n");
#endif
}

} // namespace

int main(int argc, char **argv) {
    if (argc == 3 && std::string(argv[1]) == "--quality")
        return check_quality(argv[2]);
#ifdef HAVE_CUDA
    return run_program({"segment", check, check_cuda, benchmark_cpu, benchmark_gpu, check_times},
                       argc, argv);
#else
    return run_program({"segment", check, nullptr, benchmark_cpu, nullptr, check_times}, argc,
                       argv);
#endif
}
