// SPDX-License-Identifier: BSD-2-Clause
// What an element has attached to the frames of a clip.
#pragma once

#include "scene.hpp"

#include <string>
#include <vector>

// Frames of a kind, and in how many of them the reference was found.
struct Sightings {
    const char *kind;
    int frames = 0, found = 0;

    void add(bool is_found) {
        ++frames;
        found += is_found;
    }
};

class Findings {
  public:
    explicit Findings(std::string element) : element_(std::move(element)) {}

    // The scene, if there is any, tells where the reference is.
    void keep(GstBuffer *buffer, GstCaps *caps, const Scene *scene);

    // In a few words, or "-".
    std::string summary() const;
    // Lines of a name and what is said of it, with a line break behind each.
    std::string details() const;

  private:
    void keep_sighting(const std::vector<Point> &found, GstClockTime time,
                       const GstVideoInfo &frame, const Scene *scene);
    Sightings &sightings(const std::array<Point, 4> &corners, const GstVideoInfo &frame);
    std::string describe_counts() const;
    std::string describe_colors(size_t maximum) const;
    std::string describe_sightings() const;
    std::string describe_corners() const;

    std::string element_;
    int frame_pixels_ = 0;
    std::vector<int> counts_;          // of what was found in each frame
    std::vector<int> colors_, pixels_; // of clusters in the last frame
    Sightings whole_{"frames with all of it"}, partial_{"with a part"}, absent_{"without it"},
        unknown_{"frames"};
    std::vector<double> errors_; // of corners, in pixels
};
