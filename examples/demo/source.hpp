// SPDX-License-Identifier: BSD-2-Clause
// Where the frames come from.
#pragma once

#include "gstreamer.hpp"

#include <string>

struct Clip {
    std::string input; // a file, a URI, /dev/videoN, "camera", or "" for a generated clip
    std::string credit;
};

class Source {
  public:
    // Throws if the file or the camera is not there.
    explicit Source(const Clip &clip);

    bool is_camera() const { return camera_ || device_; }
    // What to print of it.
    const std::string &name() const { return name_; }

    std::string path() const; // of the file that it is, or ""

    // For gst_parse_launch(). In the pipeline that it has made, connect() says the rest.
    std::string description() const;
    void connect(GstElement *pipeline) const;

  private:
    std::string input_, name_;
    std::string uri_;     // where it is one, or a file
    bool device_ = false; // /dev/videoN
    Owned<GstDevice, gst_object_unref> camera_;
};
