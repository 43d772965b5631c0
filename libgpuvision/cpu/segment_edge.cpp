// SPDX-License-Identifier: BSD-2-Clause
// Alpha of a picture, tile by tile: where no pixel has the other side near, it is the side.
// Elsewhere sums of columns slide down the tile, and those of windows are added up where a window
// has both sides.
#include "cpu/segment_edge.hpp"

#include <algorithm>
#include <cstring>

#include "core/segment_edge.hpp"

namespace gpv::cpu {
namespace {

using namespace segment;

constexpr int r = edge_radius, side = 2 * edge_radius + 1;
constexpr int tile_width = 32, tile_height = edge_band_rows;
/// Blends are needed that far round the tile, and pixels twice as far.
constexpr int blends_across = tile_width + 2 * r, blends_down = tile_height + 2 * r;
constexpr int across = blends_across + 2 * r, down = blends_down + 2 * r;

class Tile {
  public:
    Tile(const EdgePicture &picture, int x, int y, int rows)
        : picture_(picture), x_(x), y_(y), columns_(std::min(tile_width, picture.width - x)),
          rows_(rows) {}

    void write(std::uint8_t *out, std::ptrdiff_t stride) {
        for (int y = 0; y < rows_; y++)
            std::memcpy(out + y * stride, sides(y_ + y) + x_, columns_);
        if (is_plain())
            return;
        read();
        make_blends();
        for (int y = 0; y < rows_; y++)
            for (int x = 0; x < columns_; x++)
                if (mixed_[y + r][x + r])
                    out[y * stride + x] = static_cast<std::uint8_t>(alpha_at(x, y));
    }

  private:
    const std::uint8_t *sides(int y) const { return picture_.sides + y * picture_.sides_stride; }

    /// Whether the windows of all pixels have one side.
    bool is_plain() const {
        const int left = std::max(x_ - r, 0), right = std::min(x_ + columns_ + r, picture_.width);
        const int top = std::max(y_ - r, 0), bottom = std::min(y_ + rows_ + r, picture_.height);
        const int other = mask_foreground - sides(top)[left];
        for (int y = top; y < bottom; y++)
            if (std::memchr(sides(y) + left, other, right - left))
                return false;
        return true;
    }

    /// Outside of the picture all is 0.
    void read() {
        const int left = std::max(x_ - 2 * r, 0),
                  right = std::min(x_ + tile_width + 2 * r, picture_.width);
        for (int row = 0; row < down; row++) {
            std::fill_n(pixels_[row], across, EdgePixel{});
            const int y = y_ - 2 * r + row;
            if (y < 0 || y >= picture_.height)
                continue;
            const std::size_t at = y * picture_.stride;
            for (int x = left; x < right; x++)
                pixels_[row][x - (x_ - 2 * r)] = {sides(y)[x] == mask_foreground,
                                                  {picture_.colors[0][at + x],
                                                   picture_.colors[1][at + x],
                                                   picture_.colors[2][at + x]}};
        }
    }

    void make_blends() {
        for (auto &sums : columns_of_sums_)
            sums = {};
        for (int row = 0; row < side - 1; row++)
            slide<1>(row);
        for (int row = 0; row < blends_down; row++) {
            slide<1>(row + side - 1);
            for (int x = 0; x < blends_across; x++)
                make_blend(x, row);
            slide<-1>(row);
        }
    }

    /// Adds a row of pixels to the sums of columns, or subtracts it.
    template <int sign>
    void slide(int row) {
        for (int x = 0; x < across; x++) {
            const EdgePixel &pixel = pixels_[row][x];
            const EdgeSums own = EdgeSums::of_pixel(pixel.is_front, pixel.color);
            for (int i = 0; i < EdgeSums::count; i++)
                columns_of_sums_[x].of[i] += sign * own.of[i];
        }
    }

    int pixels_round(int x, int y) const {
        return edge_window(x, picture_.width) * edge_window(y, picture_.height);
    }

    /// By their index, as which one is round the tile.
    void make_blend(int i, int row) {
        const int x = x_ - r + i, y = y_ - r + row;
        Blend &blend = blends_[row][i];
        blend = {};
        mixed_[row][i] = false;
        if (x < 0 || x >= picture_.width || y < 0 || y >= picture_.height)
            return;
        const int pixels = pixels_round(x, y);
        EdgeSums sums{};
        for (int k = 0; k < side; k++)
            sums.of[EdgeSums::front] += columns_of_sums_[i + k].of[EdgeSums::front];
        if (!sums.is_mixed(pixels)) {
            blend = plain_blend(sums.of[EdgeSums::front] > 0);
            return;
        }
        mixed_[row][i] = true;
        sums = {};
        for (int k = 0; k < side; k++)
            sums += columns_of_sums_[i + k];
        blend = blend_of(sums, pixels);
    }

    int alpha_at(int x, int y) const {
        Blend sum{};
        for (int row = y; row < y + side; row++)
            for (int i = x; i < x + side; i++)
                sum += blends_[row][i];
        return alpha_of(sum, pixels_round(x_ + x, y_ + y), pixels_[y + 2 * r][x + 2 * r].color);
    }

    struct EdgePixel {
        bool is_front;
        Color color;
    };

    const EdgePicture &picture_;
    int x_, y_, columns_, rows_;
    EdgePixel pixels_[down][across];
    EdgeSums columns_of_sums_[across];
    Blend blends_[blends_down][blends_across];
    bool mixed_[blends_down][blends_across];
};

} // namespace

void soften(const EdgePicture &picture, int first, int last, std::uint8_t *out,
            std::ptrdiff_t stride) {
    for (int x = 0; x < picture.width; x += tile_width)
        Tile(picture, x, first, last - first).write(out + x, stride);
}

} // namespace gpv::cpu
