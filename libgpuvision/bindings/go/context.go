// SPDX-License-Identifier: BSD-2-Clause

package gpuvision

/*
#include "binding.h"

extern void gpvGoLog(uintptr_t user, gpv_log_level level, char *message);

static void gpv_go_log(void *user, gpv_log_level level, const char *message) {
    gpvGoLog((uintptr_t)user, level, (char *)message);
}

static gpv_status gpv_go_context_create(gpv_backend backend, int32_t device, gpv_log_level level,
                                        uintptr_t user, int32_t threads, gpv_context **out) {
    gpv_context_params params;
    gpv_context_params_init(&params, sizeof params);
    params.backend = backend;
    params.device = device;
    params.log_level = level;
    params.log = gpv_go_log;
    params.user = (void *)user;
    params.threads = threads;
    return gpv_context_create(&params, out);
}

static gpv_status gpv_go_stream_sync(gpv_context *context, uintptr_t stream) {
    return gpv_stream_sync(context, (gpv_stream)stream);
}

static gpv_status gpv_go_stream_follow(gpv_context *context, uintptr_t stream, uintptr_t leader) {
    return gpv_stream_follow(context, (gpv_stream)stream, (gpv_stream)leader);
}
*/
import "C"

import (
	"runtime"
	"runtime/cgo"
	"sync"
)

// CurrentDevice as ContextParams.Device is the CUDA context that is current on the thread that
// calls NewContext: a goroutine that makes one current has to call [runtime.LockOSThread] before.
// The CUDA context has to outlive the Context and all that is made from it.
const CurrentDevice = C.GPV_DEVICE_CURRENT

// Stream is a cudaStream_t or CUstream. The CPU backend ignores it. A stream has to live until the
// work that was put on it has finished.
type Stream uintptr

// DefaultStream is CUDA's default stream.
const DefaultStream Stream = 0

// ContextParams are the parameters of a context. The zero value is the default.
type ContextParams struct {
	Backend  Backend  // default BackendAuto
	Device   int      // CUDA ordinal >= 0, or CurrentDevice; default 0; CPU: ignored
	LogLevel LogLevel // LogError..LogDebug, 0 = LogWarning; default LogWarning
	// Log takes a line without its end; nil = silent. It is called on a goroutine of its own while
	// the library waits: it has to return, and must not call back into the context or what is made
	// from it. A panic in it is dropped, as is [runtime.Goexit]. As long as Log refers to the
	// context, that has to be closed: no finalizer will do it. Default nil.
	Log func(level LogLevel, message string)
	// Threads that the CPU computes on at most, >= 0; 0 = as many as oneTBB gives the calling
	// thread. Default 0.
	Threads int
}

// DefaultContextParams gives the library's defaults.
func DefaultContextParams() ContextParams {
	var c C.gpv_context_params
	C.gpv_context_params_init(&c, C.sizeof_gpv_context_params)
	return ContextParams{
		Backend:  Backend(c.backend),
		Device:   int(c.device),
		LogLevel: LogLevel(c.log_level),
		Threads:  int(c.threads),
	}
}

// Context is a backend on a device, from which operators are made.
type Context struct {
	mutex   sync.Mutex     // held by whoever is inside the library
	handle  *C.gpv_context // nil once closed
	objects int            // of the library that are not destroyed: this one, and operators
	log     cgo.Handle     // of a *logger, as long as there are objects that may log
	device  string
	backend Backend
}

// NewContext creates a context; nil means all defaults. Of a failure the error has the text that
// the library logs. It fails with ErrNoDevice if CUDA was asked for and there is none, and with
// ErrUnsupported if the library was built without.
func NewContext(params *ContextParams) (*Context, error) {
	if params == nil {
		defaults := DefaultContextParams()
		params = &defaults
	}
	log := &logger{user: params.Log}
	user := cgo.NewHandle(log)
	var handle *C.gpv_context
	status := C.gpv_go_context_create(C.gpv_backend(params.Backend), clamp(params.Device),
		C.gpv_log_level(params.LogLevel), C.uintptr_t(user), clamp(params.Threads), &handle)
	if status != C.GPV_OK {
		user.Delete()
		return nil, &Error{Status(status), log.last}
	}
	c := &Context{
		handle:  handle,
		objects: 1,
		log:     user,
		device:  C.GoString(C.gpv_context_device_name(handle)),
		backend: Backend(C.gpv_context_backend(handle)),
	}
	runtime.SetFinalizer(c, func(c *Context) { go c.Close() })
	return c, nil
}

// Close destroys the context. Its operators can only be closed then. It always returns nil.
func (c *Context) Close() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.handle != nil {
		C.gpv_context_destroy(&c.handle)
		c.forget()
	}
	return nil
}

// forget counts an object that has been destroyed. Whoever calls it holds the lock.
func (c *Context) forget() {
	c.objects--
	if c.objects == 0 {
		c.log.Delete()
	}
}

// Backend is BackendCPU or BackendCUDA: what BackendAuto became.
func (c *Context) Backend() Backend {
	return c.backend
}

// DeviceName is the name of the processor or CUDA device.
func (c *Context) DeviceName() string {
	return c.device
}

// Sync waits until everything that was enqueued on stream has finished.
func (c *Context) Sync(stream Stream) error {
	return c.call(func() C.gpv_status {
		return C.gpv_go_stream_sync(c.handle, C.uintptr_t(stream))
	})
}

// Follow lets work that is enqueued on stream from now on begin after all that is enqueued on
// leader by now has finished. The host does not wait.
func (c *Context) Follow(stream, leader Stream) error {
	return c.call(func() C.gpv_status {
		return C.gpv_go_stream_follow(c.handle, C.uintptr_t(stream), C.uintptr_t(leader))
	})
}

// call runs f alone in the context, and gives the error of its status.
func (c *Context) call(f func() C.gpv_status) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.handle == nil {
		return ErrClosed
	}
	return c.check(f())
}

// check makes an error of a failure. Whoever calls it holds the lock, and has called nothing since.
func (c *Context) check(status C.gpv_status) error {
	if status >= 0 {
		return nil
	}
	return &Error{Status(status), C.GoString(C.gpv_context_error(c.handle))}
}

// object is what operators have in common. An operator is a pointer to it and nothing else, so that
// its copies are the same operator. H points to what the library has made.
type object[H any] struct {
	context     *Context
	handle      H
	destroy     func()             // nil once closed
	stream      Stream             // of the runs that follow
	held        []*views           // of runs that nobody knows to be over
	descriptors SiftDescriptorType // of a Sift: what its parameters say
}

// newOperator wraps what create makes, until destroy.
func newOperator[Operator ~struct{ *object[H] }, H any](c *Context,
	create func(handle *H) C.gpv_status, destroy func(handle *H)) (*Operator, error) {
	var handle H
	if err := c.call(func() C.gpv_status {
		status := create(&handle)
		if status == C.GPV_OK {
			c.objects++
		}
		return status
	}); err != nil {
		return nil, err
	}
	o := &object[H]{context: c, handle: handle, destroy: func() { destroy(&handle) }}
	// The goroutine of finalizers, of which a process has one, must not wait for a context.
	runtime.SetFinalizer(o, func(o *object[H]) { go o.Close() })
	return &Operator{o}, nil
}

// Close waits for the last run, and destroys the operator. It always returns nil.
func (o *object[H]) Close() error {
	o.context.mutex.Lock()
	defer o.context.mutex.Unlock()
	if o.destroy != nil {
		o.destroy()
		o.destroy = nil
		o.release()
		o.context.forget()
	}
	return nil
}

// SetStream sets the stream of the runs that follow. Before, it is DefaultStream.
func (o *object[H]) SetStream(stream Stream) {
	o.context.mutex.Lock()
	defer o.context.mutex.Unlock()
	o.stream = stream
}

// call runs f alone in the context, and gives the error of its status. A finalizer that wants the
// handle meanwhile waits for the lock.
func (o *object[H]) call(f func() C.gpv_status) error {
	o.context.mutex.Lock()
	defer o.context.mutex.Unlock()
	if o.destroy == nil || o.context.handle == nil {
		return ErrClosed
	}
	return o.context.check(f())
}

// submit is call with views, of what the library does not write after the call.
func (o *object[H]) submit(f func(v *views, stream C.uintptr_t) C.gpv_status) error {
	return o.call(func() C.gpv_status {
		v := newViews()
		defer v.free()
		return f(v, C.uintptr_t(o.stream))
	})
}

// run is call with views, for f that waits for the run that it begins.
func (o *object[H]) run(f func(v *views, stream C.uintptr_t) C.gpv_status) error {
	return o.call(func() C.gpv_status {
		v := newViews()
		status := f(v, C.uintptr_t(o.stream))
		o.settle(v, Status(status))
		return status
	})
}

// settle frees the views of a run that status says to be over. Where it may have begun and is not
// known to be over, the library may still write what they point to: they are held until a run has
// succeeded, or Close. Whoever calls it holds the lock.
func (o *object[H]) settle(v *views, status Status) {
	switch status {
	case C.GPV_OK:
		v.free()
		o.release()
	case ErrInvalidArgument, ErrUnsupported, ErrTooSmall:
		v.free()
	default:
		o.held = append(o.held, v)
	}
}

// query says whether the last run has finished.
func (o *object[H]) query(f func() C.gpv_status) (finished bool, err error) {
	err = o.call(func() C.gpv_status {
		status := f()
		finished = status == C.GPV_OK
		return status
	})
	return finished, err
}

// release frees what was held for runs that are over now.
func (o *object[H]) release() {
	for _, v := range o.held {
		v.free()
	}
	o.held = nil
}
