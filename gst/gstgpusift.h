/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <gst/gst.h>

#include "gstgpuvisionfilter.h"

G_BEGIN_DECLS

#define GST_TYPE_GPU_SIFT (gst_gpu_sift_get_type())
G_DECLARE_FINAL_TYPE(GstGpuSift, gst_gpu_sift, GST, GPU_SIFT, GstGpuVisionFilter)

GST_ELEMENT_REGISTER_DECLARE(gpusift)

G_END_DECLS
