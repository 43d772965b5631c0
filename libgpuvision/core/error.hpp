// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace gpv {

/// Values are those of gpv_status.
enum class Status : std::int32_t {
    ok = 0,
    not_ready = 1,
    invalid_argument = -1,
    unsupported = -2,
    out_of_memory = -3,
    no_device = -4,
    device = -5,
    too_small = -6,
    device_lost = -7,
    internal = -99,
};

/// Thrown by every layer below api/, which turns it into a status and a text.
class Error : public std::runtime_error {
  public:
    Error(Status status, const std::string &text) : std::runtime_error(text), status_(status) {}
    Status status() const { return status_; }

  private:
    Status status_;
};

/// Name of a value in an error text: "src", "src->width", "src->stride[1]". Put
/// together only when there is an error.
struct Name {
    const char *owner;
    const char *field;
    int index;

    Name(const char *name) : Name(name, nullptr) {}
    Name(const char *owner_, const char *field_, int index_ = -1)
        : owner(owner_), field(field_), index(index_) {}

    std::string text() const {
        std::string result = owner;
        if (field)
            result.append(result.empty() ? "" : "->").append(field);
        if (index >= 0)
            result.append("[").append(std::to_string(index)).append("]");
        return result;
    }
};

/// Shortest text that reads back as the same number.
template <class T>
std::string number_text(T value) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

/// "radius is 300, must be 0..255"
template <class T>
void require_range(const Name &name, T value, T low, T high) {
    if (!(value >= low && value <= high)) // NaN too
        throw Error(Status::invalid_argument, name.text() + " is " + number_text(value) +
                                                  ", must be " + number_text(low) + ".." +
                                                  number_text(high));
}

} // namespace gpv
