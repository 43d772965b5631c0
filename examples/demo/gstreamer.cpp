// SPDX-License-Identifier: BSD-2-Clause
#include "gstreamer.hpp"

#include <algorithm>

bool installed(const std::string &elements) {
    Owned<gchar *, g_strfreev> names(g_strsplit(elements.c_str(), " ", 0));
    return std::all_of(names.get(), names.get() + g_strv_length(names.get()),
                       [](const gchar *name) {
                           GstElementFactory *factory = gst_element_factory_find(name);
                           if (factory)
                               gst_object_unref(factory);
                           return factory != nullptr;
                       });
}

Text absolute(const std::string &path) {
    return Text(g_canonicalize_filename(path.c_str(), nullptr));
}
