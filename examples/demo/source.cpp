// SPDX-License-Identifier: BSD-2-Clause
#include "source.hpp"

#include <stdexcept>

namespace {

constexpr const char *camera_class = "Video/Source";

std::string joined(gchar **words) {
    return words && words[0] ? Text(g_strjoinv(", ", words)).get() : "none";
}

// The first camera that a device provider of GStreamer knows.
GstDevice *find_camera() {
    const Owned<GstDeviceMonitor, gst_object_unref> monitor(gst_device_monitor_new());
    gst_device_monitor_add_filter(monitor.get(), camera_class, nullptr);
    const Owned<gchar *, g_strfreev> providers(gst_device_monitor_get_providers(monitor.get()));
    GList *cameras = nullptr;
    if (gst_device_monitor_start(monitor.get())) {
        cameras = gst_device_monitor_get_devices(monitor.get());
        gst_device_monitor_stop(monitor.get());
    }
    if (!cameras)
        throw std::runtime_error(
            "no camera was found. Looked for: a device of the class " + std::string(camera_class) +
            ", with GStreamer's " + joined(providers.get()) +
            ".\n  If there is one: may you open /dev/video0? (The group is mostly 'video'.)"
            "\n  Else name a file, a URI such as rtsp://..., or nothing for a clip.");
    GstDevice *first = GST_DEVICE(gst_object_ref(cameras->data));
    g_list_free_full(cameras, gst_object_unref);
    return first;
}

std::string uri_of(const std::string &input) {
    if (const Text path(g_filename_from_uri(input.c_str(), nullptr, nullptr)); path)
        return uri_of(path.get());
    if (gst_uri_is_valid(input.c_str()))
        return input;
    if (g_file_test(input.c_str(), G_FILE_TEST_IS_DIR))
        throw std::runtime_error(input + " is a folder");
    if (!g_file_test(input.c_str(), G_FILE_TEST_IS_REGULAR))
        throw std::runtime_error("there is no file " + input);
    return Text(gst_filename_to_uri(input.c_str(), nullptr)).get();
}

} // namespace

Source::Source(const Clip &clip) : input_(clip.input), name_(clip.input) {
    if (input_.empty()) {
        name_ = "generated (videotestsrc): no real clip was given";
    } else if (input_ == "camera") {
        camera_.reset(find_camera());
        name_ = Text(gst_device_get_display_name(camera_.get())).get();
    } else if (input_.rfind("/dev/video", 0) == 0) {
        device_ = true;
    } else {
        uri_ = uri_of(input_);
    }
}

std::string Source::path() const {
    const Text path(g_filename_from_uri(uri_.c_str(), nullptr, nullptr));
    return path ? path.get() : "";
}

std::string Source::description() const {
    if (camera_)
        return "decodebin name=source";
    if (device_)
        return "v4l2src name=source ! decodebin";
    if (!uri_.empty())
        return "uridecodebin name=source expose-all-streams=false caps=video/x-raw(ANY)";
    return "videotestsrc pattern=ball motion=sweep num-buffers=250 ! "
           "video/x-raw,width=640,height=480,framerate=25/1";
}

void Source::connect(GstElement *pipeline) const {
    const Element source(gst_bin_get_by_name(GST_BIN(pipeline), "source"));
    if (device_)
        g_object_set(source.get(), "device", input_.c_str(), nullptr);
    if (!uri_.empty())
        g_object_set(source.get(), "uri", uri_.c_str(), nullptr);
    if (!camera_)
        return;
    GstElement *camera = gst_device_create_element(camera_.get(), nullptr);
    if (!camera)
        throw std::runtime_error("the camera " + name_ + " cannot be opened");
    gst_bin_add(GST_BIN(pipeline), camera);
    gst_element_link(camera, source.get());
}
