// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
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
                  "Time after which a cut settles for what it has by then, which may be far from " \
                  "the best. 0 lets each finish.")

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
