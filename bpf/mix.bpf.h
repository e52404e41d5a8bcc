/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* A hash of words, one after the other: of all that identifies a sample, and of what identifies a frame of a runtime's. */
#ifndef CPROF_MIX_BPF_H
#define CPROF_MIX_BPF_H

#include "prelude.bpf.h"

/* The hash of what hash stands for and then value. */
static __always_inline u64 mix(u64 hash, u64 value)
{
	hash = (hash ^ value) *
	       0x9e3779b97f4a7c15ull; /* 2^64 / golden ratio: odd, bits well spread */
	return hash ^ hash >> 32;
}

#endif
