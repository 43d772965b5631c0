/* SPDX-License-Identifier: BSD-2-Clause */
#include <gpuvision/ccl.h>

#include <algorithm>
#include <cstring>

#include "gstgpuvisionfilter.h"

#define GST_TYPE_GPU_CCL (gst_gpu_ccl_get_type())
G_DECLARE_FINAL_TYPE(GstGpuCcl, gst_gpu_ccl, GST, GPU_CCL, GstGpuVisionFilter)

namespace {

enum Output { output_colorize, output_mask, output_labels, output_none };

constexpr gint max_labels = 65535;  /* of the 16 bits of GRAY16_LE and P016_LE */
constexpr gint max_instances = 255; /* of a mask: those beyond are part of the last one */

/* The properties. */
struct Settings {
    gpv_ccl_params params;   /* without output; threshold may be -1: by the mode */
    GstGpuVisionRange range; /* of threshold */
    gint max_components;
};

} // namespace

struct _GstGpuCcl {
    GstGpuVisionFilter parent;
    gpv_ccl *op;
    Settings wanted;      /* under the object lock */
    gpv_ccl_params used;  /* those of op */
    gpv_ccl_result found; /* in the last frame whose results were wanted */
    gpv_ccl_component *records;
    gint room; /* records */
};

G_DEFINE_FINAL_TYPE(GstGpuCcl, gst_gpu_ccl, GST_TYPE_GPU_VISION_FILTER)
GST_ELEMENT_REGISTER_DEFINE(gpuccl, "gpuccl", GST_RANK_NONE, GST_TYPE_GPU_CCL)

namespace {

constexpr gpv_choice output_names[] = {
    {"colorize", "Each component in a colour that depends on its label alone", output_colorize},
    {"mask", "White where there is a component: GRAY8, in CUDAMemory NV12", output_mask},
    {"labels", "The labels: GRAY16_LE, in CUDAMemory P016_LE", output_labels},
    {"none", "The frame as it came", output_none}};

/* By Output. */
constexpr GstGpuVisionOutput outputs[] = {
    {GST_VIDEO_FORMAT_UNKNOWN, GST_VIDEO_FORMAT_UNKNOWN, GST_GPU_VISION_PIXELS_NEW},
    {GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_NV12, GST_GPU_VISION_PIXELS_NEW},
    {GST_VIDEO_FORMAT_GRAY16_LE, GST_VIDEO_FORMAT_P016_LE, GST_GPU_VISION_PIXELS_NEW},
    {GST_VIDEO_FORMAT_UNKNOWN, GST_VIDEO_FORMAT_UNKNOWN, GST_GPU_VISION_PIXELS_KEPT}};

constexpr gpv_ccl_output images[] = {GPV_CCL_OUTPUT_COLORS, GPV_CCL_OUTPUT_MASK,
                                     GPV_CCL_OUTPUT_LABELS, GPV_CCL_OUTPUT_LABELS};

Settings snapshot(GstGpuCcl *self) {
    GST_OBJECT_LOCK(self);
    const Settings settings = self->wanted;
    GST_OBJECT_UNLOCK(self);
    return settings;
}

gint default_threshold(gpv_ccl_mode mode) {
    return mode == GPV_CCL_MODE_EQUAL_VALUE ? 0 : 128;
}

/* src: NULL before the first frame. */
gpv_ccl_params params_for(const Settings &settings, guint output, const gpv_image *src) {
    gpv_ccl_params params = settings.params;
    if (params.threshold < 0)
        params.threshold = default_threshold(params.mode);
    if (src)
        params.threshold = gst_gpu_vision_stored_threshold(params.threshold, settings.range, src);
    params.output = images[output];
    return params;
}

gpv_status gst_gpu_ccl_open(GstGpuVisionFilter *filter, gpv_context *context) {
    auto *self = GST_GPU_CCL(filter);
    self->used = params_for(snapshot(self), gst_gpu_vision_filter_get_output(filter), nullptr);
    return gpv_ccl_create(context, &self->used, &self->op);
}

void gst_gpu_ccl_close(GstGpuVisionFilter *filter) {
    gpv_ccl_destroy(&GST_GPU_CCL(filter)->op);
}

gpv_status update_params(GstGpuCcl *self, const gpv_ccl_params &params) {
    if (std::memcmp(&params, &self->used, sizeof params) == 0)
        return GPV_OK;
    const gpv_status status = gpv_ccl_set_params(self->op, &params);
    if (status == GPV_OK)
        self->used = params;
    return status;
}

/* Room for so many records. */
gpv_buffer records_of(GstGpuCcl *self, gint count) {
    if (self->room < count) {
        self->records = g_renew(gpv_ccl_component, self->records, count);
        self->room = count;
    }
    gpv_buffer buffer;
    gpv_buffer_init(&buffer, sizeof buffer);
    buffer.memory = GPV_MEMORY_HOST;
    buffer.data = self->records;
    buffer.size = static_cast<guint64>(count) * sizeof *self->records;
    return buffer;
}

/* More components than are described is no failure, more than the labels can number is one. */
gpv_status wait(GstGpuCcl *self, const GstGpuVisionJob &job) {
    gpv_ccl_result_init(&self->found, sizeof self->found);
    const gpv_status status = gpv_ccl_wait(self->op, &self->found);
    const bool numbered = job.output != output_labels || self->found.count <= max_labels;
    return status == GPV_ERR_TOO_SMALL && numbered ? GPV_OK : status;
}

gpv_status run(GstGpuCcl *self, const Settings &settings, const GstGpuVisionJob &job, guint output,
               const gpv_image *dst, gint described) {
    const gpv_buffer records = records_of(self, described);
    const gpv_status status = update_params(self, params_for(settings, output, job.src));
    return status == GPV_OK ? gpv_ccl_run(self->op, job.stream, job.src, dst,
                                          described > 0 ? &records : nullptr, 0, nullptr)
                            : status;
}

/* A mask beside another image takes a run of its own. */
GstGpuVisionOutcome gst_gpu_ccl_process(GstGpuVisionFilter *filter, const GstGpuVisionJob *job) {
    auto *self = GST_GPU_CCL(filter);
    const Settings settings = snapshot(self);
    const bool waits = job->results || job->output == output_labels;
    gpv_status status = GPV_OK;
    if (job->mask && job->dst)
        status = run(self, settings, *job, output_labels, job->mask, 0);
    if (status == GPV_OK)
        status = run(self, settings, *job, job->output, job->dst ? job->dst : job->mask,
                     job->results ? settings.max_components : 0);
    if (status == GPV_OK && waits)
        status = wait(self, *job);
    return {status, waits};
}

const gchar *gst_gpu_ccl_explain(GstGpuVisionFilter *, gpv_status status) {
    return status == GPV_ERR_TOO_SMALL
               ? "There are more than 65535 components, which 16-bit labels cannot number: raise "
                 "min-area, or put gpuerode in front of this element."
               : nullptr;
}

/* ---- results ---- */

GstStructure *describe(const gpv_ccl_component &found, gint label) {
    const gdouble area = found.area;
    return gst_structure_new("component", "label", G_TYPE_INT, label, "area", G_TYPE_INT,
                             found.area, "x", G_TYPE_INT, found.left, "y", G_TYPE_INT, found.top,
                             "width", G_TYPE_INT, found.right - found.left, "height", G_TYPE_INT,
                             found.bottom - found.top, "cx", G_TYPE_DOUBLE,
                             static_cast<gdouble>(found.sum_x) / area, "cy", G_TYPE_DOUBLE,
                             static_cast<gdouble>(found.sum_y) / area, nullptr);
}

void gst_gpu_ccl_write_results(GstGpuVisionFilter *filter, GstStructure *results) {
    const auto *self = GST_GPU_CCL(filter);
    GValue components = G_VALUE_INIT;
    gst_value_array_init(&components, static_cast<guint>(self->found.components));
    for (gint i = 0; i < self->found.components; i++) {
        GValue component = G_VALUE_INIT;
        g_value_init(&component, GST_TYPE_STRUCTURE);
        g_value_take_boxed(&component, describe(self->records[i], i + 1));
        gst_value_array_append_and_take_value(&components, &component);
    }
    gst_structure_set(results, "count", G_TYPE_INT, self->found.count, nullptr);
    gst_structure_take_value(results, "components", &components);
}

/* Boxes are exact, so there is no doubt of them. */
void gst_gpu_ccl_annotate(GstGpuVisionFilter *filter, GstStructure *, GstGpuVisionNotes *notes) {
    const auto *self = GST_GPU_CCL(filter);
    notes->type = g_quark_from_static_string("component");
    notes->confidence = 1;
    notes->interest = TRUE;
    notes->instances = static_cast<guint>(std::min(self->found.count, max_instances));
    for (gint i = 0; i < self->found.components; i++) {
        const gpv_ccl_component &found = self->records[i];
        notes->boxes.push_back(
            {found.left, found.top, found.right - found.left, found.bottom - found.top});
    }
}

/* ---- properties ---- */

gboolean adapt(gpv_field *field) {
    if (g_str_equal(field->name, "foreground"))
        field->high = 255; /* of a byte */
    if (g_str_equal(field->name, "threshold")) {
        field->low = field->initial = -1;
        field->high = 255;
        field->text =
            "Lowest luma of the foreground, of more than 8 bits of the upper 8; 0 is every "
            "pixel. -1 is 128 with mode=binary and 0 with mode=equal-value.";
    }
    return !g_str_equal(field->name, "output");
}

void install_properties(GstGpuVisionFilterClass *klass) {
    const gpv_field fields[] = {
        gst_gpu_vision_threshold_range(G_STRUCT_OFFSET(Settings, range)),
        GST_GPU_VISION_NUMBER(Settings, max_components, GPV_FIELD_KIND_INT32, 0, 65535, 256, "",
                              "How many components the results describe, in the order of their "
                              "labels; their count is always the true total.")};
    const gpv_field output = GST_GPU_VISION_CHOICE(
        "output", 0, output_names,
        "What the frame becomes: coloured components, a mask, the labels, or what it was.");
    const goffset wanted = G_STRUCT_OFFSET(GstGpuCcl, wanted);
    gst_gpu_vision_filter_class_install_params(
        klass, "ccl", wanted + G_STRUCT_OFFSET(Settings, params), sizeof(gpv_ccl_params), adapt);
    gst_gpu_vision_filter_class_install_fields(klass, wanted, fields, G_N_ELEMENTS(fields));
    gst_gpu_vision_filter_class_set_mask(klass, output_labels);
    gst_gpu_vision_filter_class_install_output(klass, &output);
    gst_gpu_vision_filter_class_install_interval(klass);
    gst_gpu_vision_filter_class_install_roi(klass);
}

void gst_gpu_ccl_finalize(GObject *object) {
    g_free(GST_GPU_CCL(object)->records);
    G_OBJECT_CLASS(gst_gpu_ccl_parent_class)->finalize(object);
}

} // namespace

static void gst_gpu_ccl_class_init(GstGpuCclClass *klass) {
    auto *object = G_OBJECT_CLASS(klass);
    auto *filter = GST_GPU_VISION_FILTER_CLASS(klass);
    object->finalize = gst_gpu_ccl_finalize;
    install_properties(filter);
    gst_element_class_set_static_metadata(
        GST_ELEMENT_CLASS(klass), "Connected-component labelling", "Filter/Analyzer/Video/Hardware",
        "Finds, counts and measures the connected components of video", GST_GPU_VISION_AUTHOR);
    gst_gpu_vision_filter_class_set_name(filter, "gpuccl");
    gst_gpu_vision_filter_class_set_outputs(filter, outputs, G_N_ELEMENTS(outputs));
    filter->open = gst_gpu_ccl_open;
    filter->close = gst_gpu_ccl_close;
    filter->process = gst_gpu_ccl_process;
    filter->explain = gst_gpu_ccl_explain;
    filter->write_results = gst_gpu_ccl_write_results;
    filter->annotate = gst_gpu_ccl_annotate;
}

static void gst_gpu_ccl_init(GstGpuCcl *self) {
    gpv_ccl_params_init(&self->wanted.params, sizeof self->wanted.params);
    gst_gpu_vision_filter_init_fields(GST_GPU_VISION_FILTER(self));
}
