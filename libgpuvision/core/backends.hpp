// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include <gpuvision/context.h>

#include "core/stems.hpp"

namespace gpv {

class Context;
class Device;
#define GPV_CLASS(stem, Name) class Name;
GPV_STEMS(GPV_CLASS)
#undef GPV_CLASS

/// What a backend does. There is one table for each, which alone names it above cpu/ and cuda/.
struct BackendFunctions {
    /// True if make_device() can be expected to succeed.
    bool (*available)(int device);
    /// Throws Error, with the reason, if there is no usable device.
    std::unique_ptr<Device> (*make_device)(const gpv_context_params &params);
    // Of a context on such a device: null where none can be made.
#define GPV_MEMBER(stem, Name)                                                                     \
    std::unique_ptr<Name> (*make_##stem)(std::shared_ptr<Context>) = nullptr;
    GPV_STEMS(GPV_MEMBER)
#undef GPV_MEMBER
};

#define GPV_FACTORY(stem, Name) std::unique_ptr<Name> make_##stem(std::shared_ptr<Context> context);
namespace cpu {
extern const BackendFunctions functions;
GPV_STEMS(GPV_FACTORY)
} // namespace cpu

namespace cuda {
extern const BackendFunctions functions; ///< without nvcc that of cuda/stubs.cpp
GPV_STEMS(GPV_FACTORY)
} // namespace cuda
#undef GPV_FACTORY

} // namespace gpv
