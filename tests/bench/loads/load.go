// SPDX-License-Identifier: BSD-2-Clause

// A Go program at work: goroutines, channels, maps, the collector, assembly, the system stack.
package main

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strconv"
	"sync"
	"time"
)

type shape interface{ area() float64 }
type square struct{ A float64 }
type circle struct{ R float64 }

func (s square) area() float64  { return s.A * s.A }
func (c *circle) area() float64 { return 3.14 * c.R * c.R }

var words = regexp.MustCompile(`"(A|R)":(\d+)`)

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func turn(i int) (sum float64) {
	defer func() {
		if recover() != nil {
			sum += float64(fib(18))
		}
	}()
	var shapes []shape
	for n := 0; n < 2000; n++ {
		if n%2 == 0 {
			shapes = append(shapes, square{float64(n)})
		} else {
			shapes = append(shapes, &circle{float64(n)})
		}
	}
	sort.Slice(shapes, func(a, b int) bool { return shapes[a].area() > shapes[b].area() })
	text, _ := json.Marshal(shapes)
	count := map[string]int{}
	for _, m := range words.FindAllStringSubmatch(string(text), -1) {
		count[m[1]+m[2]]++
	}
	var packed bytes.Buffer
	w, _ := flate.NewWriter(&packed, 6)
	w.Write(text)
	w.Close()
	fmt.Sprintf("%x %v", sha256.Sum256(packed.Bytes()), count)
	panic("expected")
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	end := time.Now().Add(time.Duration(seconds * 1e9))
	jobs := make(chan int)
	var wait sync.WaitGroup
	for range [4]int{} {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := range jobs {
				turn(i)
			}
		}()
	}
	for i := 0; time.Now().Before(end); i++ {
		jobs <- i
	}
	close(jobs)
	wait.Wait()
}
