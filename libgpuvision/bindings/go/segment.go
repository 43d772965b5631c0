// SPDX-License-Identifier: BSD-2-Clause

package gpuvision

/*
#include "binding.h"

static gpv_status gpv_go_segment_run(gpv_segment *op, uintptr_t stream, const gpv_image *src,
                                     const gpv_image *seeds, const gpv_rect *rect,
                                     const gpv_image *mask, const gpv_image *dst,
                                     const gpv_buffer *result) {
    return gpv_segment_run(op, (gpv_stream)stream, src, seeds, rect, mask, dst, result);
}
*/
import "C"

import "image"

// Values of seeds. Those below 4 are the values of a mask of OpenCV's grabCut.
const (
	SegmentSeedBackground         = C.GPV_SEGMENT_SEED_BACKGROUND          // known to be background
	SegmentSeedForeground         = C.GPV_SEGMENT_SEED_FOREGROUND          // known to be foreground
	SegmentSeedProbablyBackground = C.GPV_SEGMENT_SEED_PROBABLY_BACKGROUND // not known; first learned from as background
	SegmentSeedProbablyForeground = C.GPV_SEGMENT_SEED_PROBABLY_FOREGROUND // not known; first learned from as foreground
	SegmentSeedUnknown            = C.GPV_SEGMENT_SEED_UNKNOWN             // nothing is known
	SegmentSeedWhite              = C.GPV_SEGMENT_SEED_WHITE               // known to be foreground, as in a mask
)

// Limits of segmentation.
const (
	SegmentUnit          = C.GPV_SEGMENT_UNIT           // capacity between two pixels of one colour
	SegmentMaxIterations = C.GPV_SEGMENT_MAX_ITERATIONS // largest Iterations
	SegmentMaxWeight     = C.GPV_SEGMENT_MAX_WEIGHT     // largest Lambda and Sigma
)

// SegmentImages are what a run knows beside the picture, and what it writes. Each may be nil.
type SegmentImages struct {
	// Seeds: GRAY8, size of src, of SegmentSeedBackground and the other five: 0 background, 1 or 255
	// foreground, 2 probably background, 3 probably foreground, 128 not known. Inside Rect one pixel
	// at least is not known. Memory of src; of Run also host memory.
	Seeds *Image
	// Rect: what lies outside is background. It lies within src, and is not empty.
	Rect *image.Rectangle
	// Mask: GRAY8, NV12 or I420, size and memory of src: receives 255 in the foreground, 0 in the
	// background; chroma 128.
	Mask *Image
	// Dst receives what SegmentParams.Output says; size and memory of src; may be src.
	Dst *Image
}

// Segment divides a picture into foreground and background by an exact minimum cut, as the
// element gpugraphcut does. See gpuvision/segment.h.
type Segment struct {
	*object[*C.gpv_segment]
}

// NewSegment creates an operator; nil means all defaults.
func NewSegment(context *Context, params *SegmentParams) (*Segment, error) {
	return newOperator[Segment](context, func(op **C.gpv_segment) C.gpv_status {
		return C.gpv_segment_create(context.handle, params.c(), op)
	}, func(op **C.gpv_segment) { C.gpv_segment_destroy(op) })
}

// SetParams changes the parameters of the runs that follow; nil means all defaults. On failure the
// old ones stay. What has been learned is forgotten if Model changes.
func (s *Segment) SetParams(params *SegmentParams) error {
	return s.call(func() C.gpv_status {
		return C.gpv_segment_set_params(s.handle, params.c())
	})
}

// Forget forgets what has been learned: the next run learns from its seeds, as the first one did.
// For where a new scene begins.
func (s *Segment) Forget() error {
	return s.call(func() C.gpv_status { return C.gpv_segment_forget(s.handle) })
}

// Learned waits for the last run, and says whether the next one, unless WarmStart is none, begins
// with what has been learned: if not, it learns from its seeds.
func (s *Segment) Learned() (bool, error) {
	var learned C.uint32_t
	err := s.call(func() C.gpv_status { return C.gpv_segment_learned(s.handle, &learned) })
	return learned != 0, err
}

// Prepare allocates all that a run on such images needs, so that the run allocates nothing. Of
// images, pixels are not looked at; Rect is not used.
func (s *Segment) Prepare(src *Image, images SegmentImages) error {
	return s.submit(func(v *views, _ C.uintptr_t) C.gpv_status {
		return C.gpv_segment_prepare(s.handle, v.shape(src), v.shape(images.Seeds),
			v.shape(images.Mask), v.shape(images.Dst))
	})
}

func (s *Segment) start(v *views, stream C.uintptr_t, src *Image, images SegmentImages,
	result DeviceBuffer) C.gpv_status {
	var rect *C.gpv_rect
	if r := images.Rect; r != nil {
		rect = &C.gpv_rect{
			x:      clamp(r.Min.X),
			y:      clamp(r.Min.Y),
			width:  clamp(r.Dx()),
			height: clamp(r.Dy()),
		}
	}
	return C.gpv_go_segment_run(s.handle, stream, v.image(src), v.image(images.Seeds), rect,
		v.image(images.Mask), v.image(images.Dst), v.device(result))
}

func (s *Segment) wait(result *GraphcutResult) C.gpv_status {
	var c C.gpv_graphcut_result
	C.gpv_graphcut_result_init(&c, C.sizeof_gpv_graphcut_result)
	status := C.gpv_segment_wait(s.handle, &c)
	result.set(&c)
	return status
}

// Run divides a picture into foreground and background, and waits. The result is that of the last
// cut. If no pixel is known, the colours of the picture are divided into two clusters, of which the
// one with more of the picture's edge is the background.
//
// src: a picture, see [Format].
func (s *Segment) Run(src *Image, images SegmentImages) (result GraphcutResult, err error) {
	err = s.run(func(v *views, stream C.uintptr_t) C.gpv_status {
		status := s.start(v, stream, src, images, DeviceBuffer{})
		if status == C.GPV_OK {
			status = s.wait(&result)
		}
		return status
	})
	return result, err
}

// Enqueue is as Run, for CUDA memory, and does not wait.
//
// result: receives a gpv_graphcut_result, aligned to 8; may be the zero value.
func (s *Segment) Enqueue(src *Image, images SegmentImages, result DeviceBuffer) error {
	err := requireDevice(argument{"src", src}, argument{"seeds", images.Seeds},
		argument{"mask", images.Mask}, argument{"dst", images.Dst}, argument{"result", result})
	if err != nil {
		return err
	}
	return s.submit(func(v *views, stream C.uintptr_t) C.gpv_status {
		return s.start(v, stream, src, images, result)
	})
}

// Query says whether the last run has finished, without waiting; true if there was none.
func (s *Segment) Query() (bool, error) {
	return s.query(func() C.gpv_status { return C.gpv_segment_query(s.handle) })
}

// Wait waits until the last run has finished, and says what its last cut is.
func (s *Segment) Wait() (result GraphcutResult, err error) {
	err = s.call(func() C.gpv_status { return s.wait(&result) })
	return result, err
}
