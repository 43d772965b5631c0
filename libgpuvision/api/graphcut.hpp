// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <string>

#include <gpuvision/graphcut.h>

#include "api/image.hpp"
#include "core/graphcut.hpp"

namespace gpv {

static_assert(sizeof(GraphcutResult) == sizeof(gpv_graphcut_result) &&
              offsetof(GraphcutResult, refused) == offsetof(gpv_graphcut_result, refused) &&
              alignof(GraphcutResult) == 8);

inline constexpr std::uint32_t first_graphcut_result_size = 40; // for ever

/// Throws Error unless the format is one of those.
void require_format(const Image &image, const char *name, bool legal, const char *formats);

/// Reads the links of a graph.
Image read_links(const Context &context, const gpv_image *image, bool shape_only = false);

/// Throws Error: a value of what has that name must be low..high.
[[noreturn]] void throw_fault(const GraphcutFault &fault, int width, const std::string &name,
                              int low, int high);
/// The same of a plane of links.
[[noreturn]] void throw_link_fault(const GraphcutFault &fault, int width, int plane);

/// Reads the buffer that a run writes its result to. waiter: the function that returns the result
/// on the host, for the error text.
template <class Result>
Result *read_result_buffer(const Context &context, const gpv_buffer *result, const char *waiter) {
    const BufferView view = read_buffer(result, "result", sizeof(Result), alignof(Result));
    context.device().require_accessible(view.memory, view.device, "result");
    if (view.memory != context.device().memory())
        throw Error(Status::invalid_argument,
                    std::string("result->memory is GPV_MEMORY_HOST, but the backend is CUDA; ") +
                        waiter + "() gives the result to the host");
    return reinterpret_cast<Result *>(view.data);
}

/// A view of a result, which is in the same memory as like.
template <class Result>
BufferView view_of(const Result *result, const Image &like) {
    return {.memory = like.memory,
            .device = like.device,
            .data = reinterpret_cast<std::byte *>(const_cast<Result *>(result)),
            .size = sizeof(Result)};
}

} // namespace gpv
