// SPDX-License-Identifier: BSD-2-Clause
// Runs a grid: one fiber for each thread, one at a time, in an order that the seed decides.
#pragma once

#include <cstddef>
#include <vector>

#include <cuda_runtime.h>

namespace simt {

using Kernel = void (*)(const Call &);

struct Launch {
    Kernel kernel;
    dim3 grid, block;
    std::size_t shared_bytes;
    bool cooperative;
    std::vector<std::byte> parameter;
};

/// Returns when all threads have returned. Ends the program with a report if they cannot.
void run(const Launch &launch);

/// Writes noise, so that a result which depends on memory nobody wrote is wrong.
void fill(void *memory, std::size_t bytes);

} // namespace simt
