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
    std::uint8_t first[max_kmeans_clusters]; ///< of grey and YUV
    std::uint8_t u[max_kmeans_clusters], v[max_kmeans_clusters];
    std::uint32_t pixels[max_kmeans_clusters]; ///< bytes of the others, from the lowest one on

    Palette(const Centroid *centroids, int count, const LabTable *lab, const Image &dst) {
        const YuvTransform transform = YuvTransform::of(dst);
        const bool yuv = dst.plane_count() > 1, reversed = blue_first(dst.format);
        const auto byte = [](int value) { return static_cast<std::uint8_t>(clamp_byte(value)); };
        for (int i = 0; i < count; i++) {
            const Color c = paint(centroids[i], lab);
            first[i] = byte(yuv ? transform.y(c) : grey(c));
            u[i] = byte(transform.u(c));
            v[i] = byte(transform.v(c));
            const std::uint32_t low = reversed ? c.blue : c.red, high = reversed ? c.red : c.blue;
            pixels[i] = low | static_cast<std::uint32_t>(c.green) << 8 | high << 16;
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

void paint_chroma(const Image &dst, const Palette &palette, int y, int rows,
                  const Workspace &work) {
    const bool pairs = dst.plane_count() == 2;
    std::byte *u = dst.planes[1].row(y / 2);
    std::byte *v = pairs ? u + 1 : dst.planes[2].row(y / 2);
    const std::uint8_t *above = work.labels[0], *below = work.labels[rows - 1];
    for (int site = 0; site < dst.shape(1).columns; site++) {
        const int left = 2 * site, right = std::min(left + 1, dst.width - 1);
        const auto mean = [&](const std::uint8_t *of) {
            return std::byte(mean_chroma(
                of[above[left]] + of[above[right]] + of[below[left]] + of[below[right]], 4));
        };
        u[pairs ? 2 * site : site] = mean(palette.u);
        v[pairs ? 2 * site : site] = mean(palette.v);
    }
}

void paint_colors(const Image &src, const Image &dst, const Palette &palette, int y, int rows,
                  const Workspace &work) {
    for (int i = 0; i < rows; i++) {
        auto *out = reinterpret_cast<std::uint8_t *>(dst.planes[0].row(y + i));
        if (dst.shape(0).channels == 1) {
            for (int x = 0; x < dst.width; x++)
                out[x] = palette.first[work.labels[i][x]];
            continue;
        }
        for (int x = 0; x < dst.width; x++)
            work.colors[x] = palette.pixels[work.labels[i][x]];
        const auto *pixels = reinterpret_cast<const std::uint8_t *>(work.colors);
        const auto *in = reinterpret_cast<const std::uint8_t *>(src.planes[0].row(y + i));
        if (dst.shape(0).channels == 3)
            drop_fourth(pixels, out, dst.width);
        else
            merge_fourth(pixels, in, out, dst.width);
    }
    if (dst.plane_count() > 1)
        paint_chroma(dst, palette, y, rows, work);
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
