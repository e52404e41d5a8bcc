// SPDX-License-Identifier: BSD-2-Clause

// Prints what Go's runtime says of addresses of this program's own code: reads one a line, in hexadecimal, and writes a line
// "function TAB file TAB line TAB start line" for each frame, the innermost first, then an empty line.
package main

import (
	"bufio"
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	_ "unsafe"
)

//go:linkname expand runtime/pprof.runtime_expandFinalInlineFrame
func expand(stack []uintptr) []uintptr

var words = regexp.MustCompile(`\w+`)

func work() string {
	text, _ := json.Marshal(more())
	return strings.Join(words.FindAllString(string(text), -1), " ")
}

// How far the program is from where its file says.
func slide() uint64 {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		panic(err)
	}
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	before := strings.SplitN(string(maps), path, 2)[0]
	line := before[strings.LastIndex(before, "\n")+1:]
	start, err := strconv.ParseUint(strings.SplitN(line, "-", 2)[0], 16, 64)
	if err != nil {
		panic(err)
	}
	file, err := elf.Open("/proc/self/exe")
	if err != nil {
		panic(err)
	}
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_LOAD {
			return start - segment.Vaddr
		}
	}
	panic("no segment")
}

func main() {
	in, out := bufio.NewScanner(os.Stdin), bufio.NewWriter(os.Stdout)
	defer out.Flush()
	base := slide()
	if work() == "" {
		return
	}
	for in.Scan() {
		addr, err := strconv.ParseUint(in.Text(), 16, 64)
		if err != nil {
			panic(err)
		}
		// The runtime takes an address for one after a call: of the last byte of a function it would say what is after it.
		next := uintptr(addr + base + 1)
		if f := runtime.FuncForPC(next); f == nil || f.Entry() == next {
			fmt.Fprintf(out, "-\n\n")
			continue
		}
		for _, pc := range expand([]uintptr{uintptr(addr + base + 1)}) {
			frames := runtime.CallersFrames([]uintptr{pc})
			frame, _ := frames.Next()
			fmt.Fprintf(out, "%s\t%s\t%d\t%d\n", name(&frame), frame.File, frame.Line, start(&frame))
		}
		fmt.Fprintln(out)
	}
}
