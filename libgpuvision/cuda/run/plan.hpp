// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/run/launch_list.hpp"
#include "cuda/run/staging.hpp"

namespace gpv::cuda {

/// Row pitch of internal images on the device is a multiple of this, bytes.
inline constexpr std::size_t pitch_alignment = 128;
/// Of scratch, bytes.
inline constexpr std::size_t scratch_alignment = 256;
/// What a plan may depend on of an address is its remainder by this.
inline constexpr std::size_t address_unit = 16;

/// The kernels and transfers of a run. Its addresses are symbols that stand for those of each run.
class Plan {
  public:
    /// What a symbol stands for has a slot: scratch of kernels, device copies of what is in host
    /// memory, which lie behind it, page-locked memory, and from first_slot on what the caller
    /// gives.
    static constexpr std::size_t scratch_slot = 0, copies_slot = 1, pinned_slot = 2, first_slot = 3,
                                 max_slots = 64;

    /// A run is recorded twice. Then parameters differ in addresses alone, and by how much tells
    /// the slot. What is no address cannot differ so: beside an int or a bool there is padding,
    /// which may be anything, but the lowest byte of a word and its upper half differ by other than
    /// 0 for each slot, and one of them is not padding.
    static constexpr int recordings = 2;
    static std::byte *symbol(std::size_t slot, int recording) {
        return reinterpret_cast<std::byte *>(
            multiple(slot) * ((std::uintptr_t{1} << slot_bits) + recording * difference));
    }

    /// Finds what has to be patched. again: the second recording. slots: how many there are.
    void relate(const LaunchList &again, std::size_t slots);
    /// Writes the addresses of a run into the parameters. bases: of each slot, a multiple of
    /// address_unit.
    void patch(const std::vector<std::uintptr_t> &bases);
    /// With the addresses of patch().
    Transfer resolved(Transfer transfer) const;

    std::vector<std::uint64_t> key; ///< all that the plan depends on, but parameters
    LaunchList launches;
    std::vector<Transfer> transfers;
    std::size_t scratch_bytes = 0, copied_bytes = 0, pinned_bytes = 0;

    std::size_t device_bytes() const { return scratch_bytes + copied_bytes; }

  private:
    static constexpr int slot_bits = 40; ///< of an offset, which is larger than any image
    static constexpr std::uintptr_t difference = (std::uintptr_t{1} << 32) + 4096 + address_unit;

    /// Not that of 16, by which the lowest byte of difference would become 0.
    static constexpr std::size_t multiple(std::size_t slot) { return slot + slot / 15 + 1; }
    static constexpr std::size_t slot_of(std::size_t multiple) {
        return multiple - multiple / 16 - 1;
    }

    struct Relocation {
        std::size_t word, slot;
        std::uintptr_t offset;
    };
    std::vector<Relocation> relocations_;
    std::vector<std::uintptr_t> bases_;
};

} // namespace gpv::cuda
