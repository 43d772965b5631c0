/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPUVISION_EXPANSION_H
#define GPUVISION_EXPANSION_H

/**
 * @file
 * Labels for the pixels of an image, more than two of them, by alpha expansion.
 *
 * Of labels that are as cheap as possible, where neighbours of different labels
 * cost something, too: the energy is the sum of what each pixel's label costs it,
 * and of the links between neighbours whose labels differ. One expansion move
 * lets each pixel keep its label or take that of the move, and finds the best of
 * all these choices by an exact minimum cut. The labels of the clusters of
 * gpuvision/kmeans.h, smoothed, are an example; docs/algorithms/expansion.md
 * defines it.
 *
 * Sources: Boykov, Veksler and Zabih (2001) for the moves; Kolmogorov and Zabih
 * (2004) for their graphs; gpuvision/graphcut.h for the cuts.
 */

#include <gpuvision/graphcut.h>

GPV_BEGIN

#define GPV_EXPANSION_MAX_LABELS 16      /**< largest number of labels; the least is 2 */
#define GPV_EXPANSION_MAX_CYCLES 10      /**< largest number of cycles */
#define GPV_EXPANSION_MAX_COST (1 << 28) /**< largest amount of a label's cost */

/** Owned by the caller; belongs to its context's thread (one thread at a time). */
typedef struct gpv_expansion gpv_expansion;

/** Parameters. Start from gpv_expansion_params_init(). */
typedef struct gpv_expansion_params {
    uint32_t struct_size; /**< sizeof(gpv_expansion_params) */
    int32_t cycles; /**< how often each label has its move, at most: once none of them can lower
                         the energy any more, a run is over; 1..GPV_EXPANSION_MAX_CYCLES;
                         default 3 */
} gpv_expansion_params;

/** What a run has found. */
typedef struct gpv_expansion_result {
    uint32_t struct_size; /**< sizeof(gpv_expansion_result) */
    uint32_t converged;   /**< 1: no expansion move lowers the energy; 0: cycles were over before
                               that was known */
    int64_t start_energy; /**< of each pixel's cheapest label, which runs begin with */
    int64_t energy;       /**< of the labels found, no more than start_energy */
    int32_t moves;        /**< that have lowered the energy */
    uint32_t refused;     /**< 1: a value is out of its range, and nothing was solved: all else but
                               struct_size is 0, and labels has not been written */
} gpv_expansion_result;

/** Writes every default; see gpv_expansion_params. Reentrant. */
GPV_API void gpv_expansion_params_init(gpv_expansion_params *params, uint32_t size);

/** Writes zeros, and struct_size. Reentrant. */
GPV_API void gpv_expansion_result_init(gpv_expansion_result *result, uint32_t size);

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
GPV_API GPV_NODISCARD gpv_status gpv_expansion_create(gpv_context *context,
                                                      const gpv_expansion_params *params,
                                                      gpv_expansion **out);

/**
 * Waits for the last run, frees, and sets *op to NULL. NULL and a pointer to
 * NULL are accepted. A result in host memory that nobody waited for is dropped.
 */
GPV_API void gpv_expansion_destroy(gpv_expansion **op);

/**
 * Changes the parameters of the runs that follow. On failure the old ones stay.
 * @return as gpv_expansion_create()
 */
GPV_API GPV_NODISCARD gpv_status gpv_expansion_set_params(gpv_expansion *op,
                                                          const gpv_expansion_params *params);

/**
 * Allocates all that a run on such images needs, so that the run allocates
 * nothing. Without it the first run of its kind (size, format, memory, number of
 * labels, parameters) allocates.
 *
 * @param links  format, memory, device, width and height are read; data and stride are not
 * @param count  number of labels, 2..GPV_EXPANSION_MAX_LABELS
 * @return GPV_OK, GPV_ERR_INVALID_ARGUMENT, GPV_ERR_UNSUPPORTED, GPV_ERR_OUT_OF_MEMORY,
 *         GPV_ERR_DEVICE, GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_expansion_prepare(gpv_expansion *op, const gpv_image *links,
                                                       int32_t count);

/**
 * Begins with the cheapest label of each pixel, of several the first, and makes
 * the moves of label 0, 1, 2 and so on, and of them all again, until none can
 * lower the energy, or params->cycles are over. A move changes the fewest pixels
 * of all that lower the energy the most, so the result does not depend on the
 * backend, and a move that cannot lower it changes nothing.
 *
 * A value out of its range is found while the run goes on: then labels is not
 * written, the result says refused, and gpv_expansion_wait() which value it is.
 *
 * CPU backend: finished on return. CUDA backend: as gpv_graphcut_run(), with
 * labels for its mask and gpv_expansion_prepare() and gpv_expansion_wait() for
 * those of gpv_graphcut.
 *
 * @param costs   of each label a LABEL32 image of what it costs each pixel,
 *                -GPV_EXPANSION_MAX_COST..GPV_EXPANSION_MAX_COST; same size and memory. Several may
 *                share memory
 * @param count   number of labels, 2..GPV_EXPANSION_MAX_LABELS
 * @param links   CAP32X4 or CAP32X8, same size and memory: what it costs that the labels of a pixel
 *                and of its neighbour differ, 0..GPV_GRAPHCUT_MAX_LINK. It is the same there and
 *                back, and is read from the first half of the planes alone; the others may be any
 *                memory of the size. Where there is no neighbour the value is not looked at
 * @param labels  GRAY8, same size and memory: receives each pixel's label, 0..count - 1. Overlaps
 *                none of the others
 * @param result  receives a gpv_expansion_result, in the memory in which the backend computes
 *                (CUDA backend: CUDA memory). data is a multiple of 8, size at least
 *                sizeof(gpv_expansion_result); may be NULL
 * @return GPV_OK; GPV_ERR_INVALID_ARGUMENT, GPV_ERR_UNSUPPORTED (format or
 *         memory): nothing has been written; GPV_ERR_OUT_OF_MEMORY;
 *         GPV_ERR_DEVICE; GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_expansion_run(gpv_expansion *op, gpv_stream stream,
                                                   const gpv_image *const *costs, int32_t count,
                                                   const gpv_image *links, const gpv_image *labels,
                                                   const gpv_buffer *result);

/**
 * Whether the last run has finished, without waiting. A run that was refused
 * for its arguments does not count.
 * @return GPV_OK if it has, or if there was none; GPV_NOT_READY; or what gpv_expansion_wait() would
 */
GPV_API GPV_NODISCARD gpv_status gpv_expansion_query(gpv_expansion *op);

/**
 * Waits until the last run has finished, and says what it has found.
 *
 * @param result  of an operator that has not run, or whose last run failed: zeros; may be NULL. A
 *                captured run does not count
 * @return GPV_OK; GPV_ERR_INVALID_ARGUMENT: result->struct_size, and nothing has been waited for;
 *         or a value of costs or links that is out of its range, and which; GPV_ERR_DEVICE;
 *         GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_expansion_wait(gpv_expansion *op,
                                                    gpv_expansion_result *result);

GPV_END

#endif
