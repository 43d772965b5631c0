// SPDX-License-Identifier: BSD-2-Clause
// The allocator of a context: each of its allocations fails once, and after prepare, or a first
// run, there are none.
#include "suite.hpp"

#include <algorithm>

using namespace suite;

START_TEST(every_allocation_may_fail) {
    Session session;
    books &keep = session.keep;
    for (int v = 0; v < it->variants; v++) {
        const bool prepared = v % 2;
        const Run run = variant_of(v, 41, 13);
        Memory want(run, TIGHT, 3);
        Session plain;
        const Bytes result = plain.succeed(want.arguments);
        int needed = plain.keep.allocations, failures = 0;
        ck_assert_int_eq(needed > 0, it->has_scratch);
        for (keep.fail_at = 1;; keep.fail_at++) {
            Memory memory(run, TIGHT, 3);
            void *fresh = nullptr;
            const int live = keep.live;
            keep.allocations = 0;
            session.expect(it->calls.create(session.context, run.params.data(), &fresh), GPV_OK,
                           "");
            std::swap(fresh, session.op);
            const gpv_status status = prepared ? it->prepare(session.op, memory.arguments)
                                               : session.run(memory.arguments);
            ck_assert_int_eq(status == GPV_OK, keep.allocations < keep.fail_at);
            if (status != GPV_OK) {
                session.expect(status, GPV_ERR_OUT_OF_MEMORY, "bytes");
                session.expect_nothing_found();
                failures++;
            }
            memory.clear(); // the next call is right
            session.expect(session.run(memory.arguments), GPV_OK, "");
            ck_assert(session.wait() == result);
            expect_same(memory, want, result, "");
            std::swap(fresh, session.op);
            it->calls.destroy(&fresh);
            ck_assert_int_eq(keep.live, live);
            if (status == GPV_OK)
                break;
        }
        keep.fail_at = 0;
        ck_assert_int_eq(failures > 0, it->has_scratch);
        ck_assert(prepared || failures >= needed);
    }
}
END_TEST

namespace {

/// Whether there is such an allocation, counted from 1, in a larger run after a smaller one. It
/// fails.
bool fails_and_leaves_nothing(const Run &run, int allocation) {
    Session session, undisturbed;
    Memory small(sized(run, 3, 1)), large(run);
    const Bytes before = session.succeed(small.arguments);
    undisturbed.succeed(small.arguments);
    const Bytes next = undisturbed.succeed(small.arguments);
    session.keep.fail_at = session.keep.allocations + allocation;
    const gpv_status status = session.run(large.arguments);
    if (status == GPV_OK)
        return false;
    session.expect(status, GPV_ERR_OUT_OF_MEMORY, "bytes");
    ck_assert(large.untouched());
    session.expect_nothing_found();
    session.keep.fail_at = 0;
    // Either afresh, or as if the one that failed had not been.
    const Bytes after = session.succeed(small.arguments);
    ck_assert(after == before || after == next);
    return true;
}

} // namespace

/// One that runs out of memory leaves no result, nor anything of its own for the next to begin
/// with, and nobody asks for that of the one before.
START_TEST(a_run_that_fails_leaves_no_result) {
    const int step = std::max(1, it->variants / 12);
    for (int i = 0; i < it->variants; i += step) {
        Run run = it->variant(i);
        int failures = 0;
        if (it->warm)
            it->warm(run, i);
        while (fails_and_leaves_nothing(run, failures + 1))
            failures++;
        ck_assert_msg((failures > 0) == it->has_scratch, "variant %d", i);
    }
}
END_TEST

/// Whatever the content, and which outputs are asked for; data and stride are not read.
START_TEST(nothing_is_allocated_after_prepare) {
    int prepared = 0;
    for (int v = 0; v < it->variants; v++) {
        Session session;
        books &keep = session.keep;
        Run run = variant_of(v, 53, 31);
        if (it->warm)
            it->warm(run, v);
        Memory memory(run);
        Arguments shapes(run);
        session.set(run);
        session.expect(it->prepare(session.op, shapes), GPV_OK, "");
        prepared += keep.allocations > 0;
        const int before = keep.allocations;
        for (unsigned seed = 0; seed < 4; seed++) {
            Arguments arguments = memory.arguments;
            it->fill(arguments, seed);
            if (seed == 3) // a picture of one colour, or descriptors that are all the same
                std::memset(memory.pictures[0].block[0], 0, memory.pictures[0].size[0]);
            session.expect(session.run(arguments), GPV_OK, "");
            for (int port = ports() - 1; port >= 0; port--) {
                if (!it->ports[port].optional || it->ports[port].is_image())
                    continue;
                arguments.given[port] = false;
                session.expect(session.run(arguments), GPV_OK, "");
            }
            session.wait();
            ck_assert_msg(keep.allocations == before, "variant %d, content %u", v, seed);
        }
    }
    ck_assert_int_eq(prepared > it->variants / 2, it->has_scratch);
}
END_TEST

START_TEST(second_run_allocates_nothing) {
    Session session;
    const Run run = variant_of(it->variants - 1, 53, 31);
    Memory memory(run);
    gpv_stream stream = &session;
    session.set(run);
    session.expect(it->run(session.op, stream, memory.arguments), GPV_OK, "");
    ck_assert_int_eq(session.keep.allocations > 0, it->has_scratch);
    ck_assert(!it->has_scratch || session.keep.stream == stream);
    const int before = session.keep.allocations;
    it->fill(memory.arguments, 4);
    session.expect(it->run(session.op, stream, memory.arguments), GPV_OK, "");
    ck_assert_int_eq(session.keep.allocations, before);
}
END_TEST

int main(int argc, char **argv) {
    return run_all(argc, argv, "allocations",
                   {every_allocation_may_fail, a_run_that_fails_leaves_no_result,
                    nothing_is_allocated_after_prepare, second_run_allocates_nothing});
}
