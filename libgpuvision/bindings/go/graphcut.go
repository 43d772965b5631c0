// SPDX-License-Identifier: BSD-2-Clause

package gpuvision

/*
#include "binding.h"

static gpv_status gpv_go_graphcut_run(gpv_graphcut *op, uintptr_t stream,
                                      const gpv_image *terminals, const gpv_image *links,
                                      const gpv_image *mask, const gpv_buffer *result) {
    return gpv_graphcut_run(op, (gpv_stream)stream, terminals, links, mask, result);
}
*/
import "C"

import "time"

// Largest values of a graph.
const (
	GraphcutMaxTerminal = C.GPV_GRAPHCUT_MAX_TERMINAL // amount of a terminal's value
	GraphcutMaxLink     = C.GPV_GRAPHCUT_MAX_LINK     // capacity between two pixels
)

func microseconds(d time.Duration) C.int32_t {
	const maximum = 1<<31 - 1
	if m := d.Microseconds(); m > maximum {
		return maximum
	} else if m >= -maximum {
		return C.int32_t(m)
	}
	return -maximum
}

func duration(microseconds C.int32_t) time.Duration {
	return time.Duration(microseconds) * time.Microsecond
}

// GraphcutResult is what a run has found.
type GraphcutResult struct {
	Optimal bool  // no cut has less capacity; false: MaxTime came before that
	Flow    int64 // from the source to the sink: no cut has less capacity
	Cut     int64 // with Certificate the capacity of the cut in the mask; without, -1
	Area    int64 // pixels on the side of the source
	Refused bool  // a value is out of its range: all else is 0, the mask has not been written
}

func (r *GraphcutResult) set(c *C.gpv_graphcut_result) {
	*r = GraphcutResult{
		Optimal: c.optimal != 0,
		Flow:    int64(c.flow),
		Cut:     int64(c.cut),
		Area:    int64(c.area),
		Refused: c.refused != 0,
	}
}

// Graphcut finds exact minimum cuts of graphs that the caller makes, whose nodes are the pixels
// of an image; Segment makes such graphs of pictures. See gpuvision/graphcut.h.
type Graphcut struct {
	*object[*C.gpv_graphcut]
}

// NewGraphcut creates an operator; nil means all defaults.
func NewGraphcut(context *Context, params *GraphcutParams) (*Graphcut, error) {
	return newOperator[Graphcut](context, func(op **C.gpv_graphcut) C.gpv_status {
		return C.gpv_graphcut_create(context.handle, params.c(), op)
	}, func(op **C.gpv_graphcut) { C.gpv_graphcut_destroy(op) })
}

// SetParams changes the parameters of the runs that follow; nil means all defaults. On failure the
// old ones stay.
func (g *Graphcut) SetParams(params *GraphcutParams) error {
	return g.call(func() C.gpv_status {
		return C.gpv_graphcut_set_params(g.handle, params.c())
	})
}

// Prepare allocates all that a run on such images needs, so that the run allocates nothing. Of
// links, pixels are not looked at.
func (g *Graphcut) Prepare(links *Image) error {
	return g.submit(func(v *views, _ C.uintptr_t) C.gpv_status {
		return C.gpv_graphcut_prepare(g.handle, v.shape(links))
	})
}

func (g *Graphcut) wait(result *GraphcutResult) C.gpv_status {
	var c C.gpv_graphcut_result
	C.gpv_graphcut_result_init(&c, C.sizeof_gpv_graphcut_result)
	status := C.gpv_graphcut_wait(g.handle, &c)
	result.set(&c)
	return status
}

// Run finds a minimum cut, and waits. Of all minimum cuts it is the one with the fewest pixels on
// the side of the sink.
//
// terminals: LABEL32: capacity from the source to the pixel minus capacity from the pixel to the
// sink, within +-GraphcutMaxTerminal.
//
// links: CAP32X4 or CAP32X8, same size and memory: capacity from the pixel to each neighbour,
// 0..GraphcutMaxLink.
//
// mask: GRAY8, same size and memory: receives 255 on the side of the source, 0 on that of the sink.
//
// A value that is out of its range gives ErrInvalidArgument, and Refused in the result.
func (g *Graphcut) Run(terminals, links, mask *Image) (result GraphcutResult, err error) {
	err = g.run(func(v *views, stream C.uintptr_t) C.gpv_status {
		status := C.gpv_go_graphcut_run(g.handle, stream, v.image(terminals), v.image(links),
			v.image(mask), nil)
		if status == C.GPV_OK {
			status = g.wait(&result)
		}
		return status
	})
	return result, err
}

// Enqueue is as Run, for CUDA memory, and does not wait.
//
// result: receives a gpv_graphcut_result, aligned to 8; may be the zero value.
func (g *Graphcut) Enqueue(terminals, links, mask *Image, result DeviceBuffer) error {
	err := requireDevice(argument{"terminals", terminals}, argument{"links", links},
		argument{"mask", mask}, argument{"result", result})
	if err != nil {
		return err
	}
	return g.submit(func(v *views, stream C.uintptr_t) C.gpv_status {
		return C.gpv_go_graphcut_run(g.handle, stream, v.image(terminals), v.image(links),
			v.image(mask), v.device(result))
	})
}

// Query says whether the last run has finished, without waiting; true if there was none.
func (g *Graphcut) Query() (bool, error) {
	return g.query(func() C.gpv_status { return C.gpv_graphcut_query(g.handle) })
}

// Wait waits until the last run has finished, and says what it has found; see [Graphcut.Run].
func (g *Graphcut) Wait() (result GraphcutResult, err error) {
	err = g.call(func() C.gpv_status { return g.wait(&result) })
	return result, err
}
