// SPDX-License-Identifier: BSD-2-Clause
/*
 * The child is forked early and blocks on a pipe until it is released: so its pid is known, and everything is attached
 * to it, before it calls execvpe(). A second pipe, closed by a successful exec, carries the errno of a failed one.
 * Rejected: stopping the command at its first instruction, which takes ptrace and so keeps debuggers away from it.
 *
 * Everything that allocates (the user's groups) is done before the fork, because the child's malloc may already have
 * a probe. child_capture() runs a helper with the same identity, but with a time limit.
 */
#include "record/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "output/file.h"
#include "record/priority.h"
#include "record/resources.h"

#define MAX_GROUPS	256
#define GIVE_UP_LOOK_MS 100
/* How long an exec may take before it counts as under way: its file may be on a server that is gone. */
#define EXEC_NS NSEC_PER_SEC
/* How long one may take to end that was killed. */
#define KILLED_NS NSEC_PER_SEC

/* The user of the command, found before the fork, because looking up groups allocates. */
struct identity {
	struct output_owner owner;
	gid_t groups[MAX_GROUPS];
	int nr_groups;
};

static void identity_of_sudo_user(struct identity *who)
{
	struct passwd *user;

	who->owner = output_owner_from_env();
	who->nr_groups = 0;
	if (!who->owner.given)
		return;
	user = getpwuid(who->owner.uid);
	who->nr_groups = MAX_GROUPS;
	if (!user || getgrouplist(user->pw_name, who->owner.gid, who->groups, &who->nr_groups) < 0)
		who->nr_groups = 0;
}

static int become(const struct identity *who)
{
	if (!who->owner.given)
		return 0;
	return setgroups(who->nr_groups, who->groups) || setgid(who->owner.gid) ||
	       setuid(who->owner.uid);
}

/*
 * Nothing here allocates: the allocator is being probed already. The release pipe at end-of-file
 * means that cprof gave up or died.
 */
static void __attribute__((noreturn)) run_child(char **argv, char **env, const struct identity *who,
						int release_fd, int error_fd, int stdout_fd)
{
	static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
	char go;
	int err;

	priority_restore();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
		signal(handled[i], SIG_DFL);
	if (read(release_fd, &go, 1) != 1)
		_exit(127);
	resources_give_back();
	if ((stdout_fd < 0 || dup2(stdout_fd, STDOUT_FILENO) >= 0) && !become(who)) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		execvpe(argv[0], argv, env);
	}
	err = errno;
	if (write(error_fd, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

int child_spawn(struct child *child, char **argv, char **env, int stdout_fd)
{
	int release[2], error[2];
	struct identity who;
	pid_t pid;

	identity_of_sudo_user(&who);
	if (pipe2(release, O_CLOEXEC) || pipe2(error, O_CLOEXEC))
		return fail(-errno, "cannot create a pipe to '%s'", argv[0]);
	pid = fork();
	if (pid < 0)
		return fail(-errno, "cannot fork for '%s'", argv[0]);
	if (!pid) {
		close(release[1]);
		run_child(argv, env, &who, release[0], error[1], stdout_fd);
	}
	close(release[0]);
	close(error[1]);
	*child = (struct child){.pid = pid, .release_fd = release[1], .error_fd = error[0]};
	return 0;
}

/* Reads what comes from fd until its end. */
static int read_all(int fd, char *text, size_t bytes, uint64_t end_ns)
{
	size_t len = 0;
	char rest[4096];

	for (;;) {
		uint64_t now_ns = clock_monotonic_ns();
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		bool fits = len + 1 < bytes;
		ssize_t nr;

		if (now_ns >= end_ns || poll(&ready, 1, (end_ns - now_ns) / 1000000 + 1) <= 0)
			return -ETIMEDOUT;
		nr = fits ? read(fd, text + len, bytes - 1 - len) : read(fd, rest, sizeof(rest));
		if (nr < 0)
			return -errno;
		len += fits ? nr : 0;
		text[len] = '\0';
		if (!nr)
			return 0;
	}
}

/*
 * Waits for who has said all: most likely it is about to end. -ETIMEDOUT: it had to be killed. Where its file system holds it,
 * that does not end it, and it is left behind.
 */
static int wait_until(pid_t pid, uint64_t end_ns, int *status)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	bool is_killed = false;

	while (!waitpid(pid, status, WNOHANG)) {
		uint64_t now_ns = clock_monotonic_ns();

		if (now_ns >= end_ns + KILLED_NS)
			return -ETIMEDOUT;
		if (now_ns >= end_ns && !is_killed)
			is_killed = !kill(pid, SIGKILL);
		nanosleep(&pause, NULL);
	}
	return is_killed ? -ETIMEDOUT : 0;
}

static void __attribute__((noreturn))
run_helper(const char *const argv[], const struct identity *who, int out_fd)
{
	int null_fd;

	priority_restore();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	resources_give_back();
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null_fd >= 0 && dup2(null_fd, STDIN_FILENO) >= 0 && dup2(null_fd, STDERR_FILENO) >= 0 &&
	    dup2(out_fd, STDOUT_FILENO) >= 0 && !become(who))
		execv(argv[0], (char *const *)argv);
	_exit(127);
}

int child_capture(const char *const argv[], char *text, size_t bytes)
{
	uint64_t end_ns = clock_monotonic_ns() + 2 * NSEC_PER_SEC;
	struct identity who;
	int fds[2], status = 0, err;
	pid_t pid;

	identity_of_sudo_user(&who);
	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	pid = fork();
	err = pid < 0 ? -errno : 0;
	if (!pid)
		run_helper(argv, &who, fds[1]);
	close(fds[1]);
	if (!err) {
		err = read_all(fds[0], text, bytes, end_ns);
		if (wait_until(pid, err ? clock_monotonic_ns() : end_ns, &status) && !err)
			err = -ETIMEDOUT;
	}
	close(fds[0]);
	return err ? err : status ? -ECHILD : 0;
}

/* The child may have been killed while it waited: that must not end cprof as well. */
static int send_go(int fd)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
	int err = 0;

	sigaction(SIGPIPE, &ignore, &before);
	if (write(fd, "g", 1) != 1)
		err = -errno;
	sigaction(SIGPIPE, &before, NULL);
	return err;
}

/* The errno of an exec that failed; 0: it did not, or not yet. */
static int exec_error(int fd, bool (*gives_up)(void))
{
	uint64_t end_ns = clock_monotonic_ns() + EXEC_NS;
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	int err;

	/* Closed by a successful exec: then there is nothing to read. */
	while (poll(&ready, 1, GIVE_UP_LOOK_MS) <= 0)
		if (gives_up() || clock_monotonic_ns() >= end_ns)
			return 0;
	return read(fd, &err, sizeof(err)) == sizeof(err) ? err : 0;
}

int child_release(struct child *child, const char *name, bool (*gives_up)(void))
{
	int err = send_go(child->release_fd);

	closep(&child->release_fd);
	child->release_fd = -1;
	if (err == -EPIPE) {
		child_wait(child, NULL);
		return fail(err, "'%s' was ended before it could start.", name);
	}
	if (err)
		return fail(err, "cannot start '%s'", name);
	err = exec_error(child->error_fd, gives_up);
	if (!err)
		return 0;
	child_wait(child, NULL);
	return fail(-err, "cannot run '%s'", name);
}

bool child_runs(const struct child *child)
{
	siginfo_t info = {0};

	return child->pid && !waitid(P_PID, child->pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       !info.si_pid;
}

int child_wait(struct child *child, bool (*gives_up)(void))
{
	int pidfd scoped(closep) = -1;
	int status = 0;

	if (!child->pid)
		return 0;
	pidfd = syscall(SYS_pidfd_open, child->pid, 0);
	while (!waitpid(child->pid, &status, WNOHANG)) {
		struct pollfd end = {.fd = pidfd, .events = POLLIN};

		if (gives_up && gives_up())
			return -EINTR;
		poll(&end, 1, GIVE_UP_LOOK_MS);
	}
	child->pid = 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void child_abandon(struct child *child)
{
	if (child->release_fd >= 0 && child->pid > 0)
		kill(child->pid,
		     SIGKILL); /* it may be stopped, and then would not see the pipe's end */
	if (child->release_fd >= 0)
		close(child->release_fd);
	if (child->error_fd >= 0)
		close(child->error_fd);
	child->release_fd = child->error_fd = -1;
}
