// SPDX-License-Identifier: BSD-2-Clause
// Labelling against two references that share no code with the library: a flood fill from the
// definition, and OpenCV where it is installed. With --bench: times beside OpenCV.
#include "device.hpp"
#include "patterns.hpp"
#include "samples.hpp"

#ifdef HAVE_OPENCV
#    include <opencv2/imgproc.hpp>
#endif
#ifdef HAVE_NPP
#    include <nppi_filtering_functions.h>
#endif

using namespace parity;

namespace {

// ---- the definition -------------------------------------------------------

/// What there is to be found in an image.
struct Found {
    int width, height;
    std::vector<std::int32_t> labels; ///< row by row
    std::vector<gpv_ccl_component> components;
    int count() const { return static_cast<int>(components.size()); }
};

std::vector<std::uint16_t> luma(const GuardedImage &image) {
    const Samples samples(image);
    std::vector<std::uint16_t> result;
    for (int y = 0; y < image.view()->height; y++)
        for (int x = 0; x < image.view()->width; x++)
            result.push_back(static_cast<std::uint16_t>(samples.luma(x, y)));
    return result;
}

bool is_foreground(const gpv_ccl_params &p, int value) {
    const bool chosen = p.foreground >= 0 ? value == p.foreground : value >= p.threshold;
    return chosen != (p.invert == 1);
}

/// One component after the other is filled from its first pixel in raster order, and measured
/// pixel by pixel.
class Flood {
  public:
    Flood(const GuardedImage &src, const gpv_ccl_params &p)
        : params_(p), width_(src.view()->width), height_(src.view()->height), luma_(luma(src)) {}

    Found run() {
        Found found{width_, height_, std::vector<std::int32_t>(luma_.size(), unseen), {}};
        for (std::size_t i = 0; i < luma_.size(); i++) {
            if (found.labels[i] != unseen)
                continue;
            if (!is_foreground(params_, luma_[i])) {
                found.labels[i] = 0;
                continue;
            }
            const gpv_ccl_component component = fill(i, found.count() + 1, found.labels);
            if (component.area >= params_.min_area &&
                (params_.max_area == 0 || component.area <= params_.max_area))
                found.components.push_back(component);
            else
                for (std::size_t pixel : pixels_)
                    found.labels[pixel] = 0;
        }
        return found;
    }

  private:
    static constexpr std::int32_t unseen = -1;

    gpv_ccl_component fill(std::size_t first, std::int32_t label,
                           std::vector<std::int32_t> &labels) {
        gpv_ccl_component c{width_, height_, 0, 0, 0, 0, 0, 0};
        pixels_ = {first};
        labels[first] = label;
        for (std::size_t next = 0; next < pixels_.size(); next++) {
            const int x = static_cast<int>(pixels_[next] % width_);
            const int y = static_cast<int>(pixels_[next] / width_);
            c.left = std::min(c.left, x);
            c.top = std::min(c.top, y);
            c.right = std::max(c.right, x + 1);
            c.bottom = std::max(c.bottom, y + 1);
            c.area++;
            c.sum_x += x;
            c.sum_y += y;
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++) {
                    if (params_.connectivity == 4 && dx && dy)
                        continue;
                    if (x + dx < 0 || x + dx >= width_ || y + dy < 0 || y + dy >= height_)
                        continue;
                    const std::size_t other = pixels_[next] + dy * width_ + dx;
                    if (labels[other] != unseen || !is_foreground(params_, luma_[other]))
                        continue;
                    if (params_.mode == GPV_CCL_MODE_EQUAL_VALUE && luma_[other] != luma_[first])
                        continue;
                    labels[other] = label;
                    pixels_.push_back(other);
                }
        }
        return c;
    }

    const gpv_ccl_params &params_;
    const int width_, height_;
    const std::vector<std::uint16_t> luma_;
    std::vector<std::size_t> pixels_; ///< of the last component
};

Found definition(const GuardedImage &src, const gpv_ccl_params &p) {
    return Flood(src, p).run();
}

/// Steps of the golden ratio round the circle of hues, whose six sectors have 256 steps. Over
/// them each channel stays at 255, falls to 40, stays for two, rises, and stays.
Rgb color_of(std::int32_t label) {
    if (label == 0)
        return {0, 0, 0};
    const std::uint64_t turn = std::uint64_t(label) * 2654435769u % (1ull << 32) / 65536;
    const int place = static_cast<int>(turn * 1536 / 65536), step = place % 256;
    const auto channel = [&](int shift) {
        const int change = step * 215 / 255;
        return std::array{255, 255 - change, 40, 40, 40 + change, 255}[(place / 256 + shift) % 6];
    };
    return {channel(0), channel(4), channel(2)};
}

int largest_label(gpv_format format) {
    const int bytes = sample_bytes(format);
    return bytes == 1 ? 255 : bytes == 2 ? 65535 : INT32_MAX;
}

/// What dst is to hold of a label.
int sample_of(const Samples &dst, gpv_format format, gpv_ccl_output output, int channel,
              std::int32_t label) {
    if (output == GPV_CCL_OUTPUT_COLORS)
        return dst.stored(channel, dst.bytes_of(color_of(label))[channel]);
    if (channel > 0)
        return dst.neutral();
    return output == GPV_CCL_OUTPUT_MASK ? (label ? 255 : 0)
                                         : std::min(label, largest_label(format));
}

/// dst as the header describes it. A place of chroma has the largest label of its pixels.
void draw(const Found &found, gpv_ccl_output output, GuardedImage &dst) {
    if (dst.view()->format == GPV_FORMAT_LABEL32) {
        for (int y = 0; y < found.height; y++)
            std::memcpy(dst.row(0, y), &found.labels[std::size_t(y) * found.width],
                        found.width * sizeof(std::int32_t));
        return;
    }
    const Samples samples(dst);
    samples.each([&](int channel, int i, int row) {
        std::int32_t label = 0;
        samples.each_pixel_of(channel, i, row, [&](int x, int y) {
            label = std::max(label, found.labels[std::size_t(y) * found.width + x]);
        });
        samples.set(channel, i, row,
                    sample_of(samples, dst.view()->format, output, channel, label));
    });
}

// ---- contents -------------------------------------------------------------

/// Cells of few values, so that the rules for the foreground have something to choose from.
/// Chroma, which is not to be looked at, is noise.
void fill_cells(GuardedImage &image) {
    const Samples samples(image);
    const int grain = random_int(0, 1) ? 1 : random_int(1, 16), percent = random_int(0, 100);
    const int cells = (image.view()->width + grain - 1) / grain;
    const bool two_values = random_int(0, 1);
    int levels[5][4] = {};
    for (int i = random_int(0, 3) ? 1 : 0; i < 5; i++)
        for (int &level : levels[i])
            level = random_int(0, samples.largest());
    std::vector<std::vector<int>> choices;
    for (int y = 0; y < image.view()->height; y += grain) {
        choices.emplace_back();
        for (int cell = 0; cell < cells; cell++)
            choices.back().push_back(
                random_int(1, 100) <= percent ? two_values ? 1 : random_int(1, 4) : 0);
    }
    samples.each([&](int channel, int i, int row) {
        const bool noise = channel > 0 && samples.yuv();
        samples.set(channel, i, row,
                    noise ? random_int(0, samples.largest())
                          : levels[choices[row / grain][i / grain]][channel]);
    });
}

// ---- runs -----------------------------------------------------------------

/// Records of components in a block whose other bytes are canaries.
class Records {
  public:
    Records(int capacity, std::uint32_t stride, std::uint32_t spare, bool on_device)
        : on_device(on_device), capacity_(capacity), stride_(stride),
          size_((capacity - 1) * stride + sizeof(gpv_ccl_component) + spare),
          bytes_(size_ + 2 * guard, canary) {}

    const bool on_device; ///< where the library computes there
    int capacity() const { return capacity_; }
    std::uint32_t stride() const { return stride_; }
    std::vector<std::uint8_t> &bytes() { return bytes_; }
    /// The records in a copy of bytes().
    gpv_buffer view(std::uint8_t *bytes) const {
        gpv_buffer view;
        gpv_buffer_init(&view, sizeof view);
        view.data = bytes + guard;
        view.size = size_;
        return view;
    }
    gpv_ccl_component operator[](int i) const {
        gpv_ccl_component result;
        std::memcpy(&result, &bytes_[guard + std::size_t(i) * stride_], sizeof result);
        return result;
    }
    /// Whether they are those of the components, as many as fit, and nothing else was written.
    bool hold(const std::vector<gpv_ccl_component> &components) const {
        std::vector<std::uint8_t> want(bytes_.size(), canary);
        const int count = std::min<int>(capacity_, static_cast<int>(components.size()));
        for (int i = 0; i < count; i++)
            std::memcpy(&want[guard + std::size_t(i) * stride_], &components[i],
                        sizeof components[i]);
        return bytes_ == want;
    }

  private:
    static constexpr std::size_t guard = 256;
    static constexpr std::uint8_t canary = 0xC5;
    int capacity_;
    std::uint32_t stride_;
    std::size_t size_;
    std::vector<std::uint8_t> bytes_;
};

/// Each may be left out.
struct Outputs {
    GuardedImage *dst = nullptr;
    Records *records = nullptr;
    bool count = false;
};

/// What the library says of a run.
struct Outcome {
    gpv_status status;
    gpv_ccl_result result;
    std::int32_t count; ///< from its buffer; -1 = not asked for
};

using Op = Handle<gpv_ccl_create, gpv_ccl_destroy>;

class Operator {
  public:
    explicit Operator(gpv_backend backend = GPV_BACKEND_CPU, Place place = Place::host)
        : context_(backend), backend_(backend), place_(place) {}

    Outcome run(const gpv_ccl_params &params, const GuardedImage &src, const Outputs &outputs) {
        set(params);
        return again(src, outputs);
    }
    Outcome again(const GuardedImage &src, const Outputs &outputs) {
        std::int32_t count = -1;
        gpv_buffer counted;
        gpv_buffer_init(&counted, sizeof counted);
        counted.data = &count;
        counted.size = sizeof count;
        gpv_buffer records{};
        if (outputs.records)
            records = outputs.records->view(outputs.records->bytes().data());
        const gpv_image *from = src.view(), *to = outputs.dst ? outputs.dst->view() : nullptr;
#ifdef HAVE_CUDA
        const bool device_records =
            outputs.records && outputs.records->on_device && backend_ == GPV_BACKEND_CUDA;
        if (device_records) {
            records_.upload(outputs.records->bytes().data(), outputs.records->bytes().size());
            records = outputs.records->view(records_.data());
            records.memory = GPV_MEMORY_CUDA;
        }
        if (backend_ == GPV_BACKEND_CUDA) {
            count_.upload(&count, sizeof count);
            counted.data = count_.data();
            counted.memory = GPV_MEMORY_CUDA;
        }
        if (place_ != Place::host) {
            src_.upload(src);
            from = src_.view();
            if (to)
                dst_.upload(*outputs.dst), to = dst_.view();
        }
#endif
        require(gpv_ccl_run(op_, nullptr, from, to, outputs.records ? &records : nullptr,
                            outputs.records ? outputs.records->stride() : 0,
                            outputs.count ? &counted : nullptr),
                context_, "gpv_ccl_run");
        Outcome outcome{};
        gpv_ccl_result_init(&outcome.result, sizeof outcome.result);
        outcome.status = gpv_ccl_wait(op_, &outcome.result);
        if (outcome.status != GPV_OK && outcome.status != GPV_ERR_TOO_SMALL)
            require(outcome.status, context_, "gpv_ccl_wait");
#ifdef HAVE_CUDA
        if (backend_ == GPV_BACKEND_CUDA)
            count_.download(&count, sizeof count);
        if (device_records)
            records_.download(outputs.records->bytes().data(), outputs.records->bytes().size());
        if (place_ != Place::host && to)
            dst_.download(*outputs.dst);
#endif
        outcome.count = count;
        return outcome;
    }
    /// src, dst: which formats and sizes; where the images lie is known.
    void prepare(const gpv_ccl_params &params, gpv_image src, const gpv_image *dst,
                 int host_records) {
        gpv_image to = dst ? *dst : src;
        src.memory = to.memory = place_ == Place::host ? GPV_MEMORY_HOST : GPV_MEMORY_CUDA;
        set(params);
        require(gpv_ccl_prepare(op_, &src, dst ? &to : nullptr, host_records), context_,
                "gpv_ccl_prepare");
    }
    const CountedContext &context() const {
        return context_;
    }

  private:
    void set(const gpv_ccl_params &params) {
        require(gpv_ccl_set_params(op_, &params), context_, "gpv_ccl_set_params");
    }

    CountedContext context_;
    [[maybe_unused]] gpv_backend backend_; // without CUDA there is one
    Place place_;
#ifdef HAVE_CUDA
    DeviceImage src_{place_ == Place::device_tight}, dst_{place_ == Place::device_tight};
    DeviceBlock records_{place_ == Place::device_tight}, count_;
#endif
    const Op op_{context_};
};

gpv_ccl_params default_params() {
    gpv_ccl_params p;
    gpv_ccl_params_init(&p, sizeof p);
    return p;
}

std::string describe(const gpv_ccl_params &p, const GuardedImage &src, const Outputs &outputs) {
    const gpv_image &view = *src.view();
    std::string text = size_name(view.width, view.height) + " format " +
                       std::to_string(view.format) + ", " + place_of(view) + ": mode " +
                       std::to_string(p.mode) + " connectivity " + std::to_string(p.connectivity) +
                       " threshold " + std::to_string(p.threshold) + " foreground " +
                       std::to_string(p.foreground) + " invert " + std::to_string(p.invert) +
                       " area " + std::to_string(p.min_area) + ".." + std::to_string(p.max_area) +
                       " output " + std::to_string(p.output);
    if (outputs.dst)
        text += " to format " + std::to_string(outputs.dst->view()->format) + ", " +
                place_of(*outputs.dst->view());
    if (outputs.records)
        text += ", " + std::to_string(outputs.records->capacity()) + " records of " +
                std::to_string(outputs.records->stride()) +
                (outputs.records->on_device ? " bytes in CUDA memory" : " bytes");
    return text + (outputs.count ? ", count" : "");
}

/// Whether labels or records cannot hold so many components.
bool too_many(int count, const gpv_ccl_params &p, const Outputs &outputs) {
    const bool labels = outputs.dst && p.output == GPV_CCL_OUTPUT_LABELS;
    return (labels && count > largest_label(outputs.dst->view()->format)) ||
           (outputs.records && count > outputs.records->capacity());
}

/// All but dst.
void expect_outcome(const Outcome &got, const std::vector<gpv_ccl_component> &want,
                    const gpv_ccl_params &p, const Outputs &outputs, const std::string &what) {
    const int count = static_cast<int>(want.size());
    const int capacity = outputs.records ? outputs.records->capacity() : 0;
    if (got.status != (too_many(count, p, outputs) ? GPV_ERR_TOO_SMALL : GPV_OK))
        fatal(what + ": gpv_ccl_wait() gives " + std::to_string(got.status));
    if (got.result.count != count || got.count != (outputs.count ? count : -1))
        fatal(what + ": counted " + std::to_string(got.result.count) + " and " +
              std::to_string(got.count) + ", want " + std::to_string(count));
    if (got.result.components != std::min(count, capacity))
        fatal(what + ": " + std::to_string(got.result.components) +
              " records are said to be there");
    if (outputs.records && !outputs.records->hold(want))
        fatal(what + ": records differ, or bytes beside them were written");
}

/// One run, and everything that it has written.
void expect_found(Operator &op, const gpv_ccl_params &p, const GuardedImage &src,
                  const Outputs &outputs, const Found &want) {
    const std::string what = op.context().device() + (": " + describe(p, src, outputs));
    const std::vector<std::uint8_t> before = src.bytes();
    expect_outcome(op.run(p, src, outputs), want.components, p, outputs, what);
    if (src.bytes() != before)
        fatal(what + ": the source was written");
    if (!outputs.dst)
        return;
    const gpv_image &view = *outputs.dst->view();
    GuardedImage drawn(view.format, view.width, view.height);
    drawn.set_color(view.color_matrix, view.color_range);
    draw(want, p.output, drawn);
    expect_equal(*outputs.dst, drawn, what);
}

/// What finds out what there is in an image.
using Reference = std::function<Found(const GuardedImage &src, const gpv_ccl_params &p)>;

// ---- random cases ---------------------------------------------------------

const std::vector<gpv_format> &formats_of(gpv_ccl_output output) {
    static const std::vector<gpv_format> formats[] = {
        {GPV_FORMAT_LABEL32, GPV_FORMAT_LABEL32, GPV_FORMAT_LABEL32, GPV_FORMAT_GRAY16,
         GPV_FORMAT_P016, GPV_FORMAT_GRAY8, GPV_FORMAT_NV12, GPV_FORMAT_I420},
        {GPV_FORMAT_GRAY8, GPV_FORMAT_NV12, GPV_FORMAT_I420},
        picture_formats};
    return formats[output];
}

/// Rules that choose among the values that the image has.
gpv_ccl_params random_params(const GuardedImage &src) {
    const std::vector<std::uint16_t> values = luma(src);
    gpv_ccl_params p = default_params();
    p.mode = static_cast<gpv_ccl_mode>(random_int(0, 1));
    p.connectivity = random_int(0, 1) ? 8 : 4;
    p.threshold = random_int(0, 2) ? 1 : random_of(values);
    p.foreground = random_int(0, 2) ? -1 : random_of(values);
    p.invert = random_int(0, 3) == 0;
    p.min_area = random_int(0, 2) ? 0 : random_int(0, 20);
    p.max_area = random_int(0, 2) ? 0 : random_int(1, 60);
    p.output = static_cast<gpv_ccl_output>(random_int(0, 2));
    return p;
}

int random_side() {
    static const std::vector<int> ends = {1, 31, 32, 33, 63, 64, 65, 127, 128, 129};
    return random_int(0, 3) ? random_int(1, random_int(0, 1) ? 12 : 70) : random_of(ends);
}

Records random_records(int capacity) {
    constexpr int size = sizeof(gpv_ccl_component);
    const int stride = size + 8 * (random_int(0, 1) ? 0 : random_int(0, 12));
    return Records(capacity, stride, random_int(0, stride - 1), random_int(0, 1));
}

/// One run on an image of that size with random outputs.
void compare_random(Operator &op, int width, int height, const Reference &reference) {
    GuardedImage src = random_image(random_of(picture_formats), width, height);
    fill_cells(src);
    const gpv_ccl_params p = random_params(src);
    const Found want = reference(src, p);
    GuardedImage dst = random_image(random_of(formats_of(p.output)), width, height);
    Records records = random_records(std::max(1, want.count() + random_int(-3, 3)));
    const int left_out = random_int(0, 5);
    expect_found(op, p, src,
                 {left_out == 1 || left_out == 2 ? nullptr : &dst,
                  left_out == 0 || left_out == 2 ? nullptr : &records, random_int(0, 2) == 0},
                 want);
}

void compare_with_definition(Operator &op, int count) {
    for (int i = 0; i < count; i++)
        compare_random(op, random_side(), random_side(), definition);
    std::printf("definition: %d random cases equal\n", count);
}

// ---- large images ---------------------------------------------------------

/// Labels, records and count of an image.
void expect_all(Operator &op, const gpv_ccl_params &p, const GuardedImage &src, const Found &want) {
    GuardedImage dst(GPV_FORMAT_LABEL32, want.width, want.height);
    Records records(want.count() + 1, sizeof(gpv_ccl_component), 0, true);
    expect_found(op, p, src, {&dst, &records, true}, want);
}

void check_patterns(Operator &op, const Sizes &sizes, const Reference &reference = definition) {
    for (const auto &[width, height] : sizes)
        for (const Pattern &pattern : patterns)
            for (int connectivity : {8, 4}) {
                const GuardedImage src = pattern.draw(width, height);
                gpv_ccl_params p = default_params();
                p.connectivity = connectivity;
                expect_all(op, p, src, reference(src, p));
            }
    std::printf("patterns: %zu at %zu sizes equal, %dx%d the last\n", patterns.size(), sizes.size(),
                sizes.back()[0], sizes.back()[1]);
}

/// Noise of all densities.
void check_noise(Operator &op, int width, int height, const Reference &reference = definition) {
    for (const int percent : {0, 1, 5, 10, 25, 40, 50, 60, 75, 90, 95, 99, 100}) {
        gpv_ccl_params p = default_params();
        p.connectivity = percent % 2 ? 4 : 8;
        const GuardedImage src = granular(width, height, 1, percent);
        expect_all(op, p, src, reference(src, p));
    }
    std::printf("noise: 0 to 100 %% of %dx%d equal\n", width, height);
}

/// Components of millions of pixels, and millions of them: two patterns of each size.
void check_large(Operator &op, const Sizes &sizes, const Reference &reference) {
    const std::vector<const char *> names = {"maze",   "noise 50 %", "horizontal snake",
                                             "spiral", "full",       "dots"};
    std::size_t number = 0;
    for (const auto &[width, height] : sizes)
        for (const int connectivity : {8, 4}) {
            const GuardedImage src = pattern_of(names[number++ % names.size()]).draw(width, height);
            gpv_ccl_params p = default_params();
            p.connectivity = connectivity;
            expect_all(op, p, src, reference(src, p));
        }
    std::printf("large: %zu images equal, %dx%d the last\n", number, sizes.back()[0],
                sizes.back()[1]);
}

/// Regions of equal value, of which most touch others.
void check_regions(Operator &op, const Sizes &sizes, const Reference &reference = definition) {
    for (const auto &[width, height] : sizes)
        for (int grain : {1, 5, 16})
            for (int threshold : {0, 1}) {
                const GuardedImage src = granular(width, height, grain, 80, 3);
                gpv_ccl_params p = default_params();
                p.mode = GPV_CCL_MODE_EQUAL_VALUE;
                p.threshold = threshold;
                p.connectivity = grain == 5 ? 4 : 8;
                expect_all(op, p, src, reference(src, p));
            }
    std::printf("regions of equal value: %zu sizes equal\n", sizes.size());
}

/// As many components as there can be, whose labels are known without a search.
void check_dots(Operator &op, int width, int height) {
    const GuardedImage src =
        drawing(width, height, [](int x, int y) { return x % 2 == 0 && y % 2 == 0; });
    GuardedImage dst(GPV_FORMAT_LABEL32, width, height);
    const int columns = (width + 1) / 2, count = columns * ((height + 1) / 2);
    const Outcome outcome = op.run(default_params(), src, {&dst, nullptr, true});
    const std::string what = op.context().device() + (": dots, " + size_name(width, height));
    if (outcome.status != GPV_OK || outcome.result.count != count || outcome.count != count)
        fatal(what + ": counted " + std::to_string(outcome.result.count));
    dst.each_row([&](int, std::int64_t y, std::uint8_t *row, std::int64_t) {
        for (int x = 0; x < width; x++) {
            std::int32_t label;
            std::memcpy(&label, row + std::ptrdiff_t(x) * sizeof label, sizeof label);
            if (label != (x % 2 || y % 2 ? 0 : static_cast<int>(y / 2) * columns + x / 2 + 1))
                fatal(what + ": wrong at " + std::to_string(x) + "," + std::to_string(y));
        }
    });
    std::printf("dots: %d of %dx%d\n", count, width, height);
}

void check_pictures(Operator &op) {
    const std::vector<Picture> all = pictures(".pgm");
    for (const Picture &picture : all)
        for (gpv_ccl_mode mode : {GPV_CCL_MODE_BINARY, GPV_CCL_MODE_EQUAL_VALUE})
            for (int connectivity : {8, 4})
                for (int invert : {0, 1}) {
                    gpv_ccl_params p = default_params();
                    p.mode = mode;
                    p.connectivity = connectivity;
                    p.threshold = 128;
                    p.invert = static_cast<std::uint32_t>(invert);
                    expect_all(op, p, *picture.image, definition(*picture.image, p));
                }
    std::printf("pictures: %zu equal%s\n", all.size(),
                all.empty() ? "; GPV_TEST_IMAGES can name a folder of PGM files" : "");
}

// ---- laws -----------------------------------------------------------------

/// Laws that hold of every image, on one of many tiles and components.
void check_laws(Operator &op) {
    const int width = 1001, height = 701;
    GuardedImage src = granular(width, height, 3, 55, 200);
    GuardedImage negative(GPV_FORMAT_GRAY8, width, height);
    negative.each_row([&](int, std::int64_t y, std::uint8_t *row, std::int64_t) {
        for (int x = 0; x < width; x++)
            row[x] = 255 - src.row(0, y)[x];
    });
    const auto labels = [&](const gpv_ccl_params &p, const GuardedImage &from,
                            gpv_format format = GPV_FORMAT_LABEL32) {
        GuardedImage dst(format, width, height);
        op.run(p, from, {&dst, nullptr, false});
        return dst;
    };
    const auto measure = [&](const gpv_ccl_params &p, int capacity) {
        Records records(capacity, sizeof(gpv_ccl_component), 0, true);
        op.run(p, src, {nullptr, &records, false});
        return records;
    };
    for (int connectivity : {8, 4})
        for (int threshold : {1, 100, 255}) {
            gpv_ccl_params p = default_params();
            p.connectivity = connectivity;
            p.threshold = threshold;
            gpv_ccl_params other = p;
            other.threshold = 256 - threshold;
            other.invert = 1;
            expect_equal(labels(other, negative), labels(p, src), "the negative, inverted");

            const Found found = definition(src, p);
            const int count = op.run(p, src, {}).result.count;
            expect(count == found.count(), "counting alone counts the labels");
            expect(measure(p, count).hold(found.components), "measuring alone measures labels");

            other = p;
            other.max_area = 9;
            const int small = op.run(other, src, {}).result.count;
            other.min_area = 10;
            other.max_area = 0;
            const int large = op.run(other, src, {}).result.count;
            expect(small > 0 && large > 0 && small + large == count, "each is small or large");

            p.min_area = 20; // so that 16 bits suffice
            const GuardedImage once = labels(p, src, GPV_FORMAT_GRAY16);
            p.mode = GPV_CCL_MODE_EQUAL_VALUE;
            p.threshold = 1;
            expect_equal(labels(p, once, GPV_FORMAT_GRAY16), once, "labels of labels are the same");
        }
    std::printf("laws: complement, outputs alone, area filters and repetition hold\n");
}

void check_repeats(Operator &op) {
    const GuardedImage src = granular(641, 479, 2, 45, 3);
    const gpv_ccl_params p = default_params();
    const Found want = definition(src, p);
    const int count = shortened(100);
    for (int i = 0; i <= count; i++)
        expect_all(op, p, src, want);
    std::printf("repeats: %d equal\n", count);
}

/// More components than 16 or 8 bits, or the records, can hold: what fits is right, the rest is
/// untouched, and the count is true.
void check_overflow(Operator &op, const std::vector<int> &capacities) {
    const GuardedImage src = patterns[4].draw(601, 523); // dots
    gpv_ccl_params p = default_params();
    const Found all = definition(src, p);
    expect(all.count() == 78862, "there are more dots than 16 bits can number");
    for (gpv_format format :
         {GPV_FORMAT_GRAY8, GPV_FORMAT_GRAY16, GPV_FORMAT_P016, GPV_FORMAT_LABEL32})
        for (int capacity : capacities)
            for (bool on_device : {false, true}) {
                GuardedImage dst(format, 601, 523, 6, 2);
                Records records(capacity, 64, 3, on_device);
                expect_found(op, p, src, {&dst, &records, true}, all);
            }
    // A filter that leaves none: nothing overflows.
    p.min_area = 2;
    const Found none = definition(src, p);
    GuardedImage dst(GPV_FORMAT_GRAY16, 601, 523);
    Records records(1, 48, 0, true);
    expect_found(op, p, src, {&dst, &records, true}, none);
    std::printf("overflow: %d components into 16 bits and into fewer records\n", all.count());
}

/// Of records, for that.
const std::vector<int> overflown = {1, 1000, 65535, 65536, 78861, 78862, 100000};

/// Images that are worth several threads: the labels of the definition on any number of them; and
/// a run after prepare allocates nothing.
void check_threads() {
    const int width = shortened(2003, 2), height = shortened(1501, 2);
    std::vector<Pattern> images = some_of(patterns);
    images.push_back(
        {"regions", [](int w, int h) { return granular(w, h, random_int(1, 9), 70, 4); }});
    for (const Pattern &image : images)
        for (gpv_ccl_mode mode : {GPV_CCL_MODE_BINARY, GPV_CCL_MODE_EQUAL_VALUE}) {
            const GuardedImage src = image.draw(width, height);
            gpv_ccl_params p = default_params();
            p.mode = mode;
            p.connectivity = random_int(0, 1) ? 8 : 4;
            p.min_area = random_int(0, 1) ? 0 : random_int(0, 40);
            const Found want = definition(src, p);
            for (int threads : {1, 2, 3, 16}) {
                GuardedImage dst(GPV_FORMAT_LABEL32, width, height);
                Records records(want.count() + 1, sizeof(gpv_ccl_component), 0, false);
                const Outputs outputs = {&dst, &records, true};
                Operator op;
                with_threads(threads, [&] {
                    op.prepare(p, *src.view(), dst.view(), records.capacity());
                    const int prepared = op.context().allocations();
                    expect_found(op, p, src, outputs, want);
                    expect(op.context().allocations() == prepared,
                           "nothing is allocated after prepare, " + describe(p, src, outputs));
                });
            }
        }
    const int others = short_run() ? 5 : 40;
    for (int i = 0; i < others; i++)
        with_threads(random_of<int>({2, 3, 16}), [] {
            Operator op;
            compare_random(op, random_int(600, 1100), random_int(500, 900), definition);
        });
    std::printf("threads: %zu images equal on 1, 2, 3 and 16, and %d of any kind\n",
                2 * images.size(), others);
}

// ---- OpenCV ---------------------------------------------------------------

#ifdef HAVE_OPENCV

cv::Mat cv_view(const GuardedImage &image, int type) {
    const gpv_image *v = image.view();
    return cv::Mat(v->height, v->width, type, v->data[0], static_cast<std::size_t>(v->stride[0]));
}

/// OpenCV's labels and measures of what is not 0.
Found by_opencv(const GuardedImage &src, int connectivity) {
    cv::Mat labels, stats, centroids;
    const int count = cv::connectedComponentsWithStats(
        cv_view(src, CV_8UC1), labels, stats, centroids, connectivity, CV_32S, cv::CCL_SAUF);
    Found found{labels.cols, labels.rows, {}, {}};
    for (int y = 0; y < labels.rows; y++)
        found.labels.insert(found.labels.end(), labels.ptr<int>(y),
                            labels.ptr<int>(y) + labels.cols);
    for (int i = 1; i < count; i++) { // the first is the background
        const int *s = stats.ptr<int>(i);
        const double *centre = centroids.ptr<double>(i);
        const int left = s[cv::CC_STAT_LEFT], top = s[cv::CC_STAT_TOP], area = s[cv::CC_STAT_AREA];
        found.components.push_back(
            {left, top, left + s[cv::CC_STAT_WIDTH], top + s[cv::CC_STAT_HEIGHT], area, 0,
             std::llround(centre[0] * area), std::llround(centre[1] * area)});
    }
    return found;
}

void compare_with_opencv(Operator &op, int count) {
    for (int i = 0; i < count; i++) {
        const int width = random_int(1, 700), height = random_int(1, 300);
        const GuardedImage src =
            random_int(0, 3) ? granular(width, height, random_int(1, 16), random_int(0, 100))
                             : random_of(patterns).draw(width, height);
        gpv_ccl_params p = default_params();
        p.connectivity = random_int(0, 1) ? 8 : 4;
        expect_all(op, p, src, by_opencv(src, p.connectivity));
    }
    std::printf("OpenCV %s: labels and measures of %d random images equal\n", CV_VERSION, count);
}

#endif

// ---- CUDA -----------------------------------------------------------------

#ifdef HAVE_CUDA

/// The operator itself, into 32 bits and as many records as there are.
Reference by(Operator &op) {
    return [&op](const GuardedImage &src, const gpv_ccl_params &p) {
        Found found{src.view()->width, src.view()->height, {}, {}};
        gpv_ccl_params labelled = p;
        labelled.output = GPV_CCL_OUTPUT_LABELS;
        const int count = op.run(labelled, src, {}).result.count;
        GuardedImage dst(GPV_FORMAT_LABEL32, found.width, found.height);
        Records records(std::max(count, 1), sizeof(gpv_ccl_component), 0, false);
        op.again(src, {&dst, &records});
        found.labels.resize(std::size_t(found.width) * found.height);
        std::memcpy(found.labels.data(), dst.row(0, 0), dst.pixel_bytes());
        for (int i = 0; i < count; i++)
            found.components.push_back(records[i]);
        return found;
    };
}

/// Random images of some size, on which the CPU backend is the reference.
void compare_with_cpu(Operator &op, int count, int largest_side) {
    Operator cpu;
    for (int i = 0; i < count; i++)
        compare_random(op, random_int(1, largest_side), random_int(1, largest_side), by(cpu));
    std::printf("CUDA: %d random cases equal to the CPU\n", count);
}

/// Patterns and regions on images of several tiles, with every mix of alignments.
void check_tiles(Operator &op, const Sizes &sizes, int cases) {
    Operator cpu;
    for (const auto &size : sizes)
        for (int i = 0; i < cases; i++) {
            const int width = size[0], height = size[1];
            const bool regions = random_int(0, 3) == 0;
            const GuardedImage pixels = regions ? granular(width, height, random_int(1, 20), 80, 3)
                                                : patterns[i % patterns.size()].draw(width, height);
            gpv_ccl_params p = default_params();
            p.mode = regions ? GPV_CCL_MODE_EQUAL_VALUE : GPV_CCL_MODE_BINARY;
            p.connectivity = random_int(0, 1) ? 8 : 4;
            p.output = static_cast<gpv_ccl_output>(random_int(0, 2));
            const auto lying = [&](gpv_format format) {
                const int row = width * channels(format, 0) * sample_bytes(format);
                const bool padded = random_int(0, 1); // to a stride that is a multiple of 16
                return GuardedImage(format, width, height, padded ? -row & 15 : random_int(0, 40),
                                    random_int(0, 1) * random_int(0, 16));
            };
            GuardedImage src = lying(GPV_FORMAT_GRAY8);
            src.copy_pixels_from(pixels);
            GuardedImage dst = lying(random_of(formats_of(p.output)));
            const Found want = by(cpu)(pixels, p);
            Records records = random_records(want.count() + 1);
            expect_found(op, p, src, {&dst, &records, true}, want);
        }
    std::printf("CUDA: %zu images of several tiles equal to the CPU\n", sizes.size() * cases);
}

/// Images that fill their memory to the last byte, of few columns above all.
void check_tight(int count) {
    Operator op(GPV_BACKEND_CUDA, Place::device_tight);
    for (int i = 0; i < count; i++)
        compare_random(op, random_int(1, random_int(0, 2) ? 24 : 200), random_int(1, 40),
                       definition);
    std::printf("CUDA: %d images without a byte to spare equal\n", count);
}

void check_prepared(Place place) {
    for (gpv_ccl_mode mode : {GPV_CCL_MODE_BINARY, GPV_CCL_MODE_EQUAL_VALUE})
        for (gpv_ccl_output output :
             {GPV_CCL_OUTPUT_LABELS, GPV_CCL_OUTPUT_MASK, GPV_CCL_OUTPUT_COLORS}) {
            gpv_ccl_params p = default_params();
            p.mode = mode;
            p.output = output;
            p.min_area = random_int(0, 3);
            const GuardedImage src = granular(150, 70, 2, 50, 3);
            GuardedImage dst(random_of(formats_of(output)), 150, 70);
            const Found want = definition(src, p);
            Records records(want.count() + 1, sizeof(gpv_ccl_component), 0, false);
            Operator op(GPV_BACKEND_CUDA, place);
            op.prepare(p, *src.view(), dst.view(), records.capacity());
            const int prepared = op.context().allocations();
            for (const Outputs &outputs :
                 {Outputs{&dst, &records, true}, Outputs{&dst, &records}, Outputs{&dst}}) {
                expect_found(op, p, src, outputs, want);
                expect(op.context().allocations() == prepared,
                       "CUDA: nothing is allocated after prepare, " + describe(p, src, outputs));
            }
        }
    std::printf("CUDA: no scratch is allocated after prepare\n");
}

/// Runs that become part of the caller's graph, and runs on two streams.
class StreamChecks {
  public:
    void check_captured() {
        bool refused = false;
        for (gpv_ccl_mode mode : {GPV_CCL_MODE_BINARY, GPV_CCL_MODE_EQUAL_VALUE})
            for (gpv_ccl_output output :
                 {GPV_CCL_OUTPUT_LABELS, GPV_CCL_OUTPUT_MASK, GPV_CCL_OUTPUT_COLORS}) {
                gpv_ccl_params p = default_params();
                p.mode = mode;
                p.output = output;
                p.min_area = random_int(0, 1) ? 0 : 3;
                refused = expect_captured(p) || refused;
            }
        expect(refused, "a captured run that needs memory is refused");
        std::printf("CUDA: captured\n");
    }

    /// Records in host memory are those of their run, whatever runs before anybody waits.
    void check_records_of_two_runs() {
        const gpv_ccl_params p = default_params();
        require(gpv_ccl_set_params(op_, &p), context_, "gpv_ccl_set_params");
        const GuardedImage few = granular(90, 40, 16, 50, 3), many = granular(90, 40, 1, 30, 3);
        for (const bool few_first : {true, false})
            for (const int second_stream : {0, 1}) {
                const GuardedImage &host = few_first ? few : many, &other = few_first ? many : few;
                const Found want = definition(host, p), next = definition(other, p);
                expect(want.count() != next.count(), "the images have different counts");
                Records records(std::max(want.count(), next.count()), sizeof(gpv_ccl_component), 0,
                                true);
                const gpv_buffer into = records.view(records.bytes().data());
                DeviceImage first, second;
                first.upload(host);
                second.upload(other);
                require(gpv_ccl_run(op_, streams_[0], first.view(), nullptr, &into, 0, nullptr),
                        context_, "gpv_ccl_run");
                require(gpv_ccl_run(op_, streams_[second_stream], second.view(), nullptr, nullptr,
                                    0, nullptr),
                        context_, "gpv_ccl_run");
                gpv_ccl_result result;
                gpv_ccl_result_init(&result, sizeof result);
                require(gpv_ccl_wait(op_, &result), context_, "gpv_ccl_wait");
                expect(records.hold(want.components) && result.count == next.count(),
                       "records belong to their run, the count to the last one");
            }
        std::printf("CUDA: records of their run\n");
    }

    /// A captured run that is never launched is no run.
    void check_captured_result() {
        const gpv_ccl_params p = default_params();
        require(gpv_ccl_set_params(op_, &p), context_, "gpv_ccl_set_params");
        const GuardedImage host = granular(90, 40, 1, 30, 3);
        DeviceImage src;
        src.upload(host);
        DeviceBlock one;
        one.resize(sizeof(gpv_ccl_component));
        gpv_buffer into;
        gpv_buffer_init(&into, sizeof into);
        into.memory = GPV_MEMORY_CUDA;
        into.data = one.data();
        into.size = sizeof(gpv_ccl_component);
        require(gpv_ccl_prepare(op_, src.view(), nullptr, 0), context_, "gpv_ccl_prepare");
        require(gpv_ccl_run(op_, streams_[0], src.view(), nullptr, nullptr, 0, nullptr), context_,
                "gpv_ccl_run");
        require(gpv_ccl_wait(op_, nullptr), context_, "gpv_ccl_wait");
        const cudaGraphExec_t graph = capture(
            [&](cudaStream_t stream, int) {
                return gpv_ccl_run(op_, stream, src.view(), nullptr, &into, 0, nullptr) == GPV_OK;
            },
            1, streams_[0]);
        expect(graph, "a run with records in device memory needs no more than prepare gives");
        gpv_ccl_result result;
        gpv_ccl_result_init(&result, sizeof result);
        require(gpv_ccl_wait(op_, &result), context_, "gpv_ccl_wait");
        expect(result.count == definition(host, p).count() && result.components == 0,
               "a captured run changes no result");
        require(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
        std::printf("CUDA: a captured run has no result on the host\n");
    }

    /// Labels of labels are the same: one run on the result of the other, on alternating streams.
    void check_alternating() {
        gpv_ccl_params p = default_params();
        p.mode = GPV_CCL_MODE_EQUAL_VALUE;
        require(gpv_ccl_set_params(op_, &p), context_, "gpv_ccl_set_params");
        const GuardedImage src = granular(211, 83, 2, 60, 3);
        GuardedImage want(GPV_FORMAT_GRAY16, 211, 83), got(GPV_FORMAT_GRAY16, 211, 83);
        draw(definition(src, p), GPV_CCL_OUTPUT_LABELS, want);
        DeviceImage from, images[2];
        from.upload(src);
        for (DeviceImage &image : images)
            image.upload(got);
        for (int i = 0; i < 4; i++)
            require(gpv_ccl_run(op_, streams_[i % 2], (i ? images[1 - i % 2] : from).view(),
                                images[i % 2].view(), nullptr, 0, nullptr),
                    context_, "gpv_ccl_run");
        require(gpv_ccl_wait(op_, nullptr), context_, "gpv_ccl_wait");
        require(gpv_ccl_query(op_), context_, "gpv_ccl_query");
        images[1].download(got);
        expect_equal(got, want, "CUDA, two streams");
        std::printf("CUDA: on two streams\n");
    }

  private:
    /// Whether the run was refused before it was prepared, as it must be if it needs memory.
    bool expect_captured(const gpv_ccl_params &p) {
        const GuardedImage host = granular(211, 83, 2, 50, 3);
        const Found want = definition(host, p);
        const gpv_format format = formats_of(p.output)[0];
        GuardedImage got(format, 211, 83), drawn(format, 211, 83);
        draw(want, p.output, drawn);
        Records records(want.count(), sizeof(gpv_ccl_component), 0, true);
        const std::string what = describe(p, host, {&got, &records, true});
        DeviceImage src, dst;
        DeviceBlock components, count;
        std::int32_t counted = -1;
        src.upload(host);
        dst.upload(got);
        components.upload(records.bytes().data(), records.bytes().size());
        count.upload(&counted, sizeof counted);
        gpv_buffer number;
        gpv_buffer_init(&number, sizeof number);
        number.memory = GPV_MEMORY_CUDA;
        number.data = count.data();
        number.size = sizeof counted;
        gpv_buffer into = records.view(components.data());
        into.memory = GPV_MEMORY_CUDA;
        const Enqueue enqueue = [&](cudaStream_t stream, int) {
            return gpv_ccl_run(op_, stream, src.view(), dst.view(), &into, 0, &number) == GPV_OK;
        };
        require(gpv_ccl_set_params(op_, &p), context_, "gpv_ccl_set_params");
        const bool refused = !streams_.can_capture(enqueue);
        require(gpv_ccl_prepare(op_, src.view(), dst.view(), 0), context_, "gpv_ccl_prepare");
        const gpv_buffer device_records = std::exchange(into, records.view(records.bytes().data()));
        expect(!streams_.can_capture(enqueue),
               "a captured run with records in host memory is refused, " + what);
        into = device_records;
        expect(streams_.run_captured(enqueue, context_), "a prepared run can be captured, " + what);
        dst.download(got);
        components.download(records.bytes().data(), records.bytes().size());
        count.download(&counted, sizeof counted);
        expect_equal(got, drawn, "CUDA, captured, " + what);
        expect(records.hold(want.components) && counted == want.count(),
               "a captured run measures and counts, " + what);
        return refused;
    }

    const Streams streams_;
    const PlainContext context_{GPV_BACKEND_CUDA};
    const Op op_{context_};
};

void check_cuda(bool brief) {
    const int scale = brief ? 1 : full_run() ? 100 : short_run() ? 3 : 20;
    for (const Place place : places({Place::device, Place::host})) {
        if (!part.has(place == Place::host ? "host" : "device"))
            continue;
        Operator op(GPV_BACKEND_CUDA, place);
        std::printf("== %s, images in %s memory\n", op.context().device(),
                    place == Place::host ? "host" : "CUDA");
        compare_with_definition(op, shortened(brief ? 200 : 60 * scale, 2));
        compare_with_cpu(op, shortened(brief ? 30 : 10 * scale, 2), brief ? 200 : 1500);
        if (!kernels_alone())
            check_prepared(place);
    }
    Operator op(GPV_BACKEND_CUDA, Place::device);
    Operator cpu;
    if (!brief && part.has("sizes"))
        for (const Sizes &sizes : {narrow_sizes(), small_squares, squares, large_squares})
            check_patterns(op, some_of(sizes), by(cpu));
    if (!brief && part.has("large")) {
        check_large(op, some_of(vast_squares), by(cpu));
        if (!short_run())
            check_dots(op, 23171, 23171); // labels of more than 2^31 bytes
        check_dots(op, GPV_MAX_SIDE, GPV_MAX_SIDE);
        if (full_run())
            check_patterns(op, vast_squares, by(cpu));
    }
    if (!part.has("runs"))
        return;
    const int all = static_cast<int>(patterns.size());
    check_tiles(op, {{129, 130}, {200, 65}, {64, 193}, {257, 129}}, brief ? all : 4 * all);
    if (!kernels_alone())
        check_tight(shortened(brief ? 100 : 20 * scale, 2));
    StreamChecks().check_captured();
    StreamChecks().check_captured_result();
    StreamChecks().check_records_of_two_runs();
    StreamChecks().check_alternating();
    if (brief)
        return check_overflow(op, {1000});
    check_patterns(op, {{1, 1}, {1, 97}, {97, 1}, {2, 2}, {13, 7}});
    check_patterns(op, {{GPV_MAX_SIDE, 3}, {3, GPV_MAX_SIDE}}, by(cpu));
    check_noise(op, 1919, 1079, by(cpu));
    check_regions(op, {{1919, 1079}, {4095, 4097}}, by(cpu));
    check_laws(op);
    check_repeats(op);
    check_overflow(op, overflown);
    check_pictures(op);
}

#endif

// ---- benchmark ------------------------------------------------------------

/// An image of one byte a pixel, of which what is not 0 is foreground.
struct Content {
    std::string name;
    GuardedImage image;

    std::string image_name() const {
        return size_name(image.view()->width, image.view()->height) + " " + name;
    }
};

Content noise(int width, int height, int percent) {
    return {"noise " + std::to_string(percent) + " %", granular(width, height, 1, percent)};
}

Content grains(int width, int height, int grain) {
    return {"granular " + std::to_string(grain), granular(width, height, grain, 50)};
}

Content drawn(int width, int height, const std::string &name) {
    return {name, pattern_of(name).draw(width, height)};
}

/// Pictures, with what is dark as the foreground.
std::vector<Content> dark_of_pictures() {
    std::vector<Content> result;
    for (const Picture &picture : pictures(".pgm")) {
        const GuardedImage &image = *picture.image;
        result.push_back(
            {picture.name, drawing(image.view()->width, image.view()->height,
                                   [&](int x, int y) { return image.row(0, y)[x] < 128; })});
    }
    return result;
}

/// What is asked of a run.
struct Work {
    const char *name;
    gpv_format dst = GPV_FORMAT_LABEL32; ///< GPV_FORMAT_NONE = there is none
    bool records = false;
    gpv_ccl_params params = default_params();

    bool labels() const { return dst != GPV_FORMAT_NONE; }
    /// In the size of src; of no use where there is none.
    GuardedImage image(const GuardedImage &src) const {
        const gpv_format format = labels() ? dst : gpv_format{GPV_FORMAT_GRAY8};
        return GuardedImage(format, src.view()->width, src.view()->height);
    }
    /// How many records it writes.
    int count(const GuardedImage &src) const {
        return records ? Operator().run(params, src, {}).result.count : 0;
    }
    /// Of a copy that moves as many bytes as have to be read and written.
    std::size_t copied(const GuardedImage &src) const {
        return (src.pixel_bytes() + labels() * image(src).pixel_bytes() +
                count(src) * sizeof(gpv_ccl_component)) /
               2;
    }
};

template <class Change>
Work changed(Work work, Change change) {
    change(work.params);
    return work;
}

const Work labels = {"labels"};
const Work labels_and_statistics = {"labels and statistics", GPV_FORMAT_LABEL32, true};
const Work statistics = {"statistics", GPV_FORMAT_NONE, true};
const Work counting = {"count", GPV_FORMAT_NONE};
const Work labels16 = {"16-bit labels", GPV_FORMAT_GRAY16};
const Work four = changed({"labels, 4 neighbours"}, [](auto &p) { p.connectivity = 4; });
const Work equal_value =
    changed({"labels, equal value"}, [](auto &p) { p.mode = GPV_CCL_MODE_EQUAL_VALUE; });
const Work filtered = changed({"labels, 20 pixels and more"}, [](auto &p) { p.min_area = 20; });

class Benchmark {
  public:
    explicit Benchmark(Report &report) : report_(report) {}

    void compare(const Content &content, const Work &work, int threads) {
        const GuardedImage &src = content.image;
        GuardedImage dst = work.image(src);
        Records records(std::max(work.count(src), 1), sizeof(gpv_ccl_component), 0, false);
        const Outputs outputs = {work.labels() ? &dst : nullptr, work.records ? &records : nullptr};
        std::vector<std::uint8_t> from(work.copied(src)), to(from.size());
        tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
        op_.run(work.params, src, outputs);
        std::vector<std::function<void()>> candidates = {
            [&] { op_.again(src, outputs); },
            [&] { std::memcpy(to.data(), from.data(), from.size()); }};
        std::string peer;
#ifdef HAVE_OPENCV
        const cv::Mat view = cv_view(src, CV_8UC1);
        cv::Mat marks, stats, centroids;
        if (work.params.mode == GPV_CCL_MODE_BINARY && work.params.min_area == 0) {
            cv::setNumThreads(threads);
            peer = std::string("OpenCV " CV_VERSION) + (work.records ? " WithStats" : "");
            candidates.push_back([&] {
                const int connectivity = work.params.connectivity;
                if (work.records)
                    cv::connectedComponentsWithStats(view, marks, stats, centroids, connectivity);
                else
                    cv::connectedComponents(view, marks, connectivity);
            });
        }
#endif
        const auto times = time_in_turn(candidates);
        report_.add({work.name, content.image_name(), threads, times[0], peer,
                     peer.empty() ? Timing{} : times[2], times[1].median});
    }

  private:
    Operator op_;
    Report &report_;
};

/// Those of the peers' tables.
std::vector<Content> contents_of_1080p() {
    std::vector<Content> result;
    for (int percent : {10, 50, 90})
        result.push_back(noise(1920, 1080, percent));
    for (int grain : {4, 16})
        result.push_back(grains(1920, 1080, grain));
    for (const char *name :
         {"horizontal snake", "vertical snake", "spiral", "dots", "checkerboard", "full"})
        result.push_back(drawn(1920, 1080, name));
    return result;
}

Content values_of_1080p() {
    return {"granular 16, 4 values", granular(1920, 1080, 16, 100, 4)};
}

void benchmark_cpu(Report &report) {
    Benchmark bench(report);
    const int all = tbb::info::default_concurrency();
    const std::vector<Content> hd = contents_of_1080p(), real = dark_of_pictures();
    for (int threads : {1, all})
        for (const auto *contents : {&hd, &real})
            for (const Content &content : *contents)
                for (const Work &work : {labels, labels_and_statistics})
                    bench.compare(content, work, threads);
    for (const Work &work : {statistics, counting, labels16, four, filtered})
        bench.compare(grains(1920, 1080, 16), work, all);
    bench.compare(values_of_1080p(), equal_value, all);
    bench.compare(grains(8192, 8192, 16), labels_and_statistics, all);
}

// ---- benchmark on a GPU ---------------------------------------------------

#ifdef HAVE_CUDA

#    ifdef HAVE_NPP
/// NPP's labels: of the background as well, and with gaps until they are compressed.
class Npp {
  public:
    Npp(int width, int height) : size_{width, height} {
        int marking = 0, compressing = 0;
        if (nppiLabelMarkersUFGetBufferSize_32u_C1R(size_, &marking) != NPP_SUCCESS ||
            nppiCompressMarkerLabelsGetBufferSize_32u_C1R(width * height, &compressing) !=
                NPP_SUCCESS)
            fatal("NPP does not say how much memory its labels take");
        marking_.resize(static_cast<std::size_t>(marking));
        compressing_.resize(static_cast<std::size_t>(compressing));
    }
    bool enqueue(bool compress, cudaStream_t stream, const gpv_image &src, const gpv_image &dst) {
        context_.hStream = stream;
        auto *marks = static_cast<Npp32u *>(dst.data[0]);
        const int stride = static_cast<int>(dst.stride[0]);
        int count;
        return nppiLabelMarkersUF_8u32u_C1R_Ctx(
                   static_cast<Npp8u *>(src.data[0]), static_cast<int>(src.stride[0]), marks,
                   stride, size_, nppiNormInf, marking_.data(), context_) == NPP_SUCCESS &&
               (!compress || nppiCompressMarkerLabelsUF_32u_C1IR_Ctx(
                                 marks, stride, size_, size_.width * size_.height, &count,
                                 compressing_.data(), context_) == NPP_SUCCESS);
    }

  private:
    NppiSize size_;
    DeviceBlock marking_, compressing_;
    NppStreamContext context_ = npp_context();
};
#    endif

class GpuBenchmark {
  public:
    explicit GpuBenchmark(Report &report) : report_(report) {}

    void compare(const Content &content, const Work &work) {
        const Runs runs(content.image, work);
        const auto times = time_on_device(ours_and_copy(work, runs), runs.images.repeats());
        report_.add({work.name, content.image_name(), 0, times[0], "", {}, times[1].median});
    }

#    ifdef HAVE_NPP
    void compare_with_npp(const Content &content) {
        const Work work = {"beside NPP: labels"};
        const Runs runs(content.image, work);
        Npp npp(content.image.view()->width, content.image.view()->height);
        auto candidates = ours_and_copy(work, runs);
        for (bool compress : {false, true})
            candidates.push_back([&npp, &runs, compress](cudaStream_t stream, int i) {
                return npp.enqueue(compress, stream, *runs.images.src(i).view(),
                                   *runs.images.dst(i).view());
            });
        const auto times = time_on_device(candidates, runs.images.repeats());
        const char *const peers[] = {"NPP LabelMarkersUF", "NPP LabelMarkersUF, compressed"};
        for (int i = 0; i < 2; i++)
            report_.add({work.name, content.image_name(), 0, times[0], peers[i], times[2 + i],
                         times[1].median});
    }
#    endif

    /// From host memory to host memory, one frame after the other.
    void compare_from_host(const Content &content) {
        const GuardedImage &src = content.image;
        GuardedImage dst = labels.image(src);
        Operator gpu(GPV_BACKEND_CUDA, Place::host), cpu;
        gpu.run(labels.params, src, {&dst});
        cpu.run(labels.params, src, {&dst});
        std::vector<std::uint8_t> from(labels.copied(src)), to(from.size());
        const auto times =
            time_in_turn({[&] { gpu.again(src, {&dst}); }, [&] { cpu.again(src, {&dst}); },
                          [&] { std::memcpy(to.data(), from.data(), from.size()); }});
        report_.add({"labels, host to host", content.image_name(), 0, times[0], "our CPU backend",
                     times[1], times[2].median});
    }

  private:
    /// What the calls of one measurement read and write.
    struct Runs {
        Runs(const GuardedImage &src, const Work &work)
            : images(src, work.image(src)), copy(work.copied(src)) {
            const std::size_t bytes = std::max(work.count(src), 1) * sizeof(gpv_ccl_component);
            records.resize(bytes);
            gpv_buffer_init(&components, sizeof components);
            components.memory = GPV_MEMORY_CUDA;
            components.data = records.data();
            components.size = bytes;
        }
        ColdImages images;
        ColdCopy copy;
        DeviceBlock records;
        gpv_buffer components;
    };

    /// An operation of the library, prepared, and a copy that moves as much.
    std::vector<Enqueue> ours_and_copy(const Work &work, const Runs &runs) {
        const auto dst = [&](int i) { return work.labels() ? runs.images.dst(i).view() : nullptr; };
        require(gpv_ccl_set_params(op_, &work.params), context_, "gpv_ccl_set_params");
        require(gpv_ccl_prepare(op_, runs.images.src(0).view(), dst(0), 0), context_,
                "gpv_ccl_prepare");
        return {[this, &work, &runs](cudaStream_t stream, int i) {
                    return gpv_ccl_run(op_, stream, runs.images.src(i).view(),
                                       work.labels() ? runs.images.dst(i).view() : nullptr,
                                       work.records ? &runs.components : nullptr, 0,
                                       nullptr) == GPV_OK;
                },
                [&runs](cudaStream_t stream, int i) { return runs.copy.enqueue(stream, i); }};
    }

    Report &report_;
    const PlainContext context_{GPV_BACKEND_CUDA};
    const Op op_{context_};
};

/// One in the middle of each cell of 64 pixels, of 8 to 47 pixels radius, as far as the cell goes.
GuardedImage discs(int width, int height) {
    return drawing(width, height, [](int x, int y) {
        const int radius = 8 + hash(std::uint64_t(y / 64) << 16 | x / 64) % 40;
        const int right = x % 64 - 32, down = y % 64 - 32;
        return right * right + down * down <= radius * radius;
    });
}

/// Those of the paper's table.
std::vector<Content> bitmaps() {
    std::vector<Content> result;
    result.push_back(grains(1024, 768, 4));
    result.push_back(noise(1280, 1024, 50));
    result.push_back(drawn(1600, 1200, "spiral"));
    result.push_back({"discs", discs(2048, 1536)});
    return result;
}

/// The rows of the paper's table on the CPU; tests/tools/peers.py has those on the GPU.
void benchmark_paper_on_cpu(Report &report) {
    const auto one_value = [](gpv_ccl_params &p) { p.foreground = 255; };
    const Work labels_of_paper = changed({"paper's table: labels"}, one_value);
    const Work count_of_paper = changed({"paper's table: count", GPV_FORMAT_NONE}, one_value);
    Benchmark bench(report);
    for (int threads : {1, tbb::info::default_concurrency()})
        for (const Content &content : bitmaps())
            for (const Work &work : {labels_of_paper, count_of_paper})
                bench.compare(content, work, threads);
}

void benchmark_gpu(Report &report) {
    GpuBenchmark bench(report);
    const std::vector<Content> hd = contents_of_1080p();
    bench.compare({"floor", granular(64, 32, 1, 50)}, labels);
    for (const Content &content : hd)
        bench.compare(content, labels);
    for (const Content &content : dark_of_pictures())
        for (const Work &work : {labels, labels_and_statistics})
            bench.compare(content, work);
    const int sizes[][2] = {{640, 480}, {3840, 2160}, {8192, 8192}};
    for (const auto &[width, height] : sizes) {
        bench.compare(noise(width, height, 50), labels);
        bench.compare(grains(width, height, 16), labels);
    }
    for (const Content &content : {noise(1920, 1080, 50), grains(1920, 1080, 16),
                                   drawn(1920, 1080, "dots"), grains(8192, 8192, 16)})
        for (const Work &work :
             {labels_and_statistics, statistics, counting, labels16, four, filtered})
            bench.compare(content, work);
    bench.compare(values_of_1080p(), equal_value);
    bench.compare_from_host(grains(1920, 1080, 16));
    benchmark_paper_on_cpu(report);
#    ifdef HAVE_NPP
    // Last, because after NPP every node of a graph takes longer.
    for (const Content &content : hd)
        bench.compare_with_npp(content);
    bench.compare_with_npp(noise(3840, 2160, 50));
    bench.compare_with_npp(grains(3840, 2160, 16));
#    endif
}

#endif

// ---- the program ----------------------------------------------------------

void check_times(gpv_backend backend) {
    const auto [width, height] = size_to_time(backend);
    const CountedContext context(backend);
    const Op op(context);
    const PlacedImage dst(GuardedImage(GPV_FORMAT_LABEL32, width, height), backend);
    for (const gpv_ccl_mode mode : {GPV_CCL_MODE_BINARY, GPV_CCL_MODE_EQUAL_VALUE})
        for (const int connectivity : {8, 4}) {
            gpv_ccl_params p = default_params();
            p.mode = mode;
            p.connectivity = connectivity;
            require(gpv_ccl_set_params(op, &p), context, "gpv_ccl_set_params");
            expect_times_alike(size_name(width, height) + ", mode " + std::to_string(mode) + ", " +
                                   std::to_string(connectivity) + " neighbours",
                               timed_patterns(backend, [&](const GuardedImage &host) {
                                   const auto src = std::make_shared<PlacedImage>(host, backend);
                                   return [&, src] {
                                       require(gpv_ccl_run(op, nullptr, src->view(), dst.view(),
                                                           nullptr, 0, nullptr),
                                               context, "gpv_ccl_run");
                                       require(gpv_ccl_wait(op, nullptr), context, "gpv_ccl_wait");
                                   };
                               }));
        }
}

void check() {
    each_instruction_set([&](const char *name) {
        Operator op;
        std::printf("== %s\n", op.context().device());
        if (!std::strstr(op.context().device(), name))
            fatal(std::string("the library does not run on ") + name);
        compare_with_definition(op, scaled(2500));
        check_patterns(op, {{1, 1}, {1, 97}, {97, 1}, {2, 2}, {13, 7}, {65, 63}, {127, 129}});
    });
    Operator op;
    compare_with_definition(op, scaled(10000));
    check_patterns(op, {{GPV_MAX_SIDE, 3}, {3, GPV_MAX_SIDE}});
    check_patterns(op, some_of(narrow_sizes()));
    check_patterns(op, some_of(small_squares));
    if (!short_run())
        check_patterns(op, squares);
    check_noise(op, 1023, 767);
    check_regions(op, {{211, 199}, {shortened(1919), 1079}});
    check_laws(op);
    check_repeats(op);
    check_overflow(op, overflown);
    check_threads();
    check_pictures(op);
    if (full_run()) {
        check_patterns(op, large_squares);
        check_patterns(op, {vast_squares[0]});
        check_large(op, {vast_squares[1]}, definition);
        check_regions(op, {{8192, 8192}});
        check_dots(op, 23171, 23171); // labels of more than 2^31 bytes
    }
#ifdef HAVE_OPENCV
    compare_with_opencv(op, scaled(1000));
    if (!short_run())
        check_large(op, large_squares, [](const GuardedImage &src, const gpv_ccl_params &p) {
            return by_opencv(src, p.connectivity);
        });
#else
    std::printf("OpenCV: not installed, not compared\n");
#endif
}

} // namespace

int main(int argc, char **argv) {
#ifdef HAVE_CUDA
    return run_program({"ccl", check, check_cuda, benchmark_cpu, benchmark_gpu, check_times}, argc,
                       argv);
#else
    return run_program({"ccl", check, nullptr, benchmark_cpu, nullptr, check_times}, argc, argv);
#endif
}
