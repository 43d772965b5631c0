// SPDX-License-Identifier: BSD-2-Clause
#include "core/context.hpp"

#include <gpuvision/context.h>

namespace gpv {
namespace {

constexpr gpv_choice backends[] = {
    {"auto", "CUDA where it can be used, else the CPU", GPV_BACKEND_AUTO},
    {"cpu", "The CPU", GPV_BACKEND_CPU},
    {"cuda", "CUDA, or an error where there is none", GPV_BACKEND_CUDA}};

constexpr gpv_choice log_levels[] = {
    {"default", "As warning", 0},
    {"error", "Why a call fails", GPV_LOG_LEVEL_ERROR},
    {"warning", "What works, but not as asked, too", GPV_LOG_LEVEL_WARNING},
    {"info", "What computes, too", GPV_LOG_LEVEL_INFO},
    {"debug", "Outputs that are too small, too", GPV_LOG_LEVEL_DEBUG}};

using Params = gpv_context_params;

constexpr gpv_field fields[] = {
    GPV_FIELD(choice, Params, backend, backends, GPV_BACKEND_AUTO, "What computes."),
    GPV_FIELD(number, Params, device, GPV_DEVICE_CURRENT, INT32_MAX, 0, "",
              "Ordinal of the CUDA device; -1 is the CUDA context that is current on the calling "
              "thread. The CPU ignores it."),
    GPV_FIELD(choice, Params, log_level, log_levels, GPV_LOG_LEVEL_WARNING, "How much is logged."),
    GPV_FIELD(number, Params, threads, 0, INT32_MAX, 0, "",
              "How many threads the CPU computes on at most; 0 is as many as oneTBB gives the "
              "calling thread.")};
static_assert(is_complete<Params>(fields, offsetof(Params, log),
                                  offsetof(Params, threads) - offsetof(Params, log)));

void require_rules(const void *of_context) {
    const auto &params = *static_cast<const Params *>(of_context);
    if (!params.alloc != !params.free)
        throw Error(Status::invalid_argument,
                    "params->alloc and params->free must both be set or both be NULL");
}

} // namespace

constinit const Fields context_fields = {"context", fields, 48, require_rules};

} // namespace gpv
