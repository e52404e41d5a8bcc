// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"encoding/binary"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"oracle/profile"
)

const memoryMap = `
MAPPED_LIBRARIES:
00400000-00500000 r-xp 00000000 08:01 12 /bin/app
7f0000000000-7f0000100000 r-xp 00001000 08:01 13 /lib/libc.so.6
7f0000200000-7f0000300000 rw-p 00001000 08:01 13 /lib/libc.so.6
`

const javaPlaces = `
 0x0000003 com.example.f (source.java:3)
 0x0000004 com.example.g (source.java:0)
 0x0000005 Gen::f (/usr/lib/libjvm.so)
 0x0000006 generated stub/JIT
 0x0000007 GC
`

// One of each kind; what is done to them shows where two readers differ.
var legacySeeds = []string{
	"heap profile: 5: 5120 [7: 9216] @ heap/1048576\n3: 3072 [4: 4096] @ 0x401234 0x401567\n" +
		"2: 2048 [3: 5120] @ 0x7f0000001234 0x401567\n" + memoryMap,
	"heap profile: 5: 0 [5: 0] @ heap/2\n5: 0 [5: 0] @ 0x401234\n1: 8 [1: 8] @ 0x401334\n" + memoryMap,
	"heap profile: 3: 3072 [3: 3072] @ heap_v2/524288\n  3: 3072 [ 3: 3072] @ 0x401234 0x401567\n# VmRSS = 1 kB\n" + memoryMap,
	"heap profile: 3: 3072 [4: 4096] @ heapprofile\n3: 3072 [4: 4096] @ 0x401234 0x401567\n0: 0 [1: 1024] @ 0x401234\n",
	"heap profile: 3: 3072 [3: 3072] @ growthz\n-3: -3072 [3: 3072] @ 0x401234 0x401567\n" + memoryMap,
	"heap profile: 3: 3072 [3: 3072] @ fragmentationz\n3: 3072 [3: 3072] @ 0x401234 0x401567\n" + memoryMap,
	"--- contention:\ncycles/second=3201000000\nsampling period=100\nms since reset=16502830\ndiscarded samples=0\n" +
		"  19490304       27 @ 0x401234 0x401567\n 768 1 @ 0x7f0000001234 0x401567\n" +
		strings.Replace(memoryMap, "MAPPED_LIBRARIES:", "--- Memory map: ---", 1),
	"--- contentionz 1 ---\nformat = c\n5 1 @ 0x401234\n",
	"--- mutex:\ncycles/second=1000000000\nsampling period=1\n1000 2 @ 0x401234 0x401567\n",
	"--- contentionz 1 ---\nformat = java\nresolution = microseconds\nsampling period = 100\nms since reset = 6019\n" +
		"     14     2 @ 0x00000003 0x00000004\n     1     1 @ 0x00000005 0x00000006 0x00000007 0x00000008\n" + javaPlaces,
	"--- heapz 1 ---\nformat = java\nresolution = bytes\n          7048     1 @ 0x00000003 0x00000004\n" +
		"          4752     9 @ 0x00000005 0x00000006 0x00000007 0x00000008\n" + javaPlaces,
	"--- threadz 1 ---\n\n--- Thread 7f794ab90940 (name: main/14748) stack: ---\n  PC: 0x00401234: helper(arg *)\n" +
		"      0x00401567\n      0x7f0000001234\n--- Thread 7f794a32d940 (name: pool/14751) stack: ---\n" +
		"    [same as previous thread]\n--- Thread 7f794a32d941 (name: pool/1) stack: ---\n  PC: 0x00401234 0x00401235\n" +
		"--- Memory map: ---\n  00400000-00500000: /bin/app\n",
	"--- Thread 7f794ab90940 (name: main/14748) stack: ---\n  PC: 0x00401234\n---- no stack trace for ... ---\n" + memoryMap,
	"goroutine profile: total 7\n3 @ 0x401234 0x401567\n#\t0x401233\tmain.f\tapp.go:1\n\n4 @ 0x7f0000001234\n",
	"# comment\n\nthreadcreate profile: total 2\n2 @ 0x401234\n---\n" + memoryMap,
}

// The words of gperftools' CPU profile; java is 1 for a Java program.
func cpuSeed(java uint32, tail string) string {
	words := []uint32{0, 3, java, 10000, 0, 5, 2, 3, 4, 7, 3, 4, 5, 6, 1, 1, 8, 2, 2, 7, 7, 0, 1, 0}
	if java == 0 {
		words = []uint32{0, 3, 0, 10000, 0, 5, 2, 0x401234, 0x401567, 7, 3, 0x401239, 0x401667, 0x401767, 2, 2,
			0x401234, 0x401235, 1, 1, 0x401334, 0, 1, 0}
	}
	data := make([]byte, 4*len(words))
	for i, word := range words {
		binary.LittleEndian.PutUint32(data[4*i:], word)
	}
	return string(data) + tail
}

var numbers = regexp.MustCompile(`[0-9]+`)
var oddNumbers = []string{"0", "1", "2", "-2", "+2", "010", "08", "0x10", "0b11", "1_000", "1__0", "99999999999999999999", "", "5.5", "00"}
var oddBytes = " \t-:@[]()=/#\rxAf0$'_.\n"
var oddLines = []string{"", "# comment", "text before", "1 @ 0x1", "123 @ 0x1", "1 2 3 @ 0x1", "x = y", "---", "same as previous thread",
	"2: 4 [6: 8] @ 0xAB 0xcDe 0x0x12", "6 6 @  0x12", "  --- Thread 1 (name: a/1) stack: ---",
	" 0x3 h (dir/file.java:-3)", " 0x8 late", " 0x4 k  (a (b) (c:5)", " 0x5 m (/)", "sampling period = 0x10", "cycles/second=0x10", "discarded samples=x"}

// One change, of a kind that an editor, another producer or a broken disk makes.
func mutate(r *rand.Rand, text string) string {
	lines := strings.Split(text, "\n")
	at := r.Intn(len(lines))
	switch r.Intn(9) {
	case 0: // another number
		all := numbers.FindAllStringIndex(text, -1)
		if len(all) == 0 {
			return text
		}
		n := all[r.Intn(len(all))]
		return text[:n[0]] + oddNumbers[r.Intn(len(oddNumbers))] + text[n[1]:]
	case 1:
		lines = append(lines[:at], lines[at+1:]...)
	case 2:
		lines[at] += "\n" + lines[at]
	case 3:
		other := r.Intn(len(lines))
		lines[at], lines[other] = lines[other], lines[at]
	case 4:
		lines[at] = []string{"text ", " ", "\t", "-", "I0102 f.cc:12] "}[r.Intn(5)] + lines[at]
	case 5:
		lines[at] += []string{" text", " ", "\r", "x"}[r.Intn(4)]
	case 6:
		if strings.Contains(text, "\x00") {
			return text // behind words, a line is one of the memory map
		}
		lines[at] = oddLines[r.Intn(len(oddLines))] + "\n" + lines[at]
	case 7:
		if len(text) == 0 {
			return text
		}
		i := r.Intn(len(text))
		return text[:i] + string(oddBytes[r.Intn(len(oddBytes))]) + text[i+r.Intn(2):]
	case 8:
		if r.Intn(4) == 0 {
			return text[:r.Intn(len(text)+1)]
		}
	}
	return strings.Join(lines, "\n")
}

var mapHead = regexp.MustCompile(`\n(MAPPED_LIBRARIES:|--- Memory map: ---)\n`)

// Changes what stands before the memory map. In the map itself, only whole lines are moved or removed: cprof treats
// odd lines there differently on purpose (user/input/memorymap.h).
func mutateProfile(r *rand.Rand, text string) string {
	head := mapHead.FindStringIndex(text)
	if head == nil {
		return mutate(r, text)
	}
	lines := strings.Split(text[head[1]:], "\n")
	r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	lines = lines[r.Intn(2):]
	return mutate(r, text[:head[0]]) + text[head[0]:head[1]] + strings.Join(lines, "\n")
}

// N changed files of the formats before profile.proto; the first are unchanged.
func generateLegacy(seed int64, n int, dir string) {
	r := rand.New(rand.NewSource(seed))
	seeds := append([]string{}, legacySeeds...)
	seeds = append(seeds, cpuSeed(0, memoryMap), cpuSeed(1, javaPlaces))
	for i := 0; i < n; i++ {
		text := seeds[i%len(seeds)]
		for changes := 0; i >= len(seeds) && changes <= r.Intn(3); changes++ {
			text = mutateProfile(r, text)
		}
		die(os.WriteFile(filepath.Join(dir, fmt.Sprintf("%06d", i)), []byte(text), 0o644))
	}
}

// What pprof takes of folder A, its namesake in B tells alike; it is for cprof to take more.
func agree(a, b string) int {
	entries, err := os.ReadDir(a)
	die(err)
	alike, refused, alone, code := 0, 0, 0, 0
	for _, e := range entries {
		theirs, err := parse(filepath.Join(a, e.Name()))
		if err == nil && len(theirs.SampleType) == 0 {
			err = fmt.Errorf("a profile of nothing")
		}
		_, missing := os.Stat(filepath.Join(b, e.Name()))
		switch {
		case err != nil && missing != nil:
			refused++
			continue
		case err != nil:
			alone++
			if os.Getenv("ALONE") != "" {
				fmt.Printf("alone %s: %v\n", e.Name(), err)
			}
			continue
		}
		why := "refused"
		if missing == nil {
			var ours *profile.Profile
			if ours, err = parse(filepath.Join(b, e.Name())); err != nil {
				why = err.Error()
			} else {
				why = difference(theirs.Copy(), ours)
			}
		}
		if why == "" {
			alike++
			continue
		}
		code = 1
		fmt.Printf("%s: %s\n", e.Name(), why)
	}
	fmt.Printf("alike %d, refused by both %d, taken by cprof alone %d\n", alike, refused, alone)
	return code
}
