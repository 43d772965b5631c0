// SPDX-License-Identifier: BSD-2-Clause
#pragma once

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

/// What every layer below api/ throws; api/ turns it into a status and a text.
class Error : public std::runtime_error {
  public:
    Error(Status status, const std::string &text) : std::runtime_error(text), status_(status) {}
    Status status() const { return status_; }

  private:
    Status status_;
};

/// "radius_x is 300, must be 0..255"
template <class T>
void require_range(const char *name, T value, T low, T high) {
    if (value < low || value > high)
        throw Error(Status::invalid_argument, std::string(name) + " is " + std::to_string(value) +
                                                  ", must be " + std::to_string(low) + ".." +
                                                  std::to_string(high));
}

} // namespace gpv
