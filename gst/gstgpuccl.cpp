/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstgpuccl.h"

#include <gpuvision/ccl.h>
#include <gst/video/gstvideometa.h>

#include <cstring>
#include <vector>

#include "gstgpuvisionanalytics.h"

namespace {

enum Output { output_colorize, output_mask, output_labels, output_none };

constexpr gint max_labels = 65535; /* of the 16 bits of GRAY16_LE and P016_LE */

/* The properties. */
struct Settings {
    gpv_ccl_params params;   /* without threshold and output */
    gint threshold;          /* -1: by the label mode */
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

enum Property {
    threshold = 1,
    threshold_range,
    invert,
    foreground,
    mode,
    connectivity,
    min_area,
    max_area,
    max_components,
    output
};

const GEnumValue modes[] = {
    {GPV_CCL_MODE_BINARY, "Touching pixels of the foreground belong together", "binary"},
    {GPV_CCL_MODE_EQUAL_VALUE, "Touching pixels of equal luma belong together", "equal-value"},
    {0, nullptr, nullptr}};

const GEnumValue connectivities[] = {{8, "Pixels touch at sides and corners", "8"},
                                     {4, "Pixels touch at sides", "4"},
                                     {0, nullptr, nullptr}};

const GEnumValue output_names[] = {
    {output_colorize, "Each component in a colour that depends on its label alone", "colorize"},
    {output_mask, "White where there is a component: GRAY8, in CUDAMemory NV12", "mask"},
    {output_labels, "The labels: GRAY16_LE, in CUDAMemory P016_LE", "labels"},
    {output_none, "The frame as it came", "none"},
    {0, nullptr, nullptr}};

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
    params.threshold = settings.threshold < 0 ? default_threshold(params.mode) : settings.threshold;
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

gpv_status gst_gpu_ccl_process(GstGpuVisionFilter *filter, const GstGpuVisionJob *job) {
    auto *self = GST_GPU_CCL(filter);
    const Settings settings = snapshot(self);
    const gint described = job->results ? settings.max_components : 0;
    const gpv_buffer records = records_of(self, described);
    gpv_status status = update_params(self, params_for(settings, job->output, job->src));
    if (status == GPV_OK)
        status = gpv_ccl_run(self->op, job->stream, job->src, job->dst,
                             described > 0 ? &records : nullptr, 0, nullptr);
    if (status == GPV_OK && (job->results || job->output == output_labels)) {
        status = wait(self, *job);
        gst_gpu_vision_filter_set_finished(filter);
    }
    return status;
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

/* Without parameters, which videoscale would copy without scaling them. */
void add_region(GstBuffer *buffer, GQuark type, const GstGpuVisionBox &box, gint label) {
    auto *region = gst_buffer_add_video_region_of_interest_meta_id(
        buffer, type, static_cast<guint>(box.x), static_cast<guint>(box.y),
        static_cast<guint>(box.width), static_cast<guint>(box.height));
    region->id = label;
}

/* Boxes are exact, so there is no doubt of them. */
void gst_gpu_ccl_annotate(GstGpuVisionFilter *filter, GstBuffer *buffer, GstStructure *) {
    const auto *self = GST_GPU_CCL(filter);
    const GQuark type = g_quark_from_static_string("component");
    std::vector<GstGpuVisionBox> boxes;
    boxes.reserve(static_cast<gsize>(self->found.components));
    for (gint i = 0; i < self->found.components; i++) {
        const gpv_ccl_component &found = self->records[i];
        boxes.push_back(
            {found.left, found.top, found.right - found.left, found.bottom - found.top});
        add_region(buffer, type, boxes.back(), i + 1);
    }
    gst_gpu_vision_analytics_add_boxes(buffer, type, boxes.data(), boxes.size(), 1);
}

/* ---- properties ---- */

void gst_gpu_ccl_set_property(GObject *object, guint id, const GValue *value, GParamSpec *spec) {
    if (id == Property::output)
        return gst_gpu_vision_filter_set_output(GST_GPU_VISION_FILTER(object),
                                                static_cast<guint>(g_value_get_enum(value)));
    Settings &wanted = GST_GPU_CCL(object)->wanted;
    GST_OBJECT_LOCK(object);
    switch (id) {
    case Property::threshold:
        wanted.threshold = g_value_get_int(value);
        break;
    case Property::threshold_range:
        wanted.range = static_cast<GstGpuVisionRange>(g_value_get_enum(value));
        break;
    case Property::invert:
        wanted.params.invert = g_value_get_boolean(value) ? 1 : 0;
        break;
    case Property::foreground:
        wanted.params.foreground = g_value_get_int(value);
        break;
    case Property::mode:
        wanted.params.mode = static_cast<gpv_ccl_mode>(g_value_get_enum(value));
        break;
    case Property::connectivity:
        wanted.params.connectivity = g_value_get_enum(value);
        break;
    case Property::min_area:
        wanted.params.min_area = g_value_get_int(value);
        break;
    case Property::max_area:
        wanted.params.max_area = g_value_get_int(value);
        break;
    case Property::max_components:
        wanted.max_components = g_value_get_int(value);
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
    }
    GST_OBJECT_UNLOCK(object);
}

void gst_gpu_ccl_get_property(GObject *object, guint id, GValue *value, GParamSpec *spec) {
    const Settings wanted = snapshot(GST_GPU_CCL(object));
    switch (id) {
    case Property::threshold:
        g_value_set_int(value, wanted.threshold);
        break;
    case Property::threshold_range:
        g_value_set_enum(value, wanted.range);
        break;
    case Property::invert:
        g_value_set_boolean(value, wanted.params.invert != 0);
        break;
    case Property::foreground:
        g_value_set_int(value, wanted.params.foreground);
        break;
    case Property::mode:
        g_value_set_enum(value, static_cast<gint>(wanted.params.mode));
        break;
    case Property::connectivity:
        g_value_set_enum(value, wanted.params.connectivity);
        break;
    case Property::min_area:
        g_value_set_int(value, wanted.params.min_area);
        break;
    case Property::max_area:
        g_value_set_int(value, wanted.params.max_area);
        break;
    case Property::max_components:
        g_value_set_int(value, wanted.max_components);
        break;
    case Property::output:
        g_value_set_enum(value, static_cast<gint>(gst_gpu_vision_filter_get_output(
                                    GST_GPU_VISION_FILTER(object))));
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
    }
}

void install_properties(GObjectClass *klass) {
    gst_gpu_vision_install_int(
        klass, Property::threshold, "threshold", "Threshold",
        "Lowest luma of the foreground, in grey levels, 0 to 255; 0 is every pixel. -1, "
        "the default, is 128 with mode=binary and 0 with mode=equal-value.",
        -1, 255, -1);
    gst_gpu_vision_install_threshold_range(klass, Property::threshold_range,
                                           "GstGpuCclThresholdRange");
    g_object_class_install_property(
        klass, Property::invert,
        g_param_spec_boolean("invert", "Invert",
                             "Whether the foreground is what threshold or foreground would leave "
                             "out, such as dark things on a bright ground. Default false.",
                             FALSE, GST_GPU_VISION_PARAM_LIVE));
    gst_gpu_vision_install_int(
        klass, Property::foreground, "foreground", "Foreground",
        "Luma of the foreground, in grey levels, 0 to 255: pixels of exactly that value, "
        "whatever threshold is. -1, the default, lets threshold decide.",
        -1, 255, -1);
    gst_gpu_vision_install_enum(
        klass, Property::mode, "mode", "Mode",
        "Whether all touching pixels of the foreground belong together, or only those of "
        "equal luma. Default binary.",
        "GstGpuCclMode", modes);
    gst_gpu_vision_install_enum(
        klass, Property::connectivity, "connectivity", "Connectivity",
        "How many neighbours a pixel touches: 8, with the diagonal ones, or 4. Default 8.",
        "GstGpuCclConnectivity", connectivities);
    gst_gpu_vision_install_int(
        klass, Property::min_area, "min-area", "Minimum area",
        "Components of fewer pixels are dropped, 0 to 1073741824 pixels. 0, the default, "
        "drops none.",
        0, GPV_MAX_PIXELS, 0);
    gst_gpu_vision_install_int(
        klass, Property::max_area, "max-area", "Maximum area",
        "Components of more pixels are dropped, 0 to 1073741824 pixels. 0, the default, "
        "drops none.",
        0, GPV_MAX_PIXELS, 0);
    gst_gpu_vision_install_int(
        klass, Property::max_components, "max-components", "Maximum components",
        "How many components the results describe, 0 to 65535, in the order of their "
        "labels; their count is always the true total. Default 256.",
        0, 65535, 256);
    gst_gpu_vision_install_enum(
        klass, Property::output, "output", "Output",
        "What the frame becomes: coloured components, a mask, the labels, or what it was. "
        "Default colorize.",
        "GstGpuCclOutput", output_names);
}

void gst_gpu_ccl_finalize(GObject *object) {
    g_free(GST_GPU_CCL(object)->records);
    G_OBJECT_CLASS(gst_gpu_ccl_parent_class)->finalize(object);
}

} // namespace

static void gst_gpu_ccl_class_init(GstGpuCclClass *klass) {
    auto *object = G_OBJECT_CLASS(klass);
    auto *filter = GST_GPU_VISION_FILTER_CLASS(klass);
    object->set_property = gst_gpu_ccl_set_property;
    object->get_property = gst_gpu_ccl_get_property;
    object->finalize = gst_gpu_ccl_finalize;
    install_properties(object);
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
    self->wanted.threshold = -1;
    self->wanted.max_components = 256;
}
