// SPDX-License-Identifier: BSD-2-Clause
// Rows of samples, and kernels that process samples one by one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/image.hpp"
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
    int channels; ///< channels of the picture, which is a or out
    int red;      ///< the channel that holds R, 0 or 2
    int threshold;
    unsigned value;
};

template <class Derived>
struct Pointwise {
    static constexpr int threads = 256;
    using Job = PointJob;

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

/// Luma of a pixel of samples of T. With more than one channel, the first three are colours.
template <class T>
__device__ int luma(const T *pixel, int channels, int red) {
    if (channels == 1)
        return pixel[0];
    return (77 * pixel[red] + 150 * pixel[1] + 29 * pixel[2 - red] + 128) >> 8;
}

/// Luma of rows of pixels, one byte per pixel.
struct Luma : Pointwise<Luma> {
    __device__ static void point(const PointJob &job, int x, int y) {
        const auto *pixel = job.a.row<std::uint8_t>(y) + x * job.channels;
        job.out.row<std::uint8_t>(y)[x] =
            static_cast<std::uint8_t>(luma(pixel, job.channels, job.red));
    }
};

} // namespace gpv::cuda
