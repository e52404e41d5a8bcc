// SPDX-License-Identifier: BSD-2-Clause
/*
 * A thread that waits in a system call was interrupted by the stop: the call is made again, from its beginning. So it does
 * not end with EINTR, but one with a timeout may wait for that long once more. A wait that was interrupted before, as by
 * SIGSTOP and SIGCONT, cannot be made again: which call it is, and with which arguments, is known to the kernel alone, which
 * forgets it when the frame of a signal is taken down. Such a thread is left alone until its wait has ended.
 *
 * Rejected: breakpoints, of either kind, at places that are safe. One that is there when the tracer dies kills the process.
 */
#include "inject/threadstop.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "inject/safety.h"
#include "process/procfs.h"

#define MAX_STOPS 20		     /* of a thread, one after the other */
#define STOP_NS	  (NSEC_PER_SEC / 2) /* of a sleep that ends when the target wants */

/* The kernel's errors of calls that it would restart. */
enum {
	RESTARTSYS = 512,
	RESTART_RESTARTBLOCK = 516
};

size_t threadstop_list(pid_t pid, pid_t tids[THREADSTOP_MAX_THREADS])
{
	char path[64];
	struct dirent *entry;
	size_t nr = 0;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	folder = opendir(path);
	while (folder && nr < THREADSTOP_MAX_THREADS && (entry = readdir(folder)))
		if (*entry->d_name != '.')
			tids[nr++] = strtol(entry->d_name, NULL, 10);
	if (folder)
		closedir(folder);
	return nr;
}

/* Threads that were asked to stop, and have not in time; each is traced, and so is in here but once. */
static pid_t late[THREADSTOP_MAX_LATE];
static size_t nr_late;

/* Has it not stopped yet? One that has is let go, with the signal that it has stopped for. */
static bool is_late(pid_t tid)
{
	int status;
	pid_t got = waitpid(tid, &status, __WALL | WNOHANG);

	if (got == tid && WIFSTOPPED(status)) {
		bool has_signal = !(status >> 16) && WSTOPSIG(status) != (SIGTRAP | 0x80);

		ptrace(PTRACE_DETACH, tid, NULL, has_signal ? WSTOPSIG(status) : 0);
	}
	return !got;
}

size_t threadstop_release_late(void)
{
	size_t nr = 0;

	for (size_t i = 0; i < nr_late; i++)
		if (is_late(late[i]))
			late[nr++] = late[i];
	nr_late = nr;
	return nr;
}

static void add_late(pid_t tid)
{
	if (nr_late < THREADSTOP_MAX_LATE)
		late[nr_late++] = tid;
}

bool threadstop_wait(pid_t tid, int *status)
{
	const struct timespec pause = {.tv_nsec = 100000};
	uint64_t end_ns = clock_monotonic_ns() + STOP_NS;
	pid_t got;

	while (!(got = waitpid(tid, status, __WALL | WNOHANG)) && clock_monotonic_ns() < end_ns) {
		threadstop_release_late();
		nanosleep(&pause, NULL);
	}
	if (!got)
		add_late(tid);
	return got == tid && WIFSTOPPED(*status);
}

/*
 * Stops a thread that is traced. *is_of_all: the whole process is stopped, as by SIGSTOP. 0, or -ESRCH, -EINTR: it is not traced
 * any more.
 */
static int stop_thread(pid_t tid, bool *is_of_all)
{
	int status, err;

	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
		return -ESRCH;
	if (!threadstop_wait(tid, &status))
		return -ESRCH;
	*is_of_all = WSTOPSIG(status) != SIGTRAP;
	if (status >> 16 == PTRACE_EVENT_STOP)
		return 0;
	/* A signal came first, which it is to have. */
	err = ptrace(PTRACE_DETACH, tid, NULL, status >> 16 ? 0 : WSTOPSIG(status)) ? -errno : 0;
	return err ? -ESRCH : -EINTR;
}

/* Is the kernel going to restart the call of a thread that it has interrupted? */
static bool is_to_restart(const struct user_regs_struct *regs)
{
	long result = regs->rax;

	return (long)regs->orig_rax >= 0 && result <= -RESTARTSYS &&
	       result >= -RESTART_RESTARTBLOCK;
}

/* Is it in a wait that the kernel has restarted once? */
static bool is_in_restarted(const struct user_regs_struct *regs)
{
	return regs->orig_rax == SYS_restart_syscall && is_to_restart(regs);
}

static int read_stop(pid_t tid, struct thread_stop *stop)
{
	if (ptrace(PTRACE_GETREGS, tid, NULL, &stop->regs) ||
	    ptrace(PTRACE_GETSIGMASK, tid, sizeof(stop->mask), &stop->mask))
		return -errno;
	return xstate_read(tid, &stop->state);
}

/*
 * Stops a thread some times, at moments that have nothing to do with what it does: a first stop is often at the end of a
 * system call, and so, where memory is asked for all the time, in the allocator. -EAGAIN: it was in no safe place, and is
 * stopped; -EXDEV: as well, on another stack. -EBUSY: as well, and stays there, as the whole process is stopped. -ESRCH, -EINTR: it is not traced any more.
 */
static int stop_where_safe(const struct tracee *tracee, pid_t tid, struct thread_stop *stop)
{
	int why = -EAGAIN;

	for (unsigned int i = 0;; i++) {
		const struct timespec pause = {.tv_nsec = 30000 + clock_monotonic_ns() % 700000};
		bool is_of_all = false;
		int err = stop_thread(tid, &is_of_all);

		if (err)
			return err;
		err = read_stop(tid, stop);
		if (err)
			return err;
		if (is_in_restarted(&stop->regs))
			return is_of_all ? -EBUSY : why; /* of the stop before */
		why = safety_check(tracee, tid, &stop->regs, stop->mask);
		if (!why)
			return 0;
		if (is_of_all)
			return -EBUSY;
		if (i + 1 == MAX_STOPS || ptrace(PTRACE_CONT, tid, NULL, NULL))
			return why;
		nanosleep(&pause, NULL);
	}
}

/*
 * Is it one that stops at once? In an uninterruptible sleep, such as vfork()'s, which lasts until the child executes a
 * program, it would not, and be waited for.
 */
static bool can_stop(pid_t tid)
{
	struct proc_stat stat;

	return !procfs_stat("/proc", tid, &stat) && !strchr("DZX", stat.state);
}

/* Calls that the kernel does not restart: of sockets, those with a timeout. They have done nothing when they return EINTR. */
static bool ends_when_stopped(long call)
{
	static const long calls[] = {
		SYS_epoll_wait, SYS_epoll_pwait, SYS_epoll_pwait2,  SYS_rt_sigtimedwait,
		SYS_semop,	SYS_semtimedop,	 SYS_accept,	    SYS_accept4,
		SYS_recvfrom,	SYS_recvmsg,	 SYS_io_getevents,  SYS_read,
		SYS_readv,	SYS_write,	 SYS_writev,	    SYS_sendto,
		SYS_sendmsg,	SYS_recvmmsg,	 SYS_io_uring_enter};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (call == calls[i])
			return true;
	return false;
}

/* A system call that the stop has interrupted is made once more. */
static void restart_call(struct user_regs_struct *regs)
{
	if ((long)regs->orig_rax < 0)
		return;
	if (is_to_restart(regs) ||
	    ((long)regs->rax == -EINTR && ends_when_stopped(regs->orig_rax))) {
		regs->rax = regs->orig_rax;
		regs->rip -= 2;
	}
	regs->orig_rax = -1;
}

/* By seccomp, which each thread has of its own, and which may refuse or kill what the loader does. */
static bool is_confined(pid_t tid)
{
	uint32_t mode = 0;

	return !procfs_status_number("/proc", tid, "\nSeccomp:", 0, &mode) && mode;
}

/* One that did not stop in time is traced until it does. */
static bool is_ours(pid_t tid)
{
	uint32_t tracer = 0;
	int err = errno, has = !procfs_status_number("/proc", tid, "\nTracerPid:", 0, &tracer);

	errno = err;
	return has && tracer == (uint32_t)getpid();
}

/* The number of one that has ended may be another process's by now. */
static bool is_thread_of(pid_t pid, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", pid, tid);
	return !access(path, F_OK);
}

int threadstop_take(const struct tracee *tracee, pid_t tid, struct thread_stop *stop)
{
	int err;

	if (threadstop_release_late() == THREADSTOP_MAX_LATE || !can_stop(tid))
		return -EAGAIN;
	if (ptrace(PTRACE_SEIZE, tid, NULL, PTRACE_O_TRACESYSGOOD))
		return errno == ESRCH || is_ours(tid) ? -EAGAIN : -errno;
	err = stop_where_safe(tracee, tid, stop);
	if (err == -ESRCH || err == -EINTR)
		return -EAGAIN; /* it is not traced any more */
	if (!err && (is_confined(tid) || !is_thread_of(tracee->pid, tid)))
		err = -EAGAIN;
	if (err)
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
	else
		restart_call(&stop->regs);
	return err;
}

void threadstop_put_back(pid_t tid, const struct thread_stop *stop)
{
	struct user_regs_struct regs = stop->regs;
	uint64_t mask = stop->mask;

	ptrace(PTRACE_SETREGS, tid, NULL, &regs);
	xstate_write(tid, &stop->state);
	ptrace(PTRACE_SETSIGMASK, tid, sizeof(mask), &mask);
}
