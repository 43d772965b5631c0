/* SPDX-License-Identifier: BSD-2-Clause */
#include "cuda_frames.h"

GstCudaContext *context_on(guint device) {
    GstCudaContext *context;
    fail_unless(gst_cuda_load_library());
    gst_cuda_memory_init_once();
    context = gst_cuda_context_new(device);
    fail_unless(context != NULL);
    return context;
}

GstCudaContext *new_context(void) {
    return context_on(0);
}

void configure_pool(GstBufferPool *pool, GstCaps *caps, gsize size) {
    GstStructure *config = gst_buffer_pool_get_config(pool);
    gst_buffer_pool_config_set_params(config, caps, (guint)size, 0, 0);
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
    fail_unless(gst_buffer_pool_set_config(pool, config));
    gst_caps_unref(caps);
}

GstBuffer *acquire(GstBufferPool *pool) {
    GstBuffer *buffer = NULL;
    fail_unless(gst_buffer_pool_set_active(pool, TRUE));
    fail_unless_equals_int(gst_buffer_pool_acquire_buffer(pool, &buffer, NULL), GST_FLOW_OK);
    GST_BUFFER_PTS(buffer) = 0;
    return buffer;
}

GstBuffer *cuda_buffer(GstCudaContext *context, const GstVideoInfo *info) {
    g_autoptr(GstBufferPool) pool = gst_cuda_buffer_pool_new(context);
    GstBuffer *buffer;
    configure_pool(pool, cuda_caps(info), info->size);
    buffer = acquire(pool);
    gst_buffer_pool_set_active(pool, FALSE);
    return buffer;
}

GstBuffer *padded_cuda_buffer(GstCudaContext *context, const GstVideoInfo *info) {
    GstVideoInfo wide = padded(info);
    const GstVideoInfo store = make_info("RGBA", 256, (gint)(wide.size / 1024) + 1);
    GstBuffer *made = cuda_buffer(context, &store), *buffer = gst_buffer_new();
    gst_buffer_append_memory(buffer, gst_buffer_get_memory(made, 0));
    gst_buffer_unref(made);
    gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(info),
                                   info->width, info->height, GST_VIDEO_INFO_N_PLANES(info),
                                   wide.offset, wide.stride);
    GST_BUFFER_PTS(buffer) = 0;
    return buffer;
}

GstCudaMemory *memory_of(GstBuffer *buffer) {
    GstMemory *memory = gst_buffer_peek_memory(buffer, 0);
    fail_unless(gst_is_cuda_memory(memory));
    return GST_CUDA_MEMORY_CAST(memory);
}

void copy(const GstVideoInfo *info, GstBuffer *from, GstBuffer *to) {
    const gboolean up = gst_is_cuda_memory(gst_buffer_peek_memory(to, 0));
    GstCudaMemory *memory = memory_of(up ? to : from);
    GstVideoFrame src, dst;
    CUstream stream;
#if GST_CHECK_VERSION(1, 24, 0)
    gst_cuda_memory_sync(memory);
#endif
    fail_unless(gst_video_frame_map(
        &src, info, from, (GstMapFlags)(up ? GST_MAP_READ : GST_MAP_READ | GST_MAP_CUDA)));
    fail_unless(gst_video_frame_map(
        &dst, info, to, (GstMapFlags)(up ? GST_MAP_WRITE | GST_MAP_CUDA : GST_MAP_WRITE)));
    fail_unless(gst_cuda_context_push(memory->context));
    fail_unless_equals_int(CuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES(info); p++) {
        CUDA_MEMCPY2D job = {0};
        plane_size(info, p, &job.WidthInBytes, &job.Height);
        job.srcMemoryType = up ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        job.dstMemoryType = up ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
        job.srcHost = GST_VIDEO_FRAME_PLANE_DATA(&src, p);
        job.srcDevice = (CUdeviceptr)GST_VIDEO_FRAME_PLANE_DATA(&src, p);
        job.srcPitch = (gsize)GST_VIDEO_FRAME_PLANE_STRIDE(&src, p);
        job.dstHost = GST_VIDEO_FRAME_PLANE_DATA(&dst, p);
        job.dstDevice = (CUdeviceptr)GST_VIDEO_FRAME_PLANE_DATA(&dst, p);
        job.dstPitch = (gsize)GST_VIDEO_FRAME_PLANE_STRIDE(&dst, p);
        fail_unless_equals_int(CuMemcpy2DAsync(&job, stream), CUDA_SUCCESS);
    }
    fail_unless_equals_int(CuStreamSynchronize(stream), CUDA_SUCCESS);
    fail_unless_equals_int(CuStreamDestroy(stream), CUDA_SUCCESS);
    gst_cuda_context_pop(NULL);
    gst_video_frame_unmap(&dst);
    gst_video_frame_unmap(&src);
}

GstBuffer *uploaded(const GstVideoInfo *info, GstBuffer *frame, gpointer context) {
    GstBuffer *cuda = cuda_buffer(context, info);
    copy(info, frame, cuda);
    GST_BUFFER_PTS(cuda) = GST_BUFFER_PTS(frame);
    gst_buffer_unref(frame);
    return cuda;
}

/* ---- an element and its model ---- */

GstBuffer *downloaded(const GstVideoInfo *info, GstBuffer *cuda) {
    GstBuffer *here = buffer_of_size(info->size);
    copy(info, cuda, here);
    return here;
}

Pair cuda_pair_new(const Element *element, GstCudaContext *context) {
    GstElement *tested = element_new(element->name, "cuda");
    if (context) {
        g_autoptr(GstContext) given = gst_context_new_cuda_context(context);
        gst_element_set_context(tested, given);
    }
    return pair_with(element, tested);
}

void cuda_pair_set_info(Pair *pair, const GstVideoInfo *info) {
    pair->info = *info;
    pair->fetch = downloaded;
    gst_harness_set_src_caps(pair->h, cuda_caps(info));
}

void cuda_pair_begin(Pair *pair, const GstVideoInfo *info, gboolean cuda) {
    gst_pad_push_event(pair->h->srcpad, gst_event_new_stream_start("test"));
    if (cuda)
        cuda_pair_set_info(pair, info);
    else
        pair_set_info(pair, info);
}

GstBuffer *cuda_pair_push(Pair *pair, GstBuffer *frame, GstBuffer *cuda, gboolean held) {
    copy(&pair->info, frame, cuda);
    return pair_push_there(pair, frame, cuda, held);
}
