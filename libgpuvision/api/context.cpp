// SPDX-License-Identifier: BSD-2-Clause
#include "api/params.hpp"
#include "revision.hpp"

namespace {

/// While a context is being created there is none to hold the text. Reads params
/// only if their size makes sense.
void log_creation_failure(const gpv_context_params *params, const char *text) {
    if (params && params->struct_size >= gpv::context_fields.first_size &&
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
    return gpv::Context::available(backend);
}

void gpv_context_params_init(gpv_context_params *params, uint32_t size) {
    gpv::write_struct(params, size, gpv::default_params<gpv_context_params>(gpv::context_fields));
}

gpv_status gpv_context_create(const gpv_context_params *params, gpv_context **out) {
    if (out)
        *out = nullptr;
    return gpv::guard(nullptr, [&] {
        try {
            gpv::require_not_null(out, "out");
            auto core =
                std::make_shared<gpv::Context>(gpv::read_params(params, gpv::context_fields));
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
    return context ? context->core->backend() : gpv_backend{GPV_BACKEND_AUTO};
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
