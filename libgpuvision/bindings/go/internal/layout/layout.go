// SPDX-License-Identifier: BSD-2-Clause

// Package layout says how C lays out the records that Go declares again. Only tests use it, which
// cannot use cgo themselves.
package layout

/*
#cgo pkg-config: gpuvision
#include <gpuvision/gpuvision.h>

struct place {
    const char *record;
    uint64_t offset;
    uint64_t size;
};

#define RECORD(record) {#record, 0, sizeof(record)}
#define FIELD(record, field) {#record, offsetof(record, field), sizeof(((record *)0)->field)}

// Each record, and then its fields.
static const struct place places[] = {
    RECORD(gpv_ccl_component),
    FIELD(gpv_ccl_component, left),
    FIELD(gpv_ccl_component, top),
    FIELD(gpv_ccl_component, right),
    FIELD(gpv_ccl_component, bottom),
    FIELD(gpv_ccl_component, area),
    FIELD(gpv_ccl_component, reserved),
    FIELD(gpv_ccl_component, sum_x),
    FIELD(gpv_ccl_component, sum_y),
    RECORD(gpv_sift_keypoint),
    FIELD(gpv_sift_keypoint, x),
    FIELD(gpv_sift_keypoint, y),
    FIELD(gpv_sift_keypoint, sigma),
    FIELD(gpv_sift_keypoint, angle),
    FIELD(gpv_sift_keypoint, response),
    FIELD(gpv_sift_keypoint, octave),
    RECORD(gpv_match_nearest),
    FIELD(gpv_match_nearest, index),
    FIELD(gpv_match_nearest, distance),
    RECORD(gpv_match_pair),
    FIELD(gpv_match_pair, query),
    FIELD(gpv_match_pair, train),
    FIELD(gpv_match_pair, distance),
    FIELD(gpv_match_pair, second),
};

enum { PLACES = sizeof places / sizeof places[0] };

static struct place place(int i) {
    return places[i];
}
*/
import "C"

// Place is where a field lies in its record, or the record itself; in bytes.
type Place struct {
	Offset, Size uintptr
}

// Records are the records of the headers by name: the record, and then its fields.
func Records() map[string][]Place {
	records := map[string][]Place{}
	for i := C.int(0); i < C.PLACES; i++ {
		p := C.place(i)
		name := C.GoString(p.record)
		records[name] = append(records[name], Place{uintptr(p.offset), uintptr(p.size)})
	}
	return records
}
