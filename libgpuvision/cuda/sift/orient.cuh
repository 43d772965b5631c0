// SPDX-License-Identifier: BSD-2-Clause
// From candidates to keypoints: the rest of the refinement, and orientations. A warp a candidate.
#pragma once

#include "cuda/sift/extrema.cuh"

namespace gpv::cuda::sift {

/// Bins of responses: the greatest first.
struct ResponseBins {
    unsigned minimum; ///< bits of a response in the last bin
    int shift;

    /// For responses from minimum to about 1.
    static ResponseBins from(float minimum) {
        const auto low = std::bit_cast<unsigned>(minimum), high = std::bit_cast<unsigned>(1.0f);
        int shift = 0;
        while ((high - low) >> shift >= response_bins)
            shift++;
        return {low, shift};
    }
    __device__ int bin(float response) const {
        const unsigned bits = __float_as_uint(response);
        const unsigned at = (max(bits, minimum) - minimum) >> shift;
        return response_bins - 1 - static_cast<int>(min(at, response_bins - 1u));
    }
};

struct Orient {
    struct Job {
        Space space;
        Lists lists;
        SiftParams params;
        ResponseBins bins;
        Rows mask;                       ///< data is null: no mask
        int width, height;               ///< size of the picture
        float weights[2][weights_pitch]; ///< filters of levels 4 and 5, which may not be stored
    };
    static constexpr int warps = orient_warps, threads = 32 * warps;
    static constexpr int min_blocks = orient_blocks;
    static constexpr bool waits = true;

    static constexpr int max_radius = 51; ///< orientation_radius() of 4 * 2^1.5
    static constexpr int filtered = 2 * widest + 3;

    struct Shared {
        float differences[27];
        float gaussian[max_radius + 1];
        union {
            float vertical[2][3][filtered];
            struct {
                unsigned sums[orientation_bins];
                float smooth[orientation_bins];
            };
        };
        float level[4][9];
    };
    static constexpr int weight_count = 2 * weights_pitch; ///< for levels 4 and 5
    static constexpr std::size_t shared_bytes =
        warps * sizeof(Shared) + weight_count * sizeof(float);

    __device__ static void run(const Job &job) {
        Shared &s = shared_memory<Shared>()[threadIdx.x / 32];
        auto *weights = reinterpret_cast<float *>(shared_memory<Shared>() + warps);
        for (int i = threadIdx.x; i < weight_count; i += threads)
            weights[i] = job.weights[i / weights_pitch][i % weights_pitch];
        __syncthreads();
        wait_for_earlier_kernels();
        let_next_kernel_begin();
        const Control &control = *job.lists.control;
        // Those that are not settled take long, and begin.
        const unsigned unsettled = control.unsettled;
        const unsigned count =
            control.extrema > job.lists.max_candidates ? 0 : unsettled + control.settled;
        for (unsigned i = blockIdx.x * warps + threadIdx.x / 32; i < count;
             i += gridDim.x * warps) {
            Candidate candidate =
                job.lists
                    .candidates[i < unsettled ? job.lists.max_candidates - 1 - i : i - unsettled];
            if (!refine(job, weights, candidate, s))
                continue;
            const Extremum &e = candidate.extremum;
            if (is_first(job.space, e) && is_wanted(job, e))
                orient(job, e, s);
        }
    }

  private:
    /// Whether there is a keypoint where the candidate has been moved to, or a few steps further.
    __device__ static bool refine(const Job &job, const float *weights, Candidate &candidate,
                                  Shared &s) {
        const Extremum &e = candidate.extremum;
        while (candidate.moves > 0) {
            if (!is_inside(job.space.octave[e.octave], e.x, e.y))
                return false;
            gather(job, weights, e, s);
            const SubpixelFit fit = subpixel_fit(
                [&](int dl, int dy, int dx) { return s.differences[(dl * 3 + dy) * 3 + dx + 13]; });
            __syncwarp();
            if (!advance(job.params, fit, candidate))
                return false;
        }
        return true;
    }

    /// The differences round a pixel.
    __device__ static void gather(const Job &job, const float *weights, const Extremum &e,
                                  Shared &s) {
        const int lane = threadIdx.x % 32;
        const Space::Octave &octave = job.space.octave[e.octave];
        for (int i = lane; i < 36; i += 32) {
            const int l = e.layer - 1 + i / 9, k = i % 9;
            if (l <= job.space.stored)
                s.level[i / 9][k] = job.space.level(
                    e.octave,
                    l)[static_cast<std::size_t>(e.y - 1 + k / 3) * octave.pitch + e.x - 1 + k % 3];
        }
        if (e.layer + 2 > job.space.stored)
            filter(job, weights, e, s);
        __syncwarp();
        if (lane < 27)
            s.differences[lane] = s.level[lane / 9 + 1][lane % 9] - s.level[lane / 9][lane % 9];
        __syncwarp();
    }

    /// Levels 4 and 5 at 3x3 pixels, as ScaleSpace has made them: with the usual filters they are
    /// not stored. Weights behind the end of a filter are 0, which changes no sum.
    __device__ static void filter(const Job &job, const float *weights, const Extremum &e,
                                  Shared &s) {
        const int lane = threadIdx.x % 32;
        const Space::Octave &octave = job.space.octave[e.octave];
        const int last = e.layer + 2; // 4 or 5
        const int radius = last == 4 ? level_radius(4) : level_radius(5);
        const int width = 2 * radius + 3;
        constexpr int batch = 4; // loads that are under way together
        __syncwarp();
        for (int c = lane; c < width; c += 32) {
            const float *column =
                job.space.level(e.octave, 0) + mirrored_near(e.x - 1 - radius + c, octave.width);
            const auto at = [&](int y) {
                return column[static_cast<std::size_t>(mirrored_near(y, octave.height)) *
                              octave.pitch];
            };
            float up[3], down[3], sums[2][3]; // of three rows: the one above at a distance, below
            for (int i = 0; i < 3; i++) {
                up[i] = down[i] = at(e.y - 1 + i);
                for (int l = 0; l < 2; l++)
                    sums[l][i] = weights[l * weights_pitch] * up[i];
            }
#pragma unroll 1
            for (int first = 1; first <= radius; first += batch) {
                float above[batch], below[batch];
#pragma unroll
                for (int i = 0; i < batch; i++) {
                    above[i] = at(e.y - 1 - first - i);
                    below[i] = at(e.y + 1 + first + i);
                }
#pragma unroll
                for (int i = 0; i < batch; i++) {
                    up[2] = up[1];
                    up[1] = up[0];
                    up[0] = above[i];
                    down[0] = down[1];
                    down[1] = down[2];
                    down[2] = below[i];
                    for (int l = 0; l < 2; l++)
                        for (int row = 0; row < 3; row++)
                            sums[l][row] = fmaf(weights[l * weights_pitch + first + i],
                                                up[row] + down[row], sums[l][row]);
                }
            }
            for (int l = 0; l < 2; l++)
                for (int row = 0; row < 3; row++)
                    s.vertical[l][row][c] = sums[l][row];
        }
        __syncwarp();
        const int l = lane / 9, k = lane % 9; // of the two levels, and of the 9 pixels
        if (l < last - 3) {
            const int reach = level_radius(4 + l);
            const float *middle = &s.vertical[l][k / 3][k % 3 + radius];
            float sum = weights[l * weights_pitch + reach] * middle[-reach];
#pragma unroll 4
            for (int d = 1 - reach; d <= reach; d++)
                sum = fmaf(weights[l * weights_pitch + abs(d)], middle[d], sum);
            s.level[5 + l - e.layer][k] = sum;
        }
    }

    /// Whether no other candidate has come to this place.
    __device__ static bool is_first(const Space &space, const Extremum &e) {
        const Space::Octave &octave = space.octave[e.octave];
        const int words = (octave.width + 31) / 32;
        unsigned before = 0;
        if (threadIdx.x % 32 == 0)
            before =
                atomicOr(
                    &space.claims[octave.claims +
                                  (static_cast<std::size_t>(e.layer - 1) * octave.height + e.y) *
                                      words +
                                  e.x / 32],
                    1u << (e.x % 32)) >>
                    (e.x % 32) &
                1;
        return __shfl_sync(~0u, before, 0) == 0;
    }

    __device__ static bool is_wanted(const Job &job, const Extremum &e) {
        return !job.mask.data ||
               in_mask(e.keypoint(job.params), job.width, job.height,
                       [&](int x, int y) { return job.mask.row<const std::uint8_t>(y)[x]; });
    }

    __device__ static void orient(const Job &job, const Extremum &e, Shared &s) {
        if (job.params.upright)
            return append(job, e, threadIdx.x % 32 == 0, 0, false, 0);
        sum_gradients(job, e, s);
        const int lane = threadIdx.x % 32;
        const auto sums = [&](int i) { return s.sums[i]; };
        float greatest = 0;
        for (int i = lane; i < orientation_bins; i += 32) {
            s.smooth[i] = smooth_bin(i, sums);
            greatest = fmaxf(greatest, s.smooth[i]);
        }
        greatest = warp_reduce(greatest, [](float a, float b) { return fmaxf(a, b); });
        __syncwarp();
        bool peak[2] = {};
        float angle[2] = {};
        for (int half = 0; half < 2; half++) {
            const int i = lane + 32 * half;
            if (i >= orientation_bins)
                continue;
            const float left = s.smooth[(i + orientation_bins - 1) % orientation_bins],
                        here = s.smooth[i], right = s.smooth[(i + 1) % orientation_bins];
            peak[half] = is_peak(left, here, right, greatest);
            if (peak[half])
                angle[half] = peak_angle(i, left, here, right);
        }
        append(job, e, peak[0], angle[0], peak[1], angle[1]);
    }

    __device__ static void sum_gradients(const Job &job, const Extremum &e, Shared &s) {
        constexpr int batch = 4;
        const int lane = threadIdx.x % 32;
        const Space::Octave &octave = job.space.octave[e.octave];
        const float *level = job.space.level(e.octave, e.layer);
        const float scale = e.scale(job.params);
        const int radius = orientation_radius(scale), side = 2 * radius + 1;
        __syncwarp();
        for (int i = lane; i <= radius; i += 32)
            s.gaussian[i] = gaussian_at(i, 1.5f * scale);
        for (int i = lane; i < orientation_bins; i += 32)
            s.sums[i] = 0;
        __syncwarp();
        const float inverse = 1.0f / static_cast<float>(side);
        for (int first = lane; first < side * side; first += 32 * batch) {
            float gx[batch], gy[batch], weights[batch]; // loads that are under way together
#pragma unroll
            for (int k = 0; k < batch; k++) {
                const int i = first + 32 * k;
                const int row = static_cast<int>((static_cast<float>(i) + 0.5f) * inverse);
                const int dy = row - radius, dx = i - row * side - radius;
                const int x = e.x + dx, y = e.y + dy;
                const bool counts =
                    row < side && x > 0 && x < octave.width - 1 && y > 0 && y < octave.height - 1;
                const float *at = level +
                                  static_cast<std::size_t>(counts ? y : e.y) * octave.pitch +
                                  (counts ? x : e.x);
                gx[k] = at[1] - at[-1];
                gy[k] = at[-octave.pitch] - at[octave.pitch];
                weights[k] = counts ? s.gaussian[abs(dx)] * s.gaussian[abs(dy)] : 0;
            }
#pragma unroll
            for (int k = 0; k < batch; k++) {
                const Polar gradient = polar_of(gy[k], gx[k]);
                const unsigned amount = rounded(sum_unit * (weights[k] * gradient.magnitude));
                atomicAdd(&s.sums[orientation_bin(gradient.eighths)], amount);
            }
        }
        __syncwarp();
    }

    /// A keypoint for each peak: a lane has two, of bins 32 apart.
    __device__ static void append(const Job &job, const Extremum &e, bool first_peak,
                                  float first_angle, bool second_peak, float second_angle) {
        const int lane = threadIdx.x % 32;
        const unsigned first = __ballot_sync(~0u, first_peak);
        const unsigned second = __ballot_sync(~0u, second_peak);
        const int count = __popc(first) + __popc(second);
        unsigned at = 0;
        if (lane == 0 && count > 0) {
            at = atomicAdd(&job.lists.control->features, static_cast<unsigned>(count));
            atomicAdd(&job.lists.control->bins[job.bins.bin(e.response)],
                      static_cast<unsigned>(count));
        }
        at = __shfl_sync(~0u, at, 0);
        const unsigned before = (1u << lane) - 1;
        const auto write = [&](unsigned i, float angle) {
            if (i < job.lists.max_features)
                job.lists.features[i] = {e, angle};
        };
        if (first_peak)
            write(at + __popc(first & before), first_angle);
        if (second_peak)
            write(at + __popc(first) + __popc(second & before), second_angle);
    }
};

} // namespace gpv::cuda::sift
