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

// ErodeOperation is what is computed.
type ErodeOperation uint32

// The operations.
const (
	ErodeOperationErode    ErodeOperation = C.GPV_ERODE_OPERATION_ERODE    // minimum under the element
	ErodeOperationDilate   ErodeOperation = C.GPV_ERODE_OPERATION_DILATE   // maximum under the element
	ErodeOperationOpen     ErodeOperation = C.GPV_ERODE_OPERATION_OPEN     // erode, then dilate
	ErodeOperationClose    ErodeOperation = C.GPV_ERODE_OPERATION_CLOSE    // dilate, then erode
	ErodeOperationGradient ErodeOperation = C.GPV_ERODE_OPERATION_GRADIENT // dilate - erode
	ErodeOperationTopHat   ErodeOperation = C.GPV_ERODE_OPERATION_TOPHAT   // source - open
	ErodeOperationBlackHat ErodeOperation = C.GPV_ERODE_OPERATION_BLACKHAT // close - source, not below 0
)

// ErodeShape is the shape of the structuring element inside its box of 2 Radius + 1 columns and
// 2 RadiusY + 1 rows.
type ErodeShape uint32

// The shapes.
const (
	ErodeShapeRect    ErodeShape = C.GPV_ERODE_SHAPE_RECT    // the whole box
	ErodeShapeCross   ErodeShape = C.GPV_ERODE_SHAPE_CROSS   // its middle row and middle column
	ErodeShapeEllipse ErodeShape = C.GPV_ERODE_SHAPE_ELLIPSE // the ellipse inscribed in it
)

// ErodeBorder is what pixels outside the image count as.
type ErodeBorder uint32

// The borders.
const (
	ErodeBorderIgnore     ErodeBorder = C.GPV_ERODE_BORDER_IGNORE     // nothing
	ErodeBorderBackground ErodeBorder = C.GPV_ERODE_BORDER_BACKGROUND // 0
)

// ErodePlanes is which planes and channels are processed; the others are copied.
type ErodePlanes uint32

// The planes.
const (
	// ErodePlanesAuto: grey, Y of YUV, every colour channel of RGB (not alpha).
	ErodePlanesAuto ErodePlanes = C.GPV_ERODE_PLANES_AUTO
	// ErodePlanesLuma: grey and Y of YUV; RGB has no luma plane: as ErodePlanesAuto.
	ErodePlanesLuma ErodePlanes = C.GPV_ERODE_PLANES_LUMA
	// ErodePlanesAll: also U and V, with the same element on their own samples.
	ErodePlanesAll ErodePlanes = C.GPV_ERODE_PLANES_ALL
)

// ErodeParams are the parameters of an [Erode]. Start from [DefaultErodeParams].
type ErodeParams struct {
	Operation  ErodeOperation // default ErodeOperationErode
	Shape      ErodeShape     // default ErodeShapeRect
	Radius     int            // pixels, 0..255; default 1
	RadiusY    int            // pixels, 0..255, -1 = Radius; default -1
	Iterations int            // of each erosion and dilation, 1..255; default 1
	Threshold  int            // 0 = grey; 1..255 (GRAY16: ..65535) = binary; default 0
	Border     ErodeBorder    // default ErodeBorderIgnore
	Planes     ErodePlanes    // grey morphology only; default ErodePlanesAuto
}

func erodeDefaults() (c C.gpv_erode_params) {
	C.gpv_erode_params_init(&c, C.sizeof_gpv_erode_params)
	return c
}

// DefaultErodeParams gives the library's defaults.
func DefaultErodeParams() ErodeParams {
	c := erodeDefaults()
	return ErodeParams{
		Operation:  ErodeOperation(c.operation),
		Shape:      ErodeShape(c.shape),
		Radius:     int(c.radius),
		RadiusY:    int(c.radius_y),
		Iterations: int(c.iterations),
		Threshold:  int(c.threshold),
		Border:     ErodeBorder(c.border),
		Planes:     ErodePlanes(c.planes),
	}
}

func (p *ErodeParams) c() *C.gpv_erode_params {
	if p == nil {
		return nil
	}
	c := erodeDefaults()
	c.operation = C.gpv_erode_operation(p.Operation)
	c.shape = C.gpv_erode_shape(p.Shape)
	c.radius = clamp(p.Radius)
	c.radius_y = clamp(p.RadiusY)
	c.iterations = clamp(p.Iterations)
	c.threshold = clamp(p.Threshold)
	c.border = C.gpv_erode_border(p.Border)
	c.planes = C.gpv_erode_planes(p.Planes)
	return &c
}

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
// src: GRAY8, GRAY16, RGB8, BGR8, RGBA8, BGRA8, RGBX8, BGRX8, NV12 or I420.
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
