// SPDX-License-Identifier: BSD-2-Clause
// Contexts whose memory is counted; CUDA memory for the parity tests, and times of what a stream
// has to do.
#pragma once

#include <numeric>
#include <unordered_map>

#include <sys/mman.h>

#include "parity.hpp"

#ifdef HAVE_CUDA
#    include <cuda_runtime_api.h>
#endif
#ifdef HAVE_NPP
#    include <nppdefs.h>
#endif

namespace parity {

/// Where the images lie that an operator works on.
enum class Place { host, device, device_tight };

/// Those to check: under racecheck the first alone, as the kernels are the same.
inline std::vector<Place> places(std::vector<Place> all) {
    if (kernels_alone())
        all.resize(1);
    return all;
}

#ifdef HAVE_CUDA
inline void require(cudaError_t error, const char *what) {
    if (error != cudaSuccess)
        fatal(std::string(what) + ": " + cudaGetErrorString(error));
}
#endif

/// A context that counts what is allocated from it, and may have a limit. Its host memory has been
/// used before, as far as it is not large.
class CountedContext {
  public:
    explicit CountedContext(gpv_backend backend, std::uint64_t maximum = UINT64_MAX)
        : max_(maximum) {
        gpv_context_params params;
        gpv_context_params_init(&params, sizeof params);
        params.backend = backend;
        params.alloc = allocate;
        params.free = deallocate;
        params.user = this;
        require(gpv_context_create(&params, &context_), nullptr, "gpv_context_create");
    }
    ~CountedContext() { gpv_context_destroy(&context_); }
    CountedContext(const CountedContext &) = delete;
    CountedContext &operator=(const CountedContext &) = delete;

    operator gpv_context *() const { return context_; }
    const char *device() const { return gpv_context_device_name(context_); }
    int allocations() const { return allocations_; }
    std::uint64_t largest_allocation() const { return largest_; }
    /// Bytes that are there now.
    std::uint64_t allocated() const {
        return std::accumulate(sizes_.begin(), sizes_.end(), std::uint64_t{0},
                               [](std::uint64_t sum, const auto &s) { return sum + s.second; });
    }

  private:
    static constexpr std::size_t alignment = 256;
    static void *allocate(void *self, gpv_memory memory, std::uint64_t size, gpv_stream) {
        auto *context = static_cast<CountedContext *>(self);
        context->allocations_++;
        context->largest_ = std::max(context->largest_, size);
        void *result = nullptr;
        if (size > context->max_ - context->allocated())
            return result;
#ifdef HAVE_CUDA
        if (memory == GPV_MEMORY_CUDA && cudaMalloc(&result, size) != cudaSuccess)
            cudaGetLastError(); // the library is to say so
#endif
        if (memory == GPV_MEMORY_HOST) {
            result = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
            if (result)
                std::memset(result, 0x5A, std::min<std::uint64_t>(size, 1 << 24));
        }
        if (result)
            context->sizes_[result] = size;
        return result;
    }
    static void deallocate(void *self, gpv_memory kind, void *memory, gpv_stream) {
        static_cast<CountedContext *>(self)->sizes_.erase(memory);
#ifdef HAVE_CUDA
        if (kind == GPV_MEMORY_CUDA)
            return require(cudaFree(memory), "cudaFree");
#endif
        if (kind == GPV_MEMORY_HOST)
            std::free(memory);
    }

    std::uint64_t max_;
    int allocations_ = 0;
    std::uint64_t largest_ = 0;
    std::unordered_map<void *, std::uint64_t> sizes_;
    gpv_context *context_ = nullptr;
};

/// A context that allocates as the library does.
class PlainContext {
  public:
    explicit PlainContext(gpv_backend backend) {
        gpv_context_params params;
        gpv_context_params_init(&params, sizeof params);
        params.backend = backend;
        require(gpv_context_create(&params, &context_), nullptr, "gpv_context_create");
    }
    ~PlainContext() { gpv_context_destroy(&context_); }
    PlainContext(const PlainContext &) = delete;
    PlainContext &operator=(const PlainContext &) = delete;
    operator gpv_context *() const { return context_; }

  private:
    gpv_context *context_ = nullptr;
};

#ifdef HAVE_CUDA

/// CUDA memory that is kept for the next contents, or, exact, of just their size.
class DeviceBlock {
  public:
    explicit DeviceBlock(bool exact = false) : exact_(exact) {}
    ~DeviceBlock() { cudaFree(memory_); }
    DeviceBlock(const DeviceBlock &) = delete;
    DeviceBlock &operator=(const DeviceBlock &) = delete;

    void resize(std::size_t bytes) {
        if (!exact_ && bytes <= size_)
            return;
        cudaFree(memory_);
        size_ = bytes;
        require(cudaMalloc(&memory_, size_), "cudaMalloc");
    }
    /// Done on return, also for streams that do not wait for the default one: cudaMemcpy() itself
    /// returns once the bytes are in memory of the driver's.
    void upload(const void *from, std::size_t bytes) {
        resize(bytes);
        require(cudaMemcpy(memory_, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
        require(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
    }
    void download(void *to, std::size_t bytes) const {
        require(cudaMemcpy(to, memory_, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    }
    std::uint8_t *data() const { return static_cast<std::uint8_t *>(memory_); }

  private:
    bool exact_;
    void *memory_ = nullptr;
    std::size_t size_ = 0;
};

/// A copy of a guarded image in device memory, at the same distance from an
/// aligned address, with its canaries; keeps its memory for the next image. Or,
/// tight, from the first to the last pixel in memory of just that size, so that
/// tools that watch memory see every byte that is read beside them.
class DeviceImage {
  public:
    explicit DeviceImage(bool tight = false) : tight_(tight), block_(tight) {}

    void upload(const GuardedImage &host) {
        place(host);
        block_.upload(host.bytes().data() + first_, copied_);
        view_ = *host.view();
        view_.memory = GPV_MEMORY_CUDA;
        for (int i = 0; i < host.planes(); i++)
            view_.data[i] = block_.data() + (host.row(i, 0) - host.bytes().data()) - first_;
    }
    void download(GuardedImage &host) const {
        block_.download(host.bytes().data() + first_, copied_);
    }
    const gpv_image *view() const { return &view_; }
    void *memory() const { return block_.data(); }

  private:
    /// Which of the host image's bytes are copied.
    void place(const GuardedImage &host) {
        const int last = host.planes() - 1;
        const std::uint8_t *end = host.row(last, host.rows(last) - 1) + host.row_bytes(last);
        first_ = tight_ ? host.row(0, 0) - host.bytes().data() : 0;
        copied_ = tight_ ? static_cast<std::size_t>(end - host.row(0, 0)) : host.bytes().size();
    }

    bool tight_;
    DeviceBlock block_;
    std::ptrdiff_t first_ = 0;
    std::size_t copied_ = 0;
    gpv_image view_{};
};

/// How many things of so many bytes to use in turn, so that none is in the cache.
inline int cold_count(std::size_t bytes) {
    return static_cast<int>(std::max<std::size_t>(3, 200'000'000 / bytes + 1));
}

/// Images on the device, used in turn so that none is in the cache.
class ColdImages {
  public:
    ColdImages(const GuardedImage &src, const GuardedImage &dst)
        : bytes_(src.bytes().size() + dst.bytes().size()),
          copied_(static_cast<std::size_t>(src.pixel_bytes() + dst.pixel_bytes()) / 2) {
        for (int i = 0; i < cold_count(bytes_); i++) {
            src_.emplace_back(std::make_unique<DeviceImage>())->upload(src);
            dst_.emplace_back(std::make_unique<DeviceImage>())->upload(dst);
        }
    }
    /// Calls to time as one.
    int repeats() const {
        return std::max(static_cast<int>(src_.size()), bytes_ > 16'000'000 ? 6 : 40);
    }
    /// Bytes of a copy that moves as much as who reads src and writes dst.
    std::size_t copied() const { return copied_; }
    const DeviceImage &src(int i) const { return *src_[i % src_.size()]; }
    const DeviceImage &dst(int i) const { return *dst_[i % dst_.size()]; }

  private:
    std::size_t bytes_, copied_;
    std::vector<std::unique_ptr<DeviceImage>> src_, dst_;
};

/// Copies on the device, of bytes that are not in the cache.
class ColdCopy {
  public:
    explicit ColdCopy(std::size_t bytes) : bytes_(bytes), count_(cold_count(2 * bytes)) {
        for (DeviceBlock *block : {&from_, &to_})
            block->resize(bytes * count_);
    }
    bool enqueue(cudaStream_t stream, int i) const {
        const std::size_t at = bytes_ * (i % count_);
        return cudaMemcpyAsync(to_.data() + at, from_.data() + at, bytes_, cudaMemcpyDeviceToDevice,
                               stream) == cudaSuccess;
    }

  private:
    std::size_t bytes_;
    int count_;
    DeviceBlock from_, to_;
};

#    ifdef HAVE_NPP
/// What NPP's functions want to know of the device.
inline NppStreamContext npp_context() {
    cudaDeviceProp properties;
    require(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    NppStreamContext context{};
    context.nMultiProcessorCount = properties.multiProcessorCount;
    context.nMaxThreadsPerMultiProcessor = properties.maxThreadsPerMultiProcessor;
    context.nMaxThreadsPerBlock = properties.maxThreadsPerBlock;
    context.nSharedMemPerBlock = properties.sharedMemPerBlock;
    context.nCudaDevAttrComputeCapabilityMajor = properties.major;
    context.nCudaDevAttrComputeCapabilityMinor = properties.minor;
    return context;
}
#    endif

/// Enqueues the i-th call on a stream; false if it cannot, as in a capture.
using Enqueue = std::function<bool(cudaStream_t, int)>;

/// A graph of so many calls, or null where they cannot be captured.
inline cudaGraphExec_t capture(const Enqueue &enqueue, int calls, cudaStream_t stream) {
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
    bool captured = true;
    for (int i = 0; i < calls && captured; i++)
        captured = enqueue(stream, i);
    cudaGraph_t graph = nullptr;
    captured = cudaStreamEndCapture(stream, &graph) == cudaSuccess && captured;
    cudaGetLastError(); // why it could not is known
    cudaGraphExec_t executable = nullptr;
    if (captured)
        require(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
    if (graph)
        require(cudaGraphDestroy(graph), "cudaGraphDestroy");
    return executable;
}

/// Two streams for runs that follow each other; the first also for runs that become part of the
/// caller's graph.
class Streams {
  public:
    Streams() {
        for (cudaStream_t &stream : streams_)
            require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    }
    ~Streams() {
        for (cudaStream_t stream : streams_)
            require(cudaStreamDestroy(stream), "cudaStreamDestroy");
    }
    Streams(const Streams &) = delete;
    Streams &operator=(const Streams &) = delete;
    cudaStream_t operator[](int i) const { return streams_[i]; }

    bool can_capture(const Enqueue &run) const {
        const cudaGraphExec_t graph = capture(run, 1, streams_[0]);
        if (graph)
            require(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
        return graph;
    }
    /// Launches the graph twice and waits. False where the run cannot be captured.
    bool run_captured(const Enqueue &run, gpv_context *context) const {
        const cudaGraphExec_t graph = capture(run, 1, streams_[0]);
        if (!graph)
            return false;
        for (int i = 0; i < 2; i++)
            require(cudaGraphLaunch(graph, streams_[0]), "cudaGraphLaunch");
        require(gpv_stream_sync(context, streams_[0]), context, "gpv_stream_sync");
        require(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
        return true;
    }

  private:
    cudaStream_t streams_[2];
};

/// Times what candidates enqueue, as graphs of `repeats` calls that run in turn,
/// or call by call where that cannot be; microseconds a call. Slow ones for fewer rounds.
inline std::vector<Timing> time_on_device(const std::vector<Enqueue> &candidates, int repeats,
                                          int rounds = 51, std::size_t min_rounds = 5) {
    cudaStream_t stream;
    cudaEvent_t start, stop;
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    require(cudaEventCreate(&start), "cudaEventCreate");
    require(cudaEventCreate(&stop), "cudaEventCreate");
    std::vector<cudaGraphExec_t> graphs;
    for (const Enqueue &enqueue : candidates)
        graphs.push_back(capture(enqueue, repeats, stream));
    std::vector<std::vector<double>> samples(candidates.size());
    std::vector<double> spent(candidates.size()); // us
    constexpr double enough = 100'000;
    for (int round = -3; round < rounds; round++) // the first ones warm up
        for (std::size_t i = 0; i < graphs.size(); i++) {
            if (samples[i].size() >= min_rounds && spent[i] > enough)
                continue;
            require(cudaEventRecord(start, stream), "cudaEventRecord");
            if (graphs[i])
                require(cudaGraphLaunch(graphs[i], stream), "cudaGraphLaunch");
            else
                for (int call = 0; call < repeats; call++)
                    if (!candidates[i](stream, call))
                        fatal("a call to be timed failed");
            require(cudaEventRecord(stop, stream), "cudaEventRecord");
            require(cudaEventSynchronize(stop), "cudaEventSynchronize");
            float ms;
            require(cudaEventElapsedTime(&ms, start, stop), "cudaEventElapsedTime");
            spent[i] += 1000.0 * ms;
            if (round >= 0)
                samples[i].push_back(1000.0 * ms / repeats);
        }
    for (cudaGraphExec_t graph : graphs)
        if (graph)
            require(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
    require(cudaEventDestroy(start), "cudaEventDestroy");
    require(cudaEventDestroy(stop), "cudaEventDestroy");
    require(cudaStreamDestroy(stream), "cudaStreamDestroy");
    std::vector<Timing> result;
    for (const auto &s : samples)
        result.push_back(summarize(s));
    return result;
}

#endif

/// A copy of an image where a backend computes.
class PlacedImage {
  public:
    PlacedImage(const GuardedImage &image, gpv_backend backend) : view_(*image.view()) {
#ifdef HAVE_CUDA
        if (backend == GPV_BACKEND_CUDA) {
            on_device_.upload(image);
            view_ = *on_device_.view();
            return;
        }
#endif
        (void)backend;
        on_host_ = image.bytes();
        for (int i = 0; i < image.planes(); i++)
            view_.data[i] = on_host_.data() + (image.row(i, 0) - image.bytes().data());
    }
    PlacedImage(const PlacedImage &) = delete;
    PlacedImage &operator=(const PlacedImage &) = delete;
    const gpv_image *view() const {
        return &view_;
    }

  private:
    std::vector<std::uint8_t> on_host_;
#ifdef HAVE_CUDA
    DeviceImage on_device_;
#endif
    gpv_image view_;
};

/// Bytes where a backend computes.
class PlacedBuffer {
  public:
    PlacedBuffer(std::size_t bytes, gpv_backend backend) {
        gpv_buffer_init(&view_, sizeof view_);
        view_.size = bytes;
#ifdef HAVE_CUDA
        if (backend == GPV_BACKEND_CUDA) {
            on_device_.resize(bytes);
            view_.data = on_device_.data();
            view_.memory = GPV_MEMORY_CUDA;
            return;
        }
#endif
        (void)backend;
        on_host_.resize(bytes);
        view_.data = on_host_.data();
    }
    PlacedBuffer(const PlacedBuffer &) = delete;
    PlacedBuffer &operator=(const PlacedBuffer &) = delete;
    const gpv_buffer *view() const {
        return &view_;
    }

  private:
    std::vector<std::uint8_t> on_host_;
#ifdef HAVE_CUDA
    DeviceBlock on_device_;
#endif
    gpv_buffer view_;
};

/// How often something is there, beside and below each other, and how large it is.
struct Copies {
    int columns, rows, width, height;

    int count() const { return columns * rows; }
    /// Of all of them.
    std::array<int, 2> size() const { return {columns * width, rows * height}; }
    std::string text() const {
        return size_name(size()[0], size()[1]) + " of " + std::to_string(columns) + "x" +
               std::to_string(rows) + " copies";
    }
};

/// An image of copies of a small one where a backend computes.
class CopiedImage {
  public:
    /// planes: those that have memory of their own. The others may begin a row and a pixel earlier.
    CopiedImage(const GuardedImage &small, const Copies &copies, int planes, gpv_backend backend)
        : view_(*small.view()), copies_(copies), backend_(backend) {
        view_.memory = backend == GPV_BACKEND_CUDA ? GPV_MEMORY_CUDA : GPV_MEMORY_HOST;
        view_.width = copies.size()[0];
        view_.height = copies.size()[1];
        for (int i = 0; i < small.planes(); i++) {
            view_.stride[i] = copies.columns * small.row_bytes(i);
            view_.data[i] = i < planes ? fill(strip_of(small, i), view_.stride[i] + 16) : nullptr;
        }
    }
    const gpv_image *view() const { return &view_; }
    /// Of one plane.
    void expect_copies_of(const GuardedImage &small, const std::string &what) const {
        const std::vector<std::uint8_t> want = strip_of(small, 0);
        std::vector<std::uint8_t> got(want.size());
        for (int i = 0; i < copies_.rows; i++) {
            copy(got.data(), static_cast<std::uint8_t *>(view_.data[0]) + i * got.size(),
                 got.size());
            const auto at = std::mismatch(got.begin(), got.end(), want.begin()).first - got.begin();
            if (got != want)
                fatal(what + ": differs at " + std::to_string(at % view_.stride[0]) + "," +
                      std::to_string(i * small.rows(0) + at / view_.stride[0]));
        }
    }

  private:
    /// A row of copies.
    std::vector<std::uint8_t> strip_of(const GuardedImage &small, int plane) const {
        std::vector<std::uint8_t> strip;
        for (std::int64_t y = 0; y < small.rows(plane); y++)
            for (int i = 0; i < copies_.columns; i++)
                strip.insert(strip.end(), small.row(plane, y),
                             small.row(plane, y) + small.row_bytes(plane));
        return strip;
    }
    std::uint8_t *fill(const std::vector<std::uint8_t> &strip, std::size_t before) {
        const auto &block = blocks_.emplace_back(
            std::make_unique<PlacedBuffer>(before + copies_.rows * strip.size(), backend_));
        std::uint8_t *data = static_cast<std::uint8_t *>(block->view()->data) + before;
        copy(data - before, std::vector<std::uint8_t>(before, 0x5A).data(), before);
        for (int i = 0; i < copies_.rows; i++)
            copy(data + i * strip.size(), strip.data(), strip.size());
        return data;
    }
    void copy(void *to, const void *from, std::size_t bytes) const {
#ifdef HAVE_CUDA
        if (backend_ == GPV_BACKEND_CUDA) {
            require(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cudaMemcpy");
            return require(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
        }
#endif
        std::memcpy(to, from, bytes);
    }

    gpv_image view_;
    const Copies copies_;
    const gpv_backend backend_;
    std::vector<std::unique_ptr<PlacedBuffer>> blocks_;
};

/// Whether a backend has so much memory left. Where it has not, that is printed.
inline bool has_memory(gpv_backend backend, std::uint64_t bytes, const std::string &what) {
    std::uint64_t unused = 0;
#ifdef HAVE_CUDA
    if (backend == GPV_BACKEND_CUDA) {
        std::size_t free, total;
        require(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
        unused = free;
    }
#endif
    std::ifstream file("/proc/meminfo");
    for (std::string word; backend == GPV_BACKEND_CPU && file >> word;)
        if (word == "MemAvailable:") {
            file >> unused;
            unused <<= 10;
        }
    if (bytes > unused)
        std::printf("%s: not computed, needs %.1f GB\n", what.c_str(), double(bytes) / 1e9);
    return bytes <= unused;
}

/// An image in host memory that nobody may touch: who reads or writes a byte of it ends the
/// program.
class UntouchableImage {
  public:
    UntouchableImage(gpv_format format, int width, int height) {
        gpv_image_init(&view_, sizeof view_);
        view_.format = format;
        view_.width = width;
        view_.height = height;
        for (int i = 0; i < gpv_format_planes(format); i++) {
            std::int64_t row_bytes, rows;
            require(gpv_format_plane(format, i, width, height, &row_bytes, &rows), nullptr,
                    "gpv_format_plane");
            view_.stride[i] = row_bytes;
            sizes_.push_back(static_cast<std::size_t>(row_bytes * rows));
            view_.data[i] = mmap(nullptr, sizes_.back(), PROT_NONE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            expect(view_.data[i] != MAP_FAILED, "there are addresses for a large image");
        }
    }
    ~UntouchableImage() {
        for (std::size_t i = 0; i < sizes_.size(); i++)
            munmap(view_.data[i], sizes_[i]);
    }
    UntouchableImage(const UntouchableImage &) = delete;
    UntouchableImage &operator=(const UntouchableImage &) = delete;
    const gpv_image *view() const { return &view_; }

  private:
    gpv_image view_;
    std::vector<std::size_t> sizes_;
};

/// What a context may take where the largest images are to be refused.
inline constexpr std::uint64_t too_little = std::uint64_t{4} << 30;

#ifdef HAVE_CUDA
/// As many pixels as there can be, in memory of the device's that there is not.
inline gpv_image largest_on_device(gpv_format format) {
    gpv_image image;
    gpv_image_init(&image, sizeof image);
    image.format = format;
    image.width = image.height = GPV_MAX_SIDE;
    image.memory = GPV_MEMORY_CUDA;
    return image;
}

/// All of the device's memory but that, as others would have it.
class NearlyFullDevice {
  public:
    NearlyFullDevice() {
        std::size_t unused, total;
        require(cudaMemGetInfo(&unused, &total), "cudaMemGetInfo");
        if (unused > too_little)
            taken_.resize(unused - too_little);
    }

  private:
    DeviceBlock taken_;
};
#endif

/// That run() is refused for want of memory, and keeps nothing that it took.
template <class F>
void expect_refused(const CountedContext &context, const std::string &what, F run) {
    const std::uint64_t before = context.allocated();
    const gpv_status status = run();
    if (status != GPV_ERR_OUT_OF_MEMORY && status != GPV_ERR_UNSUPPORTED)
        fatal(what + ": gives " + std::to_string(status) + ": " + gpv_context_error(context));
    expect(context.allocated() <= before, what + ": what it took is given back");
}

} // namespace parity
