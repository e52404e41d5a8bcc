// SPDX-License-Identifier: BSD-2-Clause
/*
 * The clock of a worker's CPU time is read from outside (clock_getcpuclockid(3)), so the worker cannot lie about it.
 * RLIMIT_CPU is for its whole life and cannot be raised again: a worker that has used most of it is replaced between two
 * calls, which is no failure.
 */
#include "sandbox/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "sandbox/confine.h"
#include "sandbox/transfer.h"

#define WAKE_MS 2
#define FORK_NS \
	(30 *   \
	 NSEC_PER_SEC) /* of a machine that is busy: a keeper that is dead is noticed at once */
#define OLD_AGE_NS     (CONFINE_CPU_S * NSEC_PER_SEC / 2)
#define IDLE_TOLERANCE 1000000 /* CPU time that counts as none */

struct peer {
	struct peer_options options;
	struct keeper keeper;
	int socket;   /* of the worker; -1: none */
	pid_t worker; /* 0: none */
	bool is_thread, is_met, is_lost;
	bool is_used; /* the worker was asked something */
	bool is_late; /* and has not answered yet: */
	struct message late;
	pthread_t thread;
	uint64_t serial;
	uint64_t earlier_cpu_ns; /* of the workers before */
	uint32_t nr_failed;
};

/* Waiting ---------------------------------------------------------------------------------------- */

/* An answer that is waited for. */
struct call {
	pid_t process; /* whose answer it is; 0: of a thread of this process */
	bool is_fork;  /* it is asked for a new worker */
	uint64_t stall_ns, cpu_ns;
	const struct peer_idle *idle; /* NULL: nothing is done meanwhile */
	uint64_t began_ns, began_cpu_ns;
	uint64_t moved_ns, moved_cpu_ns; /* when the process last did something */
};

/* 0: it is not known. */
static uint64_t cpu_ns_of(pid_t process)
{
	struct timespec now;
	clockid_t clock;

	if (clock_getcpuclockid(process, &clock) || clock_gettime(clock, &now))
		return 0;
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

/* Does it wait for a CPU, rather than for something that may never come? Asked when it is late. A fork may wait in the kernel. */
static bool is_at_work(const struct call *call)
{
	char path[64], stat[512], *state;
	ssize_t len;
	int fd scoped(closep) = -1;

	snprintf(path, sizeof(path), "/proc/%d/stat", call->process);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, stat, sizeof(stat) - 1);
	if (len <= 0)
		return false;
	stat[len] = '\0';
	state = strrchr(stat, ')');
	return state && (!strncmp(state, ") R", 3) || (call->is_fork && !strncmp(state, ") D", 3)));
}

static bool is_stalled(struct call *call, uint64_t now_ns)
{
	uint64_t cpu_ns;

	if (!call->process)
		return false; /* its clock is not known, nor can it be killed */
	cpu_ns = cpu_ns_of(call->process);
	if (cpu_ns > call->moved_cpu_ns + IDLE_TOLERANCE) {
		call->moved_cpu_ns = cpu_ns;
		call->moved_ns = now_ns;
	}
	if (now_ns - call->moved_ns >= call->stall_ns && is_at_work(call))
		call->moved_ns = now_ns;
	return now_ns - call->moved_ns >= call->stall_ns ||
	       now_ns - call->began_ns >= PEER_CALL_NS ||
	       cpu_ns >= call->began_cpu_ns + call->cpu_ns;
}

static int wait_for_answer(void *ctx, int fd, short events)
{
	struct pollfd ready = {.fd = fd, .events = events};
	struct call *call = ctx;

	if (poll(&ready, 1, WAKE_MS) > 0)
		return 0;
	if (call->idle && call->idle->gives_up && call->idle->gives_up(call->idle->ctx))
		return -EINTR;
	if (!is_stalled(call, clock_monotonic_ns()))
		return 0;
	/* This process may have waited for a CPU, or idle may have taken the time. */
	return poll(&ready, 1, 0) > 0 ? 0 : -ETIME;
}

static struct call begin_call(pid_t process, uint64_t stall_ns, uint64_t cpu_ns,
			      const struct peer_idle *idle)
{
	struct call call = {.process = process,
			    .stall_ns = stall_ns,
			    .cpu_ns = cpu_ns,
			    .idle = idle,
			    .began_ns = clock_monotonic_ns(),
			    .began_cpu_ns = process ? cpu_ns_of(process) : 0};

	call.moved_ns = call.began_ns;
	call.moved_cpu_ns = call.began_cpu_ns;
	return call;
}

/* Workers ---------------------------------------------------------------------------------------- */

static uint64_t worker_cpu_ns(const struct peer *peer)
{
	return peer->is_thread || peer->socket < 0 ? 0 : cpu_ns_of(peer->worker);
}

uint64_t peer_cpu_ns(const struct peer *peer)
{
	return peer->earlier_cpu_ns + worker_cpu_ns(peer);
}

uint32_t peer_nr_failed(const struct peer *peer)
{
	return peer->nr_failed;
}

static void drop_worker(struct peer *peer)
{
	peer->earlier_cpu_ns += worker_cpu_ns(peer);
	closep(&peer->socket);
	peer->socket = -1;
	peer->is_met = peer->is_used = peer->is_late = false;
	if (peer->is_thread) /* it ends with the socket */
		pthread_join(peer->thread, NULL);
	peer->is_thread = false;
}

struct thread_start {
	keeper_serve_fn serve;
	int socket;
};

static void *serve_in_thread(void *arg)
{
	struct thread_start start = *(struct thread_start *)arg;
	struct message hello = {.kind = MESSAGE_HELLO};

	free(arg);
	if (!transfer_send(start.socket, &hello, NULL, -1, NULL))
		start.serve(start.socket);
	closep(&start.socket);
	return NULL;
}

static int start_thread(struct peer *peer)
{
	struct thread_start *start;
	int ends[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	start = xmalloc(sizeof(*start));
	*start = (struct thread_start){peer->options.serve, ends[1]};
	err = thread_start(&peer->thread, serve_in_thread, start);
	if (err) {
		free(start);
		close(ends[0]);
		close(ends[1]);
		return err;
	}
	peer->socket = ends[0];
	peer->is_thread = true;
	return 0;
}

/* -EINTR, or -ENOTCONN. */
static int order_worker(struct peer *peer, const struct peer_idle *idle)
{
	struct call call = begin_call(peer->keeper.pid, PEER_STALL_NS, PEER_CPU_NS, idle);
	const struct transfer_wait wait = {wait_for_answer, &call};
	pid_t worker;
	int err;

	call.is_fork = true;
	err = keeper_fork(&peer->keeper, &wait, &peer->socket, &worker);
	if (err == -EINTR)
		return err;
	peer->is_lost = err;
	if (err)
		return -ENOTCONN;
	peer->worker = worker;
	return 0;
}

pid_t peer_parent(const struct peer *peer)
{
	return peer->keeper.pid;
}

bool peer_is_lost(const struct peer *peer)
{
	return peer->is_lost;
}

int peer_open(const struct peer_options *options, struct peer **peer)
{
	struct peer *opened = xcalloc(1, sizeof(*opened));
	int err = 0;

	opened->options = *options;
	opened->socket = opened->keeper.socket = -1;
	if (!opened->options.stall_ns)
		opened->options.stall_ns = PEER_STALL_NS;
	if (!opened->options.cpu_ns)
		opened->options.cpu_ns = PEER_CPU_NS;
	if (!options->in_process)
		err = keeper_start(&opened->keeper, options->role, options->serve);
	if (err) {
		peer_close(opened);
		return err;
	}
	*peer = opened;
	return 0;
}

void peer_close(struct peer *peer)
{
	if (!peer)
		return;
	drop_worker(peer);
	keeper_stop(&peer->keeper);
	free(peer);
}

/* Calls ------------------------------------------------------------------------------------------ */

/* The worker's first message. */
static int meet(struct peer *peer, const struct transfer_wait *wait, uint32_t *missing)
{
	struct message hello;
	int err = 0;

	if (!peer->is_met)
		err = transfer_receive(peer->socket, &hello, sizeof(hello), NULL, wait);
	if (err || peer->is_met)
		return err;
	if (hello.kind != MESSAGE_HELLO || hello.len_bytes || hello.status ||
	    hello.nr >= CONFINE_NR_MISSING)
		return -EBADMSG;
	peer->is_met = true;
	*missing = hello.nr;
	return 0;
}

/* A worker to ask: the one there is, unless it is old. */
static int find_worker(struct peer *peer, const struct peer_idle *idle)
{
	if (peer->socket >= 0 && !peer->options.is_patient && worker_cpu_ns(peer) >= OLD_AGE_NS)
		drop_worker(peer);
	if (peer->socket >= 0)
		return 0;
	if (peer->options.in_process)
		return start_thread(peer) ? -ENOTCONN : 0;
	return order_worker(peer, idle);
}

static struct call begin_call_to_worker(const struct peer *peer, const struct peer_idle *idle)
{
	return begin_call(peer->is_thread ? 0 : peer->worker, peer->options.stall_ns,
			  peer->options.cpu_ns, idle);
}

static void on_failure(struct peer *peer, int err)
{
	if (err != -EINTR)
		peer->nr_failed++;
	drop_worker(peer);
}

void peer_set_stall(struct peer *peer, uint64_t stall_ns)
{
	peer->options.stall_ns = stall_ns;
}

void peer_set_nice(const struct peer *peer, int nice)
{
	if (peer->keeper.pid > 0)
		setpriority(PRIO_PROCESS, peer->keeper.pid, nice);
	if (peer->worker > 0 && peer->socket >= 0)
		setpriority(PRIO_PROCESS, peer->worker, nice);
}

void peer_renew(struct peer *peer)
{
	if (peer->is_used && !peer->is_thread)
		drop_worker(peer);
}

void peer_distrust(struct peer *peer)
{
	on_failure(peer, -EBADMSG);
}

int peer_handshake(struct peer *peer, uint32_t *missing)
{
	struct call call;
	const struct transfer_wait wait = {wait_for_answer, &call};
	int err = find_worker(peer, NULL);

	if (err)
		return err;
	call = begin_call_to_worker(peer, NULL);
	err = meet(peer, &wait, missing);
	if (err)
		on_failure(peer, err);
	return err;
}

static int ask(struct peer *peer, const struct message *request, const void *payload, int fd,
	       const struct transfer_wait *wait)
{
	uint32_t missing;
	int err = meet(peer, wait, &missing);

	return err ? err : transfer_send(peer->socket, request, payload, fd, wait);
}

static int receive(struct peer *peer, const struct message *request,
		   const struct transfer_wait *wait, struct peer_answer *answer)
{
	bool sends_fds = peer->options.role == CONFINE_OPENER ||
			 peer->options.role == CONFINE_ATTACHER;
	struct message *reply = &answer->reply;
	int err = transfer_receive(peer->socket, reply, sizeof(*reply),
				   sends_fds ? &answer->fd : NULL, wait);

	if (err)
		return err;
	if (!peer->options.fits(request, reply))
		return -EBADMSG;
	if (!reply->len_bytes)
		return 0;
	answer->payload = xmalloc(reply->len_bytes);
	return transfer_receive(peer->socket, answer->payload, reply->len_bytes, NULL, wait);
}

static int hear(struct peer *peer, const struct message *request, const struct transfer_wait *wait,
		struct peer_answer *answer)
{
	int err = receive(peer, request, wait, answer);

	peer->is_late = peer->options.is_patient && (err == -ETIME || err == -EINTR);
	if (peer->is_late) {
		peer->late = *request;
		return -EINPROGRESS;
	}
	if (err)
		on_failure(peer, err);
	return err ? err : answer->reply.status;
}

void peer_answer_release(struct peer_answer *answer)
{
	closep(&answer->fd);
	free(answer->payload);
	*answer = PEER_NO_ANSWER;
}

int peer_call(struct peer *peer, struct message *request, const void *payload, int fd,
	      const struct peer_idle *idle, struct peer_answer *answer)
{
	struct call call;
	const struct transfer_wait wait = {wait_for_answer, &call};
	int err = peer->is_late ? -EBUSY : find_worker(peer, idle);

	if (err)
		return err;
	peer->is_used = true;
	request->serial = ++peer->serial;
	call = begin_call_to_worker(peer, idle);
	err = ask(peer, request, payload, fd, &wait);
	if (err) {
		on_failure(peer, err);
		return err;
	}
	return hear(peer, request, &wait, answer);
}

int peer_late(struct peer *peer, const struct peer_idle *idle, struct peer_answer *answer)
{
	const struct message request = peer->late;
	struct call call;
	const struct transfer_wait wait = {wait_for_answer, &call};

	if (!peer->is_late)
		return -EPIPE;
	call = begin_call_to_worker(peer, idle);
	return hear(peer, &request, &wait, answer);
}

void peer_hang_up(const struct peer *peer)
{
	if (peer->socket >= 0)
		shutdown(peer->socket, SHUT_RD);
}
