/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstgpuvisionfilter_private.h"

#include <algorithm>

namespace gpu_vision_filter {

/* ---- outputs ---- */

const GstGpuVisionOutput &output_at(GstGpuVisionFilter *self, guint index) {
    return GST_GPU_VISION_FILTER_GET_CLASS(self)->outputs[index];
}

namespace {

guint index_in_force(GstGpuVisionFilter *self) {
    GST_OBJECT_LOCK(self);
    const guint index = private_of(self)->output_in_force;
    GST_OBJECT_UNLOCK(self);
    return index;
}

} // namespace

const GstGpuVisionOutput &output_in_force(GstGpuVisionFilter *self) {
    return output_at(self, index_in_force(self));
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
    guint index = index_in_force(self);
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

/* Of the template for such memory. Transfer full. */
gchar *known_formats(GstPad *pad, const GstCapsFeatures *features) {
    GstCaps *known = gst_pad_get_pad_template_caps(pad);
    GString *names = g_string_new(nullptr);
    for (guint i = 0; i < gst_caps_get_size(known); i++) {
        if (!gst_caps_features_is_equal(gst_caps_get_features(known, i), features))
            continue;
        const GValue *formats = gst_structure_get_value(gst_caps_get_structure(known, i), "format");
        for (guint k = 0; k < gst_value_list_get_size(formats); k++)
            g_string_append_printf(names, "%s%s", names->len > 0 ? ", " : "",
                                   g_value_get_string(gst_value_list_get_value(formats, k)));
    }
    gst_caps_unref(known);
    return g_string_free(names, FALSE);
}

/* GStreamer converts in CUDAMemory what may be there. */
gchar *explain_format(GstPad *pad, const gchar *format, const GstCapsFeatures *features) {
    const bool cuda = is_cuda_memory(features);
    gchar *known = known_formats(pad, features);
    gchar *text = g_strdup_printf(
        "Format %s is not supported%s: put %s in front of this element, which takes %s.", format,
        cuda ? " in CUDAMemory" : "",
        cuda ? "cudaconvert, or cudadownload and videoconvert," : "videoconvert", known);
    g_free(known);
    return text;
}

bool template_takes(GstPad *pad, GstCaps *caps) {
    GstCaps *known = gst_pad_get_pad_template_caps(pad);
    const bool result = gst_caps_can_intersect(caps, known);
    gst_caps_unref(known);
    return result;
}

/* Interlaced rows are no neighbours. A source that can choose takes what comes first. */
const GValue *progressive_modes() {
    static const GValue *modes = [] {
        static GValue list = G_VALUE_INIT;
        gst_value_list_init(&list, 2);
        for (const gchar *mode : {"progressive", "mixed"}) {
            GValue item = G_VALUE_INIT;
            g_value_init(&item, G_TYPE_STRING);
            g_value_set_static_string(&item, mode);
            gst_value_list_append_and_take_value(&list, &item);
        }
        return &list;
    }();
    return modes;
}

/* Leaves of caps of the sink pad what is not interlaced. */
GstCaps *without_interlaced(const GstCaps *caps) {
    GstCaps *left = gst_caps_new_empty();
    for (guint i = 0; i < gst_caps_get_size(caps); i++) {
        GstStructure *fields = gst_structure_copy(gst_caps_get_structure(caps, i));
        const GValue *mode = gst_structure_get_value(fields, "interlace-mode");
        GValue modes = G_VALUE_INIT;
        if (mode && !gst_value_intersect(&modes, progressive_modes(), mode)) {
            gst_structure_free(fields);
            continue;
        }
        if (mode)
            gst_structure_take_value(fields, "interlace-mode", &modes);
        else
            gst_structure_set_value(fields, "interlace-mode", progressive_modes());
        gst_caps_append_structure_full(left, fields,
                                       gst_caps_features_copy(gst_caps_get_features(caps, i)));
    }
    return left;
}

GstCaps *transform_caps(GstGpuVisionFilter *self, const GstGpuVisionOutput &output,
                        GstPadDirection direction, GstCaps *caps) {
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
    return result;
}

/* Takes all. What is interlaced comes last, or where there is nothing else: then the link holds,
   and accept_caps() says what is wrong. */
GstCaps *progressive_first(GstCaps *all, GstCaps *filter) {
    GstCaps *first = without_interlaced(all);
    if (!filter) {
        gst_caps_append(first, all);
        return first;
    }
    GstCaps *left = gst_caps_intersect_full(filter, first, GST_CAPS_INTERSECT_FIRST);
    gst_caps_unref(first);
    const bool none = gst_caps_is_empty(left);
    gst_caps_unref(none ? left : all);
    return none ? all : left;
}

} // namespace

GstCaps *gst_gpu_vision_filter_transform_caps(GstBaseTransform *trans, GstPadDirection direction,
                                              GstCaps *caps, GstCaps *filter) {
    auto *self = GST_GPU_VISION_FILTER(trans);
    GstCaps *result = transform_caps(self, output_in_force(self), direction, caps);
    if (direction == GST_PAD_SRC && !GST_GPU_VISION_FILTER_GET_CLASS(self)->takes_interlaced)
        result = progressive_first(result, filter);
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

bool is_interlaced(GstGpuVisionFilter *self, const gchar *mode) {
    if (!mode || g_str_equal(mode, "progressive") || g_str_equal(mode, "mixed"))
        return false;
    return g_str_equal(mode, "alternate") ||
           !GST_GPU_VISION_FILTER_GET_CLASS(self)->takes_interlaced;
}

/* What is wrong with fixed caps that are refused, and what helps. */
gchar *why_refused(GstGpuVisionFilter *self, GstPad *pad, GstCaps *caps) {
    const GstStructure *fields = gst_caps_get_structure(caps, 0);
    const gchar *mode = gst_structure_get_string(fields, "interlace-mode");
    if (is_interlaced(self, mode))
        return g_strdup_printf("Interlaced video (interlace-mode=%s) is not supported: "
                               "put deinterlace in front of this element.",
                               mode);
    if (template_takes(pad, caps) && is_cuda_memory(caps) && !offers_cuda_memory(self))
        return g_strdup(why_no_cuda_memory(self));
    const bool cuda = is_cuda_memory(caps);
    if (!gst_structure_has_name(fields, "video/x-raw") || !(cuda || is_system_memory(caps)))
        return g_strdup("Only video/x-raw in system memory or CUDAMemory is supported.");
    const gchar *format = gst_structure_get_string(fields, "format");
    if (format && !format_is_known(pad, format, gst_caps_get_features(caps, 0)))
        return explain_format(pad, format, gst_caps_get_features(caps, 0));
    gint width = 0, height = 0;
    if (gst_structure_get(fields, "width", G_TYPE_INT, &width, "height", G_TYPE_INT, &height,
                          nullptr) &&
        std::max(width, height) > GPV_MAX_SIDE)
        return g_strdup_printf("Frames of %dx%d pixels are not supported: "
                               "width and height may be 1 to %d.",
                               width, height, GPV_MAX_SIDE);
    return g_strdup("These caps lack a field, or have one that is out of range.");
}

/*
 * Core drops a caps event that is refused before the element sees it, and then upstream fails with
 * a text that helps nobody. Behind a ghost pad not even a probe would see it. Core asks again with
 * each event that follows: caps are explained once, until others are accepted, when refused is
 * NULL.
 */
void explain(GstGpuVisionFilter *self, GstCaps *refused) {
    auto *priv = private_of(self);
    GST_OBJECT_LOCK(self);
    const bool news = refused && !(priv->refused && gst_caps_is_equal(refused, priv->refused));
    gst_caps_replace(&priv->refused, refused);
    GST_OBJECT_UNLOCK(self);
    if (!news)
        return;
    gchar *reason = why_refused(self, GST_BASE_TRANSFORM_SINK_PAD(self), refused);
    GST_ELEMENT_WARNING(self, CORE, NEGOTIATION, ("%s", reason),
                        ("offered: %" GST_PTR_FORMAT, refused));
    g_free(reason);
}

/* Of those that the templates take. */
bool is_a_frame(GstGpuVisionFilter *self, const GstCaps *caps) {
    GstVideoInfo info;
    return gst_video_info_from_caps(&info, caps) &&
           !is_interlaced(
               self, gst_structure_get_string(gst_caps_get_structure(caps, 0), "interlace-mode"));
}

} // namespace

gboolean gst_gpu_vision_filter_accept_caps(GstBaseTransform *trans, GstPadDirection direction,
                                           GstCaps *caps) {
    auto *self = GST_GPU_VISION_FILTER(trans);
    if (direction == GST_PAD_SRC)
        return base_class()->accept_caps(trans, direction, caps);
    const bool accepted =
        base_class()->accept_caps(trans, direction, caps) && is_a_frame(self, caps);
    explain(self, accepted ? nullptr : caps);
    return accepted;
}

gboolean gst_gpu_vision_filter_set_caps(GstBaseTransform *trans, GstCaps *in, GstCaps *out) {
    auto *priv = private_of(trans);
    GstVideoInfo in_info, out_info;
    if (!gst_video_info_from_caps(&in_info, in) || !gst_video_info_from_caps(&out_info, out))
        return FALSE;
    GST_OBJECT_LOCK(trans);
    priv->cuda_frames = is_cuda_memory(in);
    priv->in_info = in_info;
    priv->out_info = out_info;
    GST_OBJECT_UNLOCK(trans);
    drop_last(GST_GPU_VISION_FILTER(trans));
    drop_masks(GST_GPU_VISION_FILTER(trans));
    return TRUE;
}

/* ---- the output that is wanted ---- */

namespace {

bool have_one_format(const GstGpuVisionOutput &a, const GstGpuVisionOutput &b) {
    return a.system == b.system && a.cuda == b.cuda;
}

/* Whether the neighbours can take it, if need be with other caps. Before there are any they can. */
bool is_possible(GstGpuVisionFilter *self, const GstGpuVisionOutput &output) {
    const auto *trans = GST_BASE_TRANSFORM(self);
    GstCaps *in = gst_pad_get_current_caps(trans->sinkpad);
    if (!in)
        return true;
    GstCaps *below = gst_pad_peer_query_caps(trans->srcpad, nullptr);
    GstCaps *made = transform_caps(self, output, GST_PAD_SINK, in);
    bool possible = gst_caps_can_intersect(made, below);
    if (!possible) {
        GstCaps *taken = transform_caps(self, output, GST_PAD_SRC, below);
        GstCaps *above = gst_pad_peer_query_caps(trans->sinkpad, taken);
        possible = !gst_caps_is_empty(above);
        gst_caps_unref(above);
        gst_caps_unref(taken);
    }
    gst_caps_unref(made);
    gst_caps_unref(below);
    gst_caps_unref(in);
    return possible;
}

/* Outputs of different formats are those of a property "output". */
void explain_output(GstGpuVisionFilter *self, guint refused, guint in_force) {
    const auto *spec =
        G_PARAM_SPEC_ENUM(g_object_class_find_property(G_OBJECT_GET_CLASS(self), "output"));
    const auto nick = [spec](guint index) {
        return g_enum_get_value(spec->enum_class, static_cast<gint>(index))->value_nick;
    };
    GST_OBJECT_LOCK(self);
    const bool cuda = private_of(self)->cuda_frames;
    GST_OBJECT_UNLOCK(self);
    const GstVideoFormat format = format_of(output_at(self, refused), cuda);
    GST_ELEMENT_WARNING(
        self, CORE, NEGOTIATION,
        ("output=%s makes frames of %s, which the element behind does not take: put videoconvert "
         "behind this element. output=%s stays in force.",
         nick(refused),
         format == GST_VIDEO_FORMAT_UNKNOWN ? "the format that came"
                                            : gst_video_format_to_string(format),
         nick(in_force)),
        (nullptr));
}

} // namespace

/* Upstream has to know of another one too: other formats and pools may be possible, or needed. */
void choose_output(GstGpuVisionFilter *self, bool explains) {
    auto *priv = private_of(self);
    GST_OBJECT_LOCK(self);
    const guint wanted = priv->wanted_output, before = priv->output_in_force;
    GST_OBJECT_UNLOCK(self);
    if (wanted == before)
        return;
    if (!have_one_format(output_at(self, wanted), output_at(self, before)) &&
        !is_possible(self, output_at(self, wanted))) {
        if (explains)
            explain_output(self, wanted, before);
        return;
    }
    GST_OBJECT_LOCK(self);
    priv->output_in_force = wanted;
    priv->output_changes++;
    GST_OBJECT_UNLOCK(self);
    gst_base_transform_reconfigure_src(GST_BASE_TRANSFORM(self));
    gst_base_transform_reconfigure_sink(GST_BASE_TRANSFORM(self));
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
    if (GST_QUERY_TYPE(query) == GST_QUERY_DRAIN) /* upstream wants its buffers back */
        drop_last(self);
    const gboolean answered = base_class()->query(trans, direction, query);
    if (answered && GST_QUERY_TYPE(query) == GST_QUERY_LATENCY)
        add_latency(self, query);
    return answered;
}

} // namespace gpu_vision_filter
