/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstgpuerode.h"

#include <gpuvision/erode.h>

#include <cstring>

struct _GstGpuErode {
    GstGpuVisionFilter parent;
    gpv_erode *op;
    gpv_erode_params wanted; /* the properties, under the object lock */
    GstGpuVisionRange range; /* of the threshold; likewise */
    gpv_erode_params used;   /* those of op */
};

G_DEFINE_FINAL_TYPE(GstGpuErode, gst_gpu_erode, GST_TYPE_GPU_VISION_FILTER)
GST_ELEMENT_REGISTER_DEFINE(gpuerode, "gpuerode", GST_RANK_NONE, GST_TYPE_GPU_ERODE)

namespace {

enum Property {
    radius = 1,
    radius_y,
    shape,
    operation,
    iterations,
    threshold,
    threshold_range,
    border,
    planes
};

const GEnumValue operations[] = {
    {GPV_ERODE_OPERATION_ERODE, "Minimum under the element", "erode"},
    {GPV_ERODE_OPERATION_DILATE, "Maximum under the element", "dilate"},
    {GPV_ERODE_OPERATION_OPEN, "Erode, then dilate", "open"},
    {GPV_ERODE_OPERATION_CLOSE, "Dilate, then erode", "close"},
    {GPV_ERODE_OPERATION_GRADIENT, "Dilated minus eroded frame", "gradient"},
    {GPV_ERODE_OPERATION_TOPHAT, "Frame minus opened frame", "tophat"},
    {GPV_ERODE_OPERATION_BLACKHAT, "Closed frame minus frame", "blackhat"},
    {0, nullptr, nullptr}};

const GEnumValue shapes[] = {
    {GPV_ERODE_SHAPE_RECT, "The whole box", "rect"},
    {GPV_ERODE_SHAPE_CROSS, "Middle row and middle column of the box", "cross"},
    {GPV_ERODE_SHAPE_ELLIPSE, "Ellipse inscribed in the box", "ellipse"},
    {0, nullptr, nullptr}};

const GEnumValue borders[] = {
    {GPV_ERODE_BORDER_IGNORE, "Pixels outside the frame do not count", "ignore"},
    {GPV_ERODE_BORDER_BACKGROUND, "Pixels outside the frame are 0", "background"},
    {0, nullptr, nullptr}};

const GEnumValue plane_choices[] = {
    {GPV_ERODE_PLANES_AUTO, "Grey, Y of YUV, every colour channel of RGB", "auto"},
    {GPV_ERODE_PLANES_LUMA, "Grey and Y of YUV; every colour channel of RGB", "luma"},
    {GPV_ERODE_PLANES_ALL, "As auto, and U and V of YUV", "all"},
    {0, nullptr, nullptr}};

gpv_erode_params snapshot(GstGpuErode *self) {
    GST_OBJECT_LOCK(self);
    const gpv_erode_params params = self->wanted;
    GST_OBJECT_UNLOCK(self);
    return params;
}

gpv_status gst_gpu_erode_open(GstGpuVisionFilter *filter, gpv_context *context) {
    auto *self = GST_GPU_ERODE(filter);
    self->used = snapshot(self);
    return gpv_erode_create(context, &self->used, &self->op);
}

void gst_gpu_erode_close(GstGpuVisionFilter *filter) {
    gpv_erode_destroy(&GST_GPU_ERODE(filter)->op);
}

gpv_status gst_gpu_erode_process(GstGpuVisionFilter *filter, const GstGpuVisionJob *job) {
    auto *self = GST_GPU_ERODE(filter);
    GST_OBJECT_LOCK(self);
    gpv_erode_params params = self->wanted;
    params.threshold = gst_gpu_vision_stored_threshold(params.threshold, self->range, job->src);
    GST_OBJECT_UNLOCK(self);
    if (std::memcmp(&params, &self->used, sizeof params) != 0) {
        if (const gpv_status status = gpv_erode_set_params(self->op, &params); status != GPV_OK)
            return status;
        self->used = params;
    }
    return gpv_erode_run(self->op, job->stream, job->src, job->dst);
}

void gst_gpu_erode_write_results(GstGpuVisionFilter *filter, GstStructure *results) {
    const gpv_erode_params &used = GST_GPU_ERODE(filter)->used;
    gst_structure_set(results, "operation", G_TYPE_STRING, operations[used.operation].value_nick,
                      "shape", G_TYPE_STRING, shapes[used.shape].value_nick, "radius", G_TYPE_INT,
                      used.radius, "radius-y", G_TYPE_INT,
                      used.radius_y < 0 ? used.radius : used.radius_y, "iterations", G_TYPE_INT,
                      used.iterations, "threshold", G_TYPE_INT, used.threshold, nullptr);
}

void gst_gpu_erode_set_property(GObject *object, guint id, const GValue *value, GParamSpec *spec) {
    gpv_erode_params &wanted = GST_GPU_ERODE(object)->wanted;
    GST_OBJECT_LOCK(object);
    switch (id) {
    case Property::radius:
        wanted.radius = g_value_get_int(value);
        break;
    case Property::radius_y:
        wanted.radius_y = g_value_get_int(value);
        break;
    case Property::shape:
        wanted.shape = static_cast<gpv_erode_shape>(g_value_get_enum(value));
        break;
    case Property::operation:
        wanted.operation = static_cast<gpv_erode_operation>(g_value_get_enum(value));
        break;
    case Property::iterations:
        wanted.iterations = g_value_get_int(value);
        break;
    case Property::threshold:
        wanted.threshold = g_value_get_int(value);
        break;
    case Property::threshold_range:
        GST_GPU_ERODE(object)->range = static_cast<GstGpuVisionRange>(g_value_get_enum(value));
        break;
    case Property::border:
        wanted.border = static_cast<gpv_erode_border>(g_value_get_enum(value));
        break;
    case Property::planes:
        wanted.planes = static_cast<gpv_erode_planes>(g_value_get_enum(value));
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
    }
    GST_OBJECT_UNLOCK(object);
}

void gst_gpu_erode_get_property(GObject *object, guint id, GValue *value, GParamSpec *spec) {
    const gpv_erode_params wanted = snapshot(GST_GPU_ERODE(object));
    switch (id) {
    case Property::radius:
        g_value_set_int(value, wanted.radius);
        break;
    case Property::radius_y:
        g_value_set_int(value, wanted.radius_y);
        break;
    case Property::shape:
        g_value_set_enum(value, static_cast<gint>(wanted.shape));
        break;
    case Property::operation:
        g_value_set_enum(value, static_cast<gint>(wanted.operation));
        break;
    case Property::iterations:
        g_value_set_int(value, wanted.iterations);
        break;
    case Property::threshold:
        g_value_set_int(value, wanted.threshold);
        break;
    case Property::threshold_range:
        g_value_set_enum(value, GST_GPU_ERODE(object)->range);
        break;
    case Property::border:
        g_value_set_enum(value, static_cast<gint>(wanted.border));
        break;
    case Property::planes:
        g_value_set_enum(value, static_cast<gint>(wanted.planes));
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
    }
}

void install_properties(GObjectClass *klass) {
    gst_gpu_vision_install_int(
        klass, Property::radius, "radius", "Radius",
        "Half size of the structuring element in pixels, 0 to 255; it is 2 x radius + 1 "
        "pixels wide and, unless radius-y says otherwise, as high. Default 1.",
        0, 255, 1);
    gst_gpu_vision_install_int(
        klass, Property::radius_y, "radius-y", "Vertical radius",
        "Half height of the structuring element in pixels, 0 to 255; -1, the default, is "
        "the same as radius.",
        -1, 255, -1);
    gst_gpu_vision_install_enum(
        klass, Property::shape, "shape", "Shape",
        "Shape of the structuring element inside its box, which radius and radius-y "
        "give. Default rect.",
        "GstGpuErodeShape", shapes);
    gst_gpu_vision_install_enum(klass, Property::operation, "operation", "Operation",
                                "Operation to compute, from erosion to black-hat. Default erode.",
                                "GstGpuErodeOperation", operations);
    gst_gpu_vision_install_int(
        klass, Property::iterations, "iterations", "Iterations",
        "How many times each erosion and each dilation runs, 1 to 255. Default 1.", 1, 255, 1);
    gst_gpu_vision_install_int(
        klass, Property::threshold, "threshold", "Threshold",
        "Lowest luma of the foreground, in grey levels, 1 to 255: the frame is made binary "
        "before the operation. 0, the default, works on the grey levels.",
        0, 255, 0);
    gst_gpu_vision_install_threshold_range(klass, Property::threshold_range,
                                           "GstGpuErodeThresholdRange");
    gst_gpu_vision_install_enum(
        klass, Property::border, "border", "Border",
        "Whether pixels outside the frame do not count, or are 0. Default ignore.",
        "GstGpuErodeBorder", borders);
    gst_gpu_vision_install_enum(
        klass, Property::planes, "planes", "Planes",
        "Planes to process where threshold is 0; the others are copied. Default auto.",
        "GstGpuErodePlanes", plane_choices);
}

} // namespace

static void gst_gpu_erode_class_init(GstGpuErodeClass *klass) {
    auto *object = G_OBJECT_CLASS(klass);
    auto *filter = GST_GPU_VISION_FILTER_CLASS(klass);
    object->set_property = gst_gpu_erode_set_property;
    object->get_property = gst_gpu_erode_get_property;
    install_properties(object);
    gst_element_class_set_static_metadata(
        GST_ELEMENT_CLASS(klass), "Erosion and morphology", "Filter/Effect/Video/Hardware",
        "Erodes, dilates, opens or closes video with a flat structuring element",
        GST_GPU_VISION_AUTHOR);
    gst_gpu_vision_filter_class_set_name(filter, "gpuerode");
    filter->open = gst_gpu_erode_open;
    filter->close = gst_gpu_erode_close;
    filter->process = gst_gpu_erode_process;
    filter->write_results = gst_gpu_erode_write_results;
}

static void gst_gpu_erode_init(GstGpuErode *self) {
    gpv_erode_params_init(&self->wanted, sizeof self->wanted);
}
