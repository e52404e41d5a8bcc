// SPDX-License-Identifier: BSD-2-Clause

// Goroutines that recurse 50 frames deep, each frame of another size at each level, and work there for SECONDS of CPU
// time in all.
package main

import (
	"os"
	"sort"
	"strconv"
	"syscall"
	"time"
)

//go:noinline
func bottom(numbers []int) int {
	sort.Ints(numbers)
	sum := 0
	for i := 0; i < 20000; i++ {
		sum = sum*31 + i
	}
	return sum
}

//go:noinline
func dive(left int) int {
	var room [64]int
	room[left] = left
	if left == 0 {
		return bottom(room[:])
	}
	return dive(left-1) + room[left]
}

// What the process has used of the CPUs, however busy these are.
func used() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func worker(until time.Duration, done chan int) {
	sum := 0
	for used() < until {
		for i := 0; i < 16; i++ {
			sum += dive(50)
		}
	}
	done <- sum
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	until := time.Duration(seconds * float64(time.Second))
	done := make(chan int)
	for i := 0; i < 2; i++ {
		go worker(until, done)
	}
	<-done
	<-done
}
