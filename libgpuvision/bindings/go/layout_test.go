// SPDX-License-Identifier: BSD-2-Clause

package gpuvision

import (
	"reflect"
	"testing"

	"gpuvision/internal/layout"
)

// The library fills slices of these.
func TestRecordsAreLaidOutAsInC(t *testing.T) {
	records := map[string]reflect.Type{
		"gpv_ccl_component": reflect.TypeOf(Component{}),
		"gpv_sift_keypoint": reflect.TypeOf(Keypoint{}),
		"gpv_match_nearest": reflect.TypeOf(Nearest{}),
		"gpv_match_pair":    reflect.TypeOf(Pair{}),
	}
	inC := layout.Records()
	if len(inC) != len(records) {
		t.Errorf("%d records here, %d in C", len(records), len(inC))
	}
	for name, record := range records {
		places := []layout.Place{{Offset: 0, Size: record.Size()}}
		for i := 0; i < record.NumField(); i++ {
			field := record.Field(i)
			places = append(places, layout.Place{Offset: field.Offset, Size: field.Type.Size()})
		}
		if !reflect.DeepEqual(places, inC[name]) {
			t.Errorf("%s is %v, in C %v", name, places, inC[name])
		}
	}
}

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
