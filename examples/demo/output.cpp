// SPDX-License-Identifier: BSD-2-Clause
#include "output.hpp"

#include "gstreamer.hpp"

#include <glib/gstdio.h>

#include <unistd.h>

#include <cerrno>
#include <stdexcept>

namespace {

// The ways to write a video, best first; the first whose elements are installed is taken.
constexpr struct {
    const char *suffix, *elements, *description;
} files[] = {
    {"mp4", "openh264enc h264parse mp4mux",
     "openh264enc name=openh264 bitrate=8000000 complexity=low ! h264parse ! mp4mux"},
    {"webm", "vp8enc webmmux", "vp8enc deadline=1 cpu-used=8 target-bitrate=8000000 ! webmmux"},
    {"avi", "jpegenc avimux", "jpegenc ! avimux"},
};

// The ways to open a window. autovideosink has more, some of which end the program where they
// find no display.
constexpr struct {
    const char *variable, *element;
} windows[] = {
    {"DISPLAY", "xvimagesink"}, {"DISPLAY", "ximagesink"}, {"WAYLAND_DISPLAY", "waylandsink"}};

std::string value_of(const char *variable) {
    const char *value = g_getenv(variable);
    return value ? value : "";
}

bool opens(const char *name) {
    GstElement *made = gst_element_factory_make(name, nullptr);
    const Element sink(made ? GST_ELEMENT(gst_object_ref_sink(made)) : nullptr);
    const bool ready =
        sink && gst_element_set_state(sink.get(), GST_STATE_READY) != GST_STATE_CHANGE_FAILURE;
    if (sink)
        gst_element_set_state(sink.get(), GST_STATE_NULL);
    return ready;
}

} // namespace

Output file_output() {
    for (const auto &file : files)
        if (installed(file.elements))
            return {file.suffix,
                    std::string(file.description) + " ! filesink name=file async=false"};
    throw std::runtime_error("no video encoder found; install gstreamer1.0-plugins-bad "
                             "(openh264enc) or gstreamer1.0-plugins-good (vp8enc)");
}

Output window_output() {
    if (!has_display())
        throw std::runtime_error("--window: there is no display, for neither DISPLAY nor "
                                 "WAYLAND_DISPLAY is set; without --window files are written");
    // The frames come at their time, and one that is late is shown all the same.
    for (const auto &window : windows)
        if (!value_of(window.variable).empty() && opens(window.element))
            return {"",
                    "videoconvert ! " + std::string(window.element) + " name=window sync=false"};
    throw std::runtime_error(
        "--window: no window can be opened on the display, DISPLAY=" + value_of("DISPLAY") +
        " WAYLAND_DISPLAY=" + value_of("WAYLAND_DISPLAY") + "; is gstreamer1.0-x installed?");
}

Folder::Folder(const std::string &path) {
    make(path);
}

Folder::~Folder() {
    for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder)
        rmdir(folder->c_str());
}

void Folder::make(const std::string &path) {
    if (g_file_test(path.c_str(), G_FILE_TEST_IS_DIR))
        return;
    make(Text(g_path_get_dirname(path.c_str())).get());
    if (g_mkdir(path.c_str(), 0755) != 0)
        throw std::runtime_error("the folder " + path + " cannot be made: " + g_strerror(errno));
    made_.push_back(path);
}

bool has_display() {
    return !value_of("DISPLAY").empty() || !value_of("WAYLAND_DISPLAY").empty();
}
