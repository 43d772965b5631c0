/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <gpuvision/types.h>
#include <gst/gst.h>

#include "gstgpuvisionfilter.h"

G_BEGIN_DECLS

/* The luma of a picture in a file, without gaps between the rows. All 0: there is none. */
typedef struct {
    guint8 *pixels;
    gint width, height;
} GstGpuVisionPicture;

/*
 * Decodes a file that a property of the element names, with a pipeline of its own, scaled to that
 * size, or, where width is 0, as large as it is. Where it cannot, there is no picture, and the
 * setting is refused: FALSE after an error.
 */
gboolean gst_gpu_vision_picture_read(GstGpuVisionFilter *filter, const gchar *property,
                                     const gchar *path, gint width, gint height,
                                     GstGpuVisionPicture *picture);

/* Its nearest pixels. The picture stays. */
GstGpuVisionPicture gst_gpu_vision_picture_scaled(const GstGpuVisionPicture *picture, gint width,
                                                  gint height);

void gst_gpu_vision_picture_clear(GstGpuVisionPicture *picture);

/* The picture has to outlive the view. */
gpv_image gst_gpu_vision_picture_view(const GstGpuVisionPicture *picture);

G_END_DECLS
