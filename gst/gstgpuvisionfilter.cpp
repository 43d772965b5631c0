/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstgpuvisionfilter.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>

#include "gstgpuvisioncuda.h"
#include "gstgpuvisionframe.h"
#include "gstgpuvisionmeta.h"

GST_DEBUG_CATEGORY_STATIC(gpuvision_debug);
#define GST_CAT_DEFAULT gpuvision_debug

/* Times of the library, for the stats property. */
struct GstGpuVisionTimes {
    guint64 frames;
    guint64 uploads;      /* frames taken to a CUDA device */
    guint64 downloads;    /* images taken back */
    gdouble last, sum;    /* us */
    gdouble recent[1024]; /* us, a ring */
};

struct GstGpuVisionFilterPrivate {
    /* Properties and stats, under the object lock. */
    gint backend;
    gint device;
    gboolean post_messages;
    gboolean attach_meta;
    guint wanted_output;
    guint output_changes;
    gpv_backend running;     /* AUTO: not started yet */
    gboolean no_cuda_memory; /* started without it */
    gchar *device_name;
    GstGpuVisionTimes times;

    GstGpuVisionCuda *cuda; /* open while CUDAMemory can be taken */
    gpv_context *context;
    gchar *log_error; /* last error line of the library */
    GstCaps *refused; /* caps whose refusal has been posted */
    GstVideoInfo in_info, out_info;
    bool cuda_frames; /* those of the caps */
    guint output;     /* of the frame at hand */
    bool finished;    /* by process() itself */
};

/* GStreamer's own handling of presets is enough. */
G_DEFINE_ABSTRACT_TYPE_WITH_CODE(GstGpuVisionFilter, gst_gpu_vision_filter, GST_TYPE_BASE_TRANSFORM,
                                 G_ADD_PRIVATE(GstGpuVisionFilter)
                                     G_IMPLEMENT_INTERFACE(GST_TYPE_PRESET, nullptr))

namespace {

enum Property { backend = 1, cuda_device_id, post_messages, attach_meta, stats };

#define GPU_VISION_FORMATS "NV12, I420, RGBA, BGRA, RGBx, BGRx, RGB, BGR"
#define GPU_VISION_SIZES                                                                           \
    "width = (int) [ 1, 32767 ], height = (int) [ 1, 32767 ], "                                    \
    "framerate = (fraction) [ 0, max ]"
/* libgstcuda 1.22 aborts on GRAY8. */
#define GPU_VISION_CAPS                                                                            \
    "video/x-raw(" GST_GPU_VISION_CUDA_MEMORY "), format = (string) { " GPU_VISION_FORMATS         \
    " }, " GPU_VISION_SIZES "; video/x-raw, format = (string) { " GPU_VISION_FORMATS               \
    ", GRAY8 }, " GPU_VISION_SIZES

/* Of an element that says nothing of its outputs. */
constexpr GstGpuVisionOutput same_as_input = {GST_VIDEO_FORMAT_UNKNOWN, GST_VIDEO_FORMAT_UNKNOWN,
                                              GST_GPU_VISION_PIXELS_NEW};

GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS(GPU_VISION_CAPS));
GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(GPU_VISION_CAPS));

const GEnumValue backends[] = {
    {GPV_BACKEND_AUTO, "CUDA where it can be used, else the CPU", "auto"},
    {GPV_BACKEND_CPU, "The CPU", "cpu"},
    {GPV_BACKEND_CUDA, "CUDA, or an error where there is none", "cuda"},
    {0, nullptr, nullptr}};

GstGpuVisionFilterPrivate *private_of(gpointer self) {
    return static_cast<GstGpuVisionFilterPrivate *>(
        gst_gpu_vision_filter_get_instance_private(GST_GPU_VISION_FILTER(self)));
}

GstBaseTransformClass *base_class() {
    return GST_BASE_TRANSFORM_CLASS(gst_gpu_vision_filter_parent_class);
}

/* ---- errors ---- */

struct ErrorKind {
    GQuark domain;
    gint code;
    const gchar *text;
};

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

/* As a default argument, the place of the call. Clang 14 has no std::source_location. */
struct Location {
    const char *file = __builtin_FILE();
    const char *function = __builtin_FUNCTION();
    int line = __builtin_LINE();
};

void post_error(GstGpuVisionFilter *self, const ErrorKind &kind, gchar *debug,
                const Location &from = {}) {
    gst_element_message_full(GST_ELEMENT(self), GST_MESSAGE_ERROR, kind.domain, kind.code,
                             g_strdup(kind.text), debug, from.file, from.function, from.line);
}

void post_library_error(GstGpuVisionFilter *self, gpv_status status, const Location &from = {}) {
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

constexpr GstDebugLevel log_levels[] = {GST_LEVEL_ERROR, GST_LEVEL_WARNING, GST_LEVEL_INFO,
                                        GST_LEVEL_DEBUG};

void on_log(void *user, gpv_log_level level, const char *message) {
    auto *self = GST_GPU_VISION_FILTER(user);
    GST_CAT_LEVEL_LOG(GST_CAT_DEFAULT, log_levels[level - 1], self, "%s", message);
    if (level != GPV_LOG_ERROR)
        return;
    auto *priv = private_of(self);
    g_free(priv->log_error);
    priv->log_error = g_strdup(message);
}

gpv_log_level wanted_log_level() {
    const auto *past = std::upper_bound(std::begin(log_levels), std::end(log_levels),
                                        gst_debug_category_get_threshold(GST_CAT_DEFAULT));
    return std::max<gpv_log_level>(GPV_LOG_ERROR,
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

void close_library(GstGpuVisionFilter *self) {
    GST_GPU_VISION_FILTER_GET_CLASS(self)->close(self);
    gpv_context_destroy(&private_of(self)->context);
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

/* Makes the library's objects, in the CUDA context if one is open. Posts what goes wrong. */
bool open_library(GstGpuVisionFilter *self, const Location &from = {}) {
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

gboolean start(GstBaseTransform *trans) {
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
    GST_OBJECT_UNLOCK(self);
    return TRUE;
}

gboolean stop(GstBaseTransform *trans) {
    auto *self = GST_GPU_VISION_FILTER(trans);
    auto *priv = private_of(self);
    close_library(self);
    priv->cuda->close();
    GST_OBJECT_LOCK(self);
    priv->no_cuda_memory = FALSE;
    GST_OBJECT_UNLOCK(self);
    gst_caps_replace(&priv->refused, nullptr);
    return TRUE;
}

void set_context(GstElement *element, GstContext *context) {
    auto *self = GST_GPU_VISION_FILTER(element);
    private_of(self)->cuda->set_context(context, wanted_device(self));
    GST_ELEMENT_CLASS(gst_gpu_vision_filter_parent_class)->set_context(element, context);
}

guint output_changes(GstGpuVisionFilter *self) {
    GST_OBJECT_LOCK(self);
    const guint changes = private_of(self)->output_changes;
    GST_OBJECT_UNLOCK(self);
    return changes;
}

/* Core transforms caps there and back. Both have to be of the same output. */
gboolean query_caps(GstGpuVisionFilter *self, GstPadDirection direction, GstQuery *query) {
    gboolean answered = FALSE;
    guint changes = 0;
    do {
        changes = output_changes(self);
        answered = base_class()->query(GST_BASE_TRANSFORM(self), direction, query);
    } while (changes != output_changes(self));
    return answered;
}

gboolean query(GstBaseTransform *trans, GstPadDirection direction, GstQuery *query) {
    auto *self = GST_GPU_VISION_FILTER(trans);
    if (GST_QUERY_TYPE(query) == GST_QUERY_CONTEXT && private_of(self)->cuda->answer(query))
        return TRUE;
    if (GST_QUERY_TYPE(query) == GST_QUERY_CAPS)
        return query_caps(self, direction, query);
    return base_class()->query(trans, direction, query);
}

/* ---- outputs ---- */

const GstGpuVisionOutput &output_at(GstGpuVisionFilter *self, guint index) {
    return GST_GPU_VISION_FILTER_GET_CLASS(self)->outputs[index];
}

const GstGpuVisionOutput &wanted_output(GstGpuVisionFilter *self) {
    return output_at(self, gst_gpu_vision_filter_get_output(self));
}

guint n_outputs(GstGpuVisionFilter *self) {
    return GST_GPU_VISION_FILTER_GET_CLASS(self)->n_outputs;
}

GstVideoFormat format_of(const GstGpuVisionOutput &output, bool cuda) {
    return cuda ? output.cuda : output.system;
}

/* Whether the caps in force are those of this output. */
bool fits(GstGpuVisionFilter *self, guint index) {
    const auto *priv = private_of(self);
    const GstVideoFormat format = format_of(output_at(self, index), priv->cuda_frames);
    return GST_VIDEO_INFO_FORMAT(&priv->out_info) ==
           (format == GST_VIDEO_FORMAT_UNKNOWN ? GST_VIDEO_INFO_FORMAT(&priv->in_info) : format);
}

/*
 * The caps may still be those of an output that is not wanted any more. Then
 * the next frame changes them, and this one becomes what they can hold.
 */
guint output_of_caps(GstGpuVisionFilter *self) {
    guint index = gst_gpu_vision_filter_get_output(self);
    if (!fits(self, index))
        index = private_of(self)->output;
    for (guint i = 0; !fits(self, index) && i < n_outputs(self); i++)
        index = i;
    return index;
}

/* What is added to the caps of the source pad. */
GstCaps *caps_of_format(GstVideoFormat format, bool cuda) {
    if (format == GST_VIDEO_FORMAT_UNKNOWN)
        return gst_caps_new_empty();
    gchar *text = g_strdup_printf("video/x-raw%s, format = (string) %s, " GPU_VISION_SIZES,
                                  cuda ? "(" GST_GPU_VISION_CUDA_MEMORY ")" : "",
                                  gst_video_format_to_string(format));
    GstCaps *caps = gst_caps_from_string(text);
    g_free(text);
    return caps;
}

/* ---- caps ---- */

bool is_cuda_memory(const GstCapsFeatures *features) {
    return gst_caps_features_get_size(features) == 1 &&
           gst_caps_features_contains(features, GST_GPU_VISION_CUDA_MEMORY);
}

/* Of fixed caps. */
bool is_cuda_memory(const GstCaps *caps) {
    return is_cuda_memory(gst_caps_get_features(caps, 0));
}

bool is_system_memory(const GstCaps *caps) {
    return gst_caps_features_is_equal(gst_caps_get_features(caps, 0),
                                      GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY);
}

/* What an output makes of one kind of frame, or takes to make one; NULL if it makes no such. */
GstStructure *transform_fields(const GstStructure *fields, GstPadDirection from,
                               GstVideoFormat format) {
    if (format == GST_VIDEO_FORMAT_UNKNOWN)
        return gst_structure_copy(fields);
    GstStructure *made = gst_structure_new(gst_structure_get_name(fields), "format", G_TYPE_STRING,
                                           gst_video_format_to_string(format), nullptr);
    GstStructure *result = nullptr;
    if (from == GST_PAD_SINK || gst_structure_can_intersect(fields, made)) {
        result = gst_structure_copy(fields);
        gst_structure_remove_fields(result, "format", "colorimetry", "chroma-site", nullptr);
        if (from == GST_PAD_SINK)
            gst_structure_set_value(result, "format", gst_structure_get_value(made, "format"));
    }
    gst_structure_free(made);
    return result;
}

GstCaps *transform_caps(GstBaseTransform *trans, GstPadDirection direction, GstCaps *caps,
                        GstCaps *filter) {
    auto *self = GST_GPU_VISION_FILTER(trans);
    const GstGpuVisionOutput &output = wanted_output(self);
    const bool cuda_memory = offers_cuda_memory(self);
    GstCaps *result = gst_caps_new_empty();
    for (guint i = 0; i < gst_caps_get_size(caps); i++) {
        const GstCapsFeatures *features = gst_caps_get_features(caps, i);
        const bool cuda = is_cuda_memory(features);
        if (cuda && !cuda_memory)
            continue;
        GstStructure *fields =
            transform_fields(gst_caps_get_structure(caps, i), direction, format_of(output, cuda));
        if (fields)
            gst_caps_append_structure_full(result, fields, gst_caps_features_copy(features));
    }
    if (filter) {
        GstCaps *all = result;
        result = gst_caps_intersect_full(filter, all, GST_CAPS_INTERSECT_FIRST);
        gst_caps_unref(all);
    }
    return result;
}

bool format_is_known(GstPad *pad, const gchar *format, const GstCapsFeatures *features) {
    GstCaps *known = gst_pad_get_pad_template_caps(pad);
    GstCaps *asked = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, format, nullptr);
    gst_caps_set_features(asked, 0, gst_caps_features_copy(features));
    const bool result = gst_caps_can_intersect(asked, known);
    gst_caps_unref(asked);
    gst_caps_unref(known);
    return result;
}

bool template_takes(GstPad *pad, GstCaps *caps) {
    GstCaps *known = gst_pad_get_pad_template_caps(pad);
    const bool result = gst_caps_is_subset(caps, known);
    gst_caps_unref(known);
    return result;
}

bool takes(GstGpuVisionFilter *self, GstPad *pad, GstCaps *caps) {
    return template_takes(pad, caps) && (!is_cuda_memory(caps) || offers_cuda_memory(self));
}

const gchar *why_no_cuda_memory(GstGpuVisionFilter *self) {
    GST_OBJECT_LOCK(self);
    const auto *priv = private_of(self);
    const bool cuda = priv->no_cuda_memory && priv->running == GPV_BACKEND_CUDA;
    GST_OBJECT_UNLOCK(self);
    return cuda ? "CUDAMemory needs a build of this element with gstreamer-cuda: "
                  "put cudadownload in front of this element."
                : "CUDAMemory needs the CUDA backend, and here the CPU computes: "
                  "put cudadownload in front of this element, or use backend=auto or backend=cuda "
                  "on a machine with a CUDA GPU.";
}

/* What is wrong with fixed caps and what helps, or NULL if nothing is wrong. */
gchar *why_refused(GstGpuVisionFilter *self, GstPad *pad, GstCaps *caps) {
    const GstStructure *fields = gst_caps_get_structure(caps, 0);
    const gchar *interlace = gst_structure_get_string(fields, "interlace-mode");
    if (interlace && !g_str_equal(interlace, "progressive"))
        return g_strdup_printf("Interlaced video (interlace-mode=%s) is not supported: "
                               "put deinterlace in front of this element.",
                               interlace);
    if (takes(self, pad, caps))
        return nullptr;
    if (template_takes(pad, caps))
        return g_strdup(why_no_cuda_memory(self));
    const bool cuda = is_cuda_memory(caps);
    if (!gst_structure_has_name(fields, "video/x-raw") || !(cuda || is_system_memory(caps)))
        return g_strdup("Only video/x-raw in system memory or CUDAMemory is supported.");
    const gchar *format = gst_structure_get_string(fields, "format");
    if (format && !format_is_known(pad, format, gst_caps_get_features(caps, 0)))
        return g_strdup_printf("Format %s is not supported%s: put %s in front of this element.",
                               format, cuda ? " in CUDAMemory" : "",
                               cuda ? "cudadownload and videoconvert" : "videoconvert");
    gint width = 0, height = 0;
    if (gst_structure_get(fields, "width", G_TYPE_INT, &width, "height", G_TYPE_INT, &height,
                          nullptr) &&
        std::max(width, height) > GPV_MAX_SIDE)
        return g_strdup_printf("Frames of %dx%d pixels are not supported: "
                               "width and height may be 1 to %d.",
                               width, height, GPV_MAX_SIDE);
    return g_strdup("These caps lack a field, or have one that is out of range.");
}

/* A query is no failure yet, so it posts nothing. */
gboolean accept_caps(GstBaseTransform *trans, GstPadDirection direction, GstCaps *caps) {
    if (base_class()->accept_caps(trans, direction, caps))
        return TRUE;
    gchar *reason = why_refused(GST_GPU_VISION_FILTER(trans),
                                direction == GST_PAD_SINK ? trans->sinkpad : trans->srcpad, caps);
    if (reason)
        GST_WARNING_OBJECT(trans, "refused %" GST_PTR_FORMAT ": %s", caps, reason);
    g_free(reason);
    return FALSE;
}

/*
 * Core drops a caps event that accept-caps refuses before the element sees it,
 * and upstream then fails with a text that helps nobody. So the reason is
 * posted from a probe, which runs earlier. Core sends refused caps again with
 * each event that follows them; they are explained once.
 */
GstPadProbeReturn explain_refused_caps(GstPad *pad, GstPadProbeInfo *probe, gpointer self) {
    GstEvent *event = GST_PAD_PROBE_INFO_EVENT(probe);
    if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS)
        return GST_PAD_PROBE_OK;
    GstCaps *caps = nullptr;
    gst_event_parse_caps(event, &caps);
    gchar *reason = why_refused(GST_GPU_VISION_FILTER(self), pad, caps);
    auto *priv = private_of(self);
    const bool known = reason && priv->refused && gst_caps_is_equal(caps, priv->refused);
    gst_caps_replace(&priv->refused, reason ? caps : nullptr);
    if (reason && !known)
        GST_ELEMENT_ERROR(self, CORE, NEGOTIATION, ("%s", reason),
                          ("offered: %" GST_PTR_FORMAT, caps));
    g_free(reason);
    return GST_PAD_PROBE_OK;
}

gboolean set_caps(GstBaseTransform *trans, GstCaps *in, GstCaps *out) {
    auto *priv = private_of(trans);
    priv->cuda_frames = is_cuda_memory(in);
    return gst_video_info_from_caps(&priv->in_info, in) &&
           gst_video_info_from_caps(&priv->out_info, out) &&
           !GST_VIDEO_INFO_IS_INTERLACED(&priv->in_info);
}

/* ---- allocation ---- */

struct PoolWishes {
    GstCaps *caps;
    guint size, min, max;
    bool video_meta;
};

/* On success size is that of the pool's buffers, which may be more. */
bool configure_pool(GstGpuVisionFilter *self, GstBufferPool *pool, PoolWishes &wishes) {
    GstStructure *config = gst_buffer_pool_get_config(pool);
    gst_buffer_pool_config_set_params(config, wishes.caps, wishes.size, wishes.min, wishes.max);
    if (wishes.video_meta && gst_buffer_pool_has_option(pool, GST_BUFFER_POOL_OPTION_VIDEO_META))
        gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
    if (is_cuda_memory(wishes.caps))
        private_of(self)->cuda->configure(config);
    if (!gst_buffer_pool_set_config(pool, config))
        return false;
    config = gst_buffer_pool_get_config(pool);
    gst_buffer_pool_config_get_params(config, nullptr, &wishes.size, nullptr, nullptr);
    gst_structure_free(config);
    return true;
}

/* NULL where there is no memory for it. */
GstBufferPool *make_pool(GstGpuVisionFilter *self, PoolWishes &wishes) {
    GstBufferPool *pool = is_cuda_memory(wishes.caps) ? private_of(self)->cuda->new_pool()
                                                      : gst_video_buffer_pool_new();
    if (pool && !configure_pool(self, pool, wishes))
        gst_clear_object(&pool);
    return pool;
}

gboolean propose_allocation(GstBaseTransform *trans, GstQuery *decide, GstQuery *query) {
    auto *self = GST_GPU_VISION_FILTER(trans);
    GstCaps *caps = nullptr;
    gboolean need_pool = FALSE;
    GstVideoInfo info;
    if (wanted_output(self).pixels != GST_GPU_VISION_PIXELS_NEW) /* downstream gets these buffers */
        return base_class()->propose_allocation(trans, nullptr, query);
    gst_query_parse_allocation(query, &caps, &need_pool);
    if (!caps || !gst_caps_is_fixed(caps) || !gst_video_info_from_caps(&info, caps) ||
        !takes(self, trans->sinkpad, caps) ||
        !base_class()->propose_allocation(trans, decide, query))
        return FALSE;
    PoolWishes wishes = {caps, static_cast<guint>(info.size), 0, 0, true};
    GstBufferPool *pool = need_pool ? make_pool(self, wishes) : nullptr;
    gst_query_add_allocation_pool(query, pool, wishes.size, 0, 0);
    gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
    gst_clear_object(&pool);
    return TRUE;
}

/* Downstream's pool if it offers one that fits, else our own. */
gboolean decide_allocation(GstBaseTransform *trans, GstQuery *query) {
    auto *self = GST_GPU_VISION_FILTER(trans);
    GstVideoInfo info;
    GstBufferPool *pool = nullptr;
    PoolWishes wishes = {};
    const bool offered = gst_query_get_n_allocation_pools(query) > 0;
    gst_query_parse_allocation(query, &wishes.caps, nullptr);
    if (!wishes.caps || !gst_video_info_from_caps(&info, wishes.caps))
        return FALSE;
    if (offered)
        gst_query_parse_nth_allocation_pool(query, 0, &pool, &wishes.size, &wishes.min,
                                            &wishes.max);
    wishes.size = std::max(wishes.size, static_cast<guint>(info.size));
    wishes.video_meta = gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
    if (pool && is_cuda_memory(wishes.caps) && !private_of(self)->cuda->shares(pool))
        gst_clear_object(&pool);
    if (pool && !configure_pool(self, pool, wishes))
        gst_clear_object(&pool);
    if (!pool) {
        wishes.max = 0; /* it was the limit of a pool that is not used */
        pool = make_pool(self, wishes);
    }
    if (!pool) {
        post_error(self, error_kind(GPV_ERR_OUT_OF_MEMORY), gst_caps_to_string(wishes.caps));
        return FALSE;
    }
    if (offered)
        gst_query_set_nth_allocation_pool(query, 0, pool, wishes.size, wishes.min, wishes.max);
    else
        gst_query_add_allocation_pool(query, pool, wishes.size, wishes.min, wishes.max);
    gst_object_unref(pool);
    return base_class()->decide_allocation(trans, query);
}

/* ---- frames ---- */

/* Sources of raw bytes open a segment in bytes, in which a time means nothing. */
template <auto Convert>
GstClockTime to_time(const GstSegment &segment, GstClockTime time) {
    return segment.format == GST_FORMAT_TIME ? Convert(&segment, GST_FORMAT_TIME, time)
                                             : GST_CLOCK_TIME_NONE;
}

/* Frames of another CUDA context are processed where they are: everything is made anew there. */
void follow_context(GstGpuVisionFilter *self, GstBuffer *buffer) {
    auto *priv = private_of(self);
    if (priv->cuda->holds(buffer) || !priv->cuda->can_adopt(buffer, wanted_device(self)))
        return;
    GST_INFO_OBJECT(self, "taking over the CUDA context of the input");
    close_library(self);
    if (!priv->cuda->adopt(buffer))
        post_error(self, error_kind(GPV_ERR_DEVICE),
                   g_strdup("no stream in the CUDA context of the input"));
    else if (open_library(self)) {
        if (priv->cuda->is_open())
            return gst_base_transform_reconfigure_src(GST_BASE_TRANSFORM(self));
        close_library(self); /* it would compute on the CPU */
        post_error(self, error_kind(GPV_ERR_DEVICE), g_strdup(priv->log_error));
    }
}

void before_transform(GstBaseTransform *trans, GstBuffer *buffer) {
    const GstClockTime time =
        to_time<gst_segment_to_stream_time>(trans->segment, GST_BUFFER_PTS(buffer));
    if (GST_CLOCK_TIME_IS_VALID(time))
        gst_object_sync_values(GST_OBJECT(trans), time);
    if (private_of(trans)->cuda_frames)
        follow_context(GST_GPU_VISION_FILTER(trans), buffer);
}

/* Of a pool that has no memory left, core says nothing on the bus. */
GstFlowReturn acquire_output_buffer(GstGpuVisionFilter *self, GstBuffer *in, GstBuffer **out) {
    const GstFlowReturn flow =
        base_class()->prepare_output_buffer(GST_BASE_TRANSFORM(self), in, out);
    if (flow == GST_FLOW_ERROR)
        post_error(self, error_kind(GPV_ERR_OUT_OF_MEMORY),
                   g_strdup("the buffer pool gave no buffer for the output frame"));
    return flow;
}

/* To add metadata the frame has to be writable, but not its pixels. */
GstFlowReturn prepare_output_buffer(GstBaseTransform *trans, GstBuffer *in, GstBuffer **out) {
    auto *self = GST_GPU_VISION_FILTER(trans);
    auto *priv = private_of(self);
    priv->output = output_of_caps(self);
    const GstGpuVisionPixels pixels = output_at(self, priv->output).pixels;
    const bool writable = gst_buffer_is_writable(in);
    if (pixels == GST_GPU_VISION_PIXELS_KEPT)
        *out = writable ? in : gst_buffer_copy(in);
    else if (pixels == GST_GPU_VISION_PIXELS_DRAWN && writable &&
             gst_buffer_is_all_memory_writable(in))
        *out = in;
    else
        return acquire_output_buffer(self, in, out);
    return GST_FLOW_OK;
}

void record_time(GstGpuVisionFilter *self, gdouble us) {
    auto *priv = private_of(self);
    GST_OBJECT_LOCK(self);
    auto &times = priv->times;
    times.recent[times.frames++ % std::size(times.recent)] = us;
    times.last = us;
    times.sum += us;
    if (priv->running == GPV_BACKEND_CUDA && !priv->cuda_frames) {
        times.uploads++;
        times.downloads +=
            output_at(self, priv->output).pixels == GST_GPU_VISION_PIXELS_NEW ? 1 : 0;
    }
    GST_OBJECT_UNLOCK(self);
}

gpv_status process(GstGpuVisionFilter *self, const GstGpuVisionJob &job,
                   const GstGpuVisionCuda::Queue &queue) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    auto *priv = private_of(self);
    priv->finished = false;
    gpv_status status = GST_GPU_VISION_FILTER_GET_CLASS(self)->process(self, &job);
    if (!priv->finished || status != GPV_OK) { /* what was enqueued before a failure counts, too */
        const gpv_status ended = queue.wait
                                     ? gpv_stream_sync(priv->context, queue.stream)
                                     : gpv_stream_follow(priv->context, queue.leader, queue.stream);
        status = status == GPV_OK ? ended : status;
    }
    if (status == GPV_OK)
        record_time(self, std::chrono::duration<gdouble, std::micro>(Clock::now() - begin).count());
    return status;
}

/* What the library is given of a frame. */
class MappedPair {
  public:
    /* Memory is mapped once: for reading, and at the same time for writing, it cannot be. */
    MappedPair(GstGpuVisionFilter *self, GstBuffer *in, GstBuffer *out,
               const GstGpuVisionPlace &place)
        : pixels(output_at(self, private_of(self)->output).pixels), in_place(in == out),
          src(private_of(self)->in_info, in,
              in_place && pixels == GST_GPU_VISION_PIXELS_DRAWN ? GST_MAP_READWRITE : GST_MAP_READ,
              place) {
        if (pixels != GST_GPU_VISION_PIXELS_KEPT && !in_place)
            dst.emplace(private_of(self)->out_info, out, GST_MAP_WRITE, place);
    }

    bool has_src() const { return static_cast<bool>(src); }
    bool has_dst() const { return !dst || *dst; }
    const gpv_image *from() const { return src.view(); }
    const gpv_image *to() const {
        if (pixels == GST_GPU_VISION_PIXELS_KEPT)
            return nullptr;
        return in_place ? src.view() : dst->view();
    }
    /* What is drawn over has to be there. */
    bool copy(GstGpuVisionCuda &cuda, gpv_stream stream) {
        if (pixels != GST_GPU_VISION_PIXELS_DRAWN || in_place)
            return true;
        return src.view()->memory == GPV_MEMORY_CUDA ? cuda.copy(src, *dst, stream)
                                                     : dst->copy(src);
    }

  private:
    const GstGpuVisionPixels pixels;
    const bool in_place;
    const GstGpuVisionFrame src;
    std::optional<GstGpuVisionFrame> dst;
};

/* Where pixels are kept or drawn, out is in, or shares its memory. */
gboolean process_buffers(GstGpuVisionFilter *self, GstBuffer *in, GstBuffer *out, bool results,
                         bool meta) {
    auto *priv = private_of(self);
    const auto *klass = GST_GPU_VISION_FILTER_GET_CLASS(self);
    const bool cuda = priv->cuda_frames;
    if (!priv->context) /* follow_context() has said why */
        return FALSE;
    if (cuda && !(priv->cuda->holds(in) && priv->cuda->holds(out))) {
        GST_ELEMENT_ERROR(self, STREAM, FAILED,
                          ("The %s buffer is not CUDAMemory of the device in use.",
                           priv->cuda->holds(in) ? "output" : "input"),
                          ("in %" GST_PTR_FORMAT ", out %" GST_PTR_FORMAT, in, out));
        return FALSE;
    }
    if (klass->examine && !klass->examine(self, in, &priv->in_info))
        return FALSE;
    MappedPair frames(self, in, out, cuda ? priv->cuda->place() : GstGpuVisionPlace{});
    if (!frames.has_src() || !frames.has_dst()) {
        GST_ELEMENT_ERROR(self, STREAM, FAILED,
                          ("The %s buffer does not hold the frame that its caps describe.",
                           frames.has_src() ? "output" : "input"),
                          ("%" GST_PTR_FORMAT, frames.has_src() ? out : in));
        return FALSE;
    }
    const gpv_stream own = priv->cuda->stream();
    const GstGpuVisionCuda::Queue queue =
        cuda ? priv->cuda->queue(in, out) : GstGpuVisionCuda::Queue{own, own, true};
    if (const gpv_status status = gpv_stream_follow(priv->context, queue.stream, queue.leader);
        status != GPV_OK) {
        post_library_error(self, status);
        return FALSE;
    }
    if (!frames.copy(*priv->cuda, queue.stream)) {
        post_error(self, error_kind(GPV_ERR_DEVICE), g_strdup("the frame could not be copied"));
        return FALSE;
    }
    const gpv_status status = process(
        self, {queue.stream, frames.from(), frames.to(), priv->output, results, meta}, queue);
    if (status != GPV_OK)
        post_library_error(self, status);
    return status == GPV_OK;
}

/* Takes the results. */
void post_results(GstGpuVisionFilter *self, GstBuffer *buffer, GstStructure *results) {
    const GstSegment &segment = GST_BASE_TRANSFORM(self)->segment;
    const GstClockTime time = GST_BUFFER_PTS(buffer);
    gst_structure_set(results, "timestamp", GST_TYPE_CLOCK_TIME, time, "stream-time",
                      GST_TYPE_CLOCK_TIME, to_time<gst_segment_to_stream_time>(segment, time),
                      "running-time", GST_TYPE_CLOCK_TIME,
                      to_time<gst_segment_to_running_time>(segment, time), "duration",
                      GST_TYPE_CLOCK_TIME, GST_BUFFER_DURATION(buffer), nullptr);
    gst_element_post_message(GST_ELEMENT(self), gst_message_new_element(GST_OBJECT(self), results));
}

GstFlowReturn transform(GstBaseTransform *trans, GstBuffer *in, GstBuffer *out) {
    auto *self = GST_GPU_VISION_FILTER(trans);
    const auto *klass = GST_GPU_VISION_FILTER_GET_CLASS(self);
    auto *priv = private_of(self);
    GST_OBJECT_LOCK(self);
    const bool attach = priv->attach_meta, post = priv->post_messages;
    GST_OBJECT_UNLOCK(self);
    if (!process_buffers(self, in, out, attach || post, attach))
        return GST_FLOW_ERROR;
    if (!attach && !post)
        return GST_FLOW_OK;
    GstStructure *results =
        attach ? gst_gpu_vision_meta_add(out, klass->name) : gst_structure_new_empty(klass->name);
    klass->write_results(self, results);
    if (post)
        post_results(self, out, attach ? gst_structure_copy(results) : results);
    if (attach && klass->annotate)
        klass->annotate(self, out, results);
    return GST_FLOW_OK;
}

/* Size and geometry stay, so whatever describes the frame still holds. */
gboolean transform_meta(GstBaseTransform *, GstBuffer *, GstMeta *meta, GstBuffer *) {
    return !gst_meta_api_type_has_tag(
        meta->info->api, g_quark_from_static_string(GST_META_TAG_MEMORY_REFERENCE_STR));
}

/* ---- properties ---- */

gdouble percentile_99(const GstGpuVisionTimes &times) {
    gdouble sorted[std::size(GstGpuVisionTimes{}.recent)];
    const auto count = std::min<guint64>(times.frames, std::size(sorted));
    if (count == 0)
        return 0;
    std::copy_n(times.recent, count, sorted);
    const auto rank = (count * 99 + 99) / 100 - 1;
    std::nth_element(sorted, sorted + rank, sorted + count);
    return sorted[rank];
}

/* Called under the object lock. */
GstStructure *make_stats(const GstGpuVisionFilterPrivate &priv) {
    const auto &times = priv.times;
    const gdouble mean = times.frames ? times.sum / static_cast<gdouble>(times.frames) : 0;
    const gchar *name =
        priv.running == GPV_BACKEND_AUTO ? "none" : backends[priv.running].value_nick;
    return gst_structure_new(
        "stats", "frames", G_TYPE_UINT64, times.frames, "backend", G_TYPE_STRING, name, "device",
        G_TYPE_STRING, priv.device_name, "time-us-last", G_TYPE_DOUBLE, times.last, "time-us-mean",
        G_TYPE_DOUBLE, mean, "time-us-p99", G_TYPE_DOUBLE, percentile_99(times), "uploads",
        G_TYPE_UINT64, times.uploads, "downloads", G_TYPE_UINT64, times.downloads, nullptr);
}

void set_property(GObject *object, guint id, const GValue *value, GParamSpec *spec) {
    auto *priv = private_of(object);
    GST_OBJECT_LOCK(object);
    switch (id) {
    case Property::backend:
        priv->backend = g_value_get_enum(value);
        break;
    case Property::cuda_device_id:
        priv->device = g_value_get_int(value);
        break;
    case Property::post_messages:
        priv->post_messages = g_value_get_boolean(value);
        break;
    case Property::attach_meta:
        priv->attach_meta = g_value_get_boolean(value);
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
    }
    GST_OBJECT_UNLOCK(object);
}

void get_property(GObject *object, guint id, GValue *value, GParamSpec *spec) {
    auto *priv = private_of(object);
    GST_OBJECT_LOCK(object);
    switch (id) {
    case Property::backend:
        g_value_set_enum(value, priv->backend);
        break;
    case Property::cuda_device_id:
        g_value_set_int(value, priv->device);
        break;
    case Property::post_messages:
        g_value_set_boolean(value, priv->post_messages);
        break;
    case Property::attach_meta:
        g_value_set_boolean(value, priv->attach_meta);
        break;
    case Property::stats:
        g_value_take_boxed(value, make_stats(*priv));
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
    }
    GST_OBJECT_UNLOCK(object);
}

void finalize(GObject *object) {
    auto *priv = private_of(object);
    g_free(priv->device_name);
    g_free(priv->log_error);
    delete priv->cuda;
    G_OBJECT_CLASS(gst_gpu_vision_filter_parent_class)->finalize(object);
}

/* Once for each name. */
GType register_enum(const gchar *name, const GEnumValue *values) {
    const GType type = g_enum_register_static(name, values);
    gst_type_mark_as_plugin_api(type, static_cast<GstPluginAPIFlags>(0));
    return type;
}

void install_properties(GObjectClass *klass) {
    constexpr auto ready = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                    GST_PARAM_MUTABLE_READY);
    g_object_class_install_property(
        klass, Property::backend,
        g_param_spec_enum("backend", "Backend",
                          "What computes; auto, the default, takes CUDA where it can be used, else "
                          "the CPU.",
                          register_enum("GstGpuVisionBackend", backends), GPV_BACKEND_AUTO, ready));
    g_object_class_install_property(
        klass, Property::cuda_device_id,
        g_param_spec_int("cuda-device-id", "CUDA device ID",
                         "Ordinal of the CUDA device to use, 0 to 255; -1, the default, takes "
                         "that of the neighbours in the pipeline, or else the first one.",
                         -1, 255, -1, ready));
    g_object_class_install_property(
        klass, Property::post_messages,
        g_param_spec_boolean("post-messages", "Post messages",
                             "Whether the results of every frame are posted on the bus, as an "
                             "element message named after the element. Default false.",
                             FALSE, GST_GPU_VISION_PARAM_LIVE));
    g_object_class_install_property(
        klass, Property::attach_meta,
        g_param_spec_boolean("attach-meta", "Attach meta",
                             "Whether the results of every frame are attached to it, as a custom "
                             "meta named after the element. Default true.",
                             TRUE, GST_GPU_VISION_PARAM_LIVE));
    g_object_class_install_property(
        klass, Property::stats,
        g_param_spec_boxed("stats", "Statistics",
                           "Frames processed since the last start, backend, device, and "
                           "microseconds that a frame took in the library: the last one, the mean "
                           "of all, and the 99th percentile of the latest 1024; and how many "
                           "frames were copied to and from a CUDA device.",
                           GST_TYPE_STRUCTURE,
                           static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS)));
}

} // namespace

void gst_gpu_vision_install_int(GObjectClass *klass, guint id, const gchar *name, const gchar *nick,
                                const gchar *blurb, gint least, gint most, gint initial) {
    g_object_class_install_property(
        klass, id,
        g_param_spec_int(name, nick, blurb, least, most, initial, GST_GPU_VISION_PARAM_LIVE));
}

void gst_gpu_vision_install_enum(GObjectClass *klass, guint id, const gchar *name,
                                 const gchar *nick, const gchar *blurb, const gchar *type,
                                 const GEnumValue *values) {
    g_object_class_install_property(klass, id,
                                    g_param_spec_enum(name, nick, blurb,
                                                      register_enum(type, values), values[0].value,
                                                      GST_GPU_VISION_PARAM_LIVE));
}

void gst_gpu_vision_filter_class_set_name(GstGpuVisionFilterClass *klass, const gchar *name) {
    gst_gpu_vision_meta_register(name);
    klass->name = name;
}

void gst_gpu_vision_filter_class_set_outputs(GstGpuVisionFilterClass *klass,
                                             const GstGpuVisionOutput *outputs, guint n_outputs) {
    GstCaps *caps = gst_static_pad_template_get_caps(&src_template);
    for (guint i = 0; i < n_outputs; i++)
        for (const bool cuda : {true, false})
            caps = gst_caps_merge(caps, caps_of_format(format_of(outputs[i], cuda), cuda));
    gst_element_class_add_pad_template(
        GST_ELEMENT_CLASS(klass), gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
    gst_caps_unref(caps);
    klass->outputs = outputs;
    klass->n_outputs = n_outputs;
}

void gst_gpu_vision_filter_set_finished(GstGpuVisionFilter *self) {
    private_of(self)->finished = true;
}

/* Upstream has to know too: other formats may be possible or needed now, and other pools. */
void gst_gpu_vision_filter_set_output(GstGpuVisionFilter *self, guint output) {
    auto *priv = private_of(self);
    GST_OBJECT_LOCK(self);
    const bool changed = priv->wanted_output != output;
    priv->wanted_output = output;
    priv->output_changes += changed ? 1 : 0;
    GST_OBJECT_UNLOCK(self);
    if (!changed)
        return;
    gst_base_transform_reconfigure_src(GST_BASE_TRANSFORM(self));
    gst_base_transform_reconfigure_sink(GST_BASE_TRANSFORM(self));
}

guint gst_gpu_vision_filter_get_output(GstGpuVisionFilter *self) {
    GST_OBJECT_LOCK(self);
    const guint output = private_of(self)->wanted_output;
    GST_OBJECT_UNLOCK(self);
    return output;
}

static void gst_gpu_vision_filter_class_init(GstGpuVisionFilterClass *klass) {
    auto *object = G_OBJECT_CLASS(klass);
    auto *element = GST_ELEMENT_CLASS(klass);
    auto *base = GST_BASE_TRANSFORM_CLASS(klass);
    GST_DEBUG_CATEGORY_INIT(gpuvision_debug, "gpuvision", 0, "gpuvision elements");
    object->set_property = set_property;
    object->get_property = get_property;
    object->finalize = finalize;
    install_properties(object);
    gst_element_class_add_static_pad_template(element, &sink_template);
    gst_element_class_add_static_pad_template(element, &src_template);
    element->set_context = set_context;
    base->start = start;
    base->stop = stop;
    base->query = query;
    base->transform_caps = transform_caps;
    base->accept_caps = accept_caps;
    base->set_caps = set_caps;
    base->propose_allocation = propose_allocation;
    base->decide_allocation = decide_allocation;
    base->before_transform = before_transform;
    base->prepare_output_buffer = prepare_output_buffer;
    base->transform = transform;
    base->transform_meta = transform_meta;
    klass->outputs = &same_as_input;
    klass->n_outputs = 1;
    gst_type_mark_as_plugin_api(GST_TYPE_GPU_VISION_FILTER, static_cast<GstPluginAPIFlags>(0));
}

static void gst_gpu_vision_filter_init(GstGpuVisionFilter *self) {
    auto *priv = private_of(self);
    priv->backend = GPV_BACKEND_AUTO;
    priv->device = -1;
    priv->attach_meta = TRUE;
    priv->device_name = g_strdup("none");
    priv->cuda = new GstGpuVisionCuda(GST_ELEMENT(self));
    gst_base_transform_set_qos_enabled(GST_BASE_TRANSFORM(self), TRUE);
    gst_pad_add_probe(GST_BASE_TRANSFORM_SINK_PAD(self), GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
                      explain_refused_caps, self, nullptr);
}
