// SPDX-License-Identifier: BSD-2-Clause
#include "show.hpp"

#include "boxes.hpp"
#include "errors.hpp"

#include <gst/pbutils/pbutils.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <stdexcept>

namespace {

constexpr int camera_frames = 300; // in a file
// What a frame of a live clip waits for its last tile, in a file.
constexpr GstClockTime patience = 5 * GST_SECOND;
constexpr const char *leaky_queue = "queue leaky=downstream max-size-buffers=1";
constexpr int window_width = 1280, tile_width = 640; // at most, of a tile in a file

// Ctrl-C ends the clip, and its file is finished; a second one, and other signals, give the file
// up.
volatile std::sig_atomic_t interrupted = 0, stopped = 0;

void interrupt(int signal) {
    stopped = signal != SIGINT || interrupted;
    interrupted = 1;
    if (stopped)
        std::signal(signal, SIG_DFL); // once more, and nothing is waited for
}

// openh264enc holds no frame back, but prints an error when it is asked to give them out.
GstPadProbeReturn end_quietly(GstPad *, GstPadProbeInfo *probe, gpointer encoder) {
    GstEvent *event = gst_pad_probe_info_get_event(probe);
    if (GST_EVENT_TYPE(event) != GST_EVENT_EOS)
        return GST_PAD_PROBE_OK;
    Pad src(gst_element_get_static_pad(GST_ELEMENT(encoder), "src"));
    gst_pad_push_event(src.get(), gst_event_ref(event));
    return GST_PAD_PROBE_DROP;
}

// Queues drop what an element has no time for. If what comes late at the mixer were dropped, too,
// nothing of a slow element would be shown.
GstPadProbeReturn hold_back_qos(GstPad *, GstPadProbeInfo *probe, gpointer) {
    const bool is_qos = GST_EVENT_TYPE(gst_pad_probe_info_get_event(probe)) == GST_EVENT_QOS;
    return is_qos ? GST_PAD_PROBE_DROP : GST_PAD_PROBE_OK;
}

void add_probe(GstElement *element, const char *pad_name, GstPadProbeType type,
               GstPadProbeCallback probe, gpointer data) {
    Pad pad(gst_element_get_static_pad(element, pad_name));
    gst_pad_add_probe(pad.get(), type, probe, data, nullptr);
}

int even(double length) {
    return std::max(2, static_cast<int>(length) / 2 * 2);
}

double seconds_since(std::chrono::steady_clock::time_point time) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - time).count();
}

} // namespace

bool is_interrupted() {
    return interrupted;
}

Show::Show(const Options &options, const std::vector<std::string> &effects)
    : options_(options), output_(options.window ? window_output() : file_output()),
      mosaic_{static_cast<int>(effects.size()) + 1}, limit_(options.frames) {
    for (const std::string &effect : effects) {
        tiles_.push_back(std::make_unique<Tile>(effect));
        tiles_.back()->show = this;
        tiles_.back()->label =
            effects.size() == 1 ? "after: " + effect : tiles_.back()->effect.element();
    }
    stem_ = is_alone() ? tiles_[0]->effect.stem() : "all";
    choose_clip();
    if (!in_window()) {
        check_results();
        folder_.emplace(options.out);
    }
    build();
}

Show::~Show() {
    gst_element_set_state(pipeline_.get(), GST_STATE_NULL);
    for (const std::string &suffix : suffixes())
        std::remove(part(suffix).c_str());
}

// gpusift alone may have another clip, and a scene where it looks for a picture.
void Show::choose_clip() {
    const Effect &first = tiles_[0]->effect;
    const std::string picture = is_alone() ? first.reference() : "";
    const bool own_clip =
        is_alone() && first.element() == "gpusift" && !options_.sift_clip.input.empty();
    clip_ = own_clip ? options_.sift_clip : options_.clip;
    if (!picture.empty() && (options_.clip.input.empty() || !options_.find.empty())) {
        scene_.emplace(picture);
        clip_ = {"", picture + " on a generated ground, as a moving camera sees it"};
    } else {
        source_.emplace(clip_);
    }
}

// Results replace those of an earlier run, but nothing that this one reads.
void Show::check_results() const {
    for (const std::string &suffix : suffixes())
        for (const std::string &input :
             {source_ ? source_->path() : "", tiles_[0]->effect.reference()})
            if (is_same_file(path(suffix), input))
                throw std::runtime_error(input +
                                         " would be overwritten by the result; name another "
                                         "folder with --out");
}

void Show::run() {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        std::signal(signal, interrupt);
    start_ = shown_ = labelled_ = moved_ = Clock::now();
    gst_element_set_state(pipeline_.get(), GST_STATE_PLAYING);
    Bus bus(gst_element_get_bus(pipeline_.get()));
    bool ending = false;
    for (;;) {
        Message message(gst_bus_timed_pop_filtered(
            bus.get(), 100 * GST_MSECOND,
            static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_EOS |
                                        GST_MESSAGE_ELEMENT)));
        if (message && is_over(message.get()))
            break;
        if (stopped)
            throw std::runtime_error("stopped; the file is not kept");
        check_stall();
        if (!ending && (interrupted || (limit_ != 0 && frames_ >= limit_))) {
            if (in_window())
                break;
            gst_element_send_event(pipeline_.get(), gst_event_new_eos());
            ending = true;
        }
        if (!in_window() && limit_ == 0 && is_live())
            limit_ = camera_frames;
        progress(false);
        if (in_window())
            write_rates();
    }
    seconds_ = seconds_since(start_);
    progress(true);
    if (frames_ == 0)
        throw std::runtime_error("no frame came out of " + clip_name());
    finish();
}

void Show::report() const {
    std::string effect;
    for (const auto &tile : tiles_)
        effect += (effect.empty() ? "" : " | ") + tile->effect.description();
    std::printf("\neffect    %s\n", effect.c_str());
    std::printf("frames    %d of %s\n", frames_.load(),
                clip_.credit.empty() ? clip_name().c_str() : clip_.credit.c_str());
    if (is_alone())
        std::printf("%s", tiles_[0]->findings.details().c_str());
    std::fflush(stdout);
}

std::vector<Row> Show::rows() const {
    std::vector<Row> rows;
    for (const auto &tile : tiles_)
        rows.push_back({tile->effect.stem(), tile->effect.stats(),
                        (in_window() ? tile->frames : frames_) / seconds_,
                        tile->findings.summary()});
    if (in_window() || is_alone())
        return rows;
    Stats stats = rows[0].stats;
    stats.rate = 0;
    return {{stem_, stats, frames_ / seconds_, "the clip and all of these side by side"}};
}

std::string Show::clip_name() const {
    return source_ ? source_->name() : clip_.credit;
}

std::string Show::path(const std::string &suffix) const {
    return options_.out + "/" + stem_ + "." + suffix;
}

std::string Show::part(const std::string &suffix) const {
    return path(suffix) + ".part";
}

std::vector<std::string> Show::suffixes() const {
    if (in_window())
        return {};
    return {output_.suffix, "png"};
}

// Earlier results are replaced when both new ones are complete.
void Show::finish() {
    gst_element_set_state(pipeline_.get(), GST_STATE_NULL);
    if (in_window())
        return;
    sheet_.write(part("png"));
    for (const std::string &suffix : suffixes())
        if (std::rename(part(suffix).c_str(), path(suffix).c_str()) != 0)
            throw std::runtime_error(path(suffix) + ": " + g_strerror(errno));
}

// The clip goes through a tee to the mixer, by itself and by each of the effects, which are
// inserted later. In a window a slow branch drops frames, and the others do not wait for it.
std::string Show::describe_pipeline() const {
    const std::string queue = in_window() ? leaky_queue : "queue";
    const std::string to_mixer = " ! videoconvert ! video/x-raw,format=I420 ! mixer.";
    std::string text = describe_clip() + " ! tee name=frame " + describe_mixer() + " ! " +
                       output_.description + " frame. ! " + queue + describe_label("0") + to_mixer;
    for (int i = 1; i < mosaic_.tiles; ++i) {
        const std::string number = std::to_string(i);
        text += " frame. ! " + queue + " name=to-effect-" + number + " " + queue +
                " name=from-effect-" + number + describe_label(number) + to_mixer;
    }
    return text;
}

// At its own speed in a window, where a camera's frames are scaled to a size that a CPU can follow.
std::string Show::describe_clip() const {
    const bool is_camera = source_ && source_->is_camera();
    std::string text = scene_ ? Scene::ground : source_->description();
    if (in_window())
        text += " ! " + (is_camera ? std::string(leaky_queue) : "clocksync");
    if (installed("deinterlace"))
        text += " ! deinterlace";
    if (installed("videoflip")) // as the clip says that it was held, by a phone for example
        text += " ! videoconvert ! videoflip video-direction=auto";
    return text + " ! videoconvertscale ! video/x-raw,format=RGBx,pixel-aspect-ratio=1/1," +
           (in_window() && is_camera ? "width=[16,640,2],height=[16,480,2]"
                                     : "width=[16,1920,2],height=[16,1088,2]");
}

std::string Show::describe_mixer() const {
    std::string text = "compositor name=mixer background=black";
    if (in_window()) {
        const Size cell = window_cell();
        text += " ! video/x-raw,width=" + std::to_string(mosaic_.columns() * cell.width) +
                ",height=" + std::to_string(mosaic_.rows() * cell.height);
    } else {
        text += " latency=" + std::to_string(patience);
    }
    return text + " ! queue name=composed";
}

std::string Show::describe_label(const std::string &number) {
    return installed("textoverlay")
               ? " ! textoverlay valignment=top halignment=left line-alignment=left "
                 "shaded-background=true font-desc=\"Sans Bold 16\" name=label-" +
                     number
               : "";
}

void Show::build() {
    GError *error = nullptr;
    pipeline_.reset(gst_parse_launch_full(describe_pipeline().c_str(), nullptr,
                                          GST_PARSE_FLAG_FATAL_ERRORS, &error));
    if (Error failed(error); failed)
        throw std::runtime_error(failed->message);
    if (source_)
        source_->connect(pipeline_.get());
    if (Element file(child("file")); file)
        g_object_set(file.get(), "location", part(output_.suffix).c_str(), nullptr);
    mixer_.reset(child("mixer"));
    write_label(Element(child("label-0")).get(), is_alone() ? "before" : "clip");
    for (int i = 1; i < mosaic_.tiles; ++i) {
        Tile &tile = *tiles_[static_cast<size_t>(i - 1)];
        tile.overlay.reset(child("label-" + std::to_string(i)));
        write_label(tile.overlay.get(), tile.label);
    }
    watch();
    insert_effects();
}

void Show::watch() {
    const Element frame(child("frame")), composed(child("composed")), encoder(child("openh264"));
    add_probe(frame.get(), "sink", GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, place, this);
    add_probe(frame.get(), "sink", GST_PAD_PROBE_TYPE_BUFFER, count, this);
    if (scene_)
        add_probe(frame.get(), "sink", GST_PAD_PROBE_TYPE_BUFFER, draw_scene, this);
    add_probe(composed.get(), "src", GST_PAD_PROBE_TYPE_BUFFER, look, this);
    for (int i = 0; i < mosaic_.tiles; ++i) {
        Pad pad(gst_element_get_static_pad(mixer_.get(), ("sink_" + std::to_string(i)).c_str()));
        Pad before(gst_pad_get_peer(pad.get()));
        gst_pad_add_probe(before.get(), GST_PAD_PROBE_TYPE_EVENT_UPSTREAM, hold_back_qos, nullptr,
                          nullptr);
        if (i > 0)
            gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_BUFFER, look_at_tile,
                              tiles_[static_cast<size_t>(i - 1)].get(), nullptr);
    }
    if (encoder)
        add_probe(encoder.get(), "sink", GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, end_quietly,
                  encoder.get());
}

// Comes last: names inside the effects may be those of the demo.
void Show::insert_effects() {
    std::vector<std::array<Element, 2>> ends;
    for (int i = 1; i < mosaic_.tiles; ++i)
        ends.push_back({Element(child("to-effect-" + std::to_string(i))),
                        Element(child("from-effect-" + std::to_string(i)))});
    for (size_t i = 0; i < tiles_.size(); ++i) {
        const Effect &effect = tiles_[i]->effect;
        gst_bin_add(GST_BIN(pipeline_.get()), effect.bin());
        if (!gst_element_link_many(ends[i][0].get(), effect.bin(), ends[i][1].get(), nullptr))
            throw std::runtime_error("--effect \"" + effect.description() +
                                     "\" does not turn one video into another");
    }
}

GstElement *Show::child(const std::string &name) const {
    return gst_bin_get_by_name(GST_BIN(pipeline_.get()), name.c_str());
}

void Show::write_label(GstElement *overlay, const std::string &text) {
    const Text markup(g_markup_escape_text(text.c_str(), -1));
    if (overlay)
        g_object_set(overlay, "text", markup.get(), nullptr);
}

// As soon as the size of the clip is known. A tile keeps its shape, in the middle of its cell.
void Show::place_tiles(int width, int height) {
    const Size cell = in_window() ? window_cell() : file_cell(width, height);
    const int gap = is_alone() ? 0 : 4;
    const double scale = std::min(1.0 * cell.width / width, 1.0 * cell.height / height);
    const int across = even(width * scale - gap), down = even(height * scale - gap);
    for (int tile = 0; tile < mosaic_.tiles; ++tile) {
        Pad pad(gst_element_get_static_pad(mixer_.get(), ("sink_" + std::to_string(tile)).c_str()));
        g_object_set(pad.get(), "xpos",
                     mosaic_.column(tile) * cell.width + (cell.width - across) / 4 * 2, "ypos",
                     mosaic_.row(tile) * cell.height + (cell.height - down) / 4 * 2, "width",
                     across, "height", down, nullptr);
    }
}

// Known beforehand, since the first frame in a window does not wait for all tiles.
Size Show::window_cell() const {
    const int width = even(window_width / mosaic_.columns());
    return {width, even(width * 0.75)};
}

// All of a frame beside its effect; in a mosaic it is smaller.
Size Show::file_cell(int width, int height) const {
    const int across = is_alone() ? width : std::min(width, tile_width);
    return {across, even(height * across / width)};
}

GstPadProbeReturn Show::place(GstPad *, GstPadProbeInfo *probe, gpointer show) {
    GstEvent *event = gst_pad_probe_info_get_event(probe);
    if (GST_EVENT_TYPE(event) == GST_EVENT_CAPS) {
        GstCaps *caps;
        GstVideoInfo info;
        gst_event_parse_caps(event, &caps);
        if (gst_video_info_from_caps(&info, caps))
            static_cast<Show *>(show)->place_tiles(info.width, info.height);
    }
    return GST_PAD_PROBE_OK;
}

GstPadProbeReturn Show::count(GstPad *, GstPadProbeInfo *, gpointer data) {
    ++static_cast<Show *>(data)->received_;
    return GST_PAD_PROBE_OK;
}

GstPadProbeReturn Show::draw_scene(GstPad *pad, GstPadProbeInfo *probe, gpointer show) {
    Caps caps(gst_pad_get_current_caps(pad));
    GstBuffer *buffer = gst_buffer_make_writable(gst_pad_probe_info_get_buffer(probe));
    probe->data = buffer;
    GstVideoInfo info;
    GstVideoFrame frame;
    if (gst_video_info_from_caps(&info, caps.get()) &&
        gst_video_frame_map(&frame, &info, buffer, GST_MAP_WRITE)) {
        static_cast<Show *>(show)->scene_->draw(frame, GST_BUFFER_PTS(buffer));
        gst_video_frame_unmap(&frame);
    }
    return GST_PAD_PROBE_OK;
}

// At the frames that are shown.
GstPadProbeReturn Show::look(GstPad *pad, GstPadProbeInfo *probe, gpointer data) {
    Show *show = static_cast<Show *>(data);
    if (show->limit_ != 0 && show->frames_ >= show->limit_)
        return GST_PAD_PROBE_DROP;
    Caps caps(gst_pad_get_current_caps(pad));
    GstBuffer *buffer = gst_pad_probe_info_get_buffer(probe);
    if (!show->in_window())
        show->sheet_.offer(buffer, caps.get());
    show->position_ = GST_BUFFER_PTS(buffer) + GST_BUFFER_DURATION(buffer);
    ++show->frames_;
    return GST_PAD_PROBE_OK;
}

// At what the element has attached to the frame that it made.
GstPadProbeReturn Show::look_at_tile(GstPad *pad, GstPadProbeInfo *probe, gpointer data) {
    Tile *tile = static_cast<Tile *>(data);
    Caps caps(gst_pad_get_current_caps(pad));
    GstBuffer *buffer = gst_buffer_make_writable(gst_pad_probe_info_get_buffer(probe));
    probe->data = buffer;
    draw_boxes(buffer, caps.get());
    const int limit = tile->show->limit_;
    if (tile->frames++ < limit || limit == 0) // else it is of a frame that is not shown
        tile->findings.keep(buffer, caps.get(),
                            tile->show->scene_ ? &*tile->show->scene_ : nullptr);
    return GST_PAD_PROBE_OK;
}

bool Show::is_live() const {
    Owned<GstQuery, gst_query_unref> query(gst_query_new_latency());
    gboolean live = FALSE;
    if (gst_element_query(mixer_.get(), query.get()))
        gst_query_parse_latency(query.get(), &live, nullptr, nullptr);
    return live;
}

// True at the end of the stream; throws the errors.
bool Show::is_over(GstMessage *message) {
    if (gst_is_missing_plugin_message(message)) {
        missing_ = describe_missing(message);
        return false;
    }
    if (GST_MESSAGE_TYPE(message) != GST_MESSAGE_ERROR)
        return GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS;
    if (says_closed(message))
        return true;
    throw std::runtime_error(clip_name() + ": " + describe_error(message, missing_));
}

// Looks at the clip and the effects, as the mixer repeats the last frame of what is live.
void Show::check_stall() {
    int moves = received_;
    for (const auto &tile : tiles_)
        moves += tile->frames;
    if (moves != moves_) {
        moves_ = moves;
        moved_ = Clock::now();
    } else if (seconds_since(moved_) > options_.stall) {
        throw std::runtime_error(
            clip_name() + ": nothing for " + std::to_string(options_.stall) + " s; before that " +
            std::to_string(received_) + " frames came, and " + std::to_string(frames_) +
            " were shown.\n  GStreamer cannot play it, or it needs a longer --stall.");
    }
}

// The sink of a window that the user has closed knows no other way to say so.
bool Show::says_closed(GstMessage *message) const {
    const Element window(child("window"));
    GError *error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    const Error owned(error);
    return window && frames_ > 0 &&
           gst_object_has_as_ancestor(GST_MESSAGE_SRC(message), GST_OBJECT(window.get())) &&
           g_error_matches(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND);
}

// In the labels, once a second.
void Show::write_rates() {
    const double seconds = seconds_since(labelled_);
    if (seconds < 1)
        return;
    labelled_ = Clock::now();
    for (const auto &tile : tiles_) {
        const int frames = tile->frames;
        const Text rate(
            g_strdup_printf("  %.0f frames/s", (frames - tile->labelled_frames) / seconds));
        write_label(tile->overlay.get(), tile->label + rate.get());
        tile->labelled_frames = frames;
    }
}

void Show::progress(bool end) {
    const bool terminal = isatty(STDERR_FILENO);
    if (!end && seconds_since(shown_) < (terminal ? 0.2 : 5.0))
        return;
    shown_ = Clock::now();
    gint64 duration = 0, percent = -1;
    if (limit_ != 0)
        percent = frames_ * 100 / limit_;
    else if (gst_element_query_duration(pipeline_.get(), GST_FORMAT_TIME, &duration) &&
             duration > 0)
        percent = std::min<gint64>(100, position_ * 100 / duration);
    if (end && !interrupted && !in_window())
        percent = 100;
    const std::string done = percent < 0 ? "" : std::to_string(percent) + " %, ";
    std::fprintf(stderr, "%s%s: %s%d frames, %.0f frames/s%s", terminal ? "\r" : "", stem_.c_str(),
                 done.c_str(), frames_.load(), frames_ / seconds_since(start_),
                 !terminal || end ? "\n" : "   ");
}
