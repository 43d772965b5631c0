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
#include <utility>
#include <vector>

#include <cuda.h>
#include <gpuvision/gpuvision.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/operators.hpp"
#include "cuda/run/plan.hpp"
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
          &R::stream_synchronize, &R::stream_get_id, &R::stream_wait_event, &R::stream_is_capturing,
          &R::event_create, &R::event_destroy, &R::event_record, &R::event_query,
          &R::event_synchronize, &R::func_set_attribute, &R::func_get_attributes, &R::launch_kernel,
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

// --------------------------------------------------------------------------------------- looks

using operators::Arguments;
using operators::Operator;
using operators::Port;
using operators::Run;

/// What is marked in a picture after a run: keypoints, or an outline.
struct Drawing {
    gpv_format format = GPV_FORMAT_NONE; ///< of the picture; none is marked
    gpv_memory memory = GPV_MEMORY_CUDA;
};

/// A kind of run of an operator, and where what it reads and writes lies.
struct Look {
    const Operator *it;
    Run run;
    gpv_memory memory = GPV_MEMORY_CUDA;       ///< of images, and of descriptors that it reads
    gpv_memory table_memory = GPV_MEMORY_CUDA; ///< of records, and of what it writes beside
    bool in_place = false;
    std::int64_t stride = 0; ///< of images, bytes; 0: no gaps
    Drawing drawing = {};
    bool refused = false; ///< of graphcut: the last terminal is out of its range

    Look on_host() const {
        Look look = *this;
        look.memory = look.table_memory = look.drawing.memory = GPV_MEMORY_HOST;
        return look;
    }
    int ports() const { return static_cast<int>(it->ports.size()); }
    gpv_memory place_of(const Port &port) const {
        if (port.on_device)
            return GPV_MEMORY_CUDA;
        const bool table = port.output || port.record;
        return port.is_image() || !table ? memory : table_memory;
    }
    /// The port that a run uses in place of another one.
    int actual(int port) const {
        return in_place && it->ports[port].in_place >= 0 ? it->ports[port].in_place : port;
    }
    /// Of each port, and of the picture that is marked.
    std::vector<Block> blocks() const {
        std::vector<Block> result;
        gpv_image image;
        const auto bytes_of = [&](gpv_format format) {
            return static_cast<std::size_t>(gpv_image_wrap(&image, sizeof image, format, run.width,
                                                           run.height, nullptr, stride));
        };
        for (int i = 0; i < ports(); i++) {
            const Port &port = it->ports[i];
            const bool own = run.gives(i) && actual(i) == i;
            result.push_back({!own              ? 0
                              : port.is_image() ? bytes_of(run.formats[i])
                                                : std::size_t(run.bytes[i]),
                              place_of(port)});
        }
        result.push_back({drawing.format ? bytes_of(drawing.format) : 0, drawing.memory});
        return result;
    }
    Arguments arguments(const Memories &in) const {
        Arguments result(run);
        for (int i = 0; i < ports(); i++) {
            Memory &memory_of = *in[actual(i)];
            if (run.gives(i) && it->ports[i].is_image())
                result.images[i] = image_in(memory_of, run.formats[i]);
            result.buffers[i].memory = memory_of.place();
            result.buffers[i].data = memory_of.data();
        }
        return result;
    }
    gpv_image image_in(Memory &memory_of, gpv_format format) const {
        gpv_image image;
        gpv_image_wrap(&image, sizeof image, format, run.width, run.height, memory_of.data(),
                       stride);
        image.memory = memory_of.place();
        return image;
    }
    void fill(const Memories &in, unsigned seed) const {
        const Arguments all = arguments(in);
        it->fill(all, seed);
        if (refused)
            operators::row<std::int32_t>(all.images[0], 0, run.height - 1)[run.width - 1] =
                GPV_GRAPHCUT_MAX_TERMINAL + 1;
    }

    gpv_status create(gpv_context *context, void **op) const {
        const gpv_status status = it->calls.create(context, run.params.data(), op);
        return status == GPV_OK ? give_centroids(*op) : status;
    }
    gpv_status set_params(void *op) const {
        const gpv_status status = it->calls.set_params(op, run.params.data());
        return status == GPV_OK ? give_centroids(op) : status;
    }
    gpv_status prepare(void *op, const Memories &in) const {
        return it->prepare(op, arguments(in));
    }
    gpv_status run_on(void *op, gpv_stream stream, const Memories &in) const {
        undrawn = false;
        const gpv_status status = it->run(op, stream, arguments(in));
        return status == GPV_OK && drawing.format ? draw(op, stream, in) : status;
    }
    gpv_status draw(void *op, gpv_stream stream, const Memories &in) const {
        Arguments picture(run);
        picture.images[0] = image_in(*in.back(), drawing.format);
        picture.given[0] = true;
        const bool outline = it == &operators::match;
        const Operator &marks = outline ? operators::match_draw : operators::sift_draw;
        const gpv_status status = marks.run(op, stream, picture);
        undrawn = status != GPV_OK;
        return status;
    }
    /// What wait says is what the run has left on the device.
    gpv_status wait(void *op, const Memories &in) const {
        Bytes result = nothing();
        gpv_status status = it->calls.wait(op, result.empty() ? nullptr : result.data());
        if (refused && status == GPV_ERR_INVALID_ARGUMENT)
            status = GPV_OK;
        if (status != GPV_OK)
            return status;
        for (int i = 0; i < ports(); i++)
            if (it->ports[i].result_at >= 0 && run.gives(i))
                require(std::memcmp(result.data() + it->ports[i].result_at, in[i]->data(),
                                    it->least(run, i)) == 0,
                        "the result is another one than that on the device");
        if (it == &operators::graphcut || it == &operators::segment) {
            gpv_graphcut_result cut;
            std::memcpy(&cut, result.data(), sizeof cut);
            require(cut.refused == refused && cut.optimal == !refused,
                    "no cut is found, or one that should be refused");
            require(cut.cut < 0 || cut.cut == cut.flow, "the cut is not minimal");
        }
        waits[it]++;
        found[it] += finds(result);
        return status;
    }
    /// A run that has failed leaves neither a result nor anything to draw.
    gpv_status require_none(void *op, gpv_stream stream, const Memories &in) const {
        Bytes result = nothing();
        gpv_status status = it->calls.wait(op, result.empty() ? nullptr : result.data());
        require(result == nothing(), "a failed run has a result");
        if (status != GPV_OK || !drawing.format || it != &operators::sift)
            return status;
        const Bytes before = in.back()->bytes();
        status = draw(op, stream, in);
        if (status == GPV_OK)
            status = it->calls.wait(op, nullptr);
        require(in.back()->bytes() == before, "a failed run is drawn");
        return status;
    }

    static inline bool undrawn = false; ///< the last run has begun, its drawing has failed
    static inline std::map<const Operator *, int> waits, found; ///< for runs, and those that found

  private:
    /// Of clusters, more than one with a pixel.
    bool finds(const Bytes &result) const {
        if (it != &operators::kmeans)
            return it->found && it->found(result.data()) > 0;
        gpv_kmeans_result of;
        std::memcpy(&of, result.data(), sizeof of);
        return of.clusters - of.empty > 1;
    }
    Bytes nothing() const {
        Bytes result(it->calls.result_bytes);
        if (!result.empty())
            it->calls.init_result(result.data(), it->calls.result_bytes);
        return result;
    }
    /// Greys.
    gpv_status give_centroids(void *op) const {
        const auto &params = run.as<gpv_kmeans_params>();
        if (it != &operators::kmeans || params.init != GPV_KMEANS_INIT_GIVEN)
            return GPV_OK;
        std::vector<float> levels(3 * params.clusters);
        for (std::size_t i = 0; i < levels.size(); i++)
            levels[i] = static_cast<float>(i / 3 * 255 / params.clusters);
        return gpv_kmeans_set_centroids(static_cast<gpv_kmeans *>(op), levels.data(),
                                        params.clusters);
    }
};

/// Fits the run to its size. What is not given stays away.
Look resized(Look look, int width, int height) {
    const Run before = look.run;
    look.run = operators::sized(*look.it, look.run, width, height);
    for (int i = 0; i < operators::max_ports; i++)
        look.run.bytes[i] = before.bytes[i] ? look.run.bytes[i] : 0;
    return look;
}

/// A run of that size. change() makes it differ from the operator's example.
template <class Params = gpv_erode_params>
Look look_of(const Operator &it, int width, int height,
             const std::function<void(Run &, Params &)> &change = nullptr) {
    Look look = resized({&it, it.example(0)}, width, height);
    if (change)
        change(look.run, look.run.as<Params>());
    for (int i = 0; i < look.ports(); i++)
        if (look.run.bytes[i] && !it.fit && !it.ports[i].record)
            look.run.bytes[i] = it.least(look.run, i);
    return look;
}

// ---------------------------------------------------------------------------------- pictures

/// What the CPU makes of it.
std::vector<Bytes> computed_by_cpu(const Look &look, const std::vector<Bytes> &before) {
    gpv_context_params params;
    gpv_context_params_init(&params, sizeof params);
    params.backend = GPV_BACKEND_CPU;
    gpv_context *context = nullptr;
    void *op = nullptr;
    Memories memories;
    for (const Bytes &bytes : before) {
        memories.push_back(std::make_unique<Memory>(bytes.size(), GPV_MEMORY_HOST));
        std::copy(bytes.begin(), bytes.end(), memories.back()->data());
    }
    if (gpv_context_create(&params, &context) != GPV_OK || look.create(context, &op) != GPV_OK ||
        look.run_on(op, nullptr, memories) != GPV_OK)
        require(false, "the CPU cannot compute");
    look.it->calls.destroy(&op);
    gpv_context_destroy(&context);
    return contents(memories);
}

/// Noise, and places for what becomes of it.
class Pictures {
  public:
    explicit Pictures(const Look &look) : look_(look) {
        for (const Block &block : look.blocks())
            memories_.push_back(std::make_unique<Memory>(block.bytes, block.place));
        renew();
    }

    void renew() {
        static unsigned seed = 1;
        fill(untouched);
        look_.fill(memories_, seed++);
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
        pictures.push_back(std::make_unique<Pictures>(look));
    }
    Pictures &shown() { return *pictures.back(); }

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
            look.it->calls.destroy(&op);
            gpv_context_destroy(&context);
            return GPV_OK;
        });
    }

    Look look;
    CUcontext images_context = primary();
    gpv_context_params params;
    gpv_context *context = nullptr;
    void *op = nullptr;
    cudaStream_t stream = nullptr;
    std::string text; ///< of the last error
    std::vector<std::unique_ptr<Pictures>> pictures;

  private:
    gpv_status attempt(Act act) {
        const Memories &memories = shown().memories();
        gpv_status status = GPV_NOT_READY;
        switch (act) {
        case Act::create_context:
            status = gpv_context_create(&params, &context);
            require((status == GPV_OK) == (context != nullptr), "a context, or an error");
            return status;
        case Act::create:
            status = look.create(context, &op);
            require((status == GPV_OK) == (op != nullptr), "an operator, or an error");
            return status;
        case Act::prepare:
            return look.prepare(op, memories);
        case Act::change:
            return look.set_params(op);
        case Act::run:
            return look.run_on(op, stream, memories);
        case Act::draw:
            return look.draw(op, stream, memories);
        case Act::wait:
            return look.wait(op, memories);
        case Act::sync:
            return gpv_stream_sync(context, stream);
        case Act::query:
            for (int i = 0; i < 1000 && status == GPV_NOT_READY; i++) {
                status = look.it->calls.query(op);
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

struct Scenario {
    Look look;
    std::vector<Act> before; ///< without a fault
    std::vector<Act> acts;
    bool own_stream;
    std::optional<Look> later; ///< of the acts, where it is another one
};

/// After an error the operator can be used again, and nothing holds on to the pictures.
void recover(Session &session, Act failed, Fault fault, bool pending, std::size_t k) {
    if (failed == Act::create_context)
        session.succeed({Act::create_context});
    if (failed <= Act::create)
        session.succeed({Act::create});
    if (failed == Act::prepare || failed == Act::change)
        session.succeed({failed});
    if (waits(failed) && fault == Fault::once)
        return session.succeed({Act::wait}); // the run itself has done its work
    if (failed == Act::run && Look::undrawn && fault == Fault::once)
        return session.succeed({Act::draw, Act::wait}); // likewise
    pending |= failed == Act::run && Look::undrawn;
    if (failed == Act::run && !Look::undrawn && k % 2)
        require_status(call([&] {
                           return session.look.require_none(session.op, session.stream,
                                                            session.shown().memories());
                       }),
                       GPV_OK, "after a failed run");
    Pictures &old = session.shown();
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

void require_lost(Session &session) {
    using enum Act;
    if (!session.context)
        return;
    const auto lost = [](gpv_status status, const char *what) {
        require_status(status, GPV_ERR_DEVICE_LOST, std::string("once lost, ") + what);
    };
    for (const bool again : {false, true}) {
        void *op = nullptr;
        lost(call([&] { return session.look.it->calls.create(session.context, nullptr, &op); }),
             again ? "create again" : "create");
        lost(session.perform(sync), name_of(sync));
        if (!session.op)
            continue;
        for (const Act act : {run, wait, query, prepare, change})
            lost(session.perform(act), name_of(act));
    }
}

/// Whether there was a k-th call.
bool attempt(const Scenario &scenario, Fault fault, std::size_t k) {
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
    const std::size_t first_round = rounds;
    std::size_t tried = 0, used = 0;
    const auto takes_memory = [&] {
        rounds = first_round;
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
        const std::size_t before = std::exchange(used, used_bytes());
        return used > before + max_bytes;
    };
    // The driver may keep what it took once. What leaks, leaks again when the same calls fail.
    require(!takes_memory() || !takes_memory(), "the device has less memory");
    record_counts = true;
    require(tried != 0, name + ": no call that could fail");
    std::printf("%-72s %5zu faults\n", name.c_str(), tried);
}

const std::vector<Act> created = {Act::create_context, Act::create};

void test(const std::string &name, const Look &look, const std::vector<Act> &acts,
          const std::vector<Act> &before = created, bool own_stream = false,
          const std::optional<Look> &later = {}) {
    const Scenario scenario = {look, before, acts, own_stream, later};
    fail_each(name, {Fault::once, Fault::elsewhere, Fault::poison},
              [&](Fault fault, std::size_t k) { return attempt(scenario, fault, k); });
}

// --------------------------------------------------------------------------------- scenarios

using Looks = std::vector<std::pair<std::string, Look>>;
template <class Params>
using Change = std::function<void(Run &, Params &)>;

constexpr gpv_erode_operation gradient = GPV_ERODE_OPERATION_GRADIENT,
                              open = GPV_ERODE_OPERATION_OPEN;

Look in_place(Look look) {
    look.in_place = true;
    return look;
}

Look with_tables_on_host(Look look) {
    look.table_memory = GPV_MEMORY_HOST;
    return look;
}

Look drawn(Look look, gpv_format format, gpv_memory memory = GPV_MEMORY_CUDA) {
    look.drawing = {format, memory};
    return look;
}

Look erosion(gpv_format format = GPV_FORMAT_GRAY8,
             gpv_erode_operation operation = GPV_ERODE_OPERATION_ERODE, int threshold = 0,
             int width = 45, int height = 19, const Change<gpv_erode_params> &change = nullptr) {
    return look_of<gpv_erode_params>(operators::erode, width, height,
                                     [&](Run &run, gpv_erode_params &params) {
                                         run.formats = {format, format};
                                         params.operation = operation;
                                         params.radius = 3;
                                         params.threshold = threshold;
                                         params.planes = GPV_ERODE_PLANES_ALL;
                                         if (change)
                                             change(run, params);
                                     });
}

Looks erosions() {
    return {
        {"grey", erosion()},
        {"NV12, several kernels", erosion(GPV_FORMAT_NV12, gradient)},
        {"NV12, in place", in_place(erosion(GPV_FORMAT_NV12, open))},
        {"binary", erosion(GPV_FORMAT_GRAY8, GPV_ERODE_OPERATION_ERODE, 100)},
        {"RGB, binary", erosion(GPV_FORMAT_RGB8, open, 100)},
        {"ellipse, 16 bits", erosion(GPV_FORMAT_GRAY16, GPV_ERODE_OPERATION_ERODE, 0, 35, 19,
                                     [](Run &, gpv_erode_params &params) {
                                         params.shape = GPV_ERODE_SHAPE_ELLIPSE;
                                         params.radius = 5;
                                     })},
    };
}

enum { SRC, DST, COMPONENTS };

Look labelling(const Change<gpv_ccl_params> &change = nullptr, int width = 45, int height = 19) {
    return look_of<gpv_ccl_params>(operators::ccl, width, height,
                                   [&](Run &run, gpv_ccl_params &params) {
                                       params.threshold = 128;
                                       if (change)
                                           change(run, params);
                                   });
}

Looks labellings() {
    return {
        {"labels", labelling()},
        {"labels of RGB, records in host memory",
         with_tables_on_host(labelling([](Run &run, gpv_ccl_params &) {
             run.formats = {GPV_FORMAT_RGB8, GPV_FORMAT_P016};
         }))},
        {"colours of NV12, without the small ones", labelling([](Run &run, gpv_ccl_params &params) {
             run.formats = {GPV_FORMAT_NV12, GPV_FORMAT_NV12};
             run.bytes[COMPONENTS] = 0;
             params.output = GPV_CCL_OUTPUT_COLORS;
             params.connectivity = 4;
             params.min_area = 3;
         })},
        {"records of equal luma, in host memory",
         with_tables_on_host(labelling([](Run &run, gpv_ccl_params &params) {
             run.formats[DST] = GPV_FORMAT_NONE;
             params.mode = GPV_CCL_MODE_EQUAL_VALUE;
             params.threshold = 200;
         }))},
        {"count", labelling([](Run &run, gpv_ccl_params &) {
             run.formats[DST] = GPV_FORMAT_NONE;
             run.bytes[COMPONENTS] = 0;
         })},
    };
}

/// Small, since the emulation takes long over blocks that wait for each other. With so many
/// clusters that colours are counted.
Look clustering(const Change<gpv_kmeans_params> &change = nullptr, int width = 7, int height = 3) {
    return look_of<gpv_kmeans_params>(operators::kmeans, width, height,
                                      [&](Run &run, gpv_kmeans_params &params) {
                                          params.clusters = 33;
                                          params.max_clusters = 2;
                                          params.max_iterations = 1;
                                          params.init = GPV_KMEANS_INIT_GRID;
                                          if (change)
                                              change(run, params);
                                      });
}

/// Ports of kmeans are src, dst, labels, ...
Looks clusterings() {
    return {
        {"labels and colours", clustering()},
        {"NV12 in place, centroids in host memory",
         with_tables_on_host(in_place(clustering([](Run &run, gpv_kmeans_params &) {
             run.formats = {GPV_FORMAT_NV12, GPV_FORMAT_NV12};
         })))},
        {"labels in Lab, of given centroids, pixel by pixel",
         clustering([](Run &run, gpv_kmeans_params &params) {
             run.formats = {GPV_FORMAT_GRAY8, GPV_FORMAT_NONE, GPV_FORMAT_I420};
             params.clusters = 2;
             params.init = GPV_KMEANS_INIT_GIVEN;
             params.color_space = GPV_KMEANS_COLOR_SPACE_LAB;
         })},
        {"a chosen number of drawn centroids", clustering([](Run &run, gpv_kmeans_params &params) {
             run.formats = {GPV_FORMAT_GRAY8};
             params.clusters = 0;
             params.init = GPV_KMEANS_INIT_PLUSPLUS;
         })},
    };
}

/// Small, since blurs take the emulation long. Without a mask.
Look extraction(const Change<gpv_sift_params> &change = nullptr) {
    return look_of<gpv_sift_params>(operators::sift, 32, 27,
                                    [&](Run &run, gpv_sift_params &params) {
                                        run.formats = {GPV_FORMAT_GRAY8};
                                        params.contrast_threshold = 0.01f;
                                        params.upsample = 0;
                                        if (change)
                                            change(run, params);
                                    });
}

Look description() {
    return look_of<gpv_sift_params>(operators::sift_describe, 32, 27,
                                    [](Run &, gpv_sift_params &params) { params.upsample = 0; });
}

Looks extractions() {
    enum { DESCRIPTORS = 3 };
    return {
        {"keypoints and descriptors", extraction()},
        {"NV12 with a mask, in host memory but for the picture, drawn on the device",
         drawn(with_tables_on_host(extraction([](Run &run, gpv_sift_params &) {
                   run.formats = {GPV_FORMAT_NV12, GPV_FORMAT_GRAY8};
               })),
               GPV_FORMAT_NV12)},
        {"keypoints of RGB, drawn on the device", drawn(extraction([](Run &run, gpv_sift_params &) {
                                                            run.formats = {GPV_FORMAT_RGB8};
                                                            run.bytes[DESCRIPTORS] = 0;
                                                        }),
                                                        GPV_FORMAT_BGRA8)},
        {"filters that are not the usual ones", extraction([](Run &, gpv_sift_params &params) {
             params.octave_layers = 2;
             params.descriptor_type = GPV_SIFT_DESCRIPTOR_TYPE_F32;
         })},
        {"given keypoints", description()},
        {"given keypoints in host memory", with_tables_on_host(description())},
    };
}

/// Small, for the reason of the clusterings.
Look cutting(const Change<gpv_graphcut_params> &change = nullptr, int width = 4, int height = 2) {
    return look_of<gpv_graphcut_params>(operators::graphcut, width, height, change);
}

void certify(Run &run, gpv_graphcut_params &params) {
    run.formats[1] = GPV_FORMAT_CAP32X8;
    params.certificate = 1;
    params.reuse = 1;
}

Looks cuttings() {
    Look refused = cutting([](Run &, gpv_graphcut_params &params) { params.certificate = 1; });
    refused.refused = true;
    return {
        {"4 neighbours", cutting()},
        {"8 neighbours, with a certificate", cutting(certify)},
        {"a time limit that is never reached",
         cutting([](Run &, gpv_graphcut_params &params) { params.max_time_us = INT32_MAX; })},
        {"8 neighbours, a column", cutting(certify, 1, 9)},
        {"a value out of its range", refused},
    };
}

/// Likewise. By the model that takes the emulation least time.
Look segmentation(gpv_format format = GPV_FORMAT_RGB8, gpv_format mask = GPV_FORMAT_GRAY8,
                  int width = 9, int height = 4,
                  const Change<gpv_segment_params> &change = nullptr) {
    return look_of<gpv_segment_params>(operators::segment, width, height,
                                       [&](Run &run, gpv_segment_params &params) {
                                           run.formats = {format, GPV_FORMAT_GRAY8, mask, format};
                                           params.model = GPV_SEGMENT_MODEL_MEANS;
                                           params.certificate = 1;
                                           if (change)
                                               change(run, params);
                                       });
}

Looks segmentations() {
    return {
        {"of RGB", segmentation()},
        {"of NV12, 8 neighbours, two rounds", segmentation(GPV_FORMAT_NV12, GPV_FORMAT_NV12, 9, 4,
                                                           [](Run &, gpv_segment_params &params) {
                                                               params.connectivity = 8;
                                                               params.iterations = 2;
                                                           })},
        {"by a histogram, a row", segmentation(GPV_FORMAT_RGB8, GPV_FORMAT_GRAY8, 11, 1,
                                               [](Run &, gpv_segment_params &params) {
                                                   params.model = GPV_SEGMENT_MODEL_HISTOGRAM;
                                               })},
        {"of grey, a mask of I420", segmentation(GPV_FORMAT_GRAY8, GPV_FORMAT_I420)},
    };
}

/// Small, since a block has many queries, of which the emulation computes each. counted: queries,
/// as the device knows; below 0 it does not.
Look matching(int queries = 40, int trains = 50, bool mutual = true, int counted = -1) {
    return look_of<gpv_match_params>(operators::match, queries, trains,
                                     [&](Run &run, gpv_match_params &params) {
                                         params.mutual = mutual;
                                         run.number = counted;
                                         run.bytes[1] = counted < 0 ? 0 : run.bytes[1];
                                     });
}

Looks matchings() {
    return {
        {"the usual", matching()},
        {"as many as were found, not mutual, outputs in host memory",
         with_tables_on_host(matching(40, 50, false, 23))},
        {"drawn on the device", drawn(matching(21, 9), GPV_FORMAT_I420)},
        {"one", matching(1, 1)},
    };
}

/// To draw in host memory takes memory of its own, which nobody prepares.
Look drawn_on_host() {
    return drawn(extraction(), GPV_FORMAT_GRAY8, GPV_MEMORY_HOST);
}

/// The library looks functions of the driver up once, and must not remember that it failed.
void test_first_call() {
    std::size_t k = 1;
    for (bool reached = true; reached; k++) {
        const pid_t child = fork();
        if (child == 0) {
            where = "first call: call " + std::to_string(k) + " fails";
            Session session(erosion());
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

void test_faults(const Looks &looks) {
    using enum Act;
    for (const auto &[name, look] : looks) {
        const std::string on = look.it->stem + (", " + name) + ", on the device: ";
        test(on + "run, wait, run, wait", look, {run, wait, run, wait});
        test(on + "prepare, run, sync", look, {prepare, run, sync}, created, true);
        const std::string host = look.it->stem + (", " + name) + ", in host memory: ";
        const Look other = look.on_host();
        test(host + "prepare, run, run, wait", other, {prepare, run, run, wait});
        test(host + "run, sync, run, sync", other, {run, sync, run, sync}, created, true);
        test(host + "run, query", other, {run, query});
    }
}

/// A run on larger pictures, with other parameters.
void test_change(const Look &first, const Look &larger) {
    using enum Act;
    const bool host = larger.memory == GPV_MEMORY_HOST;
    const std::string on =
        std::string(first.it->stem) + (host ? ", in host memory: " : ", on the device: ");
    test(on + "other parameters and a larger picture", first, {change, run, wait},
         {create_context, create, run, wait}, false, larger);
    test(on + "a larger picture while the last run is pending", first, {change, run, wait},
         {create_context, create, run}, false, larger);
}

void test_faults() {
    using enum Act;
    test("context", erosion(), {create_context}, {});
    for (const Look &look : {erosion(), labelling(), clustering()})
        test(std::string("operator of ") + look.it->stem, look, {create}, {create_context});
    test_faults(erosions());
    test_faults(labellings());
    test("more kernels than a graph takes",
         erosion(GPV_FORMAT_GRAY8, GPV_ERODE_OPERATION_ERODE, 0, 33, 1,
                 [](Run &, gpv_erode_params &params) {
                     params.shape = GPV_ERODE_SHAPE_CROSS;
                     params.radius = 1;
                     params.iterations = 99;
                 }),
         {run, wait});
    const Look eroded = erosion(GPV_FORMAT_NV12, gradient, 0, 83, 61);
    const Look labelled = with_tables_on_host(
        labelling([](Run &, gpv_ccl_params &params) { params.connectivity = 4; }, 53, 23));
    test_change(erosion(), eroded);
    test_change(erosion().on_host(), eroded.on_host());
    test_change(labelling(), labelled);
    test_change(labelling().on_host(), labelled.on_host());
    test("kmeans, on the device: prepare, run, sync", clustering(), {prepare, run, sync});
    test("kmeans, in host memory: run, query", clustering().on_host(), {run, query});
    test("kmeans, other parameters while the last run is pending", clustering(), {change},
         {create_context, create, run}, true, clusterings()[2].second);
}

/// Captures a run, and launches the graph.
gpv_status capture(Session &session, const std::function<gpv_status()> &run) {
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
std::size_t bytes_on_host(const Look &look) {
    std::size_t bytes = 0;
    for (const Block &block : look.blocks())
        bytes += block.place == GPV_MEMORY_HOST ? block.bytes : 0;
    return bytes;
}

void test_captured(const Looks &looks) {
    for (const auto &[name, look] : looks)
        if (bytes_on_host(look) == 0)
            fail_each(look.it->stem + (", " + name) + ", captured", {Fault::once, Fault::poison},
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
        Session session(erosion().on_host());
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

void test_poison(const Looks &looks) {
    if (!poisons)
        return;
    for (const auto &[name, device_look] : looks)
        for (const Look &look : {device_look, device_look.on_host()})
            for (const Act end : {Act::wait, Act::sync, Act::query}) {
                const bool host = look.memory == GPV_MEMORY_HOST;
                where = look.it->stem + (", poison: " + name) +
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
    std::printf("%s: a poisoned context is lost%s\n", looks[0].second.it->stem,
                simt::emulated() ? ", a fresh one works" : "");
}

void test_contexts(const Look &look) {
    using enum Act;
    where = std::string(look.it->stem) + ", contexts";
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
    std::printf("%s: contexts: current, foreign\n", look.it->stem);
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
    std::printf("%s: contexts: of another device\n", look.it->stem);
}

void test_devices() {
    using enum Act;
    where = "devices";
    const Look look = erosion(GPV_FORMAT_NV12, gradient);
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
        Session session(erosion());
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

/// Of a plan's parameters, addresses are patched, and nothing else, whatever padding holds: here
/// what an address left there.
void test_relocations() {
    using gpv::cuda::Plan;
    where = "relocations";
    struct Job {
        std::uint64_t address, flag, low, high;
    };
    for (std::size_t slot = 0; slot < Plan::max_slots; slot++) {
        Plan plan;
        gpv::cuda::LaunchList again;
        Job first{};
        for (const int recording : {0, 1}) {
            const auto address = reinterpret_cast<std::uintptr_t>(Plan::symbol(slot, recording));
            constexpr std::uint64_t half = 0xffffffff;
            const Job job{address + 300, (address & ~std::uint64_t{255}) | 1, (address & ~half) | 7,
                          (address & half) | half << 32};
            first = recording ? first : job;
            (recording ? again : plan.launches).add(nullptr, dim3(1), 1, 0, job);
        }
        plan.relate(again, Plan::max_slots);
        std::vector<std::uintptr_t> bases(Plan::max_slots);
        bases[slot] = 0x7f0000000040;
        plan.patch(bases);
        const auto words = plan.launches.words();
        require(words[0] == bases[slot] + 300, "an address is patched");
        require(words[1] == first.flag && words[2] == first.low && words[3] == first.high,
                "what is no address stays");
    }
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
bool perform_with(Allocator &allocator, Session &session, Act act) {
    const bool failed_before = allocator.failing <= allocator.calls;
    const std::size_t locked = locked_bytes();
    allocator.stream = act == Act::run ? session.stream : nullptr;
    const gpv_status status = session.perform(act);
    const bool failed = !failed_before && allocator.failing <= allocator.calls;
    require_status(status, failed ? GPV_ERR_OUT_OF_MEMORY : GPV_OK, name_of(act));
    if (!failed)
        return false;
    require(locked_bytes() == locked,
            "host memory is locked for what the device has no memory for");
    session.succeed({act});
    return true;
}

/// Whether a second run begins with what the first one has learned, and may give something else.
bool goes_on(const Look &look) {
    return look.it == &operators::segment && look.run.as<gpv_segment_params>().warm_start;
}

/// Whether the k-th request was made, which fails.
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
        std::vector<Act> acts = {change, prepared ? prepare : run, run, wait};
        if (!prepared && goes_on(look))
            acts = {change, run, wait};
        if (goes_on(look))
            require_status(gpv_segment_forget(static_cast<gpv_segment *>(session.op)), GPV_OK,
                           "forget");
        for (const Act act : acts)
            failed |= perform_with(allocator, session, act);
    }
    session.destroy();
    require(allocator.live.empty(), "everything is freed");
    return failed;
}

void test_allocator(const Look &small, const Look &large) {
    for (const std::vector<Look> &looks :
         {std::vector{small, large, small},
          std::vector{small.on_host(), large.on_host(), small.on_host()}})
        for (const bool prepared : {false, true})
            fail_each(
                std::string(small.it->stem) + ", the program's own allocator", {Fault::once},
                [&](Fault, std::size_t k) { return attempt_allocator(looks, prepared, k); },
                1); // they are few
}

enum class Ready { warm, prepared, prepared_for_any };

std::size_t bytes_over_the_bus() {
    return simt::copied_bytes(cudaMemcpyHostToDevice) + simt::copied_bytes(cudaMemcpyDeviceToHost);
}

/// Nothing that a run enqueues has happened when it returns, and no byte goes to or from the host
/// but those of its host memory. With such, a second run would wait for the first.
void test_enqueue(const std::string &name, Look look, Ready ready) {
    using enum Act;
    if (!simt::emulated())
        return;
    where =
        look.it->stem + (", enqueue: " + name) + (ready == Ready::warm ? ", warm" : ", prepared");
    if (ready == Ready::prepared && look.it != &operators::match)
        look = resized(
            look, 48,
            look.run.height); // rows of whole 16 bytes, for which gpv_erode_prepare() makes graphs
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
    const int runs = on_host ? 1 : 3;
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
    require(bytes_over_the_bus() - moved <= on_host, "more is copied than lies in host memory");
    cudaEventDestroy(other_work);
}

void test_enqueue(const Looks &looks) {
    if (!simt::emulated())
        return;
    for (const auto &[name, look] : looks)
        for (const Ready ready : {Ready::warm, Ready::prepared, Ready::prepared_for_any})
            test_enqueue(name, look, ready);
    std::printf("%s: runs on device images only enqueue, allocate nothing, and copy no pixel\n",
                looks[0].second.it->stem);
}

Looks erosions_that_enqueue() {
    Looks looks = erosions();
    for (const gpv_erode_operation operation : {open, gradient}) {
        const Look four = erosion(GPV_FORMAT_RGBA8, operation);
        looks.push_back({"four channels", four});
        looks.push_back({"four channels", in_place(four)});
    }
    looks.push_back(
        {"narrow", in_place(erosion(GPV_FORMAT_GRAY8, GPV_ERODE_OPERATION_ERODE, 0, 9))});
    looks.push_back({"narrow", erosion(GPV_FORMAT_GRAY8, gradient, 0, 9)});
    return looks;
}

/// Several operators whose pictures in host memory a single wait completes.
void test_delivery(const Look &look) {
    using enum Act;
    where = std::string(look.it->stem) + ", delivery";
    Session session(look);
    session.succeed({create_context, create});
    void *second = nullptr;
    require_status(look.create(session.context, &second), GPV_OK, "second operator");
    Pictures pictures(look);
    session.succeed({run});
    require_status(look.run_on(second, nullptr, pictures.memories()), GPV_OK, "second run");
    require(session.shown().as_before_on_host() && pictures.as_before_on_host(),
            "a run is complete before the wait");
    session.succeed({sync});
    require(pictures.right(), "one wait completes both");

    pictures.renew();
    require_status(look.run_on(second, nullptr, pictures.memories()), GPV_OK, "run");
    gpv_context_destroy(&session.context);
    look.it->calls.destroy(&second); // with a run in flight, and after its context
    require(pictures.as_before_on_host(), "nobody has waited for the picture");
    require(simt::pending() == 0, "work is left");
    std::printf("%s: one wait completes the pictures of two operators\n", look.it->stem);
}

void test_cycles(const Looks &looks) {
    using enum Act;
    where = std::string(looks[0].second.it->stem) + ", cycles";
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
    std::printf("%s: %d cycles of create, run, destroy: memory flat\n", looks[0].second.it->stem,
                cycles);
}

/// What a run depends on is not taken from a run before, whatever they have in common.
void test_plans(const Looks &looks) {
    using enum Act;
    for (const auto &[name, look] : looks) {
        where = look.it->stem + (", one after the other: " + name);
        Look wide = look;
        wide.stride = 16 * look.run.width;
        Look narrow = resized(wide, std::max(look.run.width - 1, 1), look.run.height);
        Look in_place = wide;
        in_place.in_place = !look.in_place;
        Session session(look);
        session.succeed({create_context, create});
        for (const Look &other : {wide, narrow, in_place, look.on_host(), wide}) {
            session.show(other);
            session.succeed({run, wait});
        }
    }
    std::printf("%s: runs take turns\n", looks[0].second.it->stem);
}

/// What has to lie with the others, or where the backend computes, is refused anywhere else.
void test_memories(const Look &look) {
    Session session(look);
    session.succeed({Act::create_context, Act::create});
    for (int i = 0; i < look.ports(); i++) {
        const Port &port = look.it->ports[i];
        const auto is = [&](const char *name) { return std::strcmp(port.name, name) == 0; };
        const bool bound = port.on_device || is("descriptors") ||
                           (port.is_image() && i > 0 && !is("seeds")); // which may lie anywhere
        if (!bound || !look.run.gives(i) || look.place_of(port) == GPV_MEMORY_HOST)
            continue;
        Arguments bad = look.arguments(session.shown().memories());
        bad.images[i].memory = bad.buffers[i].memory = GPV_MEMORY_HOST;
        where = std::string(look.it->stem) + ": " + port.name + " in host memory";
        require_status(call([&] { return look.it->run(session.op, nullptr, bad); }),
                       GPV_ERR_INVALID_ARGUMENT, "run");
        require(session.text.find("->memory") != std::string::npos, session.text);
    }
    require(session.shown().as_before(), "a refused run has written");
}

/// What is tested of each operator in the same way.
void test_rest(const Looks &looks, const Looks &poisoned, const Look &look, const Look &small,
               const Look &large, const Look &delivered) {
    for (const auto &[name, each] : looks)
        test_memories(each);
    test_plans(looks);
    test_poison(poisoned);
    test_contexts(look);
    test_allocator(small, large);
    test_enqueue(looks);
    test_delivery(delivered.on_host());
    test_cycles(looks);
    where = looks[0].second.it->stem;
    const Operator *const of = looks[0].second.it;
    std::printf("%s: %d of %d runs find something\n", where.c_str(), Look::found[of],
                Look::waits[of]);
    require(3 * Look::found[of] > Look::waits[of] || !of->found, "there is nothing to be found");
}

/// One thing of each kind: what has no part in the others is tested with the first.
void test_sift() {
    using enum Act;
    const Looks looks = extractions();
    test("operator of sift", extraction(), {create}, {create_context});
    for (const auto &[name, look] : looks) {
        const std::string on = "sift, " + name + ": ";
        test(on + "run, wait", look, {run, wait});
        test(on + "run after a run, sync", look, {run, sync}, {create_context, create, run, wait},
             true);
    }
    const Look host =
        drawn(extraction([](Run &run, gpv_sift_params &) { run.formats[1] = GPV_FORMAT_GRAY8; }),
              GPV_FORMAT_NV12)
            .on_host();
    test("sift, on the device: prepare, run", extraction(), {prepare, run});
    test("sift, described, in host memory: prepare, run, run, wait", description().on_host(),
         {prepare, run, run, wait});
    test("sift, in host memory: run, query", host, {run, query});
    test("sift, in host memory: run, run, sync", host, {run, run, sync}, created, true);
    test("sift, drawn in host memory: run, run, wait", drawn_on_host(), {run, run, wait});
    test("sift, other parameters while the last run is pending", host, {change, run, wait},
         {create_context, create, run}, true, looks[3].second);
    test_enqueue("drawn in host memory", drawn_on_host(), Ready::warm);
    test_captured(looks);
    test_rest(looks, {looks[2]}, extraction(), extraction(),
              extraction([](Run &, gpv_sift_params &params) { params.octave_layers = 4; }),
              looks[1].second);
}

/// Few, for the reason of the clusterings.
void test_graphcut() {
    using enum Act;
    const Looks looks = cuttings();
    const Look certified = looks[1].second, refused = looks[4].second;
    test("operator of graphcut", cutting(), {create}, {create_context});
    test("graphcut, on the device: run, wait", certified, {run, wait});
    test("graphcut, on the device: a value out of its range", refused, {run, wait});
    test("graphcut, on the device: prepare, run, sync", cutting(), {prepare, run, sync}, created,
         true);
    test("graphcut, in host memory: run, query", cutting().on_host(), {run, query});
    test("graphcut, more neighbours while the last run is pending", cutting(), {change},
         {create_context, create, run}, true, certified);
    const Look large = cutting(
        [](Run &run, gpv_graphcut_params &) { run.formats[1] = GPV_FORMAT_CAP32X8; }, 19, 3);
    test_captured(looks);
    test_rest(looks, {looks[1]}, cutting(), cutting(), large, certified);
}

/// Likewise.
void test_segment() {
    using enum Act;
    const Looks looks = segmentations();
    const Look device = segmentation();
    test("operator of segment", device, {create}, {create_context});
    test("segment, on the device: prepare, run, sync", device, {prepare, run, sync}, created, true);
    test("segment, in host memory: run, query", device.on_host(), {run, query});
    const Look large = segmentation(GPV_FORMAT_RGB8, GPV_FORMAT_GRAY8, 29, 13,
                                    [](Run &, gpv_segment_params &params) {
                                        params.connectivity = 8;
                                        params.warm_start = GPV_SEGMENT_WARM_START_REUSE;
                                    });
    test_captured(looks);
    test_rest(looks, {looks[1]}, device, device, large, looks[1].second);
}

/// Likewise; of a cut each move has one.
void test_expansion() {
    using enum Act;
    const Look device = look_of<gpv_expansion_params>(
        operators::expansion, 4, 2, [](Run &, gpv_expansion_params &params) { params.cycles = 1; });
    test("operator of expansion", device, {create}, {create_context});
    test("expansion, on the device: prepare, run, sync", device, {prepare, run, sync}, created,
         true);
    test("expansion, in host memory: run, query", device.on_host(), {run, query});
}

/// Likewise.
void test_match() {
    using enum Act;
    const Looks looks = matchings();
    const Look marked = looks[2].second;
    test("operator of match", matching(), {create}, {create_context});
    test("match, on the device: run, wait", matching(), {run, wait});
    test("match, on the device: prepare, run, sync", looks[1].second, {prepare, run, sync}, created,
         true);
    test("match, drawn on the device: run after a run, wait", marked, {run, wait},
         {create_context, create, run, wait});
    test("match, in host memory: run, query", marked.on_host(), {run, query});
    test("match, in host memory: prepare, run, run, wait", matching().on_host(),
         {prepare, run, run, wait});
    test("match, other parameters while the last run is pending", matching().on_host(),
         {change, run, wait}, {create_context, create, run}, true, looks[1].second);
    test_captured(looks);
    test_rest(looks, {looks[2]}, matching(), matching(1, 1), matching(1, 2049, false),
              looks[1].second);
}

/// The CPU backend and the emulation round alike where the processor has fused operations.
bool processor_has_fma() {
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_cpu_supports("fma");
#else
    return true;
#endif
}

/// Each in a process of its own.
void test_real_device_lost() {
    poisons = true;
    for (const auto &look : {erosions()[1], labellings()[0], clusterings()[0], extractions()[2],
                             matchings()[2], cuttings()[1], segmentations()[1]})
        test_poison({look});
}

} // namespace

/// segment is apart, with expansion, as it takes the emulation as long as much of the rest. lost is
/// for a real device, which another process poisons.
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
        test_expansion();
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
    test_relocations();
    test_faults();
    const Look tiles = resized(erosion(), 300, 300);
    test_plans({{"several tiles", tiles}});
    test_captured(erosions());
    test_captured(labellings());
    test_captured({clusterings()[0]});
    const Look gradient_of_nv12 = erosion(GPV_FORMAT_NV12, gradient);
    test_rest(erosions_that_enqueue(), erosions(), gradient_of_nv12,
              erosion(GPV_FORMAT_GRAY8, gradient), erosion(GPV_FORMAT_NV12, gradient, 0, 99, 55),
              gradient_of_nv12);
    test_rest(labellings(), labellings(), labelling(), labelling(),
              labelling([](Run &, gpv_ccl_params &params) { params.min_area = 2; }, 99, 55),
              labellings()[1].second);
    test_rest(clusterings(), {clusterings()[0]}, clustering(), clustering(),
              clustering(nullptr, 53), clusterings()[1].second);
    test_graphcut();
    test_match();
    if (processor_has_fma())
        test_sift();
    else
        std::printf("sift: left out, the processor has no fused operations\n");
    if (usual_step == 1)
        require_all_failed();
    return failures != 0;
}
