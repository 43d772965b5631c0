/* SPDX-License-Identifier: BSD-2-Clause */
#include <gpuvision/kmeans.h>

#include <cstring>
#include <numeric>

#include "gstgpuvisionfilter.h"

#define GST_TYPE_GPU_KMEANS (gst_gpu_kmeans_get_type())
G_DECLARE_FINAL_TYPE(GstGpuKmeans, gst_gpu_kmeans, GST, GPU_KMEANS, GstGpuVisionFilter)

namespace {

enum Output { output_quantized, output_labels, output_none };

} // namespace

struct _GstGpuKmeans {
    GstGpuVisionFilter parent;
    gpv_kmeans *op;
    gpv_kmeans_params wanted; /* the properties, under the object lock */
    gpv_kmeans_params used;   /* those of op */
    gboolean forgets;         /* the next frame begins anew */
    /* In the last frame whose results were wanted. */
    gpv_kmeans_result found;
    gfloat centroids[GPV_KMEANS_MAX_CLUSTERS][3];
    gint32 counts[GPV_KMEANS_MAX_CLUSTERS];
};

G_DEFINE_FINAL_TYPE(GstGpuKmeans, gst_gpu_kmeans, GST_TYPE_GPU_VISION_FILTER)
GST_ELEMENT_REGISTER_DEFINE(gpukmeans, "gpukmeans", GST_RANK_NONE, GST_TYPE_GPU_KMEANS)

namespace {

constexpr gpv_choice init_methods[] = {
    {"kmeans++", "Colours drawn by their distance to those drawn before", GPV_KMEANS_INIT_PLUSPLUS},
    {"random", "Colours drawn by how often they occur", GPV_KMEANS_INIT_RANDOM},
    {"grid", "The colours of pixels spread evenly over the frame", GPV_KMEANS_INIT_GRID}};

constexpr gpv_choice output_names[] = {
    {"quantized", "Each pixel in the colour of its cluster", output_quantized},
    {"labels", "The numbers of the clusters: GRAY8, in CUDAMemory NV12", output_labels},
    {"none", "The frame as it came", output_none}};

/* By Output. */
constexpr GstGpuVisionOutput outputs[] = {
    {GST_VIDEO_FORMAT_UNKNOWN, GST_VIDEO_FORMAT_UNKNOWN, GST_GPU_VISION_PIXELS_NEW},
    {GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_NV12, GST_GPU_VISION_PIXELS_NEW},
    {GST_VIDEO_FORMAT_UNKNOWN, GST_VIDEO_FORMAT_UNKNOWN, GST_GPU_VISION_PIXELS_KEPT}};

gpv_kmeans_params snapshot(GstGpuKmeans *self) {
    GST_OBJECT_LOCK(self);
    const gpv_kmeans_params params = self->wanted;
    GST_OBJECT_UNLOCK(self);
    return params;
}

gpv_status gst_gpu_kmeans_open(GstGpuVisionFilter *filter, gpv_context *context) {
    auto *self = GST_GPU_KMEANS(filter);
    self->used = snapshot(self);
    return gpv_kmeans_create(context, &self->used, &self->op);
}

void gst_gpu_kmeans_close(GstGpuVisionFilter *filter) {
    gpv_kmeans_destroy(&GST_GPU_KMEANS(filter)->op);
}

gpv_status update_params(GstGpuKmeans *self, const gpv_kmeans_params &params) {
    if (std::memcmp(&params, &self->used, sizeof params) == 0)
        return GPV_OK;
    const gpv_status status = gpv_kmeans_set_params(self->op, &params);
    if (status == GPV_OK)
        self->used = params;
    return status;
}

void gst_gpu_kmeans_forget(GstGpuVisionFilter *filter) {
    GST_GPU_KMEANS(filter)->forgets = TRUE;
}

template <typename Array>
gpv_buffer view_of(Array &array) {
    gpv_buffer buffer;
    gpv_buffer_init(&buffer, sizeof buffer);
    buffer.memory = GPV_MEMORY_HOST;
    buffer.data = array;
    buffer.size = sizeof array;
    return buffer;
}

GstGpuVisionOutcome gst_gpu_kmeans_process(GstGpuVisionFilter *filter, const GstGpuVisionJob *job) {
    auto *self = GST_GPU_KMEANS(filter);
    const bool labels = job->output == output_labels;
    const gpv_buffer centroids = view_of(self->centroids), counts = view_of(self->counts);
    gpv_kmeans_params params = snapshot(self);
    params.warm_start &= !self->forgets;
    gpv_status status = update_params(self, params);
    if (status == GPV_OK)
        status = gpv_kmeans_run(self->op, job->stream, job->src, labels ? job->dst : job->mask,
                                labels ? nullptr : job->dst, job->results ? &centroids : nullptr,
                                job->results ? &counts : nullptr, nullptr);
    self->forgets = FALSE;
    if (status == GPV_OK && job->results) {
        gpv_kmeans_result_init(&self->found, sizeof self->found);
        status = gpv_kmeans_wait(self->op, &self->found);
    }
    return {status, job->results};
}

/* ---- results ---- */

template <typename Number>
void take_array(GstStructure *results, const gchar *name, gint size, Number number) {
    GValue array = G_VALUE_INIT;
    gst_value_array_init(&array, static_cast<guint>(size));
    for (gint i = 0; i < size; i++) {
        GValue item = G_VALUE_INIT;
        g_value_init(&item, G_TYPE_INT);
        g_value_set_int(&item, number(i));
        gst_value_array_append_and_take_value(&array, &item);
    }
    gst_structure_take_value(results, name, &array);
}

void gst_gpu_kmeans_write_results(GstGpuVisionFilter *filter, GstStructure *results) {
    const auto *self = GST_GPU_KMEANS(filter);
    const gpv_kmeans_result &found = self->found;
    gst_structure_set(results, "clusters", G_TYPE_INT, found.clusters, "inertia", G_TYPE_DOUBLE,
                      found.inertia, "iterations", G_TYPE_INT, found.iterations, nullptr);
    take_array(results, "centroids", found.clusters, [self](gint i) {
        return static_cast<gint>(gpv_kmeans_color(self->used.color_space, self->centroids[i]));
    });
    take_array(results, "counts", found.clusters, [self](gint i) { return self->counts[i]; });
}

/* "#rgb" of 0xRRGGBB. With all six digits there would be ever new names, which are kept for good.
 */
GQuark name_of(guint32 color) {
    const auto digit = [color](guint shift) { return ((color >> shift & 0xff) + 8) / 17; };
    gchar name[8];
    g_snprintf(name, sizeof name, "#%x%x%x", digit(16), digit(8), digit(0));
    return g_quark_from_string(name);
}

/* In the order of the labels. */
void gst_gpu_kmeans_annotate(GstGpuVisionFilter *filter, GstStructure *, GstGpuVisionNotes *notes) {
    const auto *self = GST_GPU_KMEANS(filter);
    const auto clusters = static_cast<gsize>(self->found.clusters);
    const auto pixels = std::accumulate(self->counts, self->counts + clusters, gint64{0});
    for (gsize i = 0; i < clusters; i++)
        notes->classes.push_back(
            {name_of(gpv_kmeans_color(self->used.color_space, self->centroids[i])),
             static_cast<gfloat>(self->counts[i]) / static_cast<gfloat>(pixels),
             static_cast<guint>(i)});
}

/* ---- properties ---- */

/* One cluster lies within the range of the property, but would be no segmentation. What moves from
   0 to 2 and back passes it. */
void gst_gpu_kmeans_set_property(GObject *object, guint, const GValue *value, GParamSpec *spec) {
    if (g_str_equal(spec->name, "clusters") && g_value_get_int(value) == 1) {
        GstControlBinding *moves = gst_object_get_control_binding(GST_OBJECT(object), "clusters");
        if (!moves)
            g_warning("clusters of %s cannot be 1: it is 0, chosen automatically, or 2 to %d. It "
                      "stays as it was.",
                      GST_OBJECT_NAME(object), GPV_KMEANS_MAX_CLUSTERS);
        gst_clear_object(&moves);
        return;
    }
    gst_gpu_vision_filter_set_field(GST_GPU_VISION_FILTER(object), value, spec);
}

gboolean adapt(gpv_field *field) {
    if (g_str_equal(field->name, "tolerance")) {
        field->low = -1;
        field->high = 255;
    } else if (g_str_equal(field->name, "warm_start")) {
        field->initial = TRUE;
    } else if (g_str_equal(field->name, "init")) {
        field->choices = init_methods;
        field->choice_count = G_N_ELEMENTS(init_methods);
    }
    return TRUE;
}

} // namespace

static void gst_gpu_kmeans_class_init(GstGpuKmeansClass *klass) {
    auto *filter = GST_GPU_VISION_FILTER_CLASS(klass);
    G_OBJECT_CLASS(klass)->set_property = gst_gpu_kmeans_set_property;
    const gpv_field output = GST_GPU_VISION_CHOICE(
        "output", 0, output_names,
        "What the frame becomes: the colours of the clusters, their numbers, or what it was.");
    gst_gpu_vision_filter_class_install_params(
        filter, "kmeans", G_STRUCT_OFFSET(GstGpuKmeans, wanted), sizeof(gpv_kmeans_params), adapt);
    gst_gpu_vision_filter_class_set_forget(filter, gst_gpu_kmeans_forget);
    gst_gpu_vision_filter_class_set_mask(filter, output_labels);
    gst_gpu_vision_filter_class_install_output(filter, &output);
    gst_gpu_vision_filter_class_install_interval(filter);
    gst_gpu_vision_filter_class_install_roi(filter);
    gst_element_class_set_static_metadata(
        GST_ELEMENT_CLASS(klass), "Colour segmentation by k-means", "Filter/Effect/Video/Hardware",
        "Finds the few colours that stand for all colours of video", GST_GPU_VISION_AUTHOR);
    gst_gpu_vision_filter_class_set_name(filter, "gpukmeans");
    gst_gpu_vision_filter_class_set_outputs(filter, outputs, G_N_ELEMENTS(outputs));
    filter->takes_interlaced = TRUE;
    filter->open = gst_gpu_kmeans_open;
    filter->close = gst_gpu_kmeans_close;
    filter->process = gst_gpu_kmeans_process;
    filter->write_results = gst_gpu_kmeans_write_results;
    filter->annotate = gst_gpu_kmeans_annotate;
}

static void gst_gpu_kmeans_init(GstGpuKmeans *self) {
    gpv_kmeans_params_init(&self->wanted, sizeof self->wanted);
    gst_gpu_vision_filter_init_fields(GST_GPU_VISION_FILTER(self));
}
