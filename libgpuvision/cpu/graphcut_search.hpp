// SPDX-License-Identifier: BSD-2-Clause
// Incremental breadth-first search from the sink (Goldberg, Hed, Kaplan, Tarjan and Werneck, 2011)
// for a preflow (Goldberg and Tarjan, 1988). A forest grows against residual arcs, level by level,
// from the nodes that can pass flow to the sink. Levels are lower bounds of distances and only
// rise: a node on level k hangs by a residual arc on one of level k - 1, and no residual arc leads
// from outside the forest into a level below the last one, or from a node down by more than one
// level. A pass is
//   grow    by one level or more, which may take in nodes with excess
//   wave    excess flows down the forest, from the highest level on, so that what meets flows on
//           together; a node that cannot pass on all of it is hung elsewhere, on its level or
//           above, or has to wait
//   settle  orphans, whose arc has saturated or whose parent has risen, and below whom there is no
//           other node to hang on, leave the forest with all that hangs on them; those that still
//           reach it come back on their exact distances (Goldberg, Hed, Kaplan, Kohli, Tarjan and
//           Werneck, 2015); where most of the forest would leave, it is planted anew
// When it cannot grow any more, and holds no excess, the preflow is maximum, and the forest holds
// the pixels that can reach the sink.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "core/arena.hpp"
#include "core/graphcut.hpp"

namespace gpv::cpu {

/// Of the grid with a border, one pixel wide, of nodes without arcs.
using NodeIndex = std::uint32_t;

/// Nodes lie in tiles, so that most neighbours of a node are near it in memory.
class TileLayout {
  public:
    static constexpr int side = 8; ///< of a tile
    static constexpr int nodes_of_tile = side * side;

    TileLayout(int width, int height)
        : tiles_x_((width + 2 + side - 1) / side), tiles_y_((height + 2 + side - 1) / side) {}

    NodeIndex row_nodes() const { return static_cast<NodeIndex>(tiles_x_) * nodes_of_tile; }
    NodeIndex nodes() const { return row_nodes() * tiles_y_; }
    /// Behind the last node, that of a pixel or not; the first is at -1.
    int end_column() const { return tiles_x_ * side - 1; }
    int end_row() const { return tiles_y_ * side - 1; }

    /// Of the pixel (x, y), with -1 <= x < end_column() and -1 <= y < end_row().
    NodeIndex index(int x, int y) const {
        const unsigned column = x + 1, row = y + 1;
        return row / side * row_nodes() + column / side * nodes_of_tile +
               place(column % side, row % side);
    }

    /// f(x, v) of the nodes of row y from first to before end.
    template <class F>
    void for_row(int y, int first, int end, F f) const {
        for (int x = first; x < end;) {
            NodeIndex v = index(x, y);
            // Those of a tile lie together.
            for (const int behind = std::min(end, (x + 1) / side * side + side - 1); x < behind;
                 x++)
                f(x, v++);
        }
    }

    /// From a node at a place of its tile to a neighbour.
    std::int32_t step(int at, int dx, int dy) const {
        const int x = at % side + dx, y = at / side + dy;
        const int tile_x = x < 0 ? -1 : x / side, tile_y = y < 0 ? -1 : y / side;
        return tile_y * static_cast<std::int32_t>(row_nodes()) + tile_x * nodes_of_tile +
               static_cast<std::int32_t>(place(x & (side - 1), y & (side - 1))) - at;
    }

  private:
    static constexpr unsigned place(unsigned x, unsigned y) { return y * side + x; }

    int tiles_x_ = 0, tiles_y_ = 0;
};

static_assert((std::int64_t{max_side} + 2 + TileLayout::side) * (max_side + 2 + TileLayout::side) <
                  std::numeric_limits<std::int32_t>::max(),
              "indices of nodes, and steps between them, have 32 bits");

/// Steps from nodes to their neighbours.
template <int directions>
class NodeSteps {
  public:
    using Steps = std::array<std::int32_t, directions>;

    explicit NodeSteps(const TileLayout &layout) {
        for (int at = 0; at < TileLayout::nodes_of_tile; at++)
            for (int d = 0; d < directions; d++)
                of_[at][d] = layout.step(at, step_x(d, directions), step_y(d, directions));
    }
    const Steps &from(NodeIndex v) const { return of_[v % TileLayout::nodes_of_tile]; }

  private:
    std::array<Steps, TileLayout::nodes_of_tile> of_; ///< by the place in a tile
};

/// What the search knows of a pixel, but for its amounts.
struct CutNode {
    static constexpr std::uint32_t outside = ~0u; ///< as level: not in the forest

    std::uint32_t level; ///< 1: passes flow to the sink itself
    std::uint8_t parent; ///< its direction, where level > 1; of an orphan, what it was
    std::uint8_t state;
    std::uint8_t out; ///< directions of residual arcs to neighbours
    std::uint8_t in;  ///< directions of residual arcs from neighbours
};

/// The residual graph, where its nodes are, and lists as long as there are nodes.
template <int directions>
struct CutGraph {
    TileLayout layout;
    NodeSteps<directions> steps;
    CutNode *nodes;
    std::array<std::int32_t, directions> *residual; ///< capacity of the arcs to neighbours
    std::int32_t *excess; ///< less than 2^30 + 8 * 2^26, either way; negative: the capacity left to
                          ///< the sink, with what a pixel owes
    NodeIndex *waiting, *next, *free, *links;
    NodeIndex *heads; ///< by level

    CutGraph(Arena &arena, const TileLayout &of) : layout(of), steps(of) {
        const std::size_t count = layout.nodes();
        nodes = arena.allocate<CutNode>(count);
        residual = arena.allocate<std::array<std::int32_t, directions>>(count);
        excess = arena.allocate<std::int32_t>(count);
        for (NodeIndex **list : {&waiting, &next, &free, &links, &heads})
            *list = arena.allocate<NodeIndex>(count);
    }
};

/// When a search has to stop.
class Deadline {
  public:
    using Clock = std::chrono::steady_clock;

    explicit Deadline(int microseconds)
        : limited_(microseconds > 0), end_(Clock::now() + std::chrono::microseconds(microseconds)) {
    }
    bool over() const { return limited_ && Clock::now() >= end_; }

  private:
    bool limited_;
    Clock::time_point end_;
};

/// Of one graph, once. No allocation; lists are bounded since a node is in each at most once.
template <int directions>
class CutSearch {
  public:
    CutSearch(const CutGraph<directions> &graph, const Deadline &deadline)
        : steps_(graph.steps), nodes_(graph.nodes), residual_(graph.residual),
          excess_(graph.excess), count_(graph.layout.nodes()), waiting_{graph.waiting},
          next_{graph.next}, free_{graph.free}, buckets_(graph.links, graph.heads),
          deadline_(deadline) {
        std::fill_n(graph.heads, count_, none);
    }

    /// Whether the preflow is known to be maximum: then those nodes are in the forest from which
    /// the sink can be reached. If the time is over before, those within as many steps as it has
    /// been searched by then.
    bool run() {
        search(1);
        while (waiting_.count || !buckets_.empty()) {
            for (NodeIndex levels = 1 + last_ / 16; levels && waiting_.count && !stopped_; levels--)
                grow();
            if (stopped_) {
                // It grows on until there is excess to push: often there is none any more.
                while (waiting_.count && buckets_.empty())
                    grow();
                return buckets_.empty();
            }
            wave();
            settle();
            if (stopped_) {
                search(last_);
                return false;
            }
        }
        return true;
    }

  private:
    static constexpr NodeIndex none = ~NodeIndex{0};

    enum State : std::uint8_t {
        listed = 1, ///< in waiting_ or next_, while these hold the last level or the next
        active = 2, ///< in buckets_ for its excess
        orphan = 4,
        queued = 8, ///< in next_ as an orphan, or as what was one
    };

    struct List {
        NodeIndex *start;
        std::size_t count = 0;
        void push(NodeIndex v) { start[count++] = v; }
        NodeIndex pop() { return start[--count]; }
    };

    /// Nodes by level. A node is in it once.
    class Buckets {
      public:
        Buckets(NodeIndex *links, NodeIndex *heads) : links_(links), heads_(heads) {}
        void clear() {
            for (; highest_; highest_--)
                heads_[highest_] = none;
        }
        bool empty() const { return highest_ == 0; }
        std::uint32_t highest() const { return highest_; }
        void push(NodeIndex v, std::uint32_t level) {
            links_[v] = heads_[level];
            heads_[level] = v;
            highest_ = std::max(highest_, level);
        }
        /// none if it is empty.
        NodeIndex pop_highest() {
            while (highest_ && heads_[highest_] == none)
                highest_--;
            if (!highest_)
                return none;
            const NodeIndex v = heads_[highest_];
            heads_[highest_] = links_[v];
            return v;
        }
        /// f(v) of all on a level, which may push others onto a higher one.
        template <class F>
        void take(std::uint32_t level, F f) {
            for (NodeIndex v = std::exchange(heads_[level], none); v != none; v = links_[v])
                f(v);
        }

      private:
        NodeIndex *links_, *heads_;
        std::uint32_t highest_ = 0;
    };

    static constexpr int back(int direction) { return reverse(direction, directions); }
    static constexpr std::uint8_t bit(int direction) {
        return static_cast<std::uint8_t>(1u << direction);
    }
    static void set(CutNode &node, State state) { node.state |= state; }
    static void clear(CutNode &node, State state) {
        node.state &= static_cast<std::uint8_t>(~state);
    }

    NodeIndex neighbor(NodeIndex v, int direction) const { return v + steps_.from(v)[direction]; }

    /// To be hung again one by one: a search from the roots is faster.
    bool too_many_free() const { return free_.count > count_ / 4; }

    void tick() {
        constexpr int ticks_between = 4096;
        if (++ticks_ < ticks_between)
            return;
        ticks_ = 0;
        stopped_ = deadline_.over();
    }

    /// A node that has come to the last level, or to the next.
    void list(NodeIndex v) {
        CutNode &node = nodes_[v];
        if (node.state & listed)
            return;
        set(node, listed);
        (node.level == last_ ? waiting_ : next_).push(v);
    }

    void activate(NodeIndex v) {
        if (nodes_[v].state & active)
            return;
        set(nodes_[v], active);
        buckets_.push(v, nodes_[v].level);
    }

    // The forest.

    /// Plants it, up to a level, with exact distances.
    void search(std::uint32_t last) {
        last_ = 1;
        waiting_.count = next_.count = 0;
        buckets_.clear();
        for (NodeIndex v = 0; v < count_; v++) {
            nodes_[v].level = CutNode::outside;
            nodes_[v].state = 0;
            if (excess_[v] < 0) {
                nodes_[v].level = 1;
                list(v);
            }
        }
        while (last_ < last && waiting_.count)
            grow();
    }

    /// The nodes that can pass flow to v, as its children.
    template <class F>
    void take_in(NodeIndex v, F f) {
        unsigned entering = 0;
        each_near(v, [&](int d, const CutNode &near) {
            entering |= static_cast<unsigned>(near.level == CutNode::outside) << d;
        });
        for (entering &= nodes_[v].in; entering; entering &= entering - 1) {
            const int d = std::countr_zero(entering);
            const NodeIndex w = neighbor(v, d);
            nodes_[w].level = nodes_[v].level + 1;
            nodes_[w].parent = static_cast<std::uint8_t>(back(d));
            f(w);
        }
    }

    void grow() {
        next_.count = 0;
        for (std::size_t i = 0; i < waiting_.count; i++) {
            const NodeIndex v = waiting_.start[i];
            clear(nodes_[v], listed);
            if (nodes_[v].level == last_)
                take_in(v, [&](NodeIndex w) {
                    list(w);
                    if (excess_[w] > 0)
                        activate(w);
                });
            else if (nodes_[v].level == last_ + 1) // it had left the forest, and is back
                list(v);
            tick();
        }
        std::swap(waiting_, next_);
        next_.count = 0;
        last_++;
    }

    // Flow.

    /// Along the arc from u to v; whether that saturates it.
    bool push(NodeIndex u, int d, NodeIndex v, std::int32_t amount) {
        const int b = back(d);
        std::int32_t &there = residual_[u][d], &here = residual_[v][b];
        if (here == 0) {
            nodes_[v].out |= bit(b);
            nodes_[u].in |= bit(d);
        }
        here += amount;
        there -= amount;
        if (there)
            return false;
        nodes_[u].out &= static_cast<std::uint8_t>(~bit(d));
        nodes_[v].in &= static_cast<std::uint8_t>(~bit(b));
        return true;
    }

    void wave() {
        rises_ = 0;
        for (NodeIndex v; !stopped_ && (v = buckets_.pop_highest()) != none; tick()) {
            clear(nodes_[v], active);
            discharge(v);
        }
    }

    void discharge(NodeIndex v) {
        CutNode &node = nodes_[v];
        std::int32_t &rest = excess_[v];
        while (rest) {
            if (node.state & orphan && !hang_elsewhere(v)) {
                if (rise(v))
                    activate(v);
                else
                    leave(v);
                return;
            }
            const int d = node.parent;
            const NodeIndex w = neighbor(v, d);
            const std::int32_t amount = std::min(rest, residual_[v][d]);
            rest -= amount;
            if (push(v, d, w, amount))
                set(node, orphan);
            receive(w, amount);
        }
        if (node.state & orphan)
            leave(v);
    }

    void receive(NodeIndex v, std::int32_t amount) {
        std::int32_t &excess = excess_[v];
        const bool was_root = excess < 0;
        excess += amount;
        if (was_root && excess >= 0)
            leave(v);
        if (excess > 0)
            activate(v);
    }

    // Orphans.

    void leave(NodeIndex v) {
        CutNode &node = nodes_[v];
        set(node, orphan);
        if (node.state & queued)
            return;
        set(node, queued);
        next_.push(v);
    }

    static void hang(CutNode &node, unsigned parent) {
        node.parent = static_cast<std::uint8_t>(parent);
        clear(node, orphan);
    }

    // Loops over neighbours do not branch: which ones are there follows no pattern.

    /// f(direction, node) of each neighbour.
    template <class F>
    void each_near(NodeIndex v, F f) const {
        const auto &steps = steps_.from(v);
        for (int d = 0; d < directions; d++)
            f(d, nodes_[v + steps[d]]);
    }
    /// Whether a node can hang on a neighbour, on its level; as the bit of the direction.
    static unsigned parent_bit(const CutNode &node, int d, const CutNode &near) {
        return static_cast<unsigned>(near.level + 1 == node.level) << d & node.out;
    }
    /// Whether a neighbour hangs on a node.
    static unsigned child_bit(const CutNode &node, int d, const CutNode &near) {
        const bool child =
            (near.level == node.level + 1) & (near.parent == back(d)) & !(near.state & orphan);
        return static_cast<unsigned>(child) << d;
    }
    /// All ones where there is no residual arc.
    static std::uint64_t blocked(const CutNode &node, int d) {
        return (node.out >> d & 1u) - std::uint64_t{1};
    }

    /// Whether there is another parent for an orphan, on its level.
    bool hang_elsewhere(NodeIndex v) {
        CutNode &node = nodes_[v];
        unsigned parents = 0;
        each_near(v, [&](int d, const CutNode &near) { parents |= parent_bit(node, d, near); });
        if (parents)
            hang(node, std::countr_zero(parents));
        return parents;
    }

    /// Hangs an orphan on its lowest neighbour, in a wave, and makes orphans of its children.
    /// Not where that is an orphan, or a child, and will rise as well, unless few nodes have risen
    /// beside those that are freed when it settles: there each has its turn once.
    bool rise(NodeIndex v) {
        CutNode &node = nodes_[v];
        std::uint64_t lowest = ~std::uint64_t{0}; // level, whether it is to rise, and direction
        unsigned children = 0;
        each_near(v, [&](int d, const CutNode &near) {
            const unsigned child = child_bit(node, d, near);
            const bool rises = (child != 0) | ((near.state & orphan) != 0);
            lowest = std::min(lowest,
                              std::uint64_t{near.level} << 4 | rises << 3 | d | blocked(node, d));
            children |= child;
        });
        const std::uint64_t level = (lowest >> 4) + 1;
        if (level > last_ || (lowest & 8 && rises_ >= free_.count / 2))
            return false;
        rises_++;
        node.level = static_cast<std::uint32_t>(level);
        hang(node, lowest & 7);
        if (level == last_)
            list(v);
        for (; children; children &= children - 1)
            leave(neighbor(v, std::countr_zero(children)));
        return true;
    }

    void settle() {
        if (stopped_)
            return;
        release_orphans();
        if (too_many_free())
            search(last_);
        else
            replant();
    }

    /// Frees those that cannot stay on their level, and what hangs on them, until they are too
    /// many.
    void release_orphans() {
        std::uint32_t level = CutNode::outside;
        while (next_.count) {
            const NodeIndex v = next_.pop();
            clear(nodes_[v], queued);
            if (!(nodes_[v].state & orphan))
                continue;
            level = std::min(level, nodes_[v].level);
            buckets_.push(v, nodes_[v].level);
        }
        free_.count = 0;
        for (; level <= buckets_.highest() && !too_many_free() && !stopped_; level++)
            buckets_.take(level, [&](NodeIndex v) {
                tick();
                release(v);
            });
        buckets_.clear();
    }

    void release(NodeIndex v) {
        CutNode &node = nodes_[v];
        unsigned parents = 0, children = 0;
        each_near(v, [&](int d, const CutNode &near) {
            parents |= parent_bit(node, d, near);
            children |= child_bit(node, d, near);
        });
        if (parents) {
            hang(node, std::countr_zero(parents));
            return;
        }
        for (; children; children &= children - 1) {
            const NodeIndex w = neighbor(v, std::countr_zero(children));
            set(nodes_[w], orphan);
            buckets_.push(w, node.level + 1);
        }
        node.level = CutNode::outside;
        free_.push(v);
    }

    /// The free nodes that can reach the forest, from their lowest neighbours in it on.
    void replant() {
        std::uint32_t level = CutNode::outside;
        std::size_t done = 0; // of next_
        for (std::size_t i = 0; i < free_.count; i++) {
            const NodeIndex v = free_.start[i];
            CutNode &node = nodes_[v];
            clear(node, orphan);
            std::uint64_t lowest = ~std::uint64_t{0}; // level and direction
            each_near(v, [&](int d, const CutNode &near) {
                lowest = std::min(lowest, std::uint64_t{near.level} << 3 | d | blocked(node, d));
            });
            const std::uint64_t up = (lowest >> 3) + 1;
            if (up > last_)
                continue;
            node.parent = lowest & 7;
            buckets_.push(v, static_cast<std::uint32_t>(up));
            level = std::min(level, static_cast<std::uint32_t>(up));
        }
        const auto left = [&] { return level <= buckets_.highest() || done < next_.count; };
        for (; left() && !stopped_; level++) {
            buckets_.take(level, [&](NodeIndex v) {
                if (nodes_[v].level != CutNode::outside)
                    return;
                nodes_[v].level = level;
                next_.push(v);
            });
            for (const std::size_t end = next_.count; done < end; done++) {
                const NodeIndex v = next_.start[done];
                tick();
                if (level == last_)
                    list(v);
                else
                    take_in(v, [&](NodeIndex w) { next_.push(w); });
            }
        }
        buckets_.clear();
        next_.count = 0;
        for (std::size_t i = 0; i < free_.count; i++) {
            const NodeIndex v = free_.start[i];
            if (excess_[v] > 0 && nodes_[v].level != CutNode::outside)
                activate(v);
        }
    }

    const NodeSteps<directions> &steps_;
    CutNode *nodes_;
    std::array<std::int32_t, directions> *residual_;
    std::int32_t *excess_;
    NodeIndex count_;

    std::uint32_t last_ = 1; ///< level of which no node has been scanned
    List waiting_;           ///< nodes of that level, and some that are none any more
    List next_;              ///< while the forest grows, those of the next level; else orphans
    List free_;              ///< nodes that the last settling has taken out of the forest
    Buckets buckets_;        ///< nodes with excess in the forest; while it settles, others
    std::size_t rises_ = 0;  ///< of nodes, in this wave

    const Deadline &deadline_;
    int ticks_ = 0; ///< since the clock was looked at
    bool stopped_ = false;
};

} // namespace gpv::cpu
