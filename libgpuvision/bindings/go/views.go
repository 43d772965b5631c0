// SPDX-License-Identifier: BSD-2-Clause

package gpuvision

// #include "binding.h"
import "C"

import "unsafe"

// views are the images and buffers of one call. They lie in C memory, since they hold pointers to
// Go memory; that is pinned until free.
type views struct {
	c       *C.gpv_go_views
	images  int
	buffers int
	pins    pins
}

func newViews() *views {
	return &views{c: (*C.gpv_go_views)(C.malloc(C.sizeof_gpv_go_views))}
}

func (v *views) free() {
	v.pins.unpin()
	C.free(unsafe.Pointer(v.c))
}

// shape gives a view without pixels; NULL for nil.
func (v *views) shape(i *Image) *C.gpv_image {
	if i == nil {
		return nil
	}
	view := &v.c.image[v.images]
	v.images++
	C.gpv_go_image(view, C.gpv_format(i.format), C.gpv_memory(i.memory), clamp(i.device),
		clamp(i.width), clamp(i.height), C.gpv_color_matrix(i.Matrix), C.gpv_color_range(i.Range))
	return view
}

// image gives a view; NULL for nil.
func (v *views) image(i *Image) *C.gpv_image {
	view := v.shape(i)
	if view == nil {
		return nil
	}
	for n, plane := range i.planes {
		if i.memory == MemoryCUDA {
			C.gpv_go_device_plane(view, C.int32_t(n), C.uintptr_t(plane.pointer),
				C.int64_t(plane.stride))
			continue
		}
		v.pins.pin(&plane.pix[0])
		C.gpv_go_plane(view, C.int32_t(n), (*C.uint8_t)(&plane.pix[0]), C.int64_t(plane.stride))
	}
	return view
}

// buffer gives a view; NULL for an empty slice.
func (v *views) buffer(bytes []byte) *C.gpv_buffer {
	if len(bytes) == 0 {
		return nil
	}
	view := &v.c.buffer[v.buffers]
	v.buffers++
	v.pins.pin(&bytes[0])
	C.gpv_go_buffer(view, (*C.uint8_t)(&bytes[0]), C.uint64_t(len(bytes)))
	return view
}

// device gives a view; NULL for the zero value.
func (v *views) device(b DeviceBuffer) *C.gpv_buffer {
	if b == (DeviceBuffer{}) {
		return nil
	}
	view := &v.c.buffer[v.buffers]
	v.buffers++
	C.gpv_go_device_buffer(view, C.uintptr_t(b.Pointer), C.uint64_t(b.Size), clamp(b.Device))
	return view
}

// bytesOf is the memory of a slice.
func bytesOf[T any](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), len(s)*int(unsafe.Sizeof(s[0])))
}

// DeviceBuffer is a part of CUDA memory, for results that are not images. The zero value is none.
type DeviceBuffer struct {
	Pointer uintptr // aligned as its elements need
	Size    int64   // bytes, >= 0
	Device  int     // CUDA ordinal
}

type argument struct {
	name  string
	value any // *Image or DeviceBuffer
}

// requireDevice refuses images in host memory, which the library would write after the call, and
// buffers of less than no bytes, which it would take for the greatest ones.
func requireDevice(arguments ...argument) error {
	for _, a := range arguments {
		switch v := a.value.(type) {
		case *Image:
			if v != nil && v.memory != MemoryCUDA {
				return invalid("%s is in host memory, must be in CUDA memory to be enqueued", a.name)
			}
		case DeviceBuffer:
			if v.Size < 0 {
				return invalid("the size of %s is %d, must not be negative", a.name, v.Size)
			}
		}
	}
	return nil
}
