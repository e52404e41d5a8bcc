// SPDX-License-Identifier: BSD-2-Clause

// Profiles by Go's own runtime, into the folder that is named: cpu.pb.gz, heap.pb.gz, goroutine.pb.gz.
package main

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"time"
)

var keep [][]byte

//go:noinline
func spin(n int) int {
	sum := 0
	for i := 0; i < n; i++ {
		sum += i*i ^ sum
	}
	return sum
}

func inlined(n int) int { return spin(n) + 1 }

//go:noinline
func recurse(depth int) int {
	if depth == 0 {
		return inlined(200000)
	}
	keep = append(keep, make([]byte, 4096*depth))
	return recurse(depth-1) + 1
}

func create(name string) *os.File {
	file, err := os.Create(filepath.Join(os.Args[1], name))
	if err != nil {
		panic(err)
	}
	return file
}

func main() {
	runtime.MemProfileRate = 4096
	cpu := create("cpu.pb.gz")
	pprof.StartCPUProfile(cpu)
	for start := time.Now(); time.Since(start) < time.Second; {
		recurse(6)
		if len(keep) > 2000 {
			keep = nil
		}
		spin(300000)
	}
	pprof.StopCPUProfile()
	cpu.Close()
	for _, name := range []string{"heap", "goroutine"} {
		file := create(name + ".pb.gz")
		pprof.Lookup(name).WriteTo(file, 0)
		file.Close()
	}
}
