// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/run/declaration.hpp"

#include <array>

#include "core/error.hpp"
#include "cuda/run/staging.hpp"

namespace gpv::cuda {

void Declaration::look(bool captured, const void *kind) {
    captured_ = captured;
    continues_ = false;
    recording_ = -1;
    key_.clear();
    bases_.assign(Plan::first_slot, 0);
    on_host_.clear();
    value(captured);
    value(reinterpret_cast<std::uintptr_t>(kind));
}

void Declaration::record(int recording) {
    recording_ = recording;
    slots_ = Plan::first_slot;
    const auto arena = [recording](std::size_t slot) {
        return Arena(scratch_alignment, Plan::symbol(slot, recording));
    };
    scratch_arena_ = arena(Plan::scratch_slot);
    copies_arena_ = arena(Plan::copies_slot);
    pinned_arena_ = arena(Plan::pinned_slot);
    launches_.clear();
    transfers_.clear();
}

void Declaration::keep(Plan &plan) {
    plan.key = key_;
    std::swap(plan.launches, launches_);
    std::swap(plan.transfers, transfers_);
    plan.scratch_bytes = scratch_arena_.required();
    plan.copied_bytes = copies_arena_.required();
    plan.pinned_bytes = pinned_arena_.required();
}

std::byte *Declaration::address(std::byte *data) {
    const auto value = reinterpret_cast<std::uintptr_t>(data);
    const std::uintptr_t rest = value % address_unit;
    if (!looks())
        return Plan::symbol(slots_++, recording_) + rest;
    key_.push_back(rest);
    bases_.push_back(value - rest);
    if (bases_.size() > Plan::max_slots)
        throw Error(Status::internal, "a run has too many addresses");
    return data;
}

Image Declaration::place(const Image &like, Arena &arena) {
    Image image = like;
    image.memory = Memory::cuda;
    for (int i = 0; i < like.plane_count(); i++) {
        const PlaneShape shape = like.shape(i);
        const std::size_t pitch =
            round_up(static_cast<std::size_t>(shape.row_bytes()), pitch_alignment);
        image.planes[i] = {arena.allocate<std::byte>(pitch * shape.rows),
                           static_cast<std::int64_t>(pitch)};
    }
    return image;
}

void Declaration::image_of(const char *name, Image &image, bool output,
                           const std::uint32_t *refused) {
    const bool host = image.memory == Memory::host;
    value(std::array{static_cast<int>(host), static_cast<int>(image.format), image.width,
                     image.height, static_cast<int>(image.color_matrix),
                     static_cast<int>(image.color_range)});
    if (host && !looks())
        image = place(image, copies_arena_);
    for (int i = 0; i < image.plane_count(); i++) {
        Plane &plane = image.planes[i];
        const PlaneShape shape = image.shape(i);
        if (!host) {
            value(plane.stride);
            plane.data = address(plane.data);
        } else if (looks()) {
            on_host_.push_back({name, plane.data, plane.stride});
        } else {
            auto *const pinned = pinned_arena_.allocate<std::byte>(plane.stride * shape.rows);
            transfers_.push_back({output, plane.data, pinned, shape.row_bytes(), plane.stride,
                                  shape.rows, nullptr, refused});
        }
    }
}

void Declaration::items_of(const char *name, BufferView &view, std::size_t &stride,
                           const Items &items, bool output) {
    const bool host = view.memory == Memory::host;
    value(host);
    value(items.bytes);
    value(items.capacity);
    if (!host) {
        value(stride);
        view.data = address(view.data);
    } else if (looks()) {
        on_host_.push_back({name, view.data, static_cast<std::int64_t>(stride)});
    } else {
        const std::size_t bytes = items.bytes * items.capacity;
        auto *const pinned = pinned_arena_.allocate<std::byte>(bytes);
        auto *const device =
            !output || items.in_scratch ? copies_arena_.allocate<std::byte>(bytes) : nullptr;
        const auto item_bytes = static_cast<std::int64_t>(items.bytes);
        transfers_.push_back(
            {output, device, pinned, item_bytes, item_bytes, items.capacity, items.count, nullptr});
        view.memory = Memory::cuda;
        view.data = device ? device : pinned;
        stride = items.bytes;
    }
}

} // namespace gpv::cuda
