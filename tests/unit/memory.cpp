// SPDX-License-Identifier: BSD-2-Clause
// Every allocation of the library fails once, whichever it is: the call says so, leaks nothing,
// leaves things as they were, and works when it is repeated.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <new>

#include <check.h>
#include <gpuvision/gpuvision.h>

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

constexpr int width = 37, height = 11;
using Pixels = std::array<unsigned char, width * height>;

int logged;
void count_line(void *, gpv_log_level, const char *) {
    logged++;
}

gpv_image view(Pixels &pixels) {
    gpv_image image;
    gpv_image_wrap(&image, sizeof image, GPV_FORMAT_GRAY8, width, height, pixels.data(), 0);
    return image;
}

gpv_erode_params tophat() {
    gpv_erode_params params;
    gpv_erode_params_init(&params, sizeof params);
    params.operation = GPV_MORPH_TOPHAT;
    params.shape = GPV_MORPH_ELLIPSE;
    params.radius_x = 4;
    params.radius_y = 3;
    params.iterations = 2;
    return params;
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
    } params = {tophat(), 1};
    gpv_erode *op = nullptr;
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

void warm_up() {
    gpv_erode *op = nullptr;
    Pixels pixels{};
    const gpv_image image = view(pixels);
    gpv_context *context = cpu_context();
    ck_assert_int_eq(gpv_erode_create(context, nullptr, &op), GPV_OK);
    ck_assert_int_eq(gpv_erode_run(op, nullptr, &image, &image), GPV_OK);
    gpv_erode_destroy(&op);
    gpv_context_destroy(&context);
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
    gpv_erode *op = nullptr;
    Pixels from, to, want;
    for (std::size_t i = 0; i < from.size(); i++)
        from[i] = static_cast<unsigned char>(i * 2654435761u >> 11);
    const gpv_image src = view(from), dst = view(to), result = view(want);
    const gpv_erode_params params = tophat();
    gpv_context *context = cpu_context();
    ck_assert_int_eq(gpv_erode_create(context, &params, &op), GPV_OK);
    ck_assert_int_eq(gpv_erode_run(op, nullptr, &src, &result), GPV_OK);
    gpv_erode_destroy(&op);

    const auto attempt = [&](bool prepare) {
        gpv_status status = gpv_erode_create(context, &params, &op);
        ck_assert_int_eq(status == GPV_OK, op != nullptr);
        if (status == GPV_OK && prepare)
            status = gpv_erode_prepare(op, &src);
        if (status == GPV_OK)
            status = gpv_erode_run(op, nullptr, &src, &dst);
        if (status == GPV_ERR_OUT_OF_MEMORY && op) { // the same object, once more
            ck_assert_int_eq(gpv_erode_run(op, nullptr, &src, &dst), GPV_OK);
            ck_assert(to == want);
        }
        gpv_erode_destroy(&op);
        return status;
    };
    const auto again = [&] {
        to.fill(0xC5);
        ck_assert_int_eq(attempt(false), GPV_OK);
        ck_assert(to == want);
    };
    give_error_text_its_memory(context);
    for (const bool prepare : {false, true})
        ck_assert_int_ge(fail_each([&] { return attempt(prepare); }, again), 4);
    gpv_context_destroy(&context);
}
END_TEST

START_TEST(setting_parameters) {
    gpv_erode *op = nullptr;
    Pixels from, to, want;
    for (std::size_t i = 0; i < from.size(); i++)
        from[i] = static_cast<unsigned char>(i * 2654435761u >> 11);
    const gpv_image src = view(from), dst = view(to), result = view(want);
    gpv_erode_params old = tophat(), fresh = tophat();
    old.radius_y = 1;
    fresh.radius_x = 200;
    fresh.radius_y = 200;
    fresh.operation = GPV_MORPH_GRADIENT;
    gpv_context *context = cpu_context();
    ck_assert_int_eq(gpv_erode_create(context, &old, &op), GPV_OK);
    ck_assert_int_eq(gpv_erode_run(op, nullptr, &src, &result), GPV_OK);
    give_error_text_its_memory(context);
    const int failures =
        fail_each([&] { return gpv_erode_set_params(op, &fresh); },
                  [&] { // on failure the old ones stay
                      to.fill(0xC5);
                      ck_assert_int_eq(gpv_erode_run(op, nullptr, &src, &dst), GPV_OK);
                      ck_assert(to == want);
                  });
    ck_assert_int_ge(failures, 1);
    gpv_erode_destroy(&op);
    gpv_context_destroy(&context);
}
END_TEST

/// Not only of pixel-sized scratch: no text, no list, nothing.
START_TEST(a_prepared_run_allocates_nothing) {
    gpv_erode *op = nullptr;
    gpv_context *context = cpu_context();
    ck_assert_int_eq(gpv_erode_create(context, nullptr, &op), GPV_OK);
    Pixels pixels{};
    gpv_image image;
    for (gpv_format format :
         {GPV_FORMAT_GRAY8, GPV_FORMAT_GRAY16, GPV_FORMAT_RGBA8, GPV_FORMAT_NV12, GPV_FORMAT_I420})
        for (int threshold : {0, 100}) {
            gpv_erode_params params = tophat();
            params.threshold = threshold;
            ck_assert_int_eq(gpv_erode_set_params(op, &params), GPV_OK);
            ck_assert_int_gt(gpv_image_wrap(&image, sizeof image, format, 9, 7, pixels.data(), 0),
                             0);
            ck_assert_int_eq(gpv_erode_prepare(op, &image), GPV_OK);
            const long before = calls;
            for (int i = 0; i < 10; i++)
                ck_assert_int_eq(gpv_erode_run(op, nullptr, &image, &image), GPV_OK);
            ck_assert_msg(calls == before, "format %u threshold %d: %ld allocations in 10 runs",
                          format, threshold, calls - before);
        }
    gpv_erode_destroy(&op);
    gpv_context_destroy(&context);
}
END_TEST

int main() {
    TCase *group = tcase_create("memory");
    tcase_add_checked_fixture(group, warm_up, nullptr);
    tcase_add_test(group, creating_a_context);
    tcase_add_test(group, creating_and_running);
    tcase_add_test(group, setting_parameters);
    tcase_add_test(group, a_prepared_run_allocates_nothing);
    return run_group("memory", group);
}
