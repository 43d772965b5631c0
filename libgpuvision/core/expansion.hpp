// SPDX-License-Identifier: BSD-2-Clause
// Alpha expansion: what both backends compute. docs/algorithms/expansion.md defines it. All values
// are integers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <gpuvision/expansion.h>

#include "core/context.hpp"
#include "core/graphcut.hpp"
#include "core/params.hpp"

namespace gpv {

extern const Fields expansion_fields;

inline constexpr int min_labels = 2, max_labels = GPV_EXPANSION_MAX_LABELS;
inline constexpr int max_cost = GPV_EXPANSION_MAX_COST;
static_assert(2LL * max_cost + 8LL * max_link <= max_terminal);

/// gpv_expansion_result.
struct ExpansionResult {
    std::uint32_t struct_size;
    std::uint32_t converged;
    std::int64_t start_energy;
    std::int64_t energy;
    std::int32_t moves;
    std::uint32_t refused;
};

struct ExpansionReport {
    ExpansionResult found;
    GraphcutFault fault; ///< costs are the planes from 0 on, those of links follow
};

namespace expansion {

/// A pixel in the graph of a move, but one that has the move's label already, which is all zero.
/// On the side of the source it keeps its label; on that of the sink it takes the move's, and the
/// cut of fewest pixels there changes the fewest. pairs: half of the directions.
template <int pairs>
struct Node {
    std::int32_t terminal; ///< how much more the move's label costs, to begin with
    std::int32_t forth[pairs] = {}, back[pairs] = {};

    /// With a neighbour of the first half of the directions. A link between two other labels is
    /// saved where both take the move's: it is added to what keeping costs the first pixel, and to
    /// the arc back alone, for the second one keeping.
    constexpr void add_forth(int pair, int link, int own, int there) {
        if (there == own)
            forth[pair] = link;
        else
            terminal -= link;
    }
    /// With one of the second half.
    constexpr void add_back(int pair, int link, int there, int move) {
        if (there == move)
            terminal -= link;
        else
            back[pair] = link;
    }
};

/// How far a run has come.
struct Progress {
    std::uint32_t is_over; ///< no move can change anything any more
    std::int32_t moves;    ///< that have lowered the energy
    std::int32_t quiet;    ///< labels whose move is known to change nothing

    constexpr void note(bool changed, int labels) {
        moves += changed;
        quiet = changed ? 1 : quiet + 1; // a move repeated changes nothing
        is_over = quiet == labels;
    }
};

} // namespace expansion

/// Inputs and outputs of one run.
struct ExpansionRun {
    std::array<Image, max_labels> costs; ///< of which there are count
    int count;
    Image links;
    Image labels;
    ExpansionResult *result = nullptr; ///< in the backend's memory; may be null
};

/// One backend's operator. The caller has checked the images: supported formats, same size and
/// memory, disjoint where required.
class Expansion : public Operator {
  public:
    virtual void set_params(const gpv_expansion_params &params) = 0;
    virtual void prepare(const Image &links, int count) = 0;
    /// Returns whether wait(), result() and fault() refer to this run: false if it was captured in
    /// a graph.
    virtual bool run(Stream stream, const ExpansionRun &run) = 0;
    /// Result and fault of the last finished run. The fault's plane is as in ExpansionReport.
    virtual ExpansionResult result() const = 0;
    virtual GraphcutFault fault() const = 0;
};

} // namespace gpv
