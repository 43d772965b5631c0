// SPDX-License-Identifier: BSD-2-Clause

package gpuvision

/*
#include "binding.h"

static gpv_status gpv_go_match_run(gpv_match *op, uintptr_t stream, const gpv_buffer *query,
                                   int32_t query_count, const gpv_buffer *found,
                                   const gpv_buffer *train, int32_t train_count,
                                   const gpv_buffer *nearest, const gpv_buffer *pairs,
                                   const gpv_buffer *result) {
    return gpv_match_run(op, (gpv_stream)stream, query, query_count, found, train, train_count,
                         nearest, pairs, result);
}

static gpv_status gpv_go_match_draw(gpv_match *op, uintptr_t stream, const gpv_image *dst,
                                    const float *points, int32_t count, float width,
                                    uint32_t color) {
    return gpv_draw_outline(op, (gpv_stream)stream, dst, points, count, width, color);
}
*/
import "C"

import "unsafe"

// MatchMaxDescriptors is how many descriptors a set may have.
const MatchMaxDescriptors = C.GPV_MATCH_MAX_DESCRIPTORS

// MatchResult is what a run has found.
type MatchResult struct {
	Count   int // matches that are written, where there is room for any
	Dropped int // matches beyond the room there is
	Queries int // descriptors that were compared
}

// Point is a place in a picture, from the centre of its first pixel. The library reads it.
type Point struct {
	X, Y float32
}

func coordinates(points []Point) *C.float {
	if len(points) == 0 {
		return nil
	}
	return (*C.float)(&points[0].X)
}

// Match matches SIFT descriptors by comparing all of them. See gpuvision/match.h.
type Match struct {
	*object[*C.gpv_match]
}

// NewMatch creates an operator; nil means all defaults.
func NewMatch(context *Context, params *MatchParams) (*Match, error) {
	return newOperator[Match](context, func(op **C.gpv_match) C.gpv_status {
		return C.gpv_match_create(context.handle, params.c(), op)
	}, func(op **C.gpv_match) { C.gpv_match_destroy(op) })
}

// SetParams changes the parameters of the runs that follow; nil means all defaults. On failure the
// old ones stay.
func (m *Match) SetParams(params *MatchParams) error {
	return m.call(func() C.gpv_status {
		return C.gpv_match_set_params(m.handle, params.c())
	})
}

// Prepare allocates all that runs on sets of up to so many descriptors need, so that they allocate
// nothing. The counts are 0..MatchMaxDescriptors; memory is where descriptors and outputs are.
func (m *Match) Prepare(queryCount, trainCount int, memory Memory) error {
	return m.call(func() C.gpv_status {
		return C.gpv_match_prepare(m.handle, clamp(queryCount), clamp(trainCount),
			C.gpv_memory(memory))
	})
}

func (m *Match) wait(result *MatchResult) C.gpv_status {
	var c C.gpv_match_result
	C.gpv_match_result_init(&c, C.sizeof_gpv_match_result)
	status := C.gpv_match_wait(m.handle, &c)
	*result = MatchResult{Count: int(c.count), Dropped: int(c.dropped), Queries: int(c.queries)}
	return status
}

// Run compares each of the queries with all of train, finds the two nearest, and waits. A query
// matches its nearest if the parameters allow it. Either set may be empty.
//
// nearest: receives one for each query; may be empty.
//
// pairs: receives as many as fit, in the order of the queries; may be empty.
func (m *Match) Run(query, train []Descriptor, nearest []Nearest, pairs []Pair) (
	result MatchResult, err error) {
	err = m.run(func(v *views, stream C.uintptr_t) C.gpv_status {
		status := C.gpv_go_match_run(m.handle, stream, v.buffer(bytesOf(query)),
			clamp(len(query)), nil, v.buffer(bytesOf(train)), clamp(len(train)),
			v.buffer(bytesOf(nearest)), v.buffer(bytesOf(pairs)), nil)
		if status == C.GPV_OK {
			status = m.wait(&result)
		}
		return status
	})
	return result, err
}

// MatchBuffers are what [Match.Enqueue] reads and writes. All but Queries and Train may be the zero
// value.
type MatchBuffers struct {
	Queries    DeviceBuffer // descriptors of SiftDescriptorTypeU8
	QueryCount int          // 0..MatchMaxDescriptors
	Found      DeviceBuffer // a gpv_sift_result, whose count is QueryCount if that is less
	Train      DeviceBuffer // descriptors of SiftDescriptorTypeU8
	TrainCount int          // 0..MatchMaxDescriptors
	Nearest    DeviceBuffer // receives a gpv_match_nearest for each query
	Pairs      DeviceBuffer // receives gpv_match_pair
	Result     DeviceBuffer // receives a gpv_match_result
}

// Enqueue is as Run, for CUDA memory, and does not wait.
func (m *Match) Enqueue(b MatchBuffers) error {
	err := requireDevice(argument{"queries", b.Queries}, argument{"found", b.Found},
		argument{"train", b.Train}, argument{"nearest", b.Nearest}, argument{"pairs", b.Pairs},
		argument{"result", b.Result})
	if err != nil {
		return err
	}
	return m.submit(func(v *views, stream C.uintptr_t) C.gpv_status {
		return C.gpv_go_match_run(m.handle, stream, v.device(b.Queries), clamp(b.QueryCount),
			v.device(b.Found), v.device(b.Train), clamp(b.TrainCount), v.device(b.Nearest),
			v.device(b.Pairs), v.device(b.Result))
	})
}

// Draw draws a closed outline into a picture, lines from each point to the next and from the last
// to the first, and waits.
//
// dst: a picture, see [Format].
//
// points: 2..64, coordinates within -131072..131072.
//
// width: of the line, pixels; 1..1000.
//
// color: 0xRRGGBB.
func (m *Match) Draw(dst *Image, points []Point, width float32, color uint32) error {
	return m.run(func(v *views, stream C.uintptr_t) C.gpv_status {
		status := C.gpv_go_match_draw(m.handle, stream, v.image(dst), coordinates(points),
			clamp(len(points)), C.float(width), C.uint32_t(color))
		if status == C.GPV_OK {
			status = C.gpv_match_wait(m.handle, nil)
		}
		return status
	})
}

// EnqueueDraw is as Draw, for a picture in CUDA memory, and does not wait.
func (m *Match) EnqueueDraw(dst *Image, points []Point, width float32, color uint32) error {
	if err := requireDevice(argument{"dst", dst}); err != nil {
		return err
	}
	return m.submit(func(v *views, stream C.uintptr_t) C.gpv_status {
		return C.gpv_go_match_draw(m.handle, stream, v.image(dst), coordinates(points),
			clamp(len(points)), C.float(width), C.uint32_t(color))
	})
}

// Query says whether the last run has finished, without waiting; true if there was none.
func (m *Match) Query() (bool, error) {
	return m.query(func() C.gpv_status { return C.gpv_match_query(m.handle) })
}

// Wait waits until the last run has finished, and says what it has found.
func (m *Match) Wait() (result MatchResult, err error) {
	err = m.call(func() C.gpv_status { return m.wait(&result) })
	return result, err
}

// Homography takes the points of one picture to those of another.
type Homography struct {
	Found      bool       // whether there is one; else all that follows is zero
	Matrix     [9]float64 // row by row, the last one 1: it takes (x, y, 1) to w (u, v, 1)
	Error      float64    // root of the mean squared distance of the pairs that fit
	Inliers    int        // pairs that fit
	Iterations int        // samples that were tried
	Fits       []bool     // of each pair
}

// FindHomography finds the homography that takes most of the points from to the points to that they
// are matched with, although many may be matched wrongly (RANSAC). With less than 4 pairs none is
// found. It is computed on the CPU; nil means all defaults. Of the context it only uses the lock
// and the text of errors.
func (c *Context) FindHomography(params *HomographyParams, from, to []Point) (Homography, error) {
	if len(from) != len(to) {
		return Homography{}, invalid("from has %d points, but to has %d", len(from), len(to))
	}
	var found C.gpv_homography
	C.gpv_homography_init(&found, C.sizeof_gpv_homography)
	fits := make([]bool, len(from))
	var first *C.uint8_t
	if len(fits) > 0 {
		first = (*C.uint8_t)(unsafe.Pointer(&fits[0])) // receives 0 or 1, as a bool is
	}
	err := c.call(func() C.gpv_status {
		return C.gpv_homography_find(c.handle, params.c(), coordinates(from), coordinates(to),
			clamp(len(from)), first, &found)
	})
	if err != nil {
		return Homography{}, err
	}
	h := Homography{
		Found:      found.found != 0,
		Error:      float64(found.error),
		Inliers:    int(found.inliers),
		Iterations: int(found.iterations),
		Fits:       fits,
	}
	for i, m := range found.matrix {
		h.Matrix[i] = float64(m)
	}
	return h, nil
}
