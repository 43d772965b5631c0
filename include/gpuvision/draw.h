/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPUVISION_DRAW_H
#define GPUVISION_DRAW_H

/**
 * @file
 * Drawing what was found: keypoints, and the outline of an object.
 */

#include <gpuvision/match.h>
#include <gpuvision/sift.h>

GPV_BEGIN

/** How gpv_draw_keypoints() marks a keypoint. */
typedef uint32_t gpv_draw_style;
enum {
    GPV_DRAW_STYLE_POINTS = 0, /**< a cross of 5 x 5 pixels */
    GPV_DRAW_STYLE_RICH = 1    /**< a circle whose radius is the scale, with the orientation
                                         as a line from its centre */
};

/**
 * Draws the keypoints that the last run has kept into a picture, be it src or another. The operator
 * remembers them: neither are they passed, nor does anyone wait for them. There are none before the
 * first run, after one that has failed, and after gpv_sift_describe() or gpv_sift_prepare(). A run
 * that was refused does not count.
 *
 * The middle of a mark is the pixel nearest to the keypoint; what lies outside the picture is left
 * out. A cross is that pixel and two on each side of it. A circle has the radius r, which is sigma
 * rounded, but at least 1: it is the pixels (i, j), seen from the middle in all eight directions,
 * of which j is the whole number nearest to sqrt(r r - i i), 0 <= i <= j. Its line ends at the
 * pixel nearest to where it meets the circle, and has one pixel in each column or row that it runs
 * along, the nearest; halves go away from the middle. All marks have one colour, so that their
 * order does not matter. A fourth channel becomes 255. Grey takes the luma of the colour, YUV the
 * colour by its matrix and range, and of chroma each site one of whose pixels is drawn.
 *
 * CPU backend: finished on return. CUDA backend: the work is enqueued on stream, behind the run;
 * with dst on the device it waits for nothing, and after the first drawing, or after
 * gpv_sift_prepare(), it allocates nothing. dst in host memory is drawn into by gpv_sift_wait(),
 * gpv_sift_query() or gpv_stream_sync(), and has to live as what a run writes into host memory; for
 * it the call may allocate, 24 bytes of page-locked memory for each keypoint that the run may have
 * kept, and waits for a drawing in host memory before it.
 * With dst on the device it may be captured in a CUDA graph, if the last run was: it belongs to
 * that run, and draws what it finds each time. Outside a capture a captured run does not count:
 * there are no keypoints. What gpv_sift_wait() says of the run stays as it was.
 *
 * @param dst    a picture of any size; overlaps no output of the run
 * @param style  a gpv_draw_style
 * @param color  0xRRGGBB
 * @return GPV_OK; GPV_ERR_INVALID_ARGUMENT, GPV_ERR_UNSUPPORTED (format, memory or capture):
 *         nothing has been written; GPV_ERR_OUT_OF_MEMORY; GPV_ERR_DEVICE; GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_draw_keypoints(gpv_sift *op, gpv_stream stream,
                                                    const gpv_image *dst, gpv_draw_style style,
                                                    uint32_t color);

/**
 * Draws a closed outline into a picture: lines from each point to the next, and from the last to
 * the first. A pixel is drawn if its middle is at most half of width from one of them, in single
 * precision; what lies outside the picture is left out. A fourth channel becomes 255. Grey
 * takes the luma of the colour, YUV the colour by its matrix and range, and of chroma each site one
 * of whose pixels is drawn. It has nothing to do with the
 * runs of the operator, but that with dst on the device it waits for them there, and
 * gpv_match_wait() and gpv_match_query() for it.
 *
 * CPU backend, and dst in host memory: finished on return. CUDA backend, dst on the device: the
 * work is enqueued on stream. It waits for nothing and may be captured in a CUDA graph; after the
 * first drawing, or after gpv_match_prepare(), it allocates nothing.
 *
 * @param dst     a picture
 * @param points  x and y of each, one behind the other, in host memory; from the centre of the
 *                first pixel; -131072..131072
 * @param count   points, 2..64
 * @param width   of the line, pixels; 1..1000
 * @param color   0xRRGGBB
 * @return GPV_OK; GPV_ERR_INVALID_ARGUMENT, GPV_ERR_UNSUPPORTED (format, memory or capture):
 *         nothing has been written; GPV_ERR_OUT_OF_MEMORY; GPV_ERR_DEVICE; GPV_ERR_DEVICE_LOST
 */
GPV_API GPV_NODISCARD gpv_status gpv_draw_outline(gpv_match *op, gpv_stream stream,
                                                  const gpv_image *dst, const float *points,
                                                  int32_t count, float width, uint32_t color);

GPV_END

#endif
