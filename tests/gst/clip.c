/* SPDX-License-Identifier: BSD-2-Clause */
#include "clip.h"

#include <math.h>

GstBuffer *photograph(void) {
    static const gchar header[] = "P6\n160 120\n255\n";
    enum {
        header_size = sizeof header - 1,
        pixel_bytes = 3 * photograph_width * photograph_height
    };
    GstBuffer *buffer = buffer_of_size(pixel_bytes);
    g_autofree gchar *bytes = NULL;
    gsize size = 0;
    fail_unless(g_file_get_contents(GPV_TEST_PHOTOGRAPH, &bytes, &size, NULL));
    fail_unless_equals_int(size, header_size + pixel_bytes);
    fail_unless(memcmp(bytes, header, header_size) == 0);
    gst_buffer_fill(buffer, 0, bytes + header_size, pixel_bytes);
    return buffer;
}

/* Between its four pixels. */
static guint8 sample_at(const guint8 *picture, gdouble x, gdouble y, gint channel) {
    const gint left = (gint)x, top = (gint)y;
    const gdouble u = x - left, v = y - top;
    const guint8 *upper = picture + 3 * (top * photograph_width + left) + channel;
    const guint8 *lower = upper + 3 * photograph_width;
    return (guint8)lrint((1 - v) * ((1 - u) * upper[0] + u * upper[3]) +
                         v * ((1 - u) * lower[0] + u * lower[3]));
}

GstBuffer *camera_frame(const GstVideoInfo *info, guint number) {
    const gint width = info->width, height = info->height;
    const GstVideoInfo rgb = make_info("RGB", width, height);
    g_autoptr(GstHarness) convert = gst_harness_new("videoconvert");
    g_autoptr(GstBuffer) picture = photograph();
    const gdouble turn = 2 * G_PI * number / 25, part = 0.55 + 0.2 * cos(turn);
    const gdouble seen_x = part * (photograph_width - 2), seen_y = part * (photograph_height - 2);
    const gdouble left = (photograph_width - 2 - seen_x) * (0.5 + 0.4 * cos(turn));
    const gdouble top = (photograph_height - 2 - seen_y) * (0.5 + 0.4 * sin(turn));
    GstBuffer *buffer = buffer_of_size((gsize)width * (gsize)height * 3);
    GstMapInfo from, to;
    fail_unless(width % 4 == 0, "GStreamer pads the rows of RGB");
    fail_unless(gst_buffer_map(picture, &from, GST_MAP_READ));
    fail_unless(gst_buffer_map(buffer, &to, GST_MAP_WRITE));
    for (gint y = 0; y < height; y++)
        for (gint x = 0; x < width; x++)
            for (gint channel = 0; channel < 3; channel++)
                to.data[3 * (y * width + x) + channel] = sample_at(
                    from.data, left + seen_x * x / width, top + seen_y * y / height, channel);
    gst_buffer_unmap(buffer, &to);
    gst_buffer_unmap(picture, &from);
    GST_BUFFER_PTS(buffer) = number * GST_SECOND / 25;
    gst_harness_set_caps(convert, gst_video_info_to_caps(&rgb), gst_video_info_to_caps(info));
    return push_and_pull(convert, buffer);
}

void write_clip(const File *file, gint width, gint height, guint frames) {
    g_autofree gchar *text =
        g_strdup_printf("appsrc name=source format=time caps=video/x-raw,format=RGB,"
                        "width=%d,height=%d,framerate=25/1 ! videoconvert ! "
                        "jpegenc quality=95 ! matroskamux ! filesink location=%s",
                        width, height, file->path);
    g_autoptr(GstElement) pipeline = launch(text);
    g_autoptr(GstElement) source = gst_bin_get_by_name(GST_BIN(pipeline), "source");
    const GstVideoInfo info = make_info("RGB", width, height);
    GstFlowReturn flow = GST_FLOW_OK;
    fail_if(gst_element_set_state(pipeline, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE);
    for (guint i = 0; i < frames; i++) {
        g_autoptr(GstBuffer) frame = camera_frame(&info, i);
        g_signal_emit_by_name(source, "push-buffer", frame, &flow);
        fail_unless_equals_int(flow, GST_FLOW_OK);
    }
    g_signal_emit_by_name(source, "end-of-stream", &flow);
    wait_for_eos(pipeline);
    reach(pipeline, GST_STATE_NULL);
}

int run_with_clips(const gchar *part) {
    return run_with(part, "appsrc", "videoconvert", "jpegenc", "jpegdec", "matroskamux",
                    "matroskademux", "decodebin", NULL);
}
