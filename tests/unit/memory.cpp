// SPDX-License-Identifier: BSD-2-Clause
// Every allocation of the library fails once, whichever it is: the call says so, leaks nothing,
// leaves things as they were, and works when it is repeated.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include <check.h>

#include "common/operators.hpp"
#include "run_group.hpp"

namespace {

long live = 0;
long calls = 0;
long fail_in = 0; ///< the allocation that fails, counted from 1; 0 = none

void *allocate(std::size_t size, std::size_t alignment) {
    if (fail_in > 0 && --fail_in == 0)
        throw std::bad_alloc();
    void *memory = nullptr;
    if (posix_memalign(&memory, alignment < sizeof(void *) ? sizeof(void *) : alignment, size))
        throw std::bad_alloc();
    __atomic_add_fetch(&live, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    return memory;
}

void release(void *memory) {
    if (!memory)
        return;
    __atomic_sub_fetch(&live, 1, __ATOMIC_RELAXED);
    std::free(memory);
}

} // namespace

void *operator new(std::size_t size) {
    return allocate(size, sizeof(void *));
}
void *operator new(std::size_t size, std::align_val_t alignment) {
    return allocate(size, static_cast<std::size_t>(alignment));
}
void *operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t &) noexcept {
    try {
        return allocate(size, static_cast<std::size_t>(alignment));
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}
void operator delete(void *memory) noexcept {
    release(memory);
}
void operator delete(void *memory, std::size_t) noexcept {
    release(memory);
}
void operator delete(void *memory, std::align_val_t) noexcept {
    release(memory);
}
void operator delete(void *memory, std::size_t, std::align_val_t) noexcept {
    release(memory);
}

namespace {

using operators::Arguments;
using operators::Memory;
using operators::Operator;
using operators::Run;

/// Those that run and find something.
std::vector<const Operator *> operators_that_run() {
    std::vector<const Operator *> result;
    for (const Operator *op : operators::all())
        if (op->variant)
            result.push_back(op);
    return result;
}

/// Calls attempt with the first, second, ... allocation failing, until none is left to fail.
/// attempt returns the status of the call under test; after a failure again() must be right.
template <class Attempt, class Again>
int fail_each(Attempt attempt, Again again) {
    for (int k = 1;; k++) {
        const long before = live;
        fail_in = k;
        const gpv_status status = attempt();
        const bool failed = fail_in == 0;
        fail_in = 0;
        ck_assert_msg(status == (failed ? GPV_ERR_OUT_OF_MEMORY : GPV_OK),
                      "allocation %d: status %d, %s", k, status,
                      failed ? "failed" : "did not fail");
        if (!failed)
            return k - 1;
        again();
        ck_assert_msg(live == before, "allocation %d: %ld blocks leaked", k, live - before);
    }
}

/// With a text as long as any that follows.
void give_error_text_its_memory(gpv_context *context) {
    struct {
        gpv_erode_params known;
        std::uint32_t newer;
    } params = {{}, 1};
    gpv_erode *op = nullptr;
    gpv_erode_params_init(&params.known, sizeof params.known);
    params.known.struct_size = sizeof params;
    ck_assert_int_eq(gpv_erode_create(context, &params.known, &op), GPV_ERR_UNSUPPORTED);
}

gpv_context *cpu_context() {
    gpv_context *context = nullptr;
    gpv_context_params params;
    gpv_context_params_init(&params, sizeof params);
    params.backend = GPV_BACKEND_CPU;
    ck_assert_int_eq(gpv_context_create(&params, &context), GPV_OK);
    return context;
}

gpv_status run_and_wait(const Operator &it, void *op, const Arguments &arguments) {
    const gpv_status status = it.run(op, nullptr, arguments);
    return status == GPV_OK ? it.calls.wait(op, nullptr) : status;
}

/// Of an operator whose run is to find what another one has found.
struct Expected {
    Expected(const Operator &operator_, void *op, const Run &run_)
        : it(operator_), run(run_), want(it, run, 7) {
        ck_assert_int_eq(run_and_wait(it, op, want.arguments), GPV_OK);
    }
    void require(void *op) const {
        Memory memory(it, run, 7);
        ck_assert_int_eq(run_and_wait(it, op, memory.arguments), GPV_OK);
        ck_assert_msg(memory.blocks == want.blocks, "%s finds something else", it.stem);
    }

    const Operator &it;
    Run run;
    Memory want;
};

/// What is made once, at the first run on a thread.
void warm_up() {
    for (const Operator *it : operators_that_run()) {
        const Run run = sized(*it, it->variant(0), 37, 11);
        void *op = nullptr;
        gpv_context *context = cpu_context();
        ck_assert_int_eq(it->calls.create(context, run.params.data(), &op), GPV_OK);
        Expected(*it, op, run).require(op);
        it->calls.destroy(&op);
        gpv_context_destroy(&context);
    }
}

int logged;
void count_line(void *, gpv_log_level, const char *) {
    logged++;
}

} // namespace

START_TEST(creating_a_context) {
    gpv_context *context = nullptr;
    gpv_context_params params;
    gpv_context_params_init(&params, sizeof params);
    params.backend = GPV_BACKEND_CPU;
    params.log = count_line;
    const int failures = fail_each(
        [&] {
            logged = 0;
            const gpv_status status = gpv_context_create(&params, &context);
            ck_assert_int_eq(status == GPV_OK, context != nullptr);
            ck_assert_int_eq(logged, status != GPV_OK); // the reason goes to the log
            gpv_context_destroy(&context);
            return status;
        },
        [] {});
    ck_assert_int_ge(failures, 2);
}
END_TEST

START_TEST(creating_and_running) {
    gpv_context *context = cpu_context();
    give_error_text_its_memory(context);
    for (const Operator *it : operators_that_run())
        for (int v = 0; v < it->variants; v += 7)
            for (const bool prepare : {false, true}) {
                const Run run = sized(*it, it->variant(v), 37, 11);
                void *op = nullptr;
                ck_assert_int_eq(it->calls.create(context, run.params.data(), &op), GPV_OK);
                const Expected expected(*it, op, run);
                it->calls.destroy(&op);
                Memory to(*it, run, 7);
                const auto attempt = [&] {
                    gpv_status status = it->calls.create(context, run.params.data(), &op);
                    ck_assert_int_eq(status == GPV_OK, op != nullptr);
                    if (status == GPV_OK && prepare)
                        status = it->prepare(op, to.arguments);
                    if (status == GPV_OK)
                        status = run_and_wait(*it, op, to.arguments);
                    return status;
                };
                const auto end = [&] { it->calls.destroy(&op); };
                const int failures = fail_each(
                    [&] {
                        const gpv_status status = attempt();
                        if (status == GPV_OK)
                            end();
                        return status;
                    },
                    [&] {
                        if (op)
                            expected.require(op); // the same object, once more
                        end();
                    });
                ck_assert_int_ge(failures, 2 + it->has_scratch); // handle, backend, scratch
            }
    gpv_context_destroy(&context);
}
END_TEST

/// On failure the old ones stay.
START_TEST(setting_parameters) {
    gpv_context *context = cpu_context();
    give_error_text_its_memory(context);
    int failures = 0;
    for (const Operator *it : operators_that_run())
        for (int v = 1; v < it->variants; v++) {
            const Run old = sized(*it, it->variant(v - 1), 37, 11), fresh = it->variant(v);
            void *op = nullptr;
            ck_assert_int_eq(it->calls.create(context, old.params.data(), &op), GPV_OK);
            const Expected expected(*it, op, old);
            failures += fail_each([&] { return it->calls.set_params(op, fresh.params.data()); },
                                  [&] { expected.require(op); });
            it->calls.destroy(&op);
        }
    ck_assert_int_ge(failures, 3);
    gpv_context_destroy(&context);
}
END_TEST

START_TEST(giving_centroids) {
    const Operator &it = operators::kmeans;
    const float first[] = {10, 10, 10, 250, 250, 250}, other[] = {120, 120, 120, 130, 130, 130};
    Run run = sized(it, it.variant(0), 37, 11);
    auto &params = run.as<gpv_kmeans_params>();
    params.clusters = 2;
    params.max_iterations = 0; // which would lead to the same centroids from others as well
    params.init = GPV_KMEANS_INIT_GIVEN;
    params.color_space = GPV_KMEANS_COLOR_SPACE_RGB;
    gpv_context *context = cpu_context();
    gpv_kmeans *op = nullptr;
    ck_assert_int_eq(gpv_kmeans_create(context, &params, &op), GPV_OK);
    ck_assert_int_eq(gpv_kmeans_set_centroids(op, first, 2), GPV_OK);
    const Expected expected(it, op, run);
    const auto again = [&] { expected.require(op); };
    give_error_text_its_memory(context);
    ck_assert_int_ge(fail_each([&] { return gpv_kmeans_set_centroids(op, other, 2); }, again), 1);
    ck_assert_int_eq(gpv_kmeans_set_centroids(op, first, 2), GPV_OK);
    params.color_space = GPV_KMEANS_COLOR_SPACE_LAB;
    ck_assert_int_ge(fail_each([&] { return gpv_kmeans_set_params(op, &params); }, again), 1);
    gpv_kmeans_destroy(&op);
    gpv_context_destroy(&context);
}
END_TEST

START_TEST(finding_a_homography) {
    constexpr int count = 40;
    std::array<float, 2 * count> from, to;
    std::uint32_t state = 1;
    for (std::size_t i = 0; i < from.size(); i++) {
        from[i] = static_cast<float>(operators::next_random(state) % 256);
        to[i] = i % 10 < 2 ? static_cast<float>(operators::next_random(state) % 256)
                           : 2 * from[i] + 9; // of which some are false
    }
    struct Outcome {
        gpv_homography homography;
        std::array<unsigned char, count> fits;
    } out, want;
    gpv_context *context = cpu_context();
    const auto attempt = [&] {
        std::memset(static_cast<void *>(&out), 0xC5, sizeof out);
        out.homography.struct_size = sizeof out.homography;
        return gpv_homography_find(context, nullptr, from.data(), to.data(), count, out.fits.data(),
                                   &out.homography);
    };
    ck_assert_int_eq(attempt(), GPV_OK);
    ck_assert_uint_eq(out.homography.found, 1);
    ck_assert_int_ge(out.homography.inliers, count * 8 / 10);
    want = out;
    const auto again = [&] {
        ck_assert_uint_eq(out.homography.found, 0xC5C5C5C5u); // nothing has been written
        ck_assert_uint_eq(out.fits[0], 0xC5);
        ck_assert_int_eq(attempt(), GPV_OK);
        ck_assert_mem_eq(&out, &want, sizeof out);
    };
    give_error_text_its_memory(context);
    ck_assert_int_ge(fail_each(attempt, again), 3); // points of both sides, which fit
    gpv_context_destroy(&context);
}
END_TEST

/// Not only of pixel-sized scratch: no text, no list, nothing.
START_TEST(a_prepared_run_allocates_nothing) {
    gpv_context *context = cpu_context();
    for (const Operator *it : operators_that_run()) {
        void *op = nullptr;
        ck_assert_int_eq(it->calls.create(context, nullptr, &op), GPV_OK);
        for (int i = 0; i < 3 * it->variants; i++) {
            Memory memory(*it, sized(*it, it->variant(i), 9, 7), 7);
            ck_assert_int_eq(it->calls.set_params(op, memory.arguments.run.params.data()), GPV_OK);
            ck_assert_int_eq(it->prepare(op, memory.arguments), GPV_OK);
            const long before = calls;
            for (int k = 0; k < 10; k++)
                ck_assert_int_eq(run_and_wait(*it, op, memory.arguments), GPV_OK);
            ck_assert_msg(calls == before, "%s, variant %d: %ld allocations in 10 runs", it->stem,
                          i, calls - before);
        }
        it->calls.destroy(&op);
    }
    gpv_context_destroy(&context);
}
END_TEST

int main() {
    TCase *group = tcase_create("memory");
    tcase_add_checked_fixture(group, warm_up, nullptr);
    tcase_set_timeout(group, 60);
    tcase_add_test(group, creating_a_context);
    tcase_add_test(group, creating_and_running);
    tcase_add_test(group, setting_parameters);
    tcase_add_test(group, giving_centroids);
    tcase_add_test(group, finding_a_homography);
    tcase_add_test(group, a_prepared_run_allocates_nothing);
    return run_group("memory", group);
}
