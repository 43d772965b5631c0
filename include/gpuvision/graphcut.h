/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPUVISION_GRAPHCUT_H
#define GPUVISION_GRAPHCUT_H

/**
 * @file
 * Exact minimum cuts of graphs whose nodes are the pixels of an image.
 *
 * Each pixel has arcs to its 4 or 8 neighbours, and one from the source or one
 * to the sink. A cut gives each pixel to one of the two; its capacity is the
 * sum over the arcs that lead from a pixel of the source, or the source
 * itself, to one of the sink, or the sink. By the theorem of Ford and
 * Fulkerson (1956) the capacity of a minimum cut is the maximum flow.
 *
 * gpuvision/segment.h makes such graphs of pictures; that is what the GStreamer
 * element gpugraphcut runs.
 *
 * Sources: Goldberg and Tarjan (1988) for preflows and heights; Cherkassky and
 * Goldberg (1997) for global relabelling; Goldberg, Hed, Kaplan, Tarjan and
 * Werneck (2011) for the search of the CPU backend. What is known of the paper
 * on graph cuts with CUDA that this algorithm starts from is in
 * docs/algorithms/graphcut.md, with the other sources.
 */

#include <gpuvision/context.h>

GPV_BEGIN

#define GPV_GRAPHCUT_MAX_TERMINAL (1 << 30)   /**< largest amount of a terminal's value */
#define GPV_GRAPHCUT_MAX_LINK ((1 << 26) - 1) /**< largest capacity between two pixels */

/** Owned by the caller; belongs to its context's thread (one thread at a time). */
typedef struct gpv_graphcut gpv_graphcut;

/** Parameters. Start from gpv_graphcut_params_init(). */
typedef struct gpv_graphcut_params {
    uint32_t struct_size; /**< sizeof(gpv_graphcut_params) */
    uint32_t certificate; /**< 1: a run adds up the capacity of its cut from what it was given, as
                               the proof that the cut is minimal; 0 or 1; default 0 */
    int32_t max_time_us;  /**< microseconds after which a run settles for the best cut that it has
                               by then; it ends some time later, after the step that it is at and
                               the choice of the cut. On CUDA they begin with the kernel; >= 0,
                               0 = none; default 0 */
    uint32_t reuse;       /**< 1: a run keeps its flow, and the next one on a graph of that size and
                               connectivity begins with as much of it as there is room for. What is
                               found is the same; the time is less where few capacities have
                               changed. Where runs take longer by it some do without, as their times
                               say. For video, and for one graph with changing terminals; 0 or 1;
                               default 0 */
} gpv_graphcut_params;

/** What a run has found. */
typedef struct gpv_graphcut_result {
    uint32_t struct_size; /**< sizeof(gpv_graphcut_result) */
    uint32_t optimal;     /**< 1: no cut has less capacity; 0: max_time_us came before that */
    int64_t flow;         /**< from the source to the sink: no cut has less capacity. If optimal, it
                               is the capacity of the cut in mask */
    int64_t cut;       /**< with params->certificate, or if not optimal, the capacity of the cut in
                            mask: equal to flow if optimal; else no cut has less than flow, so that
                            the gap between the two is the most that it has too much. Else -1 */
    int64_t area;      /**< pixels on the side of the source */
    uint32_t refused;  /**< 1: a value is out of its range, and nothing was solved: all else but
                            struct_size is 0, and mask has not been written */
    uint32_t reserved; /**< 0 */
} gpv_graphcut_result;

/** Writes every default; see gpv_graphcut_params. Reentrant. */
GPV_API void gpv_graphcut_params_init(gpv_graphcut_params *params, uint32_t size);

/** Writes zeros, and struct_size. Reentrant. */
GPV_API void gpv_graphcut_result_init(gpv_graphcut_result *result, uint32_t size);

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
GPV_API GPV_NODISCARD gpv_status gpv_graphcut_create(gpv_context *context,
                                                     const gpv_graphcut_params *params,
                                                     gpv_graphcut **out);

/**
 * Waits for the last run, frees, and sets *op to NULL. NULL and a pointer to
 * NULL are accepted. A result in host memory that nobody waited for is dropped.
 */
GPV_API void gpv_graphcut_destroy(gpv_graphcut **op);

/**
 * Changes the parameters of the runs that follow. On failure the old ones stay.
 * @return as gpv_graphcut_create()
 */
GPV_API GPV_NODISCARD gpv_status gpv_graphcut_set_params(gpv_graphcut *op,
                                                         const gpv_graphcut_params *params);

/**
 * Allocates all that a run on such images needs, so that the run allocates
 * nothing. Without it the first run of its kind (size, format, memory,
 * parameters) allocates.
 *
 * @param links  format, memory, device, width and height are read; data and stride are not
 * @return GPV_OK, GPV_ERR_INVALID_ARGUMENT, GPV_ERR_UNSUPPORTED, GPV_ERR_OUT_OF_MEMORY,
 *         GPV_ERR_DEVICE, GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_graphcut_prepare(gpv_graphcut *op, const gpv_image *links);

/**
 * Finds a minimum cut. Of all minimum cuts it is the one with the fewest pixels
 * on the side of the sink, so the result does not depend on the backend: those
 * pixels from which more flow could reach the sink, once it is maximum.
 *
 * A value out of its range is found while the run goes on: then mask is not
 * written, the result says refused, and gpv_graphcut_wait() which value it is.
 *
 * CPU backend: finished on return. CUDA backend: with all images on the
 * device, the work is enqueued on stream; after the first run of its kind, or
 * after gpv_graphcut_prepare(), the call allocates nothing and waits for
 * nothing, and may be captured in a CUDA graph; the result of a captured run is
 * in its buffer on the device. Images in host memory are copied in before it
 * returns; such a run cannot be captured. A mask in host memory is written by
 * gpv_graphcut_wait(), gpv_graphcut_query() or gpv_stream_sync(), and has to live
 * until one of them has said that the run is over, or until
 * gpv_graphcut_destroy(). An operator has one run in flight: a run on another
 * stream waits, on the device, for the one before. A run with images or buffers
 * in host memory, or behind one with outputs there, waits for the one before on
 * the host. A captured run is ordered by its graph alone, and needs
 * gpv_graphcut_prepare() or a run of the same kind before; the caller sees to it
 * that it overlaps no other run of the operator, captured or not. As long as the
 * graph is used, the operator has to live, and may run or prepare nothing that
 * needs more memory. The run takes every multiprocessor of the device until it
 * is over.
 *
 * @param terminals  LABEL32: capacity from the source to the pixel minus capacity from the pixel to
 *                   the sink, -GPV_GRAPHCUT_MAX_TERMINAL..GPV_GRAPHCUT_MAX_TERMINAL. (What the two
 *                   have in common flows in any case, and adds to flow and cut alike.)
 * @param links      CAP32X4 or CAP32X8, same size and memory: capacity from the pixel to each
 *                   neighbour, 0..GPV_GRAPHCUT_MAX_LINK. The capacity there and the one back may
 *                   differ. Where there is no neighbour the value is not looked at. Planes may
 *                   share memory
 * @param mask       GRAY8, same size and memory: receives 255 on the side of the source, 0 on that
 *                   of the sink. Overlaps neither of the others
 * @param result     receives a gpv_graphcut_result, in the memory in which the backend computes
 *                   (CUDA backend: CUDA memory). data is a multiple of 8, size at least
 *                   sizeof(gpv_graphcut_result); may be NULL
 * @return GPV_OK; GPV_ERR_INVALID_ARGUMENT, GPV_ERR_UNSUPPORTED (format or
 *         memory): nothing has been written; GPV_ERR_OUT_OF_MEMORY;
 *         GPV_ERR_DEVICE; GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_graphcut_run(gpv_graphcut *op, gpv_stream stream,
                                                  const gpv_image *terminals,
                                                  const gpv_image *links, const gpv_image *mask,
                                                  const gpv_buffer *result);

/**
 * Whether the last run has finished, without waiting. A run that was refused
 * for its arguments does not count.
 * @return GPV_OK if it has, or if there was none; GPV_NOT_READY; or what gpv_graphcut_wait() would
 */
GPV_API GPV_NODISCARD gpv_status gpv_graphcut_query(gpv_graphcut *op);

/**
 * Waits until the last run has finished, and says what it has found.
 *
 * @param result  of an operator that has not run, or whose last run failed: zeros; may be NULL. A
 *                captured run does not count
 * @return GPV_OK; GPV_ERR_INVALID_ARGUMENT: result->struct_size, and nothing has been waited for;
 *         or a value of terminals or links that is out of its range, and which; GPV_ERR_DEVICE;
 *         GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_graphcut_wait(gpv_graphcut *op, gpv_graphcut_result *result);

GPV_END

#endif
