// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"fmt"
	"math"
	"math/rand"
	"os"
	"path/filepath"

	"oracle/profile"
)

// Random profiles that are valid and have everything a profile can have: sparse ids, missing
// mappings, inlined lines, empty stacks, repeated labels, extreme numbers, broken UTF-8.
type generator struct{ *rand.Rand }

func (g generator) word() string {
	words := []string{"", "main", "work", "malloc", "std::vector<int>::push_back(int const&)", "λ", "a b",
		"\xff\xfe broken", "日本語", "[kernel.kallsyms]_text", "/usr/bin/app", "x.c", "bytes", "nanoseconds"}
	if g.Intn(3) == 0 {
		return fmt.Sprintf("f%d", g.Intn(50))
	}
	return words[g.Intn(len(words))]
}

func (g generator) int64() int64 {
	switch g.Intn(8) {
	case 0:
		return 0
	case 1:
		return math.MaxInt64
	case 2:
		return math.MinInt64
	case 3:
		return -g.Int63n(1000)
	default:
		return g.Int63n(1 << uint(1+g.Intn(60)))
	}
}

func (g generator) bool() bool { return g.Intn(2) == 0 }

// Ids in the order of the file: 1..N, or with gaps, or anything.
func (g generator) ids(n int) []uint64 {
	ids := make([]uint64, n)
	way := g.Intn(4)
	for i := range ids {
		switch way {
		case 0, 1:
			ids[i] = uint64(i + 1)
		case 2:
			ids[i] = uint64(n-i)*7 + 3
		default:
			ids[i] = g.Uint64()&^0xffff | uint64(i+1)
		}
	}
	return ids
}

func (g generator) types() []*profile.ValueType {
	var types []*profile.ValueType
	for i := 0; i < 1+g.Intn(5); i++ {
		types = append(types, &profile.ValueType{Type: fmt.Sprintf("%s%d", g.word(), i), Unit: g.word()})
	}
	return types
}

func (g generator) mappings() []*profile.Mapping {
	var all []*profile.Mapping
	for _, id := range g.ids(g.Intn(4)) {
		all = append(all, &profile.Mapping{ID: id, Start: g.Uint64(), Limit: g.Uint64(), Offset: uint64(g.Intn(9)) << 12,
			File: g.word(), BuildID: g.word(), HasFunctions: g.bool(), HasFilenames: g.bool(),
			HasLineNumbers: g.bool(), HasInlineFrames: g.bool()})
	}
	return all
}

func (g generator) functions() []*profile.Function {
	var all []*profile.Function
	for _, id := range g.ids(g.Intn(8)) {
		all = append(all, &profile.Function{ID: id, Name: g.word(), SystemName: g.word(), Filename: g.word(),
			StartLine: g.int64()})
	}
	return all
}

func (g generator) locations(mappings []*profile.Mapping, functions []*profile.Function) []*profile.Location {
	var all []*profile.Location
	for _, id := range g.ids(g.Intn(12)) {
		l := &profile.Location{ID: id, Address: g.Uint64(), IsFolded: g.Intn(5) == 0}
		if len(mappings) > 0 && g.Intn(5) > 0 {
			l.Mapping = mappings[g.Intn(len(mappings))]
		}
		for i := 0; len(functions) > 0 && i < g.Intn(4); i++ {
			l.Line = append(l.Line, profile.Line{Function: functions[g.Intn(len(functions))], Line: g.int64(),
				Column: int64(g.Intn(80))})
		}
		all = append(all, l)
	}
	return all
}

// What encoding loses (empty values, numbers 0 without a unit) is not made.
func (g generator) labels(s *profile.Sample) {
	for i := 0; i < g.Intn(4); i++ {
		key := g.word()
		if g.bool() {
			if s.Label == nil {
				s.Label = map[string][]string{}
			}
			for n := 1 + g.Intn(2); n > 0; n-- {
				s.Label[key] = append(s.Label[key], fmt.Sprintf("v%d", g.Intn(9)))
			}
			continue
		}
		if s.NumLabel == nil {
			s.NumLabel, s.NumUnit = map[string][]int64{}, map[string][]string{}
		}
		unit := g.Intn(3)
		if _, there := s.NumLabel[key]; there {
			continue
		}
		for n := 1 + g.Intn(2); n > 0; n-- {
			s.NumLabel[key] = append(s.NumLabel[key], 1+g.Int63n(1000))
			if unit > 0 {
				s.NumUnit[key] = append(s.NumUnit[key], []string{"", "bytes", "seconds"}[unit])
			}
		}
	}
}

func (g generator) profile() *profile.Profile {
	p := &profile.Profile{SampleType: g.types(), DefaultSampleType: g.word(), DropFrames: g.word(),
		KeepFrames: g.word(), DocURL: g.word(), TimeNanos: g.int64(), DurationNanos: g.int64(), Period: g.int64()}
	p.PeriodType = &profile.ValueType{Type: g.word(), Unit: g.word()}
	p.Mapping = g.mappings()
	p.Function = g.functions()
	p.Location = g.locations(p.Mapping, p.Function)
	for i := 0; i < g.Intn(4); i++ {
		p.Comments = append(p.Comments, g.word())
	}
	for i := 0; i < g.Intn(20); i++ {
		s := &profile.Sample{}
		for range p.SampleType {
			s.Value = append(s.Value, g.int64())
		}
		for n := g.Intn(10); len(p.Location) > 0 && n > 0; n-- {
			s.Location = append(s.Location, p.Location[g.Intn(len(p.Location))])
		}
		g.labels(s)
		p.Sample = append(p.Sample, s)
	}
	return p
}

func generate(seed int64, n int, dir string) {
	g := generator{rand.New(rand.NewSource(seed))}
	for i := 0; i < n; i++ {
		p := g.profile()
		die(p.CheckValid())
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%06d.pb", i)))
		die(err)
		if i%2 == 0 {
			die(p.WriteUncompressed(f))
		} else {
			die(p.Write(f))
		}
		die(f.Close())
	}
}

// One profile of the shape that real ones have: so many samples, each of a stack of 10 to 40 frames
// out of a tree of calls, two values, two labels.
func large(seed int64, samples int, path string) {
	g := generator{rand.New(rand.NewSource(seed))}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 10101010,
		TimeNanos: 1700000000000000000, DurationNanos: 60000000000,
	}
	for i := 0; i < 50; i++ {
		p.Mapping = append(p.Mapping, &profile.Mapping{ID: uint64(i + 1), Start: uint64(i) << 24, Limit: uint64(i+1) << 24,
			File: fmt.Sprintf("/usr/lib/x86_64-linux-gnu/lib%d.so", i), BuildID: fmt.Sprintf("%040x", i), HasFunctions: true})
	}
	for i := 0; i < 5000; i++ {
		name := fmt.Sprintf("namespace%d::Class%d::method_number_%d(std::string const&, int)", i%7, i%101, i)
		p.Function = append(p.Function, &profile.Function{ID: uint64(i + 1), Name: name, SystemName: name + "X",
			Filename: fmt.Sprintf("/src/dir%d/file%d.cc", i%13, i%499), StartLine: int64(i % 1000)})
	}
	for i := 0; i < 20000; i++ {
		m := p.Mapping[i%50]
		p.Location = append(p.Location, &profile.Location{ID: uint64(i + 1), Mapping: m, Address: m.Start + uint64(i)*16,
			Line: []profile.Line{{Function: p.Function[i%5000], Line: int64(i % 3000)}}})
	}
	for i := 0; i < samples; i++ {
		s := &profile.Sample{Value: []int64{1 + g.Int63n(50), 10101010 * (1 + g.Int63n(50))},
			Label:    map[string][]string{"thread": {fmt.Sprintf("worker-%d", g.Intn(64))}},
			NumLabel: map[string][]int64{"pid": {int64(1000 + g.Intn(20))}}}
		for n, at := 10+g.Intn(31), g.Intn(20000); n > 0; n-- {
			s.Location = append(s.Location, p.Location[at])
			at = (at*7 + 1 + g.Intn(3)) % 20000
		}
		p.Sample = append(p.Sample, s)
	}
	save(path, p)
}
