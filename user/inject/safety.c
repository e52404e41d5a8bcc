// SPDX-License-Identifier: BSD-2-Clause
/*
 * Safe is a thread that waits for what loaders and allocators do not wait for (poll, a condition variable ...). Safe is as
 * well one that has no address of the loader's or the allocator's code on the last 8 KB of its stack, also not below a
 * signal's frame. Words that are left over from calls before may be such addresses: then it is asked again later, and
 * others are. Deeper ones are of functions that the loader has called, such as constructors, which may call it again.
 */
#include "inject/safety.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/text.h"
#include "inject/ownstack.h"
#include "inject/places.h"

#define SCAN_BYTES	 (8u << 10)  /* the frames of allocators and of the loader are small */
#define ALLOCATOR_MARGIN (64u << 10) /* functions without a name beside those with one */
#define RSEQ_CS_AT	 8	     /* in struct rseq of the kernel */
#define FUTEX_OPERATION	 127
#define MAX_LOOKS	 10	      /* at a lock */
#define LIBRARY_SIGNALS	 (3ull << 31) /* 32 and 33 */
#define FUTEX_WAIT_BITS \
	9 /* what condition variables, semaphores and joins wait with; locks do not */

struct unsafe_search {
	struct tracee *tracee;
	char loader[40];
	bool has_loader;
};

static void add_unsafe(struct tracee *tracee, uint64_t start, uint64_t limit)
{
	if (tracee->nr_unsafe < TRACEE_MAX_RANGES)
		tracee->unsafe[tracee->nr_unsafe++] = (struct code_range){start, limit};
	else
		tracee->needs_call = true;
}

static void add_code(void *ctx, const struct map_line *line)
{
	struct unsafe_search *search = ctx;
	const char *name = text_base_name(line->path);

	bool is_loader = !strcmp(line->file, search->loader);

	if (line->access[2] != 'x')
		return;
	search->has_loader |= is_loader;
	if (is_loader || strstr(name, "malloc") || strstr(name, "cprof-heap"))
		add_unsafe(search->tracee, line->start, line->limit);
}

/*
 * The loader's code, that of allocators that are libraries, and of the C library's, and of what holds their locks meanwhile: with the
 * stop at the end of a system call, as clone() in fork(), nothing else would show it. The loader is that of this process, as
 * the C library is; /proc/PID/auxv, which tells where it is, is the user's own.
 */
void safety_find_unsafe(struct tracee *tracee)
{
	static const char *const names[] = {"malloc",	"free",	       "calloc", "realloc",
					    "memalign", "malloc_trim", "mallopt"};
	/* They hold locks of the loader's or the allocator's: fork() all of them. */
	static const char *const locked[] = {"dl_iterate_phdr", "fork", "_Fork", "pthread_create"};
	struct unsafe_search search = {.tracee = tracee};
	uint64_t first = UINT64_MAX, last = 0;

	tracee->nr_unsafe = 0;
	tracee->stack_lock = ownstack_lock(tracee->pid);
	places_file_of((const void *)getauxval(AT_BASE), search.loader);
	places_maps(tracee->pid, add_code, &search);
	tracee->needs_call |= !search.has_loader;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint64_t at = places_function(tracee->pid, names[i]);

		first = at && at < first ? at : first;
		last = at > last ? at : last;
	}
	if (last)
		add_unsafe(tracee, first - ALLOCATOR_MARGIN, last + ALLOCATOR_MARGIN);
	for (size_t i = 0; i < sizeof(locked) / sizeof(locked[0]); i++) {
		first = places_function(tracee->pid, locked[i]);
		if (first)
			add_unsafe(tracee, first, first + places_own_function_bytes(locked[i]) + 1);
	}
}

static bool is_unsafe(const struct tracee *tracee, uint64_t ip)
{
	for (uint32_t i = 0; i < tracee->nr_unsafe; i++)
		if (ip - tracee->unsafe[i].start <
		    tracee->unsafe[i].limit - tracee->unsafe[i].start)
			return true;
	return false;
}

/* Is it in a system call that waits for what loaders and allocators do not wait for? */
static bool waits_safely(const struct user_regs_struct *regs)
{
	static const long waits[] = {SYS_poll,	    SYS_ppoll,		 SYS_select,
				     SYS_pselect6,  SYS_epoll_wait,	 SYS_epoll_pwait,
				     SYS_nanosleep, SYS_accept,		 SYS_accept4,
				     SYS_recvfrom,  SYS_recvmsg,	 SYS_wait4,
				     SYS_waitid,    SYS_rt_sigtimedwait, SYS_clock_nanosleep};
	long call = regs->orig_rax;

	if (call == SYS_futex)
		return (regs->rsi & FUTEX_OPERATION) == FUTEX_WAIT_BITS;
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		if (call == waits[i])
			return true;
	return false;
}

/* Is nothing of the loader's and the allocator's on its stack? What cannot be read is above the stack's end. */
static bool has_clean_stack(const struct tracee *tracee, pid_t tid,
			    const struct user_regs_struct *regs)
{
	static uint64_t words[4096 / sizeof(uint64_t)];
	uint64_t sp = regs->rsp & ~7ull, end = sp + SCAN_BYTES;

	if (is_unsafe(tracee, regs->rip))
		return false;
	while (sp < end) {
		size_t bytes = 4096 - (sp & 4095);
		ssize_t nr = places_read(tid, sp, words, bytes);

		for (ssize_t i = 0; i < nr / 8; i++)
			if (is_unsafe(tracee, words[i]))
				return false;
		if (nr < (ssize_t)bytes)
			break;
		sp += bytes;
	}
	return sp > (regs->rsp & ~7ull);
}

/* The address of the rseq area that the thread registered. 0: it registered none. */
static uint64_t rseq_of(pid_t tid, const struct user_regs_struct *regs)
{
	struct __ptrace_rseq_configuration rseq = {0};
	const ptrdiff_t *offset = places_own_function("__rseq_offset");

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tid, sizeof(rseq), &rseq) > 0)
		return rseq.rseq_abi_pointer;
	/* Before Linux 5.13: that of the C library. */
	return offset ? regs->fs_base + *offset : 0;
}

/*
 * Is it within a restartable sequence? Where it is interrupted the kernel leads it to the beginning, but not if it was led
 * elsewhere meanwhile: it would go on in the middle.
 */
static bool is_in_sequence(pid_t tid, const struct user_regs_struct *regs)
{
	struct {
		uint32_t version, flags;
		uint64_t start, bytes, abort;
	} sequence;
	uint64_t rseq = rseq_of(tid, regs), at;

	return rseq && places_read(tid, rseq + RSEQ_CS_AT, &at, sizeof(at)) == sizeof(at) && at &&
	       places_read(tid, at, &sequence, sizeof(sequence)) == sizeof(sequence) &&
	       regs->rip - sequence.start < sequence.bytes;
}

static bool is_locked(const struct tracee *tracee, pid_t tid)
{
	const struct timespec pause = {.tv_nsec = 100000};
	uint32_t lock = 1;

	for (int i = 0; tracee->stack_lock && lock && i < MAX_LOOKS; i++) {
		if (i)
			nanosleep(&pause, NULL); /* others hold it for a short while */
		if (places_read(tid, tracee->stack_lock, &lock, sizeof(lock)) != sizeof(lock))
			return false; /* the loader cannot read its data either: a fault says so */
	}
	return tracee->stack_lock && lock;
}

/*
 * Does it, or another one, make or free a thread's stack? dlopen() waits for the lock, and for ever if the thread itself holds it. Only
 * the C library blocks its own signals: at the beginning and the end of a thread, in fork() and the like.
 */
static bool is_in_threads(const struct tracee *tracee, pid_t tid, uint64_t mask)
{
	return mask & LIBRARY_SIGNALS || is_locked(tracee, tid);
}

static bool is_outside(const struct tracee *tracee, pid_t tid, const struct user_regs_struct *regs)
{
	if ((long)regs->orig_rax >= 0 && waits_safely(regs))
		return true;
	if (tracee->needs_call || !tracee->stack_lock || is_in_sequence(tid, regs))
		return false;
	return has_clean_stack(tracee, tid, regs);
}

int safety_check(const struct tracee *tracee, pid_t tid, const struct user_regs_struct *regs,
		 uint64_t mask)
{
	if (is_in_threads(tracee, tid, mask) || !is_outside(tracee, tid, regs))
		return -EAGAIN;
	return ownstack_is_given(tracee->pid, tid, regs) ? 0 : -EXDEV;
}
