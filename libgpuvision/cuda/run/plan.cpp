// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/run/plan.hpp"

#include "core/error.hpp"

namespace gpv::cuda {
namespace {

std::uintptr_t number(const std::byte *address) {
    return reinterpret_cast<std::uintptr_t>(address);
}

} // namespace

void Plan::relate(const LaunchList &again, std::size_t slots) {
    if (!launches.same_shape(again))
        throw Error(Status::internal, "a plan depends on more than its key");
    const std::span<const std::uint64_t> first = launches.words(), second = again.words();
    for (std::size_t i = 0; i < first.size(); i++) {
        const std::uintptr_t by = second[i] - first[i];
        const std::size_t slot = slot_of(by / difference);
        if (by == 0 || slot >= slots || by != multiple(slot) * difference)
            continue;
        relocations_.push_back({i, slot, first[i] - number(symbol(slot, 0))});
    }
}

void Plan::patch(const std::vector<std::uintptr_t> &bases) {
    if (bases == bases_)
        return;
    bases_ = bases;
    const auto words = launches.words();
    for (const Relocation &at : relocations_)
        words[at.word] = bases[at.slot] + at.offset;
}

Transfer Plan::resolved(Transfer transfer) const {
    const auto resolve = [this](std::byte *&symbolic) {
        if (!symbolic)
            return;
        const std::size_t slot = slot_of(number(symbolic) >> slot_bits);
        symbolic = reinterpret_cast<std::byte *>(bases_[slot] + (symbolic - symbol(slot, 0)));
    };
    resolve(transfer.device);
    resolve(transfer.pinned);
    return transfer;
}

} // namespace gpv::cuda
