// SPDX-License-Identifier: BSD-2-Clause
// Faults of CUDA, on the emulation and on a real device: every single call of the library fails
// once, or finds the context poisoned. And what the library promises of contexts, memory and
// waiting.

#include "simt.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <cuda.h>
#include <gpuvision/gpuvision.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/runtime.hpp"

namespace {

constexpr int max_failures = 20;
constexpr unsigned max_seconds = 10;           ///< for a process that loses its device
constexpr std::size_t max_bytes = 2 << 20;     ///< that the driver may take meanwhile
constexpr std::size_t contexts_of_callers = 3; ///< kinds: none, CUDA's own, another
constexpr std::uint8_t untouched = 0xC5, gone = 0xEE;

/// As under sanitizers, and on a GPU.
const bool short_run = std::getenv("GPV_TEST_SHORT") && !std::getenv("GPV_TEST_FULL");

/// Of ./dev test, which has a share of the calls, another one with each commit. All where it is not
/// set.
const char *const turn = std::getenv("GPV_TEST_FULL") ? nullptr : std::getenv("GPV_TEST_TURN");

/// One of so many calls of a scenario fails.
const std::size_t usual_step = short_run ? 48 : turn ? 24 : 1;

/// Whether contexts are poisoned in earnest. A process has but one that a device can lose.
bool poisons = simt::emulated();

int failures = 0;
std::string where;         ///< which scenario, and which of its calls fails
bool record_counts = true; ///< a lost context fills CUDA's record of errors again and again

void require(bool condition, const std::string &text) {
    if (condition)
        return;
    std::fprintf(stderr, "failed: %s: %s\n", where.c_str(), text.c_str());
    if (++failures == max_failures)
        std::exit(1);
}

void require_status(gpv_status status, gpv_status expected, const std::string &what) {
    require(status == expected,
            what + ": " + gpv_status_string(status) + " instead of " + gpv_status_string(expected));
}

// -------------------------------------------------------------------------- the table of calls

/// Notes which entries of the library's table have failed.
template <auto... entries>
class Watch {
  public:
    static constexpr std::size_t count = sizeof...(entries);

    static void begin() { (watch<entries>(), ...); }
    /// One after the other, as they stand in the list.
    static std::vector<bool> failed() { return {has_failed<entries>...}; }

  private:
    template <auto entry>
    static inline bool has_failed = false;

    template <auto entry>
    static void watch() {
        static const auto call = gpv::cuda::runtime.*entry;
        gpv::cuda::runtime.*entry = [](auto... arguments) {
            const cudaError_t error = call(arguments...);
            has_failed<entry> |= error != cudaSuccess && error != cudaErrorNotReady;
            return error;
        };
    }
};

using R = gpv::cuda::Runtime;
using Calls =
    Watch<&R::get_device_count, &R::get_device_properties, &R::get_device, &R::set_device,
          &R::malloc, &R::free, &R::malloc_host, &R::free_host, &R::memcpy_async, &R::memset_async,
          &R::stream_synchronize, &R::stream_wait_event, &R::stream_is_capturing, &R::event_create,
          &R::event_destroy, &R::event_record, &R::event_query, &R::event_synchronize,
          &R::func_set_attribute, &R::func_get_attributes, &R::launch_kernel,
          &R::launch_kernel_early, &R::launch_kernel_cooperative, &R::graph_create,
          &R::graph_destroy, &R::graph_add_kernel, &R::graph_add_early_edge,
          &R::graph_set_cooperative, &R::graph_instantiate, &R::graph_set_kernel, &R::graph_launch,
          &R::graph_exec_destroy>;
// All but get_context and set_context, which are not calls of the runtime.
static_assert((Calls::count + 2) * sizeof(void (*)()) == sizeof(R));

void require_all_failed() {
    where = "the table of calls";
    const std::vector<bool> failed = Calls::failed();
    for (std::size_t i = 0; i < failed.size(); i++)
        require(failed[i], "entry " + std::to_string(i + 1) + " of the list has never failed");
}

/// Whether another process says so, and in time. It may use the device if this one has not.
bool apart(const std::function<bool()> &body) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(max_seconds);
        std::_Exit(!body());
    }
    int status = 1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// ------------------------------------------------------------------- contexts of the driver

template <class Function>
Function *driver_function(const char *name) {
    void *function = nullptr;
#if CUDART_VERSION >= 12050
    cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault);
#else
    cudaGetDriverEntryPoint(name, &function, cudaEnableDefault);
#endif
    return reinterpret_cast<Function *>(function);
}

CUcontext current() {
    static auto *const get = driver_function<CUresult(CUcontext *)>("cuCtxGetCurrent");
    CUcontext context = nullptr;
    get(&context);
    return context;
}

void make_current(CUcontext context) {
    static auto *const set = driver_function<CUresult(CUcontext)>("cuCtxSetCurrent");
    set(context);
}

CUcontext primary() {
    static const CUcontext context = [] {
        cudaSetDevice(0);
        return current();
    }();
    return context;
}

class Current {
  public:
    explicit Current(CUcontext context) : before_(current()) { make_current(context); }
    ~Current() { make_current(before_); }
    Current(const Current &) = delete;
    Current &operator=(const Current &) = delete;

  private:
    CUcontext before_;
};

/// One that the program made.
CUcontext own_context() {
    static const CUcontext context = [] {
        const Current kept(current());
        return static_cast<CUcontext>(simt::own_context());
    }();
    return context;
}

/// Calls the library, which may change neither the current context nor CUDA's record of errors.
gpv_status call(const std::function<gpv_status()> &body) {
    const CUcontext before = current();
    const gpv_status status = body();
    require(current() == before, "the current context has changed");
    require(cudaGetLastError() == cudaSuccess || !record_counts, "CUDA's record holds an error");
    return status;
}

// ------------------------------------------------------------------------------------ memory

using Bytes = std::vector<std::uint8_t>;

/// Memory that the program sees, wherever the library takes it to be.
class Memory {
  public:
    Memory(std::size_t bytes, gpv_memory place) : place_(place), bytes_(bytes) {
        if (place == GPV_MEMORY_CUDA) {
            if (simt::malloc_visible(&device_, bytes) != cudaSuccess)
                require(false, "no memory for an image");
        } else {
            host_.resize(bytes);
        }
    }
    ~Memory() {
        if (device_)
            simt::free_visible(device_);
    }
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;

    gpv_memory place() const { return place_; }
    std::uint8_t *data() { return device_ ? static_cast<std::uint8_t *>(device_) : host_.data(); }
    std::size_t size() const { return bytes_; }
    Bytes bytes() { return {data(), data() + size()}; }

  private:
    gpv_memory place_;
    std::size_t bytes_;
    void *device_ = nullptr;
    Bytes host_;
};

struct Block {
    std::size_t bytes; ///< 0 = none
    gpv_memory place = GPV_MEMORY_HOST;
};

/// What a run reads and writes. The source is the first.
using Memories = std::vector<std::unique_ptr<Memory>>;

std::vector<Bytes> contents(const Memories &memories) {
    std::vector<Bytes> result;
    for (const auto &memory : memories)
        result.push_back(memory->bytes());
    return result;
}

std::size_t image_bytes(gpv_format format, int width, int height) {
    gpv_image image;
    return gpv_image_wrap(&image, sizeof image, format, width, height, nullptr, 0);
}

gpv_image image_in(Memory &memory, gpv_format format, int width, int height) {
    gpv_image image;
    gpv_image_wrap(&image, sizeof image, format, width, height, memory.data(), 0);
    image.memory = memory.place();
    return image;
}

gpv_buffer buffer_in(Memory &memory) {
    gpv_buffer buffer;
    gpv_buffer_init(&buffer, sizeof buffer);
    buffer.memory = memory.place();
    buffer.data = memory.data();
    buffer.size = memory.size();
    return buffer;
}

// -------------------------------------------------------------------------------- algorithms

/// A kind of run, and the calls of its algorithm.
struct Erosion {
    gpv_format format = GPV_FORMAT_GRAY8;
    int width = 45, height = 19;
    gpv_memory memory = GPV_MEMORY_CUDA;
    bool in_place = false;
    gpv_erode_operation operation = GPV_ERODE_OPERATION_ERODE;
    gpv_erode_shape shape = GPV_ERODE_SHAPE_RECT;
    int radius = 3;
    int iterations = 1;
    int threshold = 0;

    static inline const std::string algorithm = "erode";
    using Operator = gpv_erode;
    static constexpr auto create = gpv_erode_create;
    static constexpr auto destroy = gpv_erode_destroy;
    static constexpr auto set_params = gpv_erode_set_params;
    static constexpr auto query = gpv_erode_query;

    Erosion on_host() const {
        Erosion look = *this;
        look.memory = GPV_MEMORY_HOST;
        return look;
    }
    gpv_erode_params params() const {
        gpv_erode_params params;
        gpv_erode_params_init(&params, sizeof params);
        params.operation = operation;
        params.shape = shape;
        params.radius = radius;
        params.iterations = iterations;
        params.threshold = threshold;
        params.planes = GPV_ERODE_PLANES_ALL;
        return params;
    }
    std::vector<Block> blocks() const {
        const Block image = {image_bytes(format, width, height), memory};
        return {image, in_place ? Block{0} : image};
    }
    gpv_status prepare(Operator *op, const Memories &in) const {
        const gpv_image src = image_in(*in[0], format, width, height);
        return gpv_erode_prepare(op, &src);
    }
    gpv_status run(Operator *op, gpv_stream stream, const Memories &in) const {
        const gpv_image src = image_in(*in[0], format, width, height);
        const gpv_image dst = image_in(*in[in_place ? 0 : 1], format, width, height);
        return gpv_erode_run(op, stream, &src, &dst);
    }
    gpv_status wait(Operator *op, const Memories &) const { return gpv_erode_wait(op); }
};

struct Labelling {
    gpv_format format = GPV_FORMAT_GRAY8;
    int width = 45, height = 19;
    gpv_memory memory = GPV_MEMORY_CUDA;
    std::optional<gpv_format> labels = GPV_FORMAT_LABEL32;
    gpv_ccl_output output = GPV_CCL_OUTPUT_LABELS;
    gpv_memory record_memory = GPV_MEMORY_CUDA;
    int records = 300;
    gpv_ccl_mode mode = GPV_CCL_MODE_BINARY;
    int connectivity = 8;
    int threshold = 128;
    int min_area = 0;
    static constexpr bool in_place = false;

    static inline const std::string algorithm = "ccl";
    using Operator = gpv_ccl;
    static constexpr auto create = gpv_ccl_create;
    static constexpr auto destroy = gpv_ccl_destroy;
    static constexpr auto set_params = gpv_ccl_set_params;
    static constexpr auto query = gpv_ccl_query;

    Labelling on_host() const {
        Labelling look = *this;
        look.memory = GPV_MEMORY_HOST;
        return look;
    }
    gpv_ccl_params params() const {
        gpv_ccl_params params;
        gpv_ccl_params_init(&params, sizeof params);
        params.mode = mode;
        params.connectivity = connectivity;
        params.threshold = threshold;
        params.min_area = min_area;
        params.output = output;
        return params;
    }
    std::vector<Block> blocks() const {
        return {{image_bytes(format, width, height), memory},
                labels ? Block{image_bytes(*labels, width, height), memory} : Block{0},
                records ? Block{records * sizeof(gpv_ccl_component), record_memory} : Block{0},
                {sizeof(std::int32_t), GPV_MEMORY_CUDA}};
    }
    gpv_status prepare(Operator *op, const Memories &in) const {
        const gpv_image src = image_in(*in[0], format, width, height), dst = labels_in(in);
        return gpv_ccl_prepare(op, &src, labels ? &dst : nullptr, records);
    }
    gpv_status run(Operator *op, gpv_stream stream, const Memories &in) const {
        const gpv_image src = image_in(*in[0], format, width, height), dst = labels_in(in);
        const gpv_buffer components = buffer_in(*in[2]), count = buffer_in(*in[3]);
        return gpv_ccl_run(op, stream, &src, labels ? &dst : nullptr,
                           records ? &components : nullptr, 0, &count);
    }
    /// The result is what the run has counted.
    gpv_status wait(Operator *op, const Memories &in) const {
        gpv_ccl_result result;
        gpv_ccl_result_init(&result, sizeof result);
        const gpv_status status = gpv_ccl_wait(op, &result);
        if (status != GPV_OK)
            return status;
        std::int32_t count;
        std::memcpy(&count, in[3]->data(), sizeof count);
        require(result.count == count && result.count > 0 &&
                    result.components == (records ? count : 0),
                "the result is another one than the count");
        return status;
    }

  private:
    gpv_image labels_in(const Memories &in) const {
        return image_in(*in[1], labels.value_or(format), width, height);
    }
};

struct Clustering {
    gpv_format format = GPV_FORMAT_GRAY8;
    int width = 7, height = 3;
    gpv_memory memory = GPV_MEMORY_CUDA;
    std::optional<gpv_format> labels = GPV_FORMAT_GRAY8;
    bool recolor = true;
    bool in_place = false;
    gpv_memory table_memory = GPV_MEMORY_CUDA;
    int clusters = 33; ///< so many that colours are counted
    gpv_kmeans_init_method init = GPV_KMEANS_INIT_GRID;
    gpv_kmeans_color_space color_space = GPV_KMEANS_COLOR_SPACE_RGB;

    static inline const std::string algorithm = "kmeans";
    using Operator = gpv_kmeans;
    static constexpr auto destroy = gpv_kmeans_destroy;
    static constexpr auto query = gpv_kmeans_query;

    static gpv_status create(gpv_context *context, const gpv_kmeans_params *params, Operator **op) {
        const gpv_status status = gpv_kmeans_create(context, params, op);
        return status == GPV_OK ? give_centroids(*op, params) : status;
    }
    static gpv_status set_params(Operator *op, const gpv_kmeans_params *params) {
        const gpv_status status = gpv_kmeans_set_params(op, params);
        return status == GPV_OK ? give_centroids(op, params) : status;
    }

    Clustering on_host() const {
        Clustering look = *this;
        look.memory = GPV_MEMORY_HOST;
        return look;
    }
    gpv_kmeans_params params() const {
        gpv_kmeans_params params;
        gpv_kmeans_params_init(&params, sizeof params);
        params.clusters = clusters;
        params.max_clusters = max_chosen;
        params.max_iterations = 1;
        params.init = init;
        params.color_space = color_space;
        return params;
    }
    std::vector<Block> blocks() const {
        const std::size_t room = clusters ? clusters : max_chosen;
        const Block image = {image_bytes(format, width, height), memory};
        return {image,
                labels ? Block{image_bytes(*labels, width, height), memory} : Block{0},
                recolor && !in_place ? image : Block{0},
                {room * 3 * sizeof(float), table_memory},
                {room * sizeof(std::int32_t), table_memory},
                {sizeof(gpv_kmeans_result), GPV_MEMORY_CUDA}};
    }
    gpv_status prepare(Operator *op, const Memories &in) const {
        const Views views(*this, in);
        return gpv_kmeans_prepare(op, &views.src, labels ? &views.labels : nullptr,
                                  recolor ? &views.dst : nullptr);
    }
    gpv_status run(Operator *op, gpv_stream stream, const Memories &in) const {
        const Views views(*this, in);
        const gpv_buffer centroids = buffer_in(*in[3]), counts = buffer_in(*in[4]);
        const gpv_buffer result = buffer_in(*in[5]);
        return gpv_kmeans_run(op, stream, &views.src, labels ? &views.labels : nullptr,
                              recolor ? &views.dst : nullptr, &centroids, &counts, &result);
    }
    /// The result is the one that the run has left on the device.
    gpv_status wait(Operator *op, const Memories &in) const {
        gpv_kmeans_result result;
        gpv_kmeans_result_init(&result, sizeof result);
        const gpv_status status = gpv_kmeans_wait(op, &result);
        require(status != GPV_OK || (result.clusters > 0 &&
                                     std::memcmp(&result, in[5]->data(), sizeof result) == 0),
                "the result is another one than that on the device");
        return status;
    }

  private:
    static constexpr int max_chosen = 2;

    /// Greys.
    static gpv_status give_centroids(Operator *op, const gpv_kmeans_params *params) {
        if (!params || params->init != GPV_KMEANS_INIT_GIVEN)
            return GPV_OK;
        std::vector<float> levels(3 * params->clusters);
        for (std::size_t i = 0; i < levels.size(); i++)
            levels[i] = static_cast<float>(i / 3 * 255 / params->clusters);
        return gpv_kmeans_set_centroids(op, levels.data(), params->clusters);
    }

    struct Views {
        gpv_image src, labels, dst;

        Views(const Clustering &look, const Memories &in)
            : src(image_in(*in[0], look.format, look.width, look.height)),
              labels(image_in(*in[1], look.labels.value_or(look.format), look.width, look.height)),
              dst(image_in(*in[look.in_place ? 0 : 2], look.format, look.width, look.height)) {}
    };
};

/// Those of the picture, or descriptors of given ones; and marks in a picture.
struct Extraction {
    gpv_format format = GPV_FORMAT_GRAY8;
    int width = 32, height = 27;
    gpv_memory memory = GPV_MEMORY_CUDA;
    bool masked = false;
    gpv_memory table_memory = GPV_MEMORY_CUDA;
    bool descriptors = true;
    int given = 0; ///< keypoints to describe; 0: they are sought
    std::optional<gpv_format> drawn = {};
    gpv_memory drawn_memory = GPV_MEMORY_CUDA;
    int octave_layers = 3;
    bool upsample = false;
    gpv_sift_descriptor_type descriptor_type = GPV_SIFT_DESCRIPTOR_TYPE_U8;
    static constexpr bool in_place = false;

    static inline const std::string algorithm = "sift";
    static inline int found = 0;        ///< keypoints, by all runs
    static inline bool undrawn = false; ///< the last run has begun, its drawing has failed
    using Operator = gpv_sift;
    static constexpr auto create = gpv_sift_create;
    static constexpr auto destroy = gpv_sift_destroy;
    static constexpr auto set_params = gpv_sift_set_params;
    static constexpr auto query = gpv_sift_query;

    Extraction on_host() const {
        Extraction look = *this;
        look.memory = look.table_memory = look.drawn_memory = GPV_MEMORY_HOST;
        return look;
    }
    gpv_sift_params params() const {
        gpv_sift_params params;
        gpv_sift_params_init(&params, sizeof params);
        params.octave_layers = octave_layers;
        params.contrast_threshold = 0.01f;
        params.upsample = upsample;
        params.descriptor_type = descriptor_type;
        return params;
    }
    std::vector<Block> blocks() const {
        const std::size_t records = given ? given : room;
        const std::size_t number =
            descriptor_type == GPV_SIFT_DESCRIPTOR_TYPE_F32 ? sizeof(float) : 1;
        return {{image_bytes(format, width, height), memory},
                masked ? Block{image_bytes(GPV_FORMAT_GRAY8, width, height), memory} : Block{0},
                {records * sizeof(gpv_sift_keypoint), table_memory},
                descriptors ? Block{records * GPV_SIFT_DESCRIPTOR_LENGTH * number, table_memory}
                            : Block{0},
                {sizeof(gpv_sift_result), GPV_MEMORY_CUDA},
                drawn ? Block{image_bytes(*drawn, width, height), drawn_memory} : Block{0}};
    }
    /// What a run reads: squares of the noise, which have keypoints; in a mask; and given ones.
    void fill(const Memories &in) const {
        const Bytes noise = in[0]->bytes();
        const std::size_t pixel = format == GPV_FORMAT_RGB8 ? 3 : 1, row = width * pixel;
        for (std::size_t i = 0; i < row * height; i++)
            in[0]->data()[i] = noise[i / row / 5 * row + i % row / pixel / 5];
        for (std::size_t i = 0; i < in[1]->size(); i++)
            in[1]->data()[i] = (i % width / 8 + i / width / 8) % 4 ? 255 : 0;
        for (int i = 0; i < given; i++) {
            const auto at = static_cast<float>(i);
            const gpv_sift_keypoint keypoint = {2 * at, 25 - at, 2 + at / 8, 40 * at, 0, 0};
            std::memcpy(in[2]->data() + i * sizeof keypoint, &keypoint, sizeof keypoint);
        }
    }
    gpv_status prepare(Operator *op, const Memories &in) const {
        const Views views(*this, in);
        const int on_host = table_memory == GPV_MEMORY_HOST ? room : 0;
        return gpv_sift_prepare(op, &views.src, masked ? &views.mask : nullptr,
                                given ? given : on_host);
    }
    gpv_status run(Operator *op, gpv_stream stream, const Memories &in) const {
        const Views views(*this, in);
        const gpv_buffer keypoints = buffer_in(*in[2]), numbers = buffer_in(*in[3]);
        const gpv_buffer result = buffer_in(*in[4]);
        undrawn = false;
        if (given)
            return gpv_sift_describe(op, stream, &views.src, &keypoints, 0, given, &numbers);
        const gpv_status status =
            gpv_sift_run(op, stream, &views.src, masked ? &views.mask : nullptr, &keypoints, 0,
                         descriptors ? &numbers : nullptr, &result);
        if (status != GPV_OK || !drawn)
            return status;
        return draw(op, stream, in);
    }
    gpv_status draw(Operator *op, gpv_stream stream, const Memories &in) const {
        const Views views(*this, in);
        const gpv_status status =
            gpv_draw_keypoints(op, stream, &views.dst, GPV_DRAW_STYLE_RICH, 0xff8010);
        undrawn = status != GPV_OK;
        return status;
    }
    /// A run that has failed leaves neither a result nor anything to draw.
    gpv_status require_none(Operator *op, gpv_stream stream, const Memories &in) const {
        gpv_sift_result result;
        gpv_sift_result_init(&result, sizeof result);
        gpv_status status = gpv_sift_wait(op, &result);
        require(result.count == 0 && result.dropped == 0, "a failed run has a result");
        if (status != GPV_OK || !drawn)
            return status;
        const Bytes before = in[5]->bytes();
        status = draw(op, stream, in);
        if (status == GPV_OK)
            status = gpv_sift_wait(op, nullptr);
        require(in[5]->bytes() == before, "a failed run is drawn");
        return status;
    }
    /// The result is the one that the run has left on the device.
    gpv_status wait(Operator *op, const Memories &in) const {
        gpv_sift_result result, want;
        gpv_sift_result_init(&result, sizeof result);
        const gpv_status status = gpv_sift_wait(op, &result);
        if (status != GPV_OK)
            return status;
        std::memcpy(&want, in[4]->data(), sizeof want);
        if (given)
            require(result.count == given && result.dropped == 0, "not as many are described");
        else
            require(std::memcmp(&result, &want, sizeof want) == 0,
                    "the result is another one than that on the device");
        found += given ? 0 : result.count;
        return status;
    }

  private:
    static constexpr int room = 40;

    struct Views {
        gpv_image src, mask, dst;

        Views(const Extraction &look, const Memories &in)
            : src(image_in(*in[0], look.format, look.width, look.height)),
              mask(image_in(*in[1], GPV_FORMAT_GRAY8, look.width, look.height)),
              dst(image_in(*in[5], look.drawn.value_or(look.format), look.width, look.height)) {}
    };
};

/// Of random graphs, or of one that is refused.
struct Cutting {
    gpv_format format = GPV_FORMAT_CAP32X4;
    int width = 4, height = 2;
    gpv_memory memory = GPV_MEMORY_CUDA;
    bool certificate = false;
    int max_time_us = 0;
    bool refused = false; ///< the last capacity is out of its range
    static constexpr bool in_place = false;

    static inline const std::string algorithm = "graphcut";
    static inline std::int64_t flow = 0; ///< of all runs
    using Operator = gpv_graphcut;
    static constexpr auto create = gpv_graphcut_create;
    static constexpr auto destroy = gpv_graphcut_destroy;
    static constexpr auto set_params = gpv_graphcut_set_params;
    static constexpr auto query = gpv_graphcut_query;

    Cutting on_host() const {
        Cutting look = *this;
        look.memory = GPV_MEMORY_HOST;
        return look;
    }
    gpv_graphcut_params params() const {
        gpv_graphcut_params params;
        gpv_graphcut_params_init(&params, sizeof params);
        params.certificate = certificate;
        params.max_time_us = max_time_us;
        return params;
    }
    std::vector<Block> blocks() const {
        return {{image_bytes(GPV_FORMAT_LABEL32, width, height), memory},
                {image_bytes(format, width, height), memory},
                {image_bytes(GPV_FORMAT_GRAY8, width, height), memory},
                {sizeof(gpv_graphcut_result), GPV_MEMORY_CUDA}};
    }
    /// The noise becomes terminals of both signs, and capacities of which many are 0.
    void fill(const Memories &in) const {
        const Bytes noise = in[0]->bytes();
        const auto put = [](Memory &memory, std::size_t i, std::int32_t value) {
            std::memcpy(memory.data() + i * sizeof value, &value, sizeof value);
        };
        for (std::size_t i = 0; i < in[0]->size() / 4; i++)
            put(*in[0], i, noise[4 * i] - 128);
        for (std::size_t i = 0; i < in[1]->size() / 4; i++)
            put(*in[1], i, std::max(noise[(5 * i + i / noise.size()) % noise.size()] - 100, 0));
        if (refused)
            put(*in[0], in[0]->size() / 4 - 1, GPV_GRAPHCUT_MAX_TERMINAL + 1);
    }
    gpv_status prepare(Operator *op, const Memories &in) const {
        const gpv_image links = image_in(*in[1], format, width, height);
        return gpv_graphcut_prepare(op, &links);
    }
    gpv_status run(Operator *op, gpv_stream stream, const Memories &in) const {
        const gpv_image terminals = image_in(*in[0], GPV_FORMAT_LABEL32, width, height);
        const gpv_image links = image_in(*in[1], format, width, height);
        const gpv_image mask = image_in(*in[2], GPV_FORMAT_GRAY8, width, height);
        const gpv_buffer result = buffer_in(*in[3]);
        return gpv_graphcut_run(op, stream, &terminals, &links, &mask, &result);
    }
    /// The result is the one that the run has left on the device.
    gpv_status wait(Operator *op, const Memories &in) const {
        gpv_graphcut_result result;
        gpv_graphcut_result_init(&result, sizeof result);
        gpv_status status = gpv_graphcut_wait(op, &result);
        if (refused && status == GPV_ERR_INVALID_ARGUMENT && result.refused)
            status = GPV_OK;
        if (status != GPV_OK)
            return status;
        require(std::memcmp(&result, in[3]->data(), sizeof result) == 0,
                "the result is another one than that on the device");
        require(result.refused == refused && result.optimal == !refused,
                "no cut is found, or one that should be refused");
        flow += result.flow;
        return status;
    }
};

/// Of noise, some of which is known.
struct Segmentation {
    gpv_format format = GPV_FORMAT_RGB8;
    int width = 9, height = 4;
    gpv_memory memory = GPV_MEMORY_CUDA;
    gpv_segment_model model = GPV_SEGMENT_MODEL_MEANS; ///< takes the emulation least time
    int connectivity = 4, iterations = 1;
    gpv_format mask = GPV_FORMAT_GRAY8;
    static constexpr bool in_place = false;

    static inline const std::string algorithm = "segment";
    static inline std::int64_t area = 0; ///< of all runs
    using Operator = gpv_segment;
    static constexpr auto create = gpv_segment_create;
    static constexpr auto destroy = gpv_segment_destroy;
    static constexpr auto set_params = gpv_segment_set_params;
    static constexpr auto query = gpv_segment_query;

    Segmentation on_host() const {
        Segmentation look = *this;
        look.memory = GPV_MEMORY_HOST;
        return look;
    }
    gpv_segment_params params() const {
        gpv_segment_params params;
        gpv_segment_params_init(&params, sizeof params);
        params.model = model;
        params.connectivity = connectivity;
        params.iterations = iterations;
        params.certificate = 1;
        return params;
    }
    std::vector<Block> blocks() const {
        return {{image_bytes(format, width, height), memory},
                {image_bytes(GPV_FORMAT_GRAY8, width, height), memory},
                {image_bytes(mask, width, height), memory},
                {image_bytes(format, width, height), memory},
                {sizeof(gpv_graphcut_result), GPV_MEMORY_CUDA}};
    }
    void fill(const Memories &in) const {
        for (std::size_t i = 0; i < in[1]->size(); i++)
            in[1]->data()[i] = i % 7 == 0 ? 0 : i % 7 == 3 ? 255 : 100;
    }
    gpv_status prepare(Operator *op, const Memories &in) const {
        const Views views(*this, in);
        return gpv_segment_prepare(op, &views.src, &views.seeds, &views.mask, &views.dst);
    }
    gpv_status run(Operator *op, gpv_stream stream, const Memories &in) const {
        const Views views(*this, in);
        const gpv_buffer result = buffer_in(*in[4]);
        return gpv_segment_run(op, stream, &views.src, &views.seeds, nullptr, &views.mask,
                               &views.dst, &result);
    }
    /// The result is the one that the run has left on the device.
    gpv_status wait(Operator *op, const Memories &in) const {
        gpv_graphcut_result result;
        gpv_graphcut_result_init(&result, sizeof result);
        const gpv_status status = gpv_segment_wait(op, &result);
        if (status != GPV_OK)
            return status;
        require(std::memcmp(&result, in[4]->data(), sizeof result) == 0,
                "the result is another one than that on the device");
        require(result.optimal && result.flow == result.cut, "the cut is not minimal");
        area += result.area;
        return status;
    }

  private:
    struct Views {
        gpv_image src, seeds, mask, dst;
        Views(const Segmentation &look, const Memories &in)
            : src(image_in(*in[0], look.format, look.width, look.height)),
              seeds(image_in(*in[1], GPV_FORMAT_GRAY8, look.width, look.height)),
              mask(image_in(*in[2], look.mask, look.width, look.height)),
              dst(image_in(*in[3], look.format, look.width, look.height)) {}
    };
};

/// Of descriptors some of which are on both sides; and an outline.
struct Matching {
    int queries = 40, trains = 50;
    gpv_memory memory = GPV_MEMORY_CUDA;
    gpv_memory table_memory = GPV_MEMORY_CUDA;
    bool mutual = true;
    std::optional<int> counted = {}; ///< queries, as the device knows
    std::optional<gpv_format> drawn = {};
    gpv_memory drawn_memory = GPV_MEMORY_CUDA;
    int width = 21; ///< of what is drawn into
    static constexpr int height = 9;
    static constexpr bool in_place = false;

    static inline const std::string algorithm = "match";
    static inline int found = 0;        ///< matches, by all runs
    static inline bool undrawn = false; ///< the last run has begun, its drawing has failed
    using Operator = gpv_match;
    static constexpr auto create = gpv_match_create;
    static constexpr auto destroy = gpv_match_destroy;
    static constexpr auto set_params = gpv_match_set_params;
    static constexpr auto query = gpv_match_query;

    Matching on_host() const {
        Matching look = *this;
        look.memory = look.table_memory = look.drawn_memory = GPV_MEMORY_HOST;
        return look;
    }
    gpv_match_params params() const {
        gpv_match_params params;
        gpv_match_params_init(&params, sizeof params);
        params.mutual = mutual;
        return params;
    }
    std::vector<Block> blocks() const {
        return {{std::size_t(queries) * GPV_SIFT_DESCRIPTOR_LENGTH, memory},
                {std::size_t(trains) * GPV_SIFT_DESCRIPTOR_LENGTH, memory},
                counted ? Block{sizeof(gpv_sift_result), GPV_MEMORY_CUDA} : Block{0},
                {queries * sizeof(gpv_match_nearest), table_memory},
                {queries * sizeof(gpv_match_pair), table_memory},
                {sizeof(gpv_match_result), GPV_MEMORY_CUDA},
                drawn ? Block{image_bytes(*drawn, width, height), drawn_memory} : Block{0}};
    }
    /// The noise becomes descriptors of the other side, too, elsewhere, some of them twice.
    void fill(const Memories &in) const {
        for (std::size_t i = 0; i < in[1]->size(); i++) {
            const std::size_t other = i / GPV_SIFT_DESCRIPTOR_LENGTH * 7 % queries;
            in[1]->data()[i] =
                in[0]->data()[other * GPV_SIFT_DESCRIPTOR_LENGTH + i % GPV_SIFT_DESCRIPTOR_LENGTH];
        }
        if (!counted)
            return;
        const gpv_sift_result result = {sizeof result, *counted, 0, 0};
        std::memcpy(in[2]->data(), &result, sizeof result);
    }
    gpv_status prepare(Operator *op, const Memories &) const {
        const bool host = memory == GPV_MEMORY_HOST || table_memory == GPV_MEMORY_HOST;
        return gpv_match_prepare(op, queries, trains, host ? GPV_MEMORY_HOST : GPV_MEMORY_CUDA);
    }
    gpv_status run(Operator *op, gpv_stream stream, const Memories &in) const {
        const gpv_buffer query = buffer_in(*in[0]), train = buffer_in(*in[1]);
        const gpv_buffer count = buffer_in(*in[2]), nearest = buffer_in(*in[3]);
        const gpv_buffer pairs = buffer_in(*in[4]), result = buffer_in(*in[5]);
        undrawn = false;
        const gpv_status status =
            gpv_match_run(op, stream, &query, queries, counted ? &count : nullptr, &train, trains,
                          &nearest, &pairs, &result);
        return status == GPV_OK && drawn ? draw(op, stream, in) : status;
    }
    gpv_status draw(Operator *op, gpv_stream stream, const Memories &in) const {
        const float points[] = {2, 1, 17, 3, 9, 12};
        const gpv_image dst = image_in(*in[6], *drawn, width, height);
        const gpv_status status = gpv_draw_outline(op, stream, &dst, points, 3, 2, 0xff8010);
        undrawn = status != GPV_OK;
        return status;
    }
    /// A run that has failed leaves no result.
    gpv_status require_none(Operator *op, gpv_stream, const Memories &) const {
        gpv_match_result result;
        gpv_match_result_init(&result, sizeof result);
        const gpv_status status = gpv_match_wait(op, &result);
        require(result.count == 0 && result.queries == 0, "a failed run has a result");
        return status;
    }
    /// The result is the one that the run has left on the device.
    gpv_status wait(Operator *op, const Memories &in) const {
        gpv_match_result result;
        gpv_match_result_init(&result, sizeof result);
        const gpv_status status = gpv_match_wait(op, &result);
        if (status != GPV_OK)
            return status;
        require(std::memcmp(&result, in[5]->data(), sizeof result) == 0,
                "the result is another one than that on the device");
        found += result.count;
        return status;
    }
};

// ---------------------------------------------------------------------------------- pictures

/// What the CPU makes of it.
template <class Look>
std::vector<Bytes> computed_by_cpu(const Look &look, const std::vector<Bytes> &before) {
    gpv_context_params params;
    gpv_context_params_init(&params, sizeof params);
    params.backend = GPV_BACKEND_CPU;
    gpv_context *context = nullptr;
    typename Look::Operator *op = nullptr;
    const auto of_operator = look.params();
    Memories memories;
    for (const Bytes &bytes : before) {
        memories.push_back(std::make_unique<Memory>(bytes.size(), GPV_MEMORY_HOST));
        std::copy(bytes.begin(), bytes.end(), memories.back()->data());
    }
    if (gpv_context_create(&params, &context) != GPV_OK ||
        Look::create(context, &of_operator, &op) != GPV_OK ||
        look.run(op, nullptr, memories) != GPV_OK)
        require(false, "the CPU cannot compute");
    Look::destroy(&op);
    gpv_context_destroy(&context);
    return contents(memories);
}

/// Noise, and places for what becomes of it.
template <class Look>
class Pictures {
  public:
    explicit Pictures(const Look &look) : look_(look) {
        for (const Block &block : look.blocks())
            memories_.push_back(std::make_unique<Memory>(block.bytes, block.place));
        renew();
    }

    void renew() {
        static std::uint32_t state = 1;
        fill(untouched);
        Memory &src = *memories_[0];
        for (std::size_t i = 0; i < src.size(); i++) {
            state = state * 1664525 + 1013904223;
            src.data()[i] = static_cast<std::uint8_t>(state >> 24);
        }
        if constexpr (requires { look_.fill(memories_); })
            look_.fill(memories_);
        before_ = contents(memories_);
    }
    void fill(std::uint8_t value) {
        for (const auto &memory : memories_)
            std::fill_n(memory->data(), memory->size(), value);
        before_ = contents(memories_);
    }

    const Memories &memories() const { return memories_; }
    bool right() const { return contents(memories_) == computed_by_cpu(look_, before_); }
    bool as_before() const { return contents(memories_) == before_; }
    bool as_before_on_host() const {
        for (std::size_t i = 0; i < memories_.size(); i++)
            if (memories_[i]->place() == GPV_MEMORY_HOST && memories_[i]->bytes() != before_[i])
                return false;
        return true;
    }

  private:
    Look look_;
    Memories memories_;
    std::vector<Bytes> before_;
};

// ---------------------------------------------------------------------------------- sessions

enum class Act { create_context, create, prepare, change, run, draw, wait, sync, query };

const char *name_of(Act act) {
    static const char *const names[] = {
        "gpv_context_create", "create", "prepare", "set_params", "run", "draw", "wait",
        "gpv_stream_sync",    "query"};
    return names[static_cast<int>(act)];
}

bool waits(Act act) {
    return act >= Act::wait;
}

void keep_text(void *text, gpv_log_level, const char *line) {
    *static_cast<std::string *>(text) = line;
}

/// A context and an operator at work.
template <class Look>
struct Session {
    explicit Session(const Look &look) : look(look) {
        gpv_context_params_init(&params, sizeof params);
        params.backend = GPV_BACKEND_CUDA;
        params.log = keep_text;
        params.user = &text;
        show(look);
    }
    ~Session() {
        destroy();
        const Current of_images(images_context);
        pictures.clear();
    }
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;

    /// Other pictures; those before must not be touched any more.
    void show(const Look &other) {
        look = other;
        const Current of_images(images_context);
        pictures.push_back(std::make_unique<Pictures<Look>>(look));
    }
    Pictures<Look> &shown() { return *pictures.back(); }

    gpv_status perform(Act act) {
        const gpv_status status = call([&] { return attempt(act); });
        if (status == GPV_OK && waits(act))
            require(shown().right(), std::string(name_of(act)) + " succeeds, the picture is wrong");
        return status;
    }
    void succeed(const std::vector<Act> &acts) {
        for (const Act act : acts)
            require_status(perform(act), GPV_OK, name_of(act) + (": " + text));
    }
    void destroy() {
        call([&] {
            Look::destroy(&op);
            gpv_context_destroy(&context);
            return GPV_OK;
        });
    }

    Look look;
    CUcontext images_context = primary();
    gpv_context_params params;
    gpv_context *context = nullptr;
    typename Look::Operator *op = nullptr;
    cudaStream_t stream = nullptr;
    std::string text; ///< of the last error
    std::vector<std::unique_ptr<Pictures<Look>>> pictures;

  private:
    gpv_status attempt(Act act) {
        const auto of_operator = look.params();
        const Memories &memories = shown().memories();
        gpv_status status = GPV_NOT_READY;
        switch (act) {
        case Act::create_context:
            status = gpv_context_create(&params, &context);
            require((status == GPV_OK) == (context != nullptr), "a context, or an error");
            return status;
        case Act::create:
            status = Look::create(context, &of_operator, &op);
            require((status == GPV_OK) == (op != nullptr), "an operator, or an error");
            return status;
        case Act::prepare:
            return look.prepare(op, memories);
        case Act::change:
            return Look::set_params(op, &of_operator);
        case Act::run:
            return look.run(op, stream, memories);
        case Act::draw:
            if constexpr (requires { look.draw(op, stream, memories); })
                return look.draw(op, stream, memories);
            return status;
        case Act::wait:
            return look.wait(op, memories);
        case Act::sync:
            return gpv_stream_sync(context, stream);
        case Act::query:
            for (int i = 0; i < 1000 && status == GPV_NOT_READY; i++) {
                status = Look::query(op);
                if (status == GPV_NOT_READY && !simt::emulated())
                    usleep(1000); // which has done more by then
            }
            return status;
        }
        return status;
    }
};

/// A stream of the program's own.
class Stream {
  public:
    Stream() {
        const Current context(primary());
        cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    }
    ~Stream() {
        const Current context(primary());
        cudaStreamDestroy(stream_);
    }
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;
    operator cudaStream_t() const { return stream_; }

  private:
    cudaStream_t stream_ = nullptr;
};

// -------------------------------------------------------------------------- one fault a time

/// The status that an error of CUDA calls for.
gpv_status status_for(const std::string &text) {
    static const std::pair<const char *, gpv_status> kinds[] = {
        {"cudaErrorIllegalAddress", GPV_ERR_DEVICE_LOST},
        {"was poisoned", GPV_ERR_DEVICE_LOST},
        {"cudaErrorMemoryAllocation", GPV_ERR_OUT_OF_MEMORY},
        {"no memory for", GPV_ERR_OUT_OF_MEMORY},
        {"no usable CUDA device", GPV_ERR_NO_DEVICE},
        {"cudaErrorUnknown", GPV_ERR_DEVICE},
        {"cudaErrorLaunchOutOfResources", GPV_ERR_DEVICE},
    };
    for (const auto &[part, status] : kinds)
        if (text.find(part) != std::string::npos)
            return status;
    require(false, "an error text that says nothing of CUDA: " + text);
    return GPV_ERR_INTERNAL;
}

enum class Fault {
    once,      ///< a call fails; then the same act again
    elsewhere, ///< a call fails; then a run on other pictures, or none
    poison     ///< a call finds the context poisoned
};

template <class Look>
struct Scenario {
    std::string name;
    Look look;
    std::vector<Act> before; ///< without a fault
    std::vector<Act> acts;
    bool own_stream = false;
    std::optional<Look> later = {}; ///< of the acts, where it is another one
};

/// After an error the operator can be used again, and nothing holds on to the pictures.
template <class Look>
void recover(Session<Look> &session, Act failed, Fault fault, bool pending, std::size_t k) {
    if (failed == Act::create_context)
        session.succeed({Act::create_context});
    if (failed <= Act::create)
        session.succeed({Act::create});
    if (failed == Act::prepare || failed == Act::change)
        session.succeed({failed});
    if (waits(failed) && fault == Fault::once)
        return session.succeed({Act::wait}); // the run itself has done its work
    if constexpr (requires { Look::undrawn; }) {
        if (failed == Act::run && Look::undrawn && fault == Fault::once)
            return session.succeed({Act::draw, Act::wait}); // likewise
        pending |= failed == Act::run && Look::undrawn;
        if (failed == Act::run && !Look::undrawn && k % 2)
            require_status(call([&] {
                               return session.look.require_none(session.op, session.stream,
                                                                session.shown().memories());
                           }),
                           GPV_OK, "after a failed run");
    }
    Pictures<Look> &old = session.shown();
    old.fill(gone);
    if (fault == Fault::elsewhere && k % 3 == 0) {
        session.destroy();
    } else {
        session.show(session.look);
        if (fault == Fault::elsewhere && k % 3 == 1)
            session.succeed({Act::prepare});
        session.succeed({Act::run, Act::wait});
    }
    // What has not been waited for may still write to the device.
    require(pending || (waits(failed) ? old.as_before_on_host() : old.as_before()),
            "a picture is written after its run has failed");
}

template <class Look>
void require_lost(Session<Look> &session) {
    using enum Act;
    if (!session.context)
        return;
    const auto lost = [](gpv_status status, const char *what) {
        require_status(status, GPV_ERR_DEVICE_LOST, std::string("once lost, ") + what);
    };
    for (const bool again : {false, true}) {
        typename Look::Operator *op = nullptr;
        lost(call([&] { return Look::create(session.context, nullptr, &op); }),
             again ? "create again" : "create");
        lost(session.perform(sync), name_of(sync));
        if (!session.op)
            continue;
        for (const Act act : {run, wait, query, prepare, change})
            lost(session.perform(act), name_of(act));
    }
}

/// Whether there was a k-th call.
template <class Look>
bool attempt(const Scenario<Look> &scenario, Fault fault, std::size_t k) {
    const Stream stream;
    Session session(scenario.look);
    const std::size_t kind = k % contexts_of_callers;
    const Current of_caller(kind == 0 ? nullptr : kind == 1 ? primary() : own_context());
    if (scenario.own_stream)
        session.stream = stream;
    session.succeed(scenario.before);
    if (scenario.later)
        session.show(*scenario.later);

    const std::size_t start = simt::calls();
    fault == Fault::poison ? simt::poison_call(k) : simt::fail_call(k);
    gpv_status status = GPV_OK;
    Act failed = {};
    bool pending = false; // a run before the call that fails
    for (const Act act : scenario.acts) {
        status = session.perform(failed = act);
        if (status != GPV_OK)
            break;
        pending = act == Act::run || (pending && !waits(act));
    }
    // A failed gpv_stream_sync() says nothing of the operator, which goes on.
    pending = pending && (failed == Act::run || failed == Act::sync);
    const std::string text = session.text;
    if (status == GPV_OK)
        session.destroy();
    const bool reached = simt::calls() - start >= k;
    simt::fail_call(0);
    simt::poison_call(0);

    where += status == GPV_OK ? "" : std::string(", ") + name_of(failed) + " says: " + text;
    require(status == GPV_OK || reached, "an error that nobody injected");
    if (status != GPV_OK)
        require_status(status, status_for(text), "kind of the error");
    if (status != GPV_OK && fault == Fault::poison)
        require_lost(session);
    else if (status != GPV_OK)
        recover(session, failed, fault, pending, k);
    session.destroy();
    if (fault == Fault::poison)
        simt::reset();
    return reached;
}

/// Of the device's memory, by whomever.
std::size_t used_bytes() {
    std::size_t unused = 0, total = 0;
    cudaMemGetInfo(&unused, &total);
    return total - unused;
}

/// attempt(fault, k) has the k-th call fail, for every k, and says whether there was one. With a
/// larger step for the first, and then for one of so many, which are others with each fault.
void fail_each(const std::string &name, const std::vector<Fault> &faults,
               const std::function<bool(Fault, std::size_t)> &attempt,
               std::size_t step = usual_step) {
    // By what ./dev test has not chosen this program by.
    static std::size_t rounds = turn ? std::strtoul(turn, nullptr, 10) / 12 : 0;
    // What the first of each kind takes of a device is not the library's: kernels, and a context.
    static bool loaded = simt::emulated();
    for (std::size_t k = 1; !loaded && k <= contexts_of_callers; k++) {
        where = name + ": the first call " + std::to_string(k);
        attempt(Fault::once, k);
    }
    loaded = true;
    std::size_t tried = 0, used = 0;
    for (const Fault fault : faults) {
        static const char *const names[] = {"fails", "fails, on with others", "is poisoned"};
        const std::size_t second = 2 + rounds++ % step;
        bool reached = true;
        record_counts = fault != Fault::poison;
        for (std::size_t k = 1; reached; k = k == 1 ? second : k + step) {
            where = name + ": call " + std::to_string(k) + " " + names[static_cast<int>(fault)];
            const std::size_t bytes = simt::live_bytes(), objects = simt::live_objects();
            reached = attempt(fault, k);
            tried += reached;
            require(simt::live_bytes() == bytes,
                    std::to_string(simt::live_bytes() - bytes) + " bytes leak");
            require(simt::live_objects() == objects,
                    std::to_string(simt::live_objects() - objects) + " objects leak");
        }
        used = used ? used : used_bytes();
    }
    require(used_bytes() <= used + max_bytes, "the device has less memory");
    record_counts = true;
    require(tried != 0, name + ": no call that could fail");
    std::printf("%-72s %5zu faults\n", name.c_str(), tried);
}

template <class Look>
void test(const Scenario<Look> &scenario) {
    fail_each(scenario.name, {Fault::once, Fault::elsewhere, Fault::poison},
              [&](Fault fault, std::size_t k) { return attempt(scenario, fault, k); });
}

// --------------------------------------------------------------------------------- scenarios

constexpr gpv_erode_operation gradient = GPV_ERODE_OPERATION_GRADIENT,
                              open = GPV_ERODE_OPERATION_OPEN;

template <class Look>
using Looks = std::vector<std::pair<std::string, Look>>;

const Looks<Erosion> erosions = {
    {"grey", {}},
    {"NV12, several kernels", {.format = GPV_FORMAT_NV12, .operation = gradient}},
    {"NV12, in place", {.format = GPV_FORMAT_NV12, .in_place = true, .operation = open}},
    {"binary", {.threshold = 100}},
    {"RGB, binary", {.format = GPV_FORMAT_RGB8, .operation = open, .threshold = 100}},
    {"ellipse, 16 bits",
     {.format = GPV_FORMAT_GRAY16, .width = 35, .shape = GPV_ERODE_SHAPE_ELLIPSE, .radius = 5}},
};

const Looks<Labelling> labellings = {
    {"labels", {}},
    {"labels of RGB, records in host memory",
     {.format = GPV_FORMAT_RGB8,
      .labels = GPV_FORMAT_P016,
      .record_memory = GPV_MEMORY_HOST,
      .records = 100}},
    {"colours of NV12, without the small ones",
     {.format = GPV_FORMAT_NV12,
      .labels = GPV_FORMAT_NV12,
      .output = GPV_CCL_OUTPUT_COLORS,
      .records = 0,
      .connectivity = 4,
      .min_area = 3}},
    {"records of equal luma, in host memory",
     {.labels = {},
      .record_memory = GPV_MEMORY_HOST,
      .mode = GPV_CCL_MODE_EQUAL_VALUE,
      .threshold = 200}},
    {"count", {.labels = {}, .records = 0}},
};

/// Small, since the emulation takes long over blocks that wait for each other.
const Looks<Clustering> clusterings = {
    {"labels and colours", {}},
    {"NV12 in place, centroids in host memory",
     {.format = GPV_FORMAT_NV12, .labels = {}, .in_place = true, .table_memory = GPV_MEMORY_HOST}},
    {"labels in Lab, of given centroids, pixel by pixel",
     {.labels = GPV_FORMAT_I420,
      .recolor = false,
      .clusters = 2,
      .init = GPV_KMEANS_INIT_GIVEN,
      .color_space = GPV_KMEANS_COLOR_SPACE_LAB}},
    {"a chosen number of drawn centroids",
     {.labels = {}, .recolor = false, .clusters = 0, .init = GPV_KMEANS_INIT_PLUSPLUS}},
};

/// Small, since blurs take the emulation long.
const Looks<Extraction> extractions = {
    {"keypoints and descriptors", {}},
    {"NV12 with a mask, in host memory but for the picture, drawn on the device",
     {.format = GPV_FORMAT_NV12,
      .masked = true,
      .table_memory = GPV_MEMORY_HOST,
      .drawn = GPV_FORMAT_NV12}},
    {"keypoints of RGB, drawn on the device",
     {.format = GPV_FORMAT_RGB8, .descriptors = false, .drawn = GPV_FORMAT_BGRA8}},
    {"filters that are not the usual ones",
     {.octave_layers = 2, .descriptor_type = GPV_SIFT_DESCRIPTOR_TYPE_F32}},
    {"given keypoints", {.given = 7}},
    {"given keypoints in host memory", {.table_memory = GPV_MEMORY_HOST, .given = 7}},
};

/// Small, for the reason of the clusterings.
const Looks<Cutting> cuttings = {
    {"4 neighbours", {}},
    {"8 neighbours, with a certificate", {.format = GPV_FORMAT_CAP32X8, .certificate = true}},
    {"a time limit that is never reached", {.max_time_us = INT32_MAX}},
    {"8 neighbours, a column",
     {.format = GPV_FORMAT_CAP32X8, .width = 1, .height = 9, .certificate = true}},
    {"a value out of its range", {.certificate = true, .refused = true}},
};

/// Likewise.
const Looks<Segmentation> segmentations = {
    {"of RGB", {}},
    {"of NV12, 8 neighbours, two rounds",
     {.format = GPV_FORMAT_NV12, .connectivity = 8, .iterations = 2, .mask = GPV_FORMAT_NV12}},
    {"by a histogram, a row", {.width = 11, .height = 1, .model = GPV_SEGMENT_MODEL_HISTOGRAM}},
    {"of grey, a mask of I420", {.format = GPV_FORMAT_GRAY8, .mask = GPV_FORMAT_I420}},
};

/// Small, since a block has many queries, of which the emulation computes each.
const Looks<Matching> matchings = {
    {"the usual", {}},
    {"as many as were found, not mutual, outputs in host memory",
     {.table_memory = GPV_MEMORY_HOST, .mutual = false, .counted = 23}},
    {"drawn on the device", {.queries = 9, .trains = 3, .drawn = GPV_FORMAT_I420}},
    {"one", {.queries = 1, .trains = 1}},
};

/// To draw in host memory takes memory of its own, which nobody prepares.
const Extraction drawn_on_host = {.drawn = GPV_FORMAT_GRAY8, .drawn_memory = GPV_MEMORY_HOST};

/// The library looks functions of the driver up once, and must not remember that it failed.
void test_first_call() {
    std::size_t k = 1;
    for (bool reached = true; reached; k++) {
        const pid_t child = fork();
        if (child == 0) {
            where = "first call: call " + std::to_string(k) + " fails";
            Session session(Erosion{});
            const Current none(nullptr);
            const std::size_t start = simt::calls();
            simt::fail_call(k);
            if (session.perform(Act::create_context) != GPV_OK)
                session.succeed({Act::create_context});
            reached = simt::calls() - start >= k;
            simt::fail_call(0);
            session.succeed({Act::create});
            std::_Exit(failures != 0 ? 1 : reached ? 0 : 2);
        }
        int status = 0;
        waitpid(child, &status, 0);
        require(WIFEXITED(status) && WEXITSTATUS(status) != 1, "the first call of the process");
        reached = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    std::printf("%-72s %5zu faults\n", "first call of the process", k - 2);
}

template <class Look>
void test_faults(const Looks<Look> &looks) {
    using enum Act;
    const std::vector<Act> created = {create_context, create};
    for (const auto &[name, look] : looks) {
        const std::string on = Look::algorithm + ", " + name + ", on the device: ";
        test<Look>({on + "run, wait, run, wait", look, created, {run, wait, run, wait}});
        test<Look>({on + "prepare, run, sync", look, created, {prepare, run, sync}, true});
        const std::string host = Look::algorithm + ", " + name + ", in host memory: ";
        const Look other = look.on_host();
        test<Look>({host + "prepare, run, run, wait", other, created, {prepare, run, run, wait}});
        test<Look>({host + "run, sync, run, sync", other, created, {run, sync, run, sync}, true});
        test<Look>({host + "run, query", other, created, {run, query}});
    }
}

/// A run on larger pictures, with other parameters.
template <class Look>
void test_change(const Look &first, const Look &larger) {
    using enum Act;
    const bool host = larger.memory == GPV_MEMORY_HOST;
    const std::string on = Look::algorithm + (host ? ", in host memory: " : ", on the device: ");
    test<Look>({on + "other parameters and a larger picture",
                first,
                {create_context, create, run, wait},
                {change, run, wait},
                false,
                larger});
    test<Look>({on + "a larger picture while the last run is pending",
                first,
                {create_context, create, run},
                {change, run, wait},
                false,
                larger});
}

void test_faults() {
    using enum Act;
    test<Erosion>({"context", {}, {}, {create_context}});
    test<Erosion>({"operator of erode", {}, {create_context}, {create}});
    test<Labelling>({"operator of ccl", {}, {create_context}, {create}});
    test<Clustering>({"operator of kmeans", {}, {create_context}, {create}});
    test_faults(erosions);
    test_faults(labellings);
    test<Erosion>(
        {"more kernels than a graph takes",
         {.width = 33, .height = 1, .shape = GPV_ERODE_SHAPE_CROSS, .radius = 1, .iterations = 99},
         {create_context, create},
         {run, wait}});
    const Erosion eroded = {
        .format = GPV_FORMAT_NV12, .width = 83, .height = 61, .operation = gradient};
    const Labelling labelled = {.width = 53,
                                .height = 23,
                                .record_memory = GPV_MEMORY_HOST,
                                .records = 600,
                                .connectivity = 4};
    test_change({}, eroded);
    test_change(Erosion{}.on_host(), eroded.on_host());
    test_change({}, labelled);
    test_change(Labelling{}.on_host(), labelled.on_host());
    const Clustering device, host = {.memory = GPV_MEMORY_HOST, .table_memory = GPV_MEMORY_HOST};
    const std::vector<Act> created = {create_context, create};
    test<Clustering>(
        {"kmeans, on the device: prepare, run, sync", device, created, {prepare, run, sync}});
    test<Clustering>({"kmeans, in host memory: run, query", host, created, {run, query}});
    test<Clustering>({"kmeans, other parameters while the last run is pending",
                      device,
                      {create_context, create, run},
                      {change},
                      true,
                      clusterings[2].second});
}

/// Captures a run, and launches the graph.
template <class Look>
gpv_status capture(Session<Look> &session, const std::function<gpv_status()> &run) {
    cudaGraph_t graph = nullptr;
    cudaStreamBeginCapture(session.stream, cudaStreamCaptureModeThreadLocal);
    const gpv_status status = run();
    const cudaError_t ended = cudaStreamEndCapture(session.stream, &graph);
    if (status == GPV_OK) {
        cudaGraphExec_t executable = nullptr;
        require(ended == cudaSuccess && cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess,
                "a run spoils its capture");
        require(simt::pending() == 0 && session.shown().as_before(), "the run has happened");
        cudaGraphLaunch(executable, session.stream);
        cudaStreamSynchronize(session.stream);
        require(session.shown().right(), "the picture of a captured run is wrong");
        cudaGraphExecDestroy(executable);
    }
    if (graph)
        cudaGraphDestroy(graph);
    cudaGetLastError(); // of the program's own calls in a poisoned context
    return status;
}

/// Whether there was a k-th call in a run that is captured.
template <class Look>
bool attempt_captured(const Look &look, Fault fault, std::size_t k) {
    using enum Act;
    const Current context(primary());
    const Stream stream;
    Session session(look);
    session.stream = stream;
    session.succeed({create_context, create, prepare});
    bool reached = false;
    const gpv_status status = capture(session, [&] {
        const std::size_t start = simt::calls();
        fault == Fault::poison ? simt::poison_call(k) : simt::fail_call(k);
        const gpv_status of_run = session.perform(run);
        reached = simt::calls() - start >= k;
        simt::fail_call(0);
        simt::poison_call(0);
        return of_run;
    });
    require((status != GPV_OK) == reached, "an error if a call fails");
    if (reached)
        require_status(status, status_for(session.text), "kind of the error");
    if (reached && fault == Fault::poison) {
        require_lost(session);
    } else {
        session.shown().renew();
        require_status(capture(session, [&] { return session.perform(run); }), GPV_OK, "again");
        session.shown().renew();
        session.succeed({run, wait});
    }
    session.destroy();
    if (fault == Fault::poison)
        simt::reset();
    return reached;
}

/// Of what a run reads and writes.
template <class Look>
std::size_t bytes_on_host(const Look &look) {
    std::size_t bytes = 0;
    for (const Block &block : look.blocks())
        bytes += block.place == GPV_MEMORY_HOST ? block.bytes : 0;
    return bytes;
}

template <class Look>
void test_captured(const Looks<Look> &looks) {
    for (const auto &[name, look] : looks)
        if (bytes_on_host(look) == 0)
            fail_each(Look::algorithm + ", " + name + ", captured", {Fault::once, Fault::poison},
                      [&look = look](Fault fault, std::size_t k) {
                          return attempt_captured(look, fault, k);
                      });
}

/// What a program does that asks for nothing in particular: the CPU stands in.
void test_automatic_backend() {
    std::size_t tried = 0;
    for (std::size_t k = 1;; k++) {
        where = "automatic backend: call " + std::to_string(k) + " fails";
        const std::size_t bytes = simt::live_bytes(), start = simt::calls();
        Session session(Erosion{}.on_host());
        session.params.backend = GPV_BACKEND_AUTO;
        simt::fail_call(k);
        session.succeed({Act::create_context});
        const bool reached = simt::calls() - start >= k;
        simt::fail_call(0);
        session.succeed({Act::create, Act::run, Act::wait});
        session.destroy();
        require(simt::live_bytes() == bytes, "bytes leak");
        if (!reached)
            break;
        // The first call asks whether there is a device.
        require(k == 1 || !session.text.empty(), "the log says why the CPU computes");
        tried++;
    }
    std::printf("%-72s %5zu faults\n", "automatic backend", tried);
}

/// The kernel itself goes wrong, which shows when somebody waits.
template <class Look>
void test_poison(const Look &look, Act end) {
    using enum Act;
    const std::size_t bytes = simt::live_bytes(), objects = simt::live_objects();
    {
        Session session(look), neighbour(look), late(look);
        session.succeed({create_context, create, run, wait});
        neighbour.succeed({create_context, create});
        session.shown().renew();
        record_counts = false;
        simt::poison();
        const gpv_status begun = session.perform(run);
        require(begun == GPV_OK || (begun == GPV_ERR_DEVICE_LOST && !simt::emulated()),
                "run: " + session.text);
        require_status(session.perform(end), GPV_ERR_DEVICE_LOST, name_of(end));
        require_lost(session);
        require_status(neighbour.perform(run), GPV_ERR_DEVICE_LOST,
                       "another gpv_context in the same CUDA context");
        require_lost(neighbour);
        require_status(late.perform(create_context), GPV_ERR_DEVICE_LOST,
                       "a new gpv_context in the same CUDA context");
        session.destroy();
        neighbour.destroy();
        simt::reset();
        record_counts = simt::emulated(); // no device forgets
    }
    require(simt::live_bytes() == bytes && simt::live_objects() == objects, "leaks");
    if (!simt::emulated())
        return;
    Session fresh(look);
    fresh.succeed({create_context, create, run, wait});
}

template <class Look>
void test_poison(const Looks<Look> &looks) {
    if (!poisons)
        return;
    for (const auto &[name, device_look] : looks)
        for (const Look &look : {device_look, device_look.on_host()})
            for (const Act end : {Act::wait, Act::sync, Act::query}) {
                const bool host = look.memory == GPV_MEMORY_HOST;
                where = Look::algorithm + ", poison: " + name +
                        (host ? ", in host memory, " : ", ") + name_of(end);
                if (simt::emulated())
                    test_poison(look, end);
                else
                    require(apart([&look = look, end] {
                                test_poison(look, end);
                                return failures == 0;
                            }),
                            "a process whose device is lost fails, or hangs");
            }
    std::printf("%s: a poisoned context is lost%s\n", Look::algorithm.c_str(),
                simt::emulated() ? ", a fresh one works" : "");
}

template <class Look>
void test_contexts(const Look &look) {
    using enum Act;
    where = Look::algorithm + ", contexts";
    for (const Look &each : {look, look.on_host()}) {
        Session session(each);
        session.images_context = own_context();
        session.params.device = GPV_DEVICE_CURRENT;
        {
            const Current context(own_context());
            session.succeed({create_context, create});
            session.show(each);
            session.succeed({prepare, run, wait});
        }
        for (const CUcontext other : {primary(), CUcontext(), own_context()}) {
            const Current context(other);
            session.shown().renew();
            session.succeed({run, wait, run, query, run, sync});
        }
        const Current context(primary());
        session.destroy();
        session.pictures.erase(session.pictures.begin()); // which lies in the primary context
    }
    std::printf("%s: contexts: current, foreign\n", Look::algorithm.c_str());
    if (!simt::emulated())
        return;
    simt::set_device_count(2);
    {
        Session session(look);
        session.params.device = 1;
        session.succeed({create_context, create});
        require_status(session.perform(run), GPV_ERR_UNSUPPORTED, "images on another device");
        require(session.text.find("device") != std::string::npos, session.text);
    }
    simt::set_device_count(1);
    std::printf("%s: contexts: of another device\n", Look::algorithm.c_str());
}

void test_devices() {
    using enum Act;
    where = "devices";
    const Erosion look = {.format = GPV_FORMAT_NV12, .operation = gradient};
    {
        const Current none(nullptr);
        Session session(look);
        session.params.device = GPV_DEVICE_CURRENT;
        require_status(session.perform(create_context), GPV_ERR_NO_DEVICE, "no context current");
        require(session.text.find("GPV_DEVICE_CURRENT") != std::string::npos, session.text);
        session.params.device = 5;
        require_status(session.perform(create_context), GPV_ERR_NO_DEVICE, "device 5");
        require(session.text.find("device is 5, but 1") != std::string::npos, session.text);
    }
    simt::set_device_count(2);
    {
        Session session(look.on_host());
        session.params.device = 1;
        session.succeed({create_context, create, run, wait});
    }
    simt::set_device_count(0);
    {
        Session session(look.on_host());
        require(!gpv_backend_available(GPV_BACKEND_CUDA), "CUDA is available without a device");
        require_status(session.perform(create_context), GPV_ERR_NO_DEVICE, "no device");
        session.params.backend = GPV_BACKEND_AUTO;
        session.succeed({create_context, create, run, wait});
        require(gpv_context_backend(session.context) == GPV_BACKEND_CPU, "the CPU computes");
    }
    simt::set_device_count(1);
    require(gpv_backend_available(GPV_BACKEND_CUDA), "CUDA is available");
    {
        const Current none(nullptr);
        Session session(look.on_host());
        simt::set_busy(true);
        require_status(session.perform(create_context), GPV_ERR_NO_DEVICE, "a busy device");
        require(session.text.find("in use by another process") != std::string::npos, session.text);
        session.params.backend = GPV_BACKEND_AUTO;
        session.succeed({create_context});
        require(gpv_context_backend(session.context) == GPV_BACKEND_CPU, "the CPU computes");
        simt::set_busy(false);
    }
    {
        Session session(look.on_host());
        session.succeed({create_context, create, run, wait});
        require(gpv_context_backend(session.context) == GPV_BACKEND_CUDA, "it is free again");
    }
    std::printf("devices: none current, 5, 1 of 2, none, busy\n");
}

/// Each call of CUDA in gpv_stream_follow() fails once; the next call works, and nothing is left.
void test_following() {
    where = "following";
    const std::size_t before = simt::live_objects();
    {
        const Stream first, second;
        Session session(Erosion{});
        session.succeed({Act::create_context});
        for (std::size_t k = 1; k <= 8; k++) {
            const std::size_t start = simt::calls();
            simt::fail_call(k);
            const gpv_status status = gpv_stream_follow(session.context, first, second);
            const bool reached = simt::calls() - start >= k;
            simt::fail_call(0);
            require_status(status, reached ? GPV_ERR_DEVICE : GPV_OK, "gpv_stream_follow");
            require_status(gpv_stream_follow(session.context, second, first), GPV_OK,
                           "gpv_stream_follow again");
            require(reached || k > 2, "it makes three calls or more");
        }
    }
    require(simt::live_objects() == before, "gpv_stream_follow leaves nothing behind");
    std::printf("following: every call fails once\n");
}

// ---------------------------------------------------------------------------- memory, waiting

/// A program's own allocator.
struct Allocator {
    std::map<void *, gpv_stream> live;
    std::size_t calls = 0, failing = 0;
    gpv_stream stream = nullptr; ///< that memory is asked for

    static void *allocate(void *self, gpv_memory memory, std::uint64_t size, gpv_stream stream) {
        auto &allocator = *static_cast<Allocator *>(self);
        require(memory == GPV_MEMORY_CUDA && size > 0, "scratch is asked for where CUDA computes");
        require(stream == allocator.stream, "memory is for the stream of the run");
        if (++allocator.calls == allocator.failing)
            return nullptr;
        void *data = nullptr;
        cudaMalloc(&data, size);
        allocator.live[data] = stream;
        return data;
    }
    static void free(void *self, gpv_memory memory, void *data, gpv_stream stream) {
        auto &allocator = *static_cast<Allocator *>(self);
        const auto found = allocator.live.find(data);
        require(memory == GPV_MEMORY_CUDA && found != allocator.live.end() &&
                    found->second == stream,
                "what is freed was allocated, and for that stream");
        require(simt::pending() == 0, "memory is freed when no work uses it");
        allocator.live.erase(found);
        cudaFree(data);
    }
};

/// Of the host's memory, by the emulation.
std::size_t locked_bytes() {
    return simt::emulated() ? simt::live_bytes() - used_bytes() : 0;
}

/// Performs the act, once more if it is the one in which the allocator fails, and says whether.
template <class Look>
bool perform_with(Allocator &allocator, Session<Look> &session, Act act) {
    const bool failed_before = allocator.failing <= allocator.calls;
    const std::size_t locked = locked_bytes();
    allocator.stream = act == Act::run ? session.stream : nullptr;
    const gpv_status status = session.perform(act);
    const bool failed = !failed_before && allocator.failing <= allocator.calls;
    require_status(status, failed ? GPV_ERR_OUT_OF_MEMORY : GPV_OK, name_of(act));
    if (!failed)
        return false;
    // Of sift and match, graphs have its addresses.
    require(Look::algorithm == "sift" || Look::algorithm == "match" || locked_bytes() == locked,
            "host memory is locked for what the device has no memory for");
    session.succeed({act});
    return true;
}

/// Whether the k-th request was made, which fails.
template <class Look>
bool attempt_allocator(const std::vector<Look> &looks, bool prepared, std::size_t k) {
    using enum Act;
    const Stream stream;
    Allocator allocator;
    allocator.failing = k;
    Session session(looks[0]);
    session.stream = stream;
    session.params.alloc = Allocator::allocate;
    session.params.free = Allocator::free;
    session.params.user = &allocator;
    session.params.log = nullptr;
    session.succeed({create_context});
    bool failed = perform_with(allocator, session, create);
    for (const Look &look : looks) {
        session.show(look);
        for (const Act act : {change, prepared ? prepare : run, run, wait})
            failed |= perform_with(allocator, session, act);
    }
    session.destroy();
    require(allocator.live.empty(), "everything is freed");
    return failed;
}

template <class Look>
void test_allocator(const Look &small, const Look &large) {
    for (const std::vector<Look> &looks :
         {std::vector{small, large, small},
          std::vector{small.on_host(), large.on_host(), small.on_host()}})
        for (const bool prepared : {false, true})
            fail_each(
                Look::algorithm + ", the program's own allocator", {Fault::once},
                [&](Fault, std::size_t k) { return attempt_allocator(looks, prepared, k); },
                1); // they are few
}

enum class Ready { warm, prepared, prepared_for_any };

std::size_t bytes_over_the_bus() {
    return simt::copied_bytes(cudaMemcpyHostToDevice) + simt::copied_bytes(cudaMemcpyDeviceToHost);
}

/// Nothing that a run enqueues has happened when it returns, and no byte goes to or from the host
/// but those of its host memory. With such, a second run would wait for the first.
template <class Look>
void test_enqueue(const std::string &name, Look look, Ready ready) {
    using enum Act;
    if (!simt::emulated())
        return;
    where =
        Look::algorithm + ", enqueue: " + name + (ready == Ready::warm ? ", warm" : ", prepared");
    if (ready == Ready::prepared)
        look.width = 48; // rows of whole 16 bytes, for which gpv_erode_prepare() makes graphs
    const Stream busy;
    Session session(look);
    session.stream = busy;
    session.succeed({create_context, create});
    if (ready == Ready::warm)
        session.succeed({run, wait});
    else
        session.succeed({prepare});
    session.shown().renew();
    cudaEvent_t other_work;
    cudaEventCreateWithFlags(&other_work, cudaEventDisableTiming);
    cudaEventRecord(other_work, busy);
    const std::size_t bytes = simt::live_bytes(), objects = simt::live_objects();
    const std::size_t moved = bytes_over_the_bus(), on_host = bytes_on_host(look);
    const std::size_t to_move = on_host ? on_host + sizeof(std::int64_t) : 0; // and a count
    const int runs = to_move ? 1 : 3;
    for (int i = 0; i < runs; i++) {
        const std::size_t pending = simt::pending();
        session.succeed({run});
        require(simt::pending() > pending, "the run has been waited for");
        require(session.shown().as_before(), "the run has happened");
    }
    require(simt::live_bytes() == bytes, "memory is allocated");
    require(simt::live_objects() == objects || ready == Ready::prepared_for_any,
            "objects are created");
    require_status(call([&] { return look.wait(session.op, session.shown().memories()); }), GPV_OK,
                   "wait");
    // In place the runs were one on the result of the other.
    require(look.in_place || session.shown().right(), "the picture is wrong");
    require(bytes_over_the_bus() - moved <= to_move, "more is copied than lies in host memory");
    cudaEventDestroy(other_work);
}

template <class Look>
void test_enqueue(const Looks<Look> &looks) {
    if (!simt::emulated())
        return;
    for (const auto &[name, look] : looks)
        for (const Ready ready : {Ready::warm, Ready::prepared, Ready::prepared_for_any})
            test_enqueue(name, look, ready);
    std::printf("%s: runs on device images only enqueue, allocate nothing, and copy no pixel\n",
                Look::algorithm.c_str());
}

Looks<Erosion> erosions_that_enqueue() {
    Looks<Erosion> looks = erosions;
    for (const gpv_erode_operation operation : {open, gradient})
        for (const bool in_place : {false, true})
            looks.push_back(
                {"four channels",
                 {.format = GPV_FORMAT_RGBA8, .in_place = in_place, .operation = operation}});
    looks.push_back({"narrow", {.width = 9, .in_place = true}});
    looks.push_back({"narrow", {.width = 9, .operation = gradient}});
    return looks;
}

/// Several operators whose pictures in host memory a single wait completes.
template <class Look>
void test_delivery(const Look &look) {
    using enum Act;
    where = Look::algorithm + ", delivery";
    Session session(look);
    session.succeed({create_context, create});
    typename Look::Operator *second = nullptr;
    const auto params = look.params();
    require_status(Look::create(session.context, &params, &second), GPV_OK, "second operator");
    Pictures pictures(look);
    session.succeed({run});
    require_status(look.run(second, nullptr, pictures.memories()), GPV_OK, "second run");
    require(session.shown().as_before_on_host() && pictures.as_before_on_host(),
            "a run is complete before the wait");
    session.succeed({sync});
    require(pictures.right(), "one wait completes both");

    pictures.renew();
    require_status(look.run(second, nullptr, pictures.memories()), GPV_OK, "run");
    gpv_context_destroy(&session.context);
    Look::destroy(&second); // with a run in flight, and after its context
    require(pictures.as_before_on_host(), "nobody has waited for the picture");
    require(simt::pending() == 0, "work is left");
    std::printf("%s: one wait completes the pictures of two operators\n", Look::algorithm.c_str());
}

template <class Look>
void test_cycles(const Looks<Look> &looks) {
    using enum Act;
    where = Look::algorithm + ", cycles";
    const std::size_t bytes = simt::live_bytes(), objects = simt::live_objects();
    std::size_t maximum[2] = {}, used = 0;
    const int cycles = short_run || turn ? 20 : 100;
    for (int i = 0; i < cycles; i++) {
        if (i == 8)
            used = used_bytes();
        const Look &look = looks[i % 2 * 3].second;
        Session session(i % 4 < 2 ? look : look.on_host());
        session.succeed({create_context, create, run, wait});
        if (i >= 4 && i < 8)
            maximum[0] = std::max(maximum[0], simt::live_bytes());
        else if (i >= cycles - 4)
            maximum[1] = std::max(maximum[1], simt::live_bytes());
    }
    require(used_bytes() <= used + max_bytes, "the device has less memory");
    require(maximum[0] == maximum[1], "a cycle takes more memory than the one before");
    require(simt::live_bytes() == bytes && simt::live_objects() == objects, "cycles leak");
    std::printf("%s: %d cycles of create, run, destroy: memory flat\n", Look::algorithm.c_str(),
                cycles);
}

/// One thing of each kind: what has no part in the others is tested with the first.
void test_faults_of_sift() {
    using enum Act;
    const std::vector<Act> created = {create_context, create};
    test<Extraction>({"operator of sift", {}, {create_context}, {create}});
    for (const auto &[name, look] : extractions) {
        const std::string on = "sift, " + name + ": ";
        test<Extraction>({on + "run, wait", look, created, {run, wait}});
        test<Extraction>({on + "run after a run, sync",
                          look,
                          {create_context, create, run, wait},
                          {run, sync},
                          true});
    }
    const Extraction plain, host = Extraction{.masked = true, .drawn = GPV_FORMAT_NV12}.on_host();
    test<Extraction>({"sift, on the device: prepare, run", plain, created, {prepare, run}});
    test<Extraction>({"sift, described, in host memory: prepare, run, run, wait",
                      Extraction{.given = 3}.on_host(),
                      created,
                      {prepare, run, run, wait}});
    test<Extraction>({"sift, in host memory: run, query", host, created, {run, query}});
    test<Extraction>(
        {"sift, in host memory: run, run, sync", host, created, {run, run, sync}, true});
    test<Extraction>(
        {"sift, drawn in host memory: run, run, wait", drawn_on_host, created, {run, run, wait}});
    test<Extraction>({"sift, other parameters while the last run is pending",
                      host,
                      {create_context, create, run},
                      {change, run, wait},
                      true,
                      extractions[3].second});
}

/// Few, for the reason of the clusterings.
void test_faults_of_graphcut() {
    using enum Act;
    const std::vector<Act> created = {create_context, create};
    const Cutting device, certified = cuttings[1].second, refused = cuttings[4].second;
    test<Cutting>({"operator of graphcut", {}, {create_context}, {create}});
    test<Cutting>({"graphcut, on the device: run, wait", certified, created, {run, wait}});
    test<Cutting>(
        {"graphcut, on the device: a value out of its range", refused, created, {run, wait}});
    test<Cutting>({"graphcut, on the device: prepare, run, sync",
                   device,
                   created,
                   {prepare, run, sync},
                   true});
    test<Cutting>(
        {"graphcut, in host memory: run, query", device.on_host(), created, {run, query}});
    test<Cutting>({"graphcut, more neighbours while the last run is pending",
                   device,
                   {create_context, create, run},
                   {change},
                   true,
                   certified});
}

void test_graphcut() {
    test_faults_of_graphcut();
    test_captured(cuttings);
    test_poison(Looks<Cutting>{cuttings[1]});
    test_contexts(Cutting{});
    test_allocator<Cutting>({}, {.format = GPV_FORMAT_CAP32X8, .width = 19, .height = 3});
    test_enqueue(cuttings);
    test_delivery(cuttings[1].second.on_host());
    test_cycles(cuttings);
    where = "graphcut";
    require(Cutting::flow > 1000, "graphs through which little flows");
}

/// Few, for the reason of the clusterings.
void test_faults_of_segment() {
    using enum Act;
    const std::vector<Act> created = {create_context, create};
    const Segmentation device;
    test<Segmentation>({"operator of segment", {}, {create_context}, {create}});
    test<Segmentation>({"segment, on the device: prepare, run, sync",
                        device,
                        created,
                        {prepare, run, sync},
                        true});
    test<Segmentation>(
        {"segment, in host memory: run, query", device.on_host(), created, {run, query}});
}

void test_segment() {
    test_faults_of_segment();
    test_captured(segmentations);
    test_poison(Looks<Segmentation>{segmentations[1]});
    test_contexts(Segmentation{});
    test_allocator<Segmentation>({}, {.width = 29, .height = 13, .connectivity = 8});
    test_enqueue(segmentations);
    test_delivery(segmentations[1].second.on_host());
    test_cycles(segmentations);
    where = "segment";
    require(Segmentation::area > 1000, "pictures without a foreground");
}

/// Few, for the reason of the clusterings.
void test_faults_of_match() {
    using enum Act;
    const std::vector<Act> created = {create_context, create};
    const Matching device, drawn = matchings[2].second;
    test<Matching>({"operator of match", {}, {create_context}, {create}});
    test<Matching>({"match, on the device: run, wait", device, created, {run, wait}});
    test<Matching>({"match, on the device: prepare, run, sync",
                    matchings[1].second,
                    created,
                    {prepare, run, sync},
                    true});
    test<Matching>({"match, drawn on the device: run after a run, wait",
                    drawn,
                    {create_context, create, run, wait},
                    {run, wait}});
    test<Matching>({"match, in host memory: run, query", drawn.on_host(), created, {run, query}});
    test<Matching>({"match, in host memory: prepare, run, run, wait",
                    device.on_host(),
                    created,
                    {prepare, run, run, wait}});
    test<Matching>({"match, other parameters while the last run is pending",
                    Matching{}.on_host(),
                    {create_context, create, run},
                    {change, run, wait},
                    true,
                    matchings[1].second});
}

void test_match() {
    test_faults_of_match();
    test_captured(matchings);
    test_poison(Looks<Matching>{matchings[2]});
    test_contexts(Matching{});
    test_allocator<Matching>({.queries = 1, .trains = 1},
                             {.queries = 1, .trains = 2049, .mutual = false});
    test_enqueue(matchings);
    test_delivery(matchings[1].second.on_host());
    test_cycles(matchings);
    where = "match";
    require(Matching::found > 1000, "descriptors without matches");
}

/// The CPU backend and the emulation round alike where the processor has fused operations.
bool processor_has_fma() {
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_cpu_supports("fma");
#else
    return true;
#endif
}

void test_sift() {
    if (!processor_has_fma()) {
        std::printf("sift: left out, the processor has no fused operations\n");
        return;
    }
    test_faults_of_sift();
    test_captured(extractions);
    test_poison(Looks<Extraction>{extractions[2]});
    test_contexts(Extraction{});
    test_allocator<Extraction>({}, {.octave_layers = 4});
    test_enqueue("drawn in host memory", drawn_on_host, Ready::warm);
    test_enqueue(extractions);
    test_delivery(extractions[1].second.on_host());
    test_cycles(extractions);
    where = "sift";
    std::printf("sift: %d keypoints\n", Extraction::found);
    require(Extraction::found > 400, "pictures without keypoints");
}

/// Each in a process of its own.
void test_real_device_lost() {
    poisons = true;
    test_poison(Looks<Erosion>{erosions[1]});
    test_poison(Looks<Labelling>{labellings[0]});
    test_poison(Looks<Clustering>{clusterings[0]});
    test_poison(Looks<Extraction>{extractions[2]});
    test_poison(Looks<Matching>{matchings[2]});
    test_poison(Looks<Cutting>{cuttings[1]});
    test_poison(Looks<Segmentation>{segmentations[1]});
}

} // namespace

/// segment is apart, as it takes the emulation as long as much of the rest. lost is for a real
/// device, which another process poisons.
int main(int count, char **arguments) {
    const std::string part = count > 1 ? arguments[1] : "";
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    Calls::begin();
    if (!simt::emulated() && !apart([] { return gpv_backend_available(GPV_BACKEND_CUDA) != 0; })) {
        std::printf("not run: there is no CUDA device\n");
        return 77;
    }
    if (part == "segment") {
        test_segment();
        return failures != 0;
    }
    if (part == "lost") {
        test_real_device_lost();
        return failures != 0;
    }
    if (simt::emulated())
        test_first_call();
    test_automatic_backend();
    if (simt::emulated())
        test_devices();
    test_following();
    test_faults();
    test_captured(erosions);
    test_captured(labellings);
    test_captured(Looks<Clustering>{clusterings[0]});
    test_poison(erosions);
    test_poison(labellings);
    test_poison(Looks<Clustering>{clusterings[0]});
    const Erosion gradient_of_nv12 = {.format = GPV_FORMAT_NV12, .operation = gradient};
    test_contexts(gradient_of_nv12);
    test_contexts(Labelling{});
    test_contexts(Clustering{});
    test_allocator<Erosion>(
        {.operation = gradient},
        {.format = GPV_FORMAT_NV12, .width = 99, .height = 55, .operation = gradient});
    test_allocator<Labelling>({}, {.width = 99, .height = 55, .min_area = 2});
    test_allocator<Clustering>({}, {.width = 53});
    test_enqueue(erosions_that_enqueue());
    test_enqueue(labellings);
    test_enqueue(clusterings);
    test_delivery(gradient_of_nv12.on_host());
    test_delivery(labellings[1].second.on_host());
    test_delivery(clusterings[1].second.on_host());
    test_cycles(erosions);
    test_cycles(labellings);
    test_cycles(clusterings);
    test_graphcut();
    test_match();
    test_sift();
    if (usual_step == 1)
        require_all_failed();
    return failures != 0;
}
