// SPDX-License-Identifier: BSD-2-Clause
// The shim between C and C++: exceptions become statuses, structs of any age are read and written.
#include "api/guard.hpp"

#include <vector>

#include <check.h>
#include <gpuvision/gpuvision.h>

#include "run_group.hpp"

#undef fail // a macro of Check

namespace {

constexpr const char *lost_text = "injected: an illegal address was encountered";

struct Handles {
    gpv_context *context = nullptr;
    gpv_erode *op = nullptr;

    Handles() {
        ck_assert_int_eq(gpv_context_create(nullptr, &context), GPV_OK);
        ck_assert_int_eq(gpv_erode_create(context, nullptr, &op), GPV_OK);
    }
    ~Handles() {
        gpv_erode_destroy(&op);
        gpv_context_destroy(&context);
    }
    gpv::Context &core() { return *context->core; }
};

template <class Exception>
void expect_status(Exception exception, gpv_status status, const char *text) {
    Handles h;
    const auto thrower = [&] { throw exception; };
    ck_assert_int_eq(gpv::guard(nullptr, thrower), status);
    ck_assert_str_eq(gpv_context_error(h.context), "");
    ck_assert_int_eq(gpv::guard(&h.core(), thrower), status);
    ck_assert_str_eq(gpv_context_error(h.context), text);
    ck_assert_int_eq(gpv::guard_device(h.core(), thrower), status);
}

/// A struct that grew twice after its first release.
struct Grown {
    std::uint32_t struct_size;
    std::int32_t first;
    std::int32_t second;
    std::int32_t third;
};
constexpr std::size_t first_size = offsetof(Grown, second);
constexpr Grown defaults = {sizeof(Grown), 1, 2, 3};

/// What read_struct() makes of the first size bytes of words.
Grown read(std::vector<std::uint32_t> words) {
    Grown out = defaults;
    gpv::read_struct(reinterpret_cast<const Grown *>(words.data()), first_size, "params", out);
    return out;
}

gpv_status read_status(const std::vector<std::uint32_t> &words) {
    return gpv::guard(nullptr, [&] { read(words); });
}

void expect_grown(const Grown &got, int first, int second, int third) {
    ck_assert_uint_eq(got.struct_size, sizeof(Grown));
    ck_assert_int_eq(got.first, first);
    ck_assert_int_eq(got.second, second);
    ck_assert_int_eq(got.third, third);
}

} // namespace

START_TEST(exceptions_become_statuses) {
    using gpv::Error;
    using gpv::Status;
    expect_status(Error(Status::invalid_argument, "a"), GPV_ERR_INVALID_ARGUMENT, "a");
    expect_status(Error(Status::unsupported, "b"), GPV_ERR_UNSUPPORTED, "b");
    expect_status(Error(Status::out_of_memory, "c"), GPV_ERR_OUT_OF_MEMORY, "c");
    expect_status(Error(Status::no_device, "d"), GPV_ERR_NO_DEVICE, "d");
    expect_status(Error(Status::device, "e"), GPV_ERR_DEVICE, "e");
    expect_status(Error(Status::too_small, "f"), GPV_ERR_TOO_SMALL, "f");
    expect_status(Error(Status::internal, "g"), GPV_ERR_INTERNAL, "g");
    expect_status(std::bad_alloc(), GPV_ERR_OUT_OF_MEMORY, "out of memory");
    expect_status(std::runtime_error("h"), GPV_ERR_INTERNAL, "h");
    expect_status(42, GPV_ERR_INTERNAL, "unknown exception");
    ck_assert_int_eq(gpv::guard(nullptr, [] {}), GPV_OK);
}
END_TEST

START_TEST(a_failure_does_not_stick) {
    Handles h;
    ck_assert_int_eq(
        gpv::guard_device(h.core(), [] { throw gpv::Error(gpv::Status::device, "transient"); }),
        GPV_ERR_DEVICE);
    ck_assert_int_eq(gpv_erode_wait(h.op), GPV_OK);
    ck_assert_str_eq(gpv_context_error(h.context), "transient");
}
END_TEST

START_TEST(a_lost_device_stays_lost) {
    Handles h, other;
    unsigned char pixels[16], before[16];
    gpv_image image;
    for (int i = 0; i < 16; i++)
        pixels[i] = before[i] = static_cast<unsigned char>(i);
    ck_assert_int_eq(gpv_image_wrap(&image, sizeof image, GPV_FORMAT_GRAY8, 4, 4, pixels, 0), 16);

    if (_i == 0)
        h.core().fail(gpv::Status::device_lost, lost_text);
    else
        ck_assert_int_eq(
            gpv::guard_device(h.core(),
                              [] { throw gpv::Error(gpv::Status::device_lost, lost_text); }),
            GPV_ERR_DEVICE_LOST);
    ck_assert_str_eq(gpv_context_error(h.context), lost_text);

    for (int round = 0; round < 2; round++) {
        gpv_erode *more = h.op;
        ck_assert_int_eq(gpv_stream_sync(h.context, nullptr), GPV_ERR_DEVICE_LOST);
        ck_assert_int_eq(gpv_stream_follow(h.context, nullptr, nullptr), GPV_ERR_DEVICE_LOST);
        ck_assert_int_eq(gpv_erode_create(h.context, nullptr, &more), GPV_ERR_DEVICE_LOST);
        ck_assert_ptr_null(more);
        ck_assert_int_eq(gpv_erode_set_params(h.op, nullptr), GPV_ERR_DEVICE_LOST);
        ck_assert_int_eq(gpv_erode_prepare(h.op, &image), GPV_ERR_DEVICE_LOST);
        ck_assert_int_eq(gpv_erode_run(h.op, nullptr, &image, &image), GPV_ERR_DEVICE_LOST);
        ck_assert_int_eq(gpv_erode_run(h.op, nullptr, nullptr, nullptr), GPV_ERR_DEVICE_LOST);
        ck_assert_int_eq(gpv_erode_query(h.op), GPV_ERR_DEVICE_LOST);
        ck_assert_int_eq(gpv_erode_wait(h.op), GPV_ERR_DEVICE_LOST);
        ck_assert_ptr_nonnull(strstr(gpv_context_error(h.context), "poisoned"));
        // No later error makes it well again.
        h.core().fail(gpv::Status::invalid_argument, "something else");
    }
    ck_assert_int_eq(memcmp(pixels, before, sizeof pixels), 0);
    ck_assert_int_eq(gpv_erode_run(other.op, nullptr, &image, &image), GPV_OK);
}
END_TEST

START_TEST(a_throwing_log_changes_nothing) {
    gpv_context_params params{};
    params.log = [](void *, gpv_log_level, const char *) { throw 1; };
    params.log_level = GPV_LOG_LEVEL_ERROR;
    gpv::Context context(params);
    ck_assert_int_eq(gpv::guard(&context, [] { throw gpv::Error(gpv::Status::device, "x"); }),
                     GPV_ERR_DEVICE);
    ck_assert_str_eq(context.error().c_str(), "x");
}
END_TEST

START_TEST(older_structs_get_defaults) {
    expect_grown(read({8, 11}), 11, 2, 3);
    expect_grown(read({12, 11, 12}), 11, 12, 3);
    expect_grown(read({16, 11, 12, 13}), 11, 12, 13);
    Grown untouched = defaults;
    gpv::read_struct<Grown>(nullptr, first_size, "params", untouched);
    expect_grown(untouched, 1, 2, 3);
}
END_TEST

START_TEST(newer_structs_must_be_zero_behind) {
    expect_grown(read({24, 11, 12, 13, 0, 0}), 11, 12, 13);
    ck_assert_int_eq(read_status({24, 11, 12, 13, 0, 0}), GPV_OK);
    ck_assert_int_eq(read_status({20, 11, 12, 13, 1}), GPV_ERR_UNSUPPORTED);
    ck_assert_int_eq(read_status({24, 11, 12, 13, 0, 0x80000000u}), GPV_ERR_UNSUPPORTED);
    std::vector<std::uint32_t> longest(1024);
    longest[0] = 4096;
    ck_assert_int_eq(read_status(longest), GPV_OK);
    longest.back() = 1;
    ck_assert_int_eq(read_status(longest), GPV_ERR_UNSUPPORTED);
}
END_TEST

START_TEST(senseless_structs_are_refused) {
    for (const std::uint32_t size : {0u, 4u, 7u, 4097u, 0x80000000u, UINT32_MAX})
        ck_assert_int_eq(read_status({size, 0}), GPV_ERR_INVALID_ARGUMENT);
}
END_TEST

START_TEST(structs_are_written_as_far_as_they_reach) {
    for (std::uint32_t size = 0; size <= 24; size++) {
        unsigned char bytes[32], want[32];
        memset(bytes, 0xC5, sizeof bytes);
        memset(want, 0xC5, sizeof want);
        if (size >= 4) {
            memset(want, 0, size);
            memcpy(want, &defaults, size < sizeof defaults ? size : sizeof defaults);
            memcpy(want, &size, sizeof size);
        }
        gpv::write_struct(reinterpret_cast<Grown *>(bytes), size, defaults);
        ck_assert_int_eq(memcmp(bytes, want, sizeof bytes), 0);
    }
    gpv::write_struct<Grown>(nullptr, sizeof(Grown), defaults);
}
END_TEST

int main() {
    TCase *group = tcase_create("guard");
    tcase_add_test(group, exceptions_become_statuses);
    tcase_add_test(group, a_failure_does_not_stick);
    tcase_add_loop_test(group, a_lost_device_stays_lost, 0, 2);
    tcase_add_test(group, a_throwing_log_changes_nothing);
    tcase_add_test(group, older_structs_get_defaults);
    tcase_add_test(group, newer_structs_must_be_zero_behind);
    tcase_add_test(group, senseless_structs_are_refused);
    tcase_add_test(group, structs_are_written_as_far_as_they_reach);
    return run_group("guard", group);
}
