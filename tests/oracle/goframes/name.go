// SPDX-License-Identifier: BSD-2-Clause

//go:build go1.21

package main

import (
	"runtime"
	_ "unsafe"
)

//go:linkname name runtime/pprof.runtime_FrameSymbolName
func name(frame *runtime.Frame) string
