/* SPDX-License-Identifier: BSD-2-Clause */
#include <gpuvision/segment.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gstgpuvisionfilter.h"
#include "gstgpuvisionpicture.h"

#define GST_TYPE_GPU_GRAPHCUT (gst_gpu_graphcut_get_type())
G_DECLARE_FINAL_TYPE(GstGpuGraphcut, gst_gpu_graphcut, GST, GPU_GRAPHCUT, GstGpuVisionFilter)

namespace {

enum Output { output_overlay, output_mask, output_cutout, output_none };

enum Source { source_auto, source_rect, source_mask, source_regions };

/* The properties. */
struct Settings {
    gpv_segment_params params; /* without output and max_time_us */
    gint max_time_ms;
    Source seed_source;
    guint changes; /* of rect and seeds */
};

/* In pixels; right and bottom are outside. */
struct Box {
    gint64 left, top, right, bottom;
};

/* What the property says. */
struct Rectangle {
    gdouble x, y, width, height;
    bool fractions; /* of the frame, else pixels */
};

} // namespace

struct _GstGpuGraphcut {
    GstGpuVisionFilter parent;
    gpv_segment *op;

    /* Under the object lock. */
    Settings wanted;
    gchar *wanted_rect, *wanted_seeds;

    /* Of the frame at hand. */
    Settings settings;
    gchar *rect, *seeds;         /* as of settings.changes */
    Rectangle good_rect;         /* the last one with a pixel in a frame; width 0: none */
    gboolean rect_refused;       /* rect, with frames of this size */
    gboolean seeds_refused;      /* those of settings.changes */
    gboolean seeds_tried;        /* likewise, in the size of read */
    GstGpuVisionPicture read;    /* the last seeds that could be read, in the size of the frames */
    GstGpuVisionPicture regions; /* where there are several: not known inside, else background */
    gboolean divided;            /* regions hold for this frame */
    gpv_rect bounds;             /* of the foreground */
    gboolean bounded;
    gint64 pixels;

    gpv_segment_params used;   /* those of op */
    gboolean learned;          /* a frame has been run, and its colours can be gone on from */
    gpv_graphcut_result found; /* in the last frame whose results were wanted */
};

G_DEFINE_FINAL_TYPE(GstGpuGraphcut, gst_gpu_graphcut, GST_TYPE_GPU_VISION_FILTER)
GST_ELEMENT_REGISTER_DEFINE(gpugraphcut, "gpugraphcut", GST_RANK_NONE, GST_TYPE_GPU_GRAPHCUT)

namespace {

constexpr gint max_ms = G_MAXINT32 / 1000;

constexpr gpv_choice sources[] = {
    {"auto", "Nothing is known: the colours of the frame are divided in two", source_auto},
    {"rect", "Outside of rect is background", source_rect},
    {"mask", "The picture that seeds names", source_mask},
    {"roi-meta", "Outside of each of the frame's regions of interest is background",
     source_regions}};

constexpr gpv_choice output_names[] = {
    {"overlay", "The frame, its background grey and half as bright", output_overlay},
    {"mask", "White in the foreground: GRAY8, in CUDAMemory NV12", output_mask},
    {"cutout", "The frame, its background transparent: RGBA", output_cutout},
    {"none", "The frame as it came", output_none}};

/* By Output. */
constexpr GstGpuVisionOutput outputs[] = {
    {GST_VIDEO_FORMAT_UNKNOWN, GST_VIDEO_FORMAT_UNKNOWN, GST_GPU_VISION_PIXELS_NEW},
    {GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_NV12, GST_GPU_VISION_PIXELS_NEW},
    {GST_VIDEO_FORMAT_RGBA, GST_VIDEO_FORMAT_RGBA, GST_GPU_VISION_PIXELS_NEW},
    {GST_VIDEO_FORMAT_UNKNOWN, GST_VIDEO_FORMAT_UNKNOWN, GST_GPU_VISION_PIXELS_KEPT}};

/* ---- seeds ---- */

/* The library gives up what is not worth keeping. Waits for the frame before. */
bool has_learned(const GstGpuGraphcut *self) {
    guint32 learned = 0;
    return gpv_segment_learned(self->op, &learned) == GPV_OK && learned;
}

/* Where learning begins: later on they would say where the object was then. */
bool uses_seeds(const GstGpuGraphcut *self) {
    const Settings &settings = self->settings;
    return settings.seed_source == source_mask &&
           (settings.params.warm_start == GPV_SEGMENT_WARM_START_NONE || !self->learned);
}

bool has_size(const GstGpuVisionPicture &picture, const GstVideoInfo &info) {
    return picture.pixels && picture.width == GST_VIDEO_INFO_WIDTH(&info) &&
           picture.height == GST_VIDEO_INFO_HEIGHT(&info);
}

/* What gpv_segment_run() would refuse. NULL: nothing. */
gchar *find_fault(const gchar *path, const GstGpuVisionPicture &picture) {
    bool any_unknown = false;
    for (gint i = 0; i < picture.width * picture.height; i++) {
        const guint8 seed = picture.pixels[i];
        const bool known = seed == GPV_SEGMENT_SEED_BACKGROUND ||
                           seed == GPV_SEGMENT_SEED_FOREGROUND || seed == GPV_SEGMENT_SEED_WHITE;
        const bool unknown = seed == GPV_SEGMENT_SEED_PROBABLY_BACKGROUND ||
                             seed == GPV_SEGMENT_SEED_PROBABLY_FOREGROUND ||
                             seed == GPV_SEGMENT_SEED_UNKNOWN;
        if (!known && !unknown)
            return g_strdup_printf(
                "seeds=%s is %d at (%d, %d): it has to be 0 (background), 1 or 255 (foreground), 2 "
                "(probably background), 3 (probably foreground) or 128 (not known). JPEG changes "
                "values, PNG does not.",
                path, seed, i % picture.width, i / picture.width);
        any_unknown = any_unknown || unknown;
    }
    return any_unknown ? nullptr
                       : g_strdup_printf("seeds=%s leaves no pixel unknown: each is 0, 1 or 255, "
                                         "and 128 is needed where the border is looked for.",
                                         path);
}

bool read_picture(GstGpuGraphcut *self, gint width, gint height, GstGpuVisionPicture &picture) {
    auto *filter = GST_GPU_VISION_FILTER(self);
    const bool named = self->seeds && *self->seeds;
    if (named &&
        !gst_gpu_vision_picture_read(filter, "seeds", self->seeds, width, height, &picture))
        return false;
    if (named && !picture.pixels)
        return true;
    gchar *fault = named ? find_fault(self->seeds, picture)
                         : g_strdup("seed-source=mask needs seeds, the path of a picture: 0 is "
                                    "background, 255 is foreground, 128 is not known.");
    if (!fault)
        return true;
    gst_gpu_vision_picture_clear(&picture);
    return gst_gpu_vision_filter_refuse(
        filter, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, fault,
        g_strdup_printf("seeds=%s, frames of %dx%d", self->seeds ? self->seeds : "NULL", width,
                        height));
}

/* What cannot be used leaves what was there in force. */
bool read_seeds(GstGpuGraphcut *self, const GstVideoInfo &info) {
    const gint width = GST_VIDEO_INFO_WIDTH(&info), height = GST_VIDEO_INFO_HEIGHT(&info);
    GstGpuVisionPicture fresh = {};
    if (!self->seeds_refused) {
        if (!read_picture(self, width, height, fresh))
            return false;
        self->seeds_refused = !fresh.pixels;
    }
    if (!fresh.pixels && self->read.pixels)
        fresh = gst_gpu_vision_picture_scaled(&self->read, width, height);
    if (g_autofree gchar *fault = fresh.pixels ? find_fault("", fresh) : nullptr; fault)
        gst_gpu_vision_picture_clear(&fresh); /* nothing unknown is left */
    gst_gpu_vision_picture_clear(&self->read);
    self->read = fresh;
    self->seeds_tried = TRUE;
    return true;
}

bool find_seeds(GstGpuGraphcut *self, const GstVideoInfo &info) {
    const bool done = self->seeds_tried && (!self->read.pixels || has_size(self->read, info));
    return !uses_seeds(self) || done || read_seeds(self, info);
}

/* ---- bounds of the foreground ---- */

/* Returns false where nothing is left. */
bool clip(const Box &box, const GstVideoInfo &info, gpv_rect &bounds) {
    const gint64 left = std::max<gint64>(box.left, 0), top = std::max<gint64>(box.top, 0);
    const gint64 right = std::min<gint64>(box.right, GST_VIDEO_INFO_WIDTH(&info));
    const gint64 bottom = std::min<gint64>(box.bottom, GST_VIDEO_INFO_HEIGHT(&info));
    if (left >= right || top >= bottom)
        return false;
    bounds = {static_cast<gint32>(left), static_cast<gint32>(top),
              static_cast<gint32>(right - left), static_cast<gint32>(bottom - top)};
    return true;
}

/* Four numbers with a comma after each but the last, in angle brackets or without. With a point in
   any of them they are fractions. */
bool read_rectangle(const gchar *text, Rectangle &rectangle) {
    gdouble numbers[4];
    const bool brackets = g_str_has_prefix(text, "<");
    rectangle.fractions = std::strchr(text, '.');
    text += brackets ? 1 : 0;
    for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++) {
        gchar *end = nullptr;
        numbers[i] = g_ascii_strtod(text, &end);
        if (end == text || !(std::abs(numbers[i]) <= G_MAXINT32) ||
            (!rectangle.fractions && numbers[i] != std::floor(numbers[i])))
            return false;
        while (g_ascii_isspace(*end))
            end++;
        const gchar last = brackets ? '>' : '\0';
        if (*end != (i + 1 < G_N_ELEMENTS(numbers) ? ',' : last))
            return false;
        text = end + 1;
    }
    rectangle = {numbers[0], numbers[1], numbers[2], numbers[3], rectangle.fractions};
    return !brackets || *text == '\0';
}

/* Returns false where it has no pixel in the frame. */
bool place(const Rectangle &rectangle, const GstVideoInfo &info, gpv_rect &bounds) {
    const gdouble x = rectangle.fractions ? GST_VIDEO_INFO_WIDTH(&info) : 1;
    const gdouble y = rectangle.fractions ? GST_VIDEO_INFO_HEIGHT(&info) : 1;
    const auto pixels = [](gdouble at) { return static_cast<gint64>(std::floor(at + 0.5)); };
    return clip({pixels(x * rectangle.x), pixels(y * rectangle.y),
                 pixels(x * (rectangle.x + rectangle.width)),
                 pixels(y * (rectangle.y + rectangle.height))},
                info, bounds);
}

/* The last good one holds on where this one cannot be used; else nothing is known. */
bool find_rect(GstGpuGraphcut *self, const GstVideoInfo &info) {
    Rectangle wanted = {};
    const bool readable = self->rect && read_rectangle(self->rect, wanted);
    if (readable && place(wanted, info, self->bounds)) {
        self->good_rect = wanted;
        self->rect_refused = FALSE;
        self->bounded = TRUE;
        return true;
    }
    self->bounded = self->good_rect.width > 0 && place(self->good_rect, info, self->bounds);
    if (!self->rect_refused)
        self->rect_refused = gst_gpu_vision_filter_refuse(
            GST_GPU_VISION_FILTER(self), GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
            g_strdup_printf(
                "rect=%s %s of %dx%d pixels: it has to be \"x,y,width,height\", in pixels, or in "
                "fractions of the frame, as in 0.25,0.25,0.5,0.5.",
                self->rect ? self->rect : "NULL",
                readable ? "has no pixel in the frame" : "is no rectangle in a frame",
                GST_VIDEO_INFO_WIDTH(&info), GST_VIDEO_INFO_HEIGHT(&info)),
            g_strdup("seed-source=rect"));
    return self->rect_refused;
}

/* Adds one to a picture in which all was background. */
void mark(GstGpuVisionPicture &picture, const gpv_rect &part) {
    const auto width = static_cast<gsize>(picture.width);
    for (gint y = part.y; y < part.y + part.height; y++)
        std::memset(picture.pixels + static_cast<gsize>(y) * width + part.x,
                    GPV_SEGMENT_SEED_UNKNOWN, static_cast<gsize>(part.width));
}

void clear_regions(GstGpuGraphcut *self, const GstVideoInfo &info) {
    const auto bytes = static_cast<gsize>(self->pixels);
    GstGpuVisionPicture &picture = self->regions;
    if (!has_size(picture, info)) {
        g_free(picture.pixels);
        picture = {static_cast<guint8 *>(g_malloc(bytes)), GST_VIDEO_INFO_WIDTH(&info),
                   GST_VIDEO_INFO_HEIGHT(&info)};
    }
    std::memset(picture.pixels, 0, bytes);
}

/* One bounds the foreground, several are seeds. */
void find_regions(GstGpuGraphcut *self, GstBuffer *buffer, const GstVideoInfo &info) {
    const auto &regions =
        *gst_gpu_vision_filter_find_regions(GST_GPU_VISION_FILTER(self), buffer, &info);
    const auto rect_of = [](const GstGpuVisionRegion &region) {
        const auto [x, y, width, height] = region.box;
        return gpv_rect{x, y, width, height};
    };
    self->bounded = regions.size() == 1;
    self->divided = regions.size() > 1;
    if (self->bounded)
        self->bounds = rect_of(regions[0]);
    if (!self->divided)
        return;
    clear_regions(self, info);
    for (const GstGpuVisionRegion &region : regions)
        mark(self->regions, rect_of(region));
}

/* ---- frames ---- */

/* Returns whether the properties say something else of the frames than before. */
bool take_settings(GstGpuGraphcut *self) {
    GST_OBJECT_LOCK(self);
    const bool changed = self->settings.changes != self->wanted.changes ||
                         self->settings.seed_source != self->wanted.seed_source;
    self->settings = self->wanted;
    if (changed) {
        g_free(self->rect);
        g_free(self->seeds);
        self->rect = g_strdup(self->wanted_rect);
        self->seeds = g_strdup(self->wanted_seeds);
    }
    GST_OBJECT_UNLOCK(self);
    return changed;
}

gboolean gst_gpu_graphcut_examine(GstGpuVisionFilter *filter, GstBuffer *buffer,
                                  const GstVideoInfo *info) {
    auto *self = GST_GPU_GRAPHCUT(filter);
    if (take_settings(self)) {
        self->seeds_tried = self->seeds_refused = self->rect_refused = FALSE;
        self->learned = FALSE;
    }
    if (self->settings.params.model != self->used.model)
        self->learned = FALSE;
    if (self->settings.seed_source == source_mask && self->learned)
        self->learned = has_learned(self);
    self->bounded = self->divided = FALSE;
    self->pixels = gint64{GST_VIDEO_INFO_WIDTH(info)} * GST_VIDEO_INFO_HEIGHT(info);
    if (self->settings.seed_source == source_rect)
        return find_rect(self, *info);
    if (self->settings.seed_source == source_regions)
        find_regions(self, buffer, *info);
    return find_seeds(self, *info);
}

gpv_segment_params params_for(const Settings &settings, guint output) {
    gpv_segment_params params = settings.params;
    params.max_time_us = 1000 * settings.max_time_ms;
    params.output =
        output == output_cutout ? GPV_SEGMENT_OUTPUT_CUTOUT : GPV_SEGMENT_OUTPUT_OVERLAY;
    return params;
}

gpv_status gst_gpu_graphcut_open(GstGpuVisionFilter *filter, gpv_context *context) {
    auto *self = GST_GPU_GRAPHCUT(filter);
    take_settings(self);
    self->learned = FALSE;
    self->used = params_for(self->settings, gst_gpu_vision_filter_get_output(filter));
    return gpv_segment_create(context, &self->used, &self->op);
}

void gst_gpu_graphcut_close(GstGpuVisionFilter *filter) {
    auto *self = GST_GPU_GRAPHCUT(filter);
    gpv_segment_destroy(&self->op);
    gst_gpu_vision_picture_clear(&self->read);
    gst_gpu_vision_picture_clear(&self->regions);
    self->good_rect = {};
    self->seeds_tried = self->seeds_refused = self->rect_refused = FALSE;
}

void gst_gpu_graphcut_forget(GstGpuVisionFilter *filter) {
    GST_GPU_GRAPHCUT(filter)->learned = FALSE;
}

gpv_status update_params(GstGpuGraphcut *self, const gpv_segment_params &params) {
    if (std::memcmp(&params, &self->used, sizeof params) == 0)
        return GPV_OK;
    const gpv_status status = gpv_segment_set_params(self->op, &params);
    if (status == GPV_OK)
        self->used = params;
    return status;
}

gpv_status run(GstGpuGraphcut *self, const GstGpuVisionJob &job) {
    const bool masks = job.output == output_mask;
    const GstGpuVisionPicture *picture = self->divided      ? &self->regions
                                         : uses_seeds(self) ? &self->read
                                                            : nullptr;
    const bool seeded = picture && picture->pixels;
    const gpv_image seeds = seeded ? gst_gpu_vision_picture_view(picture) : gpv_image{};
    const gpv_status status =
        gpv_segment_run(self->op, job.stream, job.src, seeded ? &seeds : nullptr,
                        self->bounded ? &self->bounds : nullptr, masks ? job.dst : job.mask,
                        masks ? nullptr : job.dst, nullptr);
    self->learned = status == GPV_OK;
    return status;
}

GstGpuVisionOutcome gst_gpu_graphcut_process(GstGpuVisionFilter *filter,
                                             const GstGpuVisionJob *job) {
    auto *self = GST_GPU_GRAPHCUT(filter);
    gpv_segment_params params = params_for(self->settings, job->output);
    if (job->mask) /* of regions, to which a pixel belongs or not */
        params.edge = GPV_SEGMENT_EDGE_HARD;
    gpv_status status = update_params(self, params);
    if (status == GPV_OK && !self->learned)
        status = gpv_segment_forget(self->op);
    if (status == GPV_OK)
        status = run(self, *job);
    if (status == GPV_OK && job->results) {
        gpv_graphcut_result_init(&self->found, sizeof self->found);
        status = gpv_segment_wait(self->op, &self->found);
    }
    return {status, job->results};
}

const gchar *gst_gpu_graphcut_explain(GstGpuVisionFilter *, gpv_status status) {
    return status == GPV_ERR_OUT_OF_MEMORY
               ? "There is not enough memory for a cut of frames of this size: put videoscale in "
                 "front of this element, or use connectivity=4, which takes less."
               : nullptr;
}

/* ---- results ---- */

void gst_gpu_graphcut_write_results(GstGpuVisionFilter *filter, GstStructure *results) {
    const gpv_graphcut_result &found = GST_GPU_GRAPHCUT(filter)->found;
    const gdouble gap = found.optimal ? 0
                                      : static_cast<gdouble>(found.cut - found.flow) /
                                            static_cast<gdouble>(std::max<gint64>(found.cut, 1));
    gst_structure_set(results, "flow", G_TYPE_INT64, found.flow, "area", G_TYPE_INT,
                      static_cast<gint>(found.area), "optimal", G_TYPE_BOOLEAN, found.optimal != 0,
                      "gap", G_TYPE_DOUBLE, gap, nullptr);
}

void gst_gpu_graphcut_annotate(GstGpuVisionFilter *filter, GstStructure *,
                               GstGpuVisionNotes *notes) {
    const auto *self = GST_GPU_GRAPHCUT(filter);
    const auto share = static_cast<gfloat>(self->found.area) / static_cast<gfloat>(self->pixels);
    notes->classes.push_back({g_quark_from_static_string("background"), 1 - share, 0});
    notes->classes.push_back({g_quark_from_static_string("foreground"), share, 255});
}

/* ---- properties ---- */

/* Of the two texts. */
bool is_rect(const GParamSpec *spec) {
    return g_str_equal(spec->name, "rect");
}

/* Takes the text. The same again is no change. */
void set_text(Settings &wanted, gchar **text, gchar *value) {
    wanted.changes += g_strcmp0(*text, value) != 0 ? 1 : 0;
    g_free(*text);
    *text = value;
}

void gst_gpu_graphcut_set_property(GObject *object, guint, const GValue *value, GParamSpec *spec) {
    auto *filter = GST_GPU_VISION_FILTER(object);
    auto *self = GST_GPU_GRAPHCUT(object);
    if (gst_gpu_vision_filter_set_field(filter, value, spec))
        return;
    GST_OBJECT_LOCK(object);
    set_text(self->wanted, is_rect(spec) ? &self->wanted_rect : &self->wanted_seeds,
             gst_gpu_vision_filter_dup_text(filter, value));
    GST_OBJECT_UNLOCK(object);
}

void gst_gpu_graphcut_get_property(GObject *object, guint, GValue *value, GParamSpec *spec) {
    const auto *self = GST_GPU_GRAPHCUT(object);
    if (gst_gpu_vision_filter_get_field(GST_GPU_VISION_FILTER(object), value, spec))
        return;
    GST_OBJECT_LOCK(object);
    g_value_set_string(value, is_rect(spec) ? self->wanted_rect : self->wanted_seeds);
    GST_OBJECT_UNLOCK(object);
}

gboolean adapt(gpv_field *field) {
    if (g_str_equal(field->name, "warm_start")) {
        field->kind = GPV_FIELD_KIND_BOOL; /* NONE or ADAPT */
        field->choice_count = 0;
        field->initial = GPV_SEGMENT_WARM_START_ADAPT;
        field->text = "Whether a frame begins with the colours that were learned from the one "
                      "before; else each learns from its own seeds.";
    }
    return !g_str_equal(field->name, "output") && !g_str_equal(field->name, "certificate") &&
           !g_str_equal(field->name, "max_time_us");
}

void install_properties(GstGpuVisionFilterClass *klass) {
    constexpr gpv_field seed_source = GST_GPU_VISION_CHOICE(
        "seed_source", G_STRUCT_OFFSET(Settings, seed_source), sources,
        "What is known of the frames: nothing, so that their colours are divided in two, a "
        "rectangle, a picture of seeds, or their regions of interest.");
    constexpr gpv_field max_time = GST_GPU_VISION_NUMBER(
        Settings, max_time_ms, GPV_FIELD_KIND_INT32, 0, max_ms, 0, "milliseconds",
        "Time after which a cut settles for the best that it has by then. 0 lets each finish.");
    constexpr gpv_field output = GST_GPU_VISION_CHOICE(
        "output", 0, output_names,
        "What the frame becomes: itself with its background dimmed, a mask, what is left of it "
        "without background, or what it was.");
    const goffset wanted = G_STRUCT_OFFSET(GstGpuGraphcut, wanted);
    gst_gpu_vision_filter_class_install_fields(klass, wanted, &seed_source, 1);
    gst_gpu_vision_filter_class_install_string(
        klass, "rect", "Rectangle",
        "With seed-source=rect, \"x,y,width,height\" in pixels, or, with a point in any of the "
        "four, in fractions of the frame, to which it is clipped: what lies outside is "
        "background, in every frame. A GstValueArray is taken, too: <x,y,width,height>. "
        "Default NULL.");
    gst_gpu_vision_filter_class_install_string(
        klass, "seeds", "Seeds",
        "With seed-source=mask, the path of a picture of seeds, scaled to the frame: 0 "
        "is background, 1 or 255 is foreground, 2 is probably background, 3 is probably "
        "foreground, and 128 is not known. With warm-start "
        "it counts where learning begins, without in every frame. Default NULL.");
    gst_gpu_vision_filter_class_install_params(klass, "segment",
                                               wanted + G_STRUCT_OFFSET(Settings, params),
                                               sizeof(gpv_segment_params), adapt);
    gst_gpu_vision_filter_class_install_fields(klass, wanted, &max_time, 1);
    gst_gpu_vision_filter_class_set_forget(klass, gst_gpu_graphcut_forget);
    gst_gpu_vision_filter_class_set_mask(klass, output_mask);
    gst_gpu_vision_filter_class_install_output(klass, &output);
    gst_gpu_vision_filter_class_install_interval(klass);
}

void gst_gpu_graphcut_finalize(GObject *object) {
    auto *self = GST_GPU_GRAPHCUT(object);
    for (gchar *text : {self->wanted_rect, self->wanted_seeds, self->rect, self->seeds})
        g_free(text);
    gst_gpu_vision_picture_clear(&self->read);
    gst_gpu_vision_picture_clear(&self->regions);
    G_OBJECT_CLASS(gst_gpu_graphcut_parent_class)->finalize(object);
}

} // namespace

static void gst_gpu_graphcut_class_init(GstGpuGraphcutClass *klass) {
    auto *object = G_OBJECT_CLASS(klass);
    auto *filter = GST_GPU_VISION_FILTER_CLASS(klass);
    object->set_property = gst_gpu_graphcut_set_property;
    object->get_property = gst_gpu_graphcut_get_property;
    object->finalize = gst_gpu_graphcut_finalize;
    install_properties(filter);
    gst_element_class_set_static_metadata(
        GST_ELEMENT_CLASS(klass), "Segmentation by minimum cuts", "Filter/Effect/Video/Hardware",
        "Divides video into foreground and background, by gpv_segment", GST_GPU_VISION_AUTHOR);
    gst_gpu_vision_filter_class_set_name(filter, "gpugraphcut");
    gst_gpu_vision_filter_class_set_outputs(filter, outputs, G_N_ELEMENTS(outputs));
    filter->open = gst_gpu_graphcut_open;
    filter->close = gst_gpu_graphcut_close;
    filter->examine = gst_gpu_graphcut_examine;
    filter->process = gst_gpu_graphcut_process;
    filter->explain = gst_gpu_graphcut_explain;
    filter->write_results = gst_gpu_graphcut_write_results;
    filter->annotate = gst_gpu_graphcut_annotate;
}

static void gst_gpu_graphcut_init(GstGpuGraphcut *self) {
    gpv_segment_params_init(&self->wanted.params, sizeof self->wanted.params);
    gst_gpu_vision_filter_init_fields(GST_GPU_VISION_FILTER(self));
}
