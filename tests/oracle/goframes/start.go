// SPDX-License-Identifier: BSD-2-Clause

//go:build go1.20

package main

import (
	"runtime"
	_ "unsafe"
)

//go:linkname start runtime/pprof.runtime_FrameStartLine
func start(frame *runtime.Frame) int
