/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPUVISION_KMEANS_H
#define GPUVISION_KMEANS_H

/**
 * @file
 * Colour segmentation by k-means: the colours of an image fall into clusters,
 * each pixel gets the number or the colour of its cluster.
 *
 * Sources: Lloyd's iteration (1957, printed 1982), started as k-means++ does it
 * (Arthur and Vassilvitskii, 2007); the number of clusters is chosen by the
 * criterion of Calinski and Harabasz (1974). The paper on colour segmentation
 * with a GPU that this algorithm starts from is named in
 * docs/algorithms/kmeans.md, which also defines every result to the bit.
 */

#include <gpuvision/context.h>

GPV_BEGIN

/** Owned by the caller; belongs to its context's thread (one thread at a time). */
typedef struct gpv_kmeans gpv_kmeans;

#define GPV_KMEANS_MAX_CLUSTERS 256 /**< largest number of clusters */

/** How far a colour is from a centroid. */
typedef uint32_t gpv_kmeans_metric;
enum {
    GPV_KMEANS_METRIC_L2 = 0, /**< squared Euclidean distance */
    GPV_KMEANS_METRIC_L1 = 1  /**< Manhattan distance. The centroid stays the mean, which does not
                                   minimize this cost: it need not fall in every iteration */
};

/** The centroids that the first run starts from. */
typedef uint32_t gpv_kmeans_init_method;
enum {
    GPV_KMEANS_INIT_PLUSPLUS = 0, /**< colours drawn by squared distance to those drawn before */
    GPV_KMEANS_INIT_RANDOM = 1,   /**< different colours, drawn by how often they occur */
    GPV_KMEANS_INIT_GRID = 2,     /**< the colours of pixels spread evenly over the image */
    GPV_KMEANS_INIT_GIVEN = 3     /**< those of gpv_kmeans_set_centroids() */
};

/** The colour space of distances and centroids. */
typedef uint32_t gpv_kmeans_color_space;
enum {
    GPV_KMEANS_COLOR_SPACE_RGB = 0, /**< R, G, B, 0..255 */
    GPV_KMEANS_COLOR_SPACE_LAB = 1  /**< CIE L*a*b* of sRGB (D65), as bytes: 2.55 L*, a* + 128,
                                         b* + 128 */
};

/** Parameters. Start from gpv_kmeans_params_init(). */
typedef struct gpv_kmeans_params {
    uint32_t struct_size;        /**< sizeof(gpv_kmeans_params) */
    int32_t clusters;            /**< 2..256; 0 = chosen automatically; default 8 */
    int32_t max_clusters;        /**< 2..256, limit of the automatic choice; default 16 */
    int32_t max_iterations;      /**< updates of the centroids, 0..10000; default 20 */
    float tolerance;             /**< the iteration ends when no centroid has moved further, in grey
                                      levels; 0 = when labels repeat; below 0 = all iterations are
                                      run; -1e6..1e6; default 0.5 */
    gpv_kmeans_metric metric;    /**< default GPV_KMEANS_METRIC_L2 */
    gpv_kmeans_init_method init; /**< GIVEN: not with clusters 0; default PLUSPLUS */
    gpv_kmeans_color_space color_space; /**< default GPV_KMEANS_COLOR_SPACE_RGB */
    uint64_t seed;                      /**< of PLUSPLUS and RANDOM; default 0 */
    uint32_t warm_start; /**< 1 = a run starts from the centroids of the one before, if that
                              had the same clusters (and max_clusters, where that is read) and
                              color_space. Numbers of clusters are kept, and so is their number,
                              until fewer than two clusters have pixels or the scene changes, as
                              docs/algorithms/kmeans.md defines it: then the next run starts as
                              init says. 0 or 1; default 0 */
    uint32_t reserved;   /**< must be 0 */
} gpv_kmeans_params;

/** What a run has found. */
typedef struct gpv_kmeans_result {
    uint32_t struct_size; /**< sizeof(gpv_kmeans_result) */
    int32_t clusters;     /**< as in the parameters, or as chosen: 1 if the image has one colour */
    int32_t iterations; /**< updates of the centroids; where clusters was chosen, of that number */
    int32_t empty;      /**< clusters without a pixel. There are some where the image has fewer
                             colours than clusters, or where the iteration ended too early */
    uint32_t converged; /**< 1 = the tolerance has ended the iteration */
    uint32_t reserved;  /**< 0 */
    double inertia;     /**< sum over all pixels of the squared Euclidean distance to their
                             centroid, whatever the metric; in params->color_space: in
                             levels of RGB, or of Lab as bytes */
} gpv_kmeans_result;

/** Writes every default; see gpv_kmeans_params. Reentrant. */
GPV_API void gpv_kmeans_params_init(gpv_kmeans_params *params, uint32_t size);

/** Writes zeros, and struct_size. Reentrant. */
GPV_API void gpv_kmeans_result_init(gpv_kmeans_result *result, uint32_t size);

/**
 * The colour that stands for a centroid in a recoloured image: rounded to
 * bytes, converted from Lab.
 *
 * @param color_space  of the centroid; an unknown one is RGB
 * @param centroid  3 numbers; those outside 0..255 are taken as its ends; NULL gives black
 * @return 0xRRGGBB
 * Reentrant.
 */
GPV_API uint32_t gpv_kmeans_color(gpv_kmeans_color_space color_space, const float *centroid);

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
GPV_API GPV_NODISCARD gpv_status gpv_kmeans_create(gpv_context *context,
                                                   const gpv_kmeans_params *params,
                                                   gpv_kmeans **out);

/**
 * Waits for the last run, frees, and sets *op to NULL. NULL and a pointer to
 * NULL are accepted. A result in host memory that nobody waited for is dropped.
 */
GPV_API void gpv_kmeans_destroy(gpv_kmeans **op);

/**
 * Changes the parameters of the runs that follow. On failure the old ones stay. CUDA backend: the
 * first with GPV_KMEANS_COLOR_SPACE_LAB allocates and waits, also in gpv_kmeans_create(), which
 * must not happen while a stream is being captured.
 * @return as gpv_kmeans_create()
 */
GPV_API GPV_NODISCARD gpv_status gpv_kmeans_set_params(gpv_kmeans *op,
                                                       const gpv_kmeans_params *params);

/**
 * The centroids that runs with GPV_KMEANS_INIT_GIVEN start from, but for those that go on from the
 * run before (params->warm_start).
 *
 * @param centroids  3 * count numbers in 0..255, three for each cluster, in
 *                   params->color_space; copied
 * @param count      2..256; runs need it to be params->clusters
 * @return GPV_OK, GPV_ERR_INVALID_ARGUMENT; then the old ones stay
 */
GPV_API GPV_NODISCARD gpv_status gpv_kmeans_set_centroids(gpv_kmeans *op, const float *centroids,
                                                          int32_t count);

/**
 * Allocates all that a run on such images needs with the parameters in force,
 * so that the run allocates nothing. Without it the first run of its kind (size,
 * formats, parameters, outputs asked for) allocates. CPU backend: for as many threads as oneTBB
 * gives the calling thread now; a run on another number may allocate again.
 *
 * @param src     format, memory, device, width and height are read; data and stride are not
 * @param labels  likewise; NULL = a run without it
 * @param dst     likewise; NULL = a run without it
 * @return GPV_OK, GPV_ERR_INVALID_ARGUMENT, GPV_ERR_UNSUPPORTED, GPV_ERR_OUT_OF_MEMORY,
 *         GPV_ERR_DEVICE, GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_kmeans_prepare(gpv_kmeans *op, const gpv_image *src,
                                                    const gpv_image *labels, const gpv_image *dst);

/**
 * Finds the clusters of src. Each output is optional. Of the clusters without a pixel, each update
 * moves the one of the lowest number to the colour that is farthest from its own centroid, unless
 * all colours are at theirs. Clusters are numbered from 0.
 *
 * CPU backend: finished on return. CUDA backend: with the images on the device, the work is
 * enqueued on stream. After the first run of its kind, or after gpv_kmeans_prepare(), the call
 * allocates nothing, waits only for what is named below, and with all outputs on the device may
 * be captured in a CUDA graph; the result of a captured run is in its buffers there.
 * Images in host memory are copied in before it returns; such a run cannot be captured. What
 * lies in host memory is written by gpv_kmeans_wait(), gpv_kmeans_query() or gpv_stream_sync(),
 * and has to live until one of them has said that the run is over, or until
 * gpv_kmeans_destroy(). An operator has one run in flight: a run on another stream waits, on the
 * device, for the one before. A run with images or buffers in host memory, or behind one with
 * outputs there, waits for the one before on the host. A captured run is ordered by its graph
 * alone, and needs gpv_kmeans_prepare() or a run of the same kind before; as long as the graph
 * is used, the operator has to live, and may run or prepare nothing that needs more memory.
 *
 * But for dst, which may be src, the outputs overlap neither src nor each other. For buffers, all
 * bytes from the first to the last one of an image are the image's.
 *
 * @param src        a picture. A grey pixel is the colour of equal R, G and B; a fourth channel
 *                   does not count; a pixel of YUV has the chroma of its site
 * @param labels     receives the number of each pixel's cluster. GRAY8, NV12 or I420 (Y; chroma is
 *                   128), same size and memory as src; may be NULL
 * @param dst        receives the colour of each pixel's cluster. Format, size and memory of src;
 *                   a fourth channel is copied; YUV is made by the matrix and range of dst, which
 *                   may be others than those of src, and its chroma is the mean of its pixels; may
 *                   be src (same data and strides); may be NULL
 * @param centroids  receives 3 floats for each cluster, in params->color_space. data is a
 *                   multiple of 4, with room for clusters, or max_clusters where clusters is 0.
 *                   What lies behind the last cluster that was found is not written. Host memory,
 *                   or CUDA memory with the CUDA backend; may be NULL
 * @param counts     receives the pixels of each cluster as int32; otherwise as centroids
 * @param result     receives a gpv_kmeans_result, as much of it as there is room for, in the memory
 *                   in which the backend computes (CUDA backend: CUDA memory). data is a multiple
 *                   of 8; may be NULL
 * @return GPV_OK; GPV_ERR_INVALID_ARGUMENT, GPV_ERR_UNSUPPORTED (format or
 *         memory): nothing has been written; GPV_ERR_OUT_OF_MEMORY;
 *         GPV_ERR_DEVICE; GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_kmeans_run(gpv_kmeans *op, gpv_stream stream,
                                                const gpv_image *src, const gpv_image *labels,
                                                const gpv_image *dst, const gpv_buffer *centroids,
                                                const gpv_buffer *counts, const gpv_buffer *result);

/**
 * Whether the last run has finished, without waiting. A run that was refused
 * for its arguments does not count.
 * @return GPV_OK if it has, or if there was none; GPV_NOT_READY; or what gpv_kmeans_wait() would
 */
GPV_API GPV_NODISCARD gpv_status gpv_kmeans_query(gpv_kmeans *op);

/**
 * Waits until the last run has finished, and says what it has found.
 *
 * @param result  of an operator that has not run, or whose last run failed: zeros;
 *                may be NULL. A captured run does not count
 * @return GPV_OK; GPV_ERR_INVALID_ARGUMENT (result->struct_size): nothing has been
 *         waited for; GPV_ERR_DEVICE; GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_kmeans_wait(gpv_kmeans *op, gpv_kmeans_result *result);

GPV_END

#endif
