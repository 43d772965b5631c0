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

// MorphOperation is what is computed.
type MorphOperation uint32

// The operations.
const (
	MorphErode    MorphOperation = C.GPV_MORPH_ERODE    // minimum under the element
	MorphDilate   MorphOperation = C.GPV_MORPH_DILATE   // maximum under the element
	MorphOpen     MorphOperation = C.GPV_MORPH_OPEN     // erode, then dilate
	MorphClose    MorphOperation = C.GPV_MORPH_CLOSE    // dilate, then erode
	MorphGradient MorphOperation = C.GPV_MORPH_GRADIENT // dilate - erode
	MorphTophat   MorphOperation = C.GPV_MORPH_TOPHAT   // source - open
	MorphBlackhat MorphOperation = C.GPV_MORPH_BLACKHAT // close - source, not below 0
)

// MorphShape is the shape of the structuring element inside its box of 2 RadiusX + 1 columns and
// 2 RadiusY + 1 rows.
type MorphShape uint32

// The shapes.
const (
	MorphRect    MorphShape = C.GPV_MORPH_RECT    // the whole box
	MorphCross   MorphShape = C.GPV_MORPH_CROSS   // its middle row and middle column
	MorphEllipse MorphShape = C.GPV_MORPH_ELLIPSE // the ellipse inscribed in it
)

// MorphBorder is what pixels outside the image count as.
type MorphBorder uint32

// The borders.
const (
	MorphBorderIgnore     MorphBorder = C.GPV_MORPH_BORDER_IGNORE     // nothing
	MorphBorderBackground MorphBorder = C.GPV_MORPH_BORDER_BACKGROUND // 0
)

// MorphPlanes is which planes and channels are processed; the others are copied.
type MorphPlanes uint32

// The planes.
const (
	// MorphPlanesAuto: grey, Y of YUV, every colour channel of RGB (not alpha).
	MorphPlanesAuto MorphPlanes = C.GPV_MORPH_PLANES_AUTO
	// MorphPlanesLuma: grey and Y of YUV; RGB has no luma plane: as MorphPlanesAuto.
	MorphPlanesLuma MorphPlanes = C.GPV_MORPH_PLANES_LUMA
	// MorphPlanesAll: also U and V, with the same element on their own samples.
	MorphPlanesAll MorphPlanes = C.GPV_MORPH_PLANES_ALL
)

// ErodeParams are the parameters of an [Erode]. Start from [DefaultErodeParams].
type ErodeParams struct {
	Operation  MorphOperation // default MorphErode
	Shape      MorphShape     // default MorphRect
	RadiusX    int            // pixels, 0..255; default 1
	RadiusY    int            // pixels, 0..255, -1 = RadiusX; default -1
	Iterations int            // of each erosion and dilation, 1..255; default 1
	Threshold  int            // 0 = grey; 1..255 (GRAY16: ..65535) = binary; default 0
	Border     MorphBorder    // default MorphBorderIgnore
	Planes     MorphPlanes    // grey morphology only; default MorphPlanesAuto
}

func erodeDefaults() (c C.gpv_erode_params) {
	C.gpv_erode_params_init(&c, C.sizeof_gpv_erode_params)
	return c
}

// DefaultErodeParams gives the library's defaults.
func DefaultErodeParams() ErodeParams {
	c := erodeDefaults()
	return ErodeParams{
		Operation:  MorphOperation(c.operation),
		Shape:      MorphShape(c.shape),
		RadiusX:    int(c.radius_x),
		RadiusY:    int(c.radius_y),
		Iterations: int(c.iterations),
		Threshold:  int(c.threshold),
		Border:     MorphBorder(c.border),
		Planes:     MorphPlanes(c.planes),
	}
}

func (p *ErodeParams) c() *C.gpv_erode_params {
	if p == nil {
		return nil
	}
	c := erodeDefaults()
	c.operation = C.gpv_morph_operation(p.Operation)
	c.shape = C.gpv_morph_shape(p.Shape)
	c.radius_x = clamp(p.RadiusX)
	c.radius_y = clamp(p.RadiusY)
	c.iterations = clamp(p.Iterations)
	c.threshold = clamp(p.Threshold)
	c.border = C.gpv_morph_border(p.Border)
	c.planes = C.gpv_morph_planes(p.Planes)
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
