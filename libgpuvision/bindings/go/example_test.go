// SPDX-License-Identifier: BSD-2-Clause

package gpuvision_test

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"log"

	"gpuvision"
)

func Example() {
	context, err := gpuvision.NewContext(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer context.Close()
	ccl, err := gpuvision.NewCcl(context, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer ccl.Close()

	picture := image.NewGray(image.Rect(0, 0, 64, 48))
	for x := 10; x < 30; x++ {
		picture.SetGray(x, 20, color.Gray{Y: 255})
	}
	src, err := gpuvision.FromImage(picture) // the same memory
	if err != nil {
		log.Fatal(err)
	}
	components := make([]gpuvision.Component, 16)
	result, err := ccl.Run(src, nil, components)
	if err != nil {
		log.Fatal(err)
	}
	for _, component := range components[:result.Components] {
		fmt.Println(component.Area, "pixels in", component.Bounds())
	}
	// Output: 20 pixels in (10,20)-(30,21)
}

func ExampleDefaultErodeParams() {
	context, err := gpuvision.NewContext(&gpuvision.ContextParams{Backend: gpuvision.BackendCPU})
	if err != nil {
		log.Fatal(err)
	}
	defer context.Close()
	params := gpuvision.DefaultErodeParams()
	params.Radius = 300
	_, err = gpuvision.NewErode(context, &params)
	fmt.Println(err)
	fmt.Println(errors.Is(err, gpuvision.ErrInvalidArgument))
	// Output:
	// invalid argument: params->radius is 300, must be 0..255
	// true
}
