// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"fmt"
	"math/rand"
	"path/filepath"

	"oracle/profile"
)

// Profiles of one program, as its runs make them: the same functions, sample types and labels, stacks
// that recur within a run and between runs, mappings at another place each time, and for every fifth
// run a library that is known by its path only. What merging is for, and what the bench measures.
type family struct {
	*rand.Rand
	functions, mappings int
}

const (
	familyCallees = 6 // places from which a function calls another
	familyImage   = 0x400000
)

func (f family) mapping(p *profile.Profile, i int) *profile.Mapping {
	start := uint64(i+1)<<36 + uint64(f.Intn(1<<20))<<12
	m := &profile.Mapping{ID: uint64(i + 1), Start: start, Limit: start + familyImage, Offset: uint64(i) << 12,
		File: fmt.Sprintf("/usr/lib/libpart%d.so", i), BuildID: fmt.Sprintf("%040x", i+1), HasFunctions: true,
		HasFilenames: true, HasLineNumbers: true}
	if i == f.mappings-1 && f.Intn(5) == 0 {
		m.BuildID = ""
	}
	p.Mapping = append(p.Mapping, m)
	return m
}

// The place in function i from which it makes its k-th call; every ninth has an inlined line.
func (f family) location(p *profile.Profile, i, k int) *profile.Location {
	m := p.Mapping[i%f.mappings]
	address := m.Start + uint64(i)*0x400 + uint64(k)*0x20
	l := &profile.Location{ID: uint64(len(p.Location) + 1), Mapping: m, Address: address,
		Line: []profile.Line{{Function: p.Function[i], Line: int64(10*i + k), Column: int64(k)}}}
	if (i+k)%9 == 0 {
		inlined := profile.Line{Function: p.Function[(i+1)%f.functions], Line: int64(i), Column: 3}
		l.Line = append([]profile.Line{inlined}, l.Line...)
	}
	p.Location = append(p.Location, l)
	return l
}

// A walk from main: the calls of a function always go to the same functions, the first ones mostly.
func (f family) stack(at func(i, k int) *profile.Location) []*profile.Location {
	var stack []*profile.Location
	for i, depth := 0, 6+f.Intn(30); depth > 0; depth-- {
		k := min(f.Intn(familyCallees), f.Intn(familyCallees))
		stack = append([]*profile.Location{at(i, k)}, stack...)
		i = (i*familyCallees + k*k + 1) % f.functions
	}
	return stack
}

func (f family) sample(at func(i, k int) *profile.Location) *profile.Sample {
	s := &profile.Sample{Location: f.stack(at), Value: []int64{1 + f.Int63n(9), 0},
		Label:    map[string][]string{"comm": {fmt.Sprintf("worker-%d", f.Intn(4))}},
		NumLabel: map[string][]int64{"pid": {int64(1000 + f.Intn(4))}}, NumUnit: map[string][]string{}}
	s.Value[1] = s.Value[0] * 10_000_000
	if f.Intn(4) == 0 {
		s.NumLabel["bytes"], s.NumUnit["bytes"] = []int64{int64(16) << f.Intn(12)}, []string{"bytes"}
	}
	return s
}

func (f family) profile(turn, samples int) *profile.Profile {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 10_000_000, DurationNanos: 5_000_000_000,
		TimeNanos: 1_700_000_000_000_000_000 + int64(turn), Comments: []string{"family", fmt.Sprintf("run %d", turn%3)}}
	for i := 0; i < f.mappings; i++ {
		f.mapping(p, i)
	}
	for i := 0; i < f.functions; i++ {
		name := fmt.Sprintf("part%d::module%d::function_%d(int, char const*)", i%f.mappings, i%37, i)
		p.Function = append(p.Function, &profile.Function{ID: uint64(i + 1), Name: name,
			SystemName: fmt.Sprintf("_ZN5part%d8module%d12function_%dEiPKc", i%f.mappings, i%37, i),
			Filename:   fmt.Sprintf("/src/part%d/module%d.cc", i%f.mappings, i%37), StartLine: int64(10 * i)})
	}
	known := map[[2]int]*profile.Location{}
	at := func(i, k int) *profile.Location {
		if known[[2]int{i, k}] == nil {
			known[[2]int{i, k}] = f.location(p, i, k)
		}
		return known[[2]int{i, k}]
	}
	for i := 0; i < samples; i++ {
		p.Sample = append(p.Sample, f.sample(at))
	}
	return p
}

func generateFamily(seed int64, n int, dir string, samples int) {
	f := family{rand.New(rand.NewSource(seed)), 3000, 4}
	for i := 0; i < n; i++ {
		p := f.profile(i, samples)
		die(p.CheckValid())
		save(filepath.Join(dir, fmt.Sprintf("run%04d.pb.gz", i)), p)
	}
}
