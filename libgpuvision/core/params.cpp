// SPDX-License-Identifier: BSD-2-Clause
#include "core/params.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace gpv {
namespace {

template <class T>
void write(const gpv_field &row, void *params) {
    const T value = static_cast<T>(row.initial);
    std::memcpy(static_cast<std::byte *>(params) + row.offset, &value, sizeof value);
}

template <class T>
T read(const gpv_field &row, const void *params) {
    T value;
    std::memcpy(&value, static_cast<const std::byte *>(params) + row.offset, sizeof value);
    return value;
}

template <class T>
void require_in_range(const gpv_field &row, const void *params) {
    require_range({"params", row.name}, read<T>(row, params), static_cast<T>(row.low),
                  static_cast<T>(row.high));
}

/// Values without a gap are a range.
void require_choice(const gpv_field &row, const void *params) {
    if (row.high - row.low + 1 == row.choice_count)
        return require_in_range<std::uint32_t>(row, params);
    const auto value = read<std::int32_t>(row, params);
    const std::span choices(row.choices, row.choice_count);
    if (std::ranges::find(choices, value, &gpv_choice::value) != choices.end())
        return;
    std::vector<std::int32_t> legal;
    for (const gpv_choice &choice : choices)
        legal.push_back(choice.value);
    std::ranges::sort(legal);
    std::string text;
    for (const std::int32_t one : legal)
        text += (text.empty() ? "" : " or ") + std::to_string(one);
    throw Error(Status::invalid_argument, std::string("params->") + row.name + " is " +
                                              std::to_string(value) + ", must be " + text);
}

} // namespace

void write_defaults(const Fields &fields, void *params) {
    for (const gpv_field &row : fields.rows)
        switch (row.kind) {
        case GPV_FIELD_KIND_FLOAT:
            write<float>(row, params);
            break;
        case GPV_FIELD_KIND_UINT64:
            write<std::uint64_t>(row, params);
            break;
        case GPV_FIELD_KIND_INT32:
            write<std::int32_t>(row, params);
            break;
        default:
            write<std::uint32_t>(row, params);
        }
}

void require_legal(const Fields &fields, const void *params) {
    if (fields.require_rules)
        fields.require_rules(params);
    for (const gpv_field &row : fields.rows)
        switch (row.kind) {
        case GPV_FIELD_KIND_FLOAT:
            require_in_range<float>(row, params);
            break;
        case GPV_FIELD_KIND_UINT64: // any
            break;
        case GPV_FIELD_KIND_INT32:
            require_in_range<std::int32_t>(row, params);
            break;
        case GPV_FIELD_KIND_CHOICE:
            require_choice(row, params);
            break;
        default:
            require_in_range<std::uint32_t>(row, params);
        }
}

} // namespace gpv
