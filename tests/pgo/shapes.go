// SPDX-License-Identifier: BSD-2-Clause

// shapes ROUNDS [FILE]: sums the areas of shapes, all of them squares. Two functions are too large to be inlined, unless
// it is known that they are hot; setup is as large, and called once. FILE: what runtime/pprof says of this run.
package main

import (
	"fmt"
	"os"
	"runtime/pprof"
	"strconv"
)

type shape interface{ area(scale int) int }

type square struct{ side, margin int }
type circle struct{ radius, margin int }

func (s *square) area(scale int) int {
	a := s.side * scale
	for i := 0; i < 3; i++ {
		a ^= a>>3 + s.margin*i
		if a < 0 {
			a = -a + len(strconv.Itoa(a))
		}
	}
	a += s.side<<2 ^ s.margin
	a ^= a >> 7
	a *= 31
	a ^= a >> 5
	return a + s.side*s.side
}

func (c *circle) area(scale int) int {
	return c.radius * c.radius * 3 * scale
}

// Too large to be inlined, unless it is hot. Its instances have names of their own.
func mix[T ~int](x, y T) T {
	a := x*31 + y
	a ^= a >> 3
	a *= 17
	a ^= a >> 11
	a += x<<3 ^ y<<5
	a ^= a >> 13
	a *= 7
	if a&1 == 0 {
		a += x*y ^ a>>2
	}
	a ^= a<<7 ^ a>>9
	a += x ^ y
	a ^= a >> 4
	a *= 3
	a ^= a<<2 ^ x
	if a < 0 {
		a = -a
	}
	return a ^ a>>17
}

// As large, and called once.
func setup(x, y int) int {
	a := x*37 + y
	a ^= a >> 3
	a *= 19
	a ^= a >> 11
	a += x<<3 ^ y<<5
	a ^= a >> 13
	a *= 7
	if a&1 == 0 {
		a += x*y ^ a>>2
	}
	a ^= a<<7 ^ a>>9
	a += x ^ y
	a ^= a >> 4
	a *= 3
	a ^= a<<2 ^ x
	if a < 0 {
		a = -a
	}
	return a ^ a>>17
}

//go:noinline
func loop(shapes []shape, rounds int) int {
	sum := 0
	for r := 0; r < rounds; r++ {
		for _, s := range shapes {
			sum = mix(sum, s.area(r))
		}
	}
	return sum
}

func main() {
	rounds, _ := strconv.Atoi(os.Args[1])
	shapes := []shape{}
	margin := setup(rounds, 3)
	for i := 0; i < 1000; i++ {
		shapes = append(shapes, &square{i, margin})
	}
	if rounds < 0 {
		shapes = append(shapes, &circle{1, 2})
	}
	if len(os.Args) > 2 {
		file, _ := os.Create(os.Args[2])
		pprof.StartCPUProfile(file)
		defer pprof.StopCPUProfile()
	}
	fmt.Println(loop(shapes, rounds))
}
