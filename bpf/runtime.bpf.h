/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The shadow stacks of languages' runtimes: the input of the programs that walk them, and their output.
 *
 * Such a program is loaded by itself, when the first process of its kind appears (user/collect/runtimes.h); it shares the
 * maps `shadows` and `events` with the others and no variable.
 */
#ifndef CPROF_RUNTIME_BPF_H
#define CPROF_RUNTIME_BPF_H

#include "prelude.bpf.h"

/* The state of one walk. */
struct shadow {
	u64 start_ns;	    /* of current's process */
	u64 thread;	    /* the thread's own block: glibc's struct pthread */
	u64 thread_pointer; /* where thread-local variables are found by */
	u64 leaf_ip;	    /* where current is */
	u64 loop_register;  /* current's, in which a loop may have the place that it is at */
	u64 walk_ns; /* the limit for a walk, exceeded by a few frames at most; and again for the line of a JavaScript function */
	u32 tgid, exec_id;
	u64 walker; /* pid_tgid of the thread whose walk is under way in this slot; 0: none is */
	u32 place;  /* of the process's description */
	u32 nr;	    /* out: frames in stack, at most ABI_MAX_SHADOW_FRAMES */
	u64 hash;   /* out: of them */
	struct abi_shadow stack;
	/* In: rbp in the frames whose caller was found by it, in the places that unwind_push() chose. */
	u64 fps[ABI_MAX_USER_FRAMES];
};

/* One for each slot of scratch.bpf.h. Defined in runtime.bpf.c. */
struct shadow_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ABI_NR_SLOTS);
	__type(key, u32);
	__type(value, struct shadow);
};
extern struct shadow_map shadows SEC(".maps");

/* NULL only for a slot that does not exist, for the verifier's sake. */
static __always_inline struct shadow *shadow_at(u32 slot)
{
	return bpf_map_lookup_elem(&shadows, &slot);
}

/*
 * Walks the shadow stack of current, if it has one, after unwind_user() of this slot: sets nr_shadow, has_shadow and shadow_hash of
 * its scratch. ctx is that of the program. A runtime whose program is not loaded has none.
 */
void runtime_walk(void *ctx, u32 slot);

#endif
