// SPDX-License-Identifier: BSD-2-Clause
// Rows of samples, and kernels that process samples one by one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/pixels.hpp"
#include "cuda/intrinsics.cuh"
#include "cuda/kernel.cuh"

namespace gpv::cuda {

/// Rows of samples on the device.
struct Rows {
    std::byte *data;
    std::int64_t stride; ///< bytes

    template <class T>
    __host__ __device__ T *row(int y) const {
        return reinterpret_cast<T *>(data + y * stride);
    }
};

inline Rows rows_of(const Plane &plane) {
    return {plane.data, plane.stride};
}

/// Writes the rows of each plane.
inline void list_rows(const Image &image, Rows *to) {
    for (int i = 0; i < image.plane_count(); i++)
        to[i] = rows_of(image.planes[i]);
}

/// Number of tiles, and so of blocks in a grid, that cover size.
constexpr unsigned blocks(std::int64_t size, int tile) {
    return static_cast<unsigned>((size + tile - 1) / tile);
}

/// Whether all rows begin and end at multiples of unit bytes.
inline bool aligned(const Rows &rows, int row_bytes, std::size_t unit) {
    return (reinterpret_cast<std::uintptr_t>(rows.data) | rows.stride | row_bytes) % unit == 0;
}

/// 128 times bits 0..7, which say whether a byte is at least the threshold;
/// addend holds 256 - threshold in each byte.
__device__ __forceinline__ Word pack_8_bits(Word low, Word high, Word addend) {
    // (byte + 256 - threshold) / 2, whose highest bit says so.
    const auto reaches = [addend](Word bytes) {
        return ((bytes & addend) + (((bytes ^ addend) >> 1) & 0x7F7F7F7Fu)) & 0x80808080u;
    };
    return __dp4a(reaches(high), 0x80402010u, __dp4a(reaches(low), 0x08040201u, 0u));
}

/// Bit i says whether byte i is at least the threshold.
__device__ __forceinline__ Word pack_bits(uint4 v, Word addend) {
    return pack_8_bits(v.x, v.y, addend) >> 7 | pack_8_bits(v.z, v.w, addend) << 1;
}

struct PointJob {
    Rows a, b, out;
    int length, rows;
    unsigned value;
};

template <class Derived, class J = PointJob>
struct Pointwise {
    static constexpr int threads = 256;
    using Job = J;

    __device__ static void run(const Job &job) {
        const int x = blockIdx.x * threads + threadIdx.x, y = blockIdx.y;
        if (x < job.length)
            Derived::point(job, x, y);
    }
};

template <class T>
struct Copy : Pointwise<Copy<T>> {
    __device__ static void point(const PointJob &job, int x, int y) {
        job.out.row<T>(y)[x] = job.a.row<T>(y)[x];
    }
};

template <class T>
struct Fill : Pointwise<Fill<T>> {
    __device__ static void point(const PointJob &job, int x, int y) {
        job.out.row<T>(y)[x] = static_cast<T>(job.value);
    }
};

// ---- pictures of any format -------------------------------------------------------------

/// A picture whose pixels are read or written one by one.
struct Picture {
    Pixels pixels;
    Rows planes[3];

    explicit Picture(const Image &image) : pixels(image), planes{} { list_rows(image, planes); }

    __device__ auto rows() const {
        return [this](int plane, int y) { return planes[plane].template row<std::uint8_t>(y); };
    }
};

struct PictureJob {
    Picture picture;
    Rows plane; ///< of values of pixels
    int length, rows;
};

inline PictureJob picture_job(const Image &image, const Rows &plane) {
    return {Picture(image), plane, image.width, image.height};
}

/// Luma as bytes, of 16 bits the upper ones.
struct Luma : Pointwise<Luma, PictureJob> {
    __device__ static void point(const Job &job, int x, int y) {
        const Pixels &pixels = job.picture.pixels;
        const int luma = pixels.luma(x, y, job.picture.rows());
        job.plane.row<std::uint8_t>(y)[x] =
            static_cast<std::uint8_t>(pixels.wide ? luma >> 8 : luma);
    }
};

/// Colours as RGBA, opaque where there is no fourth channel.
struct ToRgba : Pointwise<ToRgba, PictureJob> {
    __device__ static void point(const Job &job, int x, int y) {
        const Pixels &pixels = job.picture.pixels;
        const Color c = pixels.color(x, y, job.picture.rows());
        const int fourth = pixels.count == 4 ? pixels.sample(3, x, y, job.picture.rows()) : 255;
        job.plane.row<Word>(y)[x] = static_cast<Word>(c.red) | static_cast<Word>(c.green) << 8 |
                                    static_cast<Word>(c.blue) << 16 |
                                    static_cast<Word>(fourth) << 24;
    }
};

} // namespace gpv::cuda
