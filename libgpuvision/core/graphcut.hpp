// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <gpuvision/graphcut.h>

#include "core/context.hpp"
#include "core/params.hpp"

namespace gpv {

extern const Fields graphcut_fields;

/// The rows that a graph's cut and a picture's segmentation have in common.
#define GPV_CUT_FIELDS(params)                                                                     \
    GPV_FIELD(flag, params, certificate, false,                                                    \
              "Whether a run adds up the capacity of its cut from what it was given, as the "      \
              "proof that the cut is minimal."),                                                   \
        GPV_FIELD(number, params, max_time_us, 0, INT32_MAX, 0, "microseconds",                    \
                  "Time after which a cut settles for the best that it has by then. 0 lets each "  \
                  "finish.")

inline constexpr int max_terminal = GPV_GRAPHCUT_MAX_TERMINAL;
inline constexpr int max_link = GPV_GRAPHCUT_MAX_LINK;

/// Arcs per pixel of CAP32X4 or CAP32X8.
constexpr int link_count(Format format) {
    return format == Format::cap32x4 ? 4 : 8;
}

/// The plane of links that holds the reverse arcs.
constexpr int reverse(int direction, int directions) {
    return (direction + directions / 2) % directions;
}

/// Offset of the neighbour: planes go clockwise from east, by way of south.
constexpr int step_x(int direction, int directions) {
    constexpr int steps[] = {1, 1, 0, -1, -1, -1, 0, 1};
    return steps[direction * (8 / directions)];
}
constexpr int step_y(int direction, int directions) {
    constexpr int steps[] = {0, 1, 1, 1, 0, -1, -1, -1};
    return steps[direction * (8 / directions)];
}

/// An image with one internal plane, with the size and memory of another image. stride: bytes.
inline Image plane_image(const Image &like, Format format, void *data, std::size_t stride) {
    Image image{.format = format,
                .memory = like.memory,
                .device = like.device,
                .width = like.width,
                .height = like.height};
    image.planes[0] = {static_cast<std::byte *>(data), static_cast<std::int64_t>(stride)};
    return image;
}

/// gpv_graphcut_result.
struct GraphcutResult {
    std::uint32_t struct_size;
    std::uint32_t optimal;
    std::int64_t flow;
    std::int64_t cut;
    std::int64_t area;
    std::uint32_t refused;
    std::uint32_t reserved;
};

/// The first value out of its range: first pixel in raster order, then lowest plane. terminals is
/// plane 0, the planes of links follow.
struct GraphcutFault {
    std::int64_t pixel = -1; ///< index in raster order; -1 = no fault
    int plane = 0;
    std::int32_t value = 0;
};

/// Whether a run begins with the flow of the last one.
enum class Reuse { none, by_choice, always };

/// The choice: some changes make it slower to begin with that flow, as the times of runs say.
struct ReuseChoice {
    static constexpr int min_pause = 8, max_pause = 64;
    /// Runs begin anew once in so many times what that takes, to know it.
    static constexpr int renewal = 32;

    std::int64_t anew_ns;  ///< of the last run that began anew; 0 = there was none
    std::int64_t spent_ns; ///< by those since
    std::int32_t pause;    ///< runs that begin anew after one that was slower
    std::int32_t rest;     ///< so many more of them are to come

    constexpr bool reuses(Reuse reuse) const {
        return reuse == Reuse::always ||
               (reuse == Reuse::by_choice && rest == 0 && spent_ns / renewal < anew_ns);
    }
    /// Whether a run has to keep its flow for the next one.
    constexpr bool keeps(Reuse next) const {
        return next == Reuse::always || (next == Reuse::by_choice && rest <= 1);
    }
    /// After a run by choice. Of one that was cut short it is not known what it takes.
    constexpr void note(bool reused, bool optimal, std::int64_t ns) {
        if (!reused) {
            anew_ns = optimal ? ns : INT64_MAX;
            spent_ns = 0;
            rest -= rest > 0;
            return;
        }
        spent_ns += ns;
        if (optimal && ns <= anew_ns) {
            pause = 0;
        } else if (optimal) {
            pause = pause == 0 ? min_pause : pause < max_pause ? 2 * pause : max_pause;
            rest = pause;
        }
    }
};

/// The cuts that a run has to choose from when it is cut short. Of those by steps, the side of the
/// sink is what is within 0, 1, 2, 3, 5, 7, 11, 15, 23 … 255 steps of a pixel with capacity to the
/// sink, and all that has been seen to reach one. The last one goes by the signs of terminals.
inline constexpr int cuts_by_steps = 17, cut_by_signs = cuts_by_steps, short_cuts = 18;

/// The first of those by steps that has a pixel on the side of the sink; cuts_by_steps: none has.
constexpr int first_cut(bool reached, int steps) {
    if (!reached)
        return cuts_by_steps;
    // Two to an octave: the exponent, and the highest bit behind the point.
    const auto number = std::bit_cast<std::uint32_t>(static_cast<float>(steps)) >> 22;
    return steps < 2 ? steps : std::min(static_cast<int>(number) - 254, cuts_by_steps - 1);
}
inline constexpr int max_steps_of_cuts = 255; ///< beyond them one is in the last cut by steps alone
static_assert(first_cut(true, 0) == 0 && first_cut(true, 1) == 1 && first_cut(true, 5) == 4 &&
              first_cut(true, max_steps_of_cuts) == cuts_by_steps - 2 &&
              first_cut(true, max_steps_of_cuts + 1) == cuts_by_steps - 1);

struct GraphcutReport {
    GraphcutResult found;
    GraphcutFault fault;
};

/// Inputs and outputs of one run.
struct GraphcutRun {
    Image terminals;
    Image links;
    Image mask;
    GraphcutResult *result = nullptr; ///< in the backend's memory; may be null
    Reuse reuse = Reuse::none;        ///< whether the run begins with the flow of the last one
    Reuse next = Reuse::none;         ///< whether the next one is to begin with that of this one
    /// On CUDA, where it is not 0 on the device, nothing is read or written; may be null.
    const std::uint32_t *idle = nullptr;
};

/// One backend's operator. The caller has checked the images: supported formats,
/// same size and memory, disjoint where required.
class Graphcut : public Operator {
  public:
    virtual void set_params(const gpv_graphcut_params &params) = 0;
    virtual void prepare(const Image &links) = 0;
    /// Returns whether wait(), result() and fault() refer to this run: false if it was captured in
    /// a graph.
    virtual bool run(Stream stream, const GraphcutRun &run) = 0;
    /// Result and fault of the last finished run.
    virtual GraphcutResult result() const = 0;
    virtual GraphcutFault fault() const = 0;
};

} // namespace gpv
