// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace gpv::cuda::erode {

/// tile_entry<Maximum>(), of erode/tile_kernels.cuh. In a file of its own: half of the kernels that
/// take longest to compile.
const void *maximum_tile(int step, bool long_radius, int radius_x, int radius_y);

} // namespace gpv::cuda::erode
