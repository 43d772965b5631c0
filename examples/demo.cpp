// SPDX-License-Identifier: BSD-2-Clause
// Shows the elements at work: of each a video of before | after, and a picture of four moments.
#include <gst/pbutils/pbutils.h>
#include <gst/video/video.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <complex>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numbers>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

template <auto Free>
struct Deleter {
    template <typename T>
    void operator()(T *object) const {
        Free(object);
    }
};
template <typename T, auto Free>
using Owned = std::unique_ptr<T, Deleter<Free>>;
using Element = Owned<GstElement, gst_object_unref>;
using Pad = Owned<GstPad, gst_object_unref>;
using Caps = Owned<GstCaps, gst_caps_unref>;
using Sample = Owned<GstSample, gst_sample_unref>;
using Message = Owned<GstMessage, gst_message_unref>;
using Text = Owned<gchar, g_free>;
using Error = Owned<GError, g_error_free>;

constexpr int live_frames = 300;

struct Clip {
    std::string input; // a file, a URI, /dev/videoN, or "" for a generated clip
    std::string credit;
};

struct Options {
    Clip clip;
    Clip sift_clip; // of gpusift, if it has an input
    std::vector<std::string> effects = {"gpuerode radius=6 shape=ellipse",
                                        "gpuccl threshold=100 min-area=100", "gpukmeans clusters=6",
                                        "gpusift overlay=rich"};
    std::string cut = "gpugraphcut"; // the effect after these
    std::string find;                // and the last one, if there is any
    std::string out = "out";
    int frames = 0; // 0 = all of a file, live_frames of a camera
};

// The ways to write a video, best first; the first whose elements are installed is taken.
struct Writer {
    const char *suffix;
    const char *elements;
    const char *description;
};
constexpr Writer writers[] = {
    {"mp4", "openh264enc h264parse mp4mux",
     "openh264enc name=openh264 bitrate=8000000 complexity=low ! h264parse ! mp4mux"},
    {"webm", "vp8enc webmmux", "vp8enc deadline=1 cpu-used=8 target-bitrate=8000000 ! webmmux"},
    {"avi", "jpegenc avimux", "jpegenc ! avimux"},
};

bool installed(const std::string &elements) {
    Owned<gchar *, g_strfreev> names(g_strsplit(elements.c_str(), " ", 0));
    return std::all_of(names.get(), names.get() + g_strv_length(names.get()),
                       [](const gchar *name) {
                           GstElementFactory *factory = gst_element_factory_find(name);
                           if (factory)
                               gst_object_unref(factory);
                           return factory != nullptr;
                       });
}

const Writer &choose_writer() {
    for (const Writer &writer : writers)
        if (installed(writer.elements))
            return writer;
    throw std::runtime_error("no video encoder found; install gstreamer1.0-plugins-bad "
                             "(openh264enc) or gstreamer1.0-plugins-good (vp8enc)");
}

template <typename Visit>
void visit_elements(GstElement *bin, Visit visit) {
    Owned<GstIterator, gst_iterator_free> elements(gst_bin_iterate_recurse(GST_BIN(bin)));
    gst_iterator_foreach(
        elements.get(),
        [](const GValue *item, gpointer data) {
            (*static_cast<Visit *>(data))(GST_ELEMENT(g_value_get_object(item)));
        },
        &visit);
}

// The element of gpuvision in a bin, or nothing.
Element find_filter(GstElement *bin) {
    const GType type = g_type_from_name("GstGpuVisionFilter");
    Element filter;
    visit_elements(bin, [&](GstElement *element) {
        if (type != 0 && g_type_is_a(G_OBJECT_TYPE(element), type))
            filter.reset(GST_ELEMENT(gst_object_ref(element)));
    });
    return filter;
}

// What GLib warns of. A property keeps its value where the new one is out of range, and parsing
// goes on.
class ObjectWarnings {
  public:
    ObjectWarnings()
        : handler_(g_log_set_handler(
              domain, static_cast<GLogLevelFlags>(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING), keep,
              this)) {}
    ~ObjectWarnings() { g_log_remove_handler(domain, handler_); }
    ObjectWarnings(const ObjectWarnings &) = delete;
    ObjectWarnings &operator=(const ObjectWarnings &) = delete;

    const std::string &text() const { return text_; }

  private:
    static constexpr const char *domain = "GLib-GObject";

    static void keep(const gchar *, GLogLevelFlags, const gchar *message, gpointer self) {
        static_cast<ObjectWarnings *>(self)->text_ = message;
    }

    std::string text_;
    guint handler_;
};

// The blurb, which has the range, of the property that a warning names.
std::string describe_property(GstElement *bin, const std::string &warning) {
    std::string description;
    visit_elements(bin, [&](GstElement *element) {
        guint count = 0;
        Owned<GParamSpec *, g_free> specs(
            g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count));
        for (guint i = 0; i < count; ++i) {
            const std::string name = specs.get()[i]->name;
            if (warning.find("property '" + name + "'") != std::string::npos)
                description = "\n  " + name + ": " + g_param_spec_get_blurb(specs.get()[i]);
        }
    });
    return description;
}

// Makes a bin of a description such as "videoconvert ! gpuerode radius=3".
Element parse_effect(const std::string &description) {
    if (description.find_first_not_of(" \t\n") == std::string::npos)
        throw std::runtime_error("--effect is empty");
    const ObjectWarnings warnings;
    GError *error = nullptr;
    GstElement *bin = gst_parse_bin_from_description_full(description.c_str(), TRUE, nullptr,
                                                          GST_PARSE_FLAG_FATAL_ERRORS, &error);
    Element effect(bin ? GST_ELEMENT(gst_object_ref_sink(bin)) : nullptr);
    if (Error failed(error); failed)
        throw std::runtime_error(
            "--effect: " + std::string(failed->message) +
            (g_error_matches(error, GST_PARSE_ERROR, GST_PARSE_ERROR_NO_SUCH_ELEMENT)
                 ? "; run ./dev demo, or this inside 'meson devenv -C build'"
                 : ""));
    if (!warnings.text().empty())
        throw std::runtime_error("--effect: " + warnings.text() +
                                 describe_property(effect.get(), warnings.text()));
    return effect;
}

// Keeps thumbnails of moments spread evenly over a clip whose length need not be known: every
// step-th frame, and when there are too many, every second of them at twice the step.
class ContactSheet {
  public:
    void offer(GstBuffer *buffer, GstCaps *caps) {
        if (count_++ % step_ != 0)
            return;
        if (moments_.size() == most_moments) {
            for (size_t i = 1; i < most_moments / 2; ++i)
                moments_[i] = std::move(moments_[2 * i]);
            moments_.resize(most_moments / 2);
            step_ *= 2;
        }
        moments_.push_back(thumbnail(buffer, caps));
    }

    // Four moments from left to right, each with before above after.
    void write(const std::string &path) const {
        const int columns = static_cast<int>(std::min<size_t>(4, moments_.size()));
        const int side = GST_VIDEO_INFO_WIDTH(&info_) / 2, height = GST_VIDEO_INFO_HEIGHT(&info_);
        GstVideoInfo info;
        gst_video_info_set_format(&info, GST_VIDEO_FORMAT_RGB, columns * (side + gap) + gap,
                                  2 * (height + gap) + gap);
        GstBuffer *buffer = gst_buffer_new_allocate(nullptr, info.size, nullptr);
        GstMapInfo map;
        gst_buffer_map(buffer, &map, GST_MAP_WRITE);
        std::memset(map.data, 255, map.size);
        for (int column = 0; column < columns; ++column) {
            const size_t moment = (2 * column + 1) * moments_.size() / (2 * columns);
            for (int y = 0; y < 2 * height; ++y) {
                const guint8 *from = moments_[moment].data() +
                                     y % height * GST_VIDEO_INFO_PLANE_STRIDE(&info_, 0) +
                                     y / height * side * 3;
                guint8 *to = map.data +
                             (y + gap + y / height * gap) * GST_VIDEO_INFO_PLANE_STRIDE(&info, 0) +
                             (column * (side + gap) + gap) * 3;
                std::memcpy(to, from, side * 3);
            }
        }
        gst_buffer_unmap(buffer, &map);

        Caps caps(gst_video_info_to_caps(&info)), png(gst_caps_new_empty_simple("image/png"));
        Sample picture(gst_sample_new(buffer, caps.get(), nullptr, nullptr));
        gst_buffer_unref(buffer);
        GError *error = nullptr;
        Sample encoded(gst_video_convert_sample(picture.get(), png.get(), 10 * GST_SECOND, &error));
        if (encoded) {
            gst_buffer_map(gst_sample_get_buffer(encoded.get()), &map, GST_MAP_READ);
            g_file_set_contents(path.c_str(), reinterpret_cast<gchar *>(map.data),
                                static_cast<gssize>(map.size), &error);
            gst_buffer_unmap(gst_sample_get_buffer(encoded.get()), &map);
        }
        if (Error failed(error); failed)
            throw std::runtime_error("the contact sheet could not be written: " +
                                     std::string(failed->message));
    }

  private:
    static constexpr size_t most_moments = 16;
    static constexpr int most_side = 400, gap = 6;

    std::vector<guint8> thumbnail(GstBuffer *buffer, GstCaps *caps) {
        GstVideoInfo in;
        gst_video_info_from_caps(&in, caps);
        if (moments_.empty()) {
            const int side = std::min(most_side, in.width / 2);
            gst_video_info_set_format(&info_, GST_VIDEO_FORMAT_RGB, 2 * side,
                                      std::max(1, in.height * 2 * side / in.width));
            info_.fps_n = in.fps_n;
            info_.fps_d = in.fps_d;
        }
        std::vector<guint8> pixels(info_.size);
        GstBuffer *wrapped =
            gst_buffer_new_wrapped_full(static_cast<GstMemoryFlags>(0), pixels.data(),
                                        pixels.size(), 0, pixels.size(), nullptr, nullptr);
        GstVideoFrame from, to;
        gst_video_frame_map(&from, &in, buffer, GST_MAP_READ);
        gst_video_frame_map(&to, &info_, wrapped, GST_MAP_WRITE);
        Owned<GstVideoConverter, gst_video_converter_free> converter(
            gst_video_converter_new(&in, &info_, nullptr));
        gst_video_converter_frame(converter.get(), &from, &to);
        gst_video_frame_unmap(&to);
        gst_video_frame_unmap(&from);
        gst_buffer_unref(wrapped);
        return pixels;
    }

    GstVideoInfo info_{};
    std::vector<std::vector<guint8>> moments_;
    guint64 count_ = 0, step_ = 1;
};

// A rectangle in white, which for a video frame is grey chroma.
void fill(GstVideoFrame &frame, int x, int y, int width, int height) {
    const GstVideoFormatInfo *format = frame.info.finfo;
    for (guint c = 0; c < GST_VIDEO_FRAME_N_COMPONENTS(&frame); ++c) {
        const int left = GST_VIDEO_FORMAT_INFO_SCALE_WIDTH(format, c, x);
        const int right = GST_VIDEO_FORMAT_INFO_SCALE_WIDTH(format, c, x + width);
        const int bottom = GST_VIDEO_FORMAT_INFO_SCALE_HEIGHT(format, c, y + height);
        for (int row = GST_VIDEO_FORMAT_INFO_SCALE_HEIGHT(format, c, y); row < bottom; ++row)
            std::memset(GST_VIDEO_FRAME_COMP_DATA(&frame, c) +
                            row * GST_VIDEO_FRAME_COMP_STRIDE(&frame, c) + left,
                        c == 0 ? 235 : 128, static_cast<size_t>(right - left));
    }
}

// Just outside the region, as far as the frame goes.
void draw_box(GstVideoFrame &frame, const GstVideoRegionOfInterestMeta &region) {
    constexpr int line = 2;
    const int left = std::max<int>(0, region.x - line), top = std::max<int>(0, region.y - line);
    const int right = std::min<int>(GST_VIDEO_FRAME_WIDTH(&frame), region.x + region.w + line);
    const int bottom = std::min<int>(GST_VIDEO_FRAME_HEIGHT(&frame), region.y + region.h + line);
    const int across = std::min(line, right - left), down = std::min(line, bottom - top);
    fill(frame, left, top, right - left, down);
    fill(frame, left, bottom - down, right - left, down);
    fill(frame, left, top, across, bottom - top);
    fill(frame, right - across, top, across, bottom - top);
}

// The regions of interest that an element has attached to an I420 frame.
void draw_boxes(GstBuffer *buffer, GstCaps *caps) {
    GstVideoInfo info;
    GstVideoFrame frame;
    if (!gst_video_info_from_caps(&info, caps) ||
        !gst_video_frame_map(&frame, &info, buffer, GST_MAP_READWRITE))
        return;
    gpointer state = nullptr;
    while (GstMeta *meta = gst_buffer_iterate_meta_filtered(
               buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))
        draw_box(frame, *reinterpret_cast<GstVideoRegionOfInterestMeta *>(meta));
    gst_video_frame_unmap(&frame);
}

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

using Point = std::complex<double>;

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

// A picture on a ground of stone, along the path of a camera that also looks elsewhere.
class Scene {
  public:
    static constexpr const char *ground =
        "videotestsrc pattern=snow num-buffers=1 ! video/x-raw,format=I420,width=48,height=36 ! "
        "videobalance contrast=0.4 brightness=0.25 ! videoscale ! "
        "video/x-raw,width=480,height=360 ! imagefreeze num-buffers=90 ! "
        "video/x-raw,framerate=30/1";

    explicit Scene(const std::string &path) : sample_(read_picture(path)) {
        GstVideoInfo info;
        gst_video_info_from_caps(&info, gst_sample_get_caps(sample_.get()));
        gst_video_frame_map(&picture_, &info, gst_sample_get_buffer(sample_.get()), GST_MAP_READ);
    }
    ~Scene() { gst_video_frame_unmap(&picture_); }
    Scene(const Scene &) = delete;
    Scene &operator=(const Scene &) = delete;

    // Into a frame of RGBx.
    void draw(GstVideoFrame &frame, GstClockTime time) const {
        const View view = view_at(time, frame.info);
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

    // Where they are in a frame: of the outermost pixels, clockwise from the top left.
    std::array<Point, 4> corners(GstClockTime time, const GstVideoInfo &frame) const {
        const View view = view_at(time, frame);
        const double right = width() - 0.5, bottom = height() - 0.5;
        return {view({-0.5, -0.5}), view({right, -0.5}), view({right, bottom}),
                view({-0.5, bottom})};
    }

  private:
    int width() const { return picture_.info.width; }
    int height() const { return picture_.info.height; }

    // Turns to either side, nearer and farther, tilted all round, and off to the right and back.
    View view_at(GstClockTime time, const GstVideoInfo &frame) const {
        const double phase = 2 * std::numbers::pi * static_cast<double>(time) / length;
        const double fit = std::min(1.0 * frame.width / width(), 1.0 * frame.height / height());
        const double away = 2 * std::pow(std::sin(phase / 2 - 0.4), 12);
        return {
            Point(width() - 1, height() - 1) / 2.0,
            Point((frame.width - 1) / 2.0 + frame.width * (away + 0.05 * std::cos(phase)),
                  (frame.height - 1) / 2.0 + frame.height * (0.08 + 0.03 * std::sin(2 * phase))),
            std::polar(fit * (0.5 + 0.1 * std::sin(2 * phase)), 0.5 * std::sin(phase)),
            std::polar(0.4 / frame.width, phase)};
    }

    // Between the four pixels around a point.
    void sample(Point at, guint8 *to) const {
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

    static constexpr double length = 3.0 * GST_SECOND; // of the ground

    Sample sample_;
    GstVideoFrame picture_;
};

// Numbers from left to right as marks of eight heights, each the mean of as many of them.
std::string plot(const std::vector<int> &numbers) {
    constexpr size_t most_marks = 60, heights = 8;
    const size_t marks = std::min(most_marks, numbers.size());
    const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
    std::string text;
    for (size_t i = 0; i < marks; ++i) {
        const auto from = numbers.begin() + static_cast<long>(i * numbers.size() / marks);
        const auto to = numbers.begin() + static_cast<long>((i + 1) * numbers.size() / marks);
        const double mean = std::accumulate(from, to, 0.0) / static_cast<double>(to - from);
        const double place = (mean - *least) / std::max(1, *most - *least);
        text += "\xe2\x96";
        text += static_cast<char>(0x81 + static_cast<int>(place * (heights - 1) + 0.5));
    }
    return text;
}

// The numbers of an array in what an element has found, or none.
std::vector<int> numbers(const GstStructure *found, const char *name) {
    const GValue *array = gst_structure_get_value(found, name);
    std::vector<int> result(array && GST_VALUE_HOLDS_ARRAY(array) ? gst_value_array_get_size(array)
                                                                  : 0);
    for (size_t i = 0; i < result.size(); ++i)
        if (const GValue *number = gst_value_array_get_value(array, static_cast<guint>(i));
            G_VALUE_HOLDS_INT(number))
            result[i] = g_value_get_int(number);
    return result;
}

// The points of an array of structures with cx and cy, or none.
std::vector<Point> points(const GstStructure *found, const char *name) {
    const GValue *array = gst_structure_get_value(found, name);
    std::vector<Point> result(array ? gst_value_array_get_size(array) : 0);
    for (size_t i = 0; i < result.size(); ++i) {
        double x = 0, y = 0;
        gst_structure_get(
            gst_value_get_structure(gst_value_array_get_value(array, static_cast<guint>(i))), "cx",
            G_TYPE_DOUBLE, &x, "cy", G_TYPE_DOUBLE, &y, nullptr);
        result[i] = {x, y};
    }
    return result;
}

volatile std::sig_atomic_t interrupted = 0;

void interrupt(int) {
    interrupted = 1;
    std::signal(SIGINT, SIG_DFL); // a second Ctrl-C does not wait for the file
}

// Frames of a kind, and in how many of them the reference was found.
struct Sightings {
    const char *kind;
    int frames = 0, found = 0;

    void add(bool is_found) {
        ++frames;
        found += is_found;
    }
};

class Demo {
  public:
    Demo(const Options &options, const std::string &effect)
        : options_(options), description_(effect), writer_(choose_writer()),
          effect_(parse_effect(effect)), filter_(find_filter(effect_.get())),
          limit_(options.frames) {
        if (!filter_)
            throw std::runtime_error("there is no element of gpuvision in --effect \"" + effect +
                                     "\"");
        name_ = stem_ = GST_OBJECT_NAME(gst_element_get_factory(filter_.get()));
        const bool own_clip = name_ == "gpusift" && !options.sift_clip.input.empty();
        clip_ = own_clip ? options.sift_clip : options.clip;
        if (const std::string picture = reference(); !picture.empty()) {
            stem_ = name_ + "-reference";
            if (options.clip.input.empty() || !options.find.empty()) {
                scene_.emplace(picture);
                clip_ = {"", picture + " on a generated ground, as a moving camera sees it"};
            }
        }
        if (g_mkdir_with_parents(options.out.c_str(), 0755) != 0)
            throw std::runtime_error("the folder " + options.out + " cannot be made");
        build();
    }

    ~Demo() {
        gst_element_set_state(pipeline_.get(), GST_STATE_NULL);
        for (const char *suffix : {writer_.suffix, "png"})
            std::remove(part(suffix).c_str());
    }
    Demo(const Demo &) = delete;
    Demo &operator=(const Demo &) = delete;

    void run() {
        std::signal(SIGINT, interrupt);
        const Clock::time_point start = Clock::now();
        gst_element_set_state(pipeline_.get(), GST_STATE_PLAYING);
        Owned<GstBus, gst_object_unref> bus(gst_element_get_bus(pipeline_.get()));
        bool ending = false;
        for (;;) {
            Message message(gst_bus_timed_pop_filtered(
                bus.get(), 100 * GST_MSECOND,
                static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_EOS |
                                            GST_MESSAGE_ELEMENT)));
            if (message && handle(message.get()))
                break;
            if (!ending && (interrupted || (limit_ != 0 && frames_ >= limit_))) {
                gst_element_send_event(pipeline_.get(), gst_event_new_eos());
                ending = true;
            }
            if (limit_ == 0 && is_live())
                limit_ = live_frames;
            progress(start, false);
        }
        seconds_ = std::chrono::duration<double>(Clock::now() - start).count();
        progress(start, true);
        if (frames_ == 0)
            throw std::runtime_error("no frame came out of " + described_input());
        finish();
    }

    void report() {
        GstStructure *taken = nullptr;
        g_object_get(filter_.get(), "stats", &taken, nullptr);
        Owned<GstStructure, gst_structure_free> stats(taken);
        gdouble mean = 0, p99 = 0;
        gst_structure_get(stats.get(), "time-us-mean", G_TYPE_DOUBLE, &mean, "time-us-p99",
                          G_TYPE_DOUBLE, &p99, nullptr);
        const auto text = [&](const char *field) {
            const gchar *value = gst_structure_get_string(stats.get(), field);
            return value ? value : "unknown";
        };
        std::printf("\nframes    %d\n", frames_.load());
        std::printf("pipeline  %.1f frames/s: decode, %s, side by side, encode\n",
                    frames_ / seconds_, name_.c_str());
        std::printf("%-9s %.2f ms/frame = %.0f frames/s (99 %% of the frames below %.2f ms)\n",
                    name_.c_str(), mean / 1e3, mean > 0 ? 1e6 / mean : 0, p99 / 1e3);
        if (!counts_.empty())
            report_counts();
        if (!pixels_.empty())
            report_colors();
        report_sightings();
        std::printf("backend   %s, %s\n", text("backend"), text("device"));
        std::printf("clip      %s\n",
                    clip_.credit.empty() ? described_input().c_str() : clip_.credit.c_str());
        std::printf("video     %s\n", absolute(path(writer_.suffix)).get());
        std::printf("picture   %s\n", absolute(path("png")).get());
    }

  private:
    void report_counts() const {
        const auto [least, most] = std::minmax_element(counts_.begin(), counts_.end());
        const char *what = name_ == "gpusift"       ? "keypoints"
                           : name_ == "gpugraphcut" ? "pixels"
                                                    : "objects";
        if (*least == *most)
            std::printf("%-9s %d in every frame\n", what, *least);
        else
            std::printf("%-9s %d to %d in a frame, from the first frame to the last:\n"
                        "          %s\n",
                        what, *least, *most, plot(counts_).c_str());
    }

    // With its share of the pixels, the most frequent one first.
    void report_colors() const {
        constexpr size_t most_colors = 8;
        std::vector<size_t> order(pixels_.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::sort(order.begin(), order.end(),
                  [this](size_t a, size_t b) { return pixels_[a] > pixels_[b]; });
        const double all = std::accumulate(pixels_.begin(), pixels_.end(), 0.0);
        std::printf("colours   of the last frame:");
        for (size_t i = 0; i < std::min(most_colors, order.size()); ++i)
            std::printf("%s #%06x %.2f %%", i == 0 ? "" : ",",
                        static_cast<unsigned>(colors_[order[i]]), 100 * pixels_[order[i]] / all);
        std::printf(order.size() > most_colors ? ", and others\n" : "\n");
    }

    void report_sightings() {
        std::string text;
        for (const Sightings *of : {&whole_, &partial_, &absent_, &unknown_})
            if (of->frames != 0)
                text += (text.empty() ? "" : ", ") + std::to_string(of->found) + " of " +
                        std::to_string(of->frames) + " " + of->kind;
        if (!text.empty())
            std::printf("reference found in %s\n", text.c_str());
        const auto middle = errors_.begin() + static_cast<long>(errors_.size() / 2);
        std::nth_element(errors_.begin(), middle, errors_.end());
        if (!errors_.empty())
            std::printf("corners   %.2f px off in the median\n", *middle);
    }

    std::string path(const std::string &suffix) const {
        return options_.out + "/" + stem_ + "." + suffix;
    }

    // The picture that gpusift looks for, or "".
    std::string reference() const {
        gchar *taken = nullptr;
        if (g_object_class_find_property(G_OBJECT_GET_CLASS(filter_.get()), "reference"))
            g_object_get(filter_.get(), "reference", &taken, nullptr);
        const Text owned(taken);
        return taken ? taken : "";
    }

    std::string part(const std::string &suffix) const { return path(suffix) + ".part"; }

    // Earlier results are replaced when both new ones are complete.
    void finish() {
        gst_element_set_state(pipeline_.get(), GST_STATE_NULL);
        sheet_.write(part("png"));
        for (const char *suffix : {writer_.suffix, "png"})
            if (std::rename(part(suffix).c_str(), path(suffix).c_str()) != 0)
                throw std::runtime_error(path(suffix) + ": " + g_strerror(errno));
    }

    static Text absolute(const std::string &path) {
        return Text(g_canonicalize_filename(path.c_str(), nullptr));
    }

    std::string described_input() const {
        return clip_.input.empty() ? "generated (videotestsrc): no real clip was given"
                                   : clip_.input;
    }

    // Sets *uri where the source needs one.
    std::string source(std::string *uri) const {
        const std::string &input = clip_.input;
        if (scene_)
            return Scene::ground;
        if (input.empty())
            return "videotestsrc pattern=ball motion=sweep num-buffers=250 ! "
                   "video/x-raw,width=640,height=480,framerate=25/1";
        if (input.rfind("/dev/video", 0) == 0)
            return "v4l2src name=source ! decodebin";
        if (gst_uri_is_valid(input.c_str()))
            *uri = input;
        else if (g_file_test(input.c_str(), G_FILE_TEST_IS_DIR))
            throw std::runtime_error(input + " is a folder");
        else if (g_file_test(input.c_str(), G_FILE_TEST_IS_REGULAR))
            *uri = Text(gst_filename_to_uri(input.c_str(), nullptr)).get();
        else
            throw std::runtime_error("there is no file " + input);
        return "uridecodebin name=source expose-all-streams=false caps=video/x-raw(ANY)";
    }

    void build() {
        const bool labels = installed("textoverlay");
        const auto label = [labels](const std::string &name) {
            return labels ? " ! textoverlay valignment=top halignment=left shaded-background=true "
                            "font-desc=\"Sans Bold 16\" name=" +
                                name
                          : std::string();
        };
        const std::string even_sized = "video/x-raw,format=RGBx,pixel-aspect-ratio=1/1,"
                                       "width=[16,1920,2],height=[16,1088,2]";
        const std::string to_mixer = " ! videoconvert ! video/x-raw,format=I420 ! mixer.";
        std::string uri;
        const std::string description =
            source(&uri) + (installed("deinterlace") ? " ! deinterlace" : "") +
            " ! videoconvertscale ! " + even_sized +
            " ! tee name=frame"
            " compositor name=mixer background=black ! queue name=side-by-side ! " +
            writer_.description +
            " ! filesink name=file async=false"
            " frame. ! queue" +
            label("before") + to_mixer + " frame. ! queue name=to-effect queue name=from-effect" +
            label("after") + to_mixer;
        GError *error = nullptr;
        pipeline_.reset(gst_parse_launch_full(description.c_str(), nullptr,
                                              GST_PARSE_FLAG_FATAL_ERRORS, &error));
        if (Error failed(error); failed)
            throw std::runtime_error(failed->message);

        if (labels) {
            write_label("before", "before");
            write_label("after", "after: " + description_);
        }
        Element file(child("file")), source(child("source"));
        g_object_set(file.get(), "location", part(writer_.suffix).c_str(), nullptr);
        if (!uri.empty())
            g_object_set(source.get(), "uri", uri.c_str(), nullptr);
        else if (source)
            g_object_set(source.get(), "device", clip_.input.c_str(), nullptr);

        Element frame(child("frame")), queue(child("side-by-side"));
        Pad in(gst_element_get_static_pad(frame.get(), "sink"));
        gst_pad_add_probe(in.get(), GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, place, this, nullptr);
        if (scene_)
            gst_pad_add_probe(in.get(), GST_PAD_PROBE_TYPE_BUFFER, draw_scene, this, nullptr);
        Pad out(gst_element_get_static_pad(queue.get(), "src"));
        gst_pad_add_probe(out.get(), GST_PAD_PROBE_TYPE_BUFFER, look, this, nullptr);
        if (Element encoder(child("openh264")); encoder) {
            Pad sink(gst_element_get_static_pad(encoder.get(), "sink"));
            gst_pad_add_probe(sink.get(), GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, end_quietly,
                              encoder.get(), nullptr);
        }
        mixer_.reset(child("mixer"));
        Pad after(gst_element_get_static_pad(mixer_.get(), "sink_1"));
        gst_pad_add_probe(after.get(), GST_PAD_PROBE_TYPE_BUFFER, look_after, this, nullptr);
        insert_effect();
    }

    // Comes last: names inside the effect may be those of the demo.
    void insert_effect() {
        Element before(child("to-effect")), after(child("from-effect"));
        gst_bin_add(GST_BIN(pipeline_.get()), effect_.get());
        if (!gst_element_link_many(before.get(), effect_.get(), after.get(), nullptr))
            throw std::runtime_error("--effect \"" + description_ +
                                     "\" does not turn one video into another");
    }

    void write_label(const char *name, const std::string &text) {
        Element overlay(child(name));
        Text markup(g_markup_escape_text(text.c_str(), -1));
        g_object_set(overlay.get(), "text", markup.get(), nullptr);
    }

    GstElement *child(const char *name) const {
        return gst_bin_get_by_name(GST_BIN(pipeline_.get()), name);
    }

    // Puts the second picture to the right of the first as soon as the width is known.
    static GstPadProbeReturn place(GstPad *, GstPadProbeInfo *probe, gpointer data) {
        GstEvent *event = gst_pad_probe_info_get_event(probe);
        if (GST_EVENT_TYPE(event) == GST_EVENT_CAPS) {
            GstCaps *caps;
            int width = 0;
            gst_event_parse_caps(event, &caps);
            gst_structure_get_int(gst_caps_get_structure(caps, 0), "width", &width);
            GstElement *mixer = static_cast<Demo *>(data)->mixer_.get();
            Pad right(gst_element_get_static_pad(mixer, "sink_1"));
            g_object_set(right.get(), "xpos", width, nullptr);
        }
        return GST_PAD_PROBE_OK;
    }

    static GstPadProbeReturn draw_scene(GstPad *pad, GstPadProbeInfo *probe, gpointer data) {
        Caps caps(gst_pad_get_current_caps(pad));
        GstBuffer *buffer = gst_buffer_make_writable(gst_pad_probe_info_get_buffer(probe));
        probe->data = buffer;
        GstVideoInfo info;
        GstVideoFrame frame;
        if (gst_video_info_from_caps(&info, caps.get()) &&
            gst_video_frame_map(&frame, &info, buffer, GST_MAP_WRITE)) {
            static_cast<Demo *>(data)->scene_->draw(frame, GST_BUFFER_PTS(buffer));
            gst_video_frame_unmap(&frame);
        }
        return GST_PAD_PROBE_OK;
    }

    // openh264enc holds no frame back, but prints an error when it is asked to give them out.
    static GstPadProbeReturn end_quietly(GstPad *, GstPadProbeInfo *probe, gpointer encoder) {
        GstEvent *event = gst_pad_probe_info_get_event(probe);
        if (GST_EVENT_TYPE(event) != GST_EVENT_EOS)
            return GST_PAD_PROBE_OK;
        Pad src(gst_element_get_static_pad(GST_ELEMENT(encoder), "src"));
        gst_pad_push_event(src.get(), gst_event_ref(event));
        return GST_PAD_PROBE_DROP;
    }

    static GstPadProbeReturn look(GstPad *pad, GstPadProbeInfo *probe, gpointer data) {
        Demo *demo = static_cast<Demo *>(data);
        if (demo->limit_ != 0 && demo->frames_ >= demo->limit_)
            return GST_PAD_PROBE_DROP;
        Caps caps(gst_pad_get_current_caps(pad));
        GstBuffer *buffer = gst_pad_probe_info_get_buffer(probe);
        demo->sheet_.offer(buffer, caps.get());
        demo->position_ = GST_BUFFER_PTS(buffer) + GST_BUFFER_DURATION(buffer);
        ++demo->frames_;
        return GST_PAD_PROBE_OK;
    }

    // What the element has attached to the frame that it made.
    static GstPadProbeReturn look_after(GstPad *pad, GstPadProbeInfo *probe, gpointer data) {
        Demo *demo = static_cast<Demo *>(data);
        Caps caps(gst_pad_get_current_caps(pad));
        GstBuffer *buffer = gst_buffer_make_writable(gst_pad_probe_info_get_buffer(probe));
        probe->data = buffer;
        draw_boxes(buffer, caps.get());
        const int limit = demo->limit_;
        if (limit != 0 && demo->looked_++ >= limit)
            return GST_PAD_PROBE_OK; // of a frame that is not shown
        if (GstCustomMeta *meta = gst_buffer_get_custom_meta(buffer, demo->name_.c_str()))
            demo->keep(gst_custom_meta_get_structure(meta), GST_BUFFER_PTS(buffer), caps.get());
        return GST_PAD_PROBE_OK;
    }

    void keep(const GstStructure *found, GstClockTime time, GstCaps *caps) {
        for (const char *name : {"count", "area"})
            if (int count = 0; gst_structure_get_int(found, name, &count))
                counts_.push_back(count);
        colors_ = numbers(found, "centroids");
        pixels_ = numbers(found, "counts");
        if (gboolean here = FALSE; gst_structure_get_boolean(found, "found", &here))
            keep_sighting(here ? points(found, "corners") : std::vector<Point>(), time, caps);
    }

    // Of frames that show as much of what has these corners.
    Sightings &sightings(const std::array<Point, 4> &corners, const GstVideoInfo &frame) {
        const auto outside = [&](auto side) {
            return std::count_if(corners.begin(), corners.end(), side);
        };
        const auto most =
            std::max({outside([](Point p) { return p.real() < -0.5; }),
                      outside([](Point p) { return p.imag() < -0.5; }),
                      outside([&](Point p) { return p.real() > frame.width - 0.5; }),
                      outside([&](Point p) { return p.imag() > frame.height - 0.5; })});
        return most == 0 ? whole_ : most < 4 ? partial_ : absent_;
    }

    // Where the element has found its reference, if it has.
    void keep_sighting(const std::vector<Point> &found, GstClockTime time, GstCaps *caps) {
        GstVideoInfo info;
        if (!scene_ || !gst_video_info_from_caps(&info, caps)) {
            unknown_.add(!found.empty());
            return;
        }
        const std::array<Point, 4> corners = scene_->corners(time, info);
        sightings(corners, info).add(!found.empty());
        for (size_t i = 0; i < std::min(found.size(), corners.size()); ++i)
            errors_.push_back(std::abs(found[i] - corners[i]));
    }

    bool is_live() const {
        Owned<GstQuery, gst_query_unref> query(gst_query_new_latency());
        gboolean live = FALSE;
        if (gst_element_query(mixer_.get(), query.get()))
            gst_query_parse_latency(query.get(), &live, nullptr, nullptr);
        return live;
    }

    // True at the end of the stream; throws the errors.
    bool handle(GstMessage *message) {
        if (gst_is_missing_plugin_message(message)) {
            missing_ = describe_missing(message);
            return false;
        }
        if (GST_MESSAGE_TYPE(message) != GST_MESSAGE_ERROR)
            return GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS;
        GError *taken = nullptr;
        gchar *taken_debug = nullptr;
        gst_message_parse_error(message, &taken, &taken_debug);
        Error error(taken);
        Text debug(taken_debug);
        throw std::runtime_error(described_input() + ": " + explain(*error, debug.get()));
    }

    static std::string describe_missing(GstMessage *message) {
        const gchar *type = gst_structure_get_string(gst_message_get_structure(message), "type");
        const bool decodes = g_strcmp0(type, "decoder") == 0 || g_strcmp0(type, "element") == 0;
        return std::string(Text(gst_missing_plugin_message_get_description(message)).get()) +
               (decodes ? ". Most video formats are in: apt install gstreamer1.0-libav" : "");
    }

    std::string explain(const GError &error, const gchar *debug) const {
        const std::string text = error.message;
        if (!missing_.empty())
            return text + "\n  Missing: " + missing_;
        if (g_error_matches(&error, GST_CORE_ERROR, GST_CORE_ERROR_MISSING_PLUGIN))
            return "there is no video in it";
        for (const int code : {GST_STREAM_ERROR_TYPE_NOT_FOUND, GST_STREAM_ERROR_WRONG_TYPE,
                               GST_STREAM_ERROR_DECODE})
            if (g_error_matches(&error, GST_STREAM_ERROR, code))
                return text +
                       "\n  Is it a video? gst-discoverer-1.0 tells what GStreamer sees in it.";
        const gchar *detail = debug ? std::strrchr(debug, '\n') : nullptr;
        return detail ? text + "\n  " + (detail + 1) : text;
    }

    void progress(Clock::time_point start, bool end) {
        const bool terminal = isatty(STDERR_FILENO);
        const Clock::time_point now = Clock::now();
        if (!end && now - shown_ < (terminal ? std::chrono::milliseconds(200)
                                             : std::chrono::milliseconds(5000)))
            return;
        shown_ = now;
        gint64 duration = 0, percent = -1;
        if (end && !interrupted)
            percent = 100;
        else if (limit_ != 0)
            percent = frames_ * 100 / limit_;
        else if (gst_element_query_duration(pipeline_.get(), GST_FORMAT_TIME, &duration) &&
                 duration > 0)
            percent = std::min<gint64>(100, position_ * 100 / duration);
        const std::string done = percent < 0 ? "" : std::to_string(percent) + " %, ";
        std::fprintf(stderr, "%s%s%d frames, %.0f frames/s%s", terminal ? "\r" : "", done.c_str(),
                     frames_.load(), frames_ / std::chrono::duration<double>(now - start).count(),
                     !terminal || end ? "\n" : "   ");
    }

    const Options options_;
    const std::string description_; // of the effect
    const Writer &writer_;
    const Element effect_, filter_; // a bin, and the element of gpuvision in it
    Clip clip_;
    std::optional<Scene> scene_;
    std::string name_, stem_, missing_; // of the element, of the files, of a decoder
    Element pipeline_, mixer_;
    ContactSheet sheet_;
    std::vector<int> counts_;          // of what the element has found in each frame
    std::vector<int> colors_, pixels_; // of clusters in the last frame
    Sightings whole_{"frames with all of it"}, partial_{"with a part"}, absent_{"without it"},
        unknown_{"frames"};
    std::vector<double> errors_; // of corners, in pixels
    std::atomic<int> limit_;     // 0 = none
    std::atomic<int> frames_ = 0;
    int looked_ = 0; // frames of the element, some of which come after the limit
    std::atomic<gint64> position_ = 0;
    Clock::time_point shown_ = Clock::now();
    double seconds_ = 0;
};

Options parse(int argc, char **argv) {
    Options options;
    gchar *effect = nullptr, *out = nullptr, *credit = nullptr;
    gchar *sift_clip = nullptr, *sift_credit = nullptr, *cut = nullptr, *find = nullptr;
    gchar **inputs = nullptr;
    const GOptionEntry entries[] = {
        {"effect", 'e', 0, G_OPTION_ARG_FILENAME, &effect,
         "what to show, as for gst-launch-1.0; default: gpuerode, gpuccl, gpukmeans, gpusift, "
         "gpugraphcut",
         "ELEMENT"},
        {"frames", 'n', 0, G_OPTION_ARG_INT, &options.frames,
         "stop after so many; default: all of a file, 300 of a camera", "N"},
        {"out", 'o', 0, G_OPTION_ARG_FILENAME, &out, "folder for the results; default: out",
         "FOLDER"},
        {"credit", 0, 0, G_OPTION_ARG_FILENAME, &credit, "source and licence of the clip, to print",
         "TEXT"},
        {"cut", 0, 0, G_OPTION_ARG_FILENAME, &cut,
         "how gpugraphcut finds the object of the clip; default: gpugraphcut", "ELEMENT"},
        {"find", 0, 0, G_OPTION_ARG_FILENAME, &find,
         "how gpusift finds a picture, along the path of a camera; default: not shown", "ELEMENT"},
        {"sift-clip", 0, 0, G_OPTION_ARG_FILENAME, &sift_clip, "another clip for gpusift", "FILE"},
        {"sift-credit", 0, 0, G_OPTION_ARG_FILENAME, &sift_credit, "its source and licence",
         "TEXT"},
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &inputs, nullptr,
         "[FILE|URI|/dev/videoN]"},
        {}};
    Owned<GOptionContext, g_option_context_free> context(g_option_context_new(nullptr));
    g_option_context_add_main_entries(context.get(), entries, nullptr);
    g_option_context_add_group(context.get(), gst_init_get_option_group());
    GError *error = nullptr;
    const bool parsed = g_option_context_parse(context.get(), &argc, &argv, &error);
    Error failed(error);
    Text owned_effect(effect), owned_out(out), owned_credit(credit);
    Text owned_sift_clip(sift_clip), owned_sift_credit(sift_credit), owned_cut(cut),
        owned_find(find);
    Owned<gchar *, g_strfreev> owned_inputs(inputs);
    if (!parsed)
        throw std::runtime_error(failed->message);
    if (inputs && inputs[1])
        throw std::runtime_error("one file, URI or device at a time");
    if (options.frames < 0)
        throw std::runtime_error("--frames must be 0 (all) or more");
    if (inputs)
        options.clip.input = inputs[0];
    if (cut)
        options.cut = cut;
    if (find)
        options.find = find;
    if (effect)
        options.effects = {effect};
    else
        options.effects.push_back(options.cut);
    if (find && !effect)
        options.effects.push_back(options.find);
    if (out)
        options.out = out;
    if (credit)
        options.clip.credit = credit;
    if (sift_clip)
        options.sift_clip = {sift_clip, sift_credit ? sift_credit : ""};
    return options;
}

} // namespace

int main(int argc, char **argv) {
    try {
        const Options options = parse(argc, argv);
        gst_pb_utils_init();
        for (const std::string &effect : options.effects) {
            Demo demo(options, effect);
            demo.run();
            demo.report();
            if (interrupted)
                break;
        }
        return 0;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "\ngpuvision-demo: %s\n", error.what());
        return 1;
    }
}
