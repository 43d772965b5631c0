// SPDX-License-Identifier: BSD-2-Clause
// The class behind SIFT on the CPU, and what its files share.
#pragma once

#include "core/sift.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/arena.hpp"
#include "cpu/threads.hpp"

namespace gpv::cpu::sift {

/// Vectors have no more lanes.
inline constexpr std::size_t max_lanes = 16;
/// Rows of floats are written in whole ones of these, and may be read as far behind their end.
inline constexpr std::size_t row_step = 4 * max_lanes;

inline constexpr int cache_line = 16; ///< floats; what is prefetched is never more than some

inline constexpr int max_group = 5;

/// Filters of rising radius that are applied together.
struct BlurGroup {
    int count = 0;
    int radius[max_group];
    float weights[max_blur_radius + 1][max_group];

    int reach() const { return radius[count - 1]; }
};

/// The levels of an octave. Rows are padded.
struct Octave {
    int width, height;
    std::size_t pitch; ///< floats
    float *levels[max_levels];

    float *row(int level, int y) const { return levels[level] + pitch * y; }
    float difference(int i, int y, int x) const { return row(i + 1, y)[x] - row(i, y)[x]; }
};

/// Where a pixel may be an extremum.
struct Hit {
    std::uint16_t x, layer;
};

inline constexpr int tile_columns = 256;
inline constexpr int blur_padding = 128; ///< floats on either side of a row that is blurred
inline constexpr int max_band = 64;      ///< rows
inline constexpr int first_band = 32;    ///< rows of the first level
inline constexpr int max_first_reach = 16;
inline constexpr int max_peaks = orientation_bins / 2;
inline constexpr int band_of_features = 16;

static_assert(blur_padding >= max_blur_radius && tile_columns % row_step == 0);

/// The orientations of an extremum.
struct Peaks {
    std::int32_t count;
    float angles[max_peaks];
};

/// What each thread works in.
struct Workspace {
    std::uint8_t *luma[2];
    float *picture;            ///< rows that a band of the first level is made from
    const float **rows;        ///< those that the rows of a band are made from
    float *columns[max_group]; ///< a tile's row, blurred vertically; padded
    Hit *hits;                 ///< of a tile's row
};

/// Some columns of a band of rows.
struct Tile {
    int x, first, last; ///< first column; rows
};

class CpuSift final : public Sift {
  public:
    explicit CpuSift(std::shared_ptr<Context> context) : scratch_(context) {}

    void set_params(const SiftParams &params) override;
    void prepare(const Image &src, const Image *, std::int64_t) override;
    bool run(Stream stream, const SiftRun &run) override;
    bool describe(Stream stream, const SiftDescription &description) override;
    void draw(Stream, const SiftDrawing &drawing) override;
    bool finished() override { return true; }
    void wait() override {}
    SiftResult result() const override { return found_; }
    bool overflow() const override { return overflow_; }

  private:
    // Scratch, in sift.cpp.

    Workspace allocate_workspace(Arena &arena, int width) const;
    Workspace workspace(int worker) const;
    void plan(const Image &src, Stream stream);
    void allocate(Arena &arena, const Image &src);

    // Levels, in sift_blur.cpp.

    void make_first_level(const Image &src) const;
    void read_row(const Image &src, int y, float *out, const Workspace &work) const;
    void make_octave(int number, int levels, bool next, bool searched);
    void blur_levels(const Octave &octave, int levels, Tile tile, const Workspace &work) const;
    void halve(const Octave &from, const Octave &to, Tile tile) const;

    // Extrema, in sift_extrema.cpp.

    void search_tile(int number, Tile tile, const Workspace &work);
    void search_seams(int number, int band);
    bool has_layer(int layer) const;
    void consider(int number, int layer, int y, int x);
    bool settle(Extremum &e) const;

    // Orientations, in sift_orient.cpp.

    void orient(int count);
    void find_peaks(const Extremum &extremum, Peaks &peaks) const;

    // Which features are kept, in sift_select.cpp.

    void finish(const SiftRun &run);
    int settle_all(const SiftRun &run);
    bool lies_in(const Image &mask, const Extremum &extremum) const;
    void rank(int count);
    void write(const SiftRun &run, int count, std::int64_t kept) const;
    void write_feature(const SiftRun &run, const Extremum &extremum, float angle,
                       std::int64_t index) const;

    // Descriptors, in sift_describe.cpp.

    void describe_window(const Window &window, std::byte *out) const;
    void normalize(const std::uint32_t *sums, std::byte *out) const;

    SiftParams params_{};
    BlurGroup first_group_;
    std::array<BlurGroup, (max_levels + max_group - 2) / max_group> groups_;
    SiftResult found_{};
    bool overflow_ = false;

    int workers_ = 1;
    int width_ = 0; ///< of the picture
    Buffer scratch_;

    Octave octaves_[max_octaves];
    std::int64_t capacity_ = 0; ///< extrema
    std::int64_t max_kept_ = 0; ///< keypoints
    std::atomic<std::int64_t> candidates_{0};
    Extremum *extrema_ = nullptr;    ///< candidates, then extrema by their places
    std::int32_t *ranked_ = nullptr; ///< indices of extrema, by falling response
    Peaks *peaks_ = nullptr;         ///< of each extremum
    Keypoint *kept_ = nullptr;       ///< of the last run
    std::size_t kept_count_ = 0;
    std::int64_t *offsets_ = nullptr; ///< where the keypoints of each begin in the output
    std::byte *workspaces_ = nullptr;
    std::size_t workspace_bytes_ = 0; ///< of one thread
};

} // namespace gpv::cpu::sift
