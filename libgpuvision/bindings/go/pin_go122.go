// SPDX-License-Identifier: BSD-2-Clause

//go:build go1.22

package gpuvision

import "runtime"

// pins keeps Go memory where it is as long as views point to it. Memory that is not Go's, such as
// that of syscall.Mmap, needs no pin and gets none; Pinner of Go 1.21 panics there.
type pins struct {
	pinner runtime.Pinner
}

func (p *pins) pin(b *byte) {
	p.pinner.Pin(b)
}

func (p *pins) unpin() {
	p.pinner.Unpin()
}
