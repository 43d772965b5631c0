/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstgpuvisioncuda.h"

#include <gpuvision/context.h>
#include <gst/cuda/cuda-gst.h>
#include <gst/cuda/gstcudabufferpool.h>
#include <gst/cuda/gstcudacontext.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudamemory.h>
#include <gst/cuda/gstcudautils.h>

#include <mutex>

namespace {

/*
 * A stream that waits for CUDA's default stream, and the default stream for it:
 * libgstcuda copies memory on the default stream and does not wait.
 */
#if GST_CHECK_VERSION(1, 24, 0)
using Stream = GstCudaStream;

Stream *new_stream(GstCudaContext *context) {
    return gst_cuda_stream_new(context);
}

void clear_stream(GstCudaContext *, Stream **stream) {
    gst_clear_cuda_stream(stream);
}

gpv_stream handle_of(Stream *stream) {
    return gst_cuda_stream_get_handle(stream);
}
#else
using Stream = CUstream_st;

Stream *new_stream(GstCudaContext *context) {
    Stream *stream = nullptr;
    if (!gst_cuda_context_push(context))
        return nullptr;
    if (CuStreamCreate(&stream, CU_STREAM_DEFAULT) != CUDA_SUCCESS)
        stream = nullptr;
    gst_cuda_context_pop(nullptr);
    return stream;
}

void clear_stream(GstCudaContext *context, Stream **stream) {
    if (*stream && gst_cuda_context_push(context)) {
        CuStreamDestroy(*stream);
        gst_cuda_context_pop(nullptr);
    }
    *stream = nullptr;
}

gpv_stream handle_of(Stream *stream) {
    return stream;
}
#endif

gint ordinal_of(GstCudaContext *context) {
    guint ordinal = 0;
    g_object_get(context, "cuda-device-id", &ordinal, nullptr);
    return static_cast<gint>(ordinal);
}

/* libgstcuda makes frames of one memory. */
GstCudaMemory *cuda_memory(GstBuffer *buffer) {
    GstMemory *memory =
        gst_buffer_n_memory(buffer) == 1 ? gst_buffer_peek_memory(buffer, 0) : nullptr;
    return gst_is_cuda_memory(memory) ? GST_CUDA_MEMORY_CAST(memory) : nullptr;
}

} // namespace

struct GstGpuVisionCuda::State {
    GstElement *element;
    std::recursive_mutex lock; /* of context; ensure() calls set_context() on the same thread */
    GstCudaContext *context = nullptr;
    gint ordinal = 0;
    Stream *stream = nullptr; /* NULL: not open */

    bool open_stream() {
        ordinal = ordinal_of(context);
        stream = new_stream(context);
        return stream;
    }
};

GstGpuVisionCuda::GstGpuVisionCuda(GstElement *element) : state(new State{.element = element}) {}

GstGpuVisionCuda::~GstGpuVisionCuda() {
    close();
}

void GstGpuVisionCuda::set_context(GstContext *context, gint device) {
    const std::lock_guard guard(state->lock);
    gst_cuda_handle_set_context(state->element, context, device, &state->context);
}

/* A neighbour asks from its thread while this element may be asking it: neither may wait. */
bool GstGpuVisionCuda::answer(GstQuery *query) {
    const std::unique_lock guard(state->lock, std::try_to_lock);
    return guard && gst_cuda_handle_context_query(state->element, query, state->context);
}

/* From 1.24 on what fills a frame may still be at work, which code for 1.22 does not wait for. */
static bool is_of_this_time() {
    guint major = 0, minor = 0, micro = 0, nano = 0;
    gst_version(&major, &minor, &micro, &nano);
    return GST_CHECK_VERSION(1, 24, 0) || minor < 24;
}

/*
 * Once for all elements: libgstcuda 1.22, loaded by a second thread before the first has done with
 * it, sets each function to NULL for a moment. Other plugins may load it meanwhile.
 */
static bool load_cuda() {
    static const gboolean loaded = gst_cuda_load_library();
    return loaded;
}

bool GstGpuVisionCuda::open(gint device) {
    if (!is_of_this_time()) {
        GST_WARNING_OBJECT(state->element, "built for an older GStreamer: no CUDAMemory");
        return false;
    }
    /* libgstcuda 1.22 hangs in its second context where cuInit() has failed. */
    if (!gpv_backend_available(GPV_BACKEND_CUDA) || !load_cuda())
        return false;
    gst_cuda_memory_init_once();
    const std::lock_guard guard(state->lock);
    gst_clear_object(&state->context);
    /* ensure() asks around, but does not look at what the element was given before. */
    GstContext *given = gst_element_get_context(state->element, GST_CUDA_CONTEXT_TYPE);
    if (given) {
        gst_cuda_handle_set_context(state->element, given, device, &state->context);
        gst_context_unref(given);
    }
    if (gst_cuda_ensure_element_context(state->element, device, &state->context) &&
        state->open_stream())
        return true;
    close();
    return false;
}

void GstGpuVisionCuda::close() {
    const std::lock_guard guard(state->lock);
    clear_stream(state->context, &state->stream);
    gst_clear_object(&state->context);
}

bool GstGpuVisionCuda::is_open() const {
    return state->stream;
}

bool GstGpuVisionCuda::push() {
    return is_open() && gst_cuda_context_push(state->context);
}

void GstGpuVisionCuda::pop() {
    gst_cuda_context_pop(nullptr);
}

GstBufferPool *GstGpuVisionCuda::new_pool() {
    return is_open() ? gst_cuda_buffer_pool_new(state->context) : nullptr;
}

bool GstGpuVisionCuda::shares(GstBufferPool *pool) const {
    return GST_IS_CUDA_BUFFER_POOL(pool) &&
           GST_CUDA_BUFFER_POOL_CAST(pool)->context == state->context;
}

/* The stream of the element furthest downstream, as the elements of GStreamer do. */
void GstGpuVisionCuda::configure([[maybe_unused]] GstStructure *config) {
#if GST_CHECK_VERSION(1, 24, 0)
    if (GstCudaStream *theirs = gst_buffer_pool_config_get_cuda_stream(config)) {
        gst_clear_cuda_stream(&state->stream);
        state->stream = theirs;
    } else {
        gst_buffer_pool_config_set_cuda_stream(config, state->stream);
    }
#endif
}

bool GstGpuVisionCuda::holds(GstBuffer *buffer) const {
    const GstCudaMemory *memory = cuda_memory(buffer);
    return memory && memory->context == state->context;
}

bool GstGpuVisionCuda::can_adopt(GstBuffer *buffer, gint device) const {
    const GstCudaMemory *memory = cuda_memory(buffer);
    return memory && (device < 0 || device == ordinal_of(memory->context));
}

bool GstGpuVisionCuda::adopt(GstBuffer *buffer) {
    const std::lock_guard guard(state->lock);
    clear_stream(state->context, &state->stream);
    gst_object_replace(reinterpret_cast<GstObject **>(&state->context),
                       GST_OBJECT_CAST(cuda_memory(buffer)->context));
    return state->open_stream();
}

GstGpuVisionPlace GstGpuVisionCuda::place() const {
    return {GPV_MEMORY_CUDA, state->ordinal, int{GST_MAP_CUDA}};
}

gpv_stream GstGpuVisionCuda::stream() const {
    return is_open() ? handle_of(state->stream) : nullptr;
}

/*
 * From 1.24 on memory belongs to a stream. Work on the stream of the output that follows that of
 * the input comes after what fills the input; and what fills that again comes after it, if the
 * stream of the input follows in turn. Before, the host has to wait.
 */
GstGpuVisionCuda::Queue GstGpuVisionCuda::queue([[maybe_unused]] GstBuffer *in,
                                                [[maybe_unused]] GstBuffer *out) {
#if GST_CHECK_VERSION(1, 24, 0)
    GstCudaMemory *source = cuda_memory(in), *target = cuda_memory(out);
    GstCudaStream *from = gst_cuda_memory_get_stream(source);
    GstCudaStream *to = gst_cuda_memory_get_stream(target);
    if (from && to)
        return {handle_of(to), handle_of(from), false};
    gst_cuda_memory_sync(source);
    GST_MEMORY_FLAG_UNSET(target, GST_CUDA_MEMORY_TRANSFER_NEED_SYNC);
    if (to)
        return {handle_of(to), handle_of(to), true};
#endif
    return {stream(), stream(), true};
}

bool GstGpuVisionCuda::copy(const GstGpuVisionFrame &from, const GstGpuVisionFrame &to,
                            gpv_stream stream) {
    const gpv_image &src = *from.view(), &dst = *to.view();
    if (!push())
        return false;
    bool copied = true;
    for (gint32 p = 0; copied && p < gpv_format_planes(src.format); p++) {
        gint64 row_bytes = 0, rows = 0;
        CUDA_MEMCPY2D job = {};
        copied =
            gpv_format_plane(src.format, p, src.width, src.height, &row_bytes, &rows) == GPV_OK;
        job.srcMemoryType = job.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        job.srcDevice = reinterpret_cast<CUdeviceptr>(src.data[p]);
        job.dstDevice = reinterpret_cast<CUdeviceptr>(dst.data[p]);
        job.srcPitch = static_cast<gsize>(src.stride[p]);
        job.dstPitch = static_cast<gsize>(dst.stride[p]);
        job.WidthInBytes = static_cast<gsize>(row_bytes);
        job.Height = static_cast<gsize>(rows);
        copied = copied && CuMemcpy2DAsync(&job, static_cast<CUstream>(stream)) == CUDA_SUCCESS;
    }
    pop();
    return copied;
}
