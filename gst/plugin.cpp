/* SPDX-License-Identifier: BSD-2-Clause */
#include <gst/gst.h>

/* ELEMENTS is the list of the build: ELEMENT(gpuccl) ELEMENT(gpuerode) ... */
#define ELEMENT(name) GST_ELEMENT_REGISTER_DECLARE(name)
ELEMENTS
#undef ELEMENT

namespace {

/* One element that cannot be registered does not take the others with it. */
gboolean init(GstPlugin *plugin) {
    gboolean any = FALSE;
#define ELEMENT(name) any |= GST_ELEMENT_REGISTER(name, plugin);
    ELEMENTS
#undef ELEMENT
    return any;
}

} // namespace

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, gpuvision,
                  "Classical vision for live video, on CUDA and the CPU", init, VERSION, "BSD",
                  PACKAGE, "The gpuvision developers")
