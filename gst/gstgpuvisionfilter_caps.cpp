/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstgpuvisionfilter_private.h"

#include <algorithm>

namespace gpu_vision_filter {

/* ---- outputs ---- */

const GstGpuVisionOutput &output_at(GstGpuVisionFilter *self, guint index) {
    return GST_GPU_VISION_FILTER_GET_CLASS(self)->outputs[index];
}

const GstGpuVisionOutput &wanted_output(GstGpuVisionFilter *self) {
    return output_at(self, gst_gpu_vision_filter_get_output(self));
}

GstVideoFormat format_of(const GstGpuVisionOutput &output, bool cuda) {
    return cuda ? output.cuda : output.system;
}

namespace {

guint n_outputs(GstGpuVisionFilter *self) {
    return GST_GPU_VISION_FILTER_GET_CLASS(self)->n_outputs;
}

/* Whether the caps in force are those of this output. */
bool fits(GstGpuVisionFilter *self, guint index) {
    const auto *priv = private_of(self);
    const GstVideoFormat format = format_of(output_at(self, index), priv->cuda_frames);
    return GST_VIDEO_INFO_FORMAT(&priv->out_info) ==
           (format == GST_VIDEO_FORMAT_UNKNOWN ? GST_VIDEO_INFO_FORMAT(&priv->in_info) : format);
}

} // namespace

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

namespace {

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

} // namespace

GstCaps *gst_gpu_vision_filter_transform_caps(GstBaseTransform *trans, GstPadDirection direction,
                                              GstCaps *caps, GstCaps *filter) {
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

bool takes(GstGpuVisionFilter *self, GstPad *pad, GstCaps *caps) {
    return template_takes(pad, caps) && (!is_cuda_memory(caps) || offers_cuda_memory(self));
}

namespace {

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

} // namespace

/* A query is no failure yet, so it posts nothing. */
gboolean gst_gpu_vision_filter_accept_caps(GstBaseTransform *trans, GstPadDirection direction,
                                           GstCaps *caps) {
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

gboolean gst_gpu_vision_filter_set_caps(GstBaseTransform *trans, GstCaps *in, GstCaps *out) {
    auto *priv = private_of(trans);
    priv->cuda_frames = is_cuda_memory(in);
    return gst_video_info_from_caps(&priv->in_info, in) &&
           gst_video_info_from_caps(&priv->out_info, out) &&
           !GST_VIDEO_INFO_IS_INTERLACED(&priv->in_info);
}

/* ---- queries ---- */

namespace {

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

} // namespace

gboolean gst_gpu_vision_filter_query(GstBaseTransform *trans, GstPadDirection direction,
                                     GstQuery *query) {
    auto *self = GST_GPU_VISION_FILTER(trans);
    if (GST_QUERY_TYPE(query) == GST_QUERY_CONTEXT && private_of(self)->cuda->answer(query))
        return TRUE;
    if (GST_QUERY_TYPE(query) == GST_QUERY_CAPS)
        return query_caps(self, direction, query);
    return base_class()->query(trans, direction, query);
}

} // namespace gpu_vision_filter
