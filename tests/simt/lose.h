/* SPDX-License-Identifier: BSD-2-Clause */
/* How a test poisons a context of a real device, for C. */
#ifndef TESTS_SIMT_LOSE_H
#define TESTS_SIMT_LOSE_H

#ifdef __cplusplus
extern "C" {
#endif

/* In the current context, a kernel that waits and then writes where there is no memory: what comes
   later on the stream, a cudaStream_t, does not happen. Returns the cudaError_t of the launch. */
int lose_device(void *stream, unsigned milliseconds);

#ifdef __cplusplus
}
#endif

#endif
