/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPUVISION_CCL_H
#define GPUVISION_CCL_H

/**
 * @file
 * Connected-component labelling: consecutive labels, their count, and area,
 * bounding box and centroid of each component.
 *
 * Sources: the order of labels is that of scipy.ndimage.label, and of OpenCV's
 * connectedComponents with the SAUF algorithm (Wu, Otoo and Suzuki, 2009), so
 * that results are equal. Runs as the unit of labelling: He, Chao and Suzuki
 * (2008). The paper on labelling with a GPU that this algorithm starts from is
 * named in docs/algorithms/ccl.md.
 */

#include <gpuvision/context.h>

GPV_BEGIN

/** Owned by the caller; belongs to its context's thread (one thread at a time). */
typedef struct gpv_ccl gpv_ccl;

/** Which neighbouring pixels of the foreground belong together. */
typedef uint32_t gpv_ccl_mode;
enum {
    GPV_CCL_MODE_BINARY = 0,     /**< all of them */
    GPV_CCL_MODE_EQUAL_VALUE = 1 /**< those of equal luma */
};

/** What dst of gpv_ccl_run() receives. Background is 0, black or neutral grey chroma. */
typedef uint32_t gpv_ccl_output;
enum {
    GPV_CCL_OUTPUT_LABELS = 0, /**< labels: LABEL32, GRAY16, or P016 (in Y; chroma is 32768); up to
                                    255 GRAY8, NV12 or I420 (in Y; chroma is 128) */
    GPV_CCL_OUTPUT_MASK = 1,   /**< 255 in each component: GRAY8, NV12 or I420 (chroma is 128) */
    GPV_CCL_OUTPUT_COLORS = 2  /**< a picture, of colours that depend on the label alone; a fourth
                                    channel is 255 */
};

/**
 * Parameters. Start from gpv_ccl_params_init().
 *
 * A pixel is foreground if its luma is >= threshold, or, with foreground >= 0,
 * if its luma is foreground; with invert, if it is not. Luma is the sample of
 * grey, Y of YUV, and (77 R + 150 G + 29 B + 128) >> 8 of RGB.
 */
typedef struct gpv_ccl_params {
    uint32_t struct_size;  /**< sizeof(gpv_ccl_params) */
    gpv_ccl_mode mode;     /**< default GPV_CCL_MODE_BINARY */
    int32_t connectivity;  /**< 8 or 4 neighbours; default 8 */
    int32_t threshold;     /**< 0..255 (16 bits: ..65535), 0 = every pixel; default 1 */
    int32_t foreground;    /**< 0..255 (16 bits: ..65535), -1 = threshold decides; default -1 */
    uint32_t invert;       /**< 0 or 1; default 0 */
    int32_t min_area;      /**< components of fewer pixels are dropped, 0 = none; default 0 */
    int32_t max_area;      /**< components of more pixels are dropped, 0 = none; default 0 */
    gpv_ccl_output output; /**< default GPV_CCL_OUTPUT_LABELS */
    uint32_t reserved;     /**< must be 0 */
} gpv_ccl_params;

/**
 * What is known of one component. Coordinates count from the first pixel of
 * the image; the centroid is sum_x / area, sum_y / area, measured from the
 * centre of that pixel.
 */
typedef struct gpv_ccl_component {
    int32_t left;     /**< first column */
    int32_t top;      /**< first row */
    int32_t right;    /**< one behind the last column: the width is right - left */
    int32_t bottom;   /**< one behind the last row */
    int32_t area;     /**< pixels */
    int32_t reserved; /**< 0 */
    int64_t sum_x;    /**< sum of the columns of all its pixels */
    int64_t sum_y;    /**< sum of the rows of all its pixels */
} gpv_ccl_component;

/** What a run has found. */
typedef struct gpv_ccl_result {
    uint32_t struct_size; /**< sizeof(gpv_ccl_result) */
    int32_t count;        /**< components that were not dropped, however many records fit */
    int32_t components;   /**< records written */
    uint32_t reserved;    /**< 0 */
} gpv_ccl_result;

/** Writes every default; see gpv_ccl_params. Reentrant. */
GPV_API void gpv_ccl_params_init(gpv_ccl_params *params, uint32_t size);

/** Writes zeros, and struct_size. Reentrant. */
GPV_API void gpv_ccl_result_init(gpv_ccl_result *result, uint32_t size);

/**
 * Creates an operator.
 *
 * @param context  outlives the operator
 * @param params   NULL = all defaults
 * @param out      set to the operator, or to NULL on failure
 * @return GPV_OK, GPV_ERR_INVALID_ARGUMENT, GPV_ERR_UNSUPPORTED (a field newer
 *         than this library), GPV_ERR_OUT_OF_MEMORY, GPV_ERR_DEVICE,
 *         GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_ccl_create(gpv_context *context, const gpv_ccl_params *params,
                                                gpv_ccl **out);

/**
 * Waits for the last run, frees, and sets *op to NULL. NULL and a pointer to
 * NULL are accepted. A result in host memory that nobody waited for is dropped.
 */
GPV_API void gpv_ccl_destroy(gpv_ccl **op);

/**
 * Changes the parameters of the runs that follow. On failure the old ones stay.
 * @return as gpv_ccl_create()
 */
GPV_API GPV_NODISCARD gpv_status gpv_ccl_set_params(gpv_ccl *op, const gpv_ccl_params *params);

/**
 * Allocates all that a run on such images needs with the parameters in force,
 * so that the run allocates nothing. Without it the first run of its kind (size,
 * formats, parameters, outputs asked for) allocates. CPU backend: for as many threads as oneTBB
 * gives the calling thread now; a run on another number may allocate again.
 *
 * @param src         format, memory, device, width and height are read; data and stride are not
 * @param dst         likewise; NULL = a run without it
 * @param components  records in host memory that runs will ask for, >= 0
 * @return GPV_OK, GPV_ERR_INVALID_ARGUMENT, GPV_ERR_UNSUPPORTED, GPV_ERR_OUT_OF_MEMORY,
 *         GPV_ERR_DEVICE, GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_ccl_prepare(gpv_ccl *op, const gpv_image *src,
                                                 const gpv_image *dst, int32_t components);

/**
 * Labels src. Labels are 1..count, in the raster order of the first pixel of
 * each component that was not dropped; 0 is background. Each output is
 * optional: without dst no label image is made, without components nothing is
 * measured, without all three the components are counted.
 *
 * A label that is larger than a sample of dst is written as its largest value, 65535 or 255,
 * and gpv_ccl_wait() reports it.
 *
 * CPU backend: finished on return. CUDA backend: with src and dst on the
 * device, the work is enqueued on stream; after the first run of its kind, or
 * after gpv_ccl_prepare(), the call allocates nothing and waits for
 * nothing, unless components is in host memory, when it waits for the run
 * before. Without that it may be captured in a CUDA graph; the result of a
 * captured run is in its buffers on the device. Images in host memory are copied
 * in before it returns; such a run cannot be captured. What lies in host memory
 * is written by gpv_ccl_wait(), gpv_ccl_query() or gpv_stream_sync(), and has to live until one of
 * them has said that the run is over, or until gpv_ccl_destroy(). An operator has one run in
 * flight: a run on another stream waits, on the device, for the one before. A run with images or
 * buffers in host memory, or behind one with outputs there, waits for the one before on the host. A
 * captured run is ordered by its graph alone, and needs gpv_ccl_prepare() or a run of the same kind
 * before; as long as the graph is used, the operator has to live, and may run or prepare nothing
 * that needs more memory.
 *
 * The outputs overlap neither src nor each other. For components and count, all
 * bytes from the first to the last one of an image are the image's.
 *
 * @param src         a picture
 * @param dst         same size and memory, in a format that gpv_ccl_output allows; shares no
 *                    byte with src; may be NULL
 * @param components  records of the components in the order of their labels; what lies behind
 *                    the last one that exists or fits is not touched. data is a multiple of 8,
 *                    size at least one record. Host memory, or CUDA memory with the CUDA
 *                    backend; may be NULL
 * @param component_stride  bytes from one record to the next, a multiple of 8, at least
 *                    sizeof(gpv_ccl_component), up to 4096; 0 = sizeof(gpv_ccl_component)
 * @param count       receives count as one int32, aligned to 4, in the memory in which the
 *                    backend computes (CUDA backend: CUDA memory); may be NULL
 * @return GPV_OK; GPV_ERR_INVALID_ARGUMENT, GPV_ERR_UNSUPPORTED (format or
 *         memory): nothing has been written; GPV_ERR_OUT_OF_MEMORY;
 *         GPV_ERR_DEVICE; GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_ccl_run(gpv_ccl *op, gpv_stream stream, const gpv_image *src,
                                             const gpv_image *dst, const gpv_buffer *components,
                                             uint32_t component_stride, const gpv_buffer *count);

/**
 * Whether the last run has finished, without waiting. A run that was refused
 * for its arguments does not count.
 * @return GPV_OK if it has, or if there was none; GPV_NOT_READY; or what gpv_ccl_wait() would
 */
GPV_API GPV_NODISCARD gpv_status gpv_ccl_query(gpv_ccl *op);

/**
 * Waits until the last run has finished, and says what it has found.
 *
 * @param result  written whenever the run has finished, also with
 *                GPV_ERR_TOO_SMALL; of an operator that has not run, or whose last
 *                run failed: zeros; may be NULL. A captured run does not count
 * @return GPV_OK; GPV_ERR_INVALID_ARGUMENT (result->struct_size): nothing has been
 *         waited for; GPV_ERR_TOO_SMALL: there are more components than the 65535 or 255
 *         that labels of 16 or 8 bits in dst can number, or than the records that fit into
 *         components; all that fits has been written; GPV_ERR_DEVICE; GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_ccl_wait(gpv_ccl *op, gpv_ccl_result *result);

GPV_END

#endif
