/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations that the files of the base class share. */
#pragma once

#include "gstgpuvisionanalytics.h"
#include "gstgpuvisioncuda.h"
#include "gstgpuvisionfilter.h"

GST_DEBUG_CATEGORY_EXTERN(gpuvision_debug);
#define GST_CAT_DEFAULT gpuvision_debug

/* Times of the library, for the stats property. */
struct GstGpuVisionTimes {
    guint64 frames;
    guint64 uploads;      /* frames taken to a CUDA device */
    guint64 downloads;    /* images taken back */
    gdouble last, sum;    /* us */
    gdouble longest;      /* us, since the latency was last looked at */
    gdouble recent[1024]; /* us, a ring */
};

typedef enum { GST_GPU_VISION_ROI_FRAME, GST_GPU_VISION_ROI_META } GstGpuVisionRoi;

/* What is wanted of a frame. */
struct GstGpuVisionWishes {
    bool post, attach, mask;
    bool regions; /* each by itself, and nothing else */
    gint interval;
};

/* What process() is called for. */
struct GstGpuVisionPart {
    GstGpuVisionRegion region;
    GstGpuVisionNotes notes;
    gsize layer;     /* of regions that are apart, which share a buffer for masks */
    GstBuffer *mask; /* NULL: none is wanted */
};

/* The last frame that was processed, and what those are like that interval lets pass after it. */
struct GstGpuVisionLast {
    std::vector<GstGpuVisionRegion> regions;
    std::vector<GstGpuVisionPart> parts;
    GstGpuVisionWishes wishes;
    guint output;
    gint regions_before; /* how many the frame before had; -1: it was processed as a whole */
    gint age;            /* frames since */
    bool kept;           /* what follows is valid */
    GstBuffer *picture;  /* NULL where pixels are kept */
    GstStructure *attached, *posted;
};

struct GstGpuVisionFilterPrivate {
    /* Properties and stats, under the object lock. */
    gint backend;
    gint device;
    gboolean post_messages;
    gboolean attach_meta;
    gboolean attach_mask;
    gboolean keep_state;
    gint interval; /* 0: there is no such property */
    GstGpuVisionRoi roi;
    GQuark roi_type; /* 0: all */
    guint wanted_output;
    guint output_in_force; /* the wanted one, unless the neighbours cannot take it */
    guint output_changes;
    gpv_backend running;     /* AUTO: not started yet */
    gboolean no_cuda_memory; /* started without it */
    gchar *device_name;
    GstGpuVisionTimes times;
    GstClockTime latency; /* as reported to the pipeline */
    GstCaps *refused;     /* caps whose refusal has been explained */

    gint forget;            /* atomic: before the next frame */
    gint loading_preset;    /* atomic: so many threads are */
    GstGpuVisionCuda *cuda; /* open while CUDAMemory can be taken */
    gpv_context *context;
    gchar *log_error; /* last error line of the library */
    GstVideoInfo in_info, out_info;
    bool cuda_frames;  /* whether input caps have CUDAMemory */
    guint output;      /* output of the current frame */
    bool crops_behind; /* whether what is behind takes crops */
    GstGpuVisionLast *last;
    GstGpuVisionWishes wishes; /* of the current frame */
    bool passes;               /* it goes on as it came */
    bool repeats;              /* it gets what the last one got */
    bool copies; /* its pixels are copied to a buffer of our own, to be kept or drawn into */
    bool interlaced_said; /* that interlaced frames pass */
    bool mask_refused;    /* there is none in this version */
    GstBufferPool *masks; /* of frames of these caps, since the first one that was wanted */
    GstVideoInfo mask_info;
    GstBuffer
        *blank; /* an output of these caps without anything, since the first that was needed */
};

#define GPU_VISION_SIZES                                                                           \
    "width = (int) [ 1, 32767 ], height = (int) [ 1, 32767 ], "                                    \
    "framerate = (fraction) [ 0, max ]"

namespace gpu_vision_filter {

GstGpuVisionFilterPrivate *private_of(gpointer self);
GstBaseTransformClass *base_class();

extern const GEnumValue backends[];

/* Once for each name. */
GType register_enum(const gchar *name, const GEnumValue *values);

/* ---- errors and backend, in gstgpuvisionfilter_backend.cpp ---- */

struct ErrorKind {
    GQuark domain;
    gint code;
    const gchar *text;
};

/* As a default argument: the location of the call. Clang 14 has no std::source_location. */
struct Location {
    const char *file = __builtin_FILE();
    const char *function = __builtin_FUNCTION();
    int line = __builtin_LINE();
};

ErrorKind error_kind(gpv_status status);
void post_error(GstGpuVisionFilter *self, const ErrorKind &kind, gchar *debug,
                const Location &from = {});
void post_library_error(GstGpuVisionFilter *self, gpv_status status, const Location &from = {});
bool open_library(GstGpuVisionFilter *self, const Location &from = {});
void close_library(GstGpuVisionFilter *self);
gint wanted_device(GstGpuVisionFilter *self);
bool offers_cuda_memory(GstGpuVisionFilter *self);
gboolean gst_gpu_vision_filter_start(GstBaseTransform *trans);
gboolean gst_gpu_vision_filter_stop(GstBaseTransform *trans);
void gst_gpu_vision_filter_set_context(GstElement *element, GstContext *context);

/* ---- outputs and caps, in gstgpuvisionfilter_caps.cpp ---- */

const GstGpuVisionOutput &output_at(GstGpuVisionFilter *self, guint index);
const GstGpuVisionOutput &output_in_force(GstGpuVisionFilter *self);
void choose_output(GstGpuVisionFilter *self, bool explains);
GstVideoFormat format_of(const GstGpuVisionOutput &output, bool cuda);
guint output_of_caps(GstGpuVisionFilter *self);
GstCaps *caps_of_format(GstVideoFormat format, bool cuda);
bool is_cuda_memory(const GstCapsFeatures *features);
bool is_cuda_memory(const GstCaps *caps);
bool takes(GstGpuVisionFilter *self, GstPad *pad, GstCaps *caps);
gboolean gst_gpu_vision_filter_query(GstBaseTransform *trans, GstPadDirection direction,
                                     GstQuery *query);
GstCaps *gst_gpu_vision_filter_transform_caps(GstBaseTransform *trans, GstPadDirection direction,
                                              GstCaps *caps, GstCaps *filter);
gboolean gst_gpu_vision_filter_accept_caps(GstBaseTransform *trans, GstPadDirection direction,
                                           GstCaps *caps);
gboolean gst_gpu_vision_filter_set_caps(GstBaseTransform *trans, GstCaps *in, GstCaps *out);

/* ---- pools, in gstgpuvisionfilter_allocation.cpp ---- */

gboolean gst_gpu_vision_filter_propose_allocation(GstBaseTransform *trans, GstQuery *decide,
                                                  GstQuery *query);
gboolean gst_gpu_vision_filter_decide_allocation(GstBaseTransform *trans, GstQuery *query);
/* Returns NULL where there is no memory for it, and has said so. */
GstBuffer *acquire_mask(GstGpuVisionFilter *self);
/* What the library has written is GRAY8 to everybody else. */
void finish_mask(GstBuffer *mask);
/* What of a finished mask lies there, without a copy. */
GstBuffer *part_of_mask(GstBuffer *mask, const GstGpuVisionBox &place);
/* Makes priv->blank. False where there is no memory for it, and has said so. */
bool have_blank(GstGpuVisionFilter *self);
/* Of these caps. */
void drop_masks(GstGpuVisionFilter *self);

/* ---- time, in gstgpuvisionfilter_time.cpp ---- */

GstStructure *make_stats(const GstGpuVisionFilterPrivate &priv);
void record_time(GstGpuVisionFilter *self, gdouble us);
void add_latency(GstGpuVisionFilter *self, GstQuery *query);
bool has_processed(GstGpuVisionFilter *self);

/* ---- results, in gstgpuvisionfilter_results.cpp ---- */

/* Sources of raw bytes open a segment in bytes, in which a time means nothing. */
template <auto Convert>
GstClockTime time_in(const GstSegment &segment, GstClockTime time) {
    return segment.format == GST_FORMAT_TIME ? Convert(&segment, GST_FORMAT_TIME, time)
                                             : GST_CLOCK_TIME_NONE;
}

/* What process() is to be called for. */
void find_parts(GstGpuVisionFilter *self, GstBuffer *in);

/* Where the results of a frame go; NULL: nowhere. The frame owns what is attached. */
struct GstGpuVisionResults {
    GstStructure *attached, *posted;
};

GstGpuVisionResults new_results(GstGpuVisionFilter *self, GstBuffer *out);
/* Of a part that process() has just come back from. */
void write_results(GstGpuVisionFilter *self, GstGpuVisionPart &part,
                   const GstGpuVisionResults &results);
/* Takes what is to be posted. What is attached is on the frame already, but for the notes. */
void publish(GstGpuVisionFilter *self, GstBuffer *out, GstStructure *posted);

/* For the frames that follow. The picture comes later, as somebody else's cannot be written to. */
void keep(GstGpuVisionFilter *self, const GstGpuVisionResults &results);
/* There is no last frame any more. */
void drop_last(GstGpuVisionFilter *self);
/* Whether a frame gets what the last one got. */
bool repeats_last(GstGpuVisionFilter *self);
/* The pixels of the last output, with all else of this frame. The buffer that they came in goes
   back to its pool when nobody has them any more. */
GstBuffer *picture_again(GstGpuVisionFilter *self, GstBuffer *in);
void repeat_results(GstGpuVisionFilter *self, const GstGpuVisionResults &results);

/* ---- frames, in gstgpuvisionfilter_frame.cpp ---- */

void gst_gpu_vision_filter_before_transform(GstBaseTransform *trans, GstBuffer *buffer);
GstFlowReturn gst_gpu_vision_filter_prepare_output_buffer(GstBaseTransform *trans, GstBuffer *in,
                                                          GstBuffer **out);
GstFlowReturn gst_gpu_vision_filter_transform(GstBaseTransform *trans, GstBuffer *in,
                                              GstBuffer *out);
gboolean gst_gpu_vision_filter_transform_meta(GstBaseTransform *, GstBuffer *, GstMeta *meta,
                                              GstBuffer *);

} // namespace gpu_vision_filter
