/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstgpuvisionfilter_private.h"

#include <algorithm>

namespace gpu_vision_filter {
namespace {

struct PoolWishes {
    GstCaps *caps;
    guint size, min, max;
    bool video_meta;
};

/* On success size is that of the pool's buffers, which may be more. */
bool configure_pool(GstGpuVisionFilter *self, GstBufferPool *pool, PoolWishes &wishes) {
    GstStructure *config = gst_buffer_pool_get_config(pool);
    gst_buffer_pool_config_set_params(config, wishes.caps, wishes.size, wishes.min, wishes.max);
    if (wishes.video_meta && gst_buffer_pool_has_option(pool, GST_BUFFER_POOL_OPTION_VIDEO_META))
        gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
    if (is_cuda_memory(wishes.caps))
        private_of(self)->cuda->configure(config);
    if (!gst_buffer_pool_set_config(pool, config))
        return false;
    config = gst_buffer_pool_get_config(pool);
    gst_buffer_pool_config_get_params(config, nullptr, &wishes.size, nullptr, nullptr);
    gst_structure_free(config);
    return true;
}

/* NULL where there is no memory for it. */
GstBufferPool *make_pool(GstGpuVisionFilter *self, PoolWishes &wishes) {
    GstBufferPool *pool = is_cuda_memory(wishes.caps) ? private_of(self)->cuda->new_pool()
                                                      : gst_video_buffer_pool_new();
    if (pool && !configure_pool(self, pool, wishes))
        gst_clear_object(&pool);
    return pool;
}

} // namespace

gboolean gst_gpu_vision_filter_propose_allocation(GstBaseTransform *trans, GstQuery *decide,
                                                  GstQuery *query) {
    auto *self = GST_GPU_VISION_FILTER(trans);
    GstCaps *caps = nullptr;
    gboolean need_pool = FALSE;
    GstVideoInfo info;
    if (output_in_force(self).pixels !=
        GST_GPU_VISION_PIXELS_NEW) /* downstream gets these buffers */
        return base_class()->propose_allocation(trans, nullptr, query);
    gst_query_parse_allocation(query, &caps, &need_pool);
    if (!caps || !gst_caps_is_fixed(caps) || !gst_video_info_from_caps(&info, caps) ||
        !takes(self, trans->sinkpad, caps) ||
        !base_class()->propose_allocation(trans, decide, query))
        return FALSE;
    PoolWishes wishes = {caps, static_cast<guint>(info.size), 0, 0, true};
    GstBufferPool *pool = need_pool ? make_pool(self, wishes) : nullptr;
    gst_query_add_allocation_pool(query, pool, wishes.size, 0, 0);
    for (const GType api : {GST_VIDEO_META_API_TYPE, GST_VIDEO_CROP_META_API_TYPE})
        gst_query_add_allocation_meta(query, api, nullptr);
    gst_clear_object(&pool);
    return TRUE;
}

/* Downstream's pool if it offers one that fits, else our own. */
gboolean gst_gpu_vision_filter_decide_allocation(GstBaseTransform *trans, GstQuery *query) {
    auto *self = GST_GPU_VISION_FILTER(trans);
    GstVideoInfo info;
    GstBufferPool *pool = nullptr;
    PoolWishes wishes = {};
    const bool offered = gst_query_get_n_allocation_pools(query) > 0;
    gst_query_parse_allocation(query, &wishes.caps, nullptr);
    if (!wishes.caps || !gst_video_info_from_caps(&info, wishes.caps))
        return FALSE;
    if (offered)
        gst_query_parse_nth_allocation_pool(query, 0, &pool, &wishes.size, &wishes.min,
                                            &wishes.max);
    wishes.size = std::max(wishes.size, static_cast<guint>(info.size));
    private_of(self)->crops_behind =
        gst_query_find_allocation_meta(query, GST_VIDEO_CROP_META_API_TYPE, nullptr);
    wishes.video_meta = gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
    if (pool && is_cuda_memory(wishes.caps) && !private_of(self)->cuda->shares(pool))
        gst_clear_object(&pool);
    if (pool && !configure_pool(self, pool, wishes))
        gst_clear_object(&pool);
    if (!pool) {
        wishes.max = 0; /* it was the limit of a pool that is not used */
        pool = make_pool(self, wishes);
    }
    if (!pool) {
        post_error(self, error_kind(GPV_ERR_OUT_OF_MEMORY), gst_caps_to_string(wishes.caps));
        return FALSE;
    }
    if (offered)
        gst_query_set_nth_allocation_pool(query, 0, pool, wishes.size, wishes.min, wishes.max);
    else
        gst_query_add_allocation_pool(query, pool, wishes.size, wishes.min, wishes.max);
    gst_object_unref(pool);
    return base_class()->decide_allocation(trans, query);
}

/* ---- masks ---- */

namespace {

/* libgstcuda knows no GRAY8, of which the first plane of NV12 is one. */
void describe_mask(GstBuffer *mask, GstVideoFormat format) {
    GstVideoMeta *meta = gst_buffer_get_video_meta(mask);
    meta->format = format;
    meta->n_planes = format == GST_VIDEO_FORMAT_NV12 ? 2 : 1;
}

/* Active. NULL where there is no memory for it. */
GstBufferPool *make_frames(GstGpuVisionFilter *self, GstVideoInfo &info) {
    const bool cuda = private_of(self)->cuda_frames;
    GstCaps *caps = gst_video_info_to_caps(&info);
    if (cuda)
        gst_caps_set_features_simple(caps,
                                     gst_caps_features_new(GST_GPU_VISION_CUDA_MEMORY, nullptr));
    PoolWishes wishes = {caps, static_cast<guint>(info.size), 0, 0, true};
    GstBufferPool *pool = make_pool(self, wishes);
    if (pool && !gst_buffer_pool_set_active(pool, TRUE))
        gst_clear_object(&pool);
    gst_caps_unref(caps);
    return pool;
}

GstBufferPool *make_masks(GstGpuVisionFilter *self) {
    auto *priv = private_of(self);
    gst_video_info_set_format(&priv->mask_info,
                              priv->cuda_frames ? GST_VIDEO_FORMAT_NV12 : GST_VIDEO_FORMAT_GRAY8,
                              static_cast<guint>(GST_VIDEO_INFO_WIDTH(&priv->in_info)),
                              static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&priv->in_info)));
    return make_frames(self, priv->mask_info);
}

/* Luma, or labels, of 0, and chroma without a colour, as the library writes them. */
bool clear(GstBuffer *buffer, const GstVideoInfo &info) {
    GstVideoFrame frame;
    if (!gst_video_frame_map(&frame, &info, buffer, GST_MAP_WRITE))
        return false;
    const bool wide = GST_VIDEO_INFO_COMP_DEPTH(&info, 0) > 8;
    for (guint p = 0; p < GST_VIDEO_FRAME_N_PLANES(&frame); p++) {
        auto *row = static_cast<guint8 *>(GST_VIDEO_FRAME_PLANE_DATA(&frame, p));
        const gint bytes = GST_VIDEO_FRAME_PLANE_STRIDE(&frame, p);
        const gint rows = GST_VIDEO_FRAME_COMP_HEIGHT(&frame, static_cast<gint>(p));
        for (gint y = 0; y < rows; y++, row += bytes)
            for (gint x = 0; x < bytes; x++)
                row[x] = p > 0 && (!wide || x % 2) ? 0x80 : 0;
    }
    gst_video_frame_unmap(&frame);
    return true;
}

} // namespace

GstBuffer *acquire_mask(GstGpuVisionFilter *self) {
    auto *priv = private_of(self);
    GstBuffer *mask = nullptr;
    if (!priv->masks)
        priv->masks = make_masks(self);
    if (priv->masks && gst_buffer_pool_acquire_buffer(priv->masks, &mask, nullptr) == GST_FLOW_OK)
        describe_mask(mask, GST_VIDEO_INFO_FORMAT(&priv->mask_info));
    else
        post_error(self, error_kind(GPV_ERR_OUT_OF_MEMORY), g_strdup("for a mask of the frame"));
    return mask;
}

void finish_mask(GstBuffer *mask) {
    describe_mask(mask, GST_VIDEO_FORMAT_GRAY8);
}

GstBuffer *part_of_mask(GstBuffer *mask, const GstGpuVisionBox &place) {
    const GstVideoMeta *whole = gst_buffer_get_video_meta(mask);
    if (place.width == static_cast<gint>(whole->width) &&
        place.height == static_cast<gint>(whole->height))
        return gst_buffer_ref(mask);
    GstBuffer *part = gst_buffer_new();
    gsize offset[GST_VIDEO_MAX_PLANES] = {whole->offset[0] +
                                          static_cast<gsize>(place.y * whole->stride[0] + place.x)};
    gint stride[GST_VIDEO_MAX_PLANES] = {whole->stride[0]};
    gst_buffer_copy_into(part, mask, GST_BUFFER_COPY_MEMORY, 0, static_cast<gsize>(-1));
    gst_buffer_add_parent_buffer_meta(part, mask);
    gst_buffer_add_video_meta_full(part, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8,
                                   static_cast<guint>(place.width),
                                   static_cast<guint>(place.height), 1, offset, stride);
    return part;
}

bool have_blank(GstGpuVisionFilter *self) {
    auto *priv = private_of(self);
    if (priv->blank)
        return true;
    GstBufferPool *pool = make_frames(self, priv->out_info);
    const bool acquired =
        pool && gst_buffer_pool_acquire_buffer(pool, &priv->blank, nullptr) == GST_FLOW_OK;
    if (pool)
        gst_buffer_pool_set_active(pool, FALSE); /* it lives as long as the buffer */
    gst_clear_object(&pool);
    if (acquired && clear(priv->blank, priv->out_info))
        return true;
    gst_clear_buffer(&priv->blank);
    post_error(self, error_kind(GPV_ERR_OUT_OF_MEMORY),
               g_strdup("for what lies outside of the regions"));
    return false;
}

void drop_masks(GstGpuVisionFilter *self) {
    gst_clear_buffer(&private_of(self)->blank);
    GstBufferPool *&masks = private_of(self)->masks;
    if (masks)
        gst_buffer_pool_set_active(masks, FALSE);
    gst_clear_object(&masks);
}

} // namespace gpu_vision_filter
