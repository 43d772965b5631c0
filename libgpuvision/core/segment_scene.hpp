// SPDX-License-Identifier: BSD-2-Clause
// Of which scene colours have been learned, and whether they are worth keeping. A run that adapts
// decides that in its end, on both backends where it computes and with this code.
#pragma once

#include "core/segment.hpp"

namespace gpv::segment {

/// A frame that is farther than so many levels from the last one shows another scene.
inline constexpr unsigned max_change = 9;
/// Or from the one where learning began.
inline constexpr unsigned max_drift = 1;
/// So many frames of another scene in a row are a flash, after which all is as before.
inline constexpr unsigned max_flash = 3;

/// Whether colours of two sides are learned from a cut by a run that does not adapt. Of a picture
/// of which nothing is told, so few pixels are noise.
constexpr bool has_two_sides(const SegmentRun &run, std::int64_t foreground) {
    const std::int64_t pixels = std::int64_t{run.src.width} * run.src.height;
    const std::int64_t fewest =
        run.seeds || run.rect ? 1 : std::max<std::int64_t>(pixels / 1024, 1);
    return foreground >= fewest && pixels - foreground >= fewest;
}

/// The contrast of neighbours that holds in a static scene.
struct Contrast {
    std::uint64_t differences; ///< sum of their squares; 0 = nothing holds, as of a plain picture,
                               ///< which says nothing of those that follow
    std::int32_t width, height, connectivity; ///< of the pictures that it holds for

    constexpr bool holds(int w, int h, int neighbours) const {
        return differences > 0 && width == w && height == h && connectivity == neighbours;
    }
};

/// How many pixels of a frame have each level of R, G and B.
struct Marginals {
    std::uint32_t pixels[3][levels];
};

/// Whether two frames are farther apart than so many levels: by how many the pixels of one have to
/// be moved, on average, to have the levels of the other, summed over R, G and B. That is the earth
/// mover's distance: it grows with a shift of colours, and does not jump where cells end.
constexpr bool differ(const Marginals &a, std::uint64_t a_pixels, const Marginals &b,
                      std::uint64_t b_pixels, unsigned maximum) {
    const std::uint64_t limit = maximum * a_pixels * b_pixels; // less than 2^64 - 2^60
    std::uint64_t sum = 0;
    for (int axis = 0; axis < 3; axis++) {
        std::uint64_t a_below = 0, b_below = 0;
        for (int level = 0; level < levels; level++) {
            a_below += a.pixels[axis][level];
            b_below += b.pixels[axis][level];
            const std::uint64_t x = a_below * b_pixels, y = b_below * a_pixels;
            sum += x < y ? y - x : x - y;
            if (sum > limit)
                return true;
        }
    }
    return false;
}

/// The scene that colours have been learned of.
struct Scene {
    std::uint32_t kept;    ///< whether the next run begins with what has been learned
    std::uint32_t ignored; ///< whether nothing is learned from the last cut
    std::uint32_t known;   ///< whether anything was known of the frame where learning began
    std::uint32_t flashes; ///< frames of another scene in a row
    std::uint32_t seen;    ///< whether it has the frames below
    std::uint64_t first_pixels, last_pixels;
    Marginals first, last; ///< where learning began, and the last frame that was learned from

    /// Learning begins; kept until a cut says more.
    constexpr void begin(bool anything_known) {
        kept = 1;
        known = anything_known;
        flashes = 0;
        seen = 0;
    }

    /// There is no cut.
    constexpr void forget() {
        kept = 0;
        ignored = 1;
    }

    /// After the last cut of a run on a frame, whose foreground has so many pixels. Colours of two
    /// sides are learned from it if it has two, and shows the same scene as the last frame that was
    /// learned from. Nothing is kept where the first cut has one side, and after a flash that does
    /// not end. Nor is it after a drift, as in a fade, whose beginning says little of its end:
    /// where nothing was known to begin with, after a small one; else after one to another scene,
    /// of which it finds nothing.
    constexpr void see(const Marginals &frame, std::uint64_t pixels, std::uint64_t foreground) {
        const bool two_sides = foreground > 0 && foreground < pixels;
        if (!seen) {
            kept = two_sides;
            seen = two_sides;
            first = frame;
            first_pixels = pixels;
        } else {
            flashes = differ(frame, pixels, last, last_pixels, max_change) ? flashes + 1 : 0;
            const bool drifted =
                known ? !two_sides && differ(frame, pixels, first, first_pixels, max_change)
                      : differ(frame, pixels, first, first_pixels, max_drift);
            kept = flashes ? flashes <= max_flash : !drifted;
        }
        ignored = !two_sides || flashes || !kept;
        if (ignored)
            return;
        last = frame;
        last_pixels = pixels;
    }
};

} // namespace gpv::segment
