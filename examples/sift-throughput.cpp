// SPDX-License-Identifier: BSD-2-Clause
// How many pictures of a folder a machine finds the SIFT features of in a second: on the GPU, on
// the CPU, and on both at once, with the pictures in memory, and with decoding them.
#include <gdk-pixbuf/gdk-pixbuf.h>
#include <gpuvision/gpuvision.h>

#include <tbb/task_arena.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#ifdef HAVE_CUDA
#    include <cuda_runtime_api.h>
#endif

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Also on one of several threads, while the others go on.
[[noreturn, gnu::format(printf, 1, 2)]] void die(const char *format, ...) {
    static std::mutex one;
    one.lock();
    va_list arguments;
    va_start(arguments, format);
    std::fputs("sift-throughput: ", stderr);
    std::vfprintf(stderr, format, arguments);
    std::fputc('\n', stderr);
    va_end(arguments);
    std::fflush(stdout);
    std::_Exit(1);
}

struct Options {
    std::filesystem::path folder;
    int threads = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u));
    int features = 2000; ///< of a picture, at most
    int rounds = 5;
};

// ---- pictures -----------------------------------------------------------------------

/// The luma.
struct Picture {
    int width, height;
    std::vector<std::uint8_t> pixels;

    gpv_image view() const {
        gpv_image image;
        gpv_image_wrap(&image, sizeof image, GPV_FORMAT_GRAY8, width, height,
                       const_cast<std::uint8_t *>(pixels.data()), 0);
        return image;
    }
};

std::optional<Picture> decode(const std::filesystem::path &path, std::string &why) {
    GError *error = nullptr;
    GdkPixbuf *pixbuf = gdk_pixbuf_new_from_file(path.c_str(), &error);
    if (!pixbuf) {
        why = error->message;
        g_error_free(error);
        return {};
    }
    const int channels = gdk_pixbuf_get_n_channels(pixbuf);
    Picture picture = {gdk_pixbuf_get_width(pixbuf), gdk_pixbuf_get_height(pixbuf), {}};
    picture.pixels.resize(static_cast<std::size_t>(picture.width) * picture.height);
    std::uint8_t *out = picture.pixels.data();
    for (int y = 0; y < picture.height; y++) {
        const guchar *row = gdk_pixbuf_read_pixels(pixbuf) +
                            static_cast<std::ptrdiff_t>(y) * gdk_pixbuf_get_rowstride(pixbuf);
        for (int x = 0; x < picture.width; x++, row += channels)
            *out++ =
                static_cast<std::uint8_t>((77 * row[0] + 150 * row[1] + 29 * row[2] + 128) >> 8);
    }
    g_object_unref(pixbuf);
    return picture;
}

/// On a terminal.
class Progress {
  public:
    Progress(std::string what, std::size_t all) : what_(std::move(what)), all_(all) {}
    ~Progress() {
        if (shown_)
            std::fputs("\r\033[K", stderr);
    }
    void step() {
        const std::size_t done = ++done_;
        const std::lock_guard lock(mutex_);
        if (!isatty(STDERR_FILENO) || (done < all_ && seconds_since(last_) < 0.1))
            return;
        last_ = Clock::now();
        shown_ = true;
        constexpr std::size_t width = 30;
        const std::string bar(width * done / std::max<std::size_t>(all_, 1), '#');
        std::fprintf(stderr, "\r%-34s [%-30s] %zu/%zu", what_.c_str(), bar.c_str(), done, all_);
    }

  private:
    const std::string what_;
    const std::size_t all_;
    std::atomic<std::size_t> done_ = 0;
    std::mutex mutex_;
    Clock::time_point last_{};
    bool shown_ = false;
};

/// Calls f(i) for 0 <= i < count on so many threads.
void on_threads(int threads, std::size_t count, const std::function<void(std::size_t)> &f) {
    std::atomic<std::size_t> next = 0;
    std::vector<std::thread> pool;
    for (int i = 0; i < threads; i++)
        pool.emplace_back([&] {
            for (std::size_t k; (k = next++) < count;)
                f(k);
        });
    for (std::thread &thread : pool)
        thread.join();
}

/// All of a folder that can be decoded; what cannot is named.
std::vector<Picture> read_all(const std::vector<std::filesystem::path> &paths, int threads) {
    std::vector<std::optional<Picture>> pictures(paths.size());
    std::vector<std::string> faults(paths.size());
    {
        Progress progress("decoding", paths.size());
        on_threads(threads, paths.size(), [&](std::size_t i) {
            pictures[i] = decode(paths[i], faults[i]);
            progress.step();
        });
    }
    std::vector<Picture> result;
    for (std::size_t i = 0; i < paths.size(); i++)
        if (pictures[i])
            result.push_back(std::move(*pictures[i]));
        else
            std::fprintf(stderr, "skipped: %s: %s\n", paths[i].c_str(), faults[i].c_str());
    return result;
}

// ---- where pictures come from -------------------------------------------------------

/// Null: there are no more. Whoever has got a picture gives it back.
class Source {
  public:
    virtual ~Source() = default;
    virtual const Picture *next() = 0;
    virtual void done(const Picture *) {}
};

class InMemory final : public Source {
  public:
    explicit InMemory(const std::vector<Picture> &pictures) : pictures_(pictures) {}
    const Picture *next() override {
        const std::size_t i = next_++;
        return i < pictures_.size() ? &pictures_[i] : nullptr;
    }

  private:
    const std::vector<Picture> &pictures_;
    std::atomic<std::size_t> next_ = 0;
};

/// Decodes ahead, on threads of its own.
class Decoding final : public Source {
  public:
    Decoding(const std::vector<std::filesystem::path> &paths, int threads)
        : paths_(paths), most_(static_cast<std::size_t>(4 * threads)), decoding_(threads) {
        for (int i = 0; i < threads; i++)
            threads_.emplace_back([this] { work(); });
    }
    ~Decoding() override {
        for (std::thread &thread : threads_)
            thread.join();
    }
    const Picture *next() override {
        std::unique_lock lock(mutex_);
        const Clock::time_point start = Clock::now();
        filled_.wait(lock, [this] { return !ready_.empty() || decoding_ == 0; });
        starved_ += seconds_since(start);
        if (ready_.empty())
            return nullptr;
        Picture *picture = ready_.front().release();
        ready_.pop_front();
        taken_.notify_one();
        return picture;
    }
    void done(const Picture *picture) override { delete picture; }
    /// Seconds that those who compute have waited, all together.
    double starved() const { return starved_; }

  private:
    void work() {
        for (std::size_t i; (i = next_++) < paths_.size();) {
            std::string why; // has been said before
            std::optional<Picture> picture = decode(paths_[i], why);
            if (!picture)
                continue;
            std::unique_lock lock(mutex_);
            taken_.wait(lock, [this] { return ready_.size() < most_; });
            ready_.push_back(std::make_unique<Picture>(std::move(*picture)));
            filled_.notify_one();
        }
        const std::lock_guard lock(mutex_);
        decoding_--;
        filled_.notify_all();
    }

    const std::vector<std::filesystem::path> &paths_;
    const std::size_t most_;
    std::atomic<std::size_t> next_ = 0;
    std::mutex mutex_;
    std::condition_variable filled_, taken_;
    std::deque<std::unique_ptr<Picture>> ready_;
    int decoding_;
    double starved_ = 0;
    std::vector<std::thread> threads_;
};

// ---- who computes -------------------------------------------------------------------

class Context {
  public:
    explicit Context(gpv_backend backend) {
        gpv_context_params params;
        gpv_context_params_init(&params, sizeof params);
        params.backend = backend;
        params.log = [](void *, gpv_log_level, const char *text) {
            std::fprintf(stderr, "sift-throughput: %s\n", text);
        };
        if (gpv_context_create(&params, &context_) != GPV_OK)
            std::exit(1);
    }
    ~Context() { gpv_context_destroy(&context_); }
    Context(const Context &) = delete;
    Context &operator=(const Context &) = delete;
    operator gpv_context *() const { return context_; }
    void check(gpv_status status) const {
        if (status != GPV_OK)
            die("%s: %s", gpv_status_string(status), gpv_context_error(context_));
    }

  private:
    gpv_context *context_ = nullptr;
};

/// What has been found, in a form that does not depend on the order of pictures.
struct Tally {
    std::int64_t pictures = 0, keypoints = 0;
    std::uint64_t sum = 0; ///< of hashes of descriptors

    void operator+=(const Tally &other) {
        pictures += other.pictures;
        keypoints += other.keypoints;
        sum += other.sum;
    }
    bool operator==(const Tally &) const = default;
};

/// An operator with memory for what it finds. One picture at a time.
class Finder {
  public:
    Finder(const Context &context, int features, gpv_stream stream)
        : context_(context), stream_(stream), keypoints_(static_cast<std::size_t>(features)),
          descriptors_(keypoints_.size() * GPV_SIFT_LENGTH) {
        gpv_sift_params params;
        gpv_sift_params_init(&params, sizeof params);
        params.max_features = features;
        context.check(gpv_sift_create(context, &params, &sift_));
    }
    ~Finder() { gpv_sift_destroy(&sift_); }
    Finder(const Finder &) = delete;
    Finder &operator=(const Finder &) = delete;

    void start(const Picture *picture) {
        picture_ = picture;
        const gpv_image image = picture->view();
        const gpv_buffer keypoints =
                             buffer(keypoints_.data(), keypoints_.size() * sizeof keypoints_[0]),
                         descriptors = buffer(descriptors_.data(), descriptors_.size());
        context_.check(
            gpv_sift_run(sift_, stream_, &image, nullptr, &keypoints, 0, &descriptors, nullptr));
    }
    /// The picture that it has been working on, or null.
    const Picture *finish(Tally &tally) {
        if (!picture_)
            return nullptr;
        gpv_sift_result result;
        gpv_sift_result_init(&result, sizeof result);
        const gpv_status status = gpv_sift_wait(sift_, &result);
        if (status != GPV_ERR_TOO_SMALL) // a picture of noise, which counts as one without
            context_.check(status);
        tally += {1, result.count, hash(result.count)};
        return std::exchange(picture_, nullptr);
    }

  private:
    static gpv_buffer buffer(void *data, std::size_t size) {
        gpv_buffer view;
        gpv_buffer_init(&view, sizeof view);
        view.data = data;
        view.size = size;
        return view;
    }
    /// Of eight bytes at a time, so that it takes next to no time.
    std::uint64_t hash(int count) const {
        std::uint64_t sums[4] = {1, 2, 3, 4};
        for (std::size_t i = 0; i < static_cast<std::size_t>(count) * GPV_SIFT_LENGTH; i += 32)
            for (std::size_t k = 0; k < 4; k++) {
                std::uint64_t word;
                std::memcpy(&word, &descriptors_[i + 8 * k], sizeof word);
                sums[k] = (sums[k] ^ word) * 1099511628211u;
            }
        return sums[0] ^ sums[1] * 3 ^ sums[2] * 5 ^ sums[3] * 7;
    }

    const Context &context_;
    gpv_stream stream_;
    std::vector<gpv_keypoint> keypoints_;
    std::vector<std::uint8_t> descriptors_;
    gpv_sift *sift_ = nullptr;
    const Picture *picture_ = nullptr;
};

/// Takes pictures until there are none left.
class Worker {
  public:
    virtual ~Worker() = default;
    virtual Tally work(Source &source, Progress &progress) = 0;
};

/// On one thread of the CPU.
class CpuWorker final : public Worker {
  public:
    explicit CpuWorker(int features)
        : context_(GPV_BACKEND_CPU), finder_(context_, features, nullptr) {}
    Tally work(Source &source, Progress &progress) override {
        Tally tally;
        tbb::task_arena(1).execute([&] {
            while (const Picture *picture = source.next()) {
                finder_.start(picture);
                source.done(finder_.finish(tally));
                progress.step();
            }
        });
        return tally;
    }

  private:
    Context context_;
    Finder finder_;
};

#ifdef HAVE_CUDA

void check_cuda(cudaError_t error) {
    if (error != cudaSuccess)
        die("CUDA: %s", cudaGetErrorString(error));
}

/// On a GPU: while one picture is computed, the next is on its way there, and what was found in the
/// last one on its way back.
class GpuWorker final : public Worker {
  public:
    explicit GpuWorker(int features) : context_(GPV_BACKEND_CUDA) {
        for (Slot &slot : slots_) {
            check_cuda(cudaStreamCreateWithFlags(&slot.stream, cudaStreamNonBlocking));
            slot.finder = std::make_unique<Finder>(context_, features, slot.stream);
        }
    }
    ~GpuWorker() override {
        for (Slot &slot : slots_) {
            slot.finder.reset();
            cudaStreamDestroy(slot.stream);
        }
    }
    Tally work(Source &source, Progress &progress) override {
        Tally tally;
        const auto finish = [&](Slot &slot) {
            if (const Picture *picture = slot.finder->finish(tally)) {
                source.done(picture);
                progress.step();
            }
        };
        std::size_t turn = 0;
        for (const Picture *picture; (picture = source.next()); turn++) {
            Slot &slot = slots_[turn % std::size(slots_)];
            finish(slot);
            slot.finder->start(picture);
        }
        for (std::size_t i = 0; i < std::size(slots_); i++) // the oldest first
            finish(slots_[(turn + i) % std::size(slots_)]);
        return tally;
    }

  private:
    struct Slot {
        cudaStream_t stream;
        std::unique_ptr<Finder> finder;
    };
    Context context_;
    Slot slots_[3];
};

/// The pictures on the GPU already, and what is found stays there: no copies.
class Resident {
  public:
    Resident(const std::vector<Picture> &pictures, int features) : context_(GPV_BACKEND_CUDA) {
        gpv_sift_params params;
        gpv_sift_params_init(&params, sizeof params);
        params.max_features = features;
        for (gpv_sift *&sift : sifts_)
            context_.check(gpv_sift_create(context_, &params, &sift));
        for (cudaStream_t &stream : streams_)
            check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        keypoints_ = allocate(static_cast<std::size_t>(features) * sizeof(gpv_keypoint) * 2);
        descriptors_ = allocate(static_cast<std::size_t>(features) * GPV_SIFT_LENGTH * 2);
        for (const Picture &picture : pictures) {
            gpv_image image = picture.view();
            image.memory = GPV_MEMORY_CUDA;
            image.data[0] = allocate(picture.pixels.size()).data;
            check_cuda(cudaMemcpy(image.data[0], picture.pixels.data(), picture.pixels.size(),
                                  cudaMemcpyHostToDevice));
            images_.push_back(image);
        }
    }
    ~Resident() {
        for (gpv_sift *&sift : sifts_)
            gpv_sift_destroy(&sift);
        for (cudaStream_t stream : streams_)
            cudaStreamDestroy(stream);
        for (void *memory : allocated_)
            cudaFree(memory);
    }
    Resident(const Resident &) = delete;
    Resident &operator=(const Resident &) = delete;

    void run() {
        for (std::size_t i = 0; i < images_.size(); i++) {
            const std::size_t turn = i % 2;
            const gpv_buffer keypoints = half(keypoints_, turn),
                             descriptors = half(descriptors_, turn);
            context_.check(gpv_sift_run(sifts_[turn], streams_[turn], &images_[i], nullptr,
                                        &keypoints, 0, &descriptors, nullptr));
        }
        for (gpv_sift *sift : sifts_)
            if (const gpv_status status = gpv_sift_wait(sift, nullptr); status != GPV_ERR_TOO_SMALL)
                context_.check(status);
    }

  private:
    gpv_buffer allocate(std::size_t bytes) {
        gpv_buffer buffer;
        gpv_buffer_init(&buffer, sizeof buffer);
        buffer.memory = GPV_MEMORY_CUDA;
        buffer.size = bytes;
        if (cudaMalloc(&buffer.data, bytes) != cudaSuccess)
            die("the pictures do not fit into the memory of the GPU: give fewer");
        allocated_.push_back(buffer.data);
        return buffer;
    }
    static gpv_buffer half(const gpv_buffer &buffer, std::size_t which) {
        gpv_buffer result = buffer;
        result.size /= 2;
        result.data = static_cast<std::uint8_t *>(buffer.data) + which * result.size;
        return result;
    }

    Context context_;
    gpv_sift *sifts_[2] = {};
    cudaStream_t streams_[2] = {};
    gpv_buffer keypoints_, descriptors_;
    std::vector<void *> allocated_;
    std::vector<gpv_image> images_;
};

#endif

/// Those who share the pictures, each on a thread of its own.
using Team = std::vector<Worker *>;

Tally run_all(const Team &team, Source &source, const std::string &what, std::size_t pictures) {
    Progress progress(what, pictures);
    std::vector<Tally> tallies(team.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < team.size(); i++)
        threads.emplace_back([&, i] { tallies[i] = team[i]->work(source, progress); });
    for (std::thread &thread : threads)
        thread.join();
    Tally all;
    for (const Tally &tally : tallies)
        all += tally;
    return all;
}

// ---- measuring ----------------------------------------------------------------------

/// One way to go through all pictures.
struct Way {
    std::string name;
    std::function<void()> run; ///< once
    std::vector<double> rates; ///< pictures a second

    double quantile(double share) const {
        std::vector<double> sorted = rates;
        std::sort(sorted.begin(), sorted.end());
        return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1) +
                                               0.5)];
    }
    double median() const { return quantile(0.5); }
};

/// In turn, so that what else the machine does befalls all alike. The first round warms up.
void measure(std::vector<Way> &ways, std::size_t pictures, int rounds) {
    for (int round = -1; round < rounds; round++)
        for (Way &way : ways) {
            const Clock::time_point start = Clock::now();
            way.run();
            if (round >= 0)
                way.rates.push_back(static_cast<double>(pictures) / seconds_since(start));
        }
}

void print(const Way &way) {
    std::printf("%-44s %9.1f  (%.1f .. %.1f)\n", way.name.c_str(), way.median(), way.quantile(0.25),
                way.quantile(0.75));
}

class Benchmark {
  public:
    explicit Benchmark(const Options &options) : options_(options) {
        if (!std::filesystem::is_directory(options.folder))
            die("%s is no folder", options.folder.c_str());
        for (const auto &entry : std::filesystem::directory_iterator(options.folder))
            if (entry.is_regular_file())
                paths_.push_back(entry.path());
        std::sort(paths_.begin(), paths_.end());
        const Clock::time_point start = Clock::now();
        pictures_ = read_all(paths_, options.threads);
        decoding_rate_ = static_cast<double>(pictures_.size()) / seconds_since(start);
        if (pictures_.empty())
            die("%s has no picture that can be decoded", options.folder.c_str());
        for (int i = 0; i < options.threads; i++)
            cpu_.push_back(std::make_unique<CpuWorker>(options.features));
#ifdef HAVE_CUDA
        if (gpv_backend_available(GPV_BACKEND_CUDA)) {
            gpu_ = std::make_unique<GpuWorker>(options.features);
            resident_ = std::make_unique<Resident>(pictures_, options.features);
        }
#endif
    }

    void run() {
        double pixels = 0;
        for (const Picture &picture : pictures_)
            pixels += static_cast<double>(picture.pixels.size());
        std::printf("%zu pictures, %.1f megapixels in all; %d threads, %s GPU\n\n",
                    pictures_.size(), pixels / 1e6, options_.threads,
                    gpu_ ? "with a" : "without a");
        std::printf("%-44s %9s  (quartiles of %d rounds)\n", "", "a second", options_.rounds);
        in_memory();
        std::printf("%-44s %9.1f\n", "decoding alone, once", decoding_rate_);
        with_decoding();
        std::printf("\n%lld keypoints, the same in every way that brings them to the host\n",
                    static_cast<long long>(expected_->keypoints));
    }

  private:
    struct NamedTeam {
        std::string name;
        Team team;
    };
    /// A GPU needs a thread that feeds it.
    std::vector<NamedTeam> teams() const {
        const std::string cores = std::to_string(cpu_.size()) + " threads";
        NamedTeam gpu = {"GPU", {gpu_.get()}}, cpu = {"CPU, " + cores, {}};
        for (const auto &worker : cpu_)
            cpu.team.push_back(worker.get());
        if (!gpu_)
            return {cpu};
        NamedTeam both = {"GPU and CPU", cpu.team};
        both.team.back() = gpu_.get();
        return {gpu, cpu, both};
    }

    /// All find the same.
    void expect(const Tally &tally) {
        if (!expected_)
            expected_ = tally;
        else if (!(tally == *expected_))
            die("two ways have not found the same features");
    }

    void in_memory() {
        std::vector<Way> ways;
#ifdef HAVE_CUDA
        if (resident_)
            ways.push_back(
                {"GPU, pictures and results stay there", [this] { resident_->run(); }, {}});
#endif
        for (const NamedTeam &named : teams())
            ways.push_back({named.name + ", pictures in memory",
                            [this, named] {
                                InMemory source(pictures_);
                                expect(run_all(named.team, source, named.name, pictures_.size()));
                            },
                            {}});
        measure(ways, pictures_.size(), options_.rounds);
        for (const Way &way : ways)
            print(way);
        if (gpu_)
            std::printf(
                "with pictures on their way the GPU keeps %.0f %% of its rate; the CPU beside "
                "it makes it %.2f times as many\n",
                100 * ways[1].median() / ways[0].median(), ways[3].median() / ways[1].median());
    }

    void with_decoding() {
        std::vector<NamedTeam> all = teams();
        std::vector<double> waiting(all.size()); // seconds of those who compute
        std::vector<Way> ways;
        for (std::size_t i = 0; i < all.size(); i++)
            ways.push_back({all[i].name + ", with decoding",
                            [this, &named = all[i], &waited = waiting[i]] {
                                Decoding source(paths_, options_.threads);
                                expect(run_all(named.team, source, named.name, pictures_.size()));
                                waited = source.starved();
                            },
                            {}});
        measure(ways, pictures_.size(), options_.rounds);
        for (std::size_t i = 0; i < ways.size(); i++) {
            print(ways[i]);
            const double seconds = static_cast<double>(pictures_.size()) / ways[i].rates.back() *
                                   static_cast<double>(all[i].team.size());
            std::printf("    waits for decoding %.0f %% of the time: %s limits\n",
                        100 * waiting[i] / seconds,
                        waiting[i] > seconds / 4 ? "decoding" : "what is computed");
        }
    }

    const Options options_;
    std::vector<std::filesystem::path> paths_;
    std::vector<Picture> pictures_;
    double decoding_rate_ = 0;
    std::vector<std::unique_ptr<Worker>> cpu_;
    std::unique_ptr<Worker> gpu_;
    std::optional<Tally> expected_;
#ifdef HAVE_CUDA
    std::unique_ptr<Resident> resident_;
#endif
};

int number(const char *name, const char *text, int least, int most) {
    char *end = nullptr;
    const long value = std::strtol(text, &end, 10);
    if (end == text || *end || value < least || value > most)
        die("%s is '%s', must be a whole number from %d to %d", name, text, least, most);
    return static_cast<int>(value);
}

Options read_options(int argc, char **argv) {
    Options options;
    for (int i = 1; i < argc; i++) {
        const std::string word = argv[i];
        const auto value = [&] {
            return i + 1 < argc ? argv[++i] : (die("%s needs a number", word.c_str()), nullptr);
        };
        if (word == "--threads")
            options.threads = number("--threads", value(), 1, 1024);
        else if (word == "--features")
            options.features = number("--features", value(), 1, 65536);
        else if (word == "--rounds")
            options.rounds = number("--rounds", value(), 1, 1000);
        else if (options.folder.empty() && word[0] != '-')
            options.folder = word;
        else
            options.folder.clear(), i = argc;
    }
    if (options.folder.empty())
        die("usage: sift-throughput [--threads N] [--features N] [--rounds N] FOLDER");
    return options;
}

} // namespace

int main(int argc, char **argv) {
    Benchmark(read_options(argc, argv)).run();
}
