/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_GST_RATE_LIBRARY_H
#define TESTS_GST_RATE_LIBRARY_H

#include <gst/gst.h>
#include <gst/video/video.h>

/*
 * Microseconds a frame that the library alone takes, on a GPU, for what elements do: their
 * operations, with the same parameters, on the same frames, NV12, in device memory. The host does
 * not wait for each, and results stay on the device. Of the properties in the description it
 * knows clusters, output=none and rect. Some of them are added to us; NULL, or why it fails.
 */
gchar *library_us(const gchar *description, const GstVideoInfo *info, GstBuffer **frames, guint n,
                  gdouble seconds, GArray *us);

/* How many CUDA devices there are. */
guint count_cuda_devices(void);

#endif
