// SPDX-License-Identifier: BSD-2-Clause
// What every fuzz target needs: bits to read, an allocator that can fail, and pictures whose
// memory is exactly as large as promised.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <gpuvision/gpuvision.h>
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include "common/formats.hpp"

using formats::Channel, formats::channels_of, formats::is_yuv, formats::sample_bytes;

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);    \
            std::abort();                                                                          \
        }                                                                                          \
    } while (0)

inline constexpr std::int64_t max_bytes = 1 << 20;  ///< of a plane; an allocation: 64 times
inline constexpr std::int64_t max_pixels = 1 << 18; ///< a run must end in a second

/// A parameter of gpv_<stem>_params. For limit() alone: what is to be refused, targets know
/// themselves.
inline gpv_field field_of(const char *stem, const char *name) {
    gpv_field field;
    for (std::int32_t i = 0; gpv_params_describe(stem, i, &field, sizeof field) == GPV_OK; i++)
        if (std::strcmp(field.name, name) == 0)
            return field;
    std::abort();
}

/// Keeps a run short: at most so much of a parameter. What is above its range stays, to be refused.
template <class T>
void limit(const char *stem, const char *name, T &value, T most) {
    if (value <= field_of(stem, name).high)
        value = std::min(value, most);
}

class Input {
  public:
    Input(const std::uint8_t *data, std::size_t size) : data_(data), left_(size) {}

    /// The next bits as they are; zeros behind the end.
    template <class T>
    T raw() {
        T value{};
        const std::size_t count = std::min(sizeof value, left_);
        if (count) // data may be null
            std::memcpy(&value, data_, count);
        data_ += count;
        left_ -= count;
        return value;
    }
    int below(int limit) { return raw<std::uint8_t>() % limit; }
    bool flag() { return raw<std::uint8_t>() & 1; }
    /// Not where the input has ended.
    bool once_in(int limit) { return below(limit) == limit - 1; }

  private:
    const std::uint8_t *data_;
    std::size_t left_;
};

/// Where large allocations lie, one behind the other. New pages for each would take longer than a
/// run; so the pages stay, and AddressSanitizer is told what of them is in use. It sees less than
/// of malloc: red zones have 256 to 511 bytes, and what was given back is in use again once all
/// was, with no quarantine between runs. What a block holds at first is the same in every run, but
/// only for a MiB, which takes no time that can be measured; the rest would take kmeans a fifth
/// more, and holds what earlier runs wrote.
class Pool {
  public:
    /// Null where there is no room.
    std::uint8_t *take(std::size_t size) {
        static constexpr std::size_t alignment = 256;
        const std::size_t first = used_ + alignment; // a gap in front
        const std::size_t end = first + (size + alignment - 1) / alignment * alignment;
        if (end > maximum)
            return nullptr;
        blocks_.push_back({begin_ + first, size});
        ASAN_UNPOISON_MEMORY_REGION(begin_ + first, size);
        used_ = end;
        std::memset(begin_ + first, fresh, std::min<std::size_t>(size, max_bytes));
        return begin_ + first;
    }
    /// False for what is not of the pool.
    bool give_back(const void *memory) {
        const auto block = std::find_if(blocks_.begin(), blocks_.end(),
                                        [&](const Block &b) { return b.memory == memory; });
        if (block == blocks_.end())
            return false;
        ASAN_POISON_MEMORY_REGION(block->memory, block->size);
        blocks_.erase(block);
        if (blocks_.empty())
            used_ = 0;
        return true;
    }

  private:
    struct Block {
        std::uint8_t *memory;
        std::size_t size;
    };
    static constexpr std::size_t maximum = 64 * max_bytes;
    static constexpr int fresh = 0xBE; // as AddressSanitizer's malloc

    static std::uint8_t *map() {
        void *memory =
            mmap(nullptr, maximum, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(memory != MAP_FAILED);
        ASAN_POISON_MEMORY_REGION(memory, maximum);
        return static_cast<std::uint8_t *>(memory);
    }

    std::uint8_t *const begin_ = map();
    std::size_t used_ = 0;
    std::vector<Block> blocks_;
};
inline Pool pool;

/// User data of the allocator.
struct Budget {
    int fail_at = 0; ///< the allocation that fails, counted from 1; 0 = none
    int live = 0;
};

inline void *allocate(void *user, gpv_memory, std::uint64_t size, gpv_stream) {
    auto *budget = static_cast<Budget *>(user);
    if (size > 64 * max_bytes || --budget->fail_at == 0)
        return nullptr;
    void *memory = size > max_bytes / 16 ? pool.take(size) : nullptr;
    if (!memory)
        REQUIRE(posix_memalign(&memory, 256, size) == 0);
    budget->live++;
    return memory;
}

inline void release(void *user, gpv_memory, void *memory, gpv_stream) {
    static_cast<Budget *>(user)->live--;
    if (!pool.give_back(memory))
        std::free(memory);
}

struct Fields {
    gpv_format format;
    std::int32_t width, height;
};

/// Mostly few pixels, in which nearly all that goes wrong does: a run is quick.
inline int read_side(Input &in, int maximum) {
    const int value = in.below(256), larger = value - (256 - maximum);
    return 1 + (larger < 0 ? value % 24 : larger);
}

inline Fields read_fields(Input &in) {
    if (in.once_in(16))
        return {in.raw<gpv_format>(), in.raw<std::int32_t>(), in.raw<std::int32_t>()};
    const auto format = static_cast<gpv_format>(1 + in.below(GPV_FORMAT_RGBP8));
    const int width = read_side(in, 72);
    return {format, width, read_side(in, 40)};
}

inline int grey_of(const std::array<int, 3> &color) {
    return (77 * color[0] + 150 * color[1] + 29 * color[2] + 128) / 256;
}

/// A view and the memory behind it.
struct Picture {
    gpv_image view;
    bool legal = true;  ///< size and strides can be accepted
    bool wild = false;  ///< the other fields may be anything
    bool backed = true; ///< the memory that they speak of is there
    std::vector<std::unique_ptr<std::uint8_t[]>> blocks;
    std::vector<std::size_t> sizes;

    Picture(Input &in, const Fields &fields) {
        gpv_image_init(&view, sizeof view);
        view.format = fields.format;
        view.width = fields.width;
        view.height = fields.height;
        wild = in.once_in(16);
        if (wild) {
            view.memory = in.raw<gpv_memory>();
            view.device = in.raw<std::int32_t>();
            view.color_matrix = in.raw<gpv_color_matrix>();
            view.color_range = in.raw<gpv_color_range>();
        }
        backed = std::int64_t{view.width} * view.height <= max_pixels;
        for (int i = 0; i < GPV_MAX_PLANES; i++)
            add_plane(i, in);
    }

    void add_plane(int i, Input &in) {
        std::int64_t row_bytes = 1, rows = 1;
        const bool there =
            gpv_format_plane(view.format, i, view.width, view.height, &row_bytes, &rows) == GPV_OK;
        if (!there && i > 0)
            return;
        const std::size_t sample = sample_bytes(view.format);
        const std::int64_t stride =
            wild ? in.raw<std::int64_t>() : row_bytes + in.below(9) * std::int64_t(sample);
        const std::size_t offset = in.below(8) * (wild ? 1 : sample);
        std::size_t size = 1;
        legal = legal && there && stride >= row_bytes;
        if (row_bytes > max_bytes || (rows > 1 && stride > max_bytes / rows))
            backed = false;
        else if (legal && backed)
            size = stride * (rows - 1) + row_bytes;
        auto *const block = new std::uint8_t[offset + size];
        blocks.emplace_back(block);
        sizes.push_back(offset + size);
        std::uint32_t state = in.raw<std::uint16_t>();
        const std::uint32_t sparse = in.below(4); // flat, or with few or many levels
        for (std::size_t k = 0; k < offset + size; k++) {
            state = state * 1664525u + 1013904223u;
            block[k] = sparse == 0   ? 200
                       : sparse == 1 ? (state >> 24 > 250 ? 255 : 0)
                                     : static_cast<std::uint8_t>(state >> 24);
        }
        view.data[i] = block + offset;
        view.stride[i] = stride;
    }

    std::vector<std::vector<std::uint8_t>> bytes() const {
        std::vector<std::vector<std::uint8_t>> all;
        for (std::size_t i = 0; i < blocks.size(); i++)
            all.emplace_back(blocks[i].get(), blocks[i].get() + sizes[i]);
        return all;
    }

    const std::uint8_t *row(int plane, std::int64_t y) const {
        return static_cast<const std::uint8_t *>(view.data[plane]) + y * view.stride[plane];
    }
    std::uint8_t *row(int plane, std::int64_t y) {
        return static_cast<std::uint8_t *>(view.data[plane]) + y * view.stride[plane];
    }

    /// The i-th sample of a row of samples.
    const std::uint8_t *place(const Channel &c, int i, int y) const {
        return row(c.plane, y) +
               (c.offset + std::ptrdiff_t{i} * c.step) * std::ptrdiff_t(sample_bytes(view.format));
    }
    int sample(const Channel &c, int i, int y) const {
        std::uint16_t value = *place(c, i, y);
        if (sample_bytes(view.format) == 2)
            std::memcpy(&value, place(c, i, y), sizeof value);
        return value;
    }
    int columns(const Channel &c) const { return (view.width + c.across - 1) / c.across; }
    int rows(const Channel &c) const { return (view.height + c.down - 1) / c.down; }

    /// R, G and B in bytes, of what is not YUV.
    std::array<int, 3> color(const std::vector<Channel> &channels, int x, int y) const {
        const int first = sample(channels[0], x, y);
        if (channels.size() > 1)
            return {first, sample(channels[1], x, y), sample(channels[2], x, y)};
        const int grey = sample_bytes(view.format) == 2 ? (first + 128) / 257 : first;
        return {grey, grey, grey};
    }
};

/// A buffer and the memory behind it, aligned to 8 but for an offset.
struct Flat {
    static constexpr std::uint8_t canary = 0xC5;
    gpv_buffer view;
    std::vector<std::uint8_t> block;

    Flat(Input &in, std::size_t bytes) {
        const std::size_t offset = in.once_in(8) ? in.below(8) : 0;
        gpv_buffer_init(&view, sizeof view);
        block.assign(offset + bytes, canary); // AddressSanitizer sees one byte too many
        view.data = block.data() + offset;
        view.size = bytes;
        if (in.once_in(16)) {
            view.memory = in.raw<gpv_memory>();
            view.device = in.raw<std::int32_t>();
            view.reserved = in.below(2);
        }
    }
};

inline std::unique_ptr<Flat> read_flat(Input &in, std::size_t bytes) {
    return in.flag() ? std::make_unique<Flat>(in, bytes) : nullptr;
}

/// A CPU context that allocates from the budget.
inline gpv_context *open_context(Budget &budget) {
    gpv_context *context = nullptr;
    gpv_context_params params;
    gpv_context_params_init(&params, sizeof params);
    params.backend = GPV_BACKEND_CPU;
    params.alloc = allocate;
    params.free = release;
    params.user = &budget;
    REQUIRE(gpv_context_create(&params, &context) == GPV_OK);
    return context;
}
