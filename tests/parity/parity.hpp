// SPDX-License-Identifier: BSD-2-Clause
// What every parity test needs: guarded images, pictures, random numbers, colours, threads and
// instruction sets, paired timing for the benchmark, and the program's arguments.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <hwy/targets.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/task_arena.h>

#include <gpuvision/gpuvision.h>

#include "common/formats.hpp"

namespace parity {

inline bool full_run() {
    return std::getenv("GPV_TEST_FULL") != nullptr;
}

/// Whether the run has to be short, as under sanitizers and on a GPU.
inline bool short_run() {
    return !full_run() && std::getenv("GPV_TEST_SHORT");
}

/// False for a program whose bounds hold for its very cases, not for others.
inline bool takes_turns = true;

/// 0, 1 or 2 where ./dev test runs a third of the cases, another third with another commit; -1
/// where all run.
inline int turn() {
    const char *const number = std::getenv("GPV_TEST_TURN");
    if (!number || full_run() || short_run() || !takes_turns)
        return -1;
    return static_cast<int>(std::strtoul(number, nullptr, 10) % 3);
}

inline std::mt19937_64 &random_engine() {
    static std::mt19937_64 engine(20260101 + (turn() < 0 ? 0 : 1 + turn()));
    return engine;
}

/// Uniform in low..high, both included. The same on every standard library.
inline int random_int(int low, int high) {
    return low + static_cast<int>(random_engine()() % (static_cast<std::uint64_t>(high) - low + 1));
}

template <class T>
const T &random_of(const std::vector<T> &choices) {
    return choices[random_int(0, static_cast<int>(choices.size()) - 1)];
}

/// The same bits for the same number, as if drawn by lot.
inline std::uint32_t hash(std::uint64_t z) {
    z += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return static_cast<std::uint32_t>((z ^ z >> 31) >> 32);
}

/// The same bits for the same pixel.
inline std::uint32_t pixel_hash(std::uint64_t seed, int x, int y) {
    return hash(seed * 1000003 + (std::uint64_t(static_cast<std::uint32_t>(y)) << 20) +
                static_cast<std::uint32_t>(x));
}

/// So much of a number of cases, of a side or of rounds: all but in the short run.
inline int shortened(int count, int divisor = 8) {
    return short_run() ? (count + divisor - 1) / divisor : count;
}

/// How many of so many random cases to run: ten times as many in the long run; in turns a third,
/// which draw other numbers.
inline int scaled(int cases) {
    return full_run() ? 10 * cases : turn() >= 0 ? (cases + 2) / 3 : shortened(cases);
}

/// All of a list; in the short run the first, and then every eighth, or as stride says; in turns
/// every third.
template <class T>
std::vector<T> some_of(const std::vector<T> &all, std::size_t stride = 8) {
    std::size_t at = 0;
    if (!short_run())
        stride = 1;
    if (turn() >= 0 && !all.empty()) {
        stride = 3;
        at = static_cast<std::size_t>(turn()) % all.size();
    }
    std::vector<T> result;
    for (; at < all.size(); at += stride)
        result.push_back(all[at]);
    return result;
}

/// Loses track of what two threads launch.
inline bool under_racecheck() {
    return std::getenv("GPV_TEST_RACECHECK") != nullptr;
}

/// The short form under racecheck. What that looks for lies between the threads of a block: left
/// out is what differs in where images lie, and in what else is launched.
inline bool kernels_alone() {
    return under_racecheck() && short_run();
}

inline constexpr int skipped = 77; ///< exit status of a test that could not run

[[noreturn]] inline void fatal(const std::string &text) {
    std::fprintf(stderr, "%s\n", text.c_str());
    std::exit(1);
}

inline void expect(bool holds, const std::string &law) {
    if (!holds)
        fatal("does not hold: " + law);
}

inline void require(gpv_status status, const gpv_context *context, const char *what) {
    if (status != GPV_OK)
        fatal(std::string(what) + ": " + gpv_status_string(status) + ": " +
              gpv_context_error(context));
}

/// An operator with its default parameters.
template <auto create, auto destroy>
class Handle;
template <class Op, class Params, gpv_status (*create)(gpv_context *, const Params *, Op **),
          void (*destroy)(Op **)>
class Handle<create, destroy> {
  public:
    explicit Handle(gpv_context *context) {
        require(create(context, nullptr, &op_), context, "an operator is created");
    }
    ~Handle() { destroy(&op_); }
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;
    operator Op *() const { return op_; }

  private:
    Op *op_ = nullptr;
};

using formats::sample_bytes, formats::is_yuv;

/// Interleaved in a plane.
inline int channels(gpv_format format, int plane) {
    const auto all = formats::channels_of(format);
    return std::max<int>(
        1, static_cast<int>(std::count_if(
               all.begin(), all.end(), [plane](const auto &one) { return one.plane == plane; })));
}

inline std::string size_name(int width, int height) {
    return std::to_string(width) + "x" + std::to_string(height);
}

// ---- sizes --------------------------------------------------------------------------

using Sizes = std::vector<std::array<int, 2>>;

/// From one pixel on: few columns or rows by a side next to a power of two, and primes.
inline const Sizes &narrow_sizes() {
    static const Sizes sizes = [] {
        Sizes result = {{1, 1}, {2, 2}, {1, 97}, {97, 1}, {13, 7}, {61, 31}, {211, 199}};
        for (const int side : {255, 256, 257, 1023, 1024, 1025, 4095, 4096, 4097})
            for (const int other : {1, 2, 3, 17}) {
                result.push_back({side, other});
                result.push_back({other, side});
            }
        return result;
    }();
    return sizes;
}

/// Such sides by each other.
inline const Sizes small_squares = {{255, 257}, {256, 256}, {257, 255}};
inline const Sizes squares = {{1023, 1025}, {1024, 1024}, {1025, 1023}, {1919, 1079}};
inline const Sizes large_squares = {{4095, 4097}, {4096, 4096}, {4097, 4095}};
inline const Sizes vast_squares = {{8192, 8192}, {16384, 16384}};

// ---- images -------------------------------------------------------------------------

/// Host image inside a larger block whose other bytes are canaries.
class GuardedImage {
  public:
    /// padding: extra bytes a row. offset: of the first byte, both rounded to whole samples.
    GuardedImage(gpv_format format, int width, int height, int padding = 0, int offset = 0)
        : canary_(static_cast<std::uint8_t>(random_int(0, 255))) {
        gpv_image_init(&view_, sizeof view_);
        view_.format = format;
        view_.width = width;
        view_.height = height;
        const int sample = sample_bytes(format);
        std::size_t at = guard + offset / sample * sample;
        std::vector<std::size_t> starts;
        for (int i = 0; i < gpv_format_planes(format); i++) {
            Plane plane{};
            require(gpv_format_plane(format, i, width, height, &plane.row_bytes, &plane.rows),
                    nullptr, "gpv_format_plane");
            view_.stride[i] = plane.row_bytes + padding / sample * sample;
            starts.push_back(at);
            at += view_.stride[i] * plane.rows + guard;
            planes_.push_back(plane);
        }
        bytes_.assign(at, canary_);
        for (std::size_t i = 0; i < starts.size(); i++)
            view_.data[i] = bytes_.data() + starts[i];
    }
    GuardedImage(GuardedImage &&) = default;
    GuardedImage(const GuardedImage &) = delete;
    GuardedImage &operator=(const GuardedImage &) = delete;

    void set_color(gpv_color_matrix matrix, gpv_color_range range) {
        view_.color_matrix = matrix;
        view_.color_range = range;
    }
    const gpv_image *view() const { return &view_; }
    /// The image with the canaries around it.
    std::vector<std::uint8_t> &bytes() { return bytes_; }
    const std::vector<std::uint8_t> &bytes() const { return bytes_; }
    int planes() const { return static_cast<int>(planes_.size()); }
    std::int64_t rows(int plane) const { return planes_[plane].rows; }
    std::int64_t row_bytes(int plane) const { return planes_[plane].row_bytes; }
    /// Of all planes, without the padding.
    std::int64_t pixel_bytes() const {
        std::int64_t sum = 0;
        for (const Plane &plane : planes_)
            sum += plane.row_bytes * plane.rows;
        return sum;
    }
    std::uint8_t *row(int plane, std::int64_t y) const {
        return static_cast<std::uint8_t *>(view_.data[plane]) + y * view_.stride[plane];
    }

    /// f(plane, y, row, row_bytes)
    template <class F>
    void each_row(F f) const {
        for (int p = 0; p < planes(); p++)
            for (std::int64_t y = 0; y < rows(p); y++)
                f(p, y, row(p, y), row_bytes(p));
    }

    bool canaries_intact() const {
        std::vector<std::uint8_t> copy = bytes_;
        each_row([&](int, std::int64_t, std::uint8_t *row, std::int64_t bytes) {
            std::fill_n(copy.begin() + (row - bytes_.data()), bytes, canary_);
        });
        return std::all_of(copy.begin(), copy.end(), [&](auto b) { return b == canary_; });
    }

    /// Plane by plane; both images without padding.
    void copy_planes_from(const GuardedImage &other) {
        for (std::size_t p = 0; p < planes_.size(); p++)
            std::memcpy(row(p, 0), other.row(p, 0), planes_[p].row_bytes * planes_[p].rows);
    }
    void copy_pixels_from(const GuardedImage &other) {
        each_row([&](int p, std::int64_t y, std::uint8_t *row, std::int64_t bytes) {
            std::memcpy(row, other.row(p, y), bytes);
        });
    }

  private:
    static constexpr std::size_t guard = 256;
    struct Plane {
        std::int64_t row_bytes;
        std::int64_t rows;
    };
    gpv_image view_;
    std::uint8_t canary_;
    std::vector<Plane> planes_;
    std::vector<std::uint8_t> bytes_;
};

inline void expect_equal(const GuardedImage &got, const GuardedImage &want,
                         const std::string &what) {
    got.each_row([&](int plane, std::int64_t y, std::uint8_t *row, std::int64_t bytes) {
        const std::uint8_t *other = want.row(plane, y);
        if (std::memcmp(row, other, bytes) == 0)
            return;
        const std::int64_t x = std::mismatch(row, row + bytes, other).first - row;
        fatal(what + ": plane " + std::to_string(plane) + " row " + std::to_string(y) + " byte " +
              std::to_string(x) + " is " + std::to_string(row[x]) + ", want " +
              std::to_string(other[x]));
    });
    if (!got.canaries_intact())
        fatal(what + ": bytes outside the image were written");
}

/// An image for random cases, lying anywhere, with colours of any kind.
inline GuardedImage random_image(gpv_format format, int width, int height) {
    GuardedImage image(format, width, height, random_int(0, 40), random_int(0, 20));
    image.set_color(static_cast<gpv_color_matrix>(random_int(0, 3)),
                    static_cast<gpv_color_range>(random_int(0, 2)));
    return image;
}

struct Picture {
    std::string name;
    std::unique_ptr<GuardedImage> image;
};

/// Binary PGM or PPM of 8 bits. Empty if the file is none.
inline std::unique_ptr<GuardedImage> read_picture(const std::filesystem::path &path) {
    std::ifstream file(path, std::ios::binary);
    std::string magic;
    int width = 0, height = 0, largest = 0;
    file >> magic >> width >> height >> largest;
    if (!file || (magic != "P5" && magic != "P6") || largest != 255 || file.get() == EOF)
        return nullptr;
    auto image = std::make_unique<GuardedImage>(magic == "P5" ? GPV_FORMAT_GRAY8 : GPV_FORMAT_RGB8,
                                                width, height);
    image->each_row([&](int, std::int64_t, std::uint8_t *row, std::int64_t bytes) {
        file.read(reinterpret_cast<char *>(row), bytes);
    });
    return file ? std::move(image) : nullptr;
}

/// Those of the folder that GPV_TEST_IMAGES names which are .pgm or .ppm, in the order of their
/// names.
inline std::vector<Picture> pictures(const std::string &extension) {
    std::vector<Picture> result;
    const char *folder = std::getenv("GPV_TEST_IMAGES");
    if (!folder)
        return result;
    for (const auto &entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() != extension)
            continue;
        result.push_back({entry.path().stem().string(), read_picture(entry.path())});
        if (!result.back().image)
            fatal(entry.path().string() + " is no binary PGM or PPM of 8 bits without comments");
    }
    std::sort(result.begin(), result.end(), [](auto &a, auto &b) { return a.name < b.name; });
    return result;
}

using Rgb = std::array<int, 3>;

/// Weights of R, G and B in the luma of an image.
inline std::array<double, 3> luma_weights(const gpv_image &image) {
    gpv_color_matrix matrix = image.color_matrix;
    if (matrix == GPV_COLOR_MATRIX_AUTO)
        matrix = image.height >= 720 ? GPV_COLOR_MATRIX_BT709 : GPV_COLOR_MATRIX_BT601;
    const double kr = std::array{0.0, 0.299, 0.2126, 0.2627}[matrix];
    const double kb = std::array{0.0, 0.114, 0.0722, 0.0593}[matrix];
    return {kr, 1 - kr - kb, kb};
}

/// Y, U and V in 16-bit fixed point, rounded.
inline Rgb yuv_of(const gpv_image &image, const Rgb &rgb) {
    const auto [kr, kg, kb] = luma_weights(image);
    const bool full = image.color_range == GPV_COLOR_RANGE_FULL;
    const double rows[3][3] = {{kr, kg, kb},
                               {-kr / (2 * (1 - kb)), -kg / (2 * (1 - kb)), 0.5},
                               {0.5, -kg / (2 * (1 - kr)), -kb / (2 * (1 - kr))}};
    Rgb result;
    for (int i = 0; i < 3; i++) {
        const double range = full ? 255 : i == 0 ? 219 : 224;
        std::int64_t sum = 0;
        for (int k = 0; k < 3; k++)
            sum += std::llround(rows[i][k] * 65536 * range / 255) * rgb[k];
        result[i] = static_cast<int>(std::floor(sum / 65536.0 + 0.5)) + (i > 0  ? 128
                                                                         : full ? 0
                                                                                : 16);
    }
    return result;
}

/// Where a view lies, as far as alignment goes.
inline std::string place_of(const gpv_image &view) {
    return "stride " + std::to_string(view.stride[0]) + " at 16 k + " +
           std::to_string(reinterpret_cast<std::uintptr_t>(view.data[0]) % 16);
}

/// Calls f where oneTBB has so many threads, whatever the machine has.
template <class F>
void with_threads(int threads, F f) {
    using control = tbb::global_control;
    control limit(control::max_allowed_parallelism, threads);
    if (control::active_value(control::max_allowed_parallelism) != std::size_t(threads))
        fatal("oneTBB does not grant " + std::to_string(threads) + " threads");
    tbb::task_arena(threads).execute(f);
}

/// Calls f(name) once for every instruction set that this processor has. Random numbers, of f and
/// after it, do not depend on which others it has.
template <class F>
void each_instruction_set(F f) {
    const std::uint64_t seed = random_engine()();
    const std::mt19937_64 after = random_engine();
    std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
    for (; targets; targets &= targets - 1) {
        random_engine().seed(seed ^ static_cast<std::uint64_t>(targets & -targets));
        hwy::SetSupportedTargetsForTest(targets & -targets);
        hwy::GetChosenTarget().Update(targets & -targets);
        f(hwy::TargetName(targets & -targets));
    }
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    random_engine() = after;
}

/// Median and spread of one side of a paired measurement, microseconds.
struct Timing {
    double median;
    double low;  ///< first quartile
    double high; ///< third quartile
};

inline Timing summarize(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    const auto at = [&](double q) {
        return samples[static_cast<std::size_t>(q * (samples.size() - 1))];
    };
    return {at(0.5), at(0.25), at(0.75)};
}

/// Times the candidates in turn, so that whatever else the machine does hits
/// all of them alike, for at least so many rounds and seconds.
inline std::vector<Timing> time_in_turn(const std::vector<std::function<void()>> &candidates,
                                        int rounds = 15, double seconds = 0.5) {
    using Clock = std::chrono::steady_clock;
    std::vector<std::vector<double>> samples(candidates.size());
    for (const auto &run : candidates)
        run(); // warm
    const auto start = Clock::now();
    while (static_cast<int>(samples[0].size()) < rounds ||
           std::chrono::duration<double>(Clock::now() - start).count() < seconds)
        for (std::size_t i = 0; i < candidates.size(); i++) {
            const auto begin = Clock::now();
            candidates[i]();
            samples[i].push_back(
                std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
        }
    std::vector<Timing> result;
    for (const auto &s : samples)
        result.push_back(summarize(s));
    return result;
}

/// Rows of a benchmark: a table for people, JSON for docs/results.
class Report {
  public:
    struct Row {
        std::string name;
        std::string image;
        int threads; ///< 0: on a GPU
        Timing ours;
        std::string peer; ///< empty = none
        Timing other;
        double
            copy_us; ///< of the source to the destination: memcpy on one thread, or on the device
    };

    void add(const Row &row) {
        if (rows_.empty())
            std::printf("%-28s %-16s %7s %26s %34s %8s %6s\n", "operation", "image", "threads",
                        "ours, us (quartiles)", "peer, us", "speed-up", "copy");
        std::printf("%-28s %-16s %7s %10.2f (%.2f..%.2f)", row.name.c_str(), row.image.c_str(),
                    row.threads ? std::to_string(row.threads).c_str() : "GPU", row.ours.median,
                    row.ours.low, row.ours.high);
        if (!row.peer.empty())
            std::printf(" %22s %10.2f %7.2fx", row.peer.c_str(), row.other.median,
                        row.other.median / row.ours.median);
        std::printf(" %5.0f%%\n", 100 * row.copy_us / row.ours.median);
        std::fflush(stdout);
        rows_.push_back(row);
    }

    void write_json(const std::string &path) const {
        std::ofstream out(path);
        out << "{\"benchmarks\": [\n";
        for (std::size_t i = 0; i < rows_.size(); i++) {
            const Row &r = rows_[i];
            out << "  {\"name\": \"" << r.name << "\", \"image\": \"" << r.image
                << "\", \"threads\": " << r.threads << ", \"ours_us\": " << timing(r.ours);
            if (!r.peer.empty())
                out << ", \"peer\": \"" << r.peer << "\", \"peer_us\": " << timing(r.other);
            out << ", \"copy_us\": " << r.copy_us << "}" << (i + 1 < rows_.size() ? ",\n" : "\n");
        }
        out << "]}\n";
        if (!out.flush())
            fatal("cannot write " + path);
    }

  private:
    static std::string timing(const Timing &t) {
        return "[" + std::to_string(t.median) + ", " + std::to_string(t.low) + ", " +
               std::to_string(t.high) + "]";
    }
    std::vector<Row> rows_;
};

/// What a run on some content takes.
struct Timed {
    std::string name;
    std::function<void()> run;
};

/// The least of several runs, in ms.
inline double min_time(const std::function<void()> &run) {
    using Clock = std::chrono::steady_clock;
    double minimum = INFINITY, sum = 0;
    for (int i = 0; i < 3 || (i < 20 && sum < 30); i++) {
        const auto start = Clock::now();
        run();
        const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
        minimum = std::min(minimum, ms);
        sum += ms;
    }
    return minimum;
}

inline double median_of(std::vector<double> numbers) {
    const auto middle = numbers.begin() + numbers.size() / 2;
    std::nth_element(numbers.begin(), middle, numbers.end());
    return *middle;
}

/// In ms.
struct Seen {
    double usual; ///< of the median, or of the content that is named
    double slowest;
};

/// Prints what each content takes beside the median of all, or beside the one that is named.
inline Seen print_times(const std::string &what, const std::vector<Timed> &contents,
                        const std::string &usual = "median") {
    std::vector<double> times;
    for (const Timed &content : contents)
        times.push_back(min_time(content.run));
    double unit = median_of(times);
    for (std::size_t i = 0; i < times.size(); i++)
        if (contents[i].name == usual)
            unit = times[i];
    std::printf("%-36s %10s  x %s\n", what.c_str(), "ms", usual.c_str());
    for (std::size_t i = 0; i < times.size(); i++)
        std::printf("  %-34s %10.3f %9.2f\n", contents[i].name.c_str(), times[i], times[i] / unit);
    return {unit, *std::max_element(times.begin(), times.end())};
}

/// Again, as something else may have had the machine.
inline void expect_times_alike(const std::string &what, const std::vector<Timed> &contents,
                               const std::string &usual = "median") {
    for (int attempt = 1;; attempt++) {
        const Seen seen = print_times(what, contents, usual);
        if (seen.slowest <= 10 * seen.usual)
            return;
        expect(attempt < 3,
               what + ": no content takes more than ten times as long as the " + usual);
    }
}

/// A part of what a program checks on CUDA, so that what takes minutes is several tests, which run
/// side by side.
class Part {
  public:
    void choose(std::string name) { name_ = std::move(name); }
    /// Without a choice, all of them.
    bool has(const std::string &name) {
        const bool chosen = name_.empty() || name_ == name;
        met_ = met_ || chosen;
        return chosen;
    }
    bool exists() const { return met_; }

  private:
    std::string name_;
    bool met_ = false;
};

inline Part part;

/// What a parity program does; what needs CUDA is null in a build without it.
struct Program {
    const char *name;
    void (*check)();
    void (*check_cuda)(bool brief); ///< brief: as much as an emulated GPU does in a short time
    void (*benchmark)(Report &);
    void (*benchmark_gpu)(Report &);
    void (*check_times)(gpv_backend) = nullptr; ///< of contents of all kinds
};

/// f() if there is a GPU.
template <class F>
inline int check_on_cuda(const Program &program, F f) {
    if (!program.check_cuda)
        std::printf("skipped: built without CUDA\n");
    else if (!gpv_backend_available(GPV_BACKEND_CUDA))
        std::printf("skipped: there is no CUDA device\n");
    else
        return f(), 0;
    return skipped;
}

inline int run_benchmarks(const Program &program, bool gpu_alone, const std::string &json) {
    Report report;
    if (program.benchmark_gpu && gpv_backend_available(GPV_BACKEND_CUDA))
        program.benchmark_gpu(report);
    if (!gpu_alone)
        program.benchmark(report);
    if (!json.empty())
        report.write_json(json);
    return 0;
}

/// main() of a parity test.
inline int run_program(const Program &program, int argc, char **argv) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    using Words = std::vector<std::string>;
    const Words words(argv + 1, argv + argc);
    if (words.empty())
        return program.check(), 0;
    const bool json = words.size() == 3 && words[1] == "--json";
    if ((words[0] == "--bench" || words[0] == "--bench-gpu") && (words.size() == 1 || json))
        return run_benchmarks(program, words[0] == "--bench-gpu", json ? words[2] : "");
    if (words == Words{"--cuda"} || words == Words{"--cuda", "--brief"})
        return check_on_cuda(program, [&] { program.check_cuda(words.size() == 2); });
    if (words.size() == 3 && words[0] == "--cuda" && words[1] == "--part") {
        part.choose(words[2]);
        const int status = check_on_cuda(program, [&] { program.check_cuda(false); });
        if (status == 0 && !part.exists())
            fatal("there is no part " + words[2]);
        return status;
    }
    if (program.check_times && words == Words{"--time"})
        return program.check_times(GPV_BACKEND_CPU), 0;
    if (program.check_times && words == Words{"--cuda", "--time"})
        return check_on_cuda(program, [&] { program.check_times(GPV_BACKEND_CUDA); });
    fatal(std::string("usage: ") + program.name + " [--cuda [--brief | --part PART]" +
          (program.check_times ? " | [--cuda] --time" : "") +
          " | --bench [--json FILE] | --bench-gpu [--json FILE]]");
}

} // namespace parity
