/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstgpuvisionfilter_private.h"

#include <algorithm>
#include <iterator>

namespace gpu_vision_filter {

/* ---- errors ---- */

ErrorKind error_kind(gpv_status status) {
    switch (status) {
    case GPV_ERR_OUT_OF_MEMORY:
        return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT,
                "There is not enough memory."};
    case GPV_ERR_NO_DEVICE:
        return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND,
                "No usable CUDA device was found."};
    case GPV_ERR_DEVICE:
    case GPV_ERR_DEVICE_LOST:
        return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED, "The CUDA device failed."};
    default:
        return {GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED, "The frame could not be processed."};
    }
}

void post_error(GstGpuVisionFilter *self, const ErrorKind &kind, gchar *debug,
                const Location &from) {
    gst_element_message_full(GST_ELEMENT(self), GST_MESSAGE_ERROR, kind.domain, kind.code,
                             g_strdup(kind.text), debug, from.file, from.function, from.line);
}

void post_library_error(GstGpuVisionFilter *self, gpv_status status, const Location &from) {
    const auto *klass = GST_GPU_VISION_FILTER_GET_CLASS(self);
    ErrorKind kind = error_kind(status);
    if (const gchar *text = klass->explain ? klass->explain(self, status) : nullptr)
        kind.text = text;
    post_error(self, kind,
               g_strdup_printf("%s: %s", gpv_status_string(status),
                               gpv_context_error(private_of(self)->context)),
               from);
}

/* ---- backend ---- */

namespace {

constexpr GstDebugLevel log_levels[] = {GST_LEVEL_ERROR, GST_LEVEL_WARNING, GST_LEVEL_INFO,
                                        GST_LEVEL_DEBUG};

void on_log(void *user, gpv_log_level level, const char *message) {
    auto *self = GST_GPU_VISION_FILTER(user);
    GST_CAT_LEVEL_LOG(GST_CAT_DEFAULT, log_levels[level - 1], self, "%s", message);
    if (level != GPV_LOG_LEVEL_ERROR)
        return;
    auto *priv = private_of(self);
    g_free(priv->log_error);
    priv->log_error = g_strdup(message);
}

gpv_log_level wanted_log_level() {
    const auto *past = std::upper_bound(std::begin(log_levels), std::end(log_levels),
                                        gst_debug_category_get_threshold(GST_CAT_DEFAULT));
    return std::max<gpv_log_level>(GPV_LOG_LEVEL_ERROR,
                                   static_cast<gpv_log_level>(past - std::begin(log_levels)));
}

gpv_status create_context(GstGpuVisionFilter *self) {
    auto *priv = private_of(self);
    gpv_context_params params;
    gpv_context_params_init(&params, sizeof params);
    GST_OBJECT_LOCK(self);
    params.backend = static_cast<gpv_backend>(priv->backend);
    params.device = std::max(priv->device, 0);
    GST_OBJECT_UNLOCK(self);
    params.log_level = wanted_log_level();
    params.log = on_log;
    params.user = self;
    g_clear_pointer(&priv->log_error, g_free);
    const bool pushed = priv->cuda->push();
    if (pushed)
        params.device = GPV_DEVICE_CURRENT;
    const gpv_status status = gpv_context_create(&params, &priv->context);
    if (pushed)
        priv->cuda->pop();
    return status;
}

void post_create_error(GstGpuVisionFilter *self, gpv_status status, const Location &from = {}) {
    auto *priv = private_of(self);
    GST_OBJECT_LOCK(self);
    const gchar *backend = backends[priv->backend].value_nick;
    const gint device = priv->device;
    GST_OBJECT_UNLOCK(self);
    ErrorKind kind = error_kind(status);
    if (status == GPV_ERR_UNSUPPORTED)
        kind = {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND,
                "This build has no CUDA backend; use backend=cpu or backend=auto."};
    post_error(self, kind,
               g_strdup_printf("looked for backend=%s cuda-device-id=%d: %s", backend, device,
                               priv->log_error ? priv->log_error : gpv_status_string(status)),
               from);
}

void note_backend(GstGpuVisionFilter *self) {
    auto *priv = private_of(self);
    GST_OBJECT_LOCK(self);
    g_free(priv->device_name);
    priv->device_name = g_strdup(gpv_context_device_name(priv->context));
    priv->running = gpv_context_backend(priv->context);
    priv->no_cuda_memory = !priv->cuda->is_open();
    GST_OBJECT_UNLOCK(self);
    GST_INFO_OBJECT(self, "backend %s, device %s, %s CUDAMemory",
                    backends[priv->running].value_nick, priv->device_name,
                    priv->no_cuda_memory ? "without" : "with");
}

} // namespace

void close_library(GstGpuVisionFilter *self) {
    drop_last(self);
    drop_masks(self);
    GST_GPU_VISION_FILTER_GET_CLASS(self)->close(self);
    gpv_context_destroy(&private_of(self)->context);
}

/* Makes the library's objects, in the CUDA context if one is open. Posts what goes wrong. */
bool open_library(GstGpuVisionFilter *self, const Location &from) {
    auto *priv = private_of(self);
    gpv_status status = create_context(self);
    if (status != GPV_OK) {
        post_create_error(self, status, from);
        return false;
    }
    status = GST_GPU_VISION_FILTER_GET_CLASS(self)->open(self, priv->context);
    if (status != GPV_OK) {
        post_library_error(self, status, from);
        close_library(self);
        return false;
    }
    if (gpv_context_backend(priv->context) == GPV_BACKEND_CPU)
        priv->cuda->close();
    note_backend(self);
    return true;
}

gint wanted_device(GstGpuVisionFilter *self) {
    GST_OBJECT_LOCK(self);
    const gint device = private_of(self)->device;
    GST_OBJECT_UNLOCK(self);
    return device;
}

/* CUDAMemory is offered until it is known that it cannot be taken. */
bool offers_cuda_memory(GstGpuVisionFilter *self) {
    auto *priv = private_of(self);
    GST_OBJECT_LOCK(self);
    const bool result = priv->backend != GPV_BACKEND_CPU && !priv->no_cuda_memory;
    GST_OBJECT_UNLOCK(self);
    return result;
}

gboolean gst_gpu_vision_filter_start(GstBaseTransform *trans) {
    auto *self = GST_GPU_VISION_FILTER(trans);
    auto *priv = private_of(self);
    if (offers_cuda_memory(self))
        priv->cuda->open(wanted_device(self));
    if (!open_library(self)) {
        priv->cuda->close();
        return FALSE;
    }
    GST_OBJECT_LOCK(self);
    priv->times = {};
    priv->latency = 0;
    priv->output_in_force = priv->wanted_output;
    GST_OBJECT_UNLOCK(self);
    priv->interlaced_said = priv->mask_refused = false;
    return TRUE;
}

gboolean gst_gpu_vision_filter_stop(GstBaseTransform *trans) {
    auto *self = GST_GPU_VISION_FILTER(trans);
    auto *priv = private_of(self);
    close_library(self);
    priv->cuda->close();
    GST_OBJECT_LOCK(self);
    priv->no_cuda_memory = FALSE;
    gst_caps_replace(&priv->refused, nullptr);
    GST_OBJECT_UNLOCK(self);
    return TRUE;
}

void gst_gpu_vision_filter_set_context(GstElement *element, GstContext *context) {
    auto *self = GST_GPU_VISION_FILTER(element);
    private_of(self)->cuda->set_context(context, wanted_device(self));
    GST_ELEMENT_CLASS(base_class())->set_context(element, context);
}

} // namespace gpu_vision_filter

gboolean gst_gpu_vision_filter_refuse(GstGpuVisionFilter *self, GQuark domain, gint code,
                                      gchar *text, gchar *debug) {
    const bool warns = gpu_vision_filter::has_processed(self);
    gst_element_message_full(GST_ELEMENT(self), warns ? GST_MESSAGE_WARNING : GST_MESSAGE_ERROR,
                             domain, code, text, debug, __FILE__, __func__, __LINE__);
    return warns;
}
