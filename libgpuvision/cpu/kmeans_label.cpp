// SPDX-License-Identifier: BSD-2-Clause
// Labels the colours, and paints the labels and the recoloured pixels.
#include "cpu/kmeans_internal.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "cpu/rows.hpp"
#include "cpu/runs.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kmeans_label.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/kmeans_vectors.hpp"

HWY_BEFORE_NAMESPACE();
namespace gpv::cpu::kmeans::HWY_NAMESPACE {
namespace {

template <gpv_kmeans_metric metric>
HWY_INLINE void label_group_by(const LloydInput &input, const Group &group, std::uint8_t *table) {
    const Ints d;
    alignas(64) std::int32_t indices[max_lanes];
    for_cells<metric>(input, group, [&](const Cell &cell, const Candidates &among) HWY_ATTR {
        std::uint8_t *labels = table + (std::size_t{cell.number} << cell_bits);
        if (among.count == 1) {
            std::memset(labels, among.numbers[0], cell_colors);
            return;
        }
        const std::uint16_t *places = input.colors.places + cell.first;
        for_colors<metric>(
            cell, input.colors, among, [&](std::size_t i, Whole, Vector, Whole index) HWY_ATTR {
                hn::Store(index, d, indices);
                for (std::size_t j = 0; j < hn::Lanes(d); j++)
                    labels[places[i + j]] = static_cast<std::uint8_t>(among.numbers[indices[j]]);
            });
    });
}

} // namespace

void label_group(const LloydInput &input, const Group &group, std::uint8_t *table) {
    with(input.metric, [&](auto m) HWY_ATTR { label_group_by<m()>(input, group, table); });
}

} // namespace gpv::cpu::kmeans::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gpv::cpu::kmeans {
namespace {

HWY_EXPORT(label_group);

/// What the pixels of each cluster become.
struct Palette {
    Pixels pixels;                                           ///< of the picture that is painted
    int bytes[max_channels][max_kmeans_clusters];            ///< of each channel
    std::uint16_t values[max_channels][max_kmeans_clusters]; ///< the same as samples
    std::uint32_t words[max_kmeans_clusters]; ///< bytes of a pixel of RGB, from the lowest one on

    Palette(const Centroid *centroids, int count, const LabTable *lab, const Image &dst)
        : pixels(dst) {
        for (int i = 0; i < count; i++) {
            const Color color = paint(centroids[i], lab);
            words[i] = 0;
            for (int c = 0; c < std::min(pixels.count, 3); c++) {
                bytes[c][i] = pixels.byte(c, color);
                values[c][i] = static_cast<std::uint16_t>(pixels.stored(c, bytes[c][i]));
                words[i] |= static_cast<std::uint32_t>(bytes[c][i])
                            << 8 * (pixels.at[c].offset & 3);
            }
        }
    }
};

void label_row(const std::uint8_t *table, Codes codes, int width, std::uint8_t *labels) {
    for (int x = 0; x < width; x++)
        labels[x] = table[codes[x]];
}

void paint_labels(const Image &labels, int y, int rows, const Workspace &work) {
    for (int i = 0; i < rows; i++)
        std::memcpy(labels.planes[0].row(y + i), work.labels[i], labels.width);
    for (int i = 1; i < labels.plane_count(); i++)
        std::memset(labels.planes[i].row(y / 2), neutral_chroma8, labels.shape(i).row_bytes());
}

/// One of the channels, of which every pixel has a sample.
template <class T>
void paint_channel(const Image &dst, const Palette &palette, int channel, int y,
                   const std::uint8_t *labels) {
    const Channel &at = palette.pixels.at[channel];
    const std::uint16_t *values = palette.values[channel];
    T *out = reinterpret_cast<T *>(dst.planes[at.plane].row(y)) + at.offset;
    if (at.step == 1)
        for (int x = 0; x < dst.width; x++)
            out[x] = static_cast<T>(values[labels[x]]);
    else
        for (int x = 0; x < dst.width + dst.width % at.step; x++) // of pairs, both
            out[std::ptrdiff_t{x} * at.step] =
                static_cast<T>(values[labels[std::min(x, dst.width - 1)]]);
}

/// Mean chroma of the pixels of each site.
template <class T>
void paint_chroma(const Image &dst, const Palette &palette, int y, const std::uint8_t *above,
                  const std::uint8_t *below) {
    for (int c = 1; c < 3; c++) {
        const Channel &at = palette.pixels.at[c];
        const int *bytes = palette.bytes[c];
        T *out = reinterpret_cast<T *>(dst.planes[at.plane].row(y >> at.shift_y)) + at.offset;
        for (int site = 0; site < (dst.width + 1) / 2; site++) {
            const int left = 2 * site, right = std::min(left + 1, dst.width - 1);
            const int mean = mean_chroma(bytes[above[left]] + bytes[above[right]] +
                                             bytes[below[left]] + bytes[below[right]],
                                         4);
            out[std::ptrdiff_t{site} * at.step] = static_cast<T>(palette.pixels.stored(c, mean));
        }
    }
}

template <class T>
void paint_samples(const Image &dst, const Palette &palette, int y, int rows,
                   const Workspace &work) {
    const Pixels &pixels = palette.pixels;
    const bool sites = pixels.site_width() > 1;
    for (int i = 0; i < rows; i++) {
        for (int c = 0; c < (sites ? 1 : pixels.count); c++)
            paint_channel<T>(dst, palette, c, y + i, work.labels[i]);
        if (sites && pixels.site_height() == 1)
            paint_chroma<T>(dst, palette, y + i, work.labels[i], work.labels[i]);
    }
    if (pixels.site_height() > 1)
        paint_chroma<T>(dst, palette, y, work.labels[0], work.labels[rows - 1]);
}

void paint_colors(const Image &src, const Image &dst, const Palette &palette, int y, int rows,
                  const Workspace &work) {
    if (!is_interleaved_rgb(dst.format))
        return palette.pixels.wide ? paint_samples<std::uint16_t>(dst, palette, y, rows, work)
                                   : paint_samples<std::uint8_t>(dst, palette, y, rows, work);
    for (int i = 0; i < rows; i++) {
        for (int x = 0; x < dst.width; x++)
            work.colors[x] = palette.words[work.labels[i][x]];
        auto *out = reinterpret_cast<std::uint8_t *>(dst.planes[0].row(y + i));
        const auto *pixels = reinterpret_cast<const std::uint8_t *>(work.colors);
        const auto *in = reinterpret_cast<const std::uint8_t *>(src.planes[0].row(y + i));
        if (dst.shape(0).channels == 3)
            drop_fourth(pixels, out, dst.width);
        else
            merge_fourth(pixels, in, out, dst.width, palette.pixels.at[3].offset);
    }
}

} // namespace

void CpuKmeans::paint(const KmeansRun &run, const Reader &reader) {
    set_scene();
    for_groups([&](int, const Group &group) {
        HWY_DYNAMIC_DISPATCH(label_group)(scene_, group, labels_);
    });
    const Image &src = run.src;
    std::optional<Palette> palette;
    if (run.dst)
        palette.emplace(now_.centroids.data(), now_.found.clusters, lab(), *run.dst);
    constexpr int band = 32; // even, so that no row of chroma lies in two bands
    parallel_bands(src.height, band, workers_, [&](int worker, int first, int last) {
        const Workspace work = workspace(worker, src.width);
        for (int y = first; y < last; y += 2) {
            const int rows = std::min(2, src.height - y);
            for (int i = 0; i < rows; i++)
                label_row(labels_, read(reader, y + i, work, false), src.width, work.labels[i]);
            if (run.labels)
                paint_labels(*run.labels, y, rows, work);
            if (run.dst)
                paint_colors(src, *run.dst, *palette, y, rows, work);
        }
    });
}

} // namespace gpv::cpu::kmeans
#endif
