// SPDX-License-Identifier: BSD-2-Clause

package gpuvision

/*
#include "binding.h"

static gpv_status gpv_go_sift_run(gpv_sift *op, uintptr_t stream, const gpv_image *src,
                                  const gpv_image *mask, const gpv_buffer *keypoints,
                                  uint32_t keypoint_stride, const gpv_buffer *descriptors,
                                  const gpv_buffer *result) {
    return gpv_sift_run(op, (gpv_stream)stream, src, mask, keypoints, keypoint_stride, descriptors,
                        result);
}

static gpv_status gpv_go_sift_describe(gpv_sift *op, uintptr_t stream, const gpv_image *src,
                                       const gpv_buffer *keypoints, uint32_t keypoint_stride,
                                       int32_t count, const gpv_buffer *descriptors) {
    return gpv_sift_describe(op, (gpv_stream)stream, src, keypoints, keypoint_stride, count,
                             descriptors);
}

static gpv_status gpv_go_sift_draw(gpv_sift *op, uintptr_t stream, const gpv_image *dst,
                                   gpv_draw_style style, uint32_t color) {
    return gpv_draw_keypoints(op, (gpv_stream)stream, dst, style, color);
}

// The run before may have found too much, of which a drawing need not speak again.
static gpv_status gpv_go_sift_draw_and_wait(gpv_sift *op, uintptr_t stream, const gpv_image *dst,
                                            gpv_draw_style style, uint32_t color) {
    gpv_status status = gpv_draw_keypoints(op, (gpv_stream)stream, dst, style, color);
    if (status == GPV_OK)
        status = gpv_sift_wait(op, NULL);
    return status == GPV_ERR_TOO_SMALL ? GPV_OK : status;
}
*/
import "C"

// Sizes of SIFT.
const (
	SiftDescriptorLength = C.GPV_SIFT_DESCRIPTOR_LENGTH // numbers in a descriptor
	SiftMaxKeypoints     = C.GPV_SIFT_MAX_KEYPOINTS     // keypoints of one description
)

// Descriptor has 512 times the numbers of a [DescriptorF32], rounded, at most 255.
type Descriptor [SiftDescriptorLength]uint8

// DescriptorF32 has length 1, or 0 where there is no gradient.
type DescriptorF32 [SiftDescriptorLength]float32

// DrawStyle is how [Sift.Draw] marks a keypoint.
type DrawStyle uint32

// The styles.
const (
	// DrawStylePoints: a cross of 5 x 5 pixels.
	DrawStylePoints DrawStyle = C.GPV_DRAW_STYLE_POINTS
	// DrawStyleRich: a circle of the scale, a line for the orientation.
	DrawStyleRich DrawStyle = C.GPV_DRAW_STYLE_RICH
)

func (p *SiftParams) descriptors() SiftDescriptorType {
	if p == nil {
		return DefaultSiftParams().DescriptorType
	}
	return p.DescriptorType
}

// SiftResult is what a run has found.
type SiftResult struct {
	Count   int // keypoints that are kept, and written where there is room
	Dropped int // keypoints beyond MaxFeatures, or beyond the room there is
}

// Sift finds and describes scale-invariant features. See gpuvision/sift.h.
type Sift struct {
	*object[*C.gpv_sift]
}

// NewSift creates an operator; nil means all defaults.
func NewSift(context *Context, params *SiftParams) (*Sift, error) {
	s, err := newOperator[Sift](context, func(op **C.gpv_sift) C.gpv_status {
		return C.gpv_sift_create(context.handle, params.c(), op)
	}, func(op **C.gpv_sift) { C.gpv_sift_destroy(op) })
	if err == nil {
		s.descriptors = params.descriptors()
	}
	return s, err
}

// SetParams changes the parameters of the runs that follow; nil means all defaults. On failure the
// old ones stay.
func (s *Sift) SetParams(params *SiftParams) error {
	return s.call(func() C.gpv_status {
		status := C.gpv_sift_set_params(s.handle, params.c())
		if status == C.GPV_OK {
			s.descriptors = params.descriptors()
		}
		return status
	})
}

// Prepare allocates all that runs and descriptions of such pictures need, so that they allocate
// nothing. Of images, pixels are not looked at. mask may be nil; keypoints is how many runs will
// ask for, with descriptors, or will be described: 0..SiftMaxKeypoints.
func (s *Sift) Prepare(src, mask *Image, keypoints int) error {
	return s.submit(func(v *views, _ C.uintptr_t) C.gpv_status {
		return C.gpv_sift_prepare(s.handle, v.shape(src), v.shape(mask), clamp(keypoints))
	})
}

func (s *Sift) wait(result *SiftResult) C.gpv_status {
	var c C.gpv_sift_result
	C.gpv_sift_result_init(&c, C.sizeof_gpv_sift_result)
	status := C.gpv_sift_wait(s.handle, &c)
	*result = SiftResult{Count: int(c.count), Dropped: int(c.dropped)}
	return status
}

// Run finds the keypoints of src, describes them, and waits. They come in the order of falling
// response.
//
// src: a picture, see [Format]; its luma counts.
//
// mask: GRAY8, same size and memory; keypoints whose nearest pixel is 0 in it do not count; may be
// nil.
//
// keypoints: receives as many as fit; may be empty.
//
// descriptors: receives one for each keypoint, with room for as many, or for MaxFeatures if that is
// less and not 0; may be empty: none are made. DescriptorType is SiftDescriptorTypeU8.
//
// With ErrTooSmall there are more extrema than an operator keeps; Dropped is their number.
func (s *Sift) Run(src, mask *Image, keypoints []Keypoint, descriptors []Descriptor) (SiftResult,
	error) {
	return s.find(src, mask, keypoints, bytesOf(descriptors), SiftDescriptorTypeU8)
}

// RunF32 is as Run, where DescriptorType is SiftDescriptorTypeF32.
func (s *Sift) RunF32(src, mask *Image, keypoints []Keypoint,
	descriptors []DescriptorF32) (SiftResult, error) {
	return s.find(src, mask, keypoints, bytesOf(descriptors), SiftDescriptorTypeF32)
}

func (s *Sift) find(src, mask *Image, keypoints []Keypoint, descriptors []byte,
	descriptor SiftDescriptorType) (result SiftResult, err error) {
	err = s.typed(len(descriptors), descriptor, func(v *views, stream C.uintptr_t) C.gpv_status {
		status := C.gpv_go_sift_run(s.handle, stream, v.image(src), v.image(mask),
			v.buffer(bytesOf(keypoints)), 0, v.buffer(descriptors), nil)
		if status == C.GPV_OK {
			status = s.wait(&result)
		}
		return status
	})
	return result, err
}

// typed is run, unless there are descriptors and they have another type than the parameters say.
func (s *Sift) typed(bytes int, descriptor SiftDescriptorType,
	f func(v *views, stream C.uintptr_t) C.gpv_status) error {
	var refused error
	err := s.run(func(v *views, stream C.uintptr_t) C.gpv_status {
		if bytes > 0 && descriptor != s.descriptors {
			refused = invalid("the type of descriptors is %d, but that of the parameters is %d",
				descriptor, s.descriptors)
			return C.GPV_ERR_INVALID_ARGUMENT
		}
		return f(v, stream)
	})
	if refused != nil {
		return refused
	}
	return err
}

// Describe describes the given keypoints of src, whoever has found them, and waits: X, Y, Sigma and
// Angle are read. The descriptor is 0 of a keypoint that lies outside the picture or makes no
// sense. There are as many descriptors as keypoints, or more; DescriptorType is
// SiftDescriptorTypeU8.
func (s *Sift) Describe(src *Image, keypoints []Keypoint, descriptors []Descriptor) error {
	return s.describe(src, keypoints, bytesOf(descriptors), SiftDescriptorTypeU8)
}

// DescribeF32 is as Describe, where DescriptorType is SiftDescriptorTypeF32.
func (s *Sift) DescribeF32(src *Image, keypoints []Keypoint, descriptors []DescriptorF32) error {
	return s.describe(src, keypoints, bytesOf(descriptors), SiftDescriptorTypeF32)
}

func (s *Sift) describe(src *Image, keypoints []Keypoint, descriptors []byte,
	descriptor SiftDescriptorType) error {
	return s.typed(len(descriptors), descriptor, func(v *views, stream C.uintptr_t) C.gpv_status {
		status := C.gpv_go_sift_describe(s.handle, stream, v.image(src),
			v.buffer(bytesOf(keypoints)), 0, clamp(len(keypoints)), v.buffer(descriptors))
		if status == C.GPV_OK {
			status = C.gpv_sift_wait(s.handle, nil)
		}
		return status
	})
}

// Draw draws the keypoints that the last run has kept into a picture, be it src or another, and
// waits. There are none before the first run, and after Describe or Prepare.
//
// dst: a picture, see [Format], of any size.
//
// color: 0xRRGGBB.
func (s *Sift) Draw(dst *Image, style DrawStyle, color uint32) error {
	return s.run(func(v *views, stream C.uintptr_t) C.gpv_status {
		return C.gpv_go_sift_draw_and_wait(s.handle, stream, v.image(dst), C.gpv_draw_style(style),
			C.uint32_t(color))
	})
}

// SiftBuffers are the outputs of [Sift.Enqueue]. Each may be the zero value.
type SiftBuffers struct {
	Keypoints      DeviceBuffer // gpv_sift_keypoint
	KeypointStride int          // bytes from one record to the next, 0 = without gaps
	Descriptors    DeviceBuffer // of SiftParams.Type, for as many as Keypoints
	Result         DeviceBuffer // a gpv_sift_result
}

// Enqueue is as Run, for CUDA memory, and does not wait.
func (s *Sift) Enqueue(src, mask *Image, buffers SiftBuffers) error {
	err := requireDevice(argument{"src", src}, argument{"mask", mask},
		argument{"keypoints", buffers.Keypoints}, argument{"descriptors", buffers.Descriptors},
		argument{"result", buffers.Result})
	if err != nil {
		return err
	}
	return s.submit(func(v *views, stream C.uintptr_t) C.gpv_status {
		return C.gpv_go_sift_run(s.handle, stream, v.image(src), v.image(mask),
			v.device(buffers.Keypoints), C.uint32_t(clamp(buffers.KeypointStride)),
			v.device(buffers.Descriptors), v.device(buffers.Result))
	})
}

// EnqueueDescribe is as Describe, for CUDA memory, and does not wait. Of buffers, Keypoints are
// read, count of them, and Descriptors are written; Result is not used.
func (s *Sift) EnqueueDescribe(src *Image, count int, buffers SiftBuffers) error {
	err := requireDevice(argument{"src", src}, argument{"keypoints", buffers.Keypoints},
		argument{"descriptors", buffers.Descriptors})
	if err != nil {
		return err
	}
	return s.submit(func(v *views, stream C.uintptr_t) C.gpv_status {
		return C.gpv_go_sift_describe(s.handle, stream, v.image(src), v.device(buffers.Keypoints),
			C.uint32_t(clamp(buffers.KeypointStride)), clamp(count), v.device(buffers.Descriptors))
	})
}

// EnqueueDraw is as Draw, for a picture in CUDA memory, and does not wait.
func (s *Sift) EnqueueDraw(dst *Image, style DrawStyle, color uint32) error {
	if err := requireDevice(argument{"dst", dst}); err != nil {
		return err
	}
	return s.submit(func(v *views, stream C.uintptr_t) C.gpv_status {
		return C.gpv_go_sift_draw(s.handle, stream, v.image(dst), C.gpv_draw_style(style),
			C.uint32_t(color))
	})
}

// Query says whether the last run or description has finished, without waiting; true if there was
// none.
func (s *Sift) Query() (bool, error) {
	return s.query(func() C.gpv_status { return C.gpv_sift_query(s.handle) })
}

// Wait waits until the last run or description has finished, and says what the run has found; see
// [Sift.Run].
func (s *Sift) Wait() (result SiftResult, err error) {
	err = s.call(func() C.gpv_status { return s.wait(&result) })
	return result, err
}
