// SPDX-License-Identifier: BSD-2-Clause
#include <cstdint>
#include <new>

#include <sys/mman.h>

#include <hwy/targets.h>

#include "core/backends.hpp"
#include "core/device.hpp"
#include "core/error.hpp"
#include "cpu/threads.hpp"

namespace gpv::cpu {
namespace {

constexpr std::align_val_t alignment{256};

/// Asks for large pages, where there are such: with small ones, a search that goes to and fro in
/// many megabytes misses the TLB all the time.
void prefer_huge_pages([[maybe_unused]] void *memory, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
    constexpr std::uintptr_t page = 2 << 20; // of x86-64, and of Arm with small ones of 4 KiB
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    const std::uintptr_t first = (begin + page - 1) / page * page,
                         last = (begin + bytes) / page * page;
    if (first < last)
        madvise(reinterpret_cast<void *>(first), last - first, MADV_HUGEPAGE); // a hint
#endif
}

/// Every run has finished when it returns, so there is nothing to wait for.
class CpuDevice final : public Device {
  public:
    explicit CpuDevice(int thread_limit) {
        const int count = thread_count(thread_limit);
        // The best target is the lowest bit set.
        const auto targets = hwy::SupportedTargets() & HWY_TARGETS;
        name_ = std::string("CPU (") + hwy::TargetName(targets & -targets) + ", " +
                std::to_string(count) + (count == 1 ? " thread)" : " threads)");
    }

    const std::string &name() const override { return name_; }

    void require_accessible(Memory memory, int, const char *name) const override {
        if (memory != Memory::host)
            throw Error(Status::unsupported,
                        std::string(name) +
                            "->memory is GPV_MEMORY_CUDA, but the context computes on the CPU");
    }

    Memory memory() const override { return Memory::host; }
    void *allocate(std::size_t bytes) override {
        void *const memory = ::operator new(bytes, alignment, std::nothrow);
        if (memory)
            prefer_huge_pages(memory, bytes);
        return memory;
    }
    void initialize(void *, std::size_t, Stream) override {}
    void free(void *memory) noexcept override { ::operator delete(memory, alignment); }

    void synchronize(Stream) override {}
    void follow(Stream, Stream) override {}

    void *enter() override { return nullptr; }
    void leave(void *) noexcept override {}

  private:
    std::string name_;
};

bool available(int) {
    return true;
}

std::unique_ptr<Device> make_device(const gpv_context_params &params) {
    return std::make_unique<CpuDevice>(params.threads);
}

} // namespace

#define GPV_NAME(stem, Name) .make_##stem = make_##stem,
constexpr BackendFunctions functions = {
    .available = available, .make_device = make_device, GPV_STEMS(GPV_NAME)};
#undef GPV_NAME

} // namespace gpv::cpu
