/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPUVISION_HOMOGRAPHY_H
#define GPUVISION_HOMOGRAPHY_H

/**
 * @file
 * The homography between two pictures, from pairs of points of which many may be
 * wrong, such as the matches of gpuvision/match.h.
 *
 * Sources: Fischler and Bolles, Random sample consensus (1981); Chum, Matas and
 * Kittler, Locally optimized RANSAC (2003). docs/algorithms/match.md defines the
 * result.
 */

#include <gpuvision/context.h>

GPV_BEGIN

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
 * @param count    0..1048576 pairs. With less than 4 none is found
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
