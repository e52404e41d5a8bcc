// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"fmt"

	"oracle/profile"
)

// What a mapping says of all of its locations. pprof's Merge keeps what the first source says of a mapping, though
// another source may have locations in it without a function: cprof says of the result what holds for all.
func flagsOf(m *profile.Mapping) []*bool {
	return []*bool{&m.HasFunctions, &m.HasFilenames, &m.HasLineNumbers, &m.HasInlineFrames}
}

// By what Merge takes two mappings for one.
func keyOf(m *profile.Mapping) string {
	name := m.BuildID
	if name == "" {
		name = m.File
	}
	return fmt.Sprintf("%x %x %q", (m.Limit-m.Start+0xfff)&^0xfff, m.Offset, name)
}

func isZero(s *profile.Sample) bool {
	for _, v := range s.Value {
		if v != 0 {
			return false
		}
	}
	return true
}

// The mappings in which a profile has frames of samples.
func inUse(p *profile.Profile) map[*profile.Mapping]bool {
	used := map[*profile.Mapping]bool{}
	for _, s := range p.Sample {
		if isZero(s) {
			continue
		}
		for _, l := range s.Location {
			if l.Mapping != nil {
				used[l.Mapping] = true
			}
		}
	}
	return used
}

func mergeAll(all []*profile.Profile) (*profile.Profile, error) {
	common := map[string][]bool{}
	for _, p := range all {
		for m := range inUse(p) {
			flags, known := common[keyOf(m)]
			if !known {
				flags = []bool{true, true, true, true}
			}
			for i, flag := range flagsOf(m) {
				flags[i] = flags[i] && *flag
			}
			common[keyOf(m)] = flags
		}
	}
	for _, p := range all {
		for _, m := range p.Mapping {
			for i, flag := range flagsOf(m) {
				if flags, known := common[keyOf(m)]; known {
					*flag = *flag && flags[i]
				}
			}
		}
	}
	return profile.Merge(all)
}
