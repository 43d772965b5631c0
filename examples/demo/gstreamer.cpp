// SPDX-License-Identifier: BSD-2-Clause
#include "gstreamer.hpp"

#include <sys/stat.h>

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

bool is_same_file(const std::string &a, const std::string &b) {
    struct stat of_a, of_b;
    return stat(a.c_str(), &of_a) == 0 && stat(b.c_str(), &of_b) == 0 &&
           of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

Text absolute(const std::string &path) {
    return Text(g_canonicalize_filename(path.c_str(), nullptr));
}
