/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <gst/gst.h>

#include "gstgpuvisionfilter.h"

G_BEGIN_DECLS

#define GST_TYPE_GPU_ERODE (gst_gpu_erode_get_type())
G_DECLARE_FINAL_TYPE(GstGpuErode, gst_gpu_erode, GST, GPU_ERODE, GstGpuVisionFilter)

GST_ELEMENT_REGISTER_DECLARE(gpuerode)

G_END_DECLS
