/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <gst/gst.h>

#include "gstgpuvisionfilter.h"

G_BEGIN_DECLS

#define GST_TYPE_GPU_KMEANS (gst_gpu_kmeans_get_type())
G_DECLARE_FINAL_TYPE(GstGpuKmeans, gst_gpu_kmeans, GST, GPU_KMEANS, GstGpuVisionFilter)

GST_ELEMENT_REGISTER_DECLARE(gpukmeans)

G_END_DECLS
