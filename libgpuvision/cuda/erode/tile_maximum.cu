// SPDX-License-Identifier: BSD-2-Clause
#include "cuda/erode/tile_kernels.cuh"

namespace gpv::cuda::erode {

const void *maximum_tile(int step, bool long_radius, int radius_x, int radius_y) {
    return tile_entry<Maximum>(step, long_radius, radius_x, radius_y);
}

} // namespace gpv::cuda::erode
