/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPUVISION_SEGMENT_H
#define GPUVISION_SEGMENT_H

/**
 * @file
 * Foreground and background of a picture, by an exact minimum cut.
 *
 * Of all masks the one of minimum energy E = lambda R + B. R says how much
 * likelier the colours of pixels are on the other side, B how long the border
 * between the sides is, where an edge of the picture makes it shorter. What is
 * known of some pixels, the seeds, is kept to, and colours are learned from it.
 * docs/algorithms/segment.md defines it. The GStreamer element gpugraphcut runs
 * gpv_segment; gpv_graphcut cuts graphs that the caller makes.
 *
 * Sources: Boykov and Jolly (2001) for the energy, Rother, Kolmogorov and Blake
 * (2004) for mixtures of Gaussians and for iterations; gpuvision/graphcut.h for the
 * cut.
 */

#include <gpuvision/graphcut.h>

GPV_BEGIN

/** What is learned of the colours of either side. */
typedef uint32_t gpv_segment_model;
enum {
    GPV_SEGMENT_MODEL_GMM = 0,       /**< a mixture of five Gaussians with full covariance */
    GPV_SEGMENT_MODEL_HISTOGRAM = 1, /**< how frequent each of 16^3 colours is, smoothed */
    GPV_SEGMENT_MODEL_MEANS = 2      /**< one mean colour */
};

/** What a run does with the colours that the run before it has learned. */
typedef uint32_t gpv_segment_warm_start;
enum {
    GPV_SEGMENT_WARM_START_NONE = 0,  /**< nothing: each run learns from its own seeds */
    GPV_SEGMENT_WARM_START_ADAPT = 1, /**< starts from them, if there are any, and at the end
                                           learns from its own cut, unless the frame teaches
                                           nothing; begins anew where a scene does: for video */
    GPV_SEGMENT_WARM_START_REUSE = 2  /**< uses them, if there are any, and learns nothing */
};

/** What dst of gpv_segment_run() receives. */
typedef uint32_t gpv_segment_output;
enum {
    GPV_SEGMENT_OUTPUT_OVERLAY = 0, /**< the picture, its background grey and half as bright;
                                         format of src */
    GPV_SEGMENT_OUTPUT_CUTOUT = 1   /**< the picture, its background transparent; RGBA8 or BGRA8.
                                         Alpha of the foreground is that of src, or 255 where
                                         there is none; with GPV_SEGMENT_EDGE_SOFT at its border
                                         in part */
};

/** What mask, and the alpha of a cutout, are at the border of the sides. */
typedef uint32_t gpv_segment_edge;
enum {
    GPV_SEGMENT_EDGE_HARD = 0, /**< a pixel is of one side or of the other */
    GPV_SEGMENT_EDGE_SOFT = 1  /**< within 4 pixels of the other side, a pixel that is not known is
                                    of the foreground in part, as its colour says */
};

/* Values of seeds. Those below 4 are the values of a mask of OpenCV's grabCut(). */
#define GPV_SEGMENT_SEED_BACKGROUND 0          /**< known to be background */
#define GPV_SEGMENT_SEED_FOREGROUND 1          /**< known to be foreground */
#define GPV_SEGMENT_SEED_PROBABLY_BACKGROUND 2 /**< not known; first learned from as background */
#define GPV_SEGMENT_SEED_PROBABLY_FOREGROUND 3 /**< not known; first learned from as foreground */
#define GPV_SEGMENT_SEED_UNKNOWN 128           /**< nothing is known */
#define GPV_SEGMENT_SEED_WHITE 255             /**< known to be foreground, as in a mask */

#define GPV_SEGMENT_UNIT 1000          /**< capacity of a border of the length of a pixel */
#define GPV_SEGMENT_MAX_ITERATIONS 100 /**< largest number of iterations */
#define GPV_SEGMENT_MAX_WEIGHT 1e6f    /**< largest lambda and sigma */

/** Owned by the caller; belongs to its context's thread (one thread at a time). */
typedef struct gpv_segment gpv_segment;

/** Parameters. Start from gpv_segment_params_init(). */
typedef struct gpv_segment_params {
    uint32_t struct_size;              /**< sizeof(gpv_segment_params) */
    gpv_segment_model model;           /**< default GPV_SEGMENT_MODEL_GMM */
    gpv_segment_warm_start warm_start; /**< default GPV_SEGMENT_WARM_START_NONE */
    int32_t connectivity;              /**< 4 or 8 neighbours; default 4 */
    int32_t iterations; /**< of learning colours and cutting, each from the cut of the one before;
                         1..GPV_SEGMENT_MAX_ITERATIONS; default 5. One where a run begins with what
                         has been learned, or adapts as the run before has, unless that has failed
                         or been forgotten */
    float lambda; /**< weight of R, in lengths of border for each unit of log-likelihood (nat);
                       0..GPV_SEGMENT_MAX_WEIGHT; 0: borders and seeds decide alone; default
                       0.01 */
    float sigma;  /**< Euclidean distance, in R, G and B of 0..255, of the colours of two
                       neighbours where the border between them is shorter by a factor of sqrt(e);
                       0..GPV_SEGMENT_MAX_WEIGHT; 0 = root mean square of the picture; default 0 */
    gpv_segment_output output; /**< default GPV_SEGMENT_OUTPUT_OVERLAY */
    uint32_t certificate;      /**< 0 or 1, as in gpv_graphcut_params; default 0 */
    int32_t max_time_us;       /**< of each cut, as in gpv_graphcut_params; default 0 */
    uint32_t static_scene;     /**< 1: frames show one scene, and the camera stands still. The first
                                    cut of a run begins with what the last run has left, as with
                                    reuse of gpv_graphcut_params, which changes nothing but the
                                    time; and sigma = 0 is measured once, where a picture has any
                                    difference, and holds for frames of that size and connectivity:
                                    until 0 is set here, until another model, gpv_segment_forget()
                                    or a run that fails, and where one with warm_start adapt gives
                                    up what it has learned. Runs in a graph do not see what is set and
                                  forgotten     behind it. 0 or 1; default 0 */
    gpv_segment_edge edge;     /**< of mask and of a cutout; an overlay and all that is learned go
                                    by the sides. Default GPV_SEGMENT_EDGE_HARD */
} gpv_segment_params;

/** Writes every default; see gpv_segment_params. Reentrant. */
GPV_API void gpv_segment_params_init(gpv_segment_params *params, uint32_t size);

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
GPV_API GPV_NODISCARD gpv_status gpv_segment_create(gpv_context *context,
                                                    const gpv_segment_params *params,
                                                    gpv_segment **out);

/**
 * Waits for the last run, frees, and sets *op to NULL. NULL and a pointer to
 * NULL are accepted. A result in host memory that nobody waited for is dropped.
 */
GPV_API void gpv_segment_destroy(gpv_segment **op);

/**
 * Changes the parameters of the runs that follow. On failure the old ones stay.
 * What has been learned is forgotten if params->model changes.
 * @return as gpv_segment_create()
 */
GPV_API GPV_NODISCARD gpv_status gpv_segment_set_params(gpv_segment *op,
                                                        const gpv_segment_params *params);

/**
 * Forgets what has been learned: the next run learns from its seeds, as the
 * first one did. For where a new scene begins. Runs with warm_start adapt see by
 * themselves where one does, if its colours are others.
 * @return GPV_OK, GPV_ERR_INVALID_ARGUMENT, GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_segment_forget(gpv_segment *op);

/**
 * Waits for the last run, and says whether the next one, with warm_start adapt or
 * reuse, begins with what has been learned. If not, it learns from its seeds, so
 * that this is where to give them.
 *
 * Nothing has been learned by a run whose cut is all on one side: of a plain
 * frame without seeds, say. Of runs in a graph it says nothing. Runs with adapt give up what has
 * been learned after more than three frames of another scene in a row, or, where nothing was known
 * when learning began, when colours have moved away from those that it began with.
 * docs/algorithms/segment.md has the rules.
 *
 * @param learned  receives 1 or 0
 * @return GPV_OK; GPV_ERR_INVALID_ARGUMENT: learned is NULL; GPV_ERR_DEVICE;
 *         GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_segment_learned(gpv_segment *op, uint32_t *learned);

/**
 * Allocates all that a run on such images needs, so that the run allocates
 * nothing. Without it the first run of its kind (size, format, memory,
 * parameters, whether anything has been learned) allocates. Of images, data and stride are not
 * looked at.
 *
 * @param src   as in gpv_segment_run()
 * @param seeds as in gpv_segment_run(); NULL = there will be none
 * @param mask  as in gpv_segment_run(); NULL = none is wanted
 * @param dst   as in gpv_segment_run(); NULL = none is wanted
 * @return GPV_OK, GPV_ERR_INVALID_ARGUMENT, GPV_ERR_UNSUPPORTED, GPV_ERR_OUT_OF_MEMORY,
 *         GPV_ERR_DEVICE, GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_segment_prepare(gpv_segment *op, const gpv_image *src,
                                                     const gpv_image *seeds, const gpv_image *mask,
                                                     const gpv_image *dst);

/**
 * Divides a picture into foreground and background.
 *
 * Colours of a side are learned from the pixels that are known to be of it or
 * probably are; of a side without, from all pixels of which nothing is said. What is
 * farther from rect than a tenth of its width or height, and a pixel, teaches nothing. If nothing
 * is said of any pixel, the colours of the picture are divided into two clusters (k-means), of
 * which the one with more of the picture's edge is the background; if there are no two, all is
 * background, unless lambda is below 0.0005, which rounds to nothing: then all is foreground.
 *
 * The result is the same on every backend, to the bit, but for a cut that
 * max_time_us has ended.
 *
 * CPU backend: finished on return. CUDA backend: with all images on the device, the work is
 * enqueued on stream. After the first run of its kind, or after gpv_segment_prepare(), the call
 * allocates nothing, waits only for what is named below, and may be captured in a CUDA graph;
 * the result of a captured run is in its buffer on the device. Images in host memory are
 * copied in before it returns; a run with one cannot be captured. Images in host memory that are
 * written are written by gpv_segment_wait(), gpv_segment_query() or gpv_stream_sync(), and have
 * to live until one of them has said that the run is over, or until gpv_segment_destroy(). An
 * operator has one run in flight: a run on another stream waits, on the device, for the one
 * before. A run with images or buffers in host memory, or behind one with outputs there, waits
 * for the one before on the host. A captured run is ordered by its graph alone, and needs
 * gpv_segment_prepare() or a run of the same kind before; as long as the graph is used, the
 * operator has to live, and may run or prepare nothing that needs more memory. Whether it may
 * begin with what has been learned is settled when it is captured, for which the run before has
 * to be waited for; what it learns goes to the runs after it. A run with reuse waits for the one
 * before as long as nothing is known to have been learned, and a run with adapt for one before
 * it with another warm_start. The cut takes every multiprocessor of the device until it is over.
 *
 * Seeds on the device are looked at there: a fault in them is reported by gpv_segment_wait() and
 * gpv_segment_query(). Then mask (but for its chroma, which is 128) and dst are as they were,
 * result->refused is 1 and all else there 0, and what has been learned is forgotten, but by a run
 * with warm_start reuse that went on from it.
 *
 * @param src     a picture
 * @param seeds   GRAY8, same size, of GPV_SEGMENT_SEED_BACKGROUND and the other five: 0
 *                background, 1 or 255 foreground, 2 probably background, 3 probably foreground, 128
 *                not known. Inside rect no other value is legal, and one pixel at least is not
 *                known; outside, values do not count. Memory of src, or host memory: then it is
 *                copied before the call returns, which may wait for the run before. May be NULL
 * @param rect    what lies outside is background; within src, not empty; may be NULL
 * @param mask    GRAY8, NV12 or I420, same size and memory: receives 255 in the foreground, 0 in
 *                the background, and with GPV_SEGMENT_EDGE_SOFT alpha between them; chroma 128; may
 *                be NULL
 * @param dst     receives what params->output says; same size and memory; may be src itself, with
 *                the same format, data and stride; may be NULL
 * @param result  receives a gpv_graphcut_result of the last cut, in the memory in which the backend
 *                computes (CUDA backend: CUDA memory). Its capacities are those of links and
 *                terminals in GPV_SEGMENT_UNIT. data is a multiple of 8; may be NULL
 * @return GPV_OK; GPV_ERR_INVALID_ARGUMENT, GPV_ERR_UNSUPPORTED (format or
 *         memory): nothing has been written; GPV_ERR_OUT_OF_MEMORY;
 *         GPV_ERR_DEVICE; GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_segment_run(gpv_segment *op, gpv_stream stream,
                                                 const gpv_image *src, const gpv_image *seeds,
                                                 const gpv_rect *rect, const gpv_image *mask,
                                                 const gpv_image *dst, const gpv_buffer *result);

/**
 * Whether the last run has finished, without waiting. A run that was refused
 * for its arguments does not count.
 * @return GPV_OK if it has, or if there was none; GPV_NOT_READY; or what gpv_segment_wait() would
 */
GPV_API GPV_NODISCARD gpv_status gpv_segment_query(gpv_segment *op);

/**
 * Waits until the last run has finished, and says what its last cut is.
 *
 * @param result  of an operator that has not run, or whose last run failed: zeros; may be NULL. A
 *                captured run does not count
 * @return GPV_OK; GPV_ERR_INVALID_ARGUMENT: result->struct_size, and nothing has been waited for;
 *         or seeds on the device have a fault, which gpv_context_error() names;
 *         GPV_ERR_DEVICE; GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_segment_wait(gpv_segment *op, gpv_graphcut_result *result);

GPV_END

#endif
