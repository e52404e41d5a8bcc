/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The contract between the BPF programs and user space: what stands in the maps, what comes over the
 * ring, how large it may be, and every way to lose a sample. The parts that it includes are of it.
 *
 * Aggregation. Everything that distinguishes a sample identifies it (process, image, thread,
 * stack, allocation size). All of these are hashed into one 64-bit id. The first time an id is met,
 * its description goes over the event ring as a struct abi_record; after that only the counter of
 * its id in a `counts` map grows. So a stack crosses to user space once an epoch and not once a
 * sample, no map holds stacks (512 frames a slot would be megabytes locked up front), and no two
 * stacks can share a slot, as they do in a BPF_MAP_TYPE_STACK_TRACE.
 *
 * Epochs. There are two counts maps. BPF writes the one that `epoch` names; user space flips it,
 * waits for running programs to end, and empties the other: nothing is counted twice or missed.
 */
#ifndef CPROF_ABI_H
#define CPROF_ABI_H

#ifndef __bpf__ /* there vmlinux.h has the types, and the two do not go together */
#include <linux/types.h>
#endif

#include "heap_abi.h"
#include "runtime_abi.h"
#include "shadow_abi.h"
#include "unwind_abi.h"

#define ABI_COMM_BYTES	      16
#define ABI_MAX_USER_FRAMES   512 /* in a record; a walk may be longer */
#define ABI_MAX_KERNEL_FRAMES 127 /* PERF_MAX_STACK_DEPTH, what bpf_get_stack can give */
#define ABI_MAX_FRAMES	      (ABI_MAX_USER_FRAMES + ABI_MAX_KERNEL_FRAMES)

/*
 * A walk longer than a record goes on to the root and keeps both ends: its first frames, in place of
 * all in between ABI_IP_ELIDED, and its last. What is between is not even counted there: a recursion
 * met at a thousand depths is one stack, since either end is counted from where it ends.
 *
 *	leaf .. ips[255] | ABI_IP_ELIDED | ips[257] .. root
 */
#define ABI_LEAF_FRAMES 256
#define ABI_RING_FRAMES (ABI_MAX_USER_FRAMES - ABI_LEAF_FRAMES) /* the mark, and the root's side */
#define ABI_IP_ELIDED	(1ull << 62)

/*
 * A walk ends unfinished after so many frames, or once it has taken config.walk_ns: looked at after
 * each ABI_FRAMES_AT_ONCE, which may be 0.2 ms if a hostile stack spreads them over as many pages.
 */
#define ABI_FRAMES_AT_ONCE   256
#define ABI_MAX_WALKED_TURNS 256

/* Defaults of map sizes; user/collect/configure.c scales counts with rate and CPUs. */
#define ABI_COUNTS_ENTRIES	 4096		   /* at least; x 2 epochs x about 80 bytes */
#define ABI_EVENTS_BYTES	 (2 * 1024 * 1024) /* 4,000 records of 60 frames */
#define ABI_TARGETS_ENTRIES	 ABI_PROCESS_ENTRIES /* no more can be walked anyway; x about 80 bytes */
#define ABI_LIVE_ENTRIES	 (1024 * 1024)	     /* allocated on demand, but for these: */
#define ABI_LIVE_AT_HAND	 (32 * 1024)	     /* x about 80 bytes */
#define ABI_LIVE_ENTRIES_AT_ONCE (256 * 1024)	     /* where that cannot be: x about 80 bytes */
#define ABI_INFLIGHT_ENTRIES	 16384		     /* threads inside the allocator at one time */
#define ABI_HOLDERS_ENTRIES \
	ABI_PROCESS_ENTRIES /* images that hold sampled blocks; x about 70 bytes */

/* What the map `targets` says of a process. */
enum abi_target {
	ABI_TARGET_NOW,
	ABI_TARGET_AFTER_EXEC, /* a launched command, which is still cprof's own image */
	ABI_TARGET_REJECTED, /* not wanted, as it is until its next exec; see config.unknown_too */
};

/*
 * Per-CPU work space for one record. A tick can land inside an uprobe's program, and an uprobe's
 * program can be preempted by another task's on the same CPU: each has a slot of its own.
 */
#define ABI_SLOT_TICK	0
#define ABI_SLOT_UPROBE 1
#define ABI_NR_SLOTS	6

/* Why a user stack ends; user/stream.h says it in words, under the same names. */
#define ABI_STACK_ENDS(X) \
	X(ROOT)           \
	X(NO_USER)        \
	X(NO_ROOT)        \
	X(TOO_DEEP)       \
	X(UNREADABLE)     \
	X(NO_CFI)         \
	X(NO_RULE)        \
	X(NO_REG)         \
	X(NO_MOVE)        \
	X(UNKNOWN_CODE)   \
	X(NO_REGISTERS)   \
	X(FOREIGN)

enum abi_stack_end {
#define X(id) ABI_END_##id,
	ABI_STACK_ENDS(X)
#undef X
	ABI_NR_STACK_ENDS
};

/*
 * What is counted. Every early return of a BPF program adds to exactly one of these.
 *
 *	CPU:	TICKS = FILTERED + STORED + the losses
 *	heap:	CALLS = NESTED + UNSAMPLED + SAMPLED
 *		SAMPLED = FAILED + CUT_OFF + STORED + the losses + calls still under way at the end
 *		STORED = FREED + FREES_LOST + PURGED + LEFT + blocks in the live map or in a realloc
 *
 * PURGED and LEFT are counted by user space, which takes the blocks of images that have ended out of
 * the live map; BPF counts those only that a realloc holds when its thread ends.
 */
#define ABI_STATS(X)                                         \
	X(TICKS, "ticks")                                    \
	X(FILTERED, "filtered")                              \
	X(STORED, "stored")                                  \
	X(FRAMES, "user frames")                             \
	X(CALLS, "allocator calls")                          \
	X(NESTED, "nested in another allocator call")        \
	X(UNSAMPLED, "not sampled")                          \
	X(SAMPLED, "sampled")                                \
	X(FAILED, "failed in the target")                    \
	X(CUT_OFF, "cut off by the end of their thread")     \
	X(FREES, "frees")                                    \
	X(FREED, "sampled blocks freed")                     \
	X(FREES_LOST, "frees of sampled blocks not counted") \
	X(PURGED, "sampled blocks gone by exec")             \
	X(LEFT, "sampled blocks left at exit")               \
	X(NOTED, "calls with a probe at their return")       \
	X(SAMPLE_NS, "time that samples took")               \
	X(ENDED_NS, "CPU time of targets that ended")        \
	X(LOOKED, "calls before the start")

#define ABI_LOSSES(X)                                  \
	X(COUNTS_FULL, "aggregation map full or busy") \
	X(EVENTS_FULL, "event ring full")              \
	X(SLOT_TAKEN, "work space taken")              \
	X(INFLIGHT_FULL, "in-flight map full")         \
	X(LIVE_FULL, "live map full")                  \
	X(RETURN_MISSED, "return not seen")

enum abi_stat {
#define X(id, text) ABI_STAT_##id,
	ABI_STATS(X)
#undef X
	ABI_STAT_FIRST_LOSS,
	ABI_STAT_BEFORE_LOSSES = ABI_STAT_FIRST_LOSS - 1,
#define X(id, text) ABI_LOST_##id,
	ABI_LOSSES(X)
#undef X
	ABI_NR_STATS
};

/* What `stopped` is: only ABI_RUNS counts and samples; ABI_LOOKS counts calls, and nothing else. */
#define ABI_RUNS    0
#define ABI_STOPPED 1
#define ABI_LOOKS   2

/* What counts of one sample's time at most: it may be longer if the thread lost its CPU meanwhile. */
#define ABI_MAX_SAMPLE_NS 100000ull

/* The one value of the per-CPU map `stats`. */
struct abi_stats {
	__u64 n[ABI_NR_STATS];
};

/* Settings, written before the programs are loaded: the verifier takes them for constants. */
struct abi_config {
	__u64 rate_bytes; /* heap: mean distance of samples; 0 or 1: every allocation */
	__u64 hash_seed;  /* so that no target can choose colliding stacks */
	__u64 pac_mask;	  /* arm64: which bits of a code address may be its signature */
	__u64 walk_ns;	  /* the limit for a walk, exceeded by a few frames at most */
	__u32 self_tgid;  /* never sampled: cprof would profile its own draining */
	__u32 helper_tgids
		[2]; /* nor are these processes of cprof's and their children; 0: there is none */
	__u32 kernel_stack_bytes;   /* arm64: of a task */
	__u32 only_tgid;	    /* heap: if not 0, the one process that probes are bound to */
	__u32 events_wakeup_bytes;  /* wake the reader when this much waits in the ring */
	__u32 events_quarter_bytes; /* of the ring's size: copies of stacks get half of it */
	__u8 all;		    /* every process; else those in `targets` */
	__u8 unknown_too;	    /* who is not in `targets` is sampled: user space judges */
	__u8 wake_at_exec;	    /* of any process: user space chooses targets by what runs */
	__u8 follow_forks;	    /* children of targets become targets */
	__u8 threads;		    /* tell threads apart */
	__u8 kernel_stacks;
	__u8 nr_uprobe_slots; /* at most ABI_NR_SLOTS - ABI_SLOT_UPROBE */
	__u8 captures;	      /* tests: every sample is a record of its own, after its capture */
	__u8 has_cookies;     /* heap: probes have a cookie, ABI_SITE() */
	__u8 has_sessions;    /* heap: on_sampled is attached as an uprobe session */
	__u8 allocs_only;     /* heap: frees are not probed; a block counts as freed at once */
	__u8 live_grows;      /* heap: what does not fit into `live` goes to `live_more` */
	__u8 no_kernel_reads; /* bpf_probe_read_kernel() is forbidden (lockdown=confidentiality) */
	__u8 keeps_lives; /* heap: values of `live` and `counts` are whole, and `peaks` is written */
};

/*
 * Where unwind tables live. All of them share one space of 32-bit words, cut into slabs of 1 MB that
 * are added on demand: word w is word w % ABI_SLAB_WORDS of slab w / ABI_SLAB_WORDS. What is read in
 * one go (the rows of a page of text, an entry of pages, an extended rule) never straddles two slabs.
 *
 *	processes  tgid -> a run of vmas
 *	vmas	   ip -> table, by binary search in the run; sorted, no overlaps
 *	tables	   where a table's pages and extended rules begin
 *	slabs	   pages: 2 words a page of text: where its rows begin, how many they are
 *		   rows:  1 word each (unwind_abi.h); extended rules: 4 words each
 */
#define ABI_SLAB_WORDS (256 * 1024)
#define ABI_MAX_SLABS  512 /* the stated cap: 512 MB of tables, 20 million FDEs */
#define ABI_MAX_VMAS   65536
#define ABI_MAX_PROCESS_VMAS \
	8192 /* 13 steps of a binary search; a process's further ones are unknown */
#define ABI_MAX_TABLES	    8192
#define ABI_PROCESS_ENTRIES 16384

/* Instead of a table. */
#define ABI_TABLE_UNBUILT 0xffffffffu /* code not met before: user space unwinds, and builds one */
#define ABI_TABLE_NO_CFI  0xfffffffeu /* none to be had (JIT): frame pointers */

struct abi_vma {
	__u64 start, limit; /* ips */
	__u64 bias;	    /* elf_addr = ip - bias */
	__u32 table;	    /* index in tables, or one of the above */
	__u32 flags;
};

/* flags: code that the table has no rule for keeps frame pointers by its ABI (Go). */
#define ABI_VMA_GAP_BY_FP 1u

struct abi_process {
	__u32 first_vma, nr_vmas;
	__u32 runtime; /* ABI_RUNTIME() of a language's runtime that keeps a stack of its own; 0: none */
	__u32 pad;
	/*
	 * A JVM's count of the classes that it unloaded (4 bytes, user memory); 0: there is none. What a method's address
	 * means is the same until it changes.
	 */
	__u64 unloads_at;
	__u64 collections_at; /* and of garbage collections, which make room in its code cache */
};

struct abi_table {
	__u64 start; /* elf_addr of the first page */
	__u32 nr_pages;
	__u32 pages_at, extended_at; /* words */
	__u32 nr_extended;
};

/* How the messages of the ring begin. */
#define ABI_EVENT_RECORD 1
#define ABI_EVENT_STACK	 2
#define ABI_EVENT_LEAF	 3
#define ABI_EVENT_WAKE	 4 /* nothing: a target has a new image, to be looked at soon */
#define ABI_EVENT_SHADOW 5
#define ABI_EVENT_TEXT	 6

/* An ip in a record whose frame was found by a frame pointer in code that promises none. */
#define ABI_IP_GUESSED (1ull << 63)
/*
 * A caller's ip in a record, and no return address: a signal interrupted it there, or it is the code that returns from a signal's
 * handler, which is not called. (What stands for a Java method, UNWIND_METHOD_MARK, has this bit for itself.)
 */
#define ABI_IP_EXACT (1ull << 60)

/* Over the ring. Only the first nr_kernel + nr_user ips are sent: kernel first, each leaf first. */
struct abi_record {
	__u32 event;	/* ABI_EVENT_RECORD */
	__u32 user_end; /* enum abi_stack_end */
	__u64 id;
	__u64 start_ns; /* of the process */
	__u64 time_ns;
	__u64 size_bytes;  /* heap: asked for; CPU: 0 */
	__u64 unloads;	   /* UNWIND_UNLOADS() of a JVM's process */
	__u64 collections; /* the same, and no part of the id */
	__u32 tgid;
	__u32 tid; /* 0 unless samples are kept per thread */
	char comm[ABI_COMM_BYTES];
	__u32 nr_kernel, nr_user;
	__u64 ips[ABI_MAX_FRAMES];
};

/*
 * Over the ring, before the record of the same id whose user_end is ABI_END_UNKNOWN_CODE: what user
 * space needs to go on, in messages of consecutive pieces of stack. Only the first len_bytes of stack
 * are sent, which begin at sp: where memory is not there they are 0, and behind the last that is there
 * nothing is sent.
 *
 * The same for tests (config.captures): before every record, what its walk began with.
 */
#define ABI_STACK_PIECE_BYTES 16384
#define ABI_MAX_STACK_PIECES  8

struct abi_stack {
	__u32 event; /* ABI_EVENT_STACK, ABI_EVENT_LEAF */
	__u32 len_bytes;
	__u64 id;
	__u64 ip, sp, fp, extra;
	__u32 ip_exact, extra_known;
	__u64 leaf[UNWIND_NR_REGS]; /* by DWARF number, if has_leaf */
	__u32 has_leaf;
	__u32 piece;	/* 0, 1, ... of its copy */
	__u32 has_more; /* the stack goes on behind this piece: in the next, if one is sent */
	__u32 sp_lost;	/* sp is not known (arch/arm64_rule.h): the copy begins at fp */
	__u8 stack[ABI_STACK_PIECE_BYTES];
};

/* Key: __u64 id. */
struct abi_count {
	__u64 nr_taken;
	__u64 nr_freed;
};

/* Ages at which blocks are freed: below 100 us, 1 ms, and so on up to 10 s; the last class has the others. */
#define ABI_FIRST_AGE_NS 100000ull
#define ABI_NR_AGES	 7

/*
 * The same with config.keeps_lives. peak_live is what nr_taken - nr_freed of this epoch was at peak_ns, the last peak of
 * the image before the id was counted last: it is kept when the id is counted for the first time after a peak. An id
 * whose peak_ns is older than the peak has not been counted since, so that it still is as it was then.
 */
struct abi_life_count {
	struct abi_count count;
	__u64 peak_ns;
	__s64 peak_live;
	__u64 oldest_freed_ns;	      /* the greatest age at which a block was freed */
	__u64 nr_by_age[ABI_NR_AGES]; /* of nr_freed */
};

/* Both sides are compiled apart: the shapes that cross must not change by accident. */
#define ABI_ASSERT_SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type " changed size")
ABI_ASSERT_SIZE(struct abi_config, 80);
ABI_ASSERT_SIZE(struct abi_record, 88 + 8 * ABI_MAX_FRAMES);
ABI_ASSERT_SIZE(struct abi_stack, 328 + ABI_STACK_PIECE_BYTES);
ABI_ASSERT_SIZE(struct abi_vma, 32);
ABI_ASSERT_SIZE(struct abi_process, 32);
ABI_ASSERT_SIZE(struct abi_table, 24);
ABI_ASSERT_SIZE(struct abi_count, 16);
ABI_ASSERT_SIZE(struct abi_life_count, 40 + 8 * ABI_NR_AGES);

#endif
