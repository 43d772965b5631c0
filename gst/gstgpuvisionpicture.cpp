/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstgpuvisionpicture.h"

#include <gst/video/video.h>

#include <cstring>

namespace {

constexpr GstClockTime read_timeout = 10 * GST_SECOND;

GstElement *make_pipeline(const gchar *path, gint width, gint height, GError **error) {
    gchar *size = width > 0 ? g_strdup_printf(",width=%d,height=%d", width, height) : g_strdup("");
    gchar *text = g_strdup_printf("filesrc name=file ! decodebin ! videoconvert dither=none ! "
                                  "videoscale method=nearest-neighbour add-borders=false ! "
                                  "video/x-raw,format=GRAY8%s ! appsink name=picture",
                                  size);
    GstElement *pipeline = gst_parse_launch_full(text, nullptr, GST_PARSE_FLAG_FATAL_ERRORS, error);
    g_free(text);
    g_free(size);
    if (!pipeline)
        return nullptr;
    GstElement *file = gst_bin_get_by_name(GST_BIN(pipeline), "file");
    g_object_set(file, "location", path, nullptr);
    gst_object_unref(file);
    return pipeline;
}

/* Transfer full. NULL, with the reason, where there is no picture. */
GstSample *preroll(GstElement *pipeline, GError **error, gchar **debug) {
    GstBus *bus = gst_element_get_bus(pipeline);
    gst_element_set_state(pipeline, GST_STATE_PAUSED);
    GstMessage *message = gst_bus_timed_pop_filtered(
        bus, read_timeout,
        static_cast<GstMessageType>(GST_MESSAGE_ASYNC_DONE | GST_MESSAGE_ERROR | GST_MESSAGE_EOS));
    GstSample *sample = nullptr;
    if (message && GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
        gst_message_parse_error(message, error, debug);
    } else if (message) {
        GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "picture");
        g_signal_emit_by_name(sink, "try-pull-preroll", read_timeout, &sample);
        gst_object_unref(sink);
    }
    if (!sample && !*error)
        *error = message ? g_error_new_literal(GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
                                               "There is no picture in it.")
                         : g_error_new(GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
                                       "There was no picture within %d seconds.",
                                       static_cast<int>(read_timeout / GST_SECOND));
    gst_clear_message(&message);
    gst_object_unref(bus);
    return sample;
}

GstGpuVisionPicture picture_of(GstSample *sample) {
    GstVideoInfo info;
    GstVideoFrame frame;
    if (!gst_video_info_from_caps(&info, gst_sample_get_caps(sample)) ||
        !gst_video_frame_map(&frame, &info, gst_sample_get_buffer(sample), GST_MAP_READ))
        return {};
    const auto width = static_cast<gsize>(GST_VIDEO_FRAME_WIDTH(&frame));
    const auto height = static_cast<gsize>(GST_VIDEO_FRAME_HEIGHT(&frame));
    auto *pixels = static_cast<guint8 *>(g_malloc(width * height));
    for (gsize y = 0; y < height; y++)
        std::memcpy(pixels + y * width,
                    static_cast<const guint8 *>(GST_VIDEO_FRAME_PLANE_DATA(&frame, 0)) +
                        y * static_cast<gsize>(GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0)),
                    width);
    const GstGpuVisionPicture picture = {pixels, GST_VIDEO_FRAME_WIDTH(&frame),
                                         GST_VIDEO_FRAME_HEIGHT(&frame)};
    gst_video_frame_unmap(&frame);
    return picture;
}

GstGpuVisionPicture decode(const gchar *path, gint width, gint height, GError **error,
                           gchar **debug) {
    GstGpuVisionPicture picture = {};
    GstElement *pipeline = make_pipeline(path, width, height, error);
    if (!pipeline)
        return picture;
    if (GstSample *sample = preroll(pipeline, error, debug)) {
        picture = picture_of(sample);
        gst_sample_unref(sample);
    }
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(pipeline);
    return picture;
}

} // namespace

/* Opening what is no file, such as a pipe, may take as long as it likes. */
gboolean gst_gpu_vision_picture_read(GstGpuVisionFilter *filter, const gchar *property,
                                     const gchar *path, gint width, gint height,
                                     GstGpuVisionPicture *picture) {
    GError *error = nullptr;
    gchar *debug = nullptr;
    *picture = {};
    if (g_file_test(path, G_FILE_TEST_IS_REGULAR))
        *picture = decode(path, width, height, &error, &debug);
    else
        error = g_error_new_literal(GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ,
                                    "there is no such file.");
    const gboolean goes_on =
        picture->pixels || gst_gpu_vision_filter_refuse(
                               filter, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ,
                               g_strdup_printf("%s=%s cannot be read: %s", property, path,
                                               error ? error->message : "It cannot be mapped."),
                               g_strdup(debug ? debug : "no details"));
    g_clear_error(&error);
    g_free(debug);
    return goes_on;
}

GstGpuVisionPicture gst_gpu_vision_picture_scaled(const GstGpuVisionPicture *picture, gint width,
                                                  gint height) {
    auto *pixels =
        static_cast<guint8 *>(g_malloc(static_cast<gsize>(width) * static_cast<gsize>(height)));
    const auto nearest = [](gint at, gint from, gint to) {
        return static_cast<gsize>((2 * gint64{at} + 1) * from / (2 * gint64{to}));
    };
    for (gint y = 0, i = 0; y < height; y++)
        for (gint x = 0; x < width; x++)
            pixels[i++] = picture->pixels[nearest(y, picture->height, height) *
                                              static_cast<gsize>(picture->width) +
                                          nearest(x, picture->width, width)];
    return {pixels, width, height};
}

void gst_gpu_vision_picture_clear(GstGpuVisionPicture *picture) {
    g_free(picture->pixels);
    *picture = {};
}

gpv_image gst_gpu_vision_picture_view(const GstGpuVisionPicture *picture) {
    gpv_image image;
    gpv_image_wrap(&image, sizeof image, GPV_FORMAT_GRAY8, picture->width, picture->height,
                   picture->pixels, 0);
    return image;
}
