// SPDX-License-Identifier: BSD-2-Clause
// A picture of four moments of a video that is made of tiles.
#pragma once

#include "gstreamer.hpp"
#include "mosaic.hpp"

#include <string>
#include <vector>

// Keeps thumbnails of moments spread evenly over a clip whose length need not be known: every
// step-th frame, and when there are too many, every second of them at twice the step.
class ContactSheet {
  public:
    explicit ContactSheet(Mosaic mosaic) : mosaic_(mosaic) {}

    void offer(GstBuffer *buffer, GstCaps *caps);

    // As a PNG: of two tiles, before above after, the moments from left to right; of more, from
    // top to bottom.
    void write(const std::string &path) const;

  private:
    std::vector<guint8> thumbnail(GstBuffer *buffer, GstCaps *caps);
    void copy_tile(int moment, int tile, GstVideoFrame &sheet, int column, int row) const;
    int tile_width() const { return GST_VIDEO_INFO_WIDTH(&info_) / mosaic_.columns(); }
    int tile_height() const { return GST_VIDEO_INFO_HEIGHT(&info_) / mosaic_.rows(); }

    Mosaic mosaic_;
    GstVideoInfo info_{}; // of a thumbnail
    std::vector<std::vector<guint8>> moments_;
    guint64 count_ = 0, step_ = 1;
};
