/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstgpuvisionfilter.h"

#include "gstgpuvisionfilter_private.h"
#include "gstgpuvisionmeta.h"

GST_DEBUG_CATEGORY(gpuvision_debug);

static void preset_init(gpointer interface, gpointer);

G_DEFINE_ABSTRACT_TYPE_WITH_CODE(GstGpuVisionFilter, gst_gpu_vision_filter, GST_TYPE_BASE_TRANSFORM,
                                 G_ADD_PRIVATE(GstGpuVisionFilter)
                                     G_IMPLEMENT_INTERFACE(GST_TYPE_PRESET, preset_init))

namespace gpu_vision_filter {

const GEnumValue backends[] = {
    {GPV_BACKEND_AUTO, "CUDA where it can be used, else the CPU", "auto"},
    {GPV_BACKEND_CPU, "The CPU", "cpu"},
    {GPV_BACKEND_CUDA, "CUDA, or an error where there is none", "cuda"},
    {0, nullptr, nullptr}};

GstGpuVisionFilterPrivate *private_of(gpointer self) {
    return static_cast<GstGpuVisionFilterPrivate *>(
        gst_gpu_vision_filter_get_instance_private(GST_GPU_VISION_FILTER(self)));
}

GType register_enum(const gchar *name, const GEnumValue *values) {
    const GType type = g_enum_register_static(name, values);
    gst_type_mark_as_plugin_api(type, static_cast<GstPluginAPIFlags>(0));
    return type;
}

GstBaseTransformClass *base_class() {
    return GST_BASE_TRANSFORM_CLASS(gst_gpu_vision_filter_parent_class);
}

} // namespace gpu_vision_filter

using namespace gpu_vision_filter;

namespace {

enum Property { backend = 1, cuda_device_id, post_messages, attach_meta, roi_type, stats };

#define GPU_VISION_FORMATS "NV12, I420, RGBA, BGRA, RGBx, BGRx, RGB, BGR"
#define GPU_VISION_MORE_FORMATS                                                                    \
    "P010_10LE, P016_LE, NV21, YV12, YUY2, UYVY, Y444, ARGB, ABGR, RGBP, BGRP, GBR"
/* libgstcuda 1.22 aborts on formats that it does not know. */
#define GPU_VISION_CAPS                                                                            \
    "video/x-raw(" GST_GPU_VISION_CUDA_MEMORY "), format = (string) { " GPU_VISION_FORMATS         \
    ", " GPU_VISION_MORE_FORMATS " }, " GPU_VISION_SIZES                                           \
    "; video/x-raw, format = (string) { " GPU_VISION_FORMATS ", GRAY8, " GPU_VISION_MORE_FORMATS   \
    ", P012_LE, xRGB, xBGR, GRAY16_LE }, " GPU_VISION_SIZES

/* Of an element that says nothing of its outputs. */
constexpr GstGpuVisionOutput same_as_input = {GST_VIDEO_FORMAT_UNKNOWN, GST_VIDEO_FORMAT_UNKNOWN,
                                              GST_GPU_VISION_PIXELS_NEW};

GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS(GPU_VISION_CAPS));
GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(GPU_VISION_CAPS));

/* ---- properties ---- */

/* No text is one without letters. */
GQuark quark_of(const gchar *text) {
    return text && *text ? g_quark_from_string(text) : 0;
}

void gst_gpu_vision_filter_set_property(GObject *object, guint id, const GValue *value,
                                        GParamSpec *spec) {
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
    case Property::roi_type:
        priv->roi_type = quark_of(g_value_get_string(value));
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
    }
    GST_OBJECT_UNLOCK(object);
}

void gst_gpu_vision_filter_get_property(GObject *object, guint id, GValue *value,
                                        GParamSpec *spec) {
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
    case Property::roi_type:
        g_value_set_static_string(value, g_quark_to_string(priv->roi_type));
        break;
    case Property::stats:
        g_value_take_boxed(value, make_stats(*priv));
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
    }
    GST_OBJECT_UNLOCK(object);
}

void gst_gpu_vision_filter_finalize(GObject *object) {
    auto *priv = private_of(object);
    gst_caps_replace(&priv->refused, nullptr);
    g_free(priv->device_name);
    g_free(priv->log_error);
    drop_last(GST_GPU_VISION_FILTER(object));
    delete priv->last;
    delete priv->cuda;
    G_OBJECT_CLASS(gst_gpu_vision_filter_parent_class)->finalize(object);
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
        klass, Property::roi_type,
        g_param_spec_string("roi-type", "ROI type",
                            "The type of the regions of interest that count where the element "
                            "looks at them; NULL, or no letter, is all. Default NULL.",
                            nullptr, GST_GPU_VISION_PARAM_LIVE));
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

gpv_field gst_gpu_vision_threshold_range(gsize offset) {
    static constexpr gpv_choice ranges[] = {
        {"stored", "In the values that pixels hold: black is 16 in limited range",
         GST_GPU_VISION_RANGE_STORED},
        {"full", "0 is black and 255 is white, whatever the range of the caps",
         GST_GPU_VISION_RANGE_FULL}};
    return GST_GPU_VISION_CHOICE("threshold_range", static_cast<guint32>(offset), ranges,
                                 "What threshold is given in.");
}

/* Thresholds are bytes; of 16 bits the upper ones count. */
gint gst_gpu_vision_stored_threshold(gint threshold, GstGpuVisionRange range,
                                     const gpv_image *src) {
    const bool wide = src->format == GPV_FORMAT_GRAY16 || src->format == GPV_FORMAT_P016;
    const bool limited = src->color_range == GPV_COLOR_RANGE_LIMITED;
    if (range == GST_GPU_VISION_RANGE_FULL && limited && threshold > 0)
        threshold = 16 + (219 * threshold + 127) / 255;
    return wide && threshold > 0 ? threshold << 8 : threshold;
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

/* ---- what is carried from one frame to the next ---- */

/* A property of some elements whose value the base class has. */
static void install_private(GstGpuVisionFilterClass *klass, const gpv_field &field) {
    gst_gpu_vision_filter_class_install_fields(
        klass,
        g_type_class_get_instance_private_offset(g_type_class_peek(GST_TYPE_GPU_VISION_FILTER)),
        &field, 1);
}

static void forget_soon(GstGpuVisionFilter *self) {
    g_atomic_int_set(&private_of(self)->forget, 1);
}

void gst_gpu_vision_filter_class_set_forget(GstGpuVisionFilterClass *klass,
                                            void (*forget)(GstGpuVisionFilter *self)) {
    static constexpr gpv_field keep_state = GST_GPU_VISION_BOOL(
        GstGpuVisionFilterPrivate, keep_state, FALSE,
        "Whether what was learned of earlier frames is kept where a stream starts, and after a "
        "flushing seek; else learning begins anew there, as it does with the signal reset.");
    klass->forget = forget;
    install_private(klass, keep_state);
    g_signal_new_class_handler("reset", G_TYPE_FROM_CLASS(klass),
                               static_cast<GSignalFlags>(G_SIGNAL_RUN_LAST | G_SIGNAL_ACTION),
                               G_CALLBACK(forget_soon), nullptr, nullptr, nullptr, G_TYPE_NONE, 0);
}

static bool keeps_state(GstGpuVisionFilter *self) {
    GST_OBJECT_LOCK(self);
    const gboolean keep = private_of(self)->keep_state;
    GST_OBJECT_UNLOCK(self);
    return keep;
}

/* Where these are, no frame comes at the same time. */
static gboolean gst_gpu_vision_filter_sink_event(GstBaseTransform *trans, GstEvent *event) {
    auto *self = GST_GPU_VISION_FILTER(trans);
    const GstEventType type = GST_EVENT_TYPE(event);
    const bool begins = type == GST_EVENT_STREAM_START || type == GST_EVENT_FLUSH_STOP;
    if (begins || type == GST_EVENT_SEGMENT)
        drop_last(self);
    if (begins && !keeps_state(self))
        forget_soon(self);
    return base_class()->sink_event(trans, event);
}

/* ---- which frames, and what of them ---- */

void gst_gpu_vision_filter_class_install_interval(GstGpuVisionFilterClass *klass) {
    static constexpr gpv_field interval = GST_GPU_VISION_NUMBER(
        GstGpuVisionFilterPrivate, interval, GPV_FIELD_KIND_INT32, 1, 1000000, 1, "",
        "Every how many frames one is processed; those between get the results of the one before "
        "them, and its picture, unless they keep their own.");
    install_private(klass, interval);
}

void gst_gpu_vision_filter_class_install_roi(GstGpuVisionFilterClass *klass) {
    static constexpr gpv_choice choices[] = {
        {"frame", "The frame", GST_GPU_VISION_ROI_FRAME},
        {"meta", "Each of the frame's regions of interest by itself, and nothing else",
         GST_GPU_VISION_ROI_META}};
    static constexpr gpv_field roi =
        GST_GPU_VISION_CHOICE("roi", G_STRUCT_OFFSET(GstGpuVisionFilterPrivate, roi), choices,
                              "What of a frame is processed.");
    install_private(klass, roi);
}

void gst_gpu_vision_filter_class_set_mask(GstGpuVisionFilterClass *klass, guint mask_output) {
    static constexpr gpv_field attach_mask = GST_GPU_VISION_BOOL(
        GstGpuVisionFilterPrivate, attach_mask, FALSE,
        "Whether the metadata of every frame has a mask, as the segmentation of GStreamer 1.26 and "
        "newer.");
    klass->mask_output = mask_output;
    install_private(klass, attach_mask);
}

/* ---- output ---- */

/* Upstream has to know too: other formats may be possible or needed now, and other pools. */
void gst_gpu_vision_filter_set_output(GstGpuVisionFilter *self, guint output) {
    auto *priv = private_of(self);
    GST_OBJECT_LOCK(self);
    const bool changed = priv->wanted_output != output;
    priv->wanted_output = output;
    GST_OBJECT_UNLOCK(self);
    if (changed)
        choose_output(self, true);
}

/* What downstream has refused it may take now. */
static gboolean gst_gpu_vision_filter_src_event(GstBaseTransform *trans, GstEvent *event) {
    if (GST_EVENT_TYPE(event) == GST_EVENT_RECONFIGURE)
        choose_output(GST_GPU_VISION_FILTER(trans), false);
    return base_class()->src_event(trans, event);
}

guint gst_gpu_vision_filter_get_output(GstGpuVisionFilter *self) {
    GST_OBJECT_LOCK(self);
    const guint output = private_of(self)->wanted_output;
    GST_OBJECT_UNLOCK(self);
    return output;
}

/* ---- presets ---- */

static gboolean (*load_as_core_does)(GstPreset *preset, const gchar *name);

/* Core escapes text twice when it saves a preset, and undoes that once. */
static gboolean load_preset(GstPreset *preset, const gchar *name) {
    gint *loading = &private_of(preset)->loading_preset;
    g_atomic_int_inc(loading);
    const gboolean loaded = load_as_core_does(preset, name);
    g_atomic_int_add(loading, -1);
    return loaded;
}

gchar *gst_gpu_vision_filter_dup_text(GstGpuVisionFilter *self, const GValue *value) {
    const gchar *text = g_value_get_string(value);
    return text && g_atomic_int_get(&private_of(self)->loading_preset) > 0 ? g_strcompress(text)
                                                                           : g_strdup(text);
}

static void preset_init(gpointer interface, gpointer) {
    auto *presets = static_cast<GstPresetInterface *>(interface);
    load_as_core_does = presets->load_preset;
    presets->load_preset = load_preset;
}

static void gst_gpu_vision_filter_class_init(GstGpuVisionFilterClass *klass) {
    auto *object = G_OBJECT_CLASS(klass);
    auto *element = GST_ELEMENT_CLASS(klass);
    auto *base = GST_BASE_TRANSFORM_CLASS(klass);
    GST_DEBUG_CATEGORY_INIT(gpuvision_debug, "gpuvision", 0, "gpuvision elements");
    object->set_property = gst_gpu_vision_filter_set_property;
    object->get_property = gst_gpu_vision_filter_get_property;
    object->finalize = gst_gpu_vision_filter_finalize;
    install_properties(object);
    gst_element_class_add_static_pad_template(element, &sink_template);
    gst_element_class_add_static_pad_template(element, &src_template);
    element->set_context = gst_gpu_vision_filter_set_context;
    base->start = gst_gpu_vision_filter_start;
    base->stop = gst_gpu_vision_filter_stop;
    base->sink_event = gst_gpu_vision_filter_sink_event;
    base->src_event = gst_gpu_vision_filter_src_event;
    base->query = gst_gpu_vision_filter_query;
    base->transform_caps = gst_gpu_vision_filter_transform_caps;
    base->accept_caps = gst_gpu_vision_filter_accept_caps;
    base->set_caps = gst_gpu_vision_filter_set_caps;
    base->propose_allocation = gst_gpu_vision_filter_propose_allocation;
    base->decide_allocation = gst_gpu_vision_filter_decide_allocation;
    base->before_transform = gst_gpu_vision_filter_before_transform;
    base->prepare_output_buffer = gst_gpu_vision_filter_prepare_output_buffer;
    base->transform = gst_gpu_vision_filter_transform;
    base->transform_meta = gst_gpu_vision_filter_transform_meta;
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
    priv->last = new GstGpuVisionLast{};
    gst_base_transform_set_qos_enabled(GST_BASE_TRANSFORM(self), TRUE);
    gst_base_transform_set_gap_aware(GST_BASE_TRANSFORM(self), TRUE);
}
