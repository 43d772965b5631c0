// SPDX-License-Identifier: BSD-2-Clause

package gpuvision

import (
	"reflect"
	"testing"
)

// What has no record in C is passed as plain numbers.
func TestArraysHaveNoGaps(t *testing.T) {
	for _, array := range []struct {
		name string
		is   uintptr
		want uintptr
	}{
		{"Point", reflect.TypeOf(Point{}).Size(), 8},
		{"Centroid", reflect.TypeOf(Centroid{}).Size(), 12},
		{"Descriptor", reflect.TypeOf(Descriptor{}).Size(), 128},
		{"DescriptorF32", reflect.TypeOf(DescriptorF32{}).Size(), 512},
		{"bool", reflect.TypeOf(true).Size(), 1},
	} {
		if array.is != array.want {
			t.Errorf("%s has %d bytes, want %d", array.name, array.is, array.want)
		}
	}
}
