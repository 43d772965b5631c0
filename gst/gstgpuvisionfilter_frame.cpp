/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstgpuvisionfilter_private.h"

#include <chrono>
#include <memory>
#include <optional>

#include "gstgpuvisionanalytics.h"
#include "gstgpuvisionframe.h"

namespace gpu_vision_filter {
namespace {

/* Frames of another CUDA context are processed where they are: everything is made anew there. */
void follow_context(GstGpuVisionFilter *self, GstBuffer *buffer) {
    auto *priv = private_of(self);
    if (priv->cuda->holds(buffer) || !priv->cuda->can_adopt(buffer, wanted_device(self)))
        return;
    GST_INFO_OBJECT(self, "taking over the CUDA context of the input");
    close_library(self);
    if (!priv->cuda->adopt(buffer))
        post_error(self, error_kind(GPV_ERR_DEVICE),
                   g_strdup("no stream in the CUDA context of the input"));
    else if (open_library(self)) {
        if (priv->cuda->is_open())
            return gst_base_transform_reconfigure_src(GST_BASE_TRANSFORM(self));
        close_library(self); /* it would compute on the CPU */
        post_error(self, error_kind(GPV_ERR_DEVICE), g_strdup(priv->log_error));
    }
}

/* Of a stream of mixed frames, where neighbours count. */
bool is_interlaced(GstGpuVisionFilter *self, GstBuffer *in) {
    const auto &info = private_of(self)->in_info;
    return !GST_GPU_VISION_FILTER_GET_CLASS(self)->takes_interlaced &&
           GST_VIDEO_INFO_INTERLACE_MODE(&info) == GST_VIDEO_INTERLACE_MODE_MIXED &&
           GST_BUFFER_FLAG_IS_SET(in, GST_VIDEO_BUFFER_FLAG_INTERLACED);
}

/* What cannot be processed goes on as it came, where the output is of the same kind. */
GstFlowReturn pass_interlaced(GstGpuVisionFilter *self) {
    auto *priv = private_of(self);
    const bool same = format_of(output_at(self, output_of_caps(self)), priv->cuda_frames) ==
                      GST_VIDEO_FORMAT_UNKNOWN;
    if (!priv->interlaced_said)
        GST_ELEMENT_WARNING(
            self, STREAM, WRONG_TYPE,
            ("Interlaced frames are in the stream, which are %s: put deinterlace in "
             "front of this element.",
             same ? "passed on as they are" : "dropped"),
            ("interlace-mode=mixed"));
    priv->interlaced_said = true;
    return same ? GST_FLOW_OK : GST_BASE_TRANSFORM_FLOW_DROPPED;
}

/* Of a pool that has no memory left, core says nothing on the bus. */
GstFlowReturn acquire_output_buffer(GstGpuVisionFilter *self, GstBuffer *in, GstBuffer **out) {
    const GstFlowReturn flow =
        base_class()->prepare_output_buffer(GST_BASE_TRANSFORM(self), in, out);
    if (flow == GST_FLOW_ERROR)
        post_error(self, error_kind(GPV_ERR_OUT_OF_MEMORY),
                   g_strdup("the buffer pool gave no buffer for the output frame"));
    return flow;
}

} // namespace

void gst_gpu_vision_filter_before_transform(GstBaseTransform *trans, GstBuffer *buffer) {
    const GstClockTime time =
        time_in<gst_segment_to_stream_time>(trans->segment, GST_BUFFER_PTS(buffer));
    if (GST_CLOCK_TIME_IS_VALID(time))
        gst_object_sync_values(GST_OBJECT(trans), time);
    if (private_of(trans)->cuda_frames)
        follow_context(GST_GPU_VISION_FILTER(trans), buffer);
}

namespace {

/* ---- what is wanted ---- */

/* One that this version cannot attach is an error before the first frame, and then a warning. */
bool may_have_mask(GstGpuVisionFilter *self) {
    auto *priv = private_of(self);
    if (gst_gpu_vision_analytics_has_masks() || priv->mask_refused)
        return true;
    priv->mask_refused = gst_gpu_vision_filter_refuse(
        self, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
        g_strdup("attach-mask=true needs this element to be built with gstreamer-analytics of "
                 "GStreamer 1.26 or newer: frames have no mask."),
        gst_version_string());
    return priv->mask_refused;
}

bool take_wishes(GstGpuVisionFilter *self) {
    auto *priv = private_of(self);
    GstGpuVisionWishes &wishes = priv->wishes;
    GST_OBJECT_LOCK(self);
    wishes = {priv->post_messages != FALSE, priv->attach_meta != FALSE, priv->attach_mask != FALSE,
              priv->roi == GST_GPU_VISION_ROI_META, priv->interval};
    GST_OBJECT_UNLOCK(self);
    wishes.mask = wishes.mask && wishes.attach &&
                  priv->output != GST_GPU_VISION_FILTER_GET_CLASS(self)->mask_output;
    if (wishes.mask && !may_have_mask(self))
        return false;
    wishes.mask = wishes.mask && !priv->mask_refused;
    return true;
}

} // namespace

/* To add metadata the frame has to be writable, but not its pixels. A crop goes on only where it is
   asked for. A buffer without bytes, such as fills a gap, passes. What is drawn into a region must
   not be seen in another one. */
GstFlowReturn gst_gpu_vision_filter_prepare_output_buffer(GstBaseTransform *trans, GstBuffer *in,
                                                          GstBuffer **out) {
    auto *self = GST_GPU_VISION_FILTER(trans);
    auto *priv = private_of(self);
    const bool interlaced = is_interlaced(self, in);
    priv->passes = interlaced || gst_buffer_get_size(in) == 0;
    if (priv->passes) {
        *out = in;
        return interlaced ? pass_interlaced(self) : GST_FLOW_OK;
    }
    priv->output = output_of_caps(self);
    if (!take_wishes(self))
        return GST_FLOW_ERROR;
    const auto [system, cuda, pixels] = output_at(self, priv->output);
    priv->repeats = repeats_last(self);
    if (priv->repeats && pixels != GST_GPU_VISION_PIXELS_KEPT) {
        *out = picture_again(self, in);
        return GST_FLOW_OK;
    }
    if (!priv->repeats) { /* its buffers may be wanted for this one */
        drop_last(self);
        find_parts(self, in);
    }
    const bool writable = gst_buffer_is_writable(in);
    const bool uncropped = gst_buffer_get_video_crop_meta(in) && !priv->crops_behind;
    const bool stays =
        !uncropped && (pixels == GST_GPU_VISION_PIXELS_KEPT ||
                       (pixels == GST_GPU_VISION_PIXELS_DRAWN && writable &&
                        gst_buffer_is_all_memory_writable(in) && priv->last->parts.size() <= 1));
    const bool same_format = (priv->cuda_frames ? cuda : system) == GST_VIDEO_FORMAT_UNKNOWN;
    priv->copies =
        !stays && same_format && (pixels != GST_GPU_VISION_PIXELS_NEW || priv->wishes.regions);
    if (!stays)
        return acquire_output_buffer(self, in, out);
    *out = writable ? in : gst_buffer_copy(in);
    return GST_FLOW_OK;
}

namespace {

/* ---- pixels ---- */

/* What the library is given of a frame. */
class MappedPair {
  public:
    /* Memory is mapped once: for reading, and at the same time for writing, it cannot be. */
    MappedPair(GstGpuVisionFilter *self, GstBuffer *in, GstBuffer *out,
               const GstGpuVisionPlace &place)
        : pixels(output_at(self, private_of(self)->output).pixels), in_place(in == out),
          copies(private_of(self)->copies),
          src(private_of(self)->in_info, in,
              in_place && pixels == GST_GPU_VISION_PIXELS_DRAWN ? GST_MAP_READWRITE : GST_MAP_READ,
              place) {
        if (pixels == GST_GPU_VISION_PIXELS_NEW || copies)
            dst.emplace(private_of(self)->out_info, out, GST_MAP_WRITE, place);
    }

    bool has_src() const { return static_cast<bool>(src); }
    bool has_dst() const { return !dst || *dst; }
    bool has_to() const { return pixels != GST_GPU_VISION_PIXELS_KEPT; }
    bool is_copied() const { return dst.has_value(); }
    const GstGpuVisionFrame &from() const { return src; }
    const GstGpuVisionFrame &to() const { return in_place ? src : *dst; }
    /* What is drawn over has to be there, and what is kept of a crop that is not seen behind, and
       what is outside of regions: that of the frame, or blank. */
    bool copy(GstGpuVisionCuda &cuda, gpv_stream stream, const GstGpuVisionFrame *blank) {
        if (!copies && !blank)
            return true;
        const GstGpuVisionFrame &copied = blank ? *blank : src;
        if (copied.view()->memory == GPV_MEMORY_CUDA)
            return cuda.copy(copied, *dst, stream);
        dst->copy(copied);
        return true;
    }
    gsize needed() const { return src ? dst->needed() : src.needed(); }

  private:
    const GstGpuVisionPixels pixels;
    const bool in_place, copies;
    const GstGpuVisionFrame src;
    std::optional<GstGpuVisionFrame> dst;
};

/* A buffer that is large enough says of itself that it has another frame. */
void post_misfit(GstGpuVisionFilter *self, const gchar *which, GstBuffer *buffer, gsize needed) {
    const gsize size = gst_buffer_get_size(buffer);
    gchar *why = needed > size ? g_strdup_printf("that takes %" G_GSIZE_FORMAT
                                                 " bytes, and it has %" G_GSIZE_FORMAT,
                                                 needed, size)
                               : g_strdup("its GstVideoMeta or GstVideoCropMeta is of another one");
    GST_ELEMENT_ERROR(
        self, STREAM, FAILED,
        ("The %s buffer does not hold the frame that its caps describe: %s.", which, why),
        ("%" GST_PTR_FORMAT, buffer));
    g_free(why);
}

/* ---- processing ---- */

/* What was learned of a region says nothing of another one, nor of a frame. */
bool begins_anew(GstGpuVisionFilter *self) {
    auto *priv = private_of(self);
    GstGpuVisionLast &last = *priv->last;
    const gint regions = priv->wishes.regions ? static_cast<gint>(last.parts.size()) : -1;
    const bool others = regions != last.regions_before || regions > 1;
    last.regions_before = regions;
    return g_atomic_int_compare_and_exchange(&priv->forget, 1, 0) || others;
}

using Clock = std::chrono::steady_clock;

/* Adds how long it took to spent. */
GstGpuVisionOutcome process(GstGpuVisionFilter *self, const MappedPair &frames,
                            const GstGpuVisionFrame *mask, gpv_stream stream,
                            const GstGpuVisionBox &box, Clock::duration &spent) {
    const auto *priv = private_of(self);
    const auto view_of = [&box](const GstGpuVisionFrame &frame) {
        return frame.part(box.x, box.y, box.width, box.height);
    };
    const gpv_image src = view_of(frames.from());
    const gpv_image dst = frames.has_to() ? view_of(frames.to()) : gpv_image{};
    const gpv_image numbers = mask ? view_of(*mask) : gpv_image{};
    const GstGpuVisionJob job = {stream,
                                 &src,
                                 frames.has_to() ? &dst : nullptr,
                                 mask ? &numbers : nullptr,
                                 priv->output,
                                 priv->wishes.attach || priv->wishes.post,
                                 priv->wishes.attach};
    const auto begin = Clock::now();
    const GstGpuVisionOutcome outcome = GST_GPU_VISION_FILTER_GET_CLASS(self)->process(self, &job);
    spent += Clock::now() - begin;
    return outcome;
}

/* By their layer. */
using MappedMasks = std::vector<std::unique_ptr<GstGpuVisionFrame>>;

/* Of a frame that goes on with its pixels as they were, and is not processed, the copy alone. */
gpv_status process_parts(GstGpuVisionFilter *self, const MappedPair &frames,
                         const MappedMasks &masks, const GstGpuVisionCuda::Queue &queue,
                         const GstGpuVisionResults &results) {
    const auto *priv = private_of(self);
    auto &parts = priv->last->parts;
    const auto *klass = GST_GPU_VISION_FILTER_GET_CLASS(self);
    const gsize n = priv->repeats ? 0 : parts.size();
    Clock::duration spent{};
    gpv_status status = GPV_OK;
    bool finished = n > 0 || !frames.is_copied();
    for (gsize i = 0; i < n && status == GPV_OK; i++) {
        if (i > 0 && klass->forget)
            klass->forget(self);
        const auto *mask = masks.empty() ? nullptr : masks[parts[i].layer].get();
        const auto outcome = process(self, frames, mask, queue.stream, parts[i].region.box, spent);
        status = outcome.status;
        finished = finished && outcome.finished;
        if (status == GPV_OK)
            write_results(self, parts[i], results);
    }
    const auto begin = Clock::now();
    if (!finished || status != GPV_OK) { /* what was enqueued before a failure counts, too */
        const gpv_status ended = queue.wait
                                     ? gpv_stream_sync(priv->context, queue.stream)
                                     : gpv_stream_follow(priv->context, queue.leader, queue.stream);
        status = status == GPV_OK ? ended : status;
    }
    spent += Clock::now() - begin;
    if (status == GPV_OK && n > 0)
        record_time(self, std::chrono::duration<gdouble, std::micro>(spent).count());
    return status;
}

/* Where pixels are kept or drawn, out is in, or shares its memory, or becomes a copy. Masks
   that are wanted are acquired, and the caller's also after a failure. */
gboolean process_buffers(GstGpuVisionFilter *self, GstBuffer *in, GstBuffer *out,
                         const GstGpuVisionResults &results, std::vector<GstBuffer *> &masks) {
    auto *priv = private_of(self);
    const auto *klass = GST_GPU_VISION_FILTER_GET_CLASS(self);
    const bool cuda = priv->cuda_frames;
    if (!priv->context) /* follow_context() has said why */
        return FALSE;
    if (cuda && !(priv->cuda->holds(in) && priv->cuda->holds(out))) {
        GST_ELEMENT_ERROR(self, STREAM, FAILED,
                          ("The %s buffer is not CUDAMemory of the device in use.",
                           priv->cuda->holds(in) ? "output" : "input"),
                          ("in %" GST_PTR_FORMAT ", out %" GST_PTR_FORMAT, in, out));
        return FALSE;
    }
    if (!priv->repeats && begins_anew(self) && klass->forget)
        klass->forget(self);
    if (!priv->repeats && klass->examine && !klass->examine(self, in, &priv->in_info))
        return FALSE;
    const GstGpuVisionPlace place = cuda ? priv->cuda->place() : GstGpuVisionPlace{};
    MappedPair frames(self, in, out, place);
    if (!frames.has_src() || !frames.has_dst()) {
        post_misfit(self, frames.has_src() ? "output" : "input", frames.has_src() ? out : in,
                    frames.needed());
        return FALSE;
    }
    MappedMasks numbers;
    std::optional<GstGpuVisionFrame> blank;
    if (priv->wishes.mask && !priv->repeats)
        for (const GstGpuVisionPart &part : priv->last->parts) {
            if (part.layer < masks.size())
                continue;
            GstBuffer *mask = acquire_mask(self);
            if (!mask)
                return FALSE;
            masks.push_back(mask);
            numbers.push_back(
                std::make_unique<GstGpuVisionFrame>(priv->mask_info, mask, GST_MAP_WRITE, place));
            if (!*numbers.back()) {
                post_error(self, error_kind(GPV_ERR_OUT_OF_MEMORY), g_strdup("to map a mask"));
                return FALSE;
            }
        }
    if (priv->wishes.regions && !priv->copies && frames.has_to() && in != out) {
        if (!have_blank(self))
            return FALSE;
        blank.emplace(priv->out_info, priv->blank, GST_MAP_READ, place);
    }
    const gpv_stream own = priv->cuda->stream();
    const GstGpuVisionCuda::Queue queue =
        cuda ? priv->cuda->queue(in, out) : GstGpuVisionCuda::Queue{own, own, true};
    gpv_status status = gpv_stream_follow(priv->context, queue.stream, queue.leader);
    if (status == GPV_OK &&
        !masks.empty()) /* on the element's own stream somebody may still read it */
        status = gpv_stream_follow(priv->context, queue.stream, own);
    if (status != GPV_OK) {
        post_library_error(self, status);
        return FALSE;
    }
    if (!frames.copy(*priv->cuda, queue.stream, blank ? &*blank : nullptr)) {
        post_error(self, error_kind(GPV_ERR_DEVICE), g_strdup("the frame could not be copied"));
        return FALSE;
    }
    status = process_parts(self, frames, numbers, queue, results);
    if (status != GPV_OK)
        post_library_error(self, status);
    return status == GPV_OK;
}

bool process_frame(GstGpuVisionFilter *self, GstBuffer *in, GstBuffer *out) {
    const auto *priv = private_of(self);
    const GstGpuVisionResults results = new_results(self, out);
    std::vector<GstBuffer *> masks;
    const bool done = process_buffers(self, in, out, results, masks);
    for (GstBuffer *mask : masks)
        finish_mask(mask);
    if (done && !masks.empty())
        for (GstGpuVisionPart &part : priv->last->parts)
            part.mask = part_of_mask(masks[part.layer], part.region.box);
    for (GstBuffer *mask : masks)
        gst_buffer_unref(mask);
    const bool is_kept = done && priv->wishes.interval > 1;
    if (is_kept)
        keep(self, results);
    if (done)
        publish(self, out, results.posted);
    else if (results.posted)
        gst_structure_free(results.posted);
    if (!is_kept)
        drop_last(self);
    else if (output_at(self, priv->output).pixels != GST_GPU_VISION_PIXELS_KEPT)
        priv->last->picture = gst_buffer_ref(out);
    return done;
}

bool repeat_frame(GstGpuVisionFilter *self, GstBuffer *in, GstBuffer *out) {
    const auto *priv = private_of(self);
    const bool is_kept = output_at(self, priv->output).pixels == GST_GPU_VISION_PIXELS_KEPT;
    std::vector<GstBuffer *> none;
    if (is_kept && priv->copies && !process_buffers(self, in, out, {}, none))
        return false;
    const GstGpuVisionResults results = new_results(self, out);
    repeat_results(self, results);
    publish(self, out, results.posted);
    return true;
}

} // namespace

GstFlowReturn gst_gpu_vision_filter_transform(GstBaseTransform *trans, GstBuffer *in,
                                              GstBuffer *out) {
    auto *self = GST_GPU_VISION_FILTER(trans);
    const auto *priv = private_of(self);
    if (priv->passes)
        return GST_FLOW_OK;
    const bool done = priv->repeats ? repeat_frame(self, in, out) : process_frame(self, in, out);
    return done ? GST_FLOW_OK : GST_FLOW_ERROR;
}

/*
 * To a buffer of our own. Size and geometry stay, so whatever describes the frame still holds; but
 * it has nothing outside of the crop any more.
 */
gboolean gst_gpu_vision_filter_transform_meta(GstBaseTransform *, GstBuffer *, GstMeta *meta,
                                              GstBuffer *) {
    return meta->info->api != GST_VIDEO_CROP_META_API_TYPE &&
           !gst_meta_api_type_has_tag(
               meta->info->api, g_quark_from_static_string(GST_META_TAG_MEMORY_REFERENCE_STR));
}

} // namespace gpu_vision_filter
