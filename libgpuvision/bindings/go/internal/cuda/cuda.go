// SPDX-License-Identifier: BSD-2-Clause

// Package cuda has those calls of CUDA's driver that tests need, which cannot use cgo themselves. It
// finds the driver at run time.
package cuda

/*
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

static void *function(const char *name) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    return library ? dlsym(library, name) : NULL;
}

// Makes the primary context of device 0 current.
static int enter(void) {
    int (*init)(unsigned) = function("cuInit");
    int (*get)(int *, int) = function("cuDeviceGet");
    int (*retain)(void **, int) = function("cuDevicePrimaryCtxRetain");
    int (*set)(void *) = function("cuCtxSetCurrent");
    void *context = NULL;
    int device = 0;
    return init && !init(0) && !get(&device, 0) && !retain(&context, device) && !set(context);
}

static uintptr_t create_stream(void) {
    int (*create)(void **, unsigned) = function("cuStreamCreate");
    void *stream = NULL;
    return create(&stream, 1) ? 0 : (uintptr_t)stream; // not in step with the default stream
}

static uintptr_t upload(const uint8_t *data, size_t size) {
    int (*allocate)(uintptr_t *, size_t) = function("cuMemAlloc_v2");
    int (*copy)(uintptr_t, const void *, size_t) = function("cuMemcpyHtoD_v2");
    uintptr_t memory = 0;
    return allocate(&memory, size) || copy(memory, data, size) ? 0 : memory;
}

static int download(uintptr_t memory, uint8_t *data, size_t size) {
    int (*copy)(void *, uintptr_t, size_t) = function("cuMemcpyDtoH_v2");
    return copy(data, memory, size);
}
*/
import "C"

import "runtime"

// Enter makes device 0 current on this thread, to which it ties the goroutine. It is false where
// there is no device.
func Enter() bool {
	runtime.LockOSThread()
	return C.enter() != 0
}

// NewStream gives a stream that lives as long as the process; 0 is a failure.
func NewStream() uintptr {
	return uintptr(C.create_stream())
}

// Upload copies bytes to CUDA memory that lives as long as the process; 0 is a failure.
func Upload(b []byte) uintptr {
	return uintptr(C.upload((*C.uint8_t)(&b[0]), C.size_t(len(b))))
}

// Download copies bytes from CUDA memory.
func Download(memory uintptr, b []byte) bool {
	return C.download(C.uintptr_t(memory), (*C.uint8_t)(&b[0]), C.size_t(len(b))) == 0
}
