// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestHeaders(t *testing.T) {
	tooLarge := "99999999999999999999"
	for header, want := range map[string]string{
		"P5 2 1 255\n":               "",
		"P5\v\f02\r001\t00255 ":      "",
		"P5 2 1 2550 ":               errFormat.Error(),
		"P5 2 1 254 ":                errFormat.Error(),
		"P5 2 1 " + tooLarge + " ":   errFormat.Error(),
		"P5 2 -1 255 ":               errFormat.Error(),
		"P5 2147483648 1 255 ":       errFormat.Error(),
		"P5 1 4294967297 255 ":       errFormat.Error(),
		"P5 1 " + tooLarge + " 255 ": errFormat.Error(),
		"P5 2147483647 1 255 ":       "a picture of 2147483647 x 1 pixels is not possible",
		"P6 2 1 255 ":                "ends before its last pixel",
	} {
		path := filepath.Join(t.TempDir(), "picture")
		if err := os.WriteFile(path, []byte(header+"ab"), 0o666); err != nil {
			t.Fatal(err)
		}
		is := ""
		picture, err := load(path)
		if err != nil {
			is = err.Error()
		} else if picture.Width() != 2 || picture.Height() != 1 || picture.Pix(0)[1] != 'b' {
			t.Errorf("%q gives %d x %d pixels", header, picture.Width(), picture.Height())
		}
		if is != want {
			t.Errorf("%q gives %q, want %q", header, is, want)
		}
	}
}
