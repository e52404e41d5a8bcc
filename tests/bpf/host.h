/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compiles a file of bpf/ for the host: in place of the prelude (vmlinux.h and libbpf's helpers) come
 * the few types and helpers that it uses, from here. Include this first, then the .bpf.c file itself.
 *
 *	config			as user space would have set it
 *	host_lookup()		what a look-up in a map finds, given by the test
 *	host_random()		the random numbers, given by the test
 */
#ifndef CPROF_TESTS_BPF_HOST_H
#define CPROF_TESTS_BPF_HOST_H

#define CPROF_PRELUDE_BPF_H /* not that one */

#include <stdbool.h>
#include <stdint.h>

#include "cprof_abi.h"

typedef uint32_t u32;
typedef uint64_t u64;

#define SEC(name)
#define __uint(name, value) int(*name)[value]
#define __type(name, value) __typeof__(value) *name
#define __hidden
#define BPF_MAP_TYPE_ARRAY	      2
#define bpf_map_lookup_elem(map, key) host_lookup(map, key)
#define bpf_get_prandom_u32()	      host_random()
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

static struct abi_config config;
static void *host_lookup(const void *map, const void *key);
static uint32_t host_random(void);

#endif
