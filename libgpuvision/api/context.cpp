// SPDX-License-Identifier: BSD-2-Clause
#include "api/guard.hpp"
#include "core/backends.hpp"
#include "revision.hpp"

namespace {

constexpr std::size_t first_context_params_size = sizeof(gpv_context_params);

gpv_context_params default_context_params() {
    gpv_context_params params{};
    params.struct_size = sizeof params;
    params.backend = GPV_BACKEND_AUTO;
    params.device = 0;
    params.log_level = GPV_LOG_LEVEL_WARNING;
    return params;
}

gpv::ContextOptions read_options(const gpv_context_params *in) {
    gpv_context_params params = default_context_params();
    gpv::read_struct(in, first_context_params_size, "params", params);

    gpv::require_range("params->backend", params.backend, gpv_backend{GPV_BACKEND_AUTO},
                       gpv_backend{GPV_BACKEND_CUDA});
    gpv::require_range("params->device", params.device, GPV_DEVICE_CURRENT, INT32_MAX);
    gpv::require_range("params->log_level", params.log_level, gpv_log_level{0},
                       gpv_log_level{GPV_LOG_LEVEL_DEBUG});
    if (!params.alloc != !params.free)
        throw gpv::Error(gpv::Status::invalid_argument,
                         "params->alloc and params->free must both be set or both be NULL");

    gpv::ContextOptions options;
    options.backend = static_cast<gpv::Backend>(params.backend);
    options.device = params.device;
    options.log_level =
        params.log_level ? static_cast<gpv::LogLevel>(params.log_level) : gpv::LogLevel::warning;
    void *user = params.user;
    if (params.log)
        options.log = [log = params.log, user](gpv::LogLevel level, const char *text) {
            log(user, static_cast<gpv_log_level>(level), text);
        };
    if (params.alloc) {
        options.allocate = [alloc = params.alloc, user](gpv::Memory memory, std::size_t size,
                                                        gpv::Stream stream) {
            return alloc(user, static_cast<gpv_memory>(memory), size, stream);
        };
        options.free = [free = params.free, user](gpv::Memory memory, void *data,
                                                  gpv::Stream stream) {
            free(user, static_cast<gpv_memory>(memory), data, stream);
        };
    }
    return options;
}

/// While a context is being created there is none to hold the text. Reads params
/// only if their size makes sense.
void log_creation_failure(const gpv_context_params *params, const char *text) {
    if (params && params->struct_size >= first_context_params_size &&
        params->struct_size <= gpv::max_struct_size && params->log)
        params->log(params->user, GPV_LOG_LEVEL_ERROR, text);
}

} // namespace

uint32_t gpv_api_version(void) {
    return GPV_API_VERSION;
}

const char *gpv_version_string(void) {
    return GPV_VERSION " " GPV_REVISION " (" GPV_BACKENDS ")";
}

const char *gpv_status_string(gpv_status status) {
    switch (status) {
    case GPV_OK:
        return "ok";
    case GPV_NOT_READY:
        return "not ready";
    case GPV_ERR_INVALID_ARGUMENT:
        return "invalid argument";
    case GPV_ERR_UNSUPPORTED:
        return "unsupported";
    case GPV_ERR_OUT_OF_MEMORY:
        return "out of memory";
    case GPV_ERR_NO_DEVICE:
        return "no usable CUDA device";
    case GPV_ERR_DEVICE:
        return "CUDA error";
    case GPV_ERR_TOO_SMALL:
        return "buffer too small";
    case GPV_ERR_DEVICE_LOST:
        return "CUDA device lost";
    case GPV_ERR_INTERNAL:
        return "internal error";
    default:
        return "unknown status";
    }
}

int32_t gpv_backend_available(gpv_backend backend) {
    switch (backend) {
    case GPV_BACKEND_AUTO:
    case GPV_BACKEND_CPU:
        return 1;
    case GPV_BACKEND_CUDA:
        return gpv::cuda::available(0) ? 1 : 0;
    default:
        return 0;
    }
}

void gpv_context_params_init(gpv_context_params *params, uint32_t size) {
    gpv::write_struct(params, size, default_context_params());
}

gpv_status gpv_context_create(const gpv_context_params *params, gpv_context **out) {
    if (out)
        *out = nullptr;
    return gpv::guard(nullptr, [&] {
        try {
            gpv::require_not_null(out, "out");
            auto core = std::make_shared<gpv::Context>(read_options(params));
            *out = new gpv_context{std::move(core)};
        } catch (const std::exception &error) {
            log_creation_failure(params, error.what());
            throw;
        }
    });
}

void gpv_context_destroy(gpv_context **context) {
    if (!context)
        return;
    delete *context;
    *context = nullptr;
}

gpv_backend gpv_context_backend(const gpv_context *context) {
    return context ? static_cast<gpv_backend>(context->core->backend())
                   : gpv_backend{GPV_BACKEND_AUTO};
}

const char *gpv_context_device_name(const gpv_context *context) {
    return context ? context->core->device().name().c_str() : "";
}

const char *gpv_context_error(const gpv_context *context) {
    return context ? context->core->error().c_str() : "";
}

gpv_status gpv_stream_follow(gpv_context *context, gpv_stream stream, gpv_stream leader) {
    if (!context)
        return GPV_ERR_INVALID_ARGUMENT;
    return gpv::guard_device(*context->core,
                             [&] { context->core->device().follow(stream, leader); });
}

gpv_status gpv_stream_sync(gpv_context *context, gpv_stream stream) {
    if (!context)
        return GPV_ERR_INVALID_ARGUMENT;
    return gpv::guard_device(*context->core, [&] { context->core->device().synchronize(stream); });
}
