// SPDX-License-Identifier: BSD-2-Clause
// Faults of CUDA, on the emulation: every single call of the library fails once, or finds the
// context poisoned. And what the library promises of contexts, memory and waiting.

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

namespace {

constexpr int most_failures = 20;
constexpr std::uint8_t untouched = 0xC5, gone = 0xEE;

int failures = 0;
std::string where;         ///< which scenario, and which of its calls fails
bool record_counts = true; ///< a lost context fills CUDA's record of errors again and again

void require(bool condition, const std::string &text) {
    if (condition)
        return;
    std::fprintf(stderr, "failed: %s: %s\n", where.c_str(), text.c_str());
    if (++failures == most_failures)
        std::exit(1);
}

void require_status(gpv_status status, gpv_status expected, const std::string &what) {
    require(status == expected,
            what + ": " + gpv_status_string(status) + " instead of " + gpv_status_string(expected));
}

// ------------------------------------------------------------------- contexts of the driver

template <class Function>
Function *driver_function(const char *name) {
    void *function = nullptr;
    cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault);
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

/// One that the program made; the emulation takes any address.
CUcontext own_context() {
    static char place;
    return reinterpret_cast<CUcontext>(&place);
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

/// Calls the library, which may change neither the current context nor CUDA's record of errors.
gpv_status call(const std::function<gpv_status()> &body) {
    const CUcontext before = current();
    const gpv_status status = body();
    require(current() == before, "the current context has changed");
    require(cudaGetLastError() == cudaSuccess || !record_counts, "CUDA's record holds an error");
    return status;
}

// ---------------------------------------------------------------------------------- pictures

struct Look {
    gpv_format format = GPV_FORMAT_GRAY8;
    int width = 45, height = 19;
    gpv_memory memory = GPV_MEMORY_CUDA;
    bool in_place = false;
    gpv_morph_operation operation = GPV_MORPH_ERODE;
    gpv_morph_shape shape = GPV_MORPH_RECT;
    int radius = 3;
    int iterations = 1;
    int threshold = 0;

    Look on_host() const {
        Look look = *this;
        look.memory = GPV_MEMORY_HOST;
        return look;
    }
    gpv_erode_params params() const {
        gpv_erode_params params;
        gpv_erode_params_init(&params, sizeof params);
        params.operation = operation;
        params.shape = shape;
        params.radius_x = radius;
        params.iterations = iterations;
        params.threshold = threshold;
        params.planes = GPV_MORPH_PLANES_ALL;
        return params;
    }
};

using Bytes = std::vector<std::uint8_t>;

gpv_image view(const Look &look, void *data, gpv_memory memory, std::int64_t *bytes = nullptr) {
    gpv_image image;
    const std::int64_t size =
        gpv_image_wrap(&image, sizeof image, look.format, look.width, look.height, data, 0);
    image.memory = memory;
    if (bytes)
        *bytes = size;
    return image;
}

/// What the CPU makes of it.
Bytes computed_by_cpu(const Look &look, Bytes from) {
    gpv_context_params params;
    gpv_context_params_init(&params, sizeof params);
    params.backend = GPV_BACKEND_CPU;
    gpv_context *context = nullptr;
    gpv_erode *op = nullptr;
    const gpv_erode_params erode = look.params();
    Bytes to(from.size(), untouched);
    const gpv_image src = view(look, from.data(), GPV_MEMORY_HOST);
    const gpv_image dst = view(look, to.data(), GPV_MEMORY_HOST);
    if (gpv_context_create(&params, &context) != GPV_OK ||
        gpv_erode_create(context, &erode, &op) != GPV_OK ||
        gpv_erode_run(op, nullptr, &src, &dst) != GPV_OK)
        require(false, "the CPU cannot compute");
    gpv_erode_destroy(&op);
    gpv_context_destroy(&context);
    return to;
}

/// Memory that the program sees, wherever the library takes it to be.
class Memory {
  public:
    Memory(std::size_t bytes, gpv_memory memory) : bytes_(bytes) {
        if (memory == GPV_MEMORY_CUDA) {
            if (cudaMalloc(&device_, bytes) != cudaSuccess)
                require(false, "no memory for an image");
        } else {
            host_.resize(bytes);
        }
    }
    ~Memory() {
        if (device_)
            cudaFree(device_);
    }
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;

    std::uint8_t *data() { return device_ ? static_cast<std::uint8_t *>(device_) : host_.data(); }
    std::size_t size() const { return bytes_; }
    Bytes bytes() { return {data(), data() + size()}; }
    bool holds(std::uint8_t value) { return bytes() == Bytes(size(), value); }

  private:
    std::size_t bytes_;
    void *device_ = nullptr;
    Bytes host_;
};

/// Noise, and a place for what becomes of it.
class Pictures {
  public:
    explicit Pictures(const Look &look) : look_(look) {
        std::int64_t bytes;
        view(look, nullptr, GPV_MEMORY_HOST, &bytes);
        src_ = std::make_unique<Memory>(bytes, look.memory);
        if (!look.in_place)
            dst_ = std::make_unique<Memory>(bytes, look.memory);
        renew();
    }

    void renew() {
        static std::uint32_t state = 1;
        for (std::size_t i = 0; i < src_->size(); i++) {
            state = state * 1664525 + 1013904223;
            src_->data()[i] = static_cast<std::uint8_t>(state >> 24);
        }
        from_ = src_->bytes();
        if (dst_)
            std::memset(dst_->data(), untouched, dst_->size());
    }

    gpv_image src() { return view(look_, src_->data(), look_.memory); }
    gpv_image dst() { return view(look_, to().data(), look_.memory); }
    Memory &to() { return dst_ ? *dst_ : *src_; }
    bool as_before() { return dst_ ? dst_->holds(untouched) : src_->bytes() == from_; }
    bool right() { return to().bytes() == computed_by_cpu(look_, from_); }

  private:
    Look look_;
    std::unique_ptr<Memory> src_, dst_;
    Bytes from_;
};

// ---------------------------------------------------------------------------------- sessions

enum class Act { create_context, create, prepare, change, run, wait, sync, query };

const char *name_of(Act act) {
    static const char *const names[] = {
        "gpv_context_create", "gpv_erode_create", "gpv_erode_prepare", "gpv_erode_set_params",
        "gpv_erode_run",      "gpv_erode_wait",   "gpv_stream_sync",   "gpv_erode_query"};
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
            gpv_erode_destroy(&op);
            gpv_context_destroy(&context);
            return GPV_OK;
        });
    }

    Look look;
    CUcontext images_context = primary();
    gpv_context_params params;
    gpv_context *context = nullptr;
    gpv_erode *op = nullptr;
    cudaStream_t stream = nullptr;
    std::string text; ///< of the last error
    std::vector<std::unique_ptr<Pictures>> pictures;

  private:
    gpv_status attempt(Act act) {
        const gpv_erode_params erode = look.params();
        const gpv_image src = shown().src(), dst = shown().dst();
        gpv_status status = GPV_NOT_READY;
        switch (act) {
        case Act::create_context:
            status = gpv_context_create(&params, &context);
            require((status == GPV_OK) == (context != nullptr), "a context, or an error");
            return status;
        case Act::create:
            status = gpv_erode_create(context, &erode, &op);
            require((status == GPV_OK) == (op != nullptr), "an operator, or an error");
            return status;
        case Act::prepare:
            return gpv_erode_prepare(op, &src);
        case Act::change:
            return gpv_erode_set_params(op, &erode);
        case Act::run:
            return gpv_erode_run(op, stream, &src, &dst);
        case Act::wait:
            return gpv_erode_wait(op);
        case Act::sync:
            return gpv_stream_sync(context, stream);
        case Act::query:
            for (int i = 0; i < 1000 && status == GPV_NOT_READY; i++)
                status = gpv_erode_query(op);
            return status;
        }
        return status;
    }
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
    std::string name;
    Look look;
    std::vector<Act> before; ///< without a fault
    std::vector<Act> acts;
    bool own_stream = false;
    std::optional<Look> later = {}; ///< of the acts, where it is another one
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
    Pictures &old = session.shown();
    std::memset(old.to().data(), gone, old.to().size());
    if (fault == Fault::elsewhere && k % 3 == 0) {
        session.destroy();
    } else {
        session.show(session.look);
        if (fault == Fault::elsewhere && k % 3 == 1)
            session.succeed({Act::prepare});
        session.succeed({Act::run, Act::wait});
    }
    require(old.to().holds(gone) || pending, "a picture is written after its run has failed");
}

void require_lost(Session &session) {
    if (!session.context)
        return;
    const gpv_image image = session.shown().src();
    gpv_erode *op = nullptr;
    const auto lost = [&](const char *what, const std::function<gpv_status()> &body) {
        require_status(call(body), GPV_ERR_DEVICE_LOST, std::string("once lost, ") + what);
    };
    for (const bool again : {false, true}) {
        lost(again ? "create again" : "create",
             [&] { return gpv_erode_create(session.context, nullptr, &op); });
        lost("gpv_stream_sync", [&] { return gpv_stream_sync(session.context, session.stream); });
        if (!session.op)
            continue;
        lost("run", [&] { return gpv_erode_run(session.op, session.stream, &image, &image); });
        lost("wait", [&] { return gpv_erode_wait(session.op); });
        lost("query", [&] { return gpv_erode_query(session.op); });
        lost("prepare", [&] { return gpv_erode_prepare(session.op, &image); });
        lost("set_params", [&] { return gpv_erode_set_params(session.op, nullptr); });
    }
}

/// Whether there was a k-th call.
bool attempt(const Scenario &scenario, Fault fault, std::size_t k) {
    Session session(scenario.look);
    const Current of_caller(k % 3 == 0 ? nullptr : k % 3 == 1 ? primary() : own_context());
    cudaStream_t stream = nullptr;
    if (scenario.own_stream) {
        const Current of_stream(primary());
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        session.stream = stream;
    }
    session.succeed(scenario.before);
    if (scenario.later)
        session.show(*scenario.later);

    const std::size_t start = simt::calls();
    (fault == Fault::poison ? simt::poison_call : simt::fail_call)(k);
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
    if (stream) {
        const Current of_stream(primary());
        cudaStreamDestroy(stream);
    }
    return reached;
}

void test(const Scenario &scenario) {
    std::size_t tried = 0;
    for (const Fault fault : {Fault::once, Fault::elsewhere, Fault::poison}) {
        static const char *const names[] = {"fails", "fails, on with others", "is poisoned"};
        bool reached = true;
        record_counts = fault != Fault::poison;
        for (std::size_t k = 1; reached; k++) {
            where = scenario.name + ": call " + std::to_string(k) + " " +
                    names[static_cast<int>(fault)];
            const std::size_t bytes = simt::live_bytes(), objects = simt::live_objects();
            reached = attempt(scenario, fault, k);
            tried += reached;
            require(simt::live_bytes() == bytes,
                    std::to_string(simt::live_bytes() - bytes) + " bytes leak");
            require(simt::live_objects() == objects,
                    std::to_string(simt::live_objects() - objects) + " objects leak");
        }
    }
    record_counts = true;
    std::printf("%-60s %5zu faults\n", scenario.name.c_str(), tried);
}

// --------------------------------------------------------------------------------- scenarios

constexpr gpv_morph_operation gradient = GPV_MORPH_GRADIENT, open = GPV_MORPH_OPEN;

const std::vector<std::pair<const char *, Look>> looks = {
    {"grey", {}},
    {"NV12, several kernels", {.format = GPV_FORMAT_NV12, .operation = gradient}},
    {"NV12, in place", {.format = GPV_FORMAT_NV12, .in_place = true, .operation = open}},
    {"binary", {.threshold = 100}},
    {"RGB, binary", {.format = GPV_FORMAT_RGB8, .operation = open, .threshold = 100}},
    {"ellipse, 16 bits",
     {.format = GPV_FORMAT_GRAY16, .width = 35, .shape = GPV_MORPH_ELLIPSE, .radius = 5}},
};

/// The library looks functions of the driver up once, and must not remember that it failed.
void test_first_call() {
    std::size_t k = 1;
    for (bool reached = true; reached; k++) {
        const pid_t child = fork();
        if (child == 0) {
            where = "first call: call " + std::to_string(k) + " fails";
            Session session({});
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
    std::printf("%-60s %5zu faults\n", "first call of the process", k - 2);
}

void test_faults() {
    using enum Act;
    const std::vector<Act> created = {create_context, create};
    test({"context", {}, {}, {create_context}});
    test({"operator", {}, {create_context}, {create}});
    for (const auto &[name, look] : looks) {
        const std::string on = std::string(name) + ", on the device: ";
        test({on + "run, wait, run, wait", look, created, {run, wait, run, wait}});
        test({on + "prepare, run, sync", look, created, {prepare, run, sync}, true});
        const std::string host = std::string(name) + ", in host memory: ";
        const Look other = look.on_host();
        test({host + "prepare, run, run, wait", other, created, {prepare, run, run, wait}});
        test({host + "run, sync, run, sync", other, created, {run, sync, run, sync}, true});
        test({host + "run, query", other, created, {run, query}});
    }
    const Look long_chain = {
        .width = 33, .height = 1, .shape = GPV_MORPH_CROSS, .radius = 1, .iterations = 99};
    test({"more kernels than a graph takes", long_chain, created, {run, wait}});
    const Look larger = {
        .format = GPV_FORMAT_NV12, .width = 83, .height = 61, .operation = gradient};
    for (const Look &later : {larger, larger.on_host()}) {
        Look first = {};
        first.memory = later.memory;
        const std::string on = later.memory == GPV_MEMORY_CUDA ? "device" : "host";
        test({on + ": other parameters and a larger picture",
              first,
              {create_context, create, run, wait},
              {change, run, wait},
              false,
              later});
        test({on + ": a larger picture while the last run is pending",
              first,
              {create_context, create, run},
              {change, run, wait},
              false,
              later});
    }
}

/// What a program does that asks for nothing in particular: the CPU stands in.
void test_automatic_backend() {
    std::size_t tried = 0;
    for (std::size_t k = 1;; k++) {
        where = "automatic backend: call " + std::to_string(k) + " fails";
        const std::size_t bytes = simt::live_bytes(), start = simt::calls();
        Session session(Look{}.on_host());
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
    std::printf("%-60s %5zu faults\n", "automatic backend", tried);
}

/// The kernel itself goes wrong, which shows when somebody waits.
void test_poison() {
    using enum Act;
    for (const auto &[name, device_look] : looks)
        for (const Look &look : {device_look, device_look.on_host()})
            for (const Act end : {wait, sync, query}) {
                where = std::string("poison: ") + name + ", " + name_of(end);
                const std::size_t bytes = simt::live_bytes(), objects = simt::live_objects();
                {
                    Session session(look), neighbour(look), late(look);
                    session.succeed({create_context, create, run, wait});
                    neighbour.succeed({create_context, create});
                    session.shown().renew();
                    record_counts = false;
                    simt::poison();
                    session.succeed({run});
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
                    record_counts = true;
                }
                require(simt::live_bytes() == bytes && simt::live_objects() == objects, "leaks");
                Session fresh(look);
                fresh.succeed({create_context, create, run, wait});
            }
    std::printf("a poisoned context is lost, a fresh one works\n");
}

void test_contexts() {
    using enum Act;
    where = "contexts";
    const Look look = {.format = GPV_FORMAT_NV12, .operation = gradient};
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
        Session session(look);
        session.params.device = 1;
        session.succeed({create_context, create});
        require_status(session.perform(run), GPV_ERR_UNSUPPORTED, "images on another device");
        require(session.text.find("device") != std::string::npos, session.text);
        session.show(look.on_host());
        session.succeed({run, wait});
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
    std::printf("contexts: current, foreign, none; devices: 5, 2, 0\n");
}

// ---------------------------------------------------------------------------- memory, waiting

/// A program's own allocator.
struct Allocator {
    std::map<void *, gpv_stream> live;
    std::size_t calls = 0, failing = 0;

    static void *allocate(void *self, gpv_memory memory, std::uint64_t size, gpv_stream stream) {
        auto &allocator = *static_cast<Allocator *>(self);
        require(memory == GPV_MEMORY_CUDA && size > 0, "scratch is asked for where CUDA computes");
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

void test_allocator() {
    using enum Act;
    const Look small = {.operation = gradient};
    Look large = {.format = GPV_FORMAT_NV12, .width = 99, .height = 55, .operation = gradient};
    std::size_t tried = 0;
    for (const bool host : {false, true})
        for (std::size_t k = 0; k < 4; k++) {
            where = "allocator: call " + std::to_string(k);
            Allocator allocator;
            Session session(host ? small.on_host() : small);
            cudaStream_t stream;
            cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
            session.stream = stream;
            session.params.alloc = Allocator::allocate;
            session.params.free = Allocator::free;
            session.params.user = &allocator;
            session.params.log = nullptr;
            allocator.failing = k;
            session.succeed({create_context, create});
            for (const Look &look : {small, large, small}) {
                session.show(host ? look.on_host() : look);
                for (const Act act : {change, run, run, wait}) {
                    const std::size_t before = allocator.calls;
                    const gpv_status status = session.perform(act);
                    if (before < k && allocator.calls >= k) {
                        require_status(status, GPV_ERR_OUT_OF_MEMORY, name_of(act));
                        session.succeed({act});
                        tried++;
                    } else {
                        require_status(status, GPV_OK, name_of(act));
                    }
                    for (const auto &[data, of] : allocator.live)
                        require(of == stream, "memory is for the stream of the run");
                }
            }
            session.destroy();
            require(allocator.live.empty(), "everything is freed");
            cudaStreamDestroy(stream);
        }
    std::printf("%-60s %5zu faults\n", "the program's own allocator", tried);
}

enum class Ready { warm, prepared, prepared_for_any };

std::size_t bytes_over_the_bus() {
    return simt::copied_bytes(cudaMemcpyHostToDevice) + simt::copied_bytes(cudaMemcpyDeviceToHost);
}

/// Nothing that a run enqueues has happened when it returns, and no byte goes to or from the host.
void test_enqueue(const std::string &name, Look look, Ready ready) {
    using enum Act;
    where = "enqueue: " + name + (ready == Ready::warm ? ", warm" : ", prepared");
    if (ready == Ready::prepared)
        look.width = 48; // rows of whole 16 bytes, for which gpv_erode_prepare() makes graphs
    Session session(look);
    session.succeed({create_context, create});
    if (ready == Ready::warm)
        session.succeed({run, wait});
    else
        session.succeed({prepare});
    session.shown().renew();
    const std::size_t bytes = simt::live_bytes(), objects = simt::live_objects();
    const std::size_t moved = bytes_over_the_bus();
    for (int i = 0; i < 3; i++) {
        const std::size_t pending = simt::pending();
        session.succeed({run});
        require(simt::pending() > pending, "the run has been waited for");
        require(session.shown().as_before(), "the run has happened");
    }
    require(simt::live_bytes() == bytes, "memory is allocated");
    require(simt::live_objects() == objects || ready == Ready::prepared_for_any,
            "objects are created");
    if (look.in_place) // three runs, one on the result of the other
        require_status(gpv_erode_wait(session.op), GPV_OK, "wait");
    else
        session.succeed({wait});
    require(bytes_over_the_bus() == moved, "pixels are copied between host and device");
}

void test_enqueue() {
    for (const auto &[name, look] : looks)
        for (const Ready ready : {Ready::warm, Ready::prepared, Ready::prepared_for_any})
            test_enqueue(name, look, ready);
    for (const gpv_morph_operation operation : {open, gradient})
        for (const bool in_place : {false, true})
            test_enqueue("four channels",
                         {.format = GPV_FORMAT_RGBA8, .in_place = in_place, .operation = operation},
                         Ready::prepared);
    test_enqueue("narrow", {.width = 9, .in_place = true}, Ready::prepared_for_any);
    test_enqueue("narrow", {.width = 9, .operation = gradient}, Ready::prepared_for_any);
    std::printf("runs on device images only enqueue, allocate nothing, and copy nothing\n");
}

/// Several operators whose pictures in host memory a single wait completes.
void test_delivery() {
    using enum Act;
    where = "delivery";
    const Look look = Look{.format = GPV_FORMAT_NV12, .operation = gradient}.on_host();
    Session session(look);
    session.succeed({create_context, create});
    gpv_erode *second = nullptr;
    const gpv_erode_params params = look.params();
    require_status(gpv_erode_create(session.context, &params, &second), GPV_OK, "second operator");
    Pictures pictures(look);
    const gpv_image src = pictures.src(), dst = pictures.dst();
    session.succeed({run});
    require_status(gpv_erode_run(second, nullptr, &src, &dst), GPV_OK, "second run");
    require(session.shown().as_before() && pictures.as_before(), "the runs have happened");
    session.succeed({sync});
    require(pictures.right(), "one wait completes both");

    pictures.renew();
    require_status(gpv_erode_run(second, nullptr, &src, &dst), GPV_OK, "run");
    gpv_context_destroy(&session.context);
    gpv_erode_destroy(&second); // with a run in flight, and after its context
    require(pictures.as_before(), "nobody has waited for the picture");
    require(simt::pending() == 0, "work is left");
    std::printf("one wait completes the pictures of two operators\n");
}

void test_cycles() {
    using enum Act;
    where = "cycles";
    const std::size_t bytes = simt::live_bytes(), objects = simt::live_objects();
    std::size_t most[2] = {};
    for (int i = 0; i < 100; i++) {
        const Look &look = looks[i % 2 * 3].second;
        Session session(i % 4 < 2 ? look : look.on_host());
        session.succeed({create_context, create, run, wait});
        if (i >= 4 && i < 8)
            most[0] = std::max(most[0], simt::live_bytes());
        else if (i >= 96)
            most[1] = std::max(most[1], simt::live_bytes());
    }
    require(most[0] == most[1], "a cycle takes more memory than the one before");
    require(simt::live_bytes() == bytes && simt::live_objects() == objects, "cycles leak");
    std::printf("100 cycles of create, run, destroy: memory flat\n");
}

} // namespace

int main() {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    test_first_call();
    test_faults();
    test_automatic_backend();
    test_poison();
    test_contexts();
    test_allocator();
    test_enqueue();
    test_delivery();
    test_cycles();
    return failures != 0;
}
