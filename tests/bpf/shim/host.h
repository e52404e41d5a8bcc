/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel that BPF code sees when it is compiled for the host: one CPU, one current task, a target
 * memory of a few ranges, and maps. Tests set it up, call the programs, and look at the maps.
 *
 * The maps are those of the real BPF object (build/gen/cprof.skel.h), opened but never loaded: type,
 * sizes and names cannot differ from what the kernel would make. Array maps live in memfds, so that
 * collect/tables.c maps and fills them as it does the kernel's.
 *
 * To be included before anything that includes <stdbool.h>: vmlinux.h has a bool of its own.
 */
#ifndef CPROF_TESTS_HOST_H
#define CPROF_TESTS_HOST_H

#include "prelude.bpf.h"

#include <stddef.h>
#include <stdint.h>

#define HOST_STACK_BYTES 16384 /* a kernel stack */
#define HOST_MAX_RANGES	 64

/* Target memory; everything outside the ranges faults. Bytes are borrowed. */
struct host_range {
	u64 start;
	u64 len_bytes;
	const u8 *bytes;
};

struct host {
	u64 pid_tgid;
	struct task_struct task, leader;
	struct signal_struct signal;
	struct mm_struct mm;
	u64 now_ns;
	u64 random;			      /* the seed of bpf_get_prandom_u32(); never 0 */
	u32 next_randoms[2], nr_next_randoms; /* what it gives first, the last of them first */
	/* What the kernel saved of current at its entry, at the top of its stack. */
	u8 kernel_stack[HOST_STACK_BYTES] __attribute__((aligned(16)));
	u8 has_current_task_btf; /* Linux 5.11 */
	u8 has_task_pt_regs;	 /* Linux 5.15 */
	u8 fail_kernel_reads;
	u64 kernel_ips[ABI_MAX_KERNEL_FRAMES];
	u32 nr_kernel_ips;
	u64 user_ips
		[ABI_MAX_KERNEL_FRAMES]; /* what the kernel's own walk by frame pointers finds */
	u32 nr_user_ips;
	struct host_range ranges[HOST_MAX_RANGES];
	u32 nr_ranges;
	u64 nr_user_reads, nr_lookups;
};

extern struct host host;

/* Everything new: maps empty and of their default sizes, process 1000, no memory. */
void host_open(void);
void host_close(void);

struct abi_config *host_config(void);
struct pt_regs *host_saved_regs(void);
void host_set_current(u32 tgid, u32 tid);

void host_add_range(u64 start, const void *bytes, u64 len_bytes);
/* What bpf_probe_read_user() does. false: some of it faults. */
_Bool host_read(u64 address, void *to, u64 len_bytes);

struct host_map;

struct host_map *host_map(const char *name); /* dies if there is none of this name */
/* New and empty, for max_entries; before anybody has opened it. A ring: bytes. */
void host_map_resize(const char *name, u32 max_entries);
/* The same, with values of another size. */
void host_map_widen(const char *name, u32 value_bytes);
u32 host_map_nr(const char *name); /* entries of a hash */
int host_map_fd(const char *name);
/* The value of an array map's only entry. */
void *host_map_value(const char *name);

/* The ring's next message, taken out of it; NULL if it is empty. Valid until the next call. */
const void *host_ring_take(u32 *len_bytes);

/* For host.c and libbpf.c. */
void host_maps_open(void);
void host_maps_close(void);
struct host_map *host_map_by_fd(int fd);
int host_map_new(u32 type, const char *name, u32 key_bytes, u32 value_bytes, u32 max_entries);
long host_map_read(struct host_map *map, const void *key, void *value);
/* Whole buckets from *bucket on, as many as fit into *nr entries; -ENOENT: those were the last. */
int host_map_read_batch(struct host_map *map, u32 *bucket, u8 *keys, u8 *values, u32 *nr);
long host_map_next_key(struct host_map *map, const void *key, void *next);
u32 host_map_type(const struct host_map *map);
u32 host_map_key_bytes(const struct host_map *map);
u32 host_map_value_bytes(const struct host_map *map);

#endif
