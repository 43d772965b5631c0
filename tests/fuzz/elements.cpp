// SPDX-License-Identifier: BSD-2-Clause
// Raw bits to the life of an element: properties as values and as text, caps as text, queries,
// states, and small frames with what GstVideoMeta may say of them. What GStreamer or the element
// calls critical ends the run. A frame has to give one, or an error with a message on the bus.
#include "fuzz.hpp"

#include <string>
#include <string_view>

#include <gst/gst.h>
#include <gst/video/video.h>
#include <sys/mman.h>
#include <unistd.h>

extern "C" void gst_plugin_gpuvision_register(void);

namespace {

constexpr gsize max_frame_bytes = 1 << 14;
constexpr int max_steps = 24, max_frames = 2;

const char *const factories[] = {"gpuerode", "gpuccl", "gpukmeans", "gpusift", "gpugraphcut"};
const char *const formats[] = {
    "NV12",    "I420",      "RGBA",      "BGRA",    "RGBx", "BGRx", "RGB",  "BGR",  "GRAY8",
    "P016_LE", "GRAY16_LE", "P010_10LE", "P012_LE", "NV21", "YV12", "YUY2", "UYVY", "Y444",
    "ARGB",    "ABGR",      "xRGB",      "xBGR",    "RGBP", "BGRP", "GBR",  "Y42B"};

/* ---- text ---- */

const char *const words[] = {"video/x-raw",
                             "(memory:SystemMemory)",
                             "(memory:CUDAMemory)",
                             "(meta:GstVideoOverlayComposition)",
                             ", ",
                             "; ",
                             "=",
                             "(string)",
                             "(int)",
                             "(fraction)",
                             "[ ",
                             " ]",
                             "{ ",
                             " }",
                             "\"",
                             "\\",
                             " ! ",
                             "format",
                             "width",
                             "height",
                             "framerate",
                             "interlace-mode=interleaved",
                             "colorimetry=bt709",
                             "chroma-site=mpeg2",
                             "pixel-aspect-ratio=0/1",
                             "views=2",
                             "25/1",
                             "max",
                             "ANY",
                             "EMPTY",
                             "NULL",
                             "true",
                             "nan",
                             "-inf",
                             "1e39",
                             "2147483648",
                             "-1",
                             "/dev/null",
                             "/no/such.ppm",
                             "%s"};

template <class T, std::size_t Count>
T one_of(Input &in, T (&all)[Count]) {
    return all[in.below(Count)];
}

/* Has no zeros, but need not be UTF-8. */
std::string read_text(Input &in) {
    std::string text;
    for (int parts = in.below(12); parts > 0; parts--)
        switch (in.below(5)) {
        case 0:
            if (const char c = in.raw<char>())
                text += c;
            break;
        case 1:
            text += std::to_string(in.below(64));
            break;
        case 2:
            text += std::to_string(in.raw<std::int32_t>());
            break;
        case 3:
            text += one_of(in, formats);
            break;
        default:
            text += one_of(in, words);
        }
    return text;
}

/* Mostly such as the elements take. Null if it is no text of caps. */
GstCaps *read_caps(Input &in) {
    if (in.once_in(4))
        return gst_caps_from_string(read_text(in).c_str());
    std::string text = "video/x-raw, format=" + std::string(one_of(in, formats)) +
                       ", width=" + std::to_string(1 + in.below(24)) +
                       ", height=" + std::to_string(1 + in.below(16)) + ", framerate=25/1";
    if (in.once_in(4))
        text += ", " + read_text(in);
    return gst_caps_from_string(text.c_str());
}

/* ---- pictures ---- */

/* A file of all of them, one after the other, which has no name in a folder. */
const int picture_file = memfd_create("picture", MFD_CLOEXEC);
const std::string picture_path = "/proc/self/fd/" + std::to_string(picture_file);
bool picture_is_whole = false;        ///< which is what it holds
constexpr gsize min_typed_bytes = 16; ///< bytes: GStreamer finds the type of no fewer
int frames_with_picture = 0;          ///< that came out of an element with its path, in this run

void put(std::string &bytes, std::uint32_t number) {
    for (int shift = 24; shift >= 0; shift -= 8)
        bytes += static_cast<char>(number >> shift);
}

void put_chunk(std::string &png, const std::string &type_and_data) {
    std::uint32_t crc = 0xFFFFFFFF;
    for (const char c : type_and_data) {
        crc ^= static_cast<std::uint8_t>(c);
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
    }
    put(png, static_cast<std::uint32_t>(type_and_data.size() - 4));
    png += type_and_data;
    put(png, ~crc);
}

/* Of samples of 8 bits, not compressed. */
std::string png_of(int width, int height, bool color, const std::string &samples) {
    static constexpr char signature[] = "\x89PNG\r\n\x1A\n";
    std::string png = signature, header = "IHDR", rows;
    put(header, static_cast<std::uint32_t>(width));
    put(header, static_cast<std::uint32_t>(height));
    header += {8, static_cast<char>(color ? 2 : 0), 0, 0, 0};
    put_chunk(png, header);
    const std::size_t row_bytes = samples.size() / static_cast<std::size_t>(height);
    for (std::size_t at = 0; at < samples.size(); at += row_bytes)
        rows += '\0' + samples.substr(at, row_bytes);
    const auto size = static_cast<std::uint16_t>(rows.size());
    std::string data = {'I', 'D', 'A', 'T', 0x78, 1, 1};
    for (const int number : {int{size}, ~int{size}})
        data += {static_cast<char>(number), static_cast<char>(number >> 8)};
    data += rows;
    std::uint32_t a = 1, b = 0;
    for (const char c : rows) {
        a = (a + static_cast<std::uint8_t>(c)) % 65521;
        b = (b + a) % 65521;
    }
    put(data, b << 16 | a);
    put_chunk(png, data);
    put_chunk(png, "IEND");
    return png;
}

/* To decode one takes as long as many other runs. */
const bool with_pictures = std::getenv("GPV_FUZZ_PICTURES");

/* Writes a picture, or one that is cut off or wrong, and returns its path. */
std::string read_picture(Input &in) {
    const int kind = in.below(3), width = 1 + in.below(24), height = 1 + in.below(16);
    const bool color = in.flag();
    std::string samples(static_cast<std::size_t>(width * height * (color ? 3 : 1)), '\0'), bytes;
    std::uint32_t state = in.raw<std::uint16_t>();
    const std::uint32_t levels = 1 + in.below(4);
    const std::size_t channels = color ? 3 : 1;
    for (std::size_t at = 0; at < samples.size(); at += channels) { // of grey that seeds have
        state = state * 1664525u + 1013904223u;
        samples.replace(at, channels, channels, "\x80\0\xff\3"[(state >> 24) % levels]);
    }
    if (kind == 0)
        for (int i = in.below(64); i > 0; i--)
            bytes += in.raw<char>();
    else if (kind == 1)
        bytes = (color ? "P6\n" : "P5\n") + std::to_string(width) + ' ' + std::to_string(height) +
                "\n255\n" + samples;
    else
        bytes = png_of(width, height, color, samples);
    const std::string whole = bytes;
    if (in.once_in(4) && !bytes.empty())
        bytes[in.raw<std::uint16_t>() % bytes.size()] = in.raw<char>();
    if (in.once_in(4))
        bytes.resize(in.raw<std::uint16_t>() % (bytes.size() + 1));
    picture_is_whole = kind && bytes == whole && bytes.size() >= min_typed_bytes;
    REQUIRE(ftruncate(picture_file, 0) == 0);
    REQUIRE(pwrite(picture_file, bytes.data(), bytes.size(), 0) ==
            static_cast<ssize_t>(bytes.size()));
    return picture_path;
}

/* ---- properties ---- */

template <class T>
T read_number(Input &in) {
    return in.flag() ? static_cast<T>(in.below(16)) : in.raw<T>();
}

/* To a value of that type, or leaves it as it is. */
void fill_value(Input &in, GValue *value) {
    switch (G_TYPE_FUNDAMENTAL(G_VALUE_TYPE(value))) {
    case G_TYPE_BOOLEAN:
        return g_value_set_boolean(value, in.below(3));
    case G_TYPE_INT:
        return g_value_set_int(value, read_number<gint>(in));
    case G_TYPE_UINT:
        return g_value_set_uint(value, read_number<guint>(in));
    case G_TYPE_INT64:
        return g_value_set_int64(value, read_number<gint64>(in));
    case G_TYPE_UINT64:
        return g_value_set_uint64(value, read_number<guint64>(in));
    case G_TYPE_FLOAT:
        return g_value_set_float(value, in.flag() ? in.below(32) / 16.0F : in.raw<float>());
    case G_TYPE_DOUBLE:
        return g_value_set_double(value, in.flag() ? in.below(32) / 16.0 : in.raw<double>());
    case G_TYPE_ENUM:
        return g_value_set_enum(value, read_number<gint>(in));
    case G_TYPE_STRING:
        switch (in.below(8)) {
        case 6:
            return g_value_set_string(value, with_pictures ? read_picture(in).c_str() : "");
        case 7:
            return g_value_set_string(value, nullptr);
        default:
            return g_value_set_string(value, read_text(in).c_str());
        }
    }
}

struct Specs {
    guint count = 0;
    GParamSpec **all;
    explicit Specs(GstElement *element)
        : all(g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count)) {}
    ~Specs() { g_free(all); }
};

void set_property(Input &in, GstElement *element) {
    static constexpr GType types[] = {G_TYPE_BOOLEAN, G_TYPE_INT,   G_TYPE_UINT,   G_TYPE_INT64,
                                      G_TYPE_UINT64,  G_TYPE_FLOAT, G_TYPE_DOUBLE, G_TYPE_STRING};
    const Specs specs(element);
    const GParamSpec *spec = specs.all[in.below(static_cast<int>(specs.count))];
    if (G_TYPE_FUNDAMENTAL(spec->value_type) == G_TYPE_OBJECT) // the parent, which is GStreamer's
        return;
    GValue value = G_VALUE_INIT;
    g_value_init(&value, in.once_in(8) ? one_of(in, types) : spec->value_type);
    switch (spec->flags & G_PARAM_WRITABLE ? in.below(3) : 0) {
    case 0:
        fill_value(in, &value);
        g_object_set_property(G_OBJECT(element), spec->name, &value);
        break;
    case 1:
        gst_util_set_object_arg(G_OBJECT(element), spec->name, read_text(in).c_str());
        break;
    default:
        if (gst_value_deserialize(&value, read_text(in).c_str()))
            g_object_set_property(G_OBJECT(element), spec->name, &value);
    }
    g_value_unset(&value);
}

void get_properties(GstElement *element) {
    const Specs specs(element);
    for (guint i = 0; i < specs.count; i++) {
        GValue value = G_VALUE_INIT;
        g_object_get_property(G_OBJECT(element), specs.all[i]->name, &value);
        g_free(gst_value_serialize(&value));
        g_value_unset(&value);
    }
}

bool has_picture(GstElement *element) {
    const Specs specs(element);
    for (guint i = 0; i < specs.count; i++) {
        if (specs.all[i]->value_type != G_TYPE_STRING)
            continue;
        gchar *text = nullptr;
        g_object_get(element, specs.all[i]->name, &text, nullptr);
        const bool found = picture_path == (text ? text : "");
        g_free(text);
        if (found)
            return true;
    }
    return false;
}

/* A whole picture can be read. */
void check_error(GstMessage *message) {
    GError *error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    const bool refused = std::strstr(error->message, (picture_path + " cannot be read").c_str());
    if (refused && picture_is_whole)
        std::fprintf(stderr, "a whole picture: %s\n", error->message);
    g_error_free(error);
    REQUIRE(!refused || !picture_is_whole);
}

/* ---- frames ---- */

void fill(Input &in, GstBuffer *buffer) {
    GstMapInfo map;
    std::uint32_t state = in.raw<std::uint16_t>();
    const std::uint32_t blocks = in.below(4); // flat, noise, or fields
    REQUIRE(gst_buffer_map(buffer, &map, GST_MAP_WRITE));
    for (gsize i = 0; i < map.size; i++) {
        state = state * 1664525u + 1013904223u;
        map.data[i] = blocks == 0   ? 200
                      : blocks == 1 ? static_cast<std::uint8_t>(state >> 24)
                                    : static_cast<std::uint8_t>(i / 7 % blocks * 90 + state % 16);
    }
    gst_buffer_unmap(buffer, &map);
}

/* That it has as many planes as its format is a promise of whoever adds it. */
void add_meta(Input &in, GstBuffer *buffer, const GstVideoInfo &info) {
    GstVideoInfo said = info;
    const bool other = in.once_in(8);
    if (other)
        gst_video_info_set_format(&said, gst_video_format_from_string(one_of(in, formats)),
                                  1 + in.below(32), 1 + in.below(32));
    for (guint i = 0; i < GST_VIDEO_INFO_N_PLANES(&said); i++) {
        const auto stride = static_cast<guint>(said.stride[i]); // wraps
        said.stride[i] =
            static_cast<gint>(stride + (in.once_in(8) ? in.raw<guint>() : in.below(8)));
        said.offset[i] += in.once_in(8) ? in.raw<std::uint64_t>() : in.below(8);
    }
    gst_buffer_add_video_meta_full(buffer, static_cast<GstVideoFrameFlags>(in.below(4)),
                                   GST_VIDEO_INFO_FORMAT(&said), static_cast<guint>(said.width),
                                   static_cast<guint>(said.height), GST_VIDEO_INFO_N_PLANES(&said),
                                   said.offset, said.stride);
}

GstBuffer *read_frame(Input &in, const GstVideoInfo &info) {
    gsize size = info.size;
    if (in.once_in(8))
        size = in.raw<std::uint16_t>();
    else if (in.flag())
        size += in.below(256);
    GstBuffer *buffer = gst_buffer_new_allocate(nullptr, size, nullptr);
    fill(in, buffer);
    if (in.once_in(4)) { // in two memories
        const gsize first = size / 2;
        GstBuffer *whole = buffer;
        buffer = gst_buffer_copy_region(whole, GST_BUFFER_COPY_MEMORY, 0, first);
        gst_buffer_copy_into(buffer, whole, GST_BUFFER_COPY_MEMORY, first, size - first);
        gst_buffer_unref(whole);
    }
    if (!in.once_in(8))
        GST_BUFFER_PTS(buffer) = in.once_in(8) ? in.raw<guint64>() : 0;
    if (in.flag())
        add_meta(in, buffer, info);
    for (int regions = in.below(4) - 1; regions > 0; regions--)
        gst_buffer_add_video_region_of_interest_meta(
            buffer, in.flag() ? "seed" : "", read_number<guint>(in), read_number<guint>(in),
            read_number<guint>(in), read_number<guint>(in));
    return buffer;
}

/* To map a frame that is of another format than its meta says, or larger, is an error of whoever
   does. */
bool holds(GstBuffer *buffer, const GstVideoInfo &info) {
    const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
    GstVideoFrame frame;
    if (meta && (meta->format != GST_VIDEO_INFO_FORMAT(&info) ||
                 meta->width < static_cast<guint>(info.width) ||
                 meta->height < static_cast<guint>(info.height)))
        return false;
    if (!gst_video_frame_map(&frame, &info, buffer, GST_MAP_READ))
        return false;
    gst_video_frame_unmap(&frame);
    return true;
}

/* Reads all that caps say, which may be less than a meta, so that AddressSanitizer sees what is not
   there. */
void check_frame(GstBuffer *buffer, GstCaps *caps, const GstVideoInfo &in_info) {
    GstVideoInfo info;
    GstVideoFrame frame;
    REQUIRE(caps && gst_video_info_from_caps(&info, caps));
    REQUIRE(info.width == in_info.width && info.height == in_info.height);
    REQUIRE(gst_video_frame_map(&frame, &info, buffer, GST_MAP_READ));
    unsigned sum = 0;
    for (guint i = 0; i < GST_VIDEO_FRAME_N_COMPONENTS(&frame); i++)
        for (gint y = 0; y < GST_VIDEO_INFO_COMP_HEIGHT(&info, i); y++)
            for (gint x = 0; x < GST_VIDEO_INFO_COMP_WIDTH(&info, i); x++)
                sum += static_cast<const guint8 *>(GST_VIDEO_FRAME_COMP_DATA(
                    &frame, i))[y * GST_VIDEO_FRAME_COMP_STRIDE(&frame, i) +
                                x * GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, i)];
    [[maybe_unused]] volatile unsigned read = sum;
    gst_video_frame_unmap(&frame);
}

/* ---- an element between two pads ---- */

class Subject {
  public:
    Subject(GstElement *element, GstCaps *downstream)
        : element_(element), picky_(downstream != nullptr), bus_(gst_bus_new()),
          upstream_(gst_pad_new("upstream", GST_PAD_SRC)) {
        GstPadTemplate *pads =
            gst_pad_template_new("downstream", GST_PAD_SINK, GST_PAD_ALWAYS,
                                 downstream ? downstream : gst_caps_ref(GST_CAPS_ANY));
        if (downstream)
            gst_caps_unref(downstream);
        downstream_ = gst_pad_new_from_template(pads, "downstream");
        gst_object_unref(pads);
        gst_pad_set_chain_function(downstream_, take);
        gst_pad_set_element_private(downstream_, this);
        gst_element_set_bus(element, bus_);
        sink_ = gst_element_get_static_pad(element, "sink");
        src_ = gst_element_get_static_pad(element, "src");
        REQUIRE(gst_pad_link_full(upstream_, sink_, GST_PAD_LINK_CHECK_NOTHING) == GST_PAD_LINK_OK);
        REQUIRE(gst_pad_link_full(src_, downstream_, GST_PAD_LINK_CHECK_NOTHING) ==
                GST_PAD_LINK_OK);
        gst_pad_set_active(upstream_, TRUE);
        gst_pad_set_active(downstream_, TRUE);
        gst_pad_push_event(upstream_, gst_event_new_stream_start("fuzz"));
    }

    ~Subject() {
        set_state(GST_STATE_NULL);
        gst_clear_buffer(&taken_);
        gst_pad_set_active(upstream_, FALSE);
        gst_pad_set_active(downstream_, FALSE);
        gst_pad_unlink(upstream_, sink_);
        gst_pad_unlink(src_, downstream_);
        gst_bus_set_flushing(bus_, TRUE);
        gst_element_set_bus(element_, nullptr);
        for (GstPad *pad : {upstream_, downstream_, sink_, src_})
            gst_object_unref(pad);
        gst_object_unref(bus_);
        REQUIRE(GST_OBJECT_REFCOUNT_VALUE(element_) == 1);
        gst_object_unref(element_);
    }
    Subject(const Subject &) = delete;
    Subject &operator=(const Subject &) = delete;

    GstElement *element() const { return element_; }

    void set_state(GstState state) {
        const GstStateChangeReturn changed = gst_element_set_state(element_, state);
        REQUIRE(changed == GST_STATE_CHANGE_SUCCESS ||
                (changed == GST_STATE_CHANGE_FAILURE && posted_error()));
        running_ = changed == GST_STATE_CHANGE_SUCCESS && state >= GST_STATE_PAUSED;
        if (!running_)
            gst_pad_push_event(upstream_, gst_event_new_stream_start("fuzz"));
    }

    /* Anything may be asked. */
    void ask(Input &in, GstCaps *caps) {
        GstPad *pad = in.flag() ? src_ : sink_;
        GstCaps *answer = nullptr;
        switch (in.below(3)) {
        case 0:
            if (gst_caps_is_fixed(caps)) // else GStreamer refuses to ask
                gst_pad_query_accept_caps(pad, caps);
            break;
        case 1:
            answer = gst_pad_query_caps(pad, in.flag() ? caps : nullptr);
            REQUIRE(answer);
            gst_caps_unref(answer);
            break;
        default: {
            GstQuery *query = gst_query_new_allocation(in.once_in(8) ? nullptr : caps, in.flag());
            gst_pad_query(sink_, query);
            gst_query_unref(query);
        }
        }
    }

    /* Of fixed caps, as of a caps event. */
    void push_caps(GstCaps *caps) {
        if (!said_.caps || !gst_caps_is_equal(said_.caps, caps))
            told_ = false;
        gst_caps_replace(&said_.caps, caps);
        const bool taken = gst_pad_push_event(upstream_, gst_event_new_caps(caps));
        told_ = posted(GST_MESSAGE_WARNING) || told_;
        REQUIRE(taken || !running_ || picky_ || told_);
        GstSegment segment;
        gst_segment_init(&segment, GST_FORMAT_TIME);
        gst_pad_push_event(upstream_, gst_event_new_segment(&segment));
    }

    void push_frame(Input &in) {
        GstCaps *caps = gst_pad_get_current_caps(sink_);
        GstVideoInfo info;
        const bool known =
            caps && gst_video_info_from_caps(&info, caps) && info.size <= max_frame_bytes;
        gst_clear_caps(&caps);
        if (!known)
            return;
        GstBuffer *buffer = read_frame(in, info);
        const bool empty = gst_buffer_get_size(buffer) == 0; // it passes
        const bool whole = empty || holds(buffer, info);
        posted_error();
        const GstFlowReturn flow = gst_pad_push(upstream_, buffer);
        if (flow == GST_FLOW_OK) {
            REQUIRE(whole && taken_);
            caps = gst_pad_get_current_caps(downstream_);
            if (!empty)
                check_frame(taken_, caps, info);
            gst_clear_caps(&caps);
            frames_with_picture += with_pictures && has_picture(element_);
        } else {
            const bool posted = posted_error();
            told_ = told_ || (posted && flow == GST_FLOW_NOT_NEGOTIATED);
            REQUIRE(!taken_);
            REQUIRE(flow == GST_FLOW_ERROR            ? posted
                    : flow == GST_FLOW_NOT_NEGOTIATED ? picky_ || told_
                                                      : flow == GST_FLOW_FLUSHING && !running_);
        }
        gst_clear_buffer(&taken_);
    }

  private:
    struct Caps {
        GstCaps *caps = nullptr;
        ~Caps() { gst_clear_caps(&caps); }
    };

    static GstFlowReturn take(GstPad *pad, GstObject *, GstBuffer *buffer) {
        auto *self = static_cast<Subject *>(gst_pad_get_element_private(pad));
        REQUIRE(!self->taken_);
        self->taken_ = buffer;
        return GST_FLOW_OK;
    }

    /* Since it was asked last. */
    bool posted_error() { return posted(GST_MESSAGE_ERROR); }
    bool posted(GstMessageType type) {
        bool found = false;
        while (GstMessage *message = gst_bus_pop(bus_)) {
            found = found || GST_MESSAGE_TYPE(message) == type;
            if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR)
                check_error(message);
            gst_message_unref(message);
        }
        return found;
    }

    GstElement *element_;
    bool picky_, running_ = false;
    bool told_ = false; ///< why the caps are refused, which is said once
    GstBus *bus_;
    GstPad *upstream_, *downstream_, *sink_, *src_;
    GstBuffer *taken_ = nullptr;
    Caps said_;
};

/* Null where the text makes no element, or several. */
GstElement *parse(const std::string &text) {
    GError *error = nullptr;
    GstElement *element =
        gst_parse_launch_full(text.c_str(), nullptr, GST_PARSE_FLAG_FATAL_ERRORS, &error);
    REQUIRE((element == nullptr) == (error != nullptr));
    g_clear_error(&error);
    if (!element)
        return nullptr;
    gst_object_ref_sink(element);
    if (GST_IS_BIN(element))
        gst_clear_object(&element);
    return element;
}

GstElement *read_element(Input &in) {
    const char *factory = one_of(in, factories);
    GstElement *element =
        in.once_in(8) ? parse(std::string(factory) + " " + read_text(in)) : nullptr;
    return element ? element
                   : GST_ELEMENT(gst_object_ref_sink(gst_element_factory_make(factory, nullptr)));
}

/* ---- criticals ---- */

/* GObject refuses values out of range and properties that are read only, which newer GLib calls
   critical; and GStreamer the name of a structure, in the midst of text that it parses. */
bool is_refusal(const gchar *domain, const gchar *message) {
    return (g_strcmp0(domain, "GLib-GObject") == 0 &&
            (std::strstr(message, "out of range for property") ||
             std::strstr(message, "is not writable") ||
             std::strstr(message, "unable to set property"))) ||
           std::strcmp(message, "gst_structure_new_empty: assertion "
                                "'gst_structure_validate_name (name)' failed") == 0;
}

void on_log(const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer) {
    if (!(level & (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_ERROR)) || is_refusal(domain, message))
        return;
    std::fprintf(stderr, "%s: %s\n", domain, message);
    std::abort(); // which libFuzzer sees, unlike the trap of GLib
}

bool load_plugin(const char *name) {
    const gchar *list = g_getenv("GST_PLUGIN_SYSTEM_PATH_1_0");
    gchar **folders = g_strsplit(list && *list ? list : GST_PLUGINS, G_SEARCHPATH_SEPARATOR_S, 0);
    GstPlugin *plugin = nullptr;
    for (gchar **folder = folders; *folder && !plugin; folder++)
        plugin = gst_plugin_load_file((std::string(*folder) + "/libgst" + name + ".so").c_str(),
                                      nullptr);
    g_strfreev(folders);
    const bool found = plugin;
    gst_clear_object(&plugin);
    return found;
}

} // namespace

/* No plugin but this one, or those that read a picture besides; and no CUDA device. */
extern "C" int LLVMFuzzerInitialize(int *, char ***) {
    g_setenv("GST_REGISTRY_DISABLE", "yes", TRUE);
    g_setenv("CUDA_VISIBLE_DEVICES", "", TRUE);
    g_log_set_default_handler(on_log, nullptr);
    gst_init(nullptr, nullptr);
    gst_plugin_gpuvision_register();
    for (const char *name : {"coreelements", "playback", "typefindfunctions", "videoconvertscale",
                             "app", "png", "pnm"})
        if (with_pictures && !load_plugin(name)) {
            std::fprintf(stderr, "not run: the plugin %s of GStreamer not found\n", name);
            std::_Exit(77);
        }
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    Input in(data, size);
    picture_is_whole = false;
    frames_with_picture = 0;
    GstElement *element = read_element(in);
    Subject subject(element, in.once_in(8) ? read_caps(in) : nullptr);
    if (!in.once_in(8))
        subject.set_state(GST_STATE_PAUSED);
    int frames = 0;
    for (int steps = max_steps; steps > 0; steps--)
        switch (in.below(10)) {
        case 0:
            return 0;
        case 1:
        case 2:
        case 3:
            set_property(in, element);
            break;
        case 4:
            get_properties(element);
            break;
        case 5:
        case 6:
            if (frames++ < max_frames)
                subject.push_frame(in);
            break;
        case 7:
            if (GstCaps *caps = read_caps(in)) {
                subject.ask(in, caps);
                gst_caps_unref(caps);
            }
            break;
        case 8:
            if (GstCaps *caps = read_caps(in)) {
                if (gst_caps_is_fixed(caps))
                    subject.push_caps(caps);
                gst_caps_unref(caps);
            }
            break;
        default:
            subject.set_state(static_cast<GstState>(GST_STATE_NULL + in.below(4)));
        }
    return 0;
}

extern "C" void check_seed(const char *name) {
    if (with_pictures && std::string_view(name).substr(0, 6) == "whole-")
        REQUIRE(frames_with_picture > 0);
}
