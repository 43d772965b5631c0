// SPDX-License-Identifier: BSD-2-Clause
// Eight threads, each with a context and operators of its own, make calls of every kind, each in an
// order of its own. Whatever comes out, pixels, records, statuses and texts, is what comes out when
// one of them runs after the other. So it is of large images on one thread of oneTBB and on four,
// with nothing beside it that could order what they do. With the word cuda: on the GPU, each on a
// stream of its own.
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "common/operators.hpp"

#ifdef HAVE_CUDA
#    include <cuda_runtime_api.h>
#endif

/// arena.cpp.
extern "C" void run_on_threads(int threads, void (*run)(void *), void *user);

namespace {

using operators::Arguments;
using operators::Memory;
using operators::Operator;
using operators::Run;

constexpr int threads = 8, usual_calls = 1000, large_every = 160, large_rounds = 3, skipped = 77;
constexpr gpv_status invalid = GPV_ERR_INVALID_ARGUMENT;

/// User data of a context's callbacks.
struct Books {
    int lines[GPV_LOG_LEVEL_DEBUG + 1] = {}; ///< logged, by level
    std::string text;                        ///< the last one
    int live = 0;                            ///< allocations that are not yet given back
};

void keep_line(void *user, gpv_log_level level, const char *message) {
    auto &keep = *static_cast<Books *>(user);
    keep.lines[level]++;
    keep.text = message;
}

void *give(void *user, gpv_memory, std::uint64_t size, gpv_stream) {
    void *block = nullptr;
    if (posix_memalign(&block, 256, size))
        return nullptr;
    static_cast<Books *>(user)->live++;
    return block;
}

void take_back(void *user, gpv_memory, void *block, gpv_stream) {
    static_cast<Books *>(user)->live--;
    std::free(block);
}

struct Worker;

struct Kind {
    std::string name;
    std::function<gpv_status(Worker &)> call;
};
const std::vector<Kind> &kinds();

struct Worker {
    int below(int limit) {
        const std::uint64_t bits = operators::next_random(random); // 24
        return static_cast<int>(bits * static_cast<std::uint64_t>(limit) >> 24);
    }
    float number(int limit) { return static_cast<float>(below(limit)); }
    void note(const void *bytes, std::size_t count) {
        for (std::size_t i = 0; i < count; i++)
            sum = (sum ^ static_cast<const unsigned char *>(bytes)[i]) * 1099511628211u;
    }
    void note_text(const std::string &text) { note(text.data(), text.size()); }

    /// The object of an operator, which those that draw and describe share.
    void *&object(const Operator &it) { return objects[it.calls.create]; }

    gpv_backend backend = GPV_BACKEND_CPU;
    gpv_stream stream = nullptr;
    int threads_of_loops = 1;
    bool only_large = false; ///< images, and a call of each kind in turn
    int rounds = 0;          ///< calls to make
    std::uint32_t random = 0;
    Books keep;
    gpv_context *context = nullptr;
    std::map<decltype(operators::Calls::create), void *> objects;
    std::uint64_t sum = 0; ///< of all that the call has given
    std::vector<std::uint64_t> sums = std::vector<std::uint64_t>(kinds().size());
    std::vector<int> calls = std::vector<int>(kinds().size());
    int large = 0; ///< images
    std::string failure;
};

/// Now and then worth several threads. Of any kind of run; a GPU does not write its result to the
/// host.
Run any_run(Worker &w, const Operator &it) {
    static constexpr int sizes[][2] = {{1, 1}, {7, 1}, {5, 33}, {33, 6}, {61, 45}, {97, 61}};
    Run run = it.variant ? it.variant(w.below(20 * it.variants)) : it.example(0);
    if (it.warm)
        it.warm(run, w.below(12));
    if (!it.variant) // drawings
        run.formats[0] = formats::pictures[w.below(20)];
    const int *size = sizes[w.below(6)];
    const bool large = w.only_large || w.below(large_every) == 0;
    w.large += large;
    run = sized(it, run, large ? 641 : size[0], large ? 413 : size[1]);
    for (std::size_t port = 0; port < it.ports.size(); port++)
        if (it.ports[port].on_device)
            run.bytes[port] = 0;
    return run;
}

// ---------------------------------------------------------------------------- of every operator

/// Whether a call has been refused, with a text that is logged, too.
gpv_status refused(Worker &w, gpv_status status) {
    const std::string text = gpv_context_error(w.context);
    w.note_text(text);
    return status == invalid && !text.empty() && text == w.keep.text ? GPV_OK : invalid;
}

gpv_status create(Worker &w, const Operator &it) {
    const Run run = any_run(w, it);
    it.calls.destroy(&w.object(it));
    return it.calls.create(w.context, w.below(4) ? run.params.data() : nullptr, &w.object(it));
}

gpv_status refuse_params(Worker &w, const Operator &it) {
    Run run = any_run(w, it);
    const int size = w.below(4);
    std::memcpy(run.params.data(), &size, sizeof size);
    return refused(w, it.calls.set_params(w.object(it), run.params.data()));
}

gpv_status refuse_run(Worker &w, const Operator &it) {
    Arguments nothing(it.example(0));
    nothing.given.fill(false);
    return refused(w, it.run(w.object(it), w.stream, nothing));
}

gpv_status query(Worker &w, const Operator &it) {
    gpv_status status;
    do
        status = it.calls.query(w.object(it));
    while (status == GPV_NOT_READY);
    return status;
}

std::vector<unsigned char> result_of(const Operator &it) {
    std::vector<unsigned char> result(it.calls.result_bytes);
    if (!result.empty())
        it.calls.init_result(result.data(), it.calls.result_bytes);
    return result;
}

gpv_status wait(Worker &w, const Operator &it, std::vector<unsigned char> &result) {
    const gpv_status status = it.calls.wait(w.object(it), result.empty() ? nullptr : result.data());
    w.note(result.data(), result.size());
    return status;
}

gpv_status run_with(Worker &w, const Operator &it, const Run &run) {
    const auto seed = static_cast<unsigned>(w.below(1 << 20));
    Memory memory(it, run, seed, 12 * w.below(2));
    std::vector<unsigned char> result = result_of(it);
    gpv_status status = it.calls.set_params(w.object(it), run.params.data());
    if (status == GPV_OK)
        status = it.run(w.object(it), w.stream, memory.arguments);
    if (status == GPV_OK && w.below(2))
        status = query(w, it);
    if (status == GPV_OK)
        status = wait(w, it, result);
    for (int i = 0; i < static_cast<int>(it.ports.size()) && status == GPV_OK; i++)
        if (it.ports[i].output && run.gives(i))
            w.note(memory.blocks[i].data(), it.ports[i].is_image()
                                                ? memory.blocks[i].size() * 8
                                                : it.written(run, i, result.data()));
    return status;
}

void add_kinds_of(std::vector<Kind> &all, const Operator &it) {
    using Call = gpv_status (*)(Worker &, const Operator &);
    static constexpr std::pair<const char *, Call> calls[] = {
        {"refuse_run", refuse_run},
        {"run", [](Worker &w, const Operator &op) { return run_with(w, op, any_run(w, op)); }},
        {"create", create},
        {"set_params",
         [](Worker &w, const Operator &op) {
             return op.calls.set_params(w.object(op), any_run(w, op).params.data());
         }},
        {"refuse_params", refuse_params},
        {"prepare",
         [](Worker &w, const Operator &op) {
             const Run run = any_run(w, op);
             const gpv_status status = op.calls.set_params(w.object(op), run.params.data());
             return status == GPV_OK ? op.prepare(w.object(op), Arguments(run)) : status;
         }},
        {"query", query},
        {"wait",
         [](Worker &w, const Operator &op) {
             std::vector<unsigned char> result = result_of(op);
             return wait(w, op, result);
         }},
    };
    for (const auto &[name, call] : calls)
        all.push_back({std::string(it.stem) + " " + name,
                       [&it, call = call](Worker &w) { return call(w, it); }});
}

// ------------------------------------------------------------------------ what else there is

gpv_status kmeans_run_from(Worker &w) {
    Run run = any_run(w, operators::kmeans);
    auto &params = run.as<gpv_kmeans_params>();
    float centroids[3 * 16];
    params.clusters = 2 + w.below(15);
    params.init = GPV_KMEANS_INIT_GIVEN;
    for (float &level : centroids)
        level = w.number(256);
    const gpv_status status = gpv_kmeans_set_centroids(
        operators::as<gpv_kmeans>(w.object(operators::kmeans)), centroids, params.clusters);
    run.bytes = {}; // whose sizes go with the clusters
    return status == GPV_OK ? run_with(w, operators::kmeans, run) : status;
}

gpv_status kmeans_color(Worker &w) {
    const float centroid[3] = {w.number(256), w.number(256), w.number(256)};
    const std::uint32_t color = gpv_kmeans_color(w.below(2), centroid);
    w.note(&color, sizeof color);
    return GPV_OK;
}

gpv_status homography_find(Worker &w) {
    constexpr int pairs = 40;
    float from[2 * pairs], to[2 * pairs];
    std::uint8_t inliers[pairs] = {};
    gpv_homography_params params;
    gpv_homography found;
    gpv_homography_params_init(&params, sizeof params);
    gpv_homography_init(&found, sizeof found);
    params.max_iterations = 100;
    params.seed = static_cast<std::uint64_t>(w.below(1000));
    for (int i = 0; i < 2 * pairs; i++) {
        from[i] = w.number(640);
        to[i] = from[i] + (i % 10 ? 17 : w.number(99));
    }
    const gpv_status status =
        gpv_homography_find(w.context, &params, from, to, w.below(pairs + 1), inliers, &found);
    w.note(inliers, sizeof inliers);
    w.note(&found, sizeof found);
    return status;
}

void close_context(Worker &w) {
    for (const Operator *it : operators::all())
        it->calls.destroy(&w.object(*it));
    gpv_context_destroy(&w.context);
}

gpv_context_params logging_params(Worker &w) {
    gpv_context_params params;
    gpv_context_params_init(&params, sizeof params);
    params.backend = w.backend;
    params.log_level = GPV_LOG_LEVEL_DEBUG;
    params.log = keep_line;
    params.user = &w.keep;
    return params;
}

gpv_status context_create(Worker &w) {
    gpv_context_params params = logging_params(w);
    w.note(w.keep.lines, sizeof w.keep.lines);
    w.note_text(w.keep.text);
    close_context(w);
    if (w.keep.live)
        return GPV_ERR_OUT_OF_MEMORY;
    w.keep = {};
    if (w.backend == GPV_BACKEND_CPU && w.below(2)) {
        params.alloc = give;
        params.free = take_back;
    }
    gpv_status status = gpv_context_create(&params, &w.context);
    for (const Operator *it : operators::all())
        if (status == GPV_OK)
            status = create(w, *it);
    return status;
}

gpv_status context_refuse(Worker &w) {
    gpv_context_params params = logging_params(w);
    gpv_context *none = nullptr;
    params.backend = static_cast<gpv_backend>(3 + w.below(7));
    if (gpv_context_create(&params, &none) != invalid || none)
        return invalid;
    w.note_text(w.keep.text);
    return GPV_OK;
}

/// What is said of a context, of the library, and of a field of a struct.
gpv_status descriptions(Worker &w) {
#define NAME(stem) #stem,
    static constexpr const char *stems[] = {"context", "homography", STEMS(NAME)};
#undef NAME
    const std::uint32_t api = gpv_api_version();
    const int available = gpv_backend_available(w.below(4));
    w.note(&api, sizeof api);
    w.note(&available, sizeof available);
    w.note_text(gpv_version_string());
    w.note_text(gpv_context_error(w.context));
    w.note_text(gpv_status_string(w.below(12) - 9));
    gpv_field field;
    if (gpv_params_describe(stems[w.below(std::size(stems))], 0, &field, sizeof field) != GPV_OK)
        return invalid;
    w.note(&field, sizeof field);
    w.note_text(field.text);
    return gpv_context_backend(w.context) == w.backend && *gpv_context_device_name(w.context)
               ? GPV_OK
               : invalid;
}

/// The first is the one to begin with.
const std::vector<Kind> &kinds() {
    static const std::vector<Kind> all = [] {
        std::vector<Kind> result = {
            {"context_create", context_create},
            {"kmeans_run_from", kmeans_run_from},
            {"kmeans_color", kmeans_color},
            {"homography_find", homography_find},
            {"segment_forget",
             [](Worker &w) {
                 return gpv_segment_forget(
                     operators::as<gpv_segment>(w.object(operators::segment)));
             }},
            {"context_refuse", context_refuse},
            {"descriptions", descriptions},
            {"stream_sync", [](Worker &w) { return gpv_stream_sync(w.context, w.stream); }}};
        for (const Operator *it : operators::all())
            add_kinds_of(result, *it);
        return result;
    }();
    return all;
}

// --------------------------------------------------------------------------------- the threads

/// Whether w is to go on.
bool make_call(Worker &w, std::size_t kind) {
    w.sum = w.sums[kind];
    const gpv_status status = kinds()[kind].call(w);
    w.note(&status, sizeof status);
    w.sums[kind] = w.sum;
    w.calls[kind]++;
    if (status == GPV_OK || status == GPV_ERR_TOO_SMALL) // extrema for which there is no room
        return true;
    w.failure = kinds()[kind].name + ": status " + std::to_string(status) + ", \"" +
                (w.context ? gpv_context_error(w.context) : w.keep.text.c_str()) + "\"";
    return false;
}

void make_calls(Worker &w) {
    const int all = static_cast<int>(kinds().size());
    for (int i = 0; i < w.rounds; i++)
        if (!make_call(w, w.only_large ? i % all : i ? w.below(all) : 0))
            return;
}

void work_in_arena(void *data) {
    auto &w = *static_cast<Worker *>(data);
#ifdef HAVE_CUDA
    cudaStream_t stream = nullptr;
    if (w.backend == GPV_BACKEND_CUDA &&
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) {
        w.failure = "no stream";
        return;
    }
    w.stream = stream;
#endif
    make_calls(w);
    close_context(w);
    if (w.keep.live)
        w.failure = std::to_string(w.keep.live) + " allocations are left";
#ifdef HAVE_CUDA
    if (stream && cudaStreamDestroy(stream) != cudaSuccess)
        w.failure = "a stream is not destroyed";
#endif
}

void work(Worker &w) {
    run_on_threads(w.threads_of_loops, work_in_arena, &w);
}

/// They begin at once.
void work_together(std::vector<Worker> &workers) {
    std::barrier start(threads);
    std::vector<std::thread> each;
    for (Worker &w : workers)
        each.emplace_back([&] {
            start.arrive_and_wait();
            work(w);
        });
    for (std::thread &thread : each)
        thread.join();
}

/// The number of kinds of calls that gave something else.
int differences(const std::string &which, const Worker &got, const Worker &want) {
    int wrong = !want.failure.empty() + !got.failure.empty();
    if (wrong)
        std::printf("%s: %s %s\n", which.c_str(), got.failure.c_str(), want.failure.c_str());
    for (std::size_t k = 0; k < kinds().size(); k++)
        if (got.calls[k] != want.calls[k] || got.sums[k] != want.sums[k]) {
            std::printf("%s: %s does not give the same\n", which.c_str(), kinds()[k].name.c_str());
            wrong++;
        }
    return wrong;
}

int compare_threads_of_loops(gpv_backend backend) {
    Worker one, four;
    one.backend = four.backend = backend;
    one.only_large = four.only_large = true;
    one.rounds = four.rounds = large_rounds * static_cast<int>(kinds().size());
    four.threads_of_loops = 4;
    work(one);
    work(four);
    const int wrong = differences("on 4 threads", four, one);
    std::printf("%d large images on 1 and 4 threads: %d kinds of calls differ\n", four.large,
                wrong);
    return wrong;
}

} // namespace

int main(int argc, char **argv) {
    const bool cuda = argc == 2 && std::strcmp(argv[1], "cuda") == 0;
    const gpv_backend backend = cuda ? GPV_BACKEND_CUDA : GPV_BACKEND_CPU;
    if (cuda && !gpv_backend_available(GPV_BACKEND_CUDA)) {
        std::printf("no CUDA device\n");
        return skipped;
    }
    int wrong = compare_threads_of_loops(backend), calls = 0, large = 0;
    std::vector<Worker> alone(threads), together(threads);
    for (int i = 0; i < threads; i++)
        for (Worker *w : {&alone[i], &together[i]}) {
            w->backend = backend;
            w->rounds = std::getenv("GPV_TEST_FULL")    ? 10 * usual_calls
                        : std::getenv("GPV_TEST_SHORT") ? usual_calls / 4
                                                        : usual_calls;
            // Threads that loops share order what their callers do: half of them share none.
            w->threads_of_loops = i % 2 ? 4 : 1;
            w->random = static_cast<std::uint32_t>(i);
        }
    for (Worker &w : alone)
        work(w);
    work_together(together);
    for (int i = 0; i < threads; i++) {
        wrong += differences("thread " + std::to_string(i), together[i], alone[i]);
        large += together[i].large;
    }
    for (std::size_t k = 0; k < kinds().size(); k++) {
        int of_kind = 0;
        for (const Worker &w : together)
            of_kind += w.calls[k];
        if (!of_kind) {
            std::printf("%s was not called\n", kinds()[k].name.c_str());
            wrong++;
        }
        calls += of_kind;
    }
    std::printf("%d threads, %d calls of %zu kinds, %d with large images: %d differ from those of "
                "one thread after the other\n",
                threads, calls, kinds().size(), large, wrong);
    return wrong != 0;
}
