// SPDX-License-Identifier: BSD-2-Clause

// The oracle: pprof's own profile package as a judge of what cprof reads and writes.
//
//	oracle compare A B [A B]...   are they the same profile? A line for each pair that is not
//	oracle compare-dirs A B       the same for every file of folder A and its namesake in B
//	oracle accepts FILE...        "FILE: ok" or "FILE: why not", in the words of pprof
//	oracle generate SEED N DIR    N random profiles with all fields, DIR/000000.pb.gz ...
//	oracle legacy SEED N DIR      N files of the formats before profile.proto, most of them changed
//	oracle agree A B              what pprof takes of folder A, its namesake in B tells alike
//	oracle large SEED N OUT       one profile of N samples, as real ones are
//	oracle family SEED N DIR SAMPLES  N profiles of one program, of so many samples each
//	oracle merge OUT IN...        Merge
//	oracle scale OUT FACTOR IN    Scale
//	oracle scale-types OUT IN F.. ScaleN
//	oracle diff OUT BASE HEAD     Merge of HEAD and BASE scaled by -1
//	oracle normalize OUT BASE IN  IN.Normalize(BASE)
//	oracle compact OUT IN         Compact
//	oracle string FILE            String()
//
// Exit code 1: not the same, or not accepted.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"

	"oracle/profile"
)

func die(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(2)
	}
}

func parse(path string) (*profile.Profile, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return profile.ParseData(data)
}

func load(path string) *profile.Profile {
	p, err := parse(path)
	if err != nil {
		die(fmt.Errorf("%s: %w", path, err))
	}
	return p
}

func save(path string, p *profile.Profile) {
	f, err := os.Create(path)
	die(err)
	die(p.Write(f))
	die(f.Close())
}

func number(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	die(err)
	return f
}

func comparePaths(pairs [][2]string) int {
	code := 0
	for _, pair := range pairs {
		a, err := parse(pair[0])
		die(err)
		b, err := parse(pair[1])
		why := ""
		if err != nil {
			why = err.Error()
		} else {
			why = difference(a, b)
		}
		if why != "" {
			fmt.Printf("%s %s: %s\n", pair[0], pair[1], why)
			code = 1
		}
	}
	return code
}

func compareDirs(a, b string) int {
	entries, err := os.ReadDir(a)
	die(err)
	var pairs [][2]string
	for _, e := range entries {
		pairs = append(pairs, [2]string{filepath.Join(a, e.Name()), filepath.Join(b, e.Name())})
	}
	code := comparePaths(pairs)
	fmt.Printf("compared %d\n", len(pairs))
	return code
}

func accepts(paths []string) int {
	code := 0
	for _, path := range paths {
		if _, err := parse(path); err != nil {
			fmt.Printf("%s: %v\n", path, err)
			code = 1
		} else {
			fmt.Printf("%s: ok\n", path)
		}
	}
	return code
}

func merge(paths []string) *profile.Profile {
	var all []*profile.Profile
	for _, path := range paths {
		all = append(all, load(path))
	}
	p, err := mergeAll(all)
	die(err)
	return p
}

func run(command string, args []string) int {
	switch command {
	case "compare":
		var pairs [][2]string
		for i := 0; i+1 < len(args); i += 2 {
			pairs = append(pairs, [2]string{args[i], args[i+1]})
		}
		return comparePaths(pairs)
	case "compare-dirs":
		return compareDirs(args[0], args[1])
	case "accepts":
		return accepts(args)
	case "generate":
		generate(int64(number(args[0])), int(number(args[1])), args[2])
	case "legacy":
		generateLegacy(int64(number(args[0])), int(number(args[1])), args[2])
	case "agree":
		return agree(args[0], args[1])
	case "large":
		large(int64(number(args[0])), int(number(args[1])), args[2])
	case "family":
		generateFamily(int64(number(args[0])), int(number(args[1])), args[2], int(number(args[3])))
	case "merge":
		save(args[0], merge(args[1:]))
	case "scale":
		p := load(args[2])
		p.Scale(number(args[1]))
		save(args[0], p)
	case "scale-types":
		p := load(args[1])
		var factors []float64
		for _, s := range args[2:] {
			factors = append(factors, number(s))
		}
		die(p.ScaleN(factors))
		save(args[0], p)
	case "diff":
		base, head := load(args[1]), load(args[2])
		base.Scale(-1)
		p, err := mergeAll([]*profile.Profile{head, base})
		die(err)
		save(args[0], p)
	case "normalize":
		base, p := load(args[1]), load(args[2])
		die(p.Normalize(base))
		save(args[0], p)
	case "compact":
		save(args[0], load(args[1]).Compact())
	case "string":
		fmt.Print(load(args[0]).String())
	default:
		die(fmt.Errorf("unknown command %q", command))
	}
	return 0
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func main() {
	if len(os.Args) < 3 {
		die(fmt.Errorf("usage: see the head of main.go"))
	}
	os.Exit(run(os.Args[1], os.Args[2:]))
}
