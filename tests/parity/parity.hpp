// SPDX-License-Identifier: BSD-2-Clause
// What every parity test needs: guarded images, random numbers, a count of
// comparisons, and paired timing for the benchmark.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <gpuvision/gpuvision.h>

namespace parity {

inline std::mt19937_64 &random_engine() {
    static std::mt19937_64 engine(20260101);
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

inline bool full_run() {
    return std::getenv("GPV_TEST_FULL") != nullptr;
}

inline constexpr int skipped = 77; ///< exit status of a test that could not run

[[noreturn]] inline void fatal(const std::string &text) {
    std::fprintf(stderr, "%s\n", text.c_str());
    std::exit(1);
}

inline void require(gpv_status status, const gpv_context *context, const char *what) {
    if (status != GPV_OK)
        fatal(std::string(what) + ": " + gpv_status_string(status) + ": " +
              gpv_context_error(context));
}

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
        const int sample = format == GPV_FORMAT_GRAY16 ? 2 : 1;
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
    GuardedImage(const GuardedImage &) = delete;
    GuardedImage &operator=(const GuardedImage &) = delete;

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

} // namespace parity
