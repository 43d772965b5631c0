/* SPDX-License-Identifier: BSD-2-Clause */
#include "emulation.h"

#include "simt.hpp"

void emulation_fail_call(gsize k, gboolean out_of_memory) {
    simt::fail_call(k, out_of_memory ? cudaErrorMemoryAllocation : cudaSuccess);
}

void emulation_set_busy(gboolean busy) {
    simt::set_busy(busy);
}

gsize emulation_calls() {
    return simt::calls();
}

gsize emulation_alive() {
    return simt::live_bytes() + simt::live_objects();
}
