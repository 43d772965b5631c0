// SPDX-License-Identifier: BSD-2-Clause

// Package gpuvision is classical vision on CUDA devices and on the CPU: erosion and the rest of
// morphology, connected components, k-means, SIFT, matching, homographies, minimum cuts and
// segmentation. It binds libgpuvision; the headers gpuvision/*.h are the contract, and say more of
// each algorithm than is repeated here.
//
// # Objects
//
// A [Context] is a backend on a device. An operator ([Erode], [Ccl], [Kmeans], [Sift], [Match],
// [Graphcut], [Segment]) is made from a context, and keeps what it needs from one run to the next,
// so make it once and run it often. Close frees an object at once; it may be called twice, and in
// any order. An object that is dropped without it is closed by a finalizer, some time later. After
// the Close of its context an operator can only be closed. A copy of an operator is the same
// operator: they are closed together. A Context must not be copied.
//
// # Goroutines
//
// The library allows one thread at a time in a context and all that is made from it. Every method
// takes the lock of the context, so objects may be used from any goroutine; those of one context
// wait for each other. What is to run at the same time takes contexts of its own.
//
// # Parameters
//
// A nil pointer to parameters means all defaults. The zero value of a struct of parameters does
// not, except for [ContextParams]: start from the function that gives the defaults, such as
// [DefaultErodeParams].
//
// # Memory
//
// Methods named Run, Describe and Draw take images in host or CUDA memory, and have finished when
// they return; while they run, nothing else may write what they read, or touch what they write.
// Methods whose names begin with Enqueue take CUDA memory only, and return when the work is on the
// stream. That memory has to live until Wait, a Query that gives true, or [Context.Sync] with the
// stream. Images may be used by several runs at once if none of them writes.
//
// The stream of all these methods is that of the operator: SetStream sets it for what follows,
// before it is [DefaultStream].
//
// # Errors
//
// What fails in the library gives an [*Error], with the library's status and text.
// errors.Is(err, gpuvision.ErrUnsupported) asks for a status.
package gpuvision

// #cgo pkg-config: gpuvision
// #include "binding.h"
import "C"

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// Status is what a call of the library says. It is an error that [errors.Is] finds in an [*Error].
type Status int32

// The statuses of failures.
const (
	// ErrInvalidArgument: the text names parameter, value and legal range.
	ErrInvalidArgument Status = C.GPV_ERR_INVALID_ARGUMENT
	// ErrUnsupported: legal, but not offered by this backend or this release.
	ErrUnsupported Status = C.GPV_ERR_UNSUPPORTED
	// ErrOutOfMemory is about host or device memory.
	ErrOutOfMemory Status = C.GPV_ERR_OUT_OF_MEMORY
	// ErrNoDevice: there is no usable CUDA device or driver.
	ErrNoDevice Status = C.GPV_ERR_NO_DEVICE
	// ErrDevice: CUDA reported an error.
	ErrDevice Status = C.GPV_ERR_DEVICE
	// ErrTooSmall: an output has no room for all that was found.
	ErrTooSmall Status = C.GPV_ERR_TOO_SMALL
	// ErrDeviceLost: the CUDA context is poisoned; close everything and start anew.
	ErrDeviceLost Status = C.GPV_ERR_DEVICE_LOST
	// ErrInternal is a fault of the library.
	ErrInternal Status = C.GPV_ERR_INTERNAL
)

// Error is the library's name of the status.
func (s Status) Error() string {
	return C.GoString(C.gpv_status_string(C.gpv_status(s)))
}

// Error is a failure in the library, or of an argument before the library was called.
type Error struct {
	Status Status
	Text   string // what the library says of it; may be empty
}

// Error is the name of the status, and the text.
func (e *Error) Error() string {
	words := e.Status.Error()
	if strings.HasPrefix(e.Text, words) {
		return e.Text
	}
	if e.Text == "" {
		return words
	}
	return words + ": " + e.Text
}

// Unwrap gives the status.
func (e *Error) Unwrap() error {
	return e.Status
}

// ErrClosed is the error of a call on an object that has been closed, or whose context has.
var ErrClosed = errors.New("gpuvision: the object or its context is closed")

func invalid(format string, arguments ...any) error {
	return &Error{ErrInvalidArgument, fmt.Sprintf(format, arguments...)}
}

// APIVersion is the version of the interface of the library that runs, 0xMMmmpp.
func APIVersion() uint32 {
	return uint32(C.gpv_api_version())
}

// Version is the release, revision and backends of the library, such as "0.1.0 5a4f0de (cpu)".
func Version() string {
	return C.GoString(C.gpv_version_string())
}

// Backend is what computes.
type Backend uint32

// The backends.
const (
	BackendAuto Backend = C.GPV_BACKEND_AUTO // CUDA where it can be used, else the CPU
	BackendCPU  Backend = C.GPV_BACKEND_CPU
	BackendCUDA Backend = C.GPV_BACKEND_CUDA
)

// Available says whether the backend is built in and, for CUDA, a driver and a device 0 are there.
func (b Backend) Available() bool {
	return C.gpv_backend_available(C.gpv_backend(b)) != 0
}

// Memory is where memory lives.
type Memory uint32

// The memories.
const (
	MemoryHost Memory = C.GPV_MEMORY_HOST // addressable by the CPU
	MemoryCUDA Memory = C.GPV_MEMORY_CUDA // CUDA device memory
)

// clamp keeps what is out of range out of range: no limit of the library lies above that of int32.
func clamp(n int) C.int32_t {
	if n > math.MaxInt32 {
		return math.MaxInt32
	}
	if n < math.MinInt32 {
		return math.MinInt32
	}
	return C.int32_t(n)
}

func flag(set bool) C.uint32_t {
	if set {
		return 1
	}
	return 0
}
