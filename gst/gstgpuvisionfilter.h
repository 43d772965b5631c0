/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <gpuvision/context.h>
#include <gpuvision/fields.h>
#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include "gstgpuvisionanalytics.h"

G_BEGIN_DECLS

/* Where the pixels of the output frame come from. */
typedef enum {
    GST_GPU_VISION_PIXELS_NEW,  /* all pixels are written, to another buffer */
    GST_GPU_VISION_PIXELS_KEPT, /* the input frame, with its pixels unchanged */
    GST_GPU_VISION_PIXELS_DRAWN /* the input frame; process() draws into it, or into a copy if it
                                   is not writable */
} GstGpuVisionPixels;

/* One kind of output. */
typedef struct {
    GstVideoFormat system, cuda; /* output format by memory; UNKNOWN: as the input */
    GstGpuVisionPixels pixels;
} GstGpuVisionOutput;

/* Arguments of process() for one frame, or for a region of one, which to it is a frame. */
typedef struct {
    gpv_stream stream;
    const gpv_image *src;
    const gpv_image
        *dst; /* NULL where pixels are kept; where it is drawn, has those of src, or is src */
    const gpv_image *mask; /* NULL unless wanted: receives the number of each pixel's region, in
                              GRAY8, in CUDAMemory NV12 */
    guint output;          /* index of the output */
    gboolean results;      /* whether write_results() will be called */
    gboolean meta;         /* whether annotate() will be called */
} GstGpuVisionJob;

/* What process() has come to. */
typedef struct {
    gpv_status status;
    gboolean finished; /* all work that it enqueued has, so that nobody has to wait again; it does
                          not count after a failure */
} GstGpuVisionOutcome;

/*
 * Base of the elements: caps, allocation, mapping of frames, backend, errors,
 * results and statistics. A subclass owns one library object, made in open()
 * and destroyed in close(), which are also called between two frames: where
 * the CUDA context changes.
 */
#define GST_TYPE_GPU_VISION_FILTER (gst_gpu_vision_filter_get_type())
G_DECLARE_DERIVABLE_TYPE(GstGpuVisionFilter, gst_gpu_vision_filter, GST, GPU_VISION_FILTER,
                         GstBaseTransform)

struct _GstGpuVisionFilterClass {
    GstBaseTransformClass parent_class;

    /* Creates the library object. context outlives it. */
    gpv_status (*open)(GstGpuVisionFilter *self, gpv_context *context);
    /* Also called where open() has failed. */
    void (*close)(GstGpuVisionFilter *self);

    /*
     * Drops what was learned of the frames before. Called between two frames. NULL where nothing is
     * carried from one frame to the next.
     */
    void (*forget)(GstGpuVisionFilter *self);

    /*
     * Looks at the frame that came, such as at its metadata, before process(). Posts what is wrong,
     * and then returns FALSE. May be NULL.
     */
    gboolean (*examine)(GstGpuVisionFilter *self, GstBuffer *buffer, const GstVideoInfo *info);

    /* Runs on one frame. Controlled properties have the values of the frame's time. */
    GstGpuVisionOutcome (*process)(GstGpuVisionFilter *self, const GstGpuVisionJob *job);

    /* Explains a failure of process() and what helps, or returns NULL. May be NULL. */
    const gchar *(*explain)(GstGpuVisionFilter *self, gpv_status status);

    /* Writes what process() found. Called after process() where the results are wanted. */
    void (*write_results)(GstGpuVisionFilter *self, GstStructure *results);

    /*
     * Adds what messages do not carry to the results that go into the metadata, and fills in the
     * notes, which are empty. May be NULL.
     */
    void (*annotate)(GstGpuVisionFilter *self, GstStructure *results, GstGpuVisionNotes *notes);

    const gchar *name; /* name of the results */
    const GstGpuVisionOutput *outputs;
    guint n_outputs;
    guint mask_output;         /* the index of the output that is the mask itself */
    guint n_properties;        /* installed so far */
    gboolean takes_interlaced; /* no pixel depends on its neighbours; FALSE unless set */
};

/* In class_init: the name of the element, and of its results as metadata and as a message. */
void gst_gpu_vision_filter_class_set_name(GstGpuVisionFilterClass *klass, const gchar *name);

/* In class_init: what comes out, by the index of the output. Without it, an image like the frame.
 */
void gst_gpu_vision_filter_class_set_outputs(GstGpuVisionFilterClass *klass,
                                             const GstGpuVisionOutput *outputs, guint n_outputs);

/* The value of a property that is text, which a preset may bring. Transfer full. */
gchar *gst_gpu_vision_filter_dup_text(GstGpuVisionFilter *self, const GValue *value);

/*
 * In class_init of an element that learns from its frames: forget() is called where a stream
 * starts, after a flushing seek, and for the action signal "reset"; with the property keep-state
 * only for the signal.
 */
void gst_gpu_vision_filter_class_set_forget(GstGpuVisionFilterClass *klass,
                                            void (*forget)(GstGpuVisionFilter *self));

/* In class_init of an element that knows regions: the property attach-mask, and the mask of a job.
 */
void gst_gpu_vision_filter_class_set_mask(GstGpuVisionFilterClass *klass, guint mask_output);

/* In class_init of an element whose results are worth repeating: the property interval. */
void gst_gpu_vision_filter_class_install_interval(GstGpuVisionFilterClass *klass);

/* In class_init of an element that can do with a part of a frame alone: the property roi. */
void gst_gpu_vision_filter_class_install_roi(GstGpuVisionFilterClass *klass);

/*
 * The regions that others have marked in a frame, of the type that roi-type says, as far as they
 * lie in it. They are there until this is called again.
 */
const std::vector<GstGpuVisionRegion> *gst_gpu_vision_filter_find_regions(GstGpuVisionFilter *self,
                                                                          GstBuffer *buffer,
                                                                          const GstVideoInfo *info);

/*
 * A setting cannot be used. Before the first frame that is an error, and FALSE; later a warning,
 * and the frames go on with what is in force. Takes the text.
 */
gboolean gst_gpu_vision_filter_refuse(GstGpuVisionFilter *self, GQuark domain, gint code,
                                      gchar *text, gchar *debug);

/*
 * The output that is wanted: at first 0. Any thread may change it, holding no lock. Where the
 * neighbours cannot take it while the stream flows, a warning says so, and the old one stays in
 * force.
 */
void gst_gpu_vision_filter_set_output(GstGpuVisionFilter *self, guint output);
guint gst_gpu_vision_filter_get_output(GstGpuVisionFilter *self);

/* Of the elements, and of their plugin. */
#define GST_GPU_VISION_AUTHOR "The gpuvision developers <gpuvision@users.noreply.invalid>"

/* Flags of a property that may change with every frame. */
inline constexpr auto GST_GPU_VISION_PARAM_LIVE =
    static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_CONTROLLABLE |
                             GST_PARAM_MUTABLE_PLAYING);

/* In class_init: such a property, which the element itself sets and gets. */
void gst_gpu_vision_filter_class_install_string(GstGpuVisionFilterClass *klass, const gchar *name,
                                                const gchar *nick, const gchar *blurb);

/*
 * In class_init: a live property for each field of gpv_<stem>_params, of which the element has size
 * bytes at offset: what a newer library has beyond them is none. adapt() may change what the
 * property has otherwise than the field; where it returns FALSE there is none. It may be NULL.
 */
void gst_gpu_vision_filter_class_install_params(GstGpuVisionFilterClass *klass, const gchar *stem,
                                                goffset offset, gsize size,
                                                gboolean (*adapt)(gpv_field *field));
/* The same for what only the element has, in a struct at offset. */
void gst_gpu_vision_filter_class_install_fields(GstGpuVisionFilterClass *klass, goffset offset,
                                                const gpv_field *fields, guint n_fields);
/* The same for a choice of one of the outputs. */
void gst_gpu_vision_filter_class_install_output(GstGpuVisionFilterClass *klass,
                                                const gpv_field *field);

/* In init: writes the defaults of all these. */
void gst_gpu_vision_filter_init_fields(GstGpuVisionFilter *self);
/* FALSE where the property is none of these. Where all are, the element needs no such function. */
gboolean gst_gpu_vision_filter_set_field(GstGpuVisionFilter *self, const GValue *value,
                                         GParamSpec *spec);
gboolean gst_gpu_vision_filter_get_field(GstGpuVisionFilter *self, GValue *value, GParamSpec *spec);

/* The member of a struct that is a field of the element's own. */
#define GST_GPU_VISION_BOOL(parent, member, initial_, text_)                                       \
    {                                                                                              \
        .kind = GPV_FIELD_KIND_BOOL, .offset = G_STRUCT_OFFSET(parent, member), .high = 1,         \
        .initial = (initial_), .name = #member, .unit = "", .text = (text_)                        \
    }
#define GST_GPU_VISION_NUMBER(parent, member, kind_, low_, high_, initial_, unit_, text_)          \
    {                                                                                              \
        .kind = (kind_), .offset = G_STRUCT_OFFSET(parent, member), .low = (low_),                 \
        .high = (high_), .initial = (initial_), .name = #member, .unit = (unit_), .text = (text_)  \
    }
#define GST_GPU_VISION_CHOICE(name_, offset_, choices_, text_)                                     \
    {                                                                                              \
        .kind = GPV_FIELD_KIND_CHOICE, .offset = (offset_),                                        \
        .choice_count = G_N_ELEMENTS(choices_), .initial = gdouble((choices_)[0].value),           \
        .name = (name_), .unit = "", .text = (text_), .choices = (choices_)                        \
    }

/*
 * The field threshold_range at an offset, of an element with a threshold. What a threshold is in
 * the values that the pixels of a frame hold; -1 stays.
 */
typedef enum { GST_GPU_VISION_RANGE_STORED, GST_GPU_VISION_RANGE_FULL } GstGpuVisionRange;
gpv_field gst_gpu_vision_threshold_range(gsize offset);
gint gst_gpu_vision_stored_threshold(gint threshold, GstGpuVisionRange range, const gpv_image *src);

G_END_DECLS
