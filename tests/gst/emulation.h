/* SPDX-License-Identifier: BSD-2-Clause */
/* What tests of the elements ask of the emulated CUDA toolkit in tests/simt/simt.hpp, for C. */
#ifndef TESTS_GST_EMULATION_H
#define TESTS_GST_EMULATION_H

#include <glib.h>

G_BEGIN_DECLS

/* The k-th call of CUDA from now on fails, 1 for the next; 0 takes it back. */
void emulation_fail_call(gsize k, gboolean out_of_memory);
/* Whether another process has the device for itself. */
void emulation_set_busy(gboolean busy);
/* Calls so far. */
gsize emulation_calls(void);
/* Device and pinned memory in bytes, and streams, events and graphs, all together. */
gsize emulation_alive(void);

G_END_DECLS

#endif
