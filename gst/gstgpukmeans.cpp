/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstgpukmeans.h"

#include <gpuvision/kmeans.h>

#include <cstring>
#include <numeric>

#include "gstgpuvisionanalytics.h"

namespace {

enum Output { output_quantized, output_labels };

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

enum Property {
    clusters = 1,
    max_clusters,
    max_iterations,
    tolerance,
    metric,
    init,
    seed,
    warm_start,
    keep_state,
    color_space,
    output
};

const GEnumValue metrics[] = {{GPV_KMEANS_METRIC_L2, "Euclidean distance", "l2"},
                              {GPV_KMEANS_METRIC_L1, "Manhattan distance", "l1"},
                              {0, nullptr, nullptr}};

const GEnumValue init_methods[] = {
    {GPV_KMEANS_INIT_PLUSPLUS, "Colours drawn by their distance to those drawn before", "kmeans++"},
    {GPV_KMEANS_INIT_RANDOM, "Colours drawn by how often they occur", "random"},
    {GPV_KMEANS_INIT_GRID, "The colours of pixels spread evenly over the frame", "grid"},
    {0, nullptr, nullptr}};

const GEnumValue spaces[] = {{GPV_KMEANS_COLOR_SPACE_RGB, "R, G and B", "rgb"},
                             {GPV_KMEANS_COLOR_SPACE_LAB, "CIE L*a*b*", "lab"},
                             {0, nullptr, nullptr}};

const GEnumValue output_names[] = {
    {output_quantized, "Each pixel in the colour of its cluster", "quantized"},
    {output_labels, "The numbers of the clusters: GRAY8, in CUDAMemory NV12", "labels"},
    {0, nullptr, nullptr}};

/* By Output. */
constexpr GstGpuVisionOutput outputs[] = {
    {GST_VIDEO_FORMAT_UNKNOWN, GST_VIDEO_FORMAT_UNKNOWN, GST_GPU_VISION_PIXELS_NEW},
    {GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_NV12, GST_GPU_VISION_PIXELS_NEW}};

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

gpv_status gst_gpu_kmeans_process(GstGpuVisionFilter *filter, const GstGpuVisionJob *job) {
    auto *self = GST_GPU_KMEANS(filter);
    const bool labels = job->output == output_labels;
    const gpv_buffer centroids = view_of(self->centroids), counts = view_of(self->counts);
    gpv_kmeans_params params = snapshot(self);
    params.warm_start &= !self->forgets;
    gpv_status status = update_params(self, params);
    if (status == GPV_OK)
        status = gpv_kmeans_run(self->op, job->stream, job->src, labels ? job->dst : nullptr,
                                labels ? nullptr : job->dst, job->results ? &centroids : nullptr,
                                job->results ? &counts : nullptr, nullptr);
    self->forgets = FALSE;
    if (status == GPV_OK && job->results) {
        gpv_kmeans_result_init(&self->found, sizeof self->found);
        status = gpv_kmeans_wait(self->op, &self->found);
        gst_gpu_vision_filter_set_finished(filter);
    }
    return status;
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
void gst_gpu_kmeans_annotate(GstGpuVisionFilter *filter, GstBuffer *buffer, GstStructure *) {
    const auto *self = GST_GPU_KMEANS(filter);
    const auto clusters = static_cast<gsize>(self->found.clusters);
    const auto pixels = std::accumulate(self->counts, self->counts + clusters, gint64{0});
    GstGpuVisionClass classes[GPV_KMEANS_MAX_CLUSTERS];
    for (gsize i = 0; i < clusters; i++)
        classes[i] = {name_of(gpv_kmeans_color(self->used.color_space, self->centroids[i])),
                      static_cast<gfloat>(self->counts[i]) / static_cast<gfloat>(pixels)};
    gst_gpu_vision_analytics_add_classes(buffer, classes, clusters);
}

/* ---- properties ---- */

/* One cluster lies within the range of the property, but would be no segmentation. What moves from
   0 to 2 and back passes it. */
void set_clusters(GObject *object, gint value) {
    if (value == 1) {
        GstControlBinding *moves = gst_object_get_control_binding(GST_OBJECT(object), "clusters");
        if (!moves)
            g_warning("clusters of %s cannot be 1: it is 0, chosen automatically, or 2 to %d. It "
                      "stays as it was.",
                      GST_OBJECT_NAME(object), GPV_KMEANS_MAX_CLUSTERS);
        gst_clear_object(&moves);
        return;
    }
    GST_OBJECT_LOCK(object);
    GST_GPU_KMEANS(object)->wanted.clusters = value;
    GST_OBJECT_UNLOCK(object);
}

void gst_gpu_kmeans_set_property(GObject *object, guint id, const GValue *value, GParamSpec *spec) {
    if (id == Property::output)
        return gst_gpu_vision_filter_set_output(GST_GPU_VISION_FILTER(object),
                                                static_cast<guint>(g_value_get_enum(value)));
    if (id == Property::clusters)
        return set_clusters(object, g_value_get_int(value));
    if (id == Property::keep_state)
        return gst_gpu_vision_filter_set_keep_state(GST_GPU_VISION_FILTER(object),
                                                    g_value_get_boolean(value));
    gpv_kmeans_params &wanted = GST_GPU_KMEANS(object)->wanted;
    GST_OBJECT_LOCK(object);
    switch (id) {
    case Property::max_clusters:
        wanted.max_clusters = g_value_get_int(value);
        break;
    case Property::max_iterations:
        wanted.max_iterations = g_value_get_int(value);
        break;
    case Property::tolerance:
        wanted.tolerance = g_value_get_float(value);
        break;
    case Property::metric:
        wanted.metric = static_cast<gpv_kmeans_metric>(g_value_get_enum(value));
        break;
    case Property::init:
        wanted.init = static_cast<gpv_kmeans_init_method>(g_value_get_enum(value));
        break;
    case Property::seed:
        wanted.seed = g_value_get_uint64(value);
        break;
    case Property::warm_start:
        wanted.warm_start = g_value_get_boolean(value) ? 1 : 0;
        break;
    case Property::color_space:
        wanted.color_space = static_cast<gpv_kmeans_color_space>(g_value_get_enum(value));
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
    }
    GST_OBJECT_UNLOCK(object);
}

void gst_gpu_kmeans_get_property(GObject *object, guint id, GValue *value, GParamSpec *spec) {
    const gpv_kmeans_params wanted = snapshot(GST_GPU_KMEANS(object));
    switch (id) {
    case Property::clusters:
        g_value_set_int(value, wanted.clusters);
        break;
    case Property::max_clusters:
        g_value_set_int(value, wanted.max_clusters);
        break;
    case Property::max_iterations:
        g_value_set_int(value, wanted.max_iterations);
        break;
    case Property::tolerance:
        g_value_set_float(value, wanted.tolerance);
        break;
    case Property::metric:
        g_value_set_enum(value, static_cast<gint>(wanted.metric));
        break;
    case Property::init:
        g_value_set_enum(value, static_cast<gint>(wanted.init));
        break;
    case Property::seed:
        g_value_set_uint64(value, wanted.seed);
        break;
    case Property::warm_start:
        g_value_set_boolean(value, wanted.warm_start != 0);
        break;
    case Property::keep_state:
        g_value_set_boolean(value,
                            gst_gpu_vision_filter_get_keep_state(GST_GPU_VISION_FILTER(object)));
        break;
    case Property::color_space:
        g_value_set_enum(value, static_cast<gint>(wanted.color_space));
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
        klass, Property::clusters, "clusters", "Clusters",
        "How many clusters, and so colours, to find: 2 to 256, or 0, chosen automatically up to "
        "max-clusters. 1 is refused. Default 8.",
        0, GPV_KMEANS_MAX_CLUSTERS, 8);
    gst_gpu_vision_install_int(
        klass, Property::max_clusters, "max-clusters", "Maximum clusters",
        "Largest number of clusters that is chosen where clusters is 0, 2 to 256. Default 16.", 2,
        GPV_KMEANS_MAX_CLUSTERS, 16);
    gst_gpu_vision_install_int(klass, Property::max_iterations, "max-iterations",
                               "Maximum iterations",
                               "How often the centroids are moved in a frame at most, 0 to 10000; "
                               "0 leaves them where they start. Default 20.",
                               0, 10000, 20);
    g_object_class_install_property(
        klass, Property::tolerance,
        g_param_spec_float("tolerance", "Tolerance",
                           "The iteration ends when no centroid has moved further, in grey levels, "
                           "0 to 255; 0 waits until the labels repeat, and below 0 all of "
                           "max-iterations are run. Default 0.5.",
                           -1, 255, 0.5, GST_GPU_VISION_PARAM_LIVE));
    gst_gpu_vision_install_enum(
        klass, Property::metric, "metric", "Metric",
        "Distance that says to which centroid a colour is nearest. Default l2.",
        "GstGpuKmeansMetric", metrics);
    gst_gpu_vision_install_enum(klass, Property::init, "init", "Initial centroids",
                                "How the first centroids are chosen. Default kmeans++.",
                                "GstGpuKmeansInit", init_methods);
    g_object_class_install_property(
        klass, Property::seed,
        g_param_spec_uint64("seed", "Seed",
                            "Seed of what init=kmeans++ and init=random draw, 0 to "
                            "18446744073709551615: the same seed draws the same. Default 0.",
                            0, G_MAXUINT64, 0, GST_GPU_VISION_PARAM_LIVE));
    g_object_class_install_property(
        klass, Property::warm_start,
        g_param_spec_boolean("warm-start", "Warm start",
                             "Whether a frame starts from the centroids of the one before, so that "
                             "the clusters keep their numbers until the scene changes. Default "
                             "true.",
                             TRUE, GST_GPU_VISION_PARAM_LIVE));
    gst_gpu_vision_filter_class_set_forget(GST_GPU_VISION_FILTER_CLASS(klass), Property::keep_state,
                                           gst_gpu_kmeans_forget);
    gst_gpu_vision_install_enum(klass, Property::color_space, "color-space", "Colour space",
                                "Space in which colours have their distances. Default rgb.",
                                "GstGpuKmeansColorSpace", spaces);
    gst_gpu_vision_install_enum(
        klass, Property::output, "output", "Output",
        "What the frame becomes: the colours of the clusters, or their numbers. Default quantized.",
        "GstGpuKmeansOutput", output_names);
}

} // namespace

static void gst_gpu_kmeans_class_init(GstGpuKmeansClass *klass) {
    auto *object = G_OBJECT_CLASS(klass);
    auto *filter = GST_GPU_VISION_FILTER_CLASS(klass);
    object->set_property = gst_gpu_kmeans_set_property;
    object->get_property = gst_gpu_kmeans_get_property;
    install_properties(object);
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
    self->wanted.warm_start = 1;
}
