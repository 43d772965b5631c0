// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include <gpuvision/gpuvision.h>

#include "core/context.hpp"
#include "core/error.hpp"

struct gpv_context {
    std::shared_ptr<gpv::Context> core;
};

namespace gpv {

/// The status of the exception that is being handled; its text goes to the context, if there is
/// one.
gpv_status failed(Context *context) noexcept;

/// Runs f and turns what it throws into a status.
template <class F>
gpv_status guard(Context *context, F &&f) noexcept {
    try {
        f();
        return GPV_OK;
    } catch (...) {
        return failed(context);
    }
}

/// As guard, on the context's device. Fails if that has been lost.
template <class F>
gpv_status guard_device(Context &context, F &&f) noexcept {
    try {
        const DeviceScope scope = context.enter();
        f();
        return GPV_OK;
    } catch (...) {
        return failed(&context);
    }
}

/// As guard_device, for an object with a context. Fails if object is null.
template <class T, class F>
gpv_status guard_object(T *object, F &&f) noexcept {
    if (!object)
        return GPV_ERR_INVALID_ARGUMENT;
    try {
        const DeviceScope scope = object->context->enter();
        f();
        return GPV_OK;
    } catch (...) {
        return failed(object->context.get());
    }
}

inline void require_not_null(const void *pointer, const Name &name) {
    if (!pointer)
        throw Error(Status::invalid_argument, name.text() + " is NULL");
}

/// Makes an object of a context. f(*object) does the rest, and *out is null if that fails.
template <class T, class F>
gpv_status create(gpv_context *context, T **out, F &&f) noexcept {
    if (out)
        *out = nullptr;
    if (!context)
        return GPV_ERR_INVALID_ARGUMENT;
    try {
        const DeviceScope scope = context->core->enter();
        require_not_null(out, "out");
        auto object = std::make_unique<T>();
        object->context = context->core;
        f(*object);
        *out = object.release();
        return GPV_OK;
    } catch (...) {
        return failed(context->core.get());
    }
}

/// Deletes an object of a context on the context's device, and sets *object to null.
template <class T>
void destroy(T **object) noexcept {
    if (!object || !*object)
        return;
    const std::shared_ptr<Context> context = (*object)->context;
    try {
        DeviceScope scope(context->device());
        delete *object;
    } catch (...) { // a lost device cannot be entered
        delete *object;
    }
    *object = nullptr;
}

/// Starts a run of an object, whose has_run says whether there is a result of its last run. run()
/// returns whether there is a run to wait for. A run that did not begin keeps the previous result;
/// a failed one leaves none.
template <class T, class F>
void start_run(T &object, F &&run) {
    const bool had_run = std::exchange(object.has_run, false);
    try {
        object.has_run = run() || had_run;
    } catch (const Error &error) {
        if (error.status() == Status::unsupported) // it has not begun
            object.has_run = had_run;
        throw;
    }
}

inline constexpr std::uint32_t max_struct_size = 4096;

/// Reads a caller's struct of any age over the defaults in out. first_size is
/// the size that the struct had in its first release.
template <class T>
void read_struct(const T *in, std::size_t first_size, const char *name, T &out) {
    if (!in)
        return;
    const std::uint32_t size = in->struct_size;
    require_range({name, "struct_size"}, size, static_cast<std::uint32_t>(first_size),
                  max_struct_size);
    const auto *bytes = reinterpret_cast<const unsigned char *>(in);
    for (std::size_t i = sizeof(T); i < size; i++)
        if (bytes[i])
            throw Error(Status::unsupported, std::string(name) +
                                                 " sets a field that is newer than "
                                                 "this library, at byte " +
                                                 std::to_string(i));
    std::memcpy(&out, in, std::min<std::size_t>(size, sizeof(T)));
    out.struct_size = sizeof(T);
}

/// Writes value into a caller's struct of size bytes, of any age. Fields newer
/// than this library become 0, so that it will serve the caller.
template <class T>
void write_struct(T *out, std::uint32_t size, T value) {
    if (!out || size < sizeof(std::uint32_t))
        return;
    value.struct_size = size;
    const std::size_t known = std::min<std::size_t>(size, sizeof(T));
    std::memcpy(out, &value, known);
    std::memset(reinterpret_cast<unsigned char *>(out) + known, 0, size - known);
}

/// Whether the last run of an object has finished. If it has, check(*object) throws Error where it
/// has found a fault.
template <class T, class F>
gpv_status query_run(T *object, F &&check) noexcept {
    bool finished = true;
    const gpv_status status = guard_object(object, [&] {
        finished = object->core->finished();
        if (finished)
            check(*object);
    });
    return status == GPV_OK && !finished ? static_cast<gpv_status>(GPV_NOT_READY) : status;
}
template <class T>
gpv_status query_run(T *object) noexcept {
    return query_run(object, [](const T &) {});
}

/// Waits for the last run of an object, and writes what it has found: zeros if there is none that
/// did not fail. Then as query_run().
template <class T, class Result, class F>
gpv_status wait_for_run(T *object, Result *result, std::uint32_t first_size, F &&check) noexcept {
    return guard_object(object, [&] {
        if (result)
            require_range({"result", "struct_size"}, result->struct_size, first_size,
                          max_struct_size);
        object->core->wait();
        if (result)
            write_struct(result, result->struct_size,
                         object->has_run ? std::bit_cast<Result>(object->core->result())
                                         : Result{});
        check(*object);
    });
}

} // namespace gpv
