/* SPDX-License-Identifier: BSD-2-Clause */
#include <gst/gst.h>

#include "gstgpuccl.h"
#include "gstgpuerode.h"
#include "gstgpugraphcut.h"
#include "gstgpukmeans.h"
#include "gstgpusift.h"

namespace {

/* One element that cannot be registered does not take the others with it. */
gboolean init(GstPlugin *plugin) {
    const gboolean ccl = GST_ELEMENT_REGISTER(gpuccl, plugin);
    const gboolean erode = GST_ELEMENT_REGISTER(gpuerode, plugin);
    const gboolean graphcut = GST_ELEMENT_REGISTER(gpugraphcut, plugin);
    const gboolean kmeans = GST_ELEMENT_REGISTER(gpukmeans, plugin);
    const gboolean sift = GST_ELEMENT_REGISTER(gpusift, plugin);
    return ccl || erode || graphcut || kmeans || sift;
}

} // namespace

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, gpuvision,
                  "Classical vision for live video, on CUDA and the CPU", init, VERSION, "BSD",
                  PACKAGE, "The gpuvision developers")
