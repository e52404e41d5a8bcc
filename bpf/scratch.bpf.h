/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Work space for one record: too large for the 512 bytes of BPF stack, so it lives in a per-CPU map.
 *
 * A tick has slot ABI_SLOT_TICK to itself: its timer cannot interrupt itself on one CPU. Uprobe
 * programs cannot migrate but can be preempted, so several may be under way on one CPU: each claims
 * a slot of its own and gives it back.
 */
#ifndef CPROF_SCRATCH_BPF_H
#define CPROF_SCRATCH_BPF_H

#include "prelude.bpf.h"

#include "code_abi.h"

#define WINDOW_WORDS 512 /* 4 KB */

/* Where a rule was found: what lookup.bpf.h hands to the step. */
struct rule_at {
	u32 table;     /* or ABI_TABLE_UNBUILT, ABI_TABLE_NO_CFI */
	u32 packed;    /* unwind_abi.h: 20 bits */
	u32 pc_delta;  /* how far behind its row the pc is */
	u32 gap_by_fp; /* code without a rule promises a frame pointer */
};

/* A stack walk: the registers of the frame it has come to, and what helps it to the next. */
struct walk {
	u64 ip, sp, fp, extra;
	u64 leaf[UNWIND_NR_REGS]; /* all registers, while in the leaf frame */
	u64 window_at;		  /* the stack address of window[0] */
	u32 window_bytes;	  /* 0: none read yet */
	u32 nr_windows;
	u32 first_vma, nr_vmas; /* the process's run */
	u32 last_vma;		/* where the last frame was: mostly the next one is there too */
	u32 nr;			/* user ips written; during the walk: met */
	u32 nr_walked;		/* of a finished walk: how many it met */
	u32 end;		/* enum abi_stack_end, valid once the walk is over */
	u32 runtime;		/* ABI_RUNTIME() of the process */
	u64 collections_at;
	u64 unloads_at; /* of the process, if it is a JVM */
	u8 ip_exact;	/* ip is where the frame stopped, not a return address */
	u8 has_leaf;
	u8 extra_known;
	u8 slot;	   /* whose walk it is: global functions take no pointers */
	struct rule_at at; /* of the step under way, if its rule is no inline one */
	u64 deadline_ns;   /* 0: nobody has looked at the clock yet */
};

struct scratch {
	struct walk walk;
	union { /* of code without unwind information, on a machine */
		struct code_line line;
		struct arm64_line arm64_line;
	};
	u64 nr_users; /* of an uprobe's slot: 1 while somebody has it */
	u32 exec_id;
	u32 is_kernel_thread;
	u32 sends_stack; /* the walk came to unknown code, and the ring has room for a copy */
	u32 nr_shadow;	 /* frames of the shadow stack (runtime.bpf.h), and their hash */
	u32 has_shadow;	 /* it has frames, or says why it has none */
	u64 shadow_hash;
	struct abi_record record; /* ips: nr_kernel kernel ones, then walk.nr user ones */
	u64 window[WINDOW_WORDS]; /* a copy of a piece of stack */
	struct abi_stack stack;
	u8 beyond[4096]; /* never written: the verifier adds up the largest offset and length */
};

struct scratch_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ABI_NR_SLOTS);
	__type(key, u32);
	__type(value, struct scratch);
};

/* One for each slot. Defined in scratch.bpf.c. */
extern struct scratch_map scratch_slots SEC(".maps");

/* NULL only for a slot that does not exist, for the verifier's sake. */
static __always_inline struct scratch *scratch_at(u32 slot)
{
	return bpf_map_lookup_elem(&scratch_slots, &slot);
}

/* A free slot for an uprobe's program, 0 if there is none. */
u32 scratch_claim(void);
void scratch_give_back(u32 slot);

#endif
