// SPDX-License-Identifier: BSD-2-Clause
// Objects of GStreamer and GLib that free themselves, and what is asked of it in several places.
#pragma once

#include <gst/video/video.h>

#include <memory>
#include <string>

template <auto Free>
struct Deleter {
    template <typename T>
    void operator()(T *object) const {
        Free(object);
    }
};
template <typename T, auto Free>
using Owned = std::unique_ptr<T, Deleter<Free>>;
// gst_sample_unref() and the like are another function in each source file.
inline void unref_mini_object(gpointer object) {
    gst_mini_object_unref(static_cast<GstMiniObject *>(object));
}
using Element = Owned<GstElement, gst_object_unref>;
using Pad = Owned<GstPad, gst_object_unref>;
using Bus = Owned<GstBus, gst_object_unref>;
using Caps = Owned<GstCaps, unref_mini_object>;
using Buffer = Owned<GstBuffer, unref_mini_object>;
using Sample = Owned<GstSample, unref_mini_object>;
using Message = Owned<GstMessage, unref_mini_object>;
using Text = Owned<gchar, g_free>;
using Error = Owned<GError, g_error_free>;

// Whether all of these elements are, by their names with a space between.
bool installed(const std::string &elements);

bool is_same_file(const std::string &a, const std::string &b);

Text absolute(const std::string &path);
