/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPUVISION_MATCH_H
#define GPUVISION_MATCH_H

/**
 * @file
 * Matching of SIFT descriptors: which of one picture are like which of another,
 * by comparing all of them; and the homography between the places that match.
 *
 * Sources: Lowe, Distinctive image features from scale-invariant keypoints
 * (2004), for the ratio of the two nearest; Fischler and Bolles, Random sample
 * consensus (1981), and Chum, Matas and Kittler, Locally optimized RANSAC (2003),
 * for the homography. docs/algorithms/match.md defines every result.
 */

#include <gpuvision/sift.h>

GPV_BEGIN

/** Owned by the caller; belongs to its context's thread (one thread at a time). */
typedef struct gpv_match gpv_match;

#define GPV_MATCH_MAX_DESCRIPTORS (1 << 20) /**< in a set, at most */

/** Parameters. Start from gpv_match_params_init(). */
typedef struct gpv_match_params {
    uint32_t struct_size; /**< sizeof(gpv_match_params) */
    float ratio;       /**< a query whose nearest is not nearer than this times the second nearest
                            has no match; 0 = it has one anyhow; 0..1; default 0.8 */
    uint32_t mutual;   /**< 1 = a query is also to be the nearest one to its match; 0 or 1;
                            default 1 */
    uint32_t reserved; /**< must be 0 */
} gpv_match_params;

/** The two descriptors of the other set that are nearest to one. */
typedef struct gpv_match_nearest {
    int32_t index[2];    /**< of the nearest and the second; -1 = there is none */
    int32_t distance[2]; /**< squared, of the bytes; 2147483647 where there is none */
} gpv_match_nearest;

/** A match. */
typedef struct gpv_match_pair {
    int32_t query;    /**< index of a descriptor among the queries */
    int32_t train;    /**< and of its nearest in the other set */
    int32_t distance; /**< squared, of the bytes */
    int32_t second;   /**< likewise to the second nearest; 2147483647 where there is none */
} gpv_match_pair;

/** What a run has found. */
typedef struct gpv_match_result {
    uint32_t struct_size; /**< sizeof(gpv_match_result) */
    int32_t count;        /**< matches that are written, where there is a buffer */
    int32_t dropped;      /**< matches beyond the room there is */
    int32_t queries;      /**< descriptors that were compared */
} gpv_match_result;

/** Writes every default; see gpv_match_params. Reentrant. */
GPV_API void gpv_match_params_init(gpv_match_params *params, uint32_t size);

/** Writes zeros, and struct_size. Reentrant. */
GPV_API void gpv_match_result_init(gpv_match_result *result, uint32_t size);

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
GPV_API GPV_NODISCARD gpv_status gpv_match_create(gpv_context *context,
                                                  const gpv_match_params *params, gpv_match **out);

/**
 * Waits for the last run, frees, and sets *op to NULL. NULL and a pointer to
 * NULL are accepted. A result in host memory that nobody waited for is dropped.
 */
GPV_API void gpv_match_destroy(gpv_match **op);

/**
 * Changes the parameters of the runs that follow. On failure the old ones stay.
 * @return as gpv_match_create()
 */
GPV_API GPV_NODISCARD gpv_status gpv_match_set_params(gpv_match *op,
                                                      const gpv_match_params *params);

/**
 * Allocates all that runs on sets of up to so many descriptors need with the parameters in force,
 * so that they allocate nothing. Without it the first run of its kind allocates. (CUDA backend: a
 * graph is made for these counts, in steps of 2048; the first run in other steps makes another.)
 * CPU backend: for as many threads as oneTBB gives the calling thread now; a run on another number
 * may allocate again.
 *
 * @param query_count  0..GPV_MATCH_MAX_DESCRIPTORS
 * @param train_count  likewise
 * @param memory       where the descriptors and the outputs of these runs are; a run may have some
 *                     in host memory and some in CUDA memory if this is GPV_MEMORY_HOST
 * @return GPV_OK, GPV_ERR_INVALID_ARGUMENT, GPV_ERR_UNSUPPORTED (memory), GPV_ERR_OUT_OF_MEMORY,
 *         GPV_ERR_DEVICE, GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_match_prepare(gpv_match *op, int32_t query_count,
                                                   int32_t train_count, gpv_memory memory);

/**
 * Compares each descriptor of one set, the queries, with all of another, and finds the two nearest
 * by Euclidean distance; of equal ones that with the lower index. A query matches its nearest if
 * params->ratio and params->mutual allow it. All arithmetic is in whole numbers. Each output is
 * optional.
 *
 * CPU backend: finished on return. CUDA backend: with all buffers on the device the work is
 * enqueued on stream; after the first run of its kind, or after gpv_match_prepare(), the call
 * allocates nothing and waits for nothing, and it may be captured in a CUDA graph; the result of a
 * captured run is in its buffers, and gpv_match_wait() says nothing of it. Descriptors in host
 * memory are copied before it returns, which may have to wait for the run before; outputs in host
 * memory are written by gpv_match_wait(), gpv_match_query() or gpv_stream_sync(), and have to live
 * until one of them has said that the run is over, or until gpv_match_destroy(). An operator has
 * one run in flight: a run on another stream waits, on the device, for the one before. A captured
 * run is ordered by its graph alone, and needs gpv_match_prepare() or a run of the same kind
 * before; as long as the graph is used, the operator has to live, and may run or prepare nothing
 * that needs more memory.
 *
 * The outputs overlap neither the inputs nor each other.
 *
 * @param query        descriptors of GPV_SIFT_DESCRIPTOR_TYPE_U8, GPV_SIFT_DESCRIPTOR_LENGTH bytes
 * each, without gaps; data is a multiple of 4. Not looked at if query_count is 0
 * @param query_count  0..GPV_MATCH_MAX_DESCRIPTORS, at most as many as there are in query
 * @param found        a gpv_sift_result, in the memory in which the backend computes, whose count
 * is taken for query_count if it is less, or 0 if it is negative: so descriptors of gpv_sift_run()
 * can be matched before anyone knows how many there are. data is a multiple of 4; may be NULL
 * @param train        the other set, likewise. Either set may be in host memory, or in CUDA
 *                     memory with the CUDA backend
 * @param train_count  likewise
 * @param nearest      receives a gpv_match_nearest for each query, without gaps. data is a multiple
 *                     of 4, with room for query_count; may be NULL
 * @param pairs        receives a gpv_match_pair for each match, in the order of the queries,
 * without gaps. data is a multiple of 4, with room for one at least; may be NULL
 * @param result       receives a gpv_match_result, in the memory in which the backend computes.
 * data is a multiple of 4; may be NULL
 * @return GPV_OK; GPV_ERR_INVALID_ARGUMENT, GPV_ERR_UNSUPPORTED (memory): nothing has been written;
 *         GPV_ERR_OUT_OF_MEMORY; GPV_ERR_DEVICE; GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_match_run(gpv_match *op, gpv_stream stream,
                                               const gpv_buffer *query, int32_t query_count,
                                               const gpv_buffer *found, const gpv_buffer *train,
                                               int32_t train_count, const gpv_buffer *nearest,
                                               const gpv_buffer *pairs, const gpv_buffer *result);

/**
 * Draws a closed outline into a picture: lines from each point to the next, and from the last to
 * the first. A pixel is drawn if its middle is at most half of width from one of them, in single
 * precision; what lies outside the picture is left out. Alpha, and the fourth channel of RGBX8 and
 * BGRX8, become 255. GRAY8 takes the luma of the colour, NV12 and I420 the colour by their matrix
 * and range, and of chroma each site one of whose pixels is drawn. It has nothing to do with the
 * runs of the operator, but that with dst on the device it waits for them there, and
 * gpv_match_wait() and gpv_match_query() for it.
 *
 * CPU backend, and dst in host memory: finished on return. CUDA backend, dst on the device: the
 * work is enqueued on stream; it allocates and waits for nothing, and may be captured in a CUDA
 * graph.
 *
 * @param dst     GRAY8, RGB8, BGR8, RGBA8, BGRA8, RGBX8, BGRX8, NV12 or I420
 * @param points  x and y of each, one behind the other, in host memory; from the centre of the
 * first pixel; -131072..131072
 * @param count   points, 2..64
 * @param width   of the line, pixels; 1..1000
 * @param color   0xRRGGBB
 * @return GPV_OK; GPV_ERR_INVALID_ARGUMENT, GPV_ERR_UNSUPPORTED (format, memory or capture):
 * nothing has been written; GPV_ERR_DEVICE; GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_match_draw(gpv_match *op, gpv_stream stream,
                                                const gpv_image *dst, const float *points,
                                                int32_t count, float width, uint32_t color);

/**
 * Whether the last run has finished, without waiting. One that was refused for its arguments does
 * not count.
 * @return GPV_OK if it has, or if there was none; GPV_NOT_READY; or what gpv_match_wait() would
 */
GPV_API GPV_NODISCARD gpv_status gpv_match_query(gpv_match *op);

/**
 * Waits until the last run has finished, and says what it has found.
 *
 * @param result  of an operator that has not run, or whose last run failed: zeros; may be NULL. A
 *                captured run does not count
 * @return GPV_OK; GPV_ERR_INVALID_ARGUMENT (result->struct_size): nothing has been waited for;
 *         GPV_ERR_DEVICE; GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_match_wait(gpv_match *op, gpv_match_result *result);

/** Parameters of gpv_homography_find(). Start from gpv_homography_params_init(). */
typedef struct gpv_homography_params {
    uint32_t struct_size;   /**< sizeof(gpv_homography_params) */
    float threshold;        /**< a pair fits if the place that is found for it is at most so far
                                 from its own, in the units of the points; > 0..1e6; default 3 */
    float confidence;       /**< no more samples are tried once one without a false pair has been
                                 among them with this probability; 0..0.999999; default 0.999 */
    int32_t max_iterations; /**< samples at most; 1..1000000; default 10000 */
    uint32_t seed;          /**< of the samples; any; default 0 */
    uint32_t reserved;      /**< must be 0 */
} gpv_homography_params;

/** A homography. */
typedef struct gpv_homography {
    uint32_t struct_size; /**< sizeof(gpv_homography) */
    uint32_t found;       /**< 1 if there is one; else all that follows is 0 */
    double matrix[9];     /**< row by row, the last one 1: it takes (x, y, 1) to w (u, v, 1),
                               where w has one sign for all pairs that fit */
    double error;         /**< root of the mean squared distance of the pairs that fit */
    int32_t inliers;      /**< pairs that fit */
    int32_t iterations;   /**< samples that were tried */
} gpv_homography;

/** Writes every default; see gpv_homography_params. Reentrant. */
GPV_API void gpv_homography_params_init(gpv_homography_params *params, uint32_t size);

/** Writes zeros, and struct_size. Reentrant. */
GPV_API void gpv_homography_init(gpv_homography *homography, uint32_t size);

/**
 * Finds the homography that takes most of the points of one picture to those of another that they
 * are matched with, although many may be matched wrongly (RANSAC). Each better one on the way, and
 * the last, is refined to the least squared distance of the pairs that fit. It has at least 4 pairs
 * that fit, which any 4 do: ask for more, 15 or so; it keeps the orientation of the pictures, which
 * a plane seen from its front does. The same numbers give the same result, on either backend: it is
 * computed by the calling thread, on the CPU.
 *
 * @param context  receives the text of an error; nothing else of it is used
 * @param params   NULL = all defaults
 * @param from     x and y of each point, one behind the other, in host memory, all finite
 * @param to       likewise, of the points that they are matched with
 * @param count    0..GPV_MATCH_MAX_DESCRIPTORS pairs. With less than 4 none is found
 * @param inliers  receives a byte for each pair: 1 if it fits, else 0; may be NULL
 * @param out      written up to its struct_size
 * @return GPV_OK, whether or not there is one; GPV_ERR_INVALID_ARGUMENT, GPV_ERR_UNSUPPORTED (a
 *         field newer than this library): nothing has been written; GPV_ERR_OUT_OF_MEMORY
 */
GPV_API GPV_NODISCARD gpv_status gpv_homography_find(gpv_context *context,
                                                     const gpv_homography_params *params,
                                                     const float *from, const float *to,
                                                     int32_t count, uint8_t *inliers,
                                                     gpv_homography *out);

GPV_END

#endif
