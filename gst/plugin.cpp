/* SPDX-License-Identifier: BSD-2-Clause */
#include <gst/gst.h>

#include "gstgpuerode.h"

namespace {

gboolean init(GstPlugin *plugin) {
    return GST_ELEMENT_REGISTER(gpuerode, plugin);
}

} // namespace

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, gpuvision,
                  "Classical vision for live video, on CUDA and the CPU", init, VERSION, "BSD",
                  PACKAGE, "Unknown package origin")
