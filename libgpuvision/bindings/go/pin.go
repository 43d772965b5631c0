// SPDX-License-Identifier: BSD-2-Clause

//go:build !go1.22

package gpuvision

import "runtime"

// pins keeps Go memory alive as long as views point to it. It need not keep it in its place: the
// collectors of these versions of Go move nothing on the heap. Only stacks move, and what a pointer
// that is passed to C, or kept here, points to does not lie on one: it escapes.
type pins struct {
	kept []*byte
}

func (p *pins) pin(b *byte) {
	p.kept = append(p.kept, b)
}

func (p *pins) unpin() {
	runtime.KeepAlive(p.kept)
	p.kept = nil
}
