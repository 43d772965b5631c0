// SPDX-License-Identifier: BSD-2-Clause

package gpuvision

/*
#include "binding.h"

// The costs are the first images of a call's views.
static gpv_status gpv_go_expansion_run(gpv_expansion *op, uintptr_t stream,
                                       const gpv_go_views *views, int32_t count,
                                       const gpv_image *links, const gpv_image *labels,
                                       const gpv_buffer *result) {
    const gpv_image *costs[GPV_EXPANSION_MAX_LABELS];
    int32_t i;
    for (i = 0; i < count; i++)
        costs[i] = &views->image[i];
    return gpv_expansion_run(op, (gpv_stream)stream, costs, count, links, labels, result);
}
*/
import "C"

// Limits of expansion.
const (
	ExpansionMaxLabels = C.GPV_EXPANSION_MAX_LABELS // how many there are; the least is 2
	ExpansionMaxCycles = C.GPV_EXPANSION_MAX_CYCLES
	ExpansionMaxCost   = C.GPV_EXPANSION_MAX_COST // amount of a label's cost
)

// ExpansionResult is what a run has found.
type ExpansionResult struct {
	Converged   bool  // no expansion move lowers the energy
	StartEnergy int64 // of each pixel's cheapest label, which runs begin with
	Energy      int64 // of the labels found
	Moves       int   // that have lowered the energy
	Refused     bool  // a value is out of its range: all else is 0, no labels have been written
}

func (r *ExpansionResult) set(c *C.gpv_expansion_result) {
	*r = ExpansionResult{
		Converged:   c.converged != 0,
		StartEnergy: int64(c.start_energy),
		Energy:      int64(c.energy),
		Moves:       int(c.moves),
		Refused:     c.refused != 0,
	}
}

// Expansion gives pixels labels, of which each costs a pixel something, as does a link between
// neighbours whose labels differ; by alpha expansion. See gpuvision/expansion.h.
type Expansion struct {
	*object[*C.gpv_expansion]
}

// NewExpansion creates an operator; nil means all defaults.
func NewExpansion(context *Context, params *ExpansionParams) (*Expansion, error) {
	return newOperator[Expansion](context, func(op **C.gpv_expansion) C.gpv_status {
		return C.gpv_expansion_create(context.handle, params.c(), op)
	}, func(op **C.gpv_expansion) { C.gpv_expansion_destroy(op) })
}

// SetParams changes the parameters of the runs that follow; nil means all defaults. On failure the
// old ones stay.
func (e *Expansion) SetParams(params *ExpansionParams) error {
	return e.call(func() C.gpv_status {
		return C.gpv_expansion_set_params(e.handle, params.c())
	})
}

// Prepare allocates all that a run with such links and so many labels needs, so that the run
// allocates nothing. Of links, pixels are not looked at.
func (e *Expansion) Prepare(links *Image, count int) error {
	return e.submit(func(v *views, _ C.uintptr_t) C.gpv_status {
		return C.gpv_expansion_prepare(e.handle, v.shape(links), clamp(count))
	})
}

func (e *Expansion) wait(result *ExpansionResult) C.gpv_status {
	var c C.gpv_expansion_result
	C.gpv_expansion_result_init(&c, C.sizeof_gpv_expansion_result)
	status := C.gpv_expansion_wait(e.handle, &c)
	result.set(&c)
	return status
}

func (e *Expansion) start(v *views, stream C.uintptr_t, costs []*Image, links, labels *Image,
	result *C.gpv_buffer) C.gpv_status {
	for _, image := range costs {
		v.image(image)
	}
	return C.gpv_go_expansion_run(e.handle, stream, v.c, C.int32_t(len(costs)), v.image(links),
		v.image(labels), result)
}

func checkCosts(costs []*Image) error {
	if len(costs) < 2 || len(costs) > ExpansionMaxLabels {
		return invalid("there are costs of %d labels, must be 2..%d", len(costs), ExpansionMaxLabels)
	}
	for i, image := range costs {
		if image == nil {
			return invalid("costs[%d] is nil", i)
		}
	}
	return nil
}

// Run finds labels, and waits.
//
// costs: of each label a LABEL32 image of what it costs each pixel, within +-ExpansionMaxCost.
//
// links: CAP32X4 or CAP32X8, same size and memory: what it costs that the labels of a pixel and of
// its neighbour differ, 0..GraphcutMaxLink. Only the first half of the planes is looked at.
//
// labels: GRAY8, same size and memory: receives each pixel's label.
//
// A value that is out of its range gives ErrInvalidArgument, and Refused in the result.
func (e *Expansion) Run(costs []*Image, links, labels *Image) (result ExpansionResult, err error) {
	if err := checkCosts(costs); err != nil {
		return result, err
	}
	err = e.run(func(v *views, stream C.uintptr_t) C.gpv_status {
		status := e.start(v, stream, costs, links, labels, nil)
		if status == C.GPV_OK {
			status = e.wait(&result)
		}
		return status
	})
	return result, err
}

// Enqueue is as Run, for CUDA memory, and does not wait.
//
// result: receives a gpv_expansion_result, aligned to 8; may be the zero value.
func (e *Expansion) Enqueue(costs []*Image, links, labels *Image, result DeviceBuffer) error {
	if err := checkCosts(costs); err != nil {
		return err
	}
	arguments := []argument{{"links", links}, {"labels", labels}, {"result", result}}
	for _, image := range costs {
		arguments = append(arguments, argument{"costs", image})
	}
	if err := requireDevice(arguments...); err != nil {
		return err
	}
	return e.submit(func(v *views, stream C.uintptr_t) C.gpv_status {
		return e.start(v, stream, costs, links, labels, v.device(result))
	})
}

// Query says whether the last run has finished, without waiting; true if there was none.
func (e *Expansion) Query() (bool, error) {
	return e.query(func() C.gpv_status { return C.gpv_expansion_query(e.handle) })
}

// Wait waits until the last run has finished, and says what it has found; see [Expansion.Run].
func (e *Expansion) Wait() (result ExpansionResult, err error) {
	err = e.call(func() C.gpv_status { return e.wait(&result) })
	return result, err
}
