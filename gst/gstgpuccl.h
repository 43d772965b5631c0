/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <gst/gst.h>

#include "gstgpuvisionfilter.h"

G_BEGIN_DECLS

#define GST_TYPE_GPU_CCL (gst_gpu_ccl_get_type())
G_DECLARE_FINAL_TYPE(GstGpuCcl, gst_gpu_ccl, GST, GPU_CCL, GstGpuVisionFilter)

GST_ELEMENT_REGISTER_DECLARE(gpuccl)

G_END_DECLS
