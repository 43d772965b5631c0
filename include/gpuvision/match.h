/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPUVISION_MATCH_H
#define GPUVISION_MATCH_H

/**
 * @file
 * Matching of SIFT descriptors: which of one picture are like which of another,
 * by comparing all of them.
 *
 * Source: Lowe, Distinctive image features from scale-invariant keypoints (2004),
 * for the ratio of the two nearest. docs/algorithms/match.md defines every result.
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
 * one run in flight: a run on another stream waits, on the device, for the one before. A run with
 * images or buffers in host memory, or behind one with outputs there, waits for the one before on
 * the host. A captured run is ordered by its graph alone, and needs gpv_match_prepare() or a run of
 * the same kind before; as long as the graph is used, the operator has to live, and may run or
 * prepare nothing that needs more memory.
 *
 * The outputs overlap neither the inputs nor each other.
 *
 * @param query        descriptors of GPV_SIFT_DESCRIPTOR_TYPE_U8, GPV_SIFT_DESCRIPTOR_LENGTH bytes
 *                     each, without gaps; data is a multiple of 4. Not looked at if query_count is
 *                     0
 * @param query_count  0..GPV_MATCH_MAX_DESCRIPTORS, at most as many as there are in query
 * @param found        a gpv_sift_result, in the memory in which the backend computes, whose count
 *                     is taken for query_count if it is less, or 0 if it is negative: so
 *                     descriptors of gpv_sift_run() can be matched before anyone knows how many
 *                     there are. data is a multiple of 4; may be NULL
 * @param train        the other set, likewise. Either set may be in host memory, or in CUDA
 *                     memory with the CUDA backend
 * @param train_count  likewise
 * @param nearest      receives a gpv_match_nearest for each query, without gaps. data is a multiple
 *                     of 4, with room for query_count; may be NULL
 * @param pairs        receives a gpv_match_pair for each match, in the order of the queries,
 *                     without gaps. data is a multiple of 4, with room for one at least; may be
 *                     NULL
 * @param result       receives a gpv_match_result, in the memory in which the backend computes.
 *                     data is a multiple of 4; may be NULL
 * @return GPV_OK; GPV_ERR_INVALID_ARGUMENT, GPV_ERR_UNSUPPORTED (memory): nothing has been written;
 *         GPV_ERR_OUT_OF_MEMORY; GPV_ERR_DEVICE; GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_match_run(gpv_match *op, gpv_stream stream,
                                               const gpv_buffer *query, int32_t query_count,
                                               const gpv_buffer *found, const gpv_buffer *train,
                                               int32_t train_count, const gpv_buffer *nearest,
                                               const gpv_buffer *pairs, const gpv_buffer *result);

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

GPV_END

#endif
