/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPUVISION_ERODE_H
#define GPUVISION_ERODE_H

/**
 * @file
 * Erosion, and the rest of morphology with flat structuring elements.
 *
 * Sources: the element shapes, the order of iterations and the border rule are
 * those of OpenCV's getStructuringElement and morphologyEx, so that results
 * are equal bit for bit. Running minimum: van Herk (1992), Gil and Werman
 * (1993). Binary erosion with square elements on a GPU is the paper that this
 * algorithm follows; see docs/algorithms/erode.md.
 */

#include <gpuvision/context.h>

GPV_BEGIN

/** Owned by the caller; belongs to its context's thread (one thread at a time). */
typedef struct gpv_erode gpv_erode;

/** What is computed. */
typedef uint32_t gpv_erode_operation;
enum {
    GPV_ERODE_OPERATION_ERODE = 0,    /**< minimum under the element */
    GPV_ERODE_OPERATION_DILATE = 1,   /**< maximum under the element */
    GPV_ERODE_OPERATION_OPEN = 2,     /**< erode, then dilate */
    GPV_ERODE_OPERATION_CLOSE = 3,    /**< dilate, then erode */
    GPV_ERODE_OPERATION_GRADIENT = 4, /**< dilate - erode */
    GPV_ERODE_OPERATION_TOPHAT = 5,   /**< source - open */
    GPV_ERODE_OPERATION_BLACKHAT = 6  /**< close - source, not below 0 */
};

/** Shape of the structuring element inside its (2 radius + 1) x (2 radius_y + 1) box. */
typedef uint32_t gpv_erode_shape;
enum {
    GPV_ERODE_SHAPE_RECT = 0,   /**< the whole box */
    GPV_ERODE_SHAPE_CROSS = 1,  /**< its middle row and middle column */
    GPV_ERODE_SHAPE_ELLIPSE = 2 /**< the ellipse inscribed in it; of height 1: its centre alone */
};

/** What pixels outside the image count as. */
typedef uint32_t gpv_erode_border;
enum {
    GPV_ERODE_BORDER_IGNORE = 0,    /**< nothing: only pixels inside take part */
    GPV_ERODE_BORDER_BACKGROUND = 1 /**< 0: what touches the border erodes there */
};

/** Which planes and channels are processed; the others are copied. */
typedef uint32_t gpv_erode_planes;
enum {
    GPV_ERODE_PLANES_AUTO = 0, /**< grey, Y of YUV, every colour channel of RGB (not alpha) */
    GPV_ERODE_PLANES_LUMA = 1, /**< grey and Y of YUV; RGB has no luma plane: as AUTO */
    GPV_ERODE_PLANES_ALL = 2   /**< also U and V, with the same element on their own samples */
};

/** Parameters. Start from gpv_erode_params_init(). */
typedef struct gpv_erode_params {
    uint32_t struct_size;          /**< sizeof(gpv_erode_params) */
    gpv_erode_operation operation; /**< default GPV_ERODE_OPERATION_ERODE */
    gpv_erode_shape shape;         /**< default GPV_ERODE_SHAPE_RECT */
    int32_t radius;                /**< pixels, 0..255, default 1 */
    int32_t radius_y;              /**< pixels, 0..255, -1 = radius; default -1 */
    int32_t iterations; /**< how often each erosion and dilation repeats, 1..255, default 1 */
    int32_t threshold;  /**< 0 = grey morphology; 1..255 (16 bits: ..65535) = binary; default 0 */
    gpv_erode_border border; /**< default GPV_ERODE_BORDER_IGNORE */
    gpv_erode_planes planes; /**< grey morphology only; default GPV_ERODE_PLANES_AUTO */
    uint32_t reserved;       /**< must be 0 */
} gpv_erode_params;

/** Writes every default; see gpv_erode_params. Reentrant. */
GPV_API void gpv_erode_params_init(gpv_erode_params *params, uint32_t size);

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
GPV_API GPV_NODISCARD gpv_status gpv_erode_create(gpv_context *context,
                                                  const gpv_erode_params *params, gpv_erode **out);

/**
 * Waits for the last run, frees, and sets *op to NULL. NULL and a pointer to
 * NULL are accepted. A result in host memory that nobody waited for is dropped.
 */
GPV_API void gpv_erode_destroy(gpv_erode **op);

/**
 * Changes the parameters of the runs that follow. On failure the old ones stay.
 * @return as gpv_erode_create()
 */
GPV_API GPV_NODISCARD gpv_status gpv_erode_set_params(gpv_erode *op,
                                                      const gpv_erode_params *params);

/**
 * Allocates all that a run on such an image needs with the parameters in
 * force, so that the run allocates nothing. Without it the first run of a
 * (size, format) allocates. CPU backend: for as many threads as oneTBB gives
 * the calling thread now; a run on another number may allocate again. CUDA
 * backend: the first run on an image whose rows do not begin at multiples of 16
 * bytes may still make a CUDA graph.
 *
 * @param like  format, memory, device, width and height are read; data and stride are not
 * @return GPV_OK, GPV_ERR_INVALID_ARGUMENT, GPV_ERR_UNSUPPORTED, GPV_ERR_OUT_OF_MEMORY,
 *         GPV_ERR_DEVICE, GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_erode_prepare(gpv_erode *op, const gpv_image *like);

/**
 * Runs the operation from src to dst.
 *
 * Samples stay in their depth. With threshold > 0 a pixel is foreground if its
 * luma is >= threshold: the sample of grey, Y of YUV, and
 * (77 R + 150 G + 29 B + 128) >> 8 of RGB. dst then holds 0 or the largest value
 * (255, 16 bits: 65535) in Y, grey and every colour channel; chroma is set to
 * 128 (32768), and a fourth channel is copied.
 *
 * CPU backend: finished on return. CUDA backend: device images are enqueued on
 * stream; after the first run of a (size, format), or after
 * gpv_erode_prepare(), the call allocates nothing, waits for nothing and may be
 * captured in a CUDA graph. Host images are copied in before it returns, and
 * dst is valid after gpv_erode_wait() or gpv_stream_sync(); such a run cannot be
 * captured. An operator has one run in flight: a run on another stream waits, on
 * the device, for the one before. A run with images or buffers in host memory,
 * or behind one with outputs there, waits for the one before on the host. A
 * captured run is ordered by its graph alone, and needs gpv_erode_prepare() or a
 * run of the same kind before; as long as the graph is used, the operator has to
 * live, and may run or prepare nothing that needs more memory.
 *
 * @param src  a picture
 * @param dst  same format, size and memory; may be src (same data and stride of
 *             every plane), must not overlap it otherwise
 * @return GPV_OK; GPV_ERR_INVALID_ARGUMENT, GPV_ERR_UNSUPPORTED (format or
 *         memory): nothing has been written; GPV_ERR_OUT_OF_MEMORY;
 *         GPV_ERR_DEVICE; GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_erode_run(gpv_erode *op, gpv_stream stream,
                                               const gpv_image *src, const gpv_image *dst);

/**
 * Whether the last run has finished, without waiting. A run that was refused
 * for its arguments does not count.
 * @return GPV_OK if it has, or if there was none; GPV_NOT_READY; or its error
 */
GPV_API GPV_NODISCARD gpv_status gpv_erode_query(gpv_erode *op);

/** As gpv_erode_query(), but waits until the last run has finished. */
GPV_API GPV_NODISCARD gpv_status gpv_erode_wait(gpv_erode *op);

GPV_END

#endif
