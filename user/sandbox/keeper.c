// SPDX-License-Identifier: BSD-2-Clause
/*
 * Main sends an order with the worker's end of a socket pair; the keeper kills the worker that it has, forks another,
 * and answers with its pid. Main itself may not kill a process of another user once it has dropped its capabilities.
 *
 * Whoever may signal the keeper can stop it (confine.c says who), so main waits for it as it waits for a worker. If it is
 * too late, main closes its socket, and with that the keeper ends as soon as it goes on. If main gave up for another reason,
 * the answer comes later; its serial tells that it is an old one.
 *
 * A worker that a file system holds (FUSE, NFS) may outlive its SIGKILL until the file system answers: nobody waits for
 * it. It is reaped when the next one is made, or by init.
 */
#include "sandbox/keeper.h"

#include <errno.h>
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

#define STOP_MS 100

/* In the keeper ---------------------------------------------------------------------------------- */

static const struct {
	const char *keeper, *worker; /* as ps shows them */
} names[] = {
	[CONFINE_PARSER] = {"cprof-keeper", "cprof-parser"},
	[CONFINE_OPENER] = {"cprof-openers", "cprof-opener"},
	[CONFINE_FETCHER] = {"cprof-fetchers", "cprof-fetcher"},
	[CONFINE_ATTACHER] = {"cprof-attachers", "cprof-attacher"},
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
	*keeper = (struct keeper){.pid = pid, .socket = sockets[0]};
	return 0;
}

static void hang_up(struct keeper *keeper)
{
	closep(&keeper->socket);
	keeper->socket = -1;
}

/* Sends the order, with the worker's end, and receives its answer. */
static int order_worker(struct keeper *keeper, int end, const struct transfer_wait *wait,
			struct message *answer)
{
	struct message order = {.kind = MESSAGE_HELLO, .serial = ++keeper->serial};
	int err = transfer_send(keeper->socket, &order, NULL, end, wait);

	answer->serial = 0;
	while (!err && answer->serial != order.serial)
		err = transfer_receive(keeper->socket, answer, sizeof(*answer), NULL, wait);
	if (err == -EPIPE || err == -ETIME)
		hang_up(keeper);
	return err ? err : answer->status;
}

int keeper_fork(struct keeper *keeper, const struct transfer_wait *wait, int *socket, pid_t *worker)
{
	struct message answer;
	int ends[2], err;

	if (keeper->socket < 0)
		return -EPIPE;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	err = order_worker(keeper, ends[1], wait, &answer);
	close(ends[1]);
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

	if (keeper->pid <= 0)
		return;
	hang_up(keeper);
	for (int i = 0; i < STOP_MS && !waitpid(keeper->pid, NULL, WNOHANG); i++)
		nanosleep(&pause, NULL);
}
