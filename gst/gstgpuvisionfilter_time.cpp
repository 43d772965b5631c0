/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstgpuvisionfilter_private.h"

#include <algorithm>
#include <iterator>

namespace gpu_vision_filter {
namespace {

constexpr guint64 frames_between_looks = 16; /* at the latency */

gdouble percentile_99(const GstGpuVisionTimes &times) {
    gdouble sorted[std::size(GstGpuVisionTimes{}.recent)];
    const auto count = std::min<guint64>(times.frames, std::size(sorted));
    if (count == 0)
        return 0;
    std::copy_n(times.recent, count, sorted);
    const auto rank = (count * 99 + 99) / 100 - 1;
    std::nth_element(sorted, sorted + rank, sorted + count);
    return sorted[rank];
}

/* Of the latest ones but the first of all, which also makes what later ones use; us. */
gdouble mean_time(const GstGpuVisionTimes &times) {
    const guint64 frames = std::min(times.frames - 1, frames_between_looks);
    gdouble sum = 0;
    for (guint64 i = 1; i <= frames; i++)
        sum += times.recent[(times.frames - i) % std::size(times.recent)];
    return sum / static_cast<gdouble>(frames);
}

/* us, or 0 where it is not known. */
gdouble frame_duration(const GstVideoInfo &info) {
    return GST_VIDEO_INFO_FPS_N(&info) > 0
               ? 1e6 * GST_VIDEO_INFO_FPS_D(&info) / GST_VIDEO_INFO_FPS_N(&info)
               : 0;
}

/*
 * An element that is done before the next frame comes delays nothing that a sink could not make up
 * for. One that is not delays each frame by the time that it takes. What grows or shrinks a little
 * is not told anew, as all sinks then wait for their new latency.
 */
GstClockTime latency_of(const GstGpuVisionTimes &times, gdouble duration, GstClockTime before) {
    const gdouble mean = mean_time(times), now = static_cast<gdouble>(before) / 1e3;
    if (duration <= 0 || mean < (before ? 0.8 : 1) * duration)
        return 0;
    const bool holds = times.longest <= now && mean > 0.5 * now;
    return holds ? before : static_cast<GstClockTime>(1e3 * times.longest);
}

} // namespace

/* Called under the object lock. */
GstStructure *make_stats(const GstGpuVisionFilterPrivate &priv) {
    const auto &times = priv.times;
    const gdouble mean = times.frames ? times.sum / static_cast<gdouble>(times.frames) : 0;
    const gchar *name =
        priv.running == GPV_BACKEND_AUTO ? "none" : backends[priv.running].value_nick;
    return gst_structure_new(
        "stats", "frames", G_TYPE_UINT64, times.frames, "backend", G_TYPE_STRING, name, "device",
        G_TYPE_STRING, priv.device_name, "time-us-last", G_TYPE_DOUBLE, times.last, "time-us-mean",
        G_TYPE_DOUBLE, mean, "time-us-p99", G_TYPE_DOUBLE, percentile_99(times), "uploads",
        G_TYPE_UINT64, times.uploads, "downloads", G_TYPE_UINT64, times.downloads, nullptr);
}

void record_time(GstGpuVisionFilter *self, gdouble us) {
    auto *priv = private_of(self);
    GST_OBJECT_LOCK(self);
    auto &times = priv->times;
    times.recent[times.frames++ % std::size(times.recent)] = us;
    times.last = us;
    times.sum += us;
    if (times.frames > 1)
        times.longest = std::max(times.longest, us);
    if (priv->running == GPV_BACKEND_CUDA && !priv->cuda_frames) {
        times.uploads++;
        times.downloads +=
            output_at(self, priv->output).pixels == GST_GPU_VISION_PIXELS_NEW ? 1 : 0;
    }
    const bool full = times.frames % frames_between_looks == 0;
    bool changed = false;
    if (times.frames > 1 && (full || times.frames < frames_between_looks)) {
        const GstClockTime latency =
            latency_of(times, frame_duration(priv->in_info), priv->latency);
        changed = latency != priv->latency;
        priv->latency = latency;
        times.longest = full ? 0 : times.longest;
    }
    GST_OBJECT_UNLOCK(self);
    if (changed)
        gst_element_post_message(GST_ELEMENT(self), gst_message_new_latency(GST_OBJECT(self)));
}

/* To what those in front of this element have answered. */
void add_latency(GstGpuVisionFilter *self, GstQuery *query) {
    gboolean live = FALSE;
    GstClockTime minimum = 0, maximum = 0;
    gst_query_parse_latency(query, &live, &minimum, &maximum);
    GST_OBJECT_LOCK(self);
    const GstClockTime own = private_of(self)->latency;
    GST_OBJECT_UNLOCK(self);
    if (GST_CLOCK_TIME_IS_VALID(maximum))
        maximum += own;
    gst_query_set_latency(query, live, minimum + own, maximum);
}

/* Whether a frame has been processed since the last start. */
bool has_processed(GstGpuVisionFilter *self) {
    GST_OBJECT_LOCK(self);
    const bool result = private_of(self)->times.frames > 0;
    GST_OBJECT_UNLOCK(self);
    return result;
}

} // namespace gpu_vision_filter
