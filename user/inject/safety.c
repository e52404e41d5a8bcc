// SPDX-License-Identifier: BSD-2-Clause
/*
 * Safe is a thread that waits for what loaders and allocators do not wait for (poll, a condition variable ...). Safe is as
 * well one that has no address of the loader's or the allocator's code on the last 8 KB of its stack, also not below a
 * signal's frame. Words that are left over from calls before may be such addresses: then it is asked again later, and
 * others are. Deeper ones are of functions that the loader has called, such as constructors, which may call it again.
 */
#include "inject/safety.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "inject/places.h"

#define SCAN_BYTES	(8u << 10) /* the frames of allocators and of the loader are small */
#define RSEQ_CS_AT	8	   /* in struct rseq of the kernel */
#define FUTEX_OPERATION 127
#define FUTEX_WAIT_BITS \
	9 /* what condition variables, semaphores and joins wait with; locks do not */

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

/* Where the thread has told the kernel of its restartable sequences. 0: it has not. */
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

bool safety_is_given(const struct tracee *tracee, pid_t tid, const struct user_regs_struct *regs)
{
	if ((long)regs->orig_rax >= 0 && waits_safely(regs))
		return true;
	if (tracee->needs_call || is_in_sequence(tid, regs))
		return false;
	return has_clean_stack(tracee, tid, regs);
}
