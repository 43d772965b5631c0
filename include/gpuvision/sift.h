/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPUVISION_SIFT_H
#define GPUVISION_SIFT_H

/**
 * @file
 * Scale-invariant features: keypoints at the extrema of differences of
 * Gaussians, each with a scale, an orientation and a descriptor of the gradients
 * round it, which finds the same place again in another picture.
 *
 * Source: Lowe, Distinctive image features from scale-invariant keypoints
 * (2004). Parameters and results mean what they mean in OpenCV's SIFT. The paper
 * on SIFT with a GPU that this algorithm starts from is named in
 * docs/algorithms/sift.md, which also defines every result.
 */

#include <gpuvision/context.h>

GPV_BEGIN

/** Owned by the caller; belongs to its context's thread (one thread at a time). */
typedef struct gpv_sift gpv_sift;

#define GPV_SIFT_DESCRIPTOR_LENGTH 128   /**< numbers in a descriptor: 4 x 4 cells, 8 directions */
#define GPV_SIFT_MAX_KEYPOINTS (1 << 20) /**< of gpv_sift_describe() and gpv_sift_prepare() */

/** What a number of a descriptor is. */
typedef uint32_t gpv_sift_descriptor_type;
enum {
    GPV_SIFT_DESCRIPTOR_TYPE_U8 = 0, /**< uint8: 512 times that of F32, rounded, at most 255 */
    GPV_SIFT_DESCRIPTOR_TYPE_F32 = 1 /**< float: a descriptor has length 1, or 0 where there is
                                          no gradient */
};

/** Parameters. Start from gpv_sift_params_init(). */
typedef struct gpv_sift_params {
    uint32_t struct_size;  /**< sizeof(gpv_sift_params) */
    int32_t max_features;  /**< of the keypoints those of the highest response are kept; 0 = as
                                many as there is room for; 0..2147483647; default 0 */
    int32_t octaves;       /**< maximum number of octaves, from the first; 0 = all that fit; 0..16;
                                default 0 */
    int32_t octave_layers; /**< layers of an octave in which extrema are sought, 1..8; default 3 */
    float contrast_threshold; /**< extrema of less contrast are dropped. It is divided by
                                   octave_layers, and a picture has contrast 1 from black to white;
                                   0..1; default 0.04 */
    float edge_threshold;     /**< extrema on edges are dropped: those whose ratio of principal
                                   curvatures is at least this; 1..1e6; default 10 */
    float sigma;              /**< blur of the first layer of each octave, in pixels of the octave;
                                   0.5..4; default 1.6 */
    uint32_t upsample;        /**< 1 = the first octave has twice the size of the picture, which
                                   finds smaller features; 0 or 1; default 1 */
    uint32_t upright;         /**< 1 = every orientation is 0; 0 or 1; default 0 */
    uint32_t root_sift;       /**< 1 = descriptors are those of RootSIFT: the square roots of one
                                   whose sum is 1; 0 or 1; default 0 */
    gpv_sift_descriptor_type descriptor_type; /**< default GPV_SIFT_DESCRIPTOR_TYPE_U8 */
    uint32_t reserved;                        /**< must be 0 */
} gpv_sift_params;

/** A keypoint. Coordinates count in pixels of the picture, from the centre of its first pixel. */
typedef struct gpv_sift_keypoint {
    float x;        /**< to the right */
    float y;        /**< downwards */
    float sigma;    /**< scale, pixels of the picture: half of what OpenCV calls its size */
    float angle;    /**< degrees, 0 <= angle < 360, clockwise from the right as one sees it */
    float response; /**< contrast, as in the parameters but not multiplied by octave_layers */
    int32_t octave; /**< as OpenCV: bits 0..7 the octave, 255 is the one of twice the size and 0
                         the one of the picture's; bits 8..15 the layer; bits 16..23 the place
                         between layers, 128 in the middle */
} gpv_sift_keypoint;

/** What a run has found. */
typedef struct gpv_sift_result {
    uint32_t struct_size; /**< sizeof(gpv_sift_result) */
    int32_t count;        /**< keypoints that are kept, and written where there is a buffer */
    int32_t dropped;      /**< keypoints beyond max_features, or beyond the room there is. Where
                               count is 0 and this is not: the picture has more extrema or
                               keypoints than an operator keeps, and this is their number */
    uint32_t reserved;    /**< 0 */
} gpv_sift_result;

/** Writes every default; see gpv_sift_params. Reentrant. */
GPV_API void gpv_sift_params_init(gpv_sift_params *params, uint32_t size);

/** Writes zeros, and struct_size. Reentrant. */
GPV_API void gpv_sift_result_init(gpv_sift_result *result, uint32_t size);

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
GPV_API GPV_NODISCARD gpv_status gpv_sift_create(gpv_context *context,
                                                 const gpv_sift_params *params, gpv_sift **out);

/**
 * Waits for the last run, frees, and sets *op to NULL. NULL and a pointer to
 * NULL are accepted. A result in host memory that nobody waited for is dropped.
 */
GPV_API void gpv_sift_destroy(gpv_sift **op);

/**
 * Changes the parameters of the runs that follow. On failure the old ones stay.
 * @return as gpv_sift_create()
 */
GPV_API GPV_NODISCARD gpv_status gpv_sift_set_params(gpv_sift *op, const gpv_sift_params *params);

/**
 * Allocates all that runs and descriptions of such pictures need with the
 * parameters in force, so that they allocate nothing. Without it the first run of its
 * kind (size, format, parameters, outputs asked for) allocates. CPU backend:
 * for as many threads as oneTBB gives the calling thread now; a run on another number may
 * allocate again.
 *
 * @param src        format, memory, device, width and height are read; data and stride are not
 * @param mask       likewise; NULL = runs without it
 * @param keypoints  0..GPV_SIFT_MAX_KEYPOINTS: that runs will ask for in host memory, with
 *                   descriptors, or that will be described, whatever their memory
 * @return GPV_OK, GPV_ERR_INVALID_ARGUMENT, GPV_ERR_UNSUPPORTED, GPV_ERR_OUT_OF_MEMORY,
 *         GPV_ERR_DEVICE, GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_sift_prepare(gpv_sift *op, const gpv_image *src,
                                                  const gpv_image *mask, int32_t keypoints);

/**
 * Finds the keypoints of src, and describes them. Each output is optional, but for
 * keypoints where there are descriptors. Keypoints come in the order of falling response; of
 * equal ones, by octave, layer, row, column and angle. A keypoint that was found from
 * two extrema counts once; an extremum with several orientations is several keypoints. A picture
 * too small for the first octave (its shorter side is 11 pixels at least, with upsample 6) has
 * none.
 *
 * CPU backend: finished on return. CUDA backend: with src and mask on the
 * device, the work is enqueued on stream; after the first run of its kind, or
 * after gpv_sift_prepare(), the call allocates nothing and waits for
 * nothing, unless keypoints or descriptors are in host memory, or those of the run
 * before or a drawing after it are: then it waits for these. With all that it has on the device
 * it may be captured in a CUDA graph; the result of a captured run is in its buffers on the device,
 * and gpv_sift_wait() says nothing of it. Images in host memory are copied in
 * before it returns; such a run cannot be captured. What lies in host memory is
 * written by gpv_sift_wait(), gpv_sift_query() or gpv_stream_sync(), and has to live until one of
 * them has said that the run is over, or until gpv_sift_destroy(). An operator has one run in
 * flight: a run on another stream waits, on the device, for the one before. A run with images or
 * buffers in host memory, or behind one with outputs there, waits for the one before on the host. A
 * captured run is ordered by its graph alone, and needs gpv_sift_prepare() or a run of the same
 * kind before; as long as the graph is used, the operator has to live, and may run or prepare
 * nothing that needs more memory.
 *
 * The outputs overlap neither src, mask nor each other. For buffers, all bytes from the first to
 * the last one of an image are the image's.
 *
 * @param src          a picture; its luma counts: the sample of grey, Y of YUV, both of 16 bits
 *                     without the lower 8, and (77 R + 150 G + 29 B + 128) >> 8 of RGB
 * @param mask         GRAY8, same size and memory; keypoints whose nearest pixel is 0 in it do not
 *                     count; may be NULL: all count
 * @param keypoints    receives gpv_sift_keypoint records; there is room for size / keypoint_stride,
 *                     of which the last needs no padding behind it. What lies behind the last one
 *                     is not touched. data is a multiple of 4, size at least one record. Host
 *                     memory, or CUDA memory with the CUDA backend; may be NULL
 * @param keypoint_stride  bytes from one record to the next, a multiple of 4, at least
 *                     sizeof(gpv_sift_keypoint), up to 4096; 0 = sizeof(gpv_sift_keypoint)
 * @param descriptors  receives GPV_SIFT_DESCRIPTOR_LENGTH numbers for each keypoint, as
 *                     params->descriptor_type says, without gaps. data is a multiple of 4, with
 *                     room for as many as keypoints has, or for params->max_features if that is
 *                     less and not 0. Same memory as keypoints; may be NULL: none are made
 * @param result       receives a gpv_sift_result, in the memory in which the backend computes (CUDA
 *                     backend: CUDA memory). data is a multiple of 4; may be NULL
 * @return GPV_OK; GPV_ERR_INVALID_ARGUMENT, GPV_ERR_UNSUPPORTED (format or
 *         memory): nothing has been written; GPV_ERR_OUT_OF_MEMORY;
 *         GPV_ERR_DEVICE; GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_sift_run(gpv_sift *op, gpv_stream stream, const gpv_image *src,
                                              const gpv_image *mask, const gpv_buffer *keypoints,
                                              uint32_t keypoint_stride,
                                              const gpv_buffer *descriptors,
                                              const gpv_buffer *result);

/**
 * Describes the given keypoints of src, whoever has found them: x, y, sigma and
 * angle are read. The layer is the one whose blur is nearest to sigma. The descriptor is 0 of a
 * keypoint that lies outside the picture, has a number that is not finite, a sigma that is not
 * positive or an angle of a million degrees or more, or whose sigma lies more than half a layer
 * beyond that of the last one the picture has. max_features does not count, nor does octaves.
 *
 * Backends, streams, memory and captures are as in gpv_sift_run(). Keypoints in host memory are
 * copied before it returns.
 *
 * @param src          as in gpv_sift_run()
 * @param keypoints    gpv_sift_keypoint records, count of them; with count 0 nothing is looked at
 *                     here, in keypoint_stride and in descriptors, and both may be NULL
 * @param keypoint_stride  as in gpv_sift_run()
 * @param count        0..GPV_SIFT_MAX_KEYPOINTS, at most as many as there are in keypoints
 * @param descriptors  receives GPV_SIFT_DESCRIPTOR_LENGTH numbers for each keypoint, without gaps,
 *                     as params->descriptor_type says. data is a multiple of 4. Same memory as
 *                     keypoints
 * @return as gpv_sift_run()
 */
GPV_API GPV_NODISCARD gpv_status gpv_sift_describe(gpv_sift *op, gpv_stream stream,
                                                   const gpv_image *src,
                                                   const gpv_buffer *keypoints,
                                                   uint32_t keypoint_stride, int32_t count,
                                                   const gpv_buffer *descriptors);

/**
 * Whether the last run or description has finished, without waiting. One that was refused
 * for its arguments does not count.
 * @return GPV_OK if it has, or if there was none; GPV_NOT_READY; or what gpv_sift_wait() would
 */
GPV_API GPV_NODISCARD gpv_status gpv_sift_query(gpv_sift *op);

/**
 * Waits until the last run or description has finished, and says what the run has found.
 *
 * @param result  of an operator that has not run, or whose last run failed: zeros; after
 *                gpv_sift_describe() its count; may be NULL. A captured run does not count
 * @return GPV_OK; GPV_ERR_INVALID_ARGUMENT (result->struct_size): nothing has been
 *         waited for; GPV_ERR_TOO_SMALL: there are more extrema than an operator keeps, one for 16
 *         pixels of the first octave but 65536 at least, or more keypoints than twice that, as a
 *         very low contrast_threshold gives them; count is 0, dropped their number, and nothing
 *         else has been written;
 *         GPV_ERR_DEVICE; GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_sift_wait(gpv_sift *op, gpv_sift_result *result);

GPV_END

#endif
