/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel side of a run: BPF programs, perf events and probes, from load to detach.
 *
 * No other room knows libbpf, the skeletons or bpf/cprof_abi.h; plain records (stream.h) come out.
 *
 * Calling sequence:
 *	session_open()			loads the programs, opens the side-band; nothing is sampled yet
 *	session_add_target() ...	and, for heap, session_measure() and session_probe() for each allocator function
 *	session_start()			sampling begins
 *	session_drain() ...		whenever session_fd() is readable, and at least every second
 *	session_stop()			sampling ends, at once; then a last session_drain()
 *	session_tally(), session_close()
 *
 * Errors are printed here (one line: what failed and what to do) and returned as -errno.
 */
#ifndef CPROF_COLLECT_SESSION_H
#define CPROF_COLLECT_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocsite.h"
#include "runtime_abi.h"
#include "stream.h"

enum session_source {
	SESSION_CPU,
	SESSION_HEAP
};

/* Sizes of kernel-side stores; 0: the default. For tests of what happens when they are full. */
struct session_limits {
	uint32_t counts;      /* entries of each aggregation map */
	uint32_t events;      /* bytes of the ring: a power of 2, at least a page */
	uint32_t live;	      /* sampled blocks alive */
	uint32_t inflight;    /* threads inside the allocator */
	uint32_t slots;	      /* 1 + uprobe programs under way on one CPU */
	uint32_t attach_mode; /* of uprobes, at most: 1 perf events, 2 multi links, 3 sessions */
	uint32_t live_grown;  /* not for tests: as live, where the map can grow; live goes first */
};

struct attacher; /* collect/attacher.h */

struct session_options {
	enum session_source source;
	uint32_t frequency_hz; /* CPU */
	uint64_t rate_bytes;   /* heap: mean distance between samples; 1: every allocation */
	bool all;	       /* every process, not only targets */
	/*
	 * The caller decides about each process when it sees it. CPU: a process that is neither a target nor
	 * rejected is sampled. Heap: only targets are sampled; every exec wakes session_fd().
	 */
	bool judged;
	bool follow_forks; /* children of targets are targets */
	bool threads;	   /* tell threads apart */
	bool kernel_stacks;
	bool captures; /* for tests: every sample is a record of its own, with a capture */
	bool no_runtimes
		[ABI_NR_RUNTIMES]; /* the stacks of these kinds of runtimes are not walked */
	bool inside;	  /* heap: some targets sample by themselves, with libcprof-heap.so */
	bool allocs_only; /* heap: free is not probed; what was allocated counts as freed at once */
	bool keeps_lives; /* heap: counts have a struct life, and sink->peak is called */
	uint32_t helper_tgids
		[2]; /* they and their children are left out, as cprof itself is; 0: nobody */
	uint32_t only_tgid; /* heap: the only target, which is running; 0: not known */
	struct attacher
		*attacher; /* heap: borrowed until session_close(); NULL: this process attaches */
	struct session_limits limits;
};

struct session;

/* Options are copied. -EPERM, -ENOTSUP (the kernel lacks something), or the -errno of a system call. */
int session_open(const struct session_options *options, struct session **session);
void session_close(struct session *session); /* NULL is fine */

/*
 * Samples tgid; with after_exec only from its next exec on (a command that is about to be launched). -errno, printed;
 * -E2BIG: there is no room for more, which is printed once.
 */
int session_add_target(struct session *session, uint32_t tgid, bool after_exec);

/* Stops sampling tgid until its next exec, or until it is added. -errno, not printed. */
int session_reject(struct session *session, uint32_t tgid);
/* Forgets tgid, which was added or rejected after it had exited. BPF forgets the others at their exit. */
void session_forget_target(struct session *session, uint32_t tgid);

/*
 * Probes sites (at most ALLOC_MAX_SITES) of the file behind fd (borrowed for the call) in process
 * tgid, or in every process if tgid is 0. All of them or none. Detached by session_close(). -errno, not printed: this
 * file cannot be probed, or not now; others may (-ENOTSUPP, 524: no probe can replace one of the instructions).
 * -EINPROGRESS: the kernel has not done it yet; until session_probe_more() returns something else, no other file is probed
 * (-EBUSY).
 */
int session_probe(struct session *session, const struct alloc_site *sites, size_t nr, int fd,
		  uint32_t tgid);
/*
 * Heap, before session_start(): measures what a probe costs, for the figures that the run prints. This attaches the first
 * probes, to cprof's own binary, which other processes may have mapped. fork() blocks while the kernel waits for the mmap lock
 * of one of them: call this after all forks.
 */
void session_measure(struct session *session);
/* The result of what was -EINPROGRESS, without waiting; 0 if there is nothing. */
int session_probe_more(struct session *session);
/* How many files may be probed so that session_close() takes seconds at most. */
uint32_t session_max_files(const struct session *session);

/* Heap: how many sampled blocks may be alive at a time. */
uint32_t session_max_blocks(const struct session *session);

/*
 * Copies an unwind table to where BPF reads it, for all processes; *table is its id. -ENOSPC: no more room (512 MB);
 * -EFBIG: too large for a table. Not printed: code without a table is unwound by frame pointers.
 */
int session_add_table(struct session *session, const struct table_image *image, uint32_t *table);
/* Frees a table that the vmas of no process refer to any more. */
void session_remove_table(struct session *session, uint32_t table);
/*
 * Replaces the executable mappings of a process, which are in *run, and updates *run. vmas are sorted; copied. Code in
 * no mapping is unknown, and its stacks are copied to user space. runtime: of session_add_runtime(), or 0. counters: a JVM's, or
 * zeroed. -errno, not printed: nothing has changed.
 */
int session_set_vmas(struct session *session, uint32_t tgid, const struct unwind_vma *vmas,
		     uint32_t nr, uint32_t runtime, struct jvm_counters counters,
		     struct vma_run *run);
/* Removes the mappings of a process, which are in *run: all of its code is unknown then. */
void session_forget_vmas(struct session *session, uint32_t tgid, struct vma_run *run);

/*
 * From the next session_set_vmas() with *runtime on, the shadow stacks of a process are walked as *layout of this kind says;
 * the first time this loads the program that walks them. -ENOSPC: too many processes; -ENOTSUP: the kernel refuses the
 * program (said once), or the session has no such stacks. Then stacks are native.
 */
int session_add_runtime(struct session *session, enum abi_runtime kind,
			const union abi_layout *layout, uint32_t *runtime);
/* No process has it any more. 0 is fine. */
void session_remove_runtime(struct session *session, uint32_t runtime);

/* Heap: what profiling has cost the targets so far. 0 where it is not known. */
struct overhead {
	uint64_t nr_traps;
	uint64_t cost_ns; /* estimated, from what a trap costs on this machine (price.h) */
	uint64_t
		cpu_ns; /* that the targets have used, with what profiling cost; of everybody with `all` */
};

#define OVERHEAD_LEAST_CPU_NS \
	(NSEC_PER_SEC / 100) /* below it the clocks' own steps count for too much */

/*
 * Heap, before session_start(): counts calls of the allocators that are probed for 100 ms, or until gives_up() is true, and
 * fills *expected with what that was. Where a target is_runnable(), but they had the CPUs for less than
 * OVERHEAD_LEAST_CPU_NS, for longer, 1 s at most. Returns for how long, in ns. All but the count of a call is as it was.
 */
uint64_t session_look(struct session *session, bool (*gives_up)(void),
		      bool (*is_runnable)(uint32_t tgid), struct overhead *expected);

/* Begins to sample. -errno, printed. */
int session_start(struct session *session);
/* Ends sampling: no sample is taken after it returns. May be called again. */
void session_stop(struct session *session);
/* Removes the probes of a session that is stopped, so that the targets do not pay for them while its files are written. Waits for the kernel for a while, and says what it has not done. */
void session_detach(struct session *session);

/* A descriptor, readable (poll, epoll) when a drain is worthwhile. Borrowed. */
int session_fd(const struct session *session);

/* The receiver of what a drain reads; everything is borrowed for the call. Events come in the order of time. */
struct session_sink {
	void (*event)(void *ctx, const struct task_event *event);
	void (*record)(void *ctx, const struct record *record);
	void (*count)(void *ctx, const struct count *count);
	void (*text)(void *ctx,
		     const struct runtime_text *text);	  /* before the records that need it */
	void (*peak)(void *ctx, const struct peak *peak); /* last; of every image, each time */
	/* A block that its process, which has ended, did not free; and of session_each_block(). */
	void (*block)(void *ctx, uint64_t id, uint64_t born_ns);
	void *ctx;
};

/*
 * Delivers task events first, then new records, then what was counted since the last drain; with events_only the task
 * events only. -errno, printed.
 */
int session_drain(struct session *session, const struct session_sink *sink, bool events_only);
/* Calls sink->block for each block that is alive, if the session keeps lives. After session_stop() and a last drain. */
void session_each_block(struct session *session, const struct session_sink *sink);
/* To be called often during long work between drains, so that no task events are lost meanwhile. */
void session_gather(struct session *session);

/*
 * Reads new records, to be delivered by the next drain, so that the ring does not fill up while the caller is busy.
 * May be called while a drain delivers.
 */
void session_absorb(struct session *session);

#define TALLY_MAX_LOSSES 16

/* What became of every sample, as far as the kernel side knows. */
struct tally {
	/* CPU: nr_ticks = nr_filtered + nr_stored + nr_lost */
	uint64_t nr_ticks, nr_filtered;
	uint64_t nr_expected; /* ticks that the perf events' own clocks account for */
	/* heap: nr_calls = nr_nested + nr_unsampled + nr_sampled;
	 * nr_sampled = nr_failed + nr_cut_off + nr_under_way + nr_stored + nr_lost */
	uint64_t nr_calls, nr_nested, nr_unsampled, nr_sampled;
	uint64_t nr_failed;    /* returned NULL */
	uint64_t nr_cut_off;   /* the thread died in them */
	uint64_t nr_under_way; /* at the end of the run */
	/* nr_stored = nr_freed + nr_frees_lost + nr_purged + nr_left + nr_live */
	uint64_t nr_frees, nr_freed, nr_frees_lost;
	uint64_t nr_purged; /* blocks of images that exec replaced */
	uint64_t nr_left;   /* blocks of processes that exited without freeing them */
	uint64_t nr_live;
	uint64_t
		nr_untracked; /* of those lost: there was no room to follow them until they are freed */
	uint64_t nr_stored;
	uint64_t nr_looked; /* calls and frees that session_look() counted */
	uint64_t nr_noted;  /* calls with a probe at their return */
	uint64_t sample_ns; /* time that samples took, of the targets' */
	uint64_t ended_ns;  /* CPU time of targets that have ended, since they began */
	struct overhead overhead;
	uint64_t nr_frames;	 /* user frames in what was stored */
	uint64_t nr_lost;	 /* the sum of the losses */
	uint64_t nr_events_lost; /* side-band: not samples, but names may be missing */
	uint64_t nr_left_out;	 /* processes that session_add_target() had no room for */
	struct tally_loss {
		const char *reason;
		uint64_t nr;
	} losses[TALLY_MAX_LOSSES]; /* only those that happened */
	size_t nr_losses;
};

/* Fills *tally. Exact, with calls under way and live blocks counted, once the session is stopped. */
void session_tally(struct session *session, struct tally *tally);

#endif
