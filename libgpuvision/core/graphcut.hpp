// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <memory>

#include "core/context.hpp"

namespace gpv {

/// Values are those of graphcut.h.
inline constexpr int max_terminal = 1 << 30;
inline constexpr int max_link = (1 << 26) - 1;

struct GraphcutParams {
    bool certificate = false;
    int max_time_us = 0; ///< microseconds, 0 = none
};

/// Arcs of a pixel of CAP32X4 or CAP32X8.
constexpr int link_count(Format format) {
    return format == Format::cap32x4 ? 4 : 8;
}

/// The plane of links that holds the arcs back.
constexpr int reverse(int direction, int directions) {
    return (direction + directions / 2) % directions;
}

/// Steps to the neighbour: planes go round from east over south.
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

/// The first value in raster order, and of those of one pixel the first plane, that is out of its
/// range. terminals are plane 0, links those behind it.
struct GraphcutFault {
    std::int64_t pixel = -1; ///< in raster order; -1 = there is none
    int plane = 0;
    std::int32_t value = 0;
};

/// What one run reads and writes.
struct GraphcutRun {
    Image terminals;
    Image links;
    Image mask;
    GraphcutResult *result = nullptr; ///< where the backend computes; may be null
};

/// One backend's operator. Images come checked: supported formats, same size
/// and memory, disjoint where they have to be.
class Graphcut : public Operator {
  public:
    virtual void set_params(const GraphcutParams &params) = 0;
    /// stream: that of the first run.
    virtual void prepare(const Image &links, Stream stream = nullptr) = 0;
    /// Whether wait(), result() and fault() are about this run: not so if it has been captured in a
    /// graph.
    virtual bool run(Stream stream, const GraphcutRun &run) = 0;
    /// Of the last run that has finished.
    virtual GraphcutResult result() const = 0;
    virtual GraphcutFault fault() const = 0;
};

namespace cpu {
std::unique_ptr<Graphcut> make_graphcut(std::shared_ptr<Context> context);
}
namespace cuda {
std::unique_ptr<Graphcut> make_graphcut(std::shared_ptr<Context> context);
}

} // namespace gpv
