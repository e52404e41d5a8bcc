// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"fmt"

	"oracle/profile"
)

// What differs between two profiles as they stand: order and duplicates count, ids do not.
// "" if nothing does.
func difference(a, b *profile.Profile) string {
	type part struct{ what, a, b string }
	parts := []part{
		{"header", header(a), header(b)},
		{"sample types", types(a.SampleType), types(b.SampleType)},
	}
	for _, n := range []struct {
		what string
		a, b int
	}{
		{"mappings", len(a.Mapping), len(b.Mapping)},
		{"functions", len(a.Function), len(b.Function)},
		{"locations", len(a.Location), len(b.Location)},
		{"samples", len(a.Sample), len(b.Sample)},
	} {
		if n.a != n.b {
			return fmt.Sprintf("%d %s and %d", n.a, n.what, n.b)
		}
	}
	for i := range a.Mapping {
		parts = append(parts, part{fmt.Sprintf("mapping %d", i), mapping(a.Mapping[i]), mapping(b.Mapping[i])})
	}
	for i := range a.Function {
		parts = append(parts, part{fmt.Sprintf("function %d", i), function(a.Function[i]), function(b.Function[i])})
	}
	for _, p := range parts {
		if p.a != p.b {
			return fmt.Sprintf("%s: %s and %s", p.what, p.a, p.b)
		}
	}
	return references(a, b)
}

// Locations and samples refer to others: by position.
func references(a, b *profile.Profile) string {
	pa, pb := positionsOf(a), positionsOf(b)
	for i := range a.Location {
		if x, y := pa.location(a.Location[i]), pb.location(b.Location[i]); x != y {
			return fmt.Sprintf("location %d: %s and %s", i, x, y)
		}
	}
	for i := range a.Sample {
		if x, y := pa.sample(a.Sample[i]), pb.sample(b.Sample[i]); x != y {
			return fmt.Sprintf("sample %d: %s and %s", i, x, y)
		}
	}
	return ""
}

type positions struct {
	mappings  map[*profile.Mapping]int
	functions map[*profile.Function]int
	locations map[*profile.Location]int
}

func positionsOf(p *profile.Profile) positions {
	pos := positions{map[*profile.Mapping]int{}, map[*profile.Function]int{}, map[*profile.Location]int{}}
	for i, m := range p.Mapping {
		pos.mappings[m] = i + 1
	}
	for i, f := range p.Function {
		pos.functions[f] = i + 1
	}
	for i, l := range p.Location {
		pos.locations[l] = i + 1
	}
	return pos
}

func header(p *profile.Profile) string {
	return fmt.Sprintf("%q %q %q %q %d %d %q %q %d %q", p.DefaultSampleType, p.DropFrames, p.KeepFrames,
		p.DocURL, p.TimeNanos, p.DurationNanos, p.PeriodType.Type, p.PeriodType.Unit, p.Period, p.Comments)
}

func types(list []*profile.ValueType) string {
	s := ""
	for _, t := range list {
		s += fmt.Sprintf("%q/%q ", t.Type, t.Unit)
	}
	return s
}

func mapping(m *profile.Mapping) string {
	return fmt.Sprintf("%x-%x@%x %q %q %v%v%v%v", m.Start, m.Limit, m.Offset, m.File, m.BuildID,
		m.HasFunctions, m.HasFilenames, m.HasLineNumbers, m.HasInlineFrames)
}

func function(f *profile.Function) string {
	return fmt.Sprintf("%q %q %q:%d", f.Name, f.SystemName, f.Filename, f.StartLine)
}

func (pos positions) location(l *profile.Location) string {
	s := fmt.Sprintf("%x in %d folded %v", l.Address, pos.mappings[l.Mapping], l.IsFolded)
	for _, line := range l.Line {
		s += fmt.Sprintf(" f%d:%d:%d", pos.functions[line.Function], line.Line, line.Column)
	}
	return s
}

func (pos positions) sample(s *profile.Sample) string {
	text := fmt.Sprintf("%v at", s.Value)
	for _, l := range s.Location {
		text += fmt.Sprintf(" %d", pos.locations[l])
	}
	for _, k := range sortedKeys(s.Label) {
		text += fmt.Sprintf(" %q:%q", k, s.Label[k])
	}
	for _, k := range sortedKeys(s.NumLabel) {
		text += fmt.Sprintf(" %q:%v%q", k, s.NumLabel[k], s.NumUnit[k])
	}
	return text
}
