// SPDX-License-Identifier: BSD-2-Clause
#pragma once

inline int nvtxRangePushA(const char *) {
    return 0;
}
inline int nvtxRangePop() {
    return 0;
}
