// SPDX-License-Identifier: BSD-2-Clause
// Soft edges: alpha of a picture by the sides of its pixels, tile by tile. Where a window has both
// sides, a block reads the colours of its tile and of what lies round it, and lists such windows:
// threads share these out, wherever they are.
#pragma once

#include "core/segment_edge.hpp"
#include "cuda/segment/pixels.cuh"

namespace gpv::cuda::segment {

template <Layout layout>
class SoftenEdges {
    static constexpr int radius = edge_radius, window = 2 * radius + 1;
    /// Blends are needed that far round the tile, and pixels twice as far.
    static constexpr int tile = edge_tile, blends = tile + 2 * radius, pixels = blends + 2 * radius;
    static constexpr int strips = pixels / strip; ///< of a row; a thread reads one
    static_assert(2 * radius % strip == 0 && tile % strip == 0 && strips <= 8);
    static constexpr Word front = 1u << 24;

  public:
    struct Job {
        PixelJob picture; ///< its mask has the sides
        Rows alpha;
    };
    static constexpr int threads = strips * pixels;
    static constexpr int min_blocks = 3;

    struct Shared {
        Blend blend[blends * blends];
        Word pixel[pixels][pixels];                ///< R, G, B, and whether it is in front
        alignas(8) std::uint8_t fronts[pixels][8]; ///< a bit for each pixel of a row
        std::uint16_t mixed[blends * blends];      ///< blends of windows with both sides
        unsigned mixed_count;
    };

    static dim3 grid(int width, int height) {
        return dim3(blocks(width, tile), blocks(height, tile));
    }
    __device__ static void run(const Job &job) {
        if (!is_idle(job.picture.idle))
            SoftenEdges(job.picture, job.alpha).write();
    }

  private:
    __device__ SoftenEdges(const PixelJob &picture, const Rows &alpha)
        : picture_(picture), alpha_(alpha), width_(picture.src.width), height_(picture.src.height),
          left_(blockIdx.x * tile), top_(blockIdx.y * tile) {}

    __device__ static Shared &shared() { return *shared_memory<Shared>(); }

    __device__ void write() {
        const bool mixed = load_sides();
        for (int i = threadIdx.x; i < tile * tile; i += threads) {
            const int x = left_ + i % tile, y = top_ + i / tile;
            if (x < width_ && y < height_)
                alpha_.row<std::uint8_t>(y)[x] = side_at(x, y);
        }
        if (!mixed)
            return;
        load_colors();
        list_windows();
        __syncthreads();
        for (unsigned i = threadIdx.x; i < shared().mixed_count; i += threads)
            make_blend(shared().mixed[i]);
        __syncthreads();
        for (unsigned i = threadIdx.x; i < shared().mixed_count; i += threads)
            write_alpha(shared().mixed[i]);
    }

    __device__ std::uint8_t side_at(int x, int y) const {
        return picture_.mask.row<const std::uint8_t>(y)[x];
    }

    /// Where the thread's strip is among the pixels.
    __device__ static int strip_row() { return static_cast<int>(threadIdx.x) / strips; }
    __device__ static int strip_column() { return static_cast<int>(threadIdx.x) % strips * strip; }
    __device__ int strip_x() const { return left_ - 2 * radius + strip_column(); }
    __device__ int strip_y() const { return top_ - 2 * radius + strip_row(); }
    __device__ bool strip_inside() const {
        return strip_x() >= 0 && strip_x() < width_ && strip_y() >= 0 && strip_y() < height_;
    }

    /// Returns whether the window of any pixel of the tile may have both sides.
    __device__ bool load_sides() {
        unsigned in_front = 0, behind = 0;
        if (strip_inside())
            for (int i = 0; i < min(width_ - strip_x(), strip); i++)
                (side_at(strip_x() + i, strip_y()) ? in_front : behind) |= 1u << i;
        auto &fronts = shared().fronts[strip_row()];
        fronts[strip_column() / strip] = static_cast<std::uint8_t>(in_front);
        if (threadIdx.x == 0)
            shared().mixed_count = 0;
        unsigned near = 0; // of the strip, what is in such windows
        for (int i = 0; i < strip; i++)
            if (is_blend(strip_column() + i - radius, strip_row() - radius))
                near |= 1u << i;
        const bool any_front = __syncthreads_or((near & in_front) != 0);
        return __syncthreads_or((near & behind) != 0) && any_front;
    }
    __device__ static bool is_blend(int column, int row) {
        return column >= 0 && column < blends && row >= 0 && row < blends;
    }

    __device__ void load_colors() {
        Word colors[strip] = {};
        if (strip_inside())
            cuda::load_colors<layout>(
                picture_.src, strip_x(), strip_y(), colors,
                [](const Color &c) -> Word { return c.red | c.green << 8 | c.blue << 16; });
        const unsigned fronts = shared().fronts[strip_row()][strip_column() / strip];
        for (int i = 0; i < strip; i++)
            shared().pixel[strip_row()][strip_column() + i] =
                colors[i] | (fronts >> i & 1 ? front : 0);
    }
    __device__ static Color color_of(Word pixel) {
        return {byte_of(&pixel, 0), byte_of(&pixel, 1), byte_of(&pixel, 2)};
    }

    /// The first pixel of its window has the same place among the pixels.
    __device__ int x_of(int blend) const { return left_ - radius + blend % blends; }
    __device__ int y_of(int blend) const { return top_ - radius + blend / blends; }
    __device__ int pixels_round(int blend) const {
        return edge_window(x_of(blend), width_) * edge_window(y_of(blend), height_);
    }

    /// Lists those with both sides. The others are plain; there is none outside of the picture.
    __device__ void list_windows() {
        for (int i = threadIdx.x; i < blends * blends; i += threads) {
            const int x = x_of(i), y = y_of(i);
            shared().blend[i] = {};
            if (x < 0 || x >= width_ || y < 0 || y >= height_)
                continue;
            EdgeSums sums{};
            for (int row = 0; row < window; row++) {
                const Wide fronts =
                    *reinterpret_cast<const Wide *>(shared().fronts[i / blends + row]);
                constexpr unsigned of_window = (1u << window) - 1;
                sums.of[EdgeSums::front] +=
                    __popc(static_cast<unsigned>(fronts >> (i % blends)) & of_window);
            }
            if (sums.is_mixed(pixels_round(i)))
                shared().mixed[atomicAdd(&shared().mixed_count, 1u)] =
                    static_cast<std::uint16_t>(i);
            else
                shared().blend[i] = plain_blend(sums.of[EdgeSums::front] > 0);
        }
    }

    __device__ void make_blend(int i) const {
        EdgeSums sums{};
        for (int row = 0; row < window; row++)
#pragma unroll
            for (int column = 0; column < window; column++) {
                const Word pixel = shared().pixel[i / blends + row][i % blends + column];
                sums += EdgeSums::of_pixel(pixel & front, color_of(pixel));
            }
        shared().blend[i] = blend_of(sums, pixels_round(i));
    }

    /// Of the pixel in the middle of the window, if it is one of the tile that is not known.
    __device__ void write_alpha(int i) const {
        const int column = i % blends - radius, row = i / blends - radius;
        if (column < 0 || column >= tile || row < 0 || row >= tile ||
            is_known(picture_.known(x_of(i), y_of(i))))
            return;
        Blend sum{};
        for (int v = row; v < row + window; v++)
#pragma unroll
            for (int u = column; u < column + window; u++)
                sum += shared().blend[v * blends + u];
        const Color c = color_of(shared().pixel[row + 2 * radius][column + 2 * radius]);
        alpha_.row<std::uint8_t>(y_of(i))[x_of(i)] =
            static_cast<std::uint8_t>(alpha_of(sum, pixels_round(i), c));
    }

    const PixelJob &picture_;
    const Rows &alpha_;
    int width_, height_, left_, top_;
};

} // namespace gpv::cuda::segment
