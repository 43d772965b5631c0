// SPDX-License-Identifier: BSD-2-Clause
// What is done to the frames, as one writes it for gst-launch-1.0.
#pragma once

#include "gstreamer.hpp"

#include <string>

// What an element of gpuvision says of its frames.
struct Stats {
    std::string backend, device;
    double rate = 0; // frames/s of the element alone
};

class Effect {
  public:
    // Such as "videoconvert ! gpuerode radius=3". Throws if there is no element of gpuvision in it.
    explicit Effect(const std::string &description);

    const std::string &description() const { return description_; }
    GstElement *bin() const { return bin_.get(); }
    std::string element() const;   // of gpuvision, by its name
    std::string reference() const; // the picture that gpusift looks for, or ""
    std::string stem() const;      // of the files that show it
    Stats stats() const;

  private:
    std::string description_;
    Element bin_, filter_; // and the element of gpuvision in it
};
