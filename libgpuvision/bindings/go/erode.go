// SPDX-License-Identifier: BSD-2-Clause

package gpuvision

/*
#include "binding.h"

static gpv_status gpv_go_erode_run(gpv_erode *op, uintptr_t stream, const gpv_image *src,
                                   const gpv_image *dst) {
    return gpv_erode_run(op, (gpv_stream)stream, src, dst);
}
*/
import "C"

// Erode is erosion, and the rest of morphology with flat structuring elements. See
// gpuvision/erode.h.
type Erode struct {
	*object[*C.gpv_erode]
}

// NewErode creates an operator; nil means all defaults.
func NewErode(context *Context, params *ErodeParams) (*Erode, error) {
	return newOperator[Erode](context, func(op **C.gpv_erode) C.gpv_status {
		return C.gpv_erode_create(context.handle, params.c(), op)
	}, func(op **C.gpv_erode) { C.gpv_erode_destroy(op) })
}

// SetParams changes the parameters of the runs that follow; nil means all defaults. On failure the
// old ones stay.
func (e *Erode) SetParams(params *ErodeParams) error {
	return e.call(func() C.gpv_status {
		return C.gpv_erode_set_params(e.handle, params.c())
	})
}

// Prepare allocates all that a run on images like this needs, so that the run allocates nothing.
// Of like, pixels are not looked at.
func (e *Erode) Prepare(like *Image) error {
	return e.submit(func(v *views, _ C.uintptr_t) C.gpv_status {
		return C.gpv_erode_prepare(e.handle, v.shape(like))
	})
}

// Run runs the operation from src to dst, and waits.
//
// src: a picture, see [Format].
//
// dst: same format, size and memory; may be src, must not overlap it otherwise.
func (e *Erode) Run(src, dst *Image) error {
	return e.run(func(v *views, stream C.uintptr_t) C.gpv_status {
		status := C.gpv_go_erode_run(e.handle, stream, v.image(src), v.image(dst))
		if status == C.GPV_OK {
			status = C.gpv_erode_wait(e.handle)
		}
		return status
	})
}

// Enqueue is as Run, for images in CUDA memory, and does not wait.
func (e *Erode) Enqueue(src, dst *Image) error {
	if err := requireDevice(argument{"src", src}, argument{"dst", dst}); err != nil {
		return err
	}
	return e.submit(func(v *views, stream C.uintptr_t) C.gpv_status {
		return C.gpv_go_erode_run(e.handle, stream, v.image(src), v.image(dst))
	})
}

// Query says whether the last run has finished, without waiting; true if there was none.
func (e *Erode) Query() (bool, error) {
	return e.query(func() C.gpv_status { return C.gpv_erode_query(e.handle) })
}

// Wait waits until the last run has finished.
func (e *Erode) Wait() error {
	return e.call(func() C.gpv_status { return C.gpv_erode_wait(e.handle) })
}
