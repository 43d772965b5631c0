/* SPDX-License-Identifier: BSD-2-Clause */
#include <gpuvision/erode.h>

#include <cstring>

#include "gstgpuvisionfilter.h"

#define GST_TYPE_GPU_ERODE (gst_gpu_erode_get_type())
G_DECLARE_FINAL_TYPE(GstGpuErode, gst_gpu_erode, GST, GPU_ERODE, GstGpuVisionFilter)

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

/* Of the library, by value. */
const gpv_choice *operation_names, *shape_names;

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

GstGpuVisionOutcome gst_gpu_erode_process(GstGpuVisionFilter *filter, const GstGpuVisionJob *job) {
    auto *self = GST_GPU_ERODE(filter);
    GST_OBJECT_LOCK(self);
    gpv_erode_params params = self->wanted;
    params.threshold = gst_gpu_vision_stored_threshold(params.threshold, self->range, job->src);
    GST_OBJECT_UNLOCK(self);
    if (std::memcmp(&params, &self->used, sizeof params) != 0) {
        if (const gpv_status status = gpv_erode_set_params(self->op, &params); status != GPV_OK)
            return {status, FALSE};
        self->used = params;
    }
    return {gpv_erode_run(self->op, job->stream, job->src, job->dst), FALSE};
}

void gst_gpu_erode_write_results(GstGpuVisionFilter *filter, GstStructure *results) {
    const gpv_erode_params &used = GST_GPU_ERODE(filter)->used;
    gst_structure_set(results, "operation", G_TYPE_STRING, operation_names[used.operation].name,
                      "shape", G_TYPE_STRING, shape_names[used.shape].name, "radius", G_TYPE_INT,
                      used.radius, "radius-y", G_TYPE_INT,
                      used.radius_y < 0 ? used.radius : used.radius_y, "iterations", G_TYPE_INT,
                      used.iterations, "threshold", G_TYPE_INT, used.threshold, nullptr);
}

gboolean adapt(gpv_field *field) {
    if (g_str_equal(field->name, "operation"))
        operation_names = field->choices;
    if (g_str_equal(field->name, "shape"))
        shape_names = field->choices;
    if (g_str_equal(field->name, "threshold")) {
        field->high = 255; /* of a byte */
        field->text =
            "Lowest luma of the foreground: the frame is made binary before the "
            "operation. 0 works on the grey levels. Of more than 8 bits the upper 8 count.";
    }
    return TRUE;
}

} // namespace

static void gst_gpu_erode_class_init(GstGpuErodeClass *klass) {
    auto *filter = GST_GPU_VISION_FILTER_CLASS(klass);
    const gpv_field range = gst_gpu_vision_threshold_range(G_STRUCT_OFFSET(GstGpuErode, range));
    gst_gpu_vision_filter_class_install_params(
        filter, "erode", G_STRUCT_OFFSET(GstGpuErode, wanted), sizeof(gpv_erode_params), adapt);
    gst_gpu_vision_filter_class_install_fields(filter, 0, &range, 1);
    gst_gpu_vision_filter_class_install_roi(filter);
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
    gst_gpu_vision_filter_init_fields(GST_GPU_VISION_FILTER(self));
}
