// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace gpv::cuda::expansion {

inline constexpr int threads_of_row = 256; ///< of a block, each with a pixel
inline constexpr int rows_to_measure = 8;  ///< of a block, each thread with a pixel of each

} // namespace gpv::cuda::expansion
