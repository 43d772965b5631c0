// SPDX-License-Identifier: BSD-2-Clause
#include "scene.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace {

constexpr double length = 3.0 * GST_SECOND; // of the ground

// A decoded picture, in RGBx. The default method of scaling would shrink it a little: it puts the
// outermost pixels of the result on those of the picture.
Sample read_picture(const std::string &path) {
    Element pipeline(gst_parse_launch(
        "uridecodebin name=source expose-all-streams=false caps=video/x-raw(ANY) ! "
        "videoconvertscale method=lanczos ! "
        "video/x-raw,format=RGBx,height=240,pixel-aspect-ratio=1/1 ! fakesink name=sink",
        nullptr));
    Element source(gst_bin_get_by_name(GST_BIN(pipeline.get()), "source"));
    Element sink(gst_bin_get_by_name(GST_BIN(pipeline.get()), "sink"));
    Text file(g_canonicalize_filename(path.c_str(), nullptr));
    Text uri(gst_filename_to_uri(file.get(), nullptr));
    g_object_set(source.get(), "uri", uri.get(), nullptr);
    gst_element_set_state(pipeline.get(), GST_STATE_PAUSED);
    gst_element_get_state(pipeline.get(), nullptr, nullptr, 10 * GST_SECOND);
    GstSample *picture = nullptr;
    g_object_get(sink.get(), "last-sample", &picture, nullptr);
    gst_element_set_state(pipeline.get(), GST_STATE_NULL);
    if (!picture)
        throw std::runtime_error("reference: " + path + " is no picture that GStreamer decodes");
    return Sample(picture);
}

double dot(Point a, Point b) {
    return a.real() * b.real() + a.imag() * b.imag();
}

// How a camera sees a picture: a homography, in steps that can be undone one by one.
struct View {
    Point from, to; // the middle of the picture, and where that is in the frame
    Point turn;     // the argument is the angle, the absolute value the scale
    Point tilt;     // the distance grows by so much for each pixel of the frame

    Point operator()(Point point) const {
        const Point turned = turn * (point - from);
        return to + turned / (1 + dot(tilt, turned));
    }
    // What lies behind the camera comes 1 / |tilt| or more from the middle, so off the picture.
    Point back(Point point) const {
        const Point tilted = point - to;
        return from + tilted / (1 - dot(tilt, tilted)) / turn;
    }
};

// Turns to either side, nearer and farther, tilted all round, and off to the right and back.
View view_at(GstClockTime time, const GstVideoInfo &frame, int width, int height) {
    const double phase = 2 * std::numbers::pi * static_cast<double>(time) / length;
    const double fit = std::min(1.0 * frame.width / width, 1.0 * frame.height / height);
    const double away = 2 * std::pow(std::sin(phase / 2 - 0.4), 12);
    return {Point(width - 1, height - 1) / 2.0,
            Point((frame.width - 1) / 2.0 + frame.width * (away + 0.05 * std::cos(phase)),
                  (frame.height - 1) / 2.0 + frame.height * (0.08 + 0.03 * std::sin(2 * phase))),
            std::polar(fit * (0.5 + 0.1 * std::sin(2 * phase)), 0.5 * std::sin(phase)),
            std::polar(0.4 / frame.width, phase)};
}

} // namespace

Scene::Scene(const std::string &path) : sample_(read_picture(path)) {
    GstVideoInfo info;
    gst_video_info_from_caps(&info, gst_sample_get_caps(sample_.get()));
    gst_video_frame_map(&picture_, &info, gst_sample_get_buffer(sample_.get()), GST_MAP_READ);
}

Scene::~Scene() {
    gst_video_frame_unmap(&picture_);
}

void Scene::draw(GstVideoFrame &frame, GstClockTime time) const {
    const View view = view_at(time, frame.info, width(), height());
    for (int y = 0; y < frame.info.height; ++y) {
        guint8 *pixel = static_cast<guint8 *>(GST_VIDEO_FRAME_PLANE_DATA(&frame, 0)) +
                        y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0);
        for (int x = 0; x < frame.info.width; ++x, pixel += 4) {
            const Point at = view.back(Point(x, y));
            if (at.real() >= -0.5 && at.real() < width() - 0.5 && at.imag() >= -0.5 &&
                at.imag() < height() - 0.5)
                sample(at, pixel);
        }
    }
}

std::array<Point, 4> Scene::corners(GstClockTime time, const GstVideoInfo &frame) const {
    const View view = view_at(time, frame, width(), height());
    const double right = width() - 0.5, bottom = height() - 0.5;
    return {view({-0.5, -0.5}), view({right, -0.5}), view({right, bottom}), view({-0.5, bottom})};
}

// Between the four pixels around a point.
void Scene::sample(Point at, guint8 *to) const {
    const double x = std::clamp(at.real(), 0.0, width() - 1.001);
    const double y = std::clamp(at.imag(), 0.0, height() - 1.001);
    const int left = static_cast<int>(x), top = static_cast<int>(y);
    const double u = x - left, v = y - top;
    const int stride = GST_VIDEO_FRAME_PLANE_STRIDE(&picture_, 0);
    const guint8 *from = static_cast<const guint8 *>(GST_VIDEO_FRAME_PLANE_DATA(&picture_, 0)) +
                         top * stride + left * 4;
    for (int c = 0; c < 3; ++c, ++from)
        to[c] = static_cast<guint8>((1 - v) * ((1 - u) * from[0] + u * from[4]) +
                                    v * ((1 - u) * from[stride] + u * from[stride + 4]) + 0.5);
}
