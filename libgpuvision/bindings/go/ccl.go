// SPDX-License-Identifier: BSD-2-Clause

package gpuvision

/*
#include "binding.h"

static gpv_status gpv_go_ccl_run(gpv_ccl *op, uintptr_t stream, const gpv_image *src,
                                 const gpv_image *dst, const gpv_buffer *components,
                                 uint32_t component_stride, const gpv_buffer *count) {
    return gpv_ccl_run(op, (gpv_stream)stream, src, dst, components, component_stride, count);
}
*/
import "C"

import "image"

// Bounds is the bounding box.
func (c *Component) Bounds() image.Rectangle {
	return image.Rect(int(c.Left), int(c.Top), int(c.Right), int(c.Bottom))
}

// Centroid is measured from the centre of the first pixel of the image.
func (c *Component) Centroid() (x, y float64) {
	return float64(c.SumX) / float64(c.Area), float64(c.SumY) / float64(c.Area)
}

// CclResult is what a run has found.
type CclResult struct {
	Count      int // components that were not dropped, however many records fit
	Components int // records written
}

// Ccl is connected-component labelling. See gpuvision/ccl.h.
type Ccl struct {
	*object[*C.gpv_ccl]
}

// NewCcl creates an operator; nil means all defaults.
func NewCcl(context *Context, params *CclParams) (*Ccl, error) {
	return newOperator[Ccl](context, func(op **C.gpv_ccl) C.gpv_status {
		return C.gpv_ccl_create(context.handle, params.c(), op)
	}, func(op **C.gpv_ccl) { C.gpv_ccl_destroy(op) })
}

// SetParams changes the parameters of the runs that follow; nil means all defaults. On failure the
// old ones stay.
func (l *Ccl) SetParams(params *CclParams) error {
	return l.call(func() C.gpv_status {
		return C.gpv_ccl_set_params(l.handle, params.c())
	})
}

// Prepare allocates all that a run on such images needs, so that the run allocates nothing. Of
// images, pixels are not looked at. dst may be nil; components is the number of records in host
// memory that runs will ask for.
func (l *Ccl) Prepare(src, dst *Image, components int) error {
	return l.submit(func(v *views, _ C.uintptr_t) C.gpv_status {
		return C.gpv_ccl_prepare(l.handle, v.shape(src), v.shape(dst), clamp(components))
	})
}

func (l *Ccl) wait(result *CclResult) C.gpv_status {
	var c C.gpv_ccl_result
	C.gpv_ccl_result_init(&c, C.sizeof_gpv_ccl_result)
	status := C.gpv_ccl_wait(l.handle, &c)
	*result = CclResult{Count: int(c.count), Components: int(c.components)}
	return status
}

// Run labels src, and waits. Labels are 1..Count, in the raster order of the first pixel of each
// component that was not dropped; 0 is background.
//
// src: a picture, see [Format].
//
// dst: same size and memory, in a format that [CclOutput] allows; may be nil.
//
// components: receives as many as fit, in the order of their labels; may be empty.
//
// With ErrTooSmall there are more components than records, or than labels of 16 bits in dst; all
// that fits has been written, and the result counts.
func (l *Ccl) Run(src, dst *Image, components []Component) (result CclResult, err error) {
	err = l.run(func(v *views, stream C.uintptr_t) C.gpv_status {
		status := C.gpv_go_ccl_run(l.handle, stream, v.image(src), v.image(dst),
			v.buffer(bytesOf(components)), 0, nil)
		if status == C.GPV_OK {
			status = l.wait(&result)
		}
		return status
	})
	return result, err
}

// CclBuffers are the outputs of [Ccl.Enqueue] that are not images. Each may be the zero value.
type CclBuffers struct {
	Components      DeviceBuffer // gpv_ccl_component, aligned to 8
	ComponentStride int          // bytes from one record to the next, 0 = without gaps
	Count           DeviceBuffer // receives Count as one int32
}

// Enqueue is as Run, for CUDA memory, and does not wait.
func (l *Ccl) Enqueue(src, dst *Image, buffers CclBuffers) error {
	err := requireDevice(argument{"src", src}, argument{"dst", dst},
		argument{"components", buffers.Components}, argument{"count", buffers.Count})
	if err != nil {
		return err
	}
	return l.submit(func(v *views, stream C.uintptr_t) C.gpv_status {
		return C.gpv_go_ccl_run(l.handle, stream, v.image(src), v.image(dst),
			v.device(buffers.Components), C.uint32_t(clamp(buffers.ComponentStride)),
			v.device(buffers.Count))
	})
}

// Query says whether the last run has finished, without waiting; true if there was none.
func (l *Ccl) Query() (bool, error) {
	return l.query(func() C.gpv_status { return C.gpv_ccl_query(l.handle) })
}

// Wait waits until the last run has finished, and says what it has found; see [Ccl.Run].
func (l *Ccl) Wait() (result CclResult, err error) {
	err = l.call(func() C.gpv_status { return l.wait(&result) })
	return result, err
}
