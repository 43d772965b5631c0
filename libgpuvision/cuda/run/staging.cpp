// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/run/staging.hpp"

#include <algorithm>

namespace gpv::cuda {
namespace {

constexpr std::int64_t piece_bytes = 512 << 10;

std::int64_t rows_of_piece(std::int64_t pitch) {
    return std::max<std::int64_t>(piece_bytes / pitch, 1);
}

/// f(index, first row, rows)
template <class F>
void for_pieces(const Transfer &transfer, F f) {
    const std::int64_t step = rows_of_piece(transfer.pitch);
    for (std::int64_t index = 0, first = 0; first < transfer.rows; index++, first += step)
        f(index, first, std::min(step, transfer.rows - first));
}

void copy_rows(std::byte *to, std::int64_t to_stride, const std::byte *from,
               std::int64_t from_stride, std::int64_t row_bytes, std::int64_t rows) {
    if (to_stride == from_stride && row_bytes == to_stride) {
        std::memcpy(to, from, static_cast<std::size_t>(row_bytes * rows));
        return;
    }
    for (std::int64_t y = 0; y < rows; y++)
        std::memcpy(to + y * to_stride, from + y * from_stride,
                    static_cast<std::size_t>(row_bytes));
}

} // namespace

void PinnedBuffer::reserve(std::size_t bytes) {
    if (bytes <= size_)
        return;
    release();
    GPV_CUDA(runtime.malloc_host(&data_, bytes));
    size_ = bytes;
}

void PinnedBuffer::release() {
    if (data_)
        runtime.free_host(data_);
    data_ = nullptr;
    size_ = 0;
}

std::size_t Transfer::events() const {
    const std::int64_t step = rows_of_piece(pitch);
    return output && device && rows > step ? static_cast<std::size_t>((rows - 1) / step + 1) : 0;
}

void Transfer::upload(const HostRows &from, cudaStream_t stream) const {
    for_pieces(*this, [&](std::int64_t, std::int64_t first, std::int64_t n) {
        std::byte *const piece = pinned + first * pitch;
        copy_rows(piece, pitch, from.data + first * from.stride, from.stride, row_bytes, n);
        GPV_CUDA(runtime.memcpy_async(device + first * pitch, piece,
                                      static_cast<std::size_t>(n * pitch), cudaMemcpyHostToDevice,
                                      stream));
    });
}

void Transfer::download(const cudaEvent_t *events, cudaStream_t stream) const {
    const bool has_events = this->events() > 0;
    for_pieces(*this, [&](std::int64_t index, std::int64_t first, std::int64_t n) {
        GPV_CUDA(runtime.memcpy_async(pinned + first * pitch, device + first * pitch,
                                      static_cast<std::size_t>(n * pitch), cudaMemcpyDeviceToHost,
                                      stream));
        if (has_events)
            GPV_CUDA(runtime.event_record(events[index], stream));
    });
}

void Transfer::deliver(const HostRows &to, const cudaEvent_t *events) const {
    const bool has_events = this->events() > 0;
    for_pieces(*this, [&](std::int64_t index, std::int64_t first, std::int64_t n) {
        if (has_events)
            GPV_CUDA(runtime.event_synchronize(events[index]));
        const std::int64_t found = count ? *count - first : n;
        if (found > 0 && !(refused && *refused))
            copy_rows(to.data + first * to.stride, to.stride, pinned + first * pitch, pitch,
                      row_bytes, std::min(n, found));
    });
}

} // namespace gpv::cuda
