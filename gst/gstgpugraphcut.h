/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <gst/gst.h>

#include "gstgpuvisionfilter.h"

G_BEGIN_DECLS

#define GST_TYPE_GPU_GRAPHCUT (gst_gpu_graphcut_get_type())
G_DECLARE_FINAL_TYPE(GstGpuGraphcut, gst_gpu_graphcut, GST, GPU_GRAPHCUT, GstGpuVisionFilter)

GST_ELEMENT_REGISTER_DECLARE(gpugraphcut)

G_END_DECLS
