/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstgpusiftreference.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace {

gpv_buffer buffer_of(const void *data, gsize size) {
    gpv_buffer buffer;
    gpv_buffer_init(&buffer, sizeof buffer);
    buffer.memory = GPV_MEMORY_HOST;
    buffer.data = const_cast<void *>(data);
    buffer.size = size;
    return buffer;
}

/* Twice the area of a triangle of corners, above 0 where they turn clockwise as one sees it. */
double cross(const float *corners, int a, int b, int c) {
    const auto x = [corners](int i) { return static_cast<double>(corners[2 * i]); };
    const auto y = [corners](int i) { return static_cast<double>(corners[2 * i + 1]); };
    return (x(b) - x(a)) * (y(c) - y(a)) - (x(c) - x(a)) * (y(b) - y(a));
}

constexpr float max_coordinate = 131072; /* of gpv_draw_outline() */

} // namespace

void GstGpuSiftReference::close() {
    gpv_match_destroy(&op_);
    context_ = nullptr;
    forget();
    lose();
}

void GstGpuSiftReference::lose() {
    matches_ = inliers_ = 0;
    found_ = false;
}

/* How many features of a frame are kept does not count. */
bool GstGpuSiftReference::knows(const gpv_sift_params &params) const {
    gpv_sift_params other = params;
    other.max_features = learned_.max_features;
    return std::memcmp(&other, &learned_, sizeof other) == 0;
}

gpv_status GstGpuSiftReference::learn(gpv_sift *op, gpv_stream stream,
                                      const GstGpuVisionPicture &picture,
                                      const gpv_sift_params &params) {
    const auto room = static_cast<gsize>(params.max_features);
    keypoints_.resize(room);
    descriptors_.resize(room * GPV_SIFT_DESCRIPTOR_LENGTH);
    const gpv_image view = gst_gpu_vision_picture_view(&picture);
    const gpv_buffer keypoints = buffer_of(keypoints_.data(), room * sizeof keypoints_[0]);
    const gpv_buffer descriptors = buffer_of(descriptors_.data(), descriptors_.size());
    gpv_sift_result result;
    gpv_sift_result_init(&result, sizeof result);
    gpv_status status =
        gpv_sift_run(op, stream, &view, nullptr, &keypoints, 0, &descriptors, nullptr);
    if (status == GPV_OK)
        status = gpv_sift_wait(op, &result);
    if (status != GPV_OK && status != GPV_ERR_TOO_SMALL) {
        forget();
        return status;
    }
    keypoints_.resize(static_cast<gsize>(result.count));
    descriptors_.resize(keypoints_.size() * GPV_SIFT_DESCRIPTOR_LENGTH);
    width_ = picture.width;
    height_ = picture.height;
    learned_ = params;
    return status;
}

gpv_status GstGpuSiftReference::find(gpv_stream stream, const gpv_sift_keypoint *keypoints,
                                     const guint8 *descriptors, gint count, float ratio,
                                     gint min_inliers) {
    lose();
    const gpv_status status = match(stream, descriptors, count, ratio);
    return status == GPV_OK ? fit(keypoints, min_inliers) : status;
}

/* Queries are the features of the picture, which are the same in every frame. */
gpv_status GstGpuSiftReference::match(gpv_stream stream, const guint8 *descriptors, gint count,
                                      float ratio) {
    gpv_match_params params;
    gpv_match_params_init(&params, sizeof params);
    params.ratio = ratio;
    gpv_status status = GPV_OK;
    if (!op_)
        status = gpv_match_create(context_, &params, &op_);
    else if (params.ratio != params_.ratio)
        status = gpv_match_set_params(op_, &params);
    if (status != GPV_OK)
        return status;
    params_ = params;
    if (keypoints_.empty())
        return GPV_OK;
    pairs_.resize(keypoints_.size());
    const gpv_buffer query = buffer_of(descriptors_.data(), descriptors_.size());
    const gpv_buffer train =
        buffer_of(descriptors, static_cast<gsize>(count) * GPV_SIFT_DESCRIPTOR_LENGTH);
    const gpv_buffer pairs = buffer_of(pairs_.data(), pairs_.size() * sizeof pairs_[0]);
    gpv_match_result result;
    gpv_match_result_init(&result, sizeof result);
    status = gpv_match_run(op_, stream, &query, features(), nullptr, &train, count, nullptr, &pairs,
                           nullptr);
    if (status == GPV_OK)
        status = gpv_match_wait(op_, &result);
    matches_ = result.count;
    return status;
}

gpv_status GstGpuSiftReference::fit(const gpv_sift_keypoint *keypoints, gint min_inliers) {
    from_.clear();
    to_.clear();
    for (gint i = 0; i < matches_; i++) {
        const gpv_match_pair &pair = pairs_[static_cast<gsize>(i)];
        const gpv_sift_keypoint &a = keypoints_[static_cast<gsize>(pair.query)];
        const gpv_sift_keypoint &b = keypoints[pair.train];
        from_.insert(from_.end(), {a.x, a.y});
        to_.insert(to_.end(), {b.x, b.y});
    }
    gpv_homography_init(&homography_, sizeof homography_);
    const gpv_status status = gpv_homography_find(context_, nullptr, from_.data(), to_.data(),
                                                  matches_, nullptr, &homography_);
    if (status != GPV_OK)
        return status;
    inliers_ = homography_.inliers;
    found_ = homography_.found && inliers_ >= min_inliers && place_corners();
    return GPV_OK;
}

/* Returns whether they can be those of a plane that is seen from its front. */
bool GstGpuSiftReference::place_corners() {
    const double *m = homography_.matrix;
    for (int i = 0; i < 4; i++) {
        const double x = i == 1 || i == 2 ? width_ - 0.5 : -0.5, y = i >= 2 ? height_ - 0.5 : -0.5;
        const double w = m[6] * x + m[7] * y + m[8];
        if (!(w > 0))
            return false;
        corners_[2 * i] = static_cast<float>((m[0] * x + m[1] * y + m[2]) / w);
        corners_[2 * i + 1] = static_cast<float>((m[3] * x + m[4] * y + m[5]) / w);
        if (!(std::max(std::abs(corners_[2 * i]), std::abs(corners_[2 * i + 1])) <= max_coordinate))
            return false;
    }
    return cross(corners_, 0, 1, 2) > 0 && cross(corners_, 1, 2, 3) > 0 &&
           cross(corners_, 2, 3, 0) > 0 && cross(corners_, 3, 0, 1) > 0;
}

gpv_status GstGpuSiftReference::draw(gpv_stream stream, const gpv_image *dst, guint color) {
    if (!found_)
        return GPV_OK;
    const float width = std::max(2.0F, static_cast<float>(std::min(dst->width, dst->height)) / 200);
    return gpv_draw_outline(op_, stream, dst, corners_, 4, width, color);
}
