// SPDX-License-Identifier: BSD-2-Clause

package gpuvision

// #include "binding.h"
import "C"

import "unsafe"

// FieldKind is what a parameter is; a newer library may have others than these.
type FieldKind uint32

// The kinds.
const (
	FieldInt32  FieldKind = C.GPV_FIELD_KIND_INT32  // int32
	FieldUint32 FieldKind = C.GPV_FIELD_KIND_UINT32 // uint32
	FieldUint64 FieldKind = C.GPV_FIELD_KIND_UINT64 // uint64, of which every value is legal
	FieldFloat  FieldKind = C.GPV_FIELD_KIND_FLOAT  // float32
	FieldBool   FieldKind = C.GPV_FIELD_KIND_BOOL   // bool
	FieldChoice FieldKind = C.GPV_FIELD_KIND_CHOICE // one of the choices
)

// Choice is one value of a parameter of kind FieldChoice.
type Choice struct {
	Name  string // in lower case
	Text  string // what it means
	Value int    // what the parameter holds
}

// Field is a parameter.
type Field struct {
	Name      string // as in C
	Kind      FieldKind
	Low, High float64  // least and greatest value; of FieldUint64, of which every value is legal, 0
	Initial   float64  // default
	Unit      string   // in the plural; "" = none
	Text      string   // what it does, and what between Low and High is not legal
	Choices   []Choice // of FieldChoice; else none
}

// Fields gives the parameters of an operator, such as "erode", of "homography" or of "context", in
// the order of their struct; none where there is no such struct.
func Fields(stem string) (found []Field) {
	name := C.CString(stem)
	defer C.free(unsafe.Pointer(name))
	var raw C.gpv_field
	for C.gpv_params_describe(name, C.int32_t(len(found)), &raw, C.sizeof_gpv_field) == C.GPV_OK {
		field := Field{
			Name:    C.GoString(raw.name),
			Kind:    FieldKind(raw.kind),
			Low:     float64(raw.low),
			High:    float64(raw.high),
			Initial: float64(raw.initial),
			Unit:    C.GoString(raw.unit),
			Text:    C.GoString(raw.text),
		}
		for _, one := range unsafe.Slice(raw.choices, int(raw.choice_count)) {
			field.Choices = append(field.Choices,
				Choice{C.GoString(one.name), C.GoString(one.text), int(one.value)})
		}
		found = append(found, field)
	}
	return found
}
