// SPDX-License-Identifier: BSD-2-Clause
/*
 * A pidfd names one process for as long as it is open, whatever becomes of its pid, and poll() reports it readable when
 * the process ends: so one ppoll() waits for targets, signals and samples.
 */
#include "record/targets.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "process/procfs.h"

int targets_check(const char *proc_root, uint32_t pid)
{
	struct proc_stat stat;
	char comm[4 * COMM_BYTES];
	uint32_t tgid;
	int err = procfs_tgid_of(proc_root, pid, &tgid);

	if (!err)
		err = procfs_stat(proc_root, pid, &stat);
	if (err == -ESRCH)
		return fail(err, "no process with ID %u.", pid);
	if (err)
		return fail(err, "cannot inspect process %u", pid);
	text_escape(stat.comm, comm, sizeof(comm));
	if (tgid != pid)
		return fail(-EINVAL, "%u is a thread (%s) of process %u: give -p %u -t.", pid, comm,
			    tgid, tgid);
	if (proc_stat_is_dead(&stat))
		return fail(-ESRCH,
			    "process %u (%s) has exited: it is a zombie, which its parent has not "
			    "waited for.",
			    pid, comm);
	if (stat.is_kernel_thread)
		return fail(-EINVAL,
			    "process %u (%s) is a kernel thread: record it with cprof record -a.",
			    pid, comm);
	if (pid == (uint32_t)getpid())
		return fail(-EINVAL, "process %u is cprof itself.", pid);
	return 0;
}

static int watch(uint32_t tgid, struct target *target)
{
	int pidfd = syscall(SYS_pidfd_open, tgid, 0);

	if (pidfd < 0)
		return fail(-errno, "cannot watch process %u", tgid);
	fcntl(pidfd, F_SETFD, FD_CLOEXEC);
	*target = (struct target){tgid, pidfd};
	return 0;
}

int targets_add(struct targets *targets, uint32_t tgid)
{
	struct target target;
	int err = watch(tgid, &target);

	if (!err)
		vec_push(&targets->all, target);
	return err;
}

int targets_end_with(struct targets *targets, uint32_t tgid)
{
	return watch(tgid, &targets->timer);
}

bool targets_are_over(const struct targets *targets)
{
	return targets->timer.tgid && targets->timer.pidfd < 0;
}

bool targets_any_left(const struct targets *targets)
{
	vec_for_each(&targets->all, target)
		if (target->pidfd >= 0)
			return true;
	return false;
}

static void look_at(struct target *target, const struct pollfd *fd)
{
	if (!fd->revents)
		return;
	close(target->pidfd);
	target->pidfd = -1;
}

void targets_wait(struct targets *targets, int first_fd, int second_fd, uint64_t wake_ns)
{
	struct pollfd *fds scoped(freep) = xcalloc(targets->all.nr + 3, sizeof(*fds));
	int timer_fd = targets->timer.tgid ? targets->timer.pidfd : -1;
	uint64_t now_ns = clock_monotonic_ns(), left_ns = wake_ns > now_ns ? wake_ns - now_ns : 0;
	struct timespec timeout = {left_ns / NSEC_PER_SEC, left_ns % NSEC_PER_SEC};

	fds[0] = (struct pollfd){.fd = first_fd, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = second_fd, .events = POLLIN};
	fds[2] = (struct pollfd){.fd = timer_fd, .events = POLLIN};
	for (size_t i = 0; i < targets->all.nr; i++)
		fds[i + 3] = (struct pollfd){.fd = targets->all.at[i].pidfd, .events = POLLIN};
	if (ppoll(fds, targets->all.nr + 3, &timeout, NULL) <= 0)
		return;
	look_at(&targets->timer, &fds[2]);
	for (size_t i = 0; i < targets->all.nr; i++)
		look_at(&targets->all.at[i], &fds[i + 3]);
}

void targets_release(struct targets *targets)
{
	if (targets->timer.tgid)
		closep(&targets->timer.pidfd);
	vec_for_each(&targets->all, target)
		closep(&target->pidfd);
	vec_release(&targets->all);
}
