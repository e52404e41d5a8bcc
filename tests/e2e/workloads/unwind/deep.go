// SPDX-License-Identifier: BSD-2-Clause

// Goroutines that recurse 50 frames deep, each frame of another size at each level, and work there.
package main

import (
	"os"
	"sort"
	"strconv"
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

func worker(until time.Time, done chan int) {
	sum := 0
	for time.Now().Before(until) {
		sum += dive(50)
	}
	done <- sum
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	until := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	done := make(chan int)
	for i := 0; i < 2; i++ {
		go worker(until, done)
	}
	<-done
	<-done
}
