// SPDX-License-Identifier: BSD-2-Clause

//go:build !go1.20

package main

import "runtime"

func start(*runtime.Frame) int { return 0 }
