// SPDX-License-Identifier: BSD-2-Clause

// A real producer: what Go's runtime/pprof writes of this program, a file for each kind of profile in
// the current folder (cpu, heap, allocs, mutex, block, goroutine, threadcreate), and some as text (heap.txt).
package main

import (
	"context"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"
)

var kept [][]byte

func work(until time.Time) (n int) {
	for time.Now().Before(until) {
		n++
	}
	return n
}

func create(name string) *os.File {
	f, err := os.Create(name)
	if err != nil {
		panic(err)
	}
	return f
}

func contend() {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := 0; i < 8; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := 0; j < 50; j++ {
				mu.Lock()
				time.Sleep(time.Microsecond)
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
}

func main() {
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	f := create("cpu")
	pprof.StartCPUProfile(f)
	pprof.Do(context.Background(), pprof.Labels("phase", "one"), func(context.Context) {
		work(time.Now().Add(500 * time.Millisecond))
	})
	pprof.StopCPUProfile()
	f.Close()
	for i := 0; i < 100000; i++ {
		kept = append(kept, make([]byte, i%5000))
	}
	contend()
	for _, name := range []string{"heap", "allocs", "mutex", "block", "goroutine", "threadcreate"} {
		f := create(name)
		pprof.Lookup(name).WriteTo(f, 0)
		f.Close()
	}
	for _, name := range []string{"heap", "mutex", "block", "goroutine"} {
		f := create(name + ".txt")
		pprof.Lookup(name).WriteTo(f, 1)
		f.Close()
	}
}
