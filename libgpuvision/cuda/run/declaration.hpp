// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstring>
#include <optional>
#include <type_traits>
#include <vector>

#include "core/arena.hpp"
#include "core/image.hpp"
#include "cuda/run/plan.hpp"

namespace gpv::cuda {

/// Null where there is no view.
template <class T>
T *data_of(const std::optional<BufferView> &view) {
    return view ? reinterpret_cast<T *>(view->data) : nullptr;
}

/// What a run reads and writes, as its operator tells it. Each call names one thing, in the same
/// order for every run of a kind, and leaves in its place where it is for kernels: of what lies in
/// the caller's host memory there is a copy, which is made before and after them.
class Declaration {
  public:
    Declaration() = default;
    Declaration(const Declaration &) = delete;
    Declaration &operator=(const Declaration &) = delete;

    /// Whether the run is being captured in a graph, so that it may run at any time.
    bool captured() const { return captured_; }

    void input(const char *name, Image &image) { image_of(name, image, false, nullptr); }
    /// refused: as in Transfer.
    void output(const char *name, Image &image, const std::uint32_t *refused = nullptr) {
        image_of(name, image, true, refused);
    }

    /// Items of one size.
    struct Items {
        std::size_t bytes;                   ///< of one
        std::int64_t capacity;               ///< how many there is room for
        const std::int32_t *count = nullptr; ///< of an output: how many there are after the run
        bool in_scratch = false; ///< of an output: kernels read it, and do not write to the host
    };
    void input(const char *name, BufferView &view, Items items) {
        items_of(name, view, items.bytes, items, false);
    }
    void output(const char *name, BufferView &view, Items items) {
        items_of(name, view, items.bytes, items, true);
    }
    /// The same, records.stride bytes apart.
    template <class Records>
    auto input(const char *name, Records &records, const Items &items)
        -> decltype(records.stride, void()) {
        items_of(name, records.view, records.stride, items, false);
    }
    template <class Records>
    auto output(const char *name, Records &records, const Items &items)
        -> decltype(records.stride, void()) {
        items_of(name, records.view, records.stride, items, true);
    }

    /// All these, where they are wanted.
    template <class T, class... More>
    void input(const char *name, std::optional<T> &thing, const More &...more) {
        if (is_given(thing))
            input(name, *thing, more...);
    }
    template <class T, class... More>
    void output(const char *name, std::optional<T> &thing, const More &...more) {
        if (is_given(thing))
            output(name, *thing, more...);
    }

    /// Device memory. May be null.
    template <class T>
    void pointer(T *&data) {
        value(data != nullptr);
        if (data)
            data = reinterpret_cast<T *>(address(reinterpret_cast<std::byte *>(data)));
    }
    void pointer(std::optional<BufferView> &view) {
        if (is_given(view))
            view->data = address(view->data);
    }
    /// Anything else that kernels depend on, but parameters. It has neither pointers nor padding.
    template <class T>
    void value(const T &thing) {
        static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);
        if (!looks())
            return;
        const std::size_t at = key_.size();
        key_.resize(at + (sizeof(T) + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
        std::memcpy(&key_[at], &thing, sizeof(T));
    }

    /// The run reads what the last one has left, and changes neither its results nor its outputs.
    void continue_last_run() { continues_ = true; }

    /// Scratch: see Arena.
    template <class T>
    T *allocate(std::size_t count, std::size_t front = 0) {
        return scratch_arena_.allocate<T>(count, front);
    }
    std::size_t mark() const { return scratch_arena_.mark(); }
    void rewind(std::size_t mark) { scratch_arena_.rewind(mark); }
    /// An image in scratch, with padded rows, of the shape of like.
    Image place(const Image &like) { return place(like, scratch_arena_); }

  protected:
    LaunchList launches_;

  private:
    friend class Runner;

    // A run is looked at first. Where no plan has its key, it is recorded.
    void look(bool captured, const void *kind);
    void record(int recording);
    /// Moves what has been recorded.
    void keep(Plan &plan);
    bool looks() const { return recording_ < 0; }
    template <class T>
    bool is_given(const std::optional<T> &thing) {
        value(thing.has_value());
        return thing.has_value();
    }
    std::byte *address(std::byte *data);
    Image place(const Image &like, Arena &arena);
    void image_of(const char *name, Image &image, bool output, const std::uint32_t *refused);
    void items_of(const char *name, BufferView &view, std::size_t &stride, const Items &items,
                  bool output);

    bool captured_ = false, continues_ = false;
    int recording_ = -1; ///< which one; -1: looks

    // Of the run that is looked at.
    std::vector<std::uint64_t> key_;
    std::vector<std::uintptr_t> bases_;
    std::vector<HostRows> on_host_; ///< in the order of the plan's transfers

    // Of the run that is recorded.
    std::size_t slots_ = 0; ///< so far
    Arena scratch_arena_{scratch_alignment}, copies_arena_{scratch_alignment},
        pinned_arena_{scratch_alignment};
    std::vector<Transfer> transfers_;
};

} // namespace gpv::cuda
