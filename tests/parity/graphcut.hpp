// SPDX-License-Identifier: BSD-2-Clause
// Instances of minimum cuts on pixels, what finds the cut, which is plain augmenting paths, and
// Boost's maximum flow where it is installed; and results of the library.
#pragma once

#include <optional>

#include "device.hpp"
#include "patterns.hpp"
#ifdef HAVE_CUDA
#    include "plain_cut.hpp"
#endif

#include <tbb/parallel_for.h>

#ifdef HAVE_BOOST
#    include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#    include <boost/graph/compressed_sparse_row_graph.hpp>
#    include <boost/version.hpp>
#endif

namespace parity {

// ---- instances ----------------------------------------------------------------------

/// To the neighbours, in the order of the planes.
inline constexpr std::array<std::array<int, 2>, 8> steps8 = {
    {{1, 0}, {1, 1}, {0, 1}, {-1, 1}, {-1, 0}, {-1, -1}, {0, -1}, {1, -1}}};

/// Where planes of links are the same memory.
enum class Sharing {
    none,
    all,      ///< one plane for every direction
    opposites ///< a plane for each two: the way back is the one there, a pixel further
};

struct Instance {
    int width, height, directions;
    std::vector<std::int32_t> terminals;          ///< row by row
    std::vector<std::vector<std::int32_t>> links; ///< of each direction

    Instance(int w, int h, int d)
        : width(w), height(h), directions(d), terminals(std::size_t(w) * h),
          links(static_cast<std::size_t>(d), terminals) {}

    std::size_t pixels() const { return terminals.size(); }
    std::size_t at(int x, int y) const { return std::size_t(y) * width + x; }
    const std::array<int, 2> &step(int d) const { return steps8[d * (8 / directions)]; }
    int back(int d) const { return (d + directions / 2) % directions; }
    bool inside(int x, int y) const { return x >= 0 && x < width && y >= 0 && y < height; }
    /// Whether a pixel has that neighbour.
    bool has(int d, int x, int y) const { return inside(x + step(d)[0], y + step(d)[1]); }
    bool has(int d, std::size_t pixel) const {
        return has(d, static_cast<int>(pixel % width), static_cast<int>(pixel / width));
    }
    std::size_t next(int d, std::size_t pixel) const {
        return pixel + std::ptrdiff_t(step(d)[1]) * width + step(d)[0];
    }
    gpv_format format() const { return directions == 4 ? GPV_FORMAT_CAP32X4 : GPV_FORMAT_CAP32X8; }

    /// f(x, y) is the terminal of a pixel.
    template <class F>
    void each_terminal(F f) {
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++)
                terminals[at(x, y)] = f(x, y);
    }
    /// f(x, y, direction) is the capacity to a neighbour. One that leaves the image stays 0.
    template <class F>
    void each_link(F f) {
        for (int d = 0; d < directions; d++)
            for (int y = 0; y < height; y++)
                for (int x = 0; x < width; x++)
                    if (has(d, x, y))
                        links[d][at(x, y)] = f(x, y, d);
    }
    /// f(x, y, direction) is the capacity there and back.
    template <class F>
    void each_edge(F f) {
        for (int d = 0; d < directions / 2; d++)
            for (int y = 0; y < height; y++)
                for (int x = 0; x < width; x++)
                    if (has(d, x, y))
                        links[d][at(x, y)] = links[back(d)][next(d, at(x, y))] = f(x, y, d);
    }
};

/// What there is to be found.
struct Cut {
    std::int64_t flow = 0, area = 0;
    std::vector<std::uint8_t> mask;
};

/// Of a mask, straight from the definition.
inline std::int64_t capacity_of(const Instance &in, const std::vector<std::uint8_t> &mask) {
    std::int64_t sum = 0;
    for (std::size_t p = 0; p < in.pixels(); p++) {
        const std::int64_t terminal = in.terminals[p];
        sum += mask[p] ? std::max<std::int64_t>(-terminal, 0) : std::max<std::int64_t>(terminal, 0);
        for (int d = 0; mask[p] && d < in.directions; d++)
            if (in.has(d, p) && !mask[in.next(d, p)])
                sum += in.links[d][p];
    }
    return sum;
}

inline std::int64_t area_of(const std::vector<std::uint8_t> &mask) {
    return std::count(mask.begin(), mask.end(), 255);
}

// ---- by augmenting paths ------------------------------------------------------------

/// Dinic's: shortest paths, as many as there are of one length, then a search for the next length.
/// The last search, from the sink, reaches the pixels of its side.
class AugmentingPaths {
  public:
    explicit AugmentingPaths(const Instance &in)
        : in_(in), source_(in.pixels()), sink_(in.pixels()), level_(in.pixels()),
          tried_(in.pixels()) {
        for (std::size_t p = 0; p < in.pixels(); p++) {
            source_[p] = std::max<std::int64_t>(in.terminals[p], 0);
            sink_[p] = std::max<std::int64_t>(-std::int64_t{in.terminals[p]}, 0);
        }
        for (const auto &plane : in.links)
            residual_.emplace_back(plane.begin(), plane.end());
    }

    Cut run() {
        Cut cut;
        while (search()) {
            std::fill(tried_.begin(), tried_.end(), 0);
            for (std::size_t p = 0; p < in_.pixels(); p++)
                while (source_[p] > 0 && level_[p] >= 0) {
                    const std::int64_t more = augment(p);
                    if (more == 0)
                        break;
                    cut.flow += more;
                }
        }
        for (const int level : level_)
            cut.mask.push_back(level < 0 ? 255 : 0);
        cut.area = area_of(cut.mask);
        return cut;
    }

  private:
    /// Levels are steps to the sink. Whether a pixel with flow left reaches it.
    bool search() {
        std::fill(level_.begin(), level_.end(), -1);
        queue_.clear();
        for (std::size_t p = 0; p < in_.pixels(); p++)
            if (sink_[p] > 0) {
                level_[p] = 0;
                queue_.push_back(p);
            }
        bool reached = false;
        for (std::size_t i = 0; i < queue_.size(); i++) {
            const std::size_t p = queue_[i];
            reached = reached || source_[p] > 0;
            for (int d = 0; d < in_.directions; d++) {
                if (!in_.has(d, p))
                    continue;
                const std::size_t from = in_.next(d, p);
                if (level_[from] < 0 && residual_[in_.back(d)][from] > 0) {
                    level_[from] = level_[p] + 1;
                    queue_.push_back(from);
                }
            }
        }
        return reached;
    }

    /// Along one path from a pixel down the levels; 0 = there is none any more.
    std::int64_t augment(std::size_t first) {
        path_.clear();
        std::size_t p = first;
        while (level_[p] != 0 || sink_[p] == 0) {
            int &d = tried_[p];
            while (d < in_.directions && !leads_down(p, d))
                d++;
            if (d < in_.directions) {
                path_.push_back(p);
                p = in_.next(d, p);
                continue;
            }
            if (path_.empty())
                return 0;
            p = path_.back();
            path_.pop_back();
            tried_[p]++;
        }
        std::int64_t maximum = std::min(source_[first], sink_[p]);
        for (const std::size_t on : path_)
            maximum = std::min(maximum, residual_[tried_[on]][on]);
        source_[first] -= maximum;
        sink_[p] -= maximum;
        for (const std::size_t on : path_) {
            const int d = tried_[on];
            residual_[d][on] -= maximum;
            residual_[in_.back(d)][in_.next(d, on)] += maximum;
        }
        return maximum;
    }
    bool leads_down(std::size_t p, int d) const {
        return level_[p] > 0 && in_.has(d, p) && residual_[d][p] > 0 &&
               level_[in_.next(d, p)] == level_[p] - 1;
    }

    const Instance &in_;
    std::vector<std::int64_t> source_, sink_;
    std::vector<std::vector<std::int64_t>> residual_;
    std::vector<int> level_, tried_;
    std::vector<std::size_t> queue_, path_;
};

inline Cut definition(const Instance &in) {
    return AugmentingPaths(in).run();
}

// ---- by push-relabel ----------------------------------------------------------------

/// The textbook's: pixels with excess wait in a line, and after as many relabels as there are
/// pixels a search from the sink makes heights exact. Excess that cannot reach the sink stays.
/// Links that leave the image have to be 0.
class PushRelabel {
  public:
    explicit PushRelabel(const Instance &in)
        : first_(static_cast<std::size_t>(in.width) + 1), pixels_(in.pixels()),
          excess_given_(pixels_ + 2 * first_) {
        std::copy(in.terminals.begin(), in.terminals.end(), excess_given_.begin() + first_);
        for (int d = 0; d < in.directions; d++) {
            step_.push_back(in.step(d)[1] * std::ptrdiff_t{in.width} + in.step(d)[0]);
            back_.push_back(in.back(d));
            auto &plane = capacity_.emplace_back(pixels_ + 2 * first_);
            std::copy(in.links[d].begin(), in.links[d].end(), plane.begin() + first_);
        }
    }
    /// Before each run.
    void reset() {
        excess_ = excess_given_;
        residual_ = capacity_;
        flow_ = 0;
    }
    std::int64_t flow() {
        search();
        while (!line_.empty()) {
            behind_.clear();
            for (const std::size_t p : line_)
                discharge(p);
            line_.swap(behind_);
            if (relabels_ > pixels_)
                search();
        }
        return flow_;
    }

  private:
    /// Lines up the pixels with excess that reach the sink.
    void search() {
        height_.assign(excess_.size(), unreachable());
        reached_.clear();
        for (std::size_t p = first_; p < first_ + pixels_; p++)
            if (excess_[p] < 0) {
                height_[p] = 0;
                reached_.push_back(p);
            }
        for (std::size_t i = 0; i < reached_.size(); i++)
            for (std::size_t d = 0; d < step_.size(); d++) {
                const std::size_t from = reached_[i] + step_[d];
                if (residual_[back_[d]][from] > 0 && height_[from] == unreachable()) {
                    height_[from] = height_[reached_[i]] + 1;
                    reached_.push_back(from);
                }
            }
        line_.clear();
        std::copy_if(reached_.begin(), reached_.end(), std::back_inserter(line_),
                     [&](std::size_t p) { return excess_[p] > 0; });
        relabels_ = 0;
    }
    /// Pushes to lower neighbours; what has excess left is lifted, and waits again.
    void discharge(std::size_t p) {
        std::size_t lowest = unreachable();
        for (std::size_t d = 0; d < step_.size(); d++) {
            if (residual_[d][p] == 0)
                continue;
            const std::size_t to = p + step_[d];
            if (height_[to] < height_[p])
                push(p, d, to);
            if (excess_[p] == 0)
                return;
            if (residual_[d][p] > 0)
                lowest = std::min(lowest, height_[to] + 1);
        }
        relabels_++;
        height_[p] = lowest;
        if (lowest < unreachable())
            behind_.push_back(p);
    }
    void push(std::size_t p, std::size_t d, std::size_t to) {
        const auto maximum =
            static_cast<std::int32_t>(std::min<std::int64_t>(excess_[p], residual_[d][p]));
        residual_[d][p] -= maximum;
        residual_[back_[d]][to] += maximum;
        excess_[p] -= maximum;
        if (excess_[to] <= 0 && excess_[to] + maximum > 0)
            behind_.push_back(to);
        flow_ += std::clamp<std::int64_t>(-excess_[to], 0, maximum);
        excess_[to] += maximum;
    }
    std::size_t unreachable() const { return pixels_; }

    std::size_t first_; ///< pixel: before it and behind the last there is room for neighbours
    std::size_t pixels_;
    std::vector<std::int64_t> excess_given_, excess_; ///< below 0: capacity to the sink
    std::vector<std::vector<std::int32_t>> capacity_, residual_;
    std::vector<std::ptrdiff_t> step_;
    std::vector<int> back_;
    std::vector<std::size_t> height_, reached_;
    std::vector<std::size_t> line_, behind_; ///< those whose turn it is, and the next
    std::size_t relabels_ = 0;               ///< since the last search
    std::int64_t flow_ = 0;
};

// ---- by Boost -----------------------------------------------------------------------

#ifdef HAVE_BOOST

inline std::string boost_name() {
    return "Boost " + std::to_string(BOOST_VERSION / 100000) + "." +
           std::to_string(BOOST_VERSION / 100 % 1000) + " boykov_kolmogorov";
}

/// The graph in its most compact form, which no run changes.
class BoostCut {
  public:
    explicit BoostCut(const Instance &in) : in_(in), pixels_(in.pixels()) {
        std::vector<std::pair<Index, Index>> arcs;
        const Index source = source_of(), sink = sink_of();
        std::vector<Index> to_source, to_sink; // arcs to them
        first_.push_back(0);
        for (std::size_t p = 0; p < pixels_; p++) {
            for (int d = 0; d < in.directions; d++)
                if (in.has(d, p))
                    add(arcs, p, in.next(d, p), in.links[d][p]);
            const std::int32_t terminal = in.terminals[p];
            if (terminal > 0)
                to_source.push_back(add(arcs, p, source, 0));
            else if (terminal < 0)
                to_sink.push_back(add(arcs, p, sink, -std::int64_t{terminal}));
            first_.push_back(static_cast<Index>(arcs.size()));
        }
        std::vector<std::pair<Index, Index>> pairs; // of terminals: arc, arc back
        for (const Index arc : to_source)
            pairs.emplace_back(arc,
                               add(arcs, source, arcs[arc].first, in.terminals[arcs[arc].first]));
        for (const Index arc : to_sink)
            pairs.emplace_back(arc, add(arcs, sink, arcs[arc].first, 0));
        graph_ = Graph(boost::edges_are_sorted, arcs.begin(), arcs.end(),
                       static_cast<Index>(pixels_ + 2));
        reverse_.resize(arcs.size());
        const auto pair = [&](Index arc, Index back) {
            reverse_[arc] = Edge(arcs[back].first, back);
        };
        for (const auto &[arc, back] : pairs) {
            pair(arc, back);
            pair(back, arc);
        }
        for (std::size_t p = 0; p < pixels_; p++)
            for (int d = 0; d < in.directions; d++)
                if (in.has(d, p))
                    pair(link(d, p), link(in.back(d), in.next(d, p)));
        residual_.resize(arcs.size());
        predecessor_.resize(pixels_ + 2);
        color_.resize(pixels_ + 2);
        distance_.resize(pixels_ + 2);
    }

    /// What is timed.
    std::int64_t flow() {
        const auto of_edge = [&](auto &values) {
            return boost::make_iterator_property_map(values.begin(),
                                                     get(boost::edge_index, graph_));
        };
        const auto of_vertex = [&](auto &values) {
            return boost::make_iterator_property_map(values.begin(),
                                                     get(boost::vertex_index, graph_));
        };
        return boost::boykov_kolmogorov_max_flow(
            graph_, of_edge(capacity_), of_edge(residual_), of_edge(reverse_),
            of_vertex(predecessor_), of_vertex(color_), of_vertex(distance_),
            get(boost::vertex_index, graph_), source_of(), sink_of());
    }

    Cut run() {
        Cut cut;
        cut.flow = flow();
        cut.mask.assign(pixels_, 255);
        std::vector<std::size_t> reached;
        for (std::size_t p = 0; p < pixels_; p++)
            if (in_.terminals[p] < 0 && residual_[first_[p + 1] - 1] > 0) {
                cut.mask[p] = 0;
                reached.push_back(p);
            }
        for (std::size_t i = 0; i < reached.size(); i++)
            for (int d = 0; d < in_.directions; d++) {
                if (!in_.has(d, reached[i]))
                    continue;
                const std::size_t from = in_.next(d, reached[i]);
                if (cut.mask[from] && residual_[link(in_.back(d), from)] > 0) {
                    cut.mask[from] = 0;
                    reached.push_back(from);
                }
            }
        cut.area = area_of(cut.mask);
        return cut;
    }

  private:
    using Index = std::uint32_t;
    using Graph =
        boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property,
                                           boost::no_property, Index, Index>;
    using Edge = boost::graph_traits<Graph>::edge_descriptor;

    Index source_of() const { return static_cast<Index>(pixels_); }
    Index sink_of() const { return static_cast<Index>(pixels_ + 1); }
    Index add(std::vector<std::pair<Index, Index>> &arcs, std::size_t from, std::size_t to,
              std::int64_t capacity) {
        arcs.emplace_back(static_cast<Index>(from), static_cast<Index>(to));
        capacity_.push_back(capacity);
        return static_cast<Index>(arcs.size() - 1);
    }
    /// The arc from a pixel to its neighbour.
    Index link(int direction, std::size_t p) const {
        Index arc = first_[p];
        for (int d = 0; d < direction; d++)
            arc += in_.has(d, p);
        return arc;
    }

    const Instance &in_;
    std::size_t pixels_;
    Graph graph_;
    std::vector<Index> first_; ///< arc of a pixel
    std::vector<std::int64_t> capacity_, residual_;
    std::vector<Edge> reverse_, predecessor_;
    std::vector<boost::default_color_type> color_;
    std::vector<std::int64_t> distance_;
};

#endif

/// By what is fastest here.
inline Cut reference(const Instance &in) {
#ifdef HAVE_BOOST
    if (in.pixels() > 4000)
        return BoostCut(in).run();
#endif
    return definition(in);
}

// ---- results ------------------------------------------------------------------------

/// A result among bytes that are canaries.
class Stored {
  public:
    /// number: of the run, so that it lies elsewhere than that of the last.
    explicit Stored(int number = 0)
        : at_(static_cast<std::size_t>(8 * (1 + number % 9))), bytes_(at_ + 40 + 64, canary) {}

    std::vector<std::uint8_t> &bytes() { return bytes_; }
    gpv_buffer view(std::uint8_t *bytes, gpv_memory memory) const {
        gpv_buffer view;
        gpv_buffer_init(&view, sizeof view);
        view.memory = memory;
        view.data = bytes + at_;
        view.size = sizeof(gpv_graphcut_result);
        return view;
    }
    gpv_graphcut_result result() const {
        static_assert(sizeof(gpv_graphcut_result) == 40);
        gpv_graphcut_result result;
        std::memcpy(&result, &bytes_[at_], sizeof result);
        return result;
    }
    bool canaries_intact() const {
        std::vector<std::uint8_t> copy = bytes_;
        std::fill_n(&copy[at_], sizeof(gpv_graphcut_result), canary);
        return std::all_of(copy.begin(), copy.end(), [](auto byte) { return byte == canary; });
    }

  private:
    static constexpr std::uint8_t canary = 0xC5;
    std::size_t at_;
    std::vector<std::uint8_t> bytes_;
};

inline std::string text_of(const gpv_graphcut_result &r) {
    return "size " + std::to_string(r.struct_size) + " optimal " + std::to_string(r.optimal) +
           " flow " + std::to_string(r.flow) + " cut " + std::to_string(r.cut) + " area " +
           std::to_string(r.area) + " refused " + std::to_string(r.refused) + " reserved " +
           std::to_string(r.reserved);
}

inline void expect_result(const gpv_graphcut_result &got, const gpv_graphcut_result &want,
                          const std::string &what) {
    if (std::memcmp(&got, &want, sizeof got) != 0)
        fatal(what + ": is " + text_of(got) + ", want " + text_of(want));
}

inline gpv_graphcut_result result_of(const Cut &cut, bool certificate) {
    return {sizeof(gpv_graphcut_result), 1, cut.flow, certificate ? cut.flow : -1, cut.area, 0, 0};
}

// ---- random instances ---------------------------------------------------------------

/// Terminals and links of random kinds: scales, ties, zeros, one-way links, values at the limits.
inline Instance random_instance(int width, int height, int directions) {
    Instance in(width, height, directions);
    static const std::vector<int> scales = {1,    2,     3,       10,      100,          1000,
                                            8001, 65535, 1 << 20, 1 << 24, (1 << 26) - 1};
    const int link = random_of(scales);
    const std::int64_t wanted = std::int64_t{random_of(scales)} * random_of<int>({1, 1, 4, 16});
    const int terminal =
        static_cast<int>(std::min<std::int64_t>(wanted, GPV_GRAPHCUT_MAX_TERMINAL));
    const int percent = random_of<int>({100, 100, 50, 10, 3}), kind = random_int(0, 9);
    const int grain = random_int(0, 2) ? 1 : random_int(2, 9);
    const std::uint64_t seed = random_engine()();
    const int limit = GPV_GRAPHCUT_MAX_TERMINAL;
    in.each_terminal([&](int x, int y) {
        const std::uint64_t cell = seed + (std::uint64_t(y / grain) << 20 | x / grain);
        const auto value = static_cast<int>(hash(cell) % (2ll * terminal + 1) - terminal);
        if (static_cast<int>(hash(~cell) % 100) >= percent)
            return 0;
        switch (kind) {
        case 0: // nothing in between
            return value < 0 ? -terminal : terminal;
        case 1:
            return (x / grain + y / grain) % 2 ? terminal : -terminal;
        case 2:
            return x + y < (width + height) / 2 ? std::abs(value) : -std::abs(value);
        case 3:
            return value < 0 ? -limit : limit;
        case 4: // few of one kind
            return hash(cell * 3) % 50 ? std::abs(value) : -limit;
        case 5:
            return hash(cell * 3) % 50 ? -std::abs(value) : limit;
        default:
            return value;
        }
    });
    const int zeros = random_of<int>({0, 0, 20, 50, 80}), style = random_int(0, 5);
    const auto capacity = [&] {
        if (random_int(1, 100) <= zeros)
            return 0;
        return style == 1 ? link : style == 2 ? random_int(0, 1) * link : random_int(0, link);
    };
    if (random_int(0, 2))
        in.each_edge([&](int, int, int) { return capacity(); });
    else
        in.each_link([&](int, int, int d) {
            return style == 3 && d >= directions / 2 ? 0 : capacity(); // one-way
        });
    return in;
}

/// Where one plane serves every direction.
inline void make_planes_equal(Instance &in) {
    std::vector<std::int32_t> plane(in.pixels());
    for (std::int32_t &value : plane)
        value = random_int(0, 20);
    in.each_link([&](int x, int y, int) { return plane[in.at(x, y)]; });
}

// ---- drawn instances ----------------------------------------------------------------

/// What is on at a pixel of an image of that size.
using Drawing = bool (*)(int x, int y, int width, int height);

/// One line, a pixel wide and a pixel apart: rings that are open where they lead to the next.
inline bool in_spiral(int x, int y, int width, int height) {
    const int ring = std::min({x, y, width - 1 - x, height - 1 - y});
    const bool passage = x == ring && y == ring + 1;
    return (ring % 2 == 0) != passage;
}

/// The pixel that is furthest from one, over pixels that are on.
inline std::size_t furthest(const Instance &in, const std::vector<bool> &on, std::size_t from) {
    std::vector<bool> seen(in.pixels());
    std::vector<std::size_t> queue = {from};
    seen[from] = true;
    for (std::size_t i = 0; i < queue.size(); i++) {
        const std::size_t p = queue[i];
        for (int d = 0; d < in.directions; d++)
            if (in.has(d, p) && on[in.next(d, p)] && !seen[in.next(d, p)]) {
                seen[in.next(d, p)] = true;
                queue.push_back(in.next(d, p));
            }
    }
    return queue.back();
}

/// Corridors between walls without capacity.
/// many: every pixel of them is a source, else their one end alone; the other end is the sink.
inline Instance corridors(int width, int height, int directions, Drawing drawing, bool many) {
    Instance in(width, height, directions);
    std::vector<bool> on(in.pixels());
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            on[in.at(x, y)] = drawing(x, y, width, height);
    const auto first = static_cast<std::size_t>(std::find(on.begin(), on.end(), true) - on.begin());
    if (first == in.pixels())
        return in;
    const std::size_t one = furthest(in, on, first), other = furthest(in, on, one);
    in.each_edge([&](int x, int y, int d) {
        const std::size_t p = in.at(x, y);
        if (!on[p] || !on[in.next(d, p)])
            return 0;
        return many ? 40000 : 1000 + static_cast<int>(hash(p) % 50);
    });
    for (std::size_t p = 0; many && p < in.pixels(); p++)
        if (on[p])
            in.terminals[p] = static_cast<int>(hash(p) % 8);
    if (!many)
        in.terminals[one] = 5000;
    in.terminals[other] = many ? -30000 : -4000;
    return in;
}

struct Drawn {
    const char *name;
    Instance (*make)(int width, int height, int directions);
};

/// Those that are hard on a search, on heights, or on ranges.
inline const std::vector<Drawn> &drawn_instances() {
    static constexpr Drawing horizontal = [](int x, int y, int w, int) {
        return y % 2 == 0 || x == (y / 2 % 2 ? 0 : w - 1);
    };
    static constexpr Drawing vertical = [](int x, int y, int, int h) {
        return x % 2 == 0 || y == (x / 2 % 2 ? 0 : h - 1);
    };
    static constexpr Drawing comb = [](int x, int y, int, int h) {
        return x % 2 == 0 || y == h - 1;
    };
    static const std::vector<Drawn> instances = {
        {"maze", [](int w, int h, int d) { return corridors(w, h, d, in_maze, false); }},
        {"maze of sources", [](int w, int h, int d) { return corridors(w, h, d, in_maze, true); }},
        {"snake", [](int w, int h, int d) { return corridors(w, h, d, horizontal, false); }},
        {"vertical snake of sources",
         [](int w, int h, int d) { return corridors(w, h, d, vertical, true); }},
        {"spiral", [](int w, int h, int d) { return corridors(w, h, d, in_spiral, false); }},
        {"spiral of sources",
         [](int w, int h, int d) { return corridors(w, h, d, in_spiral, true); }},
        {"comb", [](int w, int h, int d) { return corridors(w, h, d, comb, true); }},
        {"two far seeds", // a pixel each
         [](int w, int h, int d) {
             Instance in(w, h, d);
             in.each_edge([&](int x, int y, int k) {
                 return static_cast<int>(1 + hash(in.at(x, y) * 8 + k) % 3);
             });
             in.terminals.front() = GPV_GRAPHCUT_MAX_TERMINAL;
             in.terminals.back() -= GPV_GRAPHCUT_MAX_TERMINAL;
             return in;
         }},
        {"far sides", // of which most of the flow has to come back
         [](int w, int h, int d) {
             Instance in(w, h, d);
             in.each_terminal([&](int x, int) { return x == 0 ? 1000 : x == w - 1 ? -10 : 0; });
             in.each_edge([](int x, int, int) { return std::max(1, 300 - 2 * x); });
             return in;
         }},
        {"checkerboard",
         [](int w, int h, int d) {
             Instance in(w, h, d);
             in.each_terminal([](int x, int y) { return (x + y) % 2 ? 12 : -13; });
             in.each_edge([](int, int, int) { return 3; });
             return in;
         }},
        {"tied checkerboard",
         [](int w, int h, int d) {
             Instance in(w, h, d);
             in.each_terminal([](int x, int y) { return (x + y) % 2 ? 12 : -12; });
             in.each_edge([](int, int, int) { return 3; });
             return in;
         }},
        {"no links",
         [](int w, int h, int d) {
             Instance in(w, h, d);
             in.each_terminal(
                 [&](int x, int y) { return static_cast<int>(hash(in.at(x, y)) % 201) - 100; });
             return in;
         }},
        {"links at the limit",
         [](int w, int h, int d) {
             Instance in(w, h, d);
             in.each_terminal(
                 [&](int x, int y) { return static_cast<int>(hash(in.at(x, y)) % 2001) - 1000; });
             in.each_edge([](int, int, int) { return GPV_GRAPHCUT_MAX_LINK; });
             return in;
         }},
        {"everything at the limit",
         [](int w, int h, int d) {
             Instance in(w, h, d);
             in.each_terminal([&](int x, int y) {
                 return hash(in.at(x / 4, y / 4)) & 1 ? GPV_GRAPHCUT_MAX_TERMINAL
                                                      : -GPV_GRAPHCUT_MAX_TERMINAL;
             });
             in.each_edge([](int, int, int) { return GPV_GRAPHCUT_MAX_LINK; });
             return in;
         }},
        {"source everywhere",
         [](int w, int h, int d) {
             Instance in(w, h, d);
             in.each_terminal([](int x, int y) { return 1 + (x * y) % 7; });
             in.each_edge([](int, int, int) { return 5; });
             return in;
         }},
        {"sink everywhere",
         [](int w, int h, int d) {
             Instance in(w, h, d);
             in.each_terminal([](int x, int y) { return -1 - (x * y) % 7; });
             in.each_edge([](int, int, int) { return 5; });
             return in;
         }},
        {"no terminals",
         [](int w, int h, int d) {
             Instance in(w, h, d);
             in.each_edge([](int, int, int) { return 5; });
             return in;
         }},
        {"bottleneck", // one link between two halves
         [](int w, int h, int d) {
             Instance in(w, h, d);
             in.each_terminal([&](int x, int y) {
                 const int value = 1 + static_cast<int>(hash(in.at(x, y)) % 9);
                 return x < w / 2 ? value : -value;
             });
             in.each_edge([&](int x, int y, int k) {
                 const int to = x + in.step(k)[0];
                 const bool crosses = (x < w / 2) != (to < w / 2);
                 return !crosses ? 30 : in.step(k)[1] == 0 && y == h / 2 ? 17 : 0;
             });
             return in;
         }},
        {"one weak sink", // for all that there is
         [](int w, int h, int d) {
             Instance in(w, h, d);
             in.each_terminal([&](int x, int y) { return x == w - 1 && y == h - 1 ? -7 : 3; });
             in.each_edge([](int, int, int) { return 1000; });
             return in;
         }},
        {"lanes", // of growing length, so that the sink moves away again and again
         [](int w, int h, int d) {
             Instance in(w, h, d);
             in.each_terminal([&](int x, int y) {
                 return x == 0 ? 100 : x >= w - 1 - y * (w / 2) / h ? -1 : 0;
             });
             in.each_edge([&](int x, int, int k) {
                 return in.step(k)[1] == 0 ? 2 : x == 0 ? 1000 : 0;
             });
             return in;
         }},
        {"layers", // one-way steps that narrow, with ways back that lead nowhere
         [](int w, int h, int d) {
             Instance in(w, h, d);
             in.each_terminal([&](int x, int y) {
                 return y == 0 ? 60 : y == h - 1 ? (x % 5 ? -4 : -50) : 0;
             });
             in.each_link([&](int x, int y, int k) {
                 const int down = in.step(k)[1];
                 if (down > 0)
                     return std::max(1, 40 - y) + static_cast<int>(hash(in.at(x, y)) % 3);
                 return down < 0 ? 0 : y % 3 ? 1 : 20;
             });
             return in;
         }},
        {"trap", // a wide way to where there is no sink, and a narrow one to it
         [](int w, int h, int d) {
             Instance in(w, h, d);
             in.terminals[in.at(0, h / 2)] = 1 << 20;
             in.terminals[in.at(w - 1, 0)] -= 1 << 20;
             in.each_link([&](int x, int y, int k) {
                 if (y == 0)
                     return in.step(k)[1] == 0 ? 1 : 0;
                 return y == 1 && x == 0 ? 2 : in.step(k)[1] < 0 && y == 1 ? 0 : 1 << 16;
             });
             return in;
         }},
        {"one-way diagonals", // all flow goes down and to the right
         [](int w, int h, int d) {
             Instance in(w, h, d);
             in.each_terminal([&](int x, int y) {
                 return x == 0 || y == 0 ? 9 : x == w - 1 || y == h - 1 ? -11 : 0;
             });
             in.each_link([&](int x, int y, int k) {
                 const bool on = in.step(k)[0] >= 0 && in.step(k)[1] >= 0;
                 return on ? static_cast<int>(1 + hash(in.at(x, y) * 8 + k) % 9) : 0;
             });
             return in;
         }},
    };
    return instances;
}

// ---- pictures to be segmented -------------------------------------------------------

/// Weight of the colours, in terms of that of a link without contrast.
struct Weight {
    const char *name;
    double lambda;
};
inline constexpr Weight weights[] = {{"easy", 0.2}, {"medium", 0.02}, {"hard", 0.002}};

/// Blobs before a ground, both of varied light and of colours that they have partly in common, and
/// noise; with strokes that say of a few pixels what they are.
class Scene {
  public:
    Scene(int width, int height, std::uint64_t seed)
        : width_(width), height_(height), seed_(seed), rgb_(std::size_t(width) * height * 3),
          seeds_(std::size_t(width) * height) {
        tbb::parallel_for(0, height, [&](int y) {
            for (int x = 0; x < width; x++)
                paint(x, y);
        });
    }
    int width() const { return width_; }
    int height() const { return height_; }
    std::size_t at(int x, int y) const { return std::size_t(y) * width_ + x; }
    int channel(std::size_t pixel, int k) const { return rgb_[pixel * 3 + k]; }
    int seed(std::size_t pixel) const { return seeds_[pixel]; }

  private:
    /// Smooth, -1..1, varying over 1 / frequency of the height.
    double light(int number, double frequency, double u, double v) const {
        const double x = u * frequency, y = v * frequency;
        const int left = static_cast<int>(std::floor(x)), top = static_cast<int>(std::floor(y));
        const auto corner = [&](int right, int down) {
            return pixel_hash(seed_ * 97 + number, left + right, top + down) / 2147483648.0 - 1;
        };
        const auto smooth = [](double t) { return t * t * (3 - 2 * t); };
        const double s = smooth(x - left), t = smooth(y - top);
        return (corner(0, 0) * (1 - s) + corner(1, 0) * s) * (1 - t) +
               (corner(0, 1) * (1 - s) + corner(1, 1) * s) * t;
    }
    /// Above 0 on the blobs.
    double shape(double u, double v) const {
        const double x = u - 0.5 * width_ / height_, y = v - 0.5;
        return 0.3 - std::sqrt(x * x * 0.6 + y * y) + 0.16 * light(1, 3.3, u, v) +
               0.07 * light(2, 9.1, u, v) + 0.03 * light(3, 31.7, u, v);
    }
    void paint(int x, int y) {
        const double u = (x + 0.5) / height_, v = (y + 0.5) / height_;
        const double form = shape(u, v);
        const double inside = std::clamp(form * height_ / 1.5 + 0.5, 0.0, 1.0);
        const double shade =
            30 * light(4, 2.1, u, v) + 22 * light(5, 13.3, u, v) + 24 * light(6, 60.1, u, v);
        const double odd = light(7, 5.7, u, v); // where each has the other's colours
        for (int k = 0; k < 3; k++) {
            const double blob = odd > 0.35 ? 105 + 6 * k : 142 - 17 * k;
            const double ground = odd < -0.35 ? 140 - 20 * k : 95 + 15 * k;
            const std::uint32_t bits = pixel_hash(seed_ * 31 + k, x, y);
            const double noise = 3 * (__builtin_popcount(bits & 0xffff) - 8);
            const double value = inside * blob + (1 - inside) * ground + shade + noise;
            rgb_[at(x, y) * 3 + k] =
                static_cast<std::uint8_t>(std::clamp(std::lround(value), 0l, 255l));
        }
        const bool stroke = std::fabs(light(8, 2.7, u, v)) < 0.035;
        seeds_[at(x, y)] = !stroke ? 0 : form > 0.09 ? 1 : form < -0.09 ? 2 : 0;
    }

    int width_, height_;
    std::uint64_t seed_;
    std::vector<std::uint8_t> rgb_;
    std::vector<std::uint8_t> seeds_; ///< 1 = blob, 2 = ground
};

/// What terminals are made of: the strokes and histograms of their colours, or the two mean colours
/// of the picture, without a pixel that is certain.
enum class Model { strokes, two_means };

/// Energies of Boykov and Jolly (2001): terminals from a model of the colours, links that contrast
/// weakens.
class Energies {
  public:
    Energies(const Scene &scene, Model model)
        : scene_(scene), model_(model),
          data_(model == Model::strokes ? data_of_strokes() : data_of_means()) {
        double sum = 0;
        std::int64_t count = 0;
        for (int y = 0; y < scene.height(); y++)
            for (int x = 0; x < scene.width(); x++)
                for (int d = 0; d < 4; d++) {
                    const int u = x + steps8[d][0], v = y + steps8[d][1];
                    if (u < 0 || u >= scene.width() || v >= scene.height())
                        continue;
                    sum += contrast(scene.at(x, y), scene.at(u, v));
                    count++;
                }
        beta_ =
            1 / (2 * std::max(sum / static_cast<double>(std::max<std::int64_t>(count, 1)), 1e-9));
    }

    Instance instance(double lambda, int directions) const {
        Instance in(scene_.width(), scene_.height(), directions);
        for (std::size_t p = 0; p < in.pixels(); p++) {
            const int seed = model_ == Model::strokes ? scene_.seed(p) : 0;
            constexpr int certain = 1 + 8 * strongest;
            in.terminals[p] = seed == 1 ? certain
                              : seed == 2
                                  ? -certain
                                  : static_cast<int>(std::lround(lambda * strongest * data_[p]));
        }
        in.each_edge([&](int x, int y, int d) {
            const std::size_t p = in.at(x, y);
            const auto &step = in.step(d);
            const double length = std::hypot(step[0], step[1]);
            return static_cast<int>(
                std::lround(strongest * std::exp(-beta_ * contrast(p, in.next(d, p))) / length));
        });
        return in;
    }

  private:
    static constexpr int strongest = 1000; ///< link, without contrast
    using Color = std::array<double, 3>;

    std::size_t pixels() const { return std::size_t(scene_.width()) * scene_.height(); }
    std::vector<double> data_of_strokes() const {
        const std::vector<double> models[2] = {histogram(1), histogram(2)};
        std::vector<double> data;
        for (std::size_t p = 0; p < pixels(); p++)
            data.push_back(std::log(models[0][bin(p)] / models[1][bin(p)]));
        return data;
    }
    /// k-means from a light and a dark grey; then as if both had the same normal distribution.
    std::vector<double> data_of_means() const {
        Color means[2] = {{192, 192, 192}, {64, 64, 64}};
        double variance = 1;
        for (int iteration = 0; iteration < 10; iteration++) {
            Color sums[2] = {};
            double counts[2] = {}, squares = 0;
            for (std::size_t p = 0; p < pixels(); p++) {
                const double off[2] = {distance(p, means[0]), distance(p, means[1])};
                const int nearer = off[1] < off[0];
                counts[nearer]++;
                squares += off[nearer];
                for (int k = 0; k < 3; k++)
                    sums[nearer][k] += scene_.channel(p, k);
            }
            for (int i = 0; i < 2; i++)
                for (int k = 0; k < 3; k++)
                    means[i][k] = sums[i][k] / std::max(counts[i], 1.0);
            variance = std::max(squares / static_cast<double>(3 * pixels()), 1.0);
        }
        std::vector<double> data;
        for (std::size_t p = 0; p < pixels(); p++)
            data.push_back((distance(p, means[1]) - distance(p, means[0])) / (2 * variance));
        return data;
    }
    double distance(std::size_t p, const Color &color) const {
        double sum = 0;
        for (int k = 0; k < 3; k++)
            sum += (scene_.channel(p, k) - color[k]) * (scene_.channel(p, k) - color[k]);
        return sum;
    }
    std::size_t bin(std::size_t p) const {
        return static_cast<std::size_t>(scene_.channel(p, 0) >> 4 << 8 |
                                        scene_.channel(p, 1) >> 4 << 4 | scene_.channel(p, 2) >> 4);
    }
    double contrast(std::size_t p, std::size_t q) const {
        double sum = 0;
        for (int k = 0; k < 3; k++) {
            const double off = scene_.channel(p, k) - scene_.channel(q, k);
            sum += off * off;
        }
        return sum;
    }
    /// Of 16 levels a channel, smoothed along each.
    std::vector<double> histogram(int seed) const {
        std::vector<double> bins(4096);
        for (std::size_t p = 0; p < pixels(); p++)
            if (scene_.seed(p) == seed)
                bins[bin(p)]++;
        for (const int shift : {0, 4, 8}) {
            const std::vector<double> before = bins;
            for (int i = 0; i < 4096; i++) {
                const int level = i >> shift & 15;
                const auto next = [&](int other) {
                    return before[i + (std::clamp(other, 0, 15) - level) * (1 << shift)];
                };
                bins[i] = (next(level - 1) + 2 * before[i] + next(level + 1)) / 4;
            }
        }
        const double sum = std::accumulate(bins.begin(), bins.end(), 0.0);
        double total = 0;
        for (double &b : bins)
            total += b += 1e-3 * std::max(sum, 1.0) / 4096;
        for (double &b : bins)
            b /= total;
        return bins;
    }

    const Scene &scene_;
    const Model model_;
    const std::vector<double> data_; ///< for a blob, against the ground
    double beta_ = 0;
};

struct Named {
    std::string name;   ///< of the content
    std::string weight; ///< of its colours, or what is drawn, or ""
    Instance instance;

    std::string text() const {
        return size_name(instance.width, instance.height) + " " + name +
               (weight.empty() ? "" : ", " + weight) + ", " + std::to_string(instance.directions) +
               " neighbours";
    }
};

inline Named scene_instance(int width, int height, const Weight &weight, int directions,
                            std::uint64_t seed = 1) {
    const Scene scene(width, height, seed);
    return {"scene", weight.name,
            Energies(scene, Model::strokes).instance(weight.lambda, directions)};
}

/// As those of the paper that the sources in docs/algorithms/graphcut.md begin with: of that size,
/// and no pixel is certain.
inline Named paper_instance() {
    const Scene scene(600, 450, 1);
    return {"scene", "paper", Energies(scene, Model::two_means).instance(0.1, 4)};
}

/// One of drawn_instances().
inline Named drawn_instance(const std::string &name, int width, int height, int directions) {
    for (const Drawn &drawn : drawn_instances())
        if (drawn.name == name)
            return {"drawn", name, drawn.make(width, height, directions)};
    fatal("nothing that is drawn is called " + name);
}

/// Little-endian int32: "GCI1", width, height, 4 or 8 neighbours; then planes: capacity from the
/// source, capacity to the sink, links to the right and down, and with 8 down right and down left,
/// all of which are as large in the other direction.
inline Instance read_instance(const std::filesystem::path &path) {
    std::ifstream file(path, std::ios::binary);
    std::int32_t header[4] = {};
    file.read(reinterpret_cast<char *>(header), sizeof header);
    if (!file || header[0] != 0x31494347 || header[1] < 1 || header[1] > GPV_MAX_SIDE ||
        header[2] < 1 || header[2] > GPV_MAX_SIDE || (header[3] != 4 && header[3] != 8))
        fatal(path.string() + " is no instance");
    Instance in(header[1], header[2], header[3]);
    const auto plane = [&] {
        std::vector<std::int32_t> values(in.pixels());
        file.read(reinterpret_cast<char *>(values.data()),
                  static_cast<std::streamsize>(values.size() * sizeof values[0]));
        if (!file)
            fatal(path.string() + " breaks off");
        return values;
    };
    const std::vector<std::int32_t> from = plane(), to = plane();
    for (std::size_t p = 0; p < in.pixels(); p++)
        in.terminals[p] = from[p] - to[p];
    std::vector<std::vector<std::int32_t>> edges;
    for (int d = 0; d < in.directions / 2; d++)
        edges.push_back(plane());
    // In the file right and down come first.
    const int place[] = {0, in.directions == 4 ? 1 : 2, 1, 3};
    in.each_edge([&](int x, int y, int d) { return edges[place[d]][in.at(x, y)]; });
    return in;
}

/// The .gci files of the folder that GPV_TEST_IMAGES names, in the order of their names.
inline std::vector<std::filesystem::path> instance_files() {
    std::vector<std::filesystem::path> result;
    if (const char *folder = std::getenv("GPV_TEST_IMAGES"))
        for (const auto &entry : std::filesystem::directory_iterator(folder))
            if (entry.path().extension() == ".gci")
                result.push_back(entry.path());
    std::sort(result.begin(), result.end());
    return result;
}

/// Names are NAME_WIDTHxHEIGHT_WEIGHT_4c.gci, as far as they are.
inline Named named_instance(const std::filesystem::path &path) {
    const std::string stem = path.stem().string();
    Named named = {stem, "", read_instance(path)};
    const std::string size = "_" + size_name(named.instance.width, named.instance.height) + "_";
    const std::size_t at = stem.find(size), end = stem.rfind('_');
    if (at != std::string::npos && end >= at + size.size()) {
        named.name = stem.substr(0, at);
        named.weight = stem.substr(at + size.size(), end - at - size.size());
    }
    return named;
}

// ---- times of solvers ----------------------------------------------------------------

/// One of those that are timed beside each other.
struct Candidate {
    std::string name; ///< of a peer
    std::function<std::int64_t()> flow;
    std::function<void()> reset = [] {}; ///< before each run, and not timed
};

struct Effort {
    int warm_ups, min_rounds;
    double seconds;
};
inline constexpr Effort thorough = {1, 3, 10};
/// Ours on the CPU has run before, as a proof, and takes some hundred times as long as on a GPU,
/// which is not to wait for it.
inline constexpr Effort beside_gpu = {0, 1, 1};

/// In turn, as time_in_turn(); as many rounds, up to 15, as there is time.
inline std::vector<Timing> time_flows(const std::vector<Candidate> &candidates, std::int64_t want,
                                      const Effort &effort = thorough) {
    using Clock = std::chrono::steady_clock;
    std::vector<std::vector<double>> samples(candidates.size());
    const auto start = Clock::now();
    for (int round = -effort.warm_ups; round < 15; round++) {
        const std::chrono::duration<double> spent = Clock::now() - start;
        if (round >= effort.min_rounds && spent.count() > effort.seconds)
            break;
        for (std::size_t i = 0; i < candidates.size(); i++) {
            candidates[i].reset();
            const auto begin = Clock::now();
            const std::int64_t flow = candidates[i].flow();
            const std::chrono::duration<double, std::micro> time = Clock::now() - begin;
            expect(flow == want, "all find the same flow, " + candidates[i].name);
            if (round >= 0)
                samples[i].push_back(time.count());
        }
    }
    std::vector<Timing> result;
    for (const auto &s : samples)
        result.push_back(summarize(s));
    return result;
}

/// The algorithm of the CUDA backend, as a textbook has it, for a CPU.
inline Candidate plain_candidate(const Instance &in) {
    const auto solver = std::make_shared<PushRelabel>(in);
    return {"plain push-relabel", [solver] { return solver->flow(); },
            [solver] { solver->reset(); }};
}

#ifdef HAVE_CUDA
/// Likewise, on a GPU.
inline Candidate plain_cuda_candidate(const Instance &in) {
    const auto solver = std::make_shared<PlainCut>(in.width, in.height, in.terminals, in.links);
    return {"plain push-relabel, CUDA", [solver] { return solver->flow(); },
            [solver] { solver->reset(); }};
}
#endif

// ---- times of contents --------------------------------------------------------------

/// Times of cuts, each of which is proved to be the least, and the same each time; with a limit of
/// time none is less. Without a limit they are reported alone, as some contents take long. With
/// that of the median they are alike; on CUDA not of necessity, where the search that a run ends
/// with may take long.
class TimedCuts {
  public:
    TimedCuts(gpv_backend backend, std::function<void(int max_time_us)> set_limit)
        : backend_(backend), set_limit_(std::move(set_limit)) {}
    TimedCuts(const TimedCuts &) = delete;
    TimedCuts &operator=(const TimedCuts &) = delete;

    /// run: has a certificate.
    void add(const std::string &name, const std::function<gpv_graphcut_result()> &run) {
        const std::size_t number = min_.size();
        min_.emplace_back();
        timed_.push_back({name, [=, this] { check(run(), min_[number], name); }});
    }
    void compare(const std::string &what) {
        set_limit_(0);
        const int limit = static_cast<int>(1000 * print_times(what, timed_).usual);
        set_limit_(limit);
        limited_ = true;
        const std::string with_limit = what + ", " + std::to_string(limit) + " us at most";
        if (backend_ == GPV_BACKEND_CPU)
            expect_times_alike(with_limit, timed_);
        else
            print_times(with_limit, timed_);
    }

  private:
    void check(const gpv_graphcut_result &found, std::optional<gpv_graphcut_result> &minimum,
               const std::string &name) const {
        if (!minimum)
            minimum = found;
        expect(found.optimal || limited_, name + ": without a limit a cut is the least");
        expect(!found.optimal || (found.flow == found.cut && found.flow == minimum->flow &&
                                  found.area == minimum->area),
               name + ": the least cut is proved, and found again");
        expect(found.flow <= minimum->flow && minimum->flow <= found.cut,
               name + ": a cut that is settled for is not less than the least");
    }

    const gpv_backend backend_;
    const std::function<void(int)> set_limit_;
    std::vector<Timed> timed_;
    std::vector<std::optional<gpv_graphcut_result>> min_;
    bool limited_ = false;
};

} // namespace parity
