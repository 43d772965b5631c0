// SPDX-License-Identifier: BSD-2-Clause
// How many pictures of a folder a machine finds the SIFT features of in a second: on the GPU, on
// the CPU, and on both at once, with the pictures in memory, and with decoding them.
#include <gdk-pixbuf/gdk-pixbuf.h>
#include <gpuvision/gpuvision.h>

#include <tbb/task_arena.h>

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
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
#include <numeric>
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
    std::filesystem::path json; ///< where figures are written as well, if anywhere
    int threads = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u));
    int feeders = 4;     ///< threads that give pictures to a GPU
    int features = 2000; ///< of a picture, at most
    int rounds = 5;
    int seconds = 2; ///< that a round of each way lasts
};

// ---- pictures -----------------------------------------------------------------------

/// The luma.
struct Picture {
    std::size_t number; ///< in the folder
    int width, height;
    std::vector<std::uint8_t> pixels;

    std::int64_t size() const { return static_cast<std::int64_t>(pixels.size()); }
    gpv_image view() const {
        gpv_image image;
        gpv_image_wrap(&image, sizeof image, GPV_FORMAT_GRAY8, width, height,
                       const_cast<std::uint8_t *>(pixels.data()), 0);
        return image;
    }
};

std::optional<Picture> decode(const std::filesystem::path &path, std::size_t number,
                              std::string &why) {
    GError *error = nullptr;
    GdkPixbuf *pixbuf = gdk_pixbuf_new_from_file(path.c_str(), &error);
    if (!pixbuf) {
        why = error->message;
        g_error_free(error);
        return {};
    }
    const int channels = gdk_pixbuf_get_n_channels(pixbuf);
    Picture picture = {number, gdk_pixbuf_get_width(pixbuf), gdk_pixbuf_get_height(pixbuf), {}};
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
    explicit Progress(std::size_t all) : all_(all) {}
    ~Progress() {
        if (shown_)
            std::fputs("\r\033[K", stderr);
    }
    /// One more is done; it was `what`.
    void step(const std::string &what) {
        const std::lock_guard lock(mutex_);
        done_++;
        if (!isatty(STDERR_FILENO) || (done_ < all_ && seconds_since(last_) < 0.1))
            return;
        last_ = Clock::now();
        shown_ = true;
        constexpr std::size_t width = 30;
        const std::string bar(width * done_ / std::max<std::size_t>(all_, 1), '#');
        std::fprintf(stderr, "\r%-44s [%-30s] %zu/%zu", what.c_str(), bar.c_str(), done_, all_);
    }

  private:
    const std::size_t all_;
    std::mutex mutex_;
    std::size_t done_ = 0;
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
        Progress progress(paths.size());
        on_threads(threads, paths.size(), [&](std::size_t i) {
            pictures[i] = decode(paths[i], i, faults[i]);
            progress.step("decoding");
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

/// Gives pictures until its time is over, the whole folder again and again. Whoever has got a
/// picture gives it back.
class Source {
  public:
    explicit Source(double seconds) : end_(Clock::now() + duration(seconds)) {}
    virtual ~Source() = default;
    /// Null if less is left than the seconds that a picture needs: a slow worker that began another
    /// would keep all waiting at the end. Spare: one that those who are faster do not wait for.
    const Picture *next(double needs = 0, bool spare = false) {
        const Clock::time_point latest = end_ - duration(needs);
        return Clock::now() < latest ? take(latest, spare) : nullptr;
    }
    virtual void done(const Picture *) {}

  private:
    static Clock::duration duration(double seconds) {
        return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    }
    /// Null at the latest then.
    virtual const Picture *take(Clock::time_point latest, bool spare) = 0;
    const Clock::time_point end_;
};

class InMemory final : public Source {
  public:
    InMemory(const std::vector<Picture> &pictures, double seconds)
        : Source(seconds), pictures_(pictures) {}

  private:
    const Picture *take(Clock::time_point, bool) override {
        return &pictures_[next_++ % pictures_.size()];
    }

    const std::vector<Picture> &pictures_;
    std::atomic<std::size_t> next_ = 0;
};

/// Decodes ahead, on threads of its own.
class Decoding final : public Source {
  public:
    Decoding(const std::vector<std::filesystem::path> &paths, int threads, double seconds)
        : Source(seconds), paths_(paths), max_(static_cast<std::size_t>(4 * threads)) {
        for (int i = 0; i < threads; i++)
            threads_.emplace_back([this] { work(); });
    }
    ~Decoding() override {
        {
            const std::lock_guard lock(mutex_);
            stop_ = true;
        }
        taken_.notify_all();
        for (std::thread &thread : threads_)
            thread.join();
    }
    void done(const Picture *picture) override { delete picture; }

  private:
    const Picture *take(Clock::time_point latest, bool spare) override {
        std::unique_lock lock(mutex_);
        const std::size_t minimum = spare ? max_ / 2 : 1;
        if (!(spare ? plenty_ : filled_).wait_until(lock, latest, [&] {
                return ready_.size() >= minimum;
            }))
            return nullptr;
        Picture *picture = ready_.front().release();
        ready_.pop_front();
        taken_.notify_one();
        return picture;
    }
    void work() {
        for (;;) {
            const std::size_t i = next_++ % paths_.size();
            std::string why; // has been said before
            std::optional<Picture> picture = decode(paths_[i], i, why);
            std::unique_lock lock(mutex_);
            taken_.wait(lock, [this] { return stop_ || ready_.size() < max_; });
            if (stop_)
                return;
            if (!picture)
                continue;
            ready_.push_back(std::make_unique<Picture>(std::move(*picture)));
            filled_.notify_one();
            if (ready_.size() >= max_ / 2)
                plenty_.notify_one();
        }
    }

    const std::vector<std::filesystem::path> &paths_; // at least one of which is a picture
    const std::size_t max_;
    std::atomic<std::size_t> next_ = 0;
    std::mutex mutex_;
    std::condition_variable filled_, plenty_, taken_;
    std::deque<std::unique_ptr<Picture>> ready_;
    bool stop_ = false;
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

/// What has been found in each picture of a folder: the same each time.
class Ledger {
  public:
    explicit Ledger(std::size_t files) : sums_(files), keypoints_(files) {}

    void enter(const Picture &picture, int keypoints, std::uint64_t sum) {
        sum = std::max<std::uint64_t>(sum, 1); // 0: nothing yet
        std::uint64_t before = 0;
        if (sums_[picture.number].compare_exchange_strong(before, sum))
            keypoints_[picture.number] = keypoints;
        else if (before != sum)
            die("two ways have not found the same features");
        pixels_ += picture.size();
    }
    /// Of all the pictures that were entered, however often.
    std::int64_t pixels() const { return pixels_; }
    /// That have an entry.
    std::size_t pictures() const {
        return sums_.size() - static_cast<std::size_t>(std::count(sums_.begin(), sums_.end(), 0u));
    }
    std::int64_t keypoints() const {
        return std::accumulate(keypoints_.begin(), keypoints_.end(), std::int64_t{0});
    }

  private:
    std::vector<std::atomic<std::uint64_t>> sums_; ///< hashes of descriptors
    std::vector<std::int64_t> keypoints_;
    std::atomic<std::int64_t> pixels_ = 0;
};

/// An operator with memory for what it finds. One picture at a time.
class Finder {
  public:
    Finder(const Context &context, int features, gpv_stream stream)
        : context_(context), stream_(stream), keypoints_(static_cast<std::size_t>(features)),
          descriptors_(keypoints_.size() * GPV_SIFT_DESCRIPTOR_LENGTH) {
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
    const Picture *finish(Ledger &ledger) {
        if (!picture_)
            return nullptr;
        gpv_sift_result result;
        gpv_sift_result_init(&result, sizeof result);
        const gpv_status status = gpv_sift_wait(sift_, &result);
        if (status != GPV_ERR_TOO_SMALL) // a picture of noise, which counts as one without
            context_.check(status);
        ledger.enter(*picture_, result.count, hash(result.count));
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
        for (std::size_t i = 0; i < static_cast<std::size_t>(count) * GPV_SIFT_DESCRIPTOR_LENGTH;
             i += 32)
            for (std::size_t k = 0; k < 4; k++) {
                std::uint64_t word;
                std::memcpy(&word, &descriptors_[i + 8 * k], sizeof word);
                sums[k] = (sums[k] ^ word) * 1099511628211u;
            }
        return sums[0] ^ sums[1] * 3 ^ sums[2] * 5 ^ sums[3] * 7;
    }

    const Context &context_;
    gpv_stream stream_;
    std::vector<gpv_sift_keypoint> keypoints_;
    std::vector<std::uint8_t> descriptors_;
    gpv_sift *sift_ = nullptr;
    const Picture *picture_ = nullptr;
};

/// Takes pictures until there are none left.
class Worker {
  public:
    virtual ~Worker() = default;
    virtual void work(Source &source, Ledger &ledger) = 0;
};

/// On one thread of the CPU.
class CpuWorker final : public Worker {
  public:
    explicit CpuWorker(int features)
        : context_(GPV_BACKEND_CPU), finder_(context_, features, nullptr) {}
    void work(Source &source, Ledger &ledger) override { work(source, ledger, false); }
    /// On what is left of the cores, and of the pictures.
    void work_spare(Source &source, Ledger &ledger) {
        const sched_param none = {};
        sched_setscheduler(0, SCHED_IDLE, &none); // of this thread
        work(source, ledger, true);
    }

  private:
    void work(Source &source, Ledger &ledger, bool spare) {
        tbb::task_arena(1).execute([&] {
            const Clock::time_point start = Clock::now();
            double each = 0; // seconds, as many as the pictures so far took in the mean
            for (int count = 1; const Picture *picture = source.next(each, spare); count++) {
                finder_.start(picture);
                source.done(finder_.finish(ledger));
                each = seconds_since(start) / count;
            }
        });
    }

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
    static constexpr std::size_t slots = 3;

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
    void work(Source &source, Ledger &ledger) override {
        const auto finish = [&](Slot &slot) {
            if (const Picture *picture = slot.finder->finish(ledger))
                source.done(picture);
        };
        std::size_t turn = 0;
        for (const Picture *picture; (picture = source.next()); turn++) {
            Slot &slot = slots_[turn % slots];
            finish(slot);
            slot.finder->start(picture);
        }
        for (std::size_t i = 0; i < slots; i++) // the oldest first
            finish(slots_[(turn + i) % slots]);
    }

  private:
    struct Slot {
        cudaStream_t stream;
        std::unique_ptr<Finder> finder;
    };
    Context context_;
    Slot slots_[slots];
};

/// The pictures on the GPU already, and what is found stays there: no copies.
class Resident {
  public:
    /// With so many at once.
    Resident(const std::vector<Picture> &pictures, int features, std::size_t operators)
        : context_(GPV_BACKEND_CUDA), sifts_(operators), streams_(operators) {
        gpv_sift_params params;
        gpv_sift_params_init(&params, sizeof params);
        params.max_features = features;
        for (gpv_sift *&sift : sifts_)
            context_.check(gpv_sift_create(context_, &params, &sift));
        for (cudaStream_t &stream : streams_)
            check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        for (std::size_t i = 0; i < operators; i++) {
            keypoints_.push_back(
                allocate(static_cast<std::size_t>(features) * sizeof(gpv_sift_keypoint)));
            descriptors_.push_back(
                allocate(static_cast<std::size_t>(features) * GPV_SIFT_DESCRIPTOR_LENGTH));
        }
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

    /// How many pixels there were in so many seconds, or a few more.
    std::int64_t run(double seconds) {
        const Clock::time_point start = Clock::now();
        std::int64_t pixels = 0;
        for (std::size_t i = 0; seconds_since(start) < seconds; i++) {
            const gpv_image &image = images_[i % images_.size()];
            const std::size_t turn = i % sifts_.size();
            context_.check(gpv_sift_run(sifts_[turn], streams_[turn], &image, nullptr,
                                        &keypoints_[turn], 0, &descriptors_[turn], nullptr));
            pixels += std::int64_t{image.width} * image.height;
        }
        for (gpv_sift *sift : sifts_)
            if (const gpv_status status = gpv_sift_wait(sift, nullptr); status != GPV_ERR_TOO_SMALL)
                context_.check(status);
        return pixels;
    }

    /// Seconds that copies of so many bytes from page-locked memory take, and those to it.
    std::pair<double, double> copy_times(std::size_t there, std::size_t back) {
        constexpr int times = 100;
        void *host = nullptr;
        gpv_buffer device = allocate(std::max(there, back));
        check_cuda(cudaMallocHost(&host, device.size));
        const auto time = [](auto copy) {
            const Clock::time_point start = Clock::now();
            for (int i = 0; i < times; i++)
                check_cuda(copy());
            return seconds_since(start) / times;
        };
        const double first =
            time([&] { return cudaMemcpy(device.data, host, there, cudaMemcpyHostToDevice); });
        const double second =
            time([&] { return cudaMemcpy(host, device.data, back, cudaMemcpyDeviceToHost); });
        check_cuda(cudaFreeHost(host));
        return {first, second};
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

    Context context_;
    std::vector<gpv_sift *> sifts_;
    std::vector<cudaStream_t> streams_;
    std::vector<gpv_buffer> keypoints_, descriptors_;
    std::vector<void *> allocated_;
    std::vector<gpv_image> images_;
};

#endif

/// Those who share the pictures, each on a thread of its own.
struct Team {
    std::string name;
    std::vector<Worker *> workers;
    std::vector<CpuWorker *> spare; ///< work on what is left by them
};

void run_all(const Team &team, Source &source, Ledger &ledger) {
    std::vector<std::thread> threads;
    for (Worker *worker : team.workers)
        threads.emplace_back([&, worker] { worker->work(source, ledger); });
    for (CpuWorker *worker : team.spare)
        threads.emplace_back([&, worker] { worker->work_spare(source, ledger); });
    for (std::thread &thread : threads)
        thread.join();
}

// ---- measuring ----------------------------------------------------------------------

double quantile(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

double median(const std::vector<double> &values) {
    return quantile(values, 0.5);
}

/// One way to go through pictures.
struct Way {
    std::string name;
    std::function<std::int64_t()> run; ///< how many pixels they had
    std::vector<double> rates;         ///< pictures of the mean size, a second
};

/// In turn, so that what else the machine does befalls all alike. The first round warms up. By
/// pixels, since in one time a slow way meets other pictures than a fast one.
void measure(const std::vector<Way *> &ways, int rounds, double pixels_each) {
    Progress progress(ways.size() * (static_cast<std::size_t>(rounds) + 1));
    for (int round = -1; round < rounds; round++)
        for (Way *way : ways) {
            const Clock::time_point start = Clock::now();
            const double pixels = static_cast<double>(way->run());
            if (pixels == 0)
                die("%s: no picture is done in so little time; give more --seconds",
                    way->name.c_str());
            if (round >= 0)
                way->rates.push_back(pixels / pixels_each / seconds_since(start));
            progress.step(way->name);
        }
}

/// Prints figures, and keeps them for a file.
class Figures {
  public:
    /// What the figures that follow are of. Kind: its name in the file.
    void begin(const std::string &title, const std::string &remark, const char *kind) {
        std::printf("\n%-44s %9s%s\n", "", title.c_str(), remark.c_str());
        kind_ = kind;
    }
    /// The median, and the quartiles.
    void add(const std::string &name, const std::vector<double> &values, int digits) {
        const double middle = median(values), low = quantile(values, 0.25),
                     high = quantile(values, 0.75);
        std::printf("%-44s %9.*f  (%.*f .. %.*f)\n", name.c_str(), digits, middle, digits, low,
                    digits, high);
        rows_.push_back({name, kind_, {middle, low, high}});
    }
    void add(const std::string &name, double value) {
        std::printf("%-44s %9.3f\n", name.c_str(), value);
        rows_.push_back({name, kind_, {value}});
    }
    void write(const std::filesystem::path &path, const std::string &pictures) const {
        const File file = open(path, "w");
        std::fputs("{\"benchmarks\": [", file.get());
        const char *row_separator = "\n";
        for (const Row &row : rows_) {
            std::fprintf(file.get(),
                         "%s{\"name\": \"%s\", \"image\": \"%s\", \"%s\": ", row_separator,
                         row.name.c_str(), pictures.c_str(), row.kind);
            const char *separator = "[";
            for (const double value : row.values) {
                std::fprintf(file.get(), "%s%.4f", separator, value);
                separator = ", ";
            }
            std::fputs("]}", file.get());
            row_separator = ",\n";
        }
        std::fputs("\n]}\n", file.get());
        if (std::fflush(file.get()) != 0 || std::ferror(file.get()))
            die("%s cannot be written: %s", path.c_str(), std::strerror(errno));
    }
    using File = std::unique_ptr<std::FILE, int (*)(std::FILE *)>;
    static File open(const std::filesystem::path &path, const char *mode) {
        File file(std::fopen(path.c_str(), mode), std::fclose);
        if (!file)
            die("%s cannot be written: %s", path.c_str(), std::strerror(errno));
        return file;
    }

  private:
    struct Row {
        std::string name;
        const char *kind;
        std::vector<double> values; ///< one, or the median and the quartiles
    };

    const char *kind_ = nullptr;
    std::vector<Row> rows_;
};

std::vector<double> ratios(const Way &way, const Way &to) {
    std::vector<double> result;
    for (std::size_t i = 0; i < way.rates.size(); i++)
        result.push_back(way.rates[i] / to.rates[i]);
    return result;
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
        if (!options.json.empty())
            prepare(options.json);
        pictures_ = read_all(paths_, options.threads);
        if (pictures_.empty())
            die("%s has no picture that can be decoded", options.folder.c_str());
        ledger_ = std::make_unique<Ledger>(paths_.size());
        for (int i = 0; i < options.threads; i++)
            cpu_.push_back(std::make_unique<CpuWorker>(options.features));
#ifdef HAVE_CUDA
        if (gpv_backend_available(GPV_BACKEND_CUDA)) {
            // A feeder that waits leaves its core to others.
            check_cuda(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
            for (int i = 0; i < options.feeders; i++)
                gpu_.push_back(std::make_unique<GpuWorker>(options.features));
            resident_ = std::make_unique<Resident>(pictures_, options.features,
                                                   gpu_.size() * GpuWorker::slots);
        }
#endif
    }

    void run() {
        double pixels = 0;
        for (const Picture &picture : pictures_)
            pixels += static_cast<double>(picture.size());
        char of[100];
        std::snprintf(of, sizeof of, "%zu pictures, %.1f megapixels in all", pictures_.size(),
                      pixels / 1e6);
        std::printf("%s; %d threads, %s GPU\n", of, options_.threads,
                    gpu_.empty() ? "without a" : "with a");
        const double each = pixels / static_cast<double>(pictures_.size());

        Way resident = {"GPU, pictures and results stay there", {}, {}};
        Way one = {"CPU, 1 thread, pictures in memory", in_memory({"", {cpu_[0].get()}, {}}), {}};
        Way decoding = {"decoding alone", [this] { return decoding_alone(); }, {}};
        std::vector<Way *> ways;
#ifdef HAVE_CUDA
        if (resident_) {
            resident.run = [this] { return resident_->run(options_.seconds); };
            ways.push_back(&resident);
        }
#endif
        const std::vector<Team> all = teams();
        std::vector<Way> from_memory, with_decoding;
        for (const Team &team : all) {
            from_memory.push_back({team.name + ", pictures in memory", in_memory(team), {}});
            with_decoding.push_back({team.name + ", with decoding", decoded(team), {}});
        }
        for (Way &way : from_memory)
            ways.push_back(&way);
        ways.insert(ways.end(), {&one, &decoding});
        for (Way &way : with_decoding)
            ways.push_back(&way);
        measure(ways, options_.rounds, each);

        figures_.begin("a second",
                       "  (quartiles of " + std::to_string(options_.rounds) + " rounds)",
                       "pictures_per_s");
        for (const Way *way : ways)
            figures_.add(way->name, way->rates, 1);
        figures_.begin("ratio", "", "ratio");
        figures_.add("all threads to one", ratios(from_memory[gpu_.empty() ? 0 : 1], one), 2);
        if (!gpu_.empty()) {
            figures_.add("GPU to one thread", ratios(from_memory[0], one), 1);
            figures_.add("GPU, pictures in memory, to those that stay",
                         ratios(from_memory[0], resident), 3);
            figures_.add("GPU and CPU to GPU", ratios(from_memory[2], from_memory[0]), 3);
        }
        std::printf("\n");
        for (std::size_t i = 0; i < all.size(); i++)
            std::printf("%s, with decoding: %s limits\n", all[i].name.c_str(),
                        median(decoding.rates) < median(from_memory[i].rates) ? "decoding"
                                                                              : "SIFT");
        print_stages(decoding, one, resident, each);
        std::printf("\n%zu pictures have %lld keypoints, each the same every time\n",
                    ledger_->pictures(), static_cast<long long>(ledger_->keypoints()));
        if (!options_.json.empty())
            figures_.write(options_.json, of);
    }

  private:
    /// Says at once if the file cannot be written, and takes it for no picture.
    void prepare(const std::filesystem::path &file) {
        Figures::open(file, "a");
        std::error_code none;
        std::erase_if(paths_, [&](const auto &path) {
            return std::filesystem::equivalent(path, file, none);
        });
    }

    std::vector<Team> teams() const {
        Team gpu = {"GPU", {}, {}}, both = {"GPU and CPU", {}, {}};
        Team cpu = {"CPU, " + std::to_string(cpu_.size()) + " threads", {}, {}};
        for (const auto &worker : cpu_) {
            cpu.workers.push_back(worker.get());
            both.spare.push_back(worker.get());
        }
        if (gpu_.empty())
            return {cpu};
        for (const auto &worker : gpu_)
            gpu.workers.push_back(worker.get());
        both.workers = gpu.workers;
        return {gpu, cpu, both};
    }

    std::function<std::int64_t()> in_memory(Team team) {
        return [this, team] {
            InMemory source(pictures_, options_.seconds);
            return counted(team, source);
        };
    }
    std::function<std::int64_t()> decoded(Team team) {
        return [this, team] {
            Decoding source(paths_, options_.threads, options_.seconds);
            return counted(team, source);
        };
    }
    std::int64_t counted(const Team &team, Source &source) {
        const std::int64_t before = ledger_->pixels();
        run_all(team, source, *ledger_);
        return ledger_->pixels() - before;
    }
    std::int64_t decoding_alone() {
        Decoding source(paths_, options_.threads, options_.seconds);
        std::int64_t pixels = 0;
        while (const Picture *picture = source.next()) {
            pixels += picture->size();
            source.done(picture);
        }
        return pixels;
    }

    /// What each stage takes by itself.
    void print_stages(const Way &decoding, const Way &one, const Way &resident, double pixels) {
        figures_.begin("ms each", "", "ms_each");
        figures_.add("decoding, of one of the threads",
                     1e3 * options_.threads / median(decoding.rates));
        figures_.add("SIFT on one thread", 1e3 / median(one.rates));
#ifdef HAVE_CUDA
        if (!resident_)
            return;
        const double found =
            static_cast<double>(ledger_->keypoints()) / static_cast<double>(ledger_->pictures());
        const auto [there, back] =
            resident_->copy_times(static_cast<std::size_t>(pixels),
                                  static_cast<std::size_t>(found * (sizeof(gpv_sift_keypoint) +
                                                                    GPV_SIFT_DESCRIPTOR_LENGTH)) +
                                      1);
        figures_.add("copy to the GPU", 1e3 * there);
        figures_.add("SIFT on the GPU", 1e3 / median(resident.rates));
        figures_.add("copy of the results to the host", 1e3 * back);
#else
        (void)resident, (void)pixels;
#endif
    }

    const Options options_;
    Figures figures_;
    std::vector<std::filesystem::path> paths_;
    std::vector<Picture> pictures_;
    std::unique_ptr<Ledger> ledger_;
    std::vector<std::unique_ptr<CpuWorker>> cpu_;
    std::vector<std::unique_ptr<Worker>> gpu_;
#ifdef HAVE_CUDA
    std::unique_ptr<Resident> resident_;
#endif
};

int number(const char *name, const char *text, int minimum, int maximum) {
    char *end = nullptr;
    const long value = std::strtol(text, &end, 10);
    if (end == text || *end || value < minimum || value > maximum)
        die("%s is '%s', must be a whole number from %d to %d", name, text, minimum, maximum);
    return static_cast<int>(value);
}

Options read_options(int argc, char **argv) {
    Options options;
    for (int i = 1; i < argc; i++) {
        const std::string word = argv[i];
        const auto value = [&] {
            return i + 1 < argc ? argv[++i] : (die("%s needs a value", word.c_str()), nullptr);
        };
        if (word == "--threads")
            options.threads = number("--threads", value(), 1, 1024);
        else if (word == "--feeders")
            options.feeders = number("--feeders", value(), 1, 64);
        else if (word == "--features")
            options.features = number("--features", value(), 1, 65536);
        else if (word == "--rounds")
            options.rounds = number("--rounds", value(), 1, 1000);
        else if (word == "--seconds")
            options.seconds = number("--seconds", value(), 1, 3600);
        else if (word == "--json")
            options.json = value();
        else if (options.folder.empty() && word[0] != '-')
            options.folder = word;
        else
            options.folder.clear(), i = argc;
    }
    if (options.folder.empty())
        die("usage: sift-throughput [--threads N] [--feeders N] [--features N] [--rounds N] "
            "[--seconds N] [--json FILE] FOLDER");
    return options;
}

} // namespace

int main(int argc, char **argv) {
    Benchmark(read_options(argc, argv)).run();
}
