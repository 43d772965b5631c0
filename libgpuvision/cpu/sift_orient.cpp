// SPDX-License-Identifier: BSD-2-Clause
// The orientations of extrema.
#include "cpu/sift_internal.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/sift_orient.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/sift_vectors.hpp"

HWY_BEFORE_NAMESPACE();
namespace gpv::cpu::sift::HWY_NAMESPACE {
namespace {

/// Adds up the directions of gradients round an extremum.
void sum_directions(const Octave &octave, const Extremum &extremum, int radius,
                    const Weights &weights, std::uint32_t *sums) {
    const Floats d;
    const Ints di;
    const int lanes = static_cast<int>(hn::Lanes(d));
    const PixelRange columns = PixelRange::of(extremum.x, radius, octave.width);
    const PixelRange rows = PixelRange::of(extremum.y, radius, octave.height);
    alignas(64) std::int32_t bins[max_lanes], amounts[max_lanes];
    for (int i = -1; i < window_rows_ahead; i++)
        prefetch(octave, extremum.layer, extremum.x, extremum.y + rows.first + i, columns);
    for (int dy = rows.first; dy <= rows.last; dy++) {
        prefetch(octave, extremum.layer, extremum.x, extremum.y + dy + window_rows_ahead, columns);
        const float *row = octave.row(extremum.layer, extremum.y + dy) + extremum.x;
        const Vector row_weight = hn::Set(d, weights.middle()[dy]);
        for (int dx = columns.first; dx <= columns.last; dx += lanes) {
            const Gradient gradient{row + dx, octave.pitch};
            const PolarVector polar = polar_of(gradient.y(), gradient.x());
            const Vector weight = hn::Mul(hn::LoadU(d, weights.middle() + dx), row_weight);
            const Whole bin = rounded(hn::Mul(hn::Set(d, orientation_bins / 8.0f), polar.eighths));
            hn::Store(hn::IfThenElseZero(hn::Lt(bin, hn::Set(di, orientation_bins)), bin), di,
                      bins);
            hn::Store(rounded(hn::Mul(hn::Set(d, sum_unit), hn::Mul(weight, polar.magnitude))), di,
                      amounts);
            const int count = std::min(lanes, columns.last - dx + 1);
            for (int i = 0; i < count; i++)
                sums[bins[i]] += static_cast<std::uint32_t>(amounts[i]);
        }
    }
}

} // namespace
} // namespace gpv::cpu::sift::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gpv::cpu::sift {
namespace {

HWY_EXPORT(sum_directions);

} // namespace

void CpuSift::orient(int count) {
    parallel_bands(count, band_of_features, workers_, [&](int, int first, int last) {
        for (int i = first; i < last; i++) {
            if (params_.upright)
                peaks_[i] = {1, {}};
            else
                find_peaks(extrema_[i], peaks_[i]);
        }
    });
}

void CpuSift::find_peaks(const Extremum &extremum, Peaks &peaks) const {
    const Octave &octave = octaves_[extremum.octave];
    const float scale = extremum.scale(params_);
    const int radius = orientation_radius(scale);
    const Weights weights(radius, 1.5f * scale);
    std::uint32_t sums[orientation_bins] = {};
    HWY_DYNAMIC_DISPATCH(sum_directions)(octave, extremum, radius, weights, sums);
    float smooth[orientation_bins];
    for (int i = 0; i < orientation_bins; i++)
        smooth[i] = smooth_bin(i, [&](int b) { return sums[b]; });
    const float greatest = *std::max_element(smooth, smooth + orientation_bins);
    peaks.count = 0;
    for (int i = 0; i < orientation_bins; i++) {
        const float left = smooth[(i + orientation_bins - 1) % orientation_bins];
        const float right = smooth[(i + 1) % orientation_bins];
        if (is_peak(left, smooth[i], right, greatest))
            peaks.angles[peaks.count++] = peak_angle(i, left, smooth[i], right);
    }
    std::sort(peaks.angles, peaks.angles + peaks.count);
}

} // namespace gpv::cpu::sift
#endif
