// SPDX-License-Identifier: BSD-2-Clause
#pragma once

/// @file
/// gpuvision for C++20: the C interface with destructors, exceptions and defaults. One file, to be
/// copied; it needs the library and its C headers, which stay the contract: what a parameter means,
/// which formats an algorithm takes, what a CUDA graph may hold. Constants (GPV_FORMAT_RGB8) and
/// records (gpv_sift_keypoint, gpv_ccl_component) are theirs, and so is what a *picture* is: an
/// image of a format whose pixels are grey or colours, see gpv_format.
///
///     gpv::Context context;
///     gpv::ErodeParams params;
///     params.radius = 3;
///     gpv::Erode erode(context, params);
///     erode.run(gpv::view(GPV_FORMAT_GRAY8, width, height, from.data()),
///               gpv::view(GPV_FORMAT_GRAY8, width, height, to.data()));
///     erode.wait(); // now there is something in to
///
/// **Parameters.** ErodeParams and its like are no aggregates: one starts with the library's
/// defaults, then assign what shall differ.
///
/// **Waiting.** run(), describe() and draw() enqueue. With the CUDA backend, what they write to
/// host memory is written by wait(), by a query() that gives true, or by Context::stream_sync(),
/// and has to live until then, or until the operator is gone. C++ cannot see to that: with
/// pictures, vectors or arrays in host memory, call wait() before you look at them and before they
/// end. What is only read in host memory has been read when the call returns.
///
/// **Threads.** A context and its operators may move between threads, but must not be used by two
/// at once, const functions included. Different contexts do not know of each other.
///
/// **Errors.** Whatever fails throws gpv::Error. What has been moved from can be destroyed and
/// assigned to; anything else throws GPV_ERR_INVALID_ARGUMENT, and native() is NULL.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <gpuvision/gpuvision.h>

namespace gpv {
// Names of its own for the linker, whatever the library calls what is inside it.
inline namespace cpp {

/// What has failed. what() is "<status in words>: <text of the library>", or one of both where the
/// other adds nothing.
class Error : public std::runtime_error {
  public:
    Error(gpv_status status, const std::string &text)
        : std::runtime_error(join(gpv_status_string(status), text)), status_(status) {}

    /// One of GPV_ERR_*.
    [[nodiscard]] gpv_status status() const noexcept { return status_; }

  private:
    static std::string join(const std::string &words, const std::string &text) {
        if (text.starts_with(words))
            return text;
        return text.empty() ? words : words + ": " + text;
    }

    gpv_status status_;
};

namespace detail {

/// A struct of the C interface that begins with what its _init function writes.
template <class C, void (*init)(C *, std::uint32_t)>
struct Initialised : C {
    Initialised() noexcept : C{} { init(this, sizeof(C)); }
    explicit Initialised(const C &other) noexcept : C(other) {}
};

/// An element of a range, const where it cannot be written.
template <class R>
using ElementOf = std::remove_reference_t<std::ranges::range_reference_t<R>>;

/// Plain elements one behind the other, which do not end with an expression that gives them.
template <class R>
concept Elements = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    std::ranges::borrowed_range<R> && std::is_trivially_copyable_v<ElementOf<R>>;

/// What is more than a count can say is out of every range, and refused as such.
inline std::int32_t count_of(std::size_t size) noexcept {
    constexpr auto maximum = std::numeric_limits<std::int32_t>::max();
    return size < std::size_t{maximum} ? static_cast<std::int32_t>(size) : maximum;
}

/// The numbers of points or centroids, one behind the other.
template <std::size_t N>
const float *numbers_of(std::span<const std::array<float, N>> elements) noexcept {
    static_assert(sizeof(std::array<float, N>) == N * sizeof(float));
    return elements.empty() ? nullptr : elements.front().data();
}

inline void check(gpv_status status, const gpv_context *context) {
    if (status < 0)
        throw Error(status, gpv_context_error(context));
}

/// gpv_image_wrap(), which gives no text.
inline std::int64_t wrap(gpv_image &image, gpv_format format, std::int32_t width,
                         std::int32_t height, void *data, std::int64_t stride) {
    const auto bytes = gpv_image_wrap(&image, sizeof image, format, width, height, data, stride);
    if (bytes < 0)
        throw Error(static_cast<gpv_status>(bytes),
                    std::to_string(width) + " x " + std::to_string(height) + " pixels of format " +
                        std::to_string(format) + " with a stride of " + std::to_string(stride) +
                        " bytes are no image");
    return bytes;
}

} // namespace detail

/// @name The library
/// @{

/// GPV_API_VERSION of the library that runs.
[[nodiscard]] inline std::uint32_t api_version() noexcept {
    return gpv_api_version();
}

/// Release, revision and the backends built in.
[[nodiscard]] inline std::string_view version() noexcept {
    return gpv_version_string();
}

/// Whether a GPV_BACKEND_* is built in and, for CUDA, a driver and a device 0 are there.
[[nodiscard]] inline bool backend_available(gpv_backend backend) noexcept {
    return gpv_backend_available(backend) != 0;
}

/// The fields of gpv_<stem>_params in their order; none where there is no such struct.
[[nodiscard]] inline std::vector<gpv_field> fields(const char *stem) {
    std::vector<gpv_field> found;
    gpv_field field;
    while (gpv_params_describe(stem, detail::count_of(found.size()), &field, sizeof field) ==
           GPV_OK)
        found.push_back(field);
    return found;
}

/// @}
/// @name Views of memory, which is the caller's and has to live until the run is over
/// @{

struct ConstImage;
struct ConstBuffer;

/// A gpv_image that may be written. One whose planes lie apart is put together by hand:
///
///     gpv::Image image = gpv::view(GPV_FORMAT_NV12, width, height, luma, luma_stride);
///     image.data[1] = chroma;
///     image.stride[1] = chroma_stride;
struct Image : detail::Initialised<gpv_image, gpv_image_init> {
    using Initialised::Initialised;
    Image(const ConstImage &) = delete;
};

/// A gpv_image that is only read: what takes a source takes it, what takes a destination does not.
struct ConstImage : detail::Initialised<gpv_image, gpv_image_init> {
    using Initialised::Initialised;
    ConstImage(const Image &image) noexcept : Initialised(image) {}
};

/// A view of an image in host memory whose planes lie one behind the other.
///
/// @param format  GPV_FORMAT_*
/// @param data    first row of the first plane, of required_bytes()
/// @param stride  bytes from row to row, see gpv_image_wrap(); 0 = rows without a gap
/// @throw Error GPV_ERR_INVALID_ARGUMENT: there is no such image
[[nodiscard]] inline Image view(gpv_format format, std::int32_t width, std::int32_t height,
                                void *data, std::int64_t stride = 0) {
    Image image;
    detail::wrap(image, format, width, height, data, stride);
    return image;
}

/// The same for a source. A gpv_image has no const pointers, since it serves both; the library
/// writes to no source, and a ConstImage is taken for nothing else: so the cast breaks no promise.
[[nodiscard]] inline ConstImage view(gpv_format format, std::int32_t width, std::int32_t height,
                                     const void *data, std::int64_t stride = 0) {
    return view(format, width, height, const_cast<void *>(data), stride);
}

/// The same without data, which will do for prepare() only.
[[nodiscard]] inline Image view(gpv_format format, std::int32_t width, std::int32_t height,
                                std::nullptr_t = nullptr, std::int64_t stride = 0) {
    return view(format, width, height, static_cast<void *>(nullptr), stride);
}

/// As view(), in CUDA memory.
/// @param data    device pointer
/// @param device  CUDA ordinal, which has to be that of the context
[[nodiscard]] inline Image cuda_view(gpv_format format, std::int32_t width, std::int32_t height,
                                     void *data, std::int64_t stride = 0, std::int32_t device = 0) {
    Image image = view(format, width, height, data, stride);
    image.memory = GPV_MEMORY_CUDA;
    image.device = device;
    return image;
}

/// The same for a source.
[[nodiscard]] inline ConstImage cuda_view(gpv_format format, std::int32_t width,
                                          std::int32_t height, const void *data,
                                          std::int64_t stride = 0, std::int32_t device = 0) {
    return cuda_view(format, width, height, const_cast<void *>(data), stride, device);
}

/// The same without data, which will do for prepare() only.
[[nodiscard]] inline Image cuda_view(gpv_format format, std::int32_t width, std::int32_t height,
                                     std::nullptr_t = nullptr, std::int64_t stride = 0,
                                     std::int32_t device = 0) {
    return cuda_view(format, width, height, static_cast<void *>(nullptr), stride, device);
}

/// Bytes that view() describes, from data to the end of the last plane.
/// @throw Error GPV_ERR_INVALID_ARGUMENT: there is no such image
[[nodiscard]] inline std::size_t required_bytes(gpv_format format, std::int32_t width,
                                                std::int32_t height, std::int64_t stride = 0) {
    Image image;
    return static_cast<std::size_t>(detail::wrap(image, format, width, height, nullptr, stride));
}

/// Number of planes of a format, 0 for an unknown one.
[[nodiscard]] inline std::int32_t planes(gpv_format format) noexcept {
    return gpv_format_planes(format);
}

/// Size of a plane, without padding.
struct PlaneSize {
    std::int64_t row_bytes; ///< of one row
    std::int64_t rows;
};

/// Size of one plane of an image of width x height pixels.
/// @param plane  0 .. planes(format) - 1
/// @throw Error GPV_ERR_INVALID_ARGUMENT: there is no such image, or no such plane
[[nodiscard]] inline PlaneSize plane_size(gpv_format format, std::int32_t plane, std::int32_t width,
                                          std::int32_t height) {
    PlaneSize size{};
    if (gpv_format_plane(format, plane, width, height, &size.row_bytes, &size.rows) != GPV_OK)
        throw Error(GPV_ERR_INVALID_ARGUMENT, "there is no plane " + std::to_string(plane) +
                                                  " in an image of " + std::to_string(width) +
                                                  " x " + std::to_string(height) +
                                                  " pixels of format " + std::to_string(format));
    return size;
}

/// A gpv_buffer that may be written, from elements in host memory:
///
///     std::vector<gpv_sift_keypoint> keypoints(200);
///     gpv::Buffer buffer(keypoints);
///
/// The constructor takes what is contiguous, and still there after it: a vector or an array that
/// has a name, or any std::span.
struct Buffer : detail::Initialised<gpv_buffer, gpv_buffer_init> {
    using Initialised::Initialised;
    Buffer(const ConstBuffer &) = delete;

    template <detail::Elements R>
    requires(!std::is_const_v<detail::ElementOf<R>>) explicit Buffer(R &&elements) noexcept {
        data = std::ranges::data(elements);
        size = std::ranges::size(elements) * sizeof(detail::ElementOf<R>);
    }
};

/// A gpv_buffer that is only read, as ConstImage is.
struct ConstBuffer : detail::Initialised<gpv_buffer, gpv_buffer_init> {
    using Initialised::Initialised;
    ConstBuffer(const Buffer &buffer) noexcept : Initialised(buffer) {}

    template <detail::Elements R>
    explicit ConstBuffer(R &&elements) noexcept {
        using Element = detail::ElementOf<R>;
        data = const_cast<std::remove_const_t<Element> *>(std::ranges::data(elements));
        size = std::ranges::size(elements) * sizeof(Element);
    }
};

/// A buffer in CUDA memory.
/// @param data    device pointer
/// @param device  CUDA ordinal, which has to be that of the context
[[nodiscard]] inline Buffer cuda_buffer(void *data, std::size_t bytes, std::int32_t device = 0) {
    Buffer buffer;
    buffer.memory = GPV_MEMORY_CUDA;
    buffer.device = device;
    buffer.data = data;
    buffer.size = bytes;
    return buffer;
}

/// The same for what is only read.
[[nodiscard]] inline ConstBuffer cuda_buffer(const void *data, std::size_t bytes,
                                             std::int32_t device = 0) {
    return cuda_buffer(const_cast<void *>(data), bytes, device);
}

/// The same without data, where there are no bytes.
[[nodiscard]] inline Buffer cuda_buffer(std::nullptr_t, std::size_t bytes = 0,
                                        std::int32_t device = 0) {
    return cuda_buffer(static_cast<void *>(nullptr), bytes, device);
}

/// @}
/// @name Contexts
/// @{

/// gpv_context_params with their defaults, and callbacks of any kind instead of those of C: log,
/// alloc, free and user of gpv_context_params are overwritten. Callbacks are kept as long as the
/// context or an operator of it lives, are called on the thread that is inside the library, and
/// must not call back into the context. An exception of theirs goes no further: that of log and
/// free is dropped, that of alloc means no memory.
struct ContextParams : detail::Initialised<gpv_context_params, gpv_context_params_init> {
    /// Takes one line, which lives during the call. Default: none.
    std::function<void(gpv_log_level level, std::string_view line)> log;
    /// Gives memory, see gpv_alloc_fn. Set this and free, or neither. Default: the library's own.
    std::function<void *(gpv_memory memory, std::uint64_t size, gpv_stream stream)> alloc;
    /// Takes memory back, see gpv_free_fn.
    std::function<void(gpv_memory memory, void *data, gpv_stream stream)> free;
};

namespace detail {

/// A context and what its callbacks need.
struct ContextState {
    ContextParams params;
    gpv_context *handle = nullptr;
    std::string error; // the last line of level error during creation, which has no other place

    explicit ContextState(ContextParams given) : params(std::move(given)) {
        gpv_context_params raw = params;
        raw.log = on_log;
        raw.alloc = params.alloc ? on_alloc : nullptr;
        raw.free = params.free ? on_free : nullptr;
        raw.user = this;
        const gpv_status status = gpv_context_create(&raw, &handle);
        if (status != GPV_OK)
            throw Error(status, error);
    }
    ContextState(const ContextState &) = delete;
    ContextState &operator=(const ContextState &) = delete;
    ~ContextState() { gpv_context_destroy(&handle); }

    static void on_log(void *user, gpv_log_level level, const char *line) noexcept {
        auto &state = *static_cast<ContextState *>(user);
        try {
            if (!state.handle && level == GPV_LOG_LEVEL_ERROR)
                state.error = line;
            if (state.params.log)
                state.params.log(level, line);
        } catch (...) {
        }
    }

    static void *on_alloc(void *user, gpv_memory memory, std::uint64_t size,
                          gpv_stream stream) noexcept {
        try {
            return static_cast<ContextState *>(user)->params.alloc(memory, size, stream);
        } catch (...) {
            return nullptr;
        }
    }

    static void on_free(void *user, gpv_memory memory, void *data, gpv_stream stream) noexcept {
        try {
            static_cast<ContextState *>(user)->params.free(memory, data, stream);
        } catch (...) {
        }
    }
};

} // namespace detail

/// A gpv_context: which backend and device compute. Operators share it: it may be destroyed before
/// them.
class Context {
  public:
    /// With all defaults: CUDA device 0 where it can be used, else the CPU.
    Context() : Context(ContextParams()) {}

    /// @throw Error see gpv_context_create(); its text is the last line logged at level error
    explicit Context(ContextParams params) {
        const auto state = std::make_shared<detail::ContextState>(std::move(params));
        handle_ = std::shared_ptr<gpv_context>(state, state->handle);
    }

    Context(Context &&) noexcept = default;
    Context &operator=(Context &&) noexcept = default;

    /// GPV_BACKEND_CPU or GPV_BACKEND_CUDA: what AUTO became.
    [[nodiscard]] gpv_backend backend() const { return gpv_context_backend(shared().get()); }

    /// Name of the processor or CUDA device.
    [[nodiscard]] std::string device_name() const {
        return gpv_context_device_name(shared().get());
    }

    /// Text of the last failure on this context or an operator of it, "" if there was none.
    [[nodiscard]] std::string error() const { return gpv_context_error(shared().get()); }

    /// Waits until everything enqueued on stream has finished, and writes what goes to host memory.
    void stream_sync(gpv_stream stream = nullptr) {
        detail::check(gpv_stream_sync(shared().get(), stream), native());
    }

    /// Lets work that is enqueued on stream from now on begin after all that is enqueued on leader
    /// by now. The host does not wait.
    void stream_follow(gpv_stream stream, gpv_stream leader) {
        detail::check(gpv_stream_follow(shared().get(), stream, leader), native());
    }

    [[nodiscard]] gpv_context *native() const noexcept { return handle_.get(); }

    /// native(), which lives as long as this or a copy of it. Never empty.
    [[nodiscard]] const std::shared_ptr<gpv_context> &shared() const {
        if (!handle_)
            throw Error(GPV_ERR_INVALID_ARGUMENT, "the context has been moved from");
        return handle_;
    }

  private:
    std::shared_ptr<gpv_context> handle_;
};

/// @}
/// @name Operators
/// All are made from a context and parameters. prepare() allocates what runs on such images need:
/// of images it reads format, memory, device, width and height, so that view() without data will
/// do. stream is a cudaStream_t or CUstream; NULL is CUDA's default stream.
/// @{

/// What all operators have.
template <class Handle, class Params, auto create, auto destroy, auto change, auto poll>
class Operator {
  public:
    /// Changes the parameters of the runs that follow. On failure the old ones stay.
    void set_params(const Params &params) { check(change(handle(), &params)); }

    /// Whether the last run has finished, without waiting; true if there was none. True also means
    /// that what lies in host memory has been written.
    /// @throw Error what wait() would
    [[nodiscard]] bool query() {
        const gpv_status status = poll(handle());
        check(status);
        return status != GPV_NOT_READY;
    }

    [[nodiscard]] Handle *native() const noexcept { return handle_.get(); }

  protected:
    Operator(const Context &context, const Params &params)
        : handle_(nullptr, Destroy{context.shared()}) {
        Handle *made = nullptr;
        check(create(context.native(), &params, &made));
        handle_.reset(made);
    }

    Handle *handle() const {
        if (!handle_)
            throw Error(GPV_ERR_INVALID_ARGUMENT, "the operator has been moved from");
        return handle_.get();
    }

    void check(gpv_status status) const {
        detail::check(status, handle_.get_deleter().context.get());
    }

  private:
    /// Keeps the context: its callbacks are called until the operator is gone.
    struct Destroy {
        std::shared_ptr<gpv_context> context;
        void operator()(Handle *op) const noexcept { destroy(&op); }
    };
    std::unique_ptr<Handle, Destroy> handle_;
};

/// What those have that find something beside images.
template <class Base, class Result, auto await>
class ResultOperator : public Base {
  public:
    /// Waits until the last run has finished, writes what goes to host memory, and says what the
    /// run has found: zeros if there was none.
    Result wait() {
        Result result;
        this->check(wait(result));
        return result;
    }

    /// The same, where a failure is expected that comes with a result, such as GPV_ERR_TOO_SMALL.
    /// @return what wait() would throw; the text is Context::error()
    [[nodiscard]] gpv_status wait(Result &result) { return await(this->handle(), &result); }

  protected:
    using Base::Base;
};

/// gpv_erode_params with their defaults.
using ErodeParams = detail::Initialised<gpv_erode_params, gpv_erode_params_init>;

/// Erosion, and the rest of morphology with flat structuring elements; see gpuvision/erode.h.
///
///     erode.run(src, dst);
///     erode.wait();
class Erode : public Operator<gpv_erode, ErodeParams, gpv_erode_create, gpv_erode_destroy,
                              gpv_erode_set_params, gpv_erode_query> {
  public:
    explicit Erode(const Context &context, const ErodeParams &params = {})
        : Operator(context, params) {}

    void prepare(const gpv_image &like) { check(gpv_erode_prepare(handle(), &like)); }

    /// Enqueues; dst in host memory is there after wait().
    /// @param src  a picture
    /// @param dst  same format, size and memory; may be src
    void run(const gpv_image &src, const Image &dst, gpv_stream stream = nullptr) {
        check(gpv_erode_run(handle(), stream, &src, &dst));
    }

    /// Waits until the last run has finished, and writes dst if it is in host memory.
    void wait() { check(gpv_erode_wait(handle())); }
};

/// gpv_ccl_params with their defaults.
using CclParams = detail::Initialised<gpv_ccl_params, gpv_ccl_params_init>;
/// gpv_ccl_result, zero.
using CclResult = detail::Initialised<gpv_ccl_result, gpv_ccl_result_init>;

/// The optional arguments of Ccl::run().
struct CclArguments {
    const Image *dst = nullptr;         ///< labels, mask or colours, as params.output says
    const Buffer *components = nullptr; ///< receives gpv_ccl_component
    std::uint32_t component_stride = 0; ///< bytes from record to record; 0 = without a gap
    const Buffer *count = nullptr;      ///< int32, where the backend computes
};

/// Connected-component labelling; see gpuvision/ccl.h.
///
///     std::vector<gpv_ccl_component> components(64);
///     gpv::Buffer buffer(components);
///     ccl.run(src, {.dst = &labels, .components = &buffer});
///     gpv::CclResult found = ccl.wait();
///
/// wait() fails with GPV_ERR_TOO_SMALL if there are more components than there is room for, or than
/// labels of 16 bits; all that fits has been written, and wait(result) tells their number.
class Ccl : public ResultOperator<Operator<gpv_ccl, CclParams, gpv_ccl_create, gpv_ccl_destroy,
                                           gpv_ccl_set_params, gpv_ccl_query>,
                                  CclResult, gpv_ccl_wait> {
  public:
    explicit Ccl(const Context &context, const CclParams &params = {})
        : ResultOperator(context, params) {}

    /// @param dst         NULL: runs without it
    /// @param components  records in host memory that runs will ask for
    void prepare(const gpv_image &src, const gpv_image *dst = nullptr,
                 std::int32_t components = 0) {
        check(gpv_ccl_prepare(handle(), &src, dst, components));
    }

    /// Enqueues; what lies in host memory is there after wait().
    /// @param src  a picture
    void run(const gpv_image &src, const CclArguments &arguments = {},
             gpv_stream stream = nullptr) {
        check(gpv_ccl_run(handle(), stream, &src, arguments.dst, arguments.components,
                          arguments.component_stride, arguments.count));
    }
};

/// gpv_kmeans_params with their defaults.
using KmeansParams = detail::Initialised<gpv_kmeans_params, gpv_kmeans_params_init>;
/// gpv_kmeans_result, zero.
using KmeansResult = detail::Initialised<gpv_kmeans_result, gpv_kmeans_result_init>;

/// The optional arguments of Kmeans::run().
struct KmeansArguments {
    const Image *labels = nullptr;     ///< the number of each pixel's cluster
    const Image *dst = nullptr;        ///< the colour of each pixel's cluster; may be src
    const Buffer *centroids = nullptr; ///< receives Kmeans::Centroid
    const Buffer *counts = nullptr;    ///< int32, the pixels of each cluster
    const Buffer *result = nullptr;    ///< gpv_kmeans_result, where the backend computes
};

/// Colour segmentation by k-means; see gpuvision/kmeans.h.
///
///     std::vector<gpv::Kmeans::Centroid> centroids(8);
///     gpv::Buffer buffer(centroids);
///     kmeans.run(src, {.dst = &recoloured, .centroids = &buffer});
///     gpv::KmeansResult found = kmeans.wait();
class Kmeans
    : public ResultOperator<Operator<gpv_kmeans, KmeansParams, gpv_kmeans_create,
                                     gpv_kmeans_destroy, gpv_kmeans_set_params, gpv_kmeans_query>,
                            KmeansResult, gpv_kmeans_wait> {
  public:
    /// In params.color_space, 0..255.
    using Centroid = std::array<float, 3>;

    explicit Kmeans(const Context &context, const KmeansParams &params = {})
        : ResultOperator(context, params) {}

    /// The colour that stands for a centroid, 0xRRGGBB.
    /// @param color_space  GPV_KMEANS_COLOR_SPACE_RGB or GPV_KMEANS_COLOR_SPACE_LAB
    [[nodiscard]] static std::uint32_t color(gpv_kmeans_color_space color_space,
                                             const Centroid &centroid) noexcept {
        return gpv_kmeans_color(color_space, centroid.data());
    }

    /// The initial centroids of runs with GPV_KMEANS_INIT_GIVEN; copied.
    /// @param centroids  params.clusters of them
    void set_centroids(std::span<const Centroid> centroids) {
        check(gpv_kmeans_set_centroids(handle(), detail::numbers_of(centroids),
                                       detail::count_of(centroids.size())));
    }

    /// Of the arguments labels and dst are looked at.
    void prepare(const gpv_image &src, const KmeansArguments &arguments = {}) {
        check(gpv_kmeans_prepare(handle(), &src, arguments.labels, arguments.dst));
    }

    /// Enqueues; what lies in host memory is there after wait().
    /// @param src  a picture
    void run(const gpv_image &src, const KmeansArguments &arguments = {},
             gpv_stream stream = nullptr) {
        check(gpv_kmeans_run(handle(), stream, &src, arguments.labels, arguments.dst,
                             arguments.centroids, arguments.counts, arguments.result));
    }
};

/// gpv_sift_params with their defaults.
using SiftParams = detail::Initialised<gpv_sift_params, gpv_sift_params_init>;
/// gpv_sift_result, zero.
using SiftResult = detail::Initialised<gpv_sift_result, gpv_sift_result_init>;

/// The optional arguments of Sift::run().
struct SiftArguments {
    const gpv_image *mask = nullptr;     ///< GRAY8: 0 where no keypoint counts
    const Buffer *keypoints = nullptr;   ///< receives gpv_sift_keypoint
    std::uint32_t keypoint_stride = 0;   ///< bytes from record to record; 0 = without a gap
    const Buffer *descriptors = nullptr; ///< GPV_SIFT_DESCRIPTOR_LENGTH numbers for each keypoint
    const Buffer *result = nullptr;      ///< gpv_sift_result, where the backend computes
};

/// Scale-invariant features; see gpuvision/sift.h.
///
///     std::vector<gpv_sift_keypoint> keypoints(200);
///     gpv::Buffer buffer(keypoints);
///     sift.run(src, {.keypoints = &buffer});
///     sift.draw(picture, GPV_DRAW_STYLE_RICH, 0xff4000);
///     gpv::SiftResult found = sift.wait();
class Sift : public ResultOperator<Operator<gpv_sift, SiftParams, gpv_sift_create, gpv_sift_destroy,
                                            gpv_sift_set_params, gpv_sift_query>,
                                   SiftResult, gpv_sift_wait> {
  public:
    explicit Sift(const Context &context, const SiftParams &params = {})
        : ResultOperator(context, params) {}

    /// @param mask       NULL: runs without it
    /// @param keypoints  that runs will ask for in host memory, with descriptors, or that will be
    ///                   described
    void prepare(const gpv_image &src, const gpv_image *mask = nullptr,
                 std::int32_t keypoints = 0) {
        check(gpv_sift_prepare(handle(), &src, mask, keypoints));
    }

    /// Enqueues; what lies in host memory is there after wait().
    /// @param src  a picture
    void run(const gpv_image &src, const SiftArguments &arguments = {},
             gpv_stream stream = nullptr) {
        check(gpv_sift_run(handle(), stream, &src, arguments.mask, arguments.keypoints,
                           arguments.keypoint_stride, arguments.descriptors, arguments.result));
    }

    /// Enqueues the description of given keypoints, whoever has found them; descriptors in host
    /// memory are there after wait().
    /// @param keypoints    count gpv_sift_keypoint records
    /// @param descriptors  receives GPV_SIFT_DESCRIPTOR_LENGTH numbers for each, in the memory of
    ///                     keypoints
    /// @param keypoint_stride  bytes from record to record; 0 = without a gap
    void describe(const gpv_image &src, const gpv_buffer &keypoints, std::int32_t count,
                  const Buffer &descriptors, gpv_stream stream = nullptr,
                  std::uint32_t keypoint_stride = 0) {
        check(gpv_sift_describe(handle(), stream, &src, &keypoints, keypoint_stride, count,
                                &descriptors));
    }

    /// Enqueues the drawing of the keypoints that the last run has kept; dst in host memory is
    /// there after wait().
    /// @param dst    of any size
    /// @param style  GPV_DRAW_STYLE_POINTS or GPV_DRAW_STYLE_RICH
    /// @param color  0xRRGGBB
    void draw(const Image &dst, gpv_draw_style style, std::uint32_t color,
              gpv_stream stream = nullptr) {
        check(gpv_draw_keypoints(handle(), stream, &dst, style, color));
    }
};

/// gpv_match_params with their defaults.
using MatchParams = detail::Initialised<gpv_match_params, gpv_match_params_init>;
/// gpv_match_result, zero.
using MatchResult = detail::Initialised<gpv_match_result, gpv_match_result_init>;

/// x and y, from the centre of the first pixel.
using Point = std::array<float, 2>;

/// A set of descriptors of GPV_SIFT_DESCRIPTOR_TYPE_U8, without gaps. Empty by default.
struct Descriptors {
    gpv_buffer data = Buffer();
    std::int32_t count = 0; ///< at most as many as there are in data
};

/// The optional arguments of Match::run().
struct MatchArguments {
    const gpv_buffer *found = nullptr; ///< a gpv_sift_result, where the backend computes, whose
                                       ///< count limits that of the queries
    const Buffer *nearest = nullptr;   ///< receives gpv_match_nearest for each query
    const Buffer *pairs = nullptr;     ///< receives gpv_match_pair for each match
    const Buffer *result = nullptr;    ///< gpv_match_result, where the backend computes
};

/// Matching of SIFT descriptors; see gpuvision/match.h.
///
///     std::vector<gpv_match_pair> pairs(200);
///     gpv::Buffer buffer(pairs);
///     match.run({query, queries}, {train, trains}, {.pairs = &buffer});
///     gpv::MatchResult found = match.wait();
class Match
    : public ResultOperator<Operator<gpv_match, MatchParams, gpv_match_create, gpv_match_destroy,
                                     gpv_match_set_params, gpv_match_query>,
                            MatchResult, gpv_match_wait> {
  public:
    explicit Match(const Context &context, const MatchParams &params = {})
        : ResultOperator(context, params) {}

    /// @param query_count, train_count  maximum number of descriptors of each set
    /// @param memory           GPV_MEMORY_* of descriptors and outputs; HOST if they differ
    void prepare(std::int32_t query_count, std::int32_t train_count,
                 gpv_memory memory = GPV_MEMORY_HOST) {
        check(gpv_match_prepare(handle(), query_count, train_count, memory));
    }

    /// Enqueues; what lies in host memory is there after wait().
    void run(const Descriptors &query, const Descriptors &train,
             const MatchArguments &arguments = {}, gpv_stream stream = nullptr) {
        check(gpv_match_run(handle(), stream, &query.data, query.count, arguments.found,
                            &train.data, train.count, arguments.nearest, arguments.pairs,
                            arguments.result));
    }

    /// Draws a closed outline. dst in host memory is finished on return, else this enqueues.
    /// @param points  2..64
    /// @param width   of the line, pixels; 1..1000
    /// @param color   0xRRGGBB
    void draw(const Image &dst, std::span<const Point> points, float width, std::uint32_t color,
              gpv_stream stream = nullptr) {
        check(gpv_draw_outline(handle(), stream, &dst, detail::numbers_of(points),
                               detail::count_of(points.size()), width, color));
    }
};

/// gpv_homography_params with their defaults.
using HomographyParams = detail::Initialised<gpv_homography_params, gpv_homography_params_init>;
/// gpv_homography, not found.
using Homography = detail::Initialised<gpv_homography, gpv_homography_init>;

/// Finds the homography that takes most points of from to those of to, although many may be matched
/// wrongly; found is 0 if there is none. On the CPU; finished on return.
///
/// @param context  receives the text of an error
/// @param from     points of one picture
/// @param to       as many, of the other: from[i] is matched with to[i]
/// @param inliers  receives 1 for each pair that fits, else 0; as long as from, or empty
[[nodiscard]] inline Homography find_homography(const Context &context, std::span<const Point> from,
                                                std::span<const Point> to,
                                                const HomographyParams &params = {},
                                                std::span<std::uint8_t> inliers = {}) {
    if (to.size() != from.size() || (!inliers.empty() && inliers.size() != from.size()))
        throw Error(GPV_ERR_INVALID_ARGUMENT,
                    "to has " + std::to_string(to.size()) + " points and inliers has room for " +
                        std::to_string(inliers.size()) + ", must be as from, " +
                        std::to_string(from.size()));
    Homography homography;
    detail::check(gpv_homography_find(context.shared().get(), &params, detail::numbers_of(from),
                                      detail::numbers_of(to), detail::count_of(from.size()),
                                      inliers.empty() ? nullptr : inliers.data(), &homography),
                  context.native());
    return homography;
}

/// gpv_graphcut_params with their defaults.
using GraphcutParams = detail::Initialised<gpv_graphcut_params, gpv_graphcut_params_init>;
/// gpv_graphcut_result, zero.
using GraphcutResult = detail::Initialised<gpv_graphcut_result, gpv_graphcut_result_init>;

/// The optional arguments of Graphcut::run().
struct GraphcutArguments {
    const Buffer *result = nullptr; ///< gpv_graphcut_result, where the backend computes
};

/// Exact minimum cuts of graphs whose nodes are pixels; see gpuvision/graphcut.h.
///
///     graphcut.run(terminals, links, mask);
///     gpv::GraphcutResult found = graphcut.wait();
///
/// A capacity out of its range is found by wait(), which throws GPV_ERR_INVALID_ARGUMENT and says
/// which it is.
class Graphcut : public ResultOperator<
                     Operator<gpv_graphcut, GraphcutParams, gpv_graphcut_create,
                              gpv_graphcut_destroy, gpv_graphcut_set_params, gpv_graphcut_query>,
                     GraphcutResult, gpv_graphcut_wait> {
  public:
    explicit Graphcut(const Context &context, const GraphcutParams &params = {})
        : ResultOperator(context, params) {}

    void prepare(const gpv_image &links) { check(gpv_graphcut_prepare(handle(), &links)); }

    /// Enqueues; what lies in host memory is there after wait().
    /// @param terminals  LABEL32: capacity from the source less that to the sink
    /// @param links      CAP32X4 or CAP32X8: capacity to each neighbour
    /// @param mask       GRAY8: receives 255 on the side of the source, else 0
    void run(const gpv_image &terminals, const gpv_image &links, const Image &mask,
             const GraphcutArguments &arguments = {}, gpv_stream stream = nullptr) {
        check(gpv_graphcut_run(handle(), stream, &terminals, &links, &mask, arguments.result));
    }
};

/// gpv_expansion_params with their defaults.
using ExpansionParams = detail::Initialised<gpv_expansion_params, gpv_expansion_params_init>;
/// gpv_expansion_result, zero.
using ExpansionResult = detail::Initialised<gpv_expansion_result, gpv_expansion_result_init>;

/// The optional arguments of Expansion::run().
struct ExpansionArguments {
    const Buffer *result = nullptr; ///< gpv_expansion_result, where the backend computes
};

/// More than two labels by alpha expansion; see gpuvision/expansion.h.
///
///     const gpv_image *costs[] = {&first, &second, &third};
///     expansion.run(costs, links, labels);
///     gpv::ExpansionResult found = expansion.wait();
///
/// A value out of its range is found by wait(), which throws GPV_ERR_INVALID_ARGUMENT and says
/// which it is.
class Expansion
    : public ResultOperator<
          Operator<gpv_expansion, ExpansionParams, gpv_expansion_create, gpv_expansion_destroy,
                   gpv_expansion_set_params, gpv_expansion_query>,
          ExpansionResult, gpv_expansion_wait> {
  public:
    explicit Expansion(const Context &context, const ExpansionParams &params = {})
        : ResultOperator(context, params) {}

    /// @param count  number of labels
    void prepare(const gpv_image &links, std::int32_t count) {
        check(gpv_expansion_prepare(handle(), &links, count));
    }

    /// Enqueues; what lies in host memory is there after wait().
    /// @param costs   LABEL32, of each label: what it costs a pixel
    /// @param links   CAP32X4 or CAP32X8, of which the first half counts: what it costs that the
    ///                label of a neighbour differs
    /// @param labels  GRAY8: receives each pixel's label
    void run(std::span<const gpv_image *const> costs, const gpv_image &links, const Image &labels,
             const ExpansionArguments &arguments = {}, gpv_stream stream = nullptr) {
        check(gpv_expansion_run(handle(), stream, costs.data(), detail::count_of(costs.size()),
                                &links, &labels, arguments.result));
    }
};

/// gpv_segment_params with their defaults.
using SegmentParams = detail::Initialised<gpv_segment_params, gpv_segment_params_init>;

/// The optional arguments of Segment::run().
struct SegmentArguments {
    const gpv_image *seeds = nullptr; ///< GRAY8, of GPV_SEGMENT_SEED_BACKGROUND and the like
    const gpv_rect *rect = nullptr;   ///< what lies outside is background
    const Image *mask = nullptr;      ///< receives 255 in the foreground, else 0
    const Image *dst = nullptr;       ///< what params.output says; may be src
    const Buffer *result = nullptr;   ///< gpv_graphcut_result, where the backend computes
};

/// Foreground and background of a picture, by an exact minimum cut; see gpuvision/segment.h. The
/// element gpugraphcut does this.
///
///     segment.run(src, {.rect = &rect, .mask = &mask});
///     gpv::GraphcutResult found = segment.wait();
class Segment : public ResultOperator<
                    Operator<gpv_segment, SegmentParams, gpv_segment_create, gpv_segment_destroy,
                             gpv_segment_set_params, gpv_segment_query>,
                    GraphcutResult, gpv_segment_wait> {
  public:
    explicit Segment(const Context &context, const SegmentParams &params = {})
        : ResultOperator(context, params) {}

    /// Forgets what has been learned: the next run learns from its seeds.
    void forget() { check(gpv_segment_forget(handle())); }

    /// Whether the next run, with adapt or reuse, begins with what has been learned. Waits.
    bool learned() {
        std::uint32_t learned = 0;
        check(gpv_segment_learned(handle(), &learned));
        return learned != 0;
    }

    /// Of the arguments seeds, mask and dst are looked at.
    void prepare(const gpv_image &src, const SegmentArguments &arguments = {}) {
        check(gpv_segment_prepare(handle(), &src, arguments.seeds, arguments.mask, arguments.dst));
    }

    /// Enqueues; what lies in host memory is there after wait().
    /// @param src  a picture
    void run(const gpv_image &src, const SegmentArguments &arguments = {},
             gpv_stream stream = nullptr) {
        check(gpv_segment_run(handle(), stream, &src, arguments.seeds, arguments.rect,
                              arguments.mask, arguments.dst, arguments.result));
    }
};

/// @}

} // namespace cpp
} // namespace gpv
