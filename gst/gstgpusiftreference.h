/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <gpuvision/draw.h>
#include <gpuvision/homography.h>

#include <vector>

#include "gstgpuvisionpicture.h"

/*
 * A picture that frames are matched to, and where it is in the last of them. Made with the context
 * that the frames' features come from.
 */
class GstGpuSiftReference {
  public:
    GstGpuSiftReference() = default;
    ~GstGpuSiftReference() { close(); }
    GstGpuSiftReference(const GstGpuSiftReference &) = delete;
    GstGpuSiftReference &operator=(const GstGpuSiftReference &) = delete;

    void open(gpv_context *context) { context_ = context; }
    /* Call before the context is destroyed. */
    void close();

    /* Resets the results: nothing found. */
    void lose();
    /* Whether learn() is needed with these parameters. */
    bool knows(const gpv_sift_params &params) const;
    void forget() { keypoints_.clear(), learned_ = {}; }
    /* Finds the features of the picture, with parameters that op has. Waits. With
       GPV_ERR_TOO_SMALL it has learned that there are none. */
    gpv_status learn(gpv_sift *op, gpv_stream stream, const GstGpuVisionPicture &picture,
                     const gpv_sift_params &params);

    /* Finds the picture among the features of a frame. Waits. */
    gpv_status find(gpv_stream stream, const gpv_sift_keypoint *keypoints,
                    const guint8 *descriptors, gint count, float ratio, gint min_inliers);
    /* Draws the outline of the picture, if it has been found. */
    gpv_status draw(gpv_stream stream, const gpv_image *dst, guint color);

    gint features() const { return static_cast<gint>(keypoints_.size()); }
    gint matches() const { return matches_; }
    gint inliers() const { return inliers_; }
    bool found() const { return found_; }
    const double *matrix() const { return homography_.matrix; } /* from the picture to the frame */
    const float *corners() const { return corners_; }           /* x and y of four, in the frame */

  private:
    gpv_status match(gpv_stream stream, const guint8 *descriptors, gint count, float ratio);
    gpv_status fit(const gpv_sift_keypoint *keypoints, gint min_inliers);
    bool place_corners();

    gpv_context *context_ = nullptr;
    gpv_match *op_ = nullptr;
    gpv_match_params params_ = {};

    /* State of the picture. */
    gpv_sift_params learned_ = {};
    gint width_ = 0, height_ = 0;
    std::vector<gpv_sift_keypoint> keypoints_;
    std::vector<guint8> descriptors_;

    /* Results of the last frame. */
    std::vector<gpv_match_pair> pairs_;
    std::vector<float> from_, to_;
    gint matches_ = 0, inliers_ = 0;
    bool found_ = false;
    gpv_homography homography_ = {};
    float corners_[8] = {};
};
