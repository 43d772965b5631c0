// SPDX-License-Identifier: BSD-2-Clause
// A program that handles its frames in a parallel loop of oneTBB, one context a
// thread: while a run waits for its bands, the thread must not take up another
// frame of that loop, which would enter the operator again; and a run that the
// loop has begun must be whole, even if the loop is cancelled meanwhile.
#include <atomic>
#include <cstdio>
#include <vector>

#include <gpuvision/gpuvision.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

namespace {

constexpr int width = 1920, height = 1080, frames = 120, threads = 16;
constexpr int rounds = 12; // without isolation about every third one goes wrong

struct Operator {
    gpv_context *context = nullptr;
    gpv_erode *op = nullptr;
    int depth = 0;
    bool ok;

    Operator() {
        gpv_erode_params params;
        gpv_erode_params_init(&params, sizeof params);
        params.operation = GPV_ERODE_OPERATION_CLOSE;
        params.radius = 9;
        gpv_context_params context_params;
        gpv_context_params_init(&context_params, sizeof context_params);
        context_params.backend = GPV_BACKEND_CPU;
        ok = gpv_context_create(&context_params, &context) == GPV_OK &&
             gpv_erode_create(context, &params, &op) == GPV_OK;
    }
    ~Operator() {
        gpv_erode_destroy(&op);
        gpv_context_destroy(&context);
    }
    Operator(const Operator &) = delete;
    Operator &operator=(const Operator &) = delete;
};

using Frame = std::vector<unsigned char>;

/// False if it failed or was entered while it ran.
bool close_frame(Operator &op, Frame &from, Frame &to) {
    gpv_image src, dst;
    gpv_image_wrap(&src, sizeof src, GPV_FORMAT_GRAY8, width, height, from.data(), 0);
    gpv_image_wrap(&dst, sizeof dst, GPV_FORMAT_GRAY8, width, height, to.data(), 0);
    const bool alone = op.depth++ == 0;
    const bool done = op.ok && gpv_erode_run(op.op, nullptr, &src, &dst) == GPV_OK;
    op.depth--;
    return alone && done;
}

bool cancelled_run_is_whole(Frame &source, const Frame &want) {
    Operator op;
    Frame result(source.size());
    tbb::task_group_context outer;
    bool done = false;
    tbb::parallel_for(
        0, 1,
        [&](int) {
            outer.cancel_group_execution();
            done = close_frame(op, source, result);
        },
        outer);
    return done && result == want;
}

} // namespace

int main() {
    tbb::global_control more(tbb::global_control::max_allowed_parallelism, threads);
    Frame source(width * height), want(source.size());
    for (std::size_t i = 0; i < source.size(); i++)
        source[i] = static_cast<unsigned char>(i * 2654435761u >> 13);
    Operator reference;
    if (!close_frame(reference, source, want))
        return 1;

    std::vector<Frame> results(frames, Frame(source.size()));
    tbb::enumerable_thread_specific<Operator> operators;
    std::atomic<int> failed{0};
    tbb::task_arena(threads).execute([&] {
        for (int round = 0; round < rounds; round++)
            tbb::parallel_for(
                0, frames,
                [&](int i) { failed += !close_frame(operators.local(), source, results[i]); },
                tbb::simple_partitioner());
    });
    int wrong = 0;
    for (const Frame &result : results)
        wrong += result != want;
    std::printf("%d of %d runs re-entered or failed, %d results wrong\n", failed.load(),
                rounds * frames, wrong);
    bool whole = false;
    tbb::task_arena(threads).execute([&] { whole = cancelled_run_is_whole(source, want); });
    std::printf("a run in a cancelled loop is %s\n", whole ? "whole" : "not whole");
    return failed || wrong || !whole;
}
