// SPDX-License-Identifier: BSD-2-Clause
#include "errors.hpp"

#include <gst/pbutils/pbutils.h>

#include <cstring>

namespace {

std::string describe(const GError &error, const gchar *debug, const std::string &missing) {
    const std::string text = error.message;
    if (!missing.empty())
        return text + "\n  Missing: " + missing;
    if (g_error_matches(&error, GST_CORE_ERROR, GST_CORE_ERROR_MISSING_PLUGIN))
        return "there is no video in it";
    for (const int code :
         {GST_STREAM_ERROR_TYPE_NOT_FOUND, GST_STREAM_ERROR_WRONG_TYPE, GST_STREAM_ERROR_DECODE})
        if (g_error_matches(&error, GST_STREAM_ERROR, code))
            return text + "\n  Is it a video? gst-discoverer-1.0 (in "
                          "gstreamer1.0-plugins-base-apps) tells what "
                          "GStreamer sees in it.";
    const gchar *detail = debug ? std::strrchr(debug, '\n') : nullptr;
    return detail ? text + "\n  " + (detail + 1) : text;
}

} // namespace

std::string describe_missing(GstMessage *message) {
    const gchar *type = gst_structure_get_string(gst_message_get_structure(message), "type");
    const bool decodes = g_strcmp0(type, "decoder") == 0 || g_strcmp0(type, "element") == 0;
    return std::string(Text(gst_missing_plugin_message_get_description(message)).get()) +
           (decodes ? ". Most video formats are in: apt install gstreamer1.0-libav" : "");
}

std::string describe_error(GstMessage *message, const std::string &missing) {
    GError *taken = nullptr;
    gchar *taken_debug = nullptr;
    gst_message_parse_error(message, &taken, &taken_debug);
    const Error error(taken);
    const Text debug(taken_debug);
    return describe(*error, debug.get(), missing);
}
