// SPDX-License-Identifier: BSD-2-Clause
/*
 * A thread that is stopped at a safe place (threadstop.h) gets a frame as of a signal (sigframe.h), and runs the function while
 * it is traced: until it is about to return from the handler that it takes it for.
 */
#include "inject/tracee.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "inject/places.h"
#include "inject/sigframe.h"
#include "inject/threadstop.h"
#include "process/procfs.h"

#define SYSCALL_STOP (SIGTRAP | 0x80)
#define PROGRESS_NS  (10 * NSEC_PER_SEC) /* that a call may take longer while it makes progress */
#define SIGSETXID    33			 /* the C library's own */

static bool is_of_fault(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE;
}

/*
 * What is held back while the function runs: all but the signals of faults, and that by which setuid() makes each thread change its
 * user. The kernel would set the handler of a fault that comes while it is blocked back to the default. setuid() waits for
 * all threads, and holds the lock of their stacks meanwhile, for which dlopen() waits.
 */
static uint64_t held_signals(void)
{
	uint64_t held = ~(1ull << (SIGSETXID - 1));

	for (int signal = 1; signal < 32; signal++)
		if (is_of_fault(signal))
			held &= ~(1ull << (signal - 1));
	return held;
}

/*
 * After a stop: the signal to go on with. -EFAULT: the function crashed. SIGSTOP, which nobody can block, is the process's
 * as at any time; this thread alone runs on for the moment, as far as nobody else keeps it. *late: a signal of a fault that
 * somebody has sent: it waits.
 */
static int signal_after(pid_t tid, int status, int *late)
{
	siginfo_t info = {.si_code = SI_USER};
	int signal = WSTOPSIG(status);

	if (status >> 16 || signal == SYSCALL_STOP)
		return 0;
	if (!is_of_fault(signal))
		return signal;
	ptrace(PTRACE_GETSIGINFO, tid, NULL, &info);
	if (info.si_code > 0)
		return -EFAULT;
	*late = signal;
	return 0;
}

static bool is_returning(pid_t tid, int status, uint64_t frame_at)
{
	struct user_regs_struct regs;

	return WSTOPSIG(status) == SYSCALL_STOP && !ptrace(PTRACE_GETREGS, tid, NULL, &regs) &&
	       regs.orig_rax == SYS_rt_sigreturn && regs.rsp == frame_at + 8;
}

/*
 * Lets the thread run until it is about to return. 0, -EFAULT: it was stopped by a fault, -ESRCH, -ETIMEDOUT. *late: of
 * signal_after().
 */
static int run_to_return(pid_t tid, uint64_t frame_at, uint64_t timeout_ns, int *late)
{
	uint64_t start_ns = clock_monotonic_ns(), end_ns = start_ns + timeout_ns;
	const struct timespec pause = {.tv_nsec = 50000};
	long signal = 0;
	int status;

	for (;;) {
		pid_t got;

		if (signal < 0)
			return signal;
		if (ptrace(PTRACE_SYSCALL, tid, NULL, (void *)signal))
			return -errno;
		while (!(got = waitpid(tid, &status, __WALL | WNOHANG))) {
			if (clock_monotonic_ns() >= end_ns)
				return -ETIMEDOUT;
			threadstop_release_late();
			nanosleep(&pause, NULL);
		}
		if (got < 0 || !WIFSTOPPED(status))
			return -ESRCH;
		if (is_returning(tid, status, frame_at))
			return 0;
		end_ns = clock_monotonic_ns() + timeout_ns; /* it is slow, not stuck */
		if (end_ns > start_ns + timeout_ns + PROGRESS_NS)
			end_ns = start_ns + timeout_ns + PROGRESS_NS;
		signal = signal_after(tid, status, late);
	}
}

/*
 * Stops a call that takes too long; the thread goes on with it. -ETIMEDOUT; -EFAULT: it has crashed at the same moment, which the
 * program must not be told. *late: as above, or the signal that the thread was about to have.
 */
static int stop_at_timeout(pid_t tid, int *late)
{
	int status, signal;

	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) || !threadstop_wait(tid, &status))
		return -ETIMEDOUT;
	signal = signal_after(tid, status, late);
	if (signal < 0)
		return signal;
	if (signal)
		*late = signal;
	return -ETIMEDOUT;
}

/* A stopped thread makes the call. *late: a signal that it is to have when it is let go. */
static int call_in(const struct tracee *tracee, pid_t tid, const struct remote_call *call,
		   struct thread_stop *stop, uint64_t timeout_ns, int64_t *results, int *late)
{
	struct user_regs_struct regs;
	uint64_t held = held_signals();
	int err;

	if (!tracee->is_same(tracee))
		return -ESRCH;
	err = sigframe_push(tid, tracee->restorer, call, stop, &regs);
	if (err)
		return err;
	/* from here on the thread returns by itself */
	if (ptrace(PTRACE_SETREGS, tid, NULL, &regs))
		return -errno;
	ptrace(PTRACE_SETSIGMASK, tid, sizeof(held), &held);
	err = run_to_return(tid, regs.rsp, timeout_ns, late);
	if (err == -ETIMEDOUT)
		err = stop_at_timeout(tid, late);
	if (err == -EFAULT)
		threadstop_put_back(tid, stop);
	if (!err)
		sigframe_forget(tid, regs.rsp);
	if (!err && call->nr_results)
		places_read(tid, regs.rsi, results, call->nr_results * sizeof(*results));
	return err;
}

/* -EAGAIN, -EXDEV: not now. -EBUSY: not as long as the process is stopped. */
static int try_thread(const struct tracee *tracee, pid_t tid, const struct remote_call *call,
		      uint64_t timeout_ns, int64_t *results)
{
	static struct thread_stop stop;
	int late = 0, err = threadstop_take(tracee, tid, &stop);

	if (err)
		return err;
	err = call_in(tracee, tid, call, &stop, timeout_ns, results, &late);
	ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)late);
	return err == -ENOMEM ? -EAGAIN : err;
}

int tracee_call(const struct tracee *tracee, const struct remote_call *call, uint64_t timeout_ns,
		int64_t results[TRACEE_MAX_RESULTS])
{
	uint64_t end_ns = clock_monotonic_ns() + timeout_ns;
	const struct timespec pause = {.tv_nsec = 2000000};
	pid_t tids[THREADSTOP_MAX_THREADS];
	int why = -ETIME;

	for (;;) {
		size_t nr = threadstop_list(tracee->pid, tids);
		uint32_t alive;

		if (procfs_live_thread("/proc", tracee->pid, &alive))
			return -ESRCH;
		for (size_t i = 0; i < nr; i++) {
			int err = try_thread(tracee, tids[i], call, timeout_ns, results);

			if (err != -EAGAIN && err != -EBUSY && err != -EXDEV)
				return err;
			if (err != -EAGAIN)
				why = err; /* a wait that is restarted says no more */
			else if (why != -EXDEV)
				why = -ETIME;
			if (clock_monotonic_ns() >= end_ns)
				return why;
		}
		nanosleep(&pause, NULL);
	}
}
