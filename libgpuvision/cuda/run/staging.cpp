// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/run/staging.hpp"

#include <algorithm>
#include <cstring>

#include "core/arena.hpp"

namespace gpv::cuda {
namespace {

constexpr std::size_t plane_alignment = 256;
constexpr std::size_t piece_bytes = 512 << 10;

std::size_t pitch_of(const PlaneShape &shape) {
    return round_up(static_cast<std::size_t>(shape.row_bytes()), pitch_alignment);
}

void copy_rows(std::byte *to, std::int64_t to_stride, const std::byte *from,
               std::int64_t from_stride, std::int64_t row_bytes, int rows) {
    if (to_stride == from_stride && row_bytes == to_stride) {
        std::memcpy(to, from, static_cast<std::size_t>(row_bytes) * rows);
        return;
    }
    for (int y = 0; y < rows; y++)
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

Staging::~Staging() {
    device_.remove(this);
    for (const cudaEvent_t event : events_)
        runtime.event_destroy(event);
}

std::size_t Staging::bytes(const Image &like) {
    std::size_t sum = 0;
    for (int i = 0; i < like.plane_count(); i++) {
        const PlaneShape shape = like.shape(i);
        sum += round_up(pitch_of(shape) * shape.rows, plane_alignment);
    }
    return sum;
}

Image Staging::place(const Image &like, std::byte *base) {
    Image image = like;
    image.memory = Memory::cuda;
    for (int i = 0; i < like.plane_count(); i++) {
        const PlaneShape shape = like.shape(i);
        const std::size_t pitch = pitch_of(shape);
        image.planes[i] = {base, static_cast<std::int64_t>(pitch)};
        if (base)
            base += round_up(pitch * shape.rows, plane_alignment);
    }
    return image;
}

template <class F>
std::size_t Staging::for_pieces(const Image &device, F f) {
    std::size_t index = 0, offset = 0;
    for (int i = 0; i < device.plane_count(); i++) {
        const int rows = device.shape(i).rows;
        const auto pitch = static_cast<std::size_t>(device.planes[i].stride);
        const int step = static_cast<int>(std::max<std::size_t>(piece_bytes / pitch, 1));
        for (int first = 0; first < rows; first += step)
            f(Piece{index++, i, first, std::min(first + step, rows), offset + first * pitch});
        offset += round_up(pitch * rows, plane_alignment);
    }
    return index;
}

std::size_t Staging::piece_count(const Image &device) {
    return for_pieces(device, [](const Piece &) {});
}

void Staging::reserve_upload(const Image &like) {
    in_.reserve(bytes(like));
}

void Staging::reserve_download(const Image &like) {
    out_.reserve(bytes(like));
    event(piece_count(place(like, nullptr)) - 1);
}

cudaEvent_t Staging::event(std::size_t index) {
    while (events_.size() <= index) {
        events_.reserve(index + 1);
        cudaEvent_t event;
        GPV_CUDA(runtime.event_create(&event, cudaEventDisableTiming));
        events_.push_back(event);
    }
    return events_[index];
}

void Staging::upload(const Image &host, const Image &device, cudaStream_t stream) {
    for_pieces(device, [&](const Piece &piece) {
        const Plane &from = host.planes[piece.plane], &to = device.planes[piece.plane];
        const int rows = piece.last - piece.first;
        copy_rows(in_.data() + piece.offset, to.stride, from.row(piece.first), from.stride,
                  device.shape(piece.plane).row_bytes(), rows);
        GPV_CUDA(runtime.memcpy_async(to.row(piece.first), in_.data() + piece.offset,
                                      static_cast<std::size_t>(to.stride) * rows,
                                      cudaMemcpyHostToDevice, stream));
    });
}

void Staging::download(const Image &device, cudaStream_t stream) {
    for_pieces(device, [&](const Piece &piece) {
        const Plane &from = device.planes[piece.plane];
        GPV_CUDA(
            runtime.memcpy_async(out_.data() + piece.offset, from.row(piece.first),
                                 static_cast<std::size_t>(from.stride) * (piece.last - piece.first),
                                 cudaMemcpyDeviceToHost, stream));
        GPV_CUDA(runtime.event_record(event(piece.index), stream));
    });
}

void Staging::deliver() {
    if (!pending_)
        return;
    for_pieces(pending_->device, [&](const Piece &piece) {
        GPV_CUDA(runtime.event_synchronize(event(piece.index)));
        if (pending_->refused && *pending_->refused)
            return;
        const Plane &from = pending_->device.planes[piece.plane];
        const Plane &to = pending_->host.planes[piece.plane];
        copy_rows(to.row(piece.first), to.stride, out_.data() + piece.offset, from.stride,
                  pending_->device.shape(piece.plane).row_bytes(), piece.last - piece.first);
    });
    pending_.reset();
}

void Staging::deliver_if_finished() {
    if (pending_ && finished(event(piece_count(pending_->device) - 1)))
        deliver();
}

} // namespace gpv::cuda
