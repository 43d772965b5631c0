/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <gpuvision/context.h>
#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>

G_BEGIN_DECLS

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

    /* Runs on one frame, on stream. Controlled properties have the values of the frame's time. */
    gpv_status (*process)(GstGpuVisionFilter *self, gpv_stream stream, const gpv_image *src,
                          const gpv_image *dst);

    /*
     * What process() found, named after the element, whose name has been given
     * to gst_gpu_vision_meta_register(). Called after process() where the
     * results are wanted. Transfer full, never NULL.
     */
    GstStructure *(*results)(GstGpuVisionFilter *self);
};

/* Flags of a property that may change with every frame. */
inline constexpr auto GST_GPU_VISION_PARAM_LIVE =
    static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_CONTROLLABLE |
                             GST_PARAM_MUTABLE_PLAYING);

/* Registers an enum type of the plugin, once. */
GType gst_gpu_vision_enum_register(const gchar *name, const GEnumValue *values);

G_END_DECLS
