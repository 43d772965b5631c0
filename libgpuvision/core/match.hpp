// SPDX-License-Identifier: BSD-2-Clause
// Descriptor matching: what both backends compute. docs/algorithms/match.md defines it. All values
// are integers, except for the ratio test, which is one product in double precision.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include <gpuvision/match.h>

#include "core/context.hpp"
#include "core/image.hpp"
#include "core/ink.hpp"
#include "core/params.hpp"

namespace gpv {

extern const Fields match_fields;

inline constexpr int match_length = 128; ///< bytes of a descriptor
inline constexpr std::int32_t no_neighbour = -1;
inline constexpr std::int32_t no_distance = std::numeric_limits<std::int32_t>::max();
/// Greatest squared distance of two descriptors.
inline constexpr std::int32_t max_distance = match_length * 255 * 255;

/// gpv_match_nearest.
struct Nearest {
    std::int32_t index[2] = {no_neighbour, no_neighbour};
    std::int32_t distance[2] = {no_distance, no_distance};

    /// Adds a descriptor. Its index must be greater than those added before.
    constexpr void add(std::int32_t i, std::int32_t d) {
        if (d < distance[0]) {
            index[1] = index[0];
            distance[1] = distance[0];
            index[0] = i;
            distance[0] = d;
        } else if (d < distance[1]) {
            index[1] = i;
            distance[1] = d;
        }
    }
    /// Adds the two nearest of another part of the set. Parts may come in any order.
    constexpr void merge(const Nearest &other) {
        for (int k = 0; k < 2; k++)
            insert(other.index[k], other.distance[k]);
    }

  private:
    static constexpr bool before(std::int32_t d, std::int32_t i, std::int32_t e, std::int32_t j) {
        return d < e || (d == e && i < j);
    }
    constexpr void insert(std::int32_t i, std::int32_t d) {
        if (i == no_neighbour)
            return;
        if (before(d, i, distance[0], index[0])) {
            index[1] = index[0];
            distance[1] = distance[0];
            index[0] = i;
            distance[0] = d;
        } else if (before(d, i, distance[1], index[1])) {
            index[1] = i;
            distance[1] = d;
        }
    }
};

/// gpv_match_pair.
struct MatchPair {
    std::int32_t query, train;
    std::int32_t distance, second;
};

/// gpv_match_result.
struct MatchResult {
    std::uint32_t struct_size;
    std::int32_t count, dropped;
    std::int32_t queries;
};

/// Whether there is a nearest neighbour, and it is enough nearer than the second.
constexpr bool passes_ratio_test(float ratio, const Nearest &nearest) {
    if (nearest.index[0] == no_neighbour)
        return false;
    if (ratio == 0 || nearest.index[1] == no_neighbour)
        return true;
    return nearest.distance[0] < double{ratio} * double{ratio} * nearest.distance[1];
}

/// A list of descriptors.
struct MatchSet {
    BufferView view{};
    std::int64_t count = 0;

    bool on_host() const { return count > 0 && view.memory == Memory::host; }
};

/// Inputs and outputs of one run.
struct MatchRun {
    MatchSet query, train;
    std::optional<BufferView> found; ///< a gpv_sift_result
    std::optional<BufferView> nearest, pairs, result;

    /// Number of matches that can be written.
    std::int64_t room() const {
        return pairs ? std::min<std::int64_t>(pairs->size / sizeof(MatchPair), query.count)
                     : query.count;
    }
};

// ---- outlines -----------------------------------------------------------------------
// In single precision and one order, so that both backends draw the same pixels.

inline constexpr int max_outline_points = 64;
inline constexpr float max_coordinate = 131072;
inline constexpr float max_line_width = 1000;

struct OutlinePoint {
    float x, y;
};

/// A closed polygon.
struct Outline {
    OutlinePoint points[max_outline_points];
    int count;
    float reach; ///< half of the line width

    constexpr OutlinePoint end_of(int line) const {
        return points[line + 1 < count ? line + 1 : 0];
    }

    /// Whether a pixel is within reach of a line. line: index of the point where it begins.
    constexpr bool has(int line, int x, int y) const {
        const OutlinePoint a = points[line], b = end_of(line);
        const float dx = b.x - a.x, dy = b.y - a.y;
        const float px = static_cast<float>(x) - a.x, py = static_cast<float>(y) - a.y;
        const float along = px * dx + py * dy, length = dx * dx + dy * dy, maximum = reach * reach;
        if (along <= 0)
            return px * px + py * py <= maximum;
        if (along >= length) {
            const float qx = static_cast<float>(x) - b.x, qy = static_cast<float>(y) - b.y;
            return qx * qx + qy * qy <= maximum;
        }
        const float across = px * dy - py * dx;
        return across * across <= maximum * length;
    }

    /// Columns of a row: first <= column < behind.
    struct Columns {
        int first, behind;
    };
    /// Columns of row y outside which a line has no pixels. width: of the image.
    constexpr Columns columns(int line, int y, int width) const {
        const OutlinePoint a = points[line], b = end_of(line);
        const float top = static_cast<float>(y) - reach - 1,
                    bottom = static_cast<float>(y) + reach + 1;
        if ((a.y < top && b.y < top) || (a.y > bottom && b.y > bottom))
            return {0, 0};
        const float at_top = x_at(a, b, top), at_bottom = x_at(a, b, bottom);
        const float low = at_top < at_bottom ? at_top : at_bottom;
        const float high = at_top < at_bottom ? at_bottom : at_top;
        return {clamp_column(low - reach - 2, width), clamp_column(high + reach + 3, width)};
    }

  private:
    /// x of the point on a line that is nearest to height y.
    static constexpr float x_at(OutlinePoint a, OutlinePoint b, float y) {
        if (a.y == b.y)
            return y < a.y ? a.x : b.x;
        const float t = (y - a.y) / (b.y - a.y);
        return t <= 0 ? a.x : t >= 1 ? b.x : a.x + t * (b.x - a.x);
    }
    static constexpr int clamp_column(float x, int width) {
        return x <= 0 ? 0 : x >= static_cast<float>(width) ? width : static_cast<int>(x);
    }
};

struct OutlineDrawing {
    Image dst;
    Outline outline;
    Color color;
};

/// dst is in host memory.
void draw_outline(const OutlineDrawing &drawing);

// ---- operator -----------------------------------------------------------------------

/// One backend's operator. The caller has checked the buffers: accessible, large enough, disjoint
/// where required.
class Match : public Operator {
  public:
    virtual void set_params(const gpv_match_params &params) = 0;
    virtual void prepare(std::int64_t queries, std::int64_t trains, Memory memory) = 0;
    /// Returns whether wait() and result() refer to this run: false if it was captured in a graph.
    virtual bool run(Stream stream, const MatchRun &run) = 0;
    virtual void draw(Stream stream, const OutlineDrawing &drawing) = 0;
    /// Result of the last finished run.
    virtual MatchResult result() const = 0;
};

} // namespace gpv
