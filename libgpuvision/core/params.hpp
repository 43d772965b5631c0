// SPDX-License-Identifier: BSD-2-Clause
// The parameters of the public headers as tables: their defaults, their ranges, and what they do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <gpuvision/types.h>

namespace gpv {

/// The table of a struct. core/<stem>.hpp declares that of its stem.
struct Fields {
    const char *stem; ///< of its name
    std::span<const gpv_field> rows;
    std::size_t first_size; ///< bytes in its first release: a number, which never changes
    /// Throws Error where the fields break a rule that no row can say.
    void (*require_rules)(const void *params) = nullptr;
};

/// Writes the default of each field.
void write_defaults(const Fields &fields, void *params);

/// Throws Error naming a field and its legal values where params are not legal.
void require_legal(const Fields &fields, const void *params);

constexpr std::size_t size_of(gpv_field_kind kind) {
    return kind == GPV_FIELD_KIND_UINT64 ? 8 : 4;
}

template <class T>
constexpr gpv_field_kind number_kind() {
    if constexpr (std::is_same_v<T, float>)
        return GPV_FIELD_KIND_FLOAT;
    else if constexpr (std::is_same_v<T, std::int32_t>)
        return GPV_FIELD_KIND_INT32;
    else if constexpr (std::is_same_v<T, std::uint32_t>)
        return GPV_FIELD_KIND_UINT32;
    else
        static_assert(std::is_same_v<T, void>, "no kind of a number");
}

/// A row of a table: GPV_FIELD(number, gpv_erode_params, radius, 0, 255, 1, "pixels", "...").
#define GPV_FIELD(kind, params, field, ...)                                                        \
    gpv::tables::kind<decltype(params::field)>(#field, offsetof(params, field), __VA_ARGS__)

namespace tables {

template <class T>
constexpr gpv_field number(const char *name, std::uint32_t offset, double low, double high,
                           double initial, const char *unit, const char *text) {
    return {.struct_size = sizeof(gpv_field),
            .kind = number_kind<T>(),
            .offset = offset,
            .low = low,
            .high = high,
            .initial = initial,
            .name = name,
            .unit = unit,
            .text = text};
}

/// Any number; 0 at first.
template <class T>
constexpr gpv_field seed(const char *name, std::uint32_t offset, const char *text) {
    constexpr bool is_long = std::is_same_v<T, std::uint64_t>;
    static_assert(is_long || std::is_same_v<T, std::uint32_t>);
    return {.struct_size = sizeof(gpv_field),
            .kind = is_long ? GPV_FIELD_KIND_UINT64 : GPV_FIELD_KIND_UINT32,
            .offset = offset,
            .high = is_long ? 0.0 : 4294967295.0,
            .name = name,
            .unit = "",
            .text = text};
}

template <class T>
constexpr gpv_field flag(const char *name, std::uint32_t offset, bool initial, const char *text) {
    static_assert(std::is_same_v<T, std::uint32_t>);
    return {.struct_size = sizeof(gpv_field),
            .kind = GPV_FIELD_KIND_BOOL,
            .offset = offset,
            .high = 1,
            .initial = initial ? 1.0 : 0.0,
            .name = name,
            .unit = "",
            .text = text};
}

template <class T, std::size_t n>
constexpr gpv_field choice(const char *name, std::uint32_t offset, const gpv_choice (&choices)[n],
                           std::int32_t initial, const char *text) {
    static_assert(sizeof(T) == sizeof(std::int32_t));
    gpv_field result = {.struct_size = sizeof(gpv_field),
                        .kind = GPV_FIELD_KIND_CHOICE,
                        .offset = offset,
                        .choice_count = n,
                        .low = double(choices[0].value),
                        .high = double(choices[0].value),
                        .initial = double(initial),
                        .name = name,
                        .unit = "",
                        .text = text,
                        .choices = choices};
    for (const gpv_choice &one : choices) {
        result.low = one.value < result.low ? one.value : result.low;
        result.high = one.value > result.high ? one.value : result.high;
    }
    return result;
}

} // namespace tables

/// Whether rows have all of T, in its order, but for struct_size, what is reserved, and hole_size
/// bytes of pointers at hole.
template <class T, std::size_t n>
constexpr bool is_complete(const gpv_field (&rows)[n], std::size_t hole = 0,
                           std::size_t hole_size = 0) {
    std::size_t next = sizeof(std::uint32_t);
    const auto pass_hole = [&] { next += next == hole ? hole_size : 0; };
    for (const gpv_field &row : rows) {
        pass_hole();
        if (row.offset != next)
            return false;
        next += size_of(row.kind);
    }
    pass_hole();
    if constexpr (requires(T params) { params.reserved; })
        next += sizeof(T::reserved);
    return next == sizeof(T);
}

} // namespace gpv
