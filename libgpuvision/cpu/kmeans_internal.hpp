// SPDX-License-Identifier: BSD-2-Clause
// The class behind kmeans on the CPU, and what its files share.
#pragma once

#include "core/kmeans.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/arena.hpp"
#include "cpu/colors.hpp"
#include "cpu/threads.hpp"

namespace gpv::cpu::kmeans {

/// Lists of colours and of centroids are padded to so many, and vectors have no more lanes.
inline constexpr std::size_t max_lanes = 16;

/// Colours from the least to the greatest of each channel.
struct Box {
    std::uint8_t low[3], high[3];

    void include(const Box &other) {
        for (int i = 0; i < 3; i++) {
            low[i] = std::min(low[i], other.low[i]);
            high[i] = std::max(high[i], other.high[i]);
        }
    }
};

struct Cell {
    std::uint32_t number;
    std::uint32_t first;  ///< index of its first colour
    std::uint32_t colors; ///< distinct ones
    Box box;              ///< round them
    ClusterSums sums;     ///< of all its pixels

    /// The colour of lowest value in the cube of side 8.
    Color corner() const { return color_of(number << cell_bits); }
};

/// Of all cells, the colours of one cell after the other. Behind its last one, up to a multiple of
/// max_lanes, a cell has copies of it that occur no times.
struct Colors {
    std::uint16_t *places; ///< in the cell
    std::uint32_t *counts;
};

/// Centroids with their numbers, in ascending order.
struct Candidates {
    static constexpr float nowhere = 1e9f; ///< of those that pad the list

    std::size_t count = 0;
    alignas(64) float x[max_kmeans_clusters + max_lanes];
    alignas(64) float y[max_kmeans_clusters + max_lanes];
    alignas(64) float z[max_kmeans_clusters + max_lanes];
    alignas(64) std::int32_t numbers[max_kmeans_clusters + max_lanes];

    void take(const Candidates &from, std::size_t i) {
        x[count] = from.x[i];
        y[count] = from.y[i];
        z[count] = from.z[i];
        numbers[count++] = from.numbers[i];
    }
    void pad() {
        for (std::size_t i = count; i < count + max_lanes; i++)
            x[i] = y[i] = z[i] = nowhere;
    }
};

/// Some cells that lie near each other.
struct Group {
    std::uint32_t first, last; ///< in the list of cells by group
    Box box;
};

/// What a pass over colours reads.
struct LloydInput {
    const Cell *cells;
    const std::uint16_t *grouped; ///< indices of cells, one group after the other
    Colors colors;
    Candidates centroids;
    gpv_kmeans_metric metric;
};

/// The colour that is farthest from its centroid.
struct Farthest {
    float distance = -1;
    std::uint32_t value = 0;

    void consider(float d, std::uint32_t v) {
        if (d > distance || (d == distance && v < value))
            *this = {d, v};
    }
};

inline void add(const ClusterSums &sums, ClusterSums &to) {
    to.count += sums.count;
    to.x += sums.x;
    to.y += sums.y;
    to.z += sums.z;
}

template <class F>
inline void for_bits(std::uint64_t bits, F f) {
    for (; bits; bits &= bits - 1)
        f(std::countr_zero(bits));
}

/// How far the colours of a cell are from those that have been drawn.
struct Drawing {
    std::uint64_t weight;  ///< sum over its colours
    std::uint32_t nearest; ///< the greatest of their squared distances
};

inline constexpr std::size_t table_alignment = 64;
inline constexpr std::size_t row_padding = color_row_padding; ///< samples: more than a vector has

/// What each thread works in. Rows are padded.
struct Workspace {
    std::uint8_t *channels[3];
    std::uint16_t *cells, *places;
    std::uint8_t *labels[2];
    std::uint32_t *colors;
};

/// The pixels of a row.
struct Codes {
    const std::uint16_t *cells, *places;

    std::uint32_t operator[](std::size_t x) const {
        return std::uint32_t{cells[x]} << cell_bits | places[x];
    }
};

/// Reads rows of an image as colours of the space.
class Reader {
  public:
    Reader(const Image &src, const LabTable *lab) : colors_(src), width_(src.width), lab_(lab) {}

    /// Writes them to cells and places, which are padded.
    Codes read(int y, const Workspace &work, std::uint16_t *cells, std::uint16_t *places) const;

  private:
    void convert(std::uint8_t *const *rows, int x) const {
        const Color c = lab_->lab({rows[0][x], rows[1][x], rows[2][x]});
        rows[0][x] = static_cast<std::uint8_t>(c.red);
        rows[1][x] = static_cast<std::uint8_t>(c.green);
        rows[2][x] = static_cast<std::uint8_t>(c.blue);
    }

    ColorReader colors_;
    int width_;
    const LabTable *lab_;
};

/// What an iteration has come to.
struct Clustering {
    KmeansResult found{};
    std::array<Centroid, max_kmeans_clusters> centroids;
    std::array<ClusterSums, max_kmeans_clusters> sums;
};

class CpuKmeans final : public Kmeans {
  public:
    explicit CpuKmeans(std::shared_ptr<Context> context) : scratch_(context) {}

    void set_params(const KmeansParams &params) override;
    void set_centroids(std::vector<Centroid> centroids) override { given_ = std::move(centroids); }

    void prepare(const Image &src, const Image *labels, const Image *dst) override;
    bool run(Stream stream, const KmeansRun &run) override;
    bool finished() override { return true; }
    void wait() override {}
    KmeansResult result() const override { return now_.found; }

  private:
    const LabTable *lab() const {
        return params_.color_space == GPV_KMEANS_COLOR_SPACE_LAB ? lab_table_.get() : nullptr;
    }

    // Scratch and results, in kmeans.cpp.

    Workspace workspace(int worker, int width) const;
    void plan(const Image &src, bool paints, Stream stream);
    void allocate(Arena &arena, const Image &src, bool paints);
    void write(const KmeansRun &run) const;
    void leave_state(bool warm);

    // Count, in kmeans_cells.cpp.

    Codes read(const Reader &reader, int y, const Workspace &work, bool first) const;
    void count(const Image &src, const Reader &reader);
    template <class F>
    void for_parts(const Image &src, const Reader &reader, bool first, F f);
    void sort_pixels(const Image &src, const Reader &reader);
    void start_cells();
    std::uint64_t count_colors(int index);
    void group_cells();

    // Start, in kmeans_seed.cpp.

    void draw(int clusters);
    Centroid draw_next(int number, std::uint64_t total);
    void approach_all(const Color &drawn);
    void spread_over(const Image &src, const Reader &reader, int clusters);
    void start(const Image &src, const Reader &reader, int clusters);

    // Iterate, in kmeans_lloyd.cpp.

    void cluster(const Image &src, const Reader &reader, bool warm);
    void choose(const Image &src, const Reader &reader);
    void iterate(int clusters);
    void set_scene();
    /// Calls f(worker, group).
    template <class F>
    void for_groups(F f) {
        parallel_bands(group_number_, 1, color_workers_,
                       [&](int worker, int i, int) { f(worker, groups_[i]); });
    }
    void sum();
    Farthest search();
    float update();

    // Paint, in kmeans_label.cpp.

    void paint(const KmeansRun &run, const Reader &reader);

    KmeansParams params_{};
    std::optional<KmeansParams> last_params_; ///< of the run that a warm start may go on from
    std::vector<Centroid> given_;
    std::unique_ptr<LabTable> lab_table_;
    Clustering now_, best_;
    std::array<Centroid, max_kmeans_clusters> drawn_;
    LloydInput scene_;
    KmeansScene before_{}; ///< what the runs before have left
    std::uint64_t squares_of_all_ = 0;
    ClusterSums total_{};
    int workers_ = 1, color_workers_ = 1;
    int cell_number_ = 0, group_number_ = 0;
    Buffer scratch_;

    std::uint32_t *starts_ = nullptr;     ///< of the pixels of each cell, by part of the image
    std::uint16_t *sorted_ = nullptr;     ///< places of all pixels, one cell after the other
    std::uint16_t *code_cells_ = nullptr; ///< of all pixels, in Lab
    std::uint16_t *code_places_ = nullptr;
    std::size_t code_stride_ = 0;
    Cell *cells_ = nullptr;                ///< those that occur, by number
    std::uint32_t *cell_starts_ = nullptr; ///< in sorted_
    Colors colors_{};
    std::uint32_t *nearest_ = nullptr; ///< squared distance of a colour to those that are drawn
    Drawing *drawings_ = nullptr;      ///< of a cell
    std::uint16_t *grouped_ = nullptr; ///< indices of cells
    Group *groups_ = nullptr;
    ClusterSums *sums_ = nullptr;      ///< of each worker
    Farthest *farthest_ = nullptr;     ///< likewise
    std::uint64_t *squares_ = nullptr; ///< likewise
    std::uint8_t *labels_ = nullptr;   ///< of all colours
    std::byte *workspaces_ = nullptr;
    std::size_t workspace_bytes_ = 0; ///< of one worker
};

} // namespace gpv::cpu::kmeans
