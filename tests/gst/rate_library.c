/* SPDX-License-Identifier: BSD-2-Clause */
#include "rate_library.h"

#include <gpuvision/gpuvision.h>

#include <cuda_runtime_api.h>

#include <stdio.h>
#include <string.h>

#define MAX_FRAMES 16
#define MAX_STEPS 8
#define SLICES 10
/* Defaults of the elements. */
#define FEATURES 2000
#define COMPONENTS 256
#define THRESHOLD 128

/* One element's operation; the others are NULL. */
typedef struct {
    gpv_erode *erode;
    gpv_ccl *ccl;
    gpv_kmeans *kmeans;
    gpv_sift *sift;
    gpv_segment *segment;
    gboolean draws;
    gpv_image made;                  /* where it draws */
    gpv_buffer records, descriptors; /* on the device */
    gpv_rect bounds;                 /* width 0: none */
} Step;

typedef struct {
    gpv_context *context;
    GstVideoInfo info;
    Step steps[MAX_STEPS];
    guint n_steps;
    gpv_image frames[MAX_FRAMES];
    guint n_frames;
} Work;

/* What follows the name of a property of an element, or NULL. */
static const gchar *property_of(const gchar *text, const gchar *name) {
    const gchar *found = strstr(text, name);
    return found ? found + strlen(name) : NULL;
}

/* ---- device memory ---- */

static gboolean is_wide(const GstVideoInfo *info) {
    return GST_VIDEO_INFO_COMP_DEPTH(info, 0) > 8;
}

static gboolean make_image(gpv_image *image, const GstVideoInfo *info) {
    void *data = NULL;
    if (cudaMalloc(&data, info->size) != cudaSuccess)
        return FALSE;
    gpv_image_wrap(image, sizeof *image, is_wide(info) ? GPV_FORMAT_P016 : GPV_FORMAT_NV12,
                   info->width, info->height, data, info->stride[0]);
    image->memory = GPV_MEMORY_CUDA;
    return TRUE;
}

static gboolean make_buffer(gpv_buffer *buffer, gsize size) {
    void *data = NULL;
    if (cudaMalloc(&data, size) != cudaSuccess)
        return FALSE;
    gpv_buffer_init(buffer, sizeof *buffer);
    buffer->memory = GPV_MEMORY_CUDA;
    buffer->data = data;
    buffer->size = size;
    return TRUE;
}

static gboolean upload(const gpv_image *image, const GstVideoInfo *info, GstBuffer *buffer) {
    GstVideoFrame frame;
    gboolean copied = gst_video_frame_map(&frame, info, buffer, GST_MAP_READ);
    if (!copied)
        return FALSE;
    for (guint p = 0; p < 2 && copied; p++)
        copied = cudaMemcpy2D(image->data[p], (gsize)image->stride[p],
                              GST_VIDEO_FRAME_PLANE_DATA(&frame, p),
                              (gsize)GST_VIDEO_FRAME_PLANE_STRIDE(&frame, p),
                              (gsize)(info->width + 1) / 2 * (is_wide(info) ? 4 : 2),
                              (gsize)(p == 0 ? info->height : (info->height + 1) / 2),
                              cudaMemcpyHostToDevice) == cudaSuccess;
    gst_video_frame_unmap(&frame);
    return copied;
}

/* ---- operations ---- */

static gpv_status open_ccl(Work *work, Step *step) {
    gpv_ccl_params params;
    gpv_ccl_params_init(&params, sizeof params);
    params.threshold = is_wide(&work->info) ? THRESHOLD << 8 : THRESHOLD;
    params.output = GPV_CCL_OUTPUT_COLORS;
    if (!make_buffer(&step->records, COMPONENTS * sizeof(gpv_ccl_component)))
        return GPV_ERR_OUT_OF_MEMORY;
    return gpv_ccl_create(work->context, &params, &step->ccl);
}

static gpv_status open_kmeans(Work *work, Step *step, const gchar *text) {
    const gchar *clusters = property_of(text, " clusters=");
    gpv_kmeans_params params;
    gpv_kmeans_params_init(&params, sizeof params);
    params.warm_start = 1;
    if (clusters)
        params.clusters = (gint32)g_ascii_strtoll(clusters, NULL, 10);
    return gpv_kmeans_create(work->context, &params, &step->kmeans);
}

static gpv_status open_sift(Work *work, Step *step) {
    gpv_sift_params params;
    gpv_sift_params_init(&params, sizeof params);
    params.max_features = FEATURES;
    if (!make_buffer(&step->records, FEATURES * sizeof(gpv_sift_keypoint)) ||
        !make_buffer(&step->descriptors, FEATURES * GPV_SIFT_DESCRIPTOR_LENGTH))
        return GPV_ERR_OUT_OF_MEMORY;
    return gpv_sift_create(work->context, &params, &step->sift);
}

static gpv_status open_graphcut(Work *work, Step *step, const gchar *text) {
    const gchar *rect = property_of(text, " rect=");
    gpv_segment_params params;
    gpv_segment_params_init(&params, sizeof params);
    params.warm_start = GPV_SEGMENT_WARM_START_ADAPT;
    if (rect && sscanf(rect, "%d,%d,%d,%d", &step->bounds.x, &step->bounds.y, &step->bounds.width,
                       &step->bounds.height) != 4)
        return GPV_ERR_INVALID_ARGUMENT;
    return gpv_segment_create(work->context, &params, &step->segment);
}

static gpv_status open_step(Work *work, Step *step, const gchar *text) {
    step->draws = !g_str_has_prefix(text, "gpusift") && !property_of(text, "output=none");
    if (step->draws && !make_image(&step->made, &work->info))
        return GPV_ERR_OUT_OF_MEMORY;
    if (g_str_has_prefix(text, "gpuerode"))
        return gpv_erode_create(work->context, NULL, &step->erode);
    if (g_str_has_prefix(text, "gpuccl"))
        return open_ccl(work, step);
    if (g_str_has_prefix(text, "gpukmeans"))
        return open_kmeans(work, step, text);
    if (g_str_has_prefix(text, "gpusift"))
        return open_sift(work, step);
    return open_graphcut(work, step, text);
}

static gpv_status run_step(Step *step, const gpv_image *src) {
    const gpv_image *dst = step->draws ? &step->made : NULL;
    if (step->erode)
        return gpv_erode_run(step->erode, NULL, src, dst);
    if (step->ccl)
        return gpv_ccl_run(step->ccl, NULL, src, dst, &step->records, 0, NULL);
    if (step->kmeans)
        return gpv_kmeans_run(step->kmeans, NULL, src, NULL, dst, NULL, NULL, NULL);
    if (step->sift)
        return gpv_sift_run(step->sift, NULL, src, NULL, &step->records, 0, &step->descriptors,
                            NULL);
    return gpv_segment_run(step->segment, NULL, src, NULL,
                           step->bounds.width > 0 ? &step->bounds : NULL, NULL, dst, NULL);
}

static void close_step(Step *step) {
    gpv_erode_destroy(&step->erode);
    gpv_ccl_destroy(&step->ccl);
    gpv_kmeans_destroy(&step->kmeans);
    gpv_sift_destroy(&step->sift);
    gpv_segment_destroy(&step->segment);
    cudaFree(step->made.data[0]);
    cudaFree(step->records.data);
    cudaFree(step->descriptors.data);
}

/* ---- work ---- */

static gpv_status open_work(Work *work, const gchar *description, GstBuffer **frames, guint n) {
    gchar **elements = g_strsplit(description, " ! ", MAX_STEPS);
    gpv_context_params params;
    gpv_status status;
    gpv_context_params_init(&params, sizeof params);
    params.backend = GPV_BACKEND_CUDA;
    status = gpv_context_create(&params, &work->context);
    while (status == GPV_OK && elements[work->n_steps]) {
        Step *step = &work->steps[work->n_steps];
        status = open_step(work, step, elements[work->n_steps++]);
    }
    for (; status == GPV_OK && work->n_frames < n; work->n_frames++)
        if (!make_image(&work->frames[work->n_frames], &work->info) ||
            !upload(&work->frames[work->n_frames], &work->info, frames[work->n_frames]))
            status = GPV_ERR_OUT_OF_MEMORY;
    g_strfreev(elements);
    return status;
}

static void close_work(Work *work) {
    for (guint i = 0; i < work->n_steps; i++)
        close_step(&work->steps[i]);
    for (guint i = 0; i < work->n_frames; i++)
        cudaFree(work->frames[i].data[0]);
    gpv_context_destroy(&work->context);
}

static gpv_status run_once(Work *work) {
    gpv_status status = GPV_OK;
    for (guint f = 0; f < work->n_frames && status == GPV_OK; f++) {
        const gpv_image *src = &work->frames[f];
        for (guint i = 0; i < work->n_steps && status == GPV_OK; i++) {
            status = run_step(&work->steps[i], src);
            if (work->steps[i].draws)
                src = &work->steps[i].made;
        }
    }
    return status;
}

/* Microseconds a frame. The host waits after every eighth round of all frames. */
static gpv_status run_for(Work *work, gdouble seconds, gdouble *us) {
    const gint64 begin = g_get_monotonic_time();
    guint64 frames = 0;
    gpv_status status = GPV_OK;
    gint64 now;
    do {
        for (guint i = 0; i < 8 && status == GPV_OK; i++, frames += work->n_frames)
            status = run_once(work);
        if (status == GPV_OK)
            status = gpv_stream_sync(work->context, NULL);
        now = g_get_monotonic_time();
    } while (status == GPV_OK && now < begin + (gint64)(seconds * G_USEC_PER_SEC));
    *us = (gdouble)(now - begin) / (gdouble)frames;
    return status;
}

gchar *library_us(const gchar *description, const GstVideoInfo *info, GstBuffer **frames, guint n,
                  gdouble seconds, GArray *us) {
    Work work = {.info = *info};
    gdouble one;
    gchar *error = NULL;
    gpv_status status = open_work(&work, description, frames, MIN(n, MAX_FRAMES));
    if (status == GPV_OK)
        status = run_for(&work, seconds / SLICES, &one); /* warms up */
    for (guint i = 0; i < SLICES && status == GPV_OK; i++) {
        status = run_for(&work, seconds / SLICES, &one);
        g_array_append_val(us, one);
    }
    if (status != GPV_OK)
        error = g_strdup_printf("the library alone: %s: %s", gpv_status_string(status),
                                work.context ? gpv_context_error(work.context) : "no context");
    close_work(&work);
    return error;
}

guint count_cuda_devices(void) {
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess ? (guint)count : 0;
}
