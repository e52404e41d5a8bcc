// SPDX-License-Identifier: BSD-2-Clause
/*
 * Main sends one byte with the worker's end of a socket pair; the keeper kills the worker that it has, forks another,
 * and answers with its pid. Main itself may not kill a process of another user once it has dropped its capabilities.
 *
 * A worker that a file system holds (FUSE, NFS) may outlive its SIGKILL until the file system answers: nobody waits for
 * it. It is reaped when the next one is made, or by init.
 */
#include "sandbox/keeper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fileview.h"
#include "object/itanium.h"
#include "sandbox/confine.h"
#include "sandbox/transfer.h"

_Static_assert(CONFINE_STACK_BYTES >= ITANIUM_STACK_BYTES, "a worker demangles without threads");

#define ANSWER_MS 30000 /* of a machine that is busy: one that is dead is noticed at once */
#define STOP_MS	  100

/* In the keeper ---------------------------------------------------------------------------------- */

static const struct {
	const char *keeper, *worker; /* as ps shows them */
} names[] = {
	[CONFINE_PARSER] = {"cprof-keeper", "cprof-parser"},
	[CONFINE_OPENER] = {"cprof-openers", "cprof-opener"},
	[CONFINE_FETCHER] = {"cprof-fetchers", "cprof-fetcher"},
};

struct work {
	enum confine_role role;
	keeper_serve_fn serve;
	uint32_t missing;
};

static void __attribute__((noreturn)) run_worker(int socket, const struct work *work, pid_t keeper)
{
	struct message hello = {.kind = MESSAGE_HELLO};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, names[work->role].worker);
	if (getppid() != keeper) /* it died before that */
		_exit(1);
	if (dup2(socket, CONFINE_FD) < 0)
		_exit(1);
	closep(&socket);
	itanium_without_threads();
	if (work->role == CONFINE_PARSER)
		fileview_guard(); /* without it, large files are read instead */
	hello.nr = work->missing | confine_calls(work->role);
	if (!transfer_send(CONFINE_FD, &hello, NULL, -1, NULL))
		work->serve(CONFINE_FD);
	_exit(0);
}

static void end_worker(pid_t *worker)
{
	if (*worker > 0)
		kill(*worker, SIGKILL);
	*worker = 0;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static void __attribute__((noreturn)) run_keeper(const struct work *work)
{
	pid_t self = getpid(), worker = 0;
	struct message order;
	int socket;

	while (!transfer_receive(CONFINE_FD, &order, sizeof(order), &socket, NULL)) {
		struct message answer = {.serial = order.serial};

		end_worker(&worker);
		worker = socket < 0 ? -1 : fork();
		if (!worker)
			run_worker(socket, work, self);
		answer.status = worker < 0 ? -EAGAIN : 0;
		answer.nr = worker < 0 ? 0 : worker;
		closep(&socket);
		transfer_send(CONFINE_FD, &answer, NULL, -1, NULL);
	}
	end_worker(&worker);
	_exit(0);
}

/* In main ---------------------------------------------------------------------------------------- */

int keeper_start(struct keeper *keeper, enum confine_role role, keeper_serve_fn serve)
{
	struct work work = {role, serve, 0};
	pid_t parent = getpid(), pid;
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	pid = fork();
	if (!pid) {
		work.missing = confine_process(sockets[1], role);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, names[role].keeper);
		if (getppid() != parent)
			_exit(1);
		run_keeper(&work);
	}
	close(sockets[1]);
	if (pid < 0) {
		close(sockets[0]);
		return -EAGAIN;
	}
	*keeper = (struct keeper){pid, sockets[0]};
	return 0;
}

static int wait_for_answer(void *ctx, int fd, short events)
{
	struct pollfd ready = {.fd = fd, .events = events};

	(void)ctx;
	return poll(&ready, 1, ANSWER_MS) > 0 || errno == EINTR ? 0 : -ETIME;
}

int keeper_fork(struct keeper *keeper, int *socket, pid_t *worker)
{
	const struct transfer_wait wait = {wait_for_answer, NULL};
	struct message order = {.kind = MESSAGE_HELLO}, answer;
	int ends[2], err;

	if (keeper->socket < 0)
		return -EPIPE;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	err = transfer_send(keeper->socket, &order, NULL, ends[1], &wait);
	close(ends[1]);
	if (!err)
		err = transfer_receive(keeper->socket, &answer, sizeof(answer), NULL, &wait);
	if (!err)
		err = answer.status;
	if (err) {
		close(ends[0]);
		return err;
	}
	*socket = ends[0];
	*worker = (pid_t)answer.nr;
	return 0;
}

void keeper_stop(struct keeper *keeper)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	if (keeper->socket < 0)
		return;
	close(keeper->socket);
	keeper->socket = -1;
	for (int i = 0; i < STOP_MS && !waitpid(keeper->pid, NULL, WNOHANG); i++)
		nanosleep(&pause, NULL);
}
