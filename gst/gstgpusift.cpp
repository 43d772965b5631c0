/* SPDX-License-Identifier: BSD-2-Clause */
#include <gpuvision/draw.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "gstgpusiftreference.h"
#include "gstgpuvisionfilter.h"

#define GST_TYPE_GPU_SIFT (gst_gpu_sift_get_type())
G_DECLARE_FINAL_TYPE(GstGpuSift, gst_gpu_sift, GST, GPU_SIFT, GstGpuVisionFilter)

namespace {

enum Overlay { overlay_none, overlay_points, overlay_rich, overlay_outline };

constexpr gint max_features_limit = 65536;

/* The properties. */
struct Settings {
    gpv_sift_params params; /* max_features may be 0, and then is that of the frame's size */
    gboolean descriptors;
    guint color;
    gpv_match_params match;
    gint min_inliers;
    guint references; /* counts changes of the picture */
};

} // namespace

struct _GstGpuSift {
    GstGpuVisionFilter parent;
    gpv_sift *op;
    gpv_sift_params used; /* those of op */

    /* Under the object lock. */
    Settings wanted;
    gchar *wanted_reference;

    /* Of the frame at hand. */
    Settings settings;
    gboolean tried;              /* to read the picture, as of settings.references */
    GstGpuVisionPicture picture; /* the last one that could be read */
    gchar *reference;            /* its path */
    gboolean outline_said;       /* that there is no picture to draw the outline of */
    gint width, height;          /* of what was searched */
    GstGpuSiftReference *matcher;

    /* In the last frame whose results were wanted. */
    gpv_sift_result found;
    gboolean described;
    gboolean flooded; /* there were more extrema than the library keeps */
    gpv_sift_keypoint *keypoints;
    guint8 *descriptors; /* GPV_SIFT_DESCRIPTOR_LENGTH each */
    gint room;           /* keypoints */
};

G_DEFINE_FINAL_TYPE(GstGpuSift, gst_gpu_sift, GST_TYPE_GPU_VISION_FILTER)
GST_ELEMENT_REGISTER_DEFINE(gpusift, "gpusift", GST_RANK_NONE, GST_TYPE_GPU_SIFT)

namespace {

constexpr gpv_choice overlays[] = {
    {"none", "The frame as it came", overlay_none},
    {"points", "A cross at each keypoint", overlay_points},
    {"rich", "A circle of each keypoint's scale, with its orientation", overlay_rich},
    {"outline", "The outline of the reference alone", overlay_outline}};

/* By Overlay. */
constexpr GstGpuVisionOutput outputs[] = {
    {GST_VIDEO_FORMAT_UNKNOWN, GST_VIDEO_FORMAT_UNKNOWN, GST_GPU_VISION_PIXELS_KEPT},
    {GST_VIDEO_FORMAT_UNKNOWN, GST_VIDEO_FORMAT_UNKNOWN, GST_GPU_VISION_PIXELS_DRAWN},
    {GST_VIDEO_FORMAT_UNKNOWN, GST_VIDEO_FORMAT_UNKNOWN, GST_GPU_VISION_PIXELS_DRAWN},
    {GST_VIDEO_FORMAT_UNKNOWN, GST_VIDEO_FORMAT_UNKNOWN, GST_GPU_VISION_PIXELS_DRAWN}};

Settings snapshot(GstGpuSift *self) {
    GST_OBJECT_LOCK(self);
    const Settings settings = self->wanted;
    GST_OBJECT_UNLOCK(self);
    return settings;
}

gpv_status gst_gpu_sift_open(GstGpuVisionFilter *filter, gpv_context *context) {
    auto *self = GST_GPU_SIFT(filter);
    self->used = snapshot(self).params;
    self->flooded = self->tried = self->outline_said = FALSE;
    self->matcher->open(context);
    return gpv_sift_create(context, &self->used, &self->op);
}

void gst_gpu_sift_close(GstGpuVisionFilter *filter) {
    auto *self = GST_GPU_SIFT(filter);
    self->matcher->close();
    gpv_sift_destroy(&self->op);
    gst_gpu_vision_picture_clear(&self->picture);
}

/* ---- the reference ---- */

bool has_reference(const GstGpuSift *self) {
    return self->picture.pixels;
}

/* Returns a new path, or NULL where it is not new. */
gchar *take_settings(GstGpuSift *self) {
    GST_OBJECT_LOCK(self);
    const bool changed = !self->tried || self->settings.references != self->wanted.references;
    self->settings = self->wanted;
    gchar *path =
        changed ? g_strdup(self->wanted_reference ? self->wanted_reference : "") : nullptr;
    GST_OBJECT_UNLOCK(self);
    return path;
}

/* Takes the path. A picture that cannot be read leaves the one before in force. */
bool take_reference(GstGpuSift *self, gchar *path) {
    GstGpuVisionPicture fresh = {};
    const bool none = !*path;
    const bool goes_on = none || gst_gpu_vision_picture_read(GST_GPU_VISION_FILTER(self),
                                                             "reference", path, 0, 0, &fresh);
    if (none || fresh.pixels) {
        gst_gpu_vision_picture_clear(&self->picture);
        self->picture = fresh;
        self->matcher->forget();
        std::swap(self->reference, path);
    }
    g_free(path);
    self->tried = goes_on;
    return goes_on;
}

void warn_of_outline(GstGpuSift *self) {
    const bool lacks = !has_reference(self) && gst_gpu_vision_filter_get_output(
                                                   GST_GPU_VISION_FILTER(self)) == overlay_outline;
    if (lacks && !self->outline_said)
        GST_ELEMENT_WARNING(self, RESOURCE, SETTINGS,
                            ("overlay=outline draws nothing without reference, the path of a "
                             "picture: set that, or take overlay=points or overlay=rich."),
                            (nullptr));
    self->outline_said = lacks;
}

gboolean gst_gpu_sift_examine(GstGpuVisionFilter *filter, GstBuffer *, const GstVideoInfo *) {
    auto *self = GST_GPU_SIFT(filter);
    if (gchar *path = take_settings(self); path && !take_reference(self, path))
        return FALSE;
    warn_of_outline(self);
    return TRUE;
}

/* ---- frames ---- */

/* Most keypoints of a frame where no number is wanted. */
gint capacity_for(const gpv_image &frame) {
    const gint64 pixels = gint64{frame.width} * frame.height;
    return static_cast<gint>(std::clamp<gint64>(pixels / 64, 4096, max_features_limit));
}

gpv_sift_params params_for(const Settings &settings, const gpv_image &frame) {
    gpv_sift_params params = settings.params;
    if (params.max_features == 0)
        params.max_features = capacity_for(frame);
    return params;
}

gpv_status update_params(GstGpuSift *self, const gpv_sift_params &params) {
    if (std::memcmp(&params, &self->used, sizeof params) == 0)
        return GPV_OK;
    const gpv_status status = gpv_sift_set_params(self->op, &params);
    if (status == GPV_OK)
        self->used = params;
    return status;
}

/* What is in there is lost. */
void make_room(GstGpuSift *self, gint count) {
    if (self->room >= count)
        return;
    self->room = count;
    g_free(self->keypoints);
    g_free(self->descriptors);
    self->keypoints = g_new(gpv_sift_keypoint, static_cast<gsize>(count));
    self->descriptors = g_new(guint8, static_cast<gsize>(count) * GPV_SIFT_DESCRIPTOR_LENGTH);
}

gpv_buffer buffer_of(gpointer data, gsize size) {
    gpv_buffer buffer;
    gpv_buffer_init(&buffer, sizeof buffer);
    buffer.memory = GPV_MEMORY_HOST;
    buffer.data = data;
    buffer.size = size;
    return buffer;
}

/* As many features as an element gives a frame of its size at most. A picture with too many is one
   without any, which is said once. */
gpv_status learn_reference(GstGpuSift *self, gpv_stream stream) {
    gpv_sift_params params = self->settings.params;
    params.max_features = capacity_for(gst_gpu_vision_picture_view(&self->picture));
    if (self->matcher->knows(params))
        return GPV_OK;
    gpv_status status = update_params(self, params);
    if (status == GPV_OK)
        status = self->matcher->learn(self->op, stream, self->picture, params);
    if (status != GPV_ERR_TOO_SMALL)
        return status;
    GST_ELEMENT_WARNING(self, STREAM, FAILED,
                        ("reference=%s has more extrema, or keypoints, than are kept for its size, "
                         "and is not found. Raise contrast-threshold, which is %g.",
                         self->reference, static_cast<gdouble>(params.contrast_threshold)),
                        (nullptr));
    return GPV_OK;
}

/* Into the arrays, if somebody will wait for them. */
gpv_status find(GstGpuSift *self, const GstGpuVisionJob &job, bool matching) {
    const auto room = static_cast<gsize>(self->used.max_features);
    if (!job.meta && !matching)
        return gpv_sift_run(self->op, job.stream, job.src, nullptr, nullptr, 0, nullptr, nullptr);
    make_room(self, self->used.max_features);
    const gpv_buffer keypoints = buffer_of(self->keypoints, room * sizeof *self->keypoints);
    const gpv_buffer descriptors = buffer_of(self->descriptors, room * GPV_SIFT_DESCRIPTOR_LENGTH);
    return gpv_sift_run(self->op, job.stream, job.src, nullptr, &keypoints, 0,
                        self->described ? &descriptors : nullptr, nullptr);
}

gpv_status draw(GstGpuSift *self, const GstGpuVisionJob &job) {
    if (job.output == overlay_outline)
        return GPV_OK;
    const gpv_draw_style style =
        job.output == overlay_rich ? GPV_DRAW_STYLE_RICH : GPV_DRAW_STYLE_POINTS;
    return gpv_draw_keypoints(self->op, job.stream, job.dst, style,
                              self->settings.color & 0xffffff);
}

/* A frame without keypoints says why in dropped, and once until there is another one on the bus. */
gpv_status wait(GstGpuSift *self) {
    gpv_sift_result_init(&self->found, sizeof self->found);
    const gpv_status status = gpv_sift_wait(self->op, &self->found);
    const bool flooded = status == GPV_ERR_TOO_SMALL;
    if (flooded && !self->flooded)
        GST_ELEMENT_WARNING(
            self, STREAM, FAILED,
            ("A frame has %d extrema, or keypoints, which is more than are kept for its size: it "
             "counts as one without keypoints. Raise contrast-threshold, which is %g.",
             self->found.dropped, static_cast<gdouble>(self->used.contrast_threshold)),
            (nullptr));
    self->flooded = flooded;
    return flooded ? GPV_OK : status;
}

/* Where the reference is, once the keypoints of the frame are here; drawn behind them. */
gpv_status match(GstGpuSift *self, const GstGpuVisionJob &job) {
    const Settings &settings = self->settings;
    const gpv_status status =
        self->matcher->find(job.stream, self->keypoints, self->descriptors, self->found.count,
                            settings.match.ratio, settings.min_inliers);
    return status == GPV_OK && job.dst
               ? self->matcher->draw(job.stream, job.dst, settings.color & 0xffffff)
               : status;
}

GstGpuVisionOutcome gst_gpu_sift_process(GstGpuVisionFilter *filter, const GstGpuVisionJob *job) {
    auto *self = GST_GPU_SIFT(filter);
    const bool matching = has_reference(self) && (job->dst || job->results);
    gpv_status status = matching ? learn_reference(self, job->stream) : GPV_OK;
    self->width = job->src->width;
    self->height = job->src->height;
    self->described = matching || (job->meta && self->settings.descriptors);
    if (status == GPV_OK)
        status = update_params(self, params_for(self->settings, *job->src));
    if (status == GPV_OK)
        status = find(self, *job, matching);
    const bool found = status == GPV_OK;
    if (found && job->dst)
        status = draw(self, *job);
    if (status == GPV_OK && (job->results || matching))
        status = wait(self);
    /* The frame and the arrays may be gone soon, and with them what is to be written. */
    if (found && status != GPV_OK)
        (void)!gpv_sift_wait(self->op, nullptr);
    if (matching) /* of the outline nobody has waited */
        return {status == GPV_OK ? match(self, *job) : status, FALSE};
    return {status, job->results};
}

/* ---- results ---- */

void append_double(GValue *array, gdouble number) {
    GValue value = G_VALUE_INIT;
    g_value_init(&value, G_TYPE_DOUBLE);
    g_value_set_double(&value, number);
    gst_value_array_append_and_take_value(array, &value);
}

void append_corner(GValue *array, gfloat x, gfloat y) {
    GValue value = G_VALUE_INIT;
    g_value_init(&value, GST_TYPE_STRUCTURE);
    g_value_take_boxed(&value, gst_structure_new("corner", "cx", G_TYPE_DOUBLE, gdouble{x}, "cy",
                                                 G_TYPE_DOUBLE, gdouble{y}, nullptr));
    gst_value_array_append_and_take_value(array, &value);
}

/* Where it has been found. */
void add_place(GstStructure *results, const GstGpuSiftReference &matcher) {
    GValue homography = G_VALUE_INIT, corners = G_VALUE_INIT;
    gst_value_array_init(&homography, 9);
    for (int i = 0; i < 9; i++)
        append_double(&homography, matcher.matrix()[i]);
    gst_value_array_init(&corners, 4);
    for (int i = 0; i < 8; i += 2)
        append_corner(&corners, matcher.corners()[i], matcher.corners()[i + 1]);
    gst_structure_take_value(results, "homography", &homography);
    gst_structure_take_value(results, "corners", &corners);
}

void gst_gpu_sift_write_results(GstGpuVisionFilter *filter, GstStructure *results) {
    const auto *self = GST_GPU_SIFT(filter);
    const gpv_sift_result &found = self->found;
    gst_structure_set(results, "count", G_TYPE_INT, found.count, "dropped", G_TYPE_INT,
                      found.dropped, nullptr);
    if (!has_reference(self))
        return;
    const GstGpuSiftReference &matcher = *self->matcher;
    gst_structure_set(results, "matches", G_TYPE_INT, matcher.matches(), "inliers", G_TYPE_INT,
                      matcher.inliers(), "found", G_TYPE_BOOLEAN, gboolean{matcher.found()},
                      nullptr);
    if (matcher.found())
        add_place(results, matcher);
}

void take_bytes(GstStructure *results, const gchar *name, gconstpointer data, gsize size) {
    GValue value = G_VALUE_INIT;
    g_value_init(&value, G_TYPE_BYTES);
    g_value_take_boxed(&value, g_bytes_new(data, size));
    gst_structure_take_value(results, name, &value);
}

/* Along one axis, on which the frame has so many pixels; corners begins with that of the first. */
void span_of(const float *corners, gint pixels, gint &first, gint &length) {
    const auto [minimum, maximum] = std::minmax({corners[0], corners[2], corners[4], corners[6]});
    const auto edge = [pixels](gdouble at) {
        return static_cast<gint>(std::clamp<gdouble>(at, 0, pixels));
    };
    first = edge(std::floor(minimum + 0.5));
    length = edge(std::ceil(maximum + 0.5)) - first;
}

/* The box around the outline, as far as it is in the frame. */
void note_detection(GstGpuVisionNotes *notes, const GstGpuSift *self) {
    const GstGpuSiftReference &matcher = *self->matcher;
    GstGpuVisionBox box;
    span_of(matcher.corners(), self->width, box.x, box.width);
    span_of(matcher.corners() + 1, self->height, box.y, box.height);
    if (box.width == 0 || box.height == 0)
        return;
    gchar *name = g_path_get_basename(self->reference);
    notes->type = g_quark_from_string(name);
    notes->confidence =
        static_cast<gfloat>(matcher.inliers()) / static_cast<gfloat>(matcher.matches());
    notes->boxes.push_back(box);
    g_free(name);
}

/* Keypoints may be megabytes, which are no message. */
void gst_gpu_sift_annotate(GstGpuVisionFilter *filter, GstStructure *results,
                           GstGpuVisionNotes *notes) {
    const auto *self = GST_GPU_SIFT(filter);
    const auto count = static_cast<gsize>(self->found.count);
    take_bytes(results, "keypoints", self->keypoints, count * sizeof *self->keypoints);
    if (self->settings.descriptors)
        take_bytes(results, "descriptors", self->descriptors, count * GPV_SIFT_DESCRIPTOR_LENGTH);
    if (has_reference(self) && self->matcher->found())
        note_detection(notes, self);
}

/* ---- properties ---- */

void gst_gpu_sift_set_property(GObject *object, guint, const GValue *value, GParamSpec *spec) {
    auto *filter = GST_GPU_VISION_FILTER(object);
    if (gst_gpu_vision_filter_set_field(filter, value, spec))
        return;
    auto *self = GST_GPU_SIFT(object);
    GST_OBJECT_LOCK(self);
    g_free(self->wanted_reference);
    self->wanted_reference = gst_gpu_vision_filter_dup_text(filter, value);
    self->wanted.references++;
    GST_OBJECT_UNLOCK(self);
}

void gst_gpu_sift_get_property(GObject *object, guint, GValue *value, GParamSpec *spec) {
    if (gst_gpu_vision_filter_get_field(GST_GPU_VISION_FILTER(object), value, spec))
        return;
    GST_OBJECT_LOCK(object);
    g_value_set_string(value, GST_GPU_SIFT(object)->wanted_reference);
    GST_OBJECT_UNLOCK(object);
}

gboolean adapt(gpv_field *field) {
    if (g_str_equal(field->name, "max_features")) {
        field->high = max_features_limit;
        field->initial = 2000;
        field->text =
            "How many keypoints of a frame are kept, those of the greatest response; 0 is "
            "a 64th of the number of pixels, but 4096 at least and 65536 at most.";
    }
    return !g_str_equal(field->name, "descriptor_type");
}

gboolean adapt_match(gpv_field *field) {
    field->text = "A keypoint of the reference matches the nearest one of the frame if that is "
                  "nearer than this times the second nearest; 0 matches it in any case.";
    const bool taken = g_str_equal(field->name, "ratio");
    field->name = "match_ratio";
    return taken;
}

void install_properties(GstGpuVisionFilterClass *klass) {
    constexpr gpv_field descriptors =
        GST_GPU_VISION_BOOL(Settings, descriptors, TRUE,
                            "Whether the metadata has the descriptors of the keypoints, and not "
                            "the keypoints alone.");
    constexpr gpv_field overlay =
        GST_GPU_VISION_CHOICE("overlay", 0, overlays,
                              "What is drawn into the frame, and with points and rich the outline "
                              "of the reference, too.");
    constexpr gpv_field color = GST_GPU_VISION_NUMBER(
        Settings, color, GPV_FIELD_KIND_UINT32, 0, G_MAXUINT32, 0xff00ff00, "",
        "Colour of what is drawn, 0xAARRGGBB; it is opaque, whatever AA is. At first it is green.");
    constexpr gpv_field min_inliers = GST_GPU_VISION_NUMBER(
        Settings, min_inliers, GPV_FIELD_KIND_INT32, 4, max_features_limit, 15, "",
        "The reference has been found where at least so many matches agree on one homography.");
    const goffset wanted = G_STRUCT_OFFSET(GstGpuSift, wanted);
    gst_gpu_vision_filter_class_install_params(
        klass, "sift", wanted + G_STRUCT_OFFSET(Settings, params), sizeof(gpv_sift_params), adapt);
    gst_gpu_vision_filter_class_install_fields(klass, wanted, &descriptors, 1);
    gst_gpu_vision_filter_class_install_output(klass, &overlay);
    gst_gpu_vision_filter_class_install_fields(klass, wanted, &color, 1);
    gst_gpu_vision_filter_class_install_string(
        klass, "reference", "Reference",
        "The path of a picture, in any format that GStreamer decodes, that is looked for in every "
        "frame. Default none.");
    gst_gpu_vision_filter_class_install_params(klass, "match",
                                               wanted + G_STRUCT_OFFSET(Settings, match),
                                               sizeof(gpv_match_params), adapt_match);
    gst_gpu_vision_filter_class_install_fields(klass, wanted, &min_inliers, 1);
    gst_gpu_vision_filter_class_install_interval(klass);
    gst_gpu_vision_filter_class_install_roi(klass);
}

void gst_gpu_sift_finalize(GObject *object) {
    auto *self = GST_GPU_SIFT(object);
    g_free(self->keypoints);
    g_free(self->descriptors);
    g_free(self->wanted_reference);
    g_free(self->reference);
    gst_gpu_vision_picture_clear(&self->picture);
    delete self->matcher;
    G_OBJECT_CLASS(gst_gpu_sift_parent_class)->finalize(object);
}

} // namespace

static void gst_gpu_sift_class_init(GstGpuSiftClass *klass) {
    auto *object = G_OBJECT_CLASS(klass);
    auto *filter = GST_GPU_VISION_FILTER_CLASS(klass);
    object->set_property = gst_gpu_sift_set_property;
    object->get_property = gst_gpu_sift_get_property;
    object->finalize = gst_gpu_sift_finalize;
    install_properties(filter);
    gst_element_class_set_static_metadata(
        GST_ELEMENT_CLASS(klass), "Scale-invariant features", "Filter/Analyzer/Video/Hardware",
        "Finds and describes the keypoints of video with SIFT, and a picture by them",
        GST_GPU_VISION_AUTHOR);
    gst_gpu_vision_filter_class_set_name(filter, "gpusift");
    gst_gpu_vision_filter_class_set_outputs(filter, outputs, G_N_ELEMENTS(outputs));
    filter->open = gst_gpu_sift_open;
    filter->close = gst_gpu_sift_close;
    filter->examine = gst_gpu_sift_examine;
    filter->process = gst_gpu_sift_process;
    filter->write_results = gst_gpu_sift_write_results;
    filter->annotate = gst_gpu_sift_annotate;
}

static void gst_gpu_sift_init(GstGpuSift *self) {
    gpv_sift_params_init(&self->wanted.params, sizeof self->wanted.params);
    gst_gpu_vision_filter_init_fields(GST_GPU_VISION_FILTER(self));
    self->matcher = new GstGpuSiftReference;
}
