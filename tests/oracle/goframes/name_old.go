// SPDX-License-Identifier: BSD-2-Clause

//go:build !go1.21

package main

import "runtime"

func name(frame *runtime.Frame) string { return frame.Function }
