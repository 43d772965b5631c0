// SPDX-License-Identifier: BSD-2-Clause
// Runs whose result depends on what they are given alone: not on where that lies, what ran before,
// and on how many threads; and what wait and query say of them.
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>

#include <sched.h>

#include "suite.hpp"

using namespace suite;

namespace {

/// Each port that receives what wait says.
void expect_agreement(const Memory &memory, const Bytes &result) {
    for (int port = 0; port < ports(); port++)
        if (it->ports[port].result_at >= 0 && memory.arguments.run.gives(port))
            ck_assert_mem_eq(memory.arguments.buffers[port].data,
                             result.data() + it->ports[port].result_at,
                             it->least(memory.arguments.run, port));
}

/// Into one of its inputs, where it may.
void expect_in_place(Session &session, const Memory &want, const Bytes &result, layout how,
                     const std::string &text) {
    const Run &run = want.arguments.run;
    for (int port = 0; port < ports(); port++) {
        const int src = it->ports[port].in_place;
        if (src < 0 || !run.gives(port) || run.formats[port] != run.formats[src])
            continue;
        Memory memory(run, how);
        Arguments arguments = memory.arguments;
        arguments.images[port] = arguments.images[src];
        ck_assert(session.succeed(arguments) == result);
        ck_assert_msg(picture_equal(&memory.pictures[src], &want.pictures[port]),
                      "in place, %s, %dx%d", text.c_str(), run.width, run.height);
        ck_assert(memory.intact(result));
    }
}

/// What is not asked for, by itself or with all else, changes nothing else.
void expect_optional(Session &session, const Memory &want, const Bytes &result) {
    const auto is_left_out = [](const Port &port) {
        return port.output && port.optional && !port.needed;
    };
    for (int port = 0; port <= ports(); port++) {
        Run run = want.arguments.run;
        Bytes without = result;
        for (int i = 0; i < ports(); i++) {
            if ((i != port && port != ports()) || !is_left_out(it->ports[i]))
                continue;
            run.formats[i] = GPV_FORMAT_NONE;
            run.bytes[i] = 0;
            if (it->ports[i].counted_at >= 0)
                std::memset(without.data() + it->ports[i].counted_at, 0, sizeof(std::int32_t));
        }
        Memory memory(run);
        ck_assert(session.succeed(memory.arguments) == without);
        expect_same(memory, want, result, "without output " + std::to_string(port));
    }
}

} // namespace

/// Neither the place of what is read and written, nor what scratch held before, nor which outputs
/// are wanted may change a bit.
START_TEST(same_bytes_in_every_memory) {
    Session session;
    const int step = getenv("GPV_TEST_FULL") ? 1 : 2;
    std::int64_t found = 0;
    static const int sizes[][2] = {{1, 1},  {1, 7},  {7, 1},   {5, 3},
                                   {33, 6}, {67, 5}, {131, 9}, {61, 47}};
    for (int s = 0; s < static_cast<int>(COUNT(sizes)); s++)
        for (int v = s % step; v < it->variants; v += step) {
            const int i = s * it->variants + v;
            Run run = variant_of(i, sizes[s][0], sizes[s][1]);
            for (std::uint64_t &bytes : run.bytes)
                bytes += bytes && i % 2 ? 8 : 0; // beyond what is needed, less than a record
            const Memory before(run);
            Memory first(run);
            const Bytes result = session.succeed(first.arguments);
            for (int how = 0; how < LAYOUTS; how++) {
                const layout of = static_cast<layout>(how);
                const std::string text =
                    "variant " + std::to_string(i) + ", layout " + std::to_string(how);
                Memory memory(run, of);
                session.keep.fill ^= 0xFF;
                ck_assert(session.succeed(memory.arguments) == result);
                expect_same(memory, first, result, text);
                for (int port = 0; port < ports(); port++)
                    if (!it->ports[port].output)
                        ck_assert(same(port, memory, before, result));
                ck_assert(memory.intact(result));
                expect_agreement(memory, result);
                expect_in_place(session, first, result, of, text);
            }
            expect_optional(session, first, result);
            found += it->found ? it->found(result.data()) : 1;
        }
    ck_assert_int_gt(found, it->variants);
}
END_TEST

START_TEST(a_hundred_runs_are_one) {
    Session session;
    for (const int i : {0, it->variants / 2, it->variants - 1}) {
        Memory want(variant_of(i, 67, 53), TIGHT, 11), memory(want.arguments.run, TIGHT, 11);
        const Bytes result = session.succeed(want.arguments);
        for (int k = 0; k < 34; k++) {
            session.keep.fill = k;
            memory.clear();
            session.expect(session.run(memory.arguments), GPV_OK, "");
            ck_assert(session.wait() == result);
            expect_same(memory, want, result, "variant " + std::to_string(i));
        }
    }
}
END_TEST

/// Runs of all variants, each of which leaves nothing to the next.
START_TEST(what_ran_before_does_not_count) {
    Session session;
    for (int i = 0; i < it->variants; i++) {
        Session fresh;
        const Run run = variant_of(i, i % 3 ? 41 : 23, i % 2 ? 13 : 29);
        Memory want(run, TIGHT, i), memory(run, TIGHT, i);
        const Bytes result = fresh.succeed(want.arguments);
        ck_assert(session.succeed(memory.arguments) == result);
        expect_same(memory, want, result, "variant " + std::to_string(i));
    }
}
END_TEST

START_TEST(null_params_are_the_defaults) {
    Session session;
    Run run = it->example(0);
    std::uint32_t size;
    std::memcpy(&size, run.params.data(), sizeof size);
    it->calls.init_params(run.params.data(), size);
    Memory want(run), memory(run);
    const Bytes result = session.succeed(want.arguments);
    const auto expect_default = [&] {
        memory.clear();
        session.expect(session.run(memory.arguments), GPV_OK, "");
        ck_assert(session.wait() == result);
        expect_same(memory, want, result, "the defaults");
    };
    // Refused ones leave those in force as they are, each field for itself and all.
    for (const operators::Field &field : it->fields) {
        Run refused = it->variant(it->variants - 1);
        const std::uint32_t bits = field.type == operators::Field::Type::f32 ? 0x7FC00000u
                                   : field.low == -1                         ? 0xFFFFFFF0u
                                                                             : UINT32_MAX;
        if (field.type == operators::Field::Type::u64)
            continue;
        std::memcpy(refused.params.data() + field.offset, &bits, sizeof bits);
        ck_assert_int_eq(it->calls.set_params(session.op, refused.params.data()), INVALID);
        expect_default();
    }
    session.set(it->variant(it->variants - 1));
    session.expect(it->calls.set_params(session.op, nullptr), GPV_OK, "");
    expect_default();
}
END_TEST

START_TEST(wait_and_query) {
    Session session;
    const Run run = it->example(0);
    Memory memory(run);
    session.expect_nothing_found(); // has not run
    session.expect(it->prepare(session.op, memory.arguments), GPV_OK, "");
    session.expect_nothing_found();
    const Bytes result = session.succeed(memory.arguments);
    if (it->found)
        ck_assert_int_gt(it->found(result.data()), 0);
    ck_assert_str_eq(gpv_context_error(session.context), "");
    // What was refused for its arguments does not count.
    for (int port = 0; port < ports(); port++)
        for (const gpv_memory place : {gpv_memory{GPV_MEMORY_CUDA}, gpv_memory{2}}) {
            Arguments bad = memory.arguments;
            bad.images[port].memory = bad.buffers[port].memory = place;
            ck_assert_int_eq(session.run(bad), place == 2 ? INVALID : UNSUPPORTED);
            ck_assert(session.wait() == result);
        }
    // Nor do other parameters, before there is a run.
    session.set(it->variant(it->variants - 1));
    ck_assert(session.wait() == result);
    session.expect(gpv_stream_sync(session.context, nullptr), GPV_OK, "");
    ck_assert(session.wait() == result);
    // A size of the result that is illegal comes first, and nothing is written.
    if (it->calls.result_bytes) {
        Bytes shorter(it->calls.result_bytes, 0xC5);
        const std::uint32_t size = it->calls.result_bytes - 1;
        std::memcpy(shorter.data(), &size, sizeof size);
        const Bytes before = shorter;
        session.expect(it->calls.wait(session.op, shorter.data()), INVALID,
                       "result->struct_size is " + std::to_string(size));
        ck_assert(shorter == before);
    }
}
END_TEST

START_TEST(the_context_may_go_first) {
    Session session;
    Memory memory(it->example(0)), want(it->example(0));
    const Bytes result = session.succeed(want.arguments);
    gpv_context_destroy(&session.context);
    ck_assert_ptr_null(session.context);
    ck_assert_int_eq(session.run(memory.arguments), GPV_OK);
    Arguments bad = memory.arguments;
    bad.given[0] = false;
    ck_assert_int_eq(session.run(bad), INVALID);
    ck_assert_int_eq(it->calls.wait(session.op, nullptr), GPV_OK);
    expect_same(memory, want, result, "the defaults");
    it->calls.destroy(&session.op);
    ck_assert_int_eq(session.keep.live, 0);
}
END_TEST

namespace {

/// Of this process.
std::ptrdiff_t count_threads() {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
}

int allowed_cores() {
    cpu_set_t cores;
    ck_assert_int_eq(sched_getaffinity(0, sizeof cores, &cores), 0);
    return CPU_COUNT(&cores);
}

/// A run in a context with such a limit. Where there is no room for all that is found, it is
/// written as far as it goes.
gpv_status run_on_threads(std::int32_t threads, Memory &memory, Bytes &result) {
    gpv_context *context = nullptr;
    void *op = nullptr;
    gpv_context_params params;
    gpv_context_params_init(&params, sizeof params);
    params.backend = GPV_BACKEND_CPU;
    params.threads = threads;
    ck_assert_int_eq(gpv_context_create(&params, &context), GPV_OK);
    if (threads == 1)
        ck_assert_ptr_nonnull(std::strstr(gpv_context_device_name(context), " 1 thread)"));
    ck_assert_int_eq(it->calls.create(context, memory.arguments.run.params.data(), &op), GPV_OK);
    ck_assert_int_eq(it->run(op, nullptr, memory.arguments), GPV_OK);
    result.assign(it->calls.result_bytes, 0);
    if (!result.empty())
        it->calls.init_result(result.data(), it->calls.result_bytes);
    const gpv_status status = it->calls.wait(op, result.empty() ? nullptr : result.data());
    it->calls.destroy(&op);
    gpv_context_destroy(&context);
    return status;
}

} // namespace

/// Of content that is worth several threads.
START_TEST(threads_are_limited) {
    constexpr int contents = 6;
    const std::ptrdiff_t before = count_threads();
    std::vector<std::unique_ptr<Memory>> wanted;
    std::array<Bytes, contents> results;
    std::array<gpv_status, contents> statuses;
    for (int i = 0; i < contents; i++) {
        const Run run = variant_of(i * it->variants / contents, 641, 413);
        wanted.push_back(std::make_unique<Memory>(run));
        statuses[i] = run_on_threads(1, *wanted[i], results[i]);
        ck_assert(statuses[i] == GPV_OK || statuses[i] == GPV_ERR_TOO_SMALL);
    }
    ck_assert_int_eq(count_threads(), before);
    for (const int threads : {0, 2}) {
        for (int i = 0; i < contents; i++) {
            Memory memory(wanted[i]->arguments.run);
            Bytes result;
            ck_assert_int_eq(run_on_threads(threads, memory, result), statuses[i]);
            ck_assert(result == results[i]);
            expect_same(memory, *wanted[i], result, "on " + std::to_string(threads) + " threads");
        }
        ck_assert_int_eq(count_threads() > before, allowed_cores() > 1);
    }
}
END_TEST

int main(int argc, char **argv) {
    return run_all(argc, argv, "runs",
                   {same_bytes_in_every_memory, a_hundred_runs_are_one,
                    what_ran_before_does_not_count, null_params_are_the_defaults, wait_and_query,
                    the_context_may_go_first, threads_are_limited});
}
