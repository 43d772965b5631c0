// SPDX-License-Identifier: BSD-2-Clause
// Incremental breadth-first search from the sink (Goldberg, Hed, Kaplan, Tarjan and Werneck, 2011)
// for a preflow (Goldberg and Tarjan, 1988). A forest grows against residual arcs, level by level,
// from the nodes that can pass flow to the sink. Levels are lower bounds of distances and only
// rise: a node on level k hangs by a residual arc on one of level k - 1, and no residual arc leads
// from outside the forest into a level below the last one, or from a node down by more than one
// level. A pass is
//   grow    by one level, which may take in nodes with excess
//   wave    excess flows down the forest, from the highest level on, so that what meets flows on
//           together; a node that cannot pass on all of it is hung elsewhere
//   settle  orphans, whose arc has saturated or whose parent has risen, are hung on the lowest
//           node that there is; above the last level they leave the forest
// When it cannot grow any more the preflow is maximum, and the forest holds the pixels that can
// reach the sink. A pass that raises nodes too often, as where a long branch is cut off, searches
// anew from the roots.
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

    /// Of the pixel (x, y), with -1 <= x <= width and -1 <= y <= height.
    NodeIndex index(int x, int y) const {
        const unsigned column = x + 1, row = y + 1;
        return row / side * row_nodes() + column / side * nodes_of_tile +
               place(column % side, row % side);
    }

    /// From a node at a place of its tile to its neighbour.
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

/// What the search knows of a pixel, but for its amounts.
struct CutNode {
    static constexpr std::uint32_t outside = ~0u; ///< as level: not in the forest

    std::uint32_t level; ///< 1: passes flow to the sink itself
    std::uint8_t parent; ///< its direction, where level > 1; of an orphan, what it was
    std::uint8_t state;
    std::uint8_t out; ///< directions of residual arcs to neighbours
    std::uint8_t in;  ///< directions of residual arcs from neighbours
};

/// The residual graph, and lists as long as there are nodes.
template <int directions>
struct CutGraph {
    TileLayout layout;
    CutNode *nodes;
    std::array<std::int32_t, directions> *residual; ///< capacity of the arcs to neighbours
    std::int32_t *excess; ///< -max_terminal.. less than 2^30 + 8 * 2^26; negative: the capacity
                          ///< left to the sink
    NodeIndex *waiting, *next, *queue, *links;
    NodeIndex *heads; ///< by level

    CutGraph(Arena &arena, const TileLayout &of) : layout(of) {
        const std::size_t count = layout.nodes();
        nodes = arena.allocate<CutNode>(count);
        residual = arena.allocate<std::array<std::int32_t, directions>>(count);
        excess = arena.allocate<std::int32_t>(count);
        for (NodeIndex **list : {&waiting, &next, &queue, &links, &heads})
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
        : nodes_(graph.nodes), residual_(graph.residual), excess_(graph.excess),
          count_(graph.layout.nodes()), waiting_{graph.waiting}, next_{graph.next},
          queue_(graph.queue, count_), buckets_(graph.links, graph.heads), deadline_(deadline) {
        for (int at = 0; at < TileLayout::nodes_of_tile; at++)
            for (int d = 0; d < directions; d++)
                steps_[at][d] = graph.layout.step(at, step_x(d, directions), step_y(d, directions));
        std::fill_n(graph.heads, count_, none);
    }

    /// Whether the preflow is maximum now. In any case those nodes are in the forest from which the
    /// sink can be reached.
    bool run() {
        search(1);
        while (waiting_.count && !stopped_) {
            rises_ = 0;
            for (NodeIndex levels = 1 + last_ / 16; levels && waiting_.count && !stopped_; levels--)
                grow();
            for (;;) {
                wave();
                settle();
                if (!rises_too_often() || stopped_)
                    break;
                search(last_);
            }
        }
        if (stopped_)
            search(CutNode::outside);
        return buckets_.empty();
    }

  private:
    static constexpr NodeIndex none = ~NodeIndex{0};

    enum State : std::uint8_t {
        listed = 1, ///< in waiting_ or next_, while these hold the last level or the next
        active = 2, ///< in buckets_
        orphan = 4,
        queued = 8, ///< in queue_, or in next_ as an orphan
    };

    struct List {
        NodeIndex *start;
        std::size_t count = 0;
        void push(NodeIndex v) { start[count++] = v; }
        NodeIndex pop() { return start[--count]; }
    };

    class Queue {
      public:
        Queue(NodeIndex *ring, std::size_t size) : ring_(ring), size_(size) {}
        bool empty() const { return count_ == 0; }
        void clear() { count_ = 0; }
        NodeIndex front() const { return ring_[front_]; }
        void push(NodeIndex v) {
            const std::size_t back = front_ + count_++;
            ring_[back < size_ ? back : back - size_] = v;
        }
        NodeIndex pop() {
            const NodeIndex v = ring_[front_];
            front_ = front_ + 1 < size_ ? front_ + 1 : 0;
            count_--;
            return v;
        }

      private:
        NodeIndex *ring_;
        std::size_t size_, front_ = 0, count_ = 0;
    };

    /// Nodes by the level that they were on when they were added; each is in it once.
    class Buckets {
      public:
        Buckets(NodeIndex *links, NodeIndex *heads) : links_(links), heads_(heads) {}
        void clear() {
            for (; highest_; highest_--)
                heads_[highest_] = none;
        }
        bool empty() const { return highest_ == 0; }
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
        /// Of the node that was popped last, when it was added.
        std::uint32_t highest() const { return highest_; }

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

    NodeIndex neighbor(NodeIndex v, int direction) const {
        return v + steps_[v % TileLayout::nodes_of_tile][direction];
    }

    bool rises_too_often() const { return rises_ > count_; }

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
        last_ = last;
        rises_ = 0;
        waiting_.count = next_.count = 0;
        queue_.clear();
        buckets_.clear();
        for (NodeIndex v = 0; v < count_; v++) {
            nodes_[v].level = CutNode::outside;
            nodes_[v].state = 0;
            if (excess_[v] < 0) {
                nodes_[v].level = 1;
                queue_.push(v);
            }
        }
        while (!queue_.empty()) {
            const NodeIndex v = queue_.pop();
            if (excess_[v] > 0)
                activate(v);
            if (nodes_[v].level == last)
                list(v);
            else
                take_in(v, [&](NodeIndex w) { queue_.push(w); });
        }
    }

    /// The nodes that can pass flow to v, as its children.
    template <class F>
    void take_in(NodeIndex v, F f) {
        for (unsigned in = nodes_[v].in; in; in &= in - 1) {
            const int d = std::countr_zero(in);
            const NodeIndex w = neighbor(v, d);
            if (nodes_[w].level != CutNode::outside)
                continue;
            nodes_[w].level = nodes_[v].level + 1;
            nodes_[w].parent = static_cast<std::uint8_t>(back(d));
            f(w);
        }
    }

    void grow() {
        next_.count = 0;
        for (std::size_t i = 0; i < waiting_.count && !stopped_; i++) {
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
        while (!stopped_ && !rises_too_often()) {
            const NodeIndex v = buckets_.pop_highest();
            if (v == none)
                return;
            tick();
            CutNode &node = nodes_[v];
            clear(node, active);
            if (node.level == buckets_.highest())
                discharge(v);
            else if (node.level != CutNode::outside)
                activate(v);
        }
    }

    void discharge(NodeIndex v) {
        CutNode &node = nodes_[v];
        std::int32_t &rest = excess_[v];
        while (rest) {
            if (node.state & orphan && !adopt(v)) {
                if (node.level != CutNode::outside)
                    activate(v);
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

    /// Lower ones first, as far as that is known: those of a wave come from the top.
    void settle() {
        while ((next_.count || !queue_.empty()) && !stopped_ && !rises_too_often()) {
            const bool from_wave =
                next_.count && (queue_.empty() || nodes_[next_.start[next_.count - 1]].level <=
                                                      nodes_[queue_.front()].level);
            const NodeIndex v = from_wave ? next_.pop() : queue_.pop();
            tick();
            clear(nodes_[v], queued);
            if (nodes_[v].state & orphan)
                adopt(v);
        }
    }

    /// Hangs an orphan on its lowest neighbour; whether it stays on its level.
    bool adopt(NodeIndex v) {
        CutNode &node = nodes_[v];
        clear(node, orphan);
        const std::int32_t *steps = steps_[v % TileLayout::nodes_of_tile];
        std::uint64_t lowest = ~std::uint64_t{0}; // level and direction
        unsigned children = 0;
        for (int d = 0; d < directions; d++) {
            const CutNode near = nodes_[v + steps[d]];
            const std::uint64_t blocked = (node.out >> d & 1u) - std::uint64_t{1};
            lowest = std::min(lowest, (std::uint64_t{near.level} << 3 | d) | blocked);
            const bool child =
                (near.level == node.level + 1) & (near.parent == back(d)) & !(near.state & orphan);
            children |= static_cast<unsigned>(child) << d;
        }
        const std::uint64_t level = (lowest >> 3) + 1;
        if (level == node.level) {
            node.parent = lowest & 7;
            return true;
        }
        rises_++;
        if (level <= last_) {
            node.level = static_cast<std::uint32_t>(level);
            node.parent = lowest & 7;
            if (level == last_)
                list(v);
        } else {
            node.level = CutNode::outside;
        }
        for (; children; children &= children - 1)
            abandon(neighbor(v, std::countr_zero(children)));
        return false;
    }

    /// A child whose parent has left its level.
    void abandon(NodeIndex v) {
        CutNode &node = nodes_[v];
        set(node, orphan);
        if (node.state & queued)
            return;
        set(node, queued);
        queue_.push(v);
    }

    CutNode *nodes_;
    std::array<std::int32_t, directions> *residual_;
    std::int32_t *excess_;
    NodeIndex count_;
    std::int32_t steps_[TileLayout::nodes_of_tile][directions]; ///< to neighbours

    std::uint32_t last_ = 1;  ///< level of which no node has been scanned
    List waiting_;            ///< nodes of that level, and some that are none any more
    List next_;               ///< while the forest grows, those of the next level; else orphans
    Queue queue_;             ///< of orphans that others have left, or of the search
    Buckets buckets_;         ///< nodes with excess in the forest
    std::uint64_t rises_ = 0; ///< of nodes, in this pass or since the last search

    const Deadline &deadline_;
    int ticks_ = 0; ///< since the clock was looked at
    bool stopped_ = false;
};

} // namespace gpv::cpu
