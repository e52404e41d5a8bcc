// SPDX-License-Identifier: BSD-2-Clause

// Works in a function that is inlined in another, which is inlined in a third, for SECONDS of CPU time.
package main

import (
	"os"
	"strconv"
	"syscall"
)

func leaf(x uint64) uint64 {
	return x*0x9e3779b97f4a7c15 ^ x>>29 // leaf's line
}

func middle(x uint64) uint64 {
	return leaf(x) + leaf(x^1) // middle's line
}

// outer has a frame of its own, so that its caller is found.
//
//go:noinline
func outer(n int, x uint64) uint64 {
	var room [64]uint64
	for i := 0; i < n; i++ {
		x = middle(x) // outer's line
	}
	room[x&63] = x
	return room[n&63] + x
}

func used() float64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Sec) + float64(usage.Utime.Usec)/1e6
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	x := uint64(1)
	for used() < seconds {
		x = outer(10000000, x) // main's line
	}
	os.Exit(int(x & 1 >> 1))
}
