// SPDX-License-Identifier: BSD-2-Clause
// Shared by the kernels of SIFT: the layout of levels, and the lists passed between kernels.
#pragma once

#include "core/sift.hpp"
#include "cuda/pixels.cuh"
#include "cuda/sift/tuning.hpp"

namespace gpv::cuda::sift {

/// The levels of all octaves. Level 0 lies in base, levels 1 to stored in levels.
struct Space {
    struct Octave {
        int width, height;
        int pitch;          ///< floats from one row to the next
        std::size_t at;     ///< floats before its level 0
        std::size_t claims; ///< words before its bits
    };
    int stored;
    float *base, *levels;
    unsigned *claims; ///< a bit for each pixel of each layer: whether it has a keypoint
    Octave octave[max_octaves];

    __device__ const float *level(int o, int l) const {
        const Octave &octave_ = octave[o];
        if (l == 0)
            return base + octave_.at;
        return levels + stored * octave_.at +
               static_cast<std::size_t>(l - 1) * octave_.pitch * octave_.height;
    }
};

/// Tiles of all octaves, numbered through.
struct Tiling {
    int octaves = 0;
    unsigned first[max_octaves + 1] = {};
    int across[max_octaves] = {};

    void add(unsigned across_, unsigned down) {
        across[octaves] = static_cast<int>(across_);
        first[octaves + 1] = first[octaves] + across_ * down;
        octaves++;
    }
    unsigned count() const { return first[octaves]; }

    struct Tile {
        int octave, x, y;
    };
    __device__ Tile find(unsigned number) const {
        int o = 0;
        while (o + 1 < octaves && number >= first[o + 1])
            o++;
        const unsigned in_octave = number - first[o];
        return {o, static_cast<int>(in_octave % across[o]),
                static_cast<int>(in_octave / across[o])};
    }
};

/// An extremum of the differences; or, after moves, a pixel to search from. Then the offsets are
/// those of the last step.
struct Candidate {
    Extremum extremum;
    std::int32_t moves;
};

/// A keypoint with its orientation.
struct Feature {
    Extremum extremum;
    float angle;
};

/// Sort key of a keypoint: by a, then by b.
struct Slot {
    std::uint64_t a; ///< begins with the bits of the response, inverted
    std::uint32_t b;
    std::uint32_t feature;

    __device__ bool before(const Slot &other) const {
        return a < other.a || (a == other.a && b < other.b);
    }
    __device__ float response() const {
        return __uint_as_float(~static_cast<std::uint32_t>(a >> 32));
    }
    /// Greatest slot of all.
    __device__ static Slot last() { return {~std::uint64_t{0}, ~0u, 0}; }
};
static_assert(keypoints_of_extremum * sizeof(Slot) <= sizeof(Candidate),
              "while slots are sorted, their copies lie where candidates have been");

/// Counters. All are 0 when a run begins.
struct Control {
    unsigned extrema;   ///< extrema found, maybe more than are kept
    unsigned settled;   ///< extrema at the beginning of the list
    unsigned unsettled; ///< extrema at its end
    unsigned features;  ///< keypoints
    unsigned kept;      ///< keypoints kept, once known
    unsigned placed;    ///< keypoints in bins with a kept one
    SiftResult found;
    alignas(16) unsigned bins[response_bins]; ///< features by response
    unsigned filled[response_bins];
    unsigned starts[response_bins + 1]; ///< keypoints before a bin with a kept one
    bool crowded;                       ///< all placed keypoints have to be sorted
    unsigned turns;                     ///< turns of blocks that sort
    unsigned chunks_done[32];           ///< chunks sorted in each round
};

struct Lists {
    Control *control;
    Candidate *candidates;
    Feature *features;
    unsigned max_candidates, max_features;
};

/// What a run begins with.
struct Cleared {
    unsigned *words;
    std::size_t count;

    /// By all threads of the grid.
    __device__ void clear(unsigned block, unsigned blocks, int threads) const {
        for (std::size_t i = static_cast<std::size_t>(block) * threads + threadIdx.x; i < count;
             i += static_cast<std::size_t>(blocks) * threads)
            words[i] = 0;
    }
};

/// Mirrors index i at the edges of 0 .. n - 1, as often as needed. Requires n > 1.
__device__ __forceinline__ int mirrored(int i, int n) {
    if (i >= 0 && i < n)
        return i;
    const int period = 2 * (n - 1);
    i = abs(i) % period;
    return i < n ? i : period - i;
}

/// As mirrored(), for i up to 2 (n - 1) beyond the edge; further out, any pixel.
__device__ __forceinline__ int mirrored_near(int i, int n) {
    i = abs(i);
    i = abs(i >= n ? 2 * (n - 1) - i : i);
    return min(i, n - 1);
}

__device__ __forceinline__ float root(float x) {
#ifdef __CUDA_ARCH__
    return __fsqrt_rn(x);
#else
    return std::sqrt(x);
#endif
}

} // namespace gpv::cuda::sift
