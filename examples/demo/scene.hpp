// SPDX-License-Identifier: BSD-2-Clause
// A picture on a ground of stone, along the path of a camera that also looks elsewhere.
#pragma once

#include "gstreamer.hpp"

#include <array>
#include <complex>
#include <string>

using Point = std::complex<double>;

class Scene {
  public:
    static constexpr const char *ground =
        "videotestsrc pattern=snow num-buffers=1 ! video/x-raw,format=I420,width=48,height=36 ! "
        "videobalance contrast=0.4 brightness=0.25 ! videoscale ! "
        "video/x-raw,width=480,height=360 ! imagefreeze num-buffers=90 ! "
        "video/x-raw,framerate=30/1";

    explicit Scene(const std::string &path);
    ~Scene();
    Scene(const Scene &) = delete;
    Scene &operator=(const Scene &) = delete;

    // Into a frame of RGBx.
    void draw(GstVideoFrame &frame, GstClockTime time) const;

    // Where they are in a frame: of the outermost pixels, clockwise from the top left.
    std::array<Point, 4> corners(GstClockTime time, const GstVideoInfo &frame) const;

  private:
    int width() const { return picture_.info.width; }
    int height() const { return picture_.info.height; }
    void sample(Point at, guint8 *to) const;

    Sample sample_;
    GstVideoFrame picture_;
};
