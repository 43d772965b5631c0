/* SPDX-License-Identifier: BSD-2-Clause */
#include "rate_library.h"

#include <gpuvision/gpuvision.h>

#include <cuda_runtime_api.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FRAMES 16
#define MAX_STEPS 8
#define SLICES 10
/* Defaults of the elements. */
#define FEATURES 2000
#define COMPONENTS 256
#define THRESHOLD 128

/* One element's operation. The union has that of its name. */
typedef struct {
    gchar *text; /* of the element in the description */
    union {
        gpv_erode *erode;
        gpv_ccl *ccl;
        gpv_kmeans *kmeans;
        gpv_sift *sift;
        gpv_segment *segment;
    } op;
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

static gboolean is_step(const Step *step, const gchar *element) {
    return g_str_has_prefix(step->text, element);
}

/* What follows the name of a property, or NULL. */
static const gchar *property_of(const Step *step, const gchar *name) {
    const gchar *found = strstr(step->text, name);
    return found ? found + strlen(name) : NULL;
}

/* ---- device memory ---- */

static gboolean make_image(gpv_image *image, const GstVideoInfo *info) {
    void *data = NULL;
    if (cudaMalloc(&data, info->size) != cudaSuccess)
        return FALSE;
    gpv_image_init(image, sizeof *image);
    image->memory = GPV_MEMORY_CUDA;
    image->format = GPV_FORMAT_NV12;
    image->width = info->width;
    image->height = info->height;
    for (guint p = 0; p < 2; p++) {
        image->data[p] = (guint8 *)data + info->offset[p];
        image->stride[p] = info->stride[p];
    }
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
                              (gsize)(info->width + 1) / 2 * 2,
                              (gsize)(p == 0 ? info->height : (info->height + 1) / 2),
                              cudaMemcpyHostToDevice) == cudaSuccess;
    gst_video_frame_unmap(&frame);
    return copied;
}

/* ---- operations ---- */

static gpv_status open_erode(Work *work, Step *step) {
    return gpv_erode_create(work->context, NULL, &step->op.erode);
}

static gpv_status open_ccl(Work *work, Step *step) {
    gpv_ccl_params params;
    gpv_ccl_params_init(&params, sizeof params);
    params.threshold = THRESHOLD;
    params.output = GPV_CCL_OUTPUT_COLORS;
    if (!make_buffer(&step->records, COMPONENTS * sizeof(gpv_ccl_component)))
        return GPV_ERR_OUT_OF_MEMORY;
    return gpv_ccl_create(work->context, &params, &step->op.ccl);
}

static gpv_status open_kmeans(Work *work, Step *step) {
    const gchar *clusters = property_of(step, " clusters=");
    gpv_kmeans_params params;
    gpv_kmeans_params_init(&params, sizeof params);
    params.warm_start = 1;
    if (clusters)
        params.clusters = (gint32)g_ascii_strtoll(clusters, NULL, 10);
    return gpv_kmeans_create(work->context, &params, &step->op.kmeans);
}

static gpv_status open_sift(Work *work, Step *step) {
    gpv_sift_params params;
    gpv_sift_params_init(&params, sizeof params);
    params.max_features = FEATURES;
    if (!make_buffer(&step->records, FEATURES * sizeof(gpv_sift_keypoint)) ||
        !make_buffer(&step->descriptors, FEATURES * GPV_SIFT_DESCRIPTOR_LENGTH))
        return GPV_ERR_OUT_OF_MEMORY;
    return gpv_sift_create(work->context, &params, &step->op.sift);
}

static gpv_status open_graphcut(Work *work, Step *step) {
    const gchar *rect = property_of(step, " rect=");
    gpv_segment_params params;
    gpv_segment_params_init(&params, sizeof params);
    params.warm_start = GPV_SEGMENT_WARM_START_ADAPT;
    if (rect && sscanf(rect, "%d,%d,%d,%d", &step->bounds.x, &step->bounds.y, &step->bounds.width,
                       &step->bounds.height) != 4)
        return GPV_ERR_INVALID_ARGUMENT;
    return gpv_segment_create(work->context, &params, &step->op.segment);
}

static gpv_status open_step(Work *work, Step *step, const gchar *text) {
    step->text = g_strdup(text);
    step->draws = !is_step(step, "gpusift") && !property_of(step, "output=none");
    if (step->draws && !make_image(&step->made, &work->info))
        return GPV_ERR_OUT_OF_MEMORY;
    if (is_step(step, "gpuerode"))
        return open_erode(work, step);
    if (is_step(step, "gpuccl"))
        return open_ccl(work, step);
    if (is_step(step, "gpukmeans"))
        return open_kmeans(work, step);
    if (is_step(step, "gpusift"))
        return open_sift(work, step);
    return is_step(step, "gpugraphcut") ? open_graphcut(work, step) : GPV_ERR_INVALID_ARGUMENT;
}

static gpv_status run_step(Step *step, const gpv_image *src) {
    const gpv_image *dst = step->draws ? &step->made : NULL;
    if (is_step(step, "gpuerode"))
        return gpv_erode_run(step->op.erode, NULL, src, dst);
    if (is_step(step, "gpuccl"))
        return gpv_ccl_run(step->op.ccl, NULL, src, dst, &step->records, 0, NULL);
    if (is_step(step, "gpukmeans"))
        return gpv_kmeans_run(step->op.kmeans, NULL, src, NULL, dst, NULL, NULL, NULL);
    if (is_step(step, "gpusift"))
        return gpv_sift_run(step->op.sift, NULL, src, NULL, &step->records, 0, &step->descriptors,
                            NULL);
    return gpv_segment_run(step->op.segment, NULL, src, NULL,
                           step->bounds.width > 0 ? &step->bounds : NULL, NULL, dst, NULL);
}

static void close_step(Step *step) {
    if (is_step(step, "gpuerode"))
        gpv_erode_destroy(&step->op.erode);
    else if (is_step(step, "gpuccl"))
        gpv_ccl_destroy(&step->op.ccl);
    else if (is_step(step, "gpukmeans"))
        gpv_kmeans_destroy(&step->op.kmeans);
    else if (is_step(step, "gpusift"))
        gpv_sift_destroy(&step->op.sift);
    else if (is_step(step, "gpugraphcut"))
        gpv_segment_destroy(&step->op.segment);
    cudaFree(step->made.data[0]);
    cudaFree(step->records.data);
    cudaFree(step->descriptors.data);
    g_free(step->text);
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

static gint compare(gconstpointer a, gconstpointer b) {
    const gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;
    return (x > y) - (x < y);
}

gdouble library_us(const gchar *description, const GstVideoInfo *info, GstBuffer **frames, guint n,
                   gdouble seconds, gchar **error) {
    Work *work = g_new0(Work, 1);
    gdouble us[SLICES] = {0};
    gpv_status status;
    work->info = *info;
    status = open_work(work, description, frames, MIN(n, MAX_FRAMES));
    if (status == GPV_OK)
        status = run_for(work, seconds / SLICES, &us[0]); /* warms up */
    for (guint i = 0; i < SLICES && status == GPV_OK; i++)
        status = run_for(work, seconds / SLICES, &us[i]);
    if (status != GPV_OK)
        *error = g_strdup_printf("the library alone: %s: %s", gpv_status_string(status),
                                 work->context ? gpv_context_error(work->context) : "no context");
    close_work(work);
    g_free(work);
    qsort(us, SLICES, sizeof *us, compare);
    return status == GPV_OK ? (us[SLICES / 2 - 1] + us[SLICES / 2]) / 2 : -1;
}

guint count_cuda_devices(void) {
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess ? (guint)count : 0;
}
