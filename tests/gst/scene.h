/* SPDX-License-Identifier: BSD-2-Clause */
/* A scene with an object to cut out. */
#ifndef TESTS_GST_SCENE_H
#define TESTS_GST_SCENE_H

#include <gst/video/video.h>

static inline guint8 noise(gsize i) {
    return (guint8)(i * 2654435761u >> 13);
}

/*
 * A disc in front of a background, in NV12 or P010; where it is says the number, below 20. By their
 * noise half of the pixels could be of either.
 */
static inline void draw_object(GstVideoFrame *frame, guint number) {
    const gint width = GST_VIDEO_FRAME_WIDTH(frame), height = GST_VIDEO_FRAME_HEIGHT(frame);
    const gboolean wide = GST_VIDEO_FRAME_COMP_DEPTH(frame, 0) > 8;
    const gint radius = height / 5, cx = width * (20 + (gint)number) / 48, cy = height / 2;
    for (gint p = 0; p < 2; p++)
        for (gint y = 0; y < height >> p; y++) {
            guint8 *row = (guint8 *)GST_VIDEO_FRAME_PLANE_DATA(frame, p) +
                          y * GST_VIDEO_FRAME_PLANE_STRIDE(frame, p);
            for (gint x = 0; x < width; x++) {
                const gint dx = x - cx, dy = (y << p) - cy;
                const guint8 minimum = dx * dx + dy * dy < radius * radius ? 112 : 80;
                const guint8 value = minimum + noise((gsize)y * (gsize)width + (gsize)x) % 64;
                if (wide)
                    ((guint16 *)row)[x] = (guint16)(value << 8);
                else
                    row[x] = value;
            }
        }
}

#endif
