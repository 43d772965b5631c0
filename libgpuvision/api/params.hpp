// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "api/guard.hpp"
#include "core/params.hpp"

namespace gpv {

template <class T>
T default_params(const Fields &fields) {
    T params{};
    params.struct_size = sizeof params;
    write_defaults(fields, &params);
    return params;
}

/// Reads a caller's parameters of any age over the defaults. Throws Error if they are not legal.
template <class T>
T read_params(const T *in, const Fields &fields) {
    T params = default_params<T>(fields);
    read_struct(in, fields.first_size, "params", params);
    require_legal(fields, &params);
    if constexpr (requires { params.reserved; })
        require_range("params->reserved", params.reserved, 0u, 0u);
    return params;
}

} // namespace gpv
