// SPDX-License-Identifier: BSD-2-Clause
// The order of keypoints, and which of them are kept.
#include "cpu/sift_internal.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace gpv::cpu::sift {
namespace {

/// In the order of octave, layer, row and column.
std::tuple<int, int, int, int> place_of(const Extremum &e) {
    return {e.octave, e.layer, e.y, e.x};
}

std::int32_t clamped(std::int64_t number) {
    return static_cast<std::int32_t>(
        std::min<std::int64_t>(number, std::numeric_limits<std::int32_t>::max()));
}

} // namespace

void CpuSift::finish(const SiftRun &run) {
    overflow_ = candidates_ > capacity_;
    if (overflow_) {
        found_ = {sizeof found_, 0, clamped(candidates_), 0};
        return;
    }
    const int count = settle_all(run);
    orient(count);
    rank(count);
    std::int64_t total = 0;
    for (int i = 0; i < count; i++) {
        offsets_[ranked_[i]] = total;
        total += peaks_[ranked_[i]].count;
    }
    overflow_ = total > max_kept_;
    if (overflow_) {
        found_ = {sizeof found_, 0, clamped(total), 0};
        return;
    }
    std::int64_t kept = total;
    if (params_.max_features > 0)
        kept = std::min<std::int64_t>(kept, params_.max_features);
    if (run.keypoints)
        kept = std::min(kept, run.keypoints->capacity);
    write(run, count, kept);
    kept_count_ = kept;
    found_ = {sizeof found_, clamped(kept), clamped(total - kept), 0};
}

/// Returns how many extrema there are.
int CpuSift::settle_all(const SiftRun &run) {
    constexpr float dropped = -1;
    const auto number = static_cast<int>(candidates_);
    parallel_bands(number, band_of_features, workers_, [&](int, int first, int last) {
        for (Extremum *e = extrema_ + first; e < extrema_ + last; e++)
            if (!settle(*e) || (run.mask && !lies_in(*run.mask, *e)))
                e->response = dropped;
    });
    Extremum *end = extrema_ + number;
    end = std::remove_if(extrema_, end, [](const auto &e) { return e.response == dropped; });
    std::sort(extrema_, end,
              [](const auto &a, const auto &b) { return place_of(a) < place_of(b); });
    end = std::unique(extrema_, end,
                      [](const auto &a, const auto &b) { return place_of(a) == place_of(b); });
    return static_cast<int>(end - extrema_);
}

bool CpuSift::lies_in(const Image &mask, const Extremum &extremum) const {
    return in_mask(extremum.keypoint(params_), mask.width, mask.height,
                   [&](int x, int y) { return static_cast<int>(mask.planes[0].row(y)[x]); });
}

void CpuSift::rank(int count) {
    std::iota(ranked_, ranked_ + count, 0);
    std::sort(ranked_, ranked_ + count, [&](std::int32_t a, std::int32_t b) {
        const float left = extrema_[a].response, right = extrema_[b].response;
        return left > right || (left == right && a < b);
    });
}

void CpuSift::write(const SiftRun &run, int count, std::int64_t kept) const {
    parallel_bands(count, band_of_features, workers_, [&](int, int first, int last) {
        for (int i = first; i < last; i++)
            for (int j = 0; j < peaks_[i].count && offsets_[i] + j < kept; j++)
                write_feature(run, extrema_[i], peaks_[i].angles[j], offsets_[i] + j);
    });
}

void CpuSift::write_feature(const SiftRun &run, const Extremum &extremum, float angle,
                            std::int64_t index) const {
    Keypoint keypoint = extremum.keypoint(params_);
    keypoint.angle = angle;
    kept_[index] = keypoint;
    if (run.keypoints)
        (*run.keypoints)[index] = keypoint;
    if (run.descriptors)
        describe_window(
            window_of(extremum.octave, extremum.layer, static_cast<float>(extremum.x) + extremum.dx,
                      static_cast<float>(extremum.y) + extremum.dy, extremum.scale(params_), angle),
            run.descriptors->data + params_.descriptor_bytes() * index);
}

} // namespace gpv::cpu::sift
